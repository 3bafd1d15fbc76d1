// SPDX-License-Identifier: GPL-2.0
/* status: where duplicate removal is attached, and what it counted. */
#include <errno.h>
#include <linux/if_link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "pktopts.h"
#include "xdp.h"

static const struct option longs[] = { { 0 } };

static const struct spec spec = {
	.usage = "status [INTERFACE]",
	.help =
"Show where duplicate removal is attached, and its counters. NAME@N is an\n"
"interface of another network namespace. Exit status 1: INTERFACE has none.\n",
	.shorts = "",
	.longs = longs,
};

static const char *const outcome_names[EPF_XDP_OUTCOMES] = {
	[EPF_XDP_NEW] = "new",
	[EPF_XDP_DROPPED] = "dropped",
	[EPF_XDP_COUNTED] = "counted",
	[EPF_XDP_MARKED] = "marked",
	[EPF_XDP_UNMARKED] = "unmarked",
	[EPF_XDP_NOT_IP] = "not_ip",
	[EPF_XDP_TRUNCATED] = "truncated",
	[EPF_XDP_MALFORMED] = "malformed",
	[EPF_XDP_SATURATED] = "saturated",
	[EPF_XDP_NO_FILTER] = "no_filter",
	[EPF_XDP_ERROR] = "error",
};

static const char *action_name(__u32 action)
{
	static const char *const names[EPF_XDP_ACTIONS] = {
		[EPF_XDP_DROP] = "drop",
		[EPF_XDP_COUNT] = "count",
		[EPF_XDP_MARK] = "mark",
	};

	return action < EPF_XDP_ACTIONS ? names[action] : "unknown";
}

static const char *mode_of(const struct epf_xdp_conf *conf)
{
	return conf->mode == XDP_FLAGS_SKB_MODE ? "generic" : "native";
}

/* Its name, or "" where it is gone or cannot be asked. */
static void filter_name(__u32 id, char name[EPF_NAME_LEN])
{
	struct epf_info info;
	int dev = epf_dev_open();
	int filter = dev < 0 ? dev : epf_dev_filter_id(dev, id);

	name[0] = 0;
	if (filter >= 0 && !epf_filter_info(filter, &info))
		memcpy(name, info.params.name, EPF_NAME_LEN);
	if (filter >= 0)
		close(filter);
	if (dev >= 0)
		close(dev);
}

static json_t *counters_json(const struct epf_xdp_count *count)
{
	json_t *all = json_object();
	int i;

	for (i = 0; i < EPF_XDP_OUTCOMES; i++)
		json_object_set_new(all, outcome_names[i],
				    json_pack("{s:I, s:I}", "packets",
					      (json_int_t)count[i].packets,
					      "bytes",
					      (json_int_t)count[i].bytes));
	return all;
}

static json_t *state_json(const char *ifname, const struct xdp_state *s)
{
	char filter[EPF_NAME_LEN];
	json_t *o;

	filter_name(s->conf.id, filter);
	o = json_pack("{s:s, s:I, s:b, s:b, s:s*, s:I, s:o, s:s, s:s, s:I, s:I}",
		      "interface", ifname,
		      "ifindex", (json_int_t)s->conf.ifindex,
		      "here", s->here, "attached", s->live,
		      "filter", filter[0] ? filter : NULL,
		      "filter_id", (json_int_t)s->conf.id,
		      "key", pkt_json(&s->conf.opts),
		      "action", action_name(s->conf.action),
		      "mode", mode_of(&s->conf),
		      "prio", (json_int_t)s->conf.prio,
		      "program", (json_int_t)s->conf.prog_id);
	if (s->conf.action == EPF_XDP_MARK)
		json_object_set_new(o, "mark", json_integer(s->conf.mark));
	json_object_set_new(o, "counters", counters_json(s->count));
	return o;
}

static void state_print(const char *ifname, const struct xdp_state *s)
{
	const struct epf_xdp_conf *c = &s->conf;
	char filter[EPF_NAME_LEN];
	int i;

	filter_name(c->id, filter);
	printf("%s: ", ifname);
	if (filter[0])
		printf("filter %s, key ", filter);
	else
		printf("filter %u (gone), key ", c->id);
	pkt_print(&c->opts);
	printf(", %s", action_name(c->action));
	if (c->action == EPF_XDP_MARK)
		printf(" from 0x%x", c->mark);
	printf(", %s mode", mode_of(c));
	if (c->prio)
		printf(", prio %u", c->prio);
	printf(", program %u%s\n", c->prog_id,
	       s->live ? "" :
	       s->here ? " (gone: 'epfctl detach' removes the rest)" :
			 " (in another network namespace)");
	for (i = 0; i < EPF_XDP_OUTCOMES; i++)
		if (s->count[i].packets)
			printf("  %-10s %12llu packets %16llu bytes\n",
			       outcome_names[i], s->count[i].packets,
			       s->count[i].bytes);
}

static int status_error(const char *ifname, int err)
{
	if (err == -EPERM || err == -EACCES)
		return fail("status needs CAP_BPF: run as root");
	return fail("reading what '%s' counted: %s", ifname, strerror(-err));
}

static int status_one(const char *ifname)
{
	struct xdp_state state;
	int err = xdp_read(ifname, &state);

	if (err == -ENOENT) {
		if (out_mode == OUT_TEXT)
			printf("%s: no duplicate removal\n", ifname);
		else
			out_json(json_pack("{s:s, s:b}", "interface", ifname,
					   "attached", false));
		return EXIT_ABSENT;
	}
	if (err)
		return status_error(ifname, err);
	if (out_mode == OUT_TEXT)
		state_print(ifname, &state);
	else
		out_json(state_json(ifname, &state));
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
		err = xdp_read(names[i], &state);
		if (err && err != -ENOENT)
			code = status_error(names[i], err);
		else if (!err && out_mode == OUT_TEXT)
			state_print(names[i], &state);
		else if (!err)
			json_array_append_new(list,
					      state_json(names[i], &state));
		free(names[i]);
	}
	free(names);
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
