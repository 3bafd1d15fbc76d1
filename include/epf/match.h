/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Definitions that the programs of bpf/epf_match.bpf.c share with the tool that pins them.
 * No functions.
 *
 * A pinned program has a record below EPF_XDP_PINS: a directory named '@@', EPF_MATCH_NAME
 * and the number of the program. It has the map "conf" of epf/xdp.h, the program's constant
 * data, its map of counts and a symbolic link to the path where the user pinned it.
 */
#ifndef EPF_MATCH_H
#define EPF_MATCH_H

#include <linux/epochfilter_xt.h>

#include "xdp.h"

#define EPF_MATCH_NAME "pin:" /* prefix of these names; interfaces have no ':' */
#define EPF_MATCH_PIN_RULE "matchrule"
#define EPF_MATCH_PIN_PROGRAM "program" /* symbolic link */

#endif /* EPF_MATCH_H */
