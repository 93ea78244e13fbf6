/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A card's life, its admin commands and reports.
 */
#include "card_priv.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ADMIN_TIMEOUT_NS    (20ull * 1000 * 1000 * 1000)
#define READY_TIMEOUT_MS    10000
#define SPIN_NS             40000

/*
 * Open cards, by number; an entry's card lives while refs > 0. Opening and
 * closing are under the number's own lock: the kernel's reset of a card takes
 * a tenth of a second, and several threads open several cards.
 */
static pthread_mutex_t cards_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t open_lock[A350_CARDS_MAX] = {
    [0 ... A350_CARDS_MAX - 1] = PTHREAD_MUTEX_INITIALIZER
};
static a350_card *cards[A350_CARDS_MAX];
/* The same by fabric index, for address look-ups without the lock. */
static a350_card *by_index[A350_CARDS_MAX];

uint64_t a350_now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

void a350_cond_init(pthread_cond_t *c)
{
    pthread_condattr_t a;

    pthread_condattr_init(&a);
    pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
    pthread_cond_init(c, &a);
    pthread_condattr_destroy(&a);
}

void a350_cond_wait_ns(pthread_cond_t *c, pthread_mutex_t *m, uint64_t ns)
{
    uint64_t t = a350_now_ns() + ns;
    struct timespec ts = {
        .tv_sec = (time_t)(t / 1000000000ull),
        .tv_nsec = (long)(t % 1000000000ull),
    };

    pthread_cond_timedwait(c, m, &ts);
}

/* ---- registers ---- */

uint32_t a350_card_read32(a350_card *c, uint32_t offset)
{
    if (offset & 3 || offset + 4ull > c->vfio.bar2.size) {
        return 0;
    }
    return *a350_reg(c, offset);
}

void a350_card_write32(a350_card *c, uint32_t offset, uint32_t v)
{
    if (offset & 3 || offset + 4ull > c->vfio.bar2.size) {
        return;
    }
    *a350_reg(c, offset) = v;
}

uint64_t a350_card_clock(a350_card *c)
{
    return *(volatile uint64_t *)(c->vfio.bar2.ptr + A350_REG_CTRL +
                                  A350_CTRL_CLOCK_NS);
}

static uint32_t ctrl(a350_card *c, uint32_t reg)
{
    return *a350_reg(c, A350_REG_CTRL + reg);
}

/* ---- admin ---- */

static volatile a350_admin_slot *slot_ptr(a350_card *c, unsigned i)
{
    return (volatile a350_admin_slot *)(c->vfio.bar0.ptr + A350_SHM_ADMIN) + i;
}

static unsigned slot_take(a350_card *c)
{
    unsigned i;

    pthread_mutex_lock(&c->admin_lock);
    while (c->admin_busy == UINT32_MAX) {
        a350_cond_wait_ns(&c->admin_cond, &c->admin_lock, 10000000);
    }
    i = (unsigned)__builtin_ctz(~c->admin_busy);
    c->admin_busy |= 1u << i;
    pthread_mutex_unlock(&c->admin_lock);
    return i;
}

static void slot_give(a350_card *c, unsigned i)
{
    slot_ptr(c, i)->status = A350_ADMIN_FREE;
    pthread_mutex_lock(&c->admin_lock);
    c->admin_busy &= ~(1u << i);
    pthread_cond_broadcast(&c->admin_cond);
    pthread_mutex_unlock(&c->admin_lock);
}

/*
 * Most commands are done within microseconds: look at the slot (memory of the
 * card, no register access) for a moment, then sleep until the interrupt.
 */
static uint32_t slot_wait(a350_card *c, volatile a350_admin_slot *s)
{
    uint64_t start = a350_now_ns(), now = start;
    uint32_t st;

    for (;;) {
        st = __atomic_load_n(&s->status, __ATOMIC_ACQUIRE);
        if (st == A350_ADMIN_DONE || st == A350_ADMIN_FAILED ||
            now - start > ADMIN_TIMEOUT_NS) {
            return st;
        }
        if (now - start < SPIN_NS) {
            sched_yield();
        } else {
            pthread_mutex_lock(&c->admin_lock);
            st = __atomic_load_n(&s->status, __ATOMIC_ACQUIRE);
            if (st == A350_ADMIN_POSTED) {
                a350_cond_wait_ns(&c->admin_cond, &c->admin_lock, 1000000);
            }
            pthread_mutex_unlock(&c->admin_lock);
        }
        now = a350_now_ns();
    }
}

