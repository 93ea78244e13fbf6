# Programs of tests/guest/custom.tests.
#
# SPDX-License-Identifier: Apache-2.0

ifneq ($(wildcard $(S)/guest-lib/acl/module.mk),)
MISTAKES := $(B)/tests/guest/custom
MISTAKES_INC := -I$(PREFIX)/include -I$(PREFIX)/include/hccl \
    -I$(PREFIX)/pkg_inc -I$(PREFIX)/pkg_inc/hccl

$(MISTAKES)/mistakes: $(S)/tests/guest/custom/mistakes.cc \
    $(S)/tests/guest/custom/mistakes_param.h $(S)/samples/common/sample.h \
    $(PREFIX)/lib64/libhcomm.so $(PREFIX)/lib64/libhccl.so | sdk-headers
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS) -std=c++14 $(MISTAKES_INC) -o $@ $< \
	    -L$(PREFIX)/lib64 -Wl,-rpath-link,$(PREFIX)/lib64 -lhccl -lhcomm \
	    -lacl_rt -lpthread

$(MISTAKES)/libmistakes_kernel.so: \
    $(S)/tests/guest/custom/mistakes_kernel.cc \
    $(S)/tests/guest/custom/mistakes_param.h \
    $(PREFIX)/lib64/device/lib64/libccl_kernel.so | sdk-headers
	@mkdir -p $(@D)
	$(RVCXX) -O2 -g -Wall -Wextra -Werror -std=c++14 -fPIC -shared \
	    $(MISTAKES_INC) -o $@ $< -L$(PREFIX)/lib64/device/lib64 -lccl_kernel

$(MISTAKES)/libmistakes_kernel.json: \
    $(S)/tests/guest/custom/libmistakes_kernel.json
	@mkdir -p $(@D)
	cp $< $@

GUEST_BINARIES += $(MISTAKES)/mistakes $(MISTAKES)/libmistakes_kernel.so \
                  $(MISTAKES)/libmistakes_kernel.json
endif
