// SPDX-License-Identifier: GPL-2.0
/*
 * kfunc OBJECT: the functions of the module
 *
 *   - while a thread changes their options, lengths and keys: they return possible
 *     values only, and the kernel survives (EPF_FLIPS calls);
 *   - when the filter is destroyed by force: each returns ENODEV;
 *   - for callers other than root of the initial user namespace: they cannot get a
 *     filter by its id, neither by running root's program nor with a BPF token; with a
 *     token and a map that holds a filter they may use that filter.
 */
#include <epf/hash.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../core/tap.h"
#include "../module/lesser.h"
#include "../params.h"
#include "kfunc.h"
#include "libepf/epf.h"

#define NAME "selftest-kfunc"
#define FLIPS 100000ull
#define REPEAT 2000

static const struct epf_params params = { .name = NAME, PARAMS(4096, 2, 14, 70000) };

/**
 * struct progs - the programs and their memory
 * @take: gives the other programs the filter @shared->filter
 * @on: XDP, tc, syscall
 * @shared: see kfunc.h
 */
static struct {
	struct bpf_program *take;
	struct bpf_program *on[3];
	volatile struct kfunc *shared;
} progs;

static bool load(const char *path)
{
	static const char *const names[] = { "on_xdp", "on_tc", "on_syscall" };
	struct bpf_object *obj = bpf_object__open(path);
	int i;

	if (!obj || bpf_object__load(obj))
		return false;
	progs.take = bpf_object__find_program_by_name(obj, "take");
	for (i = 0; i < 3; i++)
		progs.on[i] = bpf_object__find_program_by_name(obj, names[i]);
	progs.shared = mmap(NULL, sizeof(struct kfunc), PROT_READ | PROT_WRITE, MAP_SHARED,
			    bpf_object__find_map_fd_by_name(obj, ".bss"), 0);
	return progs.shared != MAP_FAILED;
}

static bool run(const struct bpf_program *prog, int repeat)
{
	/* An IP packet; or an Ethernet frame with four tags. */
	static __u8 packet[64] = { 0x45, 0, 0, 64, [9] = 17 };
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	int i;

	for (i = 12; i < 28; i += 4)
		packet[i] = 0x81;
	if (bpf_program__type(prog) != BPF_PROG_TYPE_SYSCALL) {
		opts.data_in = packet;
		opts.data_size_in = sizeof(packet);
		opts.repeat = repeat;
	}
	return !bpf_prog_test_run_opts(bpf_program__fd(prog), &opts);
}

static bool take(__u32 id)
{
	progs.shared->filter = id;
	progs.shared->got = 0;
	return run(progs.take, 1) && progs.shared->got;
}

/* -------------------------------------------------- memory that changes ---- */

static bool flips_end;

static void flip(__u64 random)
{
	static const struct epf_pkt_opts some[] = {
		{ EPF_PKT_PACKET, EPF_LINK_IP, 0, 0 },
		{ EPF_PKT_PACKET, EPF_LINK_ETHER, 0, 0 },
		{ EPF_PKT_PACKET, EPF_LINK_SLL2, EPF_PKT_NO_MAC, 40 },
		{ EPF_PKT_FLOW, EPF_LINK_IP, EPF_PKT_NONIP_FRAME, 0 },
		{ EPF_PKT_PEER, EPF_LINK_IP, EPF_PKT_REVERSE | EPF_PKT_ERRORS,
		  EPF_PKT_PREFIX(24, 64) },
		{ EPF_PKT_CONVERSATION, EPF_LINK_ETHER, EPF_PKT_IFACE, 0 },
		{ EPF_PKT_PEER_PORT, EPF_LINK_IP, EPF_PKT_FIRST, 0 },
		{ EPF_PKT_FLOW, EPF_LINK_ETHER, EPF_PKT_MARK, 0 },
	};
	volatile struct kfunc *k = progs.shared;
	__u32 i = random >> 8 & 7;

	k->opts.link = some[i].link;
	k->opts.key = some[i].key;
	k->opts.flags = some[i].flags;
	k->opts.max_bytes = some[i].max_bytes;
	k->len = random >> 16 & 0x3ff;
	k->key[random >> 32 & (2 * EPF_KEY_MAX - 1)] = (__u8)random;
	k->digest = random;
}

static void *flip_all(void *arg)
{
	__u64 n = 0;

	while (!__atomic_load_n(&flips_end, __ATOMIC_RELAXED))
		flip(epf_word(++n, 1));
	return NULL;
}

