/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies, fills, reductions, values.
 *
 * The host reaches device memory through BAR4 and copies small amounts itself.
 * Large ones between device memory and memory that the card can address go
 * through the card's copy engine. Memory that is not pinned is always copied
 * by the host: pinning it for one copy costs more than the copy.
 */
#include "ipc_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ENGINE_MIN_D2D  (16u << 10)
#define ENGINE_MIN_H2D  (256u << 10)
#define SLICE           (256u << 20)     /* bytes of one entry */
#define STAGE_SMALL     (32u << 10)
#define STAGE_MAX       (64ull << 20)

/* IPC: memory that another process has exported. */
typedef enum { SIDE_HOST, SIDE_DEV, SIDE_IPC, SIDE_BAD } side;

typedef struct place {
    side side;
    acl_dev *dev;                /* SIDE_DEV: its device */
    ipc_mem ipc;                 /* SIDE_IPC */
    uint64_t addr, size;
} place;

static bool is_device(const place *p)
{
    return p->side == SIDE_DEV || p->side == SIDE_IPC;
}

/* ---- where memory is ---- */

static side bad_range(const char *func, const char *name, const void *p,
                      uint64_t n, uint64_t base, uint64_t size)
{
    acl_fail(func, ACL_ERROR_RT_PARAM_INVALID, "%s %p: %llu bytes run past the "
             "end of its block (%p, %llu bytes)", name, p,
             (unsigned long long)n, (void *)(uintptr_t)base,
             (unsigned long long)size);
    return SIDE_BAD;
}

/* Checks memory of a card that is not open here. */
static side side_of_ipc(const char *func, const char *name, const void *p,
                        uint64_t n, ipc_mem *m)
{
    uint64_t addr = (uintptr_t)p;

    if (!ipc_mem_find(addr, m)) {
        acl_fail(func, ACL_ERROR_RT_PARAM_INVALID, "%s %p is memory of a card "
                 "that this process has not open, and not imported", name, p);
        return SIDE_BAD;
    }
    if (m->ended) {
        acl_fail(func, ACL_ERROR_RT_PARAM_INVALID, "%s %p is memory of process "
                 "%d, which %s", name, p, m->pid, m->ended);
        return SIDE_BAD;
    }
    if (n > m->size - (addr - m->base)) {
        return bad_range(func, name, p, n, m->base, m->size);
    }
    return SIDE_IPC;
}

/* Checks [p, p + n) when it is device memory. */
static side side_of(const char *func, const char *name, const void *p,
                    uint64_t n, place *at)
{
    uint64_t addr = (uintptr_t)p, base, size;
    acl_dev *d;

    at->dev = NULL;
    at->addr = addr;
    at->size = n;
    if (a350_addr_is_host(addr)) {
        return at->side = SIDE_HOST;
    }
    d = dev_of_addr(addr);
    if (!d) {
        return at->side = side_of_ipc(func, name, p, n, &at->ipc);
    }
    at->dev = d;
    at->side = SIDE_BAD;
    /* The firmware's reserve is not in the allocator: nothing to check. */
    if (a350_addr_offset(addr) < a350_card_id(d->card)->hbm_usable) {
        if (a350_hbm_range(addr, &base, &size)) {
            acl_fail(func, ACL_ERROR_RT_PARAM_INVALID, "%s %p is not "
                     "allocated device memory", name, p);
            return SIDE_BAD;
        }
        size = (size + 63) & ~63ull;
        if (n > size - (addr - base)) {
            return bad_range(func, name, p, n, base, size);
        }
        if (!vmm_usable(addr, n)) {
            acl_fail(func, ACL_ERROR_RT_PARAM_INVALID, "%s %p+%llu: no memory "
                     "is mapped there, or not for all of it (aclrtMapMem)",
                     name, p, (unsigned long long)n);
            return SIDE_BAD;
        }
    } else if (!a350_hbm_ptr(addr, n)) {
        acl_fail(func, ACL_ERROR_RT_PARAM_INVALID, "%s %p+%llu is outside of "
                 "device memory", name, p, (unsigned long long)n);
        return SIDE_BAD;
    }
    return at->side = SIDE_DEV;
}

