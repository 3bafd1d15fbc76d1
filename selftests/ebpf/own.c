// SPDX-License-Identifier: GPL-2.0
/*
 * usage: own [--module] OWN.bpf.o SLEEP.bpf.o
 *
 * Programs that include epf.bpf.h, loaded by libbpf only: one of each type shares a
 * filter with epfctl, in both directions; sleepable programs are refused. With --module
 * they were built with -DEPF_MODULE. EPFCTL is the tool.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../core/tap.h"
#include "own.h"

#define PINS "/sys/fs/bpf/epochfilter/"
#define PROG_TYPE_NETFILTER 32 /* of Linux 6.4, with its attach type */
#define ATTACH_NETFILTER 45
#define LOG_BYTES (1 << 20)
#define PATIENCE_S 60 /* or EPF_PATIENCE */

static const char *epfctl, *object;
static char name[32], *verifier;
static pid_t holder;
static bool module;

/* libbpf's last message, for a load that fails. */
static char said[4096];

static int keep(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	if (level == LIBBPF_WARN)
		vsnprintf(said, sizeof(said), fmt, ap);
	return 0;
}

static void explain(const char *func, int err)
{
	printf("# %s: %s: %s\n%s\n", func, strerror(-err), said, verifier);
}

/* Run the tool. Return: its exit status. */
__attribute__((format(printf, 1, 2))) static int epf(const char *fmt, ...)
{
	char args[256], line[512];
	va_list ap;
	int ret;

	va_start(ap, fmt);
	vsnprintf(args, sizeof(args), fmt, ap);
	va_end(ap);
	snprintf(line, sizeof(line), "%s --backend %s %s > /dev/null 2>&1", epfctl,
		 module ? "module" : "bpf", args);
	ret = system(line);
	return WIFEXITED(ret) ? WEXITSTATUS(ret) : -1;
}

static int epf_key(const char *verb, __u32 key)
{
	const __u8 *b = (const __u8 *)&key;

	return epf("%s %s --format hex %02x%02x%02x%02x", verb, name, b[0], b[1], b[2], b[3]);
}

static int use_map(struct bpf_object *obj, const char *map, const char *pin)
{
	struct bpf_map *m = bpf_object__find_map_by_name(obj, map);
	char path[96];
	int fd, ret;

	snprintf(path, sizeof(path), PINS "%s/%s", name, pin);
	fd = bpf_obj_get(path);
	if (!m || fd < 0)
		return -ENOENT;
	ret = bpf_map__reuse_fd(m, fd);
	close(fd);
	return ret;
}

/* Call before it is loaded; see choose(). */
static int use_filter(struct bpf_object *obj)
{
	int err;

	if (module)
		return 0;
	err = use_map(obj, "epf_table", "table");
	if (!err)
		err = use_map(obj, "epf_lines", "lines");
	return err ? err : use_map(obj, "epf_cpus", "cpus");
}

/* Return: the filter's id in the kernel; 0: it cannot be found. */
static __u32 filter_id(void)
{
	char line[4096] = "", *at;
	FILE *f;

	snprintf(line, sizeof(line), "%s --backend module show -j %s", epfctl, name);
	f = popen(line, "r");
	if (!f || !fgets(line, sizeof(line), f))
		line[0] = 0;
	if (f)
		pclose(f);
	at = strstr(line, "\"id\":");
	return at ? (__u32)strtoul(at + 5, NULL, 10) : 0;
}

/* Put the module's filter into the loaded object. */
static int choose(struct bpf_object *obj)
{
	struct bpf_program *prog = bpf_object__find_program_by_name(obj, "epf_choose");
	__u32 id = filter_id();
	LIBBPF_OPTS(bpf_test_run_opts, t, .ctx_in = &id, .ctx_size_in = sizeof(id));

	if (!prog || !id || bpf_prog_test_run_opts(bpf_program__fd(prog), &t))
		return -ENOENT;
	return (int)t.retval;
}

static void set_type(struct bpf_program *prog)
{
	if (strcmp(bpf_program__section_name(prog), "netfilter"))
		return;
	bpf_program__set_type(prog, PROG_TYPE_NETFILTER);
	bpf_program__set_expected_attach_type(prog, ATTACH_NETFILTER);
}

