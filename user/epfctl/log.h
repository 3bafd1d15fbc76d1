/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Records of --log-new: as text, as JSON lines, as IPFIX. */
#ifndef EPFCTL_LOG_H
#define EPFCTL_LOG_H

#include "cmd.h"
#include "epf/ingress.h"

/**
 * struct log_source - where a log comes from
 * @ifname: interface
 * @ifindex: its index
 * @key: options of the filter's keys
 * @ahead_ns: wall clock minus CLOCK_MONOTONIC
 */
struct log_source {
	const char *ifname;
	__u32 ifindex;
	struct epf_pkt_opts key;
	__u64 ahead_ns;
};

/* log_text.c */

/* Print a line, or JSON if @out_mode says so. */
void log_print(const struct log_source *from, const struct epf_ingress_record *r);
/* Report flows without a record: @left_out had no token, @ring_full no room. */
void log_print_missing(const struct log_source *from, __u64 left_out, __u64 ring_full);

/* log_ipfix.c: a file of RFC 7011 messages. Each function is NULL in a build without
 * libfixbuf. Prints errors.
 */

struct log_ipfix;
/* Return: NULL: an error is printed. */
struct log_ipfix *log_ipfix_open(const char *path) __attribute__((weak));
bool log_ipfix_put(struct log_ipfix *to, const struct log_source *from,
		   const struct epf_ingress_record *r) __attribute__((weak));
/* Write records that wait for a message to be full. */
bool log_ipfix_flush(struct log_ipfix *to) __attribute__((weak));
bool log_ipfix_close(struct log_ipfix *to) __attribute__((weak));

#endif /* EPFCTL_LOG_H */
