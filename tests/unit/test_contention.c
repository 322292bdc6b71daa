/* The links of a node under load: what price and simulate add where messages and copies share them. */
#include "must.h"
#include "parsed_counts.h"
#include "portolan/price.h"
#include "price/paths.h"
#include "simulated.h"
#include "test.h"

/* --- machines ------------------------------------------------------------------------------------------- */

/* Messages and copies that cost next to nothing themselves. */
static const char light[] = "machine: m\nsource: s\nnode: {sockets: %d, gpus: %d, cores: %d}\nmessages:\n"
                            "  cpu: {on_socket: [{protocol: eager, alpha_s: 0, beta_s_per_byte: 1e-17}],"
                            " on_node: [{protocol: eager, alpha_s: 0, beta_s_per_byte: 1e-17}]}\n"
                            "  gpu: {on_socket: [{protocol: eager, alpha_s: 0, beta_s_per_byte: 1e-17}],"
                            " on_node: [{protocol: eager, alpha_s: 0, beta_s_per_byte: 1e-17}]}\n"
                            "copies:\n"
                            "  h2d: {on_socket: {alpha_s: 0, beta_s_per_byte: 1e-17}}\n"
                            "  d2h: {on_socket: {alpha_s: 0, beta_s_per_byte: 1e-17}}\n%s";

static pto_machine_t light_machine(int sockets, int gpus, const char *topology) {
    char text[4096];
    snprintf(text, sizeof text, light, sockets, gpus, gpus, topology);
    return must_parse(text);
}

static pto_machine_t k80(void) {
    return light_machine(2, 16, "topology: scenarios/topologies/k80-2-2-2-2.yaml\n");
}

/* --- exchanges ------------------------------------------------------------------------------------------ */

enum { RANKS_MAX = 16, UNIT_BYTES = 1 << 20 };

/* What each rank sends to each other, in units. */
typedef struct {
    int ranks;
    int64_t sent[RANKS_MAX * RANKS_MAX];
} pattern_t;

typedef struct {
    double price_s;
    double simulate_s;
} cost_t;

/* All messages at once, one process a GPU. */
static cost_t cost_on(pattern_t pattern, int nodes, const char *strategy, const pto_machine_t *machine) {
    for (int i = 0; i < pattern.ranks * pattern.ranks; i++)
        pattern.sent[i] *= UNIT_BYTES;
    pto_counts_t counts = {.kind = PTO_COUNTS_MATRIX, .order = pattern.ranks, .matrix = pattern.sent};
    pto_request_t request =
        ask(PTO_COLLECTIVE_ALLTOALLV, strategy, "linear", nodes, pattern.ranks / nodes, 1, UNIT_BYTES);
    request.layout.gpus_per_socket = machine->node.gpus / machine->node.sockets;
    request.implementation = PTO_IMPLEMENTATION_ISEND_IRECV;
    request.by_library = false;
    request.counts = &counts;
    pto_plan_t *plan = must_plan(&request);
    cost_t cost = {must_price(plan, machine).seconds, must_simulate(plan, machine).seconds};
    return cost;
}

static cost_t cost_of(pattern_t pattern, const char *strategy, const pto_machine_t *machine) {
    return cost_on(pattern, 1, strategy, machine);
}

/* --- patterns of the thesis (chapter 6) ----------------------------------------------------------------- */

/* What the processes send to each other, by the value of a scenario's `counts`. */
static pattern_t pattern_of(const char *text) {
    const pto_counts_t counts = parsed(text);
    pattern_t pattern = {.ranks = (int)pto_counts_order(&counts)};
    for (int i = 0; i < pattern.ranks; i++)
        for (int j = 0; j < pattern.ranks; j++)
            pattern.sent[i * pattern.ranks + j] = i == j ? 0 : pto_counts_bytes(&counts, 1, i, j);
    return pattern;
}

/* The pattern after each rank has been moved to another GPU. */
static pattern_t moved(const pattern_t *pattern, const int *gpu) {
    pattern_t result = {.ranks = pattern->ranks};
    for (int i = 0; i < pattern->ranks; i++)
        for (int j = 0; j < pattern->ranks; j++)
            result.sent[gpu[i] * pattern->ranks + gpu[j]] = pattern->sent[i * pattern->ranks + j];
    return result;
}