/* Open the object with one program that is to be loaded. */
static struct bpf_object *open_one(const char *path, const char *func, struct bpf_program **one)
{
	struct bpf_object *obj = bpf_object__open(path);
	struct bpf_program *prog;

	*one = NULL;
	bpf_object__for_each_program(prog, obj) {
		bool is = !strcmp(bpf_program__name(prog), func);

		bpf_program__set_autoload(prog,
					  is || !strcmp(bpf_program__name(prog), "epf_choose"));
		if (is)
			*one = prog;
		set_type(prog);
	}
	if (*one) {
		verifier[0] = said[0] = 0;
		bpf_program__set_log_buf(*one, verifier, LOG_BYTES);
	}
	return obj;
}

/* ---- a program that runs ---- */

struct running {
	struct bpf_object *obj;
	struct bpf_map *op, *verdict;
	int prog;
};

static bool start(struct running *r, const char *func, bool chosen)
{
	struct bpf_program *prog;
	int ret;

	r->obj = open_one(object, func, &prog);
	ret = !prog ? -ENOENT : chosen ? use_filter(r->obj) : 0;
	ret = ret ?: bpf_object__load(r->obj);
	if (!ret && module && chosen)
		ret = choose(r->obj);
	if (ret) {
		explain(func, ret);
		return false;
	}
	r->prog = bpf_program__fd(prog);
	r->op = bpf_object__find_map_by_name(r->obj, ".bss");
	r->verdict = bpf_object__find_map_by_name(r->obj, ".data");
	return r->op && r->verdict;
}

/* Run the program on a packet from @from. Return: the filter's answer. */
static int ask(const struct running *r, __u32 op, __u32 from)
{
	__u8 packet[64] = { 0x02, [12] = 0x08, [14] = 0x45, [17] = 50, [22] = 64, [23] = 17 };
	LIBBPF_OPTS(bpf_test_run_opts, t, .data_in = packet, .data_size_in = sizeof(packet));
	int verdict = OWN_NONE;
	__u32 zero = 0;

	memcpy(packet + 26, &from, sizeof(from));
	bpf_map_update_elem(bpf_map__fd(r->op), &zero, &op, 0);
	bpf_map_update_elem(bpf_map__fd(r->verdict), &zero, &verdict, 0);
	while (bpf_prog_test_run_opts(r->prog, &t))
		if (errno != EINTR && errno != EAGAIN)
			return OWN_NONE;
	bpf_map_lookup_elem(bpf_map__fd(r->verdict), &zero, &verdict);
	return verdict;
}

/* ---- claims ---- */

static bool is(const char *what, int got, int want)
{
	if (got != want)
		printf("# %s: %d, should be %d\n", what, got, want);
	return got == want;
}

static __u32 key_of(__u32 type, __u32 nr)
{
	__u8 b[4] = { 10, (__u8)type, 0, (__u8)nr };
	__u32 key;

	memcpy(&key, b, sizeof(key));
	return key;
}

static bool ours_is_found(const struct running *r, __u32 type)
{
	__u32 key = key_of(type, 1);

	return is("asked before", epf_key("test", key), 1) &&
	       is("its insertion", ask(r, OWN_INSERT, key), 0) &&
	       is("asked after", epf_key("test", key), 0);
}

static bool theirs_is_found(const struct running *r, __u32 type)
{
	__u32 key = key_of(type, 2);

	return is("before", ask(r, OWN_TEST, key), 0) && is("insert", epf_key("insert", key), 0) &&
	       is("after", ask(r, OWN_TEST, key), 1) &&
	       is("another key", ask(r, OWN_TEST, key_of(type, 3)), 0);
}

static bool twice(const struct running *r, __u32 type)
{
	__u32 key = key_of(type, 4);

	return is("first", ask(r, OWN_TEST_AND_INSERT, key), 0) &&
	       is("second", ask(r, OWN_TEST_AND_INSERT, key), 1) &&
	       is("asked", epf_key("test", key), 0);
}

static const struct {
	const char *func, *type;
} types[] = {
	{ "own_xdp", "XDP" },
	{ "own_tc", "tc" },
	{ "own_cgroup", "cgroup_skb" },
	{ "own_socket", "socket filter" },
	{ "own_netfilter", "netfilter" },
};
#define NR_TYPES (sizeof(types) / sizeof(types[0]))

/* A kernel before 6.4 has no programs at netfilter hooks, and libbpf may not know them
 * either.
 */
