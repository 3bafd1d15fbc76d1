// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A file of its own, because epf/snapshot.h and epf.h both have an epf_snap_save(). */
#include "snap_state.h"

#include <epf/snapshot.h>

#include <errno.h>

int epf_snap_state(const struct epf_snap_header *header, struct epf_state *s, __u64 taken_ns)
{
	struct epf_snap_header h = *header;
	bool sound;

	h.version = EPF_SNAP_VERSION; /* without the description of the keys */
	h.header_bytes = sizeof(h);
	sound = epf_snap_sound(&h, EPF_EPOCH_MAX);
	if (sound)
		epf_snap_load(&h, s, taken_ns);
	explicit_bzero(h.key, sizeof(h.key));
	return sound ? 0 : -EBADMSG;
}
