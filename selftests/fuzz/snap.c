// SPDX-License-Identifier: GPL-2.0
/*
 * Snapshot files: any file is opened. An accepted file is valid, is refused with any
 * bit changed, and saving it again gives the same file. Where its epochs are possible, it goes
 * on as a filter in this process.
 *
 * Input: one byte of SNAP_* and two that choose a bit; the rest is the file.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libepf/backend.h"

static int fake_call(int fd, unsigned long cmd, void *arg);

#define epf_call fake_call
#include "libepf/snap.c"
#include "libepf/snap_copy.c"
#undef epf_call

#include "audit.h"
#include "libepf/local.h"

#include "fuzz.h"

#define SNAP_SIZE (1u << 0)      /* make the file as long as its header says */
#define SNAP_LINES_SUM (1u << 1) /* and its checksums right */
#define SNAP_HEADER_SUM (1u << 2)

#define FILE_MAX (1u << 16)
#define NAME_CHARACTERS                                        \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" \
	"0123456789._-"

/* The kernel's side of a filter: its lines are those of a file, or it is of a locked
 * kind and has @kernel_locked and its words.
 */
static struct epf_snap_header kernel;
static struct epf_key_desc kernel_desc;
static const struct epf_snap_locked *kernel_locked;
static int kernel_restored;

int epf_filter_info(int filter, struct epf_info *info)
{
	memset(info, 0, sizeof(*info));
	info->params = kernel.params;
	return 0;
}

int epf_filter_key(int filter, __u64 key[2])
{
	memcpy(key, kernel.key, sizeof(kernel.key));
	return 0;
}

static int read_kernel(const struct epf_snap_read *r)
{
	const char *from = (const char *)(kernel_locked + 1) + r->offset;

	law(r->size == sizeof(*r) && kernel.params.kind, "only locked kinds are");
	if (r->flags & EPF_SNAP_STATE)
		from = (const char *)kernel_locked;
	else
		law(!(r->offset % EPF_SNAP_PIECE) &&
			    r->offset + r->bytes <= kernel_locked->words * 8,
		    "a read is of memory");
	memcpy((void *)(uintptr_t)r->data, from, r->bytes);
	return 0;
}

static int fake_call(int fd, unsigned long cmd, void *arg)
{
	struct epf_restore *r = arg;
	struct epf_snap *s = arg;

	if (cmd == EPF_IOC_SNAP_READ)
		return read_kernel(arg);
	if (cmd == EPF_IOC_RESTORE) {
		kernel_restored = r->size == sizeof(*r) && !r->flags &&
				  !memcmp(&r->header, &kernel, sizeof(kernel)) &&
				  epf_key_desc_equal(&r->desc, &kernel_desc);
		return 0;
	}
	law(s->size == sizeof(*s) && !s->flags, "a call has its size");
	law(cmd == EPF_IOC_SNAP_BEGIN || cmd == EPF_IOC_SNAP_END, "a snapshot is begun and ended");
	law(s->pin_ns <= EPF_PIN_MAX_NS, "a pin is not too long");
	s->header = kernel;
	s->header.lines_xxh3 = s->header.header_xxh3 = 0;
	s->desc = kernel_desc;
	return 0;
}

static int file_of(const void *bytes, size_t len)
{
	int fd = memfd_create("snapshot", MFD_CLOEXEC);

	if (fd < 0 || write(fd, bytes, len) != (ssize_t)len)
		abort();
	return fd;
}

static enum epf_snap_fault open_file(int fd, struct epf_snap_file *f)
{
	enum epf_snap_fault fault;
	char path[32];
	int err;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	err = epf_snap_open(path, f, NULL, NULL, &fault);
	law(!err == (fault == EPF_SNAP_OK), "no fault, no error");
	law((err == -EBADMSG) == (fault != EPF_SNAP_OK && fault != EPF_SNAP_IO),
	    "a fault is an error of its own");
	law(err || f->map, "what is accepted is mapped");
	if (err)
		epf_snap_close(f); /* harmless */
	return fault;
}

static enum epf_snap_fault fault_of(const void *bytes, size_t len)
{
	int fd = file_of(bytes, len);
	struct epf_snap_file f;
	enum epf_snap_fault fault = open_file(fd, &f);

	if (!fault)
		epf_snap_close(&f);
	close(fd);
	return fault;
}

/* Sum of words, then state. */
static __u64 locked_sum(const __u8 *at, size_t len)
{
	XXH3_state_t *state = XXH3_createState();
	size_t first = sizeof(struct epf_snap_locked);
	__u64 sum;

	if (!state)
		abort();
	XXH3_64bits_reset(state);
	XXH3_64bits_update(state, at + first, len - first);
	XXH3_64bits_update(state, at, first);
	sum = XXH3_64bits_digest(state);
	XXH3_freeState(state);
	return sum;
}

