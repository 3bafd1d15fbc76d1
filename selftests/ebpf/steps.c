// SPDX-License-Identifier: GPL-2.0
/*
 * Pure BPF filters step by step, in one thread: a section that is still under way when
 * epochs end or another insertion overtakes it; the error guarantee in a flood; a
 * holder that dies before each of its stores and calls (death.h); what a swap, a restore and
 * a clear do to each word.
 *
 * Digests are the same in each run, so the measured shares are too.
 */
#include "../carried.h"
#include "death.h"
#include "drive.h"

#include "common/clock.h"
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>

#define LIMIT (EPF_RATE_ONE / 100)
#define FEW_LINES 64u
#define LINES 2048u
#define LENGTH 512u /* insertions of an epoch */
#define CHUNK 64u
#define OVERTAKE_TRIES 100

static struct drive d;

/* ---- what is done ---- */

static int step_once(void)
{
	return drive_step(d.name);
}

static int rotate_once(void)
{
	struct ebpf_filter *f;
	int ret = ebpf_open(d.name, &f);

	if (ret)
		return ret;
	f->limits = d.filter->limits; /* computing them takes long */
	ret = ebpf_rotate_now(f, 1, NULL);
	ebpf_close(f);
	return ret;
}

static bool insert(__u32 worker, __u32 keys)
{
	return drive_run(d.laws, worker, keys);
}

static __u64 missed(void)
{
	const struct laws_worker *w = d.prog->bss->workers;

	return w[0].missed + w[1].missed;
}

/* Return: the error over all lines, ppt. */
static __u64 error_now(void)
{
	struct epf_fill fill = { 0 };
	struct epf_lanes lanes;
	__u64 i;

	if (ebpf_limits(d.filter) || ebpf_lines(d.filter, &lanes))
		return EPF_RATE_ONE;
	for (i = 0; i < lanes.geom.part_lines; i++)
		epf_fill_add(&fill, &d.filter->limits.cover, &lanes, i);
	return epf_q56_to_ppt(epf_fill_q56(&fill, lanes.geom.parts));
}

/* Insert until the filter opens, at most @most keys. Return: the highest error before. */
static __u64 flood(__u32 most, __u32 *came)
{
	__u64 worst = 0, now;

	for (*came = 0; *came < most; *came += CHUNK) {
		insert(0, CHUNK);
		if (drive_opened(&d))
			break;
		now = error_now();
		worst = now > worst ? now : worst;
	}
	return worst;
}

static bool begin(const char *name, const struct epf_params *p)
{
	return drive_start(&d, name, p, 0);
}

static struct epf_params params(__u64 lines, __u64 limit)
{
	return drive_params(lines, LENGTH, limit);
}

/* ---- sections that last ---- */

static void grace(void)
{
	struct epf_params p = params(FEW_LINES, EPF_RATE_ONE);
	pid_t section, release;
	bool good;

	if (!begin("steps-grace", &p)) {
		tap_ok(false, "a grace period: made");
		return;
	}
	death.asked = death_page();
	section = drive_hold(&d, LAWS_HOLD_CAS);
	release = death_release(&d);
	good = !ebpf_rotate_now(d.filter, EPF_LANES, NULL);
	good = good && *(volatile __u64 *)&d.prog->bss->left == 1;
	d.prog->bss->hold = 0;
	tap_ok(good, "eight epochs do not end while a section of the first is under way");
	waitpid(section, NULL, 0);
	kill(release, SIGKILL);
	waitpid(release, NULL, 0);
	death.asked = NULL;
	drive_end(&d);
}

/* Insert while a section is between load and swap of a lane. Return: false if the
 * section ended before, because a section waits only so long and this process may have
 * been delayed.
 */
static bool overtake(void)
{
	volatile __u64 *left = &d.prog->bss->left;
	__u64 before = *left;
	pid_t section = drive_hold(&d, LAWS_HOLD_CAS);
	bool in_time;

	insert(0, LENGTH);
	in_time = *left == before;
	d.prog->bss->hold = 0;
	waitpid(section, NULL, 0);
	return in_time;
}

