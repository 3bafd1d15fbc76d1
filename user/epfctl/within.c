// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* --within: how long ago a key may have been inserted, in epochs of its filter. */
#include "cmd.h"

#include <string.h>

#define LANES_EPOCHS (EPF_EPOCHS - 1) /* epochs in a window (window.h) */

/* Does each epoch of the filter, except the first, have a minimum length? */
static bool has_clock(const struct epf_params *params)
{
	return params->kind == EPF_KIND_LANES &&
	       (params->mode == EPF_MODE_TIME || params->mode == EPF_MODE_BOTH);
}

/* The number of epochs that hold everything younger than @ns. No epoch of a filter but
 * its first is shorter than ceil(T/r) (window.h), so no more can have begun since.
 */
static bool within_epochs_of(const char *arg, const struct epf_params *params, __u64 *epochs,
			     __u64 *ns)
{
	__u64 epoch_ns;

	if (!parse_ns("--within", arg, ns))
		return false;
	if (!has_clock(params))
		fail("--within %s: epochs of '%s' may end earlier, by insertions: give a "
		     "number of epochs",
		     arg, params->name);
	else if (*ns > params->window_ns)
		fail("--within %s: '%s' remembers only %s", arg, params->name,
		     fmt_ns(params->window_ns).s);
	else {
		epoch_ns = (params->window_ns + LANES_EPOCHS - 1) / LANES_EPOCHS;
		*epochs = (*ns + epoch_ns - 1) / epoch_ns;
		return true;
	}
	return false;
}

bool parse_within(const char *arg, const struct epf_params *params, __u32 *within, __u64 *ns)
{
	__u64 max = params->kind == EPF_KIND_LANES ? LANES_EPOCHS : EPF_AGE_UNKNOWN - 1;
	__u64 epochs;

	*ns = 0;
	if (!*arg || arg[strspn(arg, "0123456789")]) {
		if (!within_epochs_of(arg, params, &epochs, ns))
			return false;
	} else if (!parse_count("--within", arg, max, &epochs)) {
		return false;
	}
	*within = (__u32)epochs + 1;
	return true;
}

struct text within_text(__u32 within, __u64 ns)
{
	static const struct {
		const char *unit;
		__u64 ns;
	} units[] = { { "s", NS_PER_SEC }, { "ms", 1000000 }, { "us", 1000 }, { "ns", 1 } };
	struct text t;
	size_t i = 0;

	while (ns % units[i].ns)
		i++;
	if (ns)
		snprintf(t.s, sizeof(t.s), "%llu%s", ns / units[i].ns, units[i].unit);
	else
		snprintf(t.s, sizeof(t.s), "%u", within - 1);
	return t;
}
