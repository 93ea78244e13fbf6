/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The acl runtime and the card driver under threads, late completions and
 * failures, on cards of plain memory.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "acl_priv.h"
#include "card_priv.h"
#include "tap.h"
#include "vfio-mock.h"

static double now(void)
{
    return (double)a350_now_ns() * 1e-9;
}

static void ms(unsigned n)
{
    usleep(n * 1000);
}

/* ---- a submitter that is stuck ---- */

typedef struct flood {
    aclrtStream s;
    aclrtNotify n;
    _Atomic int sent;
    aclError last;
} flood;

static void *flood_run(void *opaque)
{
    flood *f = opaque;
    int i;

    aclrtSetDevice(0);
    for (i = 0; i < 3000 && f->last == ACL_SUCCESS; i++) {
        f->last = aclrtRecordNotify(f->n, f->s);
        f->sent++;
    }
    aclrtResetDevice(0);
    return NULL;
}

static void test_abort(void)
{
    flood f = { 0 };
    aclrtNotify gate;
    pthread_t t;
    double start;
    int before;

    aclrtCreateStream(&f.s);
    aclrtCreateNotify(&gate, 0);
    aclrtCreateNotify(&f.n, 0);
    aclrtWaitAndResetNotify(gate, f.s, 0);
    pthread_create(&t, NULL, flood_run, &f);
    do {
        before = f.sent;
        ms(50);
    } while (before != f.sent || !before);
    ok(before > 1000 && before < 3000, "a full stream holds its submitter");
    start = now();
    ok(aclrtSynchronizeStreamWithTimeout(f.s, 100) ==
       ACL_ERROR_RT_STREAM_SYNC_TIMEOUT && now() - start < 5,
       "a wait with a limit ends meanwhile");
    ok(aclrtStreamAbort(f.s) == ACL_SUCCESS, "the stream is aborted");
    pthread_join(t, NULL);
    ok(f.last == ACL_SUCCESS || f.last == ACL_ERROR_RT_STREAM_ABORT,
       "the submitter goes on or is told (%d)", f.last);
    ok(aclrtSynchronizeStreamWithTimeout(f.s, 5000) == ACL_SUCCESS,
       "the stream is usable");
    aclrtDestroyStream(f.s);
    aclrtDestroyNotify(f.n);
    aclrtDestroyNotify(gate);
}

/* ---- completions that come late ---- */

static int late_calls;

static void count_cqe(void *opaque, a350_sq *sq, const a350_cqe *cqe)
{
    (void)opaque;
    (void)sq;
    (void)cqe;
    late_calls++;
}

static void spin_done(a350_sq *q, uint64_t seq)
{
    while (a350_sq_done(q) < seq) {
        usleep(100);
    }
}

/* A queue gets the number of one whose completions nobody has read. */
static void test_late(void)
{
    a350_sq_config cfg = { .depth = 65, .on_cqe = count_cqe };
    a350_card *card = a350_current_card();
    a350_sq_error err;
    a350_sqe nop[8], bad, wait;
    uint32_t id, notify;
    uint64_t seq;
    a350_sq *q;
    int i;

    a350_notify_alloc(card, &notify);
    for (i = 0; i < 8; i++) {
        a350_sqe_nop(&nop[i], 0);
        nop[i].w[0] |= A350_SQE_WR_CQE;
    }
    a350_sqe_notify_wait(&wait, 0, notify, 0);
    mock_quiet = true;
    a350_sq_new(card, &cfg, &q);
    id = a350_sq_id(q);
    a350_sq_push(q, nop, 8, &seq);
    spin_done(q, seq);
    a350_sq_destroy(q);
    a350_sq_new(card, &cfg, &q);
    ok(a350_sq_id(q) == id, "a queue has the number of an older one");
    for (i = 0; i < 8; i++) {
        a350_sq_push(q, &wait, 1, &seq);
    }
    mock_quiet = false;
    late_calls = 0;
    ms(700);
    ok(a350_sq_done(q) == 0 && late_calls == 0,
       "the older one's completions are not its own (%d, %d)",
       (int)a350_sq_done(q), late_calls);
    a350_sq_destroy(q);

    /* An error from before a reset. */
    mock_quiet = true;
    a350_sqe_sdma(&bad, 0, A350_SDMA_CPY, A350_DEV_BASE(9), A350_DEV_BASE(0),
                  64);
    a350_sq_new(card, &cfg, &q);
    a350_sq_push(q, &bad, 1, &seq);
    ms(100);
    a350_sq_reset(q);
    mock_quiet = false;
    ms(700);
    ok(!a350_sq_last_error(q, &err), "a reset ends an error that comes late");
    ok(a350_sq_push(q, nop, 1, &seq) == 0 &&
       a350_sq_wait(q, seq, 2000, a350_sq_error_count(q)) == 0,
       "and the queue runs");
    a350_sq_destroy(q);
    a350_notify_free(card, notify);
}

