/* What portolan-calibrate makes of NVML's and hwloc's answers: the rates of NVLinks and what they lead to,
 * the sockets of GPUs and of a process. By made-up libraries and machines. Needs no mpirun. */
#include <hwloc.h>

#include "../../calibrate/nvlink.h"
#include "../../calibrate/topology.h"
#include "../chance.h"
#include "test.h"

enum { MACHINES = 100, GPUS_MAX = 6, LINKS = 18, CPUS_PER_SOCKET = 4, SOCKETS_MAX = 3 };

/* --- NVML ----------------------------------------------------------------------------------------------- */

typedef enum { TO_GPU, TO_HIDDEN_GPU, TO_SWITCH, TO_CPU } end_t;

/* nvmlPciInfo_t, by NVML's documentation. */
typedef struct {
    char bus_id_legacy[16];
    unsigned domain, bus, device, pci_device_id, pci_sub_system_id;
    char bus_id[32];
} pci_info_t;

typedef struct {
    unsigned active, version;
    end_t end;
    int peer;
    bool fails[3]; /* the calls of its state, version and remote end */
} link_t;

static struct {
    bool is_there, begins;
    const char *lacks; /* a function */
    int gpus;
    link_t link[GPUS_MAX][LINKS];
    int level[GPUS_MAX][GPUS_MAX]; /* below 0: the call fails */
    unsigned long cpus;            /* near the GPU */
    bool affinity_fails;
    int open_count;
} made;

static char device_of[GPUS_MAX + 1]; /* the last is a GPU that is not asked about */

static void bus_of(int gpu, char bus[16]) { snprintf(bus, 16, "0000:1%x:00.0", (unsigned)gpu & 0xfU); }

static int number_of(const void *device) {
    int number = (int)((const char *)device - device_of);
    assert_true(number >= 0 && number < made.gpus);
    return number;
}

static int initialize(void) { return made.begins ? 0 : 1; }

static int by_bus(const char *bus, void **device) {
    for (int i = 0; i <= GPUS_MAX; i++) {
        char known[16];
        bus_of(i, known);
        if ((i < made.gpus || i == GPUS_MAX) && strcmp(bus, known) == 0) {
            *device = &device_of[i];
            return 0;
        }
    }
    return 6;
}

/* NVML's links of a device are those up to its own number of them; it refuses others. */
static link_t *link_of(const void *device, unsigned link) {
    assert_true(link < LINKS);
    return &made.link[number_of(device)][link];
}

static int link_state(void *device, unsigned link, unsigned *active) {
    *active = link_of(device, link)->active;
    return link_of(device, link)->fails[0] ? 2 : 0;
}

static int link_version(void *device, unsigned link, unsigned *version) {
    *version = link_of(device, link)->version;
    return link_of(device, link)->fails[1] ? 2 : 0;
}

static int link_remote(void *device, unsigned link, void *pci) {
    const link_t *what = link_of(device, link);
    pci_info_t info = {.pci_device_id = what->end == TO_CPU      ? 0x04ea1014
                                        : what->end == TO_SWITCH ? 0x1ac210de
                                                                 : 0x233010de};
    if (what->end == TO_GPU || what->end == TO_HIDDEN_GPU)
        bus_of(what->end == TO_GPU ? what->peer : GPUS_MAX, info.bus_id);
    else
        snprintf(info.bus_id, sizeof info.bus_id, "0000:c1:00.0");
    memcpy(pci, &info, sizeof info);
    return what->fails[2] ? 2 : 0;
}

static int ancestor(void *first, void *second, int *level) {
    int a = number_of(first), b = number_of(second);
    assert_int_not_equal(a, b);
    *level = made.level[a][b];
    return made.level[a][b] < 0 ? 2 : 0;
}

static int driver_version(char *version, unsigned length) {
    snprintf(version, length, "1.2.3");
    return 0;
}

static int cpu_affinity(void *device, unsigned words, unsigned long *mask) {
    (void)number_of(device);
    memset(mask, 0, words * sizeof *mask);
    mask[0] = made.cpus;
    return made.affinity_fails ? 2 : 0;
}

