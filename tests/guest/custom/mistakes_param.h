/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MISTAKES_PARAM_H
#define MISTAKES_PARAM_H

#include <stdint.h>

struct MistakesParam {
    uint64_t thread[2];          /* with one notify each */
    uint64_t hostThread;         /* as exported to the card */
    uint64_t hostSide;           /* the host's own handle: wrong side here */
    uint64_t channel;            /* with three notifies */
    uint64_t local;              /* both buffers have @size bytes */
    uint64_t remote;
    uint64_t size;
    uint64_t result;             /* MistakeResult[] */
    uint32_t what;               /* 0: all of the list; else one that fails */
    uint32_t max;
};

struct MistakeResult {
    int32_t got;
    int32_t want;
    char call[152];
};

#endif /* MISTAKES_PARAM_H */
