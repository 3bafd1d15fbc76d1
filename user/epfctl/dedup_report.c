// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The result of duplicate removal, as text and as JSON. */
#include "dedup.h"
#include "dedup_view.h"

#include <epf/window.h>

static double dedup_report_per_second(const struct dedup_result *r)
{
	return r->took_ns ? (double)r->read * NS_PER_SEC / (double)r->took_ns : 0;
}

static __u64 nr_removed(const struct dedup_ask *ask, const struct dedup_result *r)
{
	return ask->count_only ? 0 : r->repeats;
}

static void print_outside(const struct dedup_result *r)
{
	if (r->outside)
		fprintf(stderr,
			"outside: %llu packets left out: their time stamps are not between "
			"--after and --before, or missing\n",
			r->outside);
}

static void print_cut(const struct dedup_result *r)
{
	if (r->cut)
		fprintf(stderr,
			"cut:     %llu packets captured in part, compared "
			"by that part and their length\n",
			r->cut);
}

static void print_view(const struct dedup_ask *ask, const struct dedup_result *r)
{
	if (ask->inner)
		fprintf(stderr, "inner:   %llu packets compared without outer headers\n", r->inner);
}

static void print_unjudged(const struct dedup_result *r)
{
	__u64 open = r->info.stats.failed_open;

	if (!r->truncated && !r->malformed && !r->not_ip && !r->fragments && !open)
		return;
	fprintf(stderr,
		"passed:  %llu truncated, %llu malformed, %llu not IP, "
		"%llu fragments, %llu with the filter saturated\n",
		r->truncated, r->malformed, r->not_ip, r->fragments, open);
}

/* The window, and how far beyond it a filter reaches: by a seventh, for its epochs. */
static void dedup_report_print_window(const struct dedup_ask *ask, const struct dedup_result *r)
{
	__u64 reach = (ask->window + ask->time_ns + EPF_LIVE_EPOCHS - 1) / EPF_LIVE_EPOCHS *
		      EPF_EPOCHS;

	if (ask->window)
		fprintf(stderr, "window:  %llu packets, %s\n", ask->window,
			refresh_name(ask->first_seen));
	else
		fprintf(stderr, "window:  %s, %s\n", fmt_ns(ask->time_ns).s,
			refresh_name(ask->first_seen));
	if (r->exact)
		return;
	if (ask->window)
		fprintf(stderr,
			"         repeats of up to %llu packets back are "
			"removed too, see --exact\n",
			reach);
	else
		fprintf(stderr,
			"         repeats of up to %s back are removed "
			"too, see --exact\n",
			fmt_ns(reach).s);
}

static void print_exact(const struct dedup_result *r)
{
	fprintf(stderr, "exact:   %s at most, %llu keys held at the end\n", fmt_bytes(r->bytes).s,
		r->held);
}

static void print_filter(const struct dedup_result *r)
{
	const struct epf_params *p = &r->info.params;

	fprintf(stderr, "filter:  %s; sized for %.4g packets\n", fmt_bytes(r->bytes).s,
		r->planned.keys);
	fprintf(stderr, "         %llu lines, %u lines and %u bits a key, %s\n", p->nr_lines,
		p->lines_per_key, p->bits_per_key, hash_name(p->hash));
	fprintf(stderr, "error:   %s asked, %s predicted, %s now\n", fmt_ppt(p->budget_ppt).s,
		fmt_rate(r->planned.fpr).s, fmt_ppt(r->info.fpr_ppt).s);
}

static void dedup_report_warn_of_time(const struct dedup_ask *ask, const struct dedup_result *r)
{
	if (!ask->time_ns)
		return;
	if (r->undated)
		warn("%llu time stamps are before 1970 or after 2554: their "
		     "packets are kept",
		     r->undated);
	if (r->clock_ahead)
		warn("%llu time stamps are too far ahead and the next one does not "
		     "follow: they count as the latest before them",
		     r->clock_ahead);
	if (r->clock_back)
		warn("%llu time stamps go back, by %s at most: %s", r->clock_back,
		     fmt_ns(r->clock_back_ns).s,
		     r->exact ? "equal packets count as that far apart" :
				"they count as the latest before them");
	if (r->unsure)
		warn("%llu packets go back further than a stream is remembered, and "
		     "are kept: read from a file instead",
		     r->unsure);
}

static void warn_of_loss(const struct dedup_ask *ask, const struct dedup_result *r)
{
	const struct capture_loss *l = &r->loss;

	if (l->blocks || l->options)
		warn("%s: pcap has no room for comments, names and the like: %llu "
		     "blocks and the options of %llu are lost, see --format",
		     ask->in, l->blocks, l->options);
	if (l->stamps)
		warn("%s: %llu time stamps are cut to microseconds", ask->in, l->stamps);
}

