/* Instructions of the two processors, as far as they move the flow of control: the Intel manual's opcode map (volume 2, appendix A)
 * and the branch instructions of the Power ISA (book I, 2.4; book III-E for the returns from interrupts). */
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
	if (!is_ppc)
		return decode_x86(bytes, size);
	return size == 4 ? decode_ppc(bytes) : PLAIN;
}
