/* Communicators: what is known of each is an attribute of it, which MPI deletes with it. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "dropin.h"
#include "mpi_team.h"
#include "ranks.h"

static int keyval = MPI_KEYVAL_INVALID;
/* The communicator of the last call, and what was found for it. */
static MPI_Comm last = MPI_COMM_NULL;
static drop_comm_t *last_found;

/* --- communicators for executors ------------------------------------------------------------------------ */

/* Each takes two more of MPI, which has few: MPICH 4.0 has 2,048. */
enum { OPEN_MAX = 128 };
static int open_count;

static pto_status_t refuse(drop_comm_t *comm, pto_error_t *err) {
    static bool said;
    comm->why = "plans on many other communicators";
    if (!said)
        drop_say("%d communicators have plans, so other ones are left to MPI", OPEN_MAX);
    said = true;
    return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "%s", comm->why);
}

pto_status_t drop_comm_open(drop_comm_t *comm, pto_error_t *err) {
    int64_t room = open_count < OPEN_MAX;
    if (comm->is_open)
        return PTO_OK;
    pto_status_t status = pto_mpi_agree_least(comm->comm, PTO_OK, &room, 1, err);
    if (status == PTO_OK && !room)
        return refuse(comm, err);
    if (status == PTO_OK)
        status = pto_mpi_agree(comm->comm, pto_comms_create(comm->comm, &comm->comms, err), err);
    comm->is_open = status == PTO_OK;
    open_count += comm->is_open;
    return status;
}

static void close_comms(drop_comm_t *comm) {
    if (!comm->is_open)
        return;
    pto_comms_free(&comm->comms);
    comm->is_open = false;
    open_count--;
}

/* --- attributes ----------------------------------------------------------------------------------------- */

/* Instead of what a process has no memory for. */
static drop_comm_t lost = {.why = "out of memory"};

static void clear(drop_comm_t *comm) {
    close_comms(comm);
    drop_board_destroy(comm->board);
    drop_host_detach(comm);
    free(comm->gpus.place);
    free(comm->gpus.rank_at);
    free(comm->host.place);
    free(comm->host.rank_at);
    free(comm->node);
    *comm = (drop_comm_t){.why = comm->why};
}

static void destroy(drop_comm_t *comm) {
    while (comm->routes) {
        drop_route_t *route = comm->routes;
        comm->routes = route->next;
        drop_route_destroy(route);
    }
    clear(comm);
    if (comm != &lost)
        free(comm);
}

/* An attribute that is the number of a communicator's first calls: a place in these. */
enum { YOUNG_CALLS = 64 };
static char young_calls[YOUNG_CALLS + 1];
static bool is_young(const void *attribute) {
    uintptr_t at = (uintptr_t)attribute, first = (uintptr_t)young_calls;
    return at >= first && at < first + sizeof young_calls;
}

/* MPI calls it on all processes of the communicator, before it frees it. */
static int forget(MPI_Comm handle, int key, void *attribute, void *extra) {
    if (is_young(attribute))
        return MPI_SUCCESS;
    (void)handle;
    (void)key;
    (void)extra;
    if (!drop.by_threads)
        last = MPI_COMM_NULL; /* MPI may give its handle to another one */
    if (drop.on)
        destroy(attribute);
    return MPI_SUCCESS;
}

/* An attribute of MPI_COMM_SELF: the first thing that MPI_Finalize does. Plans are left to the end of the
 * process, as the program may have reset its GPU by then. */
static int end(MPI_Comm handle, int key, void *attribute, void *extra) {
    (void)handle;
    (void)key;
    (void)attribute;
    (void)extra;
    drop_report_end();
    drop.on = false;
    return MPI_SUCCESS;
}

bool drop_comms_begin(void) {
    int at_end = MPI_KEYVAL_INVALID;
    return MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &keyval, NULL) == MPI_SUCCESS &&
           MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, end, &at_end, NULL) == MPI_SUCCESS &&
           MPI_Comm_set_attr(MPI_COMM_SELF, at_end, &keyval) == MPI_SUCCESS;
}

/* --- who is where --------------------------------------------------------------------------------------- */

