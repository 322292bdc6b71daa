/* Signals between kernels, as in plans. The threads of a block store words in another GPU's memory and
 * synchronize; then one of them sets a flag there. A thread of the other GPU's block polls the flag; then its
 * threads synchronize and load the words. So the time includes all that makes data safe to use. A trial is a
 * thousand round trips, timed by the GPU's clock; half of one is one way. One more round trip comes first and
 * is not timed, because the other kernel may start late. */
#include "fatal.h"
#include "ipc.h"
#include "memory.h"

enum { ROUNDS = 1000 };

/* A kernel that misses its partner ends after this, and the job with it. */
static const double limit_s = 5.0;

typedef struct {
    void *inbox;     /* where the other member stores */
    void *opened[2]; /* the inbox of each member */
    pto_bench_rounds_t *result;
    uint32_t value; /* the last value of both flags */
} state_t;

static void list_cases(const job_t *job, case_list_t *list) {
    ipc_cases(job, "signal_device", list);
    for (int i = 0; i < list->case_count; i++) {
        list->cases[i].space = pto_space_name(PTO_SPACE_GPU);
        list->cases[i].sized = false;
    }
}

/* The memory is zero before another process opens it. */
static void open_case(const work_t *work) {
    state_t *state = work->state;
    state->inbox = memory_zeroed(work, PTO_SPACE_GPU, PTO_BENCH_PING_PONG_BYTES);
    state->result = memory_pinned(work, (int64_t)sizeof *state->result);
    ipc_open(work, state->inbox, state->opened);
}

/* Always runs 1 + ROUNDS rounds. Returns the mean time of one way, times `iterations`. */
static double trial(const work_t *work, int64_t bytes, int iterations) {
    (void)bytes;
    state_t *state = work->state;
    int other = 1 - work->me;
    const pto_bench_ping_pong_t side = {.own = state->inbox,
                                        .others = state->opened[other],
                                        .first = work->me == 0,
                                        .from = state->value,
                                        .rounds = ROUNDS,
                                        .limit_s = limit_s,
                                        .result = state->result};
    GPU_DO(gpu.bench->ping_pong(&side, gpu.stream, &gpu_error));
    GPU_DO(gpu.device->finish(gpu.stream, &gpu_error));
    if (state->result->failed_round != 0) {
        die("signal_device: the flag of process %d did not reach process %d within %.0f s, in round %u of "
            "%d; leave the benchmark out by --only",
            work->bench_case->member[other], work->job->rank, limit_s, (unsigned)state->result->failed_round,
            1 + ROUNDS);
    }
    if (state->result->stale)
        die("signal_device: on process %d, a flag arrived before its data", work->job->rank);
    state->value += 1 + ROUNDS;
    double one_way_s = 1e-9 * (double)state->result->elapsed_ns / (2 * ROUNDS);
    return work->me == 0 ? one_way_s * iterations : 0.0;
}

const benchmark_t bench_signal_device = {
    .name = "signal_device",
    .group = "signals",
    .summary = "from stores of a kernel to another GPU's memory until one there loads them, told by a flag",
    .gpu_only = "signal_device",
    .state_bytes = sizeof(state_t),
    .list = list_cases,
    .open = open_case,
    .trial = trial,
};
