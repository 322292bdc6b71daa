/* An MPI program that knows the results of its collectives by itself: each process computes what all others
 * contribute. It says which memory is a GPU's, where a library in front of MPI asks.
 *
 *   test_dropin random COUNT SEED   all collectives, datatypes and operations, on several communicators, in
 *                                   memory that differs between the processes of a call at times
 *   test_dropin special             what must be left to MPI
 *   test_dropin repeat COUNT BYTES  the same allreduce of GPU memory
 *   test_dropin alternate COUNT BYTES  the same allreduce of GPU memory and of host memory in turn
 *   test_dropin unequal COUNT       an alltoallv of GPU memory so many times, and then another one, whose
 *                                   blocks have gaps between them
 *   test_dropin kinds KINDS ONE     as often as not in memory that is none of the kinds that the program has
 *                                   asserted, in process 0 alone with ONE 1
 *   test_dropin comms COUNT         communicators made, used and freed; prints descriptors and mappings left
 *   test_dropin load LIBRARY        eight allreduces of host memory; the last process loads it after four
 *   test_dropin alias               allgathers with one buffer for input and output in process 0
 *   test_dropin spawn               starts two processes more, and sums with them
 *   test_dropin plans COUNT         an allreduce of host memory of each of so many sizes
 *   test_dropin live COUNT          an allreduce of host memory on each of so many communicators, kept till
 *                                   the end
 *   test_dropin threads COUNT SEED  MPI_THREAD_MULTIPLE: random calls by several threads at once, each on
 *                                   communicators of its own
 *   test_dropin capture             sums while a stream is captured; with `cuda`
 *   test_dropin killed              process 1 dies between two calls
 *   test_dropin paired BYTES SECONDS GPUS  what calls of GPU memory take, and the same calls by MPI itself
 *                                   (dropin_paired.h)
 *
 * With `cuda` as the last argument memory is of CUDA's driver, that of process r of GPU r, modulo those there
 * are (random, repeat, comms, threads, capture, killed, paired). */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dropin_paired.h"
#include "dropin_special.h"
#include "held.h"
#include "profile_memory.h"

enum { COUNT_MAX = 3000, COMMS = 4, THREADS = 4 };

/* A reduction in place of more than 2 KiB to another process than 0 ends MPICH 4.0.2 with a segmentation
 * fault. */
#ifdef OPEN_MPI
enum { MPICH_FAILS = false };
#else
enum { MPICH_FAILS = true };
#endif

static atomic_int wrong;
static bool several_threads; /* MPI may have any of their calls */
static bool real_gpus;
int rank, size;

void expect(bool right, const char *what) {
    if (right)
        return;
    if (wrong++ < 5)
        fprintf(stderr, "rank %d: wrong: %s\n", rank, what);
}

/* --- numbers -------------------------------------------------------------------------------------------- */

typedef struct {
    uint64_t state;
} random_t;

static int below(random_t *random, int limit) {
    random->state = random->state * 6364136223846793005u + 1442695040888963407u;
    return (int)((random->state >> 33) % (uint64_t)limit);
}

/* Element `i` of what `from` gives in a call, for `to` where it matters: small, so that all sums are exact.
 */
static int value(uint64_t call, int from, int to, int i) {
    uint64_t mixed = (call * 31 + (uint64_t)from) * 0x9e3779b97f4a7c15u + (uint64_t)(to * 977 + i);
    return (int)((mixed ^ mixed >> 29) % 3);
}

typedef struct {
    MPI_Datatype type;
    int bytes;
    enum { WHOLE, REAL, COMPLEX, BOOLEAN, BYTES } kind;
} type_t;

static void store(const type_t *type, void *at, int i, int number) {
    const float single[2] = {(float)number};
    const double twice[2] = {number};
    const int64_t large =
        type->kind == BOOLEAN ? number != 0 : number; /* its lower bytes, if it is shorter */
    const void *source = &large;
    if (type->kind == REAL)
        source = type->bytes == 4 ? (const void *)single : (const void *)twice;
    else if (type->kind == COMPLEX)
        source = type->bytes == 8 ? (const void *)single : (const void *)twice;
    memcpy((char *)at + i * type->bytes, source, (size_t)type->bytes);
}

