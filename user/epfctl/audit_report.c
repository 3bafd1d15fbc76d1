// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The result of an audit, as text, as JSON and as a picture. */
#include "cmd_audit.h"
#include "plot.h"

#include "desc.h"

#include <string.h>
#include <time.h>

#define ROW "  %-12s "
#define BAR_COLUMNS 40
#define TICS_MAX 16 /* ages that have room for their names below the bars */

static double audit_report_share(__u64 part, __u64 all)
{
	return all ? (double)part / (double)all : 0;
}

static double audit_report_per_second(const struct audit_result *r)
{
	return r->took_ns ?
		       (double)(r->state.mark.keys - r->resumed) * NS_PER_SEC / (double)r->took_ns :
		       0;
}

/* The epoch of an age; NULL: it is unknown when it began. */
static const struct epf_snap_epoch *epoch_of(const struct target *t, unsigned int age)
{
	const struct epf_snap_epoch *e = &t->header.epochs[(t->view.epoch - age) % EPF_EPOCHS];

	return age < EPF_EPOCHS && e->age_ns ? e : NULL;
}

/* The number of ages to print: all of lanes, of other kinds up to the oldest found. */
static unsigned int nr_ages(const struct job_checkpoint *m)
{
	unsigned int n = EPF_AGES_MAX;

	while (n > EPF_LANES && !m->ages_of[n - 1])
		n--;
	return n;
}

static struct text fmt_time(__u64 realtime_ns)
{
	time_t s = (time_t)(realtime_ns / NS_PER_SEC);
	struct text t = { "an unknown time" };
	struct tm tm;

	if (localtime_r(&s, &tm))
		strftime(t.s, sizeof(t.s), "%Y-%m-%d %H:%M:%S %z", &tm);
	return t;
}

static void print_target(FILE *to, const struct target *t)
{
	static const char *const as[] = { [TARGET_COPY] = "a copy of ",
					  [TARGET_LIVE] = "in place, from ",
					  [TARGET_FILE] = "a snapshot of " };

	fprintf(to, ROW "%s: %s%s, epoch %llu", "asked", t->header.params.name, as[t->place],
		fmt_time(t->header.realtime_ns).s, t->view.epoch);
	if (t->place != TARGET_FILE && t->why[0])
		fprintf(to, " (%s)", t->why);
	fputc('\n', to);
}

static void print_desc(FILE *to, const struct epf_key_desc *d)
{
	char text[EPF_DESC_TEXT];

	epf_key_desc_text(d, text);
	fprintf(to, ROW "%s\n", "its keys", text);
}

static void audit_report_print_counts(FILE *to, const struct audit_result *r)
{
	const struct job_checkpoint *m = &r->state.mark;

	fprintf(to, ROW "%llu of %llu keys, %.4g%%\n", "present", m->present, m->keys,
		100 * audit_report_share(m->present, m->keys));
	if (r->state.keyless)
		fprintf(to, ROW "%llu records\n", "without key", r->state.keyless);
	if (r->state.bad)
		fprintf(to, ROW "%llu records passed over\n", "bad", r->state.bad);
	if (r->state.spanning)
		fprintf(to, ROW "%llu records span lines\n", "multiline", r->state.spanning);
}

static void print_bar(FILE *to, __u64 n, __u64 most)
{
	int columns = (int)((double)n / (double)most * BAR_COLUMNS + 0.5);

	if (n && !columns)
		columns = 1; /* few keys must not look like none */
	while (columns--)
		fputc('#', to);
	fputc('\n', to);
}

/* The ages, with the time when their epochs began. A key may be younger than its epoch. */
static void print_ages(FILE *to, const struct target *t, const struct audit_result *r)
{
	const struct job_checkpoint *m = &r->state.mark;
	unsigned int age, n = nr_ages(m);
	__u64 most = 0;

	for (age = 0; age < n; age++)
		if (m->ages_of[age] > most)
			most = m->ages_of[age];
	if (!most)
		return;
	fprintf(to, "\n  %3s %10s %14s\n", "age", "since", "keys");
	for (age = 0; age < n; age++) {
		const struct epf_snap_epoch *e = epoch_of(t, age);

		fprintf(to, "  %3u %10s %14llu ", age, e ? fmt_ns(e->age_ns).s : "-",
			m->ages_of[age]);
		print_bar(to, m->ages_of[age], most);
	}
	fputc('\n', to);
}

