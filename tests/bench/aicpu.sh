#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Speed of the card's cores against QEMU's user emulation of the same program.
set -e
model=$("$B/qemu/aicpu-run" --linux "$B/tests/bench/aicpu_loop.rv64" |
    grep ^integer)
user=$(qemu-riscv64 "$B/tests/bench/aicpu_loop.rv64" | grep ^integer)
native=$("$B/tests/bench/aicpu_loop.native" | grep ^integer)
if [ "${model#*check}" != "${user#*check}" ] ||
   [ "${model#*check}" != "${native#*check}" ]; then
    echo "bench: results differ: $model / $user / $native" >&2
    exit 1
fi
printf '%s\n%s\n%s\n' "$model" "$user" "$native" | awk '
    { for (i = 1; i < 6; i += 2) { name[i] = $i; t[NR, i] = $(i + 1) } }
    END { for (i = 1; i < 6; i += 2) {
        printf "bench aicpu-%s %.4f s qemu-riscv64 %.4f\n", name[i], t[1, i],
               t[2, i]
        printf "bench aicpu-%s-native %.4f s native %.4f\n", name[i], t[1, i],
               t[3, i] } }'
