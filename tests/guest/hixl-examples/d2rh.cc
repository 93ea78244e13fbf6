/*
 * Two engines of one process: device memory to the other's host memory, both
 * ways, everything asynchronous.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "example.h"

namespace {
constexpr size_t kBlock = 16384, kBlocks = 512, kSize = kBlock * kBlocks;
constexpr int32_t kMs = 5000, kPolls = 100000;

struct Side {
  int32_t device;
  const char *name;
  uint8_t fill;
  void *dev;
  void *host;
  hixl::MemHandle dev_handle;
  hixl::MemHandle host_handle;
};

int InitEngine(hixl::Hixl &engine, Side &s, const std::string &protocols) {
  CHECK_ACL(aclrtSetDevice(s.device));
  std::map<hixl::AscendString, hixl::AscendString> options;
  options[hixl::OPTION_GLOBAL_RESOURCE_CONFIG] =
      example::ProtocolConfig(protocols).c_str();
  CHECK_HIXL(engine.Initialize(s.name, options));
  CHECK_ACL(aclrtMalloc(&s.dev, kSize, ACL_MEM_MALLOC_HUGE_ONLY));
  CHECK_ACL(aclrtMallocHost(&s.host, kSize));
  std::memset(s.host, 0, kSize);
  const std::vector<uint8_t> host(kSize, s.fill);
  CHECK_ACL(aclrtMemcpy(s.dev, kSize, host.data(), kSize,
                        ACL_MEMCPY_HOST_TO_DEVICE));
  hixl::MemDesc desc{};
  desc.addr = reinterpret_cast<uintptr_t>(s.dev);
  desc.len = kSize;
  CHECK_HIXL(engine.RegisterMem(desc, hixl::MEM_DEVICE, s.dev_handle));
  desc.addr = reinterpret_cast<uintptr_t>(s.host);
  CHECK_HIXL(engine.RegisterMem(desc, hixl::MEM_HOST, s.host_handle));
  std::cout << "[INFO] InitEngine " << s.name << " success" << std::endl;
  return 0;
}

int WaitState(hixl::Hixl &engine, const char *remote,
              hixl::AsyncConnectStatus want) {
  hixl::AsyncConnectStatus status = hixl::AsyncConnectStatus::CONNECT_PENDING;
  for (int32_t i = 0; i < kPolls; ++i) {
    CHECK_HIXL(engine.GetAsyncConnectStatus(remote, status));
    if (status == want) {
      return 0;
    }
    if (status == hixl::AsyncConnectStatus::CONNECT_FAILED) {
      break;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  std::cerr << "[ERROR] " << remote << ": state "
            << static_cast<int>(status) << std::endl;
  return -1;
}

/* The list is used up when the call returns: it is overwritten at once. */
int Submit(hixl::Hixl &engine, const Side &from, const Side &to,
           std::vector<hixl::TransferOpDesc> &descs,
           hixl::TransferReq &req) {
  descs.clear();
  for (size_t i = 0; i < kBlocks; ++i) {
    descs.push_back({reinterpret_cast<uintptr_t>(from.dev) + i * kBlock,
                     reinterpret_cast<uintptr_t>(to.host) + i * kBlock,
                     kBlock});
  }
  hixl::TransferArgs args{};
  CHECK_HIXL(engine.TransferAsync(to.name, hixl::WRITE, descs, args, req));
  return 0;
}

