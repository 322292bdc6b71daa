/* What processes of a node share besides links: the memory of a socket and, of one that sends and receives at
 * once, its CPU. */
#include "must.h"
#include "plan_request.h"
#include "portolan/price.h"
#include "simulated.h"
#include "test.h"

/* --- machines ------------------------------------------------------------------------------------------- */

/* Copies and messages that start at once; %g: seconds for each byte of a message, a copy between GPU and
 * host, one within the host, and a reduction. */
static const char text[] = "machine: m\nsource: s\nnode: {sockets: 2, gpus: 8, cores: 32}\n"
                           "messages:\n"
                           "  cpu: {on_socket: [{protocol: eager, alpha_s: 1e-7, beta_s_per_byte: %g}]}\n"
                           "  gpu: {on_socket: [{protocol: eager, alpha_s: 1e-7, beta_s_per_byte: 1e-11}]}\n"
                           "copies:\n"
                           "  h2d: {on_socket: {alpha_s: 1e-7, beta_s_per_byte: %g}}\n"
                           "  d2h: {on_socket: {alpha_s: 1e-7, beta_s_per_byte: %g}}\n"
                           "  h2h: {on_socket: {alpha_s: 0, beta_s_per_byte: %g}}\n"
                           "  queued: {h2d: 1e-7, d2h: 1e-7}\n"
                           "reduce: {cpu: {alpha_s: 0, beta_s_per_byte: %g}}\n"
                           "%s";

typedef struct {
    double message;
    double copy;
    double h2h;
    double reduce;
} costs_t;

static pto_machine_t machine_of(costs_t costs, const char *more) {
    char whole[4096];
    snprintf(whole, sizeof whole, text, costs.message, costs.copy, costs.copy, costs.h2h, costs.reduce, more);
    return must_parse(whole);
}

static void remember(pto_param_t *param, double value) { *param = (pto_param_t){.value = value, .line = 1}; }

/* --- requests ------------------------------------------------------------------------------------------- */

static pto_request_t on_one_socket(pto_collective_t collective, const char *strategy, const char *algorithm,
                                   int64_t gpus, int64_t procs, int64_t bytes) {
    pto_request_t request = request_for(collective, strategy, algorithm, 1, gpus, procs, bytes);
    request.layout.gpus_per_socket = gpus;
    request.by_library = false;
    return request;
}

static pto_request_t host_pair(bool both_ways, int64_t bytes) {
    pto_request_t request = on_one_socket(PTO_COLLECTIVE_PAIR, "cuda_aware", "point_to_point", 2, 1, bytes);
    request.ends.from_host = request.ends.to_host = true;
    request.ends.both_ways = both_ways;
    return request;
}

static void assert_times(const pto_request_t *request, const pto_machine_t *machine, double expected_s,
                         double tolerance, const char *what) {
    assert_costs_for(must_plan(request), machine, expected_s, tolerance, what);
}

/* --- the memory ----------------------------------------------------------------------------------------- */

enum { MIB = 1 << 20 };

/* Four GPUs copy four blocks each out and in, each byte once. Twelve messages and each process's copy of its
 * own block read and write. */
TEST(staging_messages_and_copies_take_their_shares_of_the_memory) {
    pto_machine_t machine =
        machine_of((costs_t){1e-17, 1e-17, 1e-17, 1e-17}, "memory: {host_s_per_byte: 1e-11}\n");
    pto_request_t request = on_one_socket(PTO_COLLECTIVE_ALLTOALL, "three_step", "linear", 4, 1, MIB);
    assert_times(&request, &machine, MIB * 1e-11 * (16 + 2 * 12 + 2 * 4 + 16), 1e-2, "alltoall");
}