static bool holds(const type_t *type, const void *at, int i, int number) {
    char wanted[16];
    store(type, wanted, 0, number);
    return memcmp(wanted, (const char *)at + i * type->bytes, (size_t)type->bytes) == 0;
}

/* --- a call --------------------------------------------------------------------------------------------- */

typedef enum {
    ALLREDUCE,
    REDUCE,
    BCAST,
    ALLGATHER,
    ALLTOALL,
    ALLTOALLV,
    REDUCE_SCATTER,
    ALLGATHERV,
    KINDS
} kind_t;

typedef struct {
    kind_t kind;
    uint64_t number;
    MPI_Comm comm;
    int rank;
    int size;
    type_t type;
    MPI_Op op;
    int count;
    int root;
    bool in_place;
    int in_space;
    int out_space;
    int seed; /* of different counts */
} call_t;

static int row_count(const call_t *call, int from, int to) {
    int number = call->in_place ? from + to : from * 7 + to * 3; /* in place, both directions are the same */
    if (call->kind == REDUCE_SCATTER && call->seed == 4)
        return (call->count + to) % (call->count + 1);
    if (call->kind == ALLGATHERV) /* some have nothing */
        return from * 7 % 3 == call->seed ? 0 : (from * 7 + call->seed) % (call->count + 1);
    return call->kind == ALLTOALLV ? (number + call->seed) % (call->count + 1) : call->count;
}

static int combine(MPI_Op op, int a, int b) {
    return op == MPI_SUM    ? a + b
           : op == MPI_PROD ? a * b
           : op == MPI_MAX  ? (a > b ? a : b)
           : op == MPI_MIN  ? (a < b ? a : b)
           : op == MPI_LAND ? a && b
           : op == MPI_LOR  ? a || b
           : op == MPI_LXOR ? !a != !b
           : op == MPI_BAND ? (a & b)
           : op == MPI_BOR  ? (a | b)
                            : (a ^ b);
}

static int reduced(const call_t *call, int block, int i) {
    int all = value(call->number, 0, block, i);
    for (int from = 1; from < call->size; from++)
        all = combine(call->op, all, value(call->number, from, block, i));
    return all;
}

static bool by_block(kind_t kind) { return kind == ALLTOALL || kind == ALLTOALLV || kind == REDUCE_SCATTER; }

static bool sends_blocks(kind_t kind) {
    return kind == ALLGATHER || kind == ALLGATHERV || kind == ALLTOALL || kind == ALLTOALLV;
}

/* The blocks of a buffer: counts, and places with a gap behind each block at times. */
typedef struct {
    int counts[64];
    int places[64];
    int total;
} rows_t;

static rows_t rows_of(const call_t *call, bool sends, bool gaps) {
    rows_t rows = {.total = 0};
    for (int i = 0; i < call->size; i++) {
        rows.counts[i] = sends ? row_count(call, call->rank, i) : row_count(call, i, call->rank);
        rows.places[i] = rows.total;
        rows.total += rows.counts[i] + (gaps ? i % 2 : 0);
    }
    return rows;
}

/* Of what a process gives, at `rows`; `all` are its blocks of the output. In place, both sides have the same
 * counts: an alltoallv's must be symmetric. */
static void fill(const call_t *call, const rows_t *rows, const rows_t *all, void *buffer) {
    int blocks = by_block(call->kind) ? call->size : 1;
    int count = call->kind == ALLGATHERV ? row_count(call, call->rank, 0) : call->count;
    int first = call->kind == ALLGATHER && call->in_place ? call->rank * call->count : 0;
    if (call->kind == ALLGATHERV && call->in_place)
        first = all->places[call->rank];
    for (int to = 0; to < blocks; to++)
        for (int i = 0; i < (blocks > 1 ? rows->counts[to] : count); i++)
            store(&call->type, buffer, first + (blocks > 1 ? rows->places[to] : 0) + i,
                  value(call->number, call->rank, to, i));
}

