/* The table of `portolan replay`: the total time of the recorded calls by each route (the strategy that runs
 * them), the calls that would gain most by another route, and the processes and links that delay others. The
 * index `i` of these functions is that of a kind of calls: equal calls, which were made call->times times. A
 * row of the calls compares their measured time with two predictions: by the route that was taken, and by the
 * cheapest (print_kind):
 *     # To change Shape     Size Times Measured Predict    Best Route
 *     alltoall      1x4   16 KiB     3   100 us 46.1 us 37.4 us three_step -> cuda_aware ?
 * Calls that were faster than any prediction refute these. They have no advice, and no arrow. */
#define _GNU_SOURCE /* strcasestr */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "command_line/terminal.h"
#include "more_procs.h"
#include "portolan/printable.h"
#include "portolan/units.h"
#include "replayed.h"
#include "step_table.h"
#include "table.h"

static const char *plural(int64_t count) { return count == 1 ? "" : "s"; }

/* The price of one call of a kind by its cheapest route. */
static double cheapest_s(const pto_replayed_t *replayed, int i) {
    const pto_strategy_t *strategy;
    return pto_step_best(&replayed->step, i, &strategy)->price.seconds;
}

/* The seconds that all calls of a kind would save by their cheapest route; 0 if the route that they took has
 * no price. */
static double saving_of(const pto_replayed_t *replayed, int i) {
    const pto_prediction_t *taken = pto_replayed_taken(replayed, i);
    if (!taken)
        return 0;
    return (double)replayed->trace.call[i].times * (taken->price.seconds - cheapest_s(replayed, i));
}

pto_status_t pto_replayed_check(const pto_replayed_t *replayed, pto_error_t *err) {
    char reasons[512] = "", reason[PTO_RECORDING_REASON_MAX];
    pto_line_t line = {.text = reasons, .size = sizeof reasons};
    if (replayed->trace.count > 0)
        return PTO_OK;
    for (int i = 0; pto_recording_left_out(&replayed->trace.skipped, &i, reason);)
        pto_line_add(&line, "%s%s", *reasons ? "; " : "", reason);
    if (!*reasons && replayed->trace.rank >= 0)
        pto_line_add(&line, "the file has no calls of process %lld", (long long)replayed->trace.rank);
    return pto_error_set_at(err, PTO_ERR_NOT_APPLICABLE, replayed->path, 1, 1, "nothing to replay: %s",
                            *reasons ? reasons : "the file has no calls");
}

/* Returns whether two kinds of calls of the same collective are not priced, for the same reason. */
static bool have_same_reason(const pto_replayed_t *replayed, int i, int j) {
    return !pto_replayed_is_priced(replayed, i) && !pto_replayed_is_priced(replayed, j) &&
           replayed->trace.call[i].collective == replayed->trace.call[j].collective &&
           strcmp(replayed->left_out[i].message, replayed->left_out[j].message) == 0;
}

/* Returns whether this kind of calls is not priced, and is the first one for its reason. */
static bool is_first_of_reason(const pto_replayed_t *replayed, int i) {
    if (pto_replayed_is_priced(replayed, i))
        return false;
    for (int j = 0; j < i; j++)
        if (have_same_reason(replayed, i, j))
            return false;
    return true;
}

/* Prints a note for each collective and reason why calls are not priced: how many calls, and their bytes. */
static void print_left_out(const pto_replayed_t *replayed) {
    for (int i = 0; i < replayed->trace.count; i++) {
        const pto_recording_call_t *call = &replayed->trace.call[i];
        int64_t calls = 0;
        double bytes = 0;
        if (!is_first_of_reason(replayed, i))
            continue;
        for (int j = i; j < replayed->trace.count; j++) {
            const pto_recording_call_t *other = &replayed->trace.call[j];
            if (!have_same_reason(replayed, i, j))
                continue;
            calls += other->times;
            bytes += (double)other->times * (double)other->bytes;
        }
        pto_print_note(stdout, "not priced, and in no total: %lld call%s of %s, %s in all: %s",
                       (long long)calls, plural(calls), pto_collective_name(call->collective),
                       bytes < 9e18 ? PTO_SIZE_TEXT((int64_t)bytes) : "many bytes",
                       pto_replayed_reason(replayed, i));
    }
}

