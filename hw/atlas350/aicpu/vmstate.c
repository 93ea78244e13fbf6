/*
 * The card's AICPU block: migration and snapshots.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The cores stand still between two instructions when this runs, so their
 * registers, the SRAM and the mailbox are all there is; HBM is the card's.
 * The firmware's archive is not sent: both sides must run the same image.
 */
#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "migration/vmstate.h"
#include "hw/atlas350/card.h"
#include "aicpu-int.h"

static void save_core(A350SavedCore *s, A350ClusterCore *cc)
{
    a350_core_get_state(cc->core, &s->st);
    s->wfi = cc->wfi;
    s->locked_up = cc->locked_up;
    s->valid = cc->valid;
    s->running = cc->running;
    s->forgotten = cc->forgotten;
    s->abort_line = cc->abort_line;
    s->ipi = cc->ipi;
    s->interrupted = cc->interrupted;
    s->timer_armed = cc->timer_armed;
    s->have_exc = cc->have_exc;
    memcpy(s->mbox, &cc->mbox, sizeof(s->mbox));
    memcpy(s->exc, &cc->exc, sizeof(s->exc));
    s->limit_ns = cc->limit_ns;
    s->timecmp = cc->timecmp;
    s->log_addr = cc->log_addr;
    s->log_level = cc->log_level;
    s->deadline = cc->deadline;
    s->abort = cc->abort;
    s->line_len = cc->line_len;
    s->line_level = cc->line_level;
    memcpy(s->kernel, cc->kernel, sizeof(s->kernel));
    memcpy(s->line, cc->line, sizeof(s->line));
}

static bool load_core(const A350SavedCore *s, A350ClusterCore *cc)
{
    if (s->line_len > sizeof(cc->line) || s->line_level > A350_LOG_ERROR ||
        s->log_level > A350_LOG_ERROR || s->abort > A350_ABORT_QUEUE ||
        (s->valid && s->running) || !a350_core_set_state(cc->core, &s->st)) {
        return false;
    }
    cc->wfi = s->wfi;
    cc->locked_up = s->locked_up;
    cc->valid = s->valid;
    cc->running = s->running;
    cc->forgotten = s->forgotten;
    cc->abort_line = s->abort_line;
    cc->ipi = s->ipi;
    cc->interrupted = s->interrupted;
    cc->timer_armed = s->timer_armed;
    cc->have_exc = s->have_exc;
    memcpy(&cc->mbox, s->mbox, sizeof(cc->mbox));
    memcpy(&cc->exc, s->exc, sizeof(cc->exc));
    cc->exc.frames = MIN(cc->exc.frames, A350_EXC_FRAMES);
    cc->limit_ns = s->limit_ns;
    cc->timecmp = s->timecmp;
    cc->log_addr = s->log_addr;
    cc->log_level = s->log_level;
    cc->deadline = s->deadline;
    cc->abort = s->abort;
    cc->line_len = s->line_len;
    cc->line_level = s->line_level;
    memcpy(cc->kernel, s->kernel, sizeof(cc->kernel));
    cc->kernel[sizeof(cc->kernel) - 1] = '\0';
    memcpy(cc->line, s->line, sizeof(cc->line));
    return true;
}

static void get_fw(A350Aicpu *a, uint8_t version[64], uint64_t *rom_size)
{
    memset(version, 0, 64);
    *rom_size = 0;
    if (a->cl->fw) {
        g_strlcpy((char *)version, a350_firmware_version(a->cl->fw), 64);
        a350_firmware_rom(a->cl->fw, rom_size);
    }
}