static void check(const call_t *call, const rows_t *rows, const void *out) {
    bool right = true;
    if (call->kind == ALLREDUCE || (call->kind == REDUCE && call->rank == call->root))
        for (int i = 0; i < call->count; i++)
            right &= holds(&call->type, out, i, reduced(call, 0, i));
    for (int i = 0; call->kind == REDUCE_SCATTER && i < row_count(call, 0, call->rank); i++)
        right &= holds(&call->type, out, i, reduced(call, call->rank, i));
    for (int i = 0; i < call->count && call->kind == BCAST; i++)
        right &= holds(&call->type, out, i, value(call->number, call->root, 0, i));
    for (int from = 0; from < call->size && sends_blocks(call->kind); from++)
        for (int i = 0; i < rows->counts[from]; i++)
            right &= holds(&call->type, out, rows->places[from] + i,
                           value(call->number, from, by_block(call->kind) ? call->rank : 0, i));
    char text[160];
    snprintf(text, sizeof text, "call %llu, kind %d, %d of %d bytes, root %d, in place %d, spaces %d %d",
             (unsigned long long)call->number, (int)call->kind, call->count, call->type.bytes, call->root,
             (int)call->in_place, call->in_space, call->out_space);
    expect(right, text);
}

#if MPI_VERSION >= 4
/* The same with large counts; false: not among these. */
static bool perform_large(const call_t *call, const void *in, void *out) {
    const void *given =
        call->in_place && (call->kind != REDUCE || call->rank == call->root) ? MPI_IN_PLACE : in;
    MPI_Datatype type = call->type.type;
    MPI_Count count = call->count;
    switch (call->kind) {
    case ALLREDUCE:
        return MPI_Allreduce_c(given, out, count, type, call->op, call->comm) == MPI_SUCCESS;
    case REDUCE:
        return MPI_Reduce_c(given, out, count, type, call->op, call->root, call->comm) == MPI_SUCCESS;
    case BCAST:
        return MPI_Bcast_c(out, count, type, call->root, call->comm) == MPI_SUCCESS;
    case ALLGATHER:
        return MPI_Allgather_c(given, count, type, out, count, type, call->comm) == MPI_SUCCESS;
    case ALLTOALL:
        return MPI_Alltoall_c(given, count, type, out, count, type, call->comm) == MPI_SUCCESS;
    default:
        return false;
    }
}
#endif

static void perform(const call_t *call, const void *in, void *out, const rows_t *from, const rows_t *to) {
    const void *given = call->in_place ? MPI_IN_PLACE : in;
    MPI_Datatype type = call->type.type;
#if MPI_VERSION >= 4
    if (call->number % 2 && perform_large(call, in, out))
        return;
#endif
    switch (call->kind) {
    case ALLREDUCE:
        MPI_Allreduce(given, out, call->count, type, call->op, call->comm);
        break;
    case REDUCE:
        MPI_Reduce(call->rank == call->root ? given : in, call->rank == call->root ? out : NULL, call->count,
                   type, call->op, call->root, call->comm);
        break;
    case BCAST:
        MPI_Bcast(out, call->count, type, call->root, call->comm);
        break;
    case ALLGATHER:
        MPI_Allgather(given, call->count, type, out, call->count, type, call->comm);
        break;
    case ALLGATHERV:
        MPI_Allgatherv(given, to->counts[call->rank], type, out, to->counts, to->places, type, call->comm);
        break;
    case ALLTOALL:
        MPI_Alltoall(given, call->count, type, out, call->count, type, call->comm);
        break;
    case REDUCE_SCATTER:
        if (call->seed >= 3)
            MPI_Reduce_scatter(given, out, from->counts, type, call->op, call->comm);
        else
            MPI_Reduce_scatter_block(given, out, call->count, type, call->op, call->comm);
        break;
    case ALLTOALLV:
    case KINDS:
        MPI_Alltoallv(given, from->counts, from->places, type, out, to->counts, to->places, type, call->comm);
    }
}

/* Whether the call's data are first in the output buffer. */
static bool starts_in_out(const call_t *call) {
    return call->kind == BCAST ? call->rank == call->root
                               : call->in_place && (call->kind != REDUCE || call->rank == call->root);
}

/* Threads get buffers from memory that was allocated before they began: memory is named by one thread at a
 * time. */
static _Thread_local char *arena[MEMORY_GPU + 1][2];

static void *buffer(int space, int side, size_t bytes) {
    char *own = arena[space][side];
    return own ? own : memory_allocate(space, bytes);
}

