#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The packages on a minimal Debian 12, and with Secure Boot: packages.py.
exec "${0%/*}/packages.py" bookworm
