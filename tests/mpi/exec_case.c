/* Creates a random case and runs it. */
#include "exec_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nccl/nccl_collective.h"
#include "portolan/strategy.h"

enum { TRIES_PER_PAIR = 200, POISON = 0xa5 };

uint64_t case_random_state;
const char *case_collective;
pto_datatype_t case_datatype = PTO_DATATYPE_COUNT;
pto_op_t case_op = PTO_OP_COUNT;

int64_t case_random_below(int64_t bound) {
    case_random_state += 0x9e3779b97f4a7c15u;
    uint64_t x = case_random_state;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return (int64_t)((x ^ (x >> 31)) % (uint64_t)bound);
}

void case_random_order(int *item, int count) {
    for (int i = 0; i < count; i++)
        item[i] = i;
    for (int i = count - 1; i > 0; i--) {
        int j = (int)case_random_below(i + 1), kept = item[i];
        item[i] = item[j];
        item[j] = kept;
    }
}

void case_say(const case_t *test, const char *what) {
    const pto_request_t *request = &test->request;
    const pto_layout_t *layout = &request->layout;
    fprintf(stderr,
            "test_exec: %s by %s, %s: %lld nodes x %lld GPUs x %lld of %lld, %lld bytes, %s %s, split %s, "
            "two %d, "
            "in place %d, plain %d, own %d, queued %d, rebinds %d: %s\n",
            pto_collective_name(request->collective), request->strategy->name, request->algorithm->name,
            (long long)layout->nodes, (long long)layout->gpus_per_node, (long long)layout->owners_per_gpu,
            (long long)layout->procs_per_gpu, (long long)request->bytes, pto_datatype_name(request->datatype),
            pto_op_name(test->op), pto_split_name(request->split), pto_request_host_counts(request) != NULL,
            test->in_place, test->plain_memory, test->options.own_algorithms, test->queued, test->rebinds,
            what);
}

_Noreturn void case_die(const case_t *test, const pto_error_t *err) {
    case_say(test, err->message);
    MPI_Abort(MPI_COMM_WORLD, 1);
    abort();
}

/* --- making a case -------------------------------------------------------------------------------------- */

/* A random way to write `size` as nodes x GPUs x cores, with at most 4 cores. */
static pto_layout_t random_layout(int size) {
    for (;;) {
        int64_t cores = 1 + case_random_below(4), gpus = 1 + case_random_below(size);
        if (size % cores || size / cores % gpus)
            continue;
        return (pto_layout_t){.nodes = size / cores / gpus,
                              .gpus_per_node = gpus,
                              .procs_per_gpu = cores,
                              .gpus_per_socket = 1};
    }
}

static int64_t random_bytes(void) {
    static const int64_t prime[] = {2, 3, 7, 13, 31, 127, 1009, 8191, 65537};
    int64_t kind = case_random_below(8);
    if (kind == 0)
        return 0;
    return kind < 3 ? prime[case_random_below((int64_t)(sizeof prime / sizeof *prime))]
                    : 1 + case_random_below(3000);
}

static void random_table(case_t *test, int size) {
    int order[CASE_PROCESSES_MAX];
    case_random_order(order, size);
    for (int i = 0; i < size; i++)
        test->table[i] = order[i];
    test->options.placement = case_random_below(3) ? PTO_PLACEMENT_TABLE : PTO_PLACEMENT_IDENTITY;
    test->options.table = test->table;
}

static void random_mapping(case_t *test, int owners) {
    int order[CASE_PROCESSES_MAX];
    case_random_order(order, owners);
    for (int i = 0; i < owners; i++)
        test->process[i] = order[i];
    test->mapping = (pto_mapping_t){.count = owners, .process = test->process};
    test->request.mapping = &test->mapping;
}

static pto_counts_t random_pattern(int64_t owners) {
    if (case_random_below(2))
        return (pto_counts_t){.kind = PTO_COUNTS_STENCIL,
                              .grid = {.dim_count = 2,
                                       .dim = {1, owners},
                                       .weight = {1, 1 + case_random_below(3)},
                                       .wrap = {false, case_random_below(2)}}};
    return (pto_counts_t){.kind = PTO_COUNTS_SKEW, .skew = (double)case_random_below(101) / 100, .seed = 7};
}

