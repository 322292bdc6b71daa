/* portolan replay: what the collectives that a program or benchmark made would take by other routes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "option_apply.h"
#include "portolan/progress.h"
#include "portolan/recording.h"
#include "portolan/step.h"
#include "step_table.h"
#include "table.h"
#include "terminal.h"

static const char usage[] =
    "usage: portolan replay FILE --machine NAME [OPTIONS]\n"
    "\n"
    "Predicts the calls of a recorded program or benchmark by other routes: the total by each strategy and\n"
    "by the cheapest mix, and the calls that would gain most. Measured times, where the file has them, are\n"
    "printed next to the predicted ones. These files are read, compressed by gzip or not:\n"
    "\n"
    "  calls           calls.csv of libportolan-profile.so, PORTOLAN_REPORT of libportolan-mpi.so\n"
    "  osu             what OSU's benchmarks of collectives print (with --nodes)\n"
    "  nccl-tests      what nccl-tests print\n"
    "  kineto          JSON of PyTorch's profiler (export_chrome_trace)\n"
    "  nccl-inspector  JSON lines of NCCL's inspector plugin\n"
    "  chakra          execution traces in protobuf (.et); chakra-json: in JSON\n"
    "  pytorch-et      JSON of PyTorch's ExecutionTraceObserver\n"
    "  liballprof      traces of MPI programs by liballprof\n"
    "  goal            schedules of messages in LogGOPSim's text form\n"
    "\n"
    "  portolan replay calls.csv --machine summit-spectrum-refit\n"
    "  portolan replay osu_allreduce.txt --machine h200-x2 --nodes 1 --gpus-per-node 2\n"
    "  portolan replay trace.json.gz --machine dgx-h100\n"
    "\n"
    "The calls of one process are replayed. Processes are placed node by node, one for each GPU. If the "
    "file\n"
    "shows all processes of a communicator, its shape is known from them; otherwise its processes are taken\n"
    "to follow each other. Calls of MPI are priced as cuda_aware, and messages as `pair`, one after "
    "another.\n"
    "Calls that the machine cannot price are in no total, and are listed with their number and the reason.\n"
    "\n"
    "csv: one row per kind of call, "
    "`collective,bytes,nodes,gpus_per_node,times,route,measured_s,predicted_s,\n"
    "cheapest,cheapest_s,distance`. Times are those of one call; measured_s is empty if it is unknown,\n"
    "predicted_s if the route does not apply, cheapest if the call cannot be priced, and distance for all "
    "but\n"
    "a pair.\n";

/* The options shared with other commands apply to the first member. */
typedef struct {
    pto_options_t options;
    pto_recording_options_t trace;
    bool in_host; /* the data of all calls are in host memory */
    int64_t top;
    int64_t read; /* thousandths of the file */
} replay_t;

static const char *collective_at(int i) {
    return i < PTO_COLLECTIVE_COUNT ? pto_collective_name((pto_collective_t)i) : NULL;
}

static const char *format_at(int i) {
    return i + 1 < PTO_RECORDING_COUNT ? pto_recording_format_word((pto_recording_format_t)(i + 1)) : NULL;
}

static pto_status_t apply_from(void *target, const char *text, pto_error_t *err) {
    int found = 0;
    pto_status_t status = pto_word_parse(text, "format", format_at, &found, err);
    ((replay_t *)target)->trace.format = (pto_recording_format_t)(found + 1);
    return status;
}

#define STORE(form, member) PTO_STORE(form, replay_t, member)

