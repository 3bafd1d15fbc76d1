// SPDX-License-Identifier: GPL-2.0
/*
 * Loading and unloading.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "filter.h"

#include <linux/mm.h>
#include <linux/module.h>
#include <linux/rcupdate.h>

unsigned int epf_max_filters = 1024;
module_param_named(max_filters, epf_max_filters, uint, 0644);
MODULE_PARM_DESC(max_filters, "number of filters at most");

static unsigned int max_filter_mib;
module_param(max_filter_mib, uint, 0644);
MODULE_PARM_DESC(max_filter_mib,
		 "MiB of one filter at most; 0: half of the memory");

static unsigned int max_total_mib;
module_param(max_total_mib, uint, 0644);
MODULE_PARM_DESC(max_total_mib,
		 "MiB of all filters at most; 0: half of the memory");

static u64 limit_bytes(unsigned int mib)
{
	return mib ? (u64)mib << 20 : (u64)totalram_pages() << PAGE_SHIFT >> 1;
}

static bool selftest;
module_param(selftest, bool, 0444);
MODULE_PARM_DESC(selftest, "test the module before it is used; load it only if it passes");

/* Bytes of one filter at most; may change at any time. */
u64 epf_max_filter_bytes(void)
{
	return limit_bytes(READ_ONCE(max_filter_mib));
}

/* Bytes of all filters at most; may change at any time. */
u64 epf_max_total_bytes(void)
{
	return limit_bytes(READ_ONCE(max_total_mib));
}

/* Tables on their way to be freed queue the work that is waited for. */
static void free_workqueue(void)
{
	rcu_barrier();
	destroy_workqueue(epf_wq);
}

static int __init epf_init(void)
{
	int err;

	epf_wq = alloc_workqueue("epochfilter", WQ_UNBOUND, 0);
	if (!epf_wq)
		return -ENOMEM;
	err = selftest ? epf_selftest() : 0;
	if (err)
		goto err_wq;
	err = epf_kfunc_init();
	if (err) {
		pr_err("cannot register BPF functions: error %d\n", err);
		goto err_wq;
	}
	err = epf_dev_init();
	if (err) {
		pr_err("cannot register the device: error %d\n", err);
		goto err_wq;
	}
	return 0;

err_wq:
	free_workqueue();
	return err;
}

/* Whoever has a descriptor, a mapping or a BPF program keeps the module
 * loaded, so only filters that nobody holds are left.
 */
static void __exit epf_exit(void)
{
	epf_dev_exit();
	epf_filter_destroy_all();
	free_workqueue();
}

module_init(epf_init);
module_exit(epf_exit);
MODULE_LICENSE("GPL");
MODULE_AUTHOR("The epochfilter authors");
MODULE_DESCRIPTION("Sliding-window membership filters for BPF programs");
