/* portolan replay: predicts the collective calls of a recorded program or benchmark by each strategy, and
 * compares the recorded processes to find those that delay the others. traces/ reads the files, and
 * show/replay_table.c prints the table. Equal calls of a recording are one `call` with a number of `times`,
 * and the recording's calls become the calls of a workload, which is predicted as by `portolan step`. A
 * call's `route` is the one that the file says it took, or that its library takes. */
#include <stdlib.h>

#include "command.h"
#include "command_line/terminal.h"
#include "machine/machine_internal.h"
#include "portolan/progress.h"
#include "portolan/recording.h"
#include "portolan/workload.h"
#include "show/more_procs.h"
#include "show/record.h"
#include "show/replayed.h"
#include "show/step_table.h"
#include "show/table.h"

static const char usage[] =
    "usage: portolan replay FILE... --machine NAME [OPTIONS]\n\n"
    "Predicts the calls of a recorded program or benchmark by other routes: the total by each strategy and\n"
    "by the cheapest mix, and the calls that would gain most. Measured times, where the file has them, are\n"
    "printed next to the predicted ones. These files are read, compressed by gzip or not:\n\n"
    "  calls           calls.csv of libportolan-profile.so, PORTOLAN_REPORT of libportolan-mpi.so\n"
    "  osu             what OSU's micro-benchmarks print (with --nodes)\n"
    "  nccl-tests      what nccl-tests and rccl-tests print, as tables or JSON (-J)\n"
    "  imb             what the Intel MPI Benchmarks print\n"
    "  ucc-perftest    what ucc_perftest prints (with --nodes)\n"
    "  ucx-perftest    what ucx_perftest prints\n"
    "  kineto          JSON of PyTorch's profiler (export_chrome_trace)\n"
    "  nccl-inspector  JSON lines of NCCL's inspector plugin\n"
    "  chakra          execution traces in protobuf (.et); chakra-json: in JSON\n"
    "  pytorch-et      JSON of PyTorch's ExecutionTraceObserver\n"
    "  liballprof      traces of MPI programs by liballprof\n"
    "  goal            schedules of messages in LogGOPSim's text form\n\n"
    "  portolan replay calls.csv --machine summit-spectrum-refit\n"
    "  portolan replay osu_allreduce.txt --machine h200-x2 --nodes 1 --gpus-per-node 2\n"
    "  portolan replay trace.json.gz --machine dgx-h100\n\n"
    "With the calls of all processes (calls.csv, or a file of each process: drop-in, kineto,\n"
    "nccl-inspector) it tells waiting from transfer: it names processes and nodes that come late, and nodes\n"
    "and links that are slower than others. The calls of the first file are replayed.\n\n"
    "Benchmarks' outputs may have a launcher's prefix before each line (srun --label, mpirun --tag-output,\n"
    "time stamps, names of pods), come as a table alone, and hold several programs.\n\n"
    "The calls of one process are replayed. Processes are placed node by node, one for each GPU. If the\n"
    "file shows all processes of a communicator, its shape is known from them; otherwise its processes are\n"
    "taken to follow each other. Calls of MPI are priced as cuda_aware, and messages as `pair`, one after\n"
    "another. Calls that the machine cannot price are in no total, and are listed with their number and the\n"
    "reason.\n\n"
    "csv: one row per kind of call,\n"
    "`collective,bytes,nodes,gpus_per_node,times,route,measured_s,predicted_s,\n"
    "cheapest,cheapest_s,distance,transfer_s,unpriced,not_priced,extrapolated_from`. Times are those of one\n"
    "call; measured_s is empty if it is unknown, predicted_s if the route does not apply, cheapest if the\n"
    "call cannot be priced, distance for all but a pair, and transfer_s (after the last process came) if it\n"
    "is unknown. docs/formats.md has the others.\n";

static const char *format_at(int i) {
    return i + 1 < PTO_RECORDING_COUNT ? pto_recording_format_word((pto_recording_format_t)(i + 1)) : NULL;
}