static void buffer_free(int space, int side, void *memory) {
    if (memory != arena[space][side])
        memory_free(space, memory);
}

static void run(const call_t *call) {
    bool gaps = (call->kind == ALLTOALLV && call->seed % 2 && !call->in_place) ||
                (call->kind == ALLGATHERV && call->seed % 2);
    rows_t from = rows_of(call, true, gaps), to = rows_of(call, false, gaps);
    int out_total = call->in_place && from.total > to.total ? from.total : to.total;
    size_t in_bytes = (size_t)(from.total + call->count + 1) * (size_t)call->type.bytes;
    size_t out_bytes = (size_t)(out_total + call->count + 1) * (size_t)call->type.bytes;
    size_t shift = call->number % 5 * (size_t)call->type.bytes; /* programs' buffers begin at any element */
    char *in_all = buffer(call->in_space, 0, in_bytes + shift);
    char *out_all = buffer(call->out_space, 1, out_bytes + shift);
    char *own_in = malloc(in_bytes), *own_out = malloc(out_bytes);
    if (!in_all || !out_all || !own_in || !own_out) {
        MPI_Abort(MPI_COMM_WORLD, 1);
        abort();
    }
    char *in = in_all + shift, *out = out_all + shift;
    memset(own_in, 0x55, in_bytes);
    memset(own_out, 0x55, out_bytes);
    fill(call, &from, &to, starts_in_out(call) ? own_out : own_in);
    memory_copy(in, own_in, in_bytes);
    memory_copy(out, own_out, out_bytes);
    perform(call, in, out, &from, &to);
    memory_copy(own_out, out, out_bytes);
    check(call, &to, own_out);
    buffer_free(call->in_space, 0, in_all);
    buffer_free(call->out_space, 1, out_all);
    free(own_in);
    free(own_out);
}

/* --- random calls --------------------------------------------------------------------------------------- */

static call_t random_call(random_t *random, uint64_t number, const MPI_Comm *comms) {
    const type_t types[] = {{MPI_FLOAT, 4, REAL},
                            {MPI_DOUBLE, 8, REAL},
                            {MPI_INT32_T, 4, WHOLE},
                            {MPI_INT64_T, 8, WHOLE},
                            {MPI_CHAR, 1, WHOLE}, /* not reduced */
                            {MPI_UNSIGNED, 4, WHOLE},
                            {MPI_INT8_T, 1, WHOLE},
                            {MPI_UNSIGNED_SHORT, 2, WHOLE},
                            {MPI_C_FLOAT_COMPLEX, 8, COMPLEX},
                            {MPI_C_DOUBLE_COMPLEX, 16, COMPLEX},
                            {MPI_C_BOOL, 1, BOOLEAN},
                            {MPI_BYTE, 1, BYTES}};
    const MPI_Op ops[] = {MPI_SUM, MPI_PROD, MPI_MAX,  MPI_MIN, MPI_LAND,
                          MPI_LOR, MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR};
    const int first_op[] = {[BOOLEAN] = 4, [BYTES] = 7};
    const int op_count[] = {[WHOLE] = 10, [REAL] = 4, [COMPLEX] = 2, [BOOLEAN] = 3, [BYTES] = 3};
    random_t own;
    call_t call = {.kind = (kind_t)below(random, KINDS), .number = number};
    call.comm = comms[below(random, COMMS)];
    int type = below(random, sizeof types / sizeof *types), op = below(random, 1000),
        kinds = below(random, 4);
    bool reduces = call.kind == ALLREDUCE || call.kind == REDUCE || call.kind == REDUCE_SCATTER;
    call.type = types[reduces && type == 4 ? 2 : type];
    call.op = ops[first_op[call.type.kind] + op % op_count[call.type.kind]];
    call.count = below(random, 8) ? below(random, 40) : below(random, COUNT_MAX);
    call.in_place = call.kind != BCAST && below(random, 4) == 0;
    call.seed = below(random, 5);
    if (call.kind == ALLTOALLV ||
        call.kind == ALLGATHERV) { /* few different ones, as one is taken from its second call on */
        call.count = call.count % 2 ? 7 : 200;
        call.type = types[call.seed];
        call.seed %= 2;
    }
    /* Open MPI 4.1 reads only one block of a GPU's buffer in place (coll/cuda's reduce_scatter_block), so
     * such a call must be one that it does not get. */
    bool certain =
        !several_threads && kinds < 2 && call.seed < 3 && (call.comm == comms[0] || call.comm == comms[1]);
    if (real_gpus && call.kind == REDUCE_SCATTER && kinds != 2 && !certain)
        call.in_place = false;
    int any = below(random, 1000);
    own.state = random->state * 977 + (uint64_t)rank;
    below(&own, 2);
    MPI_Comm_rank(call.comm, &call.rank);
    MPI_Comm_size(call.comm, &call.size);
    call.root = any % call.size;
    if (MPICH_FAILS && call.kind == REDUCE && call.count * call.type.bytes > 2048)
        call.in_place &= call.root == 0;
    /* Half of the calls are all on GPUs, the others on the host or as each process likes. */
    call.in_space = kinds < 2 ? MEMORY_GPU : kinds == 2 ? MEMORY_CPU : below(&own, 2);
    call.out_space = kinds < 2 ? MEMORY_GPU : kinds == 2 ? MEMORY_CPU : below(&own, 2);
    return call;
}