static const pto_option_t replay_options[] = {
    {"from", "FORMAT", "the file's format (default: as its content tells)", .apply = apply_from,
     .word_at = format_at},
    {"rank", "R",
     "calls and goal: the process whose calls are replayed (default: the first in the file); chakra and "
     "kineto: that of the file",
     .apply = pto_option_apply_rank},
    {"nodes", "N", "benchmarks, chakra and pytorch-et: nodes that took part", STORE(COUNT, trace.nodes)},
    {"gpus-per-node", "N", "processes on each node, one for each GPU (default: all of the machine's GPUs)",
     STORE(COUNT, trace.gpus_per_node)},
    {"collective", "NAME", "nccl-tests that do not print it: the collective", STORE(WORD, trace.collective),
     .word_at = collective_at},
    {"as-gpu", NULL, "take calls on host buffers for calls on GPU buffers", STORE(FLAG, trace.as_gpu)},
    {"memory", "gpu|host", "host: all calls are on host buffers (default: host if the machine has no GPUs)",
     STORE(WORD, options.scenario.memory), .word_at = pto_option_memory_at},
    {"progress", NULL, "show progress even if standard error is not a terminal",
     .apply = pto_option_apply_progress},
    {"top", "N", "kinds of calls in the table", STORE(COUNT, top), .standard = "10"},
    {.name = NULL}};

static const pto_option_set_t option_sets[] = {{"options", pto_format_options},
                                               {NULL, pto_machine_options},
                                               {NULL, replay_options},
                                               {NULL, pto_change_options},
                                               {NULL, NULL}};

static const pto_syntax_t syntax = {
    .program = "portolan replay", .usage = usage, .set = option_sets, .operand = "FILE"};

/* --- what is replayed ----------------------------------------------------------------------------------- */

typedef struct {
    const replay_t *replay;
    const char *path;
    pto_recording_t trace;
    pto_step_prediction_t step;
    pto_error_t *left_out; /* of each call; a status other than PTO_OK: not priced */
} replayed_t;

static bool is_priced(const replayed_t *replayed, int i) { return replayed->left_out[i].status == PTO_OK; }

/* Why a call is not priced, without its name, which the error may begin with. */
static const char *reason_of(const replayed_t *replayed, int i) {
    const char *reason = replayed->left_out[i].message;
    const char *name = pto_collective_name(replayed->trace.call[i].collective);
    size_t length = strlen(name);
    return strncmp(reason, name, length) == 0 && reason[length] == ':' ? reason + length + 2 : reason;
}

/* A call's seconds by the route that it took; false: no strategy of this name applies. */
static bool taken_seconds(const replayed_t *replayed, int i, double *seconds) {
    const char *route = replayed->trace.call[i].route;
    const pto_strategy_t *strategy;
    bool on_gpus = strcmp(route, "mpi") == 0 && !replayed->replay->in_host;
    return is_priced(replayed, i) &&
           pto_strategy_find(on_gpus ? "cuda_aware" : route, &strategy, NULL) == PTO_OK &&
           pto_step_call_seconds(&replayed->step, i, strategy, seconds);
}

/* Of a call that is priced. */
static double cheapest_seconds(const replayed_t *replayed, int i) {
    const pto_strategy_t *strategy;
    return pto_step_best(&replayed->step, i, &strategy)->price.seconds;
}

static const char *cheapest_name(const replayed_t *replayed, int i) {
    const pto_strategy_t *strategy;
    pto_step_best(&replayed->step, i, &strategy);
    return strategy->name;
}

/* What all calls of a kind would save. */
static double saving_of(const replayed_t *replayed, int i) {
    double taken_s;
    if (!taken_seconds(replayed, i, &taken_s))
        return 0;
    return (double)replayed->trace.call[i].times * (taken_s - cheapest_seconds(replayed, i));
}

/* Calls that were on GPU buffers and are priced as if they were not. */
static int64_t taken_for_host(const replayed_t *replayed) {
    return replayed->replay->in_host ? replayed->trace.on_gpu : 0;
}

/* --- csv and json --------------------------------------------------------------------------------------- */

static const char *distance_text(const pto_recording_call_t *call) {
    return call->collective == PTO_COLLECTIVE_PAIR ? pto_level_name(call->distance) : "";
}

