/* The results of a fit (entries.h): for each parameter its value, its interval and reasons to doubt it. */
#include "entries.h"

#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/text_file.h"

/* A line with a larger median residual is useless. */
static const double useless_residual = 0.5;

/* If a size's measured time is this much above or below the line, the report mentions it. In minima mode, a
 * line that is too high by the second factor at any size is useless. */
static const double missed_ratio = 1.25, useless_ratio = 3;

/* More digits than an interval ever justifies, but few enough to read. */
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

pto_status_t fit_work_init(const pto_samples_t *samples, const pto_fit_options_t *options, pto_fit_t *fit,
                           fit_work_t *work, pto_error_t *err) {
    *work = (fit_work_t){.samples = samples, .options = options, .fit = fit, .err = err};
    work->skip = calloc(samples->count + 1, sizeof *work->skip);
    work->scratch = calloc(samples->count + 1, sizeof *work->scratch);
    if (!work->skip || !work->scratch)
        work->status = pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a fit");
    return work->status;
}

void fit_work_fini(fit_work_t *work) {
    fit_free_all(work);
    free(work->skip);
    free(work->scratch);
}

void fit_fail(fit_work_t *work, pto_status_t status) {
    if (work->status == PTO_OK)
        work->status = status;
}

/* Memory blocks of a fit, in a list. */
struct fit_block {
    struct fit_block *previous;
    max_align_t content[];
};

void *fit_alloc(fit_work_t *work, size_t count, size_t size) {
    struct fit_block *block = malloc(sizeof *block + count * size);
    if (block == NULL) {
        fit_fail(work, pto_error_set(work->err, PTO_ERR_MEMORY, "out of memory for samples"));
        return NULL;
    }
    block->previous = work->blocks;
    work->blocks = block;
    return block->content;
}

void fit_free_all(fit_work_t *work) {
    while (work->blocks != NULL) {
        struct fit_block *previous = work->blocks->previous;
        free(work->blocks);
        work->blocks = previous;
    }
}

const char *fit_key(fit_work_t *work, const void *at) {
    pto_cell_t cell;
    work->key[0] = '\0';
    if (pto_cell_at(work->fit->machine, at, &cell))
        pto_cell_key(&cell, work->key);
    return work->key;
}

pto_fit_entry_t *fit_entry_add(fit_work_t *work, pto_fit_kind_t kind, const char *name) {
    pto_fit_t *fit = work->fit;
    if (!PTO_EXTEND(fit->entry, fit->entry_count)) {
        fit_fail(work, pto_error_set(work->err, PTO_ERR_MEMORY, "out of memory for fitted parameters"));
        return NULL;
    }
    pto_fit_entry_t *entry = &fit->entry[fit->entry_count++];
    *entry = (pto_fit_entry_t){.kind = kind, .below_bytes = INT64_MAX};
    snprintf(entry->name, sizeof entry->name, "%s", name);
    return entry;
}

void fit_note(fit_work_t *work, const char *name, size_t sample_count, const char *format, ...) {
    pto_fit_entry_t *entry = fit_entry_add(work, PTO_FIT_ABSENT, name);
    if (entry == NULL)
        return;
    entry->sample_count = (int64_t)sample_count;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(entry->note, sizeof entry->note, format, arguments);
    va_end(arguments);
}

void fit_give_up(fit_work_t *work, const char *name, const char *why) {
    pto_fit_entry_t *entry = fit_entry_add(work, PTO_FIT_ABSENT, name);
    if (entry == NULL)
        return;
    entry->left_out = true;
    snprintf(entry->note, sizeof entry->note, "%s", why);
}

bool fit_succeeded(fit_work_t *work, pto_status_t status, const char *name) {
    if (status == PTO_ERR_NOT_FOUND)
        fit_give_up(work, name, "its samples allow no regression");
    else
        fit_fail(work, status);
    return status == PTO_OK;
}

/* Returns whether half of the samples lie so far off the line that it is left out. */
static bool is_useless(const fit_work_t *work, const fit_regression_t *line) {
    return line->residual > useless_residual && !work->keeps_useless;
}

bool fit_line(fit_work_t *work, const char *name, const fit_points_t *points, const fit_model_t *model,
              const char *useless, fit_regression_t *line) {
    pto_status_t status = fit_regress(points, model, work->options->minima, line, work->err);
    bool far = status == PTO_OK && is_useless(work, line);
    line->residual = fit_round(line->residual);
    if (far)
        fit_give_up(work, name, useless);
    else if (status != PTO_ERR_NOT_FOUND || line->count > 0)
        fit_succeeded(work, status, name);
    return status == PTO_OK && !far;
}

pto_fit_entry_t *fit_keep_param(fit_work_t *work, pto_fit_kind_t kind, const char *name, pto_param_t value,
                                const fit_regression_t *line, pto_param_t *param, const char *format, ...) {
    pto_fit_entry_t *entry = fit_entry_add(work, kind, name);
    if (entry == NULL)
        return NULL;
    if (kind == PTO_FIT_RATE)
        entry->beta_s_per_byte = value;
    else
        entry->alpha_s = value;
    entry->sample_count = (int64_t)line->count;
    entry->residual = line->residual;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(entry->note, sizeof entry->note, format, arguments);
    va_end(arguments);
    *param = value;
    return entry;
}