static bool known(const char *func)
{
	static const struct bpf_insn pass[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = 1 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, o,
		    .expected_attach_type = (enum bpf_attach_type)ATTACH_NETFILTER);
	int fd;

	if (strcmp(func, "own_netfilter"))
		return true;
	fd = bpf_prog_load((enum bpf_prog_type)PROG_TYPE_NETFILTER, NULL, "GPL", pass, 2, &o);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static void check_type(__u32 nr)
{
	const char *type = types[nr].type, *skip = "";
	struct running r = { 0 };
	bool no = !known(types[nr].func), up = no;

	if (no)
		skip = " # SKIP the kernel has no such programs";
	else
		up = start(&r, types[nr].func, true);
	tap_ok(up, "%s: it loads%s", type, skip);
	tap_ok(no || (up && ours_is_found(&r, nr)),
	       "%s: epfctl finds its insertions, and not before%s", type, skip);
	tap_ok(no || (up && theirs_is_found(&r, nr)),
	       "%s: it finds the insertions of epfctl, and nothing else%s", type, skip);
	tap_ok(no || (up && twice(&r, nr)), "%s: the first is absent, the second present%s", type,
	       skip);
	bpf_object__close(r.obj);
}

static void check_packet(void)
{
	struct running r = { 0 };

	tap_ok(start(&r, "own_packet", true) && is("first", ask(&r, 0, key_of(9, 1)), 0) &&
		       is("second", ask(&r, 0, key_of(9, 1)), 1) &&
		       is("another", ask(&r, 0, key_of(9, 2)), 0),
	       "XDP: a packet is absent, then present, and another one is absent");
	bpf_object__close(r.obj);
}

/* A lookup inserts nothing, and does not restart a window. */
static void check_peer(void)
{
	__u32 a = key_of(8, 1), b = key_of(8, 2);
	struct running r = { 0 };
	bool good = start(&r, "own_peer", true);

	good = good && is("asked", ask(&r, OWN_TEST, a), 0) &&
	       is("asked again", ask(&r, OWN_TEST, a), 0) &&
	       is("inserted", ask(&r, OWN_INSERT, a), 0) && is("found", ask(&r, OWN_TEST, a), 1) &&
	       is("another", ask(&r, OWN_INSERT_NEW, b), 0) &&
	       is("it again", ask(&r, OWN_INSERT_NEW, b), 1);
	tap_ok(good, "XDP: a peer is learnt where it is inserted, and not where it is asked for");
	good = good && is("an epoch ends", epf("rotate %s", name), 0) &&
	       is("older", ask(&r, OWN_INSERT_NEW, b), 2) &&
	       is("as old as before", ask(&r, OWN_TEST, b), 2) &&
	       is("inserted once more", ask(&r, OWN_INSERT, b), 0) &&
	       is("young again", ask(&r, OWN_TEST, b), 1);
	tap_ok(good, "XDP: what is inserted if it is new keeps its age");
	bpf_object__close(r.obj);
}

static void check_new(void)
{
	__u32 key = key_of(8, 3);
	struct running r = { 0 };

	tap_ok(start(&r, "own_new", true) && is("new", ask(&r, 0, key), 0) &&
		       is("an epoch ends", epf("rotate %s", name), 0) &&
		       is("known", ask(&r, 0, key), 2) &&
		       is("as old as before", ask(&r, 0, key), 2),
	       "XDP: so does a key of a program's own");
	bpf_object__close(r.obj);
}

static void check_unchosen(void)
{
	int none = module ? -EBUSY : -ENODEV;
	struct running r = { 0 };

	tap_ok(start(&r, "own_xdp", false) && is("test", ask(&r, OWN_TEST, key_of(9, 3)), none) &&
		       is("insertion", ask(&r, OWN_INSERT, key_of(9, 3)), none),
	       "loaded without a filter: nothing is known, nothing is inserted");
	bpf_object__close(r.obj);
}

static void check_nested(void)
{
	struct running r = { 0 };

	tap_ok(start(&r, "own_nested", true) && is("three", ask(&r, 3, 0), 0) &&
		       is("four", ask(&r, 4, 0), -EBUSY) && is("three again", ask(&r, 3, 0), 0),
	       "of four that it interrupts each has a reference: busy; of three: not");
	bpf_object__close(r.obj);
}

static void check_unheld(struct running *r)
{
	__u32 key = key_of(9, 4);

	tap_ok(is("insertion", ask(r, OWN_INSERT, key), 0) &&
		       is("test", ask(r, OWN_TEST, key), -ETIME) &&
		       is("another", ask(r, OWN_TEST, key_of(9, 5)), 0),
	       "nobody holds the filter: a key that is found is not known");
}

static void check_destroyed(struct running *r)
{
	tap_ok(is("destroy", epf("destroy --force %s", name), 0) &&
		       is("test", ask(r, OWN_TEST, key_of(9, 4)), -ENODEV),
	       "destroyed by force: nothing is known");
}

/* ---- programs that may sleep ---- */

/* Try to load it. Return: as bpf_object__load(). */
static int try_load(const char *path, const char *func, __u32 flags)
{
	struct bpf_program *prog;
	struct bpf_object *obj = open_one(path, func, &prog);
	int ret = !prog ? -ENOENT : use_filter(obj);

	if (!ret && flags)
		ret = bpf_program__set_flags(prog, flags);
	ret = ret ?: bpf_object__load(obj);
	bpf_object__close(obj);
	return ret;
}

static void check_refused(const char *path, const char *func, __u32 flags, const char *because)
{
	int ret = try_load(path, func, flags);
	bool may = known(func) && (ret != -EPERM || verifier[0]);
	bool good = !may || (ret && strstr(verifier, because));

	tap_ok(good, "%s is refused when it may sleep%s", func,
	       may ? "" : " # SKIP such programs cannot be loaded here");
	if (!good)
		explain(func, ret);
}

static const char *const sleepers[] = { "sleep_syscall", "sleep_fentry", "sleep_lsm",
					"sleep_uprobe" };
#define NR_SLEEPERS (sizeof(sleepers) / sizeof(sleepers[0]))

/* Syscall programs may call the module; other types are not allowed to, or cannot be
 * sleepable.
 */
static void check_sleepers(const char *path)
{
	size_t i;

	if (module)
		tap_ok(!try_load(path, sleepers[0], 0), "%s loads", sleepers[0]);
	for (i = module; i < NR_SLEEPERS; i++)
		check_refused(path, sleepers[i], 0, module ? "is not " : "leepable");
	for (i = 0; i < NR_TYPES; i++)
		check_refused(object, types[i].func, BPF_F_SLEEPABLE, "leepable");
}

/* ---- the filter ---- */

/* End its epochs in a process that ends with this one. */
static bool hold(void)
{
	const char *patience = getenv("EPF_PATIENCE");
	int i, most = 10 * (patience ? atoi(patience) : PATIENCE_S);

	fflush(stdout);
	holder = fork();
	if (!holder) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl(epfctl, epfctl, "hold", name, NULL);
		_exit(127);
	}
	for (i = 0; i < most; i++, usleep(100000))
		if (epf_key("test", key_of(9, 4)) == 0)
			return true;
	return false;
}

