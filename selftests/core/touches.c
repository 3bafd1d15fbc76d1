// SPDX-License-Identifier: GPL-2.0
/*
 * How often inserting CPUs write a word that other CPUs write too: a model of the
 * module's counting (epf_table_count(), epf_table_join(), epf_table_look() of kmod) on
 * the core's struct epf_pace, one insertion at a time. It is deterministic and does not
 * depend on time.
 *
 *   shared   additions to the count, which all CPUs write
 *   group    additions to what a group keeps, which EPF_GROUP_CPUS CPUs write
 *   late     insertions after those that should have ended the epoch
 *   summed   times that the keys were summed, which reads a word of each CPU
 */
#include <stdlib.h>

#include <epf/window.h>

#include "tap.h"

#define CPUS_MAX 512

struct model {
	struct epf_pace pace;
	struct epf_state state;
	__u64 trigger, mark;
	__u32 batch[EPF_LEVELS];
	__u64 pending[CPUS_MAX];
	__u64 group[CPUS_MAX / EPF_GROUP_CPUS];
	__u64 keys, room; /* of this epoch; room ~0: no limit */
	bool open;
	__u64 inserted, late_most; /* in this epoch; most in any epoch */
	__u64 shared, grouped, summed;
};

/* Keys are summed beyond the mark only, and when an epoch begins. */
static __u64 keys_left(struct model *m, __u64 sum, bool begins)
{
	__u64 left = m->room > m->keys ? m->room - m->keys : 0;

	if (m->room == ~0ULL || (!begins && sum < m->mark))
		return ~0ULL;
	m->summed++;
	m->mark = epf_pace_mark(&m->pace, sum, left);
	return left;
}

/* Batches grow with each new epoch only. */
static void set_trigger(struct model *m, __u64 sum, bool raise)
{
	__u64 left = keys_left(m, sum, raise);
	__u64 rest = epf_pace_rest(&m->pace, sum, left);
	__u32 i;

	for (i = 0; i < EPF_LEVELS; i++) {
		__u32 batch = epf_pace_batch(&m->pace, i, rest);

		if (raise || batch < m->batch[i])
			m->batch[i] = batch;
	}
	left = keys_left(m, sum, false);
	m->trigger = epf_next_look(&m->pace, sum, left);
	if (sum < m->mark && m->mark < m->trigger)
		m->trigger = m->mark;
	m->open |= !left;
}

static void look(struct model *m, __u64 sum)
{
	bool ends = sum >= m->pace.full_at;

	if (ends) {
		if (m->inserted - m->pace.full_at > m->late_most)
			m->late_most = m->inserted - m->pace.full_at;
		epf_state_rotate(&m->state, 0);
		m->state.scanned = m->state.epoch;
		m->keys = m->inserted = sum = 0;
		m->open = false;
	}
	set_trigger(m, sum, ends);
}

static void insert(struct model *m, __u32 cpu)
{
	__u64 e = m->state.epoch, n, sum;
	__u64 *group = &m->group[cpu / EPF_GROUP_CPUS];

	m->inserted++;
	m->keys++;
	m->pending[cpu] = epf_pending_add(m->pending[cpu], e, m->batch[EPF_LEVEL_CPU], &n);
	if (n && m->pace.keepers[EPF_LEVEL_GROUP]) {
		m->grouped++;
		*group = epf_pending_join(*group, e, n, m->batch[EPF_LEVEL_GROUP], &n);
	}
	if (!n)
		return;
	m->shared++;
	sum = epf_count_add(&m->state, e, n);
	if (sum >= m->trigger)
		look(m, sum);
}

static struct model *model_new(__u64 window, __u32 cpus, __u64 room)
{
	struct model *m = calloc(1, sizeof(*m));
	__u64 epoch = (window + EPF_LIVE_EPOCHS - 1) / EPF_LIVE_EPOCHS;

	if (!m)
		exit(1);
	epf_pace_init(&m->pace, epoch / 4 + 1, epoch, room < epoch ? room : epoch, cpus);
	epf_state_init(&m->state, 0);
	m->room = room;
	set_trigger(m, 0, true);
	return m;
}

/* Which CPU inserts next. */
enum order { IN_TURN, DRAWN, IN_BURSTS, EACH_STOPS, ORDERS };

