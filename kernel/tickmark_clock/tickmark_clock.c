// SPDX-License-Identifier: GPL-2.0
/*
 * tickmark_clock: a clock source that reads the TSC, and takes longer for it by as much as it is told.
 *
 * It gives the TSC after the delay: the true time, however long that is, so that changing the delay neither moves
 * the time nor turns it back. It is no clock of the vDSO: each read of a program is a system call, also with a delay of
 * nothing, which is what others are compared with. It is selected by hand (current_clocksource), never by the kernel.
 */
#include <linux/clocksource.h>
#include <linux/jiffies.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/workqueue.h>
#include <asm/msr.h>
#include <asm/processor.h>
#include <asm/timex.h>
#include <asm/tsc.h>

/* What is never exceeded: with 100 us a tick of 1000 Hz would read clocks for half of its time. */
#define CEILING_NS 100000u
/* Passes that are timed to learn what one takes. */
#define PASSES 1000
/* How often it is looked whether the kernel still trusts the TSC. */
#define LOOK_MS 500

static unsigned int extra_ns;
static unsigned int extra_turns;
static unsigned int most_ns = 10000;
static unsigned int deadman_ms = 5000;
/* What read() looks at: the delay in cycles. */
static u64 extra_cycles __read_mostly;
/* Half of a pass of the loop, measured: without it a delay would be too short by as much. */
static u64 half_pass;

struct tally {
	u64 reads;
	u64 spent;
};

static DEFINE_PER_CPU(struct tally, tally);

static u64 notrace tickmark_read(struct clocksource *cs)
{
	u64 begin = rdtsc_ordered(), now;
	u64 want = READ_ONCE(extra_cycles);
	unsigned long turns = READ_ONCE(extra_turns);

	if (turns)
		asm volatile("1: dec %0\n\tjnz 1b" : "+r" (turns) : : "cc");
	/* Once also without a delay. No cpu_relax(): PAUSE takes long on some processors, and may leave a guest. */
	do
		now = rdtsc_ordered();
	while (now - begin < want);
	/* An NMI between the two makes them miss a read: they are counts, and no account. */
	this_cpu_inc(tally.reads);
	this_cpu_add(tally.spent, now - begin);
	return now;
}

static struct clocksource tickmark_clock = {
	.name = "tickmark",
	/* A higher one would be selected at once, and be the watchdog of the TSC. */
	.rating = 1,
	.read = tickmark_read,
	.mask = CLOCKSOURCE_MASK(64),
	.flags = CLOCK_SOURCE_IS_CONTINUOUS,
	.vdso_clock_mode = VDSO_CLOCKMODE_NONE,
	/* It cannot be unloaded while it is the current one. */
	.owner = THIS_MODULE,
};

/* Whoever set a delay is gone, or has forgotten it. */
static void forget(struct work_struct *work)
{
	/* Not while somebody sets one. */
	kernel_param_lock(THIS_MODULE);
	WRITE_ONCE(extra_cycles, 0);
	WRITE_ONCE(extra_turns, 0);
	extra_ns = 0;
	kernel_param_unlock(THIS_MODULE);
	pr_info("tickmark_clock: no delay was set for %u ms: reads take no longer\n", deadman_ms);
}

static DECLARE_DELAYED_WORK(deadman, forget);

static void look(struct work_struct *work);
static DECLARE_DELAYED_WORK(looks, look);
/* Changes with the lock of the parameters held. */
static bool given_up;

/* A TSC that is given up after loading is none to read. */
static void look(struct work_struct *work)
{
	if (!check_tsc_unstable()) {
		queue_delayed_work(system_wq, &looks, msecs_to_jiffies(LOOK_MS));
		return;
	}
	pr_warn("tickmark_clock: the kernel has given the TSC up, and this clock source goes with it\n");
	kernel_param_lock(THIS_MODULE);
	given_up = true;
	WRITE_ONCE(extra_cycles, 0);
	WRITE_ONCE(extra_turns, 0);
	extra_ns = 0;
	kernel_param_unlock(THIS_MODULE);
	/* Where it is the current one the kernel selects another first. */
	if (clocksource_unregister(&tickmark_clock))
		pr_warn("tickmark_clock: there is no other clock source to select\n");
}

