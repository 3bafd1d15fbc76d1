// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "records/reader.h"
#include "records/stamp.h"

#include "epf/keydesc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const format_names[] = {
	[REC_AUTO] = "auto",     [REC_COLUMN] = "column", [REC_CSV] = "csv",   [REC_JSON] = "json",
	[REC_NFDUMP] = "nfdump", [REC_IPFIX] = "ipfix",   [REC_PCAP] = "pcap",
};

#define FORMATS (sizeof(format_names) / sizeof(format_names[0]))

bool rec_format_named(const char *name, enum rec_format *format)
{
	size_t i;

	for (i = 0; i < FORMATS; i++)
		if (!strcmp(name, format_names[i])) {
			*format = (enum rec_format)i;
			return true;
		}
	return false;
}

const char *rec_format_name(enum rec_format format)
{
	return format_names[format];
}

/* The first bytes of files of each format. Sources: pcap(5) savefile; pcapng, IETF
 * draft-ietf-opsawg-pcapng, section 4.1; RFC 7011, section 3.1.
 */
static const struct magic {
	enum rec_format format;
	const char *bytes;
	size_t len;
} magics[] = {
	{ REC_PCAP, "\xd4\xc3\xb2\xa1", 4 },
	{ REC_PCAP, "\xa1\xb2\xc3\xd4", 4 },
	{ REC_PCAP, "\x4d\x3c\xb2\xa1", 4 },
	{ REC_PCAP, "\xa1\xb2\x3c\x4d", 4 },
	{ REC_PCAP, "\x0a\x0d\x0d\x0a", 4 },
	{ REC_IPFIX, "\x00\x0a", 2 },
	{ REC_JSON, "{", 1 },
	{ REC_JSON, "\xef\xbb\xbf{", 4 },
};

static enum rec_format records_tell(const struct rec_input *in)
{
	size_t i;

	for (i = 0; i < sizeof(magics) / sizeof(magics[0]); i++)
		if (in->end >= magics[i].len && !memcmp(in->buf, magics[i].bytes, magics[i].len))
			return magics[i].format;
	return rec_is_text(in) && rec_nfdump_begins && rec_nfdump_begins(in->buf, in->end) ?
		       REC_NFDUMP :
		       REC_AUTO;
}

static int compressed(const struct rec_input *in)
{
	return in->end >= 4 &&
	       (!memcmp(in->buf, "\x1f\x8b", 2) || !memcmp(in->buf, "\x28\xb5\x2f\xfd", 4) ||
		!memcmp(in->buf,
			"\xfd"
			"7zX",
			4));
}

/* Does it begin like a file of nfcapd, of layout 1 or 2? Source: nfdump,
 * src/libnffile/nffile.h: MAGIC, LAYOUT_VERSION_1 and _2.
 */
static bool is_nfcapd(const __u8 *head, size_t len)
{
	return len >= 4 && !memcmp(head, "\x0c\xa5", 2) && (head[2] == 1 || head[2] == 2) &&
	       !head[3];
}

/* Has it a byte that no text has? Texts have none, but for those in UTF-16 and UTF-32. */
static bool is_binary(const struct rec_input *in)
{
	static const char blanks[] = "\t\n\v\f\r\033";
	size_t i;

	for (i = 0; i < in->end; i++)
		if (in->buf[i] < ' ' && !memchr(blanks, in->buf[i], sizeof(blanks) - 1))
			return true;
	return false;
}

/* May it be a capture that epf-wiretap knows? No text is taken for one. */
static bool may_be_capture(const struct rec_input *in)
{
	return records_tell(in) == REC_AUTO && !compressed(in) && is_binary(in);
}

bool rec_needs_child(int fd, enum rec_format format)
{
	__u8 head[REC_HEAD_BYTES];
	ssize_t n = pread(fd, head, sizeof(head), 0);
	struct rec_input in = { .buf = head, .end = n > 0 ? (size_t)n : 0 };

	if (is_nfcapd(head, in.end))
		return true;
	if (!wiretap_wanted || !wiretap_wanted(head, in.end))
		return false;
	return format == REC_PCAP || (format == REC_AUTO && wiretap_there() && may_be_capture(&in));
}