static void overtaken(void)
{
	struct epf_params p = params(FEW_LINES, EPF_RATE_ONE);
	int tries = begin("steps-cas", &p) ? OVERTAKE_TRIES : 0;

	/* another epoch each time, whose lanes are stale */
	while (tries && !step_once() && !overtake())
		tries--;
	insert(0, LENGTH);
	insert(1, LENGTH);
	printf("# %llu judged, %d tries left\n", d.prog->bss->workers[0].judged, tries);
	tap_ok(tries && d.prog->bss->workers[0].judged && !missed(),
	       "a section overtaken between load and swap of a lane loses no other key");
	drive_end(&d);
}

/* The process that waits for a grace period is stopped, and the contents are swapped
 * twice, so that the slot belongs to other contents when it continues.
 */
static void late_grace(void)
{
	struct epf_params p = params(FEW_LINES, EPF_RATE_ONE);
	struct epf_swap a = { 0 }, b = { 0 };
	bool good = begin("steps-late", &p);
	pid_t pid;

	drive_name(a.b.name, "steps-b");
	drive_name(b.b.name, "steps-c");
	strcpy(a.a.name, d.name);
	strcpy(b.a.name, d.name);
	good = good && !drive_create(a.b.name, &p) && !drive_create(b.b.name, &p);
	pid = drive_fork();
	if (!pid) {
		death.halt = true;
		_exit(rotate_once() ? 1 : 0);
	}
	waitpid(pid, NULL, WUNTRACED);
	if (!ebpf_swap(&a)) /* or it has the lock */
		good = !ebpf_swap(&b) && good;
	insert(0, LENGTH);
	kill(pid, SIGCONT);
	waitpid(pid, NULL, 0);
	insert(0, LENGTH);
	printf("# %llu judged, %llu missed\n", d.prog->bss->workers[0].judged, missed());
	tap_ok(good && d.prog->bss->workers[0].judged && !missed(),
	       "a grace period asked for late puts no slot back");
	drive_end(&d);
	ebpf_destroy(a.b.name, true);
	ebpf_destroy(b.b.name, true);
}

/* ---- deaths ---- */

/* The process that ends epochs dies at each of its steps, and the next one continues. */
static void deaths_of_rotator(void)
{
	struct epf_params p = params(FEW_LINES, EPF_RATE_ONE);
	__u64 n, epoch;
	bool good = begin("steps-rotator", &p);
	int i;

	death.alone = true;
	for (n = 1; good; n++) {
		insert(n & 1, LENGTH + 8);
		if (!dies(step_once, n))
			break;
		insert(n & 1, LENGTH / 4);
		epoch = ebpf_slot(d.filter)->state.epoch;
		for (i = 0; i < 2; i++)
			good = !step_once() && good;
		insert(n & 1, LENGTH + 8);
		good = good && !step_once() && ebpf_slot(d.filter)->state.epoch > epoch;
	}
	printf("# %llu steps, %llu judged, %llu missed, %llu unknown, epoch %llu\n", n,
	       d.prog->bss->workers[0].judged + d.prog->bss->workers[1].judged, missed(),
	       d.prog->bss->workers[0].unknown, ebpf_slot(d.filter)->state.epoch);
	tap_ok(good && n > 16 && !missed(),
	       "the holder dies at each step: the next one continues, no key is missed");
	death.alone = false;
	drive_end(&d);
}

/* The last time that a process which ends an epoch saw the one before. */
static struct still {
	__u64 epoch;
	__u64 ns;
} * still;

static void see(const void *at)
{
	const struct timespec moment = { .tv_nsec = 200000 };

	(void)at;
	nanosleep(&moment, NULL);
	if (epf_load(&ebpf_slot(d.filter)->state.epoch) == still->epoch)
		still->ns = now_ns();
}

/* An epoch ends, and the process that ends it dies at its @n-th step, or does not. Return:
 * does the next epoch begin at a time at which the one before was over?
 */
static bool begins_later(__u64 n, bool *died)
{
	const struct epf_state *s = &ebpf_slot(d.filter)->state;
	bool good;

	*still = (struct still){ .epoch = s->epoch };
	*died = dies(rotate_once, n);
	good = !ebpf_begin(d.filter);
	ebpf_end(d.filter);
	return good && (s->epoch == still->epoch ||
			(still->ns && s->ring[s->epoch & 7].start_ns >= still->ns));
}

