// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Filters of the kernel, of the module and of pure BPF. */
#include "lib.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "epf/bpf.h"
#include "epf/keydesc.h"
#include "libepf/backend.h"

#define OPTIONS_FIRST LIB_FIRST(libepf_kernel_options, reserved)
#define FLAGS (LIBEPF_KERNEL_TIMER | LIBEPF_KERNEL_ALIGN)

/**
 * struct libepf_kernel - a handle
 * @fd: descriptor of the filter
 * @described: its keys have been described as bytes
 */
struct libepf_kernel {
	int fd;
	int described;
};

int lib_kernel_fd(const struct libepf_kernel *kernel)
{
	return kernel->fd;
}

/* -------------------------------------------------- create, open, destroy ---- */

/* Size the filter. */
static int plan_for(const struct libepf_plan *plan, uint32_t flags, const char *name,
		    struct lib_planned *p)
{
	struct libepf_plan mine;
	int err = lib_plan_take(plan, &mine);

	mine.name = name;
	mine.flags |= flags & LIBEPF_KERNEL_ALIGN ? LIBEPF_ALIGN : 0;
	return err ? err : lib_plan(&mine, p);
}

static int create_on(int dev, const struct lib_planned *p, uint32_t flags)
{
	const char *name = p->planned.params.name;
	bool timer = flags & LIBEPF_KERNEL_TIMER && !epf_is_module(dev);
	const struct epf_create_opts opts = {
		.size = sizeof(opts),
		.shape = &p->planned.shape,
		.flags = (p->align ? EPF_CREATE_ALIGN : 0) | (timer ? EPF_BPF_CREATE_TIMER : 0),
		.key = p->has_key ? p->key : NULL,
	};
	int err;

	if (timer && p->align)
		return lib_fail(-EINVAL,
				"filter %s: LIBEPF_KERNEL_TIMER does not go with aligned epochs, "
				"because " EPF_TIMER_NO_CLOCK,
				name);
	err = epf_dev_create_opts(dev, &p->planned.params, &opts, NULL);
	return err ? lib_kernel_failed(err, "creating filter ", name) : 0;
}

static struct libepf_kernel *handle_of(int fd)
{
	struct libepf_kernel *k = calloc(1, sizeof(*k));

	if (k)
		k->fd = fd;
	else
		epf_close(fd);
	return k;
}

/* Create the filter, and open it if @kernel is not NULL. */
static int create(const struct lib_planned *p, const struct libepf_kernel_options *o,
		  struct libepf_kernel **kernel)
{
	const char *name = p->planned.params.name;
	int dev = lib_control(o->backend), fd = 0, err;

	if (dev < 0)
		return lib_kernel_failed(dev, "opening the backend of filters", "");
	err = create_on(dev, p, o->flags);
	if (!err && kernel)
		fd = epf_dev_filter(dev, name);
	epf_close(dev);
	if (fd < 0)
		return lib_kernel_failed(fd, "creating filter ", name);
	if (err || !kernel)
		return err;
	*kernel = handle_of(fd);
	return *kernel ? 0 : lib_no_memory();
}

int libepf_kernel_create(const char *name, const struct libepf_plan *plan,
			 const struct libepf_kernel_options *options, struct libepf_kernel **kernel)
{
	struct libepf_kernel_options o;
	struct lib_planned p;
	int err = lib_options(&o, sizeof(o), OPTIONS_FIRST, options, false);

	if (kernel)
		*kernel = NULL;
	if (!err && (o.flags & ~FLAGS || o.reserved))
		err = lib_fail(-EINVAL, "unknown flags of a filter of the kernel");
	if (!err)
		err = lib_backend(o.backend);
	if (!err)
		err = lib_name(name);
	if (!err)
		err = plan_for(plan, o.flags, name, &p);
	if (err)
		return err;
	lib_quiet();
	err = create(&p, &o, kernel);
	lib_loud();
	explicit_bzero(p.key, sizeof(p.key));
	return err;
}

static int open_in(int dev, const char *name, uint32_t backend)
{
	return backend == LIBEPF_BACKEND_ANY ? epf_dev_find(dev, name) : epf_dev_find_in(dev, name);
}

int libepf_kernel_open(const char *name, uint32_t backend, struct libepf_kernel **kernel)
{
	int err = lib_backend(backend), dev, fd;

	if (!kernel || !name)
		return lib_fail(-EINVAL, "no name, or no place for the handle: NULL");
	*kernel = NULL;
	if (!err)
		err = lib_name(name);
	if (err)
		return err;
	lib_quiet();
	dev = lib_control(backend);
	fd = dev < 0 ? dev : open_in(dev, name, backend);
	if (dev >= 0)
		epf_close(dev);
	lib_loud();
	if (fd < 0)
		return lib_kernel_failed(fd, "opening filter ", name);
	*kernel = handle_of(fd);
	return *kernel ? 0 : lib_no_memory();
}

