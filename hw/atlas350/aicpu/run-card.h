/*
 * aicpu-run: the card that --firmware and --script work on.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_ATLAS350_RUN_CARD_H
#define HW_ATLAS350_RUN_CARD_H

#include "hw/atlas350/aicpu.h"
#include "cluster.h"
#include "aicpu-run.h"

#define LAUNCHES_MAX        4096

typedef struct RunLaunch {
    char *spec, *function;
    uint64_t so, func, args;     /* device addresses */
    uint16_t blk_id, blk_dim;    /* blk_dim 0: one block */
    uint8_t type;                /* kernel type, 0: AICPU */
    double limit;                /* s; 0: the option's */
    const a350_launch_result *result;
    bool done;
    uint16_t errcode, status;
    int64_t start, end;
} RunLaunch;

typedef struct RunCard {
    const RunOptions *o;
    A350Cluster *cl;
    uint64_t base;
    uint8_t *hbm;
    uint64_t next;               /* first free offset of HBM */
    int64_t epoch;
    QemuMutex lock;
    QemuCond cond;               /* a launch ended, the firmware's state */
    QemuCond timer_cond;
    QemuThread timer;
    int64_t deadline;
    bool quit;
    uint32_t fw_status;
    int64_t end;                 /* of the time for all of it */
    bool late;                   /* it is over, and that was said */
    RunLaunch launch[LAUNCHES_MAX];
    unsigned num_launches;
} RunCard;

/* @size bytes of HBM: device address, and where they are here. */
uint64_t run_hbm_alloc(RunCard *rc, uint64_t size, void **p);
uint64_t run_hbm_string(RunCard *rc, const char *s);
/* A parameter block with its header in front; @data NULL: zeros. */
uint64_t run_hbm_args(RunCard *rc, const void *data, uint64_t size,
                      a350_launch_result **result, void **block);
RunLaunch *run_new_launch(RunCard *rc);
void run_post(RunCard *rc, RunLaunch *l);
/* Waits for a launch; false: the firmware has failed, or time is over. */
bool run_wait(RunCard *rc, RunLaunch *l);
/* Runs a built-in kernel; @param is read back. */
bool run_builtin(RunCard *rc, const char *name, void *param, size_t size);
/* Loads the files of a comma-separated list; false: not even tried. */
bool run_load_files(RunCard *rc, const char *list, a350_load_param *p);
bool run_parse_args(RunCard *rc, const char *text, GByteArray *out);
/* Prints how a launch ended; true if well. */
bool run_report(RunCard *rc, RunLaunch *l);

/* run-gdb.c: a server at socket @path; and waits until a debugger has come. */
typedef struct RunGdb RunGdb;
RunGdb *run_gdb_start(RunCard *rc, const char *path);
void run_gdb_wait(RunGdb *rg);
void run_gdb_stop(RunGdb *rg);

int run_script(RunCard *rc, const char *path); /* run-script.c */

#endif /* HW_ATLAS350_RUN_CARD_H */
