/* Random plans, executed on the host device and compared with the reference. One process group plays many
 * jobs: at each turn it splits into groups of random sizes, and each group runs a case of its own.
 *
 *   mpirun -n 9 test_exec cases COUNT SEED      COUNT random cases
 *   mpirun -n 4 test_exec repeats COUNT SEED    one plan again and again, with random delays between steps
 *   mpirun -n 2 test_exec different             processes with different plans find out
 *   mpirun -n 3 test_exec absent                one process never runs; the watchdog ends the job */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../../validate/reference.h"
#include "portolan/exec.h"
#include "portolan/strategy.h"

enum { RUNS_PER_CASE = 2, TRIES_PER_PAIR = 200, CASES_THAT_COVER = 1000, POISON = 0xa5 };

static uint64_t state;

static int64_t below(int64_t bound) {
    state += 0x9e3779b97f4a7c15u;
    uint64_t x = state;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return (int64_t)((x ^ (x >> 31)) % (uint64_t)bound);
}

typedef struct {
    pto_request_t request;
    pto_counts_t counts;
    pto_op_t op;
    bool in_place;
    bool plain_memory; /* the user's buffers are not the device's */
    bool asynchronous;
    pto_exec_options_t options;
    int64_t table[64];
} case_t;

_Noreturn static void die(const case_t *test, const pto_error_t *err) {
    const pto_request_t *request = &test->request;
    const pto_layout_t *layout = &request->layout;
    fprintf(stderr,
            "test_exec: %s by %s, %s: %lld nodes x %lld GPUs x %lld of %lld, %lld bytes, %s %s, split %s, "
            "in place %d, plain %d, own %d: %s\n",
            pto_collective_name(request->collective), request->strategy->name, request->algorithm->name,
            (long long)layout->nodes, (long long)layout->gpus_per_node, (long long)layout->owners_per_gpu,
            (long long)layout->cores_per_gpu, (long long)request->bytes, pto_datatype_name(request->datatype),
            pto_op_name(test->op), pto_split_name(request->split), test->in_place, test->plain_memory,
            test->options.own_algorithms, err->message);
    MPI_Abort(MPI_COMM_WORLD, 1);
    abort();
}

/* --- making a case ---------------------------------------------------------------------------------------
 */

/* A random way to write `size` as nodes x GPUs x cores, with at most 4 cores. */
static pto_layout_t random_layout(int size) {
    for (;;) {
        int64_t cores = 1 + below(4), gpus = 1 + below(size);
        if (size % cores || size / cores % gpus)
            continue;
        return (pto_layout_t){.nodes = size / cores / gpus,
                              .gpus_per_node = gpus,
                              .owners_per_gpu = below(2) ? 1 : 1 + below(cores),
                              .cores_per_gpu = cores,
                              .gpus_per_socket = 1};
    }
}

static int64_t random_bytes(void) {
    static const int64_t prime[] = {2, 3, 7, 13, 31, 127, 1009, 8191, 65537};
    int64_t kind = below(8);
    if (kind == 0)
        return 0;
    return kind < 3 ? prime[below((int64_t)(sizeof prime / sizeof *prime))] : 1 + below(3000);
}

static void random_table(case_t *test, int size) {
    for (int i = 0; i < size; i++)
        test->table[i] = i;
    for (int i = size - 1; i > 0; i--) {
        int64_t j = below(i + 1), kept = test->table[i];
        test->table[i] = test->table[j];
        test->table[j] = kept;
    }
    test->options.placement = below(3) ? PTO_PLACEMENT_TABLE : PTO_PLACEMENT_IDENTITY;
    test->options.table = test->table;
}

static void random_counts(case_t *test) {
    test->counts = (pto_counts_t){.kind = PTO_COUNTS_SKEW, .skew = (double)below(101) / 100, .seed = 7};
    test->request.counts = &test->counts;
}

