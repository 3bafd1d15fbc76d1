// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The backends of filters of the kernel, and what they say of errors. */
#include "lib.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>

#include "libepf/backend.h"

static void add_backend(void)
{
	if (lib_bpf_add)
		lib_bpf_add();
}

void lib_quiet(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, add_backend);
	if (lib_bpf_quiet)
		lib_bpf_quiet();
}

void lib_loud(void)
{
	if (lib_bpf_loud)
		lib_bpf_loud();
}

int lib_kernel_failed(int err, const char *what, const char *name)
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

int lib_backend(uint32_t backend)
{
	if (backend > LIBEPF_BACKEND_BPF)
		return lib_fail(-EINVAL, "there is no backend %u", backend);
	if (backend == LIBEPF_BACKEND_BPF && !lib_bpf_add)
		return lib_fail(-EOPNOTSUPP, "this libepf was built without libbpf");
	return 0;
}

int lib_control(uint32_t backend)
{
	static const enum epf_backend_choice choices[] = {
		[LIBEPF_BACKEND_ANY] = EPF_BACKEND_AUTO,
		[LIBEPF_BACKEND_MODULE] = EPF_BACKEND_MODULE,
		[LIBEPF_BACKEND_BPF] = EPF_BACKEND_OTHER,
	};

	return epf_backend_open_of(choices[backend]);
}
