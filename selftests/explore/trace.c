// SPDX-License-Identifier: GPL-2.0
/*
 * Prints an execution: a line for each step, and the property that it violated.
 */
#include "trace.h"
#include "scene.h"

#include <stdio.h>

#define TEXT 96

static const char *const acts[] = {
	[ACT_INSERT] = "insert",
	[ACT_SIGHT] = "sight",
	[ACT_SIGHT_FIRST] = "sight-first",
	[ACT_TEST] = "test",
	[ACT_ROTATE] = "rotate",
	[ACT_ROTATE_FULL] = "rotate-full",
	[ACT_COUNT] = "count",
	[ACT_COUNT_SHARED] = "count-shared",
	[ACT_COUNT_ROTATE] = "count-rotate",
	[ACT_SCAN] = "scan",
	[ACT_WRAP] = "wrap",
	[ACT_TURN] = "turn",
	[ACT_REPLACE] = "replace",
	[ACT_SWAP] = "swap",
	[ACT_FILTER_INSERT] = "insert",
	[ACT_FILTER_TEST] = "test",
	[ACT_COME_ROUND] = "come-round",
	[ACT_PUT] = "put",
	[ACT_FOLLOW] = "follow",
	[ACT_PUT_NEW] = "put-new",
	[ACT_TAIL] = "tail",
	[ACT_MIRROR] = "mirror",
	[ACT_MIRROR_NEW] = "mirror-new",
	[ACT_ESTIMATE] = "estimate",
	[ACT_SINCE] = "since",
	[ACT_CHANGE] = "change",
};

static bool has_key(enum scene_act act)
{
	switch (act) {
	case ACT_ROTATE:
	case ACT_ROTATE_FULL:
	case ACT_SCAN:
	case ACT_WRAP:
	case ACT_TURN:
	case ACT_REPLACE:
	case ACT_SWAP:
	case ACT_FOLLOW:
	case ACT_MIRROR:
	case ACT_MIRROR_NEW:
	case ACT_ESTIMATE:
	case ACT_CHANGE:
		return false;
	default:
		return true;
	}
}

static void thread_name(const struct mc_scene *s, int t, char *to)
{
	const struct scene_role *r = &s->role[t];
	int n = snprintf(to, TEXT, "%c %s", 'A' + t, acts[r->act]);

	if (has_key(r->act))
		snprintf(to + n, TEXT - n, " k%d", r->key);
}

/* Name a word of a table by its offset there. Return: true if it is a lane. */
static bool table_word(int word, char *to)
{
	const struct mc_table *t = &mc_world.table[0];
	int lane = word - mc_word(&t->line[0]);

	if (word == mc_word(&t->state.epoch))
		snprintf(to, TEXT, "epoch");
	else if (word == mc_word(&t->state.count))
		snprintf(to, TEXT, "count");
	else if (mc_in_ring(word))
		snprintf(to, TEXT, "a start (word %d)", word);
	else if (lane >= 0)
		snprintf(to, TEXT, "lane %d of line %d", lane % (int)EPF_LANES,
			 lane / (int)EPF_LANES);
	else
		snprintf(to, TEXT, "word %d", word);
	return lane >= 0;
}

static void elastic_name(int word, char *to)
{
	int at = word - mc_word(mc_world.elastic.line);

	if (word == mc_word(mc_epoch_word(0)))
		snprintf(to, TEXT, "phase");
	else if (at == (int)mc.first.elastic.f.shape.line_words >> 3)
		snprintf(to, TEXT, "head");
	else
		snprintf(to, TEXT, "word %d", at);
}

static void elastic_value(int word, __u64 v, char *to)
{
	char name[TEXT];

	elastic_name(word, name);
	if (name[0] == 'p')
		snprintf(to, TEXT, "epoch %llu%s", v >> 1, v & 1 ? ", retired" : "");
	else if (name[0] == 'h')
		snprintf(to, TEXT, "%sstamp %llu, %llu items, 0x%llx",
			 v >> EPF_ELASTIC_LOCK & 1 ? "locked, " : "",
			 v >> EPF_ELASTIC_STAMP & (EPF_ELASTIC_STAMPS - 1),
			 v >> EPF_ELASTIC_COUNT & 255, v >> EPF_ELASTIC_LEAST);
	else
		snprintf(to, TEXT, "0x%llx", v);
}

