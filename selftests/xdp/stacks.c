// SPDX-License-Identifier: GPL-2.0
/*
 * stacks FILE [PARITY DEDUP BIND]: frames of every protocol stack, as
 * selftests/model/stacks.py writes them. Four ways give the same verdicts on one
 * sequence of frames: the model (digests and refusals), this process, ioctl, and XDP:
 * the functions of the module, with the frame in one buffer and cut in two at any
 * place, and the program that is attached to interfaces, whose counters tell why it
 * passed a frame.
 *
 * Without the programs only the first two are compared.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <epf/xdp.h>

#include "../core/tap.h"
#include "../params.h"
#include "libepf/epf.h"
#include "parity.h"

#define FRAME_MAX 16384
#define XDP_LEAST 14 /* BPF_PROG_TEST_RUN accepts no shorter frame */

static const __u64 hash_key[2] = { 0x0123456789abcdef, 0xfedcba9876543210 };

/* The window is never left; parity.c tests the end of epochs. */
static const struct epf_params shape = { PARAMS(1 << 15, 2, 14, 1 << 24) };

/* A record of the file, followed by the frame. */
struct record {
	struct epf_pkt_opts opts;
	__u32 len;
	__u32 err;
	__u64 digest;
};

/**
 * struct ways - the ways to ask about a frame
 * @mem: the filter of this process
 * @ioctl: descriptor, or -1: only @mem
 * @packet: a program of the tests that calls the functions
 * @hold: program that gives @packet its filter
 * @dedup: the program for interfaces
 * @bind: program that gives @dedup its filter
 * @unbind: program that takes it away
 * @slot: map with the counters of @dedup
 * @shared: memory of @packet
 * @ids: ids of the filters of @ioctl, @packet, @dedup
 * @first: bytes in the first buffer of a test run
 */
struct ways {
	struct epf_mem *mem;
	int ioctl;
	int packet;
	int hold;
	int dedup;
	int bind;
	int unbind;
	int slot;
	volatile struct parity *shared;
	__u32 ids[3];
	__u32 first;
};

/**
 * struct tally - results for frames
 * @frames: all frames
 * @verdicts: frames with a verdict
 * @repeats: of these, present ones
 * @refused: frames without a verdict
 * @cut: frames given to the functions in two buffers
 * @large: frames that need more than one buffer
 * @outcomes: expected counters of the program
 * @bad: failed checks, by enum way
 */
enum way { MODEL, IOCTL, KFUNC, CUT, DEDUP, WAYS };
struct tally {
	unsigned int frames, verdicts, repeats, refused;
	unsigned int cut, large;
	unsigned int outcomes[EPF_OUTCOMES];
	unsigned int bad[WAYS];
};

static void differs(struct tally *t, enum way way, const struct record *r, long long got,
		    long long want)
{
	static const char *const names[WAYS] = { "model", "ioctl", "kfunc", "kfunc, cut",
						 "program" };

	if (t->bad[way]++ < 5)
		printf("# frame %u, %u bytes, key %u link %u flags %u max %u: %s %lld, offline %lld\n",
		       t->frames, r->len, r->opts.key, r->opts.link, r->opts.flags,
		       r->opts.max_bytes, names[way], got, want);
}

static __u32 outcome(int verdict)
{
	if (verdict < 0)
		return epf_outcome_of(verdict);
	return verdict ? EPF_OUT_RECENT : EPF_OUT_ABSENT;
}

/* Return: verdict or refusal; *@digest is set if there is a verdict. Frames that the
 * other ways cannot take are not inserted.
 */
static int offline(struct ways *w, struct tally *t, const struct record *r, const __u8 *frame,
		   __u64 *digest)
{
	int err = epf_mem_pkt_digest(w->mem, frame, r->len, &r->opts, digest);
	int verdict;

	if (err != -(int)r->err || (!err && *digest != r->digest))
		differs(t, MODEL, r, err ? err : (long long)*digest,
			r->err ? -(long long)r->err : (long long)r->digest);
	t->refused += !!err;
	if (err || r->len < XDP_LEAST)
		return err;
	verdict = epf_mem_test_and_insert(w->mem, *digest, 0);
	t->verdicts++;
	t->repeats += verdict > 0;
	return verdict;
}

static int by_ioctl(struct ways *w, __u64 digest)
{
	__u8 age = EPF_AGE_ABSENT;
	struct epf_batch b = {
		.size = sizeof(b),
		.flags = EPF_BATCH_DIGESTS,
		.count = 1,
		.keys = (unsigned long)&digest,
		.ages = (unsigned long)&age,
	};
	int err = epf_filter_batch(w->ioctl, EPF_IOC_TEST_AND_INSERT, &b);

	return err ? err : age == EPF_AGE_ABSENT ? 0 : 1 + age;
}

/* Return: what the program returned, or a negative errno of the run. */
static int run_xdp(int prog, const void *frame, __u32 len)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame, .data_size_in = len);
	int err = bpf_prog_test_run_opts(prog, &opts);

	return err ? err : (int)opts.retval;
}

