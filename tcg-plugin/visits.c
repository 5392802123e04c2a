/* Ways into the kernel, from the first instruction to the last; and what each took, by function. A kind of an entry are its visits with the
 * same number of instructions. */
#include "visits.h"
#include <stdlib.h>

#define VISITS 1024
#define KINDS 64
#define ENTRIES 256

/* A way into the kernel that is open; number 0 is where the program runs. `by_name` has a number for each name, `touched` the names in it. */
struct visit { uint32_t name, entry; bool is_nested, is_open, may_repeat; uint64_t number, instructions, lines; uint32_t *by_name, *touched, touched_count; };
/* Visits of an entry that took the same number of instructions; the last of an entry's kinds has all others. */
struct kind_of_visit { uint64_t instructions, count, *by_name; };
struct entry { uint32_t name; bool is_nested; uint64_t count, total, lines; struct kind_of_visit kinds[KINDS]; };

static struct visit visits[VISITS];
static struct entry entries[ENTRIES];
static uint32_t entry_count;
static uint64_t lost, opened;

void *zeroed(size_t count, size_t size)
{
	void *at = calloc(count, size);
	if (!at) {
		fputs("tickmark's plugin: no memory\n", stderr);
		exit(1);
	}
	return at;
}

uint32_t open_visit(uint32_t name, bool is_nested)
{
	uint32_t at;
	for (at = 1; at < VISITS && visits[at].is_open; at++)
		;
	if (at == VISITS) {
		lost++;
		return 0;
	}
	if (!visits[at].by_name) {
		visits[at].by_name = zeroed(names(), sizeof *visits[at].by_name);
		visits[at].touched = zeroed(names(), sizeof *visits[at].touched);
	}
	visits[at].name = visits[at].entry = name;
	visits[at].is_nested = is_nested;
	visits[at].is_open = true;
	visits[at].may_repeat = false;
	visits[at].instructions = visits[at].lines = 0;
	visits[at].number = ++opened;
	return at;
}

static struct entry *entry_of(const struct visit *visit)
{
	uint32_t at;
	for (at = 0; at < entry_count; at++)
		if (entries[at].name == visit->name && entries[at].is_nested == visit->is_nested)
			return &entries[at];
	if (entry_count == ENTRIES)
		return NULL;
	entries[at] = (struct entry){ .name = visit->name, .is_nested = visit->is_nested };
	entry_count++;
	return &entries[at];
}

static struct kind_of_visit *kind_of(struct entry *entry, uint64_t instructions)
{
	uint32_t at;
	for (at = 0; at < KINDS - 1 && entry->kinds[at].count; at++)
		if (entry->kinds[at].instructions == instructions)
			break;
	if (!entry->kinds[at].by_name)
		entry->kinds[at].by_name = zeroed(names(), sizeof *entry->kinds[at].by_name);
	entry->kinds[at].instructions = at < KINDS - 1 ? instructions : 0;
	return &entry->kinds[at];
}

static void forget_names(struct visit *visit, uint64_t *into)
{
	while (visit->touched_count) {
		uint32_t name = visit->touched[--visit->touched_count];
		if (into)
			into[name] += visit->by_name[name];
		visit->by_name[name] = 0;
	}
}

void close_visit(uint32_t at)
{
	struct visit *visit = &visits[at];
	/* What happened outside of the marks has none. */
	struct entry *entry = visit->instructions ? entry_of(visit) : NULL;
	uint64_t *into = NULL;
	if (entry) {
		struct kind_of_visit *kind = kind_of(entry, visit->instructions);
		entry->count++;
		entry->total += visit->instructions;
		entry->lines += visit->lines;
		kind->count++;
		into = kind->by_name;
	} else if (visit->instructions) {
		lost++;
	}
	forget_names(visit, into);
	visit->is_open = false;
}

bool is_nested(uint32_t at)
{
	return at && visits[at].is_nested;
}

bool may_repeat(uint32_t at)
{
	return at && visits[at].may_repeat;
}

void set_may_repeat(uint32_t at)
{
	visits[at].may_repeat = true;
}

uint64_t rename_visit(uint32_t at, uint32_t name)
{
	visits[at].name = name;
	visits[at].may_repeat = false;
	return visits[at].by_name ? visits[at].by_name[visits[at].entry] : 0;
}

uint32_t visit_entry(uint32_t at)
{
	return visits[at].entry;
}

uint32_t visit_name(uint32_t at)
{
	return visits[at].name;
}

uint64_t visit_number(uint32_t at)
{
	return visits[at].number;
}

void count_line(uint32_t at)
{
	visits[at].lines++;
}

uint64_t visits_lost(void)
{
	return lost;
}

/* An instruction more or less of a function. */
void count_visit(uint32_t at, uint32_t name, int by)
{
	struct visit *visit = &visits[at];
	visit->instructions += (uint64_t)by;
	if (!visit->by_name[name] && by > 0) {
		/* A name that was taken back may stand there twice. */
		if (visit->touched_count < names())
			visit->touched[visit->touched_count++] = name;
		else
			lost++;
	}
	visit->by_name[name] += (uint32_t)by;
}

void clear_visits(void)
{
	uint32_t at, kind;
	for (at = 1; at < VISITS; at++) {
		visits[at].instructions = visits[at].lines = 0;
		forget_names(&visits[at], NULL);
	}
	for (at = 0; at < entry_count; at++)
		for (kind = 0; kind < KINDS; kind++)
			free(entries[at].kinds[kind].by_name);
	entry_count = 0;
	lost = 0;
}

static void write_entry(FILE *out, const struct entry *entry)
{
	uint32_t at, name;
	fprintf(out, "entry\t%s\t%d\t%llu\t%llu\n", text_of(entry->name), entry->is_nested, (unsigned long long)entry->count,
	        (unsigned long long)entry->total);
	if (has_caches())
		fprintf(out, "lines\t%llu\n", (unsigned long long)entry->lines);
	for (at = 0; at < KINDS && entry->kinds[at].count; at++) {
		fprintf(out, "kind\t%llu\t%llu", (unsigned long long)entry->kinds[at].instructions, (unsigned long long)entry->kinds[at].count);
		for (name = 0; name < names(); name++)
			if (entry->kinds[at].by_name[name])
				fprintf(out, "\t%s=%llu", text_of(name), (unsigned long long)entry->kinds[at].by_name[name]);
		fputc('\n', out);
	}
}

/* entry: NAME, nested, COUNT, INSTRUCTIONS, then where there are caches the lines of code of all, and its kinds: INSTRUCTIONS of each (0: of many kinds), COUNT, NAME=INSTRUCTIONS of all.
 * unfinished: NAME, INSTRUCTIONS. */
void write_visits(FILE *out)
{
	uint32_t at;
	for (at = 0; at < entry_count; at++)
		write_entry(out, &entries[at]);
	for (at = 1; at < VISITS; at++)
		if (visits[at].is_open && visits[at].instructions)
			fprintf(out, "unfinished\t%s\t%llu\n", text_of(visits[at].name), (unsigned long long)visits[at].instructions);
}
