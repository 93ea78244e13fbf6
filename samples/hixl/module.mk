# HIXL samples, built as a user builds them.
#
# SPDX-License-Identifier: Apache-2.0

HIXL_SAMPLES := hixl_d2rd hixl_d2rh hixl_kv

define hixl_sample
$(B)/samples/$(1): $(S)/samples/hixl/$(1).cc $(S)/samples/hixl/common.h \
	$(PREFIX)/lib64/libcann_hixl.so $(PREFIX)/lib64/libacl_rt.so \
	| sdk-headers
	@mkdir -p $$(@D)
	$$(CXX) $$(CXXFLAGS) -std=c++14 -D_GLIBCXX_USE_CXX11_ABI=0 \
	    -I$(PREFIX)/include -o $$@ $$< -L$(PREFIX)/lib64 \
	    -Wl,-rpath-link,$(PREFIX)/lib64 -lcann_hixl -lacl_rt -lpthread
GUEST_BINARIES += $(B)/samples/$(1)
endef

ifneq ($(wildcard $(S)/guest-lib/acl/module.mk),)
$(foreach s,$(HIXL_SAMPLES),$(eval $(call hixl_sample,$(s))))
endif
