/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Virtual memory calls on a card whose memory is flat (docs/acl.rst): a
 * reserved range is a piece of HBM, and mapping a handle into it decides that
 * the handle's memory is that piece. Handles on memory of the host, and memory
 * of other processes, are not supported.
 */
#include "acl_priv.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GRANULE_HUGE    (2ull << 20)
#define GRANULE_NORMAL  4096ull

typedef struct phys {
    uint32_t magic;
    uint32_t owners;             /* creator and retained handles */
    size_t size;
    aclrtPhysicalMemProp prop;
    uint64_t va;                 /* where it is mapped, 0: nowhere */
    uint64_t granted[MAX_DEVICES / 64]; /* to other devices, while mapped */
    struct phys *next;           /* in the same range */
} phys;

typedef struct range {
    struct range *next;
    acl_dev *dev;
    uint64_t va;
    size_t size;
    phys *maps;                  /* what is mapped in it, in no order */
} range;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static range *ranges;
static atomic_uint num_ranges;

static range *range_at(uint64_t va)
{
    range *r;

    for (r = ranges; r && (va < r->va || va - r->va >= r->size); r = r->next) {
    }
    return r;
}

static phys *mapped_at(const range *r, uint64_t va)
{
    phys *h = r ? r->maps : NULL;

    for (; h && (va < h->va || va - h->va >= h->size); h = h->next) {
    }
    return h;
}

#define ANY (-1)

static bool open_to(const range *r, const phys *h, int32_t device)
{
    return device == ANY || device == r->dev->id ||
           (h->granted[device / 64] >> (device % 64) & 1);
}

/*
 * Is all of [va, va + size) mapped, and open to the device? One behind the
 * other will do.
 */
static bool all_mapped(uint64_t va, uint64_t size, int32_t device)
{
    const range *r = range_at(va);
    const phys *h;

    do {
        uint64_t have;

        h = mapped_at(r, va);
        if (h && !open_to(r, h, device)) {
            return false;
        }
        have = h ? h->size - (va - h->va) : 0;
        if (have >= size) {
            return h != NULL;
        }
        va += have;
        size -= have;
    } while (h);
    return false;
}

static uint64_t granule_of(aclrtMemAttr a)
{
    switch (a) {
    case ACL_HBM_MEM_NORMAL:
    case ACL_HBM_MEM_P2P_NORMAL:
    case ACL_MEM_NORMAL:
    case ACL_MEM_P2P_NORMAL:
        return GRANULE_NORMAL;
    case ACL_HBM_MEM_HUGE1G:
    case ACL_HBM_MEM_P2P_HUGE1G:
        return 1ull << 30;
    case ACL_HBM_MEM:
    case ACL_HBM_MEM_HUGE:
    case ACL_HBM_MEM_P2P_HUGE:
    case ACL_MEM_HUGE:
    case ACL_MEM_P2P_HUGE:
        return GRANULE_HUGE;
    default:
        return 0;
    }
}

static aclError check_prop(const char *func, const aclrtPhysicalMemProp *p)
{
    if (p->handleType != ACL_MEM_HANDLE_TYPE_NONE ||
        p->allocationType != ACL_MEM_ALLOCATION_TYPE_PINNED) {
        return acl_fail(func, ACL_ERROR_INVALID_PARAM, "handleType %d, "
                        "allocationType %d: must be 0 (NONE) and 0 (PINNED)",
                        (int)p->handleType, (int)p->allocationType);
    }
    if (p->location.type == ACL_MEM_LOCATION_TYPE_HOST ||
        p->location.type == ACL_MEM_LOCATION_TYPE_HOST_NUMA) {
        return acl_fail(func, ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "physical "
                        "memory of the host is not supported");
    }
    if (p->location.type != ACL_MEM_LOCATION_TYPE_DEVICE) {
        return acl_fail(func, ACL_ERROR_INVALID_PARAM, "location type %d: "
                        "1 (device)", (int)p->location.type);
    }
    if (!dev_get((int32_t)p->location.id)) {
        return dev_bad_id(func, p->location.id);
    }
    if (p->memAttr == ACL_MEM_HUGE1G || p->memAttr == ACL_MEM_P2P_HUGE1G) {
        return acl_fail(func, ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "1 GiB pages "
                        "are not available with memAttr %d", (int)p->memAttr);
    }
    if (!granule_of(p->memAttr)) {
        return acl_fail(func, ACL_ERROR_INVALID_PARAM, "memAttr %d is no "
                        "device memory", (int)p->memAttr);
    }
    return ACL_SUCCESS;
}

