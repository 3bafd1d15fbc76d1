/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Records of programs that 'epfctl pin' has pinned. A record has a name like an interface
 * or a hook, so the functions of xdp_pin.c accept it; it belongs to no network namespace.
 * It is valid as long as the program is pinned where it was. A record whose program was
 * removed or moved is ignored, and the next 'pin' or 'destroy' removes it.
 */
#ifndef EPFCTL_PIN_H
#define EPFCTL_PIN_H

#include <limits.h>
#include <string.h>

#include "epf/match.h"
#include "xdp.h"

/**
 * struct pin_state - a pinned program, read back
 * @path: where it is pinned
 * @conf: filter and program
 * @rule: its rule
 * @counts: summed over CPUs
 */
struct pin_state {
	char path[PATH_MAX];
	struct epf_xdp_conf conf;
	struct xt_epf_rule rule;
	struct epf_counts counts;
};

static inline bool pin_is_name(const char *name)
{
	return !strncmp(name, EPF_MATCH_NAME, sizeof(EPF_MATCH_NAME) - 1);
}

/* Is an operand the path of a pin? Names of interfaces and hooks have no '/'. */
static inline bool pin_is_path(const char *operand)
{
	return strchr(operand, '/');
}

/* pin.c */

/**
 * struct pin_want - a loaded program that will be pinned
 * @path: where
 * @prog: its descriptor
 * @rule: descriptor of the map with its rule
 * @counts: descriptor of its map of counters
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
/* Remove the pin and the record; rules that use the program keep it. Return: likewise. */
int pin_remove(const char *path);
/* Is the program of record @name still where it was pinned, at @path? Prints no errors. */
bool pin_there(const char *name, char path[PATH_MAX]);
/* Prints no errors. -ENOENT: there is no record, or its program is gone. */
int pin_read(const char *name, struct pin_state *state);
/* The name of the record of the program at @path, at most XDP_NAME_BYTES. Prints no errors.
 * -ENOENT: there is no program.
 */
int pin_find(const char *path, char *name);
/* Remove all records whose program is not where it was pinned. Prints no errors. */
void pin_sweep(void) __attribute__((weak));

/* pin_show.c. Prints no errors. @list: an array to add it to; NULL: print it. Return: as
 * pin_read().
 */
int pin_status(const char *name, json_t *list);
/* The options of a rule, as 'apply' takes them: "--filter seen --key flow --recent". The
 * caller frees it. NULL: out of memory.
 */
char *pin_text(const char *filter, const struct xt_epf_rule *rule);
/* The same of a record. @filter: out: "": the filter is gone. Prints no errors. Return: as
 * pin_read().
 */
int pin_options(const char *name, char filter[EPF_NAME_LEN], char **text);

/* cmd_pin.c, for 'apply', too */

/**
 * struct pin_request - the operands and options of 'pin'
 * @filter: operand that names the filter
 * @path: where
 * @rule: what the program does
 */
struct pin_request {
	const char *filter;
	const char *path;
	struct xt_epf_rule rule;
};

extern const struct option pin_longs[];

/* Return: false: an error is printed. */
bool pin_parse(int argc, char **argv, struct pin_request *w);
/* Pin it. @name: out: the name of the filter. Return: exit status; errors are printed. */
int pin_run(const struct pin_request *w, char name[EPF_NAME_LEN]);

#endif /* EPFCTL_PIN_H */
