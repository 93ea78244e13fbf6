/*
 * Cards without a PCI function, for tests and measurements of the data blocks
 * (memory, mover, UB, fabric) alone.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Notify registers are plain words; host memory is an array from IOVA 0.
 */
#ifndef UB_MOCK_H
#define UB_MOCK_H

#include "qemu/osdep.h"
#include "block/aio.h"
#include "exec/memattrs.h"
#include "qemu/atomic.h"
#include "qemu/queue.h"
#include "qemu/thread.h"
#include "fabric.h"

#define MOCK_HOST_SIZE  (16u << 20)
#define MOCK_NOTIFIES   64u

typedef struct MockCard {
    A350Card card;
    uint32_t notify[MOCK_NOTIFIES];
    uint8_t *host;
    QemuThread thread;
    bool quit;
    void (*on_notify)(struct MockCard *c, uint32_t id);
} MockCard;

A350Fabric *mock_fabric_new(void);
void mock_fabric_free(A350Fabric *f);
MockCard *mock_card_new(A350Fabric *f, uint32_t index, uint64_t hbm_size);
void mock_card_free(MockCard *m);

static inline uint64_t mock_notify_addr(MockCard *m, uint32_t id)
{
    return a350_notify_addr(m->card.dev_base, id);
}

#endif /* UB_MOCK_H */