static void print_csv(const replayed_t *replayed) {
    printf("collective,bytes,nodes,gpus_per_node,times,route,measured_s,predicted_s,cheapest,cheapest_s,"
           "distance,model,what_if\n");
    for (int i = 0; i < replayed->trace.count; i++) {
        const pto_recording_call_t *call = &replayed->trace.call[i];
        double taken_s;
        printf("%s,%lld,%lld,%lld,%lld,%s,", pto_collective_name(call->collective), (long long)call->bytes,
               (long long)call->nodes, (long long)call->gpus_per_node, (long long)call->times, call->route);
        if (call->measured_s > 0)
            printf("%.9g", call->measured_s / (double)call->times);
        putchar(',');
        if (taken_seconds(replayed, i, &taken_s))
            printf("%.9g", taken_s);
        if (is_priced(replayed, i))
            printf(",%s,%.9g,%s,", cheapest_name(replayed, i), cheapest_seconds(replayed, i),
                   distance_text(call));
        else
            printf(",,,%s,", distance_text(call));
        pto_print_csv_changes(stdout, replayed->replay->options.machine);
        putchar('\n');
    }
}

static void print_json(const replayed_t *replayed) {
    pto_print_json_start(stdout, replayed->replay->options.machine);
    printf(", \"format\": \"%s\", \"calls\": [", pto_recording_format_name(replayed->trace.format));
    for (int i = 0; i < replayed->trace.count; i++) {
        const pto_recording_call_t *call = &replayed->trace.call[i];
        double taken_s;
        printf("%s\n  {\"collective\": \"%s\", \"bytes\": %lld, \"nodes\": %lld, \"gpus_per_node\": %lld, "
               "\"times\": %lld, \"route\": ",
               i ? "," : "", pto_collective_name(call->collective), (long long)call->bytes,
               (long long)call->nodes, (long long)call->gpus_per_node, (long long)call->times);
        pto_print_json_string(stdout, call->route);
        if (call->collective == PTO_COLLECTIVE_PAIR)
            printf(", \"distance\": \"%s\"", distance_text(call));
        if (call->measured_s > 0)
            printf(", \"measured_s\": %.9g", call->measured_s / (double)call->times);
        if (taken_seconds(replayed, i, &taken_s))
            printf(", \"predicted_s\": %.9g", taken_s);
        if (is_priced(replayed, i)) {
            printf(", \"cheapest\": \"%s\", \"cheapest_s\": %.9g}", cheapest_name(replayed, i),
                   cheapest_seconds(replayed, i));
            continue;
        }
        printf(", \"not_priced\": ");
        pto_print_json_string(stdout, reason_of(replayed, i));
        printf("}");
    }
    printf("\n], \"groups_assumed\": %lld, \"taken_for_host\": %lld, \"totals\": [\n  {\"strategy\": "
           "\"cheapest\", \"seconds\": %.9g}",
           (long long)replayed->trace.groups_assumed, (long long)taken_for_host(replayed),
           replayed->step.mix.communication_s);
    for (int r = 0; r < replayed->step.route_count; r++)
        if (replayed->step.route[r].applicable)
            printf(",\n  {\"strategy\": \"%s\", \"seconds\": %.9g}", replayed->step.route[r].strategy->name,
                   replayed->step.route[r].communication_s);
    printf("\n]}\n");
}

/* --- for people ----------------------------------------------------------------------------------------- */

static void print_skipped(const pto_recording_skipped_t *skipped) {
    const struct {
        int64_t count;
        const char *what;
    } kind[] = {{skipped->others, "of no collective that portolan has"},
                {skipped->on_host, "on host buffers (--memory host prices them; --as-gpu as if on GPUs)"},
                {skipped->sizeless, "without bytes, or of a single process"},
                {skipped->uneven, "on communicators with different numbers of processes on their nodes"}};
    for (size_t i = 0; i < sizeof kind / sizeof *kind; i++)
        if (kind[i].count > 0)
            pto_print_note(stdout, "not replayed: %lld calls %s", (long long)kind[i].count, kind[i].what);
}

