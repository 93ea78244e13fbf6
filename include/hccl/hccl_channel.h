/*
 * HCCL: channels between the ranks of a communicator.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * spec/api/hccl-control-plane.md §3.2, §7 and Appendix A.
 */
#ifndef HCCL_CHANNEL_H
#define HCCL_CHANNEL_H

#include "hccl_types.h"
#include "hcomm_res_defs.h"
#include "hcomm_channel.h"

#ifndef LIKELY
#define LIKELY(x)   (__builtin_expect(!!(x), 1))
#endif
#ifndef UNLIKELY
#define UNLIKELY(x) (__builtin_expect(!!(x), 0))
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef void *HcclMemHandle;
typedef void *HcclChannelConfig;

#ifdef __cplusplus
static const uint32_t HCCL_CHANNEL_MAGIC_WORD = 0x0f0f0f0fU;
static const uint32_t HCCL_CHANNEL_VERSION = 1U;
static const uint32_t HCCL_CHANNEL_DESC_RAW_MAX_LEN = 128U;
static const uint32_t HCCL_CHANNEL_CONFIG_SHARED_QUEUE_TAG_MAX_LEN = 255U;
#else
#define HCCL_CHANNEL_MAGIC_WORD                         0x0f0f0f0fU
#define HCCL_CHANNEL_VERSION                            1U
#define HCCL_CHANNEL_DESC_RAW_MAX_LEN                   128U
#define HCCL_CHANNEL_CONFIG_SHARED_QUEUE_TAG_MAX_LEN    255U
#endif

typedef enum {
    HCCL_CHANNEL_CONFIG_TYPE_INVALID = -1,
    HCCL_CHANNEL_CONFIG_TYPE_IS_SHARED_QUEUE = 0,
    HCCL_CHANNEL_CONFIG_TYPE_SHARED_QUEUE_TAG = 1
} HcclChannelConfigType;

/*
 * What a channel to @remoteRank shall be. The protocol and both endpoints come
 * from a link that HcclRankGraphGetLinks() gives. @notifyNum notifies, 0..64,
 * on either side.
 */
typedef struct {
    CommAbiHeader header;
    uint32_t remoteRank;
    CommProtocol channelProtocol;
    EndpointDesc localEndpoint;
    EndpointDesc remoteEndpoint;
    uint32_t notifyNum;
    HcclMemHandle *memHandles;
    uint32_t memHandleNum;
    union {
        uint8_t raws[HCCL_CHANNEL_DESC_RAW_MAX_LEN];
        struct {
            uint32_t queueNum;
            uint32_t retryCnt;
            uint32_t retryInterval;
            uint8_t tc;
            uint8_t sl;
        } roceAttr;
        struct {
            uint8_t pathMode;
        } ubMemAttr;
    };
} HcclChannelDesc;

/* HCCL_SUCCESS, or HCCL_E_PTR if @channelDesc is NULL. */
static inline HcclResult HcclChannelDescInit(HcclChannelDesc *channelDesc,
                                             uint32_t descNum)
{
    uint32_t i;

    if (channelDesc == NULL) {
        return HCCL_E_PTR;
    }
    for (i = 0; i < descNum; i++) {
        HcclChannelDesc *d = &channelDesc[i];

        memset(d, 0xff, sizeof(*d));
        d->header.version = HCCL_CHANNEL_VERSION;
        d->header.magicWord = HCCL_CHANNEL_MAGIC_WORD;
        d->header.size = (uint32_t)sizeof(*d);
        d->header.reserved = 0;
        d->remoteRank = 0xffffffffU;
        d->channelProtocol = COMM_PROTOCOL_RESERVED;
        EndpointDescInit(&d->localEndpoint, 1);
        EndpointDescInit(&d->remoteEndpoint, 1);
        d->notifyNum = 0;
        d->memHandles = NULL;
        d->memHandleNum = 0;
    }
    return HCCL_SUCCESS;
}

/*
 * Collective between the two ranks of each channel: both call with the same
 * engine value, and with channels to each other in the same order. Blocks
 * until the peer has come; HCCL_E_TIMEOUT after HCCL_CONNECT_TIMEOUT. A channel
 * that exists already (same endpoints, engine and place among equal ones in
 * the call) is given again as it is. @channelNum 1..1048576. One call at a
 * time for a communicator.
 */
HcclResult HcclChannelAcquire(HcclComm comm, CommEngine engine,
                              const HcclChannelDesc *channelDescs,
                              uint32_t channelNum, ChannelHandle *channels);
/* @config NULL is HcclChannelAcquire(). */
HcclResult HcclChannelAcquireWithConfig(HcclComm comm, CommEngine engine,
                                        const HcclChannelDesc *channelDescs,
                                        uint32_t channelNum,
                                        HcclChannelConfig config,
                                        ChannelHandle *channels);
HcclResult HcclChannelConfigCreate(HcclChannelConfig *config);
HcclResult HcclChannelConfigDestroy(HcclChannelConfig config);
HcclResult HcclChannelConfigSetInt(HcclChannelConfig config,
                                   HcclChannelConfigType type, uint32_t value);
HcclResult HcclChannelConfigSetStr(HcclChannelConfig config,
                                   HcclChannelConfigType type,
                                   const char *value);
/* Existing channels; 0 where HcclChannelAcquire() would make one. */
HcclResult HcclChannelQuery(HcclComm comm, CommEngine engine,
                            const HcclChannelDesc *channelDescs,
                            uint32_t channelNum, ChannelHandle *channels);
/* Only for engine CCU: HCCL_E_NOT_SUPPORT here. */
HcclResult HcclChannelDestroy(HcclComm comm, const ChannelHandle *channels,
                              uint32_t channelNum);
/* The peer's HCCL buffer, as the remote operand of data plane calls. */
HcclResult HcclChannelGetHcclBuffer(HcclComm comm, ChannelHandle channel,
                                    void **buffer, uint64_t *size);
/* All memories the peer gave, its HCCL buffer ("HcclBuffer") first. The arrays
   belong to the library and live as long as the channel. */
HcclResult HcclChannelGetRemoteMems(HcclComm comm, ChannelHandle channel,
                                    uint32_t *memNum, CommMem **remoteMems,
                                    char ***memTags);

#ifdef __cplusplus
}
#endif

#endif /* HCCL_CHANNEL_H */
