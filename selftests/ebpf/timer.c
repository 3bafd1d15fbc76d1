// SPDX-License-Identifier: GPL-2.0
/*
 * Filters whose epochs a BPF timer ends, step by step: long sections on each of two CPUs;
 * the timer is stopped, restarted and started twice; the error guarantee in a flood;
 * windows in time; snapshots; refused commands. "laws kernel" tests the window property
 * itself.
 */
#include "drive.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT (EPF_RATE_ONE / 100)
#define FEW_LINES 64u
#define LINES 2048u
#define LENGTH 512u /* insertions of an epoch */
#define CHUNK 256u
#define ATTEMPTS 50
#define TRIES 300u
#define LONG_S 60 /* longer than any event takes; or EPF_PATIENCE */

static struct drive d;

static struct epf_params params(__u64 lines, __u64 limit)
{
	return drive_params(lines, LENGTH, limit);
}

static bool begin(const char *name, const struct epf_params *p)
{
	return drive_start(&d, name, p, EPF_BPF_CREATE_TIMER);
}

static __u64 epoch(void)
{
	return epf_load(&ebpf_slot(d.filter)->state.epoch);
}

static const struct laws_worker *worker(void)
{
	return &d.prog->bss->workers[0];
}

static bool insert(__u32 keys)
{
	return drive_run(d.laws, 0, keys);
}

/* Wait for @so() to become true, for a long time. */
static bool comes(bool (*so)(void))
{
	const char *patience = getenv("EPF_PATIENCE");
	int ms = (patience ? atoi(patience) : LONG_S) * 1000;

	for (; ms > 0; ms--) {
		if (so())
			return true;
		drive_sleep(1000000);
	}
	return false;
}

/* ---- sections that last ---- */

/* Let epochs end until no more end, or far too many have. */
static void end_epochs(void)
{
	__u64 most = epoch() + 3 * EPF_LANES;
	__u32 refused = 0;

	while (refused < TRIES && epoch() < most) {
		if (ebpf_tick(d.filter, EPF_BPF_TICK_END) == 1)
			refused = 0;
		else
			refused++;
	}
}

/* End epochs of a new filter while a section of the first is under way on @cpu. Return:
 * how many ended; 0: the section ended by itself meanwhile, after its limit
 * (laws.bpf.c).
 */
static __u64 ended_beside(__u32 cpu)
{
	volatile __u64 *left = &d.prog->bss->left;
	__u64 first = epoch(), ended;
	pid_t pid = drive_hold_on(&d, LAWS_HOLD_CAS, cpu);

	end_epochs();
	ended = epoch() - first;
	if (*left)
		ended = 0;
	d.prog->bss->hold = 0;
	waitpid(pid, NULL, 0);
	return ended;
}

static void section(__u32 cpu)
{
	struct epf_params p = params(FEW_LINES, EPF_RATE_ONE);
	__u64 ended = 0;
	int i;

	for (i = 0; !ended && i < ATTEMPTS; i++) { /* the machine may be busy */
		if (i)
			drive_end(&d);
		if (!begin("timer-section", &p)) {
			tap_ok(false, "a section: made");
			return;
		}
		ended = ended_beside(cpu);
	}
	printf("# %llu epochs ended, after attempt %d\n", ended, i);
	tap_ok(ended == EPF_LIVE_EPOCHS,
	       "seven epochs end, and no more, while a section of the first is under way on CPU %u",
	       cpu);
	tap_ok(!ebpf_rotate_now(d.filter, EPF_LANES, NULL), "they end when it is over");
	drive_end(&d);
}

static void section0(void)
{
	section(0);
}

static void section1(void)
{
	section(1);
}

/* ---- the timer ---- */

static bool unknown(void)
{
	__u64 was = worker()->unknown;

	insert(1);
	return worker()->unknown > was;
}

static bool known(void)
{
	return !unknown();
}

static __u64 overdue(void)
{
	__u64 sum = 0;
	__u32 i;

	for (i = 0; i < d.filter->shared->cpus; i++)
		sum += d.filter->cpu[i].overdue;
	return sum;
}

