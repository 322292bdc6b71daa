/* The mapper `scotch`: static mapping by SCOTCH (Pellegrini and Roman 1996), as in section 6.3.1 of Faraji's
 * thesis. It is a library of its own, which `portolan map` opens at run time, because SCOTCH's licence
 * (CeCILL-C) differs from that of libportolan.
 *
 * SCOTCH minimises the sum of volume times distance. The distances are the weights of its target graph, so
 * the weights here are costs; the thesis describes their inverse. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <scotch/scotch.h>

#include "portolan/map.h"

/* Building SCOTCH's target takes the cube of the places; for more, other mappers are as good. */
enum { PLACES_MAX = 256, COST_MAX = 1000 };
static const double volume_sum_max = 1e6; /* times COST_MAX it fits in SCOTCH's 32-bit numbers */

static pto_status_t fail(pto_error_t *err, pto_status_t status, const char *message) {
    if (err) {
        *err = (pto_error_t){.status = status};
        snprintf(err->message, sizeof err->message, "%s", message);
    }
    return status;
}

typedef struct {
    SCOTCH_Num *first; /* count + 1 */
    SCOTCH_Num *peer;
    SCOTCH_Num *weight;
} edges_t;

static bool allocate(int64_t count, int64_t edge_count, edges_t *edges) {
    edges->first = calloc((size_t)count + 1, sizeof *edges->first);
    edges->peer = calloc((size_t)edge_count + 1, sizeof *edges->peer);
    edges->weight = calloc((size_t)edge_count + 1, sizeof *edges->weight);
    return edges->first && edges->peer && edges->weight;
}

static void release(edges_t *edges) {
    free(edges->first);
    free(edges->peer);
    free(edges->weight);
}

/* Returns a weight as SCOTCH needs it: a whole number of 1 or more. */
static SCOTCH_Num whole(double value) { return value < 1 ? 1 : (SCOTCH_Num)lround(value); }

static void fill_flows(const pto_flows_t *flows, edges_t *edges) {
    double sum = 0;
    for (int64_t f = 0; f < flows->first[flows->count]; f++)
        sum += flows->flow[f].out + flows->flow[f].in;
    double scale = sum > 0 ? volume_sum_max / sum : 1;
    for (int64_t i = 0; i <= flows->count; i++)
        edges->first[i] = (SCOTCH_Num)flows->first[i];
    for (int64_t f = 0; f < flows->first[flows->count]; f++) {
        edges->peer[f] = (SCOTCH_Num)flows->flow[f].peer;
        edges->weight[f] = whole(scale * (flows->flow[f].out + flows->flow[f].in));
    }
}

static double cost_between(const pto_places_t *places, int64_t a, int64_t b) {
    int64_t per_node = places->gpus * places->cores;
    if (a / per_node != b / per_node)
        return pto_places_off_node(places, a / per_node, b / per_node);
    int64_t gpu_a = a / places->cores % places->gpus, gpu_b = b / places->cores % places->gpus;
    return (places->cost[gpu_a * places->gpus + gpu_b] + places->cost[gpu_b * places->gpus + gpu_a]) / 2;
}

/* The target graph: all pairs of places. */
static void fill_places(const pto_places_t *places, int64_t count, edges_t *edges) {
    double max_cost = 0;
    SCOTCH_Num edge = 0;
    for (int64_t i = 0; i < count * count; i++)
        if (i / count != i % count)
            max_cost = fmax(max_cost, cost_between(places, i / count, i % count));
    for (int64_t a = 0; a < count; a++) {
        for (int64_t b = 0; b < count; b++) {
            if (a == b)
                continue;
            edges->peer[edge] = (SCOTCH_Num)b;
            edges->weight[edge++] =
                whole(max_cost > 0 ? COST_MAX * cost_between(places, a, b) / max_cost : 1);
        }
        edges->first[a + 1] = edge;
    }
}

/* A graph, and the same bound to a context. */
typedef struct {
    SCOTCH_Graph own, bound;
} graph_t;

static bool init(graph_t *graph) {
    return SCOTCH_graphInit(&graph->own) == 0 && SCOTCH_graphInit(&graph->bound) == 0;
}

