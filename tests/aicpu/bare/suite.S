/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program in the style of the public conformance suites, none of whose text
 * is in it: start-up that probes what a core may lack (each probe has a
 * temporary trap handler behind it), protection opened by pmpaddr0, a mret
 * from machine to user mode, checks there, an ecall back, checks of machine
 * mode, and the result as two words at tohost.
 *
 * No compressed instructions; gp holds the number of the current check.
 */
    .option norvc
    .option norelax

#define MPP             0x1800
#define CAUSE_ILLEGAL   2
#define CAUSE_BREAK     3
#define CAUSE_ECALL_U   8
#define CAUSE_ECALL_M   11

/* A CSR that may not be there: a trap comes to the end of the probe. */
.macro probe insn:vararg
    la      t0, 9f
    csrw    mtvec, t0
    \insn
    .balign 4
9:
.endm

/* Starts check \n; a register has to hold \val at its end. */
.macro check n
    li      gp, \n
.endm
.macro equal reg, val:vararg
    li      t6, \val
    bne     \reg, t6, fail
.endm

/* \insn has to trap with \cause; mtval is left in s3. */
.macro traps cause, insn:vararg
    li      s1, \cause
    li      s2, 0
9:  \insn
    la      t6, 9b
    bne     s2, t6, fail
.endm

    .section .text.start, "ax"
    .globl _start
_start:
    j       reset
    .balign 4
trap_vector:
    csrr    t5, mcause
    li      t6, CAUSE_ECALL_U
    beq     t5, t6, from_user
    bne     t5, s1, fail            /* nobody expects it */
    csrr    s2, mepc
    csrr    s3, mtval
    addi    t6, s2, 4
    csrw    mepc, t6
    mret

from_user:                          /* a7 93: the end; else: machine mode */
    li      t6, 93
    beq     a7, t6, write_tohost
    j       machine

fail:
    slli    gp, gp, 1
    ori     gp, gp, 1
    csrr    t5, mcycle              /* user mode: comes back by trap_vector */
write_tohost:
    la      t5, tohost
    sw      gp, 0(t5)
    sw      zero, 4(t5)
    j       write_tohost

reset:
    .irp r, 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
    li      x\r, 0
    .endr
    csrr    a0, mhartid
1:  bnez    a0, 1b
    probe   csrwi 0x744, 8          /* mnstatus: resumable NMIs */
    probe   csrwi satp, 0           /* supervisor mode */
    probe   csrwi stvec, 0
    probe   csrwi medeleg, 0
    probe   csrwi mideleg, 0
    probe   csrwi 0x747, 0          /* mseccfg */
    li      t1, (1 << 53) - 1
    probe   csrw pmpaddr0, t1
    probe   csrwi pmpcfg0, 0x1f
    csrwi   mie, 0
    check   1
    li      a0, 1                   /* XLEN by a shift */
    slli    a0, a0, 31
    bltz    a0, fail
    la      t0, trap_vector
    csrw    mtvec, t0
    csrwi   mstatus, 0
    li      a0, 0x2000              /* FS: initial */
    csrs    mstatus, a0
    csrwi   fcsr, 0
    la      t0, user
    csrw    mepc, t0
    csrr    a0, mhartid
    mret

/* ---- user mode ---- */
user:
    check   2                       /* sign extension of words */
    li      a0, 0x7fffffff
    addiw   a1, a0, 1
    equal   a1, -0x80000000
    check   3                       /* division has no exceptions */
    li      a0, -1
    slli    a0, a0, 63
    li      a1, -1
    div     a2, a0, a1
    bne     a2, a0, fail
    rem     a2, a0, a1
    bnez    a2, fail
    divu    a2, a0, zero
    equal   a2, -1
    check   4                       /* misaligned, across a doubleword */
    la      a0, data
    ld      a1, 3(a0)
    equal   a1, 0x0a09080706050403
    sw      a1, 13(a0)
    lhu     a2, 15(a0)
    equal   a2, 0x0605
    check   5                       /* code written, then executed */
    la      a0, patch
    lw      a1, 1f
    sw      a1, 0(a0)
    fence.i
    li      a2, 0
patch:
    addi    a2, a2, 1
    equal   a2, 77
    j       2f
1:  addi    a2, a2, 77
2:  check   6                       /* sc without a reservation fails */
    la      a0, word
    li      a1, 5
    sc.w    a2, a1, (a0)
    equal   a2, 1
    lw      a2, 0(a0)
    bnez    a2, fail
    check   7                       /* sc somewhere else fails, and ends it */
    lr.w    a2, (a0)
    addi    a3, a0, 1024
    sc.w    a2, a1, (a3)
    beqz    a2, fail
    sc.w    a2, a1, (a0)
    beqz    a2, fail
    check   8                       /* sc behind lr succeeds, once */
    lr.w    a2, (a0)
    sc.w    a2, a1, (a0)
    bnez    a2, fail
    sc.w    a2, a1, (a0)
    beqz    a2, fail
    lw      a2, 0(a0)
    equal   a2, 5
    check   9                       /* flags of a floating point division */
    fmv.d.x fa0, zero
    fdiv.d  fa1, fa0, fa0
    frflags a0
    equal   a0, 16
    fmv.x.d a0, fa1
    equal   a0, 0x7ff8000000000000
    li      a7, 0
    ecall

