/* System calls, signals, files, mappings. */
#include "agent.h"
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif

#define FILES 64
#define PAGE 4096

/* A body that makes a call `count` times; `wrong` is true where it failed. */
#define CALL(name, call, wrong)                            \
	static int name(struct work *work, long count)         \
	{                                                      \
		(void)work;                                        \
		while (count--)                                    \
			if (wrong)                                     \
				return failed(call);                       \
		return 0;                                          \
	}

static char byte;
static struct stat status;
static int opened;

#ifdef SYS_getppid
CALL(get_parent, "getppid", syscall(SYS_getppid) < 0)
#else
CALL(get_parent, "getppid", getppid() < 0)
#endif
CALL(read_byte, "read", read(work->in, &byte, 1) != 1)
CALL(write_byte, "write", write(work->out, &byte, 1) != 1)
CALL(read_and_write, "read and write", read(work->in, &byte, 1) != 1 || write(work->out, &byte, 1) != 1)
CALL(get_status, "stat", stat(work->path, &status))
CALL(open_close, "open", (opened = open(work->path, O_RDONLY)) < 0 || close(opened))

int plain_call(struct run *run)
{
	struct work work = { .path = "a/b/file" };
	const char *name = run->probe + strlen("syscall.");
	int fd;
	if (!strcmp(name, "stat") || !strcmp(name, "open_close")) {
		/* Three components, as the other agent has it. */
		mkdir("a", 0700);
		mkdir("a/b", 0700);
		fd = open(work.path, O_RDWR | O_CREAT, 0600);
		if (fd < 0)
			return failed("open");
		close(fd);
		work.body = name[0] == 's' ? get_status : open_close;
		return stream(run, &work);
	}
	if (!strcmp(name, "null")) {
		work.body = get_parent;
		return stream(run, &work);
	}
	work.in = open("/dev/zero", O_RDONLY);
	work.out = open("/dev/null", O_WRONLY);
	if (work.in < 0 || work.out < 0)
		return failed("open");
	work.operations = !strcmp(name, "null_io") ? 2 : 1;
	work.body = work.operations == 2 ? read_and_write : !strcmp(name, "read") ? read_byte : write_byte;
	return stream(run, &work);
}

static volatile long handled;

static void count_signal(int number)
{
	(void)number;
	handled++;
}

static struct sigaction action_of(void (*handler)(int), int flags)
{
	struct sigaction action;
	memset(&action, 0, sizeof action);
	action.sa_handler = handler;
	action.sa_flags = flags;
	return action;
}

static struct sigaction counting;

CALL(install, "sigaction", sigaction(SIGUSR1, &counting, NULL))
CALL(kill_self, "kill", kill((pid_t)work->length, (int)work->next))

int signals(struct run *run)
{
	struct work work = { .body = install };
	struct work whole = { .body = kill_self, .next = SIGUSR1, .length = (size_t)getpid() };
	struct work less = { .body = kill_self, .part = "less", .length = (size_t)getpid() };
	counting = action_of(count_signal, 0);
	if (install(&work, 1))
		return -1;
	if (!strcmp(run->probe, "syscall.signal.install"))
		return stream(run, &work);
	handled = 0;
	if (kill_self(&whole, 1) || !handled)
		return lacking("the signal's handler was not called");
	return stream(run, &whole) || stream(run, &less) ? -1 : 0;
}

static sigjmp_buf back;

static void jump(int number)
{
	(void)number;
	handled++;
	siglongjmp(back, 1);
}

/* POSIX has no way to step over an instruction: the handler jumps back. What is taken off is a signal that does so too. */
static int store_or_kill(struct work *work, long count)
{
	volatile long left = count;
	while (left > 0) {
		left--;
		if (sigsetjmp(back, 0))
			continue;
		if (work->memory)
			*(volatile unsigned char *)work->memory = 1;
		else
			kill((pid_t)work->length, SIGUSR1);
	}
	return 0;
}

int protection_fault(struct run *run)
{
	struct work whole = { .body = store_or_kill };
	struct work less = { .body = store_or_kill, .part = "less", .length = (size_t)getpid() };
	struct work plus = { .body = kill_self, .part = "plus", .length = (size_t)getpid() };
	struct sigaction jumping = action_of(jump, SA_NODEFER);
	whole.memory = room(PAGE);
	if (!whole.memory || mprotect(whole.memory, PAGE, PROT_READ))
		return failed("mmap");
	if (sigaction(SIGSEGV, &jumping, NULL) || sigaction(SIGBUS, &jumping, NULL) || sigaction(SIGUSR1, &jumping, NULL))
		return failed("sigaction");
	handled = 0;
	if (store_or_kill(&whole, 1) || !handled)
		return lacking("a store to a read-only page raised no signal");
	return stream(run, &whole) || stream(run, &less) || stream(run, &plus) ? -1 : 0;
}

