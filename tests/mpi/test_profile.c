/* Programs for the profiler, which write what it must count:
 *
 *   mpirun -n N test_profile WHAT COUNT SEED EXPECTED.csv [cuda]
 *
 *   plans     COUNT random plans of each strategy and algorithm on the host device; the traffic of the plans
 *   messages  COUNT rounds of random messages of mixed spaces; what their receivers found in them
 *   vectors   an allreduce, a reduction to process COUNT, a broadcast from it, an allgather, and a
 *             reduce_scatter
 *   ends HOW  sends a message from each process to the next one and ends: by `signal`, `abort`, `exit`,
 * `error`
 *
 *   collectives, neighbors, persistent, one_sided, mpi4: COUNT rounds of a family of calls
 * (profile_families.c) reused    a message from freed GPU memory whose addresses the host uses again, and one
 * from page-locked memory
 *
 * A row of EXPECTED.csv is the sum over all messages between two processes and two spaces. With `cuda`,
 * memory on a GPU is CUDA's, and there is managed memory; else it is host memory that the profiler is told
 * of. */
#define _GNU_SOURCE /* MAP_FIXED_NOREPLACE */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "exec_case.h"
#include "exec_strategies.h"
#include "portolan/strategy.h"
#include "portolan/traffic.h"
#include "profile_expect.h"

enum { RUNS_PER_PLAN = 2 };
_Static_assert(MEMORY_CPU == (int)PTO_SPACE_CPU && MEMORY_GPU == (int)PTO_SPACE_GPU, "plans count alike");

/* --- plans ---------------------------------------------------------------------------------------------- */

/* The process of the job that is a logical rank. */
typedef struct {
    const case_t *test;
    int first; /* of the group of processes */
    int size;
} placed_t;

static int process_of(const placed_t *placed, int64_t logical) {
    const pto_exec_options_t *options = &placed->test->options;
    for (int i = 0; i < placed->size; i++)
        if ((options->placement == PTO_PLACEMENT_TABLE ? options->table[i] : i) == logical)
            return placed->first + i;
    return -1;
}

static void add_pair(void *context, const pto_traffic_pair_t *pair) {
    const placed_t *placed = context;
    if (pair->kind == PTO_TRAFFIC_MESSAGE)
        expect(process_of(placed, pair->source), process_of(placed, pair->destination),
               (int)pair->source_space, (int)pair->destination_space, RUNS_PER_PLAN * pair->messages,
               RUNS_PER_PLAN * pair->bytes);
}

/* With the user's buffers where the plan has them, and with algorithms of our own, whose messages are the
 * plan's. */
static pto_plan_t *random_plan(case_t *test, const pto_strategy_t *strategy, const pto_algorithm_t *algorithm,
                               int processes) {
    pto_plan_t *plan = case_random_of(test, strategy, algorithm, NULL, processes);
    while (plan && !case_may_own(test)) {
        pto_plan_destroy(plan);
        plan = case_random_of(test, strategy, algorithm, NULL, processes);
    }
    test->options.own_algorithms = true;
    test->plain_memory = false;
    test->queued = 0;
    test->rebinds = false;
    return plan;
}

/* The processes split into two groups, each with a plan of its own. */
static void run_pair(const pto_device_t *device, const pto_strategy_t *strategy,
                     const pto_algorithm_t *algorithm) {
    int split = (int)case_random_below(size) + 1;
    bool second = rank >= split;
    case_t test;
    pto_error_t err = {0};
    placed_t placed = {.test = &test, .first = second ? split : 0, .size = second ? size - split : split};
    uint64_t turn = case_random_state;
    MPI_Comm comm;
    MPI_Comm_split(MPI_COMM_WORLD, second, rank, &comm);
    case_random_state = turn ^ (second ? 0x5555u : 0);
    pto_plan_t *plan = random_plan(&test, strategy, algorithm, placed.size);
    if (plan)
        case_run(&test, plan, comm, device, RUNS_PER_PLAN);
    if (plan && rank == placed.first && pto_plan_traffic(plan, add_pair, &placed, &err) != PTO_OK)
        case_die(&test, &err);
    pto_plan_destroy(plan);
    MPI_Comm_free(&comm);
    case_random_state = turn + 1;
}