/* May @runner's card reach what another process has exported? */
static aclError ipc_ok(const char *func, const acl_dev *runner,
                       const place *at)
{
    const ipc_mem *m = &at->ipc;

    if (at->side != SIDE_IPC ||
        (m->peer_access && m->importer == runner->id) ||
        m->device == runner->id ||
        (m->device >= 0 && dev_peer_enabled(runner, m->device))) {
        return ACL_SUCCESS;
    }
    return acl_fail(func, ACL_ERROR_RT_DRV_INTERNAL_ERROR, "device %d is no "
                    "peer of the card of process %d's memory: import it with "
                    "flag 0x1 while device %d is current, or call "
                    "aclrtDeviceEnablePeerAccess", runner->id, m->pid,
                    runner->id);
}

/* @runner: whose card does the work. */
static aclError peers_ok(const char *func, const acl_dev *runner,
                         const place *a, const place *b)
{
    const acl_dev *x = a->dev, *y = b->dev;
    aclError rc;

    if ((rc = ipc_ok(func, runner, a)) || (rc = ipc_ok(func, runner, b))) {
        return rc;
    }
    if (!x || !y || x == y || dev_peer_enabled(x, y->id) ||
        dev_peer_enabled(y, x->id) ||
        vmm_granted(a->addr, a->size, y->id) ||
        vmm_granted(b->addr, b->size, x->id)) {
        return ACL_SUCCESS;
    }
    return acl_fail(func, ACL_ERROR_RT_DRV_INTERNAL_ERROR, "devices %d and %d "
                    "are not peers: call aclrtDeviceEnablePeerAccess first, or "
                    "aclrtMemSetAccess for mapped memory", x->id, y->id);
}

static aclError check_args(const char *func, const void *dst, size_t max,
                           const void *src, size_t count)
{
    if (!dst || !src) {
        return acl_fail(func, ACL_ERROR_INVALID_PARAM, "%s is NULL",
                        dst ? "src" : "dst");
    }
    if (max == 0 || max < count) {
        return acl_fail(func, ACL_ERROR_RT_PARAM_INVALID, "count %zu is more "
                        "than destMax %zu", count, max);
    }
    return ACL_SUCCESS;
}

/* ---- synchronous ---- */

static void host_move(void *dst, const void *src, size_t n)
{
    uintptr_t d = (uintptr_t)dst, s = (uintptr_t)src;

    if (d - s < n || s - d < n) {
        memmove(dst, src, n);
    } else {
        a350_copy(dst, src, n);
    }
}

/* The card moves it; addresses are the card's or pinned host memory. */
static aclError engine_copy(const char *func, acl_dev *d, uint64_t dst,
                            uint64_t src, uint64_t n)
{
    a350_slice s = a350_slices(dst, src, n, SLICE);
    a350_sqe e[64];
    unsigned k = 0;
    aclError rc;

    while (a350_slice_next(&s)) {
        a350_sqe_sdma(&e[k++], 0, A350_SDMA_CPY, dst + s.at, src + s.at,
                      s.len);
        if (k == 64 || s.left == 0) {
            rc = dev_run(func, d, e, k, -1);
            if (rc) {
                return rc;
            }
            k = 0;
        }
    }
    return ACL_SUCCESS;
}

static void *reach(const void *p, const place *at, size_t n)
{
    return at->side == SIDE_HOST ? (void *)p : a350_hbm_ptr((uintptr_t)p, n);
}

/*
 * Between memory of another process, which the host cannot reach, and host
 * memory that the card cannot: through device memory of @d.
 */
static aclError copy_through(const char *func, acl_dev *d, uint8_t *host,
                             uint64_t far, size_t n, bool to_host)
{
    size_t room = n < STAGE_MAX ? n : STAGE_MAX, len;
    aclError rc = ACL_SUCCESS;
    uint64_t stage;
    int err = a350_hbm_alloc(d->card, room, A350_HBM_NORMAL, &stage);

    if (err) {
        return acl_fail_card(func, err);
    }
    for (; n && rc == ACL_SUCCESS; n -= len, host += len, far += len) {
        len = n < room ? n : room;
        if (!to_host) {
            a350_copy(a350_hbm_ptr(stage, len), host, len);
        }
        rc = engine_copy(func, d, to_host ? stage : far,
                         to_host ? far : stage, len);
        if (to_host && rc == ACL_SUCCESS) {
            a350_copy(host, a350_hbm_ptr(stage, len), len);
        }
    }
    a350_hbm_free(stage);
    return rc;
}

