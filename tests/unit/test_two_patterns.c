/* Two patterns at once, one among buffers in GPU memory and one in host memory: plans are proved, and price
 * and simulate share injection, links and memory between them. */
#include "built.h"
#include "must.h"
#include "parsed_counts.h"
#include "portolan/check.h"
#include "portolan/price.h"
#include "portolan/strategy.h"
#include "portolan/traffic.h"
#include "simulated.h"
#include "test.h"

static pto_request_t exchange(const pto_counts_t *counts, const char *strategy, int64_t nodes, int64_t gpus,
                              int64_t procs, int64_t bytes) {
    pto_request_t request = ask(PTO_COLLECTIVE_ALLTOALLV, strategy, "linear", nodes, gpus, procs, bytes);
    request.implementation = PTO_IMPLEMENTATION_ISEND_IRECV;
    request.split = PTO_SPLIT_DESTINATIONS;
    request.by_library = false;
    request.counts = counts;
    return request;
}

/* --- plans ---------------------------------------------------------------------------------------------- */

static const char *const pairs[] = {
    "{gpu: {pattern: stencil, dims: [2, 4]}, cpu: {pattern: groups, dims: [2, 4], along: 1}}",
    "{gpu: {pattern: groups, dims: [4, 2]}, cpu: {pattern: groups, dims: [2, 2, 2], along: 2}}",
    "{gpu: {skew: 0.7, seed: 3}, cpu: {pattern: stencil, dims: [8], wrap: [1], weights: [3]}}",
    "{gpu: equal, cpu: {skew: 1, seed: 9}}",
    "{gpu: {pattern: stencil, dims: [8]}, cpu: equal}",
};
enum { PAIRS = sizeof pairs / sizeof *pairs };
static const char *const joining[] = {"cuda_aware", "three_step", "extra_message", "dup_devptr"};

TEST(plans_are_proved_right_on_any_placement) {
    int64_t process[] = {5, 0, 3, 7, 6, 1, 4, 2};
    const pto_mapping_t mapping = {.count = 8, .process = process};
    for (int i = 0; i < PAIRS; i++)
        for (int variant = 0; variant < 16; variant++) {
            pto_counts_t counts = parsed(pairs[i]);
            pto_request_t request = exchange(&counts, joining[variant % 4], 2, 4, 2, 64);
            request.mapping = variant & 4 ? &mapping : NULL;
            request.split = variant & 8 ? PTO_SPLIT_BYTES : PTO_SPLIT_DESTINATIONS;
            pto_plan_t *plan = must_plan(&request);
            pto_check_report_t report;
            pto_error_t err = {0};
            if (pto_check(plan, &report, &err) != PTO_OK)
                fail_msg("%s by %s: %s", pairs[i], joining[variant % 4], err.message);
        }
}

TEST(several_owners_of_a_gpu_have_both_patterns) {
    pto_counts_t counts =
        parsed("{gpu: {pattern: stencil, dims: [12]}, cpu: {pattern: groups, dims: [3, 4]}}");
    for (int s = 0; s < 2; s++) {
        pto_request_t request = exchange(&counts, joining[s], 2, 2, 4, 24);
        request.layout.owners_per_gpu = 3;
        assert_right(must_plan(&request));
    }
}

/* Bytes by the space that they leave, as a matrix for each. */
typedef struct {
    int64_t bytes[PTO_SPACE_COUNT][8][8];
} sums_t;

static void sum_pair(void *context, const pto_traffic_pair_t *pair) {
    sums_t *sums = context;
    assert_int_equal(pair->source_space, pair->destination_space);
    sums->bytes[pair->source_space][pair->source][pair->destination] += pair->bytes;
}

