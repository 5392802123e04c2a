/* Takes time of a CPU in one way that is known, until SIGTERM, and prints how much by when, as JSON: columns of CLOCK_MONOTONIC_RAW, of its CPU
 * time, of CLOCK_MONOTONIC, of its CPU time without what interrupted it (all in ns) and of its count. A culprit that an instrument has to find.
 *
 * usage: culprit KIND CPU OTHER-CPU
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t ended;

static void end(int signal)
{
	(void)signal;
	ended = 1;
}

static long now(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

static void place(int cpu)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof set, &set)) {
		perror("sched_setaffinity");
		exit(1);
	}
}

static void rest(long ns)
{
	struct timespec t = { 0, ns };
	clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

/* Pauses of its loop in CPU time: interrupts, whose time the kernel counts as this task's, and what a hypervisor took. */
static long interrupted;

/* Computes for so much CPU time. */
static void burn(long ns)
{
	long last = now(CLOCK_THREAD_CPUTIME_ID), until = last + ns, shortest = ns;
	while (!ended && last < until) {
		long next = now(CLOCK_THREAD_CPUTIME_ID), took = next - last;
		if (!took)
			continue;
		if (took < shortest)
			shortest = took;
		if (took > 5 * shortest)
			interrupted += took - shortest;
		last = next;
	}
}

/* What it has done, each 10 ms. */
#define LOOKS 8192
static long looks[LOOKS][5];
static int looked;

static void look(long count)
{
	long time = now(CLOCK_MONOTONIC_RAW);
	if (looked < LOOKS && (!looked || time - looks[looked - 1][0] > 10000000)) {
		looks[looked][0] = time;
		looks[looked][1] = now(CLOCK_THREAD_CPUTIME_ID);
		looks[looked][4] = looks[looked][1] - interrupted;
		looks[looked][2] = now(CLOCK_MONOTONIC);
		looks[looked++][3] = count;
	}
}

static void print(const char *name, int column)
{
	printf("\"%s\": [", name);
	for (int at = 0; at < looked; at++)
		printf("%s%ld", at ? "," : "", looks[at][column]);
	printf("]");
}

/* The first number of a file, behind so many words; -1 where there is none. */
static long number(const char *path, int words)
{
	char text[1024];
	int fd = open(path, O_RDONLY);
	ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (fd >= 0)
		close(fd);
	if (size <= 0)
		return -1;
	text[size] = 0;
	char *at = text;
	while (words-- && (at = strchr(at, ' ')))
		at++;
	return at ? atol(at) : -1;
}

/* Who measures: the process of a run, `tickmark agent one`; 0 where there is none. */
static int measurer(void)
{
	DIR *all = opendir("/proc");
	struct dirent *one;
	int found = 0;
	while (all && !found && (one = readdir(all))) {
		char path[64], words[256] = "";
		snprintf(path, sizeof path, "/proc/%.20s/cmdline", one->d_name);
		int fd = atoi(one->d_name) ? open(path, O_RDONLY) : -1;
		if (fd < 0)
			continue;
		ssize_t size = read(fd, words, sizeof words - 1);
		close(fd);
		if (size > 0 && memmem(words, size, "\0agent\0one", 10))
			found = atoi(one->d_name);
	}
	if (all)
		closedir(all);
	return found;
}

/* Takes from a process the right to write its pages without a fault (soft-dirty, Documentation/admin-guide/mm/soft-dirty.rst), for which
 * its other CPUs forget their addresses. */