/* Prints what had to be assumed, because the file does not say it. */
static void print_assumed(const pto_replayed_t *replayed) {
    const pto_recording_t *trace = &replayed->trace;
    const int64_t for_host = pto_replayed_for_host(replayed);
    if (trace->listed_nodes > 0 && trace->count > 0 && trace->call[0].nodes != trace->listed_nodes)
        pto_print_note(stdout,
                       "the file lists its processes on %lld node%s, where it was recorded; its calls are "
                       "replayed on %lld",
                       (long long)trace->listed_nodes, plural(trace->listed_nodes),
                       (long long)trace->call[0].nodes);
    if (trace->sizes_assumed > 0)
        pto_print_note(stdout,
                       "%lld call%s: the file does not show (by coll_algobw_gbs) whether a size is that of "
                       "one block, which is assumed, or of all",
                       (long long)trace->sizes_assumed, plural(trace->sizes_assumed));
    if (trace->groups_assumed > 0)
        pto_print_note(stdout,
                       "%lld call%s of symmetric memory: the file does not name the processes, which are "
                       "taken to be all of a node (--gpus-per-node)",
                       (long long)trace->groups_assumed, plural(trace->groups_assumed));
    if (trace->has_wrong)
        pto_print_note(stdout, "%s", pto_recording_wrong);
    if (trace->non_blocking)
        pto_print_note(stdout, "%s", pto_recording_non_blocking);
    if (for_host > 0)
        pto_print_note(stdout, "%lld call%s on GPU buffers %s priced as on host buffers%s",
                       (long long)for_host, plural(for_host), for_host == 1 ? "is" : "are",
                       replayed->replay->options.scenario.memory == PTO_MEMORY_HOST
                           ? ""
                           : ": nodes of this machine have no GPUs");
}

/* Formats "node 1", "the link between processes 2 and 3", "a node or link among nodes 0, 1 and 2". */
static void name_places(const pto_delay_t *delay, char *text, size_t size) {
    const char *one = delay->is_node ? "node" : "process", *many = delay->is_node ? "nodes" : "processes";
    pto_line_t line = {.text = text, .size = size};
    if (delay->cause == PTO_DELAY_SLOW_LINK)
        pto_line_add(&line, "the link between ");
    else if (delay->cause == PTO_DELAY_SLOW_AMONG)
        pto_line_add(&line, "a %s or link among ", one);
    pto_line_add(&line, "%s", delay->place_count == 1 ? one : many);
    for (int i = 0; i < delay->place_count; i++)
        pto_line_add(&line, "%s %lld",
                     i == 0                        ? ""
                     : i + 1 == delay->place_count ? " and"
                                                   : ",",
                     (long long)delay->place[i]);
}

static void print_delay(const pto_delay_t *delay) {
    char places[PTO_DELAY_PLACES_MAX * 24 + 64];
    name_places(delay, places, sizeof places);
    if (delay->cause == PTO_DELAY_LATE)
        pto_print_head(stdout, "late",
                       "%s: %s behind the others (median; noise %s), last in %lld of %lld calls", places,
                       PTO_SECONDS_TEXT(delay->late_s), PTO_SECONDS_TEXT(delay->noise_s),
                       (long long)delay->last, (long long)delay->calls);
    else
        pto_print_head(stdout, "slow",
                       "%s: transfers take %.2f times as long as equal ones elsewhere (%lld calls)", places,
                       delay->ratio, (long long)delay->calls);
}

/* Returns the end of the line on the comparison of processes: that no delay was found, or what could not be
 * determined. */
