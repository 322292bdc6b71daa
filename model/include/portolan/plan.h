/* A plan: what every process does in one collective. A plan never changes once it is built.
 *
 * A plan is a sequence of stages. A stage holds steps. A step says which ranks act (a range of cores and a
 * range of group indices), with which peers (a set, given by arithmetic) and on which bytes (slices of
 * buffers). No list in a plan grows with the number of ranks, so a plan for a million GPUs is as small as one
 * for two. Matching sends and receives are in the same stage.
 *
 * The interpreters (price, check, print, simulate and the executor) read plans through the functions at the
 * end of this header. None of them knows a strategy by name. */
#ifndef PORTOLAN_PLAN_H
#define PORTOLAN_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "portolan/api.h"
#include "portolan/machine.h"
#include "portolan/scenario.h"

PTO_API_BEGIN

/* constant + loop * k + power * 2^k + inverse / 2^k + core * c + peer * p, where k is the iteration of the
 * enclosing loop, c the acting rank's core on its GPU, and p the peer's index in the step's group. */
typedef struct {
    int64_t constant;
    int64_t loop;
    int64_t power;
    int64_t inverse;
    int64_t core;
    int64_t peer;
} pto_expr_t;

/* --- groups ------------------------------------------------------------------------------------------- */

/* A partition of the ranks. Members are numbered from 0 in rank order. */
typedef enum {
    PTO_GROUP_OWNERS,       /* one group: every process that holds user data */
    PTO_GROUP_CORES,        /* the k-th processes of all GPUs, one group for each k */
    PTO_GROUP_GPU,          /* the processes of one GPU */
    PTO_GROUP_NODE,         /* the k-th processes of the GPUs of one node, one group for each node and k */
    PTO_GROUP_LEADERS,      /* one group: the first process of the first GPU of every node */
    PTO_GROUP_CORE_LEADERS, /* the k-th processes of the first GPUs of all nodes, one group for each k */
    PTO_GROUP_NODE_OWNERS,  /* every process of one node that holds user data, one group for each node */
    PTO_GROUP_RAIL,         /* the processes at the same place of every node, one group for each place */
    PTO_GROUP_COUNT
} pto_group_kind_t;

/* Folding reduces a group to a power of two: of its first 2 * fold members only the odd ones stay. Indices in
 * a folded group count the remaining members only. */
typedef struct {
    pto_group_kind_t kind;
    int64_t fold;
    int64_t size;             /* members, after folding */
    int64_t members_per_node; /* before folding; consecutive indices */
} pto_group_t;

/* --- buffers and slices ------------------------------------------------------------------------------- */

/* The user's input and output, and temporaries. A request may have a second pattern of messages, among
 * buffers in host memory (pto_counts_t.host): the HOST roles are its input and output. */
typedef enum {
    PTO_ROLE_IN,
    PTO_ROLE_OUT,
    PTO_ROLE_TEMPORARY,
    PTO_ROLE_HOST_IN,
    PTO_ROLE_HOST_OUT,
    PTO_ROLE_COUNT
} pto_role_t;

static inline bool pto_role_is_input(pto_role_t role) {
    return role == PTO_ROLE_IN || role == PTO_ROLE_HOST_IN;
}
static inline bool pto_role_is_output(pto_role_t role) {
    return role == PTO_ROLE_OUT || role == PTO_ROLE_HOST_OUT;
}
/* Of the second pattern. */
static inline bool pto_role_is_host(pto_role_t role) {
    return role == PTO_ROLE_HOST_IN || role == PTO_ROLE_HOST_OUT;
}

/* How many bytes a block has. */
typedef enum {
    PTO_BLOCKS_EQUAL,  /* block_bytes each */
    PTO_BLOCKS_ROW,    /* block j: what the holder sends to owner j (in HOST roles, in the second pattern) */
    PTO_BLOCKS_COLUMN, /* block i: what owner i sends to the holder */
    /* Contributions of the members of the buffer's group in an allgatherv, in k blocks for each member: */
    PTO_BLOCKS_MEMBERS, /* blocks k i to k i + k - 1: what member i contributes */
    PTO_BLOCKS_ROTATED, /* the same, from the holder's own on, modulo the number of blocks */
    PTO_BLOCKS_SHARE,   /* every block is the holder's share of block_bytes, divided among the group */
    /* With m owners per node, and i and j their indices within the node: */
    PTO_BLOCKS_RAIL,     /* block b * m + i: what owner i of the holder's node sends to the owner at the
                                   holder's index on node b */
    PTO_BLOCKS_NODE_ROW, /* block (b * m + i) * m + j: from owner i of the holder's node to owner j of node b
                          */
    PTO_BLOCKS_NODE_COLUMN, /* block (b * m + i) * m + j: from owner i of node b to owner j of the holder's
                               node */
    PTO_BLOCKS_COUNT
} pto_blocks_t;

