/* Asks the sapphired of this node for paths, through memory shared with it.
 *
 * Link with -lsapphire_sa (libsapphire_sa.so, or libsapphire_sa.a with -lpthread -ldl).
 * What lies where is described in docs/ring.md; this header is of version 1.
 *
 * A client belongs to one thread at a time. No call but sa_client_connect, sa_client_reconnect,
 * sa_client_check and those that wait makes a system call.
 *
 * A client belongs to the process that connected. In a child after fork() its calls fail with
 * SA_ERROR_FORKED; claim and replies give null, and publish and release do nothing. Neither a call
 * nor the end of the child disturbs the parent. There, sa_client_reconnect gets a ring for the child,
 * and sa_client_close frees what the child has of it. Slots that the parent claimed or looked at
 * before are not there in the child: it must not touch them.
 */
#ifndef SAPPHIRE_SA_H
#define SAPPHIRE_SA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SA_RING_VERSION 1

/* What a call gives: 0, the status of the SA's answer (positive, see IBA vol. 1, 15.2.5), or: */
#define SA_ERROR_CONNECT (-1)   /* nobody listens there, or this user may not */
#define SA_ERROR_REFUSED (-2)   /* the daemon does not want this client, or has another version */
#define SA_ERROR_CLOSED (-3)    /* the daemon is gone, or done with this client: reconnect */
#define SA_ERROR_IN_FLIGHT (-4) /* replies of the batch calls were not taken yet */
#define SA_ERROR_ARGUMENT (-5)  /* a null pointer, or no request: 24 to 256 bytes */
#define SA_ERROR_TIMED_OUT (-6) /* no answer in time */
#define SA_ERROR_NO_REPLY (-7)  /* the SA gives no answer to such a request */
#define SA_ERROR_ROOM (-8)      /* the answer is longer than the room for it */
#define SA_ERROR_FORKED (-9)    /* a child of the process that connected: reconnect, or close */

/* What became of the request in a slot. */
#define SA_SLOT_REQUEST 0 /* nothing yet; what clients send */
#define SA_SLOT_REPLY 1   /* the slot holds the reply */
#define SA_SLOT_NONE 2    /* there is none, and there will be none */
#define SA_SLOT_LATER 3   /* it comes later, by itself, if it comes: sa_client_late_reply */

/* One request, later its reply. */
struct sa_slot {
    uint16_t length;     /* bytes of mad: of a request 24 to 256, of a reply */
    uint16_t lid;        /* who asks; 0: the daemon's own port. Heeded from root and its user. */
    uint8_t state;       /* one of SA_SLOT_* */
    uint8_t reserved[3]; /* zero */
    uint8_t mad[256];    /* the MAD; of a request, what is beyond its length counts as zeros */
    uint8_t padding[120];
};

/* A PathRecord; numbers in the host's order, codes as in IBA vol. 1, 15.2.5.16. */
struct sa_path {
    uint8_t dgid[16];
    uint8_t sgid[16];
    uint16_t dlid;
    uint16_t slid;
    uint16_t pkey;
    uint8_t sl;
    uint8_t mtu;         /* code: 1 = 256 ... 5 = 4096 bytes */
    uint8_t rate;        /* code */
    uint8_t packet_life; /* 4.096 us * 2^n */
    uint8_t hop_limit;
    uint8_t tclass;
    uint32_t flow_label;
    uint8_t reversible;
    uint8_t reserved[7];
    uint8_t record[64];  /* all of it, as on the wire */
};

/* One end of a path, as the program knows it: by LID, GID or GUID. sa_end_parse reads all three. */
#define SA_END_LID 1
#define SA_END_GID 2
#define SA_END_GUID 3
struct sa_end {
    uint64_t guid;       /* of the port; in the host's order */
    uint8_t gid[16];     /* as on the wire */
    uint16_t lid;
    uint8_t kind;        /* SA_END_*: which of the three counts */
    uint8_t reserved[5]; /* zero */
};

