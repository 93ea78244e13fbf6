# libhcomm.so: communicators and the host side of Hcomm; libhccl.so: the
# operators.
#
# SPDX-License-Identifier: Apache-2.0

HCL_CFLAGS := $(CFLAGS) -std=gnu11 -D_GNU_SOURCE -fPIC -fvisibility=hidden \
              -MMD -MP -I$(S)/include -I$(S)/include/pkg_inc \
              -I$(S)/guest-lib/card -I$(S)/guest-lib/acl \
              -I$(S)/guest-lib/hccl

HCOMM_SRC := $(wildcard $(S)/guest-lib/hccl/*.c $(S)/guest-lib/hcomm/*.c)
HCOMM_OBJ := $(HCOMM_SRC:$(S)/%.c=$(B)/obj/%.o)
HCCL_SRC := $(wildcard $(S)/guest-lib/hccl/ops/*.c)
HCCL_OBJ := $(HCCL_SRC:$(S)/%.c=$(B)/obj/%.o)
-include $(HCOMM_OBJ:.o=.d) $(HCCL_OBJ:.o=.d)

$(HCOMM_OBJ) $(HCCL_OBJ): $(B)/obj/%.o: $(S)/%.c
	@mkdir -p $(@D)
	$(CC) $(HCL_CFLAGS) -MT $@ -c -o $@ $<

# The libraries find each other without LD_LIBRARY_PATH, also at link time.
HCL_LINK := -shared -Wl,-z,defs -Wl,-rpath,'$$ORIGIN' -Wl,--no-as-needed \
            -L$(PREFIX)/lib64 -Wl,-rpath-link,$(PREFIX)/lib64

$(PREFIX)/lib64/libhcomm.so: $(HCOMM_OBJ) $(PREFIX)/lib64/libacl_rt.so \
                             $(PREFIX)/lib64/libc_sec.so
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(HCL_LINK) -Wl,-soname,libhcomm.so -o $@ $(HCOMM_OBJ) \
	    -lacl_rt -lc_sec -ljansson -lpthread -lm

# The operators need their kernels (firmware/hccl) to run, not to link.
$(PREFIX)/lib64/libhccl.so: $(HCCL_OBJ) $(PREFIX)/lib64/libhcomm.so \
    | $(HCCL_DEV_FILES)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(HCL_LINK) -Wl,-soname,libhccl.so -o $@ $(HCCL_OBJ) \
	    -lhcomm -lacl_rt -lpthread -ldl

ifneq ($(wildcard $(S)/guest-lib/acl/module.mk),)
SDK_TARGETS += $(PREFIX)/lib64/libhcomm.so $(PREFIX)/lib64/libhccl.so
endif
