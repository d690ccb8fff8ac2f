/* What the parts of the plugin say to each other. See README.md for what it does. */
#ifndef SAPPHIRE_SLURM_H
#define SAPPHIRE_SLURM_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sapphire_sa.h"

/* Bounds: whoever writes a list of nodes may be any user, and this runs as root. */
enum {
    NODES_MOST = 65536,
    NAME_MOST = 255,    /* of a node; letters */
    PORTS_MOST = 16,    /* of a node */
    QUERIES_MOST = 1 << 20,
    VARIABLES_MOST = 8, /* of export= */
    WORDS = 512         /* room for an error in words */
};

/* options.c: the words behind the plugin in plugstack.conf. */
struct options {
    char ring[108];
    char hosts[PATH_MAX];
    char directory[PATH_MAX];
    uint32_t wishes;    /* SA_WISH_* of the next three */
    uint64_t service_id;
    uint16_t pkey;
    uint16_t qos_class;
    uint32_t deadline;  /* milliseconds, for everything together */
    bool must;          /* on_failure=fail */
    size_t variables;
    char variable[VARIABLES_MOST][64];
};
bool options_read(struct options *options, int count, char **words, char *error);

/* nodes.c: the nodes of a job, sorted by name, each once. */
struct node {
    char *name;
    size_t line;        /* of the file of hosts; 0: it is not there */
    size_t ports;
    struct sa_end port[PORTS_MOST];
};
struct nodes {
    size_t count;
    struct node *node;
};
bool nodes_expand(struct nodes *nodes, const char *list, char *error);
struct node *nodes_find(const struct nodes *nodes, const char *name);
void nodes_free(struct nodes *nodes);

/* hosts.c: gives nodes their ports. */
bool hosts_read(struct nodes *nodes, const char *path, char *error);

/* paths.c: one step of a job on this node, and what came of asking for its paths. */
struct step {
    uint32_t job, step, node;
    char host[NAME_MOST + 1]; /* of this node, as the job names it */
};
struct outcome {
    bool is_done;       /* the file is there */
    bool is_whole;      /* and has the path to every port of every peer */
    int32_t sl;         /* of all paths; -1: they differ, or one is missing */
    uint64_t found, refused, unanswered, unknown;
    char words[WORDS];  /* what was wrong; empty: nothing */
};
void paths_resolve(const struct options *options, const struct step *step, struct nodes *nodes,
                   uint64_t ends, struct outcome *outcome);

/* files.c: the directory that the files of steps lie in. */
int directory_open(const char *path, bool make, char *error);
void step_file(const struct step *step, char *name, size_t size);
void step_file_unfinished(const struct step *step, char *name, size_t size);
void job_files_remove(const char *directory, uint32_t job);

/* bounded.c: paths_resolve in a process of its own, which is ended at the deadline. */
void paths_resolve_in_time(const struct options *options, const struct step *step,
                           const char *list, struct outcome *outcome);
uint64_t now_ms(void);

#endif