int a350_admin(a350_card *c, uint32_t opcode, const void *req, size_t req_len,
               void *rsp, size_t rsp_len, uint32_t *result)
{
    volatile a350_admin_slot *s;
    char msg[A350_ADMIN_MSG_SIZE];
    unsigned i = slot_take(c);
    uint32_t st, res;
    size_t n;

    s = slot_ptr(c, i);
    s->opcode = opcode;
    s->result = 0;
    s->data_len = (uint32_t)req_len;
    s->message[0] = '\0';
    if (req_len) {
        memcpy((void *)s->data, req, req_len);
    }
    __atomic_store_n(&s->status, A350_ADMIN_POSTED, __ATOMIC_RELEASE);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    *a350_reg(c, A350_REG_CTRL + A350_CTRL_ADMIN_DB) = i;

    st = slot_wait(c, s);
    if (st != A350_ADMIN_DONE && st != A350_ADMIN_FAILED) {
        /* The slot stays taken: the card may still write into it. */
        return a350_fail(-ETIMEDOUT, "card %s does not answer admin command "
                         "0x%x within %llu s (status 0x%x)", c->bdf, opcode,
                         ADMIN_TIMEOUT_NS / 1000000000ull,
                         ctrl(c, A350_CTRL_STATUS));
    }
    res = s->result;
    n = s->data_len;
    memcpy(msg, (const void *)s->message, sizeof(msg));
    msg[sizeof(msg) - 1] = '\0';
    if (rsp && rsp_len && st == A350_ADMIN_DONE) {
        n = n > A350_ADMIN_DATA_SIZE ? A350_ADMIN_DATA_SIZE : n;
        n = n > rsp_len ? rsp_len : n;
        memset(rsp, 0, rsp_len);
        memcpy(rsp, (const void *)s->data, n);
    }
    slot_give(c, i);
    if (result) {
        *result = res;
    }
    if (st == A350_ADMIN_FAILED) {
        return a350_fail(-EIO, "card %s refuses admin command 0x%x (result "
                         "%u): %s", c->bdf, opcode, res, msg);
    }
    return 0;
}

/* ---- open and close ---- */

static int wait_ready(a350_card *c)
{
    uint64_t end = a350_now_ns() + READY_TIMEOUT_MS * 1000000ull;

    if (ctrl(c, A350_CTRL_MAGIC) != A350_MAGIC) {
        return a350_fail(-EIO, "card %s: its control page reads 0x%08x instead "
                         "of 0x%08x: not a virtual Atlas 350", c->bdf,
                         ctrl(c, A350_CTRL_MAGIC), A350_MAGIC);
    }
    if (ctrl(c, A350_CTRL_VERSION) != A350_CONTRACT_VERSION) {
        return a350_fail(-EIO, "card %s speaks version %u of the contract, "
                         "this library version %u: build both from the same "
                         "source", c->bdf, ctrl(c, A350_CTRL_VERSION),
                         A350_CONTRACT_VERSION);
    }
    while (!(ctrl(c, A350_CTRL_STATUS) & A350_STATUS_READY)) {
        if (a350_now_ns() > end) {
            return a350_fail(-ETIMEDOUT, "card %s is not ready after %u s "
                             "(status 0x%x)", c->bdf, READY_TIMEOUT_MS / 1000,
                             ctrl(c, A350_CTRL_STATUS));
        }
        usleep(1000);
    }
    return 0;
}

/* Takes one published window if it lies in BAR2. */
static void window_take(a350_card *c, const a350_soc_res_reg *reg)
{
    struct {
        const char *name;
        uint32_t *off, *size;
    } w[] = {
        { "TS_STARS_RTSQ_SCHED_REG", &c->win.rtsq, &c->win.rtsq_size },
        { "TS_STARS_CQINT_REG", &c->win.cqint, &c->win.cqint_size },
        { "TS_STARS_NOTIFY_TBL_REG", &c->win.notify, &c->win.notify_size },
        { "TS_STARS_CNT_NOTIFY_TBL_REG", &c->win.cnt_notify,
          &c->win.cnt_notify_size },
    };
    uint64_t off = reg->address & ((1ull << A350_SOC_RES_BAR_SHIFT) - 1);
    size_t i;

    if ((reg->address >> A350_SOC_RES_BAR_SHIFT) != A350_BAR_REG ||
        off > c->vfio.bar2.size || reg->length > c->vfio.bar2.size - off) {
        return;
    }
    for (i = 0; i < sizeof(w) / sizeof(w[0]); i++) {
        if (strncmp(reg->name, w[i].name, A350_SOC_RES_NAME_LEN) == 0) {
            *w[i].off = (uint32_t)off;
            *w[i].size = (uint32_t)reg->length;
        }
    }
}

