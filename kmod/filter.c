// SPDX-License-Identifier: GPL-2.0
/*
 * The registry: which filters exist, and which table each contains.
 *
 * The registry lock covers names, ids and every change of filter.table. It is held for short steps
 * only: tables are allocated before it is taken and retired after it is released, and nobody waits
 * for a grace period with it. Packet paths look up filters by id under RCU, and everybody gets the
 * table of a filter under RCU. Swap and restore exclude each other by the @replacing locks of their
 * filters, which are taken before the registry lock and held over the grace period; two of them in
 * the order of ids.
 *
 * A name is one reference. A filter is destroyed when only the name's reference is left (the count
 * goes from one to zero in one step, so nobody can get a new reference in between) or by force.
 * Then every operation returns -ENODEV at once, and the last holder frees the rest.
 */
#include "filter.h"
#include "compat.h"
#include "journal.h"
#include "kind.h"

#include <epf/params.h>

#define CREATE_TRACE_POINTS
#include "trace.h"

#include <linux/poll.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/xarray.h>

static DEFINE_XARRAY_FLAGS(filters, XA_FLAGS_ALLOC1);
static DEFINE_MUTEX(registry);
static u32 next_id;    /* @registry */
static u32 nr_filters; /* within epf_max_filters; @registry */

static struct epf_filter *epf_filter_find_name(const char *name)
{
	struct epf_filter *f;
	unsigned long id;

	lockdep_assert_held(&registry);
	xa_for_each(&filters, id, f)
		if (!strcmp(f->name, name))
			return f;
	return NULL;
}

/* Return: an error pointer: -EINVAL, -ENOENT. */
static struct epf_filter *epf_filter_find_locked(const struct epf_name *name)
{
	struct epf_filter *f;

	lockdep_assert_held(&registry);
	if (name->reserved || (!name->id && !epf_name_valid(name->name)))
		return ERR_PTR(-EINVAL);
	f = name->id ? xa_load(&filters, name->id) : epf_filter_find_name(name->name);
	return f ?: ERR_PTR(-ENOENT);
}

static struct epf_table *epf_filter_table_locked(struct epf_filter *f)
{
	return rcu_dereference_protected(f->table, lockdep_is_held(&registry));
}

/**
 * epf_filter_find() - look up a filter by name or id
 * @name: as the caller gave it, unchecked
 *
 * Context: process; sleeps.
 * Return: a reference, or an error pointer: -EINVAL: no valid name; -ENOENT: no such filter.
 */
struct epf_filter *epf_filter_find(const struct epf_name *name)
{
	struct epf_filter *f;

	mutex_lock(&registry);
	f = epf_filter_find_locked(name);
	if (!IS_ERR(f))
		refcount_inc(&f->refs); /* a registered filter has at least one */
	mutex_unlock(&registry);
	return f;
}
EPF_EXPORT(epf_filter_find);

/**
 * epf_filter_get_id() - look up a filter by id
 * @id: 1 and up
 *
 * Context: any; never waits.
 * Return: a reference, or NULL: no such filter.
 */
struct epf_filter *epf_filter_get_id(u32 id)
{
	struct epf_filter *f;

	rcu_read_lock();
	f = xa_load(&filters, id);
	if (f && !refcount_inc_not_zero(&f->refs))
		f = NULL;
	rcu_read_unlock();
	return f;
}

/**
 * epf_filter_put() - drop a reference
 * @f: filter
 *
 * The last reference is dropped here only after a forced destruction.
 *
 * Context: any; never waits.
 */
void epf_filter_put(struct epf_filter *f)
{
	if (refcount_dec_and_test(&f->refs))
		kfree_rcu(f, rcu);
}
EPF_EXPORT(epf_filter_put);

/**
 * epf_filter_table() - get the table of a filter
 * @f: filter, by reference
 *
 * A published table has a reference. One that has none left was replaced since it was read.
 *
 * Context: any; never waits.
 * Return: a reference; NULL if the filter was destroyed.
 */
struct epf_table *epf_filter_table(struct epf_filter *f)
{
	struct epf_table *t;

