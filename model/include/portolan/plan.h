/* A plan: what every process does for one collective, described once and never changed.
 *
 * A plan is a sequence of stages. A stage holds steps; a step says which ranks act (a range of cores and a
 * range of group indices), with which peers (a set, as arithmetic) and on which bytes (slices of buffers). No
 * list in a plan grows with the number of ranks, so a plan of a million GPUs is as small as any. Matching
 * sends and receives stand in the same stage.
 *
 * The interpreters (price, check, print, later simulate and execute) read plans through the arithmetic at the
 * end of this header; none of them knows a strategy's name. */
#ifndef PORTOLAN_PLAN_H
#define PORTOLAN_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "portolan/api.h"
#include "portolan/layout.h"
#include "portolan/machine.h"
#include "portolan/scenario.h"
#include "portolan/status.h"

PTO_API_BEGIN

/* constant + loop k + power 2^k + inverse / 2^k + core c + peer p: k counts the iterations of the enclosing
 * loop, c is the acting rank's core on its GPU, p is the peer's index in the step's group. */
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
    PTO_GROUP_NODE_OWNERS,  /* every process of one node that holds user data, one group for each node */
    PTO_GROUP_COUNTERPARTS, /* the processes at the same place of every node, one group for each place */
    PTO_GROUP_COUNT
} pto_group_kind_t;

/* Folding makes a group a power of two: of its first 2 * fold members only the odd ones stay. Indices of a
 * folded group count those who stay. */
typedef struct {
    pto_group_kind_t kind;
    int64_t fold;
    int64_t size;             /* members, after folding */
    int64_t members_per_node; /* before folding; consecutive indices */
} pto_group_t;

/* --- buffers and slices ------------------------------------------------------------------------------- */

typedef enum { PTO_ROLE_IN, PTO_ROLE_OUT, PTO_ROLE_TEMPORARY, PTO_ROLE_COUNT } pto_role_t;

/* How many bytes a block has. */
typedef enum {
    PTO_BLOCKS_EQUAL,  /* block_bytes each */
    PTO_BLOCKS_ROW,    /* block j: what the holder sends to owner j */
    PTO_BLOCKS_COLUMN, /* block i: what owner i sends to the holder */
    PTO_BLOCKS_SHARE,  /* block_bytes are cut into shares for the group's members: the holder's share each */
    /* With m owners on each node, i and j their places on it: */
    PTO_BLOCKS_COUNTERPART, /* block b m + i: what owner i of the holder's node sends to the holder's place on
                               node b */
    PTO_BLOCKS_NODE_ROW,    /* block (b m + i) m + j: what owner i of the holder's node sends to owner j of
                               node b */
    PTO_BLOCKS_NODE_COLUMN, /* block (b m + i) m + j: what owner i of node b sends to owner j of the holder's
                               node */
    PTO_BLOCKS_COUNT
} pto_blocks_t;

/* Which blocks a process holds where destinations are dealt out: those whose distance from its own index is
 * its core modulo `deal`, counted forwards for what is sent and backwards for what is received. Stored one
 * after another by rising distance. */
typedef enum {
    PTO_DEAL_NONE,
    PTO_DEAL_FORWARD,
    PTO_DEAL_BACKWARD,
    PTO_DEAL_ORDINAL, /* by the block's own number */
    PTO_DEAL_COUNT
} pto_deal_t;

typedef struct {
    const char *name;
    pto_role_t role;
    pto_space_t space;
    bool pageable;      /* host memory that is not pinned, as a library's own */
    int64_t core_first; /* the cores of each GPU that hold one ... */
    int64_t core_count;
    pto_group_kind_t group; /* whose indices number the blocks and the holder */
    int64_t held_stride;    /* > 1: ... if their index is a multiple of it */
    int64_t user_stride; /* > 1: the user's own only where the index is a multiple of it, else a temporary */
    bool alternates;     /* temporaries: there are two of it, which runs use in turn, each every other one */
    pto_blocks_t blocks;
    int64_t block_count;
    int64_t block_bytes; /* PTO_BLOCKS_EQUAL, PTO_BLOCKS_SHARE: before it is cut */
    int64_t grain_bytes; /* the smallest piece that a split may make */
    int64_t split;       /* > 1: of every block only the core-th of `split` shares */
    pto_deal_t dealt;
    int64_t deal; /* processes that share the destinations */
} pto_buffer_t;

