/* What pricing one by one takes on: counted first, so that a plan that would take too long is refused at
 * once.
 */
#include "plan_internal.h"
#include "portolan/price.h"
#include "portolan/strategy.h"

/* The ranks first: rounds grow with them, and counting takes as long as there are rounds. */
pto_status_t pto_price_walk_check_size(const pto_plan_t *plan, pto_error_t *err) {
    int64_t ranks = pto_layout_rank_count(&plan->request.layout);
    if (ranks > PTO_PRICE_WALK_RANKS_MAX)
        return pto_error_set(
            err, PTO_ERR_TOO_LARGE,
            "byte counts from a table are priced rank by rank, for at most %d ranks; this layout "
            "has %lld",
            PTO_PRICE_WALK_RANKS_MAX, (long long)ranks);
    int64_t messages = pto_plan_size(plan).messages;
    if (messages > PTO_PRICE_WALK_MESSAGES_MAX)
        return pto_error_set(err, PTO_ERR_TOO_LARGE,
                             "byte counts from a table are priced message by message, for at most %d of "
                             "them; %s by %s sends %lld",
                             PTO_PRICE_WALK_MESSAGES_MAX, plan->request.strategy->name,
                             plan->request.algorithm->name, (long long)messages);
    return PTO_OK;
}

/* Places are priced one by one, each with all its peers. */
static pto_status_t check_places(const pto_plan_t *plan, pto_error_t *err) {
    int64_t a_node = pto_plan_size(plan).local_actions / plan->request.layout.nodes;
    if (a_node <= PTO_PRICE_PLACES_MAX)
        return PTO_OK;
    return pto_error_set(err, PTO_ERR_TOO_LARGE,
                         "%s has each node's processes use each other's memory in %lld copies, reductions "
                         "and signals, which are priced one by one; the limit is %d",
                         plan->request.strategy->name, (long long)a_node, PTO_PRICE_PLACES_MAX);
}

pto_status_t pto_price_check_size(const pto_plan_t *plan, pto_error_t *err) {
    if (pto_plan_has_tables(plan))
        return pto_price_walk_check_size(plan, err);
    return pto_plan_uses_peers_memory(plan) ? check_places(plan, err) : PTO_OK;
}
