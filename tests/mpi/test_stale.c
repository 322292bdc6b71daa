/* Runs back to back on data that change in each: no process may ever read what an earlier run left behind in
 * memory that processes share. No barrier and no delay stands between runs, so processes drift as far apart
 * as the plan lets them.
 *
 *   mpirun -n 8 test_stale COUNT [DEVICE]             COUNT runs of each plan; the processes are a multiple
 * of 4 mpirun -n N test_stale COUNT DEVICE kernels       the same of plans whose kernels signal each other,
 * each process with a GPU of its own */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec_strategies.h"
#include "portolan/bench.h"
#include "portolan/exec_mpi.h"
#include "portolan/nccl.h"
#include "portolan/strategy.h"

/* Kernels have several blocks only for some bytes; then not every element is looked at in every run. */
enum { ELEMENTS = 5, KERNEL_ELEMENTS = 4099, LOOKED_AT_EVERY = 8, QUEUED_MAX = 7 };
enum { SMALL_SLICE_BYTES = 512, FEWER_WITH_SLICES = 4 };

typedef struct {
    const char *strategy;
    const char *algorithm;
    int64_t nodes;
    unsigned collectives; /* bits; 0: all that the strategy serves, but allgatherv */
    bool kernels;         /* one process a GPU, whose kernels, or NCCL's, do it */
    bool queued;          /* several runs in place before one wait */
    int64_t slots;        /* of a ring or a pipeline */
    int64_t few; /* elements of a vector, or a block, whose data carry their flags; 0: KERNEL_ELEMENTS */
    pto_collective_t collective; /* the one that is run */
} plan_t;

#define ALL .collectives = 0
#define ONLY(NAME) .collectives = 1u << PTO_COLLECTIVE_##NAME

static const plan_t plans[] = {
    {"gsb", "direct", 1, ALL},
    {"mix_doubling", "direct", 1, ALL},
    {"mix_learning", "direct", 1, ALL},
    {"btb", "direct", 1, ALL},
    {"btb_flat", "direct", 1, ALL},
    {"gsb_btb", "ring", 2, ONLY(ALLREDUCE)},
    {"btb_gsb", "recursive_doubling", 2, ONLY(ALLREDUCE)},
    {"btb_btb", "binomial", 2, ONLY(REDUCE)},
    {"gsb_gsb", "linear", 2, ONLY(BROADCAST)},
    {"node_leaders", "pairwise", 1, ONLY(ALLTOALL)},
    {"node_leaders", "ring", 1, ONLY(ALLGATHER)},
    {"node_leaders", "recursive_doubling", 2, ONLY(ALLGATHER)},
    {"staged_leaders", "bruck", 2, ONLY(ALLGATHER)},
    {"node_aware", "linear", 1, ONLY(ALLGATHER)},
    {"node_aware", "ring", 2, ONLY(ALLGATHER)},
    {"node_aware", "pairwise", 1, ONLY(ALLTOALL)},
    {"node_leaders", "pairwise", 2, ONLY(ALLTOALL)},
    {"node_leaders", "linear", 2, ONLY(ALLTOALLV)},
    {"node_aware", "bruck", 2, ONLY(ALLTOALL)},
    {"node_aware", "linear", 2, ONLY(ALLTOALLV)},
    {"staged_leaders", "pairwise", 2, ONLY(ALLTOALL)},
    {"staged_aware", "pairwise", 2, ONLY(ALLTOALL)},
    {"host_ring", "direct", 1, .slots = 1},
    {"host_ring", "direct", 1, .slots = 4},
    {"host_ring", "direct", 1, .slots = 16},
    {"ring_in_lanes", "direct", 1, .slots = 3},
    {"chunk_pipeline", "direct", 2, .slots = 2},
    {"partner_pipeline", "direct", 2, .slots = 3},
    {"staged_ring", "direct", 2, .slots = 3},
    {"two_halves", "direct", 1, ALL},
    {"gas_read", "direct", 1, .kernels = true},
    {"gas_gather", "direct", 1, .kernels = true},
    {"gas_allgather", "direct", 1, .kernels = true},
    {"gas_allgather", "direct", 1, ONLY(ALLTOALLV), .kernels = true, .few = 203},
    {"gas_split", "direct", 1, .kernels = true},
    {"gas_tree", "direct", 1, .kernels = true},
    {"copy_engine", "direct", 1, .kernels = true},
    {"gas_read", "direct", 1, ONLY(ALLREDUCE), .kernels = true, .queued = true},
    {"gas_gather", "direct", 1, ONLY(ALLREDUCE), .kernels = true, .queued = true},
    {"gas_allgather", "direct", 1, ONLY(ALLREDUCE), .kernels = true, .queued = true},
    {"gas_split", "direct", 1, ONLY(ALLREDUCE), .kernels = true, .queued = true},
    {"gas_tree", "direct", 1, ONLY(ALLREDUCE), .kernels = true, .queued = true},
    {"nccl", "nccl", 1, ONLY(ALLREDUCE), .kernels = true, .queued = true},
};

