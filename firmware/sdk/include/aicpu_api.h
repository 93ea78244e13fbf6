/*
 * What a kernel on an AICPU core may ask about itself.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A kernel is `extern "C" unsigned int name(void *args)`: 0 is success,
 * anything else fails the launch and, its low 16 bits, the stream.
 */
#ifndef AICPU_API_H
#define AICPU_API_H

#include <stdint.h>

/* Marks of kernel sources for the vendor's compiler; of no meaning here. */
#ifndef __global__
#define __global__
#endif
#ifndef __aicpu__
#define __aicpu__
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Number of this block, and how many blocks the launch has (1 if unset). */
uint32_t a350_block_idx(void);
uint32_t a350_block_num(void);
/* The core this runs on, 0 to 6. */
uint32_t a350_core_id(void);

#ifdef __cplusplus
}
#endif

#endif /* AICPU_API_H */
