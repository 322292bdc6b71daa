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

/* What an algorithm works on: a group of n members, each of which runs it on buffers of its own. Algorithms
 * see only the index (PTO_ANCHOR_ME) and n, so they can run in any group. Block numbers count modulo the
 * number of blocks, so the one block of an allgather's input or of a reduce_scatter's output is its block j
 * for every j. */
typedef struct {
    int group;
    int64_t n;
    int64_t core_first; /* these run it; with PTO_GROUP_CORES each k-th core in its own group */
    int64_t core_count;
    int in;  /* alltoall(v), reduce_scatter: n blocks, block j goes to member j; allgather: one block, which
                goes to all; gather, scatter: the same, but only member 0 has the n blocks */
    int out; /* alltoall(v), allgather: n blocks, block i is from member i. reduce_scatter: one block,
                reduced. Else the vector, in place: allreduced, reduced to member 0 (the others' vectors are
                then undefined) or broadcast from it */
    int64_t cyclic_count; /* > 1: only shifts congruent to the core modulo `deal` carry bytes */
    int64_t bundle;       /* > 1: `bundle` consecutive blocks of `in` and `out` form each of the n blocks */
} pto_exchange_t;

/* The bits of the collectives that are allgathers: of equal blocks, and of blocks that may differ. */
#define PTO_ALLGATHERS (1u << PTO_COLLECTIVE_ALLGATHER | 1u << PTO_COLLECTIVE_ALLGATHERV)

struct pto_algorithm {
    const char *name;
    const char *summary;
    unsigned collectives; /* bits 1 << pto_collective_t */
    bool relays;          /* members forward blocks that are not their own */
    bool segmented;       /* works on the request's segments in a pipeline */
    bool cuts;            /* works on the request's chunks in loops of its own, unless the library runs it */
    bool shares_host;     /* members use each other's memory, so the data must be in host memory */
    bool chunked;         /* has no loops, so that it can be a part of a pipeline of chunks */
    bool only_named;      /* a library's habit, never cheaper than another: tried only where it is named */
    bool joins;           /* sends the messages of a second pattern in host memory with its own */
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
    bool by_hand; /* our own algorithm runs its collective, wherever the MPI library could */
    bool chunked; /* cuts the data into the request's `chunks` */
    bool joins;   /* has one inner collective, which a second pattern can join */
    /* Stages the data of the request's `staged_members`, of a group of this many members; NULL: does not. */
    int64_t (*stages)(const pto_request_t *request);
    /* Its plans have either nodes: this is the same with fixed numbers of members, whose price is used; NULL:
     * has none. */
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
 * the built-in ones. It is borrowed until the process ends. builder.h has the functions that its `build`
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

/* Whether the strategy, with the algorithm, can cut the data into chunks; whether it is the algorithm that
 * does, inside the collective. */
bool pto_request_may_be_cut(const pto_request_t *request);
bool pto_request_cuts_inside(const pto_request_t *request);

/* Check that the strategy and the algorithm support the request (memory aside). Errors:
 * PTO_ERR_NOT_APPLICABLE with a reason for the user. */
pto_status_t pto_strategy_applicable(const pto_request_t *request, pto_error_t *err);

PTO_API_END

#endif
