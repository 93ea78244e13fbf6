/*
 * Atlas 350 firmware monitor: reset, trap entry and exit.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * mscratch holds the core's struct core while user code runs and 0 while the
 * monitor does, so a trap taken inside the monitor is told apart.
 */
#define CORE_TMP    0
#define CORE_CUR    8
#define CORE_STACK  16
#define STACK_SIZE  16384
#define F_OFFSET    256
#define FCSR_OFFSET 512

    .section .text.entry, "ax"
    .globl _start
_start:
    csrw    mie, zero
    csrw    mscratch, zero
    la      t0, trap_monitor
    csrw    mtvec, t0
    la      sp, __stacks
    li      t1, STACK_SIZE
    addi    t2, a0, 1
    mul     t1, t1, t2
    add     sp, sp, t1
    bnez    a0, 2f
    /* Segments are copied at reset, what is not in the file is not. */
    la      t0, __bss_start
    la      t1, __bss_end
1:  sd      zero, 0(t0)
    addi    t0, t0, 8
    bltu    t0, t1, 1b
2:  mv      a1, sp
    mv      s0, a0
    call    boot
    mv      a0, a0
    j       resume

    .text
    .balign 4
    .globl trap_user_entry
trap_user_entry:
    csrrw   tp, mscratch, tp
    beqz    tp, trap_nested
    sd      sp, CORE_TMP(tp)
    ld      sp, CORE_CUR(tp)
    sd      x1, 8(sp)
    sd      x3, 24(sp)
    .irp    r, 5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
    sd      x\r, (\r * 8)(sp)
    .endr
    csrr    t0, mscratch
    sd      t0, 32(sp)
    ld      t0, CORE_TMP(tp)
    sd      t0, 16(sp)
    csrr    t0, mepc
    sd      t0, 0(sp)
    csrw    mscratch, zero
    la      t0, trap_monitor
    csrw    mtvec, t0
    ld      sp, CORE_STACK(tp)
    mv      a0, tp
    mv      s0, tp
    csrr    a1, mcause
    csrr    a2, mtval
    call    trap_user
    mv      a0, s0

/* a0: the core, whose cur runs on. */
resume:
    la      t0, trap_user_entry
    csrw    mtvec, t0
    csrw    mscratch, a0
    ld      sp, CORE_CUR(a0)
    ld      t0, 0(sp)
    csrw    mepc, t0
    li      t0, 0x1800
    csrc    mstatus, t0
    li      t0, 0x6000
    csrs    mstatus, t0
    ld      x1, 8(sp)
    .irp    r, 3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
    ld      x\r, (\r * 8)(sp)
    .endr
    ld      sp, 16(sp)
    mret

    .balign 4
trap_nested:
    csrrw   tp, mscratch, tp
    .balign 4
trap_monitor:
    csrr    a0, mcause
    csrr    a1, mepc
    csrr    a2, mtval
    call    trap_in_monitor
1:  wfi
    j       1b

/* fp_save(thread), fp_load(thread) */
    .globl  fp_save
fp_save:
    .irp    r, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
    fsd     f\r, (F_OFFSET + \r * 8)(a0)
    .endr
    frcsr   t0
    sd      t0, FCSR_OFFSET(a0)
    ret

    .globl  fp_load
fp_load:
    .irp    r, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
    fld     f\r, (F_OFFSET + \r * 8)(a0)
    .endr
    ld      t0, FCSR_OFFSET(a0)
    fscsr   t0
    ret

    .section .stacks, "aw", @nobits
    .balign 16
__stacks:
    .space  STACK_SIZE * 8
