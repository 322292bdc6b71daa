/* MPI libraries: the names of their files, and the tables that machine files take from them. */
#include "machine/machine_internal.h"
#include "must.h"
#include "portolan/machine.h"
#include "test.h"

#define HEAD                                                                                                 \
    "machine: m\nsource: made up\nnode: {sockets: 1, gpus: 1, cores: 1}\nmessages: {cpu: {on_socket: "       \
    "[{protocol: eager, alpha_s: 1e-6, beta_s_per_byte: 1e-10}]}}\n"

/* Until the test ends; NULL: an error. */
static pto_machine_t *machine_of(const char *text, pto_error_t *err) {
    pto_machine_t *machine = NULL;
    char whole[4096];
    snprintf(whole, sizeof whole, "%s%s", HEAD, text);
    return pto_machine_create(whole, strlen(whole), "scenarios/machines/made-up.yaml", &machine, err) ==
                   PTO_OK
               ? keep(machine, end_opened)
               : NULL;
}

static const pto_library_rule_t *rule_of(const char *library, const char *collective, pto_space_t space,
                                         int64_t procs, int64_t bytes) {
    pto_error_t err = {0};
    char text[128];
    snprintf(text, sizeof text, "mpi_library: %s\n", library);
    pto_machine_t *machine = machine_of(text, &err);
    if (!machine)
        fail_msg("%s: %s", library, err.message);
    const pto_library_rule_t *rule = pto_machine_library(machine, collective, space, procs, bytes);
    assert_non_null(rule);
    return rule;
}

TEST(versions_name_files) {
    static const char *const cases[][2] = {
        {"Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4", "open-mpi-4.1"},
        {"Open MPI v5.0.0rc12, package", "open-mpi-5.0"},
        {"MPICH Version:\t4.0.2\nMPICH Release date:", "mpich-4"},
        {"MPICH Version: 3.4.3", "mpich-3"},
        {"IBM Spectrum MPI 10.3.1.2 (version named in some job logs), CUDA-aware", "spectrum-mpi"},
        {"MVAPICH2-GDR, CUDA-aware", "mvapich2-gdr"},
        {"MVAPICH2 Version      :\t2.3.7", "mvapich2"},
        {"MPI VERSION    : CRAY MPICH version 8.1.25.17 (ANL base 3.4a2)", "cray-mpich"},
    };
    char name[PTO_LIBRARY_NAME_MAX] = "unchanged";
    assert_false(pto_library_of_version("Intel(R) MPI Library 2021.9", name));
    assert_string_equal(name, "unchanged");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_true(pto_library_of_version(cases[i][0], name));
        assert_string_equal(name, cases[i][1]);
    }
}

/* Literal winners, read in the sources that the files name. */
TEST(libraries_choose_as_their_sources_do) {
    static const struct {
        const char *library, *collective;
        int64_t procs, bytes;
        const char *algorithm;
        bool staged; /* of GPU buffers */
    } cases[] = {
        {"open-mpi-4.1", "broadcast", 8, 16384, "binomial_near_first", false},
        {"open-mpi-4.1", "broadcast", 8, 32768, "linear", false},
        {"open-mpi-4.1", "broadcast", 8, 1 << 30, "linear", false},
        {"open-mpi-4.1", "scatter", 8, 1 << 20, "linear", false},
        {"open-mpi-4.1", "gather", 8, 1 << 20, "binomial", false},
        {"open-mpi-4.1", "allreduce", 8, 8191, "recursive_doubling", true},
        {"open-mpi-4.1", "allreduce", 8, 8192, "rabenseifner", true},
        {"open-mpi-4.1", "reduce", 8, 65536, "binomial", true}, /* findings/reduce.sh */
        {"open-mpi-4.1", "allgather", 12, 64, "bruck", false},
        {"open-mpi-4.1", "reduce_scatter", 8, 524288, "linear", true},
        {"open-mpi-5.0", "allreduce", 8, 8192, "rabenseifner", true},
        {"open-mpi-6.0", "alltoallv", 64, 8, "pairwise", false},
        {"open-mpi-4.0", "allreduce", 8, 9999, "recursive_doubling", true},
        {"open-mpi-4.0", "allreduce", 8, 10000, "ring", true},
        {"mpich-4", "alltoall", 8, 256, "bruck", false},
        {"mpich-4", "alltoall", 8, 257, "linear", false},
        {"mpich-3", "broadcast", 8, 12289, "scatter_allgather", false},
        {"mvapich2-gdr", "allreduce", 8, 2048, "recursive_doubling", false},
        {"mvapich2-gdr", "allreduce", 8, 2049, "rabenseifner", false},
        {"mvapich2-gdr", "reduce", 8, 2048, "binomial", false},
        {"mvapich2-gdr", "reduce_scatter", 8, 2048, "recursive_halving", true},
        {"mvapich2", "allreduce", 8, 2049, "rabenseifner", true},
        {"mvapich2", "reduce", 8, 2049, "rabenseifner", true},
        {"cray-mpich", "allreduce", 8, 4096, "rabenseifner", true},
        {"spectrum-mpi", "alltoallv", 8, 4096, "linear", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const pto_library_rule_t *rule =
            rule_of(cases[i].library, cases[i].collective, PTO_SPACE_GPU, cases[i].procs, cases[i].bytes);
        if (strcmp(rule->algorithm, cases[i].algorithm) != 0 || rule->staged != cases[i].staged)
            fail_msg("%s: %s of %lld bytes: %s%s", cases[i].library, cases[i].collective,
                     (long long)cases[i].bytes, rule->algorithm, rule->staged ? ", staged" : "");
        assert_false(
            rule_of(cases[i].library, cases[i].collective, PTO_SPACE_CPU, cases[i].procs, cases[i].bytes)
                ->staged &&
            strcmp(cases[i].library, "spectrum-mpi") != 0);
    }
}

TEST(the_file_s_own_tables_come_first_and_alone_are_written) {
    pto_error_t err = {0};
    pto_machine_t *machine = machine_of("mpi_library: open-mpi-4.1\n"
                                        "library: {allreduce: {cpu: [{algorithm: ring}]}}\n",
                                        &err);
    assert_non_null(machine);
    assert_string_equal(pto_machine_library(machine, "allreduce", PTO_SPACE_CPU, 8, 8)->algorithm, "ring");
    assert_string_equal(pto_machine_library(machine, "allreduce", PTO_SPACE_GPU, 8, 8)->algorithm,
                        "recursive_doubling");
    pto_machine_t *copy = must_duplicate(machine);
    char *text = must_format(copy);
    assert_non_null(strstr(text, "\nmpi_library: open-mpi-4.1\n"));
    assert_non_null(strstr(text, "algorithm: ring"));
    assert_null(strstr(text, "recursive_doubling"));
}

TEST(faults_have_their_place) {
    pto_error_t err = {0};
    assert_null(machine_of("mpi_library: no-such\n", &err));
    assert_int_equal(err.line, 5);
    assert_null(machine_of("library: {allreduce: {gpu: staged}}\n", &err));
    assert_non_null(strstr(err.message, "no rows for cpu before"));
    assert_null(machine_of("library: {allreduce: {cpu: [{algorithm: ring}], gpu: same}}\n", &err));
    assert_non_null(strstr(err.message, "expected a list of rows, as_cpu or staged"));
}
