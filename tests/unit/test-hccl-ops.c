/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans of the operators (guest-lib/hccl/ops/) of all ranks, run against each
 * other in random order: threads in order each, notifies as flags. It shows
 * what a card would: results, waits that never end, a notify that is recorded
 * twice. And the reductions of the card's cores (firmware/hccl/reduce.c).
 */
#include <math.h>
#include <stdlib.h>
#include "ops.h"
#include "../../firmware/hccl/half.h"
#include "tap.h"

unsigned int HcclReduceLocal(const a350_ops_reduce *r);

/* ---- ranks ---- */

enum { RANKS = 8, AREA = 1 << 16, BUFFER = 1 << 16, SEGMENTS = 4096,
       QUEUE = 4096 };

typedef struct segment {
    a350_ops_run *run;           /* or */
    a350_ops_reduce *reduce;
} segment;

typedef struct node {
    ops_view v;
    uint64_t peers[RANKS];
    uint8_t buffer[BUFFER], in[AREA], out[AREA];
    segment seg[SEGMENTS];
    uint32_t segs, at;           /* at: loaded up to here */
    a350_ops_task queue[RANKS][QUEUE];
    uint32_t head[RANKS], tail[RANKS];
    bool channel[RANKS][OPS_NOTIFIES], thread[RANKS][RANKS];
} node;

static node nodes[RANKS];
static uint32_t ranks;
static uint64_t buffer_size;
static char fault[256];
static uint64_t seed = 1;

static uint32_t dice(uint32_t n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)((seed >> 11) % n);
}

static HcclResult keep_run(void *opaque, const a350_ops_run *r)
{
    size_t size = sizeof(*r) + r->num * sizeof(r->task[0]);
    node *n = opaque;

    n->seg[n->segs].reduce = NULL;
    n->seg[n->segs].run = malloc(size);
    memcpy(n->seg[n->segs++].run, r, size);
    return HCCL_SUCCESS;
}

static HcclResult keep_reduce(void *opaque, const a350_ops_reduce *r)
{
    size_t size = sizeof(*r) + r->num * sizeof(r->src[0]);
    node *n = opaque;

    n->seg[n->segs].run = NULL;
    n->seg[n->segs].reduce = malloc(size);
    memcpy(n->seg[n->segs++].reduce, r, size);
    return HCCL_SUCCESS;
}

static void begin(uint32_t num, uint64_t size)
{
    uint32_t i, k;

    ranks = num;
    buffer_size = size;
    fault[0] = '\0';
    for (i = 0; i < num; i++) {
        node *n = &nodes[i];

        memset(n->buffer, 0xa5, BUFFER);
        memset(n->in, 0xee, AREA);
        memset(n->out, 0xee, AREA);
        n->segs = n->at = 0;
        memset(n->head, 0, sizeof(n->head));
        memset(n->tail, 0, sizeof(n->tail));
        memset(n->channel, 0, sizeof(n->channel));
        memset(n->thread, 0, sizeof(n->thread));
    }
    for (i = 0; i < num; i++) {
        for (k = 0; k < num; k++) {
            nodes[i].peers[k] = (uintptr_t)nodes[k].buffer;
        }
        nodes[i].v = (ops_view){ i, num, (uintptr_t)nodes[i].buffer, size,
                                 nodes[i].peers };
    }
}

static void end(void)
{
    uint32_t i, k;

    for (i = 0; i < ranks; i++) {
        for (k = 0; k < nodes[i].segs; k++) {
            free(nodes[i].seg[k].run);
            free(nodes[i].seg[k].reduce);
        }
    }
}

/* ---- running ---- */

static void wrong(const node *n, const a350_ops_task *t, const char *what)
{
    if (!fault[0]) {
        snprintf(fault, sizeof(fault), "rank %u thread %u kind %u peer %u "
                 "index %u: %s", n->v.rank, t->thread, t->kind, t->peer,
                 t->index, what);
    }
}

static void add_up(const a350_ops_task *t)
{
    uint64_t i;

    for (i = 0; i < t->len; i++) {
        if (t->type == HCCL_DATA_TYPE_INT32) {
            ((uint32_t *)(uintptr_t)t->dst)[i] +=
                ((uint32_t *)(uintptr_t)t->src)[i];
        } else {
            ((float *)(uintptr_t)t->dst)[i] +=
                ((float *)(uintptr_t)t->src)[i];
        }
    }
}