static void print_work(FILE *to, const struct audit_result *r)
{
	const struct job_state *s = &r->state;

	if (s->engine)
		fprintf(to, ROW "%s%s (%s)\n", "engine", s->engine->name,
			r->by_agent ? " of epfagent" : "", r->why);
	fprintf(to, ROW "%s, %.3g keys/s", "took", fmt_ns(r->took_ns).s,
		audit_report_per_second(r));
	if (r->resumed)
		fprintf(to, ", from key %llu on", r->resumed);
	fprintf(to, "\n" ROW "%016llx\n", "bitmap sum", s->bitmap_xxh3);
}

static void print_met(FILE *to, const struct epf_met *m)
{
	if (m->keys)
		fprintf(to, ROW "%llu of %llu random keys: %s (%s .. %s)\n", "met", m->found,
			m->keys, fmt_rate(m->rate).s, fmt_rate(m->low).s, fmt_rate(m->high).s);
}

static void audit_print(const struct target *t, const struct audit_result *r)
{
	const char *records = r->out[OUT_RECORDS];
	FILE *to = records && !strcmp(records, "-") ? stderr : stdout;

	fprintf(to, "%s: %s\n", r->keys, rec_format_name(r->state.format));
	print_target(to, t);
	print_desc(to, &t->view.desc);
	audit_report_print_counts(to, r);
	if (r->fpr >= 0)
		fprintf(to, ROW "%s false positives, estimated\n", "error", fmt_rate(r->fpr).s);
	print_met(to, &r->met);
	print_ages(to, t, r);
	print_work(to, r);
}

static json_t *sum_json(__u64 sum)
{
	char hex[17];

	snprintf(hex, sizeof(hex), "%016llx", sum);
	return json_string(hex);
}

static json_t *met_json(const struct epf_met *m)
{
	return json_pack("{sI sI sf sf sf}", "keys", (json_int_t)m->keys, "found",
			 (json_int_t)m->found, "rate", m->rate, "low", m->low, "high", m->high);
}

static json_t *asked_json(const struct target *t, const struct audit_result *r)
{
	const struct epf_snap_header *h = &t->header;
	json_t *o = json_pack("{ss ss ss sI sI sI}", "filter", h->params.name, "place",
			      target_place_name(t->place), "why", t->why, "as_of_ns",
			      (json_int_t)h->realtime_ns, "epoch", (json_int_t)t->view.epoch,
			      "epoch_after", (json_int_t)r->epoch);

	json_object_set_new(o, "keys", desc_json(&t->view.desc));
	json_object_set_new(o, "saturated", json_boolean(t->saturated));
	if (r->fpr >= 0)
		json_object_set_new(o, "fpr", json_real(r->fpr));
	if (r->met.keys)
		json_object_set_new(o, "met", met_json(&r->met));
	return o;
}

static json_t *audit_report_ages_json(const struct target *t, const struct audit_result *r)
{
	unsigned int age, n = nr_ages(&r->state.mark);
	json_t *all = json_array();

	for (age = 0; age < n; age++) {
		const struct epf_snap_epoch *e = epoch_of(t, age);
		json_t *o = json_pack("{sI sI}", "age", (json_int_t)age, "keys",
				      (json_int_t)r->state.mark.ages_of[age]);

		if (e)
			json_object_update_new(o,
					       json_pack("{sI sI}", "began_ago_ns",
							 (json_int_t)e->age_ns, "began_ns",
							 (json_int_t)e->age_ns)); /* older name */
		json_array_append_new(all, o);
	}
	return all;
}

/* What this process used a GPU for; NULL: nothing. */
static json_t *gpu_json(void)
{
	struct epf_gpu_use use;

	epf_gpu_use(&use);
	if (!use.uploads)
		return NULL;
	return json_pack("{sI sI sI sI sI sI}", "uploads", (json_int_t)use.uploads, "upload_bytes",
			 (json_int_t)use.upload_bytes, "reuses", (json_int_t)use.reuses, "records",
			 (json_int_t)use.records, "devices", (json_int_t)use.devices,
			 "devices_lost", (json_int_t)use.lost);
}

