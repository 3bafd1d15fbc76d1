/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Audits that epfagent does for a client. The client opens all files, with its
 * own rights; the agent gets descriptors and never a path.
 *
 * The protocol uses a local SOCK_SEQPACKET socket. A message is one JSON object of
 * at most AGENT_MESSAGE_MAX bytes, with up to AGENT_FDS descriptors (SCM_RIGHTS).
 * Unknown members are refused.
 *
 *   {"op": "ping"}     reply: {"version": "...", "protocol": 1}
 *   {"op": "status"}   reply: {"status": {...}}
 *   {"op": "jobs", "after": 0}	reply: {"jobs": [{"job": 1, ...}, ...], "more": false}: some
 *	jobs with greater numbers; "more": ask again after the last one
 *   {"op": "cancel", "job": 1}	reply: {"cancelled": 1}; the job ends at its next step
 *   {"op": "cluster", "nr": 0, "host": 0}	reply: {"clusters": 1, "cluster": {...}}: how many
 *	there are, and the one with this number, or null; some of its hosts from this one on
 *   {"op": "audit", "fds": ["keys", ...], ...}, as agent_wire.c writes it;
 *	"fds" names each descriptor in the order sent (enum agent_fd). A connection
 *	has one audit at a time. Replies: any number of {"state": {...}}, then
 *	{"done": {...}, "about": {...}} or {"error": "one line", "errno": 22}
 *
 * Numbers are JSON integers of 0 .. 2^63 - 1; checksums are 16 hex digits.
 */
#ifndef JOBS_AGENT_H
#define JOBS_AGENT_H

#include <jansson.h>

#include "jobs/job.h"
#include "jobs/target.h"

#define AGENT_SOCKET "/run/epochfilter/agent.sock"
#define AGENT_MESSAGE_MAX 16384u
#define AGENT_REPLY_MAX 65536u
#define AGENT_PROTOCOL 1

/* The purpose of a descriptor. */
enum agent_fd {
	AGENT_KEYS,
	AGENT_BITMAP,
	AGENT_AGES,
	AGENT_RECORDS,
	AGENT_SNAPSHOT,
	AGENT_FDS,
};

/**
 * struct agent_about - what was audited, see struct target
 * @place: TARGET_FILE or TARGET_COPY
 * @saturated: as there
 * @fpr_ppt: of a filter; 0 for a file: its error depends on the hash key
 * @header: as target_hide_key() leaves it
 * @desc: description of its keys
 */
struct agent_about {
	enum target_place place;
	bool saturated;
	__u64 fpr_ppt;
	struct epf_snap_header header;
	struct epf_key_desc desc;
};

/**
 * agent_audit() - have the agent do an audit
 * @socket: path; NULL: AGENT_SOCKET
 * @target: name of a filter of the kernel, or NULL
 * @snapshot_fd: -1, or a snapshot file to audit in place of a filter
 * @spec: as for job_open(); all files must be regular files. The engine is sent by
 *	name
 * @state: result: the last known state, also if the audit failed; its @why is valid
 *	until the next call in this thread; its @engine is NULL if this process does
 *	not know the engine
 * @about: result: what was audited; may be NULL
 * @progress: called after each step of the agent and regularly while the agent is
 *	silent, or NULL; a non-zero return cancels the audit
 * @ctx: for @progress
 * @e: set to the error text on failure
 *
 * Context: sleeps; a signal makes it call @progress.
 *
 * Return: 0;
 * -ENOENT, -ECONNREFUSED: there is no agent: the caller should do the audit itself;
 * -EOPNOTSUPP: the agent cannot do this audit (a pipe, an unsupported file system,
 *  fields that are not UTF-8): likewise;
 * -EBADF: an output is open for appending: likewise;
 * -EACCES, -EPERM: this user may not use the agent; -EBUSY: the agent is overloaded;
 * -ECANCELED: @progress cancelled it, or the agent is stopping;
 * -EPROTO: the reply is invalid; else the agent's error from job_open() or job_step().
 */
int agent_audit(const char *socket, const char *target, int snapshot_fd,
		const struct job_spec *spec, struct job_state *state, struct agent_about *about,
		int (*progress)(void *ctx, const struct job_state *state), void *ctx,
		struct rec_error *e);

/**
 * agent_ask() - ask the agent for anything but an audit
 * @socket: path; NULL: AGENT_SOCKET
 * @request: the message; takes over the reference
 * @reply: result: a new reference; NULL on failure
 * @e: set to the error text on failure
 *
 * Context: sleeps; an agent that does not answer within AGENT_ANSWER_S is an error.
 *
 * Return: 0; -ENOENT, -ECONNREFUSED: there is no agent; -EAGAIN: it does not answer;
 * -EPROTO: the reply is invalid; else the agent's error.
 */
int agent_ask(const char *socket, json_t *request, json_t **reply, struct rec_error *e);
#define AGENT_ANSWER_S 10

/* agent_wire.c: messages in both directions */

/* Names of enum agent_fd. */
extern const char *const agent_fd_names[AGENT_FDS];

/**
 * struct agent_request - a request for an audit
 * @filter: name; empty: @snapshot is audited
 * @engine: name, or empty
 * @fields: storage for @spec.records.fields, or empty
 * @spec: its descriptors are indexes 0 .. AGENT_FDS - 1 into those sent, or -1
 * @snapshot: likewise
 */
struct agent_request {
	char filter[EPF_NAME_LEN];
	char engine[32];
	char fields[1024];
	struct job_spec spec;
	int snapshot;
};

/* Return: a new reference; NULL: out of memory. */
json_t *agent_request_json(const struct agent_request *r);

/**
 * agent_request_parse() - read and check a request
 * @r: result; @spec.engine stays NULL, @spec.records.fields points into @r
 * @json: object, untrusted
 * @nr_fds: number of descriptors that came with it
 * @e: set to the error text on failure
 *
 * Return: 0; -EINVAL.
 */
int agent_request_parse(struct agent_request *r, json_t *json, unsigned int nr_fds,
			struct rec_error *e);

json_t *agent_about_json(const struct agent_about *a);
/* Return: 0; -EPROTO: also if no filter can have such a header or such an error. */
int agent_about_parse(struct agent_about *a, json_t *json);

json_t *agent_state_json(const struct job_state *s);
/* Return: 0; -EPROTO: also if more keys are done than there are, or a text is not one line. An
 * unknown engine becomes NULL.
 */
int agent_state_parse(struct job_state *s, json_t *json);

#endif /* JOBS_AGENT_H */
