/* SPDX-License-Identifier: Apache-2.0 */
#include "acl_priv.h"

#include <string.h>
#include <sys/mman.h>

#define REGION_SIZE     (256ull << 20)

/* First in, first out: a freed handle is used again as late as possible. */
typedef struct slot {
    uint32_t magic;              /* 0: free */
    uint32_t pad;
    struct slot *next;
} slot;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint8_t *region;
static size_t used;
static slot *free_first, *free_last;
static unsigned free_count;

#define REUSE_AFTER     4096

static slot *slot_take(void)
{
    slot *s = NULL;

    if (!region) {
        void *p = mmap(NULL, REGION_SIZE, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        if (p == MAP_FAILED) {
            return NULL;
        }
        __atomic_store_n(&region, p, __ATOMIC_RELEASE);
    }
    if (free_first &&
        (free_count > REUSE_AFTER || used + HANDLE_SIZE > REGION_SIZE)) {
        s = free_first;
        free_first = s->next;
        if (!free_first) {
            free_last = NULL;
        }
        free_count--;
    } else if (used + HANDLE_SIZE <= REGION_SIZE) {
        s = (slot *)(region + used);
        used += HANDLE_SIZE;
    }
    return s;
}

void *handle_new(uint32_t magic)
{
    slot *s;

    pthread_mutex_lock(&lock);
    s = slot_take();
    pthread_mutex_unlock(&lock);
    if (s) {
        memset(s, 0, HANDLE_SIZE);
        __atomic_store_n(&s->magic, magic, __ATOMIC_RELEASE);
    }
    return s;
}

void handle_free(void *h)
{
    slot *s = h;

    pthread_mutex_lock(&lock);
    __atomic_store_n(&s->magic, 0, __ATOMIC_RELEASE);
    s->next = NULL;
    if (free_last) {
        free_last->next = s;
    } else {
        free_first = s;
    }
    free_last = s;
    free_count++;
    pthread_mutex_unlock(&lock);
}

static uint32_t magic_of(const void *h)
{
    uint8_t *r = __atomic_load_n(&region, __ATOMIC_ACQUIRE);
    uintptr_t off = (uintptr_t)h - (uintptr_t)r;

    if (!r || off >= REGION_SIZE || off % HANDLE_SIZE) {
        return 0;
    }
    return __atomic_load_n(&((const slot *)h)->magic, __ATOMIC_ACQUIRE);
}

int handle_is(const void *h, uint32_t magic)
{
    return magic_of(h) == magic;
}

const char *handle_what(const void *h)
{
    if (!h) {
        return "NULL";
    }
    switch (magic_of(h)) {
    case H_CONTEXT:     return "a context";
    case H_STREAM:      return "a stream";
    case H_EVENT:       return "an event";
    case H_NOTIFY:      return "a notify";
    case H_CNT_NOTIFY:  return "a counting notify";
    case H_BINARY:      return "a kernel binary";
    case H_BINDATA:     return "kernel binary data";
    case H_FUNC:        return "a kernel function";
    case H_GRAPH:       return "a graph";
    case H_PHYS:        return "physical memory";
    case H_ARGS:        return "kernel arguments";
    }
    return "no handle of this library, or freed";
}
