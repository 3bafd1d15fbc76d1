// SPDX-License-Identifier: GPL-2.0
/*
 * Which kinds there are: lanes, and those of epochfilter_kinds.ko, which is loaded when the first
 * filter of another kind is created or restored.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "kind.h"
#include "compat.h"

#include <linux/kmod.h>
#include <linux/module.h>
#include <linux/mutex.h>

static DEFINE_MUTEX(others_lock);
/* Written under @others_lock, and dereferenced under it only. Read without it as a hint: is the
 * module loaded? Nothing is ordered by it.
 */
static epf_kinds_fn *others;

static const struct epf_table_ops *epf_kind_find_ops(u8 kind)
{
	const struct epf_table_ops *ops;

	if (kind == EPF_KIND_LANES)
		return &epf_lanes_ops;
	mutex_lock(&others_lock);
	ops = others ? others(kind) : NULL;
	if (ops && !try_module_get(ops->owner)) /* it is being unloaded */
		ops = NULL;
	mutex_unlock(&others_lock);
	return ops;
}

/**
 * epf_kind_get() - get the operations of any kind
 * @kind: EPF_KIND_*, unchecked
 *
 * Takes a reference to their module. Whoever may create or restore a filter has CAP_NET_ADMIN in
 * the initial namespace (dev.c); the name is fixed, so such a caller can load this module and no
 * other.
 *
 * Context: sleeps; without locks that loading a module may need, such as @others_lock.
 * Return: the operations, or an error pointer: -EOPNOTSUPP: unknown kind, or its module cannot be
 * loaded.
 */
const struct epf_table_ops *epf_kind_get(u8 kind)
{
	const struct epf_table_ops *ops = epf_kind_find_ops(kind);

	if (!ops && !READ_ONCE(others)) { /* otherwise it has no such kind */
		request_module("epochfilter-kinds");
		ops = epf_kind_find_ops(kind);
		if (!READ_ONCE(others))
			pr_notice_ratelimited(
				"kind %u needs the module epochfilter_kinds, which could not be loaded: try 'modprobe epochfilter_kinds'\n",
				kind);
	}
	return ops ?: ERR_PTR(-EOPNOTSUPP);
}

/**
 * epf_params_check() - check whether the parameters are in range
 * @params: unchecked; the name is not looked at
 *
 * Context: as epf_kind_get().
 * Return: 0; -EINVAL: out of range; -EOPNOTSUPP: unknown kind, or its module cannot be loaded.
 */
int epf_params_check(const struct epf_params *params)
{
	const struct epf_table_ops *ops = epf_kind_get(params->kind);
	int err;

	if (IS_ERR(ops))
		return PTR_ERR(ops);
	err = ops->check(params);
	epf_kind_put(ops);
	return err;
}

/**
 * epf_kinds_fit() - do another module and this one have the same headers?
 * @built: sizes with which the other one was built
 *
 * Context: any.
 * Return: 0 or -ENOEXEC.
 */
int epf_kinds_fit(const struct epf_sizes *built)
{
	const struct epf_sizes ours = { EPF_SIZES };

	if (!memcmp(built, &ours, sizeof(ours)))
		return 0;
	pr_err("a module was built from another version: install all modules of one version, then reload them\n");
	return -ENOEXEC;
}
EPF_EXPORT(epf_kinds_fit);

/**
 * epf_kinds_set() - add the locked kinds, or remove them
 * @ops: their operations, of a module that fits this one; NULL: remove
 *
 * Context: loading of their module; or its unloading, so no table has one of its kinds: each would
 * have a reference to it.
 * Return: 0; -EEXIST: they are there.
 */
int epf_kinds_set(epf_kinds_fn *ops)
{
	int err = 0;

	mutex_lock(&others_lock);
	if (ops && others)
		err = -EEXIST;
	else
		WRITE_ONCE(others, ops);
	mutex_unlock(&others_lock);
	return err;
}
EPF_EXPORT(epf_kinds_set);
