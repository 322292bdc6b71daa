/* Writes the panel of a workload's step in a report: a column for each call, which is priced on the machine
 * as its communicator sees it (shared NICs, for example). That machine has the same parameters as the
 * report's, in the same order, but some have other values. */
#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "show/step_table.h"
#include "show/table.h"

/* The sliders' parameters on the machine of a call. */
typedef struct {
    pto_formula_variable_t variable[PTO_REPORT_SLIDERS_MAX];
    double ratio[PTO_REPORT_SLIDERS_MAX]; /* of the values there to those on the report's machine */
} call_sliders_t;

/* Sets `moved` to the parameters of the report's sliders on another machine. */
static pto_status_t move_sliders(const pto_report_t *report, const pto_machine_t *machine,
                                 call_sliders_t *moved, pto_error_t *err) {
    pto_machine_param_t *own = NULL, *other = NULL;
    int count = 0;
    pto_status_t status = pto_machine_params(report->machine, &own, &count, err);
    if (status == PTO_OK)
        status = pto_machine_params(machine, &other, &count, err);
    for (int s = 0; s < report->slider_count && status == PTO_OK; s++)
        for (int i = 0; i < count; i++)
            if (own[i].param == report->slider[s].param) {
                double value = other[i].param->value;
                moved->ratio[s] = value / own[i].param->value;
                moved->variable[s] = (pto_formula_variable_t){other[i].param, value / PTO_REPORT_RANGE,
                                                              value * PTO_REPORT_RANGE};
            }
    free(own);
    free(other);
    return status;
}

/* Returns the call that takes longest in all, whose picks decide on the sliders; -1 if there is none. */
static int longest_call(const pto_step_prediction_t *step) {
    int longest = -1;
    double longest_s = -1, seconds;
    for (int i = 0; i < step->workload->call_count; i++)
        if (pto_workload_is_call(&step->workload->call[i]) &&
            pto_step_call_seconds(step, i, NULL, &seconds) &&
            seconds * (double)step->workload->call[i].times > longest_s) {
            longest = i;
            longest_s = seconds * (double)step->workload->call[i].times;
        }
    return longest;
}

/* Chooses sliders by the longest call on its machine, and sets those of the report to the same parameters on
 * the report's machine. */
static pto_status_t choose_sliders(pto_report_t *report, const pto_step_prediction_t *step, int sliders,
                                   pto_error_t *err) {
    int longest = longest_call(step);
    if (longest < 0)
        return PTO_OK;
    const pto_step_call_t *call = &step->call[longest];
    pto_report_t chosen = {.machine = call->machine};
    call_sliders_t moved = {.ratio = {0}};
    pto_status_t status = pto_report_choose_sliders(&chosen, &call->predictions, sliders, err);
    if (status == PTO_OK)
        status = move_sliders(&chosen, report->machine, &moved, err);
    report->slider_count = chosen.slider_count;
    memcpy(report->slider, moved.variable, sizeof report->slider);
    return status;
}

/* Begins the object of a call with its route (strategy) in the step, which need not be the cheapest of the
 * call alone: [strategy, null or the parameter that makes it unsure, whether it was chosen together with
 * others]. */
static void print_route(pto_report_t *report, const pto_step_prediction_t *step, int i) {
    const pto_strategy_t *strategy;
    const char *unsure = pto_step_unsure(step, i);
    pto_step_best(step, i, &strategy);
    fprintf(report->stream, "{\"route\":[%d,", pto_report_strategy(report, strategy));
    pto_print_json_string(report->stream, unsure);
    fprintf(report->stream, ",%d]", pto_step_is_chosen_together(step, i));
}

static pto_status_t print_call(pto_report_t *report, const pto_step_prediction_t *step, int i,
                               pto_error_t *err) {
    const pto_step_call_t *call = &step->call[i];
    call_sliders_t moved = {.ratio = {0}};
    pto_status_t status = move_sliders(report, call->machine, &moved, err);
    print_route(report, step, i);
    fputs(",\"v\":[", report->stream);
    for (int s = 0; s < report->slider_count; s++) {
        fputs(s > 0 ? "," : "", report->stream);
        pto_report_number(report->stream, moved.ratio[s]);
    }
    fputs("],\"cells\":[", report->stream);
    for (int s = 0; s < call->predictions.strategy_count && status == PTO_OK; s++) {
        fputs(s > 0 ? "," : "", report->stream);
        status = pto_report_cell(report, &call->predictions, 0, s, moved.variable, err);
    }
    fputs("]}", report->stream);
    return status;
}

