/* The state of a check, and the functions that the files of this folder share.
 *
 * A check executes a plan on symbols, which is called walking it. It walks one stage after another, each for
 * all ranks. For every byte range of every buffer, it keeps the set of owners whose inputs the range combines
 * (memory.h). Vector clocks prove that accesses to shared memory are ordered (clocks.h). At the end, the
 * outputs must be what the collective defines. either.c has pto_check; proof.c chooses the method, check.c
 * has the walk, stage.c one stage, and move.c the effect of its steps; the other files check single aspects.
 *
 * Arrays that are "ranks x buffers" are indexed by rank * buffers + buffer, which the files call a place. A
 * lane is one of the parallel branches or pipeline stages that a rank works on at the same time. */
#ifndef PTO_CHECK_INTERNAL_H
#define PTO_CHECK_INTERNAL_H

#include "check/clocks.h"
#include "check/either.h"
#include "check/memory.h"

/* A byte range of the buffer of rank `holder` that a step reads or writes. */
typedef struct {
    int64_t holder;
    int buffer;
    int64_t begin;
    int64_t end;
    bool write;
} pto_touch_t;

typedef struct {
    pto_touch_t *item;
    int count;
    size_t capacity;
} pto_touches_t;

/* One end of a message: its send or its receive, identified by its step and the peer's ordinal in that step's
 * set of peers. */
typedef struct {
    int32_t from;    /* the sender's rank */
    int32_t to;      /* the receiver's */
    int32_t step;    /* its number in the stage */
    int32_t to_node; /* of a send to another node in a proof by node 0: that node. `from` and `to` are then
                        those of the same send as node 0 receives it (stage.c). */
    bool is_range;   /* the bytes are one range of the rank's own buffer, from `begin` on */
    int64_t ordinal;
    int64_t begin;
    int64_t bytes;
} pto_end_t;

typedef struct {
    pto_end_t *item;
    int64_t count;
    size_t capacity;
} pto_ends_t;

/* A pending signal. */
typedef struct pto_signal {
    struct pto_signal *next;
    int64_t from;
    int64_t instance; /* pto_walk_t.instance of the stage that raised it */
    int flag;
    uint32_t *clock;
} pto_signal_t;

/* The pending signals to one rank, oldest first. */
typedef struct {
    pto_signal_t *first;
    pto_signal_t *last;
} pto_signals_t;

/* The pieces into which a kernel's steps divide a buffer, by increasing first byte (kernel.c). */
typedef struct pto_piece_use pto_piece_use_t;
typedef struct {
    pto_piece_use_t *item;
    int count;
    size_t capacity;
    int64_t longest; /* the maximum of bytes from the first to the last of a piece */
} pto_piece_uses_t;

/* Work done in this thread, for tests: pieces that were compared. */
extern _Thread_local int64_t pto_pieces_visits;

/* How far a rank is in a stage whose steps are executed in sequence. */
typedef struct {
    int step;     /* the next one */
    int64_t peer; /* of a wait: the next one */
} pto_progress_t;

/* The methods of proof. The first two may fail for a correct plan: the next one then decides. */
typedef enum {
    PTO_PROOF_OF_ONE_NODE,     /* all nodes do the same (symmetry.c), and clocks are as in the next method */
    PTO_PROOF_BY_GROUP_CLOCKS, /* all ranks are walked, with clocks of those that share memory */
    PTO_PROOF_IN_FULL,         /* all ranks are walked, and each clock has entries for all of them */
    PTO_PROOF_COUNT
} pto_proof_t;

/* How the contents of a buffer rotate from one node to the next (symmetry.c): the buffer consists of rounds,
 * and within each round, all pieces move cyclically by `by` pieces. */
typedef struct {
    int64_t by;
    int64_t pieces; /* in a round: the buffer's blocks, or the parts of its only block */
    int64_t rounds; /* 1, or the number of shares of the only block */
} pto_rotation_t;

