// SPDX-License-Identifier: GPL-2.0
/* Known answers in BPF, on this machine's kernel; see kat.bpf.c. */
#include <epf/kat.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "kat_draws.h"
#include "kat.skel.h"
#include "tap.h"

/* Return: true when the program ran to its end. */
static bool run(const struct bpf_program *prog)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	int err = bpf_prog_test_run_opts(bpf_program__fd(prog), &opts);

	if (err || opts.retval)
		printf("# %s: error %d, returned %u\n",
		       bpf_program__name(prog), err, opts.retval);
	return !err && !opts.retval;
}

static void check_section(const struct kat_bpf *skel, __u32 section, bool ran)
{
	const struct epf_kat_fold *f = &skel->bss->fold[section];

	tap_ok(ran && !f->bad && f->sum == epf_kat_sum[section],
	       "bpf: %s: %u results, sum %016llx", epf_kat_name(section),
	       f->done, f->sum);
	if (f->bad)
		printf("# first wrong result: %u\n", f->bad);
}

static bool run_script(struct kat_bpf *skel, const struct bpf_program *prog)
{
	memset(skel->bss->lines, 0, sizeof(skel->bss->lines));
	return run(prog);
}

/* Two fractions beside each edge of a digit that is drawn @at times after the first. */
static void make_edges(struct kat_draws *d, __u32 at)
{
	unsigned __int128 one = (unsigned __int128)1 << 64;
	__u64 product = 1;
	__u32 i;

	for (i = 0; i <= at; i++)
		product *= EPF_LANE_BITS - d->n + 1 + i;
	for (i = 0; i < KAT_DRAWS; i += 2) {
		__u64 edge = epf_word(at, i + 1) % (product - 1) + 1;

		d->x[i] = (__u64)((edge * one - 1) / product); /* below */
		d->x[i + 1] = d->x[i] + 1;
	}
}

/* In BPF fractions are cut short: digits must not be. */
static bool draws_agree(struct kat_bpf *skel)
{
	struct kat_draws *d = &skel->bss->draws;
	__u32 at, i, bad = 0;

	for (d->n = 1; d->n <= EPF_WORD_DRAWS; d->n++)
		for (at = 0; at < d->n; at++) {
			make_edges(d, at);
			if (!run(skel->progs.kat_draw))
				return false;
			for (i = 0; i < KAT_DRAWS; i++)
				bad += d->mask[i] !=
				       epf_draw(0, d->x[i],
						EPF_LANE_BITS - d->n, d->n);
		}
	if (bad)
		printf("# %u masks differ\n", bad);
	return !bad;
}

static void run_all(struct kat_bpf *skel)
{
	const struct epf_kat_fold *f = &skel->bss->fold[EPF_KAT_FILTER];
	bool ran;

	ran = run(skel->progs.kat_hash13) && run(skel->progs.kat_hash24);
	check_section(skel, EPF_KAT_HASH, ran);
	check_section(skel, EPF_KAT_GEOM, run(skel->progs.kat_geom));
	ran = run_script(skel, skel->progs.kat_script0) &&
	      run_script(skel, skel->progs.kat_script3);
	tap_ok(ran && !f->bad && f->done == 2 * EPF_KAT_OPS,
	       "bpf: filter: %u results of scripts with one line per key",
	       f->done);
	if (f->bad)
		printf("# first wrong result: %u\n", f->bad);
	tap_ok(draws_agree(skel), "bpf: positions drawn at the edges of digits");
}

int main(void)
{
	struct kat_bpf *skel;

	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
	skel = kat_bpf__open();
	if (!skel) {
		perror("# kat.bpf.o");
		return 1;
	}
	if (kat_bpf__load(skel)) {
		if (errno == EPERM || errno == ENOSYS) {
			tap_skip_all("loading BPF programs is not permitted");
			return TAP_SKIPPED;
		}
		tap_plan(1);
		tap_ok(false, "bpf: the verifier accepts the programs");
		return 1;
	}
	tap_plan(4);
	run_all(skel);
	kat_bpf__destroy(skel);
	return tap_end();
}
