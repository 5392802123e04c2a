/*
 * The small agent of tickmark, for systems that the other one does not reach: C99 and POSIX, no library beside
 * the C library's. It measures what its plan asks for, a fresh process a run, and writes the same events.
 *
 *   agent-c --help
 *
 * As process 1 it does what guest.c says. Called `nothing` it ends; called `sh` it starts the words of `sh -c WORDS`.
 */
#include "agent.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define VERSION "agent-c 0.1.0"
/* One more than it takes: that is seen. */
#define RUNS (MOST_RUNS + 1)
#define WORD_(x) #x
#define WORD(x) WORD_(x)

static const struct probe probes[] = {
	{ "tick.spin", tick_spin }, { "tick", tick_gaps }, { "timer.clock_nanosleep.late", wake_up },
	{ "clock.monotonic.read", clock_read }, { "clock.realtime.read", clock_read }, { "syscall.null", plain_call },
	{ "syscall.null_io", plain_call }, { "syscall.read", plain_call }, { "syscall.write", plain_call },
	{ "syscall.stat", plain_call }, { "syscall.open_close", plain_call }, { "syscall.signal.install", signals },
	{ "syscall.signal.handle", signals }, { "syscall.fault.protection", protection_fault }, { "process.fork", process },
	{ "process.exec", process }, { "process.sh", process }, { "op.int32.bit", op }, { "op.int32.add", op },
	{ "op.int32.mul", op }, { "op.int32.div", op }, { "op.int32.mod", op }, { "op.int64.bit", op },
	{ "op.int64.add", op }, { "op.int64.mul", op }, { "op.int64.div", op }, { "op.int64.mod", op },
	{ "op.float.add", op }, { "op.float.mul", op }, { "op.float.div", op }, { "op.float.bogo", op },
	{ "op.double.add", op }, { "op.double.mul", op }, { "op.double.div", op }, { "op.double.bogo", op },
	{ "op.float.bogo_array", op }, { "op.double.bogo_array", op },
	{ "switch.2p.0k", context_switch }, { "switch.2p.16k", context_switch }, { "switch.2p.64k", context_switch },
	{ "switch.8p.16k", context_switch }, { "switch.8p.64k", context_switch }, { "switch.16p.16k", context_switch },
	{ "switch.16p.64k", context_switch }, { "ipc.pipe.round_trip", round_trip }, { "ipc.unix.round_trip", round_trip },
	{ "ipc.udp.round_trip", network_trip }, { "ipc.tcp.round_trip", network_trip },
	{ "ipc.rpc_udp.round_trip", network_trip }, { "ipc.rpc_tcp.round_trip", network_trip },
	{ "ipc.tcp.connect", tcp_connect }, { "syscall.select.files", select_calls }, { "syscall.select.tcp", select_calls },
	{ "bandwidth.tcp", tcp_bandwidth },
	{ "file.create.0k", files }, { "file.delete.0k", files }, { "file.create.10k", files }, { "file.delete.10k", files },
	{ "vm.mmap", mapping }, { "vm.fault.page", page_fault }, { "bandwidth.pipe", pipe_bandwidth },
	{ "bandwidth.unix", pipe_bandwidth }, { "bandwidth.file_reread", file_bandwidth },
	{ "bandwidth.mmap_reread", file_bandwidth }, { "bandwidth.copy.libc", memory_bandwidth },
	{ "bandwidth.copy.hand", memory_bandwidth }, { "bandwidth.memory.read", memory_bandwidth },
	{ "bandwidth.memory.write", memory_bandwidth }, { "memory.latency.random", memory_latency },
	{ "memory.latency.strided", memory_latency },
};
static const size_t probe_count = sizeof probes / sizeof *probes;

static const char help[] =
	"agent-c [OPTIONS] [PROBE...]   measure, and write events as JSON Lines (all probes where none is named)\n\n"
	"  --figures        a line for each probe, for people, in place of events\n"
	"  --list           the probes\n"
	"  --symbols        the kernel's functions, in place of events\n"
	"  --budget MS      how long each measures (100)\n"
	"  --memory KB      memory that probes may use (1024)\n"
	"  --batch NS       the longest batch (" WORD(LONGEST_BATCH) ")\n"
	"  --plan FILE      runs, a line each: number, round, budget in ns, probe\n"
	"  --tick NS --phase K/N   where in the tick each stream begins\n\n"
	"  agent-c --figures syscall.null ipc.pipe.round_trip\n"
	"  agent-c > events.jsonl; on another system: tickmark import events.jsonl, tickmark show last\n";

/* The process of the run that measures, 0 between runs. */
static volatile pid_t measuring;
static int lost;

/* Ctrl-C and its kin: the run ends, and the folder goes away. */
static void ended(int number)
{
	if (measuring > 0)
		kill(-measuring, SIGKILL);
	leave_folder();
	_exit(128 + number);
}

