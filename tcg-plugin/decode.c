/* Instructions of the processors, as far as they move the flow of control: the Intel manual's opcode map (volume 2, appendix A), the
 * branch instructions of the Power ISA (book I, 2.4; book III-E for the returns from interrupts), Arm's "Branches, Exception Generating and
 * System instructions" (Architecture Reference Manual, C4.1) and RISC-V's jumps with their hints of calls and returns (the unprivileged
 * manual, 2.5 and 16.8). */
#include "plugin.h"

static enum kind decode_ppc(const uint8_t *b)
{
	uint32_t word = (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
	uint32_t primary = word >> 26, extended = word >> 1 & 0x3ff;
	bool links = word & 1;
	switch (word) {
	case 0x62b50000: return MARK_BEGIN;     /* ori 21,21,0 */
	case 0x62d60000: return MARK_END;       /* ori 22,22,0 */
	case 0x62f70000: return MARK_STREAM;    /* ori 23,23,0 */
	}
	if (primary == 16 || primary == 18)     /* bc, b */
		return links ? CALL : JUMP;
	if (primary != 19)
		return PLAIN;
	switch (extended) {
	case 16: return links ? CALL : RETURN;  /* bclr */
	case 528: return links ? CALL : JUMP;   /* bcctr */
	case 38: case 39: case 50: case 51:     /* rfmci, rfdi, rfi, rfci */
		return INTERRUPT_RETURN;
	}
	return PLAIN;
}

static uint32_t little_endian(const uint8_t *b, size_t size)
{
	uint32_t word = b[0] | (uint32_t)b[1] << 8;
	return size < 4 ? word : word | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static enum kind decode_arm(uint32_t word)
{
	switch (word) {
	case 0xaa1503ff: return MARK_BEGIN;     /* orr xzr,xzr,x21 */
	case 0xaa1603ff: return MARK_END;       /* orr xzr,xzr,x22 */
	case 0xaa1703ff: return MARK_STREAM;    /* orr xzr,xzr,x23 */
	}
	if ((word & 0x7c000000) == 0x14000000)  /* b, bl */
		return word >> 31 ? CALL : JUMP;
	if ((word & 0xffe0001f) == 0xd4000001)  /* svc */
		return SYSTEM_CALL;
	if ((word & 0xfe000000) == 0xd6000000)  /* to a register, with its pointer authenticated or not */
		switch (word >> 21 & 7) {
		case 0: return JUMP;
		case 1: return CALL;
		case 2: return RETURN;
		case 4: return INTERRUPT_RETURN;
		default: return PLAIN;
		}
	if ((word & 0xff000000) == 0x54000000 || (word & 0x7c000000) == 0x34000000)
		return JUMP;                    /* b.cond; cbz, cbnz, tbz, tbnz */
	return PLAIN;
}

/* x1 and x5 hold addresses to return to. */
static enum kind riscv_jump(uint32_t to, uint32_t by)
{
	if (to == 1 || to == 5)
		return CALL;
	return by == 1 || by == 5 ? RETURN : JUMP;
}

static enum kind decode_riscv_compressed(uint32_t half)
{
	uint32_t rs1 = half >> 7 & 31, rs2 = half >> 2 & 31;
	switch ((half & 3) << 3 | half >> 13) {
	case 0xd: case 0xe: case 0xf: return JUMP;      /* c.j, c.beqz, c.bnez */
	case 0x14:                                      /* c.jr, c.jalr */
		if (rs1 && !rs2)
			return riscv_jump(half >> 12 & 1, rs1);
	}
	return PLAIN;
}

static enum kind decode_riscv(uint32_t word, size_t size)
{
	if (size == 2)
		return decode_riscv_compressed(word);
	switch (word) {
	case 0x6d102013: return MARK_BEGIN;     /* slti zero,zero,0x6d1 */
	case 0x6d202013: return MARK_END;
	case 0x6d302013: return MARK_STREAM;
	case 0x00000073: return SYSTEM_CALL;    /* ecall */
	case 0x10200073: return INTERRUPT_RETURN;       /* sret */
	}
	switch (word & 0x7f) {
	case 0x63: return JUMP;                 /* branches */
	case 0x6f: return riscv_jump(word >> 7 & 31, 0);
	case 0x67: return riscv_jump(word >> 7 & 31, word >> 15 & 31);
	}
	return PLAIN;
}

static bool is_prefix(uint8_t b)
{
	switch (b) {
	case 0x26: case 0x2e: case 0x36: case 0x3e: case 0x64: case 0x65: case 0x66: case 0xf2: case 0xf3:
		return true;
	}
	return false;
}

/* After the byte 0x0f. */
static enum kind decode_x86_two_bytes(const uint8_t *b, size_t size)
{
	if (!size)
		return PLAIN;
	/* nopl 0x746d6bNN(%rax) */
	if (size == 6 && b[0] == 0x1f && b[1] == 0x80 && b[3] == 0x6b && b[4] == 0x6d && b[5] == 0x74)
		return b[2] == 1 ? MARK_BEGIN : b[2] == 2 ? MARK_END : b[2] == 3 ? MARK_STREAM : PLAIN;
	if (b[0] == 0x07 || b[0] == 0x35)       /* sysret, sysexit */
		return INTERRUPT_RETURN;
	return (b[0] & 0xf0) == 0x80 ? JUMP : PLAIN;
}

static enum kind decode_x86(const uint8_t *b, size_t size)
{
	size_t at = 0;
	while (at < size && is_prefix(b[at]))
		at++;
	if (at < size && (b[at] & 0xf0) == 0x40)        /* REX */
		at++;
	if (at >= size)
		return PLAIN;
	switch (b[at]) {
	case 0x0f: return decode_x86_two_bytes(b + at + 1, size - at - 1);
	case 0xe8: return CALL;
	case 0xc2: case 0xc3: case 0xca: case 0xcb: return RETURN;
	case 0xcf: return INTERRUPT_RETURN;
	case 0xe0: case 0xe1: case 0xe2: case 0xe3: case 0xe9: case 0xeb: return JUMP;
	case 0xff:
		switch (at + 1 < size ? b[at + 1] >> 3 & 7 : 0) {
		case 2: case 3: return CALL;
		case 4: case 5: return JUMP;
		}
		return PLAIN;
	}
	return (b[at] & 0xf0) == 0x70 ? JUMP : PLAIN;
}

enum kind decode(const uint8_t *bytes, size_t size)
{
	if (processor == X86)
		return decode_x86(bytes, size);
	if (processor == RISCV)
		return decode_riscv(little_endian(bytes, size), size);
	if (size != 4)
		return PLAIN;
	return processor == PPC ? decode_ppc(bytes) : decode_arm(little_endian(bytes, size));
}
