/* Families of calls whose messages are known from their arguments. All processes draw the same numbers. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "exec_case.h"
#include "profile_expect.h"
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

/* Open MPI 4 has persistent collectives with a prefix of their own. */
#if MPI_VERSION >= 4
#define PERSISTENT(name) MPI_##name
#elif defined OMPI_HAVE_MPI_EXT_PCOLLREQ
#define PERSISTENT(name) MPIX_##name
#endif

enum { COUNT_MAX = 8, BLOCKS = RANKS_MAX * COUNT_MAX, STARTS = 3 };

/* --- what all collectives share ------------------------------------------------------------------------- */

typedef enum { BLOCKING, NON_BLOCKING, PERSISTENT_FORM, LARGE, FORMS } form_t;

/* Of one call: the counts, and the spaces of what each process gives and gets. */
typedef struct {
    int counts[RANKS_MAX][RANKS_MAX]; /* what i gives to j */
    int from[RANKS_MAX];
    int to[RANKS_MAX];
    int root;
    form_t form;
} draw_t;

static form_t draw_form(void) {
    form_t form = (form_t)case_random_below(FORMS);
#ifndef PERSISTENT
    if (form == PERSISTENT_FORM)
        form = NON_BLOCKING;
#endif
#if MPI_VERSION < 4
    if (form == LARGE)
        form = BLOCKING;
#endif
    return form;
}

static draw_t draw_call(void) {
    draw_t call = {.root = (int)case_random_below(size), .form = draw_form()};
    for (int i = 0; i < size; i++) {
        call.from[i] = (int)case_random_below(memory_spaces());
        call.to[i] = (int)case_random_below(memory_spaces());
        for (int j = 0; j < size; j++)
            call.counts[i][j] = (int)case_random_below(COUNT_MAX);
    }
    return call;
}

static int *input_of(const draw_t *call) { return (int *)(void *)memory[call->from[rank]]; }
static int *output_of(const draw_t *call) { return (int *)(void *)memory[call->to[rank]] + BLOCKS; }

/* A block of ints of this process. */
static void expect_block(const draw_t *call, int destination, int count) {
    int64_t runs = call->form == PERSISTENT_FORM ? STARTS : 1;
    if (count > 0)
        expect(rank, destination, call->from[rank], call->to[destination], runs, runs * count * 4);
}

static void complete(form_t form, MPI_Request *request) {
    for (int i = 0; form == PERSISTENT_FORM && i < STARTS; i++) {
        MPI_Start(request);
        MPI_Wait(request, MPI_STATUS_IGNORE);
    }
    if (form == PERSISTENT_FORM)
        MPI_Request_free(request);
    if (form == NON_BLOCKING)
        MPI_Wait(request, MPI_STATUS_IGNORE);
}

/* A collective in the form that was drawn; the last of its arguments is the communicator. */
#ifdef PERSISTENT
#define START_PERSISTENT(name, ...) PERSISTENT(name##_init)(__VA_ARGS__, MPI_INFO_NULL, &request)
#else
#define START_PERSISTENT(name, ...) (void)0
#endif
#define CALL_SMALL(form, name, iname, ...)                                                                   \
    do {                                                                                                     \
        MPI_Request request = MPI_REQUEST_NULL;                                                              \
        if ((form) == NON_BLOCKING)                                                                          \
            MPI_##iname(__VA_ARGS__, &request);                                                              \
        else if ((form) == PERSISTENT_FORM)                                                                  \
            START_PERSISTENT(name, __VA_ARGS__);                                                             \
        else                                                                                                 \
            MPI_##name(__VA_ARGS__);                                                                         \
        complete(form, &request);                                                                            \
    } while (0)

/* --- alltoalls, gathers and scatters -------------------------------------------------------------------- */

typedef enum { ALLTOALL, ALLTOALLV, GATHERV, GATHERV_IN_PLACE, SCATTER, SCATTERV, EXACT } exact_t;
enum { EQUAL = 3 }; /* the count of equal blocks */

