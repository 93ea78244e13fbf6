# libccl_kernel.so: device side of Hcomm, linked by kernels and put into the
# firmware archive.
#
# SPDX-License-Identifier: Apache-2.0

HCOMM_DEV_SRC := $(sort $(wildcard $(S)/firmware/hcomm/*.c))
HCOMM_DEV_HDR := $(wildcard $(S)/firmware/hcomm/*.h) \
                 $(wildcard $(S)/include/hw/atlas350/*.h) \
                 $(wildcard $(S)/include/hcomm/*.h) \
                 $(wildcard $(S)/include/hccl/*.h) \
                 $(wildcard $(S)/include/acl/*.h) $(S)/include/securec.h
HCOMM_DEV_CFLAGS := -std=c11 -D_DEFAULT_SOURCE -O2 -g -Wall -Wextra -Werror \
                    -fPIC -fvisibility=hidden -fno-semantic-interposition \
                    -ftls-model=initial-exec -fno-plt -fno-strict-aliasing \
                    -I$(S)/include -I$(S)/firmware/hcomm
HCOMM_DEV_LIB := $(B)/firmware/lib/libccl_kernel.so
FW_HAVE_CCL_KERNEL := 1
FW_ROM_LIBS += $(HCOMM_DEV_LIB)

$(HCOMM_DEV_LIB): $(HCOMM_DEV_SRC) $(HCOMM_DEV_HDR)
	@mkdir -p $(@D)
	$(RVCC) $(HCOMM_DEV_CFLAGS) -shared -Wl,-soname,libccl_kernel.so \
	    -Wl,-z,defs -o $@ $(HCOMM_DEV_SRC)

$(PREFIX)/lib64/device/lib64/libccl_kernel.so \
$(PREFIX)/devlib/device/libccl_kernel.so: $(HCOMM_DEV_LIB)
	@mkdir -p $(@D)
	cp $< $@

SDK_TARGETS += $(PREFIX)/lib64/device/lib64/libccl_kernel.so \
               $(PREFIX)/devlib/device/libccl_kernel.so
