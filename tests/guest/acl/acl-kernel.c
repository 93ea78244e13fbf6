/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels: descriptors of all modes, arguments, launches, failures, time
 * limits. argv[1]: folder with libacl_test_kernel.{so,json}.
 */
#include <pthread.h>
#include <unistd.h>
#include "t.h"

static const char *dir;
static uint32_t *out;

static aclrtBinHandle load(const char *name, int mode, int want)
{
    aclrtBinaryLoadOption o = { ACL_RT_BINARY_LOAD_OPT_CPU_KERNEL_MODE,
                                { 0 } };
    aclrtBinaryLoadOptions opts = { &o, 1 };
    aclrtBinHandle b = NULL;
    char path[4096];

    o.value.cpuKernelMode = mode;
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    CODE(aclrtBinaryLoadFromFile(path, &opts, &b), want);
    return b;
}

static aclrtFuncHandle func(aclrtBinHandle b, const char *name)
{
    aclrtFuncHandle f = NULL;

    OK(aclrtBinaryGetFunction(b, name, &f));
    return f;
}

static int launch(aclrtFuncHandle f, aclrtStream s, const void *data,
                  size_t size, uint16_t seconds)
{
    aclrtLaunchKernelAttr attr;
    aclrtLaunchKernelCfg cfg = { &attr, 1 };
    aclrtArgsHandle args;
    aclrtParamHandle p;
    int rc;

    memset(&attr, 0xee, sizeof(attr));
    attr.id = ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT;
    attr.value.timeout = seconds;
    if ((rc = aclrtKernelArgsInit(f, &args)) ||
        (rc = aclrtKernelArgsAppend(args, (void *)data, size, &p)) ||
        (rc = aclrtKernelArgsFinalize(args))) {
        return rc;
    }
    return aclrtLaunchKernelWithConfig(f, 1, s, &cfg, args, NULL);
}

static uint32_t result(void)
{
    uint32_t v;

    OK(aclrtMemcpy(&v, 4, out, 4, ACL_MEMCPY_DEVICE_TO_HOST));
    return v;
}

static void add(aclrtFuncHandle f, aclrtStream s, uint32_t a, uint32_t b)
{
    struct {
        uint32_t *out;
        uint32_t a, b;
    } x = { out, a, b };

    OK(launch(f, s, &x, sizeof(x), 1836));
    memset(&x, 0xff, sizeof(x));
    OK(aclrtSynchronizeStream(s));
    CHECK(result() == a + b);
}

static void modes(aclrtStream s)
{
    aclrtBinaryLoadOption o = { ACL_RT_BINARY_LOAD_OPT_CPU_KERNEL_MODE,
                                { .cpuKernelMode = 2 } };
    aclrtBinaryLoadOptions opts = { &o, 1 };
    aclrtBinHandle b;
    aclrtFuncHandle f;
    static char data[1 << 20];
    char path[4096];
    size_t n;
    FILE *fp;

    b = load("libacl_test_kernel.json", 1, 0);
    add(func(b, "Add"), s, 3, 4);
    CODE(aclrtBinaryGetFunction(b, "Nowhere", &f), 107000);
    OK(aclrtBinaryUnLoad(b));
    CODE(aclrtBinaryUnLoad(b), 107017);
    b = load("libacl_test_kernel.so", 0, 0);
    add(func(b, "Add"), s, 5, 6);
    OK(aclrtBinaryUnLoad(b));
    snprintf(path, sizeof(path), "%s/libacl_test_kernel.so", dir);
    fp = fopen(path, "rb");
    CHECK(fp != NULL);
    n = fp ? fread(data, 1, sizeof(data), fp) : 0;
    OK(aclrtBinaryLoadFromData(data, n, &opts, &b));
    OK(aclrtRegisterCpuFunc(b, "k_add", "MyAdd", &f));
    memset(data, 0, sizeof(data));
    add(f, s, 7, 8);
    OK(aclrtBinaryUnLoad(b));
    load("nothing-there.json", 0, 107000);
    load("broken.json", 0, 107000);
    load("libacl_test_kernel.json", 5, 107000);
    CODE(aclrtBinaryLoadFromData("MZ....", 6, &opts, &b), 107000);
}

static void failures(aclrtBinHandle b, aclrtStream s)
{
    static const struct {
        const char *name;
        const char *text;
    } bad[] = {
        { "Fail", "k_fail" }, { "Crash", "k_crash" }, { "Abort", "k_abort" },
    };
    aclrtBinHandle b0;
    const char *msg;
    double t0;
    int i, rc;

    for (i = 0; i < 3; i++) {
        OK(launch(func(b, bad[i].name), s, &i, 4, 0));
        rc = aclrtSynchronizeStream(s);
        msg = aclGetRecentErrMsg();
        CHECK(rc == 507018);
        CHECK(msg && strstr(msg, bad[i].text));
        printf("%s: %d %s\n", bad[i].name, rc, msg ? msg : "(no text)");
        add(func(b, "Add"), s, 1, (uint32_t)i);
    }
    rc = launch(func(b, "NoFunction"), s, &i, 4, 0);
    msg = aclGetRecentErrMsg();
    CHECK(rc == 507018 && msg && strstr(msg, "k_missing"));
    printf("NoFunction: %d %s\n", rc, msg ? msg : "(no text)");
    b0 = load("libacl_test_kernel.json", 0, 0);
    rc = launch(func(b0, "NoLibrary"), s, &i, 4, 0);
    msg = aclGetRecentErrMsg();
    CHECK(rc == 507018 && msg && strstr(msg, "libnowhere.so"));
    printf("NoLibrary: %d %s\n", rc, msg ? msg : "(no text)");
    OK(aclrtBinaryUnLoad(b0));
    t0 = t_now();
    OK(launch(func(b, "Forever"), s, &i, 4, 1));
    rc = aclrtSynchronizeStream(s);
    msg = aclGetRecentErrMsg();
    CHECK(rc == 507017);
    printf("Forever: %d after %.1f s %s\n", rc, t_now() - t0,
           msg ? msg : "(no text)");
    CHECK(t_now() - t0 < 15);
    add(func(b, "Add"), s, 100, 200);
}

