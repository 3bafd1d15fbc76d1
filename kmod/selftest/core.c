// SPDX-License-Identifier: GPL-2.0
/*
 * Self-test at load time (selftest=1): the known answers of the reference model, and
 * properties of a table with the module's own concurrency control: per-CPU counts,
 * rotation with its grace periods, the scan, the estimate.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "filter.h"
#include "kind.h"

#include <linux/init.h>
#include <linux/printk.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#undef EPF_FN_BIG /* vectors and the code that reads them are freed after loading */
#define EPF_FN_BIG static __init
#define EPF_KAT_TABLE static __initconst const
#include <epf/kat.h>

static const u64 law_key[2] __initconst = { 1, 2 };

static int __init test_known_answers(void)
{
	struct epf_kat *kat = kzalloc(sizeof(*kat), GFP_KERNEL);
	struct epf_line *lines = vzalloc(EPF_KAT_LINES * sizeof(*lines));
	int section, err = -ENOMEM;

	if (kat && lines) {
		section = epf_kat_run(kat, lines);
		err = section < 0 && kat->total == EPF_KAT_TOTAL ? 0 : -EINVAL;
		if (section >= 0)
			pr_err("selftest: known answers: %s: result %u differs from the reference model\n",
			       epf_kat_name(section), kat->fold[section].bad);
		pr_info("selftest: digest %016llx\n", kat->total);
	}
	vfree(lines);
	kfree(kat);
	return err;
}

static struct epf_table *__init law_table(u64 lines, u64 window, u64 limit_ppt, u8 refresh)
{
	const struct epf_params params = {
		.lines_per_key = 2,
		.bits_per_key = 10,
		.nr_lines = lines,
		.window_inserts = window,
		.budget_ppt = 1,
		.limit_ppt = limit_ppt,
		.refresh = refresh,
	};

	return epf_table_new(&params, NULL, law_key);
}

enum law_op { LAW_TEST, LAW_TEST_AND_INSERT };

static int __init law_op(struct epf_table *t, u64 digest, enum law_op op)
{
	struct epf_probe p;
	int verdict;

	rcu_read_lock();
	epf_probe(&t->lanes, digest, &p);
	verdict = op == LAW_TEST ? epf_table_test(t, &p) :
				   epf_table_test_and_insert(t, &p, NULL, 0);
	rcu_read_unlock();
	epf_table_settle(t);
	return verdict;
}

/* At every phase of rotation the last W keys are present, and keys that are older than
 * 8 epochs plus what the CPUs keep back are absent, except for false positives.
 */
static int __init law_window(struct epf_table *t)
{
	const u64 window = t->params.window_inserts;
	const u64 beyond = 8 * t->window.epoch_inserts + epf_pace_kept(&t->pace, ~0ULL);
	u32 ghosts = 0;
	u64 i;

	for (i = 0; i < 4 * window; i++) {
		u64 first = i + 1 < window ? 0 : i + 1 - window;

		if (law_op(t, epf_word(i, 1), LAW_TEST_AND_INSERT) > 0)
			ghosts++;
		if (law_op(t, epf_word(i, 1), LAW_TEST) <= 0 ||
		    law_op(t, epf_word(first, 1), LAW_TEST) <= 0 ||
		    law_op(t, epf_word((first + i) / 2, 1), LAW_TEST) <= 0) {
			pr_err("selftest: a key inside the window is absent after insertion %llu\n",
			       i);
			return -EINVAL;
		}
		if (i >= beyond)
			ghosts += law_op(t, epf_word(i - beyond, 1), LAW_TEST) > 0;
	}
	if (ghosts > window / 50) {
		pr_err("selftest: %u keys outside the window are present\n", ghosts);
		return -EINVAL;
	}
	return 0;
}

static int __init test_window(u64 lines, u64 window, u8 refresh)
{
	struct epf_table *t = law_table(lines, window, EPF_RATE_ONE, refresh);
	int err;

	if (IS_ERR(t))
		return PTR_ERR(t);
	err = law_window(t);
	if (!err && t->rotations < 21) {
		pr_err("selftest: only %llu rotations in 4 windows, expected at least 21\n",
		       t->rotations);
		err = -EINVAL;
	}
	epf_table_put(t);
	return err;
}

/* An overfilled filter fails open, and recovers when its keys have left the window. */
static int __init law_saturation(struct epf_table *t)
{
	u64 i;
	int err;

	for (i = 0; i < 20000; i++)
		law_op(t, epf_word(i, 1), LAW_TEST_AND_INSERT);
	epf_table_estimate(t);
	if (law_op(t, epf_word(0, 1), LAW_TEST) != -ENOSPC) {
		pr_err("selftest: a saturated filter does not fail open\n");
		return -EINVAL;
	}
	err = t->ops->rotate(t, EPF_EPOCHS);
	if (err)
		return err;
	if (law_op(t, epf_word(0, 1), LAW_TEST) != EPF_ABSENT || epf_table_saturated(t)) {
		pr_err("selftest: a saturated filter does not recover after eight rotations\n");
		return -EINVAL;
	}
	return 0;
}

static int __init test_saturation(void)
{
	struct epf_table *t = law_table(EPF_LINES_MIN, EPF_INSERTS_MAX, EPF_RATE_ONE / 1000,
					EPF_REFRESH);
	int err;

	if (IS_ERR(t))
		return PTR_ERR(t);
	err = law_saturation(t);
	epf_table_put(t);
	return err;
}

/**
 * epf_selftest() - test the module before it is used
 *
 * Context: module load; takes some tenths of a second.
 * Return: 0; -EINVAL: a test failed, and the log says which.
 */
int __init epf_selftest(void)
{
	int err = test_known_answers();

	if (!err)
		err = test_window(1024, 700, EPF_REFRESH);
	if (!err)
		err = test_window(16384, 7000, EPF_FIRST_SEEN);
	if (!err)
		err = test_saturation();
	pr_info("selftest: %s\n", err ? "FAILED" : "pass");
	return err;
}
