// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/tickmark_timer: root's. A line that is written adds timers, all from one beginning:
 *
 *	cycles|ns OFFSET [OFFSET]...
 *
 * Reading it waits until these have fired, then gives a line for each timer of the trace, in the order in which they
 * fired: its number, when it was expected, when its function was called, and the difference.
 *
 * /proc/tickmark_timer: the back end and the statistics, a line each; what is written to it sets them to nothing.
 */
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include "internal.h"

#define NAME "tickmark_timer"
#define LONGEST_LINE 65536
#define LONGEST_ENTRY 88

/* Of one who has the device open. */
struct row {
	struct mutex lock;
	struct tickmark_timer *timers;
	u64 *offsets;
	unsigned int count;
	char entry[LONGEST_ENTRY];
	unsigned int given, length;
};

static atomic_t opened = ATOMIC_INIT(0);

/* Of the row's timers, how many have not fired. */
static atomic_t left = ATOMIC_INIT(0);

static void fire(struct tickmark_timer *timer)
{
	if (atomic_dec_and_test(&left))
		tickmark_timer_wake();
}

static void empty(struct row *row)
{
	unsigned int i;

	for (i = 0; i < row->count; i++)
		tickmark_timer_cancel(&row->timers[i]);
	atomic_set(&left, 0);
	row->count = 0;
	row->given = 0;
	row->length = 0;
	kvfree(row->timers);
	kvfree(row->offsets);
	row->timers = NULL;
	row->offsets = NULL;
}

static int device_open(struct inode *inode, struct file *file)
{
	struct row *row;

	/* The trace is one. */
	if (atomic_cmpxchg(&opened, 0, 1))
		return -EBUSY;
	row = kzalloc(sizeof(*row), GFP_KERNEL);
	if (!row) {
		atomic_set(&opened, 0);
		return -ENOMEM;
	}
	mutex_init(&row->lock);
	file->private_data = row;
	return nonseekable_open(inode, file);
}

static int device_release(struct inode *inode, struct file *file)
{
	struct row *row = file->private_data;

	empty(row);
	mutex_destroy(&row->lock);
	kfree(row);
	atomic_set(&opened, 0);
	return 0;
}

/* The numbers of a line; @row has room for all. */
static int parse(struct row *row, char *line)
{
	char *word = strsep(&line, "\n ");
	bool cycles = !strcmp(word, "cycles");
	unsigned int i;
	u64 number;

	if (!cycles && strcmp(word, "ns"))
		return -EINVAL;
	/* No TSC to rely on. */
	if (cycles && !tickmark_timer_cycles(1000000))
		return -EOPNOTSUPP;
	while ((word = strsep(&line, "\n "))) {
		if (!*word)
			continue;
		if (row->count == tickmark_timer_most())
			return -ENOSPC;
		if (kstrtou64(word, 10, &number))
			return -EINVAL;
		row->offsets[row->count++] = cycles ? tickmark_timer_cycles(number) : tickmark_timer_ns(number);
	}
	for (i = 0; i < row->count; i++)
		tickmark_timer_init(&row->timers[i], i + 1, fire);
	return row->count ? 0 : -EINVAL;
}

static int begin(struct row *row, char *line)
{
	u64 from;
	int err;

	if (atomic_read(&left))
		return -EBUSY;
	empty(row);
	row->timers = kvcalloc(tickmark_timer_most(), sizeof(*row->timers), GFP_KERNEL);
	row->offsets = kvcalloc(tickmark_timer_most(), sizeof(*row->offsets), GFP_KERNEL);
	err = row->timers && row->offsets ? parse(row, line) : -ENOMEM;
	if (!err) {
		atomic_set(&left, row->count);
		err = tickmark_timer_add_all(row->timers, row->offsets, row->count, &from);
	}
	if (err) {
		/* None of them waits. */
		row->count = 0;
		empty(row);
	}
	return err;
}

