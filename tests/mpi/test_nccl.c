/* The strategy nccl, executed.
 *
 *   mpirun -n N test_nccl WHAT [DEVICE]
 *
 *   cases   every collective, type, operation and placing is right; N is even
 *   create  only make an executor, or say why there is none
 *   run     run an allreduce once, with a watchdog of 10 seconds
 *   windows every collective whose buffers can be symmetric windows is right on them
 *   window  only make an executor whose buffers are symmetric windows, or say why there is none
 *   foreign the same of buffers that NCCL did not allocate
 *   refused say why executors have no symmetric windows: a collective in place that copies its input aside,
 *           blocks that differ, buffers that change, and a plan of other strategies
 *
 * VERBOSE=1: say each case before it begins.
 * Without a device everything between a plan and NCCL is tested, with fake_nccl.c in NCCL's place: the device
 * is the host, but its collectives are those that a GPU's device has. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "die.h"
#include "exec_case.h"
#include "nccl/nccl_collective.h"
#include "portolan/nccl.h"
#include "portolan/strategy.h"

/* On a GPU, NCCL works in the stream, after what was enqueued before. The library in its place works at once,
 * and the host device's streams are late. */
static pto_status_t run_after_stream(void *group, const pto_nccl_call_t *call, void *stream,
                                     pto_error_t *err) {
    const pto_device_t *host = NULL;
    pto_status_t status = pto_device_find("host", &host, err);
    if (status == PTO_OK)
        status = host->finish(stream, err);
    return status == PTO_OK ? pto_nccl_cuda.run(group, call, stream, err) : status;
}

enum { RUNS = 3 };

static int world_rank;

static void ask(case_t *test, pto_collective_t collective, const pto_layout_t *layout, int64_t bytes) {
    memset(test, 0, sizeof *test);
    test->request.layout = *layout;
    test->request.collective = collective;
    test->request.datatype = PTO_DATATYPE_FLOAT;
    test->request.bytes = bytes;
    test->options.placement = PTO_PLACEMENT_IDENTITY;
}

static pto_plan_t *made(case_t *test) { return case_plan(test, "nccl", "nccl"); }

/* --- right results -------------------------------------------------------------------------------------- */

static int cases;

/* Sums and what is moved, of the first layout, in every way of these 8, the others in one, each in turn. On a
 * GPU, where NCCL takes a second to begin, always in one, of the other layouts only every fourth case, and
 * every second reduction: those that one collective leaves out are the next one's. */
static bool every_way = true;
static int asked;
static int reductions;

static void run_case(case_t *test, bool first_layout, const pto_device_t *device) {
    if (!every_way && !first_layout && asked++ % 4)
        return;
    bool all = every_way && first_layout && test->op == PTO_OP_SUM;
    int first = all ? 0 : cases % 8, until = all ? 8 : first + 1;
    for (int how = first; how < until; how++) {
        test->in_place = how & 1;
        test->plain_memory = how & 2;
        test->asynchronous = how & 4;
        pto_plan_t *plan = made(test);
        if (world_rank == 0 && getenv("VERBOSE"))
            case_say(test, "begins");
        if (!case_run(test, plan, MPI_COMM_WORLD, device, RUNS))
            die("a case does not apply");
        pto_plan_destroy(plan);
        cases++;
    }
}

/* Types and operations of reductions, and sizes of what is only moved. */
static void run_collective(pto_collective_t collective, const pto_layout_t *layout, bool first_layout,
                           const pto_device_t *device) {
    static const int64_t moved_bytes[] = {0, 1, 7, 4096, 65537};
    case_t test;
    int pair = pto_collective_reduces(collective) ? reductions++ : 0;
    for (int type = 0; type < PTO_DATATYPE_COUNT && pto_collective_reduces(collective); type++)
        for (int op = 0; op < PTO_OP_COUNT; op++) {
            if (pto_op_takes((pto_op_t)op, (pto_datatype_t)type, NULL) != PTO_OK ||
                pto_nccl_takes((pto_datatype_t)type, (pto_op_t)op, NULL) != PTO_OK)
                continue;
            if (!every_way && pair++ % 2)
                continue;
            ask(&test, collective, layout, 8 * 41);
            test.request.datatype = (pto_datatype_t)type;
            test.op = (pto_op_t)op;
            run_case(&test, first_layout, device);
        }
    for (size_t i = 0; i < sizeof moved_bytes / sizeof *moved_bytes && !pto_collective_reduces(collective);
         i++) {
        ask(&test, collective, layout, moved_bytes[i]);
        run_case(&test, first_layout, device);
        if (collective != PTO_COLLECTIVE_ALLTOALLV && collective != PTO_COLLECTIVE_ALLGATHERV)
            continue;
        test.counts = (pto_counts_t){.kind = PTO_COUNTS_SKEW, .skew = 1, .seed = 5};
        test.request.counts = &test.counts;
        run_case(&test, first_layout, device);
    }
}

