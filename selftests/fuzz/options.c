// SPDX-License-Identifier: GPL-2.0
/*
 * Command lines and numbers. Any words are given to the tool's own main(), with a
 * simulated kernel: requests to it are valid, and failures print errors. An accepted
 * number is in its range, and printed and parsed again it is the same.
 *
 * Input: one byte: NUMBERS, or the kernel's answer, with PURE for pure BPF filters, for
 * attach only; the rest is one text, or words that end with newlines.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

/* No file exists, and standard input is empty. */
static int no_open(const char *path, int flags)
{
	errno = ENOENT;
	return -1;
}

static ssize_t no_read(int fd, void *to, size_t room)
{
	return 0;
}

#include "epfctl/opt.c"
#define open no_open
#define read no_read
#include "records/stream.c"
#define send send_keys /* which is another function in socket.h */
#include "epfctl/keys.c"
#undef open
#undef read
#undef send
#define main epfctl_main
#include "epfctl/main.c"
#undef main
#include "common/parse.c"
#include "epfctl/build.h"
#include "epfctl/cmd_audit.h"
#include "epfctl/dedup.h"
#include "epfctl/ingress.h"
#include "epfctl/nf.h"
#include "epfctl/pin.h"
#include "epfctl/plot.h"
#include "epf/packet.h"
#include "epf/window.h"
#include "kinds/compare.h"
#include "merge.h"
#include "query/kinds.h"

#include "options_pure.h"
#include "sink.h"
#include "snapshot.h"

#define NUMBERS 0x80
#define PURE 0x40
#define OPERANDS_MAX 24
#define TEXT_MAX 1024

static bool watching;  /* a loop that only a signal ends */
static bool reporting; /* numbers on stderr, since stdout may be a capture */

void __wrap_catch_signals(void);
void __wrap_catch_signals(void)
{
	interrupted = watching ? SIGINT : 0;
}

/* The kernel: every call succeeds, or every call fails with the same error. */
static int kernel_err;

static bool name_is_sound(const char *name)
{
	size_t len = strnlen(name, EPF_NAME_LEN);

	return len && len < EPF_NAME_LEN && name[0] != '.' &&
	       strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
			    "abcdefghijklmnopqrstuvwxyz") == len;
}

static int descriptor(void)
{
	return kernel_err ? kernel_err : open("/dev/null", O_RDWR | O_CLOEXEC);
}

int epf_dev_open(void)
{
	return descriptor();
}

int epf_dev_create_opts(int dev, const struct epf_params *p, const struct epf_create_opts *o,
			__u32 *id)
{
	struct epf_window w;
	struct epf_geom g;

	law(o->size == sizeof(*o), "create: size of the options");
	law(name_is_sound(p->name), "create: name");
	law(p->kind <= EPF_KIND_MAX && p->hash <= EPF_HASH_MAX, "create: kinds");
	law(!o->flags || (o->flags == EPF_CREATE_ALIGN && !p->kind && p->mode == EPF_MODE_TIME),
	    "create: flags");
	law(p->kind ?
		    (o->shape->all[0] == p->kind || epf_kind_epochs(p, o->shape)) && !p->nr_lines :
		    !epf_geom_init(&g, p->nr_lines, p->lines_per_key, p->bits_per_key),
	    "create: geometry");
	law(!epf_window_init(&w, p->mode, p->refresh, p->window_inserts, p->window_ns),
	    "create: window");
	law(p->budget_ppt && p->budget_ppt <= p->limit_ppt && p->limit_ppt <= EPF_RATE_ONE,
	    "create: budget and limit");
	if (id)
		*id = 7;
	return 0;
}

int epf_dev_create(int dev, const struct epf_params *p, const __u64 key[2], __u32 *id)
{
	const struct epf_create_opts o = { .size = sizeof(o), .key = key };

	law(!p->kind, "create: lanes");
	return epf_dev_create_opts(dev, p, &o, id);
}

static void law_compared(const struct epf_compare_req *req)
{
	law(req->keys_per_window >= 1 && req->budget >= 1e-9 && req->budget <= 0.5 &&
		    req->slack >= 0 && req->slack <= 1,
	    "compare: keys, budget, slack");
}

