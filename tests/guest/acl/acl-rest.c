/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that no other program calls, each with what it does, or with the
 * code that says the card cannot. argv[1]: folder of libacl_test_kernel.
 */
#include <pthread.h>
#include <unistd.h>
#include "acl/acl_prof.h"
#include "t.h"

#define SIZE    65536u

static uint8_t host[SIZE], back[SIZE];
static uint8_t *dev, *dev2;
static aclrtStream stream;

static uint64_t read64(const void *p)
{
    uint64_t v = 0;

    OK(aclrtMemcpy(&v, 8, p, 8, ACL_MEMCPY_DEVICE_TO_HOST));
    return v;
}

/* ---- without a device ---- */

static void types(void)
{
    static const struct { float f; uint16_t h; } half[] = {
        { 0.0f, 0 }, { -0.0f, 0x8000 }, { 1.0f, 0x3c00 }, { -2.0f, 0xc000 },
        { 65504.0f, 0x7bff }, { 5.9604645e-8f, 1 }, { 6.1035156e-5f, 0x400 },
        { 0.333251953125f, 0x3555 }, { 1.0f / 0.0f, 0x7c00 },
    };
    char version[128] = "";
    int32_t a = 0, b = 0, c = 0;
    aclrtRunMode mode = ACL_DEVICE;
    aclDataBuffer *d;
    int64_t opt;
    size_t i;

    for (i = 0; i < sizeof(half) / sizeof(half[0]); i++) {
        CHECK(aclFloatToFloat16(half[i].f) == half[i].h);
        CHECK(aclFloat16ToFloat(half[i].h) == half[i].f);
    }
    CHECK(aclFloatToFloat16(1.0009765625f / 2 + 0.000001f) == 0x3801);
    CHECK(aclFloatToFloat16(70000.0f) == 0x7c00);
    CHECK(aclDataTypeSize(ACL_FLOAT) == 4 && aclDataTypeSize(ACL_BF16) == 2 &&
          aclDataTypeSize(ACL_COMPLEX128) == 16 &&
          aclDataTypeSize(ACL_INT8) == 1 && aclDataTypeSize(ACL_DOUBLE) == 8 &&
          aclDataTypeSize(ACL_DT_UNDEFINED) == 0);
    d = aclCreateDataBuffer(host, 100);
    CHECK(d && aclGetDataBufferAddr(d) == host &&
          aclGetDataBufferSize(d) == 100 && aclGetDataBufferSizeV2(d) == 100);
    OK(aclUpdateDataBuffer(d, back, 7));
    CHECK(aclGetDataBufferAddr(d) == back && aclGetDataBufferSizeV2(d) == 7);
    OK(aclDestroyDataBuffer(d));
    CODE(aclDestroyDataBuffer(NULL), 100000);
    OK(aclrtGetVersion(&a, &b, &c));
    CHECK(a == 1 && b == 17 && c == 0);
    OK(aclsysGetVersionStr("hcomm", version));
    OK(aclsysGetVersionNum("hcomm", &a));
    CHECK(strchr(version, '.') && a >= 90100000);
    OK(aclrtGetRunMode(&mode));
    CHECK(mode == ACL_HOST);
    OK(aclrtSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1));
    OK(aclrtGetSysParamOpt(ACL_OPT_DETERMINISTIC, &opt));
    CHECK(opt == 1);
    OK(aclrtSetSysParamOpt(ACL_OPT_DETERMINISTIC, 0));
    CODE(aclrtGetSysParamOpt((aclSysParamOpt)4, &opt), 107000);
    CODE(aclrtSetSysParamOpt((aclSysParamOpt)-1, 0), 107000);
    aclAppLog(ACL_ERROR, "f", "g.c", 3, "number %d", 17);
}

static void references(void)
{
    uint64_t n = 9;

    OK(aclInit(NULL));
    CODE(aclInit(NULL), 100002);
    OK(aclFinalizeReference(&n));
    CHECK(n == 1);
    OK(aclFinalizeReference(&n));
    CHECK(n == 0);
    CODE(aclFinalizeReference(&n), 100037);
    CODE(aclFinalize(), 100037);
    OK(aclInit(NULL));
}

static void profiling(void)
{
    uint32_t id = 0;
    aclprofConfig *c = aclprofCreateConfig(&id, 1, ACL_AICORE_NONE, NULL,
                                           ACL_PROF_ACL_API);

    CHECK(c != NULL);
    CODE(aclprofStart(c), 100043);
    OK(aclprofInit("/tmp", 4));
    CODE(aclprofInit("/tmp", 4), 100002);
    CODE(aclprofInit("/tmp", 3), 100000);
    CODE(aclprofInit("/nowhere", 8), 100003);
    OK(aclprofStart(c));
    CODE(aclprofStart(c), 100042);
    OK(aclprofStop(c));
    CODE(aclprofStop(c), 100043);
    OK(aclprofDestroyConfig(c));
    CODE(aclprofDestroyConfig(NULL), 100000);
    OK(aclprofFinalize());
    CODE(aclprofFinalize(), 100043);
}

/* ---- what a device is ---- */

