/* A library with NCCL's interface that works on host memory through MPI. tests/mpi/test_nccl.c loads it
 * instead of libnccl.so.2, so that everything between a plan and NCCL is tested without a GPU. It follows
 * NCCL's documentation rather than the code under test: it has its own numbers and declarations.
 *
 * FAKE_NCCL=usage|fail|hang: ncclCommInitRank rejects the job, ncclAllReduce fails, or it never returns on
 * process 0. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { SUCCESS = 0, SYSTEM_ERROR = 2, INVALID_ARGUMENT = 4, INVALID_USAGE = 5 };
enum { ID_BYTES = 128, TAG_NAME = 11, TAG_MEMBERS = 12, CALLS_MAX = 256 };

typedef struct {
    char internal[ID_BYTES];
} id_t_;

typedef struct comm {
    MPI_Comm mpi;
    int rank;
} comm_t;

/* What one group of sends and receives holds. */
static MPI_Request open_call[CALLS_MAX];
static int open_calls, group_depth;

int EXPORT ncclGetVersion(int *version);
int EXPORT ncclGetUniqueId(id_t_ *id);
int EXPORT ncclCommInitRank(comm_t **comm, int ranks, id_t_ id, int rank);
int EXPORT ncclCommDestroy(comm_t *comm);
int EXPORT ncclCommAbort(comm_t *comm);
const char EXPORT *ncclGetErrorString(int result);
int EXPORT ncclAllReduce(const void *in, void *out, size_t count, int type, int op, comm_t *comm,
                         void *stream);
int EXPORT ncclReduce(const void *in, void *out, size_t count, int type, int op, int root, comm_t *comm,
                      void *stream);
int EXPORT ncclBroadcast(const void *in, void *out, size_t count, int type, int root, comm_t *comm,
                         void *stream);
int EXPORT ncclAllGather(const void *in, void *out, size_t count, int type, comm_t *comm, void *stream);
int EXPORT ncclReduceScatter(const void *in, void *out, size_t count, int type, int op, comm_t *comm,
                             void *stream);
int EXPORT ncclSend(const void *in, size_t count, int type, int peer, comm_t *comm, void *stream);
int EXPORT ncclRecv(void *out, size_t count, int type, int peer, comm_t *comm, void *stream);
int EXPORT ncclGroupStart(void);
int EXPORT ncclGroupEnd(void);

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

/* Everybody tells the maker who it is, and hears who all are. */
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
    *comm = made;
    return SUCCESS;
}

int ncclCommDestroy(comm_t *comm) {
    MPI_Comm_free(&comm->mpi);
    free(comm);
    return SUCCESS;
}

int ncclCommAbort(comm_t *comm) {
    free(comm);
    return SUCCESS;
}

static int type_of(int type, MPI_Datatype *found) {
    const struct {
        int number;
        MPI_Datatype type;
    } known[] = {{0, MPI_INT8_T}, {2, MPI_INT32_T}, {4, MPI_INT64_T}, {7, MPI_FLOAT}, {8, MPI_DOUBLE}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].number == type) {
            *found = known[i].type;
            return SUCCESS;
        }
    return INVALID_ARGUMENT;
}

static int op_of(int op, MPI_Op *found) {
    const MPI_Op known[] = {MPI_SUM, MPI_PROD, MPI_MAX, MPI_MIN};
    if (op < 0 || op > 3)
        return INVALID_ARGUMENT;
    *found = known[op];
    return SUCCESS;
}

int ncclAllReduce(const void *in, void *out, size_t count, int type, int op, comm_t *comm, void *stream) {
    (void)stream;
    MPI_Datatype mpi_type;
    MPI_Op mpi_op;
    if (type_of(type, &mpi_type) || op_of(op, &mpi_op) || (count > 0 && (!in || !out)))
        return INVALID_ARGUMENT;
    if (asked_to("fail"))
        return SYSTEM_ERROR;
    while (asked_to("hang") && comm->rank == 0)
        sleep(60);
    MPI_Allreduce(in == out ? MPI_IN_PLACE : in, out, (int)count, mpi_type, mpi_op, comm->mpi);
    return SUCCESS;
}

int ncclReduce(const void *in, void *out, size_t count, int type, int op, int root, comm_t *comm,
               void *stream) {
    (void)stream;
    MPI_Datatype mpi_type;
    MPI_Op mpi_op;
    int is_root = comm->rank == root;
    if (type_of(type, &mpi_type) || op_of(op, &mpi_op) || (count > 0 && (!in || (is_root && !out))))
        return INVALID_ARGUMENT;
    MPI_Reduce(is_root && in == out ? MPI_IN_PLACE : in, is_root ? out : NULL, (int)count, mpi_type, mpi_op,
               root, comm->mpi);
    return SUCCESS;
}

int ncclBroadcast(const void *in, void *out, size_t count, int type, int root, comm_t *comm, void *stream) {
    (void)stream;
    MPI_Datatype mpi_type;
    int bytes = 0;
    if (type_of(type, &mpi_type) || (count > 0 && (!out || (comm->rank == root && !in))))
        return INVALID_ARGUMENT;
    MPI_Type_size(mpi_type, &bytes);
    if (comm->rank == root && in != out && count > 0)
        memcpy(out, in, count * (size_t)bytes);
    MPI_Bcast(out, (int)count, mpi_type, root, comm->mpi);
    return SUCCESS;
}

int ncclAllGather(const void *in, void *out, size_t count, int type, comm_t *comm, void *stream) {
    (void)stream;
    MPI_Datatype mpi_type;
    if (type_of(type, &mpi_type) || (count > 0 && (!in || !out)))
        return INVALID_ARGUMENT;
    MPI_Allgather(in, (int)count, mpi_type, out, (int)count, mpi_type, comm->mpi);
    return SUCCESS;
}

int ncclReduceScatter(const void *in, void *out, size_t count, int type, int op, comm_t *comm, void *stream) {
    (void)stream;
    MPI_Datatype mpi_type;
    MPI_Op mpi_op;
    if (type_of(type, &mpi_type) || op_of(op, &mpi_op) || (count > 0 && (!in || !out)))
        return INVALID_ARGUMENT;
    MPI_Reduce_scatter_block(in, out, (int)count, mpi_type, mpi_op, comm->mpi);
    return SUCCESS;
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
static int take_call(int type, MPI_Datatype *mpi_type) {
    if (group_depth == 0 || open_calls == CALLS_MAX)
        return INVALID_USAGE;
    return type_of(type, mpi_type);
}

int ncclSend(const void *in, size_t count, int type, int peer, comm_t *comm, void *stream) {
    (void)stream;
    MPI_Datatype mpi_type;
    int result = take_call(type, &mpi_type);
    if (result == SUCCESS)
        MPI_Isend(in, (int)count, mpi_type, peer, 0, comm->mpi, &open_call[open_calls++]);
    return result;
}

int ncclRecv(void *out, size_t count, int type, int peer, comm_t *comm, void *stream) {
    (void)stream;
    MPI_Datatype mpi_type;
    int result = take_call(type, &mpi_type);
    if (result == SUCCESS)
        MPI_Irecv(out, (int)count, mpi_type, peer, 0, comm->mpi, &open_call[open_calls++]);
    return result;
}
