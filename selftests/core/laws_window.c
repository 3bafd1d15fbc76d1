// SPDX-License-Identifier: GPL-2.0
/*
 * Properties of the window, in one thread. Filters are so sparse that a false positive
 * has a probability below 1e-6 in the whole run, so every verdict and age must follow
 * from the epochs.
 */
#include "owner.h"
#include "tap.h"

#define R EPF_LIVE_EPOCHS

static const __u32 shapes[][2] = { { 1, 15 }, { 2, 28 }, { 4, 40 } };
#define SHAPES ((int)(sizeof(shapes) / sizeof(shapes[0])))

static __u64 key_digest(__u64 seed, __u64 n)
{
	return epf_word(seed * 0x632be59bd9b4e019ULL + n, 1);
}

/* Return: the verdict on insertion @n after @all insertions, in a count window with
 * epochs of @len.
 */
static int expected(__u64 n, __u64 all, __u64 len)
{
	__u64 age = all / len - n / len;

	return age < EPF_LANES ? EPF_PRESENT + (int)age : EPF_ABSENT;
}

/* Distinct keys: after each insertion all keys of nine epochs are looked up. All phases
 * occur, because the number of epochs is whole.
 */
static const char *distinct_keys(__u64 w, int shape)
{
	__u64 len = (w + R - 1) / R;
	const char *broken = NULL;
	struct owner o;
	__u64 all, n;

	owner_init(&o, 4096, shapes[shape][0], shapes[shape][1]);
	owner_window(&o, EPF_MODE_COUNT, 0, w, 0);
	for (all = 0; all < 12 * len && !broken; all++) {
		owner_advance(&o, 1);
		for (n = all > 9 * len ? all - 9 * len : 0; n < all; n++) {
			int verdict = owner_test(&o, key_digest(w, n));

			if (all - n <= w && !verdict)
				broken = "a key of the last W is absent";
			if (all - n > (R + 1) * len && verdict)
				broken = "a key is older than (r+1) ceil(W/r)";
			if (verdict != expected(n, all, len))
				broken = "an age is wrong";
		}
		owner_insert(&o, key_digest(w, all));
	}
	owner_free(&o);
	return broken;
}

static void every_phase(void)
{
	static const __u64 more[] = { 21, 49, 50, 100, 128, 693, 701 };
	const char *broken = NULL;
	unsigned int i;
	int shape;

	for (shape = 0; shape < SHAPES; shape++) {
		for (i = 1; i <= 20 && !broken; i++)
			broken = distinct_keys(i, shape);
		for (i = 0; i < sizeof(more) / sizeof(more[0]); i++)
			if (!broken)
				broken = distinct_keys(more[i], shape);
		tap_sound(broken,
			  "L=%u: window, staleness and age at every phase, W = 1..20 and larger",
			  shapes[shape][0]);
	}
}

/* A key of a stream, and when it was last inserted. */
struct last {
	__u64 epoch; /* 0: never */
	__u64 n;     /* insertions before it */
	__u64 ns;
};

struct stream {
	struct owner o;
	struct last last[512];
	__u64 w, t;
	__u64 inserts;
	__u64 seed;
	__u64 drawn;
	__u64 dt_max;
};

static __u64 draw(struct stream *s, __u64 below)
{
	return epf_word(s->seed, (__u32)++s->drawn) % below;
}

/* Check a verdict against the window and staleness properties. Return: NULL if @verdict
 * is allowed.
 */
static const char *judge(const struct stream *s, const struct last *l, int verdict)
{
	__u64 n = s->inserts - l->n; /* counting the insertion itself */
	__u64 ns = s->o.now_ns - l->ns;
	bool counted = l->epoch && n <= s->w;
	bool timed = l->epoch && ns <= s->t;
	bool stale_count = !l->epoch || n > (R + 1) * s->o.window.epoch_inserts;
	bool stale_time = !l->epoch || ns > (R + 1) * (s->o.window.epoch_ns + s->dt_max);
	static const char *const lost = "a key of the window is absent";
	static const char *const stale = "a key is retained too long";

	switch (s->o.window.mode) {
	case EPF_MODE_COUNT:
		return counted && !verdict ? lost : stale_count && verdict ? stale : NULL;
	case EPF_MODE_TIME:
		return timed && !verdict ? lost : stale_time && verdict ? stale : NULL;
	case EPF_MODE_EITHER: /* only the coverage that is reported is guaranteed */
		return (stale_count || stale_time) && verdict ? stale : NULL;
	}
	return (counted || timed) && !verdict ? lost : NULL; /* the key may be stale */
}

