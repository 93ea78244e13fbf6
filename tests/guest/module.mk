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

# The interface's own examples, in the shape of spec/api/hixl.md §7: its
# compiler flags, no -std, its libraries.
HIXL_EXAMPLE_FLAGS := -D_GLIBCXX_USE_CXX11_ABI=0 -ftrapv -O2 -fno-common \
                      -Wfloat-equal -Wall -Werror -Wextra
HIXL_EXAMPLE_LIBS := -L$(PREFIX)/lib64 -Wl,-rpath-link,$(PREFIX)/lib64 \
                     -lcann_hixl -lacl_rt -lascend_hal -lpthread -lrt
HIXL_EXAMPLE_DIR := $(B)/tests/guest/hixl-examples
HIXL_EXAMPLES := $(addprefix $(HIXL_EXAMPLE_DIR)/,d2rd d2rh multiproc \
                   quickstart mooncake)
GUEST_BINARIES += $(HIXL_EXAMPLES)
$(HIXL_EXAMPLE_DIR)/quickstart: HIXL_EXAMPLE_MORE := -DQUICKSTART
$(HIXL_EXAMPLE_DIR)/mooncake: HIXL_EXAMPLE_MORE := -lllm_datadist

$(HIXL_EXAMPLE_DIR)/quickstart: $(S)/tests/guest/hixl-examples/multiproc.cc
$(filter-out %/quickstart,$(HIXL_EXAMPLES)): $(HIXL_EXAMPLE_DIR)/%: \
	$(S)/tests/guest/hixl-examples/%.cc
$(HIXL_EXAMPLES): $(S)/tests/guest/hixl-examples/example.h \
	$(PREFIX)/lib64/libcann_hixl.so $(PREFIX)/lib64/libllm_datadist.so \
	$(PREFIX)/lib64/libascend_hal.so | sdk-headers
	@mkdir -p $(@D)
	$(CXX) $(HIXL_EXAMPLE_FLAGS) -I$(PREFIX)/include -o $@ \
	    $(filter %.cc,$^) $(HIXL_EXAMPLE_LIBS) $(HIXL_EXAMPLE_MORE)
endif
