/*
 * HIXL: heartbeats.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * spec/api/hixl.md §4: every 10 s, of engines with AutoConnect only. A link
 * whose peer is gone fails then, without waiting for the next transfer, which
 * connects anew. There is no answer: what tells is the connection's end, and
 * TCP's own time limits if the peer's machine is gone.
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include "hx.h"

unsigned hx_heartbeat_ms = 10000;

/* References to all links; *@num 0 if there is no memory for the list. */
static hx_link **all_links(hx_engine *e, size_t *num)
{
    hx_link **list, *l;
    size_t n = 0;

    pthread_mutex_lock(&e->mutex);
    for (l = e->links; l; l = l->next) {
        n++;
    }
    list = calloc(n + 1, sizeof(list[0]));
    *num = 0;
    for (l = e->links; l && list; l = l->next) {
        if (!l->connecting) {
            l->refs++;
            list[(*num)++] = l;
        }
    }
    pthread_mutex_unlock(&e->mutex);
    return list;
}

static void beat_all(hx_engine *e)
{
    size_t i, n;
    hx_link **list = all_links(e, &n);

    for (i = 0; i < n; i++) {
        hx_link_beat(list[i]);
        hx_link_put(list[i]);
    }
    free(list);
}

static void next_beat(struct timespec *ts)
{
    clock_gettime(CLOCK_MONOTONIC, ts);
    ts->tv_sec += hx_heartbeat_ms / 1000;
    ts->tv_nsec += hx_heartbeat_ms % 1000 * 1000000l;
    if (ts->tv_nsec >= 1000000000) {
        ts->tv_nsec -= 1000000000;
        ts->tv_sec++;
    }
}

static void *beat(void *arg)
{
    hx_engine *e = arg;
    struct timespec ts;

    next_beat(&ts);
    pthread_mutex_lock(&e->mutex);
    while (!e->beat_stop) {
        if (pthread_cond_timedwait(&e->beat_cond, &e->mutex, &ts) ==
            ETIMEDOUT) {
            pthread_mutex_unlock(&e->mutex);
            beat_all(e);
            next_beat(&ts);
            pthread_mutex_lock(&e->mutex);
        }
    }
    pthread_mutex_unlock(&e->mutex);
    return NULL;
}

uint32_t hx_heartbeat_start(hx_engine *e)
{
    pthread_condattr_t attr;

    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&e->beat_cond, &attr);
    pthread_condattr_destroy(&attr);
    e->beats = a350_thread_create(&e->beat_thread, NULL, beat, e) == 0;
    if (!e->beats) {
        pthread_cond_destroy(&e->beat_cond);
    }
    return e->beats ? HX_OK :
           hx_err(HX_FAILED, "Initialize: no thread for heartbeats");
}

void hx_heartbeat_stop(hx_engine *e)
{
    if (e->beats) {
        pthread_mutex_lock(&e->mutex);
        e->beat_stop = true;
        pthread_cond_signal(&e->beat_cond);
        pthread_mutex_unlock(&e->mutex);
        pthread_join(e->beat_thread, NULL);
        pthread_cond_destroy(&e->beat_cond);
        e->beats = false;
    }
}
