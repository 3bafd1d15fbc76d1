// SPDX-License-Identifier: GPL-2.0
/*
 * Pure BPF filters whose contents are swapped, or replaced by a snapshot's. Packets
 * arrive before each store and call of the change; a section lasts from before the
 * change until after it; the process that makes the change dies at each of its steps
 * (death.h).
 *
 * Two filters, 0 and 1, at first have contents 0 and 1, identified by their serials. A
 * restore makes contents 2. Each of these has its own keys, and begins with FEW of the
 * keys that the limit allows; MANY more exceed it. So a filter whose contents got those
 * must be open at any moment; one whose contents did not may be open for a grace
 * period.
 */
#include "death.h"

#include <stdlib.h>

#define LIMIT (EPF_RATE_ONE / 100)
#define LINES 2048u              /* few enough that an estimate reads all of them */
#define MANY_LINES (128 * LINES) /* at this size CPUs hold back as many counts as possible */
#define FEW(room) ((room) / 10 * 6)
#define MANY(room) FEW(room)
#define CONTENTS 3u
#define RESTORED 2u

static struct drive d; /* filter 0 */
static struct ebpf_filter *filter[2];
static char name[2][EPF_NAME_LEN];
static __u64 *sent; /* keys sent to each of the contents; shared with children */
static __u64 room;
static struct epf_restore snapshot;

/* State of each of the contents with FEW keys. */
static struct was {
	struct epf_bpf_slot slot;
	struct epf_bpf_cpu *cpu;
	struct epf_line *line;
} was[2];

/* ---- keys ---- */

static __u32 contents_of(__u32 i)
{
	__u64 serial = ebpf_slot(filter[i])->serial;

	return serial == was[0].slot.serial ? 0 : serial == was[1].slot.serial ? 1 : RESTORED;
}

/* Look up or insert keys @from and on of contents @of, in filter @i. */
static bool run(__u32 i, __u32 op, __u32 of, __u64 from, __u32 n, struct epf_bpf_ops *ops)
{
	__u32 j;

	ops->op = op;
	ops->count = n;
	ops->serial = ebpf_slot(filter[i])->serial;
	for (j = 0; j < n; j++)
		ops->word[j] = epf_word((__u64)(of + 1) << 48 | (from + j), 1);
	return !ebpf_ops_run(filter[i], ops);
}

static void send(__u32 i, __u64 keys)
{
	__u64 *of = &sent[contents_of(i)];
	struct epf_bpf_ops ops;
	__u32 n;

	for (; keys; keys -= n) {
		n = keys < EPF_BPF_OPS_MAX ? (__u32)keys : EPF_BPF_OPS_MAX;
		run(i, EPF_BPF_INSERT, contents_of(i), *of, n, &ops);
		*of += n;
	}
}

/* Is no key of @of reported absent by filter @i? */
static bool has(__u32 i, __u32 of, __u64 keys)
{
	struct epf_bpf_ops ops;
	__u64 at;
	__u32 n, j;

	for (at = 0; at < keys; at += n) {
		n = keys - at < EPF_BPF_OPS_MAX ? (__u32)(keys - at) : EPF_BPF_OPS_MAX;
		if (!run(i, EPF_BPF_TEST, of, at, n, &ops))
			return false;
		for (j = 0; j < n; j++)
			if (!ops.word[j])
				return false;
	}
	return true;
}

static bool has_all(__u32 i)
{
	__u32 of = contents_of(i);

	if (of == RESTORED && !has(i, 0, FEW(room)))
		return false;
	return has(i, of, sent[of]);
}

static bool full(__u32 i)
{
	return sent[contents_of(i)] > room;
}

static bool opened(__u32 i)
{
	const struct epf_bpf_slot *s = ebpf_slot(filter[i]);

	return epf_load(&s->keys) >= epf_load(&s->open_at);
}

/* ---- two filters ---- */