typedef struct pto_checker {
    const pto_plan_t *plan;
    const pto_request_t *request;
    const pto_choices_t *choices;     /* of either nodes */
    int first_lane[PTO_BRANCH_COUNT]; /* the first lane that takes this branch of the current either node, or
                                         -1 */
    int64_t ranks;
    int64_t walked;           /* the number of ranks that are walked: all, or those of node 0 */
    pto_rotation_t *rotation; /* by buffer (pto_check_nodes_alike); NULL: all nodes are walked */
    pto_plan_t *unit_plan; /* the plan with parts of one element each, if parts of vectors rotate; or NULL */
    int64_t source_node;   /* whose bytes are read now; in a proof by node 0, node 0's stand for them */
    int lanes;             /* of each rank */
    int buffers;
    pto_proof_t proof;
    pto_walk_t walk;
    int lanes_node;  /* the node whose lanes are being walked; -1: none */
    uint32_t **slot; /* [slot of a pipeline][rank]: the last lane's clock; NULL: no such pipeline */
    int64_t slot_count;
    pto_contents_t *contents; /* ranks x buffers */
    pto_contents_t *inside;   /* ranks x buffers, as seen by the stages of a collective node; or NULL */
    int collective;           /* the node whose stages are being walked; -1: none */
    bool leaving;             /* its stages have just ended */
    bool unordered;           /* a data race was found */
    int64_t *bytes;           /* ranks x buffers; -1 if the rank holds none */
    pto_trace_t *trace;       /* ranks x buffers, twice: the second half is for the alternate copies */
    pto_piece_uses_t *piece;  /* ranks x buffers, for the current kernel */
    int kernel;               /* the node of `piece` */
    int in, out;              /* the user's buffers of a plan that may run in place, as one buffer; or -1 */
    int not_counted;       /* the one of these that is shared only because it may be the other one; or -1 */
    bool *shared;          /* buffers used by other ranks than their holders, or by lanes */
    pto_signals_t *signal; /* [the rank that waits] */
    pto_progress_t *progress;
    int64_t *tally; /* memory for a list of ranks + 1 ranks */
    pto_sets_t sets;
    pto_clocks_t clocks;
    bool inside_ordered; /* the collective's stages share memory or have lanes: `clocks` and `trace` are those
                            of its stages, outer_clocks and outer_trace those of the plan */
    pto_clocks_t outer_clocks;
    pto_trace_t *outer_trace;
    pto_touches_t source; /* this and the lists below are memory for single steps */
    pto_touches_t target;
    pto_touches_t touched;
    pto_spans_t moved;
    pto_spans_t present;
    pto_ends_t sends;
    pto_ends_t receives;
    int run;      /* from 0; plans with shared memory are walked for several runs, one after another */
    bool repeats; /* this run moves the same data as the first one: only the order of accesses is proved */
    pto_check_report_t report;
    pto_status_t status;
    pto_error_t *err;
} pto_checker_t;

/* Reports a fault of a rank in the current stage. Returns false. */
bool pto_check_fail(pto_checker_t *checker, int64_t rank, const char *format, ...) PTO_PRINTF_LIKE(3, 4);
bool pto_check_out_of_memory(pto_checker_t *checker);
static inline const char *pto_check_buffer_name(const pto_checker_t *checker, int buffer) {
    return pto_plan_buffer(checker->plan, buffer)->name;
}

/* Returns the number of consecutive runs to walk. `shared`: by buffer. */
int pto_check_runs(const pto_plan_t *plan, const bool *shared);
/* Errors: PTO_ERR_TOO_LARGE. */
pto_status_t pto_check_ranks(int64_t ranks, pto_error_t *err);

/* Checks that need no walk: everything a step names exists, and its arithmetic cannot fail. */
bool pto_check_parts(pto_checker_t *checker);

/* Returns how many ranks, numbered one after another, may use each other's memory: all of a node, those of a
 * GPU, or one. */
int64_t pto_check_sharing_ranks(const pto_plan_t *plan);

