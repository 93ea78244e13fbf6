# libhccl_ops_kernel.so: kernels of the operators in libhccl.so, where its own
# package of kernels is on the card's software too.
#
# SPDX-License-Identifier: Apache-2.0

HCCL_DEV_SRC := $(sort $(wildcard $(S)/firmware/hccl/*.c))
HCCL_DEV_DIR := $(PREFIX)/opp/built-in/op_impl/aicpu

$(HCCL_DEV_DIR)/kernel/libhccl_ops_kernel.so: $(HCCL_DEV_SRC) \
    $(wildcard $(S)/firmware/hccl/*.h $(S)/include/hw/atlas350/*.h \
      $(S)/include/hccl/*.h $(S)/include/hcomm/*.h) \
    $(PREFIX)/lib64/device/lib64/libccl_kernel.so
	@mkdir -p $(@D)
	$(RVCC) -std=c11 -O2 -g -Wall -Wextra -Werror -fPIC \
	    -fvisibility=hidden -fno-strict-aliasing -ffp-contract=off \
	    -I$(S)/include -shared -Wl,-soname,libhccl_ops_kernel.so \
	    -Wl,-z,defs -o $@ $(HCCL_DEV_SRC) \
	    -L$(PREFIX)/lib64/device/lib64 -lccl_kernel

$(HCCL_DEV_DIR)/config/libhccl_ops_kernel.json: \
    $(S)/firmware/hccl/libhccl_ops_kernel.json
	@mkdir -p $(@D)
	cp $< $@

HCCL_DEV_FILES := $(HCCL_DEV_DIR)/kernel/libhccl_ops_kernel.so \
                  $(HCCL_DEV_DIR)/config/libhccl_ops_kernel.json
SDK_TARGETS += $(HCCL_DEV_FILES)
