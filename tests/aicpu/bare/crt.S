# SPDX-License-Identifier: Apache-2.0
#
# Start and trap entry of the bare-metal tests. A trap is recorded in
# trap_info and, unless trap_hook says otherwise, the instruction is skipped;
# a trap from user mode comes back in machine mode at user_return.
    .section .text.start
    .globl _start
_start:
    csrr    t0, mhartid
    la      sp, stacks
    addi    t1, t0, 1
    slli    t1, t1, 14
    add     sp, sp, t1
    la      t1, trap_entry
    csrw    mtvec, t1
    li      t1, 3 << 13             # floating point on
    csrs    mstatus, t1
    mv      a0, t0
    call    test_main
    j       finish

# finish(number): 0 is a pass
    .weak finish
finish:
    slli    a0, a0, 1
    ori     a0, a0, 1
    la      t0, tohost
    sd      a0, 0(t0)
1:  j       1b

    .align 2
trap_entry:
    csrw    mscratch, sp
    addi    sp, sp, -288
    sd      ra, 8(sp)
    sd      gp, 24(sp)
    sd      t0, 40(sp)
    sd      t1, 48(sp)
    sd      t2, 56(sp)
    sd      a0, 80(sp)
    sd      a1, 88(sp)
    sd      a2, 96(sp)
    sd      a3, 104(sp)
    sd      a4, 112(sp)
    sd      a5, 120(sp)
    sd      a6, 128(sp)
    sd      a7, 136(sp)
    sd      t3, 224(sp)
    sd      t4, 232(sp)
    sd      t5, 240(sp)
    sd      t6, 248(sp)
    call    trap_handler
    bnez    a0, leave_user
    ld      ra, 8(sp)
    ld      gp, 24(sp)
    ld      t0, 40(sp)
    ld      t1, 48(sp)
    ld      t2, 56(sp)
    ld      a0, 80(sp)
    ld      a1, 88(sp)
    ld      a2, 96(sp)
    ld      a3, 104(sp)
    ld      a4, 112(sp)
    ld      a5, 120(sp)
    ld      a6, 128(sp)
    ld      a7, 136(sp)
    ld      t3, 224(sp)
    ld      t4, 232(sp)
    ld      t5, 240(sp)
    ld      t6, 248(sp)
    csrr    sp, mscratch
    mret

# run_user(fn, arg): calls fn(arg) in user mode on the same stack; comes back
# by the first synchronous trap, which trap_info describes.
    .globl run_user
run_user:
    addi    sp, sp, -112
    sd      ra, 0(sp)
    sd      s0, 8(sp)
    sd      s1, 16(sp)
    sd      s2, 24(sp)
    sd      s3, 32(sp)
    sd      s4, 40(sp)
    sd      s5, 48(sp)
    sd      s6, 56(sp)
    sd      s7, 64(sp)
    sd      s8, 72(sp)
    sd      s9, 80(sp)
    sd      s10, 88(sp)
    sd      s11, 96(sp)
    la      t0, user_sp
    sd      sp, 0(t0)
    li      t0, 3 << 11
    csrc    mstatus, t0
    csrw    mepc, a0
    mv      a0, a1
    la      ra, user_done
    mret
leave_user:
    la      t0, user_sp
    ld      sp, 0(t0)
    ld      ra, 0(sp)
    ld      s0, 8(sp)
    ld      s1, 16(sp)
    ld      s2, 24(sp)
    ld      s3, 32(sp)
    ld      s4, 40(sp)
    ld      s5, 48(sp)
    ld      s6, 56(sp)
    ld      s7, 64(sp)
    ld      s8, 72(sp)
    ld      s9, 80(sp)
    ld      s10, 88(sp)
    ld      s11, 96(sp)
    addi    sp, sp, 112
    ret

# User code that returns ends here.
    .globl user_done
user_done:
    ecall

    .section .bss
    .align 3
user_sp: .dword 0

    .section .tohost, "aw"
    .align 6
    .globl tohost, fromhost
tohost: .dword 0
    .align 6
fromhost: .dword 0