static __u32 next_cpu(const struct model *m, enum order order, __u64 i, __u32 cpus)
{
	switch (order) {
	case IN_TURN:
		return i % cpus;
	case DRAWN:
		return epf_word(i, 1) % cpus;
	case IN_BURSTS:
		return epf_word(i / 100, 1) % cpus;
	default: /* each CPU keeps as many as it can, and then stops inserting */
		return i / EPF_KEEP_MAX % cpus;
	}
}

/* The property: in whatever order CPUs insert, an epoch ends late by at most what CPUs
 * may keep, and exactly on time if all insert in turn.
 */
static const char *late_broken(const struct model *m, enum order order, __u32 cpus)
{
	__u64 may = epf_pace_kept(&m->pace, ~0ULL);

	if (m->late_most > may)
		return "later than all that is kept";
	if (may > m->pace.full_at / EPF_KEEP_SHARE * 2 + 1)
		return "more is kept than its share";
	if (order == IN_TURN && m->late_most > cpus)
		return "later than by one insertion of each CPU";
	return NULL;
}

static void touched(__u64 window, __u32 cpus, __u64 least)
{
	const char *broken = NULL;
	__u64 i, all = 21 * window / EPF_LIVE_EPOCHS;
	double per_shared = 1e300, per_group = 1e300;
	__u64 late = 0;
	int order;

	for (order = 0; order < ORDERS; order++) {
		struct model *m = model_new(window, cpus, ~0ULL);

		for (i = 0; i < all; i++)
			insert(m, next_cpu(m, order, i, cpus));
		if (!broken)
			broken = late_broken(m, order, cpus);
		if (order <= DRAWN && (double)all / m->shared < per_shared)
			per_shared = (double)all / m->shared;
		if (order <= DRAWN && (double)all / m->grouped < per_group)
			per_group = (double)all / m->grouped;
		late = m->late_most > late ? m->late_most : late;
		free(m);
	}
	if (!broken && per_shared < least)
		broken = "touched too often";
	tap_sound(
		broken,
		"W %llu, %u CPUs: %.1f insertions to a touch of the count, %.1f of a group; late by at most %.1f %% of an epoch",
		(unsigned long long)window, cpus, per_shared, per_group > 1e9 ? 0 : per_group,
		700. * late / window);
}

/* The property: the key that reaches the limit finds the filter open, or opens it. */
static void opens(__u32 cpus)
{
	static const __u64 rooms[] = { 1, 2, 100, 1000, 5000, 20000 };
	const char *broken = NULL;
	__u32 i, r;
	int order;

	for (r = 0; r < 6; r++) {
		for (order = 0; order < ORDERS; order++) {
			struct model *m = model_new(100000, cpus, rooms[r]);

			for (i = 0; i < 50000 && !broken; i++) {
				insert(m, next_cpu(m, order, i, cpus));
				if (m->keys >= m->room && !m->open)
					broken = "closed beyond its room";
			}
			free(m);
		}
	}
	tap_sound(broken, "%u CPUs: the filter opens before a key too many", cpus);
}

/* The property: where keys cannot reach the limit they are summed once an epoch. */
static void sums(__u32 cpus)
{
	const char *broken = NULL;
	int order;

	for (order = 0; order < ORDERS && !broken; order++) {
		struct model *m = model_new(100000, cpus, 100000 / 7 * 5 / 4);
		__u64 i;

		for (i = 0; i < 100000; i++)
			insert(m, next_cpu(m, order, i, cpus));
		if (m->summed != m->state.epoch - EPF_EPOCH_FIRST + 1)
			broken = "more often";
		if (m->open)
			broken = "it opened";
		free(m);
	}
	tap_sound(broken, "%u CPUs: keys that fit are summed once an epoch", cpus);
}

int main(void)
{
	tap_plan(11);
	touched(1000, 2, 1);
	touched(100000, 8, 64);
	touched(100000, 64, 64);
	touched(1000000, 64, 64);
	touched(10000000, 64, 64);
	touched(10000000, 512, 64);
	opens(1);
	opens(8);
	opens(64);
	sums(8);
	sums(64);
	return tap_end();
}
