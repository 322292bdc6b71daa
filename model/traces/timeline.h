/* A timeline: when each process of a job was in each call, by its own clock. Readers of formats with times
 * add the calls of one file after another by pto_recording_time. delays.c then compares them. */
#ifndef PTO_TRACES_TIMELINE_H
#define PTO_TRACES_TIMELINE_H

#include "portolan/recording.h"
#include "texts.h"

/* Calls of processes with higher ranks are not compared. */
enum { PTO_TIMED_RANKS_MAX = 1 << 20 };

/* Which processes wait for which others in a call. */
typedef enum {
    PTO_TIMED_NOT,       /* the call is not compared */
    PTO_TIMED_BY_ALL,    /* each waits for all others */
    PTO_TIMED_FROM_ROOT, /* each waits for the root */
    PTO_TIMED_TO_ROOT,   /* the root waits for all others */
    PTO_TIMED_SEND,
    PTO_TIMED_RECEIVE
} pto_timed_way_t;

/* A call of one process. Readers set the members; pto_recording_time and pto_timeline_add set routine, group,
 * call, order and outside_s. */
typedef struct {
    pto_timed_way_t way;
    int32_t rank;
    int32_t peer; /* of a message, or the root; -1 if unknown */
    int32_t tag;
    int32_t procs;
    int32_t routine; /* number of its name (pto_timeline_name) */
    int32_t group;   /* number of the name of communicator and routine */
    int32_t order;   /* index among the calls of its process */
    int32_t
        call; /* number of its pto_recording_kind_t, from the file's end of its recorded call; -1 if none */
    int32_t number; /* index among the calls of its process and group; delays.c sets it unless is_numbered */
    int32_t membership;  /* of pto_timeline_set_member, from which `rank` and `peer` are found; -1 if none */
    bool is_numbered;    /* the trace gives `number`, the same on all processes of the call */
    bool may_begin_late; /* of a trace that may begin in the middle of the job */
    bool has_no_end;     /* it returns before the message has arrived */
    bool only_duration;  /* only its duration is known: it ends at 0 */
    bool is_rounded;     /* its duration is in whole microseconds */
    int64_t bytes;
    double begin_s, end_s;
    double outside_s; /* time outside of all calls since the process's last collective; NaN if unknown */
} pto_timed_t;

/* A set of processes, such as those with calls on a communicator. */
typedef struct {
    bool *has;     /* by rank */
    int64_t ranks; /* elements of `has` */
    int64_t count;
    int64_t on_a_node; /* members on each node, once all are known; 0 if it differs */
} pto_recording_members_t;

/* The communicators of a recording. */
typedef struct {
    pto_text_index_t names;
    int count;
    pto_recording_members_t *members; /* by the number of the communicator's name */
    int64_t room;                     /* the sum of their `ranks`, which limits memory */
    int64_t procs;                    /* the highest rank + 1 */
} pto_recording_groups_t;

/* What the calls added so far say of a process. */
typedef struct {
    bool has_called;
    int32_t order;    /* of its next call */
    double end_s;     /* the latest end of its calls so far */
    double outside_s; /* outside of calls since its last collective */
} pto_timed_process_t;

/* A process as a member of a communicator. */
typedef struct {
    int32_t communicator, rank, procs; /* its rank in the communicator, which has `procs` processes */
    int32_t process;                   /* number of its name in pto_timeline_t's `processes` */
} pto_membership_t;

struct pto_timeline {
    pto_text_index_t names; /* of routines, groups, and communicators */
    pto_recording_groups_t groups;
    size_t count, room;
    pto_timed_t *timed;
    size_t file_first;   /* the first call of the file that is being read */
    bool is_unordered;   /* the calls of a process may be in any order in this file */
    int32_t calls_max;   /* how many calls of each process are stored at most */
    bool is_cut;         /* there were more */
    bool hides_messages; /* a file has only collectives (pto_delays_t) */
    size_t process_room;
    pto_timed_process_t *process; /* by rank */
    /* For traces with the ranks of processes in communicators, but not in the job. */
    pto_text_index_t processes, memberships;
    size_t membership_room;
    pto_membership_t *membership;
};

/* Returns the number of a text; -1 if out of memory. */
int pto_timeline_name(pto_timeline_t *timeline, const char *text);
/* Sets the membership of a call's process, which has this rank in a communicator of `procs` processes.
 * `timed->rank` is then the number of the process until pto_timeline_set_ranks. False if out of memory. */
bool pto_timeline_set_member(pto_timeline_t *timeline, const char *communicator, int32_t rank, int32_t procs,
                             const char *process, pto_timed_t *timed);
/* Adds a call, and sets its `order` and `outside_s`. False if out of memory. */
bool pto_timeline_add(pto_timeline_t *timeline, const pto_timed_t *timed);
/* Begin and end a file. At the end, `call` becomes the index of the recording's call, by the number of its
 * kind; -1 if call_of_kind is NULL. */
void pto_timeline_begin_file(pto_timeline_t *timeline);
void pto_timeline_end_file(pto_timeline_t *timeline, const int *call_of_kind);
/* Sets the ranks of processes that have memberships to their ranks in the largest communicator, and drops the
 * calls of processes that are not in it. False if out of memory. */
bool pto_timeline_set_ranks(pto_timeline_t *timeline);
/* Adds a process, unless it is there already. False if out of memory. */
bool pto_recording_members_add(pto_recording_members_t *members, int64_t rank);
void pto_recording_groups_fini(pto_recording_groups_t *groups);

#endif
