/*
 * Two engines of one process and thread: 512 x 16 KiB from device memory to
 * another device's, one TransferSync.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "example.h"

namespace {
constexpr size_t kBlock = 16384, kBlocks = 512, kSize = kBlock * kBlocks;
constexpr int32_t kConnectMs = 5000, kTransferMs = 30000;

struct Side {
  int32_t device;
  const char *name;
  void *buffer;
  hixl::MemHandle handle;
};

int InitEngine(hixl::Hixl &engine, Side &s, const std::string &protocols,
               uint8_t fill) {
  CHECK_ACL(aclrtSetDevice(s.device));
  std::map<hixl::AscendString, hixl::AscendString> options;
  options[hixl::OPTION_GLOBAL_RESOURCE_CONFIG] =
      example::ProtocolConfig(protocols).c_str();
  CHECK_HIXL(engine.Initialize(s.name, options));
  CHECK_ACL(aclrtMalloc(&s.buffer, kSize, ACL_MEM_MALLOC_HUGE_ONLY));
  const std::vector<uint8_t> host(kSize, fill);
  CHECK_ACL(aclrtMemcpy(s.buffer, kSize, host.data(), kSize,
                        ACL_MEMCPY_HOST_TO_DEVICE));
  hixl::MemDesc desc{};
  desc.addr = reinterpret_cast<uintptr_t>(s.buffer);
  desc.len = kSize;
  CHECK_HIXL(engine.RegisterMem(desc, hixl::MEM_DEVICE, s.handle));
  std::cout << "[INFO] InitEngine " << s.name << " success" << std::endl;
  return 0;
}

/* Called while the other device is the current one. */
int Release(hixl::Hixl &engine, Side &s) {
  CHECK_HIXL(engine.DeregisterMem(s.handle));
  engine.Finalize();
  CHECK_ACL(aclrtFree(s.buffer));
  return 0;
}

int Run(int32_t a_device, int32_t b_device, const std::string &protocols) {
  Side a{a_device, "127.0.0.1:16000", nullptr, nullptr};
  Side b{b_device, "127.0.0.1:16001", nullptr, nullptr};
  hixl::Hixl engine_a;
  hixl::Hixl engine_b;
  if (InitEngine(engine_a, a, protocols, 0xAA) != 0 ||
      InitEngine(engine_b, b, protocols, 0) != 0) {
    return -1;
  }
  CHECK_HIXL(engine_a.Connect(b.name, kConnectMs));
  std::cout << "[INFO] Connect success" << std::endl;
  std::vector<hixl::TransferOpDesc> descs;
  for (size_t i = 0; i < kBlocks; ++i) {
    descs.push_back({reinterpret_cast<uintptr_t>(a.buffer) + i * kBlock,
                     reinterpret_cast<uintptr_t>(b.buffer) + i * kBlock,
                     kBlock});
  }
  CHECK_HIXL(engine_a.TransferSync(b.name, hixl::WRITE, descs, kTransferMs));
  std::cout << "[INFO] Transfer completed" << std::endl;
  int32_t current = -1;
  CHECK_ACL(aclrtGetDevice(&current));
  if (current != b.device) {
    std::cerr << "[ERROR] device " << current << " is current" << std::endl;
    return -1;
  }
  std::vector<uint8_t> host(kSize, 0);
  CHECK_ACL(aclrtMemcpy(host.data(), kSize, b.buffer, kSize,
                        ACL_MEMCPY_DEVICE_TO_HOST));
  for (size_t i = 0; i < kSize; ++i) {
    if (host[i] != 0xAA) {
      std::cerr << "[ERROR] byte " << i << " is wrong" << std::endl;
      return -1;
    }
  }
  std::cout << "[INFO] Verify success" << std::endl;
  CHECK_HIXL(engine_a.Disconnect(b.name, kConnectMs));
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
    std::cerr << "usage: d2rd --protocol=P[,P] [--device=a,b]" << std::endl;
    return -1;
  }
  std::cout << "[INFO] ParseArgs success" << std::endl;
  return Run(a, b, protocols);
}