/* --- the tree of 16 GPUs -------------------------------------------------------------------------------- */

typedef struct {
    int64_t load[4]; /* most of one direction of a link: of a GPU, a board, four GPUs, a socket */
} loads_t;

/* The level of a link by the kind of its ends; -1: of the NIC. */
static int level_of(const pto_topology_t *topology, const pto_topology_link_t *link) {
    const char *from = pto_topology_vertex_name(topology, link->from);
    const char *to = pto_topology_vertex_name(topology, link->to);
    if (*from == 'g' || *to == 'g')
        return 0;
    if (*from == 'n' || *to == 'n')
        return -1;
    return strncmp(from, "switch", 6) == 0 || strncmp(to, "switch", 6) == 0 ? 1
           : *from == 'b' || *to == 'b'                                     ? 2
                                                                            : 3;
}

static loads_t loads_of(const pattern_t *pattern, const pto_topology_t *topology) {
    static int64_t carried[PTO_TOPOLOGY_VERTICES_MAX];
    loads_t loads = {{0}};
    memset(carried, 0, sizeof carried);
    for (int i = 0; i < pattern->ranks * pattern->ranks; i++) {
        const int *link;
        int count = pto_topology_route(topology, i / pattern->ranks, i % pattern->ranks, &link);
        for (int j = 0; j < count; j++)
            carried[link[j]] += pattern->sent[i];
    }
    for (int i = 0; i < pto_topology_link_count(topology); i++) {
        int level = level_of(topology, pto_topology_link_at(topology, i));
        if (level >= 0 && carried[i] > loads.load[level])
            loads.load[level] = carried[i];
    }
    return loads;
}

static void assert_loads(const pattern_t *pattern, const pto_topology_t *topology, const loads_t *expected,
                         const char *name) {
    loads_t loads = loads_of(pattern, topology);
    for (int level = 0; level < 4; level++)
        if (loads.load[level] != expected->load[level])
            fail_msg("%s: level %d carries %lld, not %lld", name, level, (long long)loads.load[level],
                     (long long)expected->load[level]);
}

/* Rank i on GPU i: the loads, and the time of the busiest link in units of a byte between the sockets. */
TEST(default_loads_and_times_are_those_of_the_thesis_node) {
    static const struct {
        const char *counts;
        loads_t loads;
        double time;
    } row[] = {
        {"{pattern: stencil, dims: [4, 4]}", {{4, 5, 8, 4}}, 7.547},
        {"{pattern: stencil, dims: [4, 4], wrap: [1, 1]}", {{4, 6, 8, 8}}, 8},
        {"{pattern: stencil, dims: [4, 4], weights: [3, 1]}", {{8, 13, 24, 12}}, 22.642},
        {"{pattern: stencil, dims: [4, 4], wrap: [1, 1], weights: [3, 1]}", {{8, 14, 24, 24}}, 24},
        {"{pattern: stencil, dims: [4, 4], weights: [1, 3]}", {{8, 7, 8, 4}}, 7.547},
        {"{pattern: stencil, dims: [2, 2, 4]}", {{4, 5, 8, 8}}, 8},
        {"{pattern: stencil, dims: [2, 2, 4], wrap: [1, 1, 1]}", {{6, 10, 16, 16}}, 16},
        {"{pattern: stencil, dims: [2, 2, 4], weights: [3, 1, 1]}", {{6, 9, 16, 24}}, 24},
        {"{pattern: stencil, dims: [2, 2, 4], wrap: [1, 1, 1], weights: [3, 1, 1]}", {{10, 18, 32, 48}}, 48},
        {"{pattern: stencil, dims: [2, 2, 4], weights: [1, 1, 3]}", {{8, 7, 8, 8}}, 8},
        {"{pattern: groups, dims: [4, 2, 2], along: 0}", {{3, 6, 12, 16}}, 16},
        {"{pattern: groups, dims: [2, 2, 4], along: 2}", {{3, 4, 0, 0}}, 2.21},
    };
    pto_machine_t machine = k80(), fabric = must_read("tests/fixtures/k80-fabric.yaml");
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const pattern_t pattern = pattern_of(row[i].counts);
        assert_loads(&pattern, machine.topology, &row[i].loads, row[i].counts);
        cost_t cost = cost_of(pattern, "cuda_aware", &machine);
        assert_near_for(cost.price_s / (UNIT_BYTES * 4e-10), row[i].time, 1e-4, row[i].counts);
        /* Sends and receives of a rank follow each other, so that the links are not always in use. */
        assert_true(cost.simulate_s > cost.price_s * 0.999);
        assert_true(cost.simulate_s < cost.price_s * 1.6);
        /* The same between nodes, where a rank's messages also follow each other on its own link. */
        cost = cost_on(pattern, 16, "cuda_aware", &fabric);
        assert_near_for(cost.price_s / (UNIT_BYTES * 4e-10), row[i].time, 1e-3, row[i].counts);
        assert_true(cost.simulate_s > cost.price_s * 0.999);
        assert_true(cost.simulate_s < cost.price_s * 2);
    }
}

