// SPDX-License-Identifier: GPL-2.0
/*
 * The queue of timers, and what is done when the back end's interrupt comes.
 *
 * A timer is programmed earlier than it expires by what is learned from the interrupts before. One that came early
 * is held: the interrupt waits for its time, for no longer than the correction may be.
 */
#include <linux/completion.h>
#include <linux/cpu.h>
#include <linux/irq_work.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/vmalloc.h>
#include <linux/wait.h>
#include "internal.h"

#define MOST_TIMERS 65536u
/* An interrupt goes on for no longer than this, in ns: others wait for it. */
#define MOST_IN_INTERRUPT 1000000u
/* Fired before anything is asked for: how late interrupts usually come is known then. */
#define TRIALS 16

static unsigned int cpu;
module_param(cpu, uint, 0444);
MODULE_PARM_DESC(cpu, "the processor of all timers");
static unsigned int most_timers = 4096;
module_param(most_timers, uint, 0444);
MODULE_PARM_DESC(most_timers, "timers that may wait, and entries of the trace: 1 to 65536");

const struct backend *tickmark_backend;

static DEFINE_RAW_SPINLOCK(lock);
static struct timerqueue_head queue;
static unsigned int pending;
static struct tickmark_timer *running;
static bool inside;		/* the interrupt goes on: it programs what is next */
static bool stopped;		/* the back end is: nothing is programmed any more */
static u64 programmed;		/* when the interrupt comes; 0: not */
static u64 aimed_at;		/* for the timer that expires then */
static u64 most_inside;
static u64 usual;
static struct correction correction = { .hold = true };
static struct statistics statistics;
static struct fired *trace;
static unsigned int trace_first, trace_count;
static DECLARE_WAIT_QUEUE_HEAD(all_fired);
static enum cpuhp_state hotplug;

/* On the timers' processor, with the lock. */
static void program(void)
{
	struct timerqueue_node *next = timerqueue_getnext(&queue);
	u64 when;

	if (!next || stopped)
		return;
	aimed_at = ktime_to_ns(next->expires);
	when = aimed_at - min(aimed_at, correction.advance);
	programmed = tickmark_backend->program(when);
}

static void kick(void *unused)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&lock, flags);
	if (!inside)
		program();
	raw_spin_unlock_irqrestore(&lock, flags);
}

static call_single_data_t kicked = CSD_INIT(kick, NULL);

/* With the lock, after what is next has changed. */
static void changed(void)
{
	if (inside)
		return;
	if (smp_processor_id() == cpu)
		program();
	else
		/* Where one is on its way already, that one sees this change. */
		smp_call_function_single_async(cpu, &kicked);
}

static void wake(struct irq_work *unused)
{
	wake_up_all(&all_fired);
}

static DEFINE_IRQ_WORK(waker, wake);

/* With the lock. */
static void account(const struct fired *fired)
{
	s64 error = fired->actual - fired->expected;

	if (!statistics.count || error < statistics.min)
		statistics.min = error;
	if (!statistics.count || error > statistics.max)
		statistics.max = error;
	statistics.count++;
	statistics.early += error < 0;
	statistics.sum += error;
	statistics.absolute += abs(error);
	if (trace_count == most_timers)
		statistics.lost++;
	else
		trace[(trace_first + trace_count++) % most_timers] = *fired;
}

/* Whether a timer is to be fired in this interrupt, at once or when its time has come. */
static bool is_due(u64 expires, u64 now, u64 began)
{
	if (now - began > most_inside)
		return false;
	if (expires <= now)
		return true;
	if (correction.how == METHOD_NONE || expires - now > correction.most)
		return false;
	return correction.hold || expires == aimed_at;
}

void tickmark_timer_interrupt(void)
{
	u64 began = tickmark_backend->now(), now = began, target;
	struct timerqueue_node *next;
	struct tickmark_timer *timer;
	struct fired fired;

	raw_spin_lock(&lock);
	inside = true;
	target = programmed;
	programmed = 0;
	while ((next = timerqueue_getnext(&queue))) {
		fired.expected = ktime_to_ns(next->expires);
		if (!is_due(fired.expected, now, began))
			break;
		timer = container_of(next, struct tickmark_timer, node);
		fired.id = timer->id;
		timerqueue_del(&queue, next);
		pending--;
		running = timer;
		raw_spin_unlock(&lock);

		/* Now it could be fired; what comes early is held. */
		now = tickmark_backend->now();
		fired.actual = now;
		while (correction.hold && fired.actual < fired.expected)
			fired.actual = tickmark_backend->now();
		timer->function(timer);

		raw_spin_lock(&lock);
		running = NULL;
		/* Of several that one interrupt fires, the first was waited for. */
		if (target)
			tickmark_correction_learn(&correction, now - target);
		target = 0;
		account(&fired);
		now = tickmark_backend->now();
	}
	inside = false;
	program();
	if (!pending)
		irq_work_queue(&waker);
	raw_spin_unlock(&lock);
}

