/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices and memory: counting, setting, allocation, copies of many sizes in
 * every direction with guard bands, fills, host memory, questions.
 */
#include <stdbool.h>
#include <sys/mman.h>
#include <time.h>
#include "t.h"

#define GUARD   64

static const size_t sizes[] = {
    1, 7, 32, 63, 64, 65, 4095, 4096, 65537, 262144, 1048579, 8388608 + 5,
};

/* Host to device to host, buffers as given; the guard bands stay. */
static void round_trip(uint8_t *src, uint8_t *dst, uint8_t *dev, size_t n)
{
    size_t i;

    t_fill(src, n, (uint32_t)n);
    OK(aclrtMemset(dev, n + 2 * GUARD, 0x5a, n + 2 * GUARD));
    OK(aclrtMemcpy(dev + GUARD, n, src, n, ACL_MEMCPY_HOST_TO_DEVICE));
    memset(dst, 0, n + 2 * GUARD);
    OK(aclrtMemcpy(dst, n + 2 * GUARD, dev, n + 2 * GUARD,
                   ACL_MEMCPY_DEVICE_TO_HOST));
    CHECK(t_diff(dst + GUARD, n, (uint32_t)n) == SIZE_MAX);
    for (i = 0; i < GUARD; i++) {
        if (dst[i] != 0x5a || dst[GUARD + n + i] != 0x5a) {
            CHECK(!"guard band");
            break;
        }
    }
}

static void copies(void)
{
    size_t max = sizes[sizeof(sizes) / sizeof(sizes[0]) - 1] + 2 * GUARD, i;
    uint8_t *pin_a, *pin_b, *mem_a = malloc(max), *mem_b = malloc(max);
    uint8_t *d1, *d2;

    OK(aclrtMallocHost((void **)&pin_a, max));
    OK(aclrtMallocHost((void **)&pin_b, max));
    OK(aclrtMalloc((void **)&d1, max, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMalloc((void **)&d2, max, ACL_MEM_MALLOC_NORMAL_ONLY));
    for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        size_t n = sizes[i];

        round_trip(mem_a, mem_b, d1, n);
        round_trip(pin_a, pin_b, d2, n);
        /* device to device */
        OK(aclrtMemcpy(d1, max, pin_a, n, ACL_MEMCPY_HOST_TO_DEVICE));
        OK(aclrtMemset(d2, max, 0, n));
        OK(aclrtMemcpy(d2, max, d1, n, ACL_MEMCPY_DEVICE_TO_DEVICE));
        OK(aclrtMemcpy(mem_b, max, d2, n, ACL_MEMCPY_DEFAULT));
        CHECK(memcmp(mem_b, pin_a, n) == 0);
    }
    /* overlapping, as memmove does it */
    t_fill(mem_a, 300000, 9);
    OK(aclrtMemcpy(d1, max, mem_a, 300000, ACL_MEMCPY_HOST_TO_DEVICE));
    OK(aclrtMemcpy(d1 + 1000, max - 1000, d1, 299000,
                   ACL_MEMCPY_DEVICE_TO_DEVICE));
    OK(aclrtMemcpy(mem_b, max, d1 + 1000, 299000, ACL_MEMCPY_DEVICE_TO_HOST));
    CHECK(memcmp(mem_b, mem_a, 299000) == 0);
    OK(aclrtFree(d1));
    OK(aclrtFree(d2));
    OK(aclrtFreeHost(pin_a));
    OK(aclrtFreeHost(pin_b));
    free(mem_a);
    free(mem_b);
}

/* Sizes near the end of the number's range are told as they were given. */
static void sizes_told(void)
{
    static const size_t big[] = { SIZE_MAX, SIZE_MAX - 40, SIZE_MAX - 4100 };
    char number[32];
    const char *text;
    size_t i;
    void *p;
    int k;

    for (i = 0; i < 3; i++) {
        /* The top of the number: roundings may change the rest. */
        snprintf(number, sizeof(number), "%.15s", "18446744073709551615");
        for (k = 0; k < 4; k++) {
            aclError rc = k == 0 ? aclrtMalloc(&p, big[i],
                                               ACL_MEM_MALLOC_HUGE_ONLY)
                : k == 1 ? aclrtMalloc(&p, big[i], ACL_MEM_MALLOC_NORMAL_ONLY)
                : k == 2 ? aclrtMallocHost(&p, big[i])
                : aclrtReserveMemAddress(&p, big[i], 0, NULL, 0);

            text = aclGetRecentErrMsg();
            CHECK(rc == 207001 && text && strstr(text, number));
        }
    }
}

