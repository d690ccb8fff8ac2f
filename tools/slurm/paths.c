/* Asks the node's sapphired for the paths from this node to every other one of a step, and writes
 * them into a file. */
#include "plugin.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Between two tries to connect. */
enum { AGAIN_MS = 20 };

/* The queries of a step and their answers; peer[n] is the node that query n leads to. */
struct asked {
    size_t count;
    struct sa_path_query *query;
    struct sa_answer *answer;
    const struct node **peer;
};

static bool wrong(struct outcome *outcome, const char *words)
{
    snprintf(outcome->words, sizeof outcome->words, "%s", words);
    return false;
}

/* From each port of this node to each port of every other. */
static bool prepare(struct asked *asked, const struct options *options, const struct nodes *nodes,
                    const struct node *own, struct outcome *outcome)
{
    size_t count = 0;
    for (size_t nth = 0; nth < nodes->count; nth++) {
        if (&nodes->node[nth] != own)
            count += own->ports * nodes->node[nth].ports;
        outcome->unknown += nodes->node[nth].ports == 0;
    }
    if (count > QUERIES_MOST)
        return wrong(outcome, "expected at most 1048576 pairs of ports on one node of a step");
    asked->query = calloc(count + 1, sizeof *asked->query);
    asked->answer = calloc(count + 1, sizeof *asked->answer);
    asked->peer = calloc(count + 1, sizeof *asked->peer);
    if (asked->query == NULL || asked->answer == NULL || asked->peer == NULL)
        return wrong(outcome, "there is no memory for the paths of so many nodes");
    for (size_t nth = 0; nth < nodes->count; nth++) {
        const struct node *peer = &nodes->node[nth];
        for (size_t pair = 0; peer != own && pair < own->ports * peer->ports; pair++) {
            struct sa_path_query *query = &asked->query[asked->count];
            query->source = own->port[pair / peer->ports];
            query->destination = peer->port[pair % peer->ports];
            query->wishes = options->wishes;
            query->service_id = options->service_id;
            query->pkey = options->pkey;
            query->qos_class = options->qos_class;
            asked->peer[asked->count++] = peer;
        }
    }
    return true;
}

static void forget(struct asked *asked)
{
    free(asked->query);
    free(asked->answer);
    free(asked->peer);
}

/* A daemon that is being started again is waited for, as long as there is time. */
static sa_client *connected(const struct options *options, uint64_t ends, struct outcome *outcome)
{
    for (;;) {
        sa_client *client = sa_client_connect(options->ring, 0, outcome->words, sizeof outcome->words);
        if (client != NULL) {
            outcome->words[0] = '\0';
            return client;
        }
        if (now_ms() + AGAIN_MS >= ends)
            return NULL;
        struct timespec pause = {0, AGAIN_MS * 1000000L};
        nanosleep(&pause, NULL);
    }
}

/* False: nothing was asked. Answers that are missing are counted, and the reason is in words. */
static bool ask(struct asked *asked, const struct options *options, uint64_t ends,
                struct outcome *outcome)
{
    sa_client *client = connected(options, ends, outcome);
    if (client == NULL)
        return false;
    uint64_t now = now_ms();
    struct sa_bulk bulk = SA_BULK_INIT;
    /* 0 would stand for the library's own. */
    bulk.deadline = now < ends ? (uint32_t)(ends - now) : 1;
    int status = sa_client_resolve(client, asked->query, asked->count, asked->answer, &bulk);
    if (status != 0)
        wrong(outcome, sa_client_error(client));
    sa_client_close(client);
    outcome->found = bulk.found;
    outcome->refused = bulk.refused;
    outcome->unanswered = bulk.unanswered;
    return status == 0 || bulk.found + bulk.refused > 0;
}

/* The SL that all paths have; -1: there is none such, or a path is missing. */
static int32_t common_sl(const struct asked *asked, const struct outcome *outcome)
{
    if (!outcome->is_whole || asked->count == 0)
        return -1;
    for (size_t nth = 1; nth < asked->count; nth++)
        if (asked->answer[nth].path.sl != asked->answer[0].path.sl)
            return -1;
    return asked->answer[0].path.sl;
}

