// SPDX-License-Identifier: GPL-2.0
/*
 * Snapshots and mappings. For lanes, user space copies the lines itself, from a
 * mapping, while insertions go on; begin and end only block rotation and describe the
 * copy. For a locked kind it reads pieces instead, see kinds/image.c. Restore loads a
 * snapshot into a new table.
 */
#include "dev.h"
#include "compat.h"
#include "kind.h"
#include "map.h"

#include <linux/ktime.h>
#include <linux/sched/signal.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>

/* Lines copied between two calls of cond_resched(): 64 KiB. */
#define COPY_LINES 1024u

static void epf_snapshot_fill(struct epf_file *file, struct epf_table *t, struct epf_snap *a)
{
	struct epf_snap_header *h = &a->header;
	struct epf_stats stats = {};
	unsigned long flags;
	u64 now;
	int i;

	memset(h, 0, sizeof(*h));
	h->magic = EPF_SNAP_MAGIC;
	h->version = EPF_SNAP_VERSION;
	h->header_bytes = sizeof(*h);
	h->params = t->params;
	strscpy(h->params.name, file->filter->name, sizeof(h->params.name));
	memcpy(h->key, t->hash.key, sizeof(h->key));
	h->epoch_begin = file->snap_pin.epoch;
	epf_table_stats(t, &stats);
	h->inserts = stats.inserts;
	epf_table_lock(t, &flags);
	now = ktime_get_ns();
	a->now_ns = now;
	h->realtime_ns = ktime_to_ns(ktime_mono_to_real(now));
	h->epoch_end = t->state.epoch;
	a->desc = t->desc;
	for (i = 0; i < EPF_EPOCHS; i++) {
		if (!t->state.ring[i].start_ns)
			continue; /* there was no such epoch */
		h->epochs[i].inserts = t->state.ring[i].inserts;
		h->epochs[i].age_ns = now - t->state.ring[i].start_ns;
	}
	h->epochs[h->epoch_end & 7].inserts = epf_count_of(epf_load(&t->state.count), h->epoch_end);
	epf_table_unlock(t, flags);
	a->journal = epf_journal_serial(t);
}

/* Pin the table, and make the layout of a locked kind stable. Not under file->lock,
 * because it may take long. That time is not part of @pin_ns.
 */
static int epf_snapshot_hold(struct epf_table *t, u64 pin_ns, struct epf_pin *pin)
{
	const struct epf_table_ops *ops = t->ops;
	int err = epf_table_pin(t, ops->hold ? EPF_PIN_MAX_NS : pin_ns, pin);

	if (err || !ops->hold)
		return err;
	err = ops->hold(t, pin_ns, pin);
	if (err)
		epf_table_unpin(t, pin);
	return err;
}

/* Pin the current table. Return: the table, by reference, or an error pointer. */
static struct epf_table *epf_snapshot_hold_current(struct epf_filter *f, u64 pin_ns,
						   struct epf_pin *pin)
{
	struct epf_table *t;
	int err;

	do {
		t = epf_filter_table(f);
		if (!t)
			return ERR_PTR(-ENODEV);
		err = epf_snapshot_hold(t, pin_ns, pin);
		if (err)
			epf_table_put(t);
	} while (err == -EAGAIN); /* replaced meanwhile */
	return err ? ERR_PTR(err) : t;
}

/* Release a pinned table. */
static void epf_snapshot_let_go(struct epf_table *t, const struct epf_pin *pin)
{
	epf_table_unpin(t, pin);
	epf_table_put(t);
}

/**
 * epf_snap_begin() - EPF_IOC_SNAP_BEGIN
 * @file: descriptor
 * @args: struct epf_snap; the part of its header that is known already is set
 *
 * Return: 0, -EINVAL, -ENODEV, -EINTR; -EBUSY: a snapshot is under way.
 */
int epf_snap_begin(struct epf_file *file, void *args)
{
	struct epf_snap *a = args;
	struct epf_pin pin = {};
	struct epf_table *t;
	int err = 0;

	if (!a->pin_ns || a->pin_ns > EPF_PIN_MAX_NS)
		return -EINVAL;
	t = epf_snapshot_hold_current(file->filter, a->pin_ns, &pin);
	if (IS_ERR(t))
		return PTR_ERR(t);
	mutex_lock(&file->lock);
	if (file->snap) {
		err = -EBUSY;
	} else {
		file->snap = t;
		file->snap_pin = pin;
		epf_snapshot_fill(file, t, a);
	}
	mutex_unlock(&file->lock);
	if (err)
		epf_snapshot_let_go(t, &pin);
	return err;
}

