/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of libhccl.so: the operators of hccl/hccl.h.
 *
 *   api.c        arguments, in the order of spec/api/hccl-collectives.md §4
 *   group.c      sends and receives between HcclGroupStart and HcclGroupEnd
 *   algo.c       which algorithm for which operator, rank count and size
 *   exchange.c   building block: messages between ranks, in chunks
 *   reduce.c     building block: parts of the input reduced in rank order
 *   plan.c       the tasks of which both are made, cut into launches
 *   resource.c   threads, channels and contexts of a communicator, made once
 *   launch.c     a kernel launch for each cut (hw/atlas350/hccl_ops.h)
 *
 * Every rank plans its own side of an operator from the arguments alone. Data
 * moves by reading: a rank puts its input into its own HCCL buffer and records
 * READY; who wants it reads it there and records DONE. So a rank writes into
 * no memory but its own, and nobody reads a buffer after its rank's operator
 * has ended. Between two ranks READY, RESULT and DONE alternate strictly: no
 * notify can be recorded twice before it was waited for.
 *
 * The first three files know no communicator: tests/unit/test-hccl-ops.c runs
 * plans of all ranks against each other.
 */
#ifndef HCCL_OPS_H
#define HCCL_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#pragma GCC visibility push(default)
#include "hccl/hccl.h"
#pragma GCC visibility pop
#include "hw/atlas350/hccl_ops.h"

/* Notifies of a channel. */
enum {
    OPS_READY,                   /* input is in the buffer */
    OPS_DONE,                    /* the buffer is not read any more */
    OPS_RESULT,                  /* a reduced part is in the buffer */
    OPS_NOTIFIES
};

#define OPS_RANKS_MAX   128u     /* threads of a communicator: 200 */
#define OPS_ALIGN       128u     /* of what lies in the buffer */

#define TRY(call)                               \
    do {                                        \
        HcclResult rc_ = (call);                \
        if (rc_ != HCCL_SUCCESS) {              \
            return rc_;                         \
        }                                       \
    } while (0)

/* Bytes of an element; 0: not a type that operators move. */
uint32_t ops_type_size(HcclDataType type);
/* Does the card reduce this itself? Else its cores do. */
bool ops_card_reduces(HcclDataType type, HcclReduceOp op);

/* ---- plan.c ---- */

/* What a plan needs to know about its communicator. */
typedef struct ops_view {
    uint32_t rank, ranks;
    uint64_t buffer, buffer_size;
    const uint64_t *peer_buffer; /* [ranks] */
} ops_view;

/* Who takes the tasks. */
typedef struct ops_sink {
    HcclResult (*run)(void *opaque, const a350_ops_run *run);
    HcclResult (*reduce)(void *opaque, const a350_ops_reduce *reduce);
    void *opaque;
} ops_sink;

typedef struct ops_plan {
    ops_view v;
    ops_sink sink;
    HcclResult rc;               /* of the first launch that failed */
    union {
        a350_ops_run run;
        uint8_t bytes[A350_OPS_ARGS_MAX];
    };
} ops_plan;

/* Bytes that go at a time if there is room for @room. */
uint64_t ops_chunk(uint64_t room);

void ops_plan_start(ops_plan *p, const ops_view *v, const ops_sink *sink);
/* Launches what is there; the last call of an operator. */
HcclResult ops_plan_end(ops_plan *p);

/*
 * Tasks, queued in the order of the calls. No bytes: no task. When a launch is
 * full they begin another: a task may wait only for tasks that stand before
 * it, of this rank or, by the operator's order, of another.
 */
void ops_copy(ops_plan *p, uint32_t thread, uint64_t dst, uint64_t src,
              uint64_t len);
void ops_read(ops_plan *p, uint32_t thread, uint32_t peer, uint64_t dst,
              uint64_t src, uint64_t len);
void ops_record(ops_plan *p, uint32_t thread, uint32_t peer, uint32_t index);
void ops_wait(ops_plan *p, uint32_t thread, uint32_t peer, uint32_t index);

typedef struct ops_reducer {
    HcclDataType type;
    HcclReduceOp op;
    uint32_t size;               /* bytes of an element */
} ops_reducer;
/* dst = dst op src, @src in this card or, peer != rank, in @peer's. */
void ops_combine(ops_plan *p, const ops_reducer *r, uint32_t peer,
                 uint64_t dst, uint64_t src, uint64_t count);
/* By the cores, once all tasks of thread 0 up to now are complete. */
void ops_compute(ops_plan *p, const ops_reducer *r, uint64_t dst,
                 const uint64_t *src, uint32_t num, uint64_t count);

/* Threads 1 .. n start behind thread 0; thread 0 goes on behind all. */
void ops_fork(ops_plan *p, uint32_t n);
void ops_join(ops_plan *p, uint32_t n);

