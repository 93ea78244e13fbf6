/*
 * Atlas 350 virtual card: the PCI function.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Identity, BARs, properties, reset, migration and the order in which the
 * card's blocks are made, stopped and taken down. The blocks themselves do
 * not know PCI (card.h).
 *
 * Stopping. Whoever holds the big lock and wants the card to stand still
 * (reset, VM stop, unplug) lets a helper thread pause the blocks one after
 * the other and serves address translations meanwhile: a copy that is to be
 * paused may just be waiting for one.
 */
#include "qemu/osdep.h"
#include "qemu/units.h"
#include "qemu/cutils.h"
#include "qemu/module.h"
#include "qemu/main-loop.h"
#include "qemu/timer.h"
#include "qemu/rcu.h"
#include "qapi/error.h"
#include "block/aio-wait.h"
#include "hw/qdev-properties.h"
#include "hw/qdev-properties-system.h"
#include "hw/resettable.h"
#include "migration/vmstate.h"
#include "system/runstate.h"
#include "shell.h"
#include "ts/ts.h"
#include "trace.h"

A350CardList a350_cards = QTAILQ_HEAD_INITIALIZER(a350_cards);

int64_t a350_clock_ns(void)
{
    return qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
}

/* ---- interrupts: from any thread, sent by the main loop ---- */

static void a350_msix_raise(A350Card *c, unsigned vector)
{
    Atlas350State *s = a350_shell(c);
    uint64_t bit = 1ull << (vector % 64);

    qatomic_or(&s->msix_pending[vector / 64], bit);
    qemu_bh_schedule(s->msix_bh);
}

static void a350_msix_send(void *opaque)
{
    Atlas350State *s = opaque;
    uint64_t pending;
    unsigned i, vector;

    for (i = 0; i < ARRAY_SIZE(s->msix_pending); i++) {
        pending = qatomic_xchg(&s->msix_pending[i], 0);
        while (pending) {
            vector = i * 64 + ctz64(pending);
            pending &= pending - 1;
            trace_atlas350_msix(s->card.index, vector);
            msix_notify(&s->parent_obj, vector);
        }
    }
}

static void a350_set_status(A350Card *c, uint32_t set, uint32_t clear)
{
    Atlas350State *s = a350_shell(c);

    qatomic_or(&s->status, set);
    qatomic_and(&s->status, ~clear);
}

/* ---- stopping and going on ---- */

typedef struct HelperJob {
    Atlas350State *s;
    void (*run)(Atlas350State *s);
    bool done;
} HelperJob;

static void *a350_helper_thread(void *opaque)
{
    HelperJob *job = opaque;
    Atlas350State *s = job->s;

    rcu_register_thread();
    job->run(s);
    qatomic_store_release(&job->done, true);
    a350_hostmem_kick(s);
    rcu_unregister_thread();
    return NULL;
}

static bool a350_helper_done(void *opaque)
{
    HelperJob *job = opaque;

    return qatomic_load_acquire(&job->done);
}

/*
 * Runs what has to wait for other threads of the card, while those may have
 * to wait for translations by this one.
 */
static void a350_help(Atlas350State *s, void (*run)(Atlas350State *s))
{
    HelperJob job = { .s = s, .run = run };
    QemuThread thread;

    qemu_thread_create(&thread, "atlas350-help", a350_helper_thread, &job,
                       QEMU_THREAD_JOINABLE);
    a350_hostmem_serve_until(s, a350_helper_done, &job);
    qemu_thread_join(&thread);
}

static void a350_pause_blocks(Atlas350State *s)
{
    A350Card *c = &s->card;

    /* Those who make work first, those who do it last. */
    a350_admin_pause(s);
    a350_ts_pause(c);
    a350_aicpu_pause(c);
    a350_ub_pause(c);
    a350_mover_pause(c);
}

void a350_shell_quiesce(Atlas350State *s)
{
    trace_atlas350_quiesce(s->card.index, s->quiesced);
    if (s->quiesced++ == 0) {
        a350_help(s, a350_pause_blocks);
    }
}

void a350_shell_unquiesce(Atlas350State *s)
{
    A350Card *c = &s->card;

    assert(s->quiesced);
    if (--s->quiesced) {
        return;
    }
    a350_mover_resume(c);
    a350_ub_resume(c);
    a350_aicpu_resume(c);
    a350_ts_resume(c);
    a350_admin_resume(s);
}

