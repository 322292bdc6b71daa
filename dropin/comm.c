/* Communicators: on which nodes and GPUs their processes are, and which of their calls can be taken over at
 * all. The drop_comm_t of a communicator is an MPI attribute of it, which MPI deletes together with it.
 *
 * Where no GPU buffers are expected, drop_comm_of only counts a communicator's first calls. Then all its
 * processes together create the drop_comm_t and examine the communicator. The layout of its GPUs is found at
 * the first call that needs it, and the team for executors is created with the first plan. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "dropin.h"
#include "environment.h"
#include "mpi_team.h"
#include "ranks.h"

static int keyval = MPI_KEYVAL_INVALID;
/* The communicator of the last call: a cache. */
static MPI_Comm last_handle = MPI_COMM_NULL;
static drop_comm_t *last_comm;

/* --- communicators for executors ------------------------------------------------------------------------ */

/* A team of executors has two communicators of its own, and MPICH 4.0 has only 2,048 in all. */
enum { OPEN_MAX = 128 };
static int open_count;

static pto_status_t refuse(drop_comm_t *comm, pto_error_t *err) {
    static bool said;
    comm->why_not = "plans on many other communicators";
    if (!said)
        preload_say("%d communicators have plans, so other ones are left to MPI", OPEN_MAX);
    said = true;
    return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "%s", comm->why_not);
}

pto_status_t drop_comm_open(drop_comm_t *comm, pto_error_t *err) {
    int64_t room = open_count < OPEN_MAX; /* then the least of all processes' */
    pto_team_t *made = NULL;
    if (comm->team)
        return PTO_OK;
    pto_status_t status = pto_mpi_agree_least(comm->comm, PTO_OK, &room, 1, err);
    if (status == PTO_OK && !room)
        return refuse(comm, err);
    if (status == PTO_OK)
        status = pto_mpi_agree(comm->comm, pto_team_mpi_create(comm->comm, &made, err), err);
    if (status != PTO_OK)
        return status;
    comm->team = made;
    open_count++;
    return PTO_OK;
}

/* --- attributes ----------------------------------------------------------------------------------------- */

/* The attribute of a communicator on a process that has no memory for another one. */
static drop_comm_t out_of_memory = {.why_not = "out of memory"};

static void clear(drop_comm_t *comm) {
    open_count -= comm->team != NULL;
    pto_team_mpi_destroy(comm->team);
    drop_board_destroy(comm->board);
    drop_host_detach(comm);
    free(comm->gpus.place);
    free(comm->gpus.rank_at);
    free(comm->host.place);
    free(comm->host.rank_at);
    free(comm->node);
    *comm = (drop_comm_t){.why_not = comm->why_not};
}

static void destroy(drop_comm_t *comm) {
    while (comm->routes) {
        drop_route_t *route = comm->routes;
        comm->routes = route->next;
        drop_route_destroy(route);
    }
    clear(comm);
    if (comm != &out_of_memory)
        free(comm);
}

/* With drop.defers_examination, a communicator is examined after CALLS_BEFORE calls. Until then its attribute
 * is not a drop_comm_t, but encodes the number of its calls: &call_counter[3] after 3 calls. */
enum { CALLS_BEFORE = 64 };
static char call_counter[CALLS_BEFORE + 1];

static bool is_call_counter(const void *attribute) {
    uintptr_t at = (uintptr_t)attribute, first = (uintptr_t)call_counter;
    return at >= first && at < first + sizeof call_counter;
}

/* MPI calls this on all processes of a communicator that is about to be freed. */
static int on_comm_free(MPI_Comm handle, int key, void *attribute, void *extra) {
    if (is_call_counter(attribute))
        return MPI_SUCCESS;
    (void)handle, (void)key, (void)extra;
    if (!drop.multithreaded)
        last_handle = MPI_COMM_NULL; /* MPI may reuse the handle */
    if (drop.on)
        destroy(attribute);
    return MPI_SUCCESS;
}

/* MPI_Finalize deletes the attributes of MPI_COMM_SELF first, and so calls this. Plans are not freed, as the
 * program may have reset its GPU by then. */
static int on_finalize(MPI_Comm handle, int key, void *attribute, void *extra) {
    (void)handle, (void)key, (void)attribute, (void)extra;
    drop_report_end();
    drop.on = false;
    return MPI_SUCCESS;
}