static void device(void)
{
    aclrtDeviceStatus st = ACL_RT_DEVICE_STATUS_END;
    aclrtFloatOverflowMode sat = ACL_RT_OVERFLOW_MODE_UNDEF;
    aclrtUtilizationInfo use;
    aclrtUuid u0, u1;
    uint64_t topo = 99;
    uint32_t cores = 9;
    int32_t v = 9, least = 0, greatest = 9;
    char bdf[32];
    int64_t opt;

    OK(aclrtGetDeviceCapability(0, ACL_FEATURE_SYSTEM_MEMQ_EVENT_CROSS_DEV,
                                &v));
    CHECK(v == ACL_DEV_FEATURE_NOT_SUPPORT);
    CODE(aclrtGetDeviceCapability(0, (aclrtDevFeatureType)2, &v), 107000);
    CODE(aclrtGetDeviceCapability(99, ACL_FEATURE_SYSTEM_MEMQ_EVENT_CROSS_DEV,
                                  &v), 107001);
    OK(aclrtQueryDeviceStatus(0, &st));
    CHECK(st == ACL_RT_DEVICE_STATUS_NORMAL);
    OK(aclrtDeviceGetUuid(0, &u0));
    OK(aclrtDeviceGetUuid(1, &u1));
    CHECK(memcmp(&u0, &u1, sizeof(u0)));
    OK(aclrtDeviceGetPCIBusId(1, bdf, sizeof(bdf)));
    OK(aclrtDeviceGetByPCIBusId(bdf, &v));
    CHECK(v == 1);
    CODE(aclrtDeviceGetPCIBusId(1, bdf, 4), 107000);
    CODE(aclrtDeviceGetByPCIBusId("ffff:00:00.0", &v), 107001);
    OK(aclrtGetDevicesTopo(0, 1, &topo));
    CHECK(topo == ACL_RT_DEVS_TOPOLOGY_HCCS);
    CODE(aclrtGetDevicesTopo(0, 9, &topo), 107001);
    CODE(aclrtGetDeviceUtilizationRate(0, &use), 207000);
    OK(aclrtGetLogicDevIdByPhyDevId(1, &v));
    CHECK(v == 1);
    OK(aclrtGetPhyDevIdByLogicDevId(1, &v));
    CHECK(v == 1);
    OK(aclrtGetUserDevIdByPhyDevId(1, &v));
    CHECK(v == 1);
    OK(aclrtGetPhyDevIdByUserDevId(1, &v));
    CHECK(v == 1);
    CODE(aclrtGetPhyDevIdByUserDevId(2, &v), 107001);
    CODE(aclrtGetLogicDevIdByPhyDevId(2, &v), 107001);
    CODE(aclrtGetUserDevIdByPhyDevId(2, NULL), 100000);
    CODE(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_SATURATION), 207000);
    OK(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_INFNAN));
    OK(aclrtGetDeviceSatMode(&sat));
    CHECK(sat == ACL_RT_OVERFLOW_MODE_INFNAN);
    OK(aclrtDeviceGetBareTgid(&v));
    CHECK(v == (int32_t)getpid());
    OK(aclrtDeviceGetStreamPriorityRange(&least, &greatest));
    CHECK(greatest == 0 && least == 7);
    OK(aclrtGetResInCurrentThread(ACL_RT_DEV_RES_CUBE_CORE, &cores));
    CHECK(cores == 0);
    CODE(aclrtGetResInCurrentThread((aclrtDevResLimitType)7, &cores), 107000);
    OK(aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 5));
    OK(aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, &opt));
    CHECK(opt == 5);
    CODE(aclrtCtxGetSysParamOpt((aclSysParamOpt)4, &opt), 107000);
    OK(aclrtGetPrimaryCtxState(0, NULL, &v));
    CHECK(v == 1);
    OK(aclrtGetPrimaryCtxState(1, NULL, &v));
    CHECK(v == 0);
    CODE(aclrtGetPrimaryCtxState(0, &cores, &v), 100000);
}

static void last_error(void)
{
    aclrtEvent e;

    aclrtGetLastError(ACL_RT_THREAD_LEVEL);
    OK(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL));
    CODE(aclrtCreateEventWithFlag(&e, 0), 107000);
    CHECK(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL) == 107000);
    CHECK(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL) == 107000);
    CHECK(aclrtGetLastError(ACL_RT_THREAD_LEVEL) == 107000);
    CHECK(aclrtGetLastError(ACL_RT_THREAD_LEVEL) == 0);
    CODE(aclrtGetLastError((aclrtLastErrLevel)1), 100000);
}

/* ---- memory ---- */

