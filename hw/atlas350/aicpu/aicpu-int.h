/*
 * The card's AICPU block: its state.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_ATLAS350_AICPU_INT_H
#define HW_ATLAS350_AICPU_INT_H

#include "cluster.h"

/* A launch as the migration stream has it. */
typedef struct A350SavedLaunch {
    uint8_t mbox[sizeof(a350_topic_mbox)];
    uint64_t limit_ns;
} A350SavedLaunch;

/* One core as the migration stream has it; filled while it stands still. */
typedef struct A350SavedCore {
    A350CoreState st;
    bool wfi, locked_up, valid, running, forgotten, abort_line, ipi;
    bool interrupted, timer_armed, have_exc;
    uint8_t mbox[sizeof(a350_topic_mbox)];
    uint8_t exc[sizeof(a350_exc_record)];
    uint64_t limit_ns, timecmp, log_addr, log_level;
    int64_t deadline;
    uint32_t abort, line_len, line_level;
    uint8_t kernel[64], line[512];
} A350SavedCore;

/* Each queue of the card has at most this many launches waiting. */
#define A350_SAVED_LAUNCHES (A350_SQ_MAX * A350_LAUNCH_WINDOW)

struct A350Aicpu {
    A350Card *card;
    A350Cluster *cl;
    QEMUTimer *timer;            /* of the card's thread */
    bool held;                   /* not started yet */
    bool was_reset;
    struct A350GdbChr *gdb;      /* NULL without aicpu-gdb= */

    /* Migration only. */
    A350SavedCore saved[A350_AICPU_CORES_MAX];
    A350SavedLaunch *queue;
    int32_t queued;
    uint32_t num_saved, fw_status;
    uint8_t fw_error[256], fw_version[64];
    uint64_t rom_size, r_debug;
    uint8_t *sram;
};

/* gdb-chr.c: nobody debugs any more. */
void a350_aicpu_gdb_destroy(A350Aicpu *a);

#endif /* HW_ATLAS350_AICPU_INT_H */
