/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Numbers with units. Return: false: an error is printed, which names @what. */
#ifndef EPF_COMMON_PARSE_H
#define EPF_COMMON_PARSE_H

#include <stdbool.h>

#include <linux/types.h>

bool parse_count(const char *what, const char *text, __u64 max, __u64 *value);
bool parse_bytes(const char *what, const char *text, __u64 *bytes);
bool parse_ns(const char *what, const char *text, __u64 *ns);
/* A probability: over 0, at most 1. */
bool parse_rate(const char *what, const char *text, double *rate);
/* That of --budget, which a filter can be sized for. */
bool parse_budget(const char *text, double *rate);
/* A frequency: over 0, per second. */
bool parse_pps(const char *what, const char *text, double *pps);
/* 32 hex digits, as the 16 bytes of the key. */
bool parse_hash_key(const char *what, const char *text, __u64 key[2]);
/* Can a filter have this name? If not, prints an error. */
bool parse_name(const char *name);

#endif /* EPF_COMMON_PARSE_H */