static void codes(void)
{
    void *p, *q;
    char host[64];

    CODE(aclrtMalloc(NULL, 1, ACL_MEM_MALLOC_HUGE_FIRST), 100000);
    CODE(aclrtMalloc(&p, 0, ACL_MEM_MALLOC_HUGE_FIRST), 100000);
    CODE(aclrtMalloc(&p, (size_t)1 << 45, ACL_MEM_MALLOC_HUGE_FIRST), 207001);
    CODE(aclrtFree(NULL), 100000);
    OK(aclrtMalloc(&p, 8, ACL_MEM_MALLOC_HUGE_ONLY));
    CHECK(((uintptr_t)p & ((2 << 20) - 1)) == 0);
    OK(aclrtMalloc(&q, 100, ACL_MEM_MALLOC_NORMAL_ONLY));
    CHECK(((uintptr_t)q & 63) == 0);
    CODE(aclrtMemcpy(q, 8, host, 16, ACL_MEMCPY_HOST_TO_DEVICE), 107000);
    CODE(aclrtMemcpy(q, 0, host, 16, ACL_MEMCPY_HOST_TO_DEVICE), 107000);
    CODE(aclrtMemcpy(NULL, 8, host, 8, ACL_MEMCPY_HOST_TO_DEVICE), 100000);
    CODE(aclrtMemcpy(q, 8, host, 8, (aclrtMemcpyKind)17), 100000);
    OK(aclrtMemcpy(NULL, 0, NULL, 0, ACL_MEMCPY_HOST_TO_DEVICE));
    CODE(aclrtMemcpy(q, 4096, host, 4096, ACL_MEMCPY_HOST_TO_DEVICE), 107000);
    CODE(aclrtMemcpyAsync(host, 8, host + 8, 8, ACL_MEMCPY_HOST_TO_HOST, NULL),
         207000);
    CODE(aclrtMemset(q, 4, 0, 8), 107000);
    OK(aclrtFree(p));
    OK(aclrtFree(q));
    CODE(aclrtFree(q), 107000);
    CODE(aclrtFreeHost(host), 107000);
}

static void questions(void)
{
    size_t free0, total, free1, size;
    aclrtPtrAttributes a;
    aclrtPhysicalMemProp prop = {
        ACL_MEM_HANDLE_TYPE_NONE, ACL_MEM_ALLOCATION_TYPE_PINNED,
        ACL_HBM_MEM_HUGE, { 0, ACL_MEM_LOCATION_TYPE_DEVICE }, 0,
    };
    void *p, *h, *base, *dev, *page;

    OK(aclrtGetMemInfo(ACL_HBM_MEM, &free0, &total));
    CHECK(total > (64u << 20) && free0 <= total);
    OK(aclrtMalloc(&p, 10 << 20, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtGetMemInfo(ACL_HBM_MEM_HUGE, &free1, &total));
    CHECK(free0 - free1 == 10 << 20);
    OK(aclrtPointerGetAttributes(p, &a));
    CHECK(a.location.type == ACL_MEM_LOCATION_TYPE_DEVICE &&
          a.location.id == 0);
    OK(aclrtMemGetAddressRange((char *)p + 77, &base, &size));
    CHECK(base == p && size == 10 << 20);
    OK(aclrtFree(p));
    OK(aclrtMallocHost(&h, 8192));
    CHECK(((uintptr_t)h & 4095) == 0);
    OK(aclrtPointerGetAttributes(h, &a));
    CHECK(a.location.type == ACL_MEM_LOCATION_TYPE_HOST);
    OK(aclrtPointerGetAttributes(&a, &a));
    CHECK(a.location.type == ACL_MEM_LOCATION_TYPE_UNREGISTERED);
    OK(aclrtHostRegister(h, 8192, ACL_HOST_REGISTER_MAPPED, &dev));
    CODE(aclrtHostRegister(h, 8192, ACL_HOST_REGISTER_MAPPED, &dev), 507910);
    OK(aclrtHostUnregister(h));
    CODE(aclrtHostUnregister(h), 507911);
    OK(aclrtFreeHost(h));
    page = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    OK(aclrtHostRegister(page, 8192, ACL_HOST_REGISTER_MAPPED, &dev));
    OK(aclrtHostUnregister(page));
    CODE(aclrtHostRegister((char *)page + 8, 64, ACL_HOST_REGISTER_MAPPED,
                           &dev), 107000);
    munmap(page, 8192);
    OK(aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM,
                                        &size));
    CHECK(size == 2 << 20);
}

