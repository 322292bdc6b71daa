/* Strategies and algorithms: their registries, and what a new one must provide.
 *
 * A strategy is the route that data takes; an algorithm is the communication pattern of the collective inside
 * it. A built-in one is a file with one descriptor, and one line in its registry's list. A program can
 * register additional ones. */
#ifndef PORTOLAN_STRATEGY_H
#define PORTOLAN_STRATEGY_H

#include "portolan/api.h"
#include "portolan/plan.h"

PTO_API_BEGIN

typedef struct pto_builder pto_builder_t;

/* The group that an algorithm works on: n members, each of which runs it on buffers of its own. Algorithms
 * see only the index (PTO_ANCHOR_ME) and n, so they can run in any group. Block numbers count modulo the
 * number of blocks, so the one block of an allgather's input or of a reduce_scatter's output is its block j
 * for every j. */
typedef struct {
    int group;
    int64_t n;          /* members */
    int64_t core_first; /* cores of each GPU that run it; with PTO_GROUP_CORES each in its own group */
    int64_t core_count;
    int in;  /* alltoall(v), reduce_scatter: n blocks, block j goes to member j; allgather: one block, which
                goes to all; gather, scatter: the same, but only member 0 has the n blocks */
    int out; /* alltoall(v), allgather: n blocks, block i is from member i. reduce_scatter: one block,
                reduced. Else the vector, in place: allreduced, reduced to member 0 (the others' vectors are
                then undefined) or broadcast from it */
    int64_t cyclic_count; /* > 1: only shifts congruent to the core modulo this carry bytes */
    int64_t bundle;       /* > 1: `bundle` consecutive blocks of `in` and `out` form each of the n blocks */
} pto_exchange_t;

/* The bits of collectives that strategies and algorithms often serve together: allgathers and alltoalls of
 * equal blocks and of blocks that may differ; those on one vector; and those of blocks to and from a root. */
#define PTO_ALLGATHERS (1u << PTO_COLLECTIVE_ALLGATHER | 1u << PTO_COLLECTIVE_ALLGATHERV)
#define PTO_ALLTOALLS (1u << PTO_COLLECTIVE_ALLTOALL | 1u << PTO_COLLECTIVE_ALLTOALLV)
#define PTO_VECTORS                                                                                          \
    (1u << PTO_COLLECTIVE_ALLREDUCE | 1u << PTO_COLLECTIVE_REDUCE | 1u << PTO_COLLECTIVE_BROADCAST)
#define PTO_ROOTED (1u << PTO_COLLECTIVE_GATHER | 1u << PTO_COLLECTIVE_SCATTER)

struct pto_algorithm {
    const char *name;
    const char *summary;
    unsigned collectives; /* bits 1 << pto_collective_t */
    bool relays;          /* members forward blocks that are not their own */
    bool segmented;       /* works on the request's segments in a pipeline */
    bool cuts;            /* divides the data into the request's chunks itself, unless the library runs it */
    bool shares_host;     /* members use each other's memory, so the data must be in host memory */
    bool chunked;         /* has no loops, so that it can be a part of a pipeline of chunks */
    bool only_named;      /* what a library does, never cheaper than another: used only if it is named */
    bool joins;           /* sends the messages of a second pattern (plan.h) together with its own */
    bool direct;          /* placeholder for strategies without an inner collective; `build` is NULL */
    bool nccl;            /* placeholder for strategies that call NCCL; `build` is NULL */
    void (*build)(pto_builder_t *builder, const pto_exchange_t *exchange);
};

struct pto_strategy {
    const char *name;
    const char *summary;
    unsigned collectives;
    pto_space_t collective_space; /* where the data is during the inner collective */
    bool splits; /* several processes per GPU take part: owners_per_gpu must be 1, procs_per_gpu at least 2 */
    bool direct; /* has no inner collective, so it only goes with the algorithm `direct` */
    bool nccl;   /* NCCL runs its collective, so it only goes with the algorithm `nccl` */
    bool in_host; /* for data in host memory (pto_layout_t), and not for data in GPU memory */
    bool by_hand; /* our own algorithm runs its collective, even if the MPI library could */
    bool chunked; /* divides the data into the request's `chunks` */
    bool joins;   /* has one inner collective, which a second pattern (plan.h) can join */
    /* The size of the group that the request's `staged_members` belong to; NULL: does not stage. */
    int64_t (*stages)(const pto_request_t *request);
    /* Of a strategy whose plans have either nodes: its static form, whose price is used; else NULL. */
    const pto_strategy_t *fixed;
    int64_t granularity_bytes; /* shares of a vector are multiples of it, except the last; 0: one element */
    pto_status_t (*applicable)(const pto_request_t *request,
                               pto_error_t *err); /* additional requirements; may be NULL */
    void (*build)(pto_builder_t *builder, const pto_request_t *request);
};

