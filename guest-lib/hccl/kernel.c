/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the kernel of HcclAicpuKernelLaunch comes from. The reference looks
 * only into the operator library's own binary (spec §4.5), which a user cannot
 * add to; here, in this order:
 *
 *   1. a name with a slash is a file;
 *   2. operator packages: the descriptors in aicpu/config of each folder of
 *      ASCEND_CUSTOM_OPP_PATH and of $ASCEND_HOME_PATH/opp/vendors;
 *   3. a file of that name beside the program;
 *   4. the packages of conf/ascend_package_load.ini, then the card's own
 *      libraries (libccl_kernel.so), as aclrtBinaryLoadFromFile finds them.
 */
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <jansson.h>
#include "hccl_internal.h"

typedef struct known {
    struct known *next;
    char so[HCCL_KERNEL_SO_NAME_MAX_LEN];
    char function[HCCL_KERNEL_FUNC_NAME_MAX_LEN];
    aclrtFuncHandle handle;
} known;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static known *all;

static const char *home(void)
{
    const char *e = getenv("ASCEND_HOME_PATH");

    return e && *e ? e : "/usr/local/Ascend/cann";
}

/* ---- descriptors ---- */

/* Operator of a descriptor that is @function of @so; false: not there. */
static bool describes(const char *path, const char *so, const char *function,
                      char *op, size_t len)
{
    json_t *root = json_load_file(path, 0, NULL), *v, *info;
    const char *key, *s, *f;
    bool found = false;

    json_object_foreach(root, key, v) {
        info = json_object_get(v, "opInfo");
        s = json_string_value(json_object_get(info, "kernelSo"));
        f = json_string_value(json_object_get(info, "functionName"));
        if (s && f && !strcmp(s, so) && !strcmp(f, function)) {
            snprintf(op, len, "%s", key);
            found = true;
            break;
        }
    }
    json_decref(root);
    return found;
}

static aclError from_json(const char *path, const char *op,
                          aclrtFuncHandle *handle)
{
    aclrtBinaryLoadOption o = {
        .type = ACL_RT_BINARY_LOAD_OPT_CPU_KERNEL_MODE,
        .value.cpuKernelMode = 0,
    };
    aclrtBinaryLoadOptions options = { &o, 1 };
    aclrtBinHandle bin;
    aclError rc = aclrtBinaryLoadFromFile(path, &options, &bin);

    return rc == ACL_SUCCESS ? aclrtBinaryGetFunction(bin, op, handle) : rc;
}

static bool in_packages(const char *pattern, const char *so,
                        const char *function, aclrtFuncHandle *handle,
                        aclError *rc)
{
    char op[256];
    bool found = false;
    glob_t g;
    size_t i;

    if (glob(pattern, 0, NULL, &g)) {
        return false;
    }
    for (i = 0; i < g.gl_pathc && !found; i++) {
        if (describes(g.gl_pathv[i], so, function, op, sizeof(op))) {
            *rc = from_json(g.gl_pathv[i], op, handle);
            found = true;
        }
    }
    globfree(&g);
    return found;
}

static bool in_vendors(const char *so, const char *function,
                       aclrtFuncHandle *handle, aclError *rc)
{
    const char *e = getenv("ASCEND_CUSTOM_OPP_PATH");
    char pattern[PATH_MAX], *list, *dir, *save;
    bool found = false;

    list = strdup(e ? e : "");
    for (dir = list ? strtok_r(list, ":", &save) : NULL; dir && !found;
         dir = strtok_r(NULL, ":", &save)) {
        snprintf(pattern, sizeof(pattern), "%s/aicpu/config/*.json", dir);
        found = in_packages(pattern, so, function, handle, rc);
    }
    free(list);
    if (!found) {
        snprintf(pattern, sizeof(pattern),
                 "%s/opp/vendors/*/aicpu/config/*.json", home());
        found = in_packages(pattern, so, function, handle, rc);
    }
    return found;
}

/* ---- files ---- */

