/*
 * HIXL on two cards of plain memory: codes, order of checks, transfers in all
 * memory combinations, asynchronous calls, notifies, a hostile peer.
 * Expected values: spec/api/hixl.md §1 - §4.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "adxl/adxl_engine.h"
#include "cs/hixl_cs.h"
#include "hixl/hixl.h"
#include "hixl-mock.h"
#include "hixl-test.h"
#include "hx.h"
#include "own-end.h"
#include "tap.h"

static_assert(sizeof(MemDesc) == 144 && sizeof(TransferOpDesc) == 24, "");
static_assert(sizeof(hixl::TransferArgs) == 128, "");
static_assert(sizeof(hixl::GetTransferStatusArgs) == 128, "");
static_assert(sizeof(hixl::TransferResult) == 128, "");
static_assert(sizeof(Hixl) == 8 && sizeof(adxl::AdxlEngine) == 8, "");
static_assert(sizeof(HixlServerConfig) == 128 &&
              sizeof(HixlClientConfig) == 128 &&
              sizeof(HixlClientDesc) == 128 && sizeof(HixlServerDesc) == 128,
              "");

static const long kLate = 1000;
static void TestStrings() {
  AscendString n, e(""), a("abc"), z("a\0c", 3);

  is(n.GetLength(), 0, "null string has length 0");
  ok(std::strcmp(n.GetString(), "") == 0, "and is empty");
  ok(n == e && a != e && a == "abc" && e < a && a > e && a <= a && z < a,
     "comparisons");
  is(z.GetLength(), 3, "zeros inside");
  is(a.Find("bc"), 1, "find");
  is(a.Find("x"), static_cast<size_t>(-1), "find nothing");
  is(std::hash<AscendString>()(a), AscendString("abc").Hash(), "hash");
}

static void TestCapability() {
  int32_t v = 7;

  ok(Hixl::GetCapability(hixl::AUTO_CONNECT, v) == 0 && v == 1, "feature 0");
  ok(Hixl::GetCapability(hixl::CLIENT_SERVER_COMM, v) == 0 && v == 1,
     "feature 1");
  ok(Hixl::GetCapability(static_cast<hixl::FeatureType>(9), v) == 0 && v == 0,
     "feature 9");
  is(Hixl::GetCapability(static_cast<hixl::FeatureType>(-1), v),
     hixl::PARAM_INVALID, "feature -1");
}

static void TestNames() {
  static const char *const good[] = {"127.0.0.1", "127.0.0.1:0",
                                     "127.0.0.1:-1", "[::1]"};
  static const char *const bad[] = {"", "localhost:1", "127.0.0.1:65536",
                                    "127.0.0.1:", "127.0.0.1:x", "[::1",
                                    "[::1]9", "1.2.3", "256.0.0.1:1"};
  for (const char *s : good) {
    Hixl h;
    ok(Init(h, 0, s) == 0, "name \"%s\"", s);
  }
  for (const char *s : bad) {
    Hixl h;
    ok(Init(h, 0, s) == hixl::PARAM_INVALID, "name \"%s\" is refused", s);
  }
  Hixl six;
  is(Init(six, 0, "[::1]:" + std::to_string(NewPort())), 0, "IPv6 with port");
}

static uint32_t InitWith(const char *key, const char *value) {
  Hixl h;
  Options o;
  o[key] = value;
  return Init(h, 0, "127.0.0.1", o);
}

static void TestOptions() {
  static const struct {
    const char *key, *value;
    bool good;
  } cases[] = {
      {"AutoConnect", "1", true},
      {"AutoConnect", "0", true},
      {"AutoConnect", "", false},
      {"AutoConnect", "2", false},
      {"BufferPool", "0:0", true},
      {"adxl.BufferPool", "0:0", true},
      {"BufferPool", "4:8", false},
      {"EnableUseFabricMem", "0", false},
      {"RdmaTrafficClass", "132", true},
      {"RdmaTrafficClass", "256", false},
      {"RdmaTrafficClass", "130", false},
      {"adxl.RdmaServiceLevel", "7", true},
      {"RdmaServiceLevel", "8", false},
      {"RdmaServiceLevel", "x", false},
      {"LocalCommRes", "{\"version\":\"1.3\"}", true},
      {"adxl.LocalCommRes", "{\"version\":\"1.3\"}", true},
      {"LocalCommRes", "{\"version\":\"1.2\"}", false},
      {"LocalCommRes", "{", false},
      {"LocalCommRes", "[]", false},
      {"LocalCommRes",
       "{\"version\":\"1.3\",\"net_instance_id\":\"n\",\"endpoint_list\":["
       "{\"protocol\":\"ub_ctp\",\"comm_id\":\"00\",\"placement\":\"device\"}"
       "]}", true},
      {"LocalCommRes",
       "{\"version\":\"1.3\",\"endpoint_list\":[{\"protocol\":\"tcp\","
       "\"comm_id\":\"0\",\"placement\":\"device\"}]}", false},
      {"GlobalResourceConfig",
       "{\"comm_resource_config.protocol_desc\":[\"ub_ctp:device\"]}", true},
      {"GlobalResourceConfig",
       "{\"comm_resource_config.protocol_desc\":\"uboe:device\"}", true},
      {"GlobalResourceConfig",
       "{\"comm_resource_config.protocol_desc\":[\"hccs:device\","
       "\"roce:device\"]}", true},
      {"GlobalResourceConfig",
       "{\"comm_resource_config.protocol_desc\":[\"uboe:host\"]}", false},
      {"GlobalResourceConfig",
       "{\"comm_resource_config.protocol_desc\":[\"uboe:device\","
       "\"ub_rtp:device\"]}", false},
      {"GlobalResourceConfig",
       "{\"comm_resource_config.protocol_desc\":[]}", false},
      {"GlobalResourceConfig",
       "{\"comm_resource_config.listen_port\":\"16666\"}", true},
      {"GlobalResourceConfig",
       "{\"comm_resource_config.listen_port\":65536}", false},
      {"GlobalResourceConfig", "{\"comm_resource_config.qos\":8}", false},
      {"GlobalResourceConfig",
       "{\"comm_resource_config.max_active_channels\":0}", false},
      {"GlobalResourceConfig", "{\"connect_pool.thread_num\":65}", false},
      {"GlobalResourceConfig", "{\"fabric_memory.max_capacity\":32}", true},
      {"GlobalResourceConfig", "{\"fabric_memory.max_capacity\":1025}", false},
      {"GlobalResourceConfig", "{\"local_comm_res_path\":\"/nowhere\"}",
       false},
      {"GlobalResourceConfig", "{\"no_such_key\":1}", true},
      {"GlobalResourceConfig", "1", false},
      {"GlobalResourceConfig",
       "{\"channel_pool.low_waterline\":0.3,"
       "\"channel_pool.high_waterline\":0.8}", true},
      {"GlobalResourceConfig", "{\"channel_pool.high_waterline\":1.0}",
       false},
      {"GlobalResourceConfig",
       "{\"fabric_memory.enable_aicpu_unfold\":\"x\"}", false},
      {"NoSuchOption", "1", true},
  };
  static const struct {
    const char *key, *value, *says_key, *says_value;
  } wrong[] = {
      {"AutoConnect", "2", "AutoConnect", "\"2\""},
      {"AutoConnect", "", "AutoConnect", "\"\""},
      {"BufferPool", "4:8", "BufferPool", "4:8"},
      {"adxl.BufferPool", "4:8", "adxl.BufferPool", "4:8"},
      {"EnableUseFabricMem", "1", "EnableUseFabricMem", "\"1\""},
      {"RdmaTrafficClass", "131", "RdmaTrafficClass", "131"},
      {"adxl.RdmaServiceLevel", "8", "adxl.RdmaServiceLevel", "\"8\""},
      {"LocalCommRes", "{\"version\":\"1.2\"}", "LocalCommRes", "1.2"},
      {"LocalCommRes", "{nothing", "LocalCommRes", "{nothing"},
      {"LocalCommRes", "[7]", "LocalCommRes", "[7]"},
      {"LocalCommRes",
       "{\"version\":\"1.3\",\"endpoint_list\":[{\"protocol\":\"tcp\","
       "\"comm_id\":\"0\",\"placement\":\"device\"}]}", "LocalCommRes",
       "tcp"},
      {"GlobalResourceConfig",
       "{\"comm_resource_config.protocol_desc\":[\"uboe:host\"]}",
       "comm_resource_config.protocol_desc", "uboe:host"},
      {"GlobalResourceConfig", "{\"comm_resource_config.listen_port\":65536}",
       "comm_resource_config.listen_port", "65536"},
      {"GlobalResourceConfig", "{\"comm_resource_config.qos\":8}",
       "comm_resource_config.qos", "\"8\""},
      {"GlobalResourceConfig",
       "{\"comm_resource_config.max_active_channels\":0}",
       "comm_resource_config.max_active_channels", "\"0\""},
      {"GlobalResourceConfig", "{\"connect_pool.thread_num\":65}",
       "connect_pool.thread_num", "65"},
      {"GlobalResourceConfig", "{\"fabric_memory.max_capacity\":1025}",
       "fabric_memory.max_capacity", "1025"},
      {"GlobalResourceConfig", "{\"channel_pool.high_waterline\":1.5}",
       "channel_pool.high_waterline", "1.5"},
      {"GlobalResourceConfig",
       "{\"channel_pool.low_waterline\":0.9,"
       "\"channel_pool.high_waterline\":0.8}",
       "channel_pool.low_waterline", "0.9"},
      {"GlobalResourceConfig", "{\"local_comm_res_path\":\"/nowhere\"}",
       "local_comm_res_path", "/nowhere"},
      {"GlobalResourceConfig", "12", "GlobalResourceConfig", "12"},
  };
  for (const auto &c : cases) {
    ok(InitWith(c.key, c.value) == (c.good ? 0 : hixl::PARAM_INVALID),
       "option %s = %s is %s", c.key, c.value, c.good ? "taken" : "refused");
  }
  for (const auto &w : wrong) {
    ok(InitWith(w.key, w.value) == hixl::PARAM_INVALID && Says(w.says_key) &&
       Says(w.says_value), "wrong %s is named: %s", w.says_key, mock_error());
  }
  int before = mock_warnings();
  InitWith("GlobalResourceConfig",
           "{\"comm_resource_config.protocol_desc\":[\"hccs:device\","
           "\"roce:device\",\"ub_ctp:host\"]}");
  ok(mock_warnings() == before + 1 &&
     std::strstr(mock_last_warning(), "hccs:device"),
     "protocols of other products: one warning");
  before = mock_warnings();
  InitWith("NoSuchOption", "1");
  ok(mock_warnings() == before + 1 &&
     std::strstr(mock_last_warning(), "NoSuchOption"), "unknown key: warning");
}

static void TestLife() {
  Hixl h, other;
  MemHandle m;
  std::string name = NewName();
  std::vector<hixl::NotifyDesc> notes;
  hixl::TransferStatus s;
  hixl::TransferReq r = nullptr;

  is(h.RegisterMem(Mem(1, 1), hixl::MEM_HOST, m), hixl::FAILED,
     "RegisterMem before Initialize");
  is(h.Connect("127.0.0.1:1", 0), hixl::FAILED, "Connect before Initialize");
  is(h.TransferSync("x", hixl::READ, {}, 0), hixl::FAILED, "TransferSync");
  is(h.GetTransferStatus(r, s), hixl::FAILED, "GetTransferStatus");
  is(h.GetNotifies(notes), hixl::FAILED, "GetNotifies");
  h.Finalize();
  is(Init(h, -1, name), hixl::FAILED, "Initialize without a device");
  ok(Says("aclrtSetDevice"), "message says what to do");
  is(Init(h, 0, name), 0, "Initialize");
  is(Init(h, 0, name), hixl::FAILED, "again on the same port");
  is(Init(other, 1, name), hixl::FAILED, "the same name elsewhere");
  ok(Says("another engine has this name"), "message says so");
  is(h.Connect("127.0.0.1:9", 0), hixl::PARAM_INVALID, "timeout 0");
  is(h.Connect(name.c_str(), 10), hixl::PARAM_INVALID, "connect to self");
  is(h.Connect("here", 10), hixl::PARAM_INVALID, "connect to a host name");
  is(h.Connect("127.0.0.1:1", 500), hixl::FAILED, "nobody listens");
  h.Finalize();
  h.Finalize();
  is(Init(other, 1, name), 0, "the name is free again");
}

static void TestRegister() {
  Hixl h;
  MemHandle m = nullptr, again = nullptr, host = nullptr, next = nullptr;
  uint64_t d = mock_device(0, 0);
  uint8_t *p = static_cast<uint8_t *>(
      mmap(nullptr, 4 * 4096, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  uint64_t u = reinterpret_cast<uintptr_t>(p);

  is(Init(h, 0, NewName()), 0, "engine");
  int before = mock_alive();
  is(h.RegisterMem(Mem(0, 8), hixl::MEM_DEVICE, m), hixl::PARAM_INVALID,
     "address 0");
  is(h.RegisterMem(Mem(d, 0), hixl::MEM_DEVICE, m), hixl::PARAM_INVALID,
     "length 0");
  is(h.RegisterMem(Mem(d, SIZE_MAX), hixl::MEM_DEVICE, m),
     hixl::PARAM_INVALID, "overflow");
  is(h.RegisterMem(Mem(u, 8), hixl::MEM_DEVICE, m), hixl::PARAM_INVALID,
     "host memory as device memory");
  is(h.RegisterMem(Mem(d, 8), hixl::MEM_HOST, m), hixl::PARAM_INVALID,
     "device memory as host memory");
  is(h.RegisterMem(Mem(mock_device(1, 0), 8), hixl::MEM_DEVICE, m),
     hixl::PARAM_INVALID, "memory of another device");
  is(h.RegisterMem(Mem(d + 100, 100), hixl::MEM_DEVICE, m), 0, "register");
  is(h.RegisterMem(Mem(d + 100, 100), hixl::MEM_DEVICE, again), 0, "again");
  ok(m == again, "gives the same handle");
  is(h.RegisterMem(Mem(d + 199, 2), hixl::MEM_DEVICE, again),
     hixl::PARAM_INVALID, "overlap in part");
  is(h.RegisterMem(Mem(d + 110, 8), hixl::MEM_DEVICE, again),
     hixl::PARAM_INVALID, "inside another");
  is(h.RegisterMem(Mem(d + 200, 2), hixl::MEM_DEVICE, again), 0, "beside it");
  is(h.RegisterMem(Mem(u + 100, 4096), hixl::MEM_HOST, host), 0,
     "host memory over two pages");
  is(h.RegisterMem(Mem(u + 4196, 4096), hixl::MEM_HOST, next), 0,
     "a neighbour that shares a page");
  is(mock_alive(), before + 4 + 2, "four segments, two mapped ranges");
  is(h.DeregisterMem(host), 0, "deregister");
  is(h.DeregisterMem(next), 0, "deregister");
  is(h.DeregisterMem(nullptr), hixl::PARAM_INVALID, "null handle");
  is(h.DeregisterMem(host), 0, "unknown handle");
  h.DeregisterMem(m);
  h.DeregisterMem(again);
  is(mock_alive(), before, "nothing is left");
  mock_pin(p, 4 * 4096);
  is(h.RegisterMem(Mem(u + 1, 4096), hixl::MEM_HOST, host), 0,
     "memory that acl has pinned");
  is(mock_alive(), before + 1, "is not mapped again");
  h.Finalize();
  mock_pin(nullptr, 0);
  munmap(p, 4 * 4096);
}

static void TestTransferCodes() {
  Pair x(Options(), false);
  const char *b = x.bn.c_str();
  TransferOpDesc d = {Pair::La(0), Pair::Rb(0), 8};
  MemHandle late;

  is(x.a.TransferSync(b, hixl::READ, {d}, 0), hixl::PARAM_INVALID,
     "timeout 0 first");
  is(x.a.TransferSync(b, hixl::READ, {{0, Pair::Rb(0), 8}}),
     hixl::PARAM_INVALID, "null local before the link");
  is(x.a.TransferSync(b, hixl::READ, {{Pair::La(0), 0, 8}}),
     hixl::PARAM_INVALID, "null remote before the link");
  is(x.a.TransferSync(b, hixl::READ, {}), hixl::NOT_CONNECTED,
     "empty list to an unconnected peer");
  is(x.a.Connect(b), 0, "connect");
  is(x.a.Connect(b), hixl::ALREADY_CONNECTED, "connect again");
  is(x.a.TransferSync(b, hixl::READ, {}), hixl::PARAM_INVALID, "empty list");
  is(x.a.TransferSync(b, hixl::READ, {{Pair::La(0), Pair::Rb(0), 0}}),
     hixl::PARAM_INVALID, "length 0");
  is(x.a.TransferSync(b, hixl::READ, {{Pair::La(0), Pair::Rb(Pair::kSize - 7),
                                       8}}),
     hixl::PARAM_INVALID, "remote end outside");
  ok(Says("remote range"), "message says which side");
  is(x.a.TransferSync(b, hixl::READ, {{Pair::La(0) - 1, Pair::Rb(0), 8}}),
     hixl::PARAM_INVALID, "local start outside");
  is(x.a.TransferSync(b, hixl::READ, {{Pair::La(8), Pair::Rb(8), SIZE_MAX}}),
     hixl::PARAM_INVALID, "length that wraps");
  is(x.a.RegisterMem(Mem(mock_device(0, 32 << 20), 64), hixl::MEM_DEVICE,
                     late), 0, "register after connect");
  is(x.a.TransferSync(b, hixl::READ, {{mock_device(0, 32 << 20), Pair::Rb(0),
                                       8}}),
     hixl::PARAM_INVALID, "is not known to the link");
  is(x.a.DeregisterMem(x.ha), hixl::FAILED, "deregister while connected");
  is(x.b.DeregisterMem(x.hb), 0, "the target may");
  is(x.a.TransferSync(b, hixl::READ, {d}), hixl::FAILED,
     "memory that is not registered any more");
  is(x.a.TransferSync(b, hixl::READ, {d}), hixl::FAILED, "latched");
  ok(Says("failed earlier"), "message says so");
  is(x.a.Disconnect(b), 0, "disconnect");
  is(x.a.Disconnect(b), hixl::NOT_CONNECTED, "disconnect again");
  is(x.b.TransferSync(x.an.c_str(), hixl::READ, {{Pair::Rb(0), Pair::La(0),
                                                  8}}),
     hixl::NOT_CONNECTED, "the target has no link of its own");
}

static void TestData() {
  static const size_t sizes[] = {1, 4096, (1 << 20) + 3, 3 << 20};
  Pair x;
  uint8_t *h = static_cast<uint8_t *>(
      mmap(nullptr, 2 << 20, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  uint64_t hl = reinterpret_cast<uintptr_t>(h), hr = hl + (1 << 20);
  MemHandle m;

  for (size_t n : sizes) {
    Fill(Pair::Ma(5), n, 1);
    Pair::Mb(7)[n] = 0xee;
    ok(x.a.TransferSync(x.bn.c_str(), hixl::WRITE, {{Pair::La(5), Pair::Rb(7),
                                                     n}}) == 0 &&
       Same(Pair::Mb(7), n, 1) && Pair::Mb(7)[n] == 0xee,
       "write %zu bytes", n);
    Fill(Pair::Mb(7), n, 2);
    ok(x.a.TransferSync(x.bn.c_str(), hixl::READ, {{Pair::La(5), Pair::Rb(7),
                                                    n}}) == 0 &&
       Same(Pair::Ma(5), n, 2), "read %zu bytes", n);
  }
  x.a.Disconnect(x.bn.c_str());
  is(x.a.RegisterMem(Mem(hl + 9, 1 << 19), hixl::MEM_HOST, m), 0, "host A");
  is(x.b.RegisterMem(Mem(hr + 3, 1 << 19), hixl::MEM_HOST, m), 0, "host B");
  is(x.a.Connect(x.bn.c_str()), 0, "connect");
  Fill(h + 9, 1000, 3);
  Fill(Pair::Ma(0), 1000, 4);
  is(x.a.TransferSync(x.bn.c_str(), hixl::WRITE,
                      {{hl + 9, Pair::Rb(0), 1000},
                       {Pair::La(0), hr + 3, 1000}}), 0,
     "host to device and device to host in one call");
  ok(Same(Pair::Mb(0), 1000, 3) && Same(h + (1 << 20) + 3, 1000, 4),
     "both arrived");
  is(x.a.TransferSync(x.bn.c_str(), hixl::READ, {{hl + 2000, hr + 3, 1000}}),
     0, "host to host");
  ok(Same(h + 2000, 1000, 4), "arrived");
  x.a.Finalize();
  x.b.Finalize();
  munmap(h, 2 << 20);
}

static void TestScattered() {
  Pair x;
  std::vector<TransferOpDesc> d;
  unsigned bells = mock_doorbells(), q = mock_wqes();
  bool good = true;

  Fill(Pair::Ma(0), Pair::kSize, 5);
  std::memset(Pair::Mb(0), 0, Pair::kSize);
  for (size_t i = 0; i < 8000; i++) {
    /* every second block of 256 bytes, backwards on the other side */
    d.push_back({Pair::La(i * 512), Pair::Rb((7999 - i) * 512), 256});
  }
  is(x.a.TransferSync(x.bn.c_str(), hixl::WRITE, d, 5000), 0,
     "8000 blocks through a ring of 4096");
  for (size_t i = 0; i < 8000; i++) {
    good &= std::memcmp(Pair::Ma(i * 512), Pair::Mb((7999 - i) * 512), 256) ==
            0 && Pair::Mb((7999 - i) * 512)[256] == 0;
  }
  ok(good, "all arrived, nothing beside them");
  is(mock_wqes() - q, 8000, "one work request each");
  /* 16, 32, 64, 128, 256 and then 512 each: 5 + 15, and a full ring */
  ok(mock_doorbells() - bells <= 22, "few doorbells");
}

