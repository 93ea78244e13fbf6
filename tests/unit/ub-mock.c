/*
 * Cards without a PCI function; see ub-mock.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "ub-mock.h"
#include "qapi/error.h"
#include "qemu/memalign.h"
#include "qemu/rcu.h"
#include "migration/vmstate.h"

/* The mover's VMState names these; nothing is saved here. */
const VMStateInfo vmstate_info_uint32, vmstate_info_uint64, vmstate_info_bool;

static bool notify_id(uint32_t offset, uint32_t *id)
{
    uint32_t n = offset - A350_REG_NOTIFY;

    for (*id = 0; *id < MOCK_NOTIFIES; (*id)++) {
        if (a350_notify_offset(*id) == n) {
            return true;
        }
    }
    return false;
}

bool a350_ts_reg_read(A350Card *c, uint32_t offset, unsigned size,
                      uint64_t *val)
{
    MockCard *m = container_of(c, MockCard, card);
    uint32_t id;

    if (!notify_id(offset, &id)) {
        return false;
    }
    *val = qatomic_load_acquire(&m->notify[id]);
    return true;
}

bool a350_ts_reg_write(A350Card *c, uint32_t offset, unsigned size,
                       uint64_t val)
{
    MockCard *m = container_of(c, MockCard, card);
    uint32_t id;

    if (!notify_id(offset, &id)) {
        return false;
    }
    qatomic_store_release(&m->notify[id], (uint32_t)val & 1);
    if (m->on_notify) {
        m->on_notify(m, id);
    }
    return true;
}

static MemTxResult mock_host_read(A350Card *c, uint64_t iova, void *buf,
                                  uint64_t len, bool bulk)
{
    MockCard *m = container_of(c, MockCard, card);

    if (iova > MOCK_HOST_SIZE || len > MOCK_HOST_SIZE - iova) {
        return MEMTX_DECODE_ERROR;
    }
    memcpy(buf, m->host + iova, len);
    return MEMTX_OK;
}

static MemTxResult mock_host_write(A350Card *c, uint64_t iova,
                                   const void *buf, uint64_t len,
                                   bool bulk)
{
    MockCard *m = container_of(c, MockCard, card);

    if (iova > MOCK_HOST_SIZE || len > MOCK_HOST_SIZE - iova) {
        return MEMTX_DECODE_ERROR;
    }
    memcpy(m->host + iova, buf, len);
    return MEMTX_OK;
}

A350Fabric *mock_fabric_new(void)
{
    A350Fabric *f = g_new0(A350Fabric, 1);

    f->ops = &a350_fabric_local_ops;
    f->slot = qemu_memalign(64, A350_CARDS_MAX * sizeof(*f->slot));
    memset(f->slot, 0, A350_CARDS_MAX * sizeof(*f->slot));
    return f;
}

void mock_fabric_free(A350Fabric *f)
{
    qemu_vfree(f->slot);
    g_free(f);
}

static void *mock_thread(void *opaque)
{
    MockCard *m = opaque;

    rcu_register_thread();
    qemu_set_current_aio_context(m->card.ctx);
    while (!qatomic_read(&m->quit)) {
        aio_poll(m->card.ctx, true);
    }
    rcu_unregister_thread();
    return NULL;
}

MockCard *mock_card_new(A350Fabric *f, uint32_t index, uint64_t hbm_size)
{
    MockCard *m = g_new0(MockCard, 1);
    A350Card *c = &m->card;

    c->index = index;
    c->dev_base = A350_DEV_BASE(index);
    c->hbm = qemu_memalign(4096, hbm_size);
    memset(c->hbm, 0, hbm_size);
    c->hbm_size = c->hbm_usable = hbm_size;
    a350_eid_make(c->eid, 0, index);
    c->ctx = aio_context_new(&error_abort);
    c->fabric = f;
    c->host_read = mock_host_read;
    c->host_write = mock_host_write;
    m->host = g_malloc0(MOCK_HOST_SIZE);
    a350_mover_init(c);
    a350_ub_init(c);
    qatomic_store_release(&f->slot[index].card, c);
    qemu_thread_create(&m->thread, "mock-card", mock_thread, m,
                       QEMU_THREAD_JOINABLE);
    return m;
}

/* As a350_fabric_leave and the card's unrealize do. */
void mock_card_free(MockCard *m)
{
    A350Card *c = &m->card;
    A350FabricSlot *s = &c->fabric->slot[c->index];

    qatomic_set(&s->card, NULL);
    smp_mb();
    while (qatomic_read(&s->users)) {
        g_usleep(10);
    }
    a350_fabric_drop_inbound(c);
    a350_ub_destroy(c);
    a350_mover_destroy(c);
    qatomic_set(&m->quit, true);
    aio_notify(c->ctx);
    qemu_thread_join(&m->thread);
    aio_context_unref(c->ctx);
    qemu_vfree(c->hbm);
    g_free(m->host);
    g_free(m);
}
