/* The batch loop: one contiguous stream of stamped batches, all of which are kept. */
#include "agent.h"
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define MOST 65536
#define ENOUGH 100

#ifndef MAP_ANONYMOUS
#define MAP_ANONYMOUS MAP_ANON
#endif

#if !defined(__GNUC__)
volatile int agent_opaque;
#endif

int64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The smallest step between two readings, 0 where there was none. */
int64_t precision(void)
{
	int64_t least = 0, last = now();
	int i;
	for (i = 0; i < 2000; i++) {
		int64_t t = now();
		if (t > last && (!least || t - last < least))
			least = t - last;
		last = t;
	}
	return least;
}

/* What a reading costs, in ps: the least of 20 rows of 100. */
int64_t stamp_cost(void)
{
	int64_t least = INT64_MAX;
	int row, i;
	for (row = 0; row < 20; row++) {
		int64_t start = now();
		for (i = 0; i < 100; i++)
			now();
		start = now() - start;
		if (start < least)
			least = start;
	}
	return least * 10;
}

/* Pages of their own, touched; NULL where memory is short. */
void *room(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		return NULL;
	memset(at, 1, bytes);
	return at;
}

/* Waits for a tick, and then for the asked part of one. The coarse clock steps with the tick. */
void align(const struct run *run)
{
#ifdef CLOCK_MONOTONIC_COARSE
	const struct settings *s = run->settings;
	struct timespec first, then;
	int64_t start = now();
	if (s->phases <= 0 || s->tick <= 0)
		return;
	clock_gettime(CLOCK_MONOTONIC_COARSE, &first);
	do {
		clock_gettime(CLOCK_MONOTONIC_COARSE, &then);
	} while (then.tv_nsec == first.tv_nsec && then.tv_sec == first.tv_sec && now() - start < 10 * s->tick);
	start = now();
	while (now() - start < s->tick * s->phase / s->phases)
		;
#else
	(void)run;
#endif
}

int lines_observed;

void observed(struct run *run, const char *part)
{
	lines_observed++;
	say("{\"observed\":{\"run\":%ld,\"metric\":\"%s\"", run->id, run->probe);
	if (part)
		say(",\"part\":\"%s\"", part);
	say(",\"observations\":");
}

/* Doubles the count until a batch fills a good part of its length; also the warm-up. */
static long fitting(struct work *work, int64_t length)
{
	int64_t aim = length * 3 / 4;
	long count = 1;
	for (;;) {
		int64_t best = INT64_MAX;
		int i;
		for (i = 0; i < 2; i++) {
			int64_t start = now();
			if (work->body(work, count))
				return -1;
			start = now() - start;
			if (start < best)
				best = start;
			if (work->between && work->between(work))
				return -1;
		}
		if (best >= aim / 4 || (work->most && count >= work->most) || count > 1L << 28) {
			double ideal = (double)count * (double)aim / (double)(best > 0 ? best : 1);
			if (ideal > 1L << 28)
				ideal = 1L << 28;
			count = ideal < 1 ? 1 : (long)ideal;
			return work->most && count > work->most ? work->most : count;
		}
		count *= 2;
		if (work->most && count > work->most)
			count = work->most;
	}
}

/* The columns of a stream, as "batches". Without work between them a batch begins where the one before ended. */
static int batches(struct run *run, struct work *work, int64_t length, int64_t budget)
{
	size_t kept = 0, i, most = (size_t)(budget / (length / 2 > 0 ? length / 2 : 1)) + ENOUGH;
	int64_t *start, *end, origin, stamp;
	long count;
	if (most > MOST)
		most = MOST;
	start = room(2 * most * sizeof *start);
	if (!start)
		return failed("mmap");
	end = start + most;
	MARK_STREAM;
	count = fitting(work, length);
	if (count < 0)
		return -1;
	align(run);
	MARK_BEGIN;
	origin = stamp = now();
	while (kept < most) {
		start[kept] = stamp;
		if (work->body(work, count))
			return -1;
		stamp = now();
		end[kept++] = stamp;
		if (stamp - origin >= budget && (kept >= ENOUGH || stamp - origin >= 2 * budget))
			break;
		if (work->between) {
			MARK_END;
			if (work->between(work))
				return -1;
			MARK_BEGIN;
			stamp = now();
		}
	}
	MARK_END;
	for (i = 0; i < kept; i++) {
		end[i] -= start[i];
		start[i] -= origin;
	}
	if (for_people)
		add_figure(work, end, kept, (int64_t)count * (work->operations > 0 ? work->operations : 1));
	say_column("{\"batches\":{\"start\":[", start, kept);
	say_column("],\"elapsed\":[", end, kept);
	say("],\"iterations\":%lld", (long long)count * (work->operations > 0 ? work->operations : 1));
	if (work->bytes)
		say(",\"bytes\":%llu", (unsigned long long)work->bytes);
	if (work->over)
		say(",\"over\":%llu", (unsigned long long)work->over);
	say("}}");
	munmap(start, 2 * most * sizeof *start);
	return 0;
}

int stream(struct run *run, struct work *work)
{
	observed(run, work->part);
	if (batches(run, work, run->settings->batch, run->budget))
		return -1;
	say("}}\n");
	return 0;
}

/* The same work at two sizes an octave, 4 KB to `largest`. */
int curve(struct run *run, size_t largest, int (*point)(struct run *, size_t, struct work *))
{
	size_t size, points = 0;
	int64_t budget;
	for (size = 4096; size <= largest; size *= 2)
		points += size / 2 * 3 <= largest ? 2 : 1;
	if (!points)
		return lacking("less memory than 4 KB may be used");
	budget = run->budget / (int64_t)points;
	observed(run, NULL);
	say("{\"curve\":[");
	for (size = 4096; size <= largest; size *= 2) {
		size_t step;
		for (step = size; step <= size / 2 * 3 && step <= largest; step += size / 2) {
			struct work work = { 0 };
			/* The figure for people is that of the largest size. */
			start_figure();
			if (point(run, step, &work))
				return -1;
			say("%s{\"at\":%lu,\"observations\":", step == 4096 ? "" : ",", (unsigned long)step);
			if (batches(run, &work, run->settings->batch / 2, budget))
				return -1;
			say("}");
		}
	}
	say("]}}}\n");
	return 0;
}
