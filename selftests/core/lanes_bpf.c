// SPDX-License-Identifier: GPL-2.0
/*
 * The operations of lanes.h in BPF, on this machine's kernel, against the same
 * operations in this process: random keys, with rotations and scans between them. Every
 * verdict, every epoch and finally every line must be equal. The object built for
 * machines other than x86 runs too.
 */
#include "lanes_bpf.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lanes.skel.h"
#include "lanes_fenced.skel.h"
#include "tap.h"

#define LINES 512u
#define OPS 6000
#define KEYS 2000
#define VERIFIED_MAX 100000u /* a tenth of what the verifier allows */

enum kind { TEST, INSERT, SIGHT, SIGHT_FIRST, NR_KINDS };

static const struct shape {
	__u32 lines, parts, k;
} shapes[] = {
	{ 64, 1, 1 },   { 97, 1, 8 },   { 512, 1, 15 }, { 64, 2, 2 },
	{ 96, 2, 8 },   { 130, 2, 10 }, { 512, 2, 30 }, { 64, 4, 4 },
	{ 100, 4, 12 }, { 128, 4, 24 }, { 512, 4, 60 },
};
#define NR_SHAPES (sizeof(shapes) / sizeof(shapes[0]))

/* The filter in this process, and the one in BPF. */
static struct epf_line here[LINES], *there;
static struct epf_state state;
static struct lanes_shared *shared;
static struct bpf_object *obj;

static __u64 draw(__u64 below)
{
	static __u32 drawn;

	return epf_word(0x1a9e5 + tap_seed(), ++drawn) % below;
}

static const struct bpf_program *program(enum kind kind)
{
	static const char *const names[NR_KINDS] = {
		"lanes_test",
		"lanes_insert",
		"lanes_sight",
		"lanes_sight",
	};

	return bpf_object__find_program_by_name(obj, names[kind]);
}

static bool run(enum kind kind)
{
	static char packet[64];
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = packet, .data_size_in = sizeof(packet),
		    .repeat = 1);
	int err = bpf_prog_test_run_opts(bpf_program__fd(program(kind)), &opts);

	if (err || opts.retval != 2)
		printf("# %s: error %d, returned %u\n", bpf_program__name(program(kind)), err,
		       opts.retval);
	return !err && opts.retval == 2; /* XDP_PASS */
}

static void clear(struct lanes_shared *s)
{
	s->epoch = s->lanes = 0;
	s->verdict = 0;
	s->grew = 0;
}

/* Run the operation of @kind in this process; its results go to @s. */
static void run_here(struct lanes_shared *s, enum kind kind)
{
	struct epf_lanes f = { here, &state.epoch, s->geom };
	struct epf_probe p;
	bool grew = false;

	clear(s);
	epf_probe(&f, s->digest, &p);
	if (kind == TEST) {
		s->verdict = epf_lanes_test(&f, &p);
	} else if (kind == INSERT) {
		s->epoch = epf_lanes_insert_into(&f, &p, &s->lanes, &grew);
		s->grew = grew;
	} else {
		s->verdict = epf_lanes_test_and_insert_into(&f, &p, s->first_seen, &s->epoch,
							    &s->lanes);
	}
}

static bool step(void)
{
	enum kind kind = (enum kind)draw(NR_KINDS);
	struct lanes_shared s = *shared;

	s.digest = epf_word(draw(KEYS) + 1, 1);
	s.first_seen = kind == SIGHT_FIRST;
	shared->digest = s.digest;
	shared->first_seen = s.first_seen;
	clear(shared);
	run_here(&s, kind);
	if (!run(kind))
		return false;
	if (s.verdict == shared->verdict && s.epoch == shared->epoch && s.lanes == shared->lanes &&
	    s.grew == shared->grew)
		return true;
	printf("# operation %d: BPF %d, epoch %llu, lanes %llx; here %d, %llu, %llx\n", kind,
	       shared->verdict, shared->epoch, shared->lanes, s.verdict, s.epoch, s.lanes);
	return false;
}

static void rotate(struct epf_state *s, struct epf_line *lines)
{
	struct epf_lanes f = { lines, &s->epoch, shared->geom };
	__u64 first, end;

	epf_state_rotate(s, 0);
	epf_scan_chunk(s, epf_geom_lines(&f.geom), &first, &end);
	epf_lanes_scan(&f, first, end - first);
	s->scanned++;
}

static void begin(const struct shape *shape)
{
	memset(here, 0, sizeof(here));
	memset(there, 0, sizeof(here));
	epf_state_init(&state, 0);
	epf_state_init(&shared->state, 0);
	epf_geom_init(&shared->geom, shape->lines, shape->parts, shape->k);
}

