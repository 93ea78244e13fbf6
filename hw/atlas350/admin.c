/*
 * Atlas 350 virtual card: the admin queue (docs/specs/atlas350.rst).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Slots lie in BAR0. The doorbell sets a bit and schedules the card's
 * thread, which copies a slot once, executes it and writes the answer.
 */
#include "qemu/osdep.h"
#include "qemu/cutils.h"
#include "qemu/log.h"
#include "shell.h"
#include "fabric.h"
#include "ts/ts.h"
#include "trace.h"

/* ---- SYNC_SOC_RES: spec/hw/pci.md §3, windows of the scheduler ---- */

typedef struct SocWindow {
    const char *name;
    uint32_t offset, size;
} SocWindow;

static const SocWindow soc_window[] = {
    { "TS_STARS_RTSQ_SCHED_REG", A350_REG_RTSQ, A350_REG_RTSQ_SIZE },
    { "TS_STARS_CQINT_REG", A350_REG_CQINT, A350_REG_CQINT_SIZE },
    { "TS_STARS_NOTIFY_TBL_REG", A350_REG_NOTIFY, A350_REG_NOTIFY_SIZE },
    { "TS_STARS_CNT_NOTIFY_TBL_REG", A350_REG_CNT_NOTIFY,
      A350_REG_CNT_NOTIFY_SIZE },
};

enum { SOC_SCOPE_DEVICE = 0, SOC_SCOPE_TS = 1 };
enum { SOC_TYPE_MISC = 0, SOC_TYPE_KEY = 1, SOC_TYPE_REG = 2 };

static uint32_t soc_res_windows(uint8_t *out)
{
    a350_soc_res_reg reg;
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(soc_window); i++) {
        memset(&reg, 0, sizeof(reg));
        pstrcpy(reg.name, sizeof(reg.name), soc_window[i].name);
        reg.address = cpu_to_le64(soc_window[i].offset |
                                  (uint64_t)A350_BAR_REG <<
                                  A350_SOC_RES_BAR_SHIFT);
        reg.length = cpu_to_le64(soc_window[i].size);
        memcpy(out + i * sizeof(reg), &reg, sizeof(reg));
    }
    return ARRAY_SIZE(soc_window) * sizeof(reg);
}

static uint32_t soc_res_misc(uint8_t *out)
{
    /* vfg_num, vf_num, vfgid, vfid, ts_num */
    stl_le_p(out + 16, 1);
    return 20;
}

static uint32_t soc_res_key(uint8_t *out)
{
    pstrcpy((char *)out, A350_SOC_RES_NAME_LEN, "soc_die_num");
    stq_le_p(out + A350_SOC_RES_NAME_LEN, 1);
    return A350_SOC_RES_NAME_LEN + 8;
}

static uint32_t admin_soc_res(A350Card *c, a350_admin_slot *slot)
{
    a350_soc_res_req req;
    uint8_t *out = slot->data + 4;
    uint32_t len = 0;

    memcpy(&req, slot->data, sizeof(req));
    memset(slot->data, 0, sizeof(slot->data));
    if (req.id == 0 && req.scope == SOC_SCOPE_TS && req.type == SOC_TYPE_REG) {
        len = soc_res_windows(out);
    } else if (req.id == 0 && req.scope == SOC_SCOPE_DEVICE &&
               req.type == SOC_TYPE_MISC) {
        len = soc_res_misc(out);
    } else if (req.id == 0 && req.scope == SOC_SCOPE_DEVICE &&
               req.type == SOC_TYPE_KEY) {
        len = soc_res_key(out);
    }
    stl_le_p(slot->data, len);
    slot->data_len = 4 + len;
    return A350_ADM_OK;
}

/* ---- what the card is ---- */

