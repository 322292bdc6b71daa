/* portolan upgrade: which change of a machine saves a workload most time, and which most for its cost. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "portolan/step.h"
#include "portolan/what_if.h"
#include "table.h"
#include "terminal.h"
#include "upgrades.h"
#include "workload_options.h"

static const char usage[] =
    "usage: portolan upgrade WORKLOAD.yaml [OPTIONS]\n"
    "\n"
    "Predicts a step of an application (see `portolan step`) on its machine, and again with each of several\n"
    "upgrades: those of a file, or a second NIC for each node, PCIe with twice the rate, GPU links with "
    "twice "
    "the\n"
    "rate, GPUDirect (GPU messages to other nodes that cost what the host's do) and twice the cores. The "
    "route of\n"
    "each call is chosen anew. The upgrade that saves most time is first, or that which saves most for its\n"
    "cost where costs are given.\n"
    "\n"
    "  portolan upgrade scenarios/workloads/fft-3d.yaml\n"
    "  portolan upgrade scenarios/workloads/llm-training.yaml --upgrades offers.yaml\n"
    "\n"
    "A file of upgrades has changes as after --what-if, and costs in any one unit:\n"
    "\n"
    "  upgrades:\n"
    "    - {name: 400G instead of 200G, what_if: [\"injection.*=/2\"], cost: 1.5}\n"
    "    - {name: GPUs that start copies faster, what_if: [\"copies.*.alpha_s=/2\"]}\n"
    "\n"
    "csv: one row per upgrade, `upgrade,step_s,communication_s,exposed_s,saved_s,cost,reason`. The first "
    "row, "
    "`as it is`,\n"
    "is the machine without any; an upgrade that cannot be applied has only a reason.\n";

static const pto_option_t upgrade_options[] = {{"upgrades", "FILE.yaml",
                                                "the upgrades (default: the ones named above)",
                                                PTO_STORE(TEXT, pto_options_t, upgrades)},
                                               {.name = NULL}};

static const pto_option_set_t option_sets[] = {{"options", pto_format_options}, {NULL, upgrade_options},
                                               {NULL, pto_machine_options},     {NULL, pto_workload_options},
                                               {NULL, pto_change_options},      {NULL, NULL}};

static const pto_syntax_t syntax = {
    .program = "portolan upgrade", .usage = usage, .set = option_sets, .operand = "*.yaml"};

/* A step with an upgrade, or as it is. */
typedef struct {
    const char *name;
    double cost;
    bool applies;
    pto_step_route_t step; /* by the cheapest routes */
    double saved_s;
    char reason[PTO_ERROR_MESSAGE_MAX];
} outcome_t;

/* --- what upgrades change ------------------------------------------------------------------------------- */

static const char gpu_off_node[] = "messages.gpu.off_node.";