static void stopped(void)
{
	struct epf_params p = params(FEW_LINES, EPF_RATE_ONE);
	bool good;

	if (!begin("timer-stopped", &p)) {
		tap_ok(false, "stopped: made");
		return;
	}
	insert(CHUNK);
	good = comes(known) && ebpf_held(d.name);
	ebpf_tick(d.filter, EPF_BPF_TICK_STOP);
	good = good && comes(unknown) && !ebpf_held(d.name);
	insert(CHUNK);
	good = good && overdue() >= worker()->unknown;
	good = good && !ebpf_timer_start(d.filter) && !ebpf_timer_start(d.filter);
	good = good && comes(known) && ebpf_held(d.name);
	insert(LENGTH);
	printf("# %llu judged, %llu missed, %llu unknown\n", worker()->judged, worker()->missed,
	       worker()->unknown);
	tap_ok(good && !worker()->missed && !worker()->wrong,
	       "a timer that is stopped: \"do not know\" until it is started again; no key is missed");
	drive_end(&d);
}

static __u64 until_epoch;

static bool has_come(void)
{
	return epoch() >= until_epoch;
}

static void window_of_time(void)
{
	struct epf_params p = params(FEW_LINES, EPF_RATE_ONE);
	const struct epf_past *past;
	bool good;

	p.mode = EPF_MODE_TIME;
	p.window_inserts = 0;
	p.window_ns = EPF_LIVE_EPOCHS * 20000000ULL;
	if (!begin("timer-time", &p)) {
		tap_ok(false, "time: made");
		return;
	}
	until_epoch = EPF_EPOCH_FIRST + 10;
	good = comes(has_come);
	past = ebpf_slot(d.filter)->state.ring;
	good = good && past[2].start_ns - past[1].start_ns >= 20000000;
	tap_ok(good, "a window of time: epochs end by themselves, and not too soon");
	drive_end(&d);
}

static bool rests(void)
{
	return epf_load(&d.filter->shared->wait_ns) == 250000000;
}

/* With a long epoch and no work left a tick is four times a second. */
static void seldom(void)
{
	struct epf_params p = params(FEW_LINES, EPF_RATE_ONE);

	p.mode = EPF_MODE_TIME;
	p.window_inserts = 0;
	p.window_ns = EPF_LIVE_EPOCHS * 100000000000ULL;
	tap_ok(begin("timer-seldom", &p) && comes(rests),
	       "a long window of time: the timer comes seldom");
	drive_end(&d);
}

/* By insertions only: no process asks for a rotation. */
static bool full(void)
{
	insert(CHUNK);
	return has_come();
}

static void window_of_insertions(void)
{
	struct epf_params p = params(FEW_LINES, EPF_RATE_ONE);
	bool good = begin("timer-count", &p);

	until_epoch = EPF_EPOCH_FIRST + 40; /* until all tags have wrapped */
	good = good && comes(full);
	tap_ok(good && worker()->judged && !worker()->missed,
	       "a window of insertions: epochs end by themselves, no key is missed");
	drive_end(&d);
}

static int rotate(void)
{
	return ebpf_timer_rotate(d.filter, 1);
}

static int settle(void)
{
	return ebpf_timer_settle(d.filter);
}

/* @word keeps ticks out, and is released after a while: does @call wait for that? */
static bool waits(__u64 *word, int (*call)(void))
{
	__u64 nobody = 0;
	pid_t pid;
	int ret;

	while (!epf_cas(word, &nobody, 1))
		nobody = 0;
	end_epochs();
	insert(4 * LENGTH);
	pid = drive_fork();
	if (!pid) {
		drive_sleep(50000000);
		epf_store_release(word, 0);
		_exit(0);
	}
	ret = call();
	waitpid(pid, NULL, 0);
	return !ret;
}

static void turns(void)
{
	struct epf_params p = params(FEW_LINES, EPF_RATE_ONE);
	bool good = begin("timer-turns", &p);

	tap_ok(good && waits(&d.filter->shared->ticking, rotate) &&
		       waits(&d.filter->shared->ticking, settle),
	       "who ends epochs waits for another tick");
	tap_ok(good && waits(&d.filter->cpu[0].inside, rotate) &&
		       waits(&d.filter->cpu[0].inside, settle),
	       "and for a section of an old epoch");
	drive_end(&d);
}

/* ---- the error promise ---- */