/* ---- the device's own queue ---- */

typedef struct failing {
    pthread_barrier_t *start;
    int lost;
} failing;

static void *fail_run(void *opaque)
{
    acl_dev *d = dev_get(0);
    failing *f = opaque;
    a350_sqe bad;
    int i;

    a350_sqe_sdma(&bad, 0, A350_SDMA_CPY, A350_DEV_BASE(9), A350_DEV_BASE(0),
                  64);
    pthread_barrier_wait(f->start);
    for (i = 0; i < 200; i++) {
        f->lost += dev_run("test", d, &bad, 1, 5000) == ACL_SUCCESS;
    }
    return NULL;
}

static void test_failures(void)
{
    pthread_barrier_t start;
    failing f[4] = { { &start, 0 }, { &start, 0 }, { &start, 0 },
                     { &start, 0 } };
    pthread_t t[4];
    int i, lost = 0;

    pthread_barrier_init(&start, NULL, 4);
    for (i = 0; i < 4; i++) {
        pthread_create(&t[i], NULL, fail_run, &f[i]);
    }
    for (i = 0; i < 4; i++) {
        pthread_join(t[i], NULL);
        lost += f[i].lost;
    }
    ok(lost == 0, "threads whose entries fail together are all told (%d not)",
       lost);
    pthread_barrier_destroy(&start);
}

/* ---- streams ---- */

static const Elf64_Ehdr image = {
    .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64 },
    .e_machine = EM_RISCV, .e_type = ET_DYN,
};

static aclrtBinHandle load(const char *path)
{
    aclrtBinaryLoadOption o = {
        .type = ACL_RT_BINARY_LOAD_OPT_CPU_KERNEL_MODE,
        .value.cpuKernelMode = path ? 1 : 2,
    };
    aclrtBinaryLoadOptions opt = { &o, 1 };
    aclrtBinHandle bin = NULL;
    aclError rc = path
        ? aclrtBinaryLoadFromFile(path, &opt, &bin)
        : aclrtBinaryLoadFromData(&image, sizeof(image), &opt, &bin);

    return rc ? NULL : bin;
}

static aclrtFuncHandle function(aclrtBinHandle bin, const char *name)
{
    aclrtFuncHandle f = NULL;

    return aclrtRegisterCpuFunc(bin, name, name, &f) ? NULL : f;
}

static aclError launch(aclrtFuncHandle f, uint64_t arg, aclrtStream s)
{
    return aclrtLaunchKernelWithHostArgs(f, 1, s, NULL, &arg, sizeof(arg),
                                         NULL, 0);
}

static _Atomic int called;

static void call_back(void *arg)
{
    (void)arg;
    ms(100);
    called++;
}

