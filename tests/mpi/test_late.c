/* What an executor waits for and gets late, wrong or never: calls of NCCL that end late, messages that fail,
 * and a process that does not come. On the host device, with 4 processes.
 *
 *   mpirun -n 4 test_late
 *   mpirun -n 4 test_late end
 *       one process does not end its executor, so the watchdogs of the others end the job */
#include "../../impl/device/host_stream.h"
#include "four.h"
#include "portolan/kernel.h"
#include "portolan/nccl.h"

/* --- NCCL ---------------------------------------------------------------------------------------------- */

/* A call that its stream makes later, as a GPU does. */
typedef struct {
    void *group;
    pto_nccl_call_t call;
    int turns;
} later_t;

enum { LATER_MAX = 8 };
static later_t later[LATER_MAX];
static int later_count;
static void *aside; /* a stream in which nothing is */

static bool call_later(void *what, bool *begun) {
    later_t *it = what;
    *begun = true;
    if (it->turns-- > 0)
        return false;
    expect(host->nccl->run(it->group, &it->call, aside, NULL) == PTO_OK, "a call of NCCL", "an error");
    return true;
}

static pto_status_t run_later(void *group, const pto_nccl_call_t *call, void *stream, pto_error_t *err) {
    later_t *it = &later[later_count++ % LATER_MAX];
    *it = (later_t){group, *call, 3 + rank};
    return pto_host_stream_step(call_later, it, stream, err);
}

/* Runs that are begun and asked about, or queued, are over when NCCL is. */
static void a_run_is_over_when_nccl_is(void) {
    pto_device_t device = *host;
    pto_nccl_t nccl = *host->nccl;
    pto_error_t err = {0};
    pto_plan_t *plan = allreduce_by("nccl");
    float *in = buffer_of((float)rank), *out = buffer_of(-1);
    nccl.run = run_later;
    nccl.waits = false;
    device.nccl = &nccl;
    MUST(host->stream_create(&aside, &err));
    pto_exec_t *exec = exec_of(plan, &device, in, out, &usual);
    for (int run = 0; run < 3; run++) {
        bool finished = false;
        fill_with(out, -1);
        MUST(pto_exec_start(exec, &err));
        while (!finished)
            MUST(pto_exec_test(exec, &finished, &err));
        expect(holds(out, sum_from(0)), "a run by NCCL", "the output before it");
        fill_with(out, -1);
        for (int i = 0; i < 2; i++)
            MUST(pto_exec_queue(exec, &err));
        MUST(pto_exec_wait(exec, &err));
        expect(holds(out, sum_from(0)), "queued runs by NCCL", "the output before them");
    }
    pto_exec_destroy(exec);
    host->stream_destroy(aside, NULL);
}

/* --- messages that fail -------------------------------------------------------------------------------- */

static int failing = -1; /* the rank whose waits for messages fail; -1: none */
typedef enum { FIRST_FAILS, LAST_FAILS, ALL_FAIL } failure_t;
static failure_t failing_message;

int MPI_Waitall(int count, MPI_Request request[], MPI_Status status[]) {
    int code = PMPI_Waitall(count, request, status);
    int wrong_one = failing_message == FIRST_FAILS ? 0 : count - 1;
    if (failing != rank)
        return code;
    if (failing_message == ALL_FAIL)
        return MPI_ERR_OTHER;
    for (int i = 0; i < count; i++)
        status[i].MPI_ERROR = i == wrong_one ? MPI_ERR_TRUNCATE : i % 2 ? MPI_SUCCESS : MPI_ERR_PENDING;
    return MPI_ERR_IN_STATUS;
}

