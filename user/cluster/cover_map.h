/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The cover map of a cluster: made and written by the agent, read by programs and the tool
 * (epf/cluster.h). Functions print nothing.
 */
#ifndef CLUSTER_COVER_MAP_H
#define CLUSTER_COVER_MAP_H

#include <stdbool.h>

#include <epf/cluster.h>

/**
 * cover_map_of() - what a cover map says about two filters
 * @local: name of the local filter
 * @all: name of the filter of all
 * @of: result, with @until_ns 0
 *
 * Return: 0; -EINVAL: both are the same filter; -EXDEV: one is of the module, the other is
 * pure BPF; -EKEYREJECTED: they have different hash keys or kinds of hash; an error of
 * opening or reading them.
 */
int cover_map_of(const char *local, const char *all, struct epf_cluster_cover *of);

/**
 * cover_map_open() - open the cover map of a cluster
 * @name: of the cluster
 * @create: NULL: it must exist, and is mapped for reading; otherwise what cover_map_of() has
 *	returned: a map that says the same, with the same window, is used again, with its
 *	@until_ns; any other one is expired and replaced, and programs that have it answer
 *	"do not know" from then on
 * @map: the value, mapped until cover_map_close()
 * @fd: descriptor of the map
 *
 * Return: 0; -ENOENT: there is no such map; -EINVAL: no name of a cluster; -EPROTO: it is
 * not a cover map of this version; -ENOTSUP: there is no BPF file system; another error.
 */
int cover_map_open(const char *name, const struct epf_cluster_cover *create,
		   struct epf_cluster_cover **map, int *fd);
/* The promise stays as it is, and expires. */
void cover_map_close(struct epf_cluster_cover *map, int fd);

/* For the agent: promise until @until_ns; 0: withdraw the promise. Everything that was
 * inserted before is found by programs that find this promise.
 */
void cover_map_promise(struct epf_cluster_cover *map, __u64 until_ns);

/* Withdraw the promise, and unpin the map. Return: 0, or as cover_map_open(). */
int cover_map_remove(const char *name);

/* Is the value about the same filters and contents? Their window may be another one. */
bool cover_map_same(const struct epf_cluster_cover *a, const struct epf_cluster_cover *b);

#endif /* CLUSTER_COVER_MAP_H */
