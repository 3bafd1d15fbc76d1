// SPDX-License-Identifier: GPL-2.0
/*
 * Snapshots and mappings. For lanes, user space copies the lines itself, from a mapping, while
 * insertions go on; begin and end only block rotation and describe the copy. For a locked kind it
 * reads pieces instead, see kinds/image.c. Restore loads a snapshot into a new table.
 */
#include "dev.h"
#include "kind.h"

#include <epf/snapshot.h>

#include <linux/sched/signal.h>
#include <linux/uaccess.h>

/* Lines copied between two calls of cond_resched(): 64 KiB. */
#define COPY_LINES 1024u

static void epf_snapshot_fill(struct epf_file *file, struct epf_table *t, struct epf_snap *a)
{
	struct epf_snap_header *h = &a->header;
	const struct epf_journal *j;
	struct epf_stats stats = {};
	unsigned long flags;

	memset(h, 0, sizeof(*h));
	h->params = t->params;
	strscpy(h->params.name, file->filter->name, sizeof(h->params.name));
	memcpy(h->key, t->hash.key, sizeof(h->key));
	h->epoch_begin = file->snap_pin.epoch;
	epf_table_stats(t, &stats);
	h->inserts = stats.inserts;
	epf_table_lock(t, &flags);
	a->now_ns = ktime_get_ns();
	h->realtime_ns = ktime_to_ns(ktime_mono_to_real(a->now_ns));
	a->desc = t->desc;
	epf_snap_save(h, &t->state, epf_count_of(epf_load(&t->state.count), t->state.epoch),
		      a->now_ns);
	j = epf_journal_locked(t);
	a->journal = j ? j->serial : 0;
	epf_table_unlock(t, flags);
}

/* Pin the table, and make the layout of a locked kind stable. That may take long, and is not part
 * of @pin_ns; so it is not under file->lock.
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

/**
 * epf_snap_begin() - EPF_IOC_SNAP_BEGIN
 * @file: open descriptor of a filter
 * @t: its table
 * @args: set to the part of the header that is known already
 *
 * Context: process; sleeps.
 * Return: 0; -EINVAL: pin; -EINTR: a signal; -EBUSY: a snapshot is under way; -EAGAIN: @t was
 * replaced.
 */
int epf_snap_begin(struct epf_file *file, struct epf_table *t, union epf_args *args)
{
	struct epf_snap *a = &args->snap;
	struct epf_pin pin = {};
	int err;

	if (!a->pin_ns || a->pin_ns > EPF_PIN_MAX_NS)
		return -EINVAL;
	err = epf_snapshot_hold(t, a->pin_ns, &pin);
	if (err)
		return err;
	mutex_lock(&file->lock);
	if (file->snap) {
		err = -EBUSY;
	} else {
		epf_table_get(t);
		file->snap = t;
		file->snap_pin = pin;
		epf_snapshot_fill(file, t, a);
	}
	mutex_unlock(&file->lock);
	if (err)
		epf_table_unpin(t, &pin);
	return err;
}

/* The table of the snapshot under way, by reference, or NULL. @moves: that of its pin. */
static struct epf_table *epf_snapshot_table(struct epf_file *file, u64 *moves)
{
	struct epf_table *t;

	mutex_lock(&file->lock);
	t = file->snap;
	*moves = file->snap_pin.moves;
	if (t)
		epf_table_get(t);
	mutex_unlock(&file->lock);
	return t;
}

/**
 * epf_snap_read() - EPF_IOC_SNAP_READ
 * @file: open descriptor of a filter
 * @none: unused: the snapshot has its table
 * @a: of the command
 *
 * Context: process; sleeps.
 * Return: 0; -EINVAL: also if no snapshot was begun; -EOPNOTSUPP: lanes; or as the kind.
 */
int epf_snap_read(struct epf_file *file, struct epf_table *none, union epf_args *a)
{
	struct epf_table *t;
	u64 moves;
	int err;

	t = epf_snapshot_table(file, &moves);
	if (!t)
		return -EINVAL;
	err = t->ops->read ? t->ops->read(t, moves, &a->snap_read) : -EOPNOTSUPP;
	epf_table_put(t);
	return err;
}

