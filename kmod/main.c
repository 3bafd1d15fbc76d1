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
MODULE_PARM_DESC(max_filters, "maximum number of filters");

static unsigned int max_filter_mib;
module_param(max_filter_mib, uint, 0644);
MODULE_PARM_DESC(max_filter_mib,
		 "maximum size of one filter in MiB (0: half of the RAM)");

static unsigned int max_total_mib;
module_param(max_total_mib, uint, 0644);
MODULE_PARM_DESC(max_total_mib,
		 "maximum size of all filters together in MiB (0: half of the RAM)");

static u64 limit_bytes(unsigned int mib)
{
	return mib ? (u64)mib << 20 : (u64)totalram_pages() << PAGE_SHIFT >> 1;
}

static bool selftest;
module_param(selftest, bool, 0444);
MODULE_PARM_DESC(selftest, "run the self-test at load time; refuse to load if it fails");

/* Maximum size of one filter in bytes. It may change at any time. */
u64 epf_max_filter_bytes(void)
{
	return limit_bytes(READ_ONCE(max_filter_mib));
}

/* Maximum size of all filters together in bytes. It may change at any time. */
u64 epf_max_total_bytes(void)
{
	return limit_bytes(READ_ONCE(max_total_mib));
}

/* RCU callbacks of tables that are being freed queue work on epf_wq, so they
 * must run before the workqueue is destroyed.
 */
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

/* Every descriptor, mapping and BPF program pins the module, so the filters
 * that are left have no users.
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