/* All messages of a linear alltoall are waited for at once, so that the other processes do not miss them. */
static void fail_messages(int of_rank, failure_t message, const char *wanted) {
    pto_error_t err = {0};
    const char *named;
    int peer = -1;
    pto_plan_t *plan = plan_of("cuda_aware", PTO_COLLECTIVE_ALLTOALL, "linear", &one_node);
    pto_exec_options_t options = usual;
    options.timeout_s = -1; /* so that it waits in MPI */
    pto_exec_t *exec = exec_of(plan, host, blocks_for_all(0), blocks_for_all(0), &options);
    failing = of_rank;
    failing_message = message;
    pto_status_t status = pto_exec_run(exec, &err);
    failing = -1;
    expect(status == (rank == of_rank ? PTO_ERR_IO : PTO_OK), "a message fails", err.message);
    if (rank == of_rank) {
        named = strstr(err.message, "message with MPI rank ");
        expect(strstr(err.message, wanted) != NULL, wanted, err.message);
        expect(strstr(err.message, " in stage '") != NULL, "its stage", err.message);
        expect((named != NULL) == (message != ALL_FAIL), "names its message", err.message);
        expect(!named || (sscanf(named, "message with MPI rank %d:", &peer) == 1 && peer >= 0 &&
                          peer < PROCESSES && peer != rank),
               "a peer", err.message);
        expect_failed(exec);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void a_failed_message_is_named(void) {
    for (int of_rank = 0; of_rank < PROCESSES; of_rank++) {
        fail_messages(of_rank, FIRST_FAILS, "receive from");
        fail_messages(of_rank, LAST_FAILS, "send to");
        fail_messages(of_rank, ALL_FAIL, "MPI_Waitall");
    }
}

/* --- a process that does not come ---------------------------------------------------------------------- */

/* The others give up in time, and each says where it is and what it waits for: in a ring, of the one that is
 * absent after as many rounds as there are between. None frees what the others may still use. */
static void an_absent_process_is_waited_for(const char *strategy, const char *algorithm, pto_wait_t wait,
                                            const char *doing) {
    const bool in_rounds = strcmp(algorithm, "ring") == 0;
    /* A process must not be late for a round because the machine is slow. */
    const double timeout_s = in_rounds ? 3 : 0.3;
    static const int64_t table[PROCESSES] = {2, 0, 3, 1};
    enum { ABSENT = 3 };
    pto_error_t err = {0};
    char place[80];
    pto_plan_t *plan = plan_of(strategy, PTO_COLLECTIVE_ALLREDUCE, algorithm, &one_node);
    const pto_exec_options_t options = {.placement = PTO_PLACEMENT_TABLE,
                                        .table = table,
                                        .own_algorithms = true,
                                        .timeout_s = timeout_s,
                                        .wait = wait};
    float *in = buffer_of(1), *out = buffer_of(0);
    pto_exec_t *exec = exec_of(plan, host, in, out, &options);
    MPI_Barrier(MPI_COMM_WORLD);
    double began_s = MPI_Wtime();
    if (rank != ABSENT) {
        expect(pto_exec_run(exec, &err) == PTO_ERR_TIMEOUT, strategy, err.message);
        double took_s = MPI_Wtime() - began_s;
        expect(took_s >= timeout_s && took_s < 20, strategy, "not the time that was given");
        snprintf(place, sizeof place, "rank %d (MPI rank %d; node 0, GPU %d, core 0) in stage '",
                 (int)table[rank], rank, (int)table[rank]);
        expect(strncmp(err.message, place, strlen(place)) == 0, place, err.message);
        expect(strstr(err.message, doing) != NULL, doing, err.message);
        snprintf(place, sizeof place,
                 ", k %d: ", ((int)table[rank] - (int)table[ABSENT] + PROCESSES - 1) % PROCESSES);
        expect(!in_rounds || strstr(err.message, place), place, err.message);
        snprintf(place, sizeof place, ", no progress for %g s", timeout_s);
        expect(strstr(err.message, place) != NULL, strategy, err.message);
        expect_failed(exec);
        pto_exec_destroy(exec);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* --- a process that fails alone ------------------------------------------------------------------------- */

/* The rank that fails; -1: none. */
static int starved = -1; /* its kernels have no room for other addresses */
static int broken = -1;  /* its device takes no other addresses */
static int without_requests = -1;

static pto_status_t reserve_or_not(void *kernel, pto_error_t *err) {
    if (starved == rank)
        return pto_error_set(err, PTO_ERR_MEMORY, "no room for a kernel");
    return host->kernels->reserve(kernel, err);
}

static pto_status_t rebind_or_not(void *kernel, const pto_kernel_program_t *program, pto_error_t *err) {
    if (broken == rank)
        return pto_error_set(err, PTO_ERR_IO, "rank %d's device fails", rank);
    return host->kernels->rebind(kernel, program, err);
}

static int requests_refused;

int MPI_Send_init(const void *at, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                  MPI_Request *request) {
    if (without_requests != rank)
        return PMPI_Send_init(at, count, type, peer, tag, comm, request);
    requests_refused++;
    return MPI_ERR_NO_MEM;
}

int MPI_Recv_init(void *at, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                  MPI_Request *request) {
    if (without_requests != rank)
        return PMPI_Recv_init(at, count, type, peer, tag, comm, request);
    requests_refused++;
    return MPI_ERR_NO_MEM;
}

static pto_device_t kernels_fail(pto_kernels_t *kernels) {
    pto_device_t device = *host;
    *kernels = *host->kernels;
    kernels->reserve = reserve_or_not;
    kernels->rebind = rebind_or_not;
    device.kernels = kernels;
    return device;
}

/* What one process lacks for a rebinding is an error of all, whether they tell each other through MPI or
 * through shared memory. They keep their buffers, and the next rebinding works. */
static void a_rebinding_fails_on_all_or_none(bool registered) {
    pto_kernels_t kernels;
    pto_device_t device = kernels_fail(&kernels);
    pto_error_t err = {0};
    pto_plan_t *plan = allreduce_by("gas_read");
    float *in[2], *out = buffer_of(-1);
    char wanted[80];
    int number;
    for (int i = 0; i < 2; i++)
        in[i] = buffer_of((float)(100 * i + rank));
    pto_exec_t *exec = exec_of(plan, &device, in[0], out, &usual);
    for (int i = 0; i < 2 && registered; i++)
        MUST(pto_register(exec, in[i], BYTES, &number, &err));
    for (int i = 0; i < 2 * PROCESSES; i++) {
        starved = i / 2;
        pto_status_t status = pto_exec_rebind(exec, in[1 - i % 2], out, &err);
        snprintf(wanted, sizeof wanted, "MPI rank %d: no room for a kernel", starved);
        expect(status == PTO_ERR_MEMORY && strcmp(err.message, wanted) == 0, wanted, err.message);
        starved = -1;
        run_to(exec, out, sum_from((float)(100 * (i % 2))), "the buffers before it");
        expect(pto_exec_rebind(exec, in[1 - i % 2], out, &err) == PTO_OK, "the next one", err.message);
        run_to(exec, out, sum_from((float)(100 * (1 - i % 2))), "other buffers");
    }
    pto_exec_destroy(exec);
}

/* Of a private buffer there is nothing that the others would have to know. */
static void a_private_rebinding_keeps_its_buffers(void) {
    pto_kernels_t kernels;
    pto_device_t device = kernels_fail(&kernels);
    pto_error_t err = {0};
    pto_plan_t *plan = allreduce_by("gas_allgather");
    float *in[2], *out = buffer_of(-1);
    for (int i = 0; i < 2; i++)
        in[i] = buffer_of((float)rank);
    pto_exec_t *exec = exec_of(plan, &device, in[0], out, &usual);
    starved = 1;
    pto_status_t status = pto_exec_rebind_private(exec, in[1], out, &err);
    expect(status == (rank == starved ? PTO_ERR_MEMORY : PTO_OK), "a lone process has no room", err.message);
    starved = -1;
    expect(pto_exec_in(exec) == in[rank != 1], "its input", "another one");
    run_to(exec, out, sum_from(0), "runs on it");
    pto_exec_destroy(exec);
}

/* Where MPI makes no persistent request for other buffers, their messages are sent without. */
static void messages_need_no_persistent_requests(void) {
    pto_error_t err = {0};
    pto_plan_t *plan = plan_of("cuda_aware", PTO_COLLECTIVE_ALLTOALL, "linear", &one_node);
    float *in[2], *out[2];
    for (int i = 0; i < 2; i++) {
        in[i] = blocks_for_all((float)(100 * i + rank));
        out[i] = blocks_for_all(0);
    }
    pto_exec_t *exec = exec_of(plan, host, in[0], out[0], &usual);
    for (int run = 0; run < 6; run++) {
        int to = 1 - run % 2;
        without_requests = run < 4 ? run % PROCESSES : -1;
        expect(pto_exec_rebind(exec, in[to], out[to], &err) == PTO_OK, "without requests", err.message);
        without_requests = -1;
        expect(pto_exec_run(exec, &err) == PTO_OK, "a run without requests", err.message);
        for (int i = 0; i < PROCESSES; i++)
            expect(holds(out[to] + (ptrdiff_t)i * ELEMENTS, (float)(100 * to + i)), "other buffers",
                   "other data");
        memset(out[to], 0, (size_t)PROCESSES * BYTES);
    }
    expect(requests_refused > 0, "a refused request", "none");
    pto_exec_destroy(exec);
}

/* A device that fails where only its process can know. The others end the executor at once, or run it before:
 * none waits for longer than its time-out. */
static void a_lone_failure_keeps_none_waiting(bool runs) {
    enum { ALONE = 2 };
    pto_kernels_t kernels;
    pto_device_t device = kernels_fail(&kernels);
    pto_error_t err = {0};
    pto_plan_t *plan = allreduce_by("gas_read");
    pto_exec_options_t options = usual;
    float *in[2], *out = buffer_of(-1);
    for (int i = 0; i < 2; i++)
        in[i] = buffer_of((float)rank);
    options.timeout_s = 0.3;
    pto_exec_t *exec = exec_of(plan, &device, in[0], out, &options);
    broken = ALONE;
    pto_status_t status = pto_exec_rebind(exec, in[1], out, &err);
    broken = -1;
    expect(status == (rank == ALONE ? PTO_ERR_IO : PTO_OK), "a device fails", err.message);
    if (rank == ALONE)
        expect_failed(exec);
    else if (runs)
        expect(pto_exec_run(exec, &err) == PTO_ERR_TIMEOUT, "runs without it", err.message);
    double began_s = MPI_Wtime();
    pto_exec_destroy(exec);
    expect(MPI_Wtime() - began_s < 20, "the end of an executor", "another time than was given");
    MPI_Barrier(MPI_COMM_WORLD); /* the memory stays, as others may still use it */
}

/* The watchdog of the others ends the job. */
static void one_does_not_end(void) {
    enum { ABSENT = 1 };
    pto_error_t err = {0};
    pto_plan_t *plan = allreduce_by("gas_read");
    pto_exec_options_t options = usual;
    options.timeout_s = 5;
    options.on_timeout = PTO_TIMEOUT_ABORT;
    pto_exec_t *exec = exec_of(plan, host, buffer_of((float)rank), buffer_of(-1), &options);
    MUST(pto_exec_run(exec, &err));
    if (rank != ABSENT)
        pto_exec_destroy(exec);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    if (argc > 1) {
        one_does_not_end();
        return end();
    }
    a_run_is_over_when_nccl_is();
    a_failed_message_is_named();
    an_absent_process_is_waited_for("cuda_aware", "ring", PTO_WAIT_YIELD, "waiting for messages");
    an_absent_process_is_waited_for("cuda_aware", "ring", PTO_WAIT_SLEEP, "waiting for messages");
    an_absent_process_is_waited_for("three_step", "ring", PTO_WAIT_SPIN, "waiting for messages");
    an_absent_process_is_waited_for("gsb", "direct", PTO_WAIT_YIELD, "waiting for a signal");
    an_absent_process_is_waited_for("gas_allgather", "direct", PTO_WAIT_YIELD, "in a kernel");
    a_rebinding_fails_on_all_or_none(false);
    a_rebinding_fails_on_all_or_none(true);
    a_private_rebinding_keeps_its_buffers();
    messages_need_no_persistent_requests();
    a_lone_failure_keeps_none_waiting(true);
    a_lone_failure_keeps_none_waiting(false);
    return end();
}
