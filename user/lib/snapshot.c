// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Snapshots: tests and audits. */
#include "lib.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libepf/audit.h"
#include "libepf/query/kinds.h"

#define AUDIT_FIRST LIB_FIRST(libepf_audit, used)
#define LINES_FIRST LIB_FIRST(libepf_lines, epoch)
#define CHUNK_KEYS (1u << 18) /* of several lengths, at once; a multiple of 8 */

/**
 * struct libepf_snapshot - an open snapshot; nothing of it changes
 * @file: header and description; mapped only if @view needs it
 * @view: its lines or memory
 * @bytes: size of lines or memory
 * @fpr_ppt: estimated error
 */
struct libepf_snapshot {
	struct epf_snap_file file;
	struct epf_view view;
	uint64_t bytes;
	__u64 fpr_ppt;
};

static bool snapshot_saturated(const struct libepf_snapshot *s)
{
	return s->fpr_ppt > s->file.header.params.limit_ppt;
}

/* The view has its own copy: unmap the file, and keep its header. */
static void snapshot_let_go(struct libepf_snapshot *s)
{
	struct epf_snap_file kept = { .header = s->file.header, .desc = s->file.desc };

	epf_snap_close(&s->file);
	s->file = kept;
	explicit_bzero(&kept, sizeof(kept));
}

/* Make the view of an opened file. */
static int look_into(struct libepf_snapshot *s, bool copy)
{
	int err = epf_view_snap(&s->view, &s->file);

	s->bytes = s->file.map_bytes - s->file.header.header_bytes;
	if (!err && copy)
		err = epf_view_settle(&s->view);
	if (!err)
		err = epf_view_rate(&s->view, &s->fpr_ppt);
	if (err)
		epf_view_close(&s->view);
	else if (copy || s->view.asked)
		snapshot_let_go(s);
	return err;
}

int libepf_snapshot_open(const char *path, uint32_t flags, struct libepf_snapshot **snapshot)
{
	enum epf_snap_fault fault = EPF_SNAP_IO;
	struct libepf_snapshot *s;
	int err;

	if (!snapshot)
		return lib_fail(-EINVAL, "no place for the snapshot: NULL");
	*snapshot = NULL;
	if (!path || flags & ~LIBEPF_SNAPSHOT_COPY)
		return lib_fail(-EINVAL, path ? "unknown flags of a snapshot" : "no path: NULL");
	s = calloc(1, sizeof(*s));
	if (!s)
		return lib_no_memory();
	err = epf_snap_open(path, &s->file, NULL, NULL, &fault);
	if (err) {
		free(s);
		return lib_snap_fail(err, path, fault);
	}
	err = look_into(s, flags & LIBEPF_SNAPSHOT_COPY);
	if (err) {
		epf_snap_close(&s->file);
		free(s);
		return lib_errno(err, path);
	}
	*snapshot = s;
	return 0;
}

int libepf_snapshot_take(struct libepf_kernel *kernel, struct libepf_snapshot **snapshot)
{
	struct libepf_snapshot *s;
	int err;

	if (!snapshot || !kernel)
		return lib_fail(-EINVAL, "no filter, or no place for the snapshot: NULL");
	*snapshot = NULL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return lib_no_memory();
	err = epf_snap_copy(lib_kernel_fd(kernel), &s->file, NULL, NULL);
	if (!err) {
		err = look_into(s, false);
		s->bytes += s->file.header.header_bytes; /* this map has no header */
	}
	if (err) {
		epf_snap_close(&s->file);
		free(s);
		return lib_errno(err, "copying a filter");
	}
	*snapshot = s;
	return 0;
}

void libepf_snapshot_close(struct libepf_snapshot *s)
{
	if (!s)
		return;
	epf_view_close(&s->view);
	epf_snap_close(&s->file);
	free(s);
}

