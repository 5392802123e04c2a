/* Integer and floating-point operations, each waiting for the one before it; reading the clock. */
#include "agent.h"
#include <string.h>
#include <time.h>

#define UNROLLED 64
#define TWO(step) step; step
#define FOUR(step) TWO(step); TWO(step)
#define CHAINED(step) FOUR(FOUR(FOUR(step)))

/* A body of `count` rounds of 64 dependent steps. */
#define CHAIN(name, type, opaque, first, second, step)                          \
	static int name(struct work *work, long count)                              \
	{                                                                           \
		type x = first, y = second;                                             \
		long i;                                                                 \
		(void)work;                                                             \
		opaque(y);                                                              \
		opaque(x);                                                              \
		for (i = 0; i < count; i++) {                                           \
			CHAINED(x = (step); opaque(x));                                     \
		}                                                                       \
		return 0;                                                               \
	}

CHAIN(bit32, uint32_t, OPAQUE, 0x5555, 0x1234, x ^ y)
CHAIN(add32, uint32_t, OPAQUE, 1, 3, x + y)
CHAIN(mul32, uint32_t, OPAQUE, 3, 5, x *y)
CHAIN(div32, uint32_t, OPAQUE, 7, 1000, (x | 0x40000000u) / y)
CHAIN(mod32, uint32_t, OPAQUE, 7, 1000, (x | 0x40000000u) % y)
CHAIN(bit64, uint64_t, OPAQUE, 0x5555, 0x1234, x ^ y)
CHAIN(add64, uint64_t, OPAQUE, 1, 3, x + y)
CHAIN(mul64, uint64_t, OPAQUE, 3, 5, x *y)
CHAIN(div64, uint64_t, OPAQUE, 7, 30000000001ull, (x | 1ull << 62) / y)
CHAIN(mod64, uint64_t, OPAQUE, 7, 30000000001ull, (x | 1ull << 62) % y)

CHAIN(add_float, float, OPAQUE_FLOAT, 1.5f, 0.000001f, x + y)
CHAIN(mul_float, float, OPAQUE_FLOAT, 1.5f, 1.0f, x *y)
CHAIN(div_float, float, OPAQUE_FLOAT, 1.5f, 1.0f, x / y)
CHAIN(bogo_float, float, OPAQUE_FLOAT, 0.75f, 0.0f, (1.0f + x) * (1.5f - x) / x * y + 0.75f)
CHAIN(add_double, double, OPAQUE_FLOAT, 1.5, 0.000001, x + y)
CHAIN(mul_double, double, OPAQUE_FLOAT, 1.5, 1.0, x *y)
CHAIN(div_double, double, OPAQUE_FLOAT, 1.5, 1.0, x / y)
CHAIN(bogo_double, double, OPAQUE_FLOAT, 0.75, 0.0, (1.0 + x) * (1.5 - x) / x * y + 0.75)

/* Each element for itself, and 1 for ever: throughput, as lmbench has it. */
#define ARRAY(name, type)                                                       \
	static int name(struct work *work, long count)                              \
	{                                                                           \
		type array[UNROLLED], x;                                                \
		long i, at;                                                             \
		(void)work;                                                             \
		for (at = 0; at < UNROLLED; at++)                                       \
			array[at] = 1;                                                      \
		for (i = 0; i < count; i++)                                             \
			for (at = 0; at < UNROLLED; at++) {                                 \
				x = array[at];                                                  \
				OPAQUE_FLOAT(x);                                                \
				array[at] = (1 + x) * ((type)1.5 - x) / x;                      \
			}                                                                   \
		x = array[0];                                                           \
		OPAQUE_FLOAT(x);                                                        \
		return 0;                                                               \
	}

ARRAY(array_float, float)
ARRAY(array_double, double)

static const struct {
	const char *name;
	int (*body)(struct work *, long);
} chains[] = {
	{ "op.int32.bit", bit32 },       { "op.int32.add", add32 },       { "op.int32.mul", mul32 },
	{ "op.int32.div", div32 },       { "op.int32.mod", mod32 },       { "op.int64.bit", bit64 },
	{ "op.int64.add", add64 },       { "op.int64.mul", mul64 },       { "op.int64.div", div64 },
	{ "op.int64.mod", mod64 },       { "op.float.add", add_float },   { "op.float.mul", mul_float },
	{ "op.float.div", div_float },   { "op.float.bogo", bogo_float }, { "op.double.add", add_double },
	{ "op.double.mul", mul_double }, { "op.double.div", div_double }, { "op.double.bogo", bogo_double },
	{ "op.float.bogo_array", array_float }, { "op.double.bogo_array", array_double },
};

int op(struct run *run)
{
	struct work work = { .operations = UNROLLED };
	size_t i;
	for (i = 0; i < sizeof chains / sizeof *chains; i++)
		if (!strcmp(chains[i].name, run->probe))
			work.body = chains[i].body;
	return work.body ? stream(run, &work) : lacking("no such operation");
}

static int read_clock(struct work *work, long count)
{
	struct timespec t;
	clockid_t clock = (clockid_t)work->next;
	while (count--)
		clock_gettime(clock, &t);
	return 0;
}

int clock_read(struct run *run)
{
	struct work work = { .body = read_clock, .next = CLOCK_MONOTONIC };
	if (!strcmp(run->probe, "clock.realtime.read"))
		work.next = CLOCK_REALTIME;
	return stream(run, &work);
}
