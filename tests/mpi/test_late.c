/* What an executor waits for and gets late, wrong or never: calls of NCCL that end late, messages that fail,
 * and a process that does not come. On the host device, with 4 processes.
 *
 *   mpirun -n 4 test_late */
#include "../../impl/host_stream.h"
#include "four.h"
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
    pto_exec_t *exec = NULL;
    pto_plan_t *plan = allreduce_by("nccl");
    float *in = buffer_of(host, (float)rank), *out = buffer_of(host, -1);
    nccl.run = run_later;
    nccl.waits = false;
    device.nccl = &nccl;
    if (host->stream_create(&aside, &err) != PTO_OK ||
        pto_exec_create(plan, MPI_COMM_WORLD, &device, in, out, PTO_OP_SUM, &usual, &exec, &err) != PTO_OK)
        die(err.message);
    for (int run = 0; run < 3; run++) {
        bool finished = false;
        for (int i = 0; i < ELEMENTS; i++)
            out[i] = -1;
        if (pto_exec_start(exec, &err) != PTO_OK)
            die(err.message);
        while (!finished)
            if (pto_exec_test(exec, &finished, &err) != PTO_OK)
                die(err.message);
        expect(holds(out, sum_from(0)), "a run by NCCL", "the output before it");
        for (int i = 0; i < ELEMENTS; i++)
            out[i] = -1;
        for (int i = 0; i < 2; i++)
            if (pto_exec_queue(exec, &err) != PTO_OK)
                die(err.message);
        if (pto_exec_wait(exec, &err) != PTO_OK)
            die(err.message);
        expect(holds(out, sum_from(0)), "queued runs by NCCL", "the output before them");
    }
    pto_exec_destroy(exec);
    host->stream_destroy(aside, NULL);
    pto_plan_destroy(plan);
    host->release(in, NULL);
    host->release(out, NULL);
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
    pto_exec_t *exec = NULL;
    const char *named;
    int peer = -1;
    pto_plan_t *plan = plan_of("cuda_aware", PTO_COLLECTIVE_ALLTOALL, "linear", &one_node);
    pto_exec_options_t options = usual;
    char *in = calloc(PROCESSES, BYTES), *out = calloc(PROCESSES, BYTES);
    options.timeout_s = -1; /* so that it waits in MPI */
    if (!in || !out ||
        pto_exec_create(plan, MPI_COMM_WORLD, host, in, out, PTO_OP_SUM, &options, &exec, &err) != PTO_OK)
        die(err.message);
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
        expect(pto_exec_run(exec, &err) == PTO_ERR_RANGE && strstr(err.message, "an earlier run failed"),
               "runs again", err.message);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank != of_rank) /* whose memory messages might still use, for all it knows */
        free(in);
    pto_plan_destroy(plan);
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
    static const int64_t table[PROCESSES] = {2, 0, 3, 1};
    enum { ABSENT = 3 };
    pto_error_t err = {0};
    pto_exec_t *exec = NULL;
    char place[80];
    pto_plan_t *plan = plan_of(strategy, PTO_COLLECTIVE_ALLREDUCE, algorithm, &one_node);
    const pto_exec_options_t options = {.placement = PTO_PLACEMENT_TABLE,
                                        .table = table,
                                        .own_algorithms = true,
                                        .timeout_s = 0.3,
                                        .wait = wait};
    float *in = buffer_of(host, 1), *out = buffer_of(host, 0);
    if (pto_exec_create(plan, MPI_COMM_WORLD, host, in, out, PTO_OP_SUM, &options, &exec, &err) != PTO_OK)
        die(err.message);
    MPI_Barrier(MPI_COMM_WORLD);
    double began_s = MPI_Wtime();
    if (rank != ABSENT) {
        expect(pto_exec_run(exec, &err) == PTO_ERR_TIMEOUT, strategy, err.message);
        double took_s = MPI_Wtime() - began_s;
        expect(took_s >= 0.3 && took_s < 20, strategy, "not the time that was given");
        snprintf(place, sizeof place, "rank %d (MPI rank %d; node 0, GPU %d, core 0) in stage '",
                 (int)table[rank], rank, (int)table[rank]);
        expect(strncmp(err.message, place, strlen(place)) == 0, place, err.message);
        expect(strstr(err.message, doing) != NULL, doing, err.message);
        snprintf(place, sizeof place,
                 ", k %d: ", ((int)table[rank] - (int)table[ABSENT] + PROCESSES - 1) % PROCESSES);
        expect(strcmp(algorithm, "ring") != 0 || strstr(err.message, place), place, err.message);
        expect(strstr(err.message, ", no progress for 0.3 s") != NULL, strategy, err.message);
        expect(pto_exec_run(exec, &err) == PTO_ERR_RANGE && strstr(err.message, "an earlier run failed"),
               "runs again", err.message);
        pto_exec_destroy(exec);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    a_run_is_over_when_nccl_is();
    a_failed_message_is_named();
    an_absent_process_is_waited_for("cuda_aware", "ring", PTO_WAIT_YIELD, "waiting for messages");
    an_absent_process_is_waited_for("cuda_aware", "ring", PTO_WAIT_SLEEP, "waiting for messages");
    an_absent_process_is_waited_for("three_step", "ring", PTO_WAIT_SPIN, "waiting for messages");
    an_absent_process_is_waited_for("gsb", "direct", PTO_WAIT_YIELD, "waiting for a signal");
    an_absent_process_is_waited_for("gas_allgather", "direct", PTO_WAIT_YIELD, "in a kernel");
    return end();
}