static aclError from_file(const char *path, const char *function,
                          aclrtFuncHandle *handle)
{
    aclrtBinaryLoadOption o = {
        .type = ACL_RT_BINARY_LOAD_OPT_CPU_KERNEL_MODE,
        .value.cpuKernelMode = 2,
    };
    aclrtBinaryLoadOptions options = { &o, 1 };
    aclError rc = ACL_ERROR_RT_PARAM_INVALID;
    FILE *f = fopen(path, "rb");
    aclrtBinHandle bin;
    uint8_t *data = NULL;
    long size = 0;

    if (f && !fseek(f, 0, SEEK_END)) {
        size = ftell(f);
        rewind(f);
    }
    if (size > 0 && (data = malloc((size_t)size)) &&
        fread(data, 1, (size_t)size, f) == (size_t)size) {
        rc = aclrtBinaryLoadFromData(data, (size_t)size, &options, &bin);
        if (rc == ACL_SUCCESS) {
            rc = aclrtRegisterCpuFunc(bin, function, function, handle);
        }
    } else {
        a350_set_error(NULL, "cannot read %s", path);
    }
    free(data);
    if (f) {
        fclose(f);
    }
    return rc;
}

static bool beside(const char *so, char path[PATH_MAX])
{
    ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);
    char *slash;

    if (n < 0) {
        return false;
    }
    path[n] = '\0';
    slash = strrchr(path, '/');
    if (!slash || (size_t)(slash - path) + strlen(so) + 2 > PATH_MAX) {
        return false;
    }
    strcpy(slash + 1, so);
    return access(path, R_OK) == 0;
}

/* acl's own rules, by a descriptor made for it where nothing is beside it. */
static aclError by_runtime(const char *so, const char *function,
                           aclrtFuncHandle *handle)
{
    char dir[] = "/tmp/atlas350-XXXXXX", path[64];
    aclError rc = ACL_ERROR_RT_INTERNAL_ERROR;
    json_t *j;

    if (!mkdtemp(dir)) {
        a350_set_error(NULL, "no folder in /tmp: %s", strerror(errno));
        return rc;
    }
    snprintf(path, sizeof(path), "%s/kernel.json", dir);
    j = json_pack("{s:{s:{s:s,s:s,s:s}}}", function, "opInfo", "opKernelLib",
                  "AICPUKernel", "kernelSo", so, "functionName", function);
    if (j && !json_dump_file(j, path, 0)) {
        rc = from_json(path, function, handle);
    }
    json_decref(j);
    unlink(path);
    rmdir(dir);
    return rc;
}

static aclError look(const char *so, const char *function,
                     aclrtFuncHandle *handle)
{
    char path[PATH_MAX];
    aclError rc;

    if (strchr(so, '/')) {
        return from_file(so, function, handle);
    }
    if (in_vendors(so, function, handle, &rc)) {
        return rc;
    }
    if (beside(so, path)) {
        return from_file(path, function, handle);
    }
    return by_runtime(so, function, handle);
}

HcclResult hcl_kernel_find(const char *so, const char *function,
                           aclrtFuncHandle *handle)
{
    HcclResult rc = HCCL_SUCCESS;
    known *k;

    pthread_mutex_lock(&lock);
    for (k = all; k; k = k->next) {
        if (!strcmp(k->so, so) && !strcmp(k->function, function)) {
            break;
        }
    }
    if (!k && (k = calloc(1, sizeof(*k)))) {
        if (look(so, function, &k->handle) == ACL_SUCCESS) {
            snprintf(k->so, sizeof(k->so), "%s", so);
            snprintf(k->function, sizeof(k->function), "%s", function);
            k->next = all;
            all = k;
        } else {
            free(k);
            k = NULL;
            a350_append_error("HcclAicpuKernelLaunch: no kernel %s of %s",
                              function, so);
            rc = HCCL_E_NOT_FOUND;
        }
    } else if (!k) {
        rc = hcl_fail(HCCL_E_MEMORY, "EI0007", "out of host memory");
    }
    if (k) {
        *handle = k->handle;
    }
    pthread_mutex_unlock(&lock);
    return rc;
}
