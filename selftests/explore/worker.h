/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The worker's estimate of how full each lane is, made while epochs end:
 * epf_table_estimate() of kmod/worker.c and epf_table_end_epoch() of kmod/rotate.c.
 * Nobody reads what is stored without the lock, so it is not modelled as memory but kept
 * with the properties:
 *
 *   estimate   While the lock is held, the number stored for a lane is at most the
 *              number of bits that the epoch now in it has set. Right after an estimate
 *              was stored it is at least the number that the epoch had when the estimate
 *              began.
 */
#ifndef EPF_EXPLORE_WORKER_H
#define EPF_EXPLORE_WORKER_H

#include "scene.h"

void worker_estimate(void);
void worker_rotate(void);
void worker_note(const struct mc_op *op);

#endif /* EPF_EXPLORE_WORKER_H */
