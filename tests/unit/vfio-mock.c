/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cards of plain memory behind the driver's VFIO layer, each with a thread
 * that answers admin commands and runs task queues: what the acl runtime needs
 * to be tested in one process. The thread polls; its functions are hidden from
 * the thread sanitizer, to which a card is no part of the program.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>
#include "card_priv.h"
#include "vfio-mock.h"

#define CARD __attribute__((no_sanitize("thread")))

#define HBM         (256ull << 20)
#define BAR2        (A350_REG_CTRL + 0x100000u)
#define QUEUES      64u
#define LOADS       4096u

typedef struct queue {
    volatile bool live, enabled, waiting;
    uint32_t depth, flags, cq;
    uint64_t base;
    uint32_t head;
    uint64_t deadline;
} queue;

typedef struct mock {
    volatile bool on;
    pthread_t thread;
    unsigned number;
    uint8_t *bar0, *bar2, *hbm;
    int admin_efd, cq_efd;
    queue q[QUEUES];
    a350_cqe *cq;
    uint32_t cq_depth, cq_tail, cq_page;
    uint16_t phase;
    uint32_t loads;
    bool loaded[LOADS];
} mock;

static mock mocks[MOCK_CARDS];
volatile bool mock_quiet, mock_deaf;
void (*mock_kernel)(const void *args);

/* Host memory that cards may reach. */
static pthread_mutex_t maps_lock = PTHREAD_MUTEX_INITIALIZER;
static struct { uintptr_t start, end; } maps[256];

/* ---- what stands in for vfio.c ---- */

static __thread char text[512];

const char *a350_card_text(void)
{
    return text;
}

int a350_fail(int rc, const char *fmt, ...)
{
    char buf[sizeof(text)];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(buf, sizeof(buf), fmt, ap);
    va_end(ap);
    memcpy(text, buf, sizeof(text));
    return rc;
}

unsigned a350_card_count(void)
{
    return MOCK_CARDS;
}

int a350_card_find(unsigned number, a350_card_slot *slot)
{
    memset(slot, 0, sizeof(*slot));
    if (number >= MOCK_CARDS) {
        return a350_fail(-ENODEV, "card %u does not exist", number);
    }
    snprintf(slot->bdf, sizeof(slot->bdf), "0000:%02x:00.0", number + 1);
    return 0;
}

int a350_dma_map(void *va, size_t len)
{
    unsigned i;

    pthread_mutex_lock(&maps_lock);
    for (i = 0; i < 256 && maps[i].end; i++) {
    }
    if (i < 256) {
        maps[i].start = (uintptr_t)va;
        maps[i].end = (uintptr_t)va + len;
    }
    pthread_mutex_unlock(&maps_lock);
    return i < 256 ? 0 : a350_fail(-ENOMEM, "too many mappings");
}

int a350_dma_unmap(void *va, size_t len)
{
    unsigned i;

    pthread_mutex_lock(&maps_lock);
    for (i = 0; i < 256 && (maps[i].start != (uintptr_t)va ||
                            maps[i].end != (uintptr_t)va + len); i++) {
    }
    if (i < 256) {
        maps[i].start = maps[i].end = 0;
    }
    pthread_mutex_unlock(&maps_lock);
    return i < 256 ? 0 : a350_fail(-EINVAL, "%p is not mapped", va);
}

bool mock_mapped(const void *va)
{
    bool hit = false;
    unsigned i;

    pthread_mutex_lock(&maps_lock);
    for (i = 0; i < 256; i++) {
        hit |= (uintptr_t)va >= maps[i].start && (uintptr_t)va < maps[i].end;
    }
    pthread_mutex_unlock(&maps_lock);
    return hit;
}

