// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* epfctl export: what there is, as files declare it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attach.h"
#include "common/conffile.h"
#include "ebpf/ebpf.h"
#include "pin.h"

/* Is @name among the operands, or are there none? */
static bool export_chosen(const char *name, char **names, int nr)
{
	int i;

	for (i = 0; i < nr; i++)
		if (!strcmp(names[i], name))
			return true;
	return !nr;
}

/* What cannot be declared is a comment, and a warning. Return: EXIT_ABSENT. */
static int leave_out(FILE *out, const char *type, const char *name, const char *why)
{
	fprintf(out, "# [%s %s]\n# is left out: %s\n\n", type, name, why);
	warn("'%s' is left out: %s", name, why);
	return EXIT_ABSENT;
}

/* Exactly, unlike fmt_ppt(): a rate is a whole number of 1e-12. */
static void put_rate(FILE *out, const char *key, __u64 ppt)
{
	fprintf(out, "%s = %.13g\n", key, (double)ppt / (double)EPF_RATE_ONE);
}

/* Exactly, unlike fmt_ns(). */
static void put_time(FILE *out, __u64 ns)
{
	static const char *const units[] = { "ns", "us", "ms", "s" };
	size_t i;

	for (i = 0; i + 1 < ARRAY_SIZE(units) && ns % 1000 == 0; i++)
		ns /= 1000;
	fprintf(out, "time = %llu%s\n", ns, units[i]);
}

static void put_window(FILE *out, const struct epf_params *p)
{
	if (p->window_inserts)
		fprintf(out, "window = %llu\n", p->window_inserts);
	if (p->window_ns)
		put_time(out, p->window_ns);
	if (p->window_inserts && p->window_ns)
		fprintf(out, "mode = %s\n", mode_name(p->mode));
	put_rate(out, "budget", p->budget_ppt);
	if (p->limit_ppt == EPF_RATE_ONE)
		fputs("limit = never\n", out);
	else
		put_rate(out, "limit", p->limit_ppt);
}

static void put_size(FILE *out, const struct epf_info *info)
{
	const struct epf_params *p = &info->params;

	if (!p->kind) {
		fprintf(out, "lines = %llu\nlines-per-key = %u\nbits-per-key = %u\n", p->nr_lines,
			p->lines_per_key, p->bits_per_key);
		return;
	}
	fputs("kind = ", out);
	kind_put(out, p->kind, &info->shape);
	fputc('\n', out);
}

static void put_filter(FILE *out, const struct epf_info *info, bool module)
{
	const struct epf_params *p = &info->params;

	fprintf(out,
		"[filter %s]\n"
		"# its hash key is secret: without a key-file 'apply' makes another one\n"
		"backend = %s\n",
		p->name, module ? "module" : "bpf");
	put_window(out, p);
	put_size(out, info);
	fprintf(out, "hash = %s\n", hash_name(p->hash));
	if (p->refresh == EPF_FIRST_SEEN)
		fputs("first-seen = yes\n", out);
	if (info->flags & EPF_INFO_ALIGNED)
		fputs("align = yes\n", out);
	if (!module)
		fprintf(out, "rotate = %s\n", ebpf_is_timed(p->name) ? "kernel" : "process");
	fputc('\n', out);
}

/* Return: EXIT_YES; EXIT_ABSENT: it cannot be declared, which a warning says. */
static int export_filter(FILE *out, int dev, __u32 id, char **names, int nr)
{
	int filter = epf_dev_filter_id(dev, id), err;
	struct epf_info info;

	if (filter < 0)
		return EXIT_YES; /* destroyed in the meantime */
	err = epf_filter_info(filter, &info);
	epf_close(filter);
	if (err == -ENODEV || !export_chosen(info.params.name, names, nr))
		return EXIT_YES;
	if (err) {
		return leave_out(out, "filter", info.params.name, strerror(-err));
	}
	put_filter(out, &info, epf_is_module(dev));
	return EXIT_YES;
}

static int export_in(FILE *out, int dev, char **names, int nr)
{
	__u32 *ids = NULL;
	int count = epf_dev_list(dev, &ids), i, ret = EXIT_YES;

	if (count < 0)
		return fail_call(count, "listing filters", NULL);
	for (i = 0; i < count; i++)
		if (export_filter(out, dev, ids[i], names, nr))
			ret = EXIT_ABSENT;
	free(ids);
	return ret;
}

static int export_filters(FILE *out, char **names, int nr)
{
	int dev = open_device(), second, ret, more = EXIT_YES;

	if (dev < 0)
		return EXIT_FAIL;
	ret = export_in(out, dev, names, nr);
	second = epf_backend_second(dev);
	if (second >= 0) {
		more = export_in(out, second, names, nr);
		epf_close(second);
	}
	epf_close(dev);
	return ret > more ? ret : more;
}