typedef enum {
    PTO_ANCHOR_ABSOLUTE, /* block 0 */
    PTO_ANCHOR_ME,       /* the acting rank's index in the step's group */
    PTO_ANCHOR_PEER,     /* the peer's */
    PTO_ANCHOR_HOLDER,   /* the index, in the buffer's group, of the rank that holds it */
    PTO_ANCHOR_ORDINAL,  /* the message's number in its peer set */
    PTO_ANCHOR_COUNT
} pto_anchor_t;

/* Which share of every block is meant, of `share_count` equal shares. */
typedef enum { PTO_SHARE_ALL, PTO_SHARE_MINE, PTO_SHARE_PEERS, PTO_SHARE_KIND_COUNT } pto_share_t;

/* Whose buffer a slice names. Others' buffers lie on the same node and are reached through shared memory. */
typedef enum {
    PTO_HOLDER_SELF,
    PTO_HOLDER_OWNER, /* core 0 of the acting rank's GPU */
    PTO_HOLDER_PEER,  /* the step's peer; a copy or reduction with peers is done for each of them */
    PTO_HOLDER_COUNT
} pto_holder_t;

/* Blocks base + w, or base - w where reversed, modulo the block count: w = first .. first + run - 1, then
 * from first + stride on, and so on, below `until`; base = anchor + offset, rounded down to a multiple of
 * `align`. With parts > 0 the buffer's only block is cut into that many, and these count as the blocks. With
 * bundle > 1 so many blocks that follow each other count as one. */
typedef struct {
    int buffer;
    pto_holder_t holder;
    pto_anchor_t anchor;
    pto_expr_t offset;
    pto_expr_t align; /* 0: none */
    pto_expr_t first;
    pto_expr_t run;
    pto_expr_t stride;
    pto_expr_t until;
    bool reversed;
    int64_t reverse_bits; /* > 0: the anchor's lowest bits are reversed first, as in Rabenseifner's halving */
    int64_t parts;
    int64_t bundle;
    pto_share_t share;
    int64_t share_count;
} pto_slice_t;

/* --- steps -------------------------------------------------------------------------------------------- */

typedef enum {
    PTO_PEERS_NONE,
    PTO_PEERS_SHIFT, /* me + sign d modulo size, for d = first, first + stride, ... below until; never oneself
                      */
    PTO_PEERS_XOR,   /* me xor first */
    PTO_PEERS_INDEX, /* indices first, first + stride, ... below until; never oneself */
    PTO_PEERS_TORUS, /* message j = first, first + stride, ... below until goes `node_shift` nodes on, to the
                        member `sign` * j places on among the node's members */
    PTO_PEERS_COUNT
} pto_peers_kind_t;

typedef struct {
    pto_peers_kind_t kind;
    pto_expr_t first;
    pto_expr_t stride;
    pto_expr_t until;
    int64_t node_shift;
    int64_t sign; /* 1 or -1 */
} pto_peers_t;

typedef enum {
    PTO_STEP_SEND,
    PTO_STEP_RECV,
    PTO_STEP_COPY,
    PTO_STEP_REDUCE, /* target = target op source; with a source of k times the target's bytes, all k pieces
                      */
    PTO_STEP_SIGNAL,
    PTO_STEP_WAIT,
    PTO_STEP_LAUNCH, /* of the kernel that does what follows in its node */
    PTO_STEP_COUNT
} pto_step_kind_t;

typedef struct {
    pto_step_kind_t kind;
    int64_t core_first; /* the cores of each GPU that act ... */
    int64_t core_count;
    int group;            /* ... as members of this group ... */
    pto_expr_t who_first; /* ... whose index is who_first, who_first + who_stride, ... below who_until */
    pto_expr_t who_stride;
    pto_expr_t who_until;
    pto_peers_t peers;
    pto_slice_t source; /* send, copy, reduce */
    pto_slice_t target; /* recv, copy, reduce */
    bool fresh;      /* reduce: the target's own bytes don't count: target = the source's pieces combined */
    bool even_empty; /* messages of no bytes are sent too, as MPI's pairwise exchange does */
    int flag;        /* signal, wait */
    bool in_kernel;  /* the threads of a kernel do it, not the process; the builder sets it */
} pto_step_t;

