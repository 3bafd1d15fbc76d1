// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The result of a build, as text and as JSON. */
#include "build.h"

#include <sys/stat.h>

static __u64 out_bytes(const struct build_ask *ask)
{
	struct stat st;

	return stat(ask->out, &st) ? 0 : (__u64)st.st_size;
}

static void warn_of_error(const struct build_result *r)
{
	if (build_saturated(r))
		warn("the estimated false-positive rate is %s, above the limit of %s, so what is "
		     "found is not known: build it again with a higher --rate",
		     fmt_ppt(r->info.fpr_ppt).s, fmt_ppt(r->info.params.limit_ppt).s);
}

static void build_report_warn_of_time(const struct build_result *r)
{
	if (r->after)
		warn("%llu records are later than --until, or in the future: they "
		     "are left out",
		     r->after);
	if (r->expired)
		warn("%llu records are older than the window when they come: they "
		     "are left out",
		     r->expired);
	if (r->late)
		warn("%llu records come late, by %s at most: they count as the latest "
		     "before them",
		     r->late, fmt_ns(r->late_ns).s);
	if (r->gap_ns && r->after_gap * 2 < r->inserted)
		warn("the last %llu records follow after %s, so nothing older is in the "
		     "window: if their time is wrong, leave them out with --until",
		     r->after_gap, fmt_ns(r->gap_ns).s);
}

void build_print(const struct build_ask *ask, const struct build_result *r)
{
	const struct rec_count *c = &r->count;

	printf("built %s: %s, %llu keys inserted, epoch %llu\n", ask->out,
	       fmt_bytes(out_bytes(ask)).s, r->inserted, r->epoch);
	printf("records:  %llu with a key, %llu without, %llu bad; %llu late, %llu "
	       "left out\n",
	       c->records, c->keyless, c->bad, r->late, r->expired + r->after);
	if (c->spanning)
		printf("          %llu records span lines\n", c->spanning);
	printf("time:     %s to %s, %s\n", fmt_utc(r->first_ns).s, fmt_utc(r->last_ns).s,
	       fmt_ns(r->last_ns - r->first_ns).s);
	printf("window:   %s until %s\n", fmt_ns(r->info.params.window_ns).s, fmt_utc(r->end_ns).s);
	printf("error:    %s estimated, %s asked\n", fmt_ppt(r->info.fpr_ppt).s,
	       fmt_ppt(r->info.params.budget_ppt).s);
	build_report_warn_of_time(r);
	warn_of_error(r);
}

static json_t *build_report_records_json(const struct build_result *r)
{
	return json_pack("{sI sI sI sI sI sI sI sI sI}", "keys", (json_int_t)r->count.records,
			 "keyless", (json_int_t)r->count.keyless, "bad", (json_int_t)r->count.bad,
			 "left_out", (json_int_t)r->count.left_out, "spanning",
			 (json_int_t)r->count.spanning, "late", (json_int_t)r->late, "late_ns",
			 (json_int_t)r->late_ns, "expired", (json_int_t)r->expired, "after",
			 (json_int_t)r->after);
}

json_t *build_json(const struct build_ask *ask, const struct build_result *r)
{
	json_t *files = json_array();
	int i;

	for (i = 0; i < ask->nr_files; i++)
		json_array_append_new(files, json_path(ask->files[i]));
	build_report_warn_of_time(r);
	warn_of_error(r);
	return json_pack("{so so ss sI so sI ss ss ss sI sI sI sI sI sf sb so sI sI}", "file",
			 json_path(ask->out), "from", files, "name", ask->name, "bytes",
			 (json_int_t)out_bytes(ask), "records", build_report_records_json(r),
			 "inserted", (json_int_t)r->inserted, "first", fmt_utc(r->first_ns).s,
			 "last", fmt_utc(r->last_ns).s, "end", fmt_utc(r->end_ns).s, "first_ns",
			 (json_int_t)r->first_ns, "last_ns", (json_int_t)r->last_ns, "end_ns",
			 (json_int_t)r->end_ns, "epoch", (json_int_t)r->epoch, "rotations",
			 (json_int_t)r->info.stats.rotations, "fpr", ppt_to_rate(r->info.fpr_ppt),
			 "saturated", build_saturated(r), "params",
			 params_json(&r->info.params, NULL), "gap_ns", (json_int_t)r->gap_ns,
			 "took_ns", (json_int_t)r->took_ns);
}
