/* portolan-validate: run a scenario's plans, compare every result with a reference, time them, and set the
 * times beside their predictions. */
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "guard.h"
#include "portolan/strategy.h"
#include "portolan/units.h"
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
    "  --force                              replace that file where it exists, when all is measured\n"
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
    "  --timeout SECONDS                    end the job where a run takes longer, or a process makes no "
    "progress\n"
    "                                       for so long (default 20)\n";

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
    double parsed = 0;
    if (pto_double_parse(text, &parsed, NULL) != PTO_OK || parsed < least || parsed > most)
        return pto_error_set(err, PTO_ERR_RANGE, "'%s' is not a number between %.15g and %.15g", text, least,
                             most);
    *number = parsed;
    return PTO_OK;
}

static pto_status_t parse_count(const char *text, int most, int *count, pto_error_t *err) {
    int64_t parsed = 0;
    if (pto_int64_parse(text, &parsed, NULL) != PTO_OK || parsed < 1 || parsed > most)
        return pto_error_set(err, PTO_ERR_RANGE, "'%s' is not a whole number between 1 and %d", text, most);
    *count = (int)parsed;
    return PTO_OK;
}

/* Options with a value. `*known` says whether `name` is one of ours. */
static pto_status_t apply(settings_t *settings, const char *name, const char *text, bool *known,
                          pto_error_t *err) {
    pto_status_t status = PTO_OK;
    *known = true;
    if (strcmp(name, "--device") == 0)
        return pto_device_find(text, &settings->device, err);
    if (strcmp(name, "--op") == 0)
        return parse_op(text, &settings->op, err);
    if (strcmp(name, "--out") == 0) {
        settings->out_path = text;
    } else if (strcmp(name, "--repeats") == 0) {
        status = parse_count(text, 1000000, &settings->repeats, err);
    } else if (strcmp(name, "--queued") == 0) {
        status = parse_count(text, 100000, &settings->queued, err);
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
    } known[] = {{"--force", &settings->force},
                 {"--check-only", &settings->check_only},
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

/* The first process whose own options are wrong says so; all return the same. */
static bool own_options_right(const pto_error_t *own, int rank) {
    int size = 0, first = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int mine = own->status == PTO_OK ? size : rank;
    MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (rank == first)
        pto_report_error(own);
    return first == size;
}

/* Rank 0 parses first and says what is wrong; the others follow only where nothing is. Returns the same on
 * all processes: -1 to go on, else the exit code. `own` is what take_own said. */
static int parse(int argc, char **argv, int rank, const pto_error_t *own, pto_options_t *options) {
    int code = -1, worst = -1;
    guard_step(0, "reading the arguments");
    if (!own_options_right(own, rank))
        return PTO_EXIT_USAGE;
    if (rank == 0)
        code = pto_options_parse(argc, argv, 0, usage, options);
    MPI_Bcast(&code, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (code >= 0)
        return code;
    if (rank != 0)
        code = pto_options_parse(argc, argv, 0, usage, options);
    MPI_Allreduce(&code, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (code < 0 && worst >= 0)
        pto_options_fini(options);
    return worst;
}

/* --- all cells -------------------------------------------------------------------------------------------
 */

/* Errors of one process end the job: the others may be inside a run. Most are met by all of them. */
static void end_job(const pto_error_t *err) {
    if (guard_says(err->message))
        pto_report_error(err);
    guard_abort(PTO_EXIT_ERROR);
}

/* Nothing measured is lost without a word. */
static void flush_table(void) {
    if (pto_flush_output() != PTO_EXIT_OK)
        guard_abort(PTO_EXIT_ERROR);
}

/* Text that is collected so that it reaches the file at once. */
typedef struct {
    FILE *file;
    char *text;
    size_t length;
} lines_t;

static void lines_begin(lines_t *lines) {
    *lines = (lines_t){0};
    lines->file = open_memstream(&lines->text, &lines->length);
    pto_error_t err = {0};
    if (!lines->file) {
        pto_error_set(&err, PTO_ERR_MEMORY, "out of memory for rows");
        end_job(&err);
    }
}

static void lines_put(lines_t *lines, row_file_t *csv) {
    pto_error_t err = {0};
    pto_status_t status = PTO_OK;
    if (fclose(lines->file) != 0)
        status = pto_error_set(&err, PTO_ERR_MEMORY, "out of memory for rows");
    if (status == PTO_OK)
        status = row_file_put(csv, lines->text, lines->length, &err);
    free(lines->text);
    if (status != PTO_OK)
        end_job(&err);
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
    int64_t bytes = pto_scenario_request(&options->scenario, point, cell->strategy, NULL).bytes;
    guard_about("%s of %lld bytes by %s", pto_collective_name(options->scenario.collective), (long long)bytes,
                cell->strategy->name);
    guard_step(local_limit_s(), "planning");
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
                      const pto_strategy_t **strategy, int count, row_file_t *csv) {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    cell_t *cells = calloc((size_t)count, sizeof *cells);
    if (!cells) {
        pto_error_t err = {0};
        pto_error_set(&err, PTO_ERR_MEMORY, "out of memory for %d strategies", count);
        end_job(&err);
        return;
    }
    for (int i = 0; i < count; i++) {
        cells[i].strategy = strategy[i];
        run_cell(options, settings, point, &cells[i]);
        pto_request_t request = pto_scenario_request(&options->scenario, point, strategy[i], NULL);
        if (csv) {
            lines_t lines;
            lines_begin(&lines);
            csv_cell(lines.file, settings, &request, &cells[i]);
            lines_put(&lines, csv);
        }
    }
    pto_request_t request = pto_scenario_request(&options->scenario, point, strategy[0], NULL);
    if (rank == 0) {
        report_point(stdout, settings, &request, cells, count);
        flush_table();
    }
    for (int i = 0; i < count; i++)
        free(cells[i].sample_s);
    free(cells);
}

static void run_powers(const pto_options_t *options, const settings_t *settings) {
    pto_error_t err = {0};
    if (measure_powers(settings, options, stdout, &err) != PTO_OK)
        end_job(&err);
}

/* On rank 0. NULL: no file is asked for. */
static row_file_t *open_csv(const settings_t *settings, const pto_options_t *options, int argc, char **argv) {
    row_file_t *csv = NULL;
    pto_error_t err = {0};
    lines_t lines;
    if (!settings->out_path)
        return NULL;
    if (row_file_open(settings->out_path, settings->force, &csv, &err) != PTO_OK)
        end_job(&err);
    lines_begin(&lines);
    csv_header(lines.file, options, settings, argc, argv);
    lines_put(&lines, csv);
    return csv;
}

static void run_points(const pto_options_t *options, const settings_t *settings,
                       const pto_strategy_t **strategy, int count, int argc, char **argv) {
    int rank = 0;
    row_file_t *csv = NULL;
    pto_error_t err = {0};
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        csv = open_csv(settings, options, argc, argv);
        report_header(stdout, options, settings);
        flush_table();
    }
    int64_t points = pto_scenario_points(&options->scenario);
    for (int64_t point = 0; point < points; point++)
        run_point(options, settings, point, strategy, count, csv);
    if (row_file_close(csv, &err) != PTO_OK)
        end_job(&err);
    if (rank == 0)
        report_end(stdout, points);
}

/* `argv` is for the file's provenance. */
static int run_all(const pto_options_t *options, settings_t *settings, int argc, char **argv) {
    const pto_strategy_t **strategy = NULL;
    int count = 0;
    pto_error_t err = {0};
    guard_step(0, "comparing the arguments of all processes");
    if (pto_scenario_strategies(&options->scenario, &strategy, &count, &err) != PTO_OK ||
        agree_on_settings(settings, options, count, &err) != PTO_OK)
        end_job(&err);
    bool begun = energy_begin(settings, options);
    if (begun && settings->powers)
        run_powers(options, settings);
    else if (begun)
        run_points(options, settings, strategy, count, argc, argv);
    free(strategy);
    return begun ? PTO_EXIT_OK : PTO_EXIT_ERROR;
}

int main(int argc, char **argv) {
    int given = 0, rank = 0, all_count = argc;
    settings_t settings = {
        .device = pto_device_at(0), .repeats = 30, .energy_window_s = 1, .powercap = "/sys/class/powercap"};
    settings.exec.on_timeout = PTO_TIMEOUT_ABORT;
    settings.exec.timeout_s = GUARD_TIMEOUT_DEFAULT_S;
    char **all = calloc((size_t)argc + 1, sizeof *all);
    if (!all)
        return PTO_EXIT_ERROR;
    memcpy(all, argv, (size_t)argc * sizeof *all);
    pto_error_t own = {0};
    take_own(&argc, argv, &settings, &own);
    guard_begin("portolan-validate", settings.exec.timeout_s);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &given);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    guard_meet(MPI_COMM_WORLD);
    pto_options_t options;
    int code = parse(argc, argv, rank, &own, &options);
    if (code < 0) {
        code = run_all(&options, &settings, all_count, all);
        pto_options_fini(&options);
    }
    energy_close(&settings.job);
    free(all);
    if (rank == 0 && pto_flush_output() != PTO_EXIT_OK)
        code = PTO_EXIT_ERROR;
    guard_part();
    MPI_Finalize();
    guard_end();
    return code;
}
