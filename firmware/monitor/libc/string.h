/*
 * Atlas 350 firmware monitor: what there is of <string.h> (text.c).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef A350_MON_STRING_H
#define A350_MON_STRING_H

#include <stddef.h>

void *memcpy(void *dst, const void *src, size_t len);
void *memset(void *dst, int c, size_t len);
int memcmp(const void *a, const void *b, size_t len);
size_t strlen(const char *s);
int strcmp(const char *a, const char *b);

#endif /* A350_MON_STRING_H */
