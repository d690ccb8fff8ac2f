/* The ioctls of a umad file, on whatever file descriptor 3 is. Loaded behind
 * the library under test, as the kernel would be. Says what it does on
 * descriptor 4; refuses the read methods while the file $TAKEN exists. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FILE_NUMBER 3
#define REGISTER 0xC01C1B01ul
#define UNREGISTER 0x40041B02ul
#define ENABLE_PKEY 0x1B03ul
#define GET (1u << 0x01)

static int used[32];

int ioctl(int fd, unsigned long request, ...)
{
	va_list ap;
	va_start(ap, request);
	unsigned char *argument = va_arg(ap, void *);
	va_end(ap);
	uint32_t mask, id = 0;

	if (fd != FILE_NUMBER)
		return syscall(SYS_ioctl, fd, request, argument);
	switch (request) {
	case ENABLE_PKEY:
		return 0;
	case REGISTER:
		memcpy(&mask, argument + 4, 4);
		if ((mask & GET) && !access(getenv("TAKEN"), F_OK)) {
			errno = EINVAL;
			return -1;
		}
		while (used[id])
			id++;
		used[id] = 1;
		memcpy(argument, &id, 4);
		dprintf(4, "register %u %#x\n", id, mask);
		return 0;
	case UNREGISTER:
		memcpy(&id, argument, 4);
		used[id] = 0;
		dprintf(4, "unregister %u\n", id);
		return 0;
	}
	errno = EINVAL;
	return -1;
}
