/*
 * HIXL: calls that meet each other, peers that are there and do nothing.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A call keeps its own time limit, whatever other threads do with the same
 * engine or link (spec/api/hixl.md §3); two cards of plain memory: hixl-mock.h.
 */
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <atomic>
#include <functional>
#include <thread>

#include "hixl-test.h"
#include "hx.h"

/* How late a call may be where others use the machine too. */
static const long kLate = 1000;
/* What a call must not wait for. */
static const int32_t kLong = 6000;

static const TransferOpDesc kDesc = {Pair::La(0), Pair::Rb(0), 8};

/* A listening socket of a port that is free. */
static int Listen(std::string *name) {
  sockaddr_in a = {};
  const int fd = socket(AF_INET, SOCK_STREAM, 0);

  a.sin_family = AF_INET;
  a.sin_port = htons(static_cast<uint16_t>(NewPort()));
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  *name = "127.0.0.1:" + std::to_string(port);
  ok(bind(fd, reinterpret_cast<sockaddr *>(&a), sizeof(a)) == 0 &&
     listen(fd, 8) == 0, "listen on %s", name->c_str());
  return fd;
}

static int Dial(int to) {
  sockaddr_in a = {};
  const int fd = socket(AF_INET, SOCK_STREAM, 0);

  a.sin_family = AF_INET;
  a.sin_port = htons(static_cast<uint16_t>(to));
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return connect(fd, reinterpret_cast<sockaddr *>(&a), sizeof(a)) ? -1 : fd;
}

/*
 * Between a client and B. It passes on what comes until it is told to be
 * mute, which leaves the connections open, or to answer whatever the client
 * says next with heartbeats without end.
 */
struct Between {
  enum Mode { kPass, kMute, kFlood };
  std::atomic<int> mode{kPass};
  std::atomic<bool> stop{false};
  std::string name;
  int listener, to;
  std::thread t;

  explicit Between(int target) : to(target) {
    listener = Listen(&name);
    t = std::thread([this] { Run(); });
  }
  ~Between() {
    stop = true;
    shutdown(listener, SHUT_RDWR);
    t.join();
    close(listener);
  }
  void Flood(int fd) {
    static const uint8_t beat[16] = {0xd1, 0xc2, 0xb3, 0xa4, 4, 0, 0, 0,
                                     0, 0, 0, 0, HX_HEARTBEAT, 0, 0, 0};
    std::vector<uint8_t> many;
    for (int i = 0; i < 1024; i++) {
      many.insert(many.end(), beat, beat + sizeof(beat));
    }
    while (!stop && send(fd, many.data(), many.size(), MSG_NOSIGNAL) > 0) {
      continue;
    }
  }
  void Run() {
    const int a = accept(listener, nullptr, nullptr);
    const int b = a < 0 ? -1 : Dial(to);
    pollfd p[2] = {{a, POLLIN, 0}, {b, POLLIN, 0}};
    char part[4096];

    while (a >= 0 && b >= 0 && !stop) {
      poll(p, 2, 10);
      for (int i = 0; i < 2 && !stop && mode != kMute; i++) {
        if (p[i].revents == 0) {
          continue;
        }
        const ssize_t n = recv(p[i].fd, part, sizeof(part), MSG_DONTWAIT);
        if (n <= 0) {
          stop = true;
        } else if (mode == kFlood) {
          Flood(a);
        } else {
          send(p[1 - i].fd, part, static_cast<size_t>(n), MSG_NOSIGNAL);
        }
      }
    }
    close(a);
    close(b);
  }
};

static hixl::NotifyDesc Note() {
  hixl::NotifyDesc n;

  n.name = "n";
  n.notify_msg = "m";
  return n;
}

