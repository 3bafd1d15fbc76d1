// SPDX-License-Identifier: GPL-2.0
/*
 * Arguments for fuzz_ioctl.c: valid ones for every command, on small filters with few
 * names, and errors in them.
 */
#include "fuzz.h"

#define NAMES 8
#define KEYS 4096u

static void draw_name(struct fuzzer *f, char *name)
{
	memset(name, 0, EPF_NAME_LEN);
	snprintf(name, EPF_NAME_LEN, "mod-fuzz-%llu", fuzz_draw(f, NAMES));
}

static void fill_params(struct fuzzer *f, struct epf_params *p)
{
	static const __u64 windows[] = { 1, 70, 7000, (1ull << 40) - 1 };

	draw_name(f, p->name);
	p->hash = fuzz_draw(f, 2);
	p->mode = fuzz_draw(f, 8) ? EPF_MODE_COUNT : fuzz_draw(f, 4);
	p->refresh = fuzz_draw(f, 2);
	p->lines_per_key = 1 << fuzz_draw(f, 3);
	p->bits_per_key = p->lines_per_key * (1 + fuzz_draw(f, 15));
	p->nr_lines = 64u << fuzz_draw(f, fuzz_draw(f, 32) ? 7 : 20);
	if (p->mode != EPF_MODE_TIME)
		p->window_inserts = fuzz_draw(f, 8) ? 1 << 20 :
						      windows[fuzz_draw(f, ARRAY_LEN(windows))];
	if (p->mode != EPF_MODE_COUNT)
		p->window_ns = 1 + fuzz_draw(f, SEC);
	p->budget_ppt = 1 + fuzz_draw(f, EPF_RATE_ONE / 1000);
	p->limit_ppt = fuzz_draw(f, 2) ? EPF_RATE_ONE : p->budget_ppt * 2;
}

static void fill_guarded(struct fuzzer *f, struct epf_create *c)
{
	if (c->params.kind == EPF_KIND_GE) {
		c->shape.ge.segment_bits = 64 + fuzz_draw(f, 5000);
		c->shape.ge.epochs = 2 + fuzz_draw(f, 30);
		c->shape.ge.bits = 1 + fuzz_draw(f, 64);
		c->shape.ge.layout = fuzz_draw(f, 2);
	} else {
		c->shape.gebl.blocks = 1 + fuzz_draw(f, 40);
		c->shape.gebl.block_bits = 64 << fuzz_draw(f, 4);
		c->shape.gebl.epochs = 2 + fuzz_draw(f, 30);
		c->shape.gebl.bits = 1 + fuzz_draw(f, 20);
		c->shape.gebl.offsets = fuzz_draw(f, 2);
	}
}

static void fill_aged(struct fuzzer *f, struct epf_create *c)
{
	__u32 k = 1 + fuzz_draw(f, 20), l = 1 + fuzz_draw(f, 100);

	if (c->params.kind == EPF_KIND_APBF) {
		c->shape.apbf.slice_bits = 64 + fuzz_draw(f, 2000);
		c->shape.apbf.k = k;
		c->shape.apbf.l = l;
	} else if (c->params.kind == EPF_KIND_APBBF) {
		c->shape.apbbf.blocks = 1 + fuzz_draw(f, 40);
		c->shape.apbbf.k = k;
		c->shape.apbbf.l = l;
		c->shape.apbbf.block_bits = 64 << fuzz_draw(f, 4);
		c->shape.apbbf.bits = 1 << fuzz_draw(f, 4);
	} else {
		c->params.mode = EPF_MODE_TIME;
		c->params.window_inserts = 0;
		c->params.window_ns = 1000 + fuzz_draw(f, SEC);
		c->shape.tlbf.words_min = k;
		c->shape.tlbf.words_first = k + fuzz_draw(f, 100);
		c->shape.tlbf.words_max = 1000;
		c->shape.tlbf.k = k;
		c->shape.tlbf.l = l;
	}
}

static void fill_dict(struct fuzzer *f, struct epf_create *c)
{
	c->shape.dict.buckets = 1 + fuzz_draw(f, 200);
	c->shape.dict.yard = 1 + fuzz_draw(f, 20);
	c->shape.dict.tag_bits = 3 + fuzz_draw(f, 4);
	c->shape.dict.generations = 2 + fuzz_draw(f, 5);
	c->shape.dict.rem_bits = 1 + fuzz_draw(f, 30);
	c->shape.dict.slots = 1 + fuzz_draw(f, 40);
	c->shape.dict.lines = 1 + fuzz_draw(f, 2);
}