/* Is it to be read by nfdump, whose text is then read? */
static bool for_nfdump(const struct rec_source *s)
{
	return (s->spec.format == REC_AUTO || s->spec.format == REC_NFDUMP) &&
	       is_nfcapd(s->in.buf, s->in.end);
}

/* Let epf-wiretap print it, if it knows its magic number; else nothing is left to read. */
static int ask_wiretap(struct rec_source *s, struct rec_error *e)
{
	int err = rec_input_child(s, &wiretap_magic, e);

	if (err)
		return err;
	err = rec_input_head(&s->in);
	if (err)
		return rec_input_failed(&s->in, err, e);
	if (s->in.end)
		s->spec.format = REC_PCAP;
	return 0;
}

static int find_other(struct rec_source *s, struct rec_error *e)
{
	bool capture = wiretap_wanted && may_be_capture(&s->in), there = capture && wiretap_there();
	int err = there ? ask_wiretap(s, e) : 0;

	if (err || s->spec.format != REC_AUTO)
		return err;
	return rec_error_set(e, -EBADMSG,
			     "cannot detect the format: use --format, "
			     "as in --format csv --fields 1%s",
			     capture && !there ? WIRETAP_ADVICE : "");
}

static int find_format(struct rec_source *s, struct rec_error *e)
{
	if (for_nfdump(s)) {
		s->spec.format = REC_NFDUMP;
		return nfcapd_start ? 0 : rec_error_set(e, -EBADMSG, REC_NFCAPD_ADVICE);
	}
	if (s->spec.format != REC_AUTO)
		return 0;
	s->spec.format = records_tell(&s->in);
	if (s->spec.format != REC_AUTO)
		return 0;
	if (!s->in.end)
		return rec_error_set(e, -EBADMSG, "the input is empty");
	if (compressed(&s->in))
		return rec_error_set(e, -EBADMSG, "compressed twice: unpack it once into a pipe");
	return find_other(s, e);
}

/* The reader of a format, which is NULL if it was built without @package. */
struct format {
	const struct rec_reader *reader;
	const char *package;
};

static struct format records_format_of(const struct rec_spec *spec)
{
	switch (spec->format) {
	case REC_CSV:
		if (!spec->fields)
			return (struct format){ &rec_text, NULL };
		return (struct format){ &rec_csv, "libcsv-dev" };
	case REC_JSON:
		return (struct format){ &rec_json, NULL };
	case REC_NFDUMP:
		return (struct format){ &rec_nfdump, "libcsv-dev" };
	case REC_IPFIX:
		return (struct format){ &rec_ipfix, "libfixbuf-dev" };
	case REC_PCAP:
		return (struct format){ &rec_pcap, "libpcap-dev" };
	default:
		return (struct format){ NULL, NULL };
	}
}

static int records_find_reader(struct rec_source *s, struct rec_error *e)
{
	struct format f = records_format_of(&s->spec);

	s->reader = f.reader;
	if (f.reader)
		return 0;
	if (f.package)
		return rec_error_set(e, -EOPNOTSUPP, "built without %s: cannot read %s", f.package,
				     rec_format_name(s->spec.format));
	return rec_error_set(e, -EINVAL, "a column has no records");
}

static int check_text(const struct rec_source *s, struct rec_error *e)
{
	const struct rec_spec *spec = &s->spec;
	bool json = spec->format == REC_JSON;

	if (spec->digest && spec->hex)
		return rec_error_set(e, -EINVAL,
				     "digests are always in hex: leave "
				     "out --hex");
	if (spec->digest && s->nr_fields > 1)
		return rec_error_set(e, -EINVAL, "a digest is one field");
	if (json && spec->hex && !spec->fields)
		return rec_error_set(e, -EINVAL,
				     "--hex needs --fields: without them, "
				     "\"hex\" in the object marks a hex key");
	if (json && (spec->header || spec->separator))
		return rec_error_set(e, -EINVAL, "JSON has no header and no separator");
	if (spec->multiline &&
	    (json || !spec->fields || (spec->separator && spec->separator != ',')))
		return rec_error_set(e, -EINVAL,
				     "--multiline goes with CSV by comma, and --fields");
	if (spec->separator && strchr("\"\r\n", spec->separator))
		return rec_error_set(e, -EINVAL,
				     "a quote or an end of line cannot "
				     "be the separator");
	return 0;
}

