// SPDX-License-Identifier: GPL-2.0
/*
 * draw_view: writes the picture docs/design/watch.svg. The view of epfctl watch draws two filters
 * into memory, on a terminal of 80x24, and each cell of that becomes SVG. The filters are fixed
 * numbers, those of a real one.
 */
#include "epfctl/watch_view.c"

#define ROWS 24
#define COLUMNS 80
#define CELL_X 9.0 /* pixels */
#define CELL_Y 19.0
#define EDGE 12.0
#define PPT(rate) ((__u64)((rate) * (double)EPF_RATE_ONE + 0.5))

/* A filter of a million insertions, at an error of 1e-6, of which 20,000 come in a second. */
static const struct epf_info repeats = {
	.id = 4,
	.users = 3,
	.params = { .name = "repeats", .budget_ppt = PPT(1e-6), .limit_ppt = PPT(2e-6) },
	.epoch = 15,
	.memory_bytes = 5933056,
	.covered_inserts = 1099997,
	.covered_ns = 54958 * (NS_PER_SEC / 1000),
	.fpr_ppt = PPT(8.85138e-7),
	.age_ns = 107131 * (NS_PER_SEC / 1000),
	/* clang-format off */
	.epochs = {
		{ 15,  99027,  4951 * (NS_PER_SEC / 1000), PPT(0.277952), PPT(2.185e-9) },
		{ 14, 142949, 12098 * (NS_PER_SEC / 1000), PPT(0.368711), PPT(1.02042e-7) },
		{ 13, 142941, 19245 * (NS_PER_SEC / 1000), PPT(0.372754), PPT(1.19454e-7) },
		{ 12, 142904, 26390 * (NS_PER_SEC / 1000), PPT(0.373216), PPT(1.31271e-7) },
		{ 11, 143165, 33548 * (NS_PER_SEC / 1000), PPT(0.374608), PPT(1.26852e-7) },
		{ 10, 142996, 40698 * (NS_PER_SEC / 1000), PPT(0.373419), PPT(1.2779e-7) },
		{  9, 142912, 47843 * (NS_PER_SEC / 1000), PPT(0.371956), PPT(1.36027e-7) },
		{  8, 143103, 54958 * (NS_PER_SEC / 1000), PPT(0.375398), PPT(1.39514e-7) },
	},
	/* clang-format on */
};

static const struct epf_info seen_addresses = {
	.id = 3,
	.params = { .name = "seen" },
	.memory_bytes = 3825664,
	.fpr_ppt = PPT(4.1e-5),
};

/* Rates that rise and fall in triangles, with a burst of repeats. */
static void set_rates(struct seen *s)
{
	unsigned int i;

	s->nr = 48;
	for (i = 0; i < s->nr; i++) {
		double wave = i % 16 < 8 ? i % 16 : 16 - i % 16;

		s->rate[RATE_INSERTS][i] = 14000 + 1500 * wave;
		s->rate[RATE_HITS][i] = i > 30 && i < 40 ? 6200 - 500.0 * (40 - i) : 120;
		s->rate[RATE_MISSES][i] = s->rate[RATE_INSERTS][i] - s->rate[RATE_HITS][i];
	}
}

static void put_rect(double x, double y, double width, double height, const char *colour)
{
	printf("<rect x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" fill=\"%s\"/>\n", x, y, width,
	       height, colour);
}

static const char *colour_of(int pair)
{
	return pair == GOOD ? "#1a7f37" : pair == BAD ? "#b3261e" : "#222";
}

/* A cell of the screen. */
struct sign {
	wchar_t sign;
	const char *colour;
};

static struct sign read_sign(int row, int column)
{
	wchar_t text[CCHARW_MAX];
	attr_t attributes;
	cchar_t cell;
	short pair;

	mvin_wch(row, column, &cell);
	getcchar(&cell, text, &attributes, &pair, NULL);
	return (struct sign){ text[0], colour_of(pair) };
}

