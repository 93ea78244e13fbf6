/*
 * HIXL in the machine: every byte of every memory combination, codes of
 * failures, limits, peers that die. Speaks TAP.
 *
 *   hixl-vm data|codes|unmap|timeout|kill|connect|threads|layers|links|engines
 *
 * Expected values: spec/api/hixl.md §3.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <acl/acl.h>
#include <adxl/adxl_engine.h>
#include <cs/hixl_cs.h>
#include <dirent.h>
#include <hixl/hixl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "../unit/tap.h"

/* Of the runtime's lower half: what pins memory, without its book-keeping. */
extern "C" int a350_dma_map(void *va, size_t len);
extern "C" int a350_dma_unmap(void *va, size_t len);

using hixl::Hixl;
using hixl::TransferOpDesc;
using Bytes = std::vector<uint8_t>;
using Options = std::map<ge::AscendString, ge::AscendString>;

namespace {
int port = 17000;

std::string NewName() { return "127.0.0.1:" + std::to_string(++port); }

double Now() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch()).count();
}

uint8_t Pattern(size_t i, unsigned seed) {
  return static_cast<uint8_t>((i * 2654435761u + seed * 40503u) >> 15);
}

uintptr_t Addr(const void *p, size_t off = 0) {
  return reinterpret_cast<uintptr_t>(p) + off;
}

hixl::MemDesc Mem(const void *p, size_t n) {
  hixl::MemDesc m;
  m.addr = Addr(p);
  m.len = n;
  return m;
}

bool ErrorSays(const char *text) {
  const char *e = aclGetRecentErrMsg();
  const bool has = e != nullptr && std::strstr(e, text) != nullptr;
  if (!has) {
    printf("# message: %s\n", e == nullptr ? "(none)" : e);
  }
  return has;
}

/* Memory of one kind, filled and looked at through acl. */
struct Buffer {
  bool host;
  int device;
  size_t size;
  uint8_t *p = nullptr;

