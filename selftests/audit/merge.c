// SPDX-License-Identifier: GPL-2.0
/*
 * Merged snapshots, against an oracle that knows only when each key was seen, by the
 * clock of its host, and nothing of epochs. Hosts have late timers, their own epoch
 * numbers, clocks that were set, and snapshots of different times, at every phase of
 * the boundaries.
 *
 * usage: merge [laws [DIR]]
 */
#include "../core/owner.h"
#include "../core/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <merge.h>
#include <unistd.h>
#include <xxhash.h>

#define R EPF_LIVE_EPOCHS
#define T 70000ULL
#define EPOCH (T / R)
#define WALL 1700000000000ULL
#define GAP 97u /* ns between the keys of one host */
#define HOSTS 3
#define KEYS 8192u
#define PHASES 64u
#define NEARLY (EPOCH * 49 / 400) /* almost as much as timers may be late */

static __u64 pitch, near;
static char path[PATH_MAX];

/**
 * struct host - a filter and the keys inserted into it
 * @o: the filter; its clock is the monotonic one of all hosts
 * @wall: lead of its wall clock over the monotonic clock
 * @late: upper bound of the lateness of its rotations
 * @fires: time at which the current epoch ends
 * @seen: when each key was seen
 * @file: its snapshot
 */
struct host {
	struct owner o;
	__u64 id, wall, late, fires;
	__u64 seen[KEYS];
	__u32 keys;
	struct epf_snap_file file;
};

static __u64 digest_of(const struct host *h, __u64 i)
{
	return epf_word(h->id << 40 | i, 3);
}

static void plan_end(struct host *h)
{
	const struct epf_state *s = &h->o.state;
	__u64 start = s->ring[s->epoch & 7].start_ns;

	h->fires = start +
		   epf_window_lasts(&h->o.window, start + h->wall, s->epoch == EPF_EPOCH_FIRST) +
		   (h->late ? epf_word(h->id << 40 | s->epoch, 4) % h->late : 0);
}

/* Make a host at @now whose first epoch is @epoch. */
static void born(struct host *h, __u64 id, __u64 nr_lines, __u64 now, __u64 epoch, bool align)
{
	if (epoch != EPF_EPOCH_FIRST && align) /* as if the filter had existed before */
		now -= (now + WALL) % pitch;
	memset(h, 0, sizeof(*h));
	owner_init(&h->o, nr_lines, 2, 12);
	owner_window(&h->o, EPF_MODE_TIME, 0, 0, T);
	if (align)
		epf_window_align(&h->o.window);
	epf_state_init(&h->o.state, now);
	h->o.state.epoch = h->o.state.scanned = epoch;
	h->o.state.count = epf_count_pack(epoch, 0);
	h->o.state.ring[epoch & 7].start_ns = now;
	h->o.now_ns = now;
	h->id = id;
	h->wall = WALL;
	plan_end(h);
}

static void rotate(struct host *h)
{
	h->o.now_ns = h->fires;
	owner_rotate(&h->o);
	plan_end(h);
}

static void see(struct host *h)
{
	if (h->keys == KEYS)
		abort();
	h->seen[h->keys] = h->o.now_ns;
	owner_insert(&h->o, digest_of(h, h->keys++));
}

static void live(struct host *h, __u64 until)
{
	__u64 now;

	for (now = h->o.now_ns + GAP; now < until; now += GAP) {
		while (now >= h->fires)
			rotate(h);
		h->o.now_ns = now;
		see(h);
	}
	while (until >= h->fires)
		rotate(h);
	h->o.now_ns = until;
}

static void set_clock(struct host *h, __s64 step)
{
	h->wall += (__u64)step;
	plan_end(h);
	if (h->fires < h->o.now_ns)
		h->fires = h->o.now_ns;
}

