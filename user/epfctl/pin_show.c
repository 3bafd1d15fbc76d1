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
#include "outcome.h"

static const char *pin_show_verdict(const void *of, unsigned int side, enum epf_outcome outcome)
{
	const struct pin_state *s = of;

	(void)side;
	return epf_rule_holds(&s->rule, outcome) ? "match" : "no-match";
}

/* An insertion does not check how full the filter is, nor who ends its epochs. */
static struct outcome_view pin_counts(const struct pin_state *s)
{
	__u32 set = outcome_possible(s->rule.ask, false, false);

	if (!s->rule.ask)
		set |= OUTCOME(LEARNT);
	if (!(s->rule.key.flags & EPF_PKT_FIRST))
		set &= ~OUTCOME(FRAGMENT);
	return (struct outcome_view){
		.counts = &s->counts,
		.possible = { set },
		.verdict = pin_show_verdict,
		.of = s,
	};
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
	struct outcome_view counts = pin_counts(s);
	char filter[EPF_NAME_LEN];

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
	outcome_print(&counts);
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

static json_t *pin_show_json_of(const struct pin_state *s)
{
	struct outcome_view counts = pin_counts(s);
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
			 outcome_json(&counts));
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
