/* Mapping: which process is placed where (node, GPU, core), so that processes with much traffic are near each
 * other. A mapper is a pure function of the traffic between processes and of the costs between places.
 * pto_map runs the mappers and prices the mappings that they propose, for `portolan map`. Costs are in the
 * unit of the metric (pto_metric_t), volumes in bytes. */
#ifndef PORTOLAN_MAP_H
#define PORTOLAN_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "portolan/api.h"
#include "portolan/machine.h"
#include "portolan/plan.h"
#include "portolan/scenario.h"

PTO_C_BEGIN

/* One process's traffic with a peer, in each direction. */
typedef struct {
    int64_t peer;
    double out; /* bytes */
    double in;
} pto_flow_t;

/* The flows of process i are flow[first[i]] to flow[first[i + 1] - 1], without those to itself. */
typedef struct {
    int64_t count; /* processes */
    int64_t *first;
    pto_flow_t *flow;
} pto_flows_t;

enum { PTO_FLOWS_MAX = 1 << 24 };

/* The flows of `count` processes with these counts of `bytes`; those of two patterns are summed. Errors:
 * PTO_ERR_RANGE (a matrix of another order), PTO_ERR_TOO_LARGE above PTO_FLOWS_MAX, PTO_ERR_MEMORY. */
pto_status_t pto_flows_make(const pto_counts_t *counts, int64_t bytes, int64_t count, pto_flows_t *flows,
                            pto_error_t *err);
void pto_flows_fini(pto_flows_t *flows);

/* Places are numbered by node, GPU and core. All nodes are equal, and so are the cores of a GPU. Level l of
 * the fabric divides the nodes into groups of group_nodes[l]. A byte between two nodes costs off_node[l],
 * where l is the highest level at which they are in different groups. */
enum { PTO_PLACE_LEVELS_MAX = 8 };
typedef struct {
    int64_t nodes;
    int64_t gpus;  /* of a node */
    int64_t cores; /* of a GPU */
    double *cost;  /* of a byte from GPU a to GPU b of a node: cost[a * gpus + b]; between two processes of
                      one GPU: cost[a * gpus + a]; owned */
    int top;       /* the highest level of the fabric; 0: all nodes are equally far apart */
    int64_t group_nodes[PTO_PLACE_LEVELS_MAX];
    double off_node[PTO_PLACE_LEVELS_MAX]; /* cost of a byte */
} pto_places_t;

static inline int64_t pto_places_count(const pto_places_t *places) {
    return places->nodes * places->gpus * places->cores;
}
/* The cost of a byte between two different nodes. */
static inline double pto_places_off_node(const pto_places_t *places, int64_t node, int64_t other) {
    int level = places->top;
    while (level > 0 && node / places->group_nodes[level] == other / places->group_nodes[level])
        level--;
    return places->off_node[level];
}
double pto_places_cost(const pto_places_t *places, int64_t from, int64_t to);
void pto_places_fini(pto_places_t *places);

/* The objective of a mapping, to be minimised. */
typedef enum {
    PTO_AIM_SUM,     /* volume times cost, summed over all flows */
    PTO_AIM_IN_TURN, /* the time of the slowest process, if each sends its messages one after another */
    PTO_AIM_AT_ONCE, /* the most expensive flow, if flows share no resources */
    PTO_AIM_COUNT
} pto_aim_t;

/* The objective's value for the mapping that puts process i at place[i]. */
double pto_map_judge(const pto_flows_t *flows, const pto_places_t *places, pto_aim_t aim,
                     const int64_t *place);

typedef struct {
    const pto_flows_t *flows;
    const pto_places_t *places; /* as many as there are processes */
    const pto_grid_t *grid;     /* of the processes, for the starting points of `greedy`; NULL: none */
    pto_aim_t aim;              /* for the mapper `exact`; the others minimise the sum */
    uint64_t seed;
} pto_map_problem_t;

typedef struct {
    const char *name;
    const char *summary;
    /* Fill place[i] of every process i. Equal problems yield equal mappings. Errors: PTO_ERR_NOT_APPLICABLE
     * with the reason, PTO_ERR_MEMORY. */
    pto_status_t (*map)(const pto_map_problem_t *problem, int64_t *place, pto_error_t *err);
} pto_mapper_t;

int pto_mapper_count(void);
const pto_mapper_t *pto_mapper_at(int index);
/* Errors: PTO_ERR_NOT_FOUND, with the nearest name. */
pto_status_t pto_mapper_find(const char *name, const pto_mapper_t **mapper, pto_error_t *err);
/* Add one of the caller's, which is borrowed until the process ends. Errors: PTO_ERR_RANGE (no name, or one
 * in use), PTO_ERR_TOO_LARGE above PTO_MAPPERS_MAX. */
