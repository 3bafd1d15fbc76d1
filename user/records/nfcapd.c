// SPDX-License-Identifier: GPL-2.0
#include "records/nfcapd.h"
#include "records/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Why nfdump did not start: exit statuses of the child. */
#define MISSING 127
#define NOT_STARTED 126

#define STACK_BYTES (2u << 20) /* of each thread of nfdump */
#define COPY_MAX (4ULL << 30)  /* nfcapd begins a new file every few minutes */
#define COPY_PIECE (128u << 10)

/* The columns of FORMAT. */
#define HEADER "ts,td,sa,da,sp,dp,pr,ipkt,ibyt\n"

/* Times are in seconds since 1970, since a local time can be ambiguous. The end is computed
 * from the duration, because the %ter of nfdump 1.7.1 is wrong.
 */
#define FORMAT "fmt:%tsr,%tds,%sa,%da,%sp,%dp,%pr,%pkt,%byt"

/**
 * struct nfcapd - nfdump at work
 * @pid: 0: it was waited for
 * @out: its standard output
 * @err: its standard error, which never blocks at either end
 */
struct nfcapd {
	pid_t pid;
	int out;
	int err;
};

/* No capabilities, nor any after execve() as root. */
static bool drop(void)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { { 0, 0, 0 } };

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !syscall(SYS_capset, &head, none);
}

static bool limit(void)
{
	struct rlimit data = { REC_NFDUMP_MEMORY, REC_NFDUMP_MEMORY }, core = { 0, 0 };
	struct rlimit stack = { STACK_BYTES, STACK_BYTES };

	return !setrlimit(RLIMIT_DATA, &data) && !setrlimit(RLIMIT_STACK, &stack) &&
	       !setrlimit(RLIMIT_CORE, &core);
}

/* In the child, where other threads may have held any lock: only functions that are safe in
 * signal handlers, and execvpe(), which in glibc is as well.
 */
