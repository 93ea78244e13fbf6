/*
 * Unit test of the data blocks under threads: what a queue test cannot time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Cards without a PCI function (ub-mock.h) exchange messages from several
 * threads while others pause, save, reset and remove them. `test-ub SECONDS
 * SEED` makes the random part longer; the seed is printed.
 */
#include <sys/mman.h>

#include "ub-mock.h"
#include "tap.h"

#define HBM         (64u << 20)
#define RING        0x0u        /* of jetty n: + n * 0x10000 */
#define DEPTH       64u
#define DATA        0x1000000u
#define VALUE       0x35u
#define ALL         (A350_SEG_READ | A350_SEG_WRITE | A350_SEG_ATOMIC)

static char msg[A350_ADMIN_MSG_SIZE];

/* ---- helpers ---- */

typedef struct Wait {
    QemuMutex lock;
    QemuCond cond;
    bool done;
    A350UbResult r;
} Wait;

static void wait_init(Wait *w)
{
    qemu_mutex_init(&w->lock);
    qemu_cond_init(&w->cond);
    w->done = false;
}

static void wait_done(void *opaque, const A350UbResult *r)
{
    Wait *w = opaque;

    qemu_mutex_lock(&w->lock);
    w->r = *r;
    w->done = true;
    qemu_cond_signal(&w->cond);
    qemu_mutex_unlock(&w->lock);
}

static bool wait_for(Wait *w, unsigned ms)
{
    bool done;

    qemu_mutex_lock(&w->lock);
    while (!w->done && ms) {
        qemu_cond_timedwait(&w->cond, &w->lock, 1);
        ms--;
    }
    done = w->done;
    w->done = false;
    qemu_mutex_unlock(&w->lock);
    return done;
}

static void wait_destroy(Wait *w)
{
    qemu_cond_destroy(&w->cond);
    qemu_mutex_destroy(&w->lock);
}

static uint32_t segment(MockCard *m, uint64_t base, uint64_t len)
{
    a350_seg_register s = { .base = base, .length = len, .access = ALL,
                            .token_value = VALUE };

    return a350_ub_seg_register(&m->card, &s, msg) ? 0 : s.token_id;
}

static uint32_t jetty(MockCard *m, unsigned n)
{
    a350_jetty_create j = {
        .jetty_id = A350_ID_ANY, .depth = DEPTH,
        .base = m->card.dev_base + RING + n * 0x10000,
    };

    return a350_ub_jetty_create(&m->card, &j, msg) ? A350_ID_NONE : j.jetty_id;
}

/* Posts @w at block *@pi of ring @n. */
static void post(MockCard *m, unsigned n, uint16_t *pi, const a350_wqe *w)
{
    uint32_t i, blocks = a350_wqe_blocks(w);

    for (i = 0; i < blocks; i++) {
        memcpy(m->card.hbm + RING + n * 0x10000 +
               ((*pi)++ % DEPTH) * A350_WQEBB_SIZE, &w->w[16 * i],
               A350_WQEBB_SIZE);
    }
}

static a350_ub_remote remote(MockCard *peer, uint32_t token)
{
    a350_ub_remote r = { .token_id = token, .token_value = VALUE };

    memcpy(r.eid, peer->card.eid, A350_EID_LEN);
    return r;
}

static void fill(uint8_t *p, uint32_t seed, size_t len)
{
    size_t i;

    for (i = 0; i < len; i++) {
        p[i] = seed + i * 7 + (i >> 8);
    }
}

static bool filled(const uint8_t *p, uint32_t seed, size_t len)
{
    size_t i;

    for (i = 0; i < len; i++) {
        if (p[i] != (uint8_t)(seed + i * 7 + (i >> 8))) {
            return false;
        }
    }
    return true;
}

/* Two cards with a jetty and a whole-HBM segment each. */
typedef struct Pair {
    A350Fabric *f;
    MockCard *a, *b;
    uint32_t jetty, token_a, token_b, token_n;
    uint16_t pi;
    Wait wait;
} Pair;

