/* Trials of the drop-in: a plan that is slower than MPI on any process is given up after its first calls, on
 * all processes, and a plan that is faster stays. This program calls the drop-in as its wrappers do, and
 * makes plans or MPI slow on a clock of its own. And blocks of ranks that are out of order are copied in as
 * few copies as strides allow, which cannot go backwards.
 *
 *   mpirun -n 2 test_trials */
#include <time.h>

#include "dropin_begun.h"

enum { CALLS = 20, COUNT_MAX = 4096 };

/* The drop-in's clock, and no library's: each look at it takes a microsecond, and what is slow 20 ms. */
static long clock_ns;
enum { LOOK_NS = 1000, SLOW_NS = 20000000, SECOND_NS = 1000000000 };

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the header's are reserved */
__attribute__((visibility("hidden"))) int clock_gettime(clockid_t id, struct timespec *now) {
    clock_ns += LOOK_NS;
    *now = (struct timespec){.tv_sec = clock_ns / SECOND_NS, .tv_nsec = clock_ns % SECOND_NS};
    return 0;
}

static void rest(bool rests) { clock_ns += rests ? SLOW_NS : 0; }

/* Who is slow, and what became of the calls. */
typedef struct {
    bool slow_plan;
    bool slow_mpi;
    int by_plan;
    int by_mpi;
    int last_by_plan; /* the last call's number from 1 on; 0: none */
} try_t;

static void one_call(MPI_Comm comm, drop_call_t call, int number, try_t *try) {
    drop_task_t task = {.call = call};
    task.call.comm = comm;
    drop_take(&task);
    rest(task.done ? try->slow_plan : try->slow_mpi);
    int code = task.done ? task.code : by_mpi(&task, comm);
    expect(drop_finish(&task, code) == MPI_SUCCESS, "a call fails");
    try->by_plan += task.done;
    try->by_mpi += !task.done;
    try->last_by_plan = task.done ? number : try->last_by_plan;
}

/* Calls of a kind; `count` of numbers makes it a new one. */
static void repeat(pto_collective_t collective, int count, try_t *try) {
    static int in[COUNT_MAX], out[2 * COUNT_MAX];
    bool reduces = collective == PTO_COLLECTIVE_ALLREDUCE;
    const drop_call_t call = call_of(collective, in, out, count);
    for (int number = 1; number <= CALLS; number++) {
        for (int i = 0; i < count; i++)
            in[i] = drop.rank * 1000 + number + i;
        one_call(MPI_COMM_WORLD, call, number, try);
        for (int i = 0; i < count && reduces; i++)
            expect(out[i] == 1000 + 2 * (number + i), "a sum is wrong");
        for (int i = 0; i < 2 * count && !reduces; i++)
            expect(out[i] == i / count * 1000 + number + i % count, "a block is wrong");
    }
}

static void compare(void) {
    const int each = 1 + drop.trials;
    try_t slow_mpi = {.slow_mpi = true}, slow_plan = {.slow_plan = true},
          one_slow = {.slow_plan = drop.rank == 1}, sum = {.slow_plan = true}, off = {.slow_plan = true};
    repeat(PTO_COLLECTIVE_ALLGATHER, 100, &slow_mpi);
    expect(slow_mpi.by_mpi == each && slow_mpi.last_by_plan == CALLS, "a faster plan is not kept");
    repeat(PTO_COLLECTIVE_ALLGATHER, 200, &slow_plan);
    expect(slow_plan.by_plan == each && slow_plan.last_by_plan == each, "a slower plan is kept");
    repeat(PTO_COLLECTIVE_ALLGATHER, 300, &one_slow);
    expect(one_slow.by_plan == each, "a plan is kept that is slower on one process");
    repeat(PTO_COLLECTIVE_ALLREDUCE, 100, &sum);
    expect(sum.by_plan == CALLS, "a reduction has a trial, so its last bits depend on the noise");
    drop.trials = 0;
    repeat(PTO_COLLECTIVE_ALLGATHER, 400, &off);
    expect(off.by_plan == CALLS, "PORTOLAN_TRIALS=0 has trials");
}

/* From each place on, the blocks of one copy, and how far apart their ranks are. */
static void copies_of_blocks(void) {
    static int rank_at[] = {0, 1, 5, 2, 4, 6, 3};
    static const struct {
        int place, count, rank_stride;
    } runs[] = {{0, 2, 1}, {2, 1, 0}, {3, 3, 2}, {6, 1, 1}};
    const drop_layout_t layout = {.rank_at = rank_at};
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        int rank_stride, count = drop_layout_blocks(&layout, 7, runs[i].place, &rank_stride);
        expect(count == runs[i].count && (count == 1 || rank_stride == runs[i].rank_stride),
               "a copy of other blocks");
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    begin();
    drop.trials = 3;
    if (drop.size == 2)
        compare();
    copies_of_blocks();
    expect(drop.size == 2, "it takes two processes");
    return end();
}
