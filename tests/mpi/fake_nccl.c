/* A library with NCCL's interface that works on host memory through MPI. tests/mpi/test_nccl.c loads it
 * instead of libnccl.so.2, so that everything between a plan and NCCL is tested without a GPU. It follows
 * NCCL's documentation rather than the code under test: it has its own numbers and declarations.
 *
 * FAKE_NCCL=usage|fail|hang: ncclCommInitRank rejects the job, ncclAllReduce fails, or it never returns on
 * process 0. FAKE_NCCL=nowindow: there is no symmetric memory, so registering succeeds without a window.
 * FAKE_NCCL=onegroup|onewindow: ncclCommInitRank, or registering, fails on process 1 alone.
 * FAKE_NCCL=windows: allreduce and allgather, and what is sent in a group, must lie in windows. Compiled with
 * WITHOUT_WINDOWS it is older than those. */
#include <math.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SUCCESS = 0, SYSTEM_ERROR = 2, INVALID_ARGUMENT = 4, INVALID_USAGE = 5 };
enum { ID_BYTES = 128, TAG_NAME = 11, TAG_MEMBERS = 12, CALLS_MAX = 256 };

typedef struct {
    char internal[ID_BYTES];
} id_t_;

/* Part of an allocation of ncclMemAlloc. */
typedef struct window {
    const unsigned char *memory;
    size_t bytes;
    struct comm *comm; /* NULL: free */
} window_t;

typedef struct comm {
    MPI_Comm mpi;
    int rank;
} comm_t;

enum { WINDOWS_MAX = 64, WINDOW_ALIGN = 4096, COLL_SYMMETRIC = 1 };
static window_t windows[WINDOWS_MAX];

/* What one group of sends and receives holds. */
static MPI_Request open_call[CALLS_MAX];
static int open_calls, group_depth;

#ifndef WITHOUT_WINDOWS
int ncclMemAlloc(void **memory, size_t bytes);
#endif

static int asked_to(const char *what) {
    const char *said = getenv("FAKE_NCCL");
    return said && strcmp(said, what) == 0;
}

int ncclGetVersion(int *version) {
    *version = 22003;
    return SUCCESS;
}

const char *ncclGetErrorString(int result) {
    switch (result) {
    case SUCCESS:
        return "no error";
    case SYSTEM_ERROR:
        return "unhandled system error";
    case INVALID_ARGUMENT:
        return "invalid argument";
    case INVALID_USAGE:
        return "invalid usage";
    default:
        return "unknown result code";
    }
}

/* The maker's number among all processes, by which the others find it. */
int ncclGetUniqueId(id_t_ *id) {
    int world = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &world);
    memset(id, 0x5a, sizeof *id);
    memcpy(id->internal + 100, &world, sizeof world);
    return SUCCESS;
}

/* Each member tells the maker who it is, and hears who all are. */
static void meet(int ranks, int maker, int rank, int *members) {
    int world = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &world);
    if (rank > 0) {
        int mine[2] = {rank, world};
        MPI_Send(mine, 2, MPI_INT, maker, TAG_NAME, MPI_COMM_WORLD);
        MPI_Recv(members, ranks, MPI_INT, maker, TAG_MEMBERS, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return;
    }
    members[0] = world;
    for (int i = 1; i < ranks; i++) {
        int other[2];
        MPI_Recv(other, 2, MPI_INT, MPI_ANY_SOURCE, TAG_NAME, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        members[other[0]] = other[1];
    }
    for (int i = 1; i < ranks; i++)
        MPI_Send(members, ranks, MPI_INT, members[i], TAG_MEMBERS, MPI_COMM_WORLD);
}

int ncclCommInitRank(comm_t **comm, int ranks, id_t_ id, int rank) {
    if (asked_to("usage"))
        return INVALID_USAGE;
    int maker = 0;
    memcpy(&maker, id.internal + 100, sizeof maker);
    for (int i = 0; i < 100; i++)
        if (id.internal[i] != 0x5a)
            return INVALID_ARGUMENT;
    int *members = calloc((size_t)ranks, sizeof *members);
    comm_t *made = calloc(1, sizeof *made);
    if (!members || !made) {
        free(members);
        free(made);
        return SYSTEM_ERROR;
    }
    meet(ranks, maker, rank, members);
    MPI_Group world, group;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, ranks, members, &group);
    MPI_Comm_create_group(MPI_COMM_WORLD, group, members[0], &made->mpi);
    MPI_Group_free(&world);
    MPI_Group_free(&group);
    free(members);
    made->rank = rank;
    if (asked_to("onegroup") && rank == 1) {
        free(made);
        return SYSTEM_ERROR;
    }
    *comm = made;
    return SUCCESS;
}

