/*
 * ADXL: types, result codes and option names of HIXL's older twin.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * spec/api/hixl.md §1.3. Meaning of everything: hixl/hixl_types.h. C++11 and
 * later.
 */
#ifndef ADXL_ADXL_TYPES_H
#define ADXL_ADXL_TYPES_H

#include <cstddef>
#include <cstdint>
#include "acl/acl_rt.h"
#include "external/ge_common/api_error_codes.h"

#ifndef ASCEND_FUNC_VISIBILITY
#ifdef FUNC_VISIBILITY
#define ASCEND_FUNC_VISIBILITY __attribute__((visibility("default")))
#else
#define ASCEND_FUNC_VISIBILITY
#endif
#endif

namespace adxl {
#include "hixl/shared_types.h"

using ShareableHandle = aclrtMemFabricHandle;

constexpr const char OPTION_RDMA_TRAFFIC_CLASS[] = "adxl.RdmaTrafficClass";
constexpr const char OPTION_RDMA_SERVICE_LEVEL[] = "adxl.RdmaServiceLevel";
constexpr const char OPTION_BUFFER_POOL[] = "adxl.BufferPool";
constexpr const char OPTION_LOCAL_COMM_RES[] = "adxl.LocalCommRes";
constexpr const char OPTION_AUTO_CONNECT[] = "AutoConnect";

struct TransferArgs {
  uint8_t reserved[128] = {};
};
}  // namespace adxl

#endif  // ADXL_ADXL_TYPES_H