void dedup_print(const struct dedup_ask *ask, const struct dedup_result *r)
{
	fprintf(stderr, "packets: %llu read, %llu kept, %llu removed, %llu repeats\n", r->read,
		r->kept, nr_removed(ask, r), r->repeats);
	print_outside(r);
	print_cut(r);
	print_view(ask, r);
	print_unjudged(r);
	dedup_report_print_window(ask, r);
	if (r->exact)
		print_exact(r);
	else
		print_filter(r);
	fprintf(stderr, "time:    %s, %.3g packets/s\n", fmt_ns(r->took_ns).s,
		dedup_report_per_second(r));
	dedup_report_warn_of_time(ask, r);
	warn_of_loss(ask, r);
	if (r->damaged[0])
		warn("%s: damaged after packet %llu (%s): the rest is missing", ask->in,
		     r->read + r->outside, r->damaged);
}

static json_t *packets_json(const struct dedup_ask *ask, const struct dedup_result *r)
{
	return json_pack("{sI sI sI sI sI sI sI sI sI sI sI sI}", "read", (json_int_t)r->read,
			 "cut", (json_int_t)r->cut, "kept", (json_int_t)r->kept, "removed",
			 (json_int_t)nr_removed(ask, r), "repeats", (json_int_t)r->repeats,
			 "truncated", (json_int_t)r->truncated, "malformed",
			 (json_int_t)r->malformed, "not_ip", (json_int_t)r->not_ip, "fragment",
			 (json_int_t)r->fragments, "saturated",
			 (json_int_t)r->info.stats.failed_open, "inner", (json_int_t)r->inner,
			 "outside", (json_int_t)r->outside);
}

/* What is compared of a packet. */
static json_t *view_json(const struct dedup_ask *ask)
{
	return json_pack("{sb sb sb sb sI}", "inner", ask->inner, "mask_tos",
			 !!(ask->masks & MASK_TOS), "mask_seq", !!(ask->masks & MASK_SEQ),
			 "mask_options", !!(ask->masks & MASK_OPTIONS), "ignore",
			 (json_int_t)ask->ignore);
}

/* The members that depend on the method; NULL: no memory. */
static json_t *method_json(const struct dedup_result *r)
{
	if (r->exact)
		return json_pack("{ss sI sI}", "method", "exact", "held", (json_int_t)r->held,
				 "unsure", (json_int_t)r->unsure);
	return json_pack("{ss so sf sf sf sI}", "method", "filter", "filter",
			 params_json(&r->planned.params, NULL), "sized_for", r->planned.keys,
			 "fpr_predicted", r->planned.fpr, "fpr_now", ppt_to_rate(r->info.fpr_ppt),
			 "clock_ahead", (json_int_t)r->clock_ahead);
}

/* Add the members of @from, which is released, to @to. NULL: no memory, @to is released. */
static json_t *with(json_t *to, json_t *from)
{
	if (to && (!from || json_object_update(to, from))) {
		json_decref(to);
		to = NULL;
	}
	json_decref(from);
	return to;
}

static json_t *loss_json(const struct capture_loss *l)
{
	return json_pack("{sI sI sI}", "blocks", (json_int_t)l->blocks, "options",
			 (json_int_t)l->options, "stamps", (json_int_t)l->stamps);
}

/* JSON integers are signed here. */
static json_int_t most_int(__u64 n)
{
	return n > INT64_MAX ? INT64_MAX : (json_int_t)n;
}

json_t *dedup_json(const struct dedup_ask *ask, const struct dedup_result *r)
{
	json_t *removed = ask->removed ? json_path(ask->removed) : NULL;
	json_t *all;

	all = json_pack("{so so so* so so so so sI sI sI sI ss* sI sf}", "in", json_path(ask->in),
			"out", json_path(ask->out), "removed_to", removed, "packets",
			packets_json(ask, r), "key", pkt_json(&ask->key), "compared",
			view_json(ask), "lost", loss_json(&r->loss), "memory_bytes",
			(json_int_t)r->bytes, "undated", (json_int_t)r->undated, "clock_back",
			(json_int_t)r->clock_back, "clock_back_ns", most_int(r->clock_back_ns),
			"damaged", r->damaged[0] ? r->damaged : NULL, "took_ns",
			(json_int_t)r->took_ns, "packets_per_second", dedup_report_per_second(r));
	return with(all, method_json(r));
}
