// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Filters in the kernel: the ioctls of linux/epochfilter.h as functions. */
#include "epf.h"
#include "backend.h"
#include "opts.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define LIST_ROOM_FIRST 64u

/* Return: 0; -EINVAL: @name is too long. */
static int set_name(struct epf_name *to, const char *name)
{
	size_t len = strlen(name);

	if (len >= sizeof(to->name))
		return -EINVAL;
	memcpy(to->name, name, len + 1);
	return 0;
}

int epf_dev_open(void)
{
	return epf_backend_open();
}

int epf_dev_create(int dev, const struct epf_params *params, const __u64 key[2], __u32 *id)
{
	const struct epf_create_opts opts = { .size = sizeof(opts), .key = key };

	return epf_dev_create_opts(dev, params, &opts, id);
}

int epf_dev_create_opts(int dev, const struct epf_params *params,
			const struct epf_create_opts *opts, __u32 *id)
{
	struct epf_create c = { .size = sizeof(c), .params = *params };
	struct epf_create_opts o;
	int ret = epf_opts_copy(&o, sizeof(o), 24, opts);

	if (ret)
		return ret;
	c.flags = o.flags;
	if (o.shape)
		c.shape = *o.shape;
	if (o.key) {
		c.flags |= EPF_CREATE_KEY;
		memcpy(c.key, o.key, sizeof(c.key));
	}
	ret = epf_call(dev, EPF_IOC_CREATE, &c);
	explicit_bzero(c.key, sizeof(c.key));
	if (!ret && id)
		*id = c.id;
	return ret;
}

int epf_dev_destroy(int dev, const char *name, bool force)
{
	struct epf_ref_args a = { .size = sizeof(a) };
	int ret = set_name(&a.name, name);

	if (ret)
		return ret;
	if (force)
		a.flags = EPF_DESTROY_FORCE;
	return epf_call(dev, EPF_IOC_DESTROY, &a);
}

int epf_dev_list(int dev, __u32 **ids)
{
	struct epf_list l = { .size = sizeof(l) };
	__u32 room = LIST_ROOM_FIRST;
	int ret;

	for (*ids = NULL;; room = l.count) {
		free(*ids);
		*ids = calloc(room, sizeof(**ids));
		if (!*ids)
			return -ENOMEM;
		l.ids = (__u64)(uintptr_t)*ids;
		l.count = room;
		ret = epf_call(dev, EPF_IOC_LIST, &l);
		if (!ret && l.count > room)
			continue; /* more filters than room: repeat with more room */
		if (!ret)
			return (int)l.count;
		free(*ids);
		*ids = NULL;
		return ret;
	}
}

int epf_dev_filter(int dev, const char *name)
{
	struct epf_ref_args a = { .size = sizeof(a) };
	int ret = set_name(&a.name, name);

	return ret ? ret : epf_call(dev, EPF_IOC_OPEN, &a);
}

int epf_dev_filter_id(int dev, __u32 id)
{
	struct epf_ref_args a = { .size = sizeof(a), .name.id = id };

	return epf_call(dev, EPF_IOC_OPEN, &a);
}

/* Return: @name as an id; 0: it is not an id. */
static __u32 id_of(const char *name)
{
	unsigned long v;
	char *end;

	if (strspn(name, "0123456789") != strlen(name))
		return 0;
	errno = 0;
	v = strtoul(name, &end, 10);
	return errno || v > 0xffffffffUL ? 0 : (__u32)v;
}

int epf_dev_find_in(int dev, const char *name)
{
	int filter = epf_dev_filter(dev, name);

	if (filter == -ENOENT && id_of(name))
		filter = epf_dev_filter_id(dev, id_of(name));
	return filter;
}

int epf_dev_find(int dev, const char *name)
{
	int filter = epf_dev_find_in(dev, name), second;

	if (filter != -ENOENT)
		return filter;
	second = epf_backend_second(dev);
	if (second >= 0) {
		filter = epf_dev_find_in(second, name);
		epf_close(second);
	}
	return filter;
}