/* The collectives (bits) that a strategy and an algorithm support together, if the library does not stage. */
static inline unsigned pto_strategy_with(const pto_strategy_t *strategy, const pto_algorithm_t *algorithm) {
    bool shared = strategy->collective_space == PTO_SPACE_CPU && !(strategy->in_host && strategy->by_hand);
    bool fits = strategy->direct == algorithm->direct && strategy->nccl == algorithm->nccl &&
                (shared || !algorithm->shares_host);
    return fits ? strategy->collectives & algorithm->collectives : 0;
}

/* The only algorithm that a strategy goes with; NULL: any that supports its collective. */
static inline const char *pto_strategy_only_with(const pto_strategy_t *strategy) {
    return strategy->direct ? "direct" : strategy->nccl ? "nccl" : NULL;
}

/* Register a strategy or an algorithm of the caller's, to be found, listed, predicted, checked and run like
 * the built-in ones. It is borrowed until the process ends. Below are the functions that its `build`
 * calls. Register from one thread, before any other use of the registries. Errors: PTO_ERR_RANGE (no name, a
 * name already in use, no `build`, no collective), PTO_ERR_TOO_LARGE above PTO_REGISTERED_MAX of a kind. */
enum { PTO_REGISTERED_MAX = 32 };
pto_status_t pto_strategy_register(const pto_strategy_t *strategy, pto_error_t *err);
pto_status_t pto_algorithm_register(const pto_algorithm_t *algorithm, pto_error_t *err);

int pto_strategy_count(void);
const pto_strategy_t *pto_strategy_at(int index);
/* Errors: PTO_ERR_NOT_FOUND, with the nearest known name. */
pto_status_t pto_strategy_find(const char *name, const pto_strategy_t **strategy, pto_error_t *err);

int pto_algorithm_count(void);
const pto_algorithm_t *pto_algorithm_at(int index);
pto_status_t pto_algorithm_find(const char *name, pto_collective_t collective,
                                const pto_algorithm_t **algorithm, pto_error_t *err);

/* Whether the request's strategy or algorithm can divide the data into chunks; whether it is the algorithm
 * that does so, inside the collective. */
bool pto_request_may_be_cut(const pto_request_t *request);
bool pto_request_cuts_inside(const pto_request_t *request);

/* Check that the strategy and the algorithm support the request (memory aside). Errors:
 * PTO_ERR_NOT_APPLICABLE with a reason for the user. */
pto_status_t pto_strategy_applicable(const pto_request_t *request, pto_error_t *err);

/* Building plans: the functions that `build` of a strategy or an algorithm calls (docs/examples/strategy.c is
 * an example).
 *
 * No call fails: a builder that runs out of memory records it, and pto_plan_create returns the error. Names
 * of stages, buffers and flags are borrowed and must outlive the plan; string literals do. */

/* These return an index, by which steps and slices refer to the group, buffer or flag. */
int pto_build_group(pto_builder_t *builder, pto_group_kind_t kind, int64_t fold);
int pto_build_buffer(pto_builder_t *builder, pto_buffer_t buffer);
int pto_build_flag(pto_builder_t *builder, const char *name);

/* The description of a temporary like `buffer`, which the caller may change before building it. */
pto_buffer_t pto_temporary_like(const pto_builder_t *builder, int buffer, const char *name);
/* Such a temporary, in another space. */
int pto_build_mirror(pto_builder_t *builder, int buffer, const char *name, pto_space_t space);

/* The two levels of an exchange: among its members on one node, and among the first members of all nodes. A
 * level of one member has n = 1. Both have the buffers of the exchange. */
pto_exchange_t pto_build_within_nodes(pto_builder_t *builder, const pto_exchange_t *exchange);
pto_exchange_t pto_build_node_leaders(pto_builder_t *builder, const pto_exchange_t *exchange);

/* A buffer built so far: valid until the next call that builds one. */
const pto_buffer_t *pto_builder_buffer(const pto_builder_t *builder, int buffer);
const pto_group_t *pto_builder_group(const pto_builder_t *builder, int group);

/* Open a stage. Steps belong to it until the next call of pto_build_stage. */
void pto_build_stage(pto_builder_t *builder, const char *name, pto_order_t order);
void pto_build_step(pto_builder_t *builder, pto_step_t step);
/* A step like `step`, with these slices. */
void pto_build_move(pto_builder_t *builder, pto_step_t step, pto_slice_t source, pto_slice_t target);
/* A stage of its own for such a step: a copy or a reduction. */
void pto_build_local(pto_builder_t *builder, const char *name, pto_step_t step, pto_slice_t source,
                     pto_slice_t target);
