/* Recorded collectives: each format's lines, the shapes of communicators, and what is refused. */
#include "recorded.h"
#include "test.h"

static const pto_recording_options_t four_a_node = {
    .rank = -1, .gpus_per_node = 4, .collective = PTO_COLLECTIVE_COUNT};

/* Rows of four share a node; columns of two have a member on each of two nodes, four to a node. */
TEST(a_report_shows_the_shapes_of_its_communicators) {
    pto_recording_t trace = read_recording("tests/fixtures/report.csv", &four_a_node);
    const pto_recording_call_t expected[] = {
        {PTO_COLLECTIVE_ALLREDUCE, 0, 1048576, 2, 4, 1, 3, 2850e-6, "mpi", 0, 0, 0},
        {PTO_COLLECTIVE_ALLTOALL, 0, 16384, 1, 4, 1, 3, 300e-6, "three_step", 0, 0, 0},
        {PTO_COLLECTIVE_ALLGATHER, 0, 4096, 2, 1, 4, 3, 90e-6, "mpi", 0, 0, 0},
    };
    assert_int_equal(trace.format, PTO_RECORDING_CALLS);
    assert_int_equal(trace.rank, 0);
    ASSERT_CALLS(&trace, expected);
    assert_int_equal(trace.skipped.on_host, 3);
    assert_int_equal(trace.skipped.others, 3);
}

TEST(host_buffers_can_be_taken_for_those_of_gpus) {
    pto_recording_options_t options = four_a_node;
    options.as_gpu = true;
    options.rank = 5;
    pto_recording_t trace = read_recording("tests/fixtures/report.csv", &options);
    assert_int_equal(trace.rank, 5);
    assert_int_equal(trace.count, 4);
    assert_int_equal(trace.skipped.on_host, 0);
}

TEST(one_process_alone_is_taken_to_have_neighbours) {
    static const char text[] = "rank,begin_s,end_s,routine,communicator,procs,peer,tag,bytes,space\r\n"
                               "3,1,1.5,MPI_Allreduce,c,8,,,64,gpu\r\n"
                               "3,2,2.5,MPI_Allreduce,d,6,,,64,gpu\r\n";
    pto_recording_t trace = must_record(text, &four_a_node);
    assert_int_equal(trace.count, 1);
    assert_int_equal(trace.call[0].nodes, 2);
    assert_int_equal(trace.skipped.uneven, 1);
}

TEST(benchmarks_are_read_between_what_others_print) {
    pto_recording_options_t options = four_a_node;
    options.nodes = 2;
    pto_recording_t trace = read_recording("tests/fixtures/osu.txt", &options);
    const pto_recording_call_t osu[] = {
        {PTO_COLLECTIVE_ALLREDUCE, 0, 8, 2, 4, 1, 1, 35.73e-6, "mpi", 0, 0, 0},
        {PTO_COLLECTIVE_ALLREDUCE, 0, 65536, 2, 4, 1, 1, 107.38e-6, "mpi", 0, 0, 0},
        {PTO_COLLECTIVE_ALLREDUCE, 0, 1048576, 2, 4, 1, 1, 848.07e-6, "mpi", 0, 0, 0},
        {PTO_COLLECTIVE_ALLTOALL, 0, 1024, 2, 4, 1, 1, 40.1e-6, "mpi", 0, 0, 0},
        {PTO_COLLECTIVE_ALLGATHERV, 0, 1024, 2, 4, 1, 1, 40.1e-6, "mpi", 0, 0, 0},
    };
    ASSERT_CALLS(&trace, osu);
    assert_int_equal(trace.skipped.others, 1);
    trace = read_recording("tests/fixtures/nccl-tests.txt", &four_a_node);
    const pto_recording_call_t nccl[] = {
        {PTO_COLLECTIVE_ALLREDUCE, 0, 1024, 1, 2, 1, 1, 6.1e-6, "nccl", 0, 0, 0},
        {PTO_COLLECTIVE_ALLREDUCE, 0, 1048576, 1, 2, 1, 1, 13.5e-6, "nccl", 0, 0, 0},
    };
    ASSERT_CALLS(&trace, nccl);
}

#define RANK(rank, host) "#  Rank  " rank " Group  0 Pid 7 on " host " device 0 [0000:18:00] NVIDIA H200\n"
#define ROWS                                                                                                 \
    "# Collective test starting: all_reduce_perf\n#   size  count  type   time\n   1024   256  float   "     \
    "9.0\n"

static void assert_shape(const pto_recording_t *trace, int64_t nodes, int64_t gpus_per_node) {
    assert_int_equal(trace->count, 1);
    assert_int_equal(trace->call[0].nodes, nodes);
    assert_int_equal(trace->call[0].gpus_per_node, gpus_per_node);
}

