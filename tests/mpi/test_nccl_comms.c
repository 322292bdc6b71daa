/* The drop-in for NCCL, in front of a small NCCL (fake_nccl_forked.c), among processes that fork() starts, on
 * the host device: communicators of all kinds, groups, threads, and what is NCCL's alone. Each case says
 * whether its calls are taken.
 *
 *   test_nccl_comms [SIZE]
 *   test_nccl_comms SIZE NAME VALUE      process 1 has another setting, so all calls are NCCL's */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "nccl_processes.h"
#include "portolan/exec.h"
#include "tap.h"

enum { IDS = 8, STREAMS = 3, COUNT = 100, THREADS = 3, THREAD_CALLS = 40 };
enum { SUCCESS = 0, INVALID_ARGUMENT = 4, INVALID_USAGE = 5, IN_PROGRESS = 7, AVERAGE = 4, ON_HOST = 1 };

static void *stream[STREAMS];

static members_t begin(pto_nccl_id_t id) {
    members_t made = {NULL, rank, size};
    expect(ncclCommInitRank(&made.handle, size, id, rank) == SUCCESS, "a communicator");
    return made;
}

/* --- one call --------------------------------------------------------------------------------------------
 */

typedef struct {
    int32_t in[COUNT];
    int32_t out[COUNT];
    int first; /* of rank 0's input */
} sum_t;

static void issue_sum(const members_t *of, sum_t *sum, int first, void *in) {
    sum->first = first;
    memset(sum->out, 0, sizeof sum->out);
    for (int i = 0; i < COUNT; i++)
        sum->in[i] = first + of->rank + i;
    expect(ncclAllReduce(sum->in, sum->out, COUNT, PTO_NCCL_INT32, PTO_NCCL_SUM, of->handle, in) == SUCCESS,
           "an allreduce");
}

static void check_sum(const members_t *of, const sum_t *sum) {
    for (int i = 0; i < COUNT; i++)
        if (sum->out[i] != of->size * (sum->first + i) + of->size * (of->size - 1) / 2) {
            expect(false, "another sum");
            return;
        }
}

enum { BY_NCCL, TAKEN };

/* A sum, which is taken or NCCL's. */
static void expect_sum(const members_t *of, int by) {
    sum_t sum;
    const int before = fake_calls;
    issue_sum(of, &sum, 7, stream[0]);
    expect((fake_calls == before) == (by == TAKEN), by == TAKEN ? "a call is NCCL's" : "a call is taken");
    finish(stream[0]);
    check_sum(of, &sum);
}

/* --- communicators ---------------------------------------------------------------------------------------
 */

/* Pairs of neighbors, in the other order; those that are left out have none. */
static void splits(const pto_nccl_id_t *id) {
    const members_t all = begin(id[0]);
    const bool is_odd_one = size % 2 && rank == size - 1;
    members_t pair[2];
    for (int i = 0; i < 2; i++) {
        pair[i] = (members_t){NULL, 1 - rank % 2, 2};
        expect(ncclCommSplit(all.handle, is_odd_one ? -1 : rank / 2, -rank, &pair[i].handle, NULL) == SUCCESS,
               "a split");
        expect(!pair[i].handle == is_odd_one, "who has a part");
    }
    expect(is_odd_one || tap_comm_of(pair[0].handle)->id != tap_comm_of(pair[1].handle)->id, "two names");
    for (int i = 0; i < 4 && !is_odd_one; i++)
        expect_sum(&pair[i % 2], TAKEN);
    expect_sum(&all, TAKEN);
    if (!is_odd_one) {
        members_t again = {NULL, pair[0].rank, 2};
        ncclCommSplit(pair[0].handle, 0, pair[0].rank, &again.handle, NULL);
        expect_sum(&again, TAKEN);
        expect_sum(&pair[1], TAKEN);
        ncclCommDestroy(again.handle);
        ncclCommDestroy(pair[0].handle);
        expect_sum(&pair[1], TAKEN);
        ncclCommDestroy(pair[1].handle);
    }
    expect_sum(&all, TAKEN);
    ncclCommDestroy(all.handle);
}