/* An error that was told does not make later work disposable. */
static void test_destroy(void)
{
    aclrtBinHandle bin = load(NULL);
    aclrtFuncHandle fail = function(bin, "fail");
    aclrtStream s;

    aclrtCreateStream(&s);
    ok(launch(fail, 0, s) == 0 &&
       aclrtSynchronizeStream(s) == ACL_ERROR_RT_AICPU_EXCEPTION,
       "a kernel fails");
    called = 0;
    ok(aclrtLaunchHostFunc(s, call_back, NULL) == 0 &&
       aclrtDestroyStream(s) == 0 && called == 1,
       "destroying the stream waits for what came after");
    aclrtBinaryUnLoad(bin);
}

static void test_ids(void)
{
    aclrtStream s, t;
    int32_t a, b;

    aclrtCreateStream(&s);
    aclrtSetStreamFailureMode(s, ACL_STOP_ON_FAILURE);
    aclrtCreateStream(&t);
    ok(aclrtStreamGetId(s, &a) == 0 && aclrtStreamGetId(t, &b) == 0 && a != b,
       "streams have numbers of their own (%d, %d)", a, b);
    aclrtDestroyStream(s);
    aclrtDestroyStream(t);
}

/* A thread waits for the device while others make and destroy streams. */
static volatile bool stop;

static void *churn(void *opaque)
{
    aclrtContext ctx = opaque;
    aclrtStream s;

    aclrtSetCurrentContext(ctx);
    while (!stop) {
        aclrtCreateStream(&s);
        aclrtLaunchHostFunc(s, call_back, NULL);
        aclrtStreamAbort(s);
        aclrtDestroyStream(s);
    }
    return NULL;
}

static void test_device_sync(void)
{
    aclrtContext ctx;
    aclrtStream slow;
    pthread_t t[2];
    int i, early = 0, failed = 0;

    aclrtGetCurrentContext(&ctx);
    aclrtCreateStream(&slow);
    stop = false;
    for (i = 0; i < 2; i++) {
        pthread_create(&t[i], NULL, churn, ctx);
    }
    for (i = 0; i < 20; i++) {
        aclError rc;

        called = 0;
        aclrtLaunchHostFunc(slow, call_back, NULL);
        rc = aclrtSynchronizeDevice();
        failed += rc != ACL_SUCCESS && rc != ACL_ERROR_RT_STREAM_ABORT;
        early += rc == ACL_SUCCESS && !called;
        aclrtSynchronizeStream(slow);
    }
    stop = true;
    for (i = 0; i < 2; i++) {
        pthread_join(t[i], NULL);
    }
    ok(!failed && !early, "the device is waited for while streams come and "
       "go (%d failed, %d too early)", failed, early);
    aclrtDestroyStream(slow);
}

/* ---- devices ---- */

static void *set_reset(void *opaque)
{
    int *failed = opaque, i;
    aclrtStream s;

    for (i = 0; i < 60; i++) {
        if (aclrtSetDevice(1) || aclrtCreateStream(&s) ||
            aclrtSynchronizeStream(NULL) || aclrtDestroyStream(s) ||
            aclrtResetDevice(1)) {
            const char *why = aclGetRecentErrMsg();

            printf("# round %d: %s\n", i, why ? why : "");
            (*failed)++;
        }
        usleep((unsigned)i % 7 * 500);
    }
    return NULL;
}

/* As libraries above do when their device goes. */
static void slow_hook(void *opaque, int32_t device)
{
    (void)opaque;
    if (device == 1) {
        ms(2);
    }
}

static void test_set_reset(void)
{
    int failed[2] = { 0, 0 };
    pthread_t t[2];
    int i;

    a350_on_device_reset(slow_hook, NULL);
    for (i = 0; i < 2; i++) {
        pthread_create(&t[i], NULL, set_reset, &failed[i]);
    }
    for (i = 0; i < 2; i++) {
        pthread_join(t[i], NULL);
    }
    ok(!failed[0] && !failed[1], "two threads set and reset one device");
}

/* ---- kernels ---- */

static char lib_path[64];