static const char *verdict(const pto_delays_t *delays) {
    const bool is_named = delays->count > 0;
    if (delays->late_told && delays->slow_told)
        return is_named ? "" : ": none is late, and no node or link slower than others";
    if (delays->late_told)
        return is_named ? "; too few equal calls to tell which node or link is slow"
                        : ": none is late; too few equal calls to tell which node or link is slow";
    if (delays->slow_told)
        return is_named ? "; who is late cannot be told"
                        : ": no node or link is slower than others; too few calls to tell who is late";
    if (2 * delays->rootless > delays->calls)
        return ": who is late or slow cannot be told; the files don't show the roots of these calls";
    if (2 * delays->clockless > delays->calls)
        return ": who is late or slow cannot be told; these calls don't bring the processes' clocks together";
    return ": too few calls to tell who is late or slow";
}

static bool has_measured(const pto_replayed_t *replayed) {
    for (int i = 0; i < replayed->trace.count; i++)
        if (replayed->trace.call[i].measured_s > 0)
            return true;
    return false;
}

/* Prints which processes, nodes or links delay others, if the files have the calls of all processes. */
static void print_delays(const pto_replayed_t *replayed) {
    const pto_delays_t *delays = &replayed->delays;
    pto_transfers_t transfers;
    if (delays->calls == 0) {
        if (replayed->trace.rank >= 0 && delays->missing >= 0)
            pto_print_note(stdout, "the processes are not compared: no call of process %lld is in the files",
                           (long long)delays->missing);
        else if (replayed->trace.rank >= 0 && has_measured(replayed))
            pto_print_note(
                stdout,
                "measured times include waiting for the last process; files of all processes tell it apart");
        return;
    }
    pto_print_head(stdout, "compared", "%lld call%s of %lld processes%s%s", (long long)delays->calls,
                   plural(delays->calls), (long long)delays->procs,
                   delays->is_cut ? ", the first of each" : "", verdict(delays));
    for (int i = 0; i < delays->count; i++)
        print_delay(&delays->delay[i]);
    if (delays->only_durations)
        pto_print_note(stdout, "only durations are known, which may not show who is late; "
                               "NCCL_INSPECTOR_DUMP_VERBOSE=1 records times");
    if (delays->hides_messages && delays->count > 0 && delays->delay->cause == PTO_DELAY_LATE)
        pto_print_note(stdout, "the report has no messages between processes: who waits for one looks late");
    if (!pto_replayed_transfers(replayed, &transfers))
        return;
    pto_print_head(stdout, "transfer",
                   "%s after the last arrival, %.2f of what is predicted; %.0f%% of the time is waiting",
                   PTO_SECONDS_TEXT(transfers.transfer_s), transfers.transfer_s / transfers.predicted_s,
                   100 * fmax(0, 1 - transfers.transfer_s / transfers.measured_s));
}

/* Finds the model in a GPU's name, such as H200 or the A100 of A100-SXM4-80GB: the first word that begins
 * with a letter and has at least two digits before a hyphen. Returns false if there is none. */
static bool find_model(const char *gpu, char model[32]) {
    for (const char *word = gpu + strspn(gpu, " "); *word; word += strspn(word, " ")) {
        size_t length = strcspn(word, " -"), digits = 0; /* up to a hyphen */
        for (size_t i = 0; i < length; i++)
            digits += isdigit((unsigned char)word[i]) != 0;
        if (isalpha((unsigned char)word[0]) && digits >= 2 && length < 32) {
            snprintf(model, 32, "%.*s", (int)length, word);
            return true;
        }
        word += strcspn(word, " ");
    }
    return false;
}

/* Returns whether a machine's name or source mentions the model of a GPU; true if the GPU's name has no
 * model. */
static bool names_gpu(const pto_machine_t *machine, const char *gpu) {
    const char *source = pto_machine_source(machine);
    char model[32];
    return !find_model(gpu, model) || strcasestr(pto_machine_name(machine), model) ||
           (source && strcasestr(source, model));
}