/* The best mapping turns the heavy first dimension to where the links are fast: the maximum falls from 24 to
 * 6 units, between the sockets from 24 to 4 (the thesis's 1600 to 264). */
TEST(a_mapping_moves_the_weighted_dimension_to_the_fast_links) {
    pto_machine_t machine = k80();
    pattern_t weighted = pattern_of("{pattern: stencil, dims: [2, 2, 4], weights: [3, 1, 1]}");
    pattern_t plain = pattern_of("{pattern: stencil, dims: [4, 4]}");
    int gpu[RANKS_MAX], square[RANKS_MAX];
    for (int rank = 0; rank < RANKS_MAX; rank++) {
        int first = rank / 8, second = rank / 4 % 2, third = rank % 4;
        gpu[rank] = third / 2 * 8 + second * 4 + third % 2 * 2 + first;
        int row = rank / 4, column = rank % 4; /* squares of 2 x 2 ranks */
        square[rank] = (row / 2 * 2 + column / 2) * 4 + row % 2 * 2 + column % 2;
    }
    pattern_t mapped = moved(&weighted, gpu), squares = moved(&plain, square);
    assert_loads(&mapped, machine.topology, &(loads_t){{6, 6, 6, 4}}, "3D weighted, mapped");
    assert_near_for(cost_of(mapped, "cuda_aware", &machine).price_s / (UNIT_BYTES * 4e-10), 5.66, 1e-3, "3D");
    /* 2D: alike except at the links of four GPUs, 8 and 4 units. */
    assert_loads(&squares, machine.topology, &(loads_t){{4, 5, 4, 4}}, "2D, mapped");
    assert_near_for(cost_of(squares, "cuda_aware", &machine).price_s / (UNIT_BYTES * 4e-10), 4, 1e-3, "2D");
}

/* --- fairness ------------------------------------------------------------------------------------------- */

/* Link A, of rate 10, carries GPU 0 to 1 and GPU 2 to 3; link B, of rate 4, carries GPU 2 to 3 and GPU 4
 * to 5. */
static const char two_links[] = "topology:\n"
                                "  devices: {gpus: 6, sockets: 1}\n"
                                "  links:\n"
                                "    - {between: [switch.0, switch.1], s_per_byte: 1e-10}\n"
                                "    - {between: [switch.1, switch.2], s_per_byte: 2.5e-10}\n"
                                "    - {between: [socket.0, switch.0], s_per_byte: 1e-17}\n"
                                "    - {between: [gpu.0, switch.0], s_per_byte: 1e-17}\n"
                                "    - {between: [gpu.1, switch.1], s_per_byte: 1e-17}\n"
                                "    - {between: [gpu.2, switch.0], s_per_byte: 1e-17}\n"
                                "    - {between: [gpu.3, switch.2], s_per_byte: 1e-17}\n"
                                "    - {between: [gpu.4, switch.1], s_per_byte: 1e-17}\n"
                                "    - {between: [gpu.5, switch.2], s_per_byte: 1e-17}\n";

