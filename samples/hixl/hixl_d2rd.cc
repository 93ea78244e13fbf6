/*
 * Device memory to the device memory of another card: two engines of one
 * process, WRITE and READ with TransferSync.
 *
 *   hixl_d2rd [--device=0,1] [--size=8388608]
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common.h"

using namespace sample;

namespace {
struct Engine {
  hixl::Hixl hixl;
  int32_t device;
  void *memory;
  hixl::MemHandle handle;
};

void Start(Engine &e, int32_t device, const char *name, size_t size) {
  e.device = device;
  Must(aclrtSetDevice(device), "aclrtSetDevice");
  Must(e.hixl.Initialize(name, UbOptions()), "Initialize");
  e.memory = DeviceMemory(size);
  Must(e.hixl.RegisterMem(Mem(e.memory, size), hixl::MEM_DEVICE, e.handle),
       "RegisterMem");
}

void Stop(Engine &e) {
  Must(e.hixl.DeregisterMem(e.handle), "DeregisterMem");
  e.hixl.Finalize();
  Must(aclrtSetDevice(e.device), "aclrtSetDevice");
  Must(aclrtFree(e.memory), "aclrtFree");
  Must(aclrtResetDevice(e.device), "aclrtResetDevice");
}

/* One call with a descriptor for each 16 KiB, and the check of all bytes. */
void Move(Engine &a, Engine &b, const char *b_name, hixl::TransferOp op,
          size_t size, unsigned seed) {
  Engine &from = op == hixl::WRITE ? a : b, &to = op == hixl::WRITE ? b : a;
  const size_t block = 16384;
  std::vector<hixl::TransferOpDesc> list;
  std::vector<uint8_t> data(size);

  Fill(data, seed);
  ToDevice(from.memory, data);
  for (size_t at = 0; at < size; at += block) {
    list.push_back({Addr(a.memory, at), Addr(b.memory, at),
                    size - at < block ? size - at : block});
  }
  const double start = Now();
  Must(a.hixl.TransferSync(b_name, op, list, 30000), "TransferSync");
  const double time = Now() - start;
  data = FromDevice(to.memory, size);
  Expect(data.data(), size, seed, op == hixl::WRITE ? "WRITE" : "READ");
  std::printf("%s of %zu bytes in %zu descriptors: %.3f ms, %.2f GB/s, every "
              "byte is right\n", op == hixl::WRITE ? "WRITE" : "READ", size,
              list.size(), time * 1e3, static_cast<double>(size) / time / 1e9);
}
}  // namespace

int main(int argc, char **argv) {
  const char *a_name = "127.0.0.1:16000", *b_name = "127.0.0.1:16001";
  const size_t size =
      std::strtoull(Argument(argc, argv, "size", "8388608").c_str(), nullptr,
                    0);
  int32_t da, db;
  Engine a, b;

  TwoDevices(Argument(argc, argv, "device", "0,1"), &da, &db);
  Must(aclInit(nullptr), "aclInit");
  Start(a, da, a_name, size);
  Start(b, db, b_name, size);
  Must(a.hixl.Connect(b_name, 5000), "Connect");
  Move(a, b, b_name, hixl::WRITE, size, 1);
  Move(a, b, b_name, hixl::READ, size, 2);
  Must(a.hixl.Disconnect(b_name, 5000), "Disconnect");
  Stop(a);
  Stop(b);
  Must(aclFinalize(), "aclFinalize");
  std::printf("Verify success\n");
  return 0;
}
