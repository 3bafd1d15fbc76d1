// SPDX-License-Identifier: GPL-2.0
/*
 * Send the frames of a capture file (Ethernet) on an interface, in order, each once,
 * past the queueing discipline, at a steady pace. Prints "FRAMES BYTES" sent. A frame
 * that the interface cannot send (longer than its MTU, shorter than a header) is an
 * error, unless -s skips such frames and prints their number.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <pcap/pcap.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../clock.h"

#define NS_PER_SEC 1000000000ULL

struct sender {
	int fd;
	double per_sec;
	bool skip;
	unsigned long long frames;
	unsigned long long bytes;
	unsigned long long skipped;
	unsigned long long start_ns;
};

static int open_socket(const char *ifname)
{
	struct sockaddr_ll to = {
		.sll_family = AF_PACKET,
		.sll_ifindex = (int)if_nametoindex(ifname),
	};
	int fd, one = 1;

	if (!to.sll_ifindex) {
		fprintf(stderr, "pcapsend: no interface %s\n", ifname);
		return -1;
	}
	fd = socket(AF_PACKET, SOCK_RAW, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&to, sizeof(to)) ||
	    setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof(one))) {
		perror("pcapsend: packet socket");
		return -1;
	}
	return fd;
}

/* Short waits are busy loops, because sleeping would take too long. */
static void pace(const struct sender *s)
{
	unsigned long long due, now;

	if (!s->per_sec)
		return;
	due = s->start_ns +
	      (unsigned long long)((double)s->frames / s->per_sec * (double)NS_PER_SEC);
	while ((now = wall_ns()) < due)
		if (due - now > 1000000)
			usleep((useconds_t)((due - now) / 2000));
}

/* Return: 0, or -1 after an error. */
static int send_frame(struct sender *s, const unsigned char *data, size_t len)
{
	pace(s);
	while (send(s->fd, data, len, 0) < 0) {
		if (errno == ENOBUFS || errno == EAGAIN || errno == EINTR) {
			usleep(100);
			continue;
		}
		if (s->skip && (errno == EMSGSIZE || errno == EINVAL)) {
			s->skipped++;
			return 0;
		}
		fprintf(stderr, "pcapsend: frame %llu of %zu bytes: %s\n",
			s->frames + s->skipped + 1, len, strerror(errno));
		return -1;
	}
	s->frames++;
	s->bytes += len;
	return 0;
}

static int send_file(struct sender *s, pcap_t *pcap)
{
	const unsigned char *data;
	struct pcap_pkthdr *hdr;
	int got;

	s->start_ns = wall_ns();
	while ((got = pcap_next_ex(pcap, &hdr, &data)) == 1)
		if (send_frame(s, data, hdr->caplen))
			return 1;
	if (got != PCAP_ERROR_BREAK) {
		fprintf(stderr, "pcapsend: %s\n", pcap_geterr(pcap));
		return 1;
	}
	printf("%llu %llu\n", s->frames, s->bytes);
	if (s->skipped)
		fprintf(stderr, "pcapsend: skipped %llu frames\n", s->skipped);
	return 0;
}

int main(int argc, char **argv)
{
	char error[PCAP_ERRBUF_SIZE] = "";
	struct sender s = { 0 };
	pcap_t *pcap;
	int opt, ret;

	while ((opt = getopt(argc, argv, "r:s")) != -1) {
		if (opt == 'r')
			s.per_sec = atof(optarg);
		else if (opt == 's')
			s.skip = true;
		else
			argc = 0;
	}
	if (argc != optind + 2) {
		fprintf(stderr, "usage: pcapsend [-r FRAMES_PER_SEC] [-s] "
				"INTERFACE FILE\n");
		return 2;
	}
	pcap = pcap_open_offline(argv[optind + 1], error);
	if (!pcap || pcap_datalink(pcap) != DLT_EN10MB) {
		fprintf(stderr, "pcapsend: %s\n", pcap ? "not a capture of Ethernet" : error);
		return 1;
	}
	s.fd = open_socket(argv[optind]);
	ret = s.fd < 0 ? 1 : send_file(&s, pcap);
	pcap_close(pcap);
	return ret;
}
