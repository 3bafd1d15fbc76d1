// SPDX-License-Identifier: GPL-2.0
/*
 * The arguments of every command: valid ones; sizes that are too small, or too large
 * with and without zeros at the end; unknown flags; reserved fields; invalid pointers.
 * A refused call changes nothing.
 */
#include "epftest.h"

#include <stddef.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#define LINES 64
#define IMAGE_BYTES (2 * PAGE)

struct head {
	__u32 size;
	__u32 flags;
};

/**
 * struct command - one ioctl
 * @name: its name in test names
 * @cmd: number
 * @size: of its struct
 * @flags: flags that it accepts or returns
 * @control: on the device, else on a filter
 * @out: writes to the struct
 * @fill: create what it needs, and set valid arguments
 * @undo: undo the call, which returned @ret
 */
struct command {
	const char *name;
	unsigned long cmd;
	size_t size;
	__u32 flags;
	bool control;
	bool out;
	void (*fill)(void *args);
	void (*undo)(long ret);
};

static int filter;
static __u64 digest = 42;
static char lines[LINES * 64];
static struct epf_snap_header header;

static void set_name(struct epf_name *n, const char *name)
{
	strcpy(n->name, name);
}

static void fill_create(void *args)
{
	struct epf_create *c = args;

	c->params = test_params("mod-args-new", LINES, 2, 10, 700);
}

static void undo_create(long ret)
{
	test_demand(test_destroy("mod-args-new", 0) == (ret ? -ENOENT : 0));
}

static void fill_destroy(void *args)
{
	struct epf_params p = test_params("mod-args-new", LINES, 2, 10, 700);

	set_name(&((struct epf_ref_args *)args)->name, p.name);
	test_demand(!epf_dev_create(test_dev, &p, NULL, NULL));
}

static void undo_destroy(long ret)
{
	test_demand(test_destroy("mod-args-new", 0) == (ret ? 0 : -ENOENT));
}

static void fill_list(void *args)
{
	static __u32 ids[16];
	struct epf_list *l = args;

	l->ids = (uintptr_t)ids;
	l->count = ARRAY_LEN(ids);
}

static void fill_open(void *args)
{
	set_name(&((struct epf_ref_args *)args)->name, "mod-args");
}

static void undo_open(long ret)
{
	if (ret >= 0)
		close(ret);
}

static void fill_swap(void *args)
{
	struct epf_swap *s = args;

	set_name(&s->a, "mod-args-a");
	set_name(&s->b, "mod-args-b");
}

static void fill_batch(void *args)
{
	struct epf_batch *b = args;

	b->flags = EPF_BATCH_DIGESTS;
	b->keys = (uintptr_t)&digest;
	b->count = 1;
}

static void fill_rotate(void *args)
{
	((struct epf_rotate_args *)args)->count = 1;
}

static void fill_nothing(void *args)
{
}

static void fill_begin(void *args)
{
	((struct epf_snap *)args)->pin_ns = EPF_PIN_MAX_NS;
}

static void end_snapshot(long ret)
{
	test_snap_end(filter, NULL);
}

static void fill_end(void *args)
{
	test_demand(!test_snap_begin(filter, EPF_PIN_MAX_NS, NULL));
}

static void fill_restore(void *args)
{
	struct epf_restore *r = args;

	r->header = header;
	r->lines = (uintptr_t)lines;
}

static void fill_journal(void *args)
{
	struct epf_journal_args *a = args;

	a->order = 4;
}

static void undo_journal(long ret)
{
	struct epf_journal_args a = { .size = sizeof(a), .flags = EPF_JOURNAL_END };

	test_demand(test_ioctl(filter, EPF_IOC_JOURNAL, &a) == (ret ? -EINVAL : 0));
}

static void undo_nothing(long ret)
{
}

#define CONTROL true
#define FILTER false
#define C(name, type, flags, control, out, fill, undo)                                      \
	{                                                                                   \
#name, EPF_IOC_##name, sizeof(struct type), flags, control, out, fill, undo \
	}

