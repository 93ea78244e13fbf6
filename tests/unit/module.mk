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

# Builders of queue entries and work requests; the device side of Hcomm on a
# card of plain memory.
UNIT_TESTS += $(B)/tests/unit/test-sqe $(B)/tests/unit/test-wqe \
              $(B)/tests/unit/test-securec $(B)/tests/unit/test-hcomm-device

$(B)/tests/unit/test-sqe $(B)/tests/unit/test-wqe: $(B)/tests/unit/%: \
	$(S)/tests/unit/%.c $(S)/tests/unit/tap.h \
	$(wildcard $(S)/include/hw/atlas350/*.h)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -std=gnu11 -I$(S)/include -o $@ $<

$(B)/tests/unit/test-securec: $(S)/tests/unit/test-securec.c \
	$(S)/guest-lib/securec/securec.c $(S)/include/securec.h \
	$(S)/tests/unit/tap.h
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -std=gnu11 -I$(S)/include -o $@ $(filter %.c,$^)

$(B)/tests/unit/test-hcomm-device: $(S)/tests/unit/test-hcomm-device.c \
	$(S)/tests/unit/hcomm-mock.c \
	$(filter-out %/platform.c,$(wildcard $(S)/firmware/hcomm/*.c)) \
	$(wildcard $(S)/firmware/hcomm/*.h $(S)/tests/unit/*.h \
	    $(S)/include/hw/atlas350/*.h $(S)/include/hcomm/*.h)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -std=gnu11 -fsanitize=address,undefined \
	    -fno-sanitize-recover=undefined -I$(S)/include \
	    -I$(S)/firmware/hcomm -o $@ $(filter %.c,$^) -lm
