// SPDX-License-Identifier: GPL-2.0
#include "xdp_pure.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "ebpf/calls.h"
#include "../../include/epf/xdp.h"

int pure_control(int *control)
{
	ebpf_backend_add();
	*control = ebpf_control_open();
	return *control < 0 ? *control : 0;
}

static int load(struct pure *p, const char *name)
{
	struct bpf_program *prog;
	int err = ebpf_reuse_maps(p->obj, name);

	bpf_object__for_each_program(prog, p->obj) /* as the tool loads it */
		bpf_program__set_flags(prog, BPF_F_XDP_HAS_FRAGS);
	return err ?: bpf_object__load(p->obj);
}

int pure_load(struct pure *p, const char *dir, const char *name)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/xdp_dedup_inline.bpf.o", dir);
	p->obj = bpf_object__open_file(path, NULL);
	if (!p->obj)
		return -errno;
	return load(p, name) ?: ebpf_hold_begin(name, &p->hold);
}

int pure_key(const struct pure *p, __u8 key)
{
	int cpus = libbpf_num_possible_cpus(), i, err;
	struct epf_xdp_slot *slots = calloc((size_t)cpus, sizeof(*slots));
	__u32 zero = 0;

	if (!slots)
		return -ENOMEM;
	for (i = 0; i < cpus; i++)
		slots[i].opts = (struct epf_pkt_opts){ .key = key, .flags = EPF_PKT_PASS_CONTROL };
	err = bpf_map_update_elem(pure_slot(p), &zero, slots, BPF_ANY);
	free(slots);
	return err;
}

int pure_settle(const struct pure *p)
{
	__u64 wait_ns;
	int ret = ebpf_hold_step(p->hold, &wait_ns);

	return ret < 0 ? ret : 0;
}

int pure_prog(const struct pure *p)
{
	return bpf_program__fd(bpf_object__find_program_by_name(p->obj, "xdp_dedup"));
}

int pure_slot(const struct pure *p)
{
	return bpf_object__find_map_fd_by_name(p->obj, "epf_slot");
}
