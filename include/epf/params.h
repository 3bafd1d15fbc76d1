/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which parameters make a valid filter: one source for the module, for pure BPF, for
 * filters in a process, and for the headers of snapshots. Names are checked separately.
 */
#ifndef EPF_PARAMS_H
#define EPF_PARAMS_H

#include "geometry.h"
#include "window.h"

/* Is it a name: 1 to EPF_NAME_LEN - 1 of A-Z a-z 0-9 . _ - and no leading dot? */
EPF_FN_BIG bool epf_name_valid(const char *name)
{
	__u32 i;

	for (i = 0; i < EPF_NAME_LEN && name[i]; i++)
		if (!(name[i] >= 'A' && name[i] <= 'Z') && !(name[i] >= 'a' && name[i] <= 'z') &&
		    !(name[i] >= '0' && name[i] <= '9') && name[i] != '_' && name[i] != '-' &&
		    (name[i] != '.' || !i))
			return false;
	return i && i < EPF_NAME_LEN;
}

/**
 * epf_params_check_common() - are the parameters that all kinds have in range?
 * @p: any bytes
 *
 * Return: 0, or -EINVAL: hash, window, budget or limit.
 */
EPF_FN_BIG int epf_params_check_common(const struct epf_params *p)
{
	struct epf_window w;

	if (p->hash > EPF_HASH_MAX)
		return -EINVAL;
	if (!p->budget_ppt || p->budget_ppt > p->limit_ppt || p->limit_ppt > EPF_RATE_ONE)
		return -EINVAL;
	return epf_window_init(&w, p->mode, p->refresh, p->window_inserts, p->window_ns);
}

/**
 * epf_params_check_lanes() - do the parameters make a filter of lanes?
 * @p: any bytes
 *
 * Return: 0; -EINVAL: a number is out of its range; -EOPNOTSUPP: another kind.
 */
EPF_FN_BIG int epf_params_check_lanes(const struct epf_params *p)
{
	struct epf_geom g;
	int err;

	if (p->kind != EPF_KIND_LANES)
		return -EOPNOTSUPP;
	err = epf_geom_init(&g, p->nr_lines, p->lines_per_key, p->bits_per_key);
	return err ? err : epf_params_check_common(p);
}

/**
 * epf_params_check_locked() - do the parameters make a filter of a locked kind?
 * @p: of a kind that the caller knows
 *
 * The shape of such a filter is elsewhere (struct epf_shape), so the numbers for lanes are
 * zero.
 *
 * Return: 0, or -EINVAL.
 */
EPF_FN_BIG int epf_params_check_locked(const struct epf_params *p)
{
	if (p->nr_lines || p->lines_per_key || p->bits_per_key)
		return -EINVAL;
	return epf_params_check_common(p);
}

#endif /* EPF_PARAMS_H */