static uint32_t admin_identify(A350Card *c, a350_admin_slot *slot)
{
    Atlas350State *s = a350_shell(c);
    a350_identify_rsp rsp = {
        .contract_version = A350_CONTRACT_VERSION,
        .card_index = c->index,
        .dev_base = c->dev_base,
        .hbm_size = c->hbm_size,
        .hbm_usable = c->hbm_usable,
        .num_sq = c->num_sq,
        .num_cq = c->num_sq,
        .num_notify = c->num_notify,
        .num_cnt_notify = c->num_cnt_notify,
        .num_jetty = A350_JETTY_MAX,
        .num_segment = A350_SEGMENT_MAX,
        .aicpu_cores = c->num_cores,
        .fabric_cards = a350_fabric_count(c->fabric),
        .mainboard_id = a350_mainboard_id(c),
        .max_msg = A350_UB_MAX_MSG,
        .fabric_id = ldq_be_p(c->eid),
    };

    memcpy(rsp.eid, c->eid, sizeof(rsp.eid));
    memcpy(rsp.uuid, s->uuid.data, sizeof(rsp.uuid));
    pstrcpy(rsp.soc_name, sizeof(rsp.soc_name), s->soc_name);
    a350_aicpu_fw_version(c, rsp.fw_version);
    memcpy(slot->data, &rsp, sizeof(rsp));
    slot->data_len = sizeof(rsp);
    return A350_ADM_OK;
}

static uint32_t admin_peers(A350Card *c, a350_admin_slot *slot)
{
    a350_peers_rsp rsp = { .next_index = A350_ID_NONE };
    a350_id_req req;
    a350_peer *p;
    A350Card *peer;
    uint32_t i;

    memcpy(&req, slot->data, sizeof(req));
    for (i = req.id; i < A350_CARDS_MAX; i++) {
        peer = a350_fabric_get(c->fabric, i);
        if (!peer) {
            continue;
        }
        if (rsp.count == ARRAY_SIZE(rsp.peer)) {
            rsp.next_index = i;
            a350_fabric_put(c->fabric, i);
            break;
        }
        p = &rsp.peer[rsp.count++];
        p->card_index = i;
        p->flags = peer == c;
        memcpy(p->eid, peer->eid, sizeof(p->eid));
        a350_fabric_put(c->fabric, i);
    }
    memcpy(slot->data, &rsp, sizeof(rsp));
    slot->data_len = sizeof(rsp);
    return A350_ADM_OK;
}

/* ---- queues, notifies, errors ---- */

static uint32_t slot_id(a350_admin_slot *slot)
{
    uint32_t id;

    memcpy(&id, slot->data, sizeof(id));
    slot->data_len = 0;
    return id;
}

/* Commands whose argument block is also the reply. */
#define ADMIN_INOUT(name, type, call)                                   \
    static uint32_t name(A350Card *c, a350_admin_slot *slot)            \
    {                                                                   \
        type arg;                                                       \
        uint32_t res;                                                   \
                                                                        \
        memcpy(&arg, slot->data, sizeof(arg));                          \
        res = call(c, &arg, slot->message);                             \
        memcpy(slot->data, &arg, sizeof(arg));                          \
        slot->data_len = sizeof(arg);                                   \
        return res;                                                     \
    }

ADMIN_INOUT(admin_cq_create, a350_cq_create, a350_ts_cq_create)
ADMIN_INOUT(admin_sq_create, a350_sq_create, a350_ts_sq_create)
ADMIN_INOUT(admin_sq_label, a350_sq_label, a350_ts_sq_label)
ADMIN_INOUT(admin_notify_label, a350_notify_label, a350_ts_notify_label)
ADMIN_INOUT(admin_notify_reset, a350_notify_reset, a350_ts_notify_reset)
ADMIN_INOUT(admin_jetty_create, a350_jetty_create, a350_ub_jetty_create)
ADMIN_INOUT(admin_seg_register, a350_seg_register, a350_ub_seg_register)

#define ADMIN_ID(name, call)                                            \
    static uint32_t name(A350Card *c, a350_admin_slot *slot)            \
    {                                                                   \
        return call(c, slot_id(slot), slot->message);                   \
    }

ADMIN_ID(admin_cq_destroy, a350_ts_cq_destroy)
ADMIN_ID(admin_sq_destroy, a350_ts_sq_destroy)
ADMIN_ID(admin_sq_reset, a350_ts_sq_reset)
ADMIN_ID(admin_jetty_destroy, a350_ub_jetty_destroy)
ADMIN_ID(admin_jetty_reset, a350_ub_jetty_reset)
ADMIN_ID(admin_seg_unregister, a350_ub_seg_unregister)

static uint32_t admin_sq_pause(A350Card *c, a350_admin_slot *slot)
{
    return a350_ts_sq_pause(c, slot_id(slot), true, slot->message);
}

