/* The output of predictions that the commands share: headers, footers, CSV columns, JSON members, and the
 * texts of layouts, sizes and points. */
#include "table.h"

#include <stdlib.h>
#include <string.h>

#include "command_line/terminal.h"
#include "more_procs.h"
#include "portolan/api.h"
#include "portolan/printable.h"
#include "portolan/strategy.h"
#include "portolan/units.h"
#include "record.h"

static void print_library(const pto_scenario_t *scenario) {
    const pto_library_choice_t *library = &scenario->library;
    if (!pto_collective_is_in_mpi(scenario->collective))
        return;
    if (scenario->implementation == PTO_IMPLEMENTATION_ISEND_IRECV)
        fputs("# algorithm  nonblocking sends and receives, all in flight\n", stdout);
    else if (library->name)
        printf("# library    %s\n", library->name);
    else if (library->rule_count > 0)
        fputs("# library    the scenario's table\n", stdout);
    else if (library->best)
        fputs("# library    best: the cheapest algorithm at each point\n", stdout);
    else
        fputs("# library    the machine file's table, else the cheapest algorithm\n", stdout);
}

static const char *plural(int64_t count, const char *ending) { return count == 1 ? "" : ending; }

const char *pto_node_text(const pto_layout_t *layout, char text[PTO_LAYOUT_TEXT_MAX]) {
    int64_t places = layout->gpus_per_node; /* its processes, if data are in host memory */
    int64_t procs = layout->procs_per_gpu;
    if (layout->in_host)
        snprintf(text, PTO_LAYOUT_TEXT_MAX, "%lld process%s a node, data in host memory", (long long)places,
                 plural(places, "es"));
    else
        snprintf(text, PTO_LAYOUT_TEXT_MAX, "%lld GPU%s a node, %lld process%s a GPU", (long long)places,
                 plural(places, "s"), (long long)procs, plural(procs, "es"));
    return text;
}

const char *pto_nodes_text(const pto_layout_t *layout, char text[PTO_LAYOUT_TEXT_MAX]) {
    snprintf(text, PTO_LAYOUT_TEXT_MAX, "%lld node%s, %s", (long long)layout->nodes,
             plural(layout->nodes, "s"), PTO_NODE_TEXT(layout));
    return text;
}

const char *pto_layout_text(const pto_layout_t *layout, char text[PTO_LAYOUT_TEXT_MAX]) {
    int64_t nodes = layout->nodes, places = layout->gpus_per_node, procs = layout->procs_per_gpu;
    if (layout->in_host)
        snprintf(text, PTO_LAYOUT_TEXT_MAX, "%lld node%s x %lld process%s = %lld, data in host memory",
                 (long long)nodes, plural(nodes, "s"), (long long)places, plural(places, "es"),
                 (long long)(nodes * places));
    else
        snprintf(text, PTO_LAYOUT_TEXT_MAX, "%lld node%s x %lld GPU%s = %lld GPU%s, %lld process%s a GPU",
                 (long long)nodes, plural(nodes, "s"), (long long)places, plural(places, "s"),
                 (long long)(nodes * places), plural(nodes * places, "s"), (long long)procs,
                 plural(procs, "es"));
    return text;
}

const char *pto_size_text(int64_t bytes, char text[PTO_BYTES_TEXT_MAX]) {
    if (bytes != 0 && bytes % 1024 == 0)
        return pto_bytes_text(bytes, text);
    snprintf(text, PTO_BYTES_TEXT_MAX, "%lld B", (long long)bytes);
    return text;
}

const char *pto_size_short(int64_t bytes, char text[PTO_BYTES_TEXT_MAX]) {
    static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes;
    int power = 0;
    for (; value >= 1024; power++)
        value /= 1024;
    snprintf(text, PTO_BYTES_TEXT_MAX, value >= 1000 ? "%.4g %s" : "%.3g %s", value, unit[power]);
    return text;
}

const char *pto_interval_text(const char *low, const char *high, char text[PTO_INTERVAL_TEXT_MAX]) {
    const char *low_unit = strchr(low, ' '), *high_unit = strchr(high, ' ');
    bool same = low_unit && high_unit && strcmp(low_unit, high_unit) == 0;
    snprintf(text, PTO_INTERVAL_TEXT_MAX, "%.*s..%s", same ? (int)(low_unit - low) : (int)strlen(low), low,
             high);
    return text;
}

