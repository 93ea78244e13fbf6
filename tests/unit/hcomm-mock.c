/*
 * A card of plain memory: hcomm-mock.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "hcomm-mock.h"
#include "platform.h"

#define ARENA (64u << 20)
#define THREADS 8

static uint8_t *arena;
static size_t used;

static struct {
    a350_thread_obj *t;
    uint32_t launched, doorbells;
    a350_sqe *history;
} queues[THREADS];
static uint32_t num_queues;

void (*mock_on_sleep)(void);
void (*mock_on_doorbell)(a350_thread_obj *t, uint32_t tail);
uint64_t mock_now;
char mock_log[MOCK_LOG_SIZE];

void mock_reset(void)
{
    uint32_t i;

    a350_hcomm_kernel_enter();
    if (!arena) {
        arena = mmap(NULL, ARENA, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        hc_mem_lo = (uintptr_t)arena;
        hc_mem_hi = hc_mem_lo + ARENA;
    }
    for (i = 0; i < num_queues; i++) {
        free(queues[i].history);
    }
    memset(queues, 0, sizeof(queues));
    memset(arena, 0, used);
    num_queues = 0;
    used = 4096;
    mock_on_sleep = NULL;
    mock_on_doorbell = NULL;
    mock_now = 1000000000;
    mock_log[0] = '\0';
}

void *mock_alloc(size_t size)
{
    void *p = arena + used;

    used += (size + 4095) & ~(size_t)4095;
    if (used > ARENA) {
        fprintf(stderr, "mock: arena is too small\n");
        exit(2);
    }
    return p;
}

uint64_t mock_base(void)
{
    return (uintptr_t)arena;
}

uint64_t mock_local(uint64_t offset)
{
    return (uintptr_t)arena + (1ull << 32) + offset;
}

a350_thread_obj *mock_thread(uint32_t index, uint32_t depth, uint32_t notifies)
{
    a350_thread_obj *t = mock_alloc(sizeof(*t));
    uint32_t *ids = mock_alloc(notifies * 4 + 4), i, *page;

    t->magic = A350_THREAD_MAGIC;
    t->version = A350_HCOMM_ABI_VERSION;
    t->size = sizeof(*t);
    t->kind = A350_THREAD_QUEUE;
    t->rank = 3;
    t->index = index;
    t->notify_num = notifies;
    t->sq_id = 100 + index;
    t->sq_depth = depth;
    t->sq_base = (uintptr_t)mock_alloc(depth * 64);
    page = mock_alloc(4096);
    page[A350_SQ_STATUS / 4] = A350_SQ_STATUS_ENABLE;
    t->sq_page = (uintptr_t)page;
    t->notify_ids = (uintptr_t)ids;
    for (i = 0; i < notifies; i++) {
        ids[i] = 1000 * (index + 1) + i;
    }
    queues[num_queues].t = t;
    queues[num_queues++].history = malloc(sizeof(a350_sqe) << 16);
    return t;
}

a350_channel_obj *mock_channel(uint32_t depth, uint32_t notifies)
{
    a350_channel_obj *c = mock_alloc(sizeof(*c));
    a350_mem_token *rm = mock_alloc(2 * sizeof(*rm));
    a350_mem_token *lm = mock_alloc(sizeof(*lm));
    uint32_t i;

    c->magic = A350_CHANNEL_MAGIC;
    c->version = A350_HCOMM_ABI_VERSION;
    c->size = sizeof(*c);
    c->proto = A350_PROTO_UB;
    c->rank = 3;
    c->peer_rank = 5;
    c->notify_num = notifies;
    c->jetty_id = 0x4321;
    c->jetty_depth = depth;
    c->wq_base = (uintptr_t)mock_alloc(depth * 64);
    c->ci_addr = (uintptr_t)mock_alloc(64);
    c->max_msg = 256u << 20;
    for (i = 0; i < 16; i++) {
        c->peer_eid[i] = (uint8_t)(0xe0 + i);
    }
    c->tpn = 0x00abcd;
    c->local_any_token = 0x11111;
    c->local_mems = (uintptr_t)lm;
    c->local_mem_num = 1;
    *lm = (a350_mem_token){ mock_local(0x100000), 0x100000, 0x22222, 0xaaaa };
    c->remote_mems = (uintptr_t)rm;
    c->remote_mem_num = 2;
    rm[0] = (a350_mem_token){ MOCK_REMOTE, MOCK_REMOTE_SIZE, 0x33333, 0xbbbb };
    rm[1] = (a350_mem_token){ MOCK_REMOTE2, MOCK_REMOTE2_SIZE, 0x44444,
                              0xcccc };
    c->drain_notify = A350_ID_NONE;
    for (i = 0; i < notifies; i++) {
        c->local_notify[i] = 500 + i;
        c->remote_notify[i] = (a350_mem_token){ 0x9c0002000000 + i * 8, 8,
                                                0x55550 + i, 0xdd00 + i };
    }
    return c;
}

a350_comm_obj *mock_comm(const char *name)
{
    a350_comm_obj *c = mock_alloc(sizeof(*c));

    c->magic = A350_COMM_MAGIC;
    c->version = A350_HCOMM_ABI_VERSION;
    snprintf(c->name, sizeof(c->name), "%s", name);
    return c;
}

static uint32_t *reg(const a350_thread_obj *t, uint32_t off)
{
    return (uint32_t *)(uintptr_t)(t->sq_page + off);
}

void mock_complete(a350_thread_obj *t, uint32_t entries)
{
    uint32_t head = *reg(t, A350_SQ_HEAD), tail = *reg(t, A350_SQ_TAIL);

    for (; entries && head != tail; entries--) {
        head = head + 1 == t->sq_depth ? 0 : head + 1;
    }
    *reg(t, A350_SQ_HEAD) = head;
}

void mock_stop_queue(a350_thread_obj *t)
{
    *reg(t, A350_SQ_STATUS) = 0;
}

uint32_t mock_tail(const a350_thread_obj *t)
{
    return *reg(t, A350_SQ_TAIL);
}

static uint32_t queue_of(const a350_thread_obj *t)
{
    uint32_t i;

    for (i = 0; i + 1 < num_queues && queues[i].t != t; i++) {
        continue;
    }
    return i;
}

uint32_t mock_launched(const a350_thread_obj *t)
{
    return queues[queue_of(t)].launched;
}

uint32_t mock_doorbells(const a350_thread_obj *t)
{
    return queues[queue_of(t)].doorbells;
}

const a350_sqe *mock_sqe(const a350_thread_obj *t, uint32_t n)
{
    return &queues[queue_of(t)].history[n];
}

const uint32_t *mock_block(const a350_channel_obj *c, uint32_t n)
{
    return (const uint32_t *)(uintptr_t)
           (c->wq_base + (n % c->jetty_depth) * 64);
}

/* ---- platform.h ---- */

