/*
 * Atlas 350 virtual card: the task scheduler's inside.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Threads. The queues of a card are run by one thread, that of its
 * AioContext, which holds run_lock while it does so; admin commands come on
 * the same thread and with that lock. A worker of the mover that has ended a
 * copy may run that one queue in its stead (ts_continue). Everybody else
 * (vCPUs, cores, data workers, other cards) only stores into what is marked
 * atomic below, sets the queue's bit in @ready and kicks. That is the whole
 * protocol: a queue looks at all it could have been woken for, and finding
 * nothing is legal.
 *
 * A queue is at one entry at a time: it copies the entry, checks it, starts
 * it, and takes the next one when it has ended. See enum SqState.
 */
#ifndef HW_ATLAS350_TS_PRIV_H
#define HW_ATLAS350_TS_PRIV_H

#include "qemu/atomic.h"
#include "qemu/bitops.h"
#include "qemu/lockable.h"
#include "qemu/queue.h"
#include "qemu/thread.h"
#include "qemu/timer.h"
#include "block/aio.h"
#include "../card.h"
#include "ts.h"

#define TS_NO_DEADLINE  INT64_MAX
#define TS_WORDS        (2048 / 64)
#define TS_SQ_BUDGET    32          /* entries of a queue in one turn */
#define TS_COPY_BUDGET  4           /* of these, on a worker of the mover */
#define TS_BLOCK_BUDGET 64          /* strided blocks in one turn */
#define TS_TEXT         A350_ADMIN_MSG_SIZE

typedef struct A350Sq A350Sq;
typedef struct A350Cq A350Cq;
typedef struct TsLoop TsLoop;

typedef enum SqState {
    SQ_IDLE = 0,                /* between entries */
    SQ_NOTIFY = 1,              /* in a chain of waiters */
    SQ_COPY = 2,                /* the mover has our job, or more blocks */
    SQ_UB = 3,
    SQ_AICPU = 4,
    SQ_END_OK = 5,              /* ended; the CQ has no room for its CQE */
    SQ_END_ERROR = 6,
    SQ_TELL = 7,                /* a callback; no room for its CQE either */
} SqState;

/* Does software hold it up, whose CQ is full? */
static inline bool sq_wants_room(uint32_t state)
{
    return state == SQ_END_OK || state == SQ_END_ERROR || state == SQ_TELL;
}

/* How one look at an entry ended. */
typedef enum TsResult {
    TS_DONE,
    TS_WAIT,
    TS_ERROR,                   /* sq->err says how */
} TsResult;

/* An error of an entry, until its CQE is written. */
typedef struct TaskError {
    uint32_t kind;              /* enum a350_error_kind */
    uint32_t bits;              /* A350_ERR_* */
    uint32_t sqe_type;
    uint32_t status;
    uint8_t ub[4];              /* status0, sub0, status1, sub1 */
    uint64_t address, length;
    uint32_t peer_card, jetty, notify;
    bool stopped;               /* the queue was disabled for it */
} TaskError;

/* What one doorbell of a UBDMA entry waits for. */
typedef struct SqUb {
    A350Sq *sq;
    bool rung;
    uint32_t done;              /* atomic; result is valid */
    A350UbResult result;
} SqUb;

/* A pattern of equal blocks; a plain copy is one block. */
typedef struct SqCopy {
    uint32_t opcode, fill;
    uint64_t dst, src, len;     /* first block */
    uint32_t inner, outer;      /* blocks in a row, rows */
    uint32_t i, o;              /* the block at hand */
    uint64_t src_step, src_row; /* block to block, row to row */
    uint64_t dst_step;
} SqCopy;

struct A350Sq {
    A350Ts *ts;
    uint32_t id;

    /* registers, atomic */
    bool exists;
    bool enabled;
    uint32_t tail, head;
    uint32_t head_req;          /* head to be set, A350_ID_NONE none */

    /* configuration */
    uint32_t depth, cq_id, flags;
    uint64_t base;
    uint8_t *ring;              /* in HBM, else host memory */

