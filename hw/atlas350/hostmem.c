/*
 * Atlas 350 virtual card: host memory as the card's masters see it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The card's threads copy to and from guest RAM without the big QEMU lock.
 * Translating an IOVA is another matter: a refused access makes the IOMMU
 * model raise a fault interrupt, which needs that lock. So translations are
 * made by a holder of the big lock (the main loop, or whoever waits in
 * a350_hostmem_serve_until) and kept in a page cache. What takes an entry
 * back - an IOMMU invalidation, a change of the memory map, bus mastering
 * switched off - waits until no copy uses the cache any more, as an IOTLB
 * invalidation of hardware waits for transactions in flight.
 *
 * Only RAM is reached. Registers of other devices are not a target of this
 * card, and its own are reached inside it.
 */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "qemu/rcu.h"
#include "exec/memory.h"
#include "exec/address-spaces.h"
#include "bulk.h"
#include "shell.h"
#include "trace.h"

#define HM_PAGE_BITS 12
#define HM_PAGE_SIZE (1ull << HM_PAGE_BITS)
#define HM_ENTRIES   65536u     /* direct mapped: 256 MiB */
#define HM_BATCH     512u       /* pages translated for one request */
/* Pages; so many are copied before whoever wants entries back gets them. */
#define HM_RUN       64u
#define HM_RUNS      (HM_ENTRIES / HM_RUN)
#define HM_RETRIES   1000u

typedef struct HmEntry {
    uint64_t tag;               /* hm_tag(page), HM_READ, HM_WRITE; 0 empty */
    uint8_t *ptr;
    MemoryRegion *mr;           /* is there as long as the entry is */
} HmEntry;

/* What was granted: a page that may be written may not always be read. */
#define HM_READ     1ull
#define HM_WRITE    2ull
#define HM_ACCESS   (HM_READ | HM_WRITE)
#define HM_TAG_BITS 2

/*
 * Pages of one block of HM_RUN that follow each other in one region too, made
 * of entries when it is needed. One for each block: a list of scattered
 * pieces finds them in the processor's cache, which its data runs through.
 */
typedef struct HmRun {
    uint64_t first;
    uint32_t num;               /* 0 empty */
    unsigned access;            /* of all of them */
    uint8_t *ptr;               /* of the first one */
    MemoryRegion *mr;
} HmRun;

typedef struct HmRequest {
    uint64_t iova, len;
    bool is_write, done;
    MemTxResult result;
    QSIMPLEQ_ENTRY(HmRequest) next;
} HmRequest;

typedef struct HmIommu {
    A350HostMem *hm;
    IOMMUMemoryRegion *mr;
    hwaddr offset;
    IOMMUNotifier n;
    QLIST_ENTRY(HmIommu) next;
} HmIommu;

struct A350HostMem {
    Atlas350State *s;
    QemuMutex lock;             /* entries, runs, requests */
    QemuCond served;
    QSIMPLEQ_HEAD(, HmRequest) requests;
    HmEntry *entry;
    HmRun *run;
    QEMUBH *bh;
    unsigned epoch;             /* atomic; low bit chooses the user count */
    unsigned users[2];          /* atomic: copies in progress */
    MemoryListener listener;
    QLIST_HEAD(, HmIommu) iommus;
};

/*
 * Wakes the one that holds the big lock and waits for a card to stop; there
 * is at most one in the process.
 */
static QemuEvent hm_kick;

static void __attribute__((constructor)) hm_kick_init(void)
{
    qemu_event_init(&hm_kick, false);
}

/* Never 0, its low bits are free: a page number has 52 bits. */
static uint64_t hm_tag(uint64_t page)
{
    return (page + 1) << HM_TAG_BITS;
}

static uint64_t hm_access_bit(bool is_write)
{
    return is_write ? HM_WRITE : HM_READ;
}

/* Is @e that of @page, and has it all of @access? */
static bool hm_has(const HmEntry *e, uint64_t page, uint64_t access)
{
    return (e->tag & ~HM_ACCESS) == hm_tag(page) &&
           (e->tag & access) == access;
}