static void TestTimeout() {
  Pair x;
  TransferOpDesc d = {Pair::La(0), Pair::Rb(0), 8};
  auto t = Clock::now();

  mock_hold(true);
  is(x.a.TransferSync(x.bn.c_str(), hixl::WRITE, {d}, 150), hixl::TIMEOUT,
     "card does nothing");
  long ms = Ms(t);
  /* Never early; how late depends on who else uses the machine. */
  ok(ms >= 149 && ms < 150 + kLate, "after 150 ms (%ld)", ms);
  mock_hold(false);
  is(x.a.TransferSync(x.bn.c_str(), hixl::WRITE, {d}), hixl::FAILED,
     "latched");
  is(x.a.Disconnect(x.bn.c_str()), 0, "disconnect");
  is(x.a.Connect(x.bn.c_str()), 0, "connect");
  is(x.a.TransferSync(x.bn.c_str(), hixl::WRITE, {d}), 0, "works again");
  /* A short limit is kept beside somebody who waits long. */
  mock_hold(true);
  uint32_t slow = 1;
  std::thread other([&] {
    mock_set_device(-1);
    slow = x.a.TransferSync(x.bn.c_str(), hixl::WRITE, {d}, 20000);
  });
  usleep(50000);
  t = Clock::now();
  is(x.a.TransferSync(x.bn.c_str(), hixl::WRITE, {d}, 100), hixl::TIMEOUT,
     "second thread, 100 ms");
  other.join();
  ok(Ms(t) < 100 + kLate, "kept");
  is(slow, hixl::FAILED, "the other one's link has failed");
  mock_hold(false);
}

