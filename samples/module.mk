# Sample programs: host program, AICPU kernel, description of the kernel.
#
# SPDX-License-Identifier: Apache-2.0

SAMPLES_O := $(B)/samples
SAMPLES_HOST := transfer
SAMPLES_KERNELS := transfer
SAMPLES_SDK := $(PREFIX)/lib64/libhcomm.so $(PREFIX)/lib64/libhccl.so \
               $(PREFIX)/lib64/libacl_rt.so

# As a user would: -I of the SDK, -L of the SDK.
SAMPLES_INC := -I$(PREFIX)/include -I$(PREFIX)/include/hccl \
               -I$(PREFIX)/pkg_inc -I$(PREFIX)/pkg_inc/hccl
SAMPLES_LINK := -L$(PREFIX)/lib64 -Wl,-rpath-link,$(PREFIX)/lib64 \
                -Wl,-rpath,'$$ORIGIN/../sdk/lib64'
KERNEL_LIBS := -L$(PREFIX)/lib64/device/lib64 -lccl_kernel

define sample_host
$(SAMPLES_O)/$(1): $(wildcard $(S)/samples/$(1)/*.cc $(S)/samples/$(1)/*.h) \
                   $(S)/samples/common/sample.h $(SAMPLES_SDK) | sdk-headers
	@mkdir -p $$(@D)
	$$(CXX) $$(CXXFLAGS) -std=c++14 $$(SAMPLES_INC) -o $$@ \
	    $(S)/samples/$(1)/$(1).cc $$(SAMPLES_LINK) -lhccl -lhcomm -lacl_rt \
	    -lpthread
GUEST_BINARIES += $(SAMPLES_O)/$(1)
endef

define sample_kernel
$(SAMPLES_O)/lib$(1)_kernel.so: $(S)/samples/$(1)/$(1)_kernel.cc \
    $(wildcard $(S)/samples/$(1)/*.h) \
    $(PREFIX)/lib64/device/lib64/libccl_kernel.so | sdk-headers
	@mkdir -p $$(@D)
	$$(RVCXX) -O2 -g -Wall -Wextra -Werror -std=c++14 -fPIC -shared \
	    $$(SAMPLES_INC) -o $$@ $$< $$(KERNEL_LIBS)

$(SAMPLES_O)/lib$(1)_kernel.json: $(S)/samples/$(1)/lib$(1)_kernel.json
	@mkdir -p $$(@D)
	cp $$< $$@
GUEST_BINARIES += $(SAMPLES_O)/lib$(1)_kernel.so \
                  $(SAMPLES_O)/lib$(1)_kernel.json
endef

.PHONY: sdk-headers
sdk-headers: $(SDK_PUBLIC) $(SDK_PKG_INC)

ifneq ($(wildcard $(S)/guest-lib/acl/module.mk),)
$(foreach s,$(SAMPLES_HOST),$(eval $(call sample_host,$(s))))
$(foreach s,$(SAMPLES_KERNELS),$(eval $(call sample_kernel,$(s))))
endif
