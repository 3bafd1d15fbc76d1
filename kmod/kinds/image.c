// SPDX-License-Identifier: GPL-2.0
/*
 * Snapshots of the locked kinds. Memory is copied in pieces of 4 KiB, each under
 * one hold of the lock, while insertions go on between them. The result is sound:
 * the copy has every key that was inserted before the beginning and is still inside
 * the window at the end. Why:
 *
 * All kinds: BEGIN blocks the ends of epochs, and waits for one that is under way.
 * From then on epf_locked_state.moves does not change until the pin is over and something
 * has moved. If it changes, the snapshot is void and ESTALE is returned. So all
 * pieces have the same current epoch, none is retired, and no memory is emptied,
 * added or removed.
 *
 *   ge, gebl,    Bits are only ever set meanwhile. All bits of a key are set when
 *   apbf, apbbf  its insertion is over, and are in every piece copied later.
 *   dict         An entry stays in its bucket for life, and every bucket lies in one
 *                piece. An entry that counts at the beginning counts at the end, so
 *                no visit removes it; an insertion may move it inside its bucket
 *                and give it the current tag. A key in the backyard is looked up
 *                there while the spill mark of its bucket is at least as young as
 *                the key. Marks only get younger. The copy of a mark may be older
 *                than the copy of the entry, but not older than the entry was when
 *                the copy began, and thus counts. The same holds for pass marks. The
 *                position of the scan is not saved: buckets may be copied before
 *                the scan visits them. Restoring tidies all of them instead.
 *   elastic      Insertions do not take the lock, but each line is copied under a lock of
 *                its own, as it is between two changes. All items of a key are in one
 *                line. No change removes an item of an epoch that counts, unless the
 *                line then accepts that epoch whole.
 *   tlbf         BEGIN takes the reserve away; without one no shift takes place, so
 *                bits are only ever set, as above. What counts follows from the
 *                time of the last key, which is read last of all.
 *   chain        Likewise, without a reserve there is no other table 0. Epochs do
 *                end, but words carry their epochs as those of lanes do: a word of
 *                an epoch that counts at the end has only been added to. The scan
 *                stops too, so no more than eight epochs end; after the pin, when
 *                it goes on, up to 24 may end, as for lanes.
 *
 * The contents of a restored snapshot are untrusted: see image.h and kind_*.h of the
 * core.
 */
#include "locked.h"

#include <linux/ktime.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

/* Bytes copied between two calls of cond_resched(). */
#define LOAD_BYTES 65536u

/* ------------------------------------------------------------ saving ---- */

/**
 * epf_locked_begin_snapshot() - wait until the layout of the memory is stable
 * @t: table, pinned for EPF_PIN_MAX_NS, by reference
 * @pin_ns: how long the pin lasts once the layout is stable
 * @pin: of the table; @epoch and @moves are set to those of the snapshot
 *
 * The worker may be about to add a reserve. It checks under the lock whether the
 * table is pinned, so the reserve either is taken away here or is not added.
 *
 * Context: process; sleeps, for the rest of a sweep.
 * Return: 0; -EINTR; -EAGAIN: the table has been replaced meanwhile, or the wait
 * took longer than any pin.
 */
int epf_locked_begin_snapshot(struct epf_table *t, u64 pin_ns, struct epf_pin *pin)
{
	struct epf_locked_state *o = t->locked;
	unsigned long flags;
	u64 *spare = NULL;
	u64 words;
	int err;

	err = wait_event_interruptible(t->moved, !READ_ONCE(o->retiring) || READ_ONCE(t->retired));
	if (err)
		return -EINTR;
	epf_table_lock(t, &flags);
	err = o->retiring || t->pins != pin->nr ? -EAGAIN : 0;
	if (o->core.ops->resizable)
		spare = epf_resizable_hold(t, &words);
	pin->epoch = t->state.epoch;
	pin->moves = o->moves;
	if (!err)
		WRITE_ONCE(t->pin_until_ns, ktime_get_ns() + pin_ns);
	epf_table_unlock(t, flags);
	mod_delayed_work(epf_wq, &t->work, 0); /* it may be queued for later */
	if (spare)
		epf_table_shrink(t, spare, words);
	return err;
}

/**
 * epf_locked_moved() - is a snapshot void?
 * @t: table, by reference
 * @moves: layout number of the snapshot
 */
bool epf_locked_moved(struct epf_table *t, u64 moves)
{
	unsigned long flags;
	bool moved;

	epf_table_lock(t, &flags);
	moved = t->locked->moves != moves;
	epf_table_unlock(t, flags);
	return moved;
}