/* Unless the options say otherwise, processes are on the hosts that nccl-tests name. */
TEST(listed_processes_are_on_their_hosts) {
    static const char even[] =
        "# nThread 1\n# Using devices\n" RANK("0", "a") RANK("1", "a") RANK("2", "b") RANK("3", "b") ROWS;
    static const char uneven[] =
        "# nThread 1\n# Using devices\n" RANK("0", "a") RANK("1", "b") RANK("2", "b") RANK("3", "b") ROWS;
    const struct {
        int64_t nodes, gpus_per_node;
        bool assumed;
        int64_t nodes_made;
    } cases[] = {{0, 4, true, 2}, {0, 4, false, 1}, {1, 4, true, 1}, {4, 1, false, 4}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pto_recording_options_t options = four_a_node;
        options.nodes = cases[i].nodes;
        options.gpus_per_node = cases[i].gpus_per_node;
        options.places_assumed = cases[i].assumed;
        pto_recording_t trace = must_record(even, &options);
        assert_shape(&trace, cases[i].nodes_made, 4 / cases[i].nodes_made);
        assert_int_equal(trace.listed_nodes, 2);
        assert_string_equal(trace.gpu, "NVIDIA H200");
    }
    pto_recording_options_t options = four_a_node;
    options.places_assumed = true;
    pto_recording_t trace = must_record(uneven, &options);
    assert_int_equal(trace.count, 0);
    assert_int_equal(trace.skipped.uneven, 1);
}

