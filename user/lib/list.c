// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The filters of the kernel, one after the other. */
#include "lib.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "libepf/backend.h"

#define BACKENDS 2u

/**
 * struct libepf_list - filters by their ids; those that are destroyed meanwhile are left out
 * @turn: held during calls
 * @dev: control descriptors, or negative
 * @ids: ids of each, or NULL
 * @nr: how many
 * @which: backend of the next one; BACKENDS: there are no more
 * @at: its place in @ids
 */
struct libepf_list {
	pthread_mutex_t turn;
	int dev[BACKENDS];
	__u32 *ids[BACKENDS];
	int nr[BACKENDS];
	unsigned int which;
	int at;
};

static int list_ids(struct libepf_list *l, unsigned int i)
{
	l->nr[i] = epf_dev_list(l->dev[i], &l->ids[i]);
	return l->nr[i] < 0 ? l->nr[i] : 0;
}

static int list_fill(struct libepf_list *l, uint32_t backend)
{
	int err;

	l->dev[0] = lib_control(backend);
	if (l->dev[0] < 0)
		return l->dev[0];
	err = list_ids(l, 0);
	if (err || backend != LIBEPF_BACKEND_ANY)
		return err;
	l->dev[1] = epf_backend_second(l->dev[0]);
	return l->dev[1] < 0 ? 0 : list_ids(l, 1);
}

int libepf_list_open(uint32_t backend, struct libepf_list **list)
{
	int err = lib_backend(backend);
	struct libepf_list *l;

	if (!list)
		return lib_fail(-EINVAL, "no place for the list: NULL");
	*list = NULL;
	if (err)
		return err;
	l = calloc(1, sizeof(*l));
	if (!l)
		return lib_no_memory();
	pthread_mutex_init(&l->turn, NULL);
	l->dev[0] = l->dev[1] = -1;
	lib_quiet();
	err = list_fill(l, backend);
	lib_loud();
	if (err) {
		libepf_list_close(l);
		return lib_kernel_failed(err, "listing filters", "");
	}
	*list = l;
	return 0;
}

void libepf_list_close(struct libepf_list *l)
{
	unsigned int i;

	if (!l)
		return;
	for (i = 0; i < BACKENDS; i++) {
		if (l->dev[i] >= 0)
			epf_close(l->dev[i]);
		free(l->ids[i]);
	}
	pthread_mutex_destroy(&l->turn);
	free(l);
}

static bool list_gone(int err)
{
	return err == -ENOENT || err == -ENODEV;
}

static int list_one(const struct libepf_list *l, __u32 id, struct libepf_info *info)
{
	int fd = epf_dev_filter_id(l->dev[l->which], id), err;

	if (fd < 0)
		return fd;
	err = lib_kernel_info(fd, info);
	epf_close(fd);
	return err;
}

/* Return: 1, 0, or a negative errno. */
static int list_step(struct libepf_list *l, struct libepf_info *info)
{
	int err;

	for (; l->which < BACKENDS; l->which++, l->at = 0)
		while (l->at < l->nr[l->which]) {
			err = list_one(l, l->ids[l->which][l->at++], info);
			if (!list_gone(err))
				return err ? err : 1;
		}
	return 0;
}

int libepf_list_next(struct libepf_list *l, struct libepf_info *info)
{
	struct libepf_info out = { 0 };
	int ret = lib_out(info, LIB_INFO_FIRST);

	if (!ret && !l)
		ret = lib_fail(-EINVAL, "no list: NULL");
	if (ret)
		return ret;
	pthread_mutex_lock(&l->turn);
	lib_quiet();
	ret = list_step(l, &out);
	lib_loud();
	pthread_mutex_unlock(&l->turn);
	lib_give(info, &out, sizeof(out));
	return ret < 0 ? lib_kernel_failed(ret, "listing filter ", out.name) : ret;
}
