// SPDX-License-Identifier: GPL-2.0
/*
 * Batches: many keys in one call, in order. Keys are copied in by chunks. Within a chunk they are
 * processed by groups: first all digests and prefetches, then the operations, in one RCU section.
 */
#include "dev.h"
#include "kind.h"

#include <epf/batch.h>

#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#define CHUNK_KEYS 512u
#define CHUNK_BYTES (64u * EPF_KEY_MAX)
#define GROUP_KEYS 8u
#define FEW_WORDS 12u /* a chunk of a group of digests: 8 words, lengths, ages, bitmap */

/* Some of the keys, and their results, in one piece of memory of @size bytes. */
struct chunk {
	union {
		u64 *digests;
		u8 *bytes;
	};
	u16 *lens; /* if these differ */
	u8 *ages;
	u8 *bitmap;
	u32 keys;
	u32 size;
};

/* A batch under way. */
struct run {
	struct epf_filter *f;
	struct epf_batch *args; /* @done and @present grow */
	enum op op;
	struct chunk chunk;
	u64 key_bytes; /* of keys before this chunk */
};

/* Where to look up a key; @probe is for lanes only. */
struct place {
	u64 digest;
	struct epf_probe probe;
};

static u32 epf_batch_key_len(const struct run *r, u32 i)
{
	if (r->args->flags & EPF_BATCH_DIGESTS)
		return sizeof(u64);
	return r->args->key_len ?: r->chunk.lens[i];
}

/* Fetch lengths. Return: the number of keys that the chunk takes (a multiple of 8, except in the
 * last chunk); -EFAULT; -EINVAL: a length is out of range.
 */
static int epf_batch_fetch_lens(struct run *r, u32 nr)
{
	const u16 __user *lens = u64_to_user_ptr(r->args->lens);
	u32 bytes = 0;
	u32 i;

	if (copy_from_user(r->chunk.lens, lens + r->args->done, nr * sizeof(u16)))
		return -EFAULT;
	for (i = 0; i < nr; i++) {
		u32 len = r->chunk.lens[i];

		if (!len || len > EPF_KEY_MAX)
			return -EINVAL;
		bytes += len;
		if (bytes > CHUNK_BYTES)
			return round_down(i, 8);
	}
	return nr;
}

/* Return: the number of keys fetched, with their size in @bytes; or a negative errno. */
static int epf_batch_fetch(struct run *r, u32 *bytes)
{
	u32 nr = min(CHUNK_KEYS, r->args->count - r->args->done);
	int ret;
	u32 i;

	if (r->args->lens) {
		ret = epf_batch_fetch_lens(r, nr);
		if (ret < 0)
			return ret;
		nr = ret;
	} else {
		nr = min(nr, round_down(CHUNK_BYTES / epf_batch_key_len(r, 0), 8));
	}
	for (*bytes = 0, i = 0; i < nr; i++)
		*bytes += epf_batch_key_len(r, i);
	if (copy_from_user(r->chunk.bytes, u64_to_user_ptr(r->args->keys + r->key_bytes), *bytes))
		return -EFAULT;
	return nr;
}

static int epf_batch_do_op(struct epf_table *t, enum op op, const struct place *p)
{
	const struct epf_journal *j = epf_table_journal(t);

	if (t->locked)
		return t->ops->op[op](t, p->digest);
	if (op == OP_TEST)
		return epf_table_test(t, &p->probe);
	if (op == OP_INSERT)
		return epf_table_insert(t, &p->probe, j, p->digest);
	return epf_table_test_and_insert(t, &p->probe, j, p->digest);
}

static void epf_batch_answer(struct run *r, u32 i, int verdict)
{
	bool present = verdict > 0;

	if (verdict == -ENOSPC)
		r->args->flags |= EPF_BATCH_SATURATED;
	r->chunk.ages[i] = epf_batch_age(r->args->flags, verdict);
	r->chunk.bitmap[i / 8] |= present << (i % 8);
	r->args->present += present;
}

