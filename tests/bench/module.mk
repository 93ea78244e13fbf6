# Programs that tests/bench/*.bench run.
#
# SPDX-License-Identifier: Apache-2.0

BENCH_FILES := $(B)/tests/bench/aicpu_loop.native \
               $(B)/tests/bench/aicpu_loop.rv64 $(B)/tests/bench/copy \
               $(B)/tests/bench/mips.rv64

$(B)/tests/bench/mips.rv64: $(S)/tests/bench/mips.c
	@mkdir -p $(@D)
	$(RVCC) -O2 -Wall -Werror -fno-tree-loop-distribute-patterns -static \
	    -o $@ $<

$(B)/tests/bench/aicpu_loop.native: $(S)/tests/bench/aicpu_loop.c
	@mkdir -p $(@D)
	$(CC) -O2 -o $@ $<

$(B)/tests/bench/aicpu_loop.rv64: $(S)/tests/bench/aicpu_loop.c
	@mkdir -p $(@D)
	$(RVCC) -O2 -static -o $@ $<

$(B)/tests/bench/copy: $(S)/tests/bench/copy.c $(PREFIX)/lib64/libacl_rt.so \
	$(PREFIX)/include/acl/acl_rt.h
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -I$(PREFIX)/include -o $@ $< -L$(PREFIX)/lib64 \
	    -Wl,-rpath-link,$(PREFIX)/lib64 -lacl_rt

BENCH_FILES += $(B)/tests/bench/hixl

$(B)/tests/bench/hixl: $(S)/tests/bench/hixl.cc \
	$(PREFIX)/lib64/libcann_hixl.so | sdk-headers
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS) -std=c++14 -I$(PREFIX)/include -o $@ $< \
	    -L$(PREFIX)/lib64 -Wl,-rpath-link,$(PREFIX)/lib64 -lcann_hixl \
	    -lacl_rt -lpthread

# The runtime: launches and copies.
$(B)/tests/bench/acl: $(S)/tests/bench/acl.c $(PREFIX)/lib64/libacl_rt.so
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -std=gnu11 -I$(S)/include -I$(S)/guest-lib/card \
	    -I$(S)/guest-lib/acl -o $@ $< -L$(PREFIX)/lib64 -lacl_rt

BENCH_FILES += $(B)/tests/bench/acl \
               $(B)/tests/guest/acl/libacl_test_kernel.so \
               $(B)/tests/guest/acl/libacl_test_kernel.json

# Busy cores and the guest's timers.
$(B)/tests/bench/cores: $(S)/tests/bench/cores.c $(PREFIX)/lib64/libacl_rt.so
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -std=gnu11 -I$(S)/include -o $@ $< -L$(PREFIX)/lib64 \
	    -lacl_rt

BENCH_FILES += $(B)/tests/bench/cores

BENCH_FILES += $(B)/tests/bench/libcalls_kernel.so

$(B)/tests/bench/libcalls_kernel.so: $(S)/tests/bench/calls_kernel.c \
	$(B)/firmware/lib/libccl_kernel.so
	@mkdir -p $(@D)
	$(RVCC) -O2 -Wall -Wextra -Werror -fPIC -shared -I$(S)/include -o $@ $< \
	    -L$(B)/firmware/lib -lccl_kernel

# The card's doorbells and its effect on the guest's timers.
$(B)/tests/bench/card: $(S)/tests/bench/card.c $(PREFIX)/lib64/libacl_rt.so
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -std=gnu11 -I$(S)/include -I$(S)/guest-lib/card \
	    -o $@ $< -L$(PREFIX)/lib64 -lacl_rt -lpthread

BENCH_FILES += $(B)/tests/bench/card

# HCCL's operators, and those of samples/custom_ops; their package is built
# with its test.
BENCH_FILES += $(B)/tests/bench/collectives

$(B)/tests/bench/collectives: $(S)/tests/bench/collectives.cc \
	$(B)/samples/custom_ops/custom_ops_test $(PREFIX)/lib64/libhccl.so
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS) -std=c++14 -I$(PREFIX)/include \
	    -I$(B)/samples/vendors/cust/include -o $@ $< -L$(PREFIX)/lib64 \
	    -Wl,-rpath-link,$(PREFIX)/lib64 -L$(B)/samples/vendors/cust/lib64 \
	    -lhccl_custom_ops -lhccl -lhcomm -lacl_rt -lpthread