/* ---- machine mode ---- */
machine:
    check   10                      /* where the ecall came from */
    csrr    a0, mstatus
    li      a1, MPP
    and     a0, a0, a1
    bnez    a0, fail
    check   11                      /* an ecall from here */
    traps   CAUSE_ECALL_M, ecall
    check   12                      /* the address of an ebreak */
    traps   CAUSE_BREAK, ebreak
    check   13                      /* the word of an illegal instruction */
    traps   CAUSE_ILLEGAL, .word 0
    bnez    s3, fail
    traps   CAUSE_ILLEGAL, csrwi satp, 0
    lw      a0, 9b
    sext.w  s3, s3
    bne     s3, a0, fail
    check   14                      /* what M/U cores lack */
    .irp csr, 0x100, 0x104, 0x105, 0x106, 0x140, 0x141, 0x142, 0x143, 0x144, 0x180, 0x302, 0x303, 0x800, 0xc80, 0x7b0, 0x3a1
    traps   CAUSE_ILLEGAL, csrr a0, \csr
    .endr
    traps   CAUSE_ILLEGAL, sret
    traps   CAUSE_ILLEGAL, sfence.vma
    traps   CAUSE_ILLEGAL, .word 0x00d00073 /* wrs.nto */
    traps   CAUSE_ILLEGAL, .word 0x7b200073 /* dret */
    check   15                      /* read-only ones, written and not */
    .irp csr, mvendorid, marchid, mimpid, mhartid, 0xf15, cycle, time, instret
    traps   CAUSE_ILLEGAL, csrw \csr, zero
    csrrs   a0, \csr, zero
    .endr
    check   16                      /* writable, without bits */
    .irp csr, mcountinhibit, mhpmcounter3, mhpmevent31, 0x30a
    csrwi   \csr, 31
    csrr    a0, \csr
    bnez    a0, fail
    .endr
    check   17                      /* misa: RV64, no bit can be cleared */
    csrr    a0, misa
    csrwi   misa, 0
    csrr    a1, misa
    bne     a0, a1, fail
    srli    a0, a0, 62
    equal   a0, 2
    check   18                      /* no trigger there */
    csrw    tselect, zero
    csrr    a0, tselect
    bnez    a0, fail
    csrr    a0, tdata1
    srli    a0, a0, 60
    bnez    a0, fail
    check   19                      /* MPP holds no supervisor */
    li      a0, MPP
    csrc    mstatus, a0
    li      a1, 0x800
    csrs    mstatus, a1
    csrr    a1, mstatus
    and     a1, a1, a0
    bnez    a1, fail
    csrr    a2, mstatus             /* nor has it SUM, MXR, TVM, TSR, V, X */
    li      a0, -1
    csrw    mstatus, a0
    csrr    a1, mstatus
    csrw    mstatus, a2
    equal   a1, 0x8000000200227888
    check   20                      /* mtvec: direct or vectored */
    csrr    a2, mtvec
    li      a0, 0x80001003
    csrw    mtvec, a0
    csrr    a1, mtvec
    csrw    mtvec, a2
    andi    a1, a1, 2
    bnez    a1, fail
    check   21                      /* mepc: even */
    li      a0, 0x80000001
    csrw    mepc, a0
    csrr    a1, mepc
    equal   a1, 0x80000000
    check   22                      /* pmpaddr: 54 bits, grain 4 */
    csrwi   pmpcfg0, 0
    li      a0, -1
    csrw    pmpaddr0, a0
    csrr    a1, pmpaddr0
    equal   a1, (1 << 54) - 1
    csrw    0x3c0, a0               /* pmpaddr16: not there, reads 0 */
    csrr    a1, 0x3c0
    bnez    a1, fail
    check   23                      /* counters, written */
    li      a0, -1
    csrw    minstret, a0
    csrr    a1, minstret
    csrr    a2, minstret
    equal   a1, -1
    bnez    a2, fail
    csrr    a0, mcycle
    csrr    a1, mcycle
    bleu    a1, a0, fail
    check   24                      /* reserved rounding modes */
    li      a0, 0x2000
    csrs    mstatus, a0
    traps   CAUSE_ILLEGAL, .word 0x02a5d553 /* fadd.d fa0, fa1, fa0, 5 */
    traps   CAUSE_ILLEGAL, .word 0x02a5e553 /* 6 */
    csrwi   frm, 5
    traps   CAUSE_ILLEGAL, fadd.d fa0, fa1, fa0, dyn
    csrwi   frm, 0
    check   25                      /* floating point off: nothing happens */
    li      a0, 0x6000
    csrc    mstatus, a0
    la      a1, word
    li      a2, 1
    sw      a2, 0(a1)
    traps   CAUSE_ILLEGAL, fsw fa0, 0(a1)
    lw      a2, 0(a1)
    equal   a2, 1
    traps   CAUSE_ILLEGAL, flw fa0, 0(a1)
    traps   CAUSE_ILLEGAL, csrr a0, fcsr
    traps   CAUSE_ILLEGAL, fmv.x.w a0, fa0
    check   26                      /* an access nobody answers, by MPRV */
    csrwi   pmpcfg0, 0
    li      a0, MPP
    csrc    mstatus, a0
    li      a0, 0x20000
    csrs    mstatus, a0
    traps   5, lw a2, 0(a1)
    li      a1, 0x20000
    csrrc   a0, mstatus, a1         /* the mret to machine mode kept it */
    srli    a0, a0, 17
    andi    a0, a0, 1
    equal   a0, 1
    li      gp, 1                   /* all is well */
    j       write_tohost

    .section .tohost, "aw"
    .balign 64
    .globl tohost, fromhost
tohost: .dword 0
    .balign 64
fromhost: .dword 0

    .data
    .balign 16
data:
    .byte   0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    .fill   16
word:
    .fill   2048
