#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Cost of device-side Hcomm calls. B: build directory.
set -e
"$B/qemu/aicpu-run" --firmware "$B/firmware/atlas350-firmware.elf" \
    --cores 1 --hbm 256M --kernel "$B/tests/bench/libcalls_kernel.so:calls" \
    2>&1 | sed -n 's/^.*bench call/bench call/p'
