/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel arguments and launches.
 */
#include "kernel_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- time limits ---- */

static _Atomic uint64_t default_limit_us = KERNEL_TIMEOUT_US;

/*
 * kernelCredit: units of 2^32 ns, the card counts one more than it says. The
 * vendor's runtime adds four units of grace to short limits; here the limit is
 * kept as near as the unit allows (docs/acl.rst).
 */
static uint32_t credit_of(uint64_t us)
{
    uint64_t units;

    if (us > KERNEL_TIMEOUT_US) {
        return A350_CREDIT_NEVER;
    }
    units = (us * 1000 + A350_CREDIT_UNIT_NS - 1) / A350_CREDIT_UNIT_NS;
    if (units == 0) {
        units = 1;
    }
    return (uint32_t)(units > 254 ? 254 : units) - 1;
}

static uint64_t interval_us(void)
{
    return A350_CREDIT_UNIT_NS / 1000;
}

static aclError set_default(const char *func, uint64_t us)
{
    if (us == 0) {
        us = KERNEL_TIMEOUT_US;
    }
    (void)func;
    default_limit_us = us;
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtSetOpExecuteTimeOut(uint32_t timeout)
{
    return set_default(__func__, timeout * 1000000ull);
}

ACL_EXPORT aclError aclrtSetOpExecuteTimeOutWithMs(uint32_t timeout)
{
    return set_default(__func__, timeout * 1000ull);
}

ACL_EXPORT aclError aclrtSetOpExecuteTimeOutV2(uint64_t timeout,
                                               uint64_t *actualTimeout)
{
    uint64_t unit = interval_us(), n = timeout / unit + (timeout % unit != 0);

    CHECK_PTR(actualTimeout);
    n = n == 0 ? 1 : n > 254 ? 254 : n;
    *actualTimeout = timeout ? n * unit : 0;
    return set_default(__func__, timeout);
}

ACL_EXPORT aclError aclrtGetOpTimeOutInterval(uint64_t *interval)
{
    CHECK_PTR(interval);
    *interval = interval_us();
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtGetOpExecuteTimeout(uint32_t *const timeoutMs)
{
    CHECK_PTR(timeoutMs);
    *timeoutMs = (uint32_t)(default_limit_us / 1000);
    return ACL_SUCCESS;
}

/* ---- arguments ---- */

static __thread kargs *thread_args;

/* What is told to a thread's arguments when it ends. */
static pthread_key_t args_key;
static pthread_once_t args_once = PTHREAD_ONCE_INIT;

static void args_free(void *p)
{
    kargs *a = p;

    if (a) {
        free(a->data);
        free(a);
    }
}

static void args_key_make(void)
{
    pthread_key_create(&args_key, args_free);
}

static aclError args_need(const char *func, const kargs *a)
{
    if (!a) {
        return acl_fail(func, ACL_ERROR_INVALID_PARAM, "argsHandle is NULL");
    }
    if (a->magic != H_ARGS) {
        return acl_fail(func, ACL_ERROR_RT_INVALID_HANDLE, "argsHandle %p is "
                        "no argument object", (const void *)a);
    }
    return ACL_SUCCESS;
}

/* One object per thread, reset by each Init: spec/api/acl-runtime.md §14. */
ACL_EXPORT aclError aclrtKernelArgsInit(aclrtFuncHandle funcHandle,
                                        aclrtArgsHandle *argsHandle)
{
    aclError rc = func_need(__func__, funcHandle);
    kargs *a;

    if (rc) {
        return rc;
    }
    CHECK_PTR(argsHandle);
    a = thread_args;
    if (!a) {
        pthread_once(&args_once, args_key_make);
        a = calloc(1, sizeof(*a));
        if (!a || !(a->data = malloc(ARGS_MAX))) {
            free(a);
            return FAIL(ACL_ERROR_RT_MEMORY_ALLOCATION, "out of host memory");
        }
        a->capacity = ARGS_MAX;
        thread_args = a;
        pthread_setspecific(args_key, a);
    }
    a->magic = H_ARGS;
    a->func = funcHandle;
    a->finalized = false;
    a->num = 0;
    a->size = 0;
    *argsHandle = a;
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtKernelArgsGetHandleMemSize(aclrtFuncHandle funcHandle,
                                                    size_t *memSize)
{
    aclError rc = func_need(__func__, funcHandle);

    if (rc) {
        return rc;
    }
    CHECK_PTR(memSize);
    *memSize = sizeof(kargs);
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtKernelArgsGetMemSize(aclrtFuncHandle funcHandle,
                                              size_t userArgsSize,
                                              size_t *actualArgsSize)
{
    aclError rc = func_need(__func__, funcHandle);

    if (rc) {
        return rc;
    }
    CHECK_PTR(actualArgsSize);
    *actualArgsSize = userArgsSize;
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtKernelArgsInitByUserMem(aclrtFuncHandle funcHandle,
                                                 aclrtArgsHandle argsHandle,
                                                 void *userHostMem,
                                                 size_t actualArgsSize)
{
    aclError rc = func_need(__func__, funcHandle);
    kargs *a = argsHandle;

    if (rc) {
        return rc;
    }
    CHECK_PTR(argsHandle);
    CHECK_PTR(userHostMem);
    if (actualArgsSize == 0 || actualArgsSize > ARGS_MAX) {
        return FAIL(ACL_ERROR_RT_PARAM_INVALID, "actualArgsSize %zu: legal "
                    "1..%u", actualArgsSize, ARGS_MAX);
    }
    memset(a, 0, sizeof(*a));
    a->magic = H_ARGS;
    a->func = funcHandle;
    a->user_mem = true;
    a->data = userHostMem;
    a->capacity = actualArgsSize;
    return ACL_SUCCESS;
}

/* Room for a parameter; AICPU parameters are packed without gaps. */
static aclError args_room(const char *func, kargs *a, size_t size)
{
    if (a->finalized) {
        return acl_fail(func, ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "the "
                        "arguments are finalized");
    }
    if (a->num >= KERNEL_PARAMS_MAX || size > a->capacity - a->size) {
        return acl_fail(func, ACL_ERROR_RT_PARAM_INVALID, "parameter %u of "
                        "%zu bytes: at most %u parameters and %zu bytes in "
                        "all (%zu used)", a->num, size, KERNEL_PARAMS_MAX,
                        a->capacity, a->size);
    }
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtKernelArgsAppend(aclrtArgsHandle argsHandle,
                                          void *param, size_t paramSize,
                                          aclrtParamHandle *paramHandle)
{
    kargs *a = argsHandle;
    aclError rc = args_need(__func__, a);

    if (rc) {
        return rc;
    }
    CHECK_PTR(param);
    CHECK_PTR(paramHandle);
    if (paramSize == 0) {
        return FAIL(ACL_ERROR_INVALID_PARAM, "paramSize is 0");
    }
    rc = args_room(__func__, a, paramSize);
    if (rc) {
        return rc;
    }
    a->param[a->num].off = (uint32_t)a->size;
    a->param[a->num].size = (uint32_t)paramSize;
    a->param[a->num].holder = false;
    memcpy(a->data + a->size, param, paramSize);
    a->size += paramSize;
    *paramHandle = &a->param[a->num++];
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtKernelArgsAppendPlaceHolder(
    aclrtArgsHandle argsHandle, aclrtParamHandle *paramHandle)
{
    kargs *a = argsHandle;
    aclError rc = args_need(__func__, a);

    if (rc) {
        return rc;
    }
    CHECK_PTR(paramHandle);
    rc = args_room(__func__, a, 8);
    if (rc) {
        return rc;
    }
    a->param[a->num].off = (uint32_t)a->size;
    a->param[a->num].size = 0;
    a->param[a->num].holder = true;
    a->param[a->num].data_off = 0;
    memset(a->data + a->size, 0, 8);
    a->size += 8;
    *paramHandle = &a->param[a->num++];
    return ACL_SUCCESS;
}

static int param_index(const kargs *a, aclrtParamHandle h)
{
    uintptr_t off = (uintptr_t)h - (uintptr_t)a->param;

    return off % sizeof(a->param[0]) == 0 &&
           off / sizeof(a->param[0]) < a->num
           ? (int)(off / sizeof(a->param[0])) : -1;
}

/* The data lies behind the parameters; the pointer is set at the launch. */
ACL_EXPORT aclError aclrtKernelArgsGetPlaceHolderBuffer(
    aclrtArgsHandle argsHandle, aclrtParamHandle paramHandle, size_t dataSize,
    void **bufferAddr)
{
    kargs *a = argsHandle;
    aclError rc = args_need(__func__, a);
    size_t at;
    int i;

    if (rc) {
        return rc;
    }
    CHECK_PTR(paramHandle);
    CHECK_PTR(bufferAddr);
    i = param_index(a, paramHandle);
    if (i < 0 || !a->param[i].holder || dataSize == 0) {
        return FAIL(ACL_ERROR_RT_PARAM_INVALID, i < 0 || !a->param[i].holder
                    ? "paramHandle is no place-holder of these arguments"
                    : "dataSize is 0");
    }
    at = (a->size + 7) & ~(size_t)7;
    rc = args_room(__func__, a, at - a->size + dataSize);
    if (rc) {
        return rc;
    }
    a->param[i].data_off = (uint32_t)at;
    a->param[i].size = (uint32_t)dataSize;
    a->size = at + dataSize;
    *bufferAddr = a->data + at;
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtKernelArgsParaUpdate(aclrtArgsHandle argsHandle,
                                              aclrtParamHandle paramHandle,
                                              void *param, size_t paramSize)
{
    kargs *a = argsHandle;
    aclError rc = args_need(__func__, a);
    int i;

    if (rc) {
        return rc;
    }
    CHECK_PTR(paramHandle);
    CHECK_PTR(param);
    i = param_index(a, paramHandle);
    if (i < 0 || a->param[i].holder || paramSize != a->param[i].size) {
        return FAIL(ACL_ERROR_RT_PARAM_INVALID, "paramHandle is no parameter "
                    "of these arguments, or its size is not %zu", paramSize);
    }
    memcpy(a->data + a->param[i].off, param, paramSize);
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtKernelArgsFinalize(aclrtArgsHandle argsHandle)
{
    kargs *a = argsHandle;
    aclError rc = args_need(__func__, a);

    if (rc) {
        return rc;
    }
    a->finalized = true;
    return ACL_SUCCESS;
}

/* ---- launches ---- */

static __thread uint32_t last_task;

/* Time limit of a launch: spec/api/acl-runtime.md §14. */
static aclError limit_of(const char *func, const aclrtLaunchKernelCfg *cfg,
                         uint64_t *us)
{
    bool sec = false, micro = false;
    size_t i;

    *us = default_limit_us;
    if (cfg && cfg->numAttrs && !cfg->attrs) {
        return acl_fail(func, ACL_ERROR_INVALID_PARAM, "cfg has %zu "
                        "attributes but attrs is NULL", cfg->numAttrs);
    }
    for (i = 0; cfg && i < cfg->numAttrs; i++) {
        const aclrtLaunchKernelAttr *a = &cfg->attrs[i];

        if (a->id == ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT) {
            sec = true;
            *us = a->value.timeout ? a->value.timeout * 1000000ull
                                   : UINT64_MAX;
        } else if (a->id == ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT_US) {
            micro = true;
            *us = a->value.timeoutUs.timeoutLow |
                  (uint64_t)a->value.timeoutUs.timeoutHigh << 32;
            *us = *us ? *us : UINT64_MAX;
        } else if ((int)a->id < 1 || a->id > 9) {
            return acl_fail(func, ACL_ERROR_RT_PARAM_INVALID, "attribute %zu "
                            "has the unknown id %d", i, (int)a->id);
        }
    }
    if (sec && micro) {
        return acl_fail(func, ACL_ERROR_RT_PARAM_INVALID, "TIMEOUT and "
                        "TIMEOUT_US exclude each other");
    }
    return ACL_SUCCESS;
}

typedef struct launch {
    kfunc *f;
    uint32_t blocks;
    uint64_t limit_us;
    const void *args;            /* host */
    size_t size;
    uint64_t dev_args;           /* else: already on the device */
    const kargs *holders;        /* place-holders to be filled in */
    const aclrtPlaceHolderInfo *info;
    size_t num_info;
} launch;

/* Pointers among the arguments that point into the arguments. */
static void set_pointers(const launch *l, uint8_t *host, uint64_t dev)
{
    uint64_t p;
    size_t i;

    for (i = 0; l->holders && i < l->holders->num; i++) {
        if (l->holders->param[i].holder && l->holders->param[i].size) {
            p = dev + l->holders->param[i].data_off;
            a350_copy(host + l->holders->param[i].off, &p, 8);
        }
    }
    for (i = 0; i < l->num_info; i++) {
        p = dev + l->info[i].dataOffset;
        a350_copy(host + l->info[i].addrOffset, &p, 8);
    }
}

static aclError do_launch(const char *func, const launch *l, a350_stream *s)
{
    a350_args_header h = { .magic = A350_ARGS_MAGIC,
                           .args_size = (uint32_t)l->size };
    task_meta m = { .what = "kernel", .func = l->f };
    uint64_t dev, seq = 0;
    a350_sqe e[2];
    unsigned n = 0;
    aclError rc;
    void *host;
    kbind *b;

    rc = func_bound(func, l->f, s->ctx->dev, &b);
    if (rc) {
        return rc;
    }
    pthread_mutex_lock(&s->lock);
    rc = stream_args(func, s, sizeof(h) + l->size, &dev, &host, &m.args_end);
    if (rc == ACL_SUCCESS) {
        h.result = s->capture ? 0 : s->result;
        a350_copy(host, &h, sizeof(h));
        if (l->args) {
            a350_copy((uint8_t *)host + sizeof(h), l->args, l->size);
            set_pointers(l, (uint8_t *)host + sizeof(h), dev + sizeof(h));
        } else if (l->size) {
            a350_sqe_sdma(&e[n++], 0, A350_SDMA_CPY, dev + sizeof(h),
                          l->dev_args, (uint32_t)l->size);
        }
        a350_sqe_aicpu(&e[n++], 0, l->f->kernel_type, l->blocks, b->so_addr,
                       b->fn_addr, dev + sizeof(h), credit_of(l->limit_us));
        rc = stream_submit_locked(func, s, e, n, NULL, &m, &seq);
    }
    pthread_mutex_unlock(&s->lock);
    last_task = (uint32_t)seq;
    return rc;
}

static aclError launch_check(const char *func, aclrtFuncHandle fh,
                             uint32_t blocks, const aclrtLaunchKernelCfg *cfg,
                             launch *l)
{
    aclError rc = func_need(func, fh);

    if (rc) {
        return rc;
    }
    if (blocks == 0 || blocks > KERNEL_BLOCKS_MAX) {
        return acl_fail(func, ACL_ERROR_INVALID_PARAM, "numBlocks %u: legal "
                        "1..%u", blocks, KERNEL_BLOCKS_MAX);
    }
    memset(l, 0, sizeof(*l));
    l->f = fh;
    l->blocks = blocks;
    return limit_of(func, cfg, &l->limit_us);
}

ACL_EXPORT aclError aclrtLaunchKernelWithConfig(
    aclrtFuncHandle funcHandle, uint32_t numBlocks, aclrtStream stream,
    aclrtLaunchKernelCfg *cfg, aclrtArgsHandle argsHandle, void *reserve)
{
    kargs *a = argsHandle;
    a350_stream *s;
    aclError rc;
    launch l;

    rc = launch_check(__func__, funcHandle, numBlocks, cfg, &l);
    if (rc || (rc = args_need(__func__, a))) {
        return rc;
    }
    if (reserve) {
        return FAIL(ACL_ERROR_INVALID_PARAM, "reserve must be NULL");
    }
    if (!a->finalized) {
        return FAIL(ACL_ERROR_RT_PARAM_INVALID, "the arguments are not "
                    "finalized: call aclrtKernelArgsFinalize");
    }
    s = stream_need(__func__, stream, &rc);
    if (!s) {
        return rc;
    }
    l.args = a->data;
    l.size = a->size;
    l.holders = a;
    return do_launch(__func__, &l, s);
}

/*
 * Arguments in device memory have no header before them: the card copies them
 * into the stream's own block first, in the stream's order.
 */
static aclError launch_dev(const char *func, launch *l, const void *args,
                           size_t size, aclrtStream stream)
{
    a350_stream *s;
    aclError rc;

    if (!args && size) {
        return acl_fail(func, ACL_ERROR_INVALID_PARAM, "argsData is NULL");
    }
    if (size > ARGS_MAX) {
        return acl_fail(func, ACL_ERROR_RT_PARAM_INVALID, "argsSize %zu: at "
                        "most %u", size, ARGS_MAX);
    }
    s = stream_need(func, stream, &rc);
    if (!s) {
        return rc;
    }
    l->size = size;
    if (size && a350_addr_is_host((uintptr_t)args)) {
        l->args = args;
    } else if (size && !a350_hbm_ptr((uintptr_t)args, size)) {
        return acl_fail(func, ACL_ERROR_RT_PARAM_INVALID, "argsData %p+%zu is "
                        "not device memory", args, size);
    }
    l->dev_args = (uintptr_t)args;
    return do_launch(func, l, s);
}

ACL_EXPORT aclError aclrtLaunchKernel(aclrtFuncHandle funcHandle,
                                      uint32_t numBlocks, const void *argsData,
                                      size_t argsSize, aclrtStream stream)
{
    launch l;
    aclError rc = launch_check(__func__, funcHandle, numBlocks, NULL, &l);

    return rc ? rc : launch_dev(__func__, &l, argsData, argsSize, stream);
}

ACL_EXPORT aclError aclrtLaunchKernelV2(aclrtFuncHandle funcHandle,
                                        uint32_t numBlocks,
                                        const void *argsData, size_t argsSize,
                                        aclrtLaunchKernelCfg *cfg,
                                        aclrtStream stream)
{
    launch l;
    aclError rc = launch_check(__func__, funcHandle, numBlocks, cfg, &l);

    return rc ? rc : launch_dev(__func__, &l, argsData, argsSize, stream);
}

ACL_EXPORT aclError aclrtLaunchKernelWithHostArgs(
    aclrtFuncHandle funcHandle, uint32_t numBlocks, aclrtStream stream,
    aclrtLaunchKernelCfg *cfg, void *hostArgs, size_t argsSize,
    aclrtPlaceHolderInfo *placeHolderArray, size_t placeHolderNum)
{
    a350_stream *s;
    aclError rc;
    launch l;
    size_t i;

    rc = launch_check(__func__, funcHandle, numBlocks, cfg, &l);
    if (rc) {
        return rc;
    }
    CHECK_PTR(hostArgs);
    if (argsSize == 0 || argsSize > ARGS_MAX ||
        (placeHolderNum && !placeHolderArray)) {
        return FAIL(ACL_ERROR_INVALID_PARAM, "argsSize %zu (1..%u), "
                    "placeHolderArray %p", argsSize, ARGS_MAX,
                    (void *)placeHolderArray);
    }
    for (i = 0; i < placeHolderNum; i++) {
        if (placeHolderArray[i].addrOffset + 8ull > argsSize ||
            placeHolderArray[i].dataOffset >= argsSize) {
            return FAIL(ACL_ERROR_RT_PARAM_INVALID, "place-holder %zu lies "
                        "outside of the %zu bytes of arguments", i, argsSize);
        }
    }
    s = stream_need(__func__, stream, &rc);
    if (!s) {
        return rc;
    }
    l.args = hostArgs;
    l.size = argsSize;
    l.info = placeHolderArray;
    l.num_info = placeHolderNum;
    return do_launch(__func__, &l, s);
}

ACL_EXPORT aclError aclrtGetThreadLastTaskId(uint32_t *taskId)
{
    CHECK_PTR(taskId);
    *taskId = last_task;
    return ACL_SUCCESS;
}