/* Some pairs send nothing; in half of the tables, a pair sends in both directions or in none. */
static pto_counts_t random_matrix(case_t *test, int64_t owners) {
    int64_t gap = 1 + case_random_below(4), both_ways = case_random_below(2);
    for (int64_t i = 0; i < owners * owners; i++) {
        int64_t from = i / owners, to = i % owners;
        bool none = case_random_below(gap + 1) == 0;
        test->matrix[i] = none ? 0 : random_bytes();
        if (both_ways && to < from && (test->matrix[i] == 0) != (test->matrix[to * owners + from] == 0))
            test->matrix[i] = test->matrix[to * owners + from];
    }
    return (pto_counts_t){.kind = PTO_COUNTS_MATRIX, .order = owners, .matrix = test->matrix};
}

/* A second pattern goes with few strategies and algorithms: these have one whenever they may. */
static bool may_join(const pto_request_t *request) {
    return request->strategy->joins && request->algorithm->joins;
}

static void random_counts(case_t *test) {
    int64_t owners = pto_layout_owner_count(&test->request.layout);
    test->counts = case_random_below(2) ? random_pattern(owners) : random_matrix(test, owners);
    if (may_join(&test->request) && !test->request.by_library) {
        test->host_counts = random_pattern(owners);
        test->counts.host = &test->host_counts;
    }
    if (case_random_below(2))
        random_mapping(test, (int)owners);
    test->request.counts = &test->counts;
}

/* Many processes give nothing, and sometimes all of them. */
static void random_list(case_t *test) {
    int64_t owners = pto_layout_owner_count(&test->request.layout), empty = 1 + case_random_below(4);
    test->counts = (pto_counts_t){.kind = PTO_COUNTS_LIST, .order = owners, .matrix = test->list};
    for (int64_t i = 0; i < owners; i++)
        test->list[i] = case_random_below(empty + 1) < empty - 1 ? 0 : random_bytes();
    if (case_random_below(4) == 0)
        test->counts = random_pattern(1);
    if (test->counts.kind == PTO_COUNTS_STENCIL)
        test->counts = (pto_counts_t){.kind = PTO_COUNTS_EQUAL};
    test->request.counts = &test->counts;
}

static void random_grid(case_t *test) {
    pto_halo_t *grid = &test->request.halo;
    grid->dim_count = 2 + (int)case_random_below(2);
    grid->width = 1 + case_random_below(3);
    grid->corners = (pto_corners_t)case_random_below(PTO_CORNERS_COUNT);
    test->request.bytes = 1 + case_random_below(12);
    for (int d = 0; d < grid->dim_count; d++) {
        grid->wrap[d] = case_random_below(2);
        grid->extent[d] = grid->width + case_random_below(6);
    }
    int64_t owners = pto_layout_owner_count(&test->request.layout);
    int alone = (int)case_random_below(grid->dim_count + 1); /* a dimension that has all; the last: none */
    for (int d = 0; d < grid->dim_count && alone < grid->dim_count; d++)
        grid->dims[d] = d == alone ? owners : 1;
}

/* MPICH 4.0.2 compares unsigned integers as if they were signed (docs/executing.md). */
static bool mpi_compares(pto_datatype_t datatype) {
    MPI_Datatype type = datatype == PTO_DATATYPE_UINT8    ? MPI_UINT8_T
                        : datatype == PTO_DATATYPE_UINT16 ? MPI_UINT16_T
                        : datatype == PTO_DATATYPE_UINT32 ? MPI_UINT32_T
                        : datatype == PTO_DATATYPE_UINT64 ? MPI_UINT64_T
                                                          : MPI_DATATYPE_NULL;
    const uint64_t none = 0;
    uint64_t most = UINT64_MAX;
    return type == MPI_DATATYPE_NULL ||
           (MPI_Reduce_local(&none, &most, 1, type, MPI_MAX) == MPI_SUCCESS && most == UINT64_MAX);
}