/* Each process at the place that the placement gives it. */
TEST(traffic_is_that_of_each_pattern_in_its_memory) {
    int64_t process[] = {5, 0, 3, 7, 6, 1, 4, 2};
    const pto_mapping_t mapping = {.count = 8, .process = process};
    for (int i = 0; i < PAIRS; i++) {
        pto_counts_t counts = parsed(pairs[i]);
        pto_request_t request = exchange(&counts, "cuda_aware", 2, 4, 1, 100);
        request.mapping = &mapping;
        pto_plan_t *plan = must_plan(&request);
        sums_t sums = {{{{0}}}};
        pto_error_t err = {0};
        assert_int_equal(pto_plan_traffic(plan, sum_pair, &sums, &err), PTO_OK);
        for (int from = 0; from < 8; from++)
            for (int to = 0; to < 8; to++) {
                int64_t gpu = pto_counts_bytes(&counts, 100, process[from], process[to]);
                int64_t cpu = pto_counts_bytes(counts.host, 100, process[from], process[to]);
                assert_int_equal(sums.bytes[PTO_SPACE_GPU][from][to], from == to ? 0 : gpu);
                assert_int_equal(sums.bytes[PTO_SPACE_CPU][from][to], from == to ? 0 : cpu);
            }
    }
}

TEST(the_second_pattern_changes_the_digest) {
    static const char *const text[] = {
        "{pattern: stencil, dims: [8]}",
        "{gpu: {pattern: stencil, dims: [8]}, cpu: equal}",
        "{gpu: {pattern: stencil, dims: [8]}, cpu: {pattern: stencil, dims: [8]}}",
        "{gpu: {pattern: stencil, dims: [8]}, cpu: {pattern: stencil, dims: [2, 4]}}",
        "{gpu: {pattern: stencil, dims: [2, 4]}, cpu: {pattern: stencil, dims: [8]}}",
        "{gpu: {pattern: stencil, dims: [8]}, cpu: {skew: 0.5, seed: 1}}",
        "{gpu: {pattern: stencil, dims: [8]}, cpu: {skew: 0.5, seed: 2}}",
    };
    enum { COUNT = sizeof text / sizeof *text };
    uint64_t digest[COUNT];
    for (int i = 0; i < COUNT; i++) {
        pto_counts_t counts = parsed(text[i]);
        pto_request_t request = exchange(&counts, "cuda_aware", 2, 4, 1, 100);
        pto_plan_t *plan = must_plan(&request);
        digest[i] = pto_plan_digest(plan);
        for (int earlier = 0; earlier < i; earlier++)
            assert_true(digest[earlier] != digest[i]);
    }
}

TEST(memory_holds_the_buffers_of_both) {
    pto_counts_t counts =
        parsed("{gpu: {pattern: stencil, dims: [4]}, cpu: {pattern: groups, dims: [2, 2]}}");
    pto_request_t request = exchange(&counts, "cuda_aware", 1, 4, 1, 1000);
    int64_t gpu_bytes = 0, host_bytes = 0;
    pto_plan_t *plan = must_plan(&request);
    pto_plan_memory(plan, &gpu_bytes, &host_bytes);
    assert_int_equal(gpu_bytes, 2 * 2 * 1000);      /* two neighbors, to and from */
    assert_int_equal(host_bytes, 4 * 2 * 2 * 1000); /* of four processes: itself and one more */
    int64_t few[] = {1, 2, 3, 4}, many[] = {100, 200, 300, 400};
    pto_counts_t cpu = {.kind = PTO_COUNTS_MATRIX, .order = 2, .matrix = many};
    counts = (pto_counts_t){.kind = PTO_COUNTS_MATRIX, .order = 2, .matrix = few, .host = &cpu};
    request = exchange(&counts, "cuda_aware", 1, 2, 1, 0);
    plan = must_plan(&request);
    pto_plan_memory(plan, &gpu_bytes, &host_bytes);
    assert_int_equal(gpu_bytes, 3 + 4 + 2 + 4);
    assert_int_equal(host_bytes, 2 * 1000);
}

/* --- plans that are wrong ------------------------------------------------------------------------------- */

typedef enum { RIGHT, CROSSED, TWICE, WRITES_INPUT, FORGETS_OWN, NO_OUTPUT, FAULTS } fault_t;
static fault_t fault;