static int protect(int pid)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/clear_refs", pid);
	int fd = open(path, O_WRONLY);
	int done = fd >= 0 && write(fd, "4", 1) == 1;
	if (fd >= 0)
		close(fd);
	return done;
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	const char *kind = argv[1];
	int cpu = atoi(argv[2]), other = atoi(argv[3]);
	struct sigaction action = { .sa_handler = end };
	sigaction(SIGTERM, &action, NULL);
	alarm(60);
	prctl(PR_SET_NAME, "tmculprit");
	prctl(PR_SET_TIMERSLACK, 1);
	long count = 0, had = 0;
	int fd = -1;
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(9), .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int faults = !strcmp(kind, "fault"), protects = faults || !strcmp(kind, "flush"), target = 0;
	int loads = !strcmp(kind, "module") || !strcmp(kind, "vmalloc"), module = -1;
	int on_other = !strcmp(kind, "call") || !strcmp(kind, "work") || protects || loads;
	place(on_other ? other : cpu);
	if (!strcmp(kind, "fifo")) {
		struct sched_param level = { 50 };
		if (sched_setscheduler(0, SCHED_FIFO, &level))
			return perror("sched_setscheduler"), 1;
	} else if (!strcmp(kind, "wheel")) {
		struct timeval timeout = { 0, 4000 };
		fd = socket(AF_INET, SOCK_DGRAM, 0);
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
	} else if (!strcmp(kind, "packets")) {
		fd = socket(AF_INET, SOCK_DGRAM, 0);
	} else if (!strcmp(kind, "call")) {
		struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE, .size = sizeof attr, .config = PERF_COUNT_SW_CPU_CLOCK, .disabled = 1 };
		fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, 0);
		if (fd < 0)
			return perror("perf_event_open"), 1;
	} else if (!strcmp(kind, "work")) {
		fd = open("/proc/sys/vm/stat_refresh", O_WRONLY);
		if (fd < 0)
			return perror("stat_refresh"), 1;
	}
	if (loads) {
		char options[64];
		snprintf(options, sizeof options, "cpu=%d flushes=%d", cpu, !strcmp(kind, "vmalloc"));
		module = open("/lib/tmculprit.ko", O_RDONLY | O_CLOEXEC);
		if (module < 0 || syscall(SYS_finit_module, module, options, 0))
			return perror("tmculprit.ko"), 1;
	}
	while (!ended) {
		look(count);
		char byte = 0;
		if (!strcmp(kind, "hog")) {
			burn(1000000);
		} else if (!strcmp(kind, "fifo")) {
			burn(2000000);
			rest(8000000);
		} else if (!strcmp(kind, "timer")) {
			rest(1000000);
		} else if (!strcmp(kind, "wheel")) {
			recv(fd, &byte, 1, 0);
		} else if (!strcmp(kind, "packets")) {
			sendto(fd, &byte, 1, 0, (struct sockaddr *)&to, sizeof to);
			rest(500000);
		} else if (!strcmp(kind, "call")) {
			ioctl(fd, count % 2 ? PERF_EVENT_IOC_DISABLE : PERF_EVENT_IOC_ENABLE, 0);
			rest(1000000);
		} else if (!strcmp(kind, "work")) {
			if (write(fd, "1", 1) != 1 && !ended)
				return perror("write"), 1;
			rest(4000000);
		} else if (!strcmp(kind, "stopper")) {
			/* The stopper of the CPU that it leaves moves it. */
			place(other);
			place(cpu);
			rest(2000000);
		} else if (!strcmp(kind, "rcu")) {
			/* The inode of each is freed by RCU; those of open files are not since Linux 6.7. */
			for (int i = 0; i < 8; i++)
				if (close(syscall(SYS_memfd_create, "tmculprit", 0)))
					return perror("memfd_create"), 1;
			rest(1000000);
		} else if (protects) {
			/* Each run is a process of its own; its faults are what the kernel counts of it from the first look on. */
			char stat[64];
			int before = target;
			long now = -1;
			target = target ? target : measurer();
			if (target && !protect(target))
				target = 0;
			rest(2000000);
			snprintf(stat, sizeof stat, "/proc/%d/stat", target);
			if (target)
				now = number(stat, 9);
			if (faults && now >= 0 && target == before)
				count += now - had;
			had = now;
			if (faults)
				continue;
			count -= !target;
		} else if (loads) {
			rest(5000000);
			count = number("/sys/module/tmculprit/parameters/count", 0);
			continue;
		} else {
			return 2;
		}
		count++;
	}
	if (loads)
		syscall(SYS_delete_module, "tmculprit", 0);
	printf("{");
	print("time", 0);
	printf(", ");
	print("cpu", 1);
	printf(", ");
	print("monotonic", 2);
	printf(", ");
	print("count", 3);
	printf(", ");
	print("uninterrupted", 4);
	printf("}\n");
	return 0;
}