static pattern_t three_messages(int64_t first, int64_t second, int64_t third) {
    pattern_t pattern = {.ranks = 6};
    pattern.sent[0 * 6 + 1] = first;
    pattern.sent[2 * 6 + 3] = second;
    pattern.sent[4 * 6 + 5] = third;
    return pattern;
}

/* Rates 8, 2 and 2, so that the first message has what the second cannot use. Times in units of 1 GB/s. */
TEST(simulate_shares_links_max_min_fairly) {
    pto_machine_t machine = light_machine(1, 6, two_links);
    const double unit_s = UNIT_BYTES * 1e-9;
    const struct {
        int64_t bytes[3];
        double time;
    } row[] = {
        {{8, 0, 0}, 0.8}, {{0, 2, 2}, 1},  {{8, 2, 2}, 1},
        {{8, 4, 2}, 1.5}, {{16, 4, 2}, 2}, /* 8, 2, 2 until 1; 6, 4 until 1.5; then 10 alone */
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        cost_t cost = cost_of(three_messages(row[i].bytes[0], row[i].bytes[1], row[i].bytes[2]), "cuda_aware",
                              &machine);
        assert_near_for(cost.simulate_s, row[i].time * unit_s, 1e-6, "max-min");
        assert_true(cost.price_s <= cost.simulate_s * 1.000001);
    }
}

/* Four GPUs copy over one link to their socket and back; their messages stay on the socket. */
TEST(copies_share_the_links_to_the_host) {
    pto_machine_t machine = k80();
    pattern_t pattern = {.ranks = 16};
    for (int rank = 0; rank < 16; rank++)
        pattern.sent[rank * 16 + (rank ^ 1)] = 1;
    cost_t cost = cost_of(pattern, "three_step", &machine);
    double expected_s = 2 * 4 * UNIT_BYTES * 3.77358491e-10;
    assert_near_for(cost.price_s, expected_s, 1e-6, "price");
    assert_near_for(cost.simulate_s, expected_s, 1e-6, "simulate");
}

/* --- nothing to share ----------------------------------------------------------------------------------- */

/* Each GPU has one link, as fast as its messages and copies. */
static const char one_link[] = "topology: one-link\n"
                               "devices: {gpus: 6, sockets: 2}\n"
                               "links:\n"
                               "  - {between: [gpu.0-5, switch.0], s_per_byte: 1.86e-11}\n"
                               "  - {between: [socket.0-1, switch.0], s_per_byte: 1e-17}\n";

static void assert_same(const pto_request_t *request, const pto_machine_t *without,
                        const pto_machine_t *with) {
    pto_plan_t *plan = NULL;
    if (pto_plan_create(request, &plan, NULL) != PTO_OK)
        return; /* does not apply */
    pto_simulation_t simulation[2];
    pto_price_t price[2];
    pto_error_t err = {0};
    if (pto_price(plan, without, &price[0], NULL, &err) == PTO_OK &&
        pto_simulate(plan, without, NULL, &simulation[0], &err) == PTO_OK) {
        assert_int_equal(pto_price(plan, with, &price[1], NULL, &err), PTO_OK);
        assert_int_equal(pto_simulate(plan, with, NULL, &simulation[1], &err), PTO_OK);
        bool same = price[0].seconds == price[1].seconds && simulation[0].seconds == simulation[1].seconds;
        if (!same)
            fail_msg("%s %s: price %.17g %.17g, simulate %.17g %.17g", request->strategy->name,
                     request->algorithm->name, price[0].seconds, price[1].seconds, simulation[0].seconds,
                     simulation[1].seconds);
    }
    pto_plan_destroy(plan);
}