static int user_buffer(pto_builder_t *builder, const char *name, pto_role_t role, pto_blocks_t blocks) {
    pto_buffer_t buffer = owners_blocks(name, role, 2, 0);
    buffer.space = PTO_SPACE_CPU;
    buffer.blocks = blocks;
    return pto_build_buffer(builder, buffer);
}

static void copy_own(pto_builder_t *builder, const pto_exchange_t *exchange, int in, int out) {
    add_copy_stage(builder, "own", pto_step_of(PTO_STEP_COPY, exchange), pto_slice_block(in, PTO_ANCHOR_ME),
                   pto_slice_block(out, PTO_ANCHOR_ME));
}

static void send_other(pto_builder_t *builder, const pto_exchange_t *exchange, int in, int out) {
    pto_build_stage(builder, "other", PTO_ORDER_AT_ONCE);
    pto_step_t send = pto_step_of(PTO_STEP_SEND, exchange), recv = pto_step_of(PTO_STEP_RECV, exchange);
    send.peers = pto_peers_at(pto_constant(1), 1);
    send.source = pto_slice_block(in, PTO_ANCHOR_PEER);
    recv.peers = pto_peers_at(pto_constant(1), -1);
    recv.target = pto_slice_block(out, PTO_ANCHOR_PEER);
    pto_build_step(builder, send);
    pto_build_step(builder, recv);
}

/* Both patterns between two processes, one after the other. */
static void build_faulty(pto_builder_t *builder, const pto_exchange_t *exchange) {
    int in = user_buffer(builder, "cpu in", PTO_ROLE_HOST_IN, PTO_BLOCKS_ROW);
    int out = user_buffer(builder, "cpu out", fault == NO_OUTPUT ? PTO_ROLE_TEMPORARY : PTO_ROLE_HOST_OUT,
                          PTO_BLOCKS_COLUMN);
    copy_own(builder, exchange, exchange->in, exchange->out);
    if (fault != FORGETS_OWN)
        copy_own(builder, exchange, in, fault == WRITES_INPUT ? in : out);
    send_other(builder, exchange, exchange->in, fault == CROSSED ? out : exchange->out);
    send_other(builder, exchange, in, fault == CROSSED ? exchange->out : out);
    if (fault == TWICE)
        send_other(builder, exchange, in, out);
}

static const pto_algorithm_t faulty = {
    .name = "faulty", .collectives = 1u << PTO_COLLECTIVE_ALLTOALLV, .joins = true, .build = build_faulty};

/* Equal sizes, so that only where bytes come from tells the patterns apart. */
TEST(bytes_of_one_pattern_are_not_the_other_s) {
    static const char *const reason[FAULTS] = {
        NULL,
        "hold owner 1's bytes from 128 on, not owner 1's bytes from 0 on",
        "of 'cpu out' a second time",
        "writes the user's input",
        "'cpu out'",
        "no output in host memory",
    };
    pto_counts_t counts = parsed("{gpu: equal, cpu: equal}");
    pto_request_t request = exchange(&counts, "cuda_aware", 1, 2, 1, 64);
    request.algorithm = &faulty;
    for (fault = RIGHT; fault < FAULTS; fault++) {
        pto_plan_t *plan = must_plan(&request);
        pto_check_report_t report;
        pto_error_t err = {0};
        pto_status_t status = pto_check(plan, &report, &err);
        if ((status == PTO_OK) != (fault == RIGHT) || (reason[fault] && !strstr(err.message, reason[fault])))
            fail_msg("fault %d: %s", (int)fault, err.message);
    }
}

/* --- what does not apply -------------------------------------------------------------------------------- */