bool drop_comms_begin(void) {
    int at_end = MPI_KEYVAL_INVALID;
    return MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_comm_free, &keyval, NULL) == MPI_SUCCESS &&
           MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_finalize, &at_end, NULL) == MPI_SUCCESS &&
           MPI_Comm_set_attr(MPI_COMM_SELF, at_end, &keyval) == MPI_SUCCESS;
}

/* --- processes and nodes -------------------------------------------------------------------------------- */

/* Sets `node` and `id`, and `*inside` to whether all processes are in MPI_COMM_WORLD: those that the program
 * has spawned are not. False: out of memory. */
static bool read_members(drop_comm_t *comm, bool *inside) {
    MPI_Group group;
    *inside = true;
    comm->node = calloc((size_t)comm->size, sizeof *comm->node);
    if (!comm->node)
        return false;
    MPI_Comm_group(comm->comm, &group);
    bool found = preload_world_ranks(group, comm->size, comm->node); /* replaced by nodes below */
    MPI_Group_free(&group);
    comm->id = PTO_HASH_START;
    for (int i = 0; i < comm->size && found && *inside; i++) {
        *inside = comm->node[i] != MPI_UNDEFINED;
        comm->id = pto_hash_add(comm->id, (uint64_t)comm->node[i]);
        comm->node[i] = *inside ? drop.node_of[comm->node[i]] : 0;
    }
    return found;
}

static bool is_on_one_node(const drop_comm_t *comm) {
    for (int i = 1; i < comm->size; i++)
        if (comm->node[i] != comm->node[0])
            return false;
    return !drop.forces_messages;
}

/* --- the kinds of memory that the program passes -------------------------------------------------------- */

/* Returns the drop_kind_t of one of MPI 4.1's memory allocation kinds, which may have restrictors. */
static unsigned kind_of(const char *text, size_t length) {
    static const struct {
        const char *name;
        unsigned kinds;
    } known[] = {{"system", DROP_KIND_HOST},
                 {"mpi", DROP_KIND_HOST},
                 {"cuda:host", DROP_KIND_HOST},
                 {"cuda:device", DROP_KIND_GPU}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t name = strlen(known[i].name);
        if (length >= name && strncmp(text, known[i].name, name) == 0 &&
            (length == name || text[name] == ':'))
            return known[i].kinds;
    }
    return DROP_KIND_ANY;
}

/* Returns the kinds of memory to which this process restricts itself by an info key of the communicator.
 * Without the key, which the MPI library may have dropped, they are DROP_KIND_ANY. */
static unsigned asserted_kinds(MPI_Comm comm) {
    char text[MPI_MAX_INFO_VAL + 1] = "";
    MPI_Info info;
    int is_set = 0;
    unsigned kinds = 0;
    if (MPI_Comm_get_info(comm, &info) != MPI_SUCCESS)
        return DROP_KIND_ANY;
    MPI_Info_get(info, "mpi_assert_memory_alloc_kinds", MPI_MAX_INFO_VAL, text, &is_set);
    MPI_Info_free(&info);
    for (const char *at = text; is_set && *at;) {
        size_t length = strcspn(at, ",");
        kinds |= kind_of(at, length);
        at += length + (at[length] == ',');
    }
    return kinds ? kinds : DROP_KIND_ANY;
}

/* Collective. Agrees on the status and on the kinds of memory that any process may pass, as each asserts for
 * itself. Assertions are not read where there are no GPUs or the user promises host memory. */
static pto_status_t agree_on_kinds(drop_comm_t *comm, pto_status_t status) {
    pto_error_t err;
    unsigned mine = drop.any_gpu && !drop.assumes_host ? asserted_kinds(comm->comm) : DROP_KIND_HOST;
    int64_t lacks[2] = {!(mine & DROP_KIND_HOST), !(mine & DROP_KIND_GPU)}; /* then of all */
    status = pto_mpi_agree_least(comm->comm, status, lacks, 2, &err);
    comm->kinds = (lacks[0] ? 0u : (unsigned)DROP_KIND_HOST) | (lacks[1] ? 0u : (unsigned)DROP_KIND_GPU);
    return status;
}

