/* Topologies of nodes: reading and writing them, and the routes that follow from the links. */
#include <dirent.h>

#include "bad_input.h"
#include "must.h"
#include "portolan/machine.h"
#include "portolan/topology.h"
#include "test.h"

static pto_topology_t *made(const char *text) {
    pto_topology_t *topology = NULL;
    pto_error_t err = {0};
    assert_ok(pto_topology_create(text, strlen(text), "node.yaml", &topology, &err), &err);
    return keep(topology, end_topology);
}

static pto_topology_t *recorded(const char *name) {
    char path[128];
    snprintf(path, sizeof path, "scenarios/topologies/%s.yaml", name);
    return must_open_topology(path);
}

static char *formatted(const pto_topology_t *topology) {
    char *text = NULL;
    assert_int_equal(pto_topology_format(topology, &text, NULL), PTO_OK);
    return keep(text, free);
}

static int gpu(const pto_topology_t *topology, int number) {
    return pto_topology_device(topology, PTO_DEVICE_GPU, number);
}

/* The names of the vertices that a route passes, the first and the last included. */
static const char *path_of(const pto_topology_t *topology, int from, int to) {
    static char text[512];
    const int *link;
    int count = pto_topology_route(topology, from, to, &link);
    char *end = stpcpy(text, pto_topology_vertex_name(topology, from));
    for (int i = 0; i < count; i++) {
        *end++ = ' ';
        int vertex = pto_topology_link_at(topology, link[i])->to;
        end = stpcpy(end, pto_topology_vertex_name(topology, vertex));
    }
    return text;
}

/* --- routes --------------------------------------------------------------------------------------------- */

TEST(a_route_climbs_the_tree_no_higher_than_it_must) {
    pto_topology_t *k80 = recorded("k80-2-2-2-2");
    assert_string_equal(path_of(k80, gpu(k80, 0), gpu(k80, 1)), "gpu.0 switch.0 gpu.1");
    assert_string_equal(path_of(k80, gpu(k80, 0), gpu(k80, 2)), "gpu.0 switch.0 bridge.0 switch.1 gpu.2");
    assert_string_equal(path_of(k80, gpu(k80, 5), gpu(k80, 12)),
                        "gpu.5 switch.2 bridge.1 socket.0 socket.1 bridge.3 switch.6 gpu.12");
    const double level_3 = pto_topology_route_s_per_byte(k80, gpu(k80, 0), gpu(k80, 8));
    const struct {
        int other;
        double ratio;
    } level[] = {{1, 4.47}, {2, 1.81}, {4, 1.06}, {8, 1}};
    for (int i = 0; i < 4; i++) {
        double s_per_byte = pto_topology_route_s_per_byte(k80, gpu(k80, 0), gpu(k80, level[i].other));
        assert_true(level_3 / s_per_byte > level[i].ratio - 1e-6);
        assert_true(level_3 / s_per_byte < level[i].ratio + 1e-6);
    }
    assert_true(pto_topology_route_s_per_byte(k80, gpu(k80, 3), gpu(k80, 3)) <= 0);
}

static const char ring[] = "devices: {gpus: 3, sockets: 1}\n"
                           "links:\n"
                           "  - {between: [gpu.0, gpu.1], s_per_byte: 1e-11}\n"
                           "  - {between: [gpu.1, gpu.2], s_per_byte: 1e-11}\n"
                           "  - {between: [gpu.0-2, socket.0], s_per_byte: 1e-10, back_s_per_byte: 2e-10}\n";

TEST(gpus_pass_nothing_on) {
    pto_topology_t *topology = made(ring);
    assert_string_equal(path_of(topology, 0, 1), "gpu.0 gpu.1");
    assert_string_equal(path_of(topology, 0, 2), "gpu.0 socket.0 gpu.2");
}