static void print_header(const pto_replayed_t *replayed) {
    const pto_machine_t *machine = replayed->replay->options.machine;
    int64_t calls = 0;
    for (int i = 0; i < replayed->trace.count; i++)
        calls += replayed->trace.call[i].times;
    printf("# portolan replay: ");
    pto_print_escaped(pto_file_name(replayed->path));
    printf(" (%s", pto_recording_format_name(replayed->trace.format));
    if (replayed->trace.rank >= 0)
        printf(", process %lld", (long long)replayed->trace.rank);
    puts(")");
    pto_print_machine(machine);
    pto_print_changes(stdout, machine);
    char reason[PTO_RECORDING_REASON_MAX];
    pto_print_head(stdout, "layout", "%s", PTO_NODE_TEXT(&replayed->replay->layout));
    if (replayed->trace.gpu[0])
        pto_print_head(stdout, "recorded", "on %s%s", replayed->trace.gpu,
                       names_gpu(machine, replayed->trace.gpu)
                           ? ""
                           : ", which neither the name nor the source of this machine mentions");
    printf("# calls      %lld of %d kind%s\n", (long long)calls, replayed->trace.count,
           plural(replayed->trace.count));
    for (int i = 0; pto_recording_left_out(&replayed->trace.skipped, &i, reason);)
        pto_print_note(stdout, "not replayed: %s", reason);
    print_assumed(replayed);
    print_left_out(replayed);
    print_delays(replayed);
}

static void print_total(const char *name, double seconds, double least_s) {
    printf("%-16s  %9s  %6.2f\n", name, PTO_SECONDS_TEXT(seconds), seconds / least_s);
}

/* Prints a route's total, and with --ci its interval: "-" unless the prices of all its calls have one. */
static void print_route_total(const pto_replayed_t *replayed, const pto_step_route_t *route) {
    char text[PTO_INTERVAL_TEXT_MAX] = "-";
    print_total(route->strategy ? route->strategy->name : "the cheapest", route->communication_s,
                replayed->step.mix.communication_s);
    if (!replayed->replay->options.ci)
        return;
    if (route->has_interval)
        pto_interval_text(PTO_SECONDS_TEXT(route->low.communication_s),
                          PTO_SECONDS_TEXT(route->high.communication_s), text);
    printf("%-11s  %14s\n", "#   95%", text);
}

/* Prints the times of all calls together: measured, by the routes that were taken, by the cheapest route of
 * each kind (step.mix), and by each strategy for all of them. */
static void print_totals(pto_replayed_t *replayed) {
    const double least_s = replayed->step.mix.communication_s;
    double measured_s = 0, taken_s = 0;
    bool all_measured = true, all_taken = true;
    for (int i = 0; i < replayed->trace.count; i++) {
        if (!pto_replayed_is_priced(replayed, i))
            continue;
        all_measured = all_measured && replayed->trace.call[i].measured_s > 0;
        measured_s += replayed->trace.call[i].measured_s;
        const pto_prediction_t *taken = pto_replayed_taken(replayed, i);
        if (taken)
            taken_s += (double)replayed->trace.call[i].times * taken->price.seconds;
        else
            all_taken = false;
    }
    printf("# All calls by         Time   Ratio\n");
    if (all_measured)
        print_total("measured", measured_s, least_s);
    if (all_taken)
        print_total("their own routes", taken_s, least_s);
    print_route_total(replayed, &replayed->step.mix);
    qsort(replayed->step.route, (size_t)replayed->step.route_count, sizeof *replayed->step.route,
          pto_step_by_time);
    for (int r = 0; r < replayed->step.route_count; r++)
        if (replayed->step.route[r].applicable)
            print_route_total(replayed, &replayed->step.route[r]);
}

/* Returns the route that all calls took; "": they took different ones. */
static const char *find_only_route(const pto_replayed_t *replayed) {
    for (int i = 1; i < replayed->trace.count; i++)
        if (strcmp(replayed->trace.call[i].route, replayed->trace.call[0].route) != 0)
            return "";
    return replayed->trace.count > 0 ? replayed->trace.call[0].route : "";
}

/* Prints "mpi -> gas_split ?": the route that was taken, and the cheapest one (`marked`: with its marks). If
 * they are the same, prints it once. Without `names_taken`, the route that was taken is left out. If the text
 * is wider than `width`, that route follows on a line of its own. */