/* The count is written by one program at a time. */
static void run_flipped(int i, __u64 calls)
{
	static const char *const where[] = { "XDP", "tc", "syscall" };
	volatile struct kfunc *k = progs.shared;
	pthread_t thread;
	bool good = true;

	k->calls = 0;
	k->bad = 0;
	k->gone = 0;
	__atomic_store_n(&flips_end, false, __ATOMIC_RELAXED);
	if (pthread_create(&thread, NULL, flip_all, NULL))
		exit(1);
	while (good && k->calls < calls)
		good = run(progs.on[i], REPEAT);
	__atomic_store_n(&flips_end, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	tap_ok(good && !k->bad && !k->gone, "%s: %llu calls whose options, lengths and keys change",
	       where[i], k->calls);
}

static void flipped(void)
{
	const char *wanted = getenv("EPF_FLIPS");
	__u64 calls = wanted ? strtoull(wanted, NULL, 10) : FLIPS;
	int i;

	for (i = 0; i < 3; i++)
		run_flipped(i, calls / 3);
}

/* --------------------------------------------------- destroyed by force ---- */

/* Options and lengths are valid here, because otherwise EINVAL comes first. */
static void destroyed(int dev)
{
	volatile struct kfunc *k = progs.shared;
	bool good;
	int i;

	if (epf_dev_destroy(dev, NAME, true))
		exit(1);
	for (i = 0; i < 3; i++) {
		memset((void *)&k->opts, 0, sizeof(k->opts));
		k->len = 8;
		k->calls = 0;
		k->gone = 0;
		good = run(progs.on[i], 1);
		tap_ok(good && k->calls && k->gone == k->calls,
		       "%s: each of %llu calls answers ENODEV: %llu",
		       bpf_program__name(progs.on[i]), k->calls, k->gone);
	}
	take(0);
}

/* ---------------------------------------------------------- who may not ---- */

static bool say(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool good = fd >= 0 && write(fd, text, strlen(text)) > 0;

	close(fd);
	return good;
}

static bool become_small_root(void)
{
	return !unshare(CLONE_NEWUSER | CLONE_NEWNS) && say("/proc/self/setgroups", "deny") &&
	       say("/proc/self/uid_map", "0 0 1") && say("/proc/self/gid_map", "0 0 1");
}

/* A child with other privileges runs root's program. */
static void by_other(bool (*become)(void), const char *who, __u32 id)
{
	int status;
	pid_t pid;

	progs.shared->filter = id;
	progs.shared->got = 9;
	pid = fork();
	if (!pid)
		_exit(!become() ? 2 : !run(progs.take, 1));
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		exit(1);
	if (WEXITSTATUS(status) == 2)
		tap_ok(true, "%s # SKIP cannot be had here", who);
	else
		tap_ok(!progs.shared->got, "%s runs root's program and gets no filter", who);
}

/* --------------------------------------------------------------- tokens ---- */

#define CMD_TOKEN_CREATE 36
#define FLAG_TOKEN (1u << 16)
#define FLAG_SLEEPABLE (1u << 4) /* sleepable, as syscall programs must be */
#define ATTR_BYTES 160

/* BPF_PROG_LOAD of 6.9 and later, which older headers do not have. */
struct load_attr {
	__u32 type, nr_insns;
	__u64 insns, license;
	__u32 log_level, log_size;
	__u64 log;
	__u32 kern_version, flags;
	char name[16];
	__u32 unused[14];
	__u64 fd_array;
	__u32 unused2[4];
	__s32 token, reserved[3];
};

/* Return: a descriptor of the module's BTF, which a program's calls need. */
static int module_btf(void)
{
	char name[64];
	__u32 id = 0;

	while (!bpf_btf_get_next_id(id, &id)) {
		struct bpf_btf_info info = {
			.name = (unsigned long)name,
			.name_len = sizeof(name),
		};
		__u32 len = sizeof(info);
		int fd = bpf_btf_get_fd_by_id(id);

		if (fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &len) &&
		    !strcmp(name, "epochfilter"))
			return fd;
		close(fd);
	}
	return -1;
}

/* Load the instructions of @prog as @type by @token. Return: descriptor or
 * negative errno.
 */
static int load_by_token(const struct bpf_program *prog, __u32 type, int btf, int token)
{
	static char log[65536];
	int fds[] = { 0, btf };
	union {
		struct load_attr a;
		char bytes[ATTR_BYTES];
	} u = { .a = {
			.type = type,
			.nr_insns = (__u32)bpf_program__insn_cnt(prog),
			.insns = (unsigned long)bpf_program__insns(prog),
			.license = (unsigned long)"GPL",
			.log_level = 1,
			.log_size = sizeof(log),
			.log = (unsigned long)log,
			.flags = FLAG_TOKEN | (type == BPF_PROG_TYPE_SYSCALL ? FLAG_SLEEPABLE : 0),
			.fd_array = (unsigned long)fds,
			.token = token,
		} };
	int fd;

	_Static_assert(sizeof(u) == ATTR_BYTES, "the kernel's layout");
	_Static_assert(offsetof(struct load_attr, token) == 144, "likewise");
	fd = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &u, sizeof(u));
	return fd < 0 ? -errno : fd;
}

