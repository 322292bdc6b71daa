/* Mapping by recursive bisection: the places are halved, and the processes are divided between the halves so
 * that little is sent from one to the other (the cut). Several initial divisions, which grow around one
 * process, are each improved by moves back and forth as in Kernighan and Lin, "An Efficient Heuristic
 * Procedure for Partitioning Graphs" (1970), and in Fiduccia and Mattheyses (1982). The best one is kept. */
#include <stdlib.h>
#include <string.h>

#include "map/map_internal.h"

/* Numbers of initial divisions, also of more than MANY processes; the maximum number of passes of each. */
enum { STARTS = 6, STARTS_OF_MANY = 2, MANY = 1024, PASSES = 8 };

/* The unlocked processes of a side, as a heap: on top the one whose move to the other side gains most; of
 * equals, the one with the lowest number. */
typedef struct {
    int64_t *process;
    int64_t count;
} heap_t;

typedef struct {
    const pto_flows_t *flows;
    int64_t *side;     /* by process: 0 or 1 within the current part, 2 outside */
    double *gain;      /* by process: by how much its move to the other side lowers the cut */
    heap_t movable[2]; /* by side */
    int64_t *at;       /* by process: its index in its side's heap; -1: locked */
    int64_t *best;     /* by process: its side in the best division so far */
    int64_t *moved;    /* the moves of a pass, in order */
    uint64_t state;    /* of the random numbers */
} bisection_t;

/* A part of the processes. */
typedef struct {
    int64_t *process;
    int64_t count;
    int64_t first_half; /* how many go to side 0 */
} part_t;

static double volume(const pto_flow_t *flow) { return flow->out + flow->in; }

_Thread_local int64_t pto_map_visits;

static bool is_above(const bisection_t *bisection, int64_t i, int64_t j) {
    const double gain_i = bisection->gain[i], gain_j = bisection->gain[j];
    return gain_i > gain_j || (gain_i == gain_j && i < j);
}

static void set_in_heap(bisection_t *bisection, heap_t *heap, int64_t at, int64_t i) {
    heap->process[at] = i;
    bisection->at[i] = at;
    pto_map_visits++;
}

/* Puts process `i`, which is new or has a new gain, into a heap at index `at`, and sifts it up or down. */
static void sift(bisection_t *bisection, heap_t *heap, int64_t at, int64_t i) {
    for (; at > 0 && is_above(bisection, i, heap->process[(at - 1) / 2]); at = (at - 1) / 2)
        set_in_heap(bisection, heap, at, heap->process[(at - 1) / 2]);
    for (int64_t child = 2 * at + 1; child < heap->count; child = 2 * at + 1) {
        if (child + 1 < heap->count && is_above(bisection, heap->process[child + 1], heap->process[child]))
            child++;
        if (!is_above(bisection, heap->process[child], i))
            break;
        set_in_heap(bisection, heap, at, heap->process[child]);
        at = child;
    }
    set_in_heap(bisection, heap, at, i);
}

static void remove_from_heap(bisection_t *bisection, heap_t *heap, int64_t i) {
    int64_t at = bisection->at[i], last = heap->process[--heap->count];
    if (last != i)
        sift(bisection, heap, at, last);
    bisection->at[i] = -1;
}

/* Puts all processes into the heaps. Those that have moved in a pass are locked: they are in no heap. */
static void unlock_all(bisection_t *bisection, const part_t *part) {
    bisection->movable[0].count = bisection->movable[1].count = 0;
    for (int64_t n = 0; n < part->count; n++) {
        heap_t *heap = &bisection->movable[bisection->side[part->process[n]]];
        sift(bisection, heap, heap->count++, part->process[n]);
    }
}

static void lock_all(bisection_t *bisection) {
    for (int side = 0; side < 2; side++)
        while (bisection->movable[side].count > 0)
            bisection->at[bisection->movable[side].process[--bisection->movable[side].count]] = -1;
}

/* Sets the gains of a part's processes. Returns the cut: what is sent between the sides. */
static double find_gains(bisection_t *bisection, const part_t *part) {
    const pto_flows_t *flows = bisection->flows;
    double cut = 0;
    for (int64_t n = 0; n < part->count; n++) {
        int64_t i = part->process[n];
        bisection->gain[i] = 0;
        for (int64_t f = flows->first[i]; f < flows->first[i + 1]; f++) {
            int64_t other = bisection->side[flows->flow[f].peer];
            if (other == 2)
                continue;
            bool across = other != bisection->side[i];
            bisection->gain[i] += across ? volume(&flows->flow[f]) : -volume(&flows->flow[f]);
            cut += across ? volume(&flows->flow[f]) : 0;
        }
    }
    return cut / 2;
}

static void move(bisection_t *bisection, int64_t i) {
    const pto_flows_t *flows = bisection->flows;
    if (bisection->at[i] >= 0)
        remove_from_heap(bisection, &bisection->movable[bisection->side[i]], i);
    bisection->side[i] = 1 - bisection->side[i];
    bisection->gain[i] = -bisection->gain[i];
    for (int64_t f = flows->first[i]; f < flows->first[i + 1]; f++) {
        int64_t peer = flows->flow[f].peer;
        if (bisection->side[peer] == 2)
            continue;
        bisection->gain[peer] +=
            (bisection->side[peer] == bisection->side[i] ? -2 : 2) * volume(&flows->flow[f]);
        if (bisection->at[peer] >= 0)
            sift(bisection, &bisection->movable[bisection->side[peer]], bisection->at[peer], peer);
    }
}

