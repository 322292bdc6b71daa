/* A small NCCL for processes that fork() started, on host memory: what tests/mpi/test_nccl_dropin.c has
 * behind the drop-in. Calls run at once, after the stream has been drained by `fake_finish`, and are counted.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "device/reduce.h"
#include "portolan/exec.h"

#define EXPORT __attribute__((visibility("default")))

enum { ID_BYTES = 128, SUCCESS = 0, SYSTEM_ERROR = 2 };

typedef struct {
    char byte[ID_BYTES];
} id_t_;

typedef struct {
    pto_team_t *team;
    void *memory;
} comm_t;

EXPORT void (*fake_finish)(void *stream);
EXPORT int fake_calls, fake_groups;

EXPORT int ncclGetUniqueId(id_t_ *id);
EXPORT int ncclCommInitRank(comm_t **comm, int size, id_t_ id, int rank);
EXPORT int ncclCommInitRankConfig(comm_t **comm, int size, id_t_ id, int rank, void *config);
EXPORT int ncclCommSplit(comm_t *comm, int color, int key, comm_t **made, void *config);
EXPORT int ncclCommCount(comm_t *comm, int *size);
EXPORT int ncclCommUserRank(comm_t *comm, int *rank);
EXPORT int ncclCommDestroy(comm_t *comm);
EXPORT int ncclCommAbort(comm_t *comm);
EXPORT int ncclGroupStart(void);
EXPORT int ncclGroupEnd(void);
EXPORT int ncclAllReduce(const void *in, void *out, size_t count, int type, int op, comm_t *comm,
                         void *stream);
EXPORT int ncclAllGather(const void *in, void *out, size_t count, int type, comm_t *comm, void *stream);
EXPORT int ncclReduceScatter(const void *in, void *out, size_t count, int type, int op, comm_t *comm,
                             void *stream);
EXPORT int ncclAlltoAll(const void *in, void *out, size_t count, int type, comm_t *comm, void *stream);
EXPORT int ncclBroadcast(const void *in, void *out, size_t count, int type, int root, comm_t *comm,
                         void *stream);
EXPORT int ncclBcast(void *data, size_t count, int type, int root, comm_t *comm, void *stream);
EXPORT int ncclReduce(const void *in, void *out, size_t count, int type, int op, int root, comm_t *comm,
                      void *stream);

int ncclGetUniqueId(id_t_ *id) {
    FILE *random = fopen("/dev/urandom", "r");
    size_t had = random ? fread(id->byte, 1, sizeof id->byte, random) : 0;
    if (random)
        fclose(random);
    return had == sizeof id->byte ? SUCCESS : SYSTEM_ERROR;
}

int ncclCommInitRank(comm_t **comm, int size, id_t_ id, int rank) {
    char name[64];
    unsigned long long number = 0;
    comm_t *made = calloc(1, sizeof *made);
    memcpy(&number, id.byte, sizeof number);
    snprintf(name, sizeof name, "/fake-nccl-%llx", number);
    int file = shm_open(name, O_CREAT | O_RDWR, 0600);
    size_t bytes = pto_team_shared_bytes(size);
    if (!made || file < 0 || ftruncate(file, (off_t)bytes) != 0) {
        free(made);
        return SYSTEM_ERROR;
    }
    made->memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    int64_t all[64], mine = 0;
    if (pto_team_shared_create(made->memory, rank, size, 60, &made->team, NULL) != PTO_OK ||
        made->team->allgather(made->team->context, &mine, sizeof mine, all, NULL) != PTO_OK)
        return SYSTEM_ERROR;
    shm_unlink(name);
    *comm = made;
    return SUCCESS;
}

int ncclCommInitRankConfig(comm_t **comm, int size, id_t_ id, int rank, void *config) {
    (void)config;
    return ncclCommInitRank(comm, size, id, rank);
}

typedef struct {
    id_t_ id;
    int color;
} member_t;

int ncclCommSplit(comm_t *comm, int color, int key, comm_t **made, void *config) {
    member_t mine, all[64];
    int size = 0, rank = 0, first = -1;
    (void)key;
    (void)config;
    memset(&mine, 0, sizeof mine);
    mine.color = color;
    ncclGetUniqueId(&mine.id);
    comm->team->allgather(comm->team->context, &mine, sizeof mine, all, NULL);
    for (int i = 0; i < comm->team->size; i++) {
        if (all[i].color != color)
            continue;
        first = first < 0 ? i : first;
        rank += i < comm->team->rank;
        size++;
    }
    *made = NULL;
    return color < 0 ? SUCCESS : ncclCommInitRank(made, size, all[first].id, rank);
}

int ncclCommCount(comm_t *comm, int *size) {
    *size = comm->team->size;
    return SUCCESS;
}

int ncclCommUserRank(comm_t *comm, int *rank) {
    *rank = comm->team->rank;
    return SUCCESS;
}

int ncclCommDestroy(comm_t *comm) {
    pto_team_shared_destroy(comm->team);
    free(comm);
    return SUCCESS;
}

int ncclCommAbort(comm_t *comm) { return ncclCommDestroy(comm); }

int ncclGroupStart(void) {
    fake_groups++;
    return SUCCESS;
}

int ncclGroupEnd(void) { return SUCCESS; }

/* --- collectives -----------------------------------------------------------------------------------------
 */

