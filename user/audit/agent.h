/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Audits that epfagent does for a client. The client opens all files, with its
 * own rights; the agent gets descriptors and never a path.
 *
 * The protocol, on a SOCK_SEQPACKET socket of the system's own: a message is
 * one JSON object of AGENT_MESSAGE_MAX bytes at most, with up to AGENT_FDS
 * descriptors (SCM_RIGHTS). Members that are not named here are refused.
 *
 *   {"op": "ping"}     answered by {"version": "...", "protocol": 1}
 *   {"op": "status"}   answered by {"status": {...}}
 *   {"op": "audit", "fds": ["keys", ...], ...}, as agent_wire.c writes it;
 *	"fds" tells in order what each descriptor is (enum agent_fd). One at a
 *	time. Answered by any number of {"state": {...}}, then by {"done": {...},
 *	"about": {...}} or {"error": "one line", "errno": 22}
 *
 * Numbers are JSON integers of 0 .. 2^63 - 1; checksums are 16 hex digits.
 */
#ifndef AUDIT_AGENT_H
#define AUDIT_AGENT_H

#include <jansson.h>

#include "job.h"
#include "target.h"

#define AGENT_SOCKET "/run/epochfilter/agent.sock"
#define AGENT_MESSAGE_MAX 16384u
#define AGENT_PROTOCOL 1

/* What a descriptor is for. */
enum agent_fd {
	AGENT_KEYS,
	AGENT_BITMAP,
	AGENT_AGES,
	AGENT_RECORDS,
	AGENT_SNAPSHOT,
	AGENT_FDS,
};

/**
 * struct agent_about - what was asked, as struct target has it
 * @place: TARGET_FILE or TARGET_COPY
 * @saturated: of a filter
 * @fpr_ppt: of a filter
 * @header: as target_hide_key() leaves it
 * @desc: what its keys are made of
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
 * @snapshot_fd: -1, or a snapshot file, asked in place of a filter
 * @spec: as for job_open(); all files must be regular ones. Its engine's name is
 *	what goes over the wire
 * @state: result: what is known at the end, also of an audit that failed; @why
 *	lives until the next call in this thread; an engine that this process
 *	has not is NULL
 * @about: result: what was asked; or NULL
 * @progress: called after steps of the agent and while it says nothing, or
 *	NULL; non-zero: give up
 * @ctx: for @progress
 * @e: what is wrong, on failure
 *
 * Context: sleeps; a signal makes it call @progress.
 *
 * Return: 0;
 * -ENOENT, -ECONNREFUSED: there is no agent: do it yourself;
 * -EOPNOTSUPP: not a job for an agent (a pipe, a file of a kind that it does
 *  not take, fields that are no UTF-8): do it yourself;
 * -EBADF: an output is open for appending, likewise;
 * -EACCES, -EPERM: it is not for this user; -EBUSY: it has too much to do;
 * -ECANCELED: as @progress wished, or the agent stops;
 * -EPROTO: what it says makes no sense; else as job_open(), job_step() there.
 */
int agent_audit(const char *socket, const char *target, int snapshot_fd,
		const struct job_spec *spec, struct job_state *state,
		struct agent_about *about,
		int (*progress)(void *ctx, const struct job_state *state),
		void *ctx, struct rec_error *e);

/* agent_wire.c: what both sides say */

/* Words of enum agent_fd. */
extern const char *const agent_fd_names[AGENT_FDS];

/**
 * struct agent_request - an audit as asked for
 * @filter: name, or empty: by snapshot
 * @engine: name, or empty
 * @fields: of @spec.records, or empty
 * @spec: descriptors in it are -1 or 0 .. AGENT_FDS - 1: places among those sent
 * @snapshot: likewise
 */
struct agent_request {
	char filter[EPF_NAME_LEN];
	char engine[32];
	char fields[1024];
	struct job_spec spec;
	int snapshot;
};

/* Return: a new reference, or NULL without memory. */
json_t *agent_request_json(const struct agent_request *r);

/**
 * agent_request_parse() - read and check a request
 * @r: result; @spec.engine stays NULL, @spec.records.fields points into @r
 * @json: object, from anybody
 * @nr_fds: descriptors that came with it
 * @e: what is wrong, on failure
 *
 * Return: 0; -EINVAL.
 */
int agent_request_parse(struct agent_request *r, json_t *json,
			unsigned int nr_fds, struct rec_error *e);

json_t *agent_about_json(const struct agent_about *a);
/* Return: 0; -EPROTO. */
int agent_about_parse(struct agent_about *a, json_t *json);

json_t *agent_state_json(const struct job_state *s);
/* Return: 0; -EPROTO. Names of engines that are not here become NULL. */
int agent_state_parse(struct job_state *s, json_t *json);

#endif /* AUDIT_AGENT_H */