static const struct {
    const char *name;
    void (*call)(void);
} functions[] = {
    {"nvmlInit_v2", (void (*)(void))initialize},
    {"nvmlDeviceGetHandleByPciBusId_v2", (void (*)(void))by_bus},
    {"nvmlDeviceGetNvLinkState", (void (*)(void))link_state},
    {"nvmlDeviceGetNvLinkVersion", (void (*)(void))link_version},
    {"nvmlDeviceGetNvLinkRemotePciInfo_v2", (void (*)(void))link_remote},
    {"nvmlDeviceGetTopologyCommonAncestor", (void (*)(void))ancestor},
    {"nvmlSystemGetDriverVersion", (void (*)(void))driver_version},
    {"nvmlDeviceGetCpuAffinity", (void (*)(void))cpu_affinity},
};
enum { FUNCTIONS = sizeof functions / sizeof *functions, OF_NVLINKS = 6 };

/* --- what is called in the libraries' place ------------------------------------------------------------- */

static hwloc_bitmap_t bound; /* where the process may run; NULL: that cannot be asked */
static hwloc_bitmap_t asked; /* to be bound to */
static bool may_bind;

/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): names of the linker's --wrap */

/* Other libraries are asked for by the sanitizers. */
void *__real_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags) {
    if (name == NULL || strcmp(name, "libnvidia-ml.so.1") != 0)
        return __real_dlopen(name, flags);
    made.open_count += made.is_there;
    return made.is_there ? &made : NULL;
}

void *__real_dlsym(void *library, const char *name);
void *__wrap_dlsym(void *library, const char *name) {
    void *found = NULL;
    if (library != &made)
        return __real_dlsym(library, name);
    for (size_t i = 0; i < FUNCTIONS; i++)
        if (strcmp(functions[i].name, name) == 0 && (made.lacks == NULL || strcmp(name, made.lacks) != 0))
            memcpy(&found, &functions[i].call, sizeof found);
    return found;
}

int __wrap_dlclose(void *library) {
    assert_ptr_equal(library, &made);
    made.open_count--;
    return 0;
}

/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

/* In the place of hwloc's. */
int hwloc_get_cpubind(hwloc_topology_t topology, hwloc_cpuset_t set, int flags) {
    assert_int_equal(flags, HWLOC_CPUBIND_PROCESS);
    return bound == NULL ? -1 : hwloc_bitmap_copy(set, bound);
}

int hwloc_set_cpubind(hwloc_topology_t topology, hwloc_const_cpuset_t set, int flags) {
    assert_int_equal(flags, HWLOC_CPUBIND_PROCESS);
    hwloc_bitmap_copy(asked, set);
    return may_bind ? 0 : -1;
}

/* --- NVLinks -------------------------------------------------------------------------------------------- */

static void make_nvml(uint64_t seed) {
    chance_state = seed * 977;
    memset(&made, 0, sizeof made);
    made.is_there = made.begins = true;
    made.gpus = 1 + draw(GPUS_MAX);
    for (int i = 0; i < made.gpus; i++) {
        for (int link = 0; link < LINKS; link++) {
            link_t *one = &made.link[i][link];
            *one = (link_t){(unsigned)draw(3), 1 + (unsigned)draw(7), (end_t)draw(4), draw(made.gpus), {0}};
            one->end = one->end == TO_GPU && one->peer == i ? TO_SWITCH : one->end;
            for (int call = 0; call < 3; call++)
                one->fails[call] = draw(10) == 0;
        }
        for (int j = 0; j < made.gpus; j++)
            made.level[i][j] = draw(5) == 0 ? -1 : 10 * draw(6);
    }
}

/* GB/s in each direction, by NVIDIA's descriptions of 1.0, 2.0, 2.2, 3.0, 3.1, 4.0 and 5.0. */
static double rate_of(unsigned version) { return (const double[]){0, 20, 25, 25, 25, 25, 25, 50}[version]; }