TEST(shapes_that_the_listed_processes_contradict_are_refused) {
    static const char text[] = "# nThread 1\n# Using devices\n" RANK("0", "a") RANK("1", "a") ROWS;
    const struct {
        int64_t nodes, gpus_per_node;
        bool assumed;
        const char *message;
    } cases[] = {{2, 4, false, "lists 2 processes, and 2 nodes of 4 have 8"},
                 {1, 1, false, "lists 2 processes, and 1 node of 1 has 1"},
                 {3, 4, true, "lists 2 processes, which --nodes 3 cannot have in equal numbers"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pto_recording_options_t options = four_a_node;
        pto_recording_t trace;
        pto_error_t err = {0};
        options.nodes = cases[i].nodes;
        options.gpus_per_node = cases[i].gpus_per_node;
        options.places_assumed = cases[i].assumed;
        assert_int_equal(read_recorded_text(text, sizeof text - 1, &options, &trace, &err),
                         PTO_ERR_NOT_APPLICABLE);
        assert_non_null(strstr(err.message, cases[i].message));
        assert_int_equal(err.line, 7);
    }
}

/* The outputs of two runs in one file: the second lists its own processes. */
TEST(another_run_lists_its_own_processes) {
    static const char text[] = "# nThread 1\n# Using devices\n" RANK("0", "a") RANK("1", "a") ROWS
        "# nThread 1\n# Using devices\n" RANK("0", "a") RANK("1", "a") ROWS;
    pto_recording_t trace = must_record(text, &four_a_node);
    assert_shape(&trace, 1, 2);
    assert_int_equal(trace.call[0].times, 2);
}

/* all_gather_perf prints the bytes of all blocks, and older versions have fewer columns. */
TEST(sizes_of_blocks_are_divided_among_the_processes) {
    static const char text[] = "# nThread 1 nGpus 4\n# Rank 0 Pid 1\n# Rank 1\n#  Rank  2\n# Rank 3\n"
                               "#       size         count      type     time   algbw   busbw\n"
                               "        4096           256     float     9.00    0.16    0.08\n";
    pto_recording_options_t options = four_a_node;
    options.collective = PTO_COLLECTIVE_ALLGATHER;
    pto_recording_t trace = must_record(text, &options);
    const pto_recording_call_t expected[] = {
        {PTO_COLLECTIVE_ALLGATHER, 0, 1024, 1, 4, 1, 1, 9e-6, "nccl", 0, 0, 0}};
    ASSERT_CALLS(&trace, expected);
}

#define HEAD "rank,begin_s,end_s,routine,communicator,procs,peer,tag,bytes,space\n"

/* The root of a scatter has recorded all blocks, other processes the one that they got. */
TEST(scatters_from_any_root_have_the_size_of_a_block) {
    pto_recording_t trace = must_record(HEAD "1,1,2,MPI_Scatter,c,4,1,,4096,gpu\n"
                                             "1,3,4,MPI_Scatter,c,4,0,,1024,gpu\n"
                                             "1,5,6,MPI_Alltoall,c,4,,,4096,gpu\n",
                                        &four_a_node);
    const pto_recording_call_t expected[] = {
        {PTO_COLLECTIVE_ALLTOALL, 0, 1024, 1, 4, 1, 1, 1, "mpi", 0, 0, 0},
        {PTO_COLLECTIVE_SCATTER, 0, 1024, 1, 4, 1, 2, 2, "mpi", 0, 0, 0},
    };
    ASSERT_CALLS(&trace, expected);
}

#define NCCL "# nThread 1\n# size count type time\n"

TEST(bad_traces_are_refused_with_their_line) {
    static const bad_input_t bad[] = {
        BAD("", PTO_ERR_SYNTAX, 1, 1, "neither"),
        BAD("hello\nworld\n", PTO_ERR_SYNTAX, 2, 1, "neither"),
        BAD("rank,begin_s,end_s\n", PTO_ERR_KEY, 1, 1, "lacks a column"),
        BAD(HEAD "0,1,2,MPI_Bcast,c,8\n", PTO_ERR_SYNTAX, 2, 1, "number of columns"),
        BAD(HEAD "x,1,2,MPI_Bcast,c,8,,,64,gpu\n", PTO_ERR_RANGE, 2, 1, "rank"),
        BAD(HEAD "0,1,2,MPI_Bcast,c,0,,,64,gpu\n", PTO_ERR_RANGE, 2, 1, "procs"),
        BAD(HEAD "0,2,1,MPI_Bcast,c,8,,,64,gpu\n", PTO_ERR_RANGE, 2, 1, "begin_s"),
        BAD(HEAD "0,1,nan,MPI_Bcast,c,8,,,64,gpu\n", PTO_ERR_RANGE, 2, 1, "begin_s"),
        BAD(HEAD "99999999,1,2,MPI_Bcast,c,8,,,64,gpu\n", PTO_ERR_TOO_LARGE, 2, 1, "2^24"),
        BAD(HEAD "0,1,2,MPI_Bcast,c,8,,,64,gpu\n99999999,1,2,MPI_Bcast,d,8,,,64,gpu\n", PTO_ERR_TOO_LARGE, 3,
            1, "2^24"),
        BAD("# OSU MPI Broadcast Latency Test\n8 3.1\n", PTO_ERR_KEY, 2, 1, "--nodes"),
        BAD(NCCL "8 2 float 3.1\n", PTO_ERR_KEY, 3, 1, "--collective"),
        BAD(NCCL "# Collective test starting: sendrecv_perf\n", PTO_ERR_NOT_FOUND, 3, 1, "sendrecv_perf"),
        BAD(NCCL "# Collective test starting: alltoallv_perf\n", PTO_ERR_NOT_FOUND, 3, 1, "alltoallv_perf"),
        BAD("# Collective test starting: hypercube_perf\n", PTO_ERR_NOT_FOUND, 1, 1, "hypercube_perf"),
        BAD("# nThread 1\n8 2 float 3.1\n", PTO_ERR_SYNTAX, 2, 1, "table without its heading"),
    };
    ASSERT_RECORDINGS_REFUSED(bad, &four_a_node);
}

/* OSU gives MPI_Reduce_scatter elements by elements, and MPI_Reduce_scatter_block the same to all. */
TEST(reduce_scatters_of_fewer_elements_than_processes_move_no_blocks) {
    static const struct {
        const char *head;
        int64_t sizeless, last_bytes;
    } of[] = {
        {"# OSU MPI-CUDA Reduce_scatter Latency Test v7.4\n# Datatype: MPI_FLOAT.\n", 4, 12},
        {"# OSU MPI-CUDA Reduce_scatter Latency Test v5.9\n", 4, 12},
        {"# OSU MPI-CUDA Reduce_scatter Latency Test v7.4\n# Datatype: MPI_CHAR.\n", 2, 10},
        {"# OSU MPI-CUDA Reduce_scatter_block Latency Test v7.4\n# Datatype: MPI_FLOAT.\n", 4, 8},
    };
    static const char rows[] = "1 3.1\n2 3.1\n4 3.1\n8 3.1\n16 3.1\n40 3.1\n";
    const pto_recording_options_t four = {
        .rank = -1, .nodes = 1, .gpus_per_node = 4, .collective = PTO_COLLECTIVE_COUNT};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        char text[256];
        snprintf(text, sizeof text, "%s%s", of[i].head, rows);
        pto_recording_t trace = must_record(text, &four);
        assert_int_equal(trace.skipped.sizeless, of[i].sizeless);
        assert_int_equal(trace.count, 6 - of[i].sizeless);
        assert_int_equal(trace.call[trace.count - 1].bytes, of[i].last_bytes);
        assert_int_equal(trace.call[0].times, 1);
    }
}
