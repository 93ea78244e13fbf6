/*
 * GDB server of a card's AICPU cores: the remote protocol.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Transport and threads are the owner's: it feeds bytes to a350_gdb_input()
 * and calls a350_gdb_poll() soon after A350GdbOps.wake, both from one thread
 * (never a core's) without the cluster's lock.
 */
#ifndef HW_ATLAS350_AICPU_GDB_H
#define HW_ATLAS350_AICPU_GDB_H

#include "cluster.h"

typedef struct A350Gdb A350Gdb;

typedef struct A350GdbOps {
    void (*write)(void *opaque, const char *buf, size_t len);
    /* From a core's thread, the cluster's lock held: call a350_gdb_poll(). */
    void (*wake)(void *opaque);
} A350GdbOps;

A350Gdb *a350_gdb_new(A350Cluster *cl, const A350GdbOps *ops, void *opaque);
/* Cores go on, breakpoints are gone. */
void a350_gdb_free(A350Gdb *g);
/* A debugger has come (all cores stop) or gone. */
void a350_gdb_connect(A350Gdb *g);
void a350_gdb_disconnect(A350Gdb *g);
void a350_gdb_input(A350Gdb *g, const char *buf, size_t len);
void a350_gdb_poll(A350Gdb *g);

/* gdb-regs.c */
#define A350_GDB_NUM_REGS   76
const char *a350_gdb_target_xml(void);
/* Value and size in bytes of register @n; 0: there is none. */
unsigned a350_gdb_get_reg(const A350CoreState *s, unsigned n, uint64_t *val);
unsigned a350_gdb_set_reg(A350CoreState *s, unsigned n, uint64_t val);

#endif /* HW_ATLAS350_AICPU_GDB_H */
