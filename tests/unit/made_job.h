/* Traces of made jobs, in which one process, node or link may be bad: simulated message by message, with
 * clocks that differ. A job computes, exchanges with the neighbors of its grid, and calls collectives on
 * rows, columns and all processes; each collective is a known algorithm's rounds of messages, so that
 * processes leave it when their own messages are done. */
#ifndef MADE_JOB_H
#define MADE_JOB_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum { MADE_HEALTHY, MADE_LATE_PROCESS, MADE_LATE_NODE, MADE_SLOW_NODE, MADE_SLOW_LINK } made_fault_t;

enum { MADE_PROCS_MAX = 16, MADE_STEPS_MAX = 60, MADE_CALLS_MAX = 16384 };

/* A call of a process, by true time. */
typedef struct {
    int rank, procs, peer; /* -1: no message */
    double begin_s, end_s, bytes;
    const char *routine; /* of MPI */
    char group;          /* of communicators: a (all), b (rows), c (columns) */
    int line;
    int number; /* among the group's calls */
} made_call_t;

typedef struct {
    uint64_t state;
    int procs, node_procs, rows, columns;
    made_fault_t fault;
    int bad, other; /* process or node; the link's other node */
    int buckets;    /* of gradients, which all processes add one after another; 0: other steps */
    bool is_chain;  /* all processes add along a chain, much and little in turn */
    double factor;  /* by which it is slower */
    double compute_s, alpha_s, s_per_byte, noise;
    double now_s[MADE_PROCS_MAX]; /* true time */
    double offset_s[MADE_PROCS_MAX], drift[MADE_PROCS_MAX], speed[MADE_PROCS_MAX];
    int count;
    int numbers[3][MADE_PROCS_MAX]; /* of calls of each communicator */
    made_call_t *call;
} made_job_t;

static inline double made_random(made_job_t *job) {
    job->state = job->state * 6364136223846793005u + 1442695040888963407u;
    return (double)(job->state >> 11) / 9007199254740992.0;
}

static inline int made_below(made_job_t *job, int most) { return (int)(made_random(job) * most); }

static inline double made_between(made_job_t *job, double low, double high) {
    return low + (high - low) * made_random(job);
}

static inline double made_normal(made_job_t *job) {
    double radius = sqrt(-2 * log(1 - made_random(job)));
    return radius * cos(6.283185307179586 * made_random(job));
}

/* Noise that is never fast, and at times much: interrupts, page faults, other jobs' messages. */
static inline double made_noise(made_job_t *job) {
    double often = exp(job->noise * made_normal(job));
    return made_random(job) < 0.03 ? often * made_between(job, 1, 4) : often;
}

static inline int made_node(const made_job_t *job, int rank) { return rank / job->node_procs; }

static inline double made_message_s(made_job_t *job, int from, int to, double bytes) {
    const int one = made_node(job, from), two = made_node(job, to);
    double seconds = job->alpha_s + bytes * job->s_per_byte;
    if (one == two)
        return 0.2 * seconds * made_noise(job);
    if (job->fault == MADE_SLOW_NODE && (one == job->bad || two == job->bad))
        seconds *= job->factor;
    if (job->fault == MADE_SLOW_LINK &&
        ((one == job->bad && two == job->other) || (one == job->other && two == job->bad)))
        seconds *= job->factor;
    return seconds * made_noise(job);
}

static inline void made_record(made_job_t *job, made_call_t call) {
    call.end_s = job->now_s[call.rank];
    if (job->count == MADE_CALLS_MAX)
        abort();
    job->call[job->count++] = call;
}

/* By the clock of the process. */
static inline double made_clock(const made_job_t *job, int rank, double seconds) {
    return job->offset_s[rank] + (1 + job->drift[rank]) * seconds;
}

/* --- what a step does ----------------------------------------------------------------------------------- */

static inline void made_compute(made_job_t *job) {
    for (int r = 0; r < job->procs; r++) {
        double seconds = job->compute_s * job->speed[r] * made_noise(job);
        if ((job->fault == MADE_LATE_PROCESS && r == job->bad) ||
            (job->fault == MADE_LATE_NODE && made_node(job, r) == job->bad))
            seconds *= job->factor;
        job->now_s[r] += seconds;
    }
}

