/*
 * RV64GC core: what its files share.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_ATLAS350_AICPU_CORE_INT_H
#define HW_ATLAS350_AICPU_CORE_INT_H

#include "qemu/atomic.h"
#include "qemu/bswap.h"
#include "qemu/tsan.h"
#include "fpu/softfloat.h"
#include "core.h"

typedef union Op Op;
typedef struct Block Block;

/*
 * State that handlers hand on in registers: the core, the operation, the
 * instructions left, and the fast memory window [base, base + lim) with
 * host address = address + bias.
 */
#define OP_ARGS A350Core *c, const Op *ip, int64_t left, uint64_t base, \
                uint64_t lim, uint64_t bias
#define OP_PASS c, ip, left, base, lim, bias
typedef int OpFn(OP_ARGS);

/*
 * One slot of a block. An operation that cannot end a block holds its slot
 * number in @n, one that ends it the instructions of the whole block; the
 * latter is followed by a link slot, an address slot and two resolvers.
 */
union Op {
    struct {
        OpFn *fn;
        uint8_t rd, rs1, rs2, n;
        int32_t imm;
    };
    struct {
        const Op *taken, *fall;
    };
    struct {
        uint64_t taken_pc, next_pc;  /* taken_pc: own pc if it never jumps */
    };
    Block *block;                /* the slot before the first operation */
};
QEMU_BUILD_BUG_ON(sizeof(Op) != 16);
QEMU_BUILD_BUG_ON(HOST_BIG_ENDIAN);

#define A350_BLOCK_INSNS    64
#define BLOCK_SLOTS         200
#define END_SLOTS           5
#define REG_SINK            32   /* where writes to x0 go */

struct Block {
    Block *next;                 /* of the same hash */
    uint64_t pc, key;            /* key: pc | user */
    const Op *ops;
    uint8_t *pcoff, *icnt;       /* per slot: halfwords and insns before it */
    unsigned bytes;              /* of instructions */
};

#define JC_BITS             12
#define HASH_BITS           13
#define ARENA_SIZE          (8u << 20)
#define MAX_REGIONS         12
#define MAX_BREAK           64
#define MAX_WATCH           16

typedef struct Region {
    uint64_t addr, size;
    uint8_t *host;
    unsigned access;
} Region;

typedef struct Watch {
    A350DebugKind kind;
    uint64_t addr, len;
} Watch;

#define PMP_NUMBERS         64
typedef struct PmpState {
    uint64_t addr[PMP_NUMBERS];  /* those from A350_PMP_ENTRIES on stay 0 */
    uint8_t cfg[PMP_NUMBERS];
    bool machine;                /* some entry matters to machine mode */
    struct {
        uint64_t addr, len;
    } win[2];                    /* read-write stretch, machine and user */
} PmpState;

/* Bits of A350Core.pending. */
#define PEND_IRQ            1u
#define PEND_KICK           2u
#define PEND_FLUSH          4u
#define PEND_HALT           8u

struct A350Core {
    uint64_t x[33];
    uint32_t pending;            /* atomic */
    uint32_t user;               /* 1 in user mode: low bit of block keys */
    uint64_t f[32];
    uint64_t mstatus;
    float_status fp;
    uint8_t frm;
    uint64_t pc;
    struct {
        uint64_t key;
        const Op *op;
    } jc[1 << JC_BITS];

    int64_t left, start;         /* budget accounting of this run */
    const Op *go;                /* see GO() */
    uint64_t base, lim, bias;    /* the window handlers start with */
    uint64_t instret, cycle_off;
    uint64_t mtvec, mscratch, mepc, mcause, mtval, mie, mcounteren;
    uint64_t mip;                /* atomic */
    uint64_t res_addr, res_val;
    uint64_t loaded;             /* by a handler's slow half */
    uint32_t ex_cause;           /* of the trap being taken */
    uint64_t ex_tval;

    unsigned hartid;
    const A350CoreOps *ops;
    void *opaque;
    Region region[MAX_REGIONS];
    unsigned num_regions, last;
    int fast;                    /* region of the window, -1 none */
    PmpState pmp;
    unsigned data_user;          /* loads and stores use user permissions */

    Block *hash[1 << HASH_BITS];
    uint8_t *arena;
    size_t arena_used;
    uint64_t flushes;
    bool fault_blocks;           /* some block ends in a fetch fault */
    bool single;                 /* decode one instruction, do not keep it */

    uint64_t brk[MAX_BREAK];
    unsigned num_brk;
    Watch watch[MAX_WATCH];
    unsigned num_watch;
    uint64_t skip_pc;            /* breakpoint to step over, ~0 none */
    uint64_t stop_pc;            /* where one was reported last, ~0 none */
    bool skip_watch;
    A350DebugInfo debug;
};