/* Return: verdict or refusal, and the digest. */
static int by_kfunc(struct ways *w, const struct record *r, const void *frame, __u32 len,
		    __u32 skip, __u64 *digest)
{
	int err;

	memcpy((void *)&w->shared->opts, &r->opts, sizeof(r->opts));
	w->shared->skip = skip;
	err = run_xdp(w->packet, frame, len);
	*digest = w->shared->digest;
	return err < 0 ? err : (int)w->shared->ret;
}

static void ask_kfunc(struct ways *w, struct tally *t, const struct record *r, const __u8 *frame,
		      int want, __u64 digest)
{
	__u64 seen = 0;
	int got = by_kfunc(w, r, frame, r->len, 0, &seen);

	if (got != want)
		differs(t, KFUNC, r, got, want);
	else if (want >= 0 && seen != digest)
		differs(t, KFUNC, r, (long long)seen, (long long)digest);
	t->large += r->len > w->first;
}

/* Ask again with the first buffer ending at byte @at of the frame, by pushing the frame
 * back until it ends there. A frame with a verdict is now present.
 */
static void ask_cut(struct ways *w, struct tally *t, const struct record *r, const __u8 *frame,
		    __u32 at, int want, __u64 digest)
{
	static __u8 moved[2 * FRAME_MAX];
	__u64 seen = 0;
	int got;

	memcpy(moved + w->first - at, frame, r->len);
	got = by_kfunc(w, r, moved, w->first - at + r->len, w->first - at, &seen);
	if (want >= 0)
		want = 1;
	if (got != want)
		differs(t, CUT, r, got, want);
	else if (want >= 0 && seen != digest)
		differs(t, CUT, r, (long long)seen, (long long)digest);
	t->cut++;
}

/* Read the packets with each outcome so far, on all CPUs. */
static void counters(const struct ways *w, __u64 count[EPF_OUTCOMES])
{
	static struct epf_xdp_slot slots[1024];
	int cpus = libbpf_num_possible_cpus(), i, k;
	__u32 zero = 0;

	memset(count, 0, EPF_OUTCOMES * sizeof(*count));
	if (cpus > 1024 || bpf_map_lookup_elem(w->slot, &zero, slots))
		return;
	for (i = 0; i < cpus; i++)
		for (k = 0; k < EPF_OUTCOMES; k++)
			count[k] += slots[i].counts.by[0][k].packets;
}

/* The program drops repeats, and passes everything else. */
static void ask_dedup(struct ways *w, struct tally *t, const struct record *r, const __u8 *frame,
		      int want)
{
	int got = run_xdp(w->dedup, frame, r->len);

	if (got != (want > 0 ? 1 : 2)) /* XDP_DROP, XDP_PASS */
		differs(t, DEDUP, r, got, want);
	t->outcomes[outcome(want)]++;
}

static bool bind_filter(struct ways *w, const struct epf_pkt_opts *o)
{
	struct epf_xdp_bind arg = { .id = w->ids[2], .opts = *o };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = &arg, .ctx_size_in = sizeof(arg));

	return !bpf_prog_test_run_opts(w->bind, &opts) && !opts.retval;
}

/* Ask for one frame in every way. */
static void ask_all(struct ways *w, struct tally *t, const struct record *r, const __u8 *frame)
{
	__u64 digest = 0;
	int want = offline(w, t, r, frame, &digest);
	int got;

	t->frames++;
	if (w->ioctl < 0 || r->len < XDP_LEAST)
		return;
	got = want < 0 ? want : by_ioctl(w, digest);
	if (got != want)
		differs(t, IOCTL, r, got, want);
	ask_kfunc(w, t, r, frame, want, digest);
	ask_dedup(w, t, r, frame, want);
	if (r->len > XDP_LEAST)
		ask_cut(w, t, r, frame, XDP_LEAST + t->frames % 83 % (r->len - XDP_LEAST), want,
			digest);
}

/* Records with the same options are adjacent. */
static bool ask_file(struct ways *w, struct tally *t, FILE *f)
{
	struct epf_pkt_opts bound = { .key = 0xff };
	static __u8 frame[FRAME_MAX];
	struct record r;

	while (fread(&r, sizeof(r), 1, f) == 1) {
		if (r.len > sizeof(frame) || fread(frame, 1, r.len, f) != r.len)
			return false;
		if (w->ioctl >= 0 && memcmp(&bound, &r.opts, sizeof(bound)) &&
		    !bind_filter(w, &r.opts))
			return false;
		bound = r.opts;
		ask_all(w, t, &r, frame);
	}
	return feof(f) && t->frames;
}

static bool counters_agree(const struct ways *w, const struct tally *t)
{
	__u64 count[EPF_OUTCOMES];
	bool good = true;
	int k;

	counters(w, count);
	for (k = 0; k < EPF_OUTCOMES; k++) {
		if (count[k] == t->outcomes[k])
			continue;
		printf("# outcome %d: counted %llu, expected %u\n", k, count[k], t->outcomes[k]);
		good = false;
	}
	return good;
}

static int make_filter(int dev, const char *name, __u32 *id)
{
	struct epf_params p = shape;
	int err;

	strcpy(p.name, name);
	err = epf_dev_create(dev, &p, hash_key, id);
	return err ? err : epf_dev_filter_id(dev, *id);
}

