// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What pure BPF filters need, who holds each of them, and where they are attached. */
#include "doctor.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "ebpf/calls.h"

#define LEN DOCTOR_LEN

static void doctor_bpf_put(char *to, const char *text)
{
	snprintf(to, LEN, "%s", text);
}

/* Append; text without room is left out. */
static void doctor_bpf_add(char *to, const char *fmt, ...)
{
	size_t len = strlen(to);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(to + len, LEN - len, fmt, ap);
	va_end(ap);
}

bool ask_bpf_built(const struct machine *m, char *state, char *remedy)
{
	(void)m;
	doctor_bpf_put(state, ebpf_backend_add ? "in this epfctl" : "not in this epfctl");
	doctor_bpf_put(remedy, "install libbpf-dev and clang, and rebuild epfctl");
	return ebpf_backend_add;
}

bool ask_bpf_jit(const struct machine *m, char *state, char *remedy)
{
	const char *path = "/proc/sys/net/core/bpf_jit_enable";
	char line[16];
	bool hidden = !doctor_file("%s", path); /* only the first network namespace has it */
	bool on = hidden || doctor_line(path, "1", line, sizeof(line)) ||
		  doctor_line(path, "2", line, sizeof(line));

	(void)m;
	doctor_bpf_put(state, hidden ? "not known: this network namespace does not show it" :
			      on     ? "on" :
				       "off: programs are interpreted");
	doctor_bpf_put(remedy, "sysctl net.core.bpf_jit_enable=1, or boot a kernel with "
			       "CONFIG_BPF_JIT");
	return on;
}

/* Either setting is good for filters, because their maps belong to root. */
bool ask_bpf_users(const struct machine *m, char *state, char *remedy)
{
	char line[16];

	(void)m;
	(void)remedy;
	doctor_bpf_put(state, doctor_line("/proc/sys/kernel/unprivileged_bpf_disabled", "0", line,
					  sizeof(line)) ?
				      "any user may load programs (sysctl "
				      "kernel.unprivileged_bpf_disabled=2 ends that)" :
				      "refused");
	return true;
}

/* Add "NAME by epfagent (123)", or "by another process" if its number is hidden. */
static void add_holder(char *state, const char *name)
{
	char path[32], comm[32] = "another process";
	int pid = ebpf_holder(name);

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	if (pid && doctor_line(path, "", comm, sizeof(comm)))
		doctor_bpf_add(state, "%s%s by %s (%d)", *state ? ", " : "", name, comm, pid);
	else
		doctor_bpf_add(state, "%s%s by %s", *state ? ", " : "", name, comm);
}

static bool look_at_holders(char **names, int nr, char *state, char *remedy)
{
	char left[LEN] = "";
	int i;

	for (i = 0; i < nr; i++)
		if (ebpf_held(names[i]) && ebpf_is_timed(names[i]))
			doctor_bpf_add(state, "%s%s by the kernel", *state ? ", " : "", names[i]);
		else if (ebpf_held(names[i]))
			add_holder(state, names[i]);
		else
			doctor_bpf_add(left, " %s", names[i]);
	if (!*left)
		return true;
	snprintf(state, LEN, "nobody ends the epochs of%s", left);
	snprintf(remedy, LEN, "run 'epfctl hold%.200s', or start epfagent", left);
	return false;
}

bool ask_bpf_held(const struct machine *m, char *state, char *remedy)
{
	char **names = NULL;
	int nr = ebpf_pins_list ? ebpf_pins_list(&names) : 0, i;
	bool good = true;

	(void)m;
	if (nr < 0)
		snprintf(state, LEN, "not known: %s", strerror(-nr));
	else if (nr)
		good = look_at_holders(names, nr, state, remedy);
	else
		doctor_bpf_put(state, "there are no such filters");
	for (i = 0; i < nr; i++)
		free(names[i]);
	free(names);
	return good;
}
