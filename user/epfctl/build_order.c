// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "build.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "epf/keydesc.h"
#include "libepf/desc.h"

#define STOPPED "interrupted: nothing is written"

/* Read on until there is a record. Return: 0, or EXIT_FAIL with an error printed. */
static int refill(struct order *o, struct feed *f)
{
	struct rec_error e;

	f->at = 0;
	f->batch->n = 0;
	while (!f->ended && !f->batch->n && !interrupted) {
		if (!rec_next(f->source, f->batch, &e)) {
			f->ended = f->batch->end;
			continue;
		}
		f->batch->n = 0;
		if (interrupted)
			break;
		if (!o->keep_going && !f->live)
			return fail("%s: %s", input_name(f->name), e.text);
		f->damaged = e;
		f->ended = true;
	}
	if (interrupted && !order_is_live(o))
		return fail(STOPPED);
	f->ended |= interrupted;
	return 0;
}

bool order_is_live(const struct order *o)
{
	int i;

	for (i = 0; i < o->nr; i++)
		if (o->feed[i].live)
			return true;
	return false;
}

static int open_fd(struct feed *f)
{
	struct stat st;

	f->fd = open_input(f->name, &st);
	if (f->fd < 0)
		return EXIT_FAIL;
	f->live = !S_ISREG(st.st_mode);
	f->all_bytes = f->live ? 0 : (__u64)st.st_size;
	return 0;
}

static int open_feed(struct feed *f, const struct rec_spec *spec, const struct epf_hash *hash)
{
	struct rec_error e;

	if (open_fd(f))
		return EXIT_FAIL;
	f->batch = malloc(sizeof(*f->batch));
	if (!f->batch)
		return fail("out of memory");
	if (rec_open(&f->source, f->fd, spec, hash, &e))
		return interrupted ? fail(STOPPED) : fail("%s: %s", input_name(f->name), e.text);
	if (rec_by_child(f->source))
		f->all_bytes = 0;
	return 0;
}

/* The keys of all files are made of the same. */
static int same_desc(const struct order *o, const struct feed *f, struct epf_key_desc *desc)
{
	struct epf_key_desc d = rec_source_desc(f->source);
	char ours[EPF_DESC_TEXT], theirs[EPF_DESC_TEXT];

	if (f == o->feed)
		*desc = d;
	if (epf_key_desc_equal(desc, &d))
		return 0;
	epf_key_desc_text(&d, ours);
	epf_key_desc_text(desc, theirs);
	return fail("the keys of %s are %s, those of %s %s: build a snapshot of each",
		    input_name(f->name), ours, input_name(o->feed->name), theirs);
}

int order_open(struct order *o, char **names, int nr, const struct rec_spec *spec,
	       const struct epf_hash *hash, struct epf_key_desc *desc)
{
	int i;

	o->heap = malloc((ORDER_HELD + 1) * sizeof(*o->heap));
	if (!o->heap)
		return fail("out of memory");
	for (i = 0; i < nr; i++) {
		struct feed *f = &o->feed[o->nr++];

		f->name = names[i];
		f->fd = -1;
		if (open_feed(f, spec, hash) || same_desc(o, f, desc) || refill(o, f))
			return EXIT_FAIL;
	}
	return 0;
}

static void build_order_exchange(struct stamped *a, struct stamped *b)
{
	struct stamped t = *a;

	*a = *b;
	*b = t;
}

/* The heap begins at index 1. */
static void hold(struct order *o, struct stamped record)
{
	struct stamped *h = o->heap;
	__u32 i = ++o->held;

	h[i] = record;
	for (; i > 1 && h[i].ns < h[i / 2].ns; i /= 2)
		build_order_exchange(&h[i], &h[i / 2]);
}

static struct stamped build_order_oldest(struct order *o)
{
	struct stamped *h = o->heap, record = h[1];
	__u32 i = 1, child;

	h[1] = h[o->held--];
	while ((child = 2 * i) <= o->held) {
		child += child < o->held && h[child + 1].ns < h[child].ns;
		if (h[i].ns <= h[child].ns)
			break;
		build_order_exchange(&h[i], &h[child]);
		i = child;
	}
	return record;
}

/* The file whose next record is the oldest; NULL: there are no more. */
static struct feed *next_feed(struct order *o)
{
	struct feed *f, *best = NULL;

	for (f = o->feed; f < o->feed + o->nr; f++)
		if (f->at < f->batch->n &&
		    (!best || f->batch->ns[f->at] < best->batch->ns[best->at]))
			best = f;
	return best;
}

int order_next(struct order *o, struct stamped *record)
{
	struct feed *f;

	while (o->held < ORDER_HELD && (f = next_feed(o))) {
		hold(o, (struct stamped){ f->batch->ns[f->at], f->batch->digest[f->at] });
		if (++f->at == f->batch->n && refill(o, f))
			return -1;
	}
	if (!o->held)
		return 0;
	*record = build_order_oldest(o);
	return 1;
}

__u64 order_done_bytes(const struct order *o)
{
	return order_count(o).bytes;
}

__u64 order_all_bytes(const struct order *o)
{
	__u64 all = 0;
	int i;

	for (i = 0; i < o->nr; i++) {
		if (!o->feed[i].all_bytes)
			return 0;
		all += o->feed[i].all_bytes;
	}
	return all;
}

struct rec_count order_count(const struct order *o)
{
	struct rec_count sum = { 0 };
	int i;

	for (i = 0; i < o->nr && o->feed[i].source; i++) {
		struct rec_count c = rec_count(o->feed[i].source);

		sum.records += c.records;
		sum.keyless += c.keyless;
		sum.bad += c.bad;
		sum.left_out += c.left_out;
		sum.spanning += c.spanning;
		sum.bytes += c.bytes;
	}
	return sum;
}

void order_close(struct order *o)
{
	int i;

	for (i = 0; i < o->nr; i++) {
		struct feed *f = &o->feed[i];

		if (f->source)
			rec_close(f->source);
		free(f->batch);
		if (f->fd >= 0)
			close(f->fd);
	}
	free(o->heap);
}