bool drop_comm_needs_board(drop_comm_t *comm) {
    pto_error_t err;
    if (comm->on_one_node && !comm->board && drop_board_create(comm->comm, &comm->board, &err) != PTO_OK)
        comm->why_not = "no shared memory";
    return !comm->why_not;
}

/* Not collective. Returns why the communicator is left to MPI; NULL: so far it is not. */
static const char *examine(drop_comm_t *comm) {
    int is_inter = 0;
    MPI_Comm_test_inter(comm->comm, &is_inter);
    if (is_inter)
        return "an inter-communicator";
    MPI_Comm_size(comm->comm, &comm->size);
    MPI_Comm_rank(comm->comm, &comm->rank);
    return comm->size == 1 ? "a single process" : NULL;
}

/* Collective, also if out of memory. Returns why all leave the communicator to MPI; NULL: none does. */
static const char *examine_with_all(drop_comm_t *comm, pto_status_t status) {
    bool inside;
    const char *why_not = examine(comm);
    if (why_not)
        return why_not;
    bool has_room = read_members(comm, &inside);
    if (!inside)
        return "processes outside of MPI_COMM_WORLD";
    if (has_room && drop.takes_host)
        has_room = drop_host_attach(comm);
    if (agree_on_kinds(comm, has_room ? status : PTO_ERR_MEMORY) != PTO_OK)
        return "out of memory";
    comm->on_one_node = is_on_one_node(comm);
    if (comm->kinds & DROP_KIND_GPU)
        drop_comm_needs_board(comm);
    return comm->why_not;
}

static drop_comm_t *create(MPI_Comm handle) {
    drop_comm_t *made = calloc(1, sizeof *made);
    pto_status_t status = made ? PTO_OK : PTO_ERR_MEMORY;
    made = made ? made : &out_of_memory; /* this process must take part */
    made->comm = handle;
    if (MPI_Comm_set_attr(handle, keyval, made) != MPI_SUCCESS)
        status = PTO_ERR_MEMORY;
    made->why_not = examine_with_all(made, status);
    if (made == &out_of_memory) {
        clear(made);
        made->why_not = "out of memory";
    }
    return made;
}

/* Not collective: the program is multithreaded. The result needs no lock, since MPI allows only one thread at
 * a time to call collectives on a communicator. */
static drop_comm_t *create_alone(MPI_Comm handle) {
    drop_comm_t *made = calloc(1, sizeof *made);
    bool inside = true;
    if (!made)
        return NULL;
    made->comm = handle;
    made->kinds = DROP_KIND_ANY;
    made->why_not = examine(made);
    if (!made->why_not && !read_members(made, &inside))
        made->why_not = "out of memory";
    else if (!made->why_not && !inside)
        made->why_not = "processes outside of MPI_COMM_WORLD";
    if (MPI_Comm_set_attr(handle, keyval, made) == MPI_SUCCESS)
        return made;
    destroy(made);
    return NULL;
}

/* The result for a communicator that is not examined yet. The report needs its size and its processes. */
static drop_comm_t *describe_unexamined(MPI_Comm handle) {
    static drop_comm_t unexamined;
    bool inside;
    int is_inter = 0;
    unexamined =
        (drop_comm_t){.comm = handle, .why_not = "host buffers, in the first calls of a communicator"};
    if (drop_reports)
        MPI_Comm_test_inter(handle, &is_inter);
    if (drop_reports && !is_inter) {
        MPI_Comm_size(handle, &unexamined.size);
        MPI_Comm_rank(handle, &unexamined.rank);
        read_members(&unexamined, &inside);
        free(unexamined.node);
        unexamined.node = NULL;
    }
    return &unexamined;
}

/* Where no GPU buffers are expected, the first calls of a communicator are left to MPI, and it is not
 * examined: many programs create communicators for a few calls. */
drop_comm_t *drop_comm_of(MPI_Comm handle) {
    void *found = NULL;
    int is_set = 0;
    if (!drop.multithreaded && handle == last_handle)
        return last_comm;
    if (handle == MPI_COMM_NULL || MPI_Comm_get_attr(handle, keyval, (void *)&found, &is_set) != MPI_SUCCESS)
        return NULL;
    if (drop.multithreaded)
        return is_set ? found : create_alone(handle);
    char *calls = is_set ? found : call_counter;
    if (drop.defers_examination && is_call_counter(calls) && calls < call_counter + CALLS_BEFORE) {
        MPI_Comm_set_attr(handle, keyval, calls + 1);
        return describe_unexamined(handle);
    }
    last_comm = is_call_counter(calls) ? create(handle) : found;
    last_handle = handle;
    return last_comm;
}

