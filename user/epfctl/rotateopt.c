// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* --rotate: who ends the epochs of a filter that is pure BPF. */
#include <string.h>

#include "cmd.h"
#include "ebpf/ebpf.h"

bool parse_rotate(const char *text, enum rotate *who)
{
	*who = !strcmp(text, "kernel") ? ROTATE_KERNEL : ROTATE_PROCESS;
	if (*who == ROTATE_KERNEL || !strcmp(text, "process"))
		return true;
	fail("--rotate is 'kernel' or 'process', not '%s'", text);
	return false;
}

enum rotate rotate_default(enum rotate asked, bool module, bool align)
{
	if (asked != ROTATE_ANY)
		return asked;
	return module || align || ebpf_timer_possible() ? ROTATE_PROCESS : ROTATE_KERNEL;
}

int rotate_create(int dev, const struct epf_params *params, struct epf_create_opts *opts,
		  enum rotate *who, __u32 *id)
{
	bool open = *who == ROTATE_ANY;
	int err;

	*who = rotate_default(*who, epf_is_module(dev), opts->flags & EPF_CREATE_ALIGN);
	if (*who != ROTATE_KERNEL)
		return epf_dev_create_opts(dev, params, opts, id);
	opts->flags |= EPF_BPF_CREATE_TIMER;
	err = epf_dev_create_opts(dev, params, opts, id);
	if (!open || !err || err == -EEXIST)
		return err;
	*who = ROTATE_PROCESS;
	opts->flags &= ~EPF_BPF_CREATE_TIMER;
	return epf_dev_create_opts(dev, params, opts, id);
}

bool rotate_possible(enum rotate who, bool module)
{
	if (who != ROTATE_KERNEL)
		return true;
	if (module)
		fail("--rotate kernel is for --backend bpf: the module ends epochs "
		     "itself");
	else if (ebpf_timer_possible())
		fail("this kernel is PREEMPT_RT, where BPF timers may sleep under a "
		     "lock: use --rotate process");
	else
		return true;
	return false;
}
