/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Filters, attachments and pins that files declare: sections [filter NAME], [attach NAME] and
 * [pin PATH] whose keys are the long options of 'create', 'attach' and 'pin'. A section becomes
 * the command line of that verb, so its parser checks it and names FILE:LINE of the setting
 * that is wrong.
 */
#ifndef EPFCTL_DECLARED_H
#define EPFCTL_DECLARED_H

#include "cmd.h"

#define DECLARED_DIR "/etc/epochfilter/filters.d"

enum declared_type { DECLARED_FILTER, DECLARED_ATTACH, DECLARED_PIN, DECLARED_TYPES };
extern const char *const declared_names[DECLARED_TYPES];

/**
 * struct declared - a section
 * @type: what it declares
 * @name: of the filter, the interface or the hook, or the path of the pin
 * @word: command line; NULL after the last word
 * @at: FILE:LINE of each word; at[0] is that of the section
 * @nr: number of words
 * @filter: with DECLARED_PIN: operand that names the filter; NULL: not said yet
 * @filter_at: FILE:LINE of it
 * @saves: with DECLARED_FILTER: 'save' is not "no"
 * @save_ns: how old a saved state may be before it is saved again; 0: as its window says
 */
struct declared {
	enum declared_type type;
	char *name;
	char **word;
	char **at;
	int nr;
	char *filter;
	char *filter_at;
	bool saves;
	__u64 save_ns;
};

/**
 * struct declarations - all sections, in the order of the files
 */
struct declarations {
	struct declared *all;
	size_t nr;
	/* private to the reader */
	unsigned int section;
};

/**
 * declared_read() - read files
 * @d: result; must be freed also after an error
 * @paths: files and directories
 * @nr_paths: how many; 0: DECLARED_DIR
 *
 * Return: false: an error is printed.
 */
bool declared_read(struct declarations *d, char **paths, int nr_paths);
void declared_free(struct declarations *d);

/* The section that declares @name; NULL: none does. */
const struct declared *declared_find(const struct declarations *d, enum declared_type type,
				     const char *name);

/* Parse the command line of a section: begin with the common options unset. After
 * declared_end() they are as before, and errors no longer name the file.
 */
struct settings declared_begin(const struct declared *d);
void declared_end(const struct settings *s);

/* declared_show.c: the attachments and pins that are declared and not there, for 'status'.
 * @list: an array to add them to; NULL: print them. Return: false: an error is printed.
 */
bool declared_status(json_t *list);

#endif /* EPFCTL_DECLARED_H */
