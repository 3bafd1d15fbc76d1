// SPDX-License-Identifier: GPL-2.0
/*
 * load OBJECT... [--calling-module OBJECT...] [--without-perfmon OBJECT...]: does this
 * kernel's verifier accept every program of the objects, with each of its actions, alone and
 * of a cluster, and how many instructions does it process? Programs that call the module are
 * left out if it is not loaded; of the second list, those that do not call it. A program that
 * does not load is named, with the verifier's reason; one of a type that the kernel lacks is
 * skipped.
 *
 * The last list is loaded with CAP_BPF and CAP_NET_ADMIN only; the verifier then follows
 * mispredicted branches too. Kernels before 6.18 may refuse that; the reason is printed.
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <epf/xdp.h>

#include "../bpf/two_caps.h"
#include "../core/tap.h"

#define PROG_TYPE_NETFILTER 32 /* BPF_PROG_TYPE_NETFILTER of Linux 6.4 */
#define ATTACH_NETFILTER 45    /* BPF_NETFILTER */
#define INSNS_MAX 100000       /* limit for a program; the verifier's own is a million */

/* The constant "action" of bpf/xdp_dedup.bpf.c; each with the program for marks or
 * without.
 */
static const struct {
	const char *name;
	__u32 value;
	bool marks;
} actions[] = {
	{ "drop", EPF_XDP_DROP, false },
	{ "count", EPF_XDP_COUNT, false },
	{ "mark", EPF_XDP_MARK, true },
};

#define ACTIONS (sizeof(actions) / sizeof(actions[0]))
#define NO_ACTION ACTIONS

/* The constants of a program: an action, and whether it asks the filter of all of a cluster. */
struct variant {
	size_t action;
	bool cluster;
};

static char reason[256];
static bool calling_module; /* of the objects that follow, only those that call it */

/* The reason why a program does not load: the verifier's last line before its
 * statistics.
 */
static void learn(const char *text)
{
	const char *end = strstr(text, "\nprocessed "), *line;

	if (!end)
		return;
	for (line = end; line > text && line[-1] != '\n'; line--)
		;
	snprintf(reason, sizeof(reason), "%.*s", (int)(end - line), line);
}

static int keep(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	char *text;

	if (level != LIBBPF_WARN || vasprintf(&text, fmt, ap) < 0)
		return 0;
	learn(text);
	free(text);
	return 0;
}

static struct bpf_object *open_object(const char *path)
{
	struct bpf_object *obj = bpf_object__open(path);

	if (!obj) {
		printf("Bail out! %s: %s\n", path, strerror(errno));
		exit(1);
	}
	return obj;
}

/* Does it call the module, whose functions have this prefix? */
static bool calls_module(const struct bpf_object *obj)
{
	const struct btf *btf = bpf_object__btf(obj);
	__u32 i;

	for (i = 1; btf && i < btf__type_cnt(btf); i++) {
		const struct btf_type *t = btf__type_by_id(btf, i);

		if (btf_is_func(t) &&
		    !strncmp(btf__name_by_offset(btf, t->name_off), "bpf_epf_", 8))
			return true;
	}
	return false;
}

/* Is it left out: it calls the module, which is not loaded, or it does not, and only those that
 * do are wanted?
 */
static bool unwanted(const struct bpf_object *obj)
{
	if (calls_module(obj))
		return access("/sys/module/epochfilter", F_OK);
	return calling_module;
}

/* Load a program of @type that does nothing. Return: 0, or a negative errno. */
static int tried(__u32 type, __u32 attach)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = (enum bpf_attach_type)attach);
	static const struct bpf_insn nothing[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = 1 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int fd = bpf_prog_load((enum bpf_prog_type)type, "nothing", "GPL", nothing, 2, &opts);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

/* libbpf before 1.2 does not know the section. */
static bool set_netfilter(struct bpf_program *p)
{
	if (strcmp(bpf_program__section_name(p), "netfilter"))
		return false;
	bpf_program__set_type(p, (enum bpf_prog_type)PROG_TYPE_NETFILTER);
	bpf_program__set_expected_attach_type(p, (enum bpf_attach_type)ATTACH_NETFILTER);
	return true;
}

static bool has_constant(const struct bpf_object *obj, const char *name)
{
	return btf__find_by_name_kind(bpf_object__btf(obj), name, BTF_KIND_VAR) > 0;
}

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && !strcmp(text + n - m, end);
}

/* Is this a guest of "make check"? */
static bool in_part(void)
{
	return getenv("EPF_VM") && !getenv("EPF_KERNELS") && !getenv("EPF_THOROUGH");
}

/* Does such a guest leave out @action, alone or of a cluster? The program that counts is the one
 * that drops with another constant. Of the other two, which are one source, each is loaded once,
 * and so is what a cluster adds. This machine's kernel loads them all.
 */
static bool left_out(const struct variant *v)
{
	switch (actions[v->action].value) {
	case EPF_XDP_COUNT:
		return true;
	case EPF_XDP_DROP:
		return v->cluster;
	default:
		return !v->cluster;
	}
}

/* Is @program meant for that variant? One that only learns asks no filter of all. */
static bool goes_with(const struct bpf_object *obj, const char *program, const struct variant *v)
{
	size_t action = v->action;

	if (v->cluster && (!has_constant(obj, "epf_clustered") || ends_with(program, "_learn")))
		return false;
	if (!has_constant(obj, "action"))
		return action == NO_ACTION;
	if (action != NO_ACTION && in_part() && left_out(v))
		return false;
	return action != NO_ACTION && actions[action].marks == ends_with(program, "_mark");
}