/* A round in which each member sends to the one `distance` behind it. */
static inline void made_round(made_job_t *job, const int *member, int count, int distance, double bytes) {
    double next_s[MADE_PROCS_MAX];
    for (int i = 0; i < count; i++) {
        const int from = member[(i + count - distance) % count], to = member[i];
        next_s[i] = fmax(job->now_s[from], job->now_s[to]) + made_message_s(job, from, to, bytes);
    }
    for (int i = 0; i < count; i++)
        job->now_s[member[i]] = next_s[i];
}

/* To the first member along a chain, and back. */
static inline void made_chain(made_job_t *job, const int *member, int count, double bytes) {
    double *now_s = job->now_s;
    for (int i = count - 1; i > 0; i--)
        now_s[member[i - 1]] = fmax(now_s[member[i - 1]],
                                    now_s[member[i]] + made_message_s(job, member[i], member[i - 1], bytes));
    for (int i = 1; i < count; i++)
        now_s[member[i]] = fmax(now_s[member[i]],
                                now_s[member[i - 1]] + made_message_s(job, member[i - 1], member[i], bytes));
}

/* Ring or chain (allreduce, allgather), pairwise exchange (alltoall), dissemination (barrier). */
static inline void made_collective(made_job_t *job, const char *routine, char group, int line,
                                   const int *member, int count, double bytes) {
    double begin_s[MADE_PROCS_MAX];
    for (int i = 0; i < count; i++)
        begin_s[i] = job->now_s[member[i]];
    if (strcmp(routine, "MPI_Barrier") == 0)
        for (int distance = 1; distance < count; distance *= 2)
            made_round(job, member, count, distance, 0);
    else if (strcmp(routine, "MPI_Alltoall") == 0)
        for (int step = 1; step < count; step++)
            made_round(job, member, count, step, bytes / count);
    else if (job->is_chain)
        made_chain(job, member, count, bytes);
    else
        for (int step = 0; step < 2 * (count - 1); step++)
            made_round(job, member, count, 1, bytes / count);
    const int number = job->numbers[group - 'a'][line]++;
    for (int i = 0; i < count; i++)
        made_record(job, (made_call_t){.rank = member[i],
                                       .procs = count,
                                       .peer = -1,
                                       .begin_s = begin_s[i],
                                       .bytes = bytes,
                                       .routine = routine,
                                       .group = group,
                                       .line = line,
                                       .number = number});
}

static inline void made_send(made_job_t *job, int from, int to, double bytes) {
    const double sent_s = job->now_s[from], posted_s = job->now_s[to];
    job->now_s[to] = fmax(sent_s, posted_s) + made_message_s(job, from, to, bytes);
    job->now_s[from] = bytes > 65536 ? job->now_s[to] : sent_s + job->alpha_s; /* rendezvous, or eager */
    made_call_t call = {.rank = from,
                        .procs = job->procs,
                        .peer = to,
                        .begin_s = sent_s,
                        .bytes = bytes,
                        .routine = "MPI_Send",
                        .group = 'a'};
    made_record(job, call);
    call.rank = to;
    call.peer = from;
    call.begin_s = posted_s;
    call.routine = "MPI_Recv";
    made_record(job, call);
}

/* With the next process of the row, and of the column: first the even ones send, then the odd ones. */
static inline void made_halo(made_job_t *job, double bytes) {
    for (int odd = 0; odd < 2; odd++)
        for (int r = 0; r < job->procs; r++) {
            const int row = r / job->columns, column = r % job->columns;
            const int right = row * job->columns + (column + 1) % job->columns;
            const int below = (row + 1) % job->rows * job->columns + column;
            if (column % 2 == odd && right != r) {
                made_send(job, r, right, bytes);
                made_send(job, right, r, bytes);
            }
            if (row % 2 == odd && below != r) {
                made_send(job, r, below, bytes);
                made_send(job, below, r, bytes);
            }
        }
}