/* Cards of one fabric, for a look at all of them. */
static void a350_still(A350Card *c, bool on)
{
    Atlas350State *s;

    QTAILQ_FOREACH(s, &a350_cards, next) {
        if (s->card.fabric != c->fabric) {
            continue;
        }
        if (on) {
            a350_shell_quiesce(s);
        } else {
            a350_shell_unquiesce(s);
        }
    }
}

static void a350_vm_state(void *opaque, bool running, RunState state)
{
    Atlas350State *s = opaque;

    if (running && s->vm_stopped) {
        s->vm_stopped = false;
        /* Interrupts that were raised and not sent when the state was saved. */
        qemu_bh_schedule(s->msix_bh);
        a350_shell_unquiesce(s);
    } else if (!running && !s->vm_stopped) {
        s->vm_stopped = true;
        a350_shell_quiesce(s);
        /*
         * The card writes its memory behind the dirty log; what a running
         * migration has sent of it is sent again.
         */
        memory_region_set_dirty(&s->hbm, 0, s->hbm_size);
    }
}

/* ---- reset ---- */

static void a350_reset_enter(Object *obj, ResetType type)
{
    Atlas350State *s = ATLAS350(obj);

    trace_atlas350_reset(s->card.index, type);
    if (ATLAS350_GET_CLASS(s)->parent_phases.enter) {
        ATLAS350_GET_CLASS(s)->parent_phases.enter(obj, type);
    }
    a350_shell_quiesce(s);
}

static void a350_reset_blocks(Atlas350State *s)
{
    A350Card *c = &s->card;

    a350_admin_reset(s);
    a350_ts_reset(c);
    a350_ub_reset(c);
    a350_mover_reset(c);
}

static void a350_reset_hold(Object *obj, ResetType type)
{
    Atlas350State *s = ATLAS350(obj);
    A350Card *c = &s->card;
    unsigned i;

    if (ATLAS350_GET_CLASS(s)->parent_phases.hold) {
        ATLAS350_GET_CLASS(s)->parent_phases.hold(obj, type);
    }
    a350_help(s, a350_reset_blocks);
    qatomic_set(&s->status, A350_STATUS_READY);
    a350_aicpu_reset(c);
    a350_log_reset(s);
    memset(memory_region_get_ram_ptr(&s->shm_ram) + A350_SHM_ADMIN, 0,
           A350_ADMIN_SLOTS * A350_ADMIN_SLOT_SIZE);
    memory_region_set_dirty(&s->shm_ram, A350_SHM_ADMIN,
                            A350_ADMIN_SLOTS * A350_ADMIN_SLOT_SIZE);
    for (i = 0; i < ARRAY_SIZE(s->msix_pending); i++) {
        qatomic_set(&s->msix_pending[i], 0);
    }
}

static void a350_reset_exit(Object *obj, ResetType type)
{
    Atlas350State *s = ATLAS350(obj);

    if (ATLAS350_GET_CLASS(s)->parent_phases.exit) {
        ATLAS350_GET_CLASS(s)->parent_phases.exit(obj, type);
    }
    a350_shell_unquiesce(s);
}

/* ---- threads ---- */

/*
 * Cards without iothread= share threads of the process: a record from one
 * card to another then needs no wake-up of a sleeping thread. A host with
 * many processors gets one per four of them.
 */
#define A350_POOL_MAX 16
static struct {
    IOThread *thread;
    unsigned users;
} a350_pool[A350_POOL_MAX];

static IOThread *a350_pool_get(Error **errp)
{
    unsigned size = MIN(MAX(g_get_num_processors() / 4, 1), A350_POOL_MAX);
    g_autofree char *id = NULL;
    unsigned i, best = 0;

    for (i = 1; i < size; i++) {
        if (a350_pool[i].users < a350_pool[best].users) {
            best = i;
        }
    }
    if (!a350_pool[best].thread) {
        id = g_strdup_printf("atlas350-%u", best);
        a350_pool[best].thread = iothread_create(id, errp);
        if (!a350_pool[best].thread) {
            return NULL;
        }
    }
    a350_pool[best].users++;
    return a350_pool[best].thread;
}

