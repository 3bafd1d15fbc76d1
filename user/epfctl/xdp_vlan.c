// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The VLAN offload for packets that a card receives. While it is on, the tag of a packet
 * lies beside it, where XDP programs do not see it.
 */
#include "xdp.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cmd.h"

#define FEATURES_MAX 1024 /* kernels know some 70 */
#define BLOCKS_MAX (FEATURES_MAX / 32)

static const struct {
	const char *name;
	__u32 bit;
} offloads[] = {
	{ "rx-vlan-hw-parse", EPF_XDP_VLAN_C },
	{ "rx-vlan-stag-hw-parse", EPF_XDP_VLAN_S },
};

bool vlan_counts(const struct epf_pkt_opts *opts)
{
	return opts->key == EPF_PKT_FRAME || (opts->flags & EPF_PKT_VLAN) ||
	       (opts->key == EPF_PKT_PACKET && !(opts->flags & EPF_PKT_NO_VLAN));
}

/* One ethtool command. Return: 0 or a negative errno. */
static int ethtool(const char *ifname, void *cmd)
{
	int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq ifr = { .ifr_data = cmd };
	int err;

	if (sock < 0)
		return -errno;
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", ifname);
	err = ioctl(sock, SIOCETHTOOL, &ifr) < 0 ? -errno : 0;
	close(sock);
	return err;
}

/* The number of features that this kernel names; 0: none that can be read. */
static int feature_count(const char *ifname, __u32 *count)
{
	struct {
		struct ethtool_sset_info info;
		__u32 len;
	} ask = { .info = { .cmd = ETHTOOL_GSSET_INFO, .sset_mask = 1ULL << ETH_SS_FEATURES } };
	int err = ethtool(ifname, &ask);

	*count = !err && ask.info.sset_mask && ask.len <= FEATURES_MAX ? ask.len : 0;
	return err;
}

/* The numbers of our features; -1: this kernel does not have it. */
static int feature_numbers(const char *ifname, __u32 count, int number[ARRAY_SIZE(offloads)])
{
	struct ethtool_gstrings *names;
	size_t i;
	__u32 n;
	int err;

	for (i = 0; i < ARRAY_SIZE(offloads); i++)
		number[i] = -1;
	names = calloc(1, sizeof(*names) + (size_t)count * ETH_GSTRING_LEN);
	if (!names)
		return -ENOMEM;
	names->cmd = ETHTOOL_GSTRINGS;
	names->string_set = ETH_SS_FEATURES;
	names->len = count;
	err = ethtool(ifname, names);
	for (n = 0; !err && n < count; n++)
		for (i = 0; i < ARRAY_SIZE(offloads); i++)
			if (!strncmp((char *)names->data + n * ETH_GSTRING_LEN, offloads[i].name,
				     ETH_GSTRING_LEN))
				number[i] = (int)n;
	free(names);
	return err;
}

/* Read both. Return: blocks of 32 features, or a negative errno. */
static int features(const char *ifname, int number[ARRAY_SIZE(offloads)])
{
	__u32 count;
	int err = feature_count(ifname, &count);

	if (!err)
		err = feature_numbers(ifname, count, number);
	return err ? err : (int)(count + 31) / 32;
}

int vlan_offloads(const char *ifname, __u32 *on)
{
	struct {
		struct ethtool_gfeatures head;
		struct ethtool_get_features_block block[BLOCKS_MAX];
	} ask = { .head = { .cmd = ETHTOOL_GFEATURES } };
	int number[ARRAY_SIZE(offloads)];
	int blocks = features(ifname, number);
	size_t i;
	int err;

	*on = 0;
	if (blocks < 0)
		return blocks;
	ask.head.size = (__u32)blocks;
	err = ethtool(ifname, &ask);
	for (i = 0; !err && i < ARRAY_SIZE(offloads); i++)
		if (number[i] >= 0 && (ask.block[number[i] / 32].active >> number[i] % 32 & 1))
			*on |= offloads[i].bit;
	return err;
}

int vlan_switch(const char *ifname, __u32 which, bool on)
{
	struct {
		struct ethtool_sfeatures head;
		struct ethtool_set_features_block block[BLOCKS_MAX];
	} ask = { .head = { .cmd = ETHTOOL_SFEATURES } };
	int number[ARRAY_SIZE(offloads)];
	int blocks = features(ifname, number);
	__u32 now;
	size_t i;
	int err;

	if (blocks < 0)
		return blocks;
	ask.head.size = (__u32)blocks;
	for (i = 0; i < ARRAY_SIZE(offloads); i++) {
		struct ethtool_set_features_block *b;

		if (number[i] < 0 || !(which & offloads[i].bit))
			continue;
		b = &ask.block[number[i] / 32];
		b->valid |= 1U << number[i] % 32;
		b->requested |= (on ? 1U : 0U) << number[i] % 32;
	}
	err = ethtool(ifname, &ask);
	if (!err)
		err = vlan_offloads(ifname, &now);
	if (!err && (now & which) != (on ? which : 0))
		err = -EOPNOTSUPP;
	return err;
}
