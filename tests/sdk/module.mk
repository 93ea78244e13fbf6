# The SDK's ways to compile kernels.
#
# SPDX-License-Identifier: Apache-2.0

UNIT_TESTS += $(B)/tests/unit/test-sdk
$(B)/tests/unit/test-sdk: $(wildcard $(S)/tests/sdk/*) $(FW_ELF) | sdk
	@mkdir -p $(@D)
	@printf '#!/bin/sh\nexec "%s" "%s"\n' $(S)/tests/sdk/run-tests $(B) > $@
	@chmod +x $@