/* Sets `node` to the processes' nodes and `id`. `*inside`: no process is outside of MPI_COMM_WORLD, as those
 * are that the program has started. False: out of memory. */
static bool read_members(drop_comm_t *comm, bool *inside) {
    MPI_Group group;
    *inside = true;
    comm->node = calloc((size_t)comm->size, sizeof *comm->node);
    if (!comm->node)
        return false;
    MPI_Comm_group(comm->comm, &group);
    bool found = preload_world_ranks(group, comm->size, comm->node);
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
    return !drop.by_messages;
}

/* --- the memory that the program passes ----------------------------------------------------------------- */

/* A kind of MPI 4.1's memory allocation kinds, with its restrictors. */
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

/* Returns the assertions that this process has made; the library may have forgotten them. */
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

/* Collective: whether all processes have what they need, and the kinds that any of them may pass: each
 * asserts for itself. Without GPUs an assertion says nothing new, and so it does beside the user's promise.
 */
static pto_status_t agree_on_kinds(drop_comm_t *comm, pto_status_t status) {
    pto_error_t err;
    unsigned mine = drop.any_gpu && !drop.assumes_host ? asserted_kinds(comm->comm) : DROP_KIND_HOST;
    int64_t lacks[2] = {!(mine & DROP_KIND_HOST), !(mine & DROP_KIND_GPU)};
    status = pto_mpi_agree_least(comm->comm, status, lacks, 2, &err);
    comm->kinds = (lacks[0] ? 0u : (unsigned)DROP_KIND_HOST) | (lacks[1] ? 0u : (unsigned)DROP_KIND_GPU);
    return status;
}

bool drop_comm_needs_board(drop_comm_t *comm) {
    pto_error_t err;
    if (comm->on_one_node && !comm->board && drop_board_create(comm->comm, &comm->board, &err) != PTO_OK)
        comm->why = "no shared memory";
    return !comm->why;
}

/* Examine a communicator; returns the reason if it is left to MPI. */
static const char *look_at(drop_comm_t *comm) {
    int is_inter = 0;
    MPI_Comm_test_inter(comm->comm, &is_inter);
    if (is_inter)
        return "an inter-communicator";
    MPI_Comm_size(comm->comm, &comm->size);
    MPI_Comm_rank(comm->comm, &comm->rank);
    return comm->size == 1 ? "a single process" : NULL;
}

/* Collective among processes of MPI_COMM_WORLD, which take part whether they have memory or not: all of them
 * leave the communicator to MPI, or none. */
static const char *why_not(drop_comm_t *comm, pto_status_t status) {
    bool inside;
    const char *why = look_at(comm);
    if (why)
        return why;
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
    return comm->why;
}

static drop_comm_t *create(MPI_Comm handle) {
    drop_comm_t *made = calloc(1, sizeof *made);
    pto_status_t status = made ? PTO_OK : PTO_ERR_MEMORY;
    made = made ? made : &lost;
    made->comm = handle;
    if (MPI_Comm_set_attr(handle, keyval, made) != MPI_SUCCESS)
        status = PTO_ERR_MEMORY;
    made->why = why_not(made, status);
    if (made == &lost) {
        clear(made);
        made->why = "out of memory";
    }
    return made;
}

/* Without the other processes. One thread at a time uses a communicator for collectives, so that what is
 * known of it needs no lock. */
static drop_comm_t *create_alone(MPI_Comm handle) {
    drop_comm_t *made = calloc(1, sizeof *made);
    bool inside = true;
    if (!made)
        return NULL;
    made->comm = handle;
    made->kinds = DROP_KIND_ANY;
    made->why = look_at(made);
    if (!made->why && !read_members(made, &inside))
        made->why = "out of memory";
    else if (!made->why && !inside)
        made->why = "processes outside of MPI_COMM_WORLD";
    if (MPI_Comm_set_attr(handle, keyval, made) == MPI_SUCCESS)
        return made;
    destroy(made);
    return NULL;
}

/* --- communicators that are hardly used ----------------------------------------------------------------- */

