# SPDX-License-Identifier: Apache-2.0
#
# Unit tests of pure code: programs that print TAP and exit 0 or 1.

UNIT_TESTS += $(B)/tests/unit/test-reduce

$(B)/tests/unit/test-reduce: $(S)/tests/unit/test-reduce.c \
	$(S)/hw/atlas350/reduce.c $(S)/hw/atlas350/reduce.h \
	$(S)/hw/atlas350/reduce-kernels.c.inc
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -std=gnu11 -I$(S)/include -I$(S)/hw/atlas350 \
	    -o $@ $(filter %.c,$^) -lm
