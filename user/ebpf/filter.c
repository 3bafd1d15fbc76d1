// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Open filters: their maps and their properties. */
#include "ebpf.h"
#include "common/clock.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static int filter_get(const char *name, const char *what)
{
	int fd = bpf_obj_get(ebpf_path(name, what).text);

	return fd < 0 ? -errno : fd;
}

static int map_whole(int fd, size_t bytes, void *at)
{
	void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED)
		return -errno;
	memcpy(at, &map, sizeof(map));
	return 0;
}

static int map_shared(struct ebpf_filter *f)
{
	int ret = map_whole(f->table, sizeof(*f->shared), &f->shared);

	if (ret)
		return ret;
	if (f->shared->magic != EPF_BPF_MAGIC || f->shared->bytes != sizeof(*f->shared))
		return -EPROTO; /* of another version */
	return map_whole(f->cpus, EPF_BPF_SLOTS * f->shared->cpus * sizeof(*f->cpu), &f->cpu);
}

static int map_limits(struct ebpf_filter *f)
{
	int fd = ebpf_timed(f) ? filter_get(f->name, "limits") : -ENOENT;
	int ret;

	if (fd < 0)
		return ebpf_timed(f) ? fd : 0;
	ret = map_whole(fd, EPF_BPF_SLOTS * sizeof(*f->capacity), &f->capacity);
	close(fd);
	return ret;
}

