/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What 'create' does, for 'apply' too. */
#ifndef EPFCTL_CREATE_H
#define EPFCTL_CREATE_H

#include "cmd.h"

/**
 * struct create_request - the options of 'create'
 * @plan_request: window, error and memory
 * @first_seen: a repeat does not restart its window
 * @hash: enum epf_hash_id
 * @align: epochs end by the wall clock
 * @rotate: who ends the epochs of a pure BPF filter
 * @key: hash key, if @has_key
 */
struct create_request {
	struct epf_plan_request plan_request;
	bool first_seen;
	__u8 hash;
	bool align;
	enum rotate rotate;
	bool has_key;
	__u64 key[2];
};

extern const struct option create_longs[];

/* Parse the command line of 'create'. Return: the name; NULL: an error is printed. */
const char *create_parse(int argc, char **argv, struct create_request *w);
/* Size filter @name. Return: false: an error is printed. */
bool create_plan(const struct create_request *w, const char *name, struct epf_planned *plan);
/* Make it, and wipe the key of @w. @module: where it is. Return: exit status. */
int create_planned(struct create_request *w, const struct epf_planned *plan, __u32 *id,
		   bool *module);

/* Print who ends the epochs of a new filter that is pure BPF. */
void create_tell_backend(enum rotate rotate, const char *name);

/* key_file.c: read a hash key. Prints errors, which do not show the key. */
bool read_key_file(const char *path, __u64 key[2]);

#endif /* EPFCTL_CREATE_H */
