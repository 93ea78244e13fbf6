/*
 * A KV cache between two processes: the server owns 2000 blocks of 16 KiB, the
 * client pulls them to scattered places of its own, then pushes others back,
 * and both tell each other by notifies. Started without --role it is both: it
 * forks the server.
 *
 *   hixl_kv [--role=server|client] [--device=0,1]
 *           [--server=127.0.0.1:16001] [--client=127.0.0.1:16000]
 *
 * HIXL does not tell addresses; here the server sends its own in a notify.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"

using namespace sample;

namespace {
const size_t kBlock = 16384, kBlocks = 2000, kSize = kBlock * kBlocks;

struct Node {
  hixl::Hixl hixl;
  std::string peer;
  void *memory = nullptr;
  hixl::MemHandle handle = nullptr;
};

void Start(Node &n, int32_t device, const std::string &name) {
  Must(aclInit(nullptr), "aclInit");
  Must(aclrtSetDevice(device), "aclrtSetDevice");
  Must(n.hixl.Initialize(name.c_str(), UbOptions()), "Initialize");
  n.memory = DeviceMemory(kSize);
  Must(n.hixl.RegisterMem(Mem(n.memory, kSize), hixl::MEM_DEVICE, n.handle),
       "RegisterMem");
}

/* The peer may still be starting. */
void Connect(Node &n) {
  unsigned ret = hixl::FAILED;

  for (int i = 0; i < 600 && ret != hixl::SUCCESS; i++) {
    ret = n.hixl.Connect(n.peer.c_str(), 5000);
    if (ret != hixl::SUCCESS) {
      usleep(100000);
    }
  }
  Must(ret, "Connect");
}

void Tell(Node &n, const char *name, const std::string &text) {
  hixl::NotifyDesc d;

  d.name = name;
  d.notify_msg = text.c_str();
  Must(n.hixl.SendNotify(n.peer.c_str(), d, 5000), "SendNotify");
}

std::string Hear(Node &n, const char *name) {
  std::vector<hixl::NotifyDesc> got;

  for (int i = 0; i < 60000; i++) {
    Must(n.hixl.GetNotifies(got), "GetNotifies");
    if (!got.empty()) {
      if (got[0].name != name) {
        Fail(got[0].name.GetString(), 0);
      }
      return got[0].notify_msg.GetString();
    }
    usleep(1000);
  }
  Fail(name, hixl::TIMEOUT);
  return "";
}

/* Where block @i lies at the client: another order, so that each is alone. */
size_t Place(size_t i) { return i * 7 % kBlocks * kBlock; }

std::vector<hixl::TransferOpDesc> Blocks(const Node &n, uintptr_t remote) {
  std::vector<hixl::TransferOpDesc> list;

  for (size_t i = 0; i < kBlocks; i++) {
    list.push_back({Addr(n.memory, Place(i)), remote + i * kBlock, kBlock});
  }
  return list;
}

void Client(Node &n) {
  std::vector<uint8_t> data(kSize), all(kSize);
  uintptr_t remote;

  remote = std::strtoull(Hear(n, "address").c_str(), nullptr, 0);
  const auto list = Blocks(n, remote);
  double start = Now();
  Must(n.hixl.TransferSync(n.peer.c_str(), hixl::READ, list, 30000), "pull");
  std::printf("pull of %zu blocks: %.3f ms\n", kBlocks, (Now() - start) * 1e3);
  data = FromDevice(n.memory, kSize);
  for (size_t i = 0; i < kBlocks; i++) {
    std::memcpy(&all[i * kBlock], &data[Place(i)], kBlock);
  }
  Expect(all.data(), kSize, 1, "pulled block");
  Fill(all, 2);
  for (size_t i = 0; i < kBlocks; i++) {
    std::memcpy(&data[Place(i)], &all[i * kBlock], kBlock);
  }
  ToDevice(n.memory, data);
  start = Now();
  Must(n.hixl.TransferSync(n.peer.c_str(), hixl::WRITE, list, 30000), "push");
  std::printf("push of %zu blocks: %.3f ms\n", kBlocks, (Now() - start) * 1e3);
  Tell(n, "pushed", "2000");
  Hear(n, "checked");
}

void Server(Node &n) {
  char text[32];

  std::snprintf(text, sizeof(text), "0x%zx", Addr(n.memory));
  Tell(n, "address", text);
  Hear(n, "pushed");
  Expect(FromDevice(n.memory, kSize).data(), kSize, 2, "pushed block");
  Tell(n, "checked", "");
}

int Run(bool server, int32_t device, const std::string &name,
        const std::string &peer) {
  std::vector<uint8_t> data(kSize);
  Node n;

  n.peer = peer;
  Start(n, device, name);
  Fill(data, server ? 1 : 9);
  ToDevice(n.memory, data);
  Connect(n);
  server ? Server(n) : Client(n);
  Must(n.hixl.Disconnect(peer.c_str(), 5000), "Disconnect");
  Must(n.hixl.DeregisterMem(n.handle), "DeregisterMem");
  n.hixl.Finalize();
  Must(aclrtFree(n.memory), "aclrtFree");
  Must(aclrtResetDevice(device), "aclrtResetDevice");
  Must(aclFinalize(), "aclFinalize");
  std::printf("%s: Verify success\n", server ? "server" : "client");
  return 0;
}
}  // namespace

int main(int argc, char **argv) {
  const std::string role = Argument(argc, argv, "role", "");
  const std::string server = Argument(argc, argv, "server", "127.0.0.1:16001");
  const std::string client = Argument(argc, argv, "client", "127.0.0.1:16000");
  int32_t da, db;
  int status = 1;

  TwoDevices(Argument(argc, argv, "device", "0,1"), &da, &db);
  if (role == "server") {
    return Run(true, db, server, client);
  }
  if (role == "client") {
    return Run(false, da, client, server);
  }
  const pid_t child = fork(); /* before anything of acl is used */
  if (child == 0) {
    return Run(true, db, server, client);
  }
  const int ret = Run(false, da, client, server);
  if (child < 0 || waitpid(child, &status, 0) != child) {
    return 1;
  }
  return ret != 0 || status != 0;
}
