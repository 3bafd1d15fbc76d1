// SPDX-License-Identifier: GPL-2.0
/*
 * Filters of the kernel by the public header: pure BPF on this machine, those of the module
 * where it is loaded. A backend that is not there is a skip.
 */
#include "lib.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#define NAME "lib_selftest"
#define KEYS 20000u

static uint64_t key[KEYS];
static uint8_t age[KEYS];

/* All keys may come in one of the eight epochs. */
static struct libepf_plan plan_of(void)
{
	return (struct libepf_plan){ .size = sizeof(struct libepf_plan),
				     .rate = 8 * KEYS / 60.0,
				     .window_ns = UINT64_C(60000000000),
				     .hash_key = HASH_KEY };
}

static const char *insert_and_test(struct libepf_kernel *k)
{
	struct libepf_keys half = keys_of(key, KEYS / 2), all = keys_of(key, KEYS);
	unsigned int i;

	if (libepf_kernel_insert(k, &half))
		return libepf_error();
	if (libepf_kernel_test(k, &all, age) < KEYS / 2)
		return "a key is lost";
	for (i = 0; i < KEYS / 2; i++)
		if (age[i] >= LIBEPF_AGES)
			return "a key inserted is absent or not known";
	if (libepf_kernel_test_and_insert(k, &all, age) > KEYS / 2 + 50)
		return "keys never inserted are present";
	return libepf_kernel_test(k, &all, NULL) == KEYS ? NULL : "a key is lost";
}

static const char *lengths(struct libepf_kernel *k)
{
	static const char text[] = "a"
				   "bcd"
				   "efghijkl";
	uint16_t lens[] = { 1, 3, 8 };
	struct libepf_keys keys = { text, lens, 3, 0 }, one = { "bcd", NULL, 1, 3 };

	if (libepf_kernel_insert(k, &keys))
		return libepf_error();
	return libepf_kernel_test(k, &one, NULL) == 1 ? NULL : "a key of three bytes is lost";
}

static const char *inform(struct libepf_kernel *k, uint32_t backend)
{
	struct libepf_info info = { .size = sizeof(info) };

	if (libepf_kernel_info(k, &info))
		return libepf_error();
	if (strcmp(info.name, NAME) || strcmp(info.kind, "lanes") ||
	    strcmp(info.keys, "text or bytes"))
		return "name, kind or keys are wrong";
	if (!(info.flags & LIBEPF_INFO_BPF) != (backend == LIBEPF_BACKEND_MODULE))
		return "the backend is wrong";
	return info.inserts >= KEYS && info.epochs == 7 ? NULL : "the counts are wrong";
}

/* A file, a copy in memory, a filter in memory of the same keys, and a restored filter say
 * the same.
 */
static const char *copies(struct libepf_kernel *k)
{
	struct libepf_keys all = keys_of(key, KEYS);
	const char *path = temp_path("kernel.epf"), *wrong = NULL;
	struct libepf_snapshot *file, *memory;

	if (libepf_kernel_save(k, path) || libepf_snapshot_open(path, 0, &file))
		return libepf_error();
	if (libepf_snapshot_take(k, &memory)) {
		libepf_snapshot_close(file);
		return libepf_error();
	}
	if (libepf_snapshot_test(file, &all, NULL) != KEYS ||
	    libepf_snapshot_test(memory, &all, NULL) != KEYS)
		wrong = "a snapshot loses a key";
	libepf_snapshot_close(file);
	libepf_snapshot_close(memory);
	if (!wrong && (libepf_kernel_clear(k) || libepf_kernel_test(k, &all, NULL) > 50))
		wrong = "a cleared filter has keys";
	if (!wrong && libepf_kernel_restore(k, path))
		return libepf_error();
	if (!wrong && libepf_kernel_test(k, &all, NULL) != KEYS)
		wrong = "a restored filter loses a key";
	return wrong;
}

/* The kernel goes on with a filter that was in memory. */
static const char *adopt(struct libepf_kernel *k)
{
	struct libepf_keys all = keys_of(key, KEYS);
	const char *path = temp_path("memory.epf");
	struct libepf_plan p = plan_of();
	struct libepf_filter *f;
	int err;

	if (libepf_filter_new(&p, LIBEPF_NOW, &f))
		return libepf_error();
	err = libepf_filter_insert(f, &all, LIBEPF_NOW) ||
	      libepf_filter_save(f, path, LIBEPF_NOW, LIBEPF_NOW) || libepf_kernel_clear(k) ||
	      libepf_kernel_restore(k, path);
	libepf_filter_free(f);
	if (err)
		return libepf_error();
	return libepf_kernel_test(k, &all, NULL) == KEYS ? NULL : "the kernel loses a key";
}

