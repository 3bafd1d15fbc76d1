// SPDX-License-Identifier: GPL-2.0
/* Which interface has a program on a filter that is pure BPF? */
#include "pin.h"

#include <bpf/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool uses(const char *ifname, __u32 id)
{
	int fd = xdp_pin_open(ifname, EPF_XDP_PIN_CONF);
	struct epf_xdp_conf conf;
	__u32 zero = 0;
	bool is = fd >= 0 && !bpf_map_lookup_elem(fd, &zero, &conf) &&
		  conf.backend == EPF_XDP_BPF && conf.id == id;

	if (fd >= 0)
		close(fd);
	return is;
}

bool xdp_uses(__u32 id, char ifname[XDP_NAME_BYTES])
{
	bool found = false;
	char **names;
	int i;

	xdp_pin_list(&names);
	for (i = 0; names && names[i]; i++) {
		if (!found && !pin_is_name(names[i]) && uses(names[i], id)) {
			snprintf(ifname, XDP_NAME_BYTES, "%s", names[i]);
			found = true;
		}
		free(names[i]);
	}
	free(names);
	return found;
}