static uint32_t admin_sq_resume(A350Card *c, a350_admin_slot *slot)
{
    return a350_ts_sq_pause(c, slot_id(slot), false, slot->message);
}

static uint32_t admin_sq_query(A350Card *c, a350_admin_slot *slot)
{
    a350_sq_query_rsp rsp = { 0 };
    uint32_t res = a350_ts_sq_query(c, slot_id(slot), &rsp, slot->message);

    memcpy(slot->data, &rsp, sizeof(rsp));
    slot->data_len = sizeof(rsp);
    return res;
}

static uint32_t admin_jetty_query(A350Card *c, a350_admin_slot *slot)
{
    a350_jetty_query_rsp rsp = { 0 };
    uint32_t res = a350_ub_jetty_query(c, slot_id(slot), &rsp, slot->message);

    memcpy(slot->data, &rsp, sizeof(rsp));
    slot->data_len = sizeof(rsp);
    return res;
}

static uint32_t admin_first_error(A350Card *c, a350_admin_slot *slot)
{
    a350_first_error rsp = { 0 };

    a350_ts_first_error(c, &rsp);
    memcpy(slot->data, &rsp, sizeof(rsp));
    slot->data_len = sizeof(rsp);
    return A350_ADM_OK;
}

static uint32_t admin_clear_error(A350Card *c, a350_admin_slot *slot)
{
    a350_ts_clear_error(c);
    slot->data_len = 0;
    return A350_ADM_OK;
}

static uint32_t admin_wait_list(A350Card *c, a350_admin_slot *slot)
{
    a350_wait_list_rsp rsp = { 0 };

    a350_ts_wait_list(c, slot_id(slot), &rsp);
    memcpy(slot->data, &rsp, sizeof(rsp));
    slot->data_len = sizeof(rsp);
    return A350_ADM_OK;
}

/* ---- dispatch ---- */

typedef struct AdminCommand {
    uint32_t opcode;
    uint32_t min_len;           /* bytes of arguments that must be there */
    uint32_t (*run)(A350Card *c, a350_admin_slot *slot);
} AdminCommand;

static const AdminCommand admin_command[] = {
    { A350_ADM_SYNC_SOC_RES, sizeof(a350_soc_res_req), admin_soc_res },
    { A350_ADM_IDENTIFY, 0, admin_identify },
    { A350_ADM_CQ_CREATE, sizeof(a350_cq_create), admin_cq_create },
    { A350_ADM_CQ_DESTROY, 4, admin_cq_destroy },
    { A350_ADM_SQ_CREATE, sizeof(a350_sq_create), admin_sq_create },
    { A350_ADM_SQ_DESTROY, 4, admin_sq_destroy },
    { A350_ADM_SQ_RESET, 4, admin_sq_reset },
    { A350_ADM_SQ_QUERY, 4, admin_sq_query },
    { A350_ADM_SQ_PAUSE, 4, admin_sq_pause },
    { A350_ADM_SQ_RESUME, 4, admin_sq_resume },
    { A350_ADM_SQ_LABEL, sizeof(a350_sq_label), admin_sq_label },
    { A350_ADM_NOTIFY_RESET, sizeof(a350_notify_reset), admin_notify_reset },
    { A350_ADM_NOTIFY_LABEL, sizeof(a350_notify_label), admin_notify_label },
    { A350_ADM_JETTY_CREATE, sizeof(a350_jetty_create), admin_jetty_create },
    { A350_ADM_JETTY_DESTROY, 4, admin_jetty_destroy },
    { A350_ADM_JETTY_RESET, 4, admin_jetty_reset },
    { A350_ADM_JETTY_QUERY, 4, admin_jetty_query },
    { A350_ADM_SEG_REGISTER, sizeof(a350_seg_register), admin_seg_register },
    { A350_ADM_SEG_UNREGISTER, 4, admin_seg_unregister },
    { A350_ADM_FIRST_ERROR, 0, admin_first_error },
    { A350_ADM_CLEAR_ERROR, 0, admin_clear_error },
    { A350_ADM_WAIT_LIST, 4, admin_wait_list },
    { A350_ADM_PEERS, 4, admin_peers },
};

