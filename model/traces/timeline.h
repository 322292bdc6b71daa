/* When each process was in each call: what delays.c compares. Times of a process are by its own clock. */
#ifndef PTO_TRACES_TIMELINE_H
#define PTO_TRACES_TIMELINE_H

#include "portolan/recording.h"
#include "texts.h"

/* Calls of processes with higher ranks are not compared. */
enum { PTO_TIMED_RANKS_MAX = 1 << 20 };

/* Which processes a call makes wait. */
typedef enum {
    PTO_TIMED_NOT,       /* the call is not compared */
    PTO_TIMED_BY_ALL,    /* each waits for all others */
    PTO_TIMED_FROM_ROOT, /* each waits for the root */
    PTO_TIMED_TO_ROOT,   /* the root waits for all others */
    PTO_TIMED_SEND,
    PTO_TIMED_RECEIVE
} pto_timed_way_t;

/* A call of one process. */
typedef struct {
    pto_timed_way_t way;
    int32_t rank;
    int32_t peer; /* of a message, or the root; -1: unknown */
    int32_t tag;
    int32_t procs;
    int32_t routine; /* numbers of pto_timeline_name */
    int32_t group;   /* the same, of communicator and routine */
    int32_t order;   /* among the calls of its process */
    int32_t call;    /* of the recording; -1: none */
    int32_t number;  /* delays.c: among those of its process in its group */
    bool has_no_end; /* it returns before the message has arrived */
    bool is_bare;    /* only its duration is known: it ends at 0 */
    int64_t bytes;
    double begin_s, end_s;
    double outside_s; /* of all calls, since the end of the process's last collective; NaN: unknown */
} pto_timed_t;

/* The processes that were seen to call on a communicator. */
typedef struct {
    bool *has; /* by rank */
    int64_t ranks;
    int64_t count;
    int64_t on_a_node; /* of the members, once all are known; 0: it differs */
} pto_recording_members_t;

typedef struct {
    pto_text_index_t names;
    int count;
    pto_recording_members_t *members; /* by the number of its name */
    int64_t room;                     /* of all */
    int64_t procs;                    /* the highest rank and one */
} pto_recording_groups_t;

struct pto_timeline {
    pto_text_index_t names;
    pto_recording_groups_t groups;
    size_t count, room;
    pto_timed_t *timed;
    int32_t kept; /* of the calls of each process */
    bool is_cut;  /* there were more */
    /* Of the process whose call came last. */
    int32_t rank; /* -1: there was none */
    int32_t order;
    double end_s, outside_s;
};

/* The number of a text; -1: out of memory. */
int pto_timeline_name(pto_timeline_t *timeline, const char *text);
/* Add a call; of one that is not compared, only the time counts. `order` and `outside_s` are filled in.
 * False: out of memory. */
bool pto_timeline_add(pto_timeline_t *timeline, const pto_timed_t *timed);
void pto_recording_groups_fini(pto_recording_groups_t *groups);
/* From `from` on, the numbers of kinds become those of the recording's calls; NULL: none is. */
void pto_timeline_renumber(pto_timeline_t *timeline, size_t from, const int *call_of_kind);

#endif