int epf_compare_kind(__u32 number, const struct epf_compare_req *req, struct epf_compared *row)
{
	law_compared(req);
	*row = (struct epf_compared){ .kind = "kind", .bytes = 4096, .epochs = 7, .slack = 0.1 };
	row->shape.all[0] = number;
	return req->slack && req->slack < 0.1 ? -ENOSPC : 0;
}

const char *epf_kind_name(__u32 number)
{
	static const char *const names[] = { "lanes", "ge",   "gebl",  "apbf",   "apbbf",
					     "tlbf",  "dict", "chain", "elastic" };

	return number < sizeof(names) / sizeof(names[0]) ? names[number] : NULL;
}

void epf_compare(const struct epf_compare_req *req, struct epf_compared rows[EPF_COMPARE_KINDS])
{
	int i;

	law_compared(req);
	for (i = 0; i < EPF_COMPARE_KINDS; i++)
		rows[i] = (struct epf_compared){ .kind = "kind",
						 .promise = "",
						 .err = i & 1 ? -ENOSPC : 0 };
}

int epf_dev_destroy(int dev, const char *name, bool force)
{
	law(name_is_sound(name), "destroy: name");
	return 0;
}

int epf_dev_list(int dev, __u32 **ids)
{
	*ids = calloc(2, sizeof(**ids));
	return *ids ? 2 : -ENOMEM;
}

int epf_dev_filter(int dev, const char *name)
{
	law(name_is_sound(name), "open: name");
	return strcmp(name, "none") ? descriptor() : -ENOENT;
}

int epf_dev_filter_id(int dev, __u32 id)
{
	return descriptor();
}

int epf_dev_swap(int dev, const char *a, const char *b)
{
	law(name_is_sound(a) && name_is_sound(b), "swap: names");
	return strcmp(a, "none") && strcmp(b, "none") ? 0 : -ENOENT;
}

static const struct epf_params some = {
	.name = "some",
	.lines_per_key = 2,
	.bits_per_key = 10,
	.nr_lines = 64,
	.window_inserts = 700,
	.budget_ppt = 1000,
	.limit_ppt = 2000,
};

int epf_filter_info(int filter, struct epf_info *info)
{
	memset(info, 0, sizeof(*info));
	info->params = some;
	info->id = 7;
	info->epoch = 8;
	return 0;
}

int epf_filter_batch(int filter, unsigned long cmd, struct epf_batch *b)
{
	const __u16 *lens = (const __u16 *)(size_t)b->lens;
	__u8 *ages = (__u8 *)(size_t)b->ages;
	__u32 i;

	law(b->count <= EPF_BATCH_MAX && !b->key_len, "batch: keys");
	law(!(b->flags & ~EPF_BATCH_MASK), "batch: flags");
	law(!lens == !!(b->flags & EPF_BATCH_DIGESTS), "batch: lengths");
	law(cmd != EPF_IOC_INSERT || (!b->ages && !b->bitmap), "batch: insert");
	for (i = 0; i < b->count; i++) {
		law(!lens || (lens[i] >= 1 && lens[i] <= EPF_KEY_MAX), "batch: a length");
		if (ages)
			ages[i] = i % 9 < 8 ? i % 9 : EPF_AGE_ABSENT;
	}
	b->done = b->count;
	b->present = b->count - b->count / 9;
	return 0;
}

int epf_filter_describe(int filter, struct epf_key_desc *desc)
{
	law(desc->kind <= EPF_KEYS_MAX, "a kind of key");
	return 0;
}

int epf_filter_rotate(int filter, __u32 count, __u64 *epoch)
{
	law(count >= 1 && count <= EPF_EPOCHS, "rotate: epochs");
	*epoch = 8 + count;
	return 0;
}

int epf_filter_clear(int filter)
{
	return 0;
}