int libepf_snapshot_info(const struct libepf_snapshot *s, struct libepf_info *info)
{
	const struct epf_snap_header *h;
	struct libepf_info out;
	int err = lib_out(info, LIB_INFO_FIRST);

	if (err)
		return err;
	if (!s)
		return lib_fail(-EINVAL, "no snapshot: NULL");
	h = &s->file.header;
	lib_info_params(&out, &h->params, &s->file.desc);
	out.flags |= snapshot_saturated(s) ? LIBEPF_INFO_SATURATED : 0;
	out.estimate = lib_share(s->fpr_ppt);
	out.epochs = s->view.asked ? s->view.asked->f.epochs : EPF_LIVE_EPOCHS;
	out.epoch = h->epoch_end;
	out.memory_bytes = s->bytes;
	out.inserts = h->inserts;
	out.wall_ns = h->realtime_ns;
	lib_give(info, &out, sizeof(out));
	return 0;
}

int libepf_snapshot_lines(const struct libepf_snapshot *s, struct libepf_lines *lines)
{
	struct libepf_lines out;
	int err = lib_out(lines, LINES_FIRST);

	if (err)
		return err;
	if (!s)
		return lib_fail(-EINVAL, "no snapshot: NULL");
	if (s->view.asked)
		return lib_fail(-EOPNOTSUPP, "only filters of kind lanes have lines");
	out.parts = s->view.geom.parts;
	out.fields = s->view.geom.bits;
	out.hash = (uint32_t)s->view.hash.kind;
	out.key[0] = s->view.hash.key[0];
	out.key[1] = s->view.hash.key[1];
	out.data = s->view.lines;
	out.nr = epf_geom_lines(&s->view.geom);
	out.epoch = s->view.epoch;
	lib_give(lines, &out, sizeof(out));
	explicit_bzero(&out, sizeof(out));
	return 0;
}

/* ------------------------------------------------------------- audits ---- */

const char *libepf_engine(unsigned int i)
{
	const struct epf_engine *e;
	unsigned int at;

	for (at = 0; (e = epf_engine_at(at)); at++)
		if (e->usable() && !i--)
			return e->name;
	return NULL;
}

static int snapshot_choose(const struct libepf_snapshot *s, const struct libepf_audit *o,
			   uint64_t n, const struct epf_engine **engine)
{
	struct epf_choice c;

	if (!o->engine) {
		epf_audit_choose(&c, &s->view, n, false, o->threads, NULL);
		*engine = c.engine;
		return 0;
	}
	*engine = epf_engine_find(o->engine);
	if (!*engine)
		return lib_fail(-ENOENT, "there is no engine '%.20s'", o->engine);
	if (!(*engine)->usable())
		return lib_fail(-EOPNOTSUPP, "engine %s: %s", o->engine, epf_engine_why(*engine));
	if (!epf_engine_serves(*engine, &s->view))
		return lib_fail(-EOPNOTSUPP, "engine %s does not serve filters of this kind",
				o->engine);
	return 0;
}

/**
 * struct audit - an audit under way
 * @view: what is asked
 * @o: options
 * @engine: engine; another one after a failure of a device
 * @done: keys of earlier pieces
 * @all: keys in all
 */
struct audit {
	const struct epf_view *view;
	const struct libepf_audit *o;
	const struct epf_engine *engine;
	uint64_t done, all;
};

static int snapshot_progress(void *context, __u64 done, __u64 all)
{
	const struct audit *a = context;

	(void)all;
	return a->o->progress(a->o->context, a->done + done, a->all);
}

static void add_ages(uint64_t *to, const struct epf_answer *answer)
{
	unsigned int i;

	for (i = 0; i < LIBEPF_AGES; i++)
		to[i] += answer->ages_of[i];
}

/* Look up keys from key @a->done on; that is a multiple of 8. */
static int lib_snapshot_ask(struct audit *a, struct libepf_audit *out, const struct epf_keys *keys,
			    unsigned char *bitmap)
{
	struct epf_answer answer = {
		.bitmap = a->o->bitmap ? a->o->bitmap + a->done / 8 : bitmap,
		.ages = a->o->ages ? a->o->ages + a->done : NULL,
		.threads = a->o->threads,
		.progress = a->o->progress ? snapshot_progress : NULL,
		.ctx = a,
	};
	int err = a->engine->query(a->view, keys, &answer);

	if (err && err != -ECANCELED && epf_engine_far(a->engine)) {
		a->engine = epf_engine_near();
		err = a->engine->query(a->view, keys, &answer);
	}
	if (err)
		return err;
	out->present += answer.present;
	if (a->o->ages_of)
		add_ages(a->o->ages_of, &answer);
	return 0;
}