static void journal_name(int word, char *to)
{
	static const char *const names[] = { "seq", "epoch", "value", "more" };
	int at = word - mc_word(mc_world.journal.record);

	if (word == mc_word(&mc_world.journal.line))
		snprintf(to, TEXT, "line");
	else if (word == mc_word(&mc_world.journal.kept))
		snprintf(to, TEXT, "journal of table 0");
	else if (word == mc_word(&mc_world.journal.over))
		snprintf(to, TEXT, "over");
	else if (at >= 0)
		snprintf(to, TEXT, "%s of slot %d", names[at % 4], at / 4);
	else
		snprintf(to, TEXT, "%s",
			 word == mc_word(&mc_world.journal.shard.next) ? "next" : "lost");
}

/* Return: true if it is a lane. */
static bool word_name(int word, char *to)
{
	int size = mc_word(&mc_world.table[1]);
	int n = 0;

	if (mc.scene->elastic) {
		elastic_name(word, to);
		return false;
	}
	if (word == mc_word(&mc_world.clock)) {
		snprintf(to, TEXT, "clock");
		return false;
	}
	if (word == mc_word(&mc_world.began[1])) {
		snprintf(to, TEXT, "began of table 1");
		return false;
	}
	if (word >= mc_word(&mc_world.journal)) {
		journal_name(word, to);
		return false;
	}
	if (word >= MC_TABLES * size) {
		word -= MC_TABLES * size;
		if (word < MC_TABLES)
			snprintf(to, TEXT, "table of filter %d", word);
		else
			snprintf(to, TEXT, "pending count of the CPU");
		return false;
	}
	if (word >= size)
		n = snprintf(to, TEXT, "table 1, ");
	return table_word(word % size, to + n);
}

static void lane_value(__u64 v, char *to)
{
	__u64 rest = v & ~EPF_TAG_MASK;
	int n, key;

	n = snprintf(to, TEXT, "tag %d", (int)(v >> EPF_TAG_SHIFT));
	for (key = 0; key < MC_KEYS; key++) {
		__u64 mask = epf_lane_positions(scene_mask(key));

		if ((rest & mask) != mask)
			continue;
		n += snprintf(to + n, TEXT - n, " k%d", key);
		rest &= ~mask;
	}
	if (rest)
		snprintf(to + n, TEXT - n, " and 0x%llx", rest);
}

static void value_text(int word, __u64 v, char *to)
{
	char name[2 * TEXT];

	if (mc.scene->elastic)
		elastic_value(word, v, to);
	else if (word_name(word, name))
		lane_value(v, to);
	else if (v >> EPF_COUNT_BITS)
		snprintf(to, TEXT, "%llu of epoch %llu", v & EPF_COUNT_MASK, v >> EPF_COUNT_BITS);
	else
		snprintf(to, TEXT, "%llu", v);
}

static const char *how(const struct mc_op *op)
{
	switch (op->kind) {
	case MC_ACQUIRE:
		return op->order ? "load-acquire" : "load (relaxed)";
	case MC_ORDERED:
		return op->order ? "load-ordered" : "load (relaxed)";
	case MC_STORE:
		return op->order ? "store-release" : "store (relaxed)";
	case MC_OR:
		return op->order ? "fetch-or" : "fetch-or (relaxed)";
	case MC_ADD:
		return op->order ? "fetch-add" : "fetch-add (relaxed)";
	case MC_CAS:
		return op->order ? "cas" : "cas (relaxed)";
	default:
		return "load";
	}
}