const char *pto_route_text(const pto_strategy_t *strategy, const pto_prediction_t *prediction, bool details,
                           const char *marks, char text[PTO_ROUTE_TEXT_MAX]) {
    char choice[PTO_CHOICE_TEXT_MAX], detail[PTO_ROUTE_TEXT_MAX / 2] = "";
    pto_choice_text(strategy, prediction->chunks, prediction->staged_members, choice);
    if (details)
        snprintf(detail, sizeof detail, " (%s%s)", prediction->algorithm->name, choice);
    snprintf(text, PTO_ROUTE_TEXT_MAX, "%s%s%s", strategy->name, detail, marks);
    return text;
}

const char *pto_point_short(const pto_predictions_t *predictions, int64_t value,
                            char text[PTO_BYTES_TEXT_MAX]) {
    bool is_size = predictions->sweep == PTO_SWEEP_BYTES;
    return is_size ? pto_size_short(value, text) : pto_point_text(predictions, value, text);
}

const char *pto_point_text(const pto_predictions_t *predictions, int64_t value,
                           char text[PTO_BYTES_TEXT_MAX]) {
    if (predictions->sweep == PTO_SWEEP_BYTES)
        return pto_size_text(value, text);
    snprintf(text, PTO_BYTES_TEXT_MAX, "%lld", (long long)value);
    return text;
}

const char *pto_point_title(const pto_predictions_t *predictions, int64_t value,
                            char text[PTO_BYTES_TEXT_MAX]) {
    pto_point_text(predictions, value, text);
    size_t length = strlen(text);
    if (predictions->sweep != PTO_SWEEP_BYTES)
        snprintf(text + length, PTO_BYTES_TEXT_MAX - length, " %s", pto_sweep_kind_name(predictions->sweep));
    return text;
}

static void print_size(const pto_predictions_t *predictions, unsigned varies) {
    const pto_scenario_t *scenario = predictions->scenario;
    char bytes[PTO_BYTES_TEXT_MAX];
    if (!(varies & 1u << PTO_SWEEP_BYTES) && scenario->bytes.count > 0)
        printf("# bytes      %s\n", pto_size_text(scenario->bytes.value[0], bytes));
    if (!(varies & 1u << PTO_SWEEP_MESSAGES) && scenario->messages.count > 0)
        printf("# messages   %lld from each %s\n", (long long)scenario->messages.value[0],
               scenario->layout.in_host ? "process" : "GPU");
}

const char *pto_next_note(const char *notes, int *length) {
    if (!notes || *notes == '\0')
        return NULL;
    *length = (int)strcspn(notes, "\n");
    return notes + *length + (notes[*length] == '\n');
}

void pto_print_changes(FILE *stream, const pto_machine_t *machine) {
    const char *model = pto_machine_model(machine);
    if (model)
        fprintf(stream, "# model      %s\n", model);
    for (int i = 0; pto_print_change(stream, machine, i);)
        i++;
}

bool pto_print_change(FILE *stream, const pto_machine_t *machine, int i) {
    int length;
    const char *notes = pto_machine_what_if(machine), *next = pto_next_note(notes, &length);
    for (; next && i > 0; i--) {
        notes = next;
        next = pto_next_note(notes, &length);
    }
    if (next)
        pto_print_head(stream, "what if", "%.*s", length, notes);
    return next != NULL;
}

void pto_print_json_start(const pto_machine_t *machine) {
    int length;
    const char *model = pto_machine_model(machine), *what_if = pto_machine_what_if(machine), *notes = what_if;
    char digest[PTO_MACHINE_DIGEST_MAX];
    putchar('{');
    PTO_RECORD(stdout, PTO_FORMAT_JSON, pto_field_text("portolan", pto_version()),
               pto_field_text("machine", pto_machine_name(machine)),
               pto_field_text("machine_file", pto_file_name(pto_machine_path(machine))),
               pto_field_text("machine_digest", pto_machine_digest(machine, digest)),
               pto_field_if(model, pto_field_text("model", model)));
    for (const char *next; (next = pto_next_note(notes, &length)); notes = next) {
        char text[512];
        snprintf(text, sizeof text, "%.*s", length, notes);
        fputs(notes == what_if ? ", \"what_if\": [" : ", ", stdout);
        pto_print_json_string(stdout, text);
    }
    fputs(what_if ? "]" : "", stdout);
}

