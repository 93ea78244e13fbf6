/*
 * QTest: cards of the Atlas 350 with what a test of UB needs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Every card has a data segment, a segment of its notify registers, a queue
 * and a jetty; tests build work requests in the jetty's ring and ring it by a
 * UBDMA entry of the queue.
 */
#ifndef TESTS_QTEST_ATLAS350_UB_H
#define TESTS_QTEST_ATLAS350_UB_H

#include "atlas350-card.h"

#define RING        0x000000u   /* SQ, and CQ behind it */
#define WQ          0x100000u   /* jetty ring */
#define WQ2         0x400000u
#define CI          0x0ff000u
#define DATA        0x1000000u  /* data segment: 16 MiB, 128 MiB long */
#define DATA_LEN    0x8000000u
#define SRC         (DATA + 0x1000u)
#define DST         (DATA + 0x2000000u)
#define ALL         (A350_SEG_READ | A350_SEG_WRITE | A350_SEG_ATOMIC)
#define VALUE       0x35035000u /* token value of card i: + i */

typedef struct UbCard {
    TCard *c;
    TQueue q;
    uint32_t index, jetty, depth;
    uint16_t pi;
    uint32_t data_token, notify_token;
    a350_ub_remote rmt;         /* how others address the data segment */
} UbCard;

typedef struct Ub {
    TMachine *m;
    UbCard card[T_CARDS_MAX];
} Ub;

uint32_t ub_segment(TCard *c, uint64_t base, uint64_t len, uint32_t access,
                    uint32_t value);
uint32_t ub_jetty(TCard *c, uint64_t ring, uint32_t depth, uint64_t ci_addr,
                  uint32_t flags);
void ub_card(Ub *u, unsigned i, uint32_t depth, uint32_t flags);
Ub *ub_start_full(unsigned cards, uint32_t depth, uint32_t flags);
Ub *ub_start(unsigned cards);
void ub_stop(Ub *u);
void ub_post(UbCard *k, const a350_wqe *w);
void ub_ring_at(UbCard *k, uint16_t pi);
void ub_ring_ok(UbCard *k);
void ub_ring_fails(UbCard *k, uint8_t status, uint8_t sub);
a350_jetty_query_rsp ub_query(UbCard *k);
void ub_recover(UbCard *k);
a350_wqe ub_rw(UbCard *k, UbCard *peer, uint32_t opcode, uint64_t remote,
               uint64_t local, uint32_t len);
a350_wqe ub_write_notify(UbCard *k, UbCard *peer, uint64_t remote,
                         uint64_t local, uint32_t len, uint32_t notify,
                         uint64_t data);
a350_wqe ub_nop(void);
void ub_guard(UbCard *k, uint64_t off, size_t len);
void ub_check_guarded(UbCard *k, uint64_t off, uint32_t seed, size_t len);

#endif /* TESTS_QTEST_ATLAS350_UB_H */
