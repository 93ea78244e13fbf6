/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user-space driver of the card: VFIO, admin commands, HBM, queues.
 *
 * Internal interface of the guest library (not installed). It lives in
 * libacl_rt.so; libhcomm.so, libhccl.so and libcann_hixl.so reach it through
 * their DT_NEEDED on that library, so a process has one copy of its state.
 *
 * Conventions. Functions that can fail return 0 or a negative errno and leave
 * one line of text (what, which value, what to do) in a350_card_text() of the
 * calling thread. Every function may be called from any thread unless it says
 * otherwise. Device addresses are uint64_t, sizes are bytes.
 *
 * Life. A card is opened once per process and counted: the first open takes
 * the VFIO device (which resets the card), the last close gives it back (and
 * resets it again: queues, notifies, jetties and segments of the process are
 * gone then). All objects below must be destroyed before the last close;
 * what is left is reported there.
 *
 * Errno values used throughout: -ENODEV no such card, -EBUSY held by another
 * process or still in use, -EINVAL bad argument, -ENOMEM out of host memory,
 * -ENOSPC out of HBM or of ids, -ETIMEDOUT the card does not answer,
 * -EIO an admin command failed or the card is broken, -ENOTSUP.
 */
#ifndef A350_CARD_H
#define A350_CARD_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "hw/atlas350/regs.h"
#include "hw/atlas350/admin.h"
#include "hw/atlas350/sqe.h"
#include "hw/atlas350/ub.h"
#include "hw/atlas350/aicpu.h"

