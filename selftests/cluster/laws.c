// SPDX-License-Identifier: GPL-2.0
/*
 * The law of a live cluster: a host that says "absent in the whole cluster, and I am covered" is
 * never contradicted by the exact oracle of all hosts; and once all faults are over, all hosts
 * are covered again within a window. Random schedules (sim.h), the same in each run.
 *
 * usage: laws [SCHEDULES]: all laws
 *        laws any|clock|mild SEED: one schedule
 */
#include "../core/tap.h"
#include "sim.h"

#define SECOND (1000 * MS)
#define START (1000000 * MS)
#define SCHEDULES 1200u
#define MILD_NS (300 * MS)

/**
 * struct law - a family of schedules
 * @name: of it
 * @kinds: bits of enum fault_kind
 * @longest: time of a fault
 * @whole_in: all hosts must be covered so long after the last fault
 */
struct law {
	const char *name;
	__u32 kinds;
	__u64 longest;
	__u64 whole_in;
};

/* Holes are given up, then a window passes. */
#define HEALS (COVERAGE_GAP_LAGS * LAG + WINDOW + SECOND)

#define ALL ((1u << FAULT_KINDS) - 1)
#define RESTARTS (1u << AGENT_DIES | 1u << AGENT_ANEW | 1u << HOST_DIES)

static const struct law any_fault = { "any faults", ALL & ~(1u << CLOCK_JUMPS), 2 * SECOND, HEALS };
/* An agent that starts after that does not know it, and times in the stream mislead it. A step is
 * noticed if it is longer than an echo takes.
 */
static const struct law clock_set = { "the broker's clock is set", ALL & ~(RESTARTS | 1u << SLOW),
				      2 * SECOND, HEALS + SECOND };
static const struct law mild = { "short faults", (1u << MILD_KINDS) - 1, MILD_NS, 4 * LAG };

static const char *const fault_name[] = {
	[LOSSY] = "lossy",
	[DOUBLED] = "doubled",
	[DAMAGED] = "damaged",
	[FAILS] = "fails",
	[CUT] = "cut",
	[AGENT_STOPS] = "agent stops",
	[SLOW] = "slow",
	[BROKER_DOWN] = "broker down",
	[AGENT_DIES] = "agent dies",
	[AGENT_ANEW] = "agent anew",
	[HOST_DIES] = "host dies",
	[FLOOD] = "flood",
	[STRANGER] = "stranger",
	[CLOCK_JUMPS] = "clock jumps",
};

static __u64 first_seed(void)
{
	return 1000000 * tap_seed();
}

static void draw_fault(struct plan *p, struct fault *f, __u64 *random, const struct law *law)
{
	do
		f->kind = (enum fault_kind)draw(random, FAULT_KINDS);
	while (!(law->kinds >> f->kind & 1));
	f->host = (unsigned int)draw(random, p->hosts);
	f->begin = START + 2 * SECOND + draw(random, 5 * SECOND);
	f->end = f->begin + 5 * MS + draw(random, law->longest >> draw(random, 6));
	f->happened = 0;
}

static struct plan draw_plan(__u64 seed, const struct law *law)
{
	struct plan p = { .seed = seed, .jumps = law->kinds >> CLOCK_JUMPS & 1 };
	__u64 random = seed << 20;
	unsigned int i;

	p.hosts = 2 + (unsigned int)draw(&random, HOSTS_MAX - 1);
	p.faults = 1 + (unsigned int)draw(&random, FAULTS_MAX);
	p.delay = 50000 + draw(&random, 40 * MS >> draw(&random, 5));
	p.healed = START + 2 * SECOND;
	for (i = 0; i < p.faults; i++) {
		draw_fault(&p, &p.fault[i], &random, law);
		if (p.fault[i].end > p.healed)
			p.healed = p.fault[i].end;
	}
	p.end = p.healed + HEALS + SECOND + 4 * LAG;
	return p;
}

static void describe(const struct plan *p, const struct outcome *o)
{
	unsigned int i;

	printf("# seed %llu: %u hosts, delay %.1f ms: %llu of %llu claims wrong, %llu hosts late, "
	       "whole at %.3f s, healed at %.3f s, %llu gaps, %llu replays\n",
	       p->seed, p->hosts, (double)p->delay / (double)MS, o->wrong, o->claims, o->late,
	       (double)(o->whole_ns - START) / 1e9, (double)(p->healed - START) / 1e9, o->gaps,
	       o->replays);
	for (i = 0; i < p->faults; i++)
		printf("#   %-11s host-%u %.3f to %.3f s\n", fault_name[p->fault[i].kind],
		       p->fault[i].host, (double)(p->fault[i].begin - START) / 1e9,
		       (double)(p->fault[i].end - START) / 1e9);
}

