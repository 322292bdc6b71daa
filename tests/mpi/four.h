/* Executors of four processes on the host device: their plans and their buffers, which live until the program
 * ends, and what is said of them. */
#ifndef PTO_TEST_FOUR_H
#define PTO_TEST_FOUR_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "die.h"
#include "portolan/exec_mpi.h"
#include "portolan/strategy.h"
#include "test.h"

enum { PROCESSES = 4, ELEMENTS = 96, BYTES = ELEMENTS * (int)sizeof(float) };

static int rank, size, wrong;
static const pto_device_t *host;

static inline void expect(bool right, const char *what, const char *found) {
    if (!right)
        fprintf(stderr, "rank %d: %s; found: %s\n", rank, what, found);
    wrong += !right;
}

static const pto_layout_t one_node = {1, PROCESSES, 1, 1, PROCESSES, false};

static inline void end_plan(void *plan) { pto_plan_destroy(plan); }

static inline void end_buffer(void *buffer) { host->release(buffer, NULL); }

static inline pto_plan_t *plan_of_bytes(const char *strategy, pto_collective_t collective,
                                        const char *algorithm, const pto_layout_t *layout, int64_t bytes) {
    pto_request_t request = {
        .layout = *layout, .collective = collective, .datatype = PTO_DATATYPE_FLOAT, .bytes = bytes};
    return keep(plan_by(request, strategy, algorithm), end_plan);
}

static inline pto_plan_t *plan_of(const char *strategy, pto_collective_t collective, const char *algorithm,
                                  const pto_layout_t *layout) {
    return plan_of_bytes(strategy, collective, algorithm, layout, BYTES);
}

static inline pto_plan_t *allreduce_by(const char *strategy) {
    const char *algorithm = strncmp(strategy, "gas_", 4) == 0 ? "direct"
                            : strcmp(strategy, "nccl") == 0   ? "nccl"
                                                              : "ring";
    return plan_of(strategy, PTO_COLLECTIVE_ALLREDUCE, algorithm, &one_node);
}

static inline void fill_with(float *buffer, float value) {
    for (int i = 0; i < ELEMENTS; i++)
        buffer[i] = value;
}

/* A block for each process, in memory that is not the device's. */
static inline float *blocks_for_all(float value) {
    float *blocks = keep_new((size_t)PROCESSES * BYTES, NULL);
    for (int i = 0; i < PROCESSES; i++)
        fill_with(blocks + (ptrdiff_t)i * ELEMENTS, value);
    return blocks;
}

/* Each process has its own value in all elements. */
static inline float *buffer_of(float value) {
    void *memory = NULL;
    if (host->allocate(BYTES, &memory, NULL) != PTO_OK)
        die("no memory");
    fill_with(memory, value);
    return keep(memory, end_buffer);
}

static inline bool holds(const float *buffer, float value) {
    for (int i = 0; i < ELEMENTS; i++)
        if (buffer[i] != value)
            return false;
    return true;
}

enum { RANK_SUM = PROCESSES * (PROCESSES - 1) / 2 };

/* Of `base` plus the rank, over all processes. */
static inline float sum_from(float base) { return PROCESSES * base + RANK_SUM; }

static const pto_exec_options_t usual = {.placement = PTO_PLACEMENT_IDENTITY, .own_algorithms = true};

static inline pto_exec_t *exec_of(const pto_plan_t *plan, const pto_device_t *device, const void *in,
                                  void *out, const pto_exec_options_t *options) {
    pto_error_t err = {0};
    pto_exec_t *exec = NULL;
    MUST(pto_exec_create(plan, MPI_COMM_WORLD, device, in, out, PTO_OP_SUM, options, &exec, &err));
    return exec;
}

/* A call that fails with this status and words of the message. */
static inline void expect_error(pto_status_t found, pto_status_t wanted, const char *words,
                                const pto_error_t *err) {
    expect(found == wanted && strstr(err->message, words), words, err->message);
}

/* A run that is right, and leaves this value in all elements. */
static inline void run_to(pto_exec_t *exec, const float *out, float value, const char *what) {
    pto_error_t err = {0};
    expect(pto_exec_run(exec, &err) == PTO_OK && holds(out, value), what, err.message);
}

/* What an earlier run or another call has failed for is not run again. */
static inline void expect_failed(pto_exec_t *exec) {
    pto_error_t err = {0};
    expect_error(pto_exec_run(exec, &err), PTO_ERR_RANGE, "an earlier run failed", &err);
}

/* Every test begins with it. */
static inline void begin(int *argc, char ***argv) {
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != PROCESSES || pto_device_find("host", &host, NULL) != PTO_OK)
        die("needs 4 processes");
}

/* And ends with it: returns whether anything was wrong on any process. */
static inline int end(void) {
    end_kept();
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return wrong != 0;
}

#endif