TEST(one_link_a_gpu_changes_no_digit) {
    pto_machine_t without = completed(&summit);
    /* else the links are all that the host's memory costs */
    without.copies[PTO_COPY_H2H][PTO_REACH_ON_SOCKET] = without.copies[PTO_COPY_H2D][PTO_REACH_ON_SOCKET];
    without.reduce[PTO_SPACE_CPU] = without.reduce[PTO_SPACE_GPU];
    pto_machine_t with = without;
    pto_topology_t *topology = NULL;
    assert_int_equal(pto_topology_create(one_link, strlen(one_link), "t.yaml", &topology, NULL), PTO_OK);
    with.topology = topology;
    pto_request_t request = {.datatype = PTO_DATATYPE_FLOAT, .messages = 5, .by_library = true};
    for (int at = 0; next_request(&request, &at);)
        for (int64_t nodes = 1; nodes <= 3; nodes++)
            for (int64_t bytes = 4096; bytes <= 4 << 20; bytes *= 32) {
                request.layout = (pto_layout_t){nodes, 6, 1, 1, 3, false};
                request.bytes = bytes;
                assert_same(&request, &without, &with);
            }
    pto_topology_destroy(topology);
}

/* The links of a node are counted among its own ranks, whatever the size of the machine; the test would take
 * hours otherwise. */
TEST(a_price_with_links_needs_no_more_work_for_more_nodes) {
    static const char *const algorithm[] = {"ring", "rabenseifner", "recursive_doubling"};
    pto_machine_t with = completed(&summit), without = with;
    pto_topology_t *topology = must_open_topology("scenarios/topologies/k80-2-2-2-2.yaml");
    with.topology = topology;
    for (int i = 0; i < 3; i++) {
        pto_request_t request =
            ask(PTO_COLLECTIVE_ALLREDUCE, "cuda_aware", algorithm[i], 1 << 20, 16, 1, INT64_C(1) << 30);
        request.layout.gpus_per_socket = 8;
        pto_plan_t *plan = must_plan(&request);
        double slower = must_price(plan, &with).seconds / must_price(plan, &without).seconds;
        assert_true(slower > 1.001 && slower < 30);
    }
}

/* Each of three GPUs exchanges a block with either other in one kernel. Its own link carries two each way;
 * the one between the switches, of a quarter of the rate, those of GPU 2. */
TEST(accesses_of_a_kernel_share_links) {
    static const char kernels[] = "remote: {load: {on_socket: {alpha_s: 0, beta_s_per_byte: 1e-17}},"
                                  " store: {on_socket: {alpha_s: 0, beta_s_per_byte: 1e-17}}}\n"
                                  "signals: {flag_s: 0, device_s: 0}\nlaunch: {kernel_s: 0}\n"
                                  "topology:\n  devices: {gpus: 3, sockets: 1}\n  links:\n"
                                  "    - {between: [socket.0, switch.0], s_per_byte: 1e-17}\n"
                                  "    - {between: [gpu.0, switch.0], s_per_byte: 1e-9}\n"
                                  "    - {between: [gpu.1, switch.0], s_per_byte: 1e-9}\n"
                                  "    - {between: [gpu.2, switch.1], s_per_byte: 1e-9}\n"
                                  "    - {between: [switch.0, switch.1], s_per_byte: %s}\n";
    static const struct {
        const char *between;
        double units;
    } row[] = {{"2e-9", 4}, {"4e-9", 8}};
    for (int i = 0; i < 2; i++) {
        char text[2048];
        snprintf(text, sizeof text, kernels, row[i].between);
        pto_machine_t machine = light_machine(1, 3, text);
        pto_request_t request = ask(PTO_COLLECTIVE_ALLTOALL, "gas_allgather", "direct", 1, 3, 1, UNIT_BYTES);
        request.layout.gpus_per_socket = 3;
        assert_near_for(simulated_s(&request, &machine), row[i].units * UNIT_BYTES * 1e-9, 1e-3, "simulate");
    }
}

TEST(a_layout_must_fit_the_topology) {
    pto_machine_t machine = light_machine(1, 6, two_links);
    pto_request_t request = ask(PTO_COLLECTIVE_ALLTOALL, "cuda_aware", "linear", 1, 8, 1, 64);
    request.layout.gpus_per_socket = 8;
    pto_plan_t *plan = must_plan(&request);
    pto_simulation_t simulation;
    pto_error_t err = {0};
    assert_string_equal(no_price(plan, &machine, PTO_ERR_RANGE),
                        "8 GPUs a node, 8 on each socket, are not in a topology of 6 GPUs and 1 sockets");
    assert_int_equal(pto_simulate(plan, &machine, NULL, &simulation, &err), PTO_ERR_RANGE);
}

