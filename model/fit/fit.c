/* A whole fit: which parameters the samples speak of, one after another, and the machine that they make.
 * docs/fitting.md tells what is fitted how. */
#include "portolan/fit.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fit_internal.h"
#include "text_file.h"

/* A size that is further off than this is worth one too. */
static const double missed_ratio = 1.25;

/* Digits that a parameter carries: more than its interval ever justifies, few enough to read. */
static const char *const digits_format = "%.4e";

double fit_round(double value) {
    char text[32];
    snprintf(text, sizeof text, digits_format, value);
    return strtod(text, NULL);
}

pto_param_t fit_param(const fit_regression_t *regression, int j) {
    pto_param_t param = {.value = fit_round(regression->value[j]), .line = 1};
    param.has_interval = regression->has_interval;
    param.low = param.has_interval ? fmin(fit_round(regression->low[j]), param.value) : param.value;
    param.high = param.has_interval ? fmax(fit_round(regression->high[j]), param.value) : param.value;
    return param;
}

pto_fit_entry_t *fit_entry_add(fit_work_t *work, pto_fit_kind_t kind, const char *format, ...) {
    pto_fit_t *fit = work->fit;
    pto_fit_entry_t *grown = realloc(fit->entry, ((size_t)fit->entry_count + 1) * sizeof *grown);
    if (grown == NULL) {
        pto_error_set(work->err, PTO_ERR_MEMORY, "out of memory for fitted parameters");
        return NULL;
    }
    fit->entry = grown;
    pto_fit_entry_t *entry = &grown[fit->entry_count++];
    *entry = (pto_fit_entry_t){.kind = kind, .below_bytes = INT64_MAX};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(entry->name, sizeof entry->name, format, arguments);
    va_end(arguments);
    return entry;
}

pto_status_t fit_give_up(fit_work_t *work, const char *name, const char *why) {
    if (!work->options->partial) {
        return pto_error_set(work->err, PTO_ERR_NOT_FOUND, "%s: %s (--partial leaves it out)", name, why);
    }
    pto_fit_entry_t *entry = fit_entry_add(work, PTO_FIT_ABSENT, "%s", name);
    if (entry == NULL) {
        return PTO_ERR_MEMORY;
    }
    snprintf(entry->note, sizeof entry->note, "%s", why);
    return PTO_OK;
}

/* The size whose middle sample is furthest from the line, as measured over fitted. */
static pto_status_t furthest_size(const fit_points_t *points, const fit_regression_t *line, int64_t *bytes,
                                  double *ratio, pto_error_t *err) {
    double *scratch = malloc((points->count + 1) * sizeof *scratch);
    if (scratch == NULL) {
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for fitted parameters");
    }
    *bytes = 0;
    *ratio = 1;
    for (size_t first = 0, past; first < points->count; first = past) {
        for (past = first; past < points->count && points->point[past].bytes == points->point[first].bytes;
             past++) {
            scratch[past - first] = points->point[past].seconds;
        }
        double fitted = line->value[0] + line->value[1] * (double)points->point[first].bytes;
        double here = fit_median(scratch, past - first) / fitted;
        if (fmax(fitted, here * fitted) > fit_grain_s && fabs(log(here)) > fabs(log(*ratio))) {
            *bytes = points->point[first].bytes;
            *ratio = here;
        }
    }
    free(scratch);
    return PTO_OK;
}

/* Whether a size may be told of as one that the line misses: with a sample or two it may just be a hiccup. */
static bool has_many_each(const fit_points_t *points) { return points->count >= 5 * fit_size_count(points); }

/* Why to doubt a line; empty where there is no reason. */
static pto_status_t remark(const fit_points_t *points, const fit_regression_t *line, char *note,
                           size_t note_size, pto_error_t *err) {
    int64_t bytes = 0;
    double ratio = 1;
    pto_status_t status = furthest_size(points, line, &bytes, &ratio, err);
    note[0] = '\0';
    if (line->residual > fit_doubtful_residual) {
        snprintf(note, note_size, "half of the samples lie more than %.0f percent off the line",
                 100 * line->residual);
    } else if (has_many_each(points) && (ratio > missed_ratio || ratio < 1 / missed_ratio)) {
        snprintf(note, note_size, "misses its samples of %lld bytes, which took %.2f times as long",
                 (long long)bytes, ratio);
    } else if (fit_size_count(points) < 3) {
        snprintf(note, note_size, "rests on %zu sizes", fit_size_count(points));
    } else if (line->held[0] || line->held[1]) {
        snprintf(note, note_size, "%s held at 0: the samples would have it negative",
                 line->held[0] ? "alpha_s" : "beta_s_per_byte");
    }
    return status;
}