static struct bpf_object *load(const char *path, int slot)
{
	struct bpf_object *obj = bpf_object__open(path);
	struct bpf_program *prog;

	if (!obj)
		return NULL;
	if (slot >= 0 && bpf_map__reuse_fd(bpf_object__find_map_by_name(obj, "epf_slot"), slot))
		return NULL;
	prog = bpf_object__find_program_by_name(obj, "xdp_dedup");
	if (prog) /* as the tool does in native mode */
		bpf_program__set_flags(prog, BPF_F_XDP_HAS_FRAGS);
	return bpf_object__load(obj) ? NULL : obj;
}

static int prog_fd(const struct bpf_object *obj, const char *name)
{
	return bpf_program__fd(bpf_object__find_program_by_name(obj, name));
}

static bool load_all(struct ways *w, char **path)
{
	struct bpf_object *parity = load(path[0], -1);
	struct bpf_object *dedup = load(path[1], -1), *bind;

	if (!parity || !dedup)
		return false;
	w->slot = bpf_object__find_map_fd_by_name(dedup, "epf_slot");
	bind = load(path[2], w->slot);
	if (!bind)
		return false;
	w->packet = prog_fd(parity, "parity_packet");
	w->hold = prog_fd(parity, "parity_hold");
	w->dedup = prog_fd(dedup, "xdp_dedup");
	w->bind = prog_fd(bind, "epf_bind");
	w->unbind = prog_fd(bind, "epf_unbind");
	w->shared = mmap(NULL, sizeof(*w->shared), PROT_READ | PROT_WRITE, MAP_SHARED,
			 bpf_object__find_map_fd_by_name(parity, ".bss"), 0);
	return w->shared != MAP_FAILED;
}

/* Find out how much of a large frame a test run puts into the first buffer. */
static bool learn_first(struct ways *w)
{
	static const __u8 large[8192];
	struct record r = { .opts = { .max_bytes = 1 }, .len = sizeof(large) };
	__u64 digest;

	by_kfunc(w, &r, large, sizeof(large), 0, &digest);
	w->first = w->shared->first;
	printf("# the first buffer has %u bytes\n", w->first);
	return w->first > 256 && w->first < sizeof(large);
}

static bool setup(struct ways *w, char **path)
{
	int dev = epf_dev_open();

	if (dev < 0 || !load_all(w, path))
		return false;
	w->ioctl = make_filter(dev, "stacks-ioctl", &w->ids[0]);
	if (w->ioctl < 0 || make_filter(dev, "stacks-kfunc", &w->ids[1]) < 0 ||
	    make_filter(dev, "stacks-dedup", &w->ids[2]) < 0)
		return false;
	w->shared->filter = w->ids[1];
	return !bpf_prog_test_run_opts(w->hold, NULL) && learn_first(w);
}

/* What the program does while another packet of the CPU has the filter. */
static bool passes_when_busy(const struct ways *w, const struct tally *t)
{
	struct tally more = *t;
	static const __u8 frame[64];
	LIBBPF_OPTS(bpf_test_run_opts, none);

	if (bpf_prog_test_run_opts(w->unbind, &none) || none.retval ||
	    run_xdp(w->dedup, frame, sizeof(frame)) != 2)
		return false;
	more.outcomes[EPF_OUT_BUSY]++;
	return counters_agree(w, &more);
}

static void report(const struct ways *w, const struct tally *t)
{
	tap_ok(!t->bad[MODEL] && t->verdicts > 1000 && t->refused > 1000,
	       "offline as the model: %u frames, %u digests, %u refusals", t->frames, t->verdicts,
	       t->refused);
	if (w->ioctl < 0)
		return;
	tap_ok(!t->bad[IOCTL] && t->repeats > 1000, "ioctl as offline: %u verdicts, %u repeats",
	       t->verdicts, t->repeats);
	tap_ok(!t->bad[KFUNC] && t->large > 100,
	       "XDP function as offline, %u frames of many buffers", t->large);
	tap_ok(!t->bad[CUT] && t->cut > 1000, "likewise of two buffers, cut anywhere: %u frames",
	       t->cut);
	tap_ok(!t->bad[DEDUP], "the program drops the repeats and nothing else");
	tap_ok(counters_agree(w, t), "and counts every frame for what it is");
	tap_ok(passes_when_busy(w, t), "without a filter in the slot it passes, as busy");
}

int main(int argc, char **argv)
{
	struct ways w = { .ioctl = -1 };
	struct tally t = { 0 };
	bool xdp = argc == 5;
	FILE *f;
	int err;

	if (argc != 2 && !xdp)
		return 2;
	f = fopen(argv[1], "r");
	w.mem = epf_mem_new(&shape, hash_key, 0, &err);
	tap_plan(xdp ? 9 : 2);
	if (xdp && !tap_ok(setup(&w, argv + 2), "programs and filters"))
		return tap_end();
	tap_ok(f && w.mem && ask_file(&w, &t, f), "all frames are asked about");
	report(&w, &t);
	return tap_end();
}
