// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Duplicate removal: each packet of the input is judged (dedup_judge.c), and written or
 * not. All other blocks of a pcapng file go to all outputs.
 */
#include "dedup_judge.h"
#include "libepf/atomic_file.h"

#include <string.h>

#define METER_EVERY 4096 /* packets; a power of two */

/**
 * struct dedup - a run
 * @ask: the request
 * @r: the result so far
 * @in: the capture that is read
 * @out: the output
 * @removed: the output for repeats, if it was asked for
 * @judge: finds repeats
 * @meter: progress
 */
struct dedup {
	struct dedup_ask *ask;
	struct dedup_result *r;
	struct source in;
	struct capture_out out;
	struct capture_out removed;
	struct judge judge;
	struct meter meter;
};

/* Show progress from time to time. Return: true: stop. */
static bool meter(struct dedup *d)
{
	if (d->in.packets & (METER_EVERY - 1))
		return false;
	return meter_update(&d->meter, source_done_bytes(&d->in), source_all_bytes(&d->in));
}

static int write_to(struct capture_out *out, const char *name, const struct item *item)
{
	if (!capture_put(out, item))
		return 0;
	return interrupted ? EXIT_FAIL : fail("%s: %s", name, out->why);
}

static int write_removed(struct dedup *d, const struct item *item)
{
	return d->removed.buffer ? write_to(&d->removed, d->ask->removed, item) : 0;
}

static int one_packet(struct dedup *d, const struct item *item)
{
	struct dedup_result *r = d->r;
	int repeat = judge_packet(&d->judge, item, r);

	if (repeat < 0)
		return EXIT_FAIL;
	r->read++;
	r->repeats += repeat;
	if (repeat && !d->ask->count_only)
		return write_removed(d, item);
	r->kept++;
	return write_to(&d->out, d->ask->out, item);
}

static int one_item(struct dedup *d, const struct item *item)
{
	int err;

	if (item->is_packet && !judge_takes(d->ask, item)) {
		d->r->outside++;
		return 0;
	}
	if (item->is_packet)
		return one_packet(d, item);
	err = write_to(&d->out, d->ask->out, item);
	return err ? err : write_removed(d, item);
}

/* A pipe cannot be read again: what came of it is written before the reason is reported. */
static bool is_live(const struct dedup *d)
{
	return !S_ISREG(d->in.stat.st_mode);
}

/* The capture breaks off: an error, unless --keep-going is given. */
static int damaged(struct dedup *d)
{
	snprintf(d->r->damaged, sizeof(d->r->damaged), "%s", d->in.why);
	if (d->ask->keep_going || is_live(d))
		return 0;
	return fail("%s: damaged after packet %llu (%s): use --keep-going to keep "
		    "what can be read",
		    d->ask->in, d->in.packets, d->in.why);
}

static int all_items(struct dedup *d)
{
	struct item item;
	int got = 1, err = 0;

	while (!err && !meter(d)) {
		got = source_next(&d->in, &item);
		if (got <= 0)
			break;
		err = one_item(d, &item);
	}
	meter_end(&d->meter);
	if (interrupted && (err || !is_live(d)))
		return fail("interrupted: %s is not written", d->ask->out);
	if (!err && got < 0 && !interrupted)
		err = damaged(d);
	return err;
}

/* Report that OUT has only what came before a signal, or before the damage of a pipe. */
static int dedup_ended_early(const struct dedup *d)
{
	const struct dedup_ask *ask = d->ask;

	if (interrupted && is_live(d))
		return fail("interrupted after packet %llu: %s has what came before", d->in.packets,
			    ask->out);
	if (d->r->damaged[0] && !ask->keep_going)
		return fail("%s: damaged after packet %llu (%s): %s has what came before", ask->in,
			    d->in.packets, d->r->damaged, ask->out);
	return 0;
}

static bool is_input(const struct dedup *d, const char *path)
{
	return strcmp(path, "-") && epf_file_is(path, &d->in.stat);
}

static bool ends_in(const char *path, const char *end)
{
	size_t len = strlen(path), n = strlen(end);

	return len >= n && !strcmp(path + len - n, end);
}

