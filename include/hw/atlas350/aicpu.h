/*
 * Atlas 350 virtual card: what an AICPU core sees, and what the firmware and
 * the host library say to each other through it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later OR Apache-2.0
 *
 * The topic mailbox is that of spec/hw/task-queues.md §3 (AICPU_D) and
 * spec/hw/aicpu.md §4; the rest is ours: docs/specs/atlas350-aicpu.rst.
 */
#ifndef HW_ATLAS350_AICPU_H
#define HW_ATLAS350_AICPU_H

#include <stdint.h>
#include "hw/atlas350/regs.h"

/*
 * Physical address map of a core (RV64GC, machine and user mode, no paging):
 *
 *   A350_AICPU_SRAM   shared by the card's cores, machine mode's own
 *   A350_AICPU_MMIO   the page below, core-relative, machine mode only
 *   A350_AICPU_ROM    the firmware image's archive, read-only, shared by all
 *                     cards of a process
 *   DEV_BASE + 0      HBM, at its device address
 *   DEV_BASE + A350_DEV_REG_OFFSET   registers as BAR2: user mode may use the
 *                     SQ pages and the notify tables only
 *
 * Everything else faults (load/store/fetch access fault).
 */
#define A350_AICPU_SRAM             0x10000000ull
#define A350_AICPU_SRAM_SIZE        0x00200000ull  /* 2 MiB */
#define A350_AICPU_MMIO             0x20000000ull
#define A350_AICPU_MMIO_SIZE        0x1000ull
#define A350_AICPU_ROM              0x40000000ull
#define A350_AICPU_ROM_MAX          0x10000000ull

/* Top of HBM that belongs to the firmware and to kernels' heaps. */
#define A350_FW_HBM_SIZE            (64ull << 20)

/*
 * The firmware file is an ELF64 RISC-V executable. Segments with a physical
 * address in SRAM are copied there at every reset; one segment may lie at
 * A350_AICPU_ROM and is mapped. All cores start at e_entry in machine mode
 * with a0 = core number; those above 0 are expected to wait for an IPI.
 * The ELF note A350 / 1 holds the version text shown by IDENTIFY.
 */
#define A350_FW_NOTE_NAME           "A350"
#define A350_FW_NOTE_VERSION        1u

/* MMIO page. Registers are 64 bits wide, accessed with 32 or 64 bits. */
#define A350_AM_CORE_ID             0x000  /* R */
#define A350_AM_NUM_CORES           0x008  /* R */
#define A350_AM_CARD_INDEX          0x010  /* R */
#define A350_AM_DEV_BASE            0x018  /* R */
#define A350_AM_HBM_SIZE            0x020  /* R: bytes of HBM */
#define A350_AM_FW_BASE             0x028  /* R: address of the reserve */
#define A350_AM_FW_SIZE             0x030  /* R */
#define A350_AM_ROM_SIZE            0x038  /* R: bytes at A350_AICPU_ROM */
#define A350_AM_TIME                0x040  /* R: card's clock, ns */
#define A350_AM_TIMECMP             0x048  /* RW: MTIP while TIME >= this */
#define A350_AM_IPI                 0x050  /* W: core number; sets its MSIP */
#define A350_AM_IPI_CLEAR           0x058  /* W: clears this core's MSIP */
#define A350_AM_WALL_TIME           0x060  /* R: host's real time, ns (UTC) */
#define A350_AM_RANDOM              0x068  /* R: 64 random bits */
#define A350_AM_MSQ_STATUS          0x080  /* R: spec/hw/aicpu.md §4 */
#define A350_AM_MSQ_ACCEPT          0x088  /* W: takes the mailbox; its clock */
#define A350_AM_TOPIC_CQE           0x090  /* W: errcode << 16 | status: ends */
#define A350_AM_ABORT               0x098  /* R: enum a350_abort; W: clears */
#define A350_AM_EXC_ADDR            0x0a0  /* W: struct a350_exc_record */
#define A350_AM_FW_STATUS           0x0a8  /* W: enum a350_fw_status */
#define A350_AM_FW_ERROR            0x0b0  /* W: address of a message, NUL */
#define A350_AM_LOG_ADDR            0x0c0  /* W: text in SRAM or HBM */
#define A350_AM_LOG_LEN             0x0c8  /* W: bytes; emits the text */
#define A350_AM_LOG_LEVEL           0x0d0  /* W: 0 debug .. 3 error, next one */
#define A350_AM_CONSOLE             0x0d8  /* W: one raw byte, for early boot */
#define A350_AM_KERNEL_ADDR         0x0e0  /* W: the kernel's name, 0: no one */
#define A350_AM_DEBUG_ADDR          0x0e8  /* W: address of the runtime's
                                              struct r_debug (link.h), through
                                              which a debugger finds loaded
                                              libraries; 0: none */
