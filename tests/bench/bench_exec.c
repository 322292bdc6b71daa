/* What interpreting a plan costs: executed plans against the same calls written by hand in plain MPI and the
 * device's copies, run in turn in one job. Printed are the medians and their ratio, and whether the executor
 * keeps its promise: at most 1.05 times the time by hand from 512 bytes up, 1.15 below. Both have a
 * communicator of their own, as a library must. Ratios within one run count; the times depend on the machine
 * that ran it.
 *
 *   mpirun -n N bench_exec [DEVICE]      on one node; N processes with a GPU each (modulo those there are) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "device/reduce.h"
#include "mpi/die.h"
#include "portolan/exec_mpi.h"

enum {
    ROUNDS = 5,
    WARM_RUNS = 5,
    RUNS_MIN = 15,
    RUNS_MAX = 400,
    SHORT_BYTES = 512,  /* below: 1.15 is promised */
    LONG_BYTES = 65536, /* longer ones are left out of a short bench */
    ALIGN_BYTES = 256
};
#define SECONDS_PER_ROW 0.4
#define RATIO_PROMISED 1.05
#define SHORT_RATIO_PROMISED 1.15

static const int64_t sizes[] = {4, 64, 512, 8192, 65536, 524288, 4194304};

static int rank, size;
static MPI_Comm by_hand;
static const pto_device_t *device;
static void *stream;

/* --- by hand -------------------------------------------------------------------------------------------- */

/* A row's buffers. Where the strategy stages, `from` and `to` are host memory, else `in` and `out`. */
typedef struct {
    char *in;
    char *out;
    char *from;
    char *to;
    char *received; /* allreduce's */
    char *temporary;
    int64_t bytes; /* to each destination, or of allreduce's vector */
    int64_t all;   /* of a buffer */
} hand_t;

static void move(void *target, const void *source, int64_t bytes) {
    pto_move_t one = {target, source, (size_t)bytes, 1, (size_t)bytes, (size_t)bytes};
    if (bytes > 0 && device->copy(&one, stream, NULL) != PTO_OK)
        die("copy");
}

static void finish(void) {
    if (device->finish(stream, NULL) != PTO_OK)
        die("finish");
}

static void exchange(const void *sent, int64_t sent_bytes, int to, void *received, int64_t received_bytes,
                     int from) {
    MPI_Request request[2];
    MPI_Irecv(received, (int)received_bytes, MPI_BYTE, received_bytes > 0 ? from : MPI_PROC_NULL, 0, by_hand,
              &request[0]);
    MPI_Isend(sent, (int)sent_bytes, MPI_BYTE, sent_bytes > 0 ? to : MPI_PROC_NULL, 0, by_hand, &request[1]);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
}

static void allreduce_by_library(const hand_t *hand) {
    MPI_Allreduce(MPI_IN_PLACE, hand->to, (int)(hand->all / 4), MPI_FLOAT, MPI_SUM, by_hand);
}

static void alltoall_by_library(const hand_t *hand) {
    MPI_Alltoall(hand->from, (int)hand->bytes, MPI_BYTE, hand->to, (int)hand->bytes, MPI_BYTE, by_hand);
}

static void alltoall_by_pairwise(const hand_t *hand) {
    char *own = hand->to + rank * hand->bytes, *of = hand->from + rank * hand->bytes;
    if (hand->to == hand->out) {
        move(own, of, hand->bytes);
        finish();
    } else {
        memcpy(own, of, (size_t)hand->bytes);
    }
    for (int k = 1; k < size; k++) {
        int to = (rank + k) % size, from = (rank + size - k) % size;
        exchange(hand->from + to * hand->bytes, hand->bytes, to, hand->to + from * hand->bytes, hand->bytes,
                 from);
    }
}

static void add(const hand_t *hand, int64_t offset, int64_t bytes) {
    if (hand->to != hand->out) {
        pto_reduce_host(hand->to + offset, hand->received + offset, (size_t)bytes / 4, PTO_DATATYPE_FLOAT,
                        PTO_OP_SUM);
        return;
    }
    if (device->reduce(hand->to + offset, hand->received + offset, (size_t)bytes / 4, PTO_DATATYPE_FLOAT,
                       PTO_OP_SUM, stream, NULL) != PTO_OK)
        die("reduce");
    finish();
}