/* ---- use of the cache, from the card's threads ---- */

static unsigned hm_enter(A350HostMem *hm)
{
    unsigned e;

    for (;;) {
        e = qatomic_read(&hm->epoch);
        qatomic_inc(&hm->users[e & 1]);
        /* Pairs with hm_synchronize: count first, then trust the cache. */
        smp_mb();
        if (qatomic_read(&hm->epoch) == e) {
            return e & 1;
        }
        qatomic_dec(&hm->users[e & 1]);
    }
}

static void hm_leave(A350HostMem *hm, unsigned side)
{
    qatomic_dec(&hm->users[side]);
}

/* After entries were cleared under the lock: waits for those who saw them. */
static void hm_synchronize(A350HostMem *hm)
{
    unsigned old = qatomic_fetch_inc(&hm->epoch) & 1;

    /* Pairs with hm_enter: epoch first, then the count. */
    smp_mb();
    /* What they have written is there for whoever is told that they left. */
    while (qatomic_load_acquire(&hm->users[old])) {
        g_thread_yield();
    }
}

static HmEntry *hm_entry(A350HostMem *hm, uint64_t page)
{
    return &hm->entry[page % HM_ENTRIES];
}

static HmRun *hm_run(A350HostMem *hm, uint64_t page)
{
    return &hm->run[page / HM_RUN % HM_RUNS];
}

/* Does @page belong to a run with the page of @e, which is @from? */
static bool hm_follows(A350HostMem *hm, const HmEntry *e, uint64_t from,
                       uint64_t page)
{
    const HmEntry *other = hm_entry(hm, page);

    return hm_has(other, page, e->tag & HM_ACCESS) && other->mr == e->mr &&
           other->ptr == e->ptr + (int64_t)(page - from) *
                                  (int64_t)HM_PAGE_SIZE;
}

/* The longest run around a page whose entry is known. With the lock held. */
static void hm_make_run(A350HostMem *hm, uint64_t page, HmRun *r)
{
    HmEntry *e = hm_entry(hm, page);
    uint64_t first = page, last = page;

    while (first % HM_RUN && hm_follows(hm, e, page, first - 1)) {
        first--;
    }
    while ((last + 1) % HM_RUN && hm_follows(hm, e, page, last + 1)) {
        last++;
    }
    r->first = first;
    r->num = last - first + 1;
    r->access = e->tag & HM_ACCESS;
    r->ptr = e->ptr - (page - first) * HM_PAGE_SIZE;
    r->mr = e->mr;
}

/* Host pointer of a page; how many known ones follow, with it; 0: none. */
static unsigned hm_lookup(A350HostMem *hm, uint64_t page, bool is_write,
                          uint8_t **ptr, MemoryRegion **mr)
{
    uint64_t access = hm_access_bit(is_write);
    HmRun *r = hm_run(hm, page);

    QEMU_LOCK_GUARD(&hm->lock);
    if (page - r->first >= r->num || !(r->access & access)) {
        if (!hm_has(hm_entry(hm, page), page, access)) {
            return 0;
        }
        hm_make_run(hm, page, r);
    }
    *ptr = r->ptr + (page - r->first) * HM_PAGE_SIZE;
    *mr = r->mr;
    return r->num - (page - r->first);
}

/* Dirty logging and translated code, as after any write by a device. */
static void hm_written(A350HostMem *hm, MemoryRegion *mr, uint8_t *ptr,
                       uint64_t len)
{
    memory_region_ref(mr);       /* which the end of a mapping gives back */
    address_space_unmap(&hm->s->parent_obj.bus_master_as, ptr, len, true, len);
}

