/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that argument checks are all of, because this card, or this model,
 * has nothing for them: spec/api/hccl-control-plane.md §4, §8, §9, §13.
 */
#include <stdlib.h>
#include <string.h>
#include "hccl_internal.h"

/* These have their arguments only for their signature. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

static HcclResult unsupported(const char *call, const char *why)
{
    return hcl_fail(HCCL_E_NOT_SUPPORT, "EI0003", "%s: %s", call, why);
}

/* ---- communicators ---- */

HcclResult HcclSetConfig(HcclConfig config, HcclConfigValue configValue)
{
    return unsupported("HcclSetConfig", "not on this card; reductions are "
                       "deterministic always");
}

HcclResult HcclGetConfig(HcclConfig config, HcclConfigValue *configValue)
{
    return unsupported("HcclGetConfig", "not on this card");
}

HcclResult HcclCommSuspend(HcclComm comm)
{
    return unsupported("HcclCommSuspend", "not on this card");
}

HcclResult HcclCommResume(HcclComm comm)
{
    HcclResult rc;
    hcl_comm *c = hcl_comm_get(comm, "HcclCommResume", &rc);

    if (!c) {
        return rc;
    }
    hcl_comm_put(c);
    return unsupported("HcclCommResume", "a failed communicator is not "
                       "repaired; destroy it and create another");
}

HcclResult HcclCommSetMemoryRange(HcclComm comm, void *baseVirPtr, size_t size,
                                  size_t alignment, uint64_t flags)
{
    return unsupported("HcclCommSetMemoryRange", "not on this card");
}

HcclResult HcclCommUnsetMemoryRange(HcclComm comm, void *baseVirPtr)
{
    return unsupported("HcclCommUnsetMemoryRange", "not on this card");
}

HcclResult HcclCommActivateCommMemory(HcclComm comm, void *virPtr, size_t size,
                                      size_t offset, aclrtDrvMemHandle handle,
                                      uint64_t flags)
{
    return unsupported("HcclCommActivateCommMemory", "not on this card");
}

HcclResult HcclCommDeactivateCommMemory(HcclComm comm, void *virPtr)
{
    return unsupported("HcclCommDeactivateCommMemory", "not on this card");
}

HcclResult HcclCommWorkingDevNicSet(HcclComm comm, uint32_t *ranks,
                                    bool *useBackup, uint32_t nRanks)
{
    return unsupported("HcclCommWorkingDevNicSet", "not on this card");
}

HcclResult HcclGetRemoteIpcHcclBuf(HcclComm comm, uint64_t remoteRank,
                                   void **addr, uint64_t *size)
{
    return unsupported("HcclGetRemoteIpcHcclBuf", "not on this card; a channel "
                       "gives the peer's buffer (HcclChannelGetHcclBuffer)");
}

int32_t HcclTaskRegister(HcclComm comm, const char *msgTag, Callback cb)
{
    return unsupported("HcclTaskRegister", "not on this card");
}

int32_t HcclTaskUnRegister(HcclComm comm, const char *msgTag)
{
    return unsupported("HcclTaskUnRegister", "not on this card");
}

HcclResult HcclSymWinGetPeerPointer(HcclCommSymWindow winHandle, size_t offset,
                                    uint32_t peerRank, void **ptr)
{
    return unsupported("HcclSymWinGetPeerPointer", "for AICPU kernels");
}

HcommResult HcommMemAlloc(void **ptr, size_t size)
{
    return unsupported("HcommMemAlloc", "not on this card; use aclrtMalloc");
}

HcommResult HcommMemFree(void *ptr)
{
    return unsupported("HcommMemFree", "not on this card; use aclrtFree");
}

/* ---- teams: engine AIV only ---- */

static HcclResult check_team(const char *call, const HcclTeamCreateDesc *d,
                             uint32_t limit)
{
    bool self = false;
    uint32_t i;

    if (d->header.magicWord != HCCL_TEAM_CREATE_DESC_MAGIC_WORD) {
        return hcl_bad(HCCL_E_PARA, call, "desc", "a structure filled by "
                       "HcclTeamCreateDescInit", "magic 0x%x",
                       d->header.magicWord);
    }
    if (!d->rankIds) {
        return hcl_null(call, "desc->rankIds");
    }
    if (d->rankNum < 2 || d->rankNum > limit) {
        return hcl_bad(HCCL_E_PARA, call, "rankNum", "2 to the ranks of the "
                       "communicator", "%u of %u", d->rankNum, limit);
    }
    if (d->netLayer > 2) {
        return hcl_bad(HCCL_E_PARA, call, "netLayer", "0 to 2", "%u",
                       d->netLayer);
    }
    if (d->requirement.signalCount || d->requirement.counterCount) {
        return hcl_bad(HCCL_E_PARA, call, "requirement", "signalCount and "
                       "counterCount 0", "%u, %u", d->requirement.signalCount,
                       d->requirement.counterCount);
    }
    if (!d->requirement.barrierCount) {
        return hcl_bad(HCCL_E_PARA, call, "barrierCount", "1 or more", "0");
    }
    for (i = 0; i < d->rankNum; i++) {
        self |= d->rankIds[i] == d->selfRankId;
    }
    return self ? HCCL_SUCCESS
           : hcl_bad(HCCL_E_NOT_FOUND, call, "selfRankId", "one of rankIds",
                     "%u", d->selfRankId);
}