/* Only a rank's own memory, only what a peer's buffer has. */
static bool inside(const void *base, uint64_t size, uint64_t addr,
                   uint64_t len)
{
    uint64_t b = (uintptr_t)base;

    return addr >= b && addr - b <= size && len <= size - (addr - b);
}

static bool own(const node *n, uint64_t addr, uint64_t len)
{
    return inside(n->buffer, buffer_size, addr, len) ||
           inside(n->in, AREA, addr, len) || inside(n->out, AREA, addr, len);
}

static void move(node *n, const a350_ops_task *t)
{
    bool remote = t->kind == A350_OPS_READ || t->kind == A350_OPS_READ_REDUCE;
    bool reduce = t->kind == A350_OPS_REDUCE_TO ||
                  t->kind == A350_OPS_READ_REDUCE;
    uint64_t bytes = reduce ? t->len * 4 : t->len;

    if (!own(n, t->dst, bytes) ||
        !(remote ? inside(nodes[t->peer].buffer, buffer_size, t->src, bytes)
                 : own(n, t->src, bytes))) {
        wrong(n, t, "out of bounds");
    } else if (reduce) {
        add_up(t);
    } else {
        memmove((void *)(uintptr_t)t->dst, (void *)(uintptr_t)t->src, bytes);
    }
}

static void set(node *n, const a350_ops_task *t, bool *flag)
{
    if (*flag) {
        wrong(n, t, "recorded twice");
    }
    *flag = true;
}

/* False: it must wait. */
static bool take(bool *flag)
{
    bool was = *flag;

    *flag = false;
    return was;
}

static bool execute(node *n, const a350_ops_task *t)
{
    switch (t->kind) {
    case A350_OPS_RECORD:
        set(n, t, &nodes[t->peer].channel[n->v.rank][t->index]);
        return true;
    case A350_OPS_WAIT:
        return take(&n->channel[t->peer][t->index]);
    case A350_OPS_SIGNAL:
        set(n, t, &n->thread[t->peer][t->index]);
        return true;
    case A350_OPS_AWAIT:
        return take(&n->thread[t->thread][t->index]);
    default:
        move(n, t);
        return true;
    }
}

/* The next launch, when thread 0 has nothing left. */
static bool load(node *n)
{
    segment *s = &n->seg[n->at];
    uint32_t i, th;

    if (n->at == n->segs || n->head[0] != n->tail[0]) {
        return false;
    }
    n->at++;
    if (s->reduce) {
        HcclReduceLocal(s->reduce);
        return true;
    }
    for (i = 0; i < s->run->num; i++) {
        th = s->run->task[i].thread;
        if (n->tail[th] - n->head[th] >= 2048) {
            wrong(n, &s->run->task[i], "the task queue is full");
        }
        n->queue[th][n->tail[th]++ % QUEUE] = s->run->task[i];
    }
    return true;
}

static bool one(node *n, uint32_t th)
{
    if (n->head[th] == n->tail[th]) {
        return th == 0 && load(n);
    }
    if (!execute(n, &n->queue[th][n->head[th] % QUEUE])) {
        return false;
    }
    n->head[th]++;
    return true;
}

static void left_over(const node *n)
{
    a350_ops_task none = { 0 };
    uint32_t r, i;

    for (r = 0; r < RANKS; r++) {
        if (n->head[r] != n->tail[r] && !fault[0]) {
            wrong(n, &n->queue[r][n->head[r] % QUEUE], "waits for ever");
        }
        for (i = 0; i < OPS_NOTIFIES; i++) {
            if (n->channel[r][i] && !fault[0]) {
                wrong(n, &none, "a notify that nobody waited for");
            }
        }
    }
}

/* One of them, some time, is slow. */
static node *pick(void)
{
    static uint32_t lazy, until;
    uint32_t r = dice(ranks);

    if (!until--) {
        lazy = dice(ranks);
        until = 50 + dice(400);
    }
    return &nodes[r == lazy && dice(32) ? (r + 1) % ranks : r];
}

/* Until nothing moves any more. */
static void go(void)
{
    uint32_t idle = 0, i, k;
    bool any;

    while (idle < 64 * ranks && !fault[0]) {
        idle = one(pick(), dice(4) ? 0 : dice(RANKS)) ? 0 : idle + 1;
        if (idle == 64 * ranks) {
            for (any = false, i = 0; i < ranks; i++) {
                for (k = 0; k < RANKS; k++) {
                    any |= one(&nodes[i], k);
                }
            }
            idle = any ? 0 : idle;
        }
    }
    for (i = 0; i < ranks; i++) {
        left_over(&nodes[i]);
    }
}

