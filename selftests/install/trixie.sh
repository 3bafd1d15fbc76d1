#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# README's first commands on a minimal Debian 13: newcomer.py.
exec "${0%/*}/newcomer.py" trixie