TEST(what_cannot_join_is_refused_with_the_reason) {
    pto_counts_t counts = parsed(pairs[0]);
    pto_request_t request = exchange(&counts, "cuda_aware", 2, 4, 1, 64);
    request.by_library = true;
    does_not_apply(&request, "MPI has no call for two patterns at once");
    request.by_library = false;
    request.algorithm = algorithm_named("pairwise", request.collective);
    does_not_apply(&request, "post all messages at once, unlike pairwise");
    request = exchange(&counts, "three_step", 2, 4, 1, 1 << 20);
    request.chunks = 4;
    does_not_apply(&request, "two patterns at once are not cut into chunks");
    request = exchange(&counts, "node_aware", 2, 4, 1, 64);
    does_not_apply(&request, "node_aware cannot send a second pattern in host memory");
    carry_out_by(&request, "nccl", "nccl");
    does_not_apply(&request, "nccl cannot send a second pattern in host memory");
}

/* --- what they share ------------------------------------------------------------------------------------ */

static const char node[] = "machine: m\nsource: s\nnode: {sockets: 1, gpus: 2, cores: 2}\nmessages:\n"
                           "  cpu: {on_socket: [{protocol: eager, alpha_s: 2e-6, beta_s_per_byte: 1e-10}],"
                           " off_node: [{protocol: eager, alpha_s: 3e-6, beta_s_per_byte: 1e-10}]}\n"
                           "  gpu: {on_socket: [{protocol: eager, alpha_s: 5e-6, beta_s_per_byte: 2e-10}],"
                           " off_node: [{protocol: eager, alpha_s: 7e-6, beta_s_per_byte: 1e-10}]}\n"
                           "copies:\n"
                           "  h2d: {on_socket: {alpha_s: 0, beta_s_per_byte: 1e-11}}\n"
                           "  d2h: {on_socket: {alpha_s: 0, beta_s_per_byte: 1e-11}}\n%s";

static pto_machine_t machine_with(const char *more) {
    char text[2048];
    snprintf(text, sizeof text, node, more);
    return must_parse(text);
}

enum { MIB = 1 << 20 };

/* One matrix for each memory, of four processes on two nodes or on one. */
typedef struct {
    int64_t gpu[16];
    int64_t cpu[16];
} both_t;

static double cost_s(both_t sent, const char *strategy, int64_t nodes, const pto_machine_t *machine,
                     double *simulated_by_s) {
    pto_counts_t cpu = {.kind = PTO_COUNTS_MATRIX, .order = 4, .matrix = sent.cpu};
    pto_counts_t counts = {.kind = PTO_COUNTS_MATRIX, .order = 4, .matrix = sent.gpu, .host = &cpu};
    pto_request_t request = exchange(&counts, strategy, nodes, 4 / nodes, 1, MIB);
    request.layout.gpus_per_socket = 4 / nodes;
    pto_plan_t *plan = must_plan(&request);
    *simulated_by_s = must_simulate(plan, machine).seconds;
    return must_price(plan, machine).seconds;
}

/* Process 0 sends from GPU memory and process 1, of the same node, from host memory: neither alone waits for
 * the node, and together they do. The price is less than the sum of both, and not that of one memory. */
TEST(injection_is_shared) {
    pto_machine_t machine = machine_with("injection: {cpu: {s_per_byte: 9e-11}, gpu: {s_per_byte: 8e-11}}\n");
    both_t gpu = {.gpu = {[2] = MIB}}, cpu = {.cpu = {[7] = MIB}}, both = gpu, added = gpu;
    both.cpu[7] = MIB;
    added.gpu[7] = MIB;
    double own_s[2], simulated_own_s[2], simulated_both_s, ignored;
    own_s[0] = cost_s(gpu, "cuda_aware", 2, &machine, &simulated_own_s[0]);
    own_s[1] = cost_s(cpu, "cuda_aware", 2, &machine, &simulated_own_s[1]);
    double both_s = cost_s(both, "cuda_aware", 2, &machine, &simulated_both_s);
    assert_near_for(own_s[0], 7e-6 + 1e-10 * MIB, 1e-12, "GPU alone");
    assert_near_for(own_s[1], 3e-6 + 1e-10 * MIB, 1e-12, "CPU alone");
    assert_near_for(both_s, 7e-6 + (8e-11 + 9e-11) * MIB, 1e-12, "both");
    assert_true(both_s > own_s[0] && both_s < own_s[0] + own_s[1]);
    assert_near_for(cost_s(added, "cuda_aware", 2, &machine, &ignored), 7e-6 + 2 * 8e-11 * MIB, 1e-12,
                    "added in one memory");
    assert_true(simulated_both_s > simulated_own_s[0] * 1.3 && simulated_both_s > simulated_own_s[1] * 1.3);
    assert_true(simulated_both_s < simulated_own_s[0] + simulated_own_s[1]);
}

