/* portolan-validate: run a scenario's plans, compare every result with a reference, time them, and set the
 * times beside their predictions. */
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "portolan/strategy.h"
#include "validate.h"

static const char usage[] =
    "usage: mpirun ... portolan-validate [SCENARIO.yaml] [OPTIONS]\n"
    "\n"
    "Runs every strategy of a scenario at every point: first its results are compared with a reference, "
    "then\n"
    "it is timed and set beside its prediction. The job must have the layout's number of processes.\n"
    "\n"
    "  mpirun -n 8 portolan-validate scenarios/problems/alltoall-summit.yaml --nodes 1 --gpus-per-node 2 \\\n"
    "      --cores-per-gpu 4 --bytes 4:64KiB --out collectives.csv\n"
    "\n"
    "its own options:\n"
    "  --device host|cuda                   where `gpu` buffers lie (default host: no GPU's times)\n"
    "  --out FILE.csv                       write every time measured\n"
    "  --repeats N                          timed runs of each plan (default 30)\n"
    "  --queued N                           time N runs queued one behind another and one wait, over N; for\n"
    "                                       plans that are one kernel, others are left out\n"
    "  --check-only                         compare results, time nothing\n"
    "  --op sum|prod|min|max                allreduce's operation (default sum)\n"
    "  --own-algorithms                     run our algorithms in the place of the MPI library's "
    "collectives\n"
    "  --placement nodes|identity           logical ranks by real nodes (default), or by MPI rank\n"
    "  --energy                             joules of a run beside its time: NVML's and RAPL's counters\n"
    "  --powers                             measure the powers for a machine file's `energy`, run nothing\n"
    "  --energy-seconds S                   measure energy at least so long (default 1, and 20 steps of the\n"
    "                                       counters)\n"
    "  --powercap FOLDER                    where the kernel shows RAPL (default /sys/class/powercap)\n"
    "  --timeout SECONDS                    end the job where a run takes longer (default 20)\n";

/* --- options ---------------------------------------------------------------------------------------------
 */

static pto_status_t parse_op(const char *text, pto_op_t *op, pto_error_t *err) {
    for (int i = 0; i < PTO_OP_COUNT; i++)
        if (strcmp(text, pto_op_name((pto_op_t)i)) == 0) {
            *op = (pto_op_t)i;
            return PTO_OK;
        }
    return pto_error_set(err, PTO_ERR_NOT_FOUND, "unknown operation '%s'; known: sum, prod, min, max", text);
}

static pto_status_t parse_number(const char *text, double least, double most, double *number,
                                 pto_error_t *err) {
    char *end = NULL;
    *number = strtod(text, &end);
    if (end == text || *end || !(*number >= least && *number <= most))
        return pto_error_set(err, PTO_ERR_RANGE, "'%s' is no number from %g to %g", text, least, most);
    return PTO_OK;
}

/* Options with a value. `*known` says whether `name` is one of ours. */
static pto_status_t apply(settings_t *settings, const char *name, const char *text, bool *known,
                          pto_error_t *err) {
    double number = 0;
    pto_status_t status = PTO_OK;
    *known = true;
    if (strcmp(name, "--device") == 0)
        return pto_device_find(text, &settings->device, err);
    if (strcmp(name, "--op") == 0)
        return parse_op(text, &settings->op, err);
    if (strcmp(name, "--out") == 0) {
        settings->out_path = text;
    } else if (strcmp(name, "--repeats") == 0) {
        status = parse_number(text, 1, 1000000, &number, err);
        settings->repeats = (int)number;
    } else if (strcmp(name, "--queued") == 0) {
        status = parse_number(text, 1, 100000, &number, err);
        settings->queued = (int)number;
    } else if (strcmp(name, "--energy-seconds") == 0) {
        status = parse_number(text, 0.001, 600, &settings->energy_window_s, err);
    } else if (strcmp(name, "--powercap") == 0) {
        settings->powercap = text;
    } else if (strcmp(name, "--timeout") == 0) {
        status = parse_number(text, 0.1, 1e6, &settings->exec.timeout_s, err);
    } else if (strcmp(name, "--placement") == 0) {
        settings->exec.placement =
            strcmp(text, "identity") == 0 ? PTO_PLACEMENT_IDENTITY : PTO_PLACEMENT_NODES;
        if (strcmp(text, "identity") != 0 && strcmp(text, "nodes") != 0)
            status =
                pto_error_set(err, PTO_ERR_NOT_FOUND, "unknown placement '%s'; known: nodes, identity", text);
    } else {
        *known = false;
    }
    return status;
}