static void random_request(case_t *test, int size) {
    pto_request_t *request = &test->request;
    request->layout = random_layout(size);
    request->collective = (pto_collective_t)below(PTO_COLLECTIVE_COUNT);
    request->split = (pto_split_t)below(PTO_SPLIT_COUNT);
    request->datatype = (pto_datatype_t)(PTO_DATATYPE_INT32 + below(4));
    request->bytes = random_bytes();
    request->by_library = request->collective != PTO_COLLECTIVE_MESSAGES && below(2);
    if (pto_collective_reduces(request->collective))
        request->bytes *= pto_datatype_bytes(request->datatype);
    if (request->collective == PTO_COLLECTIVE_ALLTOALLV && below(4))
        random_counts(test);
    if (request->collective == PTO_COLLECTIVE_MESSAGES) {
        request->messages = 1 + below(5);
        request->unique_bytes = below(2) ? 0 : 1 + below(request->bytes + 1);
    }
}

/* A strategy and an algorithm first, so that all pairs are equally likely; then the rest, drawn until they
 * apply. Where none is found, as for two processes a GPU on three processes, another pair. */
static pto_plan_t *random_plan(case_t *test, int size) {
    for (;;) {
        const pto_strategy_t *strategy = pto_strategy_at((int)below(pto_strategy_count()));
        const pto_algorithm_t *algorithm = pto_algorithm_at((int)below(pto_algorithm_count()));
        for (int tries = 0; tries < TRIES_PER_PAIR; tries++) {
            memset(test, 0, sizeof *test);
            test->request.strategy = strategy;
            test->request.algorithm = algorithm;
            random_request(test, size);
            test->op = (pto_op_t)below(PTO_OP_COUNT);
            test->in_place = below(4) == 0;
            test->plain_memory = below(4) == 0;
            test->asynchronous = below(3) == 0;
            test->options.own_algorithms = below(2);
            random_table(test, size);
            pto_plan_t *plan = NULL;
            if (pto_plan_create(&test->request, &plan, NULL) == PTO_OK)
                return plan;
        }
    }
}

/* --- running it ------------------------------------------------------------------------------------------
 */

typedef struct {
    void *in;
    void *out;
    int64_t in_bytes;
    int64_t out_bytes;
    int64_t owner; /* number among the owners; -1: a helper */
} user_t;

static void *new_memory(const case_t *test, const pto_device_t *device, int64_t bytes) {
    void *memory = NULL;
    pto_error_t err = {0};
    if (test->plain_memory)
        memory = malloc((size_t)bytes + 1);
    else if (device->allocate((size_t)bytes, &memory, &err) != PTO_OK)
        die(test, &err);
    return memory;
}

static user_t make_user(const case_t *test, const pto_plan_t *plan, const pto_device_t *device,
                        int64_t rank) {
    const pto_layout_t *layout = &test->request.layout;
    user_t user = {.owner = -1};
    int64_t core = rank % layout->cores_per_gpu;
    if (core >= layout->owners_per_gpu)
        return user;
    user.owner = rank / layout->cores_per_gpu * layout->owners_per_gpu + core;
    user.in_bytes = pto_exec_user_bytes(plan, rank, PTO_ROLE_IN);
    user.out_bytes = pto_exec_user_bytes(plan, rank, PTO_ROLE_OUT);
    int64_t most = user.in_bytes > user.out_bytes ? user.in_bytes : user.out_bytes;
    user.in = new_memory(test, device, most);
    user.out = test->in_place ? user.in : new_memory(test, device, user.out_bytes);
    return user;
}

static void free_user(const case_t *test, const pto_device_t *device, user_t *user) {
    void *memory[] = {user->in, test->in_place ? NULL : user->out};
    for (int i = 0; i < 2; i++) {
        if (test->plain_memory)
            free(memory[i]);
        else
            device->release(memory[i], NULL);
    }
}

static pto_status_t run_once(const case_t *test, pto_exec_t *exec, pto_error_t *err) {
    if (!test->asynchronous)
        return pto_exec_run(exec, err);
    bool finished = false;
    pto_status_t status = pto_exec_start(exec, err);
    for (int i = 0; i < 20 && status == PTO_OK && !finished; i++)
        status = pto_exec_test(exec, &finished, err);
    return status == PTO_OK ? pto_exec_wait(exec, err) : status;
}