void libepf_kernel_close(struct libepf_kernel *k)
{
	if (!k)
		return;
	epf_close(k->fd);
	free(k);
}

/* Destroy the filter of the module or, with LIBEPF_BACKEND_ANY, of the second backend. */
static int destroy(int dev, const char *name, int force)
{
	int err = epf_dev_destroy(dev, name, force), second;

	if (err != -ENOENT)
		return err;
	second = epf_backend_second(dev);
	if (second < 0)
		return err;
	err = epf_dev_destroy(second, name, force);
	epf_close(second);
	return err;
}

int libepf_kernel_destroy(const char *name, uint32_t backend, int force)
{
	int err = lib_backend(backend), dev;

	if (!err)
		err = lib_name(name);
	if (err)
		return err;
	lib_quiet();
	dev = lib_control(backend);
	if (dev < 0)
		err = dev;
	else
		err = backend == LIBEPF_BACKEND_ANY ? destroy(dev, name, force) :
						      epf_dev_destroy(dev, name, force);
	if (dev >= 0)
		epf_close(dev);
	lib_loud();
	return err ? lib_kernel_failed(err, "destroying filter ", name) : 0;
}

/* Return: -ENOENT, and which of the two filters is missing in @dev. */
static int swap_missing(int dev, const char *a, const char *b)
{
	int fd = epf_dev_filter(dev, a);

	if (fd >= 0)
		epf_close(fd);
	return lib_kernel_failed(-ENOENT, "swapping filter ", fd < 0 ? a : b);
}

static int swap_in(int dev, const char *a, const char *b)
{
	int err = epf_dev_swap(dev, a, b);

	if (err == -ENOENT)
		return swap_missing(dev, a, b);
	if (err == -EOPNOTSUPP && !epf_is_module(dev))
		return lib_fail(err,
				"filters %s and %s cannot be swapped, because one is aligned and "
				"the other has a timer: " EPF_TIMER_NO_CLOCK,
				a, b);
	return err ? lib_kernel_failed(err, "swapping filter ", a) : 0;
}

/* Of the module or, with LIBEPF_BACKEND_ANY, of the second backend, if that has one of them. */
static int swap(int dev, const char *a, const char *b)
{
	int err = swap_in(dev, a, b), second, fd;

	if (err != -ENOENT)
		return err;
	second = epf_backend_second(dev);
	if (second < 0)
		return err;
	fd = epf_dev_filter(second, a);
	if (fd != -ENOENT)
		err = swap_in(second, a, b);
	if (fd >= 0)
		epf_close(fd);
	epf_close(second);
	return err;
}

int libepf_kernel_swap(const char *a, const char *b, uint32_t backend)
{
	int err = lib_backend(backend), dev;

	if (!err)
		err = lib_name(a);
	if (!err)
		err = lib_name(b);
	if (!err && !strcmp(a, b))
		err = lib_fail(-EINVAL, "filter %s cannot be swapped with itself", a);
	if (err)
		return err;
	lib_quiet();
	dev = lib_control(backend);
	if (dev < 0)
		err = lib_kernel_failed(dev, "opening the backend of filters", "");
	else
		err = backend == LIBEPF_BACKEND_ANY ? swap(dev, a, b) : swap_in(dev, a, b);
	if (dev >= 0)
		epf_close(dev);
	lib_loud();
	return err;
}

/* ----------------------------------------------------------- operations ---- */

static int no_handle(const void *k)
{
	return k ? 0 : lib_fail(-EINVAL, "no filter: NULL");
}

/* Keys @first .. @first + @n - 1, which begin at @data. Return: their size in bytes. */
static uint64_t kernel_bytes_of(const struct libepf_keys *keys, size_t first, size_t n)
{
	uint64_t bytes = 0;
	size_t i;

	if (!keys->lens)
		return (uint64_t)n * keys->len;
	for (i = first; i < first + n; i++)
		bytes += keys->lens[i];
	return bytes;
}

/* All keys, so many at a time. */
static int64_t batches(int fd, unsigned long cmd, const struct libepf_keys *keys, uint8_t *ages)
{
	const unsigned char *data = keys->data;
	int64_t present = 0;
	size_t at, n;
	int err;

	for (at = 0; at < keys->n; at += n) {
		struct epf_batch b = {
			.size = sizeof(b),
			.key_len = (__u32)keys->len,
			.keys = (uintptr_t)data,
		};

		n = keys->n - at < EPF_BATCH_MAX ? keys->n - at : EPF_BATCH_MAX;
		b.count = (__u32)n;
		b.lens = keys->lens ? (uintptr_t)(keys->lens + at) : 0;
		b.ages = ages ? (uintptr_t)(ages + at) : 0;
		b.flags = ages ? EPF_BATCH_UNKNOWN : 0;
		err = epf_filter_batch(fd, cmd, &b);
		if (err)
			return err;
		present += b.present;
		data += kernel_bytes_of(keys, at, n);
	}
	return present;
}