/* Make the snapshot as the module documents it. */
static void snap(struct host *h)
{
	const struct epf_state *s = &h->o.state;
	struct epf_snap_header *head = &h->file.header;
	__u64 x;

	memset(head, 0, sizeof(*head));
	head->magic = EPF_SNAP_MAGIC;
	head->version = EPF_SNAP_VERSION;
	head->header_bytes = sizeof(*head);
	snprintf(head->params.name, sizeof(head->params.name), "host%llu", h->id);
	head->params.mode = EPF_MODE_TIME;
	head->params.window_ns = T;
	head->params.nr_lines = epf_geom_lines(&h->o.lanes.geom);
	head->params.lines_per_key = 2;
	head->params.bits_per_key = 12;
	head->params.budget_ppt = 1;
	head->params.limit_ppt = EPF_RATE_ONE;
	head->epoch_begin = head->epoch_end = s->epoch;
	head->inserts = h->keys;
	head->realtime_ns = h->o.now_ns + h->wall;
	for (x = 0; x < EPF_EPOCHS; x++) {
		if (!s->ring[x].start_ns)
			continue;
		head->epochs[x].age_ns = h->o.now_ns - s->ring[x].start_ns;
		head->epochs[x].inserts = s->ring[x].inserts;
	}
	head->epochs[s->epoch & 7].inserts = epf_count_of(s->count, s->epoch);
	head->header_xxh3 = XXH3_64bits(head, sizeof(*head));
	h->file.lines = h->o.lanes.line;
}

/**
 * struct merged - the restored result
 * @o: the filter; its clock is the wall clock; aligned or not
 * @now: the interval of its youngest epoch
 */
struct merged {
	struct epf_merge m;
	struct epf_snap_file file[HOSTS];
	struct epf_snap_file out;
	struct owner o;
	__u64 now;
};

static void restore(struct merged *r, bool align)
{
	const struct epf_snap_header *h = &r->out.header;
	__u32 i;

	owner_init(&r->o, h->params.nr_lines, h->params.lines_per_key, h->params.bits_per_key);
	memcpy(r->o.lanes.line, r->out.lines, h->params.nr_lines * EPF_LINE_BYTES);
	owner_window(&r->o, EPF_MODE_TIME, 0, 0, T);
	if (align)
		epf_window_align(&r->o.window);
	r->o.now_ns = h->realtime_ns;
	r->o.state.epoch = r->o.state.scanned = h->epoch_end;
	for (i = 0; i < EPF_EPOCHS; i++)
		r->o.state.ring[i].start_ns = h->realtime_ns - h->epochs[i].age_ns;
	r->o.state.count = epf_count_pack(h->epoch_end, 0);
	r->now = (r->o.state.ring[h->epoch_end & 7].start_ns + near) / pitch;
}

/* Merge the snapshots of @n hosts. Return: the error; 0: the caller frees @r. */
static int merge(struct merged *r, struct host *h, __u32 n, bool loose)
{
	enum epf_snap_fault fault;
	bool saved;
	__u32 i;
	int ret;

	memset(r, 0, sizeof(*r));
	for (i = 0; i < n; i++)
		r->file[i] = h[i].file;
	r->m.file = r->file;
	r->m.nr = n;
	r->m.loose = loose;
	ret = epf_merge_plan(&r->m);
	if (ret)
		return ret;
	if (epf_merge_save(&r->m, path, &saved) || !saved ||
	    epf_snap_open(path, &r->out, NULL, NULL, &fault))
		abort();
	restore(r, true);
	return 0;
}

static void merged_free(struct merged *r)
{
	owner_free(&r->o);
	epf_snap_close(&r->out);
}

/**
 * struct law - properties to check besides the window
 * @younger: epochs by which a key may appear younger than its interval
 * @gone: intervals after its own at which a key must be gone
 * @part: not all keys of the eight intervals need be present, because the hosts' own
 *	epochs are shorter
 */
struct law {
	__u64 younger;
	__u64 gone;
	bool part;
};

/* Check one key, seen at @wall by its host's clock. */
static const char *check_key(const struct merged *r, const struct law *law, __u64 digest,
			     __u64 wall)
{
	int verdict = owner_test(&r->o, digest);
	__u64 age = (__u64)(verdict - EPF_PRESENT);
	__u64 least = wall / pitch < r->now ? r->now - wall / pitch : 0;
	__u64 most = r->now - (wall - near) / pitch;

	if (wall >= r->out.header.realtime_ns - T && !verdict)
		return "a key of the window is absent";
	if (most <= R && !verdict && !law->part)
		return "a key of a retained interval is absent";
	if (verdict && age > most)
		return "an age is too old";
	if (verdict && age + law->younger < least)
		return "an age is too young";
	if (verdict && least >= law->gone)
		return "a key is there that is too old";
	return NULL;
}

