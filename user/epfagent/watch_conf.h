/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The settings of a watched directory: a section of the file, or DIR=FILTER[:OPTION,...] in
 * one line. Functions return false after printing an error.
 */
#ifndef EPFAGENT_WATCH_CONF_H
#define EPFAGENT_WATCH_CONF_H

#include "epfagent/conf.h"

/**
 * watch_conf_parse() - parse the settings of a directory
 * @w: result, zeros before; must be freed also after a failure
 * @what: beginning of error messages
 * @text: value of the setting
 *
 * Return: false: an error was printed.
 */
bool watch_conf_parse(struct conf_watch *w, const char *what, const char *text);

/* A section: begin it, with @w as above; set each key of it; then check the whole. out_at()
 * says where an error is.
 */
bool watch_conf_begin(struct conf_watch *w, const char *section);
bool watch_conf_set(struct conf_watch *w, const char *name, const char *value);
bool watch_conf_end(struct conf_watch *w);

void watch_conf_free(struct conf_watch *w);

#endif /* EPFAGENT_WATCH_CONF_H */
