/* SPDX-License-Identifier: GPL-2.0 */
/*
 * TAP for test programs in C. Exit status as in kselftest: 0 passed, 1 failed,
 * 4 skipped.
 */
#ifndef EPF_TAP_H
#define EPF_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define TAP_SKIPPED 4

static int tap_planned, tap_count, tap_failed;

static inline void tap_plan(int tests)
{
	tap_planned = tests;
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("TAP version 13\n1..%d\n", tests);
}

static inline void tap_skip_all(const char *reason)
{
	printf("TAP version 13\n1..0 # SKIP %s\n", reason);
}

/* Return: EPF_SEED, for properties that hold for any random input: 0, or the
 * seed of a second attempt. Statistical checks keep their fixed seeds.
 */
static inline unsigned long long tap_seed(void)
{
	const char *text = getenv("EPF_SEED");

	return text ? strtoull(text, NULL, 0) : 0;
}

__attribute__((format(printf, 3, 0))) static inline void tap_point(bool good, const char *fault,
								   const char *claim, va_list args)
{
	printf("%sok %d - ", good ? "" : "not ", ++tap_count);
	vprintf(claim, args);
	printf("%s%s\n", fault ? ": " : "", fault ? fault : "");
	tap_failed += !good;
}

/* Report one test point. The name of a statistical one ends with "# chance 1e-9", the
 * probability that it fails by chance (docs/TESTING.md). Return: @good.
 */
__attribute__((format(printf, 2, 3))) static inline bool tap_ok(bool good, const char *claim, ...)
{
	va_list args;

	va_start(args, claim);
	tap_point(good, NULL, claim, args);
	va_end(args);
	return good;
}

/* Report one test point. @fault: what is wrong, said behind the claim, or NULL. */
__attribute__((format(printf, 2, 3))) static inline bool tap_sound(const char *fault,
								   const char *claim, ...)
{
	va_list args;

	va_start(args, claim);
	tap_point(!fault, fault, claim, args);
	va_end(args);
	return !fault;
}

static inline int tap_end(void)
{
	return tap_failed || tap_count != tap_planned ? 1 : 0;
}

#endif /* EPF_TAP_H */
