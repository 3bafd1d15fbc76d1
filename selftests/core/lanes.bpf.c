// SPDX-License-Identifier: GPL-2.0
/*
 * The operations of lanes.h over a BPF map of lines. Shape and number of lines are
 * in a map that may change: neither the compiler nor the verifier knows them.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include <epf/shim.h>

struct epf_line;
static struct epf_line *line_of(__u64 n);
#define epf_line_at(f, n) line_of(n)

#include "lanes_bpf.h"

/* User space sets the number of lines. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct epf_line);
} lines SEC(".maps");

struct lanes_shared shared;

static __always_inline struct epf_line *line_of(__u64 n)
{
	__u32 key = (__u32)n;

	return bpf_map_lookup_elem(&lines, &key);
}

static __always_inline struct epf_lanes find(struct epf_probe *p)
{
	struct epf_lanes f = { NULL, &shared.state.epoch, shared.geom };

	epf_probe(&f, shared.digest, p);
	return f;
}

SEC("xdp")
int lanes_test(struct xdp_md *ctx)
{
	struct epf_probe p;
	struct epf_lanes f = find(&p);

	shared.verdict = epf_lanes_test(&f, &p);
	return XDP_PASS;
}

SEC("xdp")
int lanes_insert(struct xdp_md *ctx)
{
	struct epf_probe p;
	struct epf_lanes f = find(&p);
	__u64 lanes = 0;
	bool grew = false;

	shared.epoch = epf_lanes_insert_into(&f, &p, &lanes, &grew);
	shared.lanes = lanes;
	shared.grew = grew;
	return XDP_PASS;
}

SEC("xdp")
int lanes_sight(struct xdp_md *ctx)
{
	struct epf_probe p;
	struct epf_lanes f = find(&p);
	__u64 e, lanes = 0;

	shared.verdict = epf_lanes_test_and_insert_into(&f, &p, shared.first_seen, &e, &lanes);
	shared.epoch = e;
	shared.lanes = lanes;
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "GPL";