/* A filter in memory goes on with one that was in the kernel. */
static const char *hand_over(struct libepf_kernel *k)
{
	struct libepf_plan p = { .size = sizeof(p), .window_keys = 5, .kind = "ge" };
	struct libepf_keys all = keys_of(key, KEYS);
	struct libepf_info info = { .size = sizeof(info) };
	const char *path = temp_path("over.epf"), *wrong = NULL;
	struct libepf_filter *f;

	if (libepf_filter_new(&p, LIBEPF_NOW, &f))
		return libepf_error();
	if (libepf_kernel_save(k, path) || libepf_filter_restore(f, path, LIBEPF_NOW, NULL) ||
	    libepf_filter_info(f, LIBEPF_NOW, &info))
		wrong = libepf_error();
	else if (libepf_filter_test(f, &all, LIBEPF_NOW, NULL) != KEYS)
		wrong = "memory loses a key";
	else if (info.inserts != KEYS || strcmp(info.kind, "lanes") || strcmp(info.name, "libepf"))
		wrong = "the information of memory is wrong";
	libepf_filter_free(f);
	return wrong;
}

static const char *rotate(struct libepf_kernel *k)
{
	struct libepf_info before = { .size = sizeof(before) }, after = { .size = sizeof(after) };
	struct libepf_keys one = keys_of(key, 1);

	if (libepf_kernel_insert(k, &one) || libepf_kernel_info(k, &before) ||
	    libepf_kernel_rotate(k, 3) || libepf_kernel_test(k, &one, age) < 0 ||
	    libepf_kernel_info(k, &after))
		return libepf_error();
	if (age[0] != 3 || after.epoch != before.epoch + 3)
		return "three epochs have not ended";
	if (libepf_kernel_rotate(k, 0) != -EINVAL || libepf_kernel_rotate(k, 9) != -EINVAL)
		return "a number of epochs is taken that none can be";
	if (libepf_kernel_rotate(k, 8) || libepf_kernel_test(k, &one, age) < 0)
		return libepf_error();
	return age[0] == LIBEPF_AGE_ABSENT ? NULL : "a key stays for more than all epochs";
}

/* @k has a key that the second filter lacks. */
static const char *swapped(struct libepf_kernel *k, struct libepf_kernel *l, uint32_t backend)
{
	struct libepf_keys one = keys_of(key, 1);

	if (libepf_kernel_insert(k, &one) || libepf_kernel_swap(NAME, NAME "2", backend))
		return libepf_error();
	if (libepf_kernel_test(k, &one, NULL) || libepf_kernel_test(l, &one, NULL) != 1)
		return "the contents are not exchanged";
	if (libepf_kernel_swap(NAME "2", NAME, LIBEPF_BACKEND_ANY))
		return libepf_error();
	if (libepf_kernel_test(k, &one, NULL) != 1 || libepf_kernel_test(l, &one, NULL))
		return "they are not exchanged again";
	if (libepf_kernel_swap(NAME, NAME "3", backend) != -ENOENT ||
	    !strstr(libepf_error(), NAME "3") ||
	    libepf_kernel_swap(NAME "4", NAME, LIBEPF_BACKEND_ANY) != -ENOENT ||
	    !strstr(libepf_error(), NAME "4"))
		return "the text does not name the filter that is missing";
	return NULL;
}

static const char *swap(struct libepf_kernel *k, const struct libepf_kernel_options *o)
{
	struct libepf_plan p = plan_of();
	struct libepf_kernel *l;
	const char *wrong;

	if (libepf_kernel_clear(k) || libepf_kernel_create(NAME "2", &p, o, &l))
		return libepf_error();
	wrong = swapped(k, l, o->backend);
	libepf_kernel_close(l);
	return libepf_kernel_destroy(NAME "2", o->backend, 1) ? libepf_error() : wrong;
}

/* How often is the filter in the list of @backend, as its handle tells? */
static const char *listed(struct libepf_kernel *k, uint32_t backend, unsigned int want)
{
	struct libepf_info mine = { .size = sizeof(mine) }, info = { .size = sizeof(info) };
	struct libepf_list *list;
	unsigned int found = 0;
	bool wrong = false;
	int ret;

	if (libepf_kernel_info(k, &mine))
		return libepf_error();
	ret = libepf_list_open(backend, &list);
	if (ret)
		return ret == -ENOENT && !want ? NULL : libepf_error();
	while ((ret = libepf_list_next(list, &info)) > 0) {
		if (strcmp(info.name, NAME))
			continue;
		found++;
		wrong |= !info.id || info.id != mine.id || info.flags != mine.flags ||
			 info.inserts != mine.inserts || strcmp(info.kind, mine.kind);
	}
	if (!ret && libepf_list_next(list, &info))
		wrong = true;
	libepf_list_close(list);
	if (ret < 0)
		return libepf_error();
	return wrong         ? "the list tells something else" :
	       found == want ? NULL :
			       "the filter is not in the list once";
}

