// SPDX-License-Identifier: GPL-2.0
/*
 * Laws of the window for filters in memory of every kind, by the public header alone. The
 * kinds are those that the library names, so a new one is tested as soon as there is one.
 *
 * Filters are planned for the least error that their kind can have, 1e-9 but for elastic
 * (1e-5), and never get more keys than planned. At 1e-9 one of the 300,000 tests of absent
 * keys finds something with a chance below 1e-3 in all runs of all kinds at their worst
 * moment, and the seeds are fixed. At 1e-5 a run may find FOUND_MOST of its 10,000, of
 * which 0.1 are expected.
 */
#include "lib.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>

#define W 400u        /* keys of a window */
#define T (W * 1000u) /* ns of a window: one key in a microsecond */
#define STEPS (10u * W)
#define ASKED 12u /* keys asked for at a time */
#define FOUND_MOST 8u
#define EVERY 32u /* insertions between two looks at the epoch, which take samples */

enum { COUNT, TIME, EITHER, BOTH, MODES };
static const char *const modes[] = { "count", "time", "either", "both" };

/**
 * struct law - a filter under test
 * @f: filter
 * @slack: how long keys may stay, as a share of the window
 * @epochs: complete epochs in the window
 * @spare: absent keys that may still be found
 * @lingers: a silence does not age keys, unless by chance (docs/theory/tlbf.md)
 * @nr: keys inserted; key i is i
 * @at: when each was inserted, in ns
 * @epoch: an epoch that had begun by then
 * @seen: the epoch when it was looked at last
 * @begin: when the filter was made
 * @now: time
 * @busy: the same, but that a silence is one generation long at most
 * @busy_at: when each was inserted, by that
 * @state: of draw()
 */
struct law {
	struct libepf_filter *f;
	double slack;
	unsigned int epochs;
	unsigned int spare;
	bool lingers;
	uint64_t nr;
	uint64_t at[STEPS], epoch[STEPS], busy_at[STEPS];
	uint64_t seen;
	uint64_t begin, now;
	uint64_t busy;
	uint64_t state;
};

/* The least error of a kind: 1e-9 to 1e-4. Kinds come one after another, and planning "elastic"
 * takes long: so that of the last one is kept.
 */
static double least_error(const char *kind)
{
	struct libepf_size size = { .size = sizeof(size) };
	struct libepf_plan p = { .size = sizeof(p),
				 .kind = kind,
				 .error = 1e-9,
				 .limit = 1,
				 .window_ns = T,
				 .rate = 1e6 };
	static const char *last;
	static double least;

	if (last && !strcmp(last, kind))
		return least;
	while (p.error < 1e-4 && libepf_plan_size(&p, &size))
		p.error *= 10;
	last = kind;
	least = p.error;
	return least;
}

static struct libepf_plan plan_of(const char *kind, int mode)
{
	struct libepf_plan p = { .size = sizeof(p),
				 .kind = kind,
				 .error = least_error(kind),
				 .limit = 1,
				 .hash_key = HASH_KEY };

	if (mode != TIME)
		p.window_keys = W;
	if (mode != COUNT)
		p.window_ns = T;
	if (mode != COUNT)
		p.rate = 1e6;
	p.flags = mode == EITHER ? LIBEPF_EITHER : mode == BOTH ? LIBEPF_BOTH : 0;
	return p;
}

/* Must key @i be present? */
static bool counts(const struct law *l, int mode, uint64_t i)
{
	uint64_t keys = l->nr - i, ns = l->now - l->at[i];

	switch (mode) {
	case COUNT:
		return keys <= W;
	case TIME:
		return ns <= T;
	case EITHER:
		return (double)keys / W + (double)ns / T <= 1;
	default:
		return keys <= W || ns <= T;
	}
}

/* Must key @i be absent? Epochs are rounded up, and a call may be late by a step. In mode
 * both the count alone can delay the end of an epoch, so nothing is claimed.
 */