TEST(a_file_may_give_other_routes) {
    char text[sizeof ring + 128];
    snprintf(text, sizeof text, "%s%s", ring, "routes: [{between: [gpu.2, gpu.0], through: [gpu.1]}]\n");
    pto_topology_t *topology = made(text);
    assert_string_equal(path_of(topology, 0, 2), "gpu.0 gpu.1 gpu.2");
    assert_string_equal(path_of(topology, 2, 0), "gpu.2 gpu.1 gpu.0");
}

TEST(each_direction_has_its_own_rate) {
    pto_topology_t *topology = made(ring);
    int socket = pto_topology_device(topology, PTO_DEVICE_SOCKET, 0);
    assert_true(pto_topology_route_s_per_byte(topology, 2, socket) < 1.5e-10);
    assert_true(pto_topology_route_s_per_byte(topology, socket, 2) > 1.5e-10);
}

/* --- recorded nodes ------------------------------------------------------------------------------------- */

TEST(a_rate_may_have_an_interval) {
    pto_topology_t *topology =
        made("devices: {gpus: 2, sockets: 1}\nlinks:\n"
             "  - {between: [gpu.0, gpu.1], s_per_byte: 2e-11, s_per_byte_95: [1e-11, 4e-11]}\n"
             "  - {between: [gpu.0-1, socket.0], s_per_byte: 1e-10}\n");
    const pto_param_t *rate = &pto_topology_link_at(topology, 1)->s_per_byte; /* there and back */
    assert_true(rate->has_interval && rate->low < 1.5e-11 && rate->high > 3e-11);
    assert_non_null(strstr(formatted(topology), "s_per_byte: 2e-11, s_per_byte_95: [1e-11, 4e-11]"));
}

TEST(recorded_topologies_are_of_known_source) {
    DIR *folder = opendir("scenarios/topologies");
    int count = 0;
    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char name[sizeof entry->d_name];
        if (*entry->d_name == '.')
            continue;
        snprintf(name, sizeof name, "%s", entry->d_name);
        *strrchr(name, '.') = '\0';
        pto_topology_t *topology = recorded(name);
        assert_string_equal(pto_topology_name(topology), name);
        assert_non_null(pto_topology_source(topology));
        count++;
    }
    closedir(folder);
    assert_int_equal(count, 8);
}

/* NVLink where it is direct; otherwise PCIe, although both GPUs have an NVLink to a third one. */
TEST(the_cube_mesh_falls_back_to_pcie) {
    pto_topology_t *dgx_1 = recorded("dgx-1");
    assert_string_equal(path_of(dgx_1, 0, 4), "gpu.0 gpu.4");
    assert_string_equal(path_of(dgx_1, 0, 5), "gpu.0 switch.0 socket.0 socket.1 switch.2 gpu.5");
}

/* On NVSwitches all pairs are alike: a mapping has nothing to gain. */
TEST(nvswitches_make_all_pairs_alike) {
    static const char *const name[] = {"dgx-2", "h200-x4"};
    for (int i = 0; i < 2; i++) {
        pto_topology_t *topology = recorded(name[i]);
        int gpus = pto_topology_device_count(topology, PTO_DEVICE_GPU);
        double first = pto_topology_route_s_per_byte(topology, 0, 1);
        for (int from = 0; from < gpus; from++)
            for (int to = 0; to < gpus; to++)
                if (from != to)
                    assert_true(fabs(pto_topology_route_s_per_byte(topology, from, to) - first) < 1e-18);
    }
}

/* --- files ---------------------------------------------------------------------------------------------- */