/* The process takes time between any two of its steps. */
static void starts(void)
{
	struct epf_params p = params(FEW_LINES, EPF_RATE_ONE);
	bool good = begin("steps-start", &p), died = true;
	__u64 n = 0;

	still = death_page();
	death.alone = true;
	death.meanwhile = see;
	while (good && died)
		good = begins_later(++n, &died);
	printf("# %llu steps\n", n);
	tap_ok(good && n > 16,
	       "an epoch begins when the one before is over, however long that takes, and whoever dies");
	death.meanwhile = NULL;
	death.alone = false;
	drive_end(&d);
}

/* Restore the initial state, but for the key. */
static void empty(void)
{
	struct epf_params p = ebpf_slot(d.filter)->params;
	struct epf_lanes lanes;

	ebpf_fill_slot(d.filter, 0, &p, NULL);
	ebpf_lines(d.filter, &lanes);
	memset(lanes.line, 0, d.filter->line_bytes);
}

/* The epoch is nearly full, and the process that ends it dies; with @look another one
 * then looks at the filter. Return: the highest error before it opens.
 */
static __u64 worst_after_death(__u64 n, bool look, bool *died)
{
	__u64 worst, more;
	__u32 came;

	empty();
	worst = flood((__u32)(ebpf_slot(d.filter)->room / 10 * 9), &came);
	*died = dies(rotate_once, n);
	if (look)
		step_once();
	more = flood(LINES * 16, &came);
	return more > worst ? more : worst;
}

static void deaths_and_errors(bool look)
{
	struct epf_params p = params(LINES, LIMIT);
	__u64 n = 0, worst = 0, at = 0, now;
	bool good, died = true;

	p.mode = EPF_MODE_TIME; /* nothing is due by itself */
	p.window_inserts = 0;
	p.window_ns = EPF_NS_MAX / 1000;
	good = begin(look ? "steps-look" : "steps-error", &p);
	death.alone = good;
	while (good && died && worst < LIMIT + LIMIT / 5) {
		now = worst_after_death(++n, look, &died);
		if (now > worst) {
			worst = now;
			at = n;
		}
	}
	printf("# %llu steps; the highest error was %.4f %%, after death at %llu\n", n,
	       (double)worst / 1e10, at);
	tap_ok(good && n > 16 && worst > LIMIT / 2 && worst < LIMIT + LIMIT / 5,
	       "a process that ends a full epoch dies at each step%s: the error stays below the limit",
	       look ? ", and another one looks" : "");
	death.alone = false;
	if (good)
		drive_end(&d);
}

/* ---- floods ---- */

/* Insert ten times the planned keys; with @hold a process ends epochs, late. Return:
 * the highest number of 65536 other keys that were reported present.
 */
static __u64 ten_times(struct ebpf_hold *hold, __u64 planned, bool *open)
{
	__u64 worst = 0, found, i, wait_ns;

	for (i = 0; i < 10 * planned / CHUNK / 4; i++) {
		drive_pin((int)(i & 1));
		insert((__u32)(i & 1), 4 * CHUNK);
		if (hold && i % 8 == 0)
			ebpf_hold_step(hold, &wait_ns);
		found = drive_absent(&d);
		*open |= drive_opened(&d);
		worst = found > worst ? found : worst;
	}
	return worst;
}

static void flood_of(bool held)
{
	struct epf_params p = params(LINES, LIMIT);
	struct ebpf_hold *hold = NULL;
	__u64 worst, room, wait_ns;
	bool open = false;

	p.window_inserts = EPF_LIVE_EPOCHS * 3 * LINES;
	if (!begin(held ? "steps-held" : "steps-flood", &p)) {
		tap_ok(false, "a flood: made");
		return;
	}
	room = ebpf_slot(d.filter)->room;
	if (ebpf_hold_begin(d.name, &hold) || ebpf_hold_step(hold, &wait_ns))
		tap_ok(false, "a flood: no process ends epochs");
	ebpf_slot(d.filter)->until = ~0ULL; /* only the keys can open it */
	worst = ten_times(held ? hold : NULL, room, &open);
	printf("# room %llu; at most %llu of 65536 others, limit 655; epoch %llu, open %d\n", room,
	       worst, ebpf_slot(d.filter)->state.epoch, open);
	/* 655 and 10 sigma: exceeded by chance once in 1e20, if the digests were random
	 * in each run
	 */
	tap_ok(worst > 300 && worst <= 911 && open,
	       "ten times the planned keys%s: others are told present no more often than allowed",
	       held ? ", epochs end late" : "");
	ebpf_hold_end(hold);
	drive_end(&d);
}

