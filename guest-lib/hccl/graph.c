/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rank graph: one layer, a full mesh, UB_CTP between every two cards of
 * the fabric. spec/api/hccl-control-plane.md §10.
 */
#include <stdlib.h>
#include <string.h>
#include "hccl_internal.h"

#define LOC_MAGIC 0x544f504fu    /* last 12 bytes of loc, spec §10 */

/* Enters a query: the communicator, and layer 0 or HCCL_E_PARA. */
#define ENTER(call, layer)                                                  \
    HcclResult rc;                                                          \
    hcl_comm *c = hcl_comm_get(comm, call, &rc);                            \
    if (!c) {                                                               \
        return rc;                                                          \
    }                                                                       \
    if ((layer) != 0) {                                                     \
        rc = hcl_bad(HCCL_E_PARA, call, "netLayer", "0, the only layer",    \
                     "%u", (unsigned)(layer));                              \
    }

#define NOT_NULL(call, p)                                                   \
    if (!(p)) {                                                             \
        rc = hcl_null(call, #p);                                            \
    }

#define LEAVE                                                               \
    hcl_comm_put(c);                                                        \
    return rc;

static void fill_endpoint(EndpointDesc *e, const hcl_rank_info *r)
{
    uint32_t topo[3] = { LOC_MAGIC, 0, 0 };

    EndpointDescInit(e, 1);
    e->protocol = COMM_PROTOCOL_UB_CTP;
    e->commAddr.type = COMM_ADDR_TYPE_IP_V6;
    memcpy(e->commAddr.eid, r->eid, A350_EID_LEN);
    e->loc.locType = ENDPOINT_LOC_TYPE_DEVICE;
    e->loc.device.devPhyId = r->device;
    memcpy(&e->loc.raws[48], topo, sizeof(topo));
}

/* Ranks 0 .. n-1, in the communicator's scratch array. */
static uint32_t *all_ranks(hcl_comm *c)
{
    uint32_t i;

    for (i = 0; i < c->n_ranks; i++) {
        c->scratch[i] = i;
    }
    return c->scratch;
}

HcclResult HcclRankGraphGetLayers(HcclComm comm, uint32_t **netLayers,
                                  uint32_t *netLayerNum)
{
    static uint32_t layer[1];

    ENTER("HcclRankGraphGetLayers", 0)
    NOT_NULL("HcclRankGraphGetLayers", netLayers)
    NOT_NULL("HcclRankGraphGetLayers", netLayerNum)
    if (rc == HCCL_SUCCESS) {
        *netLayers = layer;
        *netLayerNum = 1;
    }
    LEAVE
}

HcclResult HcclRankGraphGetRanksByLayer(HcclComm comm, uint32_t netLayer,
                                        uint32_t **ranks, uint32_t *rankNum)
{
    ENTER("HcclRankGraphGetRanksByLayer", netLayer)
    NOT_NULL("HcclRankGraphGetRanksByLayer", ranks)
    NOT_NULL("HcclRankGraphGetRanksByLayer", rankNum)
    if (rc == HCCL_SUCCESS) {
        *ranks = all_ranks(c);
        *rankNum = c->n_ranks;
    }
    LEAVE
}

HcclResult HcclRankGraphGetRankSizeByLayer(HcclComm comm, uint32_t netLayer,
                                           uint32_t *rankNum)
{
    ENTER("HcclRankGraphGetRankSizeByLayer", netLayer)
    NOT_NULL("HcclRankGraphGetRankSizeByLayer", rankNum)
    if (rc == HCCL_SUCCESS) {
        *rankNum = c->n_ranks;
    }
    LEAVE
}

HcclResult HcclRankGraphGetTopoTypeByLayer(HcclComm comm, uint32_t netLayer,
                                           CommTopo *topoType)
{
    ENTER("HcclRankGraphGetTopoTypeByLayer", netLayer)
    NOT_NULL("HcclRankGraphGetTopoTypeByLayer", topoType)
    if (rc == HCCL_SUCCESS) {
        *topoType = COMM_TOPO_1DMESH;
    }
    LEAVE
}

HcclResult HcclRankGraphGetInstSizeListByLayer(HcclComm comm,
                                               uint32_t netLayer,
                                               uint32_t **instSizeList,
                                               uint32_t *listSize)
{
    ENTER("HcclRankGraphGetInstSizeListByLayer", netLayer)
    NOT_NULL("HcclRankGraphGetInstSizeListByLayer", instSizeList)
    NOT_NULL("HcclRankGraphGetInstSizeListByLayer", listSize)
    if (rc == HCCL_SUCCESS) {
        c->scratch[c->n_ranks] = c->n_ranks;
        *instSizeList = &c->scratch[c->n_ranks];
        *listSize = 1;
    }
    LEAVE
}

/* Cards of two fabrics have no link. */
static bool linked(const hcl_comm *c, uint32_t a, uint32_t b)
{
    return c->table[a].fabric == c->table[b].fabric &&
           a350_eid_card(c->table[a].eid) != UINT32_MAX &&
           a350_eid_card(c->table[b].eid) != UINT32_MAX;
}

HcclResult HcclRankGraphGetLinks(HcclComm comm, uint32_t netLayer,
                                 uint32_t srcRank, uint32_t dstRank,
                                 CommLink **links, uint32_t *linkNum)
{
    static const char call[] = "HcclRankGraphGetLinks";

    ENTER(call, netLayer)
    NOT_NULL(call, links)
    NOT_NULL(call, linkNum)
    if (rc == HCCL_SUCCESS && (srcRank >= c->n_ranks ||
                               dstRank >= c->n_ranks || srcRank == dstRank)) {
        rc = hcl_bad(HCCL_E_PARA, call, "srcRank, dstRank", "two different "
                     "ranks of the communicator", "%u, %u of %u", srcRank,
                     dstRank, c->n_ranks);
    }
    if (rc == HCCL_SUCCESS) {
        CommLink *l = c->links;

        CommLinkInit(l, 1);
        fill_endpoint(&l->srcEndpointDesc, &c->table[srcRank]);
        fill_endpoint(&l->dstEndpointDesc, &c->table[dstRank]);
        l->linkAttr.linkProtocol = COMM_PROTOCOL_UB_CTP;
        l->linkAttr.hop = 1;
        *links = l;
        *linkNum = linked(c, srcRank, dstRank) ? 1 : 0;
    }
    LEAVE
}

HcclResult HcclRankGraphGetTopoInstsByLayer(HcclComm comm, uint32_t netLayer,
                                            uint32_t **topoInsts,
                                            uint32_t *topoInstNum)
{
    static uint32_t inst[1];

    ENTER("HcclRankGraphGetTopoInstsByLayer", netLayer)
    NOT_NULL("HcclRankGraphGetTopoInstsByLayer", topoInsts)
    NOT_NULL("HcclRankGraphGetTopoInstsByLayer", topoInstNum)
    if (rc == HCCL_SUCCESS) {
        *topoInsts = inst;
        *topoInstNum = 1;
    }
    LEAVE
}

static HcclResult check_inst(const char *call, uint32_t inst)
{
    return inst == 0 ? HCCL_SUCCESS
           : hcl_bad(HCCL_E_PARA, call, "topoInstId", "0, the only instance",
                     "%u", inst);
}

HcclResult HcclRankGraphGetTopoType(HcclComm comm, uint32_t netLayer,
                                    uint32_t topoInstId, CommTopo *topoType)
{
    ENTER("HcclRankGraphGetTopoType", netLayer)
    NOT_NULL("HcclRankGraphGetTopoType", topoType)
    if (rc == HCCL_SUCCESS) {
        rc = check_inst("HcclRankGraphGetTopoType", topoInstId);
    }
    if (rc == HCCL_SUCCESS) {
        *topoType = COMM_TOPO_1DMESH;
    }
    LEAVE
}

HcclResult HcclRankGraphGetRanksByTopoInst(HcclComm comm, uint32_t netLayer,
                                           uint32_t topoInstId,
                                           uint32_t **ranks,
                                           uint32_t *rankNum)
{
    ENTER("HcclRankGraphGetRanksByTopoInst", netLayer)
    NOT_NULL("HcclRankGraphGetRanksByTopoInst", ranks)
    NOT_NULL("HcclRankGraphGetRanksByTopoInst", rankNum)
    if (rc == HCCL_SUCCESS) {
        rc = check_inst("HcclRankGraphGetRanksByTopoInst", topoInstId);
    }
    if (rc == HCCL_SUCCESS) {
        *ranks = all_ranks(c);
        *rankNum = c->n_ranks;
    }
    LEAVE
}

HcclResult HcclRankGraphGetEndpointNum(HcclComm comm, uint32_t layer,
                                       uint32_t topoInstId, uint32_t *num)
{
    ENTER("HcclRankGraphGetEndpointNum", layer)
    NOT_NULL("HcclRankGraphGetEndpointNum", num)
    if (rc == HCCL_SUCCESS) {
        rc = check_inst("HcclRankGraphGetEndpointNum", topoInstId);
    }
    if (rc == HCCL_SUCCESS) {
        *num = 1;
    }
    LEAVE
}

HcclResult HcclRankGraphGetEndpointDesc(HcclComm comm, uint32_t layer,
                                        uint32_t topoInstId,
                                        uint32_t *descNum,
                                        EndpointDesc *endpointDesc)
{
    static const char call[] = "HcclRankGraphGetEndpointDesc";

    ENTER(call, layer)
    NOT_NULL(call, descNum)
    NOT_NULL(call, endpointDesc)
    if (rc == HCCL_SUCCESS) {
        rc = check_inst(call, topoInstId);
    }
    if (rc == HCCL_SUCCESS && *descNum < 1) {
        rc = hcl_bad(HCCL_E_PARA, call, "descNum", "room for 1", "%u",
                     *descNum);
    }
    if (rc == HCCL_SUCCESS) {
        fill_endpoint(endpointDesc, &c->table[c->rank]);
        *descNum = 1;
    }
    LEAVE
}

/*
 * Ports that an end point gangs, spec/hw/pci.md §9: two cards are joined by a
 * bridge of four, in a mesh each pair has one.
 */
static uint32_t ports(const hcl_comm *c)
{
    return a350_card_id(c->card)->mainboard_id == 0x6a ? 4 : 1;
}

HcclResult HcclRankGraphGetEndpointInfo(HcclComm comm, uint32_t rankId,
                                        const EndpointDesc *endpointDesc,
                                        EndpointAttr endpointAttr,
                                        uint32_t infoLen, void *info)
{
    static const char call[] = "HcclRankGraphGetEndpointInfo";
    uint32_t value;

    ENTER(call, 0)
    NOT_NULL(call, endpointDesc)
    NOT_NULL(call, info)
    if (rc == HCCL_SUCCESS && rankId >= c->n_ranks) {
        rc = hcl_bad(HCCL_E_PARA, call, "rankId", "a rank of the "
                     "communicator", "%u of %u", rankId, c->n_ranks);
    } else if (rc == HCCL_SUCCESS && infoLen != sizeof(value)) {
        rc = hcl_bad(HCCL_E_PARA, call, "infoLen", "4", "%u", infoLen);
    } else if (rc == HCCL_SUCCESS &&
               memcmp(endpointDesc->commAddr.eid, c->table[rankId].eid,
                      A350_EID_LEN)) {
        rc = hcl_bad(HCCL_E_NOT_FOUND, call, "endpointDesc", "an end point of "
                     "the rank", "another address for rank %u", rankId);
    } else if (rc == HCCL_SUCCESS && (endpointAttr < ENDPOINT_ATTR_BW_COEFF ||
                                      endpointAttr > ENDPOINT_ATTR_LOCATION)) {
        rc = hcl_bad(HCCL_E_PARA, call, "endpointAttr", "0 to 2", "%d",
                     (int)endpointAttr);
    }
    if (rc == HCCL_SUCCESS) {
        /* Ports of die 0, on the device. */
        value = endpointAttr == ENDPOINT_ATTR_BW_COEFF ? ports(c) : 0;
        memcpy(info, &value, sizeof(value));
    }
    LEAVE
}

HcclResult HcclGetHeterogMode(HcclComm comm, HcclHeterogMode *mode)
{
    ENTER("HcclGetHeterogMode", 0)
    NOT_NULL("HcclGetHeterogMode", mode)
    if (rc == HCCL_SUCCESS) {
        *mode = HCCL_HETEROG_MODE_HOMOGENEOUS;
    }
    LEAVE
}