static void allreduce_by_ring(const hand_t *hand) {
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    for (int step = 0; step < 2 * (size - 1); step++) {
        bool reduces = step < size - 1;
        int k = reduces ? step : step - size; /* the second turn starts one part on */
        int sent = (rank - k + size) % size, got = (sent + size - 1) % size;
        int64_t sent_at = pto_share_offset(hand->all, 4, size, sent);
        int64_t got_at = pto_share_offset(hand->all, 4, size, got);
        int64_t got_bytes = pto_share_bytes(hand->all, 4, size, got);
        exchange(hand->to + sent_at, pto_share_bytes(hand->all, 4, size, sent), to,
                 (reduces ? hand->received : hand->to) + got_at, got_bytes, from);
        if (reduces)
            add(hand, got_at, got_bytes);
    }
}

/* --- rows ----------------------------------------------------------------------------------------------- */

typedef struct {
    const char *strategy;
    const char *algorithm;
    pto_collective_t collective;
    bool by_library;
    void (*collect)(const hand_t *hand);
} row_t;

static const row_t rows[] = {
    {"three_step", "ring", PTO_COLLECTIVE_ALLREDUCE, true, allreduce_by_library},
    {"cuda_aware", "ring", PTO_COLLECTIVE_ALLREDUCE, true, allreduce_by_library},
    {"three_step", "pairwise", PTO_COLLECTIVE_ALLTOALL, true, alltoall_by_library},
    {"cuda_aware", "pairwise", PTO_COLLECTIVE_ALLTOALL, true, alltoall_by_library},
    {"three_step", "ring", PTO_COLLECTIVE_ALLREDUCE, false, allreduce_by_ring},
    {"cuda_aware", "ring", PTO_COLLECTIVE_ALLREDUCE, false, allreduce_by_ring},
    {"three_step", "pairwise", PTO_COLLECTIVE_ALLTOALL, false, alltoall_by_pairwise},
    {"cuda_aware", "pairwise", PTO_COLLECTIVE_ALLTOALL, false, alltoall_by_pairwise},
};

static bool stages(const hand_t *hand) { return hand->from != hand->in; }

/* As three_step and cuda_aware do it: allreduce works in place in the staging buffer, or in `out`. */
static void run_by_hand(const row_t *row, const hand_t *hand) {
    bool in_place = row->collective == PTO_COLLECTIVE_ALLREDUCE;
    if (stages(hand))
        move(hand->from, hand->in, hand->all);
    else if (in_place)
        move(hand->out, hand->in, hand->all);
    finish();
    row->collect(hand);
    if (!stages(hand))
        return;
    move(hand->out, hand->to, hand->all);
    finish();
}

static char *allocate(bool on_device, int64_t bytes) {
    void *memory = NULL;
    pto_error_t err = {0};
    if ((on_device ? device->allocate : device->allocate_staging)((size_t)bytes, &memory, &err) != PTO_OK)
        die(err.message);
    return memory;
}

