// SPDX-License-Identifier: GPL-2.0
/*
 * The device: copies arguments, checks what all commands have in common, and calls the command.
 *
 * A command is identified by its number. The caller's size in _IOC_SIZE is ignored: each struct
 * begins with its size, so that programs built with an older or newer header work.
 */
#include "dev.h"
#include "kind.h"

#include <linux/anon_inodes.h>
#include <linux/capability.h>
#include <linux/log2.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/nospec.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

static const struct file_operations filter_fops;

static int epf_dev_create(struct epf_file *file, struct epf_table *t, union epf_args *a)
{
	return epf_filter_create(&a->create, &a->create.id);
}

/* Destroy by id, which is not reused soon, and by force: nobody was told that the filter exists. */
static void epf_dev_undo_create(struct epf_file *file, const union epf_args *a)
{
	struct epf_name name = { .id = a->create.id };

	epf_filter_destroy(&name, true);
}

static int epf_dev_destroy(struct epf_file *file, struct epf_table *t, union epf_args *a)
{
	return epf_filter_destroy(&a->ref.name, a->flags & EPF_DESTROY_FORCE);
}

static int epf_dev_swap(struct epf_file *file, struct epf_table *t, union epf_args *a)
{
	return epf_filter_swap(&a->swap);
}

static int epf_dev_list(struct epf_file *file, struct epf_table *t, union epf_args *a)
{
	u32 room, nr;
	u32 *ids;
	int err = 0;

	if (a->list.reserved)
		return -EINVAL;
	room = min_t(u32, a->list.count, epf_filter_list(NULL, 0));
	ids = kvcalloc(max(room, 1u), sizeof(*ids), GFP_KERNEL);
	if (!ids)
		return -ENOMEM;
	nr = epf_filter_list(ids, room);
	if (copy_to_user(u64_to_user_ptr(a->list.ids), ids, min(room, nr) * sizeof(*ids)))
		err = -EFAULT;
	a->list.count = nr;
	kvfree(ids);
	return err;
}