static void run_cases(const pto_device_t *device, int size) {
    static const pto_collective_t collective[] = {PTO_COLLECTIVE_ALLREDUCE,      PTO_COLLECTIVE_REDUCE,
                                                  PTO_COLLECTIVE_BROADCAST,      PTO_COLLECTIVE_ALLGATHER,
                                                  PTO_COLLECTIVE_ALLTOALL,       PTO_COLLECTIVE_ALLTOALLV,
                                                  PTO_COLLECTIVE_REDUCE_SCATTER, PTO_COLLECTIVE_ALLGATHERV};
    pto_layout_t layout[] = {
        {1, size, 1, 1, 1, false}, {2, size / 2, 1, 1, 1, false}, {1, size / 2, 1, 2, 1, false}};
    size_t layouts = size < 4 ? 2 : 3; /* the last has half as many GPUs, which are to be several */
    if (size % 2)
        die("an even number of processes is needed");
    for (size_t i = 0; i < layouts; i++)
        for (size_t c = 0; c < sizeof collective / sizeof *collective; c++)
            run_collective(collective[c], &layout[i], i == 0, device);
    if (world_rank == 0)
        printf("test_nccl: %d cases right with NCCL %s\n", cases, device->nccl->version());
}

/* --- symmetric windows ---------------------------------------------------------------------------------- */

/* The device, but NCCL allocates its memory. */
static pto_device_t with_windows(const pto_device_t *device) {
    pto_device_t made = *device;
    made.allocate = device->nccl->allocate;
    made.release = device->nccl->release;
    return made;
}

static void run_on_windows(const pto_device_t *windows, pto_collective_t collective,
                           const pto_layout_t *layout) {
    for (int bytes = 4; bytes <= 65536; bytes *= 128)
        for (int in_place = 0; in_place < (pto_collective_is_vector(collective) ? 2 : 1); in_place++) {
            case_t test;
            ask(&test, collective, layout, bytes);
            test.in_place = in_place;
            test.options.nccl_windows = true;
            pto_plan_t *plan = made(&test);
            if (!case_run(&test, plan, MPI_COMM_WORLD, windows, RUNS))
                die("a case does not apply");
            pto_plan_destroy(plan);
            cases++;
        }
}

static void run_windows(const pto_device_t *device, int size) {
    static const pto_collective_t collective[] = {PTO_COLLECTIVE_ALLREDUCE, PTO_COLLECTIVE_REDUCE,
                                                  PTO_COLLECTIVE_BROADCAST, PTO_COLLECTIVE_ALLGATHER,
                                                  PTO_COLLECTIVE_ALLTOALL,  PTO_COLLECTIVE_REDUCE_SCATTER};
    const pto_device_t windows = with_windows(device);
    /* On the last, half of the processes only help. */
    const pto_layout_t layout[] = {{1, size, 1, 1, 1, false}, {1, size / 2, 1, 2, 1, false}};
    int kinds = size % 2 == 0 && size >= 4 ? 2 : 1;
    for (size_t c = 0; c < sizeof collective / sizeof *collective; c++)
        for (int kind = 0; kind < kinds; kind++)
            run_on_windows(&windows, collective[c], &layout[kind]);
    if (world_rank == 0)
        printf("test_nccl: %d cases right on windows of NCCL %s\n", cases, device->nccl->version());
}