/* Checks of values that depend on the iteration and the rank. Call the first one before asking whether a rank
 * acts in a step, the second one for each peer in its set, and the third one before walking a slice. */
bool pto_check_actor(pto_checker_t *checker, const pto_step_t *step, int64_t rank);
bool pto_check_peer(pto_checker_t *checker, const pto_action_t *action);
bool pto_check_slice(pto_checker_t *checker, const pto_slice_t *slice, const pto_action_t *action);

/* Checks that a slice names a buffer, and valid parts of it. */
bool pto_check_slice_named(pto_checker_t *checker, const pto_slice_t *slice);

/* Checks of collective nodes: once for a plan; before the stages of a node (by its number); after them. */
bool pto_check_collectives(pto_checker_t *checker);
bool pto_check_enter_collective(pto_checker_t *checker, int node_number);
bool pto_check_leave_collective(pto_checker_t *checker);
void pto_check_end_order(pto_checker_t *checker);

/* Returns whether accesses and messages of the current stage have an order to prove. They have none if other
 * ranks see them only as part of a collective's call. */
static inline bool pto_check_is_ordered(const pto_checker_t *checker) {
    return checker->collective < 0 || checker->inside_ordered;
}

/* Returns the clock (its number in checker->clocks) of a rank in the current lane. */
static inline int64_t pto_check_clock(const pto_checker_t *checker, int64_t rank) {
    return rank + checker->walk.lane * checker->walked;
}

/* Proofs by node 0 (symmetry.c). Returns whether all nodes do the same; if so, sets each buffer's rotation.
 */
bool pto_check_nodes_alike(const pto_plan_t *plan, pto_rotation_t *rotation);
/* If the plan's collective is on vectors, makes the checker walk a plan with parts of one element each. */
bool pto_check_make_unit_plan(pto_checker_t *checker);
/* Returns whether a span of such a vector is at its offset in the input. It must be: the parts of the plan
 * itself differ in size, so data at another offset would not fit. */
bool pto_check_keeps_place(const pto_checker_t *checker, const pto_touch_t *target,
                           const pto_content_t *span);
/* Replaces the contents of node 0 in checker->moved by those that node checker->source_node has there. */
bool pto_check_rotate_moved(pto_checker_t *checker, int64_t holder);
/* Returns where a range of node 0 begins on another node; -1 if it is not one range there. */
int64_t pto_check_rotated_begin(const pto_checker_t *checker, const pto_touch_t *range, int64_t node);
/* Returns whether the next node combines a vector in the same order as a rank of node 0 does. */
bool pto_check_next_node_order(pto_checker_t *checker, int64_t rank, int buffer);

static inline bool pto_check_is_walked(const pto_checker_t *checker, int64_t rank) {
    return rank < checker->walked;
}

/* Proves a plan for these choices of its either nodes: pto_check without them. */
pto_status_t pto_check_assigned(const pto_plan_t *plan, const pto_choices_t *choices,
                                pto_check_report_t *report, pto_error_t *err);
/* The same, by one method: PTO_ERR_NOT_APPLICABLE if the method is not for this plan. Sets `*unordered` if
 * the method found a data race that a method with more clocks may refute. */
pto_status_t pto_check_by_method(const pto_plan_t *plan, pto_proof_t proof, const pto_choices_t *choices,
                                 pto_check_report_t *report, bool *unordered, pto_error_t *err);

/* Orders, in each rank, what it has done in one lane before what it will do in another. */
void pto_check_order_lanes(pto_checker_t *checker, int from_lane, int to_lane);
/* Checks of lanes: once for a plan; before each stage; after each stage; after the last one. */
bool pto_check_lanes(pto_checker_t *checker);
bool pto_check_begin_lanes(pto_checker_t *checker);
void pto_check_end_lanes(pto_checker_t *checker);
void pto_check_leave_lanes(pto_checker_t *checker);

/* Walks the current stage for all ranks. */
bool pto_check_stage(pto_checker_t *checker);

