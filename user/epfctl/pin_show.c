// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Programs pinned for iptables, and their counters, as text and as JSON. */
#include "pin.h"

#include <errno.h>
#include <stdlib.h>

#include "cmd.h"
#include "desc.h"
#include "epf/keydesc.h"
#include "epf/rule.h"
#include "common/pktopts.h"

/* The reason for each value that look() of bpf/epf_match.bpf.c returns. */
static const struct {
	const char *name;
	int ret;
} reasons[EPF_MATCH_REASONS] = {
	[EPF_MATCH_RECENT] = { "recent", 1 },
	[EPF_MATCH_NEW] = { "new", 0 },
	[EPF_MATCH_INSERTED] = { "inserted", 0 },
	[EPF_MATCH_SATURATED] = { "saturated", -ENOSPC },
	[EPF_MATCH_OVERDUE] = { "overdue", -ETIME },
	[EPF_MATCH_GONE] = { "gone", -ENODEV },
	[EPF_MATCH_FRAGMENT] = { "fragment", -ENOMSG },
	[EPF_MATCH_TRUNCATED] = { "truncated", -ENODATA },
	[EPF_MATCH_MALFORMED] = { "malformed", -EBADMSG },
	[EPF_MATCH_ERROR] = { "error", -EINVAL },
};

static const char *pin_show_verdict(const struct xt_epf_rule *r, int reason)
{
	return epf_rule_holds(r, reasons[reason].ret) ? "match" : "no-match";
}

/* Can a packet have this reason? An insertion does not check how full the filter is, nor
 * who ends its epochs.
 */
static bool pin_show_possible(const struct xt_epf_rule *r, int reason)
{
	switch (reason) {
	case EPF_MATCH_INSERTED:
		return !r->ask;
	case EPF_MATCH_FRAGMENT:
		return r->key.flags & EPF_PKT_FIRST;
	case EPF_MATCH_RECENT:
	case EPF_MATCH_NEW:
	case EPF_MATCH_SATURATED:
	case EPF_MATCH_OVERDUE:
		return r->ask;
	}
	return true;
}

static const char *is_text(__u8 is)
{
	return is == XT_EPF_RECENT ? "accept" : "drop";
}

/* The key without how fragments count, which --frags prints. */
static struct epf_pkt_opts key_of(const struct xt_epf_rule *r)
{
	struct epf_pkt_opts key = r->key;

	key.flags &= (__u16)~EPF_PKT_FIRST;
	return key;
}

static const char *frags_text(const struct xt_epf_rule *r)
{
	if (!(r->key.flags & EPF_PKT_FIRST))
		return "id";
	return is_text(r->ask ? r->fragments : XT_EPF_NEW);
}

/* Print it as options of 'epfctl pin'. */
static void print_rule(FILE *out, const struct xt_epf_rule *r)
{
	struct epf_pkt_opts key = key_of(r);
	char text[EPF_DESC_TEXT];

	epf_pkt_opts_text(&key, text);
	fputs(text, out);
	if (r->key.flags & EPF_PKT_FIRST)
		fprintf(out, " --frags %s", frags_text(r));
	if (r->ask)
		fputs(r->ask == XT_EPF_RECENT ? " --recent" : " --new", out);
	if (r->within)
		fprintf(out, " --within %u", r->within);
	if (r->learn)
		fputs(r->learn == XT_EPF_LEARN ? " --learn" : " --learn-new", out);
	if (r->ask)
		fprintf(out, " --unknown %s", is_text(r->unknown));
	if (r->malformed == XT_EPF_RECENT)
		fputs(" --if-malformed pass", out);
}

char *pin_text(const char *filter, const struct xt_epf_rule *r)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
	fprintf(out, "--filter %s --key ", filter);
	print_rule(out, r);
	if (!fclose(out))
		return text;
	free(text);
	return NULL;
}