/* Copies of more than an entry's 256 MiB overlap as small ones do. */
static void overlap(bool async)
{
    const size_t chunk = 64 << 20, n = 5 * chunk;
    uint8_t *p, got[2];
    int i;

    OK(aclrtMalloc((void **)&p, n + chunk, ACL_MEM_MALLOC_HUGE_FIRST));
    for (i = 0; i < 5; i++) {
        OK(aclrtMemset(p + i * chunk, chunk, i + 1, chunk));
    }
    if (async) {
        OK(aclrtMemcpyAsync(p + chunk, n, p, n, ACL_MEMCPY_DEVICE_TO_DEVICE,
                            NULL));
        OK(aclrtSynchronizeStream(NULL));
    } else {
        OK(aclrtMemcpy(p + chunk, n, p, n, ACL_MEMCPY_DEVICE_TO_DEVICE));
    }
    for (i = 0; i < 5; i++) {
        OK(aclrtMemcpy(got, 1, p + (i + 1) * chunk, 1,
                       ACL_MEMCPY_DEVICE_TO_HOST));
        OK(aclrtMemcpy(got + 1, 1, p + (i + 2) * chunk - 1, 1,
                       ACL_MEMCPY_DEVICE_TO_HOST));
        CHECK(got[0] == i + 1 && got[1] == i + 1);
    }
    OK(aclrtFree(p));
}

static const aclrtPhysicalMemProp huge_pages = {
    ACL_MEM_HANDLE_TYPE_NONE, ACL_MEM_ALLOCATION_TYPE_PINNED,
    ACL_HBM_MEM_HUGE, { 0, ACL_MEM_LOCATION_TYPE_DEVICE }, 0,
};

static void virtual_memory(void)
{
    aclrtDrvMemHandle h;
    char buf[16] = "virtual", back[16];
    void *va;

    OK(aclrtReserveMemAddress(&va, 4 << 20, 0, NULL, 0));
    CODE(aclrtMallocPhysical(&h, 4097, &huge_pages, 0), 107000);
    OK(aclrtMallocPhysical(&h, 4 << 20, &huge_pages, 0));
    CODE(aclrtMemcpy(va, 16, buf, 16, ACL_MEMCPY_HOST_TO_DEVICE), 107000);
    OK(aclrtMapMem(va, 4 << 20, 0, h, 0));
    OK(aclrtMemcpy(va, 16, buf, 16, ACL_MEMCPY_HOST_TO_DEVICE));
    OK(aclrtMemcpy(back, 16, va, 16, ACL_MEMCPY_DEVICE_TO_HOST));
    CHECK(strcmp(back, "virtual") == 0);
    CODE(aclrtReleaseMemAddress(va), 107000);
    CODE(aclrtFree(va), 107000);
    OK(aclrtUnmapMem(va));
    CODE(aclrtMemcpy(back, 16, va, 16, ACL_MEMCPY_DEVICE_TO_HOST), 107000);
    CODE(aclrtMemset(va, 16, 0, 16), 107000);
    CODE(aclrtFree(va), 107000);
    OK(aclrtFreePhysical(h));
    CODE(aclrtFreePhysical(h), 107017);
    OK(aclrtReleaseMemAddress(va));
    CODE(aclrtReleaseMemAddress(va), 107000);
}