static void fill_chain(struct fuzzer *f, struct epf_create *c)
{
	c->params.mode = EPF_MODE_TIME;
	c->params.window_inserts = 0;
	c->params.window_ns = 1000 + fuzz_draw(f, SEC);
	c->shape.chain.lines_min = 64;
	c->shape.chain.lines_first = 64 << fuzz_draw(f, 3);
	c->shape.chain.lines_max = 256 << fuzz_draw(f, 3);
	c->shape.chain.load = 16 + fuzz_draw(f, 5000);
	c->shape.chain.lines_per_key = 1 << fuzz_draw(f, 3);
	c->shape.chain.bits_per_key = c->shape.chain.lines_per_key * (1 + fuzz_draw(f, 15));
}

static void fill_elastic(struct fuzzer *f, struct epf_create *c)
{
	c->shape.elastic.lines = 1 + fuzz_draw(f, 200);
	c->shape.elastic.line_words = 8 << fuzz_draw(f, 2);
	c->shape.elastic.epochs = 2 + fuzz_draw(f, 6);
}

static void fill_locked(struct fuzzer *f, struct epf_create *c)
{
	c->params.kind = 1 + fuzz_draw(f, EPF_KIND_MAX);
	c->params.nr_lines = 0;
	c->params.lines_per_key = 0;
	c->params.bits_per_key = 0;
	if (c->params.kind == EPF_KIND_CHAIN)
		fill_chain(f, c);
	else if (c->params.kind == EPF_KIND_ELASTIC)
		fill_elastic(f, c);
	else if (c->params.kind == EPF_KIND_DICT)
		fill_dict(f, c);
	else if (c->params.kind <= EPF_KIND_GEBL)
		fill_guarded(f, c);
	else
		fill_aged(f, c);
}

static void fill_create(struct fuzzer *f, union fuzz_args *a)
{
	fill_params(f, &a->create.params);
	if (fuzz_draw(f, 2))
		fill_locked(f, &a->create);
	if (fuzz_draw(f, 2)) {
		a->create.flags = EPF_CREATE_KEY;
		a->create.key[0] = epf_word(++f->rng, 2);
	}
	if (a->create.params.mode == EPF_MODE_TIME && fuzz_draw(f, 2))
		a->create.flags |= EPF_CREATE_ALIGN;
}

static void fill_destroy(struct fuzzer *f, union fuzz_args *a)
{
	draw_name(f, a->ref.name.name);
	a->ref.flags = fuzz_draw(f, 8) ? 0 : EPF_DESTROY_FORCE;
}

static void fill_open(struct fuzzer *f, union fuzz_args *a)
{
	draw_name(f, a->ref.name.name);
}

static void fill_swap(struct fuzzer *f, union fuzz_args *a)
{
	draw_name(f, a->swap.a.name);
	draw_name(f, a->swap.b.name);
}

static void fill_list(struct fuzzer *f, union fuzz_args *a)
{
	a->list.ids = (uintptr_t)f->data;
	a->list.count = fuzz_draw(f, 32);
}

static void fill_batch(struct fuzzer *f, union fuzz_args *a)
{
	struct epf_batch *b = &a->batch;

	b->count = fuzz_draw(f, 8) ? fuzz_draw(f, 40) : fuzz_draw(f, KEYS / 8);
	b->keys = (uintptr_t)f->data + fuzz_draw(f, PAGE);
	switch (fuzz_draw(f, 3)) {
	case 0:
		b->flags = EPF_BATCH_DIGESTS;
		break;
	case 1:
		b->key_len = fuzz_draw(f, 4) ? 16 : EPF_KEY_MAX;
		b->key_len = 1 + fuzz_draw(f, b->key_len);
		break;
	default:
		b->lens = (uintptr_t)f->data + KEYS;
		b->count %= 64;
	}
}

static void fill_ask(struct fuzzer *f, union fuzz_args *a)
{
	fill_batch(f, a);
	if (fuzz_draw(f, 2))
		a->batch.bitmap = (uintptr_t)f->data + fuzz_draw(f, PAGE);
	if (fuzz_draw(f, 2))
		a->batch.ages = (uintptr_t)f->data + fuzz_draw(f, PAGE);
}

