/* SPDX-License-Identifier: GPL-2.0 */
/* DIR=FILTER[:OPTION,...]: the settings of a watched directory. */
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
void watch_conf_free(struct conf_watch *w);

#endif /* EPFAGENT_WATCH_CONF_H */
