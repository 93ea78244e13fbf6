/*
 * Atlas 350 virtual card: saved state of UB.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Saved while UB and the mover are paused. A request that the fabric has is
 * saved as its work queue entry and the bytes moved so far; it is checked and
 * submitted again after the load, and goes on where it was. Waiters are not
 * saved: whoever waits rings again. What is loaded is checked like the
 * guest's own commands.
 */
#include "qemu/osdep.h"
#include "block/aio.h"
#include "exec/memattrs.h"
#include "migration/vmstate.h"
#include "qemu/error-report.h"
#include "qemu/queue.h"
#include "ub-int.h"

static int jetty_pre_save(void *opaque)
{
    A350Jetty *j = opaque;

    if (j->exec == A350_EXEC_RUNNING) {
        j->req.start = a350_fabric_position(j->ub->card->fabric, &j->req);
    }
    j->saved_exec = j->exec == A350_EXEC_RUNNING ? A350_EXEC_SUBMIT : j->exec;
    j->saved_pi = j->pi;
    if (j->flags & A350_JETTY_F_DIRECT) {
        /* Entries come again with their tasks; the one in hand goes on. */
        j->saved_pi = j->ci + (j->exec == A350_EXEC_NONE ? 0 : j->blocks);
    }
    return 0;
}

/* The list's elements come from malloc as they are. */
static int jetty_pre_load(void *opaque)
{
    A350Jetty *j = opaque;

    /* Complete enough to be freed, should the stream end here. */
    memset(j, 0, sizeof(*j));
    j->local_pin = -1;
    QTAILQ_INIT(&j->waiters);
    return 0;
}

const VMStateDescription vmstate_a350_jetty = {
    .name = "atlas350/ub/jetty",
    .version_id = 1,
    .minimum_version_id = 1,
    .pre_load = jetty_pre_load,
    .pre_save = jetty_pre_save,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(id, A350Jetty),
        VMSTATE_UINT32(depth, A350Jetty),
        VMSTATE_UINT32(flags, A350Jetty),
        VMSTATE_UINT32(err_timeout, A350Jetty),
        VMSTATE_UINT32(rank, A350Jetty),
        VMSTATE_UINT32(peer_rank, A350Jetty),
        VMSTATE_UINT64(base, A350Jetty),
        VMSTATE_UINT64(ci_addr, A350Jetty),
        VMSTATE_UINT32(state, A350Jetty),
        VMSTATE_UINT8(status, A350Jetty),
        VMSTATE_UINT8(sub_status, A350Jetty),
        VMSTATE_UINT64(saved_pi, A350Jetty),
        VMSTATE_UINT64(ci, A350Jetty),
        VMSTATE_UINT32(saved_exec, A350Jetty),
        VMSTATE_UINT32_ARRAY(wqe.w, A350Jetty, 32),
        VMSTATE_UINT32(blocks, A350Jetty),
        VMSTATE_UINT64(req.start, A350Jetty),
        VMSTATE_UINT8(req.status, A350Jetty),
        VMSTATE_UINT8(req.sub_status, A350Jetty),
        VMSTATE_UINT64(req.error_addr, A350Jetty),
        VMSTATE_UINT64(req.error_len, A350Jetty),
        VMSTATE_UINT32(req.peer, A350Jetty),
        VMSTATE_END_OF_LIST()
    }
};

static const VMStateDescription vmstate_segment = {
    .name = "atlas350/ub/segment",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(token_id, A350Segment),
        VMSTATE_UINT32(token_value, A350Segment),
        VMSTATE_UINT32(access, A350Segment),
        VMSTATE_UINT64(base, A350Segment),
        VMSTATE_UINT64(length, A350Segment),
        VMSTATE_END_OF_LIST()
    }
};

static int ub_pre_save(void *opaque)
{
    A350Ub *ub = opaque;
    uint32_t i;

    ub->num_saved = 0;
    ub->saved = g_new0(A350Segment, ub->seg_count);
    for (i = 0; i < A350_SEGMENT_MAX &&
                (uint32_t)ub->num_saved < ub->seg_count; i++) {
        if (ub->seg[i].valid) {
            ub->saved[ub->num_saved++] = ub->seg[i];
        }
    }
    return 0;
}

static int ub_post_save(void *opaque)
{
    A350Ub *ub = opaque;

    g_clear_pointer(&ub->saved, g_free);
    return 0;
}

/* What is there already goes: a load comes over a card that was reset. */
static int ub_pre_load(void *opaque)
{
    A350Ub *ub = opaque;

    a350_ub_reset(ub->card);
    ub->saved = NULL;
    ub->num_saved = 0;
    ub->gens = NULL;
    ub->num_gens = 0;
    return 0;
}

