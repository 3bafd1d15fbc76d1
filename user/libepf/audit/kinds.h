/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Owned kinds, to be asked: a filter of the core over the memory of a snapshot.
 */
#ifndef LIBEPF_AUDIT_KINDS_H
#define LIBEPF_AUDIT_KINDS_H

#include "audit.h"
#include "epf/image.h"

/**
 * struct epf_asked - a filter that nothing is inserted into
 * @kind: enum epf_kind
 * @now_ns: time at which it is asked, on its clock; of kinds that have one
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
 * Return: 0; -EOPNOTSUPP: not of an owned kind; -EINVAL: no such filter.
 */
int epf_asked_init(struct epf_asked *a, const struct epf_params *params,
		   const struct epf_snap_owned *s);

/* Its memory is at @word. Return: can it be? Else it is not to be asked. */
bool epf_asked_place(struct epf_asked *a, __u64 *word);

/* The same in steps. First the place: */
void epf_asked_at(struct epf_asked *a, __u64 *word);

/**
 * epf_asked_check() - look at some of its memory
 * @a: filter with memory
 * @nr: 0 at first; how far it is
 *
 * Return: 1: there is more to look at; 0: it can be asked; -EINVAL: it cannot.
 */
int epf_asked_check(const struct epf_asked *a, __u64 *nr);

/* Age of a digest, 254 for more, or EPF_AGE_ABSENT. */
unsigned char epf_asked_age(const struct epf_asked *a, __u64 digest);

#endif /* LIBEPF_AUDIT_KINDS_H */
