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
FW_MON_CFLAGS := $(if $(FW_TRACE),-DMON_TRACE) -std=gnu11 $(FW_WARN) $(FW_INC) -march=rv64imac_zicsr_zifencei \
    -mabi=lp64 -mcmodel=medany -ffreestanding -fno-builtin -fno-pic \
    -I$(S)/firmware/monitor/libc -fno-tree-loop-distribute-patterns -fno-stack-protector -fno-strict-aliasing
FW_RT_CFLAGS := $(FW_WARN) $(FW_INC) -fPIE -fvisibility=hidden \
    -fno-strict-aliasing -fasynchronous-unwind-tables -fno-omit-frame-pointer \
    -Wno-format-truncation -fno-builtin-malloc -fno-builtin-calloc

FW_MON_OBJ := $(patsubst $(S)/firmware/%.c,$(FW_O)/%.o,$(FW_MON_SRC)) \
              $(FW_O)/monitor/entry.o
FW_RT_OBJ := $(patsubst $(S)/firmware/%.c,$(FW_O)/%.o,$(FW_RT_SRC)) \
             $(FW_O)/runtime/terminate.o

FW_SYS_LIBS := $(addprefix $(RVLIB)/,ld-linux-riscv64-lp64d.so.1 libc.so.6 \
               libm.so.6 libgcc_s.so.1 libstdc++.so.6 libatomic.so.1 libpthread.so.0 \
               libdl.so.2 librt.so.1)

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

# The card's log library, and the compiler wrappers that link kernels with it.
FW_DLOG := $(B)/firmware/lib/libunified_dlog.so
FW_ROM_LIBS += $(FW_DLOG)

$(FW_DLOG): $(S)/firmware/dlog/dlog.c $(FW_HDR)
	@mkdir -p $(@D)
	$(RVCC) -std=gnu11 -O2 -g -Wall -Wextra -Werror -fPIC -fvisibility=hidden \
	    $(FW_INC) -I$(S)/firmware/sdk/include -shared -Wl,-z,defs \
	    -Wl,-soname,libunified_dlog.so -o $@ $<

$(PREFIX)/lib64/device/lib64/libunified_dlog.so: $(FW_DLOG)
	@mkdir -p $(@D)
	cp $< $@

FW_SDK_HDR := $(addprefix $(PREFIX)/include/aicpu/,dlog_pub.h aicpu_api.h)
$(FW_SDK_HDR): $(PREFIX)/include/aicpu/%: $(S)/firmware/sdk/include/%
	@mkdir -p $(@D)
	cp $< $@

FW_WRAP = sed -e 's/@NAME@/$(1)/g;s/@EXT@/$(2)/g;s/@EXTRA@/$(3)/g' \
    -e 's/@COMPILER@/riscv64-linux-gnu-$(1)/g' \
    -e 's/@PACKAGE@/$(1)-riscv64-linux-gnu/g' $< >$@ && chmod +x $@

$(PREFIX)/bin/atlas350-aicpu-gcc: $(S)/firmware/sdk/atlas350-aicpu-gcc.in
	@mkdir -p $(@D)
	$(call FW_WRAP,gcc,c,)

$(PREFIX)/bin/atlas350-aicpu-g++: $(S)/firmware/sdk/atlas350-aicpu-gcc.in
	@mkdir -p $(@D)
	$(call FW_WRAP,g++,cc,-fno-gnu-unique)

$(PREFIX)/lib64/pkgconfig/atlas350-aicpu.pc: $(S)/firmware/sdk/atlas350-aicpu.pc
	@mkdir -p $(@D)
	cp $< $@

$(PREFIX)/lib64/cmake/atlas350/aicpu-toolchain.cmake: \
    $(S)/firmware/sdk/aicpu-toolchain.cmake
	@mkdir -p $(@D)
	cp $< $@

FW_SDK := $(PREFIX)/bin/atlas350-aicpu-gcc $(PREFIX)/bin/atlas350-aicpu-g++ \
    $(PREFIX)/lib64/device/lib64/libunified_dlog.so $(FW_SDK_HDR) \
    $(PREFIX)/lib64/pkgconfig/atlas350-aicpu.pc \
    $(PREFIX)/lib64/cmake/atlas350/aicpu-toolchain.cmake
SDK_TARGETS += $(FW_SDK)
