/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles: numbers that are given out once. A hash table from number to
 * object; device objects are entered under their device address.
 */
#include <stdlib.h>
#include "hccl_internal.h"

#define BUCKETS 4096u

typedef struct entry {
    struct entry *next;
    uint64_t handle;
    enum hcl_kind kind;
    void *object;
} entry;

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static entry *bucket[BUCKETS];
/* Even, above any small integer, below device addresses, not canonical for
   user pointers to be mistaken for: spec wants it opaque only. */
static uint64_t next_handle = 0x10000a350000ull;

static entry **slot(uint64_t handle)
{
    uint64_t h = handle * 0x9e3779b97f4a7c15ull;

    return &bucket[h >> 52];
}

static int add(uint64_t handle, enum hcl_kind kind, void *object)
{
    entry *e = malloc(sizeof(*e));

    if (!e) {
        return -1;
    }
    e->handle = handle;
    e->kind = kind;
    e->object = object;
    e->next = *slot(handle);
    *slot(handle) = e;
    return 0;
}

uint64_t hcl_handle_new(enum hcl_kind kind, void *object)
{
    uint64_t handle;

    pthread_rwlock_wrlock(&lock);
    handle = next_handle;
    next_handle += 16;
    if (add(handle, kind, object)) {
        handle = 0;
    }
    pthread_rwlock_unlock(&lock);
    return handle;
}

int hcl_handle_add(uint64_t handle, enum hcl_kind kind, void *object)
{
    int rc;

    pthread_rwlock_wrlock(&lock);
    rc = add(handle, kind, object);
    pthread_rwlock_unlock(&lock);
    return rc;
}

void *hcl_handle_get(uint64_t handle, enum hcl_kind kind)
{
    void *object = NULL;
    const entry *e;

    pthread_rwlock_rdlock(&lock);
    for (e = *slot(handle); e; e = e->next) {
        if (e->handle == handle && e->kind == kind) {
            object = e->object;
            break;
        }
    }
    pthread_rwlock_unlock(&lock);
    return object;
}

void *hcl_handle_find(enum hcl_kind kind,
                      bool (*match)(const void *object, const void *arg),
                      const void *arg)
{
    void *object = NULL;
    const entry *e;
    unsigned i;

    pthread_rwlock_rdlock(&lock);
    for (i = 0; i < BUCKETS && !object; i++) {
        for (e = bucket[i]; e && !object; e = e->next) {
            if (e->kind == kind && match(e->object, arg)) {
                object = e->object;
            }
        }
    }
    pthread_rwlock_unlock(&lock);
    return object;
}

void hcl_handle_drop(uint64_t handle)
{
    entry **p;

    pthread_rwlock_wrlock(&lock);
    for (p = slot(handle); *p; p = &(*p)->next) {
        if ((*p)->handle == handle) {
            entry *e = *p;

            *p = e->next;
            free(e);
            break;
        }
    }
    pthread_rwlock_unlock(&lock);
}