static const pto_datatype_t datatype[] = {
    PTO_DATATYPE_INT8,   PTO_DATATYPE_UINT8, PTO_DATATYPE_INT32, PTO_DATATYPE_UINT32, PTO_DATATYPE_INT64,
    PTO_DATATYPE_UINT64, PTO_DATATYPE_HALF,  PTO_DATATYPE_FLOAT, PTO_DATATYPE_DOUBLE, PTO_DATATYPE_BFLOAT16};
static const pto_op_t operation[] = {PTO_OP_SUM, PTO_OP_PROD, PTO_OP_MAX, PTO_OP_MIN};

/* The whole input of each process; the caller frees it. */
static char *gather(comm_t *comm, const void *in, size_t bytes, void *stream) {
    char *all = malloc(bytes * (size_t)comm->team->size + 1);
    fake_calls++;
    fake_finish(stream);
    comm->team->allgather(comm->team->context, in, bytes, all, NULL);
    return all;
}

static size_t bytes_of(size_t count, int type) { return count * (size_t)pto_datatype_bytes(datatype[type]); }

static void reduce(const comm_t *comm, const char *all, size_t pitch, void *out, size_t count, int type,
                   int op) {
    const void *source[64];
    for (int i = 0; i < comm->team->size; i++)
        source[i] = all + (size_t)i * pitch;
    pto_reduce_many_host(out, true, source, comm->team->size, count, datatype[type], operation[op]);
}

int ncclAllReduce(const void *in, void *out, size_t count, int type, int op, comm_t *comm, void *stream) {
    char *all = gather(comm, in, bytes_of(count, type), stream);
    reduce(comm, all, bytes_of(count, type), out, count, type, op);
    free(all);
    return SUCCESS;
}

int ncclReduce(const void *in, void *out, size_t count, int type, int op, int root, comm_t *comm,
               void *stream) {
    char *all = gather(comm, in, bytes_of(count, type), stream);
    if (comm->team->rank == root)
        reduce(comm, all, bytes_of(count, type), out, count, type, op);
    free(all);
    return SUCCESS;
}

int ncclReduceScatter(const void *in, void *out, size_t count, int type, int op, comm_t *comm, void *stream) {
    size_t own = bytes_of(count, type), whole = own * (size_t)comm->team->size;
    char *all = gather(comm, in, whole, stream);
    reduce(comm, all + (size_t)comm->team->rank * own, whole, out, count, type, op);
    free(all);
    return SUCCESS;
}

int ncclAllGather(const void *in, void *out, size_t count, int type, comm_t *comm, void *stream) {
    char *all = gather(comm, in, bytes_of(count, type), stream);
    memcpy(out, all, bytes_of(count, type) * (size_t)comm->team->size);
    free(all);
    return SUCCESS;
}

int ncclAlltoAll(const void *in, void *out, size_t count, int type, comm_t *comm, void *stream) {
    size_t own = bytes_of(count, type), whole = own * (size_t)comm->team->size;
    char *all = gather(comm, in, whole, stream);
    for (int i = 0; i < comm->team->size; i++)
        memcpy((char *)out + (size_t)i * own, all + (size_t)i * whole + (size_t)comm->team->rank * own, own);
    free(all);
    return SUCCESS;
}

int ncclBroadcast(const void *in, void *out, size_t count, int type, int root, comm_t *comm, void *stream) {
    size_t bytes = bytes_of(count, type);
    char *all = gather(comm, comm->team->rank == root ? in : out, bytes, stream);
    memcpy(out, all + (size_t)root * bytes, bytes);
    free(all);
    return SUCCESS;
}

int ncclBcast(void *data, size_t count, int type, int root, comm_t *comm, void *stream) {
    return ncclBroadcast(data, data, count, type, root, comm, stream);
}