int epf_dev_swap(int dev, const char *a, const char *b)
{
	struct epf_swap s = { .size = sizeof(s) };
	int ret = set_name(&s.a, a);

	if (!ret)
		ret = set_name(&s.b, b);
	return ret ? ret : epf_call(dev, EPF_IOC_SWAP, &s);
}

int epf_filter_info(int filter, struct epf_info *info)
{
	memset(info, 0, sizeof(*info));
	info->size = sizeof(*info);
	return epf_call(filter, EPF_IOC_INFO, info);
}

int epf_filter_rotate(int filter, __u32 count, __u64 *epoch)
{
	struct epf_rotate_args a = { .size = sizeof(a), .count = count };
	int ret = epf_call(filter, EPF_IOC_ROTATE, &a);

	if (!ret && epoch)
		*epoch = a.epoch;
	return ret;
}

int epf_filter_clear(int filter)
{
	return epf_call(filter, EPF_IOC_CLEAR, NULL);
}

int epf_filter_key(int filter, __u64 key[2])
{
	struct epf_key_args a = { .size = sizeof(a) };
	int ret = epf_call(filter, EPF_IOC_KEY, &a);

	if (!ret)
		memcpy(key, a.key, sizeof(a.key));
	explicit_bzero(a.key, sizeof(a.key));
	return ret;
}

int epf_filter_describe(int filter, struct epf_key_desc *desc)
{
	struct epf_describe a = { .size = sizeof(a), .desc = *desc };
	int ret = epf_call(filter, EPF_IOC_DESCRIBE, &a);

	if (!ret)
		*desc = a.desc;
	return ret;
}

/* Where the next call of a batch begins: keys done, and the bytes of these keys. */
struct cursor {
	__u32 done;  /* keys */
	__u64 bytes; /* bytes of these keys */
};

static __u64 dev_bytes_of(const struct epf_batch *b, __u32 first, __u32 count)
{
	const __u16 *lens = (const __u16 *)(uintptr_t)b->lens;
	__u64 sum = 0;
	__u32 i;

	if (b->flags & EPF_BATCH_DIGESTS)
		return (__u64)count * sizeof(__u64);
	if (!lens)
		return (__u64)count * b->key_len;
	for (i = first; i < first + count; i++)
		sum += lens[i];
	return sum;
}

/* Issue one ioctl for the keys from @at on. @at->done is a multiple of 8,
 * because the ABI interrupts a batch (EINTR) only after a multiple of 8 keys.
 */
static int dev_batch_step(int filter, unsigned long cmd, struct epf_batch *b, struct cursor *at)
{
	struct epf_batch part = *b;
	__u32 left = b->count - at->done;
	int ret;

	part.size = sizeof(part);
	part.flags &= EPF_BATCH_MASK;
	part.done = 0;
	part.present = 0;
	part.count = left < EPF_BATCH_MAX ? left : EPF_BATCH_MAX;
	part.keys += at->bytes;
	part.lens += part.lens ? at->done * sizeof(__u16) : 0;
	part.bitmap += part.bitmap ? at->done / 8 : 0;
	part.ages += part.ages ? at->done : 0;
	ret = epf_call(filter, cmd, &part);
	at->bytes += dev_bytes_of(b, at->done, part.done);
	at->done += part.done;
	b->present += part.present;
	b->flags |= part.flags & EPF_BATCH_SATURATED;
	return ret;
}

int epf_filter_batch(int filter, unsigned long cmd, struct epf_batch *batch)
{
	struct cursor at = { 0 };
	int ret;

	batch->flags &= ~EPF_BATCH_SATURATED;
	batch->present = 0;
	do {
		__u32 before = at.done;

		ret = dev_batch_step(filter, cmd, batch, &at);
		if (!ret && batch->count && at.done == before)
			ret = -EIO; /* not what the ABI promises */
		if (ret == -EINTR)
			ret = 0;
	} while (!ret && at.done < batch->count);
	batch->done = at.done;
	return ret;
}
