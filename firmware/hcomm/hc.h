/*
 * Device side of Hcomm (libccl_kernel.so): what its files share.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Layers, each knows those below it:
 *
 *   local.c remote.c batch.c   the calls that queue work
 *   pcie.c types.c             operations over PCIe, reductions
 *   control.c cache.c comm.c   batch mode, timeouts, communicators, the rest
 *   channel.c                  WQEs into a jetty's ring
 *   queue.c                    SQEs into a thread's ring, batch staging
 *   object.c                   handles, checks, messages
 *   platform.h                 memory order, clock, sleep, where HBM is
 *
 * The objects behind the handles are those of hw/atlas350/hcomm_abi.h. They
 * are written by the host library and may be stale or wrong: every call
 * checks what it is given before it follows it.
 */
#ifndef HC_H
#define HC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hccl/hccl_types.h"
#include "hcomm/hcomm_primitives.h"
#include "pkg_inc/hcomm/hcomm_primitives_expt.h"
#include "hw/atlas350/hcomm_abi.h"
#include "hw/atlas350/regs.h"
#include "hw/atlas350/sqe.h"
#include "hw/atlas350/ub.h"
#include "platform.h"

/* Calls are exported by name; the rest of the library is hidden. */
#define HC_API __attribute__((visibility("default")))

#define HC_BATCH_MAX            128u   /* staged SQEs a thread, transport.md §3 */
#define HC_NOTIFY_TIMEOUT       1836u  /* s, hcomm-data-plane.md §3.9 */
#define HC_QUEUE_TIMEOUT        1856u  /* s */
#define HC_SPIN_FAST            64u    /* polls before the core goes to sleep */
#define HC_SLEEP_NS             10000u /* between two polls, §3.10 */

/*
 * SDMA moves up to 2^32 - 1 bytes. A slice is a little less so that each but
 * the last starts as aligned as the whole and holds whole elements.
 */
#define HC_SDMA_SLICE           0xffffff80u

#define HC_ALIGNED __attribute__((aligned(8)))

/* Ring entries and blocks are 64 bytes, 8-byte aligned; a call of memcpy costs
   more than the copy. */
static inline void hc_copy64(void *dst, const void *src)
{
    const uint64_t *s = src;
    uint64_t *d = dst;

    d[0] = s[0];
    d[1] = s[1];
    d[2] = s[2];
    d[3] = s[3];
    d[4] = s[4];
    d[5] = s[5];
    d[6] = s[6];
    d[7] = s[7];
}

/* Staged entries of one thread, in batch mode. */
typedef struct hc_stage {
    a350_thread_obj *thread;
    uint32_t count;
    bool touched;                       /* since HcommBatchModeStart */
    struct hc_stage *next;
    a350_sqe sqe[HC_BATCH_MAX] HC_ALIGNED;
} hc_stage;

#define HC_ERROR_LEN            160u    /* as a350_exc_record has */

/* What an OS thread (a core's worker) keeps between calls. */
typedef struct hc_tls {
    uint32_t token;                     /* its name in lock words, not 0 */
    bool batch;
    uint32_t notify_timeout;            /* s */
    uint32_t queue_timeout;             /* s, 0: for ever */
    hc_stage *stages;                   /* kept for reuse */
    uint32_t *held[2];                  /* lock words, so that a crashed */
    uint32_t held_num;                  /* kernel's can be opened again */
    a350_comm_obj *comm_held;
    char error[HC_ERROR_LEN];           /* of this kernel, the last; "" none */
    struct hc_cached *capture;          /* between task cache Start and End */
} hc_tls;

hc_tls *hc_self(void);

/* ---- object.c ---- */

