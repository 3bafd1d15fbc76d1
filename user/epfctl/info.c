// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* struct epf_info and struct epf_params, as text and as JSON. */
#include "cmd.h"

#include "desc.h"
#include "ebpf/ebpf.h"
#include "epf/keydesc.h"
#include "epf/window.h"
#include "kinds/compare.h"
#include "common/pktopts.h"

#define ROW "  %-12s "
#define INDENT 15 /* columns of ROW */

static json_t *info_count(__u64 v)
{
	return json_integer((json_int_t)v);
}

/* The users of the filter, except the descriptor that asks. */
static __u32 other_users(const struct epf_info *info)
{
	return info->users ? info->users - 1 : 0;
}

/* A module that does not report the number, as older ones do not, has that of lanes. */
static __u32 info_epochs_of(const struct epf_info *info)
{
	return info->window_epochs ? info->window_epochs : EPF_LIVE_EPOCHS;
}

static void info_print_window(const struct epf_params *p, __u32 epochs)
{
	printf(ROW "%s:", "window", mode_name(p->mode));
	if (p->window_inserts)
		printf(" %llu insertions", p->window_inserts);
	if (p->window_inserts && p->window_ns)
		printf(p->mode == EPF_MODE_EITHER ? " or" : " and");
	if (p->window_ns)
		printf(" %s", fmt_ns(p->window_ns).s);
	printf(", in %u epochs\n", epochs);
}

static void print_geometry(const struct epf_params *p, const struct epf_shape *shape)
{
	const char *name = epf_kind_name(p->kind);
	char text[SHAPE_TEXT];

	if (p->kind)
		shape_text(text, p->kind, shape);
	else
		snprintf(text, sizeof(text), "%llu lines of %u bytes; %u lines and %u bits a key",
			 p->nr_lines, EPF_LINE_BYTES, p->lines_per_key, p->bits_per_key);
	print_wrapped(INDENT, ROW "%s: %s", "kind", name ? name : "unknown", text);
}

void params_print(const struct epf_params *p, const struct epf_shape *shape, __u32 epochs)
{
	info_print_window(p, epochs);
	printf(ROW "%s\n", "refresh",
	       p->refresh == EPF_REFRESH ? "every occurrence of a key restarts its window" :
					   "the window of a key runs from its first "
					   "occurrence");
	pace_print(p);
	print_geometry(p, shape);
	printf(ROW "%s\n", "hash", hash_name(p->hash));
	printf(ROW "%s", "budget", fmt_ppt(p->budget_ppt).s);
	if (p->limit_ppt >= EPF_RATE_ONE)
		printf(", never fails open\n");
	else
		printf(", fails open above %s\n", fmt_ppt(p->limit_ppt).s);
}

void desc_print(const struct epf_key_desc *d)
{
	char text[EPF_DESC_TEXT];

	epf_key_desc_text(d, text);
	printf(ROW "%s\n", "keys", text);
}

/* The members of packet keys are named as by 'status' and 'attach'. */
json_t *desc_json(const struct epf_key_desc *d)
{
	json_t *o = json_pack("{ss}", "kind", epf_key_kind_name(d->kind)), *packet;
	struct epf_pkt_opts opts = epf_key_desc_opts(d);

	if (d->kind != EPF_KEYS_PACKET)
		return o;
	packet = pkt_json(&opts);
	if (opts.flags & EPF_PKT_ZONE) /* the description has no number */
		json_object_set_new(packet, "zone", json_null());
	json_object_update(o, packet);
	json_decref(packet);
	return o;
}

