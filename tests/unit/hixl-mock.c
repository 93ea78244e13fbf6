/*
 * Two cards of plain memory: hixl-mock.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "acl_internal.h"
#include "hixl-mock.h"

#define CARDS    2
#define SEGMENTS 4096
#define MAPS     256

struct a350_card {
    a350_identify_rsp id;
    unsigned number;
    uint8_t *hbm;
    uint64_t next;               /* of the queues' own memory */
    struct {
        bool used;
        uint64_t base, len;
        uint32_t access, value;
    } seg[SEGMENTS];
};

struct a350_sq {
    a350_card *card;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    bool stop;
    uint64_t pushed, done;
    uint32_t errors;
    a350_sq_error error;
    a350_sqe ring[128];
};

static a350_card cards[CARDS];
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static a350_jetty *jetties[256];
static struct { uintptr_t start, end; } maps[MAPS], pins[MAPS];
static int alive, warnings;
static bool held;
static int refuse;
static unsigned slow_map;
static unsigned wqes, doorbells, queues, queues_max = UINT32_MAX;
static _Thread_local int device = -1;
static _Thread_local char error_text[600];
static char warning_text[600];

static void setup(void)
{
    unsigned i;

    for (i = 0; i < CARDS; i++) {
        cards[i].number = i;
        cards[i].hbm = malloc(MOCK_HBM_SIZE * 2);
        cards[i].next = MOCK_HBM_SIZE;
        cards[i].id.dev_base = A350_DEV_BASE(i);
        cards[i].id.hbm_size = MOCK_HBM_SIZE * 2;
        cards[i].id.hbm_usable = MOCK_HBM_SIZE;
        cards[i].id.max_msg = 1u << 20;          /* to see slices */
        a350_eid_make(cards[i].id.eid, 0, i);
    }
}

static a350_card *card(int i)
{
    pthread_once(&once, setup);
    return i < 0 ? NULL : &cards[i];
}

static void count(int d)
{
    pthread_mutex_lock(&mutex);
    alive += d;
    pthread_mutex_unlock(&mutex);
}

void mock_set_device(int i)
{
    device = i;
}

uint64_t mock_device(int i, uint64_t offset)
{
    return card(i)->id.dev_base + offset;
}

uint8_t *mock_memory(int i, uint64_t offset)
{
    return card(i)->hbm + offset;
}

void mock_hold(bool hold)
{
    /* What the test wrote before it lets go is there for the queues. */
    __atomic_store_n(&held, hold, __ATOMIC_RELEASE);
}

void mock_max_queues(unsigned max)
{
    queues_max = max;
}

static int locked(const int *v)
{
    int n;

    pthread_mutex_lock(&mutex);
    n = *v;
    pthread_mutex_unlock(&mutex);
    return n;
}

int mock_alive(void)
{
    return locked(&alive);
}

unsigned mock_wqes(void)
{
    return wqes;
}

unsigned mock_doorbells(void)
{
    return doorbells;
}

void mock_slow_map(unsigned us)
{
    __atomic_store_n(&slow_map, us, __ATOMIC_RELEASE);
}

void mock_refuse(int error)
{
    __atomic_store_n(&refuse, error, __ATOMIC_RELEASE);
}

void mock_pin(const void *p, size_t len)
{
    pins[0].start = (uintptr_t)p;
    pins[0].end = (uintptr_t)p + len;
}

const char *mock_error(void)
{
    return error_text;
}

int mock_warnings(void)
{
    return locked(&warnings);
}

const char *mock_last_warning(void)
{
    static _Thread_local char copy[sizeof(warning_text)];

    pthread_mutex_lock(&mutex);
    memcpy(copy, warning_text, sizeof(copy));
    pthread_mutex_unlock(&mutex);
    return copy;
}

/* ---- acl_internal.h ---- */

a350_card *a350_current_card(void)
{
    return card(device);
}

bool a350_host_is_pinned(const void *ptr, size_t len)
{
    uintptr_t p = (uintptr_t)ptr;

    return p >= pins[0].start && p + len <= pins[0].end;
}

void a350_set_error(const char *code, const char *fmt, ...)
{
    va_list ap;

    (void)code;
    va_start(ap, fmt);
    vsnprintf(error_text, sizeof(error_text), fmt, ap);
    va_end(ap);
}

