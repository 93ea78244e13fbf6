/*
 * Kernels on several cores at once, large arguments, libraries of one name,
 * many loads.
 *
 * usage: cores DIRECTORY-OF-KERNELS CORES
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "acl/acl.h"

#define CORES_MAX 16
#define ARGS_SIZE 65536

static const char *dir;

static void check(const char *what, int rc)
{
    if (rc != 0) {
        const char *text = aclGetRecentErrMsg();

        printf("%s returned %d: %s\n", what, rc, text ? text : "no text");
        exit(1);
    }
}
#define OK(call) check(#call, call)

static aclrtBinHandle load(const char *name)
{
    aclrtBinaryLoadOption opt = {
        .type = ACL_RT_BINARY_LOAD_OPT_CPU_KERNEL_MODE,
        .value.cpuKernelMode = 2,
    };
    aclrtBinaryLoadOptions opts = { &opt, 1 };
    static char image[8 << 20];
    aclrtBinHandle bin;
    char path[4096];
    size_t size;
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    f = fopen(path, "rb");
    if (!f) {
        perror(path);
        exit(1);
    }
    size = fread(image, 1, sizeof(image), f);
    fclose(f);
    OK(aclrtBinaryLoadFromData(image, size, &opts, &bin));
    return bin;
}

static aclrtFuncHandle function(aclrtBinHandle bin, const char *name)
{
    aclrtFuncHandle fn;

    OK(aclrtRegisterCpuFunc(bin, name, name, &fn));
    return fn;
}

static void launch(aclrtFuncHandle fn, void *data, size_t size,
                   aclrtStream stream)
{
    aclrtArgsHandle args;
    aclrtParamHandle param;

    OK(aclrtKernelArgsInit(fn, &args));
    OK(aclrtKernelArgsAppend(args, data, size, &param));
    OK(aclrtKernelArgsFinalize(args));
    OK(aclrtLaunchKernelWithConfig(fn, 1, stream, NULL, args, NULL));
}

/* Each waits for all others, a thousand times: one alone never ends. */
static void parallel(aclrtBinHandle bin, unsigned n)
{
    aclrtFuncHandle fn = function(bin, "meet");
    aclrtStream stream[CORES_MAX];
    struct {
        void *met;
        uint32_t of, times;
    } g = { NULL, n, 1000 };
    unsigned i;

    OK(aclrtMalloc(&g.met, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemset(g.met, 64, 0, 64));
    for (i = 0; i < n; i++) {
        OK(aclrtCreateStream(&stream[i]));
        launch(fn, &g, sizeof(g), stream[i]);
    }
    for (i = 0; i < n; i++) {
        OK(aclrtSynchronizeStream(stream[i]));
        OK(aclrtDestroyStream(stream[i]));
    }
    OK(aclrtFree(g.met));
    printf("parallel: ok\n");
}

/* args_sum() wants byte i times i mod 4 to add up to 0xbeef. */
static void arguments(aclrtBinHandle bin, aclrtStream stream)
{
    static unsigned char data[ARGS_SIZE];
    unsigned left = 0xbeef, i;

    for (i = ARGS_SIZE - 3; left; i -= 4) {
        data[i] = left > 255 ? 255 : (unsigned char)left;
        left -= data[i];
    }
    launch(function(bin, "args_sum"), data, sizeof(data), stream);
    OK(aclrtSynchronizeStream(stream));
    printf("arguments: ok\n");
}

static void same_name(aclrtStream stream)
{
    aclrtBinHandle a = load("a/libsmall.so"), b = load("b/libsmall.so");
    aclrtFuncHandle fa = function(a, "which"), fb = function(b, "which");
    uint32_t zero = 0;
    int i;

    for (i = 0; i < 2; i++) {
        launch(fa, &zero, sizeof(zero), stream);
        launch(fb, &zero, sizeof(zero), stream);
    }
    OK(aclrtSynchronizeStream(stream));
    OK(aclrtBinaryUnLoad(a));
    OK(aclrtBinaryUnLoad(b));
    printf("same name: ok\n");
}

/* Memory of the card is as free after a hundred loads as after the first. */
static void loads(aclrtStream stream)
{
    size_t total, before = 0, after = 0;
    uint32_t zero = 0;
    int i;

    for (i = 0; i <= 100; i++) {
        aclrtBinHandle bin = load("a/libsmall.so");

        launch(function(bin, "which"), &zero, sizeof(zero), stream);
        OK(aclrtSynchronizeStream(stream));
        OK(aclrtBinaryUnLoad(bin));
        OK(aclrtGetMemInfo(ACL_HBM_MEM, &after, &total));
        before = i ? before : after;
    }
    if (after == before) {
        printf("loads: ok\n");
    } else {
        printf("loads: %zu bytes of %zu free, then %zu\n", before, total,
               after);
    }
}

int main(int argc, char **argv)
{
    unsigned n = argc == 3 ? (unsigned)atoi(argv[2]) : 0;
    aclrtBinHandle bin;
    aclrtStream stream;

    if (n < 1 || n > CORES_MAX) {
        fprintf(stderr, "usage: cores DIRECTORY-OF-KERNELS CORES\n");
        return 2;
    }
    dir = argv[1];
    OK(aclInit(NULL));
    OK(aclrtSetDevice(0));
    OK(aclrtCreateStream(&stream));
    bin = load("libkernels.so");
    parallel(bin, n);
    arguments(bin, stream);
    same_name(stream);
    loads(stream);
    OK(aclrtBinaryUnLoad(bin));
    OK(aclrtDestroyStream(stream));
    OK(aclrtResetDevice(0));
    OK(aclFinalize());
    return 0;
}
