/*
 * hixl::Hixl: hixl/hixl.h over the core.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "hixl/hixl.h"

#include "shell.h"

namespace hixl {
class Hixl::HixlImpl : public hixl_shell::Core {};

Hixl::Hixl() : impl_(new HixlImpl) {}
Hixl::~Hixl() = default;

Status Hixl::Initialize(const AscendString &local_engine,
                        const std::map<AscendString, AscendString> &options) {
  return hixl_shell::Initialize(impl_->Get(), local_engine, options);
}

void Hixl::Finalize() { hixl_core_finalize(impl_->Get()); }

Status Hixl::RegisterMem(const MemDesc &mem, MemType type,
                         MemHandle &mem_handle) {
  return hixl_core_register(impl_->Get(), mem.addr, mem.len, type, nullptr,
                            &mem_handle);
}

Status Hixl::DeregisterMem(MemHandle mem_handle) {
  return hixl_core_deregister(impl_->Get(), mem_handle);
}

Status Hixl::Connect(const AscendString &remote_engine,
                     int32_t timeout_in_millis) {
  return hixl_core_connect(impl_->Get(), remote_engine.GetString(),
                           timeout_in_millis);
}

Status Hixl::Disconnect(const AscendString &remote_engine,
                        int32_t timeout_in_millis) {
  return hixl_core_disconnect(impl_->Get(), remote_engine.GetString(),
                              timeout_in_millis);
}

Status Hixl::ConnectAsync(const AscendString &remote_engine,
                          int32_t timeout_in_millis) {
  return hixl_core_connect_async(impl_->Get(), remote_engine.GetString(),
                                 timeout_in_millis);
}

Status Hixl::DisconnectAsync(const AscendString &remote_engine,
                             int32_t timeout_in_millis) {
  return hixl_core_disconnect_async(impl_->Get(), remote_engine.GetString(),
                                    timeout_in_millis);
}

Status Hixl::GetAsyncConnectStatus(const AscendString &remote_engine,
                                   AsyncConnectStatus &status) {
  int s = HX_NOT_CONNECT;
  const Status ret =
      hixl_core_async_status(impl_->Get(), remote_engine.GetString(), &s);
  status = static_cast<AsyncConnectStatus>(s);
  return ret;
}

Status Hixl::GetAsyncConnectStatus(
    std::map<AscendString, AsyncConnectStatus> &statuses) {
  statuses.clear();
  return hixl_core_async_list(
      impl_->Get(),
      [](void *opaque, const char *remote, int status) {
        auto *map =
            static_cast<std::map<AscendString, AsyncConnectStatus> *>(opaque);
        (*map)[AscendString(remote)] = static_cast<AsyncConnectStatus>(status);
      },
      &statuses);
}

Status Hixl::TransferSync(const AscendString &remote_engine,
                          TransferOp operation,
                          const std::vector<TransferOpDesc> &op_descs,
                          int32_t timeout_in_millis) {
  return hixl_core_transfer(impl_->Get(), remote_engine.GetString(), operation,
                            hixl_shell::Descs(op_descs), op_descs.size(),
                            timeout_in_millis);
}

Status Hixl::TransferAsync(const AscendString &remote_engine,
                           TransferOp operation,
                           const std::vector<TransferOpDesc> &op_descs,
                           const TransferArgs &optional_args,
                           TransferReq &req) {
  return hixl_core_transfer_async(
      impl_->Get(), remote_engine.GetString(), operation,
      hixl_shell::Descs(op_descs), op_descs.size(), optional_args.user_data,
      &req);
}

Status Hixl::GetTransferStatus(const TransferReq &req, TransferStatus &status) {
  return hixl_shell::TransferState(impl_->Get(), req, status);
}

Status Hixl::GetTransferStatus(const GetTransferStatusArgs &args,
                               std::vector<TransferResult> &results) {
  results.clear();
  return hixl_core_results(
      impl_->Get(), args.max_query_count, args.skip_waiting,
      [](void *opaque, void *req, const void *user_data, int status) {
        TransferResult r;
        r.req = req;
        r.user_data = user_data;
        r.status = static_cast<TransferStatus>(status);
        static_cast<std::vector<TransferResult> *>(opaque)->push_back(r);
      },
      &results);
}

Status Hixl::SendNotify(const AscendString &remote_engine,
                        const NotifyDesc &notify, int32_t timeout_in_millis) {
  return hixl_shell::Send(impl_->Get(), remote_engine, notify,
                          timeout_in_millis);
}

Status Hixl::GetNotifies(std::vector<NotifyDesc> &notifies) {
  return hixl_shell::Receive(impl_->Get(), notifies);
}

Status Hixl::GetCapability(FeatureType feature_type, int32_t &value) {
  return hixl_shell::Capability(feature_type, value);
}
}  // namespace hixl