static bool reduces_in_mpi(const case_t *test) {
    return test->request.by_library && !test->options.own_algorithms &&
           (test->op == PTO_OP_MIN || test->op == PTO_OP_MAX);
}

/* NCCL lacks some types and operations, and only GPUs divide sums. */
static bool fits(const case_t *test) {
    return pto_op_takes(test->op, test->request.datatype, NULL) == PTO_OK &&
           !(test->request.layout.in_host && test->op == PTO_OP_AVG) &&
           (!test->request.strategy->nccl ||
            pto_nccl_takes(test->request.datatype, test->op, NULL) == PTO_OK);
}

static void random_request(case_t *test, const pto_layout_t *layout, int size) {
    pto_request_t *request = &test->request;
    request->layout = layout ? *layout : random_layout(size);
    request->layout.in_host = request->strategy->in_host;
    if (request->layout.in_host) { /* a process is a place */
        request->layout.gpus_per_node *= request->layout.procs_per_gpu;
        request->layout.procs_per_gpu = 1;
    }
    int64_t cores = request->layout.procs_per_gpu;
    request->layout.owners_per_gpu = case_random_below(2) ? 1 : 1 + case_random_below(cores);
    do
        request->collective = (pto_collective_t)case_random_below(PTO_COLLECTIVE_COUNT);
    while (case_collective && strcmp(pto_collective_name(request->collective), case_collective) != 0);
    if (!case_collective && may_join(request) && case_random_below(2))
        request->collective = PTO_COLLECTIVE_ALLTOALLV;
    request->split = (pto_split_t)case_random_below(PTO_SPLIT_COUNT);
    request->datatype = case_datatype < PTO_DATATYPE_COUNT
                            ? case_datatype
                            : (pto_datatype_t)case_random_below(PTO_DATATYPE_COUNT);
    test->op = case_op < PTO_OP_COUNT ? case_op : (pto_op_t)case_random_below(PTO_OP_COUNT);
    request->bytes = random_bytes();
    request->by_library = pto_collective_is_in_mpi(request->collective) && case_random_below(2);
    if (pto_collective_reduces(request->collective))
        request->bytes *= pto_datatype_bytes(request->datatype);
    if (request->collective == PTO_COLLECTIVE_ALLTOALLV && case_random_below(4))
        random_counts(test);
    if (request->collective == PTO_COLLECTIVE_ALLGATHERV && case_random_below(8))
        random_list(test);
    if (request->collective == PTO_COLLECTIVE_MESSAGES) {
        request->messages = 1 + case_random_below(5);
        request->unique_bytes = case_random_below(2) ? 0 : 1 + case_random_below(request->bytes + 1);
    }
    if (request->strategy->stages)
        request->staged_members = (pto_staged_t){case_random_below(request->strategy->stages(request)),
                                                 case_random_below(request->strategy->stages(request))};
    if (request->collective == PTO_COLLECTIVE_HALO)
        random_grid(test);
    if (request->collective == PTO_COLLECTIVE_PAIR) {
        bool in_host = request->layout.in_host;
        request->ends = (pto_pair_ends_t){in_host || case_random_below(2), in_host || case_random_below(2),
                                          case_random_below(2)};
    }
    if (request->algorithm->segmented && !request->by_library)
        request->segment_bytes = case_random_below(request->bytes + 1);
    if (request->strategy->direct || pto_request_cuts_inside(request) ||
        (request->algorithm->chunked && !request->by_library))
        request->chunks = pto_request_host_counts(request) ? 1 : case_random_below(10);
}

bool case_may_own(const case_t *test) {
    return !(test->request.layout.in_host && test->request.algorithm->shares_host);
}

