/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The header that programs include, for those that tests compile for the emulation. */
#include "../launch.h"
