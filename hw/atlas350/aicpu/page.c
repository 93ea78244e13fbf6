/*
 * The MMIO page of an AICPU core (include/hw/atlas350/aicpu.h).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Runs on the core's thread; takes the cluster's lock for what others see.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/guest-random.h"
#include "qapi/error.h"
#include "cluster.h"

#define LOG_TEXT_MAX    65536

/* ---- log ---- */

static int64_t now_ns(A350Cluster *cl)
{
    return cl->ops->clock(cl->opaque);
}

/* What every line of the log begins with. */
static GString *new_line(A350ClusterCore *cc, const char *who)
{
    int64_t now = now_ns(cc->cluster);
    GString *s = g_string_new(NULL);

    g_string_printf(s, "[%" PRId64 ".%06" PRId64 "] card %u core %u %s: ",
                    now / 1000000000, now / 1000 % 1000000,
                    cc->cluster->card_index, cc->index, who);
    return s;
}

static void end_line(A350ClusterCore *cc, int level, GString *s)
{
    cc->cluster->ops->log(cc->cluster->opaque, level, s->str);
    g_string_free(s, true);
}

void a350_page_flush_line(A350ClusterCore *cc)
{
    GString *s;

    if (!cc->line_len) {
        return;
    }
    s = new_line(cc, cc->kernel[0] ? cc->kernel : "firmware");
    g_string_append_len(s, cc->line, cc->line_len);
    cc->line_len = 0;
    end_line(cc, cc->line_level, s);
}

static void put_char(A350ClusterCore *cc, char ch)
{
    if (ch == '\n') {
        a350_page_flush_line(cc);
        return;
    }
    if (cc->line_len == sizeof(cc->line)) {
        a350_page_flush_line(cc);
    }
    /* Control characters would let a kernel forge lines. */
    cc->line[cc->line_len++] = ch == '\t' || (unsigned char)ch >= ' ' ? ch
                                                                      : '?';
}

static void emit_log(A350ClusterCore *cc, uint64_t len)
{
    const char *p = a350_core_mem(cc->core, cc->log_addr, len);
    uint64_t i;

    cc->line_level = cc->log_level;
    if (len > LOG_TEXT_MAX || !p) {
        return;
    }
    for (i = 0; i < len; i++) {
        put_char(cc, p[i]);
    }
    cc->log_level = A350_LOG_INFO;
}

/* Copies a NUL-ended string at @addr; false if there is none. */
static bool get_string(A350ClusterCore *cc, uint64_t addr, char *buf,
                       size_t size)
{
    size_t i;

    for (i = 0; i + 1 < size; i++) {
        const char *p = a350_core_mem(cc->core, addr + i, 1);

        if (!p) {
            return false;
        }
        buf[i] = *p;
        if (!*p) {
            return true;
        }
    }
    buf[size - 1] = '\0';
    return true;
}

/* ---- launches ---- */

static void accept_launch(A350ClusterCore *cc)
{
    A350Cluster *cl = cc->cluster;

    qemu_mutex_lock(&cl->lock);
    if (cc->valid) {
        cc->valid = false;
        cc->running = true;
        cc->have_exc = false;
        a350_core_set_irq(cc->core, A350_IRQ_MEI, false);
        /* A limit behind the end of time is none. */
        cc->deadline = A350_NEVER;
        if (cc->forgotten) {
            a350_cluster_interrupt(cc, A350_ABORT_QUEUE);
        } else if (cc->limit_ns && cc->limit_ns < INT64_MAX / 2) {
            cc->deadline = now_ns(cl) + cc->limit_ns;
        }
        a350_cluster_rearm(cl);
    }
    qemu_mutex_unlock(&cl->lock);
}

static void answer_launch(A350ClusterCore *cc, uint32_t cqe)
{
    A350Cluster *cl = cc->cluster;
    a350_topic_mbox mbox;
    bool tell, have_exc;

    a350_page_flush_line(cc);
    qemu_mutex_lock(&cl->lock);
    tell = cc->running && !cc->forgotten;
    have_exc = cc->have_exc;
    mbox = cc->mbox;
    cc->running = cc->forgotten = cc->have_exc = false;
    cc->deadline = A350_NEVER;
    qatomic_set(&cc->abort, A350_ABORT_NONE);
    cc->abort_line = cc->interrupted = false;
    a350_cluster_update_msip(cc);
    a350_cluster_rearm(cl);
    if (tell) {
        a350_cluster_tell(cl, &mbox, cqe >> 16, cqe & 0xffff,
                          have_exc ? &cc->exc : NULL);
    }
    qemu_mutex_unlock(&cl->lock);
}

