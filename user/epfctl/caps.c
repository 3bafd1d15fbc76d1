// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Capabilities that BPF needs, and messages that name the missing ones.
 *
 * From kernel/bpf/syscall.c and verifier.c of Linux 6.1 to 6.18: CAP_BPF is needed to make
 * maps and programs, CAP_NET_ADMIN for programs of type XDP and tc. Without CAP_PERFMON the
 * verifier also follows branches that a CPU only predicts, and wants other programs to read
 * packets (bpf/epf_packet_copy.bpf.h). CAP_SYS_ADMIN stands for all three. In a user
 * namespace they count only for calls with a BPF token.
 */
#include "caps.h"

#include "common/array.h"
#include "common/error.h"
#include "ebpf/ebpf.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>

static const struct {
	unsigned int mask, nr;
	const char *name;
} known[] = {
	{ CAPS_MAPS, CAP_BPF, "CAP_BPF" },
	{ CAPS_NET, CAP_NET_ADMIN, "CAP_NET_ADMIN" },
};

bool caps_has(unsigned int nr)
{
	FILE *f = fopen("/proc/self/status", "re");
	unsigned long long set = 0;
	char line[128];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "CapEff: %llx", &set) == 1)
			break;
	if (f)
		fclose(f);
	return set >> nr & 1;
}

static bool in_user_namespace(void)
{
	return ebpf_user_namespace && ebpf_user_namespace();
}

bool caps_admin(void)
{
	return caps_has(CAP_SYS_ADMIN) && !in_user_namespace();
}

bool caps_perfmon(void)
{
	return caps_has(CAP_SYS_ADMIN) || caps_has(CAP_PERFMON);
}

/* Return: number of capabilities of @mask that are missing; @text: their names. */
static int missing(unsigned int mask, char *text, size_t room)
{
	size_t i, len = 0;
	int nr = 0;

	*text = '\0';
	for (i = 0; i < ARRAY_SIZE(known); i++) {
		if (!(mask & known[i].mask) || caps_has(known[i].nr))
			continue;
		snprintf(text + len, room - len, "%s%s", nr++ ? ", " : "", known[i].name);
		len = strlen(text);
	}
	return nr;
}

/* In a user namespace maps and programs need a token. */
static bool token_ok(const char *doing)
{
	if (!in_user_namespace() || ebpf_token())
		return true;
	fail_errno(EPERM,
		   "%s in a user namespace needs a BPF token (Linux 6.9): let root outside "
		   "mount a BPF file system for it that delegates (see epfctl(8))",
		   doing);
	return false;
}

bool caps_ok(const char *doing, unsigned int mask)
{
	char text[64];

	if (caps_has(CAP_SYS_ADMIN) || !missing(mask, text, sizeof(text)))
		return !(mask & ~(unsigned int)CAPS_NET) || token_ok(doing);
	fail_errno(EPERM,
		   "%s needs %s: run as root, or with 'setpriv' or a unit's "
		   "AmbientCapabilities=",
		   doing, text);
	return false;
}

bool caps_token_denied(const char *doing, bool mark)
{
	char text[256];

	if (!in_user_namespace() || !ebpf_token_lacks(mark, text, sizeof(text)))
		return false;
	fail_errno(EPERM,
		   "%s: the BPF token of /sys/fs/bpf does not allow it: let root outside "
		   "mount it with %s",
		   doing, text);
	return true;
}

int caps_denied(const char *doing)
{
	if (!caps_has(CAP_NET_ADMIN))
		return fail_errno(EPERM, "%s needs CAP_NET_ADMIN: run as root", doing);
	if (caps_token_denied(doing, false))
		return EXIT_FAIL;
	return fail_errno(EPERM,
			  "%s: the kernel refuses it although this process has "
			  "CAP_NET_ADMIN: a user namespace's capabilities do not count",
			  doing);
}
