// SPDX-License-Identifier: GPL-2.0
/*
 * Scenarios by number, through what the module offers others: a number and an output function are written to the
 * parameter `run`, as in
 *
 *	echo 2 1 > /sys/module/tickmark_timer_test/parameters/run
 *
 * Scenarios: 1 simple, 2 many, 3 too many, 4 add, change and cancel from several threads for `seconds`.
 * Outputs: 0 nothing, 1 a sentence for each timer, 2 columns for a plot: scenario, number, expected, called, error.
 */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/prandom.h>
#include <linux/sched.h>
#include "load.h"
#include "tickmark_timer.h"

#define TIMERS 30
#define THREADS 4
#define OWN 16
#define SAYS "tickmark_timer_test: "

static unsigned int seconds = 1;
module_param(seconds, uint, 0644);
MODULE_PARM_DESC(seconds, "how long scenario 4 goes on: 1 to 3600");

struct test_timer {
	struct tickmark_timer timer;
	u64 expected, called;
};

static struct test_timer timers[TIMERS];
static DEFINE_MUTEX(one);

static void note(struct tickmark_timer *timer)
{
	struct test_timer *own = container_of(timer, struct test_timer, timer);

	own->called = tickmark_timer_now();
}

/* As the document's: a timer with a number, due so many cycles after a time. */
static int test_create_and_add_timer(int id, u64 from, u64 expires, void (*function)(struct tickmark_timer *timer))
{
	struct test_timer *own = &timers[id];

	own->expected = from + tickmark_timer_cycles(expires);
	own->called = 0;
	tickmark_timer_init(&own->timer, id, function);
	return tickmark_timer_add(&own->timer, own->expected);
}

static void say(int scenario, int output)
{
	int id;

	for (id = 0; id < TIMERS; id++) {
		struct test_timer *own = &timers[id];
		s64 error = own->called - own->expected;

		if (!own->called)
			continue;
		if (output == 1)
			pr_info(SAYS "timer %d was called %lld %s\n", id, error < 0 ? -error : error,
				error < 0 ? "early" : "late");
		else if (output == 2)
			pr_info(SAYS "%d %d %llu %llu %lld\n", scenario, id, own->expected, own->called, error);
	}
}

/* From a time a little ahead: what is due first would have passed else before all are added. */
static int row(u64 first, u64 step, int count)
{
	u64 from = tickmark_timer_now() + tickmark_timer_ns(1000000);
	int id, err = 0, left = 1000;

	for (id = 0; id < TIMERS; id++) {
		timers[id].called = 0;
		/* Also those that are never added are asked about below. */
		tickmark_timer_init(&timers[id].timer, id, note);
	}
	for (id = 1; id < count && !err; id++)
		err = test_create_and_add_timer(id, from, first + id * step, note);
	/* The last is due within two milliseconds. */
	while (!err && !READ_ONCE(timers[count - 1].called) && left--)
		usleep_range(1000, 2000);
	for (id = 1; id < count; id++)
		tickmark_timer_cancel(&timers[id].timer);
	return err ?: left < 0 ? -ETIME : 0;
}

/* A thread's own timers, and how often they were added and taken out again. */
struct stress {
	struct tickmark_timer timers[OWN];
	struct task_struct *task;
	struct rnd_state random;
	u64 added, cancelled, failed;
};

static atomic64_t stress_fired;
static struct stress stresses[THREADS];

static void count(struct tickmark_timer *timer)
{
	atomic64_inc(&stress_fired);
}

