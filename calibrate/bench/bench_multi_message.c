/* Multi-message: one process sends n messages, all in flight, to n partners or all to one, and gets as many
 * back; half of the time is one way for all messages together. With one partner, the messages arrive in the
 * order in which the receives were posted, or in reverse order. In reverse, each matches the last receive of
 * the queue, and the difference is the time of the queue search (Bienz, Gropp, Olson, EuroMPI 2018). */
#include <stdlib.h>
#include <string.h>

#include "fatal.h"
#include "memory.h"
#include "pairs.h"

enum { MESSAGES_TO_ONE_MAX = 64, TAG_READY = MESSAGES_TO_ONE_MAX };

/* Size of a process's memory for all messages of one direction. */
static const int64_t room_bytes = INT64_C(128) << 20;

typedef enum { TO_MANY, TO_ONE, TO_ONE_REVERSED } kind_t;

static const char *const kind_names[] = {[TO_MANY] = "multi_message",
                                         [TO_ONE] = "multi_message_one",
                                         [TO_ONE_REVERSED] = "multi_message_one_reversed"};

typedef struct {
    char *outgoing;
    char *incoming;
    int messages;          /* that this process sends, and receives */
    MPI_Request *requests; /* receives, then sends */
    MPI_Comm side;         /* the sender alone, or the processes that answer */
    together_t *answering; /* their barrier */
} state_t;

/* Members are the sender and its partners. */
static void add_case(case_list_t *list, pto_space_t space, pto_level_t level, kind_t kind, int messages,
                     const int *members) {
    case_t *added = case_add_in(list, kind_names[kind], space, 1 + (kind == TO_MANY ? messages : 1));
    added->level = pto_level_name(level);
    added->messages = messages;
    added->max_bytes = room_bytes / messages;
    added->detail[0] = (int)kind;
    memcpy(added->member, members, (size_t)added->member_count * sizeof *members);
}

static void list_level(const job_t *job, pto_space_t space, pto_level_t level, case_list_t *list) {
    int *members = must_allocate((size_t)job->size, sizeof *members); /* rank 0 first */
    int max = pairs_partners(job, space, level, 0, members + 1);
    if (max == 0)
        case_skip(list, pairs_why_none(level), "multi_message_%s_%s", pto_space_name(space),
                  pto_level_name(level));
    for (int messages = 1; messages != 0 && max > 0; messages = next_count(messages, max))
        add_case(list, space, level, TO_MANY, messages, members);
    for (int messages = 1; messages <= MESSAGES_TO_ONE_MAX && max > 0; messages *= 4) {
        add_case(list, space, level, TO_ONE, messages, members);
        if (messages > 1)
            add_case(list, space, level, TO_ONE_REVERSED, messages, members);
    }
    free(members);
}

static void list_cases(const job_t *job, pto_space_t space, case_list_t *list) {
    for (pto_level_t level = PTO_LEVEL_ON_SOCKET; level < PTO_LEVEL_COUNT; level++)
        list_level(job, space, level, list);
}

static kind_t kind_of(const work_t *work) { return (kind_t)work->bench_case->detail[0]; }

static void open_case(const work_t *work) {
    state_t *state = work->state;
    state->messages = work->me > 0 && kind_of(work) == TO_MANY ? 1 : work->bench_case->messages;
    state->outgoing = memory_buffer(work, work->bench_case->buffers, state->messages * work->max_bytes);
    state->incoming = memory_buffer(work, work->bench_case->buffers, state->messages * work->max_bytes);
    state->requests = memory_array(work, (size_t)state->messages * 2, sizeof *state->requests);
    MPI_DO(MPI_Comm_split(work->comm, work->me == 0, work->me, &state->side));
    MPI_DO(MPI_Comm_set_errhandler(state->side, MPI_ERRORS_RETURN));
    state->answering = together_create(state->side);
}

/* Returns the member to which message i is sent, and from which message i is received. */
static int partner_of(const work_t *work, int i) {
    if (work->me > 0)
        return 0;
    return kind_of(work) == TO_MANY ? 1 + i : 1;
}

static void post_receives(const work_t *work, int count) {
    state_t *state = work->state;
    bool reversed = kind_of(work) == TO_ONE_REVERSED;
    for (int i = 0; i < state->messages; i++) {
        int tag = reversed ? state->messages - 1 - i : i;
        int from = partner_of(work, tag);
        MPI_DO(MPI_Irecv(state->incoming + (int64_t)tag * count, count, MPI_BYTE, from,
                         kind_of(work) == TO_MANY ? 0 : tag, work->comm, &state->requests[i]));
    }
}

static void start_sends(const work_t *work, int count) {
    state_t *state = work->state;
    for (int i = 0; i < state->messages; i++)
        MPI_DO(MPI_Isend(state->outgoing + (int64_t)i * count, count, MPI_BYTE, partner_of(work, i),
                         kind_of(work) == TO_MANY ? 0 : i, work->comm,
                         &state->requests[state->messages + i]));
}

/* The part of member 0: sends, and waits for the answers. */
static double send_first(const work_t *work, int count, int iterations) {
    state_t *state = work->state;
    double start = now_s();
    for (int i = 0; i < iterations; i++) {
        post_receives(work, count);
        start_sends(work, count);
        MPI_DO(MPI_Waitall(2 * state->messages, state->requests, MPI_STATUSES_IGNORE));
    }
    return (now_s() - start) / 2.0;
}

/* The part of the other members. The receives of the next iteration are posted before the answers of this
 * one, and so before its messages can arrive. */
static void answer(const work_t *work, int count, int iterations) {
    state_t *state = work->state;
    for (int i = 0; i < iterations; i++) {
        MPI_DO(MPI_Waitall(state->messages, state->requests, MPI_STATUSES_IGNORE));
        together_wait(state->answering); /* no process answers while others still receive */
        if (i + 1 < iterations)
            post_receives(work, count);
        start_sends(work, count);
        MPI_DO(MPI_Waitall(state->messages, state->requests + state->messages, MPI_STATUSES_IGNORE));
    }
}

static void tell_ready(const work_t *work) { MPI_DO(MPI_Send(NULL, 0, MPI_BYTE, 0, TAG_READY, work->comm)); }

static void await_ready(const work_t *work) {
    for (int i = 1; i < work->bench_case->member_count; i++)
        MPI_DO(MPI_Recv(NULL, 0, MPI_BYTE, i, TAG_READY, work->comm, MPI_STATUS_IGNORE));
}

static double trial(const work_t *work, int64_t bytes, int iterations) {
    if (work->me == 0) {
        await_ready(work);
        return send_first(work, (int)bytes, iterations);
    }
    post_receives(work, (int)bytes);
    tell_ready(work);
    answer(work, (int)bytes, iterations);
    return 0.0;
}

static void close_case(const work_t *work) {
    state_t *state = work->state;
    together_destroy(state->answering);
    MPI_DO(MPI_Comm_free(&state->side));
}

const benchmark_t bench_multi_message = {
    .name = "multi_message",
    .rows = "multi_message, multi_message_one, multi_message_one_reversed",
    .summary = "one process with n messages in flight, to n partners and to one",
    .state_bytes = sizeof(state_t),
    .list_in = list_cases,
    .open = open_case,
    .trial = trial,
    .close = close_case,
};
