/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Configuration files of epfctl and epfagent: sections "[TYPE NAME]" with lines
 * "key = value", which libinih parses. Blanks at the beginning of a line mean nothing;
 * '#' and ';' begin comments, ';' also behind a value and a blank.
 *
 * Whoever may write such a file decides what root does. So a file belongs to root or to the
 * caller, and nobody else may write it. Errors are printed as one line, which begins with
 * FILE:LINE or with FILE.
 */
#ifndef EPF_COMMON_CONFFILE_H
#define EPF_COMMON_CONFFILE_H

#include <stdbool.h>

#define CONFFILE_BYTES_MAX (1u << 20)
#define CONFFILE_SECTION_MOST 48 /* bytes between the brackets */

/**
 * struct conf_line - a setting; valid during the call
 * @where: FILE:LINE
 * @header: FILE:LINE of the line of its section; "" before the first section
 * @section: text between the brackets; "" before the first section
 * @nr: number of its section in the file, from 1; 0 before the first section
 * @name: key
 * @value: without blanks at its ends
 */
struct conf_line {
	const char *where;
	const char *header;
	const char *section;
	unsigned int nr;
	const char *name;
	const char *value;
};

/* Return: false: an error is printed, and reading ends. */
typedef bool (*conf_line_fn)(void *ctx, const struct conf_line *line);

/**
 * conffile_read() - read one file
 * @path: file
 * @must: it is an error if there is none
 * @fn: called for each setting, in order
 * @ctx: for @fn
 *
 * Return: false: an error is printed.
 */
bool conffile_read(const char *path, bool must, conf_line_fn fn, void *ctx);

/* Likewise, of a file or of all files "*.conf" in a directory, in the order of their bytes. */
bool conffile_read_all(const char *path, conf_line_fn fn, void *ctx);

#endif /* EPF_COMMON_CONFFILE_H */
