/* How portolan-calibrate finds out who is where: on which node, socket and GPU each process is, on made-up
 * machines whose nodes hold any of the processes.
 *
 *   mpirun -n 5 test_job */
#include "../../calibrate/job.h"
#include "../../calibrate/topology.h"
#include "../chance.h"
#include "test.h"

enum { PROCESSES = 5, MACHINES = 60, DEVICES_MAX = 4 };

/* --- a made-up machine, the same on all processes ------------------------------------------------------- */

static struct {
    int node[PROCESSES]; /* any numbers */
    int sockets;
    int devices;                    /* of each node */
    int device_socket[DEVICES_MAX]; /* -1: unknown */
    bool reach[DEVICES_MAX][DEVICES_MAX];
    int turned;            /* the rank whose GPUs are numbered from the second on; -1: none */
    int without_gpu;       /* the rank that sees none; -1: all see them; PROCESSES: none does */
    bool bound[PROCESSES]; /* by the launcher */
    bool cuda_aware;
} made;

static int rank;

static void make_machine(uint64_t seed) {
    chance_state = seed * 977;
    int nodes = 1 + draw(3);
    for (int i = 0; i < PROCESSES; i++) {
        made.node[i] = draw(nodes);
        made.bound[i] = seed % 2 == 0 || draw(4) > 0;
    }
    made.sockets = 1 + draw(3);
    made.devices = 1 + draw(DEVICES_MAX);
    for (int device = 0; device < DEVICES_MAX; device++) {
        made.device_socket[device] = draw(3) - 1;
        for (int peer = 0; peer < DEVICES_MAX; peer++)
            made.reach[device][peer] = device != peer && draw(2) > 0;
    }
    made.turned = -1;
    made.without_gpu = seed % 3 > 0 ? -1 : draw(PROCESSES + 1);
    made.cuda_aware = draw(2) > 0;
}

static bool sees_gpus(int process) { return made.without_gpu != PROCESSES && made.without_gpu != process; }

/* --- what the job asks ---------------------------------------------------------------------------------- */

int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *node) {
    assert_int_equal(type, MPI_COMM_TYPE_SHARED);
    return PMPI_Comm_split(comm, made.node[rank], key, node);
}

static char a_topology;
static int topologies, selected, preferred_socket;

/* Processes tell other numbers than rank 0, whose count for all. */
static int of_rank(int number) { return 100 * number + rank; }

static void name_bus(char bus[PTO_GPU_BUS_MAX], int process, int device) {
    snprintf(bus, PTO_GPU_BUS_MAX, "%d:%d", made.node[process], device);
}

static pto_status_t describe(int device, pto_gpu_info_t *info, pto_error_t *err) {
    *info = (pto_gpu_info_t){.blocks = 10 * (device + 1), .mps = device == 0 ? PTO_MPS_YES : PTO_MPS_NO};
    snprintf(info->name, sizeof info->name, "GPU %d", device);
    name_bus(info->bus, rank, made.turned == rank ? (device + 1) % made.devices : device);
    return PTO_OK;
}

static pto_status_t can_reach(int device, int peer, bool *reaches, pto_error_t *err) {
    assert_int_not_equal(device, peer);
    *reaches = made.reach[device][peer];
    return PTO_OK;
}

static pto_status_t versions(char cuda[PTO_GPU_TEXT_MAX], pto_error_t *err) {
    snprintf(cuda, PTO_GPU_TEXT_MAX, "CUDA of %d", rank);
    return PTO_OK;
}

static bool mpi_reaches(void) { return made.cuda_aware; }

static const pto_device_bench_t made_bench = {
    .describe = describe, .can_reach = can_reach, .versions = versions};
static const pto_device_t made_device = {.bench = &made_bench, .mpi_reaches = mpi_reaches};

/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): names of the linker's --wrap */

topology_t *__wrap_topology_create(void) {
    topologies++;
    return (topology_t *)&a_topology;
}

void __wrap_topology_destroy(topology_t *topology) {
    assert_ptr_equal(topology, &a_topology);
    topologies--;
}

int __wrap_topology_sockets(const topology_t *topology) { return made.sockets; }

int __wrap_topology_cores(const topology_t *topology) { return of_rank(8); }

void __wrap_topology_cpu_name(const topology_t *topology, char *name, size_t name_size) {
    snprintf(name, name_size, "CPU of %d", rank);
}

int __wrap_topology_own_socket(topology_t *topology, int preferred, bool *bound_here) {
    assert_ptr_equal(topology, &a_topology);
    preferred_socket = preferred;
    *bound_here = !made.bound[rank];
    return preferred;
}

