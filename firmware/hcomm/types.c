/*
 * Device side of Hcomm: which reductions the card has.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * spec/api/hcomm-data-plane.md §3.8. A value that is no type or operation at
 * all, or one of the 8-bit floats, is HCCL_E_PARA; a known one that the card
 * can not reduce is HCCL_E_INTERNAL.
 */
#include <inttypes.h>
#include "hc.h"

enum { NO = 0xff };

/* Indexed by HcommDataType. size 0: no such type (or an 8-bit float). */
static const struct {
    uint8_t size, ub, sdma;
} types[] = {
    [HCOMM_DATA_TYPE_INT8] = { 1, A350_UB_INT8, A350_SDMA_INT8 },
    [HCOMM_DATA_TYPE_INT16] = { 2, A350_UB_INT16, A350_SDMA_INT16 },
    [HCOMM_DATA_TYPE_INT32] = { 4, A350_UB_INT32, A350_SDMA_INT32 },
    [HCOMM_DATA_TYPE_FP16] = { 2, A350_UB_FP16, A350_SDMA_FP16 },
    [HCOMM_DATA_TYPE_FP32] = { 4, A350_UB_FP32, A350_SDMA_FP32 },
    [HCOMM_DATA_TYPE_INT64] = { 8, NO, NO },
    [HCOMM_DATA_TYPE_UINT64] = { 8, NO, NO },
    [HCOMM_DATA_TYPE_UINT8] = { 1, A350_UB_UINT8, NO },
    [HCOMM_DATA_TYPE_UINT16] = { 2, A350_UB_UINT16, NO },
    [HCOMM_DATA_TYPE_UINT32] = { 4, A350_UB_UINT32, NO },
    [HCOMM_DATA_TYPE_FP64] = { 8, NO, NO },
    [HCOMM_DATA_TYPE_BFP16] = { 2, A350_UB_BF16, A350_SDMA_BF16 },
    [HCOMM_DATA_TYPE_INT128] = { 16, NO, NO },
};

/* Indexed by HcommReduceOp. */
static const struct {
    uint8_t ub, sdma;
} ops[] = {
    [HCOMM_REDUCE_SUM] = { A350_UB_ADD, A350_SDMA_ADD },
    [HCOMM_REDUCE_PROD] = { NO, NO },
    [HCOMM_REDUCE_MAX] = { A350_UB_MAX, A350_SDMA_MAX },
    [HCOMM_REDUCE_MIN] = { A350_UB_MIN, A350_SDMA_MIN },
};

int32_t hc_reduce_types(hc_xfer *x, HcommDataType type, HcommReduceOp op,
                        uint64_t count, bool ub, const char *call)
{
    uint32_t t = (uint32_t)type, o = (uint32_t)op;

    if (t >= sizeof(types) / sizeof(types[0]) || types[t].size == 0) {
        hc_log(HC_ERROR, "%s: data type %u is not one that can be reduced "
               "(HCOMM_DATA_TYPE_INT8 0 .. INT128 12)", call, t);
        return HCCL_E_PARA;
    }
    if (o >= sizeof(ops) / sizeof(ops[0])) {
        hc_log(HC_ERROR, "%s: reduce operation %u is none (SUM 0, PROD 1, "
               "MAX 2, MIN 3)", call, o);
        return HCCL_E_PARA;
    }
    if ((ub ? types[t].ub : types[t].sdma) == NO || ops[o].ub == NO) {
        hc_log(HC_ERROR, "%s: data type %u with operation %u is not "
               "supported by %s of this card", call, t, o,
               ub ? "channels" : "local and PCIe reductions");
        return HCCL_E_INTERNAL;
    }
    if (count > UINT64_MAX / types[t].size) {
        hc_log(HC_ERROR, "%s: count %" PRIu64 " of %u-byte elements does not "
               "fit 64 bits of bytes", call, count, types[t].size);
        return HCCL_E_PARA;
    }
    x->reduce = true;
    x->elem = types[t].size;
    x->len = count * types[t].size;
    x->red_op = ops[o].ub;
    x->red_type = types[t].ub;
    x->sdma_op = ops[o].sdma | (types[t].sdma == NO ? 0u : types[t].sdma);
    return HCCL_SUCCESS;
}
