/* portolan fit: fits a machine's parameters to the samples of portolan-calibrate, and writes the machine
 * file, a report and a plot. Some parameters show only in collectives, such as the algorithms of the MPI
 * library: they are called `terms`, and --collectives fits them to measured collectives. The library
 * libportolan-fit fits; this file reads, calls it and prints. */
#define _XOPEN_SOURCE 700 /* realpath */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/text.h"
#include "base/text_file.h"
#include "command.h"
#include "command_line/find_machine.h"
#include "command_line/terminal.h"
#include "portolan/fit.h"
#include "portolan/machine.h"
#include "portolan/recording.h"
#include "portolan/score.h"
#include "show/drawings.h"
#include "show/table.h"

static const char usage[] =
    "usage: portolan fit SAMPLES.csv [MORE.csv ...] --name NAME --out MACHINE.yaml [OPTIONS]\n\n"
    "Fits a machine's parameters to samples measured by portolan-calibrate (docs/fitting.md). Each\n"
    "parameter has a 95 percent confidence interval, the number of its samples and the median of their\n"
    "relative residuals. Protocol limits are found from the data.\n\n"
    "  portolan fit samples.csv --name mycluster --out mycluster.yaml --report\n"
    "  portolan fit samples.csv --collectives collectives.csv --name mycluster --out mycluster.yaml\n"
    "  portolan fit samples.csv --collectives osu.txt:4x8 --name mycluster --out mycluster.yaml\n\n"
    "Collectives are those of portolan-validate, or an output of OSU's benchmarks or nccl-tests with the\n"
    "nodes and processes per node that it was measured on.\n";

typedef struct {
    pto_options_t shared; /* must be first: --limit and --all are stored at its offsets */
    const char *name;
    const char *out;
    const char *plot;
    const char *source;
    pto_texts_t collectives;
    const char *borrow;
    pto_node_counts_t train;
    bool force;
    bool report;
    bool partial; /* has no effect; accepted for older scripts */
    pto_fit_options_t fit;
    char **samples; /* borrowed */
    int samples_count;
} arguments_t;

/* --- options ------------------------------------------------------------------------------------------- */

#define STORE(form, member) PTO_STORE(form, arguments_t, member)

static pto_status_t apply_breaks(void *target, const char *text, pto_error_t *err) {
    return pto_fit_breaks_parse(text, &((arguments_t *)target)->fit, err);
}

static pto_status_t apply_node(void *target, const char *text, pto_error_t *err) {
    return pto_fit_node_parse(text, &((arguments_t *)target)->fit, err);
}

static pto_status_t apply_train(void *target, const char *text, pto_error_t *err) {
    return pto_node_counts_parse(text, &((arguments_t *)target)->train, err);
}

static const pto_option_t fit_options[] = {
    {"name", "NAME", "the machine's name in the file", STORE(TEXT, name)},
    {"out", "FILE.yaml",
     "the machine file to write, - for standard output; one that exists is replaced only with --force",
     STORE(TEXT, out)},
    {"force", NULL, "replace that file, as a whole", STORE(FLAG, force)},
    {"report", NULL, "print the fitted parameters with intervals and residuals", STORE(FLAG, report)},
    {"plot", "FILE.svg|png", "draw samples and fitted lines (needs gnuplot)", STORE(TEXT, plot)},
    {"partial", NULL, "the default: parameters with too few samples are left out, each with a note",
     STORE(FLAG, partial)},
    {"inherits", "MACHINE", "write only what these samples give; the rest is this machine file's",
     STORE(TEXT, fit.inherits)},
    {"breaks", "LIMITS",
     "force protocol limits, for example cpu.off_node=256,16384 or gpu=none (repeatable; later ones "
     "override)",
     .apply = apply_breaks},
    {"minima", NULL,
     "plain least squares on the minima over runs and pairs (the paper's way), not robust regression on "
     "relative errors",
     STORE(FLAG, fit.minima)},
    {"source", "TEXT", "where the samples come from (default: their source= line)", STORE(TEXT, source)},
    {"collectives", "FILE.csv|FILE:NODESxGPUS",
     "fit what only collectives show as well (docs/validation.md): the library's algorithms, staging, "
     "contention (repeatable)",
     STORE(TEXTS, collectives)},
    {"borrow", "MACHINE.yaml",
     "take from this file what only collectives show and these samples lack, and the model's error",
     STORE(TEXT, borrow)},
    {"train", "nodes=N[,N...]", "use only the collectives with these node counts", .apply = apply_train},
    {"node", "SHAPE", "sockets=2,gpus=6,cores=40, or what of it the samples' node= line lacks",
     .apply = apply_node},
    {.name = NULL}};