static const char *check_keys(const struct merged *r, const struct host *h, __u32 n,
			      const struct law *law)
{
	const char *broken = NULL;
	__u32 i, k;

	for (i = 0; i < n; i++)
		for (k = 0; k < h[i].keys && !broken; k++)
			broken = check_key(r, law, digest_of(&h[i], k), h[i].seen[k] + h[i].wall);
	return broken;
}

static bool due_there(const struct merged *r, const struct host *h, __u32 n)
{
	__u32 i, k;

	for (i = 0; i < n; i++)
		for (k = 0; k < h[i].keys; k++)
			if (h[i].seen[k] + h[i].wall + T >= r->o.now_ns &&
			    !owner_test(&r->o, digest_of(&h[i], k)))
				return false;
	return true;
}

/* A filter restored from the result goes on, with epochs as short as possible: every
 * key stays until T after it was seen.
 */
static const char *check_later(struct merged *r, const struct host *h, __u32 n)
{
	__u64 start, lasts;
	__u32 ended;

	for (ended = 0; ended < EPF_EPOCHS; ended++) {
		start = r->o.state.ring[r->o.state.epoch & 7].start_ns;
		lasts = epf_window_lasts(&r->o.window, start, false);
		if (start + lasts > r->o.now_ns)
			r->o.now_ns = start + lasts;
		owner_rotate(&r->o);
		if (!due_there(r, h, n))
			return "a key is gone before its time";
	}
	return NULL;
}

static bool header_sound(const struct merged *r, const struct host *h, __u32 n)
{
	const struct epf_snap_header *head = &r->out.header;
	__u64 inserts = 0, counted = 0, of_epochs = 0;
	__u32 i, e;

	for (i = 0; i < n; i++) {
		inserts += h[i].keys;
		for (e = 0; e < EPF_EPOCHS; e++)
			counted += h[i].file.header.epochs[e].inserts;
	}
	for (e = 0; e < EPF_EPOCHS; e++) {
		of_epochs += head->epochs[e].inserts;
		if (head->epochs[e].age_ns > EPF_NS_MAX)
			return false;
	}
	return head->inserts == inserts && of_epochs <= counted &&
	       head->epoch_begin == head->epoch_end && head->epoch_end >= EPF_EPOCH_FIRST + R &&
	       r->m.fpr < 1e-3;
}

/**
 * struct scene - a set of hosts
 * @claim: name of the test point
 * @align: their epochs end by the wall clock
 * @late: upper bound of the lateness of rotations
 * @lag: host i is saved i times this before the last host
 * @age: host i was created (12 - i * age) pitches before that
 * @step: the clock of the last host is set by this, three pitches before it is saved
 * @held: a rotation of the first host is delayed by this, @back pitches before it is
 *	saved
 * @strict: result of a strict merge
 * @law: properties of the result
 */
struct scene {
	const char *claim;
	bool align;
	__u64 late, lag, age;
	__s64 step;
	__u64 held;
	__u64 back;
	enum epf_merge_fault strict;
	struct law law;
};

