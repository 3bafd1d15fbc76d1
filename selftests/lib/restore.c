// SPDX-License-Identifier: GPL-2.0
/*
 * Snapshots that go on as filters in memory, of every kind, and aligned epochs, by the public
 * header alone.
 *
 * Hash key and times are fixed, so nothing here depends on chance or on the clock. The only times
 * of the clock are those of LIBEPF_RESTORE_ELAPSED, which are days away from what is asked.
 */
#include "lib.h"

#include <errno.h>
#include <time.h>

#define W 210u        /* keys of a window */
#define T (W * 1000u) /* ns of a window: one key in a microsecond */
#define MORE (3u * W) /* keys after the restore */
#define STAY (2u * W) /* no kind keeps keys for longer */
#define FOUND_MOST 3u /* absent keys that a run may find, at an error of 1e-5 */
#define BEGIN (UINT64_C(1) << 40)
#define WALL 1700000000000000000u
#define DAY UINT64_C(86400000000000)

static struct libepf_plan plan_of(const char *kind, bool timed)
{
	struct libepf_plan p = { .size = sizeof(p),
				 .kind = kind,
				 .name = "saved",
				 .error = 1e-5,
				 .limit = 1,
				 .hash_key = HASH_KEY };

	if (timed) {
		p.window_ns = T;
		p.rate = 1e6;
	} else {
		p.window_keys = W;
	}
	return p;
}

/* A filter that has nothing in common with those that are saved. */
static struct libepf_filter *other_filter(void)
{
	struct libepf_plan p = {
		.size = sizeof(p), .window_keys = 3, .name = "kept", .kind = "apbf"
	};
	struct libepf_filter *f;

	if (libepf_filter_new(&p, 0, &f))
		abort();
	return f;
}

static int restore(struct libepf_filter *f, const char *path, uint64_t now, uint32_t flags)
{
	struct libepf_restore o = { .size = sizeof(o), .flags = flags };

	return libepf_filter_restore(f, path, now, &o);
}

static uint8_t age_of(struct libepf_filter *f, uint64_t key, uint64_t now)
{
	struct libepf_keys keys = keys_of(&key, 1);
	uint8_t age = 77;

	libepf_filter_test(f, &keys, now, &age);
	return age;
}

static void insert(struct libepf_filter *f, uint64_t key, uint64_t now)
{
	struct libepf_keys keys = keys_of(&key, 1);

	if (libepf_filter_insert(f, &keys, now))
		abort();
}

/* ------------------------------------------------------------------ law ---- */

enum want { OWN, GIVEN, ZERO };

/* clang-format off */
#define WORD(member, want)                                                                      \
	{ #member, offsetof(struct libepf_info, member),                                        \
	  sizeof(((struct libepf_info *)0)->member), want }
static const struct word {
	const char *name;
	size_t at, bytes;
	enum want want;
} words[] = {
	WORD(flags, GIVEN), WORD(name, OWN), WORD(kind, GIVEN), WORD(keys, GIVEN),
	WORD(window_keys, GIVEN), WORD(window_ns, GIVEN), WORD(error, GIVEN), WORD(limit, GIVEN),
	WORD(epochs, GIVEN), WORD(epoch, GIVEN), WORD(covered_keys, GIVEN), WORD(covered_ns, GIVEN),
	WORD(inserts, GIVEN), WORD(hits, ZERO), WORD(misses, ZERO), WORD(unknown, ZERO),
	WORD(rotations, ZERO), WORD(wall_ns, ZERO), WORD(id, ZERO), WORD(jumps, OWN),
};
/* clang-format on */

/* Each word of what was restored is its own, that of what was saved, or 0. */
static const char *carried(const struct libepf_info *own, const struct libepf_info *given,
			   const struct libepf_info *now)
{
	static const struct libepf_info zero;
	const struct libepf_info *from[] = { own, given, &zero };
	unsigned int i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (memcmp((const char *)now + words[i].at,
			   (const char *)from[words[i].want] + words[i].at, words[i].bytes))
			return words[i].name;
	return NULL;
}

/* What is restored says of every key what was saved says. */
static const char *equal(struct libepf_filter *f, struct libepf_filter *g, uint64_t nr, uint64_t at)
{
	uint64_t i;

	for (i = 0; i < nr; i++)
		if (age_of(f, i, BEGIN + nr * 1000) != age_of(g, i, at))
			return "a key has another age after the restore";
	return NULL;
}

