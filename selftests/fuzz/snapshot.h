/* SPDX-License-Identifier: GPL-2.0 */
/* No snapshot can be opened: what is fuzzed are options and keys. */
#ifndef FUZZ_SNAPSHOT_H
#define FUZZ_SNAPSHOT_H

#include "epfctl/test_snapshot.h"

bool snapshot_open(struct snapshot *s, const char *path, struct epf_info *info)
{
	(void)s;
	(void)info;
	fail("%s: not here", path);
	return false;
}

int snapshot_ask(const struct snapshot *s, const struct keys *keys, __u8 *ages, __u32 *present)
{
	(void)s;
	(void)keys;
	(void)ages;
	*present = 0;
	return 0;
}

void snapshot_close(struct snapshot *s)
{
	(void)s;
}

#endif /* FUZZ_SNAPSHOT_H */
