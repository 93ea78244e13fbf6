/*
 * Bounds-checked functions: results and what they leave behind, as stated in
 * include/securec.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "securec.h"
#include "tap.h"

#pragma GCC diagnostic ignored "-Wformat-truncation"

static void test_memory(void)
{
    char a[8] = "abcdefg", b[8];

    is(memcpy_s(b, 8, a, 8), EOK, "memcpy_s");
    is_bytes(b, a, 8, "copies");
    is(memcpy_s(b, 8, a, 9), ERANGE_AND_RESET, "more than fits");
    is_bytes(b, "\0\0\0\0\0\0\0", 8, "clears the destination");
    is(memcpy_s(NULL, 8, a, 1), EINVAL, "null destination");
    is(memcpy_s(b, 0, a, 0), ERANGE, "no room at all");
    is(memcpy_s(b, 8, NULL, 1), EINVAL_AND_RESET, "null source");
    is(memcpy_s(a, 8, a + 2, 4), EOVERLAP_AND_RESET, "overlap");
    is_bytes(a, "\0\0\0\0\0\0\0", 8, "clears the destination");
    memcpy(a, "abcdefg", 8);
    is(memmove_s(a, 8, a + 2, 4), EOK, "memmove_s overlaps");
    is_bytes(a, "cdefefg", 8, "moves");
    is(memset_s(a, 8, 'x', 3), EOK, "memset_s");
    is_bytes(a, "xxxfefg", 8, "sets 3");
    is(memset_s(a, 4, 'y', 5), ERANGE_AND_RESET, "more than fits");
    is_bytes(a, "yyyyefg", 8, "sets what fits");
}

static void test_strings(void)
{
    char a[8];

    is(strcpy_s(a, 8, "1234567"), EOK, "strcpy_s, 7 in 8");
    is(strcpy_s(a, 8, "12345678"), ERANGE_AND_RESET, "8 in 8");
    is(a[0], 0, "leaves an empty string");
    is(strncpy_s(a, 8, "12345678", 3), EOK, "strncpy_s of 3");
    ok(strcmp(a, "123") == 0, "ends the string");
    is(strcat_s(a, 8, "4567"), EOK, "strcat_s");
    ok(strcmp(a, "1234567") == 0, "appends");
    is(strcat_s(a, 8, "8"), ERANGE_AND_RESET, "one too many");
    strcpy(a, "12");
    is(strncat_s(a, 8, "345678", 2), EOK, "strncat_s of 2");
    ok(strcmp(a, "1234") == 0, "appends 2");
    memset(a, 'x', 8);
    is(strcat_s(a, 8, "y"), EINVAL_AND_RESET, "destination without end");
    is(strcpy_s(a, 8, NULL), EINVAL_AND_RESET, "null source");
}

static void test_print(void)
{
    char a[8];

    is(sprintf_s(a, 8, "%d-%s", 12, "ab"), 5, "sprintf_s");
    ok(strcmp(a, "12-ab") == 0, "prints");
    is((unsigned)sprintf_s(a, 8, "%s", "12345678"), (unsigned)-1, "too long");
    is(a[0], 0, "leaves an empty string");
    is(snprintf_s(a, 8, 7, "%s", "1234567"), 7, "snprintf_s");
    is((unsigned)snprintf_s(a, 8, 3, "%s", "12345"), (unsigned)-1,
       "cut by count");
    ok(strcmp(a, "123") == 0, "keeps the cut text");
    is((unsigned)snprintf_s(a, 8, 9, "%s", "1234567890"), (unsigned)-1,
       "cut by the destination");
    is(a[0], 0, "leaves an empty string");
}

int main(void)
{
    test_memory();
    test_strings();
    test_print();
    return done_testing();
}
