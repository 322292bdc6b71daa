/* portolan-validate's output: the table that people read, and the CSV file that `portolan score` reads. */
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "clock.h"
#include "pattern.h"
#include "portolan/api.h"
#include "portolan/bench.h"
#include "portolan/nccl.h"
#include "portolan/printable.h"
#include "portolan/score.h"
#include "validate.h"

/* Returns whether MPS serves the first GPU; it serves either all GPUs of a node or none. */
static pto_mps_t mps_here(const settings_t *settings, pto_error_t *err) {
    pto_gpu_info_t info = {.mps = PTO_MPS_UNKNOWN};
    const pto_device_bench_t *bench = settings->device->bench;
    return bench && bench->describe(0, &info, err) == PTO_OK ? info.mps : PTO_MPS_UNKNOWN;
}

void warn_of_mps(const pto_options_t *options, const settings_t *settings) {
    pto_error_t err = {0};
    pto_mps_t here = mps_here(settings, &err);
    if (*err.message)
        fprintf(stderr, "portolan-validate: warning: %s\n", err.message);
    pto_mps_t priced = pto_machine_mps(options->machine);
    if (here == PTO_MPS_UNKNOWN || priced == PTO_MPS_UNKNOWN || here == priced)
        return;
    char path[PTO_ERROR_FILE_MAX];
    fprintf(stderr,
            "portolan-validate: warning: processes share a GPU %s MPS here, and the costs of %s are those "
            "%s MPS (mps: %s)\n",
            here == PTO_MPS_YES ? "through" : "without",
            pto_escape_text(pto_machine_path(options->machine), path, sizeof path),
            priced == PTO_MPS_YES ? "through" : "without", pto_mps_name(priced));
}

static bool is_enqueued(const settings_t *settings) {
    return settings->options.enqueue || settings->options.graph > 0;
}

/* Runs that are queued behind each other start like enqueued ones. */
void warn_of_runs(const pto_options_t *options, const settings_t *settings) {
    bool behind = settings->options.enqueue || settings->options.queued > 0;
    pto_runs_t here = settings->options.graph > 0 ? PTO_RUNS_GRAPH
                      : behind                    ? PTO_RUNS_ENQUEUED
                                                  : PTO_RUNS_WAITED;
    pto_runs_t priced = pto_machine_runs(options->machine);
    char path[PTO_ERROR_FILE_MAX];
    if (here != priced)
        fprintf(
            stderr,
            "portolan-validate: warning: runs are %s here, and the costs of %s are those of runs that are "
            "%s\n",
            pto_runs_text(here), pto_escape_text(pto_machine_path(options->machine), path, sizeof path),
            pto_runs_text(priced));
}

/* Prints the columns of --bandwidth, or their headings if `cell` is NULL. */
static void report_bandwidth(FILE *file, const settings_t *settings, const pto_request_t *request,
                             const cell_t *cell) {
    static const struct {
        pto_bandwidth_t bandwidth;
        const char *name;
    } column[] = {{PTO_BANDWIDTH_ALGORITHM, "algbw"}, {PTO_BANDWIDTH_BUS, "busbw"}};
    const pto_bandwidth_t asked = settings->options.shared.bandwidth;
    for (size_t i = 0; i < sizeof column / sizeof *column; i++) {
        char text[PTO_SECONDS_TEXT_MAX];
        if (asked != column[i].bandwidth && asked != PTO_BANDWIDTH_BOTH)
            continue;
        if (!cell) {
            fprintf(file, " %10s", column[i].name);
            continue;
        }
        const pto_moved_t moved = {request->collective, pto_layout_owner_count(&request->layout),
                                   request->bytes, request->messages};
        fprintf(file, " %10s", pto_bandwidth_rate(column[i].bandwidth, &moved, cell->median_s, text));
    }
}

