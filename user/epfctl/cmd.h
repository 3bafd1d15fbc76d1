/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Code that the verbs of epfctl share. Each verb is one function cmd_*(), which
 * takes its own argv (argv[0] is the verb) and returns an exit code.
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
#include "common/ranks.h"
#include "libepf/backend.h"
#include "libepf/epf.h"
#include "libepf/plan.h"
#include "caps.h"

/* Verbs. The weak ones are NULL in a build without the libraries that they need. */

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
int cmd_agent(int argc, char **argv);
int cmd_cluster(int argc, char **argv);
int cmd_batch(int argc, char **argv);
int cmd_build(int argc, char **argv);
int cmd_dedup(int argc, char **argv) __attribute__((weak));
int cmd_attach(int argc, char **argv) __attribute__((weak));
int cmd_detach(int argc, char **argv) __attribute__((weak));
int cmd_status(int argc, char **argv) __attribute__((weak));
int cmd_hold(int argc, char **argv) __attribute__((weak));
int cmd_log(int argc, char **argv) __attribute__((weak));
int cmd_pin(int argc, char **argv) __attribute__((weak));
int cmd_apply(int argc, char **argv) __attribute__((weak));
int cmd_export(int argc, char **argv) __attribute__((weak));

/* cmd_agent.c: */

/* Ask the agent. Return: the reply, which has @member; NULL: an error is printed. */
json_t *agent_ask_for(const char *socket, json_t *request, const char *member);
/* A member that is text, until the next call; control characters, which names of files may
 * have, become '?'.
 */
const char *agent_text(const json_t *o, const char *name);

/* opt.c: options */

/* Values of long options that have no letter. */
#define OPT_LONG 256
#define OPT_PROGRESS (OPT_LONG + 255)
#define OPT_BACKEND (OPT_LONG + 254)

/**
 * struct spec - the command line of a verb
 * @usage: "VERB [options] NAME", one line
 * @help: the options, one per line, and a remark
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
 * @spec: its command line
 *
 * Handles -j, -p, --progress, --backend and --help.
 *
 * Return: the option; -1: no more options, optind is set; '?': the verb ends here
 * with EXIT_FAIL, because of an invalid option, an error is printed, or after
 * --help (help_was_printed()).
 */
int next_option(int argc, char **argv, const struct spec *spec);

/* The words of the command lines to come stand in files: argv[i] at @where[i], which errors
 * name. Options are single words, before the operands. NULL: no longer.
 */
void options_from(char *const *where);

/**
 * struct settings - what the common options say
 * @out_mode: -j, -p
 * @progress: --progress
 * @backend: --backend
 */
struct settings {
	enum out_mode out_mode;
	bool progress;
	enum epf_backend_choice backend;
};

/* Before a command: forget the options of the last one. Return: the settings that the
 * command may change.
 */
struct settings settings_begin(void);
void settings_restore(const struct settings *s);
/* Has the command printed its help? It has then done all that it was asked for. */
bool help_was_printed(void);

/* Select backend @name. @what, "--backend" or "EPF_BACKEND", is where it was given. */
bool choose_backend(const char *what, const char *name);

/* Are there @min to @max operands from optind on? If not, prints an error. */
bool operands(int argc, char **argv, int min, int max, const struct spec *spec);

/* NULL: this process is alone; else it is one of epfmpi, which has "audit" and "merge". */
extern const struct ranks *ranks;
/* The name of this program: epfctl or epfmpi. */
const char *program_name(void);

/* main.c: the table of verbs */

/* Run one command line: argv[0] is the program. Return: exit status. */
int run_command(int argc, char **argv);

/* words.c: command lines from a file */

#define WORDS_BYTES 65536u /* of a line, with a NUL after each word */
#define WORDS_MAX 4096

/**
 * struct words - a command line that was read
 * @word: NULL after the last; word[0] is left to the caller
 * @nr: number of words, with word[0]
 * @line: where it begins, from 1
 * @at: number of lines read so far
 * @why: error text
 */
struct words {
	char *word[WORDS_MAX + 2];
	int nr;
	__u64 line;
	__u64 at;
	const char *why;
	/* private to words.c */
	char text[WORDS_BYTES];
	size_t used;
};

/**
 * words_read() - read the next line that has words
 * @in: where from
 * @w: result; zeros before the first call
 *
 * Words are separated by blanks. '...' is taken as it is; in "..." a backslash quotes
 * " and itself; elsewhere it quotes the next character. A backslash before a newline
 * joins two lines. # at the beginning of a word begins a comment.
 *
 * Return: 1: a line; 0: there are no more; -1: a bad line, with @why, which was skipped;
 * -2: @in cannot be read, with errno.
 */
int words_read(FILE *in, struct words *w);

/* fail.c: errors that also say what to do */

/**
 * fail_call() - print the error of a call to the module
 * @err: negative errno
 * @doing: "creating a filter"
 * @name: of the filter, or NULL
 *
 * Return: EXIT_FAIL.
 */
