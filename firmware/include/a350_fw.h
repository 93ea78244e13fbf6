/*
 * Atlas 350 firmware: what the monitor and the runtime say to each other.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Private system calls, numbered above Linux's own. Arguments in a0.., number
 * in a7, result in a0, negative values are -errno. Kernels run in the same
 * mode as the runtime and can issue them too: each is safe against any
 * argument, and those that only make sense outside a launch refuse inside.
 * docs/firmware.rst describes them one by one.
 */
#ifndef A350_FW_H
#define A350_FW_H

#include <stdint.h>
#include "hw/atlas350/aicpu.h"
#include "hw/atlas350/sqe.h"

enum a350_fw_sys {
    A350_SYS_FIRST = 0x3500,
    A350_SYS_NEXT = 0x3500,        /* (a350_fw_call *) wait for a launch */
    A350_SYS_END = 0x3501,         /* (errcode, a350_exc_record * or 0) */
    A350_SYS_PARK = 0x3502,        /* () wait to become a core's worker */
    A350_SYS_PLACE = 0x3503,       /* (core) where the next thread starts */
    A350_SYS_CRASH_ENTRY = 0x3504, /* (entry, stack, size, a350_fw_crash *) */
    A350_SYS_CRASH = 0x3505,       /* (cause, code, text) ends the launch */
    A350_SYS_DIE = 0x3506,         /* () the worker ends, a spare follows */
    A350_SYS_FILE_NEW = 0x3507,    /* (path, alias, size) address of bytes */
    A350_SYS_FILE_DEL = 0x3508,    /* (path) */
    A350_SYS_FILE_GET = 0x3509,    /* (index, a350_fw_file *) */
    A350_SYS_STATUS = 0x350a,      /* (enum a350_fw_status, text, r_debug) */
    A350_SYS_LOG = 0x350b,         /* (level, text, length) */
    A350_SYS_RESTART = 0x350c,     /* (text) new runtime once all is idle */
    A350_SYS_STATS = 0x350d,       /* (a350_fw_stats *) */
    A350_SYS_BLOCK = 0x350e,       /* () block id | block count << 32 */
    A350_SYS_LAST = 0x350e,
};

/* One launch, as A350_SYS_NEXT gives it out. */
typedef struct a350_fw_call {
    uint64_t args;                 /* parameter block, in HBM */
    uint32_t blk_id, blk_dim;
    uint32_t kernel_type;          /* spec/hw/aicpu.md §4 */
    uint32_t status;               /* A350_AE_* if the launch is malformed */
    uint32_t sq_id, task;
    uint32_t core, serial;         /* serial: number of this launch */
    char so[A350_KERNEL_PATH_MAX];
    char function[A350_KERNEL_PATH_MAX];
} a350_fw_call;

/*
 * What a worker finds when its launch died: the monitor fills this, and
 * continues at the crash entry as if a signal handler were called there, so
 * that the C library's unwinder can walk from it into the dead code.
 */
typedef struct a350_fw_crash {
    a350_exc_record rec;
} a350_fw_crash;

typedef struct a350_fw_file {
    char path[A350_KERNEL_PATH_MAX];
    uint64_t addr, size;
    uint32_t ino, flags;
} a350_fw_file;

typedef struct a350_fw_stats {
    uint64_t page_size, pages, pages_used;
    uint64_t fw_base, dev_base, hbm_size;
    uint64_t launches, failures;
    uint32_t cores, restarts;
} a350_fw_stats;

/* Completion code of a launch that died of @cause: spec/hw/aicpu.md, summary. */
static inline uint32_t a350_fw_death_code(uint32_t cause)
{
    return cause == A350_EXC_TIMEOUT ? A350_AICPU_ERR_TIMEOUT
                                     : A350_AICPU_ERR_EXCEPTION;
}

#define A350_FW_MAP_DIRTY 0x4000000  /* mmap: contents need not be zero */

#endif /* A350_FW_H */