static void check_shape(const struct shape *shape)
{
	int i, present = 0, same = 0;

	begin(shape);
	for (i = 0; i < OPS && i == same; i++) {
		if (!draw(40)) {
			rotate(&state, here);
			rotate(&shared->state, there);
		}
		same += step();
		present += shared->verdict > 0;
	}
	tap_ok(same == OPS && !memcmp(here, there, sizeof(here)),
	       "%s: %u lines, L = %u, k = %u: %d of %d operations and all lines are the same; %d present, %llu epochs",
	       bpf_object__name(obj), shape->lines, shape->parts, shape->k, same, OPS, present,
	       state.epoch - EPF_EPOCH_FIRST);
}

/* Is a line of the key that @shared names missing in the map? */
static bool missing(void)
{
	__u32 j;

	for (j = 0; j < shared->geom.parts; j++)
		if (epf_geom_line(&shared->geom, shared->digest, j) >= LINES)
			return true;
	return false;
}

/* Use a map that is a fifth smaller than the shape says. */
static void check_missing(__u32 parts)
{
	struct shape shape = { LINES + LINES / 4, parts, 2 * parts };
	bool good = true, unknown;
	int i, n = 0;

	begin(&shape);
	for (i = 0; i < 400; i++) {
		enum kind kind = (enum kind)(i % NR_KINDS);

		shared->digest = epf_word(draw(~0ULL), 1);
		shared->first_seen = kind == SIGHT_FIRST;
		memcpy(here, there, sizeof(here));
		clear(shared);
		good &= run(kind);
		unknown = kind == INSERT ? !shared->epoch : shared->verdict == EPF_UNKNOWN;
		good &= unknown == missing();
		good &= !unknown || !memcmp(here, there, sizeof(here));
		n += unknown;
	}
	tap_ok(good && n && n < i,
	       "lanes: L = %u: the answer is 'do not know', and nothing is written, where a line is missing: %d of %d",
	       parts, n, i);
}

/* Use an invalid number of parts. */
static void check_parts(void)
{
	static const __u32 parts[] = { 0, 3, EPF_PARTS_MAX + 1, ~0u };
	bool good = true;
	size_t i;

	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		shared->geom.parts = parts[i];
		clear(shared);
		good &= run(TEST) && shared->verdict == EPF_UNKNOWN;
		good &= run(INSERT) && !shared->epoch;
		good &= run(SIGHT) && shared->verdict == EPF_UNKNOWN && !shared->epoch;
	}
	tap_ok(good, "lanes: so it is of shapes of 0, 3, 5 and 2^32 - 1 parts");
}

static void check_verified(enum kind kind)
{
	const struct bpf_program *prog = program(kind);
	struct bpf_prog_info info = {};
	__u32 len = sizeof(info);

	bpf_obj_get_info_by_fd(bpf_program__fd(prog), &info, &len);
	tap_ok(info.verified_insns && info.verified_insns < VERIFIED_MAX,
	       "%s: %s: %u instructions verified, of fewer than %u", bpf_object__name(obj),
	       bpf_program__name(prog), info.verified_insns, VERIFIED_MAX);
}

static void *map_memory(const char *name, size_t bytes)
{
	struct bpf_map *map = bpf_object__find_map_by_name(obj, name);
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);

	return at == MAP_FAILED ? NULL : at;
}

/* Load the programs. Return: false on failure, with the reason in errno. */
static bool load(const char *name, const void *elf, size_t bytes)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = name);
	struct bpf_map *map;

	obj = bpf_object__open_mem(elf, bytes, &opts);
	if (!obj)
		return false;
	map = bpf_object__find_map_by_name(obj, "lines");
	if (bpf_map__set_max_entries(map, LINES) || bpf_object__load(obj))
		return false;
	there = map_memory("lines", sizeof(here));
	shared = map_memory(".bss", sizeof(*shared));
	return there && shared;
}

static void unload(void)
{
	munmap(there, sizeof(here));
	munmap(shared, sizeof(*shared));
	bpf_object__close(obj);
}

/* All shapes, or one of each L. */
static void run_all(bool all)
{
	size_t i;

	for (i = 0; i < NR_SHAPES; i++)
		if (all || !i || shapes[i].parts != shapes[i - 1].parts)
			check_shape(&shapes[i]);
	for (i = 1; i <= EPF_PARTS_MAX && all; i *= 2)
		check_missing((__u32)i);
	if (all)
		check_parts();
	for (i = TEST; i <= SIGHT; i++)
		check_verified((enum kind)i);
}

static int refused(void)
{
	if (errno == EPERM || errno == ENOSYS) {
		tap_skip_all("loading BPF programs is not permitted");
		return TAP_SKIPPED;
	}
	tap_plan(1);
	tap_ok(false, "the verifier accepts the programs");
	return 1;
}

int main(void)
{
	const void *elf;
	size_t bytes;

	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
	elf = lanes_bpf__elf_bytes(&bytes);
	if (!load("lanes", elf, bytes))
		return refused();
	tap_plan(NR_SHAPES + 7 + 7);
	run_all(true);
	unload();
	elf = lanes_fenced_bpf__elf_bytes(&bytes);
	if (tap_ok(load("lanes_fenced", elf, bytes),
		   "the verifier accepts the programs of other machines")) {
		run_all(false);
		unload();
	}
	return tap_end();
}