/* Which blocks a process holds if a GPU's cyclic_count processes share the destinations cyclically: those
 * whose distance from its own index, modulo cyclic_count, is its core. The distance counts forwards for sends
 * and backwards for receives. Blocks are stored contiguously by increasing distance. */
typedef enum {
    PTO_CYCLIC_NONE,
    PTO_CYCLIC_FORWARD,
    PTO_CYCLIC_BACKWARD,
    PTO_CYCLIC_ORDINAL, /* by the block's number instead of its distance */
    PTO_CYCLIC_COUNT
} pto_cyclic_t;

typedef struct {
    const char *name;
    pto_role_t role;
    pto_space_t space;
    bool pageable;      /* host memory that is not pinned, such as a library's own */
    int64_t core_first; /* the cores of each GPU that hold one */
    int64_t core_count;
    pto_group_kind_t group; /* the group whose indices number the blocks and the holder */
    int64_t held_first;     /* with held_stride > 1 */
    int64_t held_stride;    /* > 1: only ranks whose index is held_first modulo it hold one */
    int64_t user_stride;    /* > 1: the user's at members whose index is a multiple of it, else temporary */
    bool double_buffered;   /* double-buffered temporary: consecutive runs alternate between two copies */
    pto_blocks_t blocks;
    int64_t block_count;
    int64_t block_bytes;       /* PTO_BLOCKS_EQUAL; PTO_BLOCKS_SHARE: before the division into shares */
    int64_t granularity_bytes; /* the smallest piece that a split may produce */
    int64_t split;             /* > 1: holds only the core-th of `split` shares of every block */
    pto_cyclic_t cyclic;
    int64_t cyclic_count; /* number of processes that share the destinations */
    int64_t chunks; /* > 0: each block has `chunks` chunks, and the buffer holds only those in progress */
    int64_t slots;  /* with chunks: number of chunks held; chunk k is in slot k modulo `slots` */
} pto_buffer_t;

typedef enum {
    PTO_ANCHOR_ABSOLUTE, /* block 0 */
    PTO_ANCHOR_ME,       /* the acting rank's index in the step's group */
    PTO_ANCHOR_PEER,     /* the peer's */
    PTO_ANCHOR_HOLDER,   /* the index, in the buffer's group, of the rank that holds it */
    PTO_ANCHOR_ORDINAL,  /* the message's ordinal in its peer set */
    PTO_ANCHOR_COUNT
} pto_anchor_t;

/* Which of `share_count` equal shares of every block a slice covers. */
typedef enum { PTO_SHARE_ALL, PTO_SHARE_MINE, PTO_SHARE_PEERS, PTO_SHARE_KIND_COUNT } pto_share_t;

/* Which cells of a halo exchange's array a slice selects, instead of blocks: the cells that the peer gets
 * (the border), or those that hold the peer's values (the halo). It then uses its buffer and holder only. */
typedef enum { PTO_CELLS_NONE, PTO_CELLS_BORDER, PTO_CELLS_HALO, PTO_CELLS_COUNT } pto_cells_t;

/* The rank whose buffer a slice names. Buffers of others are on the same node, in shared memory. */
typedef enum {
    PTO_HOLDER_SELF,
    PTO_HOLDER_OWNER, /* core 0 of the acting rank's GPU */
    PTO_HOLDER_PEER,  /* the step's peer; a copy or reduction with peers runs once for each of them */
    PTO_HOLDER_COUNT
} pto_holder_t;

/* A slice selects blocks of a buffer by arithmetic. Its base is anchor + offset, rounded down to a multiple
 * of `align`. The selected blocks are base + w (base - w if reversed), modulo the block count. w runs over
 * [first, first + run), then over [first + stride, first + stride + run), and so on, below `until`.
 * - anchor_step > 1: the anchor is multiplied by it.
 * - parts > 0: each block of the buffer (or its share) is divided into `parts` equal parts, which count as
 *   the blocks.
 * - bundle > 1: each run of `bundle` consecutive blocks counts as one.
 * - fold > 0: block numbers are indices in a group with this fold: number i < fold stands for the two blocks
 *   2 i and 2 i + 1, a higher one for block i + fold.
 * - repeat > 1: the selection is repeated `repeat` times, each time `repeat_stride` blocks further.
 * - chunks > 1: only chunk k of each of these blocks (or of its share) is selected (pto_chunk_bytes). */