static void *load_unload(void *opaque)
{
    int *failed = opaque, i;
    aclrtStream s;

    aclrtSetDevice(0);
    aclrtCreateStream(&s);
    for (i = 0; i < 256; i++) {
        aclrtBinHandle bin = load(lib_path);
        aclrtFuncHandle f;

        if (!bin || aclrtBinaryGetFunction(bin, "op", &f) ||
            launch(f, 0, s) || aclrtSynchronizeStream(s) ||
            aclrtBinaryUnLoad(bin)) {
            const char *why = aclGetRecentErrMsg();

            printf("# round %d: %s\n", i, why ? why : "");
            (*failed)++;
        }
    }
    aclrtDestroyStream(s);
    aclrtResetDevice(0);
    return NULL;
}

static void write_file(const char *name, const void *data, size_t n)
{
    FILE *f = fopen(name, "w");

    fwrite(data, 1, n, f);
    fclose(f);
}

static void test_load(void)
{
    static const char json[] = "{\"op\":{\"opInfo\":{\"opKernelLib\":"
        "\"AICPUKernel\",\"kernelSo\":\"k.so\",\"functionName\":\"nop\"}}}";
    char dir[] = "/tmp/test-acl-XXXXXX", path[64];
    int failed[3] = { 0 };
    pthread_t t[3];
    int i;

    mkdtemp(dir);
    snprintf(path, sizeof(path), "%s/k.json", dir);
    write_file(path, json, strlen(json));
    snprintf(lib_path, sizeof(lib_path), "%s/k.so", dir);
    write_file(lib_path, &image, sizeof(image));

    for (i = 0; i < 3; i++) {
        pthread_create(&t[i], NULL, load_unload, &failed[i]);
    }
    for (i = 0; i < 3; i++) {
        pthread_join(t[i], NULL);
    }
    ok(!failed[0] && !failed[1] && !failed[2],
       "threads load and unload the same library");
    unlink(path);
    unlink(lib_path);
    rmdir(dir);
}

static _Atomic uint64_t kernel_sum;

__attribute__((no_sanitize("thread")))
static void add_kernel(const void *args)
{
    kernel_sum += *(const uint64_t *)args;
}

static void *unload(void *opaque)
{
    aclrtSetDevice(0);
    aclrtBinaryUnLoad(opaque);
    aclrtResetDevice(0);
    return NULL;
}

/* What is launched runs, though its binary is given up meanwhile. */
static void test_unload(void)
{
    aclrtBinHandle bin = load(NULL);
    aclrtFuncHandle f = function(bin, "add");
    aclrtNotify gate;
    aclrtStream s;
    void *junk[64];
    pthread_t t;
    int i;

    mock_kernel = add_kernel;
    kernel_sum = 0;
    aclrtCreateNotify(&gate, 0);
    aclrtCreateStream(&s);
    aclrtWaitAndResetNotify(gate, s, 0);
    launch(f, 5, s);
    pthread_create(&t, NULL, unload, bin);
    ms(200);
    for (i = 0; i < 64; i++) {
        aclrtMalloc(&junk[i], 64, ACL_MEM_MALLOC_NORMAL_ONLY);
        aclrtMemset(junk[i], 64, 'x', 64);
    }
    a350_notify_write(a350_current_card(), ((struct { uint32_t m, id; } *)
                                            gate)->id, 1);
    ok(aclrtSynchronizeStream(s) == 0 && kernel_sum == 5,
       "a launched kernel survives its binary");
    pthread_join(t, NULL);
    for (i = 0; i < 64; i++) {
        aclrtFree(junk[i]);
    }
    aclrtDestroyStream(s);
    aclrtDestroyNotify(gate);
}

/* ---- graphs ---- */

static void *graph_destroy(void *g)
{
    aclmdlRIDestroy(g);
    return NULL;
}

