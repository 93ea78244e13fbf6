/*
 * ADXL: HIXL's older twin; the same engines under other names.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * spec/api/hixl.md §1.3. Every call does what the call of the same name in
 * hixl/hixl.h does. C++11 and later, library libllm_datadist.so.
 */
#ifndef ADXL_ADXL_ENGINE_H
#define ADXL_ADXL_ENGINE_H

#include <map>
#include <memory>
#include <vector>
#include "adxl/adxl_types.h"

namespace adxl {
class ASCEND_FUNC_VISIBILITY AdxlEngine {
 public:
  AdxlEngine();
  ~AdxlEngine();

  Status Initialize(const AscendString &local_engine,
                    const std::map<AscendString, AscendString> &options);
  void Finalize();
  Status RegisterMem(const MemDesc &mem, MemType type, MemHandle &mem_handle);
  Status DeregisterMem(MemHandle mem_handle);
  Status Connect(const AscendString &remote_engine,
                 int32_t timeout_in_millis = 1000);
  Status Disconnect(const AscendString &remote_engine,
                    int32_t timeout_in_millis = 1000);
  Status TransferSync(const AscendString &remote_engine, TransferOp operation,
                      const std::vector<TransferOpDesc> &op_descs,
                      int32_t timeout_in_millis = 1000);
  Status TransferAsync(const AscendString &remote_engine, TransferOp operation,
                       const std::vector<TransferOpDesc> &op_descs,
                       const TransferArgs &optional_args, TransferReq &req);
  Status GetTransferStatus(const TransferReq &req, TransferStatus &status);
  Status SendNotify(const AscendString &remote_engine, const NotifyDesc &notify,
                    int32_t timeout_in_millis = 1000);
  Status GetNotifies(std::vector<NotifyDesc> &notifies);

  /* Memory that other products share over their fabric: UNSUPPORTED here. */
  static Status MallocMem(MemType type, size_t size, void **ptr);
  static Status ExportToShareableHandle(void *addr, ShareableHandle &handle);
  static Status FreeMem(void *ptr);

  static Status GetCapability(FeatureType feature_type, int32_t &value);

 private:
  class AdxlEngineImpl;
  std::unique_ptr<AdxlEngineImpl> impl_;
};
}  // namespace adxl

#endif  // ADXL_ADXL_ENGINE_H
