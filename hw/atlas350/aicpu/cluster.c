/*
 * The AICPU cores of one card: threads, mailbox, time limits, firmware state.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Life of a launch: queued by a350_cluster_submit(); shown to one core
 * (valid), which it leaves by MSQ_ACCEPT (running); answered by TOPIC_CQE. A
 * launch that is not wanted any more is dropped from the queue, or marked
 * forgotten and its core interrupted, so that the answer ends in nothing.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/memalign.h"
#include "qemu/rcu.h"
#include "qapi/error.h"
#include "cluster.h"
#include <sched.h>
#ifdef CONFIG_LINUX
#include <sys/resource.h>
#endif

/*
 * Instructions, some 0.3 ms, after which a core offers its processor to other
 * threads; kicks come at once. A nice value is not enough: the threads that
 * bring a timer to the guest (main loop, then virtual processor, handing the
 * big lock to each other) use little time, but when one wakes the other, the
 * host's scheduler may find it a few microseconds ahead of a core and give the
 * core the processor until the next tick, 4 ms later.
 */
#define CORE_SLICE      (300 * 1000)
#define CORE_NICE       5
/* How long the firmware may take to end a launch that was interrupted. */
#define ABORT_GRACE_NS  (5 * 1000 * 1000 * 1000ll)
/* How long it may take to start: a thousand times what it takes. */
#define BOOT_LIMIT_S    60
#define FW_FAILED_BOOT  (A350_FW_FAILED + 0x10)

/* ---- callbacks of the core ---- */

static uint64_t core_time(void *opaque)
{
    A350ClusterCore *cc = opaque;

    return cc->cluster->ops->clock(cc->cluster->opaque);
}

static bool core_mmio_read(void *opaque, unsigned region, uint64_t off,
                           unsigned size, uint64_t *val)
{
    A350ClusterCore *cc = opaque;
    A350Cluster *cl = cc->cluster;

    if (region == cl->region_mmio) {
        return a350_page_read(cc, off, size, val);
    }
    return size >= 4 && cl->ops->reg_read(cl->opaque, off, size, val);
}

static bool core_mmio_write(void *opaque, unsigned region, uint64_t off,
                            unsigned size, uint64_t val)
{
    A350ClusterCore *cc = opaque;
    A350Cluster *cl = cc->cluster;

    if (region == cl->region_mmio) {
        return a350_page_write(cc, off, size, val);
    }
    return size >= 4 && cl->ops->reg_write(cl->opaque, off, size, val);
}

/* Code written by one core may be run by another: all forget theirs. */
static void core_fence_i(void *opaque)
{
    A350ClusterCore *cc = opaque;
    A350Cluster *cl = cc->cluster;
    unsigned i;

    for (i = 0; i < cl->num_cores; i++) {
        if (i != cc->index) {
            a350_core_invalidate(cl->core[i].core);
        }
    }
}

static const A350CoreOps core_ops = {
    .time = core_time,
    .mmio_read = core_mmio_read,
    .mmio_write = core_mmio_write,
    .fence_i = core_fence_i,
};

/* ---- small state changes, lock held ---- */

/* Makes a core's thread look at its state, wherever it is. */
void a350_cluster_wake(A350ClusterCore *cc)
{
    if (cc->parked) {
        qemu_cond_signal(&cc->cond);
    }
}

static void set_line(A350ClusterCore *cc, uint32_t line, bool level)
{
    a350_core_set_irq(cc->core, line, level);
    if (level) {
        a350_cluster_wake(cc);
    }
}

void a350_cluster_update_msip(A350ClusterCore *cc)
{
    set_line(cc, A350_IRQ_MSI, cc->ipi || cc->abort_line);
}

void a350_cluster_tell(A350Cluster *cl, const a350_topic_mbox *mbox,
                       uint16_t errcode, uint16_t status,
                       const a350_exc_record *exc)
{
    A350Telling t = { .mbox = mbox };

    QLIST_INSERT_HEAD(&cl->telling, &t, next);
    qemu_mutex_unlock(&cl->lock);
    cl->ops->done(cl->opaque, mbox, errcode, status, exc);
    qemu_mutex_lock(&cl->lock);
    QLIST_REMOVE(&t, next);
    qemu_cond_broadcast(&cl->told_cond);
}

/* What waits for a core has failed. */
static void fail_queue(A350Cluster *cl)
{
    A350Launch *l;

    while ((l = QTAILQ_FIRST(&cl->queue))) {
        QTAILQ_REMOVE(&cl->queue, l, next);
        QTAILQ_INSERT_TAIL(&cl->failed, l, next);
    }
    cl->queued = 0;
}