typedef struct {
    int buffer;
    pto_holder_t holder;
    pto_anchor_t anchor;
    int64_t anchor_step;
    pto_expr_t offset;
    pto_expr_t align; /* 0: none */
    pto_expr_t first;
    pto_expr_t run;
    pto_expr_t stride;
    pto_expr_t until;
    bool reversed;
    int64_t reverse_bits; /* > 0: low bits of the anchor to reverse first, as in Rabenseifner's halving */
    int64_t parts;
    int64_t bundle;
    int64_t fold;   /* of whole blocks only, not of bundles */
    int64_t repeat; /* of whole blocks of equal size only */
    int64_t repeat_stride;
    pto_cells_t cells; /* of the neighbor at the shift of PTO_PEERS_GRID's message, or of the step's peers */
    pto_share_t share;
    int64_t share_count;
    int64_t chunks;
} pto_slice_t;

/* --- steps -------------------------------------------------------------------------------------------- */

typedef enum {
    PTO_PEERS_NONE,
    PTO_PEERS_SHIFT, /* me + sign * d modulo size, for d = first, first + stride, ... below until and size;
                        never the rank itself */
    PTO_PEERS_XOR,   /* me xor first */
    PTO_PEERS_INDEX, /* indices first, first + stride, ... below until; never the rank itself */
    PTO_PEERS_TORUS, /* message j = first, first + stride, ... below until goes to the node at distance
                        `node_shift`, to the member whose index within its node is `sign` * j higher */
    PTO_PEERS_CART,  /* the neighbor at `shift` in the request's grid, whose processes are all in the group;
                        none beyond an edge that does not wrap, never the rank itself */
    PTO_PEERS_GRID,  /* message j goes to the neighbor at shift j (pto_halo_shift), if there is one other than
                        the rank itself; a signal or wait has each neighbor as peer once, even if it is the
                        neighbor at several shifts */
    PTO_PEERS_COUNT
} pto_peers_kind_t;

typedef struct {
    pto_peers_kind_t kind;
    pto_expr_t first;
    pto_expr_t stride;
    pto_expr_t until;
    int64_t node_shift;
    int64_t sign;            /* 1 or -1 */
    int shift[PTO_DIMS_MAX]; /* -1, 0 or 1 */
} pto_peers_t;

typedef enum {
    PTO_STEP_SEND,
    PTO_STEP_RECV,
    PTO_STEP_COPY,
    PTO_STEP_REDUCE, /* target = target op source; a longer source is reduced piece by piece */
    PTO_STEP_SIGNAL,
    PTO_STEP_WAIT,
    PTO_STEP_LAUNCH, /* launch the kernel that runs the rest of its node */
    PTO_STEP_COUNT
} pto_step_kind_t;

typedef struct {
    pto_step_kind_t kind;
    int64_t core_first; /* the cores of each GPU that act */
    int64_t core_count;
    int group;            /* the group in which they have indices */
    pto_expr_t who_first; /* the members that act: first, first + stride, ... below until */
    pto_expr_t who_stride;
    pto_expr_t who_until;
    pto_peers_t peers;
    pto_slice_t source; /* send, copy, reduce */
    pto_slice_t target; /* recv, copy, reduce */
    bool fresh;         /* reduce: overwrite the target with the reduction of the source's pieces */
    bool send_empty;    /* empty messages are sent too, as in MPI's pairwise exchange */
    int flag;           /* signal, wait */
    bool in_kernel;     /* done by the threads of a kernel, not by the process; set by the builder */
} pto_step_t;

typedef enum { PTO_ORDER_SEQUENCE, PTO_ORDER_AT_ONCE, PTO_ORDER_COUNT } pto_order_t;

typedef struct {
    const char *name;
    pto_order_t order;
    int step_first;
    int step_count;
    bool once; /* in an either node: see PTO_NODE_EITHER */
} pto_stage_t;

