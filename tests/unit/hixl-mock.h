/*
 * Two cards of plain memory under HIXL's core: what it uses of a350_card.h and
 * acl_internal.h. Work requests are taken apart and executed by a thread per
 * queue, with the checks of a card.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef HIXL_MOCK_H
#define HIXL_MOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MOCK_HBM_SIZE (64u << 20)

/* The calling thread's device; -1: none. */
void mock_set_device(int card);
/* Device address of @offset in a card's HBM, and the memory behind it. */
uint64_t mock_device(int card, uint64_t offset);
uint8_t *mock_memory(int card, uint64_t offset);
/* While held, queues take entries and do nothing. */
void mock_hold(bool hold);
/* How many queues a card has from now on. */
void mock_max_queues(unsigned max);
/* What is alive: queues, jetties, segments, mapped ranges, card references. */
int mock_alive(void);
unsigned mock_wqes(void);
unsigned mock_doorbells(void);
/* How long a page takes to be mapped from now on. */
void mock_slow_map(unsigned us);
/* Segments are not taken back but refused with this errno; 0: they are. */
void mock_refuse(int error);
/* Host memory that "acl" has pinned. */
void mock_pin(const void *p, size_t len);
const char *mock_error(void);            /* text of this thread */
int mock_warnings(void);
const char *mock_last_warning(void);

#ifdef __cplusplus
}
#endif

#endif /* HIXL_MOCK_H */
