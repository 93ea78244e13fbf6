/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notifies and counting notifies (spec/api/acl-runtime.md §12,
 * spec/hw/task-queues.md §3).
 */
#include "ipc_priv.h"

#include <stdio.h>
#include <string.h>

typedef struct notify {
    uint32_t magic;
    uint32_t id;
    acl_dev *dev;                /* of an imported one: the importer's */
    uint32_t generation;
    bool imported;
    ipc_lease lease;
} notify;

static aclError create(const char *func, void **out, uint64_t flag,
                       uint32_t magic)
{
    aclError rc;
    acl_ctx *c;
    notify *n;
    int err;

    if (!out) {
        return acl_fail(func, ACL_ERROR_INVALID_PARAM, "notify is NULL");
    }
    if (flag > ACL_NOTIFY_DEVICE_USE_ONLY) {
        return acl_fail(func, ACL_ERROR_RT_PARAM_INVALID, "flag 0x%llx: 0 or "
                        "1", (unsigned long long)flag);
    }
    c = ctx_need(func, &rc);
    if (!c) {
        return rc;
    }
    n = handle_new(magic);
    if (!n) {
        return acl_fail(func, ACL_ERROR_RT_MEMORY_ALLOCATION, "too many "
                        "handles");
    }
    err = magic == H_NOTIFY ? a350_notify_alloc(c->dev->card, &n->id)
                            : a350_cnt_notify_alloc(c->dev->card, &n->id);
    if (err) {
        handle_free(n);
        return acl_fail(func, ACL_ERROR_RT_NO_NOTIFY_RESOURCE, "%s",
                        a350_card_text());
    }
    n->dev = c->dev;
    n->generation = c->dev->generation;
    *out = n;
    return ACL_SUCCESS;
}

static notify *need(const char *func, const void *h, uint32_t magic,
                    aclError *rc)
{
    notify *n = (notify *)h;

    if (!h) {
        *rc = acl_fail(func, ACL_ERROR_INVALID_PARAM, "notify is NULL");
        return NULL;
    }
    if (!handle_is(h, magic)) {
        *rc = acl_fail(func, ACL_ERROR_RT_INVALID_HANDLE, "notify %p is %s", h,
                       handle_what(h));
        return NULL;
    }
    if (n->generation != n->dev->generation || !n->dev->card) {
        *rc = acl_fail(func, ACL_ERROR_RT_INVALID_HANDLE, "notify %p is of "
                       "device %d before its reset", h, n->dev->id);
        return NULL;
    }
    return n;
}

static aclError destroy(const char *func, void *h, uint32_t magic)
{
    aclError rc = ACL_SUCCESS;
    notify *n = need(func, h, magic, &rc);

    if (handle_is(h, magic) && ((notify *)h)->imported) {
        ipc_lease_end(&((notify *)h)->lease);
    } else if (n && magic == H_NOTIFY) {
        if (ipc_freed(IPC_NOTIFY, n->dev, n->id) == IPC_FREE) {
            a350_notify_free(n->dev->card, n->id);
        }
    } else if (n) {
        a350_cnt_notify_free(n->dev->card, n->id);
    } else if (!h || !handle_is(h, magic)) {
        return rc;
    }
    handle_free(h);
    return ACL_SUCCESS;
}

/* The stream, if it runs on the notify's card. */
static a350_stream *stream_for(const char *func, const notify *n,
                               aclrtStream stream, aclError *rc)
{
    a350_stream *s = stream_need(func, stream, rc);

    if (s && s->ctx->dev != n->dev) {
        *rc = acl_fail(func, ACL_ERROR_RT_STREAM_CONTEXT, "the notify is of "
                       "device %d, the stream of device %d", n->dev->id,
                       s->ctx->dev->id);
        return NULL;
    }
    return s;
}

ACL_EXPORT aclError aclrtCreateNotify(aclrtNotify *notify_, uint64_t flag)
{
    return create(__func__, notify_, flag, H_NOTIFY);
}