static void memory_step(const struct search_step *s)
{
	char name[2 * TEXT], was[TEXT], now[TEXT];
	const struct mc_op *op = &s->op;

	word_name(op->word, name);
	value_text(op->word, s->answer.value, was);
	value_text(op->word,
		   op->kind == MC_OR  ? s->answer.value | op->value :
		   op->kind == MC_ADD ? s->answer.value + op->value :
					op->value,
		   now);
	printf("%s %s: ", how(op), name);
	if (op->kind == MC_STORE)
		printf("%s", now);
	else if (op->kind == MC_OR || op->kind == MC_ADD)
		printf("%s -> %s", was, now);
	else if (op->kind == MC_CAS && s->answer.good)
		printf("%s -> %s", was, now);
	else
		printf("%s%s", op->kind == MC_CAS ? "fails, finds " : "", was);
	if (s->index < s->newest)
		printf("  [old: value %d of 0..%d]", s->index, s->newest);
	if (op->where[0])
		printf("  (%s)", op->where);
}

static void note_step(const struct mc_op *op)
{
	switch ((enum mc_note)op->value) {
	case MC_STARTS:
		printf("begins");
		break;
	case MC_INSERTED:
		printf("=> k%d is in", op->key);
		if (op->old)
			printf(" epoch %llu", op->old);
		break;
	case MC_SIGHTED:
		printf("=> k%d is told %s", op->key, op->verdict ? "present" : "absent");
		if (op->verdict)
			printf(", age %d", op->verdict - EPF_PRESENT);
		if (op->old)
			printf(", and is in epoch %llu", op->old);
		break;
	case MC_TESTED:
		printf("=> k%d is told %s", op->key, op->verdict ? "present" : "absent");
		if (op->verdict)
			printf(", age %d", op->verdict - EPF_PRESENT);
		break;
	case MC_ENDS:
		printf("ends epoch %llu", op->old);
		break;
	case MC_MIRRORED:
		printf("the mirror tells 0x%llx for %d%s", op->old, op->key,
		       op->verdict ? ", or is told" : "");
		break;
	case MC_ESTIMATED:
		printf("stores %llu bits for lane %d", op->old, op->key);
		break;
	case MC_EMPTIED:
		printf("begins lane %d again", op->key);
		break;
	case MC_DATED:
		printf("=> epoch %llu has its start", op->old);
		break;
	case MC_SINCE:
		printf("=> k%d is told %s, all since %llu", op->key,
		       op->verdict ? "present" : "absent", op->old);
		break;
	}
}

static void other_step(const struct search_step *s)
{
	static const char *const names[] = {
		[MC_ENTER] = "enters a section",
		[MC_LEAVE] = "leaves its section",
		[MC_GRACE_START] = "starts a grace period",
		[MC_GRACE_POLL] = "asks whether the grace period is over",
		[MC_GRACE_WAIT] = "the grace period is over",
		[MC_LOCK] = "locks",
		[MC_TRYLOCK] = "tries to lock",
		[MC_UNLOCK] = "unlocks",
		[MC_AWAIT] = "goes on: those it awaited are over",
		[MC_FENCE] = "fences",
		[MC_FREE] = "frees table 0",
	};

	if (s->op.kind == MC_NOTE)
		note_step(&s->op);
	else
		printf("%s", names[s->op.kind]);
	if (s->op.kind == MC_TRYLOCK || s->op.kind == MC_GRACE_POLL)
		printf(": %s", s->answer.value ? "yes" : "no");
}

/**
 * trace_print() - print the execution that violated a property
 * @scene: its scene
 * @r: result of a search that found one
 */
void trace_print(const struct mc_scene *scene, const struct search_result *r)
{
	char name[TEXT];
	int i;

	printf("# scene: %s; L = %d; begins in epoch %d\n", scene->name, scene->parts,
	       scene->elastic ? scene->elastic : SCENE_EPOCH);
	printf("#  step  epoch  thread          does\n");
	for (i = 0; i < r->steps; i++) {
		const struct search_step *s = &r->step[i];

		thread_name(scene, s->thread, name);
		printf("#  %4d  %5llu  %-14s  ", i + 1, scene->elastic ? s->epoch >> 1 : s->epoch,
		       name);
		if (s->op.kind <= MC_CAS)
			memory_step(s);
		else
			other_step(s);
		printf("\n");
	}
	printf("#  broken: %s\n", r->broke);
}