static void memory(void)
{
    aclrtMallocAttribute attr = { ACL_RT_MEM_ATTR_MODULE_ID, { 3 } };
    aclrtMallocConfig cfg = { &attr, 1 };
    aclrtHostMemMapCapability cap = ACL_RT_HOST_MEM_MAP_NOT_SUPPORTED;
    aclrtMemUsageInfo use[2];
    aclrtPtrAttributes a;
    size_t n = 9;
    void *p, *q;

    OK(aclrtMallocAlign32(&p, 33, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemset(p, 64, 3, 64));
    CHECK((uintptr_t)p % 32 == 0);
    OK(aclrtFreeWithDevSync(p));
    CODE(aclrtFreeWithDevSync(NULL), 100000);
    OK(aclrtMallocCached(&p, 4096, ACL_MEM_MALLOC_NORMAL_ONLY));
    OK(aclrtMemset(p, 4096, 3, 4096));
    OK(aclrtMemFlush(p, 4096));
    OK(aclrtMemInvalidate(p, 4096));
    CODE(aclrtMemFlush(p, 0), 100000);
    CODE(aclrtMemInvalidate(NULL, 1), 100000);
    OK(aclrtFree(p));
    OK(aclrtMallocWithCfg(&p, 4096, (aclrtMemMallocPolicy)(
                          ACL_MEM_MALLOC_HUGE_FIRST |
                          ACL_MEM_TYPE_HIGH_BAND_WIDTH), &cfg));
    OK(aclrtFree(p));
    attr.attr = ACL_RT_MEM_ATTR_DEVICE_ID;
    attr.value.deviceId = 1;
    CODE(aclrtMallocWithCfg(&p, 64, ACL_MEM_MALLOC_HUGE_FIRST, &cfg), 107000);
    attr.value.deviceId = 0;
    OK(aclrtMallocForTaskScheduler(&p, 64, ACL_MEM_MALLOC_HUGE_FIRST, &cfg));
    OK(aclrtFree(p));
    cfg.attrs = NULL;
    CODE(aclrtMallocWithCfg(&p, 64, ACL_MEM_MALLOC_HUGE_FIRST, &cfg), 100000);
    OK(aclrtMallocHostWithCfg(&q, SIZE, NULL));
    t_fill(q, SIZE, 4);
    OK(aclrtMemcpy(dev, SIZE, q, SIZE, ACL_MEMCPY_HOST_TO_DEVICE));
    OK(aclrtMemcpy(back, SIZE, dev, SIZE, ACL_MEMCPY_DEVICE_TO_HOST));
    CHECK(t_diff(back, SIZE, 4) == SIZE_MAX);
    OK(aclrtFreeHostWithDevSync(q));
    OK(aclrtGetMemUsageInfo(0, use, 2, &n));
    CHECK(n == 1 && use[0].curMemSize >= 2 * SIZE);
    CODE(aclrtGetMemUsageInfo(1, use, 2, &n), 107002);
    OK(aclrtHostMemMapCapabilities(0, ACL_RT_HAC_TYPE_SDMA, &cap));
    CHECK(cap == ACL_RT_HOST_MEM_MAP_SUPPORTED);
    OK(aclrtHostMemMapCapabilities(0, ACL_RT_HAC_TYPE_AIC, &cap));
    CHECK(cap == ACL_RT_HOST_MEM_MAP_NOT_SUPPORTED);
    CODE(aclrtHostMemMapCapabilities(0, (aclrtHacType)10, &cap), 107000);
    /* The card writes to registered memory by the pointer that is given. */
    p = aligned_alloc(4096, SIZE);
    memset(p, 0, SIZE);
    CODE(aclrtHostGetDevicePointer(p, &q, 0), 507911);
    CODE(aclrtHostRegisterV2(p, SIZE, ACL_HOST_REG_IOMEMORY), 207000);
    CODE(aclrtHostRegisterV2(p, SIZE, 0), 107000);
    OK(aclrtHostRegisterV2(p, SIZE, ACL_HOST_REG_MAPPED));
    OK(aclrtHostGetDevicePointer(p, &q, 0));
    CODE(aclrtHostGetDevicePointer(p, &q, 1), 100000);
    OK(aclrtMemcpyAsync(q, SIZE, dev, SIZE, ACL_MEMCPY_DEVICE_TO_HOST,
                        stream));
    OK(aclrtSynchronizeStream(stream));
    CHECK(t_diff(p, SIZE, 4) == SIZE_MAX);
    OK(aclrtPointerGetAttributes(p, &a));
    CHECK(a.location.type == ACL_MEM_LOCATION_TYPE_HOST);
    OK(aclrtHostUnregister(p));
    free(p);
    OK(aclrtMemP2PMap(dev, SIZE, 1, 0));
    CODE(aclrtMemP2PMap(dev, SIZE, 9, 0), 107001);
    CODE(aclrtMemP2PMap(dev, SIZE, 1, 1), 100000);
    CODE(aclrtMemP2PMap(host, SIZE, 1, 0), 107000);
}

static void virtual_memory(void)
{
    aclrtPhysicalMemProp prop = {
        ACL_MEM_HANDLE_TYPE_NONE, ACL_MEM_ALLOCATION_TYPE_PINNED,
        ACL_HBM_MEM_HUGE, { 0, ACL_MEM_LOCATION_TYPE_DEVICE }, 0
    }, got;
    aclrtMemAccessDesc desc = { ACL_RT_MEM_ACCESS_FLAGS_READWRITE,
                                { 0, ACL_MEM_LOCATION_TYPE_DEVICE }, { 0 } };
    aclrtMemLocation where = { 0, ACL_MEM_LOCATION_TYPE_DEVICE };
    const size_t size = 2 << 20;
    aclrtMemFabricHandle fabric;
    aclrtDrvMemHandle h, kept;
    uint64_t flag = 0, share = 0;
    int32_t pid = 1;
    void *va;

    CODE(aclrtReserveMemAddressNoUCMemory(&va, size, 0, NULL, 0), 207000);
    OK(aclrtReserveMemAddress(&va, size, 0, NULL, 0));
    OK(aclrtMallocPhysical(&h, size, &prop, 0));
    OK(aclrtMemMapNoAccess(va, size, 0, h, 0));
    OK(aclrtMemSetAccess(va, size, &desc, 1));
    OK(aclrtMemGetAccess(va, &where, &flag));
    CHECK(flag == ACL_RT_MEM_ACCESS_FLAGS_READWRITE);
    desc.flags = ACL_RT_MEM_ACCESS_FLAGS_READ;
    CODE(aclrtMemSetAccess(va, size, &desc, 1), 207000);
    OK(aclrtMemset(va, size, 7, size));
    OK(aclrtMemRetainAllocationHandle(va, &kept));
    CHECK(kept == h);
    OK(aclrtMemGetAllocationPropertiesFromHandle(kept, &got));
    CHECK(!memcmp(&got, &prop, sizeof(got)));
    CODE(aclrtMemExportToShareableHandle(h, ACL_MEM_HANDLE_TYPE_NONE, 0,
                                         &share), 207000);
    CODE(aclrtMemExportToShareableHandleV2(h, 0,
         ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT, &share), 207000);
    CODE(aclrtMemImportFromShareableHandle(share, 0, &kept), 207000);
    CODE(aclrtMemImportFromShareableHandle(share, 9, &kept), 107001);
    CODE(aclrtMemImportFromShareableHandleV2(&fabric,
         ACL_MEM_SHARE_HANDLE_TYPE_FABRIC, 0, &kept), 207000);
    CODE(aclrtMemSetPidToShareableHandle(share, &pid, 1), 207000);
    CODE(aclrtMemSetPidToShareableHandleV2(&share,
         ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT, &pid, 1), 207000);
    OK(aclrtUnmapMem(va));
    CODE(aclrtMemGetAccess(va, &where, &flag), 107000);
    OK(aclrtFreePhysical(h));
    OK(aclrtFreePhysical(h));    /* what Retain has added */
    CODE(aclrtFreePhysical(h), 107017);
    OK(aclrtReleaseMemAddress(va));
}

static void batch_copies(void)
{
    enum { N = 6 };
    aclrtMemcpyBatchAttr attr[2] = {
        { { 0, ACL_MEM_LOCATION_TYPE_DEVICE },
          { 0, ACL_MEM_LOCATION_TYPE_HOST }, { 0 } },
        { { 0, ACL_MEM_LOCATION_TYPE_HOST },
          { 0, ACL_MEM_LOCATION_TYPE_DEVICE }, { 0 } },
    };
    size_t at[2] = { 0, 3 }, max[N], size[N], fail = 0, i;
    void *dst[N], *src[N];
    int round;

    for (round = 0; round < 2; round++) {
        t_fill(host, SIZE, 60 + (uint32_t)round);
        memset(back, 0, SIZE);
        for (i = 0; i < 3; i++) {
            size[i] = size[i + 3] = 1000 * i + 1;
            max[i] = max[i + 3] = 5000;
            dst[i] = dev + 8192 * i;
            src[i] = host + 8192 * i;
            dst[i + 3] = back + 8192 * i;
            src[i + 3] = dev + 8192 * i;
        }
        if (round == 0) {
            OK(aclrtMemcpyBatch(dst, max, src, size, N, attr, at, 2, &fail));
        } else {
            OK(aclrtMemcpyBatchAsync(dst, max, src, size, N, attr, at, 2,
                                     &fail, stream));
            OK(aclrtSynchronizeStream(stream));
        }
        CHECK(fail == SIZE_MAX);
        for (i = 0; i < 3; i++) {
            CHECK(!memcmp(back + 8192 * i, host + 8192 * i, size[i]));
            CHECK(back[8192 * i + size[i]] == 0);
        }
    }
    max[4] = size[4] - 1;
    CODE(aclrtMemcpyBatch(dst, max, src, size, N, attr, at, 2, &fail),
         107000);
    CHECK(fail == 4);
    max[4] = 5000;
    at[1] = 4;                   /* item 3 is not where attribute 0 says */
    CODE(aclrtMemcpyBatch(dst, max, src, size, N, attr, at, 2, &fail),
         107000);
    CHECK(fail == 3);
    at[1] = 0;
    CODE(aclrtMemcpyBatch(dst, max, src, size, N, attr, at, 2, &fail),
         107000);
    CODE(aclrtMemcpyBatch(NULL, max, src, size, N, attr, at, 2, &fail),
         100000);
    CODE(aclrtMemcpyBatchAsync(dst, max, src, size, N, NULL, at, 2, &fail,
                               stream), 100000);
}

/* ---- streams and events ---- */

static void slow(void *us)
{
    usleep(*(useconds_t *)us);
}

static useconds_t nap = 150000;

static void streams(void)
{
    aclrtStreamConfigHandle cfg = { NULL, 0, ACL_STREAM_FAST_LAUNCH, 3 };
    aclrtStreamAttrValue v;
    aclrtStreamStatus st;
    aclrtStream s, d = NULL;
    uint32_t p = 9, f = 9;
    int32_t a = -1, b = -1;
    double t;

    OK(aclrtCreateStreamV2(&s, &cfg));
    OK(aclrtStreamGetPriority(s, &p));
    OK(aclrtStreamGetFlags(s, &f));
    CHECK(p == 3 && f == ACL_STREAM_FAST_LAUNCH);
    OK(aclrtStreamGetId(s, &a));
    OK(aclrtStreamGetId(stream, &b));
    CHECK(a >= 0 && b >= 0 && a != b);
    CODE(aclrtStreamGetId(s, NULL), 100000);
    CODE(aclrtStreamGetPriority(s, NULL), 100000);
    CODE(aclrtStreamGetFlags(s, NULL), 100000);
    OK(aclrtSetStreamOverflowSwitch(s, 1));
    OK(aclrtGetStreamOverflowSwitch(s, &f));
    CHECK(f == 1);
    CODE(aclrtSetStreamOverflowSwitch(s, 2), 107000);
    CODE(aclrtGetStreamOverflowSwitch(s, NULL), 100000);
    memset(&v, 0, sizeof(v));
    v.streamPriority = 8;
    CODE(aclrtSetStreamAttribute(s, ACL_STREAM_ATTR_PRIORITY, &v), 107000);
    v.streamPriority = 6;
    OK(aclrtSetStreamAttribute(s, ACL_STREAM_ATTR_PRIORITY, &v));
    v.userCustomTag = 77;
    OK(aclrtSetStreamAttribute(s, ACL_STREAM_ATTR_USER_CUSTOM_TAG, &v));
    OK(aclrtGetStreamAttribute(s, ACL_STREAM_ATTR_PRIORITY, &v));
    CHECK(v.streamPriority == 6);
    OK(aclrtGetStreamAttribute(s, ACL_STREAM_ATTR_USER_CUSTOM_TAG, &v));
    CHECK(v.userCustomTag == 77);
    CODE(aclrtGetStreamAttribute(s, (aclrtStreamAttr)9, &v), 107000);
    /* Stop drops what waits and leaves the stream usable. */
    OK(aclrtLaunchHostFunc(s, slow, &nap));
    OK(aclrtMemsetAsync(dev, SIZE, 1, SIZE, s));
    OK(aclrtStreamStop(s));
    OK(aclrtStreamQuery(s, &st));
    CHECK(st == ACL_STREAM_STATUS_COMPLETE);
    CODE(aclrtStreamStop(NULL), 100000);
    OK(aclrtMemsetAsync(dev, SIZE, 2, SIZE, s));
    OK(aclrtSynchronizeStream(s));
    CHECK(read64(dev) == 0x0202020202020202ull);
    /* Force does not wait. */
    nap = 1000000;
    OK(aclrtLaunchHostFunc(s, slow, &nap));
    t = t_now();
    OK(aclrtDestroyStreamForce(s));
    CHECK(t_now() - t < 0.7);
    nap = 150000;
    OK(aclrtCreateStreamWithConfig(&s, 7, 0));
    CODE(aclrtCreateStreamWithConfig(&s, 8, 0), 107000);
    CODE(aclrtCreateStreamWithConfig(&s, 0, 0x40), 107000);
    /* The device waits for all streams, the default one too. */
    OK(aclrtCtxGetCurrentDefaultStream(&d));
    OK(aclrtLaunchHostFunc(d, slow, &nap));
    OK(aclrtMemsetAsync(dev, SIZE, 3, SIZE, d));
    CODE(aclrtSynchronizeDeviceWithTimeout(1), 507046);
    CODE(aclrtSynchronizeDeviceWithTimeout(0), 107000);
    OK(aclrtSynchronizeDevice());
    CHECK(read64(dev) == 0x0303030303030303ull);
    OK(aclrtSynchronizeDeviceWithTimeout(1000));
    OK(aclrtDestroyStream(s));
}

static void events(void)
{
    aclrtEventWaitStatus ws = ACL_EVENT_WAIT_STATUS_RESERVED;
    aclrtEventStatus st = ACL_EVENT_STATUS_RESERVED;
    uint32_t id0 = 0, id1 = 0, n0 = 0, n1 = 0, cid = 0;
    uint64_t t0 = 0, t1 = 0;
    aclrtEvent e, f;
    aclrtCntNotify c;
    aclrtStream s;

    OK(aclrtGetEventAvailNum(&n0));
    OK(aclrtCreateEvent(&e));
    OK(aclrtCreateEventWithFlag(&f, ACL_EVENT_SYNC));
    OK(aclrtGetEventAvailNum(&n1));
    CHECK(n0 <= 65536 && n1 == n0 - 2);
    OK(aclrtGetEventId(e, &id0));
    OK(aclrtGetEventId(f, &id1));
    CHECK(id0 != id1);
    OK(aclrtRecordEventWithFlag(e, stream, ACL_EVENT_RECORD_DEFAULT));
    CODE(aclrtRecordEventWithFlag(e, stream, 2), 107000);
    OK(aclrtSynchronizeStream(stream));
    OK(aclrtQueryEvent(e, &st));
    CHECK(st == ACL_EVENT_STATUS_COMPLETE);
    OK(aclrtEventGetTimestamp(e, &t0));
    usleep(2000);
    OK(aclrtRecordEvent(e, stream));
    OK(aclrtSynchronizeStream(stream));
    OK(aclrtEventGetTimestamp(e, &t1));
    CHECK(t1 >= t0 + 2000 && t1 < t0 + 20000000);
    CODE(aclrtEventGetTimestamp(f, &t0), 107006);
    /* A wait that has not come, with a limit of its own and the general one. */
    OK(aclrtCreateStream(&s));
    OK(aclrtStreamWaitEventWithTimeout(s, f, 1000));
    OK(aclrtQueryEventWaitStatus(f, &ws));
    CHECK(ws == ACL_EVENT_WAIT_STATUS_NOT_READY);
    OK(aclrtQueryEvent(f, &st));
    CHECK(st == ACL_EVENT_STATUS_NOT_READY);
    /* A limit of 0 only looks. */
    OK(aclrtRecordEvent(e, s));
    CODE(aclrtSynchronizeEventWithTimeout(e, 0), 507047);
    CODE(aclrtSynchronizeEventWithTimeout(e, -2), 107000);
    CODE(aclrtSynchronizeStream(s), 107020);
    OK(aclrtSynchronizeStream(s));
    OK(aclrtSynchronizeEventWithTimeout(e, 0));
    OK(aclrtQueryEventWaitStatus(f, &ws));
    CHECK(ws == ACL_EVENT_WAIT_STATUS_COMPLETE);
    CODE(aclrtStreamWaitEventWithTimeout(s, f, -1), 107000);
    OK(aclrtSetOpWaitTimeout(1));
    OK(aclrtStreamWaitEventWithFlag(s, f, 0, ACL_EVENT_WAIT_DEFAULT));
    CODE(aclrtStreamWaitEventWithFlag(s, f, 0, 2), 107000);
    CODE(aclrtSynchronizeStream(s), 107020);
    OK(aclrtSetOpWaitTimeout(0));
    OK(aclrtStreamWaitEventWithFlag(s, f, 60000, ACL_EVENT_WAIT_DEFAULT));
    OK(aclrtRecordEvent(f, stream));
    OK(aclrtSynchronizeStream(s));
    OK(aclrtCntNotifyCreate(&c, 0));
    OK(aclrtCntNotifyGetId(c, &cid));
    CHECK(cid < 2048);
    OK(aclrtCntNotifyDestroy(c));
    CODE(aclrtCntNotifyGetId(c, &cid), 107017);
    OK(aclrtDestroyStream(s));
    OK(aclrtDestroyEvent(e));
    OK(aclrtDestroyEvent(f));
}

/* ---- call-backs ---- */

static int device_states[4], stream_states[3];
static int aborts[2], abort_code;

static void on_device(int32_t id, aclrtDeviceState state, void *args)
{
    CHECK(args == host);
    if (id == 1) {
        device_states[state]++;
    }
}

static void on_stream(aclrtStream s, aclrtStreamState state, void *args)
{
    (void)s;
    CHECK(args == back);
    stream_states[state]++;
}

static int32_t on_abort(int32_t id, aclrtDeviceTaskAbortStage stage,
                        uint32_t timeout, void *args)
{
    CHECK(id == 0 && timeout == 500 && args == host);
    aborts[stage]++;
    return abort_code;
}

static void state_callbacks(void)
{
    aclrtContext here;
    aclrtStream s;

    OK(aclrtGetCurrentContext(&here));
    OK(aclrtRegDeviceStateCallback("rest", on_device, host));
    OK(aclrtSetDevice(1));
    OK(aclrtResetDevice(1));
    CHECK(device_states[0] == 1 && device_states[1] == 1 &&
          device_states[2] == 1 && device_states[3] == 1);
    OK(aclrtRegDeviceStateCallback("rest", NULL, NULL));
    OK(aclrtSetCurrentContext(here));
    OK(aclrtRegStreamStateCallback("rest", on_stream, back));
    OK(aclrtCreateStream(&s));
    OK(aclrtDestroyStream(s));
    CHECK(stream_states[ACL_RT_STREAM_STATE_CREATE_POST] == 1 &&
          stream_states[ACL_RT_STREAM_STATE_DESTROY_PRE] == 1);
    OK(aclrtRegStreamStateCallback("rest", NULL, NULL));
    OK(aclrtCreateStream(&s));
    OK(aclrtDestroyStream(s));
    CHECK(stream_states[ACL_RT_STREAM_STATE_CREATE_POST] == 1);
    CODE(aclrtRegStreamStateCallback(NULL, on_stream, NULL), 100000);
    CODE(aclrtRegDeviceStateCallback(NULL, on_device, NULL), 100000);
}

static int wait_code;

static void *wait_in_thread(void *s)
{
    OK(aclrtSetDevice(0));
    wait_code = aclrtSynchronizeStream(s);
    OK(aclrtResetDevice(0));
    return NULL;
}

static void task_abort(void)
{
    aclrtStreamStatus st;
    aclrtNotify never;
    aclrtStream s, t;
    pthread_t th;

    OK(aclrtCreateStream(&s));
    OK(aclrtCreateStream(&t));
    OK(aclrtCreateNotify(&never, 0));
    OK(aclrtSetDeviceTaskAbortCallback("rest", on_abort, host));
    CODE(aclrtSetDeviceTaskAbortCallback(NULL, on_abort, host), 100000);
    OK(aclrtMemset(dev, SIZE, 0, SIZE));
    OK(aclrtWaitAndResetNotify(never, s, 0));
    OK(aclrtMemsetAsync(dev, SIZE, 9, SIZE, s));
    OK(aclrtWaitAndResetNotify(never, t, 0));
    pthread_create(&th, NULL, wait_in_thread, s);
    usleep(100000);
    OK(aclrtDeviceTaskAbort(0, 500));
    pthread_join(th, NULL);
    CHECK(wait_code == 107022);
    CHECK(aborts[0] == 1 && aborts[1] == 1);
    OK(aclrtStreamQuery(s, &st));
    CHECK(st == ACL_STREAM_STATUS_COMPLETE);
    OK(aclrtStreamQuery(t, &st));
    CHECK(st == ACL_STREAM_STATUS_COMPLETE);
    OK(aclrtSynchronizeDevice());
    CHECK(read64(dev) == 0);     /* what was behind the wait never ran */
    OK(aclrtMemsetAsync(dev, SIZE, 8, SIZE, s));
    OK(aclrtSynchronizeStream(s));
    CHECK(read64(dev) == 0x0808080808080808ull);
    /* A call-back that fails ends it before anything is dropped. */
    abort_code = 1;
    OK(aclrtWaitAndResetNotify(never, t, 0));
    CODE(aclrtDeviceTaskAbort(0, 500), 107022);
    OK(aclrtStreamQuery(t, &st));
    CHECK(st == ACL_STREAM_STATUS_NOT_READY);
    CHECK(aborts[0] == 2 && aborts[1] == 1);
    CODE(aclrtDeviceTaskAbort(9, 500), 107001);
    OK(aclrtSetDeviceTaskAbortCallback("rest", NULL, NULL));
    OK(aclrtRecordNotify(never, stream));
    OK(aclrtSynchronizeStream(t));
    OK(aclrtDestroyNotify(never));
    OK(aclrtDestroyStream(s));
    OK(aclrtDestroyStream(t));
}

static aclrtExceptionInfo *seen;
static uint32_t seen_code, seen_device, seen_stream, seen_task;
static int seen_single, seen_listed;

static void on_exception(aclrtExceptionInfo *info)
{
    seen = info;
    seen_code = aclrtGetErrorCodeFromExceptionInfo(info);
    seen_device = aclrtGetDeviceIdFromExceptionInfo(info);
    seen_stream = aclrtGetStreamIdFromExceptionInfo(info);
    seen_task = aclrtGetTaskIdFromExceptionInfo(info);
    CHECK(aclrtGetThreadIdFromExceptionInfo(info) != UINT32_MAX);
    seen_single++;
}

static void on_listed(aclrtExceptionInfo *info)
{
    (void)info;
    seen_listed++;
}

static void exceptions(void)
{
    aclrtNotify never;
    aclrtStream s;
    int32_t id;

    OK(aclrtCreateStream(&s));
    OK(aclrtStreamGetId(s, &id));
    OK(aclrtCreateNotify(&never, 0));
    OK(aclrtSetExceptionInfoCallback(on_exception));
    OK(aclrtExceptionInfoCallbackRegister(on_listed));
    OK(aclrtMemsetAsync(dev, SIZE, 1, SIZE, s));
    OK(aclrtWaitAndResetNotify(never, s, 1));
    CODE(aclrtSynchronizeStream(s), 107020);
    CHECK(seen && seen_code == 107020 && seen_device == 0 &&
          seen_stream == (uint32_t)id && seen_task == 2);
    CHECK(seen_single == 1 && seen_listed == 1);
    OK(aclrtExceptionInfoCallbackUnregister(on_listed));
    CODE(aclrtExceptionInfoCallbackUnregister(on_listed), 107000);
    CODE(aclrtExceptionInfoCallbackRegister(NULL), 100000);
    OK(aclrtSetExceptionInfoCallback(NULL));
    OK(aclrtWaitAndResetNotify(never, s, 1));
    CODE(aclrtSynchronizeStream(s), 107020);
    CHECK(seen_single == 1 && seen_listed == 1);
    CHECK(aclrtGetErrorCodeFromExceptionInfo(NULL) == UINT32_MAX);
    OK(aclrtDestroyNotify(never));
    OK(aclrtDestroyStream(s));
}

/* ---- kernels ---- */

struct holder_args {
    uint64_t out, one;
    uint32_t n, factor;
    uint64_t two;
};

static uint64_t holder_sum(const uint8_t *one, const uint8_t *two, uint32_t n)
{
    uint64_t s = 0;
    uint32_t i;

    for (i = 0; i < n; i++) {
        s += one[i] * 3u + two[i];
    }
    return s;
}

static void place_holders(aclrtFuncHandle f)
{
    const uint32_t n = 300;
    uint64_t out = (uintptr_t)dev;
    uint32_t pair[2] = { n, 5 };
    aclrtArgsHandle args;
    aclrtParamHandle p, q, one, two;
    void *a, *b;

    OK(aclrtKernelArgsInit(f, &args));
    OK(aclrtKernelArgsAppend(args, &out, 8, &p));
    OK(aclrtKernelArgsAppendPlaceHolder(args, &one));
    OK(aclrtKernelArgsAppend(args, pair, 8, &q));
    OK(aclrtKernelArgsAppendPlaceHolder(args, &two));
    OK(aclrtKernelArgsGetPlaceHolderBuffer(args, one, n, &a));
    OK(aclrtKernelArgsGetPlaceHolderBuffer(args, two, n, &b));
    CODE(aclrtKernelArgsGetPlaceHolderBuffer(args, p, n, &b), 107000);
    CODE(aclrtKernelArgsGetPlaceHolderBuffer(args, two, 0, &b), 107000);
    t_fill(a, n, 1);
    t_fill(b, n, 2);
    pair[1] = 11;
    OK(aclrtKernelArgsParaUpdate(args, q, pair, 8));
    CODE(aclrtKernelArgsParaUpdate(args, q, pair, 4), 107000);
    CODE(aclrtKernelArgsParaUpdate(args, one, pair, 8), 107000);
    OK(aclrtKernelArgsFinalize(args));
    OK(aclrtLaunchKernelWithConfig(f, 1, stream, NULL, args, NULL));
    /* The buffers are the caller's again; the launch has its copy. */
    memset(a, 0, n);
    memset(b, 0, n);
    OK(aclrtSynchronizeStream(stream));
    t_fill(host, n, 1);
    t_fill(back, n, 2);
    CHECK(read64(dev) == 11 * holder_sum(host, back, n));
}

static void user_memory(aclrtFuncHandle f)
{
    uint64_t out = (uintptr_t)dev;
    uint32_t pair[2] = { 16, 2 };
    aclrtParamHandle p;
    size_t handle_size = 0, size = 0;
    void *args, *mem, *a;

    OK(aclrtKernelArgsGetHandleMemSize(f, &handle_size));
    OK(aclrtKernelArgsGetMemSize(f, sizeof(struct holder_args) + 64, &size));
    CHECK(handle_size > 0 && size >= sizeof(struct holder_args) + 64);
    args = malloc(handle_size);
    mem = malloc(size);
    OK(aclrtKernelArgsInitByUserMem(f, args, mem, size));
    OK(aclrtKernelArgsAppend(args, &out, 8, &p));
    OK(aclrtKernelArgsAppendPlaceHolder(args, &p));
    OK(aclrtKernelArgsGetPlaceHolderBuffer(args, p, 16, &a));
    t_fill(a, 16, 3);
    CODE(aclrtKernelArgsAppend(args, host, 4096, &p), 107000);
    OK(aclrtKernelArgsInitByUserMem(f, args, mem, size));
    OK(aclrtKernelArgsAppend(args, &out, 8, &p));
    out = (uintptr_t)dev2;
    OK(aclrtKernelArgsAppend(args, &out, 8, &p));
    OK(aclrtKernelArgsAppend(args, pair, 8, &p));
    OK(aclrtKernelArgsAppend(args, &out, 8, &p));
    OK(aclrtKernelArgsFinalize(args));
    t_fill(host, 16, 3);
    OK(aclrtMemcpy(dev2, SIZE, host, 16, ACL_MEMCPY_HOST_TO_DEVICE));
    OK(aclrtLaunchKernelWithConfig(f, 1, stream, NULL, args, NULL));
    OK(aclrtSynchronizeStream(stream));
    CHECK(read64(dev) == 2 * holder_sum(host, host, 16));
    CODE(aclrtKernelArgsInitByUserMem(f, args, mem, 0), 107000);
    CODE(aclrtKernelArgsInitByUserMem(f, NULL, mem, size), 100000);
    free(args);
    free(mem);
}

static void launches(aclrtFuncHandle f)
{
    struct { struct holder_args a; uint8_t data[64]; } x;
    aclrtPlaceHolderInfo info[2] = {
        { 8, sizeof(x.a) }, { 24, sizeof(x.a) + 32 },
    };
    aclrtLaunchKernelAttr attr = { ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT, { 0 } };
    aclrtLaunchKernelCfg cfg = { &attr, 1 };
    uint32_t t0 = 0, t1 = 0;

    attr.value.timeout = 60;
    memset(&x, 0, sizeof(x));
    x.a.out = (uintptr_t)dev;
    x.a.n = 32;
    x.a.factor = 7;
    t_fill(x.data, 64, 9);
    OK(aclrtLaunchKernelWithHostArgs(f, 1, stream, &cfg, &x, sizeof(x), info,
                                     2));
    OK(aclrtGetThreadLastTaskId(&t0));
    OK(aclrtSynchronizeStream(stream));
    CHECK(read64(dev) == 7 * holder_sum(x.data, x.data + 32, 32));
    info[1].dataOffset = sizeof(x);
    CODE(aclrtLaunchKernelWithHostArgs(f, 1, stream, &cfg, &x, sizeof(x),
                                       info, 2), 107000);
    CODE(aclrtLaunchKernelWithHostArgs(f, 1, stream, &cfg, &x, 0, info, 2),
         100000);
    /* Arguments that are in device memory already. */
    OK(aclrtMemcpy(dev2, SIZE, x.data, 64, ACL_MEMCPY_HOST_TO_DEVICE));
    x.a.one = (uintptr_t)dev2;
    x.a.two = (uintptr_t)dev2 + 32;
    x.a.factor = 13;
    OK(aclrtMemcpy(dev + 4096, 4096, &x.a, sizeof(x.a),
                   ACL_MEMCPY_HOST_TO_DEVICE));
    OK(aclrtLaunchKernel(f, 1, dev + 4096, sizeof(x.a), stream));
    OK(aclrtGetThreadLastTaskId(&t1));
    CHECK(t1 > t0);
    OK(aclrtSynchronizeStream(stream));
    CHECK(read64(dev) == 13 * holder_sum(x.data, x.data + 32, 32));
    x.a.factor = 17;
    OK(aclrtMemcpy(dev + 4096, 4096, &x.a, sizeof(x.a),
                   ACL_MEMCPY_HOST_TO_DEVICE));
    OK(aclrtLaunchKernelV2(f, 1, dev + 4096, sizeof(x.a), &cfg, stream));
    OK(aclrtSynchronizeStream(stream));
    CHECK(read64(dev) == 17 * holder_sum(x.data, x.data + 32, 32));
    CODE(aclrtLaunchKernel(f, 0, dev, 8, stream), 100000);
    CODE(aclrtLaunchKernel(f, 1, NULL, 8, stream), 100000);
}

static void time_limits(void)
{
    uint64_t unit = 0, got = 0;
    uint32_t ms = 0;

    OK(aclrtGetOpTimeOutInterval(&unit));
    CHECK(unit == 4294967);
    OK(aclrtGetOpExecuteTimeout(&ms));
    CHECK(ms == 1091000);
    OK(aclrtSetOpExecuteTimeOut(5));
    OK(aclrtGetOpExecuteTimeout(&ms));
    CHECK(ms == 5000);
    OK(aclrtSetOpExecuteTimeOutWithMs(1234));
    OK(aclrtGetOpExecuteTimeout(&ms));
    CHECK(ms == 1234);
    OK(aclrtSetOpExecuteTimeOutV2(unit + 1, &got));
    CHECK(got == 2 * unit);
    OK(aclrtSetOpExecuteTimeOut(0));
    OK(aclrtGetOpExecuteTimeout(&ms));
    CHECK(ms == 1091000);
}

static void kernels(const char *dir)
{
    aclrtBinaryLoadOption o = { ACL_RT_BINARY_LOAD_OPT_CPU_KERNEL_MODE,
                                { 0 } };
    aclrtBinaryLoadOptions opts = { &o, 1 };
    aclrtBinHandle b = NULL, ai;
    aclrtFuncHandle f = NULL, g;
    aclrtBinary data;
    char path[4096], name[64] = "";
    int64_t v = 0;
    size_t n;
    void *p;

    snprintf(path, sizeof(path), "%s/libacl_test_kernel.json", dir);
    OK(aclrtBinaryLoadFromFile(path, &opts, &b));
    OK(aclrtBinaryGetFunction(b, "Holder", &f));
    OK(aclrtGetFunctionName(f, sizeof(name), name));
    CHECK(!strcmp(name, "k_holder"));
    CODE(aclrtGetFunctionName(f, 3, name), 107000);
    OK(aclrtGetFunctionAttribute(f, ACL_FUNC_ATTR_KERNEL_TYPE, &v));
    CHECK(v == ACL_KERNEL_TYPE_AICPU);
    CODE(aclrtGetFunctionAttribute(f, ACL_FUNC_ATTR_KERNEL_RATIO, &v), 207000);
    CODE(aclrtGetFunctionAttribute(f, (aclrtFuncAttribute)9, &v), 107000);
    CODE(aclrtBinaryGetFunctionByEntry(b, 1, &g), 207000);
    CODE(aclrtBinaryGetDevAddress(b, &p, &n), 207000);
    place_holders(f);
    user_memory(f);
    launches(f);
    time_limits();
    OK(aclrtBinaryUnLoad(b));
    /* The older way is for AI-core objects. */
    data = aclrtCreateBinary(host, 64);
    CHECK(data != NULL);
    CODE(aclrtBinaryLoad(data, &ai), 207000);
    OK(aclrtDestroyBinary(data));
    CODE(aclrtDestroyBinary(NULL), 100000);
}

/* ---- captures ---- */

static aclmdlRICaptureMode other_mode;
static int other_want, other_block;

/* What another thread may do while this one captures. */
static void *other_thread(void *opaque)
{
    aclmdlRICaptureMode m = other_mode;
    aclrtStream s;
    (void)opaque;

    OK(aclrtSetDevice(0));
    OK(aclmdlRICaptureThreadExchangeMode(&m));
    CHECK(m == ACL_MODEL_RI_CAPTURE_MODE_GLOBAL);
    OK(aclrtCreateStream(&s));
    CODE(aclrtMemcpy(dev2, SIZE, host, 16, ACL_MEMCPY_HOST_TO_DEVICE),
         other_want);
    CODE(aclrtMemset(dev2, SIZE, 0, 16), other_want);
    CODE(aclrtMemcpy2d(dev2, 16, host, 16, 8, 2, ACL_MEMCPY_HOST_TO_DEVICE),
         other_want);
    CODE(aclrtSynchronizeDevice(), other_want);
    CODE(aclrtMemcpyAsync(host, SIZE, dev2, 16, ACL_MEMCPY_DEVICE_TO_HOST, s),
         other_block);
    CODE(aclrtMemsetAsync(host, SIZE, 1, 16, s), other_block);
    /* Work of its own that waits for nothing is always allowed. */
    OK(aclrtMemsetAsync(dev2, SIZE, 6, 16, s));
    OK(aclrtMemcpyAsync(dev2 + 64, SIZE - 64, dev2, 8,
                        ACL_MEMCPY_DEVICE_TO_DEVICE, s));
    OK(aclrtSynchronizeStream(s));
    OK(aclrtDestroyStream(s));
    OK(aclrtResetDevice(0));
    return NULL;
}

static void beside(aclmdlRICaptureMode mode, int want)
{
    pthread_t t;

    other_mode = mode;
    other_want = want;
    other_block = want ? 107041 : 0;
    pthread_create(&t, NULL, other_thread, NULL);
    pthread_join(t, NULL);
}

static void captures(void)
{
    aclmdlRICaptureStatus st = ACL_MODEL_RI_CAPTURE_STATUS_INVALIDATED;
    aclmdlRICaptureMode mode;
    aclrtStream s;
    aclmdlRI g = NULL, now = NULL;
    int i;

    OK(aclrtCreateStream(&s));
    OK(aclmdlRICaptureGetInfo(s, &st, &g));
    CHECK(st == ACL_MODEL_RI_CAPTURE_STATUS_NONE);
    for (i = 0; i < 3; i++) {
        mode = (aclmdlRICaptureMode)i;
        OK(aclmdlRICaptureBegin(s, mode));
        OK(aclmdlRICaptureGetInfo(s, &st, &now));
        CHECK(st == ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE && now);
        OK(aclrtMemsetAsync(dev, SIZE, 5, SIZE, s));
        beside(ACL_MODEL_RI_CAPTURE_MODE_GLOBAL, i == 0 ? 107030 : 0);
        beside(ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL, 0);
        beside(ACL_MODEL_RI_CAPTURE_MODE_RELAXED, 0);
        CODE(aclrtMemcpy(dev2, SIZE, host, 16, ACL_MEMCPY_HOST_TO_DEVICE),
             i == 2 ? 0 : 107030);
        mode = ACL_MODEL_RI_CAPTURE_MODE_RELAXED;
        OK(aclmdlRICaptureThreadExchangeMode(&mode));
        OK(aclrtMemcpy(dev2, SIZE, host, 16, ACL_MEMCPY_HOST_TO_DEVICE));
        OK(aclmdlRICaptureThreadExchangeMode(&mode));
        CHECK(mode == ACL_MODEL_RI_CAPTURE_MODE_RELAXED);
        OK(aclmdlRICaptureEnd(s, &g));
        CHECK(g == now);
        OK(aclrtMemset(dev, SIZE, 0, SIZE));
        OK(aclmdlRIExecute(g, 10000));
        CHECK(read64(dev) == 0x0505050505050505ull);
        CODE(aclmdlRIExecute(g, 0), 107000);
        OK(aclmdlRIDestroy(g));
    }
    mode = (aclmdlRICaptureMode)3;
    CODE(aclmdlRICaptureThreadExchangeMode(&mode), 107000);
    /* A capture ends with its stream. */
    OK(aclmdlRICaptureBegin(s, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    OK(aclrtDestroyStream(s));
    beside(ACL_MODEL_RI_CAPTURE_MODE_GLOBAL, 0);
    OK(aclrtMemset(dev, SIZE, 0, SIZE));
}

/* ---- allocators of the caller ---- */

static void *no_alloc(aclrtAllocator obj, size_t size)
{
    (void)obj;
    (void)size;
    return NULL;
}

static void *no_advise(aclrtAllocator obj, size_t size,
                       aclrtAllocatorAddr addr)
{
    (void)addr;
    return no_alloc(obj, size);
}

static void no_free(aclrtAllocator obj, aclrtAllocatorBlock block)
{
    (void)obj;
    (void)block;
}

static void *no_addr(aclrtAllocatorBlock block)
{
    return block;
}

static void allocators(void)
{
    aclrtAllocatorDesc d = aclrtAllocatorCreateDesc();
    aclrtAllocator obj;
    aclrtAllocatorAllocFunc a;
    aclrtAllocatorFreeFunc f;
    aclrtAllocatorAllocAdviseFunc v;
    aclrtAllocatorGetAddrFromBlockFunc g;

    CHECK(d != NULL);
    OK(aclrtAllocatorSetObjToDesc(d, host));
    OK(aclrtAllocatorSetAllocFuncToDesc(d, no_alloc));
    OK(aclrtAllocatorSetFreeFuncToDesc(d, no_free));
    OK(aclrtAllocatorSetAllocAdviseFuncToDesc(d, no_advise));
    OK(aclrtAllocatorSetGetAddrFromBlockFuncToDesc(d, no_addr));
    CODE(aclrtAllocatorSetAllocFuncToDesc(d, NULL), 100000);
    CODE(aclrtAllocatorRegister(stream, d), 207000);
    CODE(aclrtAllocatorGetByStream(stream, &d, &obj, &a, &f, &v, &g), 207000);
    CODE(aclrtAllocatorUnregister(stream), 207000);
    OK(aclrtAllocatorDestroyDesc(d));
    CODE(aclrtAllocatorDestroyDesc(NULL), 100000);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        return 2;
    }
    types();
    references();
    profiling();
    OK(aclrtSetDevice(0));
    OK(aclrtCreateStream(&stream));
    OK(aclrtMalloc((void **)&dev, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMalloc((void **)&dev2, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    device();
    last_error();
    memory();
    virtual_memory();
    batch_copies();
    streams();
    events();
    state_callbacks();
    task_abort();
    exceptions();
    kernels(argv[1]);
    captures();
    allocators();
    OK(aclrtFree(dev));
    OK(aclrtFree(dev2));
    OK(aclrtDestroyStream(stream));
    OK(aclrtResetDevice(0));
    OK(aclFinalize());
    return t_end("acl-rest");
}
