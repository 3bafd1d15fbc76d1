/* SPDX-License-Identifier: GPL-2.0 */
/* DIR=FILTER[:OPTION,...]: what is to be done in a watched directory. */
#ifndef EPFAGENT_WATCH_CONF_H
#define EPFAGENT_WATCH_CONF_H

#include "epfagent/conf.h"

/**
 * watch_conf_parse() - read a directory's settings
 * @w: result, zeros before; to be freed also after a failure
 * @what: for errors
 * @text: of the user
 *
 * Return: false: an error is printed.
 */
bool watch_conf_parse(struct conf_watch *w, const char *what, const char *text);
void watch_conf_free(struct conf_watch *w);

#endif /* EPFAGENT_WATCH_CONF_H */