static int stress(void *data)
{
	struct stress *own = data;
	int i;

	while (!kthread_should_stop()) {
		u32 number = prandom_u32_state(&own->random);
		struct tickmark_timer *timer = &own->timers[number % OWN];
		u64 expires = tickmark_timer_now() + tickmark_timer_ns((number >> 8) % 200000);

		switch ((number >> 4) % 4) {
		case 0:
			own->cancelled += tickmark_timer_cancel(timer);
			break;
		case 1:
			/* What waits is taken out first: so every one that was added fires, or is counted here. */
			own->cancelled += tickmark_timer_cancel(timer);
			if (tickmark_timer_modify(timer, expires))
				own->failed++;
			else
				own->added++;
			break;
		default:
			own->added += !tickmark_timer_add(timer, expires);
		}
		if (!(number & 0xf000))
			usleep_range(100, 300);
		else
			cond_resched();
	}
	for (i = 0; i < OWN; i++)
		own->cancelled += tickmark_timer_cancel(&own->timers[i]);
	return 0;
}

static int stress_all(void)
{
	u64 added = 0, cancelled = 0, failed = 0;
	int thread, i;

	atomic64_set(&stress_fired, 0);
	for (thread = 0; thread < THREADS; thread++) {
		struct stress *own = &stresses[thread];

		memset(own, 0, sizeof(*own));
		prandom_seed_state(&own->random, thread + 1);
		for (i = 0; i < OWN; i++)
			tickmark_timer_init(&own->timers[i], i, count);
		own->task = kthread_run(stress, own, "tickmark/%d", thread);
		if (IS_ERR(own->task))
			own->task = NULL;
	}
	msleep_interruptible(clamp(seconds, 1u, 3600u) * 1000);
	for (thread = 0; thread < THREADS; thread++) {
		struct stress *own = &stresses[thread];

		if (own->task)
			kthread_stop(own->task);
		added += own->added;
		cancelled += own->cancelled;
		failed += own->failed;
	}
	pr_notice(SAYS "%llu added, %llu cancelled, %lld fired, %llu refused\n", added, cancelled,
		  (s64)atomic64_read(&stress_fired), failed);
	return added == cancelled + atomic64_read(&stress_fired) && !failed ? 0 : -EIO;
}

static int run_set(const char *text, const struct kernel_param *param)
{
	int scenario, output, err;

	if (sscanf(text, "%d %d", &scenario, &output) != 2 || output < 0 || output > 2)
		return -EINVAL;
	mutex_lock(&one);
	switch (scenario) {
	case 1:
		err = row(100, 60000, 11);
		break;
	case 2:
		err = row(0, 10000, 30);
		break;
	case 3:
		err = row(0, 1000, 30);
		break;
	case 4:
		err = stress_all();
		break;
	default:
		err = -EINVAL;
	}
	if (!err && scenario != 4)
		say(scenario, output);
	mutex_unlock(&one);
	return err;
}

static const struct kernel_param_ops run_ops = { .set = run_set };
module_param_cb(run, &run_ops, NULL, 0200);
MODULE_PARM_DESC(run, "a scenario and an output function by number: written, it runs");

static u32 seed;
static unsigned int load_cpu;
module_param(load_cpu, uint, 0644);
MODULE_PARM_DESC(load_cpu, "the processor of the interrupts: that of the timers");
/* What is given at load is set before the module is there. */
static bool loaded;

static int load_set(const char *text, const struct kernel_param *param)
{
	int err = param_set_uint(text, param);

	if (err || !loaded)
		return err;
	mutex_lock(&one);
	err = tickmark_load(seed, load_cpu);
	mutex_unlock(&one);
	return err;
}

static const struct kernel_param_ops load_ops = { .set = load_set, .get = param_get_uint };
module_param_cb(load, &load_ops, &seed, 0644);
MODULE_PARM_DESC(load, "a seed: interrupts 200 us apart on average, of 0 to 20 us, both at random; 0 for none");

static int __init tickmark_test_start(void)
{
	loaded = true;
	return tickmark_load(seed, load_cpu);
}

static void __exit tickmark_test_end(void)
{
	tickmark_load(0, 0);
}

module_init(tickmark_test_start);
module_exit(tickmark_test_end);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Scenarios for tickmark_timer");