static pto_status_t keep_postal(fit_work_t *work, const char *name, const fit_points_t *points,
                                const fit_regression_t *line, pto_postal_t *postal) {
    pto_fit_entry_t *entry = fit_entry_add(work, PTO_FIT_POSTAL, "%s", name);
    if (entry == NULL) {
        return PTO_ERR_MEMORY;
    }
    entry->alpha_s = fit_param(line, 0);
    entry->beta_s_per_byte = fit_param(line, 1);
    entry->from_bytes = points->point[0].bytes;
    entry->sample_count = (int64_t)points->count;
    entry->residual = fit_round(line->residual);
    pto_status_t status = remark(points, line, entry->note, sizeof entry->note, work->err);
    if (status != PTO_OK) {
        return status;
    }
    char *flagged = entry->note[0] != '\0' ? pto_text_copy(entry->note) : NULL;
    if (entry->note[0] != '\0' && flagged == NULL) {
        return pto_error_set(work->err, PTO_ERR_MEMORY, "out of memory for fitted parameters");
    }
    *postal =
        (pto_postal_t){entry->alpha_s, entry->beta_s_per_byte, entry->sample_count, entry->residual, flagged};
    return PTO_OK;
}

pto_status_t fit_postal_entry(fit_work_t *work, const char *name, const fit_points_t *points,
                              pto_postal_t *postal) {
    char why[PTO_FIT_NOTE_MAX];
    if (fit_size_count(points) < 2) {
        snprintf(why, sizeof why, "samples of %zu sizes are too little for alpha_s and beta_s_per_byte",
                 fit_size_count(points));
        return fit_give_up(work, name, why);
    }
    fit_regression_t line;
    pto_status_t status = fit_postal(points, work->options->minima, &line, work->err);
    if (status == PTO_ERR_NOT_FOUND) {
        return fit_give_up(work, name, "its samples allow no regression");
    }
    if (status != PTO_OK) {
        return status;
    }
    if (line.residual > fit_useless_residual && !work->options->minima) {
        snprintf(why, sizeof why, "useless samples: half of them lie more than %.0f percent off any line",
                 100 * line.residual);
        return fit_give_up(work, name, why);
    }
    return keep_postal(work, name, points, &line, postal);
}

/* The number before a word, as in "2 sockets, 6 GPUs"; 0 where there is none. */
static int64_t count_before(const char *text, const char *word) {
    for (const char *at = text; *at != '\0'; at++) {
        size_t matched = 0;
        while (word[matched] != '\0' && tolower((unsigned char)at[matched]) == word[matched]) {
            matched++;
        }
        if (word[matched] != '\0') {
            continue;
        }
        const char *digit = at;
        while (digit > text && digit[-1] == ' ') {
            digit--;
        }
        const char *past = digit;
        while (digit > text && digit[-1] >= '0' && digit[-1] <= '9') {
            digit--;
        }
        if (digit < past && past - digit < 9) {
            return strtoll(digit, NULL, 10);
        }
    }
    return 0;
}

static pto_status_t set_node(fit_work_t *work) {
    const char *said = pto_samples_provenance(work->samples, "node");
    const char *text = said != NULL ? said : "";
    pto_machine_t *machine = &work->fit->machine;
    const pto_fit_options_t *options = work->options;
    machine->node.sockets = options->node.sockets > 0 ? options->node.sockets : count_before(text, "socket");
    machine->node.gpus = options->node.gpus > 0 ? options->node.gpus : count_before(text, "gpu");
    machine->node.cores = options->node.cores > 0 ? options->node.cores : count_before(text, "core");
    const char *missing = machine->node.sockets < 1 ? "sockets"
                          : machine->node.gpus < 1  ? "gpus"
                          : machine->node.cores < 1 ? "cores"
                                                    : NULL;
    if (missing != NULL) {
        return pto_error_set(
            work->err, PTO_ERR_NOT_FOUND,
            "the samples' node= line does not give a node 1 or more %s; give --node %s", missing,
            strcmp(missing, "gpus") == 0    ? "gpus=N (for a machine without GPUs pass --node gpus=1)"
            : strcmp(missing, "cores") == 0 ? "cores=N"
                                            : "sockets=N");
    }
    return PTO_OK;
}

