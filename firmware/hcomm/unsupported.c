/*
 * Device side of Hcomm: what needs a host network interface, and diagnostics.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * spec/api/hcomm-data-plane.md §2.3, §2.6: the first return
 * HCCL_E_NOT_SUPPORT on this card, the second have nothing to do while
 * profiling and exception dumps are off.
 */
#include "hc.h"

static int32_t unsupported(const char *call)
{
    hc_log(HC_ERROR, "%s: not supported: this card has no host network "
           "interface; use the ...OnThread calls", call);
    return HCCL_E_NOT_SUPPORT;
}

HC_API int32_t HcommWriteNbi(ChannelHandle channel, void *dst, const void *src,
                             uint64_t len)
{
    (void)channel, (void)dst, (void)src, (void)len;
    return unsupported(__func__);
}

HC_API int32_t HcommReadNbi(ChannelHandle channel, void *dst, const void *src,
                            uint64_t len)
{
    (void)channel, (void)dst, (void)src, (void)len;
    return unsupported(__func__);
}

HC_API int32_t HcommWriteNbiOnThread(ThreadHandle thread,
                                     ChannelHandle channel, void *dst,
                                     const void *src, uint64_t len)
{
    (void)thread, (void)channel, (void)dst, (void)src, (void)len;
    return unsupported(__func__);
}

HC_API int32_t HcommReadNbiOnThread(ThreadHandle thread, ChannelHandle channel,
                                    void *dst, const void *src, uint64_t len)
{
    (void)thread, (void)channel, (void)dst, (void)src, (void)len;
    return unsupported(__func__);
}

HC_API int32_t HcommWriteWithNotifyNbi(ChannelHandle channel, void *dst,
                                       const void *src, uint64_t len,
                                       uint32_t remoteNotifyIdx)
{
    (void)channel, (void)dst, (void)src, (void)len, (void)remoteNotifyIdx;
    return unsupported(__func__);
}

HC_API int32_t HcommWriteWithNotifyNbiOnThread(ThreadHandle thread,
                                               ChannelHandle channel,
                                               void *dst, const void *src,
                                               uint64_t len,
                                               uint32_t remoteNotifyIdx)
{
    (void)thread, (void)channel, (void)dst, (void)src, (void)len;
    (void)remoteNotifyIdx;
    return unsupported(__func__);
}

HC_API int32_t HcommChannelNotifyRecord(ChannelHandle channel,
                                        uint32_t remoteNotifyIdx)
{
    (void)channel, (void)remoteNotifyIdx;
    return unsupported(__func__);
}

HC_API int32_t HcommChannelNotifyWait(ChannelHandle channel,
                                      uint32_t localNotifyIdx,
                                      uint32_t timeOut)
{
    (void)channel, (void)localNotifyIdx, (void)timeOut;
    return unsupported(__func__);
}

HC_API int32_t HcommChannelFence(ChannelHandle channel)
{
    (void)channel;
    return unsupported(__func__);
}

HC_API int32_t HcommFenceOnThread(ThreadHandle thread)
{
    (void)thread;
    return unsupported(__func__);
}

/* Outside the headers; HCCL finds them at run time or does without. */
HC_API int32_t HcommChannelNotifyWaitWithDefaultTimeout(ChannelHandle channel,
                                                        uint32_t idx);
HC_API int32_t HcommThreadSynchronize(ThreadHandle thread);
HC_API int32_t HcommSendRequest(uint64_t handle, const char *tag,
                                const void *src, size_t size, uint32_t *id);
HC_API int32_t HcommWaitResponse(uint64_t handle, void *dst, size_t size,
                                 uint32_t *id);
HC_API int32_t HcommFlush(void);

int32_t HcommChannelNotifyWaitWithDefaultTimeout(ChannelHandle channel,
                                                 uint32_t idx)
{
    (void)channel, (void)idx;
    return unsupported(__func__);
}

int32_t HcommThreadSynchronize(ThreadHandle thread)
{
    (void)thread;
    return unsupported(__func__);
}

int32_t HcommSendRequest(uint64_t handle, const char *tag, const void *src,
                         size_t size, uint32_t *id)
{
    (void)handle, (void)tag, (void)src, (void)size, (void)id;
    return unsupported(__func__);
}

int32_t HcommWaitResponse(uint64_t handle, void *dst, size_t size,
                          uint32_t *id)
{
    (void)handle, (void)dst, (void)size, (void)id;
    return unsupported(__func__);
}

int32_t HcommFlush(void)
{
    return unsupported(__func__);
}

/* Diagnostics: §2.6. */
typedef void (*op_exception)(const void *op, char *text, size_t size);
typedef void (*exception_callback)(const void *info, void *user);

HC_API int32_t HcclDfxRegOpInfoByCommId(char *commId, void *info);
HC_API int32_t HcommRegOpInfo(const char *commId, void *info, size_t size);
HC_API int32_t HcommRegOpTaskException(const char *commId, op_exception call);
HC_API int32_t HcommProfilingReportDeviceOp(const char *commId);
HC_API int32_t HcommProfilingReportKernelStartTask(uint64_t thread,
                                                   const char *commId);
HC_API int32_t HcommProfilingReportKernelEndTask(uint64_t thread,
                                                 const char *commId);
HC_API int32_t HcommExceptionRegisterCallback(exception_callback call,
                                              void *user);
HC_API int32_t HcommExceptionUnregisterCallback(exception_callback call);

int32_t HcclDfxRegOpInfoByCommId(char *commId, void *info)
{
    (void)commId, (void)info;
    return HCCL_SUCCESS;
}

int32_t HcommRegOpInfo(const char *commId, void *info, size_t size)
{
    (void)commId, (void)info, (void)size;
    return HCCL_SUCCESS;
}

int32_t HcommRegOpTaskException(const char *commId, op_exception call)
{
    (void)commId, (void)call;
    return HCCL_SUCCESS;
}

int32_t HcommProfilingReportDeviceOp(const char *commId)
{
    (void)commId;
    return HCCL_SUCCESS;
}

int32_t HcommProfilingReportKernelStartTask(uint64_t thread,
                                            const char *commId)
{
    (void)thread, (void)commId;
    return HCCL_SUCCESS;
}

int32_t HcommProfilingReportKernelEndTask(uint64_t thread, const char *commId)
{
    (void)thread, (void)commId;
    return HCCL_SUCCESS;
}

int32_t HcommExceptionRegisterCallback(exception_callback call, void *user)
{
    (void)call, (void)user;
    return HCCL_SUCCESS;
}

int32_t HcommExceptionUnregisterCallback(exception_callback call)
{
    (void)call;
    return HCCL_SUCCESS;
}