/* One process that sends both pays both starts and the bytes of both. */
TEST(a_process_sends_both) {
    pto_machine_t machine = machine_with("");
    both_t both = {.gpu = {[2] = MIB}, .cpu = {[2] = 2 * MIB}};
    double ignored;
    assert_near_for(cost_s(both, "cuda_aware", 2, &machine, &ignored), 3e-6 + 7e-6 + 3e-10 * MIB, 1e-12,
                    "both");
}

/* Equal counts by their kind, or as a table that happens to be equal. */
TEST(equal_counts_beside_others_are_priced_rank_by_rank) {
    pto_machine_t machine = machine_with("");
    double seconds[2];
    for (int table = 0; table < 2; table++) {
        pto_counts_t counts = parsed(table ? "{gpu: {skew: 0}, cpu: {pattern: stencil, dims: [4]}}"
                                           : "{gpu: equal, cpu: {pattern: stencil, dims: [4]}}");
        pto_request_t request = exchange(&counts, "cuda_aware", 2, 2, 1, MIB);
        pto_plan_t *plan = must_plan(&request);
        seconds[table] = must_price(plan, &machine).seconds;
    }
    assert_near_for(seconds[0], 2 * (7e-6 + 1e-10 * MIB) + 5e-6 + 2e-10 * MIB + 3e-6 + 2e-6 + 2e-10 * MIB,
                    1e-12, "the busiest");
    assert_true(seconds[0] == seconds[1]);
}

TEST(bytes_of_both_are_counted) {
    pto_counts_t both = parsed("{gpu: equal, cpu: equal}"), one = {.kind = PTO_COUNTS_EQUAL};
    pto_request_t request = exchange(&one, "cuda_aware", 1, 4, 1, INT64_C(1) << 52);
    pto_plan_t *plan = must_plan(&request);
    pto_error_t err = {0};
    request.counts = &both;
    assert_non_null(strstr(no_plan(&request, PTO_ERR_RANGE), "more bytes than can be counted"));
    both = parsed("{gpu: equal, cpu: {pattern: stencil, dims: [4], weights: [1000]}}");
    request.bytes >>= 8;
    assert_int_equal(pto_plan_create(&request, &plan, &err), PTO_ERR_RANGE);
}

/* A staged pattern and one in host memory use the memory of the same socket. */
TEST(host_memory_is_shared) {
    pto_machine_t machine = machine_with("memory: {host_s_per_byte: 4e-11}\n");
    both_t gpu = {.gpu = {[1] = MIB}}, cpu = {.cpu = {[11] = MIB}}, both = gpu;
    both.cpu[11] = MIB;
    double simulated_own_s[2], simulated_both_s, copies_s = 2 * 4e-11 * MIB;
    double gpu_s = cost_s(gpu, "three_step", 1, &machine, &simulated_own_s[0]);
    double cpu_s = cost_s(cpu, "cuda_aware", 1, &machine, &simulated_own_s[1]);
    double both_s = cost_s(both, "three_step", 1, &machine, &simulated_both_s);
    assert_near_for(cpu_s, 2e-6 + 1e-10 * MIB, 1e-12, "CPU alone");
    assert_near_for(gpu_s, copies_s + 2e-6 + 1e-10 * MIB, 1e-12, "GPU alone");
    assert_near_for(both_s, copies_s + 2e-6 + 4 * 4e-11 * MIB, 1e-12, "both");
    assert_true(both_s > gpu_s && both_s < gpu_s + cpu_s);
    assert_true(simulated_both_s > simulated_own_s[0] && simulated_both_s > simulated_own_s[1]);
}

