/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The search: every execution of a scene, by depth first.
 *
 * Executions that meet in the same state are followed once: states are told
 * apart by 64-bit fingerprints of memory, views, logs and what the laws
 * remember. Executions are counted all the same, by paths.
 */
#ifndef EPF_EXPLORE_SEARCH_H
#define EPF_EXPLORE_SEARCH_H

#include "machine.h"

#define SEARCH_ALL (-1) /* any number of preemptions */

/**
 * struct search_step - one step of an execution
 * @thread: whose
 * @op: what
 * @answer: value answered
 * @index: of the value answered, -1: no word of the memory
 * @newest: index of the newest value then
 * @epoch: of the scene's tables, after the step
 */
struct search_step {
	int thread;
	struct mc_op op;
	struct mc_answer answer;
	int index, newest;
	__u64 epoch;
};

/**
 * struct search_result - what came of it
 * @executions: of which each is complete; a product of choices, may be huge
 * @states: told apart
 * @broke: the law that was broken, or NULL
 * @step: the execution that broke it
 * @steps: its length
 */
struct search_result {
	double executions;
	__u64 states;
	const char *broke;
	const struct search_step *step;
	int steps;
};

struct search_result search(const struct mc_scene *scene, enum mc_model model,
			    __u64 out, int preemptions);

#endif /* EPF_EXPLORE_SEARCH_H */