#if MPI_VERSION >= 4
static void widen(const int *counts, const int *places, MPI_Count *wide, MPI_Aint *wide_places) {
    for (int i = 0; i < size; i++) {
        wide[i] = counts[i];
        wide_places[i] = places[i];
    }
}

static void alltoallv_large(const draw_t *call, const int *out, const int *in, const int *place) {
    MPI_Count wide_out[RANKS_MAX], wide_in[RANKS_MAX];
    MPI_Aint wide_place[RANKS_MAX];
    widen(out, place, wide_out, wide_place);
    widen(in, place, wide_in, wide_place);
    MPI_Alltoallv_c(input_of(call), wide_out, wide_place, MPI_INT, output_of(call), wide_in, wide_place,
                    MPI_INT, MPI_COMM_WORLD);
}
#endif

static void run_exact(exact_t which) {
    draw_t call = draw_call();
    int in[RANKS_MAX], out[RANKS_MAX], place[RANKS_MAX], root = call.root;
    int *from = input_of(&call), *to = output_of(&call);
    bool to_all = which == ALLTOALL || which == ALLTOALLV, equal = which == ALLTOALL || which == SCATTER;
    bool to_root = which == GATHERV || which == GATHERV_IN_PLACE;
    for (int i = 0; i < size; i++) {
        bool sends = to_all || (to_root ? i == root : rank == root);
        in[i] = to_all ? call.counts[i][rank] : call.counts[i][root];
        out[i] = to_all ? call.counts[rank][i] : call.counts[root][i];
        place[i] = i * COUNT_MAX;
        if (i != rank && sends)
            expect_block(&call, i, equal ? EQUAL : call.counts[rank][i]);
    }
    switch (which) {
    case ALLTOALL:
        CALL_SMALL(call.form, Alltoall, Ialltoall, from, EQUAL, MPI_INT, to, EQUAL, MPI_INT, MPI_COMM_WORLD);
        break;
    case GATHERV:
    case GATHERV_IN_PLACE:
        CALL_SMALL(call.form, Gatherv, Igatherv,
                   which == GATHERV_IN_PLACE && rank == root ? MPI_IN_PLACE : from, in[rank], MPI_INT, to, in,
                   place, MPI_INT, root, MPI_COMM_WORLD);
        break;
    case SCATTER:
        CALL_SMALL(call.form, Scatter, Iscatter, from, EQUAL, MPI_INT, to, EQUAL, MPI_INT, root,
                   MPI_COMM_WORLD);
        break;
    case SCATTERV:
        CALL_SMALL(call.form, Scatterv, Iscatterv, from, out, place, MPI_INT, to, out[rank], MPI_INT, root,
                   MPI_COMM_WORLD);
        break;
    default:
#if MPI_VERSION >= 4
        if (call.form == LARGE) {
            alltoallv_large(&call, out, in, place);
            break;
        }
#endif
        CALL_SMALL(call.form, Alltoallv, Ialltoallv, from, out, place, MPI_INT, to, in, place, MPI_INT,
                   MPI_COMM_WORLD);
    }
}

static void run_collectives(int64_t count) {
    for (int64_t i = 0; i < count; i++)
        run_exact((exact_t)(i % EXACT));
}

/* --- neighbors ------------------------------------------------------------------------------------------ */

/* Who sends to whom, in the order of their ranks. */
typedef struct {
    MPI_Comm comm;
    int in_count;
    int out_count;
    int in[RANKS_MAX];
    int out[RANKS_MAX];
} graph_t;

static graph_t draw_graph(void) {
    static const int weights[RANKS_MAX];
    graph_t graph = {.in_count = 0};
    for (int i = 0; i < size; i++)
        for (int j = 0; j < size; j++) {
            bool edge = case_random_below(2) == 1;
            if (edge && i == rank)
                graph.out[graph.out_count++] = j;
            if (edge && j == rank)
                graph.in[graph.in_count++] = i;
        }
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, graph.in_count, graph.in, weights, graph.out_count,
                                   graph.out, weights, MPI_INFO_NULL, 0, &graph.comm);
    return graph;
}