static bool works(const link_t *link) {
    return link->active == 1 && !link->fails[0] && !link->fails[1] && !link->fails[2];
}

/* An NVSwitch, or a GPU that is not the job's. */
static bool is_switch(end_t end) { return end == TO_SWITCH || end == TO_HIDDEN_GPU; }

static void check_links(const nvlink_t *links, int ancestors[][NVLINK_GPUS_MAX]) {
    for (int i = 0; i < NVLINK_GPUS_MAX; i++) {
        double to_switch = 0, to_cpu = 0, between[NVLINK_GPUS_MAX] = {0};
        for (int link = 0; link < LINKS && i < made.gpus; link++) {
            const link_t *one = &made.link[i][link];
            double gb_per_s = works(one) ? rate_of(one->version) : 0;
            to_switch += is_switch(one->end) ? gb_per_s : 0;
            to_cpu += one->end == TO_CPU ? gb_per_s : 0;
            between[one->peer] += one->end == TO_GPU ? gb_per_s : 0;
        }
        assert_true(links->to_switch[i] == to_switch);
        assert_true(links->to_cpu[i] == to_cpu);
        for (int j = 0; j < NVLINK_GPUS_MAX; j++) {
            assert_true(links->between[i][j] == between[j]);
            if (i < made.gpus && j < made.gpus)
                assert_int_equal(ancestors[i][j], i == j || made.level[i][j] < 0 ? -1 : made.level[i][j]);
        }
    }
}

static bool read_links(nvlink_t *links, int ancestors[][NVLINK_GPUS_MAX]) {
    char bus[NVLINK_GPUS_MAX][16];
    for (int i = 0; i < made.gpus; i++)
        bus_of(i, bus[i]);
    memset(links, 0, sizeof *links);
    return nvlink_read(made.gpus, bus, links, ancestors);
}

TEST(nvlinks_add_up_by_what_they_lead_to) {
    static nvlink_t links;
    static int ancestors[NVLINK_GPUS_MAX][NVLINK_GPUS_MAX];
    for (uint64_t seed = 1; seed <= MACHINES; seed++) {
        make_nvml(seed);
        memset(ancestors, 77, sizeof ancestors);
        assert_true(read_links(&links, ancestors));
        check_links(&links, ancestors);
    }
}

TEST(without_all_of_nvml_there_are_no_nvlinks) {
    static nvlink_t links;
    static int ancestors[NVLINK_GPUS_MAX][NVLINK_GPUS_MAX];
    char bus[NVLINK_GPUS_MAX][16] = {"0000:10:00.0", "0000:ff:00.0"};
    make_nvml(1);
    made.is_there = false;
    assert_false(read_links(&links, ancestors));
    make_nvml(1);
    made.begins = false;
    assert_false(read_links(&links, ancestors));
    for (size_t i = 0; i < OF_NVLINKS; i++) {
        make_nvml(1);
        made.lacks = functions[i].name;
        assert_false(read_links(&links, ancestors));
    }
    make_nvml(1);
    assert_false(nvlink_read(2, bus, &links, ancestors)); /* it does not know the second GPU */
}

/* --- sockets -------------------------------------------------------------------------------------------- */

static topology_t *create(int sockets) {
    char text[64];
    snprintf(text, sizeof text, "package:%d core:2 pu:%d", sockets, CPUS_PER_SOCKET / 2);
    setenv("HWLOC_SYNTHETIC", text, 1);
    return topology_create();
}

/* The socket of all CPUs of a mask; -1: none, or several. */
static int socket_of(unsigned long cpus, int sockets) {
    int found = -1, count = 0;
    for (int socket = 0; socket < sockets; socket++)
        if ((cpus >> CPUS_PER_SOCKET * socket & 0xf) != 0) {
            found = socket;
            count++;
        }
    return count == 1 ? found : -1;
}

/* Any CPUs, those of one socket as often as others. */
static unsigned long some_cpus(int sockets) {
    unsigned long of_one = (unsigned long)draw(16) << CPUS_PER_SOCKET * draw(sockets);
    return draw(2) > 0 ? of_one : (unsigned long)draw(1 << CPUS_PER_SOCKET * sockets);
}

