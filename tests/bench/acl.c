/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the runtime costs: launches, copies, events. argv[1]: folder of the
 * launch tests' kernel library.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "acl_internal.h"

#define ROUNDS  400
#define MIB     (1u << 20)

static void need(int rc, const char *what)
{
    if (rc) {
        const char *msg = aclGetRecentErrMsg();

        fprintf(stderr, "%s: %d %s\n", what, rc, msg ? msg : "");
        exit(1);
    }
}

static double now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *v, int n)
{
    qsort(v, (size_t)n, sizeof(*v), compare);
    return v[n / 2];
}

static aclrtFuncHandle func(const char *dir, const char *name)
{
    aclrtBinaryLoadOption o = { ACL_RT_BINARY_LOAD_OPT_CPU_KERNEL_MODE,
                                { .cpuKernelMode = 1 } };
    aclrtBinaryLoadOptions opts = { &o, 1 };
    static aclrtBinHandle b;
    aclrtFuncHandle f;
    char path[4096];

    snprintf(path, sizeof(path), "%s/libacl_test_kernel.json", dir);
    if (!b) {
        need(aclrtBinaryLoadFromFile(path, &opts, &b), "load");
    }
    need(aclrtBinaryGetFunction(b, name, &f), name);
    return f;
}

static void launch(aclrtFuncHandle f, aclrtStream s, void *data, size_t n)
{
    aclrtArgsHandle a;
    aclrtParamHandle p;

    need(aclrtKernelArgsInit(f, &a), "init");
    need(aclrtKernelArgsAppend(a, data, n, &p), "append");
    need(aclrtKernelArgsFinalize(a), "finalize");
    need(aclrtLaunchKernelWithConfig(f, 1, s, NULL, a, NULL), "launch");
}

/* The kernel writes the card's clock; the host has read it at the call. */
static void bench_launch(const char *dir, aclrtStream s, uint64_t *dev)
{
    static double first[ROUNDS], done[ROUNDS];
    aclrtFuncHandle f = func(dir, "Clock");
    a350_card *card = a350_current_card();
    uint64_t began, at;
    double t0;
    int i;

    for (i = -20; i < ROUNDS; i++) {
        began = a350_card_clock(card);
        t0 = now();
        launch(f, s, &dev, sizeof(dev));
        need(aclrtSynchronizeStream(s), "synchronise");
        if (i >= 0) {
            done[i] = (now() - t0) * 1e6;
            need(aclrtMemcpy(&at, 8, dev, 8, ACL_MEMCPY_DEVICE_TO_HOST), "read");
            first[i] = (double)(at - began) / 1e3;
        }
    }
    printf("bench launch.first_instruction %.1f us target 50\n",
           median(first, ROUNDS));
    printf("bench launch.completion %.1f us target 100\n",
           median(done, ROUNDS));
    t0 = now();
    for (i = 0; i < 4000; i++) {
        launch(f, s, &dev, sizeof(dev));
    }
    need(aclrtSynchronizeStream(s), "synchronise");
    printf("bench launch.queued %.2f us target 50\n", (now() - t0) * 1e6 / 4000);
}

/*
 * Where a launch's time goes. The library: until the call returns, which is
 * after the doorbell. The firmware: instructions of the core from one kernel to
 * the next. What is left are the hand-overs between threads.
 */
static void bench_parts(const char *dir, aclrtStream s, uint64_t *dev)
{
    static double call[ROUNDS];
    aclrtFuncHandle f = func(dir, "Instret");
    uint64_t n, last = 0, fewest = UINT64_MAX;
    double t0;
    int i;

    for (i = -20; i < ROUNDS; i++) {
        t0 = now();
        launch(f, s, &dev, sizeof(dev));
        if (i >= 0) {
            call[i] = (now() - t0) * 1e6;
        }
        need(aclrtSynchronizeStream(s), "synchronise");
        need(aclrtMemcpy(&n, 8, dev, 8, ACL_MEMCPY_DEVICE_TO_HOST), "read");
        /* Another core has another count. */
        if (i >= 0 && n > last && n - last < fewest) {
            fewest = n - last;
        }
        last = n;
    }
    printf("bench launch.call %.1f us - 0\n", median(call, ROUNDS));
    printf("bench launch.instructions %llu instructions - 0\n",
           (unsigned long long)fewest);
}

static double rate(void *dst, const void *src, size_t n, int device)
{
    double t0 = now(), t;
    int rounds = 0;

    do {
        if (device) {
            need(aclrtMemcpy(dst, n, src, n, ACL_MEMCPY_DEFAULT), "copy");
        } else {
            a350_copy(dst, src, n);
        }
        rounds++;
        t = now() - t0;
    } while (t < 0.3);
    return (double)n * rounds / t / 1e9;
}

static void bench_copies(void)
{
    size_t n = 16 * MIB;
    uint8_t *pin, *pin2, *heap = malloc(n), *dev, *dev2;
    double base;

    need(aclrtMallocHost((void **)&pin, n), "host memory");
    need(aclrtMallocHost((void **)&pin2, n), "host memory");
    need(aclrtMalloc((void **)&dev, n, ACL_MEM_MALLOC_HUGE_FIRST), "memory");
    need(aclrtMalloc((void **)&dev2, n, ACL_MEM_MALLOC_HUGE_FIRST), "memory");
    memset(pin, 1, n);
    memset(pin2, 1, n);
    memset(heap, 1, n);
    base = rate(pin, pin2, n, 0);
    printf("bench acl.h2d.pinned %.3f GB/s guest_copy %.3f\n",
           rate(dev, pin, n, 1), base);
    printf("bench acl.d2h.pinned %.3f GB/s guest_copy %.3f\n",
           rate(pin, dev, n, 1), base);
    printf("bench acl.h2d.pageable %.3f GB/s guest_copy %.3f\n",
           rate(dev, heap, n, 1), base);
    printf("bench acl.d2h.pageable %.3f GB/s guest_copy %.3f\n",
           rate(heap, dev, n, 1), base);
    printf("bench acl.d2d %.3f GB/s guest_copy %.3f\n",
           rate(dev2, dev, n, 1), base);
    free(heap);
}

static void bench_small(aclrtStream s, uint8_t *dev)
{
    double t0 = now();
    uint8_t b[64] = { 0 };
    int i;

    for (i = 0; i < 20000; i++) {
        need(aclrtMemcpy(dev, 64, b, 64, ACL_MEMCPY_HOST_TO_DEVICE), "copy");
    }
    printf("bench acl.h2d.64B %.2f us target 5\n", (now() - t0) * 1e6 / 20000);
    t0 = now();
    for (i = 0; i < 2000; i++) {
        need(aclrtMemsetAsync(dev, 64, i, 64, s), "memset");
        need(aclrtSynchronizeStream(s), "synchronise");
    }
    printf("bench acl.task_and_sync %.1f us target 50\n",
           (now() - t0) * 1e6 / 2000);
}

int main(int argc, char **argv)
{
    aclrtStream s;
    void *dev;

    need(aclInit(NULL), "aclInit");
    need(aclrtSetDevice(0), "aclrtSetDevice");
    need(aclrtCreateStream(&s), "stream");
    need(aclrtMalloc(&dev, 64, ACL_MEM_MALLOC_HUGE_FIRST), "memory");
    bench_launch(argc > 1 ? argv[1] : ".", s, dev);
    bench_parts(argc > 1 ? argv[1] : ".", s, dev);
    bench_small(s, dev);
    bench_copies();
    need(aclrtDestroyStream(s), "stream");
    need(aclrtResetDevice(0), "reset");
    return 0;
}