/* Which fields of a query count. */
#define SA_WISH_SERVICE_ID 0x001u
#define SA_WISH_PKEY 0x002u
#define SA_WISH_QOS_CLASS 0x004u
#define SA_WISH_SL 0x008u
#define SA_WISH_TRAFFIC_CLASS 0x010u
#define SA_WISH_FLOW_LABEL 0x020u
#define SA_WISH_HOP_LIMIT 0x040u
#define SA_WISH_MTU 0x080u         /* with its selector, as the next two */
#define SA_WISH_RATE 0x100u
#define SA_WISH_PACKET_LIFE 0x200u
#define SA_WISH_ONE_WAY 0x400u     /* no field: the way back need not exist */

/* How an MTU, rate or packet life time is meant. */
#define SA_GREATER 0
#define SA_LESS 1
#define SA_EXACTLY 2
#define SA_BEST 3 /* the largest, of life times the smallest; the value does not count, but is a code */

/* One path that is asked for. Begin with zeros; the ends must be named, anything else may be wished. */
struct sa_path_query {
    struct sa_end source;
    struct sa_end destination;
    uint64_t service_id;
    uint32_t wishes;         /* SA_WISH_* of the fields that count */
    uint32_t flow_label;     /* 20 bits */
    uint16_t pkey;
    uint16_t qos_class;      /* 12 bits */
    uint8_t sl;
    uint8_t traffic_class;
    uint8_t hop_limit;
    uint8_t mtu_selector;    /* SA_GREATER and so on */
    uint8_t mtu;             /* code, as in struct sa_path */
    uint8_t rate_selector;
    uint8_t rate;            /* code */
    uint8_t packet_life_selector;
    uint8_t packet_life;     /* 4.096 us * 2^n */
    uint8_t reserved[3];     /* zero */
};

/* How many are resolved, and what came of it. Begin with SA_BULK_INIT: sizes tell the library which
 * version of the structs a program was compiled with. 0 stands for the usual value. */
struct sa_bulk {
    uint32_t size, query_size, answer_size;
    uint32_t window;       /* most requests in flight; usually 256, never more than the ring's slots */
    uint32_t deadline;     /* for all together, in milliseconds; usually 10000 */
    uint32_t patience;     /* a request is sent again if its late reply does not come within so many
                              milliseconds; usually 500 */
    uint16_t requester;    /* LID of who asks; 0: the daemon's own port. Heeded from root and its user. */
    uint8_t once;          /* not 0: where the daemon ends, do not wait for the next one */
    uint8_t reserved[5];   /* zero */
    uint64_t found;        /* these are written by the call: requests with a path, */
    uint64_t refused;      /* with a status of the SA, */
    uint64_t unanswered;   /* without an answer in time, */
    uint64_t sent_again;   /* and how often one was sent again */
};
#define SA_BULK_INIT \
    { (uint32_t)sizeof(struct sa_bulk), (uint32_t)sizeof(struct sa_path_query), \
      (uint32_t)sizeof(struct sa_answer), 0, 0, 0, 0, 0, {0, 0, 0, 0, 0}, 0, 0, 0, 0 }

/* What became of one query. */
struct sa_answer {
    int32_t status;      /* 0: found; positive: the SA's status, there is no such path;
                            SA_ERROR_TIMED_OUT: no answer in time, so it is not known */
    uint32_t reserved;
    struct sa_path path; /* zeros where none was found */
};

