/*
 * Atlas 350 firmware runtime: source lines from DWARF, where a library has it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "rt.h"

bool line_find(const uint8_t *image, uint64_t size, uint64_t vaddr,
               char *out, size_t out_size)
{
    (void)image, (void)size, (void)vaddr, (void)out, (void)out_size;
    return false;
}
