/* The drop-in for NCCL, in front of a small NCCL (fake_nccl_forked.c), among processes that fork() starts, on
 * the host device: random calls with known results, of all functions, types and sizes, in several streams, in
 * graphs, in groups and in place. Without calls: the doors alone, of two processes.
 *
 *   test_nccl_dropin [CALLS [SEED [SIZE]]] */
#define _DEFAULT_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device/host_stream.h"
#include "nccl/nccl_dl.h"
#include "portolan/exec.h"
#include "tap.h"

typedef pto_nccl_id_t id_type;
int ncclGetUniqueId(id_type *id);
int ncclCommInitRank(void **comm, int size, id_type id, int rank);
int ncclCommSplit(void *comm, int color, int key, void **made, void *config);
int ncclCommDestroy(void *comm);
int ncclCommAbort(void *comm);
int ncclGroupStart(void);
int ncclGroupEnd(void);
int ncclAllReduce(const void *in, void *out, size_t count, int type, int op, void *comm, void *stream);
int ncclAllGather(const void *in, void *out, size_t count, int type, void *comm, void *stream);
int ncclReduceScatter(const void *in, void *out, size_t count, int type, int op, void *comm, void *stream);
int ncclAlltoAll(const void *in, void *out, size_t count, int type, void *comm, void *stream);
int ncclBroadcast(const void *in, void *out, size_t count, int type, int root, void *comm, void *stream);
int ncclBcast(void *data, size_t count, int type, int root, void *comm, void *stream);
int ncclReduce(const void *in, void *out, size_t count, int type, int op, int root, void *comm, void *stream);
extern void (*fake_finish)(void *stream);
extern int fake_calls;

enum { STREAMS = 3, COUNT_MAX = 20000, SIZE_MAX_ = 8, REPLAYS = 3 };

static int rank, size, failures;
static uint64_t state; /* the same on all processes */
static const pto_device_t *device;
static void *stream[STREAMS];

static unsigned pick(unsigned below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % below;
}

static void finish(void *one) { device->finish(one, NULL); }

/* The host device works only where the process waits: elsewhere, others may wait for its other streams. */
static void finish_all(void *one) {
    finish(one);
    for (int i = 0; i < STREAMS; i++)
        finish(stream[i]);
}

static void fail(const char *what, int call) {
    if (failures++ < 5)
        fprintf(stderr, "test_nccl_dropin: rank %d, call %d: %s\n", rank, call, what);
}

/* --- values ----------------------------------------------------------------------------------------------
 */

static const int types[] = {PTO_NCCL_INT8,  PTO_NCCL_UINT8,   PTO_NCCL_INT32,   PTO_NCCL_UINT32,
                            PTO_NCCL_INT64, PTO_NCCL_FLOAT32, PTO_NCCL_FLOAT64, PTO_NCCL_BFLOAT16};
enum { TYPES = (int)(sizeof types / sizeof *types) };

static size_t bytes_of(int type) {
    return type <= PTO_NCCL_UINT8                               ? 1
           : type == PTO_NCCL_BFLOAT16                          ? 2
           : type == PTO_NCCL_FLOAT64 || type == PTO_NCCL_INT64 ? 8
                                                                : 4;
}

static void store(char *at, int type, int value) {
    float as_float = (float)value;
    double as_double = value;
    int64_t as_int = value;
    if (type == PTO_NCCL_FLOAT32)
        memcpy(at, &as_float, 4);
    else if (type == PTO_NCCL_FLOAT64)
        memcpy(at, &as_double, 8);
    else if (type == PTO_NCCL_BFLOAT16)
        memcpy(at, (char *)&as_float + 2, 2);
    else
        memcpy(at, &as_int, bytes_of(type));
}

/* Small, so that sums and products are exact in all types. */
static int value(int of_rank, size_t i, int call) { return 1 + (of_rank + (int)(i % 1000) + call) % 2; }

static int combined(size_t i, int op, int call) {
    int result = value(0, i, call);
    for (int r = 1; r < size; r++) {
        int other = value(r, i, call);
        result = op == PTO_NCCL_SUM    ? result + other
                 : op == PTO_NCCL_PROD ? result * other
                 : op == PTO_NCCL_MAX  ? (other > result ? other : result)
                                       : (other < result ? other : result);
    }
    return result;
}