#if defined(__cplusplus) && __cplusplus >= 201103L
#define SA_STATIC_ASSERT(condition) static_assert(condition, #condition)
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define SA_STATIC_ASSERT(condition) _Static_assert(condition, #condition)
#else
#define SA_STATIC_ASSERT(condition) extern char sa_assert[(condition) ? 1 : -1]
#endif
SA_STATIC_ASSERT(sizeof(struct sa_slot) == 384);
SA_STATIC_ASSERT(offsetof(struct sa_slot, lid) == 2);
SA_STATIC_ASSERT(offsetof(struct sa_slot, state) == 4);
SA_STATIC_ASSERT(offsetof(struct sa_slot, mad) == 8);
SA_STATIC_ASSERT(sizeof(struct sa_path) == 120);
SA_STATIC_ASSERT(offsetof(struct sa_path, record) == 56);
SA_STATIC_ASSERT(sizeof(struct sa_end) == 32);
SA_STATIC_ASSERT(sizeof(struct sa_path_query) == 96);
SA_STATIC_ASSERT(offsetof(struct sa_path_query, wishes) == 72);
SA_STATIC_ASSERT(offsetof(struct sa_path_query, sl) == 84);
SA_STATIC_ASSERT(sizeof(struct sa_bulk) == 64);
SA_STATIC_ASSERT(offsetof(struct sa_bulk, found) == 32);
SA_STATIC_ASSERT(sizeof(struct sa_answer) == 128);

typedef struct sa_client sa_client;

/* Connects to the daemon that listens at path. Slots: how many requests may be in flight, 0 for as
 * many as the daemon gives. Null when it fails; then the reason is in error, if that is not null.
 */
sa_client *sa_client_connect(const char *path, uint32_t slots, char *error, size_t error_size);

/* Leaves. Null is allowed. */
void sa_client_close(sa_client *client);

/* Connects again, after the daemon was started again. What was in flight is lost. */
int sa_client_reconnect(sa_client *client);

/* 0 while the daemon is there for this client. */
int sa_client_check(sa_client *client);

/* What was wrong with the last call that failed, for people. Valid until the next call. */
const char *sa_client_error(const sa_client *client);

/* How long the calls that wait do; at first 1000. */
void sa_client_set_timeout(sa_client *client, uint32_t milliseconds);

/* One path between two ports; waits. */
int sa_client_path_record(sa_client *client, const uint8_t sgid[16], const uint8_t dgid[16],
                          struct sa_path *path);
int sa_client_path_record_by_lid(sa_client *client, uint16_t slid, uint16_t dlid,
                                 struct sa_path *path);

/* Reads a LID or GUID as a number (0x for hexadecimal) or a GID as an IPv6 address. */
int sa_end_parse(struct sa_end *end, const char *text);

/* The paths of all pairs of a job: count queries, the answer to each in its place. Waits, until each
 * has an answer or the deadline. What the daemon gave up, because it has no snapshot yet or too much
 * to do, is sent again, and where it ends so is what it had not answered, to the next one.
 *
 * 0: every query has an answer of the SA. SA_ERROR_ARGUMENT (sa_client_error says which query),
 * SA_ERROR_IN_FLIGHT, SA_ERROR_FORKED: nothing was asked, nothing written. Else some have no answer, and
 * this is why. */
int sa_client_resolve(sa_client *client, const struct sa_path_query *queries, size_t count,
                      struct sa_answer *answers, struct sa_bulk *bulk);

/* The reply to any request of length bytes from a LID, however long it is; waits. In *reply_size is
 * the room at reply, then the length of the reply, also when there was not room enough
 * (SA_ERROR_ROOM; it is lost). The status in the reply is not looked at. */
int sa_client_ask(sa_client *client, uint16_t lid, const uint8_t *mad, size_t length,
                  uint8_t *reply, size_t *reply_size);

/* Many at once. Claim free slots (fewer than wanted at the end of the ring; null and 0 when all are
 * in flight), write requests, publish: gives the position of the first, that is, how many were sent
 * before. Replies come back in the order of the requests, the first at sa_client_first_reply;
 * release frees their slots. */
struct sa_slot *sa_client_claim(sa_client *client, size_t wanted, size_t *count);
uint64_t sa_client_publish(sa_client *client, size_t count);
const struct sa_slot *sa_client_replies(sa_client *client, size_t *count);
uint64_t sa_client_first_reply(const sa_client *client);
void sa_client_release(sa_client *client, size_t count);
uint64_t sa_client_in_flight(const sa_client *client);

/* The next reply of a slot that said SA_SLOT_LATER and was released: its bytes, and the position of its request; null
 * while there is none. Length 0: there will be none. Valid until the next call. */
const uint8_t *sa_client_late_reply(sa_client *client, uint64_t *position, size_t *length);

/* Writes Get(PathRecord) by LIDs, or by GIDs, into a slot, all of it. */
void sa_slot_path_by_lids(struct sa_slot *slot, uint64_t transaction, uint16_t slid, uint16_t dlid);
void sa_slot_path_by_gids(struct sa_slot *slot, uint64_t transaction, const uint8_t sgid[16],
                          const uint8_t dgid[16]);

/* The path in a slot that came back: 0, or what a call gives. */
int sa_slot_path(const struct sa_slot *slot, struct sa_path *path);

#ifdef __cplusplus
}
#endif

#endif
