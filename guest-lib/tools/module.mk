# atlas350-run and what it needs in the SDK (the guest's init, QEMU, a kernel);
# atlas350-log.
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

$(PREFIX)/bin/atlas350-log: $(S)/guest-lib/tools/log/log.c \
	$(S)/include/hw/atlas350/admin.h $(S)/include/hw/atlas350/regs.h
	@mkdir -p $(@D)
	$(CC) $(RUN_CFLAGS) -I$(S)/include -o $@ $<

$(PREFIX)/share/man/man1/%.1: $(S)/docs/man/%.1
	@mkdir -p $(@D)
	@cp $< $@

SDK_TARGETS += $(PREFIX)/share/man/man1/atlas350-run.1 \
               $(PREFIX)/share/man/man1/atlas350-log.1 \
               $(PREFIX)/bin/atlas350-log \
               $(PREFIX)/bin/atlas350-run \
               $(PREFIX)/share/atlas350/guest-init \
               $(PREFIX)/bin/qemu-system-x86_64 \
               $(PREFIX)/share/atlas350/kernel