/* Whether the memory lies in a window, if it must. */
static bool is_allowed(const comm_t *comm, const void *memory, size_t bytes) {
    const unsigned char *at = memory;
    bool found = bytes == 0 || !asked_to("windows");
    for (int i = 0; i < WINDOWS_MAX; i++)
        found = found || (windows[i].comm == comm && at >= windows[i].memory &&
                          at + bytes <= windows[i].memory + windows[i].bytes);
    return found;
}

int ncclCommDestroy(comm_t *comm) {
    for (int i = 0; i < WINDOWS_MAX; i++)
        if (windows[i].comm == comm)
            abort(); /* a window outlives its communicator */
    MPI_Comm_free(&comm->mpi);
    free(comm);
    return SUCCESS;
}

/* The windows go with it. */
int ncclCommAbort(comm_t *comm) {
    for (int i = 0; i < WINDOWS_MAX; i++)
        if (windows[i].comm == comm)
            windows[i].comm = NULL;
    free(comm);
    return SUCCESS;
}

/* By ncclDataType_t. */
static const struct {
    int bytes;
    char kind; /* of numbers: signed, unsigned, floating */
    int fraction;
    int bias;
} types[] = {{1, 's', 0, 0}, {1, 'u', 0, 0},   {4, 's', 0, 0},    {4, 'u', 0, 0},     {8, 's', 0, 0},
             {8, 'u', 0, 0}, {2, 'f', 10, 15}, {4, 'f', 23, 127}, {8, 'f', 52, 1023}, {2, 'f', 7, 127}};
enum { TYPES = sizeof types / sizeof *types, SUM = 0, PROD, MAX, MIN, AVG, OPS };

static int is_type(int type) { return type >= 0 && type < TYPES; }

/* Floating point of 16 bits. */
static double from_short(int type, uint16_t bits) {
    int fraction = types[type].fraction, exponent = (bits & 0x7fff) >> fraction;
    double rest = bits & ((1 << fraction) - 1), one = ldexp(1, fraction);
    double value =
        ldexp(exponent ? one + rest : rest, (exponent ? exponent : 1) - types[type].bias - fraction);
    return bits & 0x8000 ? -value : value;
}

static uint16_t to_short(int type, double value) {
    int exponent = 0, fraction = types[type].fraction, bias = types[type].bias;
    (void)frexp(value, &exponent);
    exponent = exponent - 1 < 1 - bias ? 1 - bias : exponent - 1;
    double units = nearbyint(ldexp(fabs(value), fraction - exponent)); /* may carry into the exponent */
    return (uint16_t)((signbit(value) ? 0x8000 : 0) + ((exponent + bias - 1) << fraction) + (int)units);
}

typedef union {
    uint64_t whole; /* extended by the sign */
    double real;
} number_t;

static number_t load(int type, const unsigned char *at) {
    number_t number = {0};
    float narrow;
    uint16_t bits;
    int unused = 64 - 8 * types[type].bytes;
    memcpy(&number, at, (size_t)types[type].bytes);
    if (types[type].kind == 's')
        number.whole = (uint64_t)((int64_t)(number.whole << unused) >> unused);
    else if (types[type].kind == 'f' && types[type].bytes == 2)
        number.real = (memcpy(&bits, at, sizeof bits), from_short(type, bits));
    else if (types[type].kind == 'f' && types[type].bytes == 4)
        number.real = (double)(memcpy(&narrow, at, sizeof narrow), narrow);
    return number;
}

static void store(int type, unsigned char *at, number_t number) {
    float narrow = types[type].kind == 'f' ? (float)number.real : 0;
    uint16_t bits = types[type].bytes == 2 ? to_short(type, number.real) : 0;
    const void *source = &number;
    if (types[type].kind == 'f' && types[type].bytes < 8)
        source = types[type].bytes == 2 ? (const void *)&bits : (const void *)&narrow;
    memcpy(at, source, (size_t)types[type].bytes);
}

static number_t combine(int type, int op, number_t a, number_t b) {
    bool less = types[type].kind == 'f'   ? a.real < b.real
                : types[type].kind == 's' ? (int64_t)a.whole < (int64_t)b.whole
                                          : a.whole < b.whole;
    if (op == MAX || op == MIN)
        return (op == MIN) == less ? a : b;
    if (types[type].kind == 'f')
        a.real = op == PROD ? a.real * b.real : a.real + b.real;
    else
        a.whole = op == PROD ? a.whole * b.whole : a.whole + b.whole;
    return a;
}

