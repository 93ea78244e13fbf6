/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All ranges, free and live, are nodes of one list in address order (joining
 * needs the neighbours) and of one binary trie over the start address (free()
 * and pointer queries need the block around an address). Free ranges are also
 * in a list of their size class: class c holds sizes [64 << c, 64 << (c+1)).
 */
#include "heap.h"

#include <stdlib.h>
#include <string.h>

#define GRAIN       64ull
#define CLASSES     48

typedef struct node node;
struct node {
    uint64_t addr, size;         /* size: multiple of GRAIN */
    uint64_t asked;              /* 0: free */
    node *prev, *next;           /* address order */
    node *fprev, *fnext;         /* size class */
    node *left, *right, *up;     /* treap by addr */
    uint32_t prio;
};

struct a350_heap {
    uint64_t base, size, used, peak, live;
    node *first;
    node *root;
    node *cls[CLASSES];
    node *spare;                 /* unused nodes, linked by next */
    uint32_t rng;
};

static unsigned class_of(uint64_t size)
{
    return 63 - __builtin_clzll(size / GRAIN);
}

static uint32_t rng_next(a350_heap *h)
{
    h->rng ^= h->rng << 13;
    h->rng ^= h->rng >> 17;
    h->rng ^= h->rng << 5;
    return h->rng;
}

/* ---- treap ---- */

static void tree_link(a350_heap *h, node *parent, node *old, node *n)
{
    if (!parent) {
        h->root = n;
    } else if (parent->left == old) {
        parent->left = n;
    } else {
        parent->right = n;
    }
    if (n) {
        n->up = parent;
    }
}

static void tree_rotate(a350_heap *h, node *n)
{
    node *p = n->up, *g = p->up;

    if (p->left == n) {
        p->left = n->right;
        if (n->right) {
            n->right->up = p;
        }
        n->right = p;
    } else {
        p->right = n->left;
        if (n->left) {
            n->left->up = p;
        }
        n->left = p;
    }
    tree_link(h, g, p, n);
    p->up = n;
}

static void tree_insert(a350_heap *h, node *n)
{
    node *p = h->root;

    n->left = n->right = n->up = NULL;
    n->prio = rng_next(h);
    if (!p) {
        h->root = n;
        return;
    }
    for (;;) {
        node **side = n->addr < p->addr ? &p->left : &p->right;

        if (!*side) {
            *side = n;
            n->up = p;
            break;
        }
        p = *side;
    }
    while (n->up && n->prio > n->up->prio) {
        tree_rotate(h, n);
    }
}

static void tree_remove(a350_heap *h, node *n)
{
    while (n->left && n->right) {
        tree_rotate(h, n->left->prio > n->right->prio ? n->left : n->right);
    }
    tree_link(h, n->up, n, n->left ? n->left : n->right);
}

/* The node whose range holds @addr. */
static node *tree_find(a350_heap *h, uint64_t addr)
{
    node *n = h->root;

    while (n) {
        if (addr < n->addr) {
            n = n->left;
        } else if (addr - n->addr >= n->size) {
            n = n->right;
        } else {
            return n;
        }
    }
    return NULL;
}

/* ---- size classes ---- */

static void free_insert(a350_heap *h, node *n)
{
    node **head = &h->cls[class_of(n->size)];

    n->asked = 0;
    n->fprev = NULL;
    n->fnext = *head;
    if (*head) {
        (*head)->fprev = n;
    }
    *head = n;
}

static void free_remove(a350_heap *h, node *n)
{
    if (n->fprev) {
        n->fprev->fnext = n->fnext;
    } else {
        h->cls[class_of(n->size)] = n->fnext;
    }
    if (n->fnext) {
        n->fnext->fprev = n->fprev;
    }
}

/* ---- nodes ---- */

static node *node_new(a350_heap *h)
{
    node *n = h->spare;

    if (n) {
        h->spare = n->next;
        memset(n, 0, sizeof(*n));
        return n;
    }
    return calloc(1, sizeof(*n));
}

/* Cuts @n at @addr, which lies inside it; returns the upper part. */
static void node_split(a350_heap *h, node *n, node *upper, uint64_t addr)
{
    upper->addr = addr;
    upper->size = n->addr + n->size - addr;
    n->size = addr - n->addr;
    upper->prev = n;
    upper->next = n->next;
    if (n->next) {
        n->next->prev = upper;
    }
    n->next = upper;
    tree_insert(h, upper);
}

/* Makes @n swallow its upper neighbour. */
static void node_join(a350_heap *h, node *n)
{
    node *u = n->next;

    tree_remove(h, u);
    n->size += u->size;
    n->next = u->next;
    if (u->next) {
        u->next->prev = n;
    }
    u->next = h->spare;
    h->spare = u;
}

/* ---- interface ---- */

