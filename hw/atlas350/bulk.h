/*
 * Atlas 350 virtual card: copying many blocks.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_ATLAS350_BULK_H
#define HW_ATLAS350_BULK_H

#include <stdbool.h>
#include <stddef.h>

/*
 * memmove for a block of many that are copied one after the other. What is
 * stored afterwards is seen after it, as with memmove.
 */
void a350_bulk_copy(void *dst, const void *src, size_t len);

#endif /* HW_ATLAS350_BULK_H */