static const char *judge_age(const struct stream *s, const struct last *l, int verdict)
{
	__u64 age = s->o.state.epoch - l->epoch;
	int want = l->epoch && age < EPF_LANES ? EPF_PRESENT + (int)age : EPF_ABSENT;

	return verdict == want ? NULL : "an age is wrong";
}

static const char *judge_cover(const struct stream *s)
{
	__u64 inserts, ns;
	int i;

	epf_state_covered(&s->o.state, s->o.now_ns, &inserts, &ns);
	if (inserts > s->inserts)
		return "covers more insertions than there were";
	for (i = 0; i < 512; i++) {
		const struct last *l = &s->last[i];
		bool covered = l->epoch &&
			       (s->inserts - l->n <= inserts || s->o.now_ns - l->ns < ns);

		if (covered && !owner_test(&s->o, key_digest(s->seed, i)))
			return "a covered key is absent";
	}
	return NULL;
}

/* Look up and insert one key. First-seen filters insert absent keys only. */
static const char *sight(struct stream *s, unsigned int key)
{
	struct last *l = &s->last[key];
	__u64 digest = key_digest(s->seed, key);
	const char *broken;
	bool inserted;
	int verdict;

	if (draw(s, 4) == 0) {
		verdict = owner_test(&s->o, digest);
		broken = judge(s, l, verdict);
		return broken ? broken : judge_age(s, l, verdict);
	}
	verdict = owner_sight(&s->o, digest, &inserted);
	broken = judge(s, l, verdict);
	if (!broken)
		broken = judge_age(s, l, verdict);
	if (inserted != (!verdict || !s->o.window.first_seen))
		broken = "inserted when it should not, or not when it should";
	if (inserted) {
		l->epoch = s->o.state.epoch;
		l->n = s->inserts++;
		l->ns = s->o.now_ns;
	}
	return broken;
}

static const char *random_stream(__u32 mode, __u32 first_seen, __u64 w, __u64 t, int shape)
{
	struct stream *s = (struct stream *)calloc(1, sizeof(*s));
	const char *broken = NULL;
	int i;

	s->w = mode == EPF_MODE_TIME ? 0 : w;
	s->t = mode == EPF_MODE_COUNT ? 0 : t;
	s->seed = w * 131 + t * 7 + mode * 3 + first_seen + (tap_seed() << 32);
	owner_init(&s->o, 4096, shapes[shape][0], shapes[shape][1]);
	owner_window(&s->o, mode, first_seen, s->w, s->t);
	s->dt_max = t / R / 2 + 1;
	for (i = 0; i < 12000 && !broken; i++) {
		unsigned int hot = i / 1000 % 2 ? 512 : 24;

		/* alternate between busy and quiet times, so that either boundary comes
		 * first
		 */
		owner_advance(&s->o, i / 3000 % 2 ? draw(s, s->dt_max) : draw(s, 3));
		broken = sight(s, (unsigned int)draw(s, hot));
		if (!broken && i % 97 == 0)
			broken = judge_cover(s);
	}
	owner_free(&s->o);
	free(s);
	return broken;
}

static void every_mode(void)
{
	static const char *const names[] = { "count", "time", "either", "both" };
	static const __u64 w[] = { 1, 7, 20, 49, 150 };
	static const __u64 t[] = { 7, 50, 99, 700, 5001 };
	__u32 mode, first, i;

	for (mode = 0; mode <= EPF_MODE_MAX; mode++)
		for (first = 0; first < 2; first++) {
			const char *broken = NULL;

			for (i = 0; i < 5 * SHAPES && !broken; i++)
				broken = random_stream(mode, first, w[i / SHAPES], t[i / SHAPES],
						       i % SHAPES);
			tap_sound(broken, "mode %s, %s: random streams", names[mode],
				  first ? "first-seen" : "refresh");
		}
}

