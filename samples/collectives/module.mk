# The sample of HCCL's operators, built by its own makefile as a user would.
#
# SPDX-License-Identifier: Apache-2.0

ifneq ($(wildcard $(S)/guest-lib/acl/module.mk),)
COLLECTIVES := $(B)/samples/collectives/threads \
               $(B)/samples/collectives/processes

$(COLLECTIVES): $(B)/samples/collectives/%: $(S)/samples/collectives/%.cc \
    $(S)/samples/collectives/Makefile $(PREFIX)/set_env.sh \
    $(PREFIX)/lib64/libhccl.so $(PREFIX)/lib64/libascendcl.so | sdk-headers
	. $(PREFIX)/set_env.sh && $(MAKE) --no-print-directory -s \
	    -C $(S)/samples/collectives $@ OUT=$(@D)

GUEST_BINARIES += $(COLLECTIVES)
endif
