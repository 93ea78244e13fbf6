/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles that are none: null, wild, freed, of another kind. Every function
 * that takes one refuses it with a code and a text that names what was wrong,
 * and the program goes on.
 */
#include "hccl/hccl_launch.h"
#include "hccl/hccl_sym_win.h"
#include "hcomm/hcomm_res.h"
#include "ctrl.h"

using namespace ctrl;

namespace {

struct Call {
    const char *name;
    std::function<int(void *)> call;
};

struct Bad {
    const char *what;
    void *handle;
};

uint8_t room[4096];
int64_t number;
void *out;

#define ON(fn, ...) { #fn, [](void *h) { (void)h; return \
    static_cast<int>(fn(__VA_ARGS__)); } }

const std::vector<Call> streams = {
    ON(aclrtDestroyStream, h), ON(aclrtDestroyStreamForce, h),
    ON(aclrtSynchronizeStream, h),
    ON(aclrtSynchronizeStreamWithTimeout, h, 10),
    ON(aclrtStreamQuery, h, reinterpret_cast<aclrtStreamStatus *>(room)),
    ON(aclrtStreamGetId, h, reinterpret_cast<int32_t *>(room)),
    ON(aclrtStreamGetPriority, h, reinterpret_cast<uint32_t *>(room)),
    ON(aclrtStreamGetFlags, h, reinterpret_cast<uint32_t *>(room)),
    ON(aclrtSetStreamFailureMode, h, 1), ON(aclrtStreamAbort, h),
    ON(aclrtStreamStop, h), ON(aclrtSetStreamOverflowSwitch, h, 1),
    ON(aclrtGetStreamOverflowSwitch, h, reinterpret_cast<uint32_t *>(room)),
    ON(aclrtGetStreamAttribute, h, ACL_STREAM_ATTR_PRIORITY,
       reinterpret_cast<aclrtStreamAttrValue *>(room)),
    ON(aclrtMemcpyAsync, room, 8, room + 64, 8, ACL_MEMCPY_DEFAULT, h),
    ON(aclrtMemsetAsync, room, 8, 1, 8, h),
    ON(aclrtLaunchHostFunc, h, [](void *) {}, nullptr),
    ON(aclrtSubscribeReport, 1, h), ON(aclrtUnSubscribeReport, 1, h),
    ON(aclmdlRICaptureBegin, h, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL),
    ON(aclmdlRICaptureEnd, h, &out),
    ON(aclmdlRICaptureGetInfo, h, nullptr, nullptr),
    ON(aclrtValueWrite, room, 1, 0, h), ON(aclrtValueWait, room, 1, 0, h),
};

const std::vector<Call> events = {
    ON(aclrtDestroyEvent, h), ON(aclrtRecordEvent, h, nullptr),
    ON(aclrtResetEvent, h, nullptr), ON(aclrtStreamWaitEvent, nullptr, h),
    ON(aclrtSynchronizeEvent, h),
    ON(aclrtSynchronizeEventWithTimeout, h, 10),
    ON(aclrtQueryEvent, h, reinterpret_cast<aclrtEventStatus *>(room)),
    ON(aclrtQueryEventStatus, h,
       reinterpret_cast<aclrtEventRecordedStatus *>(room)),
    ON(aclrtQueryEventWaitStatus, h,
       reinterpret_cast<aclrtEventWaitStatus *>(room)),
    ON(aclrtEventElapsedTime, reinterpret_cast<float *>(room), h, h),
    ON(aclrtEventGetTimestamp, h, reinterpret_cast<uint64_t *>(room)),
    ON(aclrtGetEventId, h, reinterpret_cast<uint32_t *>(room)),
    ON(aclrtIpcGetEventHandle, h,
       reinterpret_cast<aclrtIpcEventHandle *>(room)),
};