void tickmark_timer_wake(void)
{
	irq_work_queue(&waker);
}

void tickmark_timer_init(struct tickmark_timer *timer, u32 id, void (*function)(struct tickmark_timer *timer))
{
	timerqueue_init(&timer->node);
	timer->function = function;
	timer->id = id;
}
EXPORT_SYMBOL_GPL(tickmark_timer_init);

u64 tickmark_timer_now(void)
{
	return tickmark_backend->now();
}
EXPORT_SYMBOL_GPL(tickmark_timer_now);

u64 tickmark_timer_ns(u64 ns)
{
	return tickmark_backend->from_ns(ns);
}
EXPORT_SYMBOL_GPL(tickmark_timer_ns);

u64 tickmark_timer_cycles(u64 cycles)
{
	return tickmark_backend->from_cycles(cycles);
}
EXPORT_SYMBOL_GPL(tickmark_timer_cycles);

bool tickmark_timer_pending(const struct tickmark_timer *timer)
{
	return !RB_EMPTY_NODE(&timer->node.node);
}
EXPORT_SYMBOL_GPL(tickmark_timer_pending);

/* With the lock. Return: whether it is the next one now. */
static bool enqueue(struct tickmark_timer *timer, u64 expires)
{
	timer->node.expires = min_t(u64, expires, S64_MAX);
	pending++;
	return timerqueue_add(&queue, &timer->node);
}

/* With the lock. Return: whether it waited. */
static bool dequeue(struct tickmark_timer *timer)
{
	if (!tickmark_timer_pending(timer))
		return false;
	timerqueue_del(&queue, &timer->node);
	pending--;
	return true;
}

static int add(struct tickmark_timer *timer, u64 expires, bool modify)
{
	unsigned long flags;
	int err = 0;

	raw_spin_lock_irqsave(&lock, flags);
	if (modify)
		dequeue(timer);
	if (tickmark_timer_pending(timer))
		err = -EBUSY;
	else if (pending >= most_timers)
		err = -ENOSPC;
	else if (enqueue(timer, expires))
		changed();
	raw_spin_unlock_irqrestore(&lock, flags);
	return err;
}

int tickmark_timer_add(struct tickmark_timer *timer, u64 expires)
{
	return add(timer, expires, false);
}
EXPORT_SYMBOL_GPL(tickmark_timer_add);

int tickmark_timer_modify(struct tickmark_timer *timer, u64 expires)
{
	return add(timer, expires, true);
}
EXPORT_SYMBOL_GPL(tickmark_timer_modify);

bool tickmark_timer_cancel(struct tickmark_timer *timer)
{
	unsigned long flags;
	bool waited = false, runs;

	do {
		raw_spin_lock_irqsave(&lock, flags);
		/* Its function may have added it again. What is programmed for it stays: that interrupt finds nothing. */
		waited |= dequeue(timer);
		runs = running == timer;
		raw_spin_unlock_irqrestore(&lock, flags);
		if (runs)
			cpu_relax();
	} while (runs);
	return waited;
}
EXPORT_SYMBOL_GPL(tickmark_timer_cancel);

int tickmark_timer_add_all(struct tickmark_timer *timers, const u64 *offsets, unsigned int count, u64 *begin)
{
	/* Time to add them all: what is due first would have passed else. */
	u64 ahead = tickmark_backend->from_ns(10000 + 2000 * (u64)count);
	unsigned long flags;
	unsigned int i;
	bool first = false;

	raw_spin_lock_irqsave(&lock, flags);
	if (count > most_timers - pending) {
		raw_spin_unlock_irqrestore(&lock, flags);
		return -ENOSPC;
	}
	/* The trace is theirs from here on. */
	trace_first = 0;
	trace_count = 0;
	*begin = tickmark_backend->now() + ahead;
	for (i = 0; i < count; i++)
		first |= enqueue(&timers[i], *begin + min_t(u64, offsets[i], S64_MAX));
	if (first)
		changed();
	raw_spin_unlock_irqrestore(&lock, flags);
	return 0;
}

static bool nothing_waits(void)
{
	unsigned long flags;
	bool nothing;

	raw_spin_lock_irqsave(&lock, flags);
	nothing = !pending && !running;
	raw_spin_unlock_irqrestore(&lock, flags);
	return nothing;
}

static bool nothing_runs(void)
{
	unsigned long flags;
	bool nothing;

	raw_spin_lock_irqsave(&lock, flags);
	nothing = !running;
	raw_spin_unlock_irqrestore(&lock, flags);
	return nothing;
}

int tickmark_timer_wait(atomic_t *left)
{
	/* The last one's function is called before it stands in the trace. */
	return wait_event_interruptible(all_fired, !atomic_read(left) && nothing_runs());
}