static void hm_copy(A350HostMem *hm, MemoryRegion *mr, uint8_t *ptr,
                    uint8_t *buf, uint64_t len, bool is_write, bool bulk)
{
    if (bulk && len > 8) {
        a350_bulk_copy(is_write ? ptr : buf, is_write ? buf : ptr, len);
    } else if (!is_write) {
        memcpy(buf, ptr, len);
    } else if (len == 4 && !((uintptr_t)ptr & 3)) {
        /* Flags and completion words are seen whole. */
        qatomic_set((uint32_t *)ptr, ldl_he_p(buf));
    } else if (len == 8 && !((uintptr_t)ptr & 7)) {
        qatomic_set((uint64_t *)ptr, ldq_he_p(buf));
    } else {
        memcpy(ptr, buf, len);
    }
    if (is_write) {
        hm_written(hm, mr, ptr, len);
    }
}

/* Copies what the cache knows of the start of the range; bytes done. */
static uint64_t hm_try(A350HostMem *hm, uint64_t iova, uint8_t *buf,
                       uint64_t len, bool is_write, bool bulk)
{
    uint64_t in_page, part, done = 0;
    unsigned side, n;
    MemoryRegion *mr;
    uint8_t *ptr;

    len = MIN(len, HM_RUN * HM_PAGE_SIZE);
    RCU_READ_LOCK_GUARD();
    side = hm_enter(hm);
    while (done < len) {
        n = hm_lookup(hm, (iova + done) >> HM_PAGE_BITS, is_write, &ptr,
                      &mr);
        if (n == 0) {
            break;
        }
        in_page = (iova + done) & (HM_PAGE_SIZE - 1);
        part = MIN(n * HM_PAGE_SIZE - in_page, len - done);
        hm_copy(hm, mr, ptr + in_page, buf + done, part, is_write, bulk);
        done += part;
    }
    hm_leave(hm, side);
    return done;
}

/* ---- translation, with the big lock ---- */

static bool hm_translate(A350HostMem *hm, uint64_t page, bool is_write,
                         HmEntry *e)
{
    AddressSpace *as = &hm->s->parent_obj.bus_master_as;
    hwaddr xlat, plen = HM_PAGE_SIZE;
    MemoryRegion *mr;

    mr = address_space_translate(as, page << HM_PAGE_BITS, &xlat, &plen,
                                 is_write, MEMTXATTRS_UNSPECIFIED);
    if (!memory_access_is_direct(mr, is_write, MEMTXATTRS_UNSPECIFIED) ||
        plen < HM_PAGE_SIZE) {
        return false;
    }
    e->tag = hm_tag(page) | hm_access_bit(is_write);
    e->ptr = qemu_map_ram_ptr(mr->ram_block, xlat);
    e->mr = mr;
    return true;
}

/* Beside what is known of the same page; with the lock held. */
static void hm_store(A350HostMem *hm, uint64_t page, const HmEntry *e)
{
    HmEntry *at = hm_entry(hm, page);
    uint64_t known = 0;

    if (hm_has(at, page, 0) && at->ptr == e->ptr && at->mr == e->mr) {
        known = at->tag;
    }
    *at = *e;
    at->tag |= known;
}

static void hm_serve_one(A350HostMem *hm, HmRequest *r)
{
    uint64_t page = r->iova >> HM_PAGE_BITS;
    uint64_t last = (r->iova + r->len - 1) >> HM_PAGE_BITS;
    uint64_t i, n = MIN(last - page + 1, HM_BATCH);
    HmEntry e;

    RCU_READ_LOCK_GUARD();
    r->result = MEMTX_OK;
    for (i = 0; i < n; i++) {
        if (!hm_translate(hm, page + i, r->is_write, &e)) {
            if (i == 0) {
                r->result = MEMTX_DECODE_ERROR;
            }
            break;
        }
        WITH_QEMU_LOCK_GUARD(&hm->lock) {
            hm_store(hm, page + i, &e);
        }
    }
    trace_atlas350_host_translate(hm->s->card.index, r->iova, r->len,
                                  r->is_write, i);
}

static void hm_serve(A350HostMem *hm)
{
    HmRequest *r;

    for (;;) {
        WITH_QEMU_LOCK_GUARD(&hm->lock) {
            r = QSIMPLEQ_FIRST(&hm->requests);
            if (r) {
                QSIMPLEQ_REMOVE_HEAD(&hm->requests, next);
            }
        }
        if (!r) {
            return;
        }
        hm_serve_one(hm, r);
        WITH_QEMU_LOCK_GUARD(&hm->lock) {
            r->done = true;
            qemu_cond_broadcast(&hm->served);
        }
    }
}

