// SPDX-License-Identifier: GPL-2.0
/*
 * Permissions: without CAP_NET_ADMIN in the initial user namespace, a process that may
 * open the device node can look up keys and read state, and nothing else. Neither a
 * descriptor from another process nor root in its own namespace gives it more. Nothing
 * that it can read contains the hash key.
 *
 * A child drops its privileges, tries everything and reports the results.
 */
#include "epftest.h"
#include "lesser.h"

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define KEYS 100u

/* The result of each command. */
struct outcome {
	long opened; /* result of opening the device: 0 or -errno */
	long list, open, info, test, present, map, map_journal;
	long create, destroy, force, swap;
	long insert, tai, rotate, clear, key, begin, end, read, restore, describe;
	long journal;
	bool leaked;
};

/* Does it contain half of the key anywhere, as bytes or as a number in text? */
static bool holds_key(const void *at, size_t bytes)
{
	static const char *const formats[] = { "%llx", "%llX", "%llu" };
	char text[32];
	size_t i, f;

	for (i = 0; i < 2; i++) {
		if (memmem(at, bytes, &test_key[i], sizeof(test_key[i])))
			return true;
		for (f = 0; f < ARRAY_LEN(formats); f++) {
			snprintf(text, sizeof(text), formats[f], test_key[i]);
			if (memmem(at, bytes, text, strlen(text)))
				return true;
		}
	}
	return false;
}

static bool file_holds_key(const char *path)
{
	static char text[1 << 20];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n;
	bool held = false;

	if (fd < 0)
		return false;
	while (!held && (n = read(fd, text, sizeof(text))) > 0)
		held = holds_key(text, n);
	close(fd);
	return held;
}

/* Check everything that a command of any number writes, whether it fails or not. */
static bool ioctls_hold_key(int fd)
{
	static __u32 page[PAGE / 4];
	int nr;

	for (nr = 0; nr <= 0xff; nr++) {
		memset(page, 0, sizeof(page));
		page[0] = sizeof(page);
		test_ioctl(fd,
			   _IOC(_IOC_READ | _IOC_WRITE, EPF_IOC_MAGIC, nr, sizeof(struct epf_snap)),
			   page);
		if (holds_key(page, sizeof(page)))
			return true;
	}
	return false;
}

#define MAP_BYTES (1024 * 64ul)
static bool fd_holds_key(int fd)
{
	char path[64], bytes[512];
	void *at = mmap(NULL, MAP_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	ssize_t n = pread(fd, bytes, sizeof(bytes), 0);
	bool held = n > 0 && holds_key(bytes, n);

	if (at != MAP_FAILED) {
		held |= holds_key(at, MAP_BYTES);
		munmap(at, MAP_BYTES);
	}
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	return held || file_holds_key(path) || ioctls_hold_key(fd);
}

static void look(struct outcome *o, int dev, int fd)
{
	struct epf_list l = { .size = sizeof(l) };
	struct epf_info i = { .size = sizeof(i) };
	void *at;
	int other;

	o->list = test_ioctl(dev, EPF_IOC_LIST, &l);
	other = epf_dev_filter(dev, "mod-perms");
	o->open = other < 0 ? other : 0;
	if (fd < 0)
		fd = other;
	o->info = test_ioctl(fd, EPF_IOC_INFO, &i);
	o->present = test_count(fd, 1, 0, KEYS);
	o->test = o->present < 0 ? o->present : 0;
	at = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
	o->map = at == MAP_FAILED ? -errno : 0;
	at = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, EPF_MMAP_JOURNAL);
	o->map_journal = at == MAP_FAILED ? -errno : 0;
}

static void change_registry(struct outcome *o, int dev)
{
	struct epf_params p = test_params("mod-perms-new", 64, 2, 10, 700);

	o->create = epf_dev_create(dev, &p, NULL, NULL);
	o->destroy = epf_dev_destroy(dev, "mod-perms-2", false);
	o->force = epf_dev_destroy(dev, "mod-perms-2", true);
	o->swap = epf_dev_swap(dev, "mod-perms", "mod-perms-2");
}

static void change_filter(struct outcome *o, int fd)
{
	struct epf_snap_read read = { .size = sizeof(read) };
	struct epf_restore r = { .size = sizeof(r) };
	struct epf_describe d = { .size = sizeof(d) };
	struct epf_journal_args j = { .size = sizeof(j), .order = 4 };
	__u64 key[2];

	o->insert = test_digests(fd, EPF_IOC_INSERT, 2, 0, 1);
	o->tai = test_digests(fd, EPF_IOC_TEST_AND_INSERT, 2, 0, 1);
	o->rotate = epf_filter_rotate(fd, 1, NULL);
	o->clear = epf_filter_clear(fd);
	o->key = epf_filter_key(fd, key);
	o->begin = test_snap_begin(fd, SEC, NULL);
	o->end = test_snap_end(fd, NULL);
	o->read = test_ioctl(fd, EPF_IOC_SNAP_READ, &read);
	o->restore = test_ioctl(fd, EPF_IOC_RESTORE, &r);
	o->describe = test_ioctl(fd, EPF_IOC_DESCRIBE, &d);
	o->journal = test_ioctl(fd, EPF_IOC_JOURNAL, &j);
}