/* The descriptor is read-only, so no mapping of it can be made writable. */
static int epf_dev_open(struct epf_file *unused, struct epf_table *none, union epf_args *a)
{
	struct epf_filter *f = epf_filter_find(&a->ref.name);
	struct epf_file *file;
	struct epf_table *t;
	int fd = -ENOMEM;

	if (IS_ERR(f))
		return PTR_ERR(f);
	file = kzalloc(sizeof(*file), GFP_KERNEL_ACCOUNT);
	if (!file)
		goto err_put;
	file->filter = f;
	mutex_init(&file->lock);
	t = epf_filter_table(f);
	if (t) {
		file->seen = (struct epf_seen){ t->serial, epf_load(&t->state.epoch),
						atomic64_read(&t->flips), epf_table_saturated(t) };
		epf_table_put(t);
	}
	fd = anon_inode_getfd("[epochfilter]", &filter_fops, file, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		goto err_free;
	return fd;

err_free:
	kfree(file);
err_put:
	epf_filter_put(f);
	return fd;
}

static int epf_dev_info(struct epf_file *file, struct epf_table *t, union epf_args *a)
{
	u64 flips = atomic64_read(&t->flips); /* read first: rather report a change twice */
	struct epf_filter *f = file->filter;
	struct epf_info *info = &a->info;
	u32 size = a->size;

	memset(info, 0, sizeof(*info));
	info->size = size;
	info->id = f->id;
	info->users = refcount_read(&f->refs) - 1; /* less the name's */
	epf_table_info(t, info);
	strscpy(info->params.name, f->name, sizeof(info->params.name));
	mutex_lock(&file->lock);
	file->seen = (struct epf_seen){ t->serial, info->epoch, flips,
					info->flags & EPF_INFO_SATURATED };
	mutex_unlock(&file->lock);
	return 0;
}

/* If the table is retired but its filter still has one, RESTORE or CLEAR replaced the table. The
 * command has taken effect before the replacement, which has removed every trace of it, so it
 * succeeds. Retrying on the new table would never end if another process restores without pause.
 */
static int epf_dev_replaced(const struct epf_filter *f, const struct epf_table *t, int err)
{
	if ((err == -ENODEV || err == -EAGAIN) && READ_ONCE(t->retired) &&
	    rcu_access_pointer(f->table))
		return 0;
	return err;
}

static int epf_dev_rotate(struct epf_file *file, struct epf_table *t, union epf_args *a)
{
	u32 count = a->rotate.count;
	int err;

	if (a->rotate.reserved || !count || count > EPF_EPOCHS)
		return -EINVAL;
	err = epf_dev_replaced(file->filter, t, t->ops->rotate(t, count));
	a->rotate.epoch = epf_load(&t->state.epoch);
	return err;
}

/* Replace @t by an empty table with the same parameters. */
static int epf_dev_clear_by_new(struct epf_filter *f, struct epf_table *t)
{
	struct epf_table *new = epf_table_new(&t->params, t->ops->shape ? t->ops->shape(t) : NULL,
					      t->hash.key);
	struct epf_stats stats = {};
	int err;

	if (IS_ERR(new))
		return PTR_ERR(new);
	epf_table_stats(t, &stats);
	new->base_inserts = stats.inserts;
	epf_table_describe(t, &new->desc);
	err = epf_filter_replace(f, new, t);
	if (err)
		epf_table_put(new);
	return err;
}

static int epf_dev_clear(struct epf_file *file, struct epf_table *t, union epf_args *none)
{
	u32 count = t->ops->turnover(t);

	return epf_dev_replaced(file->filter, t,
				count ? t->ops->rotate(t, count) :
					epf_dev_clear_by_new(file->filter, t));
}

static int epf_dev_key(struct epf_file *file, struct epf_table *t, union epf_args *a)
{
	memcpy(a->key.key, t->hash.key, sizeof(a->key.key));
	return 0;
}

static int epf_dev_describe(struct epf_file *file, struct epf_table *t, union epf_args *a)
{
	if (epf_key_desc_check(&a->describe.desc))
		return -EINVAL;
	epf_table_describe(t, &a->describe.desc);
	return 0;
}

static void epf_dev_undo_begin(struct epf_file *file, const union epf_args *a)
{
	epf_snap_cancel(file);
}

/* Begin a journal of the current table, which may be over when this returns. If the table was
 * replaced before the journal was attached, nobody else would stop the journal.
 */
static struct epf_journal *epf_dev_new_journal(struct epf_filter *f, u32 order, u32 shards)
{
	struct epf_table *t = epf_filter_table(f);
	struct epf_journal *j;

	if (!t)
		return ERR_PTR(-ENODEV);
	j = t->locked ? ERR_PTR(-EOPNOTSUPP) : epf_journal_begin(t, order, shards);
	if (!IS_ERR(j) && rcu_access_pointer(f->table) != t)
		epf_journal_stop(j);
	epf_table_put(t);
	return j;
}

static int epf_dev_begin_journal(struct epf_file *file, struct epf_journal_args *a)
{
	struct epf_journal *j = ERR_PTR(-EBUSY);

	mutex_lock(&file->lock);
	if (!file->journal)
		j = epf_dev_new_journal(file->filter, a->order, a->shards);
	if (!IS_ERR(j)) {
		file->journal = j;
		a->bytes = epf_journal_bytes(j);
		a->records = epf_journal_records_at(a->shards);
		a->serial = j->serial;
	}
	mutex_unlock(&file->lock);
	return PTR_ERR_OR_ZERO(j);
}

static int epf_dev_end_journal(struct epf_file *file)
{
	struct epf_journal *j;

	mutex_lock(&file->lock);
	j = file->journal;
	file->journal = NULL;
	mutex_unlock(&file->lock);
	if (!j)
		return -EINVAL;
	epf_journal_end(j);
	return 0;
}

/* Insertions are RCU read-side sections from before their first bit to after their record. */
static int epf_dev_sync_journal(struct epf_file *file)
{
	if (!READ_ONCE(file->journal))
		return -EINVAL;
	synchronize_rcu();
	return 0;
}

static int epf_dev_journal(struct epf_file *file, struct epf_table *none, union epf_args *args)
{
	struct epf_journal_args *a = &args->journal;

	if (a->bytes || a->records || a->serial)
		return -EINVAL;
	if (a->flags && (a->order || a->shards || a->flags == EPF_JOURNAL_MASK))
		return -EINVAL;
	if (a->flags)
		return a->flags & EPF_JOURNAL_END ? epf_dev_end_journal(file) :
						    epf_dev_sync_journal(file);
	if (!a->shards)
		a->shards = min_t(u32, roundup_pow_of_two(nr_cpu_ids), EPF_JOURNAL_SHARDS_MAX);
	if (!a->order || a->order > EPF_JOURNAL_ORDER_MAX || !is_power_of_2(a->shards) ||
	    a->shards > EPF_JOURNAL_SHARDS_MAX)
		return -EINVAL;
	return epf_dev_begin_journal(file, a);
}

static void epf_dev_undo_journal(struct epf_file *file, const union epf_args *a)
{
	if (!a->flags)
		epf_dev_end_journal(file);
}

#define ADMIN (1u << 0)   /* needs CAP_NET_ADMIN */
#define OUT (1u << 1)     /* the struct is written back on success */
#define PARTIAL (1u << 2) /* and on errors too: it says how far the command got */
#define CONTROL (1u << 3) /* on the control descriptor; all others on that of a filter */
#define TABLE (1u << 4)   /* gets the current table; called again if it returns -EAGAIN */

/* One command. */
struct cmd {
	epf_cmd_fn *fn; /* performs it */
	u16 size;       /* of its struct; 0: none */
	u16 first_size; /* when first published; a shorter struct is padded, down to this */
	u32 how;        /* ADMIN ... TABLE */
	u32 flags_in;   /* flags that it accepts */
	/* Reverts a success whose struct cannot be written back; NULL: the effect stays. */
	void (*undo)(struct epf_file *file, const union epf_args *a);
};

/* Flags that a struct may bring back because the last call has set them. */
#define INFO_FLAGS (EPF_INFO_SATURATED | EPF_INFO_PINNED | EPF_INFO_JOURNAL | EPF_INFO_ALIGNED)
#define BATCH_FLAGS (EPF_BATCH_MASK | EPF_BATCH_SATURATED)

/* clang-format off */
#define CMD(nr, _fn, _first, _how, _flags, ...) \
	[_IOC_NR(nr)] = { .fn = _fn, .size = _IOC_SIZE(nr), .first_size = _first, .how = _how, \
			  .flags_in = _flags, __VA_ARGS__ }

/* The first sizes are literal numbers because they never change. */
static const struct cmd cmds[] = {
	CMD(EPF_IOC_CREATE, epf_dev_create, 112, CONTROL | ADMIN | OUT, EPF_CREATE_MASK,
	    .undo = epf_dev_undo_create),
	CMD(EPF_IOC_DESTROY, epf_dev_destroy, 48, CONTROL | ADMIN, EPF_DESTROY_MASK),
	CMD(EPF_IOC_LIST, epf_dev_list, 24, CONTROL | OUT, 0),
	CMD(EPF_IOC_OPEN, epf_dev_open, 48, CONTROL, 0),
	CMD(EPF_IOC_SWAP, epf_dev_swap, 88, CONTROL | ADMIN, 0),
	CMD(EPF_IOC_INFO, epf_dev_info, 528, TABLE | OUT, INFO_FLAGS),
	CMD(EPF_IOC_TEST, epf_batch_test, 56, OUT | PARTIAL, BATCH_FLAGS),
	CMD(EPF_IOC_INSERT, epf_batch_insert, 56, ADMIN | OUT | PARTIAL, BATCH_FLAGS),
	CMD(EPF_IOC_TEST_AND_INSERT, epf_batch_test_and_insert, 56, ADMIN | OUT | PARTIAL,
	    BATCH_FLAGS),
	CMD(EPF_IOC_ROTATE, epf_dev_rotate, 24, TABLE | ADMIN | OUT, 0),
	CMD(EPF_IOC_CLEAR, epf_dev_clear, 0, TABLE | ADMIN, 0),
	CMD(EPF_IOC_KEY, epf_dev_key, 24, TABLE | ADMIN | OUT, 0),
	CMD(EPF_IOC_SNAP_BEGIN, epf_snap_begin, 304, TABLE | ADMIN | OUT, 0,
	    .undo = epf_dev_undo_begin),
	CMD(EPF_IOC_SNAP_END, epf_snap_end, 304, ADMIN | OUT, 0),
	CMD(EPF_IOC_RESTORE, epf_restore, 304, ADMIN, 0),
	CMD(EPF_IOC_JOURNAL, epf_dev_journal, 40, ADMIN | OUT, EPF_JOURNAL_MASK,
	    .undo = epf_dev_undo_journal),
	CMD(EPF_IOC_SNAP_READ, epf_snap_read, 32, ADMIN, EPF_SNAP_READ_MASK),
	CMD(EPF_IOC_DESCRIBE, epf_dev_describe, 16, TABLE | ADMIN | OUT, 0),
};
/* clang-format on */

/* The copy gets the size that was checked: other threads may change the original meanwhile. */
static int epf_dev_get_args(const struct cmd *cmd, union epf_args *args, void __user *user,
			    u32 *size)
{
	int err;

	if (get_user(*size, (u32 __user *)user))
		return -EFAULT;
	if (*size < cmd->first_size)
		return -EINVAL;
	if (*size > PAGE_SIZE)
		return -E2BIG;
	err = copy_struct_from_user(args, cmd->size, user, *size);
	if (err)
		return err;
	args->size = *size;
	return args->flags & ~cmd->flags_in ? -EINVAL : 0;
}

/* Callers without the capability take turns at the lock of a locked kind, which packets wait for; a
 * batch has a turn for each of its groups (batch.c).
 */
static int epf_dev_call_table(const struct cmd *cmd, struct epf_file *file, union epf_args *args,
			      struct epf_table *t)
{
	bool turn = t->locked && !(cmd->how & ADMIN);
	int ret;

	if (turn)
		mutex_lock(&file->filter->turn);
	ret = cmd->fn(file, t, args);
	if (turn)
		mutex_unlock(&file->filter->turn);
	return ret;
}

static int epf_dev_call(const struct cmd *cmd, struct epf_file *file, union epf_args *args)
{
	struct epf_table *t;
	int ret;

	if (!(cmd->how & TABLE))
		return cmd->fn(file, NULL, args);
	do {
		t = epf_filter_table(file->filter);
		if (!t)
			return -ENODEV;
		ret = epf_dev_call_table(cmd, file, args, t);
		epf_table_put(t);
	} while (ret == -EAGAIN);
	return ret;
}

/* The caller wipes @args, whatever the result. */
static int epf_dev_run_args(const struct cmd *cmd, struct epf_file *file, union epf_args *args,
			    void __user *user)
{
	u32 size;
	int ret = epf_dev_get_args(cmd, args, user, &size);

	if (ret)
		return ret;
	ret = epf_dev_call(cmd, file, args);
	if ((cmd->how & (ret < 0 ? PARTIAL : OUT)) &&
	    copy_to_user(user, args, min_t(u32, size, cmd->size))) {
		if (ret >= 0 && cmd->undo)
			cmd->undo(file, args);
		ret = -EFAULT;
	}
	return ret;
}

static long epf_dev_run(const struct cmd *cmd, struct epf_file *file, void __user *user)
{
	union epf_args args;
	int ret;

	if ((cmd->how & ADMIN) && !capable(CAP_NET_ADMIN))
		return -EPERM;
	if (!cmd->size)
		return epf_dev_call(cmd, file, NULL);
	ret = epf_dev_run_args(cmd, file, &args, user);
	memzero_explicit(&args, sizeof(args)); /* hash keys */
	return ret;
}

static const struct cmd *epf_dev_find_cmd(unsigned int nr, bool control)
{
	size_t i = _IOC_NR(nr);

	if (_IOC_TYPE(nr) != EPF_IOC_MAGIC || i >= ARRAY_SIZE(cmds))
		return NULL;
	i = array_index_nospec(i, ARRAY_SIZE(cmds));
	return cmds[i].fn && control == !!(cmds[i].how & CONTROL) ? &cmds[i] : NULL;
}

static long epf_dev_ioctl(struct file *filp, unsigned int nr, unsigned long arg)
{
	struct epf_file *file = filp->f_op == &filter_fops ? filp->private_data : NULL;
	const struct cmd *cmd = epf_dev_find_cmd(nr, !file);

	return cmd ? epf_dev_run(cmd, file, (void __user *)arg) : -ENOTTY;
}

static __poll_t epf_dev_news(const struct epf_file *file, const struct epf_table *t)
{
	const struct epf_seen *seen = &file->seen;
	bool same = t->serial == seen->serial;
	__poll_t mask = 0;

	lockdep_assert_held(&file->lock);
	if (!same || epf_load(&t->state.epoch) != seen->epoch)
		mask |= EPOLLIN | EPOLLRDNORM;
	if (same ? atomic64_read(&t->flips) != seen->flips :
		   epf_table_saturated(t) != seen->saturated)
		mask |= EPOLLPRI;
	return mask;
}

static __poll_t epf_dev_poll(struct file *filp, poll_table *wait)
{
	struct epf_file *file = filp->private_data;
	__poll_t mask = EPOLLHUP;
	struct epf_table *t;

	poll_wait(filp, &file->filter->wait, wait);
	mutex_lock(&file->lock);
	rcu_read_lock();
	t = rcu_dereference(file->filter->table);
	if (t)
		mask = epf_dev_news(file, t);
	rcu_read_unlock();
	mutex_unlock(&file->lock);
	return mask;
}

static int epf_dev_release(struct inode *inode, struct file *filp)
{
	struct epf_file *file = filp->private_data;

	epf_snap_cancel(file);
	epf_dev_end_journal(file);
	epf_filter_put(file->filter);
	kfree(file);
	return 0;
}

static const struct file_operations filter_fops = {
	.owner = THIS_MODULE,
	.release = epf_dev_release,
	.unlocked_ioctl = epf_dev_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = epf_mmap,
	.poll = epf_dev_poll,
	.llseek = noop_llseek,
};

static const struct file_operations control_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = epf_dev_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.llseek = noop_llseek,
};

struct miscdevice epf_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "epochfilter",
	.fops = &control_fops,
	.mode = 0600,
};