int pin_options(const char *name, char filter[EPF_NAME_LEN], char **text)
{
	struct pin_state *s = malloc(sizeof(*s));
	int err = s ? pin_read(name, s) : -ENOMEM;

	*text = NULL;
	if (!err) {
		xdp_filter_name(&s->conf, filter);
		*text = pin_text(filter, &s->rule);
		err = *text ? 0 : -ENOMEM;
	}
	free(s);
	return err;
}

static void pin_show_one(const struct pin_state *s)
{
	char filter[EPF_NAME_LEN];
	int i;

	xdp_filter_name(&s->conf, filter);
	if (filter[0])
		printf("%s: filter %s (pure BPF), key ", s->path, filter);
	else
		printf("%s: filter %u (gone), key ", s->path, s->conf.id);
	print_rule(stdout, &s->rule);
	printf(", program %u for iptables -m bpf\n", s->conf.prog_id);
	if (filter[0] && !xdp_held(&s->conf))
		printf("  nobody ends the epochs of '%s', so it does not know: "
		       "run 'epfctl hold %s'\n",
		       filter, filter);
	for (i = 0; i < EPF_MATCH_REASONS; i++)
		if (s->count[i].packets)
			printf("  %-9s %-8s %12llu packets %16llu bytes\n", reasons[i].name,
			       pin_show_verdict(&s->rule, i), s->count[i].packets,
			       s->count[i].bytes);
}

static json_t *json_rule(const struct xt_epf_rule *r)
{
	static const char *const learns[XT_EPF_LEARNS] = { "nothing", "all", "new" };
	json_t *o = json_pack("{s:s, s:s}", "learn", learns[r->learn], "frags", frags_text(r));

	if (!r->ask)
		return o;
	json_object_update_new(o, json_pack("{s:s, s:s, s:s}", "ask",
					    r->ask == XT_EPF_RECENT ? "recent" : "new", "unknown",
					    is_text(r->unknown), "if_malformed",
					    r->malformed == XT_EPF_RECENT ? "pass" : "drop"));
	if (r->within)
		json_object_set_new(o, "within_epochs", json_integer(r->within));
	return o;
}

static json_t *pin_show_json_counts(const struct pin_state *s)
{
	json_t *all = json_object();
	int i;

	for (i = 0; i < EPF_MATCH_REASONS; i++)
		if (pin_show_possible(&s->rule, i))
			json_object_set_new(all, reasons[i].name,
					    json_pack("{s:s, s:I, s:I}", "verdict",
						      pin_show_verdict(&s->rule, i), "packets",
						      (json_int_t)s->count[i].packets, "bytes",
						      (json_int_t)s->count[i].bytes));
	return all;
}

static json_t *pin_show_json_of(const struct pin_state *s)
{
	struct epf_pkt_opts key = key_of(&s->rule);
	char filter[EPF_NAME_LEN];
	json_t *of_key = pkt_json(&key);

	json_object_del(of_key, "fragments"); /* the rule has it */
	xdp_filter_name(&s->conf, filter);
	return json_pack("{s:o, s:b, s:s*, s:I, s:o, s:s, s:o, s:I, s:s, s:b, s:o}", "pin",
			 json_path(s->path), "attached", true, "filter", filter[0] ? filter : NULL,
			 "filter_id", (json_int_t)s->conf.id, "key", of_key, "action", "match",
			 "rule", json_rule(&s->rule), "program", (json_int_t)s->conf.prog_id,
			 "backend", "bpf", "held", xdp_held(&s->conf), "counters",
			 pin_show_json_counts(s));
}

int pin_status(const char *name, json_t *list)
{
	struct pin_state state;
	int err = pin_read(name, &state);

	if (err)
		return err;
	if (list)
		json_array_append_new(list, pin_show_json_of(&state));
	else if (out_mode == OUT_TEXT)
		pin_show_one(&state);
	else
		out_json(pin_show_json_of(&state));
	return 0;
}