/* ---- operators ---- */

typedef struct scene {
    const char *name;
    HcclDataType type;
    HcclReduceOp op;
    uint64_t count;
    uint32_t root;
    bool in_place;
} scene;

static const scene *now;

static uint64_t size_of(void)
{
    return ops_type_size(now->type);
}

/* Element @i of rank @r, as bytes. */
static void element(uint32_t r, uint64_t i, void *out)
{
    uint64_t h = (r * 0x9e3779b97f4a7c15ull + i + 7) * 0xbf58476d1ce4e5b9ull;
    float f;
    uint16_t b;

    h ^= h >> 31;
    if (now->type == HCCL_DATA_TYPE_FP32) {
        f = (float)(int32_t)h * 0x1p-20f;
        memcpy(out, &f, 4);
    } else if (now->type == HCCL_DATA_TYPE_FP16) {
        b = half_bits((float)(int8_t)h * 0x1p-5f);
        memcpy(out, &b, 2);
    } else {
        memcpy(out, &h, size_of());
    }
}

/* All ranks' element @i, in rank order. */
static void combined(uint64_t i, void *out)
{
    uint64_t x = 0, y = 0;
    uint32_t r;

    element(0, i, &x);
    for (r = 1; r < ranks; r++) {
        element(r, i, &y);
        if (now->type == HCCL_DATA_TYPE_FP32) {
            float a, b;

            memcpy(&a, &x, 4);
            memcpy(&b, &y, 4);
            a += b;
            memcpy(&x, &a, 4);
        } else if (now->type == HCCL_DATA_TYPE_FP16) {
            x = half_bits(half_value((uint16_t)x) * half_value((uint16_t)y));
        } else if (now->op == HCCL_REDUCE_MAX) {
            x = (int64_t)x > (int64_t)y ? x : y;
        } else {
            x += y;
        }
    }
    memcpy(out, &x, size_of());
}

static uint64_t uneven(uint32_t a, uint32_t b)
{
    uint64_t h = (a * 37 + b * 101 + now->count * 7919) * 2654435761u;

    h ^= h >> 15;
    return h % 3 == 0 ? 0 : h % (now->count + 1);
}

/* Where rank @me finds what it sends to, or gets from, @r: sends packed. */
static uint64_t before(uint32_t me, uint32_t r, bool send)
{
    uint64_t n = 0;
    uint32_t k;

    for (k = 0; k < r; k++) {
        n += (send ? uneven(me, k) : uneven(k, me)) + 1;
    }
    return n;
}

static void plan(node *n)
{
    ops_sink sink = { keep_run, keep_reduce, n };
    uint64_t in = (uintptr_t)n->in, out = (uintptr_t)n->out, s = size_of();
    uint64_t counts[RANKS], displs[RANKS], bytes = now->count * s;
    ops_vector v = { in, now->in_place ? in : out, now->count,
                     { now->type, now->op, (uint32_t)s } };
    ops_message a[RANKS], b[RANKS];
    ops_exchange x = { .pairs = true };
    ops_plan *p = malloc(sizeof(*p));
    uint32_t me = n->v.rank, r;

    ops_plan_start(p, &n->v, &sink);
    for (r = 0; r < ranks; r++) {
        a[r] = (ops_message){ in + before(me, r, true) * s,
                              uneven(me, r) * s };
        b[r] = (ops_message){ out + before(me, r, false) * s,
                              uneven(r, me) * s };
        counts[r] = uneven(0, r);
        displs[r] = before(0, r, true);
    }
    if (!strcmp(now->name, "all-reduce")) {
        ops_all_reduce(p, &v);
    } else if (!strcmp(now->name, "reduce")) {
        ops_reduce(p, &v, now->root);
    } else if (!strcmp(now->name, "reduce-scatter")) {
        v.recv = now->in_place ? in + displs[me] * s : out;
        ops_reduce_scatter(p, &v, counts, displs);
    } else if (!strcmp(now->name, "all-gather")) {
        for (r = 0; r < ranks; r++) {
            b[r] = (ops_message){ out + displs[r] * s, counts[r] * s };
        }
        ops_all_gather(p, in, b);
    } else if (!strcmp(now->name, "broadcast")) {
        ops_broadcast(p, in, bytes, now->root);
    } else if (!strcmp(now->name, "scatter")) {
        for (r = 0; r < ranks; r++) {
            a[r] = (ops_message){ in + r * bytes, bytes };
        }
        ops_scatter(p, a, out, bytes, now->root);
    } else if (!strcmp(now->name, "all-to-all")) {
        ops_all_to_all(p, a, b);
    } else if (!strcmp(now->name, "pairs")) {
        for (r = 0; r < ranks; r++) {
            x.send[r] = (ops_flow){ &a[r], 1 };
            x.recv[r] = (ops_flow){ &b[r], 1 };
        }
        ops_exchange_plan(p, &x);
    } else {
        ops_meet_plan(p);
    }
    ops_plan_end(p);
    free(p);
}

