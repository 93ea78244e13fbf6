/*
 * Launches functions of a kernel library, one after another, and prints how
 * the stream and the error text report each.
 *
 * usage: launch [-t SECONDS] LIBRARY|DESCRIPTOR.json FUNCTION[@SECONDS]...
 *
 * The seconds are the launch attribute TIMEOUT, of all or of one. Functions of
 * a descriptor go by the names it gives them; its library lies beside it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "acl/acl.h"

static void check(const char *what, int rc)
{
    if (rc != 0) {
        const char *text = aclGetRecentErrMsg();

        printf("%s returned %d: %s\n", what, rc, text ? text : "no text");
        exit(1);
    }
}

static void *read_file(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    void *data;
    long n;

    if (!f || fseek(f, 0, SEEK_END) || (n = ftell(f)) < 0 ||
        fseek(f, 0, SEEK_SET) || !(data = malloc((size_t)n + 1)) ||
        fread(data, 1, (size_t)n, f) != (size_t)n) {
        perror(path);
        exit(1);
    }
    fclose(f);
    *size = (size_t)n;
    return data;
}

static bool descriptor;          /* functions go by its names */

static aclrtBinHandle load(const char *path)
{
    aclrtBinaryLoadOption opt = {
        .type = ACL_RT_BINARY_LOAD_OPT_CPU_KERNEL_MODE,
        .value.cpuKernelMode = 2,
    };
    aclrtBinaryLoadOptions opts = { &opt, 1 };
    aclrtBinHandle bin;
    size_t size;
    void *image;

    if (descriptor) {
        opt.value.cpuKernelMode = 1;
        check("aclrtBinaryLoadFromFile",
              aclrtBinaryLoadFromFile(path, &opts, &bin));
        return bin;
    }
    image = read_file(path, &size);
    check("aclrtBinaryLoadFromData",
          aclrtBinaryLoadFromData(image, size, &opts, &bin));
    free(image);
    return bin;
}

static aclrtFuncHandle function(aclrtBinHandle bin, const char *name)
{
    aclrtFuncHandle fn;

    if (descriptor) {
        check("aclrtBinaryGetFunction", aclrtBinaryGetFunction(bin, name, &fn));
    } else {
        check("aclrtRegisterCpuFunc",
              aclrtRegisterCpuFunc(bin, name, name, &fn));
    }
    return fn;
}

static void launch(aclrtBinHandle bin, char *name, unsigned seconds,
                   aclrtStream stream)
{
    aclrtLaunchKernelAttr attr = { .id = ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT };
    aclrtLaunchKernelCfg cfg = { .attrs = &attr, .numAttrs = 1 };
    aclrtFuncHandle fn;
    aclrtArgsHandle args;
    aclrtParamHandle param;
    char *at = strchr(name, '@');
    unsigned zero = 0;
    const char *text;
    int rc;

    if (at) {
        *at = '\0';
        seconds = (unsigned)atoi(at + 1);
    }
    attr.value.timeout = (uint16_t)seconds;
    fn = function(bin, name);
    check("aclrtKernelArgsInit", aclrtKernelArgsInit(fn, &args));
    check("aclrtKernelArgsAppend",
          aclrtKernelArgsAppend(args, &zero, sizeof(zero), &param));
    check("aclrtKernelArgsFinalize", aclrtKernelArgsFinalize(args));
    rc = aclrtLaunchKernelWithConfig(fn, 1, stream, &cfg, args, NULL);
    if (rc == 0) {
        rc = aclrtSynchronizeStream(stream);
    }
    text = rc ? aclGetRecentErrMsg() : "";
    printf("%s: %d%s%s\n", name, rc, *text ? ": " : "", text ? text : "NULL");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    unsigned seconds = 60;
    aclrtBinHandle bin;
    aclrtStream stream;
    const char *dot;
    int i = 1;

    if (argc > 2 && strcmp(argv[1], "-t") == 0) {
        seconds = (unsigned)atoi(argv[2]);
        i = 3;
    }
    if (argc < i + 2) {
        fprintf(stderr, "usage: launch [-t SECONDS] LIBRARY|DESCRIPTOR.json "
                "FUNCTION[@SECONDS]...\n");
        return 2;
    }
    dot = strrchr(argv[i], '.');
    descriptor = dot && strcmp(dot, ".json") == 0;
    check("aclInit", aclInit(NULL));
    check("aclrtSetDevice", aclrtSetDevice(0));
    check("aclrtCreateStream", aclrtCreateStream(&stream));
    bin = load(argv[i]);
    for (i++; i < argc; i++) {
        launch(bin, argv[i], seconds, stream);
    }
    aclrtDestroyStream(stream);
    aclrtBinaryUnLoad(bin);
    aclrtResetDevice(0);
    aclFinalize();
    return 0;
}
