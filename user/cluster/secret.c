// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* See secret.h. */
#include "cluster/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/array.h"
#include "records/rec_error.h"

/* Return: a descriptor of the file, which is checked; a negative errno. */
static int secret_open(const char *path, struct rec_error *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	const char *why = NULL;

	if (fd < 0 || fstat(fd, &st))
		return rec_error_set(e, -errno, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		why = "not a regular file";
	else if (st.st_uid && st.st_uid != geteuid())
		why = "belongs to another user";
	else if (st.st_mode & 077)
		why = "others can read or write it: use mode 600";
	if (!why)
		return fd;
	close(fd);
	return rec_error_set(e, -EACCES, "%s: %s", path, why);
}

int secret_check(const char *path, struct rec_error *e)
{
	int fd = secret_open(path, e);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

int secret_read(const char *path, char *text, size_t room, struct rec_error *e)
{
	int fd = secret_open(path, e);
	ssize_t n;

	if (fd < 0)
		return fd;
	n = read(fd, text, room);
	close(fd);
	if (n < 0)
		return rec_error_set(e, -errno, "%s: %s", path, strerror(errno));
	if ((size_t)n == room)
		return rec_error_set(e, -EFBIG, "%s: longer than %zu bytes", path, room - 1);
	text[n] = 0;
	return 0;
}

static __u64 file_stamp(__u64 sum, const char *path)
{
	struct stat st = { 0 };

	if (path)
		stat(path, &st);
	return (((sum * 31 + st.st_ino) * 31 + (__u64)st.st_size) * 31 + (__u64)st.st_mtim.tv_sec) *
		       31 +
	       (__u64)st.st_mtim.tv_nsec;
}

__u64 secret_stamp(const struct cluster_login *l)
{
	const char *path[] = { l->tls_ca, l->tls_cert,    l->tls_key,
			       l->nkey,   l->credentials, l->password };
	__u64 sum = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(path); i++)
		sum = file_stamp(sum, path[i]);
	return sum;
}

__u64 secret_cert_end(const char *path)
{
	FILE *f = fopen(path, "re");
	X509 *cert = f ? PEM_read_X509(f, NULL, NULL, (void *)"") : NULL;
	struct tm end;
	bool known = cert && ASN1_TIME_to_tm(X509_get0_notAfter(cert), &end);

	X509_free(cert);
	if (f)
		fclose(f);
	return known ? (__u64)timegm(&end) : 0;
}