static void a350_pool_put(IOThread *thread)
{
    unsigned i;

    for (i = 0; i < A350_POOL_MAX; i++) {
        if (a350_pool[i].thread == thread && --a350_pool[i].users == 0) {
            iothread_destroy(thread);
            a350_pool[i].thread = NULL;
        }
    }
}

static bool a350_thread_init(Atlas350State *s, Error **errp)
{
    if (s->iothread) {
        object_ref(OBJECT(s->iothread));
        s->card.ctx = iothread_get_aio_context(s->iothread);
        return true;
    }
    s->own_iothread = a350_pool_get(errp);
    if (!s->own_iothread) {
        return false;
    }
    s->card.ctx = iothread_get_aio_context(s->own_iothread);
    return true;
}

static void a350_thread_destroy(Atlas350State *s)
{
    if (!s->card.ctx) {
        return;
    }
    s->card.ctx = NULL;
    if (s->iothread) {
        object_unref(OBJECT(s->iothread));
    } else {
        a350_pool_put(s->own_iothread);
        s->own_iothread = NULL;
    }
}

/* ---- realize ---- */

static bool a350_check_props(Atlas350State *s, Error **errp)
{
    if (!is_power_of_2(s->hbm_size) || s->hbm_size < A350_HBM_MIN ||
        s->hbm_size > A350_HBM_MAX) {
        g_autofree char *size = size_to_str(s->hbm_size);

        error_setg(errp, "hbm-size=%s is not a power of two from 256M to "
                   "128G", size);
        return false;
    }
    if (s->aicpu_cores < 1 || s->aicpu_cores > A350_AICPU_CORES_MAX) {
        error_setg(errp, "aicpu-cores=%u is not in 1..%u", s->aicpu_cores,
                   A350_AICPU_CORES_MAX);
        return false;
    }
    if (s->num_sq < 1 || s->num_sq > A350_SQ_MAX) {
        error_setg(errp, "num-sq=%u is not in 1..%u", s->num_sq, A350_SQ_MAX);
        return false;
    }
    if (s->num_notify < 16 || s->num_notify > A350_NOTIFY_MAX ||
        s->num_notify % 16) {
        error_setg(errp, "num-notify=%u is not a multiple of 16 in 16..%u",
                   s->num_notify, A350_NOTIFY_MAX);
        return false;
    }
    if (strcmp(s->other_sqe, "error") && strcmp(s->other_sqe, "noop")) {
        error_setg(errp, "other-sqe=%s is neither 'error' nor 'noop'",
                   s->other_sqe);
        return false;
    }
    if (!*s->soc_name || strlen(s->soc_name) > 31) {
        error_setg(errp, "soc-name='%s' is not a name of 1..31 characters",
                   s->soc_name);
        return false;
    }
    if (!pci_bus_is_express(pci_get_bus(&s->parent_obj))) {
        error_setg(errp, "the card needs a PCI Express slot");
        error_append_hint(errp, "Use a machine with one (-M q35).\n");
        return false;
    }
    return true;
}

static bool a350_memory_init(Atlas350State *s, Error **errp)
{
    ERRP_GUARD();
    PCIDevice *pci = &s->parent_obj;
    const uint8_t attr = PCI_BASE_ADDRESS_SPACE_MEMORY |
                         PCI_BASE_ADDRESS_MEM_TYPE_64 |
                         PCI_BASE_ADDRESS_MEM_PREFETCH;

    memory_region_init(&s->shm, OBJECT(s), "atlas350-shm", A350_BAR0_SIZE);
    if (!memory_region_init_ram(&s->shm_ram, OBJECT(s), "atlas350-shm-ram",
                                A350_BAR0_RAM_SIZE, errp)) {
        return false;
    }
    memory_region_add_subregion(&s->shm, 0, &s->shm_ram);

    memory_region_init(&s->regs, OBJECT(s), "atlas350-regs", A350_BAR2_SIZE);
    memory_region_init_io(&s->regs_io, OBJECT(s), &a350_regs_ops, s,
                          "atlas350-regs-io", A350_BAR2_SIZE);
    memory_region_add_subregion_overlap(&s->regs, 0, &s->regs_io, -1);

    /* Not reserved: a large HBM costs what is used of it. */
    if (!memory_region_init_ram_flags_nomigrate(&s->hbm, OBJECT(s),
                                                "atlas350-hbm", s->hbm_size,
                                                RAM_NORESERVE, errp)) {
        g_autofree char *size = size_to_str(s->hbm_size);

        error_prepend(errp, "the host does not give hbm-size=%s: ", size);
        error_append_hint(errp, "hbm-size may be a power of two from 256M to "
                          "128G; try a smaller one.\n");
        return false;
    }
    vmstate_register_ram(&s->hbm, DEVICE(s));

    pci_register_bar(pci, A350_BAR_SHM, attr, &s->shm);
    pci_register_bar(pci, A350_BAR_REG, attr, &s->regs);
    pci_register_bar(pci, A350_BAR_HBM, attr, &s->hbm);
    return true;
}

