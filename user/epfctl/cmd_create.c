// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* epfctl create: make a filter, of the module or in pure BPF. */
#include "create.h"

#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <unistd.h>

#include "ebpf/ebpf.h"
#include "xdp.h"

enum {
	OPT_FIRST_SEEN = OPT_PROMISE_END,
	OPT_STRICT,
	OPT_HASH,
	OPT_KEY,
	OPT_ALIGN,
	OPT_ROTATE,
	OPT_KEY_FILE
};

const struct option create_longs[] = {
	PROMISE_LONGS,
	KIND_LONGS,
	{ "first-seen", no_argument, NULL, OPT_FIRST_SEEN },
	{ "strict", no_argument, NULL, OPT_STRICT },
	{ "hash", required_argument, NULL, OPT_HASH },
	{ "key", required_argument, NULL, OPT_KEY }, /* else it would abbreviate --key-file */
	{ "key-file", required_argument, NULL, OPT_KEY_FILE },
	{ "align", no_argument, NULL, OPT_ALIGN },
	{ "rotate", required_argument, NULL, OPT_ROTATE },
	{ 0 },
};

static bool create_take_option(struct create_request *w, int opt)
{
	switch (opt) {
	case OPT_FIRST_SEEN:
		w->first_seen = true;
		return true;
	case OPT_STRICT:
		w->hash = EPF_HASH_SIPHASH24;
		return true;
	case OPT_HASH:
		return parse_hash("--hash", optarg, &w->hash);
	case OPT_ALIGN:
		w->align = true;
		return true;
	case OPT_ROTATE:
		return parse_rotate(optarg, &w->rotate);
	case OPT_KEY:
		fail("--key: other users see the arguments of a command: put the key into a "
		     "file of mode 600, and give --key-file");
		return false;
	case OPT_KEY_FILE:
		w->has_key = true;
		return read_key_file(optarg, w->key);
	default:
		return kind_option(&w->plan_request, opt, optarg);
	}
}

static void create_report(const struct epf_planned *plan, __u32 id)
{
	__u64 bytes = plan->bytes;

	if (out_mode != OUT_TEXT) {
		json_t *o = params_json(&plan->params, &plan->shape);

		json_object_set_new(o, "id", json_integer(id));
		json_object_set_new(o, "memory_bytes", json_integer((json_int_t)bytes));
		pace_json(o, &plan->params);
		if (plan->keys)
			json_object_set_new(o, "predicted_fpr", json_real(plan->fpr));
		out_json(o);
		return;
	}
	printf("created %s (id %u): %s", plan->params.name, id, fmt_bytes(bytes).s);
	if (plan->keys)
		printf(", predicted false-positive rate %s", fmt_rate(plan->fpr).s);
	putchar('\n');
	pace_print(&plan->params);
}

bool create_plan(const struct create_request *w, const char *name, struct epf_planned *plan)
{
	struct epf_plan_request p = w->plan_request;

	if (w->align ? !plan_aligned(&p, plan) : !plan_geometry(&p, plan))
		return false;
	strcpy(plan->params.name, name); /* parse_name() has checked the length */
	plan->params.hash = w->hash;
	plan->params.refresh = w->first_seen ? EPF_FIRST_SEEN : EPF_REFRESH;
	return true;
}

/* Explain why the kernel refused a pure BPF filter. Return: false: no error is printed
 * yet.
 */
static bool create_refused(int err)
{
	/* libbpf loads BTF only if it may; without BTF the verifier complains. */
	if ((err == -EPERM || err == -EINVAL) && caps_token_denied("creating a filter", false))
		return true;
	if (xdp_obj_needs_perfmon("creating a filter"))
		return true;
	if (err != -EPERM && *xdp_obj_complaint())
		warn("%s", xdp_obj_complaint());
	return false;
}

/* Is --rotate possible for this filter? If not, prints an error. */
static bool can_rotate(const struct create_request *w, bool module)
{
	if (!module && w->align && w->rotate == ROTATE_KERNEL) {
		fail("--align needs --rotate process: " EPF_TIMER_NO_CLOCK);
		return false;
	}
	return rotate_possible(w->rotate, module);
}

