/* A TCG plugin of QEMU: the instructions of a guest between marks, by function of its kernel.
 *
 *   gcc -O2 -shared -fPIC -fvisibility=hidden -o explain.so *.c
 *   qemu-system-... -plugin explain.so,symbols=FILE,out=FILE[,stack=SHIFT][,cache=ISIZE:IWAYS:DSIZE:DWAYS:LINE]
 *
 * Nothing is counted before the first mark of a stream: until then the guest runs nearly as fast as without. What each file does is said
 * at its beginning; what is written, beside the functions that write it. */
#include "plugin.h"
#include <stdlib.h>
#include <string.h>

EXPORT int qemu_plugin_version = QEMU_API;

#define BUCKETS (1u << 16)
bool is_counting;
enum processor processor;
unsigned stack_shift;
static bool is_watching;                /* since the first mark of a stream */
static struct insn *known[BUCKETS];
static qemu_plugin_id_t self;
static FILE *out;
static uint64_t in_window, *windows;
static size_t window_count, window_room;

static enum kind decoded(const struct qemu_plugin_insn *insn)
{
	size_t size = qemu_plugin_insn_size(insn);
#if QEMU_API < 3
	return decode(qemu_plugin_insn_data(insn), size);
#else
	uint8_t bytes[16] = { 0 };
	qemu_plugin_insn_data(insn, bytes, sizeof bytes);
	return decode(bytes, size);
#endif
}

/* The record of an instruction: there is one for each, however often it is translated. */
static struct insn *record(const struct qemu_plugin_insn *translated)
{
	struct insn insn = {
		.pc = qemu_plugin_insn_vaddr(translated),
		.host = qemu_plugin_insn_haddr(translated),
		.size = (uint8_t)qemu_plugin_insn_size(translated),
	};
	struct insn **at, *same;
	if (processor == PPC)
		insn.pc &= 0xffffffff;
	insn.kind = (uint8_t)decoded(translated);
	at = &known[insn.pc * 0x9e3779b97f4a7c15 >> 48];
	for (same = *at; same; same = same->next)
		if (same->pc == insn.pc && same->host == insn.host && same->kind == insn.kind && same->size == insn.size)
			return same;
	identify(&insn);
	insn.next = *at;
	same = malloc(sizeof *same);
	if (!same)
		abort();
	*same = insn;
	return *at = same;
}

/* ---- windows and streams ---- */

static void end_window(void)
{
	if (!is_counting)
		return;
	is_counting = false;
	if (window_count == window_room) {
		window_room = window_room ? window_room * 2 : 4096;
		windows = realloc(windows, window_room * sizeof *windows);
		if (!windows)
			abort();
	}
	windows[window_count++] = in_window;
}

/* windows: the instructions of each. */
static void end_stream(void)
{
	size_t at;
	end_window();
	if (!window_count) {
		clear_tree();
		clear_caches();
		return;
	}
	fputs("windows", out);
	for (at = 0; at < window_count; at++)
		fprintf(out, "\t%llu", (unsigned long long)windows[at]);
	fputc('\n', out);
	write_tree(out);
	write_caches(out);
	fputs("end\n", out);
	fflush(out);
	window_count = 0;
	clear_tree();
	clear_caches();
}

/* ---- callbacks ---- */

static void executed(unsigned cpu, void *data)
{
	const struct insn *insn = data;
	(void)cpu;
	in_window -= step(insn);
	if (has_caches())
		fetch(insn);
	in_window += is_counting;
	if (insn->kind == MARK_BEGIN) {
		is_counting = true;
		in_window = 0;
	} else if (insn->kind == MARK_END) {
		end_window();
	} else if (insn->kind == MARK_STREAM) {
		end_stream();
	}
}