/* Options without a value. Returns whether `name` is one of ours. */
static bool set_flag(settings_t *settings, const char *name) {
    const struct {
        const char *name;
        bool *flag;
    } known[] = {{"--check-only", &settings->check_only},
                 {"--own-algorithms", &settings->exec.own_algorithms},
                 {"--energy", &settings->energy},
                 {"--powers", &settings->powers}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(name, known[i].name) == 0) {
            *known[i].flag = true;
            return true;
        }
    return false;
}

/* Take our own options out of the arguments; what is left goes to the options that all commands share. */
static pto_status_t take_own(int *argc, char **argv, settings_t *settings, pto_error_t *err) {
    int kept = 1;
    for (int i = 1; i < *argc; i++) {
        bool known = false;
        pto_error_t cause = {0};
        pto_status_t status = PTO_OK;
        if (set_flag(settings, argv[i]))
            continue;
        if (i + 1 < *argc)
            status = apply(settings, argv[i], argv[i + 1], &known, &cause);
        if (status != PTO_OK)
            return pto_error_set(err, status, "%s: %s", argv[i], cause.message);
        if (known)
            i++;
        else
            argv[kept++] = argv[i];
    }
    argv[kept] = NULL;
    *argc = kept;
    return PTO_OK;
}

/* Rank 0 parses first and says what is wrong; the others follow only where nothing is. */
static int parse(int argc, char **argv, int rank, settings_t *settings, pto_options_t *options) {
    int code = -1;
    pto_error_t err = {0};
    if (take_own(&argc, argv, settings, &err) != PTO_OK) {
        if (rank == 0)
            pto_report_error(&err);
        return PTO_EXIT_USAGE;
    }
    if (rank == 0)
        code = pto_options_parse(argc, argv, 0, usage, options);
    MPI_Bcast(&code, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (code < 0 && rank != 0 && pto_options_parse(argc, argv, 0, usage, options) >= 0)
        MPI_Abort(MPI_COMM_WORLD, PTO_EXIT_ERROR);
    return code;
}

/* --- all cells -------------------------------------------------------------------------------------------
 */

/* Errors of one process end the job: the others may be inside a run. */
static void end_job(const pto_error_t *err) {
    pto_report_error(err);
    MPI_Abort(MPI_COMM_WORLD, PTO_EXIT_ERROR);
}

/* As far as the machine file has powers of what is read. */
static void predict_energy(const pto_options_t *options, const settings_t *settings, const pto_plan_t *plan,
                           const pto_price_t *price, const pto_explanation_t *explanation, cell_t *cell) {
    pto_energy_t energy;
    const energy_source_t *source = settings->job.source;
    bool cpus = pto_param_known(&options->machine.power_w[PTO_POWER_CPU_IDLE]);
    if (!settings->energy || (source[ENERGY_CPUS].counter_count > 0 && !cpus) ||
        pto_energy(plan, &options->machine, price, explanation, &energy, NULL) != PTO_OK)
        return;
    cell->has_predicted_joules = true;
    for (int power = 0; power < PTO_POWER_COUNT; power++)
        if (source[power <= PTO_POWER_GPU_KERNEL ? ENERGY_GPUS : ENERGY_CPUS].counter_count > 0)
            cell->predicted_joules += energy.part[power].joules;
}

/* As far as the machine file knows what the plan's setup costs. */
static void predict_setup(const pto_options_t *options, const pto_plan_t *plan, cell_t *cell) {
    pto_setup_t setup;
    cell->has_predicted_setup = pto_setup(plan, &options->machine, &setup, NULL) == PTO_OK && setup.known;
    cell->predicted_setup_s = cell->has_predicted_setup ? setup.seconds : 0;
}

/* Whether the MPI library's own collective is in it. */
static bool uses_library(const pto_plan_t *plan) {
    bool uses = false;
    for (int n = 0; n < pto_plan_node_count(plan); n++) {
        const pto_node_t *node = pto_plan_node(plan, n);
        uses = uses || (node->kind == PTO_NODE_COLLECTIVE && node->by == PTO_DONE_BY_LIBRARY);
    }
    return uses;
}

static void run_cell(const pto_options_t *options, const settings_t *settings, int64_t point, cell_t *cell) {
    pto_error_t err = {0};
    pto_plan_t *plan = NULL;
    pto_price_t price = {0};
    pto_explanation_t explanation = {0};
    pto_status_t status = pto_plan_choose(&options->scenario, &options->machine, point, cell->strategy, &plan,
                                          &price, &explanation, &err);
    if (status == PTO_OK) {
        predict_energy(options, settings, plan, &price, &explanation, cell);
        predict_setup(options, plan, cell);
        cell->predicted_s = price.seconds;
        cell->algorithm = pto_plan_request(plan)->algorithm;
        cell->by_library = uses_library(plan) && !settings->exec.own_algorithms;
        status = measure_cell(settings, plan, point, cell, &err);
    }
    if (status == PTO_ERR_NOT_APPLICABLE)
        memcpy(cell->reason, err.message, sizeof cell->reason);
    else if (status != PTO_OK)
        end_job(&err);
    pto_explanation_fini(&explanation);
    pto_plan_destroy(plan);
}

static void run_point(const pto_options_t *options, const settings_t *settings, int64_t point,
                      const pto_strategy_t **strategy, int count, FILE *csv) {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    cell_t *cells = calloc((size_t)count, sizeof *cells);
    if (!cells) {
        MPI_Abort(MPI_COMM_WORLD, PTO_EXIT_ERROR);
        return;
    }
    for (int i = 0; i < count; i++) {
        cells[i].strategy = strategy[i];
        run_cell(options, settings, point, &cells[i]);
        pto_request_t request = pto_scenario_request(&options->scenario, point, strategy[i], NULL);
        if (csv)
            csv_cell(csv, settings, &request, &cells[i]);
    }
    pto_request_t request = pto_scenario_request(&options->scenario, point, strategy[0], NULL);
    if (rank == 0)
        report_point(stdout, settings, &request, cells, count);
    for (int i = 0; i < count; i++)
        free(cells[i].sample_s);
    free(cells);
}

static int run_all(const pto_options_t *options, const settings_t *settings, FILE *csv) {
    const pto_strategy_t **strategy = NULL;
    int count = 0;
    pto_error_t err = {0};
    if (pto_scenario_strategies(&options->scenario, &strategy, &count, &err) != PTO_OK)
        end_job(&err);
    for (int64_t point = 0; point < pto_scenario_points(&options->scenario); point++)
        run_point(options, settings, point, strategy, count, csv);
    free(strategy);
    return PTO_EXIT_OK;
}

static int run_powers(const pto_options_t *options, const settings_t *settings) {
    pto_error_t err = {0};
    if (measure_powers(settings, options, stdout, &err) != PTO_OK)
        end_job(&err);
    return PTO_EXIT_OK;
}

static FILE *open_csv(const settings_t *settings) {
    if (!settings->out_path)
        return NULL;
    FILE *csv = fopen(settings->out_path, "w");
    pto_error_t err = {0};
    if (!csv) {
        pto_error_set(&err, PTO_ERR_IO, "cannot write %s", settings->out_path);
        end_job(&err);
    }
    return csv;
}

int main(int argc, char **argv) {
    int given = 0, rank = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &given);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    settings_t settings = {.device = pto_device_at(0),
                           .exec = {.on_timeout = PTO_TIMEOUT_ABORT},
                           .repeats = 30,
                           .energy_window_s = 1,
                           .powercap = "/sys/class/powercap"};
    char **all = calloc((size_t)argc + 1, sizeof *all);
    if (!all)
        return MPI_Abort(MPI_COMM_WORLD, PTO_EXIT_ERROR);
    memcpy(all, argv, (size_t)argc * sizeof *all);
    int all_count = argc;
    pto_options_t options;
    int code = parse(argc, argv, rank, &settings, &options);
    if (code < 0 && !energy_begin(&settings, &options)) {
        pto_options_fini(&options);
        code = PTO_EXIT_ERROR;
    } else if (code < 0 && settings.powers) {
        code = run_powers(&options, &settings);
        pto_options_fini(&options);
    } else if (code < 0) {
        FILE *csv = rank == 0 ? open_csv(&settings) : NULL;
        if (csv)
            csv_header(csv, &options, &settings, all_count, all);
        if (rank == 0)
            report_header(stdout, &options, &settings);
        code = run_all(&options, &settings, csv);
        if (csv && fclose(csv) != 0)
            code = PTO_EXIT_ERROR;
        pto_options_fini(&options);
    }
    energy_close(&settings.job);
    free(all);
    MPI_Finalize();
    return code;
}