/* Ends every launch there is: nobody will work on them. */
static void fail_launches(A350Cluster *cl)
{
    A350Launch *l;
    unsigned i;

    fail_queue(cl);
    for (i = 0; i < cl->num_cores; i++) {
        A350ClusterCore *cc = &cl->core[i];

        if ((cc->valid || cc->running) && !cc->forgotten) {
            l = g_new0(A350Launch, 1);
            l->mbox = cc->mbox;
            QTAILQ_INSERT_TAIL(&cl->failed, l, next);
        }
        cc->valid = cc->running = cc->forgotten = false;
        cc->deadline = A350_NEVER;
        a350_core_set_irq(cc->core, A350_IRQ_MEI, false);
    }
    while ((l = QTAILQ_FIRST(&cl->failed))) {
        QTAILQ_REMOVE(&cl->failed, l, next);
        a350_cluster_tell(cl, &l->mbox, A350_AE_TASK_FAIL,
                          A350_AICPU_ST_EXCEPTION, NULL);
        g_free(l);
    }
}

/* Tells the owner; drops the lock meanwhile. */
static void report_fw_status(A350Cluster *cl, uint32_t status)
{
    qemu_mutex_unlock(&cl->lock);
    cl->ops->fw_status(cl->opaque, status,
                       status >= A350_FW_FAILED ? cl->fw_error : NULL);
    qemu_mutex_lock(&cl->lock);
    if (status >= A350_FW_FAILED) {
        fail_launches(cl);
    }
}

void a350_cluster_set_fw_status(A350Cluster *cl, uint32_t status)
{
    if (status >= A350_FW_FAILED && !cl->fw_error[0]) {
        snprintf(cl->fw_error, sizeof(cl->fw_error),
                 "the firmware gives no reason");
    }
    qatomic_set(&cl->fw_status, status);
    report_fw_status(cl, status);
}

/* Gives the queue's head to @cc if it is free. */
bool a350_cluster_assign(A350ClusterCore *cc)
{
    A350Cluster *cl = cc->cluster;
    A350Launch *l = QTAILQ_FIRST(&cl->queue);

    if (!l || cc->valid || cc->running) {
        return false;
    }
    QTAILQ_REMOVE(&cl->queue, l, next);
    cl->queued--;
    cc->mbox = l->mbox;
    cc->limit_ns = l->limit_ns;
    cc->valid = true;
    cc->forgotten = false;
    g_free(l);
    set_line(cc, A350_IRQ_MEI, true);
    return true;
}

/* In wfi (so its thread is outside run()), and woken by a mailbox. */
static bool waits_for_mailbox(A350ClusterCore *cc)
{
    A350CoreState s;

    if (!cc->wfi || cc->valid || cc->running) {
        return false;
    }
    a350_core_get_state(cc->core, &s);
    return s.mie & A350_IRQ_MEI;
}

static bool is_booting(A350Cluster *cl)
{
    return cl->fw_status != A350_FW_OFF && cl->fw_status < A350_FW_READY;
}

/* Arms the timer for the earliest moment anything is due. */
void a350_cluster_rearm(A350Cluster *cl)
{
    int64_t next = is_booting(cl) ? cl->boot_deadline : A350_NEVER;
    unsigned i;

    for (i = 0; i < cl->num_cores; i++) {
        A350ClusterCore *cc = &cl->core[i];

        next = MIN(next, cc->deadline);
        if (cc->timer_armed && cc->timecmp < INT64_MAX) {
            next = MIN(next, (int64_t)cc->timecmp);
        }
    }
    if (next != cl->armed) {
        cl->armed = next;
        cl->ops->arm_timer(cl->opaque, next);
    }
}

void a350_cluster_interrupt(A350ClusterCore *cc, uint32_t why)
{
    cc->deadline = cc->cluster->ops->clock(cc->cluster->opaque) +
                   ABORT_GRACE_NS;
    qatomic_set(&cc->abort, why);
    cc->abort_line = cc->interrupted = true;
    a350_cluster_update_msip(cc);
}

/* The firmware did not react: nothing this core says is of use any more. */
static void give_up(A350ClusterCore *cc)
{
    A350Cluster *cl = cc->cluster;

    cc->deadline = A350_NEVER;
    snprintf(cl->fw_error, sizeof(cl->fw_error),
             "core %u did not end an interrupted launch within %lld s",
             cc->index, ABORT_GRACE_NS / 1000000000);
    a350_cluster_set_fw_status(cl, A350_FW_FAILED + 2);
}