static const char team_why[] = "teams are for engine AIV, which this model "
                               "has not";

HcclResult HcclWorldTeamCreate(HcclComm comm, const HcclTeamCreateDesc *desc,
                               HcommTeamHandle *worldTeam)
{
    static const char call[] = "HcclWorldTeamCreate";
    HcclResult rc;
    hcl_comm *c = hcl_comm_get(comm, call, &rc);

    if (!c) {
        return rc;
    }
    if (!desc || !worldTeam) {
        rc = hcl_null(call, desc ? "worldTeam" : "desc");
    } else {
        rc = check_team(call, desc, c->n_ranks);
    }
    hcl_comm_put(c);
    return rc == HCCL_SUCCESS ? unsupported(call, team_why) : rc;
}

HcclResult HcclSubTeamCreate(HcommTeamHandle worldTeam,
                             const HcclTeamCreateDesc *desc,
                             HcommTeamHandle *team)
{
    if (!worldTeam || !desc || !team) {
        return hcl_null("HcclSubTeamCreate", !worldTeam ? "worldTeam"
                        : !desc ? "desc" : "team");
    }
    return unsupported("HcclSubTeamCreate", team_why);
}

HcclResult HcclTeamDestroy(HcommTeamHandle team)
{
    return team ? unsupported("HcclTeamDestroy", team_why)
                : hcl_null("HcclTeamDestroy", "team");
}

HcclResult HcclTeamWindowRegister(HcclComm comm, HcommTeamHandle worldTeam,
                                  const CommMem *localMem,
                                  HcommWindowHandle *window, uint32_t flag)
{
    if (!comm || !worldTeam || !localMem || !window) {
        return hcl_null("HcclTeamWindowRegister", !comm ? "comm"
                        : !worldTeam ? "worldTeam"
                        : !localMem ? "localMem" : "window");
    }
    if (flag) {
        return hcl_bad(HCCL_E_PARA, "HcclTeamWindowRegister", "flag", "0",
                       "%u", flag);
    }
    return unsupported("HcclTeamWindowRegister", team_why);
}

HcclResult HcclTeamWindowDeregister(HcommTeamHandle worldTeam,
                                    HcommWindowHandle window)
{
    if (!worldTeam || !window) {
        return hcl_null("HcclTeamWindowDeregister",
                        worldTeam ? "window" : "worldTeam");
    }
    return unsupported("HcclTeamWindowDeregister", team_why);
}

HcclResult HcclTeamChannelsCreate(HcclComm comm, HcommTeamHandle team,
                                  const HcclTeamCreateChannelsDesc *desc)
{
    if (!comm || !team || !desc) {
        return hcl_null("HcclTeamChannelsCreate", !comm ? "comm"
                        : !team ? "team" : "desc");
    }
    return unsupported("HcclTeamChannelsCreate", team_why);
}

/* ---- diagnosis: accepted, profiling is not modelled ---- */

HcclResult HcclDfxRegOpInfoByCommId(char *commId, void *hcclDfxOpInfo)
{
    return HCCL_SUCCESS;
}

HcclResult HcclProfilingReportOp(HcclComm comm, uint64_t beginTime)
{
    return HCCL_SUCCESS;
}

HcclResult HcclReportAicpuKernel(HcclComm comm, uint64_t beginTime,
                                 char *kernelName)
{
    return HCCL_SUCCESS;
}

HcclResult HcclReportAivKernel(HcclComm comm, uint64_t beginTime)
{
    return HCCL_SUCCESS;
}

HcommResult HcommRegOpInfo(const char *commId, void *opInfo, size_t size)
{
    return HCCL_SUCCESS;
}

HcommResult HcommRegOpTaskException(const char *commId,
                                    void (*callback)(const void *, char *,
                                                     size_t))
{
    return HCCL_SUCCESS;
}

HcommResult HcommProfilingReportDeviceOp(const char *groupName)
{
    return HCCL_SUCCESS;
}

HcommResult HcommProfilingReportKernelStartTask(uint64_t thread,
                                                const char *groupName)
{
    return HCCL_SUCCESS;
}

HcommResult HcommProfilingReportKernelEndTask(uint64_t thread,
                                              const char *groupName)
{
    return HCCL_SUCCESS;
}

uint64_t HcommGetProfilingSysCycleTime(void)
{
    return hcl_now_ns();
}