/* Whether a call is the first one that is left out for its reason. */
static bool is_first_of_reason(const replayed_t *replayed, int i) {
    bool first = !is_priced(replayed, i);
    for (int j = 0; j < i && first; j++)
        first = is_priced(replayed, j) ||
                strcmp(replayed->left_out[i].message, replayed->left_out[j].message) != 0 ||
                replayed->trace.call[i].collective != replayed->trace.call[j].collective;
    return first;
}

/* The calls that are not priced, by collective and reason: how many, their bytes, and why. */
static void print_left_out(const replayed_t *replayed) {
    for (int i = 0; i < replayed->trace.count; i++) {
        const pto_recording_call_t *call = &replayed->trace.call[i];
        int64_t calls = 0;
        double bytes = 0;
        char size[PTO_BYTES_TEXT_MAX];
        if (!is_first_of_reason(replayed, i))
            continue;
        for (int j = i; j < replayed->trace.count; j++) {
            const pto_recording_call_t *other = &replayed->trace.call[j];
            if (is_priced(replayed, j) || other->collective != call->collective ||
                strcmp(replayed->left_out[i].message, replayed->left_out[j].message) != 0)
                continue;
            calls += other->times;
            bytes += (double)other->times * (double)other->bytes;
        }
        pto_print_note(stdout, "not priced, and in no total: %lld call%s of %s, %s in all: %s",
                       (long long)calls, calls == 1 ? "" : "s", pto_collective_name(call->collective),
                       bytes < 9e18 ? pto_size_text((int64_t)bytes, size) : "many bytes",
                       reason_of(replayed, i));
    }
}

static void print_header(const replayed_t *replayed) {
    const pto_machine_t *machine = replayed->replay->options.machine;
    int64_t calls = 0;
    for (int i = 0; i < replayed->trace.count; i++)
        calls += replayed->trace.call[i].times;
    printf("# portolan replay: %s (%s", pto_file_name(replayed->path),
           pto_recording_format_name(replayed->trace.format));
    if (replayed->trace.rank >= 0)
        printf(", process %lld", (long long)replayed->trace.rank);
    puts(")");
    pto_print_machine(stdout, machine);
    pto_print_changes(stdout, machine);
    printf("# calls      %lld of %d kinds\n", (long long)calls, replayed->trace.count);
    print_skipped(&replayed->trace.skipped);
    if (replayed->trace.sizes_assumed > 0)
        pto_print_note(
            stdout,
            "%lld calls of the file do not show (by coll_algobw_gbs) whether their size is that of "
            "one block, which is assumed, or of all",
            (long long)replayed->trace.sizes_assumed);
    if (replayed->trace.groups_assumed > 0)
        pto_print_note(stdout,
                       "%lld calls of symmetric memory: the file does not name their processes, which are "
                       "taken to be all of a node (--gpus-per-node)",
                       (long long)replayed->trace.groups_assumed);
    if (taken_for_host(replayed) > 0)
        pto_print_note(stdout, "%lld calls on GPU buffers are priced as on host buffers%s",
                       (long long)replayed->trace.on_gpu,
                       replayed->replay->options.scenario.memory == PTO_MEMORY_HOST
                           ? ""
                           : ": nodes of this machine have no GPUs");
    print_left_out(replayed);
}

static void print_total(const char *name, double seconds, double cheapest_s) {
    char text[PTO_SECONDS_TEXT_MAX];
    pto_seconds_format(seconds, text, sizeof text);
    printf("%-16s  %9s  %6.2f\n", name, text, seconds / cheapest_s);
}

