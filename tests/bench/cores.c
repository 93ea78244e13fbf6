/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much busy cores of a card disturb the guest's timers: the 99th
 * percentile of a 1 ms timer's lateness with a kernel without end on every
 * core, against the same with idle cores.
 *
 * usage: cores DIRECTORY-OF-ACL-TEST-KERNEL [SECONDS]
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "acl/acl.h"

#define CORES       7
#define PERIOD_NS   1000000
#define TICKS_MAX   60000

static void check(const char *what, int rc)
{
    if (rc != 0) {
        const char *text = aclGetRecentErrMsg();

        fprintf(stderr, "%s returned %d: %s\n", what, rc,
                text ? text : "no text");
        exit(1);
    }
}
#define OK(call) check(#call, call)

static int64_t now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* In ms. */
static double lateness(int seconds)
{
    static double late[TICKS_MAX];
    int64_t next = now_ns(), end = next + seconds * 1000000000ll;
    int n = 0;

    while (next < end && n < TICKS_MAX) {
        struct timespec ts;
        int64_t by;

        next += PERIOD_NS;
        ts.tv_sec = next / 1000000000;
        ts.tv_nsec = next % 1000000000;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
        by = now_ns() - next;
        late[n++] = (double)by / 1e6;
        if (by > PERIOD_NS) {
            next = now_ns();     /* do not count one delay many times */
        }
    }
    qsort(late, (size_t)n, sizeof(late[0]), by_value);
    return late[n * 99 / 100];
}

static aclrtFuncHandle forever(const char *dir)
{
    aclrtBinaryLoadOption opt = {
        .type = ACL_RT_BINARY_LOAD_OPT_CPU_KERNEL_MODE,
        .value.cpuKernelMode = 1,
    };
    aclrtBinaryLoadOptions opts = { &opt, 1 };
    aclrtFuncHandle fn;
    aclrtBinHandle bin;
    char path[4096];

    snprintf(path, sizeof(path), "%s/libacl_test_kernel.json", dir);
    OK(aclrtBinaryLoadFromFile(path, &opts, &bin));
    OK(aclrtBinaryGetFunction(bin, "Forever", &fn));
    return fn;
}

static void launch(aclrtFuncHandle fn)
{
    aclrtStream stream;
    aclrtArgsHandle args;
    aclrtParamHandle param;
    int zero = 0;

    OK(aclrtCreateStream(&stream));
    OK(aclrtKernelArgsInit(fn, &args));
    OK(aclrtKernelArgsAppend(args, &zero, sizeof(zero), &param));
    OK(aclrtKernelArgsFinalize(args));
    OK(aclrtLaunchKernelWithConfig(fn, 1, stream, NULL, args, NULL));
}

int main(int argc, char **argv)
{
    int seconds = argc > 2 ? atoi(argv[2]) : 10, i;
    aclrtFuncHandle fn;
    double idle, busy;

    OK(aclInit(NULL));
    OK(aclrtSetDevice(0));
    fn = forever(argc > 1 ? argv[1] : ".");
    idle = lateness(seconds);
    for (i = 0; i < CORES; i++) {
        launch(fn);
    }
    busy = lateness(seconds);
    printf("bench tick.cores %.3f ms idle %.3f\n", busy, idle);
    fflush(stdout);
    _exit(0);                    /* the kernels end with the card's reset */
}
