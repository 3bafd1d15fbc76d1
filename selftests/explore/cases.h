/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which scenes are explored, and what is taken out to see them fail.
 */
#ifndef EPF_EXPLORE_CASES_H
#define EPF_EXPLORE_CASES_H

#include "scene.h"

/**
 * struct case_scene - a scene with several beginnings
 * @id: for people and options
 * @scene: its @parts and @before are not used
 * @parts: values of L, added up
 * @before: values of enum scene_before, as bits
 * @preemptions: of a thread that could go on, at most; SEARCH_ALL
 * @deep: the same with --deep
 */
struct case_scene {
	const char *id;
	struct mc_scene scene;
	__u8 parts, before;
	int preemptions, deep;
};

/* What taking something out leads to. */
enum case_fate {
	FATE_NONE,  /* no law breaks: shown not to be needed */
	FATE_WEAK,  /* a law breaks in MC_WEAK, none in MC_SC */
	FATE_SC,    /* a law breaks in MC_SC */
};

/**
 * struct case_variant - the core, or its owner, with something taken out
 * @id: for options
 * @what: for people
 * @out: MC_NO_* and so on
 * @in: id of a scene
 * @fate: what is to come of it there
 */
struct case_variant {
	const char *id, *what;
	__u64 out;
	const char *in;
	enum case_fate fate;
};

extern const struct case_scene case_scenes[];
extern const int case_nr_scenes;
extern const struct case_variant case_variants[];
extern const int case_nr_variants;

#endif /* EPF_EXPLORE_CASES_H */
