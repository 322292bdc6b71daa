/* A scenario predicted over two sweeps (sweeps.h): finds the two axes among the options, and predicts a run
 * for each of their values. The options of a run are opened from the command line as if only its values had
 * been given. */
#include "sweeps.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "portolan/progress.h"
#include "portolan/units.h"
#include "table.h"

/* One end of a range, such as "/2" or "50 GB/s". */
typedef struct {
    char relation[2]; /* "*", "/" or "" */
    double number;
    char unit[PTO_AXIS_LABEL_MAX / 2];
} range_end_t;

/* Reads "/2", "1.5" or "50 GB/s". */
static pto_status_t read_end(const char *text, range_end_t *end, pto_error_t *err) {
    char number[PTO_AXIS_LABEL_MAX];
    *end = (range_end_t){.relation = ""};
    if (*text == '*' || *text == '/')
        end->relation[0] = *text++;
    size_t length = strspn(text, "0123456789.eE+-");
    /* An e at the end is not an exponent but the start of a unit. */
    while (length > 0 && (text[length - 1] == 'e' || text[length - 1] == 'E'))
        length--;
    snprintf(number, sizeof number, "%.*s", (int)length, text);
    const char *unit = text + length + strspn(text + length, " ");
    if (strlen(unit) >= sizeof end->unit)
        return pto_error_set(err, PTO_ERR_TYPE, "'%s' is not a number with a unit", text);
    memcpy(end->unit, unit, strlen(unit) + 1);
    return pto_double_parse(number, &end->number, err);
}

/* Reads FROM:TO or FROM:TO:FACTOR. The unit may be given once, after TO. */
static pto_status_t read_range(const char *text, range_end_t *from, range_end_t *to, double *factor,
                               pto_error_t *err) {
    char part[3][PTO_AXIS_LABEL_MAX] = {"", "", "2"};
    for (int i = 0; i < 3 && text; i++) {
        const char *colon = strchr(text, ':');
        size_t length = colon ? (size_t)(colon - text) : strlen(text);
        if (length >= sizeof part[i] || (i == 2 && colon))
            return pto_error_set(err, PTO_ERR_TYPE, "'%.80s' is not FROM:TO or FROM:TO:FACTOR", text);
        snprintf(part[i], sizeof part[i], "%.*s", (int)length, text);
        text = colon ? colon + 1 : NULL;
    }
    pto_status_t status = read_end(part[0], from, err);
    if (status == PTO_OK)
        status = read_end(part[1], to, err);
    if (status == PTO_OK)
        status = pto_double_parse(part[2], factor, err);
    if (status != PTO_OK)
        return status;
    if (!*from->unit)
        memcpy(from->unit, to->unit, sizeof from->unit);
    if (strcmp(from->relation, to->relation) != 0 || strcmp(from->unit, to->unit) != 0)
        return pto_error_set(err, PTO_ERR_TYPE, "the ends of %s:%s have different units or relations",
                             part[0], part[1]);
    if (!(from->number > 0 && to->number > from->number && *factor > 1))
        return pto_error_set(err, PTO_ERR_RANGE,
                             "a range goes from a number above 0 to a larger one, by a factor above 1");
    return PTO_OK;
}

static pto_status_t allocate_axis(pto_axis_t *axis, int count, pto_error_t *err) {
    axis->count = count;
    axis->value = calloc((size_t)count, sizeof *axis->value);
    return axis->value ? PTO_OK : pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a sweep");
}

/* Sets the i-th value of an axis to PARAMETER=TEXT. */
static void set_value(pto_axis_t *axis, int i, const char *text) {
    pto_axis_value_t *value = &axis->value[i];
    snprintf(value->label, sizeof value->label, "%s", text);
    snprintf(value->change, sizeof value->change, "%s=%s", axis->heading, text);
}

