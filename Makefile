# SPDX-License-Identifier: Apache-2.0
#
# The virtual Atlas 350. `make help` lists the targets.
#
# Each part has a module.mk, included here; see docs/devel/building.rst. They
# get S (checkout), B (build/), PREFIX (the SDK being laid out) and add to
#   SDK_TARGETS   files and phony targets that `make sdk` needs
#   UNIT_TESTS    executables under $(U)/ = $(B)/tests/unit/, speaking TAP
#   TSAN_TESTS    those of them that have threads, for `make check-tsan`
#   GUEST_BINARIES files that the manifests of tests/guest/*.tests run
#   QTEST_FILES   files that qtests read
#   BENCHES       executables for `make bench`

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# `make V=1` shows the commands.
ifndef V
.SILENT:
endif
MAKEFLAGS += --no-builtin-rules
.SUFFIXES:

S := $(patsubst %/,%,$(dir $(abspath $(firstword $(MAKEFILE_LIST)))))
B := $(S)/build

# These goals work without a configuration, the last two on a bare machine.
GOALS := $(or $(MAKECMDGOALS),help)
ifneq ($(filter-out help deps clean docs demo check,$(GOALS)),)
-include $(B)/config.mk
endif

JOBS ?= $(shell nproc 2>/dev/null || echo 2)
# `make` alone uses every processor; `make -jN` is obeyed, and what the make
# above this one has decided.
ifeq ($(MAKELEVEL)$(filter -j%,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(JOBS)
endif

ifeq ($(origin PREFIX),command line)
DESTINATION := $(PREFIX)
else
DESTINATION := $(or $(PREFIX_INSTALL),/usr/local/Ascend/atlas350)
endif
# The SDK is laid out under build/; `make install` copies it.
override PREFIX := $(B)/sdk

ifeq ($(USE_CCACHE),yes)
CCACHE := ccache
export CCACHE_DIR := $(CACHE)/ccache
export CCACHE_BASEDIR := $(S)
export CCACHE_NOHASHDIR := 1
export CCACHE_MAXSIZE := 5G
export CCACHE_SLOPPINESS := time_macros,include_file_mtime,include_file_ctime
endif
HOSTCC ?= gcc
HOSTCXX ?= g++
CC := $(CCACHE) $(HOSTCC)
CXX := $(CCACHE) $(HOSTCXX)
RVCC := riscv64-linux-gnu-gcc
RVCXX := riscv64-linux-gnu-g++
AR := ar
CFLAGS ?= -O2 -g -Wall -Wextra -Werror
CXXFLAGS ?= -O2 -g -Wall -Wextra -Werror

# Sanitizers of the unit tests. With "thread" they are built into a directory of
# their own: `make check-tsan`.
SANITIZE ?= address,undefined
U := $(B)/tests/unit$(if $(filter thread,$(SANITIZE)),-tsan)
# TSan knows no fences: it may see a race where there is none, never the reverse.
SANITIZE_FLAGS := -fsanitize=$(SANITIZE) \
                  $(if $(filter thread,$(SANITIZE)),-Wno-tsan)

SDK_TARGETS :=
UNIT_TESTS :=
TSAN_TESTS :=
GUEST_TESTS := $(wildcard $(S)/tests/host/*.tests $(S)/tests/guest/*.tests)
GUEST_BINARIES :=
BENCHES :=
QTEST_FILES :=

# ---- QEMU with the card ----

QEMU_BUILD := $(B)/qemu
QEMU := $(QEMU_BUILD)/qemu-system-x86_64
QTEST_SOURCES := $(wildcard $(S)/tests/qtest/atlas350-*-test.c)
QTESTS := $(patsubst $(S)/tests/qtest/%.c,$(QEMU_BUILD)/tests/qtest/%, \
            $(QTEST_SOURCES))
# configure's own check is cheap; it runs when there is no configuration.
$(B)/config.mk:
	$(S)/configure $(CONFIGURE_ARGS)

NINJA := $(S)/scripts/run-ninja $(B)/qemu-build.log \
         ninja -C $(QEMU_BUILD) -j$(JOBS)
QEMU_EMULATORS := $(addprefix qemu-system-,$(or $(QEMU_TARGETS),x86_64))
AICPU_RUN := hw/atlas350/aicpu/run/aicpu-run

.PHONY: overlay
overlay: $(B)/config.mk
	@$(S)/scripts/qemu-overlay $(S) $(QEMU_PRISTINE) $(B)/qemu-src

.PHONY: qemu
qemu: overlay ## QEMU with the card in it
	@$(NINJA) $(QEMU_EMULATORS) $(AICPU_RUN)
	@ln -sf $(AICPU_RUN) $(QEMU_BUILD)/aicpu-run

.PHONY: qtests
qtests: qemu
	@$(if $(QTESTS),$(NINJA) $(QTESTS:$(QEMU_BUILD)/%=%))

# ---- the parts ----

MODULES := $(filter-out $(B)/%,$(sort $(wildcard $(S)/*/module.mk \
             $(S)/*/*/module.mk $(S)/*/*/*/module.mk)))
