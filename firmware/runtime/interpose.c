/*
 * Atlas 350 firmware runtime: calls of the C library that a kernel must not
 * get as they are, since the process it would end or mark is everybody's.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/syscall.h>
#include "rt.h"

static void leave(uint32_t cause, int code, const char *text)
    __attribute__((noreturn));

static void leave(uint32_t cause, int code, const char *text)
{
    rt_sys(A350_SYS_CRASH, cause, code, (long)text, 0);
    /* Not inside a launch: the runtime itself gives up. */
    rt_sys(SYS_exit_group, code, 0, 0, 0);
    for (;;) {
    }
}

static void leave_exit(int code) __attribute__((noreturn));

static void leave_exit(int code)
{
    char text[64];

    snprintf(text, sizeof(text), "exit(%d) inside a kernel", code);
    leave(A350_EXC_EXIT, code, text);
}

RT_API void exit(int code)
{
    leave_exit(code);
}

RT_API void _exit(int code)
{
    leave_exit(code);
}

RT_API void _Exit(int code)
{
    leave_exit(code);
}

RT_API void quick_exit(int code)
{
    leave_exit(code);
}

RT_API void pthread_exit(void *value)
{
    (void)value;
    leave(A350_EXC_EXIT, 0, "pthread_exit inside a kernel");
}

RT_API void abort(void)
{
    leave(A350_EXC_ABORT, 6, rt_me.last_words[0] ? rt_me.last_words
                                                 : "abort()");
}

/*
 * Destructors of thread_local objects. The C library's own list would keep a
 * library loaded until the thread ends, which a worker never does.
 */
typedef struct dtor {
    struct dtor *next;
    void (*fn)(void *);
    void *obj;
    uintptr_t dso;
    int tid;
} dtor;

static pthread_mutex_t dtor_lock = PTHREAD_MUTEX_INITIALIZER;
static dtor *dtors;

RT_API int __cxa_thread_atexit_impl(void (*fn)(void *), void *obj, void *dso)
{
    dtor *d = malloc(sizeof(*d));

    if (!d) {
        return -1;
    }
    d->fn = fn;
    d->obj = obj;
    d->dso = (uintptr_t)(dso ? dso : (void *)fn);
    d->tid = gettid();
    pthread_mutex_lock(&dtor_lock);
    d->next = dtors;
    dtors = d;
    pthread_mutex_unlock(&dtor_lock);
    return 0;
}

RT_API int __cxa_thread_atexit(void (*fn)(void *), void *obj, void *dso)
{
    return __cxa_thread_atexit_impl(fn, obj, dso);
}

static dtor *take_dtor(uintptr_t lo, uintptr_t hi)
{
    dtor **at, *d;

    pthread_mutex_lock(&dtor_lock);
    for (at = &dtors; *at; at = &(*at)->next) {
        if ((*at)->dso >= lo && (*at)->dso < hi) {
            break;
        }
    }
    d = *at;
    if (d) {
        *at = d->next;
    }
    pthread_mutex_unlock(&dtor_lock);
    return d;
}

/* Runs those of the library at [lo, hi), whose threads stand idle. */
void rt_thread_dtors_run(uintptr_t lo, uintptr_t hi)
{
    dtor *d;

    while ((d = take_dtor(lo, hi))) {
        d->fn(d->obj);
        free(d);
    }
}

/* The calling thread dies: its objects go undestroyed. */
void rt_thread_dtors_forget(void)
{
    int me = gettid();
    dtor **at = &dtors;

    pthread_mutex_lock(&dtor_lock);
    while (*at) {
        dtor *d = *at;

        if (d->tid == me) {
            *at = d->next;
            free(d);
        } else {
            at = &d->next;
        }
    }
    pthread_mutex_unlock(&dtor_lock);
}
