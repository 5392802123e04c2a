// SPDX-License-Identifier: GPL-2.0
/*
 * What is learned from how late interrupts come.
 *
 * last:     the next timer is programmed earlier by as much as this interrupt was late (Oberle's APIC timer module).
 * quantile: the advance goes up where an interrupt was later than it, by half of that or a step, but to no more than
 *           that, and down a 99th of a step where it was not: it stays a little below what few are later than.
 */
#include <linux/minmax.h>
#include "internal.h"

const char * const tickmark_methods[METHODS] = { "none", "last", "quantile" };

/* Of the steps of a quantile, in a hundred those that go down. */
#define DOWN 99
#define STEPS 16

void tickmark_correction_set(struct correction *it, enum method how, u64 usual)
{
	it->how = how;
	/* The document's begins with nothing: its bad start. */
	it->advance = how == METHOD_QUANTILE ? min(usual, it->most) : 0;
}

void tickmark_correction_learn(struct correction *it, s64 late)
{
	u64 step = it->most / STEPS;
	u64 was = late > 0 ? late : 0;

	switch (it->how) {
	case METHOD_NONE:
	case METHODS:
		break;
	case METHOD_LAST:
		it->advance = min(was, it->most);
		break;
	case METHOD_QUANTILE:
		if (was > it->advance)
			/* No further than it was late, and never beyond what is allowed. */
			it->advance = min3(it->advance + max(step, (was - it->advance) / 2), was, it->most);
		else
			it->advance -= min(it->advance, max(step / DOWN, 1ULL));
		break;
	}
}