static void overdue(void)
{
	struct epf_params p = params(LINES, EPF_RATE_ONE);
	const struct laws_worker *w;
	__u64 counted = 0, unknown;
	__u32 i;
	bool good;

	if (!begin("steps-overdue", &p)) {
		tap_ok(false, "overdue: made");
		return;
	}
	w = &d.prog->bss->workers[0];
	insert(0, CHUNK);
	good = w->judged && w->unknown == w->judged;
	unknown = w->unknown;
	step_once();
	ebpf_slot(d.filter)->until = ~0ULL;
	insert(0, CHUNK);
	good = good && w->unknown == unknown && w->judged > unknown;
	ebpf_slot(d.filter)->until = 1;
	insert(0, CHUNK);
	good = good && w->unknown > unknown && !w->wrong && !missed();
	for (i = 0; i < d.filter->shared->cpus; i++)
		counted += d.filter->cpu[i].overdue;
	tap_ok(good && counted == w->unknown,
	       "overdue: \"do not know\", before the first who ends epochs and after the last, and counted");
	drive_end(&d);
}

/* A restored epoch may have begun before the clock's zero. It ends, and once. */
static void before_zero(void)
{
	struct epf_params p = params(LINES, EPF_RATE_ONE);
	struct epf_bpf_slot *s;
	__u64 e;

	p.mode = EPF_MODE_TIME;
	p.window_inserts = 0;
	p.window_ns = EPF_LIVE_EPOCHS * 3600000000000ULL;
	if (!begin("steps-before", &p)) {
		tap_ok(false, "before the clock's zero: made");
		return;
	}
	s = ebpf_slot(d.filter);
	e = s->state.epoch;
	s->state.ring[e & 7].start_ns = 0 - 3 * 3600000000000ULL;
	step_once();
	step_once();
	tap_ok(s->state.epoch == e + 1 && s->until < 1ULL << 40,
	       "an epoch that began before the clock's zero ends, once, and its end is awaited");
	drive_end(&d);
}

/* ---- words of two filters, before and after (../carried.h) ---- */

/**
 * struct side - one of the two filters
 * @d: the filter and its program
 * @snap: its header and description
 * @lines: a copy of its lines
 * @before: what it was
 */
struct side {
	struct drive d;
	struct epf_snap snap;
	struct epf_line *lines;
	struct carried_look before;
};

static struct side two[2];

static struct carried_look look(struct ebpf_filter *f)
{
	struct carried_look l = { .info = { .size = sizeof(l.info) } };

	ebpf_info(f, &l.info);
	memcpy(l.key, ebpf_slot(f)->hash.key, sizeof(l.key));
	return l;
}

/* Filter 1 differs from filter 0 in all parameters, and is aligned. */
static bool side_make(struct side *s, __u32 nr)
{
	struct epf_params p = params(FEW_LINES << nr, LIMIT >> nr);

	p.refresh = nr ? EPF_FIRST_SEEN : EPF_REFRESH;
	p.mode = EPF_MODE_TIME;
	p.window_inserts = 0;
	p.window_ns = EPF_LIVE_EPOCHS * (3600000000000ULL + nr);
	return drive_start(&s->d, nr ? "steps-two" : "steps-one", &p, nr ? EPF_CREATE_ALIGN : 0);
}

/* Take a snapshot of it. */
static int side_save(struct side *s)
{
	struct epf_lanes lanes;
	int ret;

	s->snap = (struct epf_snap){ .size = sizeof(s->snap), .pin_ns = EPF_PIN_MAX_NS };
	ret = ebpf_snap_begin(s->d.filter, &s->snap) ?: ebpf_lines(s->d.filter, &lanes);
	if (ret)
		return ret;
	s->lines = malloc(s->d.filter->line_bytes);
	memcpy(s->lines, lanes.line, s->d.filter->line_bytes);
	s->snap.pin_ns = 0;
	return ebpf_snap_end(s->d.filter, &s->snap);
}