static bool stale(const struct law *l, int mode, uint64_t i)
{
	double keys = (double)(l->nr - i), ns = (double)(l->now - l->at[i]);
	double most_keys = (W + l->epochs + 1) * (1 + l->slack) + l->epochs + 1;
	double most_ns = (T + l->epochs + 1) * (1 + l->slack) + 4000;

	if (l->lingers)
		ns = (double)(l->busy - l->busy_at[i]);
	switch (mode) {
	case COUNT:
		return keys > most_keys;
	case TIME:
		return ns > most_ns;
	case EITHER:
		return keys > most_keys || ns > most_ns;
	default:
		return false;
	}
}

/* What the filter says that it covers: at least the window, at most its own life. */
static const char *covers(const struct law *l, int mode, const struct libepf_info *info)
{
	uint64_t life = l->now - l->begin;
	bool keys = mode == COUNT || mode == BOTH, ns = mode == TIME || mode == BOTH;

	if (keys && info->covered_keys < (l->nr < W ? l->nr : W))
		return "fewer keys are covered than the window has";
	if (ns && info->covered_ns < (life < T ? life : T))
		return "less time is covered than the window has";
	if (info->covered_keys > l->nr || info->covered_ns > life)
		return "more is covered than there was";
	return NULL;
}

/* An absent key is found. Return: was that one too many? */
static bool too_many(struct law *l)
{
	if (!l->spare)
		return true;
	l->spare--;
	return false;
}

static const char *judge(struct law *l, int mode, uint64_t i, uint8_t age)
{
	if (age == LIBEPF_AGE_UNKNOWN)
		return "a filter without a limit does not know";
	if (counts(l, mode, i) && age == LIBEPF_AGE_ABSENT)
		return "a key of the window is absent";
	if (stale(l, mode, i) && age != LIBEPF_AGE_ABSENT && too_many(l))
		return "a key is present that has left";
	if (l->nr % EVERY == 0 && age != LIBEPF_AGE_ABSENT && age > l->seen - l->epoch[i])
		return "a key is older than there were epochs since";
	return NULL;
}

/* Ask for keys about the edges of the window, for others, and for one never inserted. */
static const char *ask(struct law *l, int mode)
{
	uint64_t key[ASKED + 1], edge[] = { 1, W, W + 1, W + W / 7, 2 * W, 3 * W };
	struct libepf_keys keys = keys_of(key, ASKED + 1);
	const char *wrong = NULL;
	uint8_t age[ASKED + 1];
	int64_t present = 0, got;
	unsigned int i;

	for (i = 0; i < ASKED; i++)
		key[i] = i < 6 ? l->nr - (edge[i] <= l->nr ? edge[i] : l->nr) :
				 draw(&l->state) % l->nr;
	key[ASKED] = UINT64_MAX - l->nr;
	got = libepf_filter_test(l->f, &keys, l->now, age);
	for (i = 0; i < ASKED && !wrong; i++)
		wrong = judge(l, mode, key[i], age[i]);
	for (i = 0; i <= ASKED; i++)
		present += age[i] < LIBEPF_AGES;
	if (!wrong && age[ASKED] != LIBEPF_AGE_ABSENT && too_many(l))
		wrong = "a key never inserted is present";
	if (!wrong && got != present)
		wrong = "the number of keys present is wrong";
	return wrong;
}

/* The next moment: mostly a microsecond later, at times after a pause of some windows. */
static void step(struct law *l)
{
	uint64_t r = draw(&l->state), ns = 1000 + (r % 8 ? 0 : r >> 32 & 1023);

	if (!(r >> 16 & 1023))
		ns += (r >> 40) % (3 * T);
	l->now += ns;
	l->busy += ns < T / l->epochs ? ns : T / l->epochs;
}

