/*
 * Atlas 350 virtual card: what lies behind a device address.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_ATLAS350_MEM_H
#define HW_ATLAS350_MEM_H

#include "card.h"

typedef enum A350SpanKind {
    A350_SPAN_NONE = 0,
    A350_SPAN_MEM,               /* HBM: ptr */
    A350_SPAN_HOST,              /* host memory: card's host_read/host_write */
    A350_SPAN_REG,               /* a register of 4 or 8 bytes */
} A350SpanKind;

/*
 * A range of addresses, looked up once. A peer card found this way is kept
 * until a350_span_close.
 */
typedef struct A350Span {
    A350SpanKind kind;
    uint8_t *ptr;
    A350Card *card;              /* whose memory or register, or whose bus */
    uint64_t addr;               /* IOVA, or BAR2 offset */
    bool held;
    bool bulk;                   /* set after opening: bulk.h */
} A350Span;

/* Looks up [addr, addr + len) as @c's masters see it; false if it is none. */
bool a350_span_open(A350Card *c, uint64_t addr, uint64_t len, A350Span *s);
void a350_span_close(A350Card *c, A350Span *s);
/* At most what the span was opened with, from its start. */
bool a350_span_read(A350Span *s, void *buf, uint64_t len);
bool a350_span_write(A350Span *s, const void *buf, uint64_t len);

#endif /* HW_ATLAS350_MEM_H */