/* One side or both are memory of another process. */
static aclError copy_ipc(const char *func, void *dst, const place *dp,
                         const void *src, const place *sp, size_t n)
{
    acl_dev *d = dp->dev ? dp->dev : sp->dev;
    acl_ctx *c;
    aclError rc;

    if (!d) {
        c = ctx_need(func, &rc);
        if (!c) {
            return rc;
        }
        d = c->dev;
    }
    rc = peers_ok(func, d, dp, sp);
    if (rc) {
        return rc;
    }
    if (dp->side == SIDE_HOST && !a350_host_is_pinned(dst, n)) {
        return copy_through(func, d, dst, (uintptr_t)src, n, true);
    }
    if (sp->side == SIDE_HOST && !a350_host_is_pinned(src, n)) {
        return copy_through(func, d, (void *)src, (uintptr_t)dst, n, false);
    }
    return engine_copy(func, d, (uintptr_t)dst, (uintptr_t)src, n);
}

aclError copy_sync(const char *func, void *dst, const void *src, size_t n)
{
    acl_dev *dd, *sd;
    place dp, sp;
    aclError rc;

    if (n == 0 || dst == src) {
        return ACL_SUCCESS;
    }
    if (side_of(func, "dst", dst, n, &dp) == SIDE_BAD ||
        side_of(func, "src", src, n, &sp) == SIDE_BAD) {
        return ACL_ERROR_RT_PARAM_INVALID;
    }
    if (dp.side == SIDE_IPC || sp.side == SIDE_IPC) {
        return copy_ipc(func, dst, &dp, src, &sp, n);
    }
    dd = dp.dev;
    sd = sp.dev;
    rc = peers_ok(func, sd, &dp, &sp);
    if (rc) {
        return rc;
    }
    if (dd && sd && (n >= ENGINE_MIN_D2D ||
                     (uintptr_t)dst - (uintptr_t)src + n < 2 * n)) {
        return engine_copy(func, sd, (uintptr_t)dst, (uintptr_t)src, n);
    }
    if ((dd != NULL) != (sd != NULL) && n >= ENGINE_MIN_H2D &&
        a350_host_is_pinned(dd ? src : dst, n)) {
        return engine_copy(func, dd ? dd : sd, (uintptr_t)dst, (uintptr_t)src,
                           n);
    }
    host_move(reach(dst, &dp, n), reach(src, &sp, n), n);
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtMemcpy(void *dst, size_t destMax, const void *src,
                                size_t count, aclrtMemcpyKind kind)
{
    aclError rc;

    if (count == 0) {
        return ACL_SUCCESS;
    }
    rc = check_args(__func__, dst, destMax, src, count);
    if (rc) {
        return rc;
    }
    if ((int)kind < 0 || kind > ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE) {
        return FAIL(ACL_ERROR_INVALID_PARAM, "kind %d: legal 0..5", (int)kind);
    }
    if ((dst != src && !ctx_need(__func__, &rc)) ||
        (rc = graph_forbids(__func__, ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT))) {
        return rc;
    }
    return copy_sync(__func__, dst, src, count);
}

ACL_EXPORT aclError aclrtMemset(void *devPtr, size_t maxCount, int32_t value,
                                size_t count)
{
    acl_dev *d;
    aclError rc;
    acl_ctx *c;
    place at;

    if (count == 0) {
        return ACL_SUCCESS;
    }
    rc = check_args(__func__, devPtr, maxCount, devPtr, count);
    if (rc) {
        return rc;
    }
    c = ctx_need(__func__, &rc);
    if (!c || (rc = graph_forbids(__func__, ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT))) {
        return rc;
    }
    if (side_of(__func__, "devPtr", devPtr, count, &at) == SIDE_BAD) {
        return ACL_ERROR_RT_PARAM_INVALID;
    }
    rc = ipc_ok(__func__, c->dev, &at);
    if (rc) {
        return rc;
    }
    d = at.dev ? at.dev : c->dev;
    if (at.side == SIDE_IPC ||
        (at.side == SIDE_DEV && count >= ENGINE_MIN_H2D)) {
        uint64_t addr = (uintptr_t)devPtr;

        while (count) {
            uint64_t len = count < SLICE ? count : SLICE;
            a350_sqe e;

            a350_sqe_memset(&e, 0, addr, (uint8_t)value, (uint32_t)len);
            rc = dev_run(__func__, d, &e, 1, -1);
            if (rc) {
                return rc;
            }
            addr += len;
            count -= len;
        }
        return ACL_SUCCESS;
    }
    a350_fill(reach(devPtr, &at, count), value, count);
    return ACL_SUCCESS;
}

/* ---- asynchronous ---- */

static aclError check_kind(const char *func, aclrtMemcpyKind kind,
                           const place *dst, const place *src)
{
    bool d = is_device(dst), s = is_device(src), ok;

    switch (kind) {
    case ACL_MEMCPY_HOST_TO_HOST:
        return acl_fail(func, ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "asynchronous "
                        "copies from host to host are not supported");
    case ACL_MEMCPY_HOST_TO_DEVICE:
    case ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE:
        ok = d && !s;
        break;
    case ACL_MEMCPY_DEVICE_TO_HOST:
        ok = !d && s;
        break;
    case ACL_MEMCPY_DEVICE_TO_DEVICE:
    case ACL_MEMCPY_INNER_DEVICE_TO_DEVICE:
    case ACL_MEMCPY_INTER_DEVICE_TO_DEVICE:
        ok = d && s;
        break;
    case ACL_MEMCPY_DEFAULT:
        if (!d && !s) {
            return acl_fail(func, ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "both "
                            "addresses are host memory: asynchronous copies "
                            "from host to host are not supported");
        }
        ok = true;
        break;
    default:
        return acl_fail(func, ACL_ERROR_INVALID_PARAM, "kind %d: legal 0..7",
                        (int)kind);
    }
    return ok ? ACL_SUCCESS
              : acl_fail(func, ACL_ERROR_RT_PARAM_INVALID, "kind %d does not "
                         "fit: dst is %s memory, src is %s memory", (int)kind,
                         d ? "device" : "host", s ? "device" : "host");
}

/* @opcode: SDMA operation and type; entries of at most SLICE bytes. */
static aclError engine_async(const char *func, a350_stream *s, uint32_t opcode,
                             uint64_t dst, uint64_t src, uint64_t n,
                             uint64_t free_dev, const char *what)
{
    a350_slice p = a350_slices(dst, src, n, SLICE);
    task_meta m = { .what = what };
    aclError rc = ACL_SUCCESS;
    a350_sqe e;

    while (rc == ACL_SUCCESS && a350_slice_next(&p)) {
        if (p.left == 0) {
            m.free_dev = (void *)(uintptr_t)free_dev;
        }
        a350_sqe_sdma(&e, 0, opcode, dst + p.at, src + p.at, p.len);
        rc = stream_submit(func, s, &e, 1, NULL, &m, NULL);
    }
    return rc;
}

/* What the card cannot do in the stream's order, the host does after it. */
static aclError wait_for(const char *func, a350_stream *s)
{
    aclError rc = stream_capturing(func, s);

    if (rc == ACL_SUCCESS) {
        rc = graph_forbids(func, ACL_ERROR_RT_CAPTURE_MODE_BLOCK_ASYNC);
    }
    return rc ? rc : stream_wait(func, s, 0, -1);
}

/* Pageable memory to the device: through device memory, so in order. */
static aclError stage_async(const char *func, a350_stream *s, uint64_t dst,
                            const void *src, size_t n)
{
    task_meta m = { .what = "copy" };
    uint64_t dev;
    void *host;
    aclError rc;
    a350_sqe e;

    if (n <= STAGE_SMALL) {
        pthread_mutex_lock(&s->lock);
        rc = stream_args(func, s, n, &dev, &host, &m.args_end);
        if (rc == ACL_SUCCESS) {
            a350_copy(host, src, n);
            a350_sqe_sdma(&e, 0, A350_SDMA_CPY, dst, dev, (uint32_t)n);
            rc = stream_submit_locked(func, s, &e, 1, NULL, &m, NULL);
        }
        pthread_mutex_unlock(&s->lock);
        return rc;
    }
    if (n > STAGE_MAX || s->capture ||
        a350_hbm_new(s->card, src, n, &dev)) {
        rc = wait_for(func, s);
        return rc ? rc : copy_sync(func, (void *)(uintptr_t)dst, src, n);
    }
    rc = engine_async(func, s, A350_SDMA_CPY, dst, dev, n, dev, "copy");
    if (rc) {
        a350_hbm_free(dev);
    }
    return rc;
}

static aclError copy_async(const char *func, void *dst, const void *src,
                           size_t n, aclrtMemcpyKind kind, a350_stream *s)
{
    place dp, sp;
    aclError rc;

    if (side_of(func, "dst", dst, n, &dp) == SIDE_BAD ||
        side_of(func, "src", src, n, &sp) == SIDE_BAD) {
        return ACL_ERROR_RT_PARAM_INVALID;
    }
    if ((rc = check_kind(func, kind, &dp, &sp)) ||
        (rc = peers_ok(func, s->ctx->dev, &dp, &sp))) {
        return rc;
    }
    if ((is_device(&dp) || a350_host_is_pinned(dst, n)) &&
        (is_device(&sp) || a350_host_is_pinned(src, n))) {
        return engine_async(func, s, A350_SDMA_CPY, (uintptr_t)dst,
                            (uintptr_t)src, n, 0, "copy");
    }
    if (is_device(&dp)) {
        return stage_async(func, s, (uintptr_t)dst, src, n);
    }
    rc = wait_for(func, s);
    return rc ? rc : copy_sync(func, dst, src, n);
}

ACL_EXPORT aclError aclrtMemcpyAsync(void *dst, size_t destMax,
                                     const void *src, size_t count,
                                     aclrtMemcpyKind kind, aclrtStream stream)
{
    const place host = { .side = SIDE_HOST };
    a350_stream *s;
    aclError rc;

    if (kind == ACL_MEMCPY_HOST_TO_HOST) {
        return check_kind(__func__, kind, &host, &host);
    }
    if (count == 0) {
        return ACL_SUCCESS;
    }
    rc = check_args(__func__, dst, destMax, src, count);
    if (rc) {
        return rc;
    }
    s = stream_need(__func__, stream, &rc);
    if (!s) {
        return rc;
    }
    return dst == src ? ACL_SUCCESS
                      : copy_async(__func__, dst, src, count, kind, s);
}

ACL_EXPORT aclError aclrtMemsetAsync(void *devPtr, size_t maxCount,
                                     int32_t value, size_t count,
                                     aclrtStream stream)
{
    task_meta m = { .what = "fill" };
    a350_stream *s;
    uint64_t addr = (uintptr_t)devPtr;
    aclError rc;
    a350_sqe e;
    place at;

    if (count == 0) {
        return ACL_SUCCESS;
    }
    rc = check_args(__func__, devPtr, maxCount, devPtr, count);
    if (rc) {
        return rc;
    }
    s = stream_need(__func__, stream, &rc);
    if (!s) {
        return rc;
    }
    if (side_of(__func__, "devPtr", devPtr, count, &at) == SIDE_BAD) {
        return ACL_ERROR_RT_PARAM_INVALID;
    }
    rc = ipc_ok(__func__, s->ctx->dev, &at);
    if (rc) {
        return rc;
    }
    if (at.side == SIDE_HOST && !a350_host_is_pinned(devPtr, count)) {
        rc = wait_for(__func__, s);
        if (rc) {
            return rc;
        }
        a350_fill(devPtr, value, count);
        return ACL_SUCCESS;
    }
    while (count && rc == ACL_SUCCESS) {
        uint64_t len = count < SLICE ? count : SLICE;

        a350_sqe_memset(&e, 0, addr, (uint8_t)value, (uint32_t)len);
        rc = stream_submit(__func__, s, &e, 1, NULL, &m, NULL);
        addr += len;
        count -= len;
    }
    return rc;
}

/* ---- two dimensions ---- */

static aclError check_2d(const char *func, const void *dst, size_t dpitch,
                         const void *src, size_t spitch, size_t width,
                         size_t height, aclrtMemcpyKind kind)
{
    if (!dst || !src) {
        return acl_fail(func, ACL_ERROR_INVALID_PARAM, "%s is NULL",
                        dst ? "src" : "dst");
    }
    if (width == 0 || height == 0 || width > dpitch || width > spitch) {
        return acl_fail(func, ACL_ERROR_RT_PARAM_INVALID, "width %zu, height "
                        "%zu, pitches %zu and %zu: width and height are more "
                        "than 0, and no pitch is less than the width", width,
                        height, dpitch, spitch);
    }
    if ((int)kind < 0 || kind > ACL_MEMCPY_DEFAULT) {
        return acl_fail(func, ACL_ERROR_INVALID_PARAM, "kind %d: legal 0..4",
                        (int)kind);
    }
    return ACL_SUCCESS;
}

/* Looks at the whole of both areas, so that no row is copied in vain. */
static aclError check_areas(const char *func, const void *dst, size_t dpitch,
                            const void *src, size_t spitch, size_t width,
                            size_t height)
{
    size_t pitch = dpitch > spitch ? dpitch : spitch;
    place at;

    if (height - 1 > (SIZE_MAX - width) / pitch) {
        return acl_fail(func, ACL_ERROR_RT_PARAM_INVALID, "height %zu of pitch "
                        "%zu: the area is no size of 64 bits", height, pitch);
    }
    return side_of(func, "dst", dst, (height - 1) * dpitch + width, &at) ==
           SIDE_BAD ||
           side_of(func, "src", src, (height - 1) * spitch + width, &at) ==
           SIDE_BAD ? ACL_ERROR_RT_PARAM_INVALID : ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtMemcpy2d(void *dst, size_t dpitch, const void *src,
                                  size_t spitch, size_t width, size_t height,
                                  aclrtMemcpyKind kind)
{
    aclError rc = check_2d(__func__, dst, dpitch, src, spitch, width, height,
                           kind);
    size_t y;

    if (rc || !ctx_need(__func__, &rc) ||
        (rc = graph_forbids(__func__, ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT)) ||
        (rc = check_areas(__func__, dst, dpitch, src, spitch, width,
                          height))) {
        return rc;
    }
    for (y = 0; y < height && rc == ACL_SUCCESS; y++) {
        rc = copy_sync(__func__, (char *)dst + y * dpitch,
                       (const char *)src + y * spitch, width);
    }
    return rc;
}

ACL_EXPORT aclError aclrtMemcpy2dAsync(void *dst, size_t dpitch,
                                       const void *src, size_t spitch,
                                       size_t width, size_t height,
                                       aclrtMemcpyKind kind,
                                       aclrtStream stream)
{
    aclError rc = check_2d(__func__, dst, dpitch, src, spitch, width, height,
                           kind);
    a350_stream *s;
    size_t y;

    if (rc) {
        return rc;
    }
    s = stream_need(__func__, stream, &rc);
    if (!s || (rc = check_areas(__func__, dst, dpitch, src, spitch, width,
                                height))) {
        return rc;
    }
    for (y = 0; y < height && rc == ACL_SUCCESS; y++) {
        rc = copy_async(__func__, (char *)dst + y * dpitch,
                        (const char *)src + y * spitch, width, kind, s);
    }
    return rc;
}

/* ---- batches ---- */

static aclError check_batch(const char *func, void **dsts, size_t *maxs,
                            void **srcs, size_t *sizes, size_t n,
                            const aclrtMemcpyBatchAttr *attrs,
                            const size_t *indexes, size_t num_attrs,
                            size_t *fail)
{
    size_t i;

    if (!dsts || !maxs || !srcs || !sizes || !fail || !attrs || !indexes) {
        return acl_fail(func, ACL_ERROR_INVALID_PARAM, "an array is NULL");
    }
    *fail = SIZE_MAX;
    if (n == 0 || num_attrs == 0 || num_attrs > n || indexes[0] != 0) {
        return acl_fail(func, ACL_ERROR_RT_PARAM_INVALID, "%zu items, %zu "
                        "attributes: attributes start at item 0 and are at "
                        "most as many as items", n, num_attrs);
    }
    for (i = 1; i < num_attrs; i++) {
        if (indexes[i] <= indexes[i - 1] || indexes[i] >= n) {
            return acl_fail(func, ACL_ERROR_RT_PARAM_INVALID,
                            "attrsIndexes[%zu] = %zu: must rise and stay "
                            "below %zu", i, indexes[i], n);
        }
    }
    return ACL_SUCCESS;
}

/* Does the item lie where its attribute says? */
static aclError check_place(const char *func, size_t i, const void *p,
                            const aclrtMemLocation *loc, const char *name)
{
    bool dev = !a350_addr_is_host((uintptr_t)p);

    if ((loc->type == ACL_MEM_LOCATION_TYPE_DEVICE) == dev) {
        return ACL_SUCCESS;
    }
    return acl_fail(func, ACL_ERROR_RT_PARAM_INVALID, "item %zu: %s %p is %s "
                    "memory, its attribute says otherwise", i, name, p,
                    dev ? "device" : "host");
}

static aclError batch(const char *func, void **dsts, size_t *maxs, void **srcs,
                      size_t *sizes, size_t n, aclrtMemcpyBatchAttr *attrs,
                      size_t *indexes, size_t num_attrs, size_t *fail,
                      a350_stream *s)
{
    aclError rc = check_batch(func, dsts, maxs, srcs, sizes, n, attrs, indexes,
                              num_attrs, fail);
    size_t i, a = 0;

    for (i = 0; i < n && rc == ACL_SUCCESS; i++) {
        while (a + 1 < num_attrs && indexes[a + 1] <= i) {
            a++;
        }
        if (sizes[i] == 0) {
            continue;
        }
        rc = check_args(func, dsts[i], maxs[i], srcs[i], sizes[i]);
        if (rc == ACL_SUCCESS) {
            rc = check_place(func, i, dsts[i], &attrs[a].dstLoc, "dst");
        }
        if (rc == ACL_SUCCESS) {
            rc = check_place(func, i, srcs[i], &attrs[a].srcLoc, "src");
        }
        if (rc == ACL_SUCCESS) {
            rc = s ? copy_async(func, dsts[i], srcs[i], sizes[i],
                                ACL_MEMCPY_DEFAULT, s)
                   : copy_sync(func, dsts[i], srcs[i], sizes[i]);
        }
        if (rc) {
            *fail = i;
        }
    }
    return rc;
}

ACL_EXPORT aclError aclrtMemcpyBatch(void **dsts, size_t *destMaxs,
                                     void **srcs, size_t *sizes,
                                     size_t numBatches,
                                     aclrtMemcpyBatchAttr *attrs,
                                     size_t *attrsIndexes, size_t numAttrs,
                                     size_t *failIndex)
{
    aclError rc;

    if (!ctx_need(__func__, &rc) ||
        (rc = graph_forbids(__func__, ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT))) {
        return rc;
    }
    return batch(__func__, dsts, destMaxs, srcs, sizes, numBatches, attrs,
                 attrsIndexes, numAttrs, failIndex, NULL);
}

ACL_EXPORT aclError aclrtMemcpyBatchAsync(void **dsts, size_t *destMaxs,
                                          void **srcs, size_t *sizes,
                                          size_t numBatches,
                                          aclrtMemcpyBatchAttr *attrs,
                                          size_t *attrsIndexes,
                                          size_t numAttrs, size_t *failIndex,
                                          aclrtStream stream)
{
    aclError rc;
    a350_stream *s = stream_need(__func__, stream, &rc);

    if (!s) {
        return rc;
    }
    return batch(__func__, dsts, destMaxs, srcs, sizes, numBatches, attrs,
                 attrsIndexes, numAttrs, failIndex, s);
}

/* ---- reduction ---- */

/* Opcode for the copy engine; UINT32_MAX: it cannot. */
static uint32_t reduce_opcode(aclrtReduceKind kind, aclDataType type)
{
    uint32_t op, t;

    switch (kind) {
    case ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM: op = A350_SDMA_ADD; break;
    case ACL_RT_MEMCPY_SDMA_AUTOMATIC_MAX: op = A350_SDMA_MAX; break;
    case ACL_RT_MEMCPY_SDMA_AUTOMATIC_MIN: op = A350_SDMA_MIN; break;
    default:
        return UINT32_MAX;       /* EQUAL has no public meaning */
    }
    switch (type) {
    case ACL_INT8:    t = A350_SDMA_INT8; break;
    case ACL_INT16:   t = A350_SDMA_INT16; break;
    case ACL_INT32:   t = A350_SDMA_INT32; break;
    case ACL_FLOAT16: t = A350_SDMA_FP16; break;
    case ACL_FLOAT:   t = A350_SDMA_FP32; break;
    case ACL_BF16:    t = A350_SDMA_BF16; break;
    default:
        return UINT32_MAX;
    }
    return op | t;
}

ACL_EXPORT aclError aclrtReduceAsync(void *dst, const void *src,
                                     uint64_t count, aclrtReduceKind kind,
                                     aclDataType type, aclrtStream stream,
                                     void *reserve)
{
    uint32_t op = reduce_opcode(kind, type);
    a350_stream *s;
    place dp, sp;
    aclError rc;

    CHECK_PTR(dst);
    CHECK_PTR(src);
    if (reserve) {
        return FAIL(ACL_ERROR_INVALID_PARAM, "reserve must be NULL");
    }
    if (op == UINT32_MAX) {
        return FAIL(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "reduce kind %d on data "
                    "type %d: kinds 10 (sum), 11 (max), 12 (min); int8, int16, "
                    "int32, float16, float, bfloat16", (int)kind, (int)type);
    }
    if (count % aclDataTypeSize(type)) {
        return FAIL(ACL_ERROR_RT_PARAM_INVALID, "count %llu bytes is not a "
                    "multiple of the element (%zu bytes)",
                    (unsigned long long)count, aclDataTypeSize(type));
    }
    s = stream_need(__func__, stream, &rc);
    if (!s) {
        return rc;
    }
    if (side_of(__func__, "dst", dst, count, &dp) == SIDE_BAD ||
        side_of(__func__, "src", src, count, &sp) == SIDE_BAD) {
        return ACL_ERROR_RT_PARAM_INVALID;
    }
    if (!is_device(&dp) || !is_device(&sp)) {
        return FAIL(ACL_ERROR_RT_PARAM_INVALID, "%s is not device memory",
                    is_device(&dp) ? "src" : "dst");
    }
    rc = peers_ok(__func__, s->ctx->dev, &dp, &sp);
    return rc ? rc : engine_async(__func__, s, op, (uintptr_t)dst,
                                  (uintptr_t)src, count, 0, "reduce");
}

/* ---- values ---- */

ACL_EXPORT aclError aclrtValueWrite(void *devAddr, uint64_t value,
                                    uint32_t flag, aclrtStream stream)
{
    task_meta m = { .what = "value write" };
    a350_stream *s;
    aclError rc;
    place at;
    a350_sqe e;

    CHECK_PTR(devAddr);
    if (flag) {
        return FAIL(ACL_ERROR_INVALID_PARAM, "flag %u: must be 0", flag);
    }
    if ((uintptr_t)devAddr & 7) {
        return FAIL(ACL_ERROR_RT_ADDR_UNALIGNED, "devAddr %p is not aligned "
                    "to 8 bytes", devAddr);
    }
    s = stream_need(__func__, stream, &rc);
    if (!s) {
        return rc;
    }
    if (side_of(__func__, "devAddr", devAddr, 8, &at) == SIDE_BAD) {
        return ACL_ERROR_RT_PARAM_INVALID;
    }
    if (at.side != SIDE_DEV || at.dev->card != s->card) {
        /* The entry's address field names this card's memory only. */
        return FAIL(ACL_ERROR_RT_PARAM_INVALID, "devAddr %p is not memory of "
                    "device %d, on which the stream runs", devAddr,
                    s->ctx->dev->id);
    }
    a350_sqe_write_value(&e, 0, (uintptr_t)devAddr, 3, &value,
                         A350_WV_SUB_DEFAULT);
    return stream_submit(__func__, s, &e, 1, NULL, &m, NULL);
}