/* The peer takes a notify and does not acknowledge it. */
static void TestNotifyHoldsNobody() {
  Pair x(Options(), false);
  Between p(port);
  const char *b = p.name.c_str();
  hixl::TransferReq r = nullptr;
  hixl::TransferStatus s = hixl::TransferStatus::FAILED;
  uint32_t noted = 1;

  is(x.a.Connect(b), 0, "connect");
  is(x.a.TransferAsync(b, hixl::WRITE, {kDesc}, hixl::TransferArgs(), r), 0,
     "a transfer, not asked for yet");
  usleep(20000);
  p.mode = Between::kMute;
  auto t = Clock::now();
  std::thread notifier([&] { noted = x.a.SendNotify(b, Note(), kLong); });
  usleep(100000);
  is(x.a.TransferSync(b, hixl::WRITE, {kDesc}, 3000), 0,
     "TransferSync beside a notify that nobody acknowledges");
  ok(x.a.GetTransferStatus(r, s) == 0 &&
     s == hixl::TransferStatus::COMPLETED, "GetTransferStatus");
  ok(Ms(t) < 100 + kLate, "neither waits for it (%ld ms)", Ms(t));
  t = Clock::now();
  is(x.a.SendNotify(b, Note(), 200), hixl::TIMEOUT, "another notify");
  ok(Ms(t) < 200 + kLate, "keeps its own limit (%ld ms)", Ms(t));
  t = Clock::now();
  x.a.Disconnect(b, 200);
  ok(Ms(t) < 200 + kLate, "Disconnect too (%ld ms)", Ms(t));
  notifier.join();
  is(noted, hixl::FAILED, "which ends the notify");
}

/* A peer that says something all the time, but never what is waited for. */
static void TestNotifyFlood() {
  Pair x(Options(), false);
  Between p(port);

  is(x.a.Connect(p.name.c_str()), 0, "connect");
  p.mode = Between::kFlood;
  auto t = Clock::now();
  is(x.a.SendNotify(p.name.c_str(), Note(), 300), hixl::TIMEOUT,
     "a notify that is answered with heartbeats only");
  ok(Ms(t) < 300 + kLate, "keeps its limit (%ld ms)", Ms(t));
  x.a.Disconnect(p.name.c_str());
}

/* A late acknowledgement, unread, does not hide that the peer is gone. */
static void TestGoneBehindAnswers() {
  Pair x(Options(), false);
  Between p(port);

  is(x.a.Connect(p.name.c_str()), 0, "connect");
  p.mode = Between::kMute;
  is(x.a.SendNotify(p.name.c_str(), Note(), 50), hixl::TIMEOUT, "notify");
  p.mode = Between::kPass;
  usleep(100000);
  p.stop = true;
  usleep(100000);
  is(x.a.TransferSync(p.name.c_str(), hixl::WRITE, {kDesc}), hixl::FAILED,
     "the peer has answered late and gone");
  ok(Says("is gone"), "message says so: %s", mock_error());
}

/* A server that accepts and says nothing: Connect is under way. */
static void TestWhileConnecting() {
  std::string name;
  const int fd = Listen(&name);
  const char *b = name.c_str();
  uint32_t first = 1;
  Pair x(Options(), false);

  std::thread other([&] { first = x.a.Connect(b, 1500); });
  usleep(100000);
  struct {
    const char *what;
    std::function<uint32_t()> call;
  } const calls[] = {
      {"Connect", [&] { return x.a.Connect(b, 150); }},
      {"TransferSync",
       [&] { return x.a.TransferSync(b, hixl::WRITE, {kDesc}, 150); }},
      {"SendNotify", [&] { return x.a.SendNotify(b, Note(), 150); }},
      {"Disconnect", [&] { return x.a.Disconnect(b, 150); }},
  };
  for (const auto &c : calls) {
    auto t = Clock::now();
    is(c.call(), hixl::TIMEOUT, c.what);
    ok(Ms(t) >= 149 && Ms(t) < 150 + 500, "after 150 ms (%ld)", Ms(t));
  }
  is(x.a.Connect(b, 3000), hixl::TIMEOUT,
     "a second Connect waits, and then tries for itself");
  other.join();
  is(first, hixl::TIMEOUT, "the first one");
  is(x.a.TransferSync(b, hixl::WRITE, {kDesc}), hixl::NOT_CONNECTED,
     "no link is left");
  close(fd);
}

