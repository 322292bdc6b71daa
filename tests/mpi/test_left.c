/* What is left where something fails or does not come: communicators, memory and what others have open. On
 * the host device, with 4 processes.
 *
 *   mpirun -n 4 test_left */
#define _GNU_SOURCE /* fallocate */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <time.h>

#include "four.h"
#include "held.h"
#include "mpi_team.h"

/* --- what is counted ------------------------------------------------------------------------------------ */

static int comms; /* made and not freed */
static bool splits = true, receives = true;

int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm *made) {
    comms++;
    return PMPI_Comm_create(comm, group, made);
}

int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *made) {
    if (!splits)
        return MPI_ERR_NO_MEM;
    comms++;
    return PMPI_Comm_split_type(comm, type, key, info, made);
}

int MPI_Comm_free(MPI_Comm *comm) {
    comms--;
    return PMPI_Comm_free(comm);
}

int MPI_Irecv(void *at, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
              MPI_Request *request) {
    return receives ? PMPI_Irecv(at, count, type, peer, tag, comm, request) : MPI_ERR_OTHER;
}

static int opened, released;         /* opened and not closed; memory */
static int refusing = -1, late = -1; /* the rank that opens nothing, and the one that closes late; -1: none */
static atomic_int *closed_by_all;    /* in memory that all share */

static pto_status_t open_counted(const pto_memory_handle_t *handle, void **memory, pto_error_t *err) {
    if (refusing == rank)
        return pto_error_set(err, PTO_ERR_IO, "nothing is opened here");
    opened++;
    return host->open_memory(handle, memory, err);
}

static pto_status_t close_counted(void *memory, pto_error_t *err) {
    const struct timespec while_s = {.tv_nsec = 300000000};
    if (late == rank)
        nanosleep(&while_s, NULL);
    opened--;
    pto_status_t status = host->close_memory(memory, err);
    atomic_fetch_add(closed_by_all, 1);
    return status;
}

static pto_status_t release_counted(void *memory, pto_error_t *err) {
    released += memory != NULL;
    return host->release(memory, err);
}

static int pinned;
static bool pins = true;

static pto_status_t pin_counted(void *memory, size_t bytes, pto_error_t *err) {
    if (!pins)
        return pto_error_set(err, PTO_ERR_IO, "nothing is pinned here");
    pinned += memory && bytes > 0;
    return PTO_OK;
}

static pto_status_t unpin_counted(void *memory, pto_error_t *err) {
    pinned -= memory != NULL;
    return PTO_OK;
}

static pto_device_t counted(void) {
    pto_device_t device = *host;
    device.open_memory = open_counted;
    device.close_memory = close_counted;
    device.release = release_counted;
    device.pin = pin_counted;
    device.unpin = unpin_counted;
    opened = released = 0;
    return device;
}

static int full = -1; /* the rank that can reserve no shared memory; -1: none */

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the header's are reserved */
int posix_fallocate(int descriptor, off_t offset, off_t bytes) {
    if (full == rank)
        return ENOSPC;
    return fallocate(descriptor, 0, offset, bytes) == 0 ? 0 : errno;
}

/* --- communicators -------------------------------------------------------------------------------------- */

static void communicators_are_freed_where_one_is_missing(void) {
    pto_error_t err = {0};
    pto_exec_t *exec = NULL;
    pto_plan_t *plan = allreduce_by("cuda_aware");
    float *in = buffer_of(1), *out = buffer_of(0);
    int before = comms;
    splits = false;
    pto_status_t status =
        pto_exec_create(plan, MPI_COMM_WORLD, host, in, out, PTO_OP_SUM, &usual, &exec, &err);
    splits = true;
    expect_error(status, PTO_ERR_IO, "MPI_Comm_split_type: ", &err);
    expect(comms == before, "communicators are freed", "one that is left");
}

/* Messages of a run that failed may still arrive. Communicators of other executors than its own stay, too. */
static void communicators_of_failed_runs_stay(void) {
    pto_error_t err = {0};
    pto_exec_t *exec = NULL;
    pto_team_t *shared = NULL;
    pto_plan_t *plan = allreduce_by("cuda_aware");
    float *in = buffer_of(1), *out = buffer_of(0);
    if (pto_team_mpi_create(MPI_COMM_WORLD, &shared, &err) != PTO_OK ||
        pto_exec_create_in(plan, shared, host, in, out, PTO_OP_SUM, &usual, &exec, &err) != PTO_OK)
        die(err.message);
    int before = comms;
    receives = false;
    pto_status_t status = pto_exec_run(exec, &err);
    receives = true;
    expect_error(status, PTO_ERR_IO, "MPI_Irecv: ", &err);
    pto_exec_destroy(exec);
    pto_team_mpi_destroy(shared);
    expect(comms == before, "communicators stay", "one that is freed");
}

/* --- memory --------------------------------------------------------------------------------------------- */

