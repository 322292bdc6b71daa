/* Reduction of two buffers into one, by element: on a core as the MPI library does it in its collectives
 * (MPI_Reduce_local), on a GPU by a kernel, its launch and its end included. The column `pair` names the
 * operation and the type; bytes are of one input. */
#include <stdio.h>
#include <stdlib.h>

#include "benchmark.h"
#include "check.h"
#include "memory.h"

typedef struct {
    const char *name;
    int64_t bytes;
    MPI_Datatype (*mpi)(void); /* Open MPI's handles are no constants */
} type_t;

typedef struct {
    const char *name;
    MPI_Op (*mpi)(void);
} op_t;

static MPI_Datatype of_int32(void) { return MPI_INT32_T; }
static MPI_Datatype of_int64(void) { return MPI_INT64_T; }
static MPI_Datatype of_float(void) { return MPI_FLOAT; }
static MPI_Datatype of_double(void) { return MPI_DOUBLE; }
static MPI_Op of_sum(void) { return MPI_SUM; }
static MPI_Op of_prod(void) { return MPI_PROD; }
static MPI_Op of_min(void) { return MPI_MIN; }
static MPI_Op of_max(void) { return MPI_MAX; }

static const type_t types[GPU_TYPE_COUNT] = {
    [GPU_INT32] = {"int32", 4, of_int32},
    [GPU_INT64] = {"int64", 8, of_int64},
    [GPU_FLOAT] = {"float", 4, of_float},
    [GPU_DOUBLE] = {"double", 8, of_double},
};

static const op_t ops[GPU_OP_COUNT] = {
    [GPU_SUM] = {"sum", of_sum},
    [GPU_PROD] = {"prod", of_prod},
    [GPU_MIN] = {"min", of_min},
    [GPU_MAX] = {"max", of_max},
};

typedef struct {
    const work_t *work;
    gpu_type_t type;
    gpu_op_t op;
    void *source;
    void *target;
} state_t;

static void list_space(pto_space_t space, case_list_t *list) {
    for (int op = 0; op < GPU_OP_COUNT; op++) {
        for (int type = 0; type < GPU_TYPE_COUNT; type++) {
            case_t *added = case_add(list, "reduce", 1);
            added->space = pto_space_name(space);
            added->buffers = space;
            added->least_bytes = types[type].bytes;
            snprintf(added->pair, sizeof added->pair, "%s-%s", ops[op].name, types[type].name);
            added->detail[0] = type;
            added->detail[1] = op;
            added->member[0] = 0;
        }
    }
}

static void list_cases(const job_t *job, case_list_t *list) {
    list_space(PTO_SPACE_CPU, list);
    if (job->no_gpu[0] != '\0') {
        case_skip(list, "reduce_gpu", job->no_gpu);
    } else {
        list_space(PTO_SPACE_GPU, list);
    }
}

/* All elements are 0: no operation ever overflows or meets a denormal, whose arithmetic is slow. */
static void *zeroed(pto_space_t space, int64_t bytes) {
    void *buffer = buffer_allocate(space, bytes);
    if (space == PTO_SPACE_GPU) {
        GPU_DO(gpu_fill(buffer, 0, (size_t)bytes));
    } else {
        for (int64_t i = 0; i < bytes; i++) {
            ((unsigned char *)buffer)[i] = 0;
        }
    }
    return buffer;
}

static void *open_case(const work_t *work) {
    state_t *state = must_allocate(1, sizeof *state);
    state->work = work;
    state->type = (gpu_type_t)work->what->detail[0];
    state->op = (gpu_op_t)work->what->detail[1];
    state->source = zeroed(work->what->buffers, work->most_bytes);
    state->target = zeroed(work->what->buffers, work->most_bytes);
    return state;
}

static double trial(void *opaque, int64_t bytes, int iterations) {
    state_t *state = opaque;
    int64_t count = bytes / types[state->type].bytes;
    MPI_Datatype type = types[state->type].mpi();
    MPI_Op op = ops[state->op].mpi();
    double start = now_s();
    for (int i = 0; i < iterations; i++) {
        if (state->work->what->buffers == PTO_SPACE_GPU) {
            GPU_DO(gpu_reduce(state->target, state->source, (size_t)count, state->type, state->op));
            GPU_DO(gpu_synchronize());
        } else {
            MPI_DO(MPI_Reduce_local(state->source, state->target, (int)count, type, op));
        }
    }
    return now_s() - start;
}

static void close_case(void *opaque) {
    state_t *state = opaque;
    buffer_free(state->work->what->buffers, state->source);
    buffer_free(state->work->what->buffers, state->target);
    free(state);
}

const benchmark_t bench_reduce = {
    .name = "reduce",
    .group = "reduce",
    .rows = "reduce",
    .summary = "element-wise reduction on a core and in a GPU kernel, per operation and type",
    .list = list_cases,
    .open = open_case,
    .trial = trial,
    .close = close_case,
};
