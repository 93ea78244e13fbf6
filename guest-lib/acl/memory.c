/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device and host memory: allocation, registration, questions.
 */
#include "ipc_priv.h"
#include "heap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB             (1ull << 20)
#define HUGE            (2 * MIB)
#define GIB             (1024 * MIB)
#define POLICY_FLAGS    (ACL_MEM_TYPE_LOW_BAND_WIDTH | \
                         ACL_MEM_TYPE_HIGH_BAND_WIDTH | \
                         ACL_MEM_ACCESS_USER_SPACE_READONLY)

/* ---- device memory ---- */

/* Page kind of a policy: spec/api/acl-runtime.md §7. */
static unsigned page_kind(uint32_t policy, size_t size)
{
    switch (policy & ~(uint32_t)POLICY_FLAGS) {
    case ACL_MEM_MALLOC_HUGE_FIRST:
    case ACL_MEM_MALLOC_HUGE_FIRST_P2P:
        return size > MIB ? A350_HBM_HUGE : A350_HBM_NORMAL;
    case ACL_MEM_MALLOC_HUGE_ONLY:
    case ACL_MEM_MALLOC_HUGE_ONLY_P2P:
    case ACL_MEM_MALLOC_HUGE1G_ONLY:
    case ACL_MEM_MALLOC_HUGE1G_ONLY_P2P:
        return A350_HBM_HUGE;
    case ACL_MEM_MALLOC_NORMAL_ONLY:
    case ACL_MEM_MALLOC_NORMAL_ONLY_P2P:
        return A350_HBM_NORMAL;
    }
    return size >= HUGE ? A350_HBM_HUGE : A350_HBM_NORMAL;
}

static bool page_fallback(uint32_t policy)
{
    policy &= ~(uint32_t)POLICY_FLAGS;
    return policy == ACL_MEM_MALLOC_HUGE_FIRST ||
           policy == ACL_MEM_MALLOC_HUGE_FIRST_P2P;
}