static const char *run(struct law *l, int mode)
{
	const char *wrong = NULL;
	struct libepf_info info;
	struct libepf_keys keys;

	for (l->nr = 0; l->nr < STEPS && !wrong;) {
		keys = keys_of(&l->nr, 1);
		step(l);
		l->at[l->nr] = l->now;
		l->busy_at[l->nr] = l->busy;
		if (libepf_filter_insert(l->f, &keys, l->now))
			return libepf_error();
		l->epoch[l->nr++] = l->seen;
		if (l->nr % EVERY == 0) {
			info = info_of(l->f, l->now);
			l->seen = info.epoch;
			wrong = covers(l, mode, &info);
		}
		if (!wrong && l->nr % 4 == 0)
			wrong = ask(l, mode);
	}
	return wrong;
}

/* A snapshot says of every key what the filter says; an audit, too. */
static const char *snapshot(struct law *l)
{
	static uint64_t key[STEPS];
	static uint8_t live[STEPS], there[STEPS], audited[STEPS];
	struct libepf_keys keys = keys_of(key, STEPS);
	struct libepf_audit a = { .size = sizeof(a), .ages = audited };
	struct libepf_info info = { .size = sizeof(info) };
	const char *path = temp_path("law.epf"), *wrong = NULL;
	struct libepf_snapshot *s;
	uint64_t i;

	for (i = 0; i < STEPS; i++)
		key[i] = i;
	if (libepf_filter_save(l->f, path, l->now, 1700000000000000000u) ||
	    libepf_snapshot_open(path, 0, &s))
		return libepf_error();
	if (libepf_filter_test(l->f, &keys, l->now, live) !=
		    libepf_snapshot_test(s, &keys, there) ||
	    memcmp(live, there, STEPS))
		wrong = "a snapshot and its filter differ";
	if (libepf_snapshot_audit(s, &keys, &a) || memcmp(live, audited, STEPS))
		wrong = "an audit and the filter differ";
	if (libepf_snapshot_info(s, &info) || info.inserts != l->nr ||
	    info.wall_ns != 1700000000000000000u || strcmp(info.name, "libepf") ||
	    info.epochs != l->epochs || strcmp(info.kind, info_of(l->f, l->now).kind))
		wrong = "the information of a snapshot is wrong";
	libepf_snapshot_close(s);
	unlink(path);
	return wrong;
}

/* Return: NULL: the laws hold; "": the kind has no such window. */
static const char *law(const char *kind, int mode)
{
	static struct law l;
	struct libepf_plan p = plan_of(kind, mode);
	struct libepf_size size = { .size = sizeof(size) };
	const char *wrong;
	int err;

	memset(&l, 0, sizeof(l));
	l.state = 7 + (uint64_t)mode;
	l.begin = l.now = mode % 2 ? 0 : 1u << 30;
	err = libepf_plan_size(&p, &size);
	if (err)
		return err == -22 && mode != TIME ? "" : libepf_error();
	if (libepf_filter_new(&p, l.now, &l.f))
		return libepf_error();
	l.seen = info_of(l.f, l.now).epoch;
	l.slack = size.slack;
	l.epochs = size.epochs;
	l.spare = p.error > 1e-9 ? FOUND_MOST : 0;
	l.lingers = !strcmp(kind, "tlbf");
	wrong = run(&l, mode);
	if (!wrong)
		wrong = snapshot(&l);
	libepf_filter_free(l.f);
	return wrong;
}

/* ------------------------------------------------------ first seen, limit ---- */

/* A repeat restarts the window of its key, or does not. */
static const char *repeats(const char *kind, bool first_seen)
{
	struct libepf_plan p = plan_of(kind, TIME);
	uint64_t key = 1, now = 1000, i;
	struct libepf_keys keys = keys_of(&key, 1);
	struct libepf_filter *f;
	unsigned int absent = 0;

	p.flags |= first_seen ? LIBEPF_FIRST_SEEN : 0;
	if (libepf_filter_new(&p, now, &f))
		return libepf_error();
	for (i = 0; i < 100; i++, now += T / 10)
		absent += !libepf_filter_test_and_insert(f, &keys, now, NULL);
	libepf_filter_free(f);
	if (!first_seen)
		return absent == 1 ? NULL : "a key that repeats leaves the window";
	return absent >= 2 && absent <= 10 ? NULL : "a repeat restarts the window";
}

