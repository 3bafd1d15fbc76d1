// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* status: filters that iptables rules use, as the module xt_epf lists them. */
#include "xt_show.h"

#include <stdlib.h>
#include <string.h>

#include "cmd.h"

/* For this network namespace. A line for each filter: its name, then pairs of name and number. */
#define XT_PROC "/proc/net/xt_epf"

/* Read the next pair; false: there is none. */
static bool next_pair(char **rest, const char **name, __u64 *number)
{
	char *end, *text;

	*name = strtok_r(NULL, " \n", rest);
	text = *name ? strtok_r(NULL, " \n", rest) : NULL;
	if (!text)
		return false;
	*number = strtoull(text, &end, 10);
	return !*end;
}

/* "id" and "rules" come first, and do not count packets. */
static bool is_counter(const char *name)
{
	return strcmp(name, "id") && strcmp(name, "rules");
}

static void show_text(char *line)
{
	const char *name;
	__u64 number;
	char *rest;

	printf("iptables: filter %s", strtok_r(line, " \n", &rest));
	while (next_pair(&rest, &name, &number))
		if (!strcmp(name, "rules"))
			printf(", %llu %s\n", number, number == 1 ? "rule" : "rules");
		else if (is_counter(name) && number)
			printf("  %-12s %12llu packets\n", name, number);
}

static json_t *show_json(char *line)
{
	json_t *o, *all = json_object();
	const char *name;
	__u64 number;
	char *rest;

	o = json_pack("{s:s, s:s}", "hook", "iptables", "filter", strtok_r(line, " \n", &rest));
	while (next_pair(&rest, &name, &number)) {
		json_t *value = json_integer((json_int_t)number);

		if (is_counter(name))
			json_object_set_new(all, name, json_pack("{s:o}", "packets", value));
		else
			json_object_set_new(o, name, value);
	}
	json_object_set_new(o, "counters", all);
	return o;
}

void xt_show(json_t *list)
{
	FILE *file = fopen(XT_PROC, "re");
	char *line = NULL;
	size_t room = 0;

	if (!file)
		return;
	while (getline(&line, &room, file) > 0)
		if (list)
			json_array_append_new(list, show_json(line));
		else
			show_text(line);
	free(line);
	fclose(file);
}
