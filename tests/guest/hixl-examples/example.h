/*
 * What the examples share: nothing of the interface, only checks and output.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The programs beside this file make the calls that the published examples of
 * the interface make, in their order and with their options and compiler flags
 * (spec/api/hixl.md §7). They include no <iostream>, as those do not.
 */
#ifndef HIXL_EXAMPLE_H
#define HIXL_EXAMPLE_H

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "acl/acl.h"
#include "hixl/hixl.h"

#define CHECK_ACL(call)                                                   \
  do {                                                                    \
    const aclError ret_ = (call);                                         \
    if (ret_ != ACL_ERROR_NONE) {                                         \
      std::cerr << "[ERROR] " #call " failed, ret = " << ret_ << ", "     \
                << (aclGetRecentErrMsg() ? aclGetRecentErrMsg() : "")     \
                << std::endl;                                             \
      return -1;                                                          \
    }                                                                     \
  } while (false)

#define CHECK_HIXL(call)                                                  \
  do {                                                                    \
    const hixl::Status ret_ = (call);                                     \
    if (ret_ != hixl::SUCCESS) {                                          \
      std::cerr << "[ERROR] " #call " failed, ret = " << ret_ << ", "     \
                << (aclGetRecentErrMsg() ? aclGetRecentErrMsg() : "")     \
                << std::endl;                                             \
      return -1;                                                          \
    }                                                                     \
  } while (false)

namespace example {
/* "--key=value" */
inline std::string Option(int argc, char **argv, const std::string &key,
                          const std::string &otherwise) {
  const std::string head = "--" + key + "=";
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], head.c_str(), head.size()) == 0) {
      return argv[i] + head.size();
    }
  }
  return otherwise;
}

/* "a,b" as the list ["a", "b"] of GlobalResourceConfig. */
inline std::string ProtocolConfig(const std::string &protocols) {
  std::string list = "\"";
  for (const char c : protocols) {
    list += c == ',' ? "\", \"" : std::string(1, c);
  }
  return "{\"comm_resource_config.protocol_desc\": [" + list + "\"]}";
}

/* The side channel over which the applications tell each other addresses. */
inline int Listen(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  int one = 1;
  sockaddr_in sa = {};
  sa.sin_family = AF_INET;
  sa.sin_port = htons(static_cast<uint16_t>(port));
  sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
  if (bind(fd, reinterpret_cast<sockaddr *>(&sa), sizeof(sa)) != 0 ||
      listen(fd, 1) != 0) {
    close(fd);
    return -1;
  }
  return fd;
}

/* A dead port may be answered by the dialing socket itself. */
inline bool OwnEnd(int fd) {
  sockaddr_in here = {}, there = {};
  socklen_t len = sizeof(here);
  getsockname(fd, reinterpret_cast<sockaddr *>(&here), &len);
  getpeername(fd, reinterpret_cast<sockaddr *>(&there), &len);
  return here.sin_port == there.sin_port &&
         here.sin_addr.s_addr == there.sin_addr.s_addr;
}

/* Tries for half a minute: the server may not be up. */
inline int Dial(int port) {
  sockaddr_in sa = {};
  sa.sin_family = AF_INET;
  sa.sin_port = htons(static_cast<uint16_t>(port));
  sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  for (int i = 0; i < 300; ++i) {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, reinterpret_cast<sockaddr *>(&sa), sizeof(sa)) == 0 &&
        !OwnEnd(fd)) {
      return fd;
    }
    close(fd);
    usleep(100000);
  }
  return -1;
}
}  // namespace example

#endif  // HIXL_EXAMPLE_H