static const unsigned char content[10 << 10];

static void name_of(char *name, long number)
{
	sprintf(name, "f%ld", number % FILES);
}

static int make(struct work *work, long count)
{
	char name[16];
	for (; count--; work->next++) {
		int fd;
		name_of(name, work->next);
		fd = open(name, O_WRONLY | O_CREAT | O_EXCL, 0600);
		if (fd < 0)
			return failed("open");
		if (work->length && write(fd, content, work->length) != (ssize_t)work->length)
			return failed("write");
		if (close(fd))
			return failed("close");
	}
	return 0;
}

static int take_away(struct work *work, long count)
{
	char name[16];
	for (; count--; work->next++) {
		name_of(name, work->next);
		if (unlink(name))
			return failed("unlink");
	}
	return 0;
}

/* Undoes what was done since the last time, so that it can be done again. */
static int again(struct work *work)
{
	long done = work->next;
	work->next = 0;
	if ((work->body == make ? take_away : make)(work, done))
		return -1;
	work->next = 0;
	return 0;
}

int files(struct run *run)
{
	struct work work = { .most = FILES, .between = again };
	char name[16];
	long i;
	for (i = 0; i < FILES; i++) {
		name_of(name, i);
		unlink(name);
	}
	work.length = strstr(run->probe, "10k") ? sizeof content : 0;
	if (strstr(run->probe, "create")) {
		work.body = make;
	} else {
		if (make(&work, FILES))
			return -1;
		work.next = 0;
		work.body = take_away;
	}
	return stream(run, &work);
}

/* A file of which the first `written` bytes are there; -1 where it cannot be made. */
static int file_of(size_t length, size_t written)
{
	int fd = open("mapped", O_RDWR | O_CREAT | O_TRUNC, 0600);
	size_t at;
	if (fd < 0)
		return failed("open");
	for (at = 0; at < written; at += PAGE)
		if (write(fd, content, PAGE) != PAGE)
			return failed("write");
	if (ftruncate(fd, (off_t)length))
		return failed("ftruncate");
	return fd;
}

/* Maps the file, does something with `next` of its pages, unmaps it. 13 has no factor in common with 32: each page of
   128 KB is touched once, out of order. */
static int map(struct work *work, long count)
{
	int write_too = work->next < 0;
	while (count--) {
		volatile unsigned char *at = mmap(NULL, work->length, write_too ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, work->in, 0);
		size_t i, pages = work->length / PAGE;
		if ((void *)at == MAP_FAILED)
			return failed("mmap");
		for (i = 0; write_too && i < work->length / 10; i += 16 << 10)
			at[i] = 1;
		for (i = 0; work->next > 0 && i < pages; i++)
			(void)at[i * 13 % pages * PAGE];
		if (munmap((void *)at, work->length))
			return failed("munmap");
	}
	return 0;
}

/* 1 MB, as the Rust agent where memory is short. */
int mapping(struct run *run)
{
	struct work work = { .body = map, .length = 1 << 20, .next = -1 };
	work.over = work.length;
	work.in = file_of(work.length, work.length / 10 + (16 << 10));
	return work.in < 0 ? -1 : stream(run, &work);
}

int page_fault(struct run *run)
{
	struct work whole = { .body = map, .length = 128 << 10, .operations = (128 << 10) / PAGE, .next = 1 }, less;
	whole.over = whole.length;
	whole.in = file_of(whole.length, whole.length);
	less = whole;
	less.next = 0;
	less.part = "less";
	return whole.in < 0 || stream(run, &whole) || stream(run, &less) ? -1 : 0;
}

static char folder[512];

/* Everything that probes make lies in it. */
int enter_folder(void)
{
	const char *place = getenv("TMPDIR");
	if (!place || !*place || strlen(place) > sizeof folder - 32)
		place = "/tmp";
	sprintf(folder, "%s/agent-c-XXXXXX", place);
	/* By its whole name, also where TMPDIR is none. */
	if (!mkdtemp(folder) || chdir(folder) || !getcwd(folder, sizeof folder)) {
		folder[0] = 0;
		return -1;
	}
	return 0;
}

/* By names that are known: nothing else is in it. */
void leave_folder(void)
{
	static const char *const names[] = { "mapped", "reread", "a/b/file" };
	char name[16];
	size_t i;
	if (!folder[0] || chdir(folder))
		return;
	for (i = 0; i < FILES; i++) {
		name_of(name, (long)i);
		unlink(name);
	}
	for (i = 0; i < sizeof names / sizeof *names; i++)
		unlink(names[i]);
	rmdir("a/b");
	rmdir("a");
	if (chdir("/") || rmdir(folder))
		return;
	folder[0] = 0;
}
