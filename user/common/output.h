/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Text or JSON on standard output, and numbers for people. */
#ifndef EPF_COMMON_OUTPUT_H
#define EPF_COMMON_OUTPUT_H

#include <jansson.h>
#include <stdbool.h>

#include <linux/types.h>

#include "common/error.h"

/* Of the JSON that epfctl prints: members are added without a new number. */
#define JSON_VERSION 1

enum out_mode { OUT_TEXT, OUT_JSON, OUT_PRETTY };
extern enum out_mode out_mode;

/* Call before any other use of JSON. */
void out_init(void);
/* A file name as a JSON string. If it is not valid UTF-8, characters above ASCII
 * become replacement characters.
 */
json_t *json_path(const char *path);
/* Print @value as one line (or indented) and drop the reference. */
void out_json(json_t *value);
/* Flush all output. Return: @code, or EXIT_FAIL with an error printed. */
int out_finish(int code);

/**
 * print_wrapped() - one paragraph on stdout in lines of at most 80 columns
 * @indent: spaces before each line but the first
 * @fmt: format of text without newlines, up to 1023 bytes; a word that is longer
 *	than a line is not split
 */
void print_wrapped(int indent, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Text that lives until the end of the expression that creates it. */
struct text {
	char s[48];
};
/* Exact below a million; otherwise four digits and k, M, G, T, P or E. */
struct text fmt_count(__u64 count);
struct text fmt_bytes(__u64 bytes);
struct text fmt_ns(__u64 ns);
/* A time on the wall clock, in UTC, as 2026-03-01T12:00:00.000000Z. */
struct text fmt_utc(__u64 wall_ns);
struct text fmt_rate(double rate);
struct text fmt_ppt(__u64 ppt);

double ppt_to_rate(__u64 ppt);

const char *mode_name(__u32 mode);
bool parse_hash(const char *what, const char *text, __u8 *hash);
const char *hash_name(__u32 hash);
const char *refresh_name(__u32 refresh);

#endif /* EPF_COMMON_OUTPUT_H */