static const struct epf_snap_header snapshot = {
	.params = { .name = "saved",
		    .lines_per_key = 1,
		    .bits_per_key = 5,
		    .nr_lines = 64,
		    .mode = EPF_MODE_TIME,
		    .window_ns = 1,
		    .budget_ppt = 1,
		    .limit_ppt = 1 },
	.epoch_begin = 8,
	.epoch_end = 9,
};

int epf_snap_open(const char *path, struct epf_snap_file *f, epf_progress_fn progress, void *ctx,
		  enum epf_snap_fault *fault)
{
	memset(f, 0, sizeof(*f));
	f->header = snapshot;
	*fault = strlen(path) % (EPF_SNAP_LONGER + 1);
	if (*fault == EPF_SNAP_IO)
		return -EISDIR;
	return *fault ? -EBADMSG : 0;
}

const char *epf_snap_fault_advice(enum epf_snap_fault fault)
{
	return fault ? "throw it away" : "";
}

int epf_dev_find(int dev, const char *name)
{
	law(name_is_sound(name), "find: name");
	return descriptor();
}

const char *epf_snap_fault_text(enum epf_snap_fault fault)
{
	return fault ? "is wrong" : "is sound";
}

void epf_snap_let_go(const struct epf_snap_file *f, size_t from, size_t to)
{
}

void epf_snap_close(struct epf_snap_file *f)
{
}

int epf_snap_restore(int filter, const struct epf_snap_file *f)
{
	return 0;
}

int epf_snap_save(int filter, const char *path, epf_progress_fn progress, void *ctx,
		  struct epf_snap_header *header)
{
	*header = snapshot;
	return 0;
}

enum epf_merge_fault epf_merge_plan(struct epf_merge *m)
{
	law(m->nr >= 1 && m->nr <= EPF_MERGE_MAX && m->file, "merge: files");
	m->header = snapshot;
	return m->nr % 4 ? EPF_MERGE_OK : EPF_MERGE_KEY;
}

int epf_merge_share(struct epf_merge *m)
{
	abort(); /* this process is alone */
}

int epf_merge_save(struct epf_merge *m, const char *path, bool *saved)
{
	law(path && m->header.params.limit_ppt >= m->header.params.budget_ppt, "merge: limit");
	*saved = !kernel_err;
	return kernel_err;
}

/* The text "packet --no-mac --bytes 64" must give the same options again. */
static void options_again(const struct epf_pkt_opts *o)
{
	struct epf_pkt_opts again = { .link = o->link };
	char *word, *rest;

	law(!epf_pkt_opts_check(o), "packet options go together");
	sink_clear();
	pkt_print(o);
	fflush(stdout);
	word = strtok_r(sink_out.text, " ", &rest);
	law(pkt_option(&again, OPT_KEY, word), "a key is printed");
	while ((word = strtok_r(NULL, " ", &rest))) {
		static const struct option known[] = { PKT_LONGS };
		const struct option *is = known;

		while (strcmp(word + 2, is->name))
			is++;
		if (is->has_arg)
			word = strtok_r(NULL, " ", &rest);
		law(word && pkt_option(&again, is->val, word), "and its options");
	}
	law(pkt_options_ok(&again, EPF_PKT_SCOPES), "which go together");
	law(!memcmp(o, &again, sizeof(again)), "which mean the same again");
	sink_clear();
}

int dedup_run(struct dedup_ask *ask, struct dedup_result *result)
{
	options_again(&ask->key);
	law(!ask->window != !ask->time_ns, "dedup: one window");
	law(ask->window <= EPF_INSERTS_MAX && ask->time_ns <= EPF_NS_MAX,
	    "dedup: a window that is not too long");
	law(ask->budget >= 1e-9 && ask->budget <= .5, "dedup: budget");
	law(ask->pps >= 0 && (!ask->pps || ask->time_ns), "dedup: rate");
	law(ask->max_bytes && ask->in && ask->out, "dedup: files and memory");
	law(ask->format >= -1 && ask->format <= FORMAT_PCAPNG, "dedup: format");
	law(ask->method <= METHOD_FILTER, "dedup: method");
	reporting = out_mode == OUT_TEXT;
	result->planned.params = some;
	result->info.params = some;
	return 0;
}

