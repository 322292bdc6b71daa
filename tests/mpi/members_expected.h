/* What a member of a case of portolan-calibrate must do in an iteration, for test_members.c. `place` is the
 * member's index in the case. Times are of the emulated device's calls, some of which take longer on higher
 * ranks. */
#ifndef PTO_TEST_MEMBERS_EXPECTED_H
#define PTO_TEST_MEMBERS_EXPECTED_H

#include <string.h>

#include "../../calibrate/benchmark.h"
#include "sanitized.h"

/* Seconds of each call; those of the first kind times 1 + rank. */
enum {
    COPY = 3, /* and one a row */
    MOVE = 5,
    STORE_ALL = 7,
    OPEN = 11,
    ALLOCATE = 13,
    EXPORT = 17,
    STAGE = 19,
    COPY_HERE = 23, /* by the CPU */
    CREATE_SEGMENT = 29,
    OPEN_SEGMENT = 31,
    COLLECTIVE = 53, /* of NCCL */
    REDUCE = 59,
    REDUCE_MANY = 61, /* and one an input */
    COPY_BY = 67,
    LAUNCH = 71,
    GRAPH = 73,
    RECORD = 79,
    POLL = 83,
    /* the others, on all processes */
    FINISH = 500,
    MESSAGE = 37,
    WAIT_ALL = 41,
    AWAIT_FLAG = 43,
    ROUND = 47 /* of a ping-pong of GPUs */
};

/* Whether the test notices calls of memcpy, which the address sanitizer replaces. */
enum { SEES_MEMCPY = !ADDRESS_SANITIZED };

extern int rank;            /* in MPI_COMM_WORLD */
extern process_t process[]; /* of the job, by rank */

/* Return whether the benchmark has this name, or begins like it. */
static inline bool is(const case_t *what, const char *name) { return strcmp(what->benchmark, name) == 0; }

static inline bool begins(const case_t *what, const char *with) {
    return strncmp(what->benchmark, with, strlen(with)) == 0;
}

/* Returns whether a member of memcpy_mixed copies by IPC: the last ones do, as many as the column `pair`
 * says. */
bool copies_by_ipc(const case_t *what, int place);
/* Numbers of messages to another member, of copies, and of copies from the host to the GPU. */
int expected_messages(const case_t *what, int place, int other);
int expected_copies(const case_t *what, int place);
int expected_copies_in(const case_t *what, int place, const job_t *job);
/* Bytes that the GPU's calls move. */
int64_t expected_bytes_moved(const case_t *what, int place, int64_t bytes);
/* How many times the member waits for others of its node. */
int expected_meetings(const case_t *what, int place);
/* How many times as long as process 0 the slowest takes: of the node's members or, if of_part, of those that
 * copy the same way. */
double slowest_member(const case_t *what, int place, bool of_part);
double expected_seconds(const case_t *what, int place, int64_t bytes);

#endif
