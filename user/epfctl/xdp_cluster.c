// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Attachments of a cluster: their programs also ask the filter of all, which the cluster's
 * cover map names (epf/cluster.h).
 */
#include "xdp.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cluster/cover_map.h"
#include "ebpf/ebpf.h"

static void explain_open(const char *cluster, int err)
{
	switch (err) {
	case -ENOENT:
	case -ENOTSUP:
		fail("there is no cluster '%s' on this host: is epfagent running, with "
		     "[cluster %s] in its configuration?",
		     cluster, cluster);
		return;
	case -EINVAL:
		fail("--cluster '%s': not the name of a cluster", cluster);
		return;
	case -EPROTO:
		fail("the cover map of cluster '%s' is that of another version: use epfagent and "
		     "epfctl of one version",
		     cluster);
		return;
	}
	fail_errno(-err, "opening the cover map of cluster '%s': %m", cluster);
}

/* Does the filter of all still exist? If not, prints an error. */
static bool all_there(const struct xdp_want *want, const struct epf_cluster_cover *now, int err)
{
	const struct epf_cluster_cover *c = &want->cover;

	if (err == -EKEYREJECTED)
		fail("'%s' and '%s' have different hash keys or kinds, so one digest does not "
		     "serve both: make '%s' with the key of '%s'",
		     c->local, c->all, c->all, c->local);
	else if (err == -EINVAL)
		fail("cluster '%s' has one filter, '%s', as local filter and as filter of all: "
		     "name another one in epfagent's configuration",
		     want->cluster, c->local);
	else if (err || !cover_map_same(now, c))
		fail("'%s', the filter of all of cluster '%s', is gone or has other contents "
		     "than epfagent has made: restart epfagent",
		     c->all, want->cluster);
	else
		return true;
	return false;
}

/* Is the filter of @want the one that the cluster publishes? If not, prints an error. */
static bool is_local(const struct xdp_want *want)
{
	const struct epf_cluster_cover *c = &want->cover;

	if (strcmp(c->local, want->name))
		fail("cluster '%s' publishes the filter '%s', not '%s': give --filter %s",
		     want->cluster, c->local, want->name, c->local);
	else if (c->backend != (want->bpf ? EPF_CLUSTER_BPF : EPF_CLUSTER_MODULE))
		fail("cluster '%s' has filters %s, but this '%s' is %s: give --backend %s",
		     want->cluster, want->bpf ? "of the module" : "that are pure BPF", want->name,
		     want->bpf ? "pure BPF" : "one of the module", want->bpf ? "module" : "bpf");
	else if (c->local_id != want->id)
		fail("'%s' is not the filter of that name which cluster '%s' publishes: restart "
		     "epfagent",
		     want->name, want->cluster);
	else
		return true;
	return false;
}

bool cluster_find(struct xdp_want *want)
{
	struct epf_cluster_cover *map, now;
	int fd, err = cover_map_open(want->cluster, NULL, &map, &fd);

	if (err) {
		explain_open(want->cluster, err);
		return false;
	}
	want->cover = *map;
	cover_map_close(map, fd);
	if (!is_local(want))
		return false;
	err = cover_map_of(want->cover.local, want->cover.all, &now);
	return all_there(want, &now, err);
}

static __u32 xdp_cluster_map_id(int fd)
{
	struct bpf_map_info info = { 0 };
	__u32 len = sizeof(info);

	return bpf_obj_get_info_by_fd(fd, &info, &len) ? 0 : info.id;
}

/* Open the cover map, which must still be the one that cluster_find() has read. */
static int open_same(const struct xdp_want *want)
{
	struct epf_cluster_cover *map;
	int fd, err = cover_map_open(want->cluster, NULL, &map, &fd), own;

	if (err)
		return err;
	own = cover_map_same(map, &want->cover) ? dup(fd) : -1;
	cover_map_close(map, fd);
	return own < 0 ? -ESTALE : own;
}

int cluster_note(const struct xdp_want *want, struct epf_xdp_conf *conf)
{
	int fd;

	if (!want->cluster)
		return 0;
	fd = open_same(want);
	if (fd < 0) {
		explain_open(want->cluster, fd);
		return fd;
	}
	snprintf(conf->cluster, sizeof(conf->cluster), "%s", want->cluster);
	conf->all_id = want->cover.all_id;
	conf->cover_id = xdp_cluster_map_id(fd);
	close(fd);
	return 0;
}

/* Give the filter of all to the programs. */
static int use_all(const struct xdp_want *want, struct bpf_object *obj)
{
	if (want->bpf)
		return ebpf_reuse_all_maps(obj, want->cover.all);
	if (bpf_object__find_map_by_name(obj, "epf_all_slot"))
		return xdp_map_reuse(obj, "epf_all_slot", want->ifname, EPF_XDP_PIN_ALL_SLOT);
	return xdp_map_reuse(obj, "epf_all_held", want->ifname, EPF_XDP_PIN_ALL_HELD);
}

int cluster_use(const struct xdp_want *want, struct bpf_object *obj)
{
	const __u32 yes = 1;
	int fd, err;

	if (!want->cluster)
		return 0;
	fd = open_same(want);
	if (fd < 0)
		return fd;
	err = bpf_map__reuse_fd(bpf_object__find_map_by_name(obj, "epf_cover"), fd);
	close(fd);
	if (!err)
		err = bpf_map__set_initial_value(bpf_object__find_map_by_name(obj,
									      ".rodata.cluster"),
						 &yes, sizeof(yes));
	return err ? err : use_all(want, obj);
}

/* ---- shown ---- */

enum cluster_state cluster_state(const struct epf_xdp_conf *conf)
{
	struct epf_cluster_cover *map;
	bool same, covered;
	int fd;

	if (cover_map_open(conf->cluster, NULL, &map, &fd))
		return CLUSTER_GONE;
	same = xdp_cluster_map_id(fd) == conf->cover_id;
	covered = now_ns() < epf_cluster_until(map);
	cover_map_close(map, fd);
	if (!same)
		return CLUSTER_OTHER;
	return covered ? CLUSTER_COVERED : CLUSTER_UNCOVERED;
}

void cluster_show(const char *name, const struct epf_xdp_conf *conf)
{
	if (!conf->cluster[0])
		return;
	switch (cluster_state(conf)) {
	case CLUSTER_COVERED:
		return;
	case CLUSTER_UNCOVERED:
		printf("  cluster '%s': data of a host are missing, so what is absent here is "
		       "not known\n",
		       conf->cluster);
		return;
	case CLUSTER_GONE:
		printf("  cluster '%s' is gone, so what is absent here is not known: start "
		       "epfagent, or attach without --cluster\n",
		       conf->cluster);
		return;
	case CLUSTER_OTHER:
		printf("  cluster '%s' has another filter of all now, so what is absent here is "
		       "not known: detach '%s' and attach it again\n",
		       conf->cluster, name);
		return;
	}
}

void cluster_json(const struct epf_xdp_conf *conf, json_t *o)
{
	static const char *const names[] = {
		[CLUSTER_COVERED] = "covered",
		[CLUSTER_UNCOVERED] = "uncovered",
		[CLUSTER_GONE] = "gone",
		[CLUSTER_OTHER] = "replaced",
	};

	if (conf->cluster[0])
		json_object_set_new(o, "cluster",
				    json_pack("{s:s, s:I, s:s}", "name", conf->cluster, "all_id",
					      (json_int_t)conf->all_id, "state",
					      names[cluster_state(conf)]));
}
