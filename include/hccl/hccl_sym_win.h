/*
 * HCCL: symmetric windows, kernel side.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * spec/api/hccl-control-plane.md §8. Registration: hccl/hccl_comm.h.
 */
#ifndef HCCL_SYM_WIN_H
#define HCCL_SYM_WIN_H

#include <stdint.h>
#include <stddef.h>
#include "hccl_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* AICPU kernels only: where byte @offset of the window lies at @peerRank. */
HcclResult HcclSymWinGetPeerPointer(HcclCommSymWindow winHandle, size_t offset,
                                    uint32_t peerRank, void **ptr);

#ifdef __cplusplus
}
#endif

#endif /* HCCL_SYM_WIN_H */
