/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <stdlib.h>
#include <stdio.h>
#include <mutex>
#include <string>
#include <acl/acl.h>
#include "launch_kernel.h"

namespace {

constexpr char JSON_FILE[] =
    "/opp/vendors/cust/aicpu/config/libp2p_aicpu_kernel.json";
constexpr char KERNEL_NAME[] = "HcclLaunchP2PAicpuKernel";

/* One handle for the process: it serves all devices. */
std::mutex g_lock;
aclrtBinHandle g_binary;

HcclResult LoadBinary()
{
    const char *home = getenv("ASCEND_HOME_PATH");
    std::string file = home != nullptr ? home : "/usr/local/Ascend/cann";
    aclrtBinaryLoadOptions options = {0};
    aclrtBinaryLoadOption option;
    char path[PATH_MAX] = {0};

    file += JSON_FILE;
    if (realpath(file.c_str(), path) == nullptr) {
        printf("no kernel description %s\n", file.c_str());
        return HCCL_E_OPEN_FILE_FAILURE;
    }
    option.type = ACL_RT_BINARY_LOAD_OPT_CPU_KERNEL_MODE;
    option.value.cpuKernelMode = 0;
    options.numOpt = 1;
    options.options = &option;
    return aclrtBinaryLoadFromFile(path, &options, &g_binary) == ACL_SUCCESS
           ? HCCL_SUCCESS : HCCL_E_RUNTIME;
}

HcclResult GetFunction(aclrtFuncHandle *func)
{
    std::lock_guard<std::mutex> guard(g_lock);

    if (g_binary == nullptr) {
        HcclResult ret = LoadBinary();

        if (ret != HCCL_SUCCESS) {
            return ret;
        }
    }
    /* Binds to the current device too. */
    return aclrtBinaryGetFunction(g_binary, KERNEL_NAME, func) == ACL_SUCCESS
           ? HCCL_SUCCESS : HCCL_E_RUNTIME;
}

} // namespace

HcclResult LaunchKernel(OpParam &param, const HostThreads &threads,
                        aclrtStream stream)
{
    aclrtFuncHandle func = nullptr;
    aclrtArgsHandle args = nullptr;
    aclrtParamHandle handle = nullptr;
    aclrtLaunchKernelAttr attr;
    aclrtLaunchKernelCfg cfg;
    HcclResult ret = GetFunction(&func);

    if (ret != HCCL_SUCCESS) {
        return ret;
    }
    ret = static_cast<HcclResult>(HcommThreadNotifyRecordOnThread(
        threads.cpuThread, threads.aicpuThreadOnCpu, 0));
    if (ret != HCCL_SUCCESS) {
        return ret;
    }
    if (aclrtKernelArgsInit(func, &args) != ACL_SUCCESS ||
        aclrtKernelArgsAppend(args, &param, sizeof(param), &handle) !=
            ACL_SUCCESS ||
        aclrtKernelArgsFinalize(args) != ACL_SUCCESS) {
        return HCCL_E_RUNTIME;
    }
    /* Only these two bytes of the value count. */
    attr.id = ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT;
    attr.value.timeout = CUSTOM_TIMEOUT;
    cfg.numAttrs = 1;
    cfg.attrs = &attr;
    if (aclrtLaunchKernelWithConfig(func, 1, stream, &cfg, args, nullptr) !=
        ACL_SUCCESS) {
        return HCCL_E_RUNTIME;
    }
    return static_cast<HcclResult>(HcommThreadNotifyWaitOnThread(
        threads.cpuThread, 0, CUSTOM_TIMEOUT));
}
