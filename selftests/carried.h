/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What swap, restore and clear do to each word that a filter reports: one table for the
 * filters of the module and of pure BPF.
 */
#ifndef SELFTESTS_CARRIED_H
#define SELFTESTS_CARRIED_H

#include <linux/epochfilter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum carried_op {
	CARRIED_SWAP,
	CARRIED_RESTORE,
	CARRIED_CLEAR, /* by rotations */
	CARRIED_ANEW,  /* clear of a resizable kind: by a new table */
	CARRIED_OPS
};

static const char *const carried_names[CARRIED_OPS] = { "swap", "restore", "clear", "clear" };

/**
 * struct carried_look - a filter at one moment
 * @info: what it reports
 * @key: its hash key
 */
struct carried_look {
	struct epf_info info;
	__u64 key[2];
};

/* What a word is afterwards. */
enum carried_want {
	ANY,   /* not promised */
	OWN,   /* as before */
	GIVEN, /* as in the other filter, or in the snapshot of it */
	LONG,  /* at least that: a time that goes on */
	LESS,  /* almost that: a snapshot lacks what CPUs had not yet passed on */
	SHORT, /* a time since the operation began */
	ZERO,
	MORE, /* than its own before */
	FIRST /* as in a new filter */
};

#define CARRIED_FIRST 8u  /* number of the first epoch */
#define CARRIED_KEPT 512u /* insertions that two CPUs pass on later */

#define CARRIED(name, member, ...)                                     \
	{                                                              \
		name, offsetof(struct carried_look, member),           \
			sizeof(((struct carried_look *)0)->member), 0, \
		{                                                      \
			__VA_ARGS__                                    \
		}                                                      \
	}
#define CARRIED_FLAG(name, flag, ...)                                     \
	{                                                                 \
		name, offsetof(struct carried_look, info.flags), 4, flag, \
		{                                                         \
			__VA_ARGS__                                       \
		}                                                         \
	}

/* clang-format off */
static const struct carried_word {
	const char *name;
	size_t at, bytes;
	__u32 mask; /* of a word of flags; 0: all */
	enum carried_want want[CARRIED_OPS];
} carried_words[] = {
	/* word; swap, restore, clear, clear of a resizable kind */
	CARRIED("id",              info.id,                     OWN,   OWN,   OWN,   OWN),
	CARRIED("name",            info.params.name,            OWN,   OWN,   OWN,   OWN),
	CARRIED("kind",            info.params.kind,            GIVEN, GIVEN, OWN,   OWN),
	CARRIED("refresh",         info.params.refresh,         GIVEN, GIVEN, OWN,   OWN),
	CARRIED("lines",           info.params.nr_lines,        GIVEN, GIVEN, OWN,   OWN),
	CARRIED("shape",           info.shape,                  GIVEN, GIVEN, OWN,   OWN),
	CARRIED("insertions of W", info.params.window_inserts,  GIVEN, GIVEN, OWN,   OWN),
	CARRIED("ns of W",         info.params.window_ns,       GIVEN, GIVEN, OWN,   OWN),
	CARRIED("budget",          info.params.budget_ppt,      GIVEN, GIVEN, OWN,   OWN),
	CARRIED("limit",           info.params.limit_ppt,       GIVEN, GIVEN, OWN,   OWN),
	CARRIED("hash key",        key,                         GIVEN, GIVEN, OWN,   OWN),
	CARRIED("description",     info.desc,                   GIVEN, GIVEN, OWN,   OWN),
	CARRIED_FLAG("saturated", EPF_INFO_SATURATED,           GIVEN, GIVEN, ZERO,  ZERO),
	CARRIED_FLAG("pinned", EPF_INFO_PINNED,                 GIVEN, ZERO,  OWN,   ZERO),
	CARRIED_FLAG("journal", EPF_INFO_JOURNAL,               ZERO,  ZERO,  OWN,   ZERO),
	CARRIED_FLAG("aligned", EPF_INFO_ALIGNED,               GIVEN, OWN,   OWN,   OWN),
	CARRIED("epoch",           info.epoch,                  GIVEN, GIVEN, MORE,  FIRST),
	CARRIED("current epoch",   info.epochs[0].inserts,      GIVEN, LESS,  ZERO,  ZERO),
	CARRIED("epoch before",    info.epochs[1].inserts,      GIVEN, GIVEN, ZERO,  ZERO),
	CARRIED("its age",         info.epochs[1].age_ns,       LONG,  LONG,  SHORT, ZERO),
	CARRIED("insertions",      info.stats.inserts,          GIVEN, GIVEN, OWN,   OWN),
	CARRIED("hits",            info.stats.hits,             GIVEN, ZERO,  OWN,   ZERO),
	CARRIED("misses",          info.stats.misses,           GIVEN, ZERO,  OWN,   ZERO),
	CARRIED("failed open",     info.stats.failed_open,      GIVEN, ZERO,  OWN,   ZERO),
	CARRIED("rotations",       info.stats.rotations,        GIVEN, ZERO,  MORE,  ZERO),
	CARRIED("saturations",     info.stats.saturations,      GIVEN, ANY,   OWN,   ZERO),
	CARRIED("age",             info.age_ns,                 LONG,  SHORT, LONG,  SHORT),
	CARRIED("covered",         info.covered_inserts,        GIVEN, GIVEN, ZERO,  ZERO),
	CARRIED("covered ns",      info.covered_ns,             LONG,  LONG,  SHORT, SHORT),
	CARRIED("kept ns",         info.kept_ns,                SHORT, SHORT, SHORT, SHORT),
};
/* clang-format on */

