/* The tick: what a spinning loop loses to it, how long each takes; and how late a sleep ends. */
#include "agent.h"
#include <errno.h>
#include <time.h>

#define GAPS 20000

/* Two instructions a turn, as far as the compiler grants it: counted down, and back. */
static int spin(struct work *work, long count)
{
	unsigned long left = (unsigned long)count * 8;
	(void)work;
	while (left) {
		left--;
		OPAQUE(left);
	}
	return 0;
}

/* A loop that does nothing: the mean is above the floor by what interrupts take. */
int tick_spin(struct run *run)
{
	struct work work = { .body = spin, .operations = 8 };
	return stream(run, &work);
}

/* Reading the clock without pause; what takes longer than some readings and some ns is a gap. */
int tick_gaps(struct run *run)
{
	int64_t *start = room(2 * GAPS * sizeof *start), *length = start + GAPS, origin, last, threshold;
	size_t count = 0;
	if (!start)
		return failed("mmap");
	threshold = TURNS_OF_A_GAP * stamp_cost() / 1000;
	if (threshold < GAP_THRESHOLD)
		threshold = GAP_THRESHOLD;
	align(run);
	origin = last = now();
	while (last - origin < run->budget && count < GAPS) {
		int64_t t = now();
		if (t - last > threshold) {
			start[count] = last - origin;
			length[count++] = t - last;
		}
		last = t;
	}
	observed(run, NULL);
	say("{\"gaps\":{\"threshold\":%lld,\"span\":%lld,", (long long)threshold, (long long)(last - origin));
	say_column("\"start\":[", start, count);
	say_column("],\"length\":[", length, count);
	say("]}}}}\n");
	return 0;
}

/* Sleeps until 200 to 800 us ahead; how late the next reading of the clock is. */
int wake_up(struct run *run)
{
	static int64_t late[4096];
	int64_t origin, target;
	uint64_t seed = 1;
	size_t kept = 0;
	int first = 1;
	align(run);
	observed(run, NULL);
	say("{\"latencies\":[");
	for (origin = now(); now() - origin < run->budget; first = 0) {
		struct timespec until;
		/* A step of Knuth's generator (MMIX): the sleeps must not beat with the tick. */
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		target = now() + 200000 + (int64_t)((seed >> 33) % 600001);
		until.tv_sec = (time_t)(target / 1000000000);
		until.tv_nsec = (long)(target % 1000000000);
		errno = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
		target = now() - target;
		if (errno)
			return failed("clock_nanosleep");
		say(first ? "%lld" : ",%lld", (long long)target);
		if (kept < sizeof late / sizeof *late)
			late[kept++] = target;
	}
	if (for_people)
		add_latencies(late, kept);
	say("]}}}\n");
	return 0;
}
