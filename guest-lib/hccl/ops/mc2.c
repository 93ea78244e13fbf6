/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hccl/hccl_mc2.h: the arguments of fused operators can be filled; there is
 * no engine that would use them. spec/api/hccl-collectives.md §1.1.
 */
#include <stdlib.h>
#include <string.h>
#pragma GCC visibility push(default)
#include "hccl/hccl_mc2.h"
#pragma GCC visibility pop
#include "acl_internal.h"

typedef struct op_args {
    uint32_t magic;
    uint32_t reduce_type;
    uint64_t count;
    uint8_t src_type, dst_type, engine;
    char alg[128];
} op_args;
#define MAGIC 0x3243434du

HcclResult HcclKfcAllocOpArgs(void **opArgs)
{
    op_args *a;

    if (!opArgs) {
        return HCCL_E_PTR;
    }
    a = calloc(1, sizeof(*a));
    if (!a) {
        return HCCL_E_MEMORY;
    }
    a->magic = MAGIC;
    *opArgs = a;
    return HCCL_SUCCESS;
}

HcclResult HcclKfcFreeOpArgs(void *opArgs)
{
    op_args *a = opArgs;

    if (!a) {
        return HCCL_E_PTR;
    }
    if (a->magic != MAGIC) {
        return HCCL_E_PARA;
    }
    a->magic = 0;
    free(a);
    return HCCL_SUCCESS;
}

#define SETTER(name, type, field)                               \
    HcclResult name(void *opArgs, type value)                   \
    {                                                           \
        op_args *a = opArgs;                                    \
                                                                \
        if (!a) {                                               \
            return HCCL_E_PTR;                                  \
        }                                                       \
        if (a->magic != MAGIC) {                                \
            return HCCL_E_PARA;                                 \
        }                                                       \
        a->field = value;                                       \
        return HCCL_SUCCESS;                                    \
    }

SETTER(HcclKfcOpArgsSetSrcDataType, uint8_t, src_type)
SETTER(HcclKfcOpArgsSetDstDataType, uint8_t, dst_type)
SETTER(HcclKfcOpArgsSetReduceType, uint32_t, reduce_type)
SETTER(HcclKfcOpArgsSetCount, uint64_t, count)
SETTER(HcclKfcOpArgsSetCommEngine, uint8_t, engine)

HcclResult HcclKfcOpArgsSetAlgConfig(void *opArgs, char *algConfig)
{
    op_args *a = opArgs;

    if (!a || !algConfig) {
        return HCCL_E_PTR;
    }
    if (a->magic != MAGIC || strlen(algConfig) >= sizeof(a->alg)) {
        return HCCL_E_PARA;
    }
    strcpy(a->alg, algConfig);
    return HCCL_SUCCESS;
}

HcclResult HcclCreateOpResCtx(HcclComm comm, uint8_t opType, void *opArgs,
                              void **opResCtx)
{
    if (!comm || !opArgs || !opResCtx) {
        return HCCL_E_PTR;
    }
    a350_set_error("EI0003", "HcclCreateOpResCtx: fused operators (type %u) "
                   "need engines AIV or CCU, which this model has not",
                   opType);
    return HCCL_E_NOT_SUPPORT;
}