TEST(faults_are_reported_at_their_place) {
#define HEAD "devices: {gpus: 2, sockets: 1}\nlinks:\n"
#define LINK "  - {between: [gpu.0-1, switch.0], s_per_byte: 1e-11}\n"
#define HOST "  - {between: [switch.0, socket.0], s_per_byte: 1e-11}\n"
    const bad_input_t bad[] = {
        BAD(HEAD LINK, PTO_ERR_RANGE, 3, 3, "no route from gpu.0 to socket.0"),
        BAD(HEAD "  - {between: [gpu.0-2, switch.0], s_per_byte: 1e-11}\n", PTO_ERR_NOT_FOUND, 3, 5,
            "there is no gpu.2"),
        BAD(HEAD LINK LINK, PTO_ERR_RANGE, 4, 5, "gpu.0 and switch.0 are linked on line 3 already"),
        BAD(HEAD LINK "  - {between: [gpu.1, switch.0], s_per_byte: 0}\n", PTO_ERR_RANGE, 4, 46, "above 0"),
        BAD(HEAD "  - {between: [gpu.0-1, switch.0-2], s_per_byte: 1e-11}\n", PTO_ERR_RANGE, 3, 5,
            "ranges of 2 and 3"),
        BAD(HEAD "  - {between: [gpu0, switch.0], s_per_byte: 1e-11}\n", PTO_ERR_TYPE, 3, 16,
            "'gpu0' is not a name such as gpu.0"),
        BAD(HEAD "  - {between: [gpu.0, gpu.0], s_per_byte: 1e-11}\n", PTO_ERR_RANGE, 3, 5, "to itself"),
        BAD(HEAD "  - {between: [gpu.0], s_per_byte: 1e-11}\n", PTO_ERR_TYPE, 3, 15, "two names, not 1"),
        BAD(HEAD "  - {between: [gpu.0, gpu.1], rate: 1}\n", PTO_ERR_KEY, 3, 31, "unknown key 'rate'"),
        BAD(HEAD LINK HOST "routes: [{between: [gpu.0, gpu.1], through: [socket.0]}]\n", PTO_ERR_NOT_FOUND, 5,
            10, "no link between gpu.0 and socket.0"),
        BAD(HEAD LINK HOST "routes: [{between: [gpu.0, switch.0], through: []}]\n", PTO_ERR_RANGE, 5, 10,
            "between two devices"),
        BAD(HEAD LINK HOST "routes: [{between: [gpu.0, gpu.0], through: [switch.0]}]\n", PTO_ERR_RANGE, 5, 10,
            "between two devices"),
        BAD(HEAD LINK HOST "routes: [{between: [switch.0, gpu.0], through: []}]\n", PTO_ERR_RANGE, 5, 10,
            "between two devices"),
        BAD(HEAD LINK HOST
            "routes: [{between: [gpu.0, gpu.1], through: [switch.0]}, {between: [gpu.1, gpu.0], "
            "through: [switch.0]}]\n",
            PTO_ERR_RANGE, 5, 58, "a second route between gpu.1 and gpu.0"),
        BAD(HEAD LINK HOST "routes: [{between: [gpu.0, gpu.1], through: [switch.0, gpu.2]}]\n",
            PTO_ERR_NOT_FOUND, 5, 56, "there is no gpu.2"),
        BAD(HEAD LINK HOST "routes: [{between: [gpu.0, gpu.1], through: [switch]}]\n", PTO_ERR_TYPE, 5, 46,
            "'switch' is not a name"),
        BAD(HEAD LINK HOST "routes: [{between: [gpu.0, gpu.1], through: switch.0}]\n", PTO_ERR_TYPE, 5, 45,
            "a list of names"),
        BAD(HEAD LINK HOST "routes: longest\n", PTO_ERR_TYPE, 5, 9, "'shortest' or a list"),
        BAD("devices: {gpus: 2, sockets: 1}\nlinks: shortest\n", PTO_ERR_TYPE, 2, 8, "a list"),
        BAD(HEAD "  - {between: gpu.0, s_per_byte: 1e-11}\n", PTO_ERR_TYPE, 3, 15, "a list of two names"),
        BAD(HEAD "  - {between: [gpu.0, gpu.1, switch.0], s_per_byte: 1e-11}\n", PTO_ERR_TYPE, 3, 15,
            "two names, not 3"),
        BAD(HEAD "  - {between: [gpu.0, gpu.1], s_per_byte: 1e-11, back_s_per_byte: 0}\n", PTO_ERR_RANGE, 3,
            67, "above 0"),
        BAD(HEAD "  - {between: [gpu.0, gpu.1], s_per_byte: 1e-11, alpha_s: 0}\n", PTO_ERR_RANGE, 3, 59,
            "above 0"),
        BAD("devices: {gpus: 200, sockets: 1}\nlinks: []\n", PTO_ERR_TOO_LARGE, 1, 10,
            "more than 128 devices"),
        BAD("devices: {gpus: 2, sockets: 1}\n", PTO_ERR_KEY, 1, 1, "missing key 'links'"),
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        pto_topology_t *topology = NULL;
        pto_error_t err = {0};
        pto_status_t status =
            pto_topology_create(bad[i].text, strlen(bad[i].text), "node.yaml", &topology, &err);
        assert_refused(&bad[i], status, &err);
        assert_null(topology);
    }
}

