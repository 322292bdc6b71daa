/* What a simulation walks, against its limit. */
#include <stdio.h>

#include "plan/plan_internal.h"
#include "portolan/simulate.h"
#include "portolan/strategy.h"

pto_status_t pto_simulate_check_size(const pto_plan_t *plan, int64_t limit, int64_t *used, pto_error_t *err) {
    int64_t before = used ? *used : 0;
    if (limit <= 0)
        limit = PTO_SIMULATE_LIMIT;
    int64_t ranks = pto_layout_rank_count(&plan->request.layout);
    if (ranks > PTO_SIMULATE_RANKS_MAX)
        return pto_error_set(
            err, PTO_ERR_TOO_LARGE,
            "%lld ranks are too many to simulate, which takes at most %d; `portolan predict` "
            "prices any number",
            (long long)ranks, PTO_SIMULATE_RANKS_MAX);
    pto_plan_size_t size = pto_plan_size(plan);
    int64_t most = size.messages > size.stages ? size.messages : size.stages;
    if (most <= limit - before) {
        if (used)
            *used += most;
        return PTO_OK;
    }
    char earlier[64] = "";
    if (before > 0)
        snprintf(earlier, sizeof earlier, ", of which other plans take %lld", (long long)before);
    return pto_error_set(err, PTO_ERR_TOO_LARGE,
                         "%s by %s sends %lld messages and its %lld ranks pass %lld stages in all; the limit "
                         "is %lld of either%s (--limit raises it, `portolan predict` needs none)",
                         plan->request.strategy->name, plan->request.algorithm->name,
                         (long long)size.messages, (long long)ranks, (long long)size.stages, (long long)limit,
                         earlier);
}
