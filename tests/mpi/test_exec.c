/* Plans executed on a device and compared with the reference.
 *
 *   mpirun -n N test_exec WHAT [COUNT [SEED [DEVICE [SHAPE]]]]
 *
 *   cases      COUNT random cases; the processes play many jobs: at each turn they split into groups of
 * random sizes, and each group runs a case of its own shapes     COUNT random cases on every 1, 2, 4, ... and
 * all of the nodes, GPUs a node and processes a GPU that SHAPE (as 3x2x4) says the job has, by real nodes
 *   specials   COUNT random cases of min and max on NaNs, infinities and both zeros: all ranks get the same
 *              bits
 *   types      COUNT random reductions of every datatype by every operation that it has
 *   repeats    one plan COUNT times, with random delays between its steps
 *   different  processes with different plans find out
 *   absent     one process never runs; the watchdog ends the job
 *   killed     one process is killed once all have run
 *   timeout    one process never runs; the others get an error
 *   sleep      one process runs late; the others, which sleep meanwhile, take little CPU time
 *   repeats:STRATEGY, absent:STRATEGY, killed:STRATEGY, timeout:STRATEGY, sleep:STRATEGY
 *              the same by a strategy that needs no algorithm, each process with a GPU
 *   refusals   what an executor must not be made or queued for is refused, with the reason, on every process
 *   lines      data of short kernels carry their flags
 *   rings      a ring of host memory of 1, 2, 4, 8 and 16 slots, with fewer and more chunks; COUNT runs each
 *   lanes      pipelines of 1 to 4 slots and branches, with fewer and more chunks; COUNT runs each
 *   full       a buffer of COUNT bytes that one node has no room for is refused, on every process */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "die.h"
#include "exec_case.h"
#include "exec_specials.h"
#include "exec_strategies.h"
#include "executor.h"
#include "portolan/strategy.h"

enum { RUNS_PER_CASE = 2, CASES_THAT_COVER = 1000, DRAWS_FOR_UNMET = 20 };

typedef struct {
    int64_t nodes;
    int64_t gpus;
    int64_t processes; /* of each GPU */
} shape_t;

typedef struct {
    int64_t count;
    uint64_t seed;
    const pto_device_t *device;
    shape_t shape;
    const char *strategy; /* NULL: none was named */
    int rank;
    int size;
} job_t;

/* --- many cases ----------------------------------------------------------------------------------------- */

/* Strategies and algorithms that were run together, by any group: a byte each pair. */
static unsigned char *met;

static int pair_count(void) { return pto_strategy_count() * pto_algorithm_count(); }

static unsigned char *met_at(int s, int a) { return &met[s * pto_algorithm_count() + a]; }

static void note_met(const pto_request_t *request) {
    for (int s = 0; s < pto_strategy_count(); s++)
        for (int a = 0; a < pto_algorithm_count(); a++)
            if (request->strategy == pto_strategy_at(s) && request->algorithm == pto_algorithm_at(a))
                *met_at(s, a) = 1;
}

/* Strategies and algorithms that go together and have not been run, from a pair on. */
static bool next_unmet(int *s, int *a) {
    for (; *s < pto_strategy_count(); (*s)++, *a = 0)
        for (; *a < pto_algorithm_count(); (*a)++)
            if (pto_strategy_with(pto_strategy_at(*s), pto_algorithm_at(*a)) && !*met_at(*s, *a))
                return true;
    return false;
}

static void share_met(void) {
    MPI_Allreduce(MPI_IN_PLACE, met, pair_count(), MPI_UNSIGNED_CHAR, MPI_MAX, MPI_COMM_WORLD);
}

