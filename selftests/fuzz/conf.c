// SPDX-License-Identifier: GPL-2.0
/*
 * Files that administrators write: settings of the agent, declared filters, lines of a batch.
 * What is refused gives errors that name the file; what is accepted is the same when it is read
 * again; each word of a command line can be quoted and read again.
 *
 * Input: which; the rest is the file, of declared filters also one in a folder.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/conffile.c"

#include "epf/packet.h"
#include "epfagent/cluster_conf.h"
#include "epfagent/conf.h"
#include "epfctl/declared.h"
#include "sink.h"

#define TEXT_MAX 8000

/* Replaces the tool's function (ld --wrap), because signals are for libFuzzer. */
void __wrap_catch_signals(void);
void __wrap_catch_signals(void)
{
}

/* Of the verbs, which need the kernel: some options, with and without a value. */
const struct option create_longs[] = { { "time", 1, NULL, 0 },     { "rate", 1, NULL, 0 },
				       { "budget", 1, NULL, 0 },   { "strict", 0, NULL, 0 },
				       { "key-file", 1, NULL, 0 }, { NULL, 0, NULL, 0 } };
const struct option attach_longs[] = { { "filter", 1, NULL, 0 },  { "key", 1, NULL, 0 },
				       { "hook", 1, NULL, 0 },    { "drop", 0, NULL, 0 },
				       { "reverse", 0, NULL, 0 }, { NULL, 0, NULL, 0 } };
const struct option pin_longs[] = { { "bpf", 0, NULL, 0 },
				    { "timer", 1, NULL, 0 },
				    { NULL, 0, NULL, 0 } };

static char path[64], dir[64];

/* Does it name the file, or the folder, that it is about? */
static bool names_place(const char *line)
{
	return strstr(line, path) || (dir[0] && strstr(line, dir));
}

static void judge_errors(bool failed)
{
	sink_judge(failed);
	law(!failed || names_place(sink_err.text), "an error names the file");
}

static bool load(struct conf *c)
{
	char name[] = "epfagent", opt[] = "-c", *argv[] = { name, opt, path, NULL };

	sink_clear();
	return conf_load(c, 3, argv);
}

static void settings(void)
{
	static struct conf a, b;
	bool good = load(&a);
	unsigned int i;

	judge_errors(!good);
	law(load(&b) == good, "read again, it is accepted again");
	law(!good || (a.nr_watches == b.nr_watches && a.nr_clusters == b.nr_clusters),
	    "and has as much in it");
	for (i = 0; good && i < a.nr_clusters; i++)
		law(cluster_conf_same(&a.clusters[i], &b.clusters[i]), "a cluster is the same");
	for (i = 0; good && i < a.nr_watches; i++) {
		law(a.watches[i].dir && a.watches[i].dir[0] == '/' && a.watches[i].target[0],
		    "a watch has a folder and a filter");
		law(!epf_pkt_opts_check(&a.watches[i].request.spec.records.pkt),
		    "options of packets that go together");
	}
	conf_free(&a);
	conf_free(&b);
}

static void remove_dir(void)
{
	rmdir(dir);
}

/* The file is the one of a folder. */
static void in_folder(const char *text, size_t len, char file[80])
{
	int fd;

	if (!dir[0]) {
		make_dir(dir);
		atexit(remove_dir);
	}
	snprintf(file, 80, "%s/a.conf", dir);
	fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, text, len) != (ssize_t)len)
		abort();
	close(fd);
}

static void declared(char *file)
{
	struct declarations d;
	char *paths[] = { file };
	bool good;
	size_t i;
	int w;

	sink_clear();
	good = declared_read(&d, paths, 1);
	judge_errors(!good);
	for (i = 0; good && i < d.nr; i++) {
		const struct declared *s = &d.all[i];
		const struct settings kept = declared_begin(s);

		declared_end(&kept);

		law(s->nr >= 2 && !s->word[s->nr], "a section is a command line");
		for (w = 0; w < s->nr; w++)
			law(s->word[w] && s->at[w] && *s->at[w], "each word has a place");
		law(declared_find(&d, s->type, s->name) == s, "a name is declared once");
	}
	declared_free(&d);
}

static FILE *text_file(char *text, size_t len)
{
	FILE *f = fmemopen(text, len, "r");

	if (!f)
		abort();
	return f;
}

/* Quote the words as a shell does. Return: bytes. */
static size_t quote(char *to, const struct words *w)
{
	char *at = to;
	const char *c;
	int i;

	for (i = 1; i < w->nr; i++) {
		*at++ = '\'';
		for (c = w->word[i]; *c; c++)
			at = *c == '\'' ? stpcpy(at, "'\\''") : (*at = *c, at + 1);
		at = stpcpy(at, "' ");
	}
	return (size_t)(at - to);
}

static void read_again(const struct words *w)
{
	static char text[5 * TEXT_MAX];
	static struct words again;
	size_t len = quote(text, w);
	FILE *in = text_file(text, len);
	int i;

	again.at = 0;
	law(words_read(in, &again) == 1 && again.nr == w->nr, "quoted, there are as many words");
	for (i = 1; i < w->nr; i++)
		law(!strcmp(again.word[i], w->word[i]), "and each is the same");
	fclose(in);
}

static void words(char *text, size_t len)
{
	static struct words w;
	size_t calls = 0;
	FILE *in;
	int got;

	if (!len)
		return;
	in = text_file(text, len);
	w.at = 0;
	sink_clear();
	while ((got = words_read(in, &w))) {
		law(++calls <= len, "a call reads something");
		if (got < 0)
			continue;
		law(w.nr > 1 && !w.word[w.nr], "a line has words, and an end");
		read_again(&w);
	}
	fclose(in);
}

int LLVMFuzzerTestOneInput(const __u8 *data, size_t size)
{
	static char text[TEXT_MAX + 1];
	static int fd = -1;
	struct input in = { data, size };
	__u8 which = take(&in) % 4;
	char file[80];

	if (in.left > TEXT_MAX)
		return 0;
	if (fd < 0) {
		fd = memfd_create("conf", MFD_CLOEXEC);
		fchmod(fd, 0600);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	if (in.left)
		memcpy(text, in.p, in.left);
	text[in.left] = 0;
	if (ftruncate(fd, 0) || pwrite(fd, text, in.left, 0) != (ssize_t)in.left)
		abort();
	if (which == 0)
		settings();
	else if (which == 1)
		declared(path);
	else if (which == 2)
		words(text, in.left);
	else {
		in_folder(text, in.left, file);
		declared(dir);
		unlink(file);
	}
	return 0;
}
