/*
 * What the HIXL samples share: checks, arguments, patterns.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef HIXL_SAMPLE_COMMON_H
#define HIXL_SAMPLE_COMMON_H

#include <acl/acl.h>
#include <hixl/hixl.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace sample {
using hixl::AscendString;
using Options = std::map<AscendString, AscendString>;

inline void Fail(const char *what, unsigned code) {
  const char *text = aclGetRecentErrMsg();
  std::fprintf(stderr, "%s: code %u%s%s\n", what, code, text ? ": " : "",
               text ? text : "");
  std::exit(1);
}

/* Every call of a sample goes through here: the first failure ends it. */
inline void Must(unsigned code, const char *what) {
  if (code != 0) {
    Fail(what, code);
  }
}

inline double Now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch()).count();
}

/* A value that depends on the place, so that a shifted copy is noticed. */
inline uint8_t Pattern(size_t i, unsigned seed) {
  return static_cast<uint8_t>((i * 2654435761u + seed * 40503u) >> 15);
}

inline void Fill(std::vector<uint8_t> &v, unsigned seed) {
  for (size_t i = 0; i < v.size(); i++) {
    v[i] = Pattern(i, seed);
  }
}

/* Index of the first wrong byte, or -1. */
inline long Differs(const uint8_t *p, size_t n, unsigned seed) {
  for (size_t i = 0; i < n; i++) {
    if (p[i] != Pattern(i, seed)) {
      return static_cast<long>(i);
    }
  }
  return -1;
}

inline void Expect(const uint8_t *p, size_t n, unsigned seed,
                   const char *what) {
  const long at = Differs(p, n, seed);
  if (at >= 0) {
    std::fprintf(stderr, "%s: byte %ld is wrong: 0x%02x, expected 0x%02x\n",
                 what, at, p[at], Pattern(static_cast<size_t>(at), seed));
    std::exit(1);
  }
}

/* Device memory of the current device. */
inline void *DeviceMemory(size_t size) {
  void *p = nullptr;
  Must(aclrtMalloc(&p, size, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
  return p;
}

inline void ToDevice(void *dst, const std::vector<uint8_t> &v) {
  Must(aclrtMemcpy(dst, v.size(), v.data(), v.size(),
                   ACL_MEMCPY_HOST_TO_DEVICE), "aclrtMemcpy");
}

inline std::vector<uint8_t> FromDevice(const void *src, size_t size) {
  std::vector<uint8_t> v(size);
  Must(aclrtMemcpy(v.data(), size, src, size, ACL_MEMCPY_DEVICE_TO_HOST),
       "aclrtMemcpy");
  return v;
}

inline hixl::MemDesc Mem(const void *p, size_t size) {
  hixl::MemDesc m;
  m.addr = reinterpret_cast<uintptr_t>(p);
  m.len = size;
  return m;
}

inline uintptr_t Addr(const void *p, size_t offset = 0) {
  return reinterpret_cast<uintptr_t>(p) + offset;
}

/* The card's own link, by the name that its users pass. */
inline Options UbOptions() {
  Options o;
  o[hixl::OPTION_GLOBAL_RESOURCE_CONFIG] =
      "{\"comm_resource_config.protocol_desc\": [\"ub_ctp:device\"]}";
  return o;
}

/* "--name=value" among the arguments. */
inline std::string Argument(int argc, char **argv, const char *name,
                            const char *otherwise) {
  const std::string head = std::string("--") + name + "=";
  for (int i = 1; i < argc; i++) {
    if (std::strncmp(argv[i], head.c_str(), head.size()) == 0) {
      return argv[i] + head.size();
    }
  }
  return otherwise;
}

/* "a,b" */
inline void TwoDevices(const std::string &text, int32_t *a, int32_t *b) {
  if (std::sscanf(text.c_str(), "%d,%d", a, b) != 2) {
    std::fprintf(stderr, "--device=%s: expected two numbers, as in 0,1\n",
                 text.c_str());
    std::exit(2);
  }
}
}  // namespace sample

#endif  // HIXL_SAMPLE_COMMON_H
