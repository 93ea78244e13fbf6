/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocator of an address range that it never touches: the book-keeping lives
 * in host memory. Best fit over size classes, neighbours are joined at once.
 * Not locked: the owner does that.
 */
#ifndef A350_HEAP_H
#define A350_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct a350_heap a350_heap;

/* @base and @size multiples of 64. NULL: out of host memory. */
a350_heap *a350_heap_new(uint64_t base, uint64_t size);
void a350_heap_free(a350_heap *h);

/*
 * Takes @size bytes (rounded up to 64) at a multiple of @align, a power of
 * two of at least 64. Large alignments are served from the high end of a free
 * range, small ones from the low end, so that small blocks do not break up
 * the aligned ones. Returns false when nothing fits (or @size is 0).
 */
bool a350_heap_get(a350_heap *h, uint64_t size, uint64_t align,
                   uint64_t *addr);
/* Gives back the block that starts at @addr; false if there is none. */
bool a350_heap_put(a350_heap *h, uint64_t addr);
/* The live block around @addr: its start and the size that was asked for. */
bool a350_heap_find(a350_heap *h, uint64_t addr, uint64_t *base,
                    uint64_t *size);

typedef struct a350_heap_stats {
    uint64_t total, used, largest_free;
    uint64_t live;               /* blocks */
    uint64_t peak;
} a350_heap_stats;
void a350_heap_stat(a350_heap *h, a350_heap_stats *st);
/* Calls @fn for every live block in address order. */
void a350_heap_each(a350_heap *h,
                    void (*fn)(void *opaque, uint64_t addr, uint64_t size),
                    void *opaque);

#endif /* A350_HEAP_H */
