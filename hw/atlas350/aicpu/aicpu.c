/*
 * The card's AICPU block: the core cluster between task scheduler, log,
 * clock and registers of the card.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "qemu/timer.h"
#include "qemu/error-report.h"
#include "qapi/error.h"
#include "block/aio-wait.h"
#include "migration/vmstate.h"
#include "hw/atlas350/card.h"
#include "aicpu-int.h"

/* ---- what the cluster asks for ---- */

static int64_t aicpu_clock(void *opaque)
{
    return a350_clock_ns();
}

static void aicpu_arm_timer(void *opaque, int64_t ns)
{
    A350Aicpu *a = opaque;

    if (ns == A350_NEVER) {
        timer_del(a->timer);
    } else {
        timer_mod_ns(a->timer, ns);
    }
}

static void aicpu_timer(void *opaque)
{
    A350Aicpu *a = opaque;

    a350_cluster_timer(a->cl);
}

static void aicpu_log(void *opaque, int level, const char *line)
{
    static const char *const name[] = { "debug: ", "", "warning: ", "error: " };
    A350Aicpu *a = opaque;

    a350_log(a->card, "%s%s", name[level & 3], line);
}

static void aicpu_done(void *opaque, const a350_topic_mbox *mbox,
                       uint16_t errcode, uint16_t status,
                       const a350_exc_record *exc)
{
    A350Aicpu *a = opaque;

    a350_ts_aicpu_done(a->card, mbox->tq_id,
                       mbox->stream_id | (uint32_t)mbox->task_id << 16,
                       errcode, status, exc);
}

static void aicpu_fw_status(void *opaque, uint32_t status, const char *message)
{
    A350Aicpu *a = opaque;
    A350Card *c = a->card;
    int64_t us = a350_clock_ns() / SCALE_US;

    if (status >= A350_FW_FAILED) {
        c->set_status(c, A350_STATUS_FW_FAILED, A350_STATUS_FW_RUNNING);
        a350_log(c, "card %u: AICPU firmware failed (status 0x%x): %s",
                 c->index, status, message);
    } else if (status == A350_FW_READY) {
        c->set_status(c, A350_STATUS_FW_RUNNING, A350_STATUS_FW_FAILED);
        a350_log(c, "[%" PRId64 ".%06" PRId64 "] card %u: AICPU firmware %s "
                 "ready, %u cores", us / 1000000, us % 1000000, c->index,
                 a350_firmware_version(a->cl->fw), a->cl->num_cores);
    } else {
        c->set_status(c, 0, A350_STATUS_FW_RUNNING | A350_STATUS_FW_FAILED);
    }
}

static bool aicpu_reg_read(void *opaque, uint32_t off, unsigned size,
                           uint64_t *val)
{
    A350Aicpu *a = opaque;

    return a350_ts_reg_read(a->card, off, size, val);
}

static bool aicpu_reg_write(void *opaque, uint32_t off, unsigned size,
                            uint64_t val)
{
    A350Aicpu *a = opaque;

    return a350_ts_reg_write(a->card, off, size, val);
}

static const A350ClusterOps aicpu_ops = {
    .clock = aicpu_clock,
    .arm_timer = aicpu_arm_timer,
    .log = aicpu_log,
    .done = aicpu_done,
    .fw_status = aicpu_fw_status,
    .reg_read = aicpu_reg_read,
    .reg_write = aicpu_reg_write,
};

/* ---- life ---- */

bool a350_aicpu_init(A350Card *c, const char *firmware, Error **errp)
{
    A350ClusterConfig cfg = {
        .num_cores = c->num_cores, .card_index = c->index,
        .dev_base = c->dev_base, .hbm = c->hbm, .hbm_size = c->hbm_size,
    };
    A350Aicpu *a;

    if (*firmware) {
        cfg.fw = a350_firmware_open(firmware, errp);
        if (!cfg.fw) {
            return false;
        }
    }
    a = g_new0(A350Aicpu, 1);
    a->card = c;
    a->held = true;
    a->timer = aio_timer_new(c->ctx, QEMU_CLOCK_VIRTUAL, SCALE_NS,
                             aicpu_timer, a);
    c->aicpu = a;
    a->cl = a350_cluster_new(&cfg, &aicpu_ops, a);
    return true;
}

static void aicpu_free_timer(void *opaque)
{
    A350Aicpu *a = opaque;

    timer_free(a->timer);
    a->timer = NULL;
}

void a350_aicpu_destroy(A350Card *c)
{
    A350Aicpu *a = c->aicpu;

    a350_aicpu_gdb_destroy(a);
    c->aicpu = NULL;
    a350_cluster_stop(a->cl);
    /* In the thread it fires in, so that it is not firing. */
    aio_wait_bh_oneshot(c->ctx, aicpu_free_timer, a);
    a350_cluster_free(a->cl);
    g_free(a);
}

void a350_aicpu_reset(A350Card *c)
{
    c->aicpu->was_reset = true;
    a350_cluster_reset(c->aicpu->cl);
}

void a350_aicpu_pause(A350Card *c)
{
    a350_cluster_pause(c->aicpu->cl);
}

void a350_aicpu_resume(A350Card *c)
{
    A350Aicpu *a = c->aicpu;

    if (a->held && a->was_reset) {
        /* The first start: the cluster was made paused. */
        a->held = false;
        a350_cluster_resume(a->cl);
    }
    a350_cluster_resume(a->cl);
}

void a350_aicpu_fw_version(A350Card *c, char version[64])
{
    memset(version, 0, 64);
    if (c->aicpu->cl->fw) {
        g_strlcpy(version, a350_firmware_version(c->aicpu->cl->fw), 64);
    }
}

uint32_t a350_aicpu_fw_status(A350Card *c)
{
    return c->aicpu ? qatomic_read(&c->aicpu->cl->fw_status) : A350_FW_OFF;
}

void a350_aicpu_submit(A350Card *c, const a350_topic_mbox *mbox,
                       uint64_t limit_ns)
{
    a350_cluster_submit(c->aicpu->cl, mbox, limit_ns);
}

void a350_aicpu_abort(A350Card *c, uint32_t sq, uint32_t task)
{
    a350_cluster_abort(c->aicpu->cl, sq, task);
}

bool a350_aicpu_ready(A350Card *c)
{
    return a350_aicpu_fw_status(c) == A350_FW_READY;
}
