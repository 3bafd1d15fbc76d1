// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* epfctl watch on a terminal: a list of filters, and the chosen one in full, by ncurses. */
#include "cmd.h"
#include "ebpf/ebpf.h"

#include <curses.h>
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <term.h>
#include <unistd.h>

#define SAMPLES 60  /* rates that a sparkline shows at most */
#define LIST_ROWS 3 /* of the list, around the chosen filter */

enum { RATE_INSERTS, RATE_HITS, RATE_MISSES, RATES };
enum { PLAIN, GOOD, BAD, COLOURS };

/**
 * struct seen - a filter, as last read
 * @info: of the filter
 * @bpf: it is pure BPF
 * @held: its epochs end
 * @at_ns: when it was read
 * @rate: events a second, the latest last
 * @nr: of these
 */
struct seen {
	struct epf_info info;
	bool bpf;
	bool held;
	__u64 at_ns;
	double rate[RATES][SAMPLES];
	unsigned int nr;
};

/**
 * struct view - what is on the screen
 * @dev: control descriptors of the backends; -1: none
 * @only: descriptor of the only filter; -1: all filters are listed
 * @seen: the filters
 * @nr: of these
 * @chosen: id of the filter that is shown in full
 * @chosen_bpf: and its backend
 * @utf8: the terminal shows UTF-8
 */
struct view {
	int dev[2];
	int only;
	struct seen *seen;
	size_t nr;
	__u32 chosen;
	bool chosen_bpf;
	bool utf8;
};