static int aicpu_pre_save(void *opaque)
{
    A350Aicpu *a = opaque;
    A350Cluster *cl = a->cl;
    A350Launch *l;
    unsigned i;

    qemu_mutex_lock(&cl->lock);
    a->num_saved = cl->num_cores;
    for (i = 0; i < cl->num_cores; i++) {
        save_core(&a->saved[i], &cl->core[i]);
    }
    a->queued = 0;
    a->queue = g_new(A350SavedLaunch, cl->queued);
    QTAILQ_FOREACH(l, &cl->queue, next) {
        memcpy(a->queue[a->queued].mbox, &l->mbox, sizeof(l->mbox));
        a->queue[a->queued++].limit_ns = l->limit_ns;
    }
    a->fw_status = cl->fw_status;
    memcpy(a->fw_error, cl->fw_error, sizeof(a->fw_error));
    get_fw(a, a->fw_version, &a->rom_size);
    a->r_debug = cl->r_debug;
    a->sram = cl->sram;
    qemu_mutex_unlock(&cl->lock);
    return 0;
}

static int aicpu_post_save(void *opaque)
{
    A350Aicpu *a = opaque;

    g_clear_pointer(&a->queue, g_free);
    return 0;
}

static int aicpu_pre_load(void *opaque)
{
    A350Aicpu *a = opaque;

    a->queue = NULL;
    a->sram = a->cl->sram;
    return 0;
}

static bool check_fw(A350Aicpu *a)
{
    uint8_t version[64];
    uint64_t rom_size;

    get_fw(a, version, &rom_size);
    a->fw_version[63] = '\0';
    if (memcmp(version, a->fw_version, 64) || rom_size != a->rom_size) {
        error_report("atlas350: card %u runs AICPU firmware '%s' (archive "
                     "0x%" PRIx64 " bytes), the snapshot was made with '%s' "
                     "(0x%" PRIx64 ")", a->card->index, version, rom_size,
                     a->fw_version, a->rom_size);
        return false;
    }
    return true;
}

static int aicpu_post_load(void *opaque, int version_id)
{
    A350Aicpu *a = opaque;
    A350Cluster *cl = a->cl;
    g_autofree A350SavedLaunch *queue = g_steal_pointer(&a->queue);
    int i;

    if (!check_fw(a) || a->num_saved != cl->num_cores) {
        return -EINVAL;
    }
    a->was_reset = true;
    a350_cluster_drop_queue(cl);
    for (i = 0; i < cl->num_cores; i++) {
        if (!load_core(&a->saved[i], &cl->core[i])) {
            error_report("atlas350: card %u: impossible state of AICPU core "
                         "%u in the snapshot", a->card->index, i);
            return -EINVAL;
        }
    }
    for (i = 0; i < a->queued; i++) {
        a350_topic_mbox m;

        memcpy(&m, queue[i].mbox, sizeof(m));
        a350_cluster_submit(cl, &m, queue[i].limit_ns);
    }
    cl->fw_status = a->fw_status;
    cl->r_debug = a->r_debug;
    memcpy(cl->fw_error, a->fw_error, sizeof(cl->fw_error));
    cl->fw_error[sizeof(cl->fw_error) - 1] = '\0';
    a350_cluster_restored(cl);
    return 0;
}

static bool queue_fits(void *opaque, int version_id)
{
    A350Aicpu *a = opaque;

    return a->queued >= 0 && a->queued <= (int32_t)A350_SAVED_LAUNCHES;
}

static const VMStateDescription vmstate_launch = {
    .name = "atlas350/aicpu/launch",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_BUFFER(mbox, A350SavedLaunch),
        VMSTATE_UINT64(limit_ns, A350SavedLaunch),
        VMSTATE_END_OF_LIST()
    },
};

