/* Slurm's short form of a list of nodes, such as n[001-128,130],login2, written out. */
#include "plugin.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is written out so far. */
struct expansion {
    struct nodes *nodes;
    const char *list;
    char name[NAME_MOST + 1];
    char *error;
};

static bool wrong(struct expansion *to, const char *at, const char *expected)
{
    snprintf(to->error, WORDS, "list of nodes '%.100s', column %zu: expected %s", to->list,
             (size_t)(at - to->list) + 1, expected);
    return false;
}

static bool add(struct expansion *to, const char *at)
{
    struct nodes *nodes = to->nodes;
    if (nodes->count == NODES_MOST)
        return wrong(to, at, "at most 65536 nodes");
    /* Room doubles: it is enlarged whenever the count is a power of two. */
    if ((nodes->count & (nodes->count - 1)) == 0) {
        size_t room = nodes->count == 0 ? 1 : 2 * nodes->count;
        struct node *larger = realloc(nodes->node, room * sizeof *larger);
        if (larger == NULL)
            return wrong(to, at, "fewer nodes: there is no memory for so many");
        nodes->node = larger;
    }
    struct node *node = &nodes->node[nodes->count];
    memset(node, 0, sizeof *node);
    node->name = strdup(to->name);
    if (node->name == NULL)
        return wrong(to, at, "fewer nodes: there is no memory for so many");
    nodes->count++;
    return true;
}

/* Digits at *at, of which strtoul may be sure. */
static bool digits(const char **at, unsigned long *value, int *width)
{
    char *end;
    size_t length = strspn(*at, "0123456789");
    if (length == 0 || length > 9)
        return false;
    *value = strtoul(*at, &end, 10);
    *width = (int)length;
    *at = end;
    return true;
}

static bool expand(struct expansion *to, size_t length, const char *at);

/* [a-b,c]: for each number what follows the bracket. */
static bool brackets(struct expansion *to, size_t length, const char *at)
{
    const char *close = strchr(at, ']');
    if (close == NULL)
        return wrong(to, at, "a ']' to this '['");
    do {
        unsigned long first, last;
        int width, ignored;
        const char *begin = ++at;
        if (!digits(&at, &first, &width))
            return wrong(to, at, "a number of at most nine digits");
        last = first;
        if (*at == '-') {
            at++;
            if (!digits(&at, &last, &ignored) || last < first)
                return wrong(to, begin, "a range from a number to one that is not less");
        }
        if (*at != ',' && at != close)
            return wrong(to, at, "',', '-' or ']'");
        for (unsigned long nth = first; nth <= last; nth++) {
            int more = snprintf(to->name + length, sizeof to->name - length, "%0*lu", width, nth);
            if (length + (size_t)more > NAME_MOST)
                return wrong(to, begin, "names of at most 255 letters");
            if (!expand(to, length + (size_t)more, close + 1))
                return false;
        }
    } while (at != close);
    return true;
}

/* One name from here to a comma outside brackets, or the end, behind the letters there are. */
static bool expand(struct expansion *to, size_t length, const char *at)
{
    for (; *at != '\0' && *at != ','; at++) {
        if (*at == '[')
            return brackets(to, length, at);
        if (!isgraph((unsigned char)*at) || *at == ']' || *at == '/')
            return wrong(to, at, "a letter of a name");
        if (length == NAME_MOST)
            return wrong(to, at, "names of at most 255 letters");
        to->name[length++] = *at;
    }
    to->name[length] = '\0';
    return length > 0 ? add(to, at) : wrong(to, at, "a name");
}

static int by_name(const void *one, const void *other)
{
    return strcmp(((const struct node *)one)->name, ((const struct node *)other)->name);
}

/* Sorted, so that a file of all hosts is looked through once, and each once. */
static void sort(struct nodes *nodes)
{
    size_t kept = 0;
    qsort(nodes->node, nodes->count, sizeof *nodes->node, by_name);
    for (size_t nth = 0; nth < nodes->count; nth++) {
        if (kept > 0 && by_name(&nodes->node[kept - 1], &nodes->node[nth]) == 0)
            free(nodes->node[nth].name);
        else
            nodes->node[kept++] = nodes->node[nth];
    }
    nodes->count = kept;
}

/* Errors: in words; what was written out until then is to be freed all the same. */
bool nodes_expand(struct nodes *nodes, const char *list, char *error)
{
    struct expansion to = {nodes, list, "", error};
    memset(nodes, 0, sizeof *nodes);
    for (const char *at = list;; at++) {
        if (!expand(&to, 0, at))
            return false;
        /* To the comma behind this name; commas in brackets belong to it. */
        for (bool inside = false; *at != '\0' && (inside || *at != ','); at++)
            inside = *at == '[' || (inside && *at != ']');
        if (*at == '\0')
            break;
    }
    sort(nodes);
    return true;
}

struct node *nodes_find(const struct nodes *nodes, const char *name)
{
    struct node key = {0};
    key.name = (char *)name;
    return nodes->count == 0
               ? NULL
               : bsearch(&key, nodes->node, nodes->count, sizeof *nodes->node, by_name);
}

void nodes_free(struct nodes *nodes)
{
    for (size_t nth = 0; nth < nodes->count; nth++)
        free(nodes->node[nth].name);
    free(nodes->node);
    memset(nodes, 0, sizeof *nodes);
}