/* GPU messages to other nodes cost what the host's of the same protocol do, where these are cheaper. */
static pto_status_t use_gpudirect(pto_machine_t *machine, pto_error_t *err) {
    pto_machine_param_t *param;
    int count, changed = 0;
    pto_status_t status = pto_machine_params(machine, &param, &count, err);
    if (status != PTO_OK)
        return status;
    for (int i = 0; i < count && status == PTO_OK; i++) {
        char host[PTO_PARAM_KEY_MAX];
        double value;
        if (strncmp(param[i].key, gpu_off_node, sizeof gpu_off_node - 1) != 0 || !param[i].param ||
            !pto_param_known(param[i].param))
            continue;
        snprintf(host, sizeof host, "messages.cpu.off_node.%s", param[i].key + sizeof gpu_off_node - 1);
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

/* At least one change of an upgrade must match; a machine need not have all that some have. */
static pto_status_t change(const void *context, pto_options_t *options, pto_error_t *err) {
    const pto_upgrade_t *upgrade = context;
    pto_status_t first = PTO_OK;
    int applied = 0;
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

/* --- outcomes ------------------------------------------------------------------------------------------- */

/* Predict the workload file anew, since the layout and the machine may be others; `upgrade` NULL: as it is.
 * The header of the tables is printed for that. */
static pto_status_t predict(const pto_arguments_t *given, const pto_upgrade_t *upgrade,
                            pto_step_route_t *route, pto_error_t *err) {
    pto_options_t options = {.format = PTO_FORMAT_TABLE};
    pto_workload_t workload;
    pto_step_prediction_t step;
    pto_scenario_init(&options.scenario);
    pto_status_t status = pto_arguments_apply(given, &options, err);
    if (status == PTO_OK)
        status = pto_workload_read(given->operand[0], &workload, err);
    if (status != PTO_OK) {
        pto_options_fini(&options);
        return status;
    }
    status = pto_options_bind_workload(&options, &workload, upgrade ? change : NULL, upgrade, err);
    if (status == PTO_OK)
        status = pto_step_predict(&workload, options.machine, &step, err);
    if (status == PTO_OK) {
        *route = step.mix;
        if (!upgrade && options.format == PTO_FORMAT_TABLE) {
            printf("# portolan upgrade: %s\n# machine    %s (%s)\n", workload.name,
                   pto_machine_name(options.machine), pto_machine_path(options.machine));
            pto_print_changes(stdout, options.machine);
            pto_print_layout(stdout, &workload.layout);
        } else if (!upgrade && options.format == PTO_FORMAT_JSON) {
            pto_print_json_start(stdout, options.machine);
        }
        pto_step_fini(&step);
    }
    pto_workload_fini(&workload);
    pto_options_fini(&options);
    return status;
}

static double worth(const outcome_t *outcome) {
    return outcome->cost > 0 ? outcome->saved_s / outcome->cost : outcome->saved_s;
}

static int by_worth(const void *a, const void *b) {
    const outcome_t *left = a, *right = b;
    if (left->applies != right->applies)
        return left->applies ? -1 : 1;
    if ((left->cost > 0) != (right->cost > 0))
        return left->cost > 0 ? -1 : 1;
    return (worth(left) < worth(right)) - (worth(left) > worth(right));
}

/* --- output --------------------------------------------------------------------------------------------- */

enum { NAME_WIDTH = 26 };

static void print_row(const outcome_t *outcome, double before_s, bool costs) {
    char step[PTO_SECONDS_TEXT_MAX], exposed[PTO_SECONDS_TEXT_MAX], saved[PTO_SECONDS_TEXT_MAX];
    pto_seconds_format(outcome->step.seconds, step, sizeof step);
    pto_seconds_format(outcome->step.exposed_s, exposed, sizeof exposed);
    pto_seconds_format(fabs(outcome->saved_s), saved, sizeof saved);
    printf("%-*s  %8s", NAME_WIDTH, outcome->name, step);
    if (!costs)
        printf("  %8s", exposed);
    if (before_s > 0)
        printf("  %s%8s  %5.1f%%", outcome->saved_s < 0 ? "-" : " ", saved,
               100 * outcome->saved_s / before_s);
    if (costs && outcome->cost > 0) {
        pto_seconds_format(fabs(worth(outcome)), saved, sizeof saved);
        printf("  %6g  %s%8s", outcome->cost, outcome->saved_s < 0 ? "-" : " ", saved);
    }
    putchar('\n');
}

static void print_table(const outcome_t *outcome, int count) {
    bool costs = false;
    for (int i = 0; i < count; i++)
        costs = costs || outcome[i].cost > 0;
    printf("# %-*s  %8s%s   %8s   %5s%s\n", NAME_WIDTH - 2, "Upgrade", "Step", costs ? "" : "   Exposed",
           "Saves", "Share", costs ? "    Cost   Per cost" : "");
    print_row(&outcome[0], 0, costs);
    for (int i = 1; i < count; i++)
        if (outcome[i].applies)
            print_row(&outcome[i], outcome[0].step.seconds, costs);
    for (int i = 1; i < count; i++)
        if (!outcome[i].applies)
            pto_print_note(stdout, "%s: %s", outcome[i].name, outcome[i].reason);
    pto_print_note(stdout, "Saves: of the step, by the cheapest routes with and without%s",
                   costs ? "; Per cost: for one unit of it"
                         : "; Exposed: communication that no computation hides");
}

static void print_csv(const outcome_t *outcome, int count) {
    printf("upgrade,step_s,communication_s,exposed_s,saved_s,cost,reason\n");
    for (int i = 0; i < count; i++) {
        pto_print_csv_text(stdout, outcome[i].name);
        if (outcome[i].applies)
            printf(",%.9g,%.9g,%.9g,%.9g,", outcome[i].step.seconds, outcome[i].step.communication_s,
                   outcome[i].step.exposed_s, outcome[i].saved_s);
        else
            printf(",,,,,");
        if (outcome[i].cost > 0)
            printf("%.9g", outcome[i].cost);
        putchar(',');
        pto_print_csv_text(stdout, outcome[i].reason);
        putchar('\n');
    }
}

static void print_json(const outcome_t *outcome, int count) {
    printf(", \"upgrades\": [");
    for (int i = 0; i < count; i++) {
        printf("%s\n  {\"upgrade\": ", i ? "," : "");
        pto_print_json_string(stdout, outcome[i].name);
        if (outcome[i].cost > 0)
            printf(", \"cost\": %.9g", outcome[i].cost);
        if (outcome[i].applies) {
            printf(", \"step_s\": %.9g, \"communication_s\": %.9g, \"exposed_s\": %.9g, \"saved_s\": %.9g",
                   outcome[i].step.seconds, outcome[i].step.communication_s, outcome[i].step.exposed_s,
                   outcome[i].saved_s);
        } else {
            printf(", \"reason\": ");
            pto_print_json_string(stdout, outcome[i].reason);
        }
        putchar('}');
    }
    printf("\n]}\n");
}

/* --- the command ---------------------------------------------------------------------------------------- */

static pto_status_t predict_all(const pto_arguments_t *given, const pto_upgrades_t *upgrades,
                                outcome_t *outcome, pto_error_t *err) {
    outcome[0] = (outcome_t){.name = "as it is", .applies = true};
    pto_status_t status = predict(given, NULL, &outcome[0].step, err);
    for (int i = 0; i < upgrades->count && status == PTO_OK; i++) {
        outcome_t *own = &outcome[i + 1];
        pto_error_t fault = {.status = PTO_OK};
        *own = (outcome_t){.name = upgrades->upgrade[i].name, .cost = upgrades->upgrade[i].cost};
        own->applies = predict(given, &upgrades->upgrade[i], &own->step, &fault) == PTO_OK;
        memcpy(own->reason, fault.message, sizeof own->reason);
        own->saved_s = own->applies ? outcome[0].step.seconds - own->step.seconds : 0;
        if (fault.status == PTO_ERR_MEMORY)
            status = pto_error_set(err, PTO_ERR_MEMORY, "%s", fault.message);
    }
    return status;
}

static pto_status_t print_upgrades(const pto_arguments_t *given, const pto_options_t *options,
                                   pto_error_t *err) {
    pto_upgrades_t upgrades = {0};
    pto_status_t status = options->upgrades ? pto_upgrades_read(options->upgrades, &upgrades, err)
                                            : pto_upgrades_standard(&upgrades, err);
    if (status != PTO_OK)
        return status;
    int count = upgrades.count + 1;
    outcome_t *outcome = calloc((size_t)count, sizeof *outcome);
    status = outcome ? predict_all(given, &upgrades, outcome, err)
                     : pto_error_set(err, PTO_ERR_MEMORY, "out of memory for upgrades");
    if (status == PTO_OK && outcome) {
        qsort(outcome + 1, (size_t)count - 1, sizeof *outcome, by_worth);
        void (*const print[])(const outcome_t *, int) = {
            [PTO_FORMAT_TABLE] = print_table, [PTO_FORMAT_CSV] = print_csv, [PTO_FORMAT_JSON] = print_json};
        print[options->format](outcome, count);
    }
    free(outcome);
    pto_upgrades_fini(&upgrades);
    return status;
}

static int run(const pto_arguments_t *given) {
    pto_options_t options = {.format = PTO_FORMAT_TABLE};
    pto_error_t err = {0};
    if (given->operand_count != 1)
        return pto_usage_error(&syntax, "name one workload file");
    pto_scenario_init(&options.scenario);
    int code = pto_options_apply(given, &options);
    if (code < 0)
        code = print_upgrades(given, &options, &err) == PTO_OK ? pto_flush_output() : pto_report_error(&err);
    pto_options_fini(&options);
    return code;
}

const pto_command_t pto_command_upgrade = {.name = "upgrade",
                                           .summary = "rank upgrades of a machine by the time that they save",
                                           .syntax = &syntax,
                                           .run = run};
