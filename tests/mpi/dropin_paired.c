/* Pairs of blocks of calls: see dropin_paired.h.
 *
 * A round is four blocks: the program's calls twice and MPI's own twice, in the order ABBA or BAAB in turn,
 * so that a machine that becomes slower does so for both. Each call is behind a barrier. A block's time is
 * the median of its calls, a round's difference that of the means of its blocks. The interval is that of the
 * median of the differences by order statistics, which assumes no distribution. */
#define _GNU_SOURCE /* dladdr, RTLD_DEFAULT */
#include "dropin_paired.h"

#include <dlfcn.h>
#include <math.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../calibrate/statistics.h"
#include "profile_memory.h"

enum { ALL = 16, BLOCKS = 4, CALLS_MAX = 8, ROUNDS_MIN = 6, ROUNDS_MAX = 200 };
/* The first calls of a kind are those of a trial, and of its ends. */
enum { UNTIMED = ALL, UNTIMED_OF_MPI = 2 };
static const double block_s = 0.01;         /* as many calls as fit, but at least one */
static const double share_allowed = 0.03;   /* that a call may become slower, or */
static const double seconds_allowed = 1e-6; /* this much */

/* --- the functions of both ways ------------------------------------------------------------------------- */

typedef struct {
    int (*allreduce)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);
    int (*reduce)(const void *, void *, int, MPI_Datatype, MPI_Op, int, MPI_Comm);
    int (*bcast)(void *, int, MPI_Datatype, int, MPI_Comm);
    int (*alltoall)(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, MPI_Comm);
    int (*allgather)(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, MPI_Comm);
    int (*reduce_scatter)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);
    int (*barrier)(MPI_Comm);
} functions_t;

static functions_t by_program, by_mpi;

static bool find(void *library, const char *name, void *function, size_t size) {
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, size);
    return symbol != NULL;
}

/* What is in front of MPI may have all of its functions but this one. */
static void *open_mpi(void) {
    Dl_info info;
    void *version = dlsym(RTLD_DEFAULT, "MPI_Get_library_version");
    return version && dladdr(version, &info) != 0 ? dlopen(info.dli_fname, RTLD_NOLOAD | RTLD_NOW) : NULL;
}

static bool find_functions(void) {
    void *mpi = open_mpi();
    by_program = (functions_t){MPI_Allreduce, MPI_Reduce,    MPI_Bcast,
                               MPI_Alltoall,  MPI_Allgather, MPI_Reduce_scatter_block,
                               MPI_Barrier};
    return mpi && find(mpi, "PMPI_Allreduce", &by_mpi.allreduce, sizeof by_mpi.allreduce) &&
           find(mpi, "PMPI_Reduce", &by_mpi.reduce, sizeof by_mpi.reduce) &&
           find(mpi, "PMPI_Bcast", &by_mpi.bcast, sizeof by_mpi.bcast) &&
           find(mpi, "PMPI_Alltoall", &by_mpi.alltoall, sizeof by_mpi.alltoall) &&
           find(mpi, "PMPI_Allgather", &by_mpi.allgather, sizeof by_mpi.allgather) &&
           find(mpi, "PMPI_Reduce_scatter_block", &by_mpi.reduce_scatter, sizeof by_mpi.reduce_scatter) &&
           find(mpi, "PMPI_Barrier", &by_mpi.barrier, sizeof by_mpi.barrier);
}

/* --- cells ---------------------------------------------------------------------------------------------- */

typedef enum { ALLREDUCE, REDUCE, BCAST, ALLTOALL, ALLGATHER, REDUCE_SCATTER, KINDS } kind_t;
static const char *const names[KINDS] = {"allreduce", "reduce",    "broadcast",
                                         "alltoall",  "allgather", "reduce_scatter"};
/* Of a process. */
static const size_t sizes[] = {8, 64, 512, 4096, 16384, 65536, 262144, 1 << 20, 1 << 23, 1 << 26};

typedef struct {
    MPI_Comm comm;
    int rank;
    int size;
    kind_t kind;
    size_t bytes;
    int count; /* of a vector, or of each block */
    void *in;
    void *out;
} cell_t;