void pto_print_layout(const pto_layout_t *layout) {
    char text[PTO_LAYOUT_TEXT_MAX];
    pto_print_head(stdout, "layout", "%s", pto_layout_text(layout, text));
}

void pto_print_machine(const pto_machine_t *machine) {
    const char *name = pto_machine_name(machine), *path = pto_machine_path(machine);
    bool fits = (int)(strlen("# machine     ()") + strlen(name) + strlen(path)) <= pto_terminal_width(stdout);
    printf("# machine    %s%s(", name, fits ? " " : "\n#            ");
    pto_print_escaped(path);
    fputs(")\n", stdout);
    if (pto_machine_runs(machine) != PTO_RUNS_WAITED)
        pto_print_head(stdout, "runs", "%s", pto_runs_text(pto_machine_runs(machine)));
}

void pto_print_title(const char *command, const pto_predictions_t *predictions) {
    const pto_scenario_t *scenario = predictions->scenario;
    pto_print_note(stdout, "portolan %s: %s", command,
                   scenario->name ? scenario->name : pto_collective_name(scenario->collective));
    pto_print_machine(predictions->machine);
}

void pto_print_question(const pto_predictions_t *predictions, unsigned varies) {
    const pto_layout_t *layout = &predictions->scenario->layout;
    char text[PTO_LAYOUT_TEXT_MAX];
    if (varies & 1u << PTO_SWEEP_NODES)
        pto_print_head(stdout, "layout", "%s", pto_node_text(layout, text));
    else
        pto_print_layout(layout);
    print_size(predictions, varies);
    print_library(predictions->scenario);
}

void pto_print_header(const char *command, const pto_predictions_t *predictions) {
    pto_print_title(command, predictions);
    pto_print_changes(stdout, predictions->machine);
    pto_print_question(predictions, 1u << predictions->sweep);
}

/* Prints why a strategy does not apply at some points: one note for each range of points. */
static void print_reasons(const pto_predictions_t *predictions, int strategy) {
    const char *printed = NULL;
    char from[PTO_BYTES_TEXT_MAX];
    for (int64_t point = 0; point < predictions->point_count; point++) {
        const pto_prediction_t *prediction = pto_prediction_at(predictions, point, strategy);
        pto_cost_t cost;
        if (pto_prediction_cost(prediction, predictions->by, &cost)) {
            printed = NULL;
            continue;
        }
        if (!printed)
            pto_print_note(stdout, "from %s: %s",
                           pto_point_text(predictions, predictions->point[point], from), prediction->reason);
        printed = prediction->reason;
    }
}

void pto_list_add(pto_text_t *list, const char *before, const char *name) {
    pto_text_add(list, "%s%s", list->length > 0 ? ", " : before, name);
}

void pto_print_list(pto_text_t *list) {
    if (list->length > 0 && !list->out_of_memory)
        pto_print_note(stdout, "%s", list->text);
    free(list->text);
}

void pto_print_json_layout(const pto_layout_t *layout, bool with_nodes) {
    const bool in_host = layout->in_host;
    PTO_OBJECT(stdout, ", \"layout\": ", pto_field_if(with_nodes, pto_field_count("nodes", layout->nodes)),
               pto_field_count(in_host ? "procs_per_node" : "gpus_per_node", layout->gpus_per_node),
               pto_field_if(in_host, pto_field_text("memory", "host")),
               pto_field_if(!in_host, pto_field_count("procs_per_gpu", layout->procs_per_gpu)),
               pto_field_if(!in_host, pto_field_count("owners_per_gpu", layout->owners_per_gpu)));
}

void pto_print_json_question(const pto_predictions_t *predictions) {
    pto_caveats_t caveats = {.count = 0};
    pto_caveats_add_all(&caveats, predictions);
    PTO_MORE(stdout, pto_field_text("collective", pto_collective_name(predictions->scenario->collective)));
    pto_print_json_layout(&predictions->scenario->layout, predictions->sweep != PTO_SWEEP_NODES);
    PTO_MORE(stdout, pto_field_unpriced("not_priced", &caveats));
    pto_print_json_more_procs(predictions);
}