static void log_exc(A350ClusterCore *cc)
{
    const a350_exc_record *e = &cc->exc;
    GString *s = new_line(cc, e->kernel);
    unsigned i;

    g_string_append_printf(s, "exception in %s: %s (cause 0x%x, pc 0x%" PRIx64
                           " %s, address 0x%" PRIx64 ", queue %u, task %u)",
                           e->library, e->text, e->cause, e->pc, e->where,
                           e->addr, e->sq_id, e->task);
    end_line(cc, A350_LOG_ERROR, s);
    if (e->cause >= A350_EXC_ABORT) {
        return;                  /* no trap: the registers tell nothing */
    }
    for (i = 0; i < 32; i += 4) {
        s = new_line(cc, e->kernel);
        g_string_append_printf(s, "  x%-2u %016" PRIx64 " %016" PRIx64
                               " %016" PRIx64 " %016" PRIx64, i, e->x[i],
                               e->x[i + 1], e->x[i + 2], e->x[i + 3]);
        end_line(cc, A350_LOG_ERROR, s);
    }
    if (e->frames) {
        s = new_line(cc, e->kernel);
        g_string_append(s, "  called from");
        for (i = 0; i < e->frames; i++) {
            g_string_append_printf(s, " 0x%" PRIx64, e->frame[i]);
        }
        end_line(cc, A350_LOG_ERROR, s);
    }
}

/* Replaces what would disturb a log line. */
static void clean(char *s, size_t size)
{
    s[size - 1] = '\0';
    for (; *s; s++) {
        if ((unsigned char)*s < ' ') {
            *s = ' ';
        }
    }
}

static bool take_exc(A350ClusterCore *cc, uint64_t addr)
{
    const void *p = a350_core_mem(cc->core, addr, sizeof(cc->exc));

    if (!p) {
        return false;
    }
    memcpy(&cc->exc, p, sizeof(cc->exc));
    clean(cc->exc.kernel, sizeof(cc->exc.kernel));
    clean(cc->exc.library, sizeof(cc->exc.library));
    clean(cc->exc.where, sizeof(cc->exc.where));
    clean(cc->exc.text, sizeof(cc->exc.text));
    cc->exc.frames = MIN(cc->exc.frames, A350_EXC_FRAMES);
    cc->have_exc = true;
    a350_page_flush_line(cc);
    log_exc(cc);
    return true;
}

/* ---- registers ---- */

static uint64_t msq_status(A350ClusterCore *cc)
{
    A350Cluster *cl = cc->cluster;
    bool valid;

    qemu_mutex_lock(&cl->lock);
    a350_cluster_assign(cc);
    valid = cc->valid;
    qemu_mutex_unlock(&cl->lock);
    return valid ? A350_MSQ_VALID | A350_MSQ_SIZE_512 : 0;
}

static uint64_t read_reg(A350ClusterCore *cc, unsigned reg, bool *ok)
{
    A350Cluster *cl = cc->cluster;
    uint64_t val = 0;

    switch (reg) {
    case A350_AM_CORE_ID:
        return cc->index;
    case A350_AM_NUM_CORES:
        return cl->num_cores;
    case A350_AM_CARD_INDEX:
        return cl->card_index;
    case A350_AM_DEV_BASE:
        return cl->dev_base;
    case A350_AM_HBM_SIZE:
        return cl->hbm_size;
    case A350_AM_FW_BASE:
        return cl->dev_base + cl->hbm_size - cl->fw_size;
    case A350_AM_FW_SIZE:
        return cl->fw_size;
    case A350_AM_ROM_SIZE:
        if (cl->fw) {
            a350_firmware_rom(cl->fw, &val);
        }
        return val;
    case A350_AM_TIME:
        return now_ns(cl);
    case A350_AM_TIMECMP:
        return cc->timecmp;
    case A350_AM_WALL_TIME:
        return g_get_real_time() * 1000;
    case A350_AM_RANDOM:
        qemu_guest_getrandom_nofail(&val, sizeof(val));
        return val;
    case A350_AM_MSQ_STATUS:
        return msq_status(cc);
    case A350_AM_ABORT:
        return qatomic_read(&cc->abort);
    case A350_AM_MSQ_DATA ... A350_AM_MSQ_DATA + sizeof(cc->mbox) - 1:
        return ldq_le_p((uint8_t *)&cc->mbox + (reg - A350_AM_MSQ_DATA));
    }
    *ok = false;
    return 0;
}