/* Sets the size whose median sample is farthest from the line, and its ratio measured / fitted, if that is
 * farther from 1 than the given `*ratio`. */
static void worst_size(const fit_work_t *work, const fit_points_t *points, const fit_regression_t *line,
                       int64_t *bytes, double *ratio) {
    for (size_t first = 0; first < points->count;) {
        const fit_points_t size = fit_equal_from(points, first, fit_compare_bytes);
        double fitted = line->value[0] + line->value[1] * (double)size.point->bytes;
        double here = fit_median_of(&size, work->scratch) / fitted;
        if (fmax(fitted, here * fitted) > pto_timing_grain_s && fabs(log(here)) > fabs(log(*ratio))) {
            *bytes = size.point->bytes;
            *ratio = here;
        }
        first += size.count;
    }
}

/* With only a few samples of each size, a size far from the line could be an outlier. */
static bool has_many_samples_per_size(const fit_points_t *points) {
    return points->count >= 5 * fit_size_count(points);
}

/* Writes which size a line misses, or that it rests on few sizes; an empty text if neither. */
static void describe_misfit(const fit_points_t *points, int64_t bytes, double ratio, char *missed,
                            size_t missed_size) {
    missed[0] = '\0';
    if (has_many_samples_per_size(points) && (ratio > missed_ratio || ratio < 1 / missed_ratio))
        snprintf(missed, missed_size, "misses its samples of %lld bytes, which took %.2f times as long",
                 (long long)bytes, ratio);
    else if (fit_size_count(points) < 3)
        snprintf(missed, missed_size, "rests on %zu sizes", fit_size_count(points));
}

/* Plain least squares follow the longest times, so they can be far too high at small sizes. */
static bool is_far_too_high(const fit_work_t *work, double ratio) {
    return work->options->minima && !work->keeps_useless && useless_ratio * ratio < 1;
}

void fit_keep_postal(fit_work_t *work, const char *name, const fit_points_t *points,
                     const fit_regression_t *line, int alpha, const char *missed, pto_postal_t *postal) {
    pto_fit_entry_t *entry = fit_entry_add(work, PTO_FIT_POSTAL, name);
    if (entry == NULL)
        return;
    entry->alpha_s = fit_param(line, alpha);
    entry->beta_s_per_byte = fit_param(line, alpha + 1);
    entry->from_bytes = points->point[0].bytes;
    entry->sample_count = (int64_t)points->count;
    entry->residual = fit_round(line->residual);
    if (line->residual > fit_doubtful_residual)
        snprintf(entry->note, sizeof entry->note,
                 "half of the samples lie more than %.0f percent off the line", 100 * line->residual);
    else if (missed[0] != '\0')
        snprintf(entry->note, sizeof entry->note, "%s", missed);
    else if (line->held[alpha] || line->held[alpha + 1])
        snprintf(entry->note, sizeof entry->note, "%s held at 0: the samples would have it negative",
                 line->held[alpha] ? "alpha_s" : "beta_s_per_byte");
    char *flagged = entry->note[0] != '\0' ? pto_text_copy(entry->note) : NULL;
    if (entry->note[0] != '\0' && flagged == NULL)
        fit_fail(work, pto_error_set(work->err, PTO_ERR_MEMORY, "out of memory for fitted parameters"));
    *postal =
        (pto_postal_t){entry->alpha_s, entry->beta_s_per_byte, entry->sample_count, entry->residual, flagged};
}

void fit_postal_entry(fit_work_t *work, const char *name, const fit_points_t *points, pto_postal_t *postal) {
    char why[PTO_FIT_NOTE_MAX];
    if (fit_size_count(points) < 2) {
        snprintf(why, sizeof why, "samples of %zu sizes are too little for alpha_s and beta_s_per_byte",
                 fit_size_count(points));
        fit_give_up(work, name, why);
        return;
    }
    fit_regression_t line;
    if (!fit_succeeded(work, fit_postal(points, work->options->minima, &line, work->err), name))
        return;
    if (is_useless(work, &line)) {
        snprintf(why, sizeof why, "useless samples: half of them lie more than %.0f percent off any line",
                 100 * line.residual);
        fit_give_up(work, name, why);
        return;
    }
    int64_t bytes = 0;
    double ratio = 1;
    worst_size(work, points, &line, &bytes, &ratio);
    if (is_far_too_high(work, ratio)) {
        snprintf(why, sizeof why,
                 "useless minima: the line has %lld bytes %.3g times too high (fit without --minima)",
                 (long long)bytes, 1 / ratio);
        fit_give_up(work, name, why);
        return;
    }
    describe_misfit(points, bytes, ratio, why, sizeof why);
    fit_keep_postal(work, name, points, &line, 0, why, postal);
}
