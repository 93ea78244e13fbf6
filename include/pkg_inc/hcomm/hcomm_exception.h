/*
 * Hcomm: callback for failed tasks.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * spec/api/hccl-control-plane.md §9, hcomm-data-plane.md §2.6.
 */
#ifndef HCOMM_EXCEPTION_H
#define HCOMM_EXCEPTION_H

#include <stdint.h>
#include "hccl/hcomm_res_defs.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    HCOMM_EXCEPTION_EXPAND_INVALID = -1,
    HCOMM_EXCEPTION_EXPAND_STARS = 0,
    HCOMM_EXCEPTION_EXPAND_ROCE = 1,
    HCOMM_EXCEPTION_EXPAND_URMA = 2
} HcommExceptionExpandType;

typedef struct {
    uint32_t starsErrcode;
    uint8_t sqeType;
    uint8_t statusMerged;
    uint8_t rsvd[122];
} StarsExDetailInfo;

typedef struct {
    HcommExceptionExpandType type;
    union {
        StarsExDetailInfo stars;
    };
} HcommExceptionExpandInfo;

typedef struct {
    CommAbiHeader header;
    uint64_t thread;
    uint64_t channel;
    uint32_t taskId;
    uint32_t retCode;
    uint8_t rsvd[40];
    HcommExceptionExpandInfo expandInfo;
} HcommExceptionInfo;

typedef void (*HcommExceptionCallback)(const HcommExceptionInfo *info,
                                       void *userData);

int32_t HcommExceptionRegisterCallback(HcommExceptionCallback callback,
                                       void *userData);
int32_t HcommExceptionUnregisterCallback(HcommExceptionCallback callback);

#ifdef __cplusplus
}
#endif

#endif /* HCOMM_EXCEPTION_H */
