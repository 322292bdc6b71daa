/* The traffic of a plan (portolan/traffic.h), for `portolan traffic` and mappings: counts the messages, and
 * the accesses to other processes' memory, between each pair of ranks. Each rank of a node steps through the
 * plan and appends to a table of pairs. When the table is full, it is sorted, and equal pairs are merged. */
#include "portolan/traffic.h"

#include <stdlib.h>

#include "base/checked.h"
#include "base/grow.h"
#include "base/names.h"
#include "plan/plan_internal.h"

PTO_NAME_FUNCTION(
    pto_traffic_kind_name, pto_traffic_kind_t, PTO_TRAFFIC_COUNT, "unknown",
    {[PTO_TRAFFIC_MESSAGE] = "message", [PTO_TRAFFIC_ACCESS] = "access", [PTO_TRAFFIC_NCCL] = "nccl"});

typedef struct {
    pto_traffic_pair_t *pair;
    size_t count;
    size_t capacity;
} table_t;

static int compare(const void *one, const void *other) {
    const pto_traffic_pair_t *a = one, *b = other;
    const int64_t difference[] = {a->source - b->source, a->destination - b->destination,
                                  (int64_t)a->source_space - (int64_t)b->source_space,
                                  (int64_t)a->destination_space - (int64_t)b->destination_space,
                                  (int64_t)a->kind - (int64_t)b->kind};
    for (size_t i = 0; i < sizeof difference / sizeof *difference; i++)
        if (difference[i] != 0)
            return difference[i] < 0 ? -1 : 1;
    return 0;
}

static void add_to(pto_traffic_pair_t *sum, const pto_traffic_pair_t *pair) {
    sum->messages = pto_saturating_sum(sum->messages, pair->messages);
    sum->bytes = pto_saturating_sum(sum->bytes, pair->bytes);
}

/* Sorts the table, and merges equal pairs. */
static void condense(table_t *table) {
    size_t kept = 0;
    if (table->count > 0)
        qsort(table->pair, table->count, sizeof *table->pair, compare);
    for (size_t i = 0; i < table->count; i++)
        if (kept > 0 && compare(&table->pair[kept - 1], &table->pair[i]) == 0)
            add_to(&table->pair[kept - 1], &table->pair[i]);
        else
            table->pair[kept++] = table->pair[i];
    table->count = kept;
}

/* Makes room for another pair. If condensing frees less than half of the table, it also grows, so that it is
 * not sorted again for a few pairs. False: out of memory. */
static bool make_room(table_t *table) {
    condense(table);
    if (table->count < table->capacity / 2)
        return true;
    return PTO_RESERVE(table->pair, table->capacity, table->capacity + 1);
}

static bool add_pair(table_t *table, const pto_traffic_pair_t *pair) {
    if (table->count > 0 && compare(&table->pair[table->count - 1], pair) == 0) {
        add_to(&table->pair[table->count - 1], pair);
        return true;
    }
    if (table->count == table->capacity && !make_room(table))
        return false;
    table->pair[table->count++] = *pair;
    return true;
}

typedef struct {
    const pto_plan_t *plan;
    pto_actions_t at; /* the rank's current action */
    int64_t rank;
    table_t table;
    pto_error_t *err;
} count_t;

static pto_space_t space_of(const count_t *count, const pto_slice_t *slice) {
    return pto_plan_buffer(count->plan, slice->buffer)->space;
}

static const pto_step_t *step_at(const count_t *count, int i) {
    return pto_plan_step(count->plan, count->at.walk.stage->step_first + i);
}

/* Returns whether a message is sent, and sets its bytes. */
static bool is_sent(const count_t *count, const pto_action_t *action, int64_t *bytes) {
    *bytes = pto_slice_bytes(count->plan, pto_message_slice(action->step), action);
    return *bytes > 0 || action->step->send_empty;
}

/* Finds one of the messages that a rank sends to a peer in the stage, or receives from it: that of the action
 * `wanted` or, if that is NULL, the one with the number `*number`. Messages are numbered from 0 in the order
 * of the steps. Sets that message's number and its space at this end. */
static bool find_message(const count_t *count, pto_step_kind_t kind, int64_t rank, int64_t peer,
                         const pto_action_t *wanted, int64_t *number, pto_space_t *space) {
    int64_t messages = 0, bytes;
    for (int i = 0; i < count->at.walk.stage->step_count; i++) {
        const pto_step_t *step = step_at(count, i);
        pto_action_t action;
        if (step->kind != kind || !pto_step_acts(count->plan, step, rank, count->at.walk.k, &action))
            continue;
        for (int64_t next = 0; pto_step_next(count->plan, &next, &action);) {
            if (action.peer_rank != peer || !is_sent(count, &action, &bytes))
                continue;
            bool is_wanted =
                wanted ? step == wanted->step && action.ordinal == wanted->ordinal : messages == *number;
            if (is_wanted) {
                *number = messages;
                *space = space_of(count, pto_message_slice(step));
                return true;
            }
            messages++;
        }
    }
    return false;
}

