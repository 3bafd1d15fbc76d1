// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Inserts IPv4 addresses into a filter of the kernel, which BPF programs and rules of the
 * firewall can ask. Creates the filter if there is none: of the module if that is loaded,
 * else in pure BPF, with a timer that ends epochs.
 *
 *	cc allow.c $(pkg-config --cflags --libs libepf) -o allow
 *	./allow clients 192.0.2.1 192.0.2.7
 */
#include <libepf.h>

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>

#define ADDRESSES 256

static int open_or_create(const char *name, struct libepf_kernel **kernel)
{
	struct libepf_plan plan = {
		.size = sizeof(plan),
		.window_ns = UINT64_C(3600000000000), /* an hour */
		.rate = 10,
	};
	struct libepf_kernel_options options = {
		.size = sizeof(options),
		.flags = LIBEPF_KERNEL_TIMER,
	};
	int err = libepf_kernel_open(name, LIBEPF_BACKEND_ANY, kernel);

	if (err == -ENOENT)
		err = libepf_kernel_create(name, &plan, &options, kernel);
	return err;
}

int main(int argc, char **argv)
{
	struct in_addr address[ADDRESSES];
	struct libepf_keys keys = { .data = address, .len = sizeof(address[0]) };
	struct libepf_kernel *kernel;
	int64_t known;
	int i;

	for (i = 2; i < argc && keys.n < ADDRESSES; i++)
		if (inet_pton(AF_INET, argv[i], &address[keys.n]) == 1)
			keys.n++;
	if (!keys.n) {
		fprintf(stderr, "usage: allow FILTER ADDRESS...\n");
		return 2;
	}
	if (open_or_create(argv[1], &kernel)) {
		fprintf(stderr, "allow: %s\n", libepf_error());
		return 1;
	}
	known = libepf_kernel_test_and_insert(kernel, &keys, NULL);
	if (known < 0)
		fprintf(stderr, "allow: %s\n", libepf_error());
	else
		printf("%zu addresses, %lld of them known before\n", keys.n, (long long)known);
	libepf_kernel_close(kernel);
	return known < 0;
}
