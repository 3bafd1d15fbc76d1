// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Directories of pins: one for each interface, hook or pinned program. */
#include "ingress.h"
#include "nf.h"
#include "pin.h"

#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd.h"

static const char *const pins[] = {
	EPF_XDP_PIN_MARK,     EPF_XDP_PIN_CONF,       EPF_XDP_PIN_SLOT,   EPF_REFLEX_PIN_ASK,
	EPF_REFLEX_PIN_LEARN, EPF_REFLEX_PIN_RULE,    EPF_XDP_PIN_COUNTS, EPF_XDP_PIN_HELD,
	EPF_NF_PIN_IP,        EPF_NF_PIN_IP6,         EPF_NF_PIN_RULE,    EPF_INGRESS_PIN_RULE,
	EPF_INGRESS_PIN_RING, EPF_INGRESS_PIN_SHARED, EPF_MATCH_PIN_RULE, EPF_MATCH_PIN_PROGRAM,
	EPF_XDP_PIN_ALL_SLOT, EPF_XDP_PIN_ALL_HELD
};

/* "@INODE" of our network namespace; "" for that of process 1, or if that is unknown. */
static const char *own_suffix(void)
{
	static char suffix[24];
	struct stat own, first;

	if (!suffix[0] && !stat("/proc/self/ns/net", &own) &&
	    (stat("/proc/1/ns/net", &first) || own.st_ino != first.st_ino))
		snprintf(suffix, sizeof(suffix), "@%lu", (unsigned long)own.st_ino);
	return suffix;
}

void xdp_pin_path(char path[XDP_PATH_BYTES], const char *ifname, const char *name)
{
	char dir[64];
	size_t len;
	char *c;

	/* Names with ':' do not belong to an interface. */
	snprintf(dir, sizeof(dir), "%s%s%s", strchr(ifname, ':') ? "@" : "", ifname,
		 strchr(ifname, '@') ? "" : own_suffix());
	len = strlen(dir);
	if (len && dir[len - 1] == '@')
		dir[len - 1] = 0;
	for (c = dir; *c; c++)
		if (*c == '.')
			*c = ':';
	snprintf(path, XDP_PATH_BYTES, EPF_XDP_PINS "/@%s%s%s", dir, name ? "/" : "",
		 name ? name : "");
}

/* The kernel writes as many bytes as a value of the map has. A map of another version may
 * not fit.
 */
static int check_bytes(int fd, const char *name)
{
	static const struct {
		const char *name;
		size_t bytes;
	} maps[] = {
		{ EPF_XDP_PIN_CONF, sizeof(struct epf_xdp_conf) },
		{ EPF_XDP_PIN_SLOT, sizeof(struct epf_xdp_slot) },
		{ EPF_XDP_PIN_ALL_SLOT, sizeof(struct epf_xdp_slot) },
		{ EPF_REFLEX_PIN_RULE, sizeof(struct epf_reflex_rule) },
		{ EPF_XDP_PIN_COUNTS, sizeof(struct epf_counts) },
		{ EPF_NF_PIN_RULE, sizeof(struct epf_nf_rule) },
		{ EPF_INGRESS_PIN_RULE, sizeof(struct epf_ingress_rule) },
		{ EPF_MATCH_PIN_RULE, sizeof(struct xt_epf_rule) },
	};
	struct bpf_map_info info = { 0 };
	__u32 len = sizeof(info);
	size_t bytes = 0, i;

	for (i = 0; i < ARRAY_SIZE(maps); i++)
		if (!strcmp(name, maps[i].name))
			bytes = maps[i].bytes;
	if (!bytes)
		return 0;
	if (bpf_obj_get_info_by_fd(fd, &info, &len))
		return -errno;
	return info.value_size == bytes ? 0 : -EPROTO;
}

int xdp_pin_open(const char *ifname, const char *name)
{
	char path[XDP_PATH_BYTES];
	int fd, err;

	xdp_pin_path(path, ifname, name);
	fd = bpf_obj_get(path);
	if (fd < 0)
		return -errno;
	err = check_bytes(fd, name);
	if (!err)
		return fd;
	close(fd);
	return err;
}

const char *xdp_pin_why(int err)
{
	return err == -EPROTO ? "another version of epfctl attached it: "
				"use that version" :
				strerror(-err);
}

int xdp_pin_fd(int fd, const char *ifname, const char *name)
{
	char path[XDP_PATH_BYTES];
	int err;

	xdp_pin_path(path, ifname, name);
	err = bpf_obj_pin(fd, path);
	if (err)
		fail_errno(errno, "cannot pin %s: %m", path);
	return err ? -errno : 0;
}

int xdp_pin_lock(void)
{
	int fd, err;

	if (!open_bpffs_there()) {
		fail("%s", open_no_bpffs());
		return -ENOENT;
	}
	fd = open(EPF_XDP_BPFFS, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 && !flock(fd, LOCK_EX))
		return fd;
	err = -errno;
	fail(EPF_XDP_BPFFS ": %s: run as root, or as its owner", strerror(errno));
	if (fd >= 0)
		close(fd);
	return err;
}

int xdp_pin_dir(const char *ifname)
{
	char path[XDP_PATH_BYTES];
	int err = 0;

	xdp_pin_path(path, ifname, NULL);
	if ((mkdir(EPF_XDP_PINS, 0700) && errno != EEXIST) || mkdir(path, 0700)) {
		err = -errno;
		if (err == -EACCES || err == -EPERM)
			fail("%s cannot be made: run as root, or as the owner "
			     "of " EPF_XDP_PINS,
			     path);
		else if (err != -EEXIST)
			fail_errno(errno, "cannot make %s: %m", path);
	}
	return err;
}

/* The common directory goes with the last of them; until then rmdir() leaves it. */
void xdp_unpin(const char *ifname)
{
	char path[XDP_PATH_BYTES];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(pins); i++) {
		xdp_pin_path(path, ifname, pins[i]);
		unlink(path);
	}
	xdp_pin_path(path, ifname, NULL);
	rmdir(path);
	rmdir(EPF_XDP_PINS);
}

static int is_interface(const struct dirent *d)
{
	return d->d_name[0] == '@';
}

/* The name of the directory '@' @dir in this network namespace. Directories of netfilter
 * hooks and of records of pin.h begin with one more '@', and their ':' stays ':'.
 */
static char *name_of_dir(const char *dir)
{
	bool hook = *dir == '@', own;
	char name[64];
	size_t len;
	char *c;

	dir += hook;
	len = strcspn(dir, "@");
	own = !strcmp(dir + len, own_suffix());

	snprintf(name, sizeof(name), "%.*s%s", own ? (int)len : 60, dir,
		 own || dir[len] ? "" : "@");
	for (c = name; *c && !hook; c++)
		if (*c == ':')
			*c = '.';
	return strdup(name);
}

int xdp_pin_list(char ***names)
{
	struct dirent **found = NULL;
	int n = scandir(EPF_XDP_PINS, &found, is_interface, alphasort);
	int i, err = n < 0 && errno != ENOENT ? -errno : 0;

	*names = calloc((size_t)(n > 0 ? n : 0) + 1, sizeof(**names));
	if (!*names)
		err = -ENOMEM;
	for (i = 0; i < n; i++) {
		if (*names)
			(*names)[i] = name_of_dir(found[i]->d_name + 1);
		free(found[i]);
	}
	free(found);
	return err;
}