static const char *list(struct libepf_kernel *k, uint32_t backend)
{
	const uint32_t other = LIBEPF_BACKEND_MODULE + LIBEPF_BACKEND_BPF - backend;
	const char *wrong = listed(k, backend, 1);

	wrong = wrong ? wrong : listed(k, LIBEPF_BACKEND_ANY, 1);
	return wrong ? wrong : listed(k, other, 0);
}

/* -------------------------------------------------------------- holding ---- */

#define HELD NAME "_held"
#define HELD_KEYS 700u /* a window: an epoch has 100 */

/* No epoch ends but by the steps, and none of these depends on time. */
static const char *held(struct libepf_kernel *k, struct libepf_hold *h)
{
	struct libepf_info info = { .size = sizeof(info) };
	struct libepf_keys some = keys_of(key, HELD_KEYS / 7);
	struct pollfd p = { .fd = libepf_hold_fd(h), .events = POLLIN };
	uint64_t wait_ns, epoch, i;

	if (poll(&p, 1, 5000) != 1)
		return "the first step is not due at once";
	if (libepf_hold_step(h, &wait_ns) || libepf_kernel_info(k, &info))
		return libepf_error();
	if (!wait_ns || wait_ns > 250000000)
		return "the next step is not due soon";
	epoch = info.epoch;
	if (libepf_kernel_insert(k, &some) || libepf_kernel_test(k, &some, age) < 0)
		return libepf_error();
	if (age[0] >= LIBEPF_AGES)
		return "a filter that is held does not know";
	for (i = 0; i < 100 && info.epoch == epoch; i++)
		if (poll(&p, 1, 5000) != 1 || libepf_hold_step(h, NULL) ||
		    libepf_kernel_info(k, &info))
			return "a step is not due, or fails";
	return info.epoch == epoch + 1 ? NULL : "an epoch that is over does not end";
}

static const char *one_holder(void)
{
	struct libepf_hold *again = (struct libepf_hold *)&again;

	if (libepf_hold_open(HELD, &again) != -EBUSY || again ||
	    !strstr(libepf_error(), "already held"))
		return "two hold one filter";
	if (libepf_kernel_destroy(HELD, LIBEPF_BACKEND_BPF, 0) != -EBUSY)
		return "a filter that is held is destroyed";
	return NULL;
}

/* A holder that is killed leaves the filter to the next one. */
static const char *killed(void)
{
	struct libepf_hold *h;
	int pipes[2], status;
	char byte;
	pid_t pid;

	if (pipe(pipes))
		abort();
	pid = fork();
	if (!pid) {
		byte = libepf_hold_open(HELD, &h) || libepf_hold_step(h, NULL) ? 'n' : 'y';
		status = (int)write(pipes[1], &byte, 1);
		pause();
		_exit(status);
	}
	close(pipes[1]);
	if (pid < 0 || read(pipes[0], &byte, 1) != 1 || byte != 'y')
		return "a child cannot hold the filter";
	close(pipes[0]);
	if (libepf_hold_open(HELD, &h) != -EBUSY)
		return "two processes hold one filter";
	if (kill(pid, SIGKILL) || waitpid(pid, &status, 0) != pid)
		abort();
	if (libepf_hold_open(HELD, &h))
		return libepf_error();
	status = libepf_hold_step(h, NULL);
	libepf_hold_close(h);
	return status ? "the next holder cannot go on" : NULL;
}

/* Destroyed by force: the holder is told. */
static const char *gone(struct libepf_hold *h)
{
	if (libepf_kernel_destroy(HELD, LIBEPF_BACKEND_BPF, 1))
		return libepf_error();
	return libepf_hold_step(h, NULL) == -ENODEV ? NULL : "a step on a filter that is gone";
}

static const char *hold_made(struct libepf_kernel *k)
{
	struct libepf_keys one = keys_of(key, 1);
	const char *wrong = killed();
	struct libepf_hold *h;

	if (wrong)
		return wrong;
	if (libepf_hold_open(HELD, &h))
		return libepf_error();
	if (libepf_kernel_insert(k, &one))
		wrong = libepf_error();
	wrong = wrong ? wrong : held(k, h);
	wrong = wrong ? wrong : one_holder();
	wrong = wrong ? wrong : gone(h);
	libepf_hold_close(h);
	return wrong;
}