static void perform(const cell_t *cell, const functions_t *by) {
    switch (cell->kind) {
    case ALLREDUCE:
        by->allreduce(cell->in, cell->out, cell->count, MPI_FLOAT, MPI_SUM, cell->comm);
        break;
    case REDUCE:
        by->reduce(cell->in, cell->out, cell->count, MPI_FLOAT, MPI_SUM, 0, cell->comm);
        break;
    case BCAST:
        by->bcast(cell->out, cell->count, MPI_FLOAT, 0, cell->comm);
        break;
    case ALLTOALL:
        by->alltoall(cell->in, cell->count, MPI_FLOAT, cell->out, cell->count, MPI_FLOAT, cell->comm);
        break;
    case ALLGATHER:
        by->allgather(cell->in, cell->count, MPI_FLOAT, cell->out, cell->count, MPI_FLOAT, cell->comm);
        break;
    case REDUCE_SCATTER:
    case KINDS:
        by->reduce_scatter(cell->in, cell->out, cell->count, MPI_FLOAT, MPI_SUM, cell->comm);
    }
}

/* --- rounds --------------------------------------------------------------------------------------------- */

/* Seconds of this process's calls, then of all processes. */
typedef struct {
    double seconds[ROUNDS_MAX * BLOCKS * CALLS_MAX];
    int calls; /* of a block */
    int rounds;
} times_t;

static bool is_of_program(int round, int block) {
    bool outer = block == 0 || block == BLOCKS - 1;
    return outer == (round % 2 == 0);
}

static double timed_call(const cell_t *cell, const functions_t *by) {
    by_mpi.barrier(cell->comm);
    double began_s = MPI_Wtime();
    perform(cell, by);
    return MPI_Wtime() - began_s;
}

static void run_round(const cell_t *cell, times_t *times) {
    double *at = &times->seconds[(size_t)times->rounds * BLOCKS * (size_t)times->calls];
    for (int block = 0; block < BLOCKS; block++)
        for (int call = 0; call < times->calls; call++)
            *at++ = timed_call(cell, is_of_program(times->rounds, block) ? &by_program : &by_mpi);
    times->rounds++;
}

/* Process 0 decides for all. */
static bool goes_on(const cell_t *cell, const times_t *times, double ends_s) {
    int more = times->rounds < ROUNDS_MIN || (times->rounds < ROUNDS_MAX && MPI_Wtime() < ends_s);
    by_mpi.bcast(&more, 1, MPI_INT, 0, cell->comm);
    return more;
}

static void run_rounds(const cell_t *cell, double budget_s, times_t *times) {
    double ends_s = MPI_Wtime() + budget_s, least_s = INFINITY;
    for (int i = 0; i < UNTIMED; i++)
        perform(cell, &by_program);
    for (int i = 0; i < UNTIMED_OF_MPI; i++)
        least_s = fmin(least_s, timed_call(cell, &by_mpi));
    by_mpi.bcast(&least_s, 1, MPI_DOUBLE, 0, cell->comm);
    times->calls = (int)fmin(CALLS_MAX, fmax(1, block_s / least_s));
    times->rounds = 0;
    while (goes_on(cell, times, ends_s))
        run_round(cell, times);
}

/* --- what they show ------------------------------------------------------------------------------------- */

static int by_value(const void *one, const void *other) {
    const double *a = one, *b = other;
    return (*a > *b) - (*a < *b);
}

static double median(double *value, int count) {
    qsort(value, (size_t)count, sizeof *value, by_value);
    return (value[(count - 1) / 2] + value[count / 2]) / 2;
}

static const char *verdict(double low_s, double high_s, double mpi_s) {
    double allowed_s = fmax(share_allowed * mpi_s, seconds_allowed);
    if (low_s > allowed_s)
        return "slower";
    if (high_s < 0)
        return "faster";
    return high_s <= allowed_s ? "no slower" : "unclear";
}

