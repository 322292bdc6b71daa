/* A simulation with a trace shows all links and passes through the loop for any simulation, one without
 * leaves out what can delay nothing (simulate/run.c). Both take the same time, to the last bit. */
#include "built.h"
#include "must.h"
#include "portolan/strategy.h"
#include "sample.h"
#include "simulated.h"
#include "test.h"

static void count(void *context, const pto_span_t *span) {
    *(int64_t *)context += span->resource == PTO_RESOURCE_RECV;
}

static void assert_same_use(const pto_simulation_t *traced, const pto_simulation_t *plain, const char *what) {
    for (int i = 0; i < PTO_RESOURCE_COUNT; i++) {
        const pto_resource_use_t *a = &traced->use[i], *b = &plain->use[i];
        bool is_sum = i == PTO_RESOURCE_INJECTION || i == PTO_RESOURCE_EJECTION; /* in another order */
        bool same =
            a->busy_s == b->busy_s && a->waiting_s == b->waiting_s && a->most_busy_s == b->most_busy_s;
        if (is_sum) /* of differences of times */
            same = fabs(a->busy_s - b->busy_s) <= 1e-12 * traced->seconds;
        if (a->count != b->count || !same)
            fail_msg("%s: %s differs with a trace", what, pto_resource_name((pto_resource_t)i));
    }
}

static int compared;

static void compare(const pto_request_t *request, const pto_machine_t *machine) {
    pto_plan_t *plan;
    pto_simulation_t traced, plain;
    int64_t received = 0;
    pto_simulate_options_t options = {.visit = count, .context = &received};
    char what[160];
    snprintf(what, sizeof what, "%s by %s, %s, %lldx%lldx%lld, %lld bytes",
             pto_collective_name(request->collective), request->strategy->name, request->algorithm->name,
             (long long)request->layout.nodes, (long long)request->layout.gpus_per_node,
             (long long)request->layout.procs_per_gpu, (long long)request->bytes);
    if (pto_plan_create(request, &plan, NULL) != PTO_OK)
        return;
    pto_status_t status = pto_simulate(plan, machine, &options, &traced, NULL);
    assert_int_equal(pto_simulate(plan, machine, NULL, &plain, NULL), status);
    if (status == PTO_OK) {
        if (traced.seconds != plain.seconds || traced.slowest_rank != plain.slowest_rank)
            fail_msg("%s: %.17g with a trace, %.17g without", what, traced.seconds, plain.seconds);
        assert_int_equal(received, plain.messages);
        assert_int_equal(traced.messages, plain.messages);
        assert_int_equal(traced.most_in_flight, plain.most_in_flight);
        assert_same_use(&traced, &plain, what);
        for (int i = PTO_RESOURCE_COPY_H2D; i < PTO_RESOURCE_COUNT; i++)
            assert_int_equal(plain.use[i].count, request->layout.nodes * request->layout.gpus_per_node);
        compared++;
    }
    pto_plan_destroy(plan);
}

static void compare_all(const pto_machine_t *machine, pto_layout_t layout, int64_t bytes) {
    static int asked;
    const int every = test_sample() > 1 ? 7 : 1;
    pto_request_t request = {.layout = layout,
                             .datatype = PTO_DATATYPE_FLOAT,
                             .bytes = bytes,
                             .messages = 5,
                             .halo = {.dim_count = 2, .wrap = {true, true}, .extent = {10, 22}, .width = 1},
                             .by_library = true};
    for (int at = 0; next_request(&request, &at);)
        if (asked++ % every == 0)
            compare(&request, machine);
}

TEST(a_trace_changes_no_time) {
    const pto_layout_t layouts[] = {
        {5, 1, 1, 1, 2, false}, {8, 1, 1, 1, 2, false}, {3, 3, 1, 1, 2, false}, {4, 2, 1, 2, 2, false}};
    const int64_t sizes[] = {256, 65536}; /* eager and rendezvous */
    pto_machine_t slower = unlimited(&summit);
    for (int space = 0; space < PTO_SPACE_COUNT; space++)
        slower.both_ways[space] = (pto_param_t){.value = 0.5, .line = 1};
    const pto_machine_t machines[] = {unlimited(&summit), slower, summit, refit};
    compared = 0;
    for (size_t m = 0; m < sizeof machines / sizeof *machines; m++)
        for (size_t l = 0; l < sizeof layouts / sizeof *layouts; l++)
            for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
                compare_all(&machines[m], layouts[l], sizes[i]);
    print_message("%d simulations compared\n", compared);
    assert_true(compared > 2000 / test_sample());
}

