/*
 * Hcomm: teams and their windows, handle types.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * spec/api/hccl-control-plane.md §3, §8.
 */
#ifndef HCOMM_TEAM_DEFS_H
#define HCOMM_TEAM_DEFS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef uint64_t *HcommTeamHandle;
typedef uint64_t *HcommWindowHandle;

typedef struct {
    uint32_t signalCount;
    uint32_t counterCount;
    uint32_t barrierCount;
    uint32_t reserved[5];
} HcommTeamSyncMemRequirement;

#ifdef __cplusplus
}
#endif

#endif /* HCOMM_TEAM_DEFS_H */
