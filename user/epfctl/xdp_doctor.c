// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* epfctl doctor: is everything attached that has pins, and does what is attached have pins? */
#include "doctor.h"
#include "nf.h"
#include "pin.h"

#include <net/if.h>
#include <stdarg.h>
#include <stdlib.h>

/* What is found; text without room is left out. */
struct report {
	char there[DOCTOR_LEN]; /* attached */
	char gone[DOCTOR_LEN];
	char detach[DOCTOR_LEN]; /* the commands that remove what is gone */
};

static void xdp_doctor_add(char to[DOCTOR_LEN], const char *fmt, ...)
{
	size_t len = strlen(to);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(to + len, DOCTOR_LEN - len, fmt, ap);
	va_end(ap);
}

/* Return: 1: attached; 0: no longer; a negative errno. @label: its name in messages */
static int xdp_doctor_attached(const char *name, char label[PATH_MAX])
{
	struct nf_state hook;
	struct xdp_state on;
	int err;

	snprintf(label, PATH_MAX, "%s", name);
	if (pin_is_name(name))
		return pin_there(name, label);
	if (nf_is_name(name)) {
		err = nf_read(name, &hook);
		return err ? err : hook.live[0] || hook.live[1];
	}
	err = xdp_read(name, &on);
	return err ? err : on.live;
}

static void xdp_doctor_look_at(const char *name, struct report *r)
{
	char label[PATH_MAX];
	int is = xdp_doctor_attached(name, label);
	bool far = strchr(name, '@') && !pin_is_name(name) && !nf_is_name(name);

	if (is < 0)
		xdp_doctor_add(r->there, "%s%.64s (cannot be read)", *r->there ? ", " : "", label);
	else if (far)
		xdp_doctor_add(r->there, "%s%.*s in another network namespace",
			       *r->there ? ", " : "", (int)strcspn(name, "@"), name);
	else if (is)
		xdp_doctor_add(r->there, "%s%.64s", *r->there ? ", " : "", label);
	else {
		xdp_doctor_add(r->gone, "%s%.64s", *r->gone ? ", " : "", label);
		xdp_doctor_add(r->detach, "%s'epfctl detach %.64s'", *r->detach ? ", " : "run ",
			       label);
	}
}

/* Has an attachment of this network namespace the program? */
static bool has_pins(char **names, __u32 prog)
{
	struct xdp_state s;

	for (; *names; names++)
		if (!nf_is_name(*names) && !pin_is_name(*names) && !xdp_read(*names, &s) &&
		    s.here && s.conf.prog_id == prog)
			return true;
	return false;
}

/* Programs of ours that no pins belong to: nothing counts or detaches them. The kernel knows what
 * is inside a dispatcher, whose other programs stay.
 */
static void look_at_link(char **names, const struct if_nameindex *on, struct report *r)
{
	__u32 main = xdp_link_on(on->if_index), link = 0, prog;

	if (main && xdp_link_ours(main) && !has_pins(names, main)) {
		xdp_doctor_add(r->gone, "%sthe pins of program %u on %s", *r->gone ? ", " : "",
			       main, on->if_name);
		xdp_doctor_add(r->detach, "%s'ip link set dev %s xdp off'",
			       *r->detach ? ", " : "run ", on->if_name);
	}
	while (main && (prog = xdp_link_inside(main, &link))) {
		if (has_pins(names, prog))
			continue;
		xdp_doctor_add(r->gone, "%sthe pins of program %u in the dispatcher of %s",
			       *r->gone ? ", " : "", prog, on->if_name);
		xdp_doctor_add(r->detach, "%s'xdp-loader unload %s --id %u'",
			       *r->detach ? ", " : "run ", on->if_name, prog);
	}
}

static void look_at_links(char **names, struct report *r)
{
	struct if_nameindex *all = if_nameindex(), *i;

	for (i = all; i && i->if_name; i++)
		look_at_link(names, i, r);
	if (all)
		if_freenameindex(all);
}

bool ask_bpf_attached(const struct machine *m, char *state, char *remedy)
{
	struct report r = { .there = "" };
	char **names;
	size_t i;

	(void)m;
	xdp_obj_quiet();
	if (xdp_pin_list(&names)) {
		snprintf(state, DOCTOR_LEN, "not known: run as root");
		free(names);
		return true;
	}
	for (i = 0; names[i]; i++)
		xdp_doctor_look_at(names[i], &r);
	look_at_links(names, &r);
	for (i = 0; names[i]; i++)
		free(names[i]);
	free(names);
	if (*r.gone)
		snprintf(state, DOCTOR_LEN, "%.200s: gone", r.gone);
	else
		snprintf(state, DOCTOR_LEN, "%s", *r.there ? r.there : "none");
	snprintf(remedy, DOCTOR_LEN, "%s", r.detach);
	return !*r.gone;
}