static int check_flows(const struct rec_source *s, struct rec_error *e)
{
	const struct rec_spec *spec = &s->spec;
	const char *name = rec_format_name(spec->format);

	if (spec->fields || spec->digest || spec->hex || spec->header || spec->separator ||
	    spec->multiline)
		return rec_error_set(e, -EINVAL,
				     "options for fields go with CSV and "
				     "JSON only: %s has packet keys",
				     name);
	if (epf_pkt_opts_check(&spec->pkt))
		return rec_error_set(e, -EINVAL, "not a packet key");
	if (spec->format != REC_PCAP && spec->pkt.key < EPF_PKT_FLOW)
		return rec_error_set(e, -EINVAL,
				     "%s has flows, not packets: "
				     "use a key of flows",
				     name);
	if ((spec->pkt.flags & (EPF_PKT_IFACE | EPF_PKT_MARK)) ||
	    (spec->format != REC_PCAP && (spec->pkt.flags & EPF_PKT_VLAN)))
		return rec_error_set(e, -EINVAL,
				     "%s lacks part of the scope that "
				     "the key includes",
				     name);
	return 0;
}

static int check_stamp(const struct rec_source *s, struct rec_error *e)
{
	const struct rec_spec *spec = &s->spec;
	bool text = spec->format == REC_CSV || spec->format == REC_JSON;

	if (spec->stamp && !text)
		return rec_error_set(e, -EINVAL,
				     "%s has time stamps of its own: --stamp "
				     "goes with csv and json",
				     rec_format_name(spec->format));
	if (spec->stamps && text && !spec->stamp)
		return rec_error_set(e, -EINVAL,
				     "%s has no time stamps of its own: name "
				     "their field with --stamp, or give "
				     "another --format",
				     rec_format_name(spec->format));
	if (spec->stamp && spec->format == REC_CSV && !spec->fields)
		return rec_error_set(e, -EINVAL,
				     "--stamp needs --fields: the whole line "
				     "would be the key");
	if (spec->stamp_form && !stamp_form_ok(spec->stamp_form))
		return rec_error_set(e, -EINVAL,
				     "--stamp-format '%.40s' is none of s, ms, us, "
				     "ns, and no format of strptime",
				     spec->stamp_form);
	return 0;
}

static int check_spec(const struct rec_source *s, struct rec_error *e)
{
	int err = check_stamp(s, e);

	if (err)
		return err;
	if (s->spec.format == REC_CSV || s->spec.format == REC_JSON)
		return check_text(s, e);
	return check_flows(s, e);
}

/* Append the names in *@list, of which @copy is then the memory, to @s->field. */
static int split_list(struct rec_source *s, const char **list, char **copy, unsigned int max,
		      struct rec_error *e)
{
	unsigned int n = 0;
	char *rest;

	if (!*list)
		return 0;
	*copy = strdup(*list);
	if (!*copy)
		return rec_error_set(e, -ENOMEM, "out of memory");
	*list = *copy;
	for (rest = *copy; rest;) {
		char *one = strsep(&rest, ",");

		if (!*one)
			return rec_error_set(e, -EINVAL, "the name of a field is empty");
		if (n++ == max)
			return rec_error_set(e, -EINVAL, "more than %u fields", max);
		s->field[s->nr_parts++] = one;
	}
	return 0;
}

static int split_fields(struct rec_source *s, struct rec_error *e)
{
	int err = split_list(s, &s->spec.fields, &s->fields, REC_FIELDS_MAX, e);

	s->nr_fields = s->nr_parts;
	return err ? err : split_list(s, &s->spec.stamp, &s->stamps, REC_STAMP_MAX, e);
}

/* Flow records only support keys of flows: use those if no key was requested. */
static void settle_key(struct rec_source *s)
{
	static const struct epf_pkt_opts flow = { .key = EPF_PKT_FLOW };

	if (s->spec.as_filter && s->spec.pkt.key < EPF_PKT_FLOW &&
	    (s->spec.format == REC_NFDUMP || s->spec.format == REC_IPFIX))
		s->spec.pkt = flow;
}