static const struct command commands[] = {
	C(CREATE, epf_create, EPF_CREATE_MASK, CONTROL, true, fill_create, undo_create),
	C(DESTROY, epf_ref_args, EPF_DESTROY_MASK, CONTROL, false, fill_destroy, undo_destroy),
	C(LIST, epf_list, 0, CONTROL, true, fill_list, undo_nothing),
	C(OPEN, epf_ref_args, 0, CONTROL, false, fill_open, undo_open),
	C(SWAP, epf_swap, 0, CONTROL, false, fill_swap, undo_nothing),
	C(INFO, epf_info,
	  EPF_INFO_SATURATED | EPF_INFO_PINNED | EPF_INFO_JOURNAL | EPF_INFO_ALIGNED, FILTER, true,
	  fill_nothing, undo_nothing),
	C(TEST, epf_batch, EPF_BATCH_MASK | EPF_BATCH_SATURATED, FILTER, true, fill_batch,
	  undo_nothing),
	C(INSERT, epf_batch, EPF_BATCH_MASK | EPF_BATCH_SATURATED, FILTER, true, fill_batch,
	  undo_nothing),
	C(TEST_AND_INSERT, epf_batch, EPF_BATCH_MASK | EPF_BATCH_SATURATED, FILTER, true,
	  fill_batch, undo_nothing),
	C(ROTATE, epf_rotate_args, 0, FILTER, true, fill_rotate, undo_nothing),
	C(KEY, epf_key_args, 0, FILTER, true, fill_nothing, undo_nothing),
	C(SNAP_BEGIN, epf_snap, 0, FILTER, true, fill_begin, end_snapshot),
	C(SNAP_END, epf_snap, 0, FILTER, true, fill_end, end_snapshot),
	C(RESTORE, epf_restore, 0, FILTER, false, fill_restore, undo_nothing),
	C(JOURNAL, epf_journal_args, EPF_JOURNAL_MASK, FILTER, true, fill_journal, undo_journal),
	C(DESCRIBE, epf_describe, 0, FILTER, true, fill_nothing, undo_nothing),
};

/* Two pages for arguments, then an inaccessible one. */
static char *room;

/**
 * struct spoil - a change to valid arguments
 * @at: address of the struct
 * @size: size given in the struct
 * @flags: flags to add
 * @off: offset of the bytes to change
 * @bytes: number of bytes to change, 0 .. 8
 * @value: their new value
 */
struct spoil {
	char *at;
	__u32 size;
	__u32 flags;
	__u32 off;
	__u32 bytes;
	__u64 value;
};

/* Copy only as much of the struct as fits. */
static long call(const struct command *c, const struct spoil *s)
{
	static char image[IMAGE_BYTES];
	struct head *head = (struct head *)image;
	char *end = room + IMAGE_BYTES;
	long ret;

	memset(image, 0, sizeof(image));
	c->fill(image);
	head->size = s->size;
	head->flags |= s->flags;
	memcpy(image + s->off, &s->value, s->bytes);
	memcpy(s->at, image, end - s->at < IMAGE_BYTES ? end - s->at : IMAGE_BYTES);
	ret = test_ioctl(c->control ? test_dev : filter, c->cmd, s->at);
	c->undo(ret);
	return ret;
}

static long call_sized(const struct command *c, __u32 size)
{
	return call(c, &(struct spoil){ .at = room, .size = size });
}

/* Call with the pointer @at, where nothing can be written. */
static long call_at(const struct command *c, void *at)
{
	char image[IMAGE_BYTES] = {};
	long ret;

	c->fill(image);
	ret = test_ioctl(c->control ? test_dev : filter, c->cmd, at);
	c->undo(ret);
	return ret;
}

static bool flags_refused(const struct command *c)
{
	int bit;

	for (bit = 0; bit < 32; bit++) {
		struct spoil s = { .at = room, .size = c->size, .flags = 1u << bit };

		if (!(c->flags & s.flags) && call(c, &s) != -EINVAL) {
			printf("# flag 1 << %d\n", bit);
			return false;
		}
	}
	return true;
}

