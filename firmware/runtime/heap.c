/*
 * Atlas 350 firmware runtime: malloc and its family, for all on the card.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * It takes the C library's place because kernels die: bookkeeping lies apart
 * from the blocks, so a kernel that writes beyond its own does not corrupt
 * it; a lock names its holder, so a dead one can be relieved; and blocks that
 * the running launch has taken are marked ("fresh"), so that what a dead one
 * leaves can be given back when memory is short.
 *
 * Up to 1 KiB in steps of 16 bytes, up to 4 KiB in quarters of a doubling,
 * from spans of one size each; beyond that whole pages from the monitor. Each
 * core has a heap of its own; a block is freed into the heap it came from.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "rt.h"

#define PAGE_SHIFT   12
#define PAGE_BYTES   (1ul << PAGE_SHIFT)
#define MAX_PAGES    (A350_FW_HBM_SIZE >> PAGE_SHIFT)
#define SMALL_MAX    1024u
#define MEDIUM_MAX   4096u
#define CLASSES      (SMALL_MAX / 16 + 8)
#define SMALL_SPAN   16384u
#define MEDIUM_SPAN  32768u
#define HEAPS        (A350_AICPU_CORES_MAX + 1)
#define SPAN_WORDS   (SMALL_SPAN / 16 / 64)

typedef struct span {
    uintptr_t base;
    uint32_t bytes;              /* of the span */
    uint32_t size;               /* of a block; 0: one block, whole pages */
    uint16_t blocks, free;
    uint8_t hint;                /* words of used below it are full */
    uint8_t cls, heap;
    bool fresh_any;              /* is on its heap's fresh list */
    bool listed;                 /* is on its class's list */
    struct span *next;           /* spans of the class with a free block */
    struct span *fresh_next;
    uint64_t used[SPAN_WORDS];
    uint64_t fresh[SPAN_WORDS];
} span;

typedef struct heap {
    int lock;                    /* holder's thread id */
    span *open[CLASSES];
    span *fresh;
} heap;

static heap heaps[HEAPS];        /* 0: threads that are no workers */
static __thread int my_heap;
static __thread int my_tid;
static span *page_span[MAX_PAGES];
static uintptr_t fw_base;
static span *span_pool;          /* free descriptors; under pool_lock */
static int pool_lock;
static bool tolerant;            /* blocks have been taken from their owners */

static int tid(void)
{
    if (!my_tid) {
        my_tid = (int)rt_sys(SYS_gettid, 0, 0, 0, 0);
    }
    return my_tid;
}

static void lock(int *l)
{
    int me = tid(), none = 0;

    while (!__atomic_compare_exchange_n(l, &none, me, false, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED)) {
        if (none == me) {
            return;              /* a handler of my own crash */
        }
        none = 0;
        __asm__ volatile(".4byte 0x0100000f");
    }
}

static void unlock(int *l)
{
    __atomic_store_n(l, 0, __ATOMIC_RELEASE);
}

static void *map_pages(size_t bytes)
{
    long r;
    register long a0 __asm__("a0") = 0;
    register long a1 __asm__("a1") = (long)bytes;
    register long a2 __asm__("a2") = PROT_READ | PROT_WRITE;
    register long a3 __asm__("a3") = MAP_PRIVATE | MAP_ANONYMOUS |
                                     A350_FW_MAP_DIRTY;
    register long a4 __asm__("a4") = -1;
    register long a5 __asm__("a5") = 0;
    register long a7 __asm__("a7") = SYS_mmap;

    __asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a3), "r"(a4),
                     "r"(a5), "r"(a7) : "memory");
    r = a0;
    return r < 0 && r > -4096 ? NULL : (void *)r;
}

static void unmap_pages(uintptr_t addr, size_t bytes)
{
    rt_sys(SYS_munmap, (long)addr, (long)bytes, 0, 0);
}

static span *span_get(void)
{
    span *s;

    lock(&pool_lock);
    if (!span_pool) {
        /* Few and large, for they stay and cut the memory into pieces. */
        const size_t bytes = (fw_base ? 64 : 16) * PAGE_BYTES;
        span *block = map_pages(bytes);

        for (size_t i = 0; block && i < bytes / sizeof(span); i++) {
            block[i].next = span_pool;
            span_pool = &block[i];
        }
    }
    s = span_pool;
    if (s) {
        span_pool = s->next;
        memset(s, 0, sizeof(*s));
    }
    unlock(&pool_lock);
    return s;
}

