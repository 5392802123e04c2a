// SPDX-License-Identifier: GPL-2.0
/* A module that takes time of a CPU: by a timer each millisecond whose function lasts 20 us, or by forgetting kernel addresses on all CPUs. */
#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/smp.h>
#include <linux/vmalloc.h>

static int cpu;
static int flushes;
static ulong count;
module_param(cpu, int, 0444);
module_param(flushes, int, 0444);
module_param(count, ulong, 0444);

static struct hrtimer timer;
static struct task_struct *thread;

static enum hrtimer_restart tmculprit_expire(struct hrtimer *own)
{
	udelay(20);
	count++;
	hrtimer_forward_now(own, ms_to_ktime(1));
	return HRTIMER_RESTART;
}

static void begin(void *unused)
{
	hrtimer_start(&timer, ms_to_ktime(1), HRTIMER_MODE_REL_PINNED);
}

static int flush(void *unused)
{
	while (!kthread_should_stop()) {
		char *page = vmalloc(PAGE_SIZE);

		if (page) {
			*page = 1;
			vfree(page);
			vm_unmap_aliases();
			count++;
		}
		usleep_range(2000, 2100);
	}
	return 0;
}

static int __init load(void)
{
	int other = cpumask_any_but(cpu_online_mask, cpu);

	hrtimer_init(&timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED);
	timer.function = tmculprit_expire;
	if (!flushes)
		return smp_call_function_single(cpu, begin, NULL, 1);
	thread = kthread_create(flush, NULL, "tmflush");
	if (IS_ERR(thread))
		return PTR_ERR(thread);
	kthread_bind(thread, other);
	wake_up_process(thread);
	return 0;
}

static void __exit unload(void)
{
	if (thread)
		kthread_stop(thread);
	hrtimer_cancel(&timer);
}

module_init(load);
module_exit(unload);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("A culprit that an instrument has to find");
