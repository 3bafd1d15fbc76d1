// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What an interface is and has: its link header, and the XDP program of somebody else. */
#include "xdp.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <ftw.h>
#include <linux/bpf.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

bool xdp_has_ether(const char *ifname)
{
	int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq ifr = { .ifr_ifindex = 0 };
	bool is;

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", ifname);
	is = sock >= 0 && !ioctl(sock, SIOCGIFHWADDR, &ifr) &&
	     (ifr.ifr_hwaddr.sa_family == ARPHRD_ETHER ||
	      ifr.ifr_hwaddr.sa_family == ARPHRD_LOOPBACK);
	if (sock >= 0)
		close(sock);
	if (!is)
		fail("'%s' has no Ethernet headers, so no packet would be judged there: use "
		     "'attach --hook', at a netfilter hook, where packets begin with the IP "
		     "header",
		     ifname);
	return is;
}

/* Is @name that of one of our XDP programs? */
static bool is_ours(const char *name)
{
	static const char *const ours[] = {
		"xdp_dedup", "xdp_dedup_mark", "reflex_ask", "xdp_admit", "xdp_log_new",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ours); i++)
		if (!strcmp(name, ours[i]))
			return true;
	return false;
}

/* "": it cannot be read. */
static void name_of(__u32 prog, char name[BPF_OBJ_NAME_LEN])
{
	struct bpf_prog_info info = { 0 };
	__u32 len = sizeof(info);
	int fd = bpf_prog_get_fd_by_id(prog);

	name[0] = 0;
	if (fd < 0)
		return;
	if (!bpf_obj_get_info_by_fd(fd, &info, &len))
		memcpy(name, info.name, BPF_OBJ_NAME_LEN);
	close(fd);
}

bool xdp_link_ours(__u32 prog)
{
	char name[BPF_OBJ_NAME_LEN];

	name_of(prog, name);
	return is_ours(name);
}

__u32 xdp_link_on(__u32 ifindex)
{
	__u32 id = 0;

	return bpf_xdp_query_id((int)ifindex, 0, &id) ? 0 : id;
}

/* Return: false: there is no link of this number any more. */
static bool link_info(__u32 link, struct bpf_link_info *info)
{
	int fd = bpf_link_get_fd_by_id(link), err;
	__u32 len = sizeof(*info);

	memset(info, 0, sizeof(*info));
	if (fd < 0)
		return false;
	err = bpf_obj_get_info_by_fd(fd, info, &len);
	close(fd);
	return !err;
}

/* The link that has attached @prog; 0: none. */
static __u32 xdp_link_of(__u32 prog)
{
	struct bpf_link_info info;
	__u32 id = 0;

	while (!bpf_link_get_next_id(id, &id))
		if (link_info(id, &info) && info.type == BPF_LINK_TYPE_XDP && info.prog_id == prog)
			return id;
	return 0;
}

__u32 xdp_link_inside(__u32 prog, __u32 *link)
{
	struct bpf_link_info info;

	while (!bpf_link_get_next_id(*link, link))
		if (link_info(*link, &info) && info.type == BPF_LINK_TYPE_TRACING &&
		    info.tracing.target_obj_id == prog && xdp_link_ours(info.prog_id))
			return info.prog_id;
	return 0;
}

/* nftw() hands its function no argument. */
static struct {
	__u32 prog;
	char path[XDP_PATH_BYTES];
} wanted;

/* The kernel shows the program of programs and of links. */
static int look_at_pin(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	int fd = type == FTW_F ? bpf_obj_get(path) : -1;
	char name[48], line[64];
	__u32 prog = 0;
	FILE *f;

	(void)st;
	(void)ftw;
	if (fd < 0)
		return 0;
	snprintf(name, sizeof(name), "/proc/self/fdinfo/%d", fd);
	f = fopen(name, "re");
	while (f && !prog && fgets(line, sizeof(line), f))
		if (sscanf(line, "prog_id: %u", &prog) != 1)
			prog = 0;
	if (f)
		fclose(f);
	close(fd);
	if (prog != wanted.prog)
		return 0;
	snprintf(wanted.path, sizeof(wanted.path), "%s", path);
	return 1;
}

void xdp_link_tell(__u32 ifindex, char *text, size_t room)
{
	__u32 prog = xdp_link_on(ifindex), link = prog ? xdp_link_of(prog) : 0;
	char name[BPF_OBJ_NAME_LEN];
	size_t used;

	if (!prog) { /* one in each mode */
		snprintf(text, room, "whose number cannot be read");
		return;
	}
	name_of(prog, name);
	used = (size_t)snprintf(text, room, "program %u '%s'%s", prog, name,
				is_ours(name) ? " of epfctl, without pins here" : "");
	if (link && used < room)
		used += (size_t)snprintf(text + used, room - used, ", link %u", link);
	wanted.prog = prog;
	wanted.path[0] = 0;
	if (nftw(EPF_XDP_BPFFS, look_at_pin, 16, FTW_PHYS) == 1 && used < room)
		snprintf(text + used, room - used, ", pinned at %s", wanted.path);
}
