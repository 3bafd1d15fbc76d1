// SPDX-License-Identifier: GPL-2.0
/* What duplicate removal did, for people and for programs. */
#include "dedup.h"

static double per_second(const struct dedup_result *r)
{
	return r->took_ns ? (double)r->read * NS_PER_SEC / (double)r->took_ns :
			    0;
}

static __u64 nr_removed(const struct dedup_ask *ask,
			const struct dedup_result *r)
{
	return ask->count_only ? 0 : r->repeats;
}

static void print_unjudged(const struct dedup_result *r)
{
	__u64 open = r->info.stats.failed_open;

	if (!r->truncated && !r->malformed && !r->not_ip && !open)
		return;
	fprintf(stderr,
		"passed:  %llu truncated, %llu malformed, %llu not IP, "
		"%llu with the filter saturated\n",
		r->truncated, r->malformed, r->not_ip, open);
}

static void print_window(const struct dedup_ask *ask,
			 const struct dedup_result *r)
{
	const struct epf_params *p = &r->info.params;

	if (p->mode == EPF_MODE_COUNT)
		fprintf(stderr, "window:  %llu packets%s", ask->window,
			ask->window > p->window_inserts ? ", all of the file" :
							  "");
	else
		fprintf(stderr, "window:  %s, sized for %.4g packets",
			fmt_ns(p->window_ns).s, r->planned.keys);
	fprintf(stderr, ", %s\n", refresh_name(p->refresh));
}

static void print_filter(const struct dedup_result *r)
{
	const struct epf_params *p = &r->info.params;

	fprintf(stderr,
		"filter:  %s; %llu lines, %u lines and %u bits a key, %s\n",
		fmt_bytes(r->info.memory_bytes).s, p->nr_lines,
		p->lines_per_key, p->bits_per_key, hash_name(p->hash));
	fprintf(stderr, "error:   %s asked, %s predicted, %s now\n",
		fmt_ppt(p->budget_ppt).s, fmt_rate(r->planned.fpr).s,
		fmt_ppt(r->info.fpr_ppt).s);
}

void dedup_print(const struct dedup_ask *ask, const struct dedup_result *r)
{
	fprintf(stderr,
		"packets: %llu read, %llu kept, %llu removed, %llu repeats\n",
		r->read, r->kept, nr_removed(ask, r), r->repeats);
	print_unjudged(r);
	print_window(ask, r);
	print_filter(r);
	fprintf(stderr, "time:    %s, %.3g packets/s\n", fmt_ns(r->took_ns).s,
		per_second(r));
	if (r->clock_back && r->info.params.mode == EPF_MODE_TIME)
		warn("%llu time stamps go back, by %s at most: taken as the "
		     "latest before them", r->clock_back,
		     fmt_ns(r->clock_back_ns).s);
	if (r->damaged[0])
		warn("%s: damaged after packet %llu (%s): the rest is missing",
		     ask->in, r->read, r->damaged);
}

static json_t *packets_json(const struct dedup_ask *ask,
			    const struct dedup_result *r)
{
	return json_pack("{sI sI sI sI sI sI sI sI}",
			 "read", (json_int_t)r->read,
			 "kept", (json_int_t)r->kept,
			 "removed", (json_int_t)nr_removed(ask, r),
			 "repeats", (json_int_t)r->repeats,
			 "truncated", (json_int_t)r->truncated,
			 "malformed", (json_int_t)r->malformed,
			 "not_ip", (json_int_t)r->not_ip,
			 "saturated",
			 (json_int_t)r->info.stats.failed_open);
}

json_t *dedup_json(const struct dedup_ask *ask, const struct dedup_result *r)
{
	json_t *removed = ask->removed ? json_path(ask->removed) : NULL;

	return json_pack("{so so so* so so so sI sf sf sf sI sI ss* sI sf}",
			 "in", json_path(ask->in),
			 "out", json_path(ask->out),
			 "removed_to", removed,
			 "packets", packets_json(ask, r),
			 "key", pkt_json(&ask->key),
			 "filter", params_json(&r->planned.params, NULL),
			 "memory_bytes", (json_int_t)r->info.memory_bytes,
			 "sized_for", r->planned.keys,
			 "fpr_predicted", r->planned.fpr,
			 "fpr_now", ppt_to_rate(r->info.fpr_ppt),
			 "clock_back", (json_int_t)r->clock_back,
			 "clock_back_ns", (json_int_t)r->clock_back_ns,
			 "damaged", r->damaged[0] ? r->damaged : NULL,
			 "took_ns", (json_int_t)r->took_ns,
			 "packets_per_second", per_second(r));
}
