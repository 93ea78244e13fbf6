/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many threads on all devices at once, each with a stream of its own: copies,
 * events between streams, kernels, allocation. argv[1]: kernel folder.
 */
#include <pthread.h>
#include "t.h"

#define THREADS 12
#define ROUNDS  60

static const char *dir;
static uint32_t devices;
static aclrtBinHandle bin;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Adds up failures of a thread. */
static int bad;

static void expect(int good, const char *what, int thread, int round)
{
    if (!good) {
        const char *msg = aclGetRecentErrMsg();

        pthread_mutex_lock(&lock);
        bad++;
        printf("thread %d, round %d: %s: %s\n", thread, round, what,
               msg ? msg : "(no text)");
        pthread_mutex_unlock(&lock);
    }
}

static int add(aclrtFuncHandle f, aclrtStream s, uint32_t *out, uint32_t a,
               uint32_t b)
{
    struct {
        uint32_t *out;
        uint32_t a, b;
    } x = { out, a, b };
    aclrtArgsHandle args;
    aclrtParamHandle p;

    return aclrtKernelArgsInit(f, &args) ||
           aclrtKernelArgsAppend(args, &x, sizeof(x), &p) ||
           aclrtKernelArgsFinalize(args) ||
           aclrtLaunchKernelWithConfig(f, 1, s, NULL, args, NULL);
}

static void round_of(int id, int r, aclrtFuncHandle f, aclrtStream s,
                     aclrtStream t, aclrtEvent e)
{
    size_t n = 1000 + (size_t)(id * 7919 + r * 104729) % 500000;
    uint8_t *host = NULL, *dev = NULL, *dev2 = NULL;
    uint32_t sum = 0;

    expect(!aclrtMallocHost((void **)&host, n) &&
           !aclrtMalloc((void **)&dev, n, ACL_MEM_MALLOC_HUGE_FIRST) &&
           !aclrtMalloc((void **)&dev2, n + 64, ACL_MEM_MALLOC_NORMAL_ONLY),
           "memory", id, r);
    if (!host || !dev || !dev2) {
        return;
    }
    t_fill(host, n, (uint32_t)(id * 1000 + r));
    expect(!aclrtMemcpyAsync(dev, n, host, n, ACL_MEMCPY_HOST_TO_DEVICE, s) &&
           !aclrtRecordEvent(e, s) && !aclrtStreamWaitEvent(t, e) &&
           !aclrtMemcpyAsync(dev2 + 64, n, dev, n, ACL_MEMCPY_DEVICE_TO_DEVICE,
                             t) &&
           !add(f, t, (uint32_t *)dev2, (uint32_t)id, (uint32_t)r) &&
           !aclrtSynchronizeStream(t), "work", id, r);
    memset(host, 0, n);
    expect(!aclrtMemcpy(host, n, dev2 + 64, n, ACL_MEMCPY_DEVICE_TO_HOST) &&
           t_diff(host, n, (uint32_t)(id * 1000 + r)) == SIZE_MAX, "data", id,
           r);
    expect(!aclrtMemcpy(&sum, 4, dev2, 4, ACL_MEMCPY_DEVICE_TO_HOST) &&
           sum == (uint32_t)(id + r), "sum", id, r);
    expect(!aclrtFree(dev) && !aclrtFree(dev2) && !aclrtFreeHost(host), "free",
           id, r);
}

static void *thread(void *arg)
{
    int id = (int)(intptr_t)arg, r;
    aclrtFuncHandle f = NULL;
    aclrtStream s, t;
    aclrtEvent e;

    expect(!aclrtSetDevice((int32_t)((uint32_t)id % devices)) &&
           !aclrtCreateStream(&s) && !aclrtCreateStream(&t) &&
           !aclrtCreateEvent(&e) && !aclrtBinaryGetFunction(bin, "Add", &f),
           "set-up", id, -1);
    for (r = 0; r < ROUNDS && !bad; r++) {
        round_of(id, r, f, s, t, e);
    }
    expect(!aclrtDestroyEvent(e) && !aclrtDestroyStream(s) &&
           !aclrtDestroyStream(t) &&
           !aclrtResetDevice((int32_t)((uint32_t)id % devices)), "end", id, r);
    return NULL;
}

int main(int argc, char **argv)
{
    aclrtBinaryLoadOption o = { ACL_RT_BINARY_LOAD_OPT_CPU_KERNEL_MODE,
                                { .cpuKernelMode = 1 } };
    aclrtBinaryLoadOptions opts = { &o, 1 };
    pthread_t th[THREADS];
    char path[4096];
    uint32_t i;

    dir = argc > 1 ? argv[1] : ".";
    snprintf(path, sizeof(path), "%s/libacl_test_kernel.json", dir);
    OK(aclInit(NULL));
    OK(aclrtGetDeviceCount(&devices));
    OK(aclrtBinaryLoadFromFile(path, &opts, &bin));
    /* The devices stay set while threads come and go. */
    for (i = 0; i < devices; i++) {
        OK(aclrtSetDevice((int32_t)i));
    }
    for (i = 0; i < THREADS; i++) {
        pthread_create(&th[i], NULL, thread, (void *)(intptr_t)i);
    }
    for (i = 0; i < THREADS; i++) {
        pthread_join(th[i], NULL);
    }
    CHECK(bad == 0);
    OK(aclrtBinaryUnLoad(bin));
    for (i = 0; i < devices; i++) {
        OK(aclrtResetDevice((int32_t)i));
    }
    OK(aclFinalize());
    return t_end("acl-threads");
}