static const pto_syntax_t syntax = {
    .program = "portolan fit",
    .usage = usage,
    .set = PTO_SETS({"options", fit_options}, {NULL, pto_table_options}, {NULL, pto_work_options}),
    .operand = "*.csv"};

/* Returns -1, or the exit code. */
static int check_arguments(const arguments_t *arguments) {
    if (arguments->samples_count == 0)
        return pto_usage_error(&syntax, "no samples given");
    if (arguments->out == NULL && arguments->plot == NULL && !arguments->report)
        return pto_usage_error(&syntax, "nothing to do: give --out, --report or --plot");
    if (arguments->fit.inherits != NULL && (arguments->collectives.count > 0 || arguments->borrow != NULL))
        return pto_usage_error(&syntax, "--inherits goes without --collectives and --borrow");
    pto_error_t err;
    if (arguments->name != NULL && pto_name_check(arguments->name, PTO_NAME_BYTES_MAX, &err) != PTO_OK)
        return pto_usage_error(&syntax, "--name: %s", err.message);
    if (arguments->out != NULL && arguments->name == NULL)
        return pto_usage_error(&syntax, "--out needs --name");
    int code = pto_check_plot(&syntax, arguments->plot);
    return code < 0 && arguments->report ? pto_refuse_standard_output(&syntax, "out", arguments->out) : code;
}

/* A parameter as text: "1.234e-06 [1.1e-06, 1.3e-06]", without the interval, or a dash. */
static const char *param_text(const pto_param_t *param, bool interval, char *text, size_t text_size) {
    if (!pto_param_known(param))
        snprintf(text, text_size, "-");
    else if (param->has_interval && interval)
        snprintf(text, text_size, "%.4g [%.4g, %.4g]", param->value, param->low, param->high);
    else
        snprintf(text, text_size, "%.4g", param->value);
    return text;
}

/* The widths of the report's columns, in characters. */
typedef struct {
    int name, value;
    bool intervals; /* the terminal has room for them */
} report_widths_t;

enum { COUNT_WIDTH = 7, RESIDUAL_WIDTH = 9, INTERVAL_WIDTH = 34, VALUE_WIDTH = 10 };

static report_widths_t find_widths(const pto_fit_t *fit, bool all) {
    report_widths_t widths = {.name = (int)strlen("Parameter"), .value = INTERVAL_WIDTH, .intervals = true};
    for (int i = 0; i < fit->entry_count; i++)
        widths.name = pto_wider(widths.name, fit->entry[i].name);
    int used = widths.name + 2 * (INTERVAL_WIDTH + 1) + COUNT_WIDTH + RESIDUAL_WIDTH + 2;
    if (!all && used > pto_terminal_width(stdout)) {
        widths.value = VALUE_WIDTH;
        widths.intervals = false;
    }
    return widths;
}