static void print_row(const cell_t *cell, const char *of, const times_t *times) {
    double program_s[ROUNDS_MAX] = {0}, mpi_s[ROUNDS_MAX] = {0}, difference_s[ROUNDS_MAX] = {0};
    double block[CALLS_MAX];
    const double *at = times->seconds;
    for (int round = 0; round < times->rounds; round++) {
        for (int i = 0; i < BLOCKS; i++, at += times->calls) {
            memcpy(block, at, (size_t)times->calls * sizeof *block);
            double *sum = is_of_program(round, i) ? program_s : mpi_s;
            sum[round] += median(block, times->calls) / (BLOCKS / 2.0);
        }
        difference_s[round] = program_s[round] - mpi_s[round];
    }
    double middle_s = median(difference_s, times->rounds), own_s = median(mpi_s, times->rounds);
    int outer = median_interval_rank(times->rounds);
    double low_s = difference_s[outer - 1], high_s = difference_s[times->rounds - outer];
    printf("%s,%zu,%s,%d,%d,%.4e,%.4e,%.3e,%.3e,%.3e,%s\n", names[cell->kind], cell->bytes, of, times->rounds,
           times->calls, own_s, median(program_s, times->rounds), middle_s, low_s, high_s,
           verdict(low_s, high_s, own_s));
}

static void report(const cell_t *cell, const times_t *mine, times_t *all) {
    int count = mine->rounds * BLOCKS * mine->calls;
    *all = *mine;
    by_mpi.allreduce(mine->seconds, all->seconds, count, MPI_DOUBLE, MPI_SUM, cell->comm);
    for (int i = 0; i < count; i++)
        all->seconds[i] /= cell->size;
    if (cell->rank == 0)
        print_row(cell, "mean", all);
    by_mpi.allreduce(mine->seconds, all->seconds, count, MPI_DOUBLE, MPI_MAX, cell->comm);
    if (cell->rank == 0)
        print_row(cell, "slowest", all);
    fflush(stdout);
}

/* Of each vector, or block, in floats; 0: too few bytes for one. */
static int count_of(const cell_t *cell, kind_t kind, size_t bytes) {
    bool blocks = kind == ALLTOALL || kind == ALLGATHER || kind == REDUCE_SCATTER;
    return (int)(bytes / sizeof(float) / (blocks ? (size_t)cell->size : 1));
}

static int cells_of(const cell_t *cell, size_t bytes_max) {
    int cells = 0;
    for (kind_t kind = ALLREDUCE; kind < KINDS; kind++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            cells += sizes[i] <= bytes_max && count_of(cell, kind, sizes[i]) > 0;
    return cells;
}

static void run_cells(cell_t *cell, size_t bytes_max, double budget_s, times_t *times) {
    double ends_s = MPI_Wtime() + budget_s;
    int left = cells_of(cell, bytes_max);
    for (cell->kind = ALLREDUCE; cell->kind < KINDS; cell->kind++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes && sizes[i] <= bytes_max; i++) {
            cell->bytes = sizes[i];
            cell->count = count_of(cell, cell->kind, cell->bytes);
            if (cell->count == 0)
                continue;
            run_rounds(cell, fmax(0, ends_s - MPI_Wtime()) / left--, &times[0]);
            report(cell, &times[0], &times[1]);
        }
}

void run_paired(size_t bytes_max, double budget_s, int gpus) {
    cell_t cell = {.in = memory_allocate(MEMORY_GPU, bytes_max),
                   .out = memory_allocate(MEMORY_GPU, bytes_max)};
    times_t *times = calloc(2, sizeof *times);
    MPI_Comm_rank(MPI_COMM_WORLD, &cell.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &cell.size);
    if (!cell.in || !cell.out || !times || !find_functions()) {
        fprintf(stderr, "test_dropin: no memory, or MPI's own functions are not found\n");
        free(times);
        MPI_Abort(MPI_COMM_WORLD, 1);
        return;
    }
    MPI_Comm_split(MPI_COMM_WORLD, 0, cell.rank % gpus * cell.size + cell.rank, &cell.comm);
    MPI_Comm_rank(cell.comm, &cell.rank);
    if (cell.rank == 0)
        printf("collective,bytes,of,rounds,calls,mpi_s,dropin_s,difference_s,low_s,high_s,verdict\n");
    run_cells(&cell, bytes_max, budget_s, times);
    MPI_Comm_free(&cell.comm);
    memory_free(MEMORY_GPU, cell.in);
    memory_free(MEMORY_GPU, cell.out);
    free(times);
}
