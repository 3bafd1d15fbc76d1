// SPDX-License-Identifier: GPL-2.0
/*
 * The programs of the threads: the core's operations, called as the module, their owner,
 * calls them.
 */
#include "scene.h"
#include "elastic.h"
#include "journal.h"
#include "mirror.h"
#include "since.h"
#include "worker.h"

static struct mc_table *const tables = mc_world.table;

/* The lanes of a table. Its lines, one for each part, are consecutive and serve all keys. */
struct epf_lanes scene_lanes(int table)
{
	struct epf_lanes f = { tables[table].line,
			       &tables[table].state.epoch,
			       { 1, mc.scene->parts, 2, 0 } };

	return f;
}

__u64 scene_mask(int key)
{
	return EPF_TAG_MASK | 3ULL << 4 * key;
}

struct epf_probe scene_probe(struct epf_line *line, int key)
{
	struct epf_probe p;
	__u32 j;

	p.parts = mc.scene->parts;
	for (j = 0; j < p.parts; j++) {
		p.line[j] = &line[j];
		p.mask[j] = scene_mask(key);
	}
	return p;
}

static struct epf_probe probe_of(int table, int key)
{
	return scene_probe(tables[table].line, key);
}

int scene_threads(const struct mc_scene *s)
{
	return s->threads;
}

/* Threads whose end others await, as bits. */
unsigned int scene_awaited(const struct mc_scene *s)
{
	unsigned int bits = 0;
	int t;

	for (t = 0; t < s->threads; t++)
		bits |= s->role[t].await;
	return bits;
}

int scene_sights(const struct mc_scene *s)
{
	int t, n = 0;

	for (t = 0; t < s->threads; t++)
		n += s->role[t].act == ACT_SIGHT || s->role[t].act == ACT_SIGHT_FIRST;
	return n;
}

bool scene_rotates(int t)
{
	return mc.scene->role[t].act == ACT_ROTATE;
}

bool scene_asks_since(int t)
{
	return mc.scene->role[t].act == ACT_SINCE;
}

/* Did @earlier end before @t began, whatever the schedule? */
bool scene_after(const struct mc_scene *s, int t, int earlier)
{
	return t == earlier || s->role[t].await >> earlier & 1;
}

/* ---- the beginning ---- */

static void old_key(int table)
{
	struct epf_lanes f = scene_lanes(table);
	struct epf_probe p = probe_of(table, SCENE_OLD);

	epf_lanes_insert(&f, &p);
}

static void set_up_table(int table, enum scene_before before)
{
	struct epf_state *s = &tables[table].state;

	epf_state_init(s, 0);
	while (s->epoch < SCENE_EPOCH) {
		if (before != BEFORE_EMPTY)
			old_key(table);
		epf_state_rotate(s, 0);
	}
	if (before == BEFORE_CURRENT)
		old_key(table);
}

static bool has(const struct mc_scene *s, enum scene_act act)
{
	int t;

	for (t = 0; t < s->threads; t++)
		if (s->role[t].act == act)
			return true;
	return false;
}

bool scene_swaps(const struct mc_scene *s)
{
	return has(s, ACT_SWAP);
}

bool scene_estimates(const struct mc_scene *s)
{
	return has(s, ACT_ESTIMATE);
}

/**
 * scene_set_up() - set up the memory
 * @s: scene
 */
void scene_set_up(const struct mc_scene *s)
{
	int i;

	mc.scene = s;
	mc.nr_words = 0;
	memset(mc.users, 0, sizeof(mc.users));
	memset(mc.written, 0, sizeof(mc.written));
	for (i = 0; i < MC_WORLD_WORDS; i++)
		mc.word_id[i] = -1;
	memset(&mc_world, 0, sizeof(mc_world));
	if (s->elastic)
		elastic_set_up(s);
	else if (s->journal)
		journal_set_up(s);
	else
		set_up_table(0, s->before);
	if (scene_swaps(s) || has(s, ACT_CHANGE))
		set_up_table(1, s->before);
	if (s->mirror)
		mirror_set_up(s);
	if (s->dates)
		since_set_up();
	mc_world.handle[1] = 1;
	mc.first = mc_world;
}

