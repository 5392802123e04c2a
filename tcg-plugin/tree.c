/* The call tree. Each thread has a stack of frames of its own, kept by calls and returns; threads are told apart by the stack that the
 * kernel's switch function leaves and takes. A way into the kernel (a system call, an interrupt, a fault) begins at the root of the tree,
 * also where it interrupts the kernel: what it takes is no part of what it interrupts. */
#include "plugin.h"
#include "visits.h"
#include <stdlib.h>
#include <string.h>

#define DEPTH 256

struct node { uint32_t name, parent, child, sibling; uint64_t own, calls; struct misses misses; };
/* `previous` and `next_pc` are of what a way into the kernel interrupts: there it goes on. */
struct frame { uint32_t node, visit; uint64_t back; const struct insn *previous; uint64_t next_pc; };
struct thread { uint64_t stack; uint32_t depth; struct frame frames[DEPTH]; struct thread *next; };

static struct node *nodes;
static uint32_t node_count, node_room;
static struct thread *threads, *current;
static uint32_t here;                   /* the innermost visit of this thread */
static const struct insn *previous;
static uint64_t next_pc, first_access, last_access, least_store, least_load, lost;

static uint32_t child_of(uint32_t parent, uint32_t name)
{
	uint32_t at;
	for (at = nodes[parent].child; at; at = nodes[at].sibling)
		if (nodes[at].name == name)
			return at;
	if (node_count == node_room) {
		struct node *more = zeroed(node_room *= 2, sizeof *more);
		memcpy(more, nodes, node_count * sizeof *more);
		free(nodes);
		nodes = more;
	}
	at = node_count++;
	nodes[at] = (struct node){ .name = name, .parent = parent, .sibling = nodes[parent].child };
	nodes[parent].child = at;
	return at;
}

void start_tree(void)
{
	node_room = 4096;
	nodes = zeroed(node_room, sizeof *nodes);
	node_count = 1;
	current = threads = zeroed(1, sizeof *current);
}

/* ---- frames ---- */

static void find_visit(void)
{
	uint32_t depth = current->depth;
	while (depth && !current->frames[depth - 1].visit)
		depth--;
	here = depth ? current->frames[depth - 1].visit : 0;
}

static void push(uint32_t name, uint64_t back, uint32_t visit)
{
	uint32_t parent = visit || !current->depth ? 0 : current->frames[current->depth - 1].node;
	if (current->depth == DEPTH) {
		lost++;
		if (visit)
			close_visit(visit);
		return;
	}
	current->frames[current->depth] = (struct frame){ child_of(parent, name), visit, back, previous, next_pc };
	nodes[current->frames[current->depth].node].calls += is_counting;
	current->depth++;
	if (visit)
		here = visit;
}

static void pop_to(uint32_t depth)
{
	while (current->depth > depth) {
		uint32_t visit = current->frames[--current->depth].visit;
		if (visit)
			close_visit(visit);
	}
	find_visit();
}

/* True if an instruction is of a frame's function: also of the entry that has become an interrupt. */
static bool is_of(const struct frame *frame, const struct insn *insn)
{
	return nodes[frame->node].name == insn->name || (frame->visit && visit_entry(frame->visit) == insn->name);
}

/* Goes on in another function without a call: at the end of one, or into the next; or back in the entry, which has jumped to the function. */
static void replace(const struct insn *insn)
{
	struct frame *frame = &current->frames[current->depth - 1];
	if (current->depth > 1 && !frame->visit && frame[-1].visit && is_of(frame - 1, insn)) {
		current->depth--;
		return;
	}
	if (frame->visit) {
		push(insn->name, 0, 0);
		return;
	}
	frame->node = child_of(current->depth > 1 ? nodes[frame->node].parent : 0, insn->name);
	nodes[frame->node].calls += is_counting && insn->flags & FIRST;
}

/* What entered as everything does turns out to be an interrupt. What it has called before stays where it is: then the tree and the visits
 * do not agree, and whoever reads them refuses both. */
static void becomes_interrupt(void)
{
	struct frame *frame = &current->frames[current->depth - 1];
	uint64_t own = rename_visit(here, INTERRUPT);
	nodes[frame->node].own -= own;
	nodes[frame->node].calls -= own != 0;
	frame->node = child_of(0, INTERRUPT);
	nodes[frame->node].own += own;
	nodes[frame->node].calls += own != 0;
}

static void returned(uint64_t pc)
{
	uint32_t depth = current->depth;
	while (depth && current->frames[depth - 1].back != pc)
		depth--;
	if (depth)
		pop_to(depth - 1);
}

