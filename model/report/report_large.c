/* Leaves strategies out of a page whose prices would take too long. */
#include <stdlib.h>

#include "base/checked.h"
#include "base/text.h"
#include "command_line/option_table.h"
#include "portolan/pick.h"
#include "portolan/strategy.h"
#include "report.h"

/* Returns the work of a strategy at all points. */
static int64_t strategy_work(const pto_options_t *options, const pto_strategy_t *strategy) {
    int64_t work = 0;
    for (int64_t point = 0; point < pto_scenario_points(&options->scenario); point++)
        if (!pto_add(work, pto_cell_work(&options->scenario, options->machine, point, strategy), &work))
            return INT64_MAX;
    return work;
}

/* Work below 0 is that of a strategy that is dropped, less one. Drop those that take most, until the others
 * are within the limit. False: none is left. */
static bool drop_largest(int64_t *work, int count, int64_t limit) {
    for (int left = count; left > 0; left--) {
        int64_t sum = 0;
        int largest = 0;
        for (int i = 0; i < count; i++) {
            if (work[i] > 0 && !pto_add(sum, work[i], &sum))
                sum = INT64_MAX;
            largest = work[i] > work[largest] ? i : largest;
        }
        if (sum <= limit)
            return true;
        work[largest] = -1 - work[largest];
    }
    return false;
}

/* Ask for the strategies that are left, and say which are not. */
static pto_status_t ask_for_rest(pto_options_t *options, const pto_strategy_t **strategy, const int64_t *work,
                                 int count, int64_t times, char **note, pto_error_t *err) {
    pto_text_t kept = {.text = NULL}, dropped = {.text = NULL};
    for (int i = 0; i < count; i++)
        if (work[i] >= 0)
            pto_text_add(&kept, "%s%s", kept.length > 0 ? "," : "", strategy[i]->name);
        else
            pto_text_add(&dropped, "%s%s (%lld)",
                         dropped.length > 0 ? ", " : "Left out as too large: ", strategy[i]->name,
                         (long long)(-1 - work[i]));
    pto_text_add(&dropped,
                 ". In parentheses: the messages or copies that pricing takes one by one, %lld times; the "
                 "limit is %lld for all (--limit).",
                 (long long)times, (long long)pto_scenario_work_limit(&options->scenario));
    pto_status_t status = kept.out_of_memory || dropped.out_of_memory
                              ? pto_error_set(err, PTO_ERR_MEMORY, "out of memory")
                              : PTO_OK;
    options->has_strategies = false;
    if (status == PTO_OK)
        status = pto_option_apply_strategy(options, kept.text, err);
    free(kept.text);
    *note = dropped.text;
    return status;
}

pto_status_t pto_report_leave_out(pto_options_t *options, int64_t times, char **note, pto_error_t *err) {
    const pto_strategy_t **strategy = NULL;
    int count = 0;
    *note = NULL;
    pto_status_t status = pto_check_work(&options->scenario, options->machine, times, NULL, err);
    if (status != PTO_ERR_TOO_LARGE ||
        pto_scenario_strategies(&options->scenario, &strategy, &count, NULL) != PTO_OK)
        return status;
    int64_t *work = calloc((size_t)count, sizeof *work);
    for (int i = 0; work && i < count; i++)
        work[i] = strategy_work(options, strategy[i]);
    bool any = false;
    if (work && drop_largest(work, count, pto_scenario_work_limit(&options->scenario) / times))
        for (int i = 0; i < count; i++)
            any = any || work[i] >= 0;
    if (any)
        status = ask_for_rest(options, strategy, work, count, times, note, err);
    free(work);
    free(strategy);
    return status;
}
