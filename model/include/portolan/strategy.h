/* Strategies and algorithms: the registries, and what a new one must provide.
 *
 * A strategy is the route that data takes; an algorithm is the pattern of the collective inside it. Each is
 * one file that holds one descriptor, and one line in its registry's list, or is registered by a program. */
#ifndef PORTOLAN_STRATEGY_H
#define PORTOLAN_STRATEGY_H

#include "portolan/api.h"
#include "portolan/plan.h"

PTO_API_BEGIN

typedef struct pto_builder pto_builder_t;

/* What an algorithm works on: a group of n members that all run it on buffers of their own. Algorithms see
 * only the index (as PTO_ANCHOR_ME) and n, so they nest in any group. */
typedef struct {
    int group;
    int64_t n;
    int64_t core_first; /* the cores that run it, each k-th core in its own group where these are
                           PTO_GROUP_CORES */
    int64_t core_count;
    int in;       /* alltoall(v): n blocks, block j goes to member j */
    int out;      /* alltoall(v): n blocks, block i came from member i; else the vector, in place: allreduced,
                     reduced      to member 0 (the others' are then anything) or broadcast from it */
    int64_t deal; /* > 1: only the shifts that are the core modulo `deal` carry bytes */
    int64_t bundle; /* > 1: so many blocks of `in` and `out` that follow each other stand for each of the n */
} pto_exchange_t;

struct pto_algorithm {
    const char *name;
    const char *summary;
    unsigned collectives; /* bits 1 << pto_collective_t */
    bool relays;          /* members pass on blocks that are not their own */
    bool direct;          /* stands for none, in strategies that have no collective inside; `build` is NULL */
    bool nccl;            /* stands for NCCL's own, in strategies that call it; `build` is NULL */
    void (*build)(pto_builder_t *builder, const pto_exchange_t *exchange);
};

struct pto_strategy {
    const char *name;
    const char *summary;
    unsigned collectives;
    bool splits; /* several processes of a GPU take part, so owners_per_gpu must be 1 and cores_per_gpu 2 or
                    more */
    bool direct; /* has no collective inside, so goes with the algorithm `direct` alone */
    bool nccl;   /* its collective is NCCL's own, so it goes with the algorithm `nccl` alone */
    pto_space_t collective_space; /* where the data lies during the inner collective */
    int64_t grain_bytes; /* shares of a vector are whole multiples of it, but for the last; 0: elements */
    pto_status_t (*applicable)(const pto_request_t *request,
                               pto_error_t *err); /* what else it needs; or NULL */
    void (*build)(pto_builder_t *builder, const pto_request_t *request);
};

/* The collectives, as bits, that a strategy and an algorithm serve together. */
static inline unsigned pto_strategy_with(const pto_strategy_t *strategy, const pto_algorithm_t *algorithm) {
    bool fits = strategy->direct == algorithm->direct && strategy->nccl == algorithm->nccl;
    return fits ? strategy->collectives & algorithm->collectives : 0;
}

/* The one algorithm that a strategy goes with; NULL: any that is for its collective. */
static inline const char *pto_strategy_only_with(const pto_strategy_t *strategy) {
    return strategy->direct ? "direct" : strategy->nccl ? "nccl" : NULL;
}

/* Make a strategy or an algorithm of the caller's own known, to be found, listed, predicted, checked and run
 * like the built-in ones. It is borrowed until the process ends; builder.h has what its `build` calls. Call
 * them before any other function of the library uses the registries, from one thread.
 * Errors: PTO_ERR_RANGE (no name, a name that is taken, no `build`, no collective), PTO_ERR_TOO_LARGE above
 * PTO_REGISTERED_MAX of a kind. */
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

/* Whether the strategy and the algorithm can serve the request at all (memory apart).
 * Errors: PTO_ERR_NOT_APPLICABLE with a reason for the user. */
pto_status_t pto_strategy_applicable(const pto_request_t *request, pto_error_t *err);

PTO_API_END

#endif