/* ---- exchange.c ---- */

typedef struct ops_message {
    uint64_t addr, len;
} ops_message;

/* Messages in one direction between this rank and another, in order. */
typedef struct ops_flow {
    const ops_message *msg;
    uint32_t num;
} ops_flow;

typedef struct ops_exchange {
    ops_flow send[OPS_RANKS_MAX], recv[OPS_RANKS_MAX];
    /*
     * All ranks get the same: a message that is put into the buffer once.
     * send[] says who reads it. @own: where this rank wants it, 0: nowhere.
     */
    bool shared;
    ops_message source;
    uint64_t own;
    /*
     * Each pair of ranks goes on by itself, rank r + i on thread i, for
     * messages that are not one operator's. Else all take step after step.
     */
    bool pairs;
} ops_exchange;

void ops_exchange_plan(ops_plan *p, const ops_exchange *x);
/* Nobody goes on before all have come. */
void ops_meet_plan(ops_plan *p);

/* ---- reduce.c ---- */

/* Bytes of every rank's input that one rank reduces. */
typedef struct ops_part {
    uint64_t src;                /* of this rank's own input */
    uint64_t stage;              /* where it lies in each rank's buffer */
    uint64_t count;              /* elements */
} ops_part;

typedef struct ops_reduction {
    ops_reducer r;
    ops_part part[OPS_RANKS_MAX];    /* by the rank that reduces it */
    uint64_t dst;                /* of this rank's part */
    uint64_t scratch;            /* in the buffer, for reductions by cores */
    /* Who wants the results, too: nobody, one rank, all. */
    enum { OPS_NOBODY, OPS_ROOT, OPS_ALL } readers;
    uint32_t root;
    uint64_t result;             /* where a part lies in its rank's buffer */
    uint64_t out[OPS_RANKS_MAX]; /* where this rank wants it, by part */
} ops_reduction;

void ops_reduction_plan(ops_plan *p, const ops_reduction *r);

/* ---- algo.c ---- */

typedef struct ops_vector {
    uint64_t send, recv, count;  /* elements */
    ops_reducer r;
} ops_vector;

void ops_all_reduce(ops_plan *p, const ops_vector *v);
void ops_reduce(ops_plan *p, const ops_vector *v, uint32_t root);
/* Counts and displacements in elements, by rank. */
void ops_reduce_scatter(ops_plan *p, const ops_vector *v,
                        const uint64_t *counts, const uint64_t *displs);
void ops_all_gather(ops_plan *p, uint64_t send,
                    const ops_message *place);
void ops_broadcast(ops_plan *p, uint64_t buf, uint64_t len, uint32_t root);
/* place[r]: what this rank sends to r, or receives from r. */
void ops_scatter(ops_plan *p, const ops_message *place, uint64_t recv,
                 uint64_t len, uint32_t root);
void ops_all_to_all(ops_plan *p, const ops_message *send,
                    const ops_message *recv);

/* ---- resource.c, launch.c ---- */

/* Kept with the communicator (engine context of CPU_TS, memory of the host). */
typedef struct ops_state ops_state;

typedef struct ops_call {
    const char *name;
    HcclComm comm;
    aclrtStream stream;
    uint32_t rank, ranks;
} ops_call;

/* Fills rank and ranks. */
HcclResult ops_call_start(ops_call *c, const char *name, HcclComm comm,
                          aclrtStream stream);
/*
 * Runs @fn, which plans, with all that the operator needs: channels to @peers
 * (NULL: to all ranks), threads for pairs if @pairs.
 */
typedef void ops_plan_fn(ops_plan *p, const void *arg);
HcclResult ops_run(const ops_call *c, const bool *peers, bool pairs,
                   ops_plan_fn *fn, const void *arg);
/* A copy on the stream itself: one rank alone, messages to oneself. */
HcclResult ops_copy_here(const ops_call *c, void *dst, const void *src,
                         uint64_t len);

/* Opaque to others: what resource.c has for a launch. */
struct ops_state {
    uint32_t magic;
    uint32_t rank, ranks;
    uint32_t threads;            /* that exist */
    uint32_t wait_s;
    uint64_t buffer, buffer_size;
    uint64_t ctx;                /* device address of a350_ops_ctx */
    uint64_t peer_buffer[];      /* 0: no channel yet */
};
HcclResult ops_state_get(const ops_call *c, ops_state **out);
HcclResult ops_state_need(const ops_call *c, ops_state *st, const bool *peers,
                          bool pairs);

/* ---- group.c ---- */

/* Keeps @item until the group of this thread ends. */
HcclResult ops_group_add(const ops_call *c, const HcclSendRecvItem *item);
/* Arguments are checked. */
HcclResult ops_batch(const ops_call *c, const HcclSendRecvItem *item,
                     uint32_t num);

#endif /* HCCL_OPS_H */