static void locked_has_to_be(const __u8 *at, size_t len, const struct epf_snap_header *h)
{
	static struct epf_snap_locked s;

	law(len > sizeof(s), "a state is there");
	memcpy(&s, at, sizeof(s));
	law(s.size == sizeof(s) && len == sizeof(s) + s.words * 8, "length");
	law(h->lines_xxh3 == locked_sum(at, len), "words' sum");
	law(!h->params.nr_lines && !h->params.lines_per_key && !h->params.bits_per_key, "no lines");
	law(s.epoch >= h->epoch_begin && s.epoch <= h->epoch_end, "epoch");
}

/* Test keys everywhere: no test accesses memory outside the filter. */
static void asked(const struct epf_snap_file *f)
{
	static unsigned char ages[512], bitmap[64];
	static __u64 digests[512];
	struct epf_keys keys = { .data = digests, .n = 512 };
	struct epf_answer a = { .bitmap = bitmap, .ages = ages, .threads = 1 };
	struct epf_view v;
	__u32 i;

	for (i = 0; i < keys.n; i++)
		digests[i] = epf_word(i, 1);
	law(!epf_view_snap(&v, f), "what is accepted can be asked");
	law(!epf_engine_find("scalar")->query(&v, &keys, &a), "and answers");
	epf_view_close(&v);
}

/* How long the header is by its version. */
static size_t head_bytes(const __u8 *bytes)
{
	struct epf_snap_header h;

	memcpy(&h, bytes, sizeof(h));
	return sizeof(h) + (h.version == EPF_SNAP_VERSION_DESC ? sizeof(struct epf_key_desc) : 0);
}

/* With a version that has one it is known, and has only options of a packet. */
static void desc_has_to_be(const __u8 *bytes, const struct epf_key_desc *got)
{
	struct epf_key_desc d = { 0 };
	bool told = head_bytes(bytes) > sizeof(struct epf_snap_header);

	if (told)
		memcpy(&d, bytes + sizeof(struct epf_snap_header), sizeof(d));
	law(!memcmp(&d, got, sizeof(d)), "the description is the file's");
	law(told == (d.kind != EPF_KEYS_UNKNOWN) && d.kind <= EPF_KEYS_MAX, "a kind of key");
	law(d.kind == EPF_KEYS_PACKET || !(d.key | d.flags | d.max_bytes),
	    "no options of other keys");
	law(d.key < EPF_PKT_KEYS && !(d.flags & ~EPF_PKT_MASK) &&
		    !((d.key == EPF_PKT_FLOW || d.key == EPF_PKT_CONVERSATION) && d.max_bytes),
	    "options of a packet");
}

/* Check the whole header and file, without the code under test. */
static void what_it_has_to_be(const __u8 *bytes, size_t len)
{
	struct epf_snap_header h;
	const struct epf_params *p = &h.params;
	size_t first = head_bytes(bytes);
	const __u8 *lines = bytes + first;
	static __u8 head[512];
	__u64 sum;

	law(len >= sizeof(h), "an accepted file has a header");
	memcpy(&h, bytes, sizeof(h));
	law(h.magic == EPF_SNAP_MAGIC && h.version <= EPF_SNAP_VERSION_DESC && h.version &&
		    h.header_bytes == first,
	    "magic, version, size");
	if (p->kind) {
		locked_has_to_be(lines, len - first, &h);
	} else {
		law(p->nr_lines >= 64 && p->nr_lines <= 1ULL << 31 &&
			    len - first == p->nr_lines * 64,
		    "length");
		law(h.lines_xxh3 == XXH3_64bits(lines, len - first), "lines' sum");
	}
	sum = h.header_xxh3;
	h.header_xxh3 = 0;
	memcpy(head, bytes, first);
	memcpy(head, &h, sizeof(h));
	law(sum == XXH3_64bits(head, first), "header's sum");
	law(p->kind <= EPF_KIND_MAX && p->hash <= EPF_HASH_MAX && p->mode <= EPF_MODE_MAX &&
		    p->refresh <= EPF_FIRST_SEEN,
	    "kinds");
	law(p->kind || p->lines_per_key == 1 || p->lines_per_key == 2 || p->lines_per_key == 4,
	    "lines a key");
	law(p->kind ||
		    (!(p->nr_lines % p->lines_per_key) &&
		     p->nr_lines <= p->lines_per_key * EPF_PART_LINES_MAX &&
		     !(p->bits_per_key % p->lines_per_key) && p->bits_per_key >= p->lines_per_key &&
		     p->bits_per_key <= 15 * p->lines_per_key),
	    "positions");
	law(!p->window_inserts == (p->mode == EPF_MODE_TIME) && p->window_inserts < 1ULL << 40,
	    "insertions");
	law(!p->window_ns == (p->mode == EPF_MODE_COUNT) && p->window_ns <= 1ULL << 62, "time");
	law(p->budget_ppt && p->budget_ppt <= p->limit_ppt && p->limit_ppt <= EPF_RATE_ONE,
	    "budget and limit");
	law(strnlen(p->name, EPF_NAME_LEN) < EPF_NAME_LEN && p->name[0] && p->name[0] != '.' &&
		    p->name[strspn(p->name, NAME_CHARACTERS)] == '\0',
	    "name");
	law(h.epoch_begin >= 8 && h.epoch_begin <= h.epoch_end, "epochs");
}