/* ---- sections and rotation: kmod/table.h, kmod/rotate.c ---- */

/* ---- or by a timer: epf_inline_enter(), bpf/epf_timer.bpf.c ---- */

static void fence(__u64 without)
{
	if (!(mc.out & without))
		mc_do(MC_FENCE, 0);
}

void scene_enter(void)
{
	if (has(mc.scene, ACT_TICK)) {
		epf_fetch_add(&mc_world.inside[mc_running()], 1);
		fence(MC_RLX_LOCK);
	} else if (mc.scene->grace) {
		mc_do(MC_ENTER, 0);
	}
}

void scene_leave(void)
{
	if (has(mc.scene, ACT_TICK))
		epf_fetch_add(&mc_world.inside[mc_running()], ~0ULL);
	else if (mc.scene->grace)
		mc_do(MC_LEAVE, 0);
}

static bool waits(void)
{
	return mc.scene->grace && !(mc.out & MC_NO_GRACE);
}

/* Rotate; the grace period of the next lane is over. */
static void rotate(int table)
{
	struct epf_state *s = &tables[table].state;
	__u64 e = s->epoch;

	if (mc.scene->dates)
		since_rotate(s);
	else
		epf_state_rotate(s, 0);
	if (waits())
		mc_do(MC_GRACE_START, e & 7);
}

static void rotate_waiting(int table)
{
	if (waits())
		mc_do(MC_GRACE_WAIT, (tables[table].state.epoch + 1) & 7);
	rotate(table);
}

bool scene_lock(bool waiting)
{
	__u64 e = mc_do(waiting ? MC_LOCK : MC_TRYLOCK, 0);

	if (e) /* the lock protects the epoch */
		tables[0].state.epoch = e;
	return e;
}

/* ---- operations ---- */

__u64 scene_insert(int table, int key, __u64 *lanes)
{
	struct epf_lanes f = scene_lanes(table);
	struct epf_probe p = probe_of(table, key);
	__u64 e, began = mc.scene->dates ? since_begin() : 0;
	bool grew = false;

	mc_note(MC_STARTS, key, table, 0, began);
	e = epf_lanes_insert_into(&f, &p, lanes, &grew);
	mc_note(MC_INSERTED, key, table, 0, e);
	return e;
}

static __u64 insert(int table, int key)
{
	__u64 lanes = 0;

	return scene_insert(table, key, &lanes);
}

static void sight(int table, int key, bool first_seen)
{
	struct epf_lanes f = scene_lanes(table);
	struct epf_probe p = probe_of(table, key);
	int verdict;
	__u64 e;

	mc_note(MC_STARTS, key, table, 0, 0);
	verdict = epf_lanes_test_and_insert(&f, &p, first_seen, &e);
	mc_note(MC_SIGHTED, key, table, verdict, e);
}

static void test(int table, int key)
{
	struct epf_lanes f = scene_lanes(table);
	struct epf_probe p = probe_of(table, key);

	mc_note(MC_STARTS, key, table, -1, 0);
	mc_note(MC_TESTED, key, table, epf_lanes_test(&f, &p), 0);
}

/* Are @sum insertions enough to end an epoch? */
static bool full(__u64 sum)
{
	return mc.scene->full && sum >= mc.scene->full;
}

static __u64 add(__u64 e, __u64 n)
{
	struct epf_state *s = &tables[0].state;

	if (mc.out & MC_LATE_FLUSH)
		e = epf_load(&s->count) >> EPF_COUNT_BITS;
	return epf_count_add(s, e, n);
}

