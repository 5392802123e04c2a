/* SPDX-License-Identifier: GPL-2.0 */
/* Interrupts at random: what timers are disturbed by. */
#ifndef TICKMARK_TIMER_LOAD_H
#define TICKMARK_TIMER_LOAD_H

#include <linux/types.h>

/*
 * On a processor, from a seed, which gives the same intervals and lengths each time; 0 stops it.
 * Return: 0, or -ENXIO where that processor is not there.
 */
int tickmark_load(u32 seed, unsigned int cpu);

#endif
