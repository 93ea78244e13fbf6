/*
 * Atlas 350 virtual card: what the shell asks of the task scheduler beyond
 * card.h: admin commands, the host's CQ interrupt window, reports.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Admin commands return enum a350_admin_result and fill @msg
 * (A350_ADMIN_MSG_SIZE bytes) on failure. They come from the card's thread,
 * with a350_ts_lock.
 */
#ifndef HW_ATLAS350_TS_H
#define HW_ATLAS350_TS_H

#include "../card.h"

/* No queue of the card is run meanwhile. */
void a350_ts_lock(A350Card *c);
void a350_ts_unlock(A350Card *c);

uint32_t a350_ts_cq_create(A350Card *c, a350_cq_create *arg, char *msg);
uint32_t a350_ts_cq_destroy(A350Card *c, uint32_t cq, char *msg);
uint32_t a350_ts_sq_create(A350Card *c, a350_sq_create *arg, char *msg);
uint32_t a350_ts_sq_destroy(A350Card *c, uint32_t sq, char *msg);
uint32_t a350_ts_sq_reset(A350Card *c, uint32_t sq, char *msg);
uint32_t a350_ts_sq_query(A350Card *c, uint32_t sq, a350_sq_query_rsp *rsp,
                          char *msg);
uint32_t a350_ts_sq_pause(A350Card *c, uint32_t sq, bool pause, char *msg);
uint32_t a350_ts_sq_label(A350Card *c, const a350_sq_label *arg, char *msg);
uint32_t a350_ts_notify_reset(A350Card *c, const a350_notify_reset *arg,
                              char *msg);
uint32_t a350_ts_notify_label(A350Card *c, const a350_notify_label *arg,
                              char *msg);
void a350_ts_first_error(A350Card *c, a350_first_error *rsp);
void a350_ts_clear_error(A350Card *c);
void a350_ts_wait_list(A350Card *c, uint32_t first, a350_wait_list_rsp *rsp);

/*
 * All blocked queues, to be freed by the caller, and one of them in words.
 * While the card stands still, or on its thread.
 */
uint32_t a350_ts_waits(A350Card *c, a350_wait_entry **out);
void a350_ts_wait_text(A350Card *c, const a350_wait_entry *e, GString *out);

typedef struct A350TsCounts {
    uint32_t queues, blocked, stopped;
    uint64_t tasks, irq_sent, irq_merged;
} A350TsCounts;
void a350_ts_counts(A350Card *c, A350TsCounts *out);

/* CQ interrupt window of the host, offset from A350_REG_CQINT. */
uint32_t a350_ts_cqint_read(A350Card *c, uint32_t offset);
void a350_ts_cqint_write(A350Card *c, uint32_t offset, uint32_t val);

/* How entries of types this card has no engine for end. */
void a350_ts_set_other_sqe(A350Card *c, bool noop);

/*
 * After a migration, when all blocks are loaded: work in flight goes on.
 * @stalled: the card had said so (A350_STATUS_STALLED).
 */
void a350_ts_loaded(A350Card *c, bool stalled);

#endif /* HW_ATLAS350_TS_H */