/* Reads values separated by commas. */
static pto_status_t parse_list(pto_axis_t *axis, const char *text, pto_error_t *err) {
    int count = 1;
    for (const char *comma = text; (comma = strchr(comma, ',')); comma++)
        count++;
    if (count > PTO_AXIS_VALUES_MAX)
        return pto_error_set(err, PTO_ERR_RANGE, "%d values, at most %d", count, PTO_AXIS_VALUES_MAX);
    pto_status_t status = allocate_axis(axis, count, err);
    for (int i = 0; i < count && status == PTO_OK; i++) {
        char value[PTO_AXIS_LABEL_MAX];
        size_t length = strcspn(text, ",");
        if (length == 0 || length >= sizeof value)
            return pto_error_set(err, PTO_ERR_TYPE,
                                 length == 0 ? "a value is missing" : "a value is too long");
        snprintf(value, sizeof value, "%.*s", (int)length, text);
        set_value(axis, i, value);
        text += length + (text[length] == ',');
    }
    return status;
}

static pto_status_t parse_range(pto_axis_t *axis, const char *text, pto_error_t *err) {
    range_end_t from = {0}, to = {0};
    double factor = 1;
    pto_status_t status = read_range(text, &from, &to, &factor, err);
    if (status != PTO_OK)
        return status;
    /* The values are FROM * FACTOR^i up to TO, which rounding may exceed slightly. */
    double steps = log(to.number / from.number) / log(factor) + 1e-9;
    int count = 1 + (int)floor(fmin(steps, PTO_AXIS_VALUES_MAX));
    if (count > PTO_AXIS_VALUES_MAX)
        return pto_error_set(err, PTO_ERR_RANGE, "more than %d values", PTO_AXIS_VALUES_MAX);
    status = allocate_axis(axis, count, err);
    for (int i = 0; i < count && status == PTO_OK; i++) {
        char value[PTO_AXIS_LABEL_MAX];
        snprintf(value, sizeof value, "%s%.6g%s%s", from.relation, from.number * pow(factor, i),
                 *from.unit ? " " : "", from.unit);
        set_value(axis, i, value);
    }
    return status;
}

/* Reads the `index`-th --what-if, PARAMETER=LIST or PARAMETER=RANGE, as an axis. */
static pto_status_t parse_what_if(pto_axis_t *axis, const char *text, int index, pto_error_t *err) {
    const char *equals = strchr(text, '=');
    pto_error_t fault = {.status = PTO_OK};
    axis->kind = PTO_AXIS_WHAT_IF;
    axis->what_if = index;
    if ((size_t)(equals - text) >= sizeof axis->heading)
        return pto_error_set(err, PTO_ERR_NOT_FOUND, "--what-if: unknown parameter '%.40s...'", text);
    snprintf(axis->heading, sizeof axis->heading, "%.*s", (int)(equals - text), text);
    pto_status_t status =
        strchr(equals, ',') ? parse_list(axis, equals + 1, &fault) : parse_range(axis, equals + 1, &fault);
    return status == PTO_OK ? status : pto_error_set(err, status, "--what-if: %s: %s", text, fault.message);
}

static pto_status_t create_series_axis(pto_axis_t *axis, pto_axis_kind_t kind, const pto_series_t *series,
                                       pto_error_t *err) {
    axis->kind = kind;
    snprintf(axis->heading, sizeof axis->heading, "%s", kind == PTO_AXIS_NODES ? "Nodes" : "Messages");
    pto_status_t status = allocate_axis(axis, (int)series->count, err);
    for (int i = 0; i < axis->count && status == PTO_OK; i++) {
        axis->value[i].number = series->value[i];
        snprintf(axis->value[i].label, sizeof axis->value[i].label, "%lld", (long long)series->value[i]);
    }
    return status;
}

static pto_status_t create_compare_axis(pto_axis_t *axis, pto_error_t *err) {
    axis->kind = PTO_AXIS_COMPARE;
    snprintf(axis->heading, sizeof axis->heading, "Machine");
    pto_status_t status = allocate_axis(axis, 2, err);
    if (status == PTO_OK) {
        snprintf(axis->value[0].label, sizeof axis->value[0].label, "as it is");
        snprintf(axis->value[1].label, sizeof axis->value[1].label, "what if");
    }
    return status;
}