static void deadline_passed(A350ClusterCore *cc)
{
    if (cc->interrupted && cc->stopped) {
        /* A debugger may take its time. */
        cc->deadline = cc->cluster->ops->clock(cc->cluster->opaque) +
                       ABORT_GRACE_NS;
        return;
    }
    if (cc->interrupted) {
        give_up(cc);
        return;
    }
    a350_cluster_interrupt(cc, A350_ABORT_TIMEOUT);
}

static void start_boot_clock(A350Cluster *cl)
{
    cl->boot_deadline = cl->ops->clock(cl->opaque) +
                        BOOT_LIMIT_S * 1000000000ll;
}

void a350_cluster_timer(A350Cluster *cl)
{
    int64_t now = cl->ops->clock(cl->opaque);
    unsigned i;

    qemu_mutex_lock(&cl->lock);
    cl->armed = A350_NEVER;
    for (i = 0; i < cl->num_cores; i++) {
        A350ClusterCore *cc = &cl->core[i];

        if (cc->timer_armed && cc->timecmp <= (uint64_t)now) {
            cc->timer_armed = false;
            set_line(cc, A350_IRQ_MTI, true);
        }
        if (cc->deadline <= now) {
            deadline_passed(cc);
        }
    }
    if (cl->core[0].stopped) {
        start_boot_clock(cl);    /* a debugger may take its time */
    } else if (is_booting(cl) && cl->boot_deadline <= now) {
        snprintf(cl->fw_error, sizeof(cl->fw_error), "the firmware was not "
                 "ready %d s after its start (status %u)", BOOT_LIMIT_S,
                 cl->fw_status);
        a350_cluster_set_fw_status(cl, FW_FAILED_BOOT);
    }
    a350_cluster_rearm(cl);
    qemu_mutex_unlock(&cl->lock);
}

/* ---- launches ---- */

void a350_cluster_submit(A350Cluster *cl, const a350_topic_mbox *mbox,
                         uint64_t limit_ns)
{
    A350Launch *l;
    unsigned i;

    qemu_mutex_lock(&cl->lock);
    if (cl->fw_status == A350_FW_OFF || cl->fw_status >= A350_FW_FAILED) {
        qemu_mutex_unlock(&cl->lock);
        cl->ops->done(cl->opaque, mbox, A350_AE_TASK_FAIL,
                      A350_AICPU_ST_EXCEPTION, NULL);
        return;
    }
    l = g_new0(A350Launch, 1);
    l->mbox = *mbox;
    l->limit_ns = limit_ns;
    QTAILQ_INSERT_TAIL(&cl->queue, l, next);
    cl->queued++;
    for (i = 0; i < cl->num_cores; i++) {
        if (waits_for_mailbox(&cl->core[i])) {
            a350_cluster_assign(&cl->core[i]);
            break;
        }
    }
    qemu_mutex_unlock(&cl->lock);
}

static bool is_launch(const a350_topic_mbox *m, uint32_t sq, uint32_t task)
{
    return m->tq_id == sq &&
           (m->stream_id | (uint32_t)m->task_id << 16) == task;
}

static bool is_told(A350Cluster *cl, uint32_t sq, uint32_t task)
{
    A350Telling *t;

    QLIST_FOREACH(t, &cl->telling, next) {
        if (is_launch(t->mbox, sq, task)) {
            return true;
        }
    }
    return false;
}

void a350_cluster_abort(A350Cluster *cl, uint32_t sq, uint32_t task)
{
    A350Launch *l, *next;
    unsigned i;

    qemu_mutex_lock(&cl->lock);
    QTAILQ_FOREACH_SAFE(l, &cl->failed, next, next) {
        if (is_launch(&l->mbox, sq, task)) {
            QTAILQ_REMOVE(&cl->failed, l, next);
            g_free(l);
        }
    }
    QTAILQ_FOREACH_SAFE(l, &cl->queue, next, next) {
        if (is_launch(&l->mbox, sq, task)) {
            QTAILQ_REMOVE(&cl->queue, l, next);
            cl->queued--;
            g_free(l);
        }
    }
    for (i = 0; i < cl->num_cores; i++) {
        A350ClusterCore *cc = &cl->core[i];

        if ((cc->valid || cc->running) && !cc->forgotten &&
            is_launch(&cc->mbox, sq, task)) {
            cc->forgotten = true;
            if (cc->running) {
                a350_cluster_interrupt(cc, A350_ABORT_QUEUE);
                a350_cluster_rearm(cl);
            }
        }
    }
    while (is_told(cl, sq, task)) {
        qemu_cond_wait(&cl->told_cond, &cl->lock);
    }
    qemu_mutex_unlock(&cl->lock);
}