static void make_comms(MPI_Comm *comms) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms[2]);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comms[3]);
}

static void run_calls(int count, uint64_t seed, const MPI_Comm *comms) {
    random_t random = {seed};
    for (int i = 0; i < count; i++) {
        call_t call = random_call(&random, (uint64_t)i, comms);
        run(&call);
    }
}

static void run_random(int count, uint64_t seed) {
    MPI_Comm comms[COMMS] = {MPI_COMM_WORLD};
    make_comms(comms);
    run_calls(count, seed, comms);
    for (int i = 1; i < COMMS; i++)
        MPI_Comm_free(&comms[i]);
}

static void run_repeat(int count, int bytes, bool alternates) {
    const type_t real = {MPI_FLOAT, 4, REAL};
    for (int i = 0; i < count; i++) {
        int space = alternates && i % 2 ? MEMORY_CPU : MEMORY_GPU;
        call_t call = {.kind = ALLREDUCE,
                       .number = (uint64_t)i,
                       .comm = MPI_COMM_WORLD,
                       .rank = rank,
                       .size = size,
                       .type = real,
                       .op = MPI_SUM,
                       .count = bytes / 4,
                       .in_space = space,
                       .out_space = space};
        run(&call);
    }
}

static void run_unequal(int count) {
    for (int i = 0; i < 2 * count; i++) {
        call_t call = {.kind = ALLTOALLV,
                       .number = (uint64_t)i,
                       .comm = MPI_COMM_WORLD,
                       .rank = rank,
                       .size = size,
                       .type = {MPI_INT, 4, WHOLE},
                       .count = 1000,
                       .in_space = MEMORY_GPU,
                       .out_space = MEMORY_GPU,
                       .seed = i / count};
        run(&call);
    }
}

/* --- resources ------------------------------------------------------------------------------------------ */

static void run_comms(int count) {
    const type_t real = {MPI_FLOAT, 4, REAL};
    int fds = 0, maps = 0;
    for (int i = 0; i < count; i++) {
        call_t call = {.kind = ALLREDUCE,
                       .number = (uint64_t)i,
                       .type = real,
                       .op = MPI_SUM,
                       .count = 1 + i % 7,
                       .in_space = MEMORY_GPU,
                       .out_space = MEMORY_GPU};
        MPI_Comm_split(MPI_COMM_WORLD, 0, i % 2 ? rank : -rank, &call.comm);
        MPI_Comm_rank(call.comm, &call.rank);
        MPI_Comm_size(call.comm, &call.size);
        run(&call);
        call.kind = ALLGATHER;
        run(&call);
        MPI_Comm_free(&call.comm);
        if (i == 2) {
            fds = open_files();
            maps = mappings_of("/dev/shm/portolan");
        }
    }
    expect(open_files() <= fds, "descriptors are left open");
    expect(mappings_of("/dev/shm/portolan") <= maps, "shared segments are left mapped");
}

/* --- threads -------------------------------------------------------------------------------------------- */

