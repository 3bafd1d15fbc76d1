// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* epfctl hold: end the epochs of pure BPF filters, in the foreground. */
#include "cmd.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ebpf/calls.h"

#define NS_PER_MS 1000000ULL

/**
 * struct holding - a filter that is held
 * @name: of the filter
 * @hold: NULL: it was destroyed
 * @at_ns: time of the next step
 */
struct holding {
	const char *name;
	struct ebpf_hold *hold;
	__u64 at_ns;
};

static bool hold_begin(struct holding *h)
{
	int ret = ebpf_hold_begin(h->name, &h->hold);

	if (!ret)
		return true;
	h->hold = NULL;
	if (ret == -EBUSY)
		fail("'%s' is already held by another process", h->name);
	else if (ret == -EOPNOTSUPP)
		fail("'%s' needs no holder: the kernel ends its epochs", h->name);
	else if (ret == -ENOENT)
		fail("there is no filter '%s' that is pure BPF: 'epfctl --backend "
		     "bpf list' shows these filters",
		     h->name);
	else
		fail_call(ret, "holding", h->name);
	return false;
}

/* Return: 1: the filter is still held; 0: it was destroyed; -1: an error is printed. */
static int hold_step(struct holding *h)
{
	__u64 wait_ns = 0;
	int ret = ebpf_hold_step(h->hold, &wait_ns);

	h->at_ns = now_ns() + wait_ns;
	if (ret >= 0 || ret == -ETIMEDOUT) /* a restore, for example, locks it for long */
		return 1;
	ebpf_hold_end(h->hold);
	h->hold = NULL;
	if (ret == -ENODEV)
		return 0;
	fail_call(ret, "holding", h->name);
	return -1;
}

static void wait_until(__u64 at_ns)
{
	__u64 now = now_ns();
	struct timespec t;

	if (at_ns <= now)
		return;
	t.tv_sec = (time_t)((at_ns - now) / NS_PER_SEC);
	t.tv_nsec = (long)((at_ns - now) % NS_PER_SEC);
	ppoll(NULL, 0, &t, NULL);
}

/* Make all steps that are due. Return: number of filters left; -1: an error is printed. */
static int step_all(struct holding *h, int nr, __u64 *next_ns)
{
	int left = 0, ret, i;

	*next_ns = ~0ULL;
	for (i = 0; i < nr; i++) {
		if (!h[i].hold)
			continue;
		ret = h[i].at_ns <= now_ns() ? hold_step(&h[i]) : 1;
		if (ret < 0)
			return -1;
		left += ret;
		if (ret && h[i].at_ns < *next_ns)
			*next_ns = h[i].at_ns;
	}
	return left;
}

static int hold_all(struct holding *h, int nr)
{
	__u64 next_ns;
	int left;

	catch_signals();
	left = step_all(h, nr, &next_ns);
	if (left > 0 && out_mode == OUT_TEXT)
		printf("holding %d filter%s; packets pass unfiltered when this "
		       "ends\n",
		       nr, nr == 1 ? "" : "s");
	fflush(stdout);
	while (left > 0 && !interrupted) {
		wait_until(next_ns);
		left = step_all(h, nr, &next_ns);
	}
	return left < 0 || interrupted ? EXIT_FAIL : EXIT_YES;
}

int cmd_hold(int argc, char **argv)
{
	static const struct option longs[] = { { 0 } };
	static const struct spec spec = {
		.usage = "hold NAME...",
		.help = "End the epochs of filters that are pure BPF, until a signal comes or all of them\n"
			"are destroyed. A filter without a holder forgets nothing, and soon answers 'do\n"
			"not know' for what it finds, so packets pass.\n",
		.shorts = "",
		.longs = longs,
	};
	struct holding *h;
	bool good = true;
	int nr, i, ret;

	if (next_option(argc, argv, &spec) >= 0)
		return EXIT_FAIL;
	if (!operands(argc, argv, 1, 1024, &spec))
		return EXIT_FAIL;
	nr = argc - optind;
	h = calloc((size_t)nr, sizeof(*h));
	if (!h)
		return fail("out of memory");
	for (i = 0; i < nr && good; i++) {
		h[i].name = argv[optind + i];
		good = parse_name(h[i].name) && hold_begin(&h[i]);
	}
	ret = good ? hold_all(h, nr) : EXIT_FAIL;
	for (i = 0; i < nr; i++)
		if (h[i].hold)
			ebpf_hold_end(h[i].hold);
	free(h);
	return ret;
}
