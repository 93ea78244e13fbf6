/*
 * ge::Status and ge::AscendString under the path that HIXL's headers include.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * spec/api/hixl.md §1.1.
 */
#ifndef EXTERNAL_GE_COMMON_API_ERROR_CODES_H
#define EXTERNAL_GE_COMMON_API_ERROR_CODES_H

#include <cstdint>
#include "graph/ascend_string.h"

namespace ge {
using Status = uint32_t;
}  // namespace ge

#endif  // EXTERNAL_GE_COMMON_API_ERROR_CODES_H