static void print_totals(replayed_t *replayed) {
    const double cheapest_s = replayed->step.mix.communication_s;
    double measured_s = 0, taken_s = 0, seconds;
    bool all_measured = true, all_taken = true;
    for (int i = 0; i < replayed->trace.count; i++) {
        if (!is_priced(replayed, i))
            continue;
        all_measured = all_measured && replayed->trace.call[i].measured_s > 0;
        measured_s += replayed->trace.call[i].measured_s;
        if (taken_seconds(replayed, i, &seconds))
            taken_s += (double)replayed->trace.call[i].times * seconds;
        else
            all_taken = false;
    }
    printf("# All calls by         Time   Ratio\n");
    if (all_measured)
        print_total("measured", measured_s, cheapest_s);
    if (all_taken)
        print_total("their own routes", taken_s, cheapest_s);
    print_total("the cheapest", cheapest_s, cheapest_s);
    qsort(replayed->step.route, (size_t)replayed->step.route_count, sizeof *replayed->step.route,
          pto_step_by_time);
    for (int r = 0; r < replayed->step.route_count; r++)
        if (replayed->step.route[r].applicable)
            print_total(replayed->step.route[r].strategy->name, replayed->step.route[r].communication_s,
                        cheapest_s);
}

/* The route that all calls took; "": they differ. */
static const char *find_only_route(const replayed_t *replayed) {
    for (int i = 1; i < replayed->trace.count; i++)
        if (strcmp(replayed->trace.call[i].route, replayed->trace.call[0].route) != 0)
            return "";
    return replayed->trace.count > 0 ? replayed->trace.call[0].route : "";
}

/* "mpi -> gas_split", or what was taken in a line below where that is too wide. */
static void print_route(const char *taken, const char *cheapest, bool names_taken, int width) {
    bool differs = strcmp(taken, cheapest) != 0;
    if (differs && names_taken && (int)(strlen(taken) + strlen(" -> ") + strlen(cheapest)) > width)
        printf("-> %s\n#   it took %s\n", cheapest, taken);
    else if (differs)
        printf("%s%s-> %s\n", names_taken ? taken : "", names_taken ? " " : "", cheapest);
    else
        printf("%s\n", cheapest);
}

enum { NAME_LEAST = 11, NAME_MAX = 40 };

static const char *kind_name(const pto_recording_call_t *call, char name[NAME_MAX]) {
    snprintf(name, NAME_MAX, "%s%s%s", pto_collective_name(call->collective), *distance_text(call) ? " " : "",
             distance_text(call));
    return name;
}

static int name_width(const replayed_t *replayed) {
    int width = NAME_LEAST;
    char name[NAME_MAX];
    for (int i = 0; i < replayed->trace.count; i++)
        if ((int)strlen(kind_name(&replayed->trace.call[i], name)) > width)
            width = (int)strlen(name);
    return width;
}

static void print_kind(const replayed_t *replayed, const char *only_route, int width, int i) {
    const pto_recording_call_t *call = &replayed->trace.call[i];
    char name[NAME_MAX], shape[48], size[PTO_BYTES_TEXT_MAX], cheapest[PTO_SECONDS_TEXT_MAX];
    char measured[PTO_SECONDS_TEXT_MAX] = "-", taken[PTO_SECONDS_TEXT_MAX] = "-";
    double taken_s;
    snprintf(shape, sizeof shape, "%lldx%lld", (long long)call->nodes, (long long)call->gpus_per_node);
    if (call->measured_s > 0)
        pto_seconds_format(call->measured_s / (double)call->times, measured, sizeof measured);
    if (taken_seconds(replayed, i, &taken_s))
        pto_seconds_format(taken_s, taken, sizeof taken);
    pto_seconds_format(cheapest_seconds(replayed, i), cheapest, sizeof cheapest);
    int used = printf("%-*s %5s %8s %5lld %8s %7s %7s ", width, kind_name(call, name), shape,
                      pto_size_text(call->bytes, size), (long long)call->times, measured, taken, cheapest);
    print_route(call->route, cheapest_name(replayed, i), !*only_route, pto_terminal_width(stdout) - used);
}

