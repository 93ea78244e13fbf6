/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Callbacks for failed tasks (pkg_inc/hcomm/hcomm_exception.h).
 * spec/api/hccl-control-plane.md §9.
 */
#include <stdlib.h>
#include <string.h>
#include "hccl_internal.h"

typedef struct entry {
    struct entry *next;
    HcommExceptionCallback fn;
    void *data;
} entry;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static entry *first;

int32_t HcommExceptionRegisterCallback(HcommExceptionCallback callback,
                                       void *userData)
{
    entry *e;

    if (!callback) {
        return hcl_null("HcommExceptionRegisterCallback", "callback");
    }
    pthread_mutex_lock(&lock);
    for (e = first; e && e->fn != callback; e = e->next) {
    }
    if (!e && (e = calloc(1, sizeof(*e)))) {
        e->fn = callback;
        e->next = first;
        first = e;
    }
    if (e) {
        e->data = userData;
    }
    pthread_mutex_unlock(&lock);
    return e ? HCCL_SUCCESS
             : hcl_fail(HCCL_E_MEMORY, "EI0007", "out of host memory");
}

int32_t HcommExceptionUnregisterCallback(HcommExceptionCallback callback)
{
    static const char call[] = "HcommExceptionUnregisterCallback";
    entry **p, *e;

    if (!callback) {
        return hcl_null(call, "callback");
    }
    pthread_mutex_lock(&lock);
    for (p = &first; *p && (*p)->fn != callback; p = &(*p)->next) {
    }
    e = *p;
    if (e) {
        *p = e->next;
    }
    pthread_mutex_unlock(&lock);
    free(e);
    return e ? HCCL_SUCCESS
             : hcl_bad(HCCL_E_NOT_FOUND, call, "callback", "one that was "
                       "registered", "%p", (void *)(uintptr_t)callback);
}

/*
 * On the library's failure thread, with no lock held: a callback may call
 * anything but must not wait for another failure.
 */
void hcl_exception_tell(const HcommExceptionInfo *info)
{
    entry copy[16];
    unsigned n = 0, i;
    entry *e;

    pthread_mutex_lock(&lock);
    for (e = first; e && n < 16; e = e->next) {
        copy[n++] = *e;
    }
    pthread_mutex_unlock(&lock);
    for (i = 0; i < n; i++) {
        copy[i].fn(info, copy[i].data);
    }
}