	rcu_read_lock();
	do {
		t = rcu_dereference(f->table);
	} while (t && !refcount_inc_not_zero(&t->refs));
	rcu_read_unlock();
	return t;
}
EPF_EXPORT(epf_filter_table);

static struct epf_filter *epf_filter_new(const struct epf_create *args)
{
	struct epf_filter *f = kzalloc(sizeof(*f), GFP_KERNEL_ACCOUNT);
	struct epf_table *t;
	u64 key[2];

	if (!f)
		return ERR_PTR(-ENOMEM);
	memcpy(key, args->key, sizeof(key));
	if (!(args->flags & EPF_CREATE_KEY))
		get_random_bytes(key, sizeof(key));
	t = epf_table_new(&args->params, &args->shape, key);
	memzero_explicit(key, sizeof(key));
	if (IS_ERR(t)) {
		kfree(f);
		return ERR_CAST(t);
	}
	if (args->flags & EPF_CREATE_ALIGN)
		epf_window_align(&t->window);
	refcount_set(&f->refs, 1);
	mutex_init(&f->replacing);
	mutex_init(&f->turn);
	init_waitqueue_head(&f->wait);
	strscpy(f->name, args->params.name, sizeof(f->name));
	RCU_INIT_POINTER(f->table, t);
	return f;
}

/* Give @f its id and name. Lookups can find it from here on. */
static int epf_filter_publish(struct epf_filter *f)
{
	struct epf_table *t;
	int err;

	mutex_lock(&registry);
	err = epf_filter_find_name(f->name) ? -EEXIST : 0;
	if (!err)
		err = xa_alloc_cyclic(&filters, &f->id, NULL, XA_LIMIT(1, INT_MAX), &next_id,
				      GFP_KERNEL);
	if (err >= 0) {
		t = epf_filter_table_locked(f);
		epf_table_start(t, f, f->id);
		trace_epf_create(f->id, t->params.kind, t->params.nr_lines,
				 atomic64_read(&t->bytes));
		xa_store(&filters, f->id, f, GFP_KERNEL);
		err = 0;
	}
	mutex_unlock(&registry);
	return err;
}

static int epf_filter_create_args_check(const struct epf_create *args)
{
	if (args->reserved || !epf_name_valid(args->params.name))
		return -EINVAL;
	if (!(args->flags & EPF_CREATE_KEY) && (args->key[0] || args->key[1]))
		return -EINVAL;
	if ((args->flags & EPF_CREATE_ALIGN) &&
	    (args->params.kind != EPF_KIND_LANES || args->params.mode != EPF_MODE_TIME))
		return -EINVAL;
	if (args->params.kind == EPF_KIND_LANES && memchr_inv(&args->shape, 0, sizeof(args->shape)))
		return -EINVAL;
	return epf_params_check(&args->params);
}

/* Take a place for a filter called @name, which epf_filter_publish() checks again. */
static int epf_filter_reserve(const char *name)
{
	int err = 0;

	mutex_lock(&registry);
	if (epf_filter_find_name(name))
		err = -EEXIST;
	else if (nr_filters >= READ_ONCE(epf_max_filters))
		err = -ENOSPC;
	else
		nr_filters++;
	mutex_unlock(&registry);
	return err;
}

/**
 * epf_filter_create() - EPF_IOC_CREATE
 * @args: unchecked
 * @id: set to the number of the new filter
 *
 * Context: as epf_table_new().
 * Return: 0; -EINVAL: parameters; -EEXIST: the name; -ENOSPC: too many filters; or as
 * epf_table_new().
 */
int epf_filter_create(const struct epf_create *args, u32 *id)
{
	int err = epf_filter_create_args_check(args) ?: epf_filter_reserve(args->params.name);
	struct epf_filter *f;

	if (err)
		return err;
	f = epf_filter_new(args);
	err = PTR_ERR_OR_ZERO(f);
	if (err)
		goto err_unreserve;
	err = epf_filter_publish(f);
	if (err)
		goto err_free;
	*id = f->id;
	return 0;

err_free:
	epf_table_put(rcu_dereference_protected(f->table, true));
	kfree(f);
err_unreserve:
	mutex_lock(&registry);
	nr_filters--;
	mutex_unlock(&registry);
	return err;
}

