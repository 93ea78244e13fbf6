/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device memory and copies to and from it through BAR4.
 */
#include "card_priv.h"

#include <errno.h>
#include <string.h>

#define HUGE_SIZE           (2ull << 20)

int a350_hbm_alloc(a350_card *c, size_t size, unsigned kind, uint64_t *addr)
{
    uint64_t want = size, align = size >= 4096 ? 4096 : 64;
    a350_heap_stats st;
    bool ok;

    if (kind == A350_HBM_HUGE) {
        align = HUGE_SIZE;
        want = ((uint64_t)size + HUGE_SIZE - 1) & ~(HUGE_SIZE - 1);
    }
    pthread_mutex_lock(&c->heap_lock);
    ok = want >= size && a350_heap_get(c->heap, want, align, addr);
    if (!ok) {
        a350_heap_stat(c->heap, &st);
    }
    pthread_mutex_unlock(&c->heap_lock);
    if (!ok) {
        return a350_fail(-ENOSPC, "device memory of card %u: no %llu bytes%s "
                         "(%llu of %llu free, largest piece %llu)", c->number,
                         (unsigned long long)(want < size ? size : want),
                         kind == A350_HBM_HUGE ? " in 2 MiB pages" : "",
                         (unsigned long long)(st.total - st.used),
                         (unsigned long long)st.total,
                         (unsigned long long)st.largest_free);
    }
    return 0;
}

int a350_hbm_free(uint64_t addr)
{
    a350_card *c = a350_card_of_addr(addr);
    bool ok = false;

    if (c) {
        pthread_mutex_lock(&c->heap_lock);
        ok = a350_heap_put(c->heap, addr);
        pthread_mutex_unlock(&c->heap_lock);
    }
    if (!ok) {
        return a350_fail(-EINVAL, "0x%llx is not the start of a block of "
                         "device memory (freed already?)",
                         (unsigned long long)addr);
    }
    return 0;
}

int a350_hbm_range(uint64_t addr, uint64_t *base, uint64_t *size)
{
    a350_card *c = a350_card_of_addr(addr);
    bool ok = false;

    if (c) {
        pthread_mutex_lock(&c->heap_lock);
        ok = a350_heap_find(c->heap, addr, base, size);
        pthread_mutex_unlock(&c->heap_lock);
    }
    return ok ? 0 : a350_fail(-EINVAL, "0x%llx is not in a live block of "
                              "device memory", (unsigned long long)addr);
}

void a350_hbm_info(a350_card *c, uint64_t *free_bytes, uint64_t *total,
                   uint64_t *largest)
{
    a350_heap_stats st;

    pthread_mutex_lock(&c->heap_lock);
    a350_heap_stat(c->heap, &st);
    pthread_mutex_unlock(&c->heap_lock);
    *free_bytes = st.total - st.used;
    *total = st.total;
    *largest = st.largest_free;
}

void *a350_hbm_ptr(uint64_t addr, size_t len)
{
    a350_card *c = a350_card_of_addr(addr);
    uint64_t off = addr - (c ? c->dev_base : 0);

    if (!c || off > c->hbm_size || len > c->hbm_size - off) {
        return NULL;
    }
    return c->vfio.bar4.ptr + off;
}

/*
 * Copy loops in 64-byte steps of vector moves. The C library's memcpy may use
 * "rep movsb" here, which an emulated processor executes byte by byte.
 */
typedef uint64_t v2 __attribute__((vector_size(16), aligned(1), may_alias));

void a350_copy(void *dst, const void *src, size_t len)
{
    uint8_t *d = dst;
    const uint8_t *s = src;

    while (len >= 64) {
        v2 a = ((const v2 *)s)[0], b = ((const v2 *)s)[1];
        v2 c = ((const v2 *)s)[2], e = ((const v2 *)s)[3];

        ((v2 *)d)[0] = a;
        ((v2 *)d)[1] = b;
        ((v2 *)d)[2] = c;
        ((v2 *)d)[3] = e;
        d += 64;
        s += 64;
        len -= 64;
    }
    while (len >= 8) {
        uint64_t v;

        __builtin_memcpy(&v, s, 8);
        __builtin_memcpy(d, &v, 8);
        d += 8;
        s += 8;
        len -= 8;
    }
    while (len--) {
        *(volatile uint8_t *)d++ = *s++;
    }
}

void a350_fill(void *dst, int value, size_t len)
{
    uint8_t *d = dst;
    uint64_t w = 0x0101010101010101ull * (uint8_t)value;
    v2 v = { w, w };

    while (len >= 64) {
        ((v2 *)d)[0] = v;
        ((v2 *)d)[1] = v;
        ((v2 *)d)[2] = v;
        ((v2 *)d)[3] = v;
        d += 64;
        len -= 64;
    }
    while (len--) {
        *(volatile uint8_t *)d++ = (uint8_t)value;
    }
}

int a350_hbm_new(a350_card *c, const void *data, size_t size, uint64_t *addr)
{
    int rc = a350_hbm_alloc(c, size, A350_HBM_NORMAL, addr);
    void *p;

    if (rc) {
        return rc;
    }
    p = a350_hbm_ptr(*addr, size);
    if (data) {
        a350_copy(p, data, size);
    } else {
        a350_fill(p, 0, size);
    }
    return 0;
}
