#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Every acl, HCCL and Hcomm header alone, in each language version, without a
# warning. Prints TAP.
cd @S@/include || exit 1
n=0
bad=0

check() { # header, compiler, language, standard
    n=$((n + 1))
    if out=$(echo "#include <$1>" | $2 -x $3 -std=$4 -Wall -Wextra -Werror \
             -fsyntax-only -Ipkg_inc -I. - 2>&1); then
        echo "ok $n - $1 $4 ($2)"
    else
        bad=$((bad + 1))
        echo "not ok $n - $1 $4 ($2)"
        echo "$out" | sed 's/^/# /'
    fi
}

for h in acl/*.h acl/error_codes/*.h securec.h hccl/*.h hcomm/*.h $(cd pkg_inc && ls hccl/*.h hcomm/*.h); do
    for s in c++11 c++14 c++17 c++20; do
        check "$h" g++ c++ $s
    done
    check "$h" gcc c c11
    check "$h" riscv64-linux-gnu-g++ c++ c++14
done
echo "1..$n"
exit $bad