include $(MODULES)

# ---- what people call ----

.PHONY: help
help: ## this text
	@echo "Targets:"
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  \1\t\2/p' \
	    $(S)/Makefile $(MODULES) | expand -t 20
	@echo "Options of the build: ./configure --help"

.PHONY: deps
deps: ## install the Debian packages needed (as root), or say which
	@$(S)/scripts/deps --install

.PHONY: firmware
firmware: ## what runs on the card's cores

.PHONY: sdk
sdk: ## the SDK under build/sdk
sdk: $(SDK_TARGETS)
	@echo "SDK: build/sdk"

.PHONY: install
install: sdk qemu ## copy SDK, QEMU and launcher to PREFIX
	@$(S)/scripts/install-sdk $(B) $(DESTDIR)$(DESTINATION) $(DESTINATION)

.PHONY: all
all: qemu sdk ## everything that is shipped

# A bare machine has to get its packages before make can know its targets, so
# the rest happens in a second make.
.PHONY: demo
demo: ## two cards in a VM move bytes; the main samples
	@$(S)/scripts/deps --install
	@$(MAKE) --no-print-directory run-demo

.PHONY: check
check: ## unit, qtest and guest tests
	@$(S)/scripts/deps --install
	@$(MAKE) --no-print-directory run-check

.PHONY: run-demo
run-demo: qemu sdk $(GUEST_BINARIES)
	@$(S)/scripts/demo $(B)

.PHONY: test-programs
test-programs: qtests sdk $(QTEST_FILES) $(UNIT_TESTS) $(GUEST_BINARIES)

.PHONY: run-check
run-check: test-programs
	@$(S)/tests/run --build=$(B) $(RUN_ARGS) unit $(UNIT_TESTS) \
	    qtest $(QTESTS) guest $(GUEST_TESTS)

# The parts' results are added up; one that ended without any has failed.
FULL_RESULTS := $(B)/check-full.results
FULL_PARTS := check-asan check-tsan check-tsan-device

.PHONY: check-full
check-full: test-programs ## check, slow and long tests, the sanitizer runs
	@: >$(FULL_RESULTS); s=0; \
	A350_FUZZ=$${A350_FUZZ:-200} A350_GRAPHS=$${A350_GRAPHS:-5000} \
	$(S)/tests/run --build=$(B) --slow --patience=10 \
	    --results=$(FULL_RESULTS) $(RUN_ARGS) \
	    unit $(UNIT_TESTS) qtest $(QTESTS) guest $(GUEST_TESTS) || s=1; \
	for part in $(FULL_PARTS); do \
	    echo "$$part:"; \
	    $(MAKE) --no-print-directory $$part \
	        RUN_ARGS="--results=$(FULL_RESULTS) $(RUN_ARGS)" || s=1; \
	done; \
	echo "check-full:"; \
	awk -v parts=$(words run $(FULL_PARTS)) \
	    '{ p += $$1; f += $$2; k += $$3 } END { printf \
	    "%d passed, %d failed, %d skipped\n", p, f + parts - NR, k }' \
	    $(FULL_RESULTS); exit $$s

# QEMU in a second directory; the test programs are those of the first.
# Everything the card loses shows when QEMU ends.
ASAN_BUILD := $(B)/qemu-asan
$(ASAN_BUILD)/.configured: | $(B)/config.mk
	$(S)/configure $(CONFIGURE_ARGS) --sanitizer-build