/* spec/hw/pci.md §2: chain PCIe 0x40, MSI-X 0xa0, PM 0xb0; made backwards. */
static bool a350_caps_init(Atlas350State *s, Error **errp)
{
    PCIDevice *pci = &s->parent_obj;
    unsigned i;

    if (pci_pm_init(pci, A350_PCI_CAP_PM, errp) < 0) {
        return false;
    }
    pci_set_word(pci->config + A350_PCI_CAP_PM + PCI_PM_PMC,
                 PCI_PM_CAP_VER_1_2);
    if (msix_init(pci, A350_MSIX_VECTORS, &s->regs, A350_BAR_REG,
                  A350_REG_MSIX_TABLE, &s->regs, A350_BAR_REG,
                  A350_REG_MSIX_PBA, A350_PCI_CAP_MSIX, errp)) {
        return false;
    }
    for (i = 0; i < A350_MSIX_VECTORS; i++) {
        msix_vector_use(pci, i);
    }
    if (pcie_cap_init(pci, A350_PCI_CAP_EXP, PCI_EXP_TYPE_ENDPOINT, 0,
                      errp) < 0) {
        return false;
    }
    pcie_cap_deverr_init(pci);
    pcie_cap_flr_init(pci);
    pci->config[PCI_CACHE_LINE_SIZE] = 8;
    pci->config[PCI_INTERRUPT_PIN] = 1;
    return true;
}

static void a350_card_init(Atlas350State *s)
{
    A350Card *c = &s->card;

    c->hbm = memory_region_get_ram_ptr(&s->hbm);
    c->hbm_size = s->hbm_size;
    c->hbm_usable = s->hbm_size - A350_FW_HBM_SIZE;
    c->num_sq = s->num_sq;
    c->num_notify = s->num_notify;
    c->num_cnt_notify = A350_CNT_NOTIFY_MAX;
    c->num_cores = s->aicpu_cores;
    c->index = s->card_index;
    c->host_read = a350_hostmem_read;
    c->host_write = a350_hostmem_write;
    c->msix = a350_msix_raise;
    c->set_status = a350_set_status;
    c->still = a350_still;
    c->stalled = a350_qmp_stalled;
}

static void a350_uuid_default(Atlas350State *s)
{
    /* Stable over restarts and migration, different in one machine. */
    memcpy(s->uuid.data, "Atlas350", 8);
    memcpy(s->uuid.data + 8, s->card.eid + 8, 8);
}

static bool a350_blocks_init(Atlas350State *s, Error **errp)
{
    A350Card *c = &s->card;

    a350_log_init(s);
    a350_hostmem_init(s);
    a350_mover_init(c);
    a350_ub_init(c);
    a350_ts_init(c);
    a350_ts_set_other_sqe(c, !strcmp(s->other_sqe, "noop"));
    a350_admin_init(s);
    return a350_aicpu_init(c, s->firmware ?: "", errp) &&
           a350_aicpu_gdb(c, &s->gdb_chr, errp);
}

static void a350_leave_fabric(Atlas350State *s)
{
    /* All work is taken back while those who do it are all there. */
    a350_reset_blocks(s);
    a350_fabric_leave(&s->card);
}

static void a350_delete_bhs(void *opaque)
{
    a350_admin_destroy(opaque);
}

