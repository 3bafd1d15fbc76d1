// SPDX-License-Identifier: GPL-2.0
/*
 * Write what an interface receives to a capture file until it has been silent
 * for a while or a signal comes. Prints "ready" when it listens, and "FRAMES
 * BYTES LOST" at the end. Exit status 1 when the kernel lost frames.
 */
#include <pcap/pcap.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../clock.h"

/* In immediate mode each slot of the ring is as long as the longest frame. This gives
 * 8,192 slots, more than any suite sends before this program reads.
 */
#define SNAP_BYTES 16384
#define RING_BYTES (128 << 20)
#define POLL_MS 20

static volatile sig_atomic_t stopped;

static void stop(int signal)
{
	stopped = 1;
}

static pcap_t *listen_on(const char *ifname)
{
	char error[PCAP_ERRBUF_SIZE] = "";
	pcap_t *pcap = pcap_create(ifname, error);

	if (!pcap) {
		fprintf(stderr, "pcaprecv: %s\n", error);
		return NULL;
	}
	if (pcap_set_snaplen(pcap, SNAP_BYTES) || pcap_set_buffer_size(pcap, RING_BYTES) ||
	    pcap_set_promisc(pcap, 1) || pcap_set_immediate_mode(pcap, 1) ||
	    pcap_activate(pcap) < 0 || pcap_setdirection(pcap, PCAP_D_IN) ||
	    pcap_setnonblock(pcap, 1, error)) {
		fprintf(stderr, "pcaprecv: %s: %s\n", ifname, pcap_geterr(pcap));
		return NULL;
	}
	return pcap;
}

struct sink {
	pcap_dumper_t *file;
	unsigned long long frames;
	unsigned long long bytes;
};

static void take(unsigned char *ctx, const struct pcap_pkthdr *hdr, const unsigned char *data)
{
	struct sink *sink = (struct sink *)ctx;

	sink->frames++;
	sink->bytes += hdr->caplen;
	pcap_dump((unsigned char *)sink->file, hdr, data);
}

static void receive(pcap_t *pcap, struct sink *sink, double silent_s)
{
	double last = wall_s();
	int got;

	while (!stopped) {
		got = pcap_dispatch(pcap, -1, take, (unsigned char *)sink);
		if (got < 0)
			return;
		if (got)
			last = wall_s();
		else if (silent_s && sink->frames && wall_s() - last > silent_s)
			return;
		else
			usleep(POLL_MS * 1000);
	}
	pcap_dispatch(pcap, -1, take, (unsigned char *)sink);
}

int main(int argc, char **argv)
{
	struct pcap_stat stat = { 0 };
	struct sink sink = { 0 };
	double silent_s = 0;
	pcap_t *pcap;
	int opt;

	while ((opt = getopt(argc, argv, "t:")) != -1) {
		if (opt == 't')
			silent_s = atof(optarg);
		else
			argc = 0;
	}
	if (argc != optind + 2) {
		fprintf(stderr, "usage: pcaprecv [-t SILENT_SECONDS] INTERFACE "
				"FILE\n");
		return 2;
	}
	pcap = listen_on(argv[optind]);
	if (!pcap)
		return 1;
	sink.file = pcap_dump_open(pcap, argv[optind + 1]);
	if (!sink.file) {
		fprintf(stderr, "pcaprecv: %s\n", pcap_geterr(pcap));
		return 1;
	}
	signal(SIGTERM, stop);
	signal(SIGINT, stop);
	puts("ready");
	fflush(stdout);
	receive(pcap, &sink, silent_s);
	pcap_stats(pcap, &stat);
	pcap_dump_close(sink.file);
	printf("%llu %llu %u\n", sink.frames, sink.bytes, stat.ps_drop);
	pcap_close(pcap);
	return stat.ps_drop ? 1 : 0;
}
