# SPDX-License-Identifier: Apache-2.0
# Session of tests/aicpu/run-tests with firmware image card-mailbox.
set pagination off
set confirm off
info threads
monitor cores
break execute
continue
backtrace
info threads
x/2i $pc
stepi
stepi
print $pc
print *m
print $fa0.double = 2.5
print $fa0
print $fcsr
delete
watch names[0][1]
watch names[1][1]
continue
info registers pc sp mstatus
delete
hbreak log_line
continue
delete
rwatch exc[0].cause
print exc[0].cause = 5
print exc[0].cause
print $t5 = 77
info registers t5
delete
thread 2
print $pc != 0
detach