void *a350_dma_alloc(size_t len)
{
    void *p = mmap(NULL, (len + 4095) & ~4095ul, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    a350_dma_map(p, len);
    return p == MAP_FAILED ? NULL : p;
}

void a350_dma_free(void *va, size_t len)
{
    if (va) {
        a350_dma_unmap(va, len);
        munmap(va, (len + 4095) & ~4095ul);
    }
}

int mock_queues(void)
{
    int n = 0;
    unsigned i, k;

    for (i = 0; i < MOCK_CARDS; i++) {
        for (k = 0; k < QUEUES; k++) {
            n += mocks[i].q[k].live;
        }
    }
    return n;
}

/* ---- the card: memory ---- */

CARD static uint32_t *reg(mock *m, uint32_t off)
{
    return (uint32_t *)(m->bar2 + off);
}

CARD static uint8_t *mem(uint64_t addr)
{
    unsigned i;

    if (a350_addr_is_host(addr)) {
        return (uint8_t *)(uintptr_t)addr;
    }
    i = a350_addr_card(addr);
    return i < MOCK_CARDS && mocks[i].hbm && a350_addr_offset(addr) < HBM
           ? mocks[i].hbm + a350_addr_offset(addr) : NULL;
}

CARD static void move(void *dst, const void *src, size_t n)
{
    uint8_t *d = dst;
    const uint8_t *s = src;

    while (n--) {
        *d++ = *s++;
        __asm__ volatile("" ::: "memory");
    }
}

CARD static bool same(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

/* ---- the card: queues ---- */

CARD static void complete(mock *m, unsigned id, const a350_sqe *e,
                          uint32_t head, uint8_t bits, uint32_t status)
{
    queue *q = &m->q[id];
    uint64_t now = a350_now_ns();
    a350_cqe c;

    memset(&c, 0, sizeof(c));
    c.h0 = (uint16_t)(m->phase | id << A350_CQE_SQ_SHIFT |
                      (bits ? A350_CQE_ERROR : 0));
    c.sq_head = (uint16_t)head;
    c.stream_id = (uint16_t)e->w[1];
    c.task_id = (uint16_t)(e->w[1] >> 16);
    if (bits) {
        c.error_bits = bits;
        c.flags_type = (uint8_t)(a350_sqe_get_type(e) << 2);
        c.sqe_index = (uint16_t)q->head;
        c.status = status;
    } else {
        c.ts_low = (uint32_t)now;
        c.ts_high = (uint32_t)(now >> 32);
    }
    move((uint8_t *)&m->cq[m->cq_tail] + 2, (uint8_t *)&c + 2, sizeof(c) - 2);
    __atomic_store_n(&m->cq[m->cq_tail].h0, c.h0, __ATOMIC_RELEASE);
    if (++m->cq_tail == m->cq_depth) {
        m->cq_tail = 0;
        m->phase ^= 1;
    }
    if (!mock_quiet) {
        eventfd_write(m->cq_efd, 1);
    }
}

/* Of "/kernels/0012": is it loaded? */
CARD static bool loaded(const mock *m, const char *path)
{
    uint32_t i, id = 0;

    for (i = 0; i < 4; i++) {
        id = id << 4 | (uint32_t)(path[9 + i] - '0');
    }
    return m->loaded[id % LOADS];
}

CARD static uint8_t run_kernel(mock *m, const a350_sqe *e)
{
    uint64_t dev = A350_DEV_BASE(m->number) & ~0xffffffffffffull;
    uint64_t so = e->w[4] | (uint64_t)(e->w[5] & 0xffff) << 32;
    uint64_t fn = e->w[8] | (uint64_t)(e->w[9] & 0xffff) << 32;
    uint64_t args = e->w[6] | (uint64_t)(e->w[7] & 0xffff) << 32;
    const char *name = (char *)mem(fn | dev);
    uint8_t *a = mem(args | dev);
    uint32_t i;

    if (same(name, A350_BUILTIN_LOAD)) {
        a350_load_param *p = (void *)a;

        p->status = A350_AE_OK;
        p->id = ++m->loads % LOADS;
        m->loaded[p->id] = true;
        move(p->path, "/kernels/", 9);
        for (i = 0; i < 4; i++) {
            p->path[9 + i] = (char)('0' + (p->id >> (4 * (3 - i)) & 15));
        }
        p->path[13] = '\0';
    } else if (same(name, A350_BUILTIN_LOOKUP)) {
        a350_lookup_param *p = (void *)a;

        p->status = loaded(m, p->path) ? A350_AE_OK : A350_AE_NO_FUNCTION;
    } else if (same(name, A350_BUILTIN_UNLOAD)) {
        a350_unload_param *p = (void *)a;

        p->status = A350_AE_OK;
        m->loaded[p->id % LOADS] = false;
    } else if (!loaded(m, (char *)mem(so | dev))) {
        return A350_ERR_EXCEPTION;
    } else if (same(name, "fail")) {
        return A350_ERR_EXCEPTION;
    } else if (same(name, "slow")) {
        usleep(20000);
    } else if (same(name, "add") && mock_kernel) {
        mock_kernel(a);
    } else if (!same(name, "nop")) {
        return A350_ERR_EXCEPTION;
    }
    return 0;
}

CARD static uint32_t *notify_reg(mock *m, uint32_t id)
{
    return reg(m, A350_REG_NOTIFY + a350_notify_offset(id));
}

/* -1: it waits; else error bits. */
CARD static int execute(mock *m, queue *q, const a350_sqe *e)
{
    uint64_t src = e->w[8] | (uint64_t)e->w[9] << 32;
    uint64_t dst = e->w[10] | (uint64_t)e->w[11] << 32;
    uint32_t id = e->w[2] & A350_NOTIFY_ID_MASK, n, i;

    switch (a350_sqe_get_type(e)) {
    case A350_SQE_NOTIFY_RECORD:
        __atomic_store_n(notify_reg(m, id), !(e->w[2] & A350_NOTIFY_CLR),
                         __ATOMIC_RELEASE);
        return 0;
    case A350_SQE_NOTIFY_WAIT:
        if (!__atomic_load_n(notify_reg(m, id), __ATOMIC_ACQUIRE)) {
            if (!q->waiting) {
                q->deadline = e->w[6] ? a350_now_ns() +
                              e->w[6] * 1000000000ull : UINT64_MAX;
                q->waiting = true;
            }
            return a350_now_ns() < q->deadline ? -1 : (int)A350_ERR_TIMEOUT;
        }
        if (e->w[2] & A350_NOTIFY_CLR) {
            __atomic_store_n(notify_reg(m, id), 0, __ATOMIC_RELEASE);
        }
        return 0;
    case A350_SQE_SDMA:
        n = e->w[12];
        if ((e->w[4] & A350_SDMA_OP_MASK) == A350_SDMA_MEMSET) {
            for (i = 0; mem(src) && i < n; i++) {
                mem(src)[i] = (uint8_t)e->w[10];
            }
            return 0;
        }
        if (!mem(src) || !mem(dst)) {
            return A350_ERR_BUS;
        }
        move(mem(dst), mem(src), n);
        return 0;
    case A350_SQE_AICPU_D:
        return run_kernel(m, e);
    case A350_SQE_WRITE_VALUE:
        dst = e->w[4] | (uint64_t)(e->w[5] & 0x1ffff) << 32;
        __atomic_store_n((uint64_t *)dst, e->w[8] | (uint64_t)e->w[9] << 32,
                         __ATOMIC_RELEASE);
        return 0;                /* of 8 bytes, to memory of the host */
    }
    return 0;
}

CARD static bool turn(mock *m, unsigned id)
{
    queue *q = &m->q[id];
    uint32_t page = A350_REG_RTSQ + id * A350_SQ_PAGE_SIZE, tail, head;
    a350_sqe e;
    int bits;

    if (*(volatile uint32_t *)reg(m, page + A350_SQ_STATUS) == 1 &&
        !q->enabled) {
        q->enabled = true;
    }
    tail = __atomic_load_n(reg(m, page + A350_SQ_TAIL), __ATOMIC_ACQUIRE);
    if (!q->enabled || q->head == tail) {
        return false;
    }
    move(&e, mem(q->base) + q->head * A350_SQE_SIZE, sizeof(e));
    bits = execute(m, q, &e);
    if (bits < 0) {
        return false;
    }
    q->waiting = false;
    head = (q->head + 1) % q->depth;
    if (bits && !(q->flags & A350_SQ_F_CONTINUE)) {
        head = q->head;
        q->enabled = false;
        *reg(m, page + A350_SQ_STATUS) = 0;
    }
    if ((bits || (e.w[0] & A350_SQE_WR_CQE)) && q->cq != A350_ID_NONE) {
        complete(m, id, &e, head, (uint8_t)bits, 0);
    }
    q->head = head;
    __atomic_store_n(reg(m, page + A350_SQ_HEAD), head, __ATOMIC_RELEASE);
    return true;
}

/* ---- the card: admin commands ---- */

CARD static uint32_t sync_res(uint8_t *data)
{
    static const struct {
        const char *name;
        uint32_t off, size;
    } w[] = {
        { "TS_STARS_RTSQ_SCHED_REG", A350_REG_RTSQ, A350_REG_RTSQ_SIZE },
        { "TS_STARS_CQINT_REG", A350_REG_CQINT, A350_REG_CQINT_SIZE },
        { "TS_STARS_NOTIFY_TBL_REG", A350_REG_NOTIFY, A350_REG_NOTIFY_SIZE },
        { "TS_STARS_CNT_NOTIFY_TBL_REG", A350_REG_CNT_NOTIFY,
          A350_REG_CNT_NOTIFY_SIZE },
    };
    uint32_t len = 4 * sizeof(a350_soc_res_reg);
    unsigned i;

    move(data, &len, 4);
    for (i = 0; i < 4; i++) {
        a350_soc_res_reg r = {
            .address = (uint64_t)A350_BAR_REG << A350_SOC_RES_BAR_SHIFT |
                       w[i].off,
            .length = w[i].size,
        };

        strcpy(r.name, w[i].name);
        move(data + 4 + i * sizeof(r), &r, sizeof(r));
    }
    return 4 + len;
}

CARD static uint32_t sq_create(mock *m, a350_sq_create *r)
{
    unsigned i;

    for (i = 0; i < QUEUES && m->q[i].live; i++) {
    }
    if (i == QUEUES) {
        return A350_ADM_E_NO_RESOURCE;
    }
    memset((void *)&m->q[i], 0, sizeof(m->q[i]));
    m->q[i].depth = r->depth;
    m->q[i].base = r->base;
    m->q[i].cq = r->cq_id;
    m->q[i].flags = r->flags;
    m->q[i].live = m->q[i].enabled = true;
    *reg(m, A350_REG_RTSQ + i * A350_SQ_PAGE_SIZE + A350_SQ_TAIL) = 0;
    *reg(m, A350_REG_RTSQ + i * A350_SQ_PAGE_SIZE + A350_SQ_HEAD) = 0;
    *reg(m, A350_REG_RTSQ + i * A350_SQ_PAGE_SIZE + A350_SQ_STATUS) = 1;
    r->sq_id = i;
    return 0;
}

CARD static void sq_stop(mock *m, uint32_t id)
{
    uint32_t page = A350_REG_RTSQ + id * A350_SQ_PAGE_SIZE;

    m->q[id].enabled = m->q[id].waiting = false;
    m->q[id].head = 0;
    *reg(m, page + A350_SQ_TAIL) = *reg(m, page + A350_SQ_HEAD) = 0;
    *reg(m, page + A350_SQ_STATUS) = 0;
}

CARD static uint32_t command(mock *m, a350_admin_slot *s)
{
    a350_identify_rsp *id = (void *)s->data;
    a350_cq_create *cq = (void *)s->data;
    a350_id_req *r = (void *)s->data;

    switch (s->opcode) {
    case A350_ADM_SYNC_SOC_RES:
        s->data_len = sync_res(s->data);
        return 0;
    case A350_ADM_IDENTIFY:
        memset(id, 0, sizeof(*id));
        id->card_index = m->number;
        id->dev_base = A350_DEV_BASE(m->number);
        id->hbm_size = id->hbm_usable = HBM;
        id->num_sq = QUEUES;
        id->num_cq = 1;
        id->num_notify = A350_NOTIFY_MAX;
        id->num_cnt_notify = A350_CNT_NOTIFY_MAX;
        id->max_msg = A350_UB_MAX_MSG;
        strcpy(id->soc_name, "Ascend950PR_958b");
        s->data_len = sizeof(*id);
        return 0;
    case A350_ADM_CQ_CREATE:
        m->cq = (void *)(uintptr_t)cq->base;
        m->cq_depth = cq->depth;
        m->cq_tail = 0;
        m->phase = 1;
        cq->cq_id = 0;
        cq->vector = A350_MSIX_CQ_FIRST;
        return 0;
    case A350_ADM_SQ_CREATE:
        return sq_create(m, (void *)s->data);
    case A350_ADM_SQ_RESET:
        sq_stop(m, r->id);
        return 0;
    case A350_ADM_SQ_DESTROY:
        sq_stop(m, r->id);
        m->q[r->id].live = false;
        return 0;
    case A350_ADM_FIRST_ERROR:
    case A350_ADM_WAIT_LIST:
        memset(s->data, 0, sizeof(s->data));
        ((uint32_t *)(void *)s->data)[1] = A350_ID_NONE;
        s->data_len = A350_ADMIN_DATA_SIZE;
        return 0;
    }
    return 0;
}

CARD static bool admin_turn(mock *m)
{
    bool any = false;
    unsigned i;

    for (i = 0; i < A350_ADMIN_SLOTS && !mock_deaf; i++) {
        a350_admin_slot *s =
            (a350_admin_slot *)(void *)(m->bar0 + A350_SHM_ADMIN) + i;
        uint32_t res;

        if (__atomic_load_n(&s->status, __ATOMIC_ACQUIRE) !=
            A350_ADMIN_POSTED) {
            continue;
        }
        res = command(m, s);
        s->result = res;
        __atomic_store_n(&s->status, res ? A350_ADMIN_FAILED
                                         : A350_ADMIN_DONE, __ATOMIC_RELEASE);
        eventfd_write(m->admin_efd, 1);
        any = true;
    }
    return any;
}

CARD static void *card(void *opaque)
{
    mock *m = opaque;
    unsigned i;

    while (m->on) {
        bool any = admin_turn(m);

        for (i = 0; i < QUEUES; i++) {
            any |= m->q[i].live && turn(m, i);
        }
        if (!any) {
            usleep(20);
        }
    }
    return NULL;
}

/* ---- open and close ---- */

/* As BARs are: not there in a forked child. */
static uint8_t *map(uint64_t size)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    madvise(p, size, MADV_DONTFORK);
    return p;
}

int a350_vfio_open(unsigned number, const a350_card_slot *slot, vfio_dev *dev)
{
    mock *m = &mocks[number];
    sigset_t all, old;
    int rc;

    (void)slot;
    memset(dev, 0, sizeof(*dev));
    memset((void *)m, 0, sizeof(*m));
    m->number = number;
    m->bar0 = map(A350_BAR0_RAM_SIZE);
    m->bar2 = map(BAR2);
    m->hbm = map(HBM);
    dev->bar0 = (vfio_bar){ m->bar0, A350_BAR0_RAM_SIZE };
    dev->bar2 = (vfio_bar){ m->bar2, BAR2 };
    dev->bar4 = (vfio_bar){ m->hbm, HBM };
    dev->admin_efd = m->admin_efd = eventfd(0, EFD_NONBLOCK);
    dev->cq_efd = m->cq_efd = eventfd(0, EFD_NONBLOCK);
    dev->fd = dev->group_fd = -1;
    dev->cq_vector = A350_MSIX_CQ_FIRST;
    *reg(m, A350_REG_CTRL + A350_CTRL_MAGIC) = A350_MAGIC;
    *reg(m, A350_REG_CTRL + A350_CTRL_VERSION) = A350_CONTRACT_VERSION;
    *reg(m, A350_REG_CTRL + A350_CTRL_STATUS) = A350_STATUS_READY |
                                                A350_STATUS_FW_RUNNING;
    *reg(m, A350_REG_CTRL + A350_CTRL_FW_STATUS) = A350_FW_READY;
    m->on = true;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    rc = pthread_create(&m->thread, NULL, card, m);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return -rc;
}

void a350_vfio_close(vfio_dev *dev)
{
    unsigned i;

    for (i = 0; i < MOCK_CARDS; i++) {
        mock *m = &mocks[i];

        if (m->bar0 && m->bar0 == dev->bar0.ptr) {
            m->on = false;
            pthread_join(m->thread, NULL);
            munmap(m->bar0, A350_BAR0_RAM_SIZE);
            munmap(m->bar2, BAR2);
            munmap(m->hbm, HBM);
            close(m->admin_efd);
            close(m->cq_efd);
            m->bar0 = m->hbm = NULL;
        }
    }
}

int a350_vfio_set_cq_vector(vfio_dev *dev, unsigned vector)
{
    (void)dev;
    (void)vector;
    return 0;
}

/*
 * Registers are volatile: what threads do to them is between them and the
 * card (-param tsan-distinguish-volatile=1).
 */
#ifdef __SANITIZE_THREAD__
#define VOLATILE(name)                  \
void __tsan_##name(void *addr);         \
void __tsan_##name(void *addr)          \
{                                       \
    (void)addr;                         \
}
VOLATILE(volatile_read1)
VOLATILE(volatile_read2)
VOLATILE(volatile_read4)
VOLATILE(volatile_read8)
VOLATILE(volatile_read16)
VOLATILE(volatile_write1)
VOLATILE(volatile_write2)
VOLATILE(volatile_write4)
VOLATILE(volatile_write8)
VOLATILE(volatile_write16)
#endif