static void try_all(struct outcome *o, int dev, int fd)
{
	int opened = epf_dev_open();

	o->opened = opened < 0 ? opened : 0;
	if (dev < 0)
		dev = opened;
	look(o, dev, fd);
	change_registry(o, dev);
	if (fd < 0)
		fd = epf_dev_filter(dev, "mod-perms");
	change_filter(o, fd);
	o->leaked = fd_holds_key(dev) || fd_holds_key(fd);
}

/* Become root of a new user namespace; outside, it is @ids. */
static bool new_root(const char *ids)
{
	return !unshare(CLONE_NEWUSER) && !test_write("/proc/self/setgroups", "deny") &&
	       !test_write("/proc/self/uid_map", ids) && !test_write("/proc/self/gid_map", ids) &&
	       !getuid();
}

static bool become_small_root(void)
{
	return new_root("0 0 1");
}

/* After the change of ids, the files in /proc would belong to root. */
static bool become_nobodys_root(void)
{
	return become_nobody() && !prctl(PR_SET_DUMPABLE, 1) && new_root("0 65534 1");
}

/* Receive two descriptors over a socket. */
static void receive(int sock, int fds[2])
{
	char control[CMSG_SPACE(2 * sizeof(int))];
	char byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr m = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};

	test_demand(recvmsg(sock, &m, 0) == 1 && CMSG_FIRSTHDR(&m));
	memcpy(fds, CMSG_DATA(CMSG_FIRSTHDR(&m)), 2 * sizeof(int));
}

static void send_fds(int sock, int dev, int fd)
{
	char control[CMSG_SPACE(2 * sizeof(int))] = {};
	struct iovec iov = { "x", 1 };
	struct msghdr m = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	int fds[2] = { dev, fd };

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(fds));
	memcpy(CMSG_DATA(c), fds, sizeof(fds));
	test_demand(sendmsg(sock, &m, 0) == 1);
}

/* Try all in a child that has changed its privileges. @sent: with descriptors of the
 * parent. Return: could the child change them?
 */
static bool outcome_of(bool (*become)(void), bool sent, int fd, struct outcome *o)
{
	int sock[2], fds[2] = { -1, -1 }, status;
	pid_t pid;

	test_demand(!socketpair(AF_UNIX, SOCK_STREAM, 0, sock));
	pid = fork();
	test_demand(pid >= 0);
	if (!pid) {
		close(test_dev);
		close(fd);
		if (!become())
			_exit(1);
		if (sent)
			receive(sock[1], fds);
		try_all(o, fds[0], fds[1]);
		_exit(write(sock[1], o, sizeof(*o)) != sizeof(*o));
	}
	close(sock[1]);
	if (sent)
		send_fds(sock[0], test_dev, fd);
	memset(o, 0, sizeof(*o));
	status = read(sock[0], o, sizeof(*o)) != sizeof(*o);
	close(sock[0]);
	waitpid(pid, NULL, 0);
	return !status;
}

#define LOOK_POINTS 3
static void may_look(const struct outcome *o, const char *who)
{
	tap_ok(!o->list && !o->open && !o->info, "%s may list, open, show", who);
	tap_ok(!o->test && o->present == KEYS, "%s may test", who);
	test_is(o->map, 0, "%s may map", who);
}

#define CHANGE_POINTS 17
static void may_not_change(const struct outcome *o, const char *who)
{
	test_is(o->create, -EPERM, "%s: CREATE: EPERM", who);
	test_is(o->destroy, -EPERM, "%s: DESTROY: EPERM", who);
	test_is(o->force, -EPERM, "%s: DESTROY by force: EPERM", who);
	test_is(o->swap, -EPERM, "%s: SWAP: EPERM", who);
	test_is(o->insert, -EPERM, "%s: INSERT: EPERM", who);
	test_is(o->tai, -EPERM, "%s: TEST_AND_INSERT: EPERM", who);
	test_is(o->rotate, -EPERM, "%s: ROTATE: EPERM", who);
	test_is(o->clear, -EPERM, "%s: CLEAR: EPERM", who);
	test_is(o->key, -EPERM, "%s: KEY: EPERM", who);
	test_is(o->begin, -EPERM, "%s: SNAP_BEGIN: EPERM", who);
	test_is(o->end, -EPERM, "%s: SNAP_END: EPERM", who);
	test_is(o->read, -EPERM, "%s: SNAP_READ: EPERM", who);
	test_is(o->restore, -EPERM, "%s: RESTORE: EPERM", who);
	test_is(o->describe, -EPERM, "%s: DESCRIBE: EPERM", who);
	test_is(o->journal, -EPERM, "%s: JOURNAL: EPERM", who);
	tap_ok(o->map_journal == -EPERM || o->map_journal == -EINVAL, "%s cannot map root's", who);
	tap_ok(!o->leaked, "%s: the hash key is nowhere", who);
}

