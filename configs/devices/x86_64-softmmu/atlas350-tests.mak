# SPDX-License-Identifier: GPL-2.0-or-later
#
# What the card's qtests plug together, for builds that only they run on.

CONFIG_Q35=y
CONFIG_VTD=y
CONFIG_PCIE_PORT=y
CONFIG_ATLAS350=y
