# atlas350-run and what it needs in the SDK: the guest's init, QEMU, a kernel.
#
# SPDX-License-Identifier: Apache-2.0

RUN_DIR := $(S)/guest-lib/tools/run
RUN_OBJS := $(patsubst %,$(B)/obj/run/%.o,main options accel initramfs)
RUN_CFLAGS := -std=gnu11 -O2 -g -Wall -Wextra -Werror

$(B)/obj/run/%.o: $(RUN_DIR)/%.c $(RUN_DIR)/run.h $(RUN_DIR)/proto.h
	@mkdir -p $(@D)
	$(CC) $(RUN_CFLAGS) -c -o $@ $<

$(PREFIX)/bin/atlas350-run: $(RUN_OBJS)
	@mkdir -p $(@D)
	$(CC) -o $@ $^

$(PREFIX)/share/atlas350/guest-init: $(RUN_DIR)/init.c $(RUN_DIR)/proto.h
	@mkdir -p $(@D)
	$(CC) $(RUN_CFLAGS) -static -s -o $@ $<

$(PREFIX)/bin/qemu-system-x86_64: | $(B)/config.mk
	@mkdir -p $(@D)
	ln -sfn $(QEMU) $@

$(PREFIX)/share/atlas350/kernel: $(B)/config.mk
	@mkdir -p $(@D)
	ln -sfn $(KERNEL_DIR) $@

$(PREFIX)/share/man/man1/atlas350-run.1: $(S)/docs/man/atlas350-run.1
	@mkdir -p $(@D)
	@cp $< $@

SDK_TARGETS += $(PREFIX)/share/man/man1/atlas350-run.1 \
               $(PREFIX)/bin/atlas350-run \
               $(PREFIX)/share/atlas350/guest-init \
               $(PREFIX)/bin/qemu-system-x86_64 \
               $(PREFIX)/share/atlas350/kernel