/* All strategies with all algorithms but NCCL's, whose place MPI takes on the host device. */
static void run_plans(int64_t count, const char *device_name) {
    const pto_device_t *device = NULL;
    strategies_register();
    if (pto_device_find(device_name, &device, NULL) != PTO_OK)
        abort();
    for (int s = 0; s < pto_strategy_count(); s++)
        for (int a = 0; a < pto_algorithm_count(); a++) {
            const pto_strategy_t *strategy = pto_strategy_at(s);
            const pto_algorithm_t *algorithm = pto_algorithm_at(a);
            for (int64_t i = 0; i < count && !strategy->nccl && pto_strategy_with(strategy, algorithm); i++)
                run_pair(device, strategy, algorithm);
        }
}

/* --- messages ------------------------------------------------------------------------------------------- */

enum { ROUND = 24, TAGS = 3, COMMS = 3, MESSAGE_MAX = 256 };

/* What a message says of itself. */
typedef struct {
    int32_t source;
    int32_t space;
    int32_t bytes;
} note_t;

typedef struct {
    int source;
    int destination;
    int tag;
    int comm;
    int bytes;
    int space;
    int how;
} message_t;

static MPI_Comm comms[COMMS];

/* Each message of a number has room to be sent from and received in. */
static char *place_of(int space, int number, bool receives) {
    return memory[space] + (size_t)(2 * number + receives) * MESSAGE_MAX;
}

static int rank_in(int comm, int process) {
    return comm == COMMS - 1 ? size - 1 - process : process; /* the last one counts backwards */
}

/* All processes draw the same. */
static void draw(message_t *message) {
    for (int i = 0; i < ROUND; i++)
        message[i] = (message_t){.source = (int)case_random_below(size),
                                 .destination = (int)case_random_below(size),
                                 .tag = (int)case_random_below(TAGS),
                                 .comm = (int)case_random_below(COMMS),
                                 .bytes = (int)sizeof(note_t) + 4 * (int)case_random_below(3),
                                 .space = (int)case_random_below(memory_spaces()),
                                 .how = (int)case_random_below(6)};
}

static void start_send(const message_t *message, int number, MPI_Request *request) {
    char *at = place_of(message->space, number, false);
    int peer = rank_in(message->comm, message->destination), tag = message->tag;
    MPI_Comm comm = comms[message->comm];
    note_t note = {rank, message->space, message->bytes};
    memory_copy(at, &note, sizeof note);
    if (message->how == 0)
        MPI_Issend(at, message->bytes, MPI_BYTE, peer, tag, comm, request);
    else if (message->how == 1)
        MPI_Isend(at, message->bytes / 4, MPI_INT, peer, tag, comm, request);
    else if (message->how == 2)
        MPI_Send(at, message->bytes, MPI_BYTE, peer, tag, comm);
    else if (message->how == 3)
        MPI_Send_init(at, message->bytes, MPI_BYTE, peer, tag, comm, request);
    else
        MPI_Isend(at, message->bytes, MPI_BYTE, peer, tag, comm, request);
    if (message->how == 3)
        MPI_Start(request);
}

/* How a process's receives on a communicator select messages in a round: they all do so alike, or one could
 * take another's. */
static void start_receive(const message_t *message, int number, int space, int mode, MPI_Request *request) {
    int peer = mode & 1 ? MPI_ANY_SOURCE : rank_in(message->comm, message->source);
    int tag = mode & 2 ? MPI_ANY_TAG : message->tag;
    char *at = place_of(space, number, true);
    if (message->how == 4) {
        MPI_Recv_init(at, MESSAGE_MAX, MPI_BYTE, peer, tag, comms[message->comm], request);
        MPI_Start(request);
    } else {
        MPI_Irecv(at, MESSAGE_MAX, MPI_BYTE, peer, tag, comms[message->comm], request);
    }
}

static void complete(MPI_Request *request, int count, int how) {
    int index[2 * ROUND], done = 0;
    if (how == 0)
        MPI_Waitall(count, request, MPI_STATUSES_IGNORE);
    while (how == 1 && done < count) {
        MPI_Waitany(count, request, index, MPI_STATUS_IGNORE);
        done++;
    }
    while (how == 2 && done != MPI_UNDEFINED)
        MPI_Waitsome(count, request, &done, index, MPI_STATUSES_IGNORE);
    for (int i = 0; how == 3 && i < count; i++)
        for (int flag = 0; !flag;)
            MPI_Test(&request[i], &flag, MPI_STATUS_IGNORE);
}

