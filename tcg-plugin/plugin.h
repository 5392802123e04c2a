/* Counts, by function of the kernel, the instructions that a guest executes between marks. What its files share. */
#ifndef PLUGIN_H
#define PLUGIN_H
#include "qemu.h"
#include <stdio.h>

/* What an instruction does to the flow of control. */
enum kind { PLAIN, CALL, RETURN, INTERRUPT_RETURN, JUMP, SYSTEM_CALL, MARK_BEGIN, MARK_END, MARK_STREAM };
/* Of an instruction: it is the kernel's, a function's first, the first of a way into the kernel, of a new thread, of the function that
 * switches stacks, of stubs that lead to a way into the kernel; of a fault's entry: what it interrupts was not carried out, or may not have
 * been; of what handles interrupts where they enter as everything else does. */
enum { KERNEL = 1, FIRST = 2, ENTRY = 4, FORKED = 8, SWITCH = 16, STUBS = 32, FAULT = 64, PAGE_FAULT = 128, HANDLER = 256 };

/* An instruction that was translated. */
struct insn {
	uint64_t pc;
	const char *host;       /* where its bytes are: stands in for its physical address */
	uint32_t name;          /* its function's */
	uint8_t size, kind;
	uint16_t flags;
	struct insn *next;
};

/* Names, numbered by the list of symbols; these are ours. */
enum { USER, UNKNOWN, RESUMED, INTERRUPT, FIRST_NAME };

extern enum processor { X86, PPC, ARM, RISCV } processor;
extern unsigned stack_shift;    /* of the size of a thread's stack in the kernel */
extern bool is_counting;        /* between MARK_BEGIN and MARK_END */

/* decode.c: what an instruction is, by its bytes. */
enum kind decode(const uint8_t *bytes, size_t size);

/* symbols.c */
int read_symbols(const char *path);
uint32_t names(void);           /* one more than the highest number */
const char *text_of(uint32_t name);
void identify(struct insn *insn);

/* tree.c: who called whom, by thread; and each way into the kernel. */
void start_tree(void);
unsigned step(const struct insn *insn);  /* how many of those before were not carried out */
void stack_accessed(uint64_t address, bool is_store);
void clear_tree(void);
void write_tree(FILE *out);

/* cache.c: first-level caches. */
int set_caches(const char *model);      /* ISIZE:IWAYS:DSIZE:DWAYS:LINE */
bool has_caches(void);
void fetch(const struct insn *insn);
void data_accessed(const struct insn *insn, uint64_t physical, unsigned size);
void clear_caches(void);
void write_caches(FILE *out);

/* tree.c, for cache.c: the entry that is open, 0 where the program runs. */
struct misses { uint64_t instruction, data; };
uint32_t open_entry(void);
uint64_t open_number(void);     /* of this visit */
void line_fetched(void);        /* its first fetch from a line */
struct misses *misses_here(void);
#endif
