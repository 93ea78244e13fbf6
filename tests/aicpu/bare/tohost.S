/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes VALUE to tohost, a word that lies OFFSET bytes behind an aligned one.
 */
    .section .text.start, "ax"
    .globl _start
_start:
    la      t0, tohost
    li      t1, VALUE
    sw      t1, 0(t0)
    sw      zero, 4(t0)
1:  j       1b

    .section .tohost, "aw"
    .balign 64
    .fill   OFFSET
    .globl tohost
tohost:
    .word   0, 0