/* Checks of kernels, once for a plan. */
bool pto_check_kernels(pto_checker_t *checker);
/* Checks that a copy or reduction, with its ranges in checker->source and checker->target, divides buffers
 * into the same pieces as all others of its kernel. */
bool pto_check_pieces(pto_checker_t *checker, const pto_action_t *action);
void pto_check_forget_pieces(pto_checker_t *checker);

/* Checks that the action may use a slice's ranges, and adds them to `touches`. */
bool pto_check_collect(pto_checker_t *checker, const pto_slice_t *slice, const pto_action_t *action,
                       bool write, pto_touches_t *touches);
int64_t pto_check_touched_bytes(const pto_touches_t *touches);

/* Records an access to a shared buffer. */
bool pto_check_access(pto_checker_t *checker, int64_t rank, const pto_touch_t *touch);

/* Returns the first buffer of a role; -1: none. */
int pto_check_role(const pto_plan_t *plan, pto_role_t role);
/* Finds the user's two buffers that may be one. */
void pto_check_find_aliases(pto_checker_t *checker);
/* Returns the other buffer that may be the same memory; -1: none. */
int pto_check_find_alias(const pto_checker_t *checker, const pto_touch_t *touch);
static inline int pto_check_alias(const pto_checker_t *checker, const pto_touch_t *touch) {
    bool is_one = touch->buffer == checker->in || touch->buffer == checker->out;
    return is_one ? pto_check_find_alias(checker, touch) : -1;
}
/* Returns the buffer that stands for the memory of both. */
static inline int pto_check_memory(const pto_checker_t *checker, const pto_touch_t *touch) {
    bool is_both = touch->buffer == checker->in && pto_check_alias(checker, touch) >= 0;
    return is_both ? checker->out : touch->buffer;
}
/* Returns whether target number `at` is copied or reduced from the same bytes of the other buffer: in place,
 * each byte then depends on itself only. */
bool pto_check_is_onto_itself(const pto_checker_t *checker, const pto_touches_t *sources,
                              const pto_touches_t *targets, int at);
/* Marks the input as overwritten where the output has been given other data. Uses checker->present and
 * checker->moved. */
void pto_check_overwrite_input(pto_checker_t *checker, const pto_touch_t *target);
static inline void pto_check_overwrite(pto_checker_t *checker, const pto_touch_t *target) {
    if (target->buffer == checker->out)
        pto_check_overwrite_input(checker, target);
}

/* Moves the bytes of checker->source to those of checker->target, in order. In a reduction the source may be
 * k times as long: its k pieces are then combined. */
bool pto_check_move_touched(pto_checker_t *checker, const pto_action_t *reader, const pto_action_t *writer);

/* Moves a range to one of equal length. */
bool pto_check_move(pto_checker_t *checker, const pto_touch_t *source, const pto_touch_t *target);
/* Copies a vector to `result`, from offset 0 on, or reduces it into the contents there. */
bool pto_check_read_vector(pto_checker_t *checker, const pto_touch_t *vector, pto_contents_t *result,
                           bool reduce);
/* Writes this result to a range. */
bool pto_check_write_vector(pto_checker_t *checker, const pto_contents_t *result, const pto_touch_t *vector);

/* Returns whether a range of `contents` (the plan's, or checker->inside) holds the expected bytes. */
bool pto_check_expect(pto_checker_t *checker, pto_contents_t *contents, int64_t rank, int buffer,
                      pto_content_t wanted);
/* Returns whether two ranges with the same sum were combined in the same order. */
bool pto_check_same_order(pto_checker_t *checker, pto_contents_t *contents, const pto_touch_t *one,
                          const pto_touch_t *other);

enum { PTO_CONTENTS_TEXT_MAX = 96 };

static inline pto_contents_t *pto_check_contents(const pto_checker_t *checker, int64_t rank, int buffer) {
    pto_contents_t *contents = checker->collective >= 0 ? checker->inside : checker->contents;
    return &contents[rank * checker->buffers + buffer];
}

#endif
