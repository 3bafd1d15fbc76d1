/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The scenes that are explored, and the variants (mutants) that must fail in them.
 */
#ifndef EPF_EXPLORE_CASES_H
#define EPF_EXPLORE_CASES_H

#include "scene.h"

/**
 * struct case_scene - a scene with several beginnings
 * @id: name, for options and output
 * @scene: the scene; its @parts and @before are not used
 * @parts: values of L, added up
 * @thorough: those of them that are explored with EPF_THOROUGH only
 * @before: values of enum scene_before, as bits
 * @preemptions: maximum number of preemptions of a thread that could go on;
 *	SEARCH_ALL: any number
 * @deep: the same with --deep
 */
struct case_scene {
	const char *id;
	struct mc_scene scene;
	__u8 parts, before;
	int preemptions, deep;
	__u8 thorough;
};

/* Effect of a variant. */
enum case_fate {
	FATE_NONE, /* no property breaks: not needed */
	FATE_WEAK, /* a property breaks in MC_WEAK, none in MC_SC */
	FATE_SC,   /* a property breaks in MC_SC */
};

/**
 * struct case_variant - the core, or its owner, with something disabled
 * @id: name, for options
 * @what: description
 * @out: MC_NO_* and so on
 * @in: id of a scene
 * @fate: the expected effect in that scene
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
