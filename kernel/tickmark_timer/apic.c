// SPDX-License-Identifier: GPL-2.0
/*
 * The local APIC timer itself as what fires: expiries are cycles of the TSC, the timer counts cycles of the bus.
 *
 * It is free where the kernel was booted with nolapic_timer, and its own tick comes from elsewhere. The interrupt
 * gets a vector as a device's would: an interrupt domain below the one that gives out vectors.
 */
#include <linux/delay.h>
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/irqdomain.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/smp.h>
#include <asm/apic.h>
#include <asm/hw_irq.h>
#include <asm/irqdomain.h>
#include <asm/msr.h>
#include <asm/tsc.h>
#include "internal.h"

/* Counts a cycle, of which so many bits stand behind the point. */
#define SHIFT 24
/* Beyond it the wait is made in parts: what the ratio is wrong by is no more than a part's share of it. */
#define FAR (1ULL << 20)
#define CALIBRATE_MS 20

static unsigned int divider = 1;
module_param(divider, uint, 0444);
MODULE_PARM_DESC(divider, "cycles of the bus that the local APIC timer takes for one: 1 or 4");

static struct irq_domain *domain;
static struct fwnode_handle *node;
static int irq, where;
static u32 vector;
static u64 mult;	/* counts << SHIFT a cycle of the TSC */
static u64 counted_khz;
static u64 programs, lost_sum, lost_most;

/* Of the processor that calls: those of the chip are called on any, so that they do nothing. */
static void enable(void *unused)
{
	/* One-shot. */
	apic->write(APIC_LVTT, vector);
}

static void disable(void *unused)
{
	apic->write(APIC_LVTT, APIC_LVT_MASKED | LOCAL_TIMER_VECTOR);
	/* Also what counts; and whoever looks next finds it free. */
	apic->write(APIC_TMICT, 0);
}

static void leave(struct irq_data *unused)
{
}

static struct irq_chip chip = {
	.name = "tickmark-apic-timer",
	.irq_ack = irq_chip_ack_parent,
	.irq_mask = leave,
	.irq_unmask = leave,
};

static int domain_alloc(struct irq_domain *it, unsigned int virq, unsigned int count, void *told)
{
	int err = irq_domain_alloc_irqs_parent(it, virq, count, told);

	if (!err)
		irq_domain_set_info(it, virq, 0, &chip, NULL, handle_edge_irq, NULL, "edge");
	return err;
}

static const struct irq_domain_ops domain_ops = {
	.alloc = domain_alloc,
	.free = irq_domain_free_irqs_common,
};

static irqreturn_t fire(int unused, void *data)
{
	tickmark_timer_interrupt();
	return IRQ_HANDLED;
}

static u64 now(void)
{
	return rdtsc_ordered();
}

static u64 program(u64 when)
{
	u64 begin = now(), wait = when > begin ? when - begin : 0, counts, cycles;

	if (wait > FAR)
		/* The next part is programmed when this one has ended. */
		wait = min(wait, FAR << 11) - FAR / 2;
	counts = max((wait * mult) >> SHIFT, 1ULL);
	apic->write(APIC_TMICT, counts);
	cycles = div64_u64(counts << SHIFT, mult);
	if (wait > cycles) {
		lost_sum += wait - cycles;
		lost_most = max(lost_most, wait - cycles);
	}
	programs++;
	return begin + cycles;
}

/* On the processor: what uses the timer, if anything does. */
static void look(void *to)
{
	u32 entry = apic->read(APIC_LVTT);
	bool armed = apic->read(APIC_TMICT);

	if ((entry & APIC_LVT_TIMER_TSCDEADLINE) && boot_cpu_has(X86_FEATURE_TSC_DEADLINE_TIMER)) {
		u64 deadline;

		rdmsrl(MSR_IA32_TSC_DEADLINE, deadline);
		armed = deadline;
	}
	*(bool *)to |= armed || !(entry & APIC_LVT_MASKED);
}

struct pair { u64 cycles; u32 count; };

static void read_both(void *to)
{
	struct pair *pair = to;
	u64 before = now();

	pair->count = apic->read(APIC_TMCCT);
	pair->cycles = before + (now() - before) / 2;
}

static void begin_count(void *unused)
{
	apic->write(APIC_LVTT, APIC_LVT_MASKED | LOCAL_TIMER_VECTOR);
	apic->write(APIC_TDCR, divider == 1 ? APIC_TDR_DIV_1 : APIC_TDR_DIV_4);
	apic->write(APIC_TMICT, U32_MAX);
}