static void test_graph(void)
{
    aclrtBinHandle bin = load(NULL);
    aclrtFuncHandle f = function(bin, "add");
    aclrtNotify gate;
    aclrtStream s[2];
    aclmdlRI g;
    void *junk[8];
    pthread_t t;
    int i;

    mock_kernel = add_kernel;
    kernel_sum = 0;
    aclrtCreateNotify(&gate, 0);
    aclrtCreateStream(&s[0]);
    aclrtCreateStream(&s[1]);
    aclmdlRICaptureBegin(s[0], ACL_MODEL_RI_CAPTURE_MODE_GLOBAL);
    launch(f, 7, s[0]);
    aclmdlRICaptureEnd(s[0], &g);
    aclrtWaitAndResetNotify(gate, s[0], 0);
    ok(aclmdlRIExecuteAsync(g, s[0]) == 0 && aclmdlRIExecuteAsync(g, s[1]) ==
       0 && aclrtSynchronizeStream(s[1]) == 0 && kernel_sum == 7,
       "a graph runs in one stream and waits in another");
    pthread_create(&t, NULL, graph_destroy, g);
    ms(200);
    for (i = 0; i < 8; i++) {
        aclrtMalloc(&junk[i], 65536, ACL_MEM_MALLOC_NORMAL_ONLY);
        aclrtMemset(junk[i], 65536, 1, 65536);
    }
    a350_notify_write(a350_current_card(), ((struct { uint32_t m, id; } *)
                                            gate)->id, 1);
    ok(aclrtSynchronizeStream(s[0]) == 0 && kernel_sum == 14,
       "where its arguments are there until it is through (%llu)",
       (unsigned long long)kernel_sum);
    pthread_join(t, NULL);
    for (i = 0; i < 8; i++) {
        aclrtFree(junk[i]);
    }
    aclrtDestroyStream(s[0]);
    aclrtDestroyStream(s[1]);
    aclrtDestroyNotify(gate);
    aclrtBinaryUnLoad(bin);
}

/* ---- events ---- */

static aclrtEvent shared_event;

static void *record_run(void *opaque)
{
    aclrtStream s;

    aclrtSetCurrentContext(opaque);
    aclrtCreateStream(&s);
    while (!stop) {
        aclrtRecordEvent(shared_event, s);
    }
    aclrtSynchronizeStream(s);
    aclrtDestroyStream(s);
    return NULL;
}

/* One thread records an event for which another waits. */
static void test_event(void)
{
    aclrtContext ctx;
    aclrtStream s;
    pthread_t t;
    float time;
    int i, failed = 0;

    aclrtGetCurrentContext(&ctx);
    aclrtCreateStream(&s);
    aclrtCreateEvent(&shared_event);
    aclrtRecordEvent(shared_event, s);
    stop = false;
    pthread_create(&t, NULL, record_run, ctx);
    for (i = 0; i < 3000; i++) {
        aclrtEventRecordedStatus status;

        failed += aclrtStreamWaitEvent(s, shared_event) != ACL_SUCCESS;
        failed += aclrtQueryEventStatus(shared_event, &status) != ACL_SUCCESS;
        aclrtEventElapsedTime(&time, shared_event, shared_event);
    }
    stop = true;
    pthread_join(t, NULL);
    ok(!failed && aclrtSynchronizeStream(s) == 0, "an event is recorded and "
       "waited for by two threads");
    aclrtDestroyEvent(shared_event);
    aclrtDestroyStream(s);
}

/* ---- memory ---- */