a350_heap *a350_heap_new(uint64_t base, uint64_t size)
{
    a350_heap *h = calloc(1, sizeof(*h));
    node *n = calloc(1, sizeof(*n));

    if (!h || !n) {
        free(h);
        free(n);
        return NULL;
    }
    h->base = base;
    h->size = size & ~(GRAIN - 1);
    h->rng = 2463534242u;
    n->addr = base;
    n->size = h->size;
    h->first = n;
    if (n->size) {
        tree_insert(h, n);
        free_insert(h, n);
    }
    return h;
}

void a350_heap_free(a350_heap *h)
{
    node *lists[2], *n;
    int i;

    if (!h) {
        return;
    }
    lists[0] = h->first;
    lists[1] = h->spare;
    for (i = 0; i < 2; i++) {
        while ((n = lists[i])) {
            lists[i] = n->next;
            free(n);
        }
    }
    free(h);
}

/* Where @size bytes at @align would lie in free range @n; false: nowhere. */
static bool place(const node *n, uint64_t size, uint64_t align, uint64_t *addr)
{
    uint64_t a;

    if (n->size < size) {
        return false;
    }
    if (align >= (1u << 20)) {
        a = (n->addr + n->size - size) & ~(align - 1);
    } else {
        a = (n->addr + align - 1) & ~(align - 1);
    }
    if (a < n->addr || a - n->addr > n->size - size) {
        return false;
    }
    *addr = a;
    return true;
}

static node *best_fit(a350_heap *h, uint64_t size, uint64_t align,
                      uint64_t *addr)
{
    unsigned c;

    for (c = class_of(size); c < CLASSES; c++) {
        node *n, *best = NULL;
        uint64_t a;

        for (n = h->cls[c]; n; n = n->fnext) {
            if ((!best || n->size < best->size) &&
                place(n, size, align, &a)) {
                best = n;
                *addr = a;
                if (c > class_of(size)) {
                    break;       /* any of a larger class is good */
                }
            }
        }
        if (best) {
            return best;
        }
    }
    return NULL;
}

bool a350_heap_get(a350_heap *h, uint64_t size, uint64_t align,
                   uint64_t *addr)
{
    uint64_t want = (size + GRAIN - 1) & ~(GRAIN - 1);
    uint64_t at = 0;
    node *n, *lo, *hi;

    if (size == 0 || want < size || want > h->size) {
        return false;
    }
    n = best_fit(h, want, align < GRAIN ? GRAIN : align, &at);
    if (!n) {
        return false;
    }
    lo = node_new(h);
    hi = node_new(h);
    if (!lo || !hi) {
        free(lo);
        free(hi);
        return false;
    }
    free_remove(h, n);
    if (at > n->addr) {
        node_split(h, n, lo, at);
        free_insert(h, n);
        n = lo;
        lo = NULL;
    }
    if (n->size > want) {
        node_split(h, n, hi, at + want);
        free_insert(h, hi);
        hi = NULL;
    }
    if (lo) {
        lo->next = h->spare;
        h->spare = lo;
    }
    if (hi) {
        hi->next = h->spare;
        h->spare = hi;
    }
    n->asked = size;
    h->used += n->size;
    h->live++;
    if (h->used > h->peak) {
        h->peak = h->used;
    }
    *addr = n->addr;
    return true;
}

bool a350_heap_put(a350_heap *h, uint64_t addr)
{
    node *n = tree_find(h, addr);

    if (!n || n->addr != addr || !n->asked) {
        return false;
    }
    h->used -= n->size;
    h->live--;
    if (n->next && !n->next->asked) {
        free_remove(h, n->next);
        node_join(h, n);
    }
    if (n->prev && !n->prev->asked) {
        n = n->prev;
        free_remove(h, n);
        node_join(h, n);
    }
    free_insert(h, n);
    return true;
}

bool a350_heap_find(a350_heap *h, uint64_t addr, uint64_t *base,
                    uint64_t *size)
{
    node *n = tree_find(h, addr);

    if (!n || !n->asked) {
        return false;
    }
    *base = n->addr;
    *size = n->asked;
    return true;
}

void a350_heap_stat(a350_heap *h, a350_heap_stats *st)
{
    int c;

    memset(st, 0, sizeof(*st));
    st->total = h->size;
    st->used = h->used;
    st->live = h->live;
    st->peak = h->peak;
    for (c = CLASSES - 1; c >= 0 && !st->largest_free; c--) {
        node *n;

        for (n = h->cls[c]; n; n = n->fnext) {
            if (n->size > st->largest_free) {
                st->largest_free = n->size;
            }
        }
    }
}

void a350_heap_each(a350_heap *h,
                    void (*fn)(void *opaque, uint64_t addr, uint64_t size),
                    void *opaque)
{
    node *n;

    for (n = h->first; n; n = n->next) {
        if (n->asked) {
            fn(opaque, n->addr, n->asked);
        }
    }
}