/* Whether a what-if sets the number of nodes although the scenario sweeps it. */
static bool replaces_nodes(const pto_options_t *options) {
    static const char nodes[] = "nodes=";
    for (int i = 0; i < options->what_if_count && options->scenario.nodes.count > 1; i++)
        if (strncmp(options->what_if[i], nodes, sizeof nodes - 1) == 0 &&
            !strchr("*/", options->what_if[i][sizeof nodes - 1]))
            return true;
    return false;
}

/* Finds what varies among the options: at most two of the scenario's sweeps, ranges of --what-if, and
 * --compare. The scenario's own sweep, if it is the only one of its sweeps, is not stored as an axis. */
static pto_status_t find_axes(pto_sweeps_t *sweeps, const pto_options_t *options, pto_error_t *err) {
    const pto_scenario_t *scenario = &options->scenario;
    const pto_series_t *series[] = {&scenario->nodes, &scenario->messages, &scenario->bytes};
    static const pto_axis_kind_t kind[] = {PTO_AXIS_NODES, PTO_AXIS_MESSAGES, PTO_AXIS_NONE};
    int swept = 0, ranges = 0;
    pto_status_t status = PTO_OK;
    for (size_t i = 0; i < sizeof series / sizeof *series; i++)
        swept += series[i]->count > 1;
    for (int i = 0; i < options->what_if_count; i++)
        ranges += pto_what_if_is_range(options->what_if[i]);
    if (swept + ranges + options->compare > 1 && replaces_nodes(options))
        return pto_error_set(err, PTO_ERR_KEY, "--what-if: nodes: the scenario has several values already");
    if (options->compare && options->what_if_count == 0)
        return pto_error_set(err, PTO_ERR_KEY, "--compare: nothing differs; give --what-if");
    if (swept + ranges + options->compare > 2)
        return pto_error_set(err, PTO_ERR_RANGE,
                             "more than two sweeps: of bytes, nodes, messages, ranges of --what-if and "
                             "--compare, two may vary");
    if (options->compare && ranges > 0)
        return pto_error_set(err, PTO_ERR_KEY, "--compare is with one machine, and --what-if names several");
    if (options->compare)
        return create_compare_axis(&sweeps->row, err);
    for (int i = 0; i < options->what_if_count && status == PTO_OK; i++)
        if (pto_what_if_is_range(options->what_if[i]))
            status = parse_what_if(sweeps->row.kind == PTO_AXIS_NONE ? &sweeps->row : &sweeps->column,
                                   options->what_if[i], i, err);
    for (size_t i = 0; i < 2 && swept == 2 && status == PTO_OK; i++)
        if (series[i]->count > 1)
            return create_series_axis(&sweeps->row, kind[i], series[i], err);
    return status;
}

/* Sets the options to the i-th value of an axis. */
static pto_status_t apply_value(const pto_axis_t *axis, int i, pto_options_t *options, pto_error_t *err) {
    pto_scenario_t *scenario = &options->scenario;
    pto_series_t *series = axis->kind == PTO_AXIS_NODES ? &scenario->nodes : &scenario->messages, one;
    if (axis->kind == PTO_AXIS_NONE)
        return PTO_OK;
    if (axis->kind == PTO_AXIS_COMPARE) {
        options->what_if_count = i == 0 ? 0 : options->what_if_count;
        return PTO_OK;
    }
    if (axis->kind == PTO_AXIS_WHAT_IF) {
        options->what_if[axis->what_if] = axis->value[i].change;
        return PTO_OK;
    }
    pto_status_t status = pto_series_one(axis->value[i].number, &one, err);
    if (status != PTO_OK)
        return status;
    pto_series_fini(series);
    *series = one;
    if (axis->kind == PTO_AXIS_NODES)
        scenario->layout.nodes = axis->value[i].number;
    return PTO_OK;
}