static aclError dev_malloc(const char *func, void **out, size_t size,
                           uint32_t policy)
{
    uint32_t base = policy & ~(uint32_t)POLICY_FLAGS;
    unsigned kind = page_kind(policy, size);
    size_t want = (size + 31) & ~(size_t)31;
    uint64_t addr;
    aclError code;
    acl_ctx *c;
    int rc;

    if (!out) {
        return acl_fail(func, ACL_ERROR_INVALID_PARAM, "devPtr is NULL");
    }
    if (size == 0) {
        return acl_fail(func, ACL_ERROR_INVALID_PARAM, "size is 0");
    }
    c = ctx_need(func, &code);
    if (!c) {
        return code;
    }
    if (want < size) {
        want = size;
    }
    if (base == ACL_MEM_MALLOC_HUGE1G_ONLY ||
        base == ACL_MEM_MALLOC_HUGE1G_ONLY_P2P) {
        want = (want + GIB - 1) & ~(size_t)(GIB - 1);
    }
    rc = a350_hbm_alloc(c->dev->card, want, kind, &addr);
    if (rc && kind == A350_HBM_HUGE && page_fallback(policy)) {
        rc = a350_hbm_alloc(c->dev->card, want, A350_HBM_NORMAL, &addr);
    }
    if (rc) {
        return acl_fail(func, ACL_ERROR_RT_MEMORY_ALLOCATION, "%s",
                        a350_card_text());
    }
    *out = (void *)(uintptr_t)addr;
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtMalloc(void **devPtr, size_t size,
                                aclrtMemMallocPolicy policy)
{
    return dev_malloc(__func__, devPtr, size, (uint32_t)policy);
}

ACL_EXPORT aclError aclrtMallocAlign32(void **devPtr, size_t size,
                                       aclrtMemMallocPolicy policy)
{
    return dev_malloc(__func__, devPtr, size, (uint32_t)policy);
}

ACL_EXPORT aclError aclrtMallocCached(void **devPtr, size_t size,
                                      aclrtMemMallocPolicy policy)
{
    return dev_malloc(__func__, devPtr, size, (uint32_t)policy);
}

static aclError check_cfg(const char *func, const aclrtMallocConfig *cfg)
{
    size_t i;

    if (!cfg) {
        return ACL_SUCCESS;
    }
    if (cfg->numAttrs && !cfg->attrs) {
        return acl_fail(func, ACL_ERROR_INVALID_PARAM, "cfg has %zu "
                        "attributes but attrs is NULL", cfg->numAttrs);
    }
    for (i = 0; i < cfg->numAttrs; i++) {
        const aclrtMallocAttribute *a = &cfg->attrs[i];

        if ((int)a->attr < 0 || a->attr > ACL_RT_MEM_ATTR_VA_FLAG) {
            return acl_fail(func, ACL_ERROR_RT_PARAM_INVALID, "attribute %zu "
                            "has the unknown id %d", i, (int)a->attr);
        }
        if (a->attr == ACL_RT_MEM_ATTR_DEVICE_ID &&
            (int32_t)a->value.deviceId != a350_current_device()) {
            return acl_fail(func, ACL_ERROR_RT_PARAM_INVALID, "attribute "
                            "DEVICE_ID %u: must be the current device %d",
                            a->value.deviceId, a350_current_device());
        }
    }
    return ACL_SUCCESS;
}

static aclError malloc_cfg(const char *func, void **devPtr, size_t size,
                           aclrtMemMallocPolicy policy,
                           const aclrtMallocConfig *cfg)
{
    aclError rc = check_cfg(func, cfg);

    return rc ? rc : dev_malloc(func, devPtr, size, (uint32_t)policy);
}

ACL_EXPORT aclError aclrtMallocWithCfg(void **devPtr, size_t size,
                                       aclrtMemMallocPolicy policy,
                                       aclrtMallocConfig *cfg)
{
    return malloc_cfg(__func__, devPtr, size, policy, cfg);
}

ACL_EXPORT aclError aclrtMallocForTaskScheduler(void **devPtr, size_t size,
                                                aclrtMemMallocPolicy policy,
                                                aclrtMallocConfig *cfg)
{
    return malloc_cfg(__func__, devPtr, size, policy, cfg);
}

int dev_mem_free(uint64_t addr)
{
    uint64_t base, size;

    if (a350_hbm_range(addr, &base, &size) == 0 && base == addr) {
        switch (ipc_freed(IPC_MEM, dev_of_addr(addr), addr)) {
        case IPC_HELD:
            return 0;
        case IPC_HELD_BEFORE:
            return a350_fail(-EINVAL, "0x%llx is freed already; other "
                             "processes that imported it still have it",
                             (unsigned long long)addr);
        case IPC_FREE:
            break;
        }
    }
    return a350_hbm_free(addr);
}

static aclError dev_free(const char *func, void *p)
{
    ipc_mem m;

    if (!p) {
        return acl_fail(func, ACL_ERROR_INVALID_PARAM, "devPtr is NULL");
    }
    if (!dev_of_addr((uintptr_t)p) && ipc_mem_find((uintptr_t)p, &m)) {
        return acl_fail(func, ACL_ERROR_RT_PARAM_INVALID, "devPtr %p is memory "
                        "of process %d: give it back by aclrtIpcMemClose", p,
                        m.pid);
    }
    if (vmm_reserved((uintptr_t)p)) {
        return acl_fail(func, ACL_ERROR_RT_PARAM_INVALID, "devPtr %p is in a "
                        "range of aclrtReserveMemAddress: give it back by "
                        "aclrtReleaseMemAddress", p);
    }
    if (dev_mem_free((uintptr_t)p)) {
        return acl_fail(func, ACL_ERROR_RT_PARAM_INVALID, "%s",
                        a350_card_text());
    }
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtFree(void *devPtr)
{
    return dev_free(__func__, devPtr);
}

ACL_EXPORT aclError aclrtFreeWithDevSync(void *devPtr)
{
    aclError rc;

    CHECK_PTR(devPtr);
    if (ctx_current() && (rc = aclrtSynchronizeDevice())) {
        return rc;
    }
    return dev_free(__func__, devPtr);
}

/* ---- host memory ---- */

/*
 * What the card may address, in address order. Small blocks are cut from
 * pinned chunks, because pinning costs a system call and at least a page.
 */
#define CHUNK_SIZE      (1 * MIB)
#define CHUNK_BLOCK_MAX (64u << 10)

typedef struct host_range {
    uintptr_t start;
    size_t len;
    a350_heap *heap;             /* a chunk of small blocks */
    bool registered;             /* by aclrtHostRegister */
    uint32_t flags;
} host_range;

static pthread_rwlock_t ranges_lock = PTHREAD_RWLOCK_INITIALIZER;
static host_range *ranges;
static size_t range_num, range_cap;

/* Index of the first range that starts above @p. Lock held. */
static size_t range_above(uintptr_t p)
{
    size_t lo = 0, hi = range_num;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;

        if (ranges[mid].start <= p) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

/* The range that holds [p, p + len), NULL if none does. Lock held. */
static host_range *range_of(uintptr_t p, size_t len)
{
    size_t i = range_above(p);

    /* A registered range may lie inside an allocated one: look further. */
    while (i-- > 0) {
        if (p - ranges[i].start < ranges[i].len &&
            ranges[i].len - (p - ranges[i].start) >= len) {
            return &ranges[i];
        }
        if (!ranges[i].registered) {
            return NULL;
        }
    }
    return NULL;
}

/* Lock held. */
static bool range_add(const host_range *r)
{
    size_t i = range_above(r->start);

    if (range_num == range_cap) {
        size_t cap = range_cap ? range_cap * 2 : 64;
        host_range *n = realloc(ranges, cap * sizeof(*n));

        if (!n) {
            return false;
        }
        ranges = n;
        range_cap = cap;
    }
    memmove(&ranges[i + 1], &ranges[i], (range_num - i) * sizeof(*ranges));
    ranges[i] = *r;
    range_num++;
    return true;
}

static void range_remove(host_range *r)
{
    size_t i = (size_t)(r - ranges);

    memmove(r, r + 1, (range_num - i - 1) * sizeof(*ranges));
    range_num--;
}

bool a350_host_is_pinned(const void *ptr, size_t len)
{
    bool ok;

    pthread_rwlock_rdlock(&ranges_lock);
    ok = range_of((uintptr_t)ptr, len) != NULL;
    pthread_rwlock_unlock(&ranges_lock);
    return ok;
}

static void *host_big(size_t size)
{
    host_range r = { .len = (size + 4095) & ~(size_t)4095 };
    void *p = a350_dma_alloc(size);

    if (p) {
        r.start = (uintptr_t)p;
        if (!range_add(&r)) {
            a350_dma_free(p, size);
            a350_fail(-ENOMEM, "out of host memory");
            return NULL;
        }
    }
    return p;
}

static void *host_small(size_t size)
{
    uint64_t align = size >= 4096 ? 4096 : 64, addr;
    host_range r = { .len = CHUNK_SIZE };
    size_t i;
    void *p;

    for (i = 0; i < range_num; i++) {
        if (ranges[i].heap &&
            a350_heap_get(ranges[i].heap, size, align, &addr)) {
            return (void *)(uintptr_t)addr;
        }
    }
    p = a350_dma_alloc(CHUNK_SIZE);
    if (!p) {
        return NULL;
    }
    r.start = (uintptr_t)p;
    r.heap = a350_heap_new(r.start, CHUNK_SIZE);
    if (!r.heap || !range_add(&r)) {
        a350_heap_free(r.heap);
        a350_dma_free(p, CHUNK_SIZE);
        a350_fail(-ENOMEM, "out of host memory");
        return NULL;
    }
    a350_heap_get(r.heap, size, align, &addr);
    return (void *)(uintptr_t)addr;
}

static aclError host_malloc(const char *func, void **out, size_t size)
{
    aclError rc;
    void *p;

    if (!out) {
        return acl_fail(func, ACL_ERROR_INVALID_PARAM, "hostPtr is NULL");
    }
    if (size == 0) {
        return acl_fail(func, ACL_ERROR_INVALID_PARAM, "size is 0");
    }
    if (!ctx_need(func, &rc)) {
        return rc;
    }
    pthread_rwlock_wrlock(&ranges_lock);
    p = size <= CHUNK_BLOCK_MAX ? host_small(size) : host_big(size);
    pthread_rwlock_unlock(&ranges_lock);
    if (!p) {
        return acl_fail(func, ACL_ERROR_RT_MEMORY_ALLOCATION, "%s",
                        a350_card_text());
    }
    *out = p;
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtMallocHost(void **hostPtr, size_t size)
{
    return host_malloc(__func__, hostPtr, size);
}

ACL_EXPORT aclError aclrtMallocHostWithCfg(void **ptr, uint64_t size,
                                           aclrtMallocConfig *cfg)
{
    aclError rc = check_cfg(__func__, cfg);

    return rc ? rc : host_malloc(__func__, ptr, size);
}

/* Registrations inside [p, p + len), whose memory goes. Lock held. */
static void registered_drop(uintptr_t p, size_t len)
{
    size_t i = range_above(p + len - 1);

    while (i-- > 0 && ranges[i].start >= p) {
        if (ranges[i].registered) {
            a350_dma_unmap((void *)ranges[i].start, ranges[i].len);
            range_remove(&ranges[i]);
        }
    }
}

static aclError host_free(const char *func, void *p)
{
    host_range *r, gone = { 0 };
    bool ok = false;
    size_t i;

    if (!p) {
        return acl_fail(func, ACL_ERROR_INVALID_PARAM, "hostPtr is NULL");
    }
    pthread_rwlock_wrlock(&ranges_lock);
    i = range_above((uintptr_t)p);
    while (i-- > 0) {
        r = &ranges[i];
        if (r->registered) {
            continue;
        }
        if (r->heap) {
            ok = a350_heap_put(r->heap, (uintptr_t)p);
        } else if (r->start == (uintptr_t)p) {
            gone = *r;
            range_remove(r);
            registered_drop(gone.start, gone.len);
            ok = true;
        }
        break;
    }
    pthread_rwlock_unlock(&ranges_lock);
    if (gone.len) {
        a350_dma_free(p, gone.len);
    }
    return ok ? ACL_SUCCESS
              : acl_fail(func, ACL_ERROR_RT_PARAM_INVALID, "%p is not a block "
                         "of aclrtMallocHost (freed already?)", p);
}

ACL_EXPORT aclError aclrtFreeHost(void *hostPtr)
{
    return host_free(__func__, hostPtr);
}

ACL_EXPORT aclError aclrtFreeHostWithDevSync(void *hostPtr)
{
    aclError rc;

    CHECK_PTR(hostPtr);
    if (ctx_current() && (rc = aclrtSynchronizeDevice())) {
        return rc;
    }
    return host_free(__func__, hostPtr);
}

/* ---- registration ---- */

static host_range *registered_at(uintptr_t p)
{
    size_t i;

    for (i = range_above(p); i-- > 0 && ranges[i].start == p;) {
        if (ranges[i].registered) {
            return &ranges[i];
        }
    }
    return NULL;
}

static aclError host_register(const char *func, void *ptr, uint64_t size,
                              uint32_t flags)
{
    host_range r = { .start = (uintptr_t)ptr, .registered = true,
                     .flags = flags };
    aclError rc = ACL_SUCCESS;

    if (!ptr || size == 0) {
        return acl_fail(func, ACL_ERROR_INVALID_PARAM, "%s",
                        ptr ? "size is 0" : "ptr is NULL");
    }
    if (!ctx_need(func, &rc)) {
        return rc;
    }
    if (r.start & 4095) {
        return acl_fail(func, ACL_ERROR_RT_PARAM_INVALID, "%p is not aligned "
                        "to 4096 bytes", ptr);
    }
    if (!a350_addr_is_host(r.start) || size > (1ull << 46)) {
        return acl_fail(func, ACL_ERROR_RT_PARAM_INVALID, "%p+%llu is not "
                        "host memory", ptr, (unsigned long long)size);
    }
    r.len = (size + 4095) & ~(size_t)4095;
    pthread_rwlock_wrlock(&ranges_lock);
    if (registered_at(r.start)) {
        rc = acl_fail(func, ACL_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "%p is "
                      "registered already", ptr);
    } else {
        if (a350_dma_map(ptr, r.len)) {
            rc = acl_fail(func, ACL_ERROR_RT_DRV_INTERNAL_ERROR, "%s",
                          a350_card_text());
        } else if (!range_add(&r)) {
            a350_dma_unmap(ptr, r.len);
            rc = acl_fail(func, ACL_ERROR_RT_MEMORY_ALLOCATION, "out of host "
                          "memory");
        }
    }
    pthread_rwlock_unlock(&ranges_lock);
    return rc;
}

ACL_EXPORT aclError aclrtHostRegister(void *ptr, uint64_t size,
                                      aclrtHostRegisterType type,
                                      void **devPtr)
{
    aclError rc;

    CHECK_PTR(devPtr);
    if (type != ACL_HOST_REGISTER_MAPPED &&
        type != ACL_HOST_REGISTER_READONLY) {
        return FAIL(ACL_ERROR_RT_PARAM_INVALID, "type %d: 0 (mapped) or 8 "
                    "(read-only)", (int)type);
    }
    rc = host_register(__func__, ptr, size, (uint32_t)type);
    if (rc == ACL_SUCCESS) {
        *devPtr = ptr;           /* the card uses the process's addresses */
    }
    return rc;
}

ACL_EXPORT aclError aclrtHostRegisterV2(void *ptr, uint64_t size,
                                        uint32_t flag)
{
    const uint32_t legal = ACL_HOST_REG_MAPPED | ACL_HOST_REG_READONLY |
                           ACL_HOST_REG_PINNED;

    if (flag & ACL_HOST_REG_IOMEMORY) {
        return FAIL(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "I/O memory cannot be "
                    "registered");
    }
    if (flag == 0 || flag & ~legal) {
        return FAIL(ACL_ERROR_RT_PARAM_INVALID, "flag 0x%x: legal bits 0x%x",
                    flag, legal);
    }
    return host_register(__func__, ptr, size, flag);
}

ACL_EXPORT aclError aclrtHostGetDevicePointer(void *pHost, void **pDevice,
                                              uint32_t flag)
{
    CHECK_PTR(pHost);
    CHECK_PTR(pDevice);
    if (flag) {
        return FAIL(ACL_ERROR_INVALID_PARAM, "flag %u: must be 0", flag);
    }
    if (!a350_host_is_pinned(pHost, 1)) {
        return FAIL(ACL_ERROR_HOST_MEMORY_NOT_REGISTERED, "%p is not in "
                    "registered memory", pHost);
    }
    *pDevice = pHost;
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtHostUnregister(void *ptr)
{
    host_range *r, gone = { 0 };

    CHECK_PTR(ptr);
    pthread_rwlock_wrlock(&ranges_lock);
    r = registered_at((uintptr_t)ptr);
    if (r) {
        gone = *r;
        range_remove(r);
    }
    pthread_rwlock_unlock(&ranges_lock);
    if (!gone.registered) {
        return FAIL(ACL_ERROR_HOST_MEMORY_NOT_REGISTERED, "%p is not "
                    "registered", ptr);
    }
    a350_dma_unmap(ptr, gone.len);
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtHostMemMapCapabilities(
    uint32_t deviceId, aclrtHacType hacType,
    aclrtHostMemMapCapability *capabilities)
{
    CHECK_PTR(capabilities);
    if (!dev_get((int32_t)deviceId)) {
        return dev_bad_id(__func__, deviceId);
    }
    switch (hacType) {
    case ACL_RT_HAC_TYPE_STARS:
    case ACL_RT_HAC_TYPE_SDMA:
    case ACL_RT_HAC_TYPE_UDMA:
        *capabilities = ACL_RT_HOST_MEM_MAP_SUPPORTED;
        return ACL_SUCCESS;
    case ACL_RT_HAC_TYPE_AICPU:
    case ACL_RT_HAC_TYPE_AIC:
    case ACL_RT_HAC_TYPE_AIV:
    case ACL_RT_HAC_TYPE_PCIEDMA:
    case ACL_RT_HAC_TYPE_RDMA:
    case ACL_RT_HAC_TYPE_DVPP:
    case ACL_RT_HAC_TYPE_CCU:
        *capabilities = ACL_RT_HOST_MEM_MAP_NOT_SUPPORTED;
        return ACL_SUCCESS;
    }
    return FAIL(ACL_ERROR_RT_PARAM_INVALID, "hacType %d: legal 0..9",
                (int)hacType);
}

/* ---- questions ---- */

ACL_EXPORT aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t *free,
                                    size_t *total)
{
    uint64_t f, t, largest;
    aclError rc;
    acl_ctx *c;

    CHECK_PTR(free);
    CHECK_PTR(total);
    if ((int)attr < 0 || attr > ACL_MEM_P2P_HUGE1G) {
        return FAIL(ACL_ERROR_RT_PARAM_INVALID, "attr %d: legal 0..%d",
                    (int)attr, (int)ACL_MEM_P2P_HUGE1G);
    }
    c = ctx_need(__func__, &rc);
    if (!c) {
        return rc;
    }
    if (attr == ACL_DDR_MEM || attr == ACL_DDR_MEM_HUGE ||
        attr == ACL_DDR_MEM_NORMAL || attr == ACL_DDR_MEM_P2P_HUGE ||
        attr == ACL_DDR_MEM_P2P_NORMAL) {
        *free = *total = 0;      /* the card has HBM only */
        return ACL_SUCCESS;
    }
    a350_hbm_info(c->dev->card, &f, &t, &largest);
    *free = f;
    *total = t;
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtGetMemUsageInfo(int32_t deviceId,
                                         aclrtMemUsageInfo *memUsageInfo,
                                         size_t inputNum, size_t *outputNum)
{
    uint64_t f, t, largest;
    acl_dev *d;

    CHECK_PTR(memUsageInfo);
    CHECK_PTR(outputNum);
    d = dev_get(deviceId);
    if (!d) {
        return dev_bad_id(__func__, deviceId);
    }
    if (inputNum < 1) {
        return FAIL(ACL_ERROR_INVALID_PARAM, "inputNum is 0");
    }
    if (!d->card) {
        return FAIL(ACL_ERROR_RT_CONTEXT_NULL, "device %d is not set",
                    deviceId);
    }
    a350_hbm_info(d->card, &f, &t, &largest);
    memset(memUsageInfo, 0, sizeof(*memUsageInfo));
    strcpy(memUsageInfo->name, "APP");
    memUsageInfo->curMemSize = memUsageInfo->memPeakSize = t - f;
    *outputNum = 1;
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtPointerGetAttributes(const void *ptr,
                                              aclrtPtrAttributes *attributes)
{
    acl_dev *d;
    ipc_mem m;

    CHECK_PTR(ptr);
    CHECK_PTR(attributes);
    memset(attributes, 0, sizeof(*attributes));
    d = dev_of_addr((uintptr_t)ptr);
    if (d) {
        uint64_t base, size;

        attributes->location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
        attributes->location.id = (uint32_t)d->id;
        attributes->pageSize =
            a350_hbm_range((uintptr_t)ptr, &base, &size) == 0 &&
            base % HUGE == 0 && size % HUGE == 0 ? HUGE : 4096;
    } else if (ipc_mem_find((uintptr_t)ptr, &m)) {
        attributes->location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
        attributes->location.id = (uint32_t)(m.device >= 0 ? m.device
                                                           : m.importer);
        attributes->pageSize = 4096;
    } else if (!a350_addr_is_host((uintptr_t)ptr)) {
        return FAIL(ACL_ERROR_RT_PARAM_INVALID, "%p is memory of a card that "
                    "this process has not open, and not imported", ptr);
    } else {
        attributes->location.type = a350_host_is_pinned(ptr, 1)
                                    ? ACL_MEM_LOCATION_TYPE_HOST
                                    : ACL_MEM_LOCATION_TYPE_UNREGISTERED;
        attributes->pageSize = 4096;
    }
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtMemGetAddressRange(void *ptr, void **pbase,
                                            size_t *psize)
{
    uint64_t base, size;
    ipc_mem m;

    CHECK_PTR(ptr);
    if (!dev_of_addr((uintptr_t)ptr) && ipc_mem_find((uintptr_t)ptr, &m)) {
        base = m.base;
        size = m.size;
    } else if (a350_hbm_range((uintptr_t)ptr, &base, &size)) {
        return FAIL(ACL_ERROR_RT_PARAM_INVALID, "%s", a350_card_text());
    }
    if (pbase) {
        *pbase = (void *)(uintptr_t)base;
    }
    if (psize) {
        *psize = size;
    }
    return ACL_SUCCESS;
}

/* Host and card see the same memory; there is no cache between them. */
static aclError cache_op(const char *func, void *p, size_t size)
{
    if (!p || size == 0) {
        return acl_fail(func, ACL_ERROR_INVALID_PARAM, "%s",
                        p ? "size is 0" : "devPtr is NULL");
    }
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtMemFlush(void *devPtr, size_t size)
{
    return cache_op(__func__, devPtr, size);
}

ACL_EXPORT aclError aclrtMemInvalidate(void *devPtr, size_t size)
{
    return cache_op(__func__, devPtr, size);
}

/* Cards of one fabric reach each other's memory without being mapped. */
ACL_EXPORT aclError aclrtMemP2PMap(void *devPtr, size_t size, int32_t dstDevId,
                                   uint64_t flags)
{
    CHECK_PTR(devPtr);
    if (flags) {
        return FAIL(ACL_ERROR_INVALID_PARAM, "flags must be 0");
    }
    if (!dev_get(dstDevId)) {
        return dev_bad_id(__func__, dstDevId);
    }
    if (!a350_hbm_ptr((uintptr_t)devPtr, size)) {
        return FAIL(ACL_ERROR_RT_PARAM_INVALID, "%p+%zu is not device memory",
                    devPtr, size);
    }
    return ACL_SUCCESS;
}