typedef enum { PTO_ORDER_SEQUENCE, PTO_ORDER_AT_ONCE, PTO_ORDER_COUNT } pto_order_t;

typedef struct {
    const char *name;
    pto_order_t order;
    int step_first;
    int step_count;
} pto_stage_t;

/* A plan's body is a list of nodes; a loop, a collective or a kernel holds the `span` nodes that follow it.
 *
 * What stands in a kernel node is one kernel on each GPU. Its copies are loads and stores, over a link where
 * the peer's memory is another GPU's, and its signals are flags in GPU memory: no process has a part in it.
 * Its thread blocks each do their own part of every copy and reduction, and signal and wait for the same part
 * of their peers' alone. So bytes that one step writes and another uses are cut into the same pieces by both:
 * ranges of a kernel's steps are the same or don't overlap, and check proves that. Within a run a flag goes
 * from one process to another at most once. */
typedef enum {
    PTO_NODE_STAGE,
    PTO_NODE_LOOP,       /* k = from .. to - 1 */
    PTO_NODE_COLLECTIVE, /* these stages are one collective of the MPI library, of NCCL or of ours */
    PTO_NODE_KERNEL,     /* the first stage launches it */
    PTO_NODE_COUNT
} pto_node_kind_t;

/* Who does a collective. `check` walks the stages that stand for it whoever that is; `price` and `simulate`
 * do so but for NCCL's, whose cost is the machine file's own (`nccl`). */
typedef enum {
    PTO_DONE_BY_US, /* one of our algorithms: the stages themselves */
    PTO_DONE_BY_LIBRARY,
    PTO_DONE_BY_NCCL,
    PTO_DONE_BY_COUNT
} pto_done_by_t;

/* A collective node is one call with MPI's meaning. Its members are those of `group` on the cores that it
 * names; member 0 is the root. The call reads `in` of each member and writes `out`, and nothing else:
 * - allreduce, reduce, broadcast: each slice is the whole vector; the call is in place where both name the
 *   same buffer. A reduction in place leaves the vectors of all but the root undefined.
 * - alltoall, alltoallv: `in` is the block for a peer, `out` the block from it (as PTO_ANCHOR_PEER).
 * - messages: the blocks of one message, by its number (as PTO_ANCHOR_ORDINAL).
 * The stages in the node show one way to do it. They use these slices and temporaries that no other part of
 * the plan uses. `check` proves that they do this collective; the rest of the plan is proved with the
 * collective's meaning alone, so it holds whoever runs the call. */
typedef struct {
    pto_node_kind_t kind;
    int span;
    int stage;    /* PTO_NODE_STAGE: its index */
    int64_t from; /* PTO_NODE_LOOP */
    int64_t to;
    bool power; /* PTO_NODE_LOOP: its body uses 2^k, so `to` is at most 62 */
    int group;  /* PTO_NODE_COLLECTIVE, PTO_NODE_KERNEL */
    /* PTO_NODE_COLLECTIVE alone: */
    pto_done_by_t by;
    pto_collective_t collective;
    int64_t core_first;
    int64_t core_count;
    pto_slice_t in;
    pto_slice_t out;
} pto_node_t;

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
    int64_t bytes;              /* per destination, per message, or of the vector */
    int64_t messages;           /* `messages` only */
    int64_t unique_bytes;       /* `messages` only; 0: all */
    const pto_counts_t *counts; /* alltoallv; NULL: equal */
    const pto_strategy_t *strategy;
    const pto_algorithm_t *algorithm;
    bool
        by_library; /* the collective inside is the MPI library's own, where the strategy leaves the choice */
    bool staged;    /* the library itself moves GPU buffers through host memory of its own */
} pto_request_t;

