// SPDX-License-Identifier: GPL-2.0
/* status: what is attached where, and what it counted. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "ingress.h"
#include "nf.h"
#include "xt_show.h"

static const struct option longs[] = { { 0 } };

static const struct spec spec = {
	.usage = "status [INTERFACE | nf:HOOK:PRIORITY]",
	.help =
"Show what is attached where, and the counters by reason and verdict; without an\n"
"operand also filters that rules of iptables use. NAME@N is of another network\n"
"namespace. Exit status 1: INTERFACE, or the hook, has none.\n",
	.shorts = "",
	.longs = longs,
};

static void status_print(const char *ifname, const struct xdp_state *s)
{
	int i;

	xdp_show(ifname, s);
	if (s->conf.action == EPF_XDP_REFLEX) {
		reflex_show_counts(s);
		return;
	}
	if (ingress_is(s->conf.action)) {
		ingress_show_counts(s);
		return;
	}
	for (i = 0; i < EPF_XDP_OUTCOMES; i++)
		if (s->count[i].packets)
			printf("  %-12s %12llu packets %16llu bytes\n",
			       xdp_outcome_names[i], s->count[i].packets,
			       s->count[i].bytes);
}

static json_t *status_json(const char *ifname, const struct xdp_state *s)
{
	json_t *o = xdp_json(ifname, s), *all;
	int i;

	if (s->conf.action == EPF_XDP_REFLEX) {
		json_object_set_new(o, "counters", reflex_json_counts(s));
		return o;
	}
	if (ingress_is(s->conf.action)) {
		json_object_set_new(o, "counters", ingress_json_counts(s));
		return o;
	}
	all = json_object();
	for (i = 0; i < EPF_XDP_OUTCOMES; i++)
		json_object_set_new(all, xdp_outcome_names[i],
				    json_pack("{s:I, s:I}", "packets",
					      (json_int_t)s->count[i].packets,
					      "bytes",
					      (json_int_t)s->count[i].bytes));
	json_object_set_new(o, "counters", all);
	return o;
}

static int status_error(const char *ifname, int err)
{
	if (err == -EPERM || err == -EACCES)
		return fail("%s: not for this user to read: run as root, or as "
			    "the one who attached", ifname);
	return fail("reading what '%s' counted: %s", ifname, xdp_pin_why(err));
}

static int status_one(const char *ifname)
{
	bool hook = nf_is_name(ifname);
	char name[XDP_NAME_BYTES];
	struct xdp_state state;
	int err;

	if (hook && !nf_name(ifname, name))
		return EXIT_FAIL;
	err = hook ? nf_status(name, NULL) : xdp_read(ifname, &state);
	if (err == -ENOENT) {
		if (out_mode == OUT_TEXT)
			printf("%s: nothing is attached\n", ifname);
		else
			out_json(json_pack("{s:s, s:b}",
					   hook ? "hook" : "interface", ifname,
					   "attached", false));
		return EXIT_ABSENT;
	}
	if (err < 0)
		return status_error(ifname, err);
	if (hook)
		return err ? EXIT_ABSENT : EXIT_YES;
	if (out_mode == OUT_TEXT)
		status_print(ifname, &state);
	else
		out_json(status_json(ifname, &state));
	return state.live ? EXIT_YES : EXIT_ABSENT;
}

static int status_all(void)
{
	json_t *list = json_array();
	struct xdp_state state;
	int code = EXIT_YES;
	char **names;
	size_t i;
	int err;

	err = xdp_pin_list(&names);
	if (err)
		code = status_error("all interfaces", err);
	for (i = 0; names && names[i]; i++) {
		bool hook = nf_is_name(names[i]);

		if (hook)
			err = nf_status(names[i], out_mode == OUT_TEXT ? NULL : list);
		else
			err = xdp_read(names[i], &state);
		if (err < 0 && err != -ENOENT)
			code = status_error(names[i], err);
		else if (hook)
			;
		else if (!err && out_mode == OUT_TEXT)
			status_print(names[i], &state);
		else if (!err)
			json_array_append_new(list,
					      status_json(names[i], &state));
		free(names[i]);
	}
	free(names);
	xt_show(out_mode == OUT_TEXT ? NULL : list);
	if (out_mode == OUT_TEXT || code != EXIT_YES)
		json_decref(list);
	else
		out_json(list);
	return code;
}

int cmd_status(int argc, char **argv)
{
	int opt;

	while ((opt = next_option(argc, argv, &spec)) >= 0)
		if (opt == '?')
			return EXIT_FAIL;
	if (!operands(argc, argv, 0, 1, &spec))
		return EXIT_FAIL;
	xdp_obj_quiet();
	return argc > optind ? status_one(argv[optind]) : status_all();
}
