// Kernels with bugs.
//
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include <vector>

namespace {
std::mutex mutex;
volatile int sink;
volatile uintptr_t null_address;
thread_local std::string name = "a string that is too long for the object";
} // namespace

extern "C" __attribute__((noinline)) void store_to(volatile int *p)
{
    *p = 1;
    sink = 2;
}

extern "C" unsigned null_pointer(void *)
{
    store_to(reinterpret_cast<volatile int *>(null_address + 8));
    return 0;
}

extern "C" unsigned wild_pointer(void *)
{
    sink = *reinterpret_cast<volatile int *>(0x123456789abcdef0);
    return 0;
}

extern "C" unsigned monitor_pointer(void *)
{
    sink = *reinterpret_cast<volatile int *>(0x10000000);
    return 0;
}

extern "C" unsigned monitor_write(void *)
{
    *reinterpret_cast<volatile uint64_t *>(0x20000090) = 0;
    return 0;
}

extern "C" unsigned wild_jump(void *)
{
    reinterpret_cast<void (*)()>(null_address + 0x4444)();
    return 0;
}

// To an address that the machine, but no kernel, may execute.
extern "C" unsigned monitor_jump(void *arg)
{
    reinterpret_cast<void (*)()>(*static_cast<uintptr_t *>(arg))();
    return 0;
}

// What stands before the arguments tells where the result goes.
extern "C" unsigned lost_header(void *arg)
{
    static_cast<uint64_t *>(arg)[-1] = 0x7fffffff00000000;
    return 5;
}

extern "C" unsigned illegal(void *)
{
    asm volatile(".4byte 0xffffffff");
    return 0;
}

extern "C" unsigned privileged(void *)
{
    asm volatile("csrw mstatus, zero");
    return 0;
}

extern "C" __attribute__((noinline)) int recurse(int n)
{
    volatile char fill[4000];

    fill[n & 0xfff ? 1 : 0] = static_cast<char>(n);
    return n ? recurse(n - 1) + fill[1] : 0;
}

extern "C" unsigned stack_overflow(void *)
{
    return recurse(1 << 30) & 1;
}

// More than stack and guard together, and only its far end is touched.
extern "C" unsigned big_frame(void *)
{
    volatile char tile[4 << 20];

    tile[0] = 1;
    sink = tile[0];
    return 0;
}

extern "C" unsigned big_alloca(void *)
{
    volatile size_t size = 4 << 20;
    volatile char *p = static_cast<volatile char *>(__builtin_alloca(size));

    p[0] = 1;
    sink = p[0];
    return 0;
}

extern "C" unsigned misaligned_atomic(void *)
{
    alignas(8) char buf[16] = {};

    reinterpret_cast<std::atomic<int> *>(buf + 1)->fetch_add(1);
    return 0;
}

extern "C" unsigned call_abort(void *)
{
    std::abort();
}

extern "C" unsigned call_exit(void *)
{
    std::exit(3);
}

extern "C" unsigned call_raw_exit(void *)
{
    syscall(SYS_exit_group, 4);
    return 0;
}

extern "C" unsigned call_thread_exit(void *)
{
    pthread_exit(nullptr);
}

extern "C" unsigned uncaught(void *)
{
    throw std::runtime_error("nobody catches this");
}

extern "C" unsigned uncaught_int(void *)
{
    throw 7;
}

extern "C" unsigned printf_bad(void *)
{
    std::printf("a bad string: %s\n",
                reinterpret_cast<const char *>(null_address + 16));
    return 0;
}

extern "C" unsigned double_free(void *)
{
    void *volatile p = std::malloc(100);

    std::free(p);
    std::free(p);
    return 0;
}

extern "C" unsigned smash(void *)
{
    volatile char buf[16];
    volatile char *p = buf;

    for (int i = 0; i < 200; i++) {
        p[i] = 0x41;
    }
    return static_cast<unsigned>(buf[3]) & 0;
}

