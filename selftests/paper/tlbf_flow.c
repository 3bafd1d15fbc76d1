// SPDX-License-Identifier: GPL-2.0
/*
 * Streams of keys through a time-limited filter.
 */
#include "tlbf.h"

struct epf_tlbf_shape flow_shape(unsigned int k, unsigned int l, bool timed, double keys)
{
	struct epf_tlbf_shape s = {
		.span_ns = SPAN,
		.words_first = epf_tlbf_words((__u64)ceil(keys * k / l)),
		.words_min = (k + 43) / 44,
		.words_max = EPF_TLBF_WORDS_MAX,
		.k = k,
		.l = l,
		.keep = timed ? k : k + l,
		.timed = timed,
	};

	return s;
}

static void *room(void *p, size_t n, size_t size)
{
	p = realloc(p, n * size);
	if (!p) {
		fprintf(stderr, "tlbf: no memory\n");
		exit(1);
	}
	return p;
}

void flow_open(struct flow *f, const struct epf_tlbf_shape *shape, unsigned int samples)
{
	memset(f, 0, sizeof(*f));
	f->seed = 20230609;
	f->every = SPAN / samples;
	f->now = BEGIN;
	if (epf_tlbf_open(&f->o, shape, 0, BEGIN)) {
		fprintf(stderr, "tlbf: no filter of k=%u l=%u\n", shape->k, shape->l);
		exit(1);
	}
}

void flow_close(struct flow *f)
{
	epf_tlbf_close(&f->o);
	free(f->at);
	free(f->seen);
}

double flow_time(const struct flow *f)
{
	return (double)(f->now - BEGIN) / SPAN;
}

/* Number of keys whose k slices are all still held. */
static double held(const struct epf_tlbf *f)
{
	return (double)(f->taken - epf_tlbf_at(f, f->nr - f->shape.k)->since);
}

static void see(struct flow *f)
{
	const struct epf_tlbf *t = &f->o.f;

	if (f->nr_seen == f->seen_max) {
		f->seen_max += f->seen_max + 1024;
		f->seen = room(f->seen, f->seen_max, sizeof(*f->seen));
	}
	f->seen[f->nr_seen++] = (struct sample){
		.time = flow_time(f),
		.slices = t->nr,
		.slice0 = 64 * epf_tlbf_at(t, 0)->words,
		.words = f->o.words,
		.bits_per_key = 64. * (double)f->o.words / held(t),
		.error = epf_tlbf_fpr(t, EPF_TLBF_KEYS, f->now),
	};
}

static void look_for(struct flow *f, __u32 n)
{
	f->lost += !epf_tlbf_query(&f->o.f, epf_word(f->seed, n), f->now);
}

static void look(struct flow *f)
{
	while (f->first < f->keys && f->at[f->first] + SPAN < f->now)
		f->first++;
	if (f->first == f->keys)
		return;
	look_for(f, f->first);
	look_for(f, f->first + (__u32)(epf_word(~f->seed, f->keys) % (f->keys - f->first)));
}

/* What the worker does. */
static void care(struct flow *f)
{
	__u32 head = f->o.f.head;

	if (epf_tlbf_due(&f->o.f, f->now))
		see(f);
	epf_tlbf_care(&f->o, f->now);
	f->shifted |= f->o.f.head != head;
}

void flow_put(struct flow *f)
{
	if (f->keys == f->keys_max) {
		f->keys_max += f->keys_max + 4096;
		f->at = room(f->at, f->keys_max, sizeof(*f->at));
	}
	care(f);
	if (!f->blind)
		look(f);
	f->at[f->keys] = f->now;
	epf_tlbf_insert(&f->o.f, epf_word(f->seed, f->keys++), f->now);
	if (f->shifted || f->now >= f->next) {
		see(f);
		f->next = f->now + f->every;
		f->shifted = false;
	}
	care(f);
}

void flow_drive(struct flow *f, double spans, double rate)
{
	__u64 end = f->now + (__u64)(spans * SPAN);
	__u64 step = (__u64)(SPAN / rate);

	for (; f->now < end; f->now += step)
		flow_put(f);
}

void flow_idle(struct flow *f, double spans)
{
	__u64 end = f->now + (__u64)(spans * SPAN);

	for (; f->now < end; f->now += SPAN / 16) {
		care(f);
		see(f);
	}
	f->now = end;
}

__u64 flow_false(struct flow *f, __u64 queries)
{
	__u64 found = 0, i;

	for (i = 0; i < queries; i++) {
		__u64 key = epf_word(~f->seed, (__u32)f->asked++);

		found += epf_tlbf_query(&f->o.f, key, f->now);
	}
	return found;
}

struct range flow_range(const struct flow *f, double from, double to,
			double (*of)(const struct sample *s))
{
	struct range r = { INFINITY, -INFINITY };
	__u32 i;

	for (i = 0; i < f->nr_seen; i++) {
		if (f->seen[i].time < from || f->seen[i].time > to)
			continue;
		r.low = fmin(r.low, of(&f->seen[i]));
		r.high = fmax(r.high, of(&f->seen[i]));
	}
	return r;
}

double flow_settled(const struct flow *f, struct range r, double slack,
		    double (*of)(const struct sample *s))
{
	__u32 i = f->nr_seen;

	while (i && of(&f->seen[i - 1]) >= r.low * (1 - slack) &&
	       of(&f->seen[i - 1]) <= r.high * (1 + slack))
		i--;
	return i < f->nr_seen ? f->seen[i].time : INFINITY;
}

double sample_slices(const struct sample *s)
{
	return s->slices;
}

double sample_slice0(const struct sample *s)
{
	return (double)s->slice0;
}

double sample_words(const struct sample *s)
{
	return (double)s->words;
}

double sample_bits(const struct sample *s)
{
	return s->bits_per_key;
}

double sample_error(const struct sample *s)
{
	return s->error;
}