static pto_status_t apply_from(void *target, const char *text, pto_error_t *err) {
    int found = 0;
    pto_status_t status = pto_word_parse(text, "format", format_at, &found, err);
    ((pto_replay_t *)target)->trace.format = (pto_recording_format_t)(found + 1);
    return status;
}

#define STORE(form, member) PTO_STORE(form, pto_replay_t, member)

static const pto_option_t replay_options[] = {
    {"from", "FORMAT", "the file's format (default: as its content tells)", .apply = apply_from,
     .word_at = format_at},
    {"rank", "R",
     "calls and goal: the process whose calls are replayed (default: the first in the file); chakra and "
     "kineto: that of the file",
     STORE(NATURAL, trace.rank)},
    {"nodes", "N", "benchmarks, chakra and pytorch-et: nodes that took part", STORE(COUNT, trace.nodes)},
    {"gpus-per-node", "N",
     "processes on each node, one for each GPU (default: all of the machine's GPUs; nccl-tests: as listed)",
     STORE(COUNT, trace.gpus_per_node)},
    {"collective", "NAME", "benchmarks whose output does not name it: the collective",
     STORE(WORD, trace.collective), .word_at = pto_collective_at},
    {"as-gpu", NULL, "take calls on host buffers for calls on GPU buffers", STORE(FLAG, trace.as_gpu)},
    {"memory", "gpu|host", "host: all calls are on host buffers (default: host if the machine has no GPUs)",
     STORE(WORD, options.scenario.memory), .word_at = pto_data_memory_at},
    {"limit", "BYTES",
     "refuse a file of more than BYTES, unpacked, with 16 for each line or event (default: 2 GiB, which "
     "takes about a minute, and gzip files that unpack to 500 times their size)",
     STORE(BYTES, trace.limit_bytes)},
    {"progress", NULL, "show progress even if standard error is not a terminal",
     .apply = pto_option_apply_progress},
    {"ci", NULL, "the 95 percent interval of every predicted total (json always has it)",
     STORE(FLAG, options.ci)},
    {"bandwidth", "algorithm|bus|both",
     "GB/s of kinds of calls instead of their times, as nccl-tests defines them; both: algbw and busbw "
     "beside times",
     STORE(WORD, options.bandwidth), .what = "bandwidth", .standard = "none", .word_at = pto_bandwidth_name},
    {"top", "N", "kinds of calls in the table", STORE(COUNT, top), .standard = "10"},
    {.name = NULL}};

static const pto_syntax_t syntax = {.program = "portolan replay",
                                    .usage = usage,
                                    .set =
                                        PTO_SETS({"options", pto_format_options}, {NULL, pto_machine_options},
                                                 {NULL, replay_options}, {NULL, pto_change_options}),
                                    .operand = "FILE"};

/* What the two prices of a row leave out: that of the call's own route and that of the cheapest. */
static pto_caveats_t caveats_of(const pto_replayed_t *replayed, int i) {
    const pto_prediction_t *taken = pto_replayed_taken(replayed, i);
    const pto_strategy_t *strategy;
    pto_caveats_t caveats = {.count = 0};
    if (taken)
        pto_caveats_add(&caveats, taken);
    if (pto_replayed_is_priced(replayed, i))
        pto_caveats_add(&caveats, pto_step_best(&replayed->step, i, &strategy));
    return caveats;
}