int fail_call(int err, const char *doing, const char *name);

/* Print the error of writing a file with libepf/atomic_file.h. @renamed: from
 * struct epf_file. Return: EXIT_FAIL.
 */
int fail_write(const char *path, int err, bool renamed);

/* cmd_save.c: print the error of saving filter @name; @renamed: as for fail_write(). */
int save_failed(int err, const char *name, const char *path, bool renamed);

/* watch_view.c: watch on a terminal; NULL without ncurses */

/* Can the terminal show the view? */
bool view_possible(void) __attribute__((weak));
/* Show filter @name, or all if it is NULL, until q. Return: exit status. */
int watch_view(const char *name, __u64 interval_ns) __attribute__((weak));

/* limits.c: the module's limits on the number and memory of filters */

/* Is a filter of @bytes larger than the limit for one filter? */
bool limits_forbid(__u64 bytes);
/**
 * fail_limits() - like fail_call(), with the numbers if a limit was exceeded
 * @err: negative errno; -E2BIG, -ENOSPC: a limit was exceeded
 * @doing: "creating 'seen'"
 * @name: for fail_call()
 * @one_more: the call creates a filter
 * @bytes: memory that the filter needs
 */
int fail_limits(int err, const char *doing, const char *name, bool one_more, __u64 bytes);

/* open.c: open the device, filters and snapshots; prints errors */

int open_device(void); /* negative: an error */
/* Is /sys/fs/bpf a BPF file system? */
bool open_bpffs_there(void);
/* The error where /sys/fs/bpf is no BPF file system, and cannot become a lasting one. */
const char *open_no_bpffs(void);
/* @name may be an id if no filter has that name. */
int open_filter(const char *name);
/* Likewise, by the name alone, in the backends that the command may use. Prints no error
 * about the filter.
 */
int open_named(const char *name);
bool open_snapshot(const char *path, struct epf_snap_file *file);

/* open_input.c: files with keys or records; "-" is standard input */

struct stat;

/* The name of an input for messages. */
const char *input_name(const char *name);
/* Return: a descriptor, with @st set; -1: an error is printed. */
int open_input(const char *name, struct stat *st);

/* plan_request.c: the options of plan and create, and the geometry that follows from them */

/* Options of struct epf_plan_request, in the verb's own table and help. */
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
#define PROMISE_LONGS                                                                         \
	{ "window", required_argument, NULL, 'W' }, { "time", required_argument, NULL, 'T' }, \
		{ "budget", required_argument, NULL, 'b' },                                   \
		{ "mode", required_argument, NULL, OPT_MODE },                                \
		{ "rate", required_argument, NULL, OPT_RATE },                                \
		{ "limit", required_argument, NULL, OPT_LIMIT },                              \
		{ "memory", required_argument, NULL, OPT_MEMORY },                            \
		{ "lines", required_argument, NULL, OPT_LINES },                              \
		{ "lines-per-key", required_argument, NULL, OPT_LINES_PER_KEY },              \
	{                                                                                     \
		"bits-per-key", required_argument, NULL, OPT_BITS_PER_KEY                     \
	}
extern const char plan_help[];

/* Return: false: an error is printed (also for an @opt that is not one of these). */
bool plan_option(struct epf_plan_request *p, int opt, const char *arg);
/* Return: false: an error is printed. */
bool plan_geometry(const struct epf_plan_request *p, struct epf_planned *plan);
/* The same for epochs that end by the wall clock; it raises @p->pps. */
bool plan_aligned(struct epf_plan_request *p, struct epf_planned *plan);

/* kind.c: kinds other than lanes */

#define KIND_LONGS                                          \
	{ "kind", required_argument, NULL, OPT_KIND },      \
	{                                                   \
		"slack", required_argument, NULL, OPT_SLACK \
	}
extern const char kind_help[];

/* Like plan_option(), for verbs that also take KIND_LONGS. */
bool kind_option(struct epf_plan_request *p, int opt, const char *arg);
/* The argument of --kind that means this very shape. */
void kind_put(FILE *out, __u8 kind, const struct epf_shape *shape);

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
bool parse_within(const char *arg, const struct epf_params *params, __u32 *within, __u64 *ns);
/* "2" or "10s": the text that parse_within() turns into @within and @ns. */
struct text within_text(__u32 within, __u64 ns);

/* rotateopt.c: what ends the epochs of a pure BPF filter */
enum rotate { ROTATE_ANY, ROTATE_PROCESS, ROTATE_KERNEL };
bool parse_rotate(const char *text, enum rotate *who);
/* What ROTATE_ANY means for a filter that is created: the kernel, where BPF timers work. */
enum rotate rotate_default(enum rotate asked, bool module, bool align);
/**
 * rotate_create() - create a filter, as epf_dev_create_opts()
 * @dev: backend
 * @params: as there
 * @opts: as there; gets the flag of a timer
 * @who: who ends its epochs; ROTATE_ANY becomes what was made: where the kernel refuses a timer
 *	(older ones, without CAP_PERFMON), a process
 * @id: as there
 */
