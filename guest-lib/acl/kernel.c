/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel binaries and functions. A binary serves all devices; a function is
 * bound to a device by aclrtBinaryGetFunction, which sends its library there
 * (spec/api/acl-runtime.md §14), or by its first launch there. Equal contents
 * are sent to a card once.
 *
 * A library or function that is not found does not fail the look-up but the
 * launch, as on the real card; unlike there, the launch itself says so.
 */
#include "kernel_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRMWARE_WAIT_MS    60000
#define LOAD_WAIT_MS        120000
/* The card's limit, below that: a constructor may never end. */
#define LOAD_CREDIT         \
    ((uint32_t)(LOAD_WAIT_MS * 1000000ull / A350_CREDIT_UNIT_NS) - 2)
#define HOME_DEFAULT        "/usr/local/Ascend/cann"

/* ---- libraries that cards have ---- */

typedef struct loaded {
    struct loaded *next;
    int32_t device;
    uint32_t generation;
    uint64_t hash;
    size_t size;
    char *path;                  /* for kernelSo */
    uint32_t id;                 /* of the firmware's load */
    unsigned users;              /* functions bound to it */
} loaded;

static pthread_mutex_t loaded_lock = PTHREAD_MUTEX_INITIALIZER;
static loaded *loaded_list;
static kbind *named;             /* functions whose names a card has */

/* Lock held. */
static void names_free(kbind *b)
{
    a350_hbm_free(b->so_addr);
    a350_hbm_free(b->fn_addr);
    b->so_addr = b->fn_addr = 0;
}

static uint64_t hash_bytes(uint64_t h, const void *data, size_t n)
{
    const uint8_t *p = data;
    uint64_t w;

    while (n >= 8) {
        memcpy(&w, p, 8);
        h = (h ^ w) * 0x9e3779b97f4a7c15ull;
        h ^= h >> 29;
        p += 8;
        n -= 8;
    }
    while (n--) {
        h = (h ^ *p++) * 0x100000001b3ull;
    }
    return h;
}

static uint64_t hash_files(const kfiles *k, size_t *size)
{
    uint64_t h = 0xcbf29ce484222325ull;
    unsigned i;

    *size = 0;
    for (i = 0; i < k->n; i++) {
        h = hash_bytes(h, k->f[i].name, strlen(k->f[i].name));
        h = hash_bytes(h, k->f[i].data, k->f[i].size);
        *size += k->f[i].size;
    }
    return h;
}

void kernels_device_gone(acl_dev *d)
{
    loaded **p, *l;
    kbind **q, *b;

    pthread_mutex_lock(&loaded_lock);
    for (p = &loaded_list; (l = *p);) {
        if (l->device == d->id) {
            *p = l->next;
            free(l->path);
            free(l);
        } else {
            p = &l->next;
        }
    }
    /* Libraries keep their binaries for ever: what they need here is no leak. */
    for (q = &named; (b = *q);) {
        if (b->device == d->id) {
            *q = b->next;
            names_free(b);
        } else {
            q = &b->next;
        }
    }
    pthread_mutex_unlock(&loaded_lock);
}

/* ---- the firmware's own functions ---- */

/*
 * Runs one of them with a parameter block of @size bytes, in and out. The
 * block stands behind the header that the firmware expects.
 */
static aclError builtin_run(const char *func, acl_dev *d, const char *name,
                            void *param, size_t size)
{
    size_t head = sizeof(a350_args_header), names = 64;
    a350_args_header h = { .magic = A350_ARGS_MAGIC,
                           .args_size = (uint32_t)size };
    aclError rc = ACL_SUCCESS;
    uint64_t addr;
    uint8_t *p;
    a350_sqe e;

    if (a350_card_wait_firmware(d->card, FIRMWARE_WAIT_MS)) {
        return acl_fail(func, ACL_ERROR_RT_AICPU_INTERNAL_ERROR, "%s",
                        a350_card_text());
    }
    if (a350_hbm_new(d->card, NULL, names + head + size, &addr)) {
        return acl_fail(func, ACL_ERROR_RT_MEMORY_ALLOCATION, "%s",
                        a350_card_text());
    }
    p = a350_hbm_ptr(addr, names + head + size);
    a350_copy(p + 1, name, strlen(name) + 1);    /* p[0] is the empty name */
    a350_copy(p + names, &h, head);
    a350_copy(p + names + head, param, size);
    a350_sqe_aicpu(&e, 0, A350_KERNEL_TYPE_AICPU, 1, addr, addr + 1,
                   addr + names + head, LOAD_CREDIT);
    rc = dev_run(func, d, &e, 1, LOAD_WAIT_MS);
    a350_copy(param, p + names + head, size);
    if (rc == ACL_ERROR_RT_REPORT_TIMEOUT) {
        return rc;               /* the card may still use the block */
    }
    a350_hbm_free(addr);
    return rc;
}