static pto_status_t fit_space(fit_work_t *work, pto_space_t space) {
    pto_status_t status = PTO_OK;
    for (int level = 0; status == PTO_OK && level < PTO_LEVEL_COUNT; level++) {
        status = fit_messages(work, space, (pto_level_t)level);
    }
    if (status == PTO_OK) {
        status = fit_injection(work, space);
    }
    if (status == PTO_OK) {
        status = fit_message_rate(work, space);
    }
    if (status == PTO_OK) {
        status = fit_per_message(work, space);
    }
    return status;
}

static pto_status_t note_unknown(fit_work_t *work) {
    int64_t count = 0;
    for (size_t i = 0; i < work->samples->count; i++) {
        count += work->samples->sample[i].benchmark == PTO_BENCHMARK_OTHER;
    }
    if (count == 0) {
        return PTO_OK;
    }
    pto_fit_entry_t *entry = fit_entry_add(work, PTO_FIT_ABSENT, "other benchmarks");
    if (entry == NULL) {
        return PTO_ERR_MEMORY;
    }
    entry->sample_count = count;
    snprintf(entry->note, sizeof entry->note, "nothing is fitted from them");
    return PTO_OK;
}

static pto_status_t fit_all(fit_work_t *work) {
    pto_status_t status = set_node(work);
    if (status == PTO_OK && !work->options->minima) {
        status = fit_skip_slow_jobs(work);
    }
    for (int space = 0; status == PTO_OK && space < PTO_SPACE_COUNT; space++) {
        status = fit_space(work, (pto_space_t)space);
    }
    if (status == PTO_OK) {
        status = fit_copies(work);
    }
    if (status == PTO_OK) {
        status = fit_shared_copies(work);
    }
    for (int space = 0; status == PTO_OK && space < PTO_SPACE_COUNT; space++) {
        status = fit_reduce(work, (pto_space_t)space);
        if (status == PTO_OK) {
            status = fit_further(work, (pto_space_t)space);
        }
    }
    if (status == PTO_OK) {
        status = fit_remote(work);
    }
    if (status == PTO_OK) {
        status = fit_times(work);
    }
    if (status == PTO_OK) {
        status = fit_setup(work);
    }
    if (status == PTO_OK) {
        status = fit_nccl(work);
    }
    return status == PTO_OK ? note_unknown(work) : status;
}

/* Without the cost of a message nothing can be predicted, and no machine file is valid. */
static bool fitted_messages(const pto_fit_t *fit) {
    bool any = false;
    for (int space = 0; space < PTO_SPACE_COUNT; space++) {
        for (int level = 0; level < PTO_LEVEL_COUNT; level++) {
            any = any || fit->machine.messages[space][level].count > 0;
        }
    }
    return any;
}

pto_status_t pto_fit_samples(const pto_samples_t *samples, const char *name, const char *source,
                             const pto_fit_options_t *options, pto_fit_t *fit, pto_error_t *err) {
    pto_fit_t made = {0};
    fit_work_t work = {.samples = samples, .options = options, .fit = &made, .err = err};
    work.skip = calloc(samples->count + 1, 1);
    made.machine.name = pto_text_copy(name);
    made.machine.source = source != NULL ? pto_text_copy(source) : NULL;
    pto_status_t status = PTO_OK;
    if (work.skip == NULL || made.machine.name == NULL || (source != NULL && made.machine.source == NULL)) {
        status = pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a fit");
    }
    if (status == PTO_OK) {
        status = fit_all(&work);
    }
    if (status == PTO_OK && !fitted_messages(&made)) {
        status = pto_error_set(
            err, PTO_ERR_NOT_FOUND,
            "messages: no samples of ping_pong to fit the cost of a message from, without which nothing "
            "can be predicted (--partial does not change that)");
    }
    free(work.skip);
    if (status != PTO_OK) {
        pto_fit_fini(&made);
        return status;
    }
    *fit = made;
    return PTO_OK;
}

void pto_fit_fini(pto_fit_t *fit) {
    pto_machine_fini(&fit->machine);
    free(fit->entry);
    *fit = (pto_fit_t){0};
}