/* "--key flow --reverse" as lines "key = flow", "reverse = yes" */
static void put_options(FILE *out, char *text)
{
	char *next;

	for (text += 2; text; text = next) {
		char *value;

		next = strstr(text, " --");
		if (next) {
			*next = 0;
			next += 3;
		}
		value = strchr(text, ' ');
		if (value)
			*value++ = 0;
		fprintf(out, "%s = %s\n", text, value ?: "yes");
	}
}

static void put_section(FILE *out, const char *type, const char *name, char *text)
{
	fprintf(out, "[%s %s]\n", type, name);
	put_options(out, text);
	fputc('\n', out);
}

static int export_attachment(FILE *out, const char *name)
{
	struct attached *a = calloc(1, sizeof(*a));
	int err = a ? attached_read(name, a) : -ENOMEM;
	char *text = err || !a->live || !a->filter[0] ? NULL : attach_text(&a->words);

	int ret = EXIT_YES;

	if (text)
		put_section(out, "attach", name, text);
	else if (err != -ENOENT)
		ret = leave_out(out, "attach", name,
				err ? strerror(-err) : "its program or its filter is gone");
	free(text);
	free(a);
	return ret;
}

/* @name: of its record */
static int export_pin(FILE *out, const char *name, char **names, int nr)
{
	char filter[EPF_NAME_LEN], path[PATH_MAX], *text;
	int err, ret = EXIT_YES;

	if (!pin_there(name, path) || !export_chosen(path, names, nr))
		return EXIT_YES;
	err = pin_options(name, filter, &text);
	if (err == -ENOENT)
		return EXIT_YES;
	if (err || !filter[0])
		ret = leave_out(out, "pin", path, err ? strerror(-err) : "its filter is gone");
	else if (strlen("pin ") + strlen(path) > CONFFILE_SECTION_MOST)
		ret = leave_out(out, "pin", path, "its path is too long for a section");
	else
		put_section(out, "pin", path, text);
	free(text);
	return ret;
}

static int export_attachments(FILE *out, char **names, int nr)
{
	int err, ret = EXIT_YES;
	char **all;
	size_t i;

	err = xdp_pin_list(&all);
	if (err)
		ret = fail_errno(-err, "listing attachments: %m");
	for (i = 0; all && all[i]; i++) {
		int one = pin_is_name(all[i]) ? export_pin(out, all[i], names, nr) :
			  strchr(all[i], '@') || !export_chosen(all[i], names, nr) ?
						EXIT_YES :
						export_attachment(out, all[i]);

		ret = one > ret ? one : ret;
		free(all[i]);
	}
	free(all);
	return ret;
}

/* Is there a section of that name? */
static bool mentions(const char *text, const char *name)
{
	char head[PATH_MAX + 8];

	return snprintf(head, sizeof(head), " %s]\n", name) < (int)sizeof(head) &&
	       strstr(text, head);
}

static int print(char *text, char **names, int nr)
{
	int i;

	for (i = 0; i < nr; i++)
		if (!mentions(text, names[i]))
			return fail("there is no filter, no attachment and no pin '%s'", names[i]);
	if (out_mode == OUT_TEXT)
		fputs(text, stdout);
	else
		out_json(json_pack("{ss}", "text", text));
	return EXIT_YES;
}

int cmd_export(int argc, char **argv)
{
	static const struct option longs[] = { { 0 } };
	static const struct spec spec = {
		.usage = "export [NAME]...",
		.help = "Print filters, attachments and pins as 'epfctl apply' reads them: all of this\n"
			"network namespace, or those of that name. Hash keys are secret and not among\n"
			"it: filters that share one need 'key-file'.\n"
			"exit status: 0 done, 1 something had to be left out, which a comment and a\n"
			"warning say, 2 failure\n",
		.shorts = "",
		.longs = longs,
	};
	int ret, more = EXIT_YES, nr;
	char *text = NULL, **names;
	size_t len;
	FILE *out;

	if (next_option(argc, argv, &spec) >= 0 || !operands(argc, argv, 0, argc, &spec))
		return EXIT_FAIL;
	names = argv + optind;
	nr = argc - optind;
	out = open_memstream(&text, &len);
	if (!out)
		return fail("out of memory");
	ret = export_filters(out, names, nr);
	if (ret != EXIT_FAIL)
		more = export_attachments(out, names, nr);
	if (fclose(out))
		more = fail("out of memory");
	ret = ret > more ? ret : more;
	if (ret != EXIT_FAIL && print(text, names, nr))
		ret = EXIT_FAIL;
	free(text);
	return ret;
}