static void pair_init(Pair *p)
{
    p->f = mock_fabric_new();
    p->a = mock_card_new(p->f, 0, HBM);
    p->b = mock_card_new(p->f, 1, HBM);
    p->jetty = jetty(p->a, 0);
    p->token_a = segment(p->a, p->a->card.dev_base, HBM);
    p->token_b = segment(p->b, p->b->card.dev_base, HBM);
    p->token_n = segment(p->b, mock_notify_addr(p->b, 0), 0x1000);
    p->pi = 0;
    wait_init(&p->wait);
}

static void pair_free(Pair *p)
{
    mock_card_free(p->a);
    if (p->b) {
        mock_card_free(p->b);
    }
    mock_fabric_free(p->f);
    wait_destroy(&p->wait);
}

static void pair_write(Pair *p, uint64_t dst, uint64_t src, uint32_t len,
                       uint32_t notify)
{
    a350_ub_remote r = remote(p->b, p->token_b);
    a350_wqe w;

    a350_wqe_write_notify(&w, A350_WQE_CQE, &r, p->b->card.dev_base + dst, 0,
                          p->a->card.dev_base + src, len, p->token_a,
                          mock_notify_addr(p->b, notify), p->token_n, VALUE,
                          1);
    post(p->a, 0, &p->pi, &w);
}

static bool pair_ring(Pair *p)
{
    const char *why;

    return a350_ub_doorbell(&p->a->card, p->jetty, p->pi, wait_done, &p->wait,
                            &why);
}

/* ---- one thing at a time ---- */

static void test_write(void)
{
    Pair p;

    pair_init(&p);
    fill(p.a->card.hbm + DATA, 1, 10 << 20);
    pair_write(&p, DATA, DATA, 100, 1);
    ok(pair_ring(&p) && p.wait.done, "a small write is done when the doorbell "
       "returns");
    wait_for(&p.wait, 1);
    pair_write(&p, DATA + 5, DATA, 10 << 20, 2);
    ok(pair_ring(&p) && wait_for(&p.wait, 5000) && !p.wait.r.status,
       "a large write ends");
    ok(filled(p.b->card.hbm + DATA + 5, 1, 10 << 20) && p.b->notify[1] &&
       p.b->notify[2], "data and notifies are there");
    pair_free(&p);
}

/* A request in the hands of a paused mover stays; it goes on where it was. */
static void test_pause(void)
{
    unsigned i, stopped = 0;
    bool good = true, done;
    uint32_t was;
    Pair p;

    pair_init(&p);
    fill(p.a->card.hbm + DATA, 3, 32 << 20);
    for (i = 0; i < 20; i++) {
        memset(p.b->card.hbm + DATA, 0, 32 << 20);
        qatomic_set(&p.b->notify[0], 0);
        pair_write(&p, DATA, DATA, 32 << 20, 0);
        pair_ring(&p);
        g_usleep(i * 300);
        a350_ub_pause(&p.a->card);
        a350_mover_pause(&p.a->card);
        /* The target may have it all while its completion is held back. */
        was = qatomic_read(&p.b->notify[0]);
        done = p.wait.done;
        stopped += !was;
        g_usleep(2000);
        good = good && (was || !done) && done == p.wait.done &&
               was == qatomic_read(&p.b->notify[0]);
        a350_mover_resume(&p.a->card);
        a350_ub_resume(&p.a->card);
        good = good && wait_for(&p.wait, 5000) && !p.wait.r.status &&
               p.b->notify[0] && filled(p.b->card.hbm + DATA, 3, 32 << 20);
    }
    ok(good, "a paused write goes on to its end (%u were caught)",
       stopped);
    pair_free(&p);
}

static void ignore_done(A350UbReq *q)
{
}

/*
 * What vmstate does: the request in flight is kept as entry and position, all
 * else is dropped, and a new request starts there. Adding makes it visible if
 * any byte is done twice or not at all.
 */