void a350_log_host(int level, const char *module, const char *fmt, ...)
{
    va_list ap;

    (void)module;
    if (level == 2) {
        pthread_mutex_lock(&mutex);
        va_start(ap, fmt);
        vsnprintf(warning_text, sizeof(warning_text), fmt, ap);
        va_end(ap);
        warnings++;
        pthread_mutex_unlock(&mutex);
    }
}

aclError a350_explain_error(a350_sq *sq, const a350_sq_error *err, char *text,
                            size_t len)
{
    (void)sq;
    snprintf(text, len, "UB status %u", err->status);
    return 1;
}

/* ---- a350_card.h ---- */

const char *a350_card_text(void)
{
    return "mock";
}

unsigned a350_card_count(void)
{
    return CARDS;
}

void a350_card_ref(a350_card *c)
{
    (void)c;
    count(1);
}

void a350_card_close(a350_card *c)
{
    (void)c;
    count(-1);
}

unsigned a350_card_number(const a350_card *c)
{
    return c->number;
}

const a350_identify_rsp *a350_card_id(const a350_card *c)
{
    return &c->id;
}

int a350_peers(a350_card *c, a350_peer *peer, unsigned max, unsigned *n)
{
    (void)c;
    for (*n = 0; *n < CARDS && *n < max; ++*n) {
        memcpy(peer[*n].eid, card((int)*n)->id.eid, A350_EID_LEN);
    }
    return 0;
}

int a350_dma_map(void *va, size_t len)
{
    uintptr_t p = (uintptr_t)va;
    int i, rc = -ENOSPC;

    if ((p | len) & 4095) {
        return -EINVAL;
    }
    usleep((useconds_t)(len / 4096 *
                        __atomic_load_n(&slow_map, __ATOMIC_ACQUIRE)));
    pthread_mutex_lock(&mutex);
    for (i = 0; i < MAPS; i++) {
        if (maps[i].end && p < maps[i].end && p + len > maps[i].start) {
            rc = -EEXIST;
            break;
        }
    }
    for (i = 0; i < MAPS && rc == -ENOSPC; i++) {
        if (!maps[i].end) {
            maps[i].start = p;
            maps[i].end = p + len;
            alive++;
            rc = 0;
        }
    }
    pthread_mutex_unlock(&mutex);
    return rc;
}

int a350_dma_unmap(void *va, size_t len)
{
    int i;

    for (i = 0; i < MAPS; i++) {
        if (maps[i].start == (uintptr_t)va &&
            maps[i].end == (uintptr_t)va + len) {
            maps[i].start = maps[i].end = 0;
            count(-1);
            return 0;
        }
    }
    return -EINVAL;
}

static bool is_mapped(uintptr_t p, size_t len)
{
    int i;

    if (a350_host_is_pinned((void *)p, len)) {
        return true;
    }
    for (i = 0; i < MAPS; i++) {
        if (p >= maps[i].start && p < maps[i].end) {
            return p + len <= maps[i].end ||
                   is_mapped(maps[i].end, len - (maps[i].end - p));
        }
    }
    return false;
}

void *a350_hbm_ptr(uint64_t addr, size_t len)
{
    uint32_t i = a350_addr_is_host(addr) ? CARDS : a350_addr_card(addr);
    uint64_t off = a350_addr_offset(addr);

    if (i >= CARDS || off > MOCK_HBM_SIZE * 2 ||
        len > MOCK_HBM_SIZE * 2 - off) {
        return NULL;
    }
    return cards[i].hbm + off;
}

int a350_segment_register(a350_card *c, uint64_t base, uint64_t length,
                          uint32_t access, uint32_t *token_id,
                          uint32_t *token_value)
{
    uint32_t i;

    pthread_mutex_lock(&mutex);
    for (i = 1; i < SEGMENTS && c->seg[i].used; i++) {
        continue;
    }
    if (i < SEGMENTS) {
        c->seg[i].used = true;
        c->seg[i].base = base;
        c->seg[i].len = length;
        c->seg[i].access = access;
        c->seg[i].value = (uint32_t)rand() | 1;
        *token_id = i;
        *token_value = c->seg[i].value;
        alive++;
    }
    pthread_mutex_unlock(&mutex);
    return i < SEGMENTS ? 0 : -ENOSPC;
}

int a350_segment_unregister(a350_card *c, uint32_t token_id)
{
    const int rc = -__atomic_load_n(&refuse, __ATOMIC_ACQUIRE);

    if (rc != -EBUSY) {
        c->seg[token_id].used = false;
        count(-1);
    }
    return rc;
}