/* spec/hw/pci.md §3: scope 1 (task scheduler), type 2 (registers). */
static int sync_windows(a350_card *c)
{
    a350_soc_res_req q = { .dir = 0, .scope = 1, .type = 2 };
    uint8_t r[A350_ADMIN_DATA_SIZE];
    a350_soc_res_reg reg;
    uint32_t len, off;
    int rc = a350_admin(c, A350_ADM_SYNC_SOC_RES, &q, sizeof(q), r, sizeof(r),
                        NULL);

    if (rc) {
        return rc;
    }
    memcpy(&len, r, sizeof(len));
    for (off = 4; off + sizeof(reg) <= sizeof(r) && off - 4 < len;
         off += sizeof(reg)) {
        memcpy(&reg, r + off, sizeof(reg));
        window_take(c, &reg);
    }
    if (c->win.rtsq_size < (A350_SQ_MAX + 0ull) * A350_SQ_PAGE_SIZE ||
        !c->win.cqint_size || !c->win.notify_size || !c->win.cnt_notify_size) {
        return a350_fail(-EIO, "card %s does not publish the windows of its "
                         "task scheduler", c->bdf);
    }
    return 0;
}

static int identify(a350_card *c)
{
    int rc = a350_admin(c, A350_ADM_IDENTIFY, NULL, 0, &c->id, sizeof(c->id),
                        NULL);

    if (rc) {
        return rc;
    }
    c->dev_base = c->id.dev_base;
    c->hbm_size = c->id.hbm_size;
    c->hbm_usable = c->id.hbm_usable;
    c->id.soc_name[sizeof(c->id.soc_name) - 1] = '\0';
    c->id.fw_version[sizeof(c->id.fw_version) - 1] = '\0';
    if (c->id.card_index >= A350_CARDS_MAX ||
        c->dev_base != A350_DEV_BASE(c->id.card_index) ||
        c->hbm_usable > c->hbm_size || c->hbm_size > c->vfio.bar4.size) {
        return a350_fail(-EIO, "card %s: IDENTIFY contradicts itself (index "
                         "%u, base 0x%llx, HBM 0x%llx of which 0x%llx usable, "
                         "BAR4 0x%llx)", c->bdf, c->id.card_index,
                         (unsigned long long)c->dev_base,
                         (unsigned long long)c->hbm_size,
                         (unsigned long long)c->hbm_usable,
                         (unsigned long long)c->vfio.bar4.size);
    }
    return 0;
}

static int card_setup(a350_card *c)
{
    int rc;

    if ((rc = wait_ready(c)) || (rc = identify(c)) ||
        (rc = sync_windows(c))) {
        return rc;
    }
    c->heap = a350_heap_new(c->dev_base, c->hbm_usable);
    c->notify_used = calloc(A350_NOTIFY_MAX / 64, sizeof(uint64_t));
    c->notify_named = calloc(A350_NOTIFY_MAX / 64, sizeof(uint64_t));
    if (!c->heap || !c->notify_used || !c->notify_named) {
        return a350_fail(-ENOMEM, "out of host memory");
    }
    return a350_cq_start(c);
}

static void card_teardown(a350_card *c)
{
    a350_cq_stop(c);
    a350_vfio_close(&c->vfio);
    a350_dma_free(c->cq, c->cq_bytes);
    a350_heap_free(c->heap);
    free(c->notify_used);
    free(c->notify_named);
    pthread_mutex_destroy(&c->admin_lock);
    pthread_cond_destroy(&c->admin_cond);
    pthread_mutex_destroy(&c->heap_lock);
    pthread_mutex_destroy(&c->ids_lock);
    pthread_mutex_destroy(&c->cq_lock);
    pthread_mutex_destroy(&c->sq_lock);
    free(c);
}

