# libc_sec.so: the bounds-checked functions of securec.h, for the host and for
# kernels.
#
# SPDX-License-Identifier: Apache-2.0

SECUREC_SRC := $(S)/guest-lib/securec/securec.c
SECUREC_CFLAGS := -std=c11 -D_DEFAULT_SOURCE -O2 -g -Wall -Wextra -Werror \
                  -fPIC -I$(S)/include

$(PREFIX)/lib64/libc_sec.so: $(SECUREC_SRC) $(S)/include/securec.h
	@mkdir -p $(@D)
	$(CC) $(SECUREC_CFLAGS) -shared -Wl,-soname,libc_sec.so -o $@ $<

SECUREC_DEV_LIB := $(B)/firmware/lib/libc_sec.so
FW_ROM_LIBS += $(SECUREC_DEV_LIB)

$(SECUREC_DEV_LIB): $(SECUREC_SRC) $(S)/include/securec.h
	@mkdir -p $(@D)
	$(RVCC) $(SECUREC_CFLAGS) -shared -Wl,-soname,libc_sec.so -o $@ $<

$(PREFIX)/lib64/device/lib64/libc_sec.so \
$(PREFIX)/devlib/device/libc_sec.so: $(SECUREC_DEV_LIB)
	@mkdir -p $(@D)
	cp $< $@

SDK_TARGETS += $(PREFIX)/lib64/libc_sec.so \
               $(PREFIX)/lib64/device/lib64/libc_sec.so \
               $(PREFIX)/devlib/device/libc_sec.so