static void test_position(void)
{
    unsigned i, caught = 0;
    bool good = true;
    A350UbReq q = { 0 };
    uint32_t k;
    Pair p;

    pair_init(&p);
    for (i = 0; i < 6; i++) {
        uint32_t *src = (uint32_t *)(p.a->card.hbm + DATA);
        uint32_t *dst = (uint32_t *)(p.b->card.hbm + DATA);

        for (k = 0; k < (8u << 20); k++) {
            src[k] = k;
            dst[k] = 5;
        }
        memset(&q, 0, sizeof(q));
        q.card = &p.a->card;
        q.opcode = A350_SDMA_ADD | A350_SDMA_INT32;
        q.local = p.a->card.dev_base + DATA;
        q.remote = p.b->card.dev_base + DATA;
        q.len = 32 << 20;
        q.token_enable = true;
        q.token_id = p.token_b;
        q.token_value = VALUE;
        memcpy(q.eid, p.b->card.eid, A350_EID_LEN);
        q.done = ignore_done;
        while (1) {
            a350_fabric_request(p.f, &q);
            g_usleep(500 + i * 100);
            a350_mover_pause(&p.a->card);
            q.start = a350_fabric_position(p.f, &q);
            if (!a350_fabric_cancel(p.f, &q)) {
                break;
            }
            caught++;
            a350_mover_resume(&p.a->card);
        }
        a350_mover_resume(&p.a->card);
        good = good && q.start == q.len;
        for (k = 0; k < q.start / 4; k++) {
            good = good && dst[k] == 5 + k;
        }
        for (; k < (8u << 20); k++) {
            good = good && dst[k] == 5;
        }
    }
    ok(good, "a reduction goes on from its position exactly (%u "
       "restarts)", caught);
    pair_free(&p);
}

#ifndef __SANITIZE_THREAD__
static void job_done(A350Move *m, uint32_t status)
{
    Wait *w = m->opaque;
    A350UbResult r = { .status = status };

    wait_done(w, &r);
}

/*
 * The longest length that an entry can have. Its memory is 64 MiB that are
 * there many times, but for the last one of the destination.
 */
static void test_longest_copy(void)
{
    enum { PART = 64 << 20 };
    const uint64_t top = 1ull << 32;
    uint8_t *mem = mmap(NULL, 2 * top, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS |
                        MAP_NORESERVE, -1, 0);
    int fd = memfd_create("test-ub", 0);
    A350Move m = { .opcode = A350_SDMA_CPY, .len = UINT32_MAX,
                   .done = job_done };
    bool good = mem != MAP_FAILED && fd >= 0 && !ftruncate(fd, 3ull * PART);
    uint8_t *was, *last;
    uint64_t at;
    off_t of;
    Pair p;

    for (at = 0; good && at < 2 * top; at += PART) {
        of = at < top ? 0 : at < 2 * top - PART ? PART : 2 * PART;
        good = mmap(mem + at, PART, PROT_READ | PROT_WRITE, MAP_SHARED |
                    MAP_FIXED, fd, of) == mem + at;
    }
    pair_init(&p);
    was = p.a->card.hbm;
    if (good) {
        p.a->card.hbm = mem;
        p.a->card.hbm_size = 2 * top;
        fill(mem, 9, PART);
        last = mem + 2 * top - PART;
        last[PART - 1] = 0x5a;
        m.src = p.a->card.dev_base;
        m.dst = m.src + top;
        m.dst_card = m.src_card = &p.a->card;
        m.opaque = &p.wait;
        a350_mover_submit(&p.a->card, &m);
        good = wait_for(&p.wait, 60000) && !p.wait.r.status &&
               filled(mem + top, 9, PART) && filled(last, 9, PART - 1) &&
               last[PART - 1] == 0x5a;
    }
    ok(good, "a copy of 2^32 - 1 bytes");
    p.a->card.hbm = was;
    p.a->card.hbm_size = HBM;
    pair_free(&p);
    close(fd);
    munmap(mem, 2 * top);
}
#endif

