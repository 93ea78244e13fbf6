/*
 * ge::AscendString: graph/ascend_string.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "graph/ascend_string.h"

#include <cstring>

namespace ge {
AscendString::AscendString(const char_t *const name)
    : name_(name == nullptr ? nullptr : new std::string(name)) {}

AscendString::AscendString(const char_t *const name, size_t length)
    : name_(name == nullptr ? nullptr : new std::string(name, length)) {}

const char_t *AscendString::GetString() const {
  return name_ ? name_->c_str() : "";
}

size_t AscendString::GetLength() const { return name_ ? name_->size() : 0; }

namespace {
int Compare(const AscendString &a, const AscendString &b) {
  const size_t n = a.GetLength() < b.GetLength() ? a.GetLength()
                                                 : b.GetLength();
  const int c = std::memcmp(a.GetString(), b.GetString(), n);
  if (c != 0) {
    return c;
  }
  return a.GetLength() < b.GetLength() ? -1 : a.GetLength() > b.GetLength();
}
}  // namespace

size_t AscendString::Find(const AscendString &ascend_string) const {
  if (!name_ || !ascend_string.name_) {
    return std::string::npos;
  }
  return name_->find(*ascend_string.name_);
}

size_t AscendString::Hash() const {
  return std::hash<std::string>()(name_ ? *name_ : std::string());
}

bool AscendString::operator<(const AscendString &d) const {
  return Compare(*this, d) < 0;
}
bool AscendString::operator>(const AscendString &d) const {
  return Compare(*this, d) > 0;
}
bool AscendString::operator<=(const AscendString &d) const {
  return Compare(*this, d) <= 0;
}
bool AscendString::operator>=(const AscendString &d) const {
  return Compare(*this, d) >= 0;
}
bool AscendString::operator==(const AscendString &d) const {
  return Compare(*this, d) == 0;
}
bool AscendString::operator!=(const AscendString &d) const {
  return Compare(*this, d) != 0;
}
bool AscendString::operator==(const char_t *const d) const {
  return *this == AscendString(d);
}
bool AscendString::operator!=(const char_t *const d) const {
  return !(*this == d);
}
}  // namespace ge
