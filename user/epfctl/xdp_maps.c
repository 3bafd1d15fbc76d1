// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The slot and conf maps of an attachment with a pure BPF filter. */
#include "xdp.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static int fill_slots(int slot, const struct epf_pkt_opts *opts)
{
	int cpus = libbpf_num_possible_cpus(), i, err;
	struct epf_xdp_slot *values;
	__u32 zero = 0;

	if (cpus < 0)
		return cpus;
	values = calloc((size_t)cpus, sizeof(*values));
	if (!values)
		return -ENOMEM;
	for (i = 0; i < cpus; i++)
		values[i].opts = *opts;
	err = bpf_map_update_elem(slot, &zero, values, BPF_ANY);
	free(values);
	return err;
}

int xdp_map_make(__u32 type, const char *name, size_t bytes)
{
	int fd = bpf_map_create((enum bpf_map_type)type, name, sizeof(__u32), (__u32)bytes, 1,
				NULL);

	return fd < 0 ? -errno : fd;
}

int xdp_maps_make(const struct epf_pkt_opts *opts, int *slot, int *conf)
{
	int err;

	*conf = -1;
	*slot = xdp_map_make(BPF_MAP_TYPE_PERCPU_ARRAY, "epf_slot", sizeof(struct epf_xdp_slot));
	if (*slot < 0)
		return *slot;
	err = fill_slots(*slot, opts);
	if (!err)
		err = *conf = xdp_map_make(BPF_MAP_TYPE_ARRAY, "epf_conf",
					   sizeof(struct epf_xdp_conf));
	if (err >= 0)
		return 0;
	close(*slot);
	return err;
}