/* A ring, each process being a neighbor of two: to the left first. */
static graph_t make_ring(void) {
    graph_t graph = {.in_count = 2, .out_count = 2};
    int periodic = 1;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &graph.comm);
    graph.in[0] = graph.out[0] = (rank + size - 1) % size;
    graph.in[1] = graph.out[1] = (rank + 1) % size;
    return graph;
}

static void neighbor_alltoallw(const draw_t *call, const graph_t *graph, const int *out, const int *in) {
    MPI_Aint place[RANKS_MAX];
    MPI_Datatype types[RANKS_MAX];
    for (int i = 0; i < RANKS_MAX; i++) {
        place[i] = 4 * i * COUNT_MAX;
        types[i] = MPI_INT;
    }
    CALL_SMALL(call->form, Neighbor_alltoallw, Ineighbor_alltoallw, input_of(call), out, place, types,
               output_of(call), in, place, types, graph->comm);
}

/* `which`: with counts, with counts and types, equal blocks, or the same block for all. */
static void run_neighbors_on(const graph_t *graph, int which) {
    draw_t call = draw_call();
    int in[RANKS_MAX], out[RANKS_MAX], place[RANKS_MAX], *from = input_of(&call), *to = output_of(&call);
    for (int i = 0; i < RANKS_MAX; i++)
        place[i] = i * COUNT_MAX;
    for (int i = 0; i < graph->in_count; i++)
        in[i] = call.counts[graph->in[i]][which < 2 ? rank : graph->in[i]];
    for (int i = 0; i < graph->out_count; i++) {
        out[i] = which == 2 ? 3 : call.counts[rank][which < 2 ? graph->out[i] : rank];
        expect_block(&call, graph->out[i], out[i]);
    }
    if (which == 0)
        CALL_SMALL(call.form, Neighbor_alltoallv, Ineighbor_alltoallv, from, out, place, MPI_INT, to, in,
                   place, MPI_INT, graph->comm);
    else if (which == 1)
        neighbor_alltoallw(&call, graph, out, in);
    else if (which == 2)
        CALL_SMALL(call.form, Neighbor_alltoall, Ineighbor_alltoall, from, 3, MPI_INT, to, 3, MPI_INT,
                   graph->comm);
    else
        CALL_SMALL(call.form, Neighbor_allgatherv, Ineighbor_allgatherv, from, call.counts[rank][rank],
                   MPI_INT, to, in, place, MPI_INT, graph->comm);
}

static void run_neighbors(int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        graph_t graph = i % 2 ? make_ring() : draw_graph();
        for (int which = 0; which < 4; which++)
            run_neighbors_on(&graph, which);
        MPI_Comm_free(&graph.comm);
    }
}

/* --- persistent messages -------------------------------------------------------------------------------- */

