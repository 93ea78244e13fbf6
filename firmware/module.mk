# Firmware image: machine-mode monitor, runtime and archive of libraries.
#
# SPDX-License-Identifier: Apache-2.0
#
# FW_ROM_LIBS: RISC-V libraries that other module.mk files add to the archive.

FW_ELF := $(B)/firmware/atlas350-firmware.elf
FW_O := $(B)/firmware/obj
FW_ROM := $(B)/firmware/rom
FW_VERSION ?= 0.1.0
RVLIB ?= /usr/riscv64-linux-gnu/lib

FW_MON_SRC := $(sort $(wildcard $(S)/firmware/monitor/*.c))
FW_RT_SRC := $(sort $(wildcard $(S)/firmware/runtime/*.c))
FW_HDR := $(wildcard $(S)/firmware/*/*.h) $(wildcard $(S)/include/hw/atlas350/*.h)
FW_INC := -I$(S)/firmware/include -I$(S)/include
FW_WARN := -O2 -g -Wall -Wextra -Werror '-DFW_VERSION="$(FW_VERSION)"'

# Machine mode leaves the floating-point registers to the threads.
FW_MON_CFLAGS := -std=gnu11 $(FW_WARN) $(FW_INC) -march=rv64imac_zicsr_zifencei \
    -mabi=lp64 -mcmodel=medany -ffreestanding -fno-builtin -fno-pic \
    -fno-tree-loop-distribute-patterns -fno-stack-protector -fno-strict-aliasing
FW_RT_CFLAGS := $(FW_WARN) $(FW_INC) -fPIE -fvisibility=hidden \
    -fno-strict-aliasing -fasynchronous-unwind-tables -fno-omit-frame-pointer \
    -Wno-format-truncation -fno-builtin-malloc -fno-builtin-calloc

FW_MON_OBJ := $(patsubst $(S)/firmware/%.c,$(FW_O)/%.o,$(FW_MON_SRC)) \
              $(FW_O)/monitor/entry.o
FW_RT_OBJ := $(patsubst $(S)/firmware/%.c,$(FW_O)/%.o,$(FW_RT_SRC)) \
             $(FW_O)/runtime/terminate.o

FW_SYS_LIBS := $(addprefix $(RVLIB)/,ld-linux-riscv64-lp64d.so.1 libc.so.6 \
               libm.so.6 libgcc_s.so.1 libstdc++.so.6)

$(FW_O)/monitor/%.o: $(S)/firmware/monitor/%.c $(FW_HDR)
	@mkdir -p $(@D)
	$(RVCC) $(FW_MON_CFLAGS) -c -o $@ $<

$(FW_O)/monitor/entry.o: $(S)/firmware/monitor/entry.S
	@mkdir -p $(@D)
	$(RVCC) -march=rv64gc_zicsr_zifencei -mabi=lp64 -c -o $@ $<

$(FW_O)/runtime/%.o: $(S)/firmware/runtime/%.c $(FW_HDR)
	@mkdir -p $(@D)
	$(RVCC) -std=gnu11 $(FW_RT_CFLAGS) -c -o $@ $<

$(FW_O)/runtime/terminate.o: $(S)/firmware/runtime/terminate.cc $(FW_HDR)
	@mkdir -p $(@D)
	$(RVCXX) -std=gnu++17 $(FW_RT_CFLAGS) -c -o $@ $<

$(FW_O)/runtime.elf: $(FW_RT_OBJ)
	$(RVCXX) -pie -Wl,--export-dynamic -Wl,--hash-style=gnu -Wl,-z,lazy \
	    -Wl,-z,norelro -o $@ $^ -ldl -lpthread

.SECONDEXPANSION:
$(FW_O)/rom.cpio: $(FW_O)/runtime.elf $(FW_SYS_LIBS) $$(FW_ROM_LIBS) \
                  $(S)/firmware/module.mk
	rm -rf $(FW_ROM)
	mkdir -p $(FW_ROM)/lib $(FW_ROM)/bin
	for f in $(FW_SYS_LIBS) $(FW_ROM_LIBS); do \
	    $(RVSTRIP) --strip-unneeded -o $(FW_ROM)/lib/$$(basename $$f) $$f \
	        || exit 1; \
	done
	$(RVSTRIP) --strip-unneeded -o $(FW_ROM)/bin/runtime $(FW_O)/runtime.elf
	cd $(FW_ROM) && find . -type f | sed 's,^\./,,' | LC_ALL=C sort | \
	    cpio --quiet -o -H newc --reproducible > $@.tmp
	mv $@.tmp $@

$(FW_O)/rom.o: $(FW_O)/rom.cpio
	printf '.section .rom,"a"\n.balign 4096\n.incbin "%s"\n' $< | \
	    $(RVCC) -march=rv64gc_zicsr_zifencei -mabi=lp64 -x assembler \
	    -c -o $@ -

$(FW_ELF): $(FW_MON_OBJ) $(FW_O)/rom.o $(S)/firmware/monitor/monitor.ld
	$(RVCC) -nostdlib -static -no-pie -Wl,--no-relax -Wl,--build-id=none \
	    -Wl,--no-warn-rwx-segments -T $(S)/firmware/monitor/monitor.ld \
	    -o $@ $(FW_MON_OBJ) $(FW_O)/rom.o

RVSTRIP ?= riscv64-linux-gnu-strip

firmware: $(FW_ELF)
.PHONY: firmware

$(PREFIX)/firmware/atlas350-firmware.elf: $(FW_ELF)
	@mkdir -p $(@D)
	cp $< $@

SDK_TARGETS += $(PREFIX)/firmware/atlas350-firmware.elf