/* Print a row of the report. The entry's note, if any, follows on lines of its own. */
static void print_entry(const pto_fit_entry_t *entry, const report_widths_t *widths) {
    char first[80], second[80];
    if (entry->kind == PTO_FIT_ABSENT) {
        printf("%s\n    ", entry->name);
        pto_print_wrapped(stdout, entry->note, 4, pto_terminal_width(stdout));
        return;
    }
    printf("%-*s %-*s %-*s %*lld %*.2f%%\n", widths->name, entry->name, widths->value,
           param_text(&entry->alpha_s, widths->intervals, first, sizeof first), widths->value,
           param_text(&entry->beta_s_per_byte, widths->intervals, second, sizeof second), COUNT_WIDTH,
           (long long)entry->sample_count, RESIDUAL_WIDTH - 1, 100 * entry->residual);
    if (entry->note[0] != '\0') {
        fputs("    ", stdout);
        pto_print_wrapped(stdout, entry->note, 4, pto_terminal_width(stdout));
    }
}

/* "reduce.cpu.beta_s_per_byte: 3.6e-10; without it the fit is worse by 12 percent" */
static const char *collective_text(const pto_fit_collective_t *parameter, char *text, size_t text_size) {
    pto_line_t line = {.text = text, .size = text_size};
    pto_line_add(&line, "%s: %.5g", parameter->name, parameter->value);
    if (isfinite(parameter->gain))
        pto_line_add(&line, "; without it the fit is worse by %.3g percent", 100 * parameter->gain);
    return text;
}

static void print_collectives(const pto_fit_collectives_t *fit) {
    char text[160];
    for (int i = 0; i < fit->parameter_count; i++)
        printf("from collectives: %s\n", collective_text(&fit->parameter[i], text, sizeof text));
    printf("from collectives: mean |ln(predicted/measured)| plus regret: %.3f\n", fit->badness);
}

static void print_report(const pto_fit_t *fit, bool all) {
    const report_widths_t widths = find_widths(fit, all);
    pto_print_note(stdout, "Residual: median of |fitted - measured| / measured. gap: cost of each additional "
                           "message in flight.");
    if (!widths.intervals)
        pto_print_note(stdout, "95%% intervals by --all or a wider terminal");
    printf("# %-*s %-*s %-*s %*s %*s\n", widths.name - 2, "Parameter", widths.value,
           widths.intervals ? "alpha_s [95% interval]" : "alpha_s", widths.value,
           widths.intervals ? "beta_s_per_byte [95% interval]" : "beta_s/B", COUNT_WIDTH, "Samples",
           RESIDUAL_WIDTH, "Residual");
    for (int i = 0; i < fit->entry_count; i++)
        print_entry(&fit->entry[i], &widths);
}

/* List the measurements from which no cost could be fitted, as the report does. */
static void print_left_out(const pto_fit_t *fit) {
    for (int i = 0; i < fit->entry_count; i++)
        if (fit->entry[i].left_out)
            pto_print_note(stderr, "left out: %s: %s", fit->entry[i].name, fit->entry[i].note);
}

/* For the machine file and for standard error. */
static const char interrupted[] =
    "interrupted: the best terms so far for collectives, and the model's error is not measured";

/* The comment at the head of the machine file: where the samples come from and what they lack. */
static void write_comment(pto_text_t *comment, const pto_samples_t *samples, const pto_fit_t *fit,
                          const pto_fit_collectives_t *collectives, const arguments_t *arguments) {
    static const char *const keys[] = {"machine", "mpi", "measured", "date", "device", "source"};
    pto_text_add(comment, "Fitted by portolan fit%s from %zu samples (docs/fitting.md).\n",
                 arguments->fit.minima ? " --minima" : "", samples->count);
    for (int i = 0; i < samples->file_count; i++)
        pto_text_add(comment, "file: %s\n", pto_file_name(samples->path[i]));
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *value = pto_samples_provenance(samples, keys[i]);
        if (value != NULL)
            pto_text_add(comment, "%s: %s\n", keys[i], value);
    }
    for (int i = 0; i < fit->entry_count; i++) {
        const pto_fit_entry_t *entry = &fit->entry[i];
        if (entry->kind == PTO_FIT_ABSENT || entry->kind == PTO_FIT_RATE)
            pto_text_add(comment, "%s: %s\n", entry->name, entry->note);
    }
    if (collectives->interrupted)
        pto_text_add(comment, "%s\n", interrupted);
    for (int i = 0; i < arguments->collectives.count; i++)
        pto_text_add(comment, "collectives: %s\n", pto_file_name(arguments->collectives.item[i]));
    for (int i = 0; i < collectives->parameter_count; i++) {
        char text[160];
        pto_text_add(comment, "fitted to collectives: %s\n",
                     collective_text(&collectives->parameter[i], text, sizeof text));
    }
}