bool tickmark_timer_trace(struct fired *to)
{
	unsigned long flags;
	bool any;

	raw_spin_lock_irqsave(&lock, flags);
	any = trace_count > 0;
	if (any) {
		*to = trace[trace_first];
		trace_first = (trace_first + 1) % most_timers;
		trace_count--;
	}
	raw_spin_unlock_irqrestore(&lock, flags);
	return any;
}

void tickmark_timer_statistics(struct statistics *to, struct correction *corrects, unsigned int *wait)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&lock, flags);
	*to = statistics;
	*corrects = correction;
	*wait = pending;
	raw_spin_unlock_irqrestore(&lock, flags);
}

void tickmark_timer_forget(void)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&lock, flags);
	memset(&statistics, 0, sizeof(statistics));
	trace_first = 0;
	trace_count = 0;
	raw_spin_unlock_irqrestore(&lock, flags);
}

unsigned int tickmark_timer_most(void)
{
	return most_timers;
}

static void set_correction(enum method how)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&lock, flags);
	tickmark_correction_set(&correction, how, usual);
	raw_spin_unlock_irqrestore(&lock, flags);
}

static int method_set(const char *text, const struct kernel_param *param)
{
	int method = __sysfs_match_string(tickmark_methods, METHODS, text);

	if (method < 0)
		return -EINVAL;
	set_correction(method);
	return 0;
}

static int method_get(char *buffer, const struct kernel_param *param)
{
	return sysfs_emit(buffer, "%s\n", tickmark_methods[READ_ONCE(correction.how)]);
}

static const struct kernel_param_ops method_ops = { .set = method_set, .get = method_get };
module_param_cb(correction, &method_ops, NULL, 0644);
MODULE_PARM_DESC(correction, "none, last (by the error of the last one), or quantile; written anew it forgets what it learned");
module_param_named(hold, correction.hold, bool, 0644);
MODULE_PARM_DESC(hold, "whether a timer whose interrupt came early waits for its time (the document's did not)");

static void nothing(struct tickmark_timer *timer)
{
}

/* Fires some, to know how late interrupts usually come. */
static int try_it(void)
{
	struct tickmark_timer timer;
	enum method asked = correction.how;
	struct fired fired;
	int i, err = 0;

	set_correction(METHOD_NONE);
	usual = 0;
	tickmark_timer_init(&timer, 0, nothing);
	for (i = 0; i < TRIALS && !err; i++) {
		err = tickmark_timer_add(&timer, tickmark_backend->now() + tickmark_backend->from_ns(100000));
		if (!err && !wait_event_timeout(all_fired, nothing_waits(), HZ))
			err = -EIO;
		/* The first ones find cold caches. */
		if (tickmark_timer_trace(&fired) && i >= TRIALS / 2)
			usual = max_t(s64, usual, fired.actual - fired.expected);
	}
	tickmark_timer_cancel(&timer);
	tickmark_timer_forget();
	set_correction(asked);
	return err;
}

/* Its timers would be lost: it stays. */
static int goes_offline(unsigned int which)
{
	return which == cpu ? -EBUSY : 0;
}

int tickmark_core_start(void)
{
	int err;

	if (!most_timers || most_timers > MOST_TIMERS)
		return -EINVAL;
	timerqueue_init_head(&queue);
	trace = vzalloc(array_size(most_timers, sizeof(*trace)));
	if (!trace)
		return -ENOMEM;
	hotplug = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "tickmark:timer", NULL, goes_offline);
	err = hotplug;
	if (err >= 0 && cpu < nr_cpu_ids && cpu_online(cpu))
		return 0;
	if (err >= 0) {
		cpuhp_remove_state_nocalls(hotplug);
		err = -ENODEV;
	}
	vfree(trace);
	return err;
}

void tickmark_core_stop(void)
{
	irq_work_sync(&waker);
	cpuhp_remove_state_nocalls(hotplug);
	vfree(trace);
}

static void set_stopped(bool is)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&lock, flags);
	stopped = is;
	raw_spin_unlock_irqrestore(&lock, flags);
}

int tickmark_core_use(const struct backend *one, unsigned int most_advance_ns)
{
	int err;

	tickmark_backend = one;
	err = one->start(cpu);
	if (err)
		return err;
	set_stopped(false);
	most_inside = one->from_ns(MOST_IN_INTERRUPT);
	correction.most = one->from_ns(most_advance_ns);
	err = try_it();
	if (err) {
		pr_err("tickmark_timer: the timers of %s do not fire\n", one->name);
		tickmark_core_leave();
	}
	return err;
}

void tickmark_core_leave(void)
{
	set_stopped(true);
	/* A request to program may be on its way from another processor: it comes before this one, and finds that nothing is to be. */
	smp_call_function_single(cpu, kick, NULL, 1);
	tickmark_backend->stop();
}