/* A receive that no message matches is cancelled in the end. */
static void run_round(void) {
    message_t message[ROUND];
    MPI_Request request[2 * ROUND];
    int space[ROUND], modes[COMMS], count = 0, active = 0;
    draw(message);
    uint64_t common = case_random_state;
    case_random_state ^= (uint64_t)rank << 20;
    for (int i = 0; i < COMMS; i++)
        modes[i] = (int)case_random_below(4);
    for (int i = 0; i < ROUND; i++) {
        space[i] = (int)case_random_below(memory_spaces());
        request[count] = MPI_REQUEST_NULL;
        if (message[i].destination == rank)
            start_receive(&message[i], i, space[i], modes[message[i].comm], &request[count++]);
    }
    for (int i = 0; i < ROUND; i++) {
        request[count] = MPI_REQUEST_NULL;
        if (message[i].source == rank)
            start_send(&message[i], i, &request[count++]);
    }
    for (int i = 0; i < count; i++)
        active += request[i] != MPI_REQUEST_NULL;
    complete(request, count, active == count ? (int)case_random_below(4) : 0);
    for (int i = 0; i < count; i++)
        if (request[i] != MPI_REQUEST_NULL)
            MPI_Request_free(&request[i]); /* persistent */
    for (int i = 0; i < ROUND; i++) {
        note_t note;
        memory_copy(&note, place_of(space[i], i, true), sizeof note);
        if (message[i].destination == rank)
            expect(note.source, rank, note.space, space[i], 1, note.bytes);
    }
    case_random_state = common;
    MPI_Barrier(MPI_COMM_WORLD);
}

