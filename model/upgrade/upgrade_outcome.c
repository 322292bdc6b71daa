/* Predicts outcomes of upgrades: changes the machine before the layout is bound, and chooses strategies
 * again.
 */
#include "upgrade/upgrade_outcome.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "command_line/workload_options.h"
#include "portolan/scenario.h"
#include "show/step_table.h"
#include "show/table.h"
#include "upgrade/upgrade_changes.h"

/* Fixes the number of processes with data in host memory, which is by default that of the cores, so that an
 * upgrade does not change it. A pair has its own number. */
static void fix_processes(pto_options_t *options) {
    pto_scenario_t *scenario = &options->scenario;
    double cores = 0, gpus = 1;
    bool open = scenario->procs_per_node == 0 && scenario->collective != PTO_COLLECTIVE_PAIR;
    if (!open || pto_machine_get(options->machine, "node.cores", &cores, NULL) != PTO_OK ||
        pto_machine_get(options->machine, "node.gpus", &gpus, NULL) != PTO_OK)
        return;
    if (scenario->memory == PTO_MEMORY_HOST || (scenario->memory == PTO_MEMORY_AUTO && gpus < 1))
        scenario->procs_per_node = (int64_t)cores;
}

/* An upgrade in one prediction. */
typedef struct {
    const pto_upgrade_t *upgrade;
    bool all_hidden; /* without it, computation hides all communication */
    char *note;      /* what a change assumes */
    bool *unchanged; /* set if no change can be priced, nor has to be */
} variant_t;

static bool stays_on_node(const pto_scenario_t *scenario) {
    bool stays = scenario->nodes.count > 0 || scenario->layout.nodes == 1;
    for (int64_t i = 0; i < scenario->nodes.count; i++)
        stays = stays && scenario->nodes.value[i] == 1;
    return stays;
}

static pto_status_t use_twice_the_nics(pto_options_t *options, char *note, pto_error_t *err) {
    double before = 0;
    const double of_gpus = pto_gpu_injection_with_twice_the_nics(options->machine);
    if (pto_machine_get(options->machine, "injection.gpu.s_per_byte", &before, NULL) == PTO_OK &&
        of_gpus > before / 2)
        snprintf(note, PTO_ERROR_MESSAGE_MAX, "GPUs send no more than their links to the host carry");
    pto_status_t status = pto_what_if("injection.*=/2", &options->scenario, options->machine, err);
    if (status == PTO_OK && of_gpus > 0)
        status = pto_machine_set(options->machine, "injection.gpu.s_per_byte", of_gpus, err);
    if (status != PTO_ERR_NOT_FOUND)
        return status;
    return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "%s",
                         stays_on_node(&options->scenario)
                             ? "no message leaves the node"
                             : "not priced: the machine file has no rate of a node's NICs (injection)");
}

static pto_status_t change_one(const char *text, const variant_t *variant, pto_options_t *options,
                               pto_error_t *err) {
    bool gpudirect = strcmp(text, "gpudirect") == 0;
    if (gpudirect && stays_on_node(&options->scenario))
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "no message leaves the node");
    if (gpudirect)
        return pto_add_gpudirect(options->machine, variant->note, err);
    if (strcmp(text, "NICs") == 0)
        return use_twice_the_nics(options, variant->note, err);
    if (strcmp(text, "network messages") == 0)
        return stays_on_node(&options->scenario)
                   ? pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "no message leaves the node")
                   : pto_speed_up_network(options->machine, err);
    if (strcmp(text, "GPU links") == 0)
        return pto_speed_up_gpu_links(options->machine, err);
    if (strcmp(text, "host links") == 0)
        return pto_speed_up_host_links(options->machine, err);
    return pto_what_if(text, &options->scenario, options->machine, err);
}

/* Applies the changes of an upgrade (pto_variant_t.change). At least one must apply, as not all machines have
 * all parameters. A change that cannot be priced is excused if there is nothing to save. */
static pto_status_t change(void *context, pto_options_t *options, pto_error_t *err) {
    const variant_t *variant = context;
    pto_status_t first = PTO_OK;
    int applied = 0, excused = 0;
    fix_processes(options);
    for (int i = 0; variant->upgrade->change[i]; i++) {
        pto_error_t fault = {.status = PTO_OK};
        pto_status_t status = change_one(variant->upgrade->change[i], variant, options, &fault);
        applied += status == PTO_OK;
        excused += variant->all_hidden && pto_text_begins(fault.message, "not priced");
        if (status != PTO_OK && first == PTO_OK) {
            first = status;
            *err = fault;
        }
    }
    *variant->unchanged = applied == 0 && excused > 0;
    if (*variant->unchanged)
        snprintf(variant->note, PTO_ERROR_MESSAGE_MAX,
                 "saves nothing, because nothing is exposed; communication with it is %.300s", err->message);
    if (applied + excused > 0)
        *err = (pto_error_t){.status = PTO_OK};
    return applied + excused > 0 ? PTO_OK : first;
}

