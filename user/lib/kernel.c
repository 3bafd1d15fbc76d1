// SPDX-License-Identifier: GPL-2.0
/* Filters of the kernel, of the module and of pure BPF. */
#include "lib.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "epf/bpf.h"
#include "epf/keydesc.h"
#include "epf/window.h"
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

static void add_backend(void)
{
	if (lib_bpf_add)
		lib_bpf_add();
}

/* Begin, and end, calls that libbpf may comment. */
static void quiet(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, add_backend);
	if (lib_bpf_quiet)
		lib_bpf_quiet();
}

static void loud(void)
{
	if (lib_bpf_loud)
		lib_bpf_loud();
}

/* What went wrong with a filter. Return: @err. */
static int kernel_failed(int err, const char *what, const char *name)
{
	const char *said = lib_bpf_said ? lib_bpf_said() : "";
	char text[128];

	if (err == -EUCLEAN)
		return lib_fail(err, "%s%s: " EPF_HALF_SWAPPED, what, name);
	snprintf(text, sizeof(text), "%s%s", what, name);
	if (!*said)
		return lib_errno(err, text);
	return lib_fail(err, "%s: %s", text, said);
}

static int check_backend(uint32_t backend)
{
	if (backend > LIBEPF_BACKEND_BPF)
		return lib_fail(-EINVAL, "there is no backend %u", backend);
	if (backend == LIBEPF_BACKEND_BPF && !lib_bpf_add)
		return lib_fail(-EOPNOTSUPP, "this libepf was built without libbpf");
	return 0;
}

/* A control descriptor. */
static int open_control(uint32_t backend)
{
	static const enum epf_backend_choice choices[] = {
		[LIBEPF_BACKEND_ANY] = EPF_BACKEND_AUTO,
		[LIBEPF_BACKEND_MODULE] = EPF_BACKEND_MODULE,
		[LIBEPF_BACKEND_BPF] = EPF_BACKEND_OTHER,
	};

	return epf_backend_open_of(choices[backend]);
}

/* -------------------------------------------------- create, open, destroy ---- */

/* Aligned epochs are longer, so they hold more keys. */
static int align(struct libepf_plan *plan)
{
	struct epf_window w = { 0 };

	if (plan->window_keys || epf_window_init(&w, EPF_MODE_TIME, 0, 0, plan->window_ns))
		return lib_fail(-EINVAL, "LIBEPF_KERNEL_ALIGN needs a window of time alone");
	plan->rate *= (double)epf_align_pitch(w.epoch_ns) / (double)w.epoch_ns;
	return 0;
}

/* Size the filter. */
static int plan_for(const struct libepf_plan *plan, uint32_t flags, const char *name,
		    struct lib_planned *p)
{
	struct libepf_plan mine;
	int err = lib_plan_take(plan, &mine);

	mine.name = name;
	if (!err && flags & LIBEPF_KERNEL_ALIGN)
		err = align(&mine);
	return err ? err : lib_plan(&mine, p);
}

static int create_on(int dev, const struct lib_planned *p, uint32_t flags)
{
	const struct epf_create_opts opts = {
		.size = sizeof(opts),
		.shape = &p->planned.shape,
		.flags = (flags & LIBEPF_KERNEL_ALIGN ? EPF_CREATE_ALIGN : 0) |
			 (flags & LIBEPF_KERNEL_TIMER && !epf_is_module(dev) ?
				  EPF_BPF_CREATE_TIMER :
				  0),
		.key = p->has_key ? p->key : NULL,
	};

	return epf_dev_create_opts(dev, &p->planned.params, &opts, NULL);
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
	int dev = open_control(o->backend), fd = 0, err;

	if (dev < 0)
		return kernel_failed(dev, "opening the backend of filters", "");
	err = create_on(dev, p, o->flags);
	if (!err && kernel)
		fd = epf_dev_filter(dev, name);
	epf_close(dev);
	if (err || fd < 0)
		return kernel_failed(err ? err : fd, "creating filter ", name);
	if (!kernel)
		return 0;
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
		err = check_backend(o.backend);
	if (!err)
		err = lib_name(name);
	if (!err)
		err = plan_for(plan, o.flags, name, &p);
	if (err)
		return err;
	quiet();
	err = create(&p, &o, kernel);
	loud();
	explicit_bzero(p.key, sizeof(p.key));
	return err;
}

static int open_in(int dev, const char *name, uint32_t backend)
{
	return backend == LIBEPF_BACKEND_ANY ? epf_dev_find(dev, name) : epf_dev_find_in(dev, name);
}

int libepf_kernel_open(const char *name, uint32_t backend, struct libepf_kernel **kernel)
{
	int err = check_backend(backend), dev, fd;

	if (!kernel || !name)
		return lib_fail(-EINVAL, "no name, or no place for the handle: NULL");
	*kernel = NULL;
	if (!err)
		err = lib_name(name);
	if (err)
		return err;
	quiet();
	dev = open_control(backend);
	fd = dev < 0 ? dev : open_in(dev, name, backend);
	if (dev >= 0)
		epf_close(dev);
	loud();
	if (fd < 0)
		return kernel_failed(fd, "opening filter ", name);
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
	int err = check_backend(backend), dev;

	if (!err)
		err = lib_name(name);
	if (err)
		return err;
	quiet();
	dev = open_control(backend);
	if (dev < 0)
		err = dev;
	else
		err = backend == LIBEPF_BACKEND_ANY ? destroy(dev, name, force) :
						      epf_dev_destroy(dev, name, force);
	if (dev >= 0)
		epf_close(dev);
	loud();
	return err ? kernel_failed(err, "destroying filter ", name) : 0;
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
	quiet();
	ret = batches(k->fd, cmd, keys, ages);
	loud();
	return ret < 0 ? kernel_failed((int)ret, "keys of a filter", "") : ret;
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

int libepf_kernel_info(struct libepf_kernel *k, struct libepf_info *info)
{
	int err = lib_out(info, LIB_INFO_FIRST);
	struct libepf_info out;
	struct epf_info now;

	if (!err)
		err = no_handle(k);
	if (err)
		return err;
	quiet();
	err = epf_filter_info(k->fd, &now);
	loud();
	if (err)
		return kernel_failed(err, "information on a filter", "");
	lib_info(&out, &now);
	if (!epf_is_module(k->fd))
		out.flags |= LIBEPF_INFO_BPF;
	lib_give(info, &out, sizeof(out));
	return 0;
}

int libepf_kernel_clear(struct libepf_kernel *k)
{
	int err = no_handle(k);

	if (err)
		return err;
	quiet();
	err = epf_filter_clear(k->fd);
	loud();
	return err ? kernel_failed(err, "clearing a filter", "") : 0;
}

int libepf_kernel_save(struct libepf_kernel *k, const char *path)
{
	int err = path ? no_handle(k) : lib_fail(-EINVAL, "no path: NULL");

	if (err)
		return err;
	quiet();
	err = epf_snap_save(k->fd, path, NULL, NULL, NULL);
	loud();
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
	quiet();
	err = epf_snap_restore(k->fd, &file);
	loud();
	epf_snap_close(&file);
	return err ? kernel_failed(err, "restoring ", path) : 0;
}
