/* Bytes a second of memory and files, and how long a load takes that waits for the one before it. */
#include "agent.h"
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#define PIECE (64 << 10)
#define STEPS 64
#define LINE 64
#define STRIDE 128

static void onward(struct work *work)
{
	work->at += PIECE;
	if (work->at + PIECE > work->length)
		work->at = 0;
}

/* A body that does something with each of the 8-byte words of a piece, and goes on to the next piece. */
#define WORDS (PIECE / sizeof(uint64_t))
#define PIECES(name, step)                                                        \
	static int name(struct work *work, long count)                                \
	{                                                                             \
		while (count--) {                                                         \
			uint64_t *words = (uint64_t *)(void *)(work->memory + work->at);      \
			uint64_t *to = work->other ? (uint64_t *)(void *)(work->other + work->at) : NULL; \
			uint64_t total = 0;                                                   \
			size_t i;                                                             \
			OPAQUE(to);                                                           \
			step;                                                                 \
			OPAQUE(total);                                                        \
			onward(work);                                                         \
		}                                                                         \
		return 0;                                                                 \
	}

PIECES(add_up, for (i = 0; i < WORDS; i++) total += words[i])
PIECES(fill, for (i = 0; i < WORDS; i++) ((volatile uint64_t *)words)[i] = i)
PIECES(copy_libc, (i = 0, memcpy(to, words + i, PIECE)))
PIECES(copy_hand, for (i = 0; i < WORDS; i++) ((volatile uint64_t *)to)[i] = words[i])

int memory_bandwidth(struct run *run)
{
	struct work work = { .bytes = PIECE, .length = run->settings->memory };
	const char *name = run->probe + strlen("bandwidth.");
	int copies = !strncmp(name, "copy", 4);
	work.over = work.length;
	if (copies)
		work.length /= 2;
	if (work.length < PIECE)
		return lacking("less than 64 KB of memory may be used");
	work.memory = room(work.length);
	if (!work.memory || (copies && !(work.other = room(work.length))))
		return failed("mmap");
	work.body = !strcmp(name, "memory.read") ? add_up
	          : !strcmp(name, "memory.write") ? fill
	          : !strcmp(name, "copy.libc") ? copy_libc : copy_hand;
	return stream(run, &work);
}

static int read_again(struct work *work, long count)
{
	while (count--) {
		if (!work->at && lseek(work->in, 0, SEEK_SET))
			return failed("lseek");
		if (read(work->in, work->other, PIECE) != PIECE)
			return failed("read");
		onward(work);
	}
	return 0;
}

int file_bandwidth(struct run *run)
{
	struct work work = { .bytes = PIECE, .length = run->settings->memory };
	size_t at;
	work.over = work.length;
	if (work.length < PIECE)
		return lacking("less than 64 KB of memory may be used");
	work.in = open("reread", O_RDWR | O_CREAT | O_TRUNC, 0600);
	work.other = room(PIECE);
	if (work.in < 0 || !work.other)
		return failed("open");
	for (at = 0; at < work.length; at += PIECE)
		if (write(work.in, work.other, PIECE) != PIECE)
			return failed("write");
	work.body = read_again;
	if (strstr(run->probe, "mmap")) {
		work.memory = mmap(NULL, work.length, PROT_READ, MAP_SHARED, work.in, 0);
		if (work.memory == MAP_FAILED)
			return failed("mmap");
		work.body = add_up;
		add_up(&work, (long)(work.length / PIECE));
	}
	return stream(run, &work);
}

static int walk(struct work *work, long count)
{
	void **at = (void **)(void *)(work->memory + work->at);
	int i;
	while (count--)
		for (i = 0; i < STEPS; i++)
			at = *at;
	work->at = (size_t)((unsigned char *)at - work->memory);
	return 0;
}

/* Links the lines of `size` bytes into a ring: at a stride, or through a permutation that is a step of a generator. */
static int ring(struct run *run, size_t size, struct work *work)
{
	static unsigned char *memory;
	size_t apart = strstr(run->probe, "strided") ? STRIDE : LINE, lines = size / apart, i, place = 0, step = 1;
	if (!memory && !(memory = room(run->settings->memory)))
		return failed("mmap");
	if (apart == LINE) {
		/* About .618 of the ring, and without a factor in common with it. */
		size_t a, b, t;
		for (step = lines * 618 / 1000 | 1;; step += 2) {
			for (a = lines, b = step; b; a = b, b = t)
				t = a % b;
			if (a == 1)
				break;
		}
	}
	for (i = 0; i < lines; i++) {
		size_t next = (place + step) % lines;
		*(void **)(void *)(memory + place * apart) = memory + next * apart;
		place = next;
	}
	work->body = walk;
	work->memory = memory;
	work->operations = STEPS;
	work->over = size;
	return 0;
}

int memory_latency(struct run *run)
{
	return curve(run, run->settings->memory, ring);
}