/* Two sockets have two memories: what each of them reads and writes counts there. */
TEST(each_socket_has_a_memory_of_its_own) {
    pto_machine_t machine =
        machine_of((costs_t){1e-17, 1e-17, 1e-17, 1e-17}, "memory: {host_s_per_byte: 1e-11}\n");
    pto_request_t request =
        on_one_socket(PTO_COLLECTIVE_ALLREDUCE, "dup_devptr", "recursive_doubling", 4, 2, MIB);
    double together_s = priced_s(&request, &machine);
    request.layout.gpus_per_socket = 2;
    machine.messages[PTO_SPACE_CPU][PTO_LEVEL_ON_NODE] = machine.messages[PTO_SPACE_CPU][PTO_LEVEL_ON_SOCKET];
    assert_near_for(priced_s(&request, &machine), together_s / 2, 0.01, "two sockets");
    machine.messages[PTO_SPACE_CPU][PTO_LEVEL_ON_NODE] = (pto_cost_table_t){0};
}

/* A reduction into a target reads two vectors and writes one, unless it is of a piece of small vectors. */
TEST(reductions_read_and_write) {
    costs_t costs = {1e-17, 1e-17, 1e-17, 1e-17};
    pto_machine_t machine = machine_of(costs, "memory: {host_s_per_byte: 1e-11}\n");
    pto_cost_row_t *piece = &machine.reduce[PTO_SPACE_CPU].row[0];
    pto_request_t request =
        on_one_socket(PTO_COLLECTIVE_ALLREDUCE, "three_step", "recursive_doubling", 8, 1, MIB);
    /* Out, three rounds of 8 messages and 8 reductions, in. */
    assert_times(&request, &machine, MIB * 1e-11 * (8 + 3 * (16 + 24) + 8), 1e-2, "as fast as the memory");
    piece->from_bytes = 2 * MIB;
    assert_times(&request, &machine, MIB * 1e-11 * (8 + 3 * 16 + 8), 1e-2, "in caches");
}

/* A lone process takes what it took when it was measured. */
TEST(one_process_alone_shares_nothing) {
    costs_t costs = {1e-10, 2e-11, 1e-10, 1e-12};
    pto_machine_t without = machine_of(costs, ""),
                  with = machine_of(costs, "memory: {host_s_per_byte: 1e-11}\n");
    pto_request_t request = on_one_socket(PTO_COLLECTIVE_PAIR, "three_step", "point_to_point", 2, 1, 3 * MIB);
    assert_true(priced_s(&request, &with) == priced_s(&request, &without));
    assert_true(simulated_s(&request, &with) == simulated_s(&request, &without));
}

/* Chunks of eight GPUs: while messages take their CPUs' time, the memory is what limits. */
TEST(a_pipeline_takes_at_least_the_memorys_time) {
    pto_machine_t machine =
        machine_of((costs_t){1e-12, 1e-12, 1e-12, 1e-12}, "memory: {host_s_per_byte: 1e-11}\n");
    pto_request_t request = on_one_socket(PTO_COLLECTIVE_ALLTOALL, "three_step", "linear", 2, 1, 16 * MIB);
    request.chunks = 16;
    /* Two GPUs copy a block each out and in; two messages read and write. */
    assert_times(&request, &machine, 16 * MIB * 1e-11 * (2 + 4 + 2), 0.05, "in chunks");
}

/* --- both ways ------------------------------------------------------------------------------------------ */

TEST(a_process_that_sends_and_receives_at_once_does_both_slower) {
    pto_machine_t machine = machine_of((costs_t){1e-10, 2e-11, 1e-10, 1e-10}, "");
    pto_request_t one_way = host_pair(false, MIB), both_ways = host_pair(true, MIB);
    const double alone_s = 1e-7 + 1e-10 * MIB;
    assert_times(&both_ways, &machine, alone_s, 1e-9, "unknown");
    for (int i = 0; i <= 4; i++) {
        double ratio = 0.25 * i;
        remember(&machine.both_ways[PTO_SPACE_CPU], ratio);
        assert_times(&one_way, &machine, alone_s, 1e-9, "one way");
        assert_times(&both_ways, &machine, alone_s + ratio * 1e-10 * MIB, 1e-9, "both ways");
    }
}

