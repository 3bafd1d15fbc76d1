// SPDX-License-Identifier: GPL-2.0
/* Known answers on this platform, as C or C++, whichever the compiler is. */
#include <epf/kat.h>

#include "tap.h"

#ifndef PLATFORM
#define PLATFORM "user"
#endif

static struct epf_line lines[EPF_KAT_LINES];

int main(void)
{
	struct epf_kat kat;
	__u32 i;

	tap_plan(EPF_KAT_SECTIONS + 1);
	epf_kat_run(&kat, lines);
	for (i = 0; i < EPF_KAT_SECTIONS; i++) {
		const struct epf_kat_fold *f = &kat.fold[i];

		if (!tap_ok(!f->bad && f->sum == epf_kat_sum[i], "%s: %s: %u results", PLATFORM,
			    epf_kat_name(i), f->done))
			printf("# first wrong result: %u; sum %016llx, model %016llx\n", f->bad,
			       f->sum, (__u64)epf_kat_sum[i]);
	}
	tap_ok(kat.total == EPF_KAT_TOTAL, "%s: digest %016llx", PLATFORM, kat.total);
	return tap_end();
}