bool a350_cluster_ready(A350Cluster *cl)
{
    bool ready;

    qemu_mutex_lock(&cl->lock);
    ready = cl->fw_status == A350_FW_READY;
    qemu_mutex_unlock(&cl->lock);
    return ready;
}

/* ---- threads ---- */

static bool may_run(A350ClusterCore *cc)
{
    A350Cluster *cl = cc->cluster;

    if (cl->paused || !cl->fw || cc->locked_up || (cc->stopped && !cc->step)) {
        return false;
    }
    if (cc->step) {
        return true;
    }
    return !cc->wfi || a350_core_irq_pending(cc->core);
}

static void lockup(A350ClusterCore *cc)
{
    A350Cluster *cl = cc->cluster;
    A350CoreState s;

    a350_core_get_state(cc->core, &s);
    cc->locked_up = true;
    snprintf(cl->fw_error, sizeof(cl->fw_error),
             "core %u is locked up: its trap handler at 0x%" PRIx64 " cannot "
             "be fetched (cause %" PRIu64 ", pc 0x%" PRIx64 ", address 0x%"
             PRIx64 ")", cc->index, s.mtvec & ~(uint64_t)3, s.mcause, s.mepc,
             s.mtval);
    a350_cluster_set_fw_status(cl, A350_FW_FAILED + 1);
}

/* A core stops by itself: so do the others, and the debugger is told. */
static void debug_stop(A350ClusterCore *cc, A350CoreExit why)
{
    A350Cluster *cl = cc->cluster;
    unsigned i;

    cc->step = false;
    cc->event = true;
    cc->why = why;
    for (i = 0; i < cl->num_cores; i++) {
        cl->core[i].stopped = true;
        if (!cl->core[i].parked && i != cc->index) {
            a350_core_kick(cl->core[i].core);
        }
    }
    if (cl->debug_hook) {
        cl->debug_hook(cl->debug_opaque);
    }
}

static void handle_exit(A350ClusterCore *cc, A350CoreExit why, bool stepped)
{
    switch (why) {
    case A350_EXIT_WFI:
        cc->wfi = true;
        if (waits_for_mailbox(cc)) {
            a350_cluster_assign(cc);
        }
        break;
    case A350_EXIT_LOCKUP:
        lockup(cc);
        break;
    case A350_EXIT_HALT:
        /* The list of libraries is a new one. */
        if (!cc->cluster->debugged) {
            break;
        }
        /* fall through */
    case A350_EXIT_DEBUG:
        debug_stop(cc, why);
        return;
    default:
        break;
    }
    if (stepped && why != A350_EXIT_KICK) {
        debug_stop(cc, why);
    }
}

/* Outside the lock. */
static A350CoreExit execute(A350ClusterCore *cc, bool step)
{
    A350CoreExit why = step ? a350_core_step(cc->core)
                            : a350_core_run(cc->core, CORE_SLICE);

    if (why == A350_EXIT_BUDGET && !step) {
        sched_yield();
    }
    if (why == A350_EXIT_DEBUG &&
        a350_core_debug_info(cc->core).kind != A350_DEBUG_BREAK) {
        /* Debuggers expect a watched access to be done when they hear of it. */
        a350_core_step(cc->core);
    }
    return why;
}

static void *core_thread(void *opaque)
{
    A350ClusterCore *cc = opaque;
    A350Cluster *cl = cc->cluster;

    rcu_register_thread();
#ifdef CONFIG_LINUX
    /* Of this thread: where processors are few, the guest's come first. */
    setpriority(PRIO_PROCESS, 0, CORE_NICE);
#endif
    qemu_mutex_lock(&cl->lock);
    while (!cl->quit) {
        A350CoreExit why;
        bool step;

        if (!may_run(cc)) {
            cc->parked = true;
            qemu_cond_broadcast(&cl->parked_cond);
            qemu_cond_wait(&cc->cond, &cl->lock);
            continue;
        }
        cc->parked = cc->wfi = false;
        step = cc->step;
        qemu_mutex_unlock(&cl->lock);
        why = execute(cc, step);
        qemu_mutex_lock(&cl->lock);
        handle_exit(cc, why, step);
    }
    cc->parked = true;
    qemu_cond_broadcast(&cl->parked_cond);
    qemu_mutex_unlock(&cl->lock);
    rcu_unregister_thread();
    return NULL;
}