void create_tell_backend(enum rotate rotate, const char *name)
{
	if (rotate == ROTATE_KERNEL)
		printf("%s is pure BPF, and the kernel ends its epochs\n", name);
	else
		printf("%s is pure BPF: it answers 'do not know' until "
		       "'epfctl hold %s' runs\n",
		       name, name);
}

int create_planned(struct create_request *w, const struct epf_planned *plan, __u32 *id,
		   bool *is_module)
{
	struct epf_create_opts opts = {
		.size = sizeof(opts),
		.shape = &plan->shape,
		.flags = w->align ? EPF_CREATE_ALIGN : 0,
		.key = w->has_key ? w->key : NULL,
	};
	bool module;
	int dev, err;

	dev = open_device();
	if (dev < 0)
		return EXIT_FAIL;
	module = *is_module = epf_is_module(dev);
	if (!can_rotate(w, module) ||
	    (!module && !caps_ok("creating a filter that is pure BPF", CAPS_PROGRAMS))) {
		epf_close(dev);
		return EXIT_FAIL;
	}
	if (!module && xdp_obj_quiet)
		xdp_obj_quiet();
	err = rotate_create(dev, &plan->params, &opts, &w->rotate, id);
	explicit_bzero(w->key, sizeof(w->key));
	epf_close(dev);
	if (err == -EEXIST)
		return fail("there is a filter '%s' already: destroy it, or "
			    "use another name",
			    plan->params.name);
	if (plan->params.kind && err == -EOPNOTSUPP && !module)
		return fail("without the module a filter can only be of --kind "
			    "lanes");
	if (plan->params.kind &&
	    (err == -EOPNOTSUPP || (err == -E2BIG && !limits_forbid(plan->bytes))))
		return fail("the kernel has no filters of that --kind: try "
			    "'modprobe epochfilter_kinds', install the modules "
			    "of this version, or leave --kind out");
	if (w->align && err == -EINVAL)
		return fail("this kernel module does not know --align: load a "
			    "newer one, or leave it out");
	if (err && !module && create_refused(err))
		return EXIT_FAIL;
	if (err)
		return fail_limits(err, "creating a filter", NULL, true, plan->bytes);
	return EXIT_YES;
}

static int create_filter(struct create_request *w, const char *name)
{
	struct epf_planned plan;
	bool module;
	__u32 id;

	if (!create_plan(w, name, &plan) || create_planned(w, &plan, &id, &module))
		return EXIT_FAIL;
	if (!module && out_mode == OUT_TEXT)
		create_tell_backend(w->rotate, name);
	create_report(&plan, id);
	pace_warn(&w->plan_request, &plan.params);
	return EXIT_YES;
}

const char *create_parse(int argc, char **argv, struct create_request *w)
{
	static char help[4096];
	static const struct spec spec = {
		.usage = "create NAME (--window COUNT | --time DURATION) "
			 "[options]",
		.help = help,
		.shorts = PROMISE_SHORTS,
		.longs = create_longs,
	};
	int opt;

	memset(w, 0, sizeof(*w));
	w->hash = EPF_HASH_NH;

	snprintf(help, sizeof(help), "%s%s%s", plan_help, kind_help,
		 "      --first-seen        a repeat does not restart its window\n"
		 "      --hash HASH         nh (default), siphash13 or siphash24; nh is siphash13\n"
		 "                          for keys up to 64 bytes and faster for longer ones\n"
		 "      --strict            the same as --hash siphash24\n"
		 "      --key-file FILE     hash key, 32 hex digits (default: random; whoever\n"
		 "                          knows it can craft false positives); without '/' a\n"
		 "                          credential of the systemd unit\n"
		 "      --align             end epochs by the wall clock, for 'merge'\n"
		 "      --rotate WHO        who ends the epochs of a pure BPF filter: 'kernel', a\n"
		 "                          BPF timer (default where it works), or 'process',\n"
		 "                          which is 'epfctl hold' or epfagent\n");
	while ((opt = next_option(argc, argv, &spec)) >= 0)
		if (!create_take_option(w, opt))
			return NULL;
	if (!operands(argc, argv, 1, 1, &spec) || !parse_name(argv[optind]))
		return NULL;
	return argv[optind];
}

int cmd_create(int argc, char **argv)
{
	struct create_request w;
	const char *name = create_parse(argc, argv, &w);

	return name ? create_filter(&w, name) : EXIT_FAIL;
}
