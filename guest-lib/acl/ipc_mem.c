/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of other processes.
 *
 * Device addresses are the same for all processes, and a card's copy engine
 * reaches the memory of every card of its fabric: an imported block has the
 * address that the exporter knows it by, and copies of it run on a card of the
 * importer. The host itself cannot reach it.
 */
#include "ipc_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct import {
    struct import *next;
    char key[IPC_KEY_SIZE];
    ipc_lease lease;
    unsigned count;              /* of imports by this key */
    bool peer_access;
    acl_dev *dev;                /* current device of the importer */
} import;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static import *imports;
static atomic_uint num_imports;

/* ---- looking up ---- */

static import *import_of_addr(uint64_t addr)
{
    import *m;

    for (m = imports; m && addr - m->lease.info.addr >= m->lease.info.size;
         m = m->next) {
    }
    return m;
}

static import **import_of_key(const char *key)
{
    import **p;

    for (p = &imports; *p && strcmp((*p)->key, key); p = &(*p)->next) {
    }
    return p;
}

/* User id of the card that the memory is on, -1 if it is not visible. */
static int32_t device_of_import(const import *m)
{
    unsigned i;

    for (i = 0; i < dev_count(); i++) {
        if (dev_card_number((int32_t)i) == (int)m->lease.info.card) {
            return (int32_t)i;
        }
    }
    return -1;
}

bool ipc_mem_find(uint64_t addr, ipc_mem *out)
{
    import *m;

    if (atomic_load(&num_imports) == 0) {
        return false;
    }
    pthread_mutex_lock(&lock);
    m = import_of_addr(addr);
    if (m) {
        out->base = m->lease.info.addr;
        out->size = m->lease.info.size;
        out->pid = m->lease.pid;
        out->device = device_of_import(m);
        out->importer = m->dev->id;
        out->peer_access = m->peer_access;
        out->ended = ipc_lease_ended(&m->lease);
    }
    pthread_mutex_unlock(&lock);
    return m != NULL;
}

/* Lock held. */
static void import_drop(import **p)
{
    import *m = *p;

    *p = m->next;
    ipc_lease_end(&m->lease);
    free(m);
    atomic_fetch_sub(&num_imports, 1);
}

void ipc_mem_device_gone(const acl_dev *d)
{
    import **p;

    pthread_mutex_lock(&lock);
    for (p = &imports; *p;) {
        if ((*p)->dev == d) {
            import_drop(p);
        } else {
            p = &(*p)->next;
        }
    }
    pthread_mutex_unlock(&lock);
}

/* ---- exporting ---- */

ACL_EXPORT aclError aclrtIpcMemGetExportKey(void *devPtr, size_t size,
                                            char *key, size_t len,
                                            uint64_t flags)
{
    uint64_t addr = (uintptr_t)devPtr, base, bytes;
    ipc_info info = { .addr = addr, .size = size };
    ipc_mem imported;
    acl_dev *d;

    CHECK_PTR(devPtr);
    CHECK_PTR(key);
    if (size == 0 || len < IPC_KEY_SIZE ||
        flags & ~ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION) {
        return FAIL(ACL_ERROR_INVALID_PARAM, "size %zu (more than 0), len %zu "
                    "(at least %u), flags 0x%llx (0 or 1)", size, len,
                    IPC_KEY_SIZE, (unsigned long long)flags);
    }
    if (ipc_mem_find(addr, &imported) && !dev_of_addr(addr)) {
        return FAIL(ACL_ERROR_RT_PARAM_INVALID, "devPtr %p is memory of "
                    "process %d: only that process can export it", devPtr,
                    imported.pid);
    }
    if (a350_hbm_range(addr, &base, &bytes)) {
        return FAIL(ACL_ERROR_RT_PARAM_INVALID, "%s", a350_card_text());
    }
    if (size > bytes - (addr - base)) {
        return FAIL(ACL_ERROR_RT_PARAM_INVALID, "devPtr %p: %zu bytes run past "
                    "the end of its block (%p, %llu bytes)", devPtr, size,
                    (void *)(uintptr_t)base, (unsigned long long)bytes);
    }
    d = dev_of_addr(addr);
    info.card = a350_card_number(d->card);
    return ipc_export(__func__, IPC_MEM, d, &info, base,
                      flags & ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION,
                      -1, key, len);
}

ACL_EXPORT aclError aclrtIpcMemSetImportPid(const char *key, int32_t *pid,
                                            size_t num)
{
    int exporter;

    CHECK_PTR(key);
    CHECK_PTR(pid);
    if (num == 0) {
        return FAIL(ACL_ERROR_INVALID_PARAM, "num is 0");
    }
    if (!ipc_key_valid(IPC_MEM, key, &exporter)) {
        return ipc_bad_key(__func__, IPC_MEM, key);
    }
    return ipc_allow_key(__func__, key, pid, num);
}

/* ---- importing ---- */