/* Where there were enough cases, every pair that can serve a collective must have had its turn. */
static void check_coverage(int64_t count) {
    int s = 0, a = 0;
    share_met();
    if (count < CASES_THAT_COVER || !next_unmet(&s, &a))
        return;
    fprintf(stderr, "test_exec: %s with %s never had its turn\n", pto_strategy_at(s)->name,
            pto_algorithm_at(a)->name);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* The first `members` processes run a pair together; all draw alike. */
static void run_with(const job_t *job, int s, int a, int members) {
    case_t test;
    MPI_Comm comm;
    pto_plan_t *plan = NULL;
    for (int i = 0; i < DRAWS_FOR_UNMET && !plan; i++)
        plan = case_random_of(&test, pto_strategy_at(s), pto_algorithm_at(a), NULL, members);
    MPI_Comm_split(MPI_COMM_WORLD, job->rank < members ? 0 : MPI_UNDEFINED, 0, &comm);
    bool ran = plan && comm != MPI_COMM_NULL && case_run(&test, plan, comm, job->device, RUNS_PER_CASE);
    if (ran)
        note_met(&test.request);
    pto_plan_destroy(plan);
    if (comm != MPI_COMM_NULL)
        MPI_Comm_free(&comm);
}

/* Pairs that chance passed over have their turn, with as many processes as they can have. */
static void run_unmet(const job_t *job) {
    share_met();
    for (int s = 0, a = 0; next_unmet(&s, &a); a++)
        for (int members = job->size; members > 0 && !*met_at(s, a); members--) {
            uint64_t turn = case_random_state;
            run_with(job, s, a, members);
            case_random_state = turn + 1;
            share_met();
        }
}

/* Split the processes into consecutive groups of random sizes; the groups are equal everywhere, as all draw
 * from one sequence. Returns how many. */
static int random_groups(int size, int *group_of) {
    int groups = 0;
    for (int at = 0; at < size; groups++)
        for (int64_t left = 1 + case_random_below(size - at); left > 0; left--)
            group_of[at++] = groups;
    return groups;
}

static void run_cases(const job_t *job) {
    int group_of[CASE_PROCESSES_MAX] = {0};
    for (int64_t done = 0; done < job->count;) {
        int groups = random_groups(job->size, group_of);
        uint64_t turn = case_random_state;
        MPI_Comm comm;
        MPI_Comm_split(MPI_COMM_WORLD, group_of[job->rank], job->rank, &comm);
        int members = 0;
        MPI_Comm_size(comm, &members);
        case_random_state = turn ^ ((uint64_t)group_of[job->rank] << 32);
        case_t test;
        pto_plan_t *plan = case_random(&test, NULL, members);
        if (case_run(&test, plan, comm, job->device, RUNS_PER_CASE))
            note_met(&test.request);
        pto_plan_destroy(plan);
        MPI_Comm_free(&comm);
        case_random_state = turn + 1;
        done += groups;
    }
    if (case_collective)
        return;
    if (job->count >= CASES_THAT_COVER)
        run_unmet(job);
    check_coverage(job->count);
}

/* --- shapes --------------------------------------------------------------------------------------------- */

/* Give the parts of a layout to random nodes, GPUs of them and processes of these: the logical rank of each
 * process of the job, or -1. A process keeps to the GPU that it selected at start. */
static void deal_parts(const shape_t *whole, const pto_layout_t *layout, int *logical_of) {
    int node[CASE_PROCESSES_MAX], gpu[CASE_PROCESSES_MAX], core[CASE_PROCESSES_MAX], next = 0;
    for (int64_t i = 0; i < whole->nodes * whole->gpus * whole->processes; i++)
        logical_of[i] = -1;
    case_random_order(node, (int)whole->nodes);
    for (int64_t i = 0; i < layout->nodes; i++) {
        case_random_order(gpu, (int)whole->gpus);
        for (int64_t j = 0; j < layout->gpus_per_node; j++) {
            case_random_order(core, (int)whole->processes);
            for (int64_t k = 0; k < layout->procs_per_gpu; k++)
                logical_of[(node[i] * whole->gpus + gpu[j]) * whole->processes + core[k]] = next++;
        }
    }
}

/* By real nodes, the processes ranked node after node or in turn; or ranked at random and placed by table. */
static void place_parts(case_t *test, const int *logical_of, int size, int *key_of) {
    const pto_layout_t *layout = &test->request.layout;
    int64_t per_node = layout->gpus_per_node * layout->procs_per_gpu;
    bool by_nodes = case_random_below(2), in_turn = case_random_below(2);
    case_random_order(key_of, size);
    test->options.placement = by_nodes ? PTO_PLACEMENT_NODES : PTO_PLACEMENT_TABLE;
    for (int i = 0; i < size; i++) {
        int logical = logical_of[i], before = 0;
        if (by_nodes)
            key_of[i] = in_turn ? (int)(logical % per_node * layout->nodes + logical / per_node) : logical;
        for (int j = 0; j < size && !by_nodes; j++)
            before += logical_of[j] >= 0 && key_of[j] < key_of[i];
        if (logical >= 0)
            test->table[before] = logical;
    }
}

static void run_shape(const job_t *job, const pto_layout_t *layout) {
    int logical_of[CASE_PROCESSES_MAX], key_of[CASE_PROCESSES_MAX];
    for (int64_t done = 0; done < job->count; done++) {
        case_t test;
        MPI_Comm comm;
        pto_plan_t *plan = case_random(&test, layout, (int)pto_layout_rank_count(layout));
        deal_parts(&job->shape, layout, logical_of);
        place_parts(&test, logical_of, job->size, key_of);
        bool takes_part = logical_of[job->rank] >= 0;
        MPI_Comm_split(MPI_COMM_WORLD, takes_part ? 0 : MPI_UNDEFINED, key_of[job->rank], &comm);
        if (takes_part) {
            if (case_run(&test, plan, comm, job->device, RUNS_PER_CASE))
                note_met(&test.request);
            MPI_Comm_free(&comm);
        }
        pto_plan_destroy(plan);
    }
}

/* 1, 2, 4, ... and last `all`. */
static int64_t after(int64_t number, int64_t all) {
    return number < all && 2 * number > all ? all : 2 * number;
}

static void run_shapes(const job_t *job) {
    const shape_t *all = &job->shape;
    int64_t cases = 0;
    for (int64_t nodes = 1; nodes <= all->nodes; nodes = after(nodes, all->nodes))
        for (int64_t gpus = 1; gpus <= all->gpus; gpus = after(gpus, all->gpus))
            for (int64_t cores = 1; cores <= all->processes; cores = after(cores, all->processes)) {
                pto_layout_t layout = {.nodes = nodes,
                                       .gpus_per_node = gpus,
                                       .owners_per_gpu = 1,
                                       .procs_per_gpu = cores,
                                       .gpus_per_socket = 1};
                run_shape(job, &layout);
                cases += job->count;
            }
    check_coverage(cases);
}

/* --- one plan ------------------------------------------------------------------------------------------- */

static void ask(case_t *test, const pto_layout_t *layout) {
    *test = (case_t){.options = {.placement = PTO_PLACEMENT_IDENTITY, .on_timeout = PTO_TIMEOUT_ABORT}};
    test->request = (pto_request_t){.layout = *layout,
                                    .collective = PTO_COLLECTIVE_ALLREDUCE,
                                    .datatype = PTO_DATATYPE_INT32,
                                    .bytes = 4 * 1009};
}

/* Each process has a GPU, and all GPUs are on one node and socket. */
static void ask_for_a_gpu_each(case_t *test, int size) {
    ask(test, &(pto_layout_t){1, size, 1, 1, size, false});
}

/* Two processes a GPU, if their number is even. */
static void ask_for_pairs(case_t *test, int size) {
    ask(test,
        size % 2 ? &(pto_layout_t){1, size, 1, 1, 1, false} : &(pto_layout_t){1, size / 2, 1, 2, 1, false});
}

static pto_plan_t *fixed_plan(case_t *test, int size, const char *strategy, const char *algorithm) {
    ask_for_pairs(test, size);
    return case_plan(test, strategy, algorithm);
}

static long resident_kib(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

/* In seven chunks, so that a ring of four slots goes round. */
static void ask_for_halo(case_t *test) {
    test->request.collective = PTO_COLLECTIVE_HALO;
    test->request.bytes = 4;
    test->request.chunks = 7;
    test->request.halo = (pto_halo_t){.dim_count = 2, .wrap = {true, true}, .extent = {7, 9}, .width = 1};
}

/* The strategy named after WHAT and a colon, all processes with a GPU each, or what suits most. */
static pto_plan_t *chosen_plan(const job_t *job, case_t *test) {
    if (!job->strategy)
        return fixed_plan(test, job->size, job->size % 2 ? "three_step" : "dup_devptr", "ring");
    const pto_strategy_t *strategy = NULL;
    pto_error_t err = {0};
    ask_for_a_gpu_each(test, job->size);
    if (pto_strategy_find(job->strategy, &strategy, &err) != PTO_OK)
        die(err.message);
    test->request.collective = PTO_COLLECTIVE_BROADCAST;
    if (strategy->collectives & 1u << PTO_COLLECTIVE_ALLREDUCE)
        test->request.collective = PTO_COLLECTIVE_ALLREDUCE;
    else if (strategy->collectives & 1u << PTO_COLLECTIVE_HALO)
        ask_for_halo(test);
    if (strategy->stages)
        test->request.staged_members = (pto_staged_t){job->size / 2, 1};
    return case_plan(test, job->strategy, "direct");
}

/* Nothing may be lost from run to run: after the first tenth, memory must not grow. */
static void run_repeats(const job_t *job) {
    case_t test;
    pto_plan_t *plan = chosen_plan(job, &test);
    test.options.delay_max_s = 20e-6;
    test.options.delay_seed = (uint64_t)job->rank + job->seed;
    case_run(&test, plan, MPI_COMM_WORLD, job->device, job->count / 10);
    long before_kib = resident_kib();
    case_run(&test, plan, MPI_COMM_WORLD, job->device, job->count - job->count / 10);
    long grown_kib = resident_kib() - before_kib;
    if (grown_kib > 1024) {
        fprintf(stderr, "test_exec: memory grew by %ld KiB\n", grown_kib);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    pto_plan_destroy(plan);
}

static void kill_itself(int ignored) { raise(SIGKILL); }

/* Once all have run, one process is killed, wherever it is then. */
static void run_killed(const job_t *job) {
    const struct itimerval soon = {.it_value = {.tv_usec = 300000}};
    case_t test;
    pto_plan_t *plan = chosen_plan(job, &test);
    test.options.delay_max_s = 20e-6;
    test.options.delay_seed = (uint64_t)job->rank + job->seed;
    case_run(&test, plan, MPI_COMM_WORLD, job->device, 20);
    if (job->rank == 1 &&
        (signal(SIGALRM, kill_itself) == SIG_ERR || setitimer(ITIMER_REAL, &soon, NULL) != 0))
        die("no timer");
    case_run(&test, plan, MPI_COMM_WORLD, job->device, INT_MAX);
    pto_plan_destroy(plan);
}

/* --- what goes wrong ------------------------------------------------------------------------------------ */

/* A case with its plan, buffers and executor. */
typedef struct {
    case_t test;
    pto_plan_t *plan;
    case_user_t user;
    pto_exec_t *exec;
    pto_error_t err;
} trial_t;

static pto_status_t try_open(const job_t *job, trial_t *trial) {
    trial->err = (pto_error_t){0};
    return case_open(&trial->test, trial->plan, MPI_COMM_WORLD, job->device, &trial->user, &trial->exec,
                     &trial->err);
}

static void must_open(const job_t *job, trial_t *trial) {
    if (try_open(job, trial) != PTO_OK)
        case_die(&trial->test, &trial->err);
}

static void close_trial(const job_t *job, trial_t *trial) {
    pto_exec_destroy(trial->exec);
    case_user_free(&trial->test, job->device, &trial->user);
    pto_plan_destroy(trial->plan);
}

/* The strategy named after WHAT and a colon, or one with messages between all processes. */
static pto_plan_t *plan_of_messages(const job_t *job, case_t *test) {
    return job->strategy ? chosen_plan(job, test) : fixed_plan(test, job->size, "three_step", "ring");
}

/* The last process has another number of bytes for what it sends to others or gets from them, for what they
 * send each other, or for what it keeps. */
static void run_different_counts(const job_t *job) {
    trial_t trial;
    int64_t matrix[CASE_PROCESSES_MAX * CASE_PROCESSES_MAX];
    const pto_counts_t counts = {.kind = PTO_COUNTS_MATRIX, .order = job->size, .matrix = matrix};
    for (int changed = 0; changed < job->size * job->size; changed++) {
        for (int i = 0; i < job->size * job->size; i++)
            matrix[i] = 64 + i + (i == changed && job->rank == job->size - 1);
        ask(&trial.test, &(pto_layout_t){1, job->size, 1, 1, 1, false});
        trial.test.request.collective = PTO_COLLECTIVE_ALLTOALLV;
        trial.test.request.counts = &counts;
        trial.plan = case_plan(&trial.test, "cuda_aware", "pairwise");
        bool used = (changed / job->size == job->size - 1) != (changed % job->size == job->size - 1);
        pto_status_t status = try_open(job, &trial);
        if (status != (used ? PTO_ERR_RANGE : PTO_OK) ||
            (used && !strstr(trial.err.message, "other byte counts")))
            die("different byte counts went unnoticed, or those that do not matter did not");
        close_trial(job, &trial);
    }
}

static void run_different(const job_t *job) {
    trial_t trial;
    run_different_counts(job);
    trial.plan = fixed_plan(&trial.test, job->size, "three_step", job->rank ? "ring" : "binomial");
    pto_status_t status = try_open(job, &trial);
    if (status != PTO_ERR_RANGE || !strstr(trial.err.message, "different plans"))
        die("different plans went unnoticed");
    close_trial(job, &trial);
}

/* Every process must be refused, with `status` and a message that holds `why`. */
static void expect_refusal(const job_t *job, case_t *test, const pto_plan_t *plan, void *in, void *out,
                           pto_status_t expected, const char *why) {
    pto_exec_t *exec = NULL;
    pto_error_t err = {0};
    pto_status_t status =
        pto_exec_create(plan, MPI_COMM_WORLD, job->device, in, out, test->op, &test->options, &exec, &err);
    if (status != expected || !strstr(err.message, why)) {
        fprintf(stderr, "test_exec: process %d: expected a refusal with '%s', got status %d, '%s'\n",
                job->rank, why, (int)status, err.message);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void refuse_placements(const job_t *job) {
    case_t test;
    pto_plan_t *plan = fixed_plan(&test, job->size, "three_step", "ring");
    for (int i = 0; i < job->size; i++)
        test.table[i] = i / 2;
    test.options.placement = PTO_PLACEMENT_TABLE;
    test.options.table = test.table;
    expect_refusal(job, &test, plan, NULL, NULL, PTO_ERR_RANGE, "are both placed at 0");
    test.table[job->size - 1] = job->size;
    expect_refusal(job, &test, plan, NULL, NULL, PTO_ERR_RANGE, "the table places rank");
    pto_plan_destroy(plan);
}

/* No call of MPI's counts more than INT_MAX. The user's memory is never touched. */
static void refuse_long_counts(const job_t *job) {
    const int64_t bytes = (int64_t)INT_MAX + 1;
    static const pto_collective_t collectives[] = {PTO_COLLECTIVE_BROADCAST, PTO_COLLECTIVE_ALLTOALL,
                                                   PTO_COLLECTIVE_ALLTOALLV, PTO_COLLECTIVE_ALLGATHER,
                                                   PTO_COLLECTIVE_ALLGATHERV};
    static const char *const algorithms[] = {"binomial", "pairwise", "pairwise", "ring", "ring"};
    for (size_t i = 0; i < sizeof collectives / sizeof *collectives; i++) {
        case_t test;
        ask_for_a_gpu_each(&test, job->size);
        test.request.collective = collectives[i];
        test.request.datatype = PTO_DATATYPE_BYTE;
        test.request.bytes = collectives[i] == PTO_COLLECTIVE_ALLTOALLV ? INT_MAX / 2 + 2 : bytes;
        test.request.by_library = true;
        size_t room = (size_t)(test.request.bytes * job->size);
        char *memory =
            mmap(NULL, 2 * room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED)
            die("no addresses are left");
        pto_plan_t *plan = case_plan(&test, "cuda_aware", algorithms[i]);
        expect_refusal(job, &test, plan, memory, memory + room, PTO_ERR_TOO_LARGE, "MPI counts are limited");
        pto_plan_destroy(plan);
        munmap(memory, 2 * room);
    }
}

/* One process has buffers that the others cannot reach, so its runs copy them. Then no process may queue. */
static void refuse_queueing(const job_t *job) {
    trial_t trial;
    ask_for_a_gpu_each(&trial.test, job->size);
    trial.plan = case_plan(&trial.test, "gas_split", "direct");
    trial.test.plain_memory = job->rank == 0;
    must_open(job, &trial);
    if (pto_exec_queue(trial.exec, &trial.err) != PTO_ERR_NOT_APPLICABLE)
        die("a process queued what another one can't");
    close_trial(job, &trial);
}

static void run_refusals(const job_t *job) {
    refuse_placements(job);
    refuse_long_counts(job);
    refuse_queueing(job);
}

static void run_lines(const job_t *job) {
    for (int large = 0; large < 2; large++) {
        trial_t trial;
        ask_for_a_gpu_each(&trial.test, job->size);
        trial.test.request.bytes = large ? 64 << 20 : 1024;
        trial.plan = case_plan(&trial.test, "gas_allgather", "direct");
        must_open(job, &trial);
        if ((trial.exec->lines == PTO_LINES_NONE) != (large == 1))
            die(large ? "the data of a long kernel carry flags"
                      : "the data of a short kernel carry no flags");
        close_trial(job, &trial);
    }
}

/* Every pair exchanges some bytes; in the second trial, process 1 sends none to process 0. */
static void run_lines_of_pairs(const job_t *job) {
    for (int one_way = 0; one_way < 2; one_way++) {
        trial_t trial;
        ask_for_a_gpu_each(&trial.test, job->size);
        case_t *test = &trial.test;
        for (int i = 0; i < job->size * job->size; i++)
            test->matrix[i] = one_way && i == job->size ? 0 : 8 * i + 1;
        test->counts = (pto_counts_t){.kind = PTO_COUNTS_MATRIX, .order = job->size, .matrix = test->matrix};
        test->request.collective = PTO_COLLECTIVE_ALLTOALLV;
        test->request.counts = &test->counts;
        test->request.bytes = 0;
        trial.plan = case_plan(test, "gas_allgather", "direct");
        must_open(job, &trial);
        if ((trial.exec->lines == PTO_LINES_NONE) != (one_way == 1))
            die(one_way ? "a process stores where no lines tell it that it may"
                        : "blocks of different sizes carry no flags");
        close_trial(job, &trial);
    }
}

static void run_absent(const job_t *job) {
    trial_t trial;
    trial.plan = plan_of_messages(job, &trial.test);
    trial.test.options.timeout_s = 2;
    must_open(job, &trial);
    if (job->rank == 0)
        for (;;)
            sleep(60);
    pto_exec_run(trial.exec, &trial.err);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* With PTO_TIMEOUT_RETURN the others get an error, and all go on. */
static void run_timeout(const job_t *job) {
    trial_t trial;
    trial.plan = plan_of_messages(job, &trial.test);
    trial.test.options.timeout_s = 1;
    trial.test.options.on_timeout = PTO_TIMEOUT_RETURN;
    trial.test.options.own_algorithms = true;
    must_open(job, &trial);
    if (job->rank == 0)
        sleep(3); /* and never runs */
    double began_s = MPI_Wtime();
    if (job->rank > 0 &&
        (pto_exec_run(trial.exec, &trial.err) != PTO_ERR_TIMEOUT || MPI_Wtime() - began_s < 1))
        die("a run without all processes did not time out");
    if (job->rank > 0 &&
        (!strstr(trial.err.message, "in stage '") || !strstr(trial.err.message, "no progress for")))
        die(trial.err.message);
    if (job->rank > 0 && pto_exec_run(trial.exec, &trial.err) != PTO_ERR_RANGE)
        die("a run after a timeout was not refused");
    if (job->rank > 0)
        pto_exec_destroy(trial.exec); /* leaves what others may still use */
    MPI_Barrier(MPI_COMM_WORLD);
}

static double cpu_s(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/* Polling takes all of the time that the machine gives. */
static void run_sleep(const job_t *job) {
    const double late_s = 0.5;
    trial_t trial;
    trial.plan = plan_of_messages(job, &trial.test);
    trial.test.options.wait = PTO_WAIT_SLEEP;
    trial.test.options.own_algorithms = true;
    must_open(job, &trial);
    MPI_Barrier(MPI_COMM_WORLD);
    if (job->rank == 0)
        nanosleep(&(struct timespec){.tv_nsec = (long)(late_s * 1e9)}, NULL);
    double began_s = MPI_Wtime(), used_s = cpu_s();
    if (pto_exec_run(trial.exec, &trial.err) != PTO_OK)
        case_die(&trial.test, &trial.err);
    double waited_s = MPI_Wtime() - began_s;
    used_s = cpu_s() - used_s;
    if (job->rank > 0 && used_s > fmax(waited_s, late_s) / 10) {
        fprintf(stderr, "test_exec: %.3f s of CPU time in a wait of %.3f s\n", used_s, waited_s);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    close_trial(job, &trial);
}

/* The user's buffers are staging memory, so that the first that finds no room is one of the executor's. Every
 * process must hear of it; the program then fails, as a user's would. */
static bool run_full(const job_t *job) {
    trial_t trial;
    ask_for_pairs(&trial.test, job->size);
    trial.test.request.bytes = job->count;
    trial.test.plain_memory = true;
    trial.plan = case_plan(&trial.test, "cuda_aware", "recursive_doubling");
    pto_status_t status = try_open(job, &trial);
    if (status != PTO_OK)
        fprintf(stderr, "test_exec: process %d: %s\n", job->rank, trial.err.message);
    close_trial(job, &trial);
    return status == PTO_OK;
}

/* Of WHAT, which a strategy (of `cases`: a collective) may follow. */
static bool asks_for(const char *what, const char *name) {
    return strncmp(what, name, strlen(name)) == 0 && (!what[strlen(name)] || what[strlen(name)] == ':');
}

static bool run(const char *what, const job_t *job) {
    bool right = true;
    if (asks_for(what, "cases")) {
        case_collective = job->strategy;
        run_cases(job);
    } else if (strcmp(what, "shapes") == 0)
        run_shapes(job);
    else if (strcmp(what, "specials") == 0)
        specials_run(job->count, MPI_COMM_WORLD, job->device);
    else if (strcmp(what, "types") == 0)
        right = types_run(job->count, MPI_COMM_WORLD, job->device) > 0;
    else if (asks_for(what, "repeats"))
        run_repeats(job);
    else if (strcmp(what, "different") == 0)
        run_different(job);
    else if (strcmp(what, "refusals") == 0)
        run_refusals(job);
    else if (strcmp(what, "lines") == 0)
        run_lines(job), run_lines_of_pairs(job);
    else if (strcmp(what, "rings") == 0)
        strategies_run_rings(job->count, job->seed, job->device);
    else if (strcmp(what, "lanes") == 0)
        strategies_run_lanes(job->count, job->seed, job->device);
    else if (asks_for(what, "absent"))
        run_absent(job);
    else if (asks_for(what, "killed"))
        run_killed(job);
    else if (asks_for(what, "timeout"))
        run_timeout(job);
    else if (asks_for(what, "sleep"))
        run_sleep(job);
    else if (strcmp(what, "full") == 0)
        right = run_full(job);
    else
        die("do what? cases, shapes, specials, repeats, different, refusals, lines, rings, lanes, absent, "
            "killed, timeout, sleep or full");
    return right;
}

static void parse(int argc, char **argv, job_t *job) {
    pto_error_t err = {0};
    long long nodes = 1, gpus = 1, processes = job->size;
    job->count = argc > 2 ? atoll(argv[2]) : 100;
    job->seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    if (pto_device_find(argc > 4 ? argv[4] : "host", &job->device, &err) != PTO_OK)
        die(err.message);
    if (argc > 5 && sscanf(argv[5], "%lldx%lldx%lld", &nodes, &gpus, &processes) != 3)
        die("a shape such as 3x2x4 is needed: nodes, GPUs a node, processes a GPU");
    if (nodes * gpus * processes != job->size || job->size > CASE_PROCESSES_MAX)
        die("the job has another number of processes than the shape, or too many");
    job->shape = (shape_t){nodes, gpus, processes};
    const char *colon = argc > 1 ? strchr(argv[1], ':') : NULL;
    job->strategy = colon ? colon + 1 : NULL;
    if (job->device->select(job->rank / processes % gpus, &err) != PTO_OK)
        die(err.message);
}

/* Libraries differ in how they match the messages of a neighbor that is listed twice
 * (findings/neighbor_ring.sh). */
static bool differ(const int *rank, int count) {
    for (int i = 0; i < count; i++)
        for (int j = 0; j < i; j++)
            if (rank[i] == rank[j])
                return false;
    return true;
}

int MPI_Neighbor_alltoallw(const void *send, const int *send_counts, const MPI_Aint *send_displs,
                           const MPI_Datatype *send_types, void *receive, const int *receive_counts,
                           const MPI_Aint *receive_displs, const MPI_Datatype *receive_types, MPI_Comm comm) {
    int in, out, weighted, sources[PTO_SHIFTS_MAX], targets[PTO_SHIFTS_MAX], weights[PTO_SHIFTS_MAX];
    PMPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
    PMPI_Dist_graph_neighbors(comm, in, sources, weights, out, targets, weights);
    if (!differ(sources, in) || !differ(targets, out))
        die("a neighbor is listed twice");
    return PMPI_Neighbor_alltoallw(send, send_counts, send_displs, send_types, receive, receive_counts,
                                   receive_displs, receive_types, comm);
}

int main(int argc, char **argv) {
    int given;
    job_t job = {0};
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &given);
    MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &job.size);
    parse(argc, argv, &job);
    const char *what = argc > 1 ? argv[1] : "";
    case_random_state = job.seed;
    strategies_register();
    if (job.rank == 0)
        printf("test_exec: %s on %d processes, count %lld, seed %llu, device %s\n", what, job.size,
               (long long)job.count, (unsigned long long)job.seed, job.device->name);
    fflush(stdout); /* who waits for this line may disturb the run */
    met = calloc((size_t)pair_count(), sizeof *met);
    if (!met)
        die("out of memory");
    bool right = run(what, &job);
    free(met);
    MPI_Barrier(MPI_COMM_WORLD);
    if (job.rank == 0)
        printf("test_exec: %s: %s\n", what, right ? "ok" : "refused");
    MPI_Finalize();
    return right ? 0 : 1;
}