/* Messages in host memory pass between the sockets of their GPUs: here over the link of the GPUs' messages.
 */
TEST(links_are_shared) {
    pto_machine_t machine = machine_with("fabric: [{nodes: 1, s_per_byte: 8e-11}]\n");
    both_t gpu = {.gpu = {[2] = MIB}}, both = {.gpu = {[2] = MIB}, .cpu = {[7] = MIB}};
    double simulated_own_s, simulated_both_s;
    assert_near_for(cost_s(gpu, "cuda_aware", 2, &machine, &simulated_own_s), 7e-6 + 1e-10 * MIB, 1e-12,
                    "alone");
    assert_near_for(cost_s(both, "cuda_aware", 2, &machine, &simulated_both_s), 7e-6 + 2 * 8e-11 * MIB, 1e-12,
                    "both");
    assert_true(simulated_both_s > 1.3 * simulated_own_s);
}

/* --- input ---------------------------------------------------------------------------------------------- */

static const char scenario[] = "scenario: x\nmachine: m.yaml\ncollective: alltoallv\n"
                               "implementation: isend_irecv\nlayout: {nodes: 2, gpus_per_node: 2}\n"
                               "bytes: 64\ncounts: %s\n";

TEST(bad_input_is_refused_with_its_place) {
    static const struct {
        const char *counts;
        const char *message;
        int column;
    } row[] = {
        {"{gpu: {pattern: stencil, dims: [4]}}", "missing key 'cpu' in 'counts'", 9},
        {"{cpu: {pattern: stencil, dims: [4]}}", "missing key 'gpu' in 'counts'", 9},
        {"{gpu: equal, cpu: equal, host: equal}", "unknown key 'host' in 'counts'; known are: gpu, cpu", 34},
        {"{gpu: equal, cpu: equal, skew: 0.5}", "unknown key 'skew' in 'counts'", 34},
        {"{gpu: equal, cpu: {gpu: equal, cpu: equal}}", "unknown key 'gpu' in 'counts'", 28},
        {"{gpu: equal, gpu: equal, cpu: equal}", "'gpu'", 22},
        {"{gpu: equal, cpu: some}", "counts: expected equal", 27},
        {"{gpu: {skew: 0.5}, cpu: {skew: 2}}", "skew must be in [0, 1], not 2", 40},
        {"{gpu: {pattern: stencil, dims: [4]}, cpu: {pattern: groups, dims: [2, 3]}}",
         "gpu is for 4 processes, cpu for 6", 9},
        {"{gpu: equal, cpu: {pattern: groups, dims: [2, 2], along: 2}}", "along: there is no dimension 2",
         27},
        {"{gpu: equal, cpu: {matrix: none.csv}}", "none.csv", 36},
        {"{gpu: {pattern: stencil, dims: [6]}, cpu: equal}",
         "the dims of the pattern make 6 processes, but 4 processes hold data", 9},
        {"{gpu: equal, cpu: {pattern: stencil, dims: [6]}}",
         "the dims of the pattern make 6 processes, but 4 processes hold data", 9},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char text[512];
        pto_scenario_t read;
        pto_error_t err = {0};
        snprintf(text, sizeof text, scenario, row[i].counts);
        if (pto_scenario_parse(text, strlen(text), "s.yaml", &read, &err) == PTO_OK)
            fail_msg("%s was accepted", row[i].counts);
        if (!strstr(err.message, row[i].message) || err.line != 7 || err.column != row[i].column ||
            strcmp(err.file, "s.yaml") != 0)
            fail_msg("%s: %s:%d:%d: %s", row[i].counts, err.file, err.line, err.column, err.message);
    }
}