static const VMStateDescription vmstate_core = {
    .name = "atlas350/aicpu/core",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT64(st.pc, A350SavedCore),
        VMSTATE_UINT64_ARRAY(st.x, A350SavedCore, 32),
        VMSTATE_UINT64_ARRAY(st.f, A350SavedCore, 32),
        VMSTATE_UINT32(st.fcsr, A350SavedCore),
        VMSTATE_UINT32(st.priv, A350SavedCore),
        VMSTATE_UINT64(st.mstatus, A350SavedCore),
        VMSTATE_UINT64(st.mtvec, A350SavedCore),
        VMSTATE_UINT64(st.mscratch, A350SavedCore),
        VMSTATE_UINT64(st.mepc, A350SavedCore),
        VMSTATE_UINT64(st.mcause, A350SavedCore),
        VMSTATE_UINT64(st.mtval, A350SavedCore),
        VMSTATE_UINT64(st.mie, A350SavedCore),
        VMSTATE_UINT64(st.mip, A350SavedCore),
        VMSTATE_UINT64(st.mcounteren, A350SavedCore),
        VMSTATE_UINT64(st.instret, A350SavedCore),
        VMSTATE_UINT64(st.cycle, A350SavedCore),
        VMSTATE_UINT64(st.res_addr, A350SavedCore),
        VMSTATE_UINT64(st.res_val, A350SavedCore),
        VMSTATE_UINT64_ARRAY(st.pmpaddr, A350SavedCore, A350_PMP_ENTRIES),
        VMSTATE_UINT8_ARRAY(st.pmpcfg, A350SavedCore, A350_PMP_ENTRIES),
        VMSTATE_BOOL(wfi, A350SavedCore),
        VMSTATE_BOOL(locked_up, A350SavedCore),
        VMSTATE_BOOL(valid, A350SavedCore),
        VMSTATE_BOOL(running, A350SavedCore),
        VMSTATE_BOOL(forgotten, A350SavedCore),
        VMSTATE_BOOL(abort_line, A350SavedCore),
        VMSTATE_BOOL(ipi, A350SavedCore),
        VMSTATE_BOOL(interrupted, A350SavedCore),
        VMSTATE_BOOL(timer_armed, A350SavedCore),
        VMSTATE_BOOL(have_exc, A350SavedCore),
        VMSTATE_BUFFER(mbox, A350SavedCore),
        VMSTATE_BUFFER(exc, A350SavedCore),
        VMSTATE_UINT64(limit_ns, A350SavedCore),
        VMSTATE_UINT64(timecmp, A350SavedCore),
        VMSTATE_UINT64(log_addr, A350SavedCore),
        VMSTATE_UINT64(log_level, A350SavedCore),
        VMSTATE_INT64(deadline, A350SavedCore),
        VMSTATE_UINT32(abort, A350SavedCore),
        VMSTATE_UINT32(line_len, A350SavedCore),
        VMSTATE_UINT32(line_level, A350SavedCore),
        VMSTATE_BUFFER(kernel, A350SavedCore),
        VMSTATE_BUFFER(line, A350SavedCore),
        VMSTATE_END_OF_LIST()
    },
};

static const VMStateDescription vmstate_cluster = {
    .name = "atlas350/aicpu/cluster",
    .version_id = 1,
    .minimum_version_id = 1,
    .pre_save = aicpu_pre_save,
    .post_save = aicpu_post_save,
    .pre_load = aicpu_pre_load,
    .post_load = aicpu_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_BUFFER(fw_version, A350Aicpu),
        VMSTATE_UINT64(rom_size, A350Aicpu),
        VMSTATE_UINT32(num_saved, A350Aicpu),
        VMSTATE_STRUCT_ARRAY(saved, A350Aicpu, A350_AICPU_CORES_MAX, 1,
                             vmstate_core, A350SavedCore),
        VMSTATE_INT32(queued, A350Aicpu),
        VMSTATE_VALIDATE("AICPU launches fit", queue_fits),
        VMSTATE_STRUCT_VARRAY_ALLOC(queue, A350Aicpu, queued, 1,
                                    vmstate_launch, A350SavedLaunch),
        VMSTATE_UINT32(fw_status, A350Aicpu),
        VMSTATE_BUFFER(fw_error, A350Aicpu),
        VMSTATE_UINT64(r_debug, A350Aicpu),
        VMSTATE_BUFFER_POINTER_UNSAFE(sram, A350Aicpu, 1,
                                      A350_AICPU_SRAM_SIZE),
        VMSTATE_END_OF_LIST()
    },
};

const VMStateDescription vmstate_a350_aicpu = {
    .name = "atlas350/aicpu",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_STRUCT_POINTER(aicpu, A350Card, vmstate_cluster, A350Aicpu),
        VMSTATE_END_OF_LIST()
    },
};
