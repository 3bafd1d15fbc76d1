// SPDX-License-Identifier: GPL-2.0
/* Known answers in BPF, on this machine's kernel; see kat.bpf.c. */
#include <epf/kat.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "kat.skel.h"
#include "tap.h"

/* Return: true when the program ran to its end. */
static bool run(const struct bpf_program *prog)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	int err = bpf_prog_test_run_opts(bpf_program__fd(prog), &opts);

	if (err || opts.retval)
		printf("# %s: error %d, returned %u\n", bpf_program__name(prog), err, opts.retval);
	return !err && !opts.retval;
}

static void check_section(const struct kat_bpf *skel, __u32 section, bool ran)
{
	const struct epf_kat_fold *f = &skel->bss->fold[section];

	tap_ok(ran && !f->bad && f->sum == epf_kat_sum[section], "bpf: %s: %u results, sum %016llx",
	       epf_kat_name(section), f->done, f->sum);
	if (f->bad)
		printf("# first wrong result: %u\n", f->bad);
}

static bool run_script(struct kat_bpf *skel, const struct bpf_program *prog)
{
	memset(skel->bss->lines, 0, sizeof(skel->bss->lines));
	return run(prog);
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
	       "bpf: filter: %u results of scripts with one line per key", f->done);
	if (f->bad)
		printf("# first wrong result: %u\n", f->bad);
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
	tap_plan(3);
	run_all(skel);
	kat_bpf__destroy(skel);
	return tap_end();
}
