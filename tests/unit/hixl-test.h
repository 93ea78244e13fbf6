/*
 * What the unit tests of HIXL share: engines on the cards of hixl-mock.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef HIXL_TEST_H
#define HIXL_TEST_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "hixl/hixl.h"
#include "hixl-mock.h"
#include "tap.h"

using hixl::Hixl;
using hixl::MemDesc;
using hixl::MemHandle;
using hixl::TransferOpDesc;
using ge::AscendString;
using Options = std::map<AscendString, AscendString>;
using Clock = std::chrono::steady_clock;

/* Below the ports that connections get; other tests may use some of them. */
static const int kFirstPort = 21000, kPorts = 11000;
static int port = kFirstPort + getpid() * 64 % kPorts;

static inline bool IsFree(int p) {
  sockaddr_in a = {};
  int fd = socket(AF_INET, SOCK_STREAM, 0);

  a.sin_family = AF_INET;
  a.sin_port = htons(static_cast<uint16_t>(p));
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  bool is_free = bind(fd, reinterpret_cast<sockaddr *>(&a), sizeof(a)) == 0;
  close(fd);
  return is_free;
}

static inline int NewPort() {
  do {
    port = port + 1 < kFirstPort + kPorts ? port + 1 : kFirstPort;
  } while (!IsFree(port));
  return port;
}

static inline std::string NewName() {
  return "127.0.0.1:" + std::to_string(NewPort());
}

static inline uint32_t Init(Hixl &h, int card, const std::string &name,
                     const Options &o = Options()) {
  mock_set_device(card);
  return h.Initialize(name.c_str(), o);
}

static inline MemDesc Mem(uint64_t addr, size_t len) {
  MemDesc m;
  m.addr = addr;
  m.len = len;
  return m;
}

static inline bool Says(const char *text) {
  return std::strstr(mock_error(), text) != nullptr;
}

static inline long Ms(Clock::time_point since) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() -
                                                               since).count();
}

/* Two engines with 1 MiB of device memory each, A connected to B. */
struct Pair {
  Hixl a, b;
  std::string an = NewName(), bn = NewName();
  MemHandle ha = nullptr, hb = nullptr;
  static const size_t kSize = 4 << 20;

  explicit Pair(const Options &oa = Options(), bool connect = true) {
    is(Init(b, 1, bn), 0, "initialise B");
    is(Init(a, 0, an, oa), 0, "initialise A");
    is(a.RegisterMem(Mem(La(0), kSize), hixl::MEM_DEVICE, ha), 0, "register A");
    is(b.RegisterMem(Mem(Rb(0), kSize), hixl::MEM_DEVICE, hb), 0, "register B");
    if (connect) {
      is(a.Connect(bn.c_str(), 1000), 0, "connect A to B");
    }
  }
  static uint64_t La(uint64_t off) { return mock_device(0, 0x10000 + off); }
  static uint64_t Rb(uint64_t off) { return mock_device(1, 0x20000 + off); }
  static uint8_t *Ma(uint64_t off) { return mock_memory(0, 0x10000 + off); }
  static uint8_t *Mb(uint64_t off) { return mock_memory(1, 0x20000 + off); }
};

static inline void Fill(uint8_t *p, size_t n, unsigned seed) {
  for (size_t i = 0; i < n; i++) {
    p[i] = static_cast<uint8_t>((i * 2654435761u + seed) >> 13);
  }
}

static inline bool Same(const uint8_t *p, size_t n, unsigned seed) {
  for (size_t i = 0; i < n; i++) {
    if (p[i] != static_cast<uint8_t>((i * 2654435761u + seed) >> 13)) {
      return false;
    }
  }
  return true;
}

#endif  // HIXL_TEST_H