/* Where no call can be one on GPU buffers, the first calls of a communicator are left to MPI without a word
 * to the other processes: many programs make communicators for a few calls. Until then the attribute is their
 * number, for which no process can lack memory. */
/* For the report, which knows communicators by their processes. */
static drop_comm_t *describe_young(MPI_Comm handle) {
    static drop_comm_t young;
    bool inside;
    int is_inter = 0;
    young = (drop_comm_t){.comm = handle, .why = "host buffers, in the first calls of a communicator"};
    if (drop_reports)
        MPI_Comm_test_inter(handle, &is_inter);
    if (drop_reports && !is_inter) {
        MPI_Comm_size(handle, &young.size);
        MPI_Comm_rank(handle, &young.rank);
        read_members(&young, &inside);
        free(young.node);
        young.node = NULL;
    }
    return &young;
}

drop_comm_t *drop_comm_of(MPI_Comm handle) {
    void *found = NULL;
    int is_set = 0;
    if (!drop.by_threads && handle == last)
        return last_found;
    if (handle == MPI_COMM_NULL || MPI_Comm_get_attr(handle, keyval, (void *)&found, &is_set) != MPI_SUCCESS)
        return NULL;
    if (drop.by_threads)
        return is_set ? found : create_alone(handle);
    char *calls = is_set ? found : young_calls;
    if (drop.waits_for_calls && is_young(calls) && calls < young_calls + YOUNG_CALLS) {
        MPI_Comm_set_attr(handle, keyval, calls + 1);
        return describe_young(handle);
    }
    last_found = is_young(calls) ? create(handle) : found;
    last = handle;
    return last_found;
}

/* --- the layout ----------------------------------------------------------------------------------------- */

typedef struct {
    int node;
    int rank;
    int lowest; /* rank on its GPU */
    uint64_t gpu;
} where_t;

