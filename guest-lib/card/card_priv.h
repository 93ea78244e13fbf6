/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the card driver. */
#ifndef A350_CARD_PRIV_H
#define A350_CARD_PRIV_H

#include <pthread.h>
#include <sys/types.h>
#include "a350_card.h"
#include "heap.h"

#define A350_CQ_DEPTH       2049u

/* ---- VFIO (vfio.c) ---- */

/* A BAR, mapped in pieces so that a page fault maps little. */
typedef struct vfio_bar {
    uint8_t *ptr;
    uint64_t size;
} vfio_bar;

typedef struct vfio_dev {
    int group_fd, fd;
    vfio_bar bar0, bar2, bar4;
    int admin_efd, cq_efd;       /* eventfds */
    unsigned cq_vector;          /* that cq_efd is bound to */
} vfio_dev;

int a350_vfio_open(unsigned number, const a350_card_slot *slot,
                   vfio_dev *dev);
void a350_vfio_close(vfio_dev *dev);
int a350_vfio_set_cq_vector(vfio_dev *dev, unsigned vector);

/* ---- card ---- */

struct a350_card {
    unsigned number;
    char bdf[16];
    int refs;                    /* under the driver's lock */
    pid_t pid;                   /* that opened it: a forked child has it not */
    vfio_dev vfio;
    uint64_t dev_base, hbm_size, hbm_usable;
    a350_identify_rsp id;
    a350_windows win;

    pthread_mutex_t admin_lock;
    pthread_cond_t admin_cond;   /* a slot is free, or a command is done */
    uint32_t admin_busy;         /* bit per slot */

    pthread_mutex_t heap_lock;
    a350_heap *heap;

    pthread_mutex_t ids_lock;
    uint64_t *notify_used, *notify_named; /* bitmaps */
    uint32_t notify_hint;
    uint32_t notify_live, jetty_live, segment_live, cnt_live;
    uint64_t cnt_used[A350_CNT_NOTIFY_MAX / 64];
    bool local_token_valid;
    uint32_t local_token;

    /* completions */
    pthread_mutex_t cq_lock;     /* reading the completion queue */
    pthread_mutex_t sq_lock;     /* sqs[] and its objects' life */
    a350_sq *sqs[A350_SQ_ID_MASK + 1];
    uint32_t sq_live;
    uint32_t cq_id;
    a350_cqe *cq;                /* host memory */
    size_t cq_bytes;
    uint32_t cq_head;
    uint32_t cq_wraps;
    pthread_t thread;
    bool thread_on;
    int stop_efd;
};

/* Starts and stops the completion queue and its thread (queue.c). */
int a350_cq_start(a350_card *c);
void a350_cq_stop(a350_card *c);

/* Registers; offsets are those of BAR2. */
static inline volatile uint32_t *a350_reg(a350_card *c, uint32_t off)
{
    return (volatile uint32_t *)(c->vfio.bar2.ptr + off);
}

uint64_t a350_now_ns(void);      /* CLOCK_MONOTONIC */
/* Condition variable on CLOCK_MONOTONIC. */
void a350_cond_init(pthread_cond_t *c);
/* Waits at most @ns more; the mutex is held. */
void a350_cond_wait_ns(pthread_cond_t *c, pthread_mutex_t *m, uint64_t ns);

#endif /* A350_CARD_PRIV_H */