/* A communicator without the last process is NCCL's. */
static void shrinks(const pto_nccl_id_t *id) {
    const members_t all = begin(id[0]);
    members_t less = {NULL, rank, size - 1};
    expect_sum(&all, TAKEN);
    expect(ncclCommShrink(all.handle, (int[]){size - 1}, 1, &less.handle, NULL, 0) == SUCCESS, "shrinking");
    if (rank < size - 1) {
        expect_sum(&less, BY_NCCL);
        ncclCommDestroy(less.handle);
    }
    expect_sum(&all, TAKEN);
    ncclCommDestroy(all.handle);
}

static void comes_and_goes(const pto_nccl_id_t *id) {
    for (int i = 0; i < 4; i++) {
        const members_t all = begin(id[i]);
        char shared[64];
        expect_sum(&all, TAKEN);
        snprintf(shared, sizeof shared, "/portolan-nccl-%ld-%016llx", (long)geteuid(),
                 (unsigned long long)tap_comm_of(all.handle)->id);
        expect(shm_open(shared, O_RDWR, 0) < 0, "the name of its memory is left behind");
        if (i % 2) {
            ncclCommFinalize(all.handle);
            expect(!tap_comm_of(all.handle), "it has not ended");
        }
        ncclCommDestroy(all.handle);
    }
}

typedef struct {
    size_t size;
    unsigned magic, version;
    int blocking;
} config_t;

static void does_not_block(const pto_nccl_id_t *id) {
    config_t config = {sizeof config, 0xcafebeef, 22800, 0};
    members_t all = {NULL, rank, size}, part = all, other = all;
    expect(ncclCommInitRankConfig(&all.handle, size, id[0], rank, &config) == IN_PROGRESS, "NCCL's result");
    expect_sum(&all, BY_NCCL);
    ncclCommSplit(all.handle, 0, rank, &part.handle, NULL);
    expect_sum(&part, BY_NCCL);
    config.blocking = 1;
    expect(ncclCommInitRankConfig(&other.handle, size, id[1], rank, &config) == SUCCESS, "NCCL's result");
    expect_sum(&other, TAKEN);
    config.blocking = 0;
    ncclCommDestroy(part.handle);
    expect(ncclCommSplit(other.handle, 0, rank, &part.handle, &config) == IN_PROGRESS, "NCCL's result");
    expect_sum(&part, BY_NCCL);
    expect_sum(&other, TAKEN);
    ncclCommDestroy(part.handle);
    ncclCommDestroy(other.handle);
    ncclCommDestroy(all.handle);
}

/* As communicators of several GPUs of a process are made. */
static void begins_in_a_group(const pto_nccl_id_t *id) {
    ncclGroupStart();
    const members_t all = begin(id[0]);
    expect(ncclGroupEnd() == SUCCESS, "the group");
    expect_sum(&all, BY_NCCL);
    ncclCommDestroy(all.handle);
}

/* Calls of two communicators, and of streams, in flight at once. */
static void alternate(const pto_nccl_id_t *id) {
    const members_t all[] = {begin(id[0]), begin(id[1])};
    sum_t sum[6];
    for (int i = 0; i < 6; i++)
        issue_sum(&all[i % 2], &sum[i], i, stream[i % STREAMS]);
    for (int i = STREAMS - 1; i >= 0; i--)
        finish(stream[i]);
    for (int i = 0; i < 6; i++)
        check_sum(&all[i % 2], &sum[i]);
    for (int i = 0; i < 2; i++)
        ncclCommDestroy(all[i].handle);
}

/* --- threads ---------------------------------------------------------------------------------------------
 */

typedef struct {
    pto_nccl_id_t id;
    int number;
} thread_t;

/* Random calls in a communicator and streams of its own. */
static void *run_thread(void *argument) {
    const thread_t *thread = argument;
    uint64_t state = (uint64_t)thread->number;
    const members_t all = begin(thread->id);
    void *own[2] = {NULL, NULL};
    for (int i = 0; i < 2; i++)
        device->stream_create(&own[i], NULL);
    for (int i = 0; i < THREAD_CALLS; i++) {
        call_t call = calls_random(&all, i, own[calls_pick(&state, 2)], &state);
        calls_fill(&call);
        const bool grouped = calls_pick(&state, 2);
        if (grouped)
            ncclGroupStart();
        expect(calls_issue(&call) == SUCCESS, "a call");
        if (grouped)
            expect(ncclGroupEnd() == SUCCESS, "a group");
        finish(call.stream);
        expect(calls_check(&call), "another result");
        calls_release(&call);
    }
    ncclCommDestroy(all.handle);
    for (int i = 0; i < 2; i++)
        device->stream_destroy(own[i], NULL);
    return NULL;
}

