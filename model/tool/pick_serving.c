/* portolan pick --for: the allreduces of a tensor-parallel group of vLLM or SGLang. For each size, the route
 * that the server takes by default, and the fastest of the routes with a price. The machine file prices NCCL
 * and portolan's own kernels; PyTorch's symmetric memory has the measured times of a file
 * (tests/bench/peer_torch.py); the servers' own kernels have no price.
 *
 * The servers' size limits are those of their sources of 2026: vLLM's custom_all_reduce.py,
 * all_reduce_utils.py, cuda_communicator.py and, for one-shot or two-shot, csrc/custom_all_reduce.cuh;
 * SGLang's custom_all_reduce.py. */
#include "pick_serving.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/text_file.h"
#include "command_line/terminal.h"
#include "show/record.h"
#include "show/table.h"

#define KIB INT64_C(1024)
#define MIB (KIB * 1024)

static const int64_t measured_file_bytes_max = 64 * MIB;

enum { NOTES_MAX = 4 };

PTO_WORD_LIST(pto_server_at, "none", "vllm", "sglang");

enum { NONE, VLLM, SGLANG }; /* in the order of pto_server_at */

static const struct {
    const char *note[NOTES_MAX];
} servers[] = {
    [NONE] = {{NULL}},
    [VLLM] = {{"--disable-custom-all-reduce leaves its own kernels out",
               "VLLM_ALLREDUCE_USE_SYMM_MEM=0 (default 1) leaves PyTorch's symmetric memory out, which "
               "takes bfloat16 alone; VLLM_USE_NCCL_SYMM_MEM=1 gives NCCL windows, on 4 GPUs and more",
               "with both left out and VLLM_DISABLE_PYNCCL=1, calls go through PyTorch, and portolan run "
               "--machine NAME -- vllm serve ... puts libportolan-nccl.so in front of them (not tried)"}},
    [SGLANG] = {{"--disable-custom-all-reduce leaves its own kernels out",
                 "--enable-torch-symm-mem: PyTorch's symmetric memory, on 4, 6 and 8 GPUs of compute "
                 "capability 9.0; --enable-symm-mem: NCCL with windows",
                 "libportolan-nccl.so is in front of its calls through PyTorch, not of those that it makes "
                 "to NCCL itself in graphs"}}};

/* vLLM's size limits on 2, 4, 6 and 8 GPUs; it has them for the GPUs of two compute capabilities. */
typedef struct {
    const char *gpu[3]; /* part of the names of such GPUs */
    int64_t own_bytes[4];
    int64_t symmetric_bytes[4]; /* of PyTorch's symmetric memory, for bfloat16 */
} vllm_limits_t;

static const vllm_limits_t vllm_limits[] = {
    {{"H100", "H200", "H800"},
     {64 * MIB, 32 * MIB, 512 * KIB, 256 * KIB},
     {64 * MIB, 32 * MIB, 64 * MIB, 64 * MIB}},
    {{"B200"}, {2 * MIB, 2 * MIB, MIB, MIB}, {8 * MIB, 32 * MIB, 128 * MIB, 128 * MIB}}};

static bool is_named(const vllm_limits_t *limits, const char *gpu) {
    for (int i = 0; gpu && i < 3; i++)
        if (limits->gpu[i] && strstr(gpu, limits->gpu[i]))
            return true;
    return false;
}

static const vllm_limits_t *limits_of(const char *gpu) {
    for (size_t i = 0; i < sizeof vllm_limits / sizeof *vllm_limits; i++)
        if (is_named(&vllm_limits[i], gpu))
            return &vllm_limits[i];
    return NULL;
}

/* Neither server has own kernels or symmetric memory for other numbers of GPUs. */
static bool is_served(int64_t gpus) { return gpus == 2 || gpus == 4 || gpus == 6 || gpus == 8; }

/* The size limit of the server's own kernels; 0: it has none for this number of GPUs. */
static int64_t own_limit_bytes(bool is_vllm, const char *gpu, int64_t gpus) {
    const vllm_limits_t *limits = is_vllm ? limits_of(gpu) : NULL;
    const int64_t most_bytes = 8 * MIB;
    if (!is_served(gpus))
        return 0;
    const int64_t limit_bytes = limits ? limits->own_bytes[gpus / 2 - 1] : most_bytes;
    return limit_bytes < most_bytes ? limit_bytes : most_bytes;
}

/* The size limit of PyTorch's symmetric memory in vLLM, for bfloat16; 0: it is not used. */
static int64_t symmetric_limit_bytes(const char *gpu, int64_t gpus) {
    const vllm_limits_t *limits = limits_of(gpu);
    return limits && is_served(gpus) ? limits->symmetric_bytes[gpus / 2 - 1] : 0;
}