/* --- one call --------------------------------------------------------------------------------------------
 */

enum { ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL, BROADCAST, REDUCE, FUNCTIONS };

typedef struct {
    int number, function, type, op, root;
    size_t count;
    char *in, *out; /* as passed */
    char *memory[2];
    void *stream;
} call_t;

static size_t in_count(const call_t *c) {
    return c->function == REDUCE_SCATTER || c->function == ALL_TO_ALL ? c->count * (size_t)size : c->count;
}

static size_t out_count(const call_t *c) {
    return c->function == ALL_GATHER || c->function == ALL_TO_ALL ? c->count * (size_t)size : c->count;
}

static void prepare(call_t *c, int number) {
    static const size_t small[] = {1, 2, 3, 7, 8, 16, 100, 1000, 1024, 4096};
    *c = (call_t){.number = number, .function = (int)pick(FUNCTIONS), .type = types[pick(TYPES)]};
    c->op = (int)pick(4);
    c->root = (int)pick((unsigned)size);
    c->count = pick(4) ? small[pick(10)] : 1 + pick(COUNT_MAX);
    c->stream = stream[pick(STREAMS)];
    bool in_place = pick(3) == 0;
    if (pick(8) == 0)
        in_place = rank % 2 == 0; /* not the same on all */
    size_t bytes = bytes_of(c->type),
           most = bytes * (in_count(c) > out_count(c) ? in_count(c) : out_count(c));
    c->memory[0] = malloc(most + 64);
    c->memory[1] = malloc(most + 64);
    const size_t shift = pick(4) == 0 ? bytes : 0; /* not aligned */
    c->out = c->memory[1] + shift;
    c->in = c->memory[0] + shift;
    if (in_place && c->function == ALL_GATHER)
        c->in = c->out + (size_t)rank * c->count * bytes;
    else if (in_place && c->function == REDUCE_SCATTER)
        c->out = c->in + (size_t)rank * c->count * bytes;
    else if (in_place && c->function != ALL_TO_ALL)
        c->in = c->out;
}

static void fill(const call_t *c) {
    for (size_t i = 0; i < in_count(c); i++)
        store(c->in + i * bytes_of(c->type), c->type, value(rank, i, c->number));
}

static int issue(const call_t *c, void *comm) {
    switch (c->function) {
    case ALL_REDUCE:
        return ncclAllReduce(c->in, c->out, c->count, c->type, c->op, comm, c->stream);
    case ALL_GATHER:
        return ncclAllGather(c->in, c->out, c->count, c->type, comm, c->stream);
    case REDUCE_SCATTER:
        return ncclReduceScatter(c->in, c->out, c->count, c->type, c->op, comm, c->stream);
    case ALL_TO_ALL:
        return ncclAlltoAll(c->in, c->out, c->count, c->type, comm, c->stream);
    case BROADCAST:
        return c->in == c->out ? ncclBcast(c->out, c->count, c->type, c->root, comm, c->stream)
                               : ncclBroadcast(c->in, c->out, c->count, c->type, c->root, comm, c->stream);
    default:
        return ncclReduce(c->in, c->out, c->count, c->type, c->op, c->root, comm, c->stream);
    }
}

static int expected(const call_t *c, size_t i) {
    switch (c->function) {
    case ALL_GATHER:
        return value((int)(i / c->count), i % c->count, c->number);
    case REDUCE_SCATTER:
        return combined((size_t)rank * c->count + i, c->op, c->number);
    case ALL_TO_ALL:
        return value((int)(i / c->count), (size_t)rank * c->count + i % c->count, c->number);
    case BROADCAST:
        return value(c->root, i, c->number);
    default:
        return combined(i, c->op, c->number);
    }
}

static void check(const call_t *c) {
    char right[8] = {0};
    bool same = true;
    for (size_t i = 0; i < out_count(c) && (c->function != REDUCE || rank == c->root) && same; i++) {
        store(right, c->type, expected(c, i));
        same = memcmp(right, c->out + i * bytes_of(c->type), bytes_of(c->type)) == 0;
    }
    char what[128];
    snprintf(what, sizeof what, "function %d, type %d, op %d, %zu elements: another result", c->function,
             c->type, c->op, c->count);
    if (!same)
        fail(what, c->number);
}

