/* Chooses how all calls of a key are executed. Every strategy is priced on the communicator's layout. The
 * cheapest one whose executor can be created here becomes the route.
 *
 * Other processes never open the program's memory, which it may free at any time. A buffer that they access
 * is the route's own, and each call copies data between it and the program's. Prices include these copies. */
#include <stdlib.h>
#include <string.h>

#include "decide/candidates.h"
#include "dropin.h"
#include "environment.h"
#include "mpi_team.h"
#include "portolan/strategy.h"

/* Collective. Gathers an alltoallv's matrix of bytes from each process to each. Clears `*valid` if this
 * process expects other sizes than the others send it. */
static pto_status_t gather_counts(const drop_comm_t *comm, const drop_call_t *call, pto_counts_t *counts,
                                  bool *valid, pto_error_t *err) {
    int n = comm->size;
    const drop_counts_t *sent = call->in == MPI_IN_PLACE ? &call->out_counts : &call->in_counts;
    MPI_Datatype type = call->in == MPI_IN_PLACE ? call->out_type : call->in_type;
    int64_t *row = calloc((size_t)n, sizeof *row);
    counts->matrix = calloc((size_t)n * (size_t)n, sizeof *counts->matrix);
    pto_status_t status =
        row && counts->matrix ? PTO_OK : pto_error_set(err, PTO_ERR_MEMORY, "out of memory for counts");
    status = pto_mpi_agree(comm->comm, status, err);
    if (status == PTO_OK && row && counts->matrix) {
        for (int i = 0; i < n; i++)
            row[i] = drop_peer_bytes(sent, type, i);
        counts->kind = PTO_COUNTS_MATRIX;
        counts->order = n;
        status = PTO_MPI(MPI_Allgather(row, n, MPI_INT64_T, counts->matrix, n, MPI_INT64_T, comm->comm), err);
        for (int i = 0; i < n; i++)
            *valid &=
                counts->matrix[i * n + comm->rank] == drop_peer_bytes(&call->out_counts, call->out_type, i) &&
                row[i] >= 0;
    }
    free(row);
    return status;
}

/* Lists the bytes of each process in an allgatherv. */
static pto_status_t list_counts(const drop_comm_t *comm, const drop_call_t *call, pto_counts_t *counts,
                                pto_error_t *err) {
    counts->matrix = calloc((size_t)comm->size, sizeof *counts->matrix);
    if (!counts->matrix)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for counts");
    counts->kind = PTO_COUNTS_LIST;
    counts->order = comm->size;
    for (int i = 0; i < comm->size; i++)
        counts->matrix[i] = drop_peer_bytes(&call->out_counts, call->out_type, i);
    return PTO_OK;
}

pto_status_t drop_fill_scenario(const drop_layout_t *layout, const drop_key_t *key, pto_scenario_t *scenario,
                                pto_error_t *err) {
    pto_ask_t ask = {.collective = pto_collective_name(key->collective),
                     .datatype = pto_datatype_name(key->datatype),
                     .bytes = key->bytes,
                     .nodes = layout->nodes};
    scenario->in_place = key->in_place || key->collective == PTO_COLLECTIVE_BROADCAST;
    if (key->in_host) {
        ask.procs_per_node = layout->gpus_per_node;
    } else {
        ask.gpus_per_node = layout->gpus_per_node;
        ask.procs_per_gpu = scenario->layout.owners_per_gpu = layout->procs_per_gpu;
    }
    if (drop.strategy) {
        scenario->strategy = calloc(1, sizeof *scenario->strategy);
        if (scenario->strategy)
            scenario->strategy[0] = strdup(drop.strategy);
        scenario->strategy_count = scenario->strategy && scenario->strategy[0];
        if (scenario->strategy_count == 0)
            return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a scenario");
    }
    return pto_bind_cell(&ask, drop.machine, scenario, err);
}

static int64_t user_bytes(const pto_plan_t *plan, int64_t logical, int side) {
    return pto_exec_user_bytes(plan, logical, side == 0 ? PTO_ROLE_IN : PTO_ROLE_OUT);
}