static bool tails_refused(const struct command *c)
{
	struct spoil s = { .at = room, .size = c->size + 64, .bytes = 1, .value = 1 };

	s.off = c->size;
	if (call(c, &s) != -E2BIG)
		return false;
	s.off = c->size + 63;
	return call(c, &s) == -E2BIG;
}

static long call_readonly(const struct command *c)
{
	char image[IMAGE_BYTES] = {};
	long ret;

	c->fill(image);
	((struct head *)image)->size = c->size;
	memcpy(room, image, c->size);
	test_demand(!mprotect(room, IMAGE_BYTES, PROT_READ));
	ret = test_ioctl(c->control ? test_dev : filter, c->cmd, room);
	test_demand(!mprotect(room, IMAGE_BYTES, PROT_READ | PROT_WRITE));
	c->undo(ret);
	return ret;
}

/* Return: the size of its struct when it was first published. */
static __u32 first_size(const struct command *c)
{
	return c->cmd == EPF_IOC_CREATE ? offsetof(struct epf_create, shape) :
	       c->cmd == EPF_IOC_INFO   ? offsetof(struct epf_info, shape) :
	       c->cmd == EPF_IOC_SNAP_BEGIN || c->cmd == EPF_IOC_SNAP_END ?
					offsetof(struct epf_snap, journal) :
	       c->cmd == EPF_IOC_RESTORE ? offsetof(struct epf_restore, desc) :
					   c->size;
}

/* Bytes after the end of an older caller's struct stay unchanged. */
static bool keeps_behind(const struct command *c, __u32 size)
{
	struct head *head = (struct head *)room;
	__u32 i;

	memset(room, 0, IMAGE_BYTES);
	c->fill(room);
	memset(room + size, 0xa5, IMAGE_BYTES - size);
	head->size = size;
	c->undo(test_ioctl(c->control ? test_dev : filter, c->cmd, room));
	for (i = size; i < IMAGE_BYTES && (__u8)room[i] == 0xa5; i++)
		;
	if (i < IMAGE_BYTES || head->size != size)
		printf("# byte %u of %u; size %u\n", i, size, head->size);
	return i == IMAGE_BYTES && head->size == size;
}

#define COMMAND_POINTS 9
static void try_command(const struct command *c)
{
	struct spoil half = { .at = room + IMAGE_BYTES - (c->size - 8), .size = c->size };
	long ret;

	tap_ok(call_sized(c, c->size) >= 0 && call_sized(c, first_size(c)) >= 0,
	       "%s works, of the first size too", c->name);
	tap_ok(keeps_behind(c, c->size) && keeps_behind(c, first_size(c)),
	       "%s: its size stays, and what is behind the struct", c->name);
	tap_ok(call_sized(c, 0) == -EINVAL && call_sized(c, 1) == -EINVAL &&
		       call_sized(c, first_size(c) - 1) == -EINVAL,
	       "%s: sizes 0, 1, one below the first: EINVAL", c->name);
	tap_ok(call_sized(c, c->size + 8) >= 0 && call_sized(c, PAGE) >= 0,
	       "%s: zeros behind the struct are taken", c->name);
	tap_ok(tails_refused(c), "%s: a byte set behind the struct: E2BIG", c->name);
	tap_ok(call_sized(c, PAGE + 1) == -E2BIG && call_sized(c, -1) == -E2BIG,
	       "%s: larger than a page: E2BIG", c->name);
	tap_ok(flags_refused(c), "%s: unknown flags: EINVAL", c->name);
	tap_ok(call_at(c, NULL) == -EFAULT && call_at(c, room + IMAGE_BYTES) == -EFAULT &&
		       call_at(c, (void *)-4096L) == -EFAULT && call(c, &half) == -EFAULT,
	       "%s: pointers to nothing, to half of it, to the kernel: EFAULT", c->name);
	ret = call_readonly(c);
	tap_ok(c->out ? ret == -EFAULT : ret >= 0, "%s: read-only memory: %s", c->name,
	       c->out ? "EFAULT" : "enough");
}

