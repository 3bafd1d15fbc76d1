/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * XDP programs on interfaces. Functions print their errors and return 0 or a
 * negative errno, unless they say otherwise.
 *
 * An attachment owns the references in its maps, the program on the interface, the link of
 * tc_mark, and a directory of pins. xdp_attach() leaves all of it or nothing. The program
 * comes last, so that no packet finds an empty slot. xdp_detach() removes everything in the
 * opposite order.
 */
#ifndef EPFCTL_XDP_H
#define EPFCTL_XDP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>
#include <linux/if_link.h>

#include "cmd.h"
#include "epf/cluster.h"
#include "epf/ingress.h"
#include "epf/reflex.h"

struct bpf_object;
struct ingress_want;
struct reflex_want;
struct bpf_program;

enum xdp_mode { XDP_AUTO, XDP_NATIVE, XDP_GENERIC };

#define XDP_PRIO_DEFAULT 50 /* libxdp's own */

/**
 * struct xdp_want - the attachment to make
 * @ifname: interface
 * @filter: name of the filter, or the operand that names it
 * @name: room for the name
 * @id: of the filter
 * @bpf: it is pure BPF
 * @rotate: who ends its epochs, if it is created for this
 * @made: it was created; see struct epf_xdp_conf
 * @holder: process that was started for it, or 0
 * @opts: packet key
 * @action: enum epf_xdp_action
 * @mark: first mark, with EPF_XDP_MARK
 * @mark_mask: the bits that are written
 * @mode: driver, socket buffer, or the first of the two that works
 * @prio: place among the programs of the dispatcher; 0: no dispatcher
 * @mirror: the interface only listens, so @opts pass no control packets
 * @vlan_off: switch the VLAN offload off, until xdp_detach()
 * @reflex: options, with EPF_XDP_REFLEX
 * @ingress: options, with EPF_XDP_ADMIT and EPF_XDP_LOG
 * @cluster: name of the cluster, or NULL
 * @cover: what its cover map says, with @cluster
 */
struct xdp_want {
	const char *ifname;
	const char *filter;
	char name[EPF_NAME_LEN];
	__u32 id;
	bool bpf;
	enum rotate rotate;
	bool made;
	__u32 holder;
	struct epf_pkt_opts opts;
	__u32 action;
	__u32 mark;
	__u32 mark_mask;
	enum xdp_mode mode;
	__u32 prio;
	bool mirror;
	bool vlan_off;
	const struct reflex_want *reflex;
	const struct ingress_want *ingress;
	const char *cluster;
	struct epf_cluster_cover cover;
};

/**
 * struct xdp_state - an attachment, read back
 * @conf: as attached
 * @here: the interface is in this network namespace
 * @live: it is @here and has the program
 * @blind: the card takes off VLAN tags that are part of the key
 * @counts: summed over CPUs
 * @rule: with EPF_XDP_REFLEX
 * @asks: the asking program is where it was attached; @live: both programs are
 * @learns: the learning program is
 * @ingress: the rule, with EPF_XDP_ADMIT and EPF_XDP_LOG
 */
struct xdp_state {
	struct epf_xdp_conf conf;
	bool here;
	bool live;
	bool blind;
	struct epf_counts counts;
	struct epf_reflex_rule rule;
	bool asks;
	bool learns;
	struct epf_ingress_rule ingress;
};

/* xdp.c */
int xdp_attach(const struct xdp_want *want);
int xdp_detach(const char *ifname);
/* Prints no errors. -ENOENT: nothing is attached. */
int xdp_read(const char *ifname, struct xdp_state *state);

/* For reflex.c and ingress.c: only the XDP program. It sets and uses prog_id and mode of
 * @conf. @slot: its map, or -1.
 */
int xdp_attach_prog(const struct xdp_want *want, int slot, struct epf_xdp_conf *conf);
int xdp_detach_prog(const struct epf_xdp_conf *conf, const char *ifname);
bool xdp_prog_live(const struct epf_xdp_conf *conf);
/* Let only @name be loaded of the object's programs. */
struct bpf_program *xdp_choose(struct bpf_object *obj, const char *name);
/* Print the error of program @name that the verifier refuses, or of another failure to load.
 * Return: @err.
 */
void xdp_explain_refused(const struct xdp_want *want, const char *name);
int xdp_fail_load(int err);
/* Run a syscall program of @obj. @arg may be NULL. Prints no errors. Return: its value, or an
 * error.
 */
int xdp_call(struct bpf_object *obj, const char *name, struct epf_xdp_bind *arg);
/* Is a missing capability, or the BPF token, the reason? Then prints an error. @tc: for a
 * program of tc.
 */
bool xdp_denied(int err, bool tc);

/* xdp_show.c: an attachment in one line, then its counters */
void xdp_show(const char *ifname, const struct xdp_state *state);
json_t *xdp_json(const char *ifname, const struct xdp_state *state);