/* pto_variant_t's `ask`: see pto_sweeps_variant. */
static pto_status_t ask(void *context, pto_options_t *options, pto_error_t *err) {
    pto_sweeps_t *sweeps = context;
    bool first = sweeps->row.kind == PTO_AXIS_NONE;
    pto_status_t status = first ? find_axes(sweeps, options, err) : PTO_OK;
    if (first && sweeps->row.kind == PTO_AXIS_COMPARE)
        sweeps->at_row = 1; /* the run with the what-ifs, so that wrong ones are reported */
    if (status == PTO_OK)
        status = apply_value(&sweeps->row, sweeps->at_row, options, err);
    options->two_sweeps = sweeps->row.kind != PTO_AXIS_NONE;
    return status == PTO_OK ? apply_value(&sweeps->column, sweeps->at_column, options, err) : status;
}

pto_variant_t pto_sweeps_variant(pto_sweeps_t *sweeps) {
    return (pto_variant_t){.ask = ask, .context = sweeps};
}

/* The number of runs of a row: values of a second range, else 1. */
static int runs_per_row(const pto_sweeps_t *sweeps) {
    return sweeps->column.count > 0 ? sweeps->column.count : 1;
}

int pto_sweeps_runs(const pto_sweeps_t *sweeps) { return sweeps->row.count * runs_per_row(sweeps); }

const pto_sweeps_run_t *pto_sweeps_run(const pto_sweeps_t *sweeps, int row, int column) {
    return &sweeps->run[row * runs_per_row(sweeps) + column];
}

/* Adds a run's work to `*work`, and checks the limit, which is for all runs together. */
static pto_status_t add_work(const pto_options_t *options, int64_t *work, pto_error_t *err) {
    int64_t more = 0;
    pto_status_t status = pto_check_work(&options->scenario, options->machine, 1, &more, err);
    *work = more > INT64_MAX - *work ? INT64_MAX : *work + more;
    return status == PTO_OK ? pto_check_amount(&options->scenario, "pricing takes the work of", *work, 1, err)
                            : status;
}

static pto_status_t open_run(pto_sweeps_t *sweeps, int i, const pto_arguments_t *arguments, int64_t *work,
                             pto_error_t *err) {
    pto_options_t *options = calloc(1, sweeps->options_size);
    sweeps->run[i].options = options;
    if (!options)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for sweeps");
    sweeps->at_row = i / runs_per_row(sweeps);
    sweeps->at_column = i % runs_per_row(sweeps);
    options->variant = pto_sweeps_variant(sweeps);
    pto_status_t status = pto_options_open(arguments, options, err);
    if (status == PTO_OK)
        status = add_work(options, work, err);
    if (status == PTO_OK && options->by != PTO_BY_TIME)
        status = pto_need_powers(options->machine, err);
    return status;
}

static pto_status_t predict_run(pto_sweeps_run_t *run, pto_error_t *err) {
    if (pto_is_stopped())
        return pto_error_set(err, PTO_ERR_INTERRUPTED, "interrupted");
    pto_status_t status =
        pto_predict(&run->options->scenario, run->options->machine, true, &run->predictions, err);
    if (status == PTO_OK)
        run->predictions.by = run->options->by;
    return status;
}

/* Stores why a run has no prediction, and `*first`, the fault of the first such run. Returns an error if the
 * fault ends all runs. */
static pto_status_t note_fault(pto_sweeps_t *sweeps, pto_sweeps_run_t *run, const pto_error_t *fault,
                               pto_error_t *first, pto_error_t *err) {
    const bool ends = fault->status == PTO_ERR_MEMORY || fault->status == PTO_ERR_TYPE;
    memcpy(run->reason, fault->message, sizeof run->reason);
    if (first->status == PTO_OK || ends)
        sweeps->by_option = run->options && run->options->by_option;
    *first = first->status == PTO_OK ? *fault : *first;
    if (ends)
        return pto_error_set(err, fault->status, "%s", fault->message);
    return PTO_OK;
}

