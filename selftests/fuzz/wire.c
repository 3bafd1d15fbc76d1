// SPDX-License-Identifier: GPL-2.0
/*
 * Messages between agent and clients. A request that is accepted is in range, and the same when
 * it is sent on; an error is one line. An answer that is accepted is the same when it is sent on.
 *
 * Input: which message; number of descriptors; the rest is JSON.
 */
#include "jobs/agent_wire.c"

#include "epf/packet.h"
#include "fuzz.h"

/* Of jobs/target.c, which opens devices. */
const char *target_place_name(enum target_place place)
{
	return place == TARGET_FILE ? "file" : "copy";
}

void target_hide_key(struct epf_snap_header *h)
{
	memset(h->key, 0, sizeof(h->key));
}

static bool printable(const char *text)
{
	for (; *text; text++)
		if ((*text >= 0 && *text < ' ') || *text == 0x7f)
			return false;
	return true;
}

static void request_in_range(const struct agent_request *r, unsigned int nr)
{
	const int fd[AGENT_FDS] = { r->spec.keys_fd, r->spec.bitmap_fd, r->spec.ages_fd,
				    r->spec.records_fd, r->snapshot };
	unsigned int i, j;

	for (i = 0; i < AGENT_FDS; i++) {
		law(fd[i] >= -1 && fd[i] < (int)nr, "a descriptor that came");
		for (j = 0; j < i; j++)
			law(fd[i] < 0 || fd[i] != fd[j], "a descriptor has one use");
	}
	law(printable(r->filter) && printable(r->engine) && printable(r->fields),
	    "texts without control characters");
	law(r->spec.key_len <= EPF_KEY_MAX, "a length of keys");
	law(!epf_pkt_opts_check(&r->spec.records.pkt), "options of packets that go together");
	law(r->spec.from.present <= r->spec.from.keys, "present keys are keys");
}

static void request(json_t *json, unsigned int nr)
{
	struct agent_request r, again;
	struct rec_error e = { "" };
	json_t *out;
	int ret = agent_request_parse(&r, json, nr, &e);

	law(!ret || ret == -EINVAL, "accepted, or invalid");
	if (ret) {
		law(*e.text && printable(e.text), "an error is told, in one line");
		return;
	}
	request_in_range(&r, nr);
	out = agent_request_json(&r);
	if (!out)
		return; /* a text that is not UTF-8 */
	law(!agent_request_parse(&again, out, nr, &e), "what is accepted can be sent on");
	again.spec.records.fields = r.spec.records.fields;
	law(!strcmp(again.filter, r.filter) && !strcmp(again.fields, r.fields) &&
		    again.snapshot == r.snapshot &&
		    !memcmp(&again.spec.from, &r.spec.from, sizeof(r.spec.from)) &&
		    !memcmp(&again.spec.records, &r.spec.records, sizeof(r.spec.records)),
	    "and is the same");
	json_decref(out);
}

static void about(json_t *json)
{
	struct agent_about a, again;
	json_t *out;

	if (agent_about_parse(&a, json))
		return;
	law(!epf_key_desc_check(&a.desc), "a description of keys");
	law(memchr(a.header.params.name, 0, sizeof(a.header.params.name)) &&
		    printable(a.header.params.name),
	    "a name that ends, without control characters");
	law(a.fpr_ppt <= EPF_RATE_ONE, "a rate is at most 1");
	out = agent_about_json(&a);
	law(out && !agent_about_parse(&again, out), "what is accepted can be sent on");
	target_hide_key(&a.header);
	law(a.place == again.place && a.saturated == again.saturated &&
		    a.fpr_ppt == again.fpr_ppt &&
		    !memcmp(&a.header, &again.header, sizeof(a.header)),
	    "and is the same");
	json_decref(out);
}

static void state(json_t *json)
{
	struct job_state s, again;
	json_t *out;

	if (agent_state_parse(&s, json))
		return;
	law(s.mark.present <= s.mark.keys, "present keys are keys");
	law(!s.keys_all || s.mark.keys <= s.keys_all, "no more keys are done than there are");
	out = agent_state_json(&s);
	if (!out)
		return; /* a text cut within a character */
	law(!agent_state_parse(&again, out), "what is accepted can be sent on");
	law(again.bitmap_xxh3 == s.bitmap_xxh3 && again.keys_all == s.keys_all &&
		    again.format == s.format && again.engine == s.engine &&
		    !memcmp(&again.mark, &s.mark, sizeof(s.mark)),
	    "and is the same");
	json_decref(out);
}

int LLVMFuzzerTestOneInput(const __u8 *data, size_t size)
{
	struct input in = { data, size };
	__u8 what = take(&in) % 3;
	unsigned int nr = take(&in) % (AGENT_FDS + 1);
	json_t *json = json_loadb((const char *)in.p, in.left, JSON_REJECT_DUPLICATES, NULL);

	if (json_is_object(json)) {
		if (what == 0)
			request(json, nr);
		else if (what == 1)
			about(json);
		else
			state(json);
	}
	json_decref(json);
	return 0;
}