static __u64 keep(__u64 pending, __u64 e, __u64 batch, __u64 *flush)
{
	if (mc.out & MC_LATE_PENDING)
		pending = (pending & 0xffffffff) | e << 32;
	return epf_pending_add(pending, e, batch, flush);
}

static void count_own(const struct scene_role *r)
{
	__u64 pending = 0, flush, e;
	int i;

	for (i = 0; i < r->n; i++) {
		scene_enter();
		e = insert(0, r->key + i);
		pending = keep(pending, e, r->batch, &flush);
		if (flush)
			add(e, flush);
		scene_leave();
	}
}

static void count_shared(const struct scene_role *r)
{
	__u64 *cpu = &mc_world.pending;
	__u64 old, kept, flush, e = insert(0, r->key);

	old = epf_load(cpu);
	do
		kept = keep(old, e, r->batch, &flush);
	while (!epf_cas(cpu, &old, kept));
	if (flush)
		add(e, flush);
}

/* End the epoch if it is full and the grace period is over. Caller holds the lock. */
static void rotate_due(void)
{
	struct epf_state *s = &tables[0].state;
	__u64 e = s->epoch;

	if (!full(epf_count_of(epf_load(&s->count), e)))
		return;
	if (waits() && !mc_do(MC_GRACE_POLL, (e + 1) & 7))
		return;
	mc_note(MC_ENDS, 0, 0, 0, e);
	rotate(0);
}

static void count_rotate(const struct scene_role *r)
{
	__u64 e;
	int i;

	for (i = 0; i < r->n; i++) {
		scene_enter();
		e = insert(0, r->key);
		if (full(add(e, 1)) && scene_lock(false)) {
			rotate_due();
			mc_do(MC_UNLOCK, 0);
		}
		scene_leave();
	}
}

static void rotate_full(const struct scene_role *r)
{
	int i;

	for (i = 0; i < r->n; i++) {
		scene_lock(true);
		rotate_due();
		mc_do(MC_UNLOCK, 0);
	}
}

static void rotate_locked(const struct scene_role *r)
{
	int i;

	for (i = 0; i < r->n; i++) {
		scene_lock(true);
		rotate(0);
		mc_do(MC_UNLOCK, 0);
	}
}

static void scan(void)
{
	struct epf_lanes f = scene_lanes(0);
	bool locked = !(mc.out & MC_SCAN_UNLOCKED);

	if (locked)
		scene_lock(true);
	epf_lanes_scan(&f, 0, f.geom.parts);
	if (locked)
		mc_do(MC_UNLOCK, 0);
}

/* End as many epochs as it takes for a tag to repeat, with the scan that is due. */
static void wrap(void)
{
	struct epf_lanes f = scene_lanes(0);
	int i;

	for (i = 0; i < 24; i++) {
		if (i == 12)
			epf_lanes_scan(&f, 0, f.geom.parts);
		rotate_waiting(0);
	}
}

static void turn(const struct scene_role *r)
{
	struct epf_lanes f = scene_lanes(0);
	int i;

	for (i = 0; i < r->n; i++) {
		if (!i || i == r->n - 1)
			epf_lanes_scan(&f, 0, f.geom.parts);
		rotate_waiting(0);
	}
}

/* Wait until each of the other threads has been outside a section once. There is a full
 * barrier before the epoch is stored, so an acquire load models this.
 */
static void look(void)
{
	int t;

	fence(MC_RLX_HEAD);
	for (t = 0; t < mc.scene->threads; t++) {
		struct mc_op op = {
			.kind = MC_ACQUIRE,
			.word = mc_word(&mc_world.inside[t]),
			.order = true,
			.without = ~0ULL,
			.where = "look",
		};

		if (t != mc_running())
			mc_access(&op);
	}
}

