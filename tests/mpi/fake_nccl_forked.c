/* A small NCCL on host memory for processes that share a node: what tests have behind the drop-in. As with
 * NCCL, a call is queued in its stream, so a capture holds it and each launch runs it again; the calls of a
 * communicator run in their order, whatever their streams, and those of a group are queued at its end.
 * Streams are of the host device of the program, which sets `fake_host`; without it, and in the stream NULL,
 * calls run at once. */
#include "fake_nccl_forked.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "device/reduce.h"

enum { SUCCESS = 0, SYSTEM_ERROR = 2, INVALID_ARGUMENT = 4, INVALID_USAGE = 5, IN_PROGRESS = 7 };
enum { ID_BYTES = 128, SIZE_MOST = 64, AREA_BYTES = 2 << 20, GROUP_MOST = 64 };
enum { AVERAGE = 4, OWN_OPS = 5, OPS_MOST = 16 }; /* operations from OWN_OPS on are the program's */

typedef struct {
    char byte[ID_BYTES];
} id_t_;

typedef struct call call_t;

typedef struct {
    pto_team_t *meeting; /* on the host */
    pto_team_t *rounds;  /* of calls that run */
    char *areas;         /* two for each process, used in turn */
    uint64_t round;
    const void *running; /* the call that has begun */
    call_t *kept;        /* those that graphs hold */
    void *last;          /* event: the last call outside graphs */
} comm_t;

typedef enum { ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL, BROADCAST, REDUCE, MESSAGES } kind_t;

typedef struct {
    const void *in; /* NULL: received */
    void *out;
    size_t bytes;
    int peer;
} message_t;

struct call {
    kind_t kind;
    const void *in;
    void *out;
    size_t count;
    int type;
    int op;
    int root;
    comm_t *comm;
    void *stream;
    message_t *message;
    int messages;
    float factor; /* of the program's operation; 0: none */
    bool stays;   /* a graph holds it */
    call_t *next;
};

fake_host_t fake_host;
atomic_int fake_calls, fake_groups;

/* --- communicators ---------------------------------------------------------------------------------------
 */

int ncclGetUniqueId(id_t_ *id) {
    FILE *random = fopen("/dev/urandom", "r");
    size_t had = random ? fread(id->byte, 1, sizeof id->byte, random) : 0;
    if (random)
        fclose(random);
    return had == sizeof id->byte ? SUCCESS : SYSTEM_ERROR;
}

