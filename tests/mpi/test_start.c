/* How portolan-validate's repeats begin. On three nodes, at a moment: each process is a node of its own whose
 * clock differs from the others' by hours; time is the test's own, so that messages take known times however
 * busy the machine is. On one node, behind a barrier.
 *
 *   mpirun -n 3 test_start [one] */
#include <time.h>

#include <mpi.h>

#include "../../validate/start.h"
#include "guard.h"
#include "test.h"

/* Of the eight round trips of a comparison, only the first message is slow, in one direction. */
static const double message_s = 0.01, slow_message_s = 0.06, collective_s = 0.03;

/* Less than half the difference of the two, by which a clock would be off if the slow round trip counted. */
static const double tolerance_s = 0.01;

/* Of a clock that is hours ahead. */
static const double rounding_s = 1e-9;

static int rank, size;
static bool one_node;
static double true_s;    /* the time at this process, which its clock does not show */
static double offset_s;  /* of its clock */
static int asked;        /* messages to one process since it was set to 0 */
static int allreduces;   /* since it was set to 0 */
static double told_late; /* seconds that the result of an allreduce is on its way to this process */

/* --- time ----------------------------------------------------------------------------------------------- */

/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): names of the linker's --wrap */

double __real_now_s(void);
double __wrap_now_s(void) { return one_node ? __real_now_s() : true_s + offset_s; }

int __wrap_sched_yield(void) {
    true_s += 1e-4;
    return 0;
}

int __wrap_MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *node) {
    assert_int_equal(type, MPI_COMM_TYPE_SHARED);
    return MPI_Comm_split(comm, one_node ? 0 : rank, key, node);
}

/* A message's arrival follows it. */
int __real_MPI_Send(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm);
int __wrap_MPI_Send(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
    double arrival_s = true_s + (rank == 0 && asked == 0 ? slow_message_s : message_s);
    asked++;
    __real_MPI_Send(&arrival_s, 1, MPI_DOUBLE, to, tag, comm);
    return __real_MPI_Send(data, count, type, to, tag, comm);
}

int __real_MPI_Recv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                    MPI_Status *status);
int __wrap_MPI_Recv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                    MPI_Status *status) {
    double arrival_s;
    __real_MPI_Recv(&arrival_s, 1, MPI_DOUBLE, from, tag, comm, MPI_STATUS_IGNORE);
    true_s = fmax(true_s, arrival_s);
    return __real_MPI_Recv(data, count, type, from, tag, comm, status);
}

int __real_MPI_Allreduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);
static double greatest(double mine) {
    double most = mine;
    __real_MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return most;
}

int __wrap_MPI_Allreduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    allreduces++;
    true_s = greatest(true_s) + collective_s + told_late;
    return __real_MPI_Allreduce(in, out, count, type, op, comm);
}

int __real_MPI_Barrier(MPI_Comm comm);
int __wrap_MPI_Barrier(MPI_Comm comm) {
    true_s = greatest(true_s) + collective_s;
    return __real_MPI_Barrier(comm);
}

/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

/* --- moments -------------------------------------------------------------------------------------------- */

/* A moment is the same for all, not before the last arrival, and past when the call returns. */
static void check_moment(void) {
    double arrived_s = true_s, moment_s = start_together() - offset_s;
    assert_true(greatest(moment_s) + greatest(-moment_s) < tolerance_s);
    assert_true(moment_s > greatest(arrived_s) - tolerance_s);
    assert_true(true_s >= moment_s - rounding_s);
    assert_true(start_late_s() == 0);
}

static void a_moment_is_the_same_on_all_clocks(void **state) {
    offset_s = 3600.0 * rank * rank;
    check_moment();
    assert_true(asked > 0);
    asked = 0;
    for (int i = 0; i < 5; i++)
        check_moment();
    assert_int_equal(asked, 0); /* clocks are not compared each time */
}

/* Fifteen seconds pass, in which one clock runs slow by two. They are more than 20 times what a comparison
 * takes. */
static void clocks_that_drift_are_compared_again(void **state) {
    asked = 0;
    true_s += 15;
    offset_s -= rank == 1 ? 2 : 0;
    check_moment();
    assert_true(asked > 0);
}

/* One process comes last. */
static void a_moment_waits_for_the_last_process(void **state) {
    double began_s = greatest(true_s);
    true_s = began_s + (rank == 2 ? 0.2 : 0);
    double moment_s = start_together() - offset_s;
    assert_true(moment_s - began_s > 0.2 - tolerance_s);
    assert_true(greatest(moment_s) + greatest(-moment_s) < tolerance_s);
}

/* Process 1 learns of the moment so much later than the others. */
static double missed_by_s(double late_s) {
    told_late = rank == 1 ? late_s : 0;
    start_together();
    told_late = 0;
    assert_true(rank == 1 || start_late_s() == 0);
    return greatest(start_late_s());
}

/* The margin grows to what it lacked, at most twofold each time, and shrinks when it is no longer needed. */
static void the_moment_after_a_missed_one_is_further_ahead(void **state) {
    double late_s = 1, missed_s = missed_by_s(late_s), before_s;
    assert_true(missed_s > 0.8 && missed_s <= late_s);
    int missed = 1;
    for (before_s = missed_s; (missed_s = missed_by_s(late_s)) > 0; before_s = missed_s, missed++)
        assert_true(missed_s < before_s);
    assert_in_range(missed, 2, 6);
    for (int i = 0; i < 200; i++)
        assert_true(missed_by_s(0) == 0);
    assert_true(missed_by_s(late_s) > 0.8);
}

/* --- one node ------------------------------------------------------------------------------------------- */

/* After the last arrival, with nothing to agree on and no moment to wait for. */
static void processes_of_a_node_begin_behind_a_barrier(void **state) {
    start_together();
    for (int last = 0; last < size; last++) {
        struct timespec behind = {.tv_nsec = 100000000};
        if (rank == last)
            nanosleep(&behind, NULL);
        double arrived_s = __real_now_s();
        allreduces = asked = 0;
        double began_s = start_together(), returned_s = __real_now_s();
        assert_int_equal(allreduces, 0);
        assert_int_equal(asked, 0);
        assert_true(began_s >= greatest(arrived_s));
        assert_true(began_s <= returned_s);
        assert_true(start_late_s() == 0);
    }
}

static int test_nodes(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_moment_is_the_same_on_all_clocks),
        cmocka_unit_test(clocks_that_drift_are_compared_again),
        cmocka_unit_test(a_moment_waits_for_the_last_process),
        cmocka_unit_test(the_moment_after_a_missed_one_is_further_ahead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

static int test_one_node(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(processes_of_a_node_begin_behind_a_barrier)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv) {
    one_node = argc > 1;
    guard_begin("test_start", 60);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != 3)
        MPI_Abort(MPI_COMM_WORLD, 2);
    if (one_node ? test_one_node() : test_nodes())
        MPI_Abort(MPI_COMM_WORLD, 1);
    start_end();
    guard_leave_mpi();
    MPI_Finalize();
    guard_end();
    return 0;
}
