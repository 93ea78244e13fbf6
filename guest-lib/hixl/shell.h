/*
 * What the two C++ classes over HIXL's core have in common. Everything is a
 * template on their types, which are the same in two namespaces.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef HIXL_SHELL_H
#define HIXL_SHELL_H

#include <map>
#include <memory>
#include <vector>

#include "graph/ascend_string.h"
#include "hixl_core.h"

namespace hixl_shell {
using ge::AscendString;

class Core {
 public:
  Core() : core_(hixl_core_new()) {}
  ~Core() { hixl_core_free(core_); }
  Core(const Core &) = delete;
  Core &operator=(const Core &) = delete;
  hixl_core *Get() const { return core_; }

 private:
  hixl_core *core_;
};

inline uint32_t Initialize(hixl_core *core, const AscendString &name,
                           const std::map<AscendString, AscendString> &options) {
  std::vector<hixl_option> list;
  for (const auto &o : options) {
    list.push_back({o.first.GetString(), o.second.GetString()});
  }
  return hixl_core_init(core, name.GetString(), list.data(), list.size());
}

template <typename Op>
const hixl_op *Descs(const std::vector<Op> &v) {
  static_assert(sizeof(Op) == sizeof(hixl_op) &&
                    offsetof(Op, local_addr) == offsetof(hixl_op, local) &&
                    offsetof(Op, remote_addr) == offsetof(hixl_op, remote) &&
                    offsetof(Op, len) == offsetof(hixl_op, len),
                "TransferOpDesc is what the core takes");
  return reinterpret_cast<const hixl_op *>(v.data());
}

template <typename Status>
uint32_t TransferState(hixl_core *core, void *req, Status &status) {
  int s = HX_ST_FAILED;
  const uint32_t ret = hixl_core_status(core, req, &s);
  status = static_cast<Status>(s);
  return ret;
}

template <typename Note>
uint32_t Send(hixl_core *core, const AscendString &remote, const Note &n,
              int32_t timeout_ms) {
  return hixl_core_notify(core, remote.GetString(), n.name.GetString(),
                          n.name.GetLength(), n.notify_msg.GetString(),
                          n.notify_msg.GetLength(), timeout_ms);
}

template <typename Note>
uint32_t Receive(hixl_core *core, std::vector<Note> &notes) {
  notes.clear();
  return hixl_core_notifies(
      core,
      [](void *opaque, const char *name, size_t name_len, const char *msg,
         size_t msg_len) {
        Note n;
        n.name = AscendString(name, name_len);
        n.notify_msg = AscendString(msg, msg_len);
        static_cast<std::vector<Note> *>(opaque)->push_back(n);
      },
      &notes);
}

/* spec/api/hixl.md §3 GetCapability. */
inline uint32_t Capability(int32_t type, int32_t &value) {
  if (type < 0) {
    return HX_PARAM_INVALID;
  }
  value = type <= 1 ? 1 : 0;
  return HX_OK;
}
}  // namespace hixl_shell

#endif  // HIXL_SHELL_H
