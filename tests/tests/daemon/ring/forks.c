/* A client whose process forks: the children leave the parent's ring alone.
 *
 *     forks RING    prints "parent done", then waits for a line while a child still has the socket
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "must.h"
#include "sapphire_sa.h"

enum { IN_FLIGHT = 8 };

static char error[256];

static void every_call_says_so(sa_client *client)
{
    struct sa_path path;
    uint8_t mad[256] = {0}, reply[256];
    size_t size = sizeof reply, count = 99;
    uint64_t position;
    struct sa_path_query query;
    struct sa_answer answer;
    struct sa_bulk bulk = SA_BULK_INIT;

    MUST(sa_client_check(client) == SA_ERROR_FORKED);
    MUST(sa_client_path_record_by_lid(client, 1, 2, &path) == SA_ERROR_FORKED);
    MUST(sa_client_ask(client, 0, mad, 120, reply, &size) == SA_ERROR_FORKED);
    MUST(sa_client_claim(client, 4, &count) == NULL && count == 0);
    sa_client_publish(client, 4);
    MUST(sa_client_replies(client, &count) == NULL && count == 0);
    sa_client_release(client, 4);
    MUST(sa_client_late_reply(client, &position, &count) == NULL);
    memset(&query, 0, sizeof query);
    query.source.kind = query.destination.kind = SA_END_LID;
    query.source.lid = query.destination.lid = 1;
    MUST(sa_client_resolve(client, &query, 1, &answer, &bulk) == SA_ERROR_FORKED);
}

/* What a child does, by number. */
static void child(int nth, sa_client *client, const char *path)
{
    struct sa_path found;

    every_call_says_so(client);
    switch (nth) {
    case 0: /* leaves all as it is */
        exit(0);
    case 1: /* ends the client, as a destructor would */
        sa_client_close(client);
        exit(0);
    case 2: /* gets a ring of its own */
        MUST(sa_client_reconnect(client) == 0);
        MUST(sa_client_path_record_by_lid(client, 1, 2, &found) == 0);
        MUST(sa_client_check(client) == 0);
        if (fork() == 0) {
            every_call_says_so(client);
            exit(0);
        }
        int status = 1;
        MUST(wait(&status) > 0 && status == 0);
        sa_client_close(client);
        exit(0);
    default: /* another one beside it */
        MUST((client = sa_client_connect(path, 4, error, sizeof error)) != NULL);
        MUST(sa_client_path_record_by_lid(client, 1, 2, &found) == 0);
        _exit(0);
    }
}

int main(int count, char **arguments)
{
    struct sa_path path;
    sa_client *client = NULL;

    MUST(count == 2);
    MUST((client = sa_client_connect(arguments[1], 64, error, sizeof error)) != NULL);
    sa_client_set_timeout(client, 20000);
    for (int nth = 0; nth < 4; nth++) {
        size_t claimed, back = 0;
        struct sa_slot *slots = sa_client_claim(client, IN_FLIGHT, &claimed);
        MUST(slots != NULL && claimed == IN_FLIGHT);
        for (size_t at = 0; at < claimed; at++)
            sa_slot_path_by_lids(&slots[at], at, 1, 2 + at);
        sa_client_publish(client, claimed);

        pid_t pid = fork();
        if (pid == 0)
            child(nth, client, arguments[1]);
        int status = 1;
        MUST(waitpid(pid, &status, 0) == pid && status == 0);

        MUST(sa_client_in_flight(client) == IN_FLIGHT);
        while (back < IN_FLIGHT) {
            size_t some;
            const struct sa_slot *replies = sa_client_replies(client, &some);
            for (size_t at = 0; at < some; at++, back++)
                MUST(sa_slot_path(&replies[at], &path) == 0 && path.dlid == 2 + back);
            sa_client_release(client, some);
        }
        MUST(sa_client_check(client) == 0);
        MUST(sa_client_path_record_by_lid(client, 1, 2, &path) == 0);
    }

    /* The parent's end is the end of its ring, also where a child lives on with its socket. */
    int gate[2];
    MUST(pipe(gate) == 0);
    if (fork() == 0) {
        char byte;
        close(gate[1]);
        exit(read(gate[0], &byte, 1) == 0 ? 0 : 1);
    }
    sa_client_close(client);
    client = NULL;
    puts("parent done");
    fflush(stdout);
    getchar();
    return 0;
}