static int ask_fixed(struct audit *a, struct libepf_audit *out, const struct libepf_keys *keys)
{
	struct epf_keys all = { .data = keys->data, .n = keys->n, .len = (__u32)keys->len };
	unsigned char *bitmap = a->o->bitmap ? NULL : malloc(keys->n / 8 + 1);
	int err = a->o->bitmap || bitmap ? lib_snapshot_ask(a, out, &all, bitmap) : -ENOMEM;

	free(bitmap);
	return err;
}

/* The digests of the next keys, at most @room. Return: how many. */
static uint64_t snapshot_digests(const struct audit *a, struct lib_walk *w, __u64 *digest,
				 size_t room)
{
	const void *key;
	uint64_t n = 0;
	uint32_t len;

	while (n < room && (key = lib_next(w, &len)))
		digest[n++] = epf_digest(&a->view->hash, key, len);
	return n;
}

/* Keys of several lengths are looked up as digests, some at a time. */
static int ask_digests(struct audit *a, struct libepf_audit *out, const struct libepf_keys *keys)
{
	size_t room = keys->n < CHUNK_KEYS ? keys->n : CHUNK_KEYS;
	unsigned char *bitmap = malloc(room / 8 + 1);
	__u64 *digest = calloc(room, sizeof(*digest));
	struct epf_keys some = { .data = digest };
	struct lib_walk w = lib_walk(keys);
	int err = bitmap && digest ? 0 : -ENOMEM;

	while (!err && a->done < a->all) {
		some.n = snapshot_digests(a, &w, digest, room);
		err = lib_snapshot_ask(a, out, &some, bitmap);
		a->done += some.n;
	}
	free(bitmap);
	free(digest);
	return err;
}

static int audit(const struct libepf_snapshot *s, const struct libepf_keys *keys,
		 struct libepf_audit *o)
{
	struct libepf_audit options = *o;
	struct audit a = { .view = &s->view, .o = &options, .all = keys->n };
	int err = snapshot_choose(s, o, keys->n, &a.engine);

	if (err)
		return err;
	o->present = 0;
	if (o->ages_of)
		memset(o->ages_of, 0, LIBEPF_AGES * sizeof(*o->ages_of));
	if (keys->n)
		err = keys->lens ? ask_digests(&a, o, keys) : ask_fixed(&a, o, keys);
	o->used = a.engine->name;
	return err ? lib_errno(err, "an audit") : 0;
}

int libepf_snapshot_audit(const struct libepf_snapshot *s, const struct libepf_keys *keys,
			  struct libepf_audit *options)
{
	struct libepf_audit o;
	int err = lib_options(&o, sizeof(o), AUDIT_FIRST, options, true);

	if (!err)
		err = lib_keys(keys);
	if (!err && !s)
		err = lib_fail(-EINVAL, "no snapshot: NULL");
	if (!err && o.threads > EPF_AUDIT_THREADS_MAX)
		err = lib_fail(-EINVAL, "%u threads: at most %u", o.threads, EPF_AUDIT_THREADS_MAX);
	if (!err)
		err = audit(s, keys, &o);
	if (err)
		return err;
	options->present = o.present;
	options->used = o.used;
	return 0;
}

int64_t libepf_snapshot_test(const struct libepf_snapshot *s, const struct libepf_keys *keys,
			     uint8_t *ages)
{
	struct libepf_audit o = { .size = sizeof(o), .threads = 1, .ages = ages };
	int err = libepf_snapshot_audit(s, keys, &o);
	uint64_t i;

	if (err || !snapshot_saturated(s))
		return err ? err : (int64_t)o.present;
	for (i = 0; ages && i < keys->n; i++)
		if (ages[i] != LIBEPF_AGE_ABSENT)
			ages[i] = LIBEPF_AGE_UNKNOWN;
	return 0;
}
