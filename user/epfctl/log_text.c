// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Records of --log-new, as text and as JSON. */
#include "log.h"

#include <arpa/inet.h>
#include <string.h>

#include "epf/flow.h"
#include "desc.h"

static struct text address(const struct epf_ingress_record *r, const __u64 *a)
{
	struct text t = { "" };

	inet_ntop(r->version == 4 ? AF_INET : AF_INET6, a, t.s, sizeof(t.s));
	return t;
}

static bool is_icmp(const struct epf_ingress_record *r)
{
	return !r->fragment && r->proto == (r->version == 4 ? 1 : 58);
}

static bool has_ports(const struct epf_ingress_record *r)
{
	return !r->fragment && epf_has_ports(r->proto);
}

/* The outermost tag comes first. */
static json_t *vlans_json(const struct epf_ingress_record *r)
{
	json_t *list = json_array();
	int shift;

	for (shift = 36; shift >= 0; shift -= 12)
		if (r->vids >> shift & 0xfff)
			json_array_append_new(list,
					      json_integer((json_int_t)(r->vids >> shift & 0xfff)));
	return list;
}

static void ids_json(json_t *o, const struct epf_ingress_record *r)
{
	if (has_ports(r)) {
		json_object_set_new(o, "source_port", json_integer(epf_be16(r->id)));
		json_object_set_new(o, "destination_port", json_integer(epf_be16(r->id + 2)));
	} else if (is_icmp(r)) {
		json_object_set_new(o, "icmp_type", json_integer(r->id[0]));
		json_object_set_new(o, "icmp_code", json_integer(r->id[1]));
	}
	json_object_set_new(o, "fragment", json_boolean(r->fragment));
}

static json_t *record_json(const struct log_source *from, const struct epf_ingress_record *r)
{
	json_t *o = json_pack("{s:s, s:s, s:s, s:s, s:s, s:i}", "time",
			      fmt_utc(r->time_ns + from->ahead_ns).s, "interface", from->ifname,
			      "key", epf_key_packet_name(from->key.key), "source",
			      address(r, r->src).s, "destination", address(r, r->dst).s, "protocol",
			      (int)r->proto);

	ids_json(o, r);
	json_object_set_new(o, "vlans", vlans_json(r));
	json_object_set_new(o, "bytes", json_integer(r->bytes));
	json_object_set_new(o, "verdict", json_string("pass"));
	return o;
}

static void put_end(const struct epf_ingress_record *r, const __u64 *a, const __u8 *port)
{
	bool six = r->version != 4;

	if (!has_ports(r))
		printf(" %s", address(r, a).s);
	else
		printf(" %s%s%s:%u", six ? "[" : "", address(r, a).s, six ? "]" : "",
		       epf_be16(port));
}

static void log_text_put_record(const struct log_source *from, const struct epf_ingress_record *r)
{
	int shift;

	printf("%s %s: protocol %u", fmt_utc(r->time_ns + from->ahead_ns).s, from->ifname,
	       r->proto);
	put_end(r, r->src, r->id);
	printf(" >");
	put_end(r, r->dst, r->id + 2);
	if (is_icmp(r))
		printf(", type %u code %u", r->id[0], r->id[1]);
	if (r->fragment)
		printf(", fragment");
	for (shift = 36; shift >= 0; shift -= 12)
		if (r->vids >> shift & 0xfff)
			printf(", VLAN %llu", r->vids >> shift & 0xfff);
	printf(", %u bytes\n", r->bytes);
}

void log_print(const struct log_source *from, const struct epf_ingress_record *r)
{
	if (out_mode == OUT_TEXT)
		log_text_put_record(from, r);
	else
		out_json(record_json(from, r));
}

void log_print_missing(const struct log_source *from, __u64 left_out, __u64 ring_full)
{
	struct text at = fmt_utc(now_ns() + from->ahead_ns);

	if (out_mode == OUT_TEXT)
		printf("%s %s: %llu flows left out by --log-rate, %llu by a full ring\n", at.s,
		       from->ifname, left_out, ring_full);
	else
		out_json(json_pack("{s:s, s:s, s:I, s:I}", "time", at.s, "interface", from->ifname,
				   "left_out", (json_int_t)left_out, "ring_full",
				   (json_int_t)ring_full));
}