static inline void made_lines(made_job_t *job, bool columns, const char *routine, double bytes) {
    const int lines = columns ? job->columns : job->rows, count = columns ? job->rows : job->columns;
    for (int line = 0; line < lines && count > 1; line++) {
        int member[MADE_PROCS_MAX] = {0};
        for (int i = 0; i < count; i++)
            member[i] = columns ? i * job->columns + line : line * job->columns + i;
        made_collective(job, routine, columns ? 'c' : 'b', line, member, count, bytes);
    }
}

static inline void made_step(made_job_t *job) {
    static const double sizes[] = {4096, 262144, 4194304};
    const double bytes = sizes[made_below(job, 3)];
    int all[MADE_PROCS_MAX] = {0};
    for (int r = 0; r < job->procs; r++)
        all[r] = r;
    made_compute(job);
    for (int bucket = 0; bucket < job->buckets; bucket++)
        made_collective(job, "MPI_Allreduce", 'a', 0, all, job->procs, bytes);
    if (job->buckets > 0)
        return;
    if (job->is_chain) {
        made_collective(job, "MPI_Allreduce", 'a', 0, all, job->procs, 1048576);
        made_compute(job);
        made_collective(job, "MPI_Allreduce", 'a', 0, all, job->procs, 8);
        return;
    }
    made_halo(job, 131072);
    made_compute(job);
    made_lines(job, false, "MPI_Alltoall", bytes);
    made_lines(job, true, "MPI_Allreduce", bytes);
    made_compute(job);
    made_collective(job, made_random(job) < 0.5 ? "MPI_Allreduce" : "MPI_Barrier", 'a', 0, all, job->procs,
                    1024);
}

/* --- a job ---------------------------------------------------------------------------------------------- */

/* Choose its shape and its fault. */
static inline void made_job_init(made_job_t *job, uint64_t seed, made_fault_t fault) {
    static const int shapes[][3] = {{2, 2, 1}, {2, 3, 1}, {2, 4, 1}, {2, 4, 2}, {3, 4, 2},
                                    {4, 4, 2}, {4, 4, 4}, {3, 3, 1}, {3, 5, 1}, {4, 3, 3}};
    memset(job, 0, sizeof *job);
    job->state = seed * 2654435769u + 12345;
    for (int i = 0; i < 8; i++)
        made_random(job);
    const int *shape = shapes[made_below(job, 10)];
    job->rows = shape[0];
    job->columns = shape[1];
    job->node_procs = shape[2];
    job->procs = job->rows * job->columns;
    job->fault = fault;
    const int nodes = job->procs / job->node_procs;
    job->bad = made_below(job, fault == MADE_LATE_PROCESS ? job->procs : nodes);
    /* A link that processes of the grid use: from a process to the one below it. */
    const int from = made_below(job, job->procs), below = (from + job->columns) % job->procs;
    if (fault == MADE_SLOW_LINK) {
        job->bad = made_node(job, from);
        job->other = made_node(job, below);
    }
    const bool is_late = fault == MADE_LATE_PROCESS || fault == MADE_LATE_NODE;
    job->factor = is_late ? made_between(job, 1.3, 2) : made_between(job, 2, 5);
    job->compute_s = exp(made_between(job, log(5e-4), log(1e-2)));
    job->alpha_s = made_between(job, 2e-6, 2e-5);
    job->s_per_byte = 1 / made_between(job, 1e9, 2e10);
    job->noise = made_between(job, 0.01, 0.06);
    for (int r = 0; r < job->procs; r++) {
        job->offset_s[r] = made_between(job, 0, 5);
        job->drift[r] = made_between(job, -1e-5, 1e-5);
        job->speed[r] = 1 + 0.01 * made_normal(job);
    }
}

static inline void made_job_run(made_job_t *job, int steps) {
    job->call = calloc(MADE_CALLS_MAX, sizeof *job->call);
    for (int step = 0; step < steps; step++)
        made_step(job);
}

static inline void made_job_free(made_job_t *job) { free(job->call); }

#endif