static void print_route(const char *taken, const char *cheapest, const char *marked, bool names_taken,
                        int width) {
    bool differs = strcmp(taken, cheapest) != 0;
    if (differs && names_taken && (int)(strlen(taken) + strlen(" -> ") + strlen(marked)) > width)
        printf("-> %s\n#   it took %s\n", marked, taken);
    else if (differs)
        printf("%s%s-> %s\n", names_taken ? taken : "", names_taken ? " " : "", marked);
    else
        printf("%s\n", marked);
}

enum { NAME_LEAST = 11, NAME_MAX = 40 };

/* "allreduce", or "pair off_node". */
static const char *kind_name(const pto_recording_call_t *call, char name[NAME_MAX]) {
    snprintf(name, NAME_MAX, "%s%s%s", pto_collective_name(call->collective),
             *pto_replayed_distance(call) ? " " : "", pto_replayed_distance(call));
    return name;
}

static int name_width(const pto_replayed_t *replayed) {
    int width = NAME_LEAST;
    char name[NAME_MAX];
    for (int i = 0; i < replayed->trace.count; i++)
        width = pto_wider(width, kind_name(&replayed->trace.call[i], name));
    return width;
}

static pto_moved_t moved_by(const pto_recording_call_t *call) {
    return (pto_moved_t){call->collective, call->nodes * call->gpus_per_node, call->bytes, call->messages};
}

/* Formats the time of one of these calls or, with --bandwidth, its bandwidth. */
static void cost_text(const pto_replayed_t *replayed, const pto_recording_call_t *call, double seconds,
                      char text[PTO_SECONDS_TEXT_MAX]) {
    const pto_moved_t moved = moved_by(call);
    pto_bandwidth_or_time(replayed->replay->options.bandwidth, &moved, seconds, text);
}

/* Formats the columns of both bandwidths: as measured or, without a measured time, as predicted by the route
 * that was taken. */
static const char *bandwidth_text(const pto_replayed_t *replayed, int i,
                                  char text[PTO_BANDWIDTH_COLUMNS_MAX]) {
    const pto_recording_call_t *call = &replayed->trace.call[i];
    const pto_prediction_t *taken = pto_replayed_taken(replayed, i);
    const pto_moved_t moved = moved_by(call);
    const double seconds = call->measured_s > 0 ? call->measured_s / (double)call->times
                           : taken              ? taken->price.seconds
                                                : 0;
    return pto_bandwidth_columns(replayed->replay->options.bandwidth, &moved, seconds, text);
}

/* Formats the cost by the route that was taken, followed by "*" if it is extrapolated, else by a blank. */
static const char *taken_text(const pto_replayed_t *replayed, int i, char text[PTO_SECONDS_TEXT_MAX + 1]) {
    const pto_prediction_t *prediction = pto_replayed_taken(replayed, i);
    char seconds[PTO_SECONDS_TEXT_MAX];
    if (!prediction)
        return "- ";
    cost_text(replayed, &replayed->trace.call[i], prediction->price.seconds, seconds);
    snprintf(text, PTO_SECONDS_TEXT_MAX + 1, "%s%s", seconds,
             prediction->price.extrapolated.gpus > 0 ? "*" : " ");
    return text;
}

/* Returns by how many characters columns of costs are wider if they show bandwidths, such as "99.9 GB/s". */
static int extra_width(const pto_replayed_t *replayed) {
    return pto_bandwidth_replaces_times(replayed->replay->options.bandwidth) ? 2 : 0;
}

/* Beside both bandwidths, one blank less precedes the measured times. */
static int measured_width(const pto_replayed_t *replayed) {
    return 8 + extra_width(replayed) - (replayed->replay->options.bandwidth == PTO_BANDWIDTH_BOTH);
}

/* Beside both bandwidths, only a wide terminal has room for the predictions by the route that was taken. */
static bool shows_taken(const pto_replayed_t *replayed) {
    enum { WIDE = 92 };
    return replayed->replay->options.bandwidth != PTO_BANDWIDTH_BOTH || pto_terminal_width(stdout) >= WIDE;
}