void report_header(FILE *file, const pto_options_t *options, const settings_t *settings) {
    const pto_scenario_t *scenario = &options->scenario;
    const pto_layout_t *layout = &scenario->layout;
    fprintf(file, "# validate: %s on device %s, against the machine %s\n",
            pto_collective_name(scenario->collective), settings->device->name,
            pto_machine_name(options->machine));
    if (layout->in_host)
        fprintf(file, "# layout: %lld nodes x %lld processes, data in host memory\n",
                (long long)layout->nodes, (long long)layout->gpus_per_node);
    else
        fprintf(file, "# layout: %lld nodes x %lld GPUs x %lld processes, %lld of them owners\n",
                (long long)layout->nodes, (long long)layout->gpus_per_node, (long long)layout->procs_per_gpu,
                (long long)layout->owners_per_gpu);
    if (strcmp(settings->device->name, "host") == 0 && !layout->in_host)
        fprintf(file, "# the device is host memory: these are not GPU times\n");
    if (settings->options.check_only) {
        fprintf(file, "# results only, no times\n");
        return;
    }
    if (pattern_of(settings))
        fprintf(file,
                "# pattern %s: a kernel before each exchange; times are what the exchange adds to the "
                "kernel, and its share\n#   of both; %lld bytes of a kernel's own data on each GPU\n",
                pattern_of(settings)->name, (long long)settings->options.local_bytes);
    report_sources(file, settings);
    if (settings->exec.wait == PTO_WAIT_SLEEP)
        fprintf(
            file,
            "# wait: processes sleep while they wait, which takes longer; no core's power is predicted\n");
    if (settings->options.queued > 0)
        fprintf(file,
                "# queued: each measured time is that of %d runs, queued one behind another with one wait "
                "for all, over %d;\n#   predictions are of runs that are waited for one by one\n",
                settings->options.queued, settings->options.queued);
    if (settings->options.nccl_windows)
        fprintf(file, "# nccl_windows: NCCL on buffers of ncclMemAlloc that are its symmetric windows; it "
                      "has no price, and is none of the picks\n");
    if (settings->options.graph > 0)
        fprintf(file, "# graph: captured in one graph, %d runs at a time; Call is that of one launch\n",
                settings->options.graph);
    else if (settings->options.enqueue)
        fprintf(file, "# enqueue: in a stream of the program's; Call is that of pto_exec_enqueue\n");
    fprintf(
        file,
        "# measured: median of %d runs, each its slowest process; [95%% interval]; times in us\n"
        "# setup: what making the executor took, once, and what of it is priced; '-': not by this machine\n"
        "# %-10s %-14s %-28s %12s %12s %25s %12s %10s %12s %12s",
        settings->options.repeats, "Bytes", "Strategy", "Algorithm", "Least", "Median", "Interval",
        "Predicted", "Pred/meas", "Setup", "Setup priced");
    report_bandwidth(file, settings, NULL, NULL);
    report_energy_heading(file, settings);
    if (pattern_of(settings))
        fprintf(file, " %12s %12s", "Kernel", "Share");
    if (is_enqueued(settings))
        fprintf(file, " %12s", "Call");
    fputc('\n', file);
}

const char *cell_name(const cell_t *cell) { return cell->windows ? "nccl_windows" : cell->strategy->name; }

/* Returns a quantile, over the runs, of the number of members that the policy staged; `share` from 0 to 1. */
static int chosen_quantile(const pto_exec_choices_t *chosen, double share) {
    int64_t runs = 0, seen = 0;
    for (int i = 0; i <= chosen->members; i++)
        runs += chosen->runs[i];
    for (int i = 0; i <= chosen->members; i++) {
        seen += chosen->runs[i];
        if (seen > 0 && (double)seen >= share * (double)runs)
            return i;
    }
    return chosen->members;
}