/* Returns whether the route's buffers can be in host memory that is not shared. */
static bool is_private(const drop_route_t *route) {
    return route->method == DROP_STAGED || route->key.in_host;
}

static void release_plan(drop_route_t *route) {
    bool private = is_private(route);
    if (route->buffer[1] == route->buffer[0])
        route->buffer[1] = NULL;
    for (int side = 0; side < 2; side++)
        if (route->buffer[side])
            (private ? route->device->release_staging : route->device->release)(route->buffer[side], NULL);
    if (route->stream)
        route->device->stream_destroy(route->stream, NULL);
    pto_plan_destroy(route->plan);
    route->buffer[0] = route->buffer[1] = route->stream = NULL;
    route->plan = NULL;
}

static pto_status_t allocate(drop_route_t *route, int64_t logical, pto_error_t *err) {
    bool private = is_private(route);
    pto_status_t status = route->device->stream_create(&route->stream, err);
    for (int side = 0; side < 2 && status == PTO_OK; side++) {
        size_t bytes = (size_t)(route->buffer_bytes[side] = user_bytes(route->plan, logical, side));
        if (side == 1 && bytes > 0 && route->scenario.in_place && route->method != DROP_STAGED &&
            route->buffer[0])
            route->buffer[1] = route->buffer[0];
        else if (bytes > 0)
            status = (private ? route->device->allocate_staging
                              : route->device->allocate)(bytes, &route->buffer[side], err);
    }
    return status;
}

/* Returns the largest size of a process's buffer on one side, or on both together (-1). If blocks are equal,
 * it suffices to look at the first GPU, which is the root's, and at any other one. */
static int64_t largest_bytes(const pto_plan_t *plan, int side) {
    const pto_request_t *request = pto_plan_request(plan);
    int64_t largest = 0, count = pto_layout_rank_count(&request->layout);
    int64_t different = 2 * request->layout.procs_per_gpu;
    if (!(request->counts && pto_counts_differ(request->counts)) && different < count)
        count = different;
    for (int64_t rank = 0; rank < count; rank++) {
        int64_t bytes =
            (side != 1 ? user_bytes(plan, rank, 0) : 0) + (side != 0 ? user_bytes(plan, rank, 1) : 0);
        largest = bytes > largest ? bytes : largest;
    }
    return largest;
}

/* Strategies that consist of one call of MPI's own collective need no plan: MPI's function is called on the
 * program's buffers, or on copies of them in host memory. */
static drop_method_t method_of(const pto_strategy_t *strategy, pto_collective_t collective) {
    if (strcmp(strategy->name, "cuda_aware") == 0 || strcmp(strategy->name, "mpi") == 0)
        return DROP_BY_MPI;
    bool has_rows = collective == PTO_COLLECTIVE_ALLTOALLV || collective == PTO_COLLECTIVE_ALLGATHERV;
    bool copies_whole = strcmp(strategy->name, "three_step") == 0 && !has_rows;
    return copies_whole ? DROP_STAGED : DROP_BY_PLAN;
}

/* Collective. Frees what create_for made. */
static void destroy_executor(drop_route_t *route) {
    pto_exec_destroy(route->exec);
    route->exec = NULL;
    release_plan(route);
}

/* Collective. Finds the sides on which the executor can use the program's buffers. The processes must agree:
 * one without a buffer cannot know whether the others' are accessed. */
static pto_status_t find_direct_sides(const drop_comm_t *comm, const drop_call_t *call, drop_route_t *route,
                                      pto_error_t *err) {
    int direct[2], all[2];
    for (int side = 0; side < 2; side++)
        direct[side] = !route->permuted[side] && drop_call_packed(call, side, comm->size) &&
                       pto_exec_user_is_private(route->exec, side == 0 ? PTO_ROLE_IN : PTO_ROLE_OUT);
    pto_status_t status = PTO_MPI(MPI_Allreduce(direct, all, 2, MPI_INT, MPI_MIN, comm->comm), err);
    for (int side = 0; side < 2; side++)
        route->direct[side] = status == PTO_OK && all[side];
    return status;
}

