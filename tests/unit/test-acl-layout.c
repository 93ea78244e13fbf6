/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layouts and values of the acl headers, against the numbers of
 * spec/api/acl-runtime.md. Compiled as C11 and as C++11 to C++20.
 */
#include "acl/acl.h"
#include "acl/acl_prof.h"

#include <stddef.h>
#include <stdio.h>

#ifdef __cplusplus
#define SIZE(type, n) static_assert(sizeof(type) == (n), #type)
#define VALUE(e, n) static_assert((long)(e) == (n), #e)
#define OFFSET(type, f, n) static_assert(offsetof(type, f) == (n), #type #f)
#else
#define SIZE(type, n) _Static_assert(sizeof(type) == (n), #type)
#define VALUE(e, n) _Static_assert((long)(e) == (n), #e)
#define OFFSET(type, f, n) _Static_assert(offsetof(type, f) == (n), #type #f)
#endif

SIZE(aclrtPhysicalMemProp, 32);
SIZE(aclrtMemLocation, 8);
SIZE(aclrtPtrAttributes, 28);
SIZE(aclrtMallocAttrValue, 8);
SIZE(aclrtMallocAttribute, 12);
SIZE(aclrtMallocConfig, 16);
SIZE(aclrtLaunchKernelAttrValue, 16);
SIZE(aclrtLaunchKernelAttr, 20);
SIZE(aclrtLaunchKernelCfg, 16);
SIZE(aclrtBinaryLoadOption, 20);
SIZE(aclrtBinaryLoadOptions, 16);
SIZE(aclrtStreamAttrValue, 16);
SIZE(aclrtMemAccessDesc, 24);
SIZE(aclrtMemcpyBatchAttr, 32);
SIZE(aclrtMemUsageInfo, 112);
SIZE(aclrtMemFabricHandle, 128);
SIZE(aclrtIpcEventHandle, 64);
SIZE(aclrtUuid, 16);
SIZE(aclrtPlaceHolderInfo, 8);
SIZE(aclError, 4);
SIZE(aclFloat16, 2);
OFFSET(aclrtPhysicalMemProp, memAttr, 8);
OFFSET(aclrtPhysicalMemProp, location, 12);
OFFSET(aclrtPhysicalMemProp, reserve, 24);
OFFSET(aclrtPtrAttributes, pageSize, 8);
OFFSET(aclrtLaunchKernelAttr, value, 4);
OFFSET(aclrtBinaryLoadOption, value, 4);
OFFSET(aclrtBinaryLoadOptions, numOpt, 8);
OFFSET(aclrtMemUsageInfo, curMemSize, 32);
OFFSET(aclrtMemUsageInfo, reserved, 48);