    /* the run thread's own from here */
    bool paused;
    uint32_t tail_seen;
    uint32_t state;             /* enum SqState */
    uint32_t slots;             /* of the entry: 1..3 */
    a350_sqe sqe;
    a350_wqe ext;               /* slots that follow it */
    int64_t since;              /* when the entry or the queue came to stand */
    bool stands;                /* disabled or paused between entries */
    int64_t deadline;
    uint64_t completed;

    /* notify wait */
    uint32_t wait_id;
    bool wait_cnt;
    A350Sq *next_waiter;
    uint32_t wait_order;        /* for migration: place in its chain */

    /* copy */
    SqCopy copy;
    A350Move *job;
    bool job_busy;
    uint32_t job_done;          /* atomic */
    uint32_t job_status;

    SqUb ub[2];

    /* launch; under launch_lock but for next_block, blocks */
    uint32_t blocks, next_block;
    uint32_t blocks_done;
    uint32_t launch_code;       /* first error: errcode << 16 | status */
    bool launch_exc;
    a350_exc_record *exc;

    TaskError err;              /* of SQ_END_ERROR, or of what stopped it */
    uint32_t err_index, err_task;
    a350_sq_label label;
};

struct A350Cq {
    bool exists;                /* atomic */
    uint32_t depth;
    uint64_t base;
    uint8_t *ring;
    bool irq;
    uint32_t phase;             /* of the next CQE */
    uint32_t head, tail;        /* atomic */
    uint32_t users;             /* SQs that report here */
};

typedef struct CqIntGroup {
    uint32_t mask, status;      /* L1 */
    uint32_t l2[A350_CQS_PER_GROUP / 32];
} CqIntGroup;

struct A350Ts {
    A350Card *card;
    TsLoop *loop;
    QTAILQ_ENTRY(A350Ts) next;
    bool noop_others;

    QemuMutex run_lock;
    bool paused;                /* atomic */
    uint32_t kicked;            /* atomic */
    uint64_t ready[TS_WORDS];   /* atomic */
    uint32_t cursor;            /* queue that the next turn begins with */
    uint32_t cq_moved;          /* atomic: a CQ head was written */

    uint32_t num_sq, num_notify, num_cnt; /* the card's, for VMState */
    A350Sq *sq;                 /* num_sq */
    A350Cq *cq;                 /* num_sq */
    uint32_t top;               /* highest SQ id in use + 1 */

    uint8_t *notify;            /* atomic: the flags */
    uint32_t *cnt_notify;       /* atomic */
    uint16_t *waiter;           /* atomic: SQ id + 1 of the oldest waiter */
    uint16_t *cnt_waiter;
    GHashTable *labels;         /* notify id -> a350_notify_label */

    a350_notify_label *saved_label; /* while it is saved or loaded */
    int32_t num_saved;

    QEMUTimer *timer;           /* main loop, virtual clock */
    uint32_t timer_fired;       /* atomic */
    int64_t next_deadline;

    QemuMutex irq_lock;
    CqIntGroup group[A350_CQINT_GROUPS];
    uint64_t irq_sent, irq_merged;

    QemuMutex launch_lock;

    a350_first_error first;

    /* stall watch, stall.c */
    uint64_t progress;          /* atomic: entries ended */
    bool stall_armed;           /* atomic */
    bool stall_said;            /* big lock */
    uint64_t stall_progress;    /* of the whole fabric, a second ago */
    QEMUTimer *stall_timer;     /* main loop, virtual clock */
};

/* ---- loop.c ---- */
void ts_kick(A350Ts *ts);
void ts_deadline(A350Sq *sq, int64_t deadline);
void ts_continue(A350Sq *sq);
bool ts_look(A350Ts *ts);
void ts_look_end(A350Ts *ts);

static inline void ts_ready(A350Ts *ts, uint32_t sq)
{
    uint64_t bit = 1ull << (sq % 64);

    if (!(qatomic_read(&ts->ready[sq / 64]) & bit)) {
        qatomic_or(&ts->ready[sq / 64], bit);
    }
    ts_kick(ts);
}