static aclError send_files(const char *func, acl_dev *d, const kfiles *k,
                           uint64_t *list)
{
    a350_load_file lf[KFILES_MAX];
    unsigned i;

    memset(lf, 0, sizeof(lf));
    for (i = 0; i < k->n; i++) {
        snprintf(lf[i].name, sizeof(lf[i].name), "%s", k->f[i].name);
        lf[i].size = k->f[i].size;
        if (a350_hbm_new(d->card, k->f[i].data, k->f[i].size, &lf[i].image)) {
            break;
        }
    }
    if (i == k->n &&
        a350_hbm_new(d->card, lf, k->n * sizeof(lf[0]), list) == 0) {
        return ACL_SUCCESS;
    }
    acl_fail(func, ACL_ERROR_RT_MEMORY_ALLOCATION, "%s", a350_card_text());
    while (i--) {
        a350_hbm_free(lf[i].image);
    }
    return ACL_ERROR_RT_MEMORY_ALLOCATION;
}

static void unsend_files(uint64_t list, unsigned n)
{
    a350_load_file *lf = a350_hbm_ptr(list, n * sizeof(*lf));
    unsigned i;

    for (i = 0; i < n; i++) {
        a350_hbm_free(lf[i].image);
    }
    a350_hbm_free(list);
}

/* *@path of the library on the card, or NULL and *@error (both malloc'ed). */
static aclError lib_load(const char *func, acl_dev *d, const kfiles *k,
                         char **path, uint32_t *id, char **error)
{
    a350_load_param p;
    uint64_t list;
    aclError rc = send_files(func, d, k, &list);

    if (rc) {
        return rc;
    }
    memset(&p, 0, sizeof(p));
    p.num_files = k->n;
    p.files = list;
    rc = builtin_run(func, d, A350_BUILTIN_LOAD, &p, sizeof(p));
    if (rc == ACL_ERROR_RT_REPORT_TIMEOUT) {
        return rc;
    }
    unsend_files(list, k->n);
    p.path[sizeof(p.path) - 1] = '\0';
    p.message[sizeof(p.message) - 1] = '\0';
    if (rc && !p.message[0]) {
        return rc;
    }
    if (p.status != A350_AE_OK || rc) {
        char buf[1024];

        snprintf(buf, sizeof(buf), "library %s cannot be loaded: %s (%u)",
                 k->f[0].name, p.message, p.status);
        *error = strdup(buf);
    } else {
        *path = strdup(p.path);
        *id = p.id;
    }
    return ACL_SUCCESS;
}

/*
 * The same through the list of what the card already has. The caller has a
 * use of the library then, see lib_put: another thread may give up its own.
 */
static aclError lib_get(const char *func, acl_dev *d, const kfiles *k,
                        char **path, char **error)
{
    size_t size;
    uint64_t hash = hash_files(k, &size);
    aclError rc = ACL_SUCCESS;
    uint32_t id = 0;
    loaded *l;

    pthread_mutex_lock(&loaded_lock);
    for (l = loaded_list; l; l = l->next) {
        if (l->device == d->id && l->generation == d->generation &&
            l->hash == hash && l->size == size) {
            break;
        }
    }
    if (!l) {
        rc = lib_load(func, d, k, path, &id, error);
        l = rc == ACL_SUCCESS && *path ? calloc(1, sizeof(*l)) : NULL;
        if (l) {
            l->device = d->id;
            l->generation = d->generation;
            l->hash = hash;
            l->size = size;
            l->path = strdup(*path);
            l->id = id;
            l->users = 1;
            l->next = loaded_list;
            loaded_list = l;
        }
    } else {
        *path = strdup(l->path);
        l->users++;
    }
    pthread_mutex_unlock(&loaded_lock);
    return rc;
}