/* HC_MORE: one more line about the error above. */
enum hc_level { HC_WARN, HC_ERROR, HC_MORE };
void hc_log(enum hc_level level, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * The object behind a handle. On failure they return NULL, say in one line
 * what is wrong with the handle, and leave the code for the caller, always
 * HCCL_E_PTR (hcomm-data-plane.md §4). @what is the name of the argument.
 */
a350_thread_obj *hc_thread(ThreadHandle h, const char *call, const char *what);
a350_thread_obj *hc_queue(ThreadHandle h, const char *call);
a350_channel_obj *hc_channel(ChannelHandle h, const char *call);

/* Is [addr, addr + len) memory of this card that may be loaded from? */
static inline bool hc_in_card(uint64_t addr, uint64_t len)
{
    return addr >= hc_mem_lo && addr <= hc_mem_hi && len <= hc_mem_hi - addr;
}

/* Is it in this card's window at all (its reserve and registers included)? */
static inline bool hc_in_window(uint64_t addr, uint64_t len)
{
    return addr >= hc_mem_lo && addr - hc_mem_lo <= A350_DEV_STRIDE &&
           len <= A350_DEV_STRIDE - (addr - hc_mem_lo);
}

/* Device address of a notify register of this card. */
static inline uint64_t hc_notify_addr(uint32_t id)
{
    return a350_notify_addr(hc_mem_lo, id);
}

/* "rank 3, thread 2" for messages; @buf is given back. */
#define HC_NAME_LEN 96
const char *hc_thread_name(const a350_thread_obj *t, char buf[HC_NAME_LEN]);
const char *hc_channel_name(const a350_channel_obj *c, char buf[HC_NAME_LEN]);

void hc_lock(uint32_t *word);
void hc_unlock(uint32_t *word);

/* A wait with an end: HC_WAIT_* of hc_wait_step tells how it stands. */
typedef struct hc_wait {
    uint64_t start_ns, limit_ns;        /* limit 0: for ever */
    uint32_t polls;
} hc_wait;
void hc_wait_start(hc_wait *w, uint32_t seconds);
/* Sleeps a little from the 64th call on. False when the time is over. */
bool hc_wait_step(hc_wait *w);

/* ---- queue.c ---- */

/*
 * Queues @sqe on @t: at once, or into the staging buffer in batch mode. The
 * task number is filled in here.
 */
int32_t hc_push(a350_thread_obj *t, const a350_sqe *sqe, const char *call);
/* Launches all staged entries of this OS thread. */
int32_t hc_flush(const char *call);
/* Launches what fits without waiting; true if something moved. */
bool hc_flush_some(void);
/* Entries of @t that are staged, not launched. */
uint32_t hc_staged(const a350_thread_obj *t);
/* Forgets staged entries; returns how many. */
uint32_t hc_discard(void);
/* Bytes 0x10 and 0x14 of the queue's page. */
uint32_t hc_queue_head(const a350_thread_obj *t);
bool hc_queue_enabled(const a350_thread_obj *t);

/* ---- channel.c ---- */

/* Order flags of a WQE, transport.md §3. */
#define HC_ODR(x)       ((uint32_t)(x) << A350_WQE_ODR_SHIFT)
#define HC_F_STRONG     (HC_ODR(A350_WQE_ODR_STRONG) | A350_WQE_COMP_ORDER | \
                         A350_WQE_FENCE)
#define HC_F_FIRST      (HC_ODR(A350_WQE_ODR_RELAX) | A350_WQE_COMP_ORDER | \
                         A350_WQE_FENCE)
#define HC_F_MIDDLE     HC_ODR(A350_WQE_ODR_RELAX)
#define HC_F_BATCH      (HC_ODR(A350_WQE_ODR_RELAX) | A350_WQE_FENCE)

/* One operation on a channel, checked and translated to bytes and codes. */
typedef struct hc_xfer {
    uint32_t opcode;                    /* A350_UB_READ, A350_UB_WRITE */
    bool record;                        /* a notify record and nothing else */
    bool notify;                        /* with notify */
    bool reduce;
    uint32_t red_op, red_type;          /* A350_UB_* */
    uint32_t sdma_op;                   /* PCIe: operation | type */
    uint32_t elem;                      /* bytes; slices hold whole ones */
    uint32_t notify_idx;
    uint64_t local, remote, len;        /* device addresses, bytes */
    uint32_t local_token;
    const a350_mem_token *mem;          /* the remote region */
} hc_xfer;

