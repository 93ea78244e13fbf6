/*
 * HCCL: teams. For the AIV engine, which this card's model has not: argument
 * errors are reported, everything else is HCCL_E_NOT_SUPPORT.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * spec/api/hccl-control-plane.md §3.2, §8 and Appendix A.
 */
#ifndef HCCL_TEAM_H
#define HCCL_TEAM_H

#include "hccl_types.h"
#include "hcomm_res_defs.h"
#include "hcomm_team_defs.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __cplusplus
static const uint32_t HCCL_TEAM_CREATE_DESC_MAGIC_WORD = 0x0fcf0f14U;
static const uint32_t HCCL_TEAM_CREATE_DESC_VERSION = 1U;
static const uint32_t HCCL_TEAM_CREATE_CHANNELS_DESC_MAGIC_WORD = 0x0fcf0f15U;
static const uint32_t HCCL_TEAM_CREATE_CHANNELS_DESC_VERSION = 1U;
#else
#define HCCL_TEAM_CREATE_DESC_MAGIC_WORD            0x0fcf0f14U
#define HCCL_TEAM_CREATE_DESC_VERSION               1U
#define HCCL_TEAM_CREATE_CHANNELS_DESC_MAGIC_WORD   0x0fcf0f15U
#define HCCL_TEAM_CREATE_CHANNELS_DESC_VERSION      1U
#endif

typedef struct {
    CommAbiHeader header;
    const uint32_t *rankIds;
    uint32_t rankNum;
    uint32_t selfRankId;
    uint32_t netLayer;
    CommProtocol protocol;
    HcommTeamSyncMemRequirement requirement;
    uint32_t reserved[4];
} HcclTeamCreateDesc;

typedef struct {
    CommAbiHeader header;
    CommEngine engine;
    uint32_t notifyNum;
    CommProtocol protocol;
    uint32_t channelCnt;
    uint32_t reserved[4];
} HcclTeamCreateChannelsDesc;

static inline HcclResult HcclTeamCreateDescInit(HcclTeamCreateDesc *desc)
{
    if (desc == NULL) {
        return HCCL_E_PTR;
    }
    memset(desc, 0xff, sizeof(*desc));
    desc->header.version = HCCL_TEAM_CREATE_DESC_VERSION;
    desc->header.magicWord = HCCL_TEAM_CREATE_DESC_MAGIC_WORD;
    desc->header.size = (uint32_t)sizeof(*desc);
    desc->header.reserved = 0;
    desc->rankIds = NULL;
    desc->rankNum = 0;
    desc->selfRankId = 0;
    desc->netLayer = 0;
    desc->protocol = COMM_PROTOCOL_RESERVED;
    desc->requirement.signalCount = 0;
    desc->requirement.counterCount = 0;
    desc->requirement.barrierCount = 0;
    memset(desc->reserved, 0, sizeof(desc->reserved));
    return HCCL_SUCCESS;
}

static inline HcclResult HcclTeamCreateChannelsDescInit(
    HcclTeamCreateChannelsDesc *desc)
{
    if (desc == NULL) {
        return HCCL_E_PTR;
    }
    memset(desc, 0xff, sizeof(*desc));
    desc->header.version = HCCL_TEAM_CREATE_CHANNELS_DESC_VERSION;
    desc->header.magicWord = HCCL_TEAM_CREATE_CHANNELS_DESC_MAGIC_WORD;
    desc->header.size = (uint32_t)sizeof(*desc);
    desc->header.reserved = 0;
    desc->engine = COMM_ENGINE_RESERVED;
    desc->notifyNum = 0;
    desc->protocol = COMM_PROTOCOL_RESERVED;
    desc->channelCnt = 0;
    memset(desc->reserved, 0, sizeof(desc->reserved));
    return HCCL_SUCCESS;
}

HcclResult HcclWorldTeamCreate(HcclComm comm, const HcclTeamCreateDesc *desc,
                               HcommTeamHandle *worldTeam);
HcclResult HcclSubTeamCreate(HcommTeamHandle worldTeam,
                             const HcclTeamCreateDesc *desc,
                             HcommTeamHandle *team);
HcclResult HcclTeamDestroy(HcommTeamHandle team);
HcclResult HcclTeamWindowRegister(HcclComm comm, HcommTeamHandle worldTeam,
                                  const CommMem *localMem,
                                  HcommWindowHandle *window, uint32_t flag);
HcclResult HcclTeamWindowDeregister(HcommTeamHandle worldTeam,
                                    HcommWindowHandle window);
HcclResult HcclTeamChannelsCreate(HcclComm comm, HcommTeamHandle team,
                                  const HcclTeamCreateChannelsDesc *desc);

#ifdef __cplusplus
}
#endif

#endif /* HCCL_TEAM_H */