int WaitDone(hixl::Hixl &engine, const hixl::TransferReq &req) {
  hixl::TransferStatus status = hixl::TransferStatus::WAITING;
  for (int32_t i = 0; i < kPolls; ++i) {
    CHECK_HIXL(engine.GetTransferStatus(req, status));
    if (status == hixl::TransferStatus::COMPLETED) {
      return 0;
    }
    if (status != hixl::TransferStatus::WAITING) {
      break;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  std::cerr << "[ERROR] transfer status " << static_cast<int>(status)
            << std::endl;
  return -1;
}

bool Verify(const Side &to, uint8_t value) {
  const uint8_t *p = static_cast<const uint8_t *>(to.host);
  for (size_t i = 0; i < kSize; ++i) {
    if (p[i] != value) {
      std::cerr << "[ERROR] byte " << i << " of " << to.name << std::endl;
      return false;
    }
  }
  return true;
}

int Release(hixl::Hixl &engine, Side &s) {
  CHECK_HIXL(engine.DeregisterMem(s.dev_handle));
  CHECK_HIXL(engine.DeregisterMem(s.host_handle));
  engine.Finalize();
  CHECK_ACL(aclrtFree(s.dev));
  CHECK_ACL(aclrtFreeHost(s.host));
  return 0;
}

int Run(int32_t a_device, int32_t b_device, const std::string &protocols) {
  Side a{a_device, "127.0.0.1:16000", 0xAA, nullptr, nullptr, nullptr,
         nullptr};
  Side b{b_device, "127.0.0.1:16001", 0xBB, nullptr, nullptr, nullptr,
         nullptr};
  hixl::Hixl engine_a;
  hixl::Hixl engine_b;
  hixl::TransferReq req_a = nullptr;
  hixl::TransferReq req_b = nullptr;
  std::vector<hixl::TransferOpDesc> descs;
  if (InitEngine(engine_a, a, protocols) != 0 ||
      InitEngine(engine_b, b, protocols) != 0) {
    return -1;
  }
  CHECK_HIXL(engine_a.ConnectAsync(b.name, kMs));
  CHECK_HIXL(engine_b.ConnectAsync(a.name, kMs));
  if (WaitState(engine_a, b.name, hixl::AsyncConnectStatus::CONNECTED) != 0 ||
      WaitState(engine_b, a.name, hixl::AsyncConnectStatus::CONNECTED) != 0) {
    return -1;
  }
  std::cout << "[INFO] Connect success" << std::endl;
  if (Submit(engine_a, a, b, descs, req_a) != 0 ||
      Submit(engine_b, b, a, descs, req_b) != 0) {
    return -1;
  }
  descs.assign(kBlocks, hixl::TransferOpDesc{1, 1, 1});
  if (WaitDone(engine_a, req_a) != 0 || WaitDone(engine_b, req_b) != 0) {
    return -1;
  }
  std::cout << "[INFO] Transfer completed" << std::endl;
  if (!Verify(b, 0xAA) || !Verify(a, 0xBB)) {
    return -1;
  }
  std::cout << "[INFO] Verify success" << std::endl;
  CHECK_HIXL(engine_a.DisconnectAsync(b.name, kMs));
  CHECK_HIXL(engine_b.DisconnectAsync(a.name, kMs));
  if (WaitState(engine_a, b.name, hixl::AsyncConnectStatus::NOT_CONNECT) !=
          0 ||
      WaitState(engine_b, a.name, hixl::AsyncConnectStatus::NOT_CONNECT) !=
          0) {
    return -1;
  }
  std::cout << "[INFO] Disconnect success" << std::endl;
  if (Release(engine_a, a) != 0 || Release(engine_b, b) != 0) {
    return -1;
  }
  CHECK_ACL(aclrtResetDevice(a.device));
  CHECK_ACL(aclrtResetDevice(b.device));
  return 0;
}
}  // namespace

int main(int argc, char **argv) {
  const std::string protocols = example::Option(argc, argv, "protocol", "");
  const std::string devices = example::Option(argc, argv, "device", "0,2");
  int32_t a = 0;
  int32_t b = 2;
  if (protocols.empty() ||
      std::sscanf(devices.c_str(), "%d,%d", &a, &b) != 2) {
    std::cerr << "usage: d2rh --protocol=P[,P] [--device=a,b]" << std::endl;
    return -1;
  }
  std::cout << "[INFO] ParseArgs success" << std::endl;
  return Run(a, b, protocols);
}
