/* SPDX-License-Identifier: GPL-2.0 */
/*
 * epfctl: what the verbs share. One verb, one function cmd_*() that takes its
 * own argv (argv[0] is the verb) and returns an exit code.
 */
#ifndef EPFCTL_CMD_H
#define EPFCTL_CMD_H

#include <getopt.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <linux/epochfilter.h>

#include "common/array.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/output.h"
#include "common/parse.h"
#include "common/progress.h"
#include "libepf/backend.h"
#include "libepf/epf.h"
#include "caps.h"

/* verbs; those of dedup and attach are missing where their libraries were */

int cmd_plan(int argc, char **argv);
int cmd_create(int argc, char **argv);
int cmd_list(int argc, char **argv);
int cmd_show(int argc, char **argv);
int cmd_destroy(int argc, char **argv);
int cmd_insert(int argc, char **argv);
int cmd_test(int argc, char **argv);
int cmd_rotate(int argc, char **argv);
int cmd_clear(int argc, char **argv);
int cmd_swap(int argc, char **argv);
int cmd_save(int argc, char **argv);
int cmd_restore(int argc, char **argv);
int cmd_merge(int argc, char **argv);
int cmd_watch(int argc, char **argv);
int cmd_audit(int argc, char **argv);
int cmd_metrics(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_dedup(int argc, char **argv) __attribute__((weak));
int cmd_attach(int argc, char **argv) __attribute__((weak));
int cmd_detach(int argc, char **argv) __attribute__((weak));
int cmd_status(int argc, char **argv) __attribute__((weak));
int cmd_hold(int argc, char **argv) __attribute__((weak));
int cmd_log(int argc, char **argv) __attribute__((weak));
int cmd_pin(int argc, char **argv) __attribute__((weak));

/* opt.c: options */

/* Values of long options that have no letter. */
#define OPT_LONG 256
#define OPT_PROGRESS (OPT_LONG + 255)
#define OPT_BACKEND (OPT_LONG + 254)

/**
 * struct spec - what a verb takes
 * @usage: "VERB [options] NAME", one line
 * @help: the options, one a line, and a remark
 * @shorts: as for getopt, without the common options
 * @longs: ends with {0}; without the common options; at most 24
 */
struct spec {
	const char *usage;
	const char *help;
	const char *shorts;
	const struct option *longs;
};

/**
 * next_option() - getopt_long() with the common options
 * @argc: of the verb
 * @argv: of the verb
 * @spec: what it takes
 *
 * Handles -j, -p, --progress, --backend; --help prints and exits with 0.
 *
 * Return: the option; -1: no more, optind is set; '?': a bad one, and an
 * error is printed.
 */
int next_option(int argc, char **argv, const struct spec *spec);

/* What --backend says, or EPF_BACKEND in the environment (@what). */
bool choose_backend(const char *what, const char *name);

/* Are there from @min to @max operands from optind on? If not, an error. */
bool operands(int argc, char **argv, int min, int max, const struct spec *spec);

/* fail.c: errors with what to do */

/**
 * fail_call() - the error of a call to the module
 * @err: negative errno
 * @doing: "creating a filter"
 * @name: of the filter, or NULL
 *
 * Return: EXIT_FAIL.
 */
int fail_call(int err, const char *doing, const char *name);

/* The error of a file that is written with libepf/atomic_file.h; @renamed: of
 * struct epf_file. Return: EXIT_FAIL.
 */
int fail_write(const char *path, int err, bool renamed);

/* limits.c: the module's limits on number and memory of filters */

/* Is a filter of @bytes above the limit of one? */
bool limits_forbid(__u64 bytes);
/**
 * fail_limits() - as fail_call(), and in numbers where a limit has refused it
 * @err: negative errno; -E2BIG, -ENOSPC: a limit
 * @doing: "creating 'seen'"
 * @name: for fail_call()
 * @one_more: it makes a filter
 * @bytes: that it takes
 */
int fail_limits(int err, const char *doing, const char *name, bool one_more,
		__u64 bytes);

/* open.c: the device, filters and snapshots, with the error printed */

int open_device(void); /* negative: an error */
/* @name may be an id where no filter has it as its name. */
int open_filter(const char *name);
bool open_snapshot(const char *path, struct epf_snap_file *file);

/* promise.c: the options of plan and create, and the geometry they mean */

/**
 * struct promise - what is asked of a filter; zero: not said
 * @window: insertions
 * @time_ns: ns
 * @pps: insertions per second expected
 * @budget: false-positive rate
 * @limit: estimated rate above which it fails open; 1: never
 * @max_bytes: memory
 * @nr_lines: explicit geometry, with the next two
 * @lines_per_key: L, also without @nr_lines
 * @bits_per_key: k
 * @mode: enum epf_mode, with @has_mode
 * @kind: enum epf_kind
 * @slack: how long keys may stay after the window, as a share of it
 */
struct promise {
	__u64 window;
	__u64 time_ns;
	double pps;
	double budget;
	double limit;
	__u64 max_bytes;
	__u64 nr_lines;
	__u64 lines_per_key;
	__u64 bits_per_key;
	__u32 mode;
	bool has_mode;
	__u8 kind;
	double slack;
};

/**
 * struct planned - a filter that keeps a promise
 * @params: all but the name
 * @shape: of an owned kind
 * @bytes: memory of the lines, or of all of an owned kind
 * @epochs: complete epochs that make the window
 * @slack: how long keys stay after the window at most, as a share of it
 * @keys: distinct keys of a window that it was sized for; 0: not known
 * @fpr: predicted at the worst phase; 0: not known
 */
struct planned {
	struct epf_params params;
	struct epf_shape shape;
	__u64 bytes;
	__u32 epochs;
	double slack;
	double keys;
	double fpr;
};

/* Options of struct promise, in the verb's own table and help. */
enum {
	OPT_MODE = OPT_LONG,
	OPT_RATE,
	OPT_LIMIT,
	OPT_MEMORY,
	OPT_LINES,
	OPT_LINES_PER_KEY,
	OPT_BITS_PER_KEY,
	OPT_KIND,
	OPT_SLACK,
	OPT_PROMISE_END,
};
#define PROMISE_SHORTS "W:T:b:"
#define PROMISE_LONGS \
	{ "window", required_argument, NULL, 'W' }, \
	{ "time", required_argument, NULL, 'T' }, \
	{ "budget", required_argument, NULL, 'b' }, \
	{ "mode", required_argument, NULL, OPT_MODE }, \
	{ "rate", required_argument, NULL, OPT_RATE }, \
	{ "limit", required_argument, NULL, OPT_LIMIT }, \
	{ "memory", required_argument, NULL, OPT_MEMORY }, \
	{ "lines", required_argument, NULL, OPT_LINES }, \
	{ "lines-per-key", required_argument, NULL, OPT_LINES_PER_KEY }, \
	{ "bits-per-key", required_argument, NULL, OPT_BITS_PER_KEY }
extern const char promise_help[];

/* Return: false: an error is printed (also for an @opt that is not of these). */
bool promise_option(struct promise *p, int opt, const char *arg);
/* Return: false: an error is printed. */
bool promise_plan(const struct promise *p, struct planned *plan);

/* kind.c: other kinds than lanes */

#define KIND_LONGS \
	{ "kind", required_argument, NULL, OPT_KIND }, \
	{ "slack", required_argument, NULL, OPT_SLACK }
extern const char kind_help[];

/* As promise_option(), for what has KIND_LONGS too. */
bool kind_option(struct promise *p, int opt, const char *arg);

/* within.c: how long ago a key may have been inserted */

/**
 * parse_within() - the argument of --within
 * @arg: a number of epochs, or a duration, which is rounded up to epochs
 * @params: of the filter
 * @within: out: 1 + the greatest age, in epochs; at least 2
 * @ns: out: the duration; 0: it is a number of epochs
 *
 * Return: false: an error is printed.
 */
bool parse_within(const char *arg, const struct epf_params *params, __u32 *within,
		  __u64 *ns);
/* "2", or "10s": what gives @within and @ns again. */
struct text within_text(__u32 within, __u64 ns);

/* rotateopt.c: who ends the epochs of a filter that is pure BPF */
enum rotate { ROTATE_ANY, ROTATE_PROCESS, ROTATE_KERNEL };
bool parse_rotate(const char *text, enum rotate *who);
/* Can the kernel, if it is to? @module: of a filter there. Why not is told. */
bool rotate_possible(enum rotate who, bool module);
/* Size an owned kind. Return: false: an error is printed. */
bool kind_plan(const struct promise *p, struct planned *plan, double budget);
#define SHAPE_TEXT 256
void shape_text(char text[SHAPE_TEXT], __u8 kind, const struct epf_shape *shape);
json_t *shape_json(__u8 kind, const struct epf_shape *shape);

/* compare.c: plan --compare */

extern const char compare_help[];

/* Return: exit status. */
int compare(const struct promise *p, const struct planned *plan);

/* keys.c: keys from arguments, standard input and files */

enum key_format { KEYS_TEXT, KEYS_HEX, KEYS_JSON };

/**
 * struct keys - a batch, all of it sound
 * @bytes: the keys without gaps, or __u64 digests
 * @lens: of each key
 * @count: keys
 * @digests: which of the two
 */
struct keys {
	__u8 *bytes;
	__u16 *lens;
	__u32 count;
	bool digests;
	/* the reader's own */
	size_t used;
	size_t room;
	__u32 slots;
};

/**
 * struct key_input - where keys come from
 * @format: of a line
 * @nul: lines end with NUL
 * @digests: hex digests in place of keys
 * @args: keys, or "-" for standard input
 * @nr_args: how many
 * @files: paths
 * @nr_files: how many
 */
struct key_input {
	enum key_format format;
	bool nul;
	bool digests;
	char **args;
	int nr_args;
	const char **files;
	int nr_files;
};

#define KEY_FILES_MAX 64

enum {
	OPT_FORMAT = OPT_PROMISE_END,
	OPT_DIGEST,
	OPT_KEYS_END,
};
#define KEYS_SHORTS "f:0"
#define KEYS_LONGS \
	{ "file", required_argument, NULL, 'f' }, \
	{ "null", no_argument, NULL, '0' }, \
	{ "format", required_argument, NULL, OPT_FORMAT }, \
	{ "digest", no_argument, NULL, OPT_DIGEST }
extern const char keys_help[];

/* As promise_option(). @in->files has room for KEY_FILES_MAX. */
bool keys_option(struct key_input *in, int opt, const char *arg);

/* Takes one batch. Return: 0: go on; else an exit code. */
typedef int (*keys_fn)(void *ctx, const struct keys *keys);

/**
 * keys_read() - read all keys, batch by batch
 * @in: where from
 * @fn: called for every batch; a batch with a bad key is not passed on
 * @ctx: for @fn
 *
 * Return: 0, what @fn returned, or EXIT_FAIL with an error printed.
 */
int keys_read(const struct key_input *in, keys_fn fn, void *ctx);

/**
 * keys_describe() - tell the module what keys are about to be inserted
 * @filter: descriptor
 * @name: of it
 * @info: of it, before
 * @digests: they are digests
 *
 * Warns where the filter holds keys of packets or addresses. What goes wrong,
 * the insertion itself will tell.
 */
void keys_describe(int filter, const char *name, const struct epf_info *info,
		   bool digests);

/* Warn, once, of a batch that is asked for where the filter's keys are made of
 * something else, so that none of them can be present.
 */
void keys_check(const char *name, const struct epf_info *info,
		const struct keys *keys, enum key_format format);

/* pace.c: how fast the epochs of a filter can end */

void pace_print(const struct epf_params *p);
void pace_json(json_t *o, const struct epf_params *p);
void pace_warn(const struct promise *p, const struct epf_params *params);

/* info.c: a filter for people and for programs */

/* @bpf: the filter is pure BPF, not the module's. */
void info_print(const struct epf_info *info, bool bpf);
json_t *info_json(const struct epf_info *info, bool bpf);
void params_print(const struct epf_params *p, const struct epf_shape *shape,
		  __u32 epochs);
/* What keys are made of: a row, and an object. */
void desc_print(const struct epf_key_desc *d);
json_t *desc_json(const struct epf_key_desc *d);
json_t *params_json(const struct epf_params *p, const struct epf_shape *shape);

#endif /* EPFCTL_CMD_H */
