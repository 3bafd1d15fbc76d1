// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* See apply.h. */
#include "cluster/apply.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "common/clock.h"
#include "libepf/backend.h"
#include "libepf/epf.h"
#include "libepf/kinds/compare.h"
#include "libepf/rings.h"
#include "records/rec_error.h"

#define STEPS 16 /* of a bisection by ratios: to one in 2000. One of elastic takes 0.1 s */

static const char *apply_why(int err)
{
	if (err == -ENOENT || err == -ENODEV)
		return "there is no such filter";
	return err == -EUCLEAN ? EPF_HALF_SWAPPED : strerror(-err);
}

/* Return: descriptor, with @info and @key. */
static int open_one(const char *name, struct epf_info *info, __u64 key[2], struct rec_error *e)
{
	int dev = epf_dev_open(), fd, err;

	fd = dev < 0 ? dev : epf_dev_find(dev, name);
	if (dev >= 0)
		epf_close(dev);
	err = fd < 0 ? fd : epf_filter_info(fd, info);
	if (!err)
		err = epf_filter_key(fd, key);
	if (!err)
		return fd;
	if (fd >= 0)
		epf_close(fd);
	return rec_error_set(e, err, "filter '%s': %s", name, apply_why(err));
}

static int apply_compare(const struct epf_params *local, const struct epf_params *all,
			 const __u64 *key, const __u64 *all_key, struct rec_error *e)
{
	if (key[0] != all_key[0] || key[1] != all_key[1])
		return rec_error_set(e, -EINVAL,
				     "filters '%s' and '%s' have different hash keys: create them "
				     "with one --key-file",
				     local->name, all->name);
	if (local->hash != all->hash)
		return rec_error_set(e, -EINVAL, "filters '%s' and '%s' have different hashes",
				     local->name, all->name);
	if (!local->window_ns || !all->window_ns)
		return rec_error_set(e, -EINVAL, "filter '%s' has no window of time",
				     local->window_ns ? all->name : local->name);
	if (all->window_ns < local->window_ns)
		return rec_error_set(e, -EINVAL,
				     "the window of filter '%s' is shorter than that of '%s'",
				     all->name, local->name);
	return 0;
}

/* Also in a first-seen filter every insertion of a peer restarts the window of its key. */
static int insert_chunk(void *ctx, unsigned int thread, const __u64 *digest, __u32 count)
{
	const struct apply_filters *f = ctx;
	struct epf_batch b = {
		.size = sizeof(b),
		.flags = EPF_BATCH_DIGESTS,
		.count = count,
		.keys = (__u64)(uintptr_t)digest,
	};

	return epf_filter_batch(f->of_thread[thread], EPF_IOC_INSERT, &b);
}

static int open_threads(struct apply_filters *f, unsigned int threads, struct rec_error *e)
{
	int fd, ret;

	f->of_thread[0] = f->all;
	for (f->threads = 1; f->threads < threads; f->threads++) {
		fd = epf_rings_reopen(f->all);
		if (fd < 0)
			return rec_error_set(e, fd, "filter of all: %s", apply_why(fd));
		f->of_thread[f->threads] = fd;
	}
	ret = apply_pool_new(&f->pool, threads, insert_chunk, f);
	return ret ? rec_error_set(e, ret, "thread: %s", strerror(-ret)) : 0;
}

/* With how many keys a second does a filter reach its limit? Return: 0: its memory follows the
 * rate, or there is no limit.
 */
static __u64 apply_rate_of(const struct epf_info *f)
{
	double limit = (double)f->params.limit_ppt / (double)EPF_RATE_ONE;
	double low = 1, high = 1e13, keys = low, fpr;
	int i;

	if (f->params.limit_ppt >= EPF_RATE_ONE)
		return 0;
	for (i = 0; i < STEPS; i++) {
		keys = sqrt(low * high);
		fpr = epf_kind_fpr(&f->params, &f->shape, keys);
		if (fpr < 0)
			return 0;
		if (fpr <= limit)
			low = keys;
		else
			high = keys;
	}
	return (__u64)(low * (double)NS_PER_SEC / (double)f->params.window_ns);
}

int apply_open(struct apply_filters *f, const char *local, const char *all, unsigned int threads,
	       struct rec_error *e)
{
	struct epf_info info = { 0 };
	__u64 key[2];
	int ret;

	memset(f, 0, sizeof(*f));
	f->all = -1;
	f->local = open_one(local, &f->of, f->key, e);
	if (f->local < 0)
		return f->local;
	f->all = open_one(all, &info, key, e);
	ret = f->all < 0 ? f->all : apply_compare(&f->of.params, &info.params, f->key, key, e);
	f->all_window_ns = info.params.window_ns;
	f->all_epochs = info.window_epochs;
	f->all_rate = ret ? 0 : apply_rate_of(&info);
	if (!ret)
		ret = open_threads(f, threads, e);
	if (ret)
		apply_close(f);
	return ret;
}

void apply_close(struct apply_filters *f)
{
	apply_pool_free(f->pool);
	f->pool = NULL;
	for (; f->threads > 1; f->threads--)
		epf_close(f->of_thread[f->threads - 1]);
	if (f->all >= 0)
		epf_close(f->all);
	if (f->local >= 0)
		epf_close(f->local);
	f->local = f->all = -1;
	explicit_bzero(f->key, sizeof(f->key));
}

int apply_insert(const struct apply_filters *f, const __u64 *digest, __u32 count)
{
	return apply_pool_insert(f->pool, digest, count);
}

int apply_kept(const struct apply_filters *f, __u64 *local_ns, __u64 *all_ns, bool *saturated)
{
	struct epf_info info;
	int ret = epf_filter_info(f->local, &info);

	*local_ns = info.kept_ns;
	if (!ret)
		ret = epf_filter_info(f->all, &info);
	*all_ns = info.kept_ns;
	*saturated = info.flags & EPF_INFO_SATURATED;
	return ret;
}

bool apply_overfull(const struct apply_filters *f)
{
	struct epf_info info;

	return epf_filter_info(f->local, &info) || info.flags & EPF_INFO_SATURATED;
}