int a350_jetty_new(a350_card *c, uint32_t depth, uint32_t flags,
                   uint32_t err_timeout, uint32_t rank, uint32_t peer_rank,
                   a350_jetty *j)
{
    uint32_t i;

    (void)flags, (void)err_timeout, (void)rank, (void)peer_rank;
    pthread_mutex_lock(&mutex);
    for (i = 1; i < 255 && jetties[i]; i++) {
        continue;
    }
    jetties[i] = j;
    j->id = i;
    j->depth = depth;
    j->card = c;
    j->wq = c->id.dev_base + c->next;
    c->next += depth * 64;
    j->ci = c->id.dev_base + c->next;
    c->next += 64;
    if (c->next > 2 * MOCK_HBM_SIZE - (1u << 20)) {
        c->next = MOCK_HBM_SIZE;         /* long-lived ones are few */
    }
    *(uint32_t *)a350_hbm_ptr(j->ci, 4) = 0;
    alive++;
    pthread_mutex_unlock(&mutex);
    return 0;
}

void a350_jetty_free(a350_jetty *j)
{
    pthread_mutex_lock(&mutex);
    jetties[j->id] = NULL;
    alive--;
    pthread_mutex_unlock(&mutex);
}

/* ---- execution: spec/hw/transport.md §2 by hand ---- */

static uint8_t *resolve(a350_card *c, uint32_t token, const uint32_t *value,
                        uint32_t need, uint64_t addr, uint32_t len)
{
    if (token >= SEGMENTS || !c->seg[token].used || addr < c->seg[token].base ||
        addr + len > c->seg[token].base + c->seg[token].len ||
        (value && (*value != c->seg[token].value ||
                   !(c->seg[token].access & need)))) {
        return NULL;
    }
    if (a350_addr_is_host(addr)) {
        return is_mapped(addr, len) ? (uint8_t *)(uintptr_t)addr : NULL;
    }
    return a350_hbm_ptr(addr, len);
}

/* 0, or a UB status. */
static uint32_t execute(a350_card *c, const uint32_t *w)
{
    uint32_t opcode = (w[1] >> 8) & 0xff, len = w[12], i;
    uint64_t raddr = w[10] | (uint64_t)w[11] << 32;
    uint64_t laddr = w[14] | (uint64_t)w[15] << 32;
    const uint8_t *eid = (const uint8_t *)&w[4];
    uint8_t *l, *r;
    a350_card *peer = NULL;

    for (i = 0; i < CARDS; i++) {
        /* The EID is reversed: its last byte comes first. */
        if (eid[0] == i + 1) {
            peer = &cards[i];
        }
    }
    __atomic_add_fetch(&wqes, 1, __ATOMIC_RELAXED);
    if (!peer) {
        return A350_UB_ERR_ACK_TIMEOUT;
    }
    l = resolve(c, w[13] & 0xfffff, NULL, 0, laddr, len);
    r = resolve(peer, w[3] & 0xfffff, &w[8],
                opcode == 6 ? A350_SEG_READ : A350_SEG_WRITE, raddr, len);
    if (!l || !r) {
        return l ? A350_UB_ERR_REMOTE : A350_UB_ERR_LOCAL;
    }
    memmove(opcode == 6 ? l : r, opcode == 6 ? r : l, len);
    return opcode == 6 || opcode == 3 ? 0 : A350_UB_ERR_OPCODE;
}

/* One doorbell; true: complete. */
static bool doorbell(a350_sq *q, const a350_sqe *s)
{
    a350_jetty *j = jetties[s->w[4] & 0xffff];
    uint32_t *ci = a350_hbm_ptr(j->ci, 4), status = 0;
    uint8_t *ring = a350_hbm_ptr(j->wq, j->depth * 64);
    bool cqe = true;

    __atomic_add_fetch(&doorbells, 1, __ATOMIC_RELAXED);
    while (*ci != (s->w[5] & 0xffff) && !status) {
        const uint32_t *w = (uint32_t *)(ring + (*ci % j->depth) * 64);

        cqe = w[0] & A350_WQE_CQE;
        status = execute(q->card, w);
        __atomic_store_n(ci, (*ci + 1) & 0xffff, __ATOMIC_RELEASE);
    }
    if (!cqe) {
        status = 0x99;           /* nobody would complete the task */
    }
    q->error.status = status;
    q->error.bits = status ? 1 : 0;
    q->error.sqe_type = A350_SQE_UBDMA;
    __atomic_add_fetch(&q->errors, status != 0, __ATOMIC_RELEASE);
    return status == 0;
}

