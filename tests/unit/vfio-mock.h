/* SPDX-License-Identifier: Apache-2.0 */
#ifndef VFIO_MOCK_H
#define VFIO_MOCK_H

#include <stdbool.h>
#include <stdint.h>

#define MOCK_CARDS 2

/*
 * While set, cards write completions but raise no interrupt for them, so that
 * the completion thread is late.
 */
extern volatile bool mock_quiet;
/* Cards answer no admin command while set. */
extern volatile bool mock_deaf;

/* Queues of all cards. */
int mock_queues(void);
/* May cards reach this host memory? */
bool mock_mapped(const void *va);

/* Kernels by function name: "nop", "fail", "slow" (20 ms), and "add": */
extern void (*mock_kernel)(const void *args);

#endif /* VFIO_MOCK_H */
