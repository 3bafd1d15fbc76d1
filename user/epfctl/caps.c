// SPDX-License-Identifier: GPL-2.0
/*
 * Capabilities that BPF needs, and messages that name those which are missing.
 *
 * Of kernel/bpf/syscall.c and verifier.c of Linux 6.1 to 6.18: CAP_BPF makes maps and
 * programs, CAP_NET_ADMIN programs of type XDP and tc. Without CAP_PERFMON the verifier
 * also follows branches that a CPU only predicts; there it finds no end of the core's
 * loops, and no bound of what packets are read by. CAP_SYS_ADMIN stands for all three.
 */
#include "cmd.h"

#include <linux/capability.h>
#include <string.h>

static const struct {
	unsigned int mask, nr;
	const char *name;
} known[] = {
	{ CAPS_MAPS, CAP_BPF, "CAP_BPF" },
	{ CAPS_NET, CAP_NET_ADMIN, "CAP_NET_ADMIN" },
	{ CAPS_LOAD, CAP_PERFMON, "CAP_PERFMON" },
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

bool caps_admin(void)
{
	return caps_has(CAP_SYS_ADMIN);
}

/* Return: how many of @mask are missing; @text: their names. */
static int missing(unsigned int mask, char *text, size_t room)
{
	size_t i, len = 0;
	int nr = 0;

	*text = '\0';
	for (i = 0; i < ARRAY_SIZE(known); i++) {
		if (!(mask & known[i].mask) || caps_has(known[i].nr))
			continue;
		snprintf(text + len, room - len, "%s%s", nr++ ? ", " : "",
			 known[i].name);
		len = strlen(text);
	}
	return nr;
}

bool caps_ok(const char *doing, unsigned int mask)
{
	char text[64];

	if (caps_admin() || !missing(mask, text, sizeof(text)))
		return true;
	fail("%s needs %s: run as root, or with 'setpriv' or a unit's "
	     "AmbientCapabilities=", doing, text);
	return false;
}

int caps_denied(const char *doing)
{
	if (!caps_has(CAP_NET_ADMIN))
		return fail("%s needs CAP_NET_ADMIN: run as root", doing);
	return fail("%s: the kernel refuses it, though this process has "
		    "CAP_NET_ADMIN: in a user namespace that does not count",
		    doing);
}
