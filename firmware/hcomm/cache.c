/*
 * Device side of Hcomm: the task cache.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * spec/api/hcomm-data-plane.md §3.11. Every lookup is a miss, which the
 * interface allows; the order of calls is checked as stated.
 */
#include <inttypes.h>
#include <string.h>
#include "hc.h"

#define TAG_MAX 256

enum state { IDLE, MISSED, STARTED };

static _Thread_local struct {
    enum state state;
    char tag[TAG_MAX];
} ctx;

void hc_cache_kernel_enter(void)
{
    ctx.state = IDLE;
}

/* The tag of the last lookup: HCCL_E_PTR null, HCCL_E_PARA another one. */
static int32_t check_tag(const char *tag, const char *call)
{
    if (!tag) {
        hc_log(HC_ERROR, "%s: tag is null", call);
        return HCCL_E_PTR;
    }
    if (ctx.state == IDLE || strncmp(tag, ctx.tag, TAG_MAX - 1) != 0) {
        hc_log(HC_ERROR, "%s: tag \"%.255s\" is not that of the last "
               "HcommAicpuTsTaskCacheLookup", call, tag);
        return HCCL_E_PARA;
    }
    return HCCL_SUCCESS;
}

HC_API HcommResult HcommAicpuTsTaskCacheLookup(const char *tag, bool *isHit)
{
    if (!tag || !isHit) {
        hc_log(HC_ERROR, "%s: %s is null", __func__, tag ? "isHit" : "tag");
        return HCCL_E_PTR;
    }
    strncpy(ctx.tag, tag, TAG_MAX - 1);
    ctx.state = MISSED;
    *isHit = false;
    return HCCL_SUCCESS;
}

HC_API HcommResult HcommAicpuTsTaskCacheStart(const char *tag, void **addrs,
                                              uint64_t *sizes, uint64_t count)
{
    int32_t ret = check_tag(tag, __func__);

    if (ret != HCCL_SUCCESS) {
        return ret;
    }
    if (count && (!addrs || !sizes)) {
        hc_log(HC_ERROR, "%s: %s is null", __func__, addrs ? "sizes" :
               "addrs");
        return HCCL_E_PTR;
    }
    ctx.state = STARTED;
    return HCCL_SUCCESS;
}

HC_API HcommResult HcommAicpuTsTaskCacheEnd(const char *tag)
{
    int32_t ret = check_tag(tag, __func__);

    if (ret != HCCL_SUCCESS) {
        return ret;
    }
    if (ctx.state != STARTED) {
        hc_log(HC_ERROR, "%s: \"%.255s\" was not started", __func__, tag);
        return HCCL_E_INTERNAL;
    }
    ctx.state = IDLE;
    return HCCL_SUCCESS;
}

HC_API HcommResult HcommAicpuTsTaskCacheExecute(const char *tag, void **addrs,
                                                uint64_t *sizes,
                                                uint64_t count)
{
    int32_t ret = check_tag(tag, __func__);

    (void)addrs;
    (void)sizes;
    (void)count;
    if (ret != HCCL_SUCCESS) {
        return ret;
    }
    hc_log(HC_ERROR, "%s: \"%.255s\" was not found by the last lookup",
           __func__, tag);
    return HCCL_E_INTERNAL;
}

HC_API HcommResult HcommAicpuTsTaskCacheClear(const char *tag)
{
    if (!tag) {
        hc_log(HC_ERROR, "%s: tag is null", __func__);
        return HCCL_E_PTR;
    }
    return HCCL_SUCCESS;
}