/* The route that the server takes for an allreduce of this size by default. */
static const char *default_route(const pto_pick_options_t *options, const pto_predictions_t *all,
                                 int64_t bytes) {
    const int64_t gpus = all->scenario->layout.gpus_per_node;
    const char *gpu = pto_machine_gpu(all->machine);
    const bool is_vllm = options->server == VLLM;
    const int64_t one_shot_limit_bytes = gpus <= 4 ? 512 * KIB : 256 * KIB;
    if (bytes < own_limit_bytes(is_vllm, gpu, gpus))
        return gpus == 2 || bytes < one_shot_limit_bytes ? "own one-shot" : "own two-shot";
    const bool is_symmetric = is_vllm && all->scenario->datatype == PTO_DATATYPE_BFLOAT16 &&
                              bytes < symmetric_limit_bytes(gpu, gpus);
    return is_symmetric ? "symmetric" : "NCCL";
}

typedef struct {
    const char *name;
    double seconds; /* INFINITY: no price */
} route_t;

enum { NCCL, KERNEL, ONE_SHOT, TWO_SHOT, ROUTES };

/* The seconds of a row of peer_torch.py's table: torch,WAY,DATATYPE,BYTES,RUNS,MICROSECONDS. INFINITY if
 * there is no such row, or no table (NULL). */
static double measured_s(const char *table, const char *way, const char *datatype, int64_t bytes) {
    char begin[96];
    double microseconds = 0;
    snprintf(begin, sizeof begin, "\ntorch,%s,%s,%lld,", way, datatype, (long long)bytes);
    const char *row = table ? strstr(table, begin) : NULL;
    const char *value = row ? strchr(row + strlen(begin), ',') : NULL;
    bool found = value && sscanf(value + 1, "%lf", &microseconds) == 1 && microseconds > 0;
    return found ? microseconds * 1e-6 : INFINITY;
}

/* The memory that libportolan-nccl.so lets one kernel use: a 16th of PORTOLAN_MEMORY's default. */
static const int64_t kernel_bytes_max = 32 * MIB;

/* Whether the buffers that the library adds to the user's on GPU 0 fit into that memory. */
static bool fits(const pto_plan_t *plan) {
    int64_t bytes = 0;
    for (int b = 0; b < pto_plan_buffer_count(plan); b++)
        if (!pto_buffer_is_users(plan, b, 0))
            bytes += (pto_plan_buffer(plan, b)->double_buffered ? 2 : 1) * pto_buffer_bytes(plan, b, 0);
    return bytes <= kernel_bytes_max;
}

/* Whether libportolan-nccl.so would run the strategy's plan. */
static bool runs_in_dropin(const pto_predictions_t *all, int64_t point, int strategy) {
    pto_plan_t *plan = NULL;
    pto_price_t price;
    bool runs = pto_plan_choose(all->scenario, all->machine, point, all->strategy[strategy], &plan, &price,
                                NULL, NULL) == PTO_OK &&
                pto_plan_is_one_launch(plan) && pto_plan_is_private(plan) && pto_plan_may_be_in_place(plan) &&
                fits(plan);
    pto_plan_destroy(plan);
    return runs;
}

/* Fill in the routes' times. Returns the fastest route, or NCCL if none has a price. */
static const route_t *find_routes(const pto_predictions_t *all, int64_t point, const char *table,
                                  route_t route[ROUTES]) {
    const char *datatype = pto_datatype_name(all->scenario->datatype);
    const int64_t bytes = all->point[point];
    route[NCCL] = (route_t){"NCCL", INFINITY};
    route[KERNEL] = (route_t){"portolan", INFINITY};
    for (int i = 0; i < all->strategy_count; i++) {
        const pto_prediction_t *prediction = pto_prediction_at(all, point, i);
        const bool is_nccl = strcmp(all->strategy[i]->name, "nccl") == 0;
        double *route_s = is_nccl ? &route[NCCL].seconds : &route[KERNEL].seconds;
        if (prediction->applicable && prediction->price.seconds < *route_s &&
            (is_nccl || runs_in_dropin(all, point, i)))
            *route_s = prediction->price.seconds;
    }
    route[ONE_SHOT] = (route_t){"torch one-shot", measured_s(table, "one_shot", datatype, bytes)};
    route[TWO_SHOT] = (route_t){"torch two-shot", measured_s(table, "two_shot", datatype, bytes)};
    const route_t *best = &route[NCCL];
    for (int i = 0; i < ROUTES; i++)
        best = route[i].seconds < best->seconds ? &route[i] : best;
    return best;
}

/* The time saved for each token, with two allreduces in each layer; INFINITY if NCCL has no price. */
static double saved_s(const pto_pick_options_t *options, const route_t *nccl, const route_t *best) {
    return isfinite(nccl->seconds) ? (double)(2 * options->layers) * (nccl->seconds - best->seconds)
                                   : INFINITY;
}

static void print_us(double seconds) {
    if (isfinite(seconds))
        printf(" %7.*f", seconds < 1e-3 ? 2 : 0, seconds * 1e6);
    else
        printf(" %7s", "-");
}

