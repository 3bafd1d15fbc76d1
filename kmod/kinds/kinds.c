// SPDX-License-Identifier: GPL-2.0
/* The locked kinds: the rows of the core (epf/kinds.h), compiled for the module. */
#include "locked.h"

#include <epf/kinds.h>

#include <linux/nospec.h>

/**
 * epf_kind_ops() - get the operations of a locked kind
 * @kind: enum epf_kind, or any number
 *
 * Return: NULL for lanes and for unknown kinds.
 */
const struct epf_kind_ops *epf_kind_ops(u8 kind)
{
	if (kind > EPF_KIND_MAX)
		return NULL;
	return epf_kind_row(array_index_nospec(kind, EPF_KIND_MAX + 1));
}