/* The path that leads from `folder` to `file`, which are both absolute; NULL when out of memory. `folder` is
 * compared as if it ended with a slash. */
static char *relative_path(const char *folder, const char *file) {
    size_t shared = 0;   /* bytes of the common parent folder, with its slash */
    size_t up_count = 0; /* number of "../" from `folder` to that parent */
    for (size_t i = 0; file[i] == (folder[i] != '\0' ? folder[i] : '/'); i++) {
        shared = file[i] == '/' ? i + 1 : shared;
        if (folder[i] == '\0')
            break;
    }
    for (size_t i = shared; i < strlen(folder); i++) {
        const bool begins_component = i == shared || folder[i] == '/';
        up_count += begins_component;
    }
    char *path = malloc(3 * up_count + strlen(file + shared) + 1);
    for (size_t i = 0; path != NULL && i < up_count; i++)
        memcpy(path + 3 * i, "../", 3);
    if (path != NULL)
        memcpy(path + 3 * up_count, file + shared, strlen(file + shared) + 1);
    return path;
}

/* The path of the file `found` relative to the folder of `out`. */
static pto_status_t relate(const char *out, const char *found, char **path, pto_error_t *err) {
    char *beside = pto_path_beside(out, ".");
    char *folder = beside != NULL ? realpath(beside, NULL) : NULL, *file = realpath(found, NULL);
    *path = folder != NULL && file != NULL ? relative_path(folder, file) : NULL;
    free(file);
    free(folder);
    free(beside);
    return *path != NULL ? PTO_OK : pto_error_set(err, PTO_ERR_IO, "%s: %s", out, strerror(errno));
}

/* If --inherits is a relative path, make it relative to the folder of --out: a path in a machine file is
 * relative to that file, not to the current folder. `*path`, which the caller frees, is then borrowed by the
 * options of the fit; otherwise it is NULL. */
static pto_status_t relate_inherited(arguments_t *arguments, char **path, pto_error_t *err) {
    const char *named = arguments->fit.inherits;
    char *found = NULL;
    *path = NULL;
    pto_status_t status = named != NULL ? pto_find_machine(named, NULL, &found, err) : PTO_OK;
    bool is_relative = found != NULL && named[0] != '/' && strcmp(found, named) == 0;
    if (is_relative && arguments->out != NULL && strcmp(arguments->out, "-") != 0)
        status = relate(arguments->out, found, path, err);
    if (*path != NULL)
        arguments->fit.inherits = *path;
    free(found);
    return status;
}

static pto_status_t write_to(const pto_machine_t *machine, const char *comment, const arguments_t *arguments,
                             pto_error_t *err) {
    char *text = NULL;
    if (strcmp(arguments->out, "-") != 0)
        return pto_machine_write(machine, comment, arguments->out, arguments->force, err);
    pto_status_t status = pto_machine_format(machine, comment, &text, err);
    if (status == PTO_OK)
        fputs(text, stdout);
    free(text);
    return status;
}

static pto_status_t write_machine(const pto_samples_t *samples, const pto_fit_t *fit,
                                  const pto_fit_collectives_t *collectives, const arguments_t *arguments,
                                  pto_error_t *err) {
    pto_text_t comment = {0};
    char *text = NULL;
    write_comment(&comment, samples, fit, collectives, arguments);
    pto_status_t status = pto_text_take(&comment, "a machine file", &text, err);
    if (status == PTO_OK)
        status = write_to(fit->machine, text, arguments, err);
    free(text);
    return status;
}