/* How fast it counts, against the TSC. */
static int calibrate(int cpu)
{
	struct pair first, last;

	smp_call_function_single(cpu, begin_count, NULL, 1);
	smp_call_function_single(cpu, read_both, &first, 1);
	msleep(CALIBRATE_MS);
	smp_call_function_single(cpu, read_both, &last, 1);
	smp_call_function_single(cpu, disable, NULL, 1);
	if (last.count >= first.count || last.cycles <= first.cycles)
		return -EIO;
	mult = div64_u64((u64)(first.count - last.count) << SHIFT, last.cycles - first.cycles);
	counted_khz = (mult * tsc_khz + (1 << (SHIFT - 1))) >> SHIFT;
	return mult ? 0 : -EIO;
}

static int start(int cpu)
{
	struct irq_alloc_info info = { .mask = cpumask_of(cpu) };
	bool used = false;
	int err, i;

	if (!boot_cpu_has(X86_FEATURE_APIC) || !tsc_khz || check_tsc_unstable())
		return -ENODEV;
	if (divider != 1 && divider != 4)
		return -EINVAL;
	/* A tick that is programmed anew each time may be looked at just when it is not. */
	for (i = 0; i < 4 && !used; i++) {
		smp_call_function_single(cpu, look, &used, 1);
		msleep(20);
	}
	if (used) {
		/* No error where another back end follows. */
		pr_notice("tickmark_timer: the local APIC timer of CPU %d is in use; nolapic_timer frees it\n", cpu);
		return -EBUSY;
	}
	err = calibrate(cpu);
	if (err)
		return err;
	node = irq_domain_alloc_named_fwnode("tickmark-apic-timer");
	if (!node)
		return -ENOMEM;
	err = -ENOMEM;
	domain = irq_domain_create_hierarchy(x86_vector_domain, 0, 0, node, &domain_ops, NULL);
	if (!domain)
		goto no_domain;
	irq = irq_domain_alloc_irqs(domain, 1, NUMA_NO_NODE, &info);
	err = irq;
	if (irq < 0)
		goto no_irq;
	vector = irqd_cfg(irq_domain_get_irq_data(x86_vector_domain, irq))->vector;
	err = request_irq(irq, fire, IRQF_NOBALANCING | IRQF_NO_THREAD | IRQF_NO_SUSPEND, "tickmark_timer", &chip);
	if (err)
		goto no_handler;
	where = cpu;
	smp_call_function_single(cpu, enable, NULL, 1);
	return 0;

no_handler:
	irq_dispose_mapping(irq);
no_irq:
	irq_domain_remove(domain);
no_domain:
	irq_domain_free_fwnode(node);
	return err;
}

static void stop(void)
{
	smp_call_function_single(where, disable, NULL, 1);
	free_irq(irq, &chip);
	irq_dispose_mapping(irq);
	irq_domain_remove(domain);
	irq_domain_free_fwnode(node);
}

static u64 from_ns(u64 ns)
{
	return mul_u64_u32_div(min_t(u64, ns, LONGEST), tsc_khz, 1000000);
}

static u64 from_cycles(u64 cycles)
{
	return cycles;
}

static void describe(struct seq_file *to)
{
	u64 made = programs ?: 1, bus_khz = counted_khz * divider;
	u64 ratio = div64_u64((u64)tsc_khz * 1000 + bus_khz / 2, bus_khz);

	seq_printf(to, "tsc_khz: %u\n", tsc_khz);
	seq_printf(to, "bus_khz: %llu\n", bus_khz);
	seq_printf(to, "divider: %u\n", divider);
	/* How many cycles of the TSC one of the bus has: the document's machine had about five. */
	seq_printf(to, "bus_ratio: %llu.%03llu\n", ratio / 1000, ratio % 1000);
	seq_printf(to, "rounding: %llu.%03llu mean, %llu most\n", div64_u64(lost_sum, made),
		   div64_u64(lost_sum * 1000, made) % 1000, lost_most);
}

const struct backend tickmark_apic = {
	.name = "apic",
	.unit = "cycles",
	.start = start,
	.stop = stop,
	.now = now,
	.program = program,
	.from_ns = from_ns,
	.from_cycles = from_cycles,
	.describe = describe,
};
