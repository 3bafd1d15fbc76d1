// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* epfctl log: read what an attachment with --log-new records. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "cmd.h"
#include "ingress.h"
#include "log.h"
#include "outcome.h"

enum { OPT_NO_WAIT = OPT_LONG, OPT_LOG_FORMAT };

#define POLL_MS 100
#define CHECK_NS NS_PER_SEC

/**
 * struct logging - a log that is read
 * @from: what it belongs to
 * @lock: descriptor that keeps other readers away
 * @ring_id: number of the ring
 * @ring: its reader
 * @ipfix: the file; NULL: standard output
 * @left: records until the end; 0: no end
 * @told: counters of the attachment, as far as they are reported or older than this
 *	process
 * @check_ns: when they are read again
 * @code: exit status, if @done
 * @done: stop
 */
struct logging {
	struct log_source from;
	int lock;
	__u32 ring_id;
	struct ring_buffer *ring;
	struct log_ipfix *ipfix;
	__u64 left;
	struct epf_counts told;
	__u64 check_ns;
	int code;
	bool done;
};

static void log_finish(struct logging *l, int code)
{
	l->done = true;
	l->code = code;
}

/* Print one record. Return: as libbpf wants it; negative: stop after this record. */
static int log_take(void *ctx, void *data, size_t len)
{
	struct epf_ingress_record r;
	struct logging *l = ctx;

	if (len < sizeof(r))
		return 0;
	memcpy(&r, data, sizeof(r));
	if (!l->ipfix)
		log_print(&l->from, &r);
	else if (!log_ipfix_put(l->ipfix, &l->from, &r))
		log_finish(l, EXIT_FAIL);
	if (l->left && !--l->left)
		log_finish(l, EXIT_YES);
	return l->done ? -ECANCELED : 0;
}

static void set_clock(struct logging *l)
{
	l->from.ahead_ns = epf_wall_ns() - now_ns();
}

static __u32 log_map_id(int fd)
{
	struct bpf_map_info info = { 0 };
	__u32 len = sizeof(info);

	return bpf_obj_get_info_by_fd(fd, &info, &len) ? 0 : info.id;
}

/* Is the ring that is read still that of the attachment? */
static bool attached_yet(const struct logging *l)
{
	int fd = xdp_pin_open(l->from.ifname, EPF_INGRESS_PIN_RING);
	bool is = fd >= 0 && log_map_id(fd) == l->ring_id;

	if (fd >= 0)
		close(fd);
	return is;
}

/* Report what got no record since the last report. */
static void tell_missing(struct logging *l)
{
	struct xdp_state state;
	__u64 left_out, ring_full;

	if (xdp_read(l->from.ifname, &state))
		return;
	left_out = state.counts.by[0][EPF_OUT_LEFT_OUT].packets -
		   l->told.by[0][EPF_OUT_LEFT_OUT].packets;
	ring_full = state.counts.effect[EPF_EFFECT_RING_FULL] -
		    l->told.effect[EPF_EFFECT_RING_FULL];
	l->told = state.counts;
	if (!left_out && !ring_full)
		return;
	if (l->ipfix)
		warn("%llu flows left out by --log-rate, %llu by a full ring", left_out, ring_full);
	else
		log_print_missing(&l->from, left_out, ring_full);
}

static void check(struct logging *l)
{
	set_clock(l);
	l->check_ns = now_ns() + CHECK_NS;
	if (!attached_yet(l)) {
		log_finish(l, fail("'%s' was detached: there are no more records", l->from.ifname));
		return;
	}
	tell_missing(l);
	if (l->ipfix && !log_ipfix_flush(l->ipfix))
		log_finish(l, EXIT_FAIL);
}

static void follow(struct logging *l)
{
	while (!l->done && !interrupted) {
		int got = ring_buffer__poll(l->ring, POLL_MS);

		if (got < 0 && got != -EINTR && got != -ECANCELED)
			log_finish(l,
				   fail_errno(-got, "reading the log of '%s': %m", l->from.ifname));
		if (fflush(stdout) || ferror(stdout))
			log_finish(l, EXIT_FAIL); /* main() says why */
		if (!l->done && now_ns() >= l->check_ns)
			check(l);
	}
}