static hand_t hand_init(const row_t *row, int64_t bytes) {
    bool staged = strcmp(row->strategy, "three_step") == 0;
    bool reduces = row->collective == PTO_COLLECTIVE_ALLREDUCE;
    int64_t all = reduces ? bytes : bytes * size;
    hand_t hand = {.bytes = bytes, .all = all};
    hand.in = allocate(true, all);
    hand.out = allocate(true, all);
    /* One piece of memory for all that is temporary, as the executor has it: alignment matters to copies. */
    int64_t aligned = (all + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
    hand.temporary = allocate(!staged, 2 * aligned);
    hand.from = staged ? hand.temporary : hand.in;
    hand.received = hand.temporary + aligned;
    hand.to = hand.out;
    if (staged)
        hand.to = reduces ? hand.from : hand.received;
    return hand;
}

static void hand_fini(const hand_t *hand) {
    (stages(hand) ? device->release_staging : device->release)(hand->temporary, NULL);
    device->release(hand->in, NULL);
    device->release(hand->out, NULL);
}

static pto_plan_t *plan_of(const row_t *row, int64_t bytes) {
    const pto_request_t request = {.layout = {1, size, 1, 1, size, false},
                                   .collective = row->collective,
                                   .datatype = PTO_DATATYPE_FLOAT,
                                   .bytes = bytes,
                                   .by_library = row->by_library};
    return plan_by(request, row->strategy, row->algorithm);
}

/* --- measuring ------------------------------------------------------------------------------------------ */

static double one_s(bool is_by_hand, const row_t *row, const hand_t *hand, pto_exec_t *exec) {
    MPI_Barrier(MPI_COMM_WORLD);
    double began_s = MPI_Wtime();
    if (is_by_hand)
        run_by_hand(row, hand);
    else if (pto_exec_run(exec, NULL) != PTO_OK)
        die("pto_exec_run");
    return MPI_Wtime() - began_s;
}

/* So many that a row takes its time; the same on all processes. */
static int run_count(const row_t *row, const hand_t *hand, pto_exec_t *exec) {
    double began_s = MPI_Wtime();
    for (int i = 0; i < WARM_RUNS; i++) {
        one_s(true, row, hand, exec);
        one_s(false, row, hand, exec);
    }
    int count = (int)(SECONDS_PER_ROW / ROUNDS * WARM_RUNS / (MPI_Wtime() - began_s));
    if (bench_is_short())
        count = 1;
    else
        count = count < RUNS_MIN ? RUNS_MIN : count > RUNS_MAX ? RUNS_MAX : count;
    MPI_Bcast(&count, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return count;
}

/* Every run's time, the executor's at [0], by hand at [1]. */
typedef struct {
    double seconds[2][ROUNDS * RUNS_MAX];
    int count;
} samples_t;

/* One round of runs on memory of its own: where that lies decides a few percent, and luck must not judge.
 * Which of the two goes first changes from run to run. */
static void measure(const row_t *row, int64_t bytes, const pto_plan_t *plan, samples_t *samples) {
    pto_error_t err = {0};
    pto_exec_t *exec = NULL;
    pto_exec_options_t options = {.placement = PTO_PLACEMENT_IDENTITY,
                                  .own_algorithms = !row->by_library,
                                  .on_timeout = PTO_TIMEOUT_ABORT};
    hand_t hand = hand_init(row, bytes);
    if (pto_exec_create(plan, MPI_COMM_WORLD, device, hand.in, hand.out, PTO_OP_SUM, &options, &exec, &err) !=
        PTO_OK)
        die(err.message);
    for (int left = run_count(row, &hand, exec); left > 0; left--) {
        int first = left % 2;
        samples->seconds[first][samples->count] = one_s(first, row, &hand, exec);
        samples->seconds[!first][samples->count++] = one_s(!first, row, &hand, exec);
    }
    pto_exec_destroy(exec);
    hand_fini(&hand);
}

/* The median over runs of the slowest process's time. */
static double median_of_slowest(double *seconds, int count) {
    MPI_Allreduce(MPI_IN_PLACE, seconds, count, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    bench_sort(seconds, count);
    return (seconds[(count - 1) / 2] + seconds[count / 2]) / 2;
}

/* Whether the promise is kept. */
static bool bench_one(const row_t *row, int64_t bytes) {
    static samples_t samples;
    pto_plan_t *plan = plan_of(row, bytes);
    samples.count = 0;
    for (int round = 0; round < (bench_is_short() ? 1 : ROUNDS); round++)
        measure(row, bytes, plan, &samples);
    pto_plan_destroy(plan);
    double exec_s = median_of_slowest(samples.seconds[0], samples.count);
    double hand_s = median_of_slowest(samples.seconds[1], samples.count);
    double ratio = exec_s / hand_s, more_s = exec_s - hand_s;
    bool kept = ratio <= (bytes < SHORT_BYTES ? SHORT_RATIO_PROMISED : RATIO_PROMISED);
    if (rank == 0)
        printf("%-9s %-10s %-8s %8lld %10.2f %10.2f %8.3f %+9.2f  %s\n", pto_collective_name(row->collective),
               row->strategy, row->by_library ? "library" : row->algorithm, (long long)bytes, 1e6 * exec_s,
               1e6 * hand_s, ratio, 1e6 * more_s, kept ? "kept" : "NOT KEPT");
    return kept;
}

static void bench_all(void) {
    int kept = 0, count = 0;
    bool reached = device->mpi_reaches();
    if (rank == 0)
        printf("# executed plans against the same calls by hand: %d processes, device %s; medians\n"
               "# %-7s %-10s %-8s %8s %10s %10s %8s %9s\n",
               size, device->name, "", "strategy", "inside", "bytes", "exec us", "hand us", "ratio",
               "more us");
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            bool long_run = bench_is_short() && sizes[s] > LONG_BYTES;
            if (long_run || (!reached && strcmp(rows[r].strategy, "cuda_aware") == 0))
                continue;
            kept += bench_one(&rows[r], sizes[s]);
            count++;
        }
    if (rank == 0)
        printf("# %d of %d rows keep the promise%s\n", kept, count,
               reached ? "" : "; cuda_aware left out: this MPI library takes no pointers to the device");
}

int main(int argc, char **argv) {
    int given;
    pto_error_t err = {0};
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &given);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_dup(MPI_COMM_WORLD, &by_hand);
    if (pto_device_find(argc > 1 ? argv[1] : "host", &device, &err) != PTO_OK ||
        device->select(rank, &err) != PTO_OK || device->stream_create(&stream, &err) != PTO_OK)
        die(err.message);
    bench_all();
    device->stream_destroy(stream, NULL);
    MPI_Comm_free(&by_hand);
    MPI_Finalize();
    return 0;
}