/* After this @f cannot be found and has no table. */
static struct epf_table *epf_filter_unpublish(struct epf_filter *f)
{
	struct epf_table *t = epf_filter_table_locked(f);

	lockdep_assert_held(&registry);
	xa_erase(&filters, f->id);
	RCU_INIT_POINTER(f->table, NULL);
	nr_filters--;
	return t;
}

/* Finish what epf_filter_unpublish() began, without @registry. @held: others have references. */
static void epf_filter_dispose(struct epf_filter *f, struct epf_table *t, bool held)
{
	trace_epf_destroy(f->id, held);
	epf_table_retire(t);
	wake_up_poll(&f->wait, EPOLLHUP | EPOLLIN | EPOLLPRI);
	if (held)
		epf_filter_put(f);
	else
		kfree_rcu(f, rcu);
}

/**
 * epf_filter_destroy() - EPF_IOC_DESTROY
 * @name: name or id, unchecked
 * @force: even if others hold references
 *
 * Context: process; sleeps.
 * Return: 0; -EINVAL: no valid name; -ENOENT: no such filter; -EBUSY: others hold references.
 */
int epf_filter_destroy(const struct epf_name *name, bool force)
{
	struct epf_table *t = NULL;
	struct epf_filter *f;
	bool held = false;
	int err;

	mutex_lock(&registry);
	f = epf_filter_find_locked(name);
	err = PTR_ERR_OR_ZERO(f);
	if (!err) {
		held = !refcount_dec_if_one(&f->refs);
		if (held && !force)
			err = -EBUSY;
		else
			t = epf_filter_unpublish(f);
	}
	mutex_unlock(&registry);
	if (!err)
		epf_filter_dispose(f, t, held);
	return err;
}

/**
 * epf_filter_destroy_all() - destroy all filters at unload. Nobody else runs code of the module:
 * descriptors, mappings and BPF programs all pin it. Context: process; sleeps.
 */
void epf_filter_destroy_all(void)
{
	struct epf_filter *f;
	struct epf_table *t;
	unsigned long id;

	xa_for_each(&filters, id, f) {
		mutex_lock(&registry);
		WARN_ON_ONCE(!refcount_dec_if_one(&f->refs));
		t = epf_filter_unpublish(f);
		mutex_unlock(&registry);
		epf_filter_dispose(f, t, false);
	}
	xa_destroy(&filters);
}

/**
 * epf_filter_list() - list the ids of all filters
 * @ids: set to them, at most @room
 * @room: number of ids that @ids has place for
 *
 * Context: process; sleeps.
 * Return: their number, which may exceed @room.
 */
u32 epf_filter_list(u32 *ids, u32 room)
{
	struct epf_filter *f;
	unsigned long id;
	u32 nr = 0;

	mutex_lock(&registry);
	xa_for_each(&filters, id, f) {
		if (nr < room)
			ids[nr] = id;
		nr++;
	}
	mutex_unlock(&registry);
	return nr;
}

/* Make @t the table of @f in place of @old.
 *
 * The journal of @old ends before @t becomes visible. A reader that looks in that journal for an
 * insertion into @t must see that. The table lock keeps a new journal of @old from beginning in
 * between. Case swap-late of selftests/explore.
 */
static void epf_filter_install(struct epf_filter *f, struct epf_table *t, struct epf_table *old)
{
	unsigned long flags;

	lockdep_assert_held(&f->replacing);
	lockdep_assert_held(&registry);
	epf_table_lock(old, &flags);
	epf_journal_over_locked(old);
	WRITE_ONCE(t->owner_id, f->id);
	WRITE_ONCE(t->began_ns, EPF_BEGAN_NEVER); /* until epf_filter_begun() */
	rcu_assign_pointer(t->owner, f);
	rcu_assign_pointer(f->table, t);
	epf_table_unlock(old, flags);
	wake_up_interruptible_poll(&f->wait, EPOLLIN | EPOLLPRI);
}