static aclError import_new(const char *func, void **devPtr, const char *key,
                           uint64_t flags, acl_dev *d)
{
    import *m = calloc(1, sizeof(*m));
    import **p;
    aclError rc;

    if (!m) {
        return acl_fail(func, ACL_ERROR_RT_MEMORY_ALLOCATION, "out of host "
                        "memory");
    }
    rc = ipc_import(func, IPC_MEM, key, &m->lease);
    if (rc) {
        free(m);
        return rc;
    }
    snprintf(m->key, sizeof(m->key), "%s", key);
    m->count = 1;
    m->dev = d;
    m->peer_access = flags & ACL_RT_IPC_MEM_IMPORT_FLAG_ENABLE_PEER_ACCESS;
    pthread_mutex_lock(&lock);
    p = import_of_key(key);
    if (*p) {                    /* another thread was faster */
        (*p)->count++;
        ipc_lease_end(&m->lease);
        free(m);
        m = *p;
    } else {
        *p = m;
        atomic_fetch_add(&num_imports, 1);
    }
    *devPtr = (void *)(uintptr_t)m->lease.info.addr;
    pthread_mutex_unlock(&lock);
    return ACL_SUCCESS;
}

ACL_EXPORT aclError aclrtIpcMemImportByKey(void **devPtr, const char *key,
                                           uint64_t flags)
{
    const char *ended = NULL;
    aclError rc;
    acl_ctx *c;
    import *m;
    int pid;

    CHECK_PTR(devPtr);
    CHECK_PTR(key);
    if (flags & ~ACL_RT_IPC_MEM_IMPORT_FLAG_ENABLE_PEER_ACCESS) {
        return FAIL(ACL_ERROR_RT_PARAM_INVALID, "flags 0x%llx: 0 or 1",
                    (unsigned long long)flags);
    }
    if (!ipc_key_valid(IPC_MEM, key, &pid)) {
        return ipc_bad_key(__func__, IPC_MEM, key);
    }
    c = ctx_need(__func__, &rc);
    if (!c) {
        return rc;
    }
    pthread_mutex_lock(&lock);
    m = *import_of_key(key);
    if (m && !(ended = ipc_lease_ended(&m->lease))) {
        m->count++;
        m->peer_access |= flags & ACL_RT_IPC_MEM_IMPORT_FLAG_ENABLE_PEER_ACCESS;
        *devPtr = (void *)(uintptr_t)m->lease.info.addr;
    }
    pthread_mutex_unlock(&lock);
    if (m) {
        return ended ? FAIL(ACL_ERROR_RT_PARAM_INVALID, "process %d, which "
                            "made the key, %s", pid, ended) : ACL_SUCCESS;
    }
    return import_new(__func__, devPtr, key, flags, c->dev);
}

ACL_EXPORT aclError aclrtIpcMemClose(const char *key)
{
    bool found;
    import **p;
    int pid;

    CHECK_PTR(key);
    if (!ipc_key_valid(IPC_MEM, key, &pid)) {
        return ipc_bad_key(__func__, IPC_MEM, key);
    }
    pthread_mutex_lock(&lock);
    p = import_of_key(key);
    found = *p != NULL;
    if (found && --(*p)->count == 0) {
        import_drop(p);
    }
    pthread_mutex_unlock(&lock);
    if (found || ipc_revoke_key(key)) {
        return ACL_SUCCESS;
    }
    return FAIL(ACL_ERROR_RT_PARAM_INVALID, "key \"%.64s\" was neither made "
                "nor imported by this process, or is closed", key);
}

ACL_EXPORT aclError aclrtIpcMemSetAttr(const char *key,
                                       aclrtIpcMemAttrType type, uint64_t attr)
{
    bool found;
    int pid;

    CHECK_PTR(key);
    if (type != ACL_RT_IPC_MEM_ATTR_ACCESS_LINK) {
        return FAIL(ACL_ERROR_RT_PARAM_INVALID, "type %d: 0 (ACCESS_LINK)",
                    (int)type);
    }
    if (!ipc_key_valid(IPC_MEM, key, &pid)) {
        return ipc_bad_key(__func__, IPC_MEM, key);
    }
    pthread_mutex_lock(&lock);
    found = *import_of_key(key) != NULL;
    pthread_mutex_unlock(&lock);
    if (!found && !ipc_key_ours(key)) {
        return FAIL(ACL_ERROR_RT_PARAM_INVALID, "key \"%.64s\" was neither "
                    "made nor imported by this process, or is closed", key);
    }
    if (attr == ACL_RT_MEM_LINK_IDX_0) {
        return ACL_SUCCESS;      /* the one that is used anyway */
    }
    return FAIL(attr == ACL_RT_MEM_LINK_IDX_1
                ? ACL_ERROR_RT_LINK_TYPE_NOT_SUPPORTED
                : ACL_ERROR_RT_PARAM_INVALID, "link %llu: two cards have one "
                "link, 0", (unsigned long long)attr);
}