/* A plan's body is a tree of nodes, stored as a list: every node but a stage contains the `span` nodes that
 * follow it.
 *
 * A kernel node is one kernel on each GPU. Its copies are loads and stores (over a link if the peer's memory
 * is on another GPU), and its signals are flags in GPU memory; no process takes part. Each of its thread
 * blocks does its own part of every copy and reduction, and signals and waits only for the same part of its
 * peers. Steps that use the same bytes must therefore divide them into the same pieces: any two ranges used
 * by a kernel's steps are either identical or disjoint, which check proves. A flag is raised and awaited in
 * one kernel, by a single step each, and at most once in a run between two processes: a kernel with flags is
 * not in a loop. */
typedef enum {
    PTO_NODE_STAGE,
    PTO_NODE_LOOP,       /* for k in [from, to) */
    PTO_NODE_COLLECTIVE, /* these stages are one collective of the MPI library, of NCCL or of ours */
    PTO_NODE_KERNEL,     /* the first stage launches it */
    PTO_NODE_PARALLEL,   /* contains branches only, which may overlap */
    PTO_NODE_BRANCH,     /* contains stages and loops */
    PTO_NODE_PIPELINE,   /* for chunk k in [from, to): stages only, which overlap on chunks */
    PTO_NODE_EITHER, /* for member k in [from, to), one of two branches; contains three branches of stages */
    PTO_NODE_COUNT
} pto_node_kind_t;

/* Lanes. A rank executes the stages of a lane in sequence, and different lanes concurrently. Stages
 * outside of PTO_NODE_PARALLEL and PTO_NODE_PIPELINE are in lane 0. Branch b of a parallel node is lane b,
 * and stage s of a pipeline is lane s, for all chunks. All lanes of a node start when the rank reaches the
 * node, and the rank continues when all have ended. Ranks don't wait for each other at either point.
 *
 * Stage s of chunk k also waits until the same rank has ended stage s - 1 of chunk k. Stage 0 of chunk k
 * waits for the last stage of chunk k - depth: `depth` chunks are in progress at most, so that buffers with
 * `depth` blocks, numbered by k, suffice.
 *
 * Messages match within one stage of one iteration, as outside of lanes. A flag is raised in a stage that
 * pto_walk_next visits no later than the wait.
 *
 * An either node leaves a choice open until the plan runs. Its first branch is lane 0, executed by all. Lane
 * 1 + k - from, for k in [from, to), is what member k and member 0 of the node's group do together: either
 * the second branch (A) or the third (B). In each run member 0 chooses for every k, by the node's policy
 * (pto_policy_kind_t). A stage marked `once` does not depend on k: only the first lane that takes its branch
 * executes it, and the others continue after it. Flags used in A or B are used nowhere else. The choice
 * itself orders no accesses. */
enum { PTO_LANES_MAX = 64 }; /* of one node */

/* How member 0 of an either node chooses between A and B for each other member, in every run.
 *
 * PTO_POLICY_DOUBLING chooses within a run (Faraji's thesis, section 5.3.2, phases 1 and 2): of the first two
 * members that arrive, one takes B and the other A. Whenever a member completes branch m, the next members
 * that arrive take m too: 2^d of them, where d > 0 is by how many more members have completed m than the
 * other branch, or one if d <= 0. A single member takes A. Nothing is sent again (docs/decisions/0015).
 *
 * PTO_POLICY_LEARNING chooses between runs: the last h members take B, for the h with the smallest median
 * time of its last runs. It first tries every h, and later occasionally a neighboring one. */
typedef enum { PTO_POLICY_DOUBLING, PTO_POLICY_LEARNING, PTO_POLICY_COUNT } pto_policy_kind_t;

const char *pto_policy_name(pto_policy_kind_t kind);

enum { PTO_POLICY_MEMBERS_MAX = 63 };

/* Which code runs a collective. `check` walks the stages of the node in every case. `price` and `simulate` do
 * so too, except for NCCL, whose cost is in the machine file (`nccl`). */
typedef enum {
    PTO_DONE_BY_US, /* one of our algorithms: the stages are run as written */
    PTO_DONE_BY_LIBRARY,
    PTO_DONE_BY_NCCL,
    PTO_DONE_BY_COUNT
} pto_done_by_t;