static int64_t kernel_batch(struct libepf_kernel *k, unsigned long cmd,
			    const struct libepf_keys *keys, uint8_t *ages)
{
	int err = no_handle(k);
	int64_t ret;

	if (!err)
		err = lib_keys(keys);
	if (err)
		return err;
	lib_quiet();
	ret = batches(k->fd, cmd, keys, ages);
	lib_loud();
	return ret < 0 ? lib_kernel_failed((int)ret, "keys of a filter", "") : ret;
}

/* Describe the keys; a filter that cannot be described, or is already, works as well. */
static void describe(struct libepf_kernel *k)
{
	struct epf_key_desc desc = epf_key_desc_plain(EPF_KEYS_BYTES);

	if (k && !__atomic_exchange_n(&k->described, 1, __ATOMIC_RELAXED))
		epf_filter_describe(k->fd, &desc);
}

int libepf_kernel_insert(struct libepf_kernel *k, const struct libepf_keys *keys)
{
	int64_t ret;

	describe(k);
	ret = kernel_batch(k, EPF_IOC_INSERT, keys, NULL);
	return ret < 0 ? (int)ret : 0;
}

int64_t libepf_kernel_test(struct libepf_kernel *k, const struct libepf_keys *keys, uint8_t *ages)
{
	return kernel_batch(k, EPF_IOC_TEST, keys, ages);
}

int64_t libepf_kernel_test_and_insert(struct libepf_kernel *k, const struct libepf_keys *keys,
				      uint8_t *ages)
{
	describe(k);
	return kernel_batch(k, EPF_IOC_TEST_AND_INSERT, keys, ages);
}

int lib_kernel_info(int fd, struct libepf_info *info)
{
	struct epf_info now;
	int err = epf_filter_info(fd, &now);

	lib_info(info, &now);
	if (!epf_is_module(fd))
		info->flags |= LIBEPF_INFO_BPF;
	return err;
}

int libepf_kernel_info(struct libepf_kernel *k, struct libepf_info *info)
{
	int err = lib_out(info, LIB_INFO_FIRST);
	struct libepf_info out;

	if (!err)
		err = no_handle(k);
	if (err)
		return err;
	lib_quiet();
	err = lib_kernel_info(k->fd, &out);
	lib_loud();
	if (err)
		return lib_kernel_failed(err, "information on a filter", "");
	lib_give(info, &out, sizeof(out));
	return 0;
}

int libepf_kernel_clear(struct libepf_kernel *k)
{
	int err = no_handle(k);

	if (err)
		return err;
	lib_quiet();
	err = epf_filter_clear(k->fd);
	lib_loud();
	return err ? lib_kernel_failed(err, "clearing a filter", "") : 0;
}

int libepf_kernel_rotate(struct libepf_kernel *k, uint32_t epochs)
{
	int err = no_handle(k);

	if (!err && (!epochs || epochs > LIBEPF_ROTATE_MAX))
		err = lib_fail(-EINVAL, "%u epochs: 1 to %u can be ended at a time", epochs,
			       LIBEPF_ROTATE_MAX);
	if (err)
		return err;
	lib_quiet();
	err = epf_filter_rotate(k->fd, epochs, NULL);
	lib_loud();
	return err ? lib_kernel_failed(err, "ending epochs of a filter", "") : 0;
}

int libepf_kernel_save(struct libepf_kernel *k, const char *path)
{
	int err = path ? no_handle(k) : lib_fail(-EINVAL, "no path: NULL");

	if (err)
		return err;
	lib_quiet();
	err = epf_snap_save(k->fd, path, NULL, NULL, NULL);
	lib_loud();
	return err ? lib_errno(err, path) : 0;
}

int libepf_kernel_restore(struct libepf_kernel *k, const char *path)
{
	enum epf_snap_fault fault = EPF_SNAP_IO;
	struct epf_snap_file file;
	int err = path ? no_handle(k) : lib_fail(-EINVAL, "no path: NULL");

	if (err)
		return err;
	err = epf_snap_open(path, &file, NULL, NULL, &fault);
	if (err)
		return lib_snap_fail(err, path, fault);
	lib_quiet();
	err = epf_snap_restore(k->fd, &file);
	lib_loud();
	epf_snap_close(&file);
	return err ? lib_kernel_failed(err, "restoring ", path) : 0;
}