#define A350_AM_MSQ_DATA            0x100  /* R: struct a350_topic_mbox, 64 B */

#define A350_MSQ_VALID              0x1u   /* size field [3:1] = 6: 512 bits */
#define A350_MSQ_SIZE_512           (6u << 1)

/* mip bits: MSIP = IPI or abort, MTIP = timer, MEIP = mailbox valid. */

enum a350_abort {
    A350_ABORT_NONE = 0,
    A350_ABORT_TIMEOUT = 1,      /* the launch's time is over */
    A350_ABORT_QUEUE = 2,        /* its queue was reset or destroyed */
};

enum a350_fw_status {
    A350_FW_OFF = 0,             /* no firmware configured */
    A350_FW_LOADED = 1,
    A350_FW_BOOTING = 2,
    A350_FW_RUNTIME = 3,         /* C library up, runtime loading */
    A350_FW_READY = 4,           /* takes kernels */
    A350_FW_FAILED = 0x100,      /* low byte: why, text in the card log */
};

/* 64-byte topic mailbox: spec/hw/task-queues.md §3. */
typedef struct a350_topic_mbox {
    uint16_t h0;                 /* mailbox id 7:0, vfid 13:8, rsp 14, sat 15 */
    uint16_t blk_dim;
    uint16_t stream_id, task_id; /* halves of the task number */
    uint16_t blk_id;
    uint16_t kernel;             /* type 6:0, batch 7, topic 11:8, qos 14:12 */
    uint32_t pid;
    uint32_t user_data[10];      /* w4..w13 of the SQE */
    uint32_t topic;              /* subtopic 11:0, id 17:12, group 23:18, len */
    uint16_t hac_sn, tq_id;      /* tq_id: SQ id */
} a350_topic_mbox;
A350_STATIC_ASSERT(sizeof(a350_topic_mbox) == 64);
A350_STATIC_ASSERT(offsetof(a350_topic_mbox, user_data) == 16);
A350_STATIC_ASSERT(offsetof(a350_topic_mbox, topic) == 56);

/*
 * Exception record of a failed launch. The firmware fills it and writes its
 * address to A350_AM_EXC_ADDR before it ends the launch; the card copies it,
 * logs it and hands it out (result block of the launch, below).
 */
#define A350_EXC_FRAMES             16
typedef struct a350_exc_record {
    uint32_t cause;              /* mcause, or A350_EXC_* */
    uint32_t core;
    uint32_t sq_id, task;
    uint64_t pc, addr;           /* addr: mtval */
    uint64_t x[32];
    uint64_t frame[A350_EXC_FRAMES];
    uint32_t frames, exit_code;
    char kernel[64];             /* functionName */
    char library[64];            /* kernelSo */
    char where[160];             /* symbol+offset (file:line where known);
                                    A350_EXC_RETURN: the kernel's last failed
                                    Hcomm call, as that library says it */
    char text[160];              /* one sentence for people */
} a350_exc_record;
#define A350_EXC_ABORT              0x100u /* abort(), uncaught exception */
#define A350_EXC_EXIT               0x101u /* exit() inside a kernel */
#define A350_EXC_TIMEOUT            0x102u
#define A350_EXC_NO_MEMORY          0x103u
#define A350_EXC_RETURN             0x104u /* the kernel returned non-zero */
#define A350_EXC_LOOKUP             0x105u /* library or function not found */

