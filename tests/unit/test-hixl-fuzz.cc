/*
 * HIXL: the parsers of control messages, and a live engine's port, against
 * mutated messages. Built with the sanitizers; what is checked beside them is
 * that a parser takes only what is consistent.
 *
 *   test-hixl-fuzz [SEED [ROUNDS]]
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <arpa/inet.h>
#include <sys/socket.h>

#include <cstdlib>
#include <memory>

#include "hixl-test.h"
#include "hx.h"

namespace {
uint64_t state;

uint32_t Random() {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return static_cast<uint32_t>(state >> 16);
}
size_t Below(size_t n) { return n == 0 ? 0 : Random() % n; }

std::string Owned(char *text) {
  std::string s(text == nullptr ? "" : text);
  free(text);
  return s;
}

std::string FrameOf(int32_t type, const std::string &body) {
  hx_buf b = {};
  hx_frame_put(&b, type, body.data(), body.size());
  std::string s(reinterpret_cast<char *>(b.data), b.len);
  hx_buf_free(&b);
  return s;
}

/* One good message of each kind: type and body. */
struct Seed {
  int32_t type;
  std::string body;
};

std::vector<Seed> Seeds() {
  hx_endpoints e = {};
  hx_mem mem[2] = {};
  hx_table t = {mem, 2};
  hx_buf b = {};
  hx_note n = {7, 4, 5, "name", "hello"};
  uint8_t ack[12];

  std::strcpy(e.engine, "127.0.0.1:16000");
  std::strcpy(e.net_instance, "net");
  e.proto[HX_UB_CTP] = e.proto[HX_UBOE] = true;
  e.eid[15] = 9;
  mem[0].addr = mock_device(0, 0);
  mem[1].addr = 4096;
  mem[0].len = mem[1].len = 1 << 20;
  mem[1].type = 1;
  std::strcpy(mem[1].tag, "cache");
  hx_note_encode(&b, &n);
  hx_ack_encode(ack, 7, 0);
  std::vector<Seed> s = {
      {HX_ENDPOINTS, Owned(hx_endpoints_encode(&e))},
      {HX_MEM_INFO, "{}"},
      {HX_MEM_INFO_RESP, Owned(hx_mems_encode(&t))},
      {HX_CREATE_CHANNEL, Owned(hx_result_encode(0, "e"))},
      {HX_NOTIFY, std::string(reinterpret_cast<char *>(b.data), b.len)},
      {HX_NOTIFY_ACK, std::string(reinterpret_cast<char *>(ack), 12)},
      {HX_HEARTBEAT, ""},
  };
  hx_buf_free(&b);
  return s;
}

const char *const kTokens[] = {
    "-1", "0", "9223372036854775807", "18446744073709551616", "1e308", "null",
    "true", "{}", "[]", "\"\"", "\\u0000", "\\ud800", "\"addr\":", "\"size\":",
    "[[[[[[[[", "\"version\":1,", "\"result\":", "\x80\xff", "\"", "}"};

std::string Mutate(std::string s, const std::vector<Seed> &all) {
  const size_t times = 1 + Below(4);

  for (size_t i = 0; i < times; i++) {
    const size_t at = Below(s.size() + 1);
    switch (Below(7)) {
      case 0:
        s.insert(at, kTokens[Below(sizeof(kTokens) / sizeof(kTokens[0]))]);
        break;
      case 1:
        s.erase(at, 1 + Below(16));
        break;
      case 2:
        s.resize(at);
        break;
      case 3:
        s.insert(at, s.substr(Below(s.size() + 1), Below(64)));
        break;
      case 4:
        s.insert(at, all[Below(all.size())].body.substr(0, 200));
        break;
      default:
        if (at < s.size()) {
          s[at] = static_cast<char>(
              Below(2) ? s[at] ^ (1 << Below(8)) : Random());
        }
        break;
    }
  }
  return s;
}

/* An exact copy on the heap: one byte beyond it is seen by the sanitizer. */
struct Exact {
  std::unique_ptr<char[]> p;
  explicit Exact(const std::string &s) : p(new char[s.size()]) {
    std::memcpy(p.get(), s.data(), s.size());
  }
};

bool Text(const char *s, size_t size) { return strnlen(s, size) < size; }