static json_t *work_json(const struct audit_result *r)
{
	const struct job_state *s = &r->state;

	return json_pack("{ss* ss sb so* sb sf sf sI}", "engine",
			 s->engine ? s->engine->name : NULL, "why", r->why, "fallen_back",
			 r->fallen, "gpu", gpu_json(), "by_agent", r->by_agent, "seconds",
			 (double)r->took_ns / NS_PER_SEC, "keys_per_second",
			 audit_report_per_second(r), "resumed_at", (json_int_t)r->resumed);
}

static json_t *audit_json(const struct target *t, const struct audit_result *r)
{
	static const char *const names[AUDIT_OUTS] = { "bitmap", "ages", "records", "plot" };
	const struct job_checkpoint *m = &r->state.mark;
	json_t *o = json_pack("{so ss so sI sI sf sb sI sI sI sI so so so}", "file",
			      json_path(r->keys), "format", rec_format_name(r->state.format),
			      "asked", asked_json(t, r), "keys", (json_int_t)m->keys, "present",
			      (json_int_t)m->present, "present_share",
			      audit_report_share(m->present, m->keys), "none_present",
			      job_none_present(&r->state), "keyless", (json_int_t)r->state.keyless,
			      "bad", (json_int_t)r->state.bad, "left_out",
			      (json_int_t)r->state.left_out, "spanning",
			      (json_int_t)r->state.spanning, "ages", audit_report_ages_json(t, r),
			      "work", work_json(r), "bitmap_xxh3", sum_json(r->state.bitmap_xxh3));
	json_t *written = json_object();
	int i;

	for (i = 0; i < AUDIT_OUTS; i++)
		if (r->out[i])
			json_object_set_new(written, names[i], json_path(r->out[i]));
	json_object_set_new(o, "written", written);
	return o;
}

/* The keys may be absent indeed, but more often they are of another kind than the filter's. */
static void warn_of_none(const struct target *t, const struct audit_result *r)
{
	char there[EPF_DESC_TEXT];

	epf_key_desc_text(&t->view.desc, there);
	warn("%s: none of the %llu keys is present; the filter's keys are %s", r->keys,
	     r->state.mark.keys, there);
}

void audit_report(const struct target *t, const struct audit_result *r)
{
	if (job_none_present(&r->state))
		warn_of_none(t, r);
	if (r->state.left_out)
		warn("%s: %llu records that are not packets are left out", r->keys,
		     r->state.left_out);
	if (out_mode == OUT_TEXT)
		audit_print(t, r);
	else
		out_json(audit_json(t, r));
}

/* Below a bar are its age and the time since when its epoch lasts. */
static void script_tics(FILE *to, const struct target *t, unsigned int n)
{
	unsigned int age, step = (n + TICS_MAX - 1) / TICS_MAX;

	fprintf(to, "set xtics (");
	for (age = 0; age < n; age += step) {
		const struct epf_snap_epoch *e = epoch_of(t, age);

		fprintf(to, "%s\"%u\\n%s\" %u", age ? ", " : "", age, e ? fmt_ns(e->age_ns).s : "-",
			age);
	}
	fprintf(to, ")\n");
}

static void script_bars(FILE *to, const struct target *t, const struct job_checkpoint *m,
			unsigned int n)
{
	unsigned int age;

	fprintf(to, "# age, keys, ns since when\n$ages << END\n");
	for (age = 0; age < n; age++) {
		const struct epf_snap_epoch *e = epoch_of(t, age);

		fprintf(to, "%u %llu ", age, m->ages_of[age]);
		if (e)
			fprintf(to, "%llu\n", e->age_ns);
		else
			fprintf(to, "NaN\n");
	}
	fprintf(to, "END\n");
}

void audit_script(FILE *to, const struct target *t, const struct audit_result *r)
{
	const struct job_checkpoint *m = &r->state.mark;
	unsigned int n = nr_ages(m);
	char title[1024];

	script_bars(to, t, m, n);
	script_tics(to, t, n);
	snprintf(title, sizeof(title), "%s: %llu of %llu keys of %s are present",
		 t->header.params.name, m->present, m->keys, r->keys);
	fprintf(to, "set title ");
	plot_text(to, title);
	fprintf(to,
		"\n"
		"set bmargin 5\n"
		"set xlabel 'age in epochs, and time since the epoch began' offset 0,-0.8\n"
		"set xrange [-0.6:%u.6]\n"
		"set ylabel 'keys'\nset yrange [0:*]\n"
		"set boxwidth 0.8\nset style fill solid noborder\n"
		"plot $ages using 1:2 with boxes lt 1 notitle\n",
		n - 1);
}