/* Save the history of epochs. Caller holds the lock. */
static void epf_image_save_past(const struct epf_table *t, struct epf_snap_locked *s)
{
	const struct epf_locked_state *o = t->locked;
	u64 e = t->state.epoch, now = ktime_get_ns();
	u32 age;

	lockdep_assert_held(&t->lock);
	s->epoch = e;
	for (age = 0; age <= o->core.epochs && age <= e - EPF_EPOCH_FIRST; age++) {
		const struct epf_past *p = &o->past[(e - age) % EPF_LOCKED_PAST];

		s->past[age].inserts = p->inserts;
		s->past[age].age_ns = now - p->start_ns;
	}
	s->past[0].inserts = epf_count_of(epf_load(&t->state.count), e);
}

static int epf_image_save(struct epf_table *t, u64 moves, struct epf_snap_locked *s)
{
	struct epf_locked_state *o = t->locked;
	unsigned long flags;
	bool moved;

	s->size = sizeof(*s);
	epf_table_lock(t, &flags);
	if (o->core.ops->resizable)
		epf_resizable_invalidate(o);
	o->core.ops->save(&o->core, s, epf_locked_clock(o));
	if (o->core.ops->resizable) {
		epf_resizable_sync_epochs(t);
		s->steady_ns = ktime_get_ns() - o->skewed_ns;
	}
	s->shape = o->core.shape;
	epf_image_save_past(t, s);
	moved = o->moves != moves;
	epf_table_unlock(t, flags);
	return moved ? -ESTALE : 0;
}

static int epf_image_read_state(struct epf_table *t, u64 moves, const struct epf_snap_read *a)
{
	struct epf_snap_locked *s;
	int err;

	if (a->offset || a->bytes != sizeof(*s))
		return -EINVAL;
	s = kvzalloc(sizeof(*s), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!s)
		return -ENOMEM;
	err = epf_image_save(t, moves, s);
	if (!err && copy_to_user(u64_to_user_ptr(a->data), s, sizeof(*s)))
		err = -EFAULT;
	kvfree(s);
	return err;
}

/* Copy @n bytes of memory that begin at byte @at; both are multiples of a word.
 * Caller holds the lock. Return: false if there are not so many bytes.
 */
static bool epf_image_copy_piece(const struct epf_locked *f, u64 at, u8 *to, u64 n)
{
	u64 words, bytes, part;
	u64 *word;
	u32 i;

	for (i = 0; n && (words = f->ops->piece(f, i, &word)); i++) {
		bytes = words * sizeof(u64);
		if (at >= bytes) {
			at -= bytes;
			continue;
		}
		part = min(n, bytes - at);
		if (f->ops->copy)
			f->ops->copy(f, i, at / sizeof(u64), (u64 *)to, part / sizeof(u64));
		else
			memcpy(to, (const u8 *)word + at, part);
		to += part;
		n -= part;
		at = 0;
	}
	return !n;
}

static int epf_image_read_piece(struct epf_table *t, u64 moves, const struct epf_snap_read *a,
				u64 done, u8 *buf)
{
	u64 n = min_t(u64, a->bytes - done, EPF_SNAP_PIECE);
	unsigned long flags;
	int err;

	epf_table_lock(t, &flags);
	if (t->locked->moves != moves)
		err = -ESTALE;
	else
		err = epf_image_copy_piece(&t->locked->core, a->offset + done, buf, n) ? 0 :
											 -EINVAL;
	epf_table_unlock(t, flags);
	if (!err && copy_to_user(u64_to_user_ptr(a->data + done), buf, n))
		err = -EFAULT;
	return err;
}

static int epf_image_read_memory(struct epf_table *t, u64 moves, const struct epf_snap_read *a)
{
	u64 done;
	int err = 0;
	u8 *buf;

	if (a->offset % EPF_SNAP_PIECE || !a->bytes || a->bytes % sizeof(u64) ||
	    a->bytes > -a->offset - 1)
		return -EINVAL;
	buf = kmalloc(EPF_SNAP_PIECE, GFP_KERNEL_ACCOUNT);
	if (!buf)
		return -ENOMEM;
	for (done = 0; done < a->bytes && !err; done += EPF_SNAP_PIECE) {
		err = signal_pending(current) ? -EINTR :
						epf_image_read_piece(t, moves, a, done, buf);
		cond_resched();
	}
	kfree(buf);
	return err;
}

/**
 * epf_locked_read() - read a part of a snapshot
 * @t: table, by reference
 * @moves: layout number of the snapshot
 * @args: what to read
 *
 * Context: process; sleeps.
 * Return: 0, -EINVAL, -ENOMEM, -EFAULT, -EINTR; -ESTALE: the snapshot is void.
 */
int epf_locked_read(struct epf_table *t, u64 moves, const struct epf_snap_read *args)
{
	return args->flags & EPF_SNAP_STATE ? epf_image_read_state(t, moves, args) :
					      epf_image_read_memory(t, moves, args);
}

