/* Does with a umad file what OpenSM does by libibumad: registers, reads in a
 * thread of its own, answers every request with as many bytes as the request's
 * attribute modifier says, sends a Report for an "r" on its standard input,
 * forks children that close the file in every way for an "f", gives the file a
 * second number and closes the first for a "d", closes all numbers from 6 on for
 * a "c", and at the end of its input cancels the thread, closes and exits. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define FILE_NUMBER 3
static uint32_t agent;
static volatile int file = FILE_NUMBER;

static void fail(const char *what)
{
	fprintf(stderr, "opensm: %s: %m\n", what);
	exit(1);
}

static void *receive(void *unused)
{
	unsigned char packet[320];

	for (;;) {
		struct pollfd fd = { file, POLLIN, 0 };
		uint32_t id, more;

		errno = 77;
		if (poll(&fd, 1, -1) != 1 || !(fd.revents & POLLIN))
			fail("poll");
		ssize_t got = read(file, packet, sizeof packet);
		if (got < 88 || errno != 77)
			fail("read");
		memcpy(&id, packet, 4);
		if (id != agent)
			fail("a packet for another agent");
		if (packet[64 + 3] & 0x80) {
			dprintf(4, "response %#x\n", packet[64 + 3]);
			continue;
		}
		if (packet[4]) {
			dprintf(4, "status %u\n", packet[4]);
			continue;
		}
		memcpy(&more, packet + 64 + 20, 4);
		unsigned char *answer = calloc(1, 320 + more);
		memcpy(answer, packet, 320);
		answer[64 + 3] |= 0x80;
		memset(answer + 320, 0x5a, more);
		if (write(file, answer, 320 + more) != (ssize_t)(320 + more) || errno != 77)
			fail("write");
		memcpy(&id, answer, 4);
		if (id != agent)
			fail("the packet was changed");
		free(answer);
	}
	return unused;
}

static void report(void)
{
	unsigned char packet[320] = { 0 };
	uint32_t timeout = 50;

	memcpy(packet, &agent, 4);
	memcpy(packet + 8, &timeout, 4);
	memcpy(packet + 20, "\x00\xff\xff\x5a", 4);
	memcpy(packet + 64, "\x01\x03\x02\x06\0\0\0\0\0\0\0\0\x02\xda\xb0\x01", 16);
	if (write(file, packet, sizeof packet) != sizeof packet)
		fail("write of a Report");
}

/* A child that leaves nothing of the file open. */
static void child(int way)
{
	pid_t pid = way == 4 ? syscall(SYS_fork) : way == 5 ? vfork() : fork();

	if (!pid) {
		if (way == 0 || way >= 4)
			close(file);
		if (way == 1)
			dup2(0, file);
		if (way == 2)
			close_range(3, ~0u, 0);
		if (way == 3)
			for (int fd = 3; fd < 64; fd++)
				close(fd);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void renumber(void)
{
	int first = file, second = fcntl(first, F_DUPFD_CLOEXEC, 40);

	if (second < 0 || close(first))
		fail("second number");
	file = second;
}

int main(void)
{
	unsigned char request[28] = { 0 };
	uint32_t mask = 1u << 0x01 | 1u << 0x02 | 1u << 0x12 | 1u << 0x15;
	pthread_t thread;
	char byte;

	ioctl(FILE_NUMBER, 0x1B03ul, NULL);
	memcpy(request + 4, &mask, 4);
	request[21] = 3;
	request[22] = 2;
	request[26] = 1;
	if (ioctl(FILE_NUMBER, 0xC01C1B01ul, request))
		fail("register");
	memcpy(&agent, request, 4);
	pthread_create(&thread, NULL, receive, NULL);
	for (;;) {
		ssize_t got = read(0, &byte, 1);
		if (got != 1)
			break;
		if (byte == 'r')
			report();
		if (byte == 'f') {
			for (int way = 0; way < 6; way++)
				child(way);
			dprintf(4, "forked\n");
		}
		if (byte == 'd') {
			renumber();
			dprintf(4, "renumbered\n");
		}
		if (byte == 'c') {
			for (int fd = 6; fd < 40; fd++)
				close(fd);
			close_range(6, 39, 0);
			close_range(41, ~0u, 0);
			dprintf(4, "closed\n");
		}
	}
	pthread_cancel(thread);
	pthread_join(thread, NULL);
	if (ioctl(file, 0x40041B02ul, &agent))
		fail("unregister");
	close(file);
	dprintf(4, "end\n");
	return 0;
}