/* What orders the kinds: what they would save, or, if no route that was taken is priced, what they take. */
static double weight_of(const replayed_t *replayed, int i, bool by_saving) {
    if (!is_priced(replayed, i))
        return 0;
    return by_saving ? saving_of(replayed, i)
                     : (double)replayed->trace.call[i].times * cheapest_seconds(replayed, i);
}

/* The kind of the largest weight below `below`, or of that weight and later; -1: none. */
static int next_kind(const replayed_t *replayed, bool by_saving, double below, int after) {
    int best = -1;
    for (int i = 0; i < replayed->trace.count; i++) {
        double weight = weight_of(replayed, i, by_saving);
        bool comes_later = weight < below || (i > after && !(weight > below));
        if (comes_later && weight > 0 && (best < 0 || weight > weight_of(replayed, best, by_saving)))
            best = i;
    }
    return best;
}

/* Calls by routes that are not priced. */
static int64_t unpriced_calls(const replayed_t *replayed, bool *all) {
    int64_t calls = 0;
    double seconds;
    *all = true;
    for (int i = 0; i < replayed->trace.count; i++) {
        bool priced = taken_seconds(replayed, i, &seconds);
        if (!is_priced(replayed, i))
            continue;
        calls += priced ? 0 : replayed->trace.call[i].times;
        *all = *all && !priced;
    }
    return calls;
}

static void print_kinds(const replayed_t *replayed) {
    double below = HUGE_VAL;
    bool none_priced;
    const char *only_route = find_only_route(replayed);
    const int width = name_width(replayed);
    int64_t unpriced = unpriced_calls(replayed, &none_priced);
    if (unpriced > 0)
        pto_print_note(stdout, "%lld calls took a route that is not priced on this machine",
                       (long long)unpriced);
    int kind = next_kind(replayed, !none_priced, below, -1);
    if (kind >= 0 && *only_route)
        pto_print_note(stdout, "all calls took %s; -> what is cheaper", only_route);
    if (kind >= 0)
        printf("# %-*s %5s %8s %5s %8s %7s %7s Route\n", width - 2, none_priced ? "Most time" : "To change",
               "Shape", "Size", "Times", "Measured", "Predict", "Best");
    for (int64_t shown = 0; kind >= 0 && shown < replayed->replay->top; shown++) {
        print_kind(replayed, only_route, width, kind);
        below = weight_of(replayed, kind, !none_priced);
        kind = next_kind(replayed, !none_priced, below, kind);
    }
}

static void print_table(replayed_t *replayed) {
    print_header(replayed);
    if (replayed->trace.count == 0) {
        pto_print_note(stdout, "nothing to replay");
        return;
    }
    print_totals(replayed);
    print_kinds(replayed);
}

/* --- the command ---------------------------------------------------------------------------------------- */

/* Where processes are, as far as the options do not say. */
static pto_status_t complete_places(replay_t *replay, pto_error_t *err) {
    const pto_data_memory_t memory = replay->options.scenario.memory;
    double gpus, sockets, cores;
    pto_status_t status = pto_machine_get(replay->options.machine, "node.gpus", &gpus, err);
    if (status == PTO_OK)
        status = pto_machine_get(replay->options.machine, "node.sockets", &sockets, err);
    if (status == PTO_OK)
        status = pto_machine_get(replay->options.machine, "node.cores", &cores, err);
    if (status != PTO_OK)
        return status;
    replay->options.by_option = memory == PTO_MEMORY_GPU && gpus < 1;
    if (replay->options.by_option)
        return pto_error_set(err, PTO_ERR_RANGE, "--memory gpu: nodes of %s have no GPUs",
                             pto_machine_name(replay->options.machine));
    replay->in_host = memory == PTO_MEMORY_HOST || gpus < 1;
    replay->trace.as_gpu = replay->trace.as_gpu || replay->in_host;
    int64_t places = (int64_t)(replay->in_host ? cores : gpus);
    if (replay->trace.gpus_per_node > places)
        return pto_error_set(err, PTO_ERR_RANGE,
                             "--gpus-per-node %lld is more than the %lld %s of a node of %s",
                             (long long)replay->trace.gpus_per_node, (long long)places,
                             replay->in_host ? "cores" : "GPUs", pto_machine_name(replay->options.machine));
    if (replay->trace.gpus_per_node == 0)
        replay->trace.gpus_per_node = places;
    if (replay->in_host)
        places = replay->trace.gpus_per_node;
    if (places % (int64_t)sockets == 0)
        replay->trace.gpus_per_socket = places / (int64_t)sockets;
    return PTO_OK;
}

