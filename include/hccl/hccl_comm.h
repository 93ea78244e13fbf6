/*
 * HCCL: communicators.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * spec/api/hccl-control-plane.md §4. Every call acts on the current device of
 * the calling thread (aclrtSetDevice). One process may drive several devices
 * from several threads, one thread per device.
 *
 * Most functions are weak references, as on the card: link libhccl.so, or a
 * library that needs libhcomm.so.
 */
#ifndef HCCL_COMM_H
#define HCCL_COMM_H

#include "acl/acl.h"
#include "hccl_types.h"
#include "hccl_res.h"
#include "hccl_launch.h"

#ifndef HCOMM_WEAK_SYMBOL
#define HCOMM_WEAK_SYMBOL __attribute__((weak))
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef HcclResult (*HcclCommStateCallback)(HcclComm comm,
                                            HcclCommStatePhase state,
                                            void *args);

/* Of HcclConfigGetInfo(); HcclCommConfig.hcclOpExpansionMode counts
   differently. */
typedef enum {
    HCCL_OP_EXPANSION_MODE_INVALID = -1,
    HCCL_OP_EXPANSION_MODE_AI_CPU = 0,
    HCCL_OP_EXPANSION_MODE_AIV = 1,
    HCCL_OP_EXPANSION_MODE_HOST = 2,
    HCCL_OP_EXPANSION_MODE_HOST_TS = 3,
    HCCL_OP_EXPANSION_MODE_CCU_MS = 4,
    HCCL_OP_EXPANSION_MODE_CCU_SCHED = 5,
    HCCL_OP_EXPANSION_AIV_ONLY = 6
} HcclOpExpansionMode;

typedef enum {
    HCCL_CONFIG_TYPE_INVALID = -1,
    HCCL_CONFIG_TYPE_OP_EXPANSION_MODE = 0,
    HCCL_CONFIG_TYPE_HCCL_ALGO = 1
} HcclConfigType;

typedef HcclOpExpansionMode HcclConfigTypeOpExpansionMode;

/*
 * On the root only: starts to listen for the other ranks and describes where.
 * The listener serves one HcclCommInitRootInfo() of all ranks.
 */
HcclResult HCOMM_WEAK_SYMBOL HcclGetRootInfo(HcclRootInfo *rootInfo);

/*
 * Collective: returns when all @nRanks ranks have come, HCCL_E_TIMEOUT after
 * HCCL_CONNECT_TIMEOUT + 20 s. nRanks 0 or rank >= nRanks: HCCL_E_PARA.
 */
HcclResult HCOMM_WEAK_SYMBOL HcclCommInitRootInfo(uint32_t nRanks,
                                                  const HcclRootInfo *rootInfo,
                                                  uint32_t rank,
                                                  HcclComm *comm);
/* A name that this device has already: HCCL_E_PARA. */
HcclResult HCOMM_WEAK_SYMBOL HcclCommInitRootInfoConfig(
    uint32_t nRanks, const HcclRootInfo *rootInfo, uint32_t rank,
    const HcclCommConfig *config, HcclComm *comm);

/* Collective, from a rank table file (version 2.0 JSON). */
HcclResult HCOMM_WEAK_SYMBOL HcclCommInitClusterInfo(const char *clusterInfo,
                                                     uint32_t rank,
                                                     HcclComm *comm);
HcclResult HCOMM_WEAK_SYMBOL HcclCommInitClusterInfoConfig(
    const char *clusterInfo, uint32_t rank, HcclCommConfig *config,
    HcclComm *comm);

/* One process, one rank for each of @devices; rank i is devices[i]. */
HcclResult HCOMM_WEAK_SYMBOL HcclCommInitAll(uint32_t ndev, int32_t *devices,
                                             HcclComm *comms);

/*
 * Collective among the members @rankIds (ranks of *comm, ascending, once
 * each). Others pass rankIds NULL and subCommId 0xffffffff.
 */
HcclResult HCOMM_WEAK_SYMBOL HcclCreateSubCommConfig(
    HcclComm *comm, uint32_t rankNum, uint32_t *rankIds, uint64_t subCommId,
    uint32_t subCommRankId, HcclCommConfig *config, HcclComm *subComm);

/* NULL is success. In use: HCCL_E_AGAIN. From any thread, in any order. */
HcclResult HCOMM_WEAK_SYMBOL HcclCommDestroy(HcclComm comm);

HcclResult HCOMM_WEAK_SYMBOL HcclGetRankSize(HcclComm comm, uint32_t *rankSize);
HcclResult HCOMM_WEAK_SYMBOL HcclGetRankId(HcclComm comm, uint32_t *rank);
/* @commName: COMM_NAME_MAX_LENGTH bytes. */
HcclResult HCOMM_WEAK_SYMBOL HcclGetCommName(HcclComm comm, char *commName);
HcclResult HcclCommGetHandleWithName(const char *commName, HcclComm *comm);

/* Completes on every rank's stream once all streams have come to it. */
HcclResult HCOMM_WEAK_SYMBOL HcclBarrier(HcclComm comm, aclrtStream stream);

