// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * BPF tokens (Linux 6.9): in a user namespace no capability counts for BPF, unless a
 * call of bpf(2) carries a token of the BPF file system that is mounted there. The
 * options of that file system, which only root outside can set, say what the token
 * allows.
 *
 * The calls that load an object are made by libbpf, which passes tokens from 1.4 on.
 * To have them with any libbpf, this file defines syscall(), by which libbpf calls
 * bpf(2). A call that makes something gets the token, unless it has one; every other
 * call goes on unchanged. The kernel ignores a token that does not allow a call.
 */
#include "ebpf.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BPFFS "/sys/fs/bpf"
/* From linux/bpf.h of Linux 6.9; the headers of the build may be older. */
#define TOKEN_CREATE 36
#define F_TOKEN_FD (1u << 16)
/* No attributes of a call that gets a token are longer. */
#define ATTR_BYTES 512
/* Inode of the initial user namespace (USER_NS_INIT_INO of linux/nsfs.h). */
#define INIT_USER_NS 0xeffffffdu

/* The calls that can carry a token: where their flags are, and where the token. */
static const struct place {
	int cmd;
	size_t flags, token;
} places[] = {
	{ BPF_MAP_CREATE, 16, 76 },
	{ BPF_PROG_LOAD, 44, 144 },
	{ BPF_BTF_LOAD, 32, 36 },
};

/* What create and attach need; @mark: what only 'attach --action mark' needs. */
static const struct need {
	const char *option, *names;
	bool mark;
} needs[] = {
	{ "delegate_cmds", "map_create:prog_load:btf_load", false },
	{ "delegate_maps", "array:percpu_array:array_of_maps", false },
	/* Attach type 0 is that of programs which are given none: of the socket filter
	 * by which libbpf probes, and of those for tc.
	 */
	{ "delegate_progs", "socket_filter:xdp", false },
	{ "delegate_attachs", "cgroup_inet_ingress:xdp", false },
	{ "delegate_progs", "sched_cls", true },
};

typedef long (*syscall_fn)(long nr, ...);
static pthread_once_t found = PTHREAD_ONCE_INIT, asked = PTHREAD_ONCE_INIT;
static syscall_fn libc_syscall;
static int token = -1;

static void find_libc(void)
{
	libc_syscall = (syscall_fn)dlsym(RTLD_NEXT, "syscall");
}

/* In the initial user namespace the kernel creates no token. */
static void make_token(void)
{
	struct {
		__u32 flags, bpffs;
	} attr = { 0 };
	int dir = open(BPFFS, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0)
		return;
	attr.bpffs = (__u32)dir;
	token = (int)syscall(__NR_bpf, TOKEN_CREATE, &attr, sizeof(attr));
	close(dir);
}

bool ebpf_token(void)
{
	pthread_once(&asked, make_token);
	return token >= 0;
}

static const struct place *token_place_of(long cmd)
{
	size_t i;

	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (places[i].cmd == cmd)
			return &places[i];
	return NULL;
}

/* Make the call with a copy of the attributes that has the token, and copy back what the
 * kernel wrote there.
 */
static long call_with(const struct place *p, void *attr, size_t bytes)
{
	__u32 own[ATTR_BYTES / sizeof(__u32)] = { 0 };
	size_t least = p->token + sizeof(__u32);
	long ret;
	int err;

	memcpy(own, attr, bytes);
	own[p->flags / sizeof(__u32)] |= F_TOKEN_FD;
	own[p->token / sizeof(__u32)] = (__u32)token;
	ret = libc_syscall(__NR_bpf, (long)p->cmd, own, bytes > least ? bytes : least);
	err = errno;
	own[p->flags / sizeof(__u32)] &= ~F_TOKEN_FD;
	own[p->token / sizeof(__u32)] = 0;
	memcpy(attr, own, bytes);
	errno = err;
	return ret;
}

static bool has_token(const struct place *p, const void *attr, size_t bytes)
{
	__u32 flags;

	if (bytes < p->flags + sizeof(flags))
		return false;
	memcpy(&flags, (const char *)attr + p->flags, sizeof(flags));
	return flags & F_TOKEN_FD;
}

/* Visible, so that libbpf finds it in epfctl and epfagent; libepf.map keeps it in the library. */
__attribute__((visibility("default"))) long syscall(long nr, ...)
{
	const struct place *p;
	va_list ap;
	long a[6];
	int i;

	va_start(ap, nr);
	for (i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	pthread_once(&found, find_libc);
	p = nr == __NR_bpf ? token_place_of(a[0]) : NULL;
	if (p && (size_t)a[2] <= ATTR_BYTES && !has_token(p, (void *)a[1], (size_t)a[2]) &&
	    ebpf_token())
		return call_with(p, (void *)a[1], (size_t)a[2]);
	return libc_syscall(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
}

bool ebpf_user_namespace(void)
{
	struct stat st;

	return !stat("/proc/self/ns/user", &st) && st.st_ino != INIT_USER_NS;
}

/* The options of the topmost mount at BPFFS; the caller frees them. */
static char *mount_options(void)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char *line = NULL, *options = NULL, *at;
	size_t room = 0;

	while (f && getline(&line, &room, f) > 0) {
		at = strstr(line, " - bpf ");
		if (!at || !strstr(line, " " BPFFS " "))
			continue;
		line[strcspn(line, "\n")] = 0;
		free(options);
		options = strdup(strrchr(at, ' ') + 1);
	}
	free(line);
	if (f)
		fclose(f);
	return options;
}

/* Does @option in @options delegate @name, of @len bytes? */
static bool delegated(const char *options, const char *option, const char *name, size_t len)
{
	const char *at = strstr(options, option);

	if (!at)
		return false;
	at += strlen(option) + 1;
	if (!strncmp(at, "any", 3) || !strncmp(at, "0x", 2))
		return true; /* numbers: a kernel without names for them */
	for (;;) {
		size_t its = strcspn(at, ":,");

		if (its == len && !strncmp(at, name, len))
			return true;
		if (at[its] != ':')
			return false;
		at += its + 1;
	}
}

static void add_missing(const char *options, const struct need *need, char *text, size_t room)
{
	const char *name = need->names;
	bool first = true;
	size_t len, at;

	for (; *name; name += len + (name[len] == ':')) {
		len = strcspn(name, ":");
		if (delegated(options, need->option, name, len))
			continue;
		at = strlen(text);
		if (first)
			snprintf(text + at, room - at, "%s%s=%.*s", at ? "," : "", need->option,
				 (int)len, name);
		else
			snprintf(text + at, room - at, ":%.*s", (int)len, name);
		first = false;
	}
}

bool ebpf_token_lacks(bool mark, char *text, size_t room)
{
	char *options = ebpf_token() ? mount_options() : NULL;
	size_t i;

	*text = 0;
	for (i = 0; options && i < sizeof(needs) / sizeof(needs[0]); i++)
		if (mark || !needs[i].mark)
			add_missing(options, &needs[i], text, room);
	free(options);
	return *text;
}