VALUE(ACL_DEVICE, 0);
VALUE(ACL_HOST, 1);
VALUE(ACL_EVENT_STATUS_COMPLETE, 0);
VALUE(ACL_EVENT_RECORDED_STATUS_COMPLETE, 1);
VALUE(ACL_EVENT_WAIT_STATUS_RESERVED, 0xffff);
VALUE(ACL_STREAM_STATUS_NOT_READY, 1);
VALUE(ACL_CALLBACK_BLOCK, 1);
VALUE(ACL_MEMCPY_HOST_TO_DEVICE, 1);
VALUE(ACL_MEMCPY_DEVICE_TO_HOST, 2);
VALUE(ACL_MEMCPY_DEVICE_TO_DEVICE, 3);
VALUE(ACL_MEMCPY_DEFAULT, 4);
VALUE(ACL_MEMCPY_INTER_DEVICE_TO_DEVICE, 7);
VALUE(ACL_MEM_MALLOC_HUGE_ONLY, 1);
VALUE(ACL_MEM_MALLOC_HUGE1G_ONLY_P2P, 7);
VALUE(ACL_MEM_TYPE_HIGH_BAND_WIDTH, 0x1000);
VALUE(ACL_MEM_ACCESS_USER_SPACE_READONLY, 0x100000);
VALUE(ACL_RT_MEM_ATTR_DEVICE_ID, 2);
VALUE(ACL_HBM_MEM, 1);
VALUE(ACL_HBM_MEM_HUGE, 4);
VALUE(ACL_MEM_HUGE1G, 14);
VALUE(ACL_MEM_P2P_HUGE1G, 17);
VALUE(ACL_MEM_LOCATION_TYPE_UNREGISTERED, 2);
VALUE(ACL_MEM_LOCATION_TYPE_HOST_NUMA, 4);
VALUE(ACL_RT_BINARY_LOAD_OPT_CPU_KERNEL_MODE, 3);
VALUE(ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT, 7);
VALUE(ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT_US, 8);
VALUE(ACL_DEV_ATTR_MAINBOARD_ID, 407);
VALUE(ACL_DEV_ATTR_NPU_ARCH, 601);
VALUE(ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE, 301);
VALUE(ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, 10);
VALUE(ACL_RT_CNT_NOTIFY_RECORD_BIT_AND_MODE, 4);
VALUE(ACL_RT_CNT_NOTIFY_WAIT_EQUAL_WITH_BITMASK_MODE, 4);
VALUE(ACL_RT_MEM_ACCESS_FLAGS_READWRITE, 3);
VALUE(ACL_RT_HAC_TYPE_CCU, 9);
VALUE(ACL_KERNEL_TYPE_AICPU, 100);
VALUE(ACL_MODEL_RI_CAPTURE_MODE_RELAXED, 2);
VALUE(ACL_DT_UNDEFINED, -1);
VALUE(ACL_BF16, 27);
VALUE(ACL_FLOAT4_E1M2, 41);
VALUE(ACL_AICORE_NONE, 0xff);
VALUE(ACL_ERROR_RT_PARAM_INVALID, 107000);
VALUE(ACL_ERROR_RT_SUB_ACLGRAPH_IS_CAPTURING - 1 + 1, 107045);
VALUE(ACL_ERROR_STREAM_CAPTURE_CONFLICT, 107032);
VALUE(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, 207000);
VALUE(ACL_ERROR_RT_LINK_TYPE_NOT_SUPPORTED, 207021);
VALUE(ACL_ERROR_RT_AICPU_EXCEPTION, 507018);
VALUE(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, 507046);
VALUE(ACL_ERROR_HOST_MEMORY_NOT_REGISTERED, 507911);
VALUE(ACL_ERROR_SNAPSHOT_RESTORE_FAILED, 507909);
VALUE(ACL_ERROR_RT_CCU_EXCEPTION, 507916);

/* Names that programs define themselves must be free. */
enum { HCCL = 3, INVALID_VALUE_RANKID, TAG_LENGTH, LOG_LEVEL_DEBUG };
struct OpParam;
struct ThreadContext;

int main(void)
{
    int ok = ACL_SUCCESS == 0 && ACL_ERROR_INVALID_PARAM == 100000 &&
             ACL_ERROR_REPEAT_INITIALIZE == 100002 &&
             ACL_ERROR_PROF_NOT_RUN == 100043 &&
             ACL_ERROR_INVALID_BUNDLE_MODEL_ID == 148053 &&
             ACL_ERROR_BAD_ALLOC == 200000 &&
             ACL_ERROR_STORAGE_OVER_LIMIT == 300000 &&
             ACL_ERROR_PROFILING_FAILURE == 500005;

    /* Enumerators are written with the name of their type. */
#ifdef __cplusplus
    ok = ok && aclrtMemAttr::ACL_HBM_MEM_HUGE == ACL_HBM_MEM_HUGE &&
         aclrtMemLocationType::ACL_MEM_LOCATION_TYPE_DEVICE == 1;
#endif
    printf("1..1\n%sok 1 - acl values\n", ok ? "" : "not ");
    return !ok;
}