/* All decoders on one body; false: one took what it must not take. */
bool Decode(const std::string &s, size_t *taken) {
  const Exact x(s);
  hx_endpoints e;
  hx_table t;
  hx_note n;
  char reason[128];
  const char *why = nullptr;
  uint32_t code;
  uint64_t id;
  bool good = true;

  if (hx_endpoints_decode(x.p.get(), s.size(), &e, &why)) {
    ++*taken;
    good = good && Text(e.engine, sizeof(e.engine)) &&
           Text(e.net_instance, sizeof(e.net_instance));
  } else {
    good = good && why != nullptr;
  }
  if (hx_mems_decode(x.p.get(), s.size(), &t, &why)) {
    ++*taken;
    for (size_t i = 0; i < t.num; i++) {
      const hx_mem &m = t.mem[i];
      good = good && m.addr != 0 && m.len != 0 && m.addr + m.len > m.addr &&
             (m.type == 0 || m.type == 1) && m.token_id < 1u << 20 &&
             Text(m.tag, sizeof(m.tag)) &&
             (i == 0 || t.mem[i - 1].addr <= m.addr);
    }
    hx_table_free(&t);
  } else {
    good = good && t.mem == nullptr && why != nullptr;
  }
  if (hx_result_decode(x.p.get(), s.size(), &code, reason, &why)) {
    ++*taken;
    good = good && Text(reason, sizeof(reason));
  }
  if (hx_note_decode(x.p.get(), s.size(), &n)) {
    ++*taken;
    good = good && n.name_len <= 1024 && n.msg_len <= 1024 &&
           n.name >= x.p.get() && n.msg + n.msg_len == x.p.get() + s.size();
  }
  *taken += hx_ack_decode(x.p.get(), s.size(), &id, &code);
  return good;
}

/* A stream of bytes into the framing, in pieces. */
bool Frames(const std::string &s) {
  hx_buf b = {};
  hx_frame f;
  size_t at = 0;
  bool good = true;

  while (at < s.size()) {
    const size_t n = 1 + Below(s.size() - at);
    hx_buf_add(&b, s.data() + at, n);
    at += n;
    enum hx_parse r;
    while ((r = hx_frame_get(&b, &f)) == HX_FRAME_ONE) {
      good = good && f.used <= b.len && f.len <= HX_BODY_MAX &&
             f.payload + f.len <= b.data + b.len;
      hx_buf_drop(&b, f.used);
    }
    if (r == HX_FRAME_BAD) {
      good = good && f.why != nullptr;
      break;
    }
  }
  hx_buf_free(&b);
  return good;
}

void TestParsers(size_t rounds) {
  const std::vector<Seed> seeds = Seeds();
  size_t taken = 0, bad = 0;

  for (const auto &s : seeds) {
    Decode(s.body, &taken);
  }
  ok(taken >= 5, "every parser takes its own message");
  taken = 0;
  for (size_t i = 0; i < rounds; i++) {
    const uint64_t before = state;
    const Seed &s = seeds[Below(seeds.size())];
    const std::string m = Mutate(s.body, seeds);
    if (!Decode(m, &taken) || !Frames(Mutate(FrameOf(s.type, m), seeds))) {
      printf("# state %llu: %s\n", static_cast<unsigned long long>(before),
             m.c_str());
      bad++;
    }
  }
  is(bad, 0, "mutated messages: what is taken is consistent");
  ok(taken > rounds / 100, "and some are taken (%zu of %zu)", taken, rounds);
}

int Dial(int to) {
  struct sockaddr_in sa = {};
  struct timeval tv = {5, 0};
  int fd = socket(AF_INET, SOCK_STREAM, 0);

  sa.sin_family = AF_INET;
  sa.sin_port = htons(static_cast<uint16_t>(to));
  sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
  return connect(fd, reinterpret_cast<sockaddr *>(&sa), sizeof(sa)) ? -1 : fd;
}

/* Whole connections of mutated frames against an engine that is at work. */
void TestLive(size_t rounds) {
  const std::vector<Seed> seeds = Seeds();
  std::vector<hixl::NotifyDesc> notes;
  Pair x;
  const int to = port;      /* of B: the name made last */
  uint32_t ret = 0;
  size_t dialled = 0;

  for (size_t i = 0; i < rounds; i++) {
    const int fd = Dial(to);
    std::string all;
    for (size_t k = 1 + Below(20); k; k--) {
      const Seed &s = seeds[Below(seeds.size())];
      const std::string f =
          FrameOf(Below(50) ? s.type : static_cast<int32_t>(Below(20)),
                  Below(3) ? s.body : Mutate(s.body, seeds));
      all += Below(20) ? f : Mutate(f, seeds);
    }
    dialled += fd >= 0;
    ret |= send(fd, all.data(), all.size(), MSG_NOSIGNAL) < 0 &&
           errno != EPIPE && errno != ECONNRESET;
    close(fd);
    if (i % 100 == 0) {
      ret |= x.a.TransferSync(x.bn.c_str(), hixl::WRITE,
                              {{Pair::La(0), Pair::Rb(0), 8}}, 5000);
      x.b.GetNotifies(notes);
    }
  }
  is(dialled, rounds, "connections of mutated frames");
  is(ret, 0, "a link beside them works all the time");
  is(x.a.Disconnect(x.bn.c_str(), 5000), 0, "disconnect");
  is(x.a.Connect(x.bn.c_str(), 5000), 0, "and connect");
}
}  // namespace

int main(int argc, char **argv) {
  const uint64_t seed = argc > 1 ? strtoull(argv[1], nullptr, 0) : 20250917;
  const size_t rounds = argc > 2 ? strtoull(argv[2], nullptr, 0) : 200000;

  setvbuf(stdout, nullptr, _IOLBF, 0);
  printf("# seed %llu\n", static_cast<unsigned long long>(seed));
  state = seed ? seed : 1;
  TestParsers(rounds);
  TestLive(rounds / 100);
  return done_testing();
}