static void print_call(const pto_replayed_t *replayed, int i, pto_format_t format) {
    const pto_recording_call_t *call = &replayed->trace.call[i];
    const pto_prediction_t *taken = pto_replayed_taken(replayed, i), *cheapest = NULL;
    const bool is_priced = pto_replayed_is_priced(replayed, i);
    const pto_caveats_t caveats = caveats_of(replayed, i);
    const pto_strategy_t *strategy = NULL; /* of `cheapest` */
    const char *distance = pto_replayed_distance(call);
    const char *unsure = is_priced ? pto_step_unsure(&replayed->step, i) : NULL;
    const char *reason = is_priced ? NULL : pto_replayed_reason(replayed, i);
    const double taken_s = taken ? taken->price.seconds : 0;
    if (is_priced)
        cheapest = pto_step_best(&replayed->step, i, &strategy);
    PTO_RECORD(
        stdout, format, pto_field_text("collective", pto_collective_name(call->collective)),
        pto_field_count("bytes", call->bytes), pto_field_count("nodes", call->nodes),
        pto_field_count("gpus_per_node", call->gpus_per_node), pto_field_count("times", call->times),
        pto_field_text("route", call->route),
        pto_field_if(call->collective == PTO_COLLECTIVE_PAIR,
                     pto_field_in_json(pto_field_text("distance", distance))),
        pto_field_if(call->measured_s > 0,
                     pto_field_number("measured_s", call->measured_s / (double)call->times)),
        pto_field_in_json(pto_field_if(!is_priced, pto_field_text("reason", reason))),
        pto_field_if(taken, pto_field_json_if(is_priced, pto_field_number("predicted_s", taken_s))),
        pto_field_if(is_priced, pto_field_text("cheapest", strategy ? strategy->name : NULL)),
        pto_field_if(is_priced, pto_field_number("cheapest_s", cheapest ? cheapest->price.seconds : 0)),
        pto_field_in_csv(pto_field_text("distance", distance)),
        pto_field_if(call->compared > 0,
                     pto_field_number("transfer_s", call->transfer_s / (double)call->compared)),
        pto_field_if(is_priced, pto_field_text("unpriced", unsure)),
        pto_field_json_if(is_priced, pto_field_unpriced("not_priced", &caveats)),
        pto_field_json_if(is_priced, pto_field_extrapolated(&caveats)));
}

static void print_csv(const pto_replayed_t *replayed) {
    printf("collective,bytes,nodes,gpus_per_node,times,route,measured_s,predicted_s,cheapest,cheapest_s,"
           "distance,transfer_s,unpriced,not_priced,extrapolated_from,model,what_if\n");
    for (int i = 0; i < replayed->trace.count; i++) {
        print_call(replayed, i, PTO_FORMAT_CSV);
        pto_print_csv_changes(replayed->replay->options.machine);
        putchar('\n');
    }
}

static void print_json_total(const pto_replayed_t *replayed, const pto_step_route_t *route,
                             const char *between) {
    pto_caveats_t caveats = {.count = 0};
    pto_step_caveats_add(&replayed->step, route->strategy, &caveats);
    PTO_OBJECT(stdout, between,
               pto_field_text("strategy", route->strategy ? route->strategy->name : "cheapest"),
               pto_field_number("seconds", route->communication_s),
               pto_field_if(route->has_interval, pto_field_number("low_s", route->low.communication_s)),
               pto_field_if(route->has_interval, pto_field_number("high_s", route->high.communication_s)),
               pto_field_if(caveats.count > 0, pto_field_unpriced("unpriced", &caveats)),
               pto_field_extrapolated(&caveats));
}

/* The processes, nodes and links that delay others. */
static void print_json_delays(const pto_delays_t *delays) {
    printf(", \"compared\": %lld, \"tells_late\": %s, \"tells_slow\": %s, \"delays\": [",
           (long long)delays->calls, delays->late_told ? "true" : "false",
           delays->slow_told ? "true" : "false");
    for (int i = 0; i < delays->count; i++) {
        const pto_delay_t *delay = &delays->delay[i];
        printf("%s\n  {\"cause\": \"%s\", \"places\": \"%s\", \"place\": [", i > 0 ? "," : "",
               pto_delay_cause_name(delay->cause), delay->is_node ? "nodes" : "processes");
        for (int k = 0; k < delay->place_count; k++)
            printf("%s%lld", k > 0 ? ", " : "", (long long)delay->place[k]);
        printf("], \"calls\": %lld", (long long)delay->calls);
        if (delay->cause == PTO_DELAY_LATE)
            PTO_MORE(stdout, pto_field_count("last", delay->last), pto_field_number("late_s", delay->late_s),
                     pto_field_number("noise_s", delay->noise_s));
        else
            PTO_MORE(stdout, pto_field_number("ratio", delay->ratio));
        putchar('}');
    }
    putchar(']');
}