static loaded **find_loaded(const acl_dev *d, const char *path)
{
    loaded **p;

    for (p = &loaded_list; *p; p = &(*p)->next) {
        if ((*p)->device == d->id && (*p)->generation == d->generation &&
            (*p)->path && strcmp((*p)->path, path) == 0) {
            break;
        }
    }
    return p;
}

/* Ends a use; with the last one the library leaves the card. */
static void lib_put(acl_dev *d, const char *path)
{
    a350_unload_param u;
    loaded **p, *l;

    memset(&u, 0, sizeof(u));
    pthread_mutex_lock(&loaded_lock);
    p = find_loaded(d, path);
    l = *p;
    if (l && --l->users == 0) {
        *p = l->next;
        u.id = l->id;
        builtin_run(__func__, d, A350_BUILTIN_UNLOAD, &u, sizeof(u));
        u.message[sizeof(u.message) - 1] = '\0';
        if (u.status != A350_AE_OK) {
            a350_log_host(2, "RUNTIME", "library %s cannot be unloaded: %s",
                          path, u.message);
        }
        free(l->path);
        free(l);
    }
    pthread_mutex_unlock(&loaded_lock);
}

/* ---- binding ---- */

static char *why_text(const char *fmt, const char *a, const char *b)
{
    char buf[2048];

    snprintf(buf, sizeof(buf), fmt, a, b);
    return strdup(buf);
}

static const char *home(void)
{
    const char *e = getenv("ASCEND_HOME_PATH");

    return e && *e ? e : HOME_DEFAULT;
}

/*
 * kernelSo as the card knows it. In mode 0 a library that no file is found for
 * may be one of the firmware's own, named without a path.
 */
static aclError bind_library(const char *func, kfunc *f, acl_dev *d,
                             char **path, bool *used, char **error)
{
    kfiles *k = f->bin->files, *found = NULL;
    char why[1500];
    aclError rc;

    if (!k) {
        found = calloc(1, sizeof(*found));
        if (!found) {
            return acl_fail(func, ACL_ERROR_RT_MEMORY_ALLOCATION, "out of "
                            "host memory");
        }
        if (!kernel_find(f->bin->json, f->so, home(), found, why,
                         sizeof(why))) {
            free(found);
            *path = strdup(f->so);
            *error = why_text("kernel library %s was not found; searched: %s",
                              f->so, why);
            return ACL_SUCCESS;
        }
        k = found;
    }
    if (kelf_check(k->f[0].data, k->f[0].size, k->f[0].name, why,
                   sizeof(why))) {
        rc = lib_get(func, d, k, path, error);
        *used = rc == ACL_SUCCESS && *path;
    } else {
        *error = strdup(why);
        rc = ACL_SUCCESS;
    }
    if (found) {
        kfiles_free(found);
        free(found);
    }
    return rc;
}

static aclError bind_lookup(const char *func, kfunc *f, acl_dev *d,
                            const char *path, char **error)
{
    a350_lookup_param p;
    aclError rc;

    memset(&p, 0, sizeof(p));
    snprintf(p.path, sizeof(p.path), "%s", path);
    snprintf(p.function, sizeof(p.function), "%s", f->function);
    rc = builtin_run(func, d, A350_BUILTIN_LOOKUP, &p, sizeof(p));
    p.message[sizeof(p.message) - 1] = '\0';
    if (rc && !p.message[0]) {
        return rc;
    }
    if (rc == ACL_SUCCESS && p.status == A350_AE_OK) {
        free(*error);            /* found in the firmware after all */
        *error = NULL;
    } else if (!*error) {
        char buf[1024];

        snprintf(buf, sizeof(buf), "function %s is not in library %s: %s",
                 f->function, f->so, p.message);
        *error = strdup(buf);
    }
    return ACL_SUCCESS;
}

