#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""broken.py KMOD OUT: writes kmod/skb.c, skb_key.c and xt.c with all edits of broken.sh into
OUT. Which of them counts says a parameter of the module.
"""

import sys

PARAM = "static int broken;\nmodule_param(broken, int, 0444);\n\n"

EDITS = {
    "xt.c": [
        ("static LIST_HEAD(uses);",
         PARAM + "static DEFINE_PER_CPU(int, slot);\n\nstatic LIST_HEAD(uses);"),
        # 1: a rule has no reference of its own
        ("	use = add(net, f, name);\n",
         "	use = add(net, f, name);\n"
         "	if (use && broken == 1)\n		epf_skb_put(f);\n"),
        ("	epf_skb_put(use->filter);\n	free_percpu",
         "	if (broken != 1)\n		epf_skb_put(use->filter);\n	free_percpu"),
        # 2: what the filter cannot tell about counts as new
        ("	return epf_rule_holds(&info->rule, ret);",
         "	return epf_rule_holds(&info->rule, broken == 2 && ret < 0 ? 0 : ret);"),
        # 3: the filter lies in a slot of the CPU while no packet has it
        ("	int ret = epf_skb_look(info->use->filter, skb, &info->rule);\n",
         "	int ret = -ENODEV;\n\n"
         "	if (broken != 3 || !this_cpu_xchg(slot, 1)) {\n"
         "		ret = epf_skb_look(info->use->filter, skb, &info->rule);\n"
         "		this_cpu_write(slot, 0);\n	}\n"),
        # 4: a filter that is gone has no name any more
        ("return use ?: ERR_CAST(f);",
         "return use && broken != 4 ? use : ERR_CAST(f);"),
        # 5: nobody looks at what the rule says
        ("	err = epf_skb_check(info->use->filter, &info->rule);\n",
         "	err = broken == 5 ? 0 : epf_skb_check(info->use->filter, &info->rule);\n"),
    ],
    "skb.c": [
        ("#include <linux/capability.h>\n",
         "#include <linux/capability.h>\n#include <linux/module.h>\n\n"
         "extern int broken;\n" + PARAM.replace("static ", "")),
        # 2: root of any namespace gets a filter
        ("	if (!capable(", "	if (broken != 2 && !capable("),
        # 3: recent is an epoch less
        ("	return epf_rule_recent(r, ret,",
         "	return epf_rule_recent(r, ret > 0 ? ret + (broken == 3) : ret,"),
        # 4: learn-new inserts everything; 5: not what nothing is known of
        ("	if (ret <= 0 && r->learn)",
         "	if ((broken == 5 ? !ret : ret <= 0 || broken == 4) && r->learn)"),
    ],
    "skb_key.c": [
        # 1: what lies in pages is not read
        ("#include <linux/skbuff.h>\n", "#include <linux/skbuff.h>\n\nextern int broken;\n"),
        ("	return skb_header_pointer(",
         "	if (broken == 1 && pkt->at + off + n > skb_headlen(pkt->skb))\n"
         "		return NULL;\n	return skb_header_pointer("),
    ],
}


def main():
    kmod, out = sys.argv[1:]
    for name, edits in EDITS.items():
        with open(f"{kmod}/{name}", encoding="ascii") as file:
            text = file.read()
        for old, new in edits:
            if text.count(old) != 1:
                sys.exit(f"broken.py: {name} has {text.count(old)} times: {old}")
            text = text.replace(old, new)
        with open(f"{out}/{name}", "w", encoding="ascii") as file:
            file.write(text)


main()