/* Set the constants of @v in @obj. */
static int set_variant(struct bpf_object *obj, const struct variant *v)
{
	const __u32 clustered = v->cluster;
	int err = 0;

	if (v->action != NO_ACTION)
		err = bpf_map__set_initial_value(bpf_object__find_map_by_name(obj, ".rodata"),
						 &actions[v->action].value,
						 sizeof(actions[v->action].value));
	if (!err && v->cluster)
		err = bpf_map__set_initial_value(bpf_object__find_map_by_name(obj,
									      ".rodata.cluster"),
						 &clustered, sizeof(clustered));
	return err;
}

static int load(struct bpf_object *obj, const char *name, const struct variant *v,
		struct bpf_prog_info *info)
{
	struct bpf_program *p, *chosen = NULL;
	__u32 len = sizeof(*info);
	int err;

	bpf_object__for_each_program(p, obj) {
		bool is = !strcmp(bpf_program__name(p), name);

		bpf_program__set_autoload(p, is);
		if (!is)
			continue;
		chosen = p;
		if (set_netfilter(p) && tried(PROG_TYPE_NETFILTER, ATTACH_NETFILTER))
			return -ENOPROTOOPT;
	}
	reason[0] = 0;
	err = set_variant(obj, v) ?: bpf_object__load(obj);
	if (!err)
		err = bpf_obj_get_info_by_fd(bpf_program__fd(chosen), info, &len);
	return err;
}

static int load_bare(struct bpf_object *obj, const char *name, const struct variant *v,
		     struct bpf_prog_info *info)
{
	struct caps all;
	int err;

	if (!two_caps_leave(&all))
		return -errno;
	err = load(obj, name, v, info);
	if (!two_caps_restore(&all))
		return -errno;
	return err;
}

/* @bare: load without CAP_PERFMON. */
static void claim(const char *path, const char *name, const struct variant *v, bool bare)
{
	struct bpf_object *obj = open_object(path);
	const char *file = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	struct bpf_prog_info info = { 0 };
	int err = bare ? load_bare(obj, name, v, &info) : load(obj, name, v, &info);
	char what[128];

	snprintf(what, sizeof(what), "%.*s: %s%s%s%s%s", (int)strcspn(file, "."), file, name,
		 v->action == NO_ACTION ? "" : ", ",
		 v->action == NO_ACTION ? "" : actions[v->action].name,
		 v->cluster ? ", of a cluster" : "", bare ? ", without CAP_PERFMON" : "");
	if (err && bare && *reason && two_caps_may_fail())
		tap_ok(true, "%s # SKIP this kernel needs CAP_PERFMON: %s", what, reason);
	else if (err == -ENOPROTOOPT)
		tap_ok(true, "%s # SKIP does not load here: Linux 6.4 is needed", what);
	else if (err && strstr(reason, "bpf_timer cannot be used for PREEMPT_RT"))
		tap_ok(true, "%s # SKIP does not load here: %s", what, reason);
	else if (err)
		tap_ok(false, "%s does not load here: %s: %s", what, strerror(-err), reason);
	else
		tap_ok(info.verified_insns < INSNS_MAX,
		       "%s: %u instructions verified, %u bytes of machine code", what,
		       info.verified_insns, info.jited_prog_len);
	bpf_object__close(obj);
}

/* Each program of @path that goes with @v; @tell: load it. Return: the number of test points. */
static int each_of(const char *path, const struct variant *v, bool bare, bool tell)
{
	struct bpf_object *obj = open_object(path);
	struct bpf_program *p;
	int nr = 0;

	bpf_object__for_each_program(p, obj) {
		if (unwanted(obj) || !goes_with(obj, bpf_program__name(p), v))
			continue;
		if (tell)
			claim(path, bpf_program__name(p), v, bare);
		nr++;
	}
	bpf_object__close(obj);
	return nr;
}

/* The same with all variants. */
static int each(const char *path, bool bare, bool tell)
{
	struct variant v;
	int nr = 0;

	for (v.action = 0; v.action <= NO_ACTION; v.action++) {
		v.cluster = false;
		nr += each_of(path, &v, bare, tell);
		v.cluster = true;
		nr += each_of(path, &v, bare, tell);
	}
	return nr;
}

/* All objects of the command line. Return: the number of test points. */
static int all(char **paths, bool tell)
{
	bool bare = false;
	int nr = 0;

	calling_module = false;
	for (; *paths; paths++)
		if (!strcmp(*paths, "--without-perfmon")) {
			bare = true;
			calling_module = false;
		} else if (!strcmp(*paths, "--calling-module")) {
			calling_module = true;
		} else {
			nr += each(*paths, bare, tell);
		}
	return nr;
}

int main(int argc, char **argv)
{
	struct utsname kernel;
	int nr, err;

	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
	libbpf_set_print(keep);
	err = tried(BPF_PROG_TYPE_XDP, 0);
	if (err == -EPERM || err == -ENOSYS) {
		tap_skip_all("loading BPF programs is not permitted");
		return TAP_SKIPPED;
	}
	nr = all(argv + 1, false);
	tap_plan(nr);
	uname(&kernel);
	printf("# Linux %s\n", kernel.release);
	all(argv + 1, true);
	return nr ? tap_end() : 2;
}
