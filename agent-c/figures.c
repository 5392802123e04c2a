/* Figures of a run for people: floor (10th percentile of the batches) and mean, the parts of a definition added up. */
#include "agent.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double floor_ns, mean_ns;
static size_t seen;
static uint64_t moved;

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}

void add_figure(const struct work *work, const int64_t *elapsed, size_t count, int64_t iterations)
{
	double *each = malloc(count * sizeof *each), sum = 0, sign = work->part && !strcmp(work->part, "less") ? -1 : 1;
	size_t i;
	if (!each || !count) {
		free(each);
		return;
	}
	for (i = 0; i < count; i++) {
		each[i] = (double)elapsed[i] / (double)iterations;
		sum += each[i];
	}
	qsort(each, count, sizeof *each, ascending);
	floor_ns += sign * each[count / 10];
	mean_ns += sign * sum / (double)count;
	seen += count;
	moved = work->bytes;
	free(each);
}

void start_figure(void)
{
	floor_ns = mean_ns = 0;
	seen = 0;
}

void add_latencies(const int64_t *values, size_t count)
{
	struct work none = { 0 };
	add_figure(&none, values, count, 1);
}

/* One line: the name, what an operation takes or how many bytes go through in a second, and by how many batches. */
void say_figure(const struct run *run)
{
	char line[160];
	if (!seen)
		snprintf(line, sizeof line, "%-28s no figure of its own: its events have it\n", run->probe);
	else if (moved)
		snprintf(line, sizeof line, "%-28s floor %10.0f MB/s   mean %10.0f MB/s   %lu batches\n", run->probe,
		         (double)moved * 1e3 / floor_ns, (double)moved * 1e3 / mean_ns, (unsigned long)seen);
	else
		snprintf(line, sizeof line, "%-28s floor %10.2f ns     mean %10.2f ns     %lu batches\n", run->probe, floor_ns,
		         mean_ns, (unsigned long)seen);
	say("%s", line);
}