/* A collective node is one call with MPI's meaning. Its members are the members of `group` on the cores that
 * it names; member 0 is the root. The call reads `in` of each member, writes `out` (pto_call_slices_t), and
 * touches nothing else:
 * - allreduce, reduce, broadcast: each slice is the whole vector. The call is in place if both slices name
 *   the same buffer. A reduction in place leaves the vectors of all members but the root undefined.
 * - alltoall, alltoallv: `in` is the block for a peer, `out` the block from it (PTO_ANCHOR_PEER).
 * - allgather: the same, but `in` has a single block, which is the block for every peer.
 * - reduce_scatter: `in` is the block for a peer, which gets the reduction of all members' blocks for it in
 *   the single block of `out`.
 * - gather, scatter: as allgather and alltoall, but only the root gets or gives.
 * - messages: the blocks of one message, by its ordinal (PTO_ANCHOR_ORDINAL).
 * - pair: each slice is the whole message.
 * - halo: one phase's messages between neighbors (MPI_Neighbor_alltoallw). Its slices are the whole buffers;
 *   what it does is what its only stage says.
 *
 * The stages in the node are one implementation of the call. They use these slices, and temporaries that no
 * other part of the plan uses. `check` proves that they perform the collective. It proves the rest of the
 * plan from the collective's meaning alone, so the proof holds for any implementation of the call. */
typedef struct {
    pto_node_kind_t kind;
    int span;
    int stage;    /* PTO_NODE_STAGE: its index */
    int64_t from; /* PTO_NODE_LOOP, PTO_NODE_PIPELINE, PTO_NODE_EITHER */
    int64_t to;
    int64_t depth; /* PTO_NODE_PIPELINE: 1 or more */
    bool power;    /* PTO_NODE_LOOP: its body uses 2^k, so `to` is at most 62 */
    int group;     /* PTO_NODE_COLLECTIVE, PTO_NODE_KERNEL, PTO_NODE_EITHER */
    /* PTO_NODE_EITHER only: */
    pto_policy_kind_t policy;
    int flag; /* "a member has arrived"; flag + 1 tells it to take A, flag + 2 to take B */
    /* PTO_NODE_COLLECTIVE only: */
    pto_done_by_t by;
    pto_collective_t collective;
    int64_t core_first;
    int64_t core_count;
    int call; /* the index of its slices: pto_plan_call */
} pto_node_t;

/* The input and output of a collective node's call. */
typedef struct {
    pto_slice_t in;
    pto_slice_t out;
} pto_call_slices_t;

/* --- asking for a plan --------------------------------------------------------------------------------- */

typedef struct pto_algorithm pto_algorithm_t;
typedef struct pto_strategy pto_strategy_t;
typedef struct pto_plan pto_plan_t;

/* Everything that determines a plan. Pointers are borrowed and must outlive the plan. */
typedef struct {
    pto_layout_t layout;
    pto_collective_t collective;
    pto_implementation_t implementation;
    pto_split_t split;
    pto_datatype_t datatype;
    int64_t bytes;                /* per destination, per message, of the vector, or of an owner's block */
    int64_t messages;             /* `messages` only */
    int64_t unique_bytes;         /* `messages` only: of distinct data; 0: all */
    const pto_counts_t *counts;   /* alltoallv, allgatherv; NULL: equal */
    const pto_mapping_t *mapping; /* alltoallv; NULL: process i of `counts` is owner i */
    pto_pair_ends_t ends;         /* `pair` only */
    pto_halo_t halo;              /* `halo` only */
    int64_t chunks;               /* chunked strategies only; 0: 1, the whole message */
    int64_t segment_bytes;        /* segmented algorithms only; 0: the whole vector at once */
    pto_staged_t staged_members;  /* strategies that stage only: of a root's other members */
    const pto_strategy_t *strategy;
    const pto_algorithm_t *algorithm;
    bool by_library; /* the MPI library runs the inner collective */
    bool staged;     /* the library stages GPU buffers through host memory of its own */
    bool in_place;   /* input and output are one buffer (MPI_IN_PLACE, MPI_Bcast): not a copy between them */
} pto_request_t;

/* Bytes that owner `source` sends to owner `destination`: those that the processes at their places send. In
 * an allgatherv, the same to all. */
int64_t pto_request_bytes(const pto_request_t *request, int64_t source, int64_t destination);
/* Bytes between owners among buffers in host memory at the same time; NULL: none. */
const pto_counts_t *pto_request_host_counts(const pto_request_t *request);
int64_t pto_request_host_bytes(const pto_request_t *request, int64_t source, int64_t destination);
/* The most bytes that one process has for another. */
int64_t pto_request_largest_bytes(const pto_request_t *request);

/* Build and seal a plan; destroy it with pto_plan_destroy (NULL is legal). Errors: PTO_ERR_NOT_APPLICABLE
 * with the reason; PTO_ERR_RANGE for an invalid request: no strategy or algorithm, a value outside its enum,
 * a negative size, a layout without processes, a count matrix of the wrong order, or more bytes on a node
 * than can be counted (2^57), a placement that is not bound to the layout; PTO_ERR_INVALID_PLAN if the
 * strategy or the algorithm misuses the builder; PTO_ERR_MEMORY. */
