/*
 * One RV64GC core: machine and user mode, no paging.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The core knows memory regions and interrupt lines, nothing of queues or of
 * PCI. One thread at a time may be inside a350_core_run() or any function that
 * is not marked "any thread". Nothing here takes a lock: callbacks run on the
 * thread that called a350_core_run().
 *
 * Instructions are decoded once into blocks of 16-byte operations (decode.c)
 * whose handlers call each other in tail position (exec.c, fpu.c); blocks are
 * chained. Interrupt lines, kicks and the budget are looked at between blocks,
 * at most A350_BLOCK_INSNS instructions apart.
 *
 * Memory protection: each region says what machine and user mode may do with
 * it at most; within that the sixteen PMP entries decide, so user mode has
 * nothing until machine mode sets one. Everything outside the regions faults.
 */
#ifndef HW_ATLAS350_AICPU_CORE_H
#define HW_ATLAS350_AICPU_CORE_H

typedef struct A350Core A350Core;

/* Access bits of a region: what machine mode and what user mode may do. */
enum {
    A350_M_R = 1, A350_M_W = 2, A350_M_X = 4,
    A350_U_R = 8, A350_U_W = 16, A350_U_X = 32,
    A350_M_RWX = 7, A350_U_RWX = 56,
};

/* mip / mie bits. */
#define A350_IRQ_MSI    (1u << 3)
#define A350_IRQ_MTI    (1u << 7)
#define A350_IRQ_MEI    (1u << 11)

/* Why a350_core_run() came back. */
typedef enum A350CoreExit {
    A350_EXIT_BUDGET,            /* the instructions asked for are done */
    A350_EXIT_KICK,              /* a350_core_kick() */
    A350_EXIT_WFI,               /* waits for an interrupt; pc is behind wfi */
    A350_EXIT_DEBUG,             /* breakpoint or watchpoint, see debug_info */
    A350_EXIT_LOCKUP,            /* its trap handler cannot be fetched */
    A350_EXIT_HALT,              /* a callback said A350_EXIT_HALT */
} A350CoreExit;

typedef struct A350CoreOps {
    /*
     * Access to a region without host memory, naturally aligned, 1 to 8
     * bytes. False is an access fault.
     */
    bool (*mmio_read)(void *opaque, unsigned region, uint64_t offset,
                      unsigned size, uint64_t *val);
    bool (*mmio_write)(void *opaque, unsigned region, uint64_t offset,
                       unsigned size, uint64_t val);
    /* The time CSR, ns. */
    uint64_t (*time)(void *opaque);
    /* The core executed fence.i (its own cache is already dealt with). */
    void (*fence_i)(void *opaque);
    /*
     * Optional: an ecall from user mode, pc on it. True: handled, registers
     * hold the result and execution goes on behind it; false: trap as usual.
     */
    bool (*ecall)(void *opaque);
    /* Optional: a synchronous exception. True: run() returns HALT instead. */
    bool (*trap)(void *opaque, uint64_t cause, uint64_t pc, uint64_t tval);
} A350CoreOps;

#define A350_PMP_ENTRIES    16

/* Everything architectural; what VMState and GDB see. */
typedef struct A350CoreState {
    uint64_t pc;
    uint64_t x[32];
    uint64_t f[32];
    uint32_t fcsr;               /* frm 7:5, fflags 4:0 */
    uint32_t priv;               /* 3 machine, 0 user */
    uint64_t mstatus, mtvec, mscratch, mepc, mcause, mtval, mie, mip;
    uint64_t mcounteren, instret, cycle;
    uint64_t res_addr, res_val;  /* LR reservation, ~0 none */
    uint64_t pmpaddr[A350_PMP_ENTRIES];
    uint8_t pmpcfg[A350_PMP_ENTRIES];
} A350CoreState;

typedef enum A350DebugKind {
    A350_DEBUG_BREAK, A350_DEBUG_WATCH_W, A350_DEBUG_WATCH_R,
    A350_DEBUG_WATCH_A,
} A350DebugKind;

typedef struct A350DebugInfo {
    A350DebugKind kind;
    uint64_t addr;               /* of the instruction or of the data */
} A350DebugInfo;

A350Core *a350_core_new(unsigned hartid, const A350CoreOps *ops, void *opaque);
void a350_core_free(A350Core *c);

/*
 * Adds a region; returns its number, -1 when there are too many. The first
 * region with host memory that is readable and writable is the fast one.
 * @host NULL: MMIO, by callback.
 */
int a350_core_add_region(A350Core *c, uint64_t addr, uint64_t size,
                         void *host, unsigned access);

/* To machine mode at @pc with a0 = hartid; all else zero. */
void a350_core_reset(A350Core *c, uint64_t pc);

/*
 * Executes about @budget instructions (it ends between blocks; a350_core_step
 * executes exactly one or takes one trap).
 */
A350CoreExit a350_core_run(A350Core *c, int64_t budget);
A350CoreExit a350_core_step(A350Core *c);

/* Any thread: sets or clears a line (A350_IRQ_*). */
void a350_core_set_irq(A350Core *c, uint32_t line, bool level);
/* Any thread: is an enabled interrupt pending (a wfi would fall through)? */
bool a350_core_irq_pending(A350Core *c);
/* Any thread: makes run() return A350_EXIT_KICK soon, once. */
void a350_core_kick(A350Core *c);
/* Any thread: decoded code is stale; forget it before the next block. */
void a350_core_invalidate(A350Core *c);

void a350_core_get_state(A350Core *c, A350CoreState *s);
/* Returns false if @s holds what no core can hold; c is then unchanged. */
bool a350_core_set_state(A350Core *c, const A350CoreState *s);
/* For callbacks and debuggers: x1..x31, pc. */
uint64_t a350_core_get_x(A350Core *c, unsigned n);
void a350_core_set_x(A350Core *c, unsigned n, uint64_t val);
uint64_t a350_core_get_pc(A350Core *c);
uint64_t a350_core_instret(A350Core *c);

/* A callback may ask run() to return A350_EXIT_HALT after its instruction. */
void a350_core_halt(A350Core *c);

/* Host pointer to memory that any mode may reach, NULL if none or MMIO. */
void *a350_core_mem(A350Core *c, uint64_t addr, uint64_t size);
/* The same, NULL also if machine mode may not write it. */
void *a350_core_mem_rw(A350Core *c, uint64_t addr, uint64_t size);

/* Debugging. Sets are small; false when there is no room. */
bool a350_core_add_break(A350Core *c, uint64_t addr);
void a350_core_del_break(A350Core *c, uint64_t addr);
bool a350_core_add_watch(A350Core *c, A350DebugKind kind, uint64_t addr,
                         uint64_t len);
void a350_core_del_watch(A350Core *c, A350DebugKind kind, uint64_t addr,
                         uint64_t len);
A350DebugInfo a350_core_debug_info(A350Core *c);

#endif /* HW_ATLAS350_AICPU_CORE_H */
