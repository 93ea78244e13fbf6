/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HcclAicpuKernelLaunch: spec/api/hccl-control-plane.md §4.5.
 *
 * The user's stream tells the kernel's thread to start, by that thread's last
 * notify, and waits for notify 0 of its own. On the unfold stream: a kernel
 * that queues the thread's wait, the user's kernel, and one that queues the
 * record for the user's stream.
 */
#include <stdlib.h>
#include <string.h>
#include "hccl_internal.h"

#define HOST_NOTIFIES   3u       /* of the user's stream, spec §4.5 */
#define OP_TYPE_P2P     1u

typedef struct step {
    a350_args_header head;
    a350_thread_step arg;
} step;

/* In card memory; lives as long as the communicator. */
typedef struct helper_block {
    char so[64], wait_name[64], record_name[64];
    step wait, record;
} helper_block;

struct hcl_helper {
    struct hcl_helper *next;
    uint64_t thread, host, addr;
    uint32_t index;
};

/* A stream that operators of the communicator are queued on, up to where. */
struct hcl_unfold {
    struct hcl_unfold *next;
    aclrtStream stream;
    a350_stream_mark mark;
};

void hcl_unfolds_end(hcl_comm *c, aclError code, const char *text)
{
    struct hcl_unfold *u;
    a350_stream *s;

    while ((u = c->unfolds)) {
        c->unfolds = u->next;
        s = a350_stream_from_handle(u->stream);
        if (s && !a350_stream_passed(s, &u->mark)) {
            hcl_log(2, "%s", text);
            a350_stream_end(s, code, text);
        }
        free(u);
    }
}

static struct hcl_unfold *unfold_get(hcl_comm *c, aclrtStream stream)
{
    struct hcl_unfold *u;

    for (u = c->unfolds; u && u->stream != stream; u = u->next) {
    }
    if (!u && (u = calloc(1, sizeof(*u)))) {
        u->stream = stream;
        u->next = c->unfolds;
        c->unfolds = u;
    }
    return u;
}

void hcl_helpers_free(hcl_comm *c)
{
    struct hcl_helper *h;

    while ((h = c->helpers)) {
        c->helpers = h->next;
        a350_hbm_free(h->addr);
        free(h);
    }
}

/* The names and arguments for @t between starts by @host. */
static HcclResult helper_get(hcl_comm *c, const hcl_thread *t,
                             const hcl_thread *host, uint64_t *addr)
{
    uint32_t last = t->notify.num - 1;
    struct hcl_helper *h;
    helper_block b = {
        .so = A350_HCOMM_SO, .wait_name = A350_HCOMM_STEP_WAIT,
        .record_name = A350_HCOMM_STEP_RECORD,
        .wait = { { A350_ARGS_MAGIC, sizeof(a350_thread_step), 0 },
                  { t->device, 0, last, 0 } },
        .record = { { A350_ARGS_MAGIC, sizeof(a350_thread_step), 0 },
                    { t->device, host->device, 0, 0 } },
    };
    int rc;

    for (h = c->helpers; h; h = h->next) {
        if (h->thread == t->device && h->host == host->device &&
            h->index == last) {
            *addr = h->addr;
            return HCCL_SUCCESS;
        }
    }
    h = calloc(1, sizeof(*h));
    if (!h) {
        return hcl_fail(HCCL_E_MEMORY, "EI0007", "out of host memory");
    }
    rc = a350_hbm_new(c->card, &b, sizeof(b), &h->addr);
    if (rc) {
        free(h);
        return hcl_driver(rc, "helper kernels");
    }
    h->thread = t->device;
    h->host = host->device;
    h->index = last;
    h->next = c->helpers;
    c->helpers = h;
    *addr = h->addr;
    return HCCL_SUCCESS;
}

/*
 * The unfold stream takes no more once a kernel on it has failed, which may be
 * this call's own: the same message as the user's stream has then.
 */
static HcclResult unfold_error(const hcl_comm *c, aclError rc,
                               const char *what)
{
    if (rc / 1000 != ACL_ERROR_RT_AICPU_EXCEPTION / 1000) {
        return hcl_acl(rc, what);
    }
    return hcl_fail(HCCL_E_RUNTIME, "EI0012", "%s: rank %d: the kernel of an "
                    "operator failed on its unfold stream (%s): %s", c->name,
                    (int)c->rank, what, a350_peek_error());
}