/* Filter 0 has few keys, and filter 1 more than its limit allows. Both have a journal. */
static bool side_fill(struct side *s, __u32 nr)
{
	struct epf_journal_args j = { .size = sizeof(j), .order = 4, .shards = 1 };

	ebpf_slot(s->d.filter)->desc.kind = nr ? EPF_KEYS_DIGEST : EPF_KEYS_ADDRESS;
	drive_step(s->d.name);
	drive_run(s->d.laws, 0, 9 + nr);
	if (ebpf_rotate_now(s->d.filter, 1 + nr, NULL))
		return false;
	drive_run(s->d.laws, 0, 17 + nr);
	if (ebpf_rotate_now(s->d.filter, 1, NULL))
		return false;
	drive_run(s->d.laws, 0, nr ? 16 * FEW_LINES : 5);
	return !ebpf_journal(s->d.filter, &j);
}

static int apply(enum carried_op op)
{
	struct epf_restore r = { 0 };
	int ret = 0;
	__u32 i;

	if (op == CARRIED_SWAP)
		return !drive_swap(&two[0].d, two[1].d.name);
	for (i = 0; i < 2 && !ret; i++) {
		r.header = two[!i].snap.header;
		r.desc = two[!i].snap.desc;
		r.lines = (__u64)(uintptr_t)two[!i].lines;
		ret = op == CARRIED_CLEAR ? ebpf_rotate_now(two[i].d.filter, EPF_LANES, NULL) :
					    ebpf_restore(two[i].d.filter, &r);
	}
	return ret;
}

/* Words of the filter that nobody reports. */
static unsigned int apart(struct ebpf_filter *f)
{
	const struct epf_bpf_slot *s = ebpf_slot(f);

	return (s->began == EPF_BEGAN_NEVER) + f->shared->changing + f->shared->half + s->timed;
}

static void carried(enum carried_op op)
{
	unsigned int wrong = 0;
	struct carried_look now;
	__u64 began;
	bool good = true;
	__u32 i;

	for (i = 0; i < 2 && good; i++) {
		good = side_make(&two[i], i) && side_fill(&two[i], i);
		if (good)
			two[i].before = look(two[i].d.filter);
		good = good && !side_save(&two[i]);
	}
	began = now_ns();
	good = good && !apply(op);
	for (i = 0; i < 2 && good; i++) {
		now = look(two[i].d.filter);
		wrong += carried_wrong(op, &now, &two[i].before,
				       &two[op == CARRIED_CLEAR ? i : !i].before, now_ns() - began);
		wrong += apart(two[i].d.filter);
	}
	if (good) /* the limit of what was filter 0 is still one */
		good = drive_run(two[op != CARRIED_CLEAR].d.laws, 0, 16 * FEW_LINES) &&
		       drive_opened(&two[op != CARRIED_CLEAR].d);
	tap_ok(good && !wrong, "%s: each word is kept, given, or new: %u wrong", carried_names[op],
	       wrong);
	for (i = 0; i < 2; i++) {
		free(two[i].lines);
		drive_end(&two[i].d);
	}
	memset(two, 0, sizeof(two));
}

static void all_carried(void)
{
	carried(CARRIED_SWAP);
	carried(CARRIED_RESTORE);
	carried(CARRIED_CLEAR);
}

static void deaths_alone(void)
{
	deaths_and_errors(false);
}

static void deaths_looked_at(void)
{
	deaths_and_errors(true);
}

static void flood_alone(void)
{
	flood_of(false);
}

static void flood_held(void)
{
	flood_of(true);
}

static const struct drive_part parts[] = {
	{ "grace", 1, grace },         { "overtaken", 1, overtaken },
	{ "late", 1, late_grace },     { "rotator", 1, deaths_of_rotator },
	{ "deaths", 1, deaths_alone }, { "look", 1, deaths_looked_at },
	{ "flood", 1, flood_alone },   { "held", 1, flood_held },
	{ "overdue", 1, overdue },     { "starts", 1, starts },
	{ "before", 1, before_zero },  { "carried", 3, all_carried },
};

/* usage: steps [PART] */
int main(int argc, char **argv)
{
	if (!drive_possible())
		return TAP_SKIPPED;
	return drive_parts(argc, argv, parts, sizeof(parts) / sizeof(parts[0]));
}