/* No operation is left that began in the table which @t, by reference, has replaced: from now on
 * all insertions into the filter go to @t. The caller's @replacing keeps @t from being replaced
 * meanwhile; if the filter was destroyed instead, nobody asks.
 */
static void epf_filter_begun(struct epf_table *t)
{
	WRITE_ONCE(t->began_ns, ktime_get_ns());
	epf_table_put(t);
}

/* Exchange the tables of two filters, whose @replacing locks the caller holds. */
static int epf_filter_exchange(struct epf_filter *a, struct epf_filter *b)
{
	struct epf_table *t, *u;

	mutex_lock(&registry);
	t = epf_filter_table_locked(a);
	u = epf_filter_table_locked(b);
	if (t && u) {
		epf_table_get(t);
		epf_table_get(u);
		epf_filter_install(a, u, t);
		epf_filter_install(b, t, u);
	}
	mutex_unlock(&registry);
	if (!t || !u)
		return -ENOENT;
	synchronize_rcu();
	epf_filter_begun(t);
	epf_filter_begun(u);
	return 0;
}

static int epf_filter_swap_two(struct epf_filter *a, struct epf_filter *b)
{
	int err;

	if (a == b)
		return -EINVAL;
	if (a->id > b->id)
		swap(a, b);
	mutex_lock(&a->replacing);
	mutex_lock_nested(&b->replacing, SINGLE_DEPTH_NESTING);
	err = epf_filter_exchange(a, b);
	mutex_unlock(&b->replacing);
	mutex_unlock(&a->replacing);
	return err;
}

/**
 * epf_filter_swap() - EPF_IOC_SWAP
 * @args: two names, unchecked
 *
 * Operations under way finish in the table in which they began.
 *
 * Context: process; sleeps.
 * Return: 0; -EINVAL: no valid name, or a filter with itself; -ENOENT: no such filter.
 */
int epf_filter_swap(const struct epf_swap *args)
{
	struct epf_filter *a = epf_filter_find(&args->a);
	struct epf_filter *b = epf_filter_find(&args->b);
	int err = PTR_ERR_OR_ZERO(a) ?: PTR_ERR_OR_ZERO(b);

	if (!err)
		err = epf_filter_swap_two(a, b);
	if (!IS_ERR(a))
		epf_filter_put(a);
	if (!IS_ERR(b))
		epf_filter_put(b);
	return err;
}

/* Publish @t in @f, whose @replacing lock the caller holds. Return: the table before, whose
 * publication ends; or as epf_filter_replace().
 */
static struct epf_table *epf_filter_publish_instead(struct epf_filter *f, struct epf_table *t,
						    const struct epf_table *instead)
{
	struct epf_table *old;

	mutex_lock(&registry);
	old = epf_filter_table_locked(f);
	if (!old || (instead && old != instead)) {
		old = ERR_PTR(old ? -EAGAIN : -ENODEV);
	} else {
		if (old->window.align_ns && !t->locked)
			epf_window_align(&t->window); /* mode time only */
		epf_table_get(t);
		epf_table_start(t, f, f->id);
		epf_filter_install(f, t, old);
	}
	mutex_unlock(&registry);
	return old;
}

/**
 * epf_filter_replace() - give a filter another table
 * @f: filter, by reference
 * @t: new table, whose reference passes to @f on success
 * @instead: the table to replace; NULL: whichever table @f has
 *
 * If the epochs of the old table are aligned to the wall clock, those of the new one become aligned
 * too, provided that its kind and mode allow it.
 *
 * Context: process; sleeps.
 * Return: 0; -ENODEV: @f was destroyed; -EAGAIN: the table of @f is not @instead.
 */
int epf_filter_replace(struct epf_filter *f, struct epf_table *t, const struct epf_table *instead)
{
	struct epf_table *old;

	mutex_lock(&f->replacing);
	old = epf_filter_publish_instead(f, t, instead);
	if (!IS_ERR(old)) {
		synchronize_rcu();
		epf_filter_begun(t);
	}
	mutex_unlock(&f->replacing);
	if (IS_ERR(old))
		return PTR_ERR(old);
	epf_table_retire(old);
	return 0;
}
