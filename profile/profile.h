/* The profiler: a library that is preloaded in front of MPI and counts which process sends how much to which
 * other one (docs/profiling.md). Each process keeps a table of the messages that it sends. A collective is
 * counted as the messages of which it consists, called its parts. At MPI_Finalize, the processes find out
 * into which memory space each message was received, and process 0 writes the files.
 *
 * No function here reports an error, since a program must run under the profiler as it does without. The
 * files mention how much was not counted for lack of memory. */
#ifndef PROF_PROFILE_H
#define PROF_PROFILE_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/slots.h"
#include "portolan/scenario.h"
#include "spaces.h"

/* The routines that are counted: PROF_Send, ... */
#define ROUTINE(name) PROF_##name,
typedef enum {
#include "routine_list.h"
    PROF_ROUTINE_COUNT
} prof_routine_t;
#undef ROUTINE

/* The kind of traffic: a message of the program; a one-sided write or read; a part of a collective that MPI's
 * definition determines; or a part by an algorithm that the library is assumed to use. From PROF_BY_PLAN on,
 * the kind tells which algorithm (prof_plan_name). */
enum { PROF_MESSAGE, PROF_WRITE, PROF_READ, PROF_EXACT, PROF_BY_PLAN, PROF_KIND_MAX = 255 };

/* Times are ticks of a CPU counter, which is cheaper to read than a clock. They are converted at the end. */
#if defined(__x86_64__)
static inline int64_t prof_ticks(void) { return (int64_t)__builtin_ia32_rdtsc(); }
#elif defined(__aarch64__)
static inline int64_t prof_ticks(void) {
    int64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
}
#else
static inline int64_t prof_ticks(void) { return pto_now_ns(); }
#endif

/* A communicator. It is kept until the program ends, even after MPI_Comm_free. */
typedef struct {
    uint64_t id; /* equal on all its processes, and no other communicator's */
    int size;    /* of an inter-communicator: of the remote group */
    int rank;    /* of the calling process */
    bool is_inter;
    const int *world; /* the processes' ranks in MPI_COMM_WORLD; negative: not in it */
} prof_group_t;

void prof_groups_begin(void);
/* Finds or adds a communicator. NULL: out of memory, or MPI_COMM_NULL. */
const prof_group_t *prof_group_of(MPI_Comm comm);
/* A process's rank in MPI_COMM_WORLD; negative for MPI_PROC_NULL, MPI_ANY_SOURCE and processes outside. */
static inline int prof_world_rank(const prof_group_t *group, int rank) {
    return group && rank >= 0 && rank < group->size ? group->world[rank] : -1;
}

/* One call of MPI. */
typedef struct {
    prof_routine_t routine;
    int64_t begin_ticks;
    int64_t end_ticks;
} prof_call_t;

typedef struct {
    int32_t peer; /* in MPI_COMM_WORLD */
    uint8_t routine;
    uint8_t kind;
    uint8_t space;      /* of this process's buffer */
    uint8_t peer_space; /* of the peer's buffer; of messages and parts unknown until prof_order_resolve */
} prof_key_t;           /* never all zero: `kind` is not 0, or `peer_space` is PRELOAD_UNKNOWN */

/* A cell of the traffic table: the messages from this process to another one, or its reads from there, that
 * have the same key. */
typedef struct {
    prof_key_t key;
    int64_t messages;
    int64_t bytes;
    int64_t inside_ticks;  /* ticks in its calls */
    int64_t waiting_ticks; /* ticks until its requests completed */
} prof_cell_t;

/* The calls of a routine with buffers in one space. */
typedef struct {
    int64_t calls;
    int64_t inside_ticks;  /* ticks in its calls */
    int64_t waiting_ticks; /* ticks until its requests completed */
} prof_time_t;

enum { PROF_SIZES = 64 }; /* size classes: 0, 1, 2 to 3, 4 to 7, ... bytes */

/* The messages of a routine from one space in a size class. */
typedef struct {
    int64_t messages;
    int64_t bytes;
} prof_size_t;

/* A row of calls.csv. */
typedef struct {
    int64_t begin_ticks;
    int64_t end_ticks;
    int64_t bytes;
    const prof_group_t *group; /* NULL: none */
    int32_t peer;              /* of a message, or the root of a collective; negative: none */
    int32_t tag;
    uint8_t routine;
    uint8_t space;
} prof_row_t;

/* Rows are in chunks of a huge page, if the system has them: a page fault costs as much as counting ten
 * calls. */
enum { PROF_CHUNK_BYTES = 1 << 21, PROF_CHUNKS_MAX = 1 << 12 };
enum { PROF_ROWS_PER_CHUNK = PROF_CHUNK_BYTES / sizeof(prof_row_t) };

/* The tables of this process, and what it knows of the job. */
typedef struct {
    int rank;             /* in MPI_COMM_WORLD */
    int size;             /* of MPI_COMM_WORLD */
    bool running;         /* from MPI_Init to MPI_Finalize */
    bool enabled;         /* running, and not switched off by MPI_Pcontrol(0) */
    bool threaded;        /* MPI_THREAD_MULTIPLE */
    bool has_spaces;      /* some process may have memory in more than one space */
    bool ordered;         /* the order of messages is being recorded (order.c) */
    int64_t origin_ticks; /* when counting began */
    int64_t origin_ns;
    pto_slots_t cells; /* prof_cell_t */
    prof_time_t time[PROF_ROUTINE_COUNT][PRELOAD_SPACE_COUNT];
    prof_size_t sizes[PROF_ROUTINE_COUNT][PRELOAD_SPACE_COUNT][PROF_SIZES];
    uint8_t *received; /* by peer: a bit for each space in which its messages were received */
    prof_row_t *chunk[PROF_CHUNKS_MAX];
    prof_row_t *row; /* the next one, up to row_end */
    const prof_row_t *row_end;
    int64_t row_count;
    int64_t row_max;
    int64_t rows_lost;     /* beyond row_max */
    int64_t messages_lost; /* for lack of memory, or to processes outside of MPI_COMM_WORLD */
} prof_t;