/* One text at (@y, @x), cut at the end of the line. */
static void put(int y, int x, int colour, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
static void put(int y, int x, int colour, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	if (y >= LINES || x >= COLS)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	attrset(COLOR_PAIR(colour));
	mvaddnstr(y, x, text, COLS - x);
	attrset(A_NORMAL);
}

/* @share of @width columns, in eighths of a column, or in whole ones without UTF-8. */
static void bar(const struct view *v, int y, int x, int width, double share, int colour)
{
	static const char *const eighths[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
	int steps = v->utf8 ? 8 : 1, n, i;

	if (y >= LINES || width <= 0)
		return;
	share = share < 0 ? 0 : share > 1 ? 1 : share;
	n = (int)(share * width * steps + 0.5);
	attrset(COLOR_PAIR(colour));
	for (i = 0; i < n / steps && x + i < COLS; i++)
		mvaddstr(y, x + i, v->utf8 ? "█" : "#");
	if (n % steps && x + i < COLS)
		mvaddstr(y, x + i, eighths[n % steps]);
	attrset(A_NORMAL);
}

/* The latest @width samples; the highest of them has the full height, 0 the lowest sign. */
static void sparkline(const struct view *v, int y, int x, int width, const double *rate,
		      unsigned int nr)
{
	static const char *const signs[2][8] = {
		{ "_", ".", ":", "-", "=", "+", "*", "#" },
		{ "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" },
	};
	unsigned int first = nr > (unsigned int)width ? nr - (unsigned int)width : 0, i;
	double most = 0;

	for (i = first; i < nr; i++)
		most = rate[i] > most ? rate[i] : most;
	for (i = first; i < nr && y < LINES; i++)
		mvaddstr(y, x + (int)(i - first),
			 signs[v->utf8][rate[i] > 0 ? 1 + (int)(rate[i] / most * 6) : 0]);
}

/* The error at which a bar is full: where the filter fails open, or twice the budget. */
static __u64 full_ppt(const struct epf_params *p)
{
	__u64 full = p->limit_ppt >= EPF_RATE_ONE ? 2 * p->budget_ppt : p->limit_ppt;

	return full ? full : EPF_RATE_ONE;
}

static int error_colour(const struct epf_info *i)
{
	return i->flags & EPF_INFO_SATURATED || i->fpr_ppt > i->params.budget_ppt ? BAD : GOOD;
}

static void draw_epochs(const struct view *v, const struct seen *s, int y)
{
	int fill = COLS > 56 ? (COLS - 56) * 5 / 8 : 0, x = 46 + fill, i;

	put(y++, 0, PLAIN, "%3s %11s %10s %9s %7s", "age", "epoch", "insertions", "since", "fill");
	put(y - 1, x, PLAIN, "%8s", "error");
	for (i = 0; i < (int)EPF_EPOCHS; i++) {
		const struct epf_epoch_info *e = &s->info.epochs[i];

		if (!e->epoch)
			continue;
		put(y, 0, PLAIN, "%3d %11llu %10s %9s %6.2f%%", i, e->epoch,
		    fmt_count(e->inserts).s, fmt_ns(e->age_ns).s, 100 * ppt_to_rate(e->fill_ppt));
		bar(v, y, 45, fill, ppt_to_rate(e->fill_ppt), GOOD);
		put(y, x, PLAIN, "%8s", fmt_ppt(e->fpr_ppt).s);
		bar(v, y, x + 9, COLS - x - 9,
		    (double)e->fpr_ppt / (double)full_ppt(&s->info.params), error_colour(&s->info));
		y++;
	}
}

static void draw_rates(const struct view *v, const struct seen *s, int y)
{
	static const char *const names[] = { "insertions", "hits", "misses" };
	int i;

	for (i = 0; i < RATES; i++) {
		double last = s->nr ? s->rate[i][s->nr - 1] : 0;

		put(y + i, 0, PLAIN, "%-10s %9s/s", names[i], fmt_count((__u64)(last + 0.5)).s);
		sparkline(v, y + i, 23, COLS - 23 < SAMPLES ? COLS - 23 : SAMPLES, s->rate[i],
			  s->nr);
	}
}

static void draw_error(const struct view *v, const struct seen *s, int y)
{
	const struct epf_params *p = &s->info.params;

	put(y, 0, PLAIN, "error      %s of %s", fmt_ppt(s->info.fpr_ppt).s,
	    fmt_ppt(p->budget_ppt).s);
	bar(v, y, 45, COLS - 45, (double)s->info.fpr_ppt / (double)full_ppt(p),
	    error_colour(&s->info));
	if (s->info.flags & EPF_INFO_SATURATED)
		put(y + 1, 0, BAD, "state      SATURATED: fails open, %llu verdicts so far",
		    s->info.stats.failed_open);
	else if (!s->held)
		put(y + 1, 0, BAD, "state      fails open: nobody ends its epochs");
	else if (p->limit_ppt >= EPF_RATE_ONE)
		put(y + 1, 0, PLAIN, "state      answers, never fails open");
	else
		put(y + 1, 0, GOOD, "state      answers, fails open above %s",
		    fmt_ppt(p->limit_ppt).s);
}

static void draw_filter(const struct view *v, const struct seen *s, int y)
{
	const struct epf_info *i = &s->info;
	const __u32 users = i->users ? i->users - 1 : 0; /* but this program */

	put(y++, 0, PLAIN, "%s (id %u), %s, %s old, %s, %u user%s", i->params.name, i->id,
	    s->bpf ? "pure BPF" : "the module", fmt_ns(i->age_ns).s, fmt_bytes(i->memory_bytes).s,
	    users, users == 1 ? "" : "s");
	put(y++, 0, PLAIN, "covered    %s insertions, those of the last %s",
	    fmt_count(i->covered_inserts).s, fmt_ns(i->covered_ns).s);
	draw_error(v, s, y);
	draw_rates(v, s, y + 2);
	draw_epochs(v, s, y + 6);
}

static size_t place(const struct view *v)
{
	size_t i;

	for (i = 0; i < v->nr; i++)
		if (v->seen[i].info.id == v->chosen && v->seen[i].bpf == v->chosen_bpf)
			return i;
	return 0;
}

static void draw_list(const struct view *v, size_t at)
{
	size_t first = at ? at - 1 : 0, i;

	for (i = first; i < v->nr && i < first + LIST_ROWS; i++) {
		const struct seen *s = &v->seen[i];

		put((int)(i - first) + 1, 0, PLAIN, "%c %-40s %10s %9s", i == at ? '>' : ' ',
		    s->info.params.name, fmt_bytes(s->info.memory_bytes).s,
		    s->info.flags & EPF_INFO_SATURATED ? "SATURATED" : fmt_ppt(s->info.fpr_ppt).s);
	}
}

static void watch_view_draw(const struct view *v)
{
	size_t at = place(v);

	erase();
	put(0, 0, PLAIN, "epfctl watch: %zu filter%s; q ends%s", v->nr, v->nr == 1 ? "" : "s",
	    v->nr > 1 ? ", j and k choose" : "");
	if (v->nr > 1)
		draw_list(v, at);
	if (v->nr)
		draw_filter(v, &v->seen[at], v->nr > 1 ? LIST_ROWS + 2 : 2);
	refresh();
}

static double watch_view_per_second(__u64 now, __u64 before, __u64 ns)
{
	return now > before && ns ? (double)(now - before) * NS_PER_SEC / (double)ns : 0;
}

/* Take over the rates of the same filter, and add what happened since. */
static void add_rates(struct seen *s, const struct seen *old)
{
	__u64 ns = s->at_ns - old->at_ns;
	const struct epf_stats *now = &s->info.stats, *was = &old->info.stats;
	const double add[RATES] = { watch_view_per_second(now->inserts, was->inserts, ns),
				    watch_view_per_second(now->hits, was->hits, ns),
				    watch_view_per_second(now->misses, was->misses, ns) };
	unsigned int drop = old->nr == SAMPLES, i;

	s->nr = old->nr - drop;
	for (i = 0; i < RATES; i++) {
		memcpy(s->rate[i], old->rate[i] + drop, s->nr * sizeof(double));
		s->rate[i][s->nr] = add[i];
	}
	s->nr++;
}

/* Return: 0, or a negative errno. */
static int watch_view_read_filter(const struct view *v, int filter, struct seen *s)
{
	int err = epf_filter_info(filter, &s->info);
	size_t i;

	if (err)
		return err;
	s->at_ns = now_ns();
	s->bpf = !epf_is_module(filter);
	s->held = !s->bpf || ebpf_held(s->info.params.name);
	for (i = 0; i < v->nr; i++)
		if (v->seen[i].info.id == s->info.id && v->seen[i].bpf == s->bpf)
			add_rates(s, &v->seen[i]);
	return 0;
}

/* Append the filters of one backend to @all. One that is gone or damaged is left out. */
static int read_backend(const struct view *v, int dev, struct seen **all, size_t *nr)
{
	__u32 *ids = NULL;
	int n = epf_dev_list(dev, &ids), i;
	struct seen *more = n < 0 ? NULL : realloc(*all, (*nr + (size_t)n + 1) * sizeof(**all));

	if (more)
		*all = more;
	for (i = 0; more && i < n; i++) {
		int filter = epf_dev_filter_id(dev, ids[i]);

		memset(&more[*nr], 0, sizeof(*more));
		if (filter < 0)
			continue;
		if (!watch_view_read_filter(v, filter, &more[*nr]))
			++*nr;
		epf_close(filter);
	}
	free(ids);
	return n < 0 ? n : more ? 0 : -ENOMEM;
}

static int watch_view_read_all(struct view *v)
{
	struct seen *all = NULL;
	size_t nr = 0;
	int err = 0, i;

	if (v->only >= 0) {
		all = calloc(1, sizeof(*all));
		err = all ? watch_view_read_filter(v, v->only, all) : -ENOMEM;
		nr = 1;
	}
	for (i = 0; i < 2 && v->only < 0 && !err; i++)
		if (v->dev[i] >= 0)
			err = read_backend(v, v->dev[i], &all, &nr);
	if (err) {
		free(all);
		return err;
	}
	free(v->seen);
	v->seen = all;
	v->nr = nr;
	return 0;
}

/* Return: false: leave. */
static bool take_key(struct view *v, int key)
{
	size_t at = place(v);

	if (key == 'q')
		return false;
	if (key == KEY_RESIZE)
		clear(); /* what was on its way to the old size may stand anywhere */
	if ((key == 'j' || key == KEY_DOWN) && at + 1 < v->nr)
		at++;
	else if ((key == 'k' || key == KEY_UP) && at)
		at--;
	if (v->nr) {
		v->chosen = v->seen[at].info.id;
		v->chosen_bpf = v->seen[at].bpf;
	}
	return true;
}

/* Until q, a signal or an error. Return: 0, or a negative errno. */
static int watch_view_run(struct view *v, __u64 interval_ns)
{
	__u64 next = now_ns();
	bool go_on = true;
	int err = 0;

	while (go_on && !err && !interrupted) {
		if (now_ns() >= next) {
			err = watch_view_read_all(v);
			next = now_ns() + interval_ns;
		}
		if (err)
			break;
		watch_view_draw(v);
		timeout((int)((next - now_ns()) / 1000000 % 3600000) + 1);
		go_on = take_key(v, getch());
	}
	return err;
}

static void begin_colours(void)
{
	const char *none = getenv("NO_COLOR");

	if ((none && *none) || !has_colors())
		return;
	start_color();
	use_default_colors();
	init_pair(GOOD, COLOR_GREEN, -1);
	init_pair(BAD, COLOR_RED, -1);
}

bool view_possible(void)
{
	const char *term = getenv("TERM");
	int err;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || !term || !strcmp(term, "dumb"))
		return false;
	return setupterm(NULL, STDOUT_FILENO, &err) == OK && cursor_address;
}

static int on_screen(struct view *v, __u64 interval_ns)
{
	SCREEN *screen;
	int err;

	setlocale(LC_CTYPE, "");
	v->utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
	screen = newterm(NULL, stdout, stdin);
	if (!screen)
		return fail("cannot use terminal '%s': try --plain", getenv("TERM"));
	catch_signals();
	begin_colours();
	cbreak();
	noecho();
	keypad(stdscr, true);
	curs_set(0);
	err = watch_view_run(v, interval_ns);
	endwin();
	delscreen(screen);
	if (interrupted)
		return EXIT_FAIL; /* main() says which signal */
	return err ? fail_call(err, "watching", NULL) : EXIT_YES;
}

int watch_view(const char *name, __u64 interval_ns)
{
	struct view v = { .dev = { -1, -1 }, .only = -1 };
	int i, code = EXIT_FAIL;

	if (name)
		v.only = open_filter(name);
	else
		v.dev[0] = open_device();
	if (v.dev[0] >= 0)
		v.dev[1] = epf_backend_second(v.dev[0]);
	if (v.only >= 0 || v.dev[0] >= 0)
		code = on_screen(&v, interval_ns ? interval_ns : NS_PER_SEC);
	if (v.only >= 0)
		epf_close(v.only);
	for (i = 0; i < 2; i++)
		if (v.dev[i] >= 0)
			epf_close(v.dev[i]);
	free(v.seen);
	return code;
}