/* clang-format off */
static const struct scene scenes[] = {
	{ .claim = "three hosts, timers on time", .align = true,
	  .law = { 0, 8 } },
	{ .claim = "timers late by a third of the spare", .align = true,
	  .late = EPOCH / 200, .law = { 0, 9 } },
	{ .claim = "saved one after another, over more than an epoch",
	  .align = true, .late = 20, .lag = EPOCH * 2 / 3, .law = { 0, 9 } },
	{ .claim = "saved windows apart", .align = true, .late = 20,
	  .lag = 5 * EPOCH, .law = { 0, 9 } },
	{ .claim = "hosts made one after another", .align = true, .late = 20,
	  .age = 5, .law = { 0, 9 } },
	{ .claim = "a rotation held for less than what is near", .align = true,
	  .late = 20, .held = NEARLY, .back = 3,
	  .law = { 0, 9, true } },
	{ .claim = "the same, and saved at once", .align = true, .late = 20,
	  .held = NEARLY, .back = 1, .lag = EPOCH, .law = { 0, 9, true } },
	{ .claim = "a clock set by less than what is near", .align = true,
	  .late = 20, .step = NEARLY, .law = { 0, 9, true } },
	{ .claim = "a clock set forwards", .align = true, .late = 20,
	  .step = EPOCH / 3, .strict = EPF_MERGE_UNALIGNED,
	  .law = { 1, 10, true } },
	{ .claim = "a clock set back", .align = true, .late = 20,
	  .step = -(__s64)(EPOCH * 5 / 2), .strict = EPF_MERGE_UNALIGNED,
	  .law = { 1, 10, true } },
	{ .claim = "a rotation held for long", .align = true, .late = 20,
	  .held = EPOCH / 2, .back = 3, .strict = EPF_MERGE_UNALIGNED,
	  .law = { 1, 10, true } },
	{ .claim = "epochs that end by themselves", .late = 20, .lag = 777,
	  .strict = EPF_MERGE_UNALIGNED, .law = { 1, 10, true } },
};
/* clang-format on */

static void live_scene(struct host *h, const struct scene *s, __u64 now)
{
	__u64 numbers[HOSTS] = { EPF_EPOCH_FIRST, 1003, 58 };
	__u32 i;

	for (i = 0; i < HOSTS; i++) {
		__u64 saved = now - (HOSTS - 1 - i) * s->lag;

		born(&h[i], i, 2048, saved - (12 - i * s->age) * pitch - i * 3386,
		     s->age ? EPF_EPOCH_FIRST : numbers[i], s->align);
		h[i].late = s->late;
		if (i == HOSTS - 1 && s->step) {
			live(&h[i], now - 3 * pitch);
			set_clock(&h[i], s->step);
		}
		if (!i && s->held) {
			live(&h[i], saved - s->back * pitch);
			h[i].fires += s->held;
		}
		live(&h[i], saved);
		snap(&h[i]);
	}
}

static const char *try_scene(const struct scene *s, __u32 phase)
{
	static struct host h[HOSTS];
	static struct merged r;
	__u64 now = 100 * pitch - WALL % pitch + phase * pitch / PHASES;
	const char *broken = NULL;
	__u32 i;

	live_scene(h, s, now);
	if (merge(&r, h, HOSTS, false) != (int)s->strict)
		broken = "a strict merge says otherwise";
	else if (s->strict && merge(&r, h, HOSTS, true))
		broken = "a loose merge refuses";
	if (!broken) {
		if (!header_sound(&r, h, HOSTS))
			broken = "the header is not sound";
		if (!broken)
			broken = check_keys(&r, h, HOSTS, &s->law);
		if (!broken)
			broken = check_later(&r, h, HOSTS);
		owner_free(&r.o);
		restore(&r, false);
		if (!broken)
			broken = check_later(&r, h, HOSTS);
		merged_free(&r);
	}
	for (i = 0; i < HOSTS; i++)
		owner_free(&h[i].o);
	return broken;
}

static void laws(void)
{
	const struct scene *s;
	const char *broken;
	__u32 phase;

	for (s = scenes; s < scenes + sizeof(scenes) / sizeof(*s); s++) {
		broken = NULL;
		for (phase = 0; phase < PHASES && !broken; phase++)
			broken = try_scene(s, phase);
		tap_sound(broken, "%s: keys, ages, and what is kept, at every phase", s->claim);
	}
}

static bool lines_equal(const struct epf_snap_file *a, const void *lines)
{
	return !memcmp(a->lines, lines, a->header.params.nr_lines * EPF_LINE_BYTES);
}

/* Rewrite a lane of epoch @e for another epoch number; a lane without positions counts as
 * empty.
 */
