/* A plugin for Slurm: gives the tasks of a step the paths from their node to its other nodes.
 *
 *     hook                          who, where               what
 *     slurm_spank_init              all                      are the options good?
 *     slurm_spank_init_post_opt     root, once for a step    resolve, write the file, set variables
 *     slurm_spank_task_init         each task                on_failure=fail: end it
 *     slurm_spank_exit              once for a step          remove the file
 *     slurm_spank_job_epilog        root, once for a job     remove what steps have left
 *
 * A step that must not run without its paths is ended by its tasks: a node whose plugin fails any
 * earlier is drained by Slurm, and then a daemon that is away would cost the cluster its nodes.
 */
#include "plugin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* All else is hidden, so that no name of ours stands in for one of Slurm's, or the other way. */
#pragma GCC visibility push(default)
#include <slurm/slurm.h>
#include <slurm/spank.h>

SPANK_PLUGIN(sapphire, 1)
#pragma GCC visibility pop

/* The names that this plugin has set, for the steps that inherit the environment of another. */
#define EXPORTED "SAPPHIRE_EXPORTED"
#define PATHS "SAPPHIRE_PATHS"
#define SL "SAPPHIRE_SL"

enum { LIST_MOST = 1 << 20 };

/* Of this process: slurmstepd serves one step, and its tasks begin as copies of it. */
static char file[PATH_MAX + 64]; /* written for this step; empty: none */
static char failure[WORDS];      /* why its tasks must not run; empty: they may */

/* Errors: logged. */
static bool read_options(struct options *options, int count, char **words)
{
    char error[WORDS];
    if (options_read(options, count, words, error))
        return true;
    slurm_error("sapphire: %s", error);
    return false;
}

int slurm_spank_init(spank_t spank, int count, char *words[])
{
    struct options options;
    (void)spank;
    /* srun, sbatch and salloc tell their user at once. A node says so when a step comes. */
    if (spank_context() != S_CTX_LOCAL && spank_context() != S_CTX_ALLOCATOR)
        return 0;
    return read_options(&options, count, words) ? 0 : -1;
}

/* What another step's environment has brought along would be another node's. */
static void forget_inherited(spank_t spank, const struct options *options)
{
    char names[VARIABLES_MOST * 65 + 1] = "";
    spank_unsetenv(spank, PATHS);
    spank_unsetenv(spank, SL);
    if (spank_getenv(spank, EXPORTED, names, sizeof names) != ESPANK_SUCCESS)
        return;
    spank_unsetenv(spank, EXPORTED);
    char *rest = NULL;
    for (char *name = strtok_r(names, ",", &rest); name != NULL; name = strtok_r(NULL, ",", &rest))
        for (size_t nth = 0; nth < options->variables; nth++)
            if (strcmp(name, options->variable[nth]) == 0)
                spank_unsetenv(spank, name);
}

/* One SL for all paths goes into the variables of export=, but for those that the user has set. */
static void export_sl(spank_t spank, const struct options *options, int32_t sl)
{
    char value[16], names[VARIABLES_MOST * 65 + 1] = "";
    snprintf(value, sizeof value, "%d", sl);
    spank_setenv(spank, SL, value, 1);
    for (size_t nth = 0; nth < options->variables; nth++) {
        if (spank_setenv(spank, options->variable[nth], value, 0) != ESPANK_SUCCESS)
            continue;
        size_t length = strlen(names);
        snprintf(names + length, sizeof names - length, "%s%s", length > 0 ? "," : "",
                 options->variable[nth]);
    }
    if (names[0] != '\0')
        spank_setenv(spank, EXPORTED, names, 1);
}