/* While the descriptor is open, no other process reads the log. Return: it, or negative. */
static int lock(const char *ifname)
{
	char path[XDP_PATH_BYTES];
	int fd;

	xdp_pin_path(path, ifname, NULL);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 && !flock(fd, LOCK_EX | LOCK_NB))
		return fd;
	if (errno == EWOULDBLOCK)
		fail("another process reads the log of '%s': end it first", ifname);
	else
		fail_errno(errno, "reading the log of '%s': %m", ifname);
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Find the attachment. If there is none, prints an error. */
static bool log_find(struct logging *l, const char *ifname)
{
	struct xdp_state state;
	int err = xdp_read(ifname, &state);

	if (err == -ENOENT || (!err && state.conf.action != EPF_XDP_LOG)) {
		fail("no flows of '%s' are logged: run 'epfctl attach %s --filter NAME "
		     "--log-new'",
		     ifname, ifname);
		return false;
	}
	if (err) {
		fail("reading the log of '%s': %s", ifname, xdp_pin_why(err));
		return false;
	}
	l->from.ifname = ifname;
	l->from.ifindex = state.conf.ifindex;
	l->from.key = state.conf.opts;
	l->told = state.counts;
	return true;
}

static bool open_ring(struct logging *l)
{
	int fd = xdp_pin_open(l->from.ifname, EPF_INGRESS_PIN_RING);

	if (fd >= 0) {
		l->ring_id = log_map_id(fd);
		l->ring = ring_buffer__new(fd, log_take, l, NULL);
		close(fd);
	}
	if (!l->ring)
		fail_errno(fd < 0 ? -fd : errno, "reading the log of '%s': %m", l->from.ifname);
	return l->ring;
}

static int log_run(struct logging *l, bool wait)
{
	set_clock(l);
	catch_signals();
	if (wait) {
		follow(l);
	} else {
		ring_buffer__consume(l->ring);
		if (!l->done)
			log_finish(l, EXIT_YES);
	}
	if (attached_yet(l))
		tell_missing(l);
	return l->done ? l->code : EXIT_FAIL; /* a signal: main() says which */
}

static int read_log(struct logging *l, const char *ifname, const char *path, bool wait)
{
	int code = EXIT_FAIL;

	if (!log_find(l, ifname))
		return EXIT_FAIL;
	l->lock = lock(ifname);
	if (l->lock < 0)
		return EXIT_FAIL;
	if (path)
		l->ipfix = log_ipfix_open(path);
	if ((!path || l->ipfix) && open_ring(l))
		code = log_run(l, wait);
	if (l->ipfix && !log_ipfix_close(l->ipfix))
		code = EXIT_FAIL;
	ring_buffer__free(l->ring);
	close(l->lock);
	return code;
}

/* Do format and file fit together? If not, prints an error. */
static bool output_ok(bool ipfix, const char *path)
{
	if (ipfix && !path)
		fail("--format ipfix needs --output FILE");
	else if (path && !ipfix)
		fail("--output goes with --format ipfix only");
	else if (ipfix && !log_ipfix_open)
		fail("this epfctl was built without libfixbuf: install libfixbuf-dev and "
		     "rebuild it");
	else
		return true;
	return false;
}

static const struct option longs[] = {
	{ "count", required_argument, NULL, 'n' },
	{ "no-wait", no_argument, NULL, OPT_NO_WAIT },
	{ "format", required_argument, NULL, OPT_LOG_FORMAT },
	{ "output", required_argument, NULL, 'o' },
	{ 0 },
};

static const struct spec spec = {
	.usage = "log INTERFACE [options]",
	/* clang-format off */
	.help =
"Print what 'attach --log-new' records, one line each, until a signal comes; with\n"
"-j each line is a JSON object.\n"
"  -n, --count N       end after N records\n"
"  --no-wait           end after the records that are there\n"
"  --format ipfix      write the records as IPFIX (RFC 7011) to the file of\n"
"                      --output\n"
"  -o, --output FILE   the file for --format ipfix, which is made anew\n"
"Flows that got no record are reported once a second, and by 'epfctl status'. One\n"
"process reads at a time; while none does, the ring keeps the first 14,563\n"
"records.\n",
	/* clang-format on */
	.shorts = "n:o:",
	.longs = longs,
};

int cmd_log(int argc, char **argv)
{
	struct logging l = { .lock = -1 };
	bool good = true, wait = true, ipfix = false;
	const char *path = NULL;
	int opt;

	while (good && (opt = next_option(argc, argv, &spec)) >= 0) {
		if (opt == 'n') {
			good = parse_count("--count", optarg, 1ULL << 62, &l.left);
		} else if (opt == 'o') {
			path = optarg;
		} else if (opt == OPT_NO_WAIT) {
			wait = false;
		} else if (opt == OPT_LOG_FORMAT) {
			ipfix = good = !strcmp(optarg, "ipfix");
			if (!good)
				fail("--format '%s': not ipfix", optarg);
		} else {
			good = false;
		}
	}
	if (!good || !operands(argc, argv, 1, 1, &spec) || !output_ok(ipfix, path))
		return EXIT_FAIL;
	xdp_obj_quiet();
	return read_log(&l, argv[optind], path, wait);
}