static void open_tuner(int rank) {
    const char *name = getenv("NCCL_TUNER_PLUGIN");
    void *library = name ? dlopen(name, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (library && dlsym(library, "ncclTunerPlugin_v4") && rank == 0)
        fprintf(stderr, "NCCL's tuner is %s\n", name);
}

/* What NCCL calls itself must not go through the functions that a library in front of it has, too. */
static int make(comm_t **comm, int size, id_t_ id, int rank) {
    char name[64];
    unsigned long long number = 0;
    const size_t team_bytes = pto_team_shared_bytes(size);
    const size_t bytes = 2 * team_bytes + 2 * (size_t)size * AREA_BYTES;
    comm_t *made = calloc(1, sizeof *made);
    memcpy(&number, id.byte, sizeof number);
    snprintf(name, sizeof name, "/fake-nccl-%llx", number);
    int file = shm_open(name, O_CREAT | O_RDWR, 0600);
    if (!made || size > SIZE_MOST || file < 0 || ftruncate(file, (off_t)bytes) != 0) {
        free(made);
        return SYSTEM_ERROR;
    }
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    made->areas = memory + 2 * team_bytes;
    int64_t all[SIZE_MOST], mine = 0;
    if (pto_team_shared_create(memory, rank, size, 60, &made->meeting, NULL) != PTO_OK ||
        pto_team_shared_create(memory + team_bytes, rank, size, 60, &made->rounds, NULL) != PTO_OK ||
        made->meeting->allgather(made->meeting->context, &mine, sizeof mine, all, NULL) != PTO_OK ||
        (fake_host.device && fake_host.device->event_create(&made->last, NULL) != PTO_OK))
        return SYSTEM_ERROR;
    shm_unlink(name);
    open_tuner(rank);
    *comm = made;
    return SUCCESS;
}

int ncclCommInitRank(comm_t **comm, int size, id_t_ id, int rank) { return make(comm, size, id, rank); }

/* The beginning of ncclConfig_t. */
typedef struct {
    size_t size;
    unsigned magic;
    unsigned version;
    int blocking;
} config_t;

static int in_progress(const config_t *config, int result) {
    return result == SUCCESS && config && config->blocking == 0 ? IN_PROGRESS : result;
}

int ncclCommInitRankConfig(comm_t **comm, int size, id_t_ id, int rank, config_t *config) {
    return in_progress(config, make(comm, size, id, rank));
}

typedef struct {
    id_t_ id;
    int color;
    int key;
} member_t;

/* Those of one color, in the order of their keys; a negative color has none. */
static int divide(const comm_t *comm, int color, int key, comm_t **made) {
    member_t mine, all[SIZE_MOST];
    int size = 0, rank = 0, first = -1;
    memset(&mine, 0, sizeof mine);
    mine.color = color;
    mine.key = key;
    ncclGetUniqueId(&mine.id);
    comm->meeting->allgather(comm->meeting->context, &mine, sizeof mine, all, NULL);
    for (int i = 0; i < comm->meeting->size; i++) {
        if (all[i].color != color)
            continue;
        first = first < 0 ? i : first;
        rank += i < comm->meeting->rank ? all[i].key <= key : all[i].key < key;
        size++;
    }
    *made = NULL;
    return color < 0 ? SUCCESS : make(made, size, all[first].id, rank);
}

int ncclCommSplit(comm_t *comm, int color, int key, comm_t **made, config_t *config) {
    return in_progress(config, divide(comm, color, key, made));
}

/* Here, those that are left out call it as well. */
int ncclCommShrink(comm_t *comm, int *without, int count, comm_t **made, config_t *config, int flags) {
    int color = 0;
    for (int i = 0; i < count; i++)
        color = without[i] == comm->meeting->rank ? -1 : color;
    return in_progress(config, divide(comm, color, comm->meeting->rank, made));
}

int ncclCommCount(comm_t *comm, int *size) {
    *size = comm->meeting->size;
    return SUCCESS;
}

int ncclCommUserRank(comm_t *comm, int *rank) {
    *rank = comm->meeting->rank;
    return SUCCESS;
}

int ncclCommFinalize(comm_t *comm) { return comm ? SUCCESS : INVALID_ARGUMENT; }

static void release(call_t *call) {
    free(call->message);
    free(call);
}

static void destroy(comm_t *comm) {
    for (call_t *call = comm->kept, *next; call; call = next) {
        next = call->next;
        release(call);
    }
    if (comm->last)
        fake_host.device->event_destroy(comm->last, NULL);
    pto_team_shared_destroy(comm->meeting);
    pto_team_shared_destroy(comm->rounds);
    free(comm);
}

int ncclCommDestroy(comm_t *comm) {
    destroy(comm);
    return SUCCESS;
}

int ncclCommAbort(comm_t *comm) {
    destroy(comm);
    return SUCCESS;
}

/* --- calls that run --------------------------------------------------------------------------------------
 */

static const pto_datatype_t datatype[] = {
    PTO_DATATYPE_INT8,   PTO_DATATYPE_UINT8, PTO_DATATYPE_INT32, PTO_DATATYPE_UINT32, PTO_DATATYPE_INT64,
    PTO_DATATYPE_UINT64, PTO_DATATYPE_HALF,  PTO_DATATYPE_FLOAT, PTO_DATATYPE_DOUBLE, PTO_DATATYPE_BFLOAT16};
enum { TYPES = (int)(sizeof datatype / sizeof *datatype) };
static const pto_op_t operation[OPS_MOST] = {PTO_OP_SUM, PTO_OP_PROD, PTO_OP_MAX, PTO_OP_MIN}; /* else sum */
static float factor[OPS_MOST];

static size_t bytes_of(size_t count, int type) { return count * (size_t)pto_datatype_bytes(datatype[type]); }

/* Of a process, in this round. */
static char *area_of(const comm_t *comm, int rank) {
    return comm->areas + (2 * (size_t)rank + comm->round % 2) * AREA_BYTES;
}

static size_t in_bytes(const call_t *call) {
    const bool has_blocks = call->kind == REDUCE_SCATTER || call->kind == ALL_TO_ALL;
    return bytes_of(call->count, call->type) * (has_blocks ? (size_t)call->comm->rounds->size : 1);
}

/* One after another: the peer, the bytes, and what is sent; a peer of -1 ends them. */
static void give_messages(const call_t *call, char *area) {
    static const int end = -1;
    for (int i = 0; i < call->messages; i++) {
        const message_t *one = &call->message[i];
        if (!one->in)
            continue;
        memcpy(area, &one->peer, sizeof one->peer);
        memcpy(area += sizeof one->peer, &one->bytes, sizeof one->bytes);
        memcpy(area += sizeof one->bytes, one->in, one->bytes);
        area += one->bytes;
    }
    memcpy(area, &end, sizeof end);
}

static void scale(float *value, size_t count, float by) {
    for (size_t i = 0; i < count; i++)
        value[i] *= by;
}

static void give(const call_t *call) {
    const pto_team_t *team = call->comm->rounds;
    char *area = area_of(call->comm, team->rank);
    if (call->kind == MESSAGES)
        give_messages(call, area);
    else if (call->kind != BROADCAST || team->rank == call->root)
        memcpy(area, call->in, in_bytes(call));
    if (call->factor != 0)
        scale((float *)(void *)area, in_bytes(call) / sizeof(float), call->factor);
}

/* Messages between two processes are received in the order in which they are sent. */
static void take_messages(const call_t *call) {
    size_t taken[SIZE_MOST] = {0}, bytes;
    for (int i = 0; i < call->messages; i++) {
        const message_t *one = &call->message[i];
        if (one->in)
            continue;
        for (int peer = 0;;) {
            const char *at = area_of(call->comm, one->peer) + taken[one->peer];
            memcpy(&peer, at, sizeof peer);
            if (peer < 0)
                abort(); /* nothing was sent */
            memcpy(&bytes, at + sizeof peer, sizeof bytes);
            taken[one->peer] += sizeof peer + sizeof bytes + bytes;
            if (peer != call->comm->rounds->rank)
                continue;
            if (bytes != one->bytes)
                abort();
            memcpy(one->out, at + sizeof peer + sizeof bytes, bytes);
            break;
        }
    }
}

static void reduce(const call_t *call, size_t offset) {
    const void *source[SIZE_MOST];
    const int size = call->comm->rounds->size;
    for (int i = 0; i < size; i++)
        source[i] = area_of(call->comm, i) + offset;
    pto_reduce_many_host(call->out, true, source, size, call->count, datatype[call->type],
                         operation[call->op]);
    if (call->op == AVERAGE)
        pto_divide_host(call->out, call->out, call->count, datatype[call->type], size);
}

static void take(const call_t *call) {
    const comm_t *comm = call->comm;
    const size_t own = bytes_of(call->count, call->type), rank = (size_t)comm->rounds->rank;
    if (call->kind == ALL_REDUCE || call->kind == REDUCE_SCATTER ||
        (call->kind == REDUCE && comm->rounds->rank == call->root))
        reduce(call, call->kind == REDUCE_SCATTER ? rank * own : 0);
    for (int i = 0; i < comm->rounds->size && (call->kind == ALL_GATHER || call->kind == ALL_TO_ALL); i++)
        memcpy((char *)call->out + (size_t)i * own,
               area_of(comm, i) + (call->kind == ALL_TO_ALL ? rank * own : 0), own);
    if (call->kind == BROADCAST)
        memcpy(call->out, area_of(comm, call->root), own);
    if (call->kind == MESSAGES)
        take_messages(call);
}

static bool step(void *what, bool *begun) {
    call_t *call = what;
    comm_t *comm = call->comm;
    bool all = false;
    if (!*begun && comm->running)
        return false;
    if (!*begun) {
        comm->running = call;
        comm->round++;
        give(call);
        comm->rounds->enter(comm->rounds->context, NULL);
        *begun = true;
    }
    comm->rounds->entered(comm->rounds->context, &all, NULL);
    if (!all)
        return false;
    take(call);
    comm->running = NULL;
    if (!call->stays)
        release(call);
    return true;
}

/* --- calls that are queued -------------------------------------------------------------------------------
 */

static _Thread_local int depth, held_count;
static _Thread_local call_t *held[GROUP_MOST];

/* In the stream NULL the call has run, and is released, at once. */
static int queue(call_t *call) {
    const fake_host_t *host = &fake_host;
    comm_t *comm = call->comm;
    void *stream = call->stream;
    if (!host->device) {
        for (bool begun = false; !step(call, &begun);)
            sched_yield();
        return SUCCESS;
    }
    const bool stays = host->capture(stream) != 0;
    call->stays = stays;
    if (stays) {
        call->next = comm->kept;
        comm->kept = call;
    } else
        host->device->event_follow(comm->last, stream, NULL);
    if (host->step(step, call, stream, NULL) != PTO_OK)
        return SYSTEM_ERROR;
    return stays || host->device->event_record(comm->last, stream, NULL) == PTO_OK ? SUCCESS : SYSTEM_ERROR;
}

static bool is_right(const call_t *call) {
    return call->comm && call->type >= 0 && call->type < TYPES && call->op >= 0 && call->op < OPS_MOST &&
           (call->op < OWN_OPS || factor[call->op] != 0) && call->root >= 0 &&
           call->root < call->comm->rounds->size && call->count <= AREA_BYTES &&
           in_bytes(call) <= AREA_BYTES && held_count < GROUP_MOST;
}

static int collective(call_t call) {
    call_t *made = is_right(&call) ? malloc(sizeof *made) : NULL;
    if (!made)
        return INVALID_ARGUMENT;
    fake_calls++;
    *made = call;
    made->factor = factor[call.op];
    if (depth == 0)
        return queue(made);
    held[held_count++] = made;
    return SUCCESS;
}

/* Those of a communicator in the group are one call. */
static int message(comm_t *comm, void *stream, message_t one) {
    call_t *call = NULL;
    for (int i = 0; i < held_count; i++)
        if (held[i]->kind == MESSAGES && held[i]->comm == comm)
            call = held[i];
    if (depth == 0)
        return INVALID_USAGE;
    if (!call) {
        int result = collective((call_t){.kind = MESSAGES, .comm = comm, .stream = stream});
        if (result != SUCCESS)
            return result;
        call = held[held_count - 1];
        call->message = calloc(GROUP_MOST, sizeof *call->message);
    }
    if (!call->message || call->messages == GROUP_MOST)
        return SYSTEM_ERROR;
    call->message[call->messages++] = one;
    return SUCCESS;
}

int ncclGroupStart(void) {
    fake_groups++;
    depth++;
    return SUCCESS;
}

int ncclGroupEnd(void) {
    int result = SUCCESS;
    if (depth == 0)
        return INVALID_USAGE;
    if (--depth > 0)
        return SUCCESS;
    for (int i = 0; i < held_count; i++) {
        int queued = queue(held[i]);
        result = result == SUCCESS ? queued : result;
    }
    held_count = 0;
    return result;
}

/* --- collectives -----------------------------------------------------------------------------------------
 */

#define CALL(name, params, ...)                                                                              \
    int name params;                                                                                         \
    int name params { return collective((call_t){__VA_ARGS__, .message = NULL}); }

CALL(ncclAllReduce, (const void *in, void *out, size_t count, int type, int op, comm_t *comm, void *stream),
     ALL_REDUCE, in, out, count, type, op, 0, comm, stream)
CALL(ncclAllGather, (const void *in, void *out, size_t count, int type, comm_t *comm, void *stream),
     ALL_GATHER, in, out, count, type, 0, 0, comm, stream)
CALL(ncclReduceScatter,
     (const void *in, void *out, size_t count, int type, int op, comm_t *comm, void *stream), REDUCE_SCATTER,
     in, out, count, type, op, 0, comm, stream)
CALL(ncclAlltoAll, (const void *in, void *out, size_t count, int type, comm_t *comm, void *stream),
     ALL_TO_ALL, in, out, count, type, 0, 0, comm, stream)
CALL(ncclBroadcast, (const void *in, void *out, size_t count, int type, int root, comm_t *comm, void *stream),
     BROADCAST, in, out, count, type, 0, root, comm, stream)
CALL(ncclBcast, (void *data, size_t count, int type, int root, comm_t *comm, void *stream), BROADCAST, data,
     data, count, type, 0, root, comm, stream)
CALL(ncclReduce,
     (const void *in, void *out, size_t count, int type, int op, int root, comm_t *comm, void *stream),
     REDUCE, in, out, count, type, op, root, comm, stream)

int ncclSend(const void *in, size_t count, int type, int peer, comm_t *comm, void *stream);
int ncclSend(const void *in, size_t count, int type, int peer, comm_t *comm, void *stream) {
    return message(comm, stream, (message_t){in, NULL, bytes_of(count, type), peer});
}

int ncclRecv(void *out, size_t count, int type, int peer, comm_t *comm, void *stream) {
    return message(comm, stream, (message_t){NULL, out, bytes_of(count, type), peer});
}

/* Of one float on the host alone. */
int ncclRedOpCreatePreMulSum(int *op, void *scalar, int type, int residence, comm_t *comm) {
    for (int i = OWN_OPS; i < OPS_MOST && datatype[type] == PTO_DATATYPE_FLOAT && residence == 1; i++)
        if (factor[i] == 0) {
            memcpy(&factor[i], scalar, sizeof factor[i]);
            *op = i;
            return SUCCESS;
        }
    return INVALID_ARGUMENT;
}

int ncclRedOpDestroy(int op, comm_t *comm) {
    factor[op] = 0;
    return SUCCESS;
}
