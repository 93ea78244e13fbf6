/*
 * Atlas 350 virtual card: the fabric, as the blocks that use it see it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A fabric joins cards. What crosses it is a request: the initiator has read
 * its work queue entry and checked its own side, the back end carries the
 * request to the card with the addressed end point, which checks its side,
 * and tells the initiator when all is done. Nothing in the initiator assumes
 * that the target's memory can be reached by a pointer, nor that the answer
 * comes before a350_fabric_request returns.
 */
#ifndef HW_ATLAS350_FABRIC_H
#define HW_ATLAS350_FABRIC_H

#include "qemu/atomic.h"
#include "qom/object.h"
#include "card.h"

typedef struct A350UbReq A350UbReq;

#define A350_UB_INLINE_MAX  16u

/* A write or read of UB, and the notification that may follow a write. */
struct A350UbReq {
    /* The initiator fills in these. */
    A350Card *card;
    bool read;                   /* remote to local */
    bool notify;
    bool token_enable;           /* the entry carries the token value */
    uint32_t opcode;             /* A350_SDMA_CPY, or a reduction with type */
    bool bf16_sat;
    uint8_t eid[A350_EID_LEN];
    uint64_t remote, local, len;
    uint32_t token_id, token_value;
    uint32_t inline_len;         /* not 0: source is inline_data */
    uint8_t inline_data[A350_UB_INLINE_MAX];
    uint64_t notify_addr, notify_data;
    uint32_t notify_token_id, notify_token_value;
    uint64_t start;              /* bytes moved before the state was saved */
    bool bulk;                   /* many more are queued behind it */
    void (*done)(A350UbReq *q);
    void *opaque;

    /* The back end fills in these before it calls done. */
    uint8_t status, sub_status;
    const char *reason;          /* static text */
    uint64_t error_addr, error_len;
    uint32_t peer;               /* card index, A350_ID_NONE unknown */

    /* The in-process back end's own: the job and what it pins. */
    A350Move move;
    A350Card *target;
    int32_t pinned[2];           /* segments of the target, -1 none */
    bool finished;
};

/* A way to the cards of a fabric; the in-process one is the first. */
typedef struct A350FabricOps {
    /* Carries @q out; calls q->done once, from any thread, even from here. */
    void (*request)(A350Fabric *f, A350UbReq *q);
    /*
     * Takes @q back: true if done will not be called any more, false if it
     * has returned. Neither a lock that done takes may be held.
     */
    bool (*cancel)(A350Fabric *f, A350UbReq *q);
    /* Bytes moved so far, while the initiator's mover is paused. */
    uint64_t (*position)(A350Fabric *f, A350UbReq *q);
} A350FabricOps;

/* One place for a card; a cache line each, for cards count their users. */
typedef struct A350FabricSlot {
    A350Card *card;              /* atomic: as others find it */
    unsigned users;              /* atomic */
    bool taken;                  /* big lock */
} QEMU_ALIGNED(64) A350FabricSlot;

struct A350Fabric {
    Object parent_obj;

    const A350FabricOps *ops;
    char *shape;
    uint32_t max_cards;
    uint64_t id;                 /* bytes 0-7 of its end point addresses */
    uint32_t count;
    A350FabricSlot *slot;        /* A350_CARDS_MAX */
};

DECLARE_INSTANCE_CHECKER(A350Fabric, A350_FABRIC, TYPE_A350_FABRIC)

static inline void a350_fabric_request(A350Fabric *f, A350UbReq *q)
{
    f->ops->request(f, q);
}

static inline bool a350_fabric_cancel(A350Fabric *f, A350UbReq *q)
{
    return f->ops->cancel(f, q);
}

static inline uint64_t a350_fabric_position(A350Fabric *f, A350UbReq *q)
{
    return f->ops->position(f, q);
}

/*
 * The card with this index, kept from leaving until a350_fabric_put; NULL if
 * there is none. Any thread; only for as long as a bounded piece of work.
 */
static inline A350Card *a350_fabric_get(A350Fabric *f, uint32_t index)
{
    A350FabricSlot *s;
    A350Card *c;

    if (index >= A350_CARDS_MAX) {
        return NULL;
    }
    s = &f->slot[index];
    qatomic_inc(&s->users);
    /* Pairs with a350_fabric_leave: it clears the card, then reads users. */
    smp_mb__after_rmw();
    c = qatomic_read(&s->card);
    if (!c) {
        qatomic_dec(&s->users);
    }
    return c;
}

static inline void a350_fabric_put(A350Fabric *f, uint32_t index)
{
    smp_mb__before_rmw();
    qatomic_dec(&f->slot[index].users);
}

/* The in-process back end (ub/target.c). */
extern const A350FabricOps a350_fabric_local_ops;
/* Other cards stop touching @c: its segments are gone (ub/target.c). */
void a350_fabric_drop_inbound(A350Card *c);

#endif /* HW_ATLAS350_FABRIC_H */