int __wrap_topology_gpu_socket(const topology_t *topology, const char *bus, char *driver,
                               size_t driver_size) {
    int node, device;
    assert_ptr_equal(topology, &a_topology);
    assert_int_equal(sscanf(bus, "%d:%d", &node, &device), 2);
    snprintf(driver, driver_size, "driver of %d", rank);
    return made.device_socket[device];
}

pto_status_t __wrap_gpu_find(int *count, pto_error_t *err) {
    gpu = (gpu_t){0};
    if (!sees_gpus(rank))
        return pto_error_set(err, PTO_ERR_NOT_FOUND, "rank %d has no GPU", rank);
    gpu = (gpu_t){.device = &made_device, .bench = &made_bench};
    *count = made.devices;
    return PTO_OK;
}

void __wrap_gpu_select(int index) { selected = index; }

/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

/* --- what must be known --------------------------------------------------------------------------------- */

/* Of the processes before `past`, those of the node of one. */
static int beside(int process, int past) {
    int count = 0;
    for (int i = 0; i < past; i++)
        count += made.node[i] == made.node[process];
    return count;
}

/* Nodes are numbered as their first processes come. */
static int node_of(int process) {
    int nodes = 0;
    for (int i = 0; i < process && made.node[i] != made.node[process]; i++)
        nodes += beside(i, i) == 0;
    return nodes;
}

static void check_process(const job_t *job, int i) {
    const process_t *one = &job->process[i];
    char bus[PTO_GPU_BUS_MAX] = "";
    assert_int_equal(one->node, node_of(i));
    assert_int_equal(one->node_rank, beside(i, i));
    int device = sees_gpus(i) ? one->node_rank % made.devices : -1;
    int gpu_socket = device >= 0 ? made.device_socket[device] : -1;
    assert_int_equal(one->device, device);
    assert_int_equal(one->gpu_socket, gpu_socket);
    if (device >= 0)
        name_bus(bus, i, device);
    assert_string_equal(one->bus, bus);
    /* Without a GPU's socket, the processes of a node are spread over its sockets, in order. */
    int spread = one->node_rank * made.sockets / beside(i, PROCESSES);
    assert_int_equal(one->socket, gpu_socket >= 0 ? gpu_socket : spread);
    if (i == rank) {
        assert_int_equal(selected, device);
        assert_int_equal(preferred_socket, one->socket);
    }
}

static void check_devices(const job_t *job) {
    assert_int_equal(job->device_count, made.devices);
    assert_int_equal(job->gpu_blocks, 10);
    assert_int_equal(job->mps, PTO_MPS_YES);
    for (int device = 0; device < made.devices; device++) {
        assert_int_equal(job->device_socket[device], made.device_socket[device]);
        for (int peer = 0; peer < made.devices; peer++)
            assert_int_equal(job->reach[device][peer], made.reach[device][peer]);
    }
    assert_string_equal(job->driver, "driver of 0");
    assert_string_equal(job->cuda, "CUDA of 0");
    char last[16]; /* its GPUs are of one kind */
    snprintf(last, sizeof last, "GPU %d", made.devices - 1);
    assert_string_equal(job->gpu, last);
}

TEST(all_processes_know_where_each_is) {
    for (uint64_t seed = 1; seed <= MACHINES; seed++) {
        job_t job;
        int same = 0, nodes = 0, bound = 0;
        make_machine(seed);
        selected = -1;
        job_init(&job);
        assert_int_equal(topologies, 0);
        MPI_Comm_compare(MPI_COMM_WORLD, job.world, &same);
        assert_int_equal(same, MPI_CONGRUENT);
        assert_true(job.rank == rank && job.size == PROCESSES);
        for (int i = 0; i < PROCESSES; i++) {
            check_process(&job, i);
            nodes += beside(i, i) == 0;
            bound += !made.bound[i];
        }
        assert_int_equal(job.node_count, nodes);
        assert_int_equal(job.bound_here, bound > 0);
        assert_true(job.sockets == made.sockets && job.cores == 800);
        assert_string_equal(job.cpu, "CPU of 0");
        assert_int_equal(job.cuda_aware, sees_gpus(0) && made.cuda_aware);
        if (sees_gpus(0))
            check_devices(&job);
        assert_string_equal(job.no_gpu, !sees_gpus(0)           ? "rank 0 has no GPU"
                                        : made.without_gpu >= 0 ? "some processes of the job see no GPU"
                                                                : "");
        job_fini(&job);
        assert_true(job.process == NULL && job.world == MPI_COMM_NULL);
    }
}

