# Programs that test the acl runtime in the machine.
#
# SPDX-License-Identifier: Apache-2.0

ACL_TESTS := acl-memory acl-stream acl-kernel acl-threads acl-bad acl-ipc acl-rest acl-order
ACL_TEST_BIN := $(ACL_TESTS:%=$(B)/tests/guest/%)
ACL_TEST_DIR := $(B)/tests/guest/acl
ACL_TEST_FILES := $(ACL_TEST_DIR)/libacl_test_kernel.so \
                  $(ACL_TEST_DIR)/libacl_test_kernel.json \
                  $(ACL_TEST_DIR)/broken.json

$(B)/tests/guest/acl-rest: $(PREFIX)/lib64/libmsprofiler.so
$(B)/tests/guest/acl-rest: ACL_TEST_LIBS := -lmsprofiler
$(ACL_TEST_BIN): $(B)/tests/guest/%: $(S)/tests/guest/acl/%.c \
	$(S)/tests/guest/acl/t.h $(PREFIX)/lib64/libacl_rt.so
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -std=gnu11 -pthread -I$(S)/include -o $@ $< \
	    -L$(PREFIX)/lib64 -lacl_rt $(ACL_TEST_LIBS)

$(ACL_TEST_DIR)/libacl_test_kernel.so: $(S)/tests/guest/acl/kernel-acl.c
	@mkdir -p $(@D)
	$(RVCC) -std=gnu11 -O2 -Wall -Wextra -Werror -fPIC -shared -o $@ $<

$(ACL_TEST_DIR)/libacl_test_kernel.json: $(ACL_TEST_DIR)/%: \
	$(S)/tests/guest/acl/%
	@mkdir -p $(@D)
	cp $< $@

$(ACL_TEST_DIR)/broken.json:
	@mkdir -p $(@D)
	echo '{ "Op": { "opInfo": ' >$@

GUEST_BINARIES += $(ACL_TEST_BIN) $(ACL_TEST_FILES)
GUEST_TESTS += $(S)/tests/guest/acl.tests
