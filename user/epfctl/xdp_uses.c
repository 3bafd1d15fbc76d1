// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Which interface, hook or pin has a program that uses a filter? */
#include "pin.h"

#include <bpf/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool uses(const char *ifname, __u32 id, __u32 backend)
{
	int fd = xdp_pin_open(ifname, EPF_XDP_PIN_CONF);
	struct epf_xdp_conf conf;
	__u32 zero = 0;
	bool is = fd >= 0 && !bpf_map_lookup_elem(fd, &zero, &conf) && conf.backend == backend &&
		  (conf.id == id || conf.all_id == id);

	if (fd >= 0)
		close(fd);
	return is;
}

/* A record whose program was removed does not hold the filter. */
static bool xdp_uses_valid(const char *name)
{
	char path[PATH_MAX];

	return !pin_is_name(name) || pin_there(name, path);
}

bool xdp_uses(__u32 id, bool bpf, char ifname[XDP_NAME_BYTES])
{
	bool found = false;
	char **names;
	int i;

	xdp_pin_list(&names);
	for (i = 0; names && names[i]; i++) {
		if (!found && uses(names[i], id, bpf ? EPF_XDP_BPF : EPF_XDP_MODULE) &&
		    xdp_uses_valid(names[i])) {
			snprintf(ifname, XDP_NAME_BYTES, "%s", names[i]);
			found = true;
		}
		free(names[i]);
	}
	free(names);
	return found;
}

void xdp_uses_tell(const char *filter, const char *name)
{
	char path[PATH_MAX];

	if (!pin_is_name(name))
		fail("'%s' is attached to '%s': run 'epfctl detach %s', or use --force", filter,
		     name, name);
	else if (pin_there(name, path))
		fail("'%s' is used by the program pinned at %s: delete the iptables rules "
		     "that use it and run 'epfctl detach %s', or use --force",
		     filter, path, path);
}