static uint32_t admin_dispatch(A350Card *c, a350_admin_slot *slot)
{
    const AdminCommand *cmd = NULL;
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(admin_command); i++) {
        if (admin_command[i].opcode == slot->opcode) {
            cmd = &admin_command[i];
        }
    }
    memset(slot->message, 0, sizeof(slot->message));
    if (!cmd) {
        snprintf(slot->message, sizeof(slot->message),
                 "no admin command 0x%x", slot->opcode);
        return A350_ADM_E_OPCODE;
    }
    if (slot->data_len < cmd->min_len ||
        slot->data_len > A350_ADMIN_DATA_SIZE) {
        snprintf(slot->message, sizeof(slot->message),
                 "data_len %u of admin command 0x%x is not in %u..%u",
                 slot->data_len, slot->opcode, cmd->min_len,
                 A350_ADMIN_DATA_SIZE);
        return A350_ADM_E_LENGTH;
    }
    return cmd->run(c, slot);
}

/* A fail leaves the arguments as they were: the reply is the message. */
static void admin_execute(Atlas350State *s, uint32_t n)
{
    uint8_t *shm = memory_region_get_ram_ptr(&s->shm_ram);
    hwaddr offset = A350_SHM_ADMIN + n * A350_ADMIN_SLOT_SIZE;
    a350_admin_slot *mem = (a350_admin_slot *)(shm + offset);
    a350_admin_slot slot;

    /* The guest may change the slot meanwhile; this copy counts. */
    memcpy(&slot, mem, sizeof(slot));
    if (slot.status != A350_ADMIN_POSTED) {
        qemu_log_mask(LOG_GUEST_ERROR, "atlas350 %u: admin doorbell for slot "
                      "%u, which is not posted\n", s->card.index, n);
        return;
    }
    a350_ts_lock(&s->card);
    slot.result = admin_dispatch(&s->card, &slot);
    a350_ts_unlock(&s->card);
    trace_atlas350_admin(s->card.index, n, slot.opcode, slot.result,
                         slot.message);
    mem->result = slot.result;
    mem->data_len = slot.data_len;
    memcpy(mem->message, slot.message, sizeof(mem->message));
    if (slot.result == A350_ADM_OK) {
        memcpy(mem->data, slot.data, slot.data_len);
    }
    qatomic_store_release(&mem->status, slot.result == A350_ADM_OK ?
                          A350_ADMIN_DONE : A350_ADMIN_FAILED);
    memory_region_set_dirty(&s->shm_ram, offset, A350_ADMIN_SLOT_SIZE);
    qatomic_or(&s->admin.done, 1u << n);
    s->card.msix(&s->card, A350_MSIX_ADMIN);
}

static void admin_bh(void *opaque)
{
    Atlas350State *s = opaque;
    A350Admin *a = &s->admin;
    uint32_t posted;

    QEMU_LOCK_GUARD(&a->lock);
    if (a->paused) {
        return;
    }
    posted = qatomic_xchg(&a->posted, 0);
    while (posted) {
        admin_execute(s, ctz32(posted));
        posted &= posted - 1;
    }
}

void a350_admin_doorbell(Atlas350State *s, uint32_t slot)
{
    if (slot >= A350_ADMIN_SLOTS) {
        qemu_log_mask(LOG_GUEST_ERROR, "atlas350 %u: admin slot %u is not in "
                      "0..%u\n", s->card.index, slot, A350_ADMIN_SLOTS - 1);
        return;
    }
    qatomic_or(&s->admin.posted, 1u << slot);
    qemu_bh_schedule(s->admin.bh);
}

void a350_admin_pause(Atlas350State *s)
{
    QEMU_LOCK_GUARD(&s->admin.lock);
    s->admin.paused = true;
}

void a350_admin_resume(Atlas350State *s)
{
    WITH_QEMU_LOCK_GUARD(&s->admin.lock) {
        s->admin.paused = false;
    }
    qemu_bh_schedule(s->admin.bh);
}

void a350_admin_reset(Atlas350State *s)
{
    qatomic_set(&s->admin.posted, 0);
    qatomic_set(&s->admin.done, 0);
}

void a350_admin_init(Atlas350State *s)
{
    qemu_mutex_init(&s->admin.lock);
    s->admin.bh = aio_bh_new(s->card.ctx, admin_bh, s);
}

void a350_admin_destroy(Atlas350State *s)
{
    if (s->admin.bh) {
        qemu_bh_delete(s->admin.bh);
        s->admin.bh = NULL;
        qemu_mutex_destroy(&s->admin.lock);
    }
}
