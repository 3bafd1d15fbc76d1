# SPDX-License-Identifier: GPL-2.0
# For each Makefile that compiles, after BUILD is set and before it includes dependency files. These have
# absolute paths; without this a changed header would compile nothing in a tree that was moved or copied.
# "-include": the parts of a tree in which mutants are built have no scripts.

EPF_HERE := $(abspath $(dir $(lastword $(MAKEFILE_LIST)))/..) $(abspath $(BUILD))
ifneq ($(file < $(BUILD)/.here),$(EPF_HERE))
$(shell $(firstword $(EPF_HERE))/scripts/moved.sh $(EPF_HERE))
endif