/* Insert more keys into @g, whose clock begins with @at, and ask for old and new ones. */
static const char *go_on(struct libepf_filter *g, bool timed, uint64_t nr, uint64_t at)
{
	uint64_t i, last, found = 0;

	for (i = nr; i < nr + MORE; i++) {
		at += 1000;
		insert(g, i, at);
		for (last = i < 3 * W ? i : 3 * W; last; last -= last < 7 ? last : 7) {
			uint8_t age = age_of(g, i - last, at);

			if (last < W && age >= LIBEPF_AGE_UNKNOWN)
				return "a key of the window is lost after the restore";
			found += last > STAY && age != LIBEPF_AGE_ABSENT;
		}
	}
	if (found > FOUND_MOST)
		return "keys stay after the restore";
	if (timed && age_of(g, i - 1, at + 2 * T) != LIBEPF_AGE_ABSENT)
		return "a key stays after a pause after the restore";
	return NULL;
}

static const char *saved_again(struct libepf_filter *g, uint64_t inserts)
{
	struct libepf_info info = { .size = sizeof(info) };
	const char *path = temp_path("again.epf");
	struct libepf_snapshot *s;

	if (libepf_filter_save(g, path, 0, WALL) || libepf_snapshot_open(path, 0, &s))
		return libepf_error();
	libepf_snapshot_info(s, &info);
	libepf_snapshot_close(s);
	if (info.flags & LIBEPF_INFO_SATURATED)
		return "a snapshot without a limit is above it";
	return info.inserts == inserts && !strcmp(info.name, "kept") ? NULL :
								       "it is saved wrongly again";
}

/* Save after @nr keys, and restore at another clock, which begins after the oldest epochs. */
static const char *law(struct libepf_filter *f, bool timed, uint64_t nr)
{
	const char *path = temp_path("law.epf"), *wrong = NULL;
	struct libepf_filter *g = other_filter();
	uint64_t at = nr % 2 ? 0 : BEGIN * 3;
	struct libepf_info own, given, now;

	insert(g, nr + MORE, 0);
	own = info_of(g, 0);
	given = info_of(f, BEGIN + nr * 1000);
	if (libepf_filter_save(f, path, BEGIN + nr * 1000, WALL) || restore(g, path, at, 0))
		wrong = libepf_error();
	now = info_of(g, at);
	wrong = wrong ? wrong : carried(&own, &given, &now);
	if (!wrong && age_of(g, nr + MORE, at) != LIBEPF_AGE_ABSENT)
		wrong = "the old contents stay";
	if (!wrong)
		wrong = equal(f, g, nr, at);
	if (!wrong)
		wrong = go_on(g, timed, nr, at);
	if (!wrong)
		wrong = saved_again(g, nr + MORE);
	libepf_filter_free(g);
	return wrong;
}

static const char *laws(const char *kind, bool timed)
{
	static const uint64_t phases[] = { 0, 1, 2 * W + 14, 5 * W + 3 };
	struct libepf_plan p = plan_of(kind, timed);
	const char *wrong = NULL;
	struct libepf_filter *f;
	uint64_t nr = 0;
	unsigned int i;

	if (libepf_filter_new(&p, BEGIN, &f))
		return timed ? libepf_error() : NULL;
	for (i = 0; i < sizeof(phases) / sizeof(phases[0]) && !wrong; i++) {
		for (; nr < phases[i]; nr++)
			insert(f, nr, BEGIN + nr * 1000);
		wrong = law(f, timed, nr);
	}
	libepf_filter_free(f);
	return wrong;
}

/* A snapshot above its limit does not know, and says so; an audit gives ages all the same. */
static const char *full_snapshot(const char *path)
{
	struct libepf_info info = { .size = sizeof(info) };
	struct libepf_audit audit = { .size = sizeof(audit) };
	uint64_t last = 40 * W - 1;
	struct libepf_keys keys = keys_of(&last, 1);
	struct libepf_snapshot *s;
	const char *wrong = NULL;
	uint8_t age = 77;

	if (libepf_snapshot_open(path, 0, &s) || libepf_snapshot_info(s, &info))
		return libepf_error();
	if (!(info.flags & LIBEPF_INFO_SATURATED) || info.estimate <= info.limit)
		wrong = "a snapshot above its limit does not say so";
	else if (libepf_snapshot_test(s, &keys, &age) || age != LIBEPF_AGE_UNKNOWN)
		wrong = "a snapshot above its limit claims to know";
	else if (libepf_snapshot_audit(s, &keys, &audit) || audit.present != 1)
		wrong = "an audit of a snapshot above its limit loses a key";
	libepf_snapshot_close(s);
	return wrong;
}

