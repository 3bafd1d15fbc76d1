// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What is declared and is not there, for 'status' and 'doctor'. */
#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach.h"
#include "declared.h"
#include "doctor.h"
#include "nf.h"
#include "pin.h"

static bool is_pinned(const char *path)
{
	struct pin_state *state = malloc(sizeof(*state));
	char name[XDP_NAME_BYTES];
	int err = state ? pin_find(path, name) : 0;

	err = state && !err ? pin_read(name, state) : err;
	free(state);
	return err != -ENOENT;
}

/* Is it there? An error other than that it is not counts as "there". */
static bool is_there(const struct declared *d)
{
	struct attached *a;
	int filter, err;

	if (d->type == DECLARED_FILTER) {
		filter = open_named(d->name);
		if (filter >= 0)
			epf_close(filter);
		return filter != -ENOENT;
	}
	if (d->type == DECLARED_PIN)
		return is_pinned(d->name);
	a = calloc(1, sizeof(*a));
	err = a ? attached_read(d->name, a) : 0;
	if (a && !err && !a->live)
		err = -ENOENT;
	free(a);
	return err != -ENOENT;
}

static const char *declared_show_why_not(const struct declared *d)
{
	if (d->type == DECLARED_ATTACH && !nf_is_name(d->name) && !if_nametoindex(d->name))
		return "there is no such interface";
	return "'epfctl apply' makes it, or says why not";
}

static json_t *missing_json(const struct declared *d)
{
	const char *what = d->type == DECLARED_PIN ? "pin" :
			   nf_is_name(d->name)     ? "hook" :
						     "interface";

	return json_pack("{ss sb ss ss}", what, d->name, "attached", false, "declared", d->at[0],
			 "why", declared_show_why_not(d));
}

bool declared_status(json_t *list)
{
	struct declarations d;
	bool good;
	size_t i;

	if (access(DECLARED_DIR, F_OK))
		return true;
	good = declared_read(&d, NULL, 0);
	for (i = 0; good && i < d.nr; i++) {
		if (d.all[i].type == DECLARED_FILTER || is_there(&d.all[i]))
			continue;
		if (list)
			json_array_append_new(list, missing_json(&d.all[i]));
		else
			printf("%s: declared, but not %s: %s\n", d.all[i].name,
			       d.all[i].type == DECLARED_PIN ? "pinned" : "attached",
			       declared_show_why_not(&d.all[i]));
	}
	declared_free(&d);
	return good;
}

bool ask_declared(const struct machine *m, char *state, char *remedy)
{
	struct declarations d;
	size_t i, used = 0, missing = 0;

	(void)m;
	snprintf(state, DOCTOR_LEN, "nothing in " DECLARED_DIR);
	snprintf(remedy, DOCTOR_LEN, "'epfctl apply' makes it, or says why not");
	if (access(DECLARED_DIR, F_OK))
		return true;
	if (!declared_read(&d, NULL, 0)) {
		snprintf(state, DOCTOR_LEN, "a file in " DECLARED_DIR " is wrong");
		declared_free(&d);
		return false;
	}
	for (i = 0; i < d.nr; i++) {
		if (is_there(&d.all[i]))
			continue;
		missing++;
		if (used < DOCTOR_LEN)
			used += (size_t)snprintf(state + used, DOCTOR_LEN - used, "%s%s %s",
						 used ? ", " : "partly, without ",
						 declared_names[d.all[i].type], d.all[i].name);
		snprintf(remedy, DOCTOR_LEN, "%s", declared_show_why_not(&d.all[i]));
	}
	if (d.nr && !missing)
		snprintf(state, DOCTOR_LEN, "%zu sections, all there", d.nr);
	declared_free(&d);
	return !missing;
}