/* A stage in which all members of `who` copy. */
void pto_build_copy(pto_builder_t *builder, const char *name, const pto_exchange_t *who, pto_slice_t source,
                    pto_slice_t target);
/* A stage in which the members of `send` send what those of `recv` receive. */
void pto_build_message(pto_builder_t *builder, const char *name, pto_step_t send, pto_slice_t sent,
                       pto_step_t recv, pto_slice_t received);
/* The same for all members of `who`: each sends to its `peers`, and receives from those whose peer it is. */
void pto_build_sendrecv(pto_builder_t *builder, const char *name, const pto_exchange_t *who,
                        pto_peers_t peers, pto_slice_t sent, pto_slice_t received);

/* A loop: everything up to the matching pto_build_end is its body. Loops don't nest. */
void pto_build_loop(pto_builder_t *builder, int64_t from, int64_t to, bool power);
/* The body performs the request's collective among `exchange`'s members, from its `in` to its `out`. These
 * are one buffer if a collective on vectors is in place. */
void pto_build_collective(pto_builder_t *builder, const pto_exchange_t *exchange, pto_done_by_t by);
/* A kernel launched by the members of `who`. Its first stage, the launch, is built automatically. Kernels
 * don't nest and contain no loops. */
void pto_build_kernel(pto_builder_t *builder, const pto_exchange_t *who);
/* Lanes (plan.h): branches that may overlap, each between pto_build_branch and pto_build_end, and a pipeline
 * of chunks [from, to), of which `depth` are in progress at most. */
void pto_build_parallel(pto_builder_t *builder);
void pto_build_branch(pto_builder_t *builder);
void pto_build_pipeline(pto_builder_t *builder, int64_t from, int64_t to, int64_t depth);
/* An either node for the members of `who` but the first, with three branches (plan.h), each between
 * pto_build_branch and pto_build_end. In its second and third branch, k is the member's index, and
 * pto_build_once opens a stage that is executed once (pto_stage_t.once). */
void pto_build_either(pto_builder_t *builder, const pto_exchange_t *who, pto_policy_kind_t policy);
void pto_build_once(pto_builder_t *builder, const char *name, pto_order_t order);
/* A pipeline over chunks: slices up to the matching pto_build_end select the k-th chunk of their blocks. */
void pto_build_chunks(pto_builder_t *builder, int64_t chunks, int64_t depth);
/* End the innermost open node. At most 8 nodes nest, and all must be ended. */
void pto_build_end(pto_builder_t *builder);

/* Build the request's algorithm among `exchange`'s members, as one collective node. */
void pto_build_exchange(pto_builder_t *builder, const pto_request_t *request, const pto_exchange_t *exchange);
/* The request that the plan is made for. */
const pto_request_t *pto_builder_request(const pto_builder_t *builder);

static inline pto_expr_t pto_expr_of(int64_t constant, int64_t loop, int64_t power, int64_t inverse) {
    pto_expr_t expr = {constant, loop, power, inverse, 0, 0};
    return expr;
}
static inline pto_expr_t pto_constant(int64_t value) { return pto_expr_of(value, 0, 0, 0); }
static inline pto_expr_t pto_loop_index(int64_t coefficient, int64_t constant) {
    return pto_expr_of(constant, coefficient, 0, 0);
}
static inline pto_expr_t pto_power(int64_t coefficient) { return pto_expr_of(0, 0, coefficient, 0); }
static inline pto_expr_t pto_inverse_power(int64_t numerator) { return pto_expr_of(0, 0, 0, numerator); }

/* Slices: all blocks in order; one block; one part of a vector divided into `parts`. */
pto_slice_t pto_slice_all(const pto_builder_t *builder, int buffer);
pto_slice_t pto_slice_block(int buffer, pto_anchor_t anchor);
pto_slice_t pto_slice_part(int buffer, int64_t parts, pto_anchor_t anchor, pto_expr_t offset);
/* The same in the memory of the step's peer. */
pto_slice_t pto_slice_of_peer(pto_slice_t slice);

/* The peer `distance` places after (sign 1) or before (sign -1) the acting rank. */
pto_peers_t pto_peers_at(pto_expr_t distance, int64_t sign);

/* A step for one end of a binomial tree's edges of length `distance` (a power of two). `lower`: the lower
 * ends, whose lowest set bit is the distance, with the upper ends as peers; else the reverse. */
pto_step_t pto_build_tree_ends(pto_step_kind_t kind, const pto_exchange_t *exchange, bool lower,
                               pto_expr_t distance);