static int open_maps(struct ebpf_filter *f)
{
	int ret;

	f->dir = open(ebpf_path(f->name, NULL).text, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (f->dir < 0)
		return -errno;
	ret = f->table = filter_get(f->name, "table");
	if (ret >= 0)
		ret = f->cpus = filter_get(f->name, "cpus");
	if (ret >= 0)
		ret = f->lines = filter_get(f->name, "lines");
	if (ret >= 0)
		ret = f->journals = filter_get(f->name, "journals");
	return ret < 0 ? ret : map_shared(f) ?: map_limits(f);
}

int ebpf_open(const char *name, struct ebpf_filter **filter)
{
	struct ebpf_filter *f = calloc(1, sizeof(*f));
	int ret;

	if (!f)
		return -ENOMEM;
	strncpy(f->name, name, sizeof(f->name) - 1);
	f->dir = f->table = f->cpus = f->lines = f->line_fd = f->ops = f->tick = -1;
	f->journals = f->journal_fd = f->waiter = f->waited = -1;
	f->lock_ms = EBPF_LOCK_MS;
	ret = open_maps(f);
	if (ret < 0) {
		ebpf_close(f);
		return ret;
	}
	*filter = f;
	return 0;
}

static void close_one(int fd)
{
	if (fd >= 0)
		close(fd);
}

static void unmap_lines(struct ebpf_filter *f)
{
	if (f->line)
		munmap(f->line, f->line_bytes);
	f->line = NULL;
	close_one(f->line_fd);
	f->line_fd = -1;
}

void ebpf_close(struct ebpf_filter *f)
{
	unmap_lines(f);
	ebpf_journal_close(f);
	if (f->cpu)
		munmap(f->cpu, EPF_BPF_SLOTS * f->shared->cpus * sizeof(*f->cpu));
	if (f->capacity)
		munmap(f->capacity, EPF_BPF_SLOTS * sizeof(*f->capacity));
	if (f->shared)
		munmap(f->shared, sizeof(*f->shared));
	close_one(f->ops);
	close_one(f->tick);
	close_one(f->lines);
	close_one(f->journals);
	close_one(f->cpus);
	close_one(f->table);
	close_one(f->dir);
	free(f);
}

int ebpf_id(const struct ebpf_filter *f, __u32 *id)
{
	struct bpf_map_info info = { 0 };
	__u32 len = sizeof(info);

	if (bpf_obj_get_info_by_fd(f->table, &info, &len))
		return -errno;
	*id = info.id;
	return 0;
}

int ebpf_begin(struct ebpf_filter *f)
{
	int ret = ebpf_lock(f->dir, f->lock_ms);

	if (ret)
		return ret;
	if (f->shared->half)
		__atomic_store_n(&f->shared->active, EPF_BPF_SLOTS, __ATOMIC_RELEASE);
	if (f->shared->gone)
		ret = -ENODEV;
	else if (f->shared->active >= EPF_BPF_SLOTS)
		ret = -EUCLEAN;
	else if (f->shared->changing)
		ret = ebpf_slots_repair(f);
	if (ret) {
		ebpf_end(f);
		return ret;
	}
	if (ebpf_slot(f)->pin_until_ns)
		ebpf_snap_repair(f);
	ebpf_date(f);
	return 0;
}

void ebpf_end(const struct ebpf_filter *f)
{
	ebpf_unlock(f->dir);
}

struct epf_bpf_slot *ebpf_slot(const struct ebpf_filter *f)
{
	__u32 active = __atomic_load_n(&f->shared->active, __ATOMIC_ACQUIRE);

	return &f->shared->slot[active % EPF_BPF_SLOTS];
}

static int filter_map_lines(struct ebpf_filter *f, const struct epf_bpf_slot *s)
{
	const char *what = s == &f->shared->slot[0] ? "lines0" : "lines1";
	int ret;

	unmap_lines(f);
	f->line_fd = filter_get(f->name, what);
	if (f->line_fd < 0)
		return f->line_fd;
	f->line_bytes = epf_geom_lines(&s->geom) * EPF_LINE_BYTES;
	ret = map_whole(f->line_fd, f->line_bytes, &f->line);
	f->line_serial = s->serial;
	return ret;
}

int ebpf_lines(struct ebpf_filter *f, struct epf_lanes *lanes)
{
	struct epf_bpf_slot *s = ebpf_slot(f);
	int ret = 0;

	if (!f->line || f->line_serial != s->serial)
		ret = filter_map_lines(f, s);
	lanes->line = f->line;
	lanes->epoch = &s->state.epoch;
	lanes->geom = s->geom;
	return ret;
}

int ebpf_limits(struct ebpf_filter *f)
{
	const struct epf_bpf_slot *s = ebpf_slot(f);
	struct ebpf_limits *l = &f->limits;
	struct epf_capacity_work *work;

	if (l->serial == s->serial)
		return 0;
	l->limited = s->params.limit_ppt < EPF_RATE_ONE;
	epf_cover_init(&l->cover, &s->geom);
	if (l->limited) {
		work = malloc(sizeof(*work));
		if (!work)
			return -ENOMEM;
		epf_capacity_init(&l->capacity, &s->geom, epf_ppt_to_q56(s->params.limit_ppt),
				  work);
		free(work);
	}
	l->serial = s->serial;
	return 0;
}

static void read_epochs(const struct ebpf_filter *f, __u64 now, struct epf_epoch_info *info)
{
	const struct epf_bpf_slot *s = ebpf_slot(f);
	__u64 e = s->state.epoch;
	__u64 x;

	for (x = e; x >= e - EPF_LIVE_EPOCHS && x >= EPF_EPOCH_FIRST; x--, info++) {
		const struct epf_past *past = &s->state.ring[x & 7];

		info->epoch = x;
		info->inserts = x == e ? ebpf_inserts(f) : past->inserts;
		info->age_ns = now - past->start_ns;
		info->fill_ppt = s->lane_fill[x & 7];
		info->fpr_ppt = s->lane_fpr[x & 7];
	}
}

static void read_stats(const struct ebpf_filter *f, struct epf_stats *stats)
{
	const struct epf_bpf_slot *s = ebpf_slot(f);
	__u64 slot = (__u64)(s - f->shared->slot);
	__u32 i;

	stats->rotations = s->rotations;
	stats->delayed = s->delayed;
	stats->saturations = s->saturations;
	stats->scanned = s->scanned;
	stats->inserts = s->base_inserts;
	for (i = 0; i < f->shared->cpus; i++) {
		const struct epf_bpf_cpu *c = &f->cpu[slot * f->shared->cpus + i];
		__u64 unknown = epf_load(&c->open) + epf_load(&c->overdue);

		stats->inserts += epf_load(&c->inserts);
		stats->hits += epf_load(&c->present);
		stats->misses += epf_load(&c->absent) + unknown;
		stats->failed_open += unknown;
	}
}

int ebpf_overdue(const char *name, __u64 *verdicts)
{
	struct ebpf_filter *f;
	int ret = ebpf_open(name, &f);
	__u64 first;
	__u32 i;

	if (ret)
		return ret;
	first = (__u64)(ebpf_slot(f) - f->shared->slot) * f->shared->cpus;
	*verdicts = 0;
	for (i = 0; i < f->shared->cpus; i++)
		*verdicts += epf_load(&f->cpu[first + i].overdue);
	ebpf_close(f);
	return 0;
}

void ebpf_info(struct ebpf_filter *f, struct epf_info *info)
{
	const struct epf_bpf_slot *s = ebpf_slot(f);
	__u64 now = now_ns();

	info->params = s->params;
	memcpy(info->params.name, f->name, sizeof(f->name));
	info->memory_bytes = epf_geom_lines(&s->geom) * EPF_LINE_BYTES;
	info->window_epochs = EPF_LIVE_EPOCHS;
	info->slices = EPF_LANES;
	info->epoch = s->state.epoch;
	info->fpr_ppt = s->fpr;
	info->age_ns = now - s->created_ns;
	info->desc = s->desc;
	info->flags = (epf_load(&s->keys) >= epf_load(&s->open_at) ? EPF_INFO_SATURATED : 0) |
		      (s->pin_until_ns > now ? EPF_INFO_PINNED : 0) |
		      (epf_load(&s->journal) ? EPF_INFO_JOURNAL : 0) |
		      (s->align_ns ? EPF_INFO_ALIGNED : 0);
	read_epochs(f, now, info->epochs);
	epf_state_covered(&s->state, now, &info->covered_inserts, &info->covered_ns);
	info->covered_inserts += ebpf_pending(f);
	info->kept_ns = epf_state_kept(&s->state, epf_load(&s->began), now);
	if (!epf_clock_known()) /* these may be of another clock than @now */
		info->covered_inserts = info->covered_ns = info->kept_ns = 0;
	read_stats(f, &info->stats);
}