#ifdef __cplusplus
extern "C" {
#endif

#define A350_API __attribute__((visibility("default")))

typedef struct a350_card a350_card;
typedef struct a350_sq a350_sq;

/* Text of this thread's last failure; "" if none. Valid until the next one. */
A350_API const char *a350_card_text(void);
/* Sets it (printf style); returns @rc, so that "return a350_fail(-EIO, …)". */
A350_API int a350_fail(int rc, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * pthread_create for the library's own threads: they take no signals, which
 * are the program's affair. Returns its errno.
 */
static inline int a350_thread_create(pthread_t *t, const pthread_attr_t *attr,
                                     void *(*fn)(void *), void *opaque)
{
    sigset_t all, old;
    int rc;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    rc = pthread_create(t, attr, fn, opaque);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return rc;
}

/* ---- finding and opening cards ---- */

typedef struct a350_card_slot {
    char bdf[16];                /* "0000:01:00.0" */
    char driver[32];             /* kernel driver bound to it, "" none */
    int iommu_group;             /* -1: none */
} a350_card_slot;

/*
 * Cards on the PCI bus of this guest, ordered by PCI address (which is the
 * order of their fabric indices when atlas350-run started the guest). Never
 * fails; a guest without cards has 0.
 */
A350_API unsigned a350_card_count(void);
A350_API int a350_card_find(unsigned number, a350_card_slot *slot);

A350_API int a350_card_open(unsigned number, a350_card **card);
A350_API void a350_card_close(a350_card *card);
A350_API void a350_card_ref(a350_card *card);

/* The card of this process that owns device address @addr; NULL: none open. */
A350_API a350_card *a350_card_of_addr(uint64_t addr);

A350_API unsigned a350_card_number(const a350_card *card);  /* PCI order */
A350_API const a350_identify_rsp *a350_card_id(const a350_card *card);
A350_API const char *a350_card_bdf(const a350_card *card);

/* Registers of BAR2. Offsets are checked: outside reads 0, writes nothing. */
A350_API uint32_t a350_card_read32(a350_card *card, uint32_t offset);
A350_API void a350_card_write32(a350_card *card, uint32_t offset, uint32_t v);
/* The card's clock, ns; the time base of event timestamps. */
A350_API uint64_t a350_card_clock(a350_card *card);
/* Waits until the firmware takes kernels; -ETIMEDOUT or -EIO with its reason. */
A350_API int a350_card_wait_firmware(a350_card *card, unsigned timeout_ms);

/* Windows published by SYNC_SOC_RES, BAR2 offsets. */
typedef struct a350_windows {
    uint32_t rtsq, rtsq_size, cqint, cqint_size;
    uint32_t notify, notify_size, cnt_notify, cnt_notify_size;
} a350_windows;
A350_API const a350_windows *a350_card_windows(const a350_card *card);

/* ---- admin commands ---- */

/*
 * Posts a command and waits for it. @rsp may be NULL; at most @rsp_len bytes
 * of the reply are copied (zero-filled when it is shorter). Returns 0, -EIO
 * (the card refused: enum a350_admin_result in *@result if not NULL, its
 * message is the text) or -ETIMEDOUT.
 */
A350_API int a350_admin(a350_card *card, uint32_t opcode, const void *req,
                        size_t req_len, void *rsp, size_t rsp_len,
                        uint32_t *result);

/* ---- host memory for the card's masters ---- */

/*
 * Pins [va, va + len) and maps it for every card of the process with
 * IOVA = VA; both 4 KiB aligned. Cards opened later see it too. Ranges may
 * overlap; each call has its own unmap with the same arguments.
 */
A350_API int a350_dma_map(void *va, size_t len);
A350_API int a350_dma_unmap(void *va, size_t len);
/* mmap + map; zeroed, page aligned. */
A350_API void *a350_dma_alloc(size_t len);
A350_API void a350_dma_free(void *va, size_t len);

/* ---- HBM ---- */

#define A350_HBM_NORMAL     0u   /* 64-byte granules; >= 4 KiB: page aligned */
#define A350_HBM_HUGE       1u   /* 2 MiB granules and alignment */

/* *@addr: device address. -ENOSPC names the size and what is free. */
A350_API int a350_hbm_alloc(a350_card *card, size_t size, unsigned kind,
                            uint64_t *addr);
/* -EINVAL if @addr is not the start of a live block of an open card. */
A350_API int a350_hbm_free(uint64_t addr);
/* Start and requested size of the live block that holds @addr. */
A350_API int a350_hbm_range(uint64_t addr, uint64_t *base, uint64_t *size);
A350_API void a350_hbm_info(a350_card *card, uint64_t *free_bytes,
                            uint64_t *total, uint64_t *largest);
/* Host pointer to [addr, addr + len); NULL if that is not an open card's HBM. */
A350_API void *a350_hbm_ptr(uint64_t addr, size_t len);
/* Copies that are fast on mapped HBM (no string instructions). */
A350_API void a350_copy(void *dst, const void *src, size_t len);
A350_API void a350_fill(void *dst, int value, size_t len);
/* alloc + copy in one; @data NULL: zeroed. */
A350_API int a350_hbm_new(a350_card *card, const void *data, size_t size,
                          uint64_t *addr);

/* ---- task queues ---- */

/*
 * An error of a queue. The text is made at once when the CQE arrives, from
 * the card's first-error latch and the exception record where there is one.
 */
typedef struct a350_sq_error {
    uint8_t bits;                /* A350_ERR_*; 0: no error */
    uint8_t sqe_type;
    uint16_t sqe_index;
    uint32_t task;
    uint32_t status;             /* UB status in its low byte */
    uint64_t seq;                /* sequence number of the failed entry */
} a350_sq_error;

/*
 * Called for every CQE of the queue, on the card's completion thread or on a
 * thread that is in a350_sq_wait: must not block, destroy the queue, wait or
 * issue admin commands; may take only locks that nobody holds while calling
 * a350_sq_wait, _new, _destroy or _reset.
 */
typedef void a350_cqe_fn(void *opaque, a350_sq *sq, const a350_cqe *cqe);

typedef struct a350_sq_config {
    uint32_t depth;              /* 0: 2049; else (depth - 1) % 8 == 0 */
    uint32_t flags;              /* A350_SQ_F_* */
    bool no_cqe;                 /* detached from the completion queue */
    bool device_fills;           /* kernels write it: _push is refused */
    a350_cqe_fn *on_cqe;         /* may be NULL */
    void (*on_drop)(void *opaque, void *cookie); /* see _push_cookies */
    void *opaque;
    a350_sq_label label;         /* sq_id is filled in; kind 0, rank
                                    A350_ID_NONE if it means nothing */
    bool labelled;               /* label is valid */
} a350_sq_config;

A350_API int a350_sq_new(a350_card *card, const a350_sq_config *cfg,
                            a350_sq **sq);
/* Ends running work (a kernel is aborted) and frees ring and id. */
A350_API void a350_sq_destroy(a350_sq *sq);
/* Queues of the card that nobody has. */
A350_API uint32_t a350_card_queues_free(a350_card *card);
/* Drops all entries and the error; the queue is enabled and empty again. */
A350_API int a350_sq_reset(a350_sq *sq);

A350_API uint32_t a350_sq_id(const a350_sq *sq);
A350_API uint32_t a350_sq_depth(const a350_sq *sq);
A350_API uint64_t a350_sq_base(const a350_sq *sq);  /* ring: device address */
A350_API uint64_t a350_sq_page(const a350_sq *sq);  /* registers: device addr */
A350_API a350_card *a350_sq_card(const a350_sq *sq);

/*
 * Appends @n entries, contiguous in order, n <= depth - 1; waits while the
 * ring is full. Word 1 (task number) of each is overwritten with the running
 * number. *@seq (may be NULL) is the sequence number of the last one; numbers
 * start at 1. -EIO: the queue has stopped on an error (see _error).
 */
A350_API int a350_sq_push(a350_sq *sq, const a350_sqe *sqe, unsigned n,
                          uint64_t *seq);
/*
 * The same with a pointer for each entry (NULL: none), which must write a CQE
 * then. on_cqe finds it with a350_sq_cookie; it is forgotten after the CQE's
 * call. An entry that is dropped by a reset or with its queue has its cookie
 * given to on_drop instead. So every cookie comes back exactly once.
 */
A350_API int a350_sq_push_cookies(a350_sq *sq, const a350_sqe *sqe,
                                  unsigned n, void *const *cookie,
                                  uint64_t *seq);
/* Inside on_cqe only: the cookie of the entry that wrote @cqe. */
A350_API void *a350_sq_cookie(a350_sq *sq, const a350_cqe *cqe);
/*
 * Makes the queue look failed: waiters return -EIO at once, pushing fails. The
 * error has bits A350_ERR_SW_STATUS and @status. A reset ends this state.
 */
A350_API void a350_sq_fail(a350_sq *sq, uint32_t status);
/* Number of the last entry pushed, and of the last completed one. */
A350_API uint64_t a350_sq_pushed(a350_sq *sq);
A350_API uint64_t a350_sq_done(a350_sq *sq);   /* reads the head register */
/*
 * Waits until entry @seq is complete. @timeout_ms -1: for ever. Returns 0,
 * -ETIMEDOUT, -EIO (an error of this queue since @errors_seen, a value of
 * _error_count; returned at once), -ECANCELED (reset while waiting).
 */
A350_API int a350_sq_wait(a350_sq *sq, uint64_t seq, int timeout_ms,
                          uint32_t errors_seen);
/* Errors since creation, and the last one (false: none since the reset). */
A350_API uint32_t a350_sq_error_count(a350_sq *sq);
A350_API bool a350_sq_last_error(a350_sq *sq, a350_sq_error *err);
/* Has an entry of @first..@last failed since @errors_seen? Which way. */
A350_API bool a350_sq_error_of(a350_sq *sq, uint64_t first, uint64_t last,
                               uint32_t errors_seen, a350_sq_error *err);

/* ---- notifies ---- */

/* Ids are chosen here, so that -ENOSPC comes without a command. */
A350_API int a350_notify_alloc(a350_card *card, uint32_t *id);
/* @n consecutive ids. */
A350_API int a350_notify_alloc_n(a350_card *card, uint32_t n, uint32_t *first);
A350_API void a350_notify_free(a350_card *card, uint32_t id);
/* Sets flags to 0; from the host, at once. */
A350_API int a350_notify_clear(a350_card *card, uint32_t first, uint32_t n);
/* Names a notify for reports (notify_id in @label says which). */
A350_API int a350_notify_set_label(a350_card *card,
                                   const a350_notify_label *label);
A350_API uint64_t a350_notify_device_addr(a350_card *card, uint32_t id);
/* Record and read it from the host. */
A350_API void a350_notify_write(a350_card *card, uint32_t id, uint32_t v);
A350_API uint32_t a350_notify_read(a350_card *card, uint32_t id);
A350_API int a350_cnt_notify_alloc(a350_card *card, uint32_t *id);
A350_API void a350_cnt_notify_free(a350_card *card, uint32_t id);
A350_API int a350_cnt_notify_reset(a350_card *card, uint32_t id);

/* ---- UB ---- */

typedef struct a350_jetty {
    uint32_t id, depth;          /* blocks */
    uint64_t wq;                 /* device address of block 0 */
    uint64_t ci;                 /* device address of the CI mirror, u32 */
    a350_card *card;
} a350_jetty;

/* Ring and CI mirror are allocated in HBM. rank, peer: names for reports. */
A350_API int a350_jetty_new(a350_card *card, uint32_t depth, uint32_t flags,
                            uint32_t err_timeout, uint32_t rank,
                            uint32_t peer_rank, a350_jetty *jetty);
A350_API void a350_jetty_free(a350_jetty *jetty);

/* @token_value 0: a random one is chosen and returned. */
A350_API int a350_segment_register(a350_card *card, uint64_t base,
                                   uint64_t length, uint32_t access,
                                   uint32_t *token_id, uint32_t *token_value);
/* -EBUSY: a transfer is using it. */
A350_API int a350_segment_unregister(a350_card *card, uint32_t token_id);
/* Token of the segment that covers all of the card's HBM, LOCAL_ONLY. */
A350_API int a350_local_token(a350_card *card, uint32_t *token_id);

/* ---- what the card knows about trouble ---- */

/* kind is A350_EK_NONE when nothing is latched. */
A350_API int a350_first_error_get(a350_card *card, a350_first_error *err);
A350_API int a350_first_error_clear(a350_card *card);
/* Entries of all blocked queues, at most @max; *@n is how many were stored. */
A350_API int a350_wait_list(a350_card *card, a350_wait_entry *entry,
                            unsigned max, unsigned *n);
/* One sentence for people: who waits for what, who owes it. */
A350_API void a350_wait_text(const a350_wait_entry *e, char *buf, size_t len);
/* Cards of the fabric, at most @max. */
A350_API int a350_peers(a350_card *card, a350_peer *peer, unsigned max,
                        unsigned *n);

/*
 * Card log. @pos is the reader's position, 0 at first; copies what is new, at
 * most @len - 1 bytes, NUL-terminated; returns the number of bytes, and the
 * bytes that were overwritten before they were read in *@lost.
 */
A350_API size_t a350_log_read(a350_card *card, uint64_t *pos, char *buf,
                              size_t len, uint64_t *lost);

#ifdef __cplusplus
}
#endif

#endif /* A350_CARD_H */
