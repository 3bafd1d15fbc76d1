// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Pinned maps of attachments that have a rule: the rule, the counters, the conf. */
#include "xdp.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <unistd.h>

#include "cmd.h"

static int xdp_pinned_make(const struct xdp_map *m)
{
	int fd;

	if (m->type != BPF_MAP_TYPE_RINGBUF)
		return xdp_map_make(m->type, m->name, m->bytes);
	fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, m->name, 0, 0, (__u32)m->bytes, NULL);
	return fd < 0 ? -errno : fd;
}

int xdp_map_pin(const char *ifname, const struct xdp_map *m, const void *value)
{
	int fd = xdp_pinned_make(m), err = 0;
	__u32 zero = 0;

	if (fd < 0)
		return xdp_fail_load(fd);
	if (value)
		err = bpf_map_update_elem(fd, &zero, value, BPF_ANY);
	if (err)
		xdp_fail_load(err);
	else
		err = xdp_pin_fd(fd, ifname, m->pin);
	close(fd);
	return err;
}

int xdp_map_reuse(struct bpf_object *obj, const char *name, const char *ifname, const char *pin)
{
	int fd = xdp_pin_open(ifname, pin), err;

	if (fd < 0)
		return fd;
	err = bpf_map__reuse_fd(bpf_object__find_map_by_name(obj, name), fd);
	close(fd);
	return err;
}

int xdp_map_read(const char *ifname, const char *pin, void *value)
{
	int fd = xdp_pin_open(ifname, pin), err;
	__u32 zero = 0;

	if (fd < 0)
		return fd;
	err = bpf_map_lookup_elem(fd, &zero, value);
	close(fd);
	return err;
}

int xdp_conf_pin(const char *ifname, const struct epf_xdp_conf *conf)
{
	static const struct xdp_map map = { "epf_conf", EPF_XDP_PIN_CONF, BPF_MAP_TYPE_ARRAY,
					    sizeof(*conf) };

	return xdp_map_pin(ifname, &map, conf);
}

int xdp_conf_note(const char *ifname, const struct epf_xdp_conf *conf)
{
	int fd = xdp_pin_open(ifname, EPF_XDP_PIN_CONF), err = fd;
	__u32 zero = 0;

	if (fd >= 0) {
		err = bpf_map_update_elem(fd, &zero, conf, BPF_ANY);
		close(fd);
	}
	if (err)
		fail_errno(-err, "cannot note what was attached: %m");
	return err;
}