static void run_checked(const case_t *test, pto_exec_t *exec, const user_t *user, uint64_t seed) {
    pto_error_t err = {0};
    if (user->owner >= 0) {
        memset(user->out, POISON, (size_t)user->out_bytes);
        reference_fill(&test->request, test->op, seed, user->owner, user->in, user->in_bytes);
    }
    pto_status_t status = run_once(test, exec, &err);
    if (status == PTO_OK && user->owner >= 0)
        status =
            reference_compare(&test->request, test->op, seed, user->owner, user->out, user->out_bytes, &err);
    if (status != PTO_OK)
        die(test, &err);
}

/* `runs` times, each with fresh inputs. */
static void run_case(case_t *test, const pto_plan_t *plan, MPI_Comm comm, int64_t runs) {
    const pto_device_t *device = NULL;
    pto_error_t err = {0};
    int64_t rank = 0;
    pto_exec_t *exec = NULL;
    pto_status_t status = pto_device_find("host", &device, &err);
    if (status == PTO_OK)
        status = pto_exec_place(&test->request.layout, comm, &test->options, &rank, &err);
    if (status != PTO_OK)
        die(test, &err);
    user_t user = make_user(test, plan, device, rank);
    status = pto_exec_create(plan, comm, device, user.in, user.out, test->op, &test->options, &exec, &err);
    if (status != PTO_OK)
        die(test, &err);
    for (int64_t run = 0; run < runs; run++)
        run_checked(test, exec, &user, (uint64_t)run + 1);
    pto_exec_destroy(exec);
    free_user(test, device, &user);
}

/* --- many cases ------------------------------------------------------------------------------------------
 */

/* Split the processes into consecutive groups of random sizes; the groups are equal everywhere, as all draw
 * from one sequence. Returns how many. */
static int random_groups(int size, int *group_of) {
    int groups = 0;
    for (int at = 0; at < size; groups++)
        for (int64_t left = 1 + below(size - at); left > 0; left--)
            group_of[at++] = groups;
    return groups;
}

/* Strategies and algorithms that were run together, by any group. */
static unsigned char met[16][32];

