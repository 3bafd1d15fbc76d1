// SPDX-License-Identifier: GPL-2.0
/*
 * The law of a live cluster: a host that says "absent in the whole cluster, and I am covered" is
 * never contradicted by the exact oracle of all hosts; and once all faults are over, all hosts
 * are covered again within a window. Random schedules (sim.h), the same in each run.
 *
 * usage: laws [SEED]: all laws; or the schedule of one seed, in full
 */
#include "core/tap.h"
#include "sim.h"

#define SECOND (1000 * MS)
#define START (1000000 * MS)
#define SCHEDULES 1500u

static const char *const fault_name[] = {
	"lossy",      "doubled",     "damaged",   "slow",  "cut",   "broker down", "agent dies",
	"agent anew", "agent stops", "host dies", "flood", "fails", "stranger",    "clock jumps",
};

static __u64 first_seed(void)
{
	return 1000000 * tap_seed();
}

/* From some ms to two seconds, short ones as often as long ones. */
static __u64 draw_length(__u64 *random)
{
	return 5 * MS + draw(random, 2 * SECOND >> draw(random, 6));
}

static void draw_fault(struct plan *p, struct fault *f, __u64 *random, unsigned int kinds)
{
	f->kind = (enum fault_kind)draw(random, kinds);
	f->host = (unsigned int)draw(random, p->hosts);
	f->begin = START + 2 * SECOND + draw(random, 5 * SECOND);
	f->end = f->begin + draw_length(random);
	f->happened = 0;
}

static struct plan draw_plan(__u64 seed, unsigned int kinds)
{
	struct plan p = { .seed = seed };
	__u64 random = seed << 20;
	unsigned int i;

	p.hosts = 2 + (unsigned int)draw(&random, HOSTS_MAX - 1);
	p.faults = 1 + (unsigned int)draw(&random, FAULTS_MAX);
	p.delay = 50000 + draw(&random, 40 * MS >> draw(&random, 5));
	p.healed = START;
	for (i = 0; i < p.faults; i++) {
		draw_fault(&p, &p.fault[i], &random, kinds);
		if (p.fault[i].end > p.healed)
			p.healed = p.fault[i].end;
	}
	/* holes are given up, then a window passes, then all are covered for four lags */
	p.end = p.healed + COVERAGE_GAP_LAGS * LAG + WINDOW + SECOND + 4 * LAG;
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
	for (r = 0; r < COVERAGE_REFUSALS; r++)
		sum->refused[r] += o->refused[r];
}

/* Run schedules with the first @kinds of faults; print the first that breaks a law. */
static void run_all(unsigned int kinds, bool jumps, struct outcome *sum)
{
	struct outcome o;
	struct plan p;
	unsigned int i, told = 0;

	*sum = (struct outcome){ 0 };
	for (i = 0; i < SCHEDULES; i++) {
		p = draw_plan(first_seed() + i, kinds);
		p.jumps = jumps;
		sim_run(&p, &o);
		add(sum, &o);
		if ((o.wrong || o.late) && told++ < 3)
			describe(&p, &o);
	}
}

int main(int argc, char **argv)
{
	struct outcome sum;

	if (argc > 1) {
		struct plan p = draw_plan(strtoull(argv[1], NULL, 0), CLOCK_JUMPS);

		sim_run(&p, &sum);
		describe(&p, &sum);
		return 0;
	}
	tap_plan(2);
	run_all(CLOCK_JUMPS, false, &sum);
	printf("# %llu claims %llu ticks %llu keys %llu gaps %llu replays wrong %llu late %llu\n",
	       sum.claims, sum.ticks, sum.keys, sum.gaps, sum.replays, sum.wrong, sum.late);
	for (int r = 0; r < COVERAGE_REFUSALS; r++)
		printf("# %s %llu\n", coverage_refusal_name(r), sum.refused[r]);
	tap_ok(!sum.wrong && !sum.late, "law");
	run_all(FAULT_KINDS, true, &sum);
	printf("# %llu claims %llu ticks %llu keys %llu gaps %llu replays wrong %llu late %llu\n",
	       sum.claims, sum.ticks, sum.keys, sum.gaps, sum.replays, sum.wrong, sum.late);
	tap_ok(!sum.wrong && !sum.late, "law");
	return tap_end();
}