/* Predicts the runs that could be opened. `*any` is set if one has a prediction, and `*first` as above. */
static pto_status_t predict_runs(pto_sweeps_t *sweeps, bool *any, pto_error_t *first, pto_error_t *err) {
    for (int i = 0; i < pto_sweeps_runs(sweeps); i++) {
        pto_error_t fault = {.status = PTO_OK};
        if (sweeps->run[i].reason[0] != '\0')
            continue;
        if (predict_run(&sweeps->run[i], &fault) == PTO_OK)
            *any = true;
        else if (note_fault(sweeps, &sweeps->run[i], &fault, first, err) != PTO_OK)
            return fault.status;
    }
    return PTO_OK;
}

pto_status_t pto_sweeps_predict(pto_sweeps_t *sweeps, const pto_arguments_t *arguments, pto_error_t *err) {
    pto_error_t first = {.status = PTO_OK};
    int64_t work = 0;
    bool any = false;
    sweeps->run = calloc((size_t)pto_sweeps_runs(sweeps), sizeof *sweeps->run);
    if (!sweeps->run)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for sweeps");
    for (int i = 0; i < pto_sweeps_runs(sweeps); i++) {
        pto_error_t fault = {.status = PTO_OK};
        if (open_run(sweeps, i, arguments, &work, &fault) != PTO_OK &&
            note_fault(sweeps, &sweeps->run[i], &fault, &first, err) != PTO_OK)
            return fault.status;
    }
    bool shown = pto_progress_begin_parts("pricing", work, PTO_WORK_PER_SECOND);
    pto_status_t status = predict_runs(sweeps, &any, &first, err);
    if (shown)
        pto_progress_end();
    if (!any && status == PTO_OK && err)
        *err = first;
    return any || status != PTO_OK ? status : first.status;
}

void pto_sweeps_fini(pto_sweeps_t *sweeps) {
    for (int i = 0; sweeps->run && i < pto_sweeps_runs(sweeps); i++) {
        pto_predictions_fini(&sweeps->run[i].predictions);
        if (sweeps->run[i].options)
            pto_options_fini(sweeps->run[i].options);
        free(sweeps->run[i].options);
    }
    free(sweeps->run);
    free(sweeps->row.value);
    free(sweeps->column.value);
}

const pto_predictions_t *pto_sweeps_any(const pto_sweeps_t *sweeps) {
    for (int i = 0; i < pto_sweeps_runs(sweeps); i++)
        if (sweeps->run[i].predictions.strategy_count > 0)
            return &sweeps->run[i].predictions;
    return NULL;
}

int64_t pto_sweeps_columns(const pto_sweeps_t *sweeps) {
    const pto_predictions_t *any = pto_sweeps_any(sweeps);
    return sweeps->column.count > 0 ? sweeps->column.count : any ? any->point_count : 0;
}

const pto_predictions_t *pto_sweeps_at(const pto_sweeps_t *sweeps, int row, int64_t column, int64_t *point) {
    bool has_column_axis = sweeps->column.count > 0;
    const pto_sweeps_run_t *run = pto_sweeps_run(sweeps, row, has_column_axis ? (int)column : 0);
    *point = has_column_axis ? 0 : column;
    return *point < run->predictions.point_count ? &run->predictions : NULL; /* fewer if interrupted */
}

const char *pto_sweeps_column_text(const pto_sweeps_t *sweeps, int64_t column,
                                   char text[PTO_AXIS_LABEL_MAX]) {
    const pto_predictions_t *any = pto_sweeps_any(sweeps);
    if (sweeps->column.count > 0)
        snprintf(text, PTO_AXIS_LABEL_MAX, "%s", sweeps->column.value[column].label);
    else if (any)
        pto_point_text(any, any->point[column], text);
    return text;
}