/* --------------------------------------------------------- restoring ---- */

/* Load the history of epochs into a table that is not yet published. Time continues
 * as if the snapshot had been taken now. Start times before boot wrap around; only
 * differences matter.
 */
static void epf_image_load_past(struct epf_table *t, const struct epf_snap_locked *s)
{
	struct epf_locked_state *o = t->locked;
	u64 now = ktime_get_ns();
	u64 e = s->epoch, x;
	u32 age;

	t->state.epoch = e;
	t->state.scanned = e;
	for (age = 0; age < EPF_LOCKED_PAST && age <= e - EPF_EPOCH_FIRST; age++) {
		x = e - age;
		o->past[x % EPF_LOCKED_PAST].inserts = s->past[age].inserts;
		o->past[x % EPF_LOCKED_PAST].start_ns = now - s->past[age].age_ns;
		if (age < EPF_EPOCHS)
			t->state.ring[x & 7] = o->past[x % EPF_LOCKED_PAST];
	}
	t->state.count = epf_count_pack(e, s->past[0].inserts);
	epf_table_reset_trigger(t);
}

static void epf_image_load_clock(struct epf_locked_state *o, const struct epf_snap_locked *s)
{
	u64 now = ktime_get_ns();

	o->skew_ns = s->now - now;
	o->skewed_ns = now - s->steady_ns;
	o->turns = o->core.ops->resizable->turns(&o->core, 0);
	o->begun = o->core.ops->resizable->begun(&o->core);
	o->core.slices = o->core.ops->resizable->slices(&o->core);
}

static int epf_image_load_state(struct epf_table *t, const struct epf_snap_locked *s)
{
	struct epf_locked_state *o = t->locked;
	int err;

	if (o->core.ops->resizable)
		epf_resizable_free(t); /* the memory of the empty filter */
	err = o->core.ops->load(&o->core, s) ? -EBADMSG : 0;
	if (!err && o->core.ops->resizable) {
		epf_image_load_clock(o, s);
		err = epf_resizable_alloc_loaded(t);
	}
	epf_image_load_past(t, s);
	return err;
}

/* Load piece @i from the @words words at @from. */
static int epf_image_load_piece(struct epf_locked *f, u32 i, u64 *word, u64 words,
				const u8 __user *from)
{
	u64 at, n;

	for (at = 0; at < words; at += n) {
		n = min_t(u64, words - at, LOAD_BYTES / sizeof(u64));
		if (copy_from_user(word + at, from + at * sizeof(u64), n * sizeof(u64)))
			return -EFAULT;
		if (f->ops->sound && !f->ops->sound(f, i, at, n))
			return -EBADMSG;
		if (f->ops->tidy)
			f->ops->tidy(f, i, at, n);
		if (signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}

static int epf_image_load_memory(struct epf_locked *f, const u8 __user *from)
{
	u64 *word, words;
	int err = 0;
	u32 i;

	for (i = 0; !err && (words = f->ops->piece(f, i, &word)); i++) {
		err = epf_image_load_piece(f, i, word, words, from);
		from += words * sizeof(u64);
	}
	return err;
}

static struct epf_table *epf_image_restore(const struct epf_restore *a, struct epf_snap_locked *s)
{
	const u8 __user *from = u64_to_user_ptr(a->lines);
	const struct epf_snap_header *h = &a->header;
	struct epf_table *t;
	int err;

	if (copy_from_user(s, from, sizeof(*s)))
		return ERR_PTR(-EFAULT);
	if (!epf_image_sound(s) || s->epoch < h->epoch_begin || s->epoch > h->epoch_end)
		return ERR_PTR(-EBADMSG);
	t = epf_table_new(&h->params, &s->shape, h->key);
	if (IS_ERR(t))
		return PTR_ERR(t) == -EINVAL ? ERR_PTR(-EBADMSG) : t;
	err = epf_image_load_state(t, s);
	if (!err)
		err = epf_image_load_memory(&t->locked->core, from + sizeof(*s));
	if (!err)
		return t;
	epf_table_put(t);
	return ERR_PTR(err);
}

/**
 * epf_locked_restore() - make a table from a snapshot
 * @args: its header is checked
 *
 * Context: process; sleeps.
 * Return: the table, or an error pointer: -EBADMSG, -EFAULT, -EINTR, or as
 * epf_table_new() and epf_table_grow().
 */
struct epf_table *epf_locked_restore(const struct epf_restore *args)
{
	struct epf_snap_locked *s;
	struct epf_table *t;

	s = kvmalloc(sizeof(*s), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!s)
		return ERR_PTR(-ENOMEM);
	t = epf_image_restore(args, s);
	kvfree(s);
	return t;
}