/* A filter above its limit does not know after the restore either, before any insertion. */
static const char *saturated(const char *kind)
{
	struct libepf_plan p = plan_of(kind, true);
	const char *path = temp_path("full.epf"), *wrong = NULL;
	struct libepf_filter *f, *g = other_filter();
	uint64_t i;

	p.limit = 0;
	if (libepf_filter_new(&p, 0, &f))
		return libepf_error();
	for (i = 0; i < 40 * W; i++)
		insert(f, i, i * 25);
	if (libepf_filter_save(f, path, i * 25, WALL) || restore(g, path, 0, 0))
		wrong = libepf_error();
	for (i = 40 * W - 50; i < 40 * W && !wrong; i++)
		if (age_of(f, i, 0) != age_of(g, i, 0))
			wrong = "after the restore a full filter claims to know";
	if (!wrong && (info_of(f, 0).flags ^ info_of(g, 0).flags) & LIBEPF_INFO_SATURATED)
		wrong = "saturation is lost";
	if (!wrong && info_of(f, 0).flags & LIBEPF_INFO_SATURATED)
		wrong = full_snapshot(path);
	else if (!wrong && strcmp(kind, "tlbf") && strcmp(kind, "chain")) /* those grow */
		wrong = "40 times the keys do not saturate";
	libepf_filter_free(f);
	libepf_filter_free(g);
	return wrong;
}

static const char *every_kind(const char *kind)
{
	const char *wrong = saturated(kind);

	wrong = wrong ? wrong : laws(kind, true);
	return wrong ? wrong : laws(kind, false);
}

/* -------------------------------------------------------------- options ---- */

static uint64_t wall_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* One key in a window of a week, saved at @wall. */
static const char *save_week(const char *kind, uint64_t wall)
{
	struct libepf_plan p = plan_of(kind, true);
	const char *path = temp_path("week.epf");
	struct libepf_filter *f;

	p.window_ns = 7 * DAY;
	p.rate = 0.01;
	if (libepf_filter_new(&p, 0, &f))
		abort();
	insert(f, 1, 0);
	if (libepf_filter_save(f, path, 0, wall))
		abort();
	libepf_filter_free(f);
	return path;
}

static const char *elapsed_of(const char *kind)
{
	struct libepf_filter *g = other_filter();
	uint64_t now = wall_now();
	const char *wrong = NULL;

	insert(g, 2, 5);
	if (restore(g, save_week(kind, now - 8 * DAY), 5, LIBEPF_RESTORE_ELAPSED) != -ESTALE ||
	    !strstr(libepf_error(), "s ago, and its window of 604800 s is over"))
		wrong = "a snapshot is taken whose window is over";
	if (restore(g, save_week(kind, now + DAY), 5, LIBEPF_RESTORE_ELAPSED) != -EINVAL ||
	    !strstr(libepf_error(), "s from now"))
		wrong = "a snapshot of the future is taken";
	if (age_of(g, 2, 5) >= LIBEPF_AGES)
		wrong = "a refused restore changes the filter";
	if (restore(g, save_week(kind, now - 6 * DAY), 5, LIBEPF_RESTORE_ELAPSED))
		wrong = libepf_error();
	else if (age_of(g, 1, 5) >= LIBEPF_AGES || age_of(g, 1, 5 + DAY / 2) >= LIBEPF_AGES)
		wrong = "a key is lost before its week is over";
	else if (age_of(g, 1, 5 + 4 * DAY) != LIBEPF_AGE_ABSENT)
		wrong = "the time that has passed does not count";
	if (restore(g, save_week(kind, now - 8 * DAY), 5 + 4 * DAY, 0))
		wrong = libepf_error();
	else if (age_of(g, 1, 5 + 10 * DAY) >= LIBEPF_AGES)
		wrong = "time counts that was not to";
	libepf_filter_free(g);
	return wrong;
}

static const char *elapsed(void)
{
	const char *wrong = elapsed_of("lanes");

	wrong = wrong ? wrong : elapsed_of("ge");
	return wrong ? wrong : elapsed_of("tlbf");
}

