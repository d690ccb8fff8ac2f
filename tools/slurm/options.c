/* The options of the plugin: WORD=VALUE, as they stand behind its name in plugstack.conf. */
#include "plugin.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Decimal or, with 0x, hexadecimal. Nothing else: a zero in front would mean octal to some. */
static bool number(const char *text, uint64_t least, uint64_t most, uint64_t *value)
{
    bool is_hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    const char *digits = is_hex ? text + 2 : text;
    char *end;
    if (is_hex ? !isxdigit((unsigned char)*digits) : !isdigit((unsigned char)*digits))
        return false;
    errno = 0;
    *value = strtoull(digits, &end, is_hex ? 16 : 10);
    return errno == 0 && *end == '\0' && *value >= least && *value <= most;
}

static bool path(const char *text, char *room, size_t size)
{
    if (text[0] != '/' || strlen(text) >= size)
        return false;
    strcpy(room, text);
    return true;
}

static bool is_variable(const char *name)
{
    if (!isalpha((unsigned char)*name) && *name != '_')
        return false;
    for (; *name != '\0'; name++)
        if (!isalnum((unsigned char)*name) && *name != '_')
            return false;
    return true;
}

/* Names with commas between. */
static bool variables(struct options *options, const char *text)
{
    options->variables = 0;
    for (;;) {
        size_t length = strcspn(text, ",");
        char *room = options->variable[options->variables];
        if (options->variables == VARIABLES_MOST || length >= sizeof options->variable[0])
            return false;
        memcpy(room, text, length);
        room[length] = '\0';
        if (!is_variable(room))
            return false;
        options->variables++;
        if (text[length] == '\0')
            return true;
        text += length + 1;
    }
}

/* Null: it is an option and its value is one; else what was expected. */
static const char *read_one(struct options *options, const char *name, const char *value)
{
    uint64_t read = 0;
    if (strcmp(name, "ring") == 0)
        return path(value, options->ring, sizeof options->ring)
                   ? NULL : "a path from / on of at most 107 bytes, the socket of the daemon's ring";
    if (strcmp(name, "hosts") == 0)
        return path(value, options->hosts, sizeof options->hosts)
                   ? NULL : "a path from / on, the file of hosts";
    if (strcmp(name, "dir") == 0)
        return path(value, options->directory, sizeof options->directory)
                   ? NULL : "a path from / on, the directory for the files of steps";
    if (strcmp(name, "service_id") == 0) {
        options->wishes |= SA_WISH_SERVICE_ID;
        return number(value, 0, UINT64_MAX, &options->service_id)
                   ? NULL : "a service id of 64 bits, decimal or with 0x";
    }
    if (strcmp(name, "pkey") == 0) {
        bool is_read = number(value, 1, 0xffff, &read) && (read & 0x7fff) != 0;
        options->wishes |= SA_WISH_PKEY;
        options->pkey = (uint16_t)read;
        return is_read ? NULL : "a P_Key, 1 to 0xffff but not 0x8000, decimal or with 0x";
    }
    if (strcmp(name, "qos_class") == 0) {
        bool is_read = number(value, 0, 4095, &read);
        options->wishes |= SA_WISH_QOS_CLASS;
        options->qos_class = (uint16_t)read;
        return is_read ? NULL : "a QoS class, 0 to 4095";
    }
    if (strcmp(name, "deadline_ms") == 0) {
        bool is_read = number(value, 1, 60000, &read);
        options->deadline = (uint32_t)read;
        return is_read ? NULL : "milliseconds, 1 to 60000";
    }
    if (strcmp(name, "on_failure") == 0) {
        options->must = strcmp(value, "fail") == 0;
        return options->must || strcmp(value, "continue") == 0 ? NULL : "continue or fail";
    }
    if (strcmp(name, "export") == 0)
        return variables(options, value)
                   ? NULL : "at most 8 names of environment variables with commas between";
    return "ring=, hosts=, dir=, service_id=, pkey=, qos_class=, deadline_ms=, on_failure= or export=";
}

/* Errors: which word is wrong, and what was expected in its place. */
bool options_read(struct options *options, int count, char **words, char *error)
{
    memset(options, 0, sizeof *options);
    strcpy(options->ring, "/run/sapphire/ring");
    strcpy(options->hosts, "/etc/sapphire/hosts");
    strcpy(options->directory, "/run/sapphire-slurm");
    options->deadline = 500;
    for (int nth = 0; nth < count; nth++) {
        char name[32];
        size_t length = strcspn(words[nth], "=");
        const char *value = words[nth] + length;
        snprintf(name, sizeof name, "%.*s", (int)(length < 31 ? length : 31), words[nth]);
        const char *expected = read_one(options, name, *value == '=' ? value + 1 : "");
        if (expected != NULL) {
            snprintf(error, WORDS, "plugstack.conf: option %d of this plugin, '%.100s': expected %s",
                     nth + 1, words[nth], expected);
            return false;
        }
    }
    return true;
}
