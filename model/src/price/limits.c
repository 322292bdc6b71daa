/* Checks before pricing: plans whose messages or copies would have to be priced one by one for too long are
 * refused at once, and so are copies for which the machine has no cost. */
#include "plan/plan_internal.h"
#include "portolan/price.h"
#include "portolan/strategy.h"
#include "price/copies.h"

/* Checks the ranks first: counting messages takes a time that grows with them. */
static pto_status_t check_walk(const pto_plan_t *plan, const char *what, int64_t max_messages,
                               pto_error_t *err) {
    int64_t ranks = pto_layout_rank_count(&plan->request.layout);
    if (ranks > PTO_PRICE_WALK_RANKS_MAX)
        return pto_error_set(err, PTO_ERR_TOO_LARGE,
                             "%s rank by rank, for at most %d ranks; this layout has %lld", what,
                             PTO_PRICE_WALK_RANKS_MAX, (long long)ranks);
    int64_t messages = pto_plan_size(plan).messages;
    if (messages > max_messages)
        return pto_error_set(err, PTO_ERR_TOO_LARGE,
                             "%s message by message, for at most %lld of them; %s by %s sends %lld", what,
                             (long long)max_messages, plan->request.strategy->name,
                             plan->request.algorithm->name, (long long)messages);
    return PTO_OK;
}

pto_status_t pto_walk_check_size(const pto_plan_t *plan, const char *what, pto_error_t *err) {
    return check_walk(plan, what, PTO_PRICE_WALK_MESSAGES_MAX, err);
}

static int64_t max_walk_messages(const pto_plan_t *plan, const pto_machine_t *machine) {
    if (!pto_plan_has_tables(plan))
        return PTO_PRICE_WALK_MESSAGES_MAX;
    bool independent = !machine || pto_messages_are_apart(machine, &plan->request.layout);
    return independent ? PTO_PRICE_APART_MESSAGES_MAX : PTO_PRICE_TABLE_MESSAGES_MAX;
}

pto_status_t pto_price_walk_check_size(const pto_plan_t *plan, const pto_machine_t *machine,
                                       pto_error_t *err) {
    return check_walk(plan, "byte counts from a table are priced", max_walk_messages(plan, machine), err);
}

/* Places are priced one by one, each with all its peers. */
static pto_status_t check_places(const pto_plan_t *plan, pto_error_t *err) {
    if (pto_plan_size(plan).peer_actions / plan->request.layout.nodes <= PTO_PRICE_PLACES_MAX)
        return PTO_OK;
    return pto_error_set(err, PTO_ERR_TOO_LARGE,
                         "%s has the processes of a node use each other's memory in more than %d copies, "
                         "reductions and signals, which are priced one by one",
                         plan->request.strategy->name, PTO_PRICE_PLACES_MAX);
}

pto_status_t pto_price_check_size(const pto_plan_t *plan, pto_error_t *err) {
    if (pto_plan_has_tables(plan))
        return pto_price_walk_check_size(plan, NULL, err);
    return pto_plan_uses_peers_memory(plan) ? check_places(plan, err) : PTO_OK;
}

/* Checks the copies of the first process that takes part in a step. */
static pto_status_t check_copies(const pto_plan_t *plan, const pto_machine_t *machine, const pto_step_t *step,
                                 int64_t k, pto_error_t *err) {
    const pto_layout_t *layout = &plan->request.layout;
    bool with_others = step->source.holder != PTO_HOLDER_SELF || step->target.holder != PTO_HOLDER_SELF;
    if (step->kind != PTO_STEP_COPY || step->in_kernel || !with_others)
        return PTO_OK;
    for (int64_t rank = 0; rank < layout->gpus_per_node * layout->procs_per_gpu; rank++) {
        pto_action_t action;
        if (pto_step_acts(plan, step, rank, k, &action))
            return pto_copies_check(plan, machine, &action, err);
    }
    return PTO_OK;
}

/* Looks at the first iteration of each loop only. */
pto_status_t pto_price_check_copies(const pto_plan_t *plan, const pto_machine_t *machine, pto_error_t *err) {
    pto_status_t status = PTO_OK;
    pto_walk_t walk;
    pto_walk_begin(&walk, plan);
    while (status == PTO_OK && pto_walk_next(&walk)) {
        if (pto_walk_in_nccl(&walk))
            pto_walk_leave_collective(&walk);
        else if (walk.loop >= 0 && walk.k > pto_node_at(plan, walk.loop)->from)
            pto_walk_leave_loop(&walk);
        else
            for (int s = 0; s < walk.stage->step_count && status == PTO_OK; s++)
                status =
                    check_copies(plan, machine, pto_step_at(plan, walk.stage->step_first + s), walk.k, err);
    }
    return status;
}

int64_t pto_price_work(const pto_plan_t *plan) {
    if (pto_plan_has_tables(plan))
        return pto_plan_size(plan).messages;
    return pto_plan_uses_peers_memory(plan) ? pto_plan_size(plan).local_actions / plan->request.layout.nodes
                                            : 0;
}