/* Compute the places of keys @i .. @i + @nr - 1, whose bytes begin at @off. */
static void epf_batch_locate_group(const struct run *r, const struct epf_table *t, u32 i, u32 nr,
				   u32 off, struct place *places)
{
	u32 n;

	for (n = 0; n < nr; n++) {
		u32 len = epf_batch_key_len(r, i + n);
		struct place *p = &places[n];

		if (r->args->flags & EPF_BATCH_DIGESTS)
			p->digest = r->chunk.digests[i + n];
		else
			p->digest = epf_digest(&t->hash, r->chunk.bytes + off, len);
		if (!t->locked)
			epf_probe(&t->lanes, p->digest, &p->probe);
		off += len;
	}
}

/* Is a rotation due that the last insertion could not perform, and that is not blocked by a pin? */
static bool epf_batch_must_settle(const struct epf_table *t, enum op op)
{
	return op != OP_TEST && unlikely(epf_table_late(t) || epf_table_full(t)) &&
	       !epf_table_pinned(t, ktime_get_ns());
}

/* Process up to @nr keys from @i on, fewer if a rotation has to take place first: then *@late is
 * the table, by reference. Return: the number of keys processed; -ENODEV.
 */
static int epf_batch_do_group(struct run *r, u32 i, u32 nr, u32 off, struct epf_table **late)
{
	struct place places[GROUP_KEYS];
	struct epf_table *t;
	int n = 0;

	*late = NULL;
	rcu_read_lock();
	t = rcu_dereference(r->f->table);
	if (!t) {
		n = -ENODEV;
		goto out;
	}
	epf_batch_locate_group(r, t, i, nr, off, places);
	while (n < nr && !*late) {
		epf_batch_answer(r, i + n, epf_batch_do_op(t, r->op, &places[n]));
		n++;
		if (epf_batch_must_settle(t, r->op) && refcount_inc_not_zero(&t->refs))
			*late = t;
	}
out:
	rcu_read_unlock();
	return n;
}

/* As epf_batch_do_group(), but batches on a locked kind take turns, one group each. Packet paths of
 * such a kind wait for its lock, and everybody with a descriptor may test. So only one batch at a
 * time contends with packets, for one key at a time, however many callers there are. A turn takes
 * some microseconds and does not sleep, so waiting for it need not be interruptible.
 */
static int epf_batch_do_group_in_turn(struct run *r, u32 i, u32 nr, u32 off,
				      struct epf_table **late)
{
	const struct epf_table *t;
	bool locked;
	int n;

	rcu_read_lock();
	t = rcu_dereference(r->f->table);
	locked = t && t->locked;
	rcu_read_unlock();
	if (locked)
		mutex_lock(&r->f->turn);
	n = epf_batch_do_group(r, i, nr, off, late);
	if (locked)
		mutex_unlock(&r->f->turn);
	return n;
}

/* Process a chunk. *@done is set to the number of keys processed: with -EINTR all of them or a
 * multiple of 8, so that the caller can continue in the bitmap. Return: 0 or a negative errno.
 */
static int epf_batch_do_chunk(struct run *r, u32 nr, u32 *done)
{
	struct epf_table *late;
	u32 off = 0;
	int err = 0;

	*done = 0;
	while (*done < nr && (!err || *done % 8)) {
		int n = epf_batch_do_group_in_turn(r, *done,
						   min(GROUP_KEYS - *done % 8, nr - *done), off,
						   &late);

		if (n < 0)
			return n;
		for (; n; n--)
			off += epf_batch_key_len(r, (*done)++);
		if (late) {
			err = epf_table_settle(late) ?: err;
			epf_table_put(late);
		}
	}
	return err;
}

/* Copy the results of @nr keys to the caller. */
static int epf_batch_reply(const struct run *r, u32 nr)
{
	const struct epf_batch *a = r->args;

	if (a->bitmap && copy_to_user(u64_to_user_ptr(a->bitmap + a->done / 8), r->chunk.bitmap,
				      DIV_ROUND_UP(nr, 8)))
		return -EFAULT;
	if (a->ages && copy_to_user(u64_to_user_ptr(a->ages + a->done), r->chunk.ages, nr))
		return -EFAULT;
	return 0;
}