static bool make(__u32 i, const struct epf_params *p)
{
	if (!i)
		return !drive_load(&d) && (filter[0] = d.filter);
	return !drive_create(name[1], p) && !ebpf_open(name[1], &filter[1]);
}

static void keep(__u32 i)
{
	struct ebpf_filter *f = filter[i];
	struct epf_lanes lanes;

	ebpf_lines(f, &lanes);
	was[i].slot = *ebpf_slot(f);
	was[i].cpu = calloc(f->shared->cpus, sizeof(*f->cpu));
	memcpy(was[i].cpu, f->cpu, f->shared->cpus * sizeof(*f->cpu));
	was[i].line = malloc(f->line_bytes);
	memcpy(was[i].line, lanes.line, f->line_bytes);
}

/* Put contents @i into filter @i, in their original state. */
static void reset(__u32 i)
{
	struct ebpf_filter *f = filter[i];
	struct epf_lanes lanes;

	memcpy(&f->cpu[f->shared->active * f->shared->cpus], was[i].cpu,
	       f->shared->cpus * sizeof(*f->cpu));
	*ebpf_slot(f) = was[i].slot;
	f->line_serial = 0; /* other contents have the lines of this handle */
	ebpf_lines(f, &lanes);
	memcpy(lanes.line, was[i].line, f->line_bytes);
	sent[i] = FEW(room);
	sent[RESTORED] = 0;
}

static void end(void)
{
	__u32 i;

	if (filter[1])
		ebpf_close(filter[1]);
	filter[0] = filter[1] = NULL;
	drive_end(&d);
	ebpf_destroy(name[1], true);
	for (i = 0; i < 2; i++) {
		free(was[i].cpu);
		free(was[i].line);
	}
	memset(was, 0, sizeof(was));
}

static struct epf_params params(void)
{
	return (struct epf_params){
		.mode = EPF_MODE_TIME,
		.nr_lines = LINES,
		.lines_per_key = 1,
		.bits_per_key = 4,
		.window_ns = EPF_NS_MAX / 1000, /* nothing is due by itself */
		.budget_ppt = LIMIT,
		.limit_ppt = LIMIT,
	};
}

static bool begin_of(__u64 lines)
{
	struct epf_params p = params();
	__u32 i;

	p.nr_lines = lines;
	memset(&d, 0, sizeof(d));
	drive_name(d.name, "slots-a");
	drive_name(name[1], "slots-b");
	strcpy(name[0], d.name);
	if (!sent)
		sent = death_page();
	if (drive_create(d.name, &p) || !make(0, &p) || !make(1, &p)) {
		tap_ok(false, "filters are made");
		end();
		return false;
	}
	room = ebpf_slot(filter[0])->room;
	memset(sent, 0, CONTENTS * sizeof(*sent));
	for (i = 0; i < 2; i++) {
		was[i].slot.serial = ebpf_slot(filter[i])->serial;
		send(i, FEW(room));
		keep(i);
	}
	return true;
}

static bool begin(void)
{
	return begin_of(LINES);
}

/* Take the lock once. Limits are those of all contents. */
static int look(__u32 i)
{
	struct ebpf_filter *f = filter[i];
	int ret = ebpf_limits(f);

	f->limits.serial = ebpf_slot(f)->serial;
	ret = ret ?: ebpf_begin(f);
	if (!ret)
		ebpf_end(f);
	return ret;
}

/* ---- what is done ---- */

static int swap_once(void)
{
	struct epf_swap a = { 0 };

	strcpy(a.a.name, name[0]);
	strcpy(a.b.name, name[1]);
	return ebpf_swap(&a);
}

static int restore_once(void)
{
	struct ebpf_filter *f;
	int ret = ebpf_open(name[0], &f);

	if (ret)
		return ret;
	ret = ebpf_restore(f, &snapshot);
	ebpf_close(f);
	return ret;
}