/* Are control packets passed and not judged? Reflexive rules know themselves. */
bool xdp_passes_control(const struct epf_xdp_conf *conf);
/* Is the filter of an attachment held? A filter of the module always is. */
bool xdp_held(const struct epf_xdp_conf *conf);
/* Its name; "": it is gone or cannot be asked. */
void xdp_filter_name(const struct epf_xdp_conf *conf, char name[EPF_NAME_LEN]);

/* attach_default.c: a filter and a holder for an attachment that names none */

/* Set @want->filter; if there is none of that name, make it. */
int default_filter(struct xdp_want *want);
/* Start a holder, if the filter needs one and has none. */
int default_holder(struct xdp_want *want);
/* Print what was done, and what to do next. */
void default_show(const struct xdp_want *want);
/* End what the above began for @conf. What others use stays, with a warning. */
void default_undo(const struct epf_xdp_conf *conf);

/* xdp_maps.c: slot and conf maps without programs of the module. Prints no errors. */
int xdp_maps_make(const struct epf_pkt_opts *opts, int *slot, int *conf);
int xdp_map_make(__u32 type, const char *name, size_t bytes); /* fd */

/* xdp_pinned.c: maps of attachments that have a rule */

/**
 * struct xdp_map - a map with one value, or a ring
 * @name: in the program
 * @pin: file name
 * @type: BPF_MAP_TYPE_ARRAY, PERCPU_ARRAY, RINGBUF
 * @bytes: of the value, a multiple of 8, or of the ring
 */
struct xdp_map {
	const char *name;
	const char *pin;
	__u32 type;
	size_t bytes;
};

/* Make and pin it, with @value in it if that is not NULL. Prints errors. */
int xdp_map_pin(const char *ifname, const struct xdp_map *m, const void *value);
/* Use the pinned map in place of map @name. This and the next one print no errors. */
int xdp_map_reuse(struct bpf_object *obj, const char *name, const char *ifname, const char *pin);
int xdp_map_read(const char *ifname, const char *pin, void *value);
/* Make the conf map, which describes the attachment. Prints errors. */
int xdp_conf_pin(const char *ifname, const struct epf_xdp_conf *conf);
/* Note there what is attached so far: if this process ends in between, detach removes it. */
int xdp_conf_note(const char *ifname, const struct epf_xdp_conf *conf);

/* xdp_held.c: the filter of attachments that have a rule */

/* Take a filter of the module into a pinned map; a pure BPF filter needs none. */
int xdp_hold(const struct xdp_want *want);
/* Release it now, not when the kernel frees the map. */
void xdp_let_go(const char *ifname);
/* Let the programs of @obj use the filter. Prints no errors. */
int xdp_use(const struct xdp_want *want, struct bpf_object *obj);

/* xdp_cluster.c: with @cluster, the programs ask the filter of all, too */

/* Set @cover of @want, whose filter is known. Return: false: an error is printed. */
bool cluster_find(struct xdp_want *want);
/* Note it in @conf. Without a cluster this and the next one do nothing. */
int cluster_note(const struct xdp_want *want, struct epf_xdp_conf *conf);
/* Let the programs of @obj use the cover map and the filter of all. Prints no errors. */
int cluster_use(const struct xdp_want *want, struct bpf_object *obj);

enum cluster_state {
	CLUSTER_COVERED,
	CLUSTER_UNCOVERED, /* data of a host are missing */
	CLUSTER_GONE,      /* there is no cover map */
	CLUSTER_OTHER,     /* there is another one than the programs have */
};
enum cluster_state cluster_state(const struct epf_xdp_conf *conf);
/* What 'status' says about the cluster of attachment @name, unless all is well. */
void cluster_show(const char *name, const struct epf_xdp_conf *conf);
/* Add it to @o. */
void cluster_json(const struct epf_xdp_conf *conf, json_t *o);

/* xdp_link.c: what an interface is and has */

/* Do packets begin with an Ethernet header? If not, prints an error. */
bool xdp_has_ether(const char *ifname);
/* The program on the interface; 0: none, or one in each mode. Prints no errors. */
__u32 xdp_link_on(__u32 ifindex);
/* Is it one of ours, by its name? */
bool xdp_link_ours(__u32 prog);
/* The next program of ours whose link, behind @link, replaces a function of @prog, which then is
 * libxdp's dispatcher; 0: none. @link: set to that link
 */
__u32 xdp_link_inside(__u32 prog, __u32 *link);
/* "program 7 'name', link 3, pinned at PATH": the one on the interface */
void xdp_link_tell(__u32 ifindex, char *text, size_t room);

/* xdp_vlan.c: cards take VLAN tags off packets, so that XDP does not see them */

/* Are tags part of the key? */
bool vlan_counts(const struct epf_pkt_opts *opts);
/* The offloads of enum epf_xdp_vlan that are on; 0: none. Prints no errors. */
int vlan_offloads(const char *ifname, __u32 *on);
/* Switch @which of them on or off. Prints no errors. -EOPNOTSUPP: the driver keeps it. */
int vlan_switch(const char *ifname, __u32 which, bool on);