static const struct command *find(unsigned long cmd)
{
	const struct command *c = commands;

	while (c->cmd != cmd)
		c++;
	return c;
}

#define F(cmd, type, field, value)                                                          \
	{                                                                                   \
#cmd ": " #field " = " #value, EPF_IOC_##cmd, offsetof(struct type, field), \
			sizeof(((struct type *)0)->field), value                            \
	}

/* EINVAL for each. */
static const struct {
	const char *claim;
	unsigned long cmd;
	__u32 off;
	__u32 bytes;
	__u64 value;
} fields[] = {
	F(CREATE, epf_create, reserved, 1),
	F(CREATE, epf_create, key[0], 1),
	F(CREATE, epf_create, key[1], 1),
	F(DESTROY, epf_ref_args, name.reserved, 1),
	F(LIST, epf_list, reserved, 1),
	F(OPEN, epf_ref_args, name.reserved, 1),
	F(SWAP, epf_swap, a.reserved, 1),
	F(SWAP, epf_swap, b.reserved, 1),
	F(ROTATE, epf_rotate_args, reserved, 1),
	F(ROTATE, epf_rotate_args, count, 0),
	F(ROTATE, epf_rotate_args, count, 9),
	F(ROTATE, epf_rotate_args, count, 0xffffffff),
	F(SNAP_BEGIN, epf_snap, pin_ns, 0),
	F(SNAP_BEGIN, epf_snap, pin_ns, EPF_PIN_MAX_NS + 1),
	F(SNAP_BEGIN, epf_snap, pin_ns, 0xffffffffffffffff),
	F(SNAP_END, epf_snap, pin_ns, 1),
};

static void try_fields(void)
{
	size_t i;

	for (i = 0; i < ARRAY_LEN(fields); i++) {
		const struct command *c = find(fields[i].cmd);
		struct spoil s = {
			.at = room,
			.size = c->size,
			.off = fields[i].off,
			.bytes = fields[i].bytes,
			.value = fields[i].value,
		};

		test_is(call(c, &s), -EINVAL, "%s: EINVAL", fields[i].claim);
	}
}

static bool notty(int fd, unsigned int type, int first, int last)
{
	int nr, dir;

	for (nr = first; nr <= last; nr++)
		for (dir = 0; dir < 4; dir++)
			if (test_ioctl(fd, _IOC(dir, type, nr, 64), room) != -ENOTTY) {
				printf("# command %d\n", nr);
				return false;
			}
	return true;
}

#define UNKNOWN_POINTS 4
static void try_unknown(void)
{
	struct head *head = (struct head *)room;

	memset(room, 0, IMAGE_BYTES);
	head->size = 64;
	tap_ok(notty(test_dev, EPF_IOC_MAGIC, 0x05, 0xff), "the device: all other numbers: ENOTTY");
	tap_ok(notty(filter, EPF_IOC_MAGIC, 0x00, 0x0f) && notty(filter, EPF_IOC_MAGIC, 0x1d, 0xff),
	       "a filter: all other numbers: ENOTTY");
	tap_ok(notty(test_dev, EPF_IOC_MAGIC - 1, 0, 0xff) &&
		       notty(filter, EPF_IOC_MAGIC + 1, 0, 0xff),
	       "another magic: ENOTTY");
	tap_ok(test_ioctl(test_dev, 0, room) == -ENOTTY &&
		       test_ioctl(filter, FIONREAD, room) == -ENOTTY &&
		       test_ioctl(filter, -1UL, room) == -ENOTTY,
	       "numbers of others: ENOTTY");
}