static void TestAutoConnect() {
  Options o;
  o["AutoConnect"] = "1";
  Pair x(o, false);
  TransferOpDesc d = {Pair::La(0), Pair::Rb(0), 8};

  is(x.a.TransferSync(x.an.c_str(), hixl::WRITE, {d}), hixl::PARAM_INVALID,
     "to self");
  is(x.a.TransferSync(x.bn.c_str(), hixl::WRITE, {d}), 0, "connects");
  mock_hold(true);
  is(x.a.TransferSync(x.bn.c_str(), hixl::WRITE, {d}, 50), hixl::TIMEOUT,
     "time over");
  mock_hold(false);
  is(x.a.TransferSync(x.bn.c_str(), hixl::WRITE, {d}), 0, "connects anew");
}

static void TestAsync() {
  Options o;
  o["GlobalResourceConfig"] = "{\"comm_resource_config.max_active_channels\":3}";
  Pair x(o);
  std::vector<TransferOpDesc> d = {{Pair::La(0), Pair::Rb(0), 64}};
  hixl::TransferReq r[4];
  hixl::TransferArgs a;
  hixl::TransferStatus s;
  hixl::GetTransferStatusArgs q;
  std::vector<hixl::TransferResult> all;
  const char *b = x.bn.c_str();
  int tag[3];

  mock_hold(true);
  for (int i = 0; i < 3; i++) {
    a.user_data = &tag[i];
    is(x.a.TransferAsync(b, hixl::WRITE, d, a, r[i]), 0, "TransferAsync");
  }
  is(x.a.TransferAsync(b, hixl::WRITE, d, a, r[3]), hixl::RESOURCE_EXHAUSTED,
     "no slot left");
  ok(x.a.GetTransferStatus(r[0], s) == 0 &&
     s == hixl::TransferStatus::WAITING, "waiting");
  is(x.a.GetTransferStatus(q, all), 0, "all");
  ok(all.size() == 3 && all[0].req == r[0] && all[2].user_data == &tag[2] &&
     all[1].status == hixl::TransferStatus::WAITING, "in order, with data");
  q.skip_waiting = true;
  ok(x.a.GetTransferStatus(q, all) == 0 && all.empty(), "skip waiting");
  q.skip_waiting = false;
  q.max_query_count = 2;
  ok(x.a.GetTransferStatus(q, all) == 0 && all.size() == 2, "at most 2");
  q.max_query_count = 0;
  ok(x.a.GetTransferStatus(q, all) == 0 && all.empty(), "at most 0");
  Fill(Pair::Ma(0), 64, 6);
  mock_hold(false);
  do {
    is(x.a.GetTransferStatus(r[0], s), 0, "poll");
    usleep(1000);
  } while (s == hixl::TransferStatus::WAITING);
  ok(s == hixl::TransferStatus::COMPLETED && Same(Pair::Mb(0), 64, 6),
     "completed");
  is(x.a.GetTransferStatus(r[0], s), hixl::PARAM_INVALID, "told once");
  ok(s == hixl::TransferStatus::FAILED, "and FAILED then");
  is(x.a.GetTransferStatus(hixl::TransferReq(nullptr), s), hixl::FAILED,
     "null request");
  usleep(20000);
  q.max_query_count = UINT32_MAX;
  ok(x.a.GetTransferStatus(q, all) == 0 && all.size() == 2 &&
     all[1].status == hixl::TransferStatus::COMPLETED, "the other two");
  ok(x.a.GetTransferStatus(q, all) == 0 && all.empty(), "none left");
  mock_hold(true);
  x.a.TransferAsync(b, hixl::WRITE, d, a, r[0]);
  is(x.a.Disconnect(b, 50), hixl::TIMEOUT, "disconnect with work in flight");
  ok(x.a.GetTransferStatus(r[0], s) == 0 && s == hixl::TransferStatus::FAILED,
     "request failed");
  mock_hold(false);
}