/* Insert ten times the planned keys, while the timer ends epochs as they fill. */
static void flood(void)
{
	struct epf_params p = params(LINES, LIMIT);
	__u64 worst = 0, found, i, room;
	bool open = false;

	p.window_inserts = EPF_LIVE_EPOCHS * 3 * LINES;
	if (!begin("timer-flood", &p)) {
		tap_ok(false, "a flood: made");
		return;
	}
	room = ebpf_slot(d.filter)->room;
	comes(known);
	for (i = 0; i < 10 * room / CHUNK; i++) {
		drive_pin((int)(i & 1));
		insert(CHUNK);
		found = drive_absent(&d);
		open |= drive_opened(&d);
		worst = found > worst ? found : worst;
	}
	printf("# room %llu; at most %llu of 65536 others, limit 655; epoch %llu, open %d\n", room,
	       worst, epoch(), open);
	/* as in steps.c */
	tap_ok(worst > 300 && worst <= 911 && open,
	       "ten times the planned keys: others are told present no more often than allowed");
	drive_end(&d);
}

static bool closed(void)
{
	return !drive_opened(&d);
}

/* The excess keys leave the window with their epochs. */
static void closes(void)
{
	struct epf_params p = params(LINES, LIMIT);
	bool good;

	p.window_inserts = EPF_LIVE_EPOCHS * 64 * LINES;
	good = begin("timer-closes", &p);
	good = good && insert(8 * LINES) && drive_opened(&d);
	good = good && !ebpf_rotate_now(d.filter, EPF_LANES + 1, NULL) && comes(closed);
	tap_ok(good, "what opened it leaves the window, and it knows again");
	drive_end(&d);
}

/* ---- user space ---- */

static void snapshot(void)
{
	struct epf_params p = params(FEW_LINES, EPF_RATE_ONE);
	struct epf_snap s = { .pin_ns = EPF_PIN_MAX_NS };
	bool good = begin("timer-snap", &p);
	__u64 at;

	good = good && !ebpf_snap_begin(d.filter, &s);
	at = epoch();
	insert(4 * LENGTH);
	good = good && ebpf_tick(d.filter, EPF_BPF_TICK_END) == -EBUSY && epoch() == at;
	s.pin_ns = 0;
	good = good && !ebpf_snap_end(d.filter, &s) && s.header.epoch_end == at;
	until_epoch = at + 1;
	tap_ok(good && comes(has_come), "a snapshot holds epochs until it ends");
	drive_end(&d);
}

/* A process of its own begins a snapshot of @name, says so through @told, and waits. */
static pid_t begin_elsewhere(const char *name, int told)
{
	struct epf_snap s = { .pin_ns = EPF_PIN_MAX_NS };
	struct ebpf_filter *f;
	pid_t pid = fork();

	if (pid)
		return pid;
	if (ebpf_open(name, &f) || ebpf_snap_begin(f, &s) || write(told, "", 1) != 1)
		_exit(1);
	pause();
	_exit(1);
}

/* While that process lives, the filter is busy; once it is killed, it is not. */
static void orphaned(void)
{
	struct epf_params p = params(FEW_LINES, EPF_RATE_ONE);
	struct epf_snap s = { .pin_ns = EPF_PIN_MAX_NS };
	bool good = begin("timer-orphan", &p);
	pid_t pid = -1;
	int told[2];
	char byte;

	good = good && !pipe(told) && (pid = begin_elsewhere(d.filter->name, told[1])) > 0;
	good = good && !close(told[1]) && read(told[0], &byte, 1) == 1;
	tap_ok(good && ebpf_snap_begin(d.filter, &s) == -EBUSY &&
		       ebpf_tick(d.filter, EPF_BPF_TICK_END) == -EBUSY,
	       "a snapshot of another process holds up others and epochs");
	if (pid > 0)
		good = !kill(pid, SIGKILL) && waitpid(pid, NULL, 0) == pid && good;
	good = good && !ebpf_begin(d.filter);
	if (good)
		ebpf_end(d.filter);
	tap_ok(good && !ebpf_slot(d.filter)->pin_until_ns && !ebpf_snap_begin(d.filter, &s) &&
		       ebpf_tick(d.filter, EPF_BPF_TICK_END) == -EBUSY,
	       "of one that was killed it is over at once, and the next one begins");
	s.pin_ns = 0;
	tap_ok(good && !ebpf_snap_end(d.filter, &s) && s.header.epoch_end, "and ends");
	drive_end(&d);
}

/* The process that changes it dies meanwhile, and the next one repairs it. */
static void changed(void)
{
	struct epf_params p = params(FEW_LINES, EPF_RATE_ONE);
	struct ebpf_hold *hold;
	bool good = begin("timer-changed", &p);
	__u64 at;

	if (good)
		d.filter->shared->changing = 1;
	ebpf_timer_quiet(d.filter);
	at = epoch();
	insert(4 * LENGTH);
	good = good && ebpf_tick(d.filter, EPF_BPF_TICK_END) == -EALREADY;
	good = good && comes(unknown) && epoch() == at;
	good = good && ebpf_hold_begin(d.name, &hold) == -EOPNOTSUPP;
	until_epoch = at + 1;
	tap_ok(good && !d.filter->shared->changing && comes(has_come) && comes(known) &&
		       !worker()->missed,
	       "while it is changed no epoch ends; the next who comes ends the change");
	drive_end(&d);
}

