/* The drop-in, begun by a program that calls it as its wrappers do, and its calls. */
#ifndef PTO_TEST_DROPIN_BEGUN_H
#define PTO_TEST_DROPIN_BEGUN_H

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "dropin.h"

static int wrong;

static inline void expect(bool right, const char *what) {
    if (right)
        return;
    wrong++;
    fprintf(stderr, "rank %d: %s\n", drop.rank, what);
}

/* As drop_begin does, on two GPUs of the host device. */
static inline void begin(void) {
    MPI_Comm_rank(MPI_COMM_WORLD, &drop.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &drop.size);
    if (pto_device_find("host", &drop.device, NULL) != PTO_OK ||
        pto_machine_open("scenarios/machines/h200-x2.yaml", &drop.machine, NULL) != PTO_OK) {
        fprintf(stderr, "no device, or not in the source tree\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    drop.host_device = drop.device;
    drop.any_gpu = drop.assumes_gpu = true;
    drop.bytes_max = INT64_MAX;
    drop.plans_max = 8;
    drop.node_of = calloc((size_t)drop.size, sizeof *drop.node_of);
    drop.on = drop_comms_begin();
    expect(drop.node_of && drop.on, "the drop-in does not begin");
}

/* A collective of `count` integers of each process. */
static inline drop_call_t call_of(pto_collective_t collective, const int *in, int *out, int count) {
    bool reduces = collective == PTO_COLLECTIVE_ALLREDUCE;
    return (drop_call_t){.collective = collective,
                         .routine = "MPI",
                         .in = in,
                         .out = out,
                         .in_count = count,
                         .out_count = count,
                         .in_type = MPI_INT,
                         .out_type = MPI_INT,
                         .op = reduces ? MPI_SUM : MPI_OP_NULL,
                         .root = -1};
}

/* What MPI does of a call that is not taken. */
static inline int by_mpi(const drop_task_t *task, MPI_Comm comm) {
    const drop_call_t *call = &task->mpi_call;
    int count = (int)call->in_count;
    if (call->collective == PTO_COLLECTIVE_ALLGATHER)
        return MPI_Allgather(call->in, count, MPI_INT, call->out, count, MPI_INT, comm);
    return MPI_Allreduce(call->in, call->out, count, MPI_INT, MPI_SUM, comm);
}

/* On all processes, whether anything was wrong on one. */
static inline int end(void) {
    int mine = wrong, all = 1;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return all != 0;
}

#endif