int main(int argc, char **argv)
{
	struct running first = { 0 };
	__u32 i;

	epfctl = getenv("EPFCTL");
	module = argc == 4 && !strcmp(argv[1], "--module");
	if (argc != 3 + module || !epfctl)
		return 2;
	object = argv[1 + module];
	libbpf_set_print(keep);
	verifier = malloc(LOG_BYTES);
	snprintf(name, sizeof(name), "epftest-own-%d", getpid());
	if (epf("create %s --time 1h --rate 1000 --rotate process", name)) {
		tap_skip_all("no filter can be made: needs root and BPF");
		return TAP_SKIPPED;
	}
	tap_plan((module ? 6 : 7) + 4 * NR_TYPES + 2 + NR_SLEEPERS + NR_TYPES);
	tap_ok(start(&first, "own_xdp", true), "a program loads");
	if (module) {
		check_nested();
	} else {
		check_unheld(&first);
		tap_ok(hold(), "somebody holds the filter: the key is present");
	}
	for (i = 0; i < NR_TYPES; i++)
		check_type(i);
	check_packet();
	check_peer();
	check_new();
	check_unchosen();
	check_sleepers(argv[2 + module]);
	check_destroyed(&first);
	bpf_object__close(first.obj);
	if (holder > 0)
		kill(holder, SIGKILL);
	epf("destroy --force %s", name);
	return tap_end();
}
