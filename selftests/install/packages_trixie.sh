#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The packages on a minimal Debian 13, upgraded and removed in use: packages.py.
exec "${0%/*}/packages.py" trixie
