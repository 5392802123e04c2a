// SPDX-License-Identifier: GPL-2.0
/* Loads and unloads: which back end, then the device. */
#include <linux/module.h>
#include <linux/string.h>
#include "internal.h"

#define MOST_ADVANCE_NS 100000u

static char *backend = "auto";
module_param(backend, charp, 0444);
MODULE_PARM_DESC(backend, "apic, hrtimer, or auto: the local APIC timer where it is free");
static unsigned int most_advance_ns = 25000;
module_param(most_advance_ns, uint, 0444);
MODULE_PARM_DESC(most_advance_ns, "the most by which a timer is programmed earlier, in ns: up to 100000");

static int use_any(void)
{
	bool any = !strcmp(backend, "auto");
	int err = any || !strcmp(backend, "hrtimer") ? -ENODEV : -EINVAL;

#ifdef CONFIG_X86_LOCAL_APIC
	if (any || !strcmp(backend, "apic"))
		err = tickmark_core_use(&tickmark_apic, most_advance_ns);
#endif
	if (err && (any || !strcmp(backend, "hrtimer")))
		err = tickmark_core_use(&tickmark_hrtimer, most_advance_ns);
	return err;
}

static int __init tickmark_timer_start(void)
{
	int err;

	if (most_advance_ns > MOST_ADVANCE_NS)
		return -EINVAL;
	err = tickmark_core_start();
	if (err)
		return err;
	err = use_any();
	if (err)
		goto no_backend;
	err = tickmark_device_start();
	if (err)
		goto no_device;
	pr_info("tickmark_timer: %s\n", tickmark_backend->name);
	return 0;

no_device:
	tickmark_core_leave();
no_backend:
	tickmark_core_stop();
	return err;
}

static void __exit tickmark_timer_end(void)
{
	tickmark_device_stop();
	tickmark_core_leave();
	tickmark_core_stop();
}

module_init(tickmark_timer_start);
module_exit(tickmark_timer_end);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("One-shot timers that learn from how late the last one was");