const std::vector<Call> notifies = {
    ON(aclrtDestroyNotify, h), ON(aclrtRecordNotify, h, nullptr),
    ON(aclrtWaitAndResetNotify, h, nullptr, 1),
    ON(aclrtGetNotifyId, h, reinterpret_cast<uint32_t *>(room)),
    ON(aclrtNotifyBatchReset, &h, 1),
    ON(aclrtNotifyGetExportKey, h, reinterpret_cast<char *>(room), 65, 0),
    ON(aclrtNotifySetImportPid, h, reinterpret_cast<int32_t *>(room), 1),
    ON(aclrtCntNotifyDestroy, h), ON(aclrtCntNotifyReset, h, nullptr),
    ON(aclrtCntNotifyGetId, h, reinterpret_cast<uint32_t *>(room)),
};

const std::vector<Call> others = {
    ON(aclrtDestroyContext, h), ON(aclrtSetCurrentContext, h),
    ON(aclrtBinaryUnLoad, h), ON(aclrtBinaryGetFunction, h, "f", &out),
    ON(aclrtBinaryGetDevAddress, h, &out, reinterpret_cast<size_t *>(room)),
    ON(aclrtDestroyBinary, h), ON(aclrtBinaryLoad, h, &out),
    ON(aclrtKernelArgsInit, h, &out),
    ON(aclrtGetFunctionName, h, 64, reinterpret_cast<char *>(room)),
    ON(aclrtGetFunctionAttribute, h, ACL_FUNC_ATTR_KERNEL_TYPE, &number),
    ON(aclrtLaunchKernel, h, 1, nullptr, 0, nullptr),
    ON(aclmdlRIExecuteAsync, h, nullptr), ON(aclmdlRIExecute, h, 10),
    ON(aclmdlRIDestroy, h), ON(aclrtFreePhysical, h),
    ON(aclrtMapMem, room, 4096, 0, h, 0),
    ON(aclrtMemGetAllocationPropertiesFromHandle, h,
       reinterpret_cast<aclrtPhysicalMemProp *>(room)),
    ON(aclrtFree, h), ON(aclrtFreeHost, h), ON(aclrtHostUnregister, h),
    ON(aclrtReleaseMemAddress, h), ON(aclrtUnmapMem, h),
};

const std::vector<Call> comms = {
    ON(HcclGetRankSize, h, reinterpret_cast<uint32_t *>(room)),
    ON(HcclGetRankId, h, reinterpret_cast<uint32_t *>(room)),
    ON(HcclGetCommName, h, reinterpret_cast<char *>(room)),
    ON(HcclGetHcclBuffer, h, &out, reinterpret_cast<uint64_t *>(room)),
    ON(HcclThreadAcquire, h, COMM_ENGINE_AICPU_TS, 1, 1,
       reinterpret_cast<ThreadHandle *>(room)),
    ON(HcclEngineCtxCreate, h, "t", COMM_ENGINE_AICPU, 64, &out),
    ON(HcclEngineCtxGet, h, "t", COMM_ENGINE_AICPU, &out,
       reinterpret_cast<uint64_t *>(room)),
    ON(HcclEngineCtxDestroy, h, "t", COMM_ENGINE_AICPU),
    ON(HcclRankGraphGetLayers, h, reinterpret_cast<uint32_t **>(room),
       reinterpret_cast<uint32_t *>(room + 8)),
    ON(HcclRankGraphGetLinks, h, 0, 0, 1, reinterpret_cast<CommLink **>(room),
       reinterpret_cast<uint32_t *>(room + 8)),
    ON(HcclChannelGetHcclBuffer, h, 1, &out,
       reinterpret_cast<uint64_t *>(room)),
    ON(HcclCommSymWinRegister, h, room, 64,
       reinterpret_cast<HcclCommSymWindow *>(&out), 1),
    ON(HcclCommAddExchangeInfo, h, room, 8),
    ON(HcclCommResume, h),
};

