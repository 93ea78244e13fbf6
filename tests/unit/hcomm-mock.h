/*
 * A card of plain memory for tests of the device side of Hcomm: the library
 * is compiled for the host and linked with hcomm-mock.c in place of its
 * platform.c. "Device addresses" are host pointers into one arena.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef HCOMM_MOCK_H
#define HCOMM_MOCK_H

#include "hc.h"

#define MOCK_LOG_SIZE 4096

/* Fresh memory, nothing registered, the card stands still. */
void mock_reset(void);
void *mock_alloc(size_t size);

a350_thread_obj *mock_thread(uint32_t index, uint32_t depth,
                             uint32_t notifies);
/* A UB channel with two exchanged regions (MOCK_REMOTE*) and @notifies. */
a350_channel_obj *mock_channel(uint32_t depth, uint32_t notifies);
a350_comm_obj *mock_comm(const char *name);

#define MOCK_REMOTE      0x980000000000ull
#define MOCK_REMOTE_SIZE (16ull << 30)
#define MOCK_REMOTE2     0x990000000000ull
#define MOCK_REMOTE2_SIZE 4096ull

/* Address of this card's memory that need not be backed. */
uint64_t mock_local(uint64_t offset);
uint64_t mock_base(void);

/* What the card does while the library sleeps; NULL: nothing. */
extern void (*mock_on_sleep)(void);
/* What it does on a doorbell. */
extern void (*mock_on_doorbell)(a350_thread_obj *t, uint32_t tail);
/* Completes everything launched on @t; whoever needs it calls it. */
void mock_complete(a350_thread_obj *t, uint32_t entries);
void mock_stop_queue(a350_thread_obj *t);
uint32_t mock_tail(const a350_thread_obj *t);   /* as the card sees it */
uint32_t mock_launched(const a350_thread_obj *t); /* entries, ever */
uint32_t mock_doorbells(const a350_thread_obj *t);
/* Launched entry @n, counted from 0. */
const a350_sqe *mock_sqe(const a350_thread_obj *t, uint32_t n);
/* Block @n of the channel's ring, counted from 0. */
const uint32_t *mock_block(const a350_channel_obj *c, uint32_t n);

extern uint64_t mock_now;                       /* ns */
extern char mock_log[MOCK_LOG_SIZE];            /* all lines since reset */

/* Bits [hi:lo] of a word. */
static inline uint32_t bits(uint32_t w, int hi, int lo)
{
    return (w >> lo) & (uint32_t)((1ull << (hi - lo + 1)) - 1);
}

static inline uint64_t u64at(const uint32_t *w)
{
    return w[0] | (uint64_t)w[1] << 32;
}

#endif /* HCOMM_MOCK_H */
