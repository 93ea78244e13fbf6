/*
 * Two processes: the client READs what the server has filled. Also what
 * quickstart does, with its fixed devices and one block of 1 MiB
 * (-DQUICKSTART).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "example.h"

namespace {
#ifdef QUICKSTART
constexpr size_t kBlock = 1 << 20, kBlocks = 1;
const char *const kProtocol = "hccs:device";
#else
constexpr size_t kBlock = 16384, kBlocks = 512;
const char *const kProtocol = "";
#endif
constexpr size_t kSize = kBlock * kBlocks;
constexpr int32_t kMs = 5000, kTransferMs = 30000;

struct Args {
  bool server;
  std::string protocols, local, remote;
  int32_t device;
};

int PortOf(const std::string &name) {
  return std::atoi(name.c_str() + name.rfind(':') + 1);
}

int Prepare(hixl::Hixl &engine, const Args &args, uint8_t fill,
            void **buffer, hixl::MemHandle &handle) {
  CHECK_ACL(aclrtSetDevice(args.device));
  std::map<hixl::AscendString, hixl::AscendString> options;
  options[hixl::OPTION_GLOBAL_RESOURCE_CONFIG] =
      example::ProtocolConfig(args.protocols).c_str();
  CHECK_HIXL(engine.Initialize(args.local.c_str(), options));
  CHECK_ACL(aclrtMalloc(buffer, kSize, ACL_MEM_MALLOC_HUGE_ONLY));
  const std::vector<uint8_t> host(kSize, fill);
  CHECK_ACL(aclrtMemcpy(*buffer, kSize, host.data(), kSize,
                        ACL_MEMCPY_HOST_TO_DEVICE));
  hixl::MemDesc desc{};
  desc.addr = reinterpret_cast<uintptr_t>(*buffer);
  desc.len = kSize;
  CHECK_HIXL(engine.RegisterMem(desc, hixl::MEM_DEVICE, handle));
  return 0;
}

int Release(hixl::Hixl &engine, const Args &args, void *buffer,
            hixl::MemHandle handle) {
  CHECK_HIXL(engine.DeregisterMem(handle));
  engine.Finalize();
  CHECK_ACL(aclrtFree(buffer));
  CHECK_ACL(aclrtResetDevice(args.device));
  return 0;
}

/* Never connects; leaves when the client has closed the side channel. */
int Server(hixl::Hixl &engine, const Args &args, void *buffer) {
  const int listener = example::Listen(PortOf(args.local) + 1000);
  const int fd = accept(listener, nullptr, nullptr);
  const uintptr_t addr = reinterpret_cast<uintptr_t>(buffer);
  char c = 0;
  (void)engine;
  if (fd < 0 || send(fd, &addr, sizeof(addr), MSG_NOSIGNAL) !=
                    static_cast<ssize_t>(sizeof(addr))) {
    std::cerr << "[ERROR] side channel" << std::endl;
    return -1;
  }
  while (recv(fd, &c, 1, 0) > 0) {
  }
  close(fd);
  close(listener);
  std::cout << "[INFO] Server done" << std::endl;
  return 0;
}

int Client(hixl::Hixl &engine, const Args &args, void *buffer) {
  const int fd = example::Dial(PortOf(args.remote) + 1000);
  uintptr_t remote = 0;
  if (fd < 0 || recv(fd, &remote, sizeof(remote), MSG_WAITALL) !=
                    static_cast<ssize_t>(sizeof(remote))) {
    std::cerr << "[ERROR] side channel" << std::endl;
    return -1;
  }
  CHECK_HIXL(engine.Connect(args.remote.c_str(), kMs));
  std::cout << "[INFO] Connect success" << std::endl;
  std::vector<hixl::TransferOpDesc> descs;
  for (size_t i = 0; i < kBlocks; ++i) {
    descs.push_back({reinterpret_cast<uintptr_t>(buffer) + i * kBlock,
                     remote + i * kBlock, kBlock});
  }
  CHECK_HIXL(engine.TransferSync(args.remote.c_str(), hixl::READ, descs,
                                 kTransferMs));
  std::cout << "[INFO] TransferSync READ completed" << std::endl;
  std::vector<uint8_t> host(kSize, 0);
  CHECK_ACL(aclrtMemcpy(host.data(), kSize, buffer, kSize,
                        ACL_MEMCPY_DEVICE_TO_HOST));
  for (size_t i = 0; i < kSize; ++i) {
    if (host[i] != 0xAA) {
      std::cerr << "[ERROR] byte " << i << " is wrong" << std::endl;
      return -1;
    }
  }
  std::cout << "[INFO] Verify success" << std::endl;
  CHECK_HIXL(engine.Disconnect(args.remote.c_str(), kMs));
  close(fd);
  return 0;
}

int Run(const Args &args) {
  hixl::Hixl engine;
  hixl::MemHandle handle = nullptr;
  void *buffer = nullptr;
  if (Prepare(engine, args, args.server ? 0xAA : 0, &buffer, handle) != 0) {
    return -1;
  }
  const int ret = args.server ? Server(engine, args, buffer)
                              : Client(engine, args, buffer);
  return ret != 0 ? ret : Release(engine, args, buffer, handle);
}
}  // namespace

int main(int argc, char **argv) {
  const std::string role = example::Option(argc, argv, "role", "");
  Args args;
  args.server = role == "server";
  args.protocols = example::Option(argc, argv, "protocol", kProtocol);
  args.device = std::atoi(
      example::Option(argc, argv, "device", args.server ? "2" : "0").c_str());
  args.local = example::Option(argc, argv, "local-engine", args.server
                               ? "127.0.0.1:16001" : "127.0.0.1:16000");
  args.remote = example::Option(argc, argv, "remote-engine", args.server
                                ? "127.0.0.1:16000" : "127.0.0.1:16001");
  if ((!args.server && role != "client") || args.protocols.empty()) {
    std::cerr << "usage: --role=client|server --protocol=P[,P] [--device=d] "
                 "[--local-engine=n] [--remote-engine=n]" << std::endl;
    return -1;
  }
  std::cout << "[INFO] ParseArgs success" << std::endl;
  return Run(args);
}