/* --- what is asked of it -------------------------------------------------------------------------------- */

/* The index-th process of rank 0's node that drives a device. */
static bool drives(const job_t *job, int process, int device, int index) {
    int before = 0;
    for (int i = 0; i < process; i++)
        before += made.node[i] == made.node[0] && job->process[i].device == device;
    return made.node[process] == made.node[0] && job->process[process].device == device && before == index;
}

static int driver_of(const job_t *job, int device, int index) {
    for (int i = 0; i < PROCESSES; i++)
        if (drives(job, i, device, index))
            return i;
    return -1;
}

static pto_level_t level_of(const job_t *job, pto_space_t space, int a, int b) {
    const process_t *one = &job->process[a], *other = &job->process[b];
    if (made.node[a] != made.node[b])
        return PTO_LEVEL_OFF_NODE;
    if (space == PTO_SPACE_GPU && one->device == other->device)
        return PTO_LEVEL_ON_GPU;
    bool near = space == PTO_SPACE_GPU ? one->gpu_socket == other->gpu_socket : one->socket == other->socket;
    return near ? PTO_LEVEL_ON_SOCKET : PTO_LEVEL_ON_NODE;
}

TEST(places_are_found_and_compared) {
    for (uint64_t seed = 1; seed <= MACHINES; seed++) {
        job_t job;
        make_machine(seed);
        job_init(&job);
        for (int node = 0; node < job.node_count; node++) {
            int count = 0;
            for (int i = 0; i < PROCESSES; i++)
                count += node_of(i) == node;
            assert_int_equal(job_processes_on(&job, node), count);
        }
        for (int device = 0; device < made.devices; device++)
            for (int i = 0; i < PROCESSES; i++) {
                assert_int_equal(job_process_of_device(&job, device, i), driver_of(&job, device, i));
                job.process[i].socket = draw(3) - 1;
                bool unknown = job.process[i].socket < 0 || job.device_socket[device] < 0;
                assert_int_equal(job_on_socket(&job, i, device),
                                 unknown || job.process[i].socket == job.device_socket[device]);
            }
        for (int a = 0; a < PROCESSES && made.without_gpu < 0; a++)
            for (int b = 0; b < PROCESSES; b++)
                for (pto_space_t space = 0; space < PTO_SPACE_COUNT; space++)
                    assert_int_equal(job_level(&job, space, a, b), level_of(&job, space, a, b));
        job_fini(&job);
    }
}

/* As where each process sees one GPU alone, or has a CUDA_VISIBLE_DEVICES of its own. */
TEST(gpus_are_not_measured_where_processes_number_them_differently) {
    for (uint64_t seed = 1; seed <= MACHINES; seed++) {
        job_t job;
        make_machine(seed);
        made.without_gpu = -1;
        made.turned = draw(PROCESSES);
        job_init(&job);
        bool alone = beside(made.turned, PROCESSES) == 1, differ = made.devices > 1 && !alone;
        assert_int_equal(strstr(job.no_gpu, "number its GPUs differently") != NULL, differ);
        assert_int_equal(job.no_gpu[0] != '\0', differ);
        job_fini(&job);
    }
}

TEST(messages_need_two_processes_and_an_mpi_that_reaches_them) {
    for (int size = 1; size <= 3; size++)
        for (int aware = 0; aware < 2; aware++)
            for (int has_gpu = 0; has_gpu < 2; has_gpu++) {
                job_t job = {.size = size, .cuda_aware = aware == 1};
                snprintf(job.no_gpu, sizeof job.no_gpu, "%s", has_gpu == 1 ? "" : "no GPU here");
                const char *alone = "the job has one process";
                const char *cpu = job_no_messages(&job, PTO_SPACE_CPU);
                const char *on_gpu = job_no_messages(&job, PTO_SPACE_GPU);
                const char *wanted = size == 1      ? alone
                                     : has_gpu == 0 ? "no GPU here"
                                     : aware == 0   ? "the MPI library is not CUDA-aware"
                                                    : "none";
                assert_string_equal(cpu != NULL ? cpu : "none", size == 1 ? alone : "none");
                assert_string_equal(on_gpu != NULL ? on_gpu : "none", wanted);
            }
}

int main(int argc, char **argv) {
    int size, failed;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    failed = size == PROCESSES ? run_all_tests(NULL, NULL) : 1;
    if (failed)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Finalize();
    return failed;
}