enum { PTO_MAPPERS_MAX = 16 };
pto_status_t pto_mapper_register(const pto_mapper_t *mapper, pto_error_t *err);

/* Run a mapper, and check that its result is a permutation. Errors: the mapper's, PTO_ERR_RANGE. */
pto_status_t pto_mapper_run(const pto_mapper_t *mapper, const pto_map_problem_t *problem, int64_t *place,
                            pto_error_t *err);

/* What the cost of a byte between two places is. The first three are the metrics of Faraji's thesis (6.3.1),
 * as costs: SCOTCH and every mapper here minimise volume times cost. */
typedef enum {
    PTO_METRIC_LATENCY,   /* the mean time of messages of up to 2 KiB */
    PTO_METRIC_BANDWIDTH, /* seconds per byte of large messages */
    PTO_METRIC_DISTANCE,  /* links of the route; without a topology, the number of the level */
    PTO_METRIC_PRICE,     /* seconds per byte of a message of the scenario's size */
    PTO_METRIC_COUNT
} pto_metric_t;

const char *pto_metric_name(pto_metric_t value);

/* The places of a layout's owners. A node's topology, if the machine has one, bounds the rates of its pairs.
 * Errors: PTO_ERR_NOT_APPLICABLE if the machine has no cost for a message between GPUs, PTO_ERR_MEMORY. */
pto_status_t pto_places_make(const pto_machine_t *machine, const pto_layout_t *layout, pto_metric_t metric,
                             int64_t bytes, pto_places_t *places, pto_error_t *err);

/* The bytes on links under a mapping, each of the node where they are the most. `load` has room for
 * pto_map_link_count(machine) values: one for each directed link of the node's topology; two for a node, what
 * leaves it and what enters it; then two for a group of nodes of each higher level of the fabric. */
int pto_map_link_count(const pto_machine_t *machine);
void pto_map_loads(const pto_flows_t *flows, const pto_machine_t *machine, const pto_places_t *places,
                   const int64_t *place, double *load);

/* The phases of a mapping in phases (thesis, 6.3.2): processes are divided among nodes, then those of each
 * node among its sockets, then those of each socket among its GPUs. */
typedef enum { PTO_PHASE_NODE, PTO_PHASE_CORE, PTO_PHASE_GPU, PTO_PHASE_COUNT } pto_phase_t;
const char *pto_phase_name(pto_phase_t value); /* node: to nodes; core: to sockets; gpu: to GPUs */

typedef struct {
    pto_metric_t metric;
    const pto_mapper_t *const *mapper; /* to try, in addition to the default mapping */
    int mapper_count;
    int seeds; /* number of seeds for each mapper that uses one; 0: 1 */
    uint64_t seed;
    bool phase[PTO_PHASE_COUNT]; /* if any: map in these phases, too */
    int64_t refine;              /* maximum number of prices for the refinement by swaps; -1: by the size */
} pto_map_options_t;

typedef struct {
    char name[64];  /* "greedy", "random, seed 3", "greedy in phases" */
    int64_t *place; /* owner by process; owned. NULL: the mapper does not apply, see `reason` */
    double sum;     /* volume times cost */
    double seconds; /* the lowest price over the strategies */
    const pto_strategy_t *strategy;
    int64_t chunks;    /* pto_request_t's */
    int64_t last_node; /* the node of the process that ends last; -1: unknown */
    char reason[PTO_ERROR_MESSAGE_MAX];
} pto_map_candidate_t;

typedef struct {
    pto_flows_t flows;
    pto_places_t places;
    int count;
    pto_map_candidate_t *candidate; /* the first one is the default: process i at place i */
    int best;                       /* 0 unless another is predicted to be faster */
    int64_t priced;                 /* mappings */
} pto_map_result_t;

/* Run the mappers for the first point of a bound scenario (its own placement is not used), price their
 * mappings, and improve the best one by swaps. Errors: PTO_ERR_NOT_APPLICABLE if all byte counts are equal or
 * no strategy applies; those of pto_flows_make, pto_places_make and pto_plan_choose. */
pto_status_t pto_map(const pto_scenario_t *scenario, const pto_machine_t *machine,
                     const pto_map_options_t *options, pto_map_result_t *result, pto_error_t *err);
void pto_map_result_fini(pto_map_result_t *result);

PTO_C_END

#endif