/* More work requests than the ring has room for: the call waits for it. */
static void TestLongList() {
  Pair x;
  const char *b = x.bn.c_str();
  std::vector<TransferOpDesc> d(8000, {Pair::La(0), Pair::Rb(0), 8});
  hixl::TransferStatus s = hixl::TransferStatus::WAITING;
  hixl::TransferReq r = nullptr;
  std::atomic<bool> back{false};
  uint32_t ret = 1;
  auto post = [&] {
    ret = x.a.TransferAsync(b, hixl::WRITE, d, hixl::TransferArgs(), r);
    back = true;
  };

  mock_hold(true);
  std::thread one(post);
  usleep(3300000);              /* more than AutoConnect may take */
  ok(!back, "TransferAsync of 8000 waits for room");
  mock_hold(false);
  one.join();
  is(ret, 0, "and gets it, however long it takes");
  while (x.a.GetTransferStatus(r, s) == 0 &&
         s == hixl::TransferStatus::WAITING) {
    usleep(1000);
  }
  ok(s == hixl::TransferStatus::COMPLETED, "completes");
  back = false;
  mock_hold(true);
  std::thread two(post);
  usleep(100000);
  auto t = Clock::now();
  is(x.a.Disconnect(b, 150), hixl::TIMEOUT,
     "Disconnect in the middle of another");
  const long ms = Ms(t);
  ok(ms >= 149 && ms < 150 + kLate, "gives it 150 ms (%ld)", ms);
  two.join();
  is(ret, hixl::FAILED, "which fails");
  mock_hold(false);
}

