# SPDX-License-Identifier: Apache-2.0
#
# Unit tests of pure code: programs that print TAP and exit 0 or 1.

# Both sets of kernels, whichever this processor would choose.
UNIT_TESTS += $(U)/test-reduce $(U)/test-reduce-base

$(U)/test-reduce-base: CFLAGS += -DA350_REDUCE_BASE
$(U)/test-reduce $(U)/test-reduce-base: $(S)/tests/unit/test-reduce.c \
	$(S)/hw/atlas350/reduce.c $(S)/hw/atlas350/reduce.h \
	$(S)/hw/atlas350/reduce-kernels.c.inc
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -std=gnu11 -I$(S)/include -I$(S)/hw/atlas350 \
	    -o $@ $(filter %.c,$^) -lm

UNIT_TESTS += $(U)/test-bulk

$(U)/test-bulk: $(S)/tests/unit/test-bulk.c $(S)/tests/unit/tap.h \
	$(S)/hw/atlas350/bulk.c $(S)/hw/atlas350/bulk.h
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -std=gnu11 $(SANITIZE_FLAGS) -I$(S)/hw/atlas350 \
	    -o $@ $(filter %.c,$^)

# Builders of queue entries and work requests; the device side of Hcomm on a
# card of plain memory.
UNIT_TESTS += $(U)/test-sqe $(U)/test-wqe \
              $(U)/test-securec $(U)/test-hcomm-device

$(U)/test-sqe $(U)/test-wqe: $(U)/%: \
	$(S)/tests/unit/%.c $(S)/tests/unit/tap.h \
	$(wildcard $(S)/include/hw/atlas350/*.h)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -std=gnu11 -I$(S)/include -o $@ $<

$(U)/test-securec: $(S)/tests/unit/test-securec.c \
	$(S)/guest-lib/securec/securec.c $(S)/include/securec.h \
	$(S)/tests/unit/tap.h
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -std=gnu11 -I$(S)/include -o $@ $(filter %.c,$^)

$(U)/test-hcomm-device: $(S)/tests/unit/test-hcomm-device.c \
	$(S)/tests/unit/hcomm-mock.c \
	$(filter-out %/platform.c,$(wildcard $(S)/firmware/hcomm/*.c)) \
	$(wildcard $(S)/firmware/hcomm/*.h $(S)/tests/unit/*.h \
	    $(S)/include/hw/atlas350/*.h $(S)/include/hcomm/*.h)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -std=gnu11 $(SANITIZE_FLAGS) \
	    -fno-sanitize-recover=undefined -Wl,--wrap=malloc \
	    -I$(S)/include -I$(S)/firmware/hcomm -o $@ $(filter %.c,$^) -lm

# Public headers of HCCL and Hcomm; the control plane between ranks that are
# threads of one process, on cards of plain memory.
UNIT_TESTS += $(U)/test-hccl-layout \
              $(U)/test-hccl-headers \
              $(U)/test-hccl-control \
              $(U)/test-hccl-endpoint

TSAN_TESTS += $(U)/test-hccl-control $(U)/test-hccl-endpoint

PUBLIC_HEADERS := $(wildcard $(S)/include/*/*.h $(S)/include/*.h \
                    $(S)/include/pkg_inc/*/*.h)

$(U)/test-hccl-layout: $(S)/tests/unit/test-hccl-layout.cc \
	$(PUBLIC_HEADERS)
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS) -std=c++11 -I$(S)/include/pkg_inc -I$(S)/include \
	    -o $@ $<

$(U)/test-hccl-headers: $(S)/tests/unit/test-hccl-headers.sh \
	$(PUBLIC_HEADERS)
	@mkdir -p $(@D)
	sed 's|@S@|$(S)|' $< >$@
	chmod +x $@

