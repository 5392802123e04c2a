/* SPDX-License-Identifier: GPL-2.0 */
/* What the parts of the module know of each other. */
#ifndef TICKMARK_TIMER_INTERNAL_H
#define TICKMARK_TIMER_INTERNAL_H

#include <linux/atomic.h>
#include <linux/seq_file.h>
#include "tickmark_timer.h"

/* No longer time is converted, 36 years in ns: what comes of it still fits, up to 8 GHz. */
#define LONGEST (S64_MAX >> 3)

/* What fires. Times are in its unit; what runs with interrupts off runs on the processor of the timers. */
struct backend {
	const char *name;
	const char *unit;
	int (*start)(int cpu);
	void (*stop)(void);
	u64 (*now)(void);
	/* Fires at a time, or as soon as it can; returns the time that it will, which may be earlier. Interrupts off. */
	u64 (*program)(u64 when);
	u64 (*from_ns)(u64 ns);
	u64 (*from_cycles)(u64 cycles);
	/* What it has to say of itself, a line each. */
	void (*describe)(struct seq_file *to);
};

extern const struct backend tickmark_hrtimer;
extern const struct backend tickmark_apic;

/* A timer that has fired. */
struct fired {
	u64 expected, actual;
	u32 id;
};

struct statistics {
	u64 count, early, lost;
	s64 sum, min, max;
	u64 absolute;
};

enum method { METHOD_NONE, METHOD_LAST, METHOD_QUANTILE, METHODS };

extern const char * const tickmark_methods[METHODS];

/* How much earlier than it expires a timer is programmed, and what that is learned from. */
struct correction {
	enum method how;
	bool hold;	/* one whose interrupt came early waits for its time */
	u64 advance;
	u64 most;	/* never more than this */
};

void tickmark_correction_set(struct correction *it, enum method how, u64 usual);
void tickmark_correction_learn(struct correction *it, s64 late);

/* core.c */
int tickmark_core_start(void);
void tickmark_core_stop(void);
/* Starts a back end, and fires some timers by it. */
int tickmark_core_use(const struct backend *one, unsigned int most_advance_ns);
void tickmark_core_leave(void);
extern const struct backend *tickmark_backend;
void tickmark_timer_interrupt(void);
void tickmark_timer_statistics(struct statistics *to, struct correction *correction, unsigned int *pending);
void tickmark_timer_forget(void);
unsigned int tickmark_timer_most(void);
/* Takes the oldest out of the trace. Return: whether there was one. */
bool tickmark_timer_trace(struct fired *to);
/* Adds several timers at once, due @offsets from the time that is returned in @begin; the trace begins anew with them. */
int tickmark_timer_add_all(struct tickmark_timer *timers, const u64 *offsets, unsigned int count, u64 *begin);
/* Waits until nothing is left and the last one stands in the trace; who counts down to 0 wakes. Return: 0, or -ERESTARTSYS. */
int tickmark_timer_wait(atomic_t *left);
/* From the interrupt: lets those that wait look again. */
void tickmark_timer_wake(void);

/* device.c */
int tickmark_device_start(void);
void tickmark_device_stop(void);

#endif