/* A range that grows and shrinks by handles of 2 MiB. */
static void segments(void)
{
    const size_t seg = 2 << 20;
    aclrtMemAccessDesc desc = {
        .flags = ACL_RT_MEM_ACCESS_FLAGS_READWRITE,
        .location = { 0, ACL_MEM_LOCATION_TYPE_DEVICE },
    };
    aclrtDrvMemHandle h[3], same;
    char *va, *big = malloc(2 * seg);
    int i;

    OK(aclrtReserveMemAddress((void **)&va, 4 * seg, 0, NULL, 0));
    for (i = 0; i < 3; i++) {
        OK(aclrtMallocPhysical(&h[i], seg, &huge_pages, 0));
    }
    CODE(aclrtMapMem(va + 4096, seg, 0, h[0], 0), 107000);
    CODE(aclrtMapMem(va + 4 * seg, seg, 0, h[0], 0), 107000);
    OK(aclrtMapMem(va, seg, 0, h[0], 0));
    CODE(aclrtMapMem(va, seg, 0, h[1], 0), 107000);
    OK(aclrtMapMem(va + seg, seg, 0, h[1], 0));
    OK(aclrtMapMem(va + 3 * seg, seg, 0, h[2], 0));
    OK(aclrtMemSetAccess(va, 2 * seg, &desc, 1));
    CODE(aclrtMemSetAccess(va, 3 * seg, &desc, 1), 107000);
    CODE(aclrtMemSetAccess(va + 3 * seg, 2 * seg, &desc, 1), 107000);
    desc.location.id = 99;
    CODE(aclrtMemSetAccess(va, seg, &desc, 1), 107001);
    OK(aclrtMemcpy(va, 2 * seg, big, 2 * seg, ACL_MEMCPY_HOST_TO_DEVICE));
    CODE(aclrtMemcpy(va + seg, 2 * seg, big, 2 * seg,
                     ACL_MEMCPY_HOST_TO_DEVICE), 107000);
    OK(aclrtMemRetainAllocationHandle(va + 3 * seg + 5, &same));
    CHECK(same == h[2]);
    OK(aclrtFreePhysical(same));
    CODE(aclrtUnmapMem(va + seg + 4096), 107000);
    OK(aclrtUnmapMem(va + seg));
    CODE(aclrtReleaseMemAddress(va), 107000);
    OK(aclrtUnmapMem(va));
    OK(aclrtUnmapMem(va + 3 * seg));
    OK(aclrtReleaseMemAddress(va));
    for (i = 0; i < 3; i++) {
        OK(aclrtFreePhysical(h[i]));
    }
    free(big);
}

/* What was reserved goes with the device: its address is another's then. */
static void ranges_end(void)
{
    aclrtDrvMemHandle h;
    void *va, *p;

    OK(aclrtReserveMemAddress(&va, 4 << 20, 0, NULL, 0));
    OK(aclrtMallocPhysical(&h, 4 << 20, &huge_pages, 0));
    OK(aclrtMapMem(va, 4 << 20, 0, h, 0));
    setenv("A350_LEAK_REPORT", "0", 1);      /* it is one, on purpose */
    OK(aclrtResetDevice(0));
    setenv("A350_LEAK_REPORT", "1", 1);
    OK(aclrtSetDevice(0));
    OK(aclrtMalloc(&p, 4 << 20, ACL_MEM_MALLOC_HUGE_ONLY));
    CHECK(p == va);              /* else the test shows nothing */
    CODE(aclrtUnmapMem(va), 107000);
    CODE(aclrtReleaseMemAddress(va), 107000);
    OK(aclrtMemset(p, 64, 1, 64));
    OK(aclrtFree(p));
    OK(aclrtFreePhysical(h));
    CODE(aclrtFreePhysical(h), 107017);
}

/* Mapped memory of device 0 that is opened to device 1, and to no other way. */
static void granted(void *b)
{
    const size_t seg = 2 << 20;
    aclrtMemAccessDesc desc = {
        .flags = ACL_RT_MEM_ACCESS_FLAGS_READWRITE,
        .location = { 1, ACL_MEM_LOCATION_TYPE_DEVICE },
    };
    aclrtMemLocation own = { 0, ACL_MEM_LOCATION_TYPE_DEVICE };
    aclrtDrvMemHandle h[2];
    uint64_t flag = 7;
    char *va;
    int i;

    OK(aclrtSetDevice(0));
    OK(aclrtReserveMemAddress((void **)&va, 2 * seg, 0, NULL, 0));
    for (i = 0; i < 2; i++) {
        OK(aclrtMallocPhysical(&h[i], seg, &huge_pages, 0));
        OK(aclrtMapMem(va + i * seg, seg, 0, h[i], 0));
    }
    OK(aclrtMemGetAccess(va, &own, &flag));
    CHECK(flag == ACL_RT_MEM_ACCESS_FLAGS_READWRITE);
    OK(aclrtMemGetAccess(va, &desc.location, &flag));
    CHECK(flag == ACL_RT_MEM_ACCESS_FLAGS_NONE);
    CODE(aclrtMemcpy(b, 4096, va, 4096, ACL_MEMCPY_DEVICE_TO_DEVICE), 507899);
    OK(aclrtMemSetAccess(va, seg, &desc, 1));
    OK(aclrtMemGetAccess(va, &desc.location, &flag));
    CHECK(flag == ACL_RT_MEM_ACCESS_FLAGS_READWRITE);
    OK(aclrtMemcpy(b, 4096, va, 4096, ACL_MEMCPY_DEVICE_TO_DEVICE));
    OK(aclrtMemcpy(va + seg - 4096, 4096, b, 4096,
                   ACL_MEMCPY_DEVICE_TO_DEVICE));
    CODE(aclrtMemcpy(b, 8192, va + seg - 4096, 8192,
                     ACL_MEMCPY_DEVICE_TO_DEVICE), 507899);
    OK(aclrtUnmapMem(va));
    OK(aclrtMapMem(va, seg, 0, h[0], 0));
    CODE(aclrtMemcpy(b, 4096, va, 4096, ACL_MEMCPY_DEVICE_TO_DEVICE), 507899);
    for (i = 0; i < 2; i++) {
        OK(aclrtUnmapMem(va + i * seg));
        OK(aclrtFreePhysical(h[i]));
    }
    OK(aclrtReleaseMemAddress(va));
    OK(aclrtResetDevice(0));
    OK(aclrtSetDevice(1));
    OK(aclrtResetDevice(1));
}