static void stop_on_failure(aclrtBinHandle b)
{
    aclrtStream s;
    int x = 0;

    OK(aclrtCreateStream(&s));
    OK(aclrtSetStreamFailureMode(s, 1));
    CODE(aclrtSetStreamFailureMode(s, 1), 107000);
    OK(aclrtMemset(out, 4, 0, 4));
    OK(launch(func(b, "Fail"), s, &x, 4, 0));
    OK(aclrtMemsetAsync(out, 4, 1, 4, s));
    CODE(aclrtSynchronizeStream(s), 507018);
    CHECK(result() == 0);
    CODE(aclrtMemsetAsync(out, 4, 1, 4, s), 507018);
    CODE(aclrtSynchronizeStream(s), 507018);
    OK(aclrtStreamAbort(s));
    OK(aclrtMemsetAsync(out, 4, 2, 4, s));
    OK(aclrtSynchronizeStream(s));
    CHECK(result() == 0x02020202);
    OK(aclrtDestroyStream(s));
    /* going on is the default */
    OK(aclrtCreateStream(&s));
    OK(launch(func(b, "Fail"), s, &x, 4, 0));
    OK(aclrtMemsetAsync(out, 4, 3, 4, s));
    CODE(aclrtSynchronizeStream(s), 507018);
    OK(aclrtSynchronizeStream(s));
    CHECK(result() == 0x03030303);
    OK(aclrtDestroyStream(s));
}

static void arguments(aclrtBinHandle b, aclrtStream s)
{
    aclrtFuncHandle f = func(b, "Big");
    aclrtArgsHandle a;
    aclrtParamHandle p;
    struct {
        void *out;
        uint32_t n;
        uint8_t data[16384];
    } x;
    uint64_t sum = 0, got;
    int i, k;

    CODE(aclrtKernelArgsInit(s, &a), 107017);
    OK(aclrtKernelArgsInit(f, &a));
    CODE(aclrtKernelArgsAppend(a, NULL, 4, &p), 100000);
    CODE(aclrtKernelArgsAppend(a, &x, 0, &p), 100000);
    CODE(aclrtKernelArgsAppend(a, &x, 65537, &p), 107000);
    CODE(aclrtLaunchKernelWithConfig(f, 1, s, NULL, a, NULL), 107000);
    OK(aclrtKernelArgsFinalize(a));
    CODE(aclrtKernelArgsAppend(a, &x, 4, &p), 207000);
    CODE(aclrtLaunchKernelWithConfig(f, 0, s, NULL, a, NULL), 100000);
    CODE(aclrtLaunchKernelWithConfig(f, 1, s, NULL, a, &x), 100000);
    OK(aclrtMemset(out, 8, 0, 8));
    x.out = out;
    x.n = sizeof(x.data);
    for (k = 0; k < 100; k++) {
        for (i = 0; i < (int)sizeof(x.data); i++) {
            x.data[i] = (uint8_t)(i * 7 + k);
            sum += x.data[i];
        }
        OK(launch(f, s, &x, sizeof(x), 0));
    }
    OK(aclrtSynchronizeStream(s));
    OK(aclrtMemcpy(&got, 8, out, 8, ACL_MEMCPY_DEVICE_TO_HOST));
    CHECK(got == sum);
}

static void speed(aclrtBinHandle b, aclrtStream s)
{
    aclrtFuncHandle f = func(b, "Nothing");
    double t0;
    int i;

    t0 = t_now();
    for (i = 0; i < 1000; i++) {
        if (launch(f, s, &i, 4, 0) || aclrtSynchronizeStream(s)) {
            CHECK(!"launch");
            break;
        }
    }
    printf("launch and synchronise: %.1f us\n", (t_now() - t0) * 1000);
    t0 = t_now();
    for (i = 0; i < 10000; i++) {
        if (launch(f, s, &i, 4, 0)) {
            CHECK(!"launch");
            break;
        }
    }
    OK(aclrtSynchronizeStream(s));
    printf("10000 launches: %.1f us each\n", (t_now() - t0) * 100);
}

int main(int argc, char **argv)
{
    aclrtBinHandle b;
    aclrtStream s;
    double t0;

    dir = argc > 1 ? argv[1] : ".";
    OK(aclInit(NULL));
    OK(aclrtSetDevice(0));
    OK(aclrtCreateStream(&s));
    OK(aclrtMalloc((void **)&out, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    t0 = t_now();
    b = load("libacl_test_kernel.json", 1, 0);
    add(func(b, "Add"), s, 1, 2);
    if (t_failed) {
        return t_end("acl-kernel");  /* nothing else can work */
    }
    printf("first kernel after %.0f ms\n", (t_now() - t0) * 1000);
    modes(s);
    arguments(b, s);
    stop_on_failure(b);
    speed(b, s);
    failures(b, s);
    OK(aclrtBinaryUnLoad(b));
    OK(aclrtDestroyStream(s));
    OK(aclrtFree(out));
    OK(aclrtResetDevice(0));
    OK(aclFinalize());
    return t_end("acl-kernel");
}
