/*
 * ge::AscendString: the string type of HIXL's interface.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * spec/api/hixl.md §1.1. Every member that looks into the std::string lives in
 * the library: programs are built with the old and with the new layout of
 * std::string (_GLIBCXX_USE_CXX11_ABI) and must not care which one the library
 * has. C++11 and later. A default or null string is "" of length 0. Objects
 * may be copied and read from any thread.
 */
#ifndef GRAPH_ASCEND_STRING_H
#define GRAPH_ASCEND_STRING_H

#include <cstddef>
#include <functional>
#include <iostream>
#include <memory>
#include <string>

namespace ge {
using char_t = char;

class __attribute__((visibility("default"))) AscendString {
 public:
  AscendString() = default;
  ~AscendString() = default;
  AscendString(const AscendString &) = default;
  AscendString &operator=(const AscendString &) = default;
  AscendString(AscendString &&) = default;
  AscendString &operator=(AscendString &&) = default;

  AscendString(const char_t *const name);
  /* @length bytes, which may hold zeros. */
  AscendString(const char_t *const name, size_t length);

  const char_t *GetString() const;
  size_t GetLength() const;
  /* Position of the first @ascend_string in this, or size_t(-1). */
  size_t Find(const AscendString &ascend_string) const;
  size_t Hash() const;

  bool operator<(const AscendString &d) const;
  bool operator>(const AscendString &d) const;
  bool operator<=(const AscendString &d) const;
  bool operator>=(const AscendString &d) const;
  bool operator==(const AscendString &d) const;
  bool operator!=(const AscendString &d) const;
  bool operator==(const char_t *const d) const;
  bool operator!=(const char_t *const d) const;

 private:
  std::shared_ptr<std::string> name_;
};
}  // namespace ge

namespace std {
template <>
struct hash<ge::AscendString> {
  size_t operator()(const ge::AscendString &name) const { return name.Hash(); }
};
}  // namespace std

#endif  // GRAPH_ASCEND_STRING_H