static inline __u64 carried_value(const struct carried_word *w, const struct carried_look *l)
{
	__u64 value = 0;

	memcpy(&value, (const char *)l + w->at, w->bytes < 8 ? w->bytes : 8);
	return w->mask ? value & w->mask : value;
}

static inline bool carried_same(const struct carried_word *w, const struct carried_look *l,
				const struct carried_look *m)
{
	return w->mask ? carried_value(w, l) == carried_value(w, m) :
			 !memcmp((const char *)l + w->at, (const char *)m + w->at, w->bytes);
}

static inline bool carried_good(const struct carried_word *w, enum carried_want want,
				const struct carried_look *now, const struct carried_look *own,
				const struct carried_look *other, __u64 ns)
{
	__u64 value = carried_value(w, now);

	switch (want) {
	case OWN:
		return carried_same(w, now, own);
	case GIVEN:
		return carried_same(w, now, other);
	case LONG:
		return value >= carried_value(w, other);
	case LESS:
		return carried_value(w, other) - value <= CARRIED_KEPT;
	case SHORT:
		return value <= ns;
	case ZERO:
		return !value;
	case MORE:
		return value > carried_value(w, own);
	case FIRST:
		return value == CARRIED_FIRST;
	default:
		return true;
	}
}

/**
 * carried_wrong() - judge a filter after an operation
 * @op: the operation
 * @now: the filter now
 * @own: the filter before
 * @other: the other filter of a swap or a restore; for a clear @own
 * @ns: time since before the operation
 *
 * Return: how many words are wrong; each is named.
 */
static inline unsigned int carried_wrong(enum carried_op op, const struct carried_look *now,
					 const struct carried_look *own,
					 const struct carried_look *other, __u64 ns)
{
	const struct carried_word *w = carried_words;
	unsigned int wrong = 0;

	for (; w < carried_words + sizeof(carried_words) / sizeof(*w); w++) {
		if (carried_good(w, w->want[op], now, own, other, ns))
			continue;
		printf("# %s of '%s': %s: %llu, before %llu, of the other %llu; within %llu ns\n",
		       carried_names[op], own->info.params.name, w->name, carried_value(w, now),
		       carried_value(w, own), carried_value(w, other), ns);
		wrong++;
	}
	return wrong;
}

#endif /* SELFTESTS_CARRIED_H */