static void test_register(void)
{
    uint8_t *p = mmap(NULL, 65536, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    aclrtPtrAttributes a;
    void *d, *block;

    ok(aclrtHostRegister(p, 65536, ACL_HOST_REGISTER_MAPPED, &d) == 0 &&
       aclrtHostRegister(p + 8192, 4096, ACL_HOST_REGISTER_MAPPED, &d) == 0 &&
       aclrtHostUnregister(p) == 0 && mock_mapped(p + 8192) &&
       a350_host_is_pinned(p + 8192, 4096),
       "a registration inside another one survives it");
    ok(!mock_mapped(p) && aclrtHostUnregister(p + 8192) == 0 &&
       !mock_mapped(p + 8192), "and ends by itself");
    ok(aclrtMallocHost(&block, 1 << 20) == 0 &&
       aclrtHostRegister(block, 1 << 20, ACL_HOST_REGISTER_MAPPED, &d) == 0 &&
       aclrtFreeHost(block) == 0 &&
       aclrtPointerGetAttributes(block, &a) == 0 &&
       a.location.type == ACL_MEM_LOCATION_TYPE_UNREGISTERED,
       "a freed block is not registered");
    munmap(p, 65536);
}

static void test_physical(void)
{
    aclrtPhysicalMemProp prop = {
        .memAttr = ACL_HBM_MEM_HUGE,
        .location = { 0, ACL_MEM_LOCATION_TYPE_DEVICE },
    };
    aclrtDrvMemHandle h, other;
    void *va;

    ok(aclrtReserveMemAddress(&va, 2 << 20, 0, NULL, 0) == 0 &&
       aclrtMallocPhysical(&h, 2 << 20, &prop, 0) == 0 &&
       aclrtMapMem(va, 2 << 20, 0, h, 0) == 0 &&
       aclrtFreePhysical(h) == 0, "a mapped handle is freed");
    ok(aclrtFreePhysical(h) == ACL_ERROR_RT_INVALID_HANDLE, "once");
    ok(aclrtMallocPhysical(&other, 2 << 20, &prop, 0) == 0 && other != h,
       "the mapping keeps it");
    ok(aclrtUnmapMem(va) == 0 && aclrtReleaseMemAddress(va) == 0 &&
       aclrtFreePhysical(other) == 0, "until it is unmapped");
}

/* ---- processes and signals ---- */

static volatile int taken;

static void take(int sig)
{
    (void)sig;
    taken = 1;
}

static void test_signals(void)
{
    struct timespec limit = { 1, 0 };
    sigset_t set, old;
    aclrtStream s;
    int i, got = 0;

    aclrtCreateStream(&s);
    aclrtLaunchHostFunc(s, call_back, NULL);
    aclrtSynchronizeStream(s);
    signal(SIGUSR1, take);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, &old);
    for (i = 0; i < 10; i++) {
        kill(getpid(), SIGUSR1);
        got += sigtimedwait(&set, NULL, &limit) == SIGUSR1;
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    ok(got == 10 && !taken, "the library's threads leave signals alone");
    aclrtDestroyStream(s);
}

/* ---- call-backs that wait for one another ---- */

static _Atomic int met, met_late;

static void meet(void *opaque)
{
    double start = now();
    int n = (int)(intptr_t)opaque;

    met++;
    while (met < n && now() - start < 2) {
        usleep(50);
    }
    met_late += met < n;
}

/* One more call-back at once than there are threads that wait for work. */
static void test_meet(void)
{
    aclrtNotify gate[8];
    aclrtStream s[8], go;
    int n, i;

    aclrtCreateStream(&go);
    for (i = 0; i < 8; i++) {
        aclrtCreateStream(&s[i]);
        aclrtCreateNotify(&gate[i], 0);
    }
    for (n = 1; n <= 8; n++) {
        met = 0;
        for (i = 0; i < n; i++) {
            aclrtWaitAndResetNotify(gate[i], s[i], 0);
            aclrtLaunchHostFunc(s[i], meet, (void *)(intptr_t)n);
        }
        for (i = 0; i < n; i++) {
            aclrtRecordNotify(gate[i], go);
        }
        for (i = 0; i < n; i++) {
            aclrtSynchronizeStream(s[i]);
        }
        ms(20);
    }
    ok(!met_late, "call-backs of 8 streams may wait for one another (%d late)",
       met_late);
    for (i = 0; i < 8; i++) {
        aclrtDestroyStream(s[i]);
        aclrtDestroyNotify(gate[i]);
    }
    aclrtDestroyStream(go);
}

/* ---- other processes ---- */

static void test_ipc_event(void)
{
    aclrtStream stuck, s;
    aclrtNotify gate;
    aclrtEvent e;
    int i, bad = 0;

    aclrtCreateStream(&stuck);
    aclrtCreateStream(&s);
    aclrtCreateNotify(&gate, 0);
    ok(aclrtCreateEventExWithFlag(&e, ACL_EVENT_IPC) == ACL_SUCCESS,
       "an event of several processes");
    aclrtWaitAndResetNotify(gate, stuck, 0);
    aclrtRecordEvent(e, stuck);
    for (i = 0; i < 256; i++) {
        bad += aclrtRecordEvent(e, s) != ACL_SUCCESS;
        bad += aclrtSynchronizeStream(s) != ACL_SUCCESS;
    }
    aclrtRecordEvent(e, stuck);
    ok(aclrtStreamWaitEventWithTimeout(s, e, 1) == ACL_SUCCESS &&
       aclrtSynchronizeStream(s) == ACL_ERROR_RT_TASK_TIMEOUT,
       "a wait for the event has a limit");
    aclrtRecordNotify(gate, s);
    ok(!bad && aclrtSynchronizeStreamWithTimeout(stuck, 5000) == ACL_SUCCESS,
       "a record that is 256 records late");
    ok(aclrtSynchronizeEventWithTimeout(e, 2000) == ACL_SUCCESS,
       "is not taken for the latest");
    aclrtDestroyEvent(e);
    aclrtDestroyNotify(gate);
    aclrtDestroyStream(s);
    aclrtDestroyStream(stuck);
}

static int ipc_socket(int pid, struct sockaddr_un *a, socklen_t *len)
{
    memset(a, 0, sizeof(*a));
    a->sun_family = AF_UNIX;
    *len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
                       (size_t)snprintf(a->sun_path + 1,
                                        sizeof(a->sun_path) - 1,
                                        "atlas350-ipc-%d", pid));
    return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
}

