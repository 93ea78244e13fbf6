/*
 * HIXL: one-sided transfers between registered memories of named engines.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * spec/api/hixl.md §1.2, §3; what this card does: docs/hixl.rst. C++11 and
 * later, library libcann_hixl.so.
 *
 * Threads: every call may be made from any thread, with any current device or
 * none, and leaves it as it was; an engine stays on the device that was
 * current in Initialize. Transfers to one remote engine are started one after
 * the other; each waits for its own end only.
 *
 * Errors: any call before a successful Initialize returns FAILED. A timeout of
 * 0 or less is PARAM_INVALID. aclGetRecentErrMsg() says in words what was
 * wrong with the last call of a thread.
 */
#ifndef HIXL_HIXL_H
#define HIXL_HIXL_H

#include <map>
#include <memory>
#include <vector>
#include "hixl/hixl_types.h"

namespace hixl {
class ASCEND_FUNC_VISIBILITY Hixl {
 public:
  Hixl();
  ~Hixl();

  /*
   * @local_engine: "ip:port" or "[ipv6]:port" is a target that others can
   * connect to; without a port the engine only connects. Takes the calling
   * thread's device. PARAM_INVALID: the name or an option; FAILED: no device
   * is set, the port is in use.
   */
  Status Initialize(const AscendString &local_engine,
                    const std::map<AscendString, AscendString> &options);
  /* Ends links, registrations and the server. Twice is harmless. */
  void Finalize();

  /*
   * Register before Connect: a link knows what both sides had registered
   * then. The same range again gives the same handle; a range that overlaps
   * another of the same type in part is PARAM_INVALID.
   */
  Status RegisterMem(const MemDesc &mem, MemType type, MemHandle &mem_handle);
  /* FAILED while this engine has a link that it made. */
  Status DeregisterMem(MemHandle mem_handle);

  /*
   * Links are one-way: who connects may transfer. Connect: PARAM_INVALID self
   * or not a name, ALREADY_CONNECTED, TIMEOUT, FAILED nobody listens or no
   * common end point. Disconnect: NOT_CONNECTED.
   */
  Status Connect(const AscendString &remote_engine,
                 int32_t timeout_in_millis = 1000);
  Status Disconnect(const AscendString &remote_engine,
                    int32_t timeout_in_millis = 1000);
  /* RESOURCE_EXHAUSTED: too many requests are queued. */
  Status ConnectAsync(const AscendString &remote_engine,
                      int32_t timeout_in_millis = 1000);
  Status DisconnectAsync(const AscendString &remote_engine,
                         int32_t timeout_in_millis = 1000);
  Status GetAsyncConnectStatus(const AscendString &remote_engine,
                               AsyncConnectStatus &status);
  Status GetAsyncConnectStatus(
      std::map<AscendString, AsyncConnectStatus> &statuses);

  /*
   * Returns when the data is in its destination. Descriptors of one call are
   * not ordered among each other. PARAM_INVALID: empty list, null address, a
   * length of 0, memory that is not registered; NOT_CONNECTED; TIMEOUT and
   * FAILED leave the link failed until Disconnect and Connect;
   * RESOURCE_EXHAUSTED: too many transfers are outstanding.
   */
  Status TransferSync(const AscendString &remote_engine, TransferOp operation,
                      const std::vector<TransferOpDesc> &op_descs,
                      int32_t timeout_in_millis = 1000);
  Status TransferAsync(const AscendString &remote_engine, TransferOp operation,
                       const std::vector<TransferOpDesc> &op_descs,
                       const TransferArgs &optional_args, TransferReq &req);
  /* The final status of a request is given once. */
  Status GetTransferStatus(const TransferReq &req, TransferStatus &status);
  Status GetTransferStatus(const GetTransferStatusArgs &args,
                           std::vector<TransferResult> &results);

  /* RESOURCE_EXHAUSTED: 4096 notifies wait at the peer. */
  Status SendNotify(const AscendString &remote_engine, const NotifyDesc &notify,
                    int32_t timeout_in_millis = 1000);
  Status GetNotifies(std::vector<NotifyDesc> &notifies);

  static Status GetCapability(FeatureType feature_type, int32_t &value);

 private:
  class HixlImpl;
  std::unique_ptr<HixlImpl> impl_;
};
}  // namespace hixl

#endif  // HIXL_HIXL_H
