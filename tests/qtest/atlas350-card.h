/*
 * QTest: an Atlas 350 card as a driver sees it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Starts a machine with some cards, places their BARs above 4 GiB, and gives
 * the tests what a driver has: registers, HBM, the admin queue, rings.
 */
#ifndef TESTS_QTEST_ATLAS350_CARD_H
#define TESTS_QTEST_ATLAS350_CARD_H

#include "libqtest.h"
#include "libqos/pci-pc.h"
#include "libqos/pci.h"
#include "hw/atlas350/regs.h"
#include "hw/atlas350/sqe.h"
#include "hw/atlas350/ub.h"
#include "hw/atlas350/admin.h"
#include "hw/atlas350/aicpu.h"

#define T_HBM_SIZE      0x10000000ull   /* 256 MiB, the least */
#define T_CARDS_MAX     8
#define T_RAM           0x04000000ull   /* free RAM of the guest from here */

typedef struct TMachine TMachine;

typedef struct TCard {
    TMachine *m;
    QTestState *qts;
    QPCIDevice *pci;
    uint64_t shm, reg, hbm;     /* guest physical addresses of the BARs */
    uint64_t dev;               /* device address of the HBM */
} TCard;

struct TMachine {
    QTestState *qts;
    QPCIBus *bus;
    unsigned n;
    TCard card[T_CARDS_MAX];
};

/* A queue whose ring lies in HBM. */
typedef struct TQueue {
    TCard *c;
    uint32_t id, depth, tail;
    uint64_t ring;              /* offset in HBM */
    uint32_t cq, cq_depth, cq_head, cq_phase;
    uint64_t cq_ring;           /* offset in HBM */
    uint32_t task;              /* number of the next entry */
} TQueue;

/*
 * @props: further properties of each card, "" for none; the first '#' in it
 * stands for the card's number.
 */
TMachine *t_start(unsigned cards, const char *props, const char *args);
/* The same for a machine that waits for its state: nothing is programmed. */
TMachine *t_start_incoming(unsigned cards, const char *props,
                           const char *args);
void t_stop(TMachine *m);
/*
 * A root port gets bus @bus and a window for card @bus; then a card that was
 * plugged there can be opened as number @i of the machine, and closed.
 */
void t_port_open(QPCIDevice *port, unsigned bus);
void t_hot_open(TMachine *m, unsigned i, unsigned bus);
void t_hot_close(TMachine *m, unsigned i);
/* Places BARs and switches memory and bus mastering on; t_start did it. */
void t_enable(TCard *c);

/* A function level reset; it takes BARs and bus mastering away. */
void t_flr(TCard *c);

/* A slot's power: off, its card goes (wait for DEVICE_DELETED). */
void t_slot_power(QPCIDevice *port, bool on);
/*
 * Adds a card behind the root port @port of id @bus and opens it as m->card[0]
 * of a machine without cards, and pulls it out again.
 */
void t_plug(TMachine *m, QPCIDevice *port, const char *bus,
            const char *firmware, int cores);
void t_unplug(TMachine *m, QPCIDevice *port);

uint32_t t_rd32(TCard *c, uint32_t offset);
void t_wr32(TCard *c, uint32_t offset, uint32_t val);
uint64_t t_rd64(TCard *c, uint32_t offset);

/* HBM by offset. */
void t_hbm_read(TCard *c, uint64_t offset, void *buf, size_t len);
void t_hbm_write(TCard *c, uint64_t offset, const void *buf, size_t len);
void t_hbm_fill(TCard *c, uint64_t offset, uint8_t val, size_t len);
/* Bytes that depend on @seed and the position. */
void t_hbm_pattern(TCard *c, uint64_t offset, uint32_t seed, size_t len);
bool t_hbm_is_pattern(TCard *c, uint64_t offset, uint32_t seed, size_t len);
bool t_hbm_is_fill(TCard *c, uint64_t offset, uint8_t val, size_t len);

/*
 * Executes an admin command: @data holds the arguments, then the reply.
 * Returns the result; @msg (may be NULL) is A350_ADMIN_MSG_SIZE bytes.
 */
uint32_t t_admin(TCard *c, uint32_t opcode, void *data, uint32_t len,
                 char *msg);
/* The same with one id, for success. */
void t_admin_id(TCard *c, uint32_t opcode, uint32_t id);

/*
 * A queue with depth @depth, its ring at HBM @ring; with a CQ right behind
 * the ring if @cq (of 65 slots). Ids are chosen by the card.
 */
TQueue t_queue(TCard *c, uint64_t ring, uint32_t depth, bool cq,
               uint32_t flags);
/* Appends an entry (and more slots) without ringing. */
void t_push(TQueue *q, const a350_sqe *s);
void t_push_ext(TQueue *q, const void *slots, unsigned n);
void t_ring(TQueue *q);
void t_push_ring(TQueue *q, const a350_sqe *s);
/* Appends entries with 64 CQEs, as many as the queue's CQ takes. */
void t_fill_cq(TQueue *q);
uint32_t t_head(TQueue *q);
bool t_enabled(TQueue *q);
/* Waits (host time) until the head is at the tail; false: stopped or late. */
bool t_drain(TQueue *q);
/* Waits until the queue is disabled by an error; false: it is not. */
bool t_wait_stop(TQueue *q);
/* Gives the card time, then says whether the head still stands at @head. */
bool t_stays(TQueue *q, uint32_t head);
/* Takes the next CQE if there is one within the time. */
bool t_cqe(TQueue *q, a350_cqe *e);
bool t_no_cqe(TQueue *q);

uint32_t t_notify(TCard *c, uint32_t id);
void t_notify_set(TCard *c, uint32_t id, uint32_t val);
uint32_t t_cnt(TCard *c, uint32_t id, uint32_t alias);
void t_cnt_set(TCard *c, uint32_t id, uint32_t alias, uint32_t val);

/* 10 s in us, as many times as tests/run --patience says. */
gint64 t_patience(void);

/* Until @cond is true or 10 s of host time are over. */
#define T_WAIT(cond)                                                    \
    ({                                                                  \
        gint64 _end = g_get_monotonic_time() + t_patience();            \
        bool _ok;                                                       \
        while (!(_ok = (cond)) && g_get_monotonic_time() < _end) {      \
            g_usleep(200);                                              \
        }                                                               \
        _ok;                                                            \
    })

#endif /* TESTS_QTEST_ATLAS350_CARD_H */
