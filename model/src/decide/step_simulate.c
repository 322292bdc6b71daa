/* Simulates a step of an application, one entry after another, with all communicators of its calls. Only the
 * nodes that the first node interacts with are simulated, since the others do the same. */
#include <math.h>
#include <stdlib.h>

#include "decide/step_internal.h"
#include "machine/machine_internal.h"
#include "plan/plan_internal.h"
#include "portolan/progress.h"
#include "portolan/strategy.h"
#include "portolan/workload.h"
#include "scenario/check.h"

/* Of an entry's calls, the one with the most repetitions is simulated at most this many times. */
enum { REPEATS_MAX = 16 };

/* A call of an entry. */
typedef struct {
    int number; /* its index in the workload's calls */
    pto_plan_t *plan;
    int64_t *member; /* the processes of all communicators, one communicator after another */
    int64_t *rank;   /* in the same order: the simulated job's ranks, of communicators that are simulated */
    int64_t communicators; /* that are simulated */
    int64_t repeats;       /* that are simulated: see `unit` */
    double end_s;
} entry_call_t;

typedef struct {
    const pto_step_prediction_t *step;
    const pto_machine_t *machine;
    const pto_strategy_t *strategy; /* NULL: the mix */
    int number;                     /* its index in the workload's entries */
    int count;                      /* of its calls */
    entry_call_t *call;
    int64_t *node;       /* [node of the job]: its number among the simulated ones; -1: it is not simulated */
    pto_layout_t layout; /* of the simulated nodes */
    int64_t unit;        /* repetitions that one simulated repetition represents */
    double seconds;
    int64_t messages; /* simulated */
} entry_t;

static const pto_workload_call_t *call_of(const entry_t *entry, int i) {
    return &entry->step->workload->call[entry->call[i].number];
}

static void fini(entry_t *entry) {
    for (int i = 0; i < entry->count; i++) {
        pto_plan_destroy(entry->call[i].plan);
        free(entry->call[i].member);
        free(entry->call[i].rank);
    }
    free(entry->call);
    free(entry->node);
}

static pto_status_t out_of_memory(pto_error_t *err) {
    return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a simulated step");
}

static pto_status_t find_calls(entry_t *entry, pto_error_t *err) {
    const pto_workload_t *workload = entry->step->workload;
    const pto_step_calls_t range = pto_step_calls(workload, entry->number);
    entry->call = calloc((size_t)(range.to - range.from) + 1, sizeof *entry->call);
    entry->node = calloc((size_t)workload->layout.nodes + 1, sizeof *entry->node);
    if (!entry->call || !entry->node)
        return out_of_memory(err);
    for (int i = range.from; i < range.to; i++)
        if (pto_workload_is_call(&workload->call[i]) && !entry->step->call[i].left_out)
            entry->call[entry->count++].number = i;
    return PTO_OK;
}

/* Makes the plans that were predicted, and lists the processes of their communicators. */
static pto_status_t make_plans(entry_t *entry, pto_error_t *err) {
    const pto_strategy_t *strategy = entry->strategy;
    for (int i = 0; i < entry->count; i++) {
        entry_call_t *entry_call = &entry->call[i];
        const pto_step_call_t *own = &entry->step->call[entry_call->number];
        const pto_workload_call_t *call = call_of(entry, i);
        pto_error_t fault = {.status = PTO_OK};
        pto_price_t price;
        pto_status_t status = pto_plan_choose(&call->scenario, own->machine, 0,
                                              strategy ? strategy : own->predictions.strategy[own->best],
                                              &entry_call->plan, &price, NULL, &fault);
        if (status != PTO_OK)
            return pto_workload_call_error(entry->step->workload, call, &fault, err);
        status = pto_workload_members(entry->step->workload, call, &entry_call->member, err);
        if (status != PTO_OK)
            return status;
    }
    return PTO_OK;
}

static int64_t members_of(const pto_workload_call_t *call) {
    return pto_layout_owner_count(&call->scenario.layout);
}

static int64_t node_of(const entry_t *entry, int64_t process) {
    return process / entry->step->workload->layout.gpus_per_node;
}

static bool is_simulated(const entry_t *entry, const int64_t *member, int64_t count) {
    bool any = false;
    for (int64_t m = 0; member && m < count && !any; m++)
        any = entry->node[node_of(entry, member[m])] >= 0;
    return any;
}

/* Marks the nodes of all communicators that have a member on a marked node: 0 instead of -1. Returns whether
 * a node was added. */