static void span_put(span *s)
{
    lock(&pool_lock);
    s->next = span_pool;
    span_pool = s;
    unlock(&pool_lock);
}

static size_t page_index(uintptr_t addr)
{
    return (addr - fw_base) >> PAGE_SHIFT;
}

static void find_base(void)
{
    a350_fw_stats s;

    rt_sys(A350_SYS_STATS, (long)&s, 0, 0, 0);
    __atomic_store_n(&fw_base, s.fw_base, __ATOMIC_RELEASE);
}

/* A new span of @bytes, known by its pages. */
static span *span_new(size_t bytes)
{
    span *s;
    void *p;

    if (!fw_base) {
        find_base();
    }
    s = span_get();
    p = s ? map_pages(bytes) : NULL;
    if (!p) {
        if (s) {
            span_put(s);
        }
        return NULL;
    }
    s->base = (uintptr_t)p;
    s->bytes = (uint32_t)bytes;
    s->heap = (uint8_t)my_heap;
    for (size_t i = 0; i < bytes >> PAGE_SHIFT; i++) {
        page_span[page_index(s->base) + i] = s;
    }
    return s;
}

static void span_free(span *s)
{
    for (size_t i = 0; i < s->bytes >> PAGE_SHIFT; i++) {
        page_span[page_index(s->base) + i] = NULL;
    }
    unmap_pages(s->base, s->bytes);
    span_put(s);
}

static unsigned class_of(size_t size)
{
    unsigned shift;

    if (size <= SMALL_MAX) {
        return (unsigned)((size + 15) / 16) - 1;
    }
    shift = size <= 2048 ? 10 : 11;
    return SMALL_MAX / 16 + (shift - 10) * 4 +
           (unsigned)((size - 1 - (1ul << shift)) >> (shift - 2));
}

static uint32_t class_size(unsigned cls)
{
    unsigned k = cls - SMALL_MAX / 16;

    if (cls < SMALL_MAX / 16) {
        return (cls + 1) * 16;
    }
    return (1024u << (k / 4)) + (k % 4 + 1) * (256u << (k / 4));
}

static void mark_fresh(heap *h, span *s, unsigned i)
{
    s->fresh[i / 64] |= 1ull << (i % 64);
    if (!s->fresh_any) {
        s->fresh_any = true;
        s->fresh_next = h->fresh;
        h->fresh = s;
    }
}

/* The base instruction set counts no zeros; this is shorter than a call. */
static unsigned lowest_bit(uint64_t v)
{
    unsigned n = 0;

    for (unsigned step = 32; step; step /= 2) {
        if (!(v & ((1ull << step) - 1))) {
            v >>= step;
            n += step;
        }
    }
    return n;
}

static void *take_block(heap *h, span *s, unsigned cls)
{
    unsigned w = s->hint, i;

    while (s->used[w] == UINT64_MAX) {
        w++;
    }
    s->hint = (uint8_t)w;
    i = w * 64 + lowest_bit(~s->used[w]);
    s->used[w] |= 1ull << (i % 64);
    if (--s->free == 0) {
        h->open[cls] = s->next;
        s->listed = false;
    }
    if (my_heap) {
        mark_fresh(h, s, i);
    }
    return (void *)(s->base + (uintptr_t)i * s->size);
}

/* Bits of blocks that do not exist count as used. */
static void span_init(span *s, unsigned cls)
{
    s->size = class_size(cls);
    s->cls = (uint8_t)cls;
    s->blocks = s->free = (uint16_t)(s->bytes / s->size);
    for (unsigned i = s->blocks; i < SPAN_WORDS * 64; i++) {
        s->used[i / 64] |= 1ull << (i % 64);
    }
}

static void *alloc_small(size_t size)
{
    unsigned cls = class_of(size ? size : 1);
    heap *h = &heaps[my_heap];
    span *s;
    void *p = NULL;

    lock(&h->lock);
    s = h->open[cls];
    if (!s) {
        s = span_new(size <= SMALL_MAX ? SMALL_SPAN : MEDIUM_SPAN);
        if (s) {
            span_init(s, cls);
            s->listed = true;
            h->open[cls] = s;
        }
    }
    if (s) {
        p = take_block(h, s, cls);
    }
    unlock(&h->lock);
    return p;
}