static void hm_bh(void *opaque)
{
    hm_serve(opaque);
}

static MemTxResult hm_request(A350HostMem *hm, uint64_t iova, uint64_t len,
                              bool is_write)
{
    HmRequest r = { .iova = iova, .len = len, .is_write = is_write };

    if (bql_locked()) {
        hm_serve_one(hm, &r);
        return r.result;
    }
    WITH_QEMU_LOCK_GUARD(&hm->lock) {
        QSIMPLEQ_INSERT_TAIL(&hm->requests, &r, next);
    }
    qemu_bh_schedule(hm->bh);
    qemu_event_set(&hm_kick);
    WITH_QEMU_LOCK_GUARD(&hm->lock) {
        while (!r.done) {
            qemu_cond_wait(&hm->served, &hm->lock);
        }
    }
    return r.result;
}

static MemTxResult hm_access(A350HostMem *hm, uint64_t iova, uint8_t *buf,
                             uint64_t len, bool is_write, bool bulk)
{
    unsigned misses = 0;
    MemTxResult res;
    uint64_t done;

    if (len && iova + len - 1 < iova) {
        return MEMTX_DECODE_ERROR;
    }
    while (len) {
        done = hm_try(hm, iova, buf, len, is_write, bulk);
        iova += done;
        buf += done;
        len -= done;
        if (done) {
            misses = 0;
        } else {
            res = hm_request(hm, iova, len, is_write);
            if (res != MEMTX_OK) {
                return res;
            }
            if (++misses == HM_RETRIES) {
                return MEMTX_ERROR;
            }
        }
    }
    return MEMTX_OK;
}

MemTxResult a350_hostmem_read(A350Card *c, uint64_t iova, void *buf,
                              uint64_t len, bool bulk)
{
    return hm_access(a350_shell(c)->hostmem, iova, buf, len, false, bulk);
}

MemTxResult a350_hostmem_write(A350Card *c, uint64_t iova, const void *buf,
                               uint64_t len, bool bulk)
{
    return hm_access(a350_shell(c)->hostmem, iova, (uint8_t *)buf, len, true,
                     bulk);
}

void a350_hostmem_kick(Atlas350State *s)
{
    qemu_event_set(&hm_kick);
}

/*
 * For every card: a thread of this one may be in the middle of a transfer to
 * host memory of a peer.
 */
void a350_hostmem_serve_until(Atlas350State *s, bool (*done)(void *opaque),
                              void *opaque)
{
    Atlas350State *peer;

    for (;;) {
        qemu_event_reset(&hm_kick);
        hm_serve(s->hostmem);
        QTAILQ_FOREACH(peer, &a350_cards, next) {
            hm_serve(peer->hostmem);
        }
        if (done(opaque)) {
            return;
        }
        qemu_event_wait(&hm_kick);
    }
}

/* ---- what takes translations back ---- */

static void hm_invalidate(A350HostMem *hm, uint64_t iova, uint64_t last)
{
    uint64_t page = iova >> HM_PAGE_BITS, end = last >> HM_PAGE_BITS;
    uint64_t i, first = 0, num = HM_ENTRIES;
    HmEntry *e;
    HmRun *r;

    /* Few pages can only be in few places. */
    if (end - page < HM_ENTRIES) {
        first = page;
        num = end - page + 1;
    }
    WITH_QEMU_LOCK_GUARD(&hm->lock) {
        for (i = 0; i < num; i++) {
            e = hm_entry(hm, first + i);
            /* An empty one is page UINT64_MAX here, in no range. */
            if ((e->tag >> HM_TAG_BITS) - 1 - page <= end - page) {
                e->tag = 0;
            }
        }
        /* A run that has one of them is of its block. */
        num = num / HM_RUN + 2;
        for (i = 0; i < MIN(num, HM_RUNS); i++) {
            r = hm_run(hm, first + i * HM_RUN);
            if (r->num && r->first <= end && r->first + r->num > page) {
                r->num = 0;
            }
        }
    }
    hm_synchronize(hm);
}

