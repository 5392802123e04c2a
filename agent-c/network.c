/* What passes over the loopback interface: UDP, TCP, null calls of ONC RPC (RFC 5531) over both, connections; select. */
#include "agent.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define DESCRIPTORS 100
/* A listener's queue takes as many. */
#define CONNECTIONS 64
/* Connections to one address, which has some 28,000 ports and keeps each for a minute. */
#define MOST_OF_AN_ADDRESS 8000
#define BUFFER (64 << 10)
#define PIECE (128 << 10)

/* A program number for users (RFC 5531, section 13), a call and its reply in words. */
#define PROGRAM 0x20007469u
#define CALL_BYTES 40
#define REPLY_BYTES 24
#define LAST 0x80000000u

/* How much a socket holds each way; 0 leaves it to the system. */
static int hold(int fd, int buffer)
{
	if (buffer && (setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer) ||
		       setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer)))
		return failed("setsockopt");
	return 0;
}

/* An address of 127.0.0.0/8 with a port that is free. */
static int bound(int kind, uint32_t host, int buffer, struct sockaddr_in *address)
{
	socklen_t length = sizeof *address;
	int fd = socket(AF_INET, kind, 0);
	memset(address, 0, sizeof *address);
	address->sin_family = AF_INET;
	address->sin_addr.s_addr = htonl(host);
	if (fd < 0)
		return failed("socket");
	if (hold(fd, buffer))
		return -1;
	if (bind(fd, (struct sockaddr *)address, sizeof *address))
		return failed("bind");
	return getsockname(fd, (struct sockaddr *)address, &length) ? failed("getsockname") : fd;
}

static int listener(uint32_t host, int buffer, struct sockaddr_in *address)
{
	int fd = bound(SOCK_STREAM, host, buffer, address);
	return fd >= 0 && listen(fd, 2 * CONNECTIONS) ? failed("listen") : fd;
}

/* Both ends of a connection to a listener of this process. */
static int connected(int listening, const struct sockaddr_in *to, int buffer, int ends[2])
{
	int on = 1, i;
	ends[0] = socket(AF_INET, SOCK_STREAM, 0);
	if (ends[0] < 0)
		return failed("socket");
	if (hold(ends[0], buffer))
		return -1;
	if (connect(ends[0], (const struct sockaddr *)to, sizeof *to))
		return failed("connect");
	ends[1] = accept(listening, NULL, NULL);
	if (ends[1] < 0)
		return failed("accept");
	for (i = 0; !buffer && i < 2; i++)
		if (setsockopt(ends[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on))
			return failed("setsockopt");
	return 0;
}

static int tcp_pair(int buffer, int ends[2])
{
	struct sockaddr_in address;
	int listening = listener(INADDR_LOOPBACK, buffer, &address);
	if (listening < 0 || connected(listening, &address, buffer, ends))
		return -1;
	close(listening);
	return 0;
}

static int udp_pair(int ends[2])
{
	const struct timeval second = { 1, 0 };
	struct sockaddr_in addresses[2];
	int i;
	for (i = 0; i < 2; i++)
		if ((ends[i] = bound(SOCK_DGRAM, INADDR_LOOPBACK, 0, &addresses[i])) < 0)
			return -1;
	for (i = 0; i < 2; i++)
		if (connect(ends[i], (struct sockaddr *)&addresses[1 - i], sizeof addresses[0]))
			return failed("connect");
	/* A datagram that is lost ends the wait. */
	return setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &second, sizeof second) ? failed("setsockopt") : 0;
}

/* Of a stream a message may come in pieces; a datagram comes whole. */
static int take(int fd, unsigned char *to, size_t length)
{
	size_t at = 0;
	while (at < length) {
		ssize_t count = read(fd, to + at, length - at);
		if (count < 0)
			return failed("read");
		if (!count)
			return lacking("the peer has ended");
		at += (size_t)count;
	}
	return 0;
}

static int give(int fd, const void *from, size_t length)
{
	return write(fd, from, length) == (ssize_t)length ? 0 : failed("write");
}

static int byte_trip(struct work *work, long count)
{
	unsigned char byte = 'x';
	while (count--)
		if (give(work->out, &byte, 1) || take(work->in, &byte, 1))
			return -1;
	return 0;
}

/* Words of a message behind the record's mark, which datagrams have not: `at` is 0 or 1. */
static void fill(uint32_t *words, size_t at, const uint32_t *message, size_t bytes)
{
	size_t i;
	words[0] = htonl(LAST | (uint32_t)bytes);
	for (i = 0; i < bytes / 4; i++)
		words[at + i] = htonl(message[i]);
}

/* A null call and the check of its reply. `at` is 1 of a stream. */
static int call(struct work *work, long count)
{
	uint32_t out[1 + CALL_BYTES / 4], in[1 + REPLY_BYTES / 4], expected[1 + REPLY_BYTES / 4];
	size_t mark = work->at * 4;
	while (count--) {
		uint32_t id = (uint32_t)++work->next;
		const uint32_t message[] = { id, 0, 2, PROGRAM, 1, 0, 0, 0, 0, 0 }, reply[] = { id, 1, 0, 0, 0, 0 };
		fill(out, work->at, message, CALL_BYTES);
		fill(expected, work->at, reply, REPLY_BYTES);
		if (give(work->out, out, mark + CALL_BYTES) || take(work->in, (unsigned char *)in, mark + REPLY_BYTES))
			return -1;
		if (memcmp(in, expected, mark + REPLY_BYTES))
			return lacking("the reply was no success of its call");
	}
	return 0;
}

