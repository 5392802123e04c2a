/* First-level caches: least recently used, filled by reads and writes alike. Instructions by the place of their bytes in QEMU's memory,
 * data by physical address: both are the guest's up to the page that they are in. */
#include "plugin.h"
#include <stdlib.h>
#include <string.h>

/* A line, the way into the kernel that has put it out, and the last visit that fetched from it. */
struct line { uint64_t number, visit; uint32_t evictor; struct line *next; };
struct cache {
	unsigned sets, ways, shift;
	uint64_t *tags;                 /* number + 1, the one used last first; 0 is none */
	struct line **lines;
	uint64_t *refills;              /* by name of the entry that put a line of the program out */
};
#define BUCKETS 65536
static struct cache caches[2];          /* instructions, data */
static bool is_on;

bool has_caches(void)
{
	return is_on;
}

static bool set_cache(struct cache *cache, unsigned size, unsigned ways, unsigned line)
{
	if (!ways || !line || size % (ways * line) || line & (line - 1))
		return false;
	cache->sets = size / ways / line;
	cache->ways = ways;
	while (1u << cache->shift < line)
		cache->shift++;
	cache->tags = calloc((size_t)cache->sets * ways, sizeof *cache->tags);
	cache->lines = calloc(BUCKETS, sizeof *cache->lines);
	cache->refills = calloc(names(), sizeof *cache->refills);
	return cache->sets && !(cache->sets & (cache->sets - 1)) && cache->tags && cache->lines && cache->refills;
}

int set_caches(const char *model)
{
	unsigned isize, iways, dsize, dways, line;
	if (sscanf(model, "%u:%u:%u:%u:%u", &isize, &iways, &dsize, &dways, &line) != 5)
		return -1;
	is_on = set_cache(&caches[0], isize, iways, line) && set_cache(&caches[1], dsize, dways, line);
	return is_on ? 0 : -1;
}

static struct line *line_of(struct cache *cache, uint64_t number)
{
	struct line **at = &cache->lines[number * 0x9e3779b97f4a7c15 >> 48];
	struct line *line;
	for (line = *at; line; line = line->next)
		if (line->number == number)
			return line;
	line = calloc(1, sizeof *line);
	if (!line)
		abort();
	line->number = number;
	line->next = *at;
	return *at = line;
}

/* True if the line was not there. */
static bool access_line(struct cache *cache, uint64_t number, bool by_kernel)
{
	uint64_t *set = cache->tags + (number & (cache->sets - 1)) * cache->ways, tag = number + 1;
	unsigned way = 0;
	bool is_miss;
	while (way < cache->ways && set[way] != tag)
		way++;
	is_miss = way == cache->ways;
	if (is_miss) {
		way--;
		if (set[way])
			line_of(cache, set[way] - 1)->evictor = open_entry();
		if (is_counting && !by_kernel)
			cache->refills[line_of(cache, number)->evictor]++;
	}
	memmove(set + 1, set, way * sizeof *set);
	set[0] = tag;
	return is_miss && is_counting;
}

/* A visit that others interrupt may fetch from a line anew behind them. */
static void touch(struct cache *cache, uint64_t number)
{
	uint64_t visit = open_number();
	struct line *line;
	if (!visit || !is_counting)
		return;
	line = line_of(cache, number);
	if (line->visit == visit)
		return;
	line->visit = visit;
	line_fetched();
}

void fetch(const struct insn *insn)
{
	static uint64_t last;
	struct cache *cache = &caches[0];
	uint64_t at = (uint64_t)(uintptr_t)insn->host >> cache->shift;
	uint64_t end = ((uint64_t)(uintptr_t)insn->host + insn->size - 1) >> cache->shift;
	for (; at <= end; at++) {
		if (at == last)
			continue;
		last = at;
		misses_here()->instruction += access_line(cache, at, insn->flags & KERNEL);
		if (insn->flags & KERNEL)
			touch(cache, at);
	}
}

void data_accessed(const struct insn *insn, uint64_t physical, unsigned size)
{
	struct cache *cache = &caches[1];
	uint64_t at = physical >> cache->shift, end = (physical + size - 1) >> cache->shift;
	for (; at <= end; at++)
		misses_here()->data += access_line(cache, at, insn->flags & KERNEL);
}

void clear_caches(void)
{
	int which;
	if (!is_on)
		return;
	for (which = 0; which < 2; which++) {
		memset(caches[which].refills, 0, names() * sizeof *caches[which].refills);
	}
}

/* caches: they were simulated. refill: NAME of the entry, lines of the program's
 * instructions and data that it put out and the program missed. */
void write_caches(FILE *out)
{
	uint32_t name;
	if (!is_on)
		return;
	fputs("caches\n", out);
	for (name = 1; name < names(); name++)
		if (caches[0].refills[name] || caches[1].refills[name])
			fprintf(out, "refill\t%s\t%llu\t%llu\n", text_of(name), (unsigned long long)caches[0].refills[name],
			        (unsigned long long)caches[1].refills[name]);
}