bool pto_outcome_seconds(const pto_outcome_t *outcome, int64_t point, double *seconds) {
    int winner = pto_pick_at(&outcome->predictions, point);
    if (winner >= 0)
        *seconds = pto_prediction_at(&outcome->predictions, point, winner)->price.seconds;
    return winner >= 0;
}

static void add_up(pto_outcome_t *outcome) {
    outcome->priced_points = 0;
    outcome->seconds = 0;
    for (int64_t point = 0; point < outcome->predictions.point_count; point++) {
        double seconds = 0;
        outcome->priced_points += pto_outcome_seconds(outcome, point, &seconds);
        outcome->seconds += seconds;
    }
}

static pto_status_t predict_scenario(const pto_arguments_t *given, pto_outcome_t *outcome, pto_error_t *err) {
    pto_options_t *options = &outcome->options;
    pto_status_t status = pto_options_open(given, options, err);
    if (status == PTO_OK)
        status = pto_predict(&options->scenario, options->machine, true, &outcome->predictions, err);
    if (status == PTO_OK)
        add_up(outcome);
    return status;
}

static pto_status_t predict_workload(const pto_arguments_t *given, pto_outcome_t *outcome, pto_error_t *err) {
    pto_options_t *options = &outcome->options;
    pto_scenario_init(&options->scenario);
    pto_status_t status = pto_arguments_apply(given, options, err);
    if (status == PTO_OK)
        status = pto_workload_read(given->operand[0], &outcome->workload, err);
    if (status == PTO_OK)
        status = pto_options_bind_workload(options, &outcome->workload, err);
    if (status == PTO_OK)
        status = pto_step_predict(&outcome->workload, options->machine, &outcome->step, err);
    if (status == PTO_OK)
        outcome->seconds = outcome->step.mix.seconds;
    return status;
}

/* Returns the most that can be saved; of a step, the communication that computation does not hide. */
static double most_saved(const pto_outcome_t *as_it_is) {
    return as_it_is->of_workload ? as_it_is->step.mix.exposed_s : as_it_is->seconds;
}

/* Returns the least saving that is shown, as savings are shown in tenths of a percent. */
static double least_saving(const pto_outcome_t *as_it_is) { return 0.0005 * as_it_is->seconds; }

pto_status_t pto_outcome_predict(const pto_arguments_t *given, const pto_upgrade_t *upgrade,
                                 const pto_outcome_t *as_it_is, pto_outcome_t *outcome, pto_error_t *err) {
    variant_t variant = {.upgrade = upgrade,
                         .all_hidden = as_it_is && most_saved(as_it_is) < least_saving(as_it_is),
                         .note = outcome->note,
                         .unchanged = &outcome->unchanged};
    *outcome = (pto_outcome_t){.name = upgrade ? upgrade->name : "as it is",
                               .cost = upgrade ? upgrade->cost : 0,
                               .of_workload = given->operand_count > 0 && pto_is_workload(given->operand[0])};
    if (upgrade)
        outcome->options.variant = (pto_variant_t){.change = change, .context = &variant};
    pto_status_t status =
        outcome->of_workload ? predict_workload(given, outcome, err) : predict_scenario(given, outcome, err);
    outcome->options.variant = (pto_variant_t){0};
    outcome->applies = status == PTO_OK;
    return status;
}

void pto_outcome_fini(pto_outcome_t *outcome) {
    pto_predictions_fini(&outcome->predictions);
    pto_step_fini(&outcome->step);
    pto_workload_fini(&outcome->workload);
    pto_options_fini(&outcome->options);
}

/* Finds the first point that no strategy serves, and returns the first strategy's reason there. */
static const char *first_reason(const pto_outcome_t *outcome, int64_t *point) {
    const pto_predictions_t *predictions = &outcome->predictions;
    double seconds;
    for (*point = 0; *point < predictions->point_count; (*point)++)
        if (!pto_outcome_seconds(outcome, *point, &seconds))
            return pto_prediction_at(predictions, *point, 0)->reason;
    return "";
}

const char *pto_outcome_left_out(const pto_outcome_t *outcome, char text[PTO_ERROR_MESSAGE_MAX]) {
    const pto_predictions_t *predictions = &outcome->predictions;
    int64_t point;
    text[0] = '\0';
    if (outcome->of_workload || !outcome->applies || outcome->priced_points == predictions->point_count)
        return text;
    const char *reason = first_reason(outcome, &point);
    snprintf(text, PTO_ERROR_MESSAGE_MAX,
             "%lld of %lld points are left out, because no strategy serves them; at %s: %.300s",
             (long long)(predictions->point_count - outcome->priced_points),
             (long long)predictions->point_count, PTO_POINT_TEXT(predictions, predictions->point[point]),
             reason);
    return text;
}

