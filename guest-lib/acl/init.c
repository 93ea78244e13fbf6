/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aclInit and its kin, versions, parameters, small helpers.
 */
#include "acl_priv.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t ref_count;
static bool finalized;           /* set by a finalise, cleared by an init */
static char *first_config;       /* text of the first JSON; "" for none */

_Atomic int64_t sys_opt[SYS_OPTS];

static char *read_config(const char *func, const char *path, aclError *code)
{
    json_error_t err;
    json_t *j;
    char *text;

    if (!path || !*path) {
        return strdup("");
    }
    j = json_load_file(path, 0, &err);
    if (!j) {
        *code = acl_fail(func, err.line > 0 ? ACL_ERROR_PARSE_FILE
                                            : ACL_ERROR_INVALID_FILE,
                         "%s: line %d: %s", path, err.line, err.text);
        return NULL;
    }
    text = json_dumps(j, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
    json_decref(j);
    return text;
}

ACL_EXPORT aclError aclInit(const char *configPath)
{
    aclError code = ACL_ERROR_BAD_ALLOC;
    char *text;

    pthread_mutex_lock(&lock);
    if (ref_count > 0) {
        ref_count++;
        pthread_mutex_unlock(&lock);
        return ACL_ERROR_REPEAT_INITIALIZE;
    }
    text = read_config(__func__, configPath, &code);
    if (text && first_config && strcmp(text, first_config)) {
        free(text);
        text = NULL;
        code = FAIL(ACL_ERROR_INVALID_PARAM, "the configuration %s differs "
                    "from that of the first initialisation",
                    configPath ? configPath : "(none)");
    }
    if (!text) {
        pthread_mutex_unlock(&lock);
        return code;
    }
    if (first_config) {
        free(text);
    } else {
        first_config = text;
    }
    if (!aclrtGetSocName()) {
        pthread_mutex_unlock(&lock);
        return acl_fail_keep(__func__, ACL_ERROR_INTERNAL_ERROR);
    }
    ref_count = 1;
    finalized = false;
    pthread_mutex_unlock(&lock);
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclFinalize(void)
{
    bool twice;

    pthread_mutex_lock(&lock);
    twice = finalized;
    finalized = true;
    ref_count = 0;
    pthread_mutex_unlock(&lock);
    if (twice) {
        return FAIL(ACL_ERROR_REPEAT_FINALIZE, "called twice");
    }
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclFinalizeReference(uint64_t *refCount)
{
    aclError rc = ACL_SUCCESS;

    pthread_mutex_lock(&lock);
    if (ref_count < 1) {
        rc = ACL_ERROR_REPEAT_FINALIZE;
    } else if (--ref_count == 0) {
        finalized = true;
    }
    if (refCount) {
        *refCount = ref_count;
    }
    pthread_mutex_unlock(&lock);
    return rc ? FAIL(rc, "the reference count is 0") : rc;
}

ACL_EXPORT aclError aclrtGetVersion(int32_t *majorVersion,
                                    int32_t *minorVersion,
                                    int32_t *patchVersion)
{
    CHECK_PTR(majorVersion);
    CHECK_PTR(minorVersion);
    CHECK_PTR(patchVersion);
    *majorVersion = ACL_MAJOR_VERSION;
    *minorVersion = ACL_MINOR_VERSION;
    *patchVersion = ACL_PATCH_VERSION;
    return ACL_SUCCESS;
}

/*
 * Package versions: M·10^7 + m·10^5 + p·10^3 (spec/api/examples.md §8.1, where
 * 90100000 and more is asked for by users of the interfaces that we have).
 */
#define PACKAGE_VERSION_STR "9.2.0"
#define PACKAGE_VERSION_NUM 90200000

ACL_EXPORT aclError aclsysGetVersionStr(char *pkgName, char *versionStr)
{
    CHECK_PTR(pkgName);
    CHECK_PTR(versionStr);
    strcpy(versionStr, PACKAGE_VERSION_STR);
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclsysGetVersionNum(char *pkgName, int32_t *versionNum)
{
    CHECK_PTR(pkgName);
    CHECK_PTR(versionNum);
    *versionNum = PACKAGE_VERSION_NUM;
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtGetRunMode(aclrtRunMode *runMode)
{
    CHECK_PTR(runMode);
    *runMode = ACL_HOST;
    return ACL_SUCCESS;
}

/* ---- parameters ---- */

static aclError opt_check(const char *func, aclSysParamOpt opt)
{
    return (int)opt >= 0 && (int)opt < SYS_OPTS
           ? ACL_SUCCESS
           : acl_fail(func, ACL_ERROR_RT_PARAM_INVALID, "opt %d: legal 0..%d",
                      (int)opt, SYS_OPTS - 1);
}

ACL_EXPORT aclError aclrtGetSysParamOpt(aclSysParamOpt opt, int64_t *value)
{
    aclError code;

    CHECK_PTR(value);
    code = opt_check(__func__, opt);
    if (code) {
        return code;
    }
    *value = sys_opt[opt];
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtSetSysParamOpt(aclSysParamOpt opt, int64_t value)
{
    aclError code = opt_check(__func__, opt);

    if (code) {
        return code;
    }
    sys_opt[opt] = value;
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtCtxGetSysParamOpt(aclSysParamOpt opt, int64_t *value)
{
    aclError code;
    acl_ctx *c;

    CHECK_PTR(value);
    code = opt_check(__func__, opt);
    if (code) {
        return code;
    }
    c = ctx_need(__func__, &code);
    if (!c) {
        return code;
    }
    *value = c->opt[opt];
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtCtxSetSysParamOpt(aclSysParamOpt opt, int64_t value)
{
    aclError code;
    acl_ctx *c;

    code = opt_check(__func__, opt);
    if (code) {
        return code;
    }
    c = ctx_need(__func__, &code);
    if (!c) {
        return code;
    }
    c->opt[opt] = value;
    return ACL_SUCCESS;
}

/* ---- data types ---- */

ACL_EXPORT size_t aclDataTypeSize(aclDataType dataType)
{
    switch (dataType) {
    case ACL_INT8:
    case ACL_UINT8:
    case ACL_BOOL:
    case ACL_HIFLOAT8:
    case ACL_FLOAT8_E5M2:
    case ACL_FLOAT8_E4M3FN:
    case ACL_FLOAT8_E8M0:
        return 1;
    case ACL_FLOAT16:
    case ACL_INT16:
    case ACL_UINT16:
    case ACL_BF16:
        return 2;
    case ACL_FLOAT:
    case ACL_INT32:
    case ACL_UINT32:
    case ACL_COMPLEX32:
        return 4;
    case ACL_INT64:
    case ACL_UINT64:
    case ACL_DOUBLE:
    case ACL_COMPLEX64:
        return 8;
    case ACL_COMPLEX128:
        return 16;
    default:
        return 0;
    }
}

ACL_EXPORT float aclFloat16ToFloat(aclFloat16 value)
{
    uint32_t sign = (uint32_t)(value >> 15) << 31;
    uint32_t exp = (value >> 10) & 31, man = value & 1023, bits;
    float f;

    if (exp == 31) {
        bits = sign | 0x7f800000u | man << 13;
    } else if (exp) {
        bits = sign | (exp + 112) << 23 | man << 13;
    } else {
        f = (float)man / 16777216.0f;
        return sign ? -f : f;
    }
    memcpy(&f, &bits, sizeof(f));
    return f;
}

ACL_EXPORT aclFloat16 aclFloatToFloat16(float value)
{
    uint32_t bits, sign, man, shift, half;
    int exp;

    memcpy(&bits, &value, sizeof(bits));
    sign = bits >> 16 & 0x8000;
    exp = (int)(bits >> 23 & 255) - 112;
    man = bits & 0x7fffff;
    if (exp >= 31) {
        bool nan = (bits & 0x7fffffff) > 0x7f800000;

        return (aclFloat16)(sign | 0x7c00 | (nan ? 0x200 | man >> 13 : 0));
    }
    if (exp < -10) {
        return (aclFloat16)sign;
    }
    shift = exp > 0 ? 13 : (uint32_t)(14 - exp);
    man |= exp > 0 ? 0 : 0x800000;
    half = (exp > 0 ? (uint32_t)exp << 10 : 0) + (man >> shift);
    /* Round to nearest, ties to even; a carry runs into the exponent. */
    if ((man >> (shift - 1) & 1) &&
        ((man & ((1u << (shift - 1)) - 1)) || (half & 1))) {
        half++;
    }
    return (aclFloat16)(sign | half);
}

/* ---- data buffers ---- */

struct aclDataBuffer {
    void *data;
    size_t size;
};

ACL_EXPORT aclDataBuffer *aclCreateDataBuffer(void *data, size_t size)
{
    aclDataBuffer *b = malloc(sizeof(*b));

    if (b) {
        b->data = data;
        b->size = size;
    }
    return b;
}

ACL_EXPORT aclError aclDestroyDataBuffer(const aclDataBuffer *dataBuffer)
{
    CHECK_PTR(dataBuffer);
    free((void *)dataBuffer);
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclUpdateDataBuffer(aclDataBuffer *dataBuffer, void *data,
                                        size_t size)
{
    CHECK_PTR(dataBuffer);
    dataBuffer->data = data;
    dataBuffer->size = size;
    return ACL_SUCCESS;
}

ACL_EXPORT void *aclGetDataBufferAddr(const aclDataBuffer *dataBuffer)
{
    return dataBuffer ? dataBuffer->data : NULL;
}

ACL_EXPORT uint32_t aclGetDataBufferSize(const aclDataBuffer *dataBuffer)
{
    return dataBuffer ? (uint32_t)dataBuffer->size : 0;
}

ACL_EXPORT size_t aclGetDataBufferSizeV2(const aclDataBuffer *dataBuffer)
{
    return dataBuffer ? dataBuffer->size : 0;
}