static void hm_iommu_notify(IOMMUNotifier *n, IOMMUTLBEntry *iotlb)
{
    HmIommu *i = container_of(n, HmIommu, n);
    uint64_t iova = iotlb->iova + i->offset;

    hm_invalidate(i->hm, iova, iova + iotlb->addr_mask);
}

static void hm_region_add(MemoryListener *l, MemoryRegionSection *sec)
{
    A350HostMem *hm = container_of(l, A350HostMem, listener);
    Int128 end;
    HmIommu *i;

    hm_invalidate(hm, 0, UINT64_MAX);
    if (!memory_region_is_iommu(sec->mr)) {
        return;
    }
    i = g_new0(HmIommu, 1);
    i->hm = hm;
    i->mr = IOMMU_MEMORY_REGION(sec->mr);
    i->offset = sec->offset_within_address_space - sec->offset_within_region;
    end = int128_add(int128_make64(sec->offset_within_region), sec->size);
    end = int128_sub(end, int128_one());
    iommu_notifier_init(&i->n, hm_iommu_notify, IOMMU_NOTIFIER_UNMAP,
                        sec->offset_within_region, int128_get64(end),
                        memory_region_iommu_attrs_to_index(
                            i->mr, MEMTXATTRS_UNSPECIFIED));
    if (memory_region_register_iommu_notifier(sec->mr, &i->n, NULL)) {
        g_free(i);
        return;
    }
    memory_region_ref(sec->mr);
    QLIST_INSERT_HEAD(&hm->iommus, i, next);
}

static void hm_iommu_drop(HmIommu *i)
{
    memory_region_unregister_iommu_notifier(MEMORY_REGION(i->mr), &i->n);
    memory_region_unref(MEMORY_REGION(i->mr));
    QLIST_REMOVE(i, next);
    g_free(i);
}

static void hm_region_del(MemoryListener *l, MemoryRegionSection *sec)
{
    A350HostMem *hm = container_of(l, A350HostMem, listener);
    HmIommu *i, *next;

    hm_invalidate(hm, 0, UINT64_MAX);
    if (!memory_region_is_iommu(sec->mr)) {
        return;
    }
    QLIST_FOREACH_SAFE(i, &hm->iommus, next, next) {
        if (MEMORY_REGION(i->mr) == sec->mr &&
            i->n.start == sec->offset_within_region) {
            hm_iommu_drop(i);
        }
    }
}

void a350_hostmem_init(Atlas350State *s)
{
    A350HostMem *hm = g_new0(A350HostMem, 1);

    hm->s = s;
    qemu_mutex_init(&hm->lock);
    qemu_cond_init(&hm->served);
    QSIMPLEQ_INIT(&hm->requests);
    QLIST_INIT(&hm->iommus);
    hm->entry = g_new0(HmEntry, HM_ENTRIES);
    hm->run = g_new0(HmRun, HM_RUNS);
    hm->bh = qemu_bh_new(hm_bh, hm);
    hm->listener = (MemoryListener) {
        .name = "atlas350-hostmem",
        .region_add = hm_region_add,
        .region_del = hm_region_del,
    };
    s->hostmem = hm;
    memory_listener_register(&hm->listener, &s->parent_obj.bus_master_as);
}

void a350_hostmem_destroy(Atlas350State *s)
{
    A350HostMem *hm = s->hostmem;
    HmIommu *i, *next;

    if (!hm) {
        return;
    }
    memory_listener_unregister(&hm->listener);
    QLIST_FOREACH_SAFE(i, &hm->iommus, next, next) {
        hm_iommu_drop(i);
    }
    qemu_bh_delete(hm->bh);
    g_free(hm->entry);
    g_free(hm->run);
    qemu_cond_destroy(&hm->served);
    qemu_mutex_destroy(&hm->lock);
    g_free(hm);
    s->hostmem = NULL;
}
