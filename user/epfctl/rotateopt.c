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