/* The others may have its memory open. */
static void memory_stays_where_one_does_not_come(void) {
    enum { ABSENT = 3 };
    pto_device_t device = counted();
    pto_plan_t *plan = allreduce_by("gas_read");
    pto_exec_options_t options = usual;
    float *in = buffer_of((float)rank), *out = buffer_of(-1);
    options.timeout_s = 0.3;
    pto_exec_t *exec = exec_of(plan, &device, in, out, &options);
    expect(opened > 0, "opens the others' memory", "none");
    int before = comms;
    if (rank != ABSENT) {
        pto_exec_destroy(exec);
        expect(opened == 0, "closes the others' memory", "some that is open");
        expect(released == 0, "keeps its own", "some that is released");
        expect(comms == before, "and its communicators", "one that is freed");
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Of a grid with rings in the node's segment, and in place. */
static pto_plan_t *plan_of_rings(void) {
    pto_request_t request = {.layout = one_node,
                             .collective = PTO_COLLECTIVE_HALO,
                             .datatype = PTO_DATATYPE_INT32,
                             .chunks = 7,
                             .halo = {.dim_count = 2, .wrap = {true, true}, .extent = {7, 9}, .width = 1},
                             .bytes = 4};
    return keep(plan_by(request, "shm_ring", "direct"), end_plan);
}

/* Each process pins the segment, and unpins it where it has done so. */
static void segments_are_unpinned(void) {
    pto_device_t device = counted();
    pto_plan_t *plan = plan_of_rings();
    void *field = calloc(1, (size_t)pto_exec_user_bytes(plan, rank, PTO_ROLE_OUT));
    for (int without = -1; without < PROCESSES; without++) {
        pto_error_t err = {0};
        pto_exec_t *exec = NULL;
        pins = rank != without;
        pto_status_t status =
            pto_exec_create(plan, MPI_COMM_WORLD, &device, field, field, PTO_OP_SUM, &usual, &exec, &err);
        expect(status == (without < 0 ? PTO_OK : PTO_ERR_IO), "a segment that one does not pin", err.message);
        expect(pinned == (without < 0), "pinned once, or no more", "another number");
        if (status == PTO_OK)
            pto_exec_destroy(exec);
        expect(pinned == 0, "unpinned", "not so");
    }
    pins = true;
    for (full = 0; full < PROCESSES; full++) {
        pto_error_t err = {0};
        pto_exec_t *exec = NULL;
        pto_status_t status =
            pto_exec_create(plan, MPI_COMM_WORLD, &device, field, field, PTO_OP_SUM, &usual, &exec, &err);
        expect(status != PTO_OK && strstr(err.message, "No space left"), "a segment without room",
               err.message);
    }
    full = -1;
    free(field);
}

/* Of a process that cannot register, no other one keeps anything open. */
static void what_is_not_registered_is_closed(void) {
    pto_device_t device = counted();
    pto_error_t err = {0};
    pto_plan_t *plan = allreduce_by("gas_read");
    float *in = buffer_of((float)rank), *out = buffer_of(-1), *pool = buffer_of(0);
    int number = -1;
    pto_exec_t *exec = exec_of(plan, &device, in, out, &usual);
    int before = opened;
    for (refusing = 0; refusing < PROCESSES; refusing++) {
        pto_status_t status = pto_register(exec, pool, BYTES, &number, &err);
        expect_error(status, PTO_ERR_IO, "nothing is opened here", &err);
        expect(opened == before, "all close what they opened", "some that is open");
    }
    refusing = -1;
    MUST(pto_register(exec, pool, BYTES, &number, &err));
    expect(opened == before + PROCESSES - 1, "all open it", "some that is not");
    pto_exec_destroy(exec);
    expect(opened == 0, "closes all", "some that is open");
}

/* No process returns before all have closed its memory. */
static void unregistered_memory_is_closed_by_all(void) {
    pto_device_t device = counted();
    pto_error_t err = {0};
    pto_plan_t *plan = allreduce_by("gas_read");
    float *in = buffer_of((float)rank), *out = buffer_of(-1), *pool = buffer_of(0);
    int number = -1;
    pto_exec_t *exec = exec_of(plan, &device, in, out, &usual);
    for (int i = 0; i < PROCESSES; i++) {
        MUST(pto_register(exec, pool, BYTES, &number, &err));
        int before = atomic_load(closed_by_all);
        MPI_Barrier(MPI_COMM_WORLD);
        late = i;
        expect(pto_unregister(exec, number, &err) == PTO_OK, "unregistered", err.message);
        expect(atomic_load(closed_by_all) == before + PROCESSES * (PROCESSES - 1), "all have closed it",
               "some that is open");
        late = -1;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    pto_exec_destroy(exec);
}

/* For one process, /dev/shm is full: there is the host device's memory. */
static void buffers_are_released_where_one_has_none(void) {
    pto_plan_t *plan = allreduce_by("gas_read");
    for (full = 0; full < PROCESSES; full++) {
        pto_error_t err = {0};
        pto_exec_t *exec = NULL;
        char wanted[64];
        int before = mappings_of("/dev/shm/"), files_before = open_files();
        pto_status_t status = pto_exec_open(plan, MPI_COMM_WORLD, "host", PTO_OP_SUM, &usual, &exec, &err);
        snprintf(wanted, sizeof wanted, "MPI rank %d: posix_fallocate in /dev/shm: No space left", full);
        expect(status != PTO_OK && strncmp(err.message, wanted, strlen(wanted)) == 0, wanted, err.message);
        expect(mappings_of("/dev/shm/") == before, "buffers are released", "some that are left");
        expect(open_files() == files_before, "files are closed", "some that are open");
    }
    full = -1;
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    MPI_Win window;
    int unit = 0;
    MPI_Aint bytes = rank == 0 ? (MPI_Aint)sizeof *closed_by_all : 0;
    MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, (void *)&closed_by_all, &window);
    MPI_Win_shared_query(window, 0, &bytes, &unit, (void *)&closed_by_all);
    if (rank == 0)
        atomic_init(closed_by_all, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    communicators_are_freed_where_one_is_missing();
    communicators_of_failed_runs_stay();
    segments_are_unpinned();
    what_is_not_registered_is_closed();
    unregistered_memory_is_closed_by_all();
    buffers_are_released_where_one_has_none();
    memory_stays_where_one_does_not_come();
    MPI_Win_free(&window);
    return end();
}
