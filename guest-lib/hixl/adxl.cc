/*
 * adxl::AdxlEngine: adxl/adxl_engine.h over the core.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "adxl/adxl_engine.h"

#include "shell.h"

namespace adxl {
class AdxlEngine::AdxlEngineImpl : public hixl_shell::Core {};

AdxlEngine::AdxlEngine() : impl_(new AdxlEngineImpl) {}
AdxlEngine::~AdxlEngine() = default;

Status AdxlEngine::Initialize(
    const AscendString &local_engine,
    const std::map<AscendString, AscendString> &options) {
  return hixl_shell::Initialize(impl_->Get(), local_engine, options);
}

void AdxlEngine::Finalize() { hixl_core_finalize(impl_->Get()); }

Status AdxlEngine::RegisterMem(const MemDesc &mem, MemType type,
                               MemHandle &mem_handle) {
  return hixl_core_register(impl_->Get(), mem.addr, mem.len, type, nullptr,
                            &mem_handle);
}

Status AdxlEngine::DeregisterMem(MemHandle mem_handle) {
  return hixl_core_deregister(impl_->Get(), mem_handle);
}

Status AdxlEngine::Connect(const AscendString &remote_engine,
                           int32_t timeout_in_millis) {
  return hixl_core_connect(impl_->Get(), remote_engine.GetString(),
                           timeout_in_millis);
}

Status AdxlEngine::Disconnect(const AscendString &remote_engine,
                              int32_t timeout_in_millis) {
  return hixl_core_disconnect(impl_->Get(), remote_engine.GetString(),
                              timeout_in_millis);
}

Status AdxlEngine::TransferSync(const AscendString &remote_engine,
                                TransferOp operation,
                                const std::vector<TransferOpDesc> &op_descs,
                                int32_t timeout_in_millis) {
  return hixl_core_transfer(impl_->Get(), remote_engine.GetString(), operation,
                            hixl_shell::Descs(op_descs), op_descs.size(),
                            timeout_in_millis);
}

Status AdxlEngine::TransferAsync(const AscendString &remote_engine,
                                 TransferOp operation,
                                 const std::vector<TransferOpDesc> &op_descs,
                                 const TransferArgs &optional_args,
                                 TransferReq &req) {
  (void)optional_args;
  return hixl_core_transfer_async(
      impl_->Get(), remote_engine.GetString(), operation,
      hixl_shell::Descs(op_descs), op_descs.size(), nullptr, &req);
}

Status AdxlEngine::GetTransferStatus(const TransferReq &req,
                                     TransferStatus &status) {
  return hixl_shell::TransferState(impl_->Get(), req, status);
}

Status AdxlEngine::SendNotify(const AscendString &remote_engine,
                              const NotifyDesc &notify,
                              int32_t timeout_in_millis) {
  return hixl_shell::Send(impl_->Get(), remote_engine, notify,
                          timeout_in_millis);
}

Status AdxlEngine::GetNotifies(std::vector<NotifyDesc> &notifies) {
  return hixl_shell::Receive(impl_->Get(), notifies);
}

/* The card has no memory that others can map: spec/api/hixl.md §1.3. */
Status AdxlEngine::MallocMem(MemType type, size_t size, void **ptr) {
  (void)type;
  (void)size;
  (void)ptr;
  return UNSUPPORTED;
}

Status AdxlEngine::ExportToShareableHandle(void *addr,
                                           ShareableHandle &handle) {
  (void)addr;
  (void)handle;
  return UNSUPPORTED;
}

Status AdxlEngine::FreeMem(void *ptr) {
  (void)ptr;
  return UNSUPPORTED;
}

Status AdxlEngine::GetCapability(FeatureType feature_type, int32_t &value) {
  return hixl_shell::Capability(feature_type, value);
}
}  // namespace adxl