/* Of contents 0 in their original state. */
static bool take_snapshot(void)
{
	struct epf_snap s = { .pin_ns = EPF_PIN_MAX_NS };
	int ret = ebpf_snap_begin(filter[0], &s);

	s.pin_ns = 0;
	ret = ret ?: ebpf_snap_end(filter[0], &s);
	snapshot.header = s.header;
	snapshot.desc = s.desc;
	snapshot.lines = (__u64)(uintptr_t)was[0].line;
	return !ret;
}

/* ---- what has to hold ---- */

/* Must hold at any moment, also before any process has looked. */
static bool promises_kept(__u32 i)
{
	return !full(i) || opened(i);
}

static bool nothing_left(__u32 i)
{
	__u32 slot = filter[i]->shared->active ^ 1, id;

	return bpf_map_lookup_elem(filter[i]->lines, &slot, &id) &&
	       access(ebpf_path(name[i], slot ? "lines1" : "lines0").text, F_OK);
}

/* Must hold when all is done. */
static bool in_order(__u32 i)
{
	return has_all(i) && opened(i) == full(i) && nothing_left(i);
}

static bool wrong; /* was a violation seen meanwhile? */

static bool good_or_tell(bool good, const char *what, __u64 n)
{
	__u32 i;

	if (good && !wrong)
		return true;
	printf("# %s, step %llu:%s\n", what, n, wrong ? " meanwhile" : "");
	for (i = 0; i < 2; i++)
		printf("# filter %u: contents %u, %llu keys of %llu, has all %d, open %d, nothing left %d\n",
		       i, contents_of(i), sent[contents_of(i)], room, has_all(i), opened(i),
		       nothing_left(i));
	return false;
}

/* ---- packets meanwhile ---- */

static __u64 at_step;

static void packets_at_step(const void *at)
{
	if (death.steps == at_step)
		send(0, MANY(room));
	if (!promises_kept(0) || !promises_kept(1))
		wrong = true;
}

static void packets(void)
{
	bool good = begin() && !look(0) && !look(1);
	__u64 n = 0;

	do {
		reset(0);
		reset(1);
		at_step = ++n;
		death.steps = 0;
		death.meanwhile = packets_at_step;
		death.counts = true;
		good = good && !swap_once();
		death.counts = false;
		good = good_or_tell(good && in_order(0) && in_order(1) && contents_of(0) == 1 &&
					    contents_of(1) == 0,
				    "swap", n);
	} while (good && death.steps >= n);
	printf("# %llu steps\n", n);
	tap_ok(good && n > 20,
	       "packets before any step of a swap are counted: the filter that has them is open at once, the other is not");
	death.meanwhile = NULL;
	end();
}

/* ---- traffic ---- */

#define SWAPS 24

static pid_t traffic(__u32 worker, volatile __u64 *stop)
{
	pid_t pid = drive_fork();

	if (pid)
		return pid;
	drive_pin((int)worker);
	while (!*stop)
		drive_run(d.laws, worker, 64);
	_exit(0);
}

/* Is this the word of a filter that is stored to? */
static bool is_word(const void *at, size_t offset)
{
	return at && ((uintptr_t)at & 4095) == offset;
}

static __u64 came(void)
{
	const volatile struct laws_worker *w = d.prog->bss->workers;

	return w[0].keys + w[1].keys;
}

/* Traffic also comes between the copies of words and the change. */
static void traffic_before_change(const void *at)
{
	__u64 before = came();

	if (is_word(at, offsetof(struct epf_bpf_filter, half)))
		while (came() - before < 8)
			sched_yield();
}

/* Does the slot's word count all insertions except those that each CPU holds back until
 * its next step?
 */
static bool slot_knows(const struct ebpf_filter *f)
{
	const struct epf_bpf_slot *s = ebpf_slot(f);
	__u64 least = s->base_keys;
	__u32 i;

	for (i = 0; i < f->shared->cpus; i++)
		least += f->cpu[f->shared->active * f->shared->cpus + i].keys / s->keys_step *
			 s->keys_step;
	return s->keys >= least;
}

