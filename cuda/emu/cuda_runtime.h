/* SPDX-License-Identifier: GPL-2.0 */
/* The header that programs include, for those that tests compile for the emulation. */
#include "../launch.h"
