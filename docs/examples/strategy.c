/* A strategy made outside of portolan: an alltoall of GPU data through pageable host memory, the collective
 * among the owners. It is registered, proved, priced, simulated, printed and run like a built-in one. */
#include <portolan/check.h>
#include <portolan/exec_mpi.h>
#include <portolan/pick.h>
#include <portolan/simulate.h>
#include <portolan/strategy.h>
#include <stdio.h>
#include <stdlib.h>

/* A stage in which every owner copies all of a buffer. */
static void copy(pto_builder_t *builder, const char *name, const pto_exchange_t *who, int from, int to) {
    pto_step_t step = pto_step_of(PTO_STEP_COPY, who);
    step.source = pto_slice_all(builder, from);
    step.target = pto_slice_all(builder, to);
    pto_build_stage(builder, name, PTO_ORDER_SEQUENCE);
    pto_build_step(builder, step);
}

/* The plan: a copy from GPU to pageable host memory, an alltoall there, and a copy back. */
static void build(pto_builder_t *builder, const pto_request_t *request) {
    int64_t owners = pto_layout_owner_count(&request->layout);
    pto_buffer_t user = {.name = "in",
                         .role = PTO_ROLE_IN,
                         .space = PTO_SPACE_GPU,
                         .core_count = request->layout.owners_per_gpu,
                         .group = PTO_GROUP_OWNERS,
                         .block_count = owners,
                         .block_bytes = request->bytes,
                         .granularity_bytes = 1};
    int in = pto_build_buffer(builder, user);
    user.name = "out";
    user.role = PTO_ROLE_OUT;
    int out = pto_build_buffer(builder, user);
    user.role = PTO_ROLE_TEMPORARY;
    user.space = PTO_SPACE_CPU;
    user.pageable = true;
    user.name = "host in";
    int host_in = pto_build_buffer(builder, user);
    user.name = "host out";
    int host_out = pto_build_buffer(builder, user);
    pto_exchange_t exchange = {.group = pto_build_group(builder, PTO_GROUP_OWNERS, 0),
                               .n = owners,
                               .core_count = request->layout.owners_per_gpu,
                               .in = host_in,
                               .out = host_out};
    copy(builder, "copy to pageable memory", &exchange, in, host_in);
    pto_build_exchange(builder, request, &exchange);
    copy(builder, "copy from pageable memory", &exchange, host_out, out);
}

static const pto_strategy_t pageable = {.name = "pageable",
                                        .summary = "through host memory that is not pinned",
                                        .collectives = 1u << PTO_COLLECTIVE_ALLTOALL,
                                        .collective_space = PTO_SPACE_CPU,
                                        .build = build};

/* End the program with the error's message unless the status is PTO_OK. */
static void must(pto_status_t status, const pto_error_t *err) {
    if (status != PTO_OK) {
        char text[PTO_ERROR_FILE_MAX + PTO_ERROR_MESSAGE_MAX];
        pto_error_format(err, text, sizeof text); /* with the file and line */
        fprintf(stderr, "%s\n", text);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

/* Run the plan, and check the result. Each process sends one byte to every process; the byte encodes the
 * sender (times 16) and the receiver. */
static void run(const pto_plan_t *plan, int size, int rank) {
    unsigned char *data = malloc((size_t)size);
    pto_error_t err;
    pto_exec_t *exec;
    int right = data != NULL;
    for (int i = 0; i < size && data; i++)
        data[i] = (unsigned char)(16 * rank + i);
    must(pto_exec_open(plan, MPI_COMM_WORLD, "host", PTO_OP_SUM, NULL, &exec, &err), &err);
    must(pto_exec_put(exec, data, &err), &err);
    must(pto_exec_run(exec, &err), &err);
    must(pto_exec_get(exec, data, &err), &err);
    for (int i = 0; i < size && right; i++)
        right = data[i] == (unsigned char)(16 * i + rank);
    printf("rank %d: %s\n", rank, right ? "right" : "wrong");
    pto_exec_destroy(exec);
    free(data);
}

int main(int argc, char **argv) {
    int size, rank;
    pto_error_t err = {.message = "usage: mpirun -n GPUS strategy MACHINE.yaml"};
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    pto_machine_t *machine = NULL;
    pto_plan_t *plan;
    pto_price_t price;
    pto_check_report_t report;
    pto_simulation_t simulation;
    pto_ask_t cell = {.collective = "alltoall",
                      .strategy = "pageable",
                      .datatype = "byte",
                      .bytes = 1,
                      .gpus_per_node = size,
                      .procs_per_gpu = 1};
    must(pto_strategy_register(&pageable, &err), &err);
    must(argc < 2 ? PTO_ERR_IO : pto_machine_open(argv[1], &machine, &err), &err);
    must(pto_predict_one(machine, &cell, &plan, &price, &err), &err);
    must(pto_check(plan, &report, &err), &err);
    must(pto_simulate(plan, machine, NULL, &simulation, &err), &err);
    char *text;
    must(pto_print(plan, rank, false, &text, &err), &err);
    if (rank == 0)
        printf("%sproved: %lld stages; price: %.2f us; simulated: %.2f us\n", text, (long long)report.stages,
               price.seconds * 1e6, simulation.seconds * 1e6);
    free(text);
    run(plan, size, rank);
    pto_plan_destroy(plan);
    pto_machine_destroy(machine);
    return MPI_Finalize();
}