static void print_point(const pto_pick_options_t *options, const pto_predictions_t *all, int64_t point,
                        const char *table) {
    const int64_t bytes = all->point[point];
    route_t route[ROUTES];
    const route_t *best = find_routes(all, point, table, route);
    printf("%-8s", PTO_SIZE_TEXT(bytes));
    for (int i = 0; i < ROUTES; i++)
        print_us(route[i].seconds);
    printf("  %-14s", isfinite(best->seconds) ? best->name : "-");
    print_us(saved_s(options, &route[NCCL], best));
    printf("  %s\n", default_route(options, all, bytes));
}

static void print_table(const pto_pick_options_t *options, const pto_predictions_t *predictions,
                        const char *table) {
    pto_print_header("pick", predictions);
    printf("# routes of %s, us a call; Token: what the fastest saves of NCCL's time in\n"
           "# %lld layers of two allreduces; 1-shot, 2-shot: PyTorch's symmetric memory\n"
           "# Bytes     NCCL portolan  1-shot  2-shot  Fastest          Token  By default\n",
           pto_server_at(options->server), (long long)options->layers);
    for (int64_t i = 0; i < predictions->point_count; i++)
        print_point(options, predictions, i, table);
    pto_print_note(stdout, "no price: its own kernels, FlashInfer's and NCCL with windows");
    if (!options->measured)
        pto_print_note(
            stdout,
            "no price: PyTorch's symmetric memory; --measured takes what tests/bench/peer_torch.py prints");
    for (int i = 0; i < NOTES_MAX && servers[options->server].note[i]; i++)
        pto_print_note(stdout, "%s", servers[options->server].note[i]);
    pto_print_note(stdout, "NCCL_GRAPH_MIXING_SUPPORT=0: NCCL's calls in a graph take less; it forbids "
                           "captured and other calls of a communicator at the same time");
}

static pto_field_t time_field(const char *name, double seconds) {
    return pto_field_or_null(isfinite(seconds), pto_field_number(name, seconds));
}

static void print_record(const pto_pick_options_t *options, const pto_predictions_t *all, int64_t point,
                         const char *table) {
    route_t route[ROUTES];
    const route_t *best = find_routes(all, point, table, route);
    PTO_RECORD(stdout, options->shared.format, pto_field_count("bytes", all->point[point]),
               time_field("nccl_s", route[NCCL].seconds), time_field("portolan_s", route[KERNEL].seconds),
               time_field("one_shot_s", route[ONE_SHOT].seconds),
               time_field("two_shot_s", route[TWO_SHOT].seconds),
               pto_field_text("fastest", isfinite(best->seconds) ? best->name : NULL),
               time_field("token_saved_s", saved_s(options, &route[NCCL], best)),
               pto_field_text("by_default", default_route(options, all, all->point[point])));
}

static void print_csv(const pto_pick_options_t *options, const pto_predictions_t *all, const char *table) {
    puts("bytes,nccl_s,portolan_s,one_shot_s,two_shot_s,fastest,token_saved_s,by_default,model,what_if");
    for (int64_t i = 0; i < all->point_count; i++) {
        print_record(options, all, i, table);
        pto_print_csv_changes(all->machine);
        putchar('\n');
    }
}

static void print_json(const pto_pick_options_t *options, const pto_predictions_t *all, const char *table) {
    pto_print_json_start(all->machine);
    pto_print_json_question(all);
    PTO_MORE(stdout, pto_field_text("for", pto_server_at(options->server)),
             pto_field_count("layers", options->layers));
    printf(", \"routes\": [");
    for (int64_t i = 0; i < all->point_count; i++) {
        fputs(i ? ",\n  {" : "\n  {", stdout);
        print_record(options, all, i, table);
        putchar('}');
    }
    printf("\n]}\n");
}

pto_status_t pto_print_serving(const pto_pick_options_t *options, const pto_predictions_t *predictions,
                               pto_error_t *err) {
    static void (*const print_as[])(const pto_pick_options_t *, const pto_predictions_t *, const char *) = {
        [PTO_FORMAT_TABLE] = print_table, [PTO_FORMAT_CSV] = print_csv, [PTO_FORMAT_JSON] = print_json};
    const pto_scenario_t *scenario = predictions->scenario;
    char *table = NULL;
    size_t size = 0;
    if (scenario->collective != PTO_COLLECTIVE_ALLREDUCE || predictions->sweep != PTO_SWEEP_BYTES ||
        scenario->layout.nodes != 1)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                             "--for is about allreduces of a node: --collective allreduce --nodes 1");
    pto_status_t status =
        options->measured
            ? pto_text_read(options->measured, (size_t)measured_file_bytes_max, &table, &size, err)
            : PTO_OK;
    if (status != PTO_OK)
        return status;
    print_as[options->shared.format](options, predictions, table);
    free(table);
    return PTO_OK;
}
