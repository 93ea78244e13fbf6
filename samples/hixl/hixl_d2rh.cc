/*
 * Device memory to the host memory of the other engine, both ways at once:
 * asynchronous connect and transfer, both polled.
 *
 *   hixl_d2rh [--device=0,1]
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <unistd.h>

#include "common.h"

using namespace sample;

namespace {
const size_t kSize = 8 << 20;

struct Engine {
  hixl::Hixl hixl;
  int32_t device;
  void *memory, *host;
  hixl::MemHandle handles[2];
};

void Start(Engine &e, int32_t device, const char *name, unsigned seed) {
  std::vector<uint8_t> data(kSize);

  e.device = device;
  Must(aclrtSetDevice(device), "aclrtSetDevice");
  Must(e.hixl.Initialize(name, UbOptions()), "Initialize");
  e.memory = DeviceMemory(kSize);
  Must(aclrtMallocHost(&e.host, kSize), "aclrtMallocHost");
  Fill(data, seed);
  ToDevice(e.memory, data);
  std::memset(e.host, 0, kSize);
  Must(e.hixl.RegisterMem(Mem(e.memory, kSize), hixl::MEM_DEVICE,
                          e.handles[0]), "RegisterMem");
  Must(e.hixl.RegisterMem(Mem(e.host, kSize), hixl::MEM_HOST, e.handles[1]),
       "RegisterMem");
}

void WaitConnected(Engine &e, const char *peer) {
  hixl::AsyncConnectStatus s = hixl::AsyncConnectStatus::NOT_CONNECT;

  for (int i = 0; i < 50000; i++) {
    Must(e.hixl.GetAsyncConnectStatus(peer, s), "GetAsyncConnectStatus");
    if (s == hixl::AsyncConnectStatus::CONNECTED) {
      return;
    }
    if (s == hixl::AsyncConnectStatus::CONNECT_FAILED) {
      Fail("ConnectAsync", hixl::FAILED);
    }
    usleep(100);
  }
  Fail("ConnectAsync", hixl::TIMEOUT);
}

hixl::TransferReq Begin(Engine &from, Engine &to, const char *peer) {
  std::vector<hixl::TransferOpDesc> list = {
      {Addr(from.memory), Addr(to.host), kSize}};
  hixl::TransferReq req = nullptr;

  Must(from.hixl.TransferAsync(peer, hixl::WRITE, list, hixl::TransferArgs(),
                               req), "TransferAsync");
  list[0].local_addr = 0; /* the list is used up already */
  return req;
}

void Finish(Engine &e, hixl::TransferReq req) {
  hixl::TransferStatus s = hixl::TransferStatus::WAITING;

  for (int i = 0; i < 100000; i++) {
    Must(e.hixl.GetTransferStatus(req, s), "GetTransferStatus");
    if (s == hixl::TransferStatus::COMPLETED) {
      return;
    }
    if (s == hixl::TransferStatus::FAILED) {
      Fail("transfer", hixl::FAILED);
    }
    usleep(100);
  }
  Fail("transfer", hixl::TIMEOUT);
}

void Disconnect(Engine &e, const char *peer) {
  hixl::AsyncConnectStatus s;

  Must(e.hixl.DisconnectAsync(peer, 5000), "DisconnectAsync");
  do {
    usleep(100);
    Must(e.hixl.GetAsyncConnectStatus(peer, s), "GetAsyncConnectStatus");
  } while (s != hixl::AsyncConnectStatus::NOT_CONNECT);
}

void Stop(Engine &e) {
  Must(e.hixl.DeregisterMem(e.handles[0]), "DeregisterMem");
  Must(e.hixl.DeregisterMem(e.handles[1]), "DeregisterMem");
  e.hixl.Finalize();
  Must(aclrtSetDevice(e.device), "aclrtSetDevice");
  Must(aclrtFree(e.memory), "aclrtFree");
  Must(aclrtFreeHost(e.host), "aclrtFreeHost");
  Must(aclrtResetDevice(e.device), "aclrtResetDevice");
}
}  // namespace

int main(int argc, char **argv) {
  const char *a_name = "127.0.0.1:16000", *b_name = "127.0.0.1:16001";
  int32_t da, db;
  Engine a, b;

  TwoDevices(Argument(argc, argv, "device", "0,1"), &da, &db);
  Must(aclInit(nullptr), "aclInit");
  Start(a, da, a_name, 0xaa);
  Start(b, db, b_name, 0xbb);
  Must(a.hixl.ConnectAsync(b_name, 5000), "ConnectAsync");
  Must(b.hixl.ConnectAsync(a_name, 5000), "ConnectAsync");
  WaitConnected(a, b_name);
  WaitConnected(b, a_name);
  hixl::TransferReq ra = Begin(a, b, b_name), rb = Begin(b, a, a_name);
  Finish(a, ra);
  Finish(b, rb);
  Expect(static_cast<uint8_t *>(b.host), kSize, 0xaa, "host memory of B");
  Expect(static_cast<uint8_t *>(a.host), kSize, 0xbb, "host memory of A");
  Disconnect(a, b_name);
  Disconnect(b, a_name);
  Stop(a);
  Stop(b);
  Must(aclFinalize(), "aclFinalize");
  std::printf("Verify success\n");
  return 0;
}
