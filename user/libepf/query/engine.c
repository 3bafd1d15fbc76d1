// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The table of engines. */
#include "engine.h"

#include <string.h>

static const struct epf_engine *const engines[] = {
	&epf_engine_scalar, &epf_engine_ring,
#if defined(__x86_64__)
	&epf_engine_avx2,   &epf_engine_avx512,
#endif
	&epf_engine_cuda,
};

#define ENGINES (sizeof(engines) / sizeof(engines[0]))
EPF_ASSERT(ENGINES <= EPF_ENGINES_MAX, "there is room for their rates");

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

bool epf_engine_far(const struct epf_engine *e)
{
	return e == &epf_engine_cuda;
}

const struct epf_engine *epf_engine_near(void)
{
	unsigned int i;

	for (i = ENGINES; --i;)
		if (!epf_engine_far(engines[i]) && engines[i]->usable())
			break;
	return engines[i];
}

bool epf_engine_serves(const struct epf_engine *e, const struct epf_view *v)
{
	return !v->asked || e == &epf_engine_scalar;
}
