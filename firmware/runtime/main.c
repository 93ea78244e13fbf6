/*
 * Atlas 350 firmware runtime: start, workers, the way of a launch.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "hw/atlas350/hcomm_abi.h"
#include "rt.h"

#define WORKER_STACK  (1024 * 1024)
#define WORKER_GUARD  (64 * 1024)
#define SPARES        2

__thread rt_self rt_me = { .core = -1 };
a350_fw_stats rt_card;

static pthread_t worker_of[A350_AICPU_CORES_MAX];
static bool worker_known[A350_AICPU_CORES_MAX];
static pthread_attr_t worker_attr;
static void (*kernel_enter)(void);   /* of the Hcomm library */
static const char *(*hcomm_error)(void);

void rt_log(int level, const char *fmt, ...)
{
    char buf[512];
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(buf, sizeof(buf), fmt, ap);
    va_end(ap);
    if (n > (int)sizeof(buf) - 1) {
        n = (int)sizeof(buf) - 1;
    }
    rt_sys(A350_SYS_LOG, level, (long)buf, n, 0);
}

bool rt_in_hbm(uint64_t addr, uint64_t len)
{
    uint64_t off = addr - rt_card.dev_base;

    return off < rt_card.hbm_size && len <= rt_card.hbm_size - off;
}

/* spec/hw/aicpu.md §4: what a kernel's return value means. */
static uint32_t map_return(uint32_t type, uint32_t v)
{
    static const uint32_t fault[5] = { 7, 9, 10, 11, 12 };

    if (v == 0) {
        return 0;
    }
    if (type == 5 || type == 6) {    /* KFC */
        return v == 301 ? 8 : v >= 1000 && v <= 1099 ? v : 1;
    }
    if (v == 201) {
        return 6;
    }
    if (v >= 501 && v <= 505 && type != 4) {
        return fault[v - 501];
    }
    return v;
}

/* 16 bits of it reach the completion; a failure may not look like success. */
static uint32_t to_errcode(uint32_t status)
{
    return status && !(status & 0xffff) ? A350_AE_TASK_FAIL : status & 0xffff;
}

static void fail_launch(uint32_t cause, uint32_t status, uint32_t exit_code,
                        const char *text)
{
    a350_fw_call *call = &rt_me.call;
    a350_exc_record *rec = &rt_me.crash.rec;

    memset(rec, 0, sizeof(*rec));
    rec->cause = cause;
    rec->core = (uint32_t)rt_me.core;
    rec->sq_id = call->sq_id;
    rec->task = call->task;
    rec->exit_code = exit_code;
    snprintf(rec->kernel, sizeof(rec->kernel), "%s", call->function);
    snprintf(rec->library, sizeof(rec->library), "%s", call->so);
    snprintf(rec->text, sizeof(rec->text), "%s", text);
    if (cause == A350_EXC_RETURN && hcomm_error) {
        snprintf(rec->where, sizeof(rec->where), "%s", hcomm_error());
    }
    rt_write_result(call, status, rec);
    rt_sys(A350_SYS_END, to_errcode(status), (long)rec, 0, 0);
}

/* What it does before a kernel, it also does after one that died. */
void rt_hcomm_leave(void)
{
    if (kernel_enter) {
        kernel_enter();
    }
}

static uint32_t run_stats(a350_stats_param *p)
{
    a350_fw_stats s;

    rt_sys(A350_SYS_STATS, (long)&s, 0, 0, 0);
    p->heap_used = s.pages_used * s.page_size;
    p->heap_size = s.pages * s.page_size;
    p->launches = s.launches;
    p->failures = s.failures;
    p->loaded = rt_lib_count();
    p->cores = s.cores;
    snprintf(p->version, sizeof(p->version), "%s", FW_VERSION);
    return A350_AE_OK;
}

/* A built-in function; false if there is none of that name. */
static bool run_builtin(const a350_fw_call *call, uint32_t *status)
{
    static const struct {
        const char *name;
        size_t size;
    } known[] = {
        { A350_BUILTIN_LOAD, sizeof(a350_load_param) },
        { A350_BUILTIN_UNLOAD, sizeof(a350_unload_param) },
        { A350_BUILTIN_LOOKUP, sizeof(a350_lookup_param) },
        { A350_BUILTIN_STATS, sizeof(a350_stats_param) },
    };
    void *args = (void *)call->args;
    unsigned i;

    for (i = 0; i < 4 && strcmp(call->function, known[i].name); i++) {
    }
    if (i == 4) {
        return false;
    }
    if (!rt_in_hbm(call->args, known[i].size)) {
        *status = A350_AE_BAD_PARAM;
        return true;
    }
    *status = i == 0 ? rt_load(args) : i == 1 ? rt_unload(args)
            : i == 2 ? rt_lookup(args) : run_stats(args);
    return true;
}

static const char *base_name(const char *path)
{
    const char *s = strrchr(path, '/');

    return s ? s + 1 : path;
}

