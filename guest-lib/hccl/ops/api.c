/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of hccl/hccl.h, and HcclBarrier. Arguments are checked in the
 * order of spec/api/hccl-collectives.md §4; what a call is given as arrays is
 * read before it returns.
 */
#include <stdlib.h>
#include <string.h>
#include "hccl_internal.h"
#include "ops.h"

#define COUNT_MAX       0x7ffffffffull
#define NEED(call, param)                               \
    do {                                                \
        if (!(param)) {                                 \
            return hcl_null(call, #param);              \
        }                                               \
    } while (0)

/* ---- checks ---- */

static HcclResult check_count(const char *call, const char *param,
                              uint64_t count)
{
    return count <= COUNT_MAX ? HCCL_SUCCESS
           : hcl_bad(HCCL_E_PARA, call, param, "at most 34359738367 elements",
                     "%llu", (unsigned long long)count);
}

static HcclResult check_type(const char *call, const char *param,
                             HcclDataType type)
{
    return ops_type_size(type) ? HCCL_SUCCESS
           : hcl_bad(HCCL_E_NOT_SUPPORT, call, param, "a type of 8, 16, 32 or "
                     "64 bits (HcclDataType 0 to 11, 14 to 17)", "%d",
                     (int)type);
}

static bool reducible(HcclDataType type)
{
    return ops_card_reduces(type, HCCL_REDUCE_SUM) ||
           type == HCCL_DATA_TYPE_INT64 || type == HCCL_DATA_TYPE_UINT64 ||
           type == HCCL_DATA_TYPE_FP64;
}

static HcclResult check_reduce_type(const char *call, HcclDataType type)
{
    return reducible(type) ? HCCL_SUCCESS
           : hcl_bad(HCCL_E_NOT_SUPPORT, call, "dataType", "int8 0, int16 1, "
                     "int32 2, fp16 3, fp32 4, int64 5, uint64 6, fp64 10 or "
                     "bfp16 11", "%d", (int)type);
}

static HcclResult check_op(const char *call, HcclDataType type,
                           HcclReduceOp op)
{
    if (op == HCCL_REDUCE_PROD && (type == HCCL_DATA_TYPE_INT16 ||
                                   type == HCCL_DATA_TYPE_BFP16)) {
        return hcl_bad(HCCL_E_NOT_SUPPORT, call, "op", "no product of int16 "
                       "or bfp16", "PROD with data type %d", (int)type);
    }
    if ((uint32_t)op > HCCL_REDUCE_MIN) {
        return hcl_bad(HCCL_E_PARA, call, "op", "SUM 0, PROD 1, MAX 2 or "
                       "MIN 3", "%d", (int)op);
    }
    return HCCL_SUCCESS;
}

static HcclResult check_rank(const ops_call *c, const char *param,
                             uint32_t rank)
{
    return rank < c->ranks ? HCCL_SUCCESS
           : hcl_bad(HCCL_E_PARA, c->name, param, "a rank of the "
                     "communicator", "%u of %u", rank, c->ranks);
}

static HcclResult check_different(const char *call, const void *send,
                                  const void *recv)
{
    return send != recv || !send ? HCCL_SUCCESS
           : hcl_bad(HCCL_E_PARA, call, "recvBuf", "another buffer than "
                     "sendBuf", "%p, which is sendBuf", recv);
}

/* The largest must be legal. */
static HcclResult check_counts(const char *call, const char *param,
                               const uint64_t *counts, size_t num)
{
    uint64_t most = 0;
    size_t i;

    for (i = 0; i < num; i++) {
        most = counts[i] > most ? counts[i] : most;
    }
    return check_count(call, param, most);
}

static bool all_zero(const uint64_t *counts, size_t num)
{
    size_t i;

    for (i = 0; i < num && !counts[i]; i++) {
    }
    return i == num;
}

/* A buffer may be missing when nothing is in it. */
static HcclResult check_buffer(const char *call, const char *param,
                               const void *buf, const uint64_t *counts,
                               size_t num)
{
    return buf || all_zero(counts, num) ? HCCL_SUCCESS : hcl_null(call, param);
}

static uint64_t addr(const void *p)
{
    return (uintptr_t)p;
}

/* HCCL_ENTRY_LOG_ENABLE: a line for every call. */
static void entry(const ops_call *c, uint64_t count, int type)
{
    static int on = -1;
    const char *e;

    if (on < 0) {
        e = getenv("HCCL_ENTRY_LOG_ENABLE");
        on = e && !strcmp(e, "1");
    }
    if (on) {
        hcl_log(1, "%s: rank %u of %u, count %llu, data type %d, stream %p",
                c->name, c->rank, c->ranks, (unsigned long long)count, type,
                c->stream);
    }
}

/* What all ranks must have in common, besides the operator. */
#define NO_OP   (-1)
#define NO_ROOT (-1)
static HcclResult agree(const ops_call *c, int type, int op, int64_t root,
                        uint64_t count, uint64_t digest)
{
    hcl_op o = { .type = type, .op = op, .root = root, .count = count,
                 .digest = digest };

    entry(c, count, type);
    if (c->ranks == 1) {
        return HCCL_SUCCESS;
    }
    strncpy(o.name, c->name, sizeof(o.name) - 1);
    return hcl_op_agree(c->comm, &o);
}

/* FNV-1a. */
static uint64_t digest_of(uint64_t h, const uint64_t *v, size_t num)
{
    size_t i;

    for (i = 0; i < num; i++) {
        h = (h ^ v[i]) * 1099511628211ull;
    }
    return h;
}
#define DIGEST  1469598103934665603ull

static HcclResult start(ops_call *c, const char *name, HcclComm comm,
                        aclrtStream stream)
{
    TRY(ops_call_start(c, name, comm, stream));
    return c->ranks <= OPS_RANKS_MAX ? HCCL_SUCCESS
           : hcl_bad(HCCL_E_NOT_SUPPORT, name, "comm", "a communicator of at "
                     "most 128 ranks", "%u ranks", c->ranks);
}

/* ---- barrier ---- */

static void plan_meet(ops_plan *p, const void *arg)
{
    (void)arg;
    ops_meet_plan(p);
}

HcclResult HcclBarrier(HcclComm comm, aclrtStream stream)
{
    ops_call c;

    NEED(__func__, stream);
    NEED(__func__, comm);
    TRY(start(&c, __func__, comm, stream));
    TRY(agree(&c, -1, NO_OP, NO_ROOT, 0, 0));
    return c.ranks == 1 ? HCCL_SUCCESS
                        : ops_run(&c, NULL, false, plan_meet, NULL);
}

/* ---- reductions ---- */

typedef struct reduction {
    ops_vector v;
    uint32_t root;
    uint64_t counts[OPS_RANKS_MAX], displs[OPS_RANKS_MAX];
} reduction;

static ops_vector vector(const void *send, const void *recv, uint64_t count,
                         HcclDataType type, HcclReduceOp op)
{
    return (ops_vector){ addr(send), addr(recv), count,
                         { type, op, ops_type_size(type) } };
}

static void plan_all_reduce(ops_plan *p, const void *arg)
{
    ops_all_reduce(p, &((const reduction *)arg)->v);
}

HcclResult HcclAllReduce(void *sendBuf, void *recvBuf, uint64_t count,
                         HcclDataType dataType, HcclReduceOp op, HcclComm comm,
                         aclrtStream stream)
{
    reduction r;
    ops_call c;

    if (!count) {
        return HCCL_SUCCESS;
    }
    NEED(__func__, stream);
    NEED(__func__, comm);
    NEED(__func__, sendBuf);
    NEED(__func__, recvBuf);
    TRY(start(&c, __func__, comm, stream));
    TRY(check_count(__func__, "count", count));
    TRY(check_reduce_type(__func__, dataType));
    TRY(check_op(__func__, dataType, op));
    TRY(agree(&c, dataType, op, NO_ROOT, count, 0));
    r.v = vector(sendBuf, recvBuf, count, dataType, op);
    if (c.ranks == 1) {
        return ops_copy_here(&c, recvBuf, sendBuf, count * r.v.r.size);
    }
    return ops_run(&c, NULL, false, plan_all_reduce, &r);
}

static void plan_reduce(ops_plan *p, const void *arg)
{
    const reduction *r = arg;

    ops_reduce(p, &r->v, r->root);
}

HcclResult HcclReduce(void *sendBuf, void *recvBuf, uint64_t count,
                      HcclDataType dataType, HcclReduceOp op, uint32_t root,
                      HcclComm comm, aclrtStream stream)
{
    reduction r;
    ops_call c;

    if (!count) {
        return HCCL_SUCCESS;
    }
    NEED(__func__, comm);
    NEED(__func__, sendBuf);
    NEED(__func__, recvBuf);
    NEED(__func__, stream);
    TRY(start(&c, __func__, comm, stream));
    TRY(check_count(__func__, "count", count));
    TRY(check_reduce_type(__func__, dataType));
    TRY(check_op(__func__, dataType, op));
    TRY(check_rank(&c, "root", root));
    TRY(agree(&c, dataType, op, root, count, 0));
    r.v = vector(sendBuf, recvBuf, count, dataType, op);
    r.root = root;
    if (c.ranks == 1) {
        return ops_copy_here(&c, recvBuf, sendBuf, count * r.v.r.size);
    }
    return ops_run(&c, NULL, false, plan_reduce, &r);
}

static void plan_reduce_scatter(ops_plan *p, const void *arg)
{
    const reduction *r = arg;

    ops_reduce_scatter(p, &r->v, r->counts, r->displs);
}

static HcclResult reduce_scatter(const ops_call *c, reduction *r)
{
    if (c->ranks == 1) {
        return ops_copy_here(c, (void *)(uintptr_t)r->v.recv,
                             (void *)(uintptr_t)r->v.send,
                             r->counts[0] * r->v.r.size);
    }
    return ops_run(c, NULL, false, plan_reduce_scatter, r);
}

HcclResult HcclReduceScatter(void *sendBuf, void *recvBuf, uint64_t recvCount,
                             HcclDataType dataType, HcclReduceOp op,
                             HcclComm comm, aclrtStream stream)
{
    reduction r;
    ops_call c;
    uint32_t i;

    if (!recvCount) {
        return HCCL_SUCCESS;
    }
    NEED(__func__, stream);
    NEED(__func__, comm);
    NEED(__func__, sendBuf);
    NEED(__func__, recvBuf);
    TRY(start(&c, __func__, comm, stream));
    TRY(check_count(__func__, "recvCount", recvCount));
    TRY(check_reduce_type(__func__, dataType));
    TRY(check_op(__func__, dataType, op));
    r.v = vector(sendBuf, recvBuf, recvCount, dataType, op);
    for (i = 0; i < c.ranks; i++) {
        r.counts[i] = recvCount;
        r.displs[i] = i * recvCount;
    }
    TRY(agree(&c, dataType, op, NO_ROOT, recvCount, 0));
    return reduce_scatter(&c, &r);
}

/* Not checked in the reference, which then writes past the buffer. */
static HcclResult check_mine(const ops_call *c, const char *param,
                             uint64_t count, uint64_t mine)
{
    return count == mine ? HCCL_SUCCESS
           : hcl_bad(HCCL_E_PARA, c->name, param, "this rank's entry of the "
                     "counts", "%llu, but %llu for rank %u",
                     (unsigned long long)count, (unsigned long long)mine,
                     c->rank);
}

HcclResult HcclReduceScatterV(void *sendBuf, const void *sendCounts,
                              const void *sendDispls, void *recvBuf,
                              uint64_t recvCount, HcclDataType dataType,
                              HcclReduceOp op, HcclComm comm,
                              aclrtStream stream)
{
    const uint64_t *counts = sendCounts;
    reduction r;
    ops_call c;

    NEED(__func__, stream);
    NEED(__func__, comm);
    NEED(__func__, sendCounts);
    NEED(__func__, sendDispls);
    if (recvCount) {
        NEED(__func__, recvBuf);
    }
    TRY(start(&c, __func__, comm, stream));
    if (all_zero(counts, c.ranks)) {
        return HCCL_SUCCESS;
    }
    TRY(check_count(__func__, "recvCount", recvCount));
    TRY(check_reduce_type(__func__, dataType));
    TRY(check_op(__func__, dataType, op));
    TRY(check_counts(__func__, "sendCounts", counts, c.ranks));
    TRY(check_mine(&c, "recvCount", recvCount, counts[c.rank]));
    NEED(__func__, sendBuf);
    TRY(agree(&c, dataType, op, NO_ROOT, 0,
              digest_of(digest_of(DIGEST, counts, c.ranks), sendDispls,
                        c.ranks)));
    r.v = vector(sendBuf, recvBuf, recvCount, dataType, op);
    memcpy(r.counts, sendCounts, c.ranks * sizeof(uint64_t));
    memcpy(r.displs, sendDispls, c.ranks * sizeof(uint64_t));
    return reduce_scatter(&c, &r);
}

/* ---- the same to all, from all ---- */

typedef struct copies {
    uint64_t send, recv, len;
    uint32_t root;
    ops_message out[OPS_RANKS_MAX], in[OPS_RANKS_MAX];
} copies;

static void plan_broadcast(ops_plan *p, const void *arg)
{
    const copies *m = arg;

    ops_broadcast(p, m->send, m->len, m->root);
}

HcclResult HcclBroadcast(void *buf, uint64_t count, HcclDataType dataType,
                         uint32_t root, HcclComm comm, aclrtStream stream)
{
    copies m;
    ops_call c;

    if (!count) {
        return HCCL_SUCCESS;
    }
    NEED(__func__, comm);
    NEED(__func__, buf);
    NEED(__func__, stream);
    TRY(start(&c, __func__, comm, stream));
    TRY(check_rank(&c, "root", root));
    TRY(check_count(__func__, "count", count));
    TRY(check_type(__func__, "dataType", dataType));
    TRY(agree(&c, dataType, NO_OP, root, count, 0));
    m.send = addr(buf);
    m.len = count * ops_type_size(dataType);
    m.root = root;
    return c.ranks == 1 ? HCCL_SUCCESS
                        : ops_run(&c, NULL, false, plan_broadcast, &m);
}

static void plan_all_gather(ops_plan *p, const void *arg)
{
    const copies *m = arg;

    ops_all_gather(p, m->send, m->in);
}

static HcclResult all_gather(const ops_call *c, copies *m)
{
    if (c->ranks == 1) {         /* displacements do not count here */
        return ops_copy_here(c, (void *)(uintptr_t)m->recv,
                             (void *)(uintptr_t)m->send, m->in[0].len);
    }
    return ops_run(c, NULL, false, plan_all_gather, m);
}

HcclResult HcclAllGather(void *sendBuf, void *recvBuf, uint64_t sendCount,
                         HcclDataType dataType, HcclComm comm,
                         aclrtStream stream)
{
    copies m;
    ops_call c;
    uint32_t i;

    if (!sendCount) {
        return HCCL_SUCCESS;
    }
    NEED(__func__, comm);
    NEED(__func__, sendBuf);
    NEED(__func__, recvBuf);
    NEED(__func__, stream);
    TRY(start(&c, __func__, comm, stream));
    TRY(check_count(__func__, "sendCount", sendCount));
    TRY(check_type(__func__, "dataType", dataType));
    TRY(agree(&c, dataType, NO_OP, NO_ROOT, sendCount, 0));
    m.send = addr(sendBuf);
    m.recv = addr(recvBuf);
    m.len = sendCount * ops_type_size(dataType);
    for (i = 0; i < c.ranks; i++) {
        m.in[i] = (ops_message){ m.recv + i * m.len, m.len };
    }
    return all_gather(&c, &m);
}

/* Arrays of counts and displacements, as bytes from @base. */
static void place(ops_message *m, uint32_t num, uint64_t base,
                  const uint64_t *counts, const uint64_t *displs,
                  HcclDataType type)
{
    uint64_t size = ops_type_size(type);
    uint32_t i;

    for (i = 0; i < num; i++) {
        m[i] = (ops_message){ base + displs[i] * size, counts[i] * size };
    }
}

HcclResult HcclAllGatherV(void *sendBuf, uint64_t sendCount, void *recvBuf,
                          const void *recvCounts, const void *recvDispls,
                          HcclDataType dataType, HcclComm comm,
                          aclrtStream stream)
{
    const uint64_t *counts = recvCounts;
    copies m;
    ops_call c;

    NEED(__func__, comm);
    NEED(__func__, recvCounts);
    NEED(__func__, recvDispls);
    NEED(__func__, stream);
    if (sendCount) {
        NEED(__func__, sendBuf);
    }
    TRY(start(&c, __func__, comm, stream));
    TRY(check_buffer(__func__, "recvBuf", recvBuf, counts, c.ranks));
    if (all_zero(counts, c.ranks)) {
        return HCCL_SUCCESS;
    }
    TRY(check_count(__func__, "sendCount", sendCount));
    TRY(check_type(__func__, "dataType", dataType));
    TRY(check_counts(__func__, "recvCounts", counts, c.ranks));
    TRY(check_mine(&c, "sendCount", sendCount, counts[c.rank]));
    TRY(agree(&c, dataType, NO_OP, NO_ROOT, 0,
              digest_of(digest_of(DIGEST, counts, c.ranks), recvDispls,
                        c.ranks)));
    m.send = addr(sendBuf);
    m.recv = addr(recvBuf);
    place(m.in, c.ranks, m.recv, counts, recvDispls, dataType);
    return all_gather(&c, &m);
}

/* ---- something else for each ---- */

static void plan_scatter(ops_plan *p, const void *arg)
{
    const copies *m = arg;

    ops_scatter(p, m->out, m->recv, m->len, m->root);
}

HcclResult HcclScatter(void *sendBuf, void *recvBuf, uint64_t recvCount,
                       HcclDataType dataType, uint32_t root, HcclComm comm,
                       aclrtStream stream)
{
    copies m;
    ops_call c;
    uint32_t i;

    NEED(__func__, comm);
    TRY(start(&c, __func__, comm, stream));
    if (!recvCount) {
        return HCCL_SUCCESS;
    }
    NEED(__func__, recvBuf);
    if (c.rank == root) {
        NEED(__func__, sendBuf);
    }
    TRY(check_rank(&c, "root", root));
    TRY(check_count(__func__, "recvCount", recvCount));
    TRY(check_type(__func__, "dataType", dataType));
    TRY(agree(&c, dataType, NO_OP, root, recvCount, 0));
    m.send = addr(sendBuf);
    m.recv = addr(recvBuf);
    m.len = recvCount * ops_type_size(dataType);
    m.root = root;
    for (i = 0; i < c.ranks; i++) {
        m.out[i] = (ops_message){ m.send + i * m.len, m.len };
    }
    if (c.ranks == 1) {
        return ops_copy_here(&c, recvBuf, sendBuf, m.len);
    }
    return ops_run(&c, NULL, false, plan_scatter, &m);
}

static void plan_all_to_all(ops_plan *p, const void *arg)
{
    const copies *m = arg;

    ops_all_to_all(p, m->out, m->in);
}

static HcclResult all_to_all(const ops_call *c, const void *send,
                             const void *recv, copies *m)
{
    if (c->ranks == 1) {         /* displacements do not count here */
        return ops_copy_here(c, (void *)(uintptr_t)recv, send, m->out[0].len);
    }
    return ops_run(c, NULL, false, plan_all_to_all, m);
}

HcclResult HcclAlltoAll(const void *sendBuf, uint64_t sendCount,
                        HcclDataType sendType, const void *recvBuf,
                        uint64_t recvCount, HcclDataType recvType,
                        HcclComm comm, aclrtStream stream)
{
    uint64_t size = ops_type_size(recvType);
    copies m;
    ops_call c;
    uint32_t i;

    if (!sendCount && !recvCount) {
        return HCCL_SUCCESS;
    }
    NEED(__func__, comm);
    NEED(__func__, sendBuf);
    NEED(__func__, recvBuf);
    if (sendCount != recvCount) {
        return hcl_bad(HCCL_E_PARA, __func__, "recvCount", "sendCount",
                       "%llu, sendCount is %llu",
                       (unsigned long long)recvCount,
                       (unsigned long long)sendCount);
    }
    if (sendType != recvType) {
        return hcl_bad(HCCL_E_PARA, __func__, "recvType", "sendType", "%d, "
                       "sendType is %d", (int)recvType, (int)sendType);
    }
    NEED(__func__, stream);
    TRY(check_different(__func__, sendBuf, recvBuf));
    TRY(start(&c, __func__, comm, stream));
    if (size && sendCount > UINT64_MAX / size / c.ranks) {
        return hcl_bad(HCCL_E_PARA, __func__, "sendCount", "a size of 64 bits",
                       "%llu for %u ranks", (unsigned long long)sendCount,
                       c.ranks);
    }
    TRY(check_count(__func__, "sendCount", sendCount));
    TRY(check_type(__func__, "recvType", recvType));
    TRY(agree(&c, recvType, NO_OP, NO_ROOT, sendCount, 0));
    for (i = 0; i < c.ranks; i++) {
        uint64_t len = sendCount * size;

        m.out[i] = (ops_message){ addr(sendBuf) + i * len, len };
        m.in[i] = (ops_message){ addr(recvBuf) + i * len, len };
    }
    return all_to_all(&c, sendBuf, recvBuf, &m);
}

HcclResult HcclAlltoAllV(const void *sendBuf, const void *sendCounts,
                         const void *sdispls, HcclDataType sendType,
                         const void *recvBuf, const void *recvCounts,
                         const void *rdispls, HcclDataType recvType,
                         HcclComm comm, aclrtStream stream)
{
    copies m;
    ops_call c;

    (void)sendType;              /* recvType's size counts on both sides */
    NEED(__func__, comm);
    NEED(__func__, sendCounts);
    NEED(__func__, sdispls);
    NEED(__func__, recvCounts);
    NEED(__func__, rdispls);
    NEED(__func__, stream);
    TRY(check_different(__func__, sendBuf, recvBuf));
    TRY(start(&c, __func__, comm, stream));
    TRY(check_buffer(__func__, "sendBuf", sendBuf, sendCounts, c.ranks));
    TRY(check_buffer(__func__, "recvBuf", recvBuf, recvCounts, c.ranks));
    TRY(check_counts(__func__, "sendCounts", sendCounts, c.ranks));
    TRY(check_counts(__func__, "recvCounts", recvCounts, c.ranks));
    TRY(check_type(__func__, "recvType", recvType));
    TRY(agree(&c, recvType, NO_OP, NO_ROOT, 0, 0));
    place(m.out, c.ranks, addr(sendBuf), sendCounts, sdispls, recvType);
    place(m.in, c.ranks, addr(recvBuf), recvCounts, rdispls, recvType);
    return all_to_all(&c, sendBuf, recvBuf, &m);
}

HcclResult HcclAlltoAllVC(const void *sendBuf, const void *sendCountMatrix,
                          HcclDataType sendType, const void *recvBuf,
                          HcclDataType recvType, HcclComm comm,
                          aclrtStream stream)
{
    const uint64_t *all = sendCountMatrix, *row;
    uint64_t column[OPS_RANKS_MAX], size = ops_type_size(recvType);
    uint64_t out, in;
    copies m;
    ops_call c;
    uint32_t i;

    (void)sendType;
    NEED(__func__, comm);
    NEED(__func__, sendCountMatrix);
    NEED(__func__, stream);
    TRY(check_different(__func__, sendBuf, recvBuf));
    TRY(start(&c, __func__, comm, stream));
    TRY(check_counts(__func__, "sendCountMatrix", all,
                     (size_t)c.ranks * c.ranks));
    row = all + (size_t)c.rank * c.ranks;
    for (i = 0; i < c.ranks; i++) {
        column[i] = all[(size_t)i * c.ranks + c.rank];
    }
    TRY(check_buffer(__func__, "sendBuf", sendBuf, row, c.ranks));
    TRY(check_buffer(__func__, "recvBuf", recvBuf, column, c.ranks));
    TRY(check_type(__func__, "recvType", recvType));
    TRY(agree(&c, recvType, NO_OP, NO_ROOT, 0,
              digest_of(DIGEST, all, (size_t)c.ranks * c.ranks)));
    out = addr(sendBuf);
    in = addr(recvBuf);
    for (i = 0; i < c.ranks; i++) {      /* packed, in rank order */
        m.out[i] = (ops_message){ out, row[i] * size };
        m.in[i] = (ops_message){ in, column[i] * size };
        out += m.out[i].len;
        in += m.in[i].len;
    }
    return all_to_all(&c, sendBuf, recvBuf, &m);
}

/* ---- point to point ---- */

static HcclResult point(const char *call, HcclSendRecvType what, void *buf,
                        uint64_t count, HcclDataType type, uint32_t peer,
                        HcclComm comm, aclrtStream stream)
{
    HcclSendRecvItem item = { what, buf, count, type, peer };
    ops_call c;

    if (!count) {
        return HCCL_SUCCESS;
    }
    NEED(call, comm);
    if (!buf) {
        return hcl_null(call, what == HCCL_SEND ? "sendBuf" : "recvBuf");
    }
    TRY(start(&c, call, comm, stream));
    TRY(check_count(call, "count", count));
    TRY(check_type(call, "dataType", type));
    if (peer == c.rank) {
        return hcl_bad(HCCL_E_NOT_SUPPORT, call, what == HCCL_SEND
                       ? "destRank" : "srcRank", "another rank", "%u, which "
                       "is this rank", peer);
    }
    TRY(check_rank(&c, what == HCCL_SEND ? "destRank" : "srcRank", peer));
    entry(&c, count, type);
    return hcl_group_active() ? ops_group_add(&c, &item)
                              : ops_batch(&c, &item, 1);
}

HcclResult HcclSend(void *sendBuf, uint64_t count, HcclDataType dataType,
                    uint32_t destRank, HcclComm comm, aclrtStream stream)
{
    return point(__func__, HCCL_SEND, sendBuf, count, dataType, destRank, comm,
                 stream);
}

HcclResult HcclRecv(void *recvBuf, uint64_t count, HcclDataType dataType,
                    uint32_t srcRank, HcclComm comm, aclrtStream stream)
{
    return point(__func__, HCCL_RECV, recvBuf, count, dataType, srcRank, comm,
                 stream);
}

static HcclResult check_item(const ops_call *c, const HcclSendRecvItem *item,
                             uint32_t i)
{
    TRY(check_count(c->name, "count", item->count));
    TRY(check_type(c->name, "dataType", item->dataType));
    TRY(check_rank(c, "remoteRank", item->remoteRank));
    if (item->sendRecvType != HCCL_SEND && item->sendRecvType != HCCL_RECV) {
        return hcl_bad(HCCL_E_PARA, c->name, "sendRecvType", "HCCL_SEND 0 or "
                       "HCCL_RECV 1", "%d in item %u", (int)item->sendRecvType,
                       i);
    }
    return item->buf || !item->count ? HCCL_SUCCESS
                                     : hcl_null(c->name, "buf");
}

HcclResult HcclBatchSendRecv(HcclSendRecvItem *sendRecvInfo, uint32_t itemNum,
                             HcclComm comm, aclrtStream stream)
{
    ops_call c;
    uint32_t i;

    if (!itemNum) {
        return HCCL_SUCCESS;
    }
    NEED(__func__, stream);
    NEED(__func__, comm);
    NEED(__func__, sendRecvInfo);
    TRY(start(&c, __func__, comm, stream));
    for (i = 0; i < itemNum; i++) {
        TRY(check_item(&c, &sendRecvInfo[i], i));
    }
    if (hcl_group_active()) {
        return hcl_fail(HCCL_E_NOT_SUPPORT, "EI0003", "%s: not between "
                        "HcclGroupStart and HcclGroupEnd; HcclSend and "
                        "HcclRecv are collected there", __func__);
    }
    entry(&c, itemNum, -1);
    return ops_batch(&c, sendRecvInfo, itemNum);
}
