/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tasks to the card: for each cut of a plan, a kernel that queues them and the
 * stream's wait for their end. The kernel runs in the stream's order, so that
 * the tasks begin behind all that was queued on it before.
 */
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "hccl_internal.h"
#include "ops.h"

/* Waits of the host end this much after those of the tasks, which say more. */
#define HOST_MARGIN_S   27u

/* ---- kernels ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static aclrtFuncHandle run_kernel, reduce_kernel;

/* Of the folder above the one this library lies in, else ASCEND_HOME_PATH. */
static bool find_package(char path[PATH_MAX])
{
    static const char file[] =
        "opp/built-in/op_impl/aicpu/config/libhccl_ops_kernel.json";
    const char *home = getenv("ASCEND_HOME_PATH");
    char name[PATH_MAX];
    Dl_info info;
    char *slash;

    if (dladdr((void *)(uintptr_t)find_package, &info) && info.dli_fname) {
        snprintf(name, sizeof(name), "%s", info.dli_fname);
        slash = strrchr(name, '/');
        if (slash) {
            snprintf(slash, sizeof(name) - (size_t)(slash - name), "/../%s",
                     file);
            if (realpath(name, path)) {
                return true;
            }
        }
    }
    snprintf(name, sizeof(name), "%s/%s", home ? home : "/usr/local/Ascend/"
             "cann", file);
    return realpath(name, path) != NULL;
}

static HcclResult load_kernels(void)
{
    aclrtBinaryLoadOption o = {
        .type = ACL_RT_BINARY_LOAD_OPT_CPU_KERNEL_MODE,
        .value.cpuKernelMode = 0,
    };
    aclrtBinaryLoadOptions options = { &o, 1 };
    char path[PATH_MAX];
    aclrtBinHandle bin;

    if (!find_package(path)) {
        return hcl_fail(HCCL_E_OPEN_FILE_FAILURE, NULL, "the operators' "
                        "kernels (opp/built-in/op_impl/aicpu) are neither "
                        "beside libhccl.so's folder nor in ASCEND_HOME_PATH");
    }
    TRY(hcl_acl(aclrtBinaryLoadFromFile(path, &options, &bin),
                "load of the operators' kernels"));
    TRY(hcl_acl(aclrtBinaryGetFunction(bin, A350_OPS_REDUCE, &reduce_kernel),
                "operators' kernel"));
    return hcl_acl(aclrtBinaryGetFunction(bin, A350_OPS_RUN, &run_kernel),
                   "operators' kernel");
}

/* Once for the process; they serve all devices. */
static HcclResult need_kernels(void)
{
    HcclResult rc = HCCL_SUCCESS;

    pthread_mutex_lock(&lock);
    if (!run_kernel) {
        rc = load_kernels();
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

/* ---- launches ---- */

typedef struct target {
    const ops_call *c;
    const ops_state *st;
    ThreadHandle host, host_on_card;
} target;

static HcclResult kernel(const target *t, aclrtFuncHandle function,
                         const void *args, size_t size)
{
    aclrtLaunchKernelAttr attr;
    aclrtLaunchKernelCfg cfg = { &attr, 1 };
    uint32_t limit = t->st->wait_s + HOST_MARGIN_S;

    memset(&attr, 0, sizeof(attr));
    attr.id = ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT;
    attr.value.timeout = t->st->wait_s == 0 || limit > UINT16_MAX
                         ? 0 : (uint16_t)limit;
    return hcl_acl(aclrtLaunchKernelWithHostArgs(function, 1, t->c->stream,
                                                 &cfg, (void *)(uintptr_t)args,
                                                 size, NULL, 0), t->c->name);
}

static HcclResult launch_run(void *opaque, const a350_ops_run *run)
{
    const target *t = opaque;
    a350_ops_run *r = (a350_ops_run *)(uintptr_t)run;
    uint32_t limit = t->st->wait_s + HOST_MARGIN_S;

    r->ctx = t->st->ctx;
    r->host = t->host_on_card;
    r->wait_s = t->st->wait_s;
    TRY(kernel(t, run_kernel, r, sizeof(*r) + r->num * sizeof(r->task[0])));
    if (t->st->wait_s == 0 || limit < HOST_MARGIN_S) {
        limit = 0;
    }
    return (HcclResult)HcommThreadNotifyWaitOnThread(t->host, 0, limit);
}

static HcclResult launch_reduce(void *opaque, const a350_ops_reduce *reduce)
{
    return kernel(opaque, reduce_kernel, reduce, sizeof(*reduce) +
                  reduce->num * sizeof(reduce->src[0]));
}

static HcclResult start(target *t)
{
    TRY(need_kernels());
    TRY(HcclThreadAcquireWithStream(t->c->comm, COMM_ENGINE_CPU_TS,
                                    t->c->stream, 1, &t->host));
    return HcclThreadExportToCommEngine(t->c->comm, 1, &t->host,
                                        COMM_ENGINE_AICPU_TS,
                                        &t->host_on_card);
}

HcclResult ops_call_start(ops_call *c, const char *name, HcclComm comm,
                          aclrtStream stream)
{
    *c = (ops_call){ .name = name, .comm = comm, .stream = stream };
    TRY(HcclGetRankSize(comm, &c->ranks));
    return HcclGetRankId(comm, &c->rank);
}

HcclResult ops_run(const ops_call *c, const bool *peers, bool pairs,
                   ops_plan_fn *fn, const void *arg)
{
    target t = { .c = c };
    ops_sink sink = { launch_run, launch_reduce, &t };
    ops_state *st;
    ops_plan *p;
    HcclResult rc;

    TRY(ops_state_get(c, &st));
    TRY(ops_state_need(c, st, peers, pairs));
    t.st = st;
    TRY(start(&t));
    p = malloc(sizeof(*p));
    if (!p) {
        return hcl_fail(HCCL_E_MEMORY, "EI0007", "out of host memory");
    }
    ops_plan_start(p, &(ops_view){ st->rank, st->ranks, st->buffer,
                                   st->buffer_size, st->peer_buffer }, &sink);
    fn(p, arg);
    rc = ops_plan_end(p);
    free(p);
    return rc;
}

HcclResult ops_copy_here(const ops_call *c, void *dst, const void *src,
                         uint64_t len)
{
    ThreadHandle host;

    if (dst == src || !len) {
        return HCCL_SUCCESS;
    }
    TRY(HcclThreadAcquireWithStream(c->comm, COMM_ENGINE_CPU_TS, c->stream, 1,
                                    &host));
    return (HcclResult)HcommLocalCopyOnThread(host, dst, src, len);
}