static void cancel_one(void) {
    MPI_Request request;
    MPI_Irecv(place_of(PTO_SPACE_GPU, 0, true), MESSAGE_MAX, MPI_BYTE, (rank + 1) % size, 0, MPI_COMM_WORLD,
              &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* One after the other, by a matched probe and by MPI_Sendrecv. */
static void pass_on(int round) {
    int next = (rank + 1) % size, previous = (rank + size - 1) % size, spaces = memory_spaces();
    int from = round % spaces, to = round / spaces % spaces;
    char *out = place_of(from, 0, false), *in = place_of(to, 0, true);
    MPI_Message message;
    MPI_Request request;
    MPI_Sendrecv(out, 40, MPI_BYTE, next, 1, in, 40, MPI_BYTE, previous, 1, comms[1], MPI_STATUS_IGNORE);
    MPI_Isend(out, 8, MPI_BYTE, next, 1, comms[1], &request);
    MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comms[1], &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(in, 8, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(previous, rank, from, to, 2, 48);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Messages that all have one tag: receives of any kind may take any of them. */
static void run_alike(void) {
    enum { ALIKE = 12 };
    message_t message = {.source = (rank + size - 1) % size, .tag = 1, .comm = 1, .bytes = sizeof(note_t)};
    message_t sent = {.destination = (rank + 1) % size, .tag = 1, .comm = 1, .bytes = sizeof(note_t)};
    MPI_Request request[2 * ALIKE];
    int space[ALIKE];
    uint64_t common = case_random_state;
    case_random_state ^= (uint64_t)rank << 20;
    for (int i = 0; i < ALIKE; i++) {
        space[i] = (int)case_random_below(memory_spaces());
        start_receive(&message, i, space[i], (int)case_random_below(4), &request[i]);
    }
    for (int i = 0; i < ALIKE; i++) {
        sent.space = (int)case_random_below(memory_spaces());
        sent.how = (int)case_random_below(2);
        start_send(&sent, i, &request[ALIKE + i]);
    }
    complete(request, 2 * ALIKE, (int)case_random_below(4));
    for (int i = 0; i < ALIKE; i++) {
        note_t note;
        memory_copy(&note, place_of(space[i], i, true), sizeof note);
        expect(note.source, rank, note.space, space[i], 1, note.bytes);
    }
    case_random_state = common;
    MPI_Barrier(MPI_COMM_WORLD);
}

static void run_messages(int64_t count) {
    comms[0] = MPI_COMM_WORLD;
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms[2]);
    take_memory((size_t)2 * ROUND * MESSAGE_MAX);
    MPI_Pcontrol(1);
    for (int64_t i = 0; i < count; i++) {
        run_round();
        if (i % 3 == 0)
            cancel_one();
        pass_on((int)i);
        run_alike();
    }
    MPI_Pcontrol(0);
}

/* --- addresses that change their space ------------------------------------------------------------------ */

static void pass_cpu(const void *out, int from) {
    enum { PASSED = 1000 };
    static char in[PASSED];
    MPI_Sendrecv(out, PASSED, MPI_BYTE, (rank + 1) % size, 0, in, PASSED, MPI_BYTE, (rank + size - 1) % size,
                 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect(rank, (rank + 1) % size, from, MEMORY_CPU, 1, PASSED);
}

/* Whether the addresses can be had again is the system's decision. */
static void run_reused(void) {
    const size_t bytes = (size_t)8 << 20;
    void *gpu = memory_allocate(MEMORY_GPU, bytes), *pinned = memory_allocate_pinned(bytes);
    MPI_Pcontrol(1);
    pass_cpu(gpu, MEMORY_GPU);
    if (pinned)
        pass_cpu(pinned, MEMORY_CPU);
    MPI_Pcontrol(0);
    memory_free(MEMORY_GPU, gpu);
    void *again =
        mmap(gpu, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    int free = again == gpu, all;
    MPI_Allreduce(&free, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Pcontrol(1);
    if (all)
        pass_cpu(again, MEMORY_CPU);
    MPI_Pcontrol(0);
    if (rank == 0)
        fprintf(stderr, "test_profile: host memory %s at freed addresses of a GPU\n",
                all ? "is" : "cannot be had");
}

/* --- collectives that are decomposed by a plan ---------------------------------------------------------- */

enum { ELEMENTS = 1001 };

static void run_vectors(int root) {
    static double in[ELEMENTS], out[RANKS_MAX * ELEMENTS];
    MPI_Pcontrol(1);
    MPI_Allreduce(in, out, ELEMENTS, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Reduce(in, out, ELEMENTS, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
    MPI_Bcast(out, ELEMENTS, MPI_DOUBLE, root, MPI_COMM_WORLD);
    MPI_Allgather(in, ELEMENTS, MPI_DOUBLE, out, ELEMENTS, MPI_DOUBLE, MPI_COMM_WORLD);
    MPI_Reduce_scatter_block(out, in, ELEMENTS, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Pcontrol(0);
}

/* --- ends ----------------------------------------------------------------------------------------------- */

/* The last process ends; the others would wait for it. */
static void run_end(const char *how) {
    char out[100], in[100];
    MPI_Pcontrol(1);
    MPI_Sendrecv(out, 100, MPI_BYTE, (rank + 1) % size, 0, in, 100, MPI_BYTE, (rank + size - 1) % size, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(how, "exit") == 0)
        exit(3);
    if (rank == size - 1 && strcmp(how, "signal") == 0)
        raise(SIGSEGV);
    if (rank == size - 1 && strcmp(how, "abort") == 0)
        MPI_Abort(MPI_COMM_WORLD, 3);
    if (rank == size - 1 && strcmp(how, "error") == 0)
        MPI_Send(out, 1, MPI_BYTE, size, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 2;
    MPI_Init(&argc, &argv);
    MPI_Pcontrol(0);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int64_t count = strtoll(argv[2], NULL, 10);
    case_random_state = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
    if (size > RANKS_MAX)
        return 2;
    bool plans = strcmp(argv[1], "plans") == 0;
    if (!plans && argc > 5 && strcmp(argv[5], "cuda") == 0 && !memory_use_cuda(0)) {
        fprintf(stderr, "test_profile: no CUDA driver\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (plans)
        run_plans(count, argc > 5 ? argv[5] : "host");
    else if (strcmp(argv[1], "messages") == 0)
        run_messages(count);
    else if (strcmp(argv[1], "reused") == 0)
        run_reused();
    else if (strcmp(argv[1], "vectors") == 0)
        run_vectors((int)count);
    else if (!run_family(argv[1], count))
        run_end(argv[2]);
    if (argc > 4)
        expect_write(argv[4]);
    MPI_Finalize();
    return 0;
}
