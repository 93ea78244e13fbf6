/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rank graph against what the cards themselves say, and data over every
 * link that it names: hccl-graph RANKS
 */
#include "hcomm/hcomm_res.h"
#include "ctrl.h"

using namespace ctrl;

namespace {

std::string Who(const Rank &me, const char *what)
{
    return "rank " + std::to_string(me.rank) + ": " + what;
}

void Layers(const Rank &me, HcclComm c)
{
    uint32_t *v = nullptr, n = 0;
    CommTopo topo;
    bool good;

    Ok(HcclRankGraphGetLayers(c, &v, &n) == 0 && n == 1 && v[0] == 0,
       Who(me, "one layer"));
    good = HcclRankGraphGetRanksByLayer(c, 0, &v, &n) == 0 && n == me.ranks;
    for (uint32_t i = 0; good && i < n; i++) {
        good = v[i] == i;
    }
    Ok(good, Who(me, "all ranks are in it"));
    Ok(HcclRankGraphGetRankSizeByLayer(c, 0, &n) == 0 && n == me.ranks,
       Who(me, "their number"));
    Ok(HcclRankGraphGetInstSizeListByLayer(c, 0, &v, &n) == 0 && n == 1 &&
           v[0] == me.ranks, Who(me, "one instance of all"));
    Ok(HcclRankGraphGetTopoTypeByLayer(c, 0, &topo) == 0 &&
           topo == COMM_TOPO_1DMESH, Who(me, "a mesh"));
    Ok(HcclRankGraphGetTopoInstsByLayer(c, 0, &v, &n) == 0 && n == 1 &&
           v[0] == 0 && HcclRankGraphGetTopoType(c, 0, 0, &topo) == 0 &&
           topo == COMM_TOPO_1DMESH &&
           HcclRankGraphGetRanksByTopoInst(c, 0, 0, &v, &n) == 0 &&
           n == me.ranks && v[n - 1] == n - 1, Who(me, "instance 0"));
    Ok(HcclRankGraphGetRankSizeByLayer(c, 1, &n) == HCCL_E_PARA &&
           HcclRankGraphGetTopoType(c, 0, 1, &topo) == HCCL_E_PARA &&
           HcclRankGraphGetRankSizeByLayer(c, 0, nullptr) == HCCL_E_PTR,
       Who(me, "no layer 1, no instance 1, no pointer"));
}

/* The EID that the device itself gives. */
bool Eid(uint32_t device, uint8_t eid[16], uint32_t *phys)
{
    EndpointDesc d[8];
    uint32_t n = 8;

    if (HcommEndpointGetDescs(device, &n, d) != 0 || n == 0) {
        return false;
    }
    memcpy(eid, d[0].commAddr.eid, 16);
    *phys = d[0].loc.device.devPhyId;
    return true;
}

bool LinkGood(const CommLink &l, uint32_t src, uint32_t dst)
{
    uint8_t a[16], b[16];
    uint32_t pa = 99, pb = 99, tail[3];

    memcpy(tail, &l.srcEndpointDesc.loc.raws[48], sizeof(tail));
    return Eid(src, a, &pa) && Eid(dst, b, &pb) &&
           l.header.magicWord == COMM_LINK_MAGIC_WORD &&
           l.linkAttr.linkProtocol == COMM_PROTOCOL_UB_CTP &&
           l.srcEndpointDesc.protocol == COMM_PROTOCOL_UB_CTP &&
           l.dstEndpointDesc.protocol == COMM_PROTOCOL_UB_CTP &&
           l.linkAttr.hop == 1 &&
           l.srcEndpointDesc.commAddr.type == COMM_ADDR_TYPE_IP_V6 &&
           memcmp(l.srcEndpointDesc.commAddr.eid, a, 16) == 0 &&
           memcmp(l.dstEndpointDesc.commAddr.eid, b, 16) == 0 &&
           l.srcEndpointDesc.loc.locType == ENDPOINT_LOC_TYPE_DEVICE &&
           l.srcEndpointDesc.loc.device.devPhyId == pa &&
           l.dstEndpointDesc.loc.device.devPhyId == pb &&
           l.srcEndpointDesc.loc.device.serverIdx == UINT32_MAX &&
           tail[0] == 0x544f504f && tail[1] == 0 && tail[2] == 0;
}

void Links(const Rank &me, HcclComm c)
{
    CommLink *l = nullptr;
    uint32_t n = 9;
    bool good = true;

    for (uint32_t a = 0; a < me.ranks; a++) {
        for (uint32_t b = 0; b < me.ranks; b++) {
            HcclResult rc = HcclRankGraphGetLinks(c, 0, a, b, &l, &n);
            if (a == b) {
                good = good && rc == HCCL_E_PARA;
            } else {
                good = good && rc == HCCL_SUCCESS && n == 1 &&
                       LinkGood(l[0], a, b);
            }
        }
    }
    Ok(good, Who(me, "a link for every pair, as the cards say"));
    Ok(HcclRankGraphGetLinks(c, 0, 0, me.ranks, &l, &n) == HCCL_E_PARA,
       Who(me, "a rank beyond"));
}

void Ends(const Rank &me, HcclComm c)
{
    EndpointDesc d[4];
    uint32_t n = 0, bw = 0, die = 9, loc = 9;
    uint8_t eid[16];
    uint32_t phys;

    Ok(HcclRankGraphGetEndpointNum(c, 0, 0, &n) == 0 && n == 1,
       Who(me, "one end point"));
    n = 0;
    Ok(HcclRankGraphGetEndpointDesc(c, 0, 0, &n, d) == HCCL_E_PARA,
       Who(me, "no room"));
    n = 4;
    Ok(HcclRankGraphGetEndpointDesc(c, 0, 0, &n, d) == 0 && n == 1 &&
           Eid(me.rank, eid, &phys) &&
           memcmp(d[0].commAddr.eid, eid, 16) == 0, Who(me, "its address"));
    Ok(HcclRankGraphGetEndpointInfo(c, me.rank, d, ENDPOINT_ATTR_BW_COEFF, 4,
                                    &bw) == 0 &&
           HcclRankGraphGetEndpointInfo(c, me.rank, d, ENDPOINT_ATTR_DIE_ID, 4,
                                        &die) == 0 &&
           HcclRankGraphGetEndpointInfo(c, me.rank, d, ENDPOINT_ATTR_LOCATION,
                                        4, &loc) == 0 &&
           die == 0 && loc == 0 && bw == (me.ranks == 2 ? 4 : 1),
       Who(me, "its ports: four to the other of a pair, else one"),
       std::to_string(bw));
    Ok(HcclRankGraphGetEndpointInfo(c, me.rank, d, ENDPOINT_ATTR_DIE_ID, 8,
                                    &die) == HCCL_E_PARA,
       Who(me, "8 bytes of information"));
}

void Job(const Rank &me)
{
    HcclComm c = Make(me, 0, Config("graph"));
    HcclHeterogMode mode = HCCL_HETEROG_MODE_INVALID;

    Layers(me, c);
    Links(me, c);
    Ends(me, c);
    Ok(HcclGetHeterogMode(c, &mode) == 0 &&
           mode == HCCL_HETEROG_MODE_HOMOGENEOUS, Who(me, "cards of a kind"));
    Meet(me);
    if (me.ranks > 1) {
        Node n;
        n.Open(c);
        Ok(n.Exchange(1) && n.Exchange(2), Who(me, "data over every link"));
        Meet(me);
        n.Close();
    } else {
        void *p = &c;
        uint64_t size = 1;
        Ok(HcclGetHcclBuffer(c, &p, &size) == 0 && p == nullptr && size == 0,
           Who(me, "alone: no HCCL buffer"));
        HcclCommDestroy(c);
    }
}

} // namespace

int main(int argc, char **argv)
{
    uint32_t n = argc == 2 ? atoi(argv[1]) : 0;

    if (n < 1 || n > 8) {
        fprintf(stderr, "usage: %s RANKS\n", argv[0]);
        return 2;
    }
    setenv("ATLAS350_CONNECT_TIMEOUT", "60", 0);
    Share();
    return Done(sample::Run(n, false, Job));
}