static void fill_rotate(struct fuzzer *f, union fuzz_args *a)
{
	a->rotate.count = 1 + fuzz_draw(f, 2);
}

static void fill_begin(struct fuzzer *f, union fuzz_args *a)
{
	a->snap.pin_ns = fuzz_draw(f, 16) ? MS : EPF_PIN_MAX_NS;
	a->snap.pin_ns = 1 + fuzz_draw(f, a->snap.pin_ns);
}

static void fill_nothing(struct fuzzer *f, union fuzz_args *a)
{
}

static void fill_restore(struct fuzzer *f, union fuzz_args *a)
{
	struct fuzz_map *m = &f->maps[fuzz_draw(f, FUZZ_MAPS)];

	a->restore.header = fuzz_header;
	a->restore.lines = m->at && fuzz_draw(f, 2) ? (uintptr_t)m->at : (uintptr_t)fuzz_image;
}

static void fill_journal(struct fuzzer *f, union fuzz_args *a)
{
	if (fuzz_draw(f, 4)) {
		a->journal.order = 1 + fuzz_draw(f, fuzz_draw(f, 16) ? 8 : 24);
		a->journal.shards = fuzz_draw(f, 2) ? 0 : 1 << fuzz_draw(f, 11);
	} else {
		a->journal.flags = EPF_JOURNAL_END;
	}
}

static void fill_read(struct fuzzer *f, union fuzz_args *a)
{
	bool state = fuzz_draw(f, 2);

	a->read.flags = state ? EPF_SNAP_STATE : 0;
	a->read.offset = state ? 0 : fuzz_draw(f, 4) * EPF_SNAP_PIECE;
	a->read.bytes = state ? sizeof(struct epf_snap_locked) :
				fuzz_draw(f, fuzz_draw(f, 2) ? 40 : 600) * 8;
	a->read.data = (uintptr_t)fuzz_image;
}

/* Valid, with an unknown option, or with an unknown kind. */
static void fill_describe(struct fuzzer *f, union fuzz_args *a)
{
	a->describe.desc.kind = fuzz_draw(f, EPF_KEYS_MAX + 2);
	if (a->describe.desc.kind == EPF_KEYS_PACKET)
		a->describe.desc.flags = fuzz_draw(f, 2) << fuzz_draw(f, 16);
}

#define COMMAND(_name, _type, _weight, _control, _fill)                          \
	{                                                                        \
#_name, EPF_IOC_##_name, sizeof(_type), _weight, _control, _fill \
	}

const struct fuzz_command fuzz_commands[] = {
	COMMAND(CREATE, struct epf_create, 20, true, fill_create),
	COMMAND(DESTROY, struct epf_ref_args, 8, true, fill_destroy),
	COMMAND(OPEN, struct epf_ref_args, 24, true, fill_open),
	COMMAND(LIST, struct epf_list, 12, true, fill_list),
	COMMAND(SWAP, struct epf_swap, 12, true, fill_swap),
	COMMAND(INFO, struct epf_info, 16, false, fill_nothing),
	COMMAND(TEST, struct epf_batch, 32, false, fill_ask),
	COMMAND(INSERT, struct epf_batch, 32, false, fill_batch),
	COMMAND(TEST_AND_INSERT, struct epf_batch, 32, false, fill_ask),
	COMMAND(ROTATE, struct epf_rotate_args, 2, false, fill_rotate),
	{ "CLEAR", EPF_IOC_CLEAR, 0, 1, false, fill_nothing },
	COMMAND(KEY, struct epf_key_args, 12, false, fill_nothing),
	COMMAND(SNAP_BEGIN, struct epf_snap, 16, false, fill_begin),
	COMMAND(SNAP_END, struct epf_snap, 16, false, fill_nothing),
	COMMAND(SNAP_READ, struct epf_snap_read, 24, false, fill_read),
	COMMAND(RESTORE, struct epf_restore, 4, false, fill_restore),
	COMMAND(JOURNAL, struct epf_journal_args, 16, false, fill_journal),
	COMMAND(DESCRIBE, struct epf_describe, 8, false, fill_describe),
};

const size_t fuzz_nr_commands = ARRAY_LEN(fuzz_commands);

