// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What libbpf says. It prints to stderr unless the program has set a function of its own, of
 * which there is one for all threads. The library's function keeps what is said during a
 * call of the library, in its thread, and passes on everything else.
 */
#include "lib.h"

#include <stdio.h>
#include <string.h>

#include <bpf/libbpf.h>

#include "ebpf/calls.h"

static libbpf_print_fn_t before;
static _Thread_local int quiet;
static _Thread_local char said[256];

static int bpf_keep(enum libbpf_print_level level, const char *fmt, va_list args)
{
	if (!quiet)
		return before ? before(level, fmt, args) : 0;
	if (level == LIBBPF_WARN && !*said) {
		vsnprintf(said, sizeof(said), fmt, args);
		said[strcspn(said, "\n")] = 0;
	}
	return 0;
}

void lib_bpf_add(void)
{
	ebpf_backend_add();
	before = libbpf_set_print(bpf_keep);
}

void lib_bpf_quiet(void)
{
	quiet++;
	*said = 0;
}

void lib_bpf_loud(void)
{
	quiet--;
}

const char *lib_bpf_said(void)
{
	return said;
}