const std::vector<Call> lows = {
    ON(HcommEndpointDestroy, h),
    ON(HcommEndpointGetListenPort, h, reinterpret_cast<uint32_t *>(room)),
    ON(HcommMemUnreg, h, h),
    ON(HcclCommSymWinDeregister, h),
};

/* Thread and channel handles are numbers. */
const std::vector<Call> threads = {
    ON(HcommThreadNotifyRecordOnThread, reinterpret_cast<uint64_t>(h),
       reinterpret_cast<uint64_t>(h), 0),
    ON(HcommThreadNotifyWaitOnThread, reinterpret_cast<uint64_t>(h), 0, 1),
    ON(HcommLocalCopyOnThread, reinterpret_cast<uint64_t>(h), room, room + 64,
       8),
};

void Refused(const std::vector<Call> &calls, const std::vector<Bad> &bad)
{
    for (const Call &c : calls) {
        std::string wrong;

        for (const Bad &b : bad) {
            aclGetRecentErrMsg();
            int rc = c.call(b.handle);
            const char *text = aclGetRecentErrMsg();

            if (rc == 0 || text == nullptr || *text == 0) {
                wrong += std::string(wrong.empty() ? "" : "; ") + b.what +
                         ": " + std::to_string(rc) + " " +
                         (text ? text : "(no text)");
            }
        }
        Ok(wrong.empty(), std::string(c.name) + " refuses what is no handle",
           wrong);
    }
}

/* One that was freed, and one of another kind. */
std::vector<Bad> With(void *freed, void *other, bool null = true)
{
    std::vector<Bad> bad = {
        { "1", reinterpret_cast<void *>(1) },
        { "a page", reinterpret_cast<void *>(0x1000) },
        { "-8", reinterpret_cast<void *>(-8) },
        { "the stack", &freed }, { "static memory", room },
        { "freed", freed }, { "of another kind", other },
        { "inside a handle", static_cast<char *>(other) + 8 },
    };

    if (null) {
        bad.push_back({ "null", nullptr });
    }
    return bad;
}

void Run(const Rank &)
{
    aclrtStream stream, gone;
    aclrtNotify notify, gone_notify;
    aclrtEvent event, gone_event;
    HcclCommConfig cfg = Config("alone");
    HcclRootInfo root;
    HcclComm comm = nullptr;

    SAMPLE_CHECK(aclrtCreateStream(&stream));
    SAMPLE_CHECK(aclrtCreateStream(&gone));
    SAMPLE_CHECK(aclrtDestroyStream(gone));
    SAMPLE_CHECK(aclrtCreateNotify(&notify, 0));
    SAMPLE_CHECK(aclrtCreateNotify(&gone_notify, 0));
    SAMPLE_CHECK(aclrtDestroyNotify(gone_notify));
    SAMPLE_CHECK(aclrtCreateEvent(&event));
    SAMPLE_CHECK(aclrtCreateEvent(&gone_event));
    SAMPLE_CHECK(aclrtDestroyEvent(gone_event));
    /* A null stream is the default one. */
    Refused(streams, With(gone, event, false));
    Refused(events, With(gone_event, stream));
    Refused(notifies, With(gone_notify, stream));
    Refused(others, With(gone_notify, stream));
    SAMPLE_CHECK(HcclGetRootInfo(&root));
    SAMPLE_CHECK(HcclCommInitRootInfoConfig(1, &root, 0, &cfg, &comm));
    SAMPLE_CHECK(HcclCommDestroy(comm));
    Refused(comms, With(comm, stream));
    Refused(lows, With(comm, stream));
    Refused(threads, With(comm, stream));
    SAMPLE_CHECK(aclrtSynchronizeStream(stream));
    SAMPLE_CHECK(aclrtDestroyStream(stream));
    SAMPLE_CHECK(aclrtDestroyNotify(notify));
    SAMPLE_CHECK(aclrtDestroyEvent(event));
}

} // namespace

int main()
{
    Share();
    return Done(sample::Run(1, false, Run));
}