/* Returns whether a side has a block for each process, and their order differs between program and plan. */
static bool is_permuted(const drop_comm_t *comm, const drop_key_t *key, int side) {
    int64_t blocks = (side == 0 ? pto_collective_blocks_in : pto_collective_blocks_out)(key->collective, 2);
    return blocks > 1 && !drop_layout_for(comm, key)->in_order;
}

/* Creates the plan, its buffers, and the table of logical ranks, which the caller frees in any case. */
static pto_status_t create_plan(const drop_comm_t *comm, drop_route_t *route, const pto_strategy_t *strategy,
                                int64_t **table, pto_error_t *err) {
    pto_price_t price;
    *table = calloc((size_t)comm->size, sizeof **table);
    if (!*table)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
    pto_status_t status =
        pto_plan_choose(&route->scenario, drop.machine, 0, strategy, &route->plan, &price, NULL, err);
    if (status != PTO_OK)
        return status;
    route->footprint_bytes = largest_bytes(route->plan, -1);
    if (route->footprint_bytes > drop.bytes_max)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "its buffers are larger than PORTOLAN_MEMORY");
    drop_comm_table(comm, drop_layout_for(comm, &route->key), route->key.root, *table);
    return allocate(route, (*table)[comm->rank], err);
}

/* Collective. Creates what the route needs for a strategy. Errors are the same on all processes. */
static pto_status_t create_for(drop_comm_t *comm, const drop_call_t *call, drop_route_t *route,
                               const pto_strategy_t *strategy, pto_error_t *err) {
    pto_exec_options_t options = {.placement = PTO_PLACEMENT_TABLE, .timeout_s = -1};
    int64_t *table = NULL;
    route->method = method_of(strategy, route->key.collective);
    for (int side = 0; side < 2; side++)
        route->permuted[side] = is_permuted(comm, &route->key, side) && route->method == DROP_BY_PLAN;
    pto_status_t status = pto_mpi_agree(comm->comm, create_plan(comm, route, strategy, &table, err), err);
    options.table = table;
    if (status == PTO_OK && route->method == DROP_BY_PLAN)
        status = drop_comm_open(comm, err);
    if (status == PTO_OK && route->method == DROP_BY_PLAN)
        status = pto_exec_create_in(route->plan, comm->team, route->device, route->buffer[0],
                                    route->buffer[1], route->key.op, &options, &route->exec, err);
    free(table);
    if (status == PTO_OK && route->exec)
        status = find_direct_sides(comm, call, route, err);
    if (status != PTO_OK)
        destroy_executor(route);
    return status;
}

/* Returns how many strided copies bring all blocks of a side into the other order. */
static int count_copies(const drop_layout_t *layout, int size) {
    int copies = 0, rank_stride;
    for (int place = 0; place < size; copies++)
        place += drop_layout_blocks(layout, size, place, &rank_stride);
    return copies;
}

static double parameter_of(const char *key) {
    double cost = 0;
    return pto_machine_get(drop.machine, key, &cost, NULL) == PTO_OK ? cost : 0;
}

/* Returns the longest time that a process takes to copy the buffers that the executor cannot use directly. */
static double copies_s(const drop_comm_t *comm, const drop_route_t *route) {
    static const char *const of_gpu[] = {"copies.d2d.on_socket.alpha_s",
                                         "copies.d2d.on_socket.beta_s_per_byte"};
    static const char *const of_host[] = {"copies.h2h.on_socket.alpha_s",
                                          "copies.h2h.on_socket.beta_s_per_byte"};
    const char *const *key = route->key.in_host ? of_host : of_gpu;
    double seconds = 0;
    for (int side = 0; side < 2 && route->exec; side++) {
        int64_t largest = largest_bytes(route->plan, side);
        if (!route->direct[side] && largest > 0)
            seconds += parameter_of(key[0]) + parameter_of(key[1]) * (double)largest;
        if (route->permuted[side])
            seconds += (count_copies(drop_layout_for(comm, &route->key), comm->size) - 1) *
                       parameter_of("copies.queued.d2d");
    }
    return seconds;
}

enum { STRATEGIES_MAX = 256 };