/* In reverse; every part may be missing. */
static void a350_teardown(Atlas350State *s)
{
    A350Card *c = &s->card;
    PCIDevice *pci = &s->parent_obj;

    if (s->vmstate_entry) {
        qemu_del_vm_change_state_handler(s->vmstate_entry);
        s->vmstate_entry = NULL;
        QTAILQ_REMOVE(&a350_cards, s, next);
    }
    if (s->admin.bh) {
        a350_help(s, a350_leave_fabric);
        if (c->aicpu) {
            a350_aicpu_destroy(c);
        }
        /* In their thread, so that none of them is running. */
        aio_wait_bh_oneshot(c->ctx, a350_delete_bhs, s);
        a350_ts_destroy(c);
        a350_ub_destroy(c);
        a350_mover_destroy(c);
    } else if (c->fabric) {
        a350_fabric_leave(c);
    }
    a350_hostmem_destroy(s);
    a350_log_destroy(s);
    if (s->msix_bh) {
        qemu_bh_delete(s->msix_bh);
        s->msix_bh = NULL;
    }
    a350_thread_destroy(s);
    if (msix_present(pci)) {
        msix_uninit(pci, &s->regs, &s->regs);
    }
    pcie_cap_exit(pci);
    /* A region in a container holds its owner, which is this device. */
    if (s->shm_ram.container) {
        memory_region_del_subregion(&s->shm, &s->shm_ram);
    }
    if (s->regs_io.container) {
        memory_region_del_subregion(&s->regs, &s->regs_io);
    }
}

static void a350_realize(PCIDevice *pci, Error **errp)
{
    Atlas350State *s = ATLAS350(pci);
    A350Card *c = &s->card;

    if (!a350_check_props(s, errp)) {
        return;
    }
    if (!a350_memory_init(s, errp)) {
        a350_teardown(s);
        return;
    }
    a350_card_init(s);
    s->msix_bh = qemu_bh_new_guarded(a350_msix_send, s,
                                     &DEVICE(s)->mem_reentrancy_guard);
    /* The card stands still until its first reset is over. */
    if (!a350_caps_init(s, errp) || !a350_thread_init(s, errp) ||
        !a350_fabric_join(c, s->fabric, errp) || !a350_blocks_init(s, errp)) {
        a350_teardown(s);
        return;
    }
    if (qemu_uuid_is_null(&s->uuid)) {
        a350_uuid_default(s);
    }
    a350_fabric_publish(c);
    if (!runstate_is_running()) {
        s->vm_stopped = true;
        a350_shell_quiesce(s);
    }
    s->vmstate_entry = qdev_add_vm_change_state_handler(DEVICE(s),
                                                        a350_vm_state, s);
    QTAILQ_INSERT_TAIL(&a350_cards, s, next);
}

static void a350_exit(PCIDevice *pci)
{
    Atlas350State *s = ATLAS350(pci);

    a350_shell_quiesce(s);
    a350_teardown(s);
}

static void a350_write_config(PCIDevice *pci, uint32_t addr, uint32_t val,
                              int len)
{
    pci_default_write_config(pci, addr, val, len);
    pcie_cap_flr_write_config(pci, addr, val, len);
}

/* ---- migration ---- */

static int a350_post_load(void *opaque, int version_id)
{
    Atlas350State *s = opaque;

    a350_ts_loaded(&s->card, s->status & A350_STATUS_STALLED);
    return a350_log_post_load(s);
}

static int a350_pre_save(void *opaque)
{
    Atlas350State *s = opaque;

    s->log_head = a350_log_head(s);
    return 0;
}