HCCL_CONTROL_SRC := $(wildcard $(S)/guest-lib/hccl/*.c \
                      $(S)/guest-lib/hcomm/*.c)
$(U)/test-hccl-control $(U)/test-hccl-endpoint: \
	$(U)/%: $(S)/tests/unit/%.c $(S)/tests/unit/hccl-mock.c $(HCCL_CONTROL_SRC) $(PUBLIC_HEADERS) \
	$(wildcard $(S)/guest-lib/hccl/*.h $(S)/guest-lib/card/*.h \
	    $(S)/guest-lib/acl/acl_internal.h $(S)/tests/unit/*.h)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -std=gnu11 -D_GNU_SOURCE $(SANITIZE_FLAGS) \
	    -fno-sanitize-recover=undefined -I$(S)/include \
	    -I$(S)/include/pkg_inc -I$(S)/guest-lib/card -I$(S)/guest-lib/acl \
	    -I$(S)/guest-lib/hccl -o $@ $(filter %.c,$^) -ljansson -lm -lpthread

UNIT_TESTS += $(U)/test-hccl-env

$(U)/test-hccl-env: $(S)/tests/unit/test-hccl-env.c \
	$(S)/guest-lib/hccl/env.c $(S)/guest-lib/hccl/hccl_internal.h \
	$(PUBLIC_HEADERS) $(S)/tests/unit/tap.h
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -std=gnu11 -D_GNU_SOURCE $(SANITIZE_FLAGS) \
	    -fno-sanitize-recover=undefined -I$(S)/include \
	    -I$(S)/include/pkg_inc -I$(S)/guest-lib/card -I$(S)/guest-lib/acl \
	    -I$(S)/guest-lib/hccl -o $@ $< -lpthread

# The operators' plans, and the arithmetic of their kernels.
UNIT_TESTS += $(U)/test-hccl-ops

HCCL_PLAN_SRC := $(addprefix $(S)/guest-lib/hccl/ops/,plan.c exchange.c \
                   reduce.c algo.c) $(S)/firmware/hccl/reduce.c
$(U)/test-hccl-ops: $(S)/tests/unit/test-hccl-ops.c $(HCCL_PLAN_SRC) \
	$(S)/guest-lib/hccl/ops/ops.h $(S)/firmware/hccl/half.h \
	$(S)/include/hw/atlas350/hccl_ops.h $(S)/tests/unit/tap.h
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -std=gnu11 -ffp-contract=off $(SANITIZE_FLAGS) \
	    -fno-sanitize-recover=undefined -I$(S)/include -DONE_SHOT_MAX=512 \
	    -I$(S)/guest-lib/hccl/ops -o $@ $(filter %.c,$^) -lm

# HIXL on two cards of plain memory.
UNIT_TESTS += $(U)/test-hixl $(U)/test-hixl-codes \
              $(U)/test-hixl-fuzz $(U)/test-hixl-threads

TSAN_TESTS += $(U)/test-hixl $(U)/test-hixl-threads

TEST_HIXL_DIR := $(U)/hixl-obj
TEST_HIXL_C := $(wildcard $(S)/guest-lib/hixl/*.c) $(S)/tests/unit/hixl-mock.c
TEST_HIXL_OBJ := $(patsubst %.c,$(TEST_HIXL_DIR)/%.o,$(notdir $(TEST_HIXL_C)))
TEST_HIXL_HDR := $(wildcard $(S)/guest-lib/hixl/*.h $(S)/include/hixl/*.h \
    $(S)/include/adxl/*.h $(S)/include/cs/*.h $(S)/include/graph/*.h \
    $(S)/tests/unit/*.h $(S)/guest-lib/card/*.h \
    $(S)/guest-lib/acl/acl_internal.h $(S)/include/hw/atlas350/*.h)
TEST_HIXL_FLAGS := $(SANITIZE_FLAGS) \
    -fno-sanitize-recover=undefined -I$(S)/include -I$(S)/guest-lib/card \
    -I$(S)/guest-lib/acl -I$(S)/guest-lib/hixl -I$(S)/tests/unit

$(TEST_HIXL_DIR)/%.o: $(S)/guest-lib/hixl/%.c $(TEST_HIXL_HDR)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -std=c11 -D_GNU_SOURCE $(TEST_HIXL_FLAGS) -c -o $@ $<

$(TEST_HIXL_DIR)/hixl-mock.o: $(S)/tests/unit/hixl-mock.c $(TEST_HIXL_HDR)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -std=c11 -D_GNU_SOURCE $(TEST_HIXL_FLAGS) -c -o $@ $<

$(U)/test-hixl $(U)/test-hixl-codes $(U)/test-hixl-threads \
$(U)/test-hixl-fuzz: $(U)/%: $(S)/tests/unit/%.cc \
	$(TEST_HIXL_OBJ) $(wildcard $(S)/guest-lib/hixl/*.cc) $(TEST_HIXL_HDR)
	$(CXX) $(CXXFLAGS) -std=c++17 -Wno-missing-field-initializers \
	    $(TEST_HIXL_FLAGS) -o $@ $(filter %.cc,$^) $(TEST_HIXL_OBJ) \
	    -ljansson -lpthread

# The data blocks of the card under threads, on cards without a PCI function;
# linked with QEMU's own libraries.
UNIT_TESTS += $(U)/test-ub
TSAN_TESTS += $(U)/test-ub

UB_TEST_SRC := $(addprefix $(S)/tests/unit/,test-ub.c ub-mock.c) \
	$(addprefix $(S)/hw/atlas350/,bulk.c mem.c mover.c reduce.c) \
	$(addprefix $(S)/hw/atlas350/ub/,jetty.c segment.c target.c ub.c wqe.c)

$(U)/test-ub: $(UB_TEST_SRC) $(S)/tests/unit/ub-mock.h \
	$(wildcard $(S)/hw/atlas350/*.h $(S)/hw/atlas350/ub/*.h) | qemu
	@mkdir -p $(@D)
	$(CC) -O2 -g -std=gnu11 -D_GNU_SOURCE -Wall $(UB_TEST_CFLAGS) \
	    $(if $(filter thread,$(SANITIZE)),$(SANITIZE_FLAGS)) \
	    -I$(B)/qemu -I$(B)/qemu/qapi -I$(B)/qemu-src/include \
	    -I$(B)/qemu-src -I$(S)/include -I$(S)/hw/atlas350 \
	    $$(pkg-config --cflags glib-2.0) -o $@ $(UB_TEST_SRC) \
	    $(B)/qemu/libqemuutil.a $(B)/qemu/libevent-loop-base.a.p/*.o \
	    $(B)/qemu/libqom.a.p/*.o $(B)/qemu/libqemuutil.a \
	    $$(pkg-config --libs glib-2.0 gmodule-2.0) -lm -lpthread

# The mailbox of the AICPU cluster, on cores that execute nothing.
UNIT_TESTS += $(U)/test-cluster
TSAN_TESTS += $(U)/test-cluster

CLUSTER_TEST_SRC := $(S)/tests/unit/test-cluster.c \
	$(addprefix $(S)/hw/atlas350/aicpu/,cluster.c page.c fwimage.c)

$(U)/test-cluster: $(CLUSTER_TEST_SRC) $(S)/tests/unit/tap.h \
	$(wildcard $(S)/hw/atlas350/aicpu/*.h $(S)/include/hw/atlas350/*.h) \
	| qemu
	@mkdir -p $(@D)
	$(CC) -O2 -g -std=gnu11 -D_GNU_SOURCE -Wall \
	    $(if $(filter thread,$(SANITIZE)),$(SANITIZE_FLAGS)) \
	    -I$(B)/qemu -I$(B)/qemu/qapi -I$(B)/qemu-src/include \
	    -I$(B)/qemu-src -I$(S)/include -I$(S)/hw/atlas350/aicpu \
	    $$(pkg-config --cflags glib-2.0) -o $@ $(CLUSTER_TEST_SRC) \
	    $(B)/qemu/libqemuutil.a $(B)/qemu/libevent-loop-base.a.p/*.o \
	    $(B)/qemu/libqom.a.p/*.o $(B)/qemu/libqemuutil.a \
	    $$(pkg-config --libs glib-2.0 gmodule-2.0) -lm -lpthread

# The acl headers in every language they are for; the allocator of device
# memory; kernel files.
UNIT_TESTS += $(U)/test-acl-layout $(U)/test-acl-heap \
              $(U)/test-kernel-file

# The acl runtime and the card driver on cards of plain memory. Registers are
# volatile, which is how the thread sanitizer tells them from memory.
UNIT_TESTS += $(U)/test-acl
TSAN_TESTS += $(U)/test-acl

TEST_ACL_SRC := $(addprefix $(S)/tests/unit/,test-acl.c vfio-mock.c) \
    $(filter-out %/vfio.c,$(wildcard $(S)/guest-lib/card/*.c)) \
    $(filter-out %/msprofiler.c,$(wildcard $(S)/guest-lib/acl/*.c))
$(U)/test-acl: $(TEST_ACL_SRC) $(S)/tests/unit/vfio-mock.h \
	$(wildcard $(S)/guest-lib/card/*.h $(S)/guest-lib/acl/*.h \
	    $(S)/include/acl/*.h $(S)/include/hw/atlas350/*.h)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -std=gnu11 -Wno-format-truncation $(SANITIZE_FLAGS) \
	    $(if $(filter thread,$(SANITIZE)), \
	        --param=tsan-distinguish-volatile=1) \
	    -fno-sanitize-recover=undefined -I$(S)/include \
	    -I$(S)/guest-lib/card -I$(S)/guest-lib/acl -o $@ $(TEST_ACL_SRC) \
	    -ljansson -lz -lpthread

UNIT_TESTS += $(U)/test-card-dma

$(U)/test-card-dma: $(S)/tests/unit/test-card-dma.c $(S)/tests/unit/tap.h \
	$(S)/guest-lib/card/vfio.c $(wildcard $(S)/guest-lib/card/*.h)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -std=gnu11 -Wno-format-truncation $(SANITIZE_FLAGS) \
	    -fno-sanitize-recover=undefined -I$(S)/include \
	    -I$(S)/guest-lib/card -o $@ $< -lpthread

ACL_STANDARDS := 11 14 17 20
$(U)/test-acl-layout: $(S)/tests/unit/test-acl-layout.c \
	$(wildcard $(S)/include/acl/*.h $(S)/include/acl/error_codes/*.h)
	@mkdir -p $(@D)
	for s in $(ACL_STANDARDS); do \
	    $(CXX) -x c++ -std=c++$$s -Wall -Wextra -Wpedantic -Werror \
	        -I$(S)/include -fsyntax-only $< || exit 1; \
	done
	$(CC) $(CFLAGS) -std=c11 -Wpedantic -I$(S)/include -o $@ $<

$(U)/test-acl-heap: $(S)/tests/unit/test-acl-heap.c \
	$(S)/guest-lib/card/heap.c $(S)/guest-lib/card/heap.h
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -std=gnu11 $(SANITIZE_FLAGS) \
	    -fno-sanitize-recover=undefined -I$(S)/guest-lib/card \
	    -o $@ $(filter %.c,$^)

$(U)/test-kernel-file: $(S)/tests/unit/test-kernel-file.c \
	$(S)/guest-lib/acl/kernel_file.c $(S)/guest-lib/acl/kernel_file.h
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -std=gnu11 $(SANITIZE_FLAGS) \
	    -fno-sanitize-recover=undefined -I$(S)/guest-lib/acl \
	    -o $@ $(filter %.c,$^) -ljansson -lz