/**
 * epf_snap_read() - EPF_IOC_SNAP_READ
 * @file: descriptor
 * @args: struct epf_snap_read
 *
 * Return: 0; -EINVAL: also if no snapshot was begun; -EOPNOTSUPP: lanes; or as
 * the operation of its kind.
 */
int epf_snap_read(struct epf_file *file, void *args)
{
	struct epf_table *t;
	u64 moves;
	int err;

	mutex_lock(&file->lock);
	t = file->snap;
	moves = file->snap_pin.moves;
	if (t)
		epf_table_get(t);
	mutex_unlock(&file->lock);
	if (!t)
		return -EINVAL;
	err = t->ops->read ? t->ops->read(t, moves, args) : -EOPNOTSUPP;
	epf_table_put(t);
	return err;
}

/* Caller holds file->lock. */
static void epf_snapshot_end(struct epf_file *file)
{
	lockdep_assert_held(&file->lock);
	epf_snapshot_let_go(file->snap, &file->snap_pin);
	file->snap = NULL;
}

/**
 * epf_snap_end() - EPF_IOC_SNAP_END
 * @file: descriptor
 * @args: struct epf_snap
 *
 * Return: 0; -EINVAL: also if no snapshot was begun; -ESTALE: the snapshot is void,
 * and has ended.
 */
int epf_snap_end(struct epf_file *file, void *args)
{
	struct epf_snap *a = args;
	struct epf_table *t;
	int err = -EINVAL;

	if (a->pin_ns)
		return err;
	mutex_lock(&file->lock);
	t = file->snap;
	if (t) {
		epf_snapshot_fill(file, t, a);
		err = t->ops->moved && t->ops->moved(t, file->snap_pin.moves) ? -ESTALE : 0;
		epf_snapshot_end(file);
	}
	mutex_unlock(&file->lock);
	return err;
}

/**
 * epf_snap_cancel() - end the snapshot under way, if there is one
 * @file: descriptor
 */
void epf_snap_cancel(struct epf_file *file)
{
	mutex_lock(&file->lock);
	if (file->snap)
		epf_snapshot_end(file);
	mutex_unlock(&file->lock);
}

static int epf_snapshot_header_check(const struct epf_snap_header *h)
{
	int err, i;

	if (h->magic != EPF_SNAP_MAGIC || h->version != EPF_SNAP_VERSION ||
	    h->header_bytes != sizeof(*h))
		return -EBADMSG;
	if (h->epoch_begin < EPF_EPOCH_FIRST || h->epoch_end > EPF_EPOCH_MAX ||
	    h->epoch_begin > h->epoch_end)
		return -EBADMSG;
	for (i = 0; i < EPF_EPOCHS; i++)
		if (h->epochs[i].inserts > EPF_INSERTS_MAX || h->epochs[i].age_ns > EPF_NS_MAX)
			return -EBADMSG;
	err = epf_params_check(&h->params);
	return err == -EINVAL ? -EBADMSG : err;
}

/* Time continues as if the snapshot had been taken now, so keys are retained at least
 * as long as promised. Start times before boot wrap around; only differences matter.
 */
static void epf_snapshot_restore_state(struct epf_table *t, const struct epf_snap_header *h)
{
	u64 now = ktime_get_ns();
	u64 e = h->epoch_end;
	int i;

	t->state.epoch = e;
	t->state.scanned = e; /* epf_snapshot_copy_lines() leaves nothing stale */
	for (i = 0; i < EPF_EPOCHS; i++) {
		t->state.ring[i].inserts = h->epochs[i].inserts;
		t->state.ring[i].start_ns = now - h->epochs[i].age_ns;
	}
	t->state.count = epf_count_pack(e, h->epochs[e & 7].inserts);
	epf_table_reset_trigger(t);
}

/* Copy the lines into a table that is not yet published, and scan each chunk right
 * after it is copied.
 */
