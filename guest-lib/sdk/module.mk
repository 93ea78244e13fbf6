# Headers, environment, pkg-config and CMake files of the SDK.
#
# SPDX-License-Identifier: Apache-2.0

SDK_DIR := $(S)/guest-lib/sdk

# include/ as users see it; the contract (hw/) stays inside, pkg_inc/ has its
# own place beside include/.
SDK_HEADERS := $(patsubst $(S)/include/%,%,$(shell find $(S)/include \
    -path $(S)/include/hw -prune -o -name '*.h' -print))
SDK_PUBLIC := $(addprefix $(PREFIX)/include/, \
    $(filter-out pkg_inc/%,$(SDK_HEADERS)))
SDK_PKG_INC := $(addprefix $(PREFIX)/,$(filter pkg_inc/%,$(SDK_HEADERS)))

$(SDK_PUBLIC): $(PREFIX)/include/%: $(S)/include/%
	@mkdir -p $(@D)
	@cp $< $@

$(SDK_PKG_INC): $(PREFIX)/pkg_inc/%: $(S)/include/pkg_inc/%
	@mkdir -p $(@D)
	@cp $< $@

$(PREFIX)/set_env.sh: $(SDK_DIR)/set_env.sh.in
	@mkdir -p $(@D)
	@sed 's|@PREFIX@|$(PREFIX)|' $< >$@

SDK_PC_NAMES := acl_rt hccl hcomm cann_hixl
SDK_PC := $(SDK_PC_NAMES:%=$(PREFIX)/lib64/pkgconfig/%.pc)

$(SDK_PC): $(PREFIX)/lib64/pkgconfig/%.pc: $(SDK_DIR)/library.pc.in
	@mkdir -p $(@D)
	@sed 's|@NAME@|$*|' $< >$@

SDK_CMAKE := $(PREFIX)/lib64/cmake/atlas350/atlas350-config.cmake
$(SDK_CMAKE): $(SDK_DIR)/atlas350-config.cmake
	@mkdir -p $(@D)
	@cp $< $@

# Folders that programs and tools expect, empty or not.
SDK_FOLDERS := $(addprefix $(PREFIX)/,tools conf opp/built-in opp/vendors)
$(SDK_FOLDERS):
	@mkdir -p $@

SDK_TARGETS += $(SDK_PUBLIC) $(SDK_PKG_INC) $(PREFIX)/set_env.sh $(SDK_PC) \
               $(SDK_CMAKE) $(SDK_FOLDERS)