static const VMStateDescription vmstate_atlas350 = {
    .name = "atlas350",
    .version_id = 1,
    .minimum_version_id = 1,
    .pre_save = a350_pre_save,
    .post_load = a350_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_PCI_DEVICE(parent_obj, Atlas350State),
        VMSTATE_MSIX(parent_obj, Atlas350State),
        VMSTATE_UINT64_EQUAL(card.hbm_size, Atlas350State, NULL),
        VMSTATE_UINT32_EQUAL(card.index, Atlas350State, NULL),
        VMSTATE_UINT32_EQUAL(num_sq, Atlas350State, NULL),
        VMSTATE_UINT32_EQUAL(num_notify, Atlas350State, NULL),
        VMSTATE_UINT32_EQUAL(aicpu_cores, Atlas350State, NULL),
        VMSTATE_UINT32(status, Atlas350State),
        VMSTATE_UINT32(admin.posted, Atlas350State),
        VMSTATE_UINT32(admin.done, Atlas350State),
        VMSTATE_UINT64_ARRAY(msix_pending, Atlas350State,
                             A350_MSIX_VECTORS / 64),
        VMSTATE_UINT64(log_head, Atlas350State),
        VMSTATE_STRUCT(card, Atlas350State, 1, vmstate_a350_ts, A350Card),
        VMSTATE_STRUCT(card, Atlas350State, 1, vmstate_a350_mover, A350Card),
        VMSTATE_STRUCT(card, Atlas350State, 1, vmstate_a350_ub, A350Card),
        VMSTATE_STRUCT(card, Atlas350State, 1, vmstate_a350_aicpu, A350Card),
        VMSTATE_END_OF_LIST()
    },
};

/* ---- class ---- */

static const Property a350_properties[] = {
    DEFINE_PROP_SIZE("hbm-size", Atlas350State, hbm_size, 4 * GiB),
    DEFINE_PROP_UINT32("aicpu-cores", Atlas350State, aicpu_cores, 7),
    DEFINE_PROP_UINT32("num-sq", Atlas350State, num_sq, 256),
    DEFINE_PROP_UINT32("num-notify", Atlas350State, num_notify,
                       A350_NOTIFY_MAX),
    DEFINE_PROP_UINT32("card-index", Atlas350State, card_index, A350_ID_ANY),
    DEFINE_PROP_STRING("soc-name", Atlas350State, soc_name),
    DEFINE_PROP_STRING("firmware", Atlas350State, firmware),
    DEFINE_PROP_STRING("other-sqe", Atlas350State, other_sqe),
    DEFINE_PROP_LINK("fabric", Atlas350State, fabric, TYPE_A350_FABRIC,
                     Object *),
    DEFINE_PROP_LINK("iothread", Atlas350State, iothread, TYPE_IOTHREAD,
                     IOThread *),
    DEFINE_PROP_UUID_NODEFAULT("uuid", Atlas350State, uuid),
    DEFINE_PROP_CHR("log", Atlas350State, log_chr),
    DEFINE_PROP_CHR("aicpu-gdb", Atlas350State, gdb_chr),
};

static void a350_instance_init(Object *obj)
{
    Atlas350State *s = ATLAS350(obj);

    /* spec/README.md: the SKU the card reports */
    s->soc_name = g_strdup("Ascend950PR_958b");
    s->other_sqe = g_strdup("error");
}

static void a350_class_init(ObjectClass *klass, void *data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);
    PCIDeviceClass *pc = PCI_DEVICE_CLASS(klass);
    ResettableClass *rc = RESETTABLE_CLASS(klass);

    pc->realize = a350_realize;
    pc->exit = a350_exit;
    pc->config_write = a350_write_config;
    pc->vendor_id = A350_PCI_VENDOR_ID;
    pc->device_id = A350_PCI_DEVICE_ID;
    pc->subsystem_vendor_id = A350_PCI_SUBVENDOR_ID;
    pc->subsystem_id = A350_PCI_SUBDEVICE_ID;
    pc->class_id = A350_PCI_CLASS;
    pc->revision = A350_PCI_REVISION;
    dc->desc = "Atlas 350 accelerator card";
    dc->vmsd = &vmstate_atlas350;
    set_bit(DEVICE_CATEGORY_MISC, dc->categories);
    device_class_set_props(dc, a350_properties);
    resettable_class_set_parent_phases(rc, a350_reset_enter, a350_reset_hold,
                                       a350_reset_exit,
                                       &ATLAS350_CLASS(klass)->parent_phases);
}

static const TypeInfo a350_info = {
    .name = TYPE_ATLAS350,
    .parent = TYPE_PCI_DEVICE,
    .instance_size = sizeof(Atlas350State),
    .instance_init = a350_instance_init,
    .class_size = sizeof(Atlas350Class),
    .class_init = a350_class_init,
    .interfaces = (InterfaceInfo[]) {
        { INTERFACE_PCIE_DEVICE },
        { }
    },
};

static void a350_register_types(void)
{
    type_register_static(&a350_info);
}

type_init(a350_register_types)