static __u64 renumbered(__u64 lane, __u64 e)
{
	__u64 v = epf_lane_retag(lane, e, 8);

	return epf_lane_positions(v) ? v : 0;
}

/* Are the positions equal in each live lane, whatever the epochs' numbers are? */
static bool lanes_equal(const struct owner *a, const struct owner *b)
{
	__u64 n = epf_geom_lines(&a->lanes.geom), i, age;

	for (i = 0; i < n; i++)
		for (age = 0; age < EPF_LANES; age++) {
			__u64 e = a->state.epoch - age;
			__u64 f = b->state.epoch - age;

			if (renumbered(a->lanes.line[i].lane[e & 7], e) !=
			    renumbered(b->lanes.line[i].lane[f & 7], f))
				return false;
		}
	return true;
}

/* The merge has the same lines as one filter that saw all keys at the same times. */
static const char *as_one(struct host *h, const struct merged *r)
{
	static struct host all;
	__u64 at[HOSTS] = { 0 };
	const char *broken;
	__u32 i, next;

	born(&all, 9, 2048, h[0].o.now_ns - 12 * pitch - 5000, EPF_EPOCH_FIRST, true);
	for (;;) {
		for (next = HOSTS, i = 0; i < HOSTS; i++)
			if (at[i] < h[i].keys &&
			    (next == HOSTS || h[i].seen[at[i]] < h[next].seen[at[next]]))
				next = i;
		if (next == HOSTS)
			break;
		while (h[next].seen[at[next]] >= all.fires)
			rotate(&all);
		owner_insert(&all.o, digest_of(&h[next], at[next]));
		at[next]++;
	}
	while (h[0].o.now_ns >= all.fires)
		rotate(&all);
	broken = lanes_equal(&r->o, &all.o) ? NULL : "not equal";
	owner_free(&all.o);
	return broken;
}

/* Algebraic properties, on snapshots of the same moment. */
static void equalities(void)
{
	const struct scene s = { .align = true };
	static struct host h[HOSTS], two[2];
	static struct merged r, other;
	__u64 now = 100 * pitch - WALL % pitch + pitch / 3;

	live_scene(h, &s, now);
	if (merge(&r, h, HOSTS, false))
		abort();
	tap_ok(!as_one(h, &r), "the lines are those of one filter that saw all keys");
	two[0].file = r.out;
	two[1] = h[1];
	tap_ok(!merge(&other, two, 2, false) && lines_equal(&r.out, other.out.lines),
	       "merging one of its snapshots again changes nothing");
	merged_free(&other);
	tap_ok(!merge(&other, two, 1, false) && lines_equal(&r.out, other.out.lines),
	       "a single snapshot stays as it is");
	merged_free(&other);
	two[0] = h[0];
	h[0] = h[2];
	h[2] = two[0];
	tap_ok(!merge(&other, h, HOSTS, false) && lines_equal(&r.out, other.out.lines) &&
		       !memcmp(r.out.header.epochs, other.out.header.epochs,
			       sizeof(r.out.header.epochs)) &&
		       r.out.header.realtime_ns == other.out.header.realtime_ns,
	       "the order does not matter");
	merged_free(&other);
	merged_free(&r);
}

/* Fill lanes enough that errors can be counted. */
static void errors(void)
{
	static struct host h[HOSTS];
	static struct merged r;
	const __u64 asked = 400000;
	double expected, off;
	__u64 i, found = 0;

	for (i = 0; i < HOSTS; i++) {
		born(&h[i], i, 64, 50 * pitch - WALL % pitch, EPF_EPOCH_FIRST, true);
		live(&h[i], 60 * pitch);
		snap(&h[i]);
	}
	if (merge(&r, h, HOSTS, false))
		abort();
	for (i = 0; i < asked; i++)
		found += owner_test(&r.o, epf_word(i, 9)) != EPF_ABSENT;
	expected = r.m.fpr * (double)asked;
	off = (double)found - expected;
	/* 4 sigma, plus the correlation of 400,000 keys that share a filter. */
	tap_ok(expected > 1000 && off * off < 16 * expected,
	       "%llu of %llu fresh keys found, %.0f predicted", found, asked, expected);
	merged_free(&r);
}