/* Everybody sends its block to the next process (sign: 1) or the previous one, or receives it from there. */
static void build_around(pto_builder_t *builder, const pto_exchange_t *all, pto_step_kind_t kind, int buffer,
                         int sign) {
    pto_step_t step = pto_step_of(kind, all);
    step.peers = pto_peers_at(pto_constant(1), kind == PTO_STEP_SEND ? sign : -sign);
    step.source = step.target = pto_slice_block(buffer, PTO_ANCHOR_ME);
    pto_build_step(builder, step);
}

/* To the next process, then to the previous one, in two steps of one stage. */
static void build_both_neighbors(pto_builder_t *builder, const pto_request_t *request) {
    int64_t n = pto_layout_owner_count(&request->layout);
    pto_exchange_t all = owners_exchange(builder, n);
    int in = owners_host_input(builder, n, request->bytes);
    pto_build_stage(builder, "both neighbors", PTO_ORDER_AT_ONCE);
    for (int kind = PTO_STEP_SEND; kind <= PTO_STEP_RECV; kind++)
        for (int sign = 1; sign >= -1; sign -= 2)
            build_around(builder, &all, (pto_step_kind_t)kind, in, sign);
}

TEST(a_stage_may_send_in_several_steps) {
    pto_machine_t machine = unlimited(&summit);
    pto_request_t request = ask(PTO_COLLECTIVE_ALLTOALL, "cuda_aware", "linear", 9, 1, 1, 65536);
    request.strategy = strategy_made_of(request.collective, build_both_neighbors);
    pto_plan_t *plan = must_plan(&request);
    pto_simulation_t simulation = must_simulate(plan, &machine);
    assert_int_equal(simulation.messages, 2 * 9);
    assert_near_for(simulation.seconds, must_walk(plan, &machine).seconds, 1e-12, "seconds");
}

/* Some copy, then all do, then all twice in one stage, and again between messages. */
static void build_copies(pto_builder_t *builder, const pto_request_t *request) {
    int64_t n = pto_layout_owner_count(&request->layout);
    pto_exchange_t all = owners_exchange(builder, n);
    pto_buffer_t buffer = owners_blocks("in", PTO_ROLE_IN, n, request->bytes);
    int in = pto_build_buffer(builder, buffer);
    buffer.name = "other";
    buffer.role = PTO_ROLE_TEMPORARY;
    int other = pto_build_buffer(builder, buffer);
    const pto_slice_t here = pto_slice_all(builder, in), there = pto_slice_all(builder, other);
    const pto_step_t by_all = pto_step_of(PTO_STEP_COPY, &all);
    pto_step_t by_some = by_all;
    by_some.who_first = pto_constant(n / 2);
    add_copy_stage(builder, "some", by_some, here, there);
    add_copy_stage(builder, "all", by_all, here, there);
    add_copy_stage(builder, "twice", by_all, here, there);
    add_copy(builder, by_all, there, here);
    for (int i = 0; i < 2; i++) {
        pto_build_stage(builder, "around, then all", PTO_ORDER_SEQUENCE);
        build_around(builder, &all, PTO_STEP_SEND, in, 1);
        build_around(builder, &all, PTO_STEP_RECV, other, 1);
        add_copy(builder, by_all, there, here);
    }
}

/* A copy behind another of its process costs less than the first, so processes that did not make the copy
 * before pay more for the one that all make. */
TEST(a_trace_changes_no_copy) {
    pto_machine_t behind = unlimited(&summit), queued = unlimited(&refit);
    behind.queued_copy_s[PTO_COPY_D2D] = (pto_param_t){.value = 1e-7, .line = 1};
    const pto_machine_t *const machines[] = {&behind, &queued};
    for (int m = 0; m < 2; m++)
        for (int64_t nodes = 2; nodes < 9; nodes++) {
            pto_request_t request = ask(PTO_COLLECTIVE_ALLTOALL, "cuda_aware", "linear", nodes, 1, 1, 4096);
            request.strategy = strategy_made_of(request.collective, build_copies);
            int before = compared;
            compare(&request, machines[m]);
            assert_int_equal(compared, before + 1);
        }
}

int main(void) { return run_all_tests(read_machines, NULL); }
