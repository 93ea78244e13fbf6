/*
 * Atlas 350 firmware runtime: locks that a dead thread has left behind.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A kernel can die inside the C library: in printf with a bad pointer, in a
 * constructor that the dynamic linker runs. Whatever lock it then holds would
 * stop everybody else. Locks name their holder: a mutex by thread id, which
 * the monitor gives out from a range of its own so that no other word looks
 * like it, a stream by the thread's descriptor. So the writable data of the
 * shared libraries is searched for them.
 */
#define _GNU_SOURCE
#include <link.h>
#include <linux/futex.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include "rt.h"

typedef struct search {
    int tid;
    uintptr_t self;
    unsigned found;
} search;

static void wake_all(int *word)
{
    rt_sys(SYS_futex, (long)word, FUTEX_WAKE, INT_MAX, 0);
}

/* pthread_mutex_t: lock, count, owner, users, kind. */
static bool free_mutex(int *w, int tid)
{
    if (w[2] != tid || (w[0] != 1 && w[0] != 2) || w[1] < 0 || w[1] > 1000 ||
        w[4] < 0 || w[4] > 3) {
        return false;
    }
    w[1] = 0;
    w[2] = 0;
    w[3] = w[3] > 0 ? w[3] - 1 : 0;
    __atomic_store_n(&w[0], 0, __ATOMIC_RELEASE);
    wake_all(&w[0]);
    return true;
}

/* The C library's stream lock: lock, count, owner's descriptor. */
static bool free_stream(int *w, uintptr_t self)
{
    uintptr_t owner;

    memcpy(&owner, &w[2], sizeof(owner));
    if (owner != self || (w[0] != 1 && w[0] != 2) || w[1] < 1 ||
        w[1] > 1000) {
        return false;
    }
    memset(&w[1], 0, 12);
    __atomic_store_n(&w[0], 0, __ATOMIC_RELEASE);
    wake_all(&w[0]);
    return true;
}

static int search_lib(struct dl_phdr_info *info, size_t size, void *opaque)
{
    search *s = opaque;

    (void)size;
    if (rt_lib_at(info->dlpi_addr + 64) ||
        strncmp(info->dlpi_name, "/kernels/", 9) == 0) {
        return 0;                /* a kernel's own locks are its own affair */
    }
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
        uintptr_t lo = (info->dlpi_addr + ph->p_vaddr + 3) & ~3ul;
        int *end = (int *)(lo + (ph->p_memsz & ~3ul)) - 6;

        if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_W)) {
            continue;
        }
        for (int *w = (int *)lo; w < end; w++) {
            if (free_mutex(w, s->tid) || free_stream(w, s->self)) {
                s->found++;
            }
        }
    }
    return 0;
}

/* On the dead thread itself, as its last act. */
void locks_recover(int tid, pthread_t dead)
{
    search s = { tid, (uintptr_t)dead, 0 };

    dl_iterate_phdr(search_lib, &s);
    /* dl_iterate_phdr's own lock has been in that search: it was ours. */
    heap_recover(tid);
}