pto_status_t pto_plan_create(const pto_request_t *request, pto_plan_t **plan, pto_error_t *err);
void pto_plan_destroy(pto_plan_t *plan);

/* --- reading a plan ------------------------------------------------------------------------------------ */

/* The parts of a plan, by index. The request is the one that the plan was made from. */
const pto_request_t *pto_plan_request(const pto_plan_t *plan);
int pto_plan_node_count(const pto_plan_t *plan);
const pto_node_t *pto_plan_node(const pto_plan_t *plan, int index);
const pto_call_slices_t *pto_plan_call(const pto_plan_t *plan, int index);
const pto_stage_t *pto_plan_stage(const pto_plan_t *plan, int index);
const pto_step_t *pto_plan_step(const pto_plan_t *plan, int index);
int pto_plan_buffer_count(const pto_plan_t *plan);
const pto_buffer_t *pto_plan_buffer(const pto_plan_t *plan, int index);
const pto_group_t *pto_plan_group(const pto_plan_t *plan, int index);
int pto_plan_flag_count(const pto_plan_t *plan);
const char *pto_plan_flag_name(const pto_plan_t *plan, int flag);

/* A 64-bit FNV-1a hash of the request and the stages: in practice, equal for equal plans alone. */
uint64_t pto_plan_digest(const pto_plan_t *plan);

/* How processes check that they have the same plan without each reading the whole matrix of byte counts: they
 * compare digests that exclude the matrix, and add up one number from each process. The sum is 0 modulo 2^64
 * if all plans have the same form and every process that may use an entry of the matrix has the same value as
 * the process that sends these bytes; in practice only then. A process reads the rows and columns of its GPU,
 * or of its node if the plan combines them or shares memory. */
uint64_t pto_plan_digest_of_form(const pto_plan_t *plan);
bool pto_plan_has_matrix(const pto_plan_t *plan);
uint64_t pto_plan_matrix_sum(const pto_plan_t *plan, int64_t rank);

/* Upper bounds of a plan's work on all ranks together; INT64_MAX where a count does not fit. Computed by
 * arithmetic, in a time that does not depend on the number of ranks. Iterations of a loop are counted one by
 * one only where the numbers of their actions may differ. */
typedef struct {
    int64_t messages;
    int64_t stages;        /* summed over ranks; each iteration of a loop counts */
    int64_t local_actions; /* copies, reductions, signals, waits and launches */
    int64_t peer_actions;  /* of these, the ones with peers */
} pto_plan_size_t;

pto_plan_size_t pto_plan_size(const pto_plan_t *plan);

/* A cursor over a plan's stages: one stage of one iteration at a time, in order. The branches of a parallel
 * node are visited one after another, and so are the chunks of a pipeline, each with all stages. */
typedef struct {
    const pto_plan_t *plan;
    const pto_stage_t *stage;
    int64_t k;        /* of the enclosing loop or pipeline; 0 outside */
    int64_t instance; /* number of stages visited before this one */
    int collective;   /* index of the enclosing PTO_NODE_COLLECTIVE, or -1 */
    int kernel;       /* index of the enclosing PTO_NODE_KERNEL, or -1 */
    int lanes;        /* index of the enclosing node that has lanes, or -1 */
    int lane;         /* the lane of this stage; 0 outside of such nodes */
    int branch;       /* PTO_BRANCH_A or PTO_BRANCH_B of an either node; -1: no such branch */
    int64_t fork;     /* number of stages visited before that node; outside, before this stage */
    int next;         /* private from here on */
    int lanes_end;
    int64_t lane_first; /* instance of the branch's first stage */
    int loop;
    int loop_end;
    int collective_end;
    int kernel_end;
} pto_walk_t;

/* pto_walk_next moves to the first stage, then to the next one; false after the last. */
void pto_walk_begin(pto_walk_t *walk, const pto_plan_t *plan);
bool pto_walk_next(pto_walk_t *walk);

/* The stages that must have ended at a rank before it begins the walk's current stage: all with an instance
 * below `fork`, and these three, which are instances; -1: none. A rank ends a lane's stages in order. */