/* A program's profile has both patterns: rows go by the memory that their bytes leave. */
TEST(rows_of_a_profile_are_taken_by_space) {
    pto_counts_t counts = parsed("{gpu: {matrix: tests/fixtures/spaces.csv, space: gpu}, "
                                 "cpu: {matrix: tests/fixtures/spaces.csv, space: cpu}}");
    const int64_t gpu[16] = {[1] = 1000, [11] = 200}, cpu[16] = {[1] = 30, [6] = 500};
    for (int i = 0; i < 16; i++) {
        assert_int_equal(pto_counts_bytes(&counts, 0, i / 4, i % 4), gpu[i]);
        assert_int_equal(pto_counts_bytes(counts.host, 0, i / 4, i % 4), cpu[i]);
    }
    assert_false(pto_counts_scale(&counts));
    counts = parsed("{matrix: tests/fixtures/spaces.csv}");
    assert_int_equal(pto_counts_bytes(&counts, 0, 2, 3), 209);
    pto_error_t err = {0};
    assert_int_equal(pto_counts_parse("{matrix: tests/fixtures/square.csv, space: gpu}", "c", &counts, &err),
                     PTO_ERR_KEY);
    assert_non_null(strstr(err.message, "names no spaces"));
    assert_string_equal(err.file, "tests/fixtures/square.csv");
    assert_int_equal(pto_counts_parse("{matrix: tests/fixtures/spaces.csv, space: gpus}", "c", &counts, &err),
                     PTO_ERR_NOT_FOUND);
    assert_int_equal(pto_counts_parse("{skew: 0.5, space: gpu}", "c", &counts, &err), PTO_ERR_KEY);
}

/* Only two matrices say all that there is to send. */
TEST(a_pattern_beside_a_matrix_needs_bytes) {
    char text[512];
    pto_error_t err = {0};
    snprintf(text, sizeof text, scenario, "{gpu: {matrix: tests/fixtures/spaces.csv}, cpu: equal}");
    pto_scenario_t read = must_ask(text);
    pto_scenario_fini(&read);
    memcpy(strstr(text, "bytes"), "#    ", 5);
    assert_int_equal(pto_scenario_parse(text, strlen(text), "s.yaml", &read, &err), PTO_ERR_KEY);
    assert_non_null(strstr(err.message, "missing key 'bytes'"));
    snprintf(text, sizeof text, scenario,
             "{gpu: {matrix: tests/fixtures/spaces.csv}, cpu: {matrix: tests/fixtures/spaces.csv}}");
    assert_int_equal(pto_scenario_parse(text, strlen(text), "s.yaml", &read, &err), PTO_ERR_KEY);
    assert_non_null(strstr(err.message, "cannot both be given"));
    assert_int_equal(err.line, 6);
    memcpy(strstr(text, "bytes"), "#    ", 5);
    assert_int_equal(pto_scenario_parse(text, strlen(text), "s.yaml", &read, &err), PTO_OK);
    assert_int_equal(read.bytes.value[0], 1000 + 30);
    pto_scenario_fini(&read);
}

TEST(the_library_has_no_call_for_two_patterns) {
    char text[512];
    pto_scenario_t read;
    pto_error_t err = {0};
    snprintf(text, sizeof text, scenario, "{gpu: equal, cpu: equal}");
    memcpy(strstr(text, "isend_irecv"), "library    ", strlen("isend_irecv"));
    assert_int_not_equal(pto_scenario_parse(text, strlen(text), "s.yaml", &read, &err), PTO_OK);
    assert_non_null(strstr(err.message, "give implementation: isend_irecv"));
    assert_int_equal(err.line, 7);
}

TEST(descriptions_name_both) {
    pto_counts_t counts = parsed("{gpu: {pattern: stencil, dims: [2, 4]}, cpu: {skew: 0.5, seed: 3}}");
    char text[200];
    assert_string_equal(pto_counts_describe(&counts, text, sizeof text),
                        "gpu: stencil on 2 x 4; cpu: skew 0.5 (seed 3)");
    counts = parsed("{gpu: equal, cpu: {pattern: groups, dims: [4, 2], along: 1}}");
    assert_string_equal(pto_counts_describe(&counts, text, sizeof text),
                        "gpu: equal; cpu: groups on 4 x 2, along dimension 1");
}
