// SPDX-License-Identifier: GPL-2.0
/*
 * What the agent does to a cover map, for tests:
 *
 *   cover make CLUSTER LOCAL ALL [NS]   make it, for these filters, and for a window of NS
 *   cover promise CLUSTER NS       promise until then, 0: no longer
 *   cover remove CLUSTER
 *
 * With EPF_BACKEND=module the filters are the module's.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend.h"
#include "cluster/cover_map.h"
#include "ebpf/calls.h"

static int make(const char *name, const char *local, const char *all, const char *window)
{
	struct epf_cluster_cover of, *map;
	int fd, err = cover_map_of(local, all, &of);

	if (window)
		of.window_ns = strtoull(window, NULL, 0);
	if (!err)
		err = cover_map_open(name, &of, &map, &fd);
	if (!err)
		cover_map_close(map, fd);
	return err;
}

static int promise(const char *name, const char *until)
{
	struct epf_cluster_cover of, *map;
	int fd, err = cover_map_open(name, NULL, &map, &fd);

	if (err)
		return err;
	of = *map;
	cover_map_close(map, fd);
	err = cover_map_open(name, &of, &map, &fd);
	if (err)
		return err;
	cover_map_promise(map, strtoull(until, NULL, 0));
	cover_map_close(map, fd);
	return 0;
}

int main(int argc, char **argv)
{
	const char *backend = getenv("EPF_BACKEND");
	int err = -EINVAL;

	ebpf_backend_add();
	epf_backend_choose(backend && !strcmp(backend, "module") ? EPF_BACKEND_MODULE :
								   EPF_BACKEND_OTHER);
	if ((argc == 5 || argc == 6) && !strcmp(argv[1], "make"))
		err = make(argv[2], argv[3], argv[4], argc == 6 ? argv[5] : NULL);
	if (argc == 4 && !strcmp(argv[1], "promise"))
		err = promise(argv[2], argv[3]);
	if (argc == 3 && !strcmp(argv[1], "remove"))
		err = cover_map_remove(argv[2]);
	if (err)
		fprintf(stderr, "cover: %s\n", strerror(-err));
	return err ? 1 : 0;
}
