/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects are destroyed in any order, with work under way, the device's reset
 * among them or at the end. Whatever has lost what it belongs to says so by a
 * code; afterwards everything works as at first. argv[1]: folder of
 * libacl_test_kernel, argv[2]: "last": the reset comes last, so that the
 * leak report must be empty.
 */
#include <unistd.h>
#include "t.h"

#define SIZE    4096u

enum {
    CONTEXT, STREAM_OF_CONTEXT, STREAM, EVENT, SYNC_EVENT, IPC_EVENT, NOTIFY,
    CNT_NOTIFY, MEMORY, HOST_MEMORY, BINARY, GRAPH, RESET, KINDS
};

static const char *const names[KINDS] = {
    "context", "stream of the context", "stream", "event", "SYNC event",
    "IPC event", "notify", "counting notify", "memory", "host memory",
    "binary", "graph", "reset",
};

static const char *dir;
static void *obj[KINDS];
static aclrtContext primary;

static void nap(void *us)
{
    usleep((useconds_t)(uintptr_t)us);
}

static uint32_t random_next(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static void kernel(aclrtStream s)
{
    aclrtBinaryLoadOption o = { ACL_RT_BINARY_LOAD_OPT_CPU_KERNEL_MODE,
                                { 0 } };
    aclrtBinaryLoadOptions opts = { &o, 1 };
    struct { void *out; uint32_t a, b; } x = { obj[MEMORY], 20, 22 };
    aclrtFuncHandle f;
    aclrtArgsHandle a;
    aclrtParamHandle p;
    char path[4096];

    snprintf(path, sizeof(path), "%s/libacl_test_kernel.json", dir);
    OK(aclrtBinaryLoadFromFile(path, &opts, &obj[BINARY]));
    OK(aclrtBinaryGetFunction(obj[BINARY], "Add", &f));
    OK(aclrtKernelArgsInit(f, &a));
    OK(aclrtKernelArgsAppend(a, &x, sizeof(x), &p));
    OK(aclrtKernelArgsFinalize(a));
    OK(aclrtLaunchKernelWithConfig(f, 1, s, NULL, a, NULL));
}

static void make(void)
{
    aclrtStream s, c;

    OK(aclrtSetDevice(0));
    OK(aclrtGetCurrentContext(&primary));
    OK(aclrtCreateContext(&obj[CONTEXT], 0));
    OK(aclrtCreateStream(&c));
    obj[STREAM_OF_CONTEXT] = c;
    OK(aclrtSetCurrentContext(primary));
    OK(aclrtCreateStream(&s));
    obj[STREAM] = s;
    OK(aclrtCreateEvent(&obj[EVENT]));
    OK(aclrtCreateEventWithFlag(&obj[SYNC_EVENT], ACL_EVENT_SYNC));
    OK(aclrtCreateEventWithFlag(&obj[IPC_EVENT], ACL_EVENT_IPC));
    OK(aclrtCreateNotify(&obj[NOTIFY], 0));
    OK(aclrtCntNotifyCreate(&obj[CNT_NOTIFY], 0));
    OK(aclrtMalloc(&obj[MEMORY], SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMallocHost(&obj[HOST_MEMORY], SIZE));
    OK(aclmdlRICaptureBegin(s, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    OK(aclrtMemsetAsync(obj[MEMORY], SIZE, 1, SIZE, s));
    kernel(s);
    OK(aclmdlRICaptureEnd(s, &obj[GRAPH]));
    /* Work that ends by itself, some of it after the first destroys. */
    OK(aclrtLaunchHostFunc(s, nap, (void *)3000));
    OK(aclrtRecordEvent(obj[EVENT], s));
    OK(aclrtRecordEvent(obj[SYNC_EVENT], s));
    OK(aclrtRecordEvent(obj[IPC_EVENT], s));
    OK(aclrtRecordNotify(obj[NOTIFY], s));
    OK(aclmdlRIExecuteAsync(obj[GRAPH], s));
    OK(aclrtSetCurrentContext(obj[CONTEXT]));
    OK(aclrtLaunchHostFunc(c, nap, (void *)2000));
    OK(aclrtStreamWaitEvent(c, obj[EVENT]));
    OK(aclrtMemcpyAsync(obj[HOST_MEMORY], SIZE, obj[MEMORY], 64,
                        ACL_MEMCPY_DEVICE_TO_HOST, c));
}

static int destroy(int kind)
{
    switch (kind) {
    case CONTEXT:           return aclrtDestroyContext(obj[kind]);
    case STREAM_OF_CONTEXT:
    case STREAM:            return aclrtDestroyStream(obj[kind]);
    case EVENT:
    case SYNC_EVENT:
    case IPC_EVENT:         return aclrtDestroyEvent(obj[kind]);
    case NOTIFY:            return aclrtDestroyNotify(obj[kind]);
    case CNT_NOTIFY:        return aclrtCntNotifyDestroy(obj[kind]);
    case MEMORY:            return aclrtFree(obj[kind]);
    case HOST_MEMORY:       return aclrtFreeHost(obj[kind]);
    case BINARY:            return aclrtBinaryUnLoad(obj[kind]);
    case GRAPH:             return aclmdlRIDestroy(obj[kind]);
    }
    return aclrtResetDevice(0);
}

/* May @kind fail now, and with what? */
static int allowed(int kind, const int *gone)
{
    int reset = gone[RESET], context = gone[CONTEXT];

    switch (kind) {
    case STREAM_OF_CONTEXT:
        return context ? 107003 : 0;     /* went with its context */
    case STREAM:
        return reset ? 107003 : 0;
    case MEMORY:
        return reset && context ? 107000 : 0;
    }
    return 0;
}

static void round_of(uint32_t seed, int last)
{
    int order[KINDS], gone[KINDS] = { 0 }, i;
    char text[400] = "";

    for (i = 0; i < KINDS; i++) {
        order[i] = i;
    }
    for (i = last ? RESET - 1 : KINDS - 1; i > 0; i--) {
        int j = (int)(random_next(&seed) % (uint32_t)(i + 1)), k = order[i];

        order[i] = order[j];
        order[j] = k;
    }
    make();
    if (random_next(&seed) % 2) {
        OK(aclrtSetCurrentContext(primary));
    }
    for (i = 0; i < KINDS; i++) {
        int kind = order[i], want = allowed(kind, gone), rc = destroy(kind);

        gone[kind] = 1;
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s",
                 i ? ", " : "", names[kind]);
        CHECK(rc == want);
        if (rc != want) {
            const char *msg = aclGetRecentErrMsg();

            printf("# %s: %d, not %d: %s\n", text, rc, want,
                   msg ? msg : "");
            return;
        }
    }
}

static void works(void)
{
    uint32_t v = 0;
    aclrtStream s;

    OK(aclrtSetDevice(0));
    OK(aclrtCreateStream(&s));
    OK(aclrtMalloc(&obj[MEMORY], SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
    kernel(s);
    OK(aclrtSynchronizeStream(s));
    OK(aclrtMemcpy(&v, 4, obj[MEMORY], 4, ACL_MEMCPY_DEVICE_TO_HOST));
    CHECK(v == 42);
    OK(aclrtBinaryUnLoad(obj[BINARY]));
    OK(aclrtFree(obj[MEMORY]));
    OK(aclrtDestroyStream(s));
    OK(aclrtResetDevice(0));
}

int main(int argc, char **argv)
{
    int last = argc > 2 && !strcmp(argv[2], "last");
    uint32_t seed;

    dir = argc > 1 ? argv[1] : ".";
    OK(aclInit(NULL));
    for (seed = 1; seed <= 25 && !t_failed; seed++) {
        round_of(seed * 7919, last);
        works();
    }
    OK(aclFinalize());
    return t_end("acl-order");
}
