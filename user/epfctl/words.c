// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Command lines from a file, with the quotes of a shell and none of its expansions. */
#include "cmd.h"

enum state { BETWEEN, WORD, SINGLE, DOUBLE, COMMENT };

static void begin_word(struct words *w)
{
	if (w->nr > WORDS_MAX)
		w->why = "too many words";
	else
		w->word[w->nr++] = w->text + w->used;
}

static void words_add(struct words *w, int c)
{
	if (w->used < sizeof(w->text))
		w->text[w->used++] = (char)c;
	else
		w->why = "the line is too long";
}

static void end_word(struct words *w)
{
	words_add(w, 0);
}

static int next(FILE *in, struct words *w)
{
	int c = getc_unlocked(in);

	w->at += c == '\n';
	return c;
}

/* A backslash outside of '...': add what it quotes. */
static void quoted(FILE *in, struct words *w, enum state state)
{
	int c = next(in, w);

	if (c == '\n')
		return;
	if (c == EOF || !c) {
		w->why = c ? "the file ends after a backslash" : "a NUL byte";
		return;
	}
	if (state == DOUBLE && c != '"' && c != '\\')
		words_add(w, '\\');
	words_add(w, c);
}

/* Does a backslash between words only join two lines? If so, both are taken. */
static bool joins(FILE *in, struct words *w)
{
	int c = getc_unlocked(in);

	if (c != '\n')
		ungetc(c, in);
	else
		w->at++;
	return c == '\n';
}

/* A character within quotes. */
static void step_in_quotes(FILE *in, struct words *w, int c, enum state *state)
{
	if (c == (*state == SINGLE ? '\'' : '"'))
		*state = WORD;
	else if (c == '\\' && *state == DOUBLE)
		quoted(in, w, DOUBLE);
	else
		words_add(w, c);
}

/* A character of a word, or between words. */
static void words_step(FILE *in, struct words *w, int c, enum state *state)
{
	if (c == ' ' || c == '\t') {
		if (*state == WORD)
			end_word(w);
		*state = BETWEEN;
		return;
	}
	if (*state == BETWEEN && c == '\\' && joins(in, w))
		return;
	if (*state == BETWEEN)
		begin_word(w);
	*state = c == '\'' ? SINGLE : c == '"' ? DOUBLE : WORD;
	if (c == '\\')
		quoted(in, w, WORD);
	else if (*state == WORD)
		words_add(w, c);
}

/* Skip the rest of a bad line. */
static void words_skip(FILE *in, struct words *w, int c)
{
	while (c != '\n' && c != EOF)
		c = next(in, w);
}

/* Return: 1: a line, perhaps without words; 0: the end; -1, with @why. */
static int read_line(FILE *in, struct words *w)
{
	enum state state = BETWEEN;
	int c = 0;

	while (!w->why && (c = next(in, w)) != EOF && c != '\n') {
		if (!c)
			w->why = "a NUL byte";
		else if (state == BETWEEN && c == '#')
			state = COMMENT;
		else if (state == SINGLE || state == DOUBLE)
			step_in_quotes(in, w, c, &state);
		else if (state != COMMENT)
			words_step(in, w, c, &state);
	}
	if (!w->why && (state == SINGLE || state == DOUBLE))
		w->why = "a quote is not closed";
	if (!w->why && state == WORD)
		end_word(w);
	if (w->why) {
		words_skip(in, w, c);
		return -1;
	}
	return c != EOF || w->nr > 1;
}

int words_read(FILE *in, struct words *w)
{
	int ret;

	do {
		w->nr = 1;
		w->used = 0;
		w->why = NULL;
		w->line = w->at + 1;
		ret = read_line(in, w);
		w->word[w->nr] = NULL;
	} while (ret == 1 && w->nr == 1);
	return ferror(in) ? -2 : ret;
}
