# SPDX-License-Identifier: Apache-2.0
#
# Tests of the AICPU core: RISC-V programs, run by tests/aicpu/run-tests on
# aicpu-run (and, for comparison, on qemu-riscv64).

AICPU_T := $(B)/tests/aicpu
AICPU_BARE := isa fp priv pmp fail hang
AICPU_CARD := smp mailbox sum
AICPU_RV_FLAGS := -march=rv64gc_zicsr_zifencei -mabi=lp64d -O1 -g -Wall \
    -Werror -ffreestanding -fno-pic -mno-relax -mcmodel=medany -nostdlib \
    -static -I$(S)/include -Wl,--no-warn-rwx-segments -Wl,--build-id=none
AICPU_BARE_SRC := $(addprefix $(S)/tests/aicpu/bare/,crt.S trap.c)

$(AICPU_BARE:%=$(AICPU_T)/bare-%): $(AICPU_T)/bare-%: \
	$(S)/tests/aicpu/bare/%.c $(AICPU_BARE_SRC) \
	$(S)/tests/aicpu/bare/bare.h $(S)/tests/aicpu/bare/bare.ld
	@mkdir -p $(@D)
	$(RVCC) $(AICPU_RV_FLAGS) -Wl,--defsym=BASE=0x80000000 \
	    -T $(S)/tests/aicpu/bare/bare.ld -o $@ $(AICPU_BARE_SRC) $<

$(AICPU_T)/bare-suite: $(S)/tests/aicpu/bare/suite.S \
	$(S)/tests/aicpu/bare/bare.ld
	@mkdir -p $(@D)
	$(RVCC) $(AICPU_RV_FLAGS) -Wl,--defsym=BASE=0x80000000 \
	    -T $(S)/tests/aicpu/bare/bare.ld -o $@ $<

# Results that are none.
AICPU_TOHOST := even odd-place
$(AICPU_T)/bare-tohost-even: TOHOST := -DVALUE=6 -DOFFSET=0
$(AICPU_T)/bare-tohost-odd-place: TOHOST := -DVALUE=1 -DOFFSET=4
$(AICPU_TOHOST:%=$(AICPU_T)/bare-tohost-%): $(S)/tests/aicpu/bare/tohost.S \
	$(S)/tests/aicpu/bare/bare.ld
	@mkdir -p $(@D)
	$(RVCC) $(AICPU_RV_FLAGS) -Wl,--defsym=BASE=0x80000000 $(TOHOST) \
	    -T $(S)/tests/aicpu/bare/bare.ld -o $@ $<

$(AICPU_CARD:%=$(AICPU_T)/card-%): $(AICPU_T)/card-%: \
	$(S)/tests/aicpu/card/%.c $(S)/tests/aicpu/card/card.c \
	$(S)/tests/aicpu/card/card.h $(AICPU_BARE_SRC) \
	$(S)/tests/aicpu/bare/bare.h $(S)/tests/aicpu/bare/bare.ld \
	$(wildcard $(S)/include/hw/atlas350/*.h)
	@mkdir -p $(@D)
	$(RVCC) $(AICPU_RV_FLAGS) -Wl,--defsym=BASE=0x10000000 \
	    -T $(S)/tests/aicpu/bare/bare.ld -o $@ $(AICPU_BARE_SRC) \
	    $(S)/tests/aicpu/card/card.c $<

$(AICPU_T)/rvfuzz: $(S)/tests/aicpu/rvfuzz.c
	@mkdir -p $(@D)
	$(RVCC) -O2 -Wall -Werror -static -fno-pie -no-pie -o $@ $<

UNIT_TESTS += $(B)/tests/unit/test-aicpu
$(B)/tests/unit/test-aicpu: $(AICPU_BARE:%=$(AICPU_T)/bare-%) \
	$(AICPU_T)/bare-suite $(AICPU_TOHOST:%=$(AICPU_T)/bare-tohost-%) \
	$(AICPU_CARD:%=$(AICPU_T)/card-%) $(AICPU_T)/rvfuzz | qemu
	@mkdir -p $(@D)
	@printf '#!/bin/sh\nexec "%s" "%s" "%s"\n' \
	    $(S)/tests/aicpu/run-tests $(QEMU_BUILD)/aicpu-run $(AICPU_T) > $@
	@chmod +x $@

# The same, and the firmware's tests, with the cores built for the thread
# sanitizer; it wants its shadow where newer kernels put other things. To take
# back a million blocks such cores need longer than the card gives them.
ifeq ($(SANITIZE),thread)
AICPU_TSAN := $(B)/qemu-tsan
TSAN_TESTS += $(U)/test-aicpu $(U)/test-firmware
.PHONY: aicpu-tsan
aicpu-tsan: overlay $(AICPU_TSAN)/.configured
	@$(S)/scripts/run-ninja $(B)/aicpu-tsan-build.log \
	    ninja -C $(AICPU_TSAN) -j$(JOBS) $(AICPU_RUN)

$(U)/test-aicpu: $(B)/tests/unit/test-aicpu | aicpu-tsan
	@mkdir -p $(@D)
	@printf '#!/bin/sh\nA350_FUZZ_STREAMS=50 exec setarch -R "%s" "%s" "%s" "$$@"\n' \
	    $(S)/tests/aicpu/run-tests $(AICPU_TSAN)/$(AICPU_RUN) $(AICPU_T) > $@
	@chmod +x $@

$(U)/test-firmware: $(B)/tests/unit/test-firmware | aicpu-tsan
	@mkdir -p $(@D)
	@printf '#!/bin/sh\nAICPU_RUN="%s" exec setarch -R "%s" "%s" %s "$$@"\n' \
	    $(AICPU_TSAN)/$(AICPU_RUN) $< $(B) \
	    "'--only=^(?!memory_exhaustion)'" > $@
	@chmod +x $@
endif