/* Answers anything with an address of its own choice. */
static void *impostor(void *opaque)
{
    uint8_t request[16], reply[8 + sizeof(uint64_t) * 3 + 160] = { 0 };
    int fd = accept(*(int *)opaque, NULL, NULL);

    if (fd >= 0 && recv(fd, request, sizeof(request), 0) > 0) {
        memcpy(reply, request, 4);
        send(fd, reply, sizeof(reply), MSG_NOSIGNAL);
        recv(fd, request, sizeof(request), 0);
    }
    close(fd);
    return NULL;
}

static void test_ipc_impostor(void)
{
    struct sockaddr_un a;
    socklen_t len;
    pthread_t t;
    double start;
    char key[65];
    void *p;
    pid_t dead = fork();
    int i, fd, more[4];

    if (dead == 0) {
        _exit(0);
    }
    waitpid(dead, NULL, 0);
    fd = ipc_socket(dead, &a, &len);
    ok(!bind(fd, (struct sockaddr *)&a, len) && !listen(fd, 4),
       "somebody takes the name of a dead process");
    pthread_create(&t, NULL, impostor, &fd);
    snprintf(key, sizeof(key), "atlas350:m:%d:%016x", (int)dead, 7);
    ok(aclrtIpcMemImportByKey(&p, key, 0) == ACL_ERROR_RT_PARAM_INVALID,
       "who is not the exporter is not believed");
    pthread_join(t, NULL);
    listen(fd, 0);
    for (i = 0; i < 4; i++) {
        more[i] = ipc_socket(dead, &a, &len);
        fcntl(more[i], F_SETFL, O_NONBLOCK);
        connect(more[i], (struct sockaddr *)&a, len);
    }
    start = now();
    ok(aclrtIpcMemImportByKey(&p, key, 0) != ACL_SUCCESS && now() - start < 20,
       "who does not let anybody in is not waited for without end");
    for (i = 0; i < 4; i++) {
        close(more[i]);
    }
    close(fd);
}