static bool build(SCOTCH_Context *context, graph_t *graph, int64_t count, const edges_t *edges) {
    return SCOTCH_graphBuild(&graph->own, 0, (SCOTCH_Num)count, edges->first, edges->first + 1, NULL, NULL,
                             edges->first[count], edges->peer, edges->weight) == 0 &&
           SCOTCH_contextBindGraph(context, &graph->own, &graph->bound) == 0;
}

static void destroy(graph_t *graph) {
    SCOTCH_graphExit(&graph->bound);
    SCOTCH_graphExit(&graph->own);
}

/* All objects of SCOTCH. */
typedef struct {
    SCOTCH_Context context;
    graph_t processes, places;
    SCOTCH_Arch target;
    SCOTCH_Strat strategy;
} scotch_t;

/* In one thread: starting several takes longer than mapping the processes of a node. */
static bool run(scotch_t *scotch, int64_t count, const edges_t *flows, const edges_t *places, uint64_t seed,
                SCOTCH_Num *part) {
    bool mapped = SCOTCH_contextInit(&scotch->context) == 0 &&
                  SCOTCH_contextThreadSpawn(&scotch->context, 1, NULL) == 0 && init(&scotch->processes) &&
                  init(&scotch->places) && SCOTCH_archInit(&scotch->target) == 0 &&
                  SCOTCH_stratInit(&scotch->strategy) == 0;
    if (!mapped)
        return false;
    SCOTCH_randomSeed((SCOTCH_Num)(seed % INT32_MAX));
    SCOTCH_randomReset();
    mapped = build(&scotch->context, &scotch->processes, count, flows) &&
             build(&scotch->context, &scotch->places, count, places) &&
             SCOTCH_archBuild(&scotch->target, &scotch->places.bound, 0, NULL, &scotch->strategy) == 0;
    SCOTCH_stratExit(&scotch->strategy); /* building the target needs a strategy of its own */
    SCOTCH_stratInit(&scotch->strategy);
    mapped =
        mapped && SCOTCH_graphMap(&scotch->processes.bound, &scotch->target, &scotch->strategy, part) == 0;
    SCOTCH_stratExit(&scotch->strategy);
    SCOTCH_archExit(&scotch->target);
    destroy(&scotch->places);
    destroy(&scotch->processes);
    SCOTCH_contextExit(&scotch->context);
    return mapped;
}

/* Turns SCOTCH's parts into places. SCOTCH may assign one place to several processes: the first of them keeps
 * it, and the others get the free places, in order. */
static bool take_places(const SCOTCH_Num *part, int64_t count, int64_t *place) {
    bool *taken = calloc((size_t)count + 1, sizeof *taken);
    int64_t next = 0;
    for (int64_t i = 0; taken && i < count; i++) {
        place[i] = taken[part[i]] ? -1 : part[i];
        taken[part[i]] = true;
    }
    for (int64_t i = 0; taken && i < count; i++) {
        if (place[i] >= 0)
            continue;
        while (taken[next])
            next++;
        taken[next] = true;
        place[i] = next;
    }
    free(taken);
    return taken != NULL;
}

static pto_status_t map(const pto_map_problem_t *problem, int64_t *place, pto_error_t *err) {
    int64_t count = problem->flows->count;
    edges_t flows = {.first = NULL}, places = {.first = NULL};
    scotch_t scotch;
    if (count > PLACES_MAX)
        return fail(err, PTO_ERR_NOT_APPLICABLE,
                    "more than 256 places for SCOTCH's target graph of all pairs");
    SCOTCH_Num *part = calloc((size_t)count + 1, sizeof *part);
    bool room = part && allocate(count, problem->flows->first[count], &flows) &&
                allocate(count, count * count, &places);
    bool mapped = false;
    if (room) {
        fill_flows(problem->flows, &flows);
        fill_places(problem->places, count, &places);
        mapped = run(&scotch, count, &flows, &places, problem->seed, part);
    }
    if (mapped)
        room = take_places(part, count, place);
    free(part);
    release(&flows);
    release(&places);
    if (!room)
        return fail(err, PTO_ERR_MEMORY, "out of memory for SCOTCH");
    return mapped ? PTO_OK : fail(err, PTO_ERR_NOT_APPLICABLE, "SCOTCH failed");
}

PTO_API_BEGIN
extern const pto_mapper_t pto_mapper_scotch;
PTO_API_END

const pto_mapper_t pto_mapper_scotch = {
    .name = "scotch", .summary = "static mapping by SCOTCH (libportolan-map)", .map = map};
