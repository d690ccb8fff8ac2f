/* Many paths at once from C.
 *
 *     resolve RING GID GUID    of one port, which is not that of LID 1
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "must.h"
#include "sapphire_sa.h"

enum { MANY = 3000 };

static char error[256];
static sa_client *client;
static struct sa_answer answers[MANY];

/* From LID 1 to another end. */
static struct sa_path_query to(struct sa_end end)
{
    struct sa_path_query query;
    memset(&query, 0, sizeof query);
    MUST(sa_end_parse(&query.source, "1") == 0 && query.source.kind == SA_END_LID);
    query.destination = end;
    return query;
}

/* This query alone is refused, with words. */
static void refused(struct sa_path_query query, const char *words)
{
    struct sa_bulk bulk = SA_BULK_INIT;
    struct sa_path_query two[2] = {query, query};
    memset(&two[0], 0, sizeof two[0]);
    two[0] = to(query.source);
    answers[0].status = 77;
    MUST(sa_client_resolve(client, two, 2, answers, &bulk) == SA_ERROR_ARGUMENT);
    MUST(strstr(sa_client_error(client), "query 1: ") && strstr(sa_client_error(client), words));
    /* Nothing was asked. */
    MUST(answers[0].status == 77);
}

static void mistakes(struct sa_end end)
{
    struct sa_bulk bulk = SA_BULK_INIT;
    struct sa_path_query query = to(end);
    query.wishes = SA_WISH_QOS_CLASS;
    query.qos_class = 4096;
    refused(query, "QoSClass 4096 is over 4095");
    query = to(end);
    query.wishes = 0x80000000u;
    refused(query, "does not know");
    query = to(end);
    query.destination.kind = 9;
    refused(query, "an end of kind 9");
    query = to(end);
    query.wishes = SA_WISH_RATE;
    query.rate = 99;
    refused(query, "99 is no rate code");
    query.rate = 3;
    query.rate_selector = 4;
    refused(query, "selector 4");

    query = to(end);
    MUST(sa_client_resolve(NULL, &query, 1, answers, &bulk) == SA_ERROR_ARGUMENT);
    MUST(sa_client_resolve(client, NULL, 1, answers, &bulk) == SA_ERROR_ARGUMENT);
    MUST(sa_client_resolve(client, &query, 1, answers, NULL) == SA_ERROR_ARGUMENT);
    MUST(sa_client_resolve(client, NULL, 0, NULL, &bulk) == 0);
    bulk.size--;
    MUST(sa_client_resolve(client, &query, 1, answers, &bulk) == SA_ERROR_ARGUMENT);
    MUST(strstr(sa_client_error(client), "SA_BULK_INIT"));
    MUST(sa_end_parse(&query.source, "node7") == SA_ERROR_ARGUMENT);
    MUST(sa_end_parse(NULL, "7") == SA_ERROR_ARGUMENT);
}

/* A program of a later version, whose structs have grown. */
struct later_query {
    struct sa_path_query query;
    uint64_t more;
};
struct later_answer {
    struct sa_answer answer;
    uint64_t more;
};

static void later_versions(struct sa_end end)
{
    struct sa_bulk bulk = SA_BULK_INIT;
    struct later_query queries[2];
    struct later_answer found[2];
    memset(queries, 0, sizeof queries);
    memset(found, 0xff, sizeof found);
    queries[0].query = queries[1].query = to(end);
    bulk.query_size = sizeof queries[0];
    bulk.answer_size = sizeof found[0];
    MUST(sa_client_resolve(client, &queries[0].query, 2, &found[0].answer, &bulk) == 0);
    MUST(found[0].answer.path.dlid == found[1].answer.path.dlid && found[1].answer.path.slid == 1);
    MUST(found[0].more == 0 && found[1].more == 0);
    queries[1].more = 1;
    MUST(sa_client_resolve(client, &queries[0].query, 2, &found[0].answer, &bulk)
         == SA_ERROR_ARGUMENT);
}

int main(int argc, char **argv)
{
    static struct sa_path_query queries[MANY];
    struct sa_bulk bulk = SA_BULK_INIT;
    struct sa_end gid, guid;
    struct sa_path alone;

    MUST(argc == 4);
    client = sa_client_connect(argv[1], 0, error, sizeof error);
    MUST(client != NULL);
    MUST(sa_end_parse(&gid, argv[2]) == 0 && gid.kind == SA_END_GID);
    MUST(sa_end_parse(&guid, argv[3]) == 0 && guid.kind == SA_END_GUID);
    mistakes(guid);
    later_versions(guid);

    for (int nth = 0; nth < MANY; nth++) {
        queries[nth] = to(nth % 2 ? gid : guid);
        if (nth % 3 == 1) {
            queries[nth].wishes = SA_WISH_SERVICE_ID;
            queries[nth].service_id = 0x1061144;
        } else if (nth % 3 == 2) {
            queries[nth].wishes = SA_WISH_QOS_CLASS | SA_WISH_TRAFFIC_CLASS;
            queries[nth].qos_class = 32;
            queries[nth].traffic_class = 7;
        }
    }
    MUST(sa_end_parse(&queries[MANY - 1].destination, "999") == 0);
    bulk.deadline = 20000;
    MUST(sa_client_resolve(client, queries, MANY, answers, &bulk) == 0);
    MUST(bulk.found == MANY - 1 && bulk.refused == 1 && bulk.unanswered == 0);
    MUST(answers[MANY - 1].status > 0 && answers[MANY - 1].path.dlid == 0);
    MUST(sa_client_path_record_by_lid(client, 1, answers[0].path.dlid, &alone) == 0);
    for (int nth = 0; nth < MANY - 1; nth++) {
        static const uint8_t lives[3] = {15, 10, 11};
        const struct sa_path *path = &answers[nth].path;
        MUST(answers[nth].status == 0 && path->packet_life == lives[nth % 3]);
        MUST(path->slid == 1 && path->dlid == alone.dlid && path->sl == alone.sl);
    }

    /* In time or not at all: nobody has this LID, so nobody is answered. */
    bulk.requester = 998;
    bulk.deadline = 50;
    MUST(sa_client_resolve(client, queries, 4, answers, &bulk) == SA_ERROR_TIMED_OUT);
    MUST(bulk.unanswered == 4 && answers[3].status == SA_ERROR_TIMED_OUT);

    /* Replies of the batch calls come first. */
    size_t count;
    struct sa_slot *slot = sa_client_claim(client, 1, &count);
    MUST(slot != NULL);
    sa_slot_path_by_lids(slot, 0, 1, 2);
    sa_client_publish(client, 1);
    MUST(sa_client_resolve(client, queries, 4, answers, &bulk) == SA_ERROR_IN_FLIGHT);
    sa_client_close(client);
    return 0;
}
