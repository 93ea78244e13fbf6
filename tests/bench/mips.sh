#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Million instructions a second of the card's core and of qemu-riscv64, on the
# same binary, one after the other; the best of three runs each.
set -e
run=$B/qemu/aicpu-run
program=$B/tests/bench/mips.rv64

best() {
    for i in 1 2 3; do
        "$@" || exit 1
    done | sort -n | head -1
}

for mix in int chase copy; do
    insns=$("$run" --stats --linux "$program" $mix 2>&1 >/dev/null |
        sed -n 's/ instructions.*//p')
    if [ -z "$insns" ]; then
        echo "bench: mips.$mix: $run does not run $program" >&2
        exit 1
    fi
    ours=$(best "$run" --linux "$program" $mix)
    user=$(best qemu-riscv64 "$program" $mix)
    if [ "${ours#* }" != "${user#* }" ]; then
        echo "bench: mips.$mix: results differ: $ours / $user" >&2
        exit 1
    fi
    echo "$mix $insns ${ours% *} ${user% *}" |
        awk '{ printf "bench mips.%s %.0f M/s qemu-riscv64 %.0f\n", $1,
               $2 / $3 / 1e6, $2 / $4 / 1e6 }'
done
