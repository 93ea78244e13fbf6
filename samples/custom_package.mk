# SPDX-License-Identifier: Apache-2.0
#
# A custom operator package in the published layout:
#   opp/vendors/cust/include/*.h
#   opp/vendors/cust/lib64/libhccl_custom_$(NAME).so
#   opp/vendors/cust/aicpu/config/lib$(KERNEL)_aicpu_kernel.json
#   opp/vendors/cust/aicpu/kernel/$(PACKAGE).tar.gz
#   conf/ascend_package_load.ini     the tarball is listed there
# NAME, PUBLIC (header), TEST (program) come from the including Makefile;
# KERNEL, PACKAGE, OUT may.
ifeq ($(ASCEND_HOME_PATH),)
$(error ASCEND_HOME_PATH is not set; source set_env.sh of the SDK)
endif
KERNEL ?= $(NAME)
OUT ?= build
VENDOR := $(ASCEND_HOME_PATH)/opp/vendors/cust
LOAD_LIST := $(ASCEND_HOME_PATH)/conf/ascend_package_load.ini
KERNEL_CXX ?= riscv64-linux-gnu-g++
INC := -Iinc -I$(ASCEND_HOME_PATH)/include -I$(ASCEND_HOME_PATH)/include/hccl \
       -I$(ASCEND_HOME_PATH)/pkg_inc
HOST_LIB := $(OUT)/libhccl_custom_$(NAME).so
KERNEL_LIB := $(OUT)/lib$(KERNEL)_aicpu_kernel.so
PACKAGE ?= aicpu_hccl_custom_$(NAME)
TARBALL := $(OUT)/$(PACKAGE).tar.gz
HEADERS := $(wildcard inc/*.h op_host/*.h)

all: testcase
package: $(HOST_LIB) $(TARBALL)

$(HOST_LIB): $(wildcard op_host/*.cc) $(HEADERS)
	@mkdir -p $(OUT)
	g++ -U_FORTIFY_SOURCE -Wall -Werror -fno-common -fno-strict-aliasing \
	    -pipe -g -O0 -std=c++14 -fstack-protector-all -fPIC -shared \
	    -D_GLIBCXX_USE_CXX11_ABI=0 -DHOST_COMPILE $(INC) -Iop_host \
	    $(filter %.cc,$^) -o $@ -L$(ASCEND_HOME_PATH)/lib64 \
	    -Wl,--no-as-needed -lhcomm -lc_sec -lascendcl

$(KERNEL_LIB): $(wildcard op_kernel/*.cc) $(HEADERS)
	@mkdir -p $(OUT)
	$(KERNEL_CXX) -std=c++14 -g -O0 -Wall -Werror -fPIC -shared \
	    -DAICPU_COMPILE $(INC) $(filter %.cc,$^) -o $@ \
	    -L$(ASCEND_HOME_PATH)/lib64/device/lib64 -lccl_kernel

# One folder at its root, and a manifest.
$(TARBALL): $(KERNEL_LIB)
	rm -rf $(OUT)/aicpu_kernels_device
	mkdir -p $(OUT)/aicpu_kernels_device
	cp $< $(OUT)/aicpu_kernels_device/
	cd $(OUT)/aicpu_kernels_device && sha256sum *.so >bin_hash.cfg
	tar -C $(OUT) -czf $@ aicpu_kernels_device

install: package
	mkdir -p $(VENDOR)/include $(VENDOR)/lib64 $(VENDOR)/aicpu/config \
	    $(VENDOR)/aicpu/kernel $(ASCEND_HOME_PATH)/conf
	cp $(PUBLIC) $(VENDOR)/include/
	cp $(HOST_LIB) $(VENDOR)/lib64/
	cp op_kernel/lib$(KERNEL)_aicpu_kernel.json $(VENDOR)/aicpu/config/
	cp $(TARBALL) $(VENDOR)/aicpu/kernel/
	touch $(LOAD_LIST)
	grep -qx 'name:$(notdir $(TARBALL))' $(LOAD_LIST) || \
	    printf '%s\n' 'name:$(notdir $(TARBALL))' install_path:2 \
	    optional:true package_path:opp/vendors/cust/aicpu/kernel \
	    load_as_per_soc:false >>$(LOAD_LIST)

# The published command line.
testcase: install
	g++ -std=c++14 -Werror -fstack-protector-strong -fPIE -pie -O2 -s \
	    -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack \
	    -Wl,--copy-dt-needed-entries testcase/main.cc \
	    -I$(ASCEND_HOME_PATH)/include -I$(VENDOR)/include \
	    -L$(ASCEND_HOME_PATH)/lib64 -lacl_rt -L$(VENDOR)/lib64 \
	    -lhccl_custom_$(NAME) -o $(OUT)/$(TEST)

clean:
	rm -rf $(OUT)

.PHONY: all package install testcase clean