static void accessed(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	const struct insn *insn = data;
	(void)cpu;
	if (insn->flags & SWITCH)
		stack_accessed(address, qemu_plugin_mem_is_store(info));
	if (has_caches()) {
		const struct qemu_plugin_hwaddr *place = qemu_plugin_get_hwaddr(info, address);
		if (place && !qemu_plugin_hwaddr_is_io(place))
			data_accessed(insn, qemu_plugin_hwaddr_phys_addr(place), 1u << qemu_plugin_mem_size_shift(info));
	}
}

static void translate_all(qemu_plugin_id_t, struct qemu_plugin_tb *);
static void ended(qemu_plugin_id_t, void *);

static void watch(qemu_plugin_id_t id)
{
	qemu_plugin_register_vcpu_tb_trans_cb(id, translate_all);
	qemu_plugin_register_atexit_cb(id, ended, NULL);
}

static void first_stream(unsigned cpu, void *data)
{
	(void)cpu;
	(void)data;
	if (is_watching)
		return;
	is_watching = true;
	qemu_plugin_reset(self, watch);
}

static void translate_all(qemu_plugin_id_t id, struct qemu_plugin_tb *block)
{
	size_t count = qemu_plugin_tb_n_insns(block), at;
	(void)id;
	for (at = 0; at < count; at++) {
		struct qemu_plugin_insn *translated = qemu_plugin_tb_get_insn(block, at);
		struct insn *insn = record(translated);
		qemu_plugin_register_vcpu_insn_exec_cb(translated, executed, QEMU_PLUGIN_CB_NO_REGS, insn);
		if (has_caches() || insn->flags & SWITCH)
			qemu_plugin_register_vcpu_mem_cb(translated, accessed, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW, insn);
	}
}

/* Before the first stream: looks for its mark alone. */
static void translate_marks(qemu_plugin_id_t id, struct qemu_plugin_tb *block)
{
	size_t count = qemu_plugin_tb_n_insns(block), at;
	(void)id;
	for (at = 0; at < count; at++) {
		struct qemu_plugin_insn *translated = qemu_plugin_tb_get_insn(block, at);
		if (decoded(translated) == MARK_STREAM)
			qemu_plugin_register_vcpu_insn_exec_cb(translated, first_stream, QEMU_PLUGIN_CB_NO_REGS, NULL);
	}
}

static void ended(qemu_plugin_id_t id, void *data)
{
	(void)id;
	(void)data;
	end_stream();
	fclose(out);
}

static enum processor processor_of(const char *target)
{
	if (!strncmp(target, "ppc", 3))
		return PPC;
	if (!strncmp(target, "riscv", 5))
		return RISCV;
	return strcmp(target, "aarch64") ? X86 : ARM;
}

static int refuse(const char *why, const char *what)
{
	fprintf(stderr, "tickmark's plugin: %s %s\n", why, what);
	return 1;
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int count, char **arguments)
{
	const char *symbols = "", *path = "", *model = NULL;
	int at;
	self = id;
	processor = processor_of(info->target_name);
	stack_shift = processor == PPC ? 13 : 14;
	for (at = 0; at < count; at++) {
		char *value = strchr(arguments[at], '=');
		if (!value)
			return refuse("no value in", arguments[at]);
		*value++ = 0;
		if (!strcmp(arguments[at], "symbols"))
			symbols = value;
		else if (!strcmp(arguments[at], "out"))
			path = value;
		else if (!strcmp(arguments[at], "stack"))
			stack_shift = (unsigned)strtoul(value, NULL, 10);
		else if (!strcmp(arguments[at], "cache"))
			model = value;
		else
			return refuse("no such argument:", arguments[at]);
	}
	if (read_symbols(symbols))
		return refuse("cannot read symbols from", symbols);
	if (model && set_caches(model))
		return refuse("no such caches:", model);
	out = fopen(path, "w");
	if (!out)
		return refuse("cannot write", path);
	start_tree();
	qemu_plugin_register_vcpu_tb_trans_cb(id, translate_marks);
	qemu_plugin_register_atexit_cb(id, ended, NULL);
	return 0;
}
