/* Events as JSON Lines, the same as those of tickmark-agent: docs/FORMAT.md. */
#include "agent.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

int for_people;

static char *text;
static size_t length, capacity;

static void grow(size_t more)
{
	if (length + more < capacity)
		return;
	capacity = (length + more) * 2 + 4096;
	text = realloc(text, capacity);
	if (!text)
		_exit(3);
}

void say(const char *format, ...)
{
	va_list arguments;
	int count;
	grow(512);
	va_start(arguments, format);
	count = vsnprintf(text + length, 512, format, arguments);
	va_end(arguments);
	if (count > 0)
		length += count < 512 ? (size_t)count : 511;
}

void say_column(const char *before, const int64_t *values, size_t count)
{
	size_t i;
	say("%s", before);
	for (i = 0; i < count; i++)
		say(i ? ",%lld" : "%lld", (long long)values[i]);
}

void say_text(const char *from)
{
	grow(6 * strlen(from) + 8);
	text[length++] = '"';
	for (; *from; from++) {
		unsigned char c = (unsigned char)*from;
		if (c == '"' || c == '\\') {
			text[length++] = '\\';
			text[length++] = (char)c;
		} else if (c >= ' ' && c < 127) {
			text[length++] = (char)c;
		} else {
			length += (size_t)sprintf(text + length, "\\u%04x", c);
		}
	}
	text[length++] = '"';
}

/* Writes what was said, and waits until it has left the machine: sending it must not disturb the next run. */
int flush_events(int fd)
{
	size_t at = 0;
	int lost = 0;
	while (at < length) {
		ssize_t count = write(fd, text + at, length - at);
		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0) {
			lost = fd >= 0;
			break;
		}
		at += (size_t)count;
	}
	if (isatty(fd))
		tcdrain(fd);
	length = 0;
	return lost ? -1 : 0;
}

static const char *why_call, *why_lacking;
static int why_errno;

int failed(const char *call)
{
	why_errno = errno;
	why_call = call;
	return -1;
}

int lacking(const char *why)
{
	why_lacking = why;
	return -1;
}

void say_reason(const char *kind, long id, const char *message, const char *call, int error)
{
	if (for_people) {
		say("%s: %s%s%s\n", kind, message, call ? ", " : "", call ? call : "");
		return;
	}
	say("{\"%s\":[%ld,{\"message\":", kind, id);
	say_text(message);
	if (call)
		say(",\"call\":\"%s\",\"errno\":%d", call, error);
	say("}]}\n");
}

void say_why(long id)
{
	if (why_lacking)
		say_reason("skipped", id, why_lacking, NULL, 0);
	else
		say_reason(why_errno == ENOSYS ? "skipped" : "failed", id, strerror(why_errno), why_call, why_errno);
}