static int64_t elements(const plan_t *plan) {
    if (plan->few > 0)
        return plan->few;
    return plan->kernels ? KERNEL_ELEMENTS : ELEMENTS;
}

_Noreturn static void die(const plan_t *plan, int64_t run, const char *what) {
    fprintf(stderr, "test_stale: %s, %s, run %lld: %s\n", plan->strategy,
            pto_collective_name(plan->collective), (long long)run, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
    abort();
}

static int32_t value(int64_t run, int64_t owner, int64_t i) {
    return (int32_t)(run % 1000003 * 97 + owner * 13 + i);
}

/* Elements from one process to another; an alltoallv of kernels has a size for each pair. */
static int64_t elements_between(const plan_t *plan, int64_t from, int64_t to) {
    int64_t most = elements(plan);
    bool differ = plan->kernels && plan->collective == PTO_COLLECTIVE_ALLTOALLV;
    return differ ? (3 * from * from + 5 * to + 1) * most / 17 % (most + 1) : most; /* none of 0 to 2 */
}

/* The elements before block `other` of a process's input, or output. */
static int64_t elements_before(const plan_t *plan, int64_t owner, int64_t other, bool of_output) {
    int64_t before = 0;
    for (int64_t i = 0; i < other; i++)
        before += of_output ? elements_between(plan, i, owner) : elements_between(plan, owner, i);
    return before;
}

static int64_t runs_queued(const plan_t *plan, int64_t run) {
    return plan->queued ? 1 + run % QUEUED_MAX : 1;
}

/* What the process holds: on the device, and in host memory to fill and look at. */
typedef struct {
    const pto_device_t *device;
    pto_exec_t *exec;
    void *stream;
    void *in;
    void *out;
    int32_t *host;
    int64_t count; /* of elements in `in`, `out` and `host` */
    int64_t owner;
    int64_t owners;
} process_t;

static int32_t wanted_of_table(const plan_t *plan, const process_t *process, int64_t run, int64_t i) {
    int64_t from = 0;
    while (elements_before(plan, process->owner, from + 1, true) <= i)
        from++;
    i -= elements_before(plan, process->owner, from, true);
    return value(run, from, elements_before(plan, from, process->owner, false) + i);
}

/* In place every run but the first sums the sums of the one before. */
static int32_t wanted(const plan_t *plan, const process_t *process, int64_t run, int64_t i) {
    int64_t block = elements(plan);
    if (plan->collective == PTO_COLLECTIVE_ALLTOALLV)
        return wanted_of_table(plan, process, run, i);
    if (plan->collective == PTO_COLLECTIVE_SCATTER)
        return value(run, 0, process->owner * block + i);
    if (!pto_collective_reduces(plan->collective) && !pto_collective_is_vector(plan->collective))
        return value(run, i / block,
                     pto_collective_is_addressed(plan->collective) ? process->owner * block + i % block
                                                                   : i % block);
    if (!pto_collective_is_vector(plan->collective))
        i += process->owner * block;
    uint32_t sum = 0;
    int64_t from = plan->collective == PTO_COLLECTIVE_BROADCAST ? 1 : process->owners;
    for (int64_t owner = 0; owner < from; owner++)
        sum += (uint32_t)value(run, owner, i);
    for (int64_t queued = 1; queued < runs_queued(plan, run); queued++)
        sum *= (uint32_t)process->owners;
    return (int32_t)sum;
}

static void copy(const plan_t *plan, const process_t *process, void *target, const void *source) {
    pto_error_t err = {0};
    size_t bytes = (size_t)process->count * sizeof(int32_t);
    pto_move_t move = {target, source, bytes, 1, bytes, bytes};
    if (process->device->copy(&move, process->stream, &err) != PTO_OK ||
        process->device->finish(process->stream, &err) != PTO_OK)
        die(plan, -1, err.message);
}

static pto_status_t do_runs(const plan_t *plan, const process_t *process, int64_t run, pto_error_t *err) {
    pto_status_t status = PTO_OK;
    if (!plan->queued)
        return pto_exec_run(process->exec, err);
    for (int64_t queued = 0; queued < runs_queued(plan, run) && status == PTO_OK; queued++)
        status = pto_exec_queue(process->exec, err);
    return status == PTO_OK ? pto_exec_wait(process->exec, err) : status;
}

static void run_once(const plan_t *plan, const process_t *process, int64_t run) {
    int32_t *host = process->host;
    pto_error_t err = {0};
    for (int64_t i = 0; i < process->count; i++)
        host[i] = value(run, process->owner, i);
    copy(plan, process, process->in, host);
    if (do_runs(plan, process, run, &err) != PTO_OK)
        die(plan, run, err.message);
    if (pto_collective_is_to_root(plan->collective) && process->owner > 0)
        return;
    copy(plan, process, host, process->out);
    int64_t step = plan->kernels ? LOOKED_AT_EVERY : 1;
    int64_t blocks = pto_collective_blocks_out(plan->collective, process->owners);
    int64_t count = blocks > 1 ? elements_before(plan, process->owner, blocks, true) : elements(plan);
    for (int64_t i = run % step; i < count; i += step)
        if (host[i] != wanted(plan, process, run, i))
            die(plan, run,
                host[i] == wanted(plan, process, run - 1, i) ? "the result of the run before"
                                                             : "a wrong result");
}

static pto_counts_t counts_of(const plan_t *plan, int64_t owners, int64_t *bytes) {
    for (int64_t i = 0; i < owners * owners; i++)
        bytes[i] = elements_between(plan, i / owners, i % owners) * (int64_t)sizeof(int32_t);
    return (pto_counts_t){.kind = PTO_COUNTS_MATRIX, .order = owners, .matrix = bytes};
}

static void run_plan(const plan_t *plan, const pto_device_t *device, int size, int64_t count,
                     int64_t slice_bytes) {
    pto_request_t request = {.layout = {plan->nodes, size / 2 / plan->nodes, 2, 2, 1, false},
                             .collective = plan->collective,
                             .datatype = PTO_DATATYPE_INT32,
                             .bytes = elements(plan) * (int64_t)sizeof(int32_t),
                             .chunks = plan->slots};
    int64_t *sizes = calloc((size_t)size * (size_t)size, sizeof *sizes);
    if (!sizes)
        die(plan, -1, "out of memory");
    const pto_counts_t counts = counts_of(plan, size, sizes);
    if (plan->collective == PTO_COLLECTIVE_ALLTOALLV)
        request.counts = &counts;
    if (plan->kernels)
        request.layout = (pto_layout_t){1, size, 1, 1, 1, false};
    pto_exec_options_t options = {.placement = PTO_PLACEMENT_IDENTITY,
                                  .own_algorithms = true,
                                  .timeout_s = 60,
                                  .on_timeout = PTO_TIMEOUT_ABORT,
                                  .slice_bytes = slice_bytes};
    process_t process = {.device = device, .owners = size};
    process.count = elements(plan) * (pto_collective_is_vector(plan->collective) ? 1 : size);
    size_t bytes = (size_t)process.count * sizeof(int32_t);
    process.host = malloc(bytes);
    chunks_shape = (chunks_shape_t){plan->slots, ELEMENTS};
    pto_plan_t *made = NULL;
    pto_error_t err = {0};
    if (!process.host || pto_strategy_find(plan->strategy, &request.strategy, &err) != PTO_OK ||
        pto_algorithm_find(plan->algorithm, plan->collective, &request.algorithm, &err) != PTO_OK ||
        pto_plan_create(&request, &made, &err) != PTO_OK ||
        pto_exec_place(&request.layout, MPI_COMM_WORLD, &options, &process.owner, &err) != PTO_OK ||
        device->select(plan->kernels ? process.owner : process.owner / 2, &err) != PTO_OK ||
        device->stream_create(&process.stream, &err) != PTO_OK ||
        device->allocate(bytes, &process.in, &err) != PTO_OK ||
        device->allocate(bytes, &process.out, &err) != PTO_OK)
        die(plan, -1, err.message);
    void *out = process.out;
    if (plan->queued)
        process.out = process.in;
    if (pto_exec_create(made, MPI_COMM_WORLD, device, process.in, process.out, PTO_OP_SUM, &options,
                        &process.exec, &err) != PTO_OK)
        die(plan, -1, err.message);
    for (int64_t run = 1; run <= count; run++)
        run_once(plan, &process, run);
    pto_exec_destroy(process.exec);
    device->release(process.in, NULL);
    device->release(out, NULL);
    free(process.host);
    free(sizes);
    device->stream_destroy(process.stream, NULL);
    pto_plan_destroy(made);
}

static void run_collectives(const plan_t *of, const pto_device_t *device, int rank, int size, int64_t count) {
    const pto_strategy_t *strategy = NULL;
    pto_error_t err = {0};
    if (pto_strategy_find(of->strategy, &strategy, &err) != PTO_OK)
        die(of, -1, err.message);
    unsigned collectives = of->collectives;
    if (collectives == 0)
        collectives = strategy->collectives & ~(1u << PTO_COLLECTIVE_ALLGATHERV);
    for (pto_collective_t collective = 0; collective < PTO_COLLECTIVE_COUNT; collective++) {
        plan_t plan = *of;
        plan.collective = collective;
        if (!(collectives >> collective & 1))
            continue;
        run_plan(&plan, device, size, count, 0);
        if (plan.kernels) /* many slices, which are sent ahead */
            run_plan(&plan, device, size, count / FEWER_WITH_SLICES, SMALL_SLICE_BYTES);
        if (rank == 0)
            printf("test_stale: %s by %s%s: %lld runs, none stale\n", pto_collective_name(collective),
                   plan.strategy, plan.queued ? ", queued" : "", (long long)count);
    }
}

/* NCCL itself takes one process a GPU. */
static bool takes_nccl(const pto_device_t *device, int size) {
    int gpus = 0;
    return device->nccl && device->nccl->available(NULL) == PTO_OK &&
           (device->nccl->waits || (device->bench->count(&gpus, NULL) == PTO_OK && gpus >= size));
}

int main(int argc, char **argv) {
    int given, rank, size;
    const pto_device_t *device = NULL;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &given);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int64_t count = argc > 1 ? atoll(argv[1]) : 100;
    bool kernels = argc > 3 && strcmp(argv[3], "kernels") == 0;
    if ((!kernels && size % 4) || pto_device_find(argc > 2 ? argv[2] : "host", &device, NULL) != PTO_OK)
        return 2;
    strategies_register();
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        if (plans[i].kernels != kernels)
            continue;
        if (plans[i].nodes > 1 && !device->mpi_reaches())
            continue; /* their leaders send from the device's memory */
        if (strcmp(plans[i].strategy, "nccl") == 0 && !takes_nccl(device, size))
            continue;
        run_collectives(&plans[i], device, rank, size, count);
    }
    MPI_Finalize();
    return 0;
}
