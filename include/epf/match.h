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
#define EPF_MATCH_PIN_COUNTS "matchcounts"
#define EPF_MATCH_PIN_PROGRAM "program" /* symbolic link */

/* The result for a packet; each packet is counted once. */
enum epf_match_reason {
	EPF_MATCH_RECENT,
	EPF_MATCH_NEW,
	EPF_MATCH_INSERTED, /* the program inserts only */
	EPF_MATCH_SATURATED,
	EPF_MATCH_OVERDUE,   /* nobody ends the filter's epochs */
	EPF_MATCH_GONE,      /* the filter was destroyed */
	EPF_MATCH_FRAGMENT,  /* not the first one, where the key has ports */
	EPF_MATCH_TRUNCATED, /* ends before the bytes that the key needs */
	EPF_MATCH_MALFORMED, /* a header contradicts itself */
	EPF_MATCH_ERROR,     /* any other error */
	EPF_MATCH_REASONS
};

/**
 * struct epf_match_counts - the one value of the map of counts, per CPU
 * @by: by enum epf_match_reason
 *
 * Additions are atomic: at LOCAL_OUT the same program in softirq may interrupt a program,
 * which may also move to another CPU.
 */
struct epf_match_counts {
	struct epf_xdp_count by[EPF_MATCH_REASONS];
};

#endif /* EPF_MATCH_H */