#define ALL_POINTS (LOOK_POINTS + CHANGE_POINTS)

/* Return: is such a change possible here? */
static bool try_small_root(bool (*become)(void), const char *who, int fd, struct outcome *o)
{
	int i;

	if (outcome_of(become, true, fd, o)) {
		may_look(o, who);
		may_not_change(o, who);
		return true;
	}
	for (i = 0; i < ALL_POINTS; i++)
		test_skip(who, "no user namespaces here");
	return false;
}

/* First show that the search finds the key: in root's KEY, and in a snapshot's header.
 * Then check all traces and logs while filters come, rotate, saturate and go.
 */
#define TRACING "/sys/kernel/tracing/"
#define TRACE_POINTS 3
static void try_traces(void)
{
	struct epf_params p = test_params("mod-perms-3", 64, 2, 8, 1 << 20);
	int fd;

	p.limit_ppt = EPF_RATE_ONE / 1000;
	test_demand(!test_write(TRACING "trace", "\n"));
	test_demand(!test_write(TRACING "events/epochfilter/enable", "1"));
	fd = test_make(&p);
	test_insert(fd, 1, 0, 20000);
	test_demand(!epf_filter_rotate(fd, 1, NULL));
	tap_ok(ioctls_hold_key(fd), "root gets the key: the search can find it");
	close(fd);
	test_demand(!test_destroy("mod-perms-3", 0));
	test_write(TRACING "events/epochfilter/enable", "0");
	tap_ok(!file_holds_key(TRACING "trace") &&
		       !file_holds_key(TRACING "per_cpu/cpu0/trace_pipe_raw") &&
		       !file_holds_key(TRACING "per_cpu/cpu1/trace_pipe_raw"),
	       "no tracepoint tells it");
	tap_ok(!file_holds_key("/dev/kmsg") && !file_holds_key("/proc/vmallocinfo"),
	       "nor does the kernel's log");
}

int main(void)
{
	struct epf_journal_args journal = { .size = sizeof(journal), .order = 4 };
	struct outcome o;
	struct stat st;
	int fd;

	test_begin(3 + 5 * ALL_POINTS + 1 + 1 + TRACE_POINTS);
	test_demand(!stat(EPF_DEVICE, &st));
	tap_ok(S_ISCHR(st.st_mode) && (st.st_mode & 0777) == 0600 && !st.st_uid,
	       "the node is root's, mode 0600");
	fd = test_make_plain("mod-perms", 700);
	close(test_make_plain("mod-perms-2", 700));
	test_insert(fd, 1, 0, KEYS);
	test_demand(!test_ioctl(fd, EPF_IOC_JOURNAL, &journal));

	test_demand(outcome_of(become_nobody, false, fd, &o));
	test_is(o.opened, -EACCES, "user nobody cannot open it: EACCES");
	test_demand(outcome_of(become_nobody, true, fd, &o));
	test_is(o.opened, -EACCES, "nor with other descriptors at hand");
	may_look(&o, "nobody with descriptors of root");
	may_not_change(&o, "nobody with descriptors of root");
	test_demand(!chmod(EPF_DEVICE, 0666));
	test_demand(outcome_of(become_nobody, false, fd, &o));
	may_look(&o, "nobody, mode 0666");
	may_not_change(&o, "nobody, mode 0666");
	test_demand(!chmod(EPF_DEVICE, 0600));
	test_demand(outcome_of(drop_net_admin, false, fd, &o));
	may_look(&o, "root without CAP_NET_ADMIN");
	may_not_change(&o, "root without CAP_NET_ADMIN");
	try_small_root(become_small_root, "root of its own namespace", fd, &o);
	if (try_small_root(become_nobodys_root, "nobody as root of its own", fd, &o))
		test_is(o.opened, -EACCES, "a user who may not open the device: EACCES");
	else
		test_skip("nobody as root of its own", "cannot be had");
	test_is(test_count(fd, 1, 0, KEYS), KEYS, "nothing has changed");
	try_traces();
	close(fd);
	return test_end();
}
