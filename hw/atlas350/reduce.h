/*
 * Atlas 350 virtual card: arithmetic of the reductions.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Pure functions without any dependency on QEMU; any thread may call them.
 * The rules of the arithmetic stand in docs/specs/atlas350-ub.rst.
 */
#ifndef HW_ATLAS350_REDUCE_H
#define HW_ATLAS350_REDUCE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * dst[i] = dst[i] op src[i] for @count elements of the SDMA type in @opcode;
 * element type arithmetic, round to nearest even, NaN wins, integers wrap.
 * Any alignment; if the ranges overlap the source is the one before the call.
 * @bf16_sat: an overflow of BF16 gives the largest finite value. Returns
 * false, and changes nothing, if the pair is not supported by SDMA, or by UB
 * where @ub is set (which adds the unsigned types): spec
 * api/hcomm-data-plane.md §3.8.
 */
bool a350_reduce(uint32_t opcode, bool ub, bool bf16_sat, void *dst,
                 const void *src, uint64_t count);

/* Is this pair of operation and type one that a350_reduce does? */
bool a350_reduce_supported(uint32_t opcode, bool ub);

/* Element size of an SDMA type in bytes, 0 if there is no such type. */
unsigned a350_sdma_elem_size(uint32_t opcode);

#endif /* HW_ATLAS350_REDUCE_H */
