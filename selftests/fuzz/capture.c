// SPDX-License-Identifier: GPL-2.0
/*
 * Captures of any content through 'epfctl dedup', by both methods and between both
 * formats. The output is a capture of the kept packets, complete and in order, without
 * repeats; after an error there is no output.
 *
 * Input: options in two bytes, see take_ask(); the rest is the file, see pack.h.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <epf/window.h>

#include "epfctl/dedup.c"

#include "out_dir.h"
#include "pack.h"
#include "sink.h"

#define FILE_MAX 16384

/* Replaces the tool's function (ld --wrap), because signals are for libFuzzer. */
void __wrap_catch_signals(void);
void __wrap_catch_signals(void)
{
}

/* Every option of dedup; the windows are longer than any capture. */
static void take_ask(struct input *in, struct dedup_ask *ask)
{
	static const __u16 flags[] = {
		[EPF_PKT_FRAME] = 0,
		[EPF_PKT_PACKET] = EPF_PKT_NO_MAC | EPF_PKT_NO_VLAN,
		[EPF_PKT_FLOW] = EPF_PKT_NONIP_FRAME,
	};
	__u8 a = take(in), b = take(in);

	ask->key.key = a % 3;
	ask->key.flags = b & flags[ask->key.key];
	if (ask->key.key != EPF_PKT_FLOW)
		ask->key.max_bytes = b & 8 ? 30 + (b >> 4) : 0;
	ask->method = b & 128 ? METHOD_FILTER : METHOD_ANY;
	ask->format = !(b & 64) ? -1 : a & 1 ? FORMAT_PCAP : FORMAT_PCAPNG;
	ask->keep_going = a & 4;
	ask->strict = a & 8;
	ask->first_seen = a & 16;
	ask->count_only = a & 32;
	ask->window = 1000000;
	if (a & 64) {
		ask->window = 0;
		ask->time_ns = EPF_NS_MAX;
		ask->pps = a & 128 ? 1e-6 : 0;
	}
	ask->budget = 1e-9;
	ask->max_bytes = 1 << 20;
}

static int next_packet(struct source *s, struct item *item)
{
	int got;

	do
		got = source_next(s, item);
	while (got > 0 && !item->is_packet);
	return got;
}

/* Stamps are equal, except where the formats differ. */
static bool same_packet(const struct source *a, const struct item *x, const struct source *b,
			const struct item *y)
{
	return x->captured == y->captured && x->length == y->length && x->link == y->link &&
	       (a->is_ng != b->is_ng || x->ns == y->ns) && !memcmp(x->data, y->data, x->captured);
}

/* Does @path have packets of @in in their order, and all of them if @all? */
static __u64 part_of(const char *path, const char *in, bool all)
{
	struct source a, b;
	struct item x, y;
	__u64 n = 0;
	int more;

	law(!source_open(&a, path), "what was written can be read");
	law(!source_open(&b, in), "what was read can be read again");
	law(a.is_ng || b.is_ng || (a.nano == b.nano && a.link == b.link),
	    "link type and precision of time");
	while ((more = next_packet(&a, &x)) > 0) {
		do {
			law(next_packet(&b, &y) > 0, "a packet of it");
			law(!all || same_packet(&a, &x, &b, &y), "each of them");
		} while (!same_packet(&a, &x, &b, &y));
		n++;
	}
	law(!more, "what was written is whole");
	source_close(&a);
	source_close(&b);
	return n;
}

static int run(struct dedup_ask ask, struct dedup_result *r, bool judge)
{
	int err;

	memset(r, 0, sizeof(*r));
	sink_clear();
	err = dedup_run(&ask, r);
	law(!err || err == EXIT_FAIL, "done, or failed");
	if (judge)
		sink_judge(err);
	return err;
}

/* Check the result of a run that did not fail. */
static void judge(const struct dedup_ask *ask, const struct dedup_result *r)
{
	__u64 unkeyed = r->truncated + r->malformed + r->not_ip;
	__u64 written = ask->count_only ? r->read : r->read - r->repeats;
	struct dedup_ask again = *ask;
	struct dedup_result second;

	law(r->kept == written, "every packet is kept, or a repeat");
	law(unkeyed + r->repeats <= r->read, "a packet without key is kept");
	law(ask->keep_going || !r->damaged[0], "damage is an error");
	law(part_of(ask->out, ask->in, ask->count_only) == r->kept, "all that is kept is written");
	if (ask->removed)
		law(part_of(ask->removed, ask->in, false) == r->repeats,
		    "all repeats are written apart");
	if (ask->count_only)
		return;
	again.in = ask->out;
	again.out = "/dev/null";
	again.removed = NULL;
	again.format = -1;
	law(!run(again, &second, true), "what was written can be read");
	law(second.read == r->kept, "as many as were written");
	law(!second.repeats || !ask->window, "no repeats are left");
	law(second.truncated + second.malformed + second.not_ip == unkeyed,
	    "what had no key has none");
}

int LLVMFuzzerTestOneInput(const __u8 *data, size_t size)
{
	struct input in = { data, size };
	char path[32], out[80], removed[80];
	struct dedup_ask ask = { .in = path, .out = out };
	static __u8 file[4 * FILE_MAX];
	struct dedup_result result;
	size_t n;
	int fd;

	if (size > FILE_MAX)
		return 0;
	if (!dir[0]) {
		begin_dir();
		setenv("EPF_WIRETAP", "/nowhere", 1);
	}
	take_ask(&in, &ask);
	n = pack_rest(&in, file, sizeof(file));
	fd = memfd_create("capture", MFD_CLOEXEC);
	if (fd < 0 || write(fd, file, n) != (ssize_t)n)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	snprintf(out, sizeof(out), "%s/out", dir);
	snprintf(removed, sizeof(removed), "%s/removed", dir);
	if (!ask.count_only)
		ask.removed = removed;
	if (!run(ask, &result, true))
		judge(&ask, &result);
	else
		law(!entries(), "a failure leaves nothing");
	unlink(out);
	unlink(removed);
	law(!entries(), "nothing else is written");
	close(fd);
	return 0;
}