/* Formats the policy's choices as "in 5 (0 to 7), out 2 (1 to 7) of 7": median, minimum and maximum. */
static void format_chosen(const cell_t *cell, char *text, size_t text_size) {
    static const char *const name[CHOSEN_MAX] = {"in", "out"};
    size_t used = 0;
    for (int i = 0; i < cell->chosen_count && i < CHOSEN_MAX && used < text_size; i++) {
        const pto_exec_choices_t *chosen = &cell->chosen[i];
        used += (size_t)snprintf(text + used, text_size - used, "%s%s %d (%d to %d)", i ? ", " : "", name[i],
                                 chosen_quantile(chosen, 0.5), chosen_quantile(chosen, 0),
                                 chosen_quantile(chosen, 1));
    }
    if (used < text_size)
        snprintf(text + used, text_size - used, " of %d", cell->chosen[0].members);
}

static void report_cell(FILE *file, const settings_t *settings, const pto_request_t *request,
                        const cell_t *cell) {
    fprintf(file, "%-12lld %-14s ", (long long)request->bytes, cell_name(cell));
    if (cell->reason[0]) {
        fprintf(file, "does not apply: %s\n", cell->reason);
        return;
    }
    char name[64], choice[PTO_CHOICE_TEXT_MAX];
    snprintf(name, sizeof name, "%s%s%s", cell->algorithm->name, cell->by_library ? " (library)" : "",
             cell->strategy->fixed
                 ? ""
                 : pto_choice_text(cell->strategy, cell->chunks, cell->staged_members, choice));
    if (settings->options.check_only) {
        fprintf(file, "%-28s right\n", name);
        return;
    }
    fprintf(file, "%-28s %12.2f %12.2f [%11.2f,%11.2f]", name, cell->least_s * 1e6, cell->median_s * 1e6,
            cell->low_s * 1e6, cell->high_s * 1e6);
    if (cell->windows)
        fprintf(file, " %12s %10s", "-", "-");
    else
        fprintf(file, " %12.2f %10.3f", cell->predicted_s * 1e6, cell->predicted_s / cell->median_s);
    fprintf(file, " %12.2f", cell->setup_s * 1e6);
    if (cell->has_predicted_setup)
        fprintf(file, " %12.2f", cell->predicted_setup_s * 1e6);
    else
        fprintf(file, " %12s", "-");
    report_bandwidth(file, settings, request, cell);
    report_energy(file, settings, cell);
    if (pattern_of(settings))
        fprintf(file, " %12.2f %11.1f%%", cell->kernel_s * 1e6,
                100 * cell->median_s / (cell->kernel_s + cell->median_s));
    if (is_enqueued(settings))
        fprintf(file, " %12.2f", cell->enqueue_s * 1e6);
    fputc('\n', file);
    if (cell->chosen_count > 0) {
        char chosen[96];
        format_chosen(cell, chosen, sizeof chosen);
        fprintf(file, "#            %s staged %s, median (least to most) of these runs\n",
                cell->strategy->name, chosen);
    }
}

/* Finds pick, winner and regret, as `portolan score` would print them for these medians. */
static pto_status_t score_point(const pto_request_t *request, const cell_t *cells, int count,
                                pto_score_cell_t *score, pto_error_t *err) {
    for (int i = 0; i < count; i++) {
        if (cells[i].reason[0] || cells[i].windows)
            continue;
        const int candidate = score->candidate_count++;
        score->candidate[candidate].strategy = cells[i].strategy;
        score->candidate[candidate].staged_members = cells[i].staged_members;
        score->candidate[candidate].measured_s = cells[i].median_s;
        score->prediction[candidate].applicable = true;
        score->prediction[candidate].price.seconds = cells[i].predicted_s;
    }
    score->bytes = request->bytes;
    if (score->candidate_count == 0)
        return PTO_OK;
    pto_score_rank(score, 0);
    return pto_score_pick(score, err);
}