static void print_json(const pto_replayed_t *replayed) {
    const pto_recording_t *trace = &replayed->trace;
    pto_caveats_t caveats = {.count = 0};
    pto_print_json_start(replayed->replay->options.machine);
    PTO_MORE(stdout, pto_field_text("format", pto_recording_format_name(trace->format)),
             pto_field_if(trace->gpu[0], pto_field_text("recorded_on", trace->gpu)));
    pto_print_json_layout(&replayed->replay->layout, false);
    pto_step_caveats_add_all(&replayed->step, &caveats);
    PTO_MORE(stdout, pto_field_unpriced("not_priced", &caveats));
    pto_print_json_step_more_procs(&replayed->step);
    printf(", \"calls\": [");
    for (int i = 0; i < trace->count; i++) {
        fputs(i ? ",\n  {" : "\n  {", stdout);
        print_call(replayed, i, PTO_FORMAT_JSON);
        putchar('}');
    }
    printf("\n], \"groups_assumed\": %lld, \"taken_for_host\": %lld", (long long)trace->groups_assumed,
           (long long)pto_replayed_for_host(replayed));
    print_json_delays(&replayed->delays);
    printf(", \"totals\": [");
    print_json_total(replayed, &replayed->step.mix, "\n  ");
    for (int r = 0; r < replayed->step.route_count; r++)
        if (replayed->step.route[r].applicable)
            print_json_total(replayed, &replayed->step.route[r], ",\n  ");
    printf("\n]}\n");
}

/* Complete the layout that the options leave open. The places of a node are its GPUs, or its cores for data
 * in host memory; each is taken by one process. */
static pto_status_t complete_places(pto_replay_t *replay, pto_error_t *err) {
    const pto_data_memory_t memory = replay->options.scenario.memory;
    const int64_t gpus = replay->options.machine->node.gpus, cores = replay->options.machine->node.cores;
    const int64_t sockets = replay->options.machine->node.sockets;
    replay->options.by_option = memory == PTO_MEMORY_GPU && gpus < 1;
    if (replay->options.by_option)
        return pto_error_set(err, PTO_ERR_RANGE, "--memory gpu: nodes of %s have no GPUs",
                             pto_machine_name(replay->options.machine));
    replay->in_host = memory == PTO_MEMORY_HOST || gpus < 1;
    replay->trace.as_gpu = replay->trace.as_gpu || replay->in_host;
    int64_t places = replay->in_host ? cores : gpus;
    replay->options.by_option = replay->trace.gpus_per_node > places;
    if (replay->options.by_option)
        return pto_error_set(
            err, PTO_ERR_RANGE, "--gpus-per-node %lld is more than the %lld %s%s of a node of %s",
            (long long)replay->trace.gpus_per_node, (long long)places, replay->in_host ? "core" : "GPU",
            places == 1 ? "" : "s", pto_machine_name(replay->options.machine));
    replay->trace.places_assumed = replay->trace.gpus_per_node == 0;
    if (replay->trace.places_assumed)
        replay->trace.gpus_per_node = places;
    replay->layout = (pto_layout_t){.gpus_per_node = replay->trace.gpus_per_node,
                                    .procs_per_gpu = 1,
                                    .owners_per_gpu = 1,
                                    .in_host = replay->in_host};
    if (replay->in_host)
        places = replay->trace.gpus_per_node;
    if (places % sockets == 0)
        replay->trace.gpus_per_socket = places / sockets;
    return PTO_OK;
}

enum { FILE_PARTS = 1000 }; /* progress is counted in thousandths of the file */

/* pto_recording_options_t's `progress`; `fraction` of the file has been read. */
static void show_progress(void *context, double fraction) {
    pto_replay_t *replay = context;
    int64_t read = (int64_t)(FILE_PARTS * fraction);
    pto_progress_add(read - replay->read);
    replay->read = read;
}

