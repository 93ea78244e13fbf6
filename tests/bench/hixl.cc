/*
 * HIXL: bandwidth of TransferSync beside memcpy of the same bytes in the same
 * machine, and the time of a Connect.
 *
 *   hixl          measures
 *   hixl memcpy   prints what memcpy of 64 MiB reaches, in GB/s; its result on
 *                 the host goes to the other form in A350_HOST_MEMCPY
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <acl/acl.h>
#include <hixl/hixl.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace {
const size_t kMax = 64 << 20, kBlock = 16384, kBlocks = 2000;

double Now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch()).count();
}

void Must(unsigned code, const char *what) {
  if (code != 0) {
    const char *text = aclGetRecentErrMsg();
    std::fprintf(stderr, "hixl: %s: code %u: %s\n", what, code,
                 text ? text : "");
    std::exit(1);
  }
}

struct Node {
  hixl::Hixl h;
  std::string name;
  void *device, *host;

  Node(int32_t dev, const char *n) : name(n) {
    std::map<ge::AscendString, ge::AscendString> o;
    hixl::MemDesc m;
    hixl::MemHandle handle;

    Must(aclrtSetDevice(dev), "aclrtSetDevice");
    Must(h.Initialize(n, o), "Initialize");
    Must(aclrtMalloc(&device, kMax, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
    Must(aclrtMallocHost(&host, kMax), "aclrtMallocHost");
    std::memset(host, 1, kMax);
    Must(aclrtMemset(device, kMax, 1, kMax), "aclrtMemset");
    m.len = kMax;
    m.addr = reinterpret_cast<uintptr_t>(device);
    Must(h.RegisterMem(m, hixl::MEM_DEVICE, handle), "RegisterMem");
    m.addr = reinterpret_cast<uintptr_t>(host);
    Must(h.RegisterMem(m, hixl::MEM_HOST, handle), "RegisterMem");
  }
};

/* Enough rounds for about 256 MiB, at most 2000. */
int Rounds(size_t bytes) {
  const size_t n = (256u << 20) / bytes;
  return n > 2000 ? 2000 : n < 4 ? 4 : static_cast<int>(n);
}

std::vector<hixl::TransferOpDesc> List(uintptr_t local, uintptr_t remote,
                                       size_t bytes, bool scattered) {
  std::vector<hixl::TransferOpDesc> list;

  if (!scattered) {
    return {{local, remote, bytes}};
  }
  for (size_t i = 0; i < kBlocks; i++) {
    list.push_back({local + i * kBlock, remote + i * 7 % kBlocks * kBlock,
                    kBlock});
  }
  return list;
}

double CopyRate(void *dst, const void *src, size_t bytes, bool scattered) {
  const auto list = List(reinterpret_cast<uintptr_t>(src),
                         reinterpret_cast<uintptr_t>(dst), bytes, scattered);
  const int rounds = Rounds(bytes);
  double start = 0;

  for (int i = -1; i < rounds; i++) { /* the first one warms up */
    if (i == 0) {
      start = Now();
    }
    for (const auto &d : list) {
      std::memcpy(reinterpret_cast<void *>(d.remote_addr),
                  reinterpret_cast<void *>(d.local_addr), d.len);
    }
  }
  return static_cast<double>(bytes) * rounds / (Now() - start) / 1e9;
}

double Rate(Node &a, const Node &b, hixl::TransferOp op, bool to_host,
            size_t bytes, bool scattered) {
  const auto list = List(reinterpret_cast<uintptr_t>(a.device),
                         reinterpret_cast<uintptr_t>(to_host ? b.host
                                                             : b.device),
                         bytes, scattered);
  const int rounds = Rounds(bytes);
  double start = 0;

  for (int i = -1; i < rounds; i++) {
    if (i == 0) {
      start = Now();
    }
    Must(a.h.TransferSync(b.name.c_str(), op, list, 60000), "TransferSync");
  }
  return static_cast<double>(bytes) * rounds / (Now() - start) / 1e9;
}

double Median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

/* A list, and one block of as many bytes, by turns: other use of the machine
   meets both. */
void AgainstOne(Node &a, const Node &b, hixl::TransferOp op, bool to_host,
                size_t bytes, const char *name) {
  std::vector<double> list, one;

  for (int i = 0; i < 9; i++) {
    list.push_back(Rate(a, b, op, to_host, bytes, true));
    one.push_back(Rate(a, b, op, to_host, bytes, false));
  }
  std::printf("bench %s-to-one %.3f GB/s one %.3f\n", name, Median(list),
              Median(one));
}

void Transfers(Node &a, const Node &b) {
  static const struct {
    const char *name;
    size_t bytes;
    bool scattered;
  } sizes[] = {{"4K", 4096, false},
               {"16K", 16384, false},
               {"1M", 1 << 20, false},
               {"64M", kMax, false},
               {"2000x16K", kBlock * kBlocks, true}};

  const char *text = std::getenv("A350_HOST_MEMCPY");
  const double host = text == nullptr ? 0 : std::atof(text);

  for (const auto &s : sizes) {
    const double base = CopyRate(a.host, b.host, s.bytes, s.scattered);
    for (bool to_host : {false, true}) {
      for (auto op : {hixl::WRITE, hixl::READ}) {
        const char *way = to_host ? "d2h" : "d2d";
        const char *name = op == hixl::WRITE ? "write" : "read";
        const double rate = Rate(a, b, op, to_host, s.bytes, s.scattered);
        std::printf("bench hixl.%s.%s.%s %.3f GB/s memcpy %.3f\n", way, name,
                    s.name, rate, base);
        if (s.bytes == kMax && host > 0) {
          std::printf("bench hixl.%s.%s.%s-to-host %.3f GB/s host-memcpy "
                      "%.3f\n", way, name, s.name, rate, host);
        }
        if (s.scattered) {
          AgainstOne(a, b, op, to_host, s.bytes,
                     ("hixl." + std::string(way) + "." + name + "." +
                      s.name).c_str());
        }
      }
    }
  }
}

void Connects(Node &a, const Node &b) {
  const int rounds = 200;
  double time = 0;

  for (int i = 0; i < rounds; i++) {
    const double start = Now();
    Must(a.h.Connect(b.name.c_str(), 5000), "Connect");
    time += Now() - start;
    Must(a.h.Disconnect(b.name.c_str(), 5000), "Disconnect");
  }
  std::printf("bench hixl.connect %.3f ms - 0\n", time / rounds * 1e3);
}

int HostCopy() {
  std::vector<char> a(kMax, 1), b(kMax, 2);

  std::printf("%.3f\n", CopyRate(a.data(), b.data(), kMax, false));
  return 0;
}
}  // namespace

int main(int argc, char **argv) {
  if (argc == 2 && std::strcmp(argv[1], "memcpy") == 0) {
    return HostCopy();
  }
  Must(static_cast<unsigned>(aclInit(nullptr)), "aclInit");
  {
    Node a(0, "127.0.0.1:16000"), b(1, "127.0.0.1:16001");

    Connects(a, b);
    Must(a.h.Connect(b.name.c_str(), 5000), "Connect");
    Transfers(a, b);
    a.h.Finalize();
    b.h.Finalize();
  }
  aclrtResetDevice(0);
  aclrtResetDevice(1);
  return 0;
}
