/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages between ranks. A message goes in chunks of the size of a slot; the
 * slot for rank r is at r times that size in the sender's buffer, so that both
 * sides know where it is. In a step, each direction moves one chunk.
 */
#include "ops.h"

/* Steps of a pair that are queued before all pairs are waited for; a step is
   six tasks on its thread, and a task queue has 2048 entries. */
#define PAIR_STEPS      256u

typedef struct cursor {
    uint32_t msg;
    uint64_t at;
} cursor;

typedef struct chunk {
    uint64_t addr, len;
} chunk;

static bool next(const ops_flow *f, cursor *c, uint64_t max, chunk *out)
{
    const ops_message *m;

    while (c->msg < f->num && c->at == f->msg[c->msg].len) {
        c->msg++;
        c->at = 0;
    }
    if (c->msg >= f->num) {
        return false;
    }
    m = &f->msg[c->msg];
    out->addr = m->addr + c->at;
    out->len = m->len - c->at < max ? m->len - c->at : max;
    c->at += out->len;
    return true;
}

/* State of an exchange: where each direction is. */
typedef struct progress {
    cursor send[OPS_RANKS_MAX], recv[OPS_RANKS_MAX], source;
    chunk out[OPS_RANKS_MAX], in[OPS_RANKS_MAX];
    bool sends[OPS_RANKS_MAX], recvs[OPS_RANKS_MAX];
    uint64_t max;
} progress;

static bool advance(const ops_plan *p, const ops_exchange *x, progress *g)
{
    bool any = false;
    uint32_t r;

    for (r = 0; r < p->v.ranks; r++) {
        if (r == p->v.rank) {
            continue;
        }
        g->sends[r] = next(&x->send[r], &g->send[r], g->max, &g->out[r]);
        g->recvs[r] = next(&x->recv[r], &g->recv[r], g->max, &g->in[r]);
        any |= g->sends[r] || g->recvs[r];
    }
    return any;
}

/*
 * Everything that others wait for comes before everything that waits for
 * others. Each rank begins with the one above it, so that not all read from
 * the same card.
 */
static void offer(ops_plan *p, const ops_exchange *x, const progress *g)
{
    uint32_t n = p->v.ranks, i, r, t;

    for (i = 1; i < n; i++) {
        r = (p->v.rank + i) % n;
        t = x->pairs ? i : 0;
        if (g->sends[r]) {
            if (!x->shared) {
                ops_copy(p, t, p->v.buffer + r * g->max, g->out[r].addr,
                         g->out[r].len);
            }
            ops_record(p, t, r, OPS_READY);
        }
    }
}

static void take(ops_plan *p, const ops_exchange *x, const progress *g)
{
    uint32_t n = p->v.ranks, me = p->v.rank, i, r, t;
    uint64_t slot = x->shared ? 0 : me * g->max;

    for (i = 1; i < n; i++) {
        r = (me + i) % n;
        t = x->pairs ? i : 0;
        if (g->recvs[r]) {
            ops_wait(p, t, r, OPS_READY);
            ops_read(p, t, r, g->in[r].addr, p->v.peer_buffer[r] + slot,
                     g->in[r].len);
            ops_record(p, t, r, OPS_DONE);
        }
    }
}

static void settle(ops_plan *p, const ops_exchange *x, const progress *g)
{
    uint32_t n = p->v.ranks, i, r;

    for (i = 1; i < n; i++) {
        r = (p->v.rank + i) % n;
        if (g->sends[r]) {
            ops_wait(p, x->pairs ? i : 0, r, OPS_DONE);
        }
    }
}

/* What all ranks get, into the buffer; false: there is no more. */
static bool stage(ops_plan *p, const ops_exchange *x, progress *g, chunk *c)
{
    ops_flow f = { &x->source, 1 };

    if (!x->shared || !next(&f, &g->source, g->max, c)) {
        return false;
    }
    ops_copy(p, 0, p->v.buffer, c->addr, c->len);
    return true;
}

void ops_exchange_plan(ops_plan *p, const ops_exchange *x)
{
    uint32_t others = p->v.ranks - 1, steps = 0;
    progress g = { .max = p->v.buffer_size };
    uint64_t done = 0;
    bool any, here;
    chunk c;

    if (!x->shared) {
        g.max /= p->v.ranks;
    }
    g.max = ops_chunk(g.max);
    if (x->pairs) {
        ops_fork(p, others);
    }
    do {
        here = stage(p, x, &g, &c);
        any = advance(p, x, &g);
        if (x->pairs && ++steps % PAIR_STEPS == 0) {
            ops_join(p, others);
            ops_fork(p, others);
        }
        offer(p, x, &g);
        if (here && x->own && x->own != x->source.addr) {
            /* From the buffer: the source may lie in what is received. */
            ops_copy(p, 0, x->own + done, p->v.buffer, c.len);
        }
        done += here ? c.len : 0;
        take(p, x, &g);
        settle(p, x, &g);
    } while (any || here);
    if (x->pairs) {
        ops_join(p, others);
    }
}

/*
 * READY alone would not do: a rank that is early could record it for the next
 * meeting before a late one has waited for this one's.
 */
void ops_meet_plan(ops_plan *p)
{
    uint32_t n = p->v.ranks, phase, i;

    for (phase = 0; phase < 2; phase++) {
        uint32_t index = phase ? OPS_DONE : OPS_READY;

        for (i = 1; i < n; i++) {
            ops_record(p, 0, (p->v.rank + i) % n, index);
        }
        for (i = 1; i < n; i++) {
            ops_wait(p, 0, (p->v.rank + i) % n, index);
        }
    }
}
