/*
 * Bandwidth of aclrtMemcpy in all directions against memcpy in the same guest.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <acl/acl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SIZE   (64u << 20)
#define ROUNDS 4

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void must(aclError err, const char *what)
{
    if (err != ACL_SUCCESS) {
        fprintf(stderr, "copy: %s: error %d\n", what, (int)err);
        exit(1);
    }
}

static double rate(double start)
{
    return (double)SIZE * ROUNDS / (seconds() - start) / 1e9;
}

static void measure(const char *name, void *dst, const void *src,
                    aclrtMemcpyKind kind, double base)
{
    double start;
    int i;

    must(aclrtMemcpy(dst, SIZE, src, SIZE, kind), name);
    start = seconds();
    for (i = 0; i < ROUNDS; i++) {
        must(aclrtMemcpy(dst, SIZE, src, SIZE, kind), name);
    }
    printf("bench copy-%s %.3f GB/s guest_memcpy %.3f\n", name, rate(start),
           base);
}

int main(void)
{
    void *host, *other, *dev_a, *dev_b;
    double start, base;
    int i;

    must(aclInit(NULL), "aclInit");
    must(aclrtSetDevice(0), "aclrtSetDevice");
    must(aclrtMallocHost(&host, SIZE), "aclrtMallocHost");
    must(aclrtMallocHost(&other, SIZE), "aclrtMallocHost");
    must(aclrtMalloc(&dev_a, SIZE, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
    must(aclrtMalloc(&dev_b, SIZE, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
    memset(host, 1, SIZE);
    memset(other, 2, SIZE);
    start = seconds();
    for (i = 0; i < ROUNDS; i++) {
        memcpy(other, host, SIZE);
    }
    base = rate(start);
    measure("host-to-device", dev_a, host, ACL_MEMCPY_HOST_TO_DEVICE, base);
    measure("device-to-device", dev_b, dev_a, ACL_MEMCPY_DEVICE_TO_DEVICE,
            base);
    measure("device-to-host", other, dev_b, ACL_MEMCPY_DEVICE_TO_HOST, base);
    if (memcmp(host, other, SIZE)) {
        fprintf(stderr, "copy: the bytes that came back differ\n");
        return 1;
    }
    must(aclrtResetDevice(0), "aclrtResetDevice");
    must(aclFinalize(), "aclFinalize");
    return 0;
}