int rotate_create(int dev, const struct epf_params *params, struct epf_create_opts *opts,
		  enum rotate *who, __u32 *id);
/* If the kernel is to end the epochs, can it? @module: the filter is the module's.
 * If not, prints an error with the reason.
 */
bool rotate_possible(enum rotate who, bool module);
#define SHAPE_TEXT 256
void shape_text(char text[SHAPE_TEXT], __u8 kind, const struct epf_shape *shape);
json_t *shape_json(__u8 kind, const struct epf_shape *shape);

/* compare.c: plan --compare */

extern const char compare_help[];

/* Return: exit status. */
int compare(const struct epf_plan_request *p, const struct epf_planned *plan);

/* plan_plot.c: draw @plan, and what other budgets take, into the file @path; see plot.h.
 * Return: 0, or EXIT_FAIL with an error printed.
 */
int plan_plot(const struct epf_plan_request *asked, const struct epf_planned *plan,
	      const char *path);

/* plan_cluster.c: plan --cluster */

#define PLAN_CLUSTER_RATE_MAX 10e6
#define PLAN_CLUSTER_HOSTS_MAX 1024 /* as COVERAGE_HOSTS_MAX of cluster/coverage.h */

struct cluster_plan;

extern const char plan_cluster_help[];

/* @asked: window, budget and the rate of all @hosts; @result is valid until the next call.
 * Return: false: an error is printed.
 */
bool plan_cluster(const struct epf_plan_request *asked, __u64 hosts, struct cluster_plan **result);
json_t *plan_cluster_json(const struct cluster_plan *c, __u64 hosts);
void plan_cluster_print(const struct cluster_plan *c, __u64 hosts);

/* keys.c: keys from arguments, standard input and files */

enum key_format { KEYS_TEXT, KEYS_HEX, KEYS_JSON };

/**
 * struct keys - a batch of valid keys
 * @bytes: the keys without gaps, or __u64 digests
 * @lens: length of each key
 * @count: number of keys
 * @digests: @bytes holds digests
 */
struct keys {
	__u8 *bytes;
	__u16 *lens;
	__u32 count;
	bool digests;
	/* private to the reader */
	size_t used;
	size_t room;
	__u32 slots;
};

/**
 * struct key_input - where keys come from
 * @format: of a line
 * @nul: lines end with NUL
 * @digests: hex digests instead of keys
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
#define KEYS_LONGS                                                                    \
	{ "file", required_argument, NULL, 'f' }, { "null", no_argument, NULL, '0' }, \
		{ "format", required_argument, NULL, OPT_FORMAT },                    \
	{                                                                             \
		"digest", no_argument, NULL, OPT_DIGEST                               \
	}
extern const char keys_help[];

/* Like plan_option(). @in->files has room for KEY_FILES_MAX paths. */
bool keys_option(struct key_input *in, int opt, const char *arg);

/* Processes one batch. Return: 0: continue; otherwise an exit code. */
typedef int (*keys_fn)(void *ctx, const struct keys *keys);

/**
 * keys_read() - read all keys, batch by batch
 * @in: where from
 * @fn: called for every batch; a batch with an invalid key is not passed on
 * @ctx: for @fn
 *
 * Return: 0, what @fn returned, or EXIT_FAIL with an error printed.
 */
int keys_read(const struct key_input *in, keys_fn fn, void *ctx);

/**
 * keys_describe() - tell the module which kind of keys will be inserted
 * @filter: descriptor
 * @name: of the filter
 * @info: of the filter, before the insertion
 * @digests: the keys are digests
 *
 * Warns if the filter holds keys of packets or addresses. Errors are ignored:
 * the insertion itself reports them.
 */
void keys_describe(int filter, const char *name, const struct epf_info *info, bool digests);

/* Warn once if the filter's keys are made of something else than those of the
 * looked-up batch, so that none of the batch can be present.
 */
void keys_check(const char *name, const struct epf_info *info, const struct keys *keys,
		enum key_format format);

/* pace.c: how fast the epochs of a filter can end */

void pace_print(const struct epf_params *p);
void pace_json(json_t *o, const struct epf_params *p);
void pace_warn(const struct epf_plan_request *p, const struct epf_params *params);

/* info.c: describe a filter as text and as JSON */

/* @bpf: the filter is a pure BPF filter, not one of the module. */
void info_print(const struct epf_info *info, bool bpf);
json_t *info_json(const struct epf_info *info, bool bpf);
void params_print(const struct epf_params *p, const struct epf_shape *shape, __u32 epochs);
/* What keys are made of: as a row of text, and as an object. */
void desc_print(const struct epf_key_desc *d);
json_t *desc_json(const struct epf_key_desc *d);
json_t *params_json(const struct epf_params *p, const struct epf_shape *shape);

#endif /* EPFCTL_CMD_H */