static aclError bind_names(const char *func, kfunc *f, acl_dev *d, kbind *b,
                           const char *path)
{
    uint64_t so, fn;

    if (a350_hbm_new(d->card, path, strlen(path) + 1, &so)) {
        return acl_fail(func, ACL_ERROR_RT_MEMORY_ALLOCATION, "%s",
                        a350_card_text());
    }
    if (a350_hbm_new(d->card, f->function, strlen(f->function) + 1, &fn)) {
        a350_hbm_free(so);
        return acl_fail(func, ACL_ERROR_RT_MEMORY_ALLOCATION, "%s",
                        a350_card_text());
    }
    pthread_mutex_lock(&loaded_lock);
    b->so_addr = so;
    b->fn_addr = fn;
    b->device = d->id;
    b->next = named;
    named = b;
    pthread_mutex_unlock(&loaded_lock);
    return ACL_SUCCESS;
}

static const char *entry_fault(const kfunc *f)
{
    if (!*f->so && !f->bin->files) {
        return "its descriptor has no kernelSo";
    }
    if (!*f->function) {
        return "its descriptor has no functionName";
    }
    return f->kernel_type == UINT32_MAX ? "its opKernelLib is missing or "
           "unknown (AICPUKernel, CUSTAICPUKernel, KFCKernel, CUSTKFCKernel)"
           : NULL;
}

/* Binary's lock held. */
static aclError func_bind(const char *func, kfunc *f, acl_dev *d)
{
    kbind *b = &f->bind[d->id];
    const char *fault = entry_fault(f);
    char *path = NULL, *error = NULL;
    aclError rc = ACL_SUCCESS;
    bool used = false;

    if (b->generation == d->generation) {
        return ACL_SUCCESS;
    }
    if (fault) {
        error = why_text("operator %s: %s", f->op, fault);
    } else {
        rc = bind_library(func, f, d, &path, &used, &error);
        if (rc == ACL_SUCCESS && path) {
            rc = bind_lookup(func, f, d, path, &error);
        }
        if (rc == ACL_SUCCESS && path && !error) {
            rc = bind_names(func, f, d, b, path);
        }
    }
    free(b->path);
    b->path = NULL;
    if (rc == ACL_SUCCESS && used && !error) {
        b->path = path;
    } else {
        if (used) {
            lib_put(d, path);
        }
        free(path);
    }
    if (rc) {
        free(error);
        return rc;
    }
    free(b->error);
    b->error = error;
    __atomic_store_n(&b->generation, d->generation, __ATOMIC_RELEASE);
    if (error) {
        a350_log_host(3, "RUNTIME", "%s", error);
    }
    return ACL_SUCCESS;
}

/*
 * Programs keep one handle for all devices (spec/api/examples.md §6), so the
 * first launch on a device binds what was got on another one.
 */
aclError func_bound(const char *func, kfunc *f, acl_dev *d, kbind **out)
{
    kbind *b = &f->bind[d->id];
    aclError rc;

    if (__atomic_load_n(&b->generation, __ATOMIC_ACQUIRE) != d->generation) {
        pthread_mutex_lock(&f->bin->lock);
        rc = func_bind(func, f, d);
        pthread_mutex_unlock(&f->bin->lock);
        if (rc) {
            return rc;
        }
    }
    if (b->error) {
        return acl_fail(func, ACL_ERROR_RT_AICPU_EXCEPTION, "%s", b->error);
    }
    *out = b;
    return ACL_SUCCESS;
}

const char *func_name(const void *func)
{
    return handle_is(func, H_FUNC) ? ((const kfunc *)func)->op : "kernel";
}

/* ---- functions ---- */

static uint32_t type_of_lib(const char *lib)
{
    static const struct {
        const char *name;
        uint32_t type;
    } t[] = {
        { "AICPUKernel", A350_KERNEL_TYPE_AICPU },
        { "CUSTAICPUKernel", A350_KERNEL_TYPE_CUSTOM },
        { "KFCKernel", A350_KERNEL_TYPE_KFC },
        { "CUSTKFCKernel", A350_KERNEL_TYPE_CUSTOM_KFC },
    };
    size_t i;

    for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
        if (strcmp(lib, t[i].name) == 0) {
            return t[i].type;
        }
    }
    return UINT32_MAX;
}

