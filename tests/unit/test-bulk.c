/*
 * Unit test of copies that pass the caches by (hw/atlas350/bulk.c): against
 * memmove, at all alignments, with what lies beside the target.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bulk.h"
#include "tap.h"

#define SIZE    (96u * 1024)

static uint8_t from[SIZE], want[SIZE], got[SIZE];

static void fill(uint8_t *p, uint32_t seed)
{
    uint32_t i;

    for (i = 0; i < SIZE; i++) {
        seed = seed * 1664525u + 1013904223u;
        p[i] = (uint8_t)(seed >> 24);
    }
}

static int differs(size_t dst, size_t src, size_t len)
{
    memcpy(got, want, SIZE);
    a350_bulk_copy(got + dst, from + src, len);
    memcpy(want + dst, from + src, len);
    return memcmp(got, want, SIZE) != 0;
}

static void test_alignments(void)
{
    static const size_t lens[] = { 0, 1, 63, 4095, 4096, 4097, 4160, 16384,
                                   65536 + 1 };
    size_t i, d, s, bad;

    for (i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
        bad = 0;
        for (d = 0; d < 66; d++) {
            for (s = 0; s < 66; s += 5) {
                bad += (size_t)differs(128 + d, 128 + s, lens[i]);
            }
        }
        ok(bad == 0, "%zu bytes at all alignments, and nothing beside them",
           lens[i]);
    }
}

/* The end of the source is the end of memory: nothing behind it is read. */
static void test_end(void)
{
    uint8_t *src = malloc(16384), *dst = malloc(16384);

    memset(src, 7, 16384);
    memset(dst, 0, 16384);
    a350_bulk_copy(dst, src, 16384);
    ok(memcmp(dst, src, 16384) == 0, "whole blocks of the heap");
    free(src);
    free(dst);
}

static void test_overlap(void)
{
    static const long by[] = { -20000, -4096, -1, 0, 1, 64, 4096, 20000 };
    size_t i, at = 40000;
    long to;

    for (i = 0; i < sizeof(by) / sizeof(by[0]); i++) {
        to = (long)at + by[i];
        memcpy(got, from, SIZE);
        memcpy(want, from, SIZE);
        memmove(want + to, want + at, 16384);
        a350_bulk_copy(got + to, got + at, 16384);
        ok(memcmp(got, want, SIZE) == 0, "target %ld bytes from its source",
           by[i]);
    }
}

int main(void)
{
    fill(from, 1);
    fill(want, 2);
    test_alignments();
    test_end();
    test_overlap();
    return done_testing();
}