/* Every pair that can serve a collective must have had its turn. */
static void check_coverage(void) {
    MPI_Allreduce(MPI_IN_PLACE, met, (int)sizeof met, MPI_UNSIGNED_CHAR, MPI_MAX, MPI_COMM_WORLD);
    for (int s = 0; s < pto_strategy_count(); s++)
        for (int a = 0; a < pto_algorithm_count(); a++) {
            const pto_strategy_t *strategy = pto_strategy_at(s);
            const pto_algorithm_t *algorithm = pto_algorithm_at(a);
            if (!pto_strategy_with(strategy, algorithm) || met[s][a])
                continue;
            fprintf(stderr, "test_exec: %s with %s never had its turn\n", strategy->name, algorithm->name);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
}

static void note_met(const pto_request_t *request) {
    for (int s = 0; s < pto_strategy_count(); s++)
        for (int a = 0; a < pto_algorithm_count(); a++)
            if (request->strategy == pto_strategy_at(s) && request->algorithm == pto_algorithm_at(a))
                met[s][a] = 1;
}

static void run_cases(int64_t count, int rank, int size) {
    int group_of[64] = {0};
    for (int64_t done = 0; done < count;) {
        int groups = random_groups(size, group_of);
        uint64_t turn = state;
        MPI_Comm comm;
        MPI_Comm_split(MPI_COMM_WORLD, group_of[rank], rank, &comm);
        int members = 0;
        MPI_Comm_size(comm, &members);
        state = turn ^ ((uint64_t)group_of[rank] << 32);
        case_t test;
        pto_plan_t *plan = random_plan(&test, members);
        run_case(&test, plan, comm, RUNS_PER_CASE);
        note_met(&test.request);
        pto_plan_destroy(plan);
        MPI_Comm_free(&comm);
        state = turn + 1;
        done += groups;
    }
    if (count >= CASES_THAT_COVER)
        check_coverage();
}

static pto_plan_t *fixed_plan(case_t *test, int size, const char *strategy, const char *algorithm) {
    pto_error_t err = {0};
    pto_plan_t *plan = NULL;
    *test = (case_t){.options = {.placement = PTO_PLACEMENT_IDENTITY}};
    test->request = (pto_request_t){.layout = {1, size / 2, 1, 2, 1},
                                    .collective = PTO_COLLECTIVE_ALLREDUCE,
                                    .datatype = PTO_DATATYPE_INT32,
                                    .bytes = 4 * 1009};
    if (size % 2)
        test->request.layout = (pto_layout_t){1, size, 1, 1, 1};
    if (pto_strategy_find(strategy, &test->request.strategy, &err) != PTO_OK ||
        pto_algorithm_find(algorithm, PTO_COLLECTIVE_ALLREDUCE, &test->request.algorithm, &err) != PTO_OK ||
        pto_plan_create(&test->request, &plan, &err) != PTO_OK) {
        fprintf(stderr, "test_exec: %s\n", err.message);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return plan;
}

static long resident_kib(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

/* Nothing may be lost from run to run: after the first tenth, memory must not grow. */
static void run_repeats(int64_t count, int rank, int size) {
    case_t test;
    pto_plan_t *plan = fixed_plan(&test, size, "dup_devptr", "ring");
    test.options.delay_max_s = 20e-6;
    test.options.delay_seed = (uint64_t)rank + state;
    run_case(&test, plan, MPI_COMM_WORLD, count / 10);
    long before_kib = resident_kib();
    run_case(&test, plan, MPI_COMM_WORLD, count - count / 10);
    long grown_kib = resident_kib() - before_kib;
    if (grown_kib > 1024) {
        fprintf(stderr, "test_exec: memory grew by %ld KiB in %lld runs\n", grown_kib, (long long)count);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    pto_plan_destroy(plan);
}

static void run_different(int rank, int size) {
    case_t test;
    pto_plan_t *plan = fixed_plan(&test, size, "three_step", rank ? "ring" : "binomial");
    const pto_device_t *device = pto_device_at(0);
    int64_t place = 0;
    pto_exec_t *exec = NULL;
    pto_error_t err = {0};
    pto_exec_place(&test.request.layout, MPI_COMM_WORLD, &test.options, &place, &err);
    user_t user = make_user(&test, plan, device, place);
    pto_status_t status =
        pto_exec_create(plan, MPI_COMM_WORLD, device, user.in, user.out, test.op, &test.options, &exec, &err);
    if (status != PTO_ERR_RANGE || !strstr(err.message, "different plans")) {
        fprintf(stderr, "test_exec: different plans went unnoticed: %s\n", err.message);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    free_user(&test, device, &user);
    pto_plan_destroy(plan);
}

static void run_absent(int rank, int size) {
    case_t test;
    pto_plan_t *plan = fixed_plan(&test, size, "three_step", "ring");
    const pto_device_t *device = pto_device_at(0);
    int64_t place = 0;
    pto_exec_t *exec = NULL;
    pto_error_t err = {0};
    test.options.timeout_s = 2;
    pto_exec_place(&test.request.layout, MPI_COMM_WORLD, &test.options, &place, &err);
    user_t user = make_user(&test, plan, device, place);
    if (pto_exec_create(plan, MPI_COMM_WORLD, device, user.in, user.out, test.op, &test.options, &exec,
                        &err) != PTO_OK)
        die(&test, &err);
    if (rank == 0)
        for (;;)
            sleep(60);
    pto_exec_run(exec, &err);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    int given, rank, size;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &given);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char *what = argc > 1 ? argv[1] : "";
    int64_t count = argc > 2 ? atoll(argv[2]) : 100;
    state = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    if (rank == 0)
        printf("test_exec: %s on %d processes, count %lld, seed %llu\n", what, size, (long long)count,
               (unsigned long long)state);
    if (strcmp(what, "cases") == 0)
        run_cases(count, rank, size);
    else if (strcmp(what, "repeats") == 0)
        run_repeats(count, rank, size);
    else if (strcmp(what, "different") == 0)
        run_different(rank, size);
    else if (strcmp(what, "absent") == 0)
        run_absent(rank, size);
    else
        return 2;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("test_exec: %s: ok\n", what);
    MPI_Finalize();
    return 0;
}