/* Return: NULL; "": there is no pure BPF. */
static const char *hold(void)
{
	const struct libepf_kernel_options o = { .size = sizeof(o), .backend = LIBEPF_BACKEND_BPF };
	struct libepf_plan p = { .size = sizeof(p), .window_keys = HELD_KEYS };
	struct libepf_kernel *k;
	struct libepf_hold *h;
	const char *wrong;

	if (libepf_kernel_create(HELD, &p, &o, &k))
		return "";
	wrong = hold_made(k);
	libepf_kernel_close(k);
	libepf_kernel_destroy(HELD, LIBEPF_BACKEND_BPF, 1);
	if (!wrong && (libepf_hold_open(HELD, &h) != -ENOENT || h))
		wrong = "a filter that does not exist is held";
	return wrong;
}

/* A filter with a timer needs no holder. */
static const char *timed_hold(void)
{
	struct libepf_hold *h;

	return libepf_hold_open(NAME, &h) == -EOPNOTSUPP && strstr(libepf_error(), "timer") ?
		       NULL :
		       "a filter with a timer is held";
}

/* Nor has it aligned epochs, whether made or got by a swap. */
static const char *timed_align(void)
{
	struct libepf_kernel_options o = { .size = sizeof(o), .backend = LIBEPF_BACKEND_BPF };
	struct libepf_plan p = plan_of();
	const char *wrong = NULL;

	o.flags = LIBEPF_KERNEL_TIMER | LIBEPF_KERNEL_ALIGN;
	if (libepf_kernel_create(NAME "2", &p, &o, NULL) != -EINVAL ||
	    !strstr(libepf_error(), "wall clock"))
		return "a timer with aligned epochs is made, or refused without a reason";
	o.flags = LIBEPF_KERNEL_ALIGN;
	if (libepf_kernel_create(NAME "2", &p, &o, NULL))
		return libepf_error();
	if (libepf_kernel_swap(NAME, NAME "2", LIBEPF_BACKEND_BPF) != -EOPNOTSUPP ||
	    !strstr(libepf_error(), "wall clock"))
		wrong = "aligned epochs are given to a timer, or refused without a reason";
	return libepf_kernel_destroy(NAME "2", LIBEPF_BACKEND_BPF, 1) ? libepf_error() : wrong;
}

#define PARTS 11

static void run(uint32_t backend, const char *what)
{
	const struct libepf_kernel_options o = {
		.size = sizeof(o),
		.backend = backend,
		.flags = LIBEPF_KERNEL_TIMER,
	};
	const char *wrong[PARTS] = { NULL };
	struct libepf_kernel *k, *again;
	struct libepf_plan p = plan_of();
	long printed;
	int i;

	silent_begin();
	if (libepf_kernel_create(NAME, &p, &o, &k)) {
		silent_end();
		for (i = 0; i < PARTS; i++)
			tap_ok(true, "%s # SKIP %s", what, libepf_error());
		return;
	}
	if (libepf_kernel_create(NAME, &p, &o, NULL) != -EEXIST)
		wrong[0] = "a name is taken twice";
	if (libepf_kernel_open(NAME, LIBEPF_BACKEND_ANY, &again))
		wrong[0] = libepf_error();
	wrong[1] = insert_and_test(again);
	wrong[2] = lengths(k);
	wrong[3] = inform(k, backend);
	wrong[4] = copies(k);
	wrong[5] = adopt(k);
	wrong[6] = hand_over(k);
	wrong[7] = rotate(k);
	wrong[8] = swap(k, &o);
	wrong[9] = list(k, backend);
	if (!wrong[9] && backend == LIBEPF_BACKEND_BPF)
		wrong[9] = timed_hold();
	if (!wrong[8] && backend == LIBEPF_BACKEND_BPF)
		wrong[8] = timed_align();
	libepf_kernel_close(k);
	libepf_kernel_close(again);
	if (libepf_kernel_destroy(NAME, backend, 0) ||
	    libepf_kernel_open(NAME, backend, &k) != -ENOENT)
		wrong[10] = libepf_error();
	printed = silent_end();
	for (i = 0; i < PARTS; i++)
		tap_ok(!wrong[i] && !printed, "%s, part %d: %s", what, i + 1,
		       wrong[i] ? wrong[i] :
		       printed  ? "the library prints" :
				  "as documented");
}

static void run_hold(void)
{
	const char *wrong;
	long printed;

	silent_begin();
	wrong = hold();
	printed = silent_end();
	if (wrong && !*wrong)
		tap_ok(true, "hold # SKIP %s", libepf_error());
	else
		tap_ok(!wrong && !printed, "a program holds a filter%s%s", wrong ? ": " : "",
		       wrong ? wrong : "");
}

int main(void)
{
	unsigned int i;

	for (i = 0; i < KEYS; i++)
		key[i] = i;
	tap_plan(2 * PARTS + 1);
	run(LIBEPF_BACKEND_BPF, "pure BPF");
	run(LIBEPF_BACKEND_MODULE, "the module");
	run_hold();
	temp_gone();
	return tap_end();
}