/* Look once as early as possible, and again as late as allowed: epf_bpf_may_rotate(). */
static void tick(const struct scene_role *r)
{
	struct epf_lanes f = scene_lanes(0);
	__u64 quiet = SCENE_EPOCH;
	int i;

	for (i = 0; i < r->n; i++) {
		__u64 e = tables[0].state.epoch;

		if (!i || i == r->n - 1)
			epf_lanes_scan(&f, 0, f.geom.parts);
		if ((i == 1 || quiet + EPF_LIVE_EPOCHS - 1 < e) && !(mc.out & MC_NO_GRACE)) {
			look();
			quiet = e;
		}
		epf_state_rotate(&tables[0].state, 0);
	}
}

/* ---- filters: kmod/filter.c ---- */

static int enter_filter(int filter)
{
	scene_enter();
	return (int)epf_load_acquire(&mc_world.handle[filter]);
}

static void replace(void)
{
	struct epf_state *s = &tables[1].state;

	epf_store_release(&s->epoch, EPF_EPOCH_FIRST); /* a new table */
	epf_store_release(&mc_world.handle[0], 1);
	if (!(mc.out & MC_FREE_NOW)) {
		mc_do(MC_GRACE_START, 0);
		mc_do(MC_GRACE_WAIT, 0);
	}
	mc_do(MC_FREE, 0);
}

static void swap(void)
{
	epf_store_release(&mc_world.handle[0], 1);
	epf_store_release(&mc_world.handle[1], 0);
}

/* ---- threads ---- */

static void run(const struct scene_role *r)
{
	int i;

	switch (r->act) {
	case ACT_INSERT:
		for (i = 0; i < r->n; i++) {
			scene_enter();
			insert(0, r->key + i);
			scene_leave();
		}
		break;
	case ACT_SIGHT:
	case ACT_SIGHT_FIRST:
		scene_enter();
		sight(0, r->key, r->act == ACT_SIGHT_FIRST);
		scene_leave();
		break;
	case ACT_TEST:
		scene_enter();
		test(0, r->key);
		scene_leave();
		break;
	case ACT_ROTATE:
		if (has(mc.scene, ACT_SCAN))
			rotate_locked(r);
		else if (scene_estimates(mc.scene))
			for (i = 0; i < r->n; i++)
				worker_rotate();
		else
			for (i = 0; i < r->n; i++)
				rotate_waiting(0);
		break;
	case ACT_ROTATE_FULL:
		rotate_full(r);
		break;
	case ACT_COUNT:
		count_own(r);
		break;
	case ACT_COUNT_SHARED:
		count_shared(r);
		break;
	case ACT_COUNT_ROTATE:
		count_rotate(r);
		break;
	case ACT_SCAN:
		scan();
		break;
	case ACT_WRAP:
		wrap();
		break;
	case ACT_TURN:
		turn(r);
		break;
	case ACT_TICK:
		tick(r);
		break;
	case ACT_REPLACE:
		replace();
		break;
	case ACT_SWAP:
		swap();
		break;
	case ACT_FILTER_INSERT:
		insert(enter_filter(r->n), r->key);
		scene_leave();
		break;
	case ACT_FILTER_TEST:
		test(enter_filter(r->n), r->key);
		scene_leave();
		break;
	case ACT_ESTIMATE:
		worker_estimate();
		break;
	default: /* those of other scenes */
		since_run(r);
		break;
	}
}

static bool mirrors(const struct scene_role *r)
{
	return r->act == ACT_MIRROR || r->act == ACT_MIRROR_NEW;
}

/**
 * scene_thread() - the function of a thread
 * @t: its number
 */
void scene_thread(int t)
{
	const struct scene_role *r = &mc.scene->role[t];

	if (r->await && r->act != ACT_FOLLOW && !mirrors(r))
		mc_do(MC_AWAIT, r->await);
	if (mc.scene->elastic)
		elastic_run(r);
	else if (mc.scene->journal)
		journal_run(r);
	else if (mc.scene->mirror)
		mirror_run(r);
	else
		run(r);
}