/* False: the device that had them is gone. */
static bool names_drop(kbind *b)
{
    bool had;
    kbind **p;

    pthread_mutex_lock(&loaded_lock);
    had = b->so_addr != 0;
    if (had) {
        for (p = &named; *p != b; p = &(*p)->next) {
        }
        *p = b->next;
        names_free(b);
    }
    pthread_mutex_unlock(&loaded_lock);
    return had;
}

static void func_free(kfunc *f)
{
    int i;

    for (i = 0; f->bind && i < MAX_DEVICES; i++) {
        acl_dev *d = f->bind[i].generation ? dev_get(i) : NULL;

        if (names_drop(&f->bind[i]) && d && d->card && f->bind[i].path) {
            lib_put(d, f->bind[i].path);
        }
        free(f->bind[i].path);
        free(f->bind[i].error);
    }
    free(f->bind);
    free(f->op);
    free(f->so);
    free(f->function);
    free(f->lib);
    handle_free(f);
}

static kfunc *func_new(kbinary *b, const char *op, const char *so,
                       const char *function, const char *lib)
{
    kfunc *f = handle_new(H_FUNC);

    if (!f) {
        return NULL;
    }
    f->bin = b;
    f->op = strdup(op);
    f->so = strdup(so);
    f->function = strdup(function);
    f->lib = strdup(lib);
    f->kernel_type = type_of_lib(lib);
    f->bind = calloc(MAX_DEVICES, sizeof(*f->bind));
    if (!f->op || !f->so || !f->function || !f->lib || !f->bind) {
        func_free(f);
        return NULL;
    }
    f->next = b->funcs;
    b->funcs = f;
    return f;
}

static kfunc *func_find(kbinary *b, const char *op)
{
    kfunc *f;
    unsigned i;

    for (f = b->funcs; f; f = f->next) {
        if (strcmp(f->op, op) == 0) {
            return f;
        }
    }
    for (i = 0; i < b->ndesc; i++) {
        if (strcmp(b->desc[i].op, op) == 0) {
            return func_new(b, op, b->desc[i].so, b->desc[i].function,
                            b->desc[i].lib);
        }
    }
    return NULL;
}

