// Kernels that use the C++ library as users do.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <typeinfo>
#include <unistd.h>
#include <unordered_map>
#include <vector>
#include "aicpu_api.h"
#include "dlog_pub.h"

namespace {

struct Counted {
    static int live;
    int value;
    explicit Counted(int v) : value(v) { live++; }
    ~Counted() { live--; }
};
int Counted::live;

Counted made_at_load(17);
thread_local std::string own_name = "fresh";
std::mutex mutex;
std::atomic<int> counter;
long guarded;

struct Base {
    virtual ~Base() = default;
    virtual int id() const { return 1; }
};
struct Derived : Base {
    int id() const override { return 2; }
};

#define CHECK(cond)                                                     \
    do {                                                                \
        if (!(cond)) {                                                  \
            std::printf("line %d: %s\n", __LINE__, #cond);              \
            return 1000 + __LINE__;                                     \
        }                                                               \
    } while (0)

unsigned throw_deep(int depth)
{
    Counted here(depth);

    if (depth == 0) {
        throw std::out_of_range("deep");
    }
    return throw_deep(depth - 1) + 1;
}

} // namespace

extern "C" unsigned containers(void *)
{
    std::map<std::string, int> m;
    std::unordered_map<int, std::string> u;
    std::vector<int> v;

    for (int i = 0; i < 1000; i++) {
        v.push_back((i * 7919) % 1000);
        m["key" + std::to_string(i)] = i;
        u[i] = std::string(static_cast<size_t>(i % 50), 'x');
    }
    std::sort(v.begin(), v.end());
    CHECK(std::is_sorted(v.begin(), v.end()) && v[999] == 999);
    CHECK(m.size() == 1000 && m["key500"] == 500);
    CHECK(u[49].size() == 49);
    std::stable_sort(v.begin(), v.end(), [](int a, int b) { return a > b; });
    CHECK(v[0] == 999);
    return 0;
}

extern "C" unsigned exceptions(void *)
{
    int caught = 0;

    try {
        throw_deep(20);
    } catch (const std::exception &e) {
        caught = std::string(e.what()) == "deep";
    }
    CHECK(caught && Counted::live == 1);
    try {
        throw 42;
    } catch (int v) {
        caught = v;
    }
    CHECK(caught == 42);
    std::unique_ptr<Base> p(new Derived);
    CHECK(dynamic_cast<Derived *>(p.get()) && p->id() == 2);
    CHECK(typeid(*p) == typeid(Derived));
    try {
        Base b;
        (void)dynamic_cast<Derived &>(b);
        CHECK(false);
    } catch (const std::bad_cast &) {
    }
    return 0;
}

extern "C" unsigned streams(void *)
{
    std::ostringstream os;
    std::stringstream ss;
    char buf[] = "12 34.5 word";
    int i;
    double d;
    std::string w;

    os << "value " << 42 << ' ' << 1.5 << ' ' << std::hex << 255;
    CHECK(os.str() == "value 42 1.5 ff");
    ss.rdbuf()->pubsetbuf(buf, sizeof(buf) - 1);
    ss >> i >> d >> w;
    CHECK(i == 12 && d == 34.5 && w == "word");
    std::cout << "cout says " << i << std::endl;
    std::cerr << "cerr says " << d << "\n";
    std::printf("printf says %s, %.3f\n", w.c_str(), std::sqrt(2.0));
    std::printf("no newline at the end");
    DlogRecord(1, DLOG_WARN, "dlog says %d", 7);
    return 0;
}

extern "C" unsigned atomics(void *)
{
    std::atomic<bool> flag{false};
    std::atomic<uint8_t> byte{250};
    std::atomic<uint16_t> half{65535};
    std::atomic<int64_t> word{5};
    bool expected = false;

    CHECK(!flag.exchange(true) && flag.load());
    expected = true;
    CHECK(flag.compare_exchange_strong(expected, false) && !flag);
    CHECK(byte.fetch_add(10) == 250 && byte == 4);
    CHECK(half.fetch_add(1) == 65535 && half == 0);
    CHECK(word.fetch_sub(7) == 5 && word == -2);
    return 0;
}

// A kernel owns one core: a thread of its own is refused, not fatal.
extern "C" unsigned no_threads(void *)
{
    try {
        std::thread t([] {});
        t.join();
    } catch (const std::system_error &e) {
        return 0;
    }
    return 1;
}

extern "C" unsigned rounding(void *)
{
    volatile double one = 1.0, ten = 10.0;

    CHECK(std::fegetround() == FE_TONEAREST);
    CHECK(one / ten == 0.1);
    std::fesetround(FE_UPWARD);
    return 0;
}

extern "C" unsigned locals(void *)
{
    static int calls = [] { return 100; }();

    CHECK(made_at_load.value == 17);
    CHECK(own_name == "fresh" || own_name == "used and longer than the short");
    own_name = "used and longer than the short";
    calls++;
    CHECK(calls > 100);
    return 0;
}

// Several at once: args = {rounds, blocks}.
extern "C" unsigned parallel(void *args)
{
    uint32_t rounds = *static_cast<uint32_t *>(args);

    for (uint32_t i = 0; i < rounds; i++) {
        std::lock_guard<std::mutex> lock(mutex);
        std::vector<int> v(i % 100 + 1, 1);

        guarded += v.back();
        counter++;
    }
    return 0;
}

extern "C" unsigned parallel_sum(void *args)
{
    long expect = *static_cast<uint32_t *>(args);

    CHECK(guarded == expect && counter == expect);
    return 0;
}

// All kernels of a group meet, or none gets on: args = {met, of, times}.
struct Group {
    std::atomic<uint32_t> *met;
    uint32_t of, times;
};

extern "C" unsigned meet(void *args)
{
    Group *g = static_cast<Group *>(args);

    for (uint32_t i = 1; i <= g->times; i++) {
        g->met->fetch_add(1);
        while (g->met->load() < i * g->of) {
        }
    }
    return 0;
}

// Says something and stays for a while.
extern "C" unsigned linger(void *)
{
    std::printf("linger says hello\n");
    DlogRecord(1, DLOG_WARN, "linger warns of %d", 7);
    sleep(3);
    return 0;
}

extern "C" unsigned args_sum(void *args)
{
    const unsigned char *p = static_cast<unsigned char *>(args);
    unsigned sum = 0;

    for (unsigned i = 0; i < 65536; i++) {
        sum += p[i] * (i & 3);
    }
    return sum == 0xbeef ? 0 : sum & 0xff;
}

extern "C" unsigned block(void *)
{
    std::printf("block %u of %u\n", a350_block_idx(), a350_block_num());
    return a350_block_idx() < a350_block_num() ? 0 : 1;
}

extern "C" unsigned give(void *args)
{
    return *static_cast<uint32_t *>(args);
}

extern "C" unsigned big_blocks(void *)
{
    for (size_t n = 1; n < (8u << 20); n = n * 3 / 2 + 1) {
        std::vector<char> v(n, static_cast<char>(n));
        std::unique_ptr<char[]> q(new char[n]);

        std::memset(q.get(), 0x55, n);
        CHECK(v[n - 1] == static_cast<char>(n));
    }
    for (size_t align = 16; align <= 4096; align *= 2) {
        void *p = nullptr;

        CHECK(posix_memalign(&p, align, align * 3 / 2) == 0);
        CHECK((reinterpret_cast<uintptr_t>(p) & (align - 1)) == 0);
        p = std::realloc(p, 20000);
        CHECK(p);
        std::free(p);
    }
    return 0;
}
