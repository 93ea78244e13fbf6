/*
 * Atlas 350 virtual card: weak stand-ins for blocks that are not built in.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Each answers that there is nothing: no peer, no core, no data engine. A
 * block that is linked replaces its part.
 */
#include "qemu/osdep.h"
#include "qemu/cutils.h"
#include "qapi/error.h"
#include "migration/vmstate.h"
#include "card.h"
#include "ts/ts.h"

#define WEAK __attribute__((weak))

#define EMPTY_VMSTATE(sym, text)                        \
    WEAK const VMStateDescription sym = {               \
        .name = text,                                   \
        .version_id = 1,                                \
        .minimum_version_id = 1,                        \
        .fields = (const VMStateField[]) {              \
            VMSTATE_END_OF_LIST()                       \
        },                                              \
    }

EMPTY_VMSTATE(vmstate_a350_ts, "atlas350/ts");
EMPTY_VMSTATE(vmstate_a350_mover, "atlas350/mover");
EMPTY_VMSTATE(vmstate_a350_ub, "atlas350/ub");
EMPTY_VMSTATE(vmstate_a350_aicpu, "atlas350/aicpu");

/* memory */

WEAK void *a350_hbm_ptr(A350Card *c, uint64_t addr, uint64_t len)
{
    uint64_t offset = addr - c->dev_base;

    if (addr < c->dev_base || offset > c->hbm_size ||
        len > c->hbm_size - offset) {
        return NULL;
    }
    return c->hbm + offset;
}

WEAK bool a350_bus_read(A350Card *c, uint64_t addr, void *buf, uint64_t len)
{
    void *p = a350_hbm_ptr(c, addr, len);

    if (p) {
        memcpy(buf, p, len);
        return true;
    }
    return a350_addr_is_host(addr) &&
           c->host_read(c, addr, buf, len) == MEMTX_OK;
}

WEAK bool a350_bus_write(A350Card *c, uint64_t addr, const void *buf,
                         uint64_t len)
{
    void *p = a350_hbm_ptr(c, addr, len);

    if (p) {
        memcpy(p, buf, len);
        return true;
    }
    return a350_addr_is_host(addr) &&
           c->host_write(c, addr, buf, len) == MEMTX_OK;
}

WEAK bool a350_bus_valid(A350Card *c, uint64_t addr, uint64_t len)
{
    return a350_hbm_ptr(c, addr, len) || a350_addr_is_host(addr);
}

/* data mover */

WEAK void a350_mover_init(A350Card *c) { }
WEAK void a350_mover_destroy(A350Card *c) { }
WEAK void a350_mover_pause(A350Card *c) { }
WEAK void a350_mover_resume(A350Card *c) { }
WEAK void a350_mover_reset(A350Card *c) { }

WEAK bool a350_mover_cancel(A350Card *c, A350Move *m)
{
    return false;
}

WEAK void a350_mover_submit(A350Card *c, A350Move *m)
{
    void *d = a350_hbm_ptr(c, m->dst, m->len);
    void *s = a350_hbm_ptr(c, m->src, m->len);
    uint32_t status = A350_SDMA_ST_ADDR;

    m->error_addr = d ? m->src : m->dst;
    if (d && s && m->opcode == A350_SDMA_CPY) {
        memmove(d, s, m->len);
        status = 0;
    } else if (d && m->opcode == A350_SDMA_MEMSET) {
        memset(d, m->fill, m->len);
        status = 0;
    }
    m->done(m, status);
}

WEAK unsigned a350_sdma_elem_size(uint32_t opcode)
{
    return 0;
}

/* UB */

static const char no_ub[] = "this card has no UB engine";

WEAK void a350_ub_init(A350Card *c) { }
WEAK void a350_ub_destroy(A350Card *c) { }
WEAK void a350_ub_reset(A350Card *c) { }
WEAK void a350_ub_pause(A350Card *c) { }
WEAK void a350_ub_resume(A350Card *c) { }
WEAK void a350_ub_forget(A350Card *c, void *opaque) { }

WEAK bool a350_ub_doorbell(A350Card *c, uint32_t jetty, uint16_t pi,
                           A350UbDone *done, void *opaque,
                           const char **reason)
{
    *reason = no_ub;
    return false;
}

WEAK bool a350_ub_direct(A350Card *c, uint32_t jetty, const a350_wqe *wqe,
                         A350UbDone *done, void *opaque, const char **reason)
{
    *reason = no_ub;
    return false;
}

static uint32_t fallback_no_ub(char *msg)
{
    pstrcpy(msg, A350_ADMIN_MSG_SIZE, no_ub);
    return A350_ADM_E_STATE;
}

WEAK uint32_t a350_ub_jetty_create(A350Card *c, a350_jetty_create *arg,
                                   char *msg)
{
    return fallback_no_ub(msg);
}

WEAK uint32_t a350_ub_jetty_destroy(A350Card *c, uint32_t jetty, char *msg)
{
    return fallback_no_ub(msg);
}