/* Add what --borrow takes from another machine file: the terms, unless they were fitted, and the model's
 * error. */
static pto_status_t borrow(const arguments_t *arguments, pto_machine_t *machine, pto_error_t *err) {
    pto_machine_t *lender = NULL;
    if (!arguments->borrow)
        return PTO_OK;
    pto_status_t status = pto_machine_open(arguments->borrow, &lender, err);
    if (status == PTO_OK && arguments->collectives.count == 0)
        status = pto_fit_borrow_terms(machine, lender, err);
    if (status == PTO_OK)
        status = pto_fit_borrow_error(machine, lender, err);
    pto_machine_destroy(lender);
    return status;
}

/* Refuse collectives that take too long to price with `machine`, the one fitted to the samples. */
static pto_status_t check_work(const arguments_t *arguments, const pto_collectives_t *collectives,
                               const pto_machine_t *machine, pto_error_t *err) {
    pto_score_t score;
    pto_score_options_t options = pto_score_defaults(collectives);
    pto_status_t status = pto_score_collect(collectives, &options, &score, err);
    if (status != PTO_OK)
        return status;
    status = pto_check_amount(&arguments->shared.scenario, "fitting to these collectives takes the work of",
                              pto_score_work(&score, machine), PTO_FIT_PRICES, err);
    pto_score_fini(&score);
    return status;
}

/* Add the model's error to the machine. An interrupt leaves it out, without an error. */
static pto_status_t add_model_error(const arguments_t *arguments, const pto_collectives_t *collectives,
                                    pto_fit_prices_t *prices, pto_fit_t *fit, pto_fit_collectives_t *terms,
                                    pto_error_t *err) {
    pto_error_t fault = {.status = PTO_OK};
    pto_status_t status =
        pto_fit_model_error(fit->machine, collectives, &arguments->train, true, prices, &fault);
    if (status == PTO_ERR_INTERRUPTED) {
        terms->interrupted = true;
        return PTO_OK;
    }
    if (status != PTO_OK && err)
        *err = fault;
    return status;
}

/* Fit the terms to the measured collectives, beginning with the machine that was fitted to the samples. The
 * result replaces fit->machine. */
static pto_status_t add_collectives(arguments_t *arguments, pto_fit_t *fit, pto_fit_collectives_t *terms,
                                    pto_error_t *err) {
    pto_collectives_t collectives = {0};
    pto_fit_prices_t *prices = pto_fit_prices_create();
    pto_status_t status = PTO_OK;
    for (int i = 0; i < arguments->collectives.count && status == PTO_OK; i++) {
        status = pto_recording_collectives(arguments->collectives.item[i], &collectives, err);
        arguments->shared.by_option = pto_recording_contradicts(arguments->collectives.item[i], status);
    }
    int next = 0;
    const char *remark = status == PTO_OK ? pto_recording_remark(&collectives, &next) : NULL;
    for (; remark != NULL; remark = pto_recording_remark(&collectives, &next))
        pto_print_note(stderr, "%s", remark);
    if (status == PTO_OK && arguments->collectives.count > 0)
        status = check_work(arguments, &collectives, fit->machine, err);
    if (status == PTO_OK && arguments->collectives.count > 0)
        status = pto_fit_collectives(fit->machine, &collectives, &arguments->train, prices, terms, err);
    if (status == PTO_OK && arguments->collectives.count > 0) {
        pto_machine_destroy(fit->machine);
        fit->machine = terms->machine;
        terms->machine = NULL;
        status = add_model_error(arguments, &collectives, prices, fit, terms, err);
    }
    pto_fit_prices_destroy(prices);
    pto_collectives_fini(&collectives);
    return status;
}