/* Prints what prices are extrapolated from: one note for each range of points. */
static void print_extrapolated(const pto_predictions_t *predictions) {
    for (int i = 0; i < predictions->strategy_count; i++) {
        char printed[PTO_EXTRAPOLATED_MAX] = "", text[PTO_EXTRAPOLATED_MAX];
        for (int64_t point = 0; point < predictions->point_count; point++) {
            const pto_prediction_t *prediction = pto_prediction_at(predictions, point, i);
            if (!prediction->applicable || !pto_extrapolated_text(&prediction->price, text)) {
                printed[0] = '\0';
                continue;
            }
            if (strcmp(text, printed) != 0)
                pto_print_note(stdout, "from %s: %s is extrapolated from %s",
                               PTO_POINT_TITLE(predictions, predictions->point[point]),
                               predictions->strategy[i]->name, text);
            memcpy(printed, text, sizeof printed);
        }
    }
}

static bool is_known(const pto_machine_t *machine, const char *key) {
    double value;
    return pto_machine_get(machine, key, &value, NULL) == PTO_OK;
}

pto_status_t pto_need_powers(const pto_machine_t *machine, pto_error_t *err) {
    if (is_known(machine, "energy.gpu.idle_w"))
        return PTO_OK;
    return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                         "machine %s (%s) has no `energy`, without which no joules are known; "
                         "`portolan-validate --powers` measures it",
                         pto_machine_name(machine), pto_machine_path(machine));
}

void pto_print_energy_note(const pto_predictions_t *predictions) {
    if (predictions->by != PTO_BY_TIME && !is_known(predictions->machine, "energy.cpu.idle_w"))
        fputs("# energy     of the GPUs alone: the machine file has no energy.cpu\n", stdout);
}

/* Returns a reason without the leading name of the strategy, so that strategies can share it. */
static const char *shared_reason(const pto_predictions_t *predictions, int strategy) {
    const char *name = predictions->strategy[strategy]->name;
    const char *reason = pto_prediction_at(predictions, 0, strategy)->reason;
    size_t length = strlen(name);
    return strncmp(reason, name, length) == 0 && reason[length] == ' ' ? reason + length + 1 : reason;
}

/* Returns the reason why a strategy applies at no point, and so has no column. NULL if it has a column: it
 * applies somewhere, or the scenario names its strategies. */
static const char *reason_to_hide(const pto_predictions_t *predictions, int strategy) {
    for (int64_t point = 0; point < predictions->point_count; point++) {
        pto_cost_t cost;
        if (predictions->scenario->strategy_count > 0 ||
            pto_prediction_cost(pto_prediction_at(predictions, point, strategy), predictions->by, &cost))
            return NULL;
    }
    return shared_reason(predictions, strategy);
}

static bool is_hidden_for(const pto_predictions_t *predictions, int strategy, const char *reason) {
    const char *own = reason_to_hide(predictions, strategy);
    return own && strcmp(own, reason) == 0;
}

/* Prints one note for each reason to hide strategies. */
static void print_hidden(const pto_predictions_t *predictions) {
    for (int i = 0; i < predictions->strategy_count; i++) {
        const char *reason = reason_to_hide(predictions, i);
        pto_text_t list = {0};
        int first = 0;
        while (reason && !is_hidden_for(predictions, first, reason))
            first++;
        if (!reason || first < i)
            continue;
        for (int j = i; j < predictions->strategy_count; j++)
            if (is_hidden_for(predictions, j, reason))
                pto_list_add(&list, "no column: ", predictions->strategy[j]->name);
        pto_text_add(&list, ": %s", reason);
        pto_print_list(&list);
    }
}

/* Says that the price of a strategy which divides the work during the run is a bound: that of the strategy
 * `fixed` with the best division. */
static void print_bound(const pto_predictions_t *predictions, int index) {
    const pto_strategy_t *strategy = predictions->strategy[index];
    if (strategy->fixed)
        pto_print_note(stdout, "%s: a bound, the price of %s with the best numbers", strategy->name,
                       strategy->fixed->name);
}

bool pto_has_column(const pto_predictions_t *predictions, int strategy) {
    return !reason_to_hide(predictions, strategy);
}

