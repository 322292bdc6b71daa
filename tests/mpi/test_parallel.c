/* What portolan-calibrate and portolan-validate do together: barriers and flags of the processes of a node,
 * and what all agree on, with each process as the one that fails or differs.
 *
 *   mpirun -n 3 test_parallel */
#include <time.h>

#include <mpi.h>

#include "agreement.h"
#include "barrier.h"
#include "fatal.h"
#include "guard.h"
#include "test.h"

enum { ROUNDS = 50, APART_BYTES = 128 };

static int rank, size;
static const struct timespec late = {.tv_nsec = 50000000};

/* --- a node --------------------------------------------------------------------------------------------- */

/* Each process counts itself before the barrier, and nobody goes on to the next round behind it. */
TEST(a_barrier_waits_for_all_in_every_round) {
    together_t *together = together_create(MPI_COMM_WORLD);
    atomic_int *count = together_flag(together, 0);
    together_wait(together);
    for (int round = 1; round <= ROUNDS; round++) {
        if (round < 4 && rank == round % size)
            nanosleep(&late, NULL);
        atomic_fetch_add(count, 1);
        together_wait(together);
        assert_int_equal(atomic_load(count), round * size);
        together_wait(together);
    }
    together_destroy(together);
}

TEST(flags_are_zero_at_first_and_lie_apart) {
    together_t *together = together_create(MPI_COMM_WORLD);
    uintptr_t place[TOGETHER_FLAG_COUNT] = {0};
    for (int i = 0; i < TOGETHER_FLAG_COUNT; i++) {
        assert_int_equal(atomic_load(together_flag(together, i)), 0);
        place[i] = (uintptr_t)together_flag(together, i);
        assert_int_equal(place[i] % APART_BYTES, 0);
    }
    assert_int_equal(place[1] - place[0], APART_BYTES);
    together_wait(together);
    together_destroy(together);
}

/* Process 0 sets the two flags late, one by one; the others wait for it. */
TEST(a_flag_is_awaited_until_it_has_the_value) {
    together_t *together = together_create(MPI_COMM_WORLD);
    for (int value = 1; value <= 2; value++) {
        for (int i = 0; i < TOGETHER_FLAG_COUNT; i++) {
            atomic_int *flag = together_flag(together, i);
            if (rank == 0) {
                nanosleep(&late, NULL);
                atomic_store(flag, value);
            }
            together_await(flag, value);
            assert_int_equal(atomic_load(flag), value);
        }
        together_wait(together);
    }
    together_destroy(together);
}

TEST(a_process_alone_waits_for_none) {
    together_t *together = together_create(MPI_COMM_SELF);
    for (int round = 0; round < ROUNDS; round++)
        together_wait(together);
    atomic_store(together_flag(together, 1), rank + 1);
    MPI_Barrier(MPI_COMM_WORLD);
    assert_int_equal(atomic_load(together_flag(together, 1)), rank + 1);
    together_destroy(together);
    together_destroy(NULL);
}

/* --- agreement ------------------------------------------------------------------------------------------ */

/* The processes of `failing`, a bit each, fail by errors of their own. */
static void check_status(unsigned failing) {
    bool fails = (failing >> rank & 1) != 0;
    int first = 0;
    char wanted[32] = "untouched";
    pto_error_t err = {.message = "untouched"};
    pto_status_t status = fails ? pto_error_set(&err, PTO_ERR_IO, "of process %d", rank) : PTO_OK;
    while (first < size && (failing >> first & 1) == 0)
        first++;
    status = agree_on_status(MPI_COMM_WORLD, status, &err);
    assert_int_equal(status, first < size ? PTO_ERR_IO : PTO_OK);
    if (first < size)
        snprintf(wanted, sizeof wanted, "of process %d", first);
    assert_string_equal(err.message, wanted);
}

TEST(all_have_the_error_of_the_first_that_failed) {
    for (unsigned failing = 0; failing < 1u << size; failing++)
        check_status(failing);
}

TEST(the_first_process_that_differs_is_named) {
    for (int odd = 0; odd <= size; odd++)
        for (int at = 0; at < 2; at++) {
            setting_t setting[] = {{"--first", "64"}, {"--second", "ring"}};
            char wanted[64];
            pto_error_t err = {.message = ""};
            if (rank == odd)
                strcpy(setting[at].value, "other");
            pto_status_t status = agree_on_settings(setting, 2, &err);
            assert_int_equal(status, odd < size ? PTO_ERR_RANGE : PTO_OK);
            /* All others differ from process 0. */
            snprintf(wanted, sizeof wanted, "MPI rank %d has %s %s, MPI rank 0 has %s", odd > 0 ? odd : 1,
                     setting[at].name, odd > 0 ? "other" : (at == 0 ? "64" : "ring"),
                     odd > 0 ? (at == 0 ? "64" : "ring") : "other");
            assert_true(odd == size || strstr(err.message, wanted) != NULL);
        }
}

TEST(all_go_on_or_end_with_one_exit_code) {
    pto_error_t err = {.message = "(an error that a test has made)"};
    assert_int_equal(agree_on_arguments(NULL, -1, &err), -1);
    for (int first = 0; first < size; first++)
        assert_int_equal(agree_on_arguments(NULL, rank < first ? -1 : 2 + rank, &err), 2 + first);
}

/* --- what must not fail --------------------------------------------------------------------------------- */

TEST(memory_that_is_needed_is_zero_and_never_null) {
    char *some = must_allocate(3, 5), *none = must_allocate(0, 8);
    assert_memory_equal(some, (char[15]){0}, 15);
    assert_non_null(none);
    free(some);
    free(none);
    MPI_DO(MPI_SUCCESS);
    GPU_DO(PTO_OK);
    assert_string_equal(guard_program(), "test_parallel");
    assert_true(guard_timeout_s() == 60);
}

int main(int argc, char **argv) {
    guard_begin("test_parallel", 60);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    guard_meet(MPI_COMM_WORLD);
    if (size != 3 || run_all_tests(NULL, NULL) != 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    guard_leave_mpi();
    MPI_Finalize();
    guard_end();
    return 0;
}
