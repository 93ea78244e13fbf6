/*
 * Atlas 350 virtual card: reading UB work queue entries.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Layout and opcodes: spec/hw/transport.md §2; statuses: §4. The order and
 * completion bits are read by nobody: a jetty is strictly in order, and each
 * entry completes (docs/specs/atlas350-ub.rst). The same goes for se, owner,
 * rmtJettyType, targetHint and tpn.
 */
#include "qemu/osdep.h"
#include "block/aio.h"
#include "exec/memattrs.h"
#include "qemu/queue.h"
#include "ub-int.h"

/* Where the local SGE, or the inline data in its place, begins. */
#define SGE_PLAIN       12
#define SGE_NOTIFY      20

static uint64_t wqe_u64(const a350_wqe *w, unsigned i)
{
    return ((uint64_t)w->w[i + 1] << 32) | w->w[i];
}

static bool refuse(A350UbError *err, uint8_t status, uint8_t sub,
                   const char *reason)
{
    err->status = status;
    err->sub_status = sub;
    err->reason = reason;
    return false;
}

static bool refuse_opcode(A350UbError *err, const char *reason)
{
    return refuse(err, A350_UB_ERR_OPCODE, 0, reason);
}

static bool refuse_length(A350UbError *err, const char *reason)
{
    return refuse(err, A350_UB_ERR_LOCAL, A350_UB_SUB_LOCAL_LENGTH, reason);
}

static bool decode_opcode(const a350_wqe *w, A350UbReq *q, A350UbError *err)
{
    switch (a350_wqe_opcode(w)) {
    case A350_UB_WRITE:
        break;
    case A350_UB_WRITE_WITH_NOTIFY:
        q->notify = true;
        break;
    case A350_UB_READ:
        q->read = true;
        break;
    default:
        return refuse_opcode(err, "opcode is none of WRITE (3), "
                             "WRITE_WITH_NOTIFY (5), READ (6), NOP (0x11)");
    }
    if ((w->w[0] & A350_WQE_INLINE) && (q->read || (w->w[0] & A350_WQE_UDF))) {
        return refuse_opcode(err, "inline data with a read or a reduction");
    }
    return true;
}

/* Word 9: turns the reduction's type and operation into SDMA's. */
static bool decode_reduce(const a350_wqe *w, A350UbReq *q, A350UbError *err)
{
    uint32_t type = (w->w[9] >> A350_WQE_RED_TYPE_SHIFT) & 0xf;
    uint32_t op = (w->w[9] >> A350_WQE_RED_OP_SHIFT) & 0xf;

    q->opcode = A350_SDMA_CPY;
    if (!(w->w[0] & A350_WQE_UDF)) {
        return true;
    }
    if ((w->w[9] & 0xff) != A350_WQE_UDF_REDUCE) {
        return refuse_opcode(err, "udf type is not inline reduce (0)");
    }
    if (type > A350_UB_BF16_SAT) {
        return refuse_opcode(err, "reduce type is above BF16_SAT (9)");
    }
    switch (op) {
    case A350_UB_MAX:
        q->opcode = A350_SDMA_MAX;
        break;
    case A350_UB_MIN:
        q->opcode = A350_SDMA_MIN;
        break;
    case A350_UB_ADD:
        q->opcode = A350_SDMA_ADD;
        break;
    default:
        return refuse_opcode(err, "reduce operation is none of MAX (8), "
                             "MIN (9), ADD (0xa)");
    }
    q->bf16_sat = type == A350_UB_BF16_SAT;
    q->opcode |= MIN(type, A350_UB_BF16) << 4;
    return true;
}

static void decode_remote(const a350_wqe *w, A350UbReq *q)
{
    q->token_enable = w->w[0] & A350_WQE_TOKEN_EN;
    q->token_id = w->w[3] & A350_TOKEN_ID_MASK;
    q->token_value = w->w[8];
    a350_wqe_get_eid(w, q->eid);
    q->remote = wqe_u64(w, 10);
    if (q->notify) {
        q->notify_token_id = w->w[12] & A350_TOKEN_ID_MASK;
        q->notify_token_value = w->w[13];
        q->notify_addr = wqe_u64(w, 14);
        q->notify_data = wqe_u64(w, 16);
    }
}

static bool decode_inline(const a350_wqe *w, A350UbReq *q, unsigned at,
                          A350UbError *err)
{
    q->inline_len = w->w[1] >> A350_WQE_INLINE_LEN_SHIFT;
    q->len = q->inline_len;
    if (q->inline_len > A350_UB_INLINE_MAX) {
        err->len = q->len;
        return refuse_length(err, "inline length is above 16 bytes");
    }
    memcpy(q->inline_data, &w->w[at], q->inline_len);
    return true;
}

static bool decode_sge(A350Ub *ub, const a350_wqe *w, A350UbReq *q,
                       unsigned at, int32_t *pin, A350UbError *err)
{
    uint32_t num = w->w[2] >> A350_WQE_SGE_NUM_SHIFT;
    unsigned elem = a350_sdma_elem_size(q->opcode);
    const char *reason;

    q->local = wqe_u64(w, at + 2);
    q->len = num ? w->w[at] : 0;
    err->addr = q->local;
    err->len = q->len;
    if (num > 1) {
        return refuse_length(err, "more than one scatter/gather entry");
    }
    if (q->len > A350_UB_MAX_MSG) {
        return refuse_length(err, "message is longer than 256 MiB");
    }
    if ((q->opcode & A350_SDMA_OP_MASK) && q->len % elem) {
        return refuse_length(err, "length is not a whole number of elements");
    }
    if (q->len == 0) {
        return true;
    }
    *pin = a350_seg_pin(ub, w->w[at + 1] & A350_TOKEN_ID_MASK, NULL, q->local,
                        q->len, 0, &reason);
    if (*pin < 0) {
        return refuse(err, A350_UB_ERR_LOCAL, A350_UB_SUB_LOCAL_ACCESS, reason);
    }
    return true;
}

bool a350_wqe_decode(A350Ub *ub, const a350_wqe *w, A350UbReq *q,
                     int32_t *local_pin, A350UbError *err)
{
    unsigned at;

    q->read = q->notify = false;
    q->inline_len = 0;
    q->bf16_sat = false;
    *local_pin = -1;
    err->addr = wqe_u64(w, 10);
    err->len = 0;
    if (!decode_opcode(w, q, err) || !decode_reduce(w, q, err)) {
        return false;
    }
    decode_remote(w, q);
    at = q->notify ? SGE_NOTIFY : SGE_PLAIN;
    if (w->w[0] & A350_WQE_INLINE) {
        return decode_inline(w, q, at, err);
    }
    return decode_sge(ub, w, q, at, local_pin, err);
}