/* Build and seal a plan; destroy it with pto_plan_destroy (NULL is legal).
 * Errors: PTO_ERR_NOT_APPLICABLE with the reason; PTO_ERR_RANGE for a request that makes no sense: no
 * strategy or algorithm, a value that is no enumerator, a negative size, a layout without processes, a matrix
 * of another order, or more bytes on a node than can be counted (2^57); PTO_ERR_MEMORY. */
pto_status_t pto_plan_create(const pto_request_t *request, pto_plan_t **plan, pto_error_t *err);
void pto_plan_destroy(pto_plan_t *plan);

/* --- reading a plan ------------------------------------------------------------------------------------ */

const pto_request_t *pto_plan_request(const pto_plan_t *plan);
int pto_plan_node_count(const pto_plan_t *plan);
const pto_node_t *pto_plan_node(const pto_plan_t *plan, int index);
const pto_stage_t *pto_plan_stage(const pto_plan_t *plan, int index);
const pto_step_t *pto_plan_step(const pto_plan_t *plan, int index);
int pto_plan_buffer_count(const pto_plan_t *plan);
const pto_buffer_t *pto_plan_buffer(const pto_plan_t *plan, int index);
const pto_group_t *pto_plan_group(const pto_plan_t *plan, int index);
int pto_plan_flag_count(const pto_plan_t *plan);
const char *pto_plan_flag_name(const pto_plan_t *plan, int flag);

/* A number that is equal for equal inputs and stages, and in practice for no others (64-bit FNV-1a). */
uint64_t pto_plan_digest(const pto_plan_t *plan);

/* How much a plan does at most, on all ranks together; INT64_MAX where a count does not fit. Counted by
 * arithmetic: it takes as long as the plan has stages, whatever the number of ranks. */
typedef struct {
    int64_t messages;
    int64_t stages;        /* that the ranks pass; each iteration of a loop counts */
    int64_t local_actions; /* copies, reductions, signals, waits and launches */
} pto_plan_size_t;

pto_plan_size_t pto_plan_size(const pto_plan_t *plan);

/* Where the walk over a plan's stages stands: one stage of one iteration at a time, in order. */
typedef struct {
    const pto_plan_t *plan;
    const pto_stage_t *stage;
    int64_t k;        /* of the enclosing loop; 0 outside */
    int64_t instance; /* counts the stages met so far, from 0 */
    int collective;   /* index of the enclosing PTO_NODE_COLLECTIVE, or -1 */
    int kernel;       /* index of the enclosing PTO_NODE_KERNEL, or -1 */
    int next;         /* the walk's own */
    int loop;
    int loop_end;
    int collective_end;
    int kernel_end;
} pto_walk_t;

void pto_walk_begin(pto_walk_t *walk, const pto_plan_t *plan);
bool pto_walk_next(pto_walk_t *walk);

/* Whether the stage at hand stands for NCCL's own collective; pass over all others that do. */
bool pto_walk_in_nccl(const pto_walk_t *walk);
void pto_walk_leave_collective(pto_walk_t *walk);

/* What a kind of step does. A step without a source or a target has NULL there. */
const char *pto_step_name(pto_step_kind_t kind);
const pto_slice_t *pto_step_source(const pto_step_t *step);
const pto_slice_t *pto_step_target(const pto_step_t *step);
bool pto_step_reads(const pto_step_t *step, int buffer);
bool pto_step_writes(const pto_step_t *step, int buffer);
bool pto_step_is_message(const pto_step_t *step); /* send, receive */
bool pto_step_is_local(const pto_step_t *step);   /* copy, reduce */
bool pto_step_is_signal(const pto_step_t *step);  /* signal, wait */

/* One message, copy, reduction, signal or wait of one rank: a step, and which peer of its set. */
typedef struct {
    const pto_step_t *step;
    int64_t rank; /* number of the acting rank */
    int64_t core; /* its core */
    int64_t me;   /* its index in the step's group */
    int64_t k;
    int64_t ordinal; /* number of the peer in its set (the j of a torus) */
    int64_t peer;    /* the peer's index in the group; -1 where the step has none */
    int64_t peer_rank;
} pto_action_t;

/* Whether the rank acts in a step; fills everything of `action` but the peer. */
bool pto_step_acts(const pto_plan_t *plan, const pto_step_t *step, int64_t rank, int64_t k,
                   pto_action_t *action);