static void returned_from_interrupt(void)
{
	uint32_t depth = current->depth;
	while (depth && !is_nested(current->frames[depth - 1].visit))
		depth--;
	if (depth > 1) {
		previous = current->frames[depth - 1].previous;
		next_pc = current->frames[depth - 1].next_pc;
		pop_to(depth - 1);
	}
}

/* ---- threads ---- */

static struct thread *find_thread(uint64_t stack)
{
	struct thread *thread;
	for (thread = threads; thread && thread->stack != stack; thread = thread->next)
		;
	return thread;
}

static struct thread *thread_on(uint64_t stack)
{
	struct thread *thread = find_thread(stack);
	if (thread)
		return thread;
	thread = find_thread(0);
	if (thread) {
		thread->stack = stack;
		return thread;
	}
	thread = zeroed(1, sizeof *thread);
	*thread = (struct thread){ .stack = stack, .next = threads };
	return threads = thread;
}

void stack_accessed(uint64_t address, bool is_store)
{
	uint64_t *least = is_store ? &least_store : &least_load;
	if (!first_access)
		first_access = address;
	if (!*least || address < *least)
		*least = address;
	last_access = address;
}

static void forget_accesses(void)
{
	first_access = last_access = least_store = least_load = 0;
}

/* The switch function saves on the stack that it leaves first, and restores from the one that it takes last. Where it saves in the task in
 * place of the stack, the least address that it writes is the one task's, and the least that it reads the other's. */
static void switch_stack(void)
{
	bool is_in_task = processor == ARM || processor == RISCV;
	uint64_t from = is_in_task ? least_store : first_access >> stack_shift;
	uint64_t to = is_in_task ? least_load : last_access >> stack_shift;
	forget_accesses();
	if (from == to)
		return;
	if (current->stack != from) {
		/* The first of all, or one on the stack of another that has ended. */
		struct thread *ended = find_thread(from), *running = current;
		if (ended) {
			current = ended;
			pop_to(0);
			ended->stack = 0;
			current = running;
		}
		current->stack = from;
	}
	current = thread_on(to);
	if (!current->depth)
		push(RESUMED, 0, open_visit(RESUMED, false));
	find_visit();
}

/* ---- an instruction ---- */

/* True if a way into the kernel is taken, and not gone on to: from its stubs, or from the first lines of another, where no interrupt comes. */
static bool is_entered(const struct insn *insn)
{
	bool may_jump = processor == X86 || processor == PPC;
	bool jumps = may_jump && previous && previous->kind == JUMP && here && previous->name == visit_name(here);
	bool goes_on = jumps || (previous && previous->flags & ENTRY);
	return insn->flags & ENTRY && insn->pc != next_pc && !goes_on;
}

/* Where the flow of control has moved to. */
static void moved(const struct insn *insn)
{
	if (!(insn->flags & KERNEL)) {
		pop_to(0);
		return;
	}
	/* The next interrupt may come at once: then it has interrupted what this one returned to. */
	if (previous && previous->kind == INTERRUPT_RETURN && insn->pc != next_pc) {
		if (is_nested(here))
			returned_from_interrupt();
		else if (insn->flags & ENTRY)
			pop_to(0);
	}
	if (insn->pc == next_pc && current->depth && is_of(&current->frames[current->depth - 1], insn))
		return;
	if (insn->flags & FORKED && (!previous || previous->kind != CALL)) {
		pop_to(0);
		push(insn->name, 0, open_visit(insn->name, false));
		return;
	}
	if (!previous || !(previous->flags & KERNEL) || !current->depth) {
		pop_to(0);
		push(insn->name, 0, open_visit(insn->name, false));
		return;
	}
	if (is_entered(insn)) {
		push(insn->name, 0, open_visit(insn->name, true));
		return;
	}
	if (insn->flags & HANDLER && here && current->frames[current->depth - 1].visit == here)
		becomes_interrupt();
	if (insn->pc != next_pc) {
		switch (previous->kind) {
		case CALL:
			/* Into its own middle: fills the buffer of returns, or goes on by a return (retpolines). */
			if (insn->flags & FIRST || insn->name != previous->name)
				push(insn->name, next_pc, 0);
			return;
		case RETURN: returned(insn->pc); break;
		}
	}
	if (!current->depth)
		push(insn->name, 0, open_visit(insn->name, false));
	else if (!is_of(&current->frames[current->depth - 1], insn))
		replace(insn);
}