/* Writes the heading of a call's column: "gradients: allreduce 25 MiB on dp, 4 x". */
static void print_name(FILE *stream, const pto_step_prediction_t *step, int i) {
    const pto_workload_call_t *call = &step->workload->call[i];
    char along[PTO_WORKLOAD_ALONG_MAX], text[PTO_WORKLOAD_ALONG_MAX + 256];
    const char *name = pto_workload_call_name(call),
               *collective = pto_collective_name(call->scenario.collective);
    const bool named = strcmp(name, collective) != 0;
    snprintf(text, sizeof text, "%.160s%s%s %s on %s, %lld x", named ? name : "", named ? ": " : "",
             collective, PTO_SIZE_TEXT(call->scenario.bytes.value[0]),
             pto_workload_along_text(step->workload, call->along, along), (long long)call->times);
    pto_print_json_string(stream, text);
}

static pto_status_t print_calls(pto_report_t *report, const pto_step_prediction_t *step, pto_error_t *err) {
    pto_status_t status = PTO_OK;
    int column = 0;
    for (int i = 0; i < step->workload->call_count && status == PTO_OK; i++)
        if (pto_workload_is_call(&step->workload->call[i])) {
            fputs(column++ > 0 ? ",\n" : "", report->stream);
            status = print_call(report, step, i, err);
        }
    fputs("],\"ranges\":[", report->stream);
    column = 0;
    for (int i = 0; i < step->workload->call_count && status == PTO_OK; i++)
        if (pto_workload_is_call(&step->workload->call[i])) {
            fputs(column > 0 ? "," : "", report->stream);
            status = pto_report_ranges(report, &step->call[i].predictions, column++, err);
        }
    return status;
}

pto_status_t pto_report_step(pto_report_t *report, const pto_step_prediction_t *step, int sliders,
                             pto_error_t *err) {
    const char *between = "";
    FILE *stream = report->stream;
    pto_status_t status = choose_sliders(report, step, sliders, err);
    fprintf(stream, "{\"title\":\"step\",\"x\":\"call\",\"own\":%lld,\"values\":[",
            (long long)step->workload->layout.nodes);
    for (int i = 0; i < step->workload->call_count; i++)
        if (pto_workload_is_call(&step->workload->call[i])) {
            fputs(between, stream);
            print_name(stream, step, i);
            between = ",";
        }
    fprintf(stream, "],\"rows\":[{\"nodes\":%lld,\"calls\":[", (long long)step->workload->layout.nodes);
    if (status == PTO_OK)
        status = print_calls(report, step, err);
    fputs("]}]}", stream);
    return status;
}

/* Writes the calls of an entry of the workload as [column, times], and its seconds of computation. `*column`
 * is the column of the next call. */
static void print_entry(FILE *stream, const pto_workload_t *workload, int entry, int *column) {
    double compute_s = 0;
    const char *between = "";
    fputs("{\"calls\":[", stream);
    for (int i = 0; i < workload->call_count; i++) {
        const pto_workload_call_t *call = &workload->call[i];
        if (call->entry != entry)
            continue;
        if (!pto_workload_is_call(call)) {
            compute_s += (double)call->times * call->compute_s;
            continue;
        }
        fprintf(stream, "%s[%d,%lld]", between, (*column)++, (long long)call->times);
        between = ",";
    }
    fputs("],\"compute\":", stream);
    pto_report_number(stream, compute_s);
    fputc('}', stream);
}

void pto_report_step_total(FILE *stream, const pto_step_prediction_t *step) {
    const double seconds[] = {step->mix.communication_s, step->mix.exposed_s, step->mix.seconds};
    int column = 0;
    fputs(",\n\"step\":{\"own\":[", stream);
    for (int i = 0; i < 3; i++) {
        fputs(i > 0 ? "," : "", stream);
        pto_report_number(stream, seconds[i]);
    }
    fputs("],\"entries\":[", stream);
    for (int entry = 0; entry < step->workload->entry_count; entry++) {
        fputs(entry > 0 ? "," : "", stream);
        print_entry(stream, step->workload, entry, &column);
    }
    fputs("]}", stream);
}
