# Kernels that use, and abuse, the card's cores, and the test that runs them.
#
# SPDX-License-Identifier: Apache-2.0

FT_O := $(B)/tests/firmware
FT_SRC := $(S)/tests/firmware
FT_CXX := $(PREFIX)/bin/atlas350-aicpu-g++
FT_FLAGS := -std=c++17 -O1 -g -Wall -Wextra -Werror
FT_NEED := $(FT_CXX) $(FW_SDK) $(PREFIX)/lib64/device/lib64/libccl_kernel.so

$(FT_O)/libkernels.so: $(FT_SRC)/kernels.cc $(FT_NEED)
	@mkdir -p $(@D)
	$(FT_CXX) $(FT_FLAGS) -o $@ $<

# For tests/qtest/atlas350-aicpu-test.c.
$(FT_O)/libqueue.so: $(FT_SRC)/queue.cc $(FT_NEED)
	@mkdir -p $(@D)
	$(FT_CXX) $(FT_FLAGS) -g0 -s -o $@ $<
QTEST_FILES += $(FT_O)/libqueue.so

# No checks of the compiler's own: the bugs are meant.
$(FT_O)/libfaults.so: $(FT_SRC)/faults.cc $(FT_NEED)
	@mkdir -p $(@D)
	$(FT_CXX) -std=c++17 -O1 -g -fstack-protector-all -o $@ $<

# Pairs of libraries with one name and different contents.
FT_SMALL = $(FT_CXX) $(FT_FLAGS) -fgnu-unique '-DSAY_NAME="$(1)"' \
    -o $@ $(FT_SRC)/small.cc $(2)

$(FT_O)/a/libsmall.so: $(FT_SRC)/small.cc $(FT_NEED)
	@mkdir -p $(@D)
	$(call FT_SMALL,small a,-DSAY_VALUE=1 -Wl$(,)-soname$(,)libsmall.so)
$(FT_O)/b/libsmall.so: $(FT_SRC)/small.cc $(FT_NEED)
	@mkdir -p $(@D)
	$(call FT_SMALL,small b,-DSAY_VALUE=2 -Wl$(,)-soname$(,)libsmall.so)
, := ,
$(FT_O)/%/libdep.so: $(FT_SRC)/small.cc $(FT_NEED)
	@mkdir -p $(@D)
	$(call FT_SMALL,dep $*,-DSAY_IS_DEPENDENCY -DSAY_VALUE=$(FT_VALUE_$*) \
	    -Wl$(,)-soname$(,)libdep.so)
FT_VALUE_a := 10
FT_VALUE_b := 20
$(FT_O)/%/libuser.so: $(FT_SRC)/small.cc $(FT_O)/%/libdep.so
	$(call FT_SMALL,user $*,-DSAY_DEPENDENCY -DSAY_VALUE=$(FT_VALUE_$*)0 \
	    $(FT_O)/$*/libdep.so)

$(FT_O)/libundef.so: $(FT_SRC)/small.cc $(FT_NEED)
	@mkdir -p $(@D)
	$(call FT_SMALL,undef,-DSAY_MISSING -DSAY_VALUE=1 -Wl$(,)-z$(,)undefs)
$(FT_O)/libcrash.so: $(FT_SRC)/small.cc $(FT_NEED)
	@mkdir -p $(@D)
	$(call FT_SMALL,crash,-DSAY_CRASH=0x18 -DSAY_VALUE=1 -Wno-array-bounds)
$(FT_O)/libendless.so: $(FT_SRC)/small.cc $(FT_NEED)
	@mkdir -p $(@D)
	$(call FT_SMALL,endless,-DSAY_ENDLESS -DSAY_VALUE=1)
$(FT_O)/libhost.so: $(FT_SRC)/small.cc
	@mkdir -p $(@D)
	$(CXX) -shared -fPIC '-DSAY_NAME="host"' -DSAY_VALUE=1 -o $@ $<

FT_KERNELS := $(addprefix $(FT_O)/,libkernels.so libqueue.so libfaults.so a/libsmall.so \
    b/libsmall.so a/libuser.so b/libuser.so libundef.so libcrash.so libendless.so \
    libhost.so)

$(B)/tests/unit/test-firmware: $(FT_SRC)/test-firmware $(FT_KERNELS) $(FW_ELF) \
                               $(FT_SRC)/faults.cc $(S)/docs/aicpu-debugging.rst
	@mkdir -p $(@D)
	cp $(FT_SRC)/faults.cc $(@D)/
	cp $(S)/docs/aicpu-debugging.rst $(FT_O)/
	cp $(FT_SRC)/test-firmware $@

.SECONDARY: $(FT_O)/a/libdep.so $(FT_O)/b/libdep.so
UNIT_TESTS += $(B)/tests/unit/test-firmware

# The same kernels through the card's queues and acl, in a machine.
$(FT_O)/launch $(FT_O)/cores: $(FT_O)/%: $(FT_SRC)/%.c $(PREFIX)/lib64/libacl_rt.so $(SDK_PUBLIC)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -std=gnu11 -I$(PREFIX)/include -o $@ $< \
	    -L$(PREFIX)/lib64 -lacl_rt -Wl,-rpath-link,$(PREFIX)/lib64
ifneq ($(wildcard $(S)/guest-lib/acl/module.mk),)
GUEST_BINARIES += $(FT_O)/launch $(FT_O)/cores $(FT_KERNELS)
endif
