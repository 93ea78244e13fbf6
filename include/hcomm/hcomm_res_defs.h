/*
 * Hcomm: engines, protocols, endpoints, memory, threads and their handles.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Names, values and layouts: spec/api/hccl-control-plane.md §3 and
 * Appendix A. C++11 and later, C11; host and AICPU kernels.
 */
#ifndef HCOMM_RES_DEFS_H
#define HCOMM_RES_DEFS_H

#include <stdint.h>
#include <stddef.h>
#include <stdbool.h>
#include <arpa/inet.h>
#include "securec.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Same values as HcclResult (hccl/hccl_types.h). */
typedef int32_t HcommResult;

typedef void *EndpointHandle;
typedef void *HcommMemHandle;
typedef void *HcommSocket;

/*
 * A channel, or a thread, as one engine knows it. Handles for AICPU engines
 * are of use in kernels; the host knows the same thread by another handle,
 * see HcclThreadExportToCommEngine().
 */
#ifndef CHANNEL_HANDLE_DEFINED
#define CHANNEL_HANDLE_DEFINED
typedef uint64_t ChannelHandle;
#endif

#ifndef THREAD_HANDLE_DEFINED
#define THREAD_HANDLE_DEFINED
typedef uint64_t ThreadHandle;
#endif

typedef enum {
    HCOMM_SOCKET_ROLE_RESERVED = -1,
    HCOMM_SOCKET_ROLE_CLIENT = 0,
    HCOMM_SOCKET_ROLE_SERVER = 1
} HcommSocketRole;

typedef enum {
    THREAD_TYPE_INVALID = -1,
    THREAD_TYPE_TS = 0               /* a queue of the task scheduler */
} ThreadType;

typedef enum {
    THREAD_RES_TYPE_INVALID = -1,
    THREAD_RES_TYPE_STREAM = 0
} ThreadResType;

/* Head of a structure that may grow: the *Init functions fill it. */
typedef struct {
    uint32_t version;
    uint32_t magicWord;
    uint32_t size;                   /* sizeof of the structure around it */
    uint32_t reserved;
} CommAbiHeader;

#ifdef __cplusplus
static const uint32_t HCOMM_THREAD_CONFIG_MAGIC_WORD = 0x0f0f0f2f;
static const uint32_t HCOMM_THREAD_CONFIG_VERSION = 1;
static const uint32_t COMM_ADDR_EID_LEN = 16;
#else
#define HCOMM_THREAD_CONFIG_MAGIC_WORD  0x0f0f0f2fU
#define HCOMM_THREAD_CONFIG_VERSION     1U
#define COMM_ADDR_EID_LEN               16U
#endif

typedef struct {
    CommAbiHeader header;
    uint16_t notifyNumPerThread;
    uint8_t reserved[14];
} ThreadConfig;

/* Who works on a thread or channel. This card: CPU_TS, AICPU, AICPU_TS. */
typedef enum {
    COMM_ENGINE_RESERVED = -1,
    COMM_ENGINE_CPU = 0,
    COMM_ENGINE_CPU_TS = 1,
    COMM_ENGINE_AICPU = 2,
    COMM_ENGINE_AICPU_TS = 3,
    COMM_ENGINE_AIV = 4,
    COMM_ENGINE_CCU = 5
} CommEngine;

/* This card: UB_CTP between every two cards. */
typedef enum {
    COMM_PROTOCOL_RESERVED = -1,
    COMM_PROTOCOL_HCCS = 0,
    COMM_PROTOCOL_ROCE = 1,
    COMM_PROTOCOL_PCIE = 2,
    COMM_PROTOCOL_SIO = 3,
    COMM_PROTOCOL_UB_CTP = 4,
    COMM_PROTOCOL_UBC_CTP = 4,
    COMM_PROTOCOL_UBC_TP = 5,
    COMM_PROTOCOL_UB_MEM = 6,
    COMM_PROTOCOL_UBOE = 7,
    COMM_PROTOCOL_HCCS_ONLY = 8,
    COMM_PROTOCOL_UB_RTP = 9,
    COMM_PROTOCOL_UBG = 9
} CommProtocol;

typedef enum {
    COMM_ADDR_TYPE_RESERVED = -1,
    COMM_ADDR_TYPE_IP_V4 = 0,
    COMM_ADDR_TYPE_IP_V6 = 1,        /* a UB end point of the rank graph */
    COMM_ADDR_TYPE_ID = 2,
    COMM_ADDR_TYPE_EID = 3           /* a UB end point of HcommEndpointGetDescs */
} CommAddrType;

typedef struct {
    CommAddrType type;
    union {
        uint8_t raws[36];
        struct in_addr addr;
        struct in6_addr addr6;
        uint32_t id;
        uint8_t eid[COMM_ADDR_EID_LEN];
    };
} CommAddr;

typedef enum {
    ENDPOINT_LOC_TYPE_RESERVED = -1,
    ENDPOINT_LOC_TYPE_DEVICE = 0,
    ENDPOINT_LOC_TYPE_HOST = 1
} EndpointLocType;

typedef struct {
    EndpointLocType locType;
    union {
        uint8_t raws[60];
        struct {
            uint32_t devPhyId;
            uint32_t superDevId;
            uint32_t serverIdx;
            uint32_t superPodIdx;
        } device;
        struct {
            uint32_t id;
        } host;
    };
} EndpointLoc;

/* One end of a link. Copy it whole; bytes not named here are ignored. */
typedef struct {
    CommProtocol protocol;
    CommAddr commAddr;
    EndpointLoc loc;
    union {
        uint8_t raws[52];
    };
} EndpointDesc;

typedef enum {
    COMM_MEM_TYPE_INVALID = -1,
    COMM_MEM_TYPE_DEVICE = 0,
    COMM_MEM_TYPE_HOST = 1
} CommMemType;

typedef struct {
    CommMemType type;
    void *addr;
    uint64_t size;                   /* bytes */
} CommMem;

typedef enum {
    HCOMM_ENDPOINT_FEATURE_INVALID = -1,
    HCOMM_ENDPOINT_FEATURE_NDA = 0
} HcommEndpointFeatureType;

/* Sets @num descriptors to "nothing chosen". 0, or 2 if @endpoint is NULL. */
static inline HcommResult EndpointDescInit(EndpointDesc *endpoint, uint32_t num)
{
    uint32_t i;

    if (endpoint == NULL) {
        return 2;
    }
    for (i = 0; i < num; i++) {
        memset(&endpoint[i], 0xff, sizeof(endpoint[i]));
        endpoint[i].protocol = COMM_PROTOCOL_RESERVED;
        endpoint[i].commAddr.type = COMM_ADDR_TYPE_RESERVED;
        endpoint[i].loc.locType = ENDPOINT_LOC_TYPE_RESERVED;
    }
    return 0;
}

/* Sets @num configurations to their defaults. 0, or 2 if @config is NULL. */
static inline HcommResult ThreadConfigInit(ThreadConfig *config, uint32_t num)
{
    uint32_t i;

    if (config == NULL) {
        return 2;
    }
    for (i = 0; i < num; i++) {
        memset(&config[i], 0, sizeof(config[i]));
        config[i].header.version = HCOMM_THREAD_CONFIG_VERSION;
        config[i].header.magicWord = HCOMM_THREAD_CONFIG_MAGIC_WORD;
        config[i].header.size = (uint32_t)sizeof(config[i]);
        config[i].notifyNumPerThread = 0;
    }
    return 0;
}

#ifdef __cplusplus
}
#endif

#endif /* HCOMM_RES_DEFS_H */
