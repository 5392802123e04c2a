// SPDX-License-Identifier: GPL-2.0
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/prandom.h>
#include <linux/smp.h>
#include "load.h"

/* In ns: intervals are even from 0 to this, 200 us on average; handlers take up to the other. */
#define LONGEST_INTERVAL 400000
#define LONGEST_HANDLER 20000

static struct hrtimer timer;
static struct rnd_state state;
static bool on;

/* Even from 0 to below @most. */
static u32 below(u32 most)
{
	return ((u64)prandom_u32_state(&state) * most) >> 32;
}

static enum hrtimer_restart interrupt(struct hrtimer *it)
{
	u64 until = ktime_get_ns() + below(LONGEST_HANDLER);

	while (ktime_get_ns() < until)
		;
	hrtimer_forward_now(it, ns_to_ktime(1 + below(LONGEST_INTERVAL)));
	return HRTIMER_RESTART;
}

static void begin(void *unused)
{
	hrtimer_start(&timer, ns_to_ktime(1 + below(LONGEST_INTERVAL)), HRTIMER_MODE_REL_PINNED_HARD);
}

int tickmark_load(u32 seed, unsigned int cpu)
{
	if (on)
		hrtimer_cancel(&timer);
	on = false;
	if (!seed)
		return 0;
	prandom_seed_state(&state, seed);
	hrtimer_init(&timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	timer.function = interrupt;
	on = !smp_call_function_single(cpu, begin, NULL, 1);
	return on ? 0 : -ENXIO;
}
