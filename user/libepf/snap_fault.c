// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What is wrong with a snapshot file, in words. */
#include "epf.h"

const char *epf_snap_fault_text(enum epf_snap_fault fault)
{
	switch (fault) {
	case EPF_SNAP_OK:
		return "sound";
	case EPF_SNAP_IO:
		return "cannot be read";
	case EPF_SNAP_TRUNCATED:
		return "is truncated";
	case EPF_SNAP_NOT_ONE:
		return "is not a snapshot";
	case EPF_SNAP_VERSION_UNKNOWN:
		return "is of a version this program does not know";
	case EPF_SNAP_HEADER_SUM:
		return "has a corrupt header (checksum)";
	case EPF_SNAP_GEOMETRY:
		return "has parameters that no filter can have";
	case EPF_SNAP_LINES_SUM:
		return "has corrupt lines (checksum)";
	case EPF_SNAP_LONGER:
		return "is longer than its header says";
	case EPF_SNAP_BAD_KEYS:
		return "has keys of a kind that no filter can have";
	case EPF_SNAP_BAD_STATE:
		return "has a state that no filter can have";
	case EPF_SNAP_BAD_MEMORY:
		return "has memory that no filter can have";
	}
	return "has an unknown fault";
}

const char *epf_snap_fault_advice(enum epf_snap_fault fault)
{
	switch (fault) {
	case EPF_SNAP_NOT_ONE:
		return "name a file that 'epfctl save' wrote";
	case EPF_SNAP_VERSION_UNKNOWN:
		return "use the epfctl that wrote it, or create the filter anew: "
		       "after one window it is as good";
	default:
		return "take another copy, or save again";
	}
}
