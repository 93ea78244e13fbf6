/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reductions. The input is cut into parts, one for each rank that reduces;
 * that rank reads its part from all ranks and combines them in the order of
 * the ranks, 0 first. So element i of every result is
 * ((in0[i] op in1[i]) op in2[i]) ..., whatever the algorithm, the number of
 * chunks or who came first.
 */
#include "ops.h"

/* Does @q read anything out of @x's buffer? */
static bool reads(const ops_reduction *r, uint32_t q, uint32_t x)
{
    bool wants = r->readers == OPS_ALL ||
                 (r->readers == OPS_ROOT && q == r->root);

    return r->part[q].count || (wants && r->part[x].count);
}

static void stage(ops_plan *p, const ops_reduction *r)
{
    uint64_t last = UINT64_MAX;
    uint32_t q;

    for (q = 0; q < p->v.ranks; q++) {
        if (r->part[q].count && r->part[q].stage != last) {
            last = r->part[q].stage;
            ops_copy(p, 0, p->v.buffer + last, r->part[q].src,
                     r->part[q].count * r->r.size);
        }
    }
    for (q = 0; q < p->v.ranks; q++) {
        if (q != p->v.rank && r->part[q].count) {
            ops_record(p, 0, q, OPS_READY);
        }
    }
}

/* SDMA and UB add up in the memory of the result. */
static void by_card(ops_plan *p, const ops_reduction *r)
{
    const ops_part *mine = &r->part[p->v.rank];
    uint32_t q;

    for (q = 0; q < p->v.ranks; q++) {
        uint64_t src = p->v.peer_buffer[q] + mine->stage;

        if (q != p->v.rank) {
            ops_wait(p, 0, q, OPS_READY);
        }
        if (q) {
            ops_combine(p, &r->r, q, r->dst, src, mine->count);
        } else if (q == p->v.rank) {
            ops_copy(p, 0, r->dst, src, mine->count * r->r.size);
        } else {
            ops_read(p, 0, q, r->dst, src, mine->count * r->r.size);
        }
    }
}

/* All inputs are fetched first; the cores are not to wait for them. */
static void fetch(ops_plan *p, const ops_reduction *r, uint64_t *src)
{
    const ops_part *mine = &r->part[p->v.rank];
    uint64_t len = mine->count * r->r.size, at = r->scratch;
    uint32_t q;

    for (q = 0; q < p->v.ranks; q++) {
        src[q] = p->v.buffer + mine->stage;
        if (q != p->v.rank) {
            ops_wait(p, 0, q, OPS_READY);
            src[q] = p->v.buffer + at;
            ops_read(p, 0, q, src[q], p->v.peer_buffer[q] + mine->stage, len);
            at += (len + OPS_ALIGN - 1) / OPS_ALIGN * OPS_ALIGN;
        }
    }
}

/* The other ranks' parts, for those who want them. */
static void collect(ops_plan *p, const ops_reduction *r)
{
    uint32_t me = p->v.rank, n = p->v.ranks, i, q;
    bool wants = r->readers == OPS_ALL ||
                 (r->readers == OPS_ROOT && me == r->root);

    for (i = 1; i < n && r->part[me].count; i++) {
        q = (me + i) % n;
        if (r->readers == OPS_ALL ||
            (r->readers == OPS_ROOT && q == r->root)) {
            ops_record(p, 0, q, OPS_RESULT);
        }
    }
    if (!wants) {
        return;
    }
    ops_copy(p, 0, r->out[me], r->dst, r->part[me].count * r->r.size);
    for (i = 1; i < n; i++) {
        q = (me + i) % n;
        if (r->part[q].count) {
            ops_wait(p, 0, q, OPS_RESULT);
            ops_read(p, 0, q, r->out[q], p->v.peer_buffer[q] + r->result,
                     r->part[q].count * r->r.size);
        }
    }
}

static void finish(ops_plan *p, const ops_reduction *r)
{
    uint32_t me = p->v.rank, n = p->v.ranks, i, q;

    for (i = 1; i < n; i++) {
        q = (me + i) % n;
        if (reads(r, me, q)) {
            ops_record(p, 0, q, OPS_DONE);
        }
    }
    for (i = 1; i < n; i++) {
        q = (me + i) % n;
        if (reads(r, q, me)) {
            ops_wait(p, 0, q, OPS_DONE);
        }
    }
}

void ops_reduction_plan(ops_plan *p, const ops_reduction *r)
{
    const ops_part *mine = &r->part[p->v.rank];
    bool card = ops_card_reduces(r->r.type, r->r.op);
    uint64_t src[OPS_RANKS_MAX];

    stage(p, r);
    if (mine->count && card) {
        by_card(p, r);
    } else if (mine->count) {
        fetch(p, r, src);
    }
    /* Without a second half the others need not wait for the cores. */
    if (r->readers == OPS_NOBODY) {
        finish(p, r);
    }
    if (mine->count && !card) {
        ops_compute(p, &r->r, r->dst, src, p->v.ranks, mine->count);
    }
    if (r->readers != OPS_NOBODY) {
        collect(p, r);
        finish(p, r);
    }
}