/* Return: the number of keys of both contents. */
static __u64 counted(void)
{
	return ebpf_keys(filter[0], filter[0]->shared->active) +
	       ebpf_keys(filter[1], filter[1]->shared->active);
}

/* Swap @swaps times while two processes insert into filter 0. Return: did all swaps
 * succeed, and were the keys for filter 1 counted where they should be?
 */
static bool swaps_under_traffic(int swaps)
{
	volatile __u64 *stop = death_page();
	pid_t pid[LAWS_WORKERS];
	bool good = true;
	__u32 i;

	for (i = 0; i < LAWS_WORKERS; i++)
		pid[i] = traffic(i, stop);
	death.meanwhile = traffic_before_change;
	death.counts = true;
	while (swaps--)
		good = !swap_once() && slot_knows(filter[1]) && good;
	death.counts = false;
	death.meanwhile = NULL;
	*stop = 1;
	for (i = 0; i < LAWS_WORKERS; i++)
		waitpid(pid[i], NULL, 0);
	return good;
}

static void under_traffic(void)
{
	__u64 before, grew = 0, found = 0, refused = 0, missed = 0, n;
	bool good = begin_of(MANY_LINES); /* which are not filled up */
	__u32 i;

	before = good ? counted() : 0;
	if (good)
		d.prog->bss->window = LAWS_RING; /* all keys that it remembers */
	good = good && swaps_under_traffic(SWAPS);
	for (i = 0; good && i < LAWS_WORKERS; i++) {
		const struct laws_worker *w = &d.prog->bss->workers[i];

		grew += w->keys - w->repeats;
		found += w->repeats;
		refused += w->refused;
		missed += w->missed;
	}
	n = good ? counted() - before : 0;
	printf("# %llu keys came, %llu false positives, %llu are counted, %llu refused, %llu missed\n",
	       grew + found, found, n, refused, missed);
	good = good && slot_knows(filter[0]) && slot_knows(filter[1]);
	/* A false positive whose last bits another CPU sets between lookup and insertion is
	 * reported present and counted: one in a million keys.
	 */
	tap_ok(good && grew && n >= grew && n <= grew + 8 && !refused && !missed,
	       "swaps under traffic: each key is counted once, none is refused or missed");
	end();
}

/* ---- sections that last ---- */

static pid_t section, release;

static void hold_at_change(const void *at)
{
	if (section || !is_word(at, offsetof(struct epf_bpf_filter, active)))
		return;
	section = drive_hold(&d, LAWS_HOLD_SLOT);
	*death.asked = 0;
	release = death_release(&d);
}

/* Make @change while a section knows the slot, but has not yet looked up its lines. */
static bool over_change(int (*change)(void))
{
	bool good;

	section = 0;
	death.asked = death_page();
	death.meanwhile = hold_at_change;
	death.counts = true;
	good = !change();
	death.counts = false;
	death.meanwhile = NULL;
	d.prog->bss->hold = 0;
	if (section) {
		waitpid(section, NULL, 0);
		waitpid(release, NULL, 0);
	}
	death.asked = NULL;
	return good && section && d.prog->bss->workers[1].keys == 1 &&
	       !d.prog->bss->workers[1].refused;
}

static void section_in_swap(void)
{
	__u64 keys;
	bool good = begin_of(MANY_LINES);

	keys = good ? ebpf_keys(filter[0], filter[0]->shared->active) : 0;
	good = good && over_change(swap_once);
	printf("# %llu keys\n", keys);
	good = good && slot_knows(filter[1]);
	tap_ok(good && ebpf_keys(filter[1], filter[1]->shared->active) == keys + 1,
	       "a section that lasts over a swap is refused nothing, and its key is counted where it is");
	end();
}

static void section_in_restore(void)
{
	bool good = begin() && take_snapshot() && over_change(restore_once);

	tap_ok(good && in_order(0) && contents_of(0) == RESTORED,
	       "a section that lasts over a restore is refused nothing");
	end();
}

