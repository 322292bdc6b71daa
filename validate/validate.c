/* portolan-validate, an MPI program: runs the plans of a scenario, compares every result with a reference,
 * and prints the measured times beside the predicted ones. */
#include <stdlib.h>
#include <string.h>

#include "agreement.h"
#include "base/grow.h"
#include "fatal.h"
#include "guard.h"
#include "portolan/api.h"
#include "portolan/strategy.h"
#include "start.h"
#include "validate.h"

/* Returns the time-out, which is needed before the other options are applied. */
static double timeout_s(const pto_arguments_t *arguments, int code) {
    double seconds = GUARD_TIMEOUT_DEFAULT_S;
    if (code < 0)
        pto_number_parse(pto_arguments_text(arguments, "timeout"), PTO_TIMEOUT_LEAST_S, PTO_TIMEOUT_MOST_S,
                         &seconds, NULL);
    return seconds;
}

/* Returns -1, or the exit code after printing the error. */
static int apply(const pto_arguments_t *arguments, settings_t *settings) {
    pto_error_t err = {0};
    const pto_validate_options_t *options = &settings->options;
    int code = pto_options_finish(arguments, &settings->options.shared);
    if (code >= 0)
        return code;
    settings->op = (pto_op_t)options->op;
    settings->exec = (pto_exec_options_t){.own_algorithms = options->own_algorithms,
                                          .placement = (pto_placement_t)options->placement,
                                          .timeout_s = options->timeout_s,
                                          .on_timeout = PTO_TIMEOUT_ABORT,
                                          .wait = (pto_wait_t)options->wait};
    code = pto_refuse_standard_output(arguments->syntax, "out", options->out_path);
    if (code < 0 && pto_device_find(options->device, &settings->device, &err) == PTO_OK)
        return -1;
    pto_options_fini(&settings->options.shared);
    if (code < 0)
        pto_report_error(&err);
    return PTO_EXIT_USAGE;
}

/* Collective. Rank 0 reads the files first; the others do so only if it succeeds, so that an error is printed
 * once. Returns the same on all processes: -1 to continue, otherwise the exit code. */