/* Ten times the keys planned: no key of the window is called absent, some are not known;
 * when they have left, the filter knows again.
 */
static const char *flood(const char *kind)
{
	struct libepf_plan p = plan_of(kind, TIME);
	uint64_t now = 1000, i, key, unknown = 0;
	struct libepf_keys keys = keys_of(&key, 1);
	struct libepf_filter *f;
	const char *wrong = NULL;
	uint8_t age;

	p.error = 1e-4;
	p.limit = 0;
	if (libepf_filter_new(&p, now, &f))
		return libepf_error();
	for (i = 0; i < 40 * W && !wrong; i++) {
		key = i;
		now += T / W / 40;
		libepf_filter_insert(f, &keys, now);
		key = i - i % W / 4;
		libepf_filter_test(f, &keys, now, &age);
		unknown += age == LIBEPF_AGE_UNKNOWN;
		if (age == LIBEPF_AGE_ABSENT)
			wrong = "a key of the window is absent in a flood";
	}
	for (i = 0; i < W && !wrong; i++) {
		key = UINT64_MAX - i;
		now += 4 * T / W;
		libepf_filter_insert(f, &keys, now);
		libepf_filter_test(f, &keys, now, &age);
	}
	if (!wrong && age != 0)
		wrong = "the filter does not know again after a flood";
	/* kinds that grow with the rate need not fail open */
	if (!wrong && !unknown && strcmp(kind, "tlbf") && strcmp(kind, "chain"))
		wrong = "a flood does not make the filter fail open";
	libepf_filter_free(f);
	return wrong;
}

/* A kind that grows takes no more than @max_bytes, and what a new filter of it has, however many
 * keys come; and it grows. No key is lost.
 */
static const char *capped(const char *kind)
{
	struct libepf_plan p = plan_of(kind, TIME);
	uint64_t key, now = 1000, first, most = 0, bytes;
	struct libepf_keys keys = keys_of(&key, 1);
	struct libepf_filter *f;
	uint8_t age;

	p.error = 1e-4;
	p.window_ns = UINT64_C(7000000000);
	p.rate = 100;
	p.max_bytes = 500000;
	if (libepf_filter_new(&p, now, &f))
		return libepf_error();
	first = info_of(f, now).memory_bytes;
	for (key = 0; key < 400000; key++) {
		now += key % 500 ? 1000 : 100000000;
		libepf_filter_insert(f, &keys, now);
		bytes = key % 500 ? 0 : info_of(f, now).memory_bytes;
		most = bytes > most ? bytes : most;
	}
	for (key -= 1000, age = 0; key < 400000 && age != LIBEPF_AGE_ABSENT; key++)
		libepf_filter_test(f, &keys, now, &age);
	libepf_filter_free(f);
	if (age == LIBEPF_AGE_ABSENT)
		return "a key of the window is absent";
	return most <= first + p.max_bytes ? most > 4 * first ? NULL : "it does not grow" :
					     "it grows above max_bytes";
}

/* Jumps of the program's clock by a window or more are counted, of windows that time ends. */
static const char *jumps(const char *kind, int mode, uint64_t counted)
{
	struct libepf_plan p = plan_of(kind, mode);
	uint64_t key = 1, now = 1000;
	struct libepf_keys keys = keys_of(&key, 1);
	struct libepf_filter *f;
	struct libepf_info info;

	if (libepf_filter_new(&p, now, &f))
		return libepf_error();
	libepf_filter_insert(f, &keys, now += T - 1);
	libepf_filter_test(f, &keys, now += T, NULL);
	libepf_filter_test(f, &keys, now - T, NULL); /* counts as @now */
	info = info_of(f, now += 5 * T);
	libepf_filter_free(f);
	return info.jumps == counted ? NULL : "jumps of the clock are miscounted";
}