/* A file that is a byte shorter or longer, or has one bit changed, is refused. */
static void nothing_else(__u8 *bytes, size_t len, size_t bit)
{
	size_t at = bit / 8 % len;

	law(fault_of(bytes, len - 1) == EPF_SNAP_TRUNCATED, "a byte less");
	law(fault_of(bytes, len + 1) == EPF_SNAP_LONGER, "a byte more");
	bytes[at] ^= 1u << bit % 8;
	law(fault_of(bytes, len) != EPF_SNAP_OK, "a bit changed");
	bytes[at] ^= 1u << bit % 8;
}

static bool file_is(const char *path, const __u8 *bytes, size_t len)
{
	__u8 *got = malloc(len + 1);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool good = got && read(fd, got, len + 1) == (ssize_t)len && !memcmp(got, bytes, len);

	close(fd);
	free(got);
	return good;
}

/* Saving a filter with the file's contents gives the same file. */
static void saved_again(const __u8 *bytes, size_t len)
{
	size_t first = head_bytes(bytes);
	int lines = file_of(bytes + first, len - first);
	struct epf_snap_header h;
	char dir[64], path[80];

	make_dir(dir);
	snprintf(path, sizeof(path), "%s/snapshot", dir);
	law(!epf_snap_save(lines, path, NULL, NULL, &h), "a save works");
	law(!memcmp(&h, bytes, sizeof(h)), "a save tells what it wrote");
	law(file_is(path, bytes, len), "saved again, a file is the same");
	unlink(path);
	law(!rmdir(dir), "a save leaves nothing else");
	close(lines);
}

#define LATER 4096u /* ns */

/* Its times are those of a program's clock or, if @early, before the zero of it. */
static void mem_goes_on(const struct epf_snap_file *f, bool early)
{
	__u64 now = early ? 0 : 1ULL << 60, digest;
	int err;
	struct epf_mem *m = epf_mem_load(f, early ? now - LATER : now, &err);
	struct epf_info info;
	__u32 i;

	law(m || err == -EBADMSG || err == -ENOMEM, "it is loaded or refused");
	for (i = 0; m && i < 40; i++, now += i % 8 ? 1 : f->header.params.window_ns / 8) {
		digest = epf_word(i, 2);
		epf_mem_insert(m, digest, now);
		law(epf_mem_test(m, digest, now), "a key is present at once");
		if (i % 16 == 9)
			epf_mem_rotate(m, now);
	}
	if (m)
		epf_mem_info(m, now, &info);
	epf_mem_free(m);
}

/* Saved and loaded once more, it still has the key of @digest, which was inserted at @now. */
static void local_again(struct epf_local *l, __u64 digest, __u64 now)
{
	struct epf_save_opts opts = { .now_ns = now, .wall_ns = now };
	enum epf_snap_fault fault = EPF_SNAP_OK;
	struct epf_snap_header header;
	struct epf_local *again;
	struct epf_snap_file f;
	char dir[64], path[80];
	int err = 0;

	make_dir(dir);
	snprintf(path, sizeof(path), "%s/snapshot", dir);
	law(!epf_local_save(l, &opts, path, &header), "a filter is saved");
	law(!epf_snap_open(path, &f, NULL, NULL, &fault), "its file is opened");
	again = epf_local_load(&f, now, now, &err);
	law(again && epf_local_test(again, digest, now), "it is loaded with its keys");
	epf_local_free(again);
	epf_snap_close(&f);
	unlink(path);
	law(!rmdir(dir), "a save leaves nothing else");
}