/* @n equal block elements (U+2581 to U+258F) are a rectangle, so that no font leaves gaps. Of
 * those that are narrower than a cell there is one. Blanks are nothing.
 */
static void put_block(double x, double y, const struct sign *s, int n)
{
	double height = CELL_Y * (s->sign - 0x2580) / 8;

	if (s->sign >= 0x2581 && s->sign <= 0x2588)
		put_rect(x, y + CELL_Y - height, n * CELL_X, height, s->colour);
	else if (s->sign >= 0x2589 && s->sign <= 0x258f)
		put_rect(x, y, CELL_X * (0x2590 - s->sign) / 8, CELL_Y, s->colour);
}

static bool is_letter(const struct sign *s)
{
	return s->sign > ' ' && s->sign < 0x7f;
}

/* @n letters, each at a place of its own, whatever the width of the font. */
static void put_letters(double x, double y, const struct sign *s, int n)
{
	int i;

	printf("<text y=\"%g\" fill=\"%s\" x=\"", y + 14, s->colour);
	for (i = 0; i < n; i++)
		printf("%s%g", i ? " " : "", x + i * CELL_X);
	printf("\">");
	for (i = 0; i < n; i++)
		printf(s[i].sign == '<' ? "&lt;" :
		       s[i].sign == '&' ? "&amp;" :
					  "%lc",
		       (wint_t)s[i].sign);
	printf("</text>\n");
}

static void put_row(int row)
{
	struct sign s[COLUMNS];
	double y = EDGE + row * CELL_Y;
	int i, n;

	for (i = 0; i < COLUMNS; i++)
		s[i] = read_sign(row, i);
	for (i = 0; i < COLUMNS; i += n) {
		for (n = 1; i + n < COLUMNS && s[i + n].colour == s[i].colour; n++)
			if (is_letter(&s[i]) ? !is_letter(&s[i + n]) : s[i + n].sign != s[i].sign)
				break;
		if (is_letter(&s[i]))
			put_letters(EDGE + i * CELL_X, y, &s[i], n);
		else
			put_block(EDGE + i * CELL_X, y + 1, &s[i], n);
	}
}

static void write_svg(void)
{
	double width = 2 * EDGE + COLUMNS * CELL_X, height = 2 * EDGE + ROWS * CELL_Y;
	int row;

	printf("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%g\" height=\"%g\" "
	       "viewBox=\"0 0 %g %g\" role=\"img\">\n"
	       "<!-- SPDX-License-Identifier: GPL-2.0 -->\n"
	       "<!-- Made by selftests/cli/draw_view.c. -->\n"
	       "<title>epfctl watch: error, rates and epochs of a filter</title>\n"
	       "<style>text { font: 15px monospace }</style>\n"
	       "<rect width=\"%g\" height=\"%g\" rx=\"8\" fill=\"#fff\" stroke=\"#999\"/>\n",
	       width, height, width, height, width, height);
	for (row = 0; row < ROWS; row++)
		put_row(row);
	printf("</svg>\n");
}

int main(void)
{
	struct seen seen[2] = { { .info = seen_addresses, .held = true },
				{ .info = repeats, .held = true } };
	struct view v = { .seen = seen, .nr = 2, .chosen = 4, .utf8 = true };
	FILE *nowhere = fopen("/dev/null", "r+");

	setenv("LINES", "24", 1);
	setenv("COLUMNS", "80", 1);
	unsetenv("NO_COLOR");
	if (!nowhere || !setlocale(LC_CTYPE, "C.UTF-8") ||
	    !newterm("xterm-256color", nowhere, nowhere)) {
		fprintf(stderr, "draw_view: no terminal xterm-256color, or no locale C.UTF-8\n");
		return EXIT_FAIL;
	}
	begin_colours();
	set_rates(&seen[1]);
	watch_view_draw(&v);
	write_svg();
	endwin();
	return fclose(stdout) ? EXIT_FAIL : EXIT_YES;
}