/* Insert keys in all lines at epoch 8 + @phase, then rotate without insertions. The
 * scan is prompt while the keys live, so it finds nothing to do, and is @lag epochs
 * late from then on: the worst case.
 *
 * Return: the number of rotations after which a key outside the window was present; 0:
 * never; -1: a key was lost.
 */
static int idle(__u32 lag, __u32 phase)
{
	__u64 keys = 400, i;
	int n, stale = 0;
	struct owner o;

	owner_init(&o, 64, 1, 15);
	for (i = 0; i < phase; i++)
		owner_rotate(&o);
	for (i = 0; i < keys; i++)
		owner_insert(&o, key_digest(phase, i));
	for (n = 0; n < 120 && stale >= 0; n++) {
		for (i = 0; i < keys; i++) {
			bool live = n < (int)EPF_LANES;
			int verdict = owner_test(&o, key_digest(phase, i));

			if (live && verdict != EPF_PRESENT + n)
				stale = -1;
			if (!live && verdict && !stale)
				stale = n;
		}
		owner_rotate(&o);
		if (n == 7) /* the last scan that must spare these keys is over */
			o.lag = lag;
	}
	owner_free(&o);
	return stale;
}

static int idle_any_phase(__u32 lag)
{
	int stale = 0;
	__u32 phase;

	for (phase = 0; phase < 64 && !stale; phase++)
		stale = idle(lag, phase);
	return stale;
}

static void tag_wrap(void)
{
	static const __u32 lags[] = { 0, 1, 7, EPF_SCAN_LAG };
	__u32 i;

	for (i = 0; i < 4; i++)
		tap_ok(!idle_any_phase(lags[i]),
		       "idle filter: no old tag matches again, scan %u behind", lags[i]);
	tap_ok(idle_any_phase(EPF_SCAN_LAG + 2) == 32,
	       "a scan %u behind is too late: old tags match again after 32 epochs",
	       EPF_SCAN_LAG + 2);
	tap_ok(idle_any_phase(OWNER_NO_SCAN) == 32,
	       "without a scan they match too: the test can fail");
}

static void late_flush(void)
{
	struct epf_state s;
	bool good;

	epf_state_init(&s, 5);
	good = epf_count_add(&s, 8, 3) == 3 && epf_count_add(&s, 8, 4) == 7;
	good &= epf_count_add(&s, 7, 9) == 0 && epf_count_add(&s, 9, 9) == 0;
	epf_state_rotate(&s, 6);
	good &= epf_count_add(&s, 8, 9) == 0 && s.ring[0].inserts == 7;
	good &= epf_count_add(&s, 9, EPF_INSERTS_MAX) == EPF_INSERTS_MAX;
	good &= epf_count_add(&s, 9, 1) == EPF_INSERTS_MAX;
	tap_ok(good, "counts: a late flush is dropped, the counter saturates");
}