/* ---- address ranges ---- */

ACL_EXPORT aclError aclrtReserveMemAddress(void **virPtr, size_t size,
                                           size_t alignment, void *expectPtr,
                                           uint64_t flags)
{
    uint64_t addr;
    aclError rc;
    acl_ctx *c;
    range *r;

    CHECK_PTR(virPtr);
    if (size == 0 || alignment || expectPtr || flags > 1) {
        return FAIL(ACL_ERROR_INVALID_PARAM, "size %zu (more than 0), "
                    "alignment %zu (0), expectPtr %p (NULL), flags %llu (0, "
                    "1)", size, alignment, expectPtr,
                    (unsigned long long)flags);
    }
    c = ctx_need(__func__, &rc);
    if (!c) {
        return rc;
    }
    r = calloc(1, sizeof(*r));
    if (!r || a350_hbm_alloc(c->dev->card, size, A350_HBM_HUGE, &addr)) {
        free(r);
        return FAIL(ACL_ERROR_RT_MEMORY_ALLOCATION, "%s (a reserved range "
                    "takes device memory on this card)", a350_card_text());
    }
    r->dev = c->dev;
    r->va = addr;
    r->size = size;
    pthread_mutex_lock(&lock);
    r->next = ranges;
    ranges = r;
    atomic_fetch_add(&num_ranges, 1);
    pthread_mutex_unlock(&lock);
    *virPtr = (void *)(uintptr_t)addr;
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtReserveMemAddressNoUCMemory(
    void **virPtr, size_t size, size_t alignment, void *expectPtr,
    uint64_t flags)
{
    (void)size;
    (void)alignment;
    (void)expectPtr;
    (void)flags;
    CHECK_PTR(virPtr);
    return FAIL(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "not available on this "
                "chip");
}

ACL_EXPORT aclError aclrtReleaseMemAddress(void *virPtr)
{
    aclError rc = ACL_ERROR_RT_PARAM_INVALID;
    range **p, *r;

    CHECK_PTR(virPtr);
    pthread_mutex_lock(&lock);
    for (p = &ranges; (r = *p) && r->va != (uintptr_t)virPtr; p = &r->next) {
    }
    if (!r) {
        FAIL(rc, "%p is not the start of a reserved range", virPtr);
    } else if (r->maps) {
        FAIL(rc, "memory is mapped at 0x%llx: unmap it first",
             (unsigned long long)r->maps->va);
    } else {
        *p = r->next;
        atomic_fetch_sub(&num_ranges, 1);
        dev_mem_free(r->va);
        free(r);
        rc = ACL_SUCCESS;
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

bool vmm_reserved(uint64_t addr)
{
    bool is = false;

    if (atomic_load(&num_ranges)) {
        pthread_mutex_lock(&lock);
        is = range_at(addr) != NULL;
        pthread_mutex_unlock(&lock);
    }
    return is;
}

bool vmm_usable(uint64_t addr, uint64_t size)
{
    bool ok = true;

    if (atomic_load(&num_ranges)) {
        pthread_mutex_lock(&lock);
        ok = !range_at(addr) || all_mapped(addr, size, ANY);
        pthread_mutex_unlock(&lock);
    }
    return ok;
}

bool vmm_granted(uint64_t addr, uint64_t size, int32_t device)
{
    bool ok = false;

    if (atomic_load(&num_ranges)) {
        pthread_mutex_lock(&lock);
        ok = all_mapped(addr, size ? size : 1, device);
        pthread_mutex_unlock(&lock);
    }
    return ok;
}

/* ---- physical memory ---- */

ACL_EXPORT aclError aclrtMallocPhysical(aclrtDrvMemHandle *handle, size_t size,
                                        const aclrtPhysicalMemProp *prop,
                                        uint64_t flags)
{
    uint64_t g;
    aclError rc;
    phys *h;

    CHECK_PTR(handle);
    CHECK_PTR(prop);
    if (size == 0 || flags) {
        return FAIL(ACL_ERROR_INVALID_PARAM, "size %zu (more than 0), flags "
                    "%llu (0)", size, (unsigned long long)flags);
    }
    rc = check_prop(__func__, prop);
    if (rc) {
        return rc;
    }
    g = granule_of(prop->memAttr);
    if (size % g) {
        return FAIL(ACL_ERROR_RT_PARAM_INVALID, "size %zu is not a multiple of "
                    "the granularity %llu", size, (unsigned long long)g);
    }
    h = handle_new(H_PHYS);
    if (!h) {
        return FAIL(ACL_ERROR_RT_MEMORY_ALLOCATION, "too many handles");
    }
    h->owners = 1;
    h->size = size;
    h->prop = *prop;
    *handle = h;
    return ACL_SUCCESS;
}

static phys *phys_need(const char *func, const void *h, aclError *rc)
{
    if (!h) {
        *rc = acl_fail(func, ACL_ERROR_INVALID_PARAM, "handle is NULL");
        return NULL;
    }
    if (!handle_is(h, H_PHYS)) {
        *rc = acl_fail(func, ACL_ERROR_RT_INVALID_HANDLE, "handle %p is %s", h,
                       handle_what(h));
        return NULL;
    }
    return (phys *)h;
}

/* Memory that is mapped stays until it is unmapped. */
static void phys_put(phys *h)
{
    if (!h->owners && !h->va) {
        handle_free(h);
    }
}

ACL_EXPORT aclError aclrtFreePhysical(aclrtDrvMemHandle handle)
{
    aclError rc;
    phys *h = phys_need(__func__, handle, &rc);

    if (!h) {
        return rc;
    }
    pthread_mutex_lock(&lock);
    if (h->owners) {
        h->owners--;
        phys_put(h);
        rc = ACL_SUCCESS;
    } else {
        rc = FAIL(ACL_ERROR_RT_INVALID_HANDLE, "handle %p was freed already "
                  "and lives by its mapping at 0x%llx only", handle,
                  (unsigned long long)h->va);
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

/* Ranges go with their device; the handles stay, mapped nowhere. */
void vmm_device_gone(const acl_dev *d)
{
    range **p = &ranges, *r;
    phys *h;

    pthread_mutex_lock(&lock);
    while ((r = *p)) {
        if (r->dev != d) {
            p = &r->next;
            continue;
        }
        while ((h = r->maps)) {
            r->maps = h->next;
            h->va = 0;
            phys_put(h);
        }
        *p = r->next;
        atomic_fetch_sub(&num_ranges, 1);
        free(r);
    }
    pthread_mutex_unlock(&lock);
}

/* A mapping that [va, va + size) would overlap, NULL: none. */
static const phys *in_the_way(const range *r, uint64_t va, size_t size)
{
    const phys *h;

    for (h = r->maps; h && (h->va >= va + size || va >= h->va + h->size);
         h = h->next) {
    }
    return h;
}

static aclError map(const char *func, void *va, size_t size, size_t offset,
                    void *handle, uint64_t flags)
{
    aclError rc = ACL_ERROR_RT_PARAM_INVALID;
    uint64_t at = (uintptr_t)va;
    phys *h;
    range *r;

    if (!va || size == 0 || offset || flags) {
        return acl_fail(func, ACL_ERROR_INVALID_PARAM, "virPtr %p, size %zu "
                        "(more than 0), offset %zu (0), flags %llu (0)", va,
                        size, offset, (unsigned long long)flags);
    }
    h = phys_need(func, handle, &rc);
    if (!h) {
        return rc;
    }
    rc = ACL_ERROR_RT_PARAM_INVALID;
    pthread_mutex_lock(&lock);
    r = range_at(at);
    if (!r || size > r->size - (at - r->va)) {
        acl_fail(func, rc, "%p+%zu does not lie in a reserved range", va,
                 size);
    } else if ((at - r->va) % granule_of(h->prop.memAttr)) {
        acl_fail(func, rc, "%p is not at a multiple of the granularity %llu "
                 "in its range, which starts at 0x%llx", va,
                 (unsigned long long)granule_of(h->prop.memAttr),
                 (unsigned long long)r->va);
    } else if (size != h->size) {
        acl_fail(func, rc, "size %zu differs from the handle's %zu", size,
                 h->size);
    } else if (in_the_way(r, at, size)) {
        acl_fail(func, rc, "%p+%zu is mapped already (0x%llx+%zu)", va, size,
                 (unsigned long long)in_the_way(r, at, size)->va,
                 in_the_way(r, at, size)->size);
    } else if (h->va) {
        rc = acl_fail(func, ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "the handle is "
                      "mapped at 0x%llx: a second place is not supported on "
                      "this card", (unsigned long long)h->va);
    } else if (a350_device_of(va) != (int32_t)h->prop.location.id) {
        rc = acl_fail(func, ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "the range is of "
                      "device %d, the handle of device %u: ranges hold memory "
                      "of their own device", a350_device_of(va),
                      h->prop.location.id);
    } else {
        h->va = at;
        memset(h->granted, 0, sizeof(h->granted));
        h->next = r->maps;
        r->maps = h;
        rc = ACL_SUCCESS;
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

ACL_EXPORT aclError aclrtMapMem(void *virPtr, size_t size, size_t offset,
                                aclrtDrvMemHandle handle, uint64_t flags)
{
    return map(__func__, virPtr, size, offset, handle, flags);
}

ACL_EXPORT aclError aclrtMemMapNoAccess(void *virPtr, size_t size,
                                        size_t offset,
                                        aclrtDrvMemHandle handle,
                                        uint64_t flags)
{
    return map(__func__, virPtr, size, offset, handle, flags);
}

ACL_EXPORT aclError aclrtUnmapMem(void *virPtr)
{
    uint64_t at = (uintptr_t)virPtr;
    aclError rc = ACL_SUCCESS;
    phys *h, **p;
    range *r;

    CHECK_PTR(virPtr);
    pthread_mutex_lock(&lock);
    r = range_at(at);
    h = mapped_at(r, at);
    if (!h || h->va != at) {
        rc = FAIL(ACL_ERROR_RT_PARAM_INVALID, "nothing is mapped at %p%s",
                  virPtr, h ? " (it is the middle of a mapping)" : "");
    } else {
        for (p = &r->maps; *p != h; p = &(*p)->next) {
        }
        *p = h->next;
        h->va = 0;
        phys_put(h);
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

/* ---- access ---- */

static aclError not_mapped(const char *func, const void *va, size_t size)
{
    return acl_fail(func, ACL_ERROR_RT_PARAM_INVALID, "%p+%zu is not mapped, "
                    "or not all of it", va, size);
}

static aclError check_access(const char *func, const aclrtMemAccessDesc *d)
{
    if (d->flags != ACL_RT_MEM_ACCESS_FLAGS_READWRITE) {
        return acl_fail(func, ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "flags 0x%x: "
                        "only 0x3 (read and write), the card does not protect "
                        "its memory", (unsigned)d->flags);
    }
    if (d->location.type != ACL_MEM_LOCATION_TYPE_DEVICE) {
        return acl_fail(func, ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "location "
                        "type %d: only 1 (device)", (int)d->location.type);
    }
    return dev_get((int32_t)d->location.id)
           ? ACL_SUCCESS : dev_bad_id(func, d->location.id);
}

/* To all that is mapped in [va, va + size), which is all of it. */
static void grant(uint64_t va, uint64_t size, int32_t device)
{
    const range *r = range_at(va);
    phys *h;

    for (h = r->maps; h; h = h->next) {
        if (h->va < va + size && h->va + h->size > va) {
            h->granted[device / 64] |= 1ull << (device % 64);
        }
    }
}

ACL_EXPORT aclError aclrtMemSetAccess(void *virPtr, size_t size,
                                      aclrtMemAccessDesc *desc, size_t count)
{
    aclError rc = ACL_SUCCESS;
    size_t i;

    CHECK_PTR(virPtr);
    CHECK_PTR(desc);
    if (size == 0 || count == 0) {
        return FAIL(ACL_ERROR_INVALID_PARAM, "size %zu, count %zu: more than "
                    "0", size, count);
    }
    for (i = 0; i < count && rc == ACL_SUCCESS; i++) {
        rc = check_access(__func__, &desc[i]);
    }
    pthread_mutex_lock(&lock);
    if (rc == ACL_SUCCESS && !all_mapped((uintptr_t)virPtr, size, ANY)) {
        rc = not_mapped(__func__, virPtr, size);
    }
    for (i = 0; i < count && rc == ACL_SUCCESS; i++) {
        grant((uintptr_t)virPtr, size, (int32_t)desc[i].location.id);
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

ACL_EXPORT aclError aclrtMemGetAccess(void *virPtr, aclrtMemLocation *location,
                                      uint64_t *flag)
{
    aclError rc = ACL_SUCCESS;

    CHECK_PTR(virPtr);
    CHECK_PTR(location);
    CHECK_PTR(flag);
    if (location->type != ACL_MEM_LOCATION_TYPE_DEVICE) {
        return FAIL(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "location type %d: only "
                    "1 (device)", (int)location->type);
    }
    if (!dev_get((int32_t)location->id)) {
        return dev_bad_id(__func__, location->id);
    }
    pthread_mutex_lock(&lock);
    if (all_mapped((uintptr_t)virPtr, 1, ANY)) {
        *flag = all_mapped((uintptr_t)virPtr, 1, (int32_t)location->id)
                ? ACL_RT_MEM_ACCESS_FLAGS_READWRITE
                : ACL_RT_MEM_ACCESS_FLAGS_NONE;
    } else {
        rc = not_mapped(__func__, virPtr, 1);
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

ACL_EXPORT aclError aclrtMemGetAllocationGranularity(
    aclrtPhysicalMemProp *prop, aclrtMemGranularityOptions option,
    size_t *granularity)
{
    aclError rc;

    CHECK_PTR(prop);
    CHECK_PTR(granularity);
    if (option != ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM &&
        option != ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED) {
        return FAIL(ACL_ERROR_INVALID_PARAM, "option %d: 0 or 1",
                    (int)option);
    }
    rc = check_prop(__func__, prop);
    if (rc == ACL_SUCCESS) {
        *granularity = granule_of(prop->memAttr);
    }
    return rc;
}

ACL_EXPORT aclError aclrtMemRetainAllocationHandle(void *virPtr,
                                                   aclrtDrvMemHandle *handle)
{
    aclError rc = ACL_SUCCESS;
    phys *h;

    CHECK_PTR(virPtr);
    CHECK_PTR(handle);
    pthread_mutex_lock(&lock);
    h = mapped_at(range_at((uintptr_t)virPtr), (uintptr_t)virPtr);
    if (h) {
        h->owners++;
        *handle = h;
    } else {
        rc = not_mapped(__func__, virPtr, 1);
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

ACL_EXPORT aclError aclrtMemGetAllocationPropertiesFromHandle(
    aclrtDrvMemHandle handle, aclrtPhysicalMemProp *prop)
{
    aclError rc;
    phys *h;

    CHECK_PTR(prop);
    h = phys_need(__func__, handle, &rc);
    if (!h) {
        return rc;
    }
    *prop = h->prop;
    return ACL_SUCCESS;
}

/* ---- sharing ---- */

static aclError no_sharing(const char *func)
{
    return acl_fail(func, ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "a card belongs to "
                    "one process: its memory cannot be shared with another "
                    "one (ranks reach each other through channels)");
}

ACL_EXPORT aclError aclrtMemExportToShareableHandle(
    aclrtDrvMemHandle handle, aclrtMemHandleType handleType, uint64_t flags,
    uint64_t *shareableHandle)
{
    aclError rc;

    (void)handleType;
    (void)flags;
    CHECK_PTR(shareableHandle);
    return phys_need(__func__, handle, &rc) ? no_sharing(__func__) : rc;
}

ACL_EXPORT aclError aclrtMemExportToShareableHandleV2(
    aclrtDrvMemHandle handle, uint64_t flags,
    aclrtMemSharedHandleType shareType, void *shareableHandle)
{
    aclError rc;

    (void)flags;
    (void)shareType;
    CHECK_PTR(shareableHandle);
    return phys_need(__func__, handle, &rc) ? no_sharing(__func__) : rc;
}

ACL_EXPORT aclError aclrtMemImportFromShareableHandle(
    uint64_t shareableHandle, int32_t deviceId, aclrtDrvMemHandle *handle)
{
    (void)shareableHandle;
    CHECK_PTR(handle);
    return dev_get(deviceId) ? no_sharing(__func__)
                             : dev_bad_id(__func__, deviceId);
}

ACL_EXPORT aclError aclrtMemImportFromShareableHandleV2(
    void *shareableHandle, aclrtMemSharedHandleType shareType, uint64_t flags,
    aclrtDrvMemHandle *handle)
{
    (void)shareType;
    (void)flags;
    CHECK_PTR(shareableHandle);
    CHECK_PTR(handle);
    return no_sharing(__func__);
}

ACL_EXPORT aclError aclrtMemSetPidToShareableHandle(uint64_t shareableHandle,
                                                    int32_t *pid,
                                                    size_t pidNum)
{
    (void)shareableHandle;
    (void)pidNum;
    CHECK_PTR(pid);
    return no_sharing(__func__);
}

ACL_EXPORT aclError aclrtMemSetPidToShareableHandleV2(
    void *shareableHandle, aclrtMemSharedHandleType shareType, int32_t *pid,
    size_t pidNum)
{
    (void)shareType;
    (void)pidNum;
    CHECK_PTR(shareableHandle);
    CHECK_PTR(pid);
    return no_sharing(__func__);
}
