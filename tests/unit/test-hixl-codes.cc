/*
 * HIXL: the code of each call in each situation, and which check comes first.
 * A row of a table is a call with several faults at once; the code tells which
 * of them is looked at first. Expected values: spec/api/hixl.md §3.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <sys/mman.h>

#include <functional>
#include <memory>

#include "hixl-test.h"

namespace {
const int32_t kMs = 2000;

/* An engine that is not initialised, one without links, one with a link to
   b, one whose link has failed. */
struct World {
  Hixl none, single, linked, failed, b;
  std::string sn = NewName(), ln = NewName(), fn = NewName(), bn = NewName();
  MemHandle hs = nullptr, hl = nullptr, hf = nullptr, hb = nullptr;
  uint64_t l = mock_device(0, 0), r = mock_device(1, 0);
  uint64_t stranger = mock_device(1, 32 << 20);

  World() {
    Init(single, 0, sn);
    Init(linked, 0, ln);
    Init(failed, 0, fn);
    Init(b, 1, bn);
    single.RegisterMem(Mem(l, 4096), hixl::MEM_DEVICE, hs);
    linked.RegisterMem(Mem(l, 4096), hixl::MEM_DEVICE, hl);
    failed.RegisterMem(Mem(l, 4096), hixl::MEM_DEVICE, hf);
    b.RegisterMem(Mem(r, 4096), hixl::MEM_DEVICE, hb);
    is(linked.Connect(bn.c_str(), kMs), 0, "a link");
    is(failed.Connect(bn.c_str(), kMs), 0, "another one");
    mock_hold(true);
    is(failed.TransferSync(bn.c_str(), hixl::WRITE, {{l, r, 8}}, 50),
       hixl::TIMEOUT, "fails");
    mock_hold(false);
  }
  const char *B() const { return bn.c_str(); }
};

using Ops = std::vector<TransferOpDesc>;
struct Row {
  const char *what;
  uint32_t code;
  const char *says;              /* part of the message, "" any */
  std::function<uint32_t()> call;
};

void Check(const char *call, const std::vector<Row> &rows) {
  for (const auto &row : rows) {
    const uint32_t got = row.call();
    ok(got == row.code, "%s, %s: %u", call, row.what, row.code);
    if (got != row.code) {
      printf("# got %u\n", got);
    }
    if (row.code != 0 && row.says[0] != '\0' && !Says(row.says)) {
      ok(false, "%s, %s: message has \"%s\"", call, row.what, row.says);
      printf("# message: %s\n", mock_error());
    }
  }
}

void TestTransferSync(World &w) {
  const Ops null = {{0, w.r, 8}}, none, zero = {{w.l, w.stranger, 0}},
            far = {{w.l, w.stranger, 8}}, near = {{w.l, w.r, 8}};
  auto call = [&w](Hixl &h, const Ops &o, int32_t ms,
                   const char *to = nullptr) {
    const char *name = to == nullptr ? w.B() : to;
    return [&h, o, ms, name] {
      return h.TransferSync(name, hixl::WRITE, o, ms);
    };
  };
  Check("TransferSync", {
      {"nothing right", hixl::FAILED, "not initialised",
       call(w.none, null, 0)},
      {"all but the first", hixl::PARAM_INVALID, "timeout",
       call(w.single, null, 0)},
      {"negative timeout", hixl::PARAM_INVALID, "timeout",
       call(w.single, null, INT32_MIN)},
      {"null address, no link", hixl::PARAM_INVALID, "null",
       call(w.single, null, kMs)},
      {"null remote address", hixl::PARAM_INVALID, "null",
       call(w.single, {{w.l, 0, 8}}, kMs)},
      {"no link, empty list", hixl::NOT_CONNECTED, "not connected",
       call(w.single, none, kMs)},
      {"no link, length 0", hixl::NOT_CONNECTED, "",
       call(w.single, zero, kMs)},
      {"no link, not registered", hixl::NOT_CONNECTED, "",
       call(w.single, far, kMs)},
      {"a name that is none", hixl::NOT_CONNECTED, "",
       call(w.linked, near, kMs, "nobody")},
      {"self", hixl::NOT_CONNECTED, "",
       call(w.linked, near, kMs, w.ln.c_str())},
      {"failed link, empty list", hixl::FAILED, "failed earlier",
       call(w.failed, none, kMs)},
      {"empty list", hixl::PARAM_INVALID, "empty",
       call(w.linked, none, kMs)},
      {"length 0 and not registered", hixl::PARAM_INVALID, "length is 0",
       call(w.linked, zero, kMs)},
      {"remote not registered", hixl::PARAM_INVALID, "remote range 0x",
       call(w.linked, far, kMs)},
      {"local not registered", hixl::PARAM_INVALID, "local range 0x",
       call(w.linked, {{w.l + 4096, w.r, 8}}, kMs)},
      {"second descriptor wrong", hixl::PARAM_INVALID, "descriptor 1",
       call(w.linked, {{w.l, w.r, 8}, {w.l, w.r, 4097}}, kMs)},
      {"none of these harmed the link", 0, "", call(w.linked, near, kMs)},
  });
}