static void print(FILE *file, const struct step *step, const struct nodes *nodes,
                  const struct asked *asked, const struct outcome *outcome)
{
    fprintf(file, "# sapphire paths 1: job %u, step %u, from %s: %llu found, %llu refused, "
            "%llu unanswered, %llu nodes unknown\n", step->job, step->step, step->host,
            (unsigned long long)outcome->found, (unsigned long long)outcome->refused,
            (unsigned long long)outcome->unanswered, (unsigned long long)outcome->unknown);
    fprintf(file, "# peer state slid dlid sl pkey mtu rate-code status\n");
    for (size_t nth = 0; nth < asked->count; nth++) {
        const struct sa_path *path = &asked->answer[nth].path;
        const char *name = asked->peer[nth]->name;
        int32_t status = asked->answer[nth].status;
        if (status == 0)
            fprintf(file, "%s found %u %u %u 0x%04x %u %u 0\n", name, path->slid, path->dlid,
                    path->sl, path->pkey, 128u << path->mtu, path->rate);
        else if (status > 0)
            fprintf(file, "%s refused - - - - - - 0x%04x\n", name, (unsigned)status);
        else
            fprintf(file, "%s unanswered - - - - - - -\n", name);
    }
    for (size_t nth = 0; nth < nodes->count; nth++)
        if (nodes->node[nth].ports == 0)
            fprintf(file, "%s unknown - - - - - - -\n", nodes->node[nth].name);
}

/* Whole or not at all: under another name first, which is nobody else's. */
static bool write_file(const char *directory, const struct step *step, const struct nodes *nodes,
                       const struct asked *asked, struct outcome *outcome)
{
    char name[64], unfinished[64];
    int folder = directory_open(directory, true, outcome->words);
    if (folder < 0)
        return false;
    step_file(step, name, sizeof name);
    step_file_unfinished(step, unfinished, sizeof unfinished);
    /* Of one who was ended here before. */
    unlinkat(folder, unfinished, 0);
    int made = openat(folder, unfinished, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    /* Whatever the umask: the tasks are another user's. */
    FILE *file = made >= 0 && fchmod(made, 0644) == 0 ? fdopen(made, "w") : NULL;
    bool is_written = file != NULL;
    if (file != NULL) {
        print(file, step, nodes, asked, outcome);
        is_written = fflush(file) == 0 && !ferror(file);
        is_written = fclose(file) == 0 && is_written;
    } else if (made >= 0) {
        close(made);
    }
    if (!is_written || renameat(folder, unfinished, folder, name) != 0) {
        snprintf(outcome->words, sizeof outcome->words, "%.300s/%s: %s", directory, name, strerror(errno));
        unlinkat(folder, unfinished, 0);
        is_written = false;
    }
    close(folder);
    return is_written;
}

/* This node, by the whole name of the machine or what stands before the first dot. */
static struct node *own_node(const struct nodes *nodes, const struct step *step)
{
    char name[NAME_MOST + 1];
    struct node *own = nodes_find(nodes, step->host);
    snprintf(name, sizeof name, "%.*s", (int)strcspn(step->host, "."), step->host);
    return own != NULL ? own : nodes_find(nodes, name);
}

/* Everything that one step needs, until ends. What came of it is in outcome. */
void paths_resolve(const struct options *options, const struct step *step, struct nodes *nodes,
                   uint64_t ends, struct outcome *outcome)
{
    struct asked asked = {0};
    const struct node *own = own_node(nodes, step);
    outcome->sl = -1;
    if (own == NULL) {
        snprintf(outcome->words, sizeof outcome->words,
                 "this machine is called %s, and the job has no such node", step->host);
    } else if (!hosts_read(nodes, options->hosts, outcome->words)) {
        return;
    } else if (own->ports == 0) {
        snprintf(outcome->words, sizeof outcome->words, "%.300s: it has no line for %s, this node",
                 options->hosts, own->name);
    } else if (prepare(&asked, options, nodes, own, outcome) && ask(&asked, options, ends, outcome)) {
        outcome->is_whole = outcome->found == asked.count && outcome->unknown == 0;
        outcome->sl = common_sl(&asked, outcome);
        outcome->is_done = write_file(options->directory, step, nodes, &asked, outcome);
    }
    forget(&asked);
}
