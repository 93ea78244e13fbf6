/*
 * Types and codes that HIXL and its older twin have alike.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Not for programs: hixl/hixl_types.h and adxl/adxl_types.h include this, each
 * inside its own namespace, so that a hixl::MemDesc and an adxl::MemDesc are
 * different types, as in the real headers. Hence no include guard.
 */
using Status = uint32_t;
using AscendString = ge::AscendString;
using TransferReq = void *;
using MemHandle = void *;

constexpr Status SUCCESS = 0U;
constexpr Status PARAM_INVALID = 103900U;
constexpr Status TIMEOUT = 103901U;
constexpr Status NOT_CONNECTED = 103902U;
constexpr Status ALREADY_CONNECTED = 103903U;
constexpr Status NOTIFY_FAILED = 103904U;
constexpr Status UNSUPPORTED = 103905U;
constexpr Status FAILED = 503900U;
constexpr Status RESOURCE_EXHAUSTED = 203900U;

enum FeatureType : int32_t {
  AUTO_CONNECT = 0,
  CLIENT_SERVER_COMM = 1,
};
constexpr int32_t FEATURE_SUPPORTED = 1;
constexpr int32_t FEATURE_NOT_SUPPORTED = 0;

enum MemType { MEM_DEVICE, MEM_HOST };

/* READ: remote to local, WRITE: local to remote. */
enum TransferOp { READ, WRITE };

struct MemDesc {
  uintptr_t addr;
  size_t len;  /* bytes */
  uint8_t reserved[128] = {};
};

struct TransferOpDesc {
  uintptr_t local_addr;
  uintptr_t remote_addr;
  size_t len;  /* bytes, not 0 */
};

enum class TransferStatus { WAITING, COMPLETED, TIMEOUT, FAILED };

struct NotifyDesc {
  AscendString name;        /* at most 1024 bytes */
  AscendString notify_msg;  /* at most 1024 bytes */
};