static int card_new(unsigned number, a350_card **out)
{
    a350_card_slot slot;
    a350_card *c;
    int rc = a350_card_find(number, &slot);

    if (rc) {
        return rc;
    }
    c = calloc(1, sizeof(*c));
    if (!c) {
        return a350_fail(-ENOMEM, "out of host memory");
    }
    c->number = number;
    c->pid = getpid();
    c->stop_efd = -1;
    memcpy(c->bdf, slot.bdf, sizeof(c->bdf));
    rc = a350_vfio_open(number, &slot, &c->vfio);
    if (rc) {
        free(c);
        return rc;
    }
    pthread_mutex_init(&c->admin_lock, NULL);
    a350_cond_init(&c->admin_cond);
    pthread_mutex_init(&c->heap_lock, NULL);
    pthread_mutex_init(&c->ids_lock, NULL);
    pthread_mutex_init(&c->cq_lock, NULL);
    pthread_mutex_init(&c->sq_lock, NULL);
    rc = card_setup(c);
    if (rc) {
        card_teardown(c);
        return rc;
    }
    c->refs = 1;
    *out = c;
    return 0;
}

int a350_card_open(unsigned number, a350_card **card)
{
    a350_card *c;
    int rc = 0;

    if (number >= A350_CARDS_MAX) {
        return a350_fail(-ENODEV, "card %u does not exist (0..%u)", number,
                         A350_CARDS_MAX - 1);
    }
    pthread_mutex_lock(&open_lock[number]);
    pthread_mutex_lock(&cards_lock);
    c = cards[number];
    if (c) {
        c->refs++;
    }
    pthread_mutex_unlock(&cards_lock);
    if (!c && (rc = card_new(number, &c)) == 0) {
        pthread_mutex_lock(&cards_lock);
        cards[number] = c;
        __atomic_store_n(&by_index[c->id.card_index], c, __ATOMIC_RELEASE);
        pthread_mutex_unlock(&cards_lock);
    }
    pthread_mutex_unlock(&open_lock[number]);
    if (rc == 0) {
        *card = c;
    }
    return rc;
}

void a350_card_ref(a350_card *c)
{
    pthread_mutex_lock(&cards_lock);
    c->refs++;
    pthread_mutex_unlock(&cards_lock);
}

static void report_leaks(a350_card *c)
{
    a350_heap_stats st;

    a350_heap_stat(c->heap, &st);
    if (st.live || c->sq_live || c->notify_live || c->jetty_live ||
        c->cnt_live) {
        const char *e = getenv("A350_LEAK_REPORT");

        if (e && *e == '1') {
            fprintf(stderr, "atlas350: card %s closed with %llu blocks of "
                    "device memory (%llu bytes), %u queues, %u notifies, %u "
                    "counting notifies, %u jetties left\n", c->bdf,
                    (unsigned long long)st.live, (unsigned long long)st.used,
                    c->sq_live, c->notify_live, c->cnt_live, c->jetty_live);
        }
    }
}

/* Appends the card's log to the file that ATLAS350_CARD_LOG names. */
static void save_log(a350_card *c)
{
    const char *name = getenv("ATLAS350_CARD_LOG");
    bool err = name && !strcmp(name, "-");
    uint64_t pos = 0, lost = 0;
    char buf[4096];
    FILE *f;

    if (!name || !*name || c->pid != getpid()) {
        return;
    }
    f = err ? stderr : fopen(name, "ae");
    if (!f) {
        fprintf(stderr, "atlas350: ATLAS350_CARD_LOG: %s: %s\n", name,
                strerror(errno));
        return;
    }
    while (a350_log_read(c, &pos, buf, sizeof(buf), &lost)) {
        if (lost) {
            fprintf(f, "[%llu bytes lost]\n", (unsigned long long)lost);
        }
        fputs(buf, f);
    }
    if (err) {
        fflush(f);
    } else {
        fclose(f);
    }
}

/* A program that exits with cards open loses no log either. */
static void __attribute__((destructor)) save_logs(void)
{
    unsigned i;

    for (i = 0; i < A350_CARDS_MAX; i++) {
        if (cards[i]) {
            save_log(cards[i]);
        }
    }
}

