/* The small agent: what its files share. C99 and POSIX; times in ns. */
#ifndef AGENT_H
#define AGENT_H

/* Before the first header: what C99 alone does not have. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE 1
#endif

#include <stddef.h>
#include <stdint.h>

/* What both sides hold the same for: crates/tickmark-wire/src/shared.rs has them too, and a test compares. */
#define FORMAT_MAJOR 1
#define FORMAT_MINOR 6
#define CONSOLE_BEGIN "=== tickmark events begin ==="
#define CONSOLE_END "=== tickmark events end ==="
#define GUEST_PORT "/dev/vport0p1"
#define MOST_RUNS 1023
#define LONGEST_BATCH 100000
#define GAP_THRESHOLD 300
#define TURNS_OF_A_GAP 3
#define BUDGETS 10
#define PATIENCE 3

/* What the host asks for, and how a run is carried out. */
struct settings {
	int64_t batch;            /* longest batch */
	int64_t tick;             /* one tick; 0 where it is not known */
	int phase, phases;        /* where in the tick a stream begins: phase/phases; 0 of 0 is anywhere */
	size_t memory;            /* bytes that memory probes may use */
	int out;                  /* where events go */
};

struct run {
	const struct settings *settings;
	const char *probe;
	long id, round;
	int64_t budget;
};

/* A stream of batches: `body` does the work `count` times. */
struct work {
	int (*body)(struct work *work, long count); /* 0, or -1 after `failed` */
	int (*between)(struct work *work);          /* after each batch, not timed; may be NULL */
	const char *part;                           /* whole, less, plus; NULL is whole */
	long operations;                            /* of one count */
	long most;                                  /* counts in a batch at most; 0 is any */
	uint64_t bytes, over;                       /* moved by one operation, gone over */
	int in, out;                                /* descriptors */
	unsigned char *memory, *other;
	size_t length, at;
	long next;
	const char *path;
};

struct probe {
	const char *name;             /* as the host knows it */
	int (*measure)(struct run *run);
};

/* How a run that gives no figure ended: `failed` reads errno, `lacking` says why this system cannot. Both return -1. */
int failed(const char *call);
int lacking(const char *why);

/* Events, collected and written at the end of a run. */
void say(const char *format, ...);
void say_text(const char *text);
void say_column(const char *before, const int64_t *values, size_t count);
void say_reason(const char *kind, long id, const char *message, const char *call, int error);
void say_why(long id);
int flush_events(int fd);  /* to nowhere where fd is -1; -1 where not all was written */

/* Figures for people: of one part of a run, and the line of the whole run. */
void add_figure(const struct work *work, const int64_t *elapsed, size_t count, int64_t iterations);
void add_latencies(const int64_t *values, size_t count);
void start_figure(void);
void say_figure(const struct run *run);
extern int for_people;     /* a line for people in place of events */

/* A folder of our own to work in, and how it goes away. */
int enter_folder(void);
void leave_folder(void);

/* Measuring. */
int64_t now(void);
int64_t precision(void);
int64_t stamp_cost(void);
void align(const struct run *run);
int stream(struct run *run, struct work *work);
int received(struct run *run, const int ends[2], size_t piece);
int curve(struct run *run, size_t largest, int (*point)(struct run *run, size_t size, struct work *work));
void observed(struct run *run, const char *part);
extern int lines_observed; /* by this process */
void *room(size_t bytes);

/* A value that the compiler knows nothing of; costs no instruction. */
#if defined(__GNUC__)
#define OPAQUE(x) __asm__ volatile("" : "+r"(x))
#if defined(__x86_64__)
#define OPAQUE_FLOAT(x) __asm__ volatile("" : "+x"(x))
#define MARK(nop, register) __asm__ volatile("nopl 0x746d6b0" nop "(%%rax)" ::: "memory")
#elif defined(__aarch64__)
#define OPAQUE_FLOAT(x) __asm__ volatile("" : "+w"(x))
#define MARK(nop, register) __asm__ volatile("orr xzr,xzr,x" register ::: "memory")
#elif defined(__powerpc__)
#define OPAQUE_FLOAT(x) __asm__ volatile("" : "+f"(x))
#define MARK(nop, register) __asm__ volatile("ori " register "," register ",0" ::: "memory")
#elif defined(__riscv)
#define OPAQUE_FLOAT(x) __asm__ volatile("" : "+f"(x))
#define MARK(nop, register) __asm__ volatile("slti zero,zero,0x6d" nop ::: "memory")
#else
#define OPAQUE_FLOAT(x) __asm__ volatile("" : "+m"(x))
#endif
#else
extern volatile int agent_opaque;
#define OPAQUE(x) ((x) += agent_opaque)
#define OPAQUE_FLOAT(x) ((x) += agent_opaque)
#endif

/* Instructions that do nothing, for whoever counts those that are executed: a stream is prepared, what is timed begins, it has
 * ended. tcg-plugin/decode.c knows them. */
#ifndef MARK
#define MARK(nop, register)
#endif
#define MARK_BEGIN MARK("1", "21")
#define MARK_END MARK("2", "22")
#define MARK_STREAM MARK("3", "23")

/* As process 1 of a guest, and as its shell: guest.c. */
int begin_guest(void);
void end_guest(void);
void say_symbols(void);
int shell(int count, char **arguments);

/* The probes' functions, one file a kind. */
typedef int measure(struct run *run);
measure op, clock_read, tick_gaps, tick_spin, wake_up, plain_call, signals, protection_fault, files, mapping, page_fault;
measure network_trip, tcp_connect, select_calls, tcp_bandwidth;
measure process, round_trip, context_switch, pipe_bandwidth, file_bandwidth, memory_bandwidth, memory_latency;

#endif
