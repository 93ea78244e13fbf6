/*
 * HIXL: task queues of a card.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A card has far fewer queues than an engine may have links, so a link borrows
 * one while it has transfers under way (spec/api/hixl.md §6: the slots of a
 * transfer pool). Alone on its queue it can fail without harm to others. A few
 * queues are kept for the next transfer; the rest is there for streams.
 */
#include "hx.h"

#define SPARE 8

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct {
    unsigned engines, num;
    a350_sq *spare[SPARE];
} pools[A350_CARDS_MAX];             /* by number of the card */

void hx_queues_join(a350_card *card)
{
    pthread_mutex_lock(&mutex);
    pools[a350_card_number(card)].engines++;
    pthread_mutex_unlock(&mutex);
}

void hx_queues_leave(a350_card *card)
{
    unsigned i = a350_card_number(card);

    pthread_mutex_lock(&mutex);
    if (--pools[i].engines == 0) {
        while (pools[i].num) {
            a350_sq_destroy(pools[i].spare[--pools[i].num]);
        }
    }
    pthread_mutex_unlock(&mutex);
}

int hx_queue_take(a350_card *card, a350_sq **sq)
{
    unsigned i = a350_card_number(card);
    a350_sq_config cfg = { .depth = 65 };

    *sq = NULL;
    pthread_mutex_lock(&mutex);
    if (pools[i].num) {
        *sq = pools[i].spare[--pools[i].num];
    }
    pthread_mutex_unlock(&mutex);
    return *sq ? 0 : a350_sq_new(card, &cfg, sq);
}

void hx_queue_give(a350_sq *sq)
{
    unsigned i = a350_card_number(a350_sq_card(sq));

    pthread_mutex_lock(&mutex);
    if (pools[i].num < SPARE) {
        pools[i].spare[pools[i].num++] = sq;
        sq = NULL;
    }
    pthread_mutex_unlock(&mutex);
    if (sq) {
        a350_sq_destroy(sq);
    }
}
