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
    int32_t routine;  /* numbers of pto_timeline_name */
    int32_t group;    /* the same, of communicator and routine */
    int32_t order;    /* among the calls of its process */
    int32_t call;     /* of the recording; -1: none */
    int32_t number;   /* among those of its process in its group; of the trace, or 0: delays.c counts them */
    int32_t seat;     /* of pto_timeline_seat, which `rank` and `peer` then follow from; -1: none */
    bool is_numbered; /* by the trace, in the same way on all processes */
    bool is_part;     /* of a trace that may begin within the job */
    bool has_no_end;  /* it returns before the message has arrived */
    bool is_bare;     /* only its duration is known: it ends at 0 */
    bool is_rounded;  /* its duration is in whole microseconds */
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

/* A process, by the calls that were added. */
typedef struct {
    bool has_called;
    int32_t order;           /* of its next call */
    double end_s, outside_s; /* since its last collective */
} pto_timed_process_t;

/* A process as a member of a communicator. */
typedef struct {
    int32_t communicator, rank, procs; /* its rank in it, and the number of its processes */
    int32_t process;
} pto_seat_t;

struct pto_timeline {
    pto_text_index_t names;
    pto_recording_groups_t groups;
    size_t count, room;
    pto_timed_t *timed;
    size_t file_first; /* the first call of the file that is being read */
    bool is_unordered; /* the calls of a process in this file need not follow each other in time */
    int32_t kept;      /* of the calls of each process */
    bool is_cut;       /* there were more */
    bool hides_messages;
    size_t process_room;
    pto_timed_process_t *process; /* by rank */
    /* Where traces name processes and their ranks in communicators, not in the job. */
    pto_text_index_t processes, seats;
    size_t seat_room;
    pto_seat_t *seat;
};

/* Returns the number of a text; -1: out of memory. */
int pto_timeline_name(pto_timeline_t *timeline, const char *text);
/* The number of a process with this rank in a communicator of `procs`, and of the process itself, which
 * stands for its rank until pto_timeline_place. False: out of memory. */
bool pto_timeline_seat(pto_timeline_t *timeline, const char *communicator, int32_t rank, int32_t procs,
                       const char *process, pto_timed_t *timed);
/* Add a call; of one that is not compared, only the time counts. `order` and `outside_s` are filled in.
 * False: out of memory. */
bool pto_timeline_add(pto_timeline_t *timeline, const pto_timed_t *timed);
/* Begin and end a file. In the end, the numbers of kinds become those of the recording's calls; NULL: none
 * is. */
void pto_timeline_begin_file(pto_timeline_t *timeline);
void pto_timeline_end_file(pto_timeline_t *timeline, const int *call_of_kind);
/* Give processes with seats their rank in the largest communicator as their rank in the job, and leave out
 * the calls of those that have none. False: out of memory. */
bool pto_timeline_place(pto_timeline_t *timeline);
void pto_recording_groups_fini(pto_recording_groups_t *groups);

#endif
