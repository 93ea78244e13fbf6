/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which algorithm an operator takes. All go directly between any two ranks:
 * the cards are a full mesh.
 */
#include "ops.h"

/*
 * Up to this many bytes every rank reads the whole input of all others; above,
 * each reduces one part and the parts are collected, which moves 2 / ranks as
 * much and takes one hand-over more. Two ranks move the same either way.
 */
#ifndef ONE_SHOT_MAX             /* smaller in tests */
#define ONE_SHOT_MAX    (64u << 10)
#endif

static bool one_shot(const ops_plan *p, const ops_vector *v)
{
    return p->v.ranks == 2 || v->count * v->r.size <= ONE_SHOT_MAX;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* ---- reductions ---- */

/* Elements of a part when the buffer holds @parts of them. */
static uint64_t room(const ops_plan *p, const ops_vector *v, uint32_t parts)
{
    return ops_chunk(p->v.buffer_size / parts) / v->r.size;
}

static uint64_t align_up(uint64_t bytes)
{
    return (bytes + OPS_ALIGN - 1) / OPS_ALIGN * OPS_ALIGN;
}

/* @root, or (@root == ranks) every rank, reduces all of it. */
static void reduce_whole(ops_plan *p, const ops_vector *v, uint32_t root)
{
    bool card = ops_card_reduces(v->r.type, v->r.op);
    uint64_t max = room(p, v, card ? 1 : p->v.ranks), at;
    ops_reduction r = { .r = v->r, .readers = OPS_NOBODY };
    uint32_t q;

    for (at = 0; at < v->count; at += max) {
        uint64_t n = least(max, v->count - at);

        for (q = 0; q < p->v.ranks; q++) {
            r.part[q] = (ops_part){ v->send + at * v->r.size, 0,
                                    root == p->v.ranks || root == q ? n : 0 };
        }
        r.dst = v->recv + at * v->r.size;
        r.scratch = align_up(n * v->r.size);
        ops_reduction_plan(p, &r);
    }
}

/* A part for each rank; @root, or every rank, collects the parts. */
static void reduce_parts(ops_plan *p, const ops_vector *v, uint32_t root)
{
    bool card = ops_card_reduces(v->r.type, v->r.op);
    uint32_t ranks = p->v.ranks, unit = OPS_ALIGN / v->r.size, q;
    uint64_t max = room(p, v, card ? ranks + 1 : 2 * ranks) * ranks, at;
    ops_reduction r = { .r = v->r, .root = root,
                        .readers = root == ranks ? OPS_ALL : OPS_ROOT };

    for (at = 0; at < v->count; at += max) {
        uint64_t n = least(max, v->count - at);
        uint64_t part = ((n + ranks - 1) / ranks + unit - 1) / unit * unit;

        for (q = 0; q < ranks; q++) {
            uint64_t first = least(q * part, n);
            uint64_t off = (at + first) * v->r.size;

            r.part[q] = (ops_part){ v->send + off, first * v->r.size,
                                    least(part, n - first) };
            r.out[q] = v->recv + off;
        }
        r.result = ranks * part * v->r.size;
        r.scratch = r.result + part * v->r.size;
        r.dst = p->v.buffer + r.result;
        ops_reduction_plan(p, &r);
    }
}

void ops_all_reduce(ops_plan *p, const ops_vector *v)
{
    if (one_shot(p, v)) {
        reduce_whole(p, v, p->v.ranks);
    } else {
        reduce_parts(p, v, p->v.ranks);
    }
}

void ops_reduce(ops_plan *p, const ops_vector *v, uint32_t root)
{
    if (one_shot(p, v)) {
        reduce_whole(p, v, root);
    } else {
        reduce_parts(p, v, root);
    }
}

void ops_reduce_scatter(ops_plan *p, const ops_vector *v,
                        const uint64_t *counts, const uint64_t *displs)
{
    bool card = ops_card_reduces(v->r.type, v->r.op);
    uint64_t max = room(p, v, card ? p->v.ranks : 2 * p->v.ranks), most = 0;
    ops_reduction r = { .r = v->r, .readers = OPS_NOBODY };
    uint64_t at, n, off;
    uint32_t q;

    for (q = 0; q < p->v.ranks; q++) {
        most = counts[q] > most ? counts[q] : most;
    }
    for (at = 0; at < most; at += max) {
        off = 0;
        for (q = 0; q < p->v.ranks; q++) {
            n = at < counts[q] ? least(max, counts[q] - at) : 0;
            r.part[q] = (ops_part){ v->send + (displs[q] + at) * v->r.size,
                                    off, n };
            off += n * v->r.size;
        }
        r.dst = v->recv + at * v->r.size;
        r.scratch = align_up(off);
        ops_reduction_plan(p, &r);
    }
}

/* ---- copies ---- */

void ops_all_gather(ops_plan *p, uint64_t send,
                    const ops_message *place)
{
    uint32_t me = p->v.rank, q;
    ops_exchange x = { .shared = true, .source = { send, place[me].len },
                       .own = place[me].addr };

    for (q = 0; q < p->v.ranks; q++) {
        x.send[q] = (ops_flow){ &x.source, 1 };
        x.recv[q] = (ops_flow){ &place[q], 1 };
    }
    ops_exchange_plan(p, &x);
}

void ops_broadcast(ops_plan *p, uint64_t buf, uint64_t len, uint32_t root)
{
    ops_message m = { buf, len };
    ops_exchange x = { .shared = true };
    uint32_t q;

    if (p->v.rank == root) {
        x.source = m;
        for (q = 0; q < p->v.ranks; q++) {
            x.send[q] = (ops_flow){ &m, 1 };
        }
    } else {
        x.recv[root] = (ops_flow){ &m, 1 };
    }
    ops_exchange_plan(p, &x);
}

void ops_scatter(ops_plan *p, const ops_message *place, uint64_t recv,
                 uint64_t len, uint32_t root)
{
    ops_message m = { recv, len };
    ops_exchange x = { .shared = false };
    uint32_t q;

    if (p->v.rank == root) {
        ops_copy(p, 0, recv, place[root].addr, len);
        for (q = 0; q < p->v.ranks; q++) {
            x.send[q] = (ops_flow){ &place[q], 1 };
        }
    } else {
        x.recv[root] = (ops_flow){ &m, 1 };
    }
    ops_exchange_plan(p, &x);
}

void ops_all_to_all(ops_plan *p, const ops_message *send,
                    const ops_message *recv)
{
    ops_exchange x = { .shared = false };
    uint32_t me = p->v.rank, q;

    ops_copy(p, 0, recv[me].addr, send[me].addr,
             least(send[me].len, recv[me].len));
    for (q = 0; q < p->v.ranks; q++) {
        x.send[q] = (ops_flow){ &send[q], 1 };
        x.recv[q] = (ops_flow){ &recv[q], 1 };
    }
    ops_exchange_plan(p, &x);
}
