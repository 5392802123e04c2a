/* Processes and what passes between them: fork, exec, sh, pipes, sockets, context switches. */
#include "agent.h"
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define RING 16
#define PIECE (64 << 10)
#define STRETCH (4 << 20)
/* What a fork copies beside this program, which has some mappings itself: 32 private pages. */
#define BALLAST (32 * 4096)

static int child(struct work *work, long count)
{
	while (count--) {
		pid_t pid = fork();
		int status;
		if (pid < 0)
			return failed("fork");
		if (!pid) {
			if (work->path && work->next)
				execl("/bin/sh", "sh", "-c", work->path, (char *)NULL);
			else if (work->path)
				execl(work->path, "nothing", (char *)NULL);
			_exit(work->path ? 127 : 0);
		}
		if (waitpid(pid, &status, 0) != pid)
			return failed("waitpid");
		if (!WIFEXITED(status) || WEXITSTATUS(status))
			return lacking("the program could not be executed");
	}
	return 0;
}

int process(struct run *run)
{
	struct work work = { .body = child };
	if (!room(BALLAST))
		return failed("mmap");
	if (strcmp(run->probe, "process.fork"))
		work.path = "/nothing";
	work.next = !strcmp(run->probe, "process.sh");
	if (work.path && access(work.path, X_OK))
		return lacking("there is no program /nothing (a link to the agent)");
	if (work.next && access("/bin/sh", X_OK))
		return lacking("there is no /bin/sh");
	return stream(run, &work);
}

/* Peers end with the run: they read from pipes whose other end it holds, and the run's group is ended after it. */
static int echo(struct work *work, int there[2], int back[2])
{
	char c;
	pid_t pid = fork();
	if (pid < 0)
		return failed("fork");
	if (pid) {
		work->out = there[1];
		work->in = back[0];
		close(there[0]);
		if (back[1] != there[0])
			close(back[1]);
		return 0;
	}
	close(there[1]);
	if (back[0] != there[1])
		close(back[0]);
	while (read(there[0], &c, 1) == 1 && write(back[1], &c, 1) == 1)
		;
	_exit(0);
}

static int trip(struct work *work, long count)
{
	char c = 'x';
	while (count--) {
		if (write(work->out, &c, 1) != 1)
			return failed("write");
		if (read(work->in, &c, 1) != 1)
			return failed("read");
	}
	return 0;
}

int round_trip(struct run *run)
{
	struct work work = { .body = trip };
	int there[2], back[2];
	if (strstr(run->probe, "unix")) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, there))
			return failed("socketpair");
		back[0] = there[1];
		back[1] = there[0];
	} else if (pipe(there) || pipe(back)) {
		return failed("pipe");
	}
	return echo(&work, there, back) ? -1 : stream(run, &work);
}

static int sum(struct work *work)
{
	const unsigned long *words = (const unsigned long *)(const void *)work->memory;
	size_t i, count = work->length / sizeof *words;
	unsigned long total = 0;
	for (i = 0; i < count; i++)
		total += words[i];
	OPAQUE(total);
	return 0;
}

static int turn(struct work *work, long count)
{
	while (count--)
		if (trip(work, 1) || sum(work))
			return -1;
	return 0;
}

/* `switch.Np.Kk`: a token goes round a ring of N processes, each adding up K KB of its own. */
int context_switch(struct run *run)
{
	struct work work = { .body = turn }, alone = { .body = turn, .part = "less" };
	int ends[RING][2], own[2], i, processes = 0;
	const char *c = run->probe + strlen("switch.");
	for (; *c >= '0' && *c <= '9'; c++)
		processes = processes * 10 + *c - '0';
	for (c += 2; *c >= '0' && *c <= '9'; c++)
		work.length = work.length * 10 + (size_t)(*c - '0');
	work.length <<= 10;
	if (processes < 2 || processes > RING)
		return lacking("rings have 2 to 16 processes");
	for (i = 0; i < processes; i++)
		if (pipe(ends[i]))
			return failed("pipe");
	for (i = 1; i < processes; i++) {
		pid_t pid = fork();
		if (pid < 0)
			return failed("fork");
		if (!pid) {
			int from = ends[i][0], to = ends[(i + 1) % processes][1], other;
			char byte;
			for (other = 0; other < processes; other++) {
				if (ends[other][0] != from)
					close(ends[other][0]);
				if (ends[other][1] != to)
					close(ends[other][1]);
			}
			if (work.length && !(work.memory = room(work.length)))
				_exit(1);
			while (read(from, &byte, 1) == 1 && !sum(&work) && write(to, &byte, 1) == 1)
				;
			_exit(0);
		}
	}
	if (pipe(own))
		return failed("pipe");
	work.over = alone.length = work.length;
	if (work.length && (!(work.memory = room(work.length)) || !(alone.memory = room(work.length))))
		return failed("mmap");
	work.operations = processes;
	work.out = ends[1][1];
	work.in = ends[0][0];
	alone.out = own[1];
	alone.in = own[0];
	return stream(run, &work) || stream(run, &alone) ? -1 : 0;
}

/* `length` bytes at a time. */
static int receive(struct work *work, long count)
{
	while (count--) {
		while (work->at < STRETCH) {
			ssize_t got = read(work->in, work->memory, work->length);
			if (got <= 0)
				return failed("read");
			work->at += (size_t)got;
		}
		work->at -= STRETCH;
	}
	return 0;
}

/* Reads 4 MiB of what a peer writes to the other end, a piece at a time. */
int received(struct run *run, const int ends[2], size_t piece)
{
	struct work work = { .body = receive, .bytes = STRETCH, .length = piece };
	pid_t pid;
	work.memory = room(piece);
	if (!work.memory)
		return failed("mmap");
	pid = fork();
	if (pid < 0)
		return failed("fork");
	if (!pid) {
		close(ends[0]);
		while (write(ends[1], work.memory, piece) > 0)
			;
		_exit(0);
	}
	close(ends[1]);
	work.in = ends[0];
	return stream(run, &work);
}

int pipe_bandwidth(struct run *run)
{
	int ends[2];
	if (strstr(run->probe, "unix") ? socketpair(AF_UNIX, SOCK_STREAM, 0, ends) : pipe(ends))
		return failed("pipe");
	return received(run, ends, PIECE);
}
