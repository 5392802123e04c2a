/* What the agent is besides: process 1 of a guest, and the shell and the program that `process.*` start there. */
#include "agent.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#endif

#ifdef __linux__
/* The kernel gives it 127.0.0.1 then. Without a network the probes say so. */
static void start_loopback(void)
{
	struct ifreq lo;
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	memset(&lo, 0, sizeof lo);
	memcpy(lo.ifr_name, "lo", 2);
	lo.ifr_flags = IFF_UP;
	if (fd >= 0) {
		ioctl(fd, SIOCSIFFLAGS, &lo);
		close(fd);
	}
}
#endif

/* Mounts what the probes need; where events go: the virtio port, or the console. */
int begin_guest(void)
{
#ifdef __linux__
	static const char *const places[][2] = {
		{ "/proc", "proc" }, { "/sys", "sysfs" }, { "/dev", "devtmpfs" }, { "/tmp", "tmpfs" },
	};
	size_t i;
	int out;
	for (i = 0; i < sizeof places / sizeof *places; i++) {
		mkdir(places[i][0], 0755);
		mount("none", places[i][0], places[i][1], 0, NULL);
	}
	start_loopback();
	if (chdir("/tmp"))
		return 1;
	out = open(GUEST_PORT, O_WRONLY);
	return out < 0 ? 1 : out;
#else
	return 1;
#endif
}

/* The e500 machine resets by this, a PC ends. */
void end_guest(void)
{
#ifdef __linux__
	sync();
	if (!reboot(RB_AUTOBOOT))
		for (;;)
			pause();
#endif
}

/* The functions of this kernel as /proc/kallsyms has them, a line each; none of its modules, which are told in brackets. */
void say_symbols(void)
{
	FILE *list = fopen("/proc/kallsyms", "r");
	char line[512], kind;
	while (list && fgets(line, sizeof line, list))
		if (sscanf(line, "%*s %c", &kind) == 1 && strchr("tTwW", kind) && !strchr(line, '['))
			say("%s", line);
	if (list)
		fclose(list);
}

/* `sh -c WORDS`: executes them. */
int shell(int count, char **arguments)
{
	char *words[32], *word;
	size_t n = 0;
	int status = 0;
	pid_t pid;
	if (count < 3 || strcmp(arguments[1], "-c"))
		return 2;
	for (word = strtok(arguments[2], " "); word && n < 31; word = strtok(NULL, " "))
		words[n++] = word;
	words[n] = NULL;
	pid = n ? fork() : -1;
	if (!pid) {
		execv(words[0], words);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return 126;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 126;
}