TEST(names_are_a_word_and_numbers) {
    static const struct {
        const char *name;
        bool right;
    } cases[] = {{"switch.0", true},
                 {"switch.9999", true},
                 {"SWITCH_a.7-7", true},
                 {"switch.12345", false},
                 {"switch", false},
                 {"switch.", false},
                 {".0", false},
                 {"switch.0-", false},
                 {"switch.0-12345", false},
                 {"switch.3-2", false},
                 {"switch.0x", false},
                 {"switch.0-1x", false},
                 {"switch.0-1-2", false},
                 {"2switch.0", false},
                 {"switch 0", false},
                 {"switch.-1", false},
                 {"abcdefghijklmnopqrstuvwxyz.0", true},
                 {"abcdefghijklmnopqrstuvwxyza.0", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        pto_topology_t *topology = NULL;
        pto_error_t err = {0};
        snprintf(text, sizeof text,
                 HEAD "  - {between: [\"%s\", gpu.0], s_per_byte: 1e-11}\n"
                      "  - {between: [gpu.0, gpu.1], s_per_byte: 1e-11}\n"
                      "  - {between: [gpu.0-1, socket.0], s_per_byte: 1e-11}\n",
                 cases[i].name);
        pto_status_t status = pto_topology_create(text, strlen(text), "node.yaml", &topology, &err);
        if (status != (cases[i].right ? PTO_OK : PTO_ERR_TYPE) ||
            (!cases[i].right && !strstr(err.message, "is not a name such as gpu.0 or gpu.0-3")))
            fail_msg("'%s': %d: %s", cases[i].name, status, err.message);
        if (status == PTO_OK)
            pto_topology_destroy(topology);
    }
}

/* The first of one range is linked to the first of the other, and so on. */
TEST(ranges_are_linked_one_by_one) {
    pto_topology_t *topology = made("devices: {gpus: 3, sockets: 2}\n"
                                    "links:\n"
                                    "  - {between: [gpu.1-2, switch.5-6], s_per_byte: 1e-11}\n"
                                    "  - {between: [switch.5-6, socket.0], s_per_byte: 1e-11}\n"
                                    "  - {between: [socket.0, gpu.0], s_per_byte: 1e-11}\n"
                                    "  - {between: [socket.0, socket.1], s_per_byte: 1e-11}\n");
    assert_string_equal(path_of(topology, gpu(topology, 1), gpu(topology, 2)),
                        "gpu.1 switch.5 socket.0 switch.6 gpu.2");
    assert_int_equal(pto_topology_link_count(topology), 2 * 6);
}

/* So many links between `gpus` GPUs and switches that each is linked to; or as many GPUs or switches. */
static pto_status_t of_size(int gpus, int switches, int more, pto_error_t *err) {
    char *text = malloc(1 << 16), *end = text;
    pto_topology_t *topology = NULL;
    assert_non_null(text);
    end += sprintf(end, "devices: {gpus: %d, sockets: 1}\nlinks:\n", gpus);
    end += sprintf(end, "  - {between: [gpu.0-%d, socket.0], s_per_byte: 1e-11}\n", gpus - 1);
    for (int i = 0; i < switches; i++)
        end += sprintf(end, "  - {between: [gpu.0-%d, switch.%d], s_per_byte: 1e-11}\n", gpus - 1, i);
    if (more > 0)
        sprintf(end, "  - {between: [socket.0, bridge.1-%d], s_per_byte: 1e-11}\n", more);
    *err = (pto_error_t){0};
    pto_status_t status = pto_topology_create(text, strlen(text), "node.yaml", &topology, err);
    if (status == PTO_OK)
        pto_topology_destroy(topology);
    free(text);
    return status;
}

TEST(limits_are_reached_and_not_exceeded) {
    pto_error_t err;
    assert_int_equal(of_size(PTO_TOPOLOGY_DEVICES_MAX - 1, 0, 0, &err), PTO_OK);
    assert_int_equal(of_size(PTO_TOPOLOGY_DEVICES_MAX, 0, 0, &err), PTO_ERR_TOO_LARGE);
    assert_non_null(strstr(err.message, "more than 128 devices"));
    assert_int_equal(of_size(64, 15, 0, &err), PTO_OK); /* 1024 links */
    assert_int_equal(of_size(64, 15, 1, &err), PTO_ERR_TOO_LARGE);
    assert_non_null(strstr(err.message, "more than 1024 links"));
    assert_int_equal(of_size(2, 0, PTO_TOPOLOGY_VERTICES_MAX - 3, &err), PTO_OK);
    assert_int_equal(of_size(2, 0, PTO_TOPOLOGY_VERTICES_MAX - 2, &err), PTO_ERR_TOO_LARGE);
    assert_non_null(strstr(err.message, "more than 512 devices and switches"));
}

TEST(what_is_written_reads_back) {
    char text[sizeof ring + 128];
    snprintf(text, sizeof text, "%s%s", ring,
             "routes: [{between: [gpu.2, gpu.0], through: [gpu.1]}]\nsource: \"a \\\"b\\\"\"\n");
    const char *first = formatted(made(text));
    const pto_topology_t *topology = made(first);
    assert_string_equal(path_of(topology, 0, 2), "gpu.0 gpu.1 gpu.2");
    assert_string_equal(pto_topology_source(topology), "a \"b\"");
    assert_string_equal(formatted(topology), first);
}

static const char machine_head[] = "machine: m\nsource: s\nnode: {sockets: 1, gpus: 3, cores: 6}\nmessages:\n"
                                   "  cpu:\n    on_socket: [{protocol: rendezvous, alpha_s: 1e-6, "
                                   "beta_s_per_byte: 1e-10}]\n";

static pto_status_t machine_with(const char *rest, pto_machine_t **machine, pto_error_t *err) {
    char text[2048];
    snprintf(text, sizeof text, "%s%s", machine_head, rest);
    return pto_machine_create(text, strlen(text), "tests/unit/machine.yaml", machine, err);
}

static const char in_machine[] = "topology:\n"
                                 "  devices: {gpus: 3, sockets: 1}\n"
                                 "  links:\n"
                                 "    - {between: [gpu.0-2, socket.0], s_per_byte: 1e-10}\n";

TEST(a_machine_holds_its_fabric) {
    pto_machine_t *machine = NULL;
    pto_error_t err = {0};
    pto_status_t status = machine_with("fabric:\n  - {nodes: 1, s_per_byte: 1e-10}\n"
                                       "  - {nodes: 4, s_per_byte: 3e-10, back_s_per_byte: 2e-10}\n",
                                       &machine, &err);
    assert_int_equal(status, PTO_OK);
    pto_machine_t *again = must_duplicate(machine);
    char *first = must_format(machine);
    char *second = must_format(again);
    assert_non_null(strstr(first, "fabric:\n  - {nodes: 1, s_per_byte: 1e-10, back_s_per_byte: 1e-10}\n"
                                  "  - {nodes: 4, s_per_byte: 3e-10, back_s_per_byte: 2e-10}\n"));
    assert_string_equal(first, second);
    must_create(first);
    pto_machine_destroy(machine);
}

TEST(bad_fabrics_are_refused) {
    static const struct {
        const char *text, *reason;
    } bad[] = {
        {"fabric: []\n", "the list is empty"},
        {"fabric: [{nodes: 2, s_per_byte: 1e-10}]\n", "the first level is that of single nodes"},
        {"fabric: [{nodes: 1, s_per_byte: 1e-10}, {nodes: 1, s_per_byte: 1e-10}]\n",
         "not a multiple of the level below, 1"},
        {"fabric: [{nodes: 1, s_per_byte: 1e-10}, {nodes: 2, s_per_byte: 1e-10}, {nodes: 3, s_per_byte: "
         "1}]\n",
         "not a multiple of the level below, 2"},
        {"fabric: [{nodes: 1, s_per_byte: 1e-10}, {nodes: 2, s_per_byte: 1e-10}, {nodes: 2, s_per_byte: "
         "1}]\n",
         "not a multiple of the level below, 2"},
        {"fabric: [{nodes: 1, s_per_byte: 1}, {nodes: 2, s_per_byte: 1}, {nodes: 4, s_per_byte: 1}, {nodes: "
         "8, "
         "s_per_byte: 1}, {nodes: 16, s_per_byte: 1}, {nodes: 32, s_per_byte: 1}, {nodes: 64, s_per_byte: "
         "1}, "
         "{nodes: 128, s_per_byte: 1}, {nodes: 256, s_per_byte: 1}]\n",
         "more than 8 levels"},
        {"fabric: [{nodes: 1}]\n", "missing key 's_per_byte'"},
        {"fabric: [{nodes: 1, s_per_byte: 0}]\n", "above 0"},
        {"injection: {cpu: {s_per_byte: 1e-10}}\nfabric: [{nodes: 1, s_per_byte: 1e-10}]\n", "injection"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        pto_machine_t *machine = NULL;
        pto_error_t err = {0};
        assert_int_not_equal(machine_with(bad[i].text, &machine, &err), PTO_OK);
        if (!strstr(err.message, bad[i].reason) || err.line < 7)
            fail_msg("%s: line %d: %s", bad[i].text, err.line, err.message);
        assert_null(machine);
    }
}

TEST(a_machine_holds_its_topology) {
    pto_machine_t *machine = NULL, *copy = NULL, *again = NULL;
    assert_int_equal(machine_with(in_machine, &machine, NULL), PTO_OK);
    copy = must_duplicate(machine);
    pto_machine_destroy(machine);
    assert_string_equal(path_of(pto_machine_topology(copy), 0, 2), "gpu.0 socket.0 gpu.2");
    char *text = must_format(copy);
    again = must_create(text);
    assert_string_equal(path_of(pto_machine_topology(again), 0, 2), "gpu.0 socket.0 gpu.2");
    assert_int_equal(pto_machine_restrict(copy, "published", NULL), PTO_OK);
    assert_null(pto_machine_topology(copy));
}

TEST(a_machine_may_name_a_file_with_its_topology) {
    pto_machine_t *machine = NULL;
    pto_error_t err = {0};
    pto_status_t status =
        machine_with("topology: ../../scenarios/topologies/k80-2-2-2-2.yaml\n", &machine, &err);
    assert_int_equal(status, PTO_ERR_RANGE);
    assert_int_equal(err.line, 7);
    assert_string_equal(err.message, "topology: 16 GPUs and 2 sockets, but 'node' has 3 and 1");
    status = machine_with("topology: gone.yaml\n", &machine, &err);
    assert_int_equal(status, PTO_ERR_IO);
    assert_int_equal(err.line, 7);
    assert_non_null(strstr(err.message, "tests/unit/gone.yaml"));
}