static void report_pick(FILE *file, const pto_request_t *request, const cell_t *cells, int count) {
    pto_score_cell_t score = {.candidate = calloc((size_t)count, sizeof *score.candidate),
                              .prediction = calloc((size_t)count, sizeof *score.prediction),
                              .picked = -1};
    pto_error_t err = {0};
    pto_status_t status = PTO_ERR_MEMORY;
    if (score.candidate && score.prediction)
        status = score_point(request, cells, count, &score, &err);
    if (status != PTO_OK)
        fprintf(file, "%-12s no pick: %s\n", "", pto_status_text(status));
    else if (score.picked >= 0) {
        const pto_score_candidate_t *picked = &score.candidate[score.picked];
        const pto_score_candidate_t *best = &score.candidate[score.best];
        char choice[PTO_CHOICE_TEXT_MAX], best_choice[PTO_CHOICE_TEXT_MAX];
        fprintf(file, "%-12s picked %s%s, won %s%s, regret %.1f%%\n", "", picked->strategy->name,
                pto_choice_text(picked->strategy, 0, picked->staged_members, choice), best->strategy->name,
                pto_choice_text(best->strategy, 0, best->staged_members, best_choice), 100 * score.regret);
    }
    free(score.candidate);
    free(score.prediction);
}

void report_point(FILE *file, const settings_t *settings, const pto_request_t *request, const cell_t *cells,
                  int count) {
    for (int i = 0; i < count; i++)
        report_cell(file, settings, request, &cells[i]);
    if (!settings->options.check_only)
        report_pick(file, request, cells, count);
}

void report_end(FILE *file, int64_t points) { fprintf(file, "# complete: %lld points\n", (long long)points); }

/* Returns whether rows have a column for the algorithm. */
static bool names_algorithms(const settings_t *settings) {
    return settings->exec.own_algorithms || settings->options.each_algorithm;
}

/* Prints a word of the command line. Line breaks are escaped, so that the comment stays on one line. */
static void print_word(FILE *file, const char *before, const char *word) {
    char escaped[PTO_ESCAPED_MAX];
    fputs(before, file);
    while (*word) {
        word += pto_escape(word, escaped);
        fputs(escaped, file);
    }
}

void csv_header(FILE *file, const pto_options_t *options, const settings_t *settings, int argc, char **argv) {
    char date[32] = "", library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0, size = 0;
    time_t now = time(NULL);
    struct utsname name = {0};
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
    uname(&name);
    MPI_Get_library_version(library, &length);
    library[strcspn(library, ",\n")] = '\0';
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    fprintf(file, "# date=%s\n# machine=%s\n# device=%s\n# mps=%s\n# host=%s %s %s\n# mpi=%s\n", date,
            pto_machine_name(options->machine), settings->device->name,
            pto_mps_name(mps_here(settings, NULL)), name.sysname, name.release, name.machine, library);
    csv_energy_header(file, settings);
    if (settings->exec.wait == PTO_WAIT_SLEEP)
        fprintf(file, "# wait=sleep\n");
    if (pattern_of(settings))
        fprintf(file, "# pattern=%s\n# local_bytes=%lld\n", pattern_of(settings)->name,
                (long long)settings->options.local_bytes);
    if (settings->options.queued > 0)
        fprintf(file, "# queued=%d\n", settings->options.queued);
    if (is_enqueued(settings))
        fprintf(file, "# graph=%d\n", settings->options.graph);
    if (settings->device->nccl && settings->device->nccl->available(NULL) == PTO_OK)
        fprintf(file, "# nccl=%s\n", settings->device->nccl->version());
    fprintf(file, "# processes=%d\n# datatype=%s\n# op=%s\n# clock=%s\n# portolan=%s\n# command=", size,
            pto_datatype_name(options->scenario.datatype), pto_op_name(settings->op), clock_name(),
            pto_version());
    for (int i = 0; i < argc; i++)
        print_word(file, i ? " " : "", argv[i]);
    fprintf(file,
            "\ncollective,implementation,strategy,nodes,gpus_per_node,procs_per_gpu%s,bytes,run,seconds%s%s%s"
            "%s%s%s\n",
            options->scenario.layout.owners_per_gpu != 1 ? ",owners_per_gpu" : "",
            names_algorithms(settings) ? ",algorithm" : "", settings->options.energy ? ",joules" : "",
            options->scenario.collective == PTO_COLLECTIVE_PAIR ? ",distance,from_space,to_space,both_ways"
                                                                : "",
            options->scenario.collective == PTO_COLLECTIVE_HALO ? ",grid" : "",
            settings->chunked ? ",chunks" : "",
            options->scenario.staged_members.in != PTO_STAGED_TUNED ? ",staged_in,staged_out" : "");
}

