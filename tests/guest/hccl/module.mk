# Programs of tests/guest/hccl.tests.
#
# SPDX-License-Identifier: Apache-2.0

ifneq ($(wildcard $(S)/guest-lib/acl/module.mk),)
# In samples/, beside the kernel that it uses.
$(B)/samples/hccl-errors: $(S)/tests/guest/hccl/hccl-errors.cc \
    $(S)/samples/common/sample.h $(S)/samples/transfer/transfer_param.h \
    $(PREFIX)/lib64/libhcomm.so $(PREFIX)/lib64/libhccl.so | sdk-headers
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS) -std=c++14 -I$(PREFIX)/include \
	    -I$(PREFIX)/include/hccl -I$(PREFIX)/pkg_inc \
	    -I$(PREFIX)/pkg_inc/hccl -o $@ $< -L$(PREFIX)/lib64 \
	    -Wl,-rpath-link,$(PREFIX)/lib64 -Wl,-rpath,'$$ORIGIN/../sdk/lib64' \
	    -lhccl -lhcomm -lacl_rt -lpthread

GUEST_BINARIES += $(B)/samples/hccl-errors

# Programs with the kernel of ctrl_kernel.cc, all in one place.
CTRL_O := $(B)/tests/guest/hccl
CTRL_PROGRAMS := $(patsubst %.cc,%,$(notdir \
    $(filter-out %/hccl-errors.cc,$(wildcard $(S)/tests/guest/hccl/hccl-*.cc))))

$(CTRL_O)/hccl-%: $(S)/tests/guest/hccl/hccl-%.cc \
    $(wildcard $(S)/tests/guest/hccl/*.h) $(S)/samples/common/sample.h \
    $(PREFIX)/lib64/libhcomm.so $(PREFIX)/lib64/libhccl.so | sdk-headers
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS) -std=c++14 -I$(PREFIX)/include \
	    -I$(PREFIX)/include/hccl -I$(PREFIX)/pkg_inc \
	    -I$(PREFIX)/pkg_inc/hccl -o $@ $< -L$(PREFIX)/lib64 \
	    -Wl,-rpath-link,$(PREFIX)/lib64 \
	    -Wl,-rpath,'$$ORIGIN/../../../sdk/lib64' \
	    -lhccl -lhcomm -lacl_rt -lpthread

$(CTRL_O)/libctrl_kernel.so: $(S)/tests/guest/hccl/ctrl_kernel.cc \
    $(S)/tests/guest/hccl/ctrl_param.h \
    $(PREFIX)/lib64/device/lib64/libccl_kernel.so | sdk-headers
	@mkdir -p $(@D)
	$(RVCXX) -O2 -g -Wall -Wextra -Werror -std=c++14 -fPIC -shared \
	    -I$(PREFIX)/include -I$(PREFIX)/include/hccl -o $@ $< \
	    -L$(PREFIX)/lib64/device/lib64 -lccl_kernel

$(CTRL_O)/libctrl_kernel.json: $(S)/tests/guest/hccl/libctrl_kernel.json
	@mkdir -p $(@D)
	cp $< $@

CTRL_FILES := $(addprefix $(CTRL_O)/,$(CTRL_PROGRAMS) libctrl_kernel.so \
              libctrl_kernel.json)
GUEST_BINARIES += $(CTRL_FILES)

# The operator package, built by its own Makefile against the SDK.
OPS_DIR := $(S)/samples/custom_ops
$(B)/samples/custom_ops/custom_ops_test: \
    $(wildcard $(OPS_DIR)/*/*.cc $(OPS_DIR)/*/*.h $(OPS_DIR)/*/*.json) \
    $(OPS_DIR)/Makefile $(PREFIX)/lib64/libhcomm.so \
    $(PREFIX)/lib64/device/lib64/libccl_kernel.so | sdk-headers
	ASCEND_HOME_PATH=$(PREFIX) LD_LIBRARY_PATH=$(PREFIX)/lib64 \
	    $(MAKE) --no-print-directory -C $(OPS_DIR) test \
	    OUT=$(B)/samples/custom_ops VENDOR=$(B)/samples/vendors/cust

GUEST_BINARIES += $(B)/samples/custom_ops/custom_ops_test
GUEST_TESTS += $(S)/tests/guest/hccl.tests
endif