static void in_child(struct run *run, const struct probe *probe)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	size_t i;
	sigset_t none;
	for (i = 0; i < sizeof numbers / sizeof *numbers; i++)
		signal(numbers[i], SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	struct rusage usage;
	if (probe->measure(run)) {
		flush_events(-1);
		say_why(run->id);
	} else if (for_people) {
		flush_events(-1);
		say_figure(run);
	} else {
		memset(&usage, 0, sizeof usage);
		getrusage(RUSAGE_SELF, &usage);
		say("{\"finished\":{\"run\":%ld,\"instrument\":{\"clock\":\"monotonic\",\"precision\":%lld,\"stamp\":%lld,"
		    "\"empty_iteration\":0,\"frequency\":1000000000.0},\"resident_kb\":%ld,\"observed\":%d}}\n",
		    run->id, (long long)precision() * 1000, (long long)stamp_cost(), usage.ru_maxrss, lines_observed);
	}
	/* Whoever reads may take time: that is not measured. */
	alarm(0);
	_exit(flush_events(run->settings->out) ? 5 : 0);
}

static void one(struct run *run)
{
	struct timespec t;
	sigset_t all, before;
	pid_t pid;
	int status = 0;
	size_t i;
	clock_gettime(CLOCK_REALTIME, &t);
	say("{\"started\":{\"run\":%ld,\"probe\":", run->id);
	say_text(run->probe);
	say(",\"round\":%ld,\"at\":%lld}}\n", run->round, (long long)t.tv_sec * 1000000000 + t.tv_nsec);
	for (i = 0; i < probe_count && strcmp(probes[i].name, run->probe); i++)
		;
	if (i == probe_count)
		say_reason("skipped", run->id, "agent-c has no such probe", NULL, 0);
	if (for_people) {
		flush_events(-1);
		if (i == probe_count)
			say("%-28s unknown to agent-c\n", run->probe);
	}
	lost |= flush_events(run->settings->out);
	if (i == probe_count)
		return;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	measuring = pid = fork();
	if (pid)
		sigprocmask(SIG_SETMASK, &before, NULL);
	if (!pid) {
		setpgid(0, 0);
		/* A second more than the other agent: alarm counts whole ones. */
		alarm((unsigned)(run->budget * BUDGETS / 1000000000) + PATIENCE + 1);
		in_child(run, &probes[i]);
	}
	if (pid > 0)
		setpgid(pid, pid);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		say_reason("failed", run->id, strerror(errno), "fork", errno);
	/* It may have ended in the middle of a line. */
	if (pid > 0 && WIFSIGNALED(status))
		say("\n");
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		say_reason("timed_out", run->id, "ended after its limit", NULL, 0);
	else if (WIFEXITED(status) && WEXITSTATUS(status) == 5)
		lost = -1;
	else if (status)
		say_reason("failed", run->id, "the run's process was ended or has crashed", NULL, 0);
	if (pid > 0)
		kill(-pid, SIGKILL);
	measuring = 0;
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	lost |= flush_events(run->settings->out);
}

static void fact(const char *name, const char *value, const char *source, int first)
{
	say(first ? "\"%s\":{\"value\":" : ",\"%s\":{\"value\":", name);
	say_text(value);
	say(",\"source\":\"%s\"}", source);
}

static void file_fact(const char *name, const char *path)
{
	char text[512];
	int fd = open(path, O_RDONLY);
	ssize_t count = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	close(fd);
	while (count > 0 && (text[count - 1] == '\n' || text[count - 1] == ' '))
		count--;
	text[count > 0 ? count : 0] = 0;
	if (count > 0)
		fact(name, text, path, 0);
}

/* Whether timers have high resolution: the kernel's own word, -1 where it is silent. */
static int high_resolution(void)
{
	char line[128];
	FILE *list = fopen("/proc/timer_list", "r");
	int active = -1;
	while (list && fgets(line, sizeof line, list) && sscanf(line, " .hres_active : %d", &active) != 1)
		;
	if (list)
		fclose(list);
	return active;
}

static void hello(const struct settings *settings, const char *self)
{
	struct utsname name;
	struct stat status;
	int active = high_resolution();
	memset(&name, 0, sizeof name);
	uname(&name);
	if (stat(self, &status))
		status.st_size = 0;
	say("{\"hello\":{\"format\":{\"major\":" WORD(FORMAT_MAJOR) ",\"minor\":" WORD(FORMAT_MINOR) "},\"agent\":\"" VERSION
	    "\",\"agent_bytes\":%lld,"
	    "\"asked\":{\"cpu\":null,\"priority\":\"other\",\"priority_optional\":false,\"slack\":null,\"small\":true},"
	    "\"settled\":{\"cpu\":0,\"cpu_because\":\"agent-c measures where it is\",\"priority\":\"other\",\"allowed\":[0]},"
	    "\"environment\":{", (long long)status.st_size);
	fact("kernel.name", name.sysname, "uname", 1);
	fact("kernel.release", name.release, "uname", 0);
	fact("kernel.version", name.version, "uname", 0);
	fact("host.name", name.nodename, "uname", 0);
	file_fact("kernel.command_line", "/proc/cmdline");
	file_fact("clock.source", "/sys/devices/system/clocksource/clocksource0/current_clocksource");
	if (active >= 0)
		fact("clock.hres_active", active ? "1" : "0", "/proc/timer_list", 0);
	say("}}}\n");
	lost |= flush_events(for_people ? -1 : settings->out);
}