/* Two threads connect to a peer that is there: one link, both may go on. */
static void TestConnectTwice() {
  Pair x(Options(), false);
  const char *b = x.bn.c_str();
  uint32_t ok_num = 0, already = 0, bad = 0, used = 0;

  for (int i = 0; i < 50; i++) {
    uint32_t r[4], tr[4];
    std::vector<std::thread> t;
    for (int k = 0; k < 4; k++) {
      t.emplace_back([&, k] {
        r[k] = x.a.Connect(b, 5000);
        tr[k] = x.a.TransferSync(b, hixl::WRITE, {kDesc}, 5000);
      });
    }
    for (int k = 0; k < 4; k++) {
      t[k].join();
      ok_num += r[k] == 0;
      already += r[k] == hixl::ALREADY_CONNECTED;
      bad += r[k] != 0 && r[k] != hixl::ALREADY_CONNECTED;
      used += tr[k] == 0;
    }
    bad += x.a.Disconnect(b) != 0;
  }
  is(ok_num, 50, "one of four threads connects");
  is(already, 150, "the others find the link");
  is(bad, 0, "no other code");
  is(used, 200, "all can use it");
}

/* More work than the ring holds, and a card that does nothing. */
static void TestLongListHoldsNobody() {
  Pair x;
  const char *b = x.bn.c_str();
  const std::vector<TransferOpDesc> many(8000, kDesc);
  hixl::TransferReq r = nullptr, first = nullptr;
  hixl::TransferStatus s;
  uint32_t ret = 1;
  auto post = [&] {
    ret = x.a.TransferAsync(b, hixl::WRITE, many, hixl::TransferArgs(), r);
  };

  mock_hold(true);
  x.a.TransferAsync(b, hixl::WRITE, {kDesc}, hixl::TransferArgs(), first);
  std::thread one(post);
  usleep(100000);
  auto t = Clock::now();
  ok(x.a.GetTransferStatus(first, s) == 0 &&
     s == hixl::TransferStatus::WAITING, "GetTransferStatus meanwhile");
  is(x.a.TransferSync(b, hixl::WRITE, {kDesc}, 150), hixl::TIMEOUT,
     "TransferSync behind a long list");
  ok(Ms(t) >= 149 && Ms(t) < 150 + kLate, "after 150 ms (%ld)", Ms(t));
  one.join();
  is(ret, hixl::FAILED, "the link failed, and with it the list");
  ok(x.a.GetTransferStatus(first, s) == 0 &&
     s == hixl::TransferStatus::FAILED, "and the first transfer");
  is(x.a.Disconnect(b), 0, "disconnect");
  is(x.a.Connect(b), 0, "connect");
  std::thread two(post);
  usleep(100000);
  t = Clock::now();
  x.a.Finalize();
  ok(Ms(t) < kLate, "Finalize in the middle of a long list (%ld ms)", Ms(t));
  two.join();
  is(ret, hixl::FAILED, "ends it");
  mock_hold(false);
}

/* Threads that transfer until they are told to stop do not keep Finalize out. */
static void TestFinalizeBesideOthers() {
  Pair x;
  std::atomic<unsigned> done{0};
  std::vector<std::thread> t;

  for (int i = 0; i < 4; i++) {
    t.emplace_back([&] {
      std::vector<hixl::NotifyDesc> n;
      const auto start = Clock::now();
      while (x.a.TransferSync(x.bn.c_str(), hixl::WRITE, {kDesc}, kLong) == 0 &&
             Ms(start) < kLong) {
        x.a.GetNotifies(n);
      }
      done++;
    });
  }
  usleep(50000);
  auto since = Clock::now();
  x.a.Finalize();
  ok(Ms(since) < kLate, "Finalize beside four busy threads (%ld ms)",
     Ms(since));
  for (auto &q : t) {
    q.join();
  }
  is(done, 4, "which hear of it");
}

