/*
 * Hcomm: channels between two endpoints, without a communicator.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * spec/api/hccl-control-plane.md §3.2, §11 and Appendix A.
 */
#ifndef HCOMM_CHANNEL_H
#define HCOMM_CHANNEL_H

#include "hcomm_res_defs.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __cplusplus
static const uint32_t HCOMM_CHANNEL_MAGIC_WORD = 0x0fcf0f0f;
static const uint32_t HCOMM_CHANNEL_VERSION_ONE = 1;
static const uint32_t HCOMM_CHANNEL_VERSION = 4;
static const uint32_t HCOMM_CHANNEL_NAME_MAX_LEN = 191;
static const uint32_t HCOMM_CHANNEL_DESC_RAW_MAX_LEN = 128;
#else
#define HCOMM_CHANNEL_MAGIC_WORD        0x0fcf0f0fU
#define HCOMM_CHANNEL_VERSION_ONE       1U
#define HCOMM_CHANNEL_VERSION           4U
#define HCOMM_CHANNEL_NAME_MAX_LEN      191U
#define HCOMM_CHANNEL_DESC_RAW_MAX_LEN  128U
#endif

typedef enum {
    HCOMM_CHANNEL_CONFIG_TYPE_INVALID = -1,
    HCOMM_CHANNEL_CONFIG_TYPE_IS_SHARED_QUEUE = 0
} HcommChannelConfigType;

typedef void *HcommChannelConfig;

/*
 * What a channel shall be. The server listens on the endpoint's port
 * (HcommEndpointGetListenPort) or on @port, the client connects to @port of
 * the remote endpoint. @memHandles are exchanged with the peer;
 * exchangeAllMems takes all that the endpoint has instead.
 */
typedef struct {
    CommAbiHeader header;
    EndpointDesc remoteEndpoint;
    uint32_t notifyNum;
    bool exchangeAllMems;
    HcommMemHandle *memHandles;
    uint32_t memHandleNum;
    HcommSocket socket;
    HcommSocketRole role;
    uint16_t port;
    union {
        uint8_t raws[HCOMM_CHANNEL_DESC_RAW_MAX_LEN];
        struct {
            uint32_t queueNum;
            uint32_t retryCnt;
            uint32_t retryInterval;
            uint8_t tc;
            uint8_t sl;
            uint32_t qpThreshold;
            uint32_t cqAttrFlags;
            uint16_t *srcPortList;
        } roceAttr;
        struct {
            uint32_t qos;
        } hccsAttr;
        struct {
            uint32_t sqDepth;
        } ubAttr;
        struct {
            uint8_t pathMode;
        } ubMemAttr;
    };
    uint32_t qos;
    const char *channelName;
} HcommChannelDesc;

#ifdef __cplusplus
static const uint32_t HCOMM_CHANNEL_DESC_ABI_V1_SIZE =
    offsetof(HcommChannelDesc, qos);
#else
#define HCOMM_CHANNEL_DESC_ABI_V1_SIZE \
    ((uint32_t)offsetof(HcommChannelDesc, qos))
#endif

/* 0, or 2 if @channelDescs is NULL. */
static inline HcommResult HcommChannelDescInit(HcommChannelDesc *channelDescs,
                                               uint32_t descNum)
{
    uint32_t i;

    if (channelDescs == NULL) {
        return 2;
    }
    for (i = 0; i < descNum; i++) {
        HcommChannelDesc *d = &channelDescs[i];

        memset(d, 0xff, sizeof(*d));
        d->header.version = HCOMM_CHANNEL_VERSION;
        d->header.magicWord = HCOMM_CHANNEL_MAGIC_WORD;
        d->header.size = (uint32_t)sizeof(*d);
        d->header.reserved = 0;
        EndpointDescInit(&d->remoteEndpoint, 1);
        d->notifyNum = 0;
        d->exchangeAllMems = false;
        d->memHandles = NULL;
        d->memHandleNum = 0;
        d->socket = NULL;
        d->role = HCOMM_SOCKET_ROLE_RESERVED;
        d->port = 0;
        d->roceAttr.srcPortList = NULL;
        d->channelName = NULL;
    }
    return 0;
}

/*
 * Creates @channelNum (1..1048576) channels without connecting them; every
 * HcommChannelGetStatus() call moves the handshakes on, and tells: 0 ready,
 * 1 connecting, 2 failed, 3 timed out, 4 local resource short, 5 remote
 * resource short.
 */
HcommResult HcommChannelCreate(EndpointHandle endpointHandle,
                               CommEngine engine,
                               HcommChannelDesc *channelDescs,
                               uint32_t channelNum, ChannelHandle *channels);
HcommResult HcommChannelCreateWithConfig(EndpointHandle endpointHandle,
                                         CommEngine engine,
                                         HcommChannelDesc *channelDescs,
                                         uint32_t channelNum,
                                         HcommChannelConfig config,
                                         ChannelHandle *channels);
HcommResult HcommChannelConfigCreate(HcommChannelConfig *config);
HcommResult HcommChannelConfigDestroy(HcommChannelConfig config);
HcommResult HcommChannelConfigSetInt(HcommChannelConfig config,
                                     HcommChannelConfigType type,
                                     uint32_t value);
HcommResult HcommChannelGetStatus(const ChannelHandle *channelList,
                                  uint32_t listNum, int32_t *statusList);
/* In the order of the array; stops at the first that fails. */
HcommResult HcommChannelDestroy(const ChannelHandle *channels,
                                uint32_t channelNum);

#ifdef __cplusplus
}
#endif

#endif /* HCOMM_CHANNEL_H */