/* Prints the row of a kind of calls. `only_route` is the route of all kinds, or ""; `width` that of names. */
static void print_kind(const pto_replayed_t *replayed, const char *only_route, int width, int i) {
    const pto_recording_call_t *call = &replayed->trace.call[i];
    char name[NAME_MAX], shape[48], route[64];
    char measured[PTO_SECONDS_TEXT_MAX] = "-", taken[PTO_SECONDS_TEXT_MAX + 1];
    char cheapest[PTO_SECONDS_TEXT_MAX], bandwidths[PTO_BANDWIDTH_COLUMNS_MAX];
    const pto_strategy_t *strategy;
    const pto_prediction_t *best = pto_step_best(&replayed->step, i, &strategy);
    snprintf(shape, sizeof shape, "%lldx%lld", (long long)call->nodes, (long long)call->gpus_per_node);
    if (call->measured_s > 0)
        cost_text(replayed, call, call->measured_s / (double)call->times, measured);
    cost_text(replayed, call, best->price.seconds, cheapest);
    const int extra = extra_width(replayed);
    int used = printf("%-*s %5s %8s %5lld %*s%s ", width, kind_name(call, name), shape,
                      PTO_SIZE_TEXT(call->bytes), (long long)call->times, measured_width(replayed), measured,
                      bandwidth_text(replayed, i, bandwidths));
    if (shows_taken(replayed))
        used += printf("%*s", 8 + extra, taken_text(replayed, i, taken));
    used += printf("%*s ", 7 + extra, cheapest);
    const bool is_refuted = pto_replayed_is_refuted(replayed, i);
    char route_taken[PTO_ESCAPED_MAX * PTO_RECORDING_ROUTE_MAX];
    pto_escape_text(call->route, route_taken, sizeof route_taken);
    snprintf(route, sizeof route, "%s%s%s", strategy->name, best->price.extrapolated.gpus > 0 ? " *" : "",
             pto_step_unsure(&replayed->step, i) ? " ?" : "");
    if (is_refuted)
        puts(route_taken);
    else
        print_route(route_taken, strategy->name, route, !*only_route, pto_terminal_width(stdout) - used);
}

/* Returns whether a predicted time in the line of this kind is extrapolated. */
static bool is_extrapolated(const pto_replayed_t *replayed, int i) {
    const pto_prediction_t *taken = pto_replayed_taken(replayed, i);
    const pto_strategy_t *strategy;
    return (taken && taken->price.extrapolated.gpus > 0) ||
           pto_step_best(&replayed->step, i, &strategy)->price.extrapolated.gpus > 0;
}

/* A kind of calls, and the seconds by which it is ranked. */
typedef struct {
    int kind;
    double weight_s;
} ranked_t;

static int by_weight(const void *a, const void *b) {
    const ranked_t *one = a, *other = b;
    if (one->weight_s > other->weight_s || one->weight_s < other->weight_s)
        return one->weight_s > other->weight_s ? -1 : 1;
    return one->kind < other->kind ? -1 : 1;
}

/* Ranks the priced kinds of calls by possible saving, or by time, and leaves out those for which this is 0.
 * Returns their number. */
static int rank_kinds(const pto_replayed_t *replayed, bool by_saving, ranked_t *ranked) {
    int count = 0;
    for (int i = 0; i < replayed->trace.count; i++) {
        if (!pto_replayed_is_priced(replayed, i))
            continue;
        double times = (double)replayed->trace.call[i].times;
        double weight_s = by_saving ? saving_of(replayed, i) : times * cheapest_s(replayed, i);
        if (weight_s > 0)
            ranked[count++] = (ranked_t){i, weight_s};
    }
    qsort(ranked, (size_t)count, sizeof *ranked, by_weight);
    return count;
}

