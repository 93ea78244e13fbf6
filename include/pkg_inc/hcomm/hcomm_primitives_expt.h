/*
 * Hcomm data plane: calls outside the public header.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * spec/api/hcomm-data-plane.md §2.4, §2.6.
 */
#ifndef HCOMM_PRIMITIVES_EXPT_H
#define HCOMM_PRIMITIVES_EXPT_H

#include <stdint.h>
#include "hcomm/hcomm_primitives.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Kernels only: waits until the thread has nothing queued. What it wrote or
 * read is then in memory. @timeout in seconds; expiry is HCCL_E_TIMEOUT (9).
 * In batch mode flush first (HcommBatchModeEnd, HcommBatchModeStart).
 */
int32_t HcommThreadJoin(ThreadHandle thread, uint32_t timeout);

#ifdef __cplusplus
}
#endif

#endif /* HCOMM_PRIMITIVES_EXPT_H */