static int epf_batch_run_chunk(struct run *r)
{
	u32 bytes, done;
	int nr = epf_batch_fetch(r, &bytes);
	int err, fault;

	if (nr < 0)
		return nr;
	memset(r->chunk.bitmap, 0, DIV_ROUND_UP(r->chunk.keys, 8));
	err = epf_batch_do_chunk(r, nr, &done);
	fault = epf_batch_reply(r, done);
	r->args->done += done;
	r->key_bytes += bytes;
	return err ?: fault;
}

/* Memory for as many keys as a chunk can have; @few, if that is enough. Return: 0; -ENOMEM. */
static int epf_batch_begin(struct run *r, u64 few[FEW_WORDS])
{
	const struct epf_batch *a = r->args;
	struct chunk *c = &r->chunk;
	u32 keys = min(CHUNK_KEYS, a->count);
	u32 len = a->lens ? EPF_KEY_MAX : epf_batch_key_len(r, 0);
	u32 bytes = round_up(min(CHUNK_BYTES, keys * len), sizeof(u64));

	c->keys = keys;
	c->size = bytes + keys * (sizeof(*c->lens) + sizeof(*c->ages)) + DIV_ROUND_UP(keys, 8);
	c->digests = c->size <= FEW_WORDS * sizeof(u64) ? few : kvmalloc(c->size, GFP_KERNEL);
	if (!c->digests)
		return -ENOMEM;
	c->lens = (u16 *)(c->bytes + bytes);
	c->ages = (u8 *)(c->lens + keys);
	c->bitmap = c->ages + keys;
	return 0;
}

/* Leave no keys behind. */
static void epf_batch_end(struct run *r, u64 few[FEW_WORDS])
{
	if (r->chunk.digests == few)
		memzero_explicit(few, FEW_WORDS * sizeof(u64));
	else
		kvfree_sensitive(r->chunk.digests, r->chunk.size);
}

static int epf_batch_run(struct epf_file *file, struct epf_batch *args, enum op op)
{
	struct run r = { .f = file->filter, .args = args, .op = op };
	u64 few[FEW_WORDS];
	int err;

	args->done = 0;
	args->present = 0;
	args->flags &= ~EPF_BATCH_SATURATED;
	err = epf_batch_check(args, op == OP_INSERT) ?: epf_batch_begin(&r, few);
	if (err)
		return err;
	while (args->done < args->count && !err) {
		err = epf_batch_run_chunk(&r);
		cond_resched();
		if (!err && args->done < args->count && signal_pending(current))
			err = -EINTR;
	}
	epf_batch_end(&r, few);
	return err;
}

/**
 * epf_batch_test() - EPF_IOC_TEST
 * @file: open descriptor of a filter
 * @none: unused: the operation takes the table itself
 * @a: its batch: keys or digests, at most EPF_BATCH_MAX; set to how many were processed
 *
 * Context: process; sleeps.
 * Return: 0; -EINVAL: a length or flag; -E2BIG: too many keys; -ENOMEM; -EFAULT: memory of the
 * caller; -EINTR: a signal; -ENODEV: the filter was destroyed.
 */
int epf_batch_test(struct epf_file *file, struct epf_table *none, union epf_args *a)
{
	return epf_batch_run(file, &a->batch, OP_TEST);
}

/**
 * epf_batch_insert() - EPF_IOC_INSERT
 * @file: open descriptor of a filter
 * @none: unused: the operation takes the table itself
 * @a: as of epf_batch_test()
 *
 * Context: process; sleeps.
 * Return: as epf_batch_test().
 */
int epf_batch_insert(struct epf_file *file, struct epf_table *none, union epf_args *a)
{
	return epf_batch_run(file, &a->batch, OP_INSERT);
}

/**
 * epf_batch_test_and_insert() - EPF_IOC_TEST_AND_INSERT
 * @file: open descriptor of a filter
 * @none: unused: the operation takes the table itself
 * @a: as of epf_batch_test()
 *
 * Context: process; sleeps.
 * Return: as epf_batch_test().
 */
int epf_batch_test_and_insert(struct epf_file *file, struct epf_table *none, union epf_args *a)
{
	return epf_batch_run(file, &a->batch, OP_TEST_AND_INSERT);
}
