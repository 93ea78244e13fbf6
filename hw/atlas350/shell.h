/*
 * Atlas 350 virtual card: the PCI function around the card's blocks.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Private to atlas350.c, regs.c, admin.c, log.c, hostmem.c and qmp.c; the
 * blocks see card.h only.
 */
#ifndef HW_ATLAS350_SHELL_H
#define HW_ATLAS350_SHELL_H

#include "hw/pci/pci_device.h"
#include "hw/pci/msix.h"
#include "hw/resettable.h"
#include "chardev/char-fe.h"
#include "system/iothread.h"
#include "block/aio.h"
#include "qemu/uuid.h"
#include "qemu/notify.h"
#include "hw/atlas350/admin.h"
#include "card.h"

#define TYPE_ATLAS350 "atlas350"
OBJECT_DECLARE_TYPE(Atlas350State, Atlas350Class, ATLAS350)

#define A350_HBM_MIN            (256 * MiB)
#define A350_HBM_MAX            (128 * GiB)

typedef struct A350HostMem A350HostMem;

/* Admin queue: slots whose doorbell rang, slots that wait to be read. */
typedef struct A350Admin {
    QEMUBH *bh;
    QemuMutex lock;             /* held while a command is executed */
    bool paused;                /* under lock */
    uint32_t posted;            /* atomic, bit per slot */
    uint32_t done;              /* atomic, bit per slot */
} A350Admin;

struct Atlas350Class {
    PCIDeviceClass parent_class;
    ResettablePhases parent_phases;
};

struct Atlas350State {
    PCIDevice parent_obj;

    A350Card card;

    MemoryRegion shm;           /* BAR0: container of 1 GiB */
    MemoryRegion shm_ram;       /* its backed start */
    MemoryRegion regs;          /* BAR2: container */
    MemoryRegion regs_io;
    MemoryRegion hbm;           /* BAR4 */

    /* properties */
    uint64_t hbm_size;
    uint32_t aicpu_cores;
    uint32_t num_sq;
    uint32_t num_notify;
    uint32_t card_index;        /* A350_ID_ANY: the lowest free one */
    char *soc_name;
    char *firmware;
    char *other_sqe;
    Object *fabric;
    IOThread *iothread;
    QemuUUID uuid;
    CharBackend log_chr;
    CharBackend gdb_chr;

    IOThread *own_iothread;     /* of the pool, where no iothread= is given */
    VMChangeStateEntry *vmstate_entry;
    A350HostMem *hostmem;
    A350Admin admin;
    uint32_t status;            /* atomic, A350_STATUS_* */
    uint32_t quiesced;          /* nesting, under the big lock */
    bool vm_stopped;            /* by the run state, one of quiesced */
    uint64_t log_head;          /* for VMState */
    QEMUBH *msix_bh;
    uint64_t msix_pending[A350_MSIX_VECTORS / 64]; /* atomic */
    QTAILQ_ENTRY(Atlas350State) next;
};

static inline Atlas350State *a350_shell(A350Card *c)
{
    return container_of(c, Atlas350State, card);
}

/* Cards of this process in the order of their realization; big lock. */
typedef QTAILQ_HEAD(A350CardList, Atlas350State) A350CardList;
extern A350CardList a350_cards;

/*
 * Stops every block of the card, and lets them go on; nests. With the big
 * lock. No thread of the card works when the first one returns.
 */
void a350_shell_quiesce(Atlas350State *s);
void a350_shell_unquiesce(Atlas350State *s);

/* ---- regs.c ---- */
extern const MemoryRegionOps a350_regs_ops;
uint32_t a350_mainboard_id(A350Card *c);

/* ---- admin.c ---- */
void a350_admin_init(Atlas350State *s);
void a350_admin_destroy(Atlas350State *s);
void a350_admin_doorbell(Atlas350State *s, uint32_t slot);
void a350_admin_pause(Atlas350State *s);
void a350_admin_resume(Atlas350State *s);
void a350_admin_reset(Atlas350State *s);

/* ---- qmp.c ---- */
void a350_qmp_stalled(A350Card *c, bool cycle, const char *text);

/* ---- log.c ---- */
void a350_log_init(Atlas350State *s);
void a350_log_destroy(Atlas350State *s);
void a350_log_reset(Atlas350State *s);
uint64_t a350_log_head(Atlas350State *s);
int a350_log_post_load(Atlas350State *s);

/* ---- hostmem.c ---- */

/*
 * Access to host memory through the function's bus master address space.
 * Only RAM; translations are made with the big lock and kept until the IOMMU
 * or the memory map takes them back.
 */
void a350_hostmem_init(Atlas350State *s);
void a350_hostmem_destroy(Atlas350State *s);
MemTxResult a350_hostmem_read(A350Card *c, uint64_t iova, void *buf,
                              uint64_t len, bool bulk);
MemTxResult a350_hostmem_write(A350Card *c, uint64_t iova, const void *buf,
                               uint64_t len, bool bulk);
/*
 * Translates for threads that wait for the big lock's holder until @done
 * says so. Called by that holder.
 */
void a350_hostmem_serve_until(Atlas350State *s, bool (*done)(void *opaque),
                              void *opaque);
/* Wakes a350_hostmem_serve_until to look at its condition again. */
void a350_hostmem_kick(Atlas350State *s);

#endif /* HW_ATLAS350_SHELL_H */
