// SPDX-License-Identifier: GPL-2.0
/* Attach, detach and read back the reflexive attachment of one interface. */
#include "reflex.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/if_arp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ebpf/ebpf.h"

/* Put the pinned map @pin of @ifname into the place of map @name. */
static int reuse(struct bpf_object *obj, const char *name, const char *ifname,
		 const char *pin)
{
	int fd = xdp_pin_open(ifname, pin), err;

	if (fd < 0)
		return fd;
	err = bpf_map__reuse_fd(bpf_object__find_map_by_name(obj, name), fd);
	close(fd);
	return err;
}

int reflex_maps(const struct xdp_want *want, struct bpf_object *obj)
{
	return reuse(obj, "epf_rule", want->ifname, EPF_REFLEX_PIN_RULE) ?:
	       reuse(obj, "epf_counts", want->ifname, EPF_REFLEX_PIN_COUNTS) ?:
	       (want->bpf ? ebpf_reuse_maps(obj, want->filter) :
			    reuse(obj, "epf_held", want->ifname, EPF_REFLEX_PIN_HELD));
}

/* Make a map, with @value in it if there is one, and pin it. */
static int make_map(const char *ifname, __u32 type, const char *name,
		    const char *pin, size_t bytes, const void *value)
{
	__u32 zero = 0;
	int fd = xdp_map_make(type, name, bytes), err = 0;

	if (fd < 0)
		return xdp_fail_load(fd);
	if (value)
		err = bpf_map_update_elem(fd, &zero, value, BPF_ANY);
	if (err)
		xdp_fail_load(err);
	else
		err = xdp_pin_fd(fd, ifname, pin);
	close(fd);
	return err;
}

static int make_maps(const struct xdp_want *want, const struct epf_xdp_conf *conf)
{
	const char *ifname = want->ifname;

	return make_map(ifname, BPF_MAP_TYPE_ARRAY, "epf_rule", EPF_REFLEX_PIN_RULE,
			sizeof(want->reflex->rule), &want->reflex->rule) ?:
	       make_map(ifname, BPF_MAP_TYPE_PERCPU_ARRAY, "epf_counts",
			EPF_REFLEX_PIN_COUNTS, sizeof(struct epf_reflex_counts), NULL) ?:
	       make_map(ifname, BPF_MAP_TYPE_ARRAY, "epf_conf", EPF_XDP_PIN_CONF,
			sizeof(*conf), conf) ?:
	       (want->bpf ? 0 : reflex_hold(want));
}

/* Note in the pinned map what is there by now: whoever ends in between leaves it to
 * detach.
 */
static int note(const char *ifname, const struct epf_xdp_conf *conf)
{
	int fd = xdp_pin_open(ifname, EPF_XDP_PIN_CONF), err = fd;
	__u32 zero = 0;

	if (fd >= 0) {
		err = bpf_map_update_elem(fd, &zero, conf, BPF_ANY);
		close(fd);
	}
	if (err)
		fail("noting what was attached: %s", strerror(-err));
	return err;
}

static const char *prog_of(enum epf_reflex_side side)
{
	return side == EPF_REFLEX_LEARN ? "reflex_learn" : "reflex_ask";
}

static enum xdp_obj tc_object(const struct xdp_want *want)
{
	if (!want->bpf)
		return XDP_OBJ_REFLEX_TC_MODULE;
	return caps_perfmon() ? XDP_OBJ_REFLEX_TC : XDP_OBJ_REFLEX_TC_BARE;
}

/* Load the program of @side. */
static int load_tc(const struct xdp_want *want, enum epf_reflex_side side,
		   struct bpf_object **obj)
{
	int err;

	*obj = xdp_obj_open(tc_object(want));
	if (!*obj)
		return -EINVAL;
	xdp_choose(*obj, prog_of(side));
	err = reflex_maps(want, *obj) ?: bpf_object__load(*obj);
	if (!err)
		return 0;
	if (xdp_obj_refused())
		xdp_explain_refused(want, prog_of(side));
	else if (!xdp_denied(err, true))
		xdp_fail_load(err);
	bpf_object__close(*obj);
	return err;
}

static int attach_tc(const struct xdp_want *want, enum epf_reflex_side side,
		     struct epf_xdp_conf *conf)
{
	struct bpf_object *obj;
	int fd, err = load_tc(want, side, &obj);

	if (err)
		return err;
	xdp_obj_quiet();
	fd = bpf_program__fd(bpf_object__find_program_by_name(obj, prog_of(side)));
	err = tc_attach(fd, want->ifname, side, want->reflex->clsact, conf);
	bpf_object__close(obj);
	if (err)
		fail("attaching at tc %s of '%s': %s%s%s",
		     side == EPF_REFLEX_LEARN ? "egress" : "ingress",
		     want->ifname, strerror(-err),
		     *xdp_obj_complaint() ? ": " : "", xdp_obj_complaint());
	return err ? err : note(want->ifname, conf);
}

static int attach_ask(const struct xdp_want *want, struct epf_xdp_conf *conf)
{
	int err;

	if (want->reflex->ask_tc)
		return attach_tc(want, EPF_REFLEX_ASK, conf);
	err = xdp_attach_prog(want, -1, conf);
	return err ? err : note(want->ifname, conf);
}