static enum epf_merge_fault fault_of(struct host *h, struct host *with)
{
	static struct epf_merge m;
	struct epf_snap_file file[2] = { with->file, h->file };

	memset(&m, 0, sizeof(m));
	m.file = file;
	m.nr = 2;
	return epf_merge_plan(&m);
}

#define REFUSES(fault, what)                                             \
	do {                                                             \
		struct epf_snap_header *head = &b.file.header;           \
                                                                         \
		b = h[1];                                                \
		what;                                                    \
		tap_ok(fault_of(&b, &h[0]) == fault, #what ": " #fault); \
	} while (0)

/* Renumber the epochs: the last is @e. */
static void renumber(struct epf_snap_header *h, __u64 e)
{
	const struct epf_snap_header was = *h;
	__u32 age;

	h->epoch_end = e;
	for (age = 0; age < EPF_EPOCHS; age++)
		h->epochs[(e - age) % EPF_EPOCHS] = was.epochs[(was.epoch_end - age) % EPF_EPOCHS];
}

#define REFUSALS 18
static void refusals(void)
{
	const struct scene s = { .align = true };
	static struct host h[HOSTS], b;

	live_scene(h, &s, 100 * pitch);
	REFUSES(EPF_MERGE_OK, head->params.budget_ppt = 7);
	REFUSES(EPF_MERGE_KIND, head->params.kind = EPF_KIND_GE);
	REFUSES(EPF_MERGE_MODE, head->params.mode = EPF_MODE_BOTH);
	REFUSES(EPF_MERGE_KEY, head->key[1] = 1);
	REFUSES(EPF_MERGE_HASH, head->params.hash = 1);
	REFUSES(EPF_MERGE_GEOMETRY, head->params.nr_lines += 2);
	REFUSES(EPF_MERGE_GEOMETRY, head->params.lines_per_key = 4);
	REFUSES(EPF_MERGE_GEOMETRY, head->params.bits_per_key = 10);
	REFUSES(EPF_MERGE_WINDOW, head->params.window_ns++);
	REFUSES(EPF_MERGE_TWICE, *head = h[0].file.header);
	REFUSES(EPF_MERGE_TIMES, head->epochs[0].age_ns = ~0ULL);
	REFUSES(EPF_MERGE_TIMES, head->realtime_ns = 5);
	REFUSES(EPF_MERGE_TIMES, head->epoch_end = ~0ULL - 3);
	REFUSES(EPF_MERGE_OK, renumber(head, EPF_EPOCH_MAX));
	REFUSES(EPF_MERGE_TIMES, renumber(head, EPF_EPOCH_MAX + 1));
	REFUSES(EPF_MERGE_TIMES, head->epochs[3].inserts = EPF_INSERTS_MAX + 1);
	REFUSES(EPF_MERGE_OK, head->epochs[3].inserts = EPF_INSERTS_MAX);
	REFUSES(EPF_MERGE_UNALIGNED, head->realtime_ns += pitch / 2);
}

/* Counts that are one above, at, and one below their maximum in all. */
static void full_counts(void)
{
	const struct scene s = { .align = true };
	static struct host h[HOSTS];
	static struct merged r;
	__u32 i, e, less, off = 0;

	live_scene(h, &s, 100 * pitch);
	for (less = 0; less < 3; less++) {
		for (i = 0; i < HOSTS; i++)
			for (e = 0; e < EPF_EPOCHS; e++)
				h[i].file.header.epochs[e].inserts =
					i ? 1 : EPF_INSERTS_MAX + 1 - less - (HOSTS - 1);
		if (merge(&r, h, HOSTS, false))
			abort();
		for (e = 0; e < EPF_EPOCHS; e++)
			off += r.out.header.epochs[e].inserts != EPF_INSERTS_MAX - (less == 2);
		merged_free(&r);
	}
	tap_ok(!off, "counts of epochs stay within their limit");
}

static int mappings(void)
{
	char line[2 * PATH_MAX];
	FILE *f = fopen("/proc/self/maps", "re");
	int n = 0;

	while (f && fgets(line, sizeof(line), f))
		n += strstr(line, path) != NULL;
	if (f)
		fclose(f);
	return n;
}

/* The last byte of the snapshot makes it invalid. */
static void refused_lines(void)
{
	const struct scene s = { .align = true };
	enum epf_snap_fault fault = EPF_SNAP_OK;
	static struct host h[HOSTS];
	static struct merged r;
	struct epf_snap_file file;
	int fd, before, ret;

	live_scene(h, &s, 100 * pitch);
	if (merge(&r, h, HOSTS, false))
		abort();
	merged_free(&r);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || lseek(fd, -1, SEEK_END) < 0 || write(fd, "\xa5", 1) != 1)
		abort();
	close(fd);
	before = mappings();
	ret = epf_snap_open(path, &file, NULL, NULL, &fault);
	tap_ok(ret == -EBADMSG && fault == EPF_SNAP_LINES_SUM && mappings() == before,
	       "a snapshot with refused lines is not left mapped");
	/* closing again would unmap what has been mapped there since */
	tap_ok(!file.map && !file.locked, "and closing it does nothing");
}

