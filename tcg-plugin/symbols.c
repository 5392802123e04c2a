/* The kernel's functions: a file with a line each, in order of addresses: ADDRESS (hexadecimal), NUMBER of its name, what it is, NAME:
 * . a function, e a way into the kernel, d that of a fault by what an instruction does, p that of a fault by that or by fetching it, v stubs
 * that lead to one, f where a new thread begins, s what switches stacks, h what handles interrupts. */
#include "plugin.h"
#include <stdlib.h>
#include <string.h>

struct symbol { uint64_t address; uint32_t name; uint16_t flags; };
static struct symbol *symbols;
static size_t count;
static uint32_t most;
static char **texts;            /* names by number */

/* Keeps the name that has a number. */
static int keep(uint32_t number, const char *text)
{
	if (number >= most) {
		char **more = realloc(texts, (number + 1) * sizeof *texts);
		if (!more)
			return -1;
		texts = more;
		while (most <= number)
			texts[most++] = NULL;
	}
	if (!texts[number]) {
		texts[number] = malloc(strlen(text) + 1);
		if (texts[number])
			strcpy(texts[number], text);
	}
	return texts[number] ? 0 : -1;
}

int read_symbols(const char *path)
{
	static const char *const own[FIRST_NAME] = { "program", "unknown code", "resumed thread", "interrupt" };
	FILE *file = fopen(path, "r");
	size_t room = 0;
	unsigned long long address;
	unsigned name;
	char what;
	char text[512];
	uint16_t flags;
	if (!file)
		return -1;
	for (name = 0; name < FIRST_NAME; name++)
		if (keep(name, own[name]))
			return -1;
	while (fscanf(file, "%llx %u %c %511[^\n]", &address, &name, &what, text) == 4) {
		switch (what) {
		case 'e': flags = ENTRY; break;
		case 'd': flags = ENTRY | FAULT; break;
		case 'p': flags = ENTRY | PAGE_FAULT; break;
		case 'v': flags = ENTRY | STUBS; break;
		case 'f': flags = FORKED; break;
		case 's': flags = SWITCH; break;
		case 'h': flags = HANDLER; break;
		default: flags = 0;
		}
		if (count == room) {
			struct symbol *more = realloc(symbols, (room = room ? room * 2 : 4096) * sizeof *symbols);
			if (!more)
				return -1;
			symbols = more;
		}
		symbols[count++] = (struct symbol){ address, name, flags };
		if (keep(name, text))
			return -1;
	}
	fclose(file);
	return count ? 0 : -1;
}

uint32_t names(void)
{
	return most;
}

const char *text_of(uint32_t name)
{
	return texts[name] ? texts[name] : "";
}

/* OpenSBI, which the kernel of RISC-V calls: where QEMU's virt machine loads it (its memory begins there, the kernel 2 MB above). */
static bool is_firmware(uint64_t pc)
{
	return processor == RISCV && pc >= 0x80000000 && pc < 0x80200000;
}

/* Fills in the function of an instruction, and what that makes it. */
void identify(struct insn *insn)
{
	size_t low = 0, high = count;
	if (insn->pc < (processor == PPC ? 0xc0000000 : (uint64_t)1 << 63) && !is_firmware(insn->pc)) {
		insn->name = USER;
		return;
	}
	insn->flags = KERNEL;
	if (is_firmware(insn->pc)) {
		insn->name = UNKNOWN;
		return;
	}
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (symbols[middle].address <= insn->pc)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low) {
		insn->name = UNKNOWN;
		return;
	}
	insn->name = symbols[low - 1].name;
	/* Of these it does not matter which instruction it is. */
	insn->flags |= symbols[low - 1].flags & (symbols[low - 1].flags & STUBS ? ENTRY | STUBS : SWITCH);
	if (symbols[low - 1].address == insn->pc)
		insn->flags |= FIRST | symbols[low - 1].flags;
}
