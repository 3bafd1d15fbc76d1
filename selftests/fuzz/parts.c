// SPDX-License-Identifier: GPL-2.0
/*
 * Files read in parts, as the ranks of an audit do: what may be cut anywhere has the records of
 * the whole file, in their order, with their time stamps and counts, up to the same error.
 *
 * Input: how, see take_spec(), in two bytes; three cuts; the rest is the file.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "records/part.c"
#include "records/stamp.h"

#include "fuzz.h"

#define PARTS 4

/**
 * struct got - the result of reading
 * @err: of the first call that failed, or 0
 * @count: of all parts
 * @sum: sum of digests, bytes and stamps of all records, in order
 * @cut: it may be cut
 * @e: the error's text
 */
struct got {
	int err;
	struct rec_error e;
	struct rec_count count;
	__u64 sum;
	bool cut;
};

static void take_spec(struct input *in, struct rec_spec *spec)
{
	static const char *const fields[] = { NULL, "1", "2,1", "a" };
	static const char *const stamps[] = { "2", "t", "2,1", "t,b.c" };
	static const char *const forms[] = {
		NULL, "s", "ms", "us", "ns", "%Y-%m-%d %H:%M:%S", "%d/%b/%Y:%T %z", "%T"
	};
	__u8 how = take(in), more = take(in);

	spec->format = how & 1 ? REC_JSON : REC_CSV;
	spec->fields = fields[how >> 1 & 3];
	spec->hex = how & 8;
	spec->header = spec->format == REC_CSV && how & 16;
	spec->skip_bad = how & 64;
	spec->separator = more & 64 ? ';' : 0;
	spec->joint = more & 128 ? '\n' : 0;
	spec->stamps = how & 32;
	if (spec->stamps) {
		spec->stamp = stamps[more >> 3 & 3];
		spec->stamp_form = forms[more & 7];
		law(!spec->stamp_form || stamp_form_ok(spec->stamp_form), "a form of stamps");
	}
}

static void add(struct got *g, const struct rec_spec *spec, const struct rec_batch *b)
{
	unsigned int i;

	for (i = 0; i < b->n; i++) {
		const struct epf_hash h = { { g->sum, b->digest[i] }, 0, { 0 } };

		g->sum = epf_digest(&h, b->raw[i].data, (__u32)b->raw[i].len) +
			 (spec->stamps ? b->ns[i] : 0);
	}
}

static void read_part(struct got *g, int fd, struct rec_spec spec, __u64 from, __u64 to)
{
	const struct epf_hash hash = { { 5, 6 }, 0, { 0 } };
	static struct rec_batch b;
	struct rec_source *s;
	struct rec_count n;

	if (g->err)
		return;
	spec.part = (struct rec_part){ from, to };
	lseek(fd, 0, SEEK_SET);
	g->err = rec_open(&s, fd, &spec, &hash, &g->e);
	if (g->err)
		return;
	g->cut = rec_may_be_cut(s);
	while (!(g->err = rec_next(s, &b, &g->e)) && !b.end)
		add(g, &spec, &b);
	n = rec_count(s);
	g->count.records += n.records;
	g->count.bad += n.bad;
	g->count.keyless += n.keyless;
	rec_close(s);
}

static int by_value(const void *a, const void *b)
{
	const __u64 *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The ends of all parts, of which some are empty. */
static void take_cuts(struct input *in, __u64 at[PARTS + 1])
{
	unsigned int i;

	for (i = 1; i < PARTS; i++)
		at[i] = take(in);
	for (i = 1; i < PARTS; i++)
		at[i] = at[i] * in->left / 256;
	qsort(at + 1, PARTS - 1, sizeof(at[0]), by_value);
	at[PARTS] = in->left;
}

int LLVMFuzzerTestOneInput(const __u8 *data, size_t size)
{
	static int fd = -1;
	struct input in = { data, size };
	struct got whole = { 0 }, parts = { 0 };
	__u64 at[PARTS + 1] = { 0 };
	struct rec_spec spec = { 0 };
	unsigned int i;

	take_spec(&in, &spec);
	take_cuts(&in, at);
	if (fd < 0)
		fd = memfd_create("parts", 0);
	if (!in.left)
		return 0;
	if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, in.p, in.left, 0) != (ssize_t)in.left)
		abort();
	read_part(&whole, fd, spec, 0, 0);
	if (!whole.cut)
		return 0;
	for (i = 0; i < PARTS; i++)
		if (at[i] < at[i + 1])
			read_part(&parts, fd, spec, at[i], at[i + 1]);
	law(parts.err == whole.err, "parts are read as the whole");
	law(!whole.err || !strcmp(parts.e.text, whole.e.text), "with the same error");
	law(parts.count.records == whole.count.records, "parts have all records");
	law(parts.sum == whole.sum, "in their order, with their stamps");
	law(parts.count.bad == whole.count.bad && parts.count.keyless == whole.count.keyless,
	    "and all others");
	return 0;
}