static void two_cards(void)
{
    uint8_t *a, *b, *host = malloc(1 << 20);
    int32_t can, st;

    OK(aclrtDeviceCanAccessPeer(&can, 0, 1));
    CHECK(can == 1);
    OK(aclrtMalloc((void **)&a, 1 << 20, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtSetDevice(1));
    OK(aclrtMalloc((void **)&b, 1 << 20, ACL_MEM_MALLOC_HUGE_FIRST));
    t_fill(host, 1 << 20, 3);
    OK(aclrtMemcpy(a, 1 << 20, host, 1 << 20, ACL_MEMCPY_HOST_TO_DEVICE));
    CHECK(aclrtMemcpy(b, 1 << 20, a, 1 << 20, ACL_MEMCPY_DEVICE_TO_DEVICE) != 0);
    granted(b);
    OK(aclrtDeviceEnablePeerAccess(0, 0));
    OK(aclrtDevicePeerAccessStatus(1, 0, &st));
    CHECK(st == 1);
    OK(aclrtDevicePeerAccessStatus(0, 1, &st));
    CHECK(st == 0);
    OK(aclrtMemcpy(b, 1 << 20, a, 1 << 20, ACL_MEMCPY_DEVICE_TO_DEVICE));
    memset(host, 0, 1 << 20);
    OK(aclrtMemcpy(host, 1 << 20, b, 1 << 20, ACL_MEMCPY_DEVICE_TO_HOST));
    CHECK(t_diff(host, 1 << 20, 3) == SIZE_MAX);
    OK(aclrtFree(b));
    OK(aclrtResetDevice(1));
    OK(aclrtSetDevice(0));
    OK(aclrtResetDevice(0));
    OK(aclrtFree(a));
    free(host);
}

/*
 * What a device is can be asked without setting it. Opening a card resets it,
 * which takes some half a second: only the first question does.
 */
static void identity(void)
{
    int64_t hbm = 0, again = 0;
    struct timespec from, to;
    aclrtUuid u;
    int i;

    OK(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE, &hbm));
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (i = 0; i < 300; i++) {
        OK(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE, &again));
        OK(aclrtDeviceGetUuid(0, &u));
    }
    clock_gettime(CLOCK_MONOTONIC, &to);
    CHECK(hbm > 0 && again == hbm);
    CHECK(to.tv_sec - from.tv_sec < 60);
}

int main(void)
{
    const char *soc = aclrtGetSocName();
    uint32_t n = 0;
    int32_t id;
    int64_t v;

    CHECK(soc && strstr(soc, "Ascend950"));
    OK(aclrtGetDeviceCount(&n));
    printf("%u devices, %s\n", n, soc ? soc : "(null)");
    CODE(aclrtGetDevice(&id), 107002);
    OK(aclInit(NULL));
    CODE(aclInit(NULL), 100002);
    CODE(aclrtSetDevice((int32_t)n), 107001);
    CODE(aclrtSetDevice(-1), 107001);
    CODE(aclrtResetDevice(0), 507007);
    identity();
    OK(aclrtSetDevice(0));
    OK(aclrtGetDevice(&id));
    CHECK(id == 0);
    OK(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_MAINBOARD_ID, &v));
    CHECK(v == 0x60);
    OK(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_NPU_ARCH, &v));
    CHECK(v == 3510);
    codes();
    sizes_told();
    copies();
    overlap(false);
    overlap(true);
    questions();
    virtual_memory();
    segments();
    ranges_end();
    if (n > 1) {
        two_cards();
    }
    OK(aclFinalize());
    CODE(aclFinalize(), 100037);
    OK(aclrtResetDevice(0));
    CODE(aclrtGetDevice(&id), 107002);
    return t_end("acl-memory");
}