/* Lock held; drops it while waiting. */
static void wait_parked(A350Cluster *cl)
{
    unsigned i;

    for (i = 0; i < cl->num_cores; i++) {
        while (!cl->core[i].parked) {
            a350_core_kick(cl->core[i].core);
            qemu_cond_wait(&cl->parked_cond, &cl->lock);
        }
    }
}

void a350_cluster_pause(A350Cluster *cl)
{
    qemu_mutex_lock(&cl->lock);
    cl->paused++;
    wait_parked(cl);
    qemu_mutex_unlock(&cl->lock);
}

void a350_cluster_resume(A350Cluster *cl)
{
    unsigned i;

    qemu_mutex_lock(&cl->lock);
    assert(cl->paused);
    if (--cl->paused == 0) {
        for (i = 0; i < cl->num_cores; i++) {
            qemu_cond_signal(&cl->core[i].cond);
        }
    }
    qemu_mutex_unlock(&cl->lock);
}

void a350_cluster_debug_stop(A350Cluster *cl)
{
    unsigned i;

    qemu_mutex_lock(&cl->lock);
    for (i = 0; i < cl->num_cores; i++) {
        cl->core[i].stopped = true;
        cl->core[i].step = false;
    }
    wait_parked(cl);
    qemu_mutex_unlock(&cl->lock);
}

void a350_cluster_debug_resume(A350Cluster *cl, unsigned go, unsigned step)
{
    unsigned i;

    qemu_mutex_lock(&cl->lock);
    for (i = 0; i < cl->num_cores; i++, go >>= 1, step >>= 1) {
        A350ClusterCore *cc = &cl->core[i];

        cc->stopped = !(go & 1);
        cc->step = step & 1;
        /* A wfi may end for any reason; so stepping does not hang on one. */
        cc->wfi &= cc->stopped && !cc->step;
        qemu_cond_signal(&cc->cond);
    }
    qemu_mutex_unlock(&cl->lock);
}

/* ---- life ---- */

static void reset_core(A350ClusterCore *cc)
{
    A350Cluster *cl = cc->cluster;

    a350_core_reset(cc->core, cl->fw ? a350_firmware_entry(cl->fw) : 0);
    cc->wfi = cc->locked_up = false;
    cc->valid = cc->running = cc->forgotten = false;
    cc->deadline = A350_NEVER;
    qatomic_set(&cc->abort, A350_ABORT_NONE);
    cc->abort_line = cc->ipi = cc->have_exc = false;
    cc->interrupted = cc->timer_armed = false;
    cc->timecmp = UINT64_MAX;
    cc->log_addr = 0;
    cc->log_level = A350_LOG_INFO;
    cc->kernel[0] = '\0';
    cc->line_len = 0;
    memset(&cc->mbox, 0, sizeof(cc->mbox));
}

void a350_cluster_drop_queue(A350Cluster *cl)
{
    A350Launch *l;

    qemu_mutex_lock(&cl->lock);
    fail_queue(cl);
    while ((l = QTAILQ_FIRST(&cl->failed))) {
        QTAILQ_REMOVE(&cl->failed, l, next);
        g_free(l);
    }
    qemu_mutex_unlock(&cl->lock);
}

void a350_cluster_reset(A350Cluster *cl)
{
    unsigned i;

    a350_cluster_pause(cl);
    a350_cluster_drop_queue(cl);
    qemu_mutex_lock(&cl->lock);
    if (cl->fw) {
        a350_firmware_load_sram(cl->fw, cl->sram);
    }
    for (i = 0; i < cl->num_cores; i++) {
        reset_core(&cl->core[i]);
    }
    cl->fw_error[0] = '\0';
    cl->r_debug = 0;
    start_boot_clock(cl);
    a350_cluster_set_fw_status(cl, cl->fw ? A350_FW_LOADED : A350_FW_OFF);
    a350_cluster_rearm(cl);
    qemu_mutex_unlock(&cl->lock);
    a350_cluster_resume(cl);
}