/* From any thread, after a store that the queue is to look at. */
static inline void ts_wake(A350Ts *ts, uint32_t sq)
{
    /* The store is seen by who finds the bit already set and clears it. */
    smp_mb();
    ts_ready(ts, sq);
}

/* ---- sq.c ---- */
A350Sq *ts_sq(A350Ts *ts, uint32_t id);
void ts_sq_stop_work(A350Sq *sq);
void ts_sq_clear(A350Sq *sq);
uint32_t ts_used(const A350Sq *sq);

/* ---- exec.c ---- */
/* With run_lock. Up to @budget entries; true if there is more to do now. */
bool ts_sq_run(A350Sq *sq, unsigned budget);
void ts_sq_timeout(A350Sq *sq, int64_t now);
/* An entry of the ring, which software may be writing; false: no memory. */
bool ts_fetch_slot(A350Sq *sq, uint32_t slot, void *out);
/* A 49- or 48-bit address field of an SQE, completed. */
uint64_t ts_addr(A350Sq *sq, uint32_t low, uint32_t high, unsigned bits);

/* ---- notify.c ---- */
TsResult ts_exec_record(A350Sq *sq);
TsResult ts_exec_wait(A350Sq *sq);
TsResult ts_wait_for(A350Sq *sq, uint32_t id);
TsResult ts_poll_wait(A350Sq *sq);
void ts_wait_link(A350Sq *sq);
void ts_wait_unlink(A350Sq *sq);
/* Of a queue in a chain: is it the first? */
bool ts_wait_oldest(A350Sq *sq);
void ts_notify_clear(A350Ts *ts, uint32_t id, bool cnt);
bool ts_notify_reg(A350Ts *ts, uint32_t offset, unsigned size, bool write,
                   uint64_t *val);
bool ts_cnt_notify_reg(A350Ts *ts, uint32_t offset, unsigned size, bool write,
                       uint64_t *val);

/* ---- sdma.c ---- */
TsResult ts_exec_sdma(A350Sq *sq);
TsResult ts_exec_memcpy(A350Sq *sq);
TsResult ts_poll_copy(A350Sq *sq);
void ts_copy_abandon(A350Sq *sq);
void ts_copy_resume(A350Sq *sq);

/* ---- launch.c ---- */
TsResult ts_exec_ub(A350Sq *sq);
TsResult ts_poll_ub(A350Sq *sq);
void ts_ub_abandon(A350Sq *sq);
void ts_ub_resume(A350Sq *sq);
TsResult ts_exec_aicpu(A350Sq *sq);
TsResult ts_poll_aicpu(A350Sq *sq);
void ts_aicpu_abandon(A350Sq *sq);

/* ---- cq.c ---- */
/* False: no room, try again when the CQ's head has moved. */
bool ts_cqe(A350Sq *sq, uint32_t head, const TaskError *err);
void ts_cq_reset(A350Ts *ts);
void ts_irq(A350Ts *ts, uint32_t cq);

/* ---- error.c ---- */
/* Fills sq->err; returns TS_ERROR. The text is for log and latch. */
TsResult ts_error(A350Sq *sq, uint32_t kind, uint32_t bits, uint32_t status,
                  const char *fmt, ...) G_GNUC_PRINTF(5, 6);
/* "queue 5 (rank 3, thread 2)" */
const char *ts_sq_name(const A350Sq *sq, char buf[96]);
/* A new entry: no error, and the ids of one unknown. */
void ts_error_begin(A350Sq *sq);
void ts_error_reset(A350Ts *ts);

/* ---- waits.c ---- */
const a350_notify_label *ts_notify_label(A350Ts *ts, uint32_t id, bool cnt);
void ts_waits_reset(A350Ts *ts);
/* False if the queue is not blocked. */
bool ts_wait_describe(A350Sq *sq, a350_wait_entry *e);

/* ---- stall.c ---- */
void ts_stall_idle(A350Ts *ts);
void ts_stall_init(A350Ts *ts);
void ts_stall_destroy(A350Ts *ts);
void ts_stall_reset(A350Ts *ts);

#endif /* HW_ATLAS350_TS_PRIV_H */
