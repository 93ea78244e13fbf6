/* SPDX-License-Identifier: Apache-2.0 */
/* The allocator of device memory against a map of bytes. */
#include "heap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BASE    0x800000000000ull
#define SIZE    (64ull << 20)
#define MAP     (SIZE / 64)
#define SLOTS   2000

static int num, failed;

static void ok(int cond, const char *what)
{
    printf("%sok %d - %s\n", cond ? "" : "not ", ++num, what);
    failed += !cond;
}

static uint8_t map[MAP];
static struct {
    uint64_t addr, size;
} live[SLOTS];

static int mark(uint64_t addr, uint64_t size, uint8_t from, uint8_t to)
{
    uint64_t i, n = (size + 63) / 64, at = (addr - BASE) / 64;

    if (addr < BASE || addr % 64 || at + n > MAP) {
        return 0;
    }
    for (i = 0; i < n; i++) {
        if (map[at + i] != from) {
            return 0;
        }
        map[at + i] = to;
    }
    return 1;
}

static int storm(a350_heap *h)
{
    uint64_t base, size;
    int i, good = 1;

    for (i = 0; i < 200000 && good; i++) {
        unsigned k = (unsigned)rand() % SLOTS;

        if (live[k].size) {
            good = a350_heap_find(h, live[k].addr + live[k].size / 2, &base,
                                  &size) &&
                   base == live[k].addr && size == live[k].size &&
                   a350_heap_put(h, live[k].addr) &&
                   !a350_heap_put(h, live[k].addr) &&
                   mark(live[k].addr, live[k].size, 1, 0);
            live[k].size = 0;
        } else {
            uint64_t want = 1 + (uint64_t)rand() % (rand() % 8 ? 5000 : 300000);
            uint64_t align = 64ull << (rand() % 8);

            if (rand() % 20 == 0) {
                align = 2 << 20;
            }
            if (a350_heap_get(h, want, align, &live[k].addr)) {
                live[k].size = want;
                good = live[k].addr % align == 0 &&
                       mark(live[k].addr, want, 0, 1);
            }
        }
    }
    return good;
}

int main(void)
{
    a350_heap *h = a350_heap_new(BASE, SIZE);
    a350_heap_stats st;
    uint64_t a, b;
    int i, good = 1;

    printf("1..8\n");
    ok(!a350_heap_get(h, 0, 64, &a), "size 0 is refused");
    ok(!a350_heap_get(h, SIZE + 1, 64, &a) &&
       !a350_heap_get(h, UINT64_MAX, 64, &a), "more than there is");
    ok(a350_heap_get(h, SIZE, 64, &a) && a == BASE &&
       !a350_heap_get(h, 1, 64, &b), "all of it");
    ok(a350_heap_put(h, BASE) && !a350_heap_put(h, BASE + 64) &&
       !a350_heap_put(h, 0), "only starts of live blocks are freed");
    ok(storm(h), "200000 steps against a map");
    for (i = 0; i < SLOTS; i++) {
        if (live[i].size) {
            good = good && a350_heap_put(h, live[i].addr);
        }
    }
    a350_heap_stat(h, &st);
    ok(good && st.used == 0 && st.live == 0 && st.largest_free == SIZE,
       "everything is joined again");
    ok(a350_heap_get(h, 100, 64, &a) && a350_heap_get(h, 4 << 20, 2 << 20, &b)
       && b % (2 << 20) == 0 && b > a, "large alignments come from above");
    a350_heap_stat(h, &st);
    ok(st.used == 128 + (4 << 20) && st.live == 2, "statistics");
    a350_heap_free(h);
    return failed != 0;
}