static void epf_snapshot_end(struct epf_file *file)
{
	lockdep_assert_held(&file->lock);
	epf_table_unpin(file->snap, &file->snap_pin);
	epf_table_put(file->snap);
	file->snap = NULL;
}

/**
 * epf_snap_end() - EPF_IOC_SNAP_END
 * @file: open descriptor of a filter
 * @none: unused: the snapshot has its table
 * @a: of the command
 *
 * Context: process; sleeps.
 * Return: 0; -EINVAL: also if no snapshot was begun; -ESTALE: the snapshot is void, and has ended.
 */
int epf_snap_end(struct epf_file *file, struct epf_table *none, union epf_args *a)
{
	struct epf_table *t;
	int err = -EINVAL;

	if (a->snap.pin_ns)
		return err;
	mutex_lock(&file->lock);
	t = file->snap;
	if (t) {
		epf_snapshot_fill(file, t, &a->snap);
		err = t->ops->moved && t->ops->moved(t, file->snap_pin.moves) ? -ESTALE : 0;
		epf_snapshot_end(file);
	}
	mutex_unlock(&file->lock);
	return err;
}

/**
 * epf_snap_cancel() - end the snapshot under way, if there is one
 * @file: open descriptor of a filter
 *
 * Context: process; sleeps.
 */
void epf_snap_cancel(struct epf_file *file)
{
	mutex_lock(&file->lock);
	if (file->snap)
		epf_snapshot_end(file);
	mutex_unlock(&file->lock);
}

/* Copy the lines into an unpublished table. Each chunk is scanned, so that nothing stale is left.
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
	epf_snap_load(&a->header, &t->state, ktime_get_ns());
	epf_table_reset_trigger(t);
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
 * @file: open descriptor of a filter
 * @none: unused: a new table is made
 * @args: of the command
 *
 * Context: as epf_table_new().
 * Return: 0; -EBADMSG: not sound; -EFAULT: memory of the caller; -ENODEV: destroyed; -EINTR: a
 * signal; or as epf_table_new().
 */
int epf_restore(struct epf_file *file, struct epf_table *none, union epf_args *args)
{
	const struct epf_restore *a = &args->restore;
	struct epf_table *t;
	int err;

	if (!epf_snap_sound(&a->header, EPF_EPOCH_MAX))
		return -EBADMSG;
	err = epf_params_check(&a->header.params);
	if (err)
		return err == -EINVAL ? -EBADMSG : err;
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

static vm_fault_t epf_snapshot_vma_fault(struct vm_fault *vmf)
{
	const struct epf_table *t = vmf->vma->vm_private_data;

	return epf_map_fault(vmf, t->lanes.line, 0, epf_snapshot_line_bytes(t));
}

static const struct vm_operations_struct vma_ops = {
	.open = epf_snapshot_vma_open,
	.close = epf_snapshot_vma_close,
	.fault = epf_snapshot_vma_fault,
};

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
 * epf_mmap() - map the lines of the snapshot under way, else the current ones; or the journal
 * @filp: open descriptor of a filter
 * @vma: mapping
 *
 * Context: process; with mmap_lock.
 * Return: 0; -EACCES: writable or executable; -EINVAL: beyond the lines or the journal; -ENODEV:
 * destroyed; -EOPNOTSUPP: a locked kind; -EPERM: a journal, without the capability.
 */
int epf_mmap(struct file *filp, struct vm_area_struct *vma)
{
	struct epf_file *file = filp->private_data;
	struct epf_table *t;
	u64 moves;
	int err;

	if (vma->vm_flags & (VM_WRITE | VM_EXEC))
		return -EACCES;
	if (vma->vm_pgoff >= EPF_MMAP_JOURNAL >> PAGE_SHIFT)
		return epf_snapshot_map_journal(file, vma);
	t = epf_snapshot_table(file, &moves) ?: epf_filter_table(file->filter);
	if (!t)
		return -ENODEV;
	err = t->locked ? -EOPNOTSUPP :
			  epf_map(vma, vma->vm_pgoff, epf_snapshot_line_bytes(t), &vma_ops, t);
	if (err)
		epf_table_put(t);
	return err;
}