static int epf_snapshot_copy_lines(struct epf_table *t, const struct epf_line __user *from)
{
	u64 lines = epf_geom_lines(&t->lanes.geom);
	u64 i, nr;

	for (i = 0; i < lines; i += nr) {
		nr = min_t(u64, lines - i, COPY_LINES);
		if (copy_from_user(t->lanes.line + i, from + i, nr * EPF_LINE_BYTES))
			return -EFAULT;
		epf_lanes_scan(&t->lanes, i, nr);
		if (signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}

static struct epf_table *epf_snapshot_restore_lanes(const struct epf_restore *a)
{
	struct epf_table *t = epf_table_new(&a->header.params, NULL, a->header.key);
	int err;

	if (IS_ERR(t))
		return t;
	epf_snapshot_restore_state(t, &a->header);
	err = epf_snapshot_copy_lines(t, u64_to_user_ptr(a->lines));
	if (!err)
		return t;
	epf_table_put(t);
	return ERR_PTR(err);
}

static struct epf_table *epf_snapshot_restore_kind(const struct epf_restore *a)
{
	const struct epf_table_ops *ops = epf_kind_get(a->header.params.kind);
	struct epf_table *t;

	if (IS_ERR(ops))
		return ERR_CAST(ops);
	t = ops->restore ? ops->restore(a) : epf_snapshot_restore_lanes(a);
	epf_kind_put(ops);
	return t;
}

/**
 * epf_restore() - EPF_IOC_RESTORE
 * @file: descriptor
 * @args: struct epf_restore
 *
 * Return: 0, -EBADMSG, -EOPNOTSUPP, -EFAULT, -ENODEV, -EINTR, or as
 * epf_table_new().
 */
int epf_restore(struct epf_file *file, void *args)
{
	const struct epf_restore *a = args;
	struct epf_table *t;
	int err;

	err = epf_snapshot_header_check(&a->header);
	if (err)
		return err;
	if (epf_key_desc_check(&a->desc))
		return -EBADMSG;
	t = epf_snapshot_restore_kind(a);
	if (IS_ERR(t))
		return PTR_ERR(t);
	t->base_inserts = a->header.inserts;
	t->desc = a->desc;
	epf_table_estimate(t);
	t->ops->measured(t);
	err = epf_filter_replace(file->filter, t, NULL);
	if (err)
		epf_table_put(t);
	return err;
}

static void epf_snapshot_vma_open(struct vm_area_struct *vma)
{
	epf_table_get(vma->vm_private_data);
}

static void epf_snapshot_vma_close(struct vm_area_struct *vma)
{
	epf_table_put(vma->vm_private_data);
}

/* Size of the lines in bytes, rounded up to whole pages. */
static u64 epf_snapshot_line_bytes(const struct epf_table *t)
{
	return PAGE_ALIGN(epf_geom_lines(&t->lanes.geom) * EPF_LINE_BYTES);
}

/* The pages of a table live as long as the table, to which the mapping has a
 * reference.
 */
static vm_fault_t epf_snapshot_vma_fault(struct vm_fault *vmf)
{
	const struct epf_table *t = vmf->vma->vm_private_data;

	return epf_map_fault(vmf, t->lanes.line, (u64)vmf->pgoff << PAGE_SHIFT,
			     epf_snapshot_line_bytes(t));
}

static const struct vm_operations_struct vma_ops = {
	.open = epf_snapshot_vma_open,
	.close = epf_snapshot_vma_close,
	.fault = epf_snapshot_vma_fault,
};

/* The table to map: that of the snapshot under way, else the current one. */
static struct epf_table *epf_snapshot_table_to_map(struct epf_file *file)
{
	struct epf_table *t;

	mutex_lock(&file->lock);
	t = file->snap;
	if (t)
		epf_table_get(t);
	mutex_unlock(&file->lock);
	return t ?: epf_filter_table(file->filter);
}

static int epf_snapshot_map_journal(struct epf_file *file, struct vm_area_struct *vma)
{
	int err = -EINVAL;

	mutex_lock(&file->lock);
	if (file->journal)
		err = epf_journal_mmap(file->journal, vma);
	mutex_unlock(&file->lock);
	return err;
}

/**
 * epf_mmap() - map the lines, or the descriptor's journal
 * @filp: of a filter descriptor
 * @vma: read-only
 *
 * Return: 0; -EACCES: writable or executable; -EINVAL: beyond the lines or the
 * journal; -ENODEV; -EOPNOTSUPP: a locked kind; -EPERM: a journal, without the
 * capability.
 */
int epf_mmap(struct file *filp, struct vm_area_struct *vma)
{
	struct epf_table *t;
	u64 pages;

	if (vma->vm_flags & (VM_WRITE | VM_EXEC))
		return -EACCES;
	if (vma->vm_pgoff >= EPF_MMAP_JOURNAL >> PAGE_SHIFT)
		return epf_snapshot_map_journal(filp->private_data, vma);
	t = epf_snapshot_table_to_map(filp->private_data);
	if (!t)
		return -ENODEV;
	if (t->locked) {
		epf_table_put(t);
		return -EOPNOTSUPP;
	}
	pages = epf_snapshot_line_bytes(t) >> PAGE_SHIFT;
	if (vma->vm_pgoff > pages || vma_pages(vma) > pages - vma->vm_pgoff) {
		epf_table_put(t);
		return -EINVAL;
	}
	epf_vma_seal_readonly(vma);
	vma->vm_ops = &vma_ops;
	vma->vm_private_data = t;
	return 0;
}