/* Floating-point averages are sums of products, others are divided at the end. */
static void combine_all(int type, int op, size_t count, int ranks, const unsigned char *all,
                        unsigned char *out) {
    size_t bytes = (size_t)types[type].bytes;
    for (size_t i = 0; i < count; i++) {
        number_t result = {0};
        for (int rank = 0; rank < ranks; rank++) {
            number_t number = load(type, all + ((size_t)rank * count + i) * bytes);
            if (op == AVG && types[type].kind == 'f')
                number.real *= 1.0 / ranks;
            result = rank == 0 ? number : combine(type, op, result, number);
        }
        store(type, out + i * bytes, result);
        result = load(type, out + i * bytes); /* after it wrapped round */
        if (op == AVG && types[type].kind == 's')
            result.whole = (uint64_t)((int64_t)result.whole / ranks);
        else if (op == AVG && types[type].kind == 'u')
            result.whole /= (uint64_t)ranks;
        store(type, out + i * bytes, result);
    }
}

/* Every process gets the whole result; NULL: invalid arguments. */
static unsigned char *reduce(const void *in, size_t count, int type, int op, const comm_t *comm) {
    int ranks = 0;
    MPI_Comm_size(comm->mpi, &ranks);
    if (!is_type(type) || op < 0 || op >= OPS || (count > 0 && !in))
        return NULL;
    size_t bytes = count * (size_t)types[type].bytes;
    unsigned char *all = malloc((size_t)ranks * bytes + 1), *out = malloc(bytes + 1);
    if (!all || !out)
        abort();
    MPI_Allgather(in, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, comm->mpi);
    combine_all(type, op, count, ranks, all, out);
    free(all);
    return out;
}

static int deliver(unsigned char *result, size_t offset, size_t bytes, void *out) {
    if (result && out)
        memcpy(out, result + offset, bytes);
    free(result);
    return result && (out || bytes == 0) ? SUCCESS : INVALID_ARGUMENT;
}

static size_t size_of(size_t count, int type) {
    return is_type(type) ? count * (size_t)types[type].bytes : 0;
}

int ncclAllReduce(const void *in, void *out, size_t count, int type, int op, comm_t *comm, void *stream) {
    if (!is_allowed(comm, in, size_of(count, type)) || !is_allowed(comm, out, size_of(count, type)))
        return INVALID_ARGUMENT;
    if (asked_to("fail"))
        return SYSTEM_ERROR;
    while (asked_to("hang") && comm->rank == 0)
        sleep(60);
    return deliver(reduce(in, count, type, op, comm), 0, size_of(count, type), out);
}

int ncclReduce(const void *in, void *out, size_t count, int type, int op, int root, comm_t *comm,
               void *stream) {
    size_t bytes = comm->rank == root ? size_of(count, type) : 0;
    return deliver(reduce(in, count, type, op, comm), 0, bytes, out);
}

int ncclBroadcast(const void *in, void *out, size_t count, int type, int root, comm_t *comm, void *stream) {
    size_t bytes = size_of(count, type);
    if (!is_type(type) || (count > 0 && (!out || (comm->rank == root && !in))))
        return INVALID_ARGUMENT;
    if (comm->rank == root && in != out && count > 0)
        memcpy(out, in, bytes);
    MPI_Bcast(out, (int)bytes, MPI_BYTE, root, comm->mpi);
    return SUCCESS;
}

int ncclAllGather(const void *in, void *out, size_t count, int type, comm_t *comm, void *stream) {
    int bytes = (int)size_of(count, type), ranks = 0;
    MPI_Comm_size(comm->mpi, &ranks);
    if (!is_type(type) || (count > 0 && (!in || !out)) || !is_allowed(comm, in, (size_t)bytes) ||
        !is_allowed(comm, out, (size_t)bytes * (size_t)ranks))
        return INVALID_ARGUMENT;
    MPI_Allgather(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, comm->mpi);
    return SUCCESS;
}

int ncclReduceScatter(const void *in, void *out, size_t count, int type, int op, comm_t *comm, void *stream) {
    int ranks = 0;
    MPI_Comm_size(comm->mpi, &ranks);
    size_t bytes = size_of(count, type);
    return deliver(reduce(in, (size_t)ranks * count, type, op, comm), (size_t)comm->rank * bytes, bytes, out);
}

