// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The results of a watched directory that stay. */
#include "epfagent/keep.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "epfagent/result.h"

/* Names of the directory that are looked at in a step, and results removed in a pass. */
#define STEP_NAMES 256u
#define OLDEST 1024u

static bool begin(struct keep *k, int dir)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	k->nr = 0;
	k->bytes = 0;
	k->all = calloc(OLDEST, sizeof(*k->all));
	k->scan = fd < 0 || !k->all ? NULL : fdopendir(fd);
	if (k->scan)
		return true;
	if (fd >= 0)
		close(fd);
	keep_end(k);
	return false;
}

void keep_end(struct keep *k)
{
	if (k->scan)
		closedir(k->scan);
	free(k->all);
	memset(k, 0, sizeof(*k));
}

/* Insert among the oldest, in order; of too many the youngest goes. */
static void note(struct keep *k, const struct keep_old *o)
{
	unsigned int at = k->nr;

	while (at && k->all[at - 1].time_ns > o->time_ns)
		at--;
	if (at == OLDEST)
		return;
	if (k->nr == OLDEST)
		k->nr--;
	memmove(k->all + at + 1, k->all + at, (k->nr - at) * sizeof(*k->all));
	k->all[at] = *o;
	k->nr++;
}

static void keep_look(struct keep *k, int dir, const char *entry, const char *busy)
{
	struct keep_old o;
	bool spent;

	if (!result_measure(dir, entry, o.name, &o.time_ns, &o.bytes, &spent))
		return;
	k->bytes += o.bytes;
	if (!spent && (!busy || strcmp(o.name, busy)))
		note(k, &o);
}

static bool goes(const struct keep *k, const struct keep_old *o, const struct keep_limits *limits,
		 __u64 now)
{
	return (limits->ns && o->time_ns < now && now - o->time_ns > limits->ns) ||
	       (limits->bytes && k->bytes > limits->bytes);
}

/* Return: true: there may be more to remove. */
static bool remove_old(struct keep *k, int dir, const struct keep_limits *limits,
		       unsigned int *removed)
{
	__u64 now = epf_wall_ns();
	unsigned int i;

	for (i = 0; i < k->nr && goes(k, &k->all[i], limits, now); i++) {
		k->bytes -= k->all[i].bytes;
		*removed += result_remove(dir, k->all[i].name);
	}
	return i == OLDEST && *removed;
}

bool keep_step(struct keep *k, int dir, const struct keep_limits *limits, const char *busy,
	       unsigned int *removed)
{
	struct dirent *d = NULL;
	unsigned int i;
	bool more;

	*removed = 0;
	if (!k->scan && !begin(k, dir))
		return false;
	for (i = 0; i < STEP_NAMES && (d = readdir(k->scan)); i++)
		keep_look(k, dir, d->d_name, busy);
	if (d)
		return true;
	more = remove_old(k, dir, limits, removed);
	keep_end(k);
	return more;
}