/* Whether both delays together stay below what is never exceeded: a turn takes a cycle at least. */
static bool fits(unsigned int ns, unsigned int turns)
{
	u64 most = div_u64((u64)min(most_ns, CEILING_NS) * tsc_khz, 1000000);

	return div_u64((u64)ns * tsc_khz, 1000000) + turns <= most;
}
/* The work may not be queued before the module is there, nor after it has gone. */
static bool alive;

static void is_set(void)
{
	if (alive && deadman_ms)
		mod_delayed_work(system_wq, &deadman, msecs_to_jiffies(deadman_ms));
}

static int set_ns(const char *text, const struct kernel_param *kp)
{
	unsigned int ns;
	int err = kstrtouint(text, 0, &ns);

	if (err)
		return err;
	if (given_up)
		return -ENODEV;
	if (ns > most_ns || ns > CEILING_NS || !fits(ns, READ_ONCE(extra_turns)))
		return -EINVAL;
	extra_ns = ns;
	WRITE_ONCE(extra_cycles, ns ? div_u64((u64)ns * tsc_khz, 1000000) + half_pass : 0);
	is_set();
	return 0;
}

static int set_turns(const char *text, const struct kernel_param *kp)
{
	unsigned int turns;
	int err = kstrtouint(text, 0, &turns);

	if (err)
		return err;
	if (given_up)
		return -ENODEV;
	if (!fits(extra_ns, turns))
		return -EINVAL;
	WRITE_ONCE(extra_turns, turns);
	is_set();
	return 0;
}

static int get_tally(char *buffer, const struct kernel_param *kp)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += kp->arg ? per_cpu(tally, cpu).spent : per_cpu(tally, cpu).reads;
	return sprintf(buffer, "%llu\n", sum);
}

static const struct kernel_param_ops ns_ops = { .set = set_ns, .get = param_get_uint };
static const struct kernel_param_ops turns_ops = { .set = set_turns, .get = param_get_uint };
static const struct kernel_param_ops tally_ops = { .get = get_tally };

module_param(most_ns, uint, 0444);
MODULE_PARM_DESC(most_ns, "the most that extra_ns may be, 10000 by default; stands before it");
module_param(deadman_ms, uint, 0444);
MODULE_PARM_DESC(deadman_ms, "delays end that are not set anew for so long, 5000 by default; 0: never");
module_param_cb(extra_ns, &ns_ops, &extra_ns, 0644);
MODULE_PARM_DESC(extra_ns, "ns by which a read takes longer, by the TSC");
module_param_cb(extra_turns, &turns_ops, &extra_turns, 0644);
MODULE_PARM_DESC(extra_turns, "turns of a loop of two instructions by which it takes longer: exact where instructions are counted");
module_param_cb(reads, &tally_ops, NULL, 0444);
MODULE_PARM_DESC(reads, "reads so far");
module_param_cb(spent_cycles, &tally_ops, (void *)1, 0444);
MODULE_PARM_DESC(spent_cycles, "cycles of the TSC that reads took so far");

static int __init tickmark_init(void)
{
	u64 least = U64_MAX;
	int pass, err;

	if (!tsc_khz || check_tsc_unstable())
		return -ENODEV;
	for (pass = 0; pass < PASSES; pass++) {
		u64 begin = rdtsc_ordered();

		least = min(least, rdtsc_ordered() - begin);
	}
	half_pass = least / 2;
	/* Set when it was loaded, before the pass was known. */
	if (extra_ns)
		WRITE_ONCE(extra_cycles, extra_cycles + half_pass);
	err = clocksource_register_khz(&tickmark_clock, tsc_khz);
	if (err)
		return err;
	alive = true;
	if (extra_ns || extra_turns)
		is_set();
	queue_delayed_work(system_wq, &looks, msecs_to_jiffies(LOOK_MS));
	return 0;
}

static void __exit tickmark_exit(void)
{
	/* Whoever sets a parameter holds this, and has set it when it is ours. */
	kernel_param_lock(THIS_MODULE);
	alive = false;
	kernel_param_unlock(THIS_MODULE);
	cancel_delayed_work_sync(&looks);
	cancel_delayed_work_sync(&deadman);
	clocksource_unregister(&tickmark_clock);
	/* Whoever was preempted in read() has to leave it before its text goes. */
#ifdef CONFIG_TASKS_RCU
	synchronize_rcu_tasks();
#endif
	synchronize_rcu();
}

module_init(tickmark_init);
module_exit(tickmark_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("A clock source whose reads take longer by as much as it is told");