/* Collective. Process 0 chooses for all, since prices may differ in the last bit. -1: MPI. On host buffers,
 * the gain must exceed the intervals of the prices. */
static int choose(const drop_comm_t *comm, const drop_route_t *route, const pto_predictions_t *predictions) {
    int best = drop.misprices ? -1 : pto_pick_at(predictions, 0);
    bool by_mpi = best < 0 || method_of(predictions->strategy[best], route->key.collective) == DROP_BY_MPI;
    if (by_mpi || (route->key.in_host && !drop_host_gains(comm, predictions)))
        best = -1;
    if (PTO_MPI(MPI_Bcast(&best, 1, MPI_INT, 0, comm->comm), NULL) != PTO_OK)
        return -1;
    return best;
}

/* Returns whether MPI on copies in host memory is known to be cheaper than MPI on the GPU buffers. Sets the
 * route's predicted time to that of the copies. */
static bool prefers_staging(drop_route_t *route, const pto_predictions_t *predictions) {
    for (int i = 0; i < predictions->strategy_count; i++) {
        const pto_prediction_t *prediction = pto_prediction_at(predictions, 0, i);
        if (prediction->applicable &&
            method_of(predictions->strategy[i], route->key.collective) == DROP_STAGED)
            route->predicted_s = prediction->price.seconds;
    }
    if (route->predicted_s <= 0)
        return false;
    return drop.strategy || (route->library_s > 0 && route->predicted_s < route->library_s);
}

static void leave_to_mpi(drop_route_t *route) {
    route->method = DROP_BY_MPI;
    route->name = "mpi";
    route->predicted_s = route->library_s;
    route->footprint_bytes = 0;
}

static void add_copies(const drop_comm_t *comm, const drop_route_t *route, pto_price_t *price) {
    double seconds = copies_s(comm, route);
    price->seconds += seconds;
    price->low_s += seconds;
    price->high_s += seconds;
}

/* Sets the route's price of MPI's own collective. */
static void find_library(drop_route_t *route, const pto_predictions_t *predictions) {
    for (int i = 0; i < predictions->strategy_count; i++)
        if (method_of(predictions->strategy[i], route->key.collective) == DROP_BY_MPI)
            route->library_s = pto_prediction_at(predictions, 0, i)->price.seconds;
}

/* Collective. Tries the strategies from the cheapest on. Only its executor tells which copies a strategy
 * needs. Their price is then added, and another strategy may be cheaper than the sum. */
static void create_cheapest(drop_comm_t *comm, const drop_call_t *call, drop_route_t *route,
                            pto_predictions_t *predictions) {
    pto_error_t err;
    bool includes_copies[STRATEGIES_MAX] = {false}; /* of each price */
    if (!predictions->strategy || predictions->strategy_count > STRATEGIES_MAX)
        return;
    for (int best = choose(comm, route, predictions); best >= 0;) {
        pto_prediction_t *prediction = &predictions->prediction[best];
        pto_status_t status = create_for(comm, call, route, predictions->strategy[best], &err);
        if (status == PTO_OK) {
            if (!includes_copies[best])
                add_copies(comm, route, &prediction->price);
            includes_copies[best] = true;
            route->name = predictions->strategy[best]->name;
            route->predicted_s = prediction->price.seconds;
            int again = choose(comm, route, predictions);
            if (again == best)
                return;
            destroy_executor(route);
            best = again;
            continue;
        }
        if (!comm->why_not && (status != PTO_ERR_NOT_APPLICABLE || drop.strategy))
            preload_say("%s of %lld bytes by %s is left out: %s", pto_collective_name(route->key.collective),
                        (long long)route->key.bytes, predictions->strategy[best]->name, err.message);
        prediction->applicable = false;
        best = choose(comm, route, predictions);
    }
    leave_to_mpi(route);
}

/* Returns whether a plan can handle the communicator's order of processes. A plan's blocks are in the order
 * of places; only equal blocks on GPUs can be copied between that order and that of ranks. */