static int apply_on_all(const pto_arguments_t *arguments, settings_t *settings) {
    int code = -1, worst = -1;
    if (settings->world_rank == 0)
        code = apply(arguments, settings);
    MPI_Bcast(&code, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (code >= 0)
        return code;
    if (settings->world_rank != 0)
        code = apply(arguments, settings);
    MPI_Allreduce(&code, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (code < 0 && worst >= 0)
        pto_options_fini(&settings->options.shared);
    return worst;
}

/* An error on one process ends the job, as the others may be in a run. Equal errors are printed once. */
static void end_job(const pto_error_t *err) {
    if (guard_says(err->message))
        pto_report_error(err);
    guard_abort(PTO_EXIT_ERROR);
}

/* Ends the job if the table cannot be written: measurements must not be lost silently. */
static void flush_table(void) {
    if (pto_flush_output() != PTO_EXIT_OK)
        guard_abort(PTO_EXIT_ERROR);
}

/* Text that is collected in memory, so that it is written to the file in one piece. */
typedef struct {
    FILE *file;
    char *text;
    size_t length;
} lines_t;

static void lines_begin(lines_t *lines) {
    *lines = (lines_t){0};
    lines->file = open_memstream(&lines->text, &lines->length);
    if (!lines->file)
        die("out of memory for rows");
}

/* Writes the text to the file, and frees it. */
static void lines_put(lines_t *lines, row_file_t *csv) {
    pto_error_t err = {0};
    if (fclose(lines->file) != 0)
        die("out of memory for rows");
    if (row_file_put(csv, lines->text, lines->length, &err) != PTO_OK)
        end_job(&err);
    free(lines->text);
}

/* Predicts the energy of the sources that are read, if the machine file has their powers. */
static void predict_energy(const pto_options_t *options, const settings_t *settings, const pto_plan_t *plan,
                           const pto_price_t *price, const pto_explanation_t *explanation, cell_t *cell) {
    pto_energy_t energy;
    const energy_source_t *source = settings->job.source;
    double watts;
    bool cpus = pto_machine_get(options->machine, "energy.cpu.idle_w", &watts, NULL) == PTO_OK;
    if (!settings->options.energy || (source[ENERGY_CPUS].counter_count > 0 && !cpus) ||
        pto_energy(plan, options->machine, price, explanation, &energy, NULL) != PTO_OK)
        return;
    cell->has_predicted_joules = true;
    for (int power = 0; power < PTO_POWER_COUNT; power++) {
        if (power == PTO_POWER_CPU_CORE && settings->exec.wait == PTO_WAIT_SLEEP)
            continue; /* the cores neither work nor poll */
        if (source[power <= PTO_POWER_GPU_KERNEL ? ENERGY_GPUS : ENERGY_CPUS].counter_count > 0)
            cell->predicted_joules += energy.part[power].joules;
    }
}

/* Predicts the setup time, if the machine file has all its costs. */
static void predict_setup(const pto_options_t *options, const pto_plan_t *plan, cell_t *cell) {
    pto_setup_t setup;
    cell->has_predicted_setup = pto_setup(plan, options->machine, &setup, NULL) == PTO_OK && setup.known;
    cell->predicted_setup_s = cell->has_predicted_setup ? setup.seconds : 0;
}

static void predict(const pto_options_t *options, const settings_t *settings, const pto_plan_t *plan,
                    const pto_price_t *price, const pto_explanation_t *explanation, cell_t *cell) {
    predict_energy(options, settings, plan, price, explanation, cell);
    predict_setup(options, plan, cell);
    cell->predicted_s = price->seconds;
}

/* Returns whether the plan calls the MPI library's own collective. */
static bool uses_library(const pto_plan_t *plan) {
    for (int n = 0; n < pto_plan_node_count(plan); n++)
        if (pto_plan_node(plan, n)->kind == PTO_NODE_COLLECTIVE &&
            pto_plan_node(plan, n)->by == PTO_DONE_BY_LIBRARY)
            return true;
    return false;
}

/* Plans, predicts, checks and measures a cell. If its strategy does not apply, stores the reason. */
static void run_cell(const pto_options_t *options, const settings_t *settings, int64_t point, cell_t *cell) {
    pto_error_t err = {0};
    pto_scenario_t scenario = options->scenario; /* a shallow copy */
    scenario.staged_members = cell->staged_members;
    scenario.library.own = cell->algorithm ? cell->algorithm->name : NULL;
    pto_plan_t *plan = NULL;
    pto_price_t price = {0};
    pto_explanation_t explanation = {0};
    int64_t bytes = pto_scenario_request(&options->scenario, point, cell->strategy, NULL).bytes;
    guard_about("%s of %lld bytes by %s", pto_collective_name(options->scenario.collective), (long long)bytes,
                cell_name(cell));
    guard_step(local_limit_s(), "planning");
    pto_status_t status = pto_plan_choose(&scenario, options->machine, point, cell->strategy, &plan, &price,
                                          &explanation, &err);
    if (status == PTO_OK) {
        if (!cell->windows)
            predict(options, settings, plan, &price, &explanation, cell);
        cell->algorithm = pto_plan_request(plan)->algorithm;
        cell->chunks = pto_plan_request(plan)->chunks;
        cell->staged_members = pto_plan_request(plan)->staged_members;
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

/* A strategy that stages can run with any pair of numbers of staged members (pto_staged_t). */

/* Returns whether a pair stages nothing, or everything but the root's data. */
static bool is_pure(int64_t members, pto_staged_t pair) {
    return pair.in == pair.out && (pair.in == 0 || pair.in == members - 1);
}

/* Returns whether a pair is run: always if it is pure, or if every pair is asked for (PTO_STAGED_ALL);
 * otherwise if it differs from the cheapest one in at most one number. */
static bool is_run(const pto_staged_t *asked, const pto_staged_t *cheapest, int64_t members,
                   pto_staged_t pair) {
    return asked->in == PTO_STAGED_ALL || is_pure(members, pair) || pair.in == cheapest->in ||
           pair.out == cheapest->out;
}

typedef struct {
    cell_t *cell;
    int count;
} cells_t;

static void add_cell(cells_t *cells, cell_t cell) {
    if (!PTO_EXTEND(cells->cell, cells->count))
        die("out of memory for %d cells", cells->count + 1);
    cells->cell[cells->count++] = cell;
}

/* Adds a cell for each pair that is run. The pure ones come first, because the others are compared with them.
 */
static void add_pairs(const pto_staged_t *asked, const pto_strategy_t *strategy, const pto_request_t *request,
                      cells_t *cells) {
    int64_t members = strategy->stages(request);
    for (int pure = 1; pure >= 0; pure--)
        for (pto_staged_t pair = {0}; pair.in < members; pair.in++)
            for (pair.out = 0; pair.out < members; pair.out++)
                if (is_pure(members, pair) == pure && is_run(asked, &request->staged_members, members, pair))
                    add_cell(cells, (cell_t){.strategy = strategy, .staged_members = pair});
}

/* Adds a cell for each algorithm that the strategy may use. */
static void add_algorithms(const pto_strategy_t *strategy, pto_collective_t collective, cells_t *cells) {
    for (int i = 0; i < pto_algorithm_count(); i++)
        if (pto_strategy_with(strategy, pto_algorithm_at(i)) & 1u << collective)
            add_cell(cells, (cell_t){.strategy = strategy, .algorithm = pto_algorithm_at(i)});
}

/* Adds the cells of a strategy: one, or one for each variant that the options ask for. */
static void add_cells(const pto_options_t *options, const settings_t *settings, int64_t point,
                      const pto_strategy_t *strategy, cells_t *cells) {
    const pto_staged_t *asked = &options->scenario.staged_members;
    pto_plan_t *plan = NULL;
    pto_price_t price;
    bool several = strategy->stages && !strategy->fixed &&
                   (asked->in == PTO_STAGED_ALL || asked->in == PTO_STAGED_CROSS);
    if (settings->options.each_algorithm && strategy->by_hand) {
        add_algorithms(strategy, options->scenario.collective, cells);
    } else if (settings->options.nccl_windows && strategy->nccl) {
        add_cell(cells, (cell_t){.strategy = strategy});
        add_cell(cells, (cell_t){.strategy = strategy, .windows = true});
    } else if (several && pto_plan_choose(&options->scenario, options->machine, point, strategy, &plan,
                                          &price, NULL, NULL) == PTO_OK) {
        add_pairs(asked, strategy, pto_plan_request(plan), cells);
        pto_plan_destroy(plan);
    } else {
        add_cell(cells, (cell_t){.strategy = strategy, .staged_members = *asked});
    }
}

/* Runs all cells of a point, writes their rows to the file, and prints them. */
static void run_point(const pto_options_t *options, const settings_t *settings, int64_t point,
                      const pto_strategy_t **strategy, int count, row_file_t *csv) {
    cells_t cells = {0};
    for (int i = 0; i < count; i++)
        add_cells(options, settings, point, strategy[i], &cells);
    for (int i = 0; i < cells.count; i++) {
        cell_t *cell = &cells.cell[i];
        run_cell(options, settings, point, cell);
        pto_request_t request = pto_scenario_request(&options->scenario, point, cell->strategy, NULL);
        if (csv) {
            lines_t lines;
            lines_begin(&lines);
            csv_cell(lines.file, options, settings, &request, cell);
            lines_put(&lines, csv);
        }
    }
    pto_request_t request = pto_scenario_request(&options->scenario, point, strategy[0], NULL);
    if (settings->world_rank == 0) {
        report_point(stdout, settings, &request, cells.cell, cells.count);
        flush_table();
    }
    for (int i = 0; i < cells.count; i++)
        free(cells.cell[i].sample_s);
    free(cells.cell);
}

/* Opens the CSV file and writes its heading, on rank 0. NULL: the options name no file. */
static row_file_t *open_csv(const settings_t *settings, const pto_options_t *options, int argc, char **argv) {
    row_file_t *csv = NULL;
    pto_error_t err = {0};
    lines_t lines;
    if (!settings->options.out_path)
        return NULL;
    if (row_file_open(settings->options.out_path, settings->options.force, &csv, &err) != PTO_OK)
        end_job(&err);
    lines_begin(&lines);
    csv_header(lines.file, options, settings, argc, argv);
    lines_put(&lines, csv);
    return csv;
}

static void run_points(const pto_options_t *options, const settings_t *settings,
                       const pto_strategy_t **strategy, int count, int argc, char **argv) {
    row_file_t *csv = NULL;
    pto_error_t err = {0};
    if (settings->world_rank == 0) {
        warn_of_mps(options, settings);
        warn_of_runs(options, settings);
        csv = open_csv(settings, options, argc, argv);
        report_header(stdout, options, settings);
        flush_table();
    }
    int64_t points = pto_scenario_points(&options->scenario);
    for (int64_t point = 0; point < points; point++)
        run_point(options, settings, point, strategy, count, csv);
    if (row_file_close(csv, &err) != PTO_OK)
        end_job(&err);
    if (settings->world_rank == 0)
        report_end(stdout, points);
}

/* Returns whether the strategy, or an algorithm that it may use, may send in chunks. */
static bool may_send_chunks(const pto_strategy_t *strategy, pto_collective_t collective) {
    bool may = strategy->chunked;
    for (int i = 0; i < pto_algorithm_count() && strategy->by_hand; i++)
        may = may || (pto_algorithm_at(i)->cuts && pto_algorithm_at(i)->collectives & 1u << collective);
    return may;
}

/* Runs what the options ask for. Returns the exit code. `argv` is written to the file as its provenance. */
static int run_all(const pto_options_t *options, settings_t *settings, int argc, char **argv) {
    const pto_strategy_t **strategy = NULL;
    int count = 0;
    pto_error_t err = {0};
    guard_step(0, "comparing the arguments of all processes");
    if (pto_scenario_strategies(&options->scenario, &strategy, &count, &err) != PTO_OK ||
        compare_settings(settings, options, count, &err) != PTO_OK)
        end_job(&err);
    for (int i = 0; i < count; i++)
        settings->chunked = settings->chunked || may_send_chunks(strategy[i], options->scenario.collective);
    bool begun = energy_begin(settings, options);
    if (begun && !settings->options.powers)
        run_points(options, settings, strategy, count, argc, argv);
    else if (begun && measure_powers(settings, options, stdout, &err) != PTO_OK)
        end_job(&err);
    free(strategy);
    return begun ? PTO_EXIT_OK : PTO_EXIT_ERROR;
}

/* Returns whether an option is on the command line. */
static bool is_given(const pto_arguments_t *arguments, const char *name) {
    for (int i = 0; i < arguments->given_count; i++)
        if (strcmp(arguments->given[i].option->name, name) == 0)
            return true;
    return false;
}

int main(int argc, char **argv) {
    int given = 0;
    settings_t settings = {0};
    pto_arguments_t arguments;
    pto_error_t wrong = {0};
    int code = pto_arguments_read(&pto_validate_syntax, argc, argv, &arguments, &wrong);
    if (code < 0 && is_given(&arguments, "version")) {
        pto_arguments_fini(&arguments);
        printf("portolan-validate %s\n", pto_version());
        return pto_flush_output();
    }
    guard_begin("portolan-validate", timeout_s(&arguments, code));
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &given);
    MPI_Comm_rank(MPI_COMM_WORLD, &settings.world_rank);
    guard_meet(MPI_COMM_WORLD);
    guard_step(0, "reading the arguments");
    code = agree_on_arguments(&pto_validate_syntax, code, &wrong);
    if (code < 0)
        code = apply_on_all(&arguments, &settings);
    pto_arguments_fini(&arguments);
    if (code < 0) {
        code = run_all(&settings.options.shared, &settings, argc, argv);
        pto_options_fini(&settings.options.shared);
    }
    energy_close(&settings.job);
    start_end();
    if (settings.world_rank == 0 && pto_flush_output() != PTO_EXIT_OK)
        code = PTO_EXIT_ERROR;
    guard_leave_mpi();
    MPI_Finalize();
    guard_end();
    return code;
}