/* Not inlined: its frame ends the backtraces of kernels. */
static __attribute__((noinline)) void call_kernel(void *fn)
{
    a350_fw_call *call = &rt_me.call;
    uint32_t v, status;
    char text[160];

    if (kernel_enter) {
        kernel_enter();
    }
    rt_me.kernel_fp = (uintptr_t)__builtin_frame_address(0);
    rt_me.entry = (uintptr_t)fn;
    rt_me.in_kernel = true;
    v = ((unsigned int (*)(void *))fn)((void *)call->args);
    rt_me.in_kernel = false;
    fflush(stdout);
    rt_lib_leave(rt_me.lib);
    rt_me.lib = NULL;
    heap_launch_end();
    status = map_return(call->kernel_type, v);
    if (status == 0) {
        rt_sys(A350_SYS_END, 0, 0, 0, 0);
        return;
    }
    snprintf(text, sizeof(text), "%s of %s returned %u", call->function,
             base_name(call->so), v);
    fail_launch(A350_EXC_RETURN, status, v, text);
}

static void run_launch(void)
{
    a350_fw_call *call = &rt_me.call;
    char why[256] = "";
    uint32_t status = call->status;
    void *fn = NULL;

    rt_me.last_words[0] = 0;
    if (status) {
        snprintf(why, sizeof(why), "the launch's %s name is not a readable "
                 "string of less than %d bytes in the card's memory",
                 status == A350_AE_SO_NAME ? "library" : "function",
                 A350_KERNEL_PATH_MAX);
    } else if (!call->so[0]) {
        if (run_builtin(call, &status)) {
            heap_launch_end();
            rt_sys(A350_SYS_END, to_errcode(status), 0, 0, 0);
            return;
        }
        status = A350_AE_NO_FUNCTION;
        snprintf(why, sizeof(why), "there is no built-in function %s",
                 call->function);
    } else {
        status = rt_resolve(call->so, call->function, &rt_me.lib, &fn, why,
                            sizeof(why));
    }
    if (status) {
        heap_launch_end();
        fail_launch(A350_EXC_LOOKUP, status, 0, why);
        return;
    }
    call_kernel(fn);
}

static void worker_loop(int core)
{
    rt_me.core = core;
    heap_bind(core);
    rt_crash_setup();
    for (;;) {
        if (rt_sys(A350_SYS_NEXT, (long)&rt_me.call, 0, 0, 0) == 0) {
            run_launch();
        }
    }
}

static void *worker_main(void *arg)
{
    worker_loop((int)(intptr_t)arg);
    return NULL;
}

static void *spare_main(void *arg);

static void make_spare(void)
{
    pthread_t t;
    int err = pthread_create(&t, &worker_attr, spare_main, NULL);

    if (err) {
        rt_log(3, "runtime: no spare thread: %s", strerror(err));
        rt_sys(A350_SYS_RESTART, (long)"no memory for a spare thread", 0, 0, 0);
    }
}

/* Stands by; when a worker has died, buries it and takes its place. */
static void *spare_main(void *arg)
{
    long core = rt_sys(A350_SYS_PARK, 0, 0, 0, 0);

    (void)arg;
    if (core < 0 || core >= A350_AICPU_CORES_MAX) {
        return NULL;
    }
    if (worker_known[core]) {
        pthread_join(worker_of[core], NULL);
    }
    worker_of[core] = pthread_self();
    worker_known[core] = true;
    make_spare();
    worker_loop((int)core);
    return NULL;
}

static void fail(const char *what, const char *why)
{
    char text[200];

    snprintf(text, sizeof(text), "%s: %s", what, why);
    rt_sys(A350_SYS_STATUS, A350_FW_FAILED, (long)text, 0, 0);
    for (;;) {
        sleep(1000);
    }
}

/* Libraries that kernels find without asking: bound for all to see. */
static void preload(void)
{
    static const char *const name[] = {
        "libccl_kernel.so", "libunified_dlog.so",
    };

    for (unsigned i = 0; i < sizeof(name) / sizeof(name[0]); i++) {
        void *h = dlopen(name[i], RTLD_LAZY | RTLD_GLOBAL);

        if (!h) {
            fail("cannot load the device library", dlerror());
        }
        if (!kernel_enter) {
            *(void **)&kernel_enter = dlsym(h, A350_HCOMM_ENTER);
            *(void **)&hcomm_error = dlsym(h, A350_HCOMM_ERROR);
        }
    }
}

static void start_workers(void)
{
    pthread_attr_init(&worker_attr);
    pthread_attr_setstacksize(&worker_attr, WORKER_STACK);
    pthread_attr_setguardsize(&worker_attr, WORKER_GUARD);
    for (unsigned i = 0; i < rt_card.cores; i++) {
        int err;

        rt_sys(A350_SYS_PLACE, i, 0, 0, 0);
        err = pthread_create(&worker_of[i], &worker_attr, worker_main,
                             (void *)(intptr_t)i);
        if (err) {
            fail("cannot create a worker", strerror(err));
        }
        worker_known[i] = true;
    }
    rt_sys(A350_SYS_PLACE, -1, 0, 0, 0);
    for (int i = 0; i < SPARES; i++) {
        make_spare();
    }
}

int main(void)
{
    static int never;

    rt_sys(A350_SYS_STATUS, A350_FW_RUNTIME, 0, (long)&_r_debug, 0);
    rt_sys(A350_SYS_STATS, (long)&rt_card, 0, 0, 0);
    /* The monitor makes lines of what each thread writes. */
    setvbuf(stdout, NULL, _IONBF, 0);
    preload();
    rt_libs_init();
    rt_libs_reload();
    start_workers();
    rt_sys(A350_SYS_STATUS, A350_FW_READY, 0, (long)&_r_debug, 0);
    for (;;) {
        syscall(SYS_futex, &never, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    }
}
