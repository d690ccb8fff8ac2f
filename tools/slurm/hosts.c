/* The file of hosts: which ports a node has.
 *
 *     # name port [port ...]     each by GUID or LID as a number, or by GID
 *     n001 0x0002c90300001234
 *     n002 0x0002c90300005678 0x0002c90300005679
 *
 * Lines of nodes that are not of the job are checked, and then left.
 */
#include "plugin.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BYTES_MOST = 64 << 20, LINE_MOST = 4096 };

/* Opened without waiting, as it may be a FIFO, and believed only if nobody but root or this user
 * could have written it. */
static FILE *opened(const char *path, char *error)
{
    struct stat is;
    int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (file < 0 || fstat(file, &is) != 0) {
        snprintf(error, WORDS, "%.300s: %s: write it (README.md says how), or name it by hosts=", path,
                 strerror(errno));
    } else if (!S_ISREG(is.st_mode) || is.st_size > BYTES_MOST) {
        snprintf(error, WORDS, "%.300s: expected a regular file of at most 64 MiB", path);
    } else if ((is.st_uid != 0 && is.st_uid != geteuid()) || (is.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        snprintf(error, WORDS, "%.300s: expected a file that root owns and nobody else may write", path);
    } else {
        FILE *stream = fdopen(file, "r");
        if (stream != NULL)
            return stream;
        snprintf(error, WORDS, "%.300s: %s", path, strerror(errno));
    }
    if (file >= 0)
        close(file);
    return NULL;
}

/* One line of the file. */
struct line {
    const char *path;
    size_t number;
    char text[LINE_MOST];
    char *at;           /* the next word */
    char *error;
};

static bool wrong(const struct line *line, const char *at, const char *expected)
{
    snprintf(line->error, WORDS, "%.200s:%zu:%zu: expected %s", line->path, line->number,
             (size_t)(at - line->text) + 1, expected);
    return false;
}

/* The next word, ended by a zero; null at the end of the line. */
static char *word(struct line *line)
{
    static const char blanks[] = " \t\r\n";
    char *begin = line->at + strspn(line->at, blanks);
    size_t length = strcspn(begin, blanks);
    line->at = begin + length;
    if (*line->at != '\0')
        *line->at++ = '\0';
    return length == 0 ? NULL : begin;
}

static bool read_line(struct line *line, const struct nodes *nodes)
{
    line->text[strcspn(line->text, "#\n")] = '\0';
    line->at = line->text;
    char *name = word(line), *text;
    if (name == NULL)
        return true;
    struct node *node = nodes_find(nodes, name);
    if (node != NULL && node->line != 0)
        return wrong(line, name, "each node once, with all its ports on one line");
    size_t ports = 0;
    for (; (text = word(line)) != NULL; ports++) {
        struct sa_end end;
        if (sa_end_parse(&end, text) != 0)
            return wrong(line, text, "a port: a GUID or LID as a number (0x for hexadecimal), or a GID");
        if (ports == PORTS_MOST)
            return wrong(line, text, "at most 16 ports");
        if (node != NULL)
            node->port[ports] = end;
    }
    if (ports == 0)
        return wrong(line, line->at, "a port behind the name: a GUID, LID or GID");
    if (node != NULL) {
        node->ports = ports;
        node->line = line->number;
    }
    return true;
}

/* Errors: file, line, column, and what was expected there. */
bool hosts_read(struct nodes *nodes, const char *path, char *error)
{
    FILE *stream = opened(path, error);
    if (stream == NULL)
        return false;
    struct line line = {.path = path, .error = error};
    bool is_good = true;
    while (is_good && fgets(line.text, sizeof line.text, stream) != NULL) {
        line.number++;
        if (strlen(line.text) == LINE_MOST - 1 && line.text[LINE_MOST - 2] != '\n')
            is_good = wrong(&line, line.text, "a line of at most 4094 letters");
        else
            is_good = read_line(&line, nodes);
    }
    if (is_good && ferror(stream)) {
        snprintf(error, WORDS, "%.300s: %s", path, strerror(errno));
        is_good = false;
    }
    fclose(stream);
    return is_good;
}