/* Returns how many of the priced calls took a route that is not priced itself; sets `*all` if all did. */
static int64_t unpriced_calls(const pto_replayed_t *replayed, bool *all) {
    int64_t calls = 0;
    *all = true;
    for (int i = 0; i < replayed->trace.count; i++) {
        bool taken_priced = pto_replayed_taken(replayed, i) != NULL;
        if (!pto_replayed_is_priced(replayed, i))
            continue;
        calls += taken_priced ? 0 : replayed->trace.call[i].times;
        *all = *all && !taken_priced;
    }
    return calls;
}

/* Prints how many calls were faster than every prediction, so that there is no advice for them. */
static void print_refuted(const pto_replayed_t *replayed) {
    int64_t faster = 0, unpriced = 0;
    for (int i = 0; i < replayed->trace.count; i++)
        if (pto_replayed_is_refuted(replayed, i)) {
            faster += replayed->trace.call[i].times;
            unpriced += pto_replayed_taken(replayed, i) ? 0 : replayed->trace.call[i].times;
        }
    if (faster > 0)
        pto_print_note(stdout, "no advice for %lld call%s: measured faster than any predicted route%s",
                       (long long)faster, plural(faster),
                       unpriced == faster ? ", and their own route has no price on this machine" : "");
}

static void print_kinds_head(const pto_replayed_t *replayed, bool by_saving, int width) {
    char bandwidths[PTO_BANDWIDTH_COLUMNS_MAX];
    const int extra = extra_width(replayed);
    pto_print_bandwidth_head(replayed->replay->options.bandwidth, "measured or priced");
    printf("# %-*s %5s %8s %5s %*s%s ", width - 2, by_saving ? "To change" : "Most time", "Shape", "Size",
           "Times", measured_width(replayed), "Measured",
           pto_bandwidth_heading(replayed->replay->options.bandwidth, bandwidths));
    if (shows_taken(replayed))
        printf("%*s ", 7 + extra, "Predict");
    printf("%*s Route\n", 7 + extra, "Best");
}

/* Prints the kinds of calls that can save the most, up to --top of them; if no route that was taken is
 * priced, those that take the most time. `ranked` has room for all kinds. */
static void print_kinds(const pto_replayed_t *replayed, ranked_t *ranked) {
    bool none_priced;
    const char *only_route = find_only_route(replayed);
    const int width = name_width(replayed);
    int64_t unpriced = unpriced_calls(replayed, &none_priced);
    if (unpriced > 0)
        pto_print_note(stdout, "%lld call%s took a route that is not priced on this machine",
                       (long long)unpriced, plural(unpriced));
    int count = rank_kinds(replayed, !none_priced, ranked);
    if (count > 0 && *only_route)
        pto_print_note(stdout, "all calls took %s; -> what is cheaper", only_route);
    if (count > 0)
        print_kinds_head(replayed, !none_priced, width);
    pto_marks_t marks = {false, false};
    for (int i = 0; i < count && i < replayed->replay->top; i++) {
        int kind = ranked[i].kind;
        print_kind(replayed, only_route, width, kind);
        marks.extrapolated = marks.extrapolated || is_extrapolated(replayed, kind);
        marks.unsure = marks.unsure ||
                       (!pto_replayed_is_refuted(replayed, kind) && pto_step_unsure(&replayed->step, kind));
    }
    pto_print_marks(marks);
    print_refuted(replayed);
}

pto_status_t pto_print_replayed(pto_replayed_t *replayed, pto_error_t *err) {
    ranked_t *ranked = calloc((size_t)replayed->trace.count + 1, sizeof *ranked);
    if (!ranked)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a table of calls");
    print_header(replayed);
    print_totals(replayed);
    print_kinds(replayed, ranked);
    free(ranked);
    pto_caveats_t caveats = {.count = 0};
    pto_step_caveats_add_all(&replayed->step, &caveats);
    pto_print_caveats(&caveats);
    char hint[PTO_MORE_PROCS_TEXT_MAX];
    if (pto_step_more_procs_text(&replayed->step, false, hint))
        pto_print_note(stdout, "%s", hint);
    return PTO_OK;
}
