#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The card's queues without a guest: tests/qtest/atlas350-bench-test.c.
set -e
cd "$B/qemu"
: "${QTEST_QEMU_BINARY:=$B/qemu/qemu-system-x86_64}"
export QTEST_QEMU_BINARY
A350_BENCH=1 exec tests/qtest/atlas350-bench-test -k