int build_run(struct build_ask *ask, struct build_result *result)
{
	law(ask->out && ask->nr_files > 0 && ask->nr_files <= BUILD_FILES_MAX, "build: operands");
	law(!ask->like != !ask->plan_request.time_ns, "build: one window");
	law(!ask->plan_request.kind, "build: kind");
	law(*ask->name && strlen(ask->name) < sizeof(ask->name) && parse_name(ask->name),
	    "build: a name that filters may have");
	law(ask->hash <= EPF_HASH_MAX, "build: hash");
	result->planned.params = some;
	result->info.params = some;
	return 0;
}

#include "options_attach.h"

int cmd_doctor(int argc, char **argv)
{
	return EXIT_YES;
}

int cmd_metrics(int argc, char **argv)
{
	return cmd_doctor(argc, argv);
}

int cmd_agent(int argc, char **argv)
{
	return cmd_doctor(argc, argv);
}

int cmd_cluster(int argc, char **argv)
{
	return cmd_doctor(argc, argv);
}

int cmd_batch(int argc, char **argv)
{
	return cmd_doctor(argc, argv);
}

int plan_plot(const struct epf_plan_request *asked, const struct epf_planned *plan,
	      const char *path)
{
	law(plot_named(path), "plot: a format");
	law(plan->bytes && plan->budget > 0 && asked->kind == plan->params.kind, "plot: a plan");
	return 0;
}

int audit_run(const struct audit_ask *ask)
{
	int i;

	law(ask->target && ask->nr_keys > 0 && ask->nr_keys <= AUDIT_KEYS_MAX, "audit: operands");
	for (i = 0; i < AUDIT_OUTS; i++)
		law(!ask->nr_out[i] || ask->nr_out[i] == ask->nr_keys, "audit: outputs");
	for (i = 0; i < ask->nr_out[OUT_PLOT]; i++)
		law(plot_named(ask->out[OUT_PLOT][i]), "audit: a plot's format");
	law(ask->spec.key_len <= EPF_KEY_MAX && ask->spec.threads <= EPF_AUDIT_THREADS_MAX,
	    "audit: numbers");
	return 0;
}

const struct epf_engine *epf_engine_find(const char *name)
{
	static const struct epf_engine scalar = { .name = "scalar" };

	return strcmp(name, scalar.name) ? NULL : &scalar;
}

bool epf_engine_far(const struct epf_engine *e)
{
	return e && !strcmp(e->name, "cuda");
}

int epf_gpu_devices(const char *text)
{
	return strcmp(text, "all") ? -EINVAL : 0;
}

bool rec_format_named(const char *name, enum rec_format *format)
{
	*format = name[0] == 'c' ? REC_CSV : REC_COLUMN;
	return strlen(name) == 3;
}

const char *target_place_name(enum target_place place)
{
	static const char *const names[] = { "auto", "copy", "live", "snapshot" };

	return names[place];
}

/* Nothing is left of the command line before. */
static void fresh_options(void)
{
	settings_begin();
	out_mode = OUT_TEXT;
	progress_forced = false;
	interrupted = 0;
	sink_clear();
}

static int run(int argc, char **argv)
{
	fresh_options();
	return epfctl_main(argc, argv);
}

static void command_line(const char *text, size_t len)
{
	char *argv[OPERANDS_MAX + 2] = { strdup("epfctl") };
	char *copy = malloc(len + 1), *rest, *word;
	char *locked[OPERANDS_MAX + 1];
	int argc = 1, code, i;

	if (!copy || !argv[0])
		abort();
	memcpy(copy, text, len);
	copy[len] = 0;
	watching = reporting = false;
	for (rest = copy; argc <= OPERANDS_MAX && (word = strsep(&rest, "\n"));) {
		watching |= !strcmp(word, "watch");
		argv[argc++] = strdup(word);
	}
	memcpy(locked, argv, sizeof(locked)); /* getopt moves words */
	code = run(argc, argv);
	law((code >= EXIT_YES && code <= EXIT_FAIL) || (watching && code == EXIT_SIGNAL + SIGINT),
	    "an exit code of ours");
	if (!reporting) /* ended by a signal, it may have printed an error, or not */
		sink_judge(code == EXIT_FAIL || (code > EXIT_FAIL && sink_failed()));
	law(!sink_says("error: out of memory") && !sink_says("{\"error\":\"out of memory"),
	    "there is memory");
	for (i = 0; i < argc; i++)
		free(locked[i]);
	free(copy);
}