/* Returns whether all receives of the stage write to one memory space, and sets that. */
static bool one_space(const count_t *count, pto_space_t *space) {
    bool any = false;
    for (int i = 0; i < count->at.walk.stage->step_count; i++) {
        const pto_step_t *step = step_at(count, i);
        if (step->kind != PTO_STEP_RECV)
            continue;
        pto_space_t own = space_of(count, &step->target);
        if (any && own != *space)
            return false;
        *space = own;
        any = true;
    }
    return any;
}

/* Finds the space in which a message is received: a pair's n-th send matches its n-th receive. */
static pto_status_t find_arrival(const count_t *count, const pto_action_t *send, pto_space_t *space) {
    int64_t number = 0;
    if (one_space(count, space))
        return PTO_OK;
    if (find_message(count, PTO_STEP_SEND, send->rank, send->peer_rank, send, &number, space) &&
        find_message(count, PTO_STEP_RECV, send->peer_rank, send->rank, NULL, &number, space))
        return PTO_OK;
    return pto_error_set(count->err, PTO_ERR_INVALID_PLAN,
                         "stage '%s': rank %lld sends a message that rank %lld does not receive",
                         count->at.walk.stage->name, (long long)send->rank, (long long)send->peer_rank);
}

static pto_status_t add(count_t *count, pto_traffic_pair_t pair) {
    if (pto_walk_in_nccl(&count->at.walk))
        pair.kind = PTO_TRAFFIC_NCCL;
    return add_pair(&count->table, &pair)
               ? PTO_OK
               : pto_error_set(count->err, PTO_ERR_MEMORY, "out of memory for the traffic of a plan");
}

static pto_status_t count_send(count_t *count, const pto_action_t *action) {
    pto_traffic_pair_t pair = {.source = action->rank,
                               .destination = action->peer_rank,
                               .source_space = space_of(count, &action->step->source),
                               .kind = PTO_TRAFFIC_MESSAGE,
                               .messages = 1};
    if (!is_sent(count, action, &pair.bytes))
        return PTO_OK;
    pto_status_t status = find_arrival(count, action, &pair.destination_space);
    return status == PTO_OK ? add(count, pair) : status;
}

static pto_status_t count_access(count_t *count, const pto_action_t *action) {
    const pto_step_t *step = action->step;
    pto_traffic_pair_t pair = {.source = pto_slice_holder(count->plan, &step->source, action),
                               .destination = pto_slice_holder(count->plan, &step->target, action),
                               .source_space = space_of(count, &step->source),
                               .destination_space = space_of(count, &step->target),
                               .kind = PTO_TRAFFIC_ACCESS,
                               .messages = 1};
    if (pair.source == pair.destination)
        return PTO_OK;
    pair.bytes = pto_slice_bytes(count->plan, &step->source, action);
    return pair.bytes > 0 ? add(count, pair) : PTO_OK;
}

static pto_status_t count_rank(count_t *count) {
    pto_status_t status = PTO_OK;
    pto_actions_t *at = &count->at;
    pto_actions_begin(at, count->plan, count->rank,
                      1u << PTO_STEP_SEND | 1u << PTO_STEP_COPY | 1u << PTO_STEP_REDUCE);
    while (status == PTO_OK && pto_actions_next(at))
        status = at->action.step->kind == PTO_STEP_SEND ? count_send(count, &at->action)
                                                        : count_access(count, &at->action);
    return status;
}

/* Accesses are within nodes, so a node's ranks count all traffic whose source is on the node. */
pto_status_t pto_plan_traffic(const pto_plan_t *plan, pto_traffic_visit_t visit, void *context,
                              pto_error_t *err) {
    plan = pto_plan_fixed(plan);
    const pto_layout_t *layout = &plan->request.layout;
    int64_t per_node = layout->gpus_per_node * layout->procs_per_gpu;
    count_t count = {.plan = plan, .err = err};
    pto_status_t status = pto_walk_check_size(plan, "the traffic of a plan is counted", err);
    for (int64_t first = 0; first < pto_layout_rank_count(layout) && status == PTO_OK; first += per_node) {
        count.table.count = 0;
        for (count.rank = first; count.rank < first + per_node && status == PTO_OK; count.rank++)
            if (pto_core_acts(plan, count.rank % layout->procs_per_gpu))
                status = count_rank(&count);
        condense(&count.table);
        for (size_t i = 0; i < count.table.count && status == PTO_OK; i++)
            visit(context, &count.table.pair[i]);
    }
    free(count.table.pair);
    return status;
}