static void release(call_t *c) {
    free(c->memory[0]);
    free(c->memory[1]);
}

/* --- programs --------------------------------------------------------------------------------------------
 */

static bool taken_last; /* whether the last call did not reach NCCL */

static void plain(int number, void *comm) {
    call_t c;
    const bool grouped = pick(2);
    prepare(&c, number);
    fill(&c);
    const int before = fake_calls;
    if (grouped)
        ncclGroupStart();
    if (issue(&c, comm) != 0)
        fail("an error", number);
    if (grouped && ncclGroupEnd() != 0)
        fail("an error of the group", number);
    taken_last = fake_calls == before;
    finish(c.stream);
    check(&c);
    release(&c);
}

/* Several in flight, in streams that nothing else orders, and two in one group. */
static void several(int number, void *comm) {
    enum { SEVERAL = 4 };
    call_t c[SEVERAL];
    const bool grouped = pick(2);
    for (int i = 0; i < SEVERAL; i++) {
        prepare(&c[i], number);
        fill(&c[i]);
    }
    for (int i = 0; i < SEVERAL; i++) {
        if (grouped && i == 1)
            ncclGroupStart();
        if (issue(&c[i], comm) != 0)
            fail("an error", number);
        if (grouped && i == 2)
            ncclGroupEnd();
    }
    for (int i = SEVERAL - 1; i >= 0; i--)
        finish(c[i].stream);
    for (int i = 0; i < SEVERAL; i++) {
        check(&c[i]);
        release(&c[i]);
    }
}

/* The fake cannot be captured: PORTOLAN_GRAPHS says that all of these are taken. */
static void captured(int number, void *comm) {
    call_t c;
    void *graph = NULL;
    prepare(&c, number);
    fill(&c);
    c.function = ALL_REDUCE;
    c.op = PTO_NCCL_SUM;
    c.count = 1 + c.count % 1000;
    c.in = c.memory[0];
    c.out = c.memory[1];
    pto_host_graph_begin(c.stream, NULL);
    issue(&c, comm);
    issue(&c, comm);
    pto_host_graph_end(c.stream, &graph, NULL);
    for (int replay = 0; replay < REPLAYS; replay++) {
        c.number = number + replay;
        fill(&c);
        pto_host_graph_launch(graph, c.stream, NULL);
        finish(c.stream);
        check(&c);
    }
    device->stream_destroy(graph, NULL);
    release(&c);
}

static void random_calls(int calls, id_type id) {
    void *comm = NULL, *half = NULL;
    int taken = 0;
    if (ncclCommInitRank(&comm, size, id, rank) != 0)
        exit(1);
    for (int i = 0; i < calls; i++) {
        unsigned kind = pick(8);
        if (kind == 0)
            several(i, comm);
        else if (kind == 1 && getenv("PORTOLAN_GRAPHS"))
            captured(i, comm);
        else
            plain(i, comm), taken += taken_last;
    }
    if (taken == 0 && getenv("PORTOLAN_GRAPHS"))
        fail("no call was taken", calls);
    if (!getenv("PORTOLAN_MACHINE") && taken > 0)
        fail("a call was taken", calls);
    const int all = size, own = rank;
    if (ncclCommSplit(comm, rank / 2, rank, &half, NULL) != 0)
        exit(1);
    size = all - all % 2 == own && all % 2 ? 1 : 2;
    rank %= 2;
    uint64_t kept = state;
    for (int i = 0; i < 20; i++)
        plain(i, half);
    ncclCommDestroy(half);
    state = kept;
    size = all;
    rank = own;
    ncclCommDestroy(comm);
}

/* Process 0 waits for a call that the others never make, until it aborts. */
static void aborts(id_type id) {
    void *comm = NULL;
    float data[100] = {0};
    if (ncclCommInitRank(&comm, size, id, rank) != 0)
        exit(1);
    ncclAllReduce(data, data, 100, PTO_NCCL_FLOAT32, PTO_NCCL_SUM, comm, stream[0]);
    finish(stream[0]);
    if (rank == 0)
        ncclAllReduce(data, data, 100, PTO_NCCL_FLOAT32, PTO_NCCL_SUM, comm, stream[0]);
    ncclCommAbort(comm);
    finish(stream[0]);
}

/* --- doors -----------------------------------------------------------------------------------------------
 */