/* --- the layout ----------------------------------------------------------------------------------------- */

typedef struct {
    int node;
    int rank;
    int lowest_rank; /* on the same GPU */
    uint64_t gpu;
} position_t;

static int compare_positions(const void *one, const void *other) {
    const position_t *a = one, *b = other;
    if (a->node != b->node)
        return a->node < b->node ? -1 : 1;
    if (a->gpu != b->gpu)
        return a->gpu < b->gpu ? -1 : 1;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

/* Most communicators are sorted already, and checking that is much faster than qsort. */
static void sort_positions(position_t *position, int size) {
    bool sorted = true;
    for (int i = 1; i < size && sorted; i++)
        sorted = compare_positions(&position[i - 1], &position[i]) <= 0;
    if (!sorted)
        qsort(position, (size_t)size, sizeof *position, compare_positions);
}

/* Sort by node, then by GPU, then by rank. The GPUs of a node are ordered by their lowest rank instead of
 * their identifiers: if ranks 0 and 1 share GPU 7, and ranks 2 and 3 GPU 5, the order is 0, 1, 2, 3. So if
 * the ranks of each GPU are consecutive, every place equals the rank. */
static void sort_by_place(position_t *position, int size) {
    int first = 0;
    sort_positions(position, size);
    for (int i = 0; i < size; i++) {
        if (position[i].node != position[first].node || position[i].gpu != position[first].gpu)
            first = i;
        position[i].lowest_rank = position[first].rank;
    }
    for (int i = 0; i < size; i++)
        position[i].gpu = (uint64_t)position[i].lowest_rank;
    sort_positions(position, size);
}

/* Sets the layout's numbers of nodes, GPUs and processes, from sorted positions. Returns whether all nodes
 * and GPUs are alike: each `per_node` positions are on one node, and each `procs_per_gpu` on one GPU. */
static bool is_even(drop_layout_t *layout, const position_t *position, int size) {
    int64_t nodes = 1, gpus = 1;
    for (int i = 1; i < size; i++) {
        bool new_node = position[i].node != position[i - 1].node;
        nodes += new_node;
        gpus += new_node || position[i].gpu != position[i - 1].gpu;
    }
    layout->nodes = nodes;
    layout->gpus_per_node = gpus / nodes;
    layout->procs_per_gpu = size / gpus;
    int64_t per_node = layout->gpus_per_node * layout->procs_per_gpu;
    if (nodes * per_node != size)
        return false;
    for (int i = 0; i < size; i++)
        if (position[i].node != position[i / per_node * per_node].node ||
            position[i].gpu != position[i / layout->procs_per_gpu * layout->procs_per_gpu].gpu)
            return false;
    return true;
}

/* Arrays for finding a layout. The caller sets `gpu` by rank, between begin_layout and finish_layout. */
typedef struct {
    uint64_t *gpu;
    position_t *position;
} scratch_t;

static bool begin_layout(const drop_comm_t *comm, drop_layout_t *layout, scratch_t *scratch) {
    size_t size = (size_t)comm->size;
    scratch->gpu = calloc(size, sizeof *scratch->gpu);
    scratch->position = calloc(size, sizeof *scratch->position);
    layout->place = calloc(size, sizeof *layout->place);
    layout->rank_at = calloc(size, sizeof *layout->rank_at);
    layout->found = true;
    layout->why_not = "out of memory"; /* until finish_layout */
    return scratch->gpu && scratch->position && layout->place && layout->rank_at;
}

static void finish_layout(const drop_comm_t *comm, const scratch_t *scratch, drop_layout_t *layout) {
    position_t *position = scratch->position;
    for (int i = 0; i < comm->size; i++)
        position[i] = (position_t){.node = comm->node[i], .rank = i, .gpu = scratch->gpu[i]};
    sort_by_place(position, comm->size);
    bool even = is_even(layout, position, comm->size);
    layout->why_not = even ? NULL : "nodes or GPUs with different numbers of processes";
    layout->in_order = true;
    for (int i = 0; i < comm->size; i++) {
        layout->place[position[i].rank] = i;
        layout->rank_at[i] = position[i].rank;
        layout->in_order &= position[i].rank == i;
    }
}

/* With rank_at = {0, 2, 4, 1, 3, 5}, place 0 begins 3 blocks whose ranks are 2 apart. */
int drop_layout_blocks(const drop_layout_t *layout, int size, int place, int *rank_stride) {
    const int *rank = layout->rank_at + place;
    int left = size - place, count = 1;
    *rank_stride = left > 1 ? rank[1] - rank[0] : 1;
    while (*rank_stride > 0 && count < left && rank[count] - rank[count - 1] == *rank_stride)
        count++;
    return count;
}

static void free_scratch(scratch_t *scratch) {
    free(scratch->gpu);
    free(scratch->position);
}

void drop_comm_find_gpus(drop_comm_t *comm, uint64_t gpu) {
    scratch_t scratch;
    pto_error_t err;
    bool has_room = begin_layout(comm, &comm->gpus, &scratch);
    pto_status_t status = pto_mpi_agree(comm->comm, has_room ? PTO_OK : PTO_ERR_MEMORY, &err);
    comm->gpu = gpu;
    if (status == PTO_OK)
        status =
            PTO_MPI(MPI_Allgather(&gpu, 1, MPI_UINT64_T, scratch.gpu, 1, MPI_UINT64_T, comm->comm), &err);
    if (status == PTO_OK)
        finish_layout(comm, &scratch, &comm->gpus);
    free_scratch(&scratch);
}

/* Assigns the GPUs of each node, numbered from 1, round-robin to its processes, in the order of ranks. */
static void assign_gpus(const drop_comm_t *comm, uint64_t gpus, scratch_t *scratch) {
    position_t *position = scratch->position;
    uint64_t before = 0; /* processes with lower ranks on the same node */
    for (int i = 0; i < comm->size; i++)
        position[i] = (position_t){.node = comm->node[i], .rank = i};
    sort_positions(position, comm->size);
    for (int i = 0; i < comm->size; i++) {
        before = i > 0 && position[i].node == position[i - 1].node ? before + 1 : 0;
        scratch->gpu[position[i].rank] = before % gpus + 1;
    }
}

bool drop_comm_guess_gpus(drop_comm_t *comm, uint64_t gpu) {
    scratch_t scratch;
    double gpus = 1;
    bool has_room = begin_layout(comm, &comm->gpus, &scratch);
    if (pto_machine_get(drop.machine, "node.gpus", &gpus, NULL) != PTO_OK || gpus < 1)
        gpus = 1;
    comm->gpu = gpu;
    if (has_room) {
        assign_gpus(comm, (uint64_t)gpus, &scratch);
        finish_layout(comm, &scratch, &comm->gpus);
    }
    free_scratch(&scratch);
    return has_room;
}

bool drop_comm_find_host(drop_comm_t *comm) {
    scratch_t scratch;
    bool has_room = begin_layout(comm, &comm->host, &scratch);
    if (has_room) {
        for (int i = 0; i < comm->size; i++)
            scratch.gpu[i] = (uint64_t)i + 1; /* each process counts as a GPU */
        finish_layout(comm, &scratch, &comm->host);
    }
    free_scratch(&scratch);
    return has_room;
}

/* Rotates the nodes, the GPUs of each node and the processes of each GPU so that the root's come first: with
 * the root at node 1, GPU 2, process 0 of 3 nodes with 4 GPUs, node 0, GPU 1, process 0 becomes (2, 3, 0). */
void drop_comm_table(const drop_comm_t *comm, const drop_layout_t *layout, int root, int64_t *table) {
    int64_t gpus = layout->gpus_per_node, procs = layout->procs_per_gpu;
    int64_t first = root < 0 ? 0 : layout->place[root];
    for (int i = 0; i < comm->size; i++) {
        int64_t place = layout->place[i];
        int64_t node = (place / procs / gpus - first / procs / gpus + layout->nodes) % layout->nodes;
        int64_t gpu = (place / procs % gpus - first / procs % gpus + gpus) % gpus;
        int64_t proc = (place % procs - first % procs + procs) % procs;
        table[i] = (node * gpus + gpu) * procs + proc;
    }
}