extern prof_t prof;

bool prof_count_begin(void);

/* Count messages of this process to `peer` of the group. Returns their cell until the next call, or NULL. */
prof_cell_t *prof_count_sent(prof_routine_t routine, int kind, const prof_group_t *group, int peer, int tag,
                             int64_t messages, int64_t bytes_each, preload_space_t space);
/* The same for a one-sided access to the memory of `peer`; kind: PROF_WRITE or PROF_READ. */
prof_cell_t *prof_count_access(prof_routine_t routine, int kind, const prof_group_t *group, int peer,
                               int64_t bytes, preload_space_t space, preload_space_t peer_space);
/* Count messages received from `peer`, by the receive with this index (prof_order_post). */
void prof_count_received(const prof_group_t *group, int peer, int tag, int64_t messages,
                         preload_space_t space, int64_t post_index);

/* Count a call: its time, and its row of calls.csv. `group` may be NULL. */
void prof_count_call(const prof_call_t *call, const prof_group_t *group, int peer, int tag, int64_t bytes,
                     preload_space_t space);
/* Returns the cell with this key; NULL if there is none. */
prof_cell_t *prof_find_cell(const prof_key_t *key);

int64_t prof_type_bytes(MPI_Datatype type);

/* Record sent and received messages. MPI matches messages from one process to another with the same tag, in
 * the order in which they were sent, with receives in the order in which they were posted. `group`: the
 * communicator's id; `peer`: in MPI_COMM_WORLD; `post_index`: from prof_order_post, which numbers the posted
 * receives. */
void prof_order_sent(const prof_cell_t *cell, uint64_t group, int tag, int64_t messages, int64_t bytes_each);
void prof_order_received(int peer, uint64_t group, int tag, int64_t messages, preload_space_t space,
                         int64_t post_index);
int64_t prof_order_post(void);
/* Removes a receive that was counted when it was posted, and has been cancelled. */
void prof_order_cancel(int peer, uint64_t group, int tag, int64_t post_index);
/* The number of posted receives with a wildcard, and of cancelled ones. Only their status tells which message
 * they got, if any. */
extern int prof_undetermined_receives;

/* Collective. Returns the cells in a new array, split by the memory space at the receiver. NULL: out of
 * memory. */
prof_cell_t *prof_order_resolve(size_t *count);

/* The parts of a persistent collective, which are counted each time it is started (parts.c). */
typedef struct prof_persistent prof_persistent_t;
void prof_count_persistent(const prof_persistent_t *parts, prof_routine_t routine);
void prof_persistent_free(prof_persistent_t *parts);

/* A request: the message that is counted when it is started or when it completes. */
typedef struct {
    prof_key_t key; /* of the cell of the message that it sends */
    uint8_t routine;
    uint8_t space;
    bool persistent;
    bool sends;
    bool receives;
    bool is_wildcard; /* a receive of any source or tag, whose message is known only when it completes */
    bool cancelled;   /* a receive for which the program has called MPI_Cancel */
    bool active;      /* started and not complete */
    int32_t peer;     /* in the group */
    int32_t tag;
    int64_t bytes;
    int64_t post_index;
    const prof_group_t *group;
    prof_persistent_t *persistent_parts;
} prof_request_t;

void prof_request_add(MPI_Request request, const prof_request_t *record);
prof_request_t *prof_request_find(MPI_Request request);
void prof_request_remove(prof_request_t *record);

/* Keep a message that a matched probe has found until it is received. Taking it returns false if it is
 * unknown. */
void prof_message_add(MPI_Message message, const prof_request_t *record);
bool prof_message_take(MPI_Message message, prof_request_t *record);

/* Messages of equal size to or from one member in an algorithm. */
typedef struct {
    int peer; /* number of the member; the root is 0 */
    int64_t bytes;
    int64_t messages;
} prof_part_t;

typedef struct {
    int kind; /* PROF_BY_PLAN + number of the algorithm */
    int send_count;
    int receive_count;
    prof_part_t *part; /* sends, then a separator, then receives */
} prof_parts_t;

/* Returns the messages of member `me` of n in the algorithm that is assumed for a collective. `bytes` are as
 * in scenarios: of a vector or of one block. Valid until the next call. NULL: no algorithm applies. */
const prof_parts_t *prof_plan_parts(pto_collective_t collective, int n, int me, int64_t bytes,
                                    int64_t element_bytes, preload_space_t space);
void prof_plans_begin(void);
/* The name of a kind's algorithm; "linear" for PROF_LINEAR: each process exchanges with every other one
 * directly. */
const char *prof_plan_name(int kind);
enum { PROF_LINEAR = PROF_KIND_MAX };

/* Collective: merge and write. */
void prof_write_all(void);
/* From a signal handler or at exit: write this process's tables, once. */
void prof_write_own(void);
void prof_files_begin(void);

#endif
