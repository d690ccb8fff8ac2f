/* Asks the sapphired of this node for the path between two LIDs, then for many at once.
 *
 *     paths SOCKET SLID DLID [DLID ...]
 */
#include "sapphire_sa.h"

#include <stdio.h>
#include <stdlib.h>

static void show(const struct sa_path *path)
{
    printf("%u -> %u: SL %u, P_Key 0x%04x, MTU code %u, rate code %u\n", path->slid, path->dlid,
           path->sl, path->pkey, path->mtu, path->rate);
}

/* Get for each destination, as many in flight as the ring holds. */
static int many(sa_client *client, uint16_t slid, char **dlids, size_t total)
{
    size_t sent = 0, received = 0, failed = 0;
    while (received < total) {
        size_t count = 0;
        struct sa_slot *slots = sa_client_claim(client, total - sent, &count);
        for (size_t nth = 0; nth < count; nth++)
            sa_slot_path_by_lids(&slots[nth], sent + nth, slid, (uint16_t)atoi(dlids[sent + nth]));
        sa_client_publish(client, count);
        sent += count;

        const struct sa_slot *replies = sa_client_replies(client, &count);
        for (size_t nth = 0; nth < count; nth++) {
            struct sa_path path;
            int status = sa_slot_path(&replies[nth], &path);
            if (status == 0) {
                show(&path);
            } else {
                printf("%u -> %s: status 0x%04x\n", slid, dlids[received + nth], status);
                failed++;
            }
        }
        sa_client_release(client, count);
        received += count;
        /* Only when nothing comes: a system call. */
        if (count == 0 && sa_client_check(client) != 0) {
            fprintf(stderr, "%s\n", sa_client_error(client));
            return 1;
        }
    }
    return failed == 0 ? 0 : 3;
}

int main(int argc, char **argv)
{
    char error[256];
    struct sa_path path;
    if (argc < 4) {
        fprintf(stderr, "usage: paths SOCKET SLID DLID [DLID ...]\n");
        return 2;
    }
    sa_client *client = sa_client_connect(argv[1], 0, error, sizeof error);
    if (client == NULL) {
        fprintf(stderr, "%s\n", error);
        return 1;
    }
    uint16_t slid = (uint16_t)atoi(argv[2]);
    int status = sa_client_path_record_by_lid(client, slid, (uint16_t)atoi(argv[3]), &path);
    if (status < 0)
        fprintf(stderr, "%s\n", sa_client_error(client));
    else if (status == 0)
        show(&path);
    if (status >= 0)
        status = many(client, slid, argv + 3, (size_t)argc - 3);
    sa_client_close(client);
    return status < 0 ? 1 : status;
}