/* Draw by weight. */
const struct fuzz_command *fuzz_draw_command(struct fuzzer *f)
{
	unsigned int sum = 0;
	size_t i;
	__u64 n;

	for (i = 0; i < fuzz_nr_commands; i++)
		sum += fuzz_commands[i].weight;
	n = fuzz_draw(f, sum);
	for (i = 0; n >= fuzz_commands[i].weight; i++)
		n -= fuzz_commands[i].weight;
	return &fuzz_commands[i];
}

/* Return: a hostile pointer. */
__u64 fuzz_hostile(struct fuzzer *f)
{
	switch (fuzz_draw(f, 12)) {
	case 0:
		return 0;
	case 1:
		return 1 + fuzz_draw(f, PAGE); /* never mapped */
	case 2:
		return 0xffff888000000000 + fuzz_draw(f, 1 << 30);
	case 3:
		return 0xffffffff81000000 + fuzz_draw(f, 1 << 20);
	case 4:
		return 1ull << 63;
	case 5:
		return ~0ull - fuzz_draw(f, PAGE);
	case 6:
		return 0x7ffffffff000 - fuzz_draw(f, 64);
	case 7:
		return (uintptr_t)fuzz_readonly + fuzz_draw(f, 2 * PAGE);
	case 8:
		return (uintptr_t)f->data + PAGE * FUZZ_DATA_PAGES - fuzz_draw(f, 128);
	case 9:
		return (uintptr_t)f->args + fuzz_draw(f, PAGE); /* overlap */
	case 10:
		return (uintptr_t)fuzz_image;
	default:
		return (uintptr_t)fuzz_shifting + fuzz_draw(f, 2 * PAGE);
	}
}

static __u64 odd_number(struct fuzzer *f)
{
	/* clang-format off */
	static const __u64 numbers[] = {
		0, 1, 2, 7, 8, 63, 64, 255, 256, 257, PAGE, 1 << 20,
		(1 << 20) + 1, 0x7fffffff, 0x80000000, 0xffffffff, 1ull << 32,
		1ull << 40, 1ull << 62, (1ull << 62) + 1, 1ull << 63, ~0ull,
	};
	/* clang-format on */

	return numbers[fuzz_draw(f, ARRAY_LEN(numbers))] + fuzz_draw(f, 3) - 1;
}

/* Change one field of the @size bytes of arguments. */
static void mutate(struct fuzzer *f, union fuzz_args *a, size_t size)
{
	size_t at = fuzz_draw(f, size / 4) * 4;
	__u64 v = fuzz_draw(f, 2) ? odd_number(f) : fuzz_hostile(f);

	switch (fuzz_draw(f, 4)) {
	case 0:
		a->bytes[fuzz_draw(f, size)] ^= 1 << fuzz_draw(f, 8);
		break;
	case 1:
		memcpy(a->bytes + at, &v, 4);
		break;
	case 2:
		memcpy(a->bytes + at / 8 * 8, &v, 8);
		break;
	default:
		a->head.flags = 1u << fuzz_draw(f, 32);
	}
}

/* Larger than the kernel's struct, with or without zeros at the end; or too small. */
static void odd_size(struct fuzzer *f, union fuzz_args *a, size_t size)
{
	static const __u32 sizes[] = { 0,        1,    4,        8,          64,
				       PAGE - 8, PAGE, PAGE + 1, 0x80000000, 0xffffffff };

	switch (fuzz_draw(f, 4)) {
	case 0:
		a->head.size = sizes[fuzz_draw(f, ARRAY_LEN(sizes))];
		break;
	case 1:
		a->head.size = size - 8;
		break;
	case 2:
		a->head.size = size + fuzz_draw(f, 64);
		break;
	default:
		a->head.size = size + 8;
		a->bytes[size + fuzz_draw(f, 8)] = fuzz_draw(f, 256);
	}
}

/* Fill in arguments of @c; @odd: with some errors in them. */
void fuzz_fill(struct fuzzer *f, const struct fuzz_command *c, bool odd, union fuzz_args *a)
{
	int i;

	a->head.size = c->size;
	c->fill(f, a);
	for (i = odd && c->size ? 1 + fuzz_draw(f, 3) : 0; i; i--)
		mutate(f, a, c->size);
	if (odd && !fuzz_draw(f, 4))
		odd_size(f, a, c->size);
}