TEST(a_gpu_is_on_the_socket_of_its_cpus) {
    for (uint64_t seed = 1; seed <= MACHINES; seed++) {
        make_nvml(seed);
        int sockets = 1 + draw(SOCKETS_MAX), gpu = draw(made.gpus);
        char bus[16], driver[16] = "as before";
        made.is_there = draw(5) > 0;
        made.begins = draw(5) > 0;
        made.affinity_fails = draw(5) == 0;
        made.lacks = draw(2) > 0 ? functions[draw(FUNCTIONS)].name : NULL;
        made.cpus = some_cpus(sockets);
        topology_t *topology = create(sockets);
        bus_of(draw(5) == 0 ? GPUS_MAX - 1 : gpu, bus);
        bool lacks[FUNCTIONS] = {false};
        for (size_t i = 0; i < FUNCTIONS; i++)
            lacks[i] = made.lacks != NULL && strcmp(made.lacks, functions[i].name) == 0;
        bool usable = made.is_there && made.begins && !lacks[0];
        char last[16];
        bus_of(made.gpus - 1, last);
        bool found = strcmp(bus, last) <= 0 && !lacks[1] && !lacks[7] && !made.affinity_fails;
        int wanted = sockets == 1 ? 0 : usable && found ? socket_of(made.cpus, sockets) : -1;
        assert_int_equal(made.open_count, usable);
        assert_int_equal(topology_gpu_socket(topology, bus, driver, sizeof driver), wanted);
        assert_string_equal(driver, usable && !lacks[6] ? "1.2.3" : "as before");
        topology_destroy(topology);
        assert_int_equal(made.open_count, 0);
    }
    topology_destroy(NULL);
}

/* One that may run on several is bound to the preferred one, where there is such a socket. */
TEST(a_process_is_on_the_socket_that_it_is_bound_to) {
    for (uint64_t seed = 1; seed <= MACHINES; seed++) {
        make_nvml(seed);
        int sockets = 1 + draw(SOCKETS_MAX), preferred = draw(sockets + 1);
        unsigned long cpus = some_cpus(sockets);
        bool bound_here = draw(2) > 0, asks = draw(8) > 0;
        topology_t *topology = create(sockets);
        may_bind = draw(4) > 0;
        asked = hwloc_bitmap_alloc();
        bound = asks ? hwloc_bitmap_alloc() : NULL;
        if (asks)
            hwloc_bitmap_from_ulong(bound, cpus);
        int own = asks ? socket_of(cpus, sockets) : -1;
        bool binds = sockets > 1 && own < 0 && preferred < sockets;
        int wanted = sockets == 1 ? 0 : own >= 0 ? own : binds && may_bind ? preferred : -1;
        assert_int_equal(topology_own_socket(topology, preferred, &bound_here), wanted);
        assert_int_equal(bound_here, binds && may_bind);
        assert_int_equal(hwloc_bitmap_to_ulong(asked), binds ? 0xfUL << CPUS_PER_SOCKET * preferred : 0);
        hwloc_bitmap_free(bound);
        hwloc_bitmap_free(asked);
        topology_destroy(topology);
    }
}

TEST(a_machine_has_a_socket_and_a_core_at_least) {
    static const struct {
        const char *machine;
        int sockets, cores;
    } known[] = {{"package:2 core:3 pu:2", 2, 6},
                 {"package:1 core:1 pu:1", 1, 1},
                 {"core:5 pu:1", 1, 5},
                 {"pu:4", 1, 1}};
    make_nvml(1);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        char name[32] = "";
        setenv("HWLOC_SYNTHETIC", known[i].machine, 1);
        topology_t *topology = topology_create();
        assert_int_equal(topology_sockets(topology), known[i].sockets);
        assert_int_equal(topology_cores(topology), known[i].cores);
        topology_cpu_name(topology, name, sizeof name);
        assert_string_equal(name, "unknown");
        topology_destroy(topology);
    }
}