static HcclResult push_helper(const hcl_comm *c, a350_stream *s,
                              a350_stream_mark *mark, uint64_t block,
                              size_t name, size_t head, const char *what)
{
    a350_sqe sqe;

    a350_sqe_aicpu(&sqe, 0, A350_KERNEL_TYPE_AICPU, 1,
                   block + offsetof(helper_block, so), block + name,
                   block + head + offsetof(step, arg), 60);
    return unfold_error(c, a350_stream_push(s, &sqe, 1, what, mark), what);
}

static HcclResult launch_user(const hcl_comm *c, const hcl_launch *l,
                              aclrtFuncHandle function, const hcl_thread *t)
{
    aclrtLaunchKernelAttr attr;
    aclrtLaunchKernelCfg cfg = { &attr, 1 };
    HcclP2pKernelParam *p = calloc(1, sizeof(*p));
    aclError rc;

    if (!p) {
        return hcl_fail(HCCL_E_MEMORY, "EI0007", "out of host memory");
    }
    p->sendRecvThread = t->device;
    memcpy(p->opParams, l->args, l->arg_size);
    memset(&attr, 0, sizeof(attr));
    attr.id = ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT;
    /* All ones as HcclKernelLaunchCfgInit leaves it: the longest. */
    attr.value.timeout = l->seconds > UINT16_MAX ? UINT16_MAX
                                                 : (uint16_t)l->seconds;
    rc = aclrtLaunchKernelWithHostArgs(function, 1, l->unfold, &cfg, p,
                                       sizeof(*p), NULL, 0);
    free(p);
    if (rc != ACL_SUCCESS) {
        a350_append_error("HcclAicpuKernelLaunch: kernel %s of %s; looked for "
                          "before that in ASCEND_CUSTOM_OPP_PATH, in "
                          "$ASCEND_HOME_PATH/opp/vendors/*/aicpu/config and "
                          "beside the program", l->function, l->so);
    }
    return unfold_error(c, rc, "launch of the operator's kernel");
}

/* Everything that can be wrong is found before the first task is queued. */
static HcclResult launch_locked(hcl_comm *c, const hcl_launch *l)
{
    static const char call[] = "HcclAicpuKernelLaunch";
    hcl_thread *t = hcl_thread_get(l->thread), *host;
    struct hcl_unfold *u = NULL;
    aclrtFuncHandle function;
    a350_stream *unfold;
    ThreadHandle handle;
    uint64_t block = 0;
    HcclResult rc;

    if (!t || t->comm != c || !t->sq) {
        return hcl_bad(HCCL_E_PARA, call, "aicpuThreadHandle", "an AICPU_TS "
                       "thread of this communicator", "0x%llx",
                       (unsigned long long)l->thread);
    }
    unfold = a350_stream_from_handle(l->unfold);
    if (!unfold || a350_stream_card(unfold) != c->card) {
        return hcl_bad(HCCL_E_PARA, call, "unfoldStream", "a live stream of "
                       "the communicator's device", "%p", l->unfold);
    }
    rc = hcl_kernel_find(l->so, l->function, &function);
    if (rc == HCCL_SUCCESS) {
        rc = HcclThreadAcquireWithStream((HcclComm)(uintptr_t)c->handle,
                                         COMM_ENGINE_CPU_TS, l->user,
                                         HOST_NOTIFIES, &handle);
    }
    if (rc != HCCL_SUCCESS) {
        return rc;
    }
    host = hcl_thread_get(handle);
    pthread_mutex_lock(&c->lock);
    rc = hcl_thread_export_device(host);
    if (rc == HCCL_SUCCESS) {
        rc = helper_get(c, t, host, &block);
    }
    if (rc == HCCL_SUCCESS && !(u = unfold_get(c, l->unfold))) {
        rc = hcl_fail(HCCL_E_MEMORY, "EI0007", "out of host memory");
    }
    pthread_mutex_unlock(&c->lock);
    if (rc == HCCL_SUCCESS && unfold != host->s &&
        a350_stream_on_error(unfold, hcl_unfold_failed,
                             (void *)(uintptr_t)handle)) {
        rc = hcl_fail(HCCL_E_MEMORY, "EI0007", "out of host memory");
    }
    if (rc == HCCL_SUCCESS) {
        rc = HcommThreadNotifyRecordOnThread(handle, t->host,
                                             t->notify.num - 1);
    }
    if (rc == HCCL_SUCCESS) {
        rc = push_helper(c, unfold, &u->mark, block,
                         offsetof(helper_block, wait_name),
                         offsetof(helper_block, wait), "start of an operator");
    }
    if (rc == HCCL_SUCCESS) {
        rc = launch_user(c, l, function, t);
    }
    if (rc == HCCL_SUCCESS) {
        rc = push_helper(c, unfold, &u->mark, block,
                         offsetof(helper_block, record_name),
                         offsetof(helper_block, record), "end of an operator");
    }
    if (rc == HCCL_SUCCESS) {
        rc = HcommThreadNotifyWaitOnThreadWithDefaultTimeout(handle, 0);
    }
    return rc;
}