#define LIST_POINTS 5
static void try_list(void)
{
	struct epf_list l = { .size = sizeof(l) };
	__u32 ids[4] = { 77, 77, 77, 77 };
	__u32 nr;

	test_is(test_ioctl(test_dev, EPF_IOC_LIST, &l), 0, "LIST without room");
	nr = l.count;
	test_demand(nr >= 3);
	l.ids = (uintptr_t)ids;
	l.count = 2;
	test_is(test_ioctl(test_dev, EPF_IOC_LIST, &l), 0, "LIST with little room");
	tap_ok(l.count == nr && ids[0] < ids[1] && ids[2] == 77,
	       "it tells how many there are, and writes what fits");
	l.ids = (uintptr_t)room + IMAGE_BYTES;
	l.count = 2;
	test_is(test_ioctl(test_dev, EPF_IOC_LIST, &l), -EFAULT, "LIST to nowhere: EFAULT");
	l.ids = (uintptr_t)ids;
	l.count = 0xffffffff;
	ids[3] = 77;
	tap_ok(nr > 3 || (!test_ioctl(test_dev, EPF_IOC_LIST, &l) && ids[3] == 77),
	       "LIST with room beyond measure writes what there is");
}

/* A call whose result cannot be written back is undone. */
#define UNDONE_POINTS 6
static void try_undone(void)
{
	struct epf_params p = test_params("mod-args-new", LINES, 2, 10, 700);
	struct epf_snap *s = (struct epf_snap *)room;
	struct epf_create *c = (struct epf_create *)room;
	__u32 before = test_nr_filters();
	__u64 epoch = test_info(filter).epoch;

	*c = (struct epf_create){ .size = sizeof(*c), .params = p };
	test_demand(!mprotect(room, IMAGE_BYTES, PROT_READ));
	test_is(test_ioctl(test_dev, EPF_IOC_CREATE, c), -EFAULT,
		"CREATE that cannot tell the id: EFAULT");
	tap_ok(test_nr_filters() == before && test_open(p.name) == -ENOENT,
	       "and there is no filter");
	test_demand(!epf_dev_create(test_dev, &p, NULL, NULL));
	test_is(test_ioctl(test_dev, EPF_IOC_CREATE, c), -EEXIST,
		"where one of that name exists: EEXIST");
	test_is(test_destroy(p.name, 0), 0, "and it stays");
	test_demand(!mprotect(room, IMAGE_BYTES, PROT_READ | PROT_WRITE));

	*s = (struct epf_snap){ .size = sizeof(*s), .pin_ns = EPF_PIN_MAX_NS };
	test_demand(!mprotect(room, IMAGE_BYTES, PROT_READ));
	tap_ok(test_ioctl(filter, EPF_IOC_SNAP_BEGIN, s) == -EFAULT &&
		       !(test_info(filter).flags & EPF_INFO_PINNED),
	       "SNAP_BEGIN that cannot tell the header: EFAULT, no pin");
	test_demand(!mprotect(room, IMAGE_BYTES, PROT_READ | PROT_WRITE));
	s->pin_ns = 0;
	tap_ok(test_ioctl(filter, EPF_IOC_SNAP_END, s) == -EINVAL &&
		       !epf_filter_rotate(filter, 1, NULL) && test_info(filter).epoch == epoch + 1,
	       "no snapshot is under way, and rotation goes on");
}

int main(void)
{
	struct epf_params p = test_params("mod-args", LINES, 2, 10, 700);
	struct epf_snap s;
	__u32 before;
	size_t i;

	test_begin(ARRAY_LEN(commands) * COMMAND_POINTS + ARRAY_LEN(fields) + UNKNOWN_POINTS +
		   LIST_POINTS + UNDONE_POINTS + 1);
	room = test_guarded(2);
	filter = test_make(&p);
	strcpy(p.name, "mod-args-a");
	close(test_make(&p));
	strcpy(p.name, "mod-args-b");
	close(test_make(&p));
	test_demand(!test_snap_begin(filter, 1, NULL) && !test_snap_end(filter, &s));
	header = s.header;
	before = test_nr_filters();

	for (i = 0; i < ARRAY_LEN(commands); i++)
		try_command(&commands[i]);
	try_fields();
	try_unknown();
	try_list();
	try_undone();
	test_is(test_nr_filters(), before, "nothing was left behind");
	return test_end();
}
