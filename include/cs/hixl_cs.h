/*
 * HixlCS: the C layer of HIXL, a server that offers memory and clients that
 * read and write it.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Names and layouts: spec/api/hixl.md §1.4. C11 and C++11, library
 * libcann_hixl.so. A server and a client are on the device that is current in
 * the calling thread when they are created. Every call may be made from any
 * thread.
 */
#ifndef CS_HIXL_CS_H
#define CS_HIXL_CS_H

#include <stdint.h>
#include "hcomm/hcomm_res_defs.h"

#ifdef __cplusplus
#define HIXL_CS_NULL = nullptr
#define HIXL_CS_ZERO = {}
extern "C" {
#else
#define HIXL_CS_NULL
#define HIXL_CS_ZERO
#endif

typedef void *HixlServerHandle;
typedef void *HixlClientHandle;
typedef void *CompleteHandle;
typedef void *MemHandle;
typedef uint32_t HixlStatus;

static const uint32_t HIXL_SUCCESS __attribute__((unused)) = 0U;
static const uint32_t HIXL_PARAM_INVALID __attribute__((unused)) = 103900U;
static const uint32_t HIXL_TIMEOUT __attribute__((unused)) = 103901U;
static const uint32_t HIXL_FAILED __attribute__((unused)) = 503900U;

/* JSON text with comm_resource_config keys, or NULL. */
typedef struct HixlServerConfig {
  const char *global_resource_config HIXL_CS_NULL;
  uint8_t reserved[120] HIXL_CS_ZERO;
} HixlServerConfig;

typedef struct HixlClientConfig {
  const char *global_resource_config HIXL_CS_NULL;
  uint8_t reserved[120] HIXL_CS_ZERO;
} HixlClientConfig;

typedef struct HixlClientDesc {
  const EndpointDesc *local_endpoint;
  const EndpointDesc *remote_endpoint;
  const char *server_ip;
  uint32_t server_port;  /* 1..65535 */
  uint8_t tc;
  uint8_t sl;
  uint8_t reserved[98] HIXL_CS_ZERO;
} HixlClientDesc;

typedef struct HixlServerDesc {
  const EndpointDesc *endpoint_list;
  const char *server_ip;
  uint32_t server_port;  /* 0: does not listen */
  uint32_t endpoint_list_num;
  uint8_t reserved[104] HIXL_CS_ZERO;
} HixlServerDesc;

/* The remote buffer comes first. */
typedef struct HixlOneSideOpDesc {
  void *remote_buf;
  void *local_buf;
  uint64_t len;
} HixlOneSideOpDesc;

typedef enum HixlCompleteStatus {
  HIXL_COMPLETE_STATUS_WAITING,
  HIXL_COMPLETE_STATUS_COMPLETED,
  HIXL_COMPLETE_STATUS_TIMEOUT,
  HIXL_COMPLETE_STATUS_FAILED
} HixlCompleteStatus;

HixlStatus HixlCSServerCreate(const HixlServerDesc *server_desc,
                              const HixlServerConfig *config,
                              HixlServerHandle *server_handle);
/* @mem_tag names the memory for HixlCSClientGetRemoteMem. */
HixlStatus HixlCSServerRegMem(HixlServerHandle server_handle,
                              const char *mem_tag, const CommMem *mem,
                              MemHandle *mem_handle);
HixlStatus HixlCSServerListen(HixlServerHandle server_handle,
                              uint32_t backlog);
HixlStatus HixlCSServerUnregMem(HixlServerHandle server_handle,
                                MemHandle mem_handle);
HixlStatus HixlCSServerDestroy(HixlServerHandle server_handle);

HixlStatus HixlCSClientCreate(const HixlClientDesc *client_desc,
                              const HixlClientConfig *config,
                              HixlClientHandle *client_handle);
HixlStatus HixlCSClientConnect(HixlClientHandle client_handle,
                               uint32_t timeout_ms);
/* The lists belong to the client and live until it is destroyed. */
HixlStatus HixlCSClientGetRemoteMem(HixlClientHandle client_handle,
                                    CommMem **remote_mem_list,
                                    char ***mem_tag_list, uint32_t *list_num,
                                    uint32_t timeout_ms);
HixlStatus HixlCSClientRegMem(HixlClientHandle client_handle,
                              const char *mem_tag, const CommMem *mem,
                              MemHandle *mem_handle);
HixlStatus HixlCSClientUnregMem(HixlClientHandle client_handle,
                                MemHandle mem_handle);
/*
 * Put writes to the server, get reads. At most max_active_channels (128) of the
 * client's requests may be under way or not have been queried to their end.
 */
HixlStatus HixlCSClientBatchPutAsync(HixlClientHandle client_handle,
                                     uint32_t list_num,
                                     const HixlOneSideOpDesc *desc_list,
                                     CompleteHandle *complete_handle);
HixlStatus HixlCSClientBatchGetAsync(HixlClientHandle client_handle,
                                     uint32_t list_num,
                                     const HixlOneSideOpDesc *desc_list,
                                     CompleteHandle *complete_handle);
HixlStatus HixlCSClientBatchPutSync(HixlClientHandle client_handle,
                                    uint32_t list_num,
                                    const HixlOneSideOpDesc *desc_list,
                                    uint32_t timeout_ms);
HixlStatus HixlCSClientBatchGetSync(HixlClientHandle client_handle,
                                    uint32_t list_num,
                                    const HixlOneSideOpDesc *desc_list,
                                    uint32_t timeout_ms);
HixlStatus HixlCSClientQueryCompleteStatus(HixlClientHandle client_handle,
                                           CompleteHandle complete_handle,
                                           HixlCompleteStatus *complete_status);
HixlStatus HixlCSClientDestroy(HixlClientHandle client_handle);

#ifdef __cplusplus
}
#endif
#undef HIXL_CS_NULL
#undef HIXL_CS_ZERO

#endif /* CS_HIXL_CS_H */