/* Whether programs on the cores race is their affair, and not TSan's. */
#define GUEST_ACCESS(...)                                               \
    do {                                                                \
        QEMU_TSAN_ANNOTATE_IGNORE_READS_BEGIN();                        \
        QEMU_TSAN_ANNOTATE_IGNORE_WRITES_BEGIN();                       \
        __VA_ARGS__;                                                    \
        QEMU_TSAN_ANNOTATE_IGNORE_WRITES_END();                         \
        QEMU_TSAN_ANNOTATE_IGNORE_READS_END();                          \
    } while (0)

/* mstatus fields. */
#define MS_MIE      (1ull << 3)
#define MS_MPIE     (1ull << 7)
#define MS_MPP      (3ull << 11)
#define MS_FS       (3ull << 13)
#define MS_MPRV     (1ull << 17)
#define MS_TW       (1ull << 21)
#define MS_UXL      (2ull << 32)
#define MS_SD       (1ull << 63)

/* Exception causes. */
#define EX_FETCH_MISALIGNED 0
#define EX_FETCH            1
#define EX_ILLEGAL          2
#define EX_BREAK            3
#define EX_LOAD_MISALIGNED  4
#define EX_LOAD             5
#define EX_STORE_MISALIGNED 6
#define EX_STORE            7
#define EX_ECALL_U          8
#define EX_ECALL_M          11
#define EX_DEBUG            ~0u  /* not a cause: a watchpoint hit */

/* core.c */
/* Enters the trap handler; false: the owner of the core wants it to halt. */
bool a350_core_trap(A350Core *c, uint32_t cause, uint64_t tval);
/* Takes the most urgent interrupt that is pending and enabled, if any. */
bool a350_core_irq_taken(A350Core *c);
void a350_core_window(A350Core *c);
void a350_core_flush(A350Core *c);
/* Host address for an atomic outside the window; NULL: exception in *ex. */
void *a350_core_atomic(A350Core *c, uint64_t addr, unsigned size, bool load,
                       uint32_t *ex);
const Op *a350_core_lookup(A350Core *c);
uint32_t a350_core_load(A350Core *c, uint64_t addr, unsigned size,
                        uint64_t *val);
uint32_t a350_core_store(A350Core *c, uint64_t addr, unsigned size,
                         uint64_t val);
/* Loads the halfword at @pc; false: access fault. */
bool a350_core_fetch16(A350Core *c, uint64_t pc, uint16_t *h);
uint32_t a350_core_fetch_insn(A350Core *c, uint64_t pc);

/* csr.c: false is an illegal instruction. */
bool a350_csr_read(A350Core *c, unsigned csr, int64_t left, uint64_t *val);
bool a350_csr_write(A350Core *c, unsigned csr, int64_t left, uint64_t val);
uint32_t a350_fflags_get(A350Core *c);
void a350_fflags_set(A350Core *c, uint32_t flags);

#define CSR_PMPCFG0         0x3a0
#define CSR_PMPADDR0        0x3b0
#define PMP_R               1
#define PMP_W               2
#define PMP_X               4

/* pmp.c */
bool a350_pmp_check(const A350Core *c, uint64_t addr, unsigned size,
                    bool user, unsigned need);
void a350_pmp_changed(A350Core *c);
bool a350_pmp_read(A350Core *c, unsigned csr, uint64_t *val);
bool a350_pmp_write(A350Core *c, unsigned csr, uint64_t val);

/* state.c: does the debugger want to know? */
bool a350_is_break(A350Core *c, uint64_t pc);
bool a350_watch_hit(A350Core *c, uint64_t addr, unsigned size, bool write);

/* decode.c: decodes the block at c->pc into the arena; NULL: trapped. */
Block *a350_decode_block(A350Core *c);
uint32_t a350_rvc_expand(uint16_t h);

/* exec.c */
OpFn a350_exec_enter, a350_exec_trap, a350_exec_illegal;
#define I(name, match, mask, fmt) OpFn a350_op_##name;
#include "insns.h.inc"
#undef I

/* Numbers of the table's entries, in its order. */
#define I(name, match, mask, fmt) A350_INSN_##name,
enum {
#include "insns.h.inc"
    A350_NUM_INSNS,
};
#undef I

/* pair.c: a handler for two operations in a row, NULL if there is none. */
OpFn *a350_pair(unsigned first, unsigned second);

OpFn a350_op_resolve_taken, a350_op_resolve_fall, a350_op_end;
OpFn a350_op_illegal, a350_op_breakpoint, a350_op_fetch_fault;
OpFn a350_op_fp_lw, a350_op_fp_ld, a350_op_fp_sw, a350_op_fp_sd;

/*
 * Handlers go on to the next operation by a call in tail position. Without
 * optimisation, and for the thread sanitizer, compilers do not turn that into
 * a jump, and the stack would grow; then each handler returns to a loop in
 * a350_core_run() instead.
 */
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_THREAD__)
#define GO(op)  do { ip = (op); return ip->fn(OP_PASS); } while (0)
#else
#define GO(op)  do { c->left = left; c->go = (op); return -1; } while (0)
#endif
#define NEXT    GO(ip + 1)

#endif /* HW_ATLAS350_AICPU_CORE_INT_H */