pto_plan_t *case_random_of(case_t *test, const pto_strategy_t *strategy, const pto_algorithm_t *algorithm,
                           const pto_layout_t *layout, int size) {
    for (int tries = 0; tries < TRIES_PER_PAIR; tries++) {
        memset(test, 0, sizeof *test);
        test->request.strategy = strategy;
        test->request.algorithm = algorithm;
        random_request(test, layout, size);
        if (!fits(test))
            continue;
        test->in_place =
            case_random_below(4) == 0 && test->request.ends.from_host == test->request.ends.to_host;
        test->plain_memory = case_random_below(4) == 0;
        test->asynchronous = case_random_below(3) == 0;
        test->follows = case_random_below(3) == 0;
        test->rebinds = case_random_below(3) == 0;
        test->registers = case_random_below(2);
        test->queued = case_random_below(3) == 0 ? 1 + (int)case_random_below(4) : 0;
        test->options.own_algorithms = case_random_below(2) && case_may_own(test);
        if (reduces_in_mpi(test) && !mpi_compares(test->request.datatype))
            continue;
        test->options.on_timeout = (pto_timeout_t)case_random_below(PTO_TIMEOUT_COUNT);
        test->options.wait = (pto_wait_t)case_random_below(PTO_WAIT_COUNT);
        test->options.slice_bytes = case_random_below(2) ? 0 : 16 << case_random_below(9);
        random_table(test, size);
        pto_plan_t *plan = NULL;
        if (pto_plan_create(&test->request, &plan, NULL) == PTO_OK)
            return plan;
    }
    return NULL;
}

/* A strategy and an algorithm first, so that all pairs are equally likely; then the rest, drawn until they
 * apply. Where none is found, as for two processes a GPU on three processes, another pair. */
pto_plan_t *case_random(case_t *test, const pto_layout_t *layout, int size) {
    pto_plan_t *plan = NULL;
    while (!plan) {
        const pto_strategy_t *strategy = pto_strategy_at((int)case_random_below(pto_strategy_count()));
        const pto_algorithm_t *algorithm = pto_algorithm_at((int)case_random_below(pto_algorithm_count()));
        plan = case_random_of(test, strategy, algorithm, layout, size);
    }
    return plan;
}

pto_plan_t *case_plan(case_t *test, const char *strategy, const char *algorithm) {
    pto_error_t err = {0};
    pto_plan_t *plan = NULL;
    pto_request_t *request = &test->request;
    if (pto_strategy_find(strategy, &request->strategy, &err) == PTO_OK &&
        pto_algorithm_find(algorithm, request->collective, &request->algorithm, &err) == PTO_OK &&
        pto_plan_create(request, &plan, &err) == PTO_OK)
        return plan;
    fprintf(stderr, "%s by %s, %s: %s\n", pto_collective_name(request->collective), strategy, algorithm,
            err.message);
    MPI_Abort(MPI_COMM_WORLD, 1);
    abort();
}

/* --- running it ----------------------------------------------------------------------------------------- */

/* A user's buffer on the host, or one whose case has plain memory. Plain memory is no device's own: the
 * executor must put its own in that memory's place. */
static bool is_staging(const case_t *test, pto_role_t role) {
    return test->plain_memory || test->request.layout.in_host ||
           (role == PTO_ROLE_IN ? test->request.ends.from_host : test->request.ends.to_host);
}

static void *new_memory(const case_t *test, const pto_device_t *device, bool staging, int64_t bytes) {
    void *memory = NULL;
    pto_error_t err = {0};
    if ((staging ? device->allocate_staging : device->allocate)((size_t)bytes, &memory, &err) != PTO_OK)
        case_die(test, &err);
    return memory;
}

static void new_buffers(const case_t *test, const pto_device_t *device, case_user_t *user, int64_t most) {
    user->in = new_memory(test, device, is_staging(test, PTO_ROLE_IN), most);
    user->out =
        test->in_place ? user->in : new_memory(test, device, is_staging(test, PTO_ROLE_OUT), user->out_bytes);
}

static void free_buffers(const case_t *test, const pto_device_t *device, void *in, void *out) {
    (is_staging(test, PTO_ROLE_IN) ? device->release_staging : device->release)(in, NULL);
    if (!test->in_place)
        (is_staging(test, PTO_ROLE_OUT) ? device->release_staging : device->release)(out, NULL);
}

