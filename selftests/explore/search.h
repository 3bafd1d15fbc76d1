/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The search: follows every execution of a scene, depth first.
 *
 * Executions that reach the same state are followed once. States are identified by
 * 64-bit fingerprints of memory, views, logs and the state of the properties. The number
 * of executions is counted nevertheless, by paths.
 */
#ifndef EPF_EXPLORE_SEARCH_H
#define EPF_EXPLORE_SEARCH_H

#include "machine.h"

#define SEARCH_ALL (-1) /* any number of preemptions */

/**
 * struct search_step - one step of an execution
 * @thread: the thread that takes it
 * @op: the operation
 * @answer: its result
 * @index: index of the value returned; -1: not an access to memory
 * @newest: index of the newest value at that time
 * @epoch: epoch of the scene's tables, after the step
 */
struct search_step {
	int thread;
	struct mc_op op;
	struct mc_answer answer;
	int index, newest;
	__u64 epoch;
};

/**
 * struct search_result - result of a search
 * @executions: number of complete executions; a product of choices, may be huge
 * @states: number of distinct states
 * @broke: the property that was violated, or NULL
 * @step: the execution that violated it
 * @steps: its length
 */
struct search_result {
	double executions;
	__u64 states;
	const char *broke;
	const struct search_step *step;
	int steps;
};

struct search_result search(const struct mc_scene *scene, enum mc_model model, __u64 out,
			    int preemptions);

#endif /* EPF_EXPLORE_SEARCH_H */
