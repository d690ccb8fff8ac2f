/* The ioctls of a umad file, on whatever file descriptor 3 is, and on what is
 * descriptor 5 when that is opened once more. Loaded behind the library under
 * test, as the kernel would be. Says what it does on descriptor 4, read agents
 * as "reader"; refuses the read methods while the file $TAKEN exists. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FILE_NUMBER 3
#define SECOND_FILE 5
#define REGISTER 0xC01C1B01ul
#define UNREGISTER 0x40041B02ul
#define ENABLE_PKEY 0x1B03ul
/* As if it were the first agent of that file. */
#define READER 0

static int used[32];
static int again = -1;

int open(const char *path, int flags, ...)
{
	if (!strcmp(path, "/proc/self/fd/3"))
		return again = fcntl(SECOND_FILE, F_DUPFD_CLOEXEC, 10);
	va_list ap;
	va_start(ap, flags);
	int mode = va_arg(ap, int);
	va_end(ap);
	return syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

/* Whatever number it has by now. */
static int is_file(int fd)
{
	static ino_t file;
	struct stat about;

	if (fstat(fd, &about))
		return 0;
	if (!file && fd == FILE_NUMBER)
		file = about.st_ino;
	return about.st_ino == file;
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list ap;
	va_start(ap, request);
	unsigned char *argument = va_arg(ap, void *);
	va_end(ap);
	uint32_t mask, id = 0;

	if (fd == again && again >= 0) {
		switch (request) {
		case ENABLE_PKEY:
			return 0;
		case REGISTER:
			memcpy(&mask, argument + 4, 4);
			if (!access(getenv("TAKEN"), F_OK)) {
				errno = EINVAL;
				return -1;
			}
			id = READER;
			memcpy(argument, &id, 4);
			dprintf(4, "reader %#x\n", mask);
			return 0;
		case UNREGISTER:
			dprintf(4, "no reader\n");
			return 0;
		}
	}
	if (!is_file(fd))
		return syscall(SYS_ioctl, fd, request, argument);
	switch (request) {
	case ENABLE_PKEY:
		return 0;
	case REGISTER:
		memcpy(&mask, argument + 4, 4);
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
