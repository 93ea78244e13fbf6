/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libmsprofiler.so: the order rules of profiling, without data. A library of
 * its own that needs nothing of the runtime.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "acl/acl_prof.h"

#define DEVICES_MAX 64

struct aclprofConfig {
    uint32_t devices[DEVICES_MAX], num;
    uint64_t types;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int initialised, running;

aclError aclprofInit(const char *profilerResultPath, size_t length)
{
    aclError rc = ACL_SUCCESS;
    struct stat st;

    if (!profilerResultPath || length == 0 ||
        strlen(profilerResultPath) != length) {
        return ACL_ERROR_INVALID_PARAM;
    }
    if (stat(profilerResultPath, &st) || !S_ISDIR(st.st_mode)) {
        return ACL_ERROR_INVALID_FILE;
    }
    pthread_mutex_lock(&lock);
    if (initialised) {
        rc = ACL_ERROR_REPEAT_INITIALIZE;
    }
    initialised = 1;
    pthread_mutex_unlock(&lock);
    return rc;
}

aclError aclprofFinalize(void)
{
    aclError rc = ACL_SUCCESS;

    pthread_mutex_lock(&lock);
    if (!initialised) {
        rc = ACL_ERROR_PROF_NOT_RUN;
    }
    initialised = running = 0;
    pthread_mutex_unlock(&lock);
    return rc;
}

aclprofConfig *aclprofCreateConfig(uint32_t *deviceIdList, uint32_t deviceNums,
                                   aclprofAicoreMetrics aicoreMetrics,
                                   const aclprofAicoreEvents *aicoreEvents,
                                   uint64_t dataTypeConfig)
{
    aclprofConfig *c;

    (void)aicoreMetrics;
    if ((!deviceIdList && deviceNums) || deviceNums > DEVICES_MAX ||
        aicoreEvents) {
        return NULL;
    }
    c = calloc(1, sizeof(*c));
    if (c) {
        if (deviceNums) {
            memcpy(c->devices, deviceIdList, deviceNums * sizeof(uint32_t));
        }
        c->num = deviceNums;
        c->types = dataTypeConfig;
    }
    return c;
}

aclError aclprofDestroyConfig(const aclprofConfig *profilerConfig)
{
    if (!profilerConfig) {
        return ACL_ERROR_INVALID_PARAM;
    }
    free((void *)profilerConfig);
    return ACL_SUCCESS;
}

aclError aclprofStart(const aclprofConfig *profilerConfig)
{
    aclError rc = ACL_SUCCESS;

    if (!profilerConfig) {
        return ACL_ERROR_INVALID_PARAM;
    }
    pthread_mutex_lock(&lock);
    if (!initialised) {
        rc = ACL_ERROR_PROF_NOT_RUN;
    } else if (running) {
        rc = ACL_ERROR_PROF_ALREADY_RUN;
    } else {
        running = 1;
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

aclError aclprofStop(const aclprofConfig *profilerConfig)
{
    aclError rc = ACL_SUCCESS;

    if (!profilerConfig) {
        return ACL_ERROR_INVALID_PARAM;
    }
    pthread_mutex_lock(&lock);
    if (!running) {
        rc = ACL_ERROR_PROF_NOT_RUN;
    }
    running = 0;
    pthread_mutex_unlock(&lock);
    return rc;
}
