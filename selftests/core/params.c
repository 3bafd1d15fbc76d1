// SPDX-License-Identifier: GPL-2.0
/*
 * Checks what the module, pure BPF and filters in a process share: the ranges of
 * params.h, each at its ends, the shapes of locked kinds, and the sample of estimate.h.
 */
#include <epf/estimate.h>
#include <epf/params.h>

#include <stddef.h>
#include <string.h>

#include "../locked.h"
#include "tap.h"

#define LINES 8192 /* lines per part; four times as many as are sampled */
/* An offset that makes line 1 the first of the sample. */
#define RANDOM (3 * LINES + LINES / 4)

static struct epf_params sound(void)
{
	struct epf_params p = {
		.kind = EPF_KIND_LANES,
		.mode = EPF_MODE_BOTH,
		.lines_per_key = 2,
		.bits_per_key = 4,
		.nr_lines = EPF_LINES_MIN,
		.window_inserts = 1,
		.window_ns = 1,
		.budget_ppt = 1,
		.limit_ppt = 1,
	};

	return p;
}

/* A field of struct epf_params, a value, and whether a filter with it is valid. */
/* clang-format off */
#define EDGE(field, value, good)					      \
	{ offsetof(struct epf_params, field),				      \
	  sizeof(((struct epf_params *)0)->field), value, good,		      \
	  #field " = " #value }
/* clang-format on */

static const struct edge {
	size_t offset, bytes;
	__u64 value;
	bool good;
	const char *what;
} edges[] = {
	EDGE(hash, EPF_HASH_MAX, true),
	EDGE(hash, EPF_HASH_MAX + 1, false),
	EDGE(refresh, EPF_FIRST_SEEN, true),
	EDGE(refresh, EPF_FIRST_SEEN + 1, false),
	EDGE(mode, EPF_MODE_MAX + 1, false),
	EDGE(mode, EPF_MODE_COUNT, false),
	EDGE(mode, EPF_MODE_TIME, false),
	EDGE(budget_ppt, 0, false),
	EDGE(budget_ppt, 2, false),
	EDGE(limit_ppt, 0, false),
	EDGE(limit_ppt, EPF_RATE_ONE, true),
	EDGE(limit_ppt, EPF_RATE_ONE + 1, false),
	EDGE(window_inserts, 0, false),
	EDGE(window_inserts, EPF_INSERTS_MAX, true),
	EDGE(window_inserts, EPF_INSERTS_MAX + 1, false),
	EDGE(window_ns, 0, false),
	EDGE(window_ns, EPF_NS_MAX, true),
	EDGE(window_ns, EPF_NS_MAX + 1, false),
	EDGE(nr_lines, EPF_LINES_MIN - 2, false),
	EDGE(nr_lines, EPF_LINES_MIN + 1, false),
	EDGE(nr_lines, 2 * EPF_PART_LINES_MAX, true),
	EDGE(nr_lines, 2 * EPF_PART_LINES_MAX + 2, false),
	EDGE(lines_per_key, 0, false),
	EDGE(lines_per_key, 3, false),
	EDGE(lines_per_key, 4, true),
	EDGE(bits_per_key, 0, false),
	EDGE(bits_per_key, 5, false),
	EDGE(bits_per_key, 2 * EPF_PART_BITS_MAX, true),
	EDGE(bits_per_key, 2 * EPF_PART_BITS_MAX + 2, false),
};
#define EDGES (int)(sizeof(edges) / sizeof(edges[0]))

static struct epf_params with(struct epf_params p, const struct edge *edge)
{
	const size_t skip = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ?
				    sizeof(edge->value) - edge->bytes :
				    0;

	memcpy((char *)&p + edge->offset, (const char *)&edge->value + skip, edge->bytes);
	return p;
}

static bool is_shape(const struct edge *edge)
{
	return edge->offset == offsetof(struct epf_params, nr_lines) ||
	       edge->offset == offsetof(struct epf_params, lines_per_key) ||
	       edge->offset == offsetof(struct epf_params, bits_per_key);
}

static void lanes_at(const struct edge *edge)
{
	struct epf_params p = with(sound(), edge);

	tap_ok(epf_params_check_lanes(&p) == (edge->good ? 0 : -EINVAL), "lanes: %s%s", edge->what,
	       edge->good ? "" : ": refused");
}

/* Locked kinds have no shape here: any field other than zero is refused. */
static void locked_at(const struct edge *edge)
{
	struct epf_params p = sound();
	bool good = is_shape(edge) ? !edge->value : edge->good;

	p.kind = EPF_KIND_GE;
	p.nr_lines = p.lines_per_key = p.bits_per_key = 0;
	p = with(p, edge);
	tap_ok(epf_params_check_locked(&p) == (good ? 0 : -EINVAL), "locked: %s%s", edge->what,
	       good ? "" : ": refused");
}

static void other_kinds(void)
{
	struct epf_params p = sound();

	p.kind = EPF_KIND_GE;
	tap_ok(epf_params_check_lanes(&p) == -EOPNOTSUPP, "no other kind is one of lanes");
	p.budget_ppt = 0;
	tap_ok(epf_params_check_lanes(&p) == -EOPNOTSUPP,
	       "and it is refused as such, whatever else is wrong");
}

static int begin(__u32 kind, __u32 mode, const struct epf_shape *shape)
{
	const struct epf_params p = { .kind = kind, .mode = mode, .window_ns = 1 << 20 };
	struct epf_locked f;

	memset(&f, 0, sizeof(f));
	return epf_locked_begin(&f, epf_kind_row(kind), &p, shape, 1);
}

/* Is a shape refused for any byte that its kind does not use? */
static bool unused_refused(__u32 kind)
{
	struct epf_shape shape = locked_shape(kind);
	__u8 *byte = (__u8 *)&shape;
	size_t i;

	for (i = epf_kind_row(kind)->used; i < sizeof(shape); i++) {
		byte[i] = 1;
		if (begin(kind, EPF_MODE_TIME, &shape) != -EINVAL)
			return false;
		byte[i] = 0;
	}
	return !begin(kind, EPF_MODE_TIME, &shape);
}

static void shapes(void)
{
	bool unused = true, modes = true;
	struct epf_shape shape;
	__u32 kind;

	for (kind = 1; kind <= EPF_KIND_MAX; kind++) {
		shape = locked_shape(kind);
		unused &= unused_refused(kind);
		modes &= (begin(kind, EPF_MODE_COUNT, &shape) == -EINVAL) ==
			 locked_is_resizable(kind);
	}
	tap_ok(unused, "a shape is refused for any byte that its kind does not use");
	tap_ok(modes, "resizable kinds, and no others, take a window of time only");
}

static struct epf_line lines[2 * LINES];
static __u64 epoch = EPF_EPOCH_FIRST;

/* Fill part 0 so that each line has as many positions set as its index modulo 31, and
 * part 1 with one position more per line.
 */
static struct epf_lanes filled(struct epf_cover *c)
{
	struct epf_lanes f = { lines, &epoch, { 0, 0, 0, 0 } };
	__u64 i;

	epf_geom_init(&f.geom, 2 * LINES, 2, 4);
	epf_cover_init(c, &f.geom);
	for (i = 0; i < 2 * LINES; i++)
		lines[i].lane[0] = epf_lane_tag(epoch, 0) |
				   ((1ULL << (i % LINES % 31 + i / LINES)) - 1);
	return f;
}

static void take(struct epf_fill *s, __u64 random, __u64 nr)
{
	struct epf_cover c;
	struct epf_lanes f = filled(&c);

	memset(s, 0, sizeof(*s));
	while (epf_fill_sample(s, &c, &f, random, nr))
		;
}

static void samples(void)
{
	struct epf_fill whole, runs;
	struct epf_estimates est;
	__u64 bits = 0, all = 2 * EPF_FILL_SAMPLES * EPF_LANE_BITS, i;

	take(&whole, RANDOM, EPF_FILL_SAMPLES);
	take(&runs, RANDOM, 7);
	tap_ok(whole.lines == EPF_FILL_SAMPLES && !memcmp(&whole, &runs, sizeof(whole)),
	       "a sample in runs of 7 lines is one in a single run");
	for (i = 0; i < EPF_FILL_SAMPLES; i++) /* line 1, with one bit, is first */
		bits += 2 * ((4 * i + 1) % 31) + 1;
	tap_ok(whole.bits[0] == bits, "its lines are evenly spaced");
	epf_fill_estimates(&whole, 2, &est);
	tap_ok(est.lane_fill[0] == bits * EPF_RATE_ONE / all && !est.lane_fill[1] &&
		       est.fpr == est.lane_fpr[0] && est.fpr,
	       "the estimate has the share of positions set, of the lane that is");
}

int main(void)
{
	int i;

	tap_plan(2 * EDGES + 7);
	for (i = 0; i < EDGES; i++) {
		lanes_at(&edges[i]);
		locked_at(&edges[i]);
	}
	other_kinds();
	shapes();
	samples();
	return tap_end();
}
