/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the files of the C library share: they check what programs pass, and call libepf's
 * own functions.
 */
#ifndef EPF_LIB_H
#define EPF_LIB_H

#include <linux/epochfilter.h>

#include "epf/batch.h"
#include "libepf.h"
#include "libepf/plan.h"

/* error.c: */

/* Set the text of libepf_error(). Return: @err. */
int lib_fail(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* "WHAT: text of the errno". Return: @err. */
int lib_errno(int err, const char *what);
int lib_no_memory(void);
/* Set the text for a snapshot file that cannot be opened. Return: @err. */
int lib_snap_fail(int err, const char *path, enum epf_snap_fault fault);

/* args.c: */

/**
 * lib_options() - take a struct of options
 * @to: result, of @known bytes
 * @known: its size
 * @first: its size when first published
 * @from: what the program passed; NULL: all defaults, unless @needed
 * @needed: it must be there
 *
 * Return: 0, -EINVAL, -E2BIG: the text is set.
 */
int lib_options(void *to, uint32_t known, uint32_t first, const void *from, bool needed);
/* Copy @known bytes of results to a program's struct, as many as it has, and zeros to the
 * rest; its size stays. The struct was checked by lib_out().
 */
void lib_give(void *to, const void *results, uint32_t known);
/* Is this a struct for results, of at least @first bytes? Return: 0, or -EINVAL. */
int lib_out(const void *to, uint32_t first);
/* Are the keys valid? Return: 0, or -EINVAL. */
int lib_keys(const struct libepf_keys *keys);
/* Is the name of a filter valid? Return: 0, or -EINVAL. */
int lib_name(const char *name);

/**
 * struct lib_walk - keys, one after the other
 * @keys: valid
 * @at: the next key
 * @i: its index
 */
struct lib_walk {
	const struct libepf_keys *keys;
	const unsigned char *at;
	size_t i;
};

static inline struct lib_walk lib_walk(const struct libepf_keys *keys)
{
	return (struct lib_walk){ keys, keys->data, 0 };
}

/* Return: the next key, of *@len bytes; NULL: there are no more. */
static inline const void *lib_next(struct lib_walk *w, uint32_t *len)
{
	const void *key = w->at;

	if (w->i == w->keys->n)
		return NULL;
	*len = w->keys->lens ? w->keys->lens[w->i] : (uint32_t)w->keys->len;
	w->at += *len;
	w->i++;
	return key;
}

/* The answer of a filter (epf_mem_test()) as an age. */
static inline uint8_t lib_age(int verdict)
{
	return epf_batch_age(EPF_BATCH_UNKNOWN, verdict);
}

/* plan.c: */

/**
 * struct lib_planned - a plan that was checked and sized
 * @planned: parameters, with name, hash and refresh
 * @key: hash key, if @has_key
 * @align: epochs end by the wall clock
 */
struct lib_planned {
	struct epf_planned planned;
	__u64 key[2];
	bool has_key;
	bool align;
};
/* Copy a plan, of any size. Return: 0, -EINVAL, -E2BIG. */
int lib_plan_take(const struct libepf_plan *plan, struct libepf_plan *to);
/* Returns as libepf_plan_size(). */
int lib_plan(const struct libepf_plan *plan, struct lib_planned *p);

/* info.c: */
double lib_share(__u64 ppt); /* parts per trillion as a share */
void lib_info(struct libepf_info *to, const struct epf_info *from);
void lib_info_params(struct libepf_info *to, const struct epf_params *p,
		     const struct epf_key_desc *desc);

/* The size of a struct when first published, whose last member was @last then. */
#define LIB_FIRST(type, last) \
	((uint32_t)(offsetof(struct type, last) + sizeof(((struct type *)0)->last)))
#define LIB_INFO_FIRST LIB_FIRST(libepf_info, wall_ns)

/* kernel.c: */
int lib_kernel_fd(const struct libepf_kernel *kernel);
/* Information on the filter of descriptor @fd. Return: 0, or a negative errno; with -EUCLEAN
 * the name is set.
 */
int lib_kernel_info(int fd, struct libepf_info *info);

/* backend.c: */

/* Begin, and end, calls on filters of the kernel, which libbpf may comment. */
void lib_quiet(void);
void lib_loud(void);
/* What went wrong with a filter: "@what@name: text". Between the two above or after them.
 * Return: @err.
 */
int lib_kernel_failed(int err, const char *what, const char *name);
/* Is there such a backend? Return: 0, or -EINVAL, -EOPNOTSUPP. */
int lib_backend(uint32_t backend);
/* A control descriptor of it. */
int lib_control(uint32_t backend);

/* bpf.c; each function is NULL if the library was built without libbpf: */

/* Add the backend for filters that are pure BPF; once, before all other calls. */
void lib_bpf_add(void) __attribute__((weak));
/* Until lib_bpf_loud(), what libbpf says in this thread is kept and not printed. */
void lib_bpf_quiet(void) __attribute__((weak));
void lib_bpf_loud(void) __attribute__((weak));
/* The first line of what it said; "": nothing. */
const char *lib_bpf_said(void) __attribute__((weak));

#endif /* EPF_LIB_H */