/* The largest elements, in blocks with gaps for all processes. */
enum { ARENA_BYTES = 16 * (COUNT_MAX + 1) * 10 };

typedef struct {
    MPI_Comm comms[COMMS];
    char *arena[MEMORY_GPU + 1][2];
    int count;
    uint64_t seed;
} thread_t;

static void *use_communicators(void *argument) {
    const thread_t *mine = argument;
    expect(!real_gpus || memory_bind_thread(), "a thread cannot use the process's GPU");
    memcpy(arena, mine->arena, sizeof arena);
    run_calls(mine->count, mine->seed, mine->comms);
    return NULL;
}

static void begin_thread(thread_t *mine, int count, uint64_t seed) {
    mine->count = count;
    mine->seed = seed;
    MPI_Comm_dup(MPI_COMM_WORLD, &mine->comms[0]);
    make_comms(mine->comms);
    for (int i = 0; i < 2 * (MEMORY_GPU + 1); i++) {
        mine->arena[i / 2][i % 2] = memory_allocate(i / 2, ARENA_BYTES);
        if (!mine->arena[i / 2][i % 2])
            MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void end_thread(thread_t *mine) {
    for (int i = 0; i < COMMS; i++)
        MPI_Comm_free(&mine->comms[i]);
    for (int i = 0; i < 2 * (MEMORY_GPU + 1); i++)
        memory_free(i / 2, mine->arena[i / 2][i % 2]);
}

static void run_threads(int count, uint64_t seed) {
    static thread_t of[THREADS];
    pthread_t thread[THREADS];
    several_threads = true;
    for (int i = 0; i < THREADS; i++)
        begin_thread(&of[i], count, seed + (uint64_t)i);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, use_communicators, &of[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < THREADS; i++)
        end_thread(&of[i]);
}

static void run_killed(void) {
    run_repeat(20, 4096, false);
    if (rank == 1)
        raise(SIGKILL);
    run_repeat(20, 4096, false);
}

int main(int argc, char **argv) {
    int provided, all = 0;
    const char *what = argc > 1 ? argv[1] : "";
    int count = argc > 2 ? atoi(argv[2]) : 100;
    bool threads = strcmp(what, "threads") == 0;
    MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    real_gpus = strcmp(argv[argc - 1], "cuda") == 0;
    if (real_gpus && !memory_use_cuda(rank)) {
        fprintf(stderr, "test_dropin: CUDA's driver cannot be used\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (strcmp(what, "random") == 0)
        run_random(count, argc > 3 ? strtoull(argv[3], NULL, 10) : 1);
    else if (strcmp(what, "special") == 0)
        run_special();
    else if (strcmp(what, "repeat") == 0 || strcmp(what, "alternate") == 0)
        run_repeat(count, argc > 3 ? atoi(argv[3]) : 4096, strcmp(what, "alternate") == 0);
    else if (strcmp(what, "unequal") == 0)
        run_unequal(count);
    else if (strcmp(what, "kinds") == 0)
        run_kinds(argc > 2 ? argv[2] : "", argc > 3 && strcmp(argv[3], "1") == 0);
    else if (strcmp(what, "comms") == 0)
        run_comms(count);
    else if (strcmp(what, "load") == 0)
        run_load(argc > 2 ? argv[2] : "");
    else if (strcmp(what, "alias") == 0)
        run_alias();
    else if (strcmp(what, "spawn") == 0)
        run_spawn(argv[0]);
    else if (strcmp(what, "child") == 0)
        run_child();
    else if (strcmp(what, "plans") == 0)
        run_plans(count);
    else if (strcmp(what, "live") == 0)
        run_live(count);
    else if (threads)
        run_threads(count, argc > 3 ? strtoull(argv[3], NULL, 10) : 1);
    else if (strcmp(what, "capture") == 0)
        run_capture();
    else if (strcmp(what, "killed") == 0)
        run_killed();
    else if (strcmp(what, "paired") == 0 && argc > 4)
        run_paired(strtoull(argv[2], NULL, 10), atof(argv[3]), atoi(argv[4]));
    else
        wrong = 1;
    int mine = wrong;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return all != 0 || mine != 0; /* the sum may be wrong, too */
}
