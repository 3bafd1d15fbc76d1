// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* epfctl status: what is attached where, and its counters. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "declared.h"
#include "ingress.h"
#include "nf.h"
#include "pin.h"
#include "xt_show.h"

static const struct option longs[] = { { 0 } };

static const struct spec spec = {
	.usage = "status [INTERFACE | nf:HOOK:PRIORITY | PATH]",
	/* clang-format off */
	.help =
"Print what is attached where, and the counters by reason and verdict. PATH is\n"
"where 'epfctl pin' has pinned a program. Without an operand print everything,\n"
"and the filters that rules of iptables use. NAME@N is in another network\n"
"namespace. What is declared (epochfilter.conf(5)) and not attached is named too.\n"
"exit status: 0 done, 1 nothing is attached there, or, without an operand, not\n"
"everything could be read, which a warning says\n",
	/* clang-format on */
	.shorts = "",
	.longs = longs,
};

/* Say in one line why it cannot be read. */
static void status_why_not(const char *name, int err, char text[PATH_MAX + 128])
{
	if (err == -EPERM || err == -EACCES)
		snprintf(text, PATH_MAX + 128,
			 "%s: this user may not read it: run as root, "
			 "or as the user who attached it",
			 name);
	else
		snprintf(text, PATH_MAX + 128, "cannot read the counters of '%s': %s", name,
			 xdp_pin_why(err));
}

static int status_error(const char *name, int err)
{
	char text[PATH_MAX + 128];

	status_why_not(name, err, text);
	return fail("%s", text);
}

/* Its name in messages. */
static void status_label(const char *name, char text[PATH_MAX])
{
	if (!pin_is_name(name) || !pin_there(name, text))
		snprintf(text, PATH_MAX, "%s", name);
}

/* Report on an interface. @list: an array to add it to; NULL: print it. Prints no errors.
 * Return: 0; 1: nothing is attached, but something was left behind; an error.
 */
static int interface_status(const char *ifname, json_t *list)
{
	struct xdp_state state;
	int err = xdp_read(ifname, &state);

	if (err)
		return err;
	if (list)
		json_array_append_new(list, xdp_json(ifname, &state));
	else if (out_mode == OUT_TEXT)
		xdp_show(ifname, &state);
	else
		out_json(xdp_json(ifname, &state));
	return !state.live;
}

static int status_of(const char *name, json_t *list)
{
	if (nf_is_name(name))
		return nf_status(name, list);
	if (pin_is_name(name))
		return pin_status(name, list);
	return interface_status(name, list);
}

/* The name for @operand. Return: 0; 1: an error is printed; -ENOENT; another error. */
static int status_name_of(const char *operand, char name[PATH_MAX])
{
	if (pin_is_path(operand))
		return pin_find(operand, name);
	if (nf_is_name(operand))
		return nf_name(operand, name) ? 0 : 1;
	snprintf(name, PATH_MAX, "%s", operand);
	return 0;
}

static int nothing(const char *operand)
{
	const char *what = pin_is_path(operand) ? "pin" :
			   nf_is_name(operand)  ? "hook" :
						  "interface";

	if (out_mode == OUT_TEXT)
		printf("%s: nothing is attached\n", operand);
	else
		out_json(json_pack("{s:o, s:b}", what, json_path(operand), "attached", false));
	return EXIT_ABSENT;
}

static int status_one(const char *operand)
{
	char name[PATH_MAX];
	int err = status_name_of(operand, name);

	if (err > 0)
		return EXIT_FAIL;
	if (!err)
		err = status_of(name, NULL);
	if (err == -ENOENT)
		return nothing(operand);
	if (err < 0)
		return status_error(operand, err);
	return err ? EXIT_ABSENT : EXIT_YES;
}

/* Return: false: it cannot be read, which a warning says; all others are shown. */
static bool status_next(const char *name, json_t *list)
{
	char path[PATH_MAX], text[PATH_MAX + 128];
	int err = status_of(name, list);

	if (err >= 0 || err == -ENOENT)
		return true;
	status_label(name, path);
	status_why_not(path, err, text);
	warn("%s", text);
	return false;
}

static int status_all(void)
{
	json_t *list = out_mode == OUT_TEXT ? NULL : json_array();
	int code = open_bpffs_there() ? EXIT_YES : EXIT_ABSENT, err;
	char **names;
	size_t i;

	err = xdp_pin_list(&names);
	if (err)
		code = status_error("all interfaces", err);
	for (i = 0; names && names[i]; i++) {
		if (!status_next(names[i], list))
			code = EXIT_ABSENT;
		free(names[i]);
	}
	free(names);
	xt_show(list);
	if (!declared_status(list) && code == EXIT_YES)
		code = EXIT_ABSENT;
	if (list && code != EXIT_FAIL)
		out_json(list);
	else
		json_decref(list);
	return code;
}

int cmd_status(int argc, char **argv)
{
	int opt;

	while ((opt = next_option(argc, argv, &spec)) >= 0)
		if (opt == '?')
			return EXIT_FAIL;
	if (!operands(argc, argv, 0, 1, &spec))
		return EXIT_FAIL;
	xdp_obj_quiet();
	if (!open_bpffs_there())
		warn("%s", open_no_bpffs());
	return argc > optind ? status_one(argv[optind]) : status_all();
}
