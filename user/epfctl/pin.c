// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Records of pinned programs: their filter, rule and path. */
#include "pin.h"
#include "outcome.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

/* The '@' at the end says that it belongs to no network namespace. */
static void pin_name_of(__u32 prog, char *name)
{
	snprintf(name, XDP_NAME_BYTES, EPF_MATCH_NAME "%u@", prog);
}

/* Did bpf_obj_get() fail at @path because of missing rights, not of a missing program? */
static bool hidden(int err, const char *path)
{
	return err == EPERM || (access(path, R_OK) && errno == EACCES);
}

/* The number of the program at @path; 0: there is none; or a negative errno. */
static __s64 prog_at(const char *path)
{
	struct bpf_prog_info info = { 0 };
	__u32 len = sizeof(info);
	int fd = bpf_obj_get(path), err = errno;

	if (fd < 0)
		return hidden(err, path) ? -EACCES : 0;
	err = bpf_obj_get_info_by_fd(fd, &info, &len) ? -errno : 0;
	close(fd);
	return err ?: (__s64)info.id;
}

static void link_path(const char *name, char link[XDP_PATH_BYTES])
{
	xdp_pin_path(link, name, EPF_MATCH_PIN_PROGRAM);
}

/* Read where the program of the record was pinned. */
static int read_link(const char *name, char path[PATH_MAX])
{
	char link[XDP_PATH_BYTES];
	ssize_t len;

	link_path(name, link);
	len = readlink(link, path, PATH_MAX - 1);
	if (len < 0)
		return -errno;
	path[len] = 0;
	return 0;
}

static __u32 pin_prog_of(const char *name)
{
	return (__u32)strtoul(name + sizeof(EPF_MATCH_NAME) - 1, NULL, 10);
}

/* If this process may not follow the path, the program is assumed to be there. */
bool pin_there(const char *name, char path[PATH_MAX])
{
	__s64 prog;

	if (read_link(name, path))
		return false;
	prog = prog_at(path);
	return prog < 0 || prog == pin_prog_of(name);
}

/* Make @path, which need not exist, absolute. */
static int real_path(const char *path, char real[PATH_MAX])
{
	const char *base = strrchr(path, '/');
	size_t len = base ? (size_t)(base - path) + 1 : 0;
	char dir[PATH_MAX];

	base = path + len;
	snprintf(dir, sizeof(dir), "%.*s", (int)len, path);
	if (!realpath(len ? dir : ".", real))
		return -errno;
	len = strlen(real);
	return snprintf(real + len, PATH_MAX - len, "/%s", base) < (int)(PATH_MAX - len) ?
		       0 :
		       -ENAMETOOLONG;
}

static int pin_make_link(const char *name, const char *path)
{
	char link[XDP_PATH_BYTES], real[PATH_MAX];
	int err = real_path(path, real);

	link_path(name, link);
	if (!err && symlink(real, link))
		err = -errno;
	if (err)
		fail_errno(-err, "%s: %m", path);
	return err;
}

static int pin_failed(const char *path, int err)
{
	if (err == -EEXIST)
		fail("%s already exists: remove it first; rules that use it keep their program",
		     path);
	else if (err == -EPERM || err == -EINVAL)
		fail("%s is not in a BPF file system: give a path below " EPF_XDP_BPFFS, path);
	else
		fail_errno(-err, "%s: %m", path);
	return err;
}

/* The program is pinned last: if this process ends before, nobody uses it. */
static int pin_pin(const char *name, const struct pin_want *want)
{
	int err;

	err = xdp_conf_pin(name, &want->conf);
	if (!err)
		err = xdp_pin_fd(want->rule, name, EPF_MATCH_PIN_RULE);
	if (!err)
		err = xdp_pin_fd(want->counts, name, outcome_map.pin);
	if (!err)
		err = pin_make_link(name, want->path);
	if (!err && bpf_obj_pin(want->prog, want->path))
		err = pin_failed(want->path, -errno);
	return err;
}

/* Call it with the lock held. */
static void epfctl_pin_sweep(void)
{
	char path[PATH_MAX], **names;
	int i;

	xdp_pin_list(&names);
	for (i = 0; names && names[i]; i++) {
		if (pin_is_name(names[i]) && !pin_there(names[i], path))
			xdp_unpin(names[i]);
		free(names[i]);
	}
	free(names);
}

int pin_add(const struct pin_want *want)
{
	char name[XDP_NAME_BYTES];
	int lock = xdp_pin_lock(), err;

	if (lock < 0)
		return lock;
	epfctl_pin_sweep();
	pin_name_of(want->conf.prog_id, name);
	err = xdp_pin_dir(name);
	if (!err) {
		err = pin_pin(name, want);
		if (err)
			xdp_unpin(name);
	}
	close(lock);
	return err;
}

/* Call it with the lock held. */
static int remove_pin(const char *path)
{
	char name[XDP_NAME_BYTES], at[PATH_MAX];
	int err = pin_find(path, name);

	if (!err && !pin_there(name, at))
		err = -ENOENT;
	if (!err && unlink(at))
		err = -errno;
	if (!err)
		xdp_unpin(name);
	return err;
}

int pin_remove(const char *path)
{
	int lock = xdp_pin_lock(), err;

	if (lock < 0)
		return lock;
	err = remove_pin(path);
	close(lock);
	if (err == -ENOENT)
		fail("no program is pinned at %s: 'epfctl status' shows where programs are", path);
	else if (err)
		fail_errno(-err, "removing %s: %m", path);
	return err;
}

void pin_sweep(void)
{
	int lock = open(EPF_XDP_BPFFS, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (lock >= 0 && !flock(lock, LOCK_EX))
		epfctl_pin_sweep();
	if (lock >= 0)
		close(lock);
}

int pin_read(const char *name, struct pin_state *state)
{
	int err;

	memset(state, 0, sizeof(*state));
	if (!pin_there(name, state->path))
		return -ENOENT;
	err = xdp_map_read(name, EPF_XDP_PIN_CONF, &state->conf);
	if (!err)
		err = xdp_map_read(name, EPF_MATCH_PIN_RULE, &state->rule);
	if (!err)
		err = outcome_read(name, &state->counts);
	return err;
}

int pin_find(const char *path, char *name)
{
	__s64 prog = prog_at(path);

	if (prog <= 0)
		return prog ? (int)prog : -ENOENT;
	pin_name_of((__u32)prog, name);
	return 0;
}