/* Says why; ends the job where there is no reason. */
static void refuse(case_t *test, const pto_device_t *device, const char *strategy, const char *algorithm,
                   bool changes) {
    const pto_device_t windows = with_windows(device);
    case_user_t user;
    pto_exec_t *exec = NULL;
    pto_error_t err = {0};
    test->options.nccl_windows = true;
    pto_plan_t *plan = case_plan(test, strategy, algorithm);
    pto_status_t status = case_open(test, plan, MPI_COMM_WORLD, &windows, &user, &exec, &err);
    if (status == PTO_OK && changes)
        status = pto_exec_rebind(exec, user.out, user.in, &err);
    if (status != PTO_ERR_NOT_APPLICABLE)
        die("windows that should be refused are not");
    fprintf(stderr, "test_nccl: %s\n", err.message);
    pto_exec_destroy(exec);
    case_user_free(test, &windows, &user);
    pto_plan_destroy(plan);
}

static void run_refused(const pto_device_t *device, int size) {
    const pto_layout_t layout = {1, size, 1, 1, 1, false};
    case_t test;
    ask(&test, PTO_COLLECTIVE_ALLGATHER, &layout, 4096);
    test.in_place = true;
    refuse(&test, device, "nccl", "nccl", false);
    ask(&test, PTO_COLLECTIVE_ALLTOALLV, &layout, 4096);
    test.counts = (pto_counts_t){.kind = PTO_COUNTS_SKEW, .skew = 1, .seed = 5};
    test.request.counts = &test.counts;
    refuse(&test, device, "nccl", "nccl", false);
    ask(&test, PTO_COLLECTIVE_ALLREDUCE, &layout, 4096);
    refuse(&test, device, "nccl", "nccl", true);
    refuse(&test, device, "three_step", "ring", false);
}

/* --- what fails ----------------------------------------------------------------------------------------- */

/* Returns the exit code: 1 where an error was told. */
static int run_once(const pto_device_t *device, int size, bool run, bool windows) {
    case_t test;
    pto_exec_t *exec = NULL;
    pto_error_t err = {0};
    ask(&test, PTO_COLLECTIVE_ALLREDUCE, &(pto_layout_t){1, size, 1, 1, 1, false}, 4096);
    test.options.on_timeout = PTO_TIMEOUT_ABORT;
    test.options.timeout_s = run ? 10 : 60; /* NCCL takes its time to begin */
    test.options.nccl_windows = windows;
    pto_plan_t *plan = made(&test);
    case_user_t user = case_user(&test, plan, device, world_rank);
    memset(user.host, 0, (size_t)user.in_bytes);
    pto_status_t status = pto_device_copy(device, user.in, user.host, (size_t)user.in_bytes, &err);
    if (status == PTO_OK)
        status = pto_exec_create(plan, MPI_COMM_WORLD, device, user.in, user.out, PTO_OP_SUM, &test.options,
                                 &exec, &err);
    if (status == PTO_OK && run)
        status = pto_exec_run(exec, &err);
    if (status != PTO_OK)
        fprintf(stderr, "test_nccl: %s: %s\n", pto_status_text(status), err.message);
    pto_exec_destroy(exec);
    case_user_free(&test, device, &user);
    pto_plan_destroy(plan);
    return status == PTO_OK ? 0 : 1;
}

int main(int argc, char **argv) {
    int size = 0, code = 0;
    const char *what = argc > 1 ? argv[1] : "";
    const pto_device_t *found = NULL;
    pto_error_t err = {0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (pto_device_find(argc > 2 ? argv[2] : "host", &found, &err) != PTO_OK ||
        found->select(world_rank, &err) != PTO_OK)
        die(err.message);
    pto_device_t device = *found;
    pto_nccl_t in_place = pto_nccl_cuda;
    in_place.run = run_after_stream;
    if (argc <= 2)
        device.nccl = &in_place;
    else
        every_way = strcmp(argv[2], "host") == 0;
    const pto_device_t windows = with_windows(&device);
    if (strcmp(what, "cases") == 0)
        run_cases(&device, size);
    else if (strcmp(what, "create") == 0 || strcmp(what, "run") == 0)
        code = run_once(&device, size, strcmp(what, "run") == 0, false);
    else if (strcmp(what, "window") == 0 || strcmp(what, "foreign") == 0)
        code = run_once(what[0] == 'w' ? &windows : &device, size, false, true);
    else if (strcmp(what, "windows") == 0)
        run_windows(&device, size);
    else if (strcmp(what, "refused") == 0)
        run_refused(&device, size);
    else
        die("do what? cases, create, run, windows, window, foreign or refused");
    MPI_Finalize();
    return code;
}
