/*
 * HIXL: types, result codes and option names.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Names, values and sizes: spec/api/hixl.md §1.2. C++11 and later.
 */
#ifndef HIXL_HIXL_TYPES_H
#define HIXL_HIXL_TYPES_H

#include <cstddef>
#include <cstdint>
#include "external/ge_common/api_error_codes.h"

#ifndef ASCEND_FUNC_VISIBILITY
#ifdef FUNC_VISIBILITY
#define ASCEND_FUNC_VISIBILITY __attribute__((visibility("default")))
#else
#define ASCEND_FUNC_VISIBILITY
#endif
#endif

namespace hixl {
#include "hixl/shared_types.h"

/*
 * Options of Initialize; docs/hixl.rst lists their values. "adxl." in front
 * of the traffic class, service level, buffer pool and LocalCommRes names is
 * accepted too. An unknown name is ignored with a warning.
 */
constexpr const char OPTION_ENABLE_USE_FABRIC_MEM[] = "EnableUseFabricMem";
constexpr const char OPTION_RDMA_TRAFFIC_CLASS[] = "RdmaTrafficClass";
constexpr const char OPTION_RDMA_SERVICE_LEVEL[] = "RdmaServiceLevel";
constexpr const char OPTION_BUFFER_POOL[] = "BufferPool";
constexpr const char OPTION_GLOBAL_RESOURCE_CONFIG[] = "GlobalResourceConfig";
constexpr const char OPTION_AUTO_CONNECT[] = "AutoConnect";
constexpr const char OPTION_LOCAL_COMM_RES[] = "LocalCommRes";

struct TransferArgs {
  const void *user_data = nullptr;  /* comes back in TransferResult */
  uint8_t reserved[120] = {};
};

struct GetTransferStatusArgs {
  uint32_t max_query_count = UINT32_MAX;
  bool skip_waiting = false;
  uint8_t reserved[123] = {};
};

struct TransferResult {
  TransferReq req = nullptr;
  const void *user_data = nullptr;
  TransferStatus status = TransferStatus::WAITING;
  uint8_t reserved[108] = {};
};

enum class AsyncConnectStatus {
  NOT_CONNECT,
  CONNECT_PENDING,
  CONNECTING,
  CONNECTED,
  CONNECT_FAILED,
  DISCONNECT_PENDING,
  DISCONNECTING
};
}  // namespace hixl

#endif  // HIXL_HIXL_TYPES_H