/**
 * struct container - memory shared by the two processes
 * @fs: BPF file system, which root sets up to delegate everything
 * @fs_made: 1 when that is done; -1 when it failed
 * @token: descriptor or negative errno
 * @by_id: result of loading a program that asks for a filter by id
 * @by_id_xdp: result of loading it as an XDP program
 * @by_map: result of loading one that takes the filter from its map
 */
struct container {
	int fs;
	int fs_made;
	int token;
	int by_id;
	int by_id_xdp;
	int by_map;
};

static void wait_for(volatile int *word)
{
	while (!*word)
		usleep(1000);
}

static void contained(volatile struct container *c, int btf)
{
	struct {
		__u32 flags, fs;
	} attr = { 0, 0 };
	int mnt;

	if (!become_small_root()) {
		c->fs = -1;
		return;
	}
	c->fs = fsopen("bpf", 0);
	wait_for(&c->fs_made);
	mnt = fsmount(c->fs, 0, 0);
	attr.fs = (__u32)openat(mnt, ".", O_RDONLY);
	c->token = (int)syscall(SYS_bpf, CMD_TOKEN_CREATE, &attr, sizeof(attr));
	if (c->token < 0) {
		c->token = -errno;
		return;
	}
	c->by_id = load_by_token(progs.take, BPF_PROG_TYPE_SYSCALL, btf, c->token);
	c->by_id_xdp = load_by_token(progs.take, BPF_PROG_TYPE_XDP, btf, c->token);
	c->by_map = load_by_token(progs.on[0], BPF_PROG_TYPE_XDP, btf, c->token);
}

static int delegate(int fs)
{
	static const char *const what[] = { "delegate_cmds", "delegate_maps", "delegate_progs",
					    "delegate_attachs" };
	int i;

	for (i = 0; i < 4; i++)
		if (fsconfig(fs, FSCONFIG_SET_STRING, what[i], "any", 0))
			return -1;
	return fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) ? -1 : 1;
}

/* Runs in a process that shares this process's descriptors. */
static bool run_contained(volatile struct container *c, int btf)
{
	pid_t pid = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);

	if (!pid) {
		contained(c, btf);
		_exit(0);
	}
	if (pid < 0)
		return false;
	wait_for(&c->fs);
	if (c->fs > 0)
		c->fs_made = delegate(c->fs);
	waitpid(pid, NULL, 0);
	return c->fs_made > 0 && c->token > 0;
}

#define TOKEN_POINTS 4
static void with_token(__u32 id)
{
	volatile struct container *c = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
					    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	__u8 packet[64] = { 0x45 };
	int btf = module_btf(), i;

	tap_ok(take(id), "root gets a filter by its id");
	if (c == MAP_FAILED || btf < 0 || !run_contained(c, btf)) {
		for (i = 1; i < TOKEN_POINTS; i++)
			tap_ok(true, "a BPF token # SKIP the kernel has none: %d", c->token);
		return;
	}
	tap_ok(c->by_id == -EACCES, "with a token, a program that asks by id does not load: %d",
	       c->by_id);
	tap_ok(c->by_id_xdp == -EACCES, "nor as XDP program: %d", c->by_id_xdp);
	opts.data_in = packet;
	opts.data_size_in = sizeof(packet);
	progs.shared->got = 0;
	tap_ok(c->by_map > 0 && !bpf_prog_test_run_opts(c->by_map, &opts) && progs.shared->got == 2,
	       "one that takes it from its map loads and runs: %d", c->by_map);
}

int main(int argc, char **argv)
{
	int dev = epf_dev_open();
	__u32 id = 0;

	if (dev < 0) {
		tap_skip_all("no " EPF_DEVICE ": the module is not loaded");
		return TAP_SKIPPED;
	}
	if (!getenv("EPF_VERBOSE"))
		libbpf_set_print(NULL);
	tap_plan(1 + TOKEN_POINTS + 3 + 3 + 3);
	if (!tap_ok(load(argc > 1 ? argv[1] : "kfunc.bpf.o") &&
			    !epf_dev_create(dev, &params, NULL, &id),
		    "programs and a filter"))
		return tap_end();
	with_token(id);
	take(0);
	by_other(become_nobody, "nobody", id);
	by_other(drop_net_admin, "root without CAP_NET_ADMIN", id);
	by_other(become_small_root, "root of a namespace", id);
	take(id);
	flipped();
	destroyed(dev);
	return tap_end();
}
