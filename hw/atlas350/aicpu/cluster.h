/*
 * The AICPU cores of one card: threads, SRAM, MMIO page, mailbox, firmware.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Used by the card (aicpu.c) and by the stand-alone aicpu-run. The cluster
 * knows neither PCI nor queues: what it needs of them are A350ClusterOps.
 *
 * Threads: one per core; every function here may be called from any thread
 * that is not a core's, and callbacks are made without the cluster's lock
 * held unless they say otherwise. No big QEMU lock is needed or taken.
 */
#ifndef HW_ATLAS350_AICPU_CLUSTER_H
#define HW_ATLAS350_AICPU_CLUSTER_H

#include "qemu/thread.h"
#include "qemu/queue.h"
#include "hw/atlas350/aicpu.h"
#include "hw/atlas350/sqe.h"
#include "core.h"

typedef struct A350Cluster A350Cluster;
typedef struct A350ClusterCore A350ClusterCore;
typedef struct A350Firmware A350Firmware;

#define A350_NEVER          INT64_MAX

enum a350_log_level { A350_LOG_DEBUG, A350_LOG_INFO, A350_LOG_WARN,
                      A350_LOG_ERROR };

typedef struct A350ClusterOps {
    /* The card's clock, ns. Any lock may be held. */
    int64_t (*clock)(void *opaque);
    /* Call a350_cluster_timer() at @ns of that clock (lock held). */
    void (*arm_timer)(void *opaque, int64_t ns);
    /* One line of the card's log, without the newline. */
    void (*log)(void *opaque, int level, const char *line);
    /* A launch has ended; exc is NULL or the record of its failure. */
    void (*done)(void *opaque, const a350_topic_mbox *mbox, uint16_t errcode,
                 uint16_t status, const a350_exc_record *exc);
    /* The firmware's state changed; message: why it failed, or NULL. */
    void (*fw_status)(void *opaque, uint32_t status, const char *message);
    /* Registers at BAR2 offset @offset: SQ pages and notify tables. */
    bool (*reg_read)(void *opaque, uint32_t offset, unsigned size,
                     uint64_t *val);
    bool (*reg_write)(void *opaque, uint32_t offset, unsigned size,
                      uint64_t val);
} A350ClusterOps;

typedef struct A350Launch {
    a350_topic_mbox mbox;
    uint64_t limit_ns;           /* 0: for ever */
    QTAILQ_ENTRY(A350Launch) next;
} A350Launch;

/* A launch whose end is being told. */
typedef struct A350Telling {
    const a350_topic_mbox *mbox;
    QLIST_ENTRY(A350Telling) next;
} A350Telling;

/* What a core has besides its registers; protected by the cluster's lock. */
struct A350ClusterCore {
    A350Cluster *cluster;
    A350Core *core;
    unsigned index;
    QemuThread thread;
    QemuCond cond;
    bool parked;                 /* its thread is not inside run() */
    bool wfi;                    /* waits for an interrupt */
    bool locked_up;
    bool stopped;                /* by the debugger */
    bool step;                   /* the debugger wants one instruction */
    bool event;                  /* stopped by itself, not reported yet */
    A350CoreExit why;            /* its reason */

    /* The mailbox and the launch in it. */
    bool valid;                  /* shown, not accepted */
    bool running;                /* accepted, not answered */
    bool forgotten;              /* its queue does not want the answer */
    a350_topic_mbox mbox;
    uint64_t limit_ns;
    int64_t deadline;            /* A350_NEVER: none */
    uint32_t abort;              /* enum a350_abort */
    bool abort_line, ipi;        /* both make MSIP */
    bool have_exc;
    a350_exc_record exc;

    bool interrupted;            /* by us; the deadline is the firmware's */

    uint64_t timecmp;
    bool timer_armed;            /* timecmp has not been reached yet */
    uint64_t log_addr, log_level;
    char kernel[64];             /* name for the log */
    char line[512];              /* text without its newline yet */
    unsigned line_len;
    int line_level;
};

struct A350Cluster {
    const A350ClusterOps *ops;
    void *opaque;
    unsigned num_cores;
    uint32_t card_index;
    uint64_t dev_base, hbm_size, fw_size;
    uint8_t *hbm;
    uint8_t *sram;
    A350Firmware *fw;
    int region_mmio, region_reg;

