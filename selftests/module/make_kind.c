// SPDX-License-Identifier: GPL-2.0
/*
 * make_kind NAME KIND: creates a filter for 6,000 keys in ten minutes with an error of 1 per
 * cent, as "epfctl create NAME --kind KIND --time 10m --rate 10 --budget 1e-2" does. Its shape
 * is in the file "sized", because epfctl computes that of apbbf and elastic for seconds in a
 * guest. The hash key is that of these tests.
 */
#include "sized.h"

#include <string.h>

#define KEYS 6000
#define BUDGET .01

static __u32 kind_of(const char *name)
{
	__u32 kind;

	for (kind = 1; kind <= EPF_KIND_MAX; kind++)
		if (!strcmp(epf_kind_name(kind), name))
			return kind;
	return 0;
}

int main(int argc, char **argv)
{
	__u32 kind = argc == 3 ? kind_of(argv[2]) : 0;
	struct epf_params p;
	struct epf_compared c;

	test_demand(kind);
	test_open_device();
	p = test_locked_params(argv[1], kind, KEYS);
	test_set_span(&p, 600 * SEC);
	p.budget_ppt = (__u64)(BUDGET * (double)EPF_RATE_ONE);
	p.limit_ppt = 2 * p.budget_ppt;
	c = test_sized(kind, KEYS, BUDGET);
	close(test_make_kind(&p, &c.shape));
	return 0;
}