static void *alloc_large(size_t size)
{
    heap *h = &heaps[my_heap];
    span *s;

    if (size > A350_FW_HBM_SIZE) {
        return NULL;
    }
    lock(&h->lock);
    s = span_new((size + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1));
    if (s) {
        s->blocks = 1;
        s->used[0] = 1;
        if (my_heap) {
            mark_fresh(h, s, 0);
        }
    }
    unlock(&h->lock);
    return s ? (void *)s->base : NULL;
}

static span *span_of(const void *p)
{
    uintptr_t off = (uintptr_t)p - fw_base;

    return fw_base && off < A350_FW_HBM_SIZE ? page_span[off >> PAGE_SHIFT]
                                             : NULL;
}

/* Number of the block that starts at @p, -1 if none is in use there. */
static int block_of(const span *s, const void *p)
{
    uintptr_t off = (uintptr_t)p - s->base;
    unsigned i;

    if (s->size == 0) {
        return off == 0 && s->blocks ? 0 : -1;
    }
    i = (unsigned)(off / s->size);
    if (off % s->size || i >= s->blocks ||
        !(s->used[i / 64] & 1ull << (i % 64))) {
        return -1;
    }
    return (int)i;
}

static void bad_pointer(const char *what, const void *p)
{
    static const char digit[] = "0123456789abcdef";
    char text[80];
    size_t n = strlen(what);
    int i;

    if (tolerant || !rt_me.in_kernel) {
        return;
    }
    memcpy(text, what, n);
    memcpy(text + n, " 0x", 3);
    n += 3;
    for (i = 60; i > 0 && !((uintptr_t)p >> i & 15); i -= 4) {
    }
    for (; i >= 0; i -= 4) {
        text[n++] = digit[(uintptr_t)p >> i & 15];
    }
    text[n] = 0;
    rt_sys(A350_SYS_CRASH, A350_EXC_ABORT, 6, (long)text, 0);
}

/* With the heap's lock held. Unlinks from the fresh list only lazily. */
static void give_back(heap *h, span *s, unsigned i)
{
    s->used[i / 64] &= ~(1ull << (i % 64));
    s->fresh[i / 64] &= ~(1ull << (i % 64));
    s->free++;
    if (s->hint > i / 64) {
        s->hint = (uint8_t)(i / 64);
    }
    if (!s->listed) {
        s->listed = true;
        s->next = h->open[s->cls];
        h->open[s->cls] = s;
    }
}

static void unlist_fresh(heap *h, span *s)
{
    span **at = &h->fresh;

    while (*at && *at != s) {
        at = &(*at)->fresh_next;
    }
    if (*at) {
        *at = s->fresh_next;
    }
    s->fresh_any = false;
}

/* An empty span goes back, unless it is its class's only open one. */
static void trim(heap *h, span *s)
{
    span **at = &h->open[s->cls];

    if (s->free != s->blocks || (*at == s && !s->next)) {
        return;
    }
    while (*at && *at != s) {
        at = &(*at)->next;
    }
    if (!*at) {
        return;
    }
    *at = s->next;
    if (s->fresh_any) {
        unlist_fresh(h, s);
    }
    span_free(s);
}

static void release(span *s, heap *h, int i)
{
    if (s->size == 0) {
        if (s->fresh_any) {
            unlist_fresh(h, s);
        }
        s->blocks = 0;
        span_free(s);
        return;
    }
    give_back(h, s, (unsigned)i);
    trim(h, s);
}

RT_API void free(void *p)
{
    int err = errno, i;
    span *s;
    heap *h;

    if (!p) {
        return;
    }
    s = span_of(p);
    if (!s) {
        bad_pointer("free of an address that malloc never gave out:", p);
        return;
    }
    h = &heaps[s->heap];
    lock(&h->lock);
    i = span_of(p) == s ? block_of(s, p) : -1;
    if (i >= 0) {
        release(s, h, i);
    }
    unlock(&h->lock);
    if (i < 0) {
        bad_pointer("free of a block that is not in use (double free?):", p);
    }
    errno = err;
}

RT_API void *malloc(size_t size)
{
    void *p = size <= MEDIUM_MAX ? alloc_small(size) : alloc_large(size);

    if (!p) {
        errno = ENOMEM;
    }
    return p;
}

