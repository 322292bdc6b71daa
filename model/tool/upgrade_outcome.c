/* Outcomes of upgrades: the machine is changed before the layout is bound to it, and all routes are chosen
 * anew. */
#include "upgrade_outcome.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "portolan/what_if.h"
#include "workload_options.h"

/* --- what upgrades change ------------------------------------------------------------------------------- */

static const char gpu_off_node[] = "messages.gpu.off_node.", cpu_off_node[] = "messages.cpu.off_node.";

/* The start of the smallest messages: that of the first protocol. */
static bool find_start(const pto_machine_param_t *param, int count, const char *messages, double *start_s) {
    for (int i = 0; i < count; i++)
        if (strncmp(param[i].key, messages, strlen(messages)) == 0 && param[i].param &&
            pto_param_known(param[i].param)) {
            *start_s = param[i].param->value;
            return true;
        }
    return false;
}

/* A message that starts sooner than the host's behind a copy to the host did not come through the host. */
static pto_status_t check_staged(const pto_machine_t *machine, const pto_machine_param_t *param, int count,
                                 pto_error_t *err) {
    double gpus = 1, gpu_s = 0, cpu_s = 0, copy_s = 0;
    if (pto_machine_get(machine, "node.gpus", &gpus, NULL) == PTO_OK && gpus < 1)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "the nodes have no GPUs");
    if (!find_start(param, count, gpu_off_node, &gpu_s))
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                             "the machine file has no messages.gpu.off_node that it could change");
    if (find_start(param, count, cpu_off_node, &cpu_s) &&
        pto_machine_get(machine, "copies.d2h.on_socket.alpha_s", &copy_s, NULL) == PTO_OK &&
        gpu_s < cpu_s + copy_s)
        return pto_error_set(
            err, PTO_ERR_NOT_APPLICABLE,
            "the machine has it: a GPU's message to another node starts sooner than a copy to "
            "the host and the host's message");
    return PTO_OK;
}

/* GPU messages to other nodes cost what the host's of the same protocol do, where these are cheaper. */
static pto_status_t use_gpudirect(pto_machine_t *machine, pto_error_t *err) {
    pto_machine_param_t *param;
    int count, changed = 0;
    pto_status_t status = pto_machine_params(machine, &param, &count, err);
    if (status != PTO_OK)
        return status;
    status = check_staged(machine, param, count, err);
    for (int i = 0; i < count && status == PTO_OK; i++) {
        char host[PTO_PARAM_KEY_MAX];
        double value;
        if (strncmp(param[i].key, gpu_off_node, sizeof gpu_off_node - 1) != 0 || !param[i].param ||
            !pto_param_known(param[i].param))
            continue;
        snprintf(host, sizeof host, "%s%s", cpu_off_node, param[i].key + sizeof gpu_off_node - 1);
        if (pto_machine_get(machine, host, &value, NULL) != PTO_OK || value >= param[i].param->value)
            continue;
        status = pto_machine_set(machine, param[i].key, value, err);
        changed++;
    }
    free(param);
    if (status == PTO_OK && changed == 0)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                             "no message of the host's is cheaper than the GPU's");
    return status;
}

/* Data in host memory have a process on each core unless the number is given. It stays what it is, so that
 * the question is the same. A pair has its own. */
static void keep_processes(pto_options_t *options) {
    pto_scenario_t *scenario = &options->scenario;
    double cores = 0, gpus = 1;
    bool open = scenario->procs_per_node == 0 && scenario->collective != PTO_COLLECTIVE_PAIR;
    if (!open || pto_machine_get(options->machine, "node.cores", &cores, NULL) != PTO_OK ||
        pto_machine_get(options->machine, "node.gpus", &gpus, NULL) != PTO_OK)
        return;
    if (scenario->memory == PTO_MEMORY_HOST || (scenario->memory == PTO_MEMORY_AUTO && gpus < 1))
        scenario->procs_per_node = (int64_t)cores;
}

/* At least one change of an upgrade must match; a machine need not have all that some have. */
static pto_status_t change(void *context, pto_options_t *options, pto_error_t *err) {
    const pto_upgrade_t *upgrade = context;
    pto_status_t first = PTO_OK;
    int applied = 0;
    keep_processes(options);
    for (int i = 0; i < upgrade->change_count; i++) {
        pto_error_t fault = {.status = PTO_OK};
        pto_status_t status =
            strcmp(upgrade->change[i], "gpudirect") == 0
                ? use_gpudirect(options->machine, &fault)
                : pto_what_if(upgrade->change[i], &options->scenario, options->machine, &fault);
        applied += status == PTO_OK;
        if (status != PTO_OK && first == PTO_OK) {
            first = status;
            *err = fault;
        }
    }
    return applied > 0 ? PTO_OK : first;
}

/* --- predictions ---------------------------------------------------------------------------------------- */

bool pto_outcome_seconds(const pto_outcome_t *outcome, int64_t point, double *seconds) {
    int winner = pto_pick_at(&outcome->predictions, point);
    if (winner >= 0)
        *seconds = pto_prediction_at(&outcome->predictions, point, winner)->price.seconds;
    return winner >= 0;
}

static pto_status_t predict_scenario(const pto_arguments_t *given, pto_outcome_t *outcome, pto_error_t *err) {
    pto_options_t *options = &outcome->options;
    pto_status_t status = pto_options_open(given, options, err);
    if (status == PTO_OK)
        status = pto_predict(&options->scenario, options->machine, true, &outcome->predictions, err);
    for (int64_t point = 0; status == PTO_OK && point < outcome->predictions.point_count; point++) {
        double seconds = 0;
        pto_outcome_seconds(outcome, point, &seconds);
        outcome->seconds += seconds;
    }
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

pto_status_t pto_outcome_predict(const pto_arguments_t *given, const pto_upgrade_t *upgrade,
                                 pto_outcome_t *outcome, pto_error_t *err) {
    union {
        const pto_upgrade_t *given;
        void *context;
    } borrowed = {.given = upgrade}; /* a context may be changed, and this one is not */
    *outcome = (pto_outcome_t){.name = upgrade ? upgrade->name : "as it is",
                               .cost = upgrade ? upgrade->cost : 0,
                               .of_workload = given->operand_count > 0 && pto_is_workload(given->operand[0])};
    if (upgrade)
        outcome->options.variant = (pto_variant_t){.change = change, .context = borrowed.context};
    pto_status_t status =
        outcome->of_workload ? predict_workload(given, outcome, err) : predict_scenario(given, outcome, err);
    outcome->applies = status == PTO_OK;
    return status;
}

void pto_outcome_fini(pto_outcome_t *outcome) {
    pto_predictions_fini(&outcome->predictions);
    pto_step_fini(&outcome->step);
    pto_workload_fini(&outcome->workload);
    pto_options_fini(&outcome->options);
}

double pto_outcome_worth(const pto_outcome_t *outcome) {
    return outcome->cost > 0 ? outcome->saved_s / outcome->cost : outcome->saved_s;
}