static void counts(const char *text)
{
	__u64 v, again;
	char s[40];

	if (parse_count("x", text, EPF_INSERTS_MAX, &v)) {
		snprintf(s, sizeof(s), "%llu", v);
		law(v >= 1 && v <= EPF_INSERTS_MAX &&
			    parse_count("x", s, EPF_INSERTS_MAX, &again) && v == again,
		    "a count");
	}
	if (parse_bytes("x", text, &v)) {
		snprintf(s, sizeof(s), "%lluB", v);
		law(v >= 1 && v <= 1ULL << 50 && parse_bytes("x", s, &again) && v == again,
		    "a size");
	}
	if (parse_ns("x", text, &v)) {
		snprintf(s, sizeof(s), "%lluns", v);
		law(v >= 1 && v <= EPF_NS_MAX && parse_ns("x", s, &again) && v == again,
		    "a duration");
	}
}

static void rates(const char *text)
{
	double v, again;
	char s[40];

	if (parse_rate("x", text, &v)) {
		snprintf(s, sizeof(s), "%.17g", v);
		law(v > 0 && v <= 1 && parse_rate("x", s, &again) && v == again, "a rate");
		law(epf_rate_ppt(v) >= 1 && epf_rate_ppt(v) <= EPF_RATE_ONE, "a rate in ppt");
	}
	if (parse_pps("x", text, &v)) {
		snprintf(s, sizeof(s), "%.17g", v);
		law(v > 0 && v <= 1e15 && parse_pps("x", s, &again) && v == again, "a frequency");
	}
}

static void digits(const char *text, size_t len)
{
	__u8 bytes[EPF_KEY_MAX], again[EPF_KEY_MAX];
	int n = parse_hex(text, len, bytes, sizeof(bytes));
	char s[2 * EPF_KEY_MAX + 1] = "";
	__u64 key[2];
	int i;

	law(n == -1 || (size_t)n == len / 2, "two digits a byte");
	for (i = 0; i < n; i++)
		sprintf(s + 2 * i, "%02X", bytes[i]);
	law(n < 0 || (parse_hex(s, (size_t)n * 2, again, (size_t)n) == n &&
		      !memcmp(bytes, again, (size_t)n)),
	    "hex");
	law(n <= 0 || parse_hex(text, len, again, (size_t)n - 1) == -1,
	    "and no byte more than there is room for");
	law(parse_hash_key("x", text, key) == (n == 16), "a hash key");
	law(n != 16 || !memcmp(key, bytes, 16), "is its bytes");
}

static void numbers(const char *from, size_t len)
{
	char *text = malloc(len + 1);

	if (!text)
		abort();
	memcpy(text, from, len);
	text[len] = 0;
	sink_clear();
	counts(text);
	rates(text);
	digits(text, strlen(text));
	law(parse_name(text) == name_is_sound(text), "a name");
	free(text);
}

int LLVMFuzzerTestOneInput(const __u8 *data, size_t size)
{
	static const int errors[] = { 0, -ENOENT, -EACCES, -EPERM, -ENODEV, -EMFILE };
	struct input in = { data, size };
	__u8 mode = take(&in);

	if (in.left > TEXT_MAX)
		return 0;
	kernel_err = errors[mode % PURE % ARRAY_SIZE(errors)];
	pure = mode & PURE && in.left > 6 && !memcmp(in.p, "attach", 6);
	epf_backend_add(&pure_backend);
	if (mode & NUMBERS)
		numbers((const char *)in.p, in.left);
	else
		command_line((const char *)in.p, in.left);
	return 0;
}