static pto_status_t read_file(pto_replay_t *replay, const char *path, pto_recording_t *trace,
                              pto_error_t *err) {
    replay->trace.context = replay;
    const bool shown = pto_progress_begin("reading", FILE_PARTS, 0);
    if (shown)
        replay->trace.progress = show_progress;
    pto_status_t status =
        pto_recording_explain(path, true, pto_recording_read(path, &replay->trace, trace, err), err);
    replay->is_contradicted = status == PTO_ERR_NOT_APPLICABLE;
    if (shown)
        pto_progress_end();
    return status;
}

static pto_status_t print_replayed(pto_replayed_t *replayed, pto_error_t *err) {
    const pto_format_t format = replayed->replay->options.format;
    if (format == PTO_FORMAT_CSV)
        print_csv(replayed);
    else if (format == PTO_FORMAT_JSON)
        print_json(replayed);
    else
        return pto_print_replayed(replayed, err);
    return PTO_OK;
}

/* One of the compared files. */
typedef struct {
    pto_recording_format_t format;
    int64_t rank; /* the process that recorded it; -1: unknown, or several */
} file_t;

static file_t file_of(const pto_recording_t *trace) {
    const bool is_of_one = trace->format == PTO_RECORDING_CALLS || trace->format == PTO_RECORDING_KINETO;
    return (file_t){trace->format, is_of_one ? trace->rank : -1};
}

/* Check that file i has the format of the first, and is not of the same process as one before it. */
static pto_status_t check_file(pto_replay_t *replay, char *const *path, const file_t *file, int i,
                               pto_error_t *err) {
    int other = 0;
    replay->options.by_option = true;
    if (file[i].format != file[0].format)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                             "%s is %s, and %s %s: the times of different formats cannot be compared",
                             path[0], pto_recording_format_name(file[0].format), path[i],
                             pto_recording_format_name(file[i].format));
    while (other < i && (file[other].rank < 0 || file[other].rank != file[i].rank))
        other++;
    if (other < i)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "process %lld is given twice: %s and %s",
                             (long long)file[i].rank, path[other], path[i]);
    replay->options.by_option = false;
    return PTO_OK;
}

/* Read a file after the first. Only its times of calls are used: they are added to the timeline. */
static pto_status_t read_other(pto_replay_t *replay, const char *path, file_t *file, pto_error_t *err) {
    pto_recording_t other = {.count = 0};
    const size_t before = pto_timeline_count(replay->trace.timeline);
    pto_status_t status = read_file(replay, path, &other, err);
    if (status == PTO_OK && pto_timeline_count(replay->trace.timeline) == before) {
        replay->options.by_option = true;
        status = pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                               other.format == PTO_RECORDING_KINETO && other.rank < 0
                                   ? "%s does not say which process wrote it (`distributedInfo`, which "
                                     "PyTorch writes once its process group is initialized), so it cannot "
                                     "be compared with others: replay it by itself"
                                   : "%s does not show when each process called, and the files after the "
                                     "first are read for that alone: replay it by itself",
                               path);
    }
    *file = file_of(&other);
    pto_recording_fini(&other);
    return status;
}

/* Read the first file, which is replayed, and the others' times of calls, to find delays. The first one is
 * read last, because pto_delays_find needs the recording that was read last. --rank is for the first file
 * alone. */