static __u64 *go;

/* A section begins right before the change, and the swapping process dies when the
 * change is made.
 */
static void die_over_section(const void *at)
{
	const volatile __u64 *held = &d.prog->bss->held;

	if (!at && *go)
		_exit(0);
	if (*go || !is_word(at, offsetof(struct epf_bpf_filter, active)))
		return;
	*go = 1;
	while (!*held)
		sched_yield();
}

/* The section belongs to another process, so that it survives. */
static pid_t section_when_told(void)
{
	pid_t pid = drive_fork();

	if (pid)
		return pid;
	while (!*(volatile __u64 *)go)
		sched_yield();
	drive_pin(0);
	drive_run(d.laws, 1, 1);
	_exit(0);
}

static bool mended_over_section(void)
{
	bool good;

	death.asked = death_page();
	release = death_release(&d);
	good = !look(0) && !look(1);
	d.prog->bss->hold = 0;
	waitpid(section, NULL, 0);
	kill(release, SIGKILL);
	waitpid(release, NULL, 0);
	death.asked = NULL;
	return good && d.prog->bss->workers[1].keys == 1 && !d.prog->bss->workers[1].refused;
}

static void section_over_death(void)
{
	bool good = begin() && !look(0) && !look(1);
	struct epf_bpf_ops ops;

	if (good) {
		go = death_page();
		d.prog->bss->hold = LAWS_HOLD_SLOT;
		section = section_when_told();
		drive_pin(1);
		death.meanwhile = die_over_section;
		dies(swap_once, 0);
		death.meanwhile = NULL;
		good = *go && mended_over_section();
	}
	/* the section's key is the first of contents 1, too */
	good = good && run(1, EPF_BPF_TEST, 1, 0, 1, &ops) && ops.word[0];
	tap_ok(good && contents_of(1) == 0 && in_order(0) && in_order(1),
	       "the swapping process dies during a section: the next one waits for it");
	end();
}

/* ---- deaths ---- */

/* Contents 0 get packets after their words have been copied, before any change. */
static void packets_at_change(const void *at)
{
	if (is_word(at, offsetof(struct epf_bpf_filter, half)) && !full(0))
		send(0, MANY(room));
}

static bool two_different(void)
{
	return contents_of(0) < RESTORED && contents_of(1) < RESTORED &&
	       contents_of(0) != contents_of(1);
}

/* Return: can filter @i be used, or is it refused by a test without a key? */
static bool usable_or_refused(__u32 i)
{
	struct epf_batch b = { .flags = EPF_BATCH_DIGESTS };
	bool half = filter[i]->shared->half;

	return ebpf_batch(filter[i], &b, EPF_BPF_TEST) == (half ? -EUCLEAN : 0);
}

/* The same after it has been refused while a batch was under way. */
static bool refused_by_program(__u32 i)
{
	struct epf_bpf_ops ops = { .op = EPF_BPF_TEST, .count = 1 };

	return ebpf_ops_run(filter[i], &ops) == -EUCLEAN;
}

/* A process died in a swap. Both filters are as before or as after, or reported as
 * half-swapped.
 */
static bool swap_mended(bool *half)
{
	bool good = has_all(0) && has_all(1) && promises_kept(0) && promises_kept(1) &&
		    usable_or_refused(0) && usable_or_refused(1);
	int first = look(0), second = look(1);

	*half = first == -EUCLEAN || second == -EUCLEAN;
	if (!first)
		good = good && in_order(0);
	if (!second)
		good = good && in_order(1);
	if (*half)
		return good && (!first || refused_by_program(0)) &&
		       (!second || refused_by_program(1)) && (!first || first == -EUCLEAN) &&
		       (!second || second == -EUCLEAN);
	return good && !first && !second && two_different() && !swap_once() && in_order(0) &&
	       in_order(1) && two_different();
}

