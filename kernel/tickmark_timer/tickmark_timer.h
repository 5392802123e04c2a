/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One-shot timers that learn from how late the last one was: what other modules may use.
 *
 * All timers wait in one queue, on one processor, in the unit of the back end: cycles of the TSC (apic), or ns of
 * CLOCK_MONOTONIC (hrtimer). Functions are called there, in the interrupt, in the order of what they expire at;
 * those of one time in the order in which they were added.
 */
#ifndef TICKMARK_TIMER_H
#define TICKMARK_TIMER_H

#include <linux/timerqueue.h>
#include <linux/types.h>

struct tickmark_timer {
	struct timerqueue_node node;
	void (*function)(struct tickmark_timer *timer);
	u32 id;		/* in the trace */
};

/* Before anything else; @function may add, change and cancel other timers, and add or change its own again. */
void tickmark_timer_init(struct tickmark_timer *timer, u32 id, void (*function)(struct tickmark_timer *timer));

/* The time, in the unit of the back end. */
u64 tickmark_timer_now(void);

/* From ns or cycles of the TSC to the unit of the back end: lengths, no times. 0 where the TSC cannot be relied on. */
u64 tickmark_timer_ns(u64 ns);
u64 tickmark_timer_cycles(u64 cycles);

/*
 * Adds a timer. What has passed already fires at once; what lies beyond S64_MAX is taken as that.
 * Return: 0; -EBUSY where it waits already; -ENOSPC where as many wait as may.
 */
int tickmark_timer_add(struct tickmark_timer *timer, u64 expires);

/* Changes when a timer expires, and adds one that does not wait. Return: as tickmark_timer_add(), never -EBUSY. */
int tickmark_timer_modify(struct tickmark_timer *timer, u64 expires);

/*
 * Takes a timer out; after it the function neither runs nor will. Not from the timer's own function, and not with
 * interrupts off on another processor than the timers'.
 * Return: whether it was waiting.
 */
bool tickmark_timer_cancel(struct tickmark_timer *timer);

/* Whether it waits. */
bool tickmark_timer_pending(const struct tickmark_timer *timer);

#endif