/* The target is reset, or leaves, during a transfer. */
static void test_target_gone(void)
{
    unsigned i, refused = 0;
    bool good = true;
    Pair p;

    for (i = 0; i < 10; i++) {
        pair_init(&p);
        pair_write(&p, DATA, DATA, 40 << 20, 0);
        pair_write(&p, DATA, DATA, 40 << 20, 0);
        pair_ring(&p);
        g_usleep(i * 500);
        if (i % 2) {
            a350_ub_reset(&p.b->card);
        } else {
            mock_card_free(p.b);
            p.b = NULL;
        }
        good = good && wait_for(&p.wait, 5000);
        refused += p.wait.r.status == A350_UB_ERR_ACK_TIMEOUT;
        good = good && (p.wait.r.status == A350_UB_ERR_ACK_TIMEOUT ||
                        p.wait.r.status == A350_UB_ERR_REMOTE ||
                        p.wait.r.status == A350_UB_OK);
        pair_free(&p);
    }
    ok(good, "a target that goes away ends its transfers (%u were "
       "in flight)", refused);
}

static void test_busy_segment(void)
{
    uint32_t busy = 0, i;
    bool good = true;
    Pair p;

    for (i = 0; i < 10; i++) {
        uint32_t r;

        pair_init(&p);
        pair_write(&p, DATA, DATA, 40 << 20, 0);
        pair_ring(&p);
        r = a350_ub_seg_unregister(&p.b->card, p.token_b, msg);
        busy += r == A350_ADM_E_BUSY;
        good = good && (r == A350_ADM_E_BUSY || r == A350_ADM_OK);
        good = good && wait_for(&p.wait, 5000);
        if (r == A350_ADM_E_BUSY) {
            good = good && !a350_ub_seg_unregister(&p.b->card, p.token_b, msg);
        }
        pair_free(&p);
    }
    ok(good, "a segment in use is not unregistered (%u were)", busy);
}

static void test_inject(void)
{
    static const uint8_t st[] = { A350_UB_ERR_RETRY, A350_UB_ERR_ACK_TIMEOUT };
    a350_jetty_query_rsp r;
    bool good = true;
    unsigned i;
    Pair p;

    pair_init(&p);
    for (i = 0; i < 2; i++) {
        good = good && a350_ub_inject(&p.a->card, i ? A350_ID_ANY : p.jetty,
                                      st[i], 1);
        pair_write(&p, DATA, DATA, 100, 0);
        good = good && pair_ring(&p) && wait_for(&p.wait, 1000) &&
               p.wait.r.status == st[i] && p.wait.r.peer_card == 1 &&
               !p.b->notify[0];
        a350_ub_jetty_query(&p.a->card, p.jetty, &r, msg);
        good = good && r.state == A350_JETTY_ERROR && r.status == st[i];
        a350_ub_jetty_reset(&p.a->card, p.jetty, msg);
        p.pi = 0;
    }
    pair_write(&p, DATA, DATA, 100, 0);
    good = good && pair_ring(&p) && wait_for(&p.wait, 1000) &&
           p.wait.r.status == A350_UB_OK && p.b->notify[0];
    good = good && !a350_ub_inject(&p.a->card, p.jetty, 3, 1);
    ok(good, "injected faults hit the next request, once");
    pair_free(&p);
}

/* After a350_ub_forget no callback comes. */
static void test_forget(void)
{
    bool good = true;
    unsigned i;
    Pair p;

    pair_init(&p);
    for (i = 0; i < 20; i++) {
        Wait *w = g_new0(Wait, 1);
        const char *why;

        wait_init(w);
        pair_write(&p, DATA, DATA, 4 << 20, 0);
        good = good && a350_ub_doorbell(&p.a->card, p.jetty, p.pi, wait_done,
                                        w, &why);
        g_usleep(i * 60);
        a350_ub_forget(&p.a->card, w);
        wait_destroy(w);
        memset(w, 0xee, sizeof(*w));
        g_free(w);
    }
    good = good && pair_ring(&p) && wait_for(&p.wait, 5000);
    ok(good, "a forgotten callback does not come");
    pair_free(&p);
}

/* A callback that stays until it is let go. */
typedef struct Gate {
    QemuEvent inside, open;
    uint32_t calls;              /* atomic: that have returned */
} Gate;

static void gate_init(Gate *g)
{
    qemu_event_init(&g->inside, false);
    qemu_event_init(&g->open, false);
    g->calls = 0;
}