    QemuMutex lock;
    QemuCond parked_cond;        /* a core's thread has parked */
    bool quit;
    unsigned paused;             /* depth */
    uint32_t fw_status;
    char fw_error[256];
    uint64_t r_debug;            /* the runtime's, 0 none */
    int64_t boot_deadline;       /* for status READY */
    int64_t armed;               /* what the timer was last armed for */
    QTAILQ_HEAD(, A350Launch) queue;
    unsigned queued;
    QTAILQ_HEAD(, A350Launch) failed; /* their end is to be told */
    QLIST_HEAD(, A350Telling) telling;
    QemuCond told_cond;
    A350ClusterCore core[A350_AICPU_CORES_MAX];
    bool debugged;               /* a debugger is there */
    /* A core has stopped by itself (lock held, the core's thread). */
    void (*debug_hook)(void *opaque);
    void *debug_opaque;
};

/* ---- cluster.c ---- */

typedef struct A350ClusterConfig {
    unsigned num_cores;          /* 1..A350_AICPU_CORES_MAX */
    uint32_t card_index;
    uint64_t dev_base;
    uint8_t *hbm;
    uint64_t hbm_size;
    A350Firmware *fw;            /* NULL: cores stay off; owned from here on */
} A350ClusterConfig;

/* Creates the threads, paused once: a350_cluster_resume() lets them go. */
A350Cluster *a350_cluster_new(const A350ClusterConfig *cfg,
                              const A350ClusterOps *ops, void *opaque);
/* Ends the threads; after that only _free may be called. */
void a350_cluster_stop(A350Cluster *cl);
void a350_cluster_free(A350Cluster *cl);
/* Power-on state: SRAM and cores as the firmware file says, queue empty. */
void a350_cluster_reset(A350Cluster *cl);
/* Returns when no core executes; calls nest. */
void a350_cluster_pause(A350Cluster *cl);
void a350_cluster_resume(A350Cluster *cl);
void a350_cluster_submit(A350Cluster *cl, const a350_topic_mbox *mbox,
                         uint64_t limit_ns);
/*
 * Forgets the launch of @sq and @task; ends it if it runs. No ops->done of it
 * is running when this returns and none follows, so no lock may be held that
 * that takes.
 */
void a350_cluster_abort(A350Cluster *cl, uint32_t sq, uint32_t task);
bool a350_cluster_ready(A350Cluster *cl);
/* The timer armed by ops->arm_timer went off. */
void a350_cluster_timer(A350Cluster *cl);
/* After loading a snapshot: lines, timers and windows follow the state. */
void a350_cluster_restored(A350Cluster *cl);

/* Forgets the launches that no core has. */
void a350_cluster_drop_queue(A350Cluster *cl);

/* For page.c and the debugger, lock held. */
void a350_cluster_update_msip(A350ClusterCore *cc);
void a350_cluster_rearm(A350Cluster *cl);
/* Ends the running launch by interrupt; @why: enum a350_abort. */
void a350_cluster_interrupt(A350ClusterCore *cc, uint32_t why);
bool a350_cluster_assign(A350ClusterCore *cc);
/* Tells the owner that a launch has ended; drops the lock meanwhile. */
void a350_cluster_tell(A350Cluster *cl, const a350_topic_mbox *mbox,
                       uint16_t errcode, uint16_t status,
                       const a350_exc_record *exc);
/* Drops the lock while the owner is told. */
void a350_cluster_set_fw_status(A350Cluster *cl, uint32_t status);
void a350_cluster_wake(A350ClusterCore *cc);

/*
 * Debugger: stops all cores (the VM goes on); returns when they stand. Core
 * state and memory may be looked at and changed until _debug_resume, which
 * lets the cores of mask @go run and those of @step do one instruction.
 */
void a350_cluster_debug_stop(A350Cluster *cl);
void a350_cluster_debug_resume(A350Cluster *cl, unsigned go, unsigned step);

/* ---- page.c ---- */
bool a350_page_read(A350ClusterCore *cc, uint64_t off, unsigned size,
                    uint64_t *val);
bool a350_page_write(A350ClusterCore *cc, uint64_t off, unsigned size,
                     uint64_t val);
/* Emits what is left of a core's last line. */
void a350_page_flush_line(A350ClusterCore *cc);

/* ---- fwimage.c ---- */

/* Maps and checks a firmware file; NULL and errp if it cannot be used. */
A350Firmware *a350_firmware_open(const char *path, Error **errp);
void a350_firmware_free(A350Firmware *fw);
uint64_t a350_firmware_entry(const A350Firmware *fw);
const char *a350_firmware_version(const A350Firmware *fw);
/* The archive, NULL if the file has none. */
const void *a350_firmware_rom(const A350Firmware *fw, uint64_t *size);
void a350_firmware_load_sram(const A350Firmware *fw, uint8_t *sram);

#endif /* HW_ATLAS350_AICPU_CLUSTER_H */