/* Name the MPI library of the samples, if its tables are known and no inherited file names one. */
static pto_status_t use_library(const pto_samples_t *samples, const arguments_t *arguments,
                                pto_machine_t *machine, pto_error_t *err) {
    const char *version = pto_samples_provenance(samples, "mpi");
    char name[PTO_LIBRARY_NAME_MAX], *path = NULL;
    if (arguments->fit.inherits || !version || !pto_library_of_version(version, name) ||
        pto_find_library(name, NULL, &path, NULL) != PTO_OK)
        return PTO_OK;
    free(path);
    return pto_machine_use_library(machine, name, err);
}

static pto_status_t fit_and_write(const pto_samples_t *samples, arguments_t *arguments, pto_error_t *err) {
    const char *source =
        arguments->source != NULL ? arguments->source : pto_samples_provenance(samples, "source");
    pto_fit_t fit;
    pto_status_t status =
        pto_fit_samples(samples, arguments->name != NULL ? arguments->name : "unnamed",
                        source != NULL ? source : "portolan fit", &arguments->fit, &fit, err);
    if (status != PTO_OK)
        return status;
    pto_fit_collectives_t collectives = {0};
    status = add_collectives(arguments, &fit, &collectives, err);
    if (status == PTO_OK) /* after the collectives, whose terms have precedence over the library's tables */
        status = use_library(samples, arguments, fit.machine, err);
    if (status == PTO_OK && !arguments->fit.inherits) /* a file that inherits cannot be priced by itself */
        status = pto_fit_library(samples, &arguments->fit, &fit, err);
    if (status == PTO_OK)
        status = borrow(arguments, fit.machine, err);
    if (status == PTO_OK && arguments->out != NULL)
        status = write_machine(samples, &fit, &collectives, arguments, err);
    if (status == PTO_OK && arguments->out != NULL && collectives.interrupted)
        pto_print_note(stderr, "%s: %s", arguments->out, interrupted);
    if (status == PTO_OK && !arguments->report)
        print_left_out(&fit);
    if (status == PTO_OK && arguments->report) {
        print_report(&fit, arguments->shared.all);
        if (arguments->collectives.count > 0)
            print_collectives(&collectives);
    }
    /* Last: it fails without gnuplot, and the machine file must be written first. */
    if (status == PTO_OK && arguments->plot != NULL)
        status = pto_fit_plot(samples, &fit, arguments->plot, err);
    pto_fit_fini(&fit);
    return status;
}

/* The error for insufficient samples has no file and line. If there is a single file, name it. */
static void name_file(const pto_samples_t *samples, pto_error_t *err) {
    if (err->status == PTO_ERR_NOT_FOUND && err->file[0] == '\0' && samples->file_count == 1) {
        const pto_error_t cause = *err;
        pto_error_set_at(err, cause.status, samples->path[0], 1, 1, "%s", cause.message);
    }
}

static int fit_files(arguments_t *arguments) {
    pto_samples_t samples = {0};
    pto_error_t err = {0};
    char *inherits = NULL;
    pto_status_t status = relate_inherited(arguments, &inherits, &err);
    for (int i = 0; i < arguments->samples_count && status == PTO_OK; i++)
        status = pto_recording_explain(arguments->samples[i], false,
                                       pto_samples_read(arguments->samples[i], &samples, &err), &err);
    if (status == PTO_OK)
        status = fit_and_write(&samples, arguments, &err);
    name_file(&samples, &err);
    pto_samples_fini(&samples);
    free(inherits);
    int code = pto_flush_output();
    if (status != PTO_OK)
        code = pto_report_error(&err);
    return arguments->shared.by_option ? PTO_EXIT_USAGE : code;
}

static int run(const pto_arguments_t *given) {
    arguments_t arguments = {.samples = given->operand, .samples_count = given->operand_count};
    int code = pto_options_apply(given, &arguments);
    if (code < 0)
        code = check_arguments(&arguments);
    return code < 0 ? fit_files(&arguments) : code;
}

const pto_command_t pto_command_fit = {
    .name = "fit", .summary = "fit a machine's parameters to samples", .syntax = &syntax, .run = run};