/* The format that was asked for, else that of the name's ending, else that of the input. */
static enum capture_format dedup_format_of(const struct dedup *d, const char *path)
{
	if (d->ask->format >= 0)
		return (enum capture_format)d->ask->format;
	if (ends_in(path, ".pcapng"))
		return FORMAT_PCAPNG;
	if (ends_in(path, ".pcap"))
		return FORMAT_PCAP;
	return d->in.is_ng ? FORMAT_PCAPNG : FORMAT_PCAP;
}

static int create_output(struct dedup *d, struct capture_out *out, const char *path)
{
	if (!capture_create(out, path, dedup_format_of(d, path), &d->in))
		return 0;
	return fail("%s: %s", path, out->why);
}

static int create_outputs(struct dedup *d)
{
	const struct dedup_ask *ask = d->ask;

	if (is_input(d, ask->out) || (ask->removed && is_input(d, ask->removed)))
		return fail("%s would be overwritten: give the output another "
			    "name",
			    ask->in);
	if (create_output(d, &d->out, ask->out))
		return EXIT_FAIL;
	if (!ask->removed)
		return 0;
	if (create_output(d, &d->removed, ask->removed))
		return EXIT_FAIL;
	if (d->out.file.path && d->removed.file.path &&
	    !strcmp(d->out.file.path, d->removed.file.path))
		return fail("OUT and --removed are both %s: give them different "
			    "names",
			    ask->out);
	return 0;
}

/* Each output without room for a block loses it; a packet goes to one output only. */
static void tell_loss(struct dedup *d)
{
	const struct capture_loss *a = &d->out.loss, *b = &d->removed.loss;

	d->r->loss.blocks = a->blocks > b->blocks ? a->blocks : b->blocks;
	d->r->loss.options = a->options + b->options;
	d->r->loss.stamps = a->stamps + b->stamps;
}

/* The repeats come first: when OUT has its name, everything is done. */
static int commit_outputs(struct dedup *d)
{
	tell_loss(d);
	if (d->removed.buffer && capture_commit(&d->removed))
		return fail("%s: %s", d->ask->removed, d->removed.why);
	if (capture_commit(&d->out))
		return fail("%s: %s", d->ask->out, d->out.why);
	return 0;
}

/* No packet waits in a buffer while the input has none. The next write returns an error. */
static void flush_outputs(void *ctx)
{
	struct dedup *d = ctx;

	capture_flush(&d->out);
	capture_flush(&d->removed);
}

/* The input is about to overwrite records that wait in runs of the outputs. */
static void settle_outputs(void *ctx)
{
	struct dedup *d = ctx;

	capture_settle(&d->out);
	capture_settle(&d->removed);
}

int dedup_run(struct dedup_ask *ask, struct dedup_result *result)
{
	struct dedup d = { .ask = ask, .r = result, .meter = { .what = "dedup" } };
	__u64 start_ns = now_ns();
	int err;

	if (source_open(&d.in, ask->in))
		return fail("%s: %s", ask->in, d.in.why);
	stream_on_idle(d.in.stream, flush_outputs, &d);
	source_on_move(&d.in, settle_outputs, &d);
	err = create_outputs(&d);
	if (!err)
		err = judge_begin(&d.judge, ask, &d.in, &d.meter, result);
	if (!err)
		err = all_items(&d);
	if (!err)
		err = commit_outputs(&d);
	if (!err)
		err = dedup_ended_early(&d);
	if (!err)
		judge_tell(&d.judge, result);
	if (!err && *source_note(&d.in))
		warn("%s: %s", ask->in, source_note(&d.in));
	if (!err && !d.in.is_ng && d.in.snaplen > d.in.pcap.snaplen)
		warn("%s: packets of up to %u bytes are longer than the snap length of the header, "
		     "%u: they count as a whole",
		     ask->in, d.in.snaplen, d.in.pcap.snaplen);
	capture_discard(&d.removed);
	capture_discard(&d.out);
	judge_end(&d.judge);
	source_close(&d.in);
	result->took_ns = now_ns() - start_ns;
	return err;
}