ACL_EXPORT aclError aclrtDestroyNotify(aclrtNotify notify_)
{
    return destroy(__func__, notify_, H_NOTIFY);
}

/*
 * spec/hw/task-queues.md §3, WRITE_VALUE: a notify of another process is
 * recorded by a write of 1 to its register.
 */
static aclError record_imported(const char *func, const notify *n,
                                const a350_stream *s, a350_sqe *e)
{
    const ipc_lease *l = &n->lease;
    const char *ended = ipc_lease_ended(l);
    uint64_t own = a350_card_id(s->card)->dev_base;
    uint32_t one = 1;

    if (ended) {
        return acl_fail(func, ACL_ERROR_RT_INVALID_HANDLE, "the notify is of "
                        "process %d, which %s", l->pid, ended);
    }
    if ((own ^ l->info.addr) >> A350_WV_ADDR_BITS) {
        return acl_fail(func, ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "card %u's "
                        "notifies have addresses that card %u cannot write in "
                        "%u bits", l->info.card, a350_card_number(s->card),
                        A350_WV_ADDR_BITS);
    }
    a350_sqe_write_value(e, 0, l->info.addr, 2, &one, A350_WV_SUB_IPC_PCIE);
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtRecordNotify(aclrtNotify notify_, aclrtStream stream)
{
    task_meta m = { .what = "notify record" };
    aclError rc;
    notify *n = need(__func__, notify_, H_NOTIFY, &rc);
    a350_stream *s = n ? stream_for(__func__, n, stream, &rc) : NULL;
    a350_sqe e;

    if (!s) {
        return rc;
    }
    if (!n->imported) {
        a350_sqe_notify_record(&e, 0, n->id);
    } else if ((rc = record_imported(__func__, n, s, &e))) {
        return rc;
    }
    return stream_submit(__func__, s, &e, 1, NULL, &m, NULL);
}

ACL_EXPORT aclError aclrtWaitAndResetNotify(aclrtNotify notify_,
                                            aclrtStream stream,
                                            uint32_t timeout)
{
    task_meta m = { .what = "notify wait" };
    aclError rc;
    notify *n = need(__func__, notify_, H_NOTIFY, &rc);
    a350_stream *s = n ? stream_for(__func__, n, stream, &rc) : NULL;
    a350_sqe e;

    if (!s) {
        return rc;
    }
    if (n->imported) {
        return FAIL(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "the notify is of "
                    "process %d: only its own card can wait for it",
                    n->lease.pid);
    }
    a350_sqe_notify_wait(&e, 0, n->id, timeout);
    return stream_submit(__func__, s, &e, 1, NULL, &m, NULL);
}

ACL_EXPORT aclError aclrtGetNotifyId(aclrtNotify notify_, uint32_t *notifyId)
{
    aclError rc;
    notify *n;

    CHECK_PTR(notifyId);
    n = need(__func__, notify_, H_NOTIFY, &rc);
    if (!n) {
        return rc;
    }
    *notifyId = n->id;
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtNotifyBatchReset(aclrtNotify *notifies, size_t num)
{
    aclError rc = ACL_SUCCESS;
    size_t i;

    CHECK_PTR(notifies);
    if (num == 0) {
        return FAIL(ACL_ERROR_INVALID_PARAM, "num is 0");
    }
    for (i = 0; i < num; i++) {
        notify *n = need(__func__, notifies[i], H_NOTIFY, &rc);

        if (!n) {
            return rc;
        }
        if (n->imported) {
            return FAIL(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "notify %zu is of "
                        "process %d: only that process can reset it", i,
                        n->lease.pid);
        }
    }
    for (i = 0; i < num; i++) {
        notify *n = notifies[i];

        a350_notify_clear(n->dev->card, n->id, 1);
    }
    return ACL_SUCCESS;
}

/* ---- counting notifies ---- */

ACL_EXPORT aclError aclrtCntNotifyCreate(aclrtCntNotify *cntNotify,
                                         uint64_t flag)
{
    return create(__func__, cntNotify, flag, H_CNT_NOTIFY);
}

ACL_EXPORT aclError aclrtCntNotifyDestroy(aclrtCntNotify cntNotify)
{
    return destroy(__func__, cntNotify, H_CNT_NOTIFY);
}

ACL_EXPORT aclError aclrtCntNotifyRecord(aclrtCntNotify cntNotify,
                                         aclrtStream stream,
                                         aclrtCntNotifyRecordInfo *info)
{
    task_meta m = { .what = "counting notify record" };
    uint32_t mode, value;
    aclError rc;
    notify *n = need(__func__, cntNotify, H_CNT_NOTIFY, &rc);
    a350_stream *s;
    a350_sqe e;

    if (!n) {
        return rc;
    }
    CHECK_PTR(info);
    s = stream_for(__func__, n, stream, &rc);
    if (!s) {
        return rc;
    }
    value = info->value;
    switch (info->mode) {
    case ACL_RT_CNT_NOTIFY_RECORD_SET_VALUE_MODE:
        mode = A350_NOTIFY_REC_STORE;
        break;
    case ACL_RT_CNT_NOTIFY_RECORD_ADD_MODE:
        mode = A350_NOTIFY_REC_ADD;
        break;
    case ACL_RT_CNT_NOTIFY_RECORD_BIT_OR_MODE:
        mode = A350_NOTIFY_REC_OR;
        break;
    case ACL_RT_CNT_NOTIFY_RECORD_BIT_AND_MODE:
        /* The card clears the bits given: AND keeps the others. */
        mode = A350_NOTIFY_REC_CLEAR;
        value = ~value;
        break;
    default:
        return FAIL(ACL_ERROR_RT_PARAM_INVALID, "mode %d: legal 0, 1, 2, 4",
                    (int)info->mode);
    }
    a350_sqe_init(&e, A350_SQE_NOTIFY_RECORD, 0, A350_CREDIT_DEFAULT);
    e.w[2] = n->id | A350_NOTIFY_CNT;
    e.w[3] |= A350_NSUB_COUNT_RECORD;
    e.w[4] = value;
    e.w[5] = mode << A350_NOTIFY_REC_SHIFT;
    return stream_submit(__func__, s, &e, 1, NULL, &m, NULL);
}

ACL_EXPORT aclError aclrtCntNotifyWaitWithTimeout(
    aclrtCntNotify cntNotify, aclrtStream stream, aclrtCntNotifyWaitInfo *info)
{
    task_meta m = { .what = "counting notify wait" };
    aclError rc;
    notify *n = need(__func__, cntNotify, H_CNT_NOTIFY, &rc);
    a350_stream *s;
    a350_sqe e;

    if (!n) {
        return rc;
    }
    CHECK_PTR(info);
    s = stream_for(__func__, n, stream, &rc);
    if (!s) {
        return rc;
    }
    if ((int)info->mode < 0 ||
        info->mode > ACL_RT_CNT_NOTIFY_WAIT_EQUAL_WITH_BITMASK_MODE) {
        return FAIL(ACL_ERROR_RT_PARAM_INVALID, "mode %d: legal 0..4",
                    (int)info->mode);
    }
    a350_sqe_init(&e, A350_SQE_NOTIFY_WAIT, 0, A350_CREDIT_NEVER);
    e.w[2] = n->id | A350_NOTIFY_CNT | (info->isClear ? A350_NOTIFY_CLR : 0);
    e.w[3] |= A350_NSUB_COUNT_WAIT;
    e.w[4] = info->value;
    /* Modes 0 to 3 are the two mode bits; the bit mask is its own bit. */
    e.w[5] = info->mode == ACL_RT_CNT_NOTIFY_WAIT_EQUAL_WITH_BITMASK_MODE
             ? A350_NOTIFY_BITMAP : (uint32_t)info->mode;
    e.w[6] = info->timeout;
    return stream_submit(__func__, s, &e, 1, NULL, &m, NULL);
}

ACL_EXPORT aclError aclrtCntNotifyReset(aclrtCntNotify cntNotify,
                                        aclrtStream stream)
{
    aclrtCntNotifyRecordInfo info = {
        .mode = ACL_RT_CNT_NOTIFY_RECORD_SET_VALUE_MODE, .value = 0,
    };

    return aclrtCntNotifyRecord(cntNotify, stream, &info);
}

ACL_EXPORT aclError aclrtCntNotifyGetId(aclrtCntNotify cntNotify,
                                        uint32_t *notifyId)
{
    aclError rc;
    notify *n;

    CHECK_PTR(notifyId);
    n = need(__func__, cntNotify, H_CNT_NOTIFY, &rc);
    if (!n) {
        return rc;
    }
    *notifyId = n->id;
    return ACL_SUCCESS;
}

/* ---- sharing ---- */

ACL_EXPORT aclError aclrtNotifyGetExportKey(aclrtNotify notify_, char *key,
                                            size_t len, uint64_t flags)
{
    ipc_info info = { .size = sizeof(uint32_t) };
    aclError rc;
    notify *n;

    CHECK_PTR(key);
    n = need(__func__, notify_, H_NOTIFY, &rc);
    if (!n) {
        return rc;
    }
    if (len < IPC_KEY_SIZE ||
        flags & ~ACL_RT_NOTIFY_EXPORT_FLAG_DISABLE_PID_VALIDATION) {
        return FAIL(ACL_ERROR_RT_PARAM_INVALID, "len %zu (at least %u), flags "
                    "0x%llx (0 or 2)", len, IPC_KEY_SIZE,
                    (unsigned long long)flags);
    }
    if (n->imported) {
        return FAIL(ACL_ERROR_RT_PARAM_INVALID, "the notify is of process %d: "
                    "only that process can export it", n->lease.pid);
    }
    info.addr = a350_notify_device_addr(n->dev->card, n->id);
    info.id = n->id;
    info.card = a350_card_number(n->dev->card);
    return ipc_export(__func__, IPC_NOTIFY, n->dev, &info, n->id,
                      flags & ACL_RT_NOTIFY_EXPORT_FLAG_DISABLE_PID_VALIDATION,
                      -1, key, len);
}

ACL_EXPORT aclError aclrtNotifyImportByKey(aclrtNotify *notify_,
                                           const char *key, uint64_t flags)
{
    aclError rc;
    acl_ctx *c;
    notify *n;
    int pid;

    CHECK_PTR(notify_);
    CHECK_PTR(key);
    if (flags & ~ACL_RT_NOTIFY_IMPORT_FLAG_ENABLE_PEER_ACCESS) {
        return FAIL(ACL_ERROR_RT_PARAM_INVALID, "flags 0x%llx: 0 or 2",
                    (unsigned long long)flags);
    }
    if (!ipc_key_valid(IPC_NOTIFY, key, &pid)) {
        return ipc_bad_key(__func__, IPC_NOTIFY, key);
    }
    c = ctx_need(__func__, &rc);
    if (!c) {
        return rc;
    }
    n = handle_new(H_NOTIFY);
    if (!n) {
        return FAIL(ACL_ERROR_RT_MEMORY_ALLOCATION, "too many handles");
    }
    rc = ipc_import(__func__, IPC_NOTIFY, key, &n->lease);
    if (rc) {
        handle_free(n);
        return rc;
    }
    n->imported = true;
    n->id = n->lease.info.id;
    n->dev = c->dev;
    n->generation = c->dev->generation;
    *notify_ = n;
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtNotifySetImportPid(aclrtNotify notify_, int32_t *pid,
                                            size_t num)
{
    aclError rc;
    notify *n;

    CHECK_PTR(pid);
    if (num == 0) {
        return FAIL(ACL_ERROR_INVALID_PARAM, "num is 0");
    }
    n = need(__func__, notify_, H_NOTIFY, &rc);
    if (!n) {
        return rc;
    }
    if (n->imported) {
        return FAIL(ACL_ERROR_RT_PARAM_INVALID, "the notify is of process %d: "
                    "only that process can say who imports it", n->lease.pid);
    }
    return ipc_allow(__func__, IPC_NOTIFY, n->dev, n->id, pid, num);
}