static void count(const struct insn *insn, int by)
{
	if (!(insn->flags & KERNEL) || !current->depth) {
		nodes[0].own += (uint64_t)by;
		return;
	}
	nodes[current->frames[current->depth - 1].node].own += (uint64_t)by;
	if (here)
		count_visit(here, insn->name, by);
}

/* The instruction before a fault was announced, but will be carried out later, if at all. That of a page fault was carried out if what
 * could not be fetched came after it, behind a jump or on another page: that is seen when the fault returns. */
#define LONGEST 15       /* bytes of an instruction */
static bool is_fetched(const struct insn *before, uint64_t next)
{
	uint64_t in_page = next & 0xfff;
	return before->kind == PLAIN && in_page && in_page <= 0x1000 - LONGEST;
}

/* Where interrupts enter by the same door, a fault is known by its end. */
static bool is_certain(const struct insn *insn)
{
	return insn->flags & FAULT || (processor != RISCV && is_fetched(previous, next_pc));
}

/* The innermost way into the kernel that an instruction may be the return from. */
static const struct frame *left_by(const struct insn *insn)
{
	uint32_t depth = current->depth;
	if (!(insn->flags & KERNEL))
		return depth ? &current->frames[0] : NULL;
	if (!previous || previous->kind != INTERRUPT_RETURN)
		return NULL;
	while (depth && !is_nested(current->frames[depth - 1].visit))
		depth--;
	return depth > 1 ? &current->frames[depth - 1] : NULL;
}

/* The instruction before a fault that ends, if it was not carried out: it is the one that the fault returns to, or what came after it could be
 * fetched. */
static const struct insn *repeated(const struct insn *insn)
{
	const struct frame *frame = left_by(insn);
	if (!frame || !may_repeat(frame->visit) || !frame->previous)
		return NULL;
	return frame->previous->pc == insn->pc || is_fetched(frame->previous, frame->next_pc) ? frame->previous : NULL;
}

unsigned step(const struct insn *insn)
{
	bool is_fault = previous && insn->flags & (FAULT | PAGE_FAULT) && previous->kind != SYSTEM_CALL && is_entered(insn);
	bool repeats = is_fault && !is_certain(insn);
	const struct insn *again = is_fault ? NULL : repeated(insn);
	unsigned takes_back = is_counting && (again || (is_fault && !repeats));
	if (takes_back && !again)
		count(previous, -1);
	if (!previous || insn->pc != next_pc || insn->name != previous->name) {
		if ((insn->flags & (SWITCH | FIRST)) == (SWITCH | FIRST))
			forget_accesses();
		if (previous && previous->flags & SWITCH && !(insn->flags & SWITCH) && first_access)
			switch_stack();
		moved(insn);
	}
	/* Where it was interrupted, which goes on now: what comes next is no way into the kernel, or it were a fault itself. */
	if (takes_back && again)
		count(again, -1);
	if (repeats)
		set_may_repeat(here);
	previous = insn;
	next_pc = insn->pc + insn->size;
	if (is_counting)
		count(insn, 1);
	return takes_back;
}

uint32_t open_entry(void)
{
	return here ? visit_name(here) : USER;
}

uint64_t open_number(void)
{
	return here ? visit_number(here) : 0;
}

void line_fetched(void)
{
	count_line(here);
}

struct misses *misses_here(void)
{
	bool in_kernel = previous && previous->flags & KERNEL && current->depth;
	return &nodes[in_kernel ? current->frames[current->depth - 1].node : 0].misses;
}

/* ---- results ---- */

/* Forgets what was counted; who called whom goes on. */
void clear_tree(void)
{
	uint32_t at;
	for (at = 0; at < node_count; at++) {
		nodes[at].own = nodes[at].calls = 0;
		nodes[at].misses = (struct misses){ 0, 0 };
	}
	clear_visits();
	lost = 0;
}

/* node: NUMBER, PARENT, NAME, OWN, CALLS, MISSES of instructions and of data. */
void write_tree(FILE *out)
{
	uint32_t at;
	for (at = 0; at < node_count; at++)
		fprintf(out, "node\t%u\t%u\t%s\t%llu\t%llu\t%llu\t%llu\n", at, nodes[at].parent, text_of(nodes[at].name),
		        (unsigned long long)nodes[at].own, (unsigned long long)nodes[at].calls,
		        (unsigned long long)nodes[at].misses.instruction, (unsigned long long)nodes[at].misses.data);
	write_visits(out);
	fprintf(out, "lost\t%llu\n", (unsigned long long)(lost + visits_lost()));
}
