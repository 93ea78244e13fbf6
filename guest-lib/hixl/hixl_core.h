/*
 * HIXL's core in C: what the C++ classes and the HixlCS layer stand on.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Internal, not installed; exported by libcann_hixl.so for libllm_datadist.so.
 * A hixl_core is an engine that may or may not be initialised. All functions
 * may be called from any thread; those that take a core return HIXL_CORE_FAILED
 * while it is not initialised. Results are HIXL's codes (hixl/hixl_types.h);
 * what was wrong stands in aclGetRecentErrMsg().
 */
#ifndef HIXL_CORE_H
#define HIXL_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HIXL_CORE_API __attribute__((visibility("default")))

enum {
    HX_OK = 0,
    HX_PARAM_INVALID = 103900,
    HX_TIMEOUT = 103901,
    HX_NOT_CONNECTED = 103902,
    HX_ALREADY_CONNECTED = 103903,
    HX_UNSUPPORTED = 103905,
    HX_EXHAUSTED = 203900,
    HX_FAILED = 503900,
};

enum { HX_MEM_DEVICE = 0, HX_MEM_HOST = 1 };
enum { HX_READ = 0, HX_WRITE = 1 };
enum { HX_WAITING = 0, HX_COMPLETED = 1, HX_TIMED_OUT = 2, HX_ST_FAILED = 3 };

/* Values of AsyncConnectStatus. */
enum {
    HX_NOT_CONNECT, HX_CONNECT_PENDING, HX_CONNECTING, HX_CONNECTED,
    HX_CONNECT_FAILED, HX_DISCONNECT_PENDING, HX_DISCONNECTING,
};

typedef struct hixl_core hixl_core;

typedef struct hixl_option {
    const char *key, *value;
} hixl_option;

/* Layout of TransferOpDesc. */
typedef struct hixl_op {
    uintptr_t local, remote;
    size_t len;
} hixl_op;

HIXL_CORE_API hixl_core *hixl_core_new(void);
/* Finalizes first. NULL is allowed. */
HIXL_CORE_API void hixl_core_free(hixl_core *c);

HIXL_CORE_API uint32_t hixl_core_init(hixl_core *c, const char *name,
                                      const hixl_option *opt, size_t num);
/* Starts anew under another name on the same card, whoever calls. */
HIXL_CORE_API uint32_t hixl_core_rename(hixl_core *c, const char *name,
                                        const hixl_option *opt, size_t num);
HIXL_CORE_API void hixl_core_finalize(hixl_core *c);

HIXL_CORE_API uint32_t hixl_core_register(hixl_core *c, uintptr_t addr,
                                          size_t len, int type,
                                          const char *tag, void **handle);
HIXL_CORE_API uint32_t hixl_core_deregister(hixl_core *c, void *handle);

HIXL_CORE_API uint32_t hixl_core_connect(hixl_core *c, const char *remote,
                                         int32_t timeout_ms);
HIXL_CORE_API uint32_t hixl_core_disconnect(hixl_core *c, const char *remote,
                                            int32_t timeout_ms);
HIXL_CORE_API uint32_t hixl_core_connect_async(hixl_core *c,
                                               const char *remote,
                                               int32_t timeout_ms);
HIXL_CORE_API uint32_t hixl_core_disconnect_async(hixl_core *c,
                                                  const char *remote,
                                                  int32_t timeout_ms);
HIXL_CORE_API uint32_t hixl_core_async_status(hixl_core *c, const char *remote,
                                              int *status);
typedef void hixl_async_fn(void *opaque, const char *remote, int status);
HIXL_CORE_API uint32_t hixl_core_async_list(hixl_core *c, hixl_async_fn *fn,
                                            void *opaque);

HIXL_CORE_API uint32_t hixl_core_transfer(hixl_core *c, const char *remote,
                                          int op, const hixl_op *desc,
                                          size_t num, int32_t timeout_ms);
/* The list is used up when this returns. */
HIXL_CORE_API uint32_t hixl_core_transfer_async(hixl_core *c,
                                                const char *remote, int op,
                                                const hixl_op *desc,
                                                size_t num,
                                                const void *user_data,
                                                void **req);
HIXL_CORE_API uint32_t hixl_core_status(hixl_core *c, void *req, int *status);
typedef void hixl_result_fn(void *opaque, void *req, const void *user_data,
                            int status);
HIXL_CORE_API uint32_t hixl_core_results(hixl_core *c, uint32_t max,
                                         bool skip_waiting, hixl_result_fn *fn,
                                         void *opaque);

HIXL_CORE_API uint32_t hixl_core_notify(hixl_core *c, const char *remote,
                                        const char *name, size_t name_len,
                                        const char *msg, size_t msg_len,
                                        int32_t timeout_ms);
typedef void hixl_notify_fn(void *opaque, const char *name, size_t name_len,
                            const char *msg, size_t msg_len);
HIXL_CORE_API uint32_t hixl_core_notifies(hixl_core *c, hixl_notify_fn *fn,
                                          void *opaque);

/* Memory of a connected peer, as known since Connect. */
typedef void hixl_mem_fn(void *opaque, int type, uint64_t addr, uint64_t size,
                         const char *tag);
HIXL_CORE_API uint32_t hixl_core_remote_mem(hixl_core *c, const char *remote,
                                            hixl_mem_fn *fn, void *opaque);

#ifdef __cplusplus
}
#endif

#endif /* HIXL_CORE_H */
