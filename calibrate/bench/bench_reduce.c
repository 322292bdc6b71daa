/* Element-wise reduction of two buffers into one: on a core as the MPI library does it in its collectives
 * (MPI_Reduce_local), on a GPU by the executor's kernel, including its launch and the wait for its end. The
 * column `pair` names the operation and the datatype; bytes are of one input. */
#include <stdio.h>

#include "fatal.h"
#include "memory.h"
#include "part.h"

enum { DETAIL_DATATYPE, DETAIL_OP };

typedef struct {
    pto_datatype_t datatype;
    pto_op_t op;
    pto_mpi_reduction_t mpi;
    void *source;
    void *target;
} state_t;

static void list_case(pto_space_t space, pto_op_t op, pto_datatype_t datatype, case_list_t *list) {
    case_t *added = case_add_in(list, "reduce", space, 1);
    added->min_bytes = pto_datatype_bytes(datatype);
    snprintf(added->pair, sizeof added->pair, "%s-%s", pto_op_name(op), pto_datatype_name(datatype));
    added->detail[DETAIL_DATATYPE] = (int)datatype;
    added->detail[DETAIL_OP] = (int)op;
}

/* 32-bit and 64-bit integers and floating point; on a GPU, also sums of 16-bit floating point. */
static void list_space(pto_space_t space, case_list_t *list) {
    for (pto_op_t op = PTO_OP_SUM; op <= PTO_OP_MAX; op++)
        for (pto_datatype_t datatype = PTO_DATATYPE_INT32; datatype <= PTO_DATATYPE_DOUBLE; datatype++)
            list_case(space, op, datatype, list);
    if (space != PTO_SPACE_GPU)
        return;
    list_case(space, PTO_OP_SUM, PTO_DATATYPE_HALF, list);
    list_case(space, PTO_OP_SUM, PTO_DATATYPE_BFLOAT16, list);
}

static void list_cases(const job_t *job, case_list_t *list) {
    list_space(PTO_SPACE_CPU, list);
    if (job->no_gpu[0] != '\0')
        case_skip(list, job->no_gpu, "reduce_gpu");
    else
        list_space(PTO_SPACE_GPU, list);
}

static void open_case(const work_t *work) {
    state_t *state = work->state;
    state->datatype = (pto_datatype_t)work->bench_case->detail[DETAIL_DATATYPE];
    state->op = (pto_op_t)work->bench_case->detail[DETAIL_OP];
    if (pto_mpi_reduction(state->datatype, state->op, &state->mpi, NULL) != PTO_OK)
        die("no operation of MPI for a reduction");
    state->source = memory_zeroed(work, work->bench_case->buffers, work->max_bytes);
    state->target = memory_zeroed(work, work->bench_case->buffers, work->max_bytes);
}

static void reduce_once(const work_t *work, int64_t bytes) {
    state_t *state = work->state;
    int64_t count = bytes / pto_datatype_bytes(state->datatype);
    if (work->bench_case->buffers == PTO_SPACE_GPU) {
        GPU_DO(gpu.device->reduce(state->target, state->source, (size_t)count, state->datatype, state->op,
                                  gpu.stream, &gpu_error));
        GPU_DO(gpu.device->finish(gpu.stream, &gpu_error));
    } else {
        MPI_DO(MPI_Reduce_local(state->source, state->target, (int)count, state->mpi.type, state->mpi.op));
    }
}

static void close_case(const work_t *work) {
    state_t *state = work->state;
    pto_mpi_reduction_free(&state->mpi);
}

const benchmark_t bench_reduce = {
    .name = "reduce",
    .summary = "element-wise reduction on a core and in a GPU kernel, per operation and type",
    .state_bytes = sizeof(state_t),
    .list = list_cases,
    .open = open_case,
    .once = reduce_once,
    .close = close_case,
};