static void put(uint8_t *at, uint32_t r, uint64_t first, uint64_t num)
{
    uint64_t i;

    for (i = 0; i < num; i++) {
        element(r, first + i, at + i * size_of());
    }
}

static void put_combined(uint8_t *at, uint64_t first, uint64_t num)
{
    uint64_t i;

    for (i = 0; i < num; i++) {
        combined(first + i, at + i * size_of());
    }
}

/* What rank @n must have in @in and @out at the end. */
static void expect(const node *n, uint8_t *in, uint8_t *out)
{
    uint8_t *to = now->in_place ? in : out;
    uint32_t me = n->v.rank, r;
    uint64_t s = size_of();

    if (!strcmp(now->name, "all-reduce") ||
        (!strcmp(now->name, "reduce") && me == now->root)) {
        put_combined(to, 0, now->count);
    } else if (!strcmp(now->name, "reduce-scatter")) {
        put_combined(now->in_place ? in + before(0, me, true) * s : out,
                     before(0, me, true), uneven(0, me));
    } else if (!strcmp(now->name, "all-gather")) {
        for (r = 0; r < ranks; r++) {
            put(out + before(0, r, true) * s, r, 0, uneven(0, r));
        }
    } else if (!strcmp(now->name, "broadcast")) {
        put(in, now->root, 0, now->count);
    } else if (!strcmp(now->name, "scatter")) {
        put(out, now->root, me * now->count, now->count);
    } else if (!strcmp(now->name, "all-to-all") ||
               !strcmp(now->name, "pairs")) {
        for (r = 0; r < ranks; r++) {
            if (r != me || now->name[0] == 'a') {
                put(out + before(me, r, false) * s, r, before(r, me, true),
                    uneven(r, me));
            }
        }
    }
}

static void compare(const uint8_t *got, const uint8_t *want, uint32_t rank,
                    const char *what)
{
    size_t i;

    if (!memcmp(got, want, AREA)) {
        return;
    }
    for (i = 0; got[i] == want[i]; i++) {
    }
    if (!fault[0]) {
        snprintf(fault, sizeof(fault), "rank %u: byte %zu of %s is %02x, not "
                 "%02x", rank, i, what, got[i], want[i]);
    }
}

/*
 * Twice, the second time three in a row: ranks are then in different ones.
 * In place, the second would have another input.
 */
static bool play(const scene *sc, uint32_t num, uint64_t size)
{
    static uint8_t in[RANKS][AREA], out[RANKS][AREA];
    uint32_t i, round, k;
    bool good;

    now = sc;
    begin(num, size);
    for (round = 0; round < 2 && !fault[0]; round++) {
        for (i = 0; i < num; i++) {
            if (round && sc->in_place) {
                memset(nodes[i].in, 0xee, AREA);
            }
            put(nodes[i].in, i, 0, AREA / 2 / size_of());
            memcpy(in[i], nodes[i].in, AREA);
            memcpy(out[i], nodes[i].out, AREA);
            for (k = 0; k < (round && !sc->in_place ? 3 : 1); k++) {
                plan(&nodes[i]);
            }
        }
        go();
        for (i = 0; i < num && !fault[0]; i++) {
            expect(&nodes[i], in[i], out[i]);
            if (!sc->in_place || strcmp(sc->name, "reduce") ||
                i == sc->root) {
                compare(nodes[i].in, in[i], i, "the input");
            }
            compare(nodes[i].out, out[i], i, "the output");
        }
    }
    good = !fault[0];
    if (!good) {
        printf("# %s, type %d, count %llu, root %u%s, %u ranks, buffer %llu: "
               "%s\n", sc->name, (int)sc->type, (unsigned long long)sc->count,
               sc->root, sc->in_place ? ", in place" : "", num,
               (unsigned long long)size, fault);
    }
    end();
    return good;
}