static aclError binary_need(const char *func, const void *h)
{
    if (!h) {
        return acl_fail(func, ACL_ERROR_INVALID_PARAM, "binHandle is NULL");
    }
    if (!handle_is(h, H_BINARY)) {
        return acl_fail(func, ACL_ERROR_RT_INVALID_HANDLE, "binHandle %p is "
                        "%s", h, handle_what(h));
    }
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtBinaryGetFunction(const aclrtBinHandle binHandle,
                                           const char *kernelName,
                                           aclrtFuncHandle *funcHandle)
{
    kbinary *b = binHandle;
    aclError rc = binary_need(__func__, b);
    acl_ctx *c;
    kfunc *f;

    if (rc) {
        return rc;
    }
    CHECK_PTR(kernelName);
    CHECK_PTR(funcHandle);
    c = ctx_need(__func__, &rc);
    if (!c) {
        return rc;
    }
    pthread_mutex_lock(&b->lock);
    f = func_find(b, kernelName);
    if (f) {
        rc = func_bind(__func__, f, c->dev);
    } else {
        rc = FAIL(ACL_ERROR_RT_PARAM_INVALID, "there is no operator \"%s\" in "
                  "%s", kernelName, b->json ? b->json : "the binary (use "
                  "aclrtRegisterCpuFunc first)");
    }
    pthread_mutex_unlock(&b->lock);
    if (rc == ACL_SUCCESS) {
        *funcHandle = f;
    }
    return rc;
}

ACL_EXPORT aclError aclrtRegisterCpuFunc(const aclrtBinHandle handle,
                                         const char *funcName,
                                         const char *kernelName,
                                         aclrtFuncHandle *funcHandle)
{
    kbinary *b = handle;
    aclError rc = binary_need(__func__, b);
    acl_ctx *c;
    kfunc *f;

    if (rc) {
        return rc;
    }
    CHECK_PTR(funcName);
    CHECK_PTR(kernelName);
    CHECK_PTR(funcHandle);
    if (b->mode != 2) {
        return FAIL(ACL_ERROR_RT_PARAM_INVALID, "the binary was loaded with "
                    "cpuKernelMode %d, functions are registered in mode 2",
                    b->mode);
    }
    c = ctx_need(__func__, &rc);
    if (!c) {
        return rc;
    }
    pthread_mutex_lock(&b->lock);
    f = func_find(b, kernelName);
    if (!f) {
        f = func_new(b, kernelName, b->files->f[0].name, funcName,
                     "AICPUKernel");
    }
    rc = f ? func_bind(__func__, f, c->dev)
           : FAIL(ACL_ERROR_RT_MEMORY_ALLOCATION, "out of host memory");
    pthread_mutex_unlock(&b->lock);
    if (rc == ACL_SUCCESS) {
        *funcHandle = f;
    }
    return rc;
}

/* Entries by number are a matter of AI-core binaries. */
ACL_EXPORT aclError aclrtBinaryGetFunctionByEntry(aclrtBinHandle binHandle,
                                                  uint64_t funcEntry,
                                                  aclrtFuncHandle *funcHandle)
{
    aclError rc = binary_need(__func__, binHandle);

    (void)funcEntry;
    if (rc) {
        return rc;
    }
    CHECK_PTR(funcHandle);
    return FAIL(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "functions by entry number "
                "are for AI-core binaries");
}

ACL_EXPORT aclError aclrtBinaryGetDevAddress(const aclrtBinHandle binHandle,
                                             void **binAddr, size_t *binSize)
{
    aclError rc = binary_need(__func__, binHandle);

    if (rc) {
        return rc;
    }
    CHECK_PTR(binAddr);
    CHECK_PTR(binSize);
    return FAIL(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "AICPU libraries have no "
                "device address: the card's loader places them");
}

aclError func_need(const char *func, const void *h)
{
    if (!h) {
        return acl_fail(func, ACL_ERROR_INVALID_PARAM, "funcHandle is NULL");
    }
    if (!handle_is(h, H_FUNC)) {
        return acl_fail(func, ACL_ERROR_RT_INVALID_HANDLE, "funcHandle %p is "
                        "%s", h, handle_what(h));
    }
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtGetFunctionName(aclrtFuncHandle funcHandle,
                                         uint32_t maxLen, char *name)
{
    kfunc *f = funcHandle;
    aclError rc = func_need(__func__, f);

    if (rc) {
        return rc;
    }
    CHECK_PTR(name);
    if (strlen(f->function) + 1 > maxLen) {
        return FAIL(ACL_ERROR_RT_PARAM_INVALID, "maxLen %u: at least %zu",
                    maxLen, strlen(f->function) + 1);
    }
    strcpy(name, f->function);
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtGetFunctionAttribute(aclrtFuncHandle funcHandle,
                                              aclrtFuncAttribute attrType,
                                              int64_t *attrValue)
{
    aclError rc = func_need(__func__, funcHandle);

    if (rc) {
        return rc;
    }
    CHECK_PTR(attrValue);
    if (attrType == ACL_FUNC_ATTR_KERNEL_TYPE) {
        *attrValue = ACL_KERNEL_TYPE_AICPU;
        return ACL_SUCCESS;
    }
    if (attrType == ACL_FUNC_ATTR_KERNEL_RATIO ||
        attrType == ACL_FUNC_ATTR_KERNEL_SCHED_MODE) {
        return FAIL(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "attribute %d is about "
                    "AI-core kernels", (int)attrType);
    }
    return FAIL(ACL_ERROR_RT_PARAM_INVALID, "attribute %d: legal 1..3",
                (int)attrType);
}

/* ---- binaries ---- */

/* @func itself may be gone. */
static bool of_binary(const void *func, const void *binary)
{
    const kfunc *f;

    for (f = ((const kbinary *)binary)->funcs; f && f != func; f = f->next) {
    }
    return f != NULL;
}

static void binary_free(kbinary *b)
{
    kfunc *f;
    unsigned i;

    /* What has been launched finds its library and its names. */
    for (i = 0; b->funcs && i < dev_count(); i++) {
        acl_dev *d = dev_get((int32_t)i);

        if (d && d->card) {
            streams_finish(d, of_binary, b);
        }
    }
    while ((f = b->funcs)) {
        b->funcs = f->next;
        func_free(f);
    }
    if (b->files) {
        kfiles_free(b->files);
        free(b->files);
    }
    kdesc_free(b->desc, b->ndesc);
    free(b->json);
    pthread_mutex_destroy(&b->lock);
    handle_free(b);
}

static kbinary *binary_new(int32_t mode)
{
    kbinary *b = handle_new(H_BINARY);

    if (b) {
        b->mode = mode;
        pthread_mutex_init(&b->lock, NULL);
    }
    return b;
}

/* cpuKernelMode of the options; -1 and an error if it is not there. */
static int32_t mode_of(const char *func, const aclrtBinaryLoadOptions *o)
{
    int32_t mode = -1;
    size_t i;

    if (!o) {
        acl_fail(func, ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "without options the "
                 "file is taken for an AI-core binary, which this card cannot "
                 "run: give ACL_RT_BINARY_LOAD_OPT_CPU_KERNEL_MODE");
        return -1;
    }
    if (!o->options || o->numOpt == 0) {
        acl_fail(func, ACL_ERROR_RT_PARAM_INVALID, "the options are empty");
        return -1;
    }
    for (i = 0; i < o->numOpt; i++) {
        if (o->options[i].type == ACL_RT_BINARY_LOAD_OPT_CPU_KERNEL_MODE) {
            mode = o->options[i].value.cpuKernelMode;
        } else if (o->options[i].type != ACL_RT_BINARY_LOAD_OPT_LAZY_LOAD &&
                   o->options[i].type != ACL_RT_BINARY_LOAD_OPT_MAGIC) {
            acl_fail(func, ACL_ERROR_RT_PARAM_INVALID, "option %zu has the "
                     "unknown type %d", i, (int)o->options[i].type);
            return -1;
        }
    }
    if (mode < 0 || mode > 2) {
        acl_fail(func, ACL_ERROR_RT_PARAM_INVALID, "cpuKernelMode %d: legal "
                 "0, 1 (files), 2 (data)", mode);
        return -1;
    }
    return mode;
}

/* @path with another extension. */
static char *with_extension(const char *path, const char *ext)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    size_t n = dot && (!slash || dot > slash) ? (size_t)(dot - path)
                                              : strlen(path);
    char *s = malloc(n + strlen(ext) + 1);

    if (s) {
        memcpy(s, path, n);
        strcpy(s + n, ext);
    }
    return s;
}

/* The library beside the JSON, with what it needs. */
static aclError binary_take_so(const char *func, kbinary *b, const char *path)
{
    char *so = with_extension(path, ".so"), why[512], dir[4096], *slash;
    aclError rc = ACL_SUCCESS;
    kfile f;

    b->files = calloc(1, sizeof(*b->files));
    if (!so || !b->files) {
        free(so);
        return acl_fail(func, ACL_ERROR_RT_MEMORY_ALLOCATION, "out of host "
                        "memory");
    }
    if (!kfile_read(so, &f, why, sizeof(why))) {
        rc = acl_fail(func, ACL_ERROR_RT_PARAM_INVALID, "%s", why);
    } else {
        snprintf(dir, sizeof(dir), "%s", so);
        slash = strrchr(dir, '/');
        *(slash ? slash : strcpy(dir, ".") + 1) = '\0';
        kernel_with_needed(dir, &f, b->files);
    }
    free(so);
    return rc;
}

ACL_EXPORT aclError aclrtBinaryLoadFromFile(const char *binPath,
                                            aclrtBinaryLoadOptions *options,
                                            aclrtBinHandle *binHandle)
{
    aclError rc = ACL_SUCCESS;
    char why[1024];
    int32_t mode;
    kbinary *b;

    CHECK_PTR(binPath);
    CHECK_PTR(binHandle);
    mode = mode_of(__func__, options);
    if (mode < 0) {
        return options ? ACL_ERROR_RT_PARAM_INVALID
                       : ACL_ERROR_RT_FEATURE_NOT_SUPPORT;
    }
    if (mode == 2) {
        return FAIL(ACL_ERROR_RT_PARAM_INVALID, "cpuKernelMode 2 is for "
                    "aclrtBinaryLoadFromData");
    }
    b = binary_new(mode);
    if (!b) {
        return FAIL(ACL_ERROR_RT_MEMORY_ALLOCATION, "too many handles");
    }
    b->json = with_extension(binPath, ".json");
    b->desc = b->json ? kdesc_load(b->json, &b->ndesc, why, sizeof(why))
                      : NULL;
    if (!b->desc) {
        rc = FAIL(ACL_ERROR_RT_PARAM_INVALID, "%s", why);
    } else if (mode == 1) {
        rc = binary_take_so(__func__, b, binPath);
    }
    if (rc) {
        binary_free(b);
        return rc;
    }
    *binHandle = b;
    return ACL_SUCCESS;
}

static aclError load_data(const char *func, const void *data, size_t length,
                          aclrtBinHandle *out)
{
    static _Atomic unsigned counter;
    char why[512];
    kbinary *b;
    kfile *f;

    b = binary_new(2);
    if (b) {
        b->files = calloc(1, sizeof(*b->files));
    }
    if (!b || !b->files ||
        !(b->files->f[0].data = malloc(length))) {
        if (b) {
            binary_free(b);
        }
        return acl_fail(func, ACL_ERROR_RT_MEMORY_ALLOCATION, "out of host "
                        "memory");
    }
    f = &b->files->f[0];
    b->files->n = 1;
    f->size = length;
    memcpy(f->data, data, length);
    snprintf(f->name, sizeof(f->name), "libdata%u.so", ++counter);
    if (!kelf_check(f->data, f->size, "the data", why, sizeof(why))) {
        binary_free(b);
        return acl_fail(func, ACL_ERROR_RT_PARAM_INVALID, "%s", why);
    }
    *out = b;
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtBinaryLoadFromData(
    const void *data, size_t length, const aclrtBinaryLoadOptions *options,
    aclrtBinHandle *binHandle)
{
    int32_t mode;

    CHECK_PTR(data);
    CHECK_PTR(binHandle);
    if (length == 0) {
        return FAIL(ACL_ERROR_INVALID_PARAM, "length is 0");
    }
    mode = mode_of(__func__, options);
    if (mode < 0) {
        return options ? ACL_ERROR_RT_PARAM_INVALID
                       : ACL_ERROR_RT_FEATURE_NOT_SUPPORT;
    }
    if (mode != 2) {
        return FAIL(ACL_ERROR_RT_PARAM_INVALID, "cpuKernelMode %d: data is "
                    "loaded with mode 2", mode);
    }
    return load_data(__func__, data, length, binHandle);
}

ACL_EXPORT aclError aclrtBinaryUnLoad(aclrtBinHandle binHandle)
{
    aclError rc = binary_need(__func__, binHandle);

    if (rc) {
        return rc;
    }
    binary_free(binHandle);
    return ACL_SUCCESS;
}

/* The older pair: a copy of the data, loaded later as an AI-core binary. */
typedef struct bindata {
    uint32_t magic;
    const void *data;
    size_t size;
} bindata;

ACL_EXPORT aclrtBinary aclrtCreateBinary(const void *data, size_t dataLen)
{
    bindata *d;

    if (!data || dataLen == 0) {
        FAIL(ACL_ERROR_INVALID_PARAM, "no data");
        return NULL;
    }
    d = handle_new(H_BINDATA);
    if (d) {
        d->data = data;          /* stays the caller's */
        d->size = dataLen;
    }
    return d;
}

ACL_EXPORT aclError aclrtBinaryLoad(const aclrtBinary binary,
                                    aclrtBinHandle *binHandle)
{
    const bindata *d = binary;

    CHECK_PTR(binary);
    CHECK_PTR(binHandle);
    if (!handle_is(d, H_BINDATA)) {
        return FAIL(ACL_ERROR_RT_INVALID_HANDLE, "binary %p is %s", binary,
                    handle_what(binary));
    }
    return FAIL(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "this loads AI-core "
                "binaries, which this card cannot run; AICPU libraries: "
                "aclrtBinaryLoadFromData");
}

ACL_EXPORT aclError aclrtDestroyBinary(aclrtBinary binary)
{
    CHECK_PTR(binary);
    if (!handle_is(binary, H_BINDATA)) {
        return FAIL(ACL_ERROR_RT_INVALID_HANDLE, "binary %p is %s", binary,
                    handle_what(binary));
    }
    handle_free(binary);
    return ACL_SUCCESS;
}