/* Thousandths of the file. */
enum { FILE_PARTS = 1000 };

static void count_part(void *context, double part) {
    replay_t *replay = context;
    int64_t read = (int64_t)(FILE_PARTS * part);
    pto_progress_add(read - replay->read);
    replay->read = read;
}

static pto_status_t read_file(replay_t *replay, const char *path, pto_recording_t *trace, pto_error_t *err) {
    replay->trace.context = replay;
    const bool shown = pto_progress_begin("reading", FILE_PARTS, 0);
    if (shown)
        replay->trace.progress = count_part;
    pto_status_t status = pto_recording_read(path, &replay->trace, trace, err);
    if (shown)
        pto_progress_end();
    return status;
}

static void print_replayed(replayed_t *replayed) {
    const pto_format_t format = replayed->replay->options.format;
    if (format == PTO_FORMAT_CSV)
        print_csv(replayed);
    else if (format == PTO_FORMAT_JSON)
        print_json(replayed);
    else
        print_table(replayed);
}

static pto_status_t replay_all(replay_t *replay, const char *path, pto_error_t *err) {
    replayed_t replayed = {.replay = replay, .path = path};
    pto_workload_t workload = {.name = NULL};
    pto_status_t status =
        pto_machine_open(replay->options.scenario.machine_path, &replay->options.machine, err);
    if (status == PTO_OK)
        status = pto_options_change(&replay->options, err);
    if (status == PTO_OK)
        status = complete_places(replay, err);
    if (status == PTO_OK)
        status = read_file(replay, path, &replayed.trace, err);
    if (status == PTO_OK) {
        replayed.left_out = calloc((size_t)replayed.trace.count + 1, sizeof *replayed.left_out);
        status = replayed.left_out
                     ? pto_recording_workload(&replayed.trace, replay->options.machine, replay->in_host,
                                              &workload, replayed.left_out, err)
                     : pto_error_set(err, PTO_ERR_MEMORY, "out of memory for calls");
    }
    if (status == PTO_OK)
        status =
            pto_step_predict_some(&workload, replay->options.machine, replayed.left_out, &replayed.step, err);
    if (status == PTO_OK)
        print_replayed(&replayed);
    pto_step_fini(&replayed.step);
    pto_workload_fini(&workload);
    pto_recording_fini(&replayed.trace);
    free(replayed.left_out);
    return status;
}

static int run(const pto_arguments_t *given) {
    replay_t replay = {.trace = {.collective = PTO_COLLECTIVE_COUNT, .refuses_unused = true}};
    pto_error_t err = {0};
    if (given->operand_count != 1)
        return pto_usage_error(&syntax, "name one file");
    pto_scenario_init(&replay.options.scenario);
    replay.options.rank = -1;
    int code = pto_options_apply(given, &replay);
    if (code < 0 && !replay.options.scenario.machine_path)
        code = pto_usage_error(&syntax, "no machine given (--machine)");
    replay.trace.rank = replay.options.rank;
    if (code < 0)
        code = replay_all(&replay, given->operand[0], &err) == PTO_OK
                   ? pto_flush_output()
                   : pto_options_fail(&replay.options, &err);
    pto_options_fini(&replay.options);
    return code;
}

const pto_command_t pto_command_replay = {.name = "replay",
                                          .summary = "predict recorded collectives by other routes",
                                          .syntax = &syntax,
                                          .run = run};
