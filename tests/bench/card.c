/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In the guest: how long a doorbell takes to be answered, and how late the
 * guest's timers are while the card copies.
 *
 * usage: card [SECONDS of copying, 10]
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "a350_card.h"

#define DOORBELLS   1000
#define QUEUES      4
#define BLOCK       (64u << 20)
#define PERIOD_NS   1000000
#define TICKS_MAX   60000

static void need(int rc, const char *what)
{
    if (rc) {
        fprintf(stderr, "bench card: %s: %d\n", what, rc);
        exit(1);
    }
}

static int64_t now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double percentile(double *v, int n, int p)
{
    qsort(v, (size_t)n, sizeof(*v), compare);
    return v[(int64_t)n * p / 100 < n ? (int64_t)n * p / 100 : n - 1];
}

static a350_sq *queue_new(a350_card *card)
{
    a350_sq_config cfg = { .no_cqe = true };
    a350_sq *sq;

    need(a350_sq_new(card, &cfg, &sq), "queue");
    return sq;
}

/* ---- doorbell ---- */

static void bench_doorbell(a350_card *card)
{
    static double took[DOORBELLS], read[DOORBELLS];
    a350_sq *sq = queue_new(card);
    uint32_t page = a350_card_windows(card)->rtsq +
                    a350_sq_id(sq) * A350_SQ_PAGE_SIZE;
    a350_sqe e;
    int i;

    for (i = 0; i < DOORBELLS; i++) {
        uint64_t seq;
        int64_t t = now_ns();

        (void)a350_card_read32(card, page + A350_SQ_HEAD);
        read[i] = (double)(now_ns() - t) / 1000;
        a350_sqe_nop(&e, 0);
        t = now_ns();
        need(a350_sq_push(sq, &e, 1, &seq), "push");
        while (a350_sq_done(sq) < seq) {
            ;
        }
        took[i] = (double)(now_ns() - t) / 1000;
    }
    printf("bench doorbell %.2f us register_read %.2f\n",
           percentile(took, DOORBELLS, 50), percentile(read, DOORBELLS, 50));
    a350_sq_destroy(sq);
}

/* ---- tick ---- */

typedef struct Ticker {
    int stop, count;
    double late[TICKS_MAX];      /* ms */
} Ticker;

static void *ticker(void *opaque)
{
    Ticker *t = opaque;
    int64_t next = now_ns();

    while (!__atomic_load_n(&t->stop, __ATOMIC_RELAXED) &&
           t->count < TICKS_MAX) {
        struct timespec ts;
        int64_t late;

        next += PERIOD_NS;
        ts.tv_sec = next / 1000000000;
        ts.tv_nsec = next % 1000000000;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
        late = now_ns() - next;
        t->late[t->count++] = (double)late / 1e6;
        if (late > PERIOD_NS) {
            next = now_ns();     /* do not count one delay many times */
        }
    }
    return NULL;
}

static void copy_for(a350_card *card, int seconds)
{
    a350_sq *sq[QUEUES];
    uint64_t src, dst, seq[QUEUES] = { 0 };
    int64_t end = now_ns() + seconds * 1000000000ll;
    a350_sqe e;
    int i;

    need(a350_hbm_alloc(card, BLOCK, A350_HBM_HUGE, &src), "memory");
    need(a350_hbm_alloc(card, BLOCK, A350_HBM_HUGE, &dst), "memory");
    for (i = 0; i < QUEUES; i++) {
        sq[i] = queue_new(card);
    }
    a350_sqe_sdma(&e, 0, A350_SDMA_CPY, dst, src, BLOCK);
    while (now_ns() < end) {
        struct timespec nap = { 0, 20000000 };

        for (i = 0; i < QUEUES; i++) {
            while (a350_sq_pushed(sq[i]) - a350_sq_done(sq[i]) < 16) {
                need(a350_sq_push(sq[i], &e, 1, &seq[i]), "push");
            }
        }
        nanosleep(&nap, NULL);
    }
    for (i = 0; i < QUEUES; i++) {
        need(a350_sq_reset(sq[i]), "reset");
        a350_sq_destroy(sq[i]);
    }
    need(a350_hbm_free(src), "free");
    need(a350_hbm_free(dst), "free");
}

/* 99th percentile of a 1 ms timer's lateness, with copies if @card. */
static double measure_tick(a350_card *card, int seconds)
{
    static Ticker t;
    pthread_t thread;

    memset(&t, 0, sizeof(t));
    need(pthread_create(&thread, NULL, ticker, &t), "thread");
    if (card) {
        copy_for(card, seconds);
    } else {
        struct timespec ts = { seconds, 0 };

        nanosleep(&ts, NULL);
    }
    __atomic_store_n(&t.stop, 1, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    return percentile(t.late, t.count, 99);
}

int main(int argc, char **argv)
{
    int seconds = argc > 1 ? atoi(argv[1]) : 10;
    double idle, loaded;
    a350_card *card;

    need(a350_card_open(0, &card), "open");
    bench_doorbell(card);
    idle = measure_tick(NULL, seconds);
    loaded = measure_tick(card, seconds);
    printf("bench tick %.3f ms idle %.3f\n", loaded, idle);
    a350_card_close(card);
    return 0;
}