json_t *params_json(const struct epf_params *p, const struct epf_shape *shape)
{
	const char *kind = epf_kind_name(p->kind);
	json_t *o = json_object();

	json_object_set_new(o, "name", json_string(p->name));
	json_object_set_new(o, "kind", json_string(kind ? kind : "unknown"));
	json_object_set_new(o, "hash", json_string(hash_name(p->hash)));
	json_object_set_new(o, "mode", json_string(mode_name(p->mode)));
	json_object_set_new(o, "refresh", json_string(refresh_name(p->refresh)));
	if (p->window_inserts)
		json_object_set_new(o, "window_inserts", info_count(p->window_inserts));
	if (p->window_ns)
		json_object_set_new(o, "window_ns", info_count(p->window_ns));
	if (p->kind) {
		json_object_set_new(o, "shape", shape_json(p->kind, shape));
	} else {
		json_object_set_new(o, "lines", info_count(p->nr_lines));
		json_object_set_new(o, "lines_per_key", info_count(p->lines_per_key));
		json_object_set_new(o, "bits_per_key", info_count(p->bits_per_key));
	}
	json_object_set_new(o, "budget", json_real(ppt_to_rate(p->budget_ppt)));
	json_object_set_new(o, "limit", json_real(ppt_to_rate(p->limit_ppt)));
	return o;
}

static void print_epochs(const struct epf_info *info)
{
	__u32 i;

	printf("\n  %3s %12s %14s %12s %8s %10s\n", "age", "epoch", "insertions", "since", "fill",
	       "error");
	for (i = 0; i < EPF_EPOCHS; i++) {
		const struct epf_epoch_info *e = &info->epochs[i];

		if (!e->epoch)
			continue;
		printf("  %3u %12llu %14llu %12s %7.2f%% %10s\n", i, e->epoch, e->inserts,
		       fmt_ns(e->age_ns).s, 100 * ppt_to_rate(e->fill_ppt), fmt_ppt(e->fpr_ppt).s);
	}
}

static void print_stats(const struct epf_stats *s)
{
	printf(ROW "%llu insertions, %llu hits, %llu misses\n", "counted", s->inserts, s->hits,
	       s->misses);
	printf(ROW "%llu, %llu delayed; %llu stale lines scanned\n", "rotations", s->rotations,
	       s->delayed, s->scanned);
	printf(ROW "%llu times, %llu verdicts failed open\n", "saturated", s->saturations,
	       s->failed_open);
}

static void print_overdue(const char *name)
{
	__u64 verdicts;

	if (!ebpf_overdue(name, &verdicts))
		printf(ROW "%llu of these, because nobody ended the epochs\n", "overdue", verdicts);
}

static void print_backend(const struct epf_info *info, bool bpf)
{
	if (!bpf)
		printf(ROW "the module\n", "backend");
	else if (ebpf_held(info->params.name))
		printf(ROW "pure BPF, %s\n", "backend",
		       ebpf_is_timed(info->params.name) ? "the kernel ends its epochs" : "held");
	else
		print_wrapped(INDENT,
			      ROW "pure BPF; nobody ends its epochs, so it answers "
				  "'do not know': run 'epfctl hold %s' or epfagent",
			      "backend", info->params.name);
}

void info_print(const struct epf_info *info, bool bpf)
{
	const struct epf_params *p = &info->params;

	print_wrapped(2, "%s (id %u)%s%s%s", p->name, info->id,
		      info->flags & EPF_INFO_SATURATED ? ", SATURATED: fails open" : "",
		      info->flags & EPF_INFO_PINNED ? ", rotation held by a snapshot" : "",
		      info->flags & EPF_INFO_JOURNAL ? ", a journal is kept" : "");
	print_backend(info, bpf);
	params_print(p, &info->shape, info_epochs_of(info));
	desc_print(&info->desc);
	if (info->flags & EPF_INFO_ALIGNED)
		printf(ROW "epochs end by the wall clock\n", "aligned");
	printf(ROW "%s\n", "memory", fmt_bytes(info->memory_bytes).s);
	if (info->needs & EPF_NEEDS_MEMORY)
		printf(ROW "%u now, by the rate; %u times there was no memory "
			   "for more\n",
		       "slices", info->slices, info->waits);
	if (info->needs)
		printf(ROW "%s%s\n", "needs",
		       info->needs & EPF_NEEDS_LOCK ? "its lock for each "
						      "operation" :
						      "",
		       info->needs & EPF_NEEDS_WORKER ? ", a worker to end "
							"epochs" :
							"");
	printf(ROW "%s false positives, estimated now\n", "error", fmt_ppt(info->fpr_ppt).s);
	printf(ROW "the last %llu insertions, and those of the last %s\n", "covered",
	       info->covered_inserts, fmt_ns(info->covered_ns).s);
	printf(ROW "%s old, epoch %llu, %u users\n", "state", fmt_ns(info->age_ns).s, info->epoch,
	       other_users(info));
	print_stats(&info->stats);
	if (bpf)
		print_overdue(info->params.name);
	print_epochs(info);
}