static void operators(void)
{
    static const char *const name[] = {
        "meet", "all-reduce", "reduce", "reduce-scatter", "all-gather",
        "broadcast", "scatter", "all-to-all", "pairs",
    };
    static const struct { HcclDataType type; HcclReduceOp op; } how[] = {
        { HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM },
        { HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM },
        { HCCL_DATA_TYPE_INT64, HCCL_REDUCE_MAX },
        { HCCL_DATA_TYPE_FP16, HCCL_REDUCE_PROD },
    };
    static const uint64_t counts[] = { 1, 2, 5, 17, 64, 200, 511 };
    static const uint64_t sizes[] = { 4096, 65536 };
    unsigned k, h, c, z, p, runs, bad;
    uint32_t n;

    for (k = 0; k < sizeof(name) / sizeof(name[0]); k++) {
        bool reduces = k >= 1 && k <= 3;

        for (runs = bad = 0, n = 2; n <= RANKS; n++) {
            for (h = 0; h < (reduces ? 4u : 1u); h++) {
                for (c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
                    for (z = 0; z < 2; z++) {
                        for (p = 0; p < (reduces ? 2u : 1u); p++) {
                            scene s = { name[k], how[h].type, how[h].op,
                                        counts[c], n / 2, p };

                            runs++;
                            bad += !play(&s, n, sizes[z]);
                        }
                    }
                }
            }
        }
        ok(bad == 0, "%s: %u of %u right", name[k], runs - bad, runs);
    }
}

/* A rank that reduces all, and ranks that reduce a part, give the same. */
static void algorithms(void)
{
    scene small = { "all-reduce", HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, 511,
                    0, false };
    scene large = { "all-reduce", HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, 8000,
                    0, false };

    uint32_t i;
    bool good;

    for (good = play(&small, 5, 1 << 16), i = 3; i <= 8; i++) {
        good = good && play(&large, i, 1 << 16) && play(&large, i, 4096);
    }
    ok(good, "one shot and parts, in rank order");
    large.name = "reduce";
    large.root = 3;
    ok(play(&large, 5, 1 << 16) && play(&large, 4, 4096), "reduce by parts");
    large.type = HCCL_DATA_TYPE_FP16;
    large.op = HCCL_REDUCE_PROD;
    large.count = 16000;
    ok(play(&large, 4, 8192) && play(&large, 7, 1 << 16),
       "reduce by parts, on the cores");
    large.name = "all-reduce";
    large.count = 16384;
    large.in_place = true;
    ok(play(&large, 3, 8192) && play(&large, 7, 1 << 16),
       "all-reduce by parts, on the cores, in place");
}

/* ---- the cores' arithmetic ---- */

static uint64_t reduce2(HcclDataType type, HcclReduceOp op, uint64_t a,
                        uint64_t b)
{
    union {
        a350_ops_reduce r;
        uint64_t room[sizeof(a350_ops_reduce) / 8 + 2];
    } u;
    uint64_t out = 0;

    u.r = (a350_ops_reduce){ .dst = (uintptr_t)&out, .count = 1,
                             .type = (uint32_t)type, .op = (uint32_t)op,
                             .num = 2 };
    u.r.src[0] = (uintptr_t)&a;
    u.r.src[1] = (uintptr_t)&b;
    return HcclReduceLocal(&u.r) ? UINT64_MAX : out;
}

/* Nearest of the two neighbours, without half.h. */
static double half_of(uint16_t h)
{
    int e = h >> 10 & 31, m = h & 1023;
    double x = e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);

    return h & 0x8000 ? -x : x;
}

static void halves(void)
{
    unsigned bad = 0, i;

    for (i = 0; i < 0x10000; i++) {
        if ((i & 0x7fff) <= 0x7c00) {
            bad += half_bits(half_value((uint16_t)i)) != i;
            bad += (i & 0x7fff) < 0x7c00 &&
                   (double)half_value((uint16_t)i) != half_of((uint16_t)i);
        } else {
            bad += half_bits(half_value((uint16_t)i)) != 0x7e00;
        }
    }
    is(bad, 0, "every half is itself");
    for (bad = i = 0; i < 200000; i++) {
        float f = ldexpf((float)(int32_t)dice(1u << 24), (int)dice(36) - 52);
        uint16_t got = half_bits(f), up = (uint16_t)(got + 1);
        double d = fabs((double)f - half_of(got));
        bool even = !(got & 1);

        if (f >= 65520) {
            bad += got != 0x7c00;
            continue;
        }
        bad += up <= 0x7bff && (fabs(f - half_of(up)) < d ||
                                (fabs(f - half_of(up)) == d && !even));
        bad += got && (fabs(f - half_of((uint16_t)(got - 1))) < d ||
                       (fabs(f - half_of((uint16_t)(got - 1))) == d && !even));
    }
    is(bad, 0, "others go to the nearest, ties to even");
}