static int by_place(const void *one, const void *other) {
    const where_t *a = one, *b = other;
    if (a->node != b->node)
        return a->node < b->node ? -1 : 1;
    if (a->gpu != b->gpu)
        return a->gpu < b->gpu ? -1 : 1;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

/* Most communicators are in order, and looking is much faster than sorting. */
static void sort_where(where_t *where, int size) {
    bool sorted = true;
    for (int i = 1; i < size && sorted; i++)
        sorted = by_place(&where[i - 1], &where[i]) <= 0;
    if (!sorted)
        qsort(where, (size_t)size, sizeof *where, by_place);
}

/* Sort the processes. GPUs of a node are numbered by their lowest rank, so that processes in order are so in
 * the layout. */
static void sort_places(where_t *where, int size) {
    int first = 0;
    sort_where(where, size);
    for (int i = 0; i < size; i++) {
        if (where[i].node != where[first].node || where[i].gpu != where[first].gpu)
            first = i;
        where[i].lowest = where[first].rank;
    }
    for (int i = 0; i < size; i++)
        where[i].gpu = (uint64_t)where[i].lowest;
    sort_where(where, size);
}

/* All nodes have the same number of GPUs, and those the same number of processes. */
static bool is_even(drop_layout_t *layout, const where_t *where, int size) {
    int64_t nodes = 1, gpus = 1;
    for (int i = 1; i < size; i++) {
        bool new_node = where[i].node != where[i - 1].node;
        nodes += new_node;
        gpus += new_node || where[i].gpu != where[i - 1].gpu;
    }
    layout->nodes = nodes;
    layout->gpus_per_node = gpus / nodes;
    layout->procs_per_gpu = size / gpus;
    int64_t per_node = layout->gpus_per_node * layout->procs_per_gpu;
    if (nodes * per_node != size)
        return false;
    for (int i = 0; i < size; i++)
        if (where[i].node != where[i / per_node * per_node].node ||
            where[i].gpu != where[i / layout->procs_per_gpu * layout->procs_per_gpu].gpu)
            return false;
    return true;
}

/* Room for a layout: the GPU of each process, to be filled in, and what sorts them. */
typedef struct {
    uint64_t *gpu;
    where_t *where;
} draft_t;

static bool begin_draft(const drop_comm_t *comm, drop_layout_t *layout, draft_t *draft) {
    size_t size = (size_t)comm->size;
    draft->gpu = calloc(size, sizeof *draft->gpu);
    draft->where = calloc(size, sizeof *draft->where);
    layout->place = calloc(size, sizeof *layout->place);
    layout->rank_at = calloc(size, sizeof *layout->rank_at);
    layout->found = true;
    layout->why = "out of memory"; /* until it is there */
    return draft->gpu && draft->where && layout->place && layout->rank_at;
}

static void finish_draft(const drop_comm_t *comm, const draft_t *draft, drop_layout_t *layout) {
    where_t *where = draft->where;
    for (int i = 0; i < comm->size; i++)
        where[i] = (where_t){.node = comm->node[i], .rank = i, .gpu = draft->gpu[i]};
    sort_places(where, comm->size);
    bool even = is_even(layout, where, comm->size);
    layout->why = even ? NULL : "nodes or GPUs with different numbers of processes";
    layout->in_order = true;
    for (int i = 0; i < comm->size; i++) {
        layout->place[where[i].rank] = i;
        layout->rank_at[i] = where[i].rank;
        layout->in_order &= where[i].rank == i;
    }
}

int drop_layout_run(const drop_layout_t *layout, int size, int place, int *apart) {
    const int *rank = layout->rank_at + place;
    int left = size - place, count = 1;
    *apart = left > 1 ? rank[1] - rank[0] : 1;
    while (*apart > 0 && count < left && rank[count] - rank[count - 1] == *apart)
        count++;
    return count;
}

static void end_draft(draft_t *draft) {
    free(draft->gpu);
    free(draft->where);
}

void drop_comm_find_gpus(drop_comm_t *comm, uint64_t gpu) {
    draft_t draft;
    pto_error_t err;
    bool has_room = begin_draft(comm, &comm->gpus, &draft);
    pto_status_t status = pto_mpi_agree(comm->comm, has_room ? PTO_OK : PTO_ERR_MEMORY, &err);
    comm->gpu = gpu;
    if (status == PTO_OK)
        status = PTO_MPI(MPI_Allgather(&gpu, 1, MPI_UINT64_T, draft.gpu, 1, MPI_UINT64_T, comm->comm), &err);
    if (status == PTO_OK)
        finish_draft(comm, &draft, &comm->gpus);
    end_draft(&draft);
}

/* The processes of each node take its GPUs in turn, in the order of their ranks. */
static void deal_gpus(const drop_comm_t *comm, uint64_t gpus, draft_t *draft) {
    where_t *where = draft->where;
    uint64_t before = 0; /* on the same node */
    for (int i = 0; i < comm->size; i++)
        where[i] = (where_t){.node = comm->node[i], .rank = i};
    sort_where(where, comm->size);
    for (int i = 0; i < comm->size; i++) {
        before = i > 0 && where[i].node == where[i - 1].node ? before + 1 : 0;
        draft->gpu[where[i].rank] = before % gpus + 1;
    }
}

bool drop_comm_guess_gpus(drop_comm_t *comm, uint64_t gpu) {
    draft_t draft;
    double gpus = 1;
    bool has_room = begin_draft(comm, &comm->gpus, &draft);
    if (pto_machine_get(drop.machine, "node.gpus", &gpus, NULL) != PTO_OK || gpus < 1)
        gpus = 1;
    comm->gpu = gpu;
    if (has_room) {
        deal_gpus(comm, (uint64_t)gpus, &draft);
        finish_draft(comm, &draft, &comm->gpus);
    }
    end_draft(&draft);
    return has_room;
}

bool drop_comm_find_host(drop_comm_t *comm) {
    draft_t draft;
    bool has_room = begin_draft(comm, &comm->host, &draft);
    if (has_room) {
        for (int i = 0; i < comm->size; i++)
            draft.gpu[i] = (uint64_t)i + 1;
        finish_draft(comm, &draft, &comm->host);
    }
    end_draft(&draft);
    return has_room;
}

/* Turn nodes, GPUs of a node and processes of a GPU so that the root's are the first ones. */
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
