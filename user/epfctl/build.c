// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Fills a filter in this process with the keys of records, whose time stamps are its
 * clock, and writes it as a snapshot.
 *
 * The clock never goes back. A record that comes late, although records are put in order
 * within bounds, is inserted as of the latest time before it, so it stays a little
 * longer. It is left out only if its time is so long ago that no live filter would
 * remember it.
 */
#include "build.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "epf/keydesc.h"
#include "epf/window.h"
#include "libepf/atomic_file.h"
#include "libepf/audit.h"
#include "libepf/desc.h"

#define METER_EVERY 4096 /* records; a power of two */
/* A stamp that is so far in the future is wrong, whatever clock it is of. */
#define FUTURE_NS (24 * 3600 * NS_PER_SEC)

/**
 * struct build - a run
 * @ask: the request
 * @r: the result so far
 * @order: the records
 * @key: hash key
 * @hash: its function
 * @desc: what the keys are made of
 * @mem: the filter; NULL: no record has come
 * @now_ns: its clock, the latest stamp
 * @reach_ns: the longest time that a key stays
 * @latest_ns: later stamps are left out
 * @records: number of them so far
 */
struct build {
	struct build_ask *ask;
	struct build_result *r;
	struct order order;
	__u64 key[2];
	struct epf_hash hash;
	struct epf_key_desc desc;
	struct epf_mem *mem;
	__u64 now_ns;
	__u64 reach_ns;
	__u64 latest_ns;
	__u64 records;
	struct meter meter;
};

/* The geometry, window, hash and hash key of another snapshot. */
static int take_like(struct build *b)
{
	struct epf_snap_file file;
	struct epf_params *p = &b->r->planned.params;
	int ret = 0;

	if (!open_snapshot(b->ask->like, &file))
		return EXIT_FAIL;
	*p = file.header.params;
	memcpy(b->key, file.header.key, sizeof(b->key));
	if (p->kind != EPF_KIND_LANES || p->mode == EPF_MODE_COUNT)
		ret = fail("%s: --like needs a snapshot of --kind lanes whose window is "
			   "one of --time",
			   b->ask->like);
	else if (b->ask->records.as_filter && file.desc.kind == EPF_KEYS_PACKET)
		b->ask->records.pkt = epf_key_desc_opts(&file.desc);
	b->r->planned.bytes = p->nr_lines * EPF_LINE_BYTES;
	epf_snap_close(&file);
	return ret;
}

static int plan(struct build *b)
{
	struct build_ask *ask = b->ask;
	struct epf_planned *planned = &b->r->planned;

	if (ask->align ? !plan_aligned(&ask->plan_request, planned) :
			 !plan_geometry(&ask->plan_request, planned))
		return EXIT_FAIL;
	planned->params.hash = ask->hash;
	planned->params.refresh = ask->first_seen ? EPF_FIRST_SEEN : EPF_REFRESH;
	if (getrandom(b->key, sizeof(b->key), 0) != sizeof(b->key))
		return fail_errno(errno, "cannot draw a random hash key: %m");
	return 0;
}

static int build_begin(struct build *b)
{
	const struct build_ask *ask = b->ask;
	struct epf_params *p = &b->r->planned.params;
	struct epf_window w = { 0 };

	if (ask->like ? take_like(b) : plan(b))
		return EXIT_FAIL;
	memset(p->name, 0, sizeof(p->name));
	strcpy(p->name, ask->name); /* parse_name() has checked the length */
	epf_hash_init(&b->hash, b->key[0], b->key[1], p->hash);
	epf_window_init(&w, p->mode, p->refresh, p->window_inserts, p->window_ns);
	b->reach_ns = EPF_EPOCHS * (ask->align ? epf_align_pitch(w.epoch_ns) : w.epoch_ns);
	b->latest_ns = ask->until_ns ? ask->until_ns : epf_wall_ns() + FUTURE_NS;
	return order_open(&b->order, ask->files, ask->nr_files, &ask->records, &b->hash, &b->desc);
}

/* No output replaces an input. */
static int build_check_names(const struct build_ask *ask)
{
	int i;

	for (i = 0; i < ask->nr_files; i++)
		if (epf_file_same(ask->files[i], ask->out))
			return fail("%s would be overwritten: give the snapshot "
				    "another name",
				    ask->out);
	if (ask->like && epf_file_same(ask->like, ask->out))
		return fail("%s would be overwritten: give the snapshot another "
			    "name",
			    ask->out);
	return 0;
}

/* The filter begins with the first record, so that its first epoch does too. */
static int build_make_filter(struct build *b, __u64 ns)
{
	const struct epf_params *p = &b->r->planned.params;
	int err;

	b->mem = epf_mem_new(p, b->key, ns, &err);
	if (!b->mem)
		return fail_errno(err, "cannot make a filter of %s: %m",
				  fmt_bytes(p->nr_lines * EPF_LINE_BYTES).s);
	b->now_ns = b->r->first_ns = ns;
	if (b->ask->align && epf_mem_align(b->mem))
		return fail("--align needs a window of --time alone");
	return 0;
}

static void note_gap(struct build *b, __u64 ns)
{
	if (ns - b->now_ns > b->reach_ns) {
		b->r->gap_ns = ns - b->now_ns;
		b->r->after_gap = 0;
	}
	b->r->after_gap++;
}

static void build_insert(struct build *b, __u64 digest)
{
	if (b->r->planned.params.refresh == EPF_FIRST_SEEN)
		epf_mem_test_and_insert(b->mem, digest, b->now_ns);
	else
		epf_mem_insert(b->mem, digest, b->now_ns);
	b->r->inserted++;
}

