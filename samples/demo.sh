#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# What `make demo` runs in the machine. B: build directory.
set -e
"$B/samples/transfer" threads
"$B/samples/transfer" processes