static double cpu(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

static void test_ipc_crowd(void)
{
    struct rlimit old, few = { 0, 0 };
    struct sockaddr_un a;
    char key[65];
    socklen_t len;
    aclrtIpcEventHandle h;
    double used;
    aclrtEvent e;
    int i, fd[40];
    void *p, *q;

    aclrtMalloc(&p, 4096, ACL_MEM_MALLOC_NORMAL_ONLY);
    ok(aclrtIpcMemGetExportKey(p, 4096, key, sizeof(key), 1) == ACL_SUCCESS,
       "memory is exported");
    aclrtCreateEventExWithFlag(&e, ACL_EVENT_IPC);
    getrlimit(RLIMIT_NOFILE, &old);
    for (i = 0; i < 40; i++) {
        fd[i] = ipc_socket(getpid(), &a, &len);
    }
    few.rlim_max = old.rlim_max;
    few.rlim_cur = (rlim_t)fd[39] + 11;
    setrlimit(RLIMIT_NOFILE, &few);
    for (i = 0; i < 40; i++) {
        connect(fd[i], (struct sockaddr *)&a, len);
    }
    ms(200);
    used = cpu();
    ms(500);
    used = cpu() - used;
    ok(used < 0.25, "no descriptor is left: the server does not spin (%.2f s)",
       used);
    for (i = dup(0); i >= 0; i = dup(0)) {
        few.rlim_cur = (rlim_t)i;
    }
    setrlimit(RLIMIT_NOFILE, &few);
    ok(aclrtIpcGetEventHandle(e, &h) != ACL_SUCCESS,
       "an event whose memory cannot be given on has no handle");
    setrlimit(RLIMIT_NOFILE, &old);
    for (i = (int)few.rlim_cur; i > fd[39]; i--) {
        struct stat st, in;

        if (!fstat(i, &st) && !fstat(0, &in) && st.st_ino == in.st_ino &&
            st.st_dev == in.st_dev) {
            close(i);
        }
    }
    ms(200);
    ok(aclrtIpcMemImportByKey(&q, key, 0) == ACL_SUCCESS && q == p,
       "and it serves who comes then");
    aclrtIpcMemClose(key);
    for (i = 0; i < 40; i++) {
        close(fd[i]);
    }
    aclrtDestroyEvent(e);
    aclrtIpcMemClose(key);
    aclrtFree(p);
}

/* A forked child's memory is its parent's affair. */
static pid_t parent;
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
    return getpid() != parent;
}

static void test_fork(void)
{
    pid_t pid;
    int st = -1;

    setenv("ATLAS350_CARD_LOG", "/dev/null", 1);
    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        exit(0);
    }
    waitpid(pid, &st, 0);
    unsetenv("ATLAS350_CARD_LOG");
    ok(WIFEXITED(st) && WEXITSTATUS(st) == 0, "a forked child may exit (%d)",
       st);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*fn)(void);
    } tests[] = {
        { "abort", test_abort }, { "late", test_late },
        { "failures", test_failures }, { "destroy", test_destroy },
        { "ids", test_ids }, { "device-sync", test_device_sync },
        { "set-reset", test_set_reset }, { "load", test_load },
        { "unload", test_unload }, { "graph", test_graph },
        { "event", test_event }, { "register", test_register },
        { "physical", test_physical }, { "signals", test_signals },
        { "meet", test_meet }, { "fork", test_fork },
        { "ipc-event", test_ipc_event },
        { "ipc-impostor", test_ipc_impostor },
        { "ipc-crowd", test_ipc_crowd },
    };
    size_t i;

    parent = getpid();
    setvbuf(stdout, NULL, _IOLBF, 0);
    ok(aclrtSetDevice(0) == ACL_SUCCESS, "device set");
    for (i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
        if (argc < 2 || !strcmp(argv[1], tests[i].name)) {
            tests[i].fn();
        }
    }
    ok(aclrtResetDevice(0) == ACL_SUCCESS && mock_queues() == 0, "reset");
    return done_testing();
}