static int one_record(struct build *b, const struct stamped *record)
{
	struct build_result *r = b->r;
	__u64 late;

	if (record->ns > b->latest_ns) {
		r->after++;
		return 0;
	}
	if (!b->mem && build_make_filter(b, record->ns))
		return EXIT_FAIL;
	if (record->ns >= b->now_ns) {
		note_gap(b, record->ns);
		b->now_ns = record->ns;
		build_insert(b, record->digest);
		return 0;
	}
	late = b->now_ns - record->ns;
	if (late > b->reach_ns) {
		r->expired++;
		return 0;
	}
	r->late++;
	if (late > r->late_ns)
		r->late_ns = late;
	build_insert(b, record->digest);
	return 0;
}

static int all_records(struct build *b)
{
	struct stamped record;
	int got = 1, err = 0;

	while (!err && (got = order_next(&b->order, &record)) > 0) {
		err = one_record(b, &record);
		if (!(++b->records & (METER_EVERY - 1)) &&
		    meter_update(&b->meter, order_done_bytes(&b->order),
				 order_all_bytes(&b->order)) &&
		    !order_is_live(&b->order))
			err = fail("interrupted: %s is not written", b->ask->out);
	}
	meter_end(&b->meter);
	if (got < 0)
		return EXIT_FAIL;
	b->r->count = order_count(&b->order);
	if (!err && !b->mem)
		err = fail("no record has a key and a time stamp that counts: %s is "
			   "not written",
			   b->ask->out);
	return err;
}

static int build_save(struct build *b)
{
	struct build_result *r = b->r;
	struct meter meter = { .what = "saving" };
	const struct epf_save_opts opts = {
		.now_ns = r->end_ns,
		.wall_ns = r->end_ns,
		.desc = b->desc,
		.progress = interrupted && order_is_live(&b->order) ? NULL : meter_update,
		.ctx = &meter,
	};
	struct epf_snap_header header;
	int err = epf_mem_save(b->mem, &opts, b->ask->out, &header);
	bool written = header.magic;

	meter_end(&meter);
	r->epoch = header.epoch_end;
	explicit_bzero(&header, sizeof(header)); /* it holds the hash key */
	if (err == -ECANCELED)
		return fail("interrupted: %s is not written", b->ask->out);
	return err ? fail_write(b->ask->out, err, written) : 0;
}

static void tell_damage(const struct order *o)
{
	int i;

	for (i = 0; i < o->nr; i++) {
		const struct feed *f = &o->feed[i];

		if (*f->damaged.text && o->keep_going)
			warn("%s: %s: the rest is missing", f->name, f->damaged.text);
		else if (*rec_note(f->source))
			warn("%s: %s", f->name, rec_note(f->source));
	}
}

/* The error of the snapshot, from all lines, as whoever opens it will compute it. */
static int build_rate(struct build *b)
{
	struct epf_mem_parts p;
	struct epf_view v;
	int err;

	epf_mem_parts(b->mem, b->r->end_ns, &p);
	err = epf_view_init(&v, p.lines, p.params, NULL, p.state->epoch);
	if (!err)
		err = epf_view_rate(&v, &b->r->info.fpr_ppt);
	return err ? fail_errno(-err, "estimating the error: %m") : 0;
}

static int check_error(const struct build *b)
{
	const struct epf_info *i = &b->r->info;

	if (b->ask->force || !build_saturated(b->r))
		return 0;
	return fail_as(EXIT_ABSENT,
		       "the estimated false-positive rate is %s, above the limit of %s: %s is not "
		       "written. Build it with a higher --rate, or keep it with --force",
		       fmt_ppt(i->fpr_ppt).s, fmt_ppt(i->params.limit_ppt).s, b->ask->out);
}

/* Report that OUT has only what came before a signal, or before the damage of a pipe. */
static int build_ended_early(const struct build *b)
{
	int i;

	if (interrupted && order_is_live(&b->order))
		return fail("interrupted after %llu records: %s has what came before", b->records,
			    b->ask->out);
	for (i = 0; i < b->order.nr && !b->ask->keep_going; i++) {
		const struct feed *f = &b->order.feed[i];

		if (*f->damaged.text)
			return fail("%s: %s: %s has what came before", input_name(f->name),
				    f->damaged.text, b->ask->out);
	}
	return 0;
}

static int build_finish(struct build *b)
{
	struct build_result *r = b->r;
	int err;

	r->last_ns = b->now_ns;
	r->end_ns = b->ask->until_ns ? b->ask->until_ns : b->now_ns;
	epf_mem_advance(b->mem, r->end_ns);
	epf_mem_info(b->mem, r->end_ns, &r->info);
	tell_damage(&b->order);
	err = build_rate(b);
	if (!err)
		err = check_error(b);
	if (!err)
		err = build_save(b);
	return err ? err : build_ended_early(b);
}

int build_run(struct build_ask *ask, struct build_result *result)
{
	struct build b = { .ask = ask,
			   .r = result,
			   .order = { .keep_going = ask->keep_going },
			   .meter = { .what = "building" } };
	__u64 start_ns = now_ns();
	int err = build_check_names(ask);

	if (!err)
		err = build_begin(&b);
	if (!err)
		err = all_records(&b);
	if (!err)
		err = build_finish(&b);
	order_close(&b.order);
	epf_mem_free(b.mem);
	explicit_bzero(b.key, sizeof(b.key));
	explicit_bzero(&b.hash, sizeof(b.hash));
	result->took_ns = now_ns() - start_ns;
	return err;
}