static ssize_t device_write(struct file *file, const char __user *from, size_t length, loff_t *at)
{
	struct row *row = file->private_data;
	char *line;
	int err;

	if (length > LONGEST_LINE)
		return -E2BIG;
	line = memdup_user_nul(from, length);
	if (IS_ERR(line))
		return PTR_ERR(line);
	err = mutex_lock_interruptible(&row->lock);
	if (!err) {
		err = begin(row, line);
		mutex_unlock(&row->lock);
	}
	kfree(line);
	return err ?: length;
}

static ssize_t fill(struct row *row, char __user *to, size_t length)
{
	size_t done = 0, part;
	struct fired fired;

	while (done < length) {
		if (row->given == row->length) {
			if (!tickmark_timer_trace(&fired))
				break;
			row->length = scnprintf(row->entry, sizeof(row->entry), "%u %llu %llu %lld\n", fired.id, fired.expected,
						fired.actual, (s64)(fired.actual - fired.expected));
			row->given = 0;
		}
		part = min_t(size_t, length - done, row->length - row->given);
		if (copy_to_user(to + done, row->entry + row->given, part))
			return -EFAULT;
		row->given += part;
		done += part;
	}
	return done;
}

static ssize_t device_read(struct file *file, char __user *to, size_t length, loff_t *at)
{
	struct row *row = file->private_data;
	ssize_t done;

	done = mutex_lock_interruptible(&row->lock);
	if (done)
		return done;
	if (!(file->f_flags & O_NONBLOCK))
		done = tickmark_timer_wait(&left);
	if (!done)
		done = fill(row, to, length);
	mutex_unlock(&row->lock);
	return done;
}

static const struct file_operations device_operations = {
	.owner = THIS_MODULE,
	.open = device_open,
	.release = device_release,
	.read = device_read,
	.write = device_write,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = NAME,
	.fops = &device_operations,
	.mode = 0600,
};

static int show(struct seq_file *to, void *unused)
{
	struct correction correction;
	struct statistics fired;
	unsigned int wait;
	u64 count;

	tickmark_timer_statistics(&fired, &correction, &wait);
	count = fired.count ?: 1;
	seq_printf(to, "backend: %s\nunit: %s\n", tickmark_backend->name, tickmark_backend->unit);
	tickmark_backend->describe(to);
	seq_printf(to, "correction: %s%s\n", tickmark_methods[correction.how], correction.hold ? "" : ", early ones fire");
	seq_printf(to, "advance: %llu of %llu\n", correction.advance, correction.most);
	seq_printf(to, "waiting: %u of %u\n", wait, tickmark_timer_most());
	seq_printf(to, "fired: %llu\nearly: %llu\n", fired.count, fired.early);
	seq_printf(to, "error_min: %lld\nerror_mean: %lld\n", fired.min, div64_s64(fired.sum, count));
	seq_printf(to, "error_mean_absolute: %llu\nerror_max: %lld\n", div64_u64(fired.absolute, count), fired.max);
	seq_printf(to, "trace_lost: %llu\n", fired.lost);
	return 0;
}

static int statistics_open(struct inode *inode, struct file *file)
{
	return single_open(file, show, NULL);
}

static ssize_t statistics_write(struct file *file, const char __user *from, size_t length, loff_t *at)
{
	tickmark_timer_forget();
	return length;
}

static const struct proc_ops statistics_operations = {
	.proc_open = statistics_open,
	.proc_read = seq_read,
	.proc_lseek = seq_lseek,
	.proc_release = single_release,
	.proc_write = statistics_write,
};

int tickmark_device_start(void)
{
	int err = misc_register(&device);

	if (err)
		return err;
	if (proc_create(NAME, 0644, NULL, &statistics_operations))
		return 0;
	misc_deregister(&device);
	return -ENOMEM;
}

void tickmark_device_stop(void)
{
	remove_proc_entry(NAME, NULL);
	misc_deregister(&device);
}
