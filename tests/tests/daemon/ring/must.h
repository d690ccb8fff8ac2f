/* What the C programs of these tests end with where something is not as it should be.
 *
 * For where a `client` (a sa_client, or NULL) and an `error` (text) are in sight: one of them says why.
 */
#ifndef MUST_H
#define MUST_H

#include <stdio.h>
#include <stdlib.h>

#define MUST(condition)                                                                       \
    do {                                                                                      \
        if (!(condition)) {                                                                   \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #condition,                \
                    client ? sa_client_error(client) : error);                                \
            exit(1);                                                                          \
        }                                                                                     \
    } while (0)

#endif