/* What fails is told. */
static int stop_tc(const char *ifname, enum epf_reflex_side side,
		   const struct epf_xdp_conf *conf)
{
	int err = tc_detach(ifname, side, conf);

	if (err)
		fail("detaching from tc %s of '%s': %s",
		     side == EPF_REFLEX_LEARN ? "egress" : "ingress", ifname,
		     strerror(-err));
	return err;
}

static int stop_ask(const char *ifname, const struct epf_xdp_conf *conf)
{
	if (conf->tc[EPF_REFLEX_ASK].prog_id)
		return stop_tc(ifname, EPF_REFLEX_ASK, conf);
	if (xdp_prog_live(conf))
		return xdp_detach_prog(conf, ifname);
	if (conf->prio && shared_clean)
		shared_clean(conf);
	return 0;
}

/* Nothing stops learning that still asks. */
static int stop(const char *ifname, const struct epf_xdp_conf *conf)
{
	int err = stop_ask(ifname, conf);

	if (!err && conf->tc[EPF_REFLEX_LEARN].prog_id)
		err = stop_tc(ifname, EPF_REFLEX_LEARN, conf);
	if (!err && conf->qdisc_made)
		tc_unmake(conf);
	return err;
}

/* Do its packets begin with an Ethernet header, at both hooks? Else an error. */
static bool has_ether(const char *ifname)
{
	int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq ifr = { .ifr_ifindex = 0 };
	bool is;

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", ifname);
	is = sock >= 0 && !ioctl(sock, SIOCGIFHWADDR, &ifr) &&
	     (ifr.ifr_hwaddr.sa_family == ARPHRD_ETHER ||
	      ifr.ifr_hwaddr.sa_family == ARPHRD_LOOPBACK);
	if (sock >= 0)
		close(sock);
	if (!is)
		fail("'%s' has no Ethernet headers, and --reflexive reads packets that "
		     "begin with one", ifname);
	return is;
}

int reflex_attach(const struct xdp_want *want, struct epf_xdp_conf *conf)
{
	int err;

	if (!has_ether(want->ifname))
		return -EPROTONOSUPPORT;
	err = make_maps(want, conf);
	if (err)
		return err;
	err = attach_tc(want, EPF_REFLEX_LEARN, conf) ?: attach_ask(want, conf);
	if (err) {
		stop(want->ifname, conf); /* the caller unpins */
		reflex_let_go(want->ifname);
	}
	return err;
}

/* From another network namespace the programs cannot be reached: what asks has to pass
 * everything from now on, since nothing more is learnt.
 */
static void disarm(const char *ifname, struct xdp_state *state)
{
	int fd = xdp_pin_open(ifname, EPF_REFLEX_PIN_RULE);
	__u32 zero = 0;

	memset(state->rule.act, 0, sizeof(state->rule.act));
	if (fd < 0)
		return;
	bpf_map_update_elem(fd, &zero, &state->rule, BPF_ANY);
	close(fd);
	warn("'%s' is of another network namespace: the program passes everything "
	     "until it is detached there", ifname);
}

int reflex_detach(const char *ifname, struct xdp_state *state)
{
	int err = 0;

	if (!state->here)
		disarm(ifname, state);
	else
		err = stop(ifname, &state->conf);
	if (!err) {
		reflex_let_go(ifname);
		xdp_unpin(ifname);
	}
	return err;
}

static int read_counts(int fd, struct epf_reflex_counts *sum)
{
	int cpus = libbpf_num_possible_cpus(), side, i, j, err;
	struct epf_reflex_counts *values;
	__u32 zero = 0;

	if (cpus < 0)
		return cpus;
	values = calloc((size_t)cpus, sizeof(*values));
	if (!values)
		return -ENOMEM;
	err = bpf_map_lookup_elem(fd, &zero, values);
	for (i = 0; !err && i < cpus; i++)
		for (side = 0; side < EPF_REFLEX_SIDES; side++)
			for (j = 0; j < EPF_REFLEX_REASONS; j++) {
				struct epf_xdp_count *c = &sum->side[side][j];

				c->packets += values[i].side[side][j].packets;
				c->bytes += values[i].side[side][j].bytes;
			}
	free(values);
	return err;
}

int reflex_read(const char *ifname, struct xdp_state *state)
{
	int counts = xdp_pin_open(ifname, EPF_REFLEX_PIN_COUNTS);
	int rule = xdp_pin_open(ifname, EPF_REFLEX_PIN_RULE);
	const struct epf_xdp_conf *conf = &state->conf;
	__u32 zero = 0;
	int err = counts < 0 ? counts : rule < 0 ? rule : 0;

	if (!err)
		err = bpf_map_lookup_elem(rule, &zero, &state->rule);
	if (!err)
		err = read_counts(counts, &state->counts);
	state->here = !strchr(ifname, '@');
	if (!err && state->here) {
		state->learns = tc_live(ifname, EPF_REFLEX_LEARN, conf);
		state->asks = conf->tc[EPF_REFLEX_ASK].prog_id ?
				      tc_live(ifname, EPF_REFLEX_ASK, conf) :
				      xdp_prog_live(conf);
	}
	state->live = state->asks && state->learns;
	if (counts >= 0)
		close(counts);
	if (rule >= 0)
		close(rule);
	return err;
}