int ncclGroupStart(void) {
    group_depth++;
    return SUCCESS;
}

int ncclGroupEnd(void) {
    if (group_depth == 0)
        return INVALID_USAGE;
    group_depth--;
    if (group_depth == 0) {
        /* Its calls were made by other functions. NOLINTNEXTLINE(clang-analyzer-optin.mpi.MPI-Checker) */
        MPI_Waitall(open_calls, open_call, MPI_STATUSES_IGNORE);
        open_calls = 0;
    }
    return SUCCESS;
}

/* Outside of a group one send would wait for its receive for ever. */
static int take_call(int type) {
    if (group_depth == 0 || open_calls == CALLS_MAX)
        return INVALID_USAGE;
    return is_type(type) ? SUCCESS : INVALID_ARGUMENT;
}

int ncclSend(const void *in, size_t count, int type, int peer, comm_t *comm, void *stream) {
    int result = is_allowed(comm, in, size_of(count, type)) ? take_call(type) : INVALID_ARGUMENT;
    if (result == SUCCESS)
        MPI_Isend(in, (int)size_of(count, type), MPI_BYTE, peer, 0, comm->mpi, &open_call[open_calls++]);
    return result;
}

int ncclRecv(void *out, size_t count, int type, int peer, comm_t *comm, void *stream) {
    int result = is_allowed(comm, out, size_of(count, type)) ? take_call(type) : INVALID_ARGUMENT;
    if (result == SUCCESS)
        MPI_Irecv(out, (int)size_of(count, type), MPI_BYTE, peer, 0, comm->mpi, &open_call[open_calls++]);
    return result;
}

/* --- symmetric windows ---------------------------------------------------------------------------------- */

#ifndef WITHOUT_WINDOWS

/* What ncclMemAlloc gave, and how much. */
static struct {
    unsigned char *memory;
    size_t bytes;
} pieces[WINDOWS_MAX];

int ncclMemAlloc(void **memory, size_t bytes) {
    size_t whole = (bytes + WINDOW_ALIGN - 1) / WINDOW_ALIGN * WINDOW_ALIGN;
    for (int i = 0; i < WINDOWS_MAX; i++) {
        if (pieces[i].memory)
            continue;
        if (posix_memalign(memory, WINDOW_ALIGN, whole))
            return SYSTEM_ERROR;
        pieces[i].memory = *memory;
        pieces[i].bytes = whole;
        return SUCCESS;
    }
    return SYSTEM_ERROR;
}

int ncclMemFree(void *memory) {
    for (int i = 0; i < WINDOWS_MAX; i++)
        if (windows[i].comm && windows[i].memory == memory)
            abort(); /* the memory of a window */
    for (int i = 0; i < WINDOWS_MAX; i++)
        if (memory && pieces[i].memory == memory) {
            free(memory);
            pieces[i].memory = NULL;
            return SUCCESS;
        }
    return INVALID_ARGUMENT;
}

static bool is_ours(const unsigned char *memory, size_t bytes) {
    bool ours = false;
    for (int i = 0; i < WINDOWS_MAX; i++)
        ours = ours || (pieces[i].memory && memory >= pieces[i].memory &&
                        memory + bytes <= pieces[i].memory + pieces[i].bytes);
    return ours && (size_t)memory % WINDOW_ALIGN == 0;
}

/* Collective. */
int ncclCommWindowRegister(comm_t *comm, void *memory, size_t bytes, window_t **window, int flags) {
    int64_t most[2] = {(int64_t)bytes, -(int64_t)bytes};
    MPI_Allreduce(MPI_IN_PLACE, most, 2, MPI_INT64_T, MPI_MAX, comm->mpi);
    if (most[0] != -most[1] || flags != COLL_SYMMETRIC || !is_ours(memory, bytes))
        return INVALID_ARGUMENT;
    if (asked_to("onewindow") && comm->rank == 1)
        return SYSTEM_ERROR;
    *window = NULL;
    for (int i = 0; i < WINDOWS_MAX && !*window && !asked_to("nowindow"); i++)
        if (!windows[i].comm) {
            windows[i] = (window_t){memory, bytes, comm};
            *window = &windows[i];
        }
    return SUCCESS;
}

int ncclCommWindowDeregister(comm_t *comm, window_t *window) {
    if (!window || window->comm != comm)
        return INVALID_ARGUMENT;
    window->comm = NULL;
    return SUCCESS;
}

#endif
