/* Where the files of steps lie: JOB.STEP.NODE in a directory that root alone writes to. */
#include "plugin.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A descriptor of the directory, or -1. Held open while a file is made in it, so that nobody can put
 * another directory in its place meanwhile. */
int directory_open(const char *path, bool make, char *error)
{
    struct stat is;
    if (make && mkdir(path, 0755) != 0 && errno != EEXIST) {
        snprintf(error, WORDS, "dir=%.300s: cannot make it: %s", path, strerror(errno));
        return -1;
    }
    int directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (directory < 0 || fstat(directory, &is) != 0) {
        snprintf(error, WORDS, "dir=%.300s: %s", path, strerror(errno));
    } else if ((is.st_uid != 0 && is.st_uid != geteuid()) || (is.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        snprintf(error, WORDS, "dir=%.300s: expected a directory that root owns and nobody else may write to",
                 path);
    } else {
        return directory;
    }
    if (directory >= 0)
        close(directory);
    return -1;
}

/* The node's number, too: several slurmd may run on one machine. */
void step_file(const struct step *step, char *name, size_t size)
{
    snprintf(name, size, "%u.%u.%u", step->job, step->step, step->node);
}

/* Its name until it is whole. A step is resolved by one process at a time. */
void step_file_unfinished(const struct step *step, char *name, size_t size)
{
    snprintf(name, size, "%u.%u.%u.new", step->job, step->step, step->node);
}

/* What steps of this job have left that had no orderly end. */
void job_files_remove(const char *directory, uint32_t job)
{
    char error[WORDS], prefix[16];
    int descriptor = directory_open(directory, false, error);
    /* Taken over by the stream. */
    DIR *stream = descriptor < 0 ? NULL : fdopendir(descriptor);
    if (stream == NULL) {
        if (descriptor >= 0)
            close(descriptor);
        return;
    }
    size_t length = (size_t)snprintf(prefix, sizeof prefix, "%u.", job);
    for (struct dirent *entry; (entry = readdir(stream)) != NULL;)
        if (strncmp(entry->d_name, prefix, length) == 0)
            unlinkat(descriptor, entry->d_name, 0);
    closedir(stream);
}