/* Does a filter of plan @p, which has key 2, refuse @path for @why? */
static const char *refuses(const struct libepf_plan *p, const char *path, const char *why)
{
	const char *wrong = NULL;
	struct libepf_filter *f;

	if (libepf_filter_new(p, 0, &f))
		return libepf_error();
	insert(f, 2, 0);
	if (restore(f, path, 0, LIBEPF_RESTORE_SAME) != -EINVAL || !strstr(libepf_error(), why))
		wrong = why;
	if (age_of(f, 2, 0) || age_of(f, 1, 0) != LIBEPF_AGE_ABSENT)
		wrong = "a refused restore changes the filter";
	libepf_filter_free(f);
	return wrong;
}

static const char *same_of(const char *kind, const char *other)
{
	const struct libepf_plan good = plan_of(kind, true);
	const char *path = temp_path("same.epf"), *wrong = NULL;
	struct libepf_plan p = good;
	struct libepf_filter *f;

	p.name = "another";
	p.hash_key = NULL;
	if (libepf_filter_new(&good, 0, &f))
		return libepf_error();
	insert(f, 1, 0);
	if (libepf_filter_save(f, path, 0, WALL))
		wrong = libepf_error();
	libepf_filter_free(f);
	if (!wrong && libepf_filter_new(&p, 0, &f))
		return libepf_error();
	if (!wrong && (restore(f, path, 0, LIBEPF_RESTORE_SAME) || age_of(f, 1, 0)))
		wrong = "a snapshot of the same plan is refused";
	libepf_filter_free(f);
	p.kind = other;
	wrong = wrong ? wrong : refuses(&p, path, "another kind");
	p = good;
	p.window_ns *= 2;
	wrong = wrong ? wrong : refuses(&p, path, "another window");
	p = good;
	p.flags = LIBEPF_FIRST_SEEN;
	wrong = wrong ? wrong : refuses(&p, path, "another window");
	p = good;
	p.error = 2e-5;
	wrong = wrong ? wrong : refuses(&p, path, "another error or limit");
	p = good;
	p.rate *= 2;
	return wrong ? wrong : refuses(&p, path, "another size or shape");
}

static const char *same(void)
{
	const char *wrong = same_of("lanes", "ge");

	return wrong ? wrong : same_of("ge", "lanes");
}

/* -------------------------------------------------------------- aligned ---- */

#define E UINT64_C(1000000000)
#define P (E + E / 64 + 1) /* the pitch that the header tells */
#define AT(pitches) (WALL / P * P + (uint64_t)((pitches) * (double)P))

static struct libepf_filter *aligned(uint32_t flags, uint64_t now)
{
	struct libepf_plan p = { .size = sizeof(p),
				 .flags = flags,
				 .window_ns = 7 * E,
				 .rate = 100,
				 .hash_key = HASH_KEY };
	struct libepf_filter *f;

	return libepf_filter_new(&p, now, &f) ? NULL : f;
}

/* Do epochs of @f end at multiples from number @first on, which ends epoch @epoch? */
static const char *boundaries(struct libepf_filter *f, uint64_t first, uint64_t epoch)
{
	uint64_t i, at;

	for (i = 0; i < 20; i++) {
		at = AT(first + i);
		if (info_of(f, at - 1).epoch != epoch + i || info_of(f, at).epoch != epoch + i + 1)
			return "an epoch does not end with a multiple";
	}
	return NULL;
}

static const char *aligned_ends(void)
{
	struct libepf_filter *f = aligned(LIBEPF_ALIGN, AT(0.3));
	const char *wrong = NULL;

	if (!f)
		return libepf_error();
	if (!(info_of(f, AT(0.3)).flags & LIBEPF_INFO_ALIGNED))
		wrong = "it is not told that it is aligned";
	if (!wrong)
		wrong = boundaries(f, 1, 8);
	insert(f, 1, AT(21.5));
	if (!wrong && (age_of(f, 1, AT(21.5) + 7 * E) >= LIBEPF_AGES ||
		       age_of(f, 1, AT(29.5)) != LIBEPF_AGE_ABSENT))
		wrong = "the window of an aligned filter";
	libepf_filter_free(f);
	return wrong;
}

/* An aligned filter stays so when it gets the contents of another. */
static const char *aligned_restore(void)
{
	struct libepf_filter *f = aligned(0, 0), *g = aligned(LIBEPF_ALIGN, AT(0.3));
	const char *path = temp_path("plain.epf"), *wrong = NULL;

	if (!f || !g)
		return libepf_error();
	insert(f, 1, E / 2);
	if (libepf_filter_save(f, path, E / 2, WALL) || restore(g, path, AT(0.8), 0))
		wrong = libepf_error();
	if (!wrong && (info_of(f, E / 2).flags & LIBEPF_INFO_ALIGNED ||
		       !(info_of(g, AT(0.8)).flags & LIBEPF_INFO_ALIGNED)))
		wrong = "alignment is lost, or gained";
	if (!wrong && age_of(g, 1, AT(0.8) + 7 * E) >= LIBEPF_AGES)
		wrong = "a key is lost";
	if (!wrong)
		wrong = boundaries(g, 11, info_of(g, AT(10.5)).epoch);
	libepf_filter_free(f);
	libepf_filter_free(g);
	return wrong;
}

