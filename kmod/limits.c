// SPDX-License-Identifier: GPL-2.0
/*
 * Limits on the number and memory of filters: module parameters, which may change at
 * any time.
 */
#include "limits.h"

#include <linux/mm.h>
#include <linux/module.h>

static unsigned int max_filters = 1024;
module_param(max_filters, uint, 0644);
MODULE_PARM_DESC(max_filters, "maximum number of filters");

static unsigned int max_filter_mib;
module_param(max_filter_mib, uint, 0644);
MODULE_PARM_DESC(max_filter_mib, "maximum size of one filter in MiB (0: half of the RAM)");

static unsigned int max_total_mib;
module_param(max_total_mib, uint, 0644);
MODULE_PARM_DESC(max_total_mib, "maximum size of all filters together in MiB (0: half of the RAM)");

static u64 epf_limits_bytes(unsigned int mib)
{
	return mib ? (u64)mib << 20 : (u64)totalram_pages() << PAGE_SHIFT >> 1;
}

/* Maximum number of filters. */
u32 epf_max_filters(void)
{
	return READ_ONCE(max_filters);
}

/* Maximum size of one filter in bytes. */
u64 epf_max_filter_bytes(void)
{
	return epf_limits_bytes(READ_ONCE(max_filter_mib));
}

/* Maximum size of all filters together in bytes. */
u64 epf_max_total_bytes(void)
{
	return epf_limits_bytes(READ_ONCE(max_total_mib));
}
