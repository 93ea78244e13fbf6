/*
 * HCCL: device types. C++ only.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * spec/api/hccl-control-plane.md §9. The table of element sizes is not here:
 * operators define their own under that name.
 */
#ifndef DTYPE_COMMON_H
#define DTYPE_COMMON_H

#include "hccl/hccl_types.h"

#ifdef __cplusplus
enum class DevType {
    DEV_TYPE_910 = 0,
    DEV_TYPE_310P3 = 1,
    DEV_TYPE_910B = 2,
    DEV_TYPE_310P1 = 3,
    DEV_TYPE_910_93 = 4,
    DEV_TYPE_NOSOC = 5,
    DEV_TYPE_950 = 6,
    DEV_TYPE_MC62 = 7,
    DEV_TYPE_960 = 8,
    DEV_TYPE_COUNT = 9
};
#endif

#endif /* DTYPE_COMMON_H */
