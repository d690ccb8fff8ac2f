/* Resolves in a process of its own, so that a job waits no longer than the deadline whatever hangs:
 * a daemon that was stopped, a file of hosts on a file server that is gone. It also keeps the memory
 * and the descriptors of all this out of slurmstepd. */
#include "plugin.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The child ends by itself so much before it would be ended, to say what was wrong. */
enum { MARGIN_DIVISOR = 10 };

uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* The child's whole life. No logging of Slurm's: a thread of the parent may have held its lock. */
static void resolve(const struct options *options, const struct step *step, const char *list,
                    uint64_t ends, int to)
{
    struct nodes nodes;
    struct outcome outcome;
    memset(&outcome, 0, sizeof outcome);
    if (nodes_expand(&nodes, list, outcome.words))
        paths_resolve(options, step, &nodes, ends, &outcome);
    nodes_free(&nodes);
    /* Less than a pipe takes at once, so it is all there or not at all. */
    _exit(write(to, &outcome, sizeof outcome) == (ssize_t)sizeof outcome ? 0 : 1);
}
_Static_assert(sizeof(struct outcome) <= 4096, "one write to a pipe");

/* True: an outcome came in time. */
static bool wait_for_outcome(int from, uint64_t ends, struct outcome *outcome)
{
    for (;;) {
        uint64_t now = now_ms();
        struct pollfd waits = {from, POLLIN, 0};
        int ready = poll(&waits, 1, now < ends ? (int)(ends - now) : 0);
        if (ready > 0)
            return read(from, outcome, sizeof *outcome) == (ssize_t)sizeof *outcome;
        if (ready == 0 || errno != EINTR)
            return false;
    }
}

/* Ended, and taken away. One that not even SIGKILL ends at once, as it waits for a disk, is left to
 * slurmstepd, which takes away every child that it has. */
static void end(pid_t child)
{
    kill(child, SIGKILL);
    for (int tries = 0; tries < 50 && waitpid(child, NULL, WNOHANG) == 0; tries++) {
        struct timespec pause = {0, 1000000L};
        nanosleep(&pause, NULL);
    }
}

/* What an ended child may have left. */
static void remove_unfinished(const struct options *options, const struct step *step)
{
    char name[64], error[WORDS];
    int directory = directory_open(options->directory, false, error);
    if (directory < 0)
        return;
    step_file_unfinished(step, name, sizeof name);
    unlinkat(directory, name, 0);
    /* It may have been renamed just before. */
    step_file(step, name, sizeof name);
    unlinkat(directory, name, 0);
    close(directory);
}

void paths_resolve_in_time(const struct options *options, const struct step *step,
                           const char *list, struct outcome *outcome)
{
    int ends[2];
    uint64_t deadline = now_ms() + options->deadline;
    memset(outcome, 0, sizeof *outcome);
    outcome->sl = -1;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        snprintf(outcome->words, sizeof outcome->words, "no pipe: %s", strerror(errno));
        return;
    }
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        resolve(options, step, list, deadline - options->deadline / MARGIN_DIVISOR, ends[1]);
    }
    close(ends[1]);
    if (child < 0) {
        snprintf(outcome->words, sizeof outcome->words, "no process: %s", strerror(errno));
    } else if (!wait_for_outcome(ends[0], deadline, outcome)) {
        end(child);
        remove_unfinished(options, step);
        memset(outcome, 0, sizeof *outcome);
        outcome->sl = -1;
        snprintf(outcome->words, sizeof outcome->words,
                 "not done within deadline_ms=%u: does the daemon hang, or the file of hosts?",
                 options->deadline);
    } else {
        end(child);
    }
    close(ends[0]);
}