RT_API void *calloc(size_t n, size_t size)
{
    size_t bytes;
    void *p;

    if (__builtin_mul_overflow(n, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    p = malloc(bytes);
    if (p) {
        memset(p, 0, bytes);
    }
    return p;
}

RT_API size_t malloc_usable_size(void *p)
{
    span *s = p ? span_of(p) : NULL;

    return !s ? 0 : s->size ? s->size : s->bytes - ((uintptr_t)p - s->base);
}

RT_API void *realloc(void *p, size_t size)
{
    size_t have;
    void *q;

    if (!p) {
        return malloc(size);
    }
    if (!size) {
        free(p);
        return NULL;
    }
    have = malloc_usable_size(p);
    if (!have) {
        bad_pointer("realloc of an address that malloc never gave out:", p);
    }
    if (size <= have && (size >= have / 2 || have <= 64)) {
        return p;
    }
    q = malloc(size);
    if (q) {
        memcpy(q, p, have < size ? have : size);
        free(p);
    }
    return q;
}

/* Blocks of a size that is a multiple of the alignment are aligned. */
static void *aligned(size_t align, size_t size)
{
    size_t rounded = (size + align - 1) & ~(align - 1);

    if (align <= 16) {
        return malloc(size);
    }
    if (rounded < size) {
        return NULL;
    }
    if (rounded <= SMALL_MAX && align <= SMALL_MAX) {
        return malloc(rounded ? rounded : align);
    }
    if (align <= PAGE_BYTES) {
        return malloc(rounded > MEDIUM_MAX ? rounded : MEDIUM_MAX + 1);
    }
    return NULL;                 /* beyond a page: not offered */
}

RT_API int posix_memalign(void **out, size_t align, size_t size)
{
    void *p;

    if (align < sizeof(void *) || (align & (align - 1))) {
        return EINVAL;
    }
    p = aligned(align, size);
    if (!p) {
        return ENOMEM;
    }
    *out = p;
    return 0;
}

RT_API void *aligned_alloc(size_t align, size_t size)
{
    void *p;

    if (!align || (align & (align - 1))) {
        errno = EINVAL;
        return NULL;
    }
    p = aligned(align, size);
    if (!p) {
        errno = ENOMEM;
    }
    return p;
}

RT_API void *memalign(size_t align, size_t size)
{
    return aligned_alloc(align, size);
}

RT_API void *valloc(size_t size)
{
    return aligned_alloc(PAGE_BYTES, size);
}

RT_API void *pvalloc(size_t size)
{
    return aligned_alloc(PAGE_BYTES, (size + PAGE_BYTES - 1) &
                                     ~(PAGE_BYTES - 1));
}

RT_API int malloc_trim(size_t pad)
{
    (void)pad;
    return 0;
}

/* The calling thread is @core's worker from now on. */
void heap_bind(int core)
{
    my_heap = core + 1;
}

/* The launch has ended well: what it left is its library's. */
void heap_launch_end(void)
{
    heap *h = &heaps[my_heap];

    if (!h->fresh) {
        return;
    }
    lock(&h->lock);
    while (h->fresh) {
        span *s = h->fresh;

        h->fresh = s->fresh_next;
        s->fresh_any = false;
        memset(s->fresh, 0, sizeof(s->fresh));
    }
    unlock(&h->lock);
}

static uint64_t fresh_bytes(const span *s)
{
    uint64_t n = 0;

    if (!s->size) {
        return s->bytes;
    }
    for (unsigned w = 0; w < SPAN_WORDS; w++) {
        n += (uint64_t)__builtin_popcountll(s->fresh[w]) * s->size;
    }
    return n;
}

/* Bytes that the running launch has taken and kept; @really: frees them. */
uint64_t heap_drop_fresh(bool really)
{
    heap *h = &heaps[my_heap];
    uint64_t total = 0;
    span *next;

    lock(&h->lock);
    for (span *s = h->fresh; s; s = next) {
        next = s->fresh_next;
        total += fresh_bytes(s);
        if (!really) {
            continue;
        }
        tolerant = true;
        s->fresh_any = false;
        if (!s->size) {
            h->fresh = next;
            s->blocks = 0;
            span_free(s);
            continue;
        }
        for (unsigned i = 0; i < s->blocks; i++) {
            if (s->fresh[i / 64] & 1ull << (i % 64)) {
                give_back(h, s, i);
            }
        }
        h->fresh = next;
        trim(h, s);
    }
    unlock(&h->lock);
    return total;
}

/* Frees the locks that thread @dead holds. */
void heap_recover(int dead)
{
    for (unsigned i = 0; i < HEAPS; i++) {
        if (heaps[i].lock == dead) {
            unlock(&heaps[i].lock);
        }
    }
    if (pool_lock == dead) {
        unlock(&pool_lock);
    }
}
