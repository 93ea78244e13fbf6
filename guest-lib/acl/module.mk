# libacl_rt.so: the acl runtime with the card driver in it; libmsprofiler.so;
# and libraries that are there to be linked against only.
#
# SPDX-License-Identifier: Apache-2.0

ACL_SRC := $(wildcard $(S)/guest-lib/card/*.c) \
           $(filter-out %/msprofiler.c,$(wildcard $(S)/guest-lib/acl/*.c))
ACL_OBJ := $(patsubst $(S)/guest-lib/%.c,$(B)/guest-lib/%.o,$(ACL_SRC))
ACL_CFLAGS := -std=gnu11 -fPIC -fvisibility=hidden -pthread -I$(S)/include \
              -I$(S)/guest-lib/card -I$(S)/guest-lib/acl

$(ACL_OBJ): $(B)/guest-lib/%.o: $(S)/guest-lib/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(ACL_CFLAGS) -MMD -MP -MT $@ -c -o $@ $<
-include $(ACL_OBJ:.o=.d)

$(PREFIX)/lib64/libacl_rt.so: $(ACL_OBJ)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -shared -pthread -Wl,-soname,libacl_rt.so \
	    -Wl,--no-undefined -o $@ $(ACL_OBJ) -ljansson -lz

# The older name of the same library.
$(PREFIX)/lib64/libascendcl.so: | $(PREFIX)/lib64/libacl_rt.so
	ln -sf libacl_rt.so $@

$(PREFIX)/lib64/libmsprofiler.so: $(S)/guest-lib/acl/msprofiler.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(ACL_CFLAGS) -shared -Wl,-soname,$(@F) -o $@ $<

# Names that the published build files of custom operators link
# (spec/api/examples.md §3.2, §7). They define nothing.
ACL_STUBS := unified_dlog ascendc_runtime profapi ascendalog runtime \
             error_manager ascend_dump ascend_hal
ACL_STUB_LIBS := $(ACL_STUBS:%=$(PREFIX)/lib64/lib%.so)

$(ACL_STUB_LIBS):
	@mkdir -p $(@D)
	echo 'typedef int empty;' | $(CC) $(CFLAGS) -shared -fPIC \
	    -Wl,-soname,$(@F) -x c -o $@ -

SDK_TARGETS += $(PREFIX)/lib64/libacl_rt.so $(PREFIX)/lib64/libascendcl.so \
               $(PREFIX)/lib64/libmsprofiler.so $(ACL_STUB_LIBS)