/* xdp_pin.c: directories of pins, by the name of the interface. In another network namespace
 * the name is NAME@INODE, or NAME@ for that of process 1. Netfilter hooks (nf.h) and records
 * of pins (pin.h) have names and directories, too.
 */
#define XDP_PATH_BYTES 256

/* The path of pin @name; NULL: of the directory. */
void xdp_pin_path(char path[XDP_PATH_BYTES], const char *ifname, const char *name);
/* Until the descriptor is closed, no other process attaches or detaches. */
int xdp_pin_lock(void);
/* Return: a descriptor. Prints no errors. -EPROTO: a map of another version. */
int xdp_pin_open(const char *ifname, const char *name);
const char *xdp_pin_why(int err);
int xdp_pin_fd(int fd, const char *ifname, const char *name);
int xdp_pin_dir(const char *ifname); /* make it; -EEXIST prints no error */
void xdp_unpin(const char *ifname);  /* remove all pins, and the directory */
/* Names of interfaces with pins, NULL at the end. The caller frees each of them, and the
 * list, also after an error. Prints no errors.
 */
int xdp_pin_list(char ***names);

/* xdp_uses.c: the first interface or hook, of any network namespace, or record of pin.h that
 * uses filter @id, of the module or pure BPF. Prints no errors. NULL in a build without BPF.
 */
#define XDP_NAME_BYTES 64
bool xdp_uses(__u32 id, bool bpf, char name[XDP_NAME_BYTES]) __attribute__((weak));
/* Print the error that @name uses @filter. NULL likewise. */
void xdp_uses_tell(const char *filter, const char *name) __attribute__((weak));

/* xdp_obj.c: the embedded objects */

enum xdp_obj {
	XDP_OBJ_DEDUP,
	XDP_OBJ_DEDUP_INLINE,
	XDP_OBJ_DEDUP_BARE,
	XDP_OBJ_BIND,
	XDP_OBJ_TC_MARK,
	XDP_OBJ_REFLEX,
	XDP_OBJ_REFLEX_TC,
	XDP_OBJ_REFLEX_BARE,
	XDP_OBJ_REFLEX_TC_BARE,
	XDP_OBJ_NF,
	XDP_OBJ_NF_MODULE,
	XDP_OBJ_ADMIT,
	XDP_OBJ_LOG_NEW,
	XDP_OBJ_ADMIT_MODULE,
	XDP_OBJ_LOG_NEW_MODULE,
	XDP_OBJ_REFLEX_MODULE,
	XDP_OBJ_REFLEX_TC_MODULE,
	XDP_OBJ_HOLD,
};

/* Return: NULL: an error is printed. */
struct bpf_object *xdp_obj_open(enum xdp_obj which);
/* Can the module's functions be called? If not, prints an error. */
bool xdp_obj_possible(void);
/* From now on keep complaints of libbpf and libxdp, and do not print them. */
void xdp_obj_quiet(void) __attribute__((weak));
/* The most informative complaint since then, or "". */
const char *xdp_obj_complaint(void) __attribute__((weak));
/* Is it one of the verifier? */
bool xdp_obj_refused(void) __attribute__((weak));
/* Is it one that CAP_PERFMON avoids, which this process lacks? Then prints an error. */
bool xdp_obj_needs_perfmon(const char *doing) __attribute__((weak));
int xdp_obj_keep(const char *fmt, va_list ap); /* keep another complaint */

/* xdp_plain.c: without a dispatcher; xdp_shared.c: by libxdp's dispatcher, and missing in a
 * build without libxdp. They print no errors.
 *
 * The attach functions also load the object of @prog, and set @conf->prog_id. @conf has
 * ifindex, mode and prio. -EBUSY: another program does not share the interface.
 */
int plain_attach(struct bpf_object *obj, struct bpf_program *prog, struct epf_xdp_conf *conf);
int plain_detach(const struct epf_xdp_conf *conf);
bool plain_live(const struct epf_xdp_conf *conf);

int shared_attach(struct bpf_object *obj, struct bpf_program *prog, struct epf_xdp_conf *conf)
	__attribute__((weak));
int shared_detach(const struct epf_xdp_conf *conf) __attribute__((weak));
bool shared_live(const struct epf_xdp_conf *conf) __attribute__((weak));
/* Remove what libxdp keeps for an interface that is gone. */
void shared_clean(const struct epf_xdp_conf *conf) __attribute__((weak));

/**
 * xdp_frags() - should packets of many buffers stay in many buffers?
 * @conf: with mode
 *
 * In the driver they should: otherwise a large MTU is refused. Behind the driver the kernel
 * then makes one buffer of them, and should: if it copies a packet in many buffers (6.9 and
 * later, seen in 6.12), it forgets the length of the link header, and tc ingress finds
 * neither that header nor what we wrote before it.
 */
static inline bool xdp_frags(const struct epf_xdp_conf *conf)
{
	return conf->mode == XDP_FLAGS_DRV_MODE;
}

#endif /* EPFCTL_XDP_H */
