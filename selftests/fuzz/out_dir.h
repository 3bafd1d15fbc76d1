/* SPDX-License-Identifier: GPL-2.0 */
/* A directory for all output of a target, which is empty again after each input. */
#ifndef EPF_FUZZ_OUT_DIR_H
#define EPF_FUZZ_OUT_DIR_H

#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

#include "fuzz.h"

static char dir[64];

static inline void remove_dir(void)
{
	rmdir(dir);
}

static inline void begin_dir(void)
{
	make_dir(dir);
	atexit(remove_dir);
}

static inline int entries(void)
{
	struct dirent *e;
	DIR *d = opendir(dir);
	int n = 0;

	if (!d)
		abort();
	while ((e = readdir(d)))
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

#endif /* EPF_FUZZ_OUT_DIR_H */
