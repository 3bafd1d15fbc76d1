// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The pinned cover map of a cluster. */
#include "cover_map.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend.h"
#include "ebpf/ebpf.h"
#include "epf.h"

#define MAP_NAME "epf_cover"

struct cover_path {
	char text[sizeof(EPF_CLUSTER_PINS) + 1 + EPF_NAME_LEN];
};

/* ---- what a map says ---- */

/* The contents of a pure BPF filter. */
static int serial_of(const char *name, __u64 *serial)
{
	struct ebpf_filter *f;
	int err = ebpf_open(name, &f);

	if (err)
		return err;
	*serial = ebpf_slot(f)->serial;
	ebpf_close(f);
	return 0;
}

/* What is compared of a filter. */
struct cover_filter {
	struct epf_info info;
	__u64 key[2];
	__u32 backend;
};

/* Open filter @name for a moment. Return: as cover_map_of(). */
static int cover_read(int dev, const char *name, struct cover_filter *f)
{
	int filter = epf_dev_find(dev, name), err;

	if (filter < 0)
		return filter;
	err = epf_filter_info(filter, &f->info) ?: epf_filter_key(filter, f->key);
	f->backend = epf_is_module(filter) ? EPF_CLUSTER_MODULE : EPF_CLUSTER_BPF;
	epf_close(filter);
	return err;
}

static int cover_compare(const struct cover_filter *own, const struct cover_filter *all)
{
	if (own->backend != all->backend)
		return -EXDEV;
	if (own->info.id == all->info.id)
		return -EINVAL;
	return own->info.params.hash == all->info.params.hash && own->key[0] == all->key[0] &&
			       own->key[1] == all->key[1] ?
		       0 :
		       -EKEYREJECTED;
}

static int cover_read_both(int dev, const char *local, const char *all,
			   struct epf_cluster_cover *of)
{
	struct cover_filter own, every;
	int err = cover_read(dev, local, &own) ?: cover_read(dev, all, &every);

	if (!err)
		err = cover_compare(&own, &every);
	if (err)
		return err;
	of->backend = own.backend;
	of->local_id = own.info.id;
	of->all_id = every.info.id;
	of->window_ns = own.info.params.window_ns;
	memcpy(of->local, own.info.params.name, sizeof(of->local));
	memcpy(of->all, every.info.params.name, sizeof(of->all));
	return of->backend == EPF_CLUSTER_BPF ? serial_of(of->all, &of->serial) : 0;
}

int cover_map_of(const char *local, const char *all, struct epf_cluster_cover *of)
{
	int dev = epf_dev_open(), err;

	memset(of, 0, sizeof(*of));
	of->magic = EPF_CLUSTER_MAGIC;
	if (dev < 0)
		return dev;
	err = cover_read_both(dev, local, all, of);
	epf_close(dev);
	return err;
}

bool cover_map_same(const struct epf_cluster_cover *a, const struct epf_cluster_cover *b)
{
	return a->magic == b->magic && a->serial == b->serial && a->all_id == b->all_id &&
	       a->local_id == b->local_id && a->backend == b->backend &&
	       !memcmp(a->all, b->all, sizeof(a->all)) &&
	       !memcmp(a->local, b->local, sizeof(a->local));
}

/* ---- the pinned map ---- */

static bool cover_path_of(const char *name, struct cover_path *path)
{
	char padded[EPF_NAME_LEN] = "";
	char *c;

	if (strlen(name) >= sizeof(padded))
		return false;
	strcpy(padded, name);
	if (!ebpf_name_valid(padded))
		return false;
	c = stpcpy(path->text, EPF_CLUSTER_PINS "/");
	strcpy(c, name);
	for (; *c; c++)
		if (*c == '.')
			*c = ':';
	return true;
}