static int save_aligned(const char *path, uint32_t flags, double begin, double end, uint64_t key)
{
	struct libepf_filter *f = aligned(flags, AT(begin));
	int err = f ? 0 : -1;

	if (err)
		return err;
	insert(f, key, AT(end - 0.5));
	err = libepf_filter_save(f, path, AT(end), flags ? LIBEPF_NOW : AT(end));
	libepf_filter_free(f);
	return err;
}

/* Two hosts whose filters began at different times; a third is not aligned. */
static const char *aligned_merge(void)
{
	const char *path[] = { temp_path("one.epf"), temp_path("two.epf"), temp_path("three.epf") };
	const char *out = temp_path("out.epf"), *wrong = NULL;
	uint64_t key[] = { 1, 2 };
	struct libepf_keys keys = keys_of(key, 2);
	struct libepf_snapshot *s;

	if (save_aligned(path[0], LIBEPF_ALIGN, 0.3, 5.2, 1) ||
	    save_aligned(path[1], LIBEPF_ALIGN, 2.7, 5.3, 2) ||
	    save_aligned(path[2], 0, 0.4, 5.3, 3) || libepf_merge(path, 2, out, NULL) ||
	    libepf_snapshot_open(out, 0, &s))
		return libepf_error();
	if (libepf_snapshot_test(s, &keys, NULL) != 2)
		wrong = "a merge of aligned filters loses a key";
	libepf_snapshot_close(s);
	if (libepf_merge(path, 3, out, NULL) != -EINVAL || !strstr(libepf_error(), "wall clock"))
		wrong = "epochs that are not aligned are merged";
	return wrong;
}

static const char *aligned_plans(void)
{
	struct libepf_plan p = { .size = sizeof(p), .flags = LIBEPF_ALIGN, .window_keys = 100 };
	struct libepf_size plain = { .size = sizeof(plain) }, longer = { .size = sizeof(longer) };

	if (libepf_plan_size(&p, &plain) != -EINVAL)
		return "a window of insertions is aligned";
	p.window_keys = 0;
	p.window_ns = 7 * E;
	p.rate = 1e6;
	p.kind = "ge";
	if (libepf_plan_size(&p, &plain) != -EINVAL || !strstr(libepf_error(), "kind lanes"))
		return "another kind is aligned";
	p.kind = NULL;
	if (libepf_plan_size(&p, &longer))
		return libepf_error();
	p.flags = 0;
	if (libepf_plan_size(&p, &plain))
		return libepf_error();
	return longer.bytes > plain.bytes ? NULL : "longer epochs have no room for their keys";
}

static void check(const char *what, const char *wrong, long printed)
{
	tap_ok(!wrong && !printed, "%s%s%s", what, wrong || printed ? ": " : "",
	       wrong   ? wrong :
	       printed ? "the library prints" :
			 "");
}

static void run(const char *what, const char *(*call)(void))
{
	const char *wrong;

	silent_begin();
	wrong = call();
	check(what, wrong, silent_end());
}

/* usage: restore [KIND] */
int main(int argc, char **argv)
{
	unsigned int i, kinds;
	const char *kind, *wrong;

	for (kinds = 0; libepf_kind(kinds); kinds++)
		;
	tap_plan((argc > 1 ? 1 : (int)kinds) + 6);
	for (i = 0; (kind = libepf_kind(i)); i++) {
		if (argc > 1 && strcmp(kind, argv[1]))
			continue;
		silent_begin();
		wrong = every_kind(kind);
		check(kind, wrong, silent_end());
	}
	run("the time since the file was saved counts if it is to", elapsed);
	run("a snapshot of another plan is refused if it is to be", same);
	run("aligned epochs end with the multiples that the header tells", aligned_ends);
	run("an aligned filter stays so", aligned_restore);
	run("snapshots of aligned filters can be merged", aligned_merge);
	run("what cannot be aligned is refused; aligned epochs have more room", aligned_plans);
	temp_gone();
	return tap_end();
}
