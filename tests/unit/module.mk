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

# Public headers of HCCL and Hcomm; the control plane between ranks that are
# threads of one process, on cards of plain memory.
UNIT_TESTS += $(B)/tests/unit/test-hccl-layout \
              $(B)/tests/unit/test-hccl-headers \
              $(B)/tests/unit/test-hccl-control

PUBLIC_HEADERS := $(wildcard $(S)/include/*/*.h $(S)/include/*.h \
                    $(S)/include/pkg_inc/*/*.h)

$(B)/tests/unit/test-hccl-layout: $(S)/tests/unit/test-hccl-layout.cc \
	$(PUBLIC_HEADERS)
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS) -std=c++11 -I$(S)/include/pkg_inc -I$(S)/include \
	    -o $@ $<

$(B)/tests/unit/test-hccl-headers: $(S)/tests/unit/test-hccl-headers.sh \
	$(PUBLIC_HEADERS)
	@mkdir -p $(@D)
	sed 's|@S@|$(S)|' $< >$@
	chmod +x $@

HCCL_CONTROL_SRC := $(wildcard $(S)/guest-lib/hccl/*.c \
                      $(S)/guest-lib/hcomm/*.c)
$(B)/tests/unit/test-hccl-control: $(S)/tests/unit/test-hccl-control.c \
	$(S)/tests/unit/hccl-mock.c $(HCCL_CONTROL_SRC) $(PUBLIC_HEADERS) \
	$(wildcard $(S)/guest-lib/hccl/*.h $(S)/guest-lib/card/a350_card.h \
	    $(S)/guest-lib/acl/acl_internal.h $(S)/tests/unit/*.h)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -std=gnu11 -D_GNU_SOURCE -fsanitize=address,undefined \
	    -fno-sanitize-recover=undefined -I$(S)/include \
	    -I$(S)/include/pkg_inc -I$(S)/guest-lib/card -I$(S)/guest-lib/acl \
	    -I$(S)/guest-lib/hccl -o $@ $(filter %.c,$^) -ljansson -lm -lpthread