/* --- between nodes -------------------------------------------------------------------------------------- */

static pto_machine_t connected(const char *limit) {
    char text[1024];
    snprintf(text, sizeof text,
             "machine: m\nsource: s\nnode: {sockets: 1, gpus: 2, cores: 2}\nmessages:\n"
             "  gpu: {on_socket: [{protocol: eager, alpha_s: 1e-6, beta_s_per_byte: 1e-11}],"
             " off_node: [{protocol: eager, alpha_s: 2e-6, beta_s_per_byte: 1e-10}]}\n%s",
             limit);
    return must_parse(text);
}

/* Where a node's link is the only one, a fabric is injection and ejection by another name: for all
 * collectives whose nodes send as much as they receive. */
TEST(a_fabric_of_single_nodes_is_their_injection) {
    pto_machine_t injection = connected("injection: {gpu: {s_per_byte: 9e-11}}\n");
    pto_machine_t fabric = connected("fabric: [{nodes: 1, s_per_byte: 9e-11}]\n");
    static const char *const algorithm[] = {"linear", "pairwise", "bruck"};
    for (int i = 0; i < 3; i++) {
        pto_request_t request = ask(PTO_COLLECTIVE_ALLTOALL, "cuda_aware", algorithm[i], 5, 2, 1, UNIT_BYTES);
        request.by_library = false;
        request.implementation = i == 0 ? PTO_IMPLEMENTATION_ISEND_IRECV : PTO_IMPLEMENTATION_LIBRARY;
        pto_plan_t *plan = must_plan(&request);
        assert_near_for(must_price(plan, &fabric).seconds, must_price(plan, &injection).seconds, 1e-9,
                        algorithm[i]);
        /* A flow is never faster than its message alone; a job of the injection is, for a moment. */
        assert_near_for(must_simulate(plan, &fabric).seconds, must_simulate(plan, &injection).seconds, 1e-2,
                        algorithm[i]);
    }
}

/* Nodes 0 and 1 share a link up, nodes 2 and 3 one down, at half the rate. What crosses neither is not
 * slowed. */
TEST(messages_share_the_links_that_they_cross) {
    pto_machine_t machine = connected("fabric:\n  - {nodes: 1, s_per_byte: 1e-10}\n"
                                      "  - {nodes: 2, s_per_byte: 2e-10, back_s_per_byte: 4e-10}\n");
    const double unit_s = UNIT_BYTES * 1e-10, start_s = 2e-6;
    const struct {
        int from[2], to[2];
        double units;
    } row[] = {
        {{0, 2}, {1, 3}, 1}, /* within both pairs of nodes */
        {{0, 1}, {2, 3}, 8}, /* two messages down one link of a quarter of the rate */
        {{0, 2}, {2, 0}, 4}, /* one each way, down different links */
        {{0, 1}, {2, 0}, 4}, /* one down each */
        {{0, 1}, {2, 2}, 8},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        pattern_t pattern = {.ranks = 4};
        for (int m = 0; m < 2; m++)
            pattern.sent[row[i].from[m] * 4 + row[i].to[m]] += 1;
        cost_t cost = cost_on(pattern, 4, "cuda_aware", &machine);
        assert_near_for(cost.price_s, row[i].units * unit_s + start_s * (i == 4 ? 2 : 1), 1e-6, "price");
        assert_near_for(cost.simulate_s, row[i].units * unit_s + start_s, i == 4 ? 1e-2 : 1e-6, "simulate");
    }
}

/* 7 nodes in groups of 2, of which 2 are a group: the links of 4 groups, up and down, then those of 2. */
TEST(links_of_a_fabric_have_the_rate_of_their_level) {
    pto_fabric_t fabric = {.levels = 2, .level = {{.nodes = 2}, {.nodes = 4}}};
    assert_int_equal(pto_fabric_link_count(&fabric, 7), 8 + 4);
    for (int64_t link = 0; link < 12; link++)
        assert_true(pto_fabric_s_per_byte(&fabric, 7, link) ==
                    &fabric.level[link < 8 ? 0 : 1].s_per_byte[link % 2]);
}

int main(void) { return run_all_tests(read_machines, NULL); }
