// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Programs at tc hooks. Linux 6.6 has links there (tcx): the pin keeps the link alive, and
 * the link keeps the program. Before Linux 6.6 a program is a filter of the interface's
 * clsact qdisc, which is made if there is none.
 */
#include "reflex.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define TCX_INGRESS 46         /* BPF_TCX_INGRESS of Linux 6.6; egress follows */
#define FILTER_PRIO 60000      /* behind filters whose place the kernel chooses (from 49152 down) */
#define FILTER_HANDLE 0x657066 /* "epf" */

static enum bpf_tc_attach_point point(enum epf_reflex_side side)
{
	return side == EPF_REFLEX_LEARN ? BPF_TC_EGRESS : BPF_TC_INGRESS;
}

static const char *tc_pin_of(enum epf_reflex_side side)
{
	return side == EPF_REFLEX_LEARN ? EPF_REFLEX_PIN_LEARN : EPF_REFLEX_PIN_ASK;
}

static __u32 tc_prog_id(int fd)
{
	struct bpf_prog_info info = { 0 };
	__u32 len = sizeof(info);

	return bpf_obj_get_info_by_fd(fd, &info, &len) ? 0 : info.id;
}

static int attach_link(int fd, const char *ifname, enum epf_reflex_side side, __u32 ifindex)
{
	char path[XDP_PATH_BYTES];
	int err, link = bpf_link_create(fd, (int)ifindex,
					(enum bpf_attach_type)(TCX_INGRESS + side), NULL);

	if (link < 0)
		return -errno;
	xdp_pin_path(path, ifname, tc_pin_of(side));
	err = bpf_obj_pin(link, path) ? -errno : 0;
	close(link);
	return err;
}

/* Are there no filters at the hook @parent? If that is unknown: false. */
static bool no_filters(int sock, __u32 ifindex, __u32 parent)
{
	struct {
		struct nlmsghdr head;
		struct tcmsg tc;
	} ask = {
		.head = { .nlmsg_len = sizeof(ask),
			  .nlmsg_type = RTM_GETTFILTER,
			  .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		.tc = { .tcm_family = AF_UNSPEC,
			.tcm_ifindex = (int)ifindex,
			.tcm_parent = parent },
	};
	char got[32768] __attribute__((aligned(8)));
	struct nlmsghdr *head = (struct nlmsghdr *)got;
	ssize_t n;

	if (send(sock, &ask, sizeof(ask), 0) != sizeof(ask))
		return false;
	n = recv(sock, got, sizeof(got), 0);
	return n >= (ssize_t)sizeof(*head) && head->nlmsg_type == NLMSG_DONE;
}

void tc_unmake(const struct epf_xdp_conf *conf)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = (int)conf->ifindex,
		    .attach_point = BPF_TC_INGRESS | BPF_TC_EGRESS);
	int sock = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	if (sock < 0)
		return;
	if (no_filters(sock, conf->ifindex, TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS)) &&
	    no_filters(sock, conf->ifindex, TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_EGRESS)))
		bpf_tc_hook_destroy(&hook);
	close(sock);
}

static int attach_filter(int fd, enum epf_reflex_side side, struct epf_xdp_conf *conf)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = (int)conf->ifindex, .attach_point = point(side));
	LIBBPF_OPTS(bpf_tc_opts, opts, .prog_fd = fd, .handle = FILTER_HANDLE,
		    .priority = FILTER_PRIO);
	int err = bpf_tc_hook_create(&hook);

	if (err && err != -EEXIST)
		return err;
	conf->qdisc_made |= !err;
	err = bpf_tc_attach(&hook, &opts);
	if (err)
		return err;
	conf->tc[side].handle = opts.handle;
	conf->tc[side].prio = opts.priority;
	return 0;
}

int tc_attach(int fd, const char *ifname, enum epf_reflex_side side, bool clsact,
	      struct epf_xdp_conf *conf)
{
	int err = -EINVAL;

	conf->tc[side].prog_id = tc_prog_id(fd);
	if (!clsact)
		err = attach_link(fd, ifname, side, conf->ifindex);
	if (err == -EINVAL) /* the error of a kernel without tcx */
		err = attach_filter(fd, side, conf);
	if (err)
		conf->tc[side].prog_id = 0;
	return err;
}

/* Is our link still on the interface? */
static bool link_live(const char *ifname, enum epf_reflex_side side,
		      const struct epf_xdp_conf *conf)
{
	int fd = xdp_pin_open(ifname, tc_pin_of(side));
	struct bpf_link_info info = { 0 };
	__u32 len = sizeof(info);
	int err;

	if (fd < 0)
		return false;
	err = bpf_obj_get_info_by_fd(fd, &info, &len);
	close(fd);
	/* A tcx link has the interface at the same place as an XDP link. */
	return !err && info.xdp.ifindex == conf->ifindex;
}

static bool filter_live(enum epf_reflex_side side, const struct epf_xdp_conf *conf)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = (int)conf->ifindex, .attach_point = point(side));
	LIBBPF_OPTS(bpf_tc_opts, opts, .handle = conf->tc[side].handle,
		    .priority = conf->tc[side].prio);

	return !bpf_tc_query(&hook, &opts) && opts.prog_id == conf->tc[side].prog_id;
}

bool tc_live(const char *ifname, enum epf_reflex_side side, const struct epf_xdp_conf *conf)
{
	if (!conf->tc[side].prog_id)
		return false;
	return conf->tc[side].prio ? filter_live(side, conf) : link_live(ifname, side, conf);
}

/* Detach at once: if only the pin were removed, the kernel would choose the time. */
static int detach_link(const char *ifname, enum epf_reflex_side side)
{
	int fd = xdp_pin_open(ifname, tc_pin_of(side)), err;
	char path[XDP_PATH_BYTES];

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	err = bpf_link_detach(fd) ? -errno : 0;
	close(fd);
	xdp_pin_path(path, ifname, tc_pin_of(side));
	if (!err || err == -ENOLINK) /* ENOLINK: the interface is gone */
		err = unlink(path) ? -errno : 0;
	return err;
}

int tc_detach(const char *ifname, enum epf_reflex_side side, const struct epf_xdp_conf *conf)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = (int)conf->ifindex, .attach_point = point(side));
	LIBBPF_OPTS(bpf_tc_opts, opts, .handle = conf->tc[side].handle,
		    .priority = conf->tc[side].prio);

	if (!conf->tc[side].prio)
		return detach_link(ifname, side);
	return filter_live(side, conf) ? bpf_tc_detach(&hook, &opts) : 0;
}