static int usage(const char *why)
{
	fprintf(stderr, "agent-c: %s; see agent-c --help\n", why);
	return 2;
}

int main(int count, char **arguments)
{
	struct settings settings = { .batch = LONGEST_BATCH, .memory = 1 << 20, .out = 1 };
	static struct run runs[RUNS];
	const char *plan = NULL, *called = strrchr(arguments[0], '/');
	int64_t budget = 100000000;
	size_t planned = 0, i;
	int at, first, marked = 0, symbols = 0;
	called = called ? called + 1 : arguments[0];
	/* Process 1 of a container is no guest's. */
	first = getpid() == 1 && !strcmp(called, "init");
	if (!strcmp(called, "nothing") || !strcmp(called, "sh"))
		return *called == 'n' ? 0 : shell(count, arguments);
	if (first)
		settings.out = begin_guest();
	for (at = 1; at < count && planned < RUNS; at++) {
		const char *option = arguments[at], *value = at + 1 < count ? arguments[at + 1] : "";
		if (option[0] != '-') {
			runs[planned] = (struct run){ &settings, option, (long)planned, 1, 0 };
			planned++;
			continue;
		}
		if (!strcmp(option, "--list")) {
			for (i = 0; i < probe_count; i++)
				puts(probes[i].name);
			return fflush(stdout) ? 1 : 0;
		}
		if (!strcmp(option, "--help")) {
			fputs(help, stdout);
			return fflush(stdout) ? 1 : 0;
		}
		if (!strcmp(option, "--figures")) {
			for_people = 1;
			continue;
		}
		if (!strcmp(option, "--symbols")) {
			symbols = 1;
			continue;
		}
		at++;
		if (!strcmp(option, "--budget"))
			budget = (int64_t)(strtod(value, NULL) * 1e6);
		else if (!strcmp(option, "--batch"))
			settings.batch = strtoll(value, NULL, 10);
		else if (!strcmp(option, "--memory"))
			settings.memory = (size_t)strtoul(value, NULL, 10) << 10;
		else if (!strcmp(option, "--tick"))
			settings.tick = strtoll(value, NULL, 10);
		else if (!strcmp(option, "--plan"))
			plan = value;
		else if (strcmp(option, "--phase") || sscanf(value, "%d/%d", &settings.phase, &settings.phases) != 2)
			return usage("no such option");
	}
	/* A line a run: its number, its round, its budget in ns, its probe. */
	if (plan) {
		static char names[RUNS][64];
		FILE *lines = fopen(plan, "r");
		long long each;
		if (!lines)
			return usage("the plan cannot be read");
		for (; planned < RUNS; planned++) {
			struct run *run = &runs[planned];
			if (fscanf(lines, "%ld %ld %lld %63s", &run->id, &run->round, &each, names[planned]) != 4)
				break;
			run->settings = &settings;
			run->probe = names[planned];
			run->budget = each;
		}
		fclose(lines);
	} else {
		if (!planned)
			for (; planned < probe_count; planned++)
				runs[planned] = (struct run){ &settings, probes[planned].name, (long)planned, 1, 0 };
		for (i = 0; i < planned; i++)
			runs[i].budget = budget;
	}
	if (settings.batch < 1 || settings.memory < 4096 || budget < 1 || planned == RUNS)
		return usage("sizes and times are above 0, and runs " WORD(MOST_RUNS) " at most");
	marked = first && settings.out == 1;
	if (marked)
		say("\n" CONSOLE_BEGIN "\n");
	if (symbols)
		say_symbols();
	else
		hello(&settings, first ? "/init" : arguments[0]);
	signal(SIGINT, ended);
	signal(SIGTERM, ended);
	signal(SIGHUP, ended);
	signal(SIGQUIT, ended);
	signal(SIGPIPE, SIG_IGN);
	/* A guest's own /tmp is nobody else's. */
	if (!first && enter_folder())
		return usage("no folder can be made in TMPDIR or /tmp");
	for (i = 0; i < planned && !symbols; i++)
		one(&runs[i]);
	leave_folder();
	say("{\"goodbye\":{\"complete\":true,\"state\":{}}}\n");
	if (marked)
		say(CONSOLE_END "\n");
	lost |= flush_events(for_people ? -1 : settings.out);
	if (first) {
		close(settings.out);
		end_guest();
	}
	if (lost)
		fputs("agent-c: not all that was measured could be written\n", stderr);
	return lost ? 1 : 0;
}
