/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The rows of all locked kinds, see kind.h.
 *
 * Every source that includes this file gets a copy of all kinds.
 */
#ifndef EPF_KINDS_H
#define EPF_KINDS_H

#include "kind_apbbf.h"
#include "kind_apbf.h"
#include "kind_chain.h"
#include "kind_dict.h"
#include "kind_elastic.h"
#include "kind_ge.h"
#include "kind_gebl.h"
#include "kind_tlbf.h"

#if EPF_TABLES

/**
 * epf_kind_row() - the row of a locked kind
 * @kind: enum epf_kind, or any number
 *
 * Return: NULL for lanes and for unknown kinds.
 */
EPF_FN_BIG const struct epf_kind_ops *epf_kind_row(__u32 kind)
{
#define EPF_ROW_OF(number, name) [number] = &epf_##name##_ops,
	static const struct epf_kind_ops *const rows[EPF_KIND_MAX + 1] = { EPF_LOCKED_KINDS(
		EPF_ROW_OF) };
#undef EPF_ROW_OF

	return kind <= EPF_KIND_MAX ? rows[kind] : NULL;
}

#endif /* EPF_TABLES */

#endif /* EPF_KINDS_H */