void TestTransferAsync(World &w) {
  const hixl::TransferArgs args;
  auto call = [&](Hixl &h, const Ops &o) {
    return [&w, &h, &args, o] {
      hixl::TransferReq r = nullptr;
      hixl::TransferStatus s = hixl::TransferStatus::WAITING;
      const uint32_t ret = h.TransferAsync(w.B(), hixl::READ, o, args, r);
      while (ret == 0 && s == hixl::TransferStatus::WAITING) {
        h.GetTransferStatus(r, s);
      }
      return ret;
    };
  };
  Check("TransferAsync", {
      {"not initialised", hixl::FAILED, "not initialised", call(w.none, {})},
      {"null, no link", hixl::PARAM_INVALID, "null",
       call(w.single, {{0, 0, 0}})},
      {"no link, empty", hixl::NOT_CONNECTED, "", call(w.single, {})},
      {"failed link", hixl::FAILED, "failed earlier", call(w.failed, {})},
      {"empty", hixl::PARAM_INVALID, "empty", call(w.linked, {})},
      {"not registered", hixl::PARAM_INVALID, "remote range 0x",
       call(w.linked, {{w.l, w.stranger, 1}})},
      {"right", 0, "", call(w.linked, {{w.l, w.r, 1}})},
  });
}

void TestConnect(World &w) {
  const std::string nobody = NewName();
  auto call = [](Hixl &h, const std::string &to, int32_t ms) {
    return [&h, to, ms] { return h.Connect(to.c_str(), ms); };
  };
  Check("Connect", {
      {"not initialised", hixl::FAILED, "not initialised",
       call(w.none, "x", 0)},
      {"timeout 0, bad name", hixl::PARAM_INVALID, "timeout",
       call(w.single, "x", 0)},
      {"bad name", hixl::PARAM_INVALID, "\"x\"", call(w.single, "x", kMs)},
      {"no port", hixl::PARAM_INVALID, "127.0.0.1",
       call(w.single, "127.0.0.1", kMs)},
      {"self", hixl::PARAM_INVALID, "itself", call(w.single, w.sn, kMs)},
      {"linked", hixl::ALREADY_CONNECTED, "", call(w.linked, w.bn, kMs)},
      {"linked, and the link failed", hixl::ALREADY_CONNECTED, "",
       call(w.failed, w.bn, kMs)},
      {"nobody listens", hixl::FAILED, "nobody listens",
       call(w.single, nobody, kMs)},
  });
  auto off = [](Hixl &h, const std::string &to, int32_t ms) {
    return [&h, to, ms] { return h.Disconnect(to.c_str(), ms); };
  };
  Check("Disconnect", {
      {"not initialised", hixl::FAILED, "not initialised",
       off(w.none, "x", 0)},
      {"timeout 0, unknown", hixl::PARAM_INVALID, "timeout",
       off(w.single, "x", 0)},
      {"unknown", hixl::NOT_CONNECTED, "", off(w.single, nobody, kMs)},
      {"a name that is none", hixl::NOT_CONNECTED, "",
       off(w.single, "x", kMs)},
      {"failed link", 0, "", off(w.failed, w.bn, kMs)},
      {"twice", hixl::NOT_CONNECTED, "", off(w.failed, w.bn, kMs)},
      {"connect it anew", 0, "", call(w.failed, w.bn, kMs)},
      {"it works", 0, "", [&w] {
         return w.failed.TransferSync(w.B(), hixl::WRITE, {{w.l, w.r, 8}},
                                      kMs);
       }},
      {"a link that works", 0, "", off(w.failed, w.bn, kMs)},
  });
}