case_user_t case_user(const case_t *test, const pto_plan_t *plan, const pto_device_t *device, int64_t rank) {
    const pto_layout_t *layout = &test->request.layout;
    case_user_t user = {.owner = -1};
    int64_t core = rank % layout->procs_per_gpu;
    if (core >= layout->owners_per_gpu)
        return user;
    user.owner = rank / layout->procs_per_gpu * layout->owners_per_gpu + core;
    user.in_bytes = pto_exec_user_bytes(plan, rank, PTO_ROLE_IN);
    user.out_bytes = pto_exec_user_bytes(plan, rank, PTO_ROLE_OUT);
    int64_t most = user.in_bytes > user.out_bytes ? user.in_bytes : user.out_bytes;
    new_buffers(test, device, &user, most);
    if (test->rebinds) {
        user.other_in = user.in;
        user.other_out = user.out;
        new_buffers(test, device, &user, most);
    }
    user.host = new_memory(test, device, true, most);
    pto_error_t err = {0};
    if (reference_host_make(plan, device, rank, &user.second, &err) != PTO_OK)
        case_die(test, &err);
    if (device->stream_create(&user.stream, &err) != PTO_OK)
        case_die(test, &err);
    return user;
}

void case_user_free(const case_t *test, const pto_device_t *device, case_user_t *user) {
    free_buffers(test, device, user->in, user->out);
    free_buffers(test, device, user->other_in, user->other_out);
    device->release_staging(user->host, NULL);
    reference_host_free(device, &user->second);
    if (user->stream)
        device->stream_destroy(user->stream, NULL);
}

pto_status_t case_open(const case_t *test, const pto_plan_t *plan, MPI_Comm comm, const pto_device_t *device,
                       case_user_t *user, pto_exec_t **exec, pto_error_t *err) {
    int64_t rank = 0;
    *exec = NULL;
    if (pto_exec_place(&test->request.layout, comm, &test->options, &rank, err) != PTO_OK)
        case_die(test, err);
    *user = case_user(test, plan, device, rank);
    pto_exec_options_t options = test->options;
    options.host_in = user->second.in;
    options.host_out = user->second.out;
    return pto_exec_create(plan, comm, device, user->in, user->out, test->op, &options, exec, err);
}

/* Several runs on the same input give what one gives, unless its output takes the input's place. */
static pto_status_t queue(const case_t *test, pto_exec_t *exec, pto_error_t *err) {
    pto_status_t status = pto_exec_queue(exec, err);
    for (int i = 1; i < test->queued && status == PTO_OK && !test->in_place; i++)
        status = pto_exec_queue(exec, err);
    return status;
}

static pto_status_t run_once(const case_t *test, pto_exec_t *exec, pto_error_t *err) {
    bool finished = false;
    pto_status_t status = test->queued > 0 ? queue(test, exec, err) : PTO_ERR_NOT_APPLICABLE;
    if (status == PTO_ERR_NOT_APPLICABLE && !test->asynchronous)
        return pto_exec_run(exec, err);
    if (status == PTO_ERR_NOT_APPLICABLE)
        status = pto_exec_start(exec, err);
    else if (status == PTO_OK && !test->asynchronous)
        return pto_exec_wait(exec, err);
    for (int i = 0; i < 20 && status == PTO_OK && !finished; i++)
        status = pto_exec_test(exec, &finished, err);
    return status == PTO_OK ? pto_exec_wait(exec, err) : status;
}

/* The input arrives in the user's stream, which the next run follows. */
static pto_status_t put_later(const pto_device_t *device, pto_exec_t *exec, const case_user_t *user,
                              pto_error_t *err) {
    size_t bytes = (size_t)user->in_bytes;
    const pto_move_t move = {user->in, user->host, bytes, 1, bytes, bytes};
    pto_status_t status = bytes > 0 ? device->copy(&move, user->stream, err) : PTO_OK;
    return status == PTO_OK ? pto_exec_follow(exec, user->stream, err) : status;
}