/* With AutoConnect the failure of a link costs no thread the next one. */
static void TestAutoConnectTogether() {
  Options o;
  o["AutoConnect"] = "1";
  Pair x(o, false);
  const char *b = x.bn.c_str();
  std::atomic<unsigned> failed{0};

  for (int round = 0; round < 30; round++) {
    is(x.a.TransferSync(b, hixl::WRITE, {kDesc}, 5000), 0, "connected");
    mock_hold(true);
    is(x.a.TransferSync(b, hixl::WRITE, {kDesc}, 5), hixl::TIMEOUT, "fails");
    mock_hold(false);
    std::vector<std::thread> t;
    for (int k = 0; k < 6; k++) {
      t.emplace_back([&] {
        for (int i = 0; i < 4; i++) {
          failed += x.a.TransferSync(b, hixl::WRITE, {kDesc}, 5000) != 0;
        }
      });
    }
    for (auto &q : t) {
      q.join();
    }
  }
  is(failed, 0, "every transfer after the failure succeeds");
  mock_hold(true);
  is(x.a.TransferSync(b, hixl::WRITE, {kDesc}, 5), hixl::TIMEOUT, "fails");
  mock_hold(false);
  is(x.a.DeregisterMem(x.ha), 0, "the engine has disconnected by itself");
}