WEAK uint32_t a350_ub_jetty_reset(A350Card *c, uint32_t jetty, char *msg)
{
    return fallback_no_ub(msg);
}

WEAK uint32_t a350_ub_jetty_query(A350Card *c, uint32_t jetty,
                                  a350_jetty_query_rsp *rsp, char *msg)
{
    return fallback_no_ub(msg);
}

WEAK uint32_t a350_ub_seg_register(A350Card *c, a350_seg_register *arg,
                                   char *msg)
{
    return fallback_no_ub(msg);
}

WEAK uint32_t a350_ub_seg_unregister(A350Card *c, uint32_t token_id, char *msg)
{
    return fallback_no_ub(msg);
}

/* AICPU */

WEAK bool a350_aicpu_init(A350Card *c, const char *firmware, Error **errp)
{
    if (*firmware) {
        error_setg(errp, "firmware=%s: this card has no cores", firmware);
        return false;
    }
    return true;
}

WEAK void a350_aicpu_destroy(A350Card *c) { }
WEAK void a350_aicpu_reset(A350Card *c) { }
WEAK void a350_aicpu_pause(A350Card *c) { }
WEAK void a350_aicpu_resume(A350Card *c) { }

WEAK void a350_aicpu_fw_version(A350Card *c, char version[64])
{
    memset(version, 0, 64);
}

WEAK uint32_t a350_aicpu_fw_status(A350Card *c)
{
    return A350_FW_OFF;
}

WEAK void a350_aicpu_submit(A350Card *c, const a350_topic_mbox *mbox,
                            uint64_t limit_ns) { }
WEAK void a350_aicpu_abort(A350Card *c, uint32_t sq, uint32_t task) { }

WEAK bool a350_aicpu_ready(A350Card *c)
{
    return false;
}

/* fabric */

WEAK bool a350_fabric_join(A350Card *c, Object *obj, Error **errp)
{
    c->index = 0;
    c->dev_base = A350_DEV_BASE(0);
    a350_eid_make(c->eid, 0, 0);
    return true;
}

WEAK void a350_fabric_leave(A350Card *c) { }

WEAK A350Card *a350_fabric_find(A350Fabric *f, const uint8_t eid[A350_EID_LEN])
{
    return NULL;
}

WEAK A350Card *a350_fabric_card(A350Fabric *f, uint32_t index)
{
    return NULL;
}

WEAK uint32_t a350_fabric_count(A350Fabric *f)
{
    return 1;
}

/* task scheduler */

WEAK void a350_ts_init(A350Card *c) { }
WEAK void a350_ts_destroy(A350Card *c) { }
WEAK void a350_ts_reset(A350Card *c) { }
WEAK void a350_ts_pause(A350Card *c) { }
WEAK void a350_ts_resume(A350Card *c) { }
WEAK void a350_ts_set_other_sqe(A350Card *c, bool noop) { }
WEAK bool a350_ts_reg_read(A350Card *c, uint32_t o, unsigned s, uint64_t *v) { return false; }
WEAK bool a350_ts_reg_write(A350Card *c, uint32_t o, unsigned s, uint64_t v) { return false; }
WEAK uint32_t a350_ts_cqint_read(A350Card *c, uint32_t o) { return 0; }
WEAK void a350_ts_cqint_write(A350Card *c, uint32_t o, uint32_t v) { }
WEAK void a350_ts_aicpu_done(A350Card *c, uint32_t sq, uint32_t task, uint16_t e, uint16_t s, const a350_exc_record *x) { }
WEAK uint32_t a350_ts_cq_create(A350Card *c, a350_cq_create *a, char *m) { return 9; }
WEAK uint32_t a350_ts_cq_destroy(A350Card *c, uint32_t i, char *m) { return 9; }
WEAK uint32_t a350_ts_sq_create(A350Card *c, a350_sq_create *a, char *m) { return 9; }
WEAK uint32_t a350_ts_sq_destroy(A350Card *c, uint32_t i, char *m) { return 9; }
WEAK uint32_t a350_ts_sq_reset(A350Card *c, uint32_t i, char *m) { return 9; }
WEAK uint32_t a350_ts_sq_query(A350Card *c, uint32_t i, a350_sq_query_rsp *r, char *m) { return 9; }
WEAK uint32_t a350_ts_sq_pause(A350Card *c, uint32_t i, bool p, char *m) { return 9; }
WEAK uint32_t a350_ts_sq_label(A350Card *c, const a350_sq_label *a, char *m) { return 9; }
WEAK uint32_t a350_ts_notify_reset(A350Card *c, const a350_notify_reset *a, char *m) { return 9; }
WEAK uint32_t a350_ts_notify_label(A350Card *c, const a350_notify_label *a, char *m) { return 9; }
WEAK void a350_ts_first_error(A350Card *c, a350_first_error *r) { }
WEAK void a350_ts_clear_error(A350Card *c) { }
WEAK void a350_ts_wait_list(A350Card *c, uint32_t f, a350_wait_list_rsp *r) { }