bool a350_page_read(A350ClusterCore *cc, uint64_t off, unsigned size,
                    uint64_t *val)
{
    bool ok = size >= 4;

    *val = ok ? read_reg(cc, off & ~7ull, &ok) >> (8 * (off & 4)) : 0;
    return ok;
}

static void set_timecmp(A350ClusterCore *cc, uint64_t val)
{
    A350Cluster *cl = cc->cluster;
    bool due;

    qemu_mutex_lock(&cl->lock);
    due = val <= (uint64_t)now_ns(cl);
    cc->timecmp = val;
    cc->timer_armed = !due;
    a350_core_set_irq(cc->core, A350_IRQ_MTI, due);
    a350_cluster_rearm(cl);
    qemu_mutex_unlock(&cl->lock);
}

static void set_ipi(A350Cluster *cl, uint64_t target, bool level)
{
    if (target >= cl->num_cores) {
        return;
    }
    qemu_mutex_lock(&cl->lock);
    cl->core[target].ipi = level;
    a350_cluster_update_msip(&cl->core[target]);
    qemu_mutex_unlock(&cl->lock);
}

static void clear_abort(A350ClusterCore *cc)
{
    A350Cluster *cl = cc->cluster;

    qemu_mutex_lock(&cl->lock);
    qatomic_set(&cc->abort, A350_ABORT_NONE);
    cc->abort_line = false;
    a350_cluster_update_msip(cc);
    qemu_mutex_unlock(&cl->lock);
}

static void set_fw_status(A350ClusterCore *cc, uint32_t status)
{
    A350Cluster *cl = cc->cluster;

    qemu_mutex_lock(&cl->lock);
    a350_cluster_set_fw_status(cl, status);
    qemu_mutex_unlock(&cl->lock);
}

static bool set_fw_error(A350ClusterCore *cc, uint64_t addr)
{
    A350Cluster *cl = cc->cluster;
    char buf[sizeof(cl->fw_error)];

    if (!get_string(cc, addr, buf, sizeof(buf))) {
        return false;
    }
    clean(buf, sizeof(buf));
    qemu_mutex_lock(&cl->lock);
    memcpy(cl->fw_error, buf, sizeof(buf));
    qemu_mutex_unlock(&cl->lock);
    return true;
}

static bool set_kernel(A350ClusterCore *cc, uint64_t addr)
{
    char buf[sizeof(cc->kernel)];

    buf[0] = '\0';
    if (addr && !get_string(cc, addr, buf, sizeof(buf))) {
        return false;
    }
    clean(buf, sizeof(buf));
    a350_page_flush_line(cc);
    memcpy(cc->kernel, buf, sizeof(buf));
    return true;
}

static bool write_reg(A350ClusterCore *cc, unsigned reg, uint64_t val)
{
    switch (reg) {
    case A350_AM_TIMECMP:
        set_timecmp(cc, val);
        return true;
    case A350_AM_IPI:
        set_ipi(cc->cluster, val, true);
        return true;
    case A350_AM_IPI_CLEAR:
        set_ipi(cc->cluster, cc->index, false);
        return true;
    case A350_AM_MSQ_ACCEPT:
        accept_launch(cc);
        return true;
    case A350_AM_TOPIC_CQE:
        answer_launch(cc, val);
        return true;
    case A350_AM_ABORT:
        clear_abort(cc);
        return true;
    case A350_AM_EXC_ADDR:
        return take_exc(cc, val);
    case A350_AM_FW_STATUS:
        set_fw_status(cc, val);
        return true;
    case A350_AM_FW_ERROR:
        return set_fw_error(cc, val);
    case A350_AM_LOG_ADDR:
        cc->log_addr = val;
        return true;
    case A350_AM_LOG_LEN:
        emit_log(cc, val);
        return true;
    case A350_AM_LOG_LEVEL:
        cc->log_level = MIN(val, A350_LOG_ERROR);
        return true;
    case A350_AM_CONSOLE:
        cc->line_level = A350_LOG_INFO;
        put_char(cc, val);
        return true;
    case A350_AM_KERNEL_ADDR:
        return set_kernel(cc, val);
    case A350_AM_DEBUG_ADDR:
        qatomic_set(&cc->cluster->r_debug, val);
        a350_core_halt(cc->core); /* for a debugger to hear of it */
        return true;
    }
    return false;
}

bool a350_page_write(A350ClusterCore *cc, uint64_t off, unsigned size,
                     uint64_t val)
{
    /* The upper half alone cannot be written: no register needs it. */
    return size >= 4 && !(off & 7) && write_reg(cc, off, val);
}