/*
 * Kernel libraries. The host puts the image into HBM and launches one of the
 * built-in functions below (kernelSo = A350_BUILTIN_SO) with the parameter
 * block as its argument; the reply is written into the same block. A loaded
 * library is then named by the path the reply gives, "/kernels/<id>/<name>",
 * which is what an AICPU_D entry's kernelSo string holds: the same name with
 * another content never meets it.
 */
#define A350_BUILTIN_SO             ""
#define A350_BUILTIN_LOAD           "a350_load"
#define A350_BUILTIN_UNLOAD         "a350_unload"
#define A350_BUILTIN_LOOKUP         "a350_lookup"
#define A350_BUILTIN_STATS          "a350_stats"

/* aeStatus codes of a failed load or call: spec/hw/aicpu.md §4. */
#define A350_AE_OK                  0u
#define A350_AE_TASK_FAIL           1u
#define A350_AE_BAD_PARAM           11001u
#define A350_AE_OPEN_SO             11002u
#define A350_AE_NO_FUNCTION         11003u
#define A350_AE_SO_NAME             11007u
#define A350_AE_KERNEL_NAME         11008u

#define A350_KERNEL_PATH_MAX        256
#define A350_KERNEL_MSG_MAX         512

typedef struct a350_load_file {
    char name[A350_KERNEL_PATH_MAX];     /* base name, e.g. "libfoo.so" */
    uint64_t image, size;                /* device address, bytes */
} a350_load_file;

/* a350_load: @files[0] is the kernel library, others are what it needs. */
typedef struct a350_load_param {
    uint32_t num_files;                  /* 1..64 */
    uint32_t flags;
    uint64_t files;                      /* address of a350_load_file[] */
    uint32_t status;                     /* out: A350_AE_* */
    uint32_t id;                         /* out: load id */
    char path[A350_KERNEL_PATH_MAX];     /* out: for kernelSo */
    char message[A350_KERNEL_MSG_MAX];   /* out: reason of a failure */
} a350_load_param;

typedef struct a350_unload_param {
    uint32_t id;
    uint32_t status;
    char message[A350_KERNEL_MSG_MAX];
} a350_unload_param;

/* a350_lookup: is @function in the library at @path? */
typedef struct a350_lookup_param {
    char path[A350_KERNEL_PATH_MAX];
    char function[A350_KERNEL_PATH_MAX];
    uint32_t status;
    uint32_t reserved;
    char message[A350_KERNEL_MSG_MAX];
} a350_lookup_param;

typedef struct a350_stats_param {
    uint64_t heap_used, heap_size;       /* bytes of the firmware's reserve */
    uint64_t launches, failures;
    uint32_t loaded, cores;
    char version[64];
} a350_stats_param;

/*
 * A kernel's argument block in HBM is preceded by this header (the SQE's
 * argument address points behind it), through which the host learns more
 * than the 16-bit code of the CQE. @result 0 as posted.
 */
#define A350_ARGS_MAGIC             0x41303541u
typedef struct a350_args_header {
    uint32_t magic;
    uint32_t args_size;                  /* bytes that follow, <= 64 KiB */
    uint64_t result;                     /* of a350_launch_result, 0: none */
} a350_args_header;
A350_STATIC_ASSERT(sizeof(a350_args_header) == 16);
#define A350_ARGS_MAX               65536u

/* Written by the firmware only when a launch fails. */
typedef struct a350_launch_result {
    uint32_t status;                     /* A350_AE_* or the kernel's return */
    uint32_t valid;                      /* 1: exc below is filled */
    a350_exc_record exc;
} a350_launch_result;

#endif /* HW_ATLAS350_AICPU_H */