static void gate_destroy(Gate *g)
{
    qemu_event_destroy(&g->inside);
    qemu_event_destroy(&g->open);
}

static void gate_pass(Gate *g)
{
    qemu_event_set(&g->inside);
    qemu_event_wait(&g->open);
    qatomic_inc(&g->calls);
}

static void gate_ub_done(void *opaque, const A350UbResult *r)
{
    gate_pass(opaque);
}

static void count_ub_done(void *opaque, const A350UbResult *r)
{
    qatomic_inc((uint32_t *)opaque);
}

/*
 * Several doorbells end at once. The last of them is forgotten while the
 * first one's callback is running: its own does not come.
 */
static void test_forget_fired(void)
{
    uint32_t calls = 0;
    const char *why;
    bool good;
    Gate g;
    Pair p;

    pair_init(&p);
    gate_init(&g);
    a350_ub_pause(&p.a->card);
    pair_write(&p, 0x10000000, DATA, 100, 0);
    good = a350_ub_doorbell(&p.a->card, p.jetty, p.pi, gate_ub_done, &g, &why);
    pair_write(&p, DATA, DATA, 100, 0);
    good = good && a350_ub_doorbell(&p.a->card, p.jetty, p.pi, count_ub_done,
                                    &calls, &why);
    a350_ub_resume(&p.a->card);
    qemu_event_wait(&g.inside);
    a350_ub_forget(&p.a->card, &calls);
    qemu_event_set(&g.open);
    a350_ub_pause(&p.a->card);
    a350_ub_resume(&p.a->card);
    ok(good && g.calls == 1 && calls == 0, "a callback that is forgotten after "
       "the end of its doorbell does not come");
    gate_destroy(&g);
    pair_free(&p);
}

typedef struct Drop {
    A350Card *c, *peer;
    A350Move m[2];
    Gate gate;
    uint32_t calls;
    uint32_t returned;           /* atomic: cancel of the first has */
    bool cancelled;
} Drop;

static void drop_first_done(A350Move *m, uint32_t status)
{
    gate_pass(&((Drop *)m->opaque)->gate);
}

static void drop_second_done(A350Move *m, uint32_t status)
{
    qatomic_inc(&((Drop *)m->opaque)->calls);
}

static void *drop_thread(void *opaque)
{
    Drop *d = opaque;

    a350_mover_drop_peer(d->c, d->peer);
    return NULL;
}

static void *cancel_thread(void *opaque)
{
    Drop *d = opaque;

    d->cancelled = a350_mover_cancel(d->c, &d->m[0]);
    qatomic_set(&d->returned, 1);
    return NULL;
}

/*
 * Two jobs are ended since their peer goes; in the middle of the first one's
 * end both are taken back. The second is its owner's again at once and no
 * callback comes, the first when its callback has returned.
 */
static void test_cancel_dropped(void)
{
    QemuThread drop, cancel;
    bool second, waited;
    unsigned i;
    Drop d = { 0 };
    Pair p;

    pair_init(&p);
    gate_init(&d.gate);
    d.c = &p.a->card;
    d.peer = &p.b->card;
    a350_mover_pause(d.c);
    for (i = 0; i < 2; i++) {
        d.m[i] = (A350Move) {
            .dst = d.peer->dev_base + DATA, .src = d.c->dev_base + DATA,
            .len = 4 << 20, .dst_card = d.peer, .src_card = d.c,
            .done = i ? drop_second_done : drop_first_done, .opaque = &d,
        };
        a350_mover_submit(d.c, &d.m[i]);
    }
    qemu_thread_create(&drop, "drop", drop_thread, &d, QEMU_THREAD_JOINABLE);
    qemu_event_wait(&d.gate.inside);
    second = a350_mover_cancel(d.c, &d.m[1]);
    memset(&d.m[1], 0xee, sizeof(d.m[1]));
    qemu_thread_create(&cancel, "cancel", cancel_thread, &d,
                       QEMU_THREAD_JOINABLE);
    g_usleep(20000);
    waited = !qatomic_read(&d.returned);
    qemu_event_set(&d.gate.open);
    if (second) {
        qemu_thread_join(&drop);
        qemu_thread_join(&cancel);
    }
    ok(second && !d.calls && waited && !d.cancelled && d.gate.calls == 1,
       "jobs that end with their peer can be taken back");
    gate_destroy(&d.gate);
    pair_free(&p);
}

