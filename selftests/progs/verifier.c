// SPDX-License-Identifier: GPL-2.0
/*
 * Give every program of the objects named on the command line to the verifier, each
 * alone and with its own filter, and check that it is treated as expect.h says.
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../core/tap.h"
#include "../params.h"
#include "expect.h"
#include "libepf/epf.h"

#define PROG_TYPE_NETFILTER 32 /* of Linux 6.4, with its attach type */
#define ATTACH_NETFILTER 45
#define LOG_BYTES (1 << 20)

static const struct epf_params params = { .name = "selftest-progs", PARAMS(4096, 2, 14, 70000) };

/* Return: the text of the function's tag that begins with @prefix, or NULL. */
static const char *tag_of(const struct bpf_object *obj, const char *func, const char *prefix)
{
	const struct btf *btf = bpf_object__btf(obj);
	int id = btf__find_by_name_kind(btf, func, BTF_KIND_FUNC);
	__u32 n;

	for (n = 1; n < btf__type_cnt(btf); n++) {
		const struct btf_type *t = btf__type_by_id(btf, n);
		const char *name;

		if (!btf_is_decl_tag(t) || (int)t->type != id)
			continue;
		name = btf__name_by_offset(btf, t->name_off);
		if (!strncmp(name, prefix, strlen(prefix)))
			return name + strlen(prefix);
	}
	return NULL;
}

/* Is one of the texts, split by '|', in @log? */
static bool has_one(const char *log, const char *texts)
{
	char *copy = strdup(texts), *at = copy, *text;
	bool found = false;

	while (!found && (text = strsep(&at, "|")))
		found = strstr(log, text);
	free(copy);
	return found;
}

/* Return: the last @lines lines before the statistics. */
static char *last_words(const char *log, int lines)
{
	const char *end = strstr(log, "\nprocessed ");
	const char *from = end ? end : log + strlen(log);

	end = from;
	while (from > log && (from[-1] != '\n' || --lines > 0))
		from--;
	return strndup(from, (size_t)(end - from));
}

static void show(const char *text)
{
	while (*text) {
		size_t len = strcspn(text, "\n");

		printf("#   %.*s\n", (int)len, text);
		text += len + !!text[len];
	}
}

/* The program of every object that fills the slot, see slot.bpf.h; loaded and run next
 * to programs of the types that cannot acquire a filter.
 */
#define FILL "fill_slot"

struct one {
	struct bpf_object *obj;
	struct bpf_program *prog;
	struct bpf_program *fill;
	char *log;
};

static void set_filter(struct bpf_object *obj, __u32 id)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, obj) {
		const char *name = bpf_map__name(map);
		const char *dot = strstr(name, ".rodata");

		if (dot && !strcmp(dot, ".rodata"))
			bpf_map__set_initial_value(map, &id, sizeof(id));
	}
}

static bool open_one(struct one *one, const char *path, const char *name, __u32 filter)
{
	struct bpf_program *prog;

	one->obj = bpf_object__open(path);
	one->prog = NULL;
	if (!one->obj)
		return false;
	set_filter(one->obj, filter);
	one->fill = bpf_object__find_program_by_name(one->obj, FILL);
	bpf_object__for_each_program(prog, one->obj) {
		bool is = !strcmp(bpf_program__name(prog), name);

		bpf_program__set_autoload(prog, is || prog == one->fill);
		if (is)
			one->prog = prog;
		if (strcmp(bpf_program__section_name(prog), "netfilter"))
			continue;
		bpf_program__set_type(prog, PROG_TYPE_NETFILTER);
		bpf_program__set_expected_attach_type(prog, ATTACH_NETFILTER);
	}
	one->log[0] = 0;
	bpf_program__set_log_buf(one->prog, one->log, LOG_BYTES);
	return true;
}

/* Return: what the program returned, or a negative errno. */
static int run(const struct bpf_program *prog)
{
	unsigned char packet[64] = { 0x02, [12] = 0x08 };
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	int err;

	if (bpf_program__type(prog) != BPF_PROG_TYPE_SYSCALL) {
		opts.data_in = packet;
		opts.data_size_in = sizeof(packet);
	}
	err = bpf_prog_test_run_opts(bpf_program__fd(prog), &opts);
	return err ? err : (int)opts.retval;
}

/* A kernel without the type refuses its programs for that reason alone. */
static bool knows_type(const struct one *one)
{
	return libbpf_probe_bpf_prog_type(bpf_program__type(one->prog), NULL);
}

static void judge(struct one *one, const char *name, int err)
{
	const char *fails = tag_of(one->obj, name, EXPECT_TAG);
	bool runs = tag_of(one->obj, name, RUNS_TAG);
	char *said = last_words(one->log, 3);
	bool good;
	int ret = 0;

	if (fails) {
		good = tap_ok(err && has_one(said, fails), "%s is refused: %s", name, fails);
	} else {
		if (!err && runs)
			ret = run(one->fill) ?: run(one->prog);
		good = tap_ok(!err && (!runs || ret == RAN), "%s loads%s", name,
			      runs ? " and runs" : "");
		if (!err && !good)
			printf("# it returned %d\n", ret);
	}
	free(said);
	if (good)
		return;
	printf("# loading it: %s; the verifier said:\n", strerror(-err));
	said = last_words(one->log, 40);
	show(said);
	free(said);
}

static void check(const char *path, const char *name, int dev, char *log)
{
	struct one one = { .log = log };
	__u32 filter = 0;

	if (epf_dev_create(dev, &params, NULL, &filter) || !open_one(&one, path, name, filter)) {
		tap_ok(false, "%s: a filter and an object", name);
		return;
	}
	if (knows_type(&one))
		judge(&one, name, bpf_object__load(one.obj));
	else
		tap_ok(true, "%s # SKIP the kernel has no such programs", name);
	bpf_object__close(one.obj);
	epf_dev_destroy(dev, params.name, true);
}

/* Check each program of the objects. Return: their number. */
static int each(int nr, char **paths, int dev, char *log)
{
	struct bpf_program *prog;
	struct bpf_object *obj;
	int i, n = 0;

	for (i = 0; i < nr; i++) {
		obj = bpf_object__open(paths[i]);
		if (!obj)
			continue;
		bpf_object__for_each_program(prog, obj) {
			if (!strcmp(bpf_program__name(prog), FILL))
				continue;
			n++;
			if (dev >= 0)
				check(paths[i], bpf_program__name(prog), dev, log);
		}
		bpf_object__close(obj);
	}
	return n;
}

int main(int argc, char **argv)
{
	char *log = malloc(LOG_BYTES);
	int dev = epf_dev_open();

	libbpf_set_print(NULL);
	if (dev < 0) {
		tap_skip_all("no " EPF_DEVICE ": the module is not loaded");
		return TAP_SKIPPED;
	}
	tap_plan(each(argc - 1, argv + 1, -1, log) + 1);
	each(argc - 1, argv + 1, dev, log);
	tap_ok(tap_count > 0, "%d programs were given to the verifier", tap_count);
	close(dev);
	free(log);
	return tap_end();
}
