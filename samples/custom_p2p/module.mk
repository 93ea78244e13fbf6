# The two operator packages in the published layout, built by their own
# makefiles as a user would. They are installed into a second home beside the
# SDK, which shares all with it but opp/ and conf/.
#
# SPDX-License-Identifier: Apache-2.0

ifneq ($(wildcard $(S)/guest-lib/acl/module.mk),)
CUSTOM_HOME := $(B)/samples/home
CUSTOM_NAMES := p2p allgather
CUSTOM_FILES := $(S)/samples/custom_package.mk $(foreach n,$(CUSTOM_NAMES), \
    $(wildcard $(S)/samples/custom_$(n)/Makefile \
               $(S)/samples/custom_$(n)/*/*))

$(CUSTOM_HOME)/built: $(CUSTOM_FILES) $(SDK_DIR)/set_env.sh.in \
    $(PREFIX)/lib64/libhcomm.so $(PREFIX)/lib64/libhccl.so \
    $(PREFIX)/lib64/libacl_rt.so $(PREFIX)/lib64/libascendcl.so \
    $(PREFIX)/lib64/libc_sec.so \
    $(PREFIX)/lib64/device/lib64/libccl_kernel.so | sdk-headers
	rm -rf $(@D)
	mkdir -p $(@D)
	for d in include lib64 pkg_inc devlib bin; do \
	    ln -s ../../sdk/$$d $(@D)/$$d || exit 1; done
	sed 's|@PREFIX@|$(@D)|' $(SDK_DIR)/set_env.sh.in >$(@D)/set_env.sh
	. $(@D)/set_env.sh && for n in $(CUSTOM_NAMES); do \
	    $(MAKE) --no-print-directory -s -C $(S)/samples/custom_$$n testcase \
	        OUT=$(B)/samples/$$n || exit 1; done
	touch $@

GUEST_BINARIES += $(CUSTOM_HOME)/built
endif