static void add(struct outcome *sum, const struct outcome *o)
{
	unsigned int r;

	sum->wrong += o->wrong;
	sum->claims += o->claims;
	sum->ticks += o->ticks;
	sum->keys += o->keys;
	sum->late += o->late;
	sum->gaps += o->gaps;
	sum->replays += o->replays;
	sum->forged += o->forged;
	sum->changed += o->changed;
	for (r = 0; r < COVERAGE_REFUSALS; r++)
		sum->refused[r] += o->refused[r];
}

/* Run @n schedules of a law; print the first that break it. */
static void run_all(const struct law *law, unsigned int n, struct outcome *sum)
{
	struct outcome o;
	struct plan p;
	unsigned int i, told = 0;

	*sum = (struct outcome){ 0 };
	for (i = 0; i < n; i++) {
		p = draw_plan(first_seed() + i, law);
		sim_run(&p, &o);
		o.late = o.whole_ns > p.healed + law->whole_in;
		add(sum, &o);
		if ((o.wrong || o.late) && told++ < 3)
			describe(&p, &o);
	}
	printf("# %s: %u schedules from seed %llu: %llu claims of %llu, %llu keys, %llu gaps, %llu replays\n",
	       law->name, n, first_seed(), sum->claims, sum->ticks, sum->keys, sum->gaps,
	       sum->replays);
}

static void one(const struct law *law, __u64 seed)
{
	struct plan p = draw_plan(seed, law);
	struct outcome o;

	sim_run(&p, &o);
	describe(&p, &o);
}

static void check_law(const struct law *law, unsigned int n, struct outcome *sum)
{
	run_all(law, n, sum);
	tap_ok(!sum->wrong, "%s: no \"absent, covered\" is contradicted by the oracle", law->name);
	tap_ok(!sum->late, "%s: all hosts are covered %.1f s after the last one", law->name,
	       (double)law->whole_in / 1e9);
}

/* One host of each schedule forges from beginning to end. It may say anything of its own keys, so
 * the oracle is not asked.
 */
static void check_forgers(unsigned int n)
{
	struct outcome o, sum = { 0 };
	unsigned int i, told = 0;
	struct plan p;

	for (i = 0; i < n; i++) {
		p = draw_plan(first_seed() + i, &any_fault);
		p.forger = 1 + i % p.hosts;
		sim_run(&p, &o);
		add(&sum, &o);
		if (o.changed && told++ < 3)
			describe(&p, &o);
	}
	printf("# forgers: %u schedules from seed %llu, %llu messages forged\n", n, first_seed(),
	       sum.forged);
	tap_ok(sum.forged > n && !sum.changed,
	       "no message of one host changes what is known of another: %llu did", sum.changed);
}

/* A test in which nothing happens would prove nothing. */
static bool lively(const struct outcome *sum)
{
	unsigned int r;

	for (r = 0; r < COVERAGE_REFUSALS; r++)
		if (!sum->refused[r] && r != COVERAGE_REFUSED_STAMP)
			return false;
	return sum->claims > sum->ticks / 2 && sum->claims < sum->ticks && sum->gaps &&
	       sum->replays;
}

/* Programs of another architecture run tens of times as long (arch.sh). */
static unsigned int schedules(void)
{
	return getenv("EPF_QEMU") ? SCHEDULES / 6 : SCHEDULES;
}

int main(int argc, char **argv)
{
	unsigned int n = argc == 2 ? (unsigned int)atoi(argv[1]) : schedules();
	struct outcome sum;

	if (argc == 3) {
		one(argv[1][0] == 'm' ? &mild :
		    argv[1][0] == 'c' ? &clock_set :
					&any_fault,
		    strtoull(argv[2], NULL, 0));
		return 0;
	}
	tap_plan(8);
	check_law(&any_fault, n, &sum);
	tap_ok(lively(&sum), "there are claims, refusals for every reason, holes and replays");
	check_law(&clock_set, n, &sum);
	check_law(&mild, n, &sum);
	check_forgers(n / 3);
	return tap_end();
}