static void pending(void)
{
	__u64 kept = 0, flush, flushed = 0;
	bool good = true;
	int i;

	for (i = 0; i < 100; i++) {
		kept = epf_pending_add(kept, 8, 32, &flush);
		flushed += flush;
		good &= flush == 0 || flush == 32;
		good &= epf_pending_of(kept, 8) + flushed == (__u64)i + 1;
	}
	good &= epf_pending_of(kept, 9) == 0;
	kept = epf_pending_add(kept, 9, 32, &flush);
	good &= !flush && epf_pending_of(kept, 9) == 1;
	kept = epf_pending_add(kept, 9, 1, &flush);
	good &= flush == 2 && epf_pending_of(kept, 9) == 0;
	kept = epf_pending_join(kept, 9, 20, 32, &flush);
	good &= !flush && epf_pending_of(kept, 9) == 20;
	kept = epf_pending_join(kept, 9, 20, 32, &flush);
	good &= flush == 40 && epf_pending_of(kept, 9) == 0;
	kept = epf_pending_join(epf_pending_join(kept, 9, 20, 32, &flush), 10, 5, 32, &flush);
	good &= !flush && epf_pending_of(kept, 10) == 5;
	kept = epf_pending_join(kept, 9, 20, 2, &flush); /* late */
	good &= !flush && epf_pending_of(kept, 10) == 5;
	kept = epf_pending_add(kept, 3, 1, &flush); /* as late as can be */
	good &= !flush && epf_pending_of(kept, 10) == 5;
	kept = epf_pending_add(kept, 10 + (1ULL << 31), 32, &flush); /* long idle */
	good &= !flush && epf_pending_of(kept, 10 + (1ULL << 31)) == 1;
	kept = epf_pending_join(10ULL << 32 | 5, 11 + (1ULL << 31), 20, 32, &flush);
	good &= !flush && epf_pending_of(kept, 11 + (1ULL << 31)) == 20;
	kept = epf_pending_add(0, (1ULL << 32) - 3, 32, &flush); /* nothing is of no epoch */
	good &= !flush && epf_pending_of(kept, (1ULL << 32) - 3) == 1;
	kept = epf_pending_join(0, (1ULL << 32) - 3, 20, 32, &flush);
	good &= !flush && epf_pending_of(kept, (1ULL << 32) - 3) == 20;
	tap_ok(good, "counts: what a CPU keeps is flushed, or dropped with its epoch");
}

static const char *look_broken(const struct epf_pace *p, __u64 sum, __u64 left)
{
	__u64 next = epf_next_look(p, sum, left);
	__u64 rest = epf_pace_rest(p, sum, left);
	__u64 kept = epf_pace_kept(p, rest);

	if ((next <= sum && sum < EPF_COUNT_MASK) || next > EPF_COUNT_MASK)
		return "it is not ahead";
	if (next - sum > p->step)
		return "it is more than a step ahead";
	if (left && next - sum > left)
		return "the filter is full before";
	if (kept > rest / 4 * 3 + 3)
		return "more is kept than three quarters of what is left";
	if (rest - kept < next - sum)
		return "with what is kept the end comes before";
	if (sum < p->full_at && next > p->full_at)
		return "the epoch is over before";
	if (rest == ~0ULL && p->step < EPF_COUNT_MASK &&
	    next != (p->step < EPF_COUNT_MASK - sum ? sum + p->step : EPF_COUNT_MASK))
		return "without a limit it is not a step ahead";
	return NULL;
}

/* Every combination of extreme numbers. */
static void next_look(void)
{
	/* clang-format off */
	static const __u64 ends[] = {
		0, 1, 2, 63, 64, 65, 1000, EPF_INSERTS_MAX - 1, EPF_INSERTS_MAX,
		EPF_INSERTS_MAX + 1, ~0ULL - 64, ~0ULL - 1, ~0ULL,
	};
	/* clang-format on */
	static const __u32 cpus[] = { 1, 2, 8, 9, 64, 8192, ~0U - 8 };
	const __u32 n = sizeof(ends) / sizeof(ends[0]);
	const char *broken = NULL;
	struct epf_pace p;
	__u32 i, s, c;

	for (i = 0; i < n * n * n * n && !broken; i++) {
		for (c = 0; c < 7 && ends[i % n]; c++) {
			epf_pace_init(&p, ends[i % n], ends[i / n % n], ends[i / n / n % n],
				      cpus[c]);
			for (s = 0; s < 9 && !broken; s++)
				broken = look_broken(&p, ends[s], ends[i / n / n / n]);
		}
	}
	tap_sound(broken, "counts: when an insertion checks the count again");
}

int main(void)
{
	tap_plan(SHAPES + 8 + 6 + 3);
	every_phase();
	every_mode();
	tag_wrap();
	late_flush();
	pending();
	next_look();
	return tap_end();
}
