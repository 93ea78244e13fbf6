/*
 * HCCL: who is connected with whom, and how.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * spec/api/hccl-control-plane.md §10. Arrays that a call gives belong to the
 * library; the next such call on the communicator may overwrite them. A NULL
 * pointer is HCCL_E_PTR, a layer or instance that this rank is not in
 * HCCL_E_PARA.
 */
#ifndef HCCL_RANK_GRAPH_H
#define HCCL_RANK_GRAPH_H

#include <arpa/inet.h>
#include "securec.h"
#include "hccl_res.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __cplusplus
const uint32_t COMM_LINK_MAGIC_WORD = 0x0f0e0f0f;
const uint32_t COMM_LINK_VERSION = 1;
#else
#define COMM_LINK_MAGIC_WORD    0x0f0e0f0fU
#define COMM_LINK_VERSION       1U
#endif

typedef uint32_t EndpointAttrBwCoeff;
typedef uint32_t EndpointAttrDieId;
typedef uint32_t EndpointAttrLocation;

typedef enum {
    ENDPOINT_ATTR_INVALID = -1,
    ENDPOINT_ATTR_BW_COEFF = 0,
    ENDPOINT_ATTR_DIE_ID = 1,
    ENDPOINT_ATTR_LOCATION = 2
} EndpointAttr;

typedef enum {
    COMM_TOPO_RESERVED = -1,
    COMM_TOPO_CLOS = 0,
    COMM_TOPO_1DMESH = 1,
    COMM_TOPO_910_93 = 2,
    COMM_TOPO_310P = 3,
    COMM_TOPO_A2AXSERVER = 4,
    COMM_TOPO_CUSTOM = 5
} CommTopo;

typedef enum {
    HCCL_HETEROG_MODE_INVALID = -1,
    HCCL_HETEROG_MODE_HOMOGENEOUS = 0,
    HCCL_HETEROG_MODE_MIX_A2_A3 = 1
} HcclHeterogMode;

typedef struct {
    CommAbiHeader header;
    EndpointDesc srcEndpointDesc;
    EndpointDesc dstEndpointDesc;
    union {
        uint8_t raws[128];
        __extension__ struct {
            CommProtocol linkProtocol;
            uint8_t hop;
        };
    } linkAttr;
} CommLink;

static inline HcclResult CommLinkInit(CommLink *commLink, uint32_t linkNum)
{
    uint32_t i;

    if (commLink == NULL) {
        return HCCL_E_PTR;
    }
    for (i = 0; i < linkNum; i++) {
        CommLink *l = &commLink[i];

        memset(l, 0xff, sizeof(*l));
        l->header.version = COMM_LINK_VERSION;
        l->header.magicWord = COMM_LINK_MAGIC_WORD;
        l->header.size = (uint32_t)sizeof(*l);
        l->header.reserved = 0;
        EndpointDescInit(&l->srcEndpointDesc, 1);
        EndpointDescInit(&l->dstEndpointDesc, 1);
        l->linkAttr.linkProtocol = COMM_PROTOCOL_RESERVED;
        l->linkAttr.hop = 1;
    }
    return HCCL_SUCCESS;
}

/* This card's graph has layer 0, a full mesh of all ranks. */
HcclResult HcclRankGraphGetLayers(HcclComm comm, uint32_t **netLayers,
                                  uint32_t *netLayerNum);
HcclResult HcclRankGraphGetRanksByLayer(HcclComm comm, uint32_t netLayer,
                                        uint32_t **ranks, uint32_t *rankNum);
HcclResult HcclRankGraphGetRankSizeByLayer(HcclComm comm, uint32_t netLayer,
                                           uint32_t *rankNum);
HcclResult HcclRankGraphGetTopoTypeByLayer(HcclComm comm, uint32_t netLayer,
                                           CommTopo *topoType);
HcclResult HcclRankGraphGetInstSizeListByLayer(HcclComm comm,
                                               uint32_t netLayer,
                                               uint32_t **instSizeList,
                                               uint32_t *listSize);
/* One entry per path and protocol; src == dst: HCCL_E_PARA; none: *linkNum 0. */
HcclResult HcclRankGraphGetLinks(HcclComm comm, uint32_t netLayer,
                                 uint32_t srcRank, uint32_t dstRank,
                                 CommLink **links, uint32_t *linkNum);
HcclResult HcclRankGraphGetTopoInstsByLayer(HcclComm comm, uint32_t netLayer,
                                            uint32_t **topoInsts,
                                            uint32_t *topoInstNum);
HcclResult HcclRankGraphGetTopoType(HcclComm comm, uint32_t netLayer,
                                    uint32_t topoInstId, CommTopo *topoType);
HcclResult HcclRankGraphGetRanksByTopoInst(HcclComm comm, uint32_t netLayer,
                                           uint32_t topoInstId,
                                           uint32_t **ranks,
                                           uint32_t *rankNum);
HcclResult HcclRankGraphGetEndpointNum(HcclComm comm, uint32_t layer,
                                       uint32_t topoInstId, uint32_t *num);
/* *descNum in: room of @endpointDesc, out: entries. */
HcclResult HcclRankGraphGetEndpointDesc(HcclComm comm, uint32_t layer,
                                        uint32_t topoInstId,
                                        uint32_t *descNum,
                                        EndpointDesc *endpointDesc);
HcclResult HcclRankGraphGetEndpointInfo(HcclComm comm, uint32_t rankId,
                                        const EndpointDesc *endpointDesc,
                                        EndpointAttr endpointAttr,
                                        uint32_t infoLen, void *info);
HcclResult HcclGetHeterogMode(HcclComm comm, HcclHeterogMode *mode);

#ifdef __cplusplus
}
#endif

#endif /* HCCL_RANK_GRAPH_H */
