// SPDX-License-Identifier: GPL-2.0
/* Loading and unloading. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "filter.h"

#include <linux/miscdevice.h>
#include <linux/module.h>

static bool selftest;
module_param(selftest, bool, 0444);
MODULE_PARM_DESC(selftest, "run the self-test at load time; refuse to load if it fails");

/* RCU callbacks of tables that are being freed queue work on epf_wq, so they run before its end. */
static void epf_main_free_workqueue(void)
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
	err = misc_register(&epf_device);
	if (err) {
		pr_err("cannot register the device: error %d\n", err);
		goto err_wq;
	}
	return 0;

err_wq:
	epf_main_free_workqueue();
	return err;
}

static void __exit epf_exit(void)
{
	misc_deregister(&epf_device); /* nobody has it open: that would pin the module */
	epf_filter_destroy_all();
	epf_main_free_workqueue();
}

module_init(epf_init);
module_exit(epf_exit);
MODULE_LICENSE("GPL");
MODULE_VERSION(EPF_VERSION);
MODULE_AUTHOR("The epochfilter authors");
MODULE_DESCRIPTION("Sliding-window membership filters for BPF programs");
