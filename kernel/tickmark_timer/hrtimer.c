// SPDX-License-Identifier: GPL-2.0
/* The kernel's own timers as what fires: ns of CLOCK_MONOTONIC. */
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/smp.h>
#ifdef CONFIG_X86_TSC
#include <asm/tsc.h>
#endif
#include "internal.h"

static struct hrtimer timer;

static enum hrtimer_restart fire(struct hrtimer *unused)
{
	tickmark_timer_interrupt();
	/* Where something is next it was started again. */
	return HRTIMER_NORESTART;
}

static int start(int cpu)
{
	hrtimer_init(&timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_PINNED_HARD);
	timer.function = fire;
	return 0;
}

static void stop(void)
{
	hrtimer_cancel(&timer);
}

static u64 now(void)
{
	return ktime_get_ns();
}

static u64 program(u64 when)
{
	/* Later than what the kernel takes for now: else it would call again without leaving the interrupt. */
	when = max(when, now() + 1);
	hrtimer_start(&timer, ns_to_ktime(when), HRTIMER_MODE_ABS_PINNED_HARD);
	return when;
}

static u64 from_ns(u64 ns)
{
	return ns;
}

static u64 from_cycles(u64 cycles)
{
#ifdef CONFIG_X86_TSC
	return tsc_khz && !check_tsc_unstable() ? mul_u64_u32_div(min_t(u64, cycles, LONGEST), 1000000, tsc_khz) : 0;
#else
	return 0;
#endif
}

static void describe(struct seq_file *to)
{
}

const struct backend tickmark_hrtimer = {
	.name = "hrtimer",
	.unit = "ns",
	.start = start,
	.stop = stop,
	.now = now,
	.program = program,
	.from_ns = from_ns,
	.from_cycles = from_cycles,
	.describe = describe,
};