void TestConnectAsync(World &w) {
  hixl::AsyncConnectStatus s;
  std::map<AscendString, hixl::AsyncConnectStatus> all;

  Check("ConnectAsync", {
      {"not initialised", hixl::FAILED, "not initialised",
       [&] { return w.none.ConnectAsync("x", 0); }},
      {"timeout 0, bad name", hixl::PARAM_INVALID, "timeout",
       [&] { return w.single.ConnectAsync("x", 0); }},
      {"bad name", hixl::PARAM_INVALID, "\"x\"",
       [&] { return w.single.ConnectAsync("x", kMs); }},
      {"self", hixl::PARAM_INVALID, "itself",
       [&] { return w.single.ConnectAsync(w.sn.c_str(), kMs); }},
      {"disconnect, not initialised", hixl::FAILED, "not initialised",
       [&] { return w.none.DisconnectAsync("x", 0); }},
      {"disconnect, timeout 0", hixl::PARAM_INVALID, "timeout",
       [&] { return w.single.DisconnectAsync(w.B(), 0); }},
      {"status, not initialised", hixl::FAILED, "",
       [&] { return w.none.GetAsyncConnectStatus("x", s); }},
      {"all, not initialised", hixl::FAILED, "",
       [&] { return w.none.GetAsyncConnectStatus(all); }},
      {"status of a stranger", 0, "",
       [&] { return w.single.GetAsyncConnectStatus("x", s); }},
  });
  ok(s == hixl::AsyncConnectStatus::NOT_CONNECT, "is NOT_CONNECT");
}