/* Returns the process of a side whose move gains most; -1: all are locked. */
static int64_t best_move_from(const bisection_t *bisection, int64_t side) {
    return bisection->movable[side].count > 0 ? bisection->movable[side].process[0] : -1;
}

/* A pass: moves pairs of processes, one in each direction and each process once, and keeps the moves up to
 * the lowest cut. Returns by how much they lower it. */
static double improve_once(bisection_t *bisection, const part_t *part) {
    int64_t moves = 0, kept = 0;
    double saved = 0, best = 0;
    unlock_all(bisection, part);
    for (int64_t i = best_move_from(bisection, 0); i >= 0; i = best_move_from(bisection, moves % 2)) {
        saved += bisection->gain[i];
        move(bisection, i);
        bisection->moved[moves++] = i;
        if (moves % 2 == 0 && saved > best * (1 + 1e-12)) {
            best = saved;
            kept = moves;
        }
    }
    lock_all(bisection);
    while (moves > kept)
        move(bisection, bisection->moved[--moves]);
    return best;
}

/* Makes an initial division: side 0 grows from process `seed`, each time by the one that lowers the cut most.
 */
static void grow(bisection_t *bisection, const part_t *part, int64_t seed) {
    for (int64_t n = 0; n < part->count; n++)
        bisection->side[part->process[n]] = 1;
    find_gains(bisection, part);
    unlock_all(bisection, part);
    for (int64_t n = 0; n < part->first_half; n++) {
        move(bisection, seed);
        seed = best_move_from(bisection, 1);
    }
    lock_all(bisection);
}

/* Makes an initial division: side 0 has the first processes of the part. */
static void take_first(bisection_t *bisection, const part_t *part) {
    for (int64_t n = 0; n < part->count; n++)
        bisection->side[part->process[n]] = n >= part->first_half;
    find_gains(bisection, part);
}

static void save_best(const bisection_t *bisection, const part_t *part) {
    for (int64_t n = 0; n < part->count; n++)
        bisection->best[part->process[n]] = bisection->side[part->process[n]];
}

/* Divides a part: afterwards its processes of side 0 come first, in their order. */
static void divide(bisection_t *bisection, const part_t *part) {
    double least = 0;
    int starts = part->count > MANY ? STARTS_OF_MANY : STARTS;
    for (int start = 0; start < starts; start++) {
        if (start == 0)
            take_first(bisection, part);
        else if (start == 1)
            grow(bisection, part, part->process[0]);
        else
            grow(bisection, part, part->process[pto_map_random_below(&bisection->state, part->count)]);
        for (int pass = 0; pass < PASSES && improve_once(bisection, part) > 0; pass++)
            ;
        double cut = find_gains(bisection, part);
        if (start == 0 || cut < least) {
            least = cut;
            save_best(bisection, part);
        }
    }
    int64_t first = 0, second = part->first_half;
    for (int64_t n = 0; n < part->count; n++)
        bisection->moved[bisection->best[part->process[n]] == 0 ? first++ : second++] = part->process[n];
    memcpy(part->process, bisection->moved, (size_t)part->count * sizeof *part->process);
    for (int64_t n = 0; n < part->count; n++)
        bisection->side[part->process[n]] = 2;
}

/* Returns how many of `count` consecutive places form the first half: whole nodes, else whole GPUs, else
 * cores. */
static int64_t half_of(const pto_places_t *places, int64_t count) {
    int64_t per_node = places->gpus * places->cores;
    int64_t unit = count > places->cores ? places->cores : 1;
    if (count > per_node)
        unit = per_node;
    return count / unit / 2 * unit;
}

/* Gives each process in `process` one of the places [first, first + count). */
static void bisect(bisection_t *bisection, const pto_places_t *places, int64_t *process, int64_t first,
                   int64_t count, int64_t *place) {
    if (count == 1) {
        place[process[0]] = first;
        return;
    }
    const part_t part = {process, count, half_of(places, count)};
    divide(bisection, &part);
    bisect(bisection, places, process, first, part.first_half, place);
    bisect(bisection, places, process + part.first_half, first + part.first_half, count - part.first_half,
           place);
}

pto_status_t pto_map_bisect(const pto_map_problem_t *problem, uint64_t seed, int64_t *place,
                            pto_error_t *err) {
    size_t count = (size_t)problem->flows->count;
    int64_t *numbers = calloc(7 * count + 1, sizeof *numbers);
    double *gain = calloc(count + 1, sizeof *gain);
    pto_status_t status = PTO_OK;
    if (numbers && gain) {
        bisection_t bisection = {.flows = problem->flows,
                                 .side = numbers,
                                 .best = numbers + count,
                                 .moved = numbers + 2 * count,
                                 .at = numbers + 4 * count,
                                 .movable = {{numbers + 5 * count, 0}, {numbers + 6 * count, 0}},
                                 .gain = gain,
                                 .state = seed};
        int64_t *process = numbers + 3 * count;
        for (int64_t i = 0; i < problem->flows->count; i++) {
            process[i] = i;
            bisection.side[i] = 2;
            bisection.at[i] = -1;
        }
        bisect(&bisection, problem->places, process, 0, problem->flows->count, place);
    } else {
        status = pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a mapping");
    }
    free(numbers);
    free(gain);
    return status;
}
