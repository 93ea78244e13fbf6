#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# memcpy of 64 MiB on the host, which lines of the measurements in the machine
# are compared with too.
A350_HOST_MEMCPY=$(LD_LIBRARY_PATH=$SDK/lib64 "$B/tests/bench/hixl" memcpy) ||
    exit 1
export A350_HOST_MEMCPY
exec "$SDK/bin/atlas350-run" --cards 2 -- "$B/tests/bench/hixl"