typedef struct {
    int64_t fork;
    int64_t lane;  /* the previous stage of the same lane and node */
    int64_t chunk; /* in a pipeline: the chunk's previous stage, in lane - 1 */
    int64_t slot;  /* in a pipeline: the last stage of chunk k - depth, in the last lane */
} pto_walk_after_t;

pto_walk_after_t pto_walk_after(const pto_walk_t *walk);

/* The number of lanes of a node that has lanes; of the plan: the maximum over its nodes, else 1. */
int pto_node_lane_count(const pto_plan_t *plan, int index);
int pto_plan_lane_count(const pto_plan_t *plan);

/* The number of either nodes among the first `nodes` nodes. */
int pto_plan_either_count(const pto_plan_t *plan, int nodes);
/* The plan that is priced instead of one with either nodes: that of the strategy's static form
 * (pto_strategy_t.fixed) for the same request, which no policy can beat. A plan without either nodes itself.
 */
const pto_plan_t *pto_plan_fixed(const pto_plan_t *plan);

/* True if the current stage belongs to a collective that NCCL runs. pto_walk_leave_collective skips the rest
 * of that collective's stages, pto_walk_leave_loop the rest of the current loop. */
bool pto_walk_in_nccl(const pto_walk_t *walk);
void pto_walk_leave_collective(pto_walk_t *walk);
void pto_walk_leave_loop(pto_walk_t *walk);

/* Properties of a step. The source and target functions return NULL for a step that has none. */
const char *pto_step_name(pto_step_kind_t kind);
const pto_slice_t *pto_step_source(const pto_step_t *step);
const pto_slice_t *pto_step_target(const pto_step_t *step);
bool pto_step_reads(const pto_step_t *step, int buffer);
bool pto_step_writes(const pto_step_t *step, int buffer);
bool pto_step_is_message(const pto_step_t *step); /* send, receive */
bool pto_step_is_local(const pto_step_t *step);   /* copy, reduce */
bool pto_step_is_signal(const pto_step_t *step);  /* signal, wait */

/* One message, copy, reduction, signal or wait of one rank: a step together with one peer of its set. */
typedef struct {
    const pto_step_t *step;
    int64_t rank; /* the acting rank */
    int64_t core; /* its core */
    int64_t me;   /* its index in the step's group */
    int64_t k;
    int64_t ordinal; /* the peer's ordinal in its set (the j of a torus) */
    int64_t peer;    /* the peer's index in the group; -1 where the step has none */
    int64_t peer_rank;
} pto_action_t;

/* True if the rank acts in the step. Fills all of `action` but the peer. */
bool pto_step_acts(const pto_plan_t *plan, const pto_step_t *step, int64_t rank, int64_t k,
                   pto_action_t *action);

/* Enumerate the peers of an action's rank: call pto_step_peer with j from 0 to the count - 1. It returns
 * false if that member is the rank itself. */
int64_t pto_step_peer_count(const pto_plan_t *plan, const pto_action_t *action);
bool pto_step_peer(const pto_plan_t *plan, int64_t j, pto_action_t *action);

/* Whether a rank is among those peers. If it is, it becomes the action's peer. */
bool pto_step_reaches(const pto_plan_t *plan, pto_action_t *action, int64_t peer_rank);

/* Iterate over the rank's actions in the step: one for each peer other than itself, or a single one if the
 * step has no peers. Start with *next = 0; `action` is valid while the function returns true. */
bool pto_step_next(const pto_plan_t *plan, int64_t *next, pto_action_t *action);

/* Rank number of a member. The asking rank selects one group of the partition. */
int64_t pto_group_rank(const pto_plan_t *plan, const pto_group_t *group, int64_t asking_rank, int64_t index);
/* Index of a rank in its group; -1 if it is in none. */
int64_t pto_group_index(const pto_plan_t *plan, const pto_group_t *group, int64_t rank);

/* The unfolded group of this kind. */
pto_group_t pto_group_shape(const pto_layout_t *layout, pto_group_kind_t kind);

/* The value of an expression. */
int64_t pto_expr_value(pto_expr_t expr, int64_t k, int64_t core, int64_t peer);

/* The rank whose memory a slice refers to. */
int64_t pto_slice_holder(const pto_plan_t *plan, const pto_slice_t *slice, const pto_action_t *action);

/* Visit a slice's byte ranges in order, with adjacent ranges merged. `visit` returns false to stop. Offsets
 * are relative to the start of the holder's buffer. */