static const char *all_jumps(void)
{
	const char *wrong = jumps("lanes", TIME, 2);

	wrong = wrong ? wrong : jumps("ge", TIME, 2);
	wrong = wrong ? wrong : jumps("lanes", EITHER, 2);
	wrong = wrong ? wrong : jumps("lanes", BOTH, 0);
	return wrong ? wrong : jumps("lanes", COUNT, 0);
}

/* Children of this process live @ahead, "monotonic S NS". Return: false: not permitted here. */
static bool live_ahead(const char *ahead)
{
	int fd = unshare(CLONE_NEWTIME) ? -1 : open("/proc/self/timens_offsets", O_WRONLY);
	bool good = fd >= 0 && write(fd, ahead, strlen(ahead)) == (ssize_t)strlen(ahead);

	if (fd >= 0)
		close(fd);
	return good;
}

/* A child whose time namespace is ahead of its parent's covers no more than the filter's life,
 * although the parent has read the clock before.
 */
static const char *child_ahead(bool *skip)
{
	struct libepf_plan p = plan_of("lanes", TIME);
	struct libepf_filter *f;
	int status = -1;
	pid_t pid;

	p.window_ns = LIBEPF_TIME_MAX / 2;
	p.rate = 1e-15;
	if (libepf_filter_new(&p, LIBEPF_NOW, &f))
		return libepf_error();
	*skip = !live_ahead("monotonic 100000 0");
	pid = *skip ? -1 : fork();
	if (!pid)
		_exit(info_of(f, LIBEPF_NOW).covered_ns > UINT64_C(50000000000000));
	if (pid > 0)
		waitpid(pid, &status, 0);
	libepf_filter_free(f);
	return *skip || !status ? NULL : "it covers what it has not seen";
}

static void report(const char *kind, const char *what, const char *wrong)
{
	tap_ok(!wrong || !*wrong, "%s: %s%s%s", kind, what, wrong ? ": " : "",
	       wrong ? (*wrong ? wrong : "no such window, and refused") : "");
}

/* usage: laws [KIND] */
int main(int argc, char **argv)
{
	unsigned int i, mode, kinds;
	const char *kind, *wrong_jumps, *wrong_child;
	bool skip = false;
	long printed;

	for (kinds = 0; libepf_kind(kinds); kinds++)
		;
	tap_plan((argc > 1 ? 1 : (int)kinds) * (MODES + 3) + 5);
	for (i = 0; (kind = libepf_kind(i)); i++) {
		const char *wrong[MODES + 3];

		if (argc > 1 && strcmp(kind, argv[1]))
			continue;
		silent_begin();
		for (mode = 0; mode < MODES; mode++)
			wrong[mode] = law(kind, (int)mode);
		wrong[MODES] = repeats(kind, false);
		wrong[MODES + 1] = repeats(kind, true);
		wrong[MODES + 2] = flood(kind);
		printed = silent_end();
		for (mode = 0; mode < MODES; mode++)
			report(kind, modes[mode], wrong[mode]);
		report(kind, "a repeat restarts the window", wrong[MODES]);
		report(kind, "first seen: it does not", wrong[MODES + 1]);
		report(kind, "too many keys", printed ? "the library prints" : wrong[MODES + 2]);
	}
	report("tlbf", "growth", capped("tlbf"));
	report("chain", "growth", capped("chain"));
	wrong_jumps = all_jumps();
	tap_ok(!wrong_jumps, "jumps of the program's clock%s%s", wrong_jumps ? ": " : "",
	       wrong_jumps ? wrong_jumps : "");
	wrong_child = child_ahead(&skip);
	tap_ok(!wrong_child, "a child in another time namespace%s%s%s",
	       skip ? " # SKIP not permitted" : "", wrong_child ? ": " : "",
	       wrong_child ? wrong_child : "");
	tap_ok(kinds >= 8 && !libepf_kind(kinds + 1), "all kinds have a name");
	temp_gone();
	return tap_end();
}