static void run_persistent(int64_t count) {
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    for (int64_t i = 0; i < count; i++) {
        draw_t call = draw_call();
        int bytes = 4 * call.counts[0][0], starts = (int)case_random_below(4);
        MPI_Request request[2];
        MPI_Recv_init(output_of(&call), BLOCKS, MPI_INT, i % 2 ? previous : MPI_ANY_SOURCE, 5, MPI_COMM_WORLD,
                      &request[0]);
        MPI_Ssend_init(input_of(&call), bytes, MPI_BYTE, next, 5, MPI_COMM_WORLD, &request[1]);
        for (int run = 0; run < starts; run++) {
            MPI_Startall(2, request);
            MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
        }
        if (starts > 0)
            expect(rank, next, call.from[rank], call.to[next], starts, (int64_t)starts * bytes);
        MPI_Request_free(&request[0]);
        MPI_Request_free(&request[1]);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* --- one-sided ------------------------------------------------------------------------------------------ */

/* A window of each space, on a communicator that counts backwards. */
typedef struct {
    MPI_Win window;
    int space[RANKS_MAX]; /* by rank in MPI_COMM_WORLD */
} exposed_t;

static void expect_write_to(const exposed_t *exposed, int target, int from, int64_t bytes) {
    if (bytes > 0)
        expect(rank, target, from, exposed->space[target], 1, bytes);
}

static void expect_read_of(const exposed_t *exposed, int target, int to, int64_t bytes) {
    if (bytes > 0)
        expect(target, rank, exposed->space[target], to, 1, bytes);
}

/* Accesses of one process; accumulations, which work on the values, to host memory only. */
static void access_blocks(const exposed_t *exposed, int target, bool requests) {
    int from = (int)case_random_below(memory_spaces()), to = (int)case_random_below(memory_spaces());
    int count = (int)case_random_below(COUNT_MAX), peer = size - 1 - target;
    int *in = (int *)(void *)memory[to] + BLOCKS, *out = (int *)(void *)memory[from];
    MPI_Request request[2];
    if (requests) {
        MPI_Rput(out, count, MPI_INT, peer, 0, count, MPI_INT, exposed->window, &request[0]);
        MPI_Rget(in, count, MPI_INT, peer, BLOCKS, count, MPI_INT, exposed->window, &request[1]);
        MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    } else {
        MPI_Put(out, count, MPI_INT, peer, 0, count, MPI_INT, exposed->window);
        MPI_Get(in, count, MPI_INT, peer, BLOCKS, count, MPI_INT, exposed->window);
    }
    expect_write_to(exposed, target, from, 4 * count);
    expect_read_of(exposed, target, to, 4 * count);
}

static void accumulate(const exposed_t *exposed, int target) {
    static int one = 1, old[COUNT_MAX], before, zero;
    int peer = size - 1 - target, count = (int)case_random_below(COUNT_MAX);
    MPI_Accumulate(memory[MEMORY_CPU], count, MPI_INT, peer, 0, count, MPI_INT, MPI_SUM, exposed->window);
    MPI_Get_accumulate(memory[MEMORY_CPU], count, MPI_INT, old, count, MPI_INT, peer, 0, count, MPI_INT,
                       MPI_SUM, exposed->window);
    MPI_Get_accumulate(NULL, 0, MPI_INT, old, count, MPI_INT, peer, 0, count, MPI_INT, MPI_NO_OP,
                       exposed->window);
    MPI_Fetch_and_op(&one, &before, MPI_INT, peer, 0, MPI_SUM, exposed->window);
    MPI_Fetch_and_op(NULL, &before, MPI_INT, peer, 0, MPI_NO_OP, exposed->window);
    MPI_Compare_and_swap(&one, &zero, &before, MPI_INT, peer, 0, exposed->window);
    expect_write_to(exposed, target, MEMORY_CPU, 4 * count);
    expect_write_to(exposed, target, MEMORY_CPU, 4 * count);
    expect_read_of(exposed, target, MEMORY_CPU, 4 * count);
    expect_read_of(exposed, target, MEMORY_CPU, 4 * count);
    expect_write_to(exposed, target, MEMORY_CPU, 4);
    expect_read_of(exposed, target, MEMORY_CPU, 4);
    expect_read_of(exposed, target, MEMORY_CPU, 4);
    expect_write_to(exposed, target, MEMORY_CPU, 8);
    expect_read_of(exposed, target, MEMORY_CPU, 4);
}

static exposed_t expose(MPI_Comm backwards) {
    exposed_t exposed = {.window = MPI_WIN_NULL};
    bool only_host = case_random_below(2) == 0;
    for (int i = 0; i < size; i++)
        exposed.space[i] = only_host ? MEMORY_CPU : (int)case_random_below(memory_spaces());
    if (only_host) {
        int *base;
        MPI_Win_allocate((MPI_Aint)2 * BLOCKS * 4, 4, MPI_INFO_NULL, backwards, (void *)&base,
                         &exposed.window);
    } else {
        MPI_Win_create(memory[exposed.space[rank]] + (size_t)8 * BLOCKS, (MPI_Aint)2 * BLOCKS * 4, 4,
                       MPI_INFO_NULL, backwards, &exposed.window);
    }
    return exposed;
}

static void run_one_sided(int64_t count) {
    MPI_Comm backwards;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &backwards);
    for (int64_t i = 0; i < count; i++) {
        exposed_t exposed = expose(backwards);
        uint64_t common = case_random_state;
        case_random_state ^= (uint64_t)rank << 20;
        int target = (int)case_random_below(size), peer = size - 1 - target;
        if (i % 2) {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, peer, 0, exposed.window);
            access_blocks(&exposed, target, true);
            if (exposed.space[target] == MEMORY_CPU)
                accumulate(&exposed, target);
            MPI_Win_unlock(peer, exposed.window);
        } else {
            MPI_Win_fence(0, exposed.window);
            access_blocks(&exposed, target, false);
            MPI_Win_fence(0, exposed.window);
        }
        case_random_state = common;
        MPI_Win_free(&exposed.window);
    }
    MPI_Comm_free(&backwards);
}

