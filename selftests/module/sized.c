// SPDX-License-Identifier: GPL-2.0
#include "sized.h"

#include <limits.h>
#include <string.h>

/* Find the record in @file. */
static bool find(FILE *file, __u32 kind, double keys, double budget, struct sized *s)
{
	while (fread(s, sizeof(*s), 1, file) == 1)
		if (s->c.number == kind && s->keys == keys && s->budget == budget)
			return true;
	return false;
}

struct epf_compared test_sized(__u32 kind, double keys, double budget)
{
	struct epf_compare_req req = { .keys_per_window = keys, .budget = budget };
	char path[PATH_MAX] = "";
	struct sized s = { 0 };
	bool found = false;
	FILE *file;

	test_demand(readlink("/proc/self/exe", path, sizeof(path) - 8) > 0);
	strcpy(strrchr(path, '/'), "/sized");
	file = fopen(path, "re");
	if (file) {
		found = find(file, kind, keys, budget, &s);
		fclose(file);
	}
	if (!found)
		test_demand(!epf_compare_kind(kind, &req, &s.c));
	s.c.kind = epf_kind_name(kind);
	s.c.promise = NULL;
	return s.c;
}
