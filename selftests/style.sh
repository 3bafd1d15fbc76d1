#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The house rules, as one test.

. "$(dirname "$0")/ktap.sh"

ktap_plan 1
ktap_check 'the tree keeps the house rules' "$(dirname "$0")/../scripts/style.sh"
ktap_finish