static bool jetty_restore(A350Ub *ub, A350Jetty *j)
{
    if (j->id >= A350_JETTY_MAX || ub->jetty[j->id] ||
        a350_ub_jetty_map(ub, j) || j->state < A350_JETTY_READY ||
        j->state > A350_JETTY_SUSPEND || j->saved_pi < j->ci ||
        j->saved_pi - j->ci > j->depth || j->saved_exec > A350_EXEC_DONE ||
        j->saved_exec == A350_EXEC_RUNNING || j->blocks > 2) {
        return false;
    }
    j->pi = j->saved_pi;
    j->exec = j->saved_exec;
    if (j->exec != A350_EXEC_NONE &&
        (j->blocks == 0 || j->blocks > j->pi - j->ci)) {
        return false;
    }
    if (j->flags & A350_JETTY_F_DIRECT) {
        /* No ring to take more from. */
        if (j->pi - j->ci != (j->exec == A350_EXEC_NONE ? 0 : j->blocks)) {
            return false;
        }
        j->resumable = j->exec != A350_EXEC_NONE;
    }
    if (j->exec == A350_EXEC_DONE && j->req.status) {
        j->req.reason = "refused before the state of the card was saved";
    }
    ub->jetty[j->id] = j;
    return true;
}

static int ub_post_load(void *opaque, int version_id)
{
    A350Ub *ub = opaque;
    bool ok = true;
    A350Jetty *j;
    int32_t i;

    /* All of them, for they are freed one way or the other. */
    QTAILQ_FOREACH(j, &ub->all, all) {
        a350_ub_jetty_init(ub, j);
    }
    QTAILQ_FOREACH(j, &ub->all, all) {
        ok = ok && jetty_restore(ub, j);
    }
    for (i = 0; i < ub->num_saved && ok; i++) {
        ok = a350_seg_restore(ub, &ub->saved[i]);
    }
    g_clear_pointer(&ub->saved, g_free);
    if (ub->gens) {
        a350_seg_set_gens(ub, ub->gens, ub->num_gens, ub->saved_hint);
        g_clear_pointer(&ub->gens, g_free);
    }
    if (!ok) {
        a350_ub_reset(ub->card);
        error_report("atlas350: the saved jetties and segments of card %u are "
                     "not legal ones", ub->card->index);
        return -EINVAL;
    }
    return 0;
}

/* Before that many are allocated. */
static bool ub_saved_count_ok(void *opaque, int version_id)
{
    A350Ub *ub = opaque;

    return ub->num_saved >= 0 && ub->num_saved <= (int32_t)A350_SEGMENT_MAX;
}

/* ---- generations of indices that were used ---- */

static bool gens_needed(void *opaque)
{
    A350Ub *ub = opaque;
    uint32_t i;

    for (i = 0; i < A350_SEGMENT_MAX; i++) {
        if (ub->seg[i].token_id) {
            return true;
        }
    }
    return false;
}

static int gens_pre_save(void *opaque)
{
    A350Ub *ub = opaque;

    ub->gens = a350_seg_get_gens(ub, &ub->num_gens);
    ub->saved_hint = ub->seg_hint;
    return 0;
}

static int gens_post_save(void *opaque)
{
    A350Ub *ub = opaque;

    g_clear_pointer(&ub->gens, g_free);
    return 0;
}

static bool gens_count_ok(void *opaque, int version_id)
{
    A350Ub *ub = opaque;

    return ub->num_gens <= A350_SEGMENT_MAX;
}

static const VMStateDescription vmstate_gens = {
    .name = "atlas350/ub/state/generations",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = gens_needed,
    .pre_save = gens_pre_save,
    .post_save = gens_post_save,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(saved_hint, A350Ub),
        VMSTATE_UINT32(num_gens, A350Ub),
        VMSTATE_VALIDATE("number of generations", gens_count_ok),
        VMSTATE_VBUFFER_ALLOC_UINT32(gens, A350Ub, 1, NULL, num_gens),
        VMSTATE_END_OF_LIST()
    }
};

static const VMStateDescription vmstate_ub = {
    .name = "atlas350/ub/state",
    .version_id = 1,
    .minimum_version_id = 1,
    .pre_save = ub_pre_save,
    .post_save = ub_post_save,
    .pre_load = ub_pre_load,
    .post_load = ub_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_QTAILQ_V(all, A350Ub, 1, vmstate_a350_jetty, A350Jetty, all),
        VMSTATE_INT32(num_saved, A350Ub),
        VMSTATE_VALIDATE("number of segments", ub_saved_count_ok),
        VMSTATE_STRUCT_VARRAY_ALLOC(saved, A350Ub, num_saved, 1,
                                    vmstate_segment, A350Segment),
        VMSTATE_UINT32(inject_jetty, A350Ub),
        VMSTATE_UINT32(inject_count, A350Ub),
        VMSTATE_UINT8(inject_status, A350Ub),
        VMSTATE_END_OF_LIST()
    },
    .subsections = (const VMStateDescription * const []) {
        &vmstate_gens,
        NULL
    }
};

const VMStateDescription vmstate_a350_ub = {
    .name = "atlas350/ub",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_STRUCT_POINTER(ub, A350Card, vmstate_ub, A350Ub),
        VMSTATE_END_OF_LIST()
    }
};