static void threads(const pto_nccl_id_t *id) {
    thread_t own[THREADS];
    pthread_t made[THREADS];
    for (int i = 0; i < THREADS; i++) {
        own[i] = (thread_t){id[i], i};
        expect(pthread_create(&made[i], NULL, run_thread, &own[i]) == 0, "a thread");
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(made[i], NULL);
}

/* A process with two GPUs, each with a thread and a rank of the communicator. */
static void *run_gpu(void *argument) {
    const thread_t *thread = argument;
    members_t all = {NULL, thread->number, 2};
    void *own = NULL;
    sum_t sum;
    device->stream_create(&own, NULL);
    expect(ncclCommInitRank(&all.handle, 2, thread->id, thread->number) == SUCCESS, "a communicator");
    issue_sum(&all, &sum, 3, own);
    finish(own);
    check_sum(&all, &sum);
    ncclCommDestroy(all.handle);
    device->stream_destroy(own, NULL);
    return NULL;
}

static void several_gpus(const pto_nccl_id_t *id) {
    const int before = fake_calls;
    thread_t own[2] = {0};
    pthread_t made[2];
    (void)id;
    ncclGetUniqueId(&own[0].id);
    own[1].id = own[0].id;
    for (int i = 0; i < 2; i++) {
        own[i].number = i;
        expect(pthread_create(&made[i], NULL, run_gpu, &own[i]) == 0, "a thread");
    }
    for (int i = 0; i < 2; i++)
        pthread_join(made[i], NULL);
    expect(fake_calls == before + 2, "a call is taken");
}

/* --- calls -----------------------------------------------------------------------------------------------
 */

/* An allreduce of floating-point numbers, of which process r has r + 1. */
static void expect_float(const members_t *of, int op, float right, const char *what) {
    float in[COUNT], out[COUNT] = {0};
    const int before = fake_calls;
    for (int i = 0; i < COUNT; i++)
        in[i] = (float)(rank + 1);
    ncclAllReduce(in, out, COUNT, PTO_NCCL_FLOAT32, op, of->handle, stream[0]);
    finish(stream[0]);
    expect(fake_calls == before + 1, "it is not NCCL's");
    expect(out[0] == right && out[COUNT - 1] == right, what);
}

static void roots(const pto_nccl_id_t *id) {
    const members_t all = begin(id[0]);
    for (int root = 0; root < size; root++) {
        int32_t in[COUNT] = {rank + 1}, copied[COUNT] = {0}, sum[COUNT] = {0};
        const int before = fake_calls;
        ncclBroadcast(in, copied, COUNT, PTO_NCCL_INT32, root, all.handle, stream[0]);
        ncclReduce(in, sum, COUNT, PTO_NCCL_INT32, PTO_NCCL_SUM, root, all.handle, stream[1]);
        finish(stream[1]);
        expect(fake_calls == before, "a call is NCCL's");
        expect(copied[0] == root + 1, "another broadcast");
        expect(sum[0] == (rank == root ? size * (size + 1) / 2 : 0), "another reduction");
    }
    ncclCommDestroy(all.handle);
}

/* Graphs may overlap, so that each capture has an executor of its own. */
static void captures(const pto_nccl_id_t *id) {
    const members_t all = begin(id[0]);
    void *graph[2] = {NULL, NULL};
    sum_t sum[2];
    int made = 0;
    for (int i = 0; i < 2; i++) {
        pto_host_graph_begin(stream[i], NULL);
        issue_sum(&all, &sum[i], i, stream[i]);
        pto_host_graph_end(stream[i], &graph[i], NULL);
        pto_host_graph_launch(graph[i], stream[i], NULL);
    }
    for (int i = 1; i >= 0; i--) {
        finish(stream[i]);
        check_sum(&all, &sum[i]);
        device->stream_destroy(graph[i], NULL);
    }
    for (const tap_run_t *run = tap_comm_of(all.handle)->picks->runs; run; run = run->next)
        made += run->exec != NULL;
    expect(made == 2, "two captures share an executor");
    ncclCommDestroy(all.handle);
}

static void own_operations(const pto_nccl_id_t *id) {
    const members_t all = begin(id[0]);
    const float sum = 0.5F * (float)size * (float)(size + 1);
    float by = 3;
    int op = 0;
    expect(ncclRedOpCreatePreMulSum(&op, &by, PTO_NCCL_FLOAT32, ON_HOST, all.handle) == SUCCESS,
           "an operation");
    expect_float(&all, op, 3 * sum, "a sum of products");
    ncclRedOpDestroy(op, all.handle);
    expect_float(&all, AVERAGE, sum / (float)size, "an average");
    expect_float(&all, PTO_NCCL_MAX, (float)size, "a maximum");
    expect_sum(&all, TAKEN);
    ncclCommDestroy(all.handle);
}

/* Each process sends to the next one. */
static void ring(const members_t *of, const int *give, int *get) {
    ncclSend(give, 1, PTO_NCCL_INT32, (rank + 1) % size, of->handle, stream[1]);
    ncclRecv(get, 1, PTO_NCCL_INT32, (rank + size - 1) % size, of->handle, stream[1]);
}

static void groups(const pto_nccl_id_t *id) {
    const members_t all = begin(id[0]);
    const int from = (rank + size - 1) % size;
    sum_t sum[2];
    int get = -1, give = rank, before = fake_calls;
    issue_sum(&all, &sum[0], 1, stream[0]);
    expect(fake_calls == before, "a call in no group is NCCL's");
    ncclGroupStart(); /* NCCL's, and behind the sum, which gives what it sends */
    ncclSend(sum[0].out, 1, PTO_NCCL_INT32, (rank + 1) % size, all.handle, stream[1]);
    ncclRecv(&get, 1, PTO_NCCL_INT32, from, all.handle, stream[1]);
    expect(ncclGroupEnd() == SUCCESS, "a group of messages");
    expect(fake_calls == before + 1, "messages are not NCCL's");
    finish(stream[1]);
    expect(get == size + size * (size - 1) / 2, "a message overtakes a sum");
    before = fake_calls;
    const int passed = (int)tap_comm_of(all.handle)->passed;
    ncclGroupStart();
    issue_sum(&all, &sum[0], 2, stream[0]);
    ring(&all, &give, &get);
    issue_sum(&all, &sum[1], 3, stream[2]);
    expect(ncclGroupEnd() == SUCCESS, "a mixed group");
    expect(fake_calls == before + 3, "a call of a mixed group is taken");
    expect(tap_comm_of(all.handle)->passed == passed + 4, "another number of calls left to NCCL");
    for (int i = 0; i < STREAMS; i++)
        finish(stream[i]);
    check_sum(&all, &sum[0]);
    check_sum(&all, &sum[1]);
    expect(get == from, "another message");
    before = fake_calls;
    ncclGroupStart();
    ncclGroupStart();
    issue_sum(&all, &sum[0], 4, stream[0]);
    ncclGroupEnd();
    ncclGroupEnd();
    expect(fake_calls == before, "a call that is alone in nested groups is NCCL's");
    finish(stream[0]);
    check_sum(&all, &sum[0]);
    before = fake_calls;
    ncclGroupStart();
    ncclGroupStart();
    issue_sum(&all, &sum[0], 5, stream[0]);
    ncclGroupEnd();
    issue_sum(&all, &sum[1], 6, stream[0]);
    ncclGroupEnd();
    expect(fake_calls == before + 2, "a call of nested groups of two is taken");
    finish(stream[0]);
    check_sum(&all, &sum[0]);
    check_sum(&all, &sum[1]);
    ncclGroupStart();
    expect(ncclGroupEnd() == SUCCESS, "an empty group");
    expect(ncclGroupEnd() == INVALID_USAGE, "the end of no group");
    expect_sum(&all, TAKEN);
    ncclCommDestroy(all.handle);
}

/* Process 0 alone has a sum and messages in one group. Where the others take the sum, it must as well, and
 * its streams go on behind both. */
static void unlike_groups(const pto_nccl_id_t *id) {
    const members_t all = begin(id[0]), twin = begin(id[1]);
    sum_t sum[2];
    int give = rank;
    for (int i = 0; i < 3; i++) {
        const int before = fake_calls;
        int get = -1, first = -1;
        if (rank == 0)
            ncclGroupStart();
        issue_sum(&all, &sum[0], i, stream[0]);
        if (rank > 0)
            ncclGroupStart();
        ring(&all, &give, &get);
        expect(ncclGroupEnd() == SUCCESS, "a group");
        ncclBroadcast(&get, &first, 1, PTO_NCCL_INT32, 0, all.handle, stream[2]);
        expect(fake_calls == before + 1, "a sum beside messages is NCCL's");
        finish(stream[2]);
        expect(first == size - 1, "a call in another stream overtakes messages");
        finish(stream[1]);
        expect(rank > 0 || sum[0].out[0] == size * i + size * (size - 1) / 2, "a stream goes on too early");
        finish(stream[0]);
        check_sum(&all, &sum[0]);
        expect(get == (rank + size - 1) % size, "another message");
    }
    const int before = fake_calls;
    ncclGroupStart();
    issue_sum(&all, &sum[0], 5, stream[0]);
    issue_sum(&twin, &sum[1], 6, stream[0]);
    expect(ncclGroupEnd() == SUCCESS, "a group of two communicators");
    expect(fake_calls == before, "a sum beside that of another communicator is NCCL's");
    finish(stream[0]);
    check_sum(&all, &sum[0]);
    check_sum(&twin, &sum[1]);
    ncclCommDestroy(twin.handle);
    ncclCommDestroy(all.handle);
}

/* The second call of a group has what a taken call gave in another stream, and another taken call has what it
 * gave. */
static void ordered_groups(const pto_nccl_id_t *id) {
    const members_t all = begin(id[0]);
    sum_t other;
    int32_t give[COUNT] = {0}, first[COUNT] = {0}, second[COUNT] = {0}, third[COUNT] = {0};
    give[0] = rank == 0 ? 7 : 0;
    ncclBroadcast(give, first, COUNT, PTO_NCCL_INT32, 0, all.handle, stream[1]);
    const int before = fake_calls;
    ncclGroupStart();
    issue_sum(&all, &other, 1, stream[0]);
    ncclBroadcast(first, second, COUNT, PTO_NCCL_INT32, size - 1, all.handle, stream[2]);
    ncclGroupEnd();
    expect(fake_calls == before + 2, "a group of two is taken");
    ncclBroadcast(second, third, COUNT, PTO_NCCL_INT32, 0, all.handle, stream[1]);
    finish(stream[1]);
    expect(third[0] == 7, "calls in other streams overtake those of a group");
    for (int i = 0; i < STREAMS; i++)
        finish(stream[i]);
    ncclCommDestroy(all.handle);
}

/* What is wrong is NCCL's, with its error. */
static void wrong_calls(const pto_nccl_id_t *id) {
    const members_t all = begin(id[0]);
    int32_t data[COUNT] = {0};
    void *comm = all.handle, *in = stream[0];
    const int roots[] = {-1, size, 1000};
    for (int i = 0; i < 3; i++) {
        expect(ncclBcast(data, COUNT, PTO_NCCL_INT32, roots[i], comm, in) == INVALID_ARGUMENT, "a root");
        expect(ncclReduce(data, data, COUNT, PTO_NCCL_INT32, PTO_NCCL_SUM, roots[i], comm, in) ==
                   INVALID_ARGUMENT,
               "a root of a reduction");
    }
    expect(ncclAllReduce(data, data, COUNT, 99, PTO_NCCL_SUM, comm, in) == INVALID_ARGUMENT, "a datatype");
    expect(ncclAllReduce(data, data, COUNT, PTO_NCCL_INT32, 12, comm, in) == INVALID_ARGUMENT,
           "an operation");
    expect(ncclAllReduce(data, data, SIZE_MAX / 4 + 1 + COUNT, PTO_NCCL_INT32, PTO_NCCL_SUM, comm, in) ==
               INVALID_ARGUMENT,
           "a count whose bytes are more than 64 bits hold");
    expect(ncclAllReduce(data, data, COUNT, PTO_NCCL_INT32, PTO_NCCL_SUM, NULL, in) == INVALID_ARGUMENT,
           "no communicator");
    expect(ncclSend(data, 1, PTO_NCCL_INT32, 0, comm, in) == INVALID_USAGE, "a message outside of groups");
    expect(ncclAllReduce(data, data, 0, PTO_NCCL_INT32, PTO_NCCL_SUM, comm, in) == SUCCESS, "nothing");
    finish(in);
    expect_sum(&all, TAKEN);
    ncclCommDestroy(all.handle);
}

/* A buffer's pages go, and others come at the same place, as with segments that expand. */
static void remapped_buffers(const pto_nccl_id_t *id) {
    const members_t all = begin(id[0]);
    const size_t bytes = sizeof(sum_t);
    void *place = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 4; i++) {
        const int before = fake_calls;
        sum_t *sum =
            mmap(place, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        if (sum != place)
            exit(1);
        issue_sum(&all, sum, i, stream[i % STREAMS]);
        finish(stream[i % STREAMS]);
        check_sum(&all, sum);
        expect(fake_calls == before, "it is NCCL's");
        if (mmap(place, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != place)
            exit(1);
    }
    munmap(place, bytes);
    ncclCommDestroy(all.handle);
}

/* One kernel may not take the memory of many. */
static void large(const pto_nccl_id_t *id) {
    enum { BYTES = 1 << 20 };
    const members_t all = begin(id[0]);
    uint8_t *data = calloc(BYTES, 1);
    const int before = fake_calls;
    data[BYTES - 1] = (uint8_t)rank;
    ncclAllReduce(data, data, BYTES, PTO_NCCL_UINT8, PTO_NCCL_SUM, all.handle, stream[0]);
    finish(stream[0]);
    expect(fake_calls == before + 1, "it is taken");
    expect(data[BYTES - 1] == size * (size - 1) / 2, "another sum");
    free(data);
    expect_sum(&all, TAKEN);
    ncclCommDestroy(all.handle);
}

/* --- cases -----------------------------------------------------------------------------------------------
 */

static const struct {
    const char *name;
    void (*run)(const pto_nccl_id_t *id);
} cases[] = {{"splits", splits},
             {"a communicator that is shrunk", shrinks},
             {"communicators that come and go", comes_and_goes},
             {"communicators that do not block", does_not_block},
             {"a communicator that is made in a group", begins_in_a_group},
             {"two communicators in turns", alternate},
             {"threads", threads},
             {"several GPUs of a process", several_gpus},
             {"roots", roots},
             {"captures", captures},
             {"operations of the program", own_operations},
             {"groups", groups},
             {"groups that differ", unlike_groups},
             {"groups in the order of calls", ordered_groups},
             {"calls that are wrong", wrong_calls},
             {"buffers that are mapped again", remapped_buffers},
             {"much of the memory for kernels", large}};
enum { CASES = (int)(sizeof cases / sizeof *cases) };

static pto_nccl_id_t id[CASES * IDS];
static char **setting; /* of process 1 alone: a name and a value; NULL: none */

static void is_unlike(void) {
    const members_t all = begin(id[0]);
    expect_sum(&all, BY_NCCL);
    ncclCommDestroy(all.handle);
}

static int run(void) {
    if (!open_streams(stream, STREAMS))
        return 1;
    name = "other settings";
    if (setting && rank == 1)
        setenv(setting[0], setting[1], 1);
    if (setting)
        is_unlike();
    for (int i = 0; i < CASES && !setting; i++) {
        name = cases[i].name;
        cases[i].run(id + i * IDS);
    }
    return failures > 0;
}

int main(int argc, char **argv) {
    size = argc > 1 ? atoi(argv[1]) : 2;
    setting = argc > 3 ? argv + 2 : NULL;
    for (int i = 0; i < CASES * IDS; i++)
        ncclGetUniqueId(&id[i]);
    return run_processes(run);
}