static void add_regions(A350Cluster *cl, A350Core *core)
{
    uint64_t rom_size = 0;
    const void *rom = cl->fw ? a350_firmware_rom(cl->fw, &rom_size) : NULL;

    a350_core_add_region(core, cl->dev_base, cl->hbm_size, cl->hbm,
                         A350_M_RWX | A350_U_RWX);
    a350_core_add_region(core, A350_AICPU_SRAM, A350_AICPU_SRAM_SIZE,
                         cl->sram, A350_M_RWX);
    cl->region_mmio = a350_core_add_region(core, A350_AICPU_MMIO,
                                           A350_AICPU_MMIO_SIZE, NULL,
                                           A350_M_R | A350_M_W);
    cl->region_reg = a350_core_add_region(core, cl->dev_base +
                                          A350_DEV_REG_OFFSET, A350_BAR2_SIZE,
                                          NULL, A350_M_R | A350_M_W |
                                          A350_U_R | A350_U_W);
    if (rom) {
        a350_core_add_region(core, A350_AICPU_ROM, rom_size, (void *)rom,
                             A350_M_R | A350_M_X | A350_U_R | A350_U_X);
    }
}

static void start_core(A350Cluster *cl, unsigned i)
{
    A350ClusterCore *cc = &cl->core[i];
    g_autofree char *name = g_strdup_printf("a350-%u/core%u", cl->card_index,
                                            i);

    cc->cluster = cl;
    cc->index = i;
    cc->core = a350_core_new(i, &core_ops, cc);
    add_regions(cl, cc->core);
    qemu_cond_init(&cc->cond);
    reset_core(cc);
    qemu_thread_create(&cc->thread, name, core_thread, cc,
                       QEMU_THREAD_JOINABLE);
}

A350Cluster *a350_cluster_new(const A350ClusterConfig *cfg,
                              const A350ClusterOps *ops, void *opaque)
{
    A350Cluster *cl = g_new0(A350Cluster, 1);
    unsigned i;

    cl->ops = ops;
    cl->opaque = opaque;
    cl->num_cores = cfg->num_cores;
    cl->card_index = cfg->card_index;
    cl->dev_base = cfg->dev_base;
    cl->hbm = cfg->hbm;
    cl->hbm_size = cfg->hbm_size;
    cl->fw_size = MIN(A350_FW_HBM_SIZE, cfg->hbm_size / 2);
    cl->fw = cfg->fw;
    cl->sram = qemu_memalign(qemu_real_host_page_size(), A350_AICPU_SRAM_SIZE);
    memset(cl->sram, 0, A350_AICPU_SRAM_SIZE);
    cl->paused = 1;
    cl->armed = A350_NEVER;
    cl->fw_status = cl->fw ? A350_FW_LOADED : A350_FW_OFF;
    QTAILQ_INIT(&cl->queue);
    QTAILQ_INIT(&cl->failed);
    QLIST_INIT(&cl->telling);
    qemu_mutex_init(&cl->lock);
    qemu_cond_init(&cl->told_cond);
    qemu_cond_init(&cl->parked_cond);
    for (i = 0; i < cl->num_cores; i++) {
        start_core(cl, i);
    }
    a350_cluster_reset(cl);
    return cl;
}

void a350_cluster_stop(A350Cluster *cl)
{
    unsigned i;

    qemu_mutex_lock(&cl->lock);
    cl->quit = true;
    for (i = 0; i < cl->num_cores; i++) {
        a350_core_kick(cl->core[i].core);
        qemu_cond_signal(&cl->core[i].cond);
    }
    qemu_mutex_unlock(&cl->lock);
    for (i = 0; i < cl->num_cores; i++) {
        qemu_thread_join(&cl->core[i].thread);
    }
}

void a350_cluster_free(A350Cluster *cl)
{
    unsigned i;

    a350_cluster_drop_queue(cl);
    for (i = 0; i < cl->num_cores; i++) {
        a350_core_free(cl->core[i].core);
        qemu_cond_destroy(&cl->core[i].cond);
    }
    qemu_cond_destroy(&cl->told_cond);
    qemu_cond_destroy(&cl->parked_cond);
    qemu_mutex_destroy(&cl->lock);
    qemu_vfree(cl->sram);
    a350_firmware_free(cl->fw);
    g_free(cl);
}

void a350_cluster_restored(A350Cluster *cl)
{
    unsigned i;

    qemu_mutex_lock(&cl->lock);
    for (i = 0; i < cl->num_cores; i++) {
        A350ClusterCore *cc = &cl->core[i];

        a350_cluster_update_msip(cc);
        set_line(cc, A350_IRQ_MEI, cc->valid);
    }
    cl->armed = A350_NEVER;
    start_boot_clock(cl);
    a350_cluster_rearm(cl);
    qemu_mutex_unlock(&cl->lock);
}