static void old(void)
{
	const struct scene s = { .align = true };
	static struct host h[HOSTS];
	static struct merged r;

	live_scene(h, &s, 100 * pitch);
	h[1].file.header.realtime_ns -= 20 * pitch;
	h[2].file.header.realtime_ns -= 9 * pitch;
	tap_ok(!merge(&r, h, HOSTS, false) && r.m.source[0].epochs == 8 && !r.m.source[1].epochs &&
		       !r.m.source[2].epochs && lines_equal(&r.out, r.o.lanes.line),
	       "of snapshots older than the window nothing is left");
	merged_free(&r);
}

/* Hosts that have seen fewer epochs than the result has. */
static const char *try_young(__u32 phase)
{
	const struct law law = { 0, 9, false };
	__u64 now = 100 * pitch - WALL % pitch + phase * pitch / PHASES;
	static struct host h[HOSTS];
	static struct merged r;
	const char *broken;
	__u32 i;

	for (i = 0; i < HOSTS; i++) {
		born(&h[i], i, 2048, now - (2 * i + 1) * pitch, EPF_EPOCH_FIRST, true);
		live(&h[i], now - i * pitch);
		snap(&h[i]);
	}
	if (merge(&r, h, HOSTS, false))
		return "a merge refuses";
	broken = header_sound(&r, h, HOSTS) ? NULL : "the header is not sound";
	if (!broken)
		broken = check_keys(&r, h, HOSTS, &law);
	if (!broken)
		broken = check_later(&r, h, HOSTS);
	merged_free(&r);
	for (i = 0; i < HOSTS; i++)
		owner_free(&h[i].o);
	return broken;
}

static void young(void)
{
	const char *broken = NULL;
	__u32 phase;

	for (phase = 0; phase < PHASES && !broken; phase++)
		broken = try_young(phase);
	tap_sound(broken, "hosts made one, three and five pitches before");
}

/* Use a directory in memory if there is one, because each of 1,500 snapshots is synced. */
static void make_path(const char *dir)
{
	const char *const in[] = { dir, "/dev/shm", "/tmp" };
	int i, fd = -1;

	for (i = 0; i < 3 && fd < 0; i++) {
		if (!in[i])
			continue;
		snprintf(path, sizeof(path), "%.4000s/epf-merge-XXXXXX", in[i]);
		fd = mkstemp(path);
	}
	if (fd < 0)
		abort();
	close(fd);
}

int main(int argc, char **argv)
{
	bool only = argc > 1 && !strcmp(argv[1], "laws");

	make_path(argc > 2 ? argv[2] : NULL);
	pitch = epf_align_pitch(EPOCH);
	near = epf_align_near(pitch);
	tap_plan(sizeof(scenes) / sizeof(*scenes) + 5 + (only ? 0 : REFUSALS + 5));
	laws();
	equalities();
	full_counts();
	if (!only) {
		errors();
		refusals();
		refused_lines();
		old();
		young();
	}
	unlink(path);
	return tap_end();
}