HcclResult hcl_launch_run(const hcl_launch *l)
{
    HcclResult rc;
    hcl_comm *c = hcl_comm_get(l->comm, "HcclAicpuKernelLaunch", &rc);

    if (!c) {
        return rc;
    }
    /* Two launches must not mix their steps on one stream. */
    pthread_mutex_lock(&c->launch_lock);
    rc = launch_locked(c, l);
    pthread_mutex_unlock(&c->launch_lock);
    hcl_comm_put(c);
    return rc;
}

static HcclResult check(const char *call, const HcclOpDesc *op,
                        const HcclKernelFuncInfo *f)
{
    if (f->argSize && !f->args) {
        return hcl_null(call, "funcInfo->args");
    }
    if (f->argSize > P2P_MAX_ARG_SIZE) {
        return hcl_bad(HCCL_E_PARA, call, "argSize", "0 to 8192", "%u",
                       f->argSize);
    }
    if (op->opDescType != OP_TYPE_P2P) {
        return hcl_bad(HCCL_E_NOT_SUPPORT, call, "opDescType", "1, point to "
                       "point", "%u", op->opDescType);
    }
    if (!op->p2p.unfoldStream) {
        return hcl_null(call, "opInfo->p2p.unfoldStream");
    }
    if (!memchr(f->kernelSoName, 0, sizeof(f->kernelSoName)) ||
        !memchr(f->kernelFuncName, 0, sizeof(f->kernelFuncName)) ||
        !f->kernelSoName[0] || !f->kernelFuncName[0]) {
        return hcl_bad(HCCL_E_PARA, call, "kernelSoName, kernelFuncName",
                       "1 to " HCL_TEXT(HCL_TAG_MAX) " characters each", "empty or unterminated");
    }
    return HCCL_SUCCESS;
}

HcclResult HcclAicpuKernelLaunch(HcclComm comm, const HcclOpDesc *opInfo,
                                 const HcclKernelFuncInfo *funcInfo,
                                 ThreadHandle aicpuThreadHandle,
                                 aclrtStream userStream,
                                 const HcclKernelLaunchCfg *cfg)
{
    static const char call[] = "HcclAicpuKernelLaunch";
    hcl_launch *l;
    HcclResult rc;

    if (!comm || !opInfo || !funcInfo || !userStream || !cfg) {
        return hcl_null(call, !comm ? "comm" : !opInfo ? "opInfo"
                        : !funcInfo ? "funcInfo"
                        : userStream ? "cfg" : "userStream");
    }
    rc = check(call, opInfo, funcInfo);
    if (rc != HCCL_SUCCESS) {
        return rc;
    }
    l = calloc(1, sizeof(*l));
    if (!l) {
        return hcl_fail(HCCL_E_MEMORY, "EI0007", "out of host memory");
    }
    l->comm = comm;
    l->thread = aicpuThreadHandle;
    l->user = userStream;
    l->unfold = opInfo->p2p.unfoldStream;
    l->seconds = cfg->timeOut;
    l->arg_size = funcInfo->argSize;
    strcpy(l->so, funcInfo->kernelSoName);
    strcpy(l->function, funcInfo->kernelFuncName);
    if (l->arg_size) {
        memcpy(l->args, funcInfo->args, l->arg_size);
    }
    if (hcl_group_active()) {
        return hcl_group_launch(l);
    }
    rc = hcl_launch_run(l);
    free(l);
    return rc;
}