static void TestAsyncConnect() {
  Pair x(Options(), false);
  hixl::AsyncConnectStatus s;
  std::map<AscendString, hixl::AsyncConnectStatus> all;
  const char *b = x.bn.c_str();
  using S = hixl::AsyncConnectStatus;

  ok(x.a.GetAsyncConnectStatus(b, s) == 0 && s == S::NOT_CONNECT,
     "never asked for");
  is(x.a.ConnectAsync(b, 0), hixl::PARAM_INVALID, "timeout 0");
  is(x.a.ConnectAsync(b, 1000), 0, "ConnectAsync");
  is(x.a.ConnectAsync("127.0.0.1:1", 1000), 0, "to nobody");
  for (int i = 0; i < 200; i++) {
    x.a.GetAsyncConnectStatus(all);
    if (all.size() == 2 && all[b] == S::CONNECTED &&
        all["127.0.0.1:1"] == S::CONNECT_FAILED) {
      break;
    }
    usleep(5000);
  }
  ok(all[b] == S::CONNECTED, "connected");
  ok(all["127.0.0.1:1"] == S::CONNECT_FAILED, "failed");
  is(x.a.TransferSync(b, hixl::WRITE, {{Pair::La(0), Pair::Rb(0), 8}}), 0,
     "transfer");
  is(x.a.DisconnectAsync(b, 1000), 0, "DisconnectAsync");
  for (int i = 0; i < 200; i++) {
    x.a.GetAsyncConnectStatus(b, s);
    if (s == S::NOT_CONNECT) {
      break;
    }
    usleep(5000);
  }
  ok(s == S::NOT_CONNECT, "disconnected");
  ok(x.a.GetAsyncConnectStatus(all) == 0 && all.size() == 1,
     "list without it");
}

static void TestNotify() {
  Pair x;
  hixl::NotifyDesc n;
  std::vector<hixl::NotifyDesc> got;
  std::string big(1025, 'x');
  const char *b = x.bn.c_str();

  n.name = "block";
  n.notify_msg = AscendString("a\0b", 3);
  is(x.a.SendNotify(b, n), 0, "notify");
  is(x.b.GetNotifies(got), 0, "get");
  ok(got.size() == 1 && got[0].name == "block" &&
     got[0].notify_msg.GetLength() == 3, "arrived with zeros inside");
  ok(x.b.GetNotifies(got) == 0 && got.empty(), "moved out");
  n.name = big.c_str();
  is(x.a.SendNotify(b, n, 0), hixl::PARAM_INVALID, "name of 1025");
  ok(Says("name of 1025"), "comes before the timeout");
  n.name = "n";
  n.notify_msg = big.c_str();
  is(x.a.SendNotify(b, n, 0), hixl::PARAM_INVALID, "timeout 0");
  ok(Says("timeout"), "comes before the text");
  is(x.a.SendNotify(b, n), hixl::PARAM_INVALID, "text of 1025");
  n.notify_msg = "";
  is(x.b.SendNotify(x.an.c_str(), n), hixl::NOT_CONNECTED, "no link");
  uint32_t ret = 0;
  for (int i = 0; i < 4096; i++) {
    ret |= x.a.SendNotify(b, n);
  }
  is(ret, 0, "4096 wait");
  is(x.a.SendNotify(b, n), hixl::RESOURCE_EXHAUSTED, "one more");
  ok(x.b.GetNotifies(got) == 0 && got.size() == 4096, "all there");
}

/* ---- hostile peers ---- */