/* Poisoned output, fresh input: in this order, as they may be the same. */
static pto_status_t refresh(const case_t *test, const pto_device_t *device, pto_exec_t *exec,
                            const case_user_t *user, uint64_t seed, pto_error_t *err) {
    reference_host_fill(seed, user->owner, &user->second);
    if (test->request.collective == PTO_COLLECTIVE_HALO) /* in place */
        reference_fill(&test->request, test->op, seed, user->owner, user->host, user->out_bytes);
    else
        memset(user->host, POISON, (size_t)user->out_bytes);
    pto_status_t status = pto_device_copy(device, user->out, user->host, (size_t)user->out_bytes, err);
    reference_fill(&test->request, test->op, seed, user->owner, user->host, user->in_bytes);
    if (status != PTO_OK)
        return status;
    return test->follows ? put_later(device, exec, user, err)
                         : pto_device_copy(device, user->in, user->host, (size_t)user->in_bytes, err);
}

static void rebind(const case_t *test, pto_exec_t *exec, case_user_t *user) {
    pto_error_t err = {0};
    void *in = user->in, *out = user->out;
    user->in = user->other_in;
    user->out = user->other_out;
    user->other_in = in;
    user->other_out = out;
    if (pto_exec_rebind(exec, user->in, user->out, &err) != PTO_OK)
        case_die(test, &err);
}

/* The user's allocations, of which a process may have none. */
static void register_buffers(const case_t *test, pto_exec_t *exec, const case_user_t *user) {
    pto_error_t err = {0};
    int64_t out = user->out_bytes, in = user->in_bytes > out ? user->in_bytes : out;
    const struct {
        void *memory;
        int64_t bytes;
    } area[] = {{user->in, in}, {user->out, out}, {user->other_in, in}, {user->other_out, out}};
    for (int i = 0; i < 4; i++) {
        bool twice = test->in_place && i % 2;
        void *memory = twice || area[i].bytes == 0 ? NULL : area[i].memory;
        int number = -1;
        if (pto_register(exec, memory, memory ? (size_t)area[i].bytes : 0, &number, &err) != PTO_OK)
            case_die(test, &err);
        /* Registered again, under another number. */
        if (i == 3 &&
            (pto_unregister(exec, number, &err) != PTO_OK ||
             pto_register(exec, memory, memory ? (size_t)area[i].bytes : 0, &number, &err) != PTO_OK))
            case_die(test, &err);
    }
}

static void run_checked(const case_t *test, const pto_device_t *device, pto_exec_t *exec,
                        const case_user_t *user, uint64_t seed) {
    pto_error_t err = {0};
    bool owns = user->owner >= 0;
    pto_status_t status = owns ? refresh(test, device, exec, user, seed, &err) : PTO_OK;
    if (status == PTO_OK)
        status = run_once(test, exec, &err);
    if (status == PTO_OK && owns)
        status = pto_device_copy(device, user->host, user->out, (size_t)user->out_bytes, &err);
    if (status == PTO_OK && owns)
        status =
            reference_compare(&test->request, test->op, seed, user->owner, user->host, user->out_bytes, &err);
    if (status == PTO_OK && owns)
        status = reference_host_compare(&test->request, seed, user->owner, &user->second, &err);
    if (status != PTO_OK)
        case_die(test, &err);
}

/* An MPI library that does not reach the device's memory; NCCL that is not there, or too few GPUs for it. The
 * host device has all of it. */
static bool may_not_apply(const case_t *test, const pto_device_t *device, const pto_error_t *err) {
    bool stand_in = strcmp(device->name, "host") == 0;
    return strstr(err->message, "does not accept device pointers") ||
           (test->request.strategy->nccl && !stand_in);
}

/* A policy chooses once in every run. Of the first two members one takes each branch; one that learns tries
 * every number twice before it chooses. It learns nothing from a run in which no task of a branch waited. */
