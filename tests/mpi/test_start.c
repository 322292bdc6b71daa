/* The moment at which portolan-validate's repeats begin, among processes whose clocks differ by hours: each
 * is a node of its own, with its own clock, and messages between them take known times.
 *
 *   mpirun -n 3 test_start */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>

#include <cmocka.h>
#include <mpi.h>

#include "../../validate/start.h"

/* One way. Of the eight round trips of a comparison, only the first message is slow, in one direction. */
static const double message_s = 0.01, slow_message_s = 0.06;

/* Less than half the difference of the two, by which a clock would be off if the slow round trip counted. */
static const double tolerance_s = 0.01;

static int rank, size;
static double offset_s; /* of this process's clock */
static int asked;       /* messages to one process since it was set to 0 */

/* --- the nodes -------------------------------------------------------------------------------------------
 */

/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): names of the linker's --wrap */

double __real_MPI_Wtime(void);
double __wrap_MPI_Wtime(void);
double __wrap_MPI_Wtime(void) { return __real_MPI_Wtime() + offset_s; }

int __wrap_MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *node);
int __wrap_MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *node) {
    (void)info;
    assert_int_equal(type, MPI_COMM_TYPE_SHARED);
    return MPI_Comm_split(comm, rank, key, node);
}

int __real_MPI_Send(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm);
int __wrap_MPI_Send(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm);
int __wrap_MPI_Send(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
    double delay_s = rank == 0 && asked == 0 ? slow_message_s : message_s;
    struct timespec delay = {.tv_nsec = (long)(delay_s * 1e9)};
    asked++;
    nanosleep(&delay, NULL);
    return __real_MPI_Send(data, count, type, to, tag, comm);
}

/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

/* --- moments ---------------------------------------------------------------------------------------------
 */

static double greatest(double mine) {
    double most = mine;
    MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return most;
}

/* A moment is the same for all, not before the last arrival, and past when the call returns. */
static void check_moment(void) {
    double arrived_s = __real_MPI_Wtime();
    double moment_s = start_together() - offset_s, returned_s = __real_MPI_Wtime();
    assert_true(greatest(moment_s) + greatest(-moment_s) < tolerance_s);
    assert_true(moment_s > greatest(arrived_s) - tolerance_s);
    assert_true(returned_s >= moment_s);
}

static void a_moment_is_the_same_on_all_clocks(void **state) {
    (void)state;
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
    (void)state;
    asked = 0;
    offset_s += rank == 1 ? 13 : 15;
    check_moment();
    assert_true(asked > 0);
}

/* One process comes last. */
static void a_moment_waits_for_the_last_process(void **state) {
    (void)state;
    struct timespec while_s = {.tv_nsec = 200000000};
    double began_s = __real_MPI_Wtime();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 2)
        nanosleep(&while_s, NULL);
    double moment_s = start_together() - offset_s;
    assert_true(moment_s - began_s > 0.2 - tolerance_s);
    assert_true(greatest(moment_s) + greatest(-moment_s) < tolerance_s);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_moment_is_the_same_on_all_clocks),
        cmocka_unit_test(clocks_that_drift_are_compared_again),
        cmocka_unit_test(a_moment_waits_for_the_last_process),
    };
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != 3)
        MPI_Abort(MPI_COMM_WORLD, 2);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (failed)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Finalize();
    return failed;
}