static int Dial(int to) {
  struct sockaddr_in sa = {};
  int fd = socket(AF_INET, SOCK_STREAM, 0);

  sa.sin_family = AF_INET;
  sa.sin_port = htons(static_cast<uint16_t>(to));
  sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  struct timeval tv = {3, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
  return connect(fd, reinterpret_cast<sockaddr *>(&sa), sizeof(sa)) ? -1 : fd;
}

static std::string Frame(int32_t type, const std::string &body,
                         uint32_t magic = HX_MAGIC, uint64_t size = 0) {
  std::string s(16, '\0');
  size = size ? size : body.size() + 4;
  std::memcpy(&s[0], &magic, 4);
  std::memcpy(&s[4], &size, 8);
  std::memcpy(&s[12], &type, 4);
  return s + body;
}

/* Sends @data; true if the server closes without another word. */
static bool Closes(int to, const std::string &data) {
  char c;
  int fd = Dial(to);
  bool good = fd >= 0 &&
      send(fd, data.data(), data.size(), MSG_NOSIGNAL) ==
      static_cast<ssize_t>(data.size()) && recv(fd, &c, 1, 0) <= 0;

  close(fd);
  return good;
}

static void TestHostileClient() {
  Pair x;
  int to = port;                /* B's: the name made last */
  std::string note(16, '\0');

  ok(Closes(to, Frame(5, "{}", 0x12345678)), "wrong magic");
  ok(Closes(to, Frame(5, "", HX_MAGIC, UINT64_MAX)), "body of 2^64");
  ok(Closes(to, Frame(5, "", HX_MAGIC, (4u << 20) + 1)), "body above 4 MiB");
  ok(Closes(to, Frame(5, "", HX_MAGIC, 3)), "body of 3 bytes");
  ok(Closes(to, Frame(99, "")), "unknown type");
  ok(Closes(to, Frame(5, "not json")), "text that is not JSON");
  ok(Closes(to, Frame(5, "{\"version\":1}")), "fields missing");
  ok(Closes(to, Frame(5, "{\"version\":1,\"engine\":\"" +
                      std::string(500, 'x') + "\",\"net_instance_id\":\"\","
                      "\"endpoint_list\":[]}")), "name of 500");
  ok(Closes(to, Frame(12, note)), "notify without a channel");
  note[8] = 127;
  int fd = Dial(to);
  std::string two = Frame(1, "{}") + Frame(12, note);
  send(fd, two.data(), two.size(), MSG_NOSIGNAL);
  char buf[256];
  ssize_t n = recv(fd, buf, sizeof(buf), 0);
  ok(n <= 0 || recv(fd, buf, sizeof(buf), 0) <= 0,
     "notify whose lengths do not fit");
  close(fd);
  std::string part = Frame(5, std::string(100, 'x')).substr(0, 40);
  fd = Dial(to);
  send(fd, part.data(), part.size(), MSG_NOSIGNAL);
  close(fd);
  std::vector<int> many;
  for (int i = 0; i < 100; i++) {
    many.push_back(Dial(to));
  }
  is(x.a.TransferSync(x.bn.c_str(), hixl::WRITE, {{Pair::La(0), Pair::Rb(0),
                                                   8}}), 0,
     "others are not disturbed");
  is(x.a.Disconnect(x.bn.c_str()), 0, "disconnect");
  is(x.a.Connect(x.bn.c_str()), 0, "connect beside 100 idle ones");
  for (int s : many) {
    close(s);
  }
}

static int DialOwnEnd() {
  hx_addr a;
  int fd = -1;

  return hx_parse_name("127.0.0.1:60000", &a) &&
         hx_tcp_connect(&a, hx_now_ms() + 2000, &fd) == -ECONNREFUSED ? 0 : 1;
}

static void TestOwnEnd() {
  const int rc = own_end_run(DialOwnEnd);

  ok(rc <= 0, "a client does not take itself for the server%s (%d)",
     rc < 0 ? " # SKIP no right to make a network namespace" : "", rc);
}

/* Peers that begin a frame and do not get to its end, or say nothing. */
static void SlowClient(long patience) {
  Pair x;
  const int to = port;          /* B's: the name made last */
  const std::string f = Frame(5, std::string(1000, ' '));
  struct pollfd p[2] = {};
  bool gone[2] = {false, false};
  auto t = Clock::now();

  for (auto &q : p) {
    q.fd = Dial(to);
    q.events = POLLIN;
  }
  for (size_t i = 0; i < 100 && !(gone[0] && gone[1]); i++) {
    send(p[0].fd, &f[i], 1, MSG_NOSIGNAL);      /* the other one is silent */
    usleep(30000);
    poll(p, 2, 0);
    for (int k = 0; k < 2; k++) {
      if (p[k].revents != 0 && !gone[k]) {
        gone[k] = true;
        ok(Ms(t) >= patience, "closed, not early (%ld ms)", Ms(t));
      }
    }
  }
  ok(gone[0], "byte after byte does not buy time");
  ok(gone[1], "silence neither");
  usleep(1300000);              /* a link may be silent for ever */
  is(x.a.TransferSync(x.bn.c_str(), hixl::WRITE, {{Pair::La(0), Pair::Rb(0),
                                                   8}}), 0,
     "a link is not a slow peer");
  close(p[0].fd);
  close(p[1].fd);
}

static void TestSlowClient() {
  is(hx_patience_ms, 10000, "a frame may take 10 s");
  hx_patience_ms = 300;
  SlowClient(300);
  hx_patience_ms = 10000;
}

/* A server that answers the first request with @answer; @drip: slowly. */
static uint32_t ConnectTo(const std::string &answer, int32_t timeout,
                          long *ms, bool drip = false) {
  struct sockaddr_in sa = {};
  int l = socket(AF_INET, SOCK_STREAM, 0), one = 1;
  Hixl h;

  setsockopt(l, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
  sa.sin_family = AF_INET;
  sa.sin_port = htons(static_cast<uint16_t>(NewPort()));
  sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(l, reinterpret_cast<sockaddr *>(&sa), sizeof(sa)) ||
      listen(l, 1)) {
    return 1;
  }
  std::string name = "127.0.0.1:" + std::to_string(port);
  std::thread peer([&] {
    char buf[4096];
    int fd = accept(l, nullptr, nullptr);
    if (recv(fd, buf, sizeof(buf), 0) > 0) {
      for (size_t i = 0; drip && i < answer.size(); i++) {
        if (send(fd, &answer[i], 1, MSG_NOSIGNAL) < 0) {
          break;
        }
        usleep(10000);
      }
      if (!drip) {
        send(fd, answer.data(), answer.size(), MSG_NOSIGNAL);
      }
    }
    while (recv(fd, buf, sizeof(buf), 0) > 0) {
      continue;
    }
    close(fd);
  });
  Init(h, 0, "127.0.0.1");
  auto t = Clock::now();
  uint32_t ret = h.Connect(name.c_str(), timeout);
  *ms = Ms(t);
  h.Finalize();
  peer.join();
  close(l);
  return ret;
}

static void TestHostileServer() {
  long ms;
  std::string good = "{\"engine\":\"e\",\"net_instance_id\":\"\",\"version\":1,"
                     "\"endpoint_list\":[{\"protocol\":\"ub_ctp\",\"comm_id\":"
                     "\"00000000000000000010000000000009\"}]}";

  is(ConnectTo("", 120, &ms), hixl::TIMEOUT, "a server that says nothing");
  ok(ms >= 119 && ms < 120 + kLate, "after 120 ms (%ld)", ms);
  is(ConnectTo(Frame(6, "x", 1), 1000, &ms), hixl::FAILED, "wrong magic");
  is(ConnectTo(Frame(6, "", HX_MAGIC, 1ull << 40), 1000, &ms), hixl::FAILED,
     "a body of 1 TiB");
  is(ConnectTo(Frame(2, "{}"), 1000, &ms), hixl::FAILED, "wrong type");
  is(ConnectTo(Frame(6, "{\"version\":2}"), 1000, &ms), hixl::FAILED,
     "other version");
  is(ConnectTo(Frame(6, good), 1000, &ms), hixl::FAILED,
     "a card that is not on the fabric");
  ok(Says("is not on the fabric"), "message says so");
  is(ConnectTo(Frame(6, good).substr(0, 30), 100, &ms), hixl::TIMEOUT,
     "half an answer");
  is(ConnectTo(Frame(6, good), 150, &ms, true), hixl::TIMEOUT,
     "an answer byte after byte");
  ok(ms >= 149 && ms < 150 + kLate, "after 150 ms (%ld)", ms);
}

static void TestMemDecode() {
  static const char *const bad[] = {
      "{}", "{\"mem_descs\":{}}", "{\"mem_descs\":[1]}",
      "{\"mem_descs\":[{\"type\":2,\"addr\":1,\"size\":1,\"token_id\":0,"
      "\"token_value\":0,\"tag\":\"\"}]}",
      "{\"mem_descs\":[{\"type\":0,\"addr\":9223372036854775807,\"size\":1,"
      "\"token_id\":0,\"token_value\":0,\"tag\":\"\"}]}",
      "{\"mem_descs\":[{\"type\":0,\"addr\":-1,\"size\":1,\"token_id\":0,"
      "\"token_value\":0,\"tag\":\"\"}]}",
      "{\"mem_descs\":[{\"type\":0,\"addr\":1,\"size\":1,"
      "\"token_id\":1048576,\"token_value\":0,\"tag\":\"\"}]}",
      "{\"mem_descs\":[{\"type\":0,\"addr\":1,\"size\":1,\"token_id\":0,"
      "\"token_value\":0}]}"};
  hx_table t = {};
  const char *why = nullptr;

  for (const char *s : bad) {
    const bool taken = hx_mems_decode(s, std::strlen(s), &t, &why);
    ok(!taken && t.mem == nullptr, "memory list %s: %s", s, why);
  }
}

/* Between a client and B: passes on what comes, counts the heartbeats. */
struct Proxy {
  std::atomic<unsigned> beats{0};
  std::atomic<bool> stop{false};
  std::string name;
  int listener, to;
  std::thread t;

  explicit Proxy(int target) : to(target) {
    struct sockaddr_in sa = {};
    listener = socket(AF_INET, SOCK_STREAM, 0);
    sa.sin_family = AF_INET;
    sa.sin_port = htons(static_cast<uint16_t>(NewPort()));
    sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    name = "127.0.0.1:" + std::to_string(port);
    ok(bind(listener, reinterpret_cast<sockaddr *>(&sa), sizeof(sa)) == 0 &&
       listen(listener, 1) == 0, "proxy");
    t = std::thread([this] { Run(); });
  }
  ~Proxy() {
    stop = true;
    shutdown(listener, SHUT_RDWR);
    t.join();
    close(listener);
  }
  void Count(hx_buf *b, const char *data, size_t n) {
    hx_frame f;
    hx_buf_add(b, data, n);
    while (hx_frame_get(b, &f) == HX_FRAME_ONE) {
      beats += f.type == HX_HEARTBEAT && f.len == 0;
      hx_buf_drop(b, f.used);
    }
  }
  void Run() {
    const int a = accept(listener, nullptr, nullptr);
    const int b = a < 0 ? -1 : Dial(to);
    struct pollfd p[2] = {{a, POLLIN, 0}, {b, POLLIN, 0}};
    hx_buf in = {};
    char part[4096];
    while (a >= 0 && b >= 0 && !stop) {
      poll(p, 2, 20);
      for (int i = 0; i < 2 && !stop; i++) {
        if (p[i].revents == 0) {
          continue;
        }
        const ssize_t n = recv(p[i].fd, part, sizeof(part), MSG_DONTWAIT);
        if (n <= 0) {
          stop = true;
        } else if (send(p[1 - i].fd, part, static_cast<size_t>(n),
                        MSG_NOSIGNAL) == n && i == 0) {
          Count(&in, part, static_cast<size_t>(n));
        }
      }
    }
    hx_buf_free(&in);
    close(a);
    close(b);
  }
};

static void TestHeartbeat() {
  TransferOpDesc d = {Pair::La(0), Pair::Rb(0), 8};
  Options o;

  is(hx_heartbeat_ms, 10000, "every 10 s");
  hx_heartbeat_ms = 30;
  for (bool automatic : {false, true}) {
    o["AutoConnect"] = automatic ? "1" : "0";
    Pair x(o, false);
    Proxy p(port);                /* B's: the name made last */
    is(x.a.Connect(p.name.c_str(), 1000), 0, "connect");
    usleep(300000);
    const unsigned n = p.beats;
    ok(automatic ? n >= 2 && n <= 11 : n == 0, "AutoConnect %d: %u heartbeats "
       "in 10 times their distance", automatic, n);
    is(x.a.TransferSync(p.name.c_str(), hixl::WRITE, {d}), 0,
       "the link works");
    const int before = mock_alive();
    const int heard = mock_warnings();
    p.stop = true;                /* the peer's end closes */
    usleep(300000);
    ok(automatic ? mock_alive() < before : mock_alive() == before,
       automatic ? "a dead peer is found without a call, its jetty is free" :
                   "nobody looks at an idle link");
    ok(!automatic || (mock_warnings() == heard + 1 &&
                      std::strstr(mock_last_warning(), "is gone")),
       "and told once");
    /* The proxy listens and does not answer. */
    is(x.a.TransferSync(p.name.c_str(), hixl::WRITE, {d}, 200),
       automatic ? hixl::TIMEOUT : hixl::FAILED,
       automatic ? "the next transfer connects anew" :
                   "the next transfer finds it out");
  }
  hx_heartbeat_ms = 10000;
}

static void TestGoneTarget() {
  Pair x;
  TransferOpDesc d = {Pair::La(0), Pair::Rb(0), 8};

  x.b.Finalize();
  is(x.a.TransferSync(x.bn.c_str(), hixl::WRITE, {d}), hixl::FAILED,
     "target is gone");
  is(x.a.TransferSync(x.bn.c_str(), hixl::WRITE, {d}), hixl::FAILED,
     "latched");
  is(x.a.Disconnect(x.bn.c_str()), 0, "disconnect");
}

static void TestMany() {
  Pair x(Options(), false);
  int before = mock_alive();
  uint32_t ret = 0;
  auto t = Clock::now();

  for (int i = 0; i < 1000; i++) {
    ret |= x.a.Connect(x.bn.c_str());
    ret |= x.a.Disconnect(x.bn.c_str());
  }
  is(ret, 0, "1000 times connect and disconnect");
  is(mock_alive(), before, "nothing is left");
  printf("# %ld us each\n", Ms(t));
}

static void TestSameCard() {
  Hixl a, b;
  std::string bn = NewName();
  MemHandle m;

  Init(a, 0, NewName());
  Init(b, 0, bn);
  a.RegisterMem(Mem(Pair::La(0), 64), hixl::MEM_DEVICE, m);
  b.RegisterMem(Mem(Pair::La(4096), 64), hixl::MEM_DEVICE, m);
  Fill(Pair::Ma(0), 64, 9);
  is(a.Connect(bn.c_str()), 0, "two engines on one card");
  is(a.TransferSync(bn.c_str(), hixl::WRITE, {{Pair::La(0), Pair::La(4096),
                                               64}}), 0, "transfer");
  ok(Same(Pair::Ma(4096), 64, 9), "arrived");
}

static void TestMatching() {
  Options o;
  Hixl a, b;
  std::string bn = NewName();

  o["GlobalResourceConfig"] =
      "{\"comm_resource_config.protocol_desc\":[\"uboe:device\"]}";
  Init(a, 0, NewName(), o);
  Init(b, 1, bn);
  is(a.Connect(bn.c_str()), hixl::FAILED, "no protocol in common");
  ok(Says("no common end point"), "message says so");
}

static void TestAdxl() {
  adxl::AdxlEngine a, b;
  std::map<AscendString, AscendString> o;
  std::string an = NewName(), bn = NewName();
  adxl::MemDesc m = {};
  adxl::MemHandle h;
  adxl::TransferReq r;
  adxl::TransferStatus s = adxl::TransferStatus::WAITING;
  void *p;
  int32_t v = 0;

  o[adxl::OPTION_LOCAL_COMM_RES] = "{\"version\":\"1.3\"}";
  o[adxl::OPTION_BUFFER_POOL] = "0:0";
  o[adxl::OPTION_AUTO_CONNECT] = "1";
  mock_set_device(0);
  is(a.Initialize(an.c_str(), o), 0, "adxl A");
  mock_set_device(1);
  is(b.Initialize(bn.c_str(), o), 0, "adxl B");
  m.addr = Pair::La(0);
  m.len = 4096;
  is(a.RegisterMem(m, adxl::MEM_DEVICE, h), 0, "register");
  m.addr = Pair::Rb(0);
  is(b.RegisterMem(m, adxl::MEM_DEVICE, h), 0, "register");
  Fill(Pair::Ma(0), 4096, 7);
  is(a.TransferAsync(bn.c_str(), adxl::WRITE, {{Pair::La(0), Pair::Rb(0),
                                                4096}}, {}, r), 0, "async");
  for (int i = 0; i < 1000 && s == adxl::TransferStatus::WAITING; i++) {
    a.GetTransferStatus(r, s);
    usleep(500);
  }
  ok(s == adxl::TransferStatus::COMPLETED && Same(Pair::Mb(0), 4096, 7),
     "arrived");
  is(adxl::AdxlEngine::MallocMem(adxl::MEM_DEVICE, 1, &p), adxl::UNSUPPORTED,
     "fabric memory");
  ok(adxl::AdxlEngine::GetCapability(adxl::CLIENT_SERVER_COMM, v) == 0 &&
     v == 1, "capability");
}

static void TestCs() {
  EndpointDesc e;
  HixlServerDesc sd = {};
  HixlClientDesc cd = {};
  HixlServerConfig sc;
  HixlClientConfig cc;
  HixlServerHandle s;
  HixlClientHandle c;
  MemHandle sm, cm;
  CommMem m, *list;
  char **tags;
  uint32_t n;
  CompleteHandle done;
  HixlCompleteStatus st = HIXL_COMPLETE_STATUS_WAITING;

  EndpointDescInit(&e, 1);
  e.protocol = COMM_PROTOCOL_UBC_CTP;
  sd.endpoint_list = &e;
  sd.endpoint_list_num = 1;
  sd.server_ip = "127.0.0.1";
  sd.server_port = static_cast<uint32_t>(NewPort());
  mock_set_device(1);
  is(HixlCSServerCreate(&sd, nullptr, &s), HIXL_PARAM_INVALID, "null config");
  is(HixlCSServerCreate(&sd, &sc, &s), HIXL_SUCCESS, "server");
  m = {COMM_MEM_TYPE_DEVICE, reinterpret_cast<void *>(Pair::Rb(0)), 8192};
  is(HixlCSServerRegMem(s, "kv", &m, &sm), HIXL_SUCCESS, "memory");
  is(HixlCSServerRegMem(s, "kv", &m, &cm), HIXL_SUCCESS, "the same again");
  ok(cm == sm, "has the same handle");
  mock_set_device(-1);
  is(HixlCSServerListen(s, 16), HIXL_SUCCESS, "listen, without a device");
  cd.local_endpoint = cd.remote_endpoint = &e;
  cd.server_ip = "127.0.0.1";
  mock_set_device(0);
  is(HixlCSClientCreate(&cd, &cc, &c), HIXL_PARAM_INVALID, "port 0");
  cd.server_port = sd.server_port;
  is(HixlCSClientCreate(&cd, &cc, &c), HIXL_SUCCESS, "client");
  m = {COMM_MEM_TYPE_DEVICE, reinterpret_cast<void *>(Pair::La(0)), 8192};
  is(HixlCSClientRegMem(c, "local", &m, &cm), HIXL_SUCCESS, "memory");
  is(HixlCSClientConnect(c, 1000), HIXL_SUCCESS, "connect");
  is(HixlCSClientGetRemoteMem(c, &list, &tags, &n, 1000), HIXL_SUCCESS,
     "remote memory");
  ok(n == 1 && std::strcmp(tags[0], "kv") == 0 && list[0].size == 8192 &&
     list[0].addr == reinterpret_cast<void *>(Pair::Rb(0)), "is the server's");
  HixlOneSideOpDesc op = {list[0].addr, m.addr, 8192};
  Fill(Pair::Ma(0), 8192, 8);
  is(HixlCSClientBatchPutSync(c, 0, &op, 1000), HIXL_PARAM_INVALID, "0 ops");
  is(HixlCSClientBatchPutSync(c, 1, &op, 1000), HIXL_SUCCESS, "put");
  ok(Same(Pair::Mb(0), 8192, 8), "arrived");
  Fill(Pair::Mb(0), 8192, 10);
  is(HixlCSClientBatchGetAsync(c, 1, &op, &done), HIXL_SUCCESS, "get");
  for (int i = 0; i < 1000 && st == HIXL_COMPLETE_STATUS_WAITING; i++) {
    HixlCSClientQueryCompleteStatus(c, done, &st);
    usleep(500);
  }
  ok(st == HIXL_COMPLETE_STATUS_COMPLETED && Same(Pair::Ma(0), 8192, 10),
     "arrived");
  is(HixlCSClientDestroy(c), HIXL_SUCCESS, "destroy client");
  is(HixlCSServerUnregMem(s, sm), HIXL_SUCCESS, "unregister");
  is(HixlCSServerUnregMem(s, sm), HIXL_PARAM_INVALID, "twice");
  ok(Says("handle is none of this server"), "message says why");
  is(HixlCSServerDestroy(s), HIXL_SUCCESS, "destroy server");
}

int main() {
  setvbuf(stdout, nullptr, _IOLBF, 0);
  TestStrings();
  TestCapability();
  TestNames();
  TestOptions();
  TestLife();
  TestRegister();
  TestTransferCodes();
  TestData();
  TestScattered();
  TestTimeout();
  TestAutoConnect();
  TestAsync();
  TestLongList();
  TestAsyncConnect();
  TestNotify();
  TestHostileClient();
  TestOwnEnd();
  TestSlowClient();
  TestHostileServer();
  TestMemDecode();
  TestHeartbeat();
  TestGoneTarget();
  TestMany();
  TestSameCard();
  TestMatching();
  TestAdxl();
  TestCs();
  is(static_cast<uint64_t>(mock_alive()), 0, "nothing is left at the end");
  return done_testing();
}