/* Much host memory takes its time to be pinned. */
static void TestRegisterHoldsNobody() {
  Pair x;
  uint8_t *p = static_cast<uint8_t *>(
      mmap(nullptr, 16 * 4096, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  std::vector<hixl::NotifyDesc> got;
  uint32_t ra = 1, rb = 1;

  mock_slow_map(200000);
  std::thread t([&] {
    MemHandle m;
    ra = x.a.RegisterMem(Mem(reinterpret_cast<uintptr_t>(p), 8 * 4096),
                         hixl::MEM_HOST, m);
  });
  std::thread u([&] {
    MemHandle m;
    rb = x.b.RegisterMem(Mem(reinterpret_cast<uintptr_t>(p) + 8 * 4096,
                             8 * 4096), hixl::MEM_HOST, m);
  });
  usleep(100000);
  auto since = Clock::now();
  is(x.a.TransferSync(x.bn.c_str(), hixl::WRITE, {kDesc}, 1000), 0,
     "TransferSync while memory is being registered");
  is(x.a.SendNotify(x.bn.c_str(), Note(), 1000), 0, "SendNotify");
  ok(x.b.GetNotifies(got) == 0 && got.size() == 1, "GetNotifies");
  ok(Ms(since) < kLate, "none waits for it (%ld ms)", Ms(since));
  mock_slow_map(0);
  t.join();
  u.join();
  is(ra | rb, 0, "registered");
  x.a.Finalize();
  x.b.Finalize();
  munmap(p, 16 * 4096);
}

/* Only a segment that is in use may be free in a moment. */
static void TestBrokenCard() {
  auto since = Clock::now();
  {
    Pair x(Options(), false);
    mock_refuse(EIO);
  }
  mock_refuse(0);
  ok(Ms(since) < kLate, "Finalize on a broken card (%ld ms)", Ms(since));
  ok(std::strstr(mock_last_warning(), "stays registered"), "and a warning");
}

/* Memory that a peer's transfer still uses is not said to be free. */
static void TestBusySegment() {
  Pair x(Options(), false);
  const unsigned old = hx_busy_ms;

  is(old, 5000, "a peer's last request may take 5 s");
  hx_busy_ms = 50;
  mock_refuse(EBUSY);
  is(x.b.DeregisterMem(x.hb), hixl::FAILED, "a segment in use");
  ok(Says("still uses it"), "message says so");
  mock_refuse(0);
  is(x.a.Connect(x.bn.c_str()), 0, "connect");
  is(x.b.DeregisterMem(x.hb), 0, "a moment later");
  is(x.b.DeregisterMem(x.hb), 0, "it is gone");
  hx_busy_ms = old;
}

/* A process without files left: the target waits for some, and sleeps. */
static void TestNoFiles() {
  Pair x(Options(), false);
  rlimit old, few;
  rusage a, b;
  std::vector<int> held;

  getrlimit(RLIMIT_NOFILE, &old);
  few = old;
  few.rlim_cur = 64;
  setrlimit(RLIMIT_NOFILE, &few);
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  for (int i; (i = open("/dev/null", O_RDONLY)) >= 0;) {
    held.push_back(i);
  }
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  connect(fd, reinterpret_cast<sockaddr *>(&to), sizeof(to));
  usleep(50000);
  getrusage(RUSAGE_SELF, &a);
  usleep(1000000);
  getrusage(RUSAGE_SELF, &b);
  const long us = (b.ru_utime.tv_sec - a.ru_utime.tv_sec + b.ru_stime.tv_sec -
                   a.ru_stime.tv_sec) * 1000000 + b.ru_utime.tv_usec -
                  a.ru_utime.tv_usec + b.ru_stime.tv_usec - a.ru_stime.tv_usec;
  ok(us < 300000, "no files left: %ld us of CPU time in a second", us);
  for (int i : held) {
    close(i);
  }
  setrlimit(RLIMIT_NOFILE, &old);
  is(x.a.Connect(x.bn.c_str(), 5000), 0, "files again: connect");
  close(fd);
}

/* A child has the parent's engines in its memory, but they are not its own. */
static void TestFork() {
  Pair x;
  int status = -1;

  const pid_t child = fork();
  if (child == 0) {
    uint32_t bad = 0;
    alarm(20);
    bad |= x.a.TransferSync(x.bn.c_str(), hixl::WRITE, {kDesc}) != hixl::FAILED;
    bad |= Says("fork") ? 0 : 2;
    x.a.Finalize();
    x.b.Finalize();
    _exit(static_cast<int>(bad));
  }
  waitpid(child, &status, 0);
  is(static_cast<uint64_t>(status), 0, "a child's calls fail, it can end");
  is(x.a.TransferSync(x.bn.c_str(), hixl::WRITE, {kDesc}), 0,
     "the parent's link works");
  is(x.a.Disconnect(x.bn.c_str()), 0, "disconnect");
  is(x.a.Connect(x.bn.c_str(), 2000), 0, "the parent's server works");
}

static const struct {
  const char *name;
  void (*run)();
} kTests[] = {
    {"notify-holds-nobody", TestNotifyHoldsNobody},
    {"notify-flood", TestNotifyFlood},
    {"gone-behind-answers", TestGoneBehindAnswers},
    {"while-connecting", TestWhileConnecting},
    {"connect-twice", TestConnectTwice},
    {"long-list-holds-nobody", TestLongListHoldsNobody},
    {"finalize-beside-others", TestFinalizeBesideOthers},
    {"auto-connect-together", TestAutoConnectTogether},
    {"register-holds-nobody", TestRegisterHoldsNobody},
    {"broken-card", TestBrokenCard},
    {"busy-segment", TestBusySegment},
    {"no-files", TestNoFiles},
    {"fork", TestFork},
};

/* All tests, or the one that is named. */
int main(int argc, char **argv) {
  setvbuf(stdout, nullptr, _IOLBF, 0);
  for (const auto &t : kTests) {
    if (argc < 2 || std::strcmp(argv[1], t.name) == 0) {
      printf("# %s\n", t.name);
      alarm(60);               /* a call that hangs */
      t.run();
    }
  }
  is(static_cast<uint64_t>(mock_alive()), 0, "nothing is left at the end");
  return done_testing();
}
