/*
 * Hcomm: endpoints, registered memory and threads without a communicator.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * spec/api/hccl-control-plane.md §5, §11. All calls act on the current device
 * of the calling thread (aclrtSetDevice). Results as HcclResult.
 */
#ifndef HCOMM_RES_H
#define HCOMM_RES_H

#include "hcomm_res_defs.h"
#include "hcomm_channel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One end of links, on the card that @endpoint names (or on the host). */
HcommResult HcommEndpointCreate(const EndpointDesc *endpoint,
                                EndpointHandle *endpointHandle);
HcommResult HcommEndpointDestroy(EndpointHandle endpointHandle);

/* On failure *descNum is 0. */
HcommResult HcommEndpointGetDescNum(int32_t deviceLogicId, uint32_t *descNum);
/* *descNum in: room of the array, out: entries. Too little room:
   HCCL_E_PARA and *descNum as it was. */
HcommResult HcommEndpointGetDescs(int32_t deviceLogicId, uint32_t *descNum,
                                  EndpointDesc *endpointDescs);
HcommResult HcommEndpointGetListenPort(EndpointHandle endpointHandle,
                                       uint32_t *port);
HcommResult HcommEndpointCheckFeature(HcommEndpointFeatureType featureType,
                                      const EndpointDesc *endpoint,
                                      bool *value);

/*
 * Registers memory for remote access. Export gives a description that another
 * process can Import; it belongs to the library until Unreg.
 */
HcommResult HcommMemReg(EndpointHandle endpointHandle, const char *memTag,
                        const CommMem *mem, HcommMemHandle *memHandle);
HcommResult HcommMemUnreg(EndpointHandle endpointHandle,
                          HcommMemHandle memHandle);
HcommResult HcommMemExport(EndpointHandle endpointHandle,
                           HcommMemHandle memHandle, void **memDesc,
                           uint32_t *memDescLen);
HcommResult HcommMemImport(EndpointHandle endpointHandle, const void *memDesc,
                           uint32_t descLen, CommMem *outMem);
HcommResult HcommMemUnimport(EndpointHandle endpointHandle,
                             const void *memDesc, uint32_t descLen);
/* Not on this card: HCCL_E_NOT_SUPPORT. */
HcommResult HcommMemAlloc(void **ptr, size_t size);
HcommResult HcommMemFree(void *ptr);

/*
 * Threads outside a communicator; engines CPU, CPU_TS, AICPU, AICPU_TS. All
 * get notifyNumPerThread[0] notifies (0..64). At most 1000 in a call.
 */
HcommResult HcommThreadAlloc(CommEngine engine, uint32_t threadNum,
                             const uint32_t *notifyNumPerThread,
                             ThreadHandle *threads);
HcommResult HcommThreadFree(const ThreadHandle *threads, uint32_t threadNum);
/* The stream of a host thread; @infoLen is sizeof(aclrtStream). */
HcommResult HcommThreadResGetInfo(ThreadHandle thread, ThreadResType type,
                                  uint32_t infoLen, void **info);

#ifdef __cplusplus
}
#endif

#endif /* HCOMM_RES_H */