void TestMemory(World &w) {
  MemHandle m = nullptr, first = nullptr;
  uint8_t *p = static_cast<uint8_t *>(
      mmap(nullptr, 8192, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  const uint64_t u = reinterpret_cast<uintptr_t>(p);
  auto call = [&m](Hixl &h, uint64_t a, size_t n, hixl::MemType t) {
    return [&m, &h, a, n, t] { return h.RegisterMem(Mem(a, n), t, m); };
  };
  Check("RegisterMem", {
      {"not initialised", hixl::FAILED, "not initialised",
       call(w.none, 0, 0, hixl::MEM_DEVICE)},
      {"null", hixl::PARAM_INVALID, "null",
       call(w.single, 0, 8, hixl::MEM_DEVICE)},
      {"wraps", hixl::PARAM_INVALID, "address space",
       call(w.single, w.l, SIZE_MAX, hixl::MEM_DEVICE)},
      {"host as device", hixl::PARAM_INVALID, "MEM_DEVICE",
       call(w.single, u, 8, hixl::MEM_DEVICE)},
      {"device as host", hixl::PARAM_INVALID, "MEM_HOST",
       call(w.single, w.l, 8, hixl::MEM_HOST)},
      {"another card's", hixl::PARAM_INVALID, "MEM_DEVICE",
       call(w.single, w.r, 8, hixl::MEM_DEVICE)},
      {"overlap in part", hixl::PARAM_INVALID, "overlaps",
       call(w.single, w.l + 4095, 2, hixl::MEM_DEVICE)},
      {"duplicate", 0, "", call(w.single, w.l, 4096, hixl::MEM_DEVICE)},
  });
  ok(m == w.hs, "a duplicate has the same handle");
  int before = mock_warnings();
  is(w.single.RegisterMem(Mem(u, 4096), hixl::MEM_HOST, first), 0,
     "host memory of whole pages");
  is(static_cast<uint64_t>(mock_warnings() - before), 0, "without a warning");
  is(w.single.RegisterMem(Mem(u + 4097, 10), hixl::MEM_HOST, m), 0,
     "host memory inside a page");
  ok(mock_warnings() == before + 1 &&
     std::strstr(mock_last_warning(), "4096") != nullptr,
     "is taken with a warning");
  Check("DeregisterMem", {
      {"not initialised", hixl::FAILED, "not initialised",
       [&] { return w.none.DeregisterMem(nullptr); }},
      {"null", hixl::PARAM_INVALID, "null",
       [&] { return w.linked.DeregisterMem(nullptr); }},
      {"unknown", 0, "", [&] { return w.single.DeregisterMem(w.hl); }},
      {"while connected", hixl::FAILED, "disconnect first",
       [&] { return w.linked.DeregisterMem(w.hl); }},
      {"right", 0, "", [&] { return w.single.DeregisterMem(first); }},
      {"twice", 0, "", [&] { return w.single.DeregisterMem(first); }},
      {"the other", 0, "", [&] { return w.single.DeregisterMem(m); }},
  });
  munmap(p, 8192);
}

void TestNotify(World &w) {
  const std::string big(1025, 'x'), most(1024, 'x');
  std::vector<hixl::NotifyDesc> got;
  auto call = [](Hixl &h, const char *to, const std::string &name,
                 const std::string &text, int32_t ms) {
    hixl::NotifyDesc n;
    n.name = name.c_str();
    n.notify_msg = text.c_str();
    return [&h, to, n, ms] { return h.SendNotify(to, n, ms); };
  };
  Check("SendNotify", {
      {"nothing right", hixl::FAILED, "not initialised",
       call(w.none, "x", big, big, 0)},
      {"all but the first", hixl::PARAM_INVALID, "name of 1025",
       call(w.single, "x", big, big, 0)},
      {"timeout and text", hixl::PARAM_INVALID, "timeout",
       call(w.single, "x", most, big, 0)},
      {"text, no link", hixl::PARAM_INVALID, "text of 1025",
       call(w.single, "x", most, big, kMs)},
      {"no link", hixl::NOT_CONNECTED, "",
       call(w.single, w.B(), most, most, kMs)},
      {"longest", 0, "", call(w.linked, w.B(), most, most, kMs)},
      {"empty", 0, "", call(w.linked, w.B(), "", "", kMs)},
      {"get, not initialised", hixl::FAILED, "",
       [&] { return w.none.GetNotifies(got); }},
      {"get", 0, "", [&] { return w.b.GetNotifies(got); }},
  });
  ok(got.size() == 2 && got[0].name.GetLength() == 1024 &&
     got[1].name.GetLength() == 0, "both are there, in order");
}

void TestStatus(World &w) {
  hixl::TransferStatus s = hixl::TransferStatus::WAITING;
  std::vector<hixl::TransferResult> all;
  hixl::TransferReq null = nullptr, wild = &s;

  Check("GetTransferStatus", {
      {"not initialised", hixl::FAILED, "",
       [&] { return w.none.GetTransferStatus(wild, s); }},
      {"all, not initialised", hixl::FAILED, "",
       [&] {
         return w.none.GetTransferStatus(hixl::GetTransferStatusArgs(), all);
       }},
      {"null", hixl::FAILED, "",
       [&] { return w.linked.GetTransferStatus(null, s); }},
      {"unknown", hixl::PARAM_INVALID, "",
       [&] { return w.linked.GetTransferStatus(wild, s); }},
      {"none outstanding", 0, "",
       [&] {
         return w.linked.GetTransferStatus(hixl::GetTransferStatusArgs(),
                                           all);
       }},
  });
  ok(s == hixl::TransferStatus::FAILED && all.empty(),
     "FAILED for an unknown one, an empty list");
}

/* A second Initialize: swaps only if it succeeds. */
void TestInitialize() {
  Hixl h, b;
  Options bad;
  const std::string one = NewName(), two = NewName(), bn = NewName();
  MemHandle m;
  const uint64_t l = mock_device(0, 0), r = mock_device(1, 0);

  bad["BufferPool"] = "4:8";
  is(Init(b, 1, bn), 0, "peer");
  b.RegisterMem(Mem(r, 64), hixl::MEM_DEVICE, m);
  is(Init(h, 0, one), 0, "Initialize");
  h.RegisterMem(Mem(l, 64), hixl::MEM_DEVICE, m);
  is(h.Connect(bn.c_str(), kMs), 0, "connect");
  is(Init(h, 0, one), hixl::FAILED, "the same name: its port is busy");
  is(Init(h, 0, two, bad), hixl::PARAM_INVALID, "with a wrong option");
  is(Init(h, -1, two), hixl::FAILED, "without a device");
  is(h.TransferSync(bn.c_str(), hixl::WRITE, {{l, r, 8}}, kMs), 0,
     "the first engine lives on");
  is(Init(h, 0, two), 0, "another name replaces it");
  is(h.TransferSync(bn.c_str(), hixl::WRITE, {{l, r, 8}}, kMs),
     hixl::NOT_CONNECTED, "its links are gone");
  is(Init(b, 1, one), 0, "and its name is free");
  h.Finalize();
  h.Finalize();
  is(h.Connect(one.c_str(), kMs), hixl::FAILED, "after Finalize twice");
  is(Init(h, 0, two), 0, "and it can be initialised again");
}

/* Links share the card's queues; who wants one more transfer is told. */
void TestQueues() {
  const int links = 12;
  Hixl a;
  std::vector<std::unique_ptr<Hixl>> b;
  std::vector<std::string> name;
  std::vector<hixl::TransferReq> req(4);
  const uint64_t l = mock_device(0, 0), r = mock_device(1, 0);
  hixl::TransferStatus s;
  const hixl::TransferArgs args;
  MemHandle m;
  uint32_t ret = 0;

  mock_max_queues(3);
  Init(a, 0, NewName());
  a.RegisterMem(Mem(l, 4096), hixl::MEM_DEVICE, m);
  for (int i = 0; i < links; i++) {
    b.emplace_back(new Hixl);
    name.push_back(NewName());
    ret |= Init(*b.back(), 1, name.back());
    ret |= b.back()->RegisterMem(Mem(r + 64u * static_cast<uint64_t>(i), 64),
                                 hixl::MEM_DEVICE, m);
    ret |= a.Connect(name.back().c_str(), kMs);
  }
  is(ret, 0, "12 links, 3 queues");
  Fill(mock_memory(0, 0), 4096, 3);
  std::memset(mock_memory(1, 0), 0, 4096);
  for (int k = 0; k < 3; k++) {
    for (size_t i = 0; i < b.size(); i++) {
      ret |= a.TransferSync(name[i].c_str(), hixl::WRITE,
                            {{l + 64 * i, r + 64 * i, 64}}, kMs);
    }
  }
  is(ret, 0, "a transfer over each, three times");
  ok(Same(mock_memory(1, 0), 64 * links, 3), "every byte is right");
  mock_hold(true);
  for (size_t i = 0; i < 3; i++) {
    ret |= a.TransferAsync(name[i].c_str(), hixl::WRITE, {{l, r + 64 * i, 8}},
                           args, req[i]);
  }
  is(ret, 0, "three at once");
  is(a.TransferAsync(name[3].c_str(), hixl::WRITE, {{l, r + 64 * 3, 8}},
                     args, req[3]), hixl::RESOURCE_EXHAUSTED, "a fourth");
  ok(Says("no task queue"), "message says what is missing");
  is(a.TransferAsync(name[3].c_str(), hixl::WRITE, {}, args, req[3]),
     hixl::PARAM_INVALID, "an empty list comes before that");
  is(a.TransferAsync(name[0].c_str(), hixl::WRITE, {{l, r, 8}}, args, req[3]),
     0, "another one over a link at work");
  is(a.Disconnect(name[2].c_str(), 20), hixl::TIMEOUT,
     "a link that is ended in the middle");
  is(a.TransferAsync(name[4].c_str(), hixl::WRITE, {{l, r + 64 * 4, 8}}, args,
                     req[2]), 0, "leaves its queue to another");
  mock_hold(false);
  for (auto q : req) {
    do {
      ret |= a.GetTransferStatus(q, s);
      usleep(1000);
    } while (s == hixl::TransferStatus::WAITING);
    ret |= s != hixl::TransferStatus::COMPLETED;
  }
  is(ret, 0, "all complete");
  is(a.TransferSync(name[3].c_str(), hixl::WRITE, {{l, r + 64 * 3, 8}}, kMs),
     0, "the refused link is unharmed");
  a.Finalize();
  b.clear();
  mock_max_queues(UINT32_MAX);
}

/* 1, 2 and 4 engines, both directions, one of the names IPv6. */
void TestEngines(const std::vector<int> &cards) {
  const size_t n = cards.size();
  std::vector<std::unique_ptr<Hixl>> h;
  std::vector<std::string> name;
  std::vector<uint64_t> mem;
  MemHandle m;
  uint32_t ret = 0;
  bool good = true;

  for (size_t i = 0; i < n; i++) {
    h.emplace_back(new Hixl);
    name.push_back(i % 2 ? "[::1]:" + std::to_string(NewPort()) : NewName());
    mem.push_back(0x10000 * (i + 1));
    ret |= Init(*h[i], cards[i], name[i]);
    ret |= h[i]->RegisterMem(Mem(mock_device(cards[i], mem[i]), 4096),
                             hixl::MEM_DEVICE, m);
    std::memset(mock_memory(cards[i], mem[i]), 0, 4096);
    Fill(mock_memory(cards[i], mem[i]), 256, static_cast<unsigned>(i));
  }
  for (size_t i = 0; i < n; i++) {
    for (size_t k = 0; k < n; k++) {
      ret |= i == k ? 0 : h[i]->Connect(name[k].c_str(), kMs);
    }
  }
  is(ret, 0, "engines, each connected to each");
  for (size_t i = 0; i < n; i++) {
    for (size_t k = 0; k < n; k++) {
      if (i != k) {
        ret |= h[i]->TransferSync(
            name[k].c_str(), hixl::WRITE,
            {{mock_device(cards[i], mem[i]),
              mock_device(cards[k], mem[k] + 256 * (i + 1)), 256}}, kMs);
      }
    }
  }
  for (size_t i = 0; i < n; i++) {
    for (size_t k = 0; k < n; k++) {
      good = good && (i == k || Same(mock_memory(cards[k],
                                                 mem[k] + 256 * (i + 1)),
                                     256, static_cast<unsigned>(i)));
    }
  }
  ok(ret == 0 && good, "%zu engines: each wrote to each", n);
}
}  // namespace

int main() {
  setvbuf(stdout, nullptr, _IOLBF, 0);
  {
    World w;
    TestTransferSync(w);
    TestTransferAsync(w);
    TestConnectAsync(w);
    TestNotify(w);
    TestStatus(w);
    TestMemory(w);
    TestConnect(w);
  }
  TestInitialize();
  TestQueues();
  TestEngines({0});
  TestEngines({0, 0});
  TestEngines({0, 1});
  TestEngines({0, 0, 1, 1});
  is(static_cast<uint64_t>(mock_alive()), 0, "nothing is left at the end");
  return done_testing();
}