static bool add_connected_nodes(entry_t *entry) {
    bool grown = false;
    for (int i = 0; i < entry->count; i++) {
        const int64_t *first = entry->call[i].member;
        int64_t size = members_of(call_of(entry, i));
        for (int64_t c = 0; first && c < call_of(entry, i)->communicators.count; c++) {
            const int64_t *member = first + c * size;
            if (!is_simulated(entry, member, size))
                continue;
            for (int64_t m = 0; m < size; m++) {
                int64_t *node = &entry->node[node_of(entry, member[m])];
                grown = grown || *node < 0;
                *node = 0;
            }
        }
    }
    return grown;
}

/* Numbers the nodes that are simulated: node 0, and those that communicators connect with it, directly or
 * through other nodes. The other nodes do the same. With a fabric, whose links they may share, all nodes are
 * simulated. */
static void choose_nodes(entry_t *entry) {
    const pto_layout_t *layout = &entry->step->workload->layout;
    int64_t nodes = 0;
    for (int64_t node = 0; node < layout->nodes; node++)
        entry->node[node] = node == 0 || entry->machine->fabric.levels > 0 ? 0 : -1;
    while (add_connected_nodes(entry))
        continue;
    for (int64_t node = 0; node < layout->nodes; node++)
        if (entry->node[node] >= 0)
            entry->node[node] = nodes++;
    entry->layout = *layout;
    entry->layout.nodes = nodes;
}

/* Lists the ranks of the simulated communicators of call `i`. All members of a communicator are simulated, or
 * none. */
static pto_status_t place_ranks(entry_t *entry, int i, pto_error_t *err) {
    entry_call_t *entry_call = &entry->call[i];
    int64_t size = members_of(call_of(entry, i)), cores = entry->layout.procs_per_gpu, next = 0;
    entry_call->rank = calloc((size_t)pto_layout_rank_count(&entry->layout) + 1, sizeof *entry_call->rank);
    if (!entry_call->rank)
        return out_of_memory(err);
    for (int64_t c = 0; c < call_of(entry, i)->communicators.count; c++) {
        const int64_t *member = entry_call->member + c * size;
        if (!is_simulated(entry, member, 1))
            continue;
        entry_call->communicators++;
        for (int64_t m = 0; m < size; m++) {
            int64_t gpu = entry->node[node_of(entry, member[m])] * entry->layout.gpus_per_node +
                          member[m] % entry->layout.gpus_per_node;
            for (int64_t core = 0; core < cores; core++)
                entry_call->rank[next++] = gpu * cores + core;
        }
    }
    return PTO_OK;
}

/* Chooses how often each call is simulated. */
static void choose_repeats(entry_t *entry) {
    int64_t smallest = INT64_MAX, largest = 1;
    for (int i = 0; i < entry->count; i++) {
        smallest = call_of(entry, i)->times < smallest ? call_of(entry, i)->times : smallest;
        largest = call_of(entry, i)->times > largest ? call_of(entry, i)->times : largest;
    }
    entry->unit = largest / smallest > REPEATS_MAX ? (largest + REPEATS_MAX - 1) / REPEATS_MAX : smallest;
    for (int i = 0; i < entry->count; i++) {
        int64_t repeats = (call_of(entry, i)->times + entry->unit / 2) / entry->unit;
        entry->call[i].repeats = repeats > 0 ? repeats : 1;
    }
}

/* Simulates the calls with their repetitions, and sets the time and messages of the entry. */
static pto_status_t run(entry_t *entry, const pto_simulate_options_t *options, pto_error_t *err) {
    pto_simulation_t simulation = {0};
    int64_t calls = 0;
    int next = 0;
    for (int i = 0; i < entry->count; i++)
        calls += entry->call[i].repeats;
    pto_simulate_call_t *call = calloc((size_t)calls + 1, sizeof *call);
    double *each_s = calloc((size_t)calls + 1, sizeof *each_s);
    pto_status_t status = call && each_s ? PTO_OK : out_of_memory(err);
    for (int i = 0; i < entry->count && call && status == PTO_OK; i++)
        for (int64_t r = 0; r < entry->call[i].repeats; r++)
            call[next++] = (pto_simulate_call_t){.plan = entry->call[i].plan,
                                                 .communicators = entry->call[i].communicators,
                                                 .rank = entry->call[i].rank,
                                                 .repeats = r > 0};
    if (status == PTO_OK)
        status = pto_simulate_at_once(&entry->layout, call, next, entry->machine, options, &simulation,
                                      each_s, err);
    entry->messages = simulation.messages;
    next = 0;
    for (int i = 0; i < entry->count && each_s && status == PTO_OK; i++) {
        next += (int)entry->call[i].repeats;
        entry->call[i].end_s = each_s[next - 1] * (double)entry->unit; /* of its last repetition */
        entry->seconds = fmax(entry->seconds, entry->call[i].end_s);
    }
    free(call);
    free(each_s);
    return status;
}