typedef bool (*pto_range_visit_t)(void *context, int64_t offset_bytes, int64_t bytes);
void pto_slice_visit(const pto_plan_t *plan, const pto_slice_t *slice, const pto_action_t *action,
                     pto_range_visit_t visit, void *context);
int64_t pto_slice_bytes(const pto_plan_t *plan, const pto_slice_t *slice, const pto_action_t *action);

/* Bytes of one block in a rank's buffer. */
int64_t pto_buffer_block_bytes(const pto_plan_t *plan, int buffer, int64_t rank, int64_t block);

/* A cache of the offsets of blocks of different sizes in the buffers of one rank. pto_slice_visit adds up the
 * sizes of all earlier blocks in each call; with the cache, this is done once per rank. `plan` is borrowed
 * until pto_offsets_destroy, for which NULL is legal. Errors: PTO_ERR_MEMORY. */
typedef struct pto_offsets pto_offsets_t;
pto_status_t pto_offsets_create(const pto_plan_t *plan, int64_t rank, pto_offsets_t **offsets,
                                pto_error_t *err);
void pto_offsets_destroy(pto_offsets_t *offsets);
/* pto_slice_visit; `offsets` may be of any rank, or NULL. */
void pto_slice_visit_by(const pto_plan_t *plan, const pto_offsets_t *offsets, const pto_slice_t *slice,
                        const pto_action_t *action, pto_range_visit_t visit, void *context);

/* Whether a rank holds the buffer, and whether that is the user's buffer rather than a temporary. */
bool pto_buffer_holds(const pto_plan_t *plan, int buffer, int64_t rank);
bool pto_buffer_is_users(const pto_plan_t *plan, int buffer, int64_t rank);

/* The index of a rank among a collective node's members; -1 if it is not a member. */
int64_t pto_collective_member(const pto_plan_t *plan, const pto_node_t *node, int64_t rank);

/* The collective node whose stages are the only users of a temporary; -1: none. The MPI library and NCCL use
 * memory of their own, so such a temporary exists only if the stages themselves run. */
int pto_buffer_home(const pto_plan_t *plan, int buffer);

/* Whether NCCL runs a collective of the plan, and whether a temporary is used only by the stages of such a
 * collective. NCCL has memory of its own, so that temporary is never allocated. */
bool pto_plan_uses_nccl(const pto_plan_t *plan);
bool pto_buffer_stands_in(const pto_plan_t *plan, int buffer);

/* Bytes of a buffer on a rank; 0: not held there. Of a double-buffered one: of one copy. */
int64_t pto_buffer_bytes(const pto_plan_t *plan, int buffer, int64_t rank);

/* Check that an executor can run the plan: buffers are double-buffered only in kernels, processes share GPU
 * memory and temporaries in host memory, messages are only in stages whose steps run at once, the MPI library
 * broadcasts in place, and lanes contain neither collectives nor kernels. Errors: PTO_ERR_INVALID_PLAN with
 * the stage and the cause. */
pto_status_t pto_plan_runnable(const pto_plan_t *plan, pto_error_t *err);

/* Whether an executor runs the plan in place if the user's input and output are one buffer; `check` then
 * proves the order of accesses for that case. Otherwise the executor copies the input to a temporary. */
bool pto_plan_may_be_in_place(const pto_plan_t *plan);

/* Whether no process accesses the user's buffers of another one, so that they may be any memory. */
bool pto_plan_is_private(const pto_plan_t *plan);
/* Whether a run is one kernel on each GPU or one call of NCCL, and nothing else. */
bool pto_plan_is_one_launch(const pto_plan_t *plan);

/* The maximum bytes that the plan's buffers need on any one GPU, and in host memory on any one node. */
void pto_plan_memory(const pto_plan_t *plan, int64_t *gpu_bytes, int64_t *host_bytes);

/* Offset and size of the k-th of `shares` near-equal shares of `bytes`, in whole grains. Earlier shares are
 * the larger ones; the remainder smaller than a grain goes to the last share. */
int64_t pto_share_offset(int64_t bytes, int64_t granularity_bytes, int64_t shares, int64_t k);
int64_t pto_share_bytes(int64_t bytes, int64_t granularity_bytes, int64_t shares, int64_t k);

/* The bytes of each chunk of a block that is divided into at most `chunks`: a multiple of 64, so of whole
 * elements; the last chunk may be shorter. And the number of these chunks, at least 1. */
int64_t pto_chunk_bytes(int64_t bytes, int64_t chunks);
int64_t pto_chunk_count(int64_t bytes, int64_t chunks);

PTO_API_END

#endif