static void local_goes_on(const struct epf_snap_file *f, bool early)
{
	__u64 now = early ? 0 : 1ULL << 60, digest;
	int err;
	struct epf_local *l = epf_local_load(f, early ? now - LATER : now, now, &err);
	struct epf_info info;
	__u32 i;

	law(l || err == -EBADMSG || err == -ENOMEM, "it is loaded or refused");
	for (i = 0; l && i < 40; i++, now += i % 8 ? 1 : f->header.params.window_ns / 8) {
		digest = epf_word(i, 2);
		if (i % 3)
			epf_local_insert(l, digest, now);
		else
			epf_local_test_and_insert(l, digest, now);
		law(epf_local_test(l, digest, now), "a key is present at once");
		if (i % 16 == 9)
			epf_local_rotate(l, now);
	}
	if (l) {
		epf_local_info(l, now, &info);
		epf_local_insert(l, 1, now);
		local_again(l, 1, now);
	}
	epf_local_free(l);
}

static void goes_on(const struct epf_snap_file *f, bool early)
{
	if (f->locked)
		local_goes_on(f, early);
	else
		mem_goes_on(f, early);
}

static void accepted(struct epf_snap_file *f, __u8 *bytes, size_t len, size_t bit)
{
	size_t first = head_bytes(bytes);

	what_it_has_to_be(bytes, len);
	desc_has_to_be(bytes, &f->desc);
	law(!memcmp(&f->header, bytes, sizeof(f->header)) &&
		    !memcmp(f->lines, bytes + first, len - first),
	    "what is mapped is the file");
	kernel = f->header;
	kernel.version = EPF_SNAP_VERSION;
	kernel.header_bytes = sizeof(kernel);
	kernel_desc = f->desc;
	kernel_locked = f->locked;
	law(!epf_snap_restore(0, f) && kernel_restored, "the kernel gets it");
	asked(f);
	goes_on(f, bit % 2);
	nothing_else(bytes, len, bit);
	saved_again(bytes, len);
	epf_snap_close(f);
}

/* Make it as long as its state says, within bounds. */
static size_t mend_locked(__u8 *bytes, size_t len)
{
	size_t first = head_bytes(bytes) + sizeof(struct epf_snap_locked);
	struct epf_snap_locked *s = (void *)(bytes + head_bytes(bytes));
	size_t want;

	if (len < first) {
		memset(bytes + len, 0, first - len);
		len = first;
	}
	s->size = sizeof(*s);
	if (s->words > FILE_MAX / 16)
		return len;
	want = first + s->words * 8;
	if (want > len)
		memset(bytes + len, 0, want - len);
	return want;
}

/* Make the file what its writer would have made it. */
static size_t mend(__u8 *bytes, size_t len, __u8 how)
{
	struct head head = { 0 };
	struct epf_snap_header h;
	size_t want, first;

	if (len < sizeof(head))
		return len;
	first = head_bytes(bytes);
	memcpy(&h, bytes, sizeof(h));
	memcpy(&head, bytes, first);
	want = first + (size_t)h.params.nr_lines * EPF_LINE_BYTES;
	if (how & SNAP_SIZE && h.params.kind)
		len = mend_locked(bytes, len);
	else if (how & SNAP_SIZE && h.params.nr_lines < FILE_MAX / EPF_LINE_BYTES) {
		if (want > len)
			memset(bytes + len, 0, want - len);
		len = want;
	}
	if (how & SNAP_LINES_SUM)
		h.lines_xxh3 = h.params.kind && len > first + sizeof(struct epf_snap_locked) ?
				       locked_sum(bytes + first, len - first) :
				       XXH3_64bits(bytes + first, len - first);
	if (how & SNAP_HEADER_SUM && h.header_bytes <= sizeof(head))
		h.header_xxh3 = epf_snap_header_sum(&h, &head.desc);
	memcpy(bytes, &h, sizeof(h));
	return len;
}

int LLVMFuzzerTestOneInput(const __u8 *data, size_t size)
{
	static __u8 bytes[2 * FILE_MAX] __attribute__((aligned(8)));
	struct input in = { data, size };
	struct epf_snap_file f;
	size_t bit, len;
	__u8 how;
	int fd;

	how = take(&in);
	bit = take16(&in);
	if (in.left > FILE_MAX)
		return 0;
	if (in.left)
		memcpy(bytes, in.p, in.left);
	len = mend(bytes, in.left, how);
	bytes[len] = 0;
	fd = file_of(bytes, len);
	if (!open_file(fd, &f))
		accepted(&f, bytes, len, bit);
	close(fd);
	return 0;
}