  Buffer(int dev, bool on_host, size_t n) : host(on_host), device(dev),
                                            size(n) {
    aclrtSetDevice(dev);
    if (host) {
      /* Plain memory, not the runtime's: the engine pins it. */
      p = static_cast<uint8_t *>(mmap(nullptr, n, PROT_READ | PROT_WRITE,
                                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    } else {
      void *q = nullptr;
      if (aclrtMalloc(&q, n, ACL_MEM_MALLOC_HUGE_FIRST) == 0) {
        p = static_cast<uint8_t *>(q);
      }
    }
  }
  ~Buffer() {
    if (host) {
      munmap(p, size);
    } else {
      aclrtSetDevice(device);
      aclrtFree(p);
    }
  }
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;

  void Set(const Bytes &b, size_t off = 0) const {
    if (host) {
      std::memcpy(p + off, b.data(), b.size());
    } else {
      aclrtSetDevice(device);
      aclrtMemcpy(p + off, b.size(), b.data(), b.size(),
                  ACL_MEMCPY_HOST_TO_DEVICE);
    }
  }
  Bytes Get(size_t off, size_t n) const {
    Bytes b(n);
    if (host) {
      std::memcpy(b.data(), p + off, n);
    } else {
      aclrtSetDevice(device);
      aclrtMemcpy(b.data(), n, p + off, n, ACL_MEMCPY_DEVICE_TO_HOST);
    }
    return b;
  }
};

Bytes Filled(size_t n, unsigned seed) {
  Bytes b(n);
  for (size_t i = 0; i < n; i++) {
    b[i] = Pattern(i, seed);
  }
  return b;
}

struct Node {
  Hixl h;
  std::string name = NewName();
  int device;
  explicit Node(int dev, const Options &o = Options()) : device(dev) {
    aclrtSetDevice(dev);
    is(h.Initialize(name.c_str(), o), 0, "initialise");
  }
  hixl::MemHandle Register(const Buffer &b) {
    hixl::MemHandle m = nullptr;
    is(h.RegisterMem(Mem(b.p, b.size),
                     b.host ? hixl::MEM_HOST : hixl::MEM_DEVICE, m), 0,
       "register");
    return m;
  }
};

/* ---- data ---- */

const size_t kGuard = 64;

/* One range of @n bytes at odd places, a guard band around the target. */
void One(Node &a, const char *peer, const Buffer &la, const Buffer &rb,
         hixl::TransferOp op, size_t n, const char *what) {
  const Buffer &from = op == hixl::WRITE ? la : rb;
  const Buffer &to = op == hixl::WRITE ? rb : la;
  const size_t fo = 13, at = kGuard + 7;
  const Bytes data = Filled(n, static_cast<unsigned>(n)), guard(
      n + 2 * kGuard, 0xa5);
  const size_t lo = op == hixl::WRITE ? fo : at;
  const size_t ro = op == hixl::WRITE ? at : fo;

  from.Set(data, fo);
  to.Set(guard, at - kGuard);
  const uint32_t ret = a.h.TransferSync(
      peer, op, {{Addr(la.p, lo), Addr(rb.p, ro), n}}, 30000);
  const Bytes got = to.Get(at - kGuard, n + 2 * kGuard);
  bool good = ret == 0 && std::memcmp(&got[kGuard], data.data(), n) == 0;
  for (size_t i = 0; i < kGuard; i++) {
    good = good && got[i] == 0xa5 && got[kGuard + n + i] == 0xa5;
  }
  ok(good, "%s %s %zu bytes (code %u)", what,
     op == hixl::WRITE ? "write" : "read", n, ret);
}

void Scattered(Node &a, const char *peer, const Buffer &la, const Buffer &rb) {
  const size_t block = 16384, num = 2000;
  Bytes data = Filled(num * block, 3), got;
  std::vector<TransferOpDesc> list;
  bool good = true;

  la.Set(data);
  for (size_t i = 0; i < num; i++) {
    list.push_back({Addr(la.p, i * block),
                    Addr(rb.p, i * 7 % num * block), block});
  }
  is(a.h.TransferSync(peer, hixl::WRITE, list, 30000), 0,
     "2000 blocks of 16 KiB");
  got = rb.Get(0, num * block);
  for (size_t i = 0; i < num; i++) {
    good = good && std::memcmp(&got[i * 7 % num * block], &data[i * block],
                               block) == 0;
  }
  ok(good, "each in its place");
}

/*
 * Pieces of a list long enough for the card to stream, at odd addresses and of
 * odd lengths: every byte, and the gaps between them.
 */
void Odd(Node &a, const char *peer, const Buffer &la, const Buffer &rb,
         hixl::TransferOp op, const char *what) {
  const size_t num = 300, step = 20011;
  const Buffer &from = op == hixl::WRITE ? la : rb;
  const Buffer &to = op == hixl::WRITE ? rb : la;
  const Bytes data = Filled(num * step + step, 11);
  Bytes want(num * step + step, 0x5a);
  std::vector<TransferOpDesc> list;

  from.Set(data);
  to.Set(want);
  for (size_t i = 0; i < num; i++) {
    const size_t src = i * step + i % 71, n = 3900 + i * 53;
    const size_t dst = (num - 1 - i) * step + i % 67;
    std::memcpy(&want[dst], &data[src], n);
    list.push_back({Addr(la.p, op == hixl::WRITE ? src : dst),
                    Addr(rb.p, op == hixl::WRITE ? dst : src), n});
  }
  const uint32_t ret = a.h.TransferSync(peer, op, list, 30000);
  ok(ret == 0 && to.Get(0, want.size()) == want,
     "%s %s: 300 odd pieces, nothing beside them (code %u)", what,
     op == hixl::WRITE ? "write" : "read", ret);
}

void TestData() {
  static const char *const kind[] = {"device to device", "device to host",
                                     "host to device", "host to host"};
  static const size_t sizes[] = {1, 4096, (1 << 20) + 3};
  const size_t size = 40 << 20;
  Node a(0), b(1);
  Buffer ad(0, false, size), ah(0, true, size), bd(1, false, size),
      bh(1, true, size);
  const char *peer = b.name.c_str();

  a.Register(ad);
  a.Register(ah);
  b.Register(bd);
  b.Register(bh);
  is(a.h.Connect(peer, 5000), 0, "connect");
  for (int k = 0; k < 4; k++) {
    const Buffer &l = k & 2 ? ah : ad, &r = k & 1 ? bh : bd;
    for (size_t n : sizes) {
      One(a, peer, l, r, hixl::WRITE, n, kind[k]);
      One(a, peer, l, r, hixl::READ, n, kind[k]);
    }
    Odd(a, peer, l, r, hixl::WRITE, kind[k]);
    Odd(a, peer, l, r, hixl::READ, kind[k]);
  }
  Scattered(a, peer, ad, bd);
  Scattered(a, peer, ah, bd);
  ad.Set(Filled(5000, 8));
  ah.Set(Filled(5000, 9));
  is(a.h.TransferSync(peer, hixl::WRITE,
                      {{Addr(ad.p), Addr(bh.p), 5000},
                       {Addr(ah.p), Addr(bd.p), 5000}}), 0,
     "two kinds in one call");
  ok(bh.Get(0, 5000) == Filled(5000, 8) && bd.Get(0, 5000) == Filled(5000, 9),
     "both are right");
  a.h.Finalize();
  b.h.Finalize();
}

/* ---- codes ---- */

void TestCodes() {
  Hixl none;
  Node a(0), b(1);
  Buffer l(0, false, 4096), r(1, false, 4096);
  const char *peer = b.name.c_str();
  const TransferOpDesc d = {Addr(l.p), Addr(r.p), 4096};
  hixl::MemHandle ml = a.Register(l), mr = b.Register(r), m;

  is(none.TransferSync(peer, hixl::READ, {d}), hixl::FAILED,
     "not initialised");
  is(a.h.TransferSync(peer, hixl::READ, {}), hixl::NOT_CONNECTED,
     "empty list, no link");
  is(a.h.Connect(a.name.c_str()), hixl::PARAM_INVALID, "self");
  is(a.h.Connect("127.0.0.1:1"), hixl::FAILED, "nobody listens");
  is(a.h.Connect(peer), 0, "connect");
  is(a.h.Connect(peer), hixl::ALREADY_CONNECTED, "again");
  is(a.h.TransferSync(peer, hixl::READ, {}), hixl::PARAM_INVALID,
     "empty list");
  is(a.h.TransferSync(peer, hixl::READ, {{Addr(l.p), Addr(r.p), 4097}}),
     hixl::PARAM_INVALID, "beyond the registration");
  ok(ErrorSays("0x"), "message names the address");
  is(a.h.DeregisterMem(ml), hixl::FAILED, "deregister while connected");
  is(a.h.RegisterMem(Mem(r.p, 8), hixl::MEM_DEVICE, m), hixl::PARAM_INVALID,
     "memory of another device");
  is(a.h.RegisterMem(Mem(reinterpret_cast<void *>(0x1000), 4096),
                     hixl::MEM_HOST, m), hixl::PARAM_INVALID,
     "host address without memory");
  Hixl same;
  is(same.Initialize(b.name.c_str(), Options()), hixl::FAILED,
     "name in use");
  is(b.h.DeregisterMem(mr), 0, "target deregisters");
  is(a.h.TransferSync(peer, hixl::READ, {d}), hixl::FAILED,
     "target memory is gone");
  ok(ErrorSays("transfer failed"), "message gives the card's reason");
  is(a.h.TransferSync(peer, hixl::READ, {d}), hixl::FAILED, "latched");
  is(a.h.Disconnect(peer), 0, "disconnect");
  mr = b.Register(r);
  is(a.h.Connect(peer), 0, "connect anew");
  is(a.h.TransferSync(peer, hixl::READ, {d}), 0, "works");
  is(a.h.Disconnect(peer), 0, "disconnect");
  is(a.h.DeregisterMem(ml), 0, "deregister");
  Node c(0);
  Buffer lc(0, false, 4096);
  c.Register(lc);
  a.Register(l);
  l.Set(Filled(4096, 5));
  is(a.h.Connect(c.name.c_str()), 0, "two engines on one card");
  is(a.h.TransferSync(c.name.c_str(), hixl::WRITE,
                      {{Addr(l.p), Addr(lc.p), 4096}}), 0, "transfer");
  ok(lc.Get(0, 4096) == Filled(4096, 5), "is right");
  a.h.Finalize();
  b.h.Finalize();
  c.h.Finalize();
}

/* ---- host memory that is taken away behind the library's back ---- */

/*
 * The card keeps translations of the IOMMU; one that the IOMMU has taken back
 * must not be used. Warm: single pieces and a long list have been through it.
 */
void TakenAway(Node &a, const char *peer, const Buffer &l, const Buffer &r,
               hixl::TransferOp op) {
  const size_t block = 16384, num = 256, size = num * block;
  const Bytes before = Filled(size, 21);
  std::vector<TransferOpDesc> list;

  for (size_t i = 0; i < num; i++) {
    list.push_back({Addr(l.p, i * block), Addr(r.p, i * 7 % num * block),
                    block});
  }
  is(a.h.Connect(peer, 5000), 0, "connect");
  for (int i = 0; i < 3; i++) {
    is(a.h.TransferSync(peer, op, list, 20000), 0, "a list, mapped");
  }
  r.Set(before);
  is(static_cast<uint64_t>(a350_dma_unmap(r.p, size)), 0, "unmapped");
  l.Set(Filled(size, 22));
  is(a.h.TransferSync(peer, op, list, 20000), hixl::FAILED, "refused");
  ErrorSays("transfer failed");
  ok(r.Get(0, size) == before, "memory that is not the card's is untouched");
  ok(l.Get(0, size) == Filled(size, 22), "nor did it read any");
  is(a.h.Disconnect(peer, 5000), 0, "disconnect");
  is(static_cast<uint64_t>(a350_dma_map(r.p, size)), 0, "mapped again");
  is(a.h.Connect(peer, 5000), 0, "connect");
  is(a.h.TransferSync(peer, op, list, 20000), 0, "the machine lives");
  is(a.h.Disconnect(peer, 5000), 0, "disconnect");
}

void TestUnmap() {
  const size_t size = 256 * 16384;
  Node a(0), b(1);
  Buffer l(0, false, size), r(1, true, size);

  a.Register(l);
  b.Register(r);
  TakenAway(a, b.name.c_str(), l, r, hixl::WRITE);
  TakenAway(a, b.name.c_str(), l, r, hixl::READ);
  a.h.Finalize();
  b.h.Finalize();
}

/* ---- limits of time ---- */

void TestTimeout() {
  const size_t size = 256 << 20;
  Node a(0), b(1);
  Buffer l(0, false, size), r(1, false, size);
  const char *peer = b.name.c_str();
  std::vector<TransferOpDesc> list(20, {Addr(l.p), Addr(r.p), size});
  int32_t late = 0;
  aclrtContext before = nullptr, after = nullptr;

  a.Register(l);
  b.Register(r);
  is(a.h.Connect(peer, 5000), 0, "connect");
  for (int32_t limit : {5, 20, 50}) {
    aclrtGetCurrentContext(&before);
    const double start = Now();
    const uint32_t ret = a.h.TransferSync(peer, hixl::WRITE, list, limit);
    const double took = Now() - start;
    aclrtGetCurrentContext(&after);
    ok(ret == hixl::TIMEOUT, "5 GiB in %d ms: TIMEOUT (%u)", limit, ret);
    printf("# returned after %.2f ms\n", took);
    ok(took >= limit - 1, "not early");
    late += took > limit + 500; /* who else uses the machine? */
    ok(before == after, "current context is as it was");
    is(a.h.TransferSync(peer, hixl::WRITE, {{Addr(l.p), Addr(r.p), 8}}),
       hixl::FAILED, "latched");
    const Bytes x = r.Get(0, 1 << 20);
    usleep(20000);
    l.Set(Filled(1 << 20, 1));
    usleep(20000);
    ok(r.Get(0, 1 << 20) == x, "nothing moves after the return");
    is(a.h.Disconnect(peer), 0, "disconnect");
    is(a.h.Connect(peer, 5000), 0, "connect");
  }
  is(static_cast<uint64_t>(late), 0, "never late by more than 500 ms");
  a.h.Finalize();
  b.h.Finalize();
}

/* ---- a peer that is killed ---- */

void Serve(int out, int device, const std::string &name, size_t size) {
  Hixl h;
  void *p = nullptr;
  hixl::MemHandle m;
  uintptr_t addr = 0;

  if (aclInit(nullptr) == 0 && aclrtSetDevice(device) == 0 &&
      h.Initialize(name.c_str(), Options()) == 0 &&
      aclrtMalloc(&p, size, ACL_MEM_MALLOC_HUGE_FIRST) == 0 &&
      h.RegisterMem(Mem(p, size), hixl::MEM_DEVICE, m) == 0) {
    addr = Addr(p);
  }
  if (write(out, &addr, sizeof(addr)) != sizeof(addr)) {
    _exit(1);
  }
  for (;;) {
    pause();
  }
}

void TestKill() {
  const size_t size = 256 << 20;
  const std::string name = NewName();
  const char *peer = name.c_str();
  uintptr_t remote = 0;
  int fd[2];

  if (pipe(fd) != 0) {
    return;
  }
  const pid_t child = fork();
  if (child == 0) {
    Serve(fd[1], 1, name, size);
  }
  ok(read(fd[0], &remote, sizeof(remote)) == sizeof(remote) && remote != 0,
     "server process");
  aclInit(nullptr);
  {
    Node a(0);
    Buffer l(0, false, size);
    std::vector<TransferOpDesc> list(20, {Addr(l.p), remote, size});
    a.Register(l);
    l.Set(Filled(1 << 20, 4));
    is(a.h.Connect(peer, 5000), 0, "connect");
    std::thread killer([child] {
      usleep(100000);
      kill(child, SIGKILL);
    });
    const double start = Now();
    const uint32_t ret = a.h.TransferSync(peer, hixl::WRITE, list, 20000);
    const double took = Now() - start;
    killer.join();
    ok(ret == hixl::FAILED, "peer killed in the middle: FAILED (%u)", ret);
    ok(took < 20500, "within the timeout");
    printf("# returned after %.2f ms\n", took);
    is(a.h.TransferSync(peer, hixl::WRITE, list, 20000), hixl::FAILED,
       "link failed");
    ok(l.Get(0, 1 << 20) == Filled(1 << 20, 4), "own memory is intact");
    is(a.h.Disconnect(peer), 0, "disconnect");
    is(a.h.Connect(peer, 1000), hixl::FAILED, "nobody there");
    a.h.Finalize();
  }
  waitpid(child, nullptr, 0);
}

/* ---- connect and disconnect, many times ---- */

int OpenFiles() {
  int n = 0;
  DIR *d = opendir("/proc/self/fd");
  while (readdir(d) != nullptr) {
    n++;
  }
  closedir(d);
  return n;
}

size_t FreeMemory() {
  size_t free_bytes = 0, total = 0;
  aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total);
  return free_bytes;
}

void TestConnect() {
  const int rounds = 10000;
  Node a(0), b(1);
  Buffer l(0, false, 4096), r(1, false, 4096);
  const char *peer = b.name.c_str();
  uint32_t ret = 0;
  double first = 0, last = 0;

  a.Register(l);
  b.Register(r);
  ret |= a.h.Connect(peer) | a.h.Disconnect(peer);
  aclrtSetDevice(0);
  usleep(100000); /* the server hears of the first one, too */
  const int files = OpenFiles();
  const size_t memory = FreeMemory();
  for (int i = 0; i < rounds; i++) {
    const double start = Now();
    ret |= a.h.Connect(peer, 5000);
    ret |= a.h.Disconnect(peer, 5000);
    (i < 1000 ? first : last) += i < 1000 || i >= rounds - 1000 ?
                                 Now() - start : 0;
  }
  is(ret, 0, "10,000 times connect and disconnect");
  printf("# %.3f ms each at first, %.3f ms at the end\n", first / 1000,
         last / 1000);
  usleep(100000); /* the server hears of the last one */
  is(static_cast<uint64_t>(OpenFiles()), static_cast<uint64_t>(files),
     "no file is left");
  is(FreeMemory(), memory, "no device memory is left");
  ok(last < first * 4 + 2000, "not slower and slower");
  is(a.h.Connect(peer), 0, "connect");
  is(a.h.TransferSync(peer, hixl::WRITE, {{Addr(l.p), Addr(r.p), 4096}}), 0,
     "transfer");
  a.h.Finalize();
  b.h.Finalize();
}

/* ---- threads, asynchronous calls ---- */

void TestThreads() {
  const size_t part = 1 << 20;
  Node a(0), b(1);
  Buffer l(0, false, 8 * part), r(1, false, 8 * part);
  const char *peer = b.name.c_str();
  uint32_t codes[8];
  std::vector<std::thread> t;

  a.Register(l);
  b.Register(r);
  l.Set(Filled(8 * part, 6));
  is(a.h.Connect(peer, 5000), 0, "connect");
  for (size_t i = 0; i < 8; i++) {
    t.emplace_back([&, i] { /* a thread without any context */
      codes[i] = 0;
      for (int k = 0; k < 20; k++) {
        codes[i] |= a.h.TransferSync(
            peer, hixl::WRITE,
            {{Addr(l.p, i * part), Addr(r.p, i * part), part}}, 20000);
      }
    });
  }
  for (auto &x : t) {
    x.join();
  }
  for (uint32_t c : codes) {
    is(c, 0, "20 transfers of a thread without context");
  }
  ok(r.Get(0, 8 * part) == Filled(8 * part, 6), "all bytes are right");

  std::vector<hixl::TransferReq> req(100);
  l.Set(Filled(8 * part, 7));
  uint32_t ret = 0;
  for (size_t i = 0; i < req.size(); i++) {
    const size_t n = 8 * part / req.size();
    ret |= a.h.TransferAsync(peer, hixl::WRITE,
                             {{Addr(l.p, i * n), Addr(r.p, i * n),
                               i + 1 == req.size() ? 8 * part - i * n : n}},
                             hixl::TransferArgs(), req[i]);
  }
  is(ret, 0, "100 asynchronous transfers");
  std::vector<hixl::TransferResult> all;
  hixl::GetTransferStatusArgs q;
  size_t done = 0;
  q.skip_waiting = true;
  const double start = Now();
  while (done < req.size() && Now() - start < 20000) {
    ret |= a.h.GetTransferStatus(q, all);
    for (const auto &x : all) {
      ret |= x.status != hixl::TransferStatus::COMPLETED;
    }
    done += all.size();
  }
  ok(ret == 0 && done == req.size(), "all complete, each told once");
  ok(r.Get(0, 8 * part) == Filled(8 * part, 7), "all bytes are right");
  a.h.Finalize();
  b.h.Finalize();
}

/* ---- the older twin and the C layer ---- */

void TestAdxl() {
  adxl::AdxlEngine a, b;
  std::map<ge::AscendString, ge::AscendString> o;
  const std::string an = NewName(), bn = NewName();
  Buffer l(0, false, 65536), r(1, true, 65536);
  adxl::MemDesc m = {};
  adxl::MemHandle h;
  adxl::TransferReq q;
  adxl::TransferStatus s = adxl::TransferStatus::WAITING;

  o[adxl::OPTION_LOCAL_COMM_RES] = "{\"version\":\"1.3\"}";
  o[adxl::OPTION_BUFFER_POOL] = "0:0";
  o[adxl::OPTION_AUTO_CONNECT] = "1";
  aclrtSetDevice(0);
  is(a.Initialize(an.c_str(), o), 0, "adxl A");
  aclrtSetDevice(1);
  is(b.Initialize(bn.c_str(), o), 0, "adxl B");
  m.addr = Addr(l.p);
  m.len = 65536;
  is(a.RegisterMem(m, adxl::MEM_DEVICE, h), 0, "register");
  m.addr = Addr(r.p);
  is(b.RegisterMem(m, adxl::MEM_HOST, h), 0, "register");
  l.Set(Filled(65536, 2));
  is(a.TransferAsync(bn.c_str(), adxl::WRITE,
                     {{Addr(l.p), Addr(r.p), 65536}}, adxl::TransferArgs(),
                     q), 0, "asynchronous, connects by itself");
  const double start = Now();
  while (s == adxl::TransferStatus::WAITING && Now() - start < 10000) {
    a.GetTransferStatus(q, s);
  }
  ok(s == adxl::TransferStatus::COMPLETED &&
     r.Get(0, 65536) == Filled(65536, 2), "arrived");
  a.Finalize();
  b.Finalize();
}

void TestCs() {
  EndpointDesc e;
  HixlServerDesc sd = {};
  HixlClientDesc cd = {};
  HixlServerConfig sc;
  HixlClientConfig cc;
  HixlServerHandle s;
  HixlClientHandle c;
  MemHandle sm, cm;
  Buffer l(0, false, 65536), r(1, false, 65536);
  CommMem m, *list;
  char **tags;
  uint32_t n = 0;

  EndpointDescInit(&e, 1);
  e.protocol = COMM_PROTOCOL_UBC_CTP;
  sd.endpoint_list = &e;
  sd.endpoint_list_num = 1;
  sd.server_ip = "127.0.0.1";
  sd.server_port = static_cast<uint32_t>(++port);
  aclrtSetDevice(1);
  is(HixlCSServerCreate(&sd, &sc, &s), HIXL_SUCCESS, "server");
  m = {COMM_MEM_TYPE_DEVICE, r.p, 65536};
  is(HixlCSServerRegMem(s, "cache", &m, &sm), HIXL_SUCCESS, "memory");
  is(HixlCSServerListen(s, 8), HIXL_SUCCESS, "listen");
  cd.local_endpoint = cd.remote_endpoint = &e;
  cd.server_ip = "127.0.0.1";
  cd.server_port = sd.server_port;
  aclrtSetDevice(0);
  is(HixlCSClientCreate(&cd, &cc, &c), HIXL_SUCCESS, "client");
  m = {COMM_MEM_TYPE_DEVICE, l.p, 65536};
  is(HixlCSClientRegMem(c, "", &m, &cm), HIXL_SUCCESS, "memory");
  is(HixlCSClientConnect(c, 5000), HIXL_SUCCESS, "connect");
  is(HixlCSClientGetRemoteMem(c, &list, &tags, &n, 5000), HIXL_SUCCESS,
     "remote memory");
  ok(n == 1 && std::strcmp(tags[0], "cache") == 0 && list[0].addr == r.p,
     "is the server's");
  l.Set(Filled(65536, 3));
  const HixlOneSideOpDesc op = {r.p, l.p, 65536};
  is(HixlCSClientBatchPutSync(c, 1, &op, 5000), HIXL_SUCCESS, "put");
  ok(r.Get(0, 65536) == Filled(65536, 3), "arrived");
  is(HixlCSClientDestroy(c), HIXL_SUCCESS, "destroy client");
  is(HixlCSServerDestroy(s), HIXL_SUCCESS, "destroy server");
}

void TestLayers() {
  TestAdxl();
  TestCs();
}

/* ---- more links than the card has queues ---- */

void TestLinks() {
  const size_t links = 300;      /* the cards have 256 queues */
  Node a(0);
  Buffer l(0, false, links * 4096), r(1, false, links * 4096);
  std::vector<std::unique_ptr<Hixl>> b;
  std::vector<std::string> name;
  hixl::MemHandle m;
  aclrtStream stream;
  uint32_t ret = 0;
  struct rlimit files = {4096, 4096};

  /* Five files for a link with both its ends here. */
  ok(setrlimit(RLIMIT_NOFILE, &files) == 0, "enough files");
  a.Register(l);
  l.Set(Filled(links * 4096, 5));
  for (size_t i = 0; i < links; i++) {
    b.emplace_back(new Hixl);
    name.push_back(NewName());
    aclrtSetDevice(1);
    ret |= b[i]->Initialize(name[i].c_str(), Options());
    ret |= b[i]->RegisterMem(Mem(r.p + i * 4096, 4096), hixl::MEM_DEVICE, m);
    ret |= a.h.Connect(name[i].c_str(), 20000);
  }
  if (!is(ret, 0, "300 links")) {
    ErrorSays("?");              /* shows the last message */
  }
  for (size_t i = 0; i < links; i++) {
    ret |= a.h.TransferSync(name[i].c_str(), hixl::WRITE,
                            {{Addr(l.p, i * 4096), Addr(r.p, i * 4096), 4096}},
                            20000);
  }
  is(ret, 0, "a transfer over each");
  ok(r.Get(0, links * 4096) == Filled(links * 4096, 5),
     "every byte is right");
  aclrtSetDevice(0);
  ok(aclrtCreateStream(&stream) == 0, "there is a queue for a stream");
  aclrtDestroyStream(stream);
  std::vector<hixl::TransferReq> req(128);
  const hixl::TransferArgs args;
  hixl::TransferReq more;
  for (size_t i = 0; i < req.size(); i++) {
    ret |= a.h.TransferAsync(name[i].c_str(), hixl::WRITE,
                             {{Addr(l.p), Addr(r.p, i * 4096), 4096}}, args,
                             req[i]);
  }
  is(ret, 0, "128 links at work at once");
  is(a.h.TransferAsync(name[200].c_str(), hixl::WRITE,
                       {{Addr(l.p), Addr(r.p, 200 * 4096), 4096}}, args,
                       more), hixl::RESOURCE_EXHAUSTED, "one more");
  for (auto q : req) {
    hixl::TransferStatus s = hixl::TransferStatus::WAITING;
    while (ret == 0 && s == hixl::TransferStatus::WAITING) {
      ret |= a.h.GetTransferStatus(q, s);
    }
    ret |= s != hixl::TransferStatus::COMPLETED;
  }
  is(ret, 0, "all complete");
  is(a.h.TransferSync(name[200].c_str(), hixl::WRITE,
                      {{Addr(l.p), Addr(r.p, 200 * 4096), 4096}}, 20000), 0,
     "the refused link is unharmed");
  const double start = Now();
  a.h.Finalize();
  printf("# 300 links ended in %.1f ms\n", Now() - start);
}

/* ---- several engines, both directions, names of both kinds ---- */

void Mesh(const std::vector<int> &devices) {
  const size_t n = devices.size(), part = 65536;
  std::vector<std::unique_ptr<Node>> e;
  std::vector<std::unique_ptr<Buffer>> m;
  std::vector<std::thread> t;
  std::vector<uint32_t> codes(n, 0);
  bool good = true;

  for (size_t i = 0; i < n; i++) {
    e.emplace_back(new Node(devices[i]));
    m.emplace_back(new Buffer(devices[i], i == 3, part * (n + 1)));
    if (i % 2) {
      e[i]->h.Finalize();
      e[i]->name = "[::1]:" + std::to_string(++port);
      aclrtSetDevice(devices[i]);
      is(e[i]->h.Initialize(e[i]->name.c_str(), Options()), 0, "IPv6 name");
    }
    e[i]->Register(*m[i]);
    m[i]->Set(Filled(part, static_cast<unsigned>(i + 20)), n * part);
  }
  for (size_t i = 0; i < n; i++) {
    t.emplace_back([&, i] {
      for (size_t k = 0; k < n; k++) {
        if (i != k) {
          const char *to = e[k]->name.c_str();
          codes[i] |= e[i]->h.Connect(to, 20000);
          codes[i] |= e[i]->h.TransferSync(
              to, hixl::WRITE, {{Addr(m[i]->p, n * part),
                                 Addr(m[k]->p, i * part), part}}, 20000);
        }
      }
    });
  }
  for (auto &x : t) {
    x.join();
  }
  for (size_t i = 0; i < n; i++) {
    for (size_t k = 0; k < n; k++) {
      good = good && codes[i] == 0 &&
             (i == k || m[k]->Get(i * part, part) ==
                            Filled(part, static_cast<unsigned>(i + 20)));
    }
  }
  ok(good, "%zu engines: each wrote to each at the same time", n);
}

void TestEngines() {
  Mesh({0});
  Mesh({0, 0});
  Mesh({0, 1});
  Mesh({0, 0, 1, 1});
}

const struct {
  const char *name;
  void (*run)();
  bool init;
} kTests[] = {
    {"data", TestData, true},       {"codes", TestCodes, true},
    {"timeout", TestTimeout, true}, {"kill", TestKill, false},
    {"connect", TestConnect, true}, {"threads", TestThreads, true},
    {"layers", TestLayers, true},   {"links", TestLinks, true},
    {"engines", TestEngines, true}, {"unmap", TestUnmap, true},
};
}  // namespace

int main(int argc, char **argv) {
  setvbuf(stdout, nullptr, _IOLBF, 0);
  for (const auto &t : kTests) {
    if (argc == 2 && std::strcmp(argv[1], t.name) == 0) {
      if (t.init) {
        is(static_cast<uint64_t>(aclInit(nullptr)), 0, "aclInit");
      }
      t.run();
      aclrtResetDevice(0);
      aclrtResetDevice(1);
      aclFinalize();
      return done_testing();
    }
  }
  fprintf(stderr, "usage: hixl-vm data|codes|unmap|timeout|kill|connect|"
          "threads|layers|links|engines\n");
  return 2;
}