static void deaths_in_swap(void)
{
	bool good = begin() && !look(0) && !look(1), died = true, half;
	__u64 n, halves = 0;

	for (n = 1; good && died; n++) {
		reset(0);
		reset(1);
		death.meanwhile = packets_at_change;
		died = dies(swap_once, n);
		death.meanwhile = NULL;
		good = good_or_tell(swap_mended(&half), "death in swap", n);
		halves += half;
		if (half) {
			end();
			good = good && begin() && !look(0) && !look(1);
		}
	}
	printf("# %llu steps, %llu left them half\n", n, halves);
	tap_ok(good && n > 20 && halves < 6,
	       "the swapping process dies at each step: both as before, as after, or told; no key is lost, none uncounted, nothing stays");
	end();
}

static void packets_at_restore(const void *at)
{
	if (is_word(at, offsetof(struct epf_bpf_filter, active)))
		send(0, MANY(room));
}

static bool restore_mended(void)
{
	bool good = contents_of(0) != 1 && has_all(0) && promises_kept(0);

	good = good && !look(0) && in_order(0) && !swap_once() && in_order(1);
	return good && !swap_once() && !drive_step(name[0]);
}

static void deaths_in_restore(void)
{
	bool good = begin() && !look(0) && !look(1) && take_snapshot();
	bool died = true;
	__u64 n;

	for (n = 1; good && died; n++) {
		reset(0);
		death.meanwhile = packets_at_restore;
		died = dies(restore_once, n);
		death.meanwhile = NULL;
		good = good_or_tell(restore_mended(), "death in restore", n);
	}
	good = good && contents_of(0) == RESTORED;
	reset(0);
	good = good && !restore_once() && in_order(0);
	printf("# %llu steps\n", n);
	tap_ok(good && n > 10,
	       "the restoring process dies at each step: as before or as after; no key is lost, nothing stays");
	end();
}

/* ---- time ---- */

static int looked;

static void look_meanwhile(void)
{
	if (!looked++)
		wrong = drive_step(name[0]);
}

static void copying(void)
{
	bool good = begin() && take_snapshot();

	wrong = false;
	looked = 0;
	death.copies = look_meanwhile;
	good = good && !restore_once();
	death.copies = NULL;
	tap_ok(good && looked && !wrong,
	       "while a restore copies lines another process ends epochs");
	wrong = false;
	end();
}

/* The process that holds filter 0 has just looked, and its epoch is far from its end. */
static bool held_for_long(void)
{
	__u64 soon;

	return !drive_step(name[0]) && !ebpf_overdue_at(filter[0], &soon) &&
	       ebpf_slot(filter[0])->until > soon;
}

static bool not_for_long(void)
{
	__u64 soon;

	return !ebpf_overdue_at(filter[0], &soon) && ebpf_slot(filter[0])->until <= soon;
}

static void overdue(void)
{
	bool good = begin() && take_snapshot();

	good = good && held_for_long() && !swap_once() && not_for_long();
	good = good && held_for_long() && !restore_once() && not_for_long();
	good = good && (ebpf_slot(filter[0])->until = 1) && !swap_once() &&
	       ebpf_slot(filter[0])->until == 1;
	tap_ok(good, "other contents are overdue when a look is, and not before if the filter was");
	end();
}

static const struct drive_part parts[] = {
	{ "packets", 1, packets },
	{ "traffic", 1, under_traffic },
	{ "section", 1, section_in_swap },
	{ "section-restore", 1, section_in_restore },
	{ "section-death", 1, section_over_death },
	{ "swap", 1, deaths_in_swap },
	{ "restore", 1, deaths_in_restore },
	{ "copying", 1, copying },
	{ "overdue", 1, overdue },
};

/* usage: slots [PART] */
int main(int argc, char **argv)
{
	if (!drive_possible())
		return TAP_SKIPPED;
	return drive_parts(argc, argv, parts, sizeof(parts) / sizeof(parts[0]));
}