static json_t *stats_json(const struct epf_stats *s)
{
	return json_pack("{sI sI sI sI sI sI sI sI}", "inserts", (json_int_t)s->inserts, "hits",
			 (json_int_t)s->hits, "misses", (json_int_t)s->misses, "rotations",
			 (json_int_t)s->rotations, "delayed", (json_int_t)s->delayed, "saturations",
			 (json_int_t)s->saturations, "failed_open", (json_int_t)s->failed_open,
			 "scanned", (json_int_t)s->scanned);
}

static void add_overdue(json_t *stats, const char *name)
{
	__u64 verdicts;

	if (!ebpf_overdue(name, &verdicts))
		json_object_set_new(stats, "overdue", json_integer((json_int_t)verdicts));
}

static json_t *epochs_json(const struct epf_info *info)
{
	json_t *all = json_array();
	int i;

	for (i = 0; i < (int)EPF_EPOCHS; i++) {
		const struct epf_epoch_info *e = &info->epochs[i];

		if (!e->epoch)
			continue;
		json_array_append_new(all, json_pack("{si sI sI sI sI sf sf}", "age", i, "epoch",
						     (json_int_t)e->epoch, "inserts",
						     (json_int_t)e->inserts, "began_ago_ns",
						     (json_int_t)e->age_ns, "began_ns",
						     (json_int_t)e->age_ns, /* older name */
						     "fill", ppt_to_rate(e->fill_ppt), "fpr",
						     ppt_to_rate(e->fpr_ppt)));
	}
	return all;
}

json_t *info_json(const struct epf_info *info, bool bpf)
{
	json_t *o = params_json(&info->params, &info->shape);

	json_object_set_new(o, "backend", json_string(bpf ? "bpf" : "module"));
	if (bpf) {
		json_object_set_new(o, "held", json_boolean(ebpf_held(info->params.name)));
		json_object_set_new(o, "rotate",
				    json_string(ebpf_is_timed(info->params.name) ? "kernel" :
										   "process"));
	}
	json_object_set_new(o, "needs",
			    json_pack("{sb sb sb}", "lock", !!(info->needs & EPF_NEEDS_LOCK),
				      "worker", !!(info->needs & EPF_NEEDS_WORKER), "memory",
				      !!(info->needs & EPF_NEEDS_MEMORY)));
	pace_json(o, &info->params);
	json_object_set_new(o, "window_epochs", info_count(info_epochs_of(info)));
	json_object_set_new(o, "keys", desc_json(&info->desc));
	json_object_set_new(o, "slices", info_count(info->slices));
	json_object_set_new(o, "waits", info_count(info->waits));
	json_object_set_new(o, "id", json_integer(info->id));
	json_object_set_new(o, "users", json_integer(other_users(info)));
	json_object_set_new(o, "saturated", json_boolean(info->flags & EPF_INFO_SATURATED));
	json_object_set_new(o, "pinned", json_boolean(info->flags & EPF_INFO_PINNED));
	json_object_set_new(o, "journal", json_boolean(info->flags & EPF_INFO_JOURNAL));
	json_object_set_new(o, "aligned", json_boolean(info->flags & EPF_INFO_ALIGNED));
	json_object_set_new(o, "epoch", info_count(info->epoch));
	json_object_set_new(o, "memory_bytes", info_count(info->memory_bytes));
	json_object_set_new(o, "covered_inserts", info_count(info->covered_inserts));
	json_object_set_new(o, "covered_ns", info_count(info->covered_ns));
	json_object_set_new(o, "fpr", json_real(ppt_to_rate(info->fpr_ppt)));
	json_object_set_new(o, "age_ns", info_count(info->age_ns));
	json_object_set_new(o, "stats", stats_json(&info->stats));
	if (bpf)
		add_overdue(json_object_get(o, "stats"), info->params.name);
	json_object_set_new(o, "epochs", epochs_json(info));
	return o;
}