static void run(int file, int out, int err, char *const env[])
{
	static char name[] = "nfdump", read[] = "-r", path[] = "/proc/self/fd/0", quiet[] = "-q",
		    plain[] = "-N", whole[] = "-6", conf[] = "-C", none[] = "none", form[] = "-o",
		    format[] = FORMAT;
	char *const argv[] = {
		name, read, path, quiet, plain, whole, conf, none, form, format, NULL
	};
	sigset_t empty;

	sigemptyset(&empty);
	sigprocmask(SIG_SETMASK, &empty, NULL);
	signal(SIGPIPE, SIG_DFL);
	setsid(); /* Ctrl-C is for the parent */
	if (dup2(file, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0 ||
	    syscall(SYS_close_range, 3U, ~0U, 0U) || !limit() || !drop())
		_exit(NOT_STARTED);
	execvpe(name, argv, env);
	_exit(errno == ENOENT ? MISSING : NOT_STARTED);
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

/* dup2() must not overwrite what it still needs, so no descriptor is below 3. */
static int above_std(int fd)
{
	int high;

	if (fd < 0 || fd > 2)
		return fd;
	high = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	close(fd);
	return high;
}

static bool open_pipe(int end[2], int flags)
{
	if (pipe2(end, O_CLOEXEC | flags))
		return false;
	end[0] = above_std(end[0]);
	end[1] = above_std(end[1]);
	return end[0] >= 0 && end[1] >= 0;
}

/* The environment: where programs are, and the C locale. @path has room for the former. */
static int spawn(struct nfcapd *c, int file, char *path)
{
	static char lang[] = "LC_ALL=C";
	char *const env[] = { path, lang, NULL };
	int out[2] = { -1, -1 }, err[2] = { -1, -1 };
	int ret = 0;

	if (!open_pipe(out, 0) || !open_pipe(err, O_NONBLOCK))
		ret = -errno;
	else if ((c->pid = fork()) < 0)
		ret = -errno;
	if (!ret && !c->pid)
		run(file, out[1], err[1], env);
	if (ret)
		c->pid = 0;
	c->out = out[0];
	c->err = err[0];
	close_fd(out[1]);
	close_fd(err[1]);
	return ret;
}

static int start(struct nfcapd *c, int file)
{
	const char *dirs = getenv("PATH");
	char *path;
	int ret;

	if (asprintf(&path, "PATH=%s", dirs ? dirs : "/usr/local/bin:/usr/bin:/bin") < 0)
		return -ENOMEM;
	ret = spawn(c, file, path);
	free(path);
	return ret;
}

/* Copy the content, of which the beginning is in the buffer. Return: 0; a negative errno. */
static int copy_all(struct rec_input *in, FILE *to, struct rec_error *e)
{
	__u64 bytes = 0;
	ssize_t n = (ssize_t)(in->end - in->at);
	__u8 *from = in->buf + in->at;

	do {
		bytes += (__u64)n;
		if (bytes > COPY_MAX)
			return rec_error_set(e, -E2BIG,
					     "more than 4 GiB of nfcapd in a pipe or compressed: "
					     "give nfdump's output, or the unpacked file");
		if (fwrite(from, 1, (size_t)n, to) != (size_t)n)
			break;
		from = in->buf;
		n = stream_read(in->stream, from, COPY_PIECE);
	} while (n > 0);
	if (n < 0)
		return rec_input_failed(in, (int)n, e);
	if (n || fflush(to))
		return rec_error_set(e, -EIO, "cannot copy it into /tmp for nfdump: %s",
				     strerror(errno));
	return 0;
}

/* Return: a descriptor of a copy without a name; a negative errno. */
static int copied(struct rec_input *in, struct rec_error *e)
{
	FILE *copy = tmpfile();
	int fd, ret;

	if (!copy)
		return rec_error_set(e, -errno, "cannot make a file in /tmp for nfdump: %s",
				     strerror(errno));
	ret = copy_all(in, copy, e);
	fd = fcntl(fileno(copy), F_DUPFD_CLOEXEC, 3);
	if (!ret && fd < 0)
		ret = rec_error_set(e, -errno, "%s", strerror(errno));
	fclose(copy);
	if (!ret)
		return fd;
	close_fd(fd);
	return ret;
}

/* nfdump opens the file by a path to the descriptor, and needs its right to do so. Return: a
 * descriptor of the same file; -1: it has to be copied.
 */
static int direct(const struct rec_input *in)
{
	char path[32];
	struct stat st;

	if (stream_packed(in->stream) || fstat(in->fd, &st) || !S_ISREG(st.st_mode))
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", in->fd);
	return above_std(open(path, O_RDONLY | O_CLOEXEC));
}

static int file_of(struct rec_source *s, struct rec_error *e)
{
	int fd = s->spec.nfcapd == REC_NFCAPD_NONE ? -1 : direct(&s->in);

	if (fd >= 0 || s->spec.nfcapd == REC_NFCAPD_ANY)
		return fd >= 0 ? fd : copied(&s->in, e);
	return rec_error_set(e, -EOPNOTSUPP,
			     "nfdump would need a copy of the file: use --no-agent");
}

/* The input is now what nfdump prints. */
static int take_over(struct rec_input *in)
{
	struct stream *lines = stream_open(in->child->out, STREAM_WINDOW_LEAST);

	if (!lines)
		return -ENOMEM;
	stream_close(in->stream);
	in->stream = lines;
	in->at = 0;
	in->end = strlen(HEADER);
	in->eof = false;
	memcpy(in->buf, HEADER, in->end);
	return 0;
}

int nfcapd_start(struct rec_source *s, struct rec_error *e)
{
	struct nfcapd *c;
	int ret, file = file_of(s, e);

	if (file < 0)
		return file;
	c = s->in.child = malloc(sizeof(*c));
	if (c) {
		*c = (struct nfcapd){ .out = -1, .err = -1 };
		ret = start(c, file);
	} else {
		ret = -ENOMEM;
	}
	close(file);
	if (!ret)
		ret = take_over(&s->in);
	if (ret)
		return rec_error_set(e, ret, "cannot run nfdump: %s", strerror(-ret));
	ret = rec_input_more(&s->in); /* is there an nfdump at all? */
	return ret ? rec_input_failed(&s->in, ret, e) : 0;
}

size_t nfcapd_squeeze(char *text, size_t len)
{
	size_t i, n = 0;

	for (i = 0; i < len; i++)
		if (text[i] != ' ')
			text[n++] = text[i];
	return n;
}

/* Return: the wait status, or a negative errno. */
static int await(struct nfcapd *c)
{
	int status, ret;

	do
		ret = waitpid(c->pid, &status, 0);
	while (ret < 0 && errno == EINTR);
	c->pid = 0;
	return ret < 0 ? -errno : status;
}

/* The first line on its standard error; "": it was silent. */
static void complaint(const struct nfcapd *c, char *text, size_t room)
{
	ssize_t n = read(c->err, text, room - 1);
	size_t i, len;

	text[n > 0 ? n : 0] = 0;
	len = strspn(text, "\r\n");
	memmove(text, text + len, strlen(text + len) + 1);
	text[strcspn(text, "\r\n")] = 0;
	for (i = 0; text[i]; i++)
		if (text[i] < ' ' || text[i] == 0x7f)
			text[i] = '?';
}

/* nfdump exits with 0 after damage, and says so on standard error only. */
int nfcapd_end(struct rec_input *in, struct rec_error *e)
{
	int status = await(in->child);
	char text[128];

	complaint(in->child, text, sizeof(text));
	if (status < 0)
		return rec_error_set(e, -EBADMSG, "cannot learn how nfdump ended: %s",
				     strerror(-status));
	if (WIFSIGNALED(status))
		return rec_error_set(e, -EBADMSG, "nfdump was ended by signal %d",
				     WTERMSIG(status));
	if (WEXITSTATUS(status) == MISSING)
		return rec_error_set(e, -EBADMSG, REC_NFCAPD_ADVICE);
	if (WEXITSTATUS(status) == NOT_STARTED)
		return rec_error_set(e, -EBADMSG, "nfdump could not be started");
	if (WEXITSTATUS(status))
		return rec_error_set(e, -EBADMSG, "nfdump failed with exit status %d%s%s",
				     WEXITSTATUS(status), *text ? ": " : "", text);
	return *text ? rec_error_set(e, -EBADMSG, "nfdump: %s", text) : 0;
}

void nfcapd_close(struct nfcapd *c)
{
	if (!c)
		return;
	if (c->pid) {
		kill(c->pid, SIGKILL);
		await(c);
	}
	close_fd(c->out);
	close_fd(c->err);
	free(c);
}