void a350_card_close(a350_card *c)
{
    unsigned number = c->number;
    bool last;

    pthread_mutex_lock(&open_lock[number]);
    pthread_mutex_lock(&cards_lock);
    last = --c->refs == 0;
    if (last) {
        cards[number] = NULL;
        __atomic_store_n(&by_index[c->id.card_index], NULL, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&cards_lock);
    if (last) {
        save_log(c);
        report_leaks(c);
        card_teardown(c);
    }
    pthread_mutex_unlock(&open_lock[number]);
}

a350_card *a350_card_of_addr(uint64_t addr)
{
    uint64_t i;

    if (a350_addr_is_host(addr)) {
        return NULL;
    }
    i = (addr - A350_DEV_FIRST) >> A350_DEV_STRIDE_SHIFT;
    return i < A350_CARDS_MAX ?
           __atomic_load_n(&by_index[i], __ATOMIC_ACQUIRE) : NULL;
}

unsigned a350_card_number(const a350_card *c)
{
    return c->number;
}

const a350_identify_rsp *a350_card_id(const a350_card *c)
{
    return &c->id;
}

const char *a350_card_bdf(const a350_card *c)
{
    return c->bdf;
}

const a350_windows *a350_card_windows(const a350_card *c)
{
    return &c->win;
}

/* The log's last line that is not empty. */
static void log_tail(a350_card *c, char *buf, size_t len)
{
    volatile a350_log_ring *r =
        (volatile a350_log_ring *)(c->vfio.bar0.ptr + A350_SHM_LOG);
    char text[1024], *line, *end;
    uint64_t pos = r->head > sizeof(text) ? r->head - (sizeof(text) - 1) : 0;

    a350_log_read(c, &pos, text, sizeof(text), NULL);
    end = text + strlen(text);
    while (end > text && end[-1] == '\n') {
        *--end = '\0';
    }
    line = strrchr(text, '\n');
    snprintf(buf, len, "%s", line ? line + 1 : text);
}

int a350_card_wait_firmware(a350_card *c, unsigned timeout_ms)
{
    uint64_t end = a350_now_ns() + timeout_ms * 1000000ull;
    uint32_t st, fw;
    char log[256];

    for (;;) {
        st = ctrl(c, A350_CTRL_STATUS);
        fw = ctrl(c, A350_CTRL_FW_STATUS);
        if (st & A350_STATUS_FW_RUNNING) {
            return 0;
        }
        if (fw == A350_FW_OFF) {
            return a350_fail(-EIO, "card %s has no firmware, so it runs no "
                             "kernels: start it with -device atlas350,"
                             "firmware=FILE", c->bdf);
        }
        if ((st & A350_STATUS_FW_FAILED) || fw >= A350_FW_FAILED) {
            log_tail(c, log, sizeof(log));
            return a350_fail(-EIO, "card %s: its firmware failed to start "
                             "(code 0x%x); the card's log ends with: %s",
                             c->bdf, fw, log);
        }
        if (a350_now_ns() > end) {
            return a350_fail(-ETIMEDOUT, "card %s: its firmware is not ready "
                             "after %u ms (state %u)", c->bdf, timeout_ms, fw);
        }
        usleep(500);
    }
}

/* ---- trouble ---- */

int a350_first_error_get(a350_card *c, a350_first_error *err)
{
    int rc = a350_admin(c, A350_ADM_FIRST_ERROR, NULL, 0, err, sizeof(*err),
                        NULL);

    if (rc == 0) {
        err->message[sizeof(err->message) - 1] = '\0';
    }
    return rc;
}

int a350_first_error_clear(a350_card *c)
{
    return a350_admin(c, A350_ADM_CLEAR_ERROR, NULL, 0, NULL, 0, NULL);
}

int a350_wait_list(a350_card *c, a350_wait_entry *entry, unsigned max,
                   unsigned *n)
{
    a350_wait_list_rsp r;
    a350_id_req q = { 0, 0 };
    uint32_t i;
    int rc;

    *n = 0;
    do {
        rc = a350_admin(c, A350_ADM_WAIT_LIST, &q, sizeof(q), &r, sizeof(r),
                        NULL);
        if (rc) {
            return rc;
        }
        for (i = 0; i < r.count && i < 12 && *n < max; i++) {
            entry[(*n)++] = r.entry[i];
        }
        if (r.next_sq != A350_ID_NONE && r.next_sq <= q.id) {
            break;
        }
        q.id = r.next_sq;
    } while (r.next_sq != A350_ID_NONE && *n < max);
    return 0;
}

static const char *wait_what(uint32_t kind)
{
    switch (kind) {
    case A350_WAIT_NOTIFY:      return "notify";
    case A350_WAIT_CNT_NOTIFY:  return "counting notify";
    case A350_WAIT_AICPU:       return "a kernel";
    case A350_WAIT_COPY:        return "a copy in flight";
    case A350_WAIT_UB:          return "a transfer to another card";
    case A350_WAIT_STOPPED:     return "nothing any more (stopped by an error)";
    case A350_WAIT_PAUSED:      return "being resumed";
    }
    return "something unknown";
}

static const char *wait_owner(uint32_t state)
{
    switch (state) {
    case A350_OWNER_IDLE:    return "is idle and has nothing queued that records it";
    case A350_OWNER_BLOCKED: return "is blocked itself";
    case A350_OWNER_GONE:    return "does not exist any more";
    case A350_OWNER_RUNNING: return "is running";
    }
    return NULL;
}

void a350_wait_text(const a350_wait_entry *e, char *buf, size_t len)
{
    const char *own = wait_owner(e->owner_state);
    int n;

    if (e->rank != A350_ID_NONE) {
        n = snprintf(buf, len, "rank %u, thread %u (queue %u): waits for %s",
                     e->rank, e->thread, e->sq_id, wait_what(e->kind));
    } else {
        n = snprintf(buf, len, "queue %u, entry %u: waits for %s", e->sq_id,
                     e->sqe_index, wait_what(e->kind));
    }
    if (n < 0 || (size_t)n >= len ||
        (e->kind != A350_WAIT_NOTIFY && e->kind != A350_WAIT_CNT_NOTIFY)) {
        return;
    }
    n += snprintf(buf + n, len - (size_t)n, " %u", e->notify_id);
    if ((size_t)n < len && e->limit_ns) {
        n += snprintf(buf + n, len - (size_t)n, " (limit %llu s)",
                      (unsigned long long)(e->limit_ns / 1000000000ull));
    }
    if ((size_t)n < len && own) {
        if (e->peer_rank != A350_ID_NONE) {
            snprintf(buf + n, len - (size_t)n, "; rank %u %s", e->peer_rank,
                     own);
        } else {
            snprintf(buf + n, len - (size_t)n, "; queue %u of card %u %s",
                     e->owner_sq, e->owner_card, own);
        }
    }
}

int a350_peers(a350_card *c, a350_peer *peer, unsigned max, unsigned *n)
{
    a350_peers_rsp r;
    a350_id_req q = { 0, 0 };
    uint32_t i;
    int rc;

    *n = 0;
    do {
        rc = a350_admin(c, A350_ADM_PEERS, &q, sizeof(q), &r, sizeof(r), NULL);
        if (rc) {
            return rc;
        }
        for (i = 0; i < r.count && i < 32 && *n < max; i++) {
            peer[(*n)++] = r.peer[i];
        }
        if (r.next_index != A350_ID_NONE && r.next_index <= q.id) {
            break;
        }
        q.id = r.next_index;
    } while (r.next_index != A350_ID_NONE && *n < max);
    return 0;
}

size_t a350_log_read(a350_card *c, uint64_t *pos, char *buf, size_t len,
                     uint64_t *lost)
{
    volatile a350_log_ring *r =
        (volatile a350_log_ring *)(c->vfio.bar0.ptr + A350_SHM_LOG);
    uint64_t head = __atomic_load_n(&r->head, __ATOMIC_ACQUIRE);
    uint64_t size = r->size, missed = 0;
    size_t n = 0;

    if (len == 0 || size == 0 ||
        size > A350_SHM_LOG_SIZE - sizeof(a350_log_ring)) {
        return 0;
    }
    if (head - *pos > size) {
        missed = head - size - *pos;
        *pos = head - size;
    }
    while (n < len - 1 && *pos != head) {
        buf[n++] = (char)r->data[(*pos)++ % size];
    }
    buf[n] = '\0';
    if (lost) {
        *lost = missed;
    }
    return n;
}