/* Tells of it, and hands it to the tasks. */
static void tell(spank_t spank, const struct options *options, const struct step *step,
                 const struct outcome *outcome)
{
    if (outcome->is_done) {
        char name[64];
        step_file(step, name, sizeof name);
        snprintf(file, sizeof file, "%s/%s", options->directory, name);
        spank_setenv(spank, PATHS, file, 1);
        if (outcome->sl >= 0)
            export_sl(spank, options, outcome->sl);
    }
    if (outcome->is_done && outcome->is_whole) {
        slurm_debug("sapphire: %llu paths in %s", (unsigned long long)outcome->found, file);
        return;
    }
    char text[WORDS];
    if (outcome->found + outcome->refused + outcome->unanswered + outcome->unknown == 0)
        snprintf(text, sizeof text, "%s", outcome->words);
    else
        snprintf(text, sizeof text, "%llu paths found, %llu refused, %llu unanswered, %llu nodes unknown%s%.380s",
                 (unsigned long long)outcome->found, (unsigned long long)outcome->refused,
                 (unsigned long long)outcome->unanswered, (unsigned long long)outcome->unknown,
                 outcome->words[0] != '\0' ? ": " : "", outcome->words);
    if (options->must)
        snprintf(failure, sizeof failure, "%s", text);
    else
        slurm_info("sapphire: %s; the step goes on", text);
}

/* The nodes of the step, or of the job where it is a batch script: that may have the list of a step
 * from which it was submitted. Freed by the caller; null: none. */
static char *nodes_of(spank_t spank, const struct step *step)
{
    bool is_batch = step->step == SLURM_BATCH_SCRIPT;
    const char *variable = is_batch ? "SLURM_JOB_NODELIST" : "SLURM_STEP_NODELIST";
    char *list = malloc(LIST_MOST);
    if (list != NULL && spank_getenv(spank, variable, list, LIST_MOST) != ESPANK_SUCCESS) {
        free(list);
        return NULL;
    }
    return list;
}

/* True: it has tasks, and this is which step it is. */
static bool step_of(spank_t spank, struct step *step)
{
    memset(step, 0, sizeof *step);
    return spank_get_item(spank, S_JOB_ID, &step->job) == ESPANK_SUCCESS
           && spank_get_item(spank, S_JOB_STEPID, &step->step) == ESPANK_SUCCESS
           && spank_get_item(spank, S_JOB_NODEID, &step->node) == ESPANK_SUCCESS
           && step->step != SLURM_EXTERN_CONT
           && gethostname(step->host, sizeof step->host - 1) == 0;
}

int slurm_spank_init_post_opt(spank_t spank, int count, char *words[])
{
    struct options options;
    struct outcome outcome;
    struct step step;
    if (spank_remote(spank) != 1 || !step_of(spank, &step))
        return 0;
    char error[WORDS];
    if (!options_read(&options, count, words, error)) {
        slurm_error("sapphire: %s", error);
        snprintf(failure, sizeof failure, "%s", error);
        return 0;
    }
    forget_inherited(spank, &options);
    char *list = nodes_of(spank, &step);
    if (list == NULL) {
        memset(&outcome, 0, sizeof outcome);
        snprintf(outcome.words, sizeof outcome.words, "no list of nodes in its environment");
    } else if (strpbrk(list, ",[") == NULL) {
        /* One node: no paths. */
        free(list);
        return 0;
    } else {
        paths_resolve_in_time(&options, &step, list, &outcome);
    }
    free(list);
    tell(spank, &options, &step, &outcome);
    return 0;
}

/* Where the line of plugstack.conf begins with `required`, Slurm ends the task for this. */
int slurm_spank_task_init(spank_t spank, int count, char *words[])
{
    (void)spank;
    (void)count;
    (void)words;
    if (failure[0] == '\0')
        return 0;
    slurm_error("sapphire: this task needs its paths: %s", failure);
    return -1;
}

int slurm_spank_exit(spank_t spank, int count, char *words[])
{
    (void)spank;
    (void)count;
    (void)words;
    if (file[0] != '\0')
        unlink(file);
    file[0] = '\0';
    return 0;
}

int slurm_spank_job_epilog(spank_t spank, int count, char *words[])
{
    struct options options;
    uint32_t job = 0;
    /* An epilog that fails would drain the node. */
    if (read_options(&options, count, words) && spank_get_item(spank, S_JOB_ID, &job) == ESPANK_SUCCESS)
        job_files_remove(options.directory, job);
    return 0;
}
