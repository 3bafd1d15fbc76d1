// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A program that ends the epochs of filters that are pure BPF. */
#include "lib.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "ebpf/ebpf.h"
#include "libepf/clock.h"

#define NS_PER_SEC 1000000000u
#define AGAIN_NS 100000000u /* after an error */

/**
 * struct libepf_hold - a filter that is held
 * @turn: held during calls
 * @hold: of the backend
 * @timer: expires when the next step is due
 */
struct libepf_hold {
	pthread_mutex_t turn;
	struct ebpf_hold *hold;
	int timer;
};

static int hold_failed(int err, const char *name)
{
	switch (err) {
	case -EBUSY:
		return lib_fail(err, "filter %s is already held, by this program or another", name);
	case -EOPNOTSUPP:
		return lib_fail(err, "filter %s needs no holder: a timer ends its epochs", name);
	case -ENOENT:
		return lib_fail(err, "there is no filter %s that is pure BPF", name);
	default:
		return lib_kernel_failed(err, "holding filter ", name);
	}
}

/* Let the timer expire in @ns; it does not until then. */
static int arm(int timer, uint64_t ns)
{
	struct itimerspec t = { 0 };

	ns += !ns; /* 0 would stop it */
	t.it_value.tv_sec = (time_t)(ns / NS_PER_SEC);
	t.it_value.tv_nsec = (long)(ns % NS_PER_SEC);
	return timerfd_settime(timer, 0, &t, NULL) ? -errno : 0;
}

static int hold_begin(struct libepf_hold *h, const char *name)
{
	int err;

	h->timer = timerfd_create(EPF_CLOCK_OWN, TFD_CLOEXEC | TFD_NONBLOCK);
	if (h->timer < 0)
		return -errno;
	err = arm(h->timer, 0);
	return err ? err : ebpf_hold_begin(name, &h->hold);
}

int libepf_hold_open(const char *name, struct libepf_hold **hold)
{
	int err = lib_backend(LIBEPF_BACKEND_BPF);
	struct libepf_hold *h;

	if (!hold)
		return lib_fail(-EINVAL, "no place for the hold: NULL");
	*hold = NULL;
	if (!err)
		err = lib_name(name);
	if (err)
		return err;
	h = calloc(1, sizeof(*h));
	if (!h)
		return lib_no_memory();
	pthread_mutex_init(&h->turn, NULL);
	lib_quiet();
	err = hold_begin(h, name);
	lib_loud();
	if (err) {
		libepf_hold_close(h);
		return hold_failed(err, name);
	}
	*hold = h;
	return 0;
}

void libepf_hold_close(struct libepf_hold *h)
{
	if (!h)
		return;
	if (h->hold)
		ebpf_hold_end(h->hold);
	if (h->timer >= 0)
		close(h->timer);
	pthread_mutex_destroy(&h->turn);
	free(h);
}

int libepf_hold_fd(const struct libepf_hold *h)
{
	return h ? h->timer : lib_fail(-EINVAL, "no hold: NULL");
}

int libepf_hold_step(struct libepf_hold *h, uint64_t *wait_ns)
{
	__u64 ns = 0;
	int err, armed;

	if (!h)
		return lib_fail(-EINVAL, "no hold: NULL");
	pthread_mutex_lock(&h->turn);
	lib_quiet();
	err = ebpf_hold_step(h->hold, &ns);
	lib_loud();
	if (err > 0 || err == -ETIMEDOUT) /* others have locked it, and work is left */
		err = 0;
	armed = arm(h->timer, err ? AGAIN_NS : ns);
	pthread_mutex_unlock(&h->turn);
	if (err)
		return lib_kernel_failed(err, "holding a filter", "");
	if (wait_ns)
		*wait_ns = ns;
	return armed ? lib_errno(armed, "setting a timer") : 0;
}
