/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions exported to our other modules, in a symbol namespace of their own: filters
 * by name, and packets in socket buffers.
 */
#ifndef EPF_SKB_H
#define EPF_SKB_H

#include <linux/epochfilter_xt.h>

struct epf_filter;
struct sk_buff;

struct epf_filter *epf_skb_filter(const char *name);
void epf_skb_put(struct epf_filter *f);
u32 epf_skb_filter_id(const struct epf_filter *f);
int epf_skb_check(struct epf_filter *f, const struct xt_epf_rule *r);
int epf_skb_look(struct epf_filter *f, const struct sk_buff *skb, const struct xt_epf_rule *r);

#endif /* EPF_SKB_H */