bool pto_outcome_compares(const pto_outcome_t *as_it_is, const pto_outcome_t *outcome) {
    double seconds;
    for (int64_t point = 0; point < as_it_is->predictions.point_count; point++)
        if (pto_outcome_seconds(as_it_is, point, &seconds) != pto_outcome_seconds(outcome, point, &seconds))
            return false;
    return true;
}

/* The search for the seconds of prices that come from parameters which the upgrade should change, but keeps.
 */
typedef struct {
    const pto_untouched_t *untouched;
    const pto_machine_t *as_it_is;
    const pto_machine_t *upgraded;
} search_t;

static bool is_untouched(const search_t *search, const char *key) {
    double before, after;
    if (!pto_text_begins(key, search->untouched->prefix))
        return false;
    if (pto_text_begins(key, "topology."))
        return true;
    if (search->untouched->when == PTO_BETWEEN_NODES && !strstr(key, ".nodes_"))
        return false; /* rows of one node do not depend on NICs */
    return strstr(key, "s_per_byte") &&
           (pto_machine_get(search->as_it_is, key, &before, NULL) != PTO_OK ||
            pto_machine_get(search->upgraded, key, &after, NULL) != PTO_OK || before == after);
}

/* Returns the seconds of one price that come from such parameters. */
static double seconds_by(const search_t *search, const pto_explanation_t *explanation, int64_t nodes) {
    double seconds = 0;
    if ((search->untouched->when == PTO_BETWEEN_NODES && nodes == 1) ||
        (search->untouched->when == PTO_UNLINKED_GPUS && pto_gpus_are_linked(search->as_it_is)))
        return 0;
    for (int i = 0; i < explanation->count; i++)
        if (is_untouched(search, explanation->term[i].key))
            seconds += explanation->term[i].seconds;
    return seconds;
}

/* Returns these seconds of all points of a scenario. */
static double seconds_of_points(const search_t *search, const pto_predictions_t *predictions) {
    double seconds = 0;
    for (int64_t point = 0; point < predictions->point_count; point++) {
        int winner = pto_pick_at(predictions, point);
        if (winner < 0)
            continue;
        pto_request_t request =
            pto_scenario_request(predictions->scenario, point, predictions->strategy[winner], NULL);
        seconds += seconds_by(search, &pto_prediction_at(predictions, point, winner)->explanation,
                              request.layout.nodes);
    }
    return seconds;
}

/* Returns these seconds of all calls of a workload, with their repetitions. */
static double seconds_of_calls(const search_t *search, const pto_outcome_t *as_it_is) {
    double seconds = 0;
    for (int i = 0; i < as_it_is->workload.call_count; i++) {
        const pto_workload_call_t *call = &as_it_is->workload.call[i];
        const pto_strategy_t *strategy;
        if (pto_workload_is_call(call))
            seconds += (double)call->times *
                       seconds_by(search, &pto_step_best(&as_it_is->step, i, &strategy)->explanation,
                                  call->scenario.layout.nodes);
    }
    return seconds;
}

void pto_outcome_doubt(const pto_outcome_t *as_it_is, const pto_upgrade_t *upgrade, pto_outcome_t *outcome) {
    const double least_s = least_saving(as_it_is);
    bool saves = outcome->saved_s >= least_s;
    for (int i = 0; i < PTO_UNTOUCHED_MAX && outcome->applies && outcome->reason[0] == '\0'; i++) {
        const pto_untouched_t *untouched = &upgrade->untouched[i];
        if (!untouched->prefix)
            continue;
        search_t search = {untouched, as_it_is->options.machine, outcome->options.machine};
        double seconds = as_it_is->of_workload ? seconds_of_calls(&search, as_it_is)
                                               : seconds_of_points(&search, &as_it_is->predictions);
        if (fmin(seconds / 2, most_saved(as_it_is)) < least_s)
            continue;
        outcome->applies = saves || untouched->bound;
        snprintf(outcome->reason, sizeof outcome->reason, "%s: %s",
                 outcome->applies ? "saves that at least" : "not priced", untouched->why);
    }
    if (outcome->applies && outcome->reason[0] == '\0' && outcome->note[0])
        memcpy(outcome->reason, outcome->note, sizeof outcome->reason);
}

double pto_outcome_worth(const pto_outcome_t *outcome) {
    return outcome->cost > 0 ? outcome->saved_s / outcome->cost : outcome->saved_s;
}