/* Where in a batch an entry stands; an operation of its own is HC_ALONE. */
enum hc_place { HC_ALONE, HC_INNER, HC_LAST };

/* WQEs that were put into the ring and not rung yet. */
typedef struct hc_burst {
    a350_thread_obj *t;
    a350_channel_obj *c;
    const char *call;
    uint32_t blocks;
    uint32_t *last;                     /* word 0 of the last one */
} hc_burst;

/* Puts one WQE into the ring, waits for room. */
int32_t hc_put(hc_burst *b, const a350_wqe *q);
/* Puts the WQEs of one operation into the ring. */
int32_t hc_post(hc_burst *b, const hc_xfer *x, enum hc_place place);
/* Queues the doorbell for everything posted so far. */
int32_t hc_ring(hc_burst *b);

/*
 * Finds the regions of both operands and fills local_token and mem. The
 * remote range must lie in one exchanged region (HCCL_E_INTERNAL), the local
 * one in this card or in a registered region (HCCL_E_PARA).
 */
int32_t hc_resolve(const a350_channel_obj *c, hc_xfer *x, const char *call);
int32_t hc_local_token(const a350_channel_obj *c, uint64_t addr, uint64_t len,
                       const char *call, uint32_t *token);

/* ---- types.c ---- */

/*
 * Reduction types of spec/api/hcomm-data-plane.md §3.8: fills reduce, elem,
 * len, red_op, red_type and sdma_op. @ub: what UB can; else what SDMA can.
 */
int32_t hc_reduce_types(hc_xfer *x, HcommDataType type, HcommReduceOp op,
                        uint64_t count, bool ub, const char *call);

/* ---- local.c, remote.c, pcie.c ---- */

/* Queues SDMA tasks for @len bytes; none for 0. */
int32_t hc_sdma(a350_thread_obj *t, uint32_t opcode, uint64_t dst,
                uint64_t src, uint64_t len, const char *call);
int32_t hc_check_notify_idx(const a350_channel_obj *c, uint32_t idx,
                            const char *call);
/* One checked operation, on whatever the channel is made of. */
int32_t hc_pcie_xfer(a350_thread_obj *t, const a350_channel_obj *c,
                     const hc_xfer *x, const char *call);

/* ---- comm.c ---- */

/* Makes the communicator of a thread known to HcommAcquireComm. */
void hc_comm_seen(uint64_t comm);
/* Releases what an earlier kernel of this core left locked. */
void hc_comm_kernel_enter(void);

/* ---- cache.c ---- */

void hc_cache_kernel_enter(void);
/* What is queued while hc_self()->capture is set goes through these, too. */
void hc_cache_sqe(a350_thread_obj *t, const a350_sqe *sqe);
void hc_cache_wqe(const hc_burst *b, const a350_wqe *q);
void hc_cache_ring(const hc_burst *b);
/* A call failed: what was captured is not worth keeping. */
void hc_cache_spoil(void);

/* ---- what host library and firmware call: hw/atlas350/hcomm_abi.h ---- */

void a350_hcomm_kernel_enter(void);
/* Why the last call of the kernel on this core failed, "": none did. */
const char *a350_hcomm_error(void);
uint32_t a350_hcomm_attach(void *arg);
uint32_t a350_hcomm_step_wait(void *arg);
uint32_t a350_hcomm_step_record(void *arg);
uint32_t a350_hcomm_detach(void *arg);

/* ---- control.c ---- */

/* Seconds of HcommSetNotifyWaitTimeOut and the like; HCCL_E_PARA. */
int32_t hc_timeout(float value, uint32_t *seconds, const char *call);

#endif /* HC_H */