static void check_choices(const case_t *test, const pto_exec_t *exec, int64_t runs) {
    bool doubles = strcmp(test->request.strategy->name, "mix_doubling") == 0;
    const int64_t timed_max = runs > 0 ? runs - 1 : 0; /* the first is not */
    pto_exec_choices_t chosen;
    for (int i = 0; pto_exec_choices(exec, i, &chosen); i++) {
        int64_t sum = 0, least = runs;
        for (int number = 0; number <= chosen.members; number++) {
            sum += chosen.runs[number];
            least = chosen.runs[number] < least ? chosen.runs[number] : least;
        }
        bool right = sum == runs && (runs == 0 || chosen.runs[chosen.last] > 0);
        if (doubles)
            right = right && chosen.runs[chosen.members] == 0 && (chosen.members == 1 || chosen.runs[0] == 0);
        else
            right =
                right && chosen.timed <= timed_max && (least >= 2 || chosen.timed < 2 * (chosen.members + 1));
        pto_error_t err;
        if (right)
            continue;
        pto_error_set(
            &err, PTO_ERR_IO,
            "either node %d: %lld choices in %lld runs, %lld of them timed, at least %lld of each number", i,
            (long long)sum, (long long)runs, (long long)chosen.timed, (long long)least);
        case_die(test, &err);
    }
}

/* An allgatherv's output is that of MPI_Allgatherv, called with what each process has. */
static void compare_with_mpi(const case_t *test, MPI_Comm comm, const case_user_t *user, uint64_t seed) {
    MPI_Comm owners = MPI_COMM_NULL;
    pto_error_t err = {0};
    int count[CASE_PROCESSES_MAX], place[CASE_PROCESSES_MAX] = {0}, size = 0, in_bytes = (int)user->in_bytes;
    MPI_Comm_split(comm, user->owner >= 0 ? 0 : MPI_UNDEFINED, (int)user->owner, &owners);
    if (user->owner < 0)
        return;
    char *in = malloc((size_t)user->in_bytes + 1), *out = malloc((size_t)user->out_bytes + 1);
    if (!in || !out)
        case_die(test, &err);
    reference_fill(&test->request, test->op, seed, user->owner, in, user->in_bytes);
    MPI_Comm_size(owners, &size);
    MPI_Allgather(&in_bytes, 1, MPI_INT, count, 1, MPI_INT, owners);
    for (int i = 1; i < size; i++)
        place[i] = place[i - 1] + count[i - 1];
    MPI_Allgatherv(in, in_bytes, MPI_BYTE, out, count, place, MPI_BYTE, owners);
    MPI_Comm_free(&owners);
    pto_error_set(&err, PTO_ERR_RANGE, "owner %lld has not what MPI_Allgatherv gives it",
                  (long long)user->owner);
    if (place[size - 1] + count[size - 1] != user->out_bytes ||
        (user->out_bytes > 0 && memcmp(out, user->host, (size_t)user->out_bytes) != 0))
        case_die(test, &err);
    free(in);
    free(out);
}

bool case_run(const case_t *test, const pto_plan_t *plan, MPI_Comm comm, const pto_device_t *device,
              int64_t runs) {
    pto_error_t err = {0};
    pto_exec_t *exec = NULL;
    case_user_t user;
    pto_status_t status = case_open(test, plan, comm, device, &user, &exec, &err);
    bool applies = status == PTO_OK;
    if (!applies && !(status == PTO_ERR_NOT_APPLICABLE && may_not_apply(test, device, &err)))
        case_die(test, &err);
    if (applies && test->rebinds && test->registers && !test->plain_memory && !test->request.layout.in_host &&
        !test->request.ends.from_host && !test->request.ends.to_host)
        register_buffers(test, exec, &user);
    MPI_Pcontrol(1); /* a profiler counts the runs alone */
    for (int64_t run = 0; applies && run < runs; run++) {
        if (test->rebinds && run > 0)
            rebind(test, exec, &user);
        run_checked(test, device, exec, &user, (uint64_t)run + 1);
        MPI_Pcontrol(0);
        if (test->request.collective == PTO_COLLECTIVE_ALLGATHERV)
            compare_with_mpi(test, comm, &user, (uint64_t)run + 1);
        MPI_Pcontrol(1);
    }
    MPI_Pcontrol(0);
    if (applies)
        check_choices(test, exec, runs);
    pto_exec_destroy(exec);
    case_user_free(test, device, &user);
    return applies;
}