/* Explains a price of 0, which looks like an error. */
static void print_empty(const pto_predictions_t *predictions) {
    bool is_free = false;
    for (int64_t cell = 0; cell < predictions->point_count * predictions->strategy_count; cell++) {
        const pto_prediction_t *prediction = &predictions->prediction[cell];
        is_free = is_free || (prediction->applicable && !(prediction->price.seconds > 0));
    }
    if (is_free && predictions->scenario->bytes.count > 0 && predictions->scenario->bytes.value[0] == 0)
        pto_print_note(stdout, "0 B: a collective without data sends nothing, and is priced at 0 s");
}

/* Whether the machine file has parameters (messages.to) for messages between host and GPU memory. */
static bool has_mixed_messages(const pto_predictions_t *predictions) {
    const pto_scenario_t *scenario = predictions->scenario;
    char key[PTO_PARAM_KEY_MAX];
    double value;
    snprintf(key, sizeof key, "messages.to.%s.%s.rendezvous.alpha_s",
             pto_space_name(scenario->ends.to_host ? PTO_SPACE_CPU : PTO_SPACE_GPU),
             pto_level_name(scenario->distance));
    return pto_machine_get(predictions->machine, key, &value, NULL) == PTO_OK;
}

/* Says how messages between host and GPU memory are priced if the machine file has no parameters for them. */
static void print_mixed_ends(const pto_predictions_t *predictions) {
    const pto_pair_ends_t *ends = &predictions->scenario->ends;
    if (ends->from_host == ends->to_host || has_mixed_messages(predictions))
        return;
    for (int i = 0; i < predictions->strategy_count; i++)
        if (strcmp(predictions->strategy[i]->name, "cuda_aware") == 0 && !reason_to_hide(predictions, i))
            pto_print_note(stdout, predictions->scenario->distance == PTO_LEVEL_OFF_NODE
                                       ? "cuda_aware: without messages.to, a message between host and GPU "
                                         "memory is priced as one within either, whichever costs more"
                                       : "cuda_aware: without messages.to, a message between host and GPU "
                                         "memory is priced as a copy and one within host memory");
}

void pto_print_footer(const pto_predictions_t *predictions) {
    pto_print_energy_note(predictions);
    print_empty(predictions);
    print_mixed_ends(predictions);
    for (int i = 0; i < predictions->strategy_count; i++)
        if (!reason_to_hide(predictions, i)) {
            print_reasons(predictions, i);
            print_bound(predictions, i);
        }
    print_hidden(predictions);
    print_extrapolated(predictions);
    pto_caveats_t caveats = {.count = 0};
    pto_caveats_add_all(&caveats, predictions);
    pto_print_unpriced(&caveats);
    char hint[PTO_MORE_PROCS_TEXT_MAX];
    if (pto_more_procs_text(predictions, hint))
        pto_print_note(stdout, "%s", hint);
}

const char *pto_sweep_heading(pto_sweep_kind_t sweep) {
    static const char *const heading[] = {
        [PTO_SWEEP_BYTES] = "Bytes", [PTO_SWEEP_NODES] = "Nodes", [PTO_SWEEP_MESSAGES] = "Messages"};
    _Static_assert(sizeof heading / sizeof *heading == PTO_SWEEP_COUNT, "every sweep has a heading");
    return heading[sweep];
}

void pto_print_json_strategy(const pto_predictions_t *predictions, int64_t cell) {
    const pto_prediction_t *prediction = &predictions->prediction[cell];
    const bool applies = prediction->applicable;
    PTO_RECORD(
        stdout, PTO_FORMAT_JSON,
        pto_field_text("strategy", predictions->strategy[cell % predictions->strategy_count]->name),
        pto_field_if(!applies, pto_field_text("reason", prediction->reason)),
        pto_field_if(applies, pto_field_text("algorithm", applies ? prediction->algorithm->name : NULL)),
        pto_field_if(applies, pto_field_number("seconds", prediction->price.seconds)));
}