static bool fits_order(const drop_comm_t *comm, const drop_key_t *key) {
    bool by_rank = !pto_collective_is_vector(key->collective);
    return drop_layout_for(comm, key)->in_order || !by_rank || (!key->in_host && key->counts == 0);
}

/* Creates a route that leaves all calls to MPI. NULL: out of memory. */
static drop_route_t *new_route(const drop_key_t *key) {
    drop_route_t *made = calloc(1, sizeof *made);
    if (!made)
        return NULL;
    made->key = *key;
    made->device = key->in_host ? drop.host_device : drop.device;
    made->context = key->in_host ? NULL : drop_gpu_context();
    leave_to_mpi(made);
    pto_scenario_init(&made->scenario);
    return made;
}

drop_route_t *drop_route_create(drop_comm_t *comm, const drop_call_t *call, const drop_key_t *key) {
    drop_route_t *made = new_route(key);
    pto_predictions_t predictions = {0};
    pto_error_t err;
    bool valid = true;
    pto_status_t status =
        pto_mpi_agree(comm->comm, made ? PTO_OK : pto_error_set(&err, PTO_ERR_MEMORY, "out of memory"), &err);
    if (status != PTO_OK || !made) {
        free(made);
        return NULL;
    }
    if (!fits_order(comm, key))
        return made;
    if (key->collective == PTO_COLLECTIVE_ALLTOALLV)
        status = gather_counts(comm, call, &made->scenario.counts, &valid, &err);
    else if (key->collective == PTO_COLLECTIVE_ALLGATHERV)
        status = list_counts(comm, call, &made->scenario.counts, &err);
    if (status == PTO_OK && !valid)
        status = pto_error_set(&err, PTO_ERR_RANGE, "counts do not match");
    if (status == PTO_OK)
        status = drop_fill_scenario(drop_layout_for(comm, key), key, &made->scenario, &err);
    if (status == PTO_OK)
        status = pto_predict(&made->scenario, drop.machine, key->in_host, &predictions, &err);
    status = pto_mpi_agree(comm->comm, status, &err);
    if (status == PTO_OK) {
        find_library(made, &predictions);
        create_cheapest(comm, call, made, &predictions);
    }
    pto_predictions_fini(&predictions);
    return made;
}

static pto_status_t create_staged(const drop_comm_t *comm, drop_route_t *route, pto_error_t *err) {
    const pto_strategy_t *strategy;
    int64_t *table = NULL;
    pto_status_t status = pto_strategy_find("three_step", &strategy, err);
    if (status != PTO_OK)
        return status;
    route->method = DROP_STAGED;
    route->name = strategy->name;
    status = create_plan(comm, route, strategy, &table, err);
    free(table);
    return status;
}

drop_route_t *drop_route_create_alone(const drop_comm_t *comm, const drop_key_t *key) {
    drop_route_t *made = new_route(key);
    pto_predictions_t predictions = {0};
    pto_error_t err;
    if (!made)
        return NULL;
    pto_status_t status = drop_fill_scenario(&comm->gpus, key, &made->scenario, &err);
    if (status == PTO_OK)
        status = pto_predict(&made->scenario, drop.machine, false, &predictions, &err);
    if (status == PTO_OK)
        find_library(made, &predictions);
    bool stages = status == PTO_OK && prefers_staging(made, &predictions);
    pto_predictions_fini(&predictions);
    if (!stages || create_staged(comm, made, &err) != PTO_OK) {
        release_plan(made);
        leave_to_mpi(made);
    }
    return made;
}

void drop_route_leave(drop_route_t *route) {
    bool entered = drop_gpu_enter_again(route->context);
    destroy_executor(route);
    if (entered)
        drop_gpu_leave();
    leave_to_mpi(route);
}

/* A program may free a communicator in a thread without a current GPU, or with another one. Without
 * drop_gpu_enter_again, CUDA's runtime would then create a context on GPU 0. */
void drop_route_destroy(drop_route_t *route) {
    bool entered = drop_gpu_enter_again(route->context);
    pto_exec_destroy(route->exec);
    release_plan(route);
    if (entered)
        drop_gpu_leave();
    pto_scenario_fini(&route->scenario);
    free(route);
}