/* Is @fd a cover map of this version? */
static bool fits(int fd)
{
	struct bpf_map_info info = { 0 };
	__u32 len = sizeof(info);

	return !bpf_obj_get_info_by_fd(fd, &info, &len) && info.type == BPF_MAP_TYPE_ARRAY &&
	       info.map_flags & BPF_F_MMAPABLE && info.max_entries == 1 &&
	       info.value_size == sizeof(struct epf_cluster_cover);
}

static size_t cover_page(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static int map_value(int fd, bool writes, struct epf_cluster_cover **map)
{
	void *mem = mmap(NULL, cover_page(), writes ? PROT_READ | PROT_WRITE : PROT_READ,
			 MAP_SHARED, fd, 0);

	if (mem == MAP_FAILED)
		return -errno;
	*map = mem;
	if ((*map)->magic == EPF_CLUSTER_MAGIC)
		return 0;
	munmap(mem, cover_page());
	return -EPROTO;
}

static int open_pinned(const struct cover_path *path, bool writes, struct epf_cluster_cover **map,
		       int *fd)
{
	int err;

	*fd = bpf_obj_get(path->text);
	if (*fd < 0)
		return -errno;
	err = fits(*fd) ? map_value(*fd, writes, map) : -EPROTO;
	if (err)
		close(*fd);
	return err;
}

static int cover_directory(void)
{
	int pins = ebpf_pins_open(); /* mounts the BPF file system */

	if (pins < 0)
		return pins;
	close(pins);
	return mkdir(EPF_CLUSTER_PINS, 0700) && errno != EEXIST ? -errno : 0;
}

/* The value is complete before the map has a name. */
static int make_value(int fd, const struct epf_cluster_cover *of, struct epf_cluster_cover **map)
{
	struct epf_cluster_cover value = *of;
	__u32 zero = 0;

	value.until_ns = 0;
	return bpf_map_update_elem(fd, &zero, &value, BPF_ANY) ? -errno : map_value(fd, true, map);
}

static int make_pinned(const struct cover_path *path, const struct epf_cluster_cover *of,
		       struct epf_cluster_cover **map, int *fd)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	int err = cover_directory();

	if (err)
		return err;
	*fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, MAP_NAME, sizeof(__u32), sizeof(**map), 1, &opts);
	if (*fd < 0)
		return -errno;
	err = make_value(*fd, of, map);
	if (!err && bpf_obj_pin(*fd, path->text)) {
		err = -errno;
		munmap(*map, cover_page());
	}
	if (err)
		close(*fd);
	return err;
}

/* Programs that have this map find a promise of the past from now on. */
static void expire(const struct cover_path *path, struct epf_cluster_cover *map, int fd)
{
	cover_map_promise(map, 0);
	cover_map_close(map, fd);
	unlink(path->text);
}

int cover_map_open(const char *name, const struct epf_cluster_cover *create,
		   struct epf_cluster_cover **map, int *fd)
{
	struct cover_path path;
	int err;

	if (!cover_path_of(name, &path))
		return -EINVAL;
	err = open_pinned(&path, create != NULL, map, fd);
	if (!create ||
	    (!err && cover_map_same(*map, create) && (*map)->window_ns == create->window_ns))
		return err;
	if (!err)
		expire(&path, *map, *fd);
	else if (err == -EPROTO)
		unlink(path.text);
	else if (err != -ENOENT)
		return err;
	return make_pinned(&path, create, map, fd);
}

void cover_map_close(struct epf_cluster_cover *map, int fd)
{
	munmap(map, cover_page());
	close(fd);
}

void cover_map_promise(struct epf_cluster_cover *map, __u64 until_ns)
{
	/* pairs with the load in epf_cluster_covered() */
	__atomic_store_n(&map->until_ns, until_ns, __ATOMIC_RELEASE);
}

int cover_map_remove(const char *name)
{
	struct epf_cluster_cover *map;
	struct cover_path path;
	int fd, err;

	if (!cover_path_of(name, &path))
		return -EINVAL;
	err = open_pinned(&path, true, &map, &fd);
	if (!err)
		expire(&path, map, fd);
	return err;
}