/* In a tree, a class contains processes that send and others that receive. */
TEST(nobody_in_a_tree_does_both) {
    pto_machine_t machine = machine_of((costs_t){1e-10, 2e-11, 1e-10, 1e-10}, "");
    pto_request_t request = on_one_socket(PTO_COLLECTIVE_BROADCAST, "three_step", "binomial", 8, 1, MIB);
    double alone_s = priced_s(&request, &machine);
    remember(&machine.both_ways[PTO_SPACE_CPU], 1);
    assert_times(&request, &machine, alone_s, 1e-9, "broadcast");
}

/* In a pipeline, the CPU moves the messages and queues the copies; the data are not in its caches. */
TEST(a_pipelines_messages_and_copies_share_the_cpu) {
    enum { CHUNKS = 64 };
    pto_machine_t machine = machine_of((costs_t){1e-10, 2e-11, 1e-10, 1e-10}, "signals: {event_s: 2e-7}\n");
    remember(&machine.both_ways[PTO_SPACE_CPU], 1);
    pto_request_t request =
        on_one_socket(PTO_COLLECTIVE_PAIR, "three_step", "point_to_point", 2, 1, CHUNKS * 4096);
    request.chunks = CHUNKS;
    double message_s = 1e-7 + 1e-10 * 4096, queueing_s = 1e-7 + 2e-7;
    assert_times(&request, &machine, CHUNKS * (message_s + queueing_s), 0.02, "in chunks");
    remember(&machine.staged_message, 0.5);
    assert_times(&request, &machine, CHUNKS * (message_s + 0.5e-10 * 4096 + queueing_s), 0.02, "staged");
}

/* --- any machine ---------------------------------------------------------------------------------------- */

static double uniform(unsigned *seed, double from, double to) {
    *seed = *seed * 1664525u + 1013904223u;
    return from + (to - from) * (double)(*seed >> 8) / (double)(1u << 24);
}

/* Plans in which all processes of a node do the same at the same time. */
TEST(price_and_simulate_agree_where_processes_act_alike) {
    static const struct {
        pto_collective_t collective;
        const char *strategy, *algorithm;
    } row[] = {
        {PTO_COLLECTIVE_PAIR, "three_step", "point_to_point"},
        {PTO_COLLECTIVE_ALLTOALL, "three_step", "pairwise"},
        {PTO_COLLECTIVE_ALLGATHER, "three_step", "ring"},
        {PTO_COLLECTIVE_ALLREDUCE, "three_step", "recursive_doubling"},
        {PTO_COLLECTIVE_ALLREDUCE, "three_step", "ring"},
        {PTO_COLLECTIVE_ALLREDUCE, "dup_devptr", "rabenseifner"},
    };
    unsigned seed = 7;
    for (int i = 0; i < 600; i++) {
        size_t r = (size_t)i % (sizeof row / sizeof *row);
        int64_t gpus = row[r].collective == PTO_COLLECTIVE_PAIR ? 2 : 2 << (i / 6 % 3);
        pto_request_t request = on_one_socket(row[r].collective, row[r].strategy, row[r].algorithm, gpus,
                                              strcmp(row[r].strategy, "dup_devptr") == 0 ? 2 : 1,
                                              (int64_t)uniform(&seed, 1, 1 << 14) * 256);
        request.ends.both_ways = true;
        pto_machine_t machine =
            machine_of((costs_t){uniform(&seed, 1e-11, 1e-10), uniform(&seed, 1e-11, 4e-11),
                                 uniform(&seed, 1e-11, 1e-10), uniform(&seed, 1e-12, 1e-10)},
                       "");
        remember(&machine.host_memory_s_per_byte, uniform(&seed, 1e-12, 2e-11));
        remember(&machine.both_ways[PTO_SPACE_CPU], uniform(&seed, 0, 1));
        const double simulate_s = simulated_s(&request, &machine);
        char what[160];
        snprintf(what, sizeof what, "%d: %s by %s, %s, %lld GPUs, %lld bytes", i,
                 pto_collective_name(row[r].collective), row[r].strategy, row[r].algorithm, (long long)gpus,
                 (long long)request.bytes);
        assert_costs_for(must_plan(&request), &machine, simulate_s, 0.01, what);
    }
}
