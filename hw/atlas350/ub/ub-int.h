/*
 * Atlas 350 virtual card: inside the UB block.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A jetty executes its work requests one after the other, which satisfies
 * every order, fence and completion rule a request may ask for. Whoever rings
 * it runs it ("pumps" it) until there is nothing left, the request in hand
 * has to wait for data, or its turn is over; a request that ends later goes
 * on in the thread that ended it. At most one thread pumps a jetty at a time.
 *
 * Locks: A350Ub.lock guards jetties and waiters, seg_lock the segments. No
 * request is carried out and no callback made with either held, and they are
 * never held both. admin_lock is taken before them by what makes and breaks
 * jetties, one command at a time, because that has to leave lock in between.
 */
#ifndef HW_ATLAS350_UB_INT_H
#define HW_ATLAS350_UB_INT_H

#include "../fabric.h"
#include "qemu/thread.h"
#include "qemu/queue.h"

#define A350_SEGMENT_INDEX_BITS 16

typedef struct A350Segment {
    bool valid;
    uint32_t token_id, token_value, access;
    uint64_t base, length;
    uint32_t users;              /* requests in flight; atomic */
} A350Segment;

/* Somebody who waits for a consumer index. */
typedef struct A350UbWaiter {
    QTAILQ_ENTRY(A350UbWaiter) next;
    QTAILQ_ENTRY(A350UbWaiter) firing;
    uint64_t start, target;      /* the blocks it rang for */
    A350UbDone *done;            /* NULL: forgotten */
    void *opaque;
    bool calling;                /* done is running; */
    pthread_t caller;            /* whose it is then */
    A350UbResult result;
    a350_wqe wqe;                /* direct form */
} A350UbWaiter;

typedef QTAILQ_HEAD(A350UbWaiterList, A350UbWaiter) A350UbWaiterList;

typedef enum A350Exec {
    A350_EXEC_NONE = 0,
    A350_EXEC_SUBMIT = 1,        /* wqe is to be carried out */
    A350_EXEC_RUNNING = 2,       /* the fabric has it */
    A350_EXEC_DONE = 3,          /* req has the result */
} A350Exec;

/* A request ends before or after a350_fabric_request has returned. */
enum { A350_PHASE_SUBMITTING, A350_PHASE_RETURNED, A350_PHASE_ENDED };

typedef struct A350Jetty {
    A350Ub *ub;
    uint32_t id;
    uint32_t depth, flags, err_timeout, rank, peer_rank;
    uint64_t base, ci_addr;
    uint8_t *ring;
    uint32_t *ci_mirror;

    uint32_t state;              /* enum a350_jetty_state */
    uint8_t status, sub_status;  /* of the request that stopped it */
    uint64_t pi, ci;             /* blocks since reset; 16 bits are visible */

    A350Exec exec;
    a350_wqe wqe;                /* the request in hand */
    uint32_t blocks;
    A350UbReq req;
    int32_t local_pin;           /* own segment it uses, -1 none */
    int phase;                   /* atomic */

    bool owned;                  /* pumped, queued in ready, or running */
    bool pumping;                /* a thread is inside the pump */
    bool in_ready;
    bool stop;                   /* to be reset or destroyed */
    bool resumable;              /* direct: wqe was loaded, without waiter */
    uint64_t saved_pi;           /* for migration only, like the next */
    uint32_t saved_exec;
    A350UbWaiterList waiters;
    QTAILQ_ENTRY(A350Jetty) ready;
    QTAILQ_ENTRY(A350Jetty) all;
} A350Jetty;

struct A350Ub {
    A350Card *card;
    QEMUBH *bh;                  /* goes on with ready jetties */
    QemuMutex admin_lock;
    QemuMutex lock;
    QemuCond idle;               /* a pump or a callback has ended */
    bool paused;
    unsigned active;             /* threads in a pump */
    A350Jetty **jetty;           /* by id, A350_JETTY_MAX */
    QTAILQ_HEAD(, A350Jetty) all;
    QTAILQ_HEAD(, A350Jetty) ready;
    A350UbWaiterList firing;     /* their callbacks are due or running */
    uint32_t inject_jetty, inject_count;
    uint8_t inject_status;

    QemuMutex seg_lock;
    A350Segment *seg;            /* A350_SEGMENT_MAX */
    uint32_t seg_hint;
    uint32_t seg_count;
    uint32_t seg_pins;           /* users of all; atomic */

    /* For migration only. */
    int32_t num_saved;
    A350Segment *saved;
    uint32_t num_gens, saved_hint;
    uint8_t *gens;               /* by index: the last generation */
};

/* Why a request was refused; reason is static text. */
typedef struct A350UbError {
    uint8_t status, sub_status;
    const char *reason;
    uint64_t addr, len;
} A350UbError;

/* segment.c */
void a350_seg_init(A350Ub *ub);
void a350_seg_destroy(A350Ub *ub);
/* All segments are gone; returns when no request uses one any more. */
void a350_seg_reset(A350Ub *ub);
/*
 * Finds the segment of @token_id and checks that [addr, addr + len) is inside
 * it, that it grants @access (0: a local use), and the token value if
 * @token_value is not NULL. Returns its index, pinned, or -1 and @reason.
 */
int32_t a350_seg_pin(A350Ub *ub, uint32_t token_id,
                     const uint32_t *token_value, uint64_t addr,
                     uint64_t len, uint32_t access, const char **reason);
void a350_seg_unpin(A350Ub *ub, int32_t index);
/* Puts @s back after a migration; false if it is not a legal segment. */
bool a350_seg_restore(A350Ub *ub, const A350Segment *s);
/* The last generations used of all indices, for a350_seg_set_gens. */
uint8_t *a350_seg_get_gens(A350Ub *ub, uint32_t *num);
/* After the segments: tokens of those that are gone open no later ones. */
void a350_seg_set_gens(A350Ub *ub, const uint8_t *gens, uint32_t num,
                       uint32_t hint);

/* wqe.c */
/*
 * Makes @q of the work request @w: all fields of the initiator but done and
 * opaque. Pins the local segment. False, and @err, if it is refused here.
 */
bool a350_wqe_decode(A350Ub *ub, const a350_wqe *w, A350UbReq *q,
                     int32_t *local_pin, A350UbError *err);

/* ub.c */
void a350_ub_request_done(A350UbReq *q);
void a350_ub_bh(void *opaque);
/* All waiters of @j go to @fire with status 6. With the lock held. */
void a350_ub_collect_flushed(A350Jetty *j, A350UbWaiterList *fire);
/* Makes the callbacks of @fire and frees it. Leaves and takes the lock. */
void a350_ub_fire_all(A350Ub *ub, A350UbWaiterList *fire);

/* jetty.c, for migration */
void a350_ub_jetty_add(A350Ub *ub, A350Jetty *j);
void a350_ub_jetty_init(A350Ub *ub, A350Jetty *j);
/* Checks the arguments of a jetty and finds its ring; NULL: it is valid. */
const char *a350_ub_jetty_map(A350Ub *ub, A350Jetty *j);

extern const VMStateDescription vmstate_a350_jetty;

#endif /* HW_ATLAS350_UB_INT_H */