static void *run(void *arg)
{
    a350_sq *q = arg;

    pthread_mutex_lock(&q->mutex);
    while (!q->stop) {
        if (__atomic_load_n(&held, __ATOMIC_ACQUIRE) || q->errors ||
            q->done == q->pushed) {
            struct timespec ts;

            clock_gettime(CLOCK_REALTIME, &ts);
            ts.tv_nsec += 1000000;
            if (ts.tv_nsec >= 1000000000) {
                ts.tv_nsec -= 1000000000;
                ts.tv_sec++;
            }
            pthread_cond_timedwait(&q->cond, &q->mutex, &ts);
        } else if (doorbell(q, &q->ring[q->done % 128])) {
            __atomic_add_fetch(&q->done, 1, __ATOMIC_RELEASE);
            pthread_cond_broadcast(&q->cond);
        }
    }
    pthread_mutex_unlock(&q->mutex);
    return NULL;
}

int a350_sq_new(a350_card *c, const a350_sq_config *cfg, a350_sq **sq)
{
    a350_sq *q;

    (void)cfg;
    pthread_mutex_lock(&mutex);
    if (queues >= queues_max) {
        pthread_mutex_unlock(&mutex);
        return -ENOSPC;
    }
    queues++;
    pthread_mutex_unlock(&mutex);
    q = calloc(1, sizeof(*q));
    q->card = c;
    pthread_mutex_init(&q->mutex, NULL);
    pthread_cond_init(&q->cond, NULL);
    pthread_create(&q->thread, NULL, run, q);
    count(1);
    *sq = q;
    return 0;
}

void a350_sq_destroy(a350_sq *q)
{
    pthread_mutex_lock(&q->mutex);
    q->stop = true;
    pthread_cond_broadcast(&q->cond);
    pthread_mutex_unlock(&q->mutex);
    pthread_join(q->thread, NULL);
    free(q);
    pthread_mutex_lock(&mutex);
    queues--;
    pthread_mutex_unlock(&mutex);
    count(-1);
}

a350_card *a350_sq_card(const a350_sq *q)
{
    return q->card;
}

int a350_sq_push(a350_sq *q, const a350_sqe *sqe, unsigned n, uint64_t *seq)
{
    unsigned i;

    pthread_mutex_lock(&q->mutex);
    for (i = 0; i < n; i++) {
        q->ring[q->pushed++ % 128] = sqe[i];
    }
    *seq = q->pushed;
    pthread_cond_broadcast(&q->cond);
    i = q->errors;
    pthread_mutex_unlock(&q->mutex);
    return i ? -EIO : 0;
}

uint64_t a350_sq_done(a350_sq *q)
{
    return __atomic_load_n(&q->done, __ATOMIC_ACQUIRE);
}

int a350_sq_wait(a350_sq *q, uint64_t seq, int timeout_ms, uint32_t errors)
{
    struct timespec a, b;
    int rc = 1;

    clock_gettime(CLOCK_MONOTONIC, &a);
    while (rc == 1) {
        pthread_mutex_lock(&q->mutex);
        rc = q->errors != errors ? -EIO : q->done >= seq ? 0 : 1;
        pthread_mutex_unlock(&q->mutex);
        clock_gettime(CLOCK_MONOTONIC, &b);
        if (rc == 1 && (b.tv_sec - a.tv_sec) * 1000000000ll + b.tv_nsec -
            a.tv_nsec >= timeout_ms * 1000000ll) {
            rc = -ETIMEDOUT;
        }
        if (rc == 1) {
            usleep(200);
        }
    }
    return rc;
}

uint32_t a350_sq_error_count(a350_sq *q)
{
    return __atomic_load_n(&q->errors, __ATOMIC_ACQUIRE);
}

bool a350_sq_last_error(a350_sq *q, a350_sq_error *err)
{
    *err = q->error;
    return err->bits != 0;
}

void a350_sq_fail(a350_sq *q, uint32_t status)
{
    pthread_mutex_lock(&q->mutex);
    q->error.status = status;
    q->error.bits = A350_ERR_SW_STATUS;
    q->error.sqe_type = A350_SQE_INVALID;
    q->errors++;
    pthread_mutex_unlock(&q->mutex);
}
