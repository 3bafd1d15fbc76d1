/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Records of programs that 'epfctl pin' has pinned. A record is called by a name as
 * interfaces and hooks are, so the functions of xdp_pin.c take it; it is of no network
 * namespace. It is valid as long as the program is where the user has it pinned: of one
 * that was removed or moved, nothing is told, and the next 'pin' or 'destroy' removes the
 * record.
 */
#ifndef EPFCTL_PIN_H
#define EPFCTL_PIN_H

#include <limits.h>
#include <string.h>

#include "epf/match.h"
#include "xdp.h"

/**
 * struct pin_state - a pinned program, read back
 * @path: where it is
 * @conf: filter and program
 * @rule: what it asks
 * @count: summed over CPUs
 */
struct pin_state {
	char path[PATH_MAX];
	struct epf_xdp_conf conf;
	struct xt_epf_rule rule;
	struct epf_xdp_count count[EPF_MATCH_REASONS];
};

static inline bool pin_is_name(const char *name)
{
	return !strncmp(name, EPF_MATCH_NAME, sizeof(EPF_MATCH_NAME) - 1);
}

/* An operand that is the path of a pin? Interfaces and hooks have no '/'. */
static inline bool pin_is_path(const char *operand)
{
	return strchr(operand, '/');
}

/* pin.c */

/**
 * struct pin_want - a program that is loaded, and is to be pinned
 * @path: where
 * @prog: its descriptor
 * @rule: of the map with its rule
 * @counts: of its map of counts
 * @conf: filter and program
 */
struct pin_want {
	const char *path;
	int prog;
	int rule;
	int counts;
	struct epf_xdp_conf conf;
};

/* Pin it, and make its record. Return: 0, or an error that is printed. */
int pin_add(const struct pin_want *want);
/* Remove the pin and the record; rules that use the program keep it. Likewise. */
int pin_remove(const char *path);
/* Is the program of record @name still where it was pinned, at @path? Silent. */
bool pin_there(const char *name, char path[PATH_MAX]);
/* Silent. -ENOENT: there is no record, or the program is not there any more. */
int pin_read(const char *name, struct pin_state *state);
/* What the record of the program at @path is called, if it has one: XDP_NAME_BYTES at
 * most. Silent. -ENOENT: there is no program.
 */
int pin_find(const char *path, char *name);
/* Remove all records whose program is not where it was pinned. Silent. */
void pin_sweep(void) __attribute__((weak));

/* pin_show.c; silent where it cannot be read. @list: an array to add it to, in place of
 * printing it. Return: as pin_read().
 */
int pin_status(const char *name, json_t *list);

#endif /* EPFCTL_PIN_H */
