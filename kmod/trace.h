/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints. They carry ids and numbers only; rates are in parts per 10^12.
 */
/* clang-format off */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM epochfilter

#if !defined(EPF_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define EPF_TRACE_H

#include <linux/tracepoint.h>

TRACE_EVENT(epf_create,
	TP_PROTO(u32 id, u32 kind, u64 nr_lines, u64 bytes),
	TP_ARGS(id, kind, nr_lines, bytes),
	TP_STRUCT__entry(__field(u32, id) __field(u32, kind) __field(u64, nr_lines)
			 __field(u64, bytes)),
	TP_fast_assign(
		__entry->id = id;
		__entry->kind = kind;
		__entry->nr_lines = nr_lines;
		__entry->bytes = bytes;
	),
	TP_printk("id=%u kind=%u nr_lines=%llu bytes=%llu", __entry->id, __entry->kind,
		  __entry->nr_lines, __entry->bytes)
);

TRACE_EVENT(epf_destroy,
	TP_PROTO(u32 id, bool held),
	TP_ARGS(id, held),
	TP_STRUCT__entry(__field(u32, id) __field(bool, held)),
	TP_fast_assign(
		__entry->id = id;
		__entry->held = held;
	),
	TP_printk("id=%u held=%d", __entry->id, __entry->held)
);

TRACE_EVENT(epf_rotate,
	TP_PROTO(u32 id, u64 epoch, u64 inserts, u64 lasted_ns),
	TP_ARGS(id, epoch, inserts, lasted_ns),
	TP_STRUCT__entry(__field(u32, id) __field(u64, epoch) __field(u64, inserts)
			 __field(u64, lasted_ns)),
	TP_fast_assign(
		__entry->id = id;
		__entry->epoch = epoch;
		__entry->inserts = inserts;
		__entry->lasted_ns = lasted_ns;
	),
	TP_printk("id=%u epoch=%llu inserts=%llu lasted_ns=%llu", __entry->id, __entry->epoch,
		  __entry->inserts, __entry->lasted_ns)
);

TRACE_EVENT(epf_saturate,
	TP_PROTO(u32 id, bool saturated, u64 fpr_ppt, u64 limit_ppt),
	TP_ARGS(id, saturated, fpr_ppt, limit_ppt),
	TP_STRUCT__entry(__field(u32, id) __field(bool, saturated) __field(u64, fpr_ppt)
			 __field(u64, limit_ppt)),
	TP_fast_assign(
		__entry->id = id;
		__entry->saturated = saturated;
		__entry->fpr_ppt = fpr_ppt;
		__entry->limit_ppt = limit_ppt;
	),
	TP_printk("id=%u saturated=%d fpr_ppt=%llu limit_ppt=%llu", __entry->id,
		  __entry->saturated, __entry->fpr_ppt, __entry->limit_ppt)
);

#endif /* EPF_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
