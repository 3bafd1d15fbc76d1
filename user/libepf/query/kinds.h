/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Queries of locked kinds: a filter of the core over the memory of a snapshot.
 */
#ifndef LIBEPF_QUERY_KINDS_H
#define LIBEPF_QUERY_KINDS_H

#include "audit.h"
#include "epf/image.h"

/**
 * struct epf_asked - a filter that nothing is inserted into
 * @kind: enum epf_kind
 * @now_ns: time of the queries, on the filter's clock, for kinds that have one
 */
struct epf_asked {
	__u32 kind;
	__u64 now_ns;
	union {
		__u64 *word;
		struct epf_ge ge;
		struct epf_gebl gebl;
		struct epf_apbf apbf;
		struct epf_apbbf apbbf;
		struct epf_tlbf tlbf;
		struct epf_dict dict;
		struct epf_chain chain;
	};
};

/**
 * epf_asked_init() - a filter in the state of a snapshot
 * @a: result, zeroed; it has no memory yet
 * @params: of the snapshot
 * @s: state
 *
 * Return: 0; -EOPNOTSUPP: not of a locked kind; -EINVAL: no filter can be so.
 */
int epf_asked_init(struct epf_asked *a, const struct epf_params *params,
		   const struct epf_snap_owned *s);

/* Set its memory to @word. Return: is the memory valid? If not, do not query it. */
bool epf_asked_place(struct epf_asked *a, __u64 *word);

/* The same in steps. First set the memory: */
void epf_asked_at(struct epf_asked *a, __u64 *word);

/**
 * epf_asked_check() - check some of its memory
 * @a: filter with memory
 * @nr: position of the check; 0 at first
 *
 * Return: 1: there is more to check; 0: the memory is valid; -EINVAL: it is not.
 */
int epf_asked_check(const struct epf_asked *a, __u64 *nr);

/* The age of a digest, 254 if older, or EPF_AGE_ABSENT. */
unsigned char epf_asked_age(const struct epf_asked *a, __u64 digest);

#endif /* LIBEPF_QUERY_KINDS_H */
