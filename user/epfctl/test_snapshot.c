// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "test_snapshot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool snapshot_open(struct snapshot *s, const char *path, struct epf_info *info)
{
	int err;

	if (!open_snapshot(path, &s->file))
		return false;
	err = epf_view_snap(&s->view, &s->file);
	if (!err)
		err = epf_view_rate(&s->view, &s->fpr_ppt);
	if (err) {
		fail_errno(-err, "%s: %m", path);
		epf_view_close(&s->view);
		epf_snap_close(&s->file);
		return false;
	}
	s->saturated = s->fpr_ppt > s->file.header.params.limit_ppt;
	info->params = s->file.header.params;
	info->desc = s->file.desc;
	return true;
}

static __u64 *digests_of(const struct snapshot *s, const struct keys *keys)
{
	__u64 *digest = malloc(keys->count * sizeof(*digest));
	const __u8 *key = keys->bytes;
	__u32 i;

	if (digest && keys->digests)
		memcpy(digest, key, keys->count * sizeof(*digest));
	for (i = 0; digest && !keys->digests && i < keys->count; i++) {
		digest[i] = epf_digest(&s->view.hash, key, keys->lens[i]);
		key += keys->lens[i];
	}
	return digest;
}

/* Every engine gives the same answers, and only this one serves all kinds. */
int snapshot_ask(const struct snapshot *s, const struct keys *keys, __u8 *ages, __u32 *present)
{
	__u64 *digest = digests_of(s, keys);
	struct epf_keys all = { .data = digest, .n = keys->count };
	struct epf_answer a = { .bitmap = malloc((keys->count + 7) / 8),
				.ages = ages,
				.threads = 1 };
	int err = -ENOMEM;
	__u32 i;

	if (digest && a.bitmap)
		err = epf_engine_find("scalar")->query(&s->view, &all, &a);
	for (i = 0; !err && i < keys->count; i++)
		if (s->saturated && ages[i] != EPF_AGE_ABSENT)
			ages[i] = EPF_AGE_UNKNOWN;
	*present = s->saturated ? 0 : (__u32)a.present;
	free(a.bitmap);
	free(digest);
	return err;
}

void snapshot_close(struct snapshot *s)
{
	epf_view_close(&s->view);
	epf_snap_close(&s->file);
}
