# Programs of the guest tests, built as a user builds his.
#
# SPDX-License-Identifier: Apache-2.0

ifneq ($(wildcard $(S)/guest-lib/acl/module.mk),)
GUEST_BINARIES += $(B)/tests/guest/hixl-vm

$(B)/tests/guest/hixl-vm: $(S)/tests/guest/hixl-vm.cc \
	$(S)/tests/unit/tap.h $(PREFIX)/lib64/libcann_hixl.so \
	$(PREFIX)/lib64/libllm_datadist.so | sdk-headers
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS) -std=c++14 -I$(PREFIX)/include -o $@ $< \
	    -L$(PREFIX)/lib64 -Wl,-rpath-link,$(PREFIX)/lib64 -lcann_hixl \
	    -lllm_datadist -lacl_rt -lpthread
endif