/* --- MPI 4 ---------------------------------------------------------------------------------------------- */

#if MPI_VERSION >= 4
static void partitioned(const draw_t *call, int next, int previous) {
    enum { PARTS = 4 };
    MPI_Request request[2];
    MPI_Psend_init(input_of(call), PARTS, 3, MPI_INT, next, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &request[0]);
    MPI_Precv_init(output_of(call), PARTS, 3, MPI_INT, previous, 5, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &request[1]);
    for (int run = 0; run < STARTS; run++) {
        MPI_Startall(2, request);
        MPI_Pready_range(0, PARTS - 1, request[0]);
        MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&request[0]);
    MPI_Request_free(&request[1]);
    expect(rank, next, call->from[rank], call->to[next], STARTS, (int64_t)STARTS * PARTS * 3 * 4);
}

static void exchange(const draw_t *call, int next, int previous, bool replace) {
    MPI_Request request;
    int source = call->root % 2 ? previous : MPI_ANY_SOURCE;
    int to = replace ? call->from[next] : call->to[next];
    if (replace)
        MPI_Isendrecv_replace(input_of(call), 5, MPI_INT, next, 5, source, 5, MPI_COMM_WORLD, &request);
    else
        MPI_Isendrecv(input_of(call), 5, MPI_INT, next, 5, output_of(call), 5, MPI_INT, source, 5,
                      MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(rank, next, call->from[rank], to, 1, 20);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void large(const draw_t *call, int next, int previous) {
    MPI_Sendrecv_c(input_of(call), 5, MPI_INT, next, 5, output_of(call), 5, MPI_INT, previous, 5,
                   MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect(rank, next, call->from[rank], call->to[next], 1, 20);
}
#endif

static void run_mpi4(int64_t count) {
#if MPI_VERSION >= 4
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    for (int64_t i = 0; i < count; i++) {
        draw_t call = draw_call();
        partitioned(&call, next, previous);
        exchange(&call, next, previous, i % 2);
        large(&call, next, previous);
    }
#else
#endif
}

static const struct {
    const char *name;
    void (*run)(int64_t count);
} families[] = {{"collectives", run_collectives},
                {"neighbors", run_neighbors},
                {"persistent", run_persistent},
                {"one_sided", run_one_sided},
                {"mpi4", run_mpi4}};

bool run_family(const char *name, int64_t count) {
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (strcmp(families[i].name, name) == 0) {
            take_memory((size_t)16 * BLOCKS);
            MPI_Pcontrol(1);
            families[i].run(count);
            MPI_Pcontrol(0);
            return true;
        }
    return false;
}