extern "C" unsigned endless(void *)
{
    for (;;) {
        sink = sink + 1;
    }
}

extern "C" unsigned endless_new(void *)
{
    for (;;) {
        std::vector<int> v(100);

        sink = v[50];
    }
}

extern "C" unsigned deadlock(void *)
{
    mutex.lock();
    mutex.lock();
    return 0;
}

extern "C" unsigned sleeper(void *)
{
    sleep(1000);
    return 0;
}

extern "C" unsigned hoard(void *)
{
    for (;;) {
        char *p = new char[1 << 20];

        std::memset(p, 1, 1 << 20);
    }
}

extern "C" unsigned hoard_small(void *)
{
    for (;;) {
        int *volatile p = new int(5);

        sink = *p;
    }
}

// No register is what the runtime thinks it is.
extern "C" unsigned wild_registers(void *)
{
    asm volatile("li s0, 0x3331\n\tli gp, 0x99\n\tli tp, 0x77\n\t"
                 "li sp, 0x1235\n\tlw zero, 12(zero)");
    return 0;
}

extern "C" unsigned divide(void *)
{
    volatile int a = 7, zero = 0;

    // RISC-V divides without a trap: all ones.
    return a / zero == -1 ? 0 : 1;
}

extern "C" unsigned use_name(void *)
{
    unsigned ok = name == "a string that is too long for the object";

    name += "x";
    return ok ? 0 : 1;
}

// Writes as much with one call as it can, again and again.
extern "C" unsigned flood(void *)
{
    static char text[1 << 16];
    static iovec v[1024];

    memset(text, 'x', sizeof(text));
    for (size_t i = 99; i < sizeof(text); i += 100) {
        text[i] = '\n';
    }
    for (iovec &e : v) {
        e.iov_base = text;
        e.iov_len = sizeof(text);
    }
    for (;;) {
        sink = static_cast<int>(writev(1, v, 1024));
    }
}

// A call that others have to wait for takes little at a time.
extern "C" unsigned much_random(void *)
{
    std::vector<char> buf(1 << 20);
    int fd = open("/dev/urandom", O_RDONLY);
    ssize_t n = read(fd, buf.data(), buf.size());

    close(fd);
    return n > 0 && n <= 4096 ? 0 : 1;
}

// Every system call with arguments that make no sense.
extern "C" unsigned bad_calls(void *)
{
    static const long value[] = {
        0, -1, 1, 4096, 0x10000000, 0x20000000, 0x7fffffffffffffff,
        static_cast<long>(0x800000000000), 0x40000000,
    };
    const int n = sizeof(value) / sizeof(value[0]);

    for (long nr = 0; nr < 0x3520; nr++) {
        if (nr == 500) {
            nr = 0x3500;
        }
        // Those that end or hold the thread, or its memory, by design.
        if (nr == 93 || nr == 94 || nr == 98 || nr == 101 || nr == 115 ||
            nr == 129 || nr == 130 || nr == 131 || nr == 215 || nr == 216 ||
            nr == 222 || nr == 226 || nr == 233 ||
            nr == 0x3501 || nr == 0x3505 || nr == 64 || nr == 66 ||
            nr == 57) {
            continue;
        }
        for (int i = 0; i < n; i++) {
            for (int k = 0; k < n; k++) {
                register long a0 asm("a0") = value[i];
                register long a1 asm("a1") = value[k];
                register long a2 asm("a2") = value[(i + k) % n];
                register long a3 asm("a3") = value[(i * 3 + k) % n];
                register long a4 asm("a4") = -1;
                register long a5 asm("a5") = 0;
                register long a7 asm("a7") = nr;

                // Not at the start of memory: something may live there.
                if (a1 == value[7] || a0 == value[7] || a2 == value[7] ||
                    a3 == value[7]) {
                    continue;
                }
                asm volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a3),
                             "r"(a4), "r"(a5), "r"(a7) : "memory");
                sink = static_cast<int>(a0);
            }
        }
    }
    return 0;
}
