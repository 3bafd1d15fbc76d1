// SPDX-License-Identifier: GPL-2.0
/*
 * To be preloaded into an agent: if there is a folder EPF_HANG, a look for the address of a server
 * removes it and never ends. libnats has the lock of the connection then.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <stdlib.h>
#include <unistd.h>

typedef int look_fn(const char *name, const char *service, const struct addrinfo *hints,
		    struct addrinfo **result);

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
		struct addrinfo **result)
{
	const char *path = getenv("EPF_HANG");
	look_fn *next = (look_fn *)dlsym(RTLD_NEXT, "getaddrinfo");

	if (path && !rmdir(path))
		for (;;)
			pause();
	return next(name, service, hints, result);
}