/* The prologue was read. */
static int records_begin_part(struct rec_source *s, struct rec_error *e)
{
	const struct rec_part *part = &s->spec.part;
	int err;

	if (!part->from && !part->to)
		return 0;
	if (!rec_may_be_cut(s))
		return rec_error_set(e, -EINVAL, "it cannot be read in parts");
	err = rec_input_part(&s->in, part);
	return err ? rec_input_failed(&s->in, err, e) : 0;
}

static int records_begin(struct rec_source *s, int fd, struct rec_error *e)
{
	int err = rec_input_open(&s->in, fd,
				 s->spec.window_max ? s->spec.window_max : STREAM_WINDOW_MAX);

	if (!err)
		err = rec_input_head(&s->in);
	if (err)
		return rec_input_failed(&s->in, err, e);
	err = split_fields(s, e);
	if (!err)
		err = find_format(s, e);
	if (!err)
		err = records_find_reader(s, e);
	if (!err)
		settle_key(s);
	if (!err)
		err = check_spec(s, e);
	if (!err && for_nfdump(s))
		err = nfcapd_start(s, e);
	if (!err)
		err = s->reader->open(s, e);
	return err ? err : records_begin_part(s, e);
}

int rec_open(struct rec_source **source, int fd, const struct rec_spec *spec,
	     const struct epf_hash *hash, struct rec_error *e)
{
	struct rec_source *s = calloc(1, sizeof(*s));
	int err;

	*source = NULL;
	if (!s)
		return rec_error_set(e, -ENOMEM, "out of memory");
	s->spec = *spec;
	if (!s->spec.joint)
		s->spec.joint = ',';
	s->hash = *hash;
	err = records_begin(s, fd, e);
	if (err) {
		rec_close(s);
		return err;
	}
	*source = s;
	return 0;
}

enum rec_format rec_source_format(const struct rec_source *source)
{
	return source->spec.format;
}

const char *rec_packed(const struct rec_source *source)
{
	return stream_packed(source->in.stream);
}

bool rec_by_child(const struct rec_source *source)
{
	return source->in.child;
}

const char *rec_note(const struct rec_source *source)
{
	return source->in.child ? stream_why(source->in.stream) : "";
}

struct epf_key_desc rec_source_desc(const struct rec_source *source)
{
	const struct rec_spec *spec = &source->spec;

	if (spec->format == REC_CSV || spec->format == REC_JSON)
		return epf_key_desc_plain(spec->digest ? EPF_KEYS_DIGEST : EPF_KEYS_BYTES);
	return epf_key_desc_packet(&spec->pkt);
}

struct rec_raw rec_prologue(const struct rec_source *source)
{
	return source->prologue;
}

static int take_some(struct rec_source *s, struct rec_batch *b, struct rec_error *e)
{
	bool last = s->in.eof;
	int err;

	s->more = false;
	s->until = s->count.work + REC_WORK;
	err = s->reader->take(s, b, e);
	b->end = last && !b->n && !s->more;
	if (err || last || b->n || s->more)
		return err;
	err = rec_input_more(&s->in);
	return err ? rec_input_failed(&s->in, err, e) : 0;
}

int rec_next(struct rec_source *source, struct rec_batch *batch, struct rec_error *e)
{
	int err;

	batch->n = 0;
	batch->end = false;
	if (source->late) {
		*e = source->late_error;
		return source->late;
	}
	err = take_some(source, batch, e);
	if (!err)
		return 0;
	source->late = err;
	source->late_error = *e;
	return batch->n ? 0 : err;
}

struct rec_count rec_count(const struct rec_source *source)
{
	struct rec_count c = source->count;

	c.left_out = strtoull(rec_note(source), NULL, 10); /* 0 without a note */
	c.bytes = rec_packed(source) ? stream_taken(source->in.stream) :
				       source->in.before + source->in.at;
	return c;
}

void rec_close(struct rec_source *source)
{
	if (source->reader && source->reader->close)
		source->reader->close(source);
	rec_input_close(&source->in);
	free((void *)(size_t)source->prologue.data);
	free(source->fields);
	free(source->stamps);
	free(source);
}
