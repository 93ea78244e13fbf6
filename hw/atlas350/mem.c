/*
 * Atlas 350 virtual card: memory as the card's masters see it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * An address alone says whose memory it is (regs.h). Nothing here takes a
 * lock; a card of the same fabric is kept from leaving while it is accessed.
 */
#include "qemu/osdep.h"
#include "block/aio.h"
#include "exec/memattrs.h"
#include "qemu/atomic.h"
#include "qemu/queue.h"
#include "fabric.h"
#include "mem.h"

void *a350_hbm_ptr(A350Card *c, uint64_t addr, uint64_t len)
{
    uint64_t offset = addr - c->dev_base;

    if (offset >= c->hbm_size || len > c->hbm_size - offset) {
        return NULL;
    }
    return c->hbm + offset;
}

/* What a peer's masters may reach of a card: its notifies, not its queues. */
static bool is_notify_reg(uint64_t offset)
{
    return offset - A350_REG_NOTIFY < A350_REG_NOTIFY_SIZE ||
           offset - A350_REG_CNT_NOTIFY < A350_REG_CNT_NOTIFY_SIZE;
}

static bool span_in_window(A350Card *owner, bool peer, uint64_t addr,
                           uint64_t len, A350Span *s)
{
    uint64_t reg = addr - owner->dev_base - A350_DEV_REG_OFFSET;

    s->card = owner;
    s->ptr = a350_hbm_ptr(owner, addr, len);
    if (s->ptr) {
        s->kind = A350_SPAN_MEM;
        return true;
    }
    if (reg < A350_BAR2_SIZE && (len == 4 || len == 8) && reg % len == 0 &&
        (!peer || is_notify_reg(reg))) {
        s->kind = A350_SPAN_REG;
        s->addr = reg;
        return true;
    }
    return false;
}

bool a350_span_open(A350Card *c, uint64_t addr, uint64_t len, A350Span *s)
{
    A350Card *peer;

    s->kind = A350_SPAN_NONE;
    s->held = s->bulk = false;
    if (a350_addr_is_host(addr)) {
        if (len > A350_DEV_FIRST - addr) {
            return false;
        }
        s->kind = A350_SPAN_HOST;
        s->card = c;
        s->addr = addr;
        return true;
    }
    if (addr - c->dev_base < A350_DEV_STRIDE) {
        return span_in_window(c, false, addr, len, s);
    }
    peer = c->fabric ? a350_fabric_get(c->fabric, a350_addr_card(addr)) : NULL;
    if (!peer) {
        return false;
    }
    if (!span_in_window(peer, true, addr, len, s)) {
        a350_fabric_put(c->fabric, peer->index);
        return false;
    }
    s->held = true;
    return true;
}

void a350_span_close(A350Card *c, A350Span *s)
{
    if (s->held) {
        a350_fabric_put(c->fabric, s->card->index);
        s->held = false;
    }
}

/*
 * Words that another thread may be waiting for are read and written whole;
 * what was written before them is visible by then.
 */
static void mem_read(void *buf, const uint8_t *p, uint64_t len)
{
    if (len == 4 && QEMU_PTR_IS_ALIGNED(p, 4)) {
        uint32_t v = qatomic_load_acquire((const uint32_t *)p);

        memcpy(buf, &v, sizeof(v));
    } else if (len == 8 && QEMU_PTR_IS_ALIGNED(p, 8)) {
        uint64_t v = qatomic_load_acquire((const uint64_t *)p);

        memcpy(buf, &v, sizeof(v));
    } else {
        memcpy(buf, p, len);
    }
}

static void mem_write(uint8_t *p, const void *buf, uint64_t len)
{
    if (len == 4 && QEMU_PTR_IS_ALIGNED(p, 4)) {
        qatomic_store_release((uint32_t *)p, ldl_he_p(buf));
    } else if (len == 8 && QEMU_PTR_IS_ALIGNED(p, 8)) {
        qatomic_store_release((uint64_t *)p, ldq_he_p(buf));
    } else {
        memcpy(p, buf, len);
    }
}

bool a350_span_read(A350Span *s, void *buf, uint64_t len)
{
    uint64_t val;

    switch (s->kind) {
    case A350_SPAN_MEM:
        mem_read(buf, s->ptr, len);
        return true;
    case A350_SPAN_HOST:
        return s->card->host_read(s->card, s->addr, buf, len, s->bulk) ==
               MEMTX_OK;
    case A350_SPAN_REG:
        if (!a350_ts_reg_read(s->card, s->addr, len, &val)) {
            return false;
        }
        val = cpu_to_le64(val);
        memcpy(buf, &val, len);
        return true;
    default:
        return false;
    }
}

bool a350_span_write(A350Span *s, const void *buf, uint64_t len)
{
    uint64_t val = 0;

    switch (s->kind) {
    case A350_SPAN_MEM:
        mem_write(s->ptr, buf, len);
        return true;
    case A350_SPAN_HOST:
        return s->card->host_write(s->card, s->addr, buf, len, s->bulk) ==
               MEMTX_OK;
    case A350_SPAN_REG:
        memcpy(&val, buf, len);
        /* Memory written so far is visible before a notify is. */
        smp_wmb();
        return a350_ts_reg_write(s->card, s->addr, len, le64_to_cpu(val));
    default:
        return false;
    }
}

bool a350_bus_read(A350Card *c, uint64_t addr, void *buf, uint64_t len)
{
    A350Span s;
    bool ok = a350_span_open(c, addr, len, &s);

    ok = ok && a350_span_read(&s, buf, len);
    a350_span_close(c, &s);
    return ok;
}

bool a350_bus_write(A350Card *c, uint64_t addr, const void *buf, uint64_t len)
{
    A350Span s;
    bool ok = a350_span_open(c, addr, len, &s);

    ok = ok && a350_span_write(&s, buf, len);
    a350_span_close(c, &s);
    return ok;
}

bool a350_bus_valid(A350Card *c, uint64_t addr, uint64_t len)
{
    A350Span s;
    bool ok = a350_span_open(c, addr, len, &s);

    a350_span_close(c, &s);
    return ok;
}