/* Prints the columns of a row after its time. `posted`: the collective is done by MPI_Isend and MPI_Irecv. */
static void print_rest(FILE *file, const settings_t *settings, const pto_scenario_t *scenario,
                       const cell_t *cell, bool posted) {
    char grid[PTO_HALO_TEXT_MAX];
    double joules = energy_total(settings, cell);
    bool has_algorithm = cell->strategy->by_hand || (settings->exec.own_algorithms && !posted);
    if (names_algorithms(settings))
        fprintf(file, ",%s", has_algorithm ? cell->algorithm->name : "");
    if (settings->options.energy)
        fprintf(file, joules > 0 ? ",%.6g" : ",", joules);
    if (scenario->collective == PTO_COLLECTIVE_PAIR)
        fprintf(file, ",%s,%s,%s,%s", pto_level_name(scenario->distance),
                pto_space_name(scenario->ends.from_host ? PTO_SPACE_CPU : PTO_SPACE_GPU),
                pto_space_name(scenario->ends.to_host ? PTO_SPACE_CPU : PTO_SPACE_GPU),
                scenario->ends.both_ways ? "yes" : "no");
    if (scenario->collective == PTO_COLLECTIVE_HALO)
        fprintf(file, ",%s", pto_halo_text(&scenario->halo, grid));
    if (settings->chunked)
        fprintf(file, cell->chunks > 0 ? ",%lld" : ",", (long long)cell->chunks);
    if (scenario->staged_members.in != PTO_STAGED_TUNED)
        fprintf(file, cell->strategy->stages && !cell->strategy->fixed ? ",%lld,%lld" : ",,",
                (long long)cell->staged_members.in, (long long)cell->staged_members.out);
    fprintf(file, "\n");
}

void csv_cell(FILE *file, const pto_options_t *options, const settings_t *settings,
              const pto_request_t *request, const cell_t *cell) {
    const pto_layout_t *layout = &request->layout;
    bool posted = request->implementation == PTO_IMPLEMENTATION_ISEND_IRECV ||
                  !pto_collective_is_in_mpi(request->collective);
    char owners[24] = "";
    if (cell->sample_count == 0)
        return;
    if (layout->owners_per_gpu != 1)
        snprintf(owners, sizeof owners, ",%lld", (long long)layout->owners_per_gpu);
    fprintf(file, "# setup_s=%s,%lld,%.9g\n", cell_name(cell), (long long)request->bytes, cell->setup_s);
    if (cell->chosen_count > 0) {
        char chosen[96];
        format_chosen(cell, chosen, sizeof chosen);
        fprintf(file, "# staged=%s,%lld: %s\n", cell_name(cell), (long long)request->bytes, chosen);
    }
    if (pattern_of(settings))
        fprintf(file, "# kernel_s=%s,%.9g\n", cell_name(cell), cell->kernel_s);
    if (is_enqueued(settings))
        fprintf(file, "# call_s=%s,%lld,%.9g\n", cell_name(cell), (long long)request->bytes, cell->enqueue_s);
    for (int i = 0; i < cell->sample_count; i++) {
        fprintf(file, "%s,%s,%s,%lld,%lld,%lld%s,%lld,%d,%.9g", pto_collective_name(request->collective),
                pto_implementation_name(posted ? PTO_IMPLEMENTATION_ISEND_IRECV : PTO_IMPLEMENTATION_LIBRARY),
                cell_name(cell), (long long)layout->nodes, (long long)layout->gpus_per_node,
                (long long)(cell->strategy->splits ? layout->procs_per_gpu : layout->owners_per_gpu), owners,
                (long long)request->bytes, i + 1, cell->sample_s[i]);
        print_rest(file, settings, &options->scenario, cell, posted);
    }
}