void pto_print_json_price(const pto_predictions_t *predictions, int64_t cell) {
    const pto_prediction_t *prediction = &predictions->prediction[cell];
    pto_caveats_t caveats = {.count = 0};
    const bool stages = predictions->strategy[cell % predictions->strategy_count]->stages;
    const bool has_interval = prediction->price.has_interval;
    pto_caveats_add(&caveats, prediction);
    if (!prediction->applicable)
        return;
    PTO_MORE(stdout, pto_field_if(prediction->chunks > 0, pto_field_count("chunks", prediction->chunks)),
             pto_field_if(stages, pto_field_count("staged_in", prediction->staged_members.in)),
             pto_field_if(stages, pto_field_count("staged_out", prediction->staged_members.out)),
             pto_field_if(has_interval, pto_field_number("low_s", prediction->price.low_s)),
             pto_field_if(has_interval, pto_field_number("high_s", prediction->price.high_s)),
             pto_field_unpriced_if_any(&caveats), pto_field_extrapolated(&caveats));
}

void pto_print_json_cells(const char *name, const pto_predictions_t *predictions,
                          void (*print)(int64_t cell, const void *context), const void *context) {
    pto_print_json_start(predictions->machine);
    pto_print_json_question(predictions);
    printf(", \"%s\": [", name);
    for (int64_t cell = 0; cell < predictions->point_count * predictions->strategy_count; cell++) {
        printf("%s\n  {\"%s\": %lld, ", cell ? "," : "", pto_sweep_kind_name(predictions->sweep),
               (long long)predictions->point[cell / predictions->strategy_count]);
        pto_print_json_strategy(predictions, cell);
        if (predictions->prediction[cell].applicable)
            print(cell, context);
        putchar('}');
    }
    fputs("\n]}\n", stdout);
}

void pto_print_csv_heading(const char *columns) {
    printf("bytes,nodes,messages,strategy,algorithm,%s,not_priced,extrapolated_from,model,what_if\n",
           columns);
}

void pto_print_csv_point(const pto_predictions_t *predictions, int64_t point) {
    const pto_request_t request =
        pto_scenario_request(predictions->scenario, point, predictions->strategy[0], NULL);
    PTO_RECORD(stdout, PTO_FORMAT_CSV, pto_field_count("bytes", request.bytes),
               pto_field_count("nodes", request.layout.nodes),
               pto_field_if(request.messages > 0, pto_field_count("messages", request.messages)));
}

void pto_print_csv_cell(const pto_predictions_t *predictions, int64_t cell) {
    const pto_prediction_t *prediction = &predictions->prediction[cell];
    pto_print_csv_point(predictions, cell / predictions->strategy_count);
    printf("%s,%s,", predictions->strategy[cell % predictions->strategy_count]->name,
           prediction->applicable ? prediction->algorithm->name : "");
}

void pto_print_csv_changes(const pto_machine_t *machine) {
    const char *model = pto_machine_model(machine), *notes = pto_machine_what_if(machine);
    char text[4096];
    snprintf(text, sizeof text, "%s", notes ? notes : "");
    for (char *line = text; (line = strchr(line, '\n')); line++)
        *line = ';';
    printf("%s,", model ? model : "");
    pto_print_csv_text(stdout, text);
}

void pto_print_csv_end(const pto_predictions_t *predictions, int64_t cell) {
    const pto_prediction_t *prediction = &predictions->prediction[cell];
    pto_caveats_t caveats = {.count = 0};
    pto_caveats_add(&caveats, prediction);
    PTO_RECORD(stdout, PTO_FORMAT_CSV, pto_field_unpriced("not_priced", &caveats),
               pto_field_extrapolated(&caveats));
    pto_print_csv_changes(predictions->machine);
    putchar('\n');
}

const char *pto_file_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

void pto_print_csv_text(FILE *stream, const char *text) {
    const char *quote = strpbrk(text, ",\"") ? "\"" : "";
    char escaped[PTO_ESCAPED_MAX];
    fputs(quote, stream);
    while (*text) {
        fputs(*text == '"' ? "\"" : "", stream);
        text += pto_escape(text, escaped);
        fputs(escaped, stream);
    }
    fputs(quote, stream);
}

void pto_print_json_string(FILE *stream, const char *text) {
    char escaped[PTO_ESCAPED_MAX];
    if (!text) {
        fputs("null", stream);
        return;
    }
    fputc('"', stream);
    while (*text) {
        fputs(*text == '"' || *text == '\\' ? "\\" : "", stream);
        text += pto_escape(text, escaped);
        fputs(escaped, stream);
    }
    fputc('"', stream);
}