.PHONY: check-asan
check-asan: qtests firmware $(QTEST_FILES) $(ASAN_BUILD)/.configured ## qtests under ASan, LSan, UBSan
	@$(S)/scripts/run-ninja $(B)/qemu-asan-build.log \
	    ninja -C $(ASAN_BUILD) -j$(JOBS) qemu-system-x86_64
	@A350_FUZZ=$${A350_FUZZ:-100} A350_GRAPHS=$${A350_GRAPHS:-500} \
	 ASAN_OPTIONS=detect_leaks=1:fast_unwind_on_malloc=0:abort_on_error=1 \
	 LSAN_OPTIONS=print_suppressions=0:suppressions=$(S)/tests/qtest/qemu.lsan \
	 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
	    $(S)/tests/run --build=$(B) --qemu=$(ASAN_BUILD) --patience=10 \
	    $(RUN_ARGS) qtest $(QTESTS)

# GLib's own allocator hands memory from thread to thread out of TSan's sight.
.PHONY: check-tsan
check-tsan: ## threaded unit tests under TSan
ifeq ($(SANITIZE),thread)
check-tsan: $(TSAN_TESTS)
	@TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1 \
	 G_SLICE=always-malloc \
	    $(S)/tests/run --build=$(B) --patience=10 $(RUN_ARGS) \
	    unit $(TSAN_TESTS)
else
	@$(MAKE) --no-print-directory SANITIZE=thread check-tsan
endif

# QEMU in a third directory; the test programs are those of the first. Left out
# is what races on purpose: lots drawn blindly, kernels that share memory, memory
# that is sent while it changes. Address space randomisation of new kernels puts
# things where TSan wants its shadow.
TSAN_BUILD := $(B)/qemu-tsan
TSAN_QTESTS := $(filter-out $(foreach t,fuzz aicpu migrate, \
                 %/atlas350-$t-test),$(QTESTS))
$(TSAN_BUILD)/.configured: | $(B)/config.mk
	$(S)/configure $(CONFIGURE_ARGS) --tsan-build

.PHONY: check-tsan-device
check-tsan-device: qtests firmware $(QTEST_FILES) $(TSAN_BUILD)/.configured ## qtests under TSan
	@$(S)/scripts/run-ninja $(B)/qemu-tsan-build.log \
	    ninja -C $(TSAN_BUILD) -j$(JOBS) qemu-system-x86_64
	@A350_LEAK_ROUNDS=$${A350_LEAK_ROUNDS:-6} A350_GRAPHS=$${A350_GRAPHS:-200} \
	 G_SLICE=always-malloc \
	 TSAN_OPTIONS=halt_on_error=1:suppressions=$(S)/tests/qtest/qemu.tsan \
	    setarch -R $(S)/tests/run --build=$(B) --qemu=$(TSAN_BUILD) \
	    --patience=10 $(RUN_ARGS) qtest $(TSAN_QTESTS)

.PHONY: check-unit
check-unit: sdk $(UNIT_TESTS) ## unit tests only
	@$(S)/tests/run --build=$(B) $(RUN_ARGS) unit $(UNIT_TESTS)

.PHONY: check-qtest
check-qtest: qtests firmware $(QTEST_FILES) ## tests of the card's registers and queues only
	@$(S)/tests/run --build=$(B) $(RUN_ARGS) qtest $(QTESTS)

.PHONY: check-guest
check-guest: qemu sdk $(GUEST_BINARIES) ## tests in the VM only
	@$(S)/tests/run --build=$(B) $(RUN_ARGS) guest $(GUEST_TESTS)

.PHONY: bench
bench: qtests sdk $(BENCHES) $(BENCH_FILES) ## measurements against baselines
	@$(S)/scripts/bench $(B) $(BENCHES)

.PHONY: docs
docs: ## the manual as HTML, if Sphinx is there
	@if command -v sphinx-build >/dev/null; then \
	    sphinx-build -q -b html $(S)/docs $(B)/docs && \
	    echo "build/docs/index.html"; \
	else \
	    echo "missing: sphinx-build (Debian package python3-sphinx)"; exit 1; \
	fi

.PHONY: clean
clean: ## remove build/ (the cache stays)
	rm -rf $(B)
