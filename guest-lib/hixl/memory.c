/*
 * HIXL: registered memory.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * spec/api/hixl.md §3 RegisterMem. A registration is a UB segment on the
 * engine's card: over HBM for device memory, over the IOMMU's mapping of the
 * process's own addresses for host memory. Its token serves peers, who get it
 * at Connect, and this engine's own work requests.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "acl_internal.h"
#include "hx.h"

#define PAGE    4096ull

unsigned hx_busy_ms = 5000;

/* ---- tables ---- */

static int by_addr(const void *a, const void *b)
{
    const hx_mem *x = a, *y = b;

    return x->addr < y->addr ? -1 : x->addr > y->addr;
}

void hx_table_sort(hx_table *t)
{
    if (t->num) {
        qsort(t->mem, t->num, sizeof(t->mem[0]), by_addr);
    }
}

const hx_mem *hx_table_find(const hx_table *t, uint64_t addr, uint64_t len)
{
    size_t lo = 0, hi = t->num, mid;
    const hx_mem *m;

    while (lo < hi) {            /* first range that starts after addr */
        mid = lo + (hi - lo) / 2;
        if (t->mem[mid].addr <= addr) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    if (lo == 0) {
        return NULL;
    }
    m = &t->mem[lo - 1];
    return addr - m->addr < m->len && len <= m->len - (addr - m->addr) ? m :
           NULL;
}

bool hx_table_copy(hx_table *to, const hx_table *from)
{
    to->num = 0;
    to->mem = calloc(from->num + 1, sizeof(to->mem[0]));
    if (!to->mem) {
        return false;
    }
    memcpy(to->mem, from->mem, from->num * sizeof(to->mem[0]));
    to->num = from->num;
    return true;
}

void hx_table_free(hx_table *t)
{
    free(t->mem);
    memset(t, 0, sizeof(*t));
}

/* ---- host pages ---- */

/*
 * Runs of pages that were mapped here, for the whole process: registrations of
 * several engines may share pages, and what acl has pinned is not mapped
 * again. A run is mapped and unmapped as one, as VFIO wants it.
 */
typedef struct run {
    uint64_t start, end;
    uint32_t refs;
    struct run *next;
} run;

static pthread_mutex_t run_mutex = PTHREAD_MUTEX_INITIALIZER;
static run *runs;

static run *run_at(uint64_t page)
{
    run *r;

    for (r = runs; r; r = r->next) {
        if (page >= r->start && page < r->end) {
            return r;
        }
    }
    return NULL;
}

static bool pinned_by_acl(uint64_t page)
{
    return a350_host_is_pinned((const void *)(uintptr_t)page, PAGE);
}

/* Drops a reference of every run that meets [start, end). */
static void unpin(uint64_t start, uint64_t end)
{
    run **p = &runs, *r;

    while ((r = *p)) {
        if (r->start < end && r->end > start && --r->refs == 0) {
            a350_dma_unmap((void *)(uintptr_t)r->start, r->end - r->start);
            *p = r->next;
            free(r);
        } else {
            p = &r->next;
        }
    }
}

/* Maps the longest run of unmapped pages from @page on, below @end. */
static int pin_run(uint64_t page, uint64_t end, uint64_t *next)
{
    uint64_t stop = page + PAGE;
    run *r;
    int rc;

    while (stop < end && !run_at(stop) && !pinned_by_acl(stop)) {
        stop += PAGE;
    }
    r = calloc(1, sizeof(*r));
    if (!r) {
        return -ENOMEM;
    }
    rc = a350_dma_map((void *)(uintptr_t)page, stop - page);
    if (rc) {
        free(r);
        return rc;
    }
    *r = (run){ page, stop, 1, runs };
    runs = r;
    *next = stop;
    return 0;
}

static int pin(uint64_t start, uint64_t end)
{
    uint64_t page = start;
    int rc = 0;
    run *r;

    while (page < end && rc == 0) {
        r = run_at(page);
        if (r) {
            r->refs++;
            page = r->end;
        } else if (pinned_by_acl(page)) {
            page += PAGE;
        } else {
            rc = pin_run(page, end, &page);
        }
    }
    if (rc) {
        unpin(start, page);
    }
    return rc;
}

static int host_pin(const hx_mem *m)
{
    uint64_t start = m->addr & ~(PAGE - 1);
    uint64_t end = (m->addr + m->len + PAGE - 1) & ~(PAGE - 1);
    int rc;

    if (a350_host_is_pinned((const void *)(uintptr_t)m->addr, m->len)) {
        return 0;
    }
    pthread_mutex_lock(&run_mutex);
    rc = pin(start, end);
    pthread_mutex_unlock(&run_mutex);
    return rc;
}

/* The counterpart finds no run of ours where acl had pinned the pages. */
static void host_unpin(const hx_mem *m)
{
    pthread_mutex_lock(&run_mutex);
    unpin(m->addr & ~(PAGE - 1), (m->addr + m->len + PAGE - 1) & ~(PAGE - 1));
    pthread_mutex_unlock(&run_mutex);
}

/* ---- registrations ---- */

/* The type must tell the truth. */
static uint32_t check_kind(hx_engine *e, const hx_mem *m)
{
    const a350_identify_rsp *id = a350_card_id(e->card);
    bool host = m->addr + m->len <= A350_DEV_FIRST;

    if (m->type == HX_MEM_HOST) {
        return host ? HX_OK :
               hx_err(HX_PARAM_INVALID, "RegisterMem: 0x%" PRIx64 ", %" PRIu64
                      " bytes, is not host memory (MEM_HOST)", m->addr,
                      m->len);
    }
    if (m->type != HX_MEM_DEVICE) {
        return hx_err(HX_PARAM_INVALID, "RegisterMem: type %d is neither "
                      "MEM_DEVICE (0) nor MEM_HOST (1)", m->type);
    }
    if (m->addr < id->dev_base ||
        m->addr - id->dev_base > id->hbm_usable ||
        m->len > id->hbm_usable - (m->addr - id->dev_base)) {
        return hx_err(HX_PARAM_INVALID, "RegisterMem: 0x%" PRIx64 ", %" PRIu64
                      " bytes, is not memory of the engine's device %u "
                      "(MEM_DEVICE)", m->addr, m->len,
                      a350_card_number(e->card));
    }
    return HX_OK;
}

/* Same range: *@same. Overlap in part: HX_PARAM_INVALID. Mutex held. */
static uint32_t check_overlap(hx_engine *e, const hx_mem *m, hx_reg **same)
{
    hx_reg *r;

    *same = NULL;
    for (r = e->regs; r; r = r->next) {
        if (r->mem.type != m->type || r->mem.addr >= m->addr + m->len ||
            m->addr >= r->mem.addr + r->mem.len) {
            continue;
        }
        if (r->mem.addr == m->addr && r->mem.len == m->len) {
            *same = r;
            return HX_OK;
        }
        return hx_err(HX_PARAM_INVALID, "RegisterMem: 0x%" PRIx64 ", %" PRIu64
                      " bytes, overlaps the registered 0x%" PRIx64 ", %"
                      PRIu64 " bytes", m->addr, m->len, r->mem.addr,
                      r->mem.len);
    }
    return HX_OK;
}

static uint32_t pin_failed(const hx_mem *m, int rc)
{
    return hx_err(rc == -EFAULT || rc == -EINVAL || rc == -EEXIST ?
                  HX_PARAM_INVALID : HX_FAILED,
                  "RegisterMem: host memory 0x%" PRIx64 ", %" PRIu64
                  " bytes, can not be mapped for the card: %s", m->addr,
                  m->len, a350_card_text());
}

static uint32_t add(hx_engine *e, const hx_mem *m, hx_reg **reg)
{
    hx_reg *r = calloc(1, sizeof(*r));
    int rc;

    if (!r) {
        return hx_err(HX_EXHAUSTED, "RegisterMem: out of host memory");
    }
    r->mem = *m;
    if (m->type == HX_MEM_HOST) {
        if (m->addr % PAGE) {
            hx_warn("RegisterMem: host address 0x%" PRIx64 " is not a "
                    "multiple of 4096: its whole pages are mapped; the real "
                    "driver takes whole pages only", m->addr);
        }
        rc = host_pin(m);
        if (rc) {
            free(r);
            return pin_failed(m, rc);
        }
    }
    rc = a350_segment_register(e->card, m->addr, m->len,
                               A350_SEG_READ | A350_SEG_WRITE,
                               &r->mem.token_id, &r->mem.token_value);
    if (rc) {
        hx_err(HX_FAILED, "RegisterMem: the card refused 0x%" PRIx64 ", %"
               PRIu64 " bytes: %s", m->addr, m->len, a350_card_text());
        if (m->type == HX_MEM_HOST) {
            host_unpin(m);
        }
        free(r);
        return rc == -ENOSPC ? HX_EXHAUSTED : HX_FAILED;
    }
    pthread_mutex_lock(&e->mutex);
    r->next = e->regs;
    e->regs = r;
    pthread_mutex_unlock(&e->mutex);
    *reg = r;
    return HX_OK;
}

uint32_t hx_mem_register(hx_engine *e, uintptr_t addr, size_t len, int type,
                         const char *tag, void **handle)
{
    hx_mem m = { .addr = addr, .len = len, .type = type };
    hx_reg *reg;
    uint32_t ret;

    if (!addr || !len || addr + len < addr) {
        return hx_err(HX_PARAM_INVALID, "RegisterMem: address 0x%" PRIxPTR
                      ", length %zu: null, empty or beyond the address space",
                      addr, len);
    }
    if (tag) {
        strncpy(m.tag, tag, sizeof(m.tag) - 1);
    }
    ret = check_kind(e, &m);
    if (ret != HX_OK) {
        return ret;
    }
    /* Pinning takes its time; transfers and peers do not wait for it. */
    pthread_mutex_lock(&e->registering);
    pthread_mutex_lock(&e->mutex);
    ret = check_overlap(e, &m, &reg);
    pthread_mutex_unlock(&e->mutex);
    if (ret == HX_OK && !reg) {
        ret = add(e, &m, &reg);
    }
    pthread_mutex_unlock(&e->registering);
    if (ret == HX_OK) {
        *handle = reg;
    }
    return ret;
}

/*
 * The card keeps a segment that a peer's request is using, which ends in a
 * moment. Should it not, -EBUSY, the card still writes there.
 */
static int unregister(hx_engine *e, const hx_mem *m)
{
    uint64_t deadline = hx_now_ms() + hx_busy_ms;
    int rc;

    while ((rc = a350_segment_unregister(e->card, m->token_id)) == -EBUSY &&
           hx_left_ms(deadline)) {
        usleep(1000);
    }
    if (rc) {
        hx_warn("memory 0x%" PRIx64 ", %" PRIu64 " bytes, stays registered on "
                "the card: %s", m->addr, m->len, a350_card_text());
    } else if (m->type == HX_MEM_HOST) {
        host_unpin(m);
    }
    return rc;
}

/* A registration that is not in the list any more, unless it comes back. */
static uint32_t forget(hx_engine *e, hx_reg *r)
{
    if (unregister(e, &r->mem) != -EBUSY) {
        free(r);
        return HX_OK;
    }
    pthread_mutex_lock(&e->mutex);
    r->next = e->regs;
    e->regs = r;
    pthread_mutex_unlock(&e->mutex);
    return hx_err(HX_FAILED, "DeregisterMem: 0x%" PRIx64 ", %" PRIu64
                  " bytes: a peer's transfer still uses it", r->mem.addr,
                  r->mem.len);
}

uint32_t hx_mem_deregister(hx_engine *e, void *handle)
{
    hx_reg **p, *r = NULL;
    hx_link *l;
    uint32_t ret = HX_OK;

    if (!handle) {
        return hx_err(HX_PARAM_INVALID, "DeregisterMem: handle is null");
    }
    pthread_mutex_lock(&e->mutex);
    l = e->links;
    for (p = &e->regs; *p && *p != handle; p = &(*p)->next) {
        continue;
    }
    if (*p && l) {
        ret = hx_err(HX_FAILED, "DeregisterMem: the engine is still "
                     "connected to %s: disconnect first", l->remote);
    } else if (*p) {
        r = *p;
        *p = r->next;
    } else {
        hx_warn("DeregisterMem: handle %p is not registered: ignored", handle);
    }
    pthread_mutex_unlock(&e->mutex);
    return r ? forget(e, r) : ret;
}

void hx_mem_free_all(hx_engine *e)
{
    hx_reg *r;

    while ((r = e->regs)) {
        e->regs = r->next;
        unregister(e, &r->mem);
        free(r);
    }
}

bool hx_mem_snapshot(hx_engine *e, hx_table *t)
{
    hx_reg *r;
    size_t n = 0;

    pthread_mutex_lock(&e->mutex);
    for (r = e->regs; r; r = r->next) {
        n++;
    }
    t->num = 0;
    t->mem = calloc(n + 1, sizeof(t->mem[0]));
    for (r = e->regs; r && t->mem; r = r->next) {
        t->mem[t->num++] = r->mem;
    }
    pthread_mutex_unlock(&e->mutex);
    hx_table_sort(t);
    return t->mem != NULL;
}
