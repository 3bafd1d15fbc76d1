// SPDX-License-Identifier: GPL-2.0
/* The table of engines, and which to take. */
#include "engine.h"

#include <string.h>

static const struct epf_engine *const engines[] = {
	&epf_engine_scalar,
	&epf_engine_ring,
#if defined(__x86_64__)
	&epf_engine_avx2,
	&epf_engine_avx512,
#endif
};

#define ENGINES (sizeof(engines) / sizeof(engines[0]))

const struct epf_engine *epf_engine_at(unsigned int i)
{
	return i < ENGINES ? engines[i] : NULL;
}

const struct epf_engine *epf_engine_find(const char *name)
{
	unsigned int i;

	for (i = 0; i < ENGINES; i++)
		if (!strcmp(engines[i]->name, name))
			return engines[i];
	return NULL;
}

const struct epf_engine *epf_engine_auto(__u64 n, const char **why)
{
	unsigned int i = ENGINES - 1;
	const char *unused;

	if (!why)
		why = &unused;
	if (n < EPF_BLOCK_KEYS) { /* others do a whole block */
		*why = "few keys";
		return engines[0];
	}
	while (!engines[i]->usable())
		i--;
	*why = "the fastest that this CPU has";
	return engines[i];
}