/* Flags among the members of a group on one node: a stage in which `signal` raises a new flag and `wait`
 * waits for it. The steps have their peers already. */
void pto_intranode_flag(pto_builder_t *builder, const char *name, pto_step_t signal, pto_step_t wait);
/* The same between member 0, which raises it, and all others; and the reverse. */
void pto_flag_to_others(pto_builder_t *builder, const char *name, const pto_exchange_t *who);
void pto_flag_to_root(pto_builder_t *builder, const char *name, const pto_exchange_t *who);

/* A step of member 0 with all others as peers; of all others with member 0 as peer. */
pto_step_t pto_step_of_root(pto_step_kind_t kind, const pto_exchange_t *who);
pto_step_t pto_step_of_others(pto_step_kind_t kind, const pto_exchange_t *who);
/* A step of every member with all others as peers, the next one first. */
pto_step_t pto_step_of_all(pto_step_kind_t kind, const pto_exchange_t *who);

/* Every member raises a flag for its peers and waits for theirs; a barrier: all others are its peers. */
void pto_flag_among(pto_builder_t *builder, const char *name, const pto_exchange_t *who, pto_peers_t peers);
void pto_flag_barrier(pto_builder_t *builder, const char *name, const pto_exchange_t *who);

/* A step of the member of a pair that sends, or of the one that receives, with the other as its peer. If the
 * request goes both ways, both members do both. */
pto_step_t pto_build_sender(pto_builder_t *builder, pto_step_kind_t kind, const pto_exchange_t *pair);
pto_step_t pto_build_receiver(pto_builder_t *builder, pto_step_kind_t kind, const pto_exchange_t *pair);

/* A halo exchange has pto_halo_phases phases. The messages of a phase go to these shifts, at once. Shifts at
 * which no process has a neighbor are left out. */
int pto_halo_phases(const pto_halo_t *grid);
int pto_halo_shifts(const pto_halo_t *grid, int phase, int shift[PTO_SHIFTS_MAX][PTO_DIMS_MAX]);
/* The neighbor at `shift` as peer: only processes that have such a neighbor act in the step. If every process
 * is its own neighbor, the peers are PTO_PEERS_NONE, so that all act in a copy. */
pto_peers_t pto_peers_cart(const pto_builder_t *builder, const int shift[PTO_DIMS_MAX]);
/* In a buffer like the user's field: the cells that the neighbor at `shift` gets, and those from it. */
pto_slice_t pto_slice_border(const pto_builder_t *builder, int buffer, const int shift[PTO_DIMS_MAX]);
pto_slice_t pto_slice_halo(const pto_builder_t *builder, int buffer, const int shift[PTO_DIMS_MAX]);

/* The same cells divided into at most `parts` units, for processes that share them or for a ring of slots.
 * `unit` numbers the unit by the loop or the core; the last one needs a slice of its own, with a constant. */
typedef struct {
    int64_t count;
    int64_t cells; /* of all units but the last */
    int64_t last_cells;
} pto_units_t;

pto_units_t pto_halo_units(const pto_halo_t *grid, const int shift[PTO_DIMS_MAX], int64_t parts);
pto_slice_t pto_slice_border_unit(const pto_builder_t *builder, int buffer, const int shift[PTO_DIMS_MAX],
                                  int64_t parts, pto_expr_t unit);
pto_slice_t pto_slice_halo_unit(const pto_builder_t *builder, int buffer, const int shift[PTO_DIMS_MAX],
                                int64_t parts, pto_expr_t unit);

/* The stage of a phase's messages between neighbors, up to pto_build_end_messages: a call of the MPI library
 * (MPI_Neighbor_alltoallw) if the request wants that and the strategy has an inner collective. */
void pto_build_messages(pto_builder_t *builder, const pto_exchange_t *exchange, const char *name);
void pto_build_end_messages(pto_builder_t *builder);

/* A halo exchange in one phase: the peers of a step for all neighbors, and its slices. Corners have messages
 * of their own. Beyond an edge that does not wrap, a border includes the sender's halo there if the corners
 * are PTO_CORNERS_TWO_PHASE, so that the result is the same. pto_build_own_cells builds steps like `copy` for
 * the processes that are their own neighbors. */
pto_peers_t pto_peers_grid(void);
pto_slice_t pto_slice_cells(const pto_builder_t *builder, int buffer, pto_cells_t cells);
void pto_build_own_cells(pto_builder_t *builder, pto_step_t copy);
/* Smallest L with 2^L >= n. */
int64_t pto_log2_ceil(int64_t n);

/* A step of all members of a group on a range of cores; the caller fills in the rest. */
pto_step_t pto_step_of(pto_step_kind_t kind, const pto_exchange_t *exchange);

PTO_API_END

#endif