static int64_t count_messages(const entry_t *entry) {
    int64_t messages = 0;
    for (int i = 0; i < entry->count; i++)
        messages += pto_plan_size(entry->call[i].plan).messages * entry->call[i].communicators *
                    entry->call[i].repeats;
    return messages;
}

static void announce(const entry_t *entry, const pto_simulate_options_t *options) {
    const pto_plan_t *plan = entry->call[0].plan;
    if (!options || !options->begin)
        return;
    pto_simulate_progress_t progress = {.cell = entry->number,
                                        .cells = entry->step->workload->entry_count,
                                        .messages = count_messages(entry),
                                        .strategy = plan->request.strategy->name,
                                        .algorithm = plan->request.algorithm->name};
    options->begin(&progress);
}

/* Sets the plans, ranks and repetitions of an entry. */
static pto_status_t prepare(entry_t *entry, pto_error_t *err) {
    pto_status_t status = find_calls(entry, err);
    if (status != PTO_OK || entry->count == 0)
        return status;
    status = make_plans(entry, err);
    if (status == PTO_OK)
        choose_nodes(entry);
    for (int i = 0; i < entry->count && status == PTO_OK; i++)
        status = place_ranks(entry, i, err);
    if (status == PTO_OK)
        choose_repeats(entry);
    return status;
}

/* An entry of more than `max_messages` takes INFINITY. */
static pto_status_t simulate_entry(entry_t *entry, int64_t max_messages,
                                   const pto_simulate_options_t *options, pto_error_t *err) {
    pto_error_t fault = {.status = PTO_OK};
    pto_status_t status = prepare(entry, err);
    if (status != PTO_OK || entry->count == 0)
        return status;
    if (count_messages(entry) > max_messages) {
        entry->seconds = INFINITY;
        return PTO_OK;
    }
    announce(entry, options);
    if (run(entry, options, &fault) == PTO_OK)
        return PTO_OK;
    return pto_workload_call_error(entry->step->workload, call_of(entry, 0), &fault, err);
}

pto_status_t pto_step_simulate_entry(const pto_step_prediction_t *step, const pto_machine_t *machine,
                                     int number, int64_t limit, int64_t max_messages, double *seconds,
                                     pto_error_t *err) {
    entry_t entry = {.step = step, .machine = machine, .number = number};
    pto_status_t status =
        simulate_entry(&entry, max_messages, &(pto_simulate_options_t){.limit = limit}, err);
    *seconds = entry.seconds;
    fini(&entry);
    return status;
}

pto_status_t pto_step_simulate(const pto_step_prediction_t *step, const pto_machine_t *machine,
                               const pto_strategy_t *strategy, const pto_simulate_options_t *options,
                               pto_step_simulation_t *simulation, pto_error_t *err) {
    pto_step_simulation_t result = {.strategy = strategy};
    result.call_s = calloc((size_t)step->workload->call_count + 1, sizeof *result.call_s);
    if (!result.call_s)
        return out_of_memory(err);
    pto_status_t status = PTO_OK;
    const bool shown = pto_progress_begin("simulating calls", step->workload->entry_count, 0);
    for (int number = 0; number < step->workload->entry_count && status == PTO_OK; number++) {
        entry_t entry = {.step = step, .machine = machine, .strategy = strategy, .number = number};
        double compute_s = pto_step_compute_s(step->workload, number);
        status = simulate_entry(&entry, INT64_MAX, options, err);
        for (int i = 0; i < entry.count; i++)
            result.call_s[entry.call[i].number] = entry.call[i].end_s;
        result.messages += entry.messages;
        result.communication_s += entry.seconds;
        result.exposed_s += fmax(entry.seconds - compute_s, 0);
        result.seconds += fmax(entry.seconds, compute_s);
        fini(&entry);
        if (shown)
            pto_progress_add(1);
    }
    if (shown)
        pto_progress_end();
    if (status == PTO_OK)
        *simulation = result;
    else
        pto_step_simulation_fini(&result);
    return status;
}

void pto_step_simulation_fini(pto_step_simulation_t *simulation) {
    free(simulation->call_s);
    *simulation = (pto_step_simulation_t){0};
}