static uint64_t bits(double x)
{
    uint64_t b;

    memcpy(&b, &x, 8);
    return b;
}

static void arithmetic(void)
{
    const HcclDataType f64 = HCCL_DATA_TYPE_FP64, f16 = HCCL_DATA_TYPE_FP16;
    const HcclDataType i64 = HCCL_DATA_TYPE_INT64, u64 = HCCL_DATA_TYPE_UINT64;
    const uint64_t nan = 0x7ff8000000000000ull;

    is(reduce2(i64, HCCL_REDUCE_MAX, UINT64_MAX, 1), 1, "int64 max");
    is(reduce2(u64, HCCL_REDUCE_MAX, UINT64_MAX - 1, 1), UINT64_MAX - 1,
       "uint64 max");
    is(reduce2(i64, HCCL_REDUCE_MIN, UINT64_MAX - 4, 1), UINT64_MAX - 4,
       "int64 min");
    is(reduce2(u64, HCCL_REDUCE_MIN, UINT64_MAX, 1), 1, "uint64 min");
    is(reduce2(i64, HCCL_REDUCE_SUM, INT64_MAX, 2), 1ull << 63 | 1,
       "int64 sum wraps");
    is(reduce2(i64, HCCL_REDUCE_PROD, 1ull << 63 | 5, 3), 1ull << 63 | 15,
       "int64 product wraps");
    is(reduce2(HCCL_DATA_TYPE_INT8, HCCL_REDUCE_PROD, 0xfd, 100), 0xd4,
       "int8 product wraps");
    is(reduce2(HCCL_DATA_TYPE_INT32, HCCL_REDUCE_PROD, 0x10001, 0x10001),
       0x20001, "int32 product wraps");
    is(reduce2(f64, HCCL_REDUCE_SUM, bits(0.1), bits(0.2)), bits(0.1 + 0.2),
       "fp64 sum");
    is(reduce2(f64, HCCL_REDUCE_SUM, bits(INFINITY), bits(-INFINITY)), nan,
       "fp64 sum of infinities");
    is(reduce2(f64, HCCL_REDUCE_PROD, bits(0), bits(-INFINITY)), nan,
       "fp64 product of 0 and infinity");
    is(reduce2(f64, HCCL_REDUCE_MAX, nan | 1ull << 63 | 5, bits(1)), nan,
       "fp64 max of a NaN");
    is(reduce2(f64, HCCL_REDUCE_MIN, bits(1), nan | 7), nan,
       "fp64 min of a NaN");
    is(reduce2(f64, HCCL_REDUCE_MAX, bits(-0.0), bits(0.0)), 0,
       "fp64 max of zeros");
    is(reduce2(f64, HCCL_REDUCE_MIN, bits(0.0), bits(-0.0)), 1ull << 63,
       "fp64 min of zeros");
    is(reduce2(f16, HCCL_REDUCE_PROD, 0x7bff, 0x4000), 0x7c00,
       "fp16 product overflows");
    is(reduce2(f16, HCCL_REDUCE_PROD, 0x0001, 0x3800), 0,
       "fp16 product of half the smallest goes to even");
    is(reduce2(f16, HCCL_REDUCE_PROD, 0x0003, 0x3800), 2,
       "fp16 product below normal, tie to even");
    is(reduce2(f16, HCCL_REDUCE_PROD, 0x7c00, 0), 0x7e00,
       "fp16 product of infinity and 0");
    is(reduce2(HCCL_DATA_TYPE_INT16, HCCL_REDUCE_PROD, 1, 1), UINT64_MAX,
       "no product of int16");
    is(reduce2(HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, 1, 1), UINT64_MAX,
       "what the card does itself is not here");
}

int main(void)
{
    operators();
    algorithms();
    halves();
    arithmetic();
    return done_testing();
}