typedef struct {
    const char *what;
    uint64_t digest[2];
    bool after;  /* process 1 comes after process 0 has waited in vain */
    bool aborts; /* process 0, while it waits */
    bool passes;
} door_case_t;

static void *abort_soon(void *comm) {
    usleep(50000);
    atomic_store(&((tap_comm_t *)comm)->aborts, true);
    return NULL;
}

/* All doors in one order, of which some are closed. */
static void doors(tap_door_t *shared, atomic_int *ended) {
    static const door_case_t all[] = {{"the same digest", {7, 7}, false, false, true},
                                      {"another digest", {7, 8}, false, false, false},
                                      {"one has failed", {7, 0}, false, false, false},
                                      {"all have failed", {0, 0}, false, false, false},
                                      {"one comes too late", {7, 7}, true, false, false},
                                      {"the same, after all that", {9, 9}, false, false, true},
                                      {"one aborts", {7, 7}, true, true, false}};
    tap_comm_t comm = {.rank = rank, .size = 2, .doors = shared};
    for (int i = 0; i < (int)(sizeof all / sizeof *all); i++) {
        pthread_t thread;
        const bool aborts = all[i].aborts && rank == 0, too_late = all[i].after && !all[i].aborts;
        while (all[i].after && rank == 1 && atomic_load(ended) <= i)
            usleep(1000);
        if (aborts && pthread_create(&thread, NULL, abort_soon, &comm) != 0)
            fail("a thread", i);
        if (tap_door_pass(&comm, all[i].digest[rank], too_late ? 0.2 : 1000) != all[i].passes)
            fail(all[i].what, i);
        if (aborts)
            pthread_join(thread, NULL);
        if (rank == 0)
            atomic_store(ended, i + 1);
    }
    comm.doors_seen = TAP_DOORS;
    if (tap_door_pass(&comm, 7, 100))
        fail("the last door", TAP_DOORS);
}

/* On process 1 alone there is no room for executors, so all calls are NCCL's, and right. Later there is. */
static void one_fails(id_type id) {
    void *comm = NULL;
    if (ncclCommInitRank(&comm, size, id, rank) != 0)
        exit(1);
    tap_comm_t *tap = tap_comm_of(comm);
    const size_t used = tap->symmetric.used;
    float data[100] = {0};
    tap->symmetric.used = rank == 1 ? tap->symmetric.bytes : used;
    for (int i = 0; i < 20; i++)
        plain(i, comm);
    tap->symmetric.used = used;
    const int before = fake_calls;
    for (size_t i = 0; i < 77; i++)
        data[i] = 1;
    ncclAllReduce(data, data, 77, PTO_NCCL_FLOAT32, PTO_NCCL_SUM, comm, stream[0]);
    finish(stream[0]);
    if (fake_calls != before || data[76] != (float)size)
        fail("what all can make is not taken", 77);
    ncclCommDestroy(comm);
}

static int run(int calls, const id_type *id) {
    fake_finish = finish_all;
    for (int i = 0; i < STREAMS; i++)
        if (pto_device_find("host", &device, NULL) != PTO_OK ||
            device->stream_create(&stream[i], NULL) != PTO_OK)
            return 1;
    random_calls(calls, id[0]);
    if (getenv("PORTOLAN_GRAPHS")) {
        one_fails(id[2]);
        aborts(id[1]);
    }
    return failures > 0;
}

int main(int argc, char **argv) {
    const int calls = argc > 1 ? atoi(argv[1]) : 300;
    id_type id[3];
    int ended = 0, failed = 0;
    state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    size = argc > 3 ? atoi(argv[3]) : 2;
    ncclGetUniqueId(&id[0]);
    ncclGetUniqueId(&id[1]);
    ncclGetUniqueId(&id[2]);
    const bool doors_alone = calls == 0;
    void *shared = mmap(NULL, tap_doors_bytes() + sizeof(atomic_int), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (rank = 0; rank < size; rank++)
        if (fork() == 0) {
            if (doors_alone)
                doors(shared, (atomic_int *)(void *)((char *)shared + tap_doors_bytes()));
            _exit(doors_alone ? failures > 0 : run(calls, id));
        }
    while (wait(&ended) > 0)
        failed |= ended != 0;
    return failed;
}
