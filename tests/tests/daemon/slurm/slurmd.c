/* Stands in for Slurm around one plugin: gives it the functions of spank.h, and calls its hooks in the
 * order in which srun, slurmstepd and slurmd do, by their documentation.
 *
 *     slurmd PLUGIN srun     WORD...                  options as of plugstack.conf
 *     slurmd PLUGIN step     WORD... -- TASK [ARG..]  a step with one task, which gets its environment
 *     slurmd PLUGIN epilog   WORD...
 *
 * Job, step and the name of the machine are in JOB, STEP, NODE and HOST of its environment; all the
 * rest of that is the job's. It prints what the plugin logs, and `required` is taken for granted: a
 * hook that fails ends what it belongs to, with status 10 for srun, 11 for a step, which would drain
 * the node, 12 for a task and 13 for an epilog.
 */
#include <dlfcn.h>
#include <slurm/slurm.h>
#include <slurm/spank.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct spank_handle {
    spank_context_t context;
};
static struct spank_handle handle;

static void log_line(const char *level, const char *format, va_list values)
{
    fprintf(stderr, "%s: ", level);
    vfprintf(stderr, format, values);
    fprintf(stderr, "\n");
}

#define LOG(name)                                                                             \
    void slurm_##name(const char *format, ...)                                                \
    {                                                                                         \
        va_list values;                                                                       \
        va_start(values, format);                                                             \
        log_line(#name, format, values);                                                      \
        va_end(values);                                                                       \
    }
LOG(info)
LOG(error)
LOG(debug)

spank_context_t spank_context(void)
{
    return handle.context;
}

int spank_remote(spank_t spank)
{
    return spank->context == S_CTX_REMOTE;
}

spank_err_t spank_get_item(spank_t spank, spank_item_t item, ...)
{
    const char *name = item == S_JOB_ID ? "JOB" : item == S_JOB_STEPID ? "STEP" : "NODE";
    va_list values;
    if (item != S_JOB_ID && item != S_JOB_STEPID && item != S_JOB_NODEID)
        return ESPANK_BAD_ARG;
    if (spank->context != S_CTX_REMOTE && !(spank->context == S_CTX_JOB_SCRIPT && item == S_JOB_ID))
        return ESPANK_NOT_REMOTE;
    va_start(values, item);
    *va_arg(values, uint32_t *) = (uint32_t)strtoul(getenv(name), NULL, 0);
    va_end(values);
    return ESPANK_SUCCESS;
}

spank_err_t spank_getenv(spank_t spank, const char *name, char *room, int size)
{
    const char *value = getenv(name);
    if (spank->context != S_CTX_REMOTE)
        return ESPANK_NOT_REMOTE;
    if (value == NULL)
        return ESPANK_ENV_NOEXIST;
    return snprintf(room, (size_t)size, "%s", value) < size ? ESPANK_SUCCESS : ESPANK_NOSPACE;
}

spank_err_t spank_setenv(spank_t spank, const char *name, const char *value, int overwrite)
{
    if (spank->context != S_CTX_REMOTE)
        return ESPANK_NOT_REMOTE;
    if (!overwrite && getenv(name) != NULL)
        return ESPANK_ENV_EXISTS;
    return setenv(name, value, 1) == 0 ? ESPANK_SUCCESS : ESPANK_BAD_ARG;
}

spank_err_t spank_unsetenv(spank_t spank, const char *name)
{
    if (spank->context != S_CTX_REMOTE)
        return ESPANK_NOT_REMOTE;
    return unsetenv(name) == 0 ? ESPANK_SUCCESS : ESPANK_BAD_ARG;
}

/* The machine's name, also for the plugin: this program's symbols come before libc's. */
int gethostname(char *room, size_t size)
{
    snprintf(room, size, "%s", getenv("HOST"));
    return 0;
}

static spank_f *hook(void *plugin, const char *name)
{
    spank_f *found;
    *(void **)&found = dlsym(plugin, name);
    return found;
}

static int call(void *plugin, const char *name, int count, char **words)
{
    spank_f *found = hook(plugin, name);
    return found == NULL ? 0 : found(&handle, count, words);
}

static int step(void *plugin, int count, char **words, char **task)
{
    struct timespec before, after;
    int status = 0;
    clock_gettime(CLOCK_MONOTONIC, &before);
    if (call(plugin, "slurm_spank_init", count, words) < 0
        || call(plugin, "slurm_spank_init_post_opt", count, words) < 0)
        return 11;
    clock_gettime(CLOCK_MONOTONIC, &after);
    fprintf(stderr, "took %ld ms\n", (long)((after.tv_sec - before.tv_sec) * 1000
                                            + (after.tv_nsec - before.tv_nsec) / 1000000));
    /* slurmstepd takes away its tasks and nobody else's. */
    if (waitpid(-1, NULL, WNOHANG) >= 0) {
        fprintf(stderr, "the plugin has left a child\n");
        return 11;
    }
    pid_t child = fork();
    if (child == 0) {
        if (call(plugin, "slurm_spank_task_init", count, words) < 0)
            _exit(12);
        execvp(task[0], task);
        _exit(127);
    }
    waitpid(child, &status, 0);
    call(plugin, "slurm_spank_exit", count, words);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 126;
}

int main(int argc, char **argv)
{
    int count = 0;
    char **words = argv + 3;
    if (argc < 3)
        return 2;
    while (3 + count < argc && strcmp(words[count], "--") != 0)
        count++;
    void *plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (plugin == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    const char *type = dlsym(plugin, "plugin_type");
    const unsigned *version = dlsym(plugin, "plugin_version");
    if (type == NULL || strcmp(type, "spank") != 0 || version == NULL || *version != SLURM_VERSION_NUMBER) {
        fprintf(stderr, "no plugin that Slurm would load\n");
        return 2;
    }
    if (strcmp(argv[2], "srun") == 0) {
        handle.context = S_CTX_LOCAL;
        return call(plugin, "slurm_spank_init", count, words) < 0
               || call(plugin, "slurm_spank_init_post_opt", count, words) < 0 ? 10 : 0;
    }
    if (strcmp(argv[2], "epilog") == 0) {
        handle.context = S_CTX_JOB_SCRIPT;
        return call(plugin, "slurm_spank_job_epilog", count, words) < 0 ? 13 : 0;
    }
    if (3 + count + 1 >= argc)
        return 2;
    handle.context = S_CTX_REMOTE;
    return step(plugin, count, words, words + count + 1);
}