uint64_t hc_mem_lo, hc_mem_hi;

uint64_t hc_plat_now(void)
{
    return mock_now;
}

void hc_plat_sleep(uint32_t ns)
{
    mock_now += ns;
    if (mock_on_sleep) {
        mock_on_sleep();
    } else {
        mock_now += 100000000;   /* let timeouts come */
    }
}

void hc_plat_log(const char *line, uint32_t len)
{
    size_t have = strlen(mock_log);

    if (have + len < MOCK_LOG_SIZE) {
        memcpy(mock_log + have, line, len);
        mock_log[have + len] = '\0';
    }
}

uint32_t hc_plat_reg_read(uint64_t addr)
{
    return *(volatile uint32_t *)(uintptr_t)addr;
}

void hc_plat_doorbell(uint64_t addr, uint32_t value)
{
    uint32_t i = 0, old = *(uint32_t *)(uintptr_t)addr;
    a350_thread_obj *t;

    while (queues[i].t->sq_page != addr - A350_SQ_TAIL) {
        i++;
    }
    t = queues[i].t;
    queues[i].doorbells++;
    for (; old != value; old = (old + 1) % t->sq_depth) {
        queues[i].history[queues[i].launched++ & 0xffff] =
            ((a350_sqe *)(uintptr_t)t->sq_base)[old];
    }
    *(uint32_t *)(uintptr_t)addr = value;
    if (mock_on_doorbell) {
        mock_on_doorbell(t, value);
    }
}