/* ---- everything at once ---- */

#define CARDS       3u
#define USERS       4u

typedef struct Storm {
    A350Fabric *f;
    MockCard *m[CARDS];
    uint32_t token[CARDS];
    int stop;
} Storm;

typedef struct User {
    Storm *s;
    unsigned n, seed;
    unsigned good, refused, bad;
} User;

static unsigned next_random(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static void user_request(User *u, a350_wqe *w, uint32_t card, uint32_t local)
{
    static const uint32_t ops[] = { A350_UB_WRITE, A350_UB_READ };
    Storm *s = u->s;
    uint32_t peer = next_random(&u->seed) % CARDS, len;
    a350_ub_remote r = remote(s->m[peer], qatomic_read(&s->token[peer]));
    uint64_t off = DATA + (u->n + 1) * 0x400000;

    len = next_random(&u->seed) % (next_random(&u->seed) % 4 ? 3000 : 2000000);
    a350_wqe_rw(w, ops[next_random(&u->seed) % 2], A350_WQE_CQE, &r,
                s->m[peer]->card.dev_base + off, 0,
                s->m[card]->card.dev_base + off + 0x200000, len & ~3u, local);
    if (next_random(&u->seed) % 3 == 0) {
        a350_wqe_set_reduce(w, A350_UB_ADD, A350_UB_INT32);
    }
}

static void *user_thread(void *opaque)
{
    User *u = opaque;
    uint32_t card = u->n % CARDS, id = A350_ID_NONE, local = 0, k, n;
    A350Card *c = &u->s->m[card]->card;
    char text[A350_ADMIN_MSG_SIZE];
    const char *why;
    uint16_t pi = 0;
    a350_wqe w;
    Wait wait;

    wait_init(&wait);
    while (!qatomic_read(&u->s->stop)) {
        a350_jetty_create j = {
            .jetty_id = 100 + u->n, .depth = DEPTH,
            .base = c->dev_base + RING + u->n * 0x10000,
            .flags = next_random(&u->seed) % 2 ? A350_JETTY_F_CONTINUE : 0,
        };

        if (id == A350_ID_NONE) {
            a350_ub_jetty_create(c, &j, text);
            id = j.jetty_id;
            pi = 0;
        }
        local = qatomic_read(&u->s->token[card]);
        n = 1 + next_random(&u->seed) % 20;
        for (k = 0; k < n; k++) {
            user_request(u, &w, card, local);
            post(u->s->m[card], u->n, &pi, &w);
        }
        if (!a350_ub_doorbell(c, id, pi, wait_done, &wait, &why)) {
            id = A350_ID_NONE;   /* its card was reset */
            continue;
        }
        k = next_random(&u->seed) % 16;
        if (k == 0) {
            a350_ub_jetty_reset(c, id, text);
            pi = 0;
        } else if (k == 1) {
            a350_ub_jetty_destroy(c, id, text);
            id = A350_ID_NONE;
        } else if (k == 2) {
            a350_ub_forget(c, &wait);
        }
        /* A reset of the card drops waiters, as it drops queues. */
        while (!wait_for(&wait, 20) && k != 2) {
            a350_jetty_query_rsp r;

            if (a350_ub_jetty_query(c, id, &r, text)) {
                a350_ub_forget(c, &wait);
                id = A350_ID_NONE;
                break;
            }
            if (qatomic_read(&u->s->stop) > 1) {
                u->bad++;
                break;
            }
        }
        if (wait.r.status == A350_UB_OK) {
            qatomic_inc(&u->good);
        } else {
            qatomic_inc(&u->refused);
        }
        if (wait.r.status && id != A350_ID_NONE) {
            a350_ub_jetty_reset(c, id, text);
            pi = 0;
        }
    }
    a350_ub_forget(c, &wait);
    wait_destroy(&wait);
    return NULL;
}

/* Pauses, resets and renews segments under the users. */
static void storm_disturb(Storm *s, unsigned *seed)
{
    uint32_t i = next_random(seed) % CARDS, old = s->token[i];
    A350Card *c = &s->m[i]->card;
    unsigned what = next_random(seed) % 8;

    if (what == 0) {
        a350_ub_pause(c);
        a350_mover_pause(c);
        a350_mover_reset(c);
        a350_ub_reset(c);
        qatomic_set(&s->token[i], segment(s->m[i], c->dev_base, HBM));
        a350_mover_resume(c);
        a350_ub_resume(c);
    } else if (what < 4) {
        a350_ub_pause(c);
        a350_mover_pause(c);
        g_usleep(200);
        a350_mover_resume(c);
        a350_ub_resume(c);
    } else if (what < 6) {
        qatomic_set(&s->token[i], segment(s->m[i], c->dev_base, HBM));
        a350_ub_seg_unregister(c, old, msg);
    } else {
        a350_ub_inject(c, A350_ID_ANY, A350_UB_ERR_RETRY, 1);
    }
}

/* Have both kinds of end been seen? */
static bool storm_count(User *user)
{
    unsigned i, good = 0, refused = 0;

    for (i = 0; i < USERS; i++) {
        good += qatomic_read(&user[i].good);
        refused += qatomic_read(&user[i].refused);
    }
    return good && refused;
}

static void test_storm(unsigned seconds, unsigned seed)
{
    int64_t end = g_get_monotonic_time() + seconds * G_USEC_PER_SEC;
    int64_t late = end + 60 * G_USEC_PER_SEC;
    QemuThread thread[USERS];
    User user[USERS] = { 0 };
    unsigned i, good = 0, refused = 0, bad = 0;
    Storm s = { 0 };

    printf("# seed %u\n", seed);
    s.f = mock_fabric_new();
    for (i = 0; i < CARDS; i++) {
        s.m[i] = mock_card_new(s.f, i, HBM);
        s.token[i] = segment(s.m[i], s.m[i]->card.dev_base, HBM);
    }
    for (i = 0; i < USERS; i++) {
        user[i].s = &s;
        user[i].n = i;
        user[i].seed = seed + i;
        qemu_thread_create(&thread[i], "user", user_thread, &user[i],
                           QEMU_THREAD_JOINABLE);
    }
    /* On a machine that is busy otherwise, until something has happened. */
    while (g_get_monotonic_time() < end ||
           (!storm_count(user) && g_get_monotonic_time() < late)) {
        g_usleep(next_random(&seed) % 3000);
        storm_disturb(&s, &seed);
    }
    qatomic_set(&s.stop, 1);
    g_usleep(2 * G_USEC_PER_SEC);
    qatomic_set(&s.stop, 2);
    for (i = 0; i < USERS; i++) {
        qemu_thread_join(&thread[i]);
        good += user[i].good;
        refused += user[i].refused;
        bad += user[i].bad;
    }
    for (i = 0; i < CARDS; i++) {
        bad += s.m[i]->card.fabric->slot[i].users;
        mock_card_free(s.m[i]);
    }
    mock_fabric_free(s.f);
    ok(good && refused && !bad, "%u doorbells done, %u failed while cards were "
       "paused and reset; %u without an answer", good, refused, bad);
}

int main(int argc, char **argv)
{
    unsigned seconds = argc > 1 ? atoi(argv[1]) : 2;
    unsigned seed = argc > 2 ? strtoul(argv[2], NULL, 0) : time(NULL);

    setvbuf(stdout, NULL, _IONBF, 0);
    test_write();
    test_pause();
    test_position();
#ifndef __SANITIZE_THREAD__    /* whose own memory grows with that copied */
    test_longest_copy();
#endif
    test_target_gone();
    test_busy_segment();
    test_inject();
    test_forget();
    test_forget_fired();
    test_cancel_dropped();
    test_storm(seconds, seed);
    return done_testing();
}
