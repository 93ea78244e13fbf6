// Kernels that tests of the card's queues launch: their whole effect is in the
// argument block, so a test without an operating system can see it.
//
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <map>
#include <string>

namespace {

struct Args {
    std::atomic<uint64_t> progress, stop;
    uint64_t rounds, sum;
    double real;
};

} // namespace

// Counts the launches it sees.
extern "C" unsigned count(void *p)
{
    static_cast<Args *>(p)->progress++;
    return 0;
}

// Runs until it is told to stop.
extern "C" unsigned spin(void *p)
{
    Args *a = static_cast<Args *>(p);

    while (!a->stop.load(std::memory_order_relaxed)) {
        a->progress.store(a->progress.load(std::memory_order_relaxed) + 1,
                          std::memory_order_relaxed);
    }
    return 0;
}

// Adds to `rounds` by AMO and to `sum` by LR/SC, until it is told to stop. Of
// both somebody else writes the upper half, ever higher: it never falls.
extern "C" unsigned bump(void *p)
{
    Args *a = static_cast<Args *>(p);
    uint64_t amo, amo_top = 0, sc, sc_top = 0;

    while (!a->stop) {
        amo = __atomic_fetch_add(&a->rounds, 1, __ATOMIC_RELAXED);
        sc = __atomic_load_n(&a->sum, __ATOMIC_RELAXED);
        while (!__atomic_compare_exchange_n(&a->sum, &sc, sc + 1, true,
                                            __ATOMIC_RELAXED,
                                            __ATOMIC_RELAXED)) {
        }
        if (amo >> 32 < amo_top || sc >> 32 < sc_top) {
            return amo >> 32 < amo_top ? 1 : 2;
        }
        amo_top = amo >> 32;
        sc_top = sc >> 32;
        a->progress++;
    }
    return 0;
}

// Reads the card's register at `rounds`, a notify, until it is set.
extern "C" unsigned poll(void *p)
{
    Args *a = static_cast<Args *>(p);
    auto notify = reinterpret_cast<volatile uint32_t *>(a->rounds);

    while (!*notify) {
        a->progress++;
    }
    return 0;
}

// Writes to the card's log until it is told to stop.
extern "C" unsigned chatter(void *p)
{
    Args *a = static_cast<Args *>(p);

    while (!a->stop) {
        std::printf("line %llu of many\n",
                    static_cast<unsigned long long>(++a->progress));
    }
    return 0;
}

// Waits in the firmware, by a timer and again.
extern "C" unsigned doze(void *p)
{
    Args *a = static_cast<Args *>(p);
    const timespec nap = { 0, 200000 };

    while (!a->stop) {
        a->progress++;
        nanosleep(&nap, nullptr);
    }
    return 0;
}

// Integers, floating point and the heap, for as long as the caller wants.
extern "C" unsigned work(void *p)
{
    Args *a = static_cast<Args *>(p);
    std::map<std::string, uint64_t> last;
    uint64_t x = 0x9e3779b97f4a7c15;
    double real = 1.0;

    for (uint64_t i = 0; i < a->rounds; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        real = real * 0.75 + static_cast<double>(x >> 40);
        if (i % 1024 == 0) {
            last["a key that needs the heap " + std::to_string(i % 7)] = x;
            a->progress.store(i, std::memory_order_relaxed);
        }
    }
    for (const auto &e : last) {
        x += e.second;
    }
    a->sum = x;
    a->real = real;
    return 0;
}

extern "C" unsigned refuse(void *)
{
    return 77;
}

extern "C" unsigned null_store(void *p)
{
    *reinterpret_cast<volatile uint64_t *>(static_cast<Args *>(p)->stop.load()) =
        1;
    return 0;
}