static pto_status_t read_files(pto_replay_t *replay, int count, char *const *path, pto_replayed_t *replayed,
                               pto_error_t *err) {
    file_t *file = malloc((size_t)count * sizeof *file);
    if (!file)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for the files' processes");
    replay->trace.timeline = pto_timeline_create();
    const int64_t rank = replay->trace.rank;
    pto_status_t status = replay->trace.timeline
                              ? PTO_OK
                              : pto_error_set(err, PTO_ERR_MEMORY, "out of memory for the times of calls");
    replay->trace.rank = -1;
    replay->trace.times_only = true;
    for (int i = 1; i < count && status == PTO_OK; i++)
        status = read_other(replay, path[i], &file[i], err);
    replay->trace.rank = rank;
    replay->trace.times_only = false;
    if (status == PTO_OK)
        status = read_file(replay, path[0], &replayed->trace, err);
    if (status == PTO_OK)
        file[0] = file_of(&replayed->trace);
    for (int i = 1; i < count && status == PTO_OK; i++)
        status = check_file(replay, path, file, i, err);
    free(file);
    if (status == PTO_OK)
        status =
            pto_delays_find(replay->trace.timeline, &replay->trace, &replayed->trace, &replayed->delays, err);
    pto_timeline_destroy(replay->trace.timeline);
    replay->trace.timeline = NULL;
    return status;
}

static pto_status_t replay_all(pto_replay_t *replay, int count, char *const *path, pto_error_t *err) {
    pto_replayed_t replayed = {.replay = replay, .path = path[0]};
    pto_workload_t workload = {.name = NULL};
    pto_status_t status =
        pto_machine_open(replay->options.scenario.machine_path, &replay->options.machine, err);
    if (status == PTO_OK)
        status = pto_options_change(&replay->options, err);
    if (status == PTO_OK)
        status = complete_places(replay, err);
    if (status == PTO_OK)
        status = read_files(replay, count, path, &replayed, err);
    if (status == PTO_OK)
        status = pto_replayed_check(&replayed, err);
    if (status == PTO_OK) {
        replayed.left_out = calloc((size_t)replayed.trace.count + 1, sizeof *replayed.left_out);
        status = replayed.left_out
                     ? pto_recording_workload(&replayed.trace, replay->options.machine, replay->in_host,
                                              &workload, replayed.left_out, err)
                     : pto_error_set(err, PTO_ERR_MEMORY, "out of memory for calls");
    }
    if (status == PTO_OK) {
        status =
            pto_step_predict_some(&workload, replay->options.machine, replayed.left_out, &replayed.step, err);
        const pto_error_t cause = *err;
        const bool names_file = cause.file[0] != '\0';
        if (status != PTO_OK && status != PTO_ERR_INTERRUPTED && !names_file)
            pto_error_set(err, status, "%s: %s", path[0], cause.message);
    }
    if (status == PTO_OK)
        status = pto_step_find_more_procs(&replayed.step, err);
    if (status == PTO_OK)
        status = print_replayed(&replayed, err);
    pto_step_fini(&replayed.step);
    pto_workload_fini(&workload);
    pto_recording_fini(&replayed.trace);
    pto_delays_fini(&replayed.delays);
    free(replayed.left_out);
    return status;
}

static int run(const pto_arguments_t *given) {
    pto_replay_t replay = {.trace = {.collective = PTO_COLLECTIVE_COUNT, .refuses_unused = true, .rank = -1}};
    pto_error_t err = {0};
    if (given->operand_count < 1)
        return pto_usage_error(&syntax, "name a file");
    pto_scenario_init(&replay.options.scenario);
    int code = pto_options_apply(given, &replay);
    if (code < 0 && !replay.options.scenario.machine_path)
        code = pto_usage_error(&syntax, "no machine given (--machine)");
    if (code < 0 && replay.options.bandwidth != PTO_BANDWIDTH_NONE &&
        replay.options.format != PTO_FORMAT_TABLE)
        code = pto_usage_error(&syntax, "--bandwidth is for tables; csv and json have bytes and times");
    if (code < 0)
        code = replay_all(&replay, given->operand_count, given->operand, &err) == PTO_OK
                   ? pto_flush_output()
                   : pto_options_fail(&replay.options, &err);
    if (replay.is_contradicted) /* an option contradicts the file: wrong usage, though the error has a line */
        code = PTO_EXIT_USAGE;
    pto_options_fini(&replay.options);
    return code;
}

const pto_command_t pto_command_replay = {.name = "replay",
                                          .summary = "predict recorded collectives by other routes",
                                          .syntax = &syntax,
                                          .run = run};
