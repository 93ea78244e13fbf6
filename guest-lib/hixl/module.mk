# libcann_hixl.so: HIXL and HixlCS; libllm_datadist.so: its older twin.
#
# SPDX-License-Identifier: Apache-2.0

HIXL_DIR := $(S)/guest-lib/hixl
HIXL_C_SRC := $(sort $(wildcard $(HIXL_DIR)/*.c))
HIXL_OBJ_DIR := $(B)/guest-lib/hixl
HIXL_OBJ := $(HIXL_C_SRC:$(HIXL_DIR)/%.c=$(HIXL_OBJ_DIR)/%.o) \
            $(HIXL_OBJ_DIR)/hixl.o $(HIXL_OBJ_DIR)/ascend_string.o
HIXL_HDR := $(wildcard $(HIXL_DIR)/*.h $(S)/guest-lib/card/a350_card.h \
              $(S)/guest-lib/acl/acl_internal.h $(S)/include/hixl/*.h \
              $(S)/include/adxl/*.h $(S)/include/cs/*.h $(S)/include/acl/*.h \
              $(S)/include/graph/*.h $(S)/include/hw/atlas350/*.h)
HIXL_INC := -I$(S)/include -I$(S)/guest-lib/card -I$(S)/guest-lib/acl \
            -I$(HIXL_DIR)
# Only what the headers show is exported; FUNC_VISIBILITY marks the classes.
HIXL_FLAGS := -fPIC -fvisibility=hidden -DFUNC_VISIBILITY $(HIXL_INC)

$(HIXL_OBJ_DIR)/%.o: $(HIXL_DIR)/%.c $(HIXL_HDR)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -std=c11 -D_GNU_SOURCE $(HIXL_FLAGS) -c -o $@ $<

$(HIXL_OBJ_DIR)/%.o: $(HIXL_DIR)/%.cc $(HIXL_HDR)
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS) -std=c++11 $(HIXL_FLAGS) -c -o $@ $<

$(PREFIX)/lib64/libcann_hixl.so: $(HIXL_OBJ) $(PREFIX)/lib64/libacl_rt.so
	@mkdir -p $(@D)
	$(CXX) -shared -Wl,-soname,libcann_hixl.so -Wl,-z,defs \
	    -Wl,-rpath,'$$ORIGIN' -o $@ $(HIXL_OBJ) -L$(PREFIX)/lib64 -lacl_rt \
	    -ljansson -lpthread

# Strings are in both, so that programs link with this library alone.
$(PREFIX)/lib64/libllm_datadist.so: $(HIXL_OBJ_DIR)/adxl.o \
	$(HIXL_OBJ_DIR)/ascend_string.o $(PREFIX)/lib64/libcann_hixl.so
	@mkdir -p $(@D)
	$(CXX) -shared -Wl,-soname,libllm_datadist.so -Wl,-z,defs \
	    -Wl,-rpath,'$$ORIGIN' -o $@ $(HIXL_OBJ_DIR)/adxl.o \
	    $(HIXL_OBJ_DIR)/ascend_string.o -L$(PREFIX)/lib64 -lcann_hixl

ifneq ($(wildcard $(S)/guest-lib/acl/module.mk),)
SDK_TARGETS += $(PREFIX)/lib64/libcann_hixl.so \
               $(PREFIX)/lib64/libllm_datadist.so
endif