/* The server: a call that it does not know gets none. */
static void serve_calls(int fd, size_t at)
{
	uint32_t in[1 + CALL_BYTES / 4], out[1 + REPLY_BYTES / 4];
	size_t mark = at * 4;
	while (!take(fd, (unsigned char *)in, mark + CALL_BYTES)) {
		const uint32_t *words = in + at;
		const uint32_t reply[] = { ntohl(words[0]), 1, 0, 0, 0, 0 };
		if (words[1] || ntohl(words[2]) != 2 || ntohl(words[3]) != PROGRAM || ntohl(words[4]) != 1 || words[5])
			return;
		fill(out, at, reply, REPLY_BYTES);
		if (give(fd, out, mark + REPLY_BYTES))
			return;
	}
}

static void serve_bytes(int fd)
{
	unsigned char byte;
	while (read(fd, &byte, 1) == 1 && write(fd, &byte, 1) == 1)
		;
}

/* One byte, or a null call of RPC, there and back; the peer ends with the run. */
int network_trip(struct run *run)
{
	struct work work = { .body = byte_trip };
	int ends[2], is_tcp = strstr(run->probe, "tcp") != NULL, is_call = strstr(run->probe, "rpc") != NULL;
	pid_t pid;
	if (is_tcp ? tcp_pair(0, ends) : udp_pair(ends))
		return -1;
	work.at = (size_t)is_tcp;
	if (is_call)
		work.body = call;
	pid = fork();
	if (pid < 0)
		return failed("fork");
	if (!pid) {
		close(ends[0]);
		if (is_call)
			serve_calls(ends[1], work.at);
		else
			serve_bytes(ends[1]);
		_exit(0);
	}
	close(ends[1]);
	work.in = work.out = ends[0];
	return stream(run, &work);
}

static struct sockaddr_in listening_at;

static int open_and_close(struct work *work, long count)
{
	(void)work;
	while (count--) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);
		if (fd < 0)
			return failed("socket");
		if (connect(fd, (struct sockaddr *)&listening_at, sizeof listening_at))
			return failed("connect");
		if (close(fd))
			return failed("close");
	}
	return 0;
}

/* An address of this process, of which there are many. */
static int fresh_listener(void)
{
	uint32_t mixed = (uint32_t)now() * 2654435761u;
	/* Where the loopback interface has but one address, it is that. */
	int fd = listener((127u << 24) | (mixed >> 8 & 0xffff00) | (2 + mixed % 250), 0, &listening_at);
	if (fd < 0)
		fd = listener(INADDR_LOOPBACK, 0, &listening_at);
	return fd >= 0 && fcntl(fd, F_SETFL, O_NONBLOCK) ? failed("fcntl") : fd;
}

/* Takes what was connected, and another address when this one has used many of its ports. */
static int accept_all(struct work *work)
{
	int fd;
	while ((fd = accept(work->in, NULL, NULL)) >= 0) {
		close(fd);
		work->next++;
	}
	if (errno != EAGAIN && errno != EWOULDBLOCK)
		return failed("accept");
	if (work->next > MOST_OF_AN_ADDRESS) {
		close(work->in);
		work->next = 0;
		work->in = fresh_listener();
	}
	return work->in < 0 ? -1 : 0;
}

int tcp_connect(struct run *run)
{
	struct work work = { .body = open_and_close, .between = accept_all, .most = CONNECTIONS };
	work.in = fresh_listener();
	return work.in < 0 ? -1 : stream(run, &work);
}

static fd_set watched;
static int highest;

static int poll_all(struct work *work, long count)
{
	while (count--) {
		struct timeval none = { 0, 0 };
		fd_set ready = watched;
		int found = select(highest + 1, &ready, NULL, NULL, &none);
		if (found < 0)
			return failed("select");
		if (found != work->next)
			return lacking("select found others ready than there are");
	}
	return 0;
}

/* On exactly 100 descriptors, without waiting: of a file, all ready; of TCP connections, none. */
int select_calls(struct run *run)
{
	struct work work = { .body = poll_all };
	struct sockaddr_in address;
	int is_tcp = strstr(run->probe, "tcp") != NULL, i, ends[2], file = -1;
	if (is_tcp ? (file = listener(INADDR_LOOPBACK, 0, &address)) < 0
		   : (file = open("mapped", O_RDWR | O_CREAT, 0600)) < 0)
		return is_tcp ? -1 : failed("open");
	FD_ZERO(&watched);
	for (i = 0; i < DESCRIPTORS; i++) {
		if (is_tcp ? connected(file, &address, 0, ends) : (ends[0] = dup(file)) < 0)
			return is_tcp ? -1 : failed("dup");
		if (ends[0] >= FD_SETSIZE)
			return lacking("select takes fewer descriptors");
		FD_SET(ends[0], &watched);
		highest = ends[0];
	}
	work.next = is_tcp ? 0 : DESCRIPTORS;
	return stream(run, &work);
}

/* 128 KiB at a time; the sockets' buffers are fixed. */
int tcp_bandwidth(struct run *run)
{
	int ends[2];
	return tcp_pair(BUFFER, ends) ? -1 : received(run, ends, PIECE);
}