/* Peers of an action's rank: call with j from 0 to the count - 1; false where that member is oneself. */
int64_t pto_step_peer_count(const pto_plan_t *plan, const pto_action_t *action);
bool pto_step_peer(const pto_plan_t *plan, int64_t j, pto_action_t *action);

/* All that the rank does in the step: one action for each peer but itself, or one where the step has none.
 * Begin with *next = 0, and use `action` while it returns true. */
bool pto_step_next(const pto_plan_t *plan, int64_t *next, pto_action_t *action);

/* Rank number of a member, given the rank that asks (which picks one group of the partition). */
int64_t pto_group_rank(const pto_plan_t *plan, const pto_group_t *group, int64_t asking_rank, int64_t index);
/* Index of a rank in its group; -1 where it has none. */
int64_t pto_group_index(const pto_plan_t *plan, const pto_group_t *group, int64_t rank);

/* Members of a whole group of this kind. */
pto_group_t pto_group_shape(const pto_layout_t *layout, pto_group_kind_t kind);

int64_t pto_expr_value(pto_expr_t expr, int64_t k, int64_t core, int64_t peer);

/* The rank whose memory a slice names. */
int64_t pto_slice_holder(const pto_plan_t *plan, const pto_slice_t *slice, const pto_action_t *action);

/* Visit a slice's byte ranges in order, adjacent ones merged; `visit` returns false to stop.
 * Offsets start at the beginning of the holder's buffer. */
typedef bool (*pto_range_visit_t)(void *context, int64_t offset_bytes, int64_t bytes);
void pto_slice_visit(const pto_plan_t *plan, const pto_slice_t *slice, const pto_action_t *action,
                     pto_range_visit_t visit, void *context);
int64_t pto_slice_bytes(const pto_plan_t *plan, const pto_slice_t *slice, const pto_action_t *action);

/* Whether a rank has the buffer, and whether what it has is the user's own rather than a temporary. */
bool pto_buffer_holds(const pto_plan_t *plan, int buffer, int64_t rank);
bool pto_buffer_is_users(const pto_plan_t *plan, int buffer, int64_t rank);

/* The index of a rank among a collective node's members; -1 where it takes no part. */
int64_t pto_collective_member(const pto_plan_t *plan, const pto_node_t *node, int64_t rank);

/* The node of the collective whose stages alone use a temporary: whoever runs that call has memory of its
 * own, so the temporary exists only where the stages themselves run. -1: none. */
int pto_buffer_home(const pto_plan_t *plan, int buffer);

/* Whether the plan has a collective of NCCL's, and whether a temporary is only used by the stages of one:
 * NCCL has memory of its own, so the temporary is never allocated. */
bool pto_plan_uses_nccl(const pto_plan_t *plan);
bool pto_buffer_stands_in(const pto_plan_t *plan, int buffer);

/* Bytes of a whole buffer on a rank that holds it, of one of the two where it alternates; 0 on others. */
int64_t pto_buffer_bytes(const pto_plan_t *plan, int buffer, int64_t rank);

/* Whether the plan keeps within what an executor can run: buffers alternate in kernels alone, processes share
 * GPU memory alone, messages stand in stages whose steps run at once, and the MPI library broadcasts in
 * place. Errors: PTO_ERR_INVALID_PLAN with the stage and the cause. */
pto_status_t pto_plan_runnable(const pto_plan_t *plan, pto_error_t *err);

/* Most bytes that the plan's buffers need on any one GPU, and in host memory on any one node. */
void pto_plan_memory(const pto_plan_t *plan, int64_t *gpu_bytes, int64_t *host_bytes);

/* The k-th of `shares` near-equal shares of `bytes`, in whole grains: its offset, and its size. Earlier
 * shares are the larger ones; bytes that make no whole grain go to the last. */
int64_t pto_share_offset(int64_t bytes, int64_t grain_bytes, int64_t shares, int64_t k);
int64_t pto_share_bytes(int64_t bytes, int64_t grain_bytes, int64_t shares, int64_t k);

PTO_API_END

#endif
