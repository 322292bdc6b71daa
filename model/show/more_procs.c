/* The hint that more processes per GPU would be faster, for people and as JSON. */
#include "more_procs.h"

#include "portolan/units.h"
#include "record.h"
#include "table.h"

const char *pto_more_procs_text(const pto_predictions_t *predictions, char text[PTO_MORE_PROCS_TEXT_MAX]) {
    const pto_more_procs_t *more = &predictions->more_procs;
    if (more->procs_per_gpu == 0)
        return NULL;
    snprintf(text, PTO_MORE_PROCS_TEXT_MAX,
             "hint: with --procs-per-gpu %lld, %s at %s takes %s instead of the pick's %s%s%s%s",
             (long long)more->procs_per_gpu, more->strategy->name,
             PTO_POINT_TITLE(predictions, predictions->point[more->point]), PTO_SECONDS_TEXT(more->seconds),
             PTO_SECONDS_TEXT(more->pick_s), *more->unpriced ? " (" : "", more->unpriced,
             *more->unpriced ? " is not priced)" : "");
    return text;
}

void pto_print_json_more_procs(const pto_predictions_t *predictions) {
    const pto_more_procs_t *more = &predictions->more_procs;
    if (more->procs_per_gpu == 0)
        return;
    PTO_OBJECT(stdout, ", \"more_procs\": ", pto_field_count("procs_per_gpu", more->procs_per_gpu),
               pto_field_count(pto_sweep_kind_name(predictions->sweep), predictions->point[more->point]),
               pto_field_text("strategy", more->strategy->name), pto_field_number("seconds", more->seconds),
               pto_field_number("pick_s", more->pick_s),
               pto_field_if(*more->unpriced, pto_field_text("unpriced", more->unpriced)));
}

/* What more processes would save in a step. */
typedef struct {
    int64_t procs_per_gpu; /* 0: nothing is saved */
    double saved_s;        /* by all calls */
    int call;              /* the index of the call that saves the most, which is most_s */
    double most_s;
} saving_t;

static saving_t saving_of(const pto_step_prediction_t *step) {
    saving_t saving = {.procs_per_gpu = 0};
    for (int i = 0; i < step->workload->call_count; i++) {
        const pto_more_procs_t *more = &step->call[i].predictions.more_procs;
        const double saved_s = (double)step->workload->call[i].times * (more->pick_s - more->seconds);
        if (more->procs_per_gpu == 0)
            continue;
        saving.procs_per_gpu = more->procs_per_gpu;
        saving.saved_s += saved_s;
        if (saved_s > saving.most_s) {
            saving.most_s = saved_s;
            saving.call = i;
        }
    }
    return saving;
}

const char *pto_step_more_procs_text(const pto_step_prediction_t *step, bool has_option,
                                     char text[PTO_MORE_PROCS_TEXT_MAX]) {
    const saving_t saving = saving_of(step);
    const pto_more_procs_t *more = &step->call[saving.call].predictions.more_procs;
    if (saving.procs_per_gpu == 0)
        return NULL;
    snprintf(text, PTO_MORE_PROCS_TEXT_MAX,
             "hint: with %s%lld%s, communication takes up to %s less, most of it in %s by %s%s%s%s",
             has_option ? "--procs-per-gpu " : "", (long long)saving.procs_per_gpu,
             has_option ? "" : " processes per GPU", PTO_SECONDS_TEXT(saving.saved_s),
             pto_workload_call_name(&step->workload->call[saving.call]), more->strategy->name,
             *more->unpriced ? " (" : "", more->unpriced, *more->unpriced ? " is not priced)" : "");
    return text;
}

void pto_print_json_step_more_procs(const pto_step_prediction_t *step) {
    const saving_t saving = saving_of(step);
    if (saving.procs_per_gpu == 0)
        return;
    PTO_OBJECT(stdout, ", \"more_procs\": ", pto_field_count("procs_per_gpu", saving.procs_per_gpu),
               pto_field_number("saved_s", saving.saved_s),
               pto_field_text("call", pto_workload_call_name(&step->workload->call[saving.call])),
               pto_field_text("strategy", step->call[saving.call].predictions.more_procs.strategy->name));
}
