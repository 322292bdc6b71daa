/* Executors that allocate the user's buffers themselves (pto_exec_open): with a second pattern in host
 * memory, the data that pto_exec_put and the caller have written come out in the right place, run after run.
 *
 *   mpirun -n N test_open [DEVICE]   on at least two processes; each has a GPU, or all share one */
#include <stdio.h>
#include <stdlib.h>

#include "../../validate/reference.h"
#include "die.h"
#include "portolan/exec_mpi.h"
#include "portolan/strategy.h"

enum { RUNS = 5, BYTES = 1000 };

static int rank;
static pto_error_t err;

static const pto_exec_options_t options = {
    .placement = PTO_PLACEMENT_IDENTITY, .own_algorithms = true, .on_timeout = PTO_TIMEOUT_ABORT};

static void check_runs(const pto_plan_t *plan, pto_exec_t *exec) {
    const pto_request_t *request = pto_plan_request(plan);
    const int64_t in_bytes = pto_exec_user_bytes(plan, rank, PTO_ROLE_IN);
    const int64_t out_bytes = pto_exec_user_bytes(plan, rank, PTO_ROLE_OUT);
    const reference_host_t second = {pto_exec_host_in(exec), pto_exec_host_out(exec),
                                     pto_exec_user_bytes(plan, rank, PTO_ROLE_HOST_IN),
                                     pto_exec_user_bytes(plan, rank, PTO_ROLE_HOST_OUT)};
    void *data = malloc((size_t)(in_bytes > out_bytes ? in_bytes : out_bytes) + 1);
    if (!data || (second.in_bytes > 0) != (second.in != NULL) ||
        (second.out_bytes > 0) != (second.out != NULL) || (second.in && second.in == second.out))
        die("buffers in host memory are missing, or there are some without a second pattern");
    for (uint64_t run = 1; run <= RUNS; run++) {
        reference_fill(request, PTO_OP_SUM, run, rank, data, in_bytes);
        reference_host_fill(run, rank, &second);
        MUST(pto_exec_put(exec, data, &err));
        MUST(pto_exec_run(exec, &err));
        MUST(pto_exec_get(exec, data, &err));
        MUST(reference_compare(request, PTO_OP_SUM, run, rank, data, out_bytes, &err));
        MUST(reference_host_compare(request, run, rank, &second, &err));
    }
    free(data);
}

/* Without a pattern in host memory there are no such buffers. */
static void check_strategy(const char *strategy, const char *device, int size, bool joins) {
    pto_counts_t on_host = {.kind = PTO_COUNTS_SKEW, .skew = 0.5, .seed = 3};
    pto_counts_t counts = {.kind = PTO_COUNTS_EQUAL, .host = joins ? &on_host : NULL};
    pto_request_t request = {.layout = {1, size, 1, 1, 1, false},
                             .collective = PTO_COLLECTIVE_ALLTOALLV,
                             .datatype = PTO_DATATYPE_BYTE,
                             .implementation = PTO_IMPLEMENTATION_ISEND_IRECV,
                             .counts = &counts,
                             .bytes = BYTES};
    pto_exec_t *exec = NULL;
    pto_plan_t *plan = plan_by(request, strategy, "linear");
    MUST(pto_exec_open(plan, MPI_COMM_WORLD, device, PTO_OP_SUM, &options, &exec, &err));
    if (joins != (pto_exec_user_bytes(plan, rank, PTO_ROLE_HOST_IN) > 0))
        die("the plan has the wrong buffers");
    check_runs(plan, exec);
    pto_exec_destroy(exec);
    pto_plan_destroy(plan);
}

int main(int argc, char **argv) {
    const char *device = argc > 1 ? argv[1] : "host";
    int given, size;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &given);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int joins = 0; joins < 2; joins++)
        check_strategy("three_step", device, size, joins == 1);
    if (rank == 0)
        printf("test_open: right\n");
    MPI_Finalize();
    return 0;
}