HcclResult HCOMM_WEAK_SYMBOL HcclSetConfig(HcclConfig config,
                                           HcclConfigValue configValue);
HcclResult HCOMM_WEAK_SYMBOL HcclGetConfig(HcclConfig config,
                                           HcclConfigValue *configValue);
HcclResult HCOMM_WEAK_SYMBOL HcclGetCommAsyncError(HcclComm comm,
                                                   HcclResult *asyncError);
/* A phrase of English, never NULL. */
const char *HCOMM_WEAK_SYMBOL HcclGetErrorString(HcclResult code);
uint32_t HCOMM_WEAK_SYMBOL HcclGetCommConfigCapability(void);
HcclResult HCOMM_WEAK_SYMBOL HcclCommSuspend(HcclComm comm);
HcclResult HCOMM_WEAK_SYMBOL HcclCommResume(HcclComm comm);

/* Also for AICPU kernels. */
HcclResult HcclCommGetStatus(const char *commId, HcclCommStatus *status);
HcclResult HcclCommRegCommStateCallback(const char *regName,
                                        HcclCommStateCallback callback,
                                        void *args);

/* OP_EXPANSION_MODE: infoLen 4; HCCL_ALGO: infoLen >= 1600. */
HcclResult HcclConfigGetInfo(HcclComm comm, HcclConfigType cfgType,
                             uint32_t infoLen, void *info);

/* Per thread of the operating system; nests, the outermost End acts. */
HcclResult HcclGroupStart(void);
HcclResult HcclGroupEnd(void);
HcclResult HcclGroupStatusGet(bool *isGroup);

/* @flag 1; all ranks together, with the same size. */
HcclResult HcclCommSymWinRegister(HcclComm comm, void *addr, uint64_t size,
                                  HcclCommSymWindow *winHandle, uint32_t flag);
HcclResult HcclCommSymWinDeregister(HcclCommSymWindow winHandle);
/* Success with a NULL window if [ptr, ptr + size) is in none. */
HcclResult HcclCommSymWinGet(HcclComm comm, void *ptr, size_t size,
                             HcclCommSymWindow *winHandle, size_t *offset);

/* Not on this card: HCCL_E_NOT_SUPPORT. */
HcclResult HCOMM_WEAK_SYMBOL HcclCommSetMemoryRange(HcclComm comm,
                                                    void *baseVirPtr,
                                                    size_t size,
                                                    size_t alignment,
                                                    uint64_t flags);
HcclResult HCOMM_WEAK_SYMBOL HcclCommUnsetMemoryRange(HcclComm comm,
                                                      void *baseVirPtr);
HcclResult HCOMM_WEAK_SYMBOL HcclCommActivateCommMemory(
    HcclComm comm, void *virPtr, size_t size, size_t offset,
    aclrtDrvMemHandle handle, uint64_t flags);
HcclResult HCOMM_WEAK_SYMBOL HcclCommDeactivateCommMemory(HcclComm comm,
                                                          void *virPtr);
HcclResult HCOMM_WEAK_SYMBOL HcclCommWorkingDevNicSet(HcclComm comm,
                                                      uint32_t *ranks,
                                                      bool *useBackup,
                                                      uint32_t nRanks);

/* Defaults everywhere; see HcclCommConfig. */
static inline void HcclCommConfigInit(HcclCommConfig *config)
{
    struct {
        size_t size;
        uint32_t magicWord;
        uint32_t version;
        uint64_t reserved;
    } info;

    if (config == NULL) {
        return;
    }
    memset(config, 0, sizeof(*config));
    info.size = sizeof(*config);
    info.magicWord = HCCL_COMM_CONFIG_MAGIC_WORD;
    info.version = HCCL_COMM_CONFIG_VERSION;
    info.reserved = 0;
    memcpy(config->reserved, &info, sizeof(info));
    config->hcclBufferSize = HCCL_COMM_BUFFSIZE_CONFIG_NOT_SET;
    config->hcclDeterministic = HCCL_COMM_DETERMINISTIC_CONFIG_NOT_SET;
    config->hcclOpExpansionMode = HCCL_COMM_DEFAULT_OP_EXPANSION_MODE;
    config->hcclRdmaTrafficClass = HCCL_COMM_TRAFFIC_CLASS_CONFIG_NOT_SET;
    config->hcclRdmaServiceLevel = HCCL_COMM_SERVICE_LEVEL_CONFIG_NOT_SET;
    config->hcclExecTimeOut = HCCL_COMM_EXECTIMEOUT_CONFIG_NOT_SET;
    config->hcclQos = HCCL_COMM_QOS_CONFIG_NOT_SET;
    config->hcclSymWinMaxMemSizePerRank = HCCL_DEFAULT_SYMMETRIC_MEMORY_STRIDE;
    config->hcclChannelSqDepth = HCCL_COMM_SQ_DEPTH_CONFIG_NOT_SET;
}

#ifdef __cplusplus
}
#endif

#endif /* HCCL_COMM_H */