static void refused(void)
{
	struct epf_params p = params(FEW_LINES, EPF_RATE_ONE);
	char name[EPF_NAME_LEN];

	p.mode = EPF_MODE_TIME;
	p.window_inserts = 0;
	p.window_ns = 1000000000;
	drive_name(name, "timer-align");
	tap_ok(drive_create_flags(name, &p, EPF_BPF_CREATE_TIMER | EPF_CREATE_ALIGN) == -EINVAL &&
		       access(ebpf_path(name, NULL).text, F_OK),
	       "an aligned window is refused: a timer does not know the wall clock");
}

/* Is the limit of the contents of @f computed for them? */
static bool limit_is_own(const struct ebpf_filter *f)
{
	static struct epf_capacity_work work;
	static struct epf_capacity want; /* with the bytes between its members */
	const struct epf_bpf_slot *s = ebpf_slot(f);

	memset(&want, 0, sizeof(want));
	epf_capacity_init(&want, &s->geom, epf_ppt_to_q56(s->params.limit_ppt), &work);
	return !memcmp(&want, &f->capacity[f->shared->active], sizeof(want));
}

/* What belongs to a filter, not to its contents, when two exchange theirs: one has a timer, the
 * other a journal and was at its limit. A timer judges contents that it gets anew.
 */
static void carried(void)
{
	struct epf_params p = params(LINES, LIMIT), q = params(2 * LINES, LIMIT);
	struct epf_journal_args journal = { .size = sizeof(journal), .order = 4, .shards = 1 };
	struct ebpf_filter *other = NULL;
	const struct epf_bpf_slot *a, *b;
	char name[EPF_NAME_LEN];
	bool good = begin("timer-carry", &p);

	drive_name(name, "timer-other");
	good = good && !drive_create(name, &q) && !ebpf_open(name, &other) &&
	       !ebpf_journal(other, &journal) && limit_is_own(d.filter);
	if (good)
		ebpf_slot(other)->saturated = 1;
	good = good && drive_swap(&d, name);
	a = good ? ebpf_slot(d.filter) : NULL;
	b = good ? ebpf_slot(other) : NULL;
	tap_ok(good && a->timed && !b->timed && !a->journal && !b->journal &&
		       epf_geom_lines(&a->geom) == 2 * LINES && epf_geom_lines(&b->geom) == LINES,
	       "a swap leaves its timer and its journal to a filter");
	tap_ok(good && !a->saturated && a->open_at && comes(closed) && limit_is_own(d.filter),
	       "what a timer gets by a swap is judged anew, by the limit of its own geometry");
	tap_ok(good && drive_swap(&d, name) && limit_is_own(d.filter) && drive_swap(&d, name),
	       "a journal that is over is not one of the next swap");
	good = good && !drive_restore(&d);
	tap_ok(good && ebpf_slot(d.filter)->timed && !ebpf_slot(d.filter)->journal &&
		       comes(closed) && limit_is_own(d.filter),
	       "so is what it gets by a restore");
	if (other)
		ebpf_close(other);
	drive_end(&d);
	ebpf_destroy(name, true);
}

static const struct drive_part parts[] = {
	{ "section0", 2, section0 }, { "section1", 2, section1 },
	{ "stopped", 1, stopped },   { "time", 1, window_of_time },
	{ "seldom", 1, seldom },     { "count", 1, window_of_insertions },
	{ "turns", 2, turns },       { "flood", 1, flood },
	{ "closes", 1, closes },     { "snapshot", 1, snapshot },
	{ "orphaned", 3, orphaned }, { "changed", 1, changed },
	{ "carried", 4, carried },   { "refused", 1, refused },
};

/* usage: timer [PART] */
int main(int argc, char **argv)
{
	if (!drive_possible())
		return TAP_SKIPPED;
	if (ebpf_timer_possible()) {
		tap_skip_all("no timers on PREEMPT_RT");
		return TAP_SKIPPED;
	}
	return drive_parts(argc, argv, parts, sizeof(parts) / sizeof(parts[0]));
}
