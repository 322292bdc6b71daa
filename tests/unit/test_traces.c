/* Traces of other tools: what each format says, what is passed over, and what is refused and where. */
#include <zlib.h>

#include "bad_input.h"
#include "files.h"
#include "recorded.h"
#include "test.h"

/* Two sockets of two GPUs. */
static const pto_recording_options_t four_a_node = {
    .rank = -1, .gpus_per_node = 4, .gpus_per_socket = 2, .collective = PTO_COLLECTIVE_COUNT};

/* --- what the formats say ------------------------------------------------------------------------------- */

static const pto_recording_call_t kineto[] = {
    /* four on a node, also by symmetric memory */
    {PTO_COLLECTIVE_ALLREDUCE, 0, 1048576, 1, 4, 1, 1, 15e-6, "symm_mem", 0, 0, 0},
    {PTO_COLLECTIVE_ALLREDUCE, 0, 8388608, 1, 4, 1, 2, 200e-6, "nccl", 0, 0, 0},
    {PTO_COLLECTIVE_ALLTOALLV, 0, 16384, 2, 4, 1, 1, 90e-6, "nccl", 0, 0, 0},
    /* ranks 1 and 5, as listed and by start and stride: one of four pairs of a node */
    {PTO_COLLECTIVE_ALLGATHER, 0, 4000000, 2, 1, 4, 1, 200e-6, "nccl", 0, 0, 0},
    {PTO_COLLECTIVE_PAIR, PTO_LEVEL_OFF_NODE, 1048576, 2, 1, 1, 1, 45e-6, "nccl", 0, 0, 0},
    {PTO_COLLECTIVE_REDUCE_SCATTER, 0, 4000000, 2, 1, 4, 1, 250e-6, "nccl", 0, 0, 0},
};

TEST(kineto_shows_kernels_with_their_process_groups) {
    pto_recording_t trace = read_recording("tests/fixtures/traces/kineto.json", &four_a_node);
    assert_int_equal(trace.format, PTO_RECORDING_KINETO);
    assert_int_equal(trace.rank, 5);
    ASSERT_CALLS(&trace, kineto);
    assert_int_equal(trace.skipped.others, 1);   /* the barrier */
    assert_int_equal(trace.skipped.sizeless, 1); /* the broadcast that says nothing of itself */
}

TEST(gzip_is_unpacked) {
    const char *path = in_folder("trace");
    char buffer[256];
    FILE *plain = fopen("tests/fixtures/traces/kineto.json", "rb");
    assert_non_null(plain);
    /* A member for each buffer, as parallel compressors write them. */
    for (size_t size; (size = fread(buffer, 1, sizeof buffer, plain)) > 0;) {
        gzFile packed = gzopen(path, "ab");
        assert_non_null(packed);
        assert_int_equal(gzwrite(packed, buffer, (unsigned)size), (int)size);
        assert_int_equal(gzclose(packed), Z_OK);
    }
    fclose(plain);
    pto_recording_t trace = read_recording(path, &four_a_node);
    ASSERT_CALLS(&trace, kineto);
    /* Without its last bytes it is refused. */
    FILE *file = fopen(path, "rb+");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    assert_int_equal(ftruncate(fileno(file), ftell(file) - 9), 0);
    fclose(file);
    assert_no_recording(path, &four_a_node, PTO_ERR_SYNTAX, "gzip");
}

/* Of a CPU-only trace the launches are all there is. */
TEST(launches_count_where_there_are_no_kernels) {
    static const char text[] =
        "[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"record_param_comms\",\"dur\":1,\"args\":{"
        "\"Collective name\":\"wait\",\"In msg nelems\":0,\"Group size\":1,\"dtype\":\"Byte\"}},"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"record_param_comms\",\"dur\":9,\"args\":{"
        "\"Collective name\":\"allreduce\",\"In msg nelems\":256,\"Group size\":8,\"dtype\":\"Float\"}}]";
    static const pto_recording_call_t expected[] = {
        {PTO_COLLECTIVE_ALLREDUCE, 0, 1024, 2, 4, 1, 1, 0, "nccl", 0, 0, 0}};
    pto_recording_t trace = must_record(text, &four_a_node);
    ASSERT_CALLS(&trace, expected);
    assert_int_equal(trace.skipped.others, 0); /* waiting is no call */
}

/* PyTorch shortens long lists of ranks. */
TEST(a_group_is_known_by_its_first_rank_and_stride) {
    static const char text[] = "[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"nccl\",\"dur\":5,\"args\":{"
                               "\"Collective name\":\"allgather\","
                               "\"In msg nelems\":8,\"Group size\":3,\"dtype\":\"Long\",\"Process Group "
                               "Name\":\"g\",\"Process Group Ranks\":"
                               "\"[1, ...]\",\"Global rank start\":1,\"Global rank stride\":4}}]";
    static const pto_recording_call_t expected[] = {
        {PTO_COLLECTIVE_ALLGATHER, 0, 64, 3, 1, 4, 1, 5e-6, "nccl", 0, 0, 0}};
    pto_recording_t trace = must_record(text, &four_a_node);
    ASSERT_CALLS(&trace, expected);
}

TEST(the_inspector_shows_one_process) {
    static const pto_recording_call_t expected[] = {
        {PTO_COLLECTIVE_ALLREDUCE, 0, 1048576, 2, 4, 1, 2, 120e-6, "nccl", 0, 0, 0},
        {PTO_COLLECTIVE_ALLGATHER, 0, 4096, 1, 4, 1, 1, 12e-6, "nccl", 0, 0, 0},
        {PTO_COLLECTIVE_PAIR, PTO_LEVEL_OFF_NODE, 32768, 2, 1, 1, 1, 9e-6, "nccl", 0, 0, 0},
        {PTO_COLLECTIVE_REDUCE_SCATTER, 0, 65536, 2, 4, 1, 1, 40e-6, "nccl", 0, 0, 0},
    };
    pto_recording_t trace = read_recording("tests/fixtures/traces/nccl-inspector.jsonl", &four_a_node);
    assert_int_equal(trace.format, PTO_RECORDING_NCCL_INSPECTOR);
    ASSERT_CALLS(&trace, expected);
}

/* Four nodes of two: the header says so, whatever the machine has. */
TEST(the_inspector_says_how_many_nodes_there_are) {
    static const char text[] = "{\"header\":{\"rank\":0,\"n_ranks\":8,\"nnodes\":4},\"coll_perf\":{\"coll\":"
                               "\"AlltoAll\",\"coll_msg_size_bytes\":64,\"coll_exec_time_us\":5}}\n";
    static const pto_recording_call_t expected[] = {
        {PTO_COLLECTIVE_ALLTOALL, 0, 64, 4, 2, 1, 1, 5e-6, "nccl", 0, 0, 0}};
    pto_recording_t trace = must_record(text, &four_a_node);
    ASSERT_CALLS(&trace, expected);
}

/* 4,000 bytes in 10 us are 0.4 GB/s, and 32,000 bytes 3.2 GB/s. */
TEST(the_inspectors_bandwidth_tells_whose_bytes_a_call_has) {
    static const struct {
        const char *bandwidth;
        int64_t bytes, assumed;
    } seen[] = {{"", 4000, 1},
                {",\"coll_algobw_gbs\":3.2", 4000, 0},
                {",\"coll_algobw_gbs\":0.41", 500, 0},
                {",\"coll_algobw_gbs\":0", 4000, 1}};
    for (size_t i = 0; i < sizeof seen / sizeof *seen; i++) {
        char text[256];
        snprintf(text, sizeof text,
                 "{\"header\":{\"rank\":0,\"n_ranks\":8,\"nnodes\":2},\"coll_perf\":{\"coll\":"
                 "\"AllGather\",\"coll_msg_size_bytes\":4000,\"coll_exec_time_us\":10%s}}\n",
                 seen[i].bandwidth);
        pto_recording_t trace = must_record(text, &four_a_node);
        assert_int_equal(trace.call[0].bytes, seen[i].bytes);
        assert_int_equal(trace.sizes_assumed, seen[i].assumed);
    }
}

TEST(chakra_is_read_from_protobuf_and_from_json) {
    pto_recording_options_t options = four_a_node;
    static const pto_recording_call_t protobuf[] = {
        {PTO_COLLECTIVE_ALLREDUCE, 0, 1048576, 2, 4, 1, 1, 57e-6, "nccl", 0, 0, 0},
        {PTO_COLLECTIVE_ALLTOALL, 0, 131072, 2, 4, 1, 1, 0, "mpi", 0, 0, 0},
        {PTO_COLLECTIVE_PAIR, PTO_LEVEL_ON_SOCKET, 131072, 1, 2, 1, 1, 0, "mpi", 0, 0, 0},
        {PTO_COLLECTIVE_PAIR, PTO_LEVEL_OFF_NODE, 131072, 2, 1, 1, 1, 0, "mpi", 0, 0, 0},
    };
    static const pto_recording_call_t graph[] = {
        {PTO_COLLECTIVE_ALLREDUCE, 0, 1048576, 2, 4, 1, 1, 57e-6, "nccl", 0, 0, 0},
        {PTO_COLLECTIVE_PAIR, PTO_LEVEL_OFF_NODE, 65536, 2, 1, 1, 1, 0, "mpi", 0, 0, 0},
    };
    static const pto_recording_call_t records[] = {
        {PTO_COLLECTIVE_ALLGATHER, 0, 8192, 1, 4, 1, 1, 44e-6, "nccl", 0, 0, 0}};
    options.nodes = 2;
    pto_recording_t trace = read_recording("tests/fixtures/traces/chakra.2.et", &options);
    assert_int_equal(trace.format, PTO_RECORDING_CHAKRA);
    assert_int_equal(trace.rank, 2); /* as the file's name says */
    ASSERT_CALLS(&trace, protobuf);
    trace = read_recording("tests/fixtures/traces/chakra.1.json", &options);
    assert_int_equal(trace.format, PTO_RECORDING_CHAKRA_JSON);
    ASSERT_CALLS(&trace, graph);
    trace = read_recording("tests/fixtures/traces/chakra-records.json", &options);
    ASSERT_CALLS(&trace, records);
}

TEST(pytorch_execution_traces_of_both_schemas_are_read) {
    static const pto_recording_call_t expected[] = {
        {PTO_COLLECTIVE_ALLREDUCE, 0, 512, 2, 4, 1, 1, 0, "nccl", 0, 0, 0},
        {PTO_COLLECTIVE_REDUCE_SCATTER, 0, 4096, 1, 4, 1, 1, 0, "nccl", 0, 0, 0},
    };
    pto_recording_t trace = read_recording("tests/fixtures/traces/pytorch-et.json", &four_a_node);
    assert_int_equal(trace.format, PTO_RECORDING_PYTORCH_ET);
    ASSERT_CALLS(&trace, expected);
}

TEST(liballprof_shows_calls_with_the_arguments_of_mpi) {
    static const pto_recording_call_t expected[] = {
        {PTO_COLLECTIVE_ALLREDUCE, 0, 4, 2, 4, 1, 1, 30e-6, "mpi", 0, 0, 0},
        {PTO_COLLECTIVE_ALLTOALL, 0, 128, 2, 4, 1, 1, 90e-6, "mpi", 0, 0, 0},
        {PTO_COLLECTIVE_BROADCAST, 0, 32768, 2, 4, 1, 1, 50e-6, "mpi", 0, 0, 0},
        {PTO_COLLECTIVE_ALLGATHER, 0, 80, 1, 4, 1, 1, 12e-6, "mpi", 0, 0, 0},
        {PTO_COLLECTIVE_PAIR, PTO_LEVEL_ON_SOCKET, 36000, 1, 2, 1, 1, 40e-6, "mpi", 0, 0, 0},
        {PTO_COLLECTIVE_PAIR, PTO_LEVEL_OFF_NODE, 36000, 2, 1, 1, 1, 0, "mpi", 0, 0, 0}, /* MPI_Irecv */
    };
    pto_recording_t trace = read_recording("tests/fixtures/traces/liballprof.txt", &four_a_node);
    assert_int_equal(trace.format, PTO_RECORDING_ALLPROF);
    assert_int_equal(trace.rank, 3);
    ASSERT_CALLS(&trace, expected);
    assert_int_equal(trace.skipped.others, 2); /* the barrier, and a routine that liballprof does not have */
}

/* Each routine has its arguments at places of their own; other numbers stand at all others. */
TEST(liballprof_finds_the_arguments_of_each_routine) {
    static const char text[] = "MPI_Bcast:1:91:3:7,8,8:92:5,0,8:2\n"
                               "MPI_Allreduce:1:91:92:3:7,8,8:93:5,0,8:2\n"
                               "MPI_Reduce:1:91:92:3:7,8,8:93:94:5,0,8:2\n"
                               "MPI_Allgather:1:91:3:7,8,8:92:93:7,9,9:5,0,8:2\n"
                               "MPI_Gather:1:91:3:7,8,8:92:93:7,9,9:94:5,0,8:2\n"
                               "MPI_Scatter:1:91:92:7,9,9:93:3:7,8,8:94:5,0,8:2\n"
                               "MPI_Alltoall:1:91:3:7,8,8:92:93:7,9,9:5,0,8:2\n"
                               "MPI_Send:1:91:3:7,8,8:7:92:5,0,8:2\n"
                               "MPI_Recv:1:91:3:7,8,8:7:92:5,0,8:93:2\n"
                               "MPI_Isend:1:91:3:7,8,8:7:92:5,0,8:93:2\n"
                               "MPI_Sendrecv:1:91:3:7,8,8:7:92:93:94:7,9,9:95:96:5,0,8:97:2\n"
                               "MPI_Alltoallv:1:91:92:93:2\n";
    static const pto_recording_call_t expected[] = {
        {PTO_COLLECTIVE_ALLREDUCE, 0, 24, 2, 4, 1, 1, 1e-6, "mpi", 0, 0, 0},
        {PTO_COLLECTIVE_ALLTOALL, 0, 24, 2, 4, 1, 1, 1e-6, "mpi", 0, 0, 0},
        {PTO_COLLECTIVE_REDUCE, 0, 24, 2, 4, 1, 1, 1e-6, "mpi", 0, 0, 0},
        {PTO_COLLECTIVE_BROADCAST, 0, 24, 2, 4, 1, 1, 1e-6, "mpi", 0, 0, 0},
        {PTO_COLLECTIVE_ALLGATHER, 0, 24, 2, 4, 1, 1, 1e-6, "mpi", 0, 0, 0},
        {PTO_COLLECTIVE_PAIR, PTO_LEVEL_OFF_NODE, 24, 2, 1, 1, 1, 0, "mpi", 0, 0,
         0}, /* without a time: MPI_Isend */
        {PTO_COLLECTIVE_PAIR, PTO_LEVEL_OFF_NODE, 24, 2, 1, 1, 3, 3e-6, "mpi", 0, 0, 0},
        {PTO_COLLECTIVE_GATHER, 0, 24, 2, 4, 1, 1, 1e-6, "mpi", 0, 0, 0},
        {PTO_COLLECTIVE_SCATTER, 0, 24, 2, 4, 1, 1, 1e-6, "mpi", 0, 0, 0},
    };
    pto_recording_t trace = must_record(text, &four_a_node);
    ASSERT_CALLS(&trace, expected);
    assert_int_equal(trace.skipped.others, 1);
}

TEST(goal_shows_the_messages_of_one_rank) {
    static const pto_recording_call_t of_0[] = {
        {PTO_COLLECTIVE_PAIR, PTO_LEVEL_ON_SOCKET, 1024, 1, 2, 1, 1, 0, "mpi", 0, 0, 0},
        {PTO_COLLECTIVE_PAIR, PTO_LEVEL_ON_NODE, 4096, 1, 2, 1, 2, 0, "mpi", 0, 0, 0},
    };
    static const pto_recording_call_t of_3[] = {
        {PTO_COLLECTIVE_PAIR, PTO_LEVEL_ON_NODE, 4096, 1, 2, 1, 1, 0, "mpi", 0, 0, 0}};
    pto_recording_options_t options = four_a_node;
    pto_recording_t trace = read_recording("tests/fixtures/traces/messages.goal", &options);
    assert_int_equal(trace.format, PTO_RECORDING_GOAL);
    assert_int_equal(trace.rank, 0);
    ASSERT_CALLS(&trace, of_0);
    options.rank = 3;
    trace = read_recording("tests/fixtures/traces/messages.goal", &options);
    ASSERT_CALLS(&trace, of_3);
}

/* --- as measured collectives ---------------------------------------------------------------------------- */

TEST(outputs_of_benchmarks_are_collectives_where_they_ran) {
    static const char text[] = "# OSU MPI-CUDA Allreduce Latency Test\n8 3.0\n8 5.0\n64 10.0\n";
    const char *path = in_folder("osu");
    pto_collectives_t collectives = {0};
    pto_error_t err = {0};
    write_text(path, text);
    assert_int_equal(pto_recording_collectives(path, &collectives, &err), PTO_ERR_KEY);
    assert_non_null(strstr(err.message, "NODESxGPUS"));
    assert_int_equal(pto_recording_collectives(in_folder("osu:2x4"), &collectives, &err), PTO_OK);
    assert_int_equal(collectives.count, 2);
    assert_true(fabs(collectives.row[0].seconds - 4e-6) < 1e-12); /* the mean of equal sizes */
    assert_true(fabs(collectives.row[1].seconds - 10e-6) < 1e-12);
    assert_int_equal(collectives.row[1].nodes, 2);
    assert_int_equal(collectives.row[1].gpus_per_node, 4);
    assert_int_equal(collectives.row[1].bytes, 64);
    assert_string_equal(collectives.name[collectives.row[1].strategy], "cuda_aware");
    pto_collectives_fini(&collectives);
    assert_int_equal(pto_recording_collectives("tests/fixtures/traces/messages.goal:2x4", &collectives, &err),
                     PTO_ERR_SYNTAX);
    assert_int_equal(collectives.count, 0);
}

/* --- what is refused ------------------------------------------------------------------------------------ */

TEST(bad_text_is_refused_with_its_place) {
    static const bad_input_t bad[] = {
        BAD("{", PTO_ERR_SYNTAX, 1, 2, "ends before a key"),
        BAD("{}", PTO_ERR_SYNTAX, 1, 1, "neither"),
        BAD("{\"a\": 1}\n", PTO_ERR_SYNTAX, 1, 1, "neither"),
        BAD("{\"traceEvents\": [\n  {\"ph\": \"X\"}\n", PTO_ERR_SYNTAX, 3, 1, "ends before"),
        BAD("{\"traceEvents\": [\n  {\"ph\": \"X\"", PTO_ERR_SYNTAX, 2, 13, "ends within"),
        BAD("{\"traceEvents\": [\n  {\"Collective name\": X}]}", PTO_ERR_SYNTAX, 2, 25, "not JSON"),
        BAD("{\"traceEvents\": [{}}", PTO_ERR_SYNTAX, 1, 20, "instead of ',' or ']'"),
        BAD("{\"traceEvents\" [{}]}", PTO_ERR_SYNTAX, 1, 16, "instead of ':'"),
        BAD("{\"traceEvents\": [{}]} x", PTO_ERR_SYNTAX, 1, 23, "instead of a JSON object"),
        BAD("{\"traceEvents\": [1]}", PTO_ERR_TYPE, 1, 18, "not an object"),
        BAD("{\"traceEvents\": [{}], \"nodes\": [{}]}", PTO_ERR_SYNTAX, 1, 32, "PyTorch", "Kineto"),
        BAD("[{\"ph\":\"X\",\"cat\":\"kernel\",\"dur\":-1,\"args\":{\"Collective name\":\"allreduce\"}}]",
            PTO_ERR_RANGE, 1, 2, "dur"),
        BAD("[{\"ph\":\"X\",\"cat\":\"kernel\",\"args\":{\"Collective name\":\"allreduce\",\"In msg "
            "nelems\":8,"
            "\"dtype\":\"Float\"}}]",
            PTO_ERR_KEY, 1, 2,
            "how many processes there were"), /* without --nodes, which Kineto does not take */
        BAD("[{\"ph\":\"X\",\"cat\":\"kernel\",\"args\":{\"Collective name\":\"allreduce\",\"Group "
            "size\":9e9}}]",
            PTO_ERR_TOO_LARGE, 1, 2, "9000000000 ranks"),
        BAD("{\"coll_perf\":{\"coll\":\"AllReduce\"}}", PTO_ERR_RANGE, 1, 1, "n_ranks"),
        BAD("\n{\"version\":\"1\"}\n{\"id\":\"1\",\"type\":\"COMM_COLL_NODE\",\"attr\":[{\"name\":\"comm_"
            "size\","
            "\"int64Val\":\"8\"},{\"name\":\"comm_type\",\"int64Val\":\"0\"}]}",
            PTO_ERR_KEY, 3, 1, "--nodes"),
        BAD("MPI_Init:-:1:2\nMPI_Bcast:1:2:3\n", PTO_ERR_SYNTAX, 2, 1, "too few"),
        BAD("MPI_Init:-:1:2\nhello\n", PTO_ERR_SYNTAX, 2, 1, "not a call of MPI"),
        BAD("MPI_Bcast:1:0:x:2,4,4:0:0,0,4:2\n", PTO_ERR_SYNTAX, 1, 1, "count"),
        BAD("MPI_Bcast:1:0:1:2,4:0:0,0,4:2\n", PTO_ERR_SYNTAX, 1, 1, "type"),
        BAD("MPI_Bcast:x:0:1:2,4,4:0:0,0,4:2\n", PTO_ERR_RANGE, 1, 1, "times"),
        BAD("MPI_Bcast:3:0:1:2,4,4:0:0,0,4:2\n", PTO_ERR_RANGE, 1, 1, "order"),
        BAD("MPI_Bcast:1:0:1:2,4,4:0:0,4,4:2\n", PTO_ERR_RANGE, 1, 1, "bounds"),
        BAD("num_ranks 2\nrank 0 {\nsend 8b to 1\n", PTO_ERR_SYNTAX, 3, 1, "ends within rank 0"),
        BAD("num_ranks 2\nrank 2 {\n}\n", PTO_ERR_RANGE, 2, 1, "rank 2 of 2"),
        BAD("num_ranks 2\nrank 0 {\nsend 8b to 2\n}\n", PTO_ERR_RANGE, 3, 1, "rank 2 of 2"),
        BAD("num_ranks 2\nrank 0 {\nsend 8 to 1\n}\n", PTO_ERR_SYNTAX, 3, 1, "'8' instead of a size"),
        BAD("num_ranks 2\nrank 0 {\nsend 8b from 1\n}\n", PTO_ERR_SYNTAX, 3, 1, "'from' instead of 'to'"),
        BAD("num_ranks 2\nrank 0 {\nrank 1 {\n}\n", PTO_ERR_SYNTAX, 3, 1, "within rank 0"),
        BAD("num_ranks 2\nsend 8b to 1\n", PTO_ERR_SYNTAX, 2, 1, "outside"),
        BAD("num_ranks 2\nrank 0 {\nl1: jump 5\n}\n", PTO_ERR_SYNTAX, 3, 1, "'jump'"),
        BAD("num_ranks 2\nrank 0 {\nl1: calc x\n}\n", PTO_ERR_SYNTAX, 3, 1, "'x' instead of nanoseconds"),
    };
    ASSERT_RECORDINGS_REFUSED(bad, &four_a_node);
}

TEST(a_rank_that_goal_does_not_have_is_refused) {
    static const char text[] = "num_ranks 2\nrank 0 {\n}\n";
    pto_recording_options_t options = four_a_node;
    pto_recording_t trace;
    pto_error_t err = {0};
    options.rank = 2;
    assert_int_equal(read_recorded_text(text, sizeof text - 1, &options, &trace, &err),
                     PTO_ERR_NOT_APPLICABLE);
    assert_non_null(strstr(err.message, "0 to 1"));
}

/* The number of nodes makes the job, of which communicators are parts that share the NICs of their nodes. */
TEST(nodes_are_those_of_the_job) {
    pto_recording_options_t options = four_a_node;
    options.nodes = 2;
    pto_recording_t trace = read_recording("tests/fixtures/traces/chakra-records.json", &options);
    assert_int_equal(trace.call[0].gpus_per_node, 4);
    assert_int_equal(trace.call[0].per_node, 1);
    options.gpus_per_node = 8; /* 16 processes: two communicators of four on each node */
    trace = read_recording("tests/fixtures/traces/chakra-records.json", &options);
    assert_int_equal(trace.call[0].gpus_per_node, 4);
    assert_int_equal(trace.call[0].per_node, 2);
    options.nodes = options.gpus_per_node = 1;
    assert_no_recording("tests/fixtures/traces/chakra-records.json", &options, PTO_ERR_NOT_APPLICABLE,
                        "4 processes or more, and 1 node of 1 has 1");
    assert_no_recording("tests/fixtures/traces/chakra.2.et", &options, PTO_ERR_NOT_APPLICABLE,
                        "5 processes or more"); /* by its messages */
}

TEST(kineto_names_its_gpus) {
    pto_recording_t trace = read_recording("tests/fixtures/traces/kineto.json", &four_a_node);
    assert_string_equal(trace.gpu, "a GPU with } and ] and \" in its name");
    static const char text[] =
        "{\"deviceProperties\": [{\"id\": 0}, {\"name\": \"A\\n100\"}, {\"name\": \"B\"}],"
        "\"traceEvents\": []}";
    trace = must_record(text, &four_a_node);
    assert_string_equal(trace.gpu, "A\n100"); /* escaped where it is printed */
}

TEST(an_event_of_several_mebibytes_is_refused) {
    enum { SIZE = 5 << 20 };
    char *text = malloc(SIZE);
    pto_recording_t trace;
    pto_error_t err = {0};
    assert_non_null(text);
    memset(text, 'x', SIZE);
    memcpy(text, "{\"traceEvents\": [\n{\"name\": \"", 28);
    assert_int_equal(read_recorded_text(text, SIZE, &four_a_node, &trace, &err), PTO_ERR_TOO_LARGE);
    assert_int_equal(err.line, 2);
    free(text);
}

/* Each cut is refused, or is where a message ends. */
TEST(protobuf_that_ends_early_is_refused_with_its_byte) {
    unsigned char bytes[4096];
    FILE *file = fopen("tests/fixtures/traces/chakra.2.et", "rb");
    assert_non_null(file);
    size_t size = fread(bytes, 1, sizeof bytes, file), ends = 0;
    pto_recording_options_t options = four_a_node;
    fclose(file);
    options.nodes = 2;
    for (size_t cut = 1; cut < size; cut++) {
        pto_recording_t trace;
        pto_error_t err = {0};
        options.format = PTO_RECORDING_CHAKRA;
        pto_status_t status = read_recorded_text((const char *)bytes, cut, &options, &trace, &err);
        if (status == PTO_OK) {
            ends++;
            pto_recording_fini(&trace);
            continue;
        }
        assert_int_equal(status, PTO_ERR_SYNTAX);
        assert_int_equal(err.line, 1);
        assert_in_range(err.column, 1, (int)cut);
    }
    assert_int_equal(ends, 6); /* after the metadata and each node but the last */
}

TEST(hostile_protobuf_is_refused) {
    static const struct {
        const char *bytes;
        size_t size;
        const char *word;
    } bad[] = {
        {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 11, "64 bits"},
        {"\xff\xff\xff\xff\x0f\x01", 6, "4 MiB"},
        {"\x02\x08\x01", 3, "GlobalMetadata"},     /* a number instead of the version */
        {"\x03\x0a\x05\x61", 4, "GlobalMetadata"}, /* a text that is longer than its message */
        {"\x03\x0a\x01\x61\x02\x12\x09", 7, "not a node"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        pto_recording_options_t options = four_a_node;
        pto_recording_t trace;
        pto_error_t err = {0};
        options.format = PTO_RECORDING_CHAKRA;
        pto_status_t status = read_recorded_text(bad[i].bytes, bad[i].size, &options, &trace, &err);
        assert_int_equal(status, PTO_ERR_SYNTAX);
        assert_non_null(strstr(err.message, bad[i].word));
    }
}

TEST(another_format_than_asked_for_is_refused) {
    static const struct {
        const char *file;
        pto_recording_format_t asked;
    } wrong[] = {
        {"tests/fixtures/traces/kineto.json", PTO_RECORDING_PYTORCH_ET},
        {"tests/fixtures/traces/kineto.json", PTO_RECORDING_CHAKRA},
        {"tests/fixtures/traces/kineto.json", PTO_RECORDING_GOAL},
        {"tests/fixtures/traces/messages.goal", PTO_RECORDING_ALLPROF},
        {"tests/fixtures/traces/messages.goal", PTO_RECORDING_KINETO},
        {"tests/fixtures/osu.txt", PTO_RECORDING_NCCL_TESTS},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        pto_recording_options_t options = four_a_node;
        options.format = wrong[i].asked;
        assert_no_recording(wrong[i].file, &options, PTO_ERR_SYNTAX, "");
    }
}

/* --- real traces ---------------------------------------------------------------------------------------- */

#define SAMPLES "../shared/thirdparty/traces/"
#define ASTRA "tar -xOJf " SAMPLES "chakra-astra-sim.tar.xz chakra-astra-sim/examples/"
#define CHAKRA "tar -xOJf " SAMPLES "chakra-mlcommons.tar.xz chakra/tests/data/"
#define ALLPROF                                                                                              \
    "tar -xOJf " SAMPLES                                                                                     \
    "liballprof-sweep3d.tar.xz liballprof-samples/goal_gen/hpc/Schedgen/liballprof-samples/"

/* What the formats' own projects have as samples, and the calls that their tools count in them. */
TEST(real_traces_are_read) {
    static const struct {
        const char *command; /* prints one */
        pto_recording_format_t format;
        int64_t calls, sizeless;
    } samples[] = {
        {"cat " SAMPLES "kineto-hta-2gpu.json.gz", PTO_RECORDING_KINETO, 21, 0},
        {"cat " SAMPLES "kineto-tracelens-b200.json.gz", PTO_RECORDING_KINETO, 74, 0},
        {"cat " SAMPLES "binary_tree_32.goal", PTO_RECORDING_GOAL, 5, 0},
        {ASTRA "workload/microbenchmarks/all_reduce/16npus_1MB/all_reduce.3.et", PTO_RECORDING_CHAKRA, 1, 0},
        {ASTRA "workload/microbenchmarks/all_gather/4npus_1MB/all_gather.0.et", PTO_RECORDING_CHAKRA, 1, 0},
        {ASTRA "workload/microbenchmarks/reduce_scatter/8npus_1MB/reduce_scatter.1.et", PTO_RECORDING_CHAKRA,
         1, 0},
        {ASTRA "workload/microbenchmarks/all_to_all/16npus_1MB/all_to_all.3.et", PTO_RECORDING_CHAKRA, 1, 0},
        {ASTRA "system/custom_collectives/custom_ring_allreduce_8npus_1MB/custom_allreduce.5.et",
         PTO_RECORDING_CHAKRA, 28, 0},
        {CHAKRA "feeder_tests_trace.tar.gz | tar -xOzf - tests/data/chakra.0.et", PTO_RECORDING_CHAKRA, 7, 0},
        {CHAKRA "json_trace.tar.gz | tar -xOzf - jsonData/chakra.0.json", PTO_RECORDING_CHAKRA_JSON, 0, 7},
        {CHAKRA "1.0.2-chakra.0.0.4.tgz | tar -xOzf - 1.0.2-chakra.0.0.4.json", PTO_RECORDING_PYTORCH_ET, 10,
         0},
        {ALLPROF "sweep3d-2x2/pmpi-trace-rank-2.txt", PTO_RECORDING_ALLPROF, 2916, 0},
        {ALLPROF "bcast/trace_bcast-3.dat", PTO_RECORDING_ALLPROF, 5, 0},
    };
    const char *path = in_folder("sample");
    char command[512];
    pto_recording_options_t options = four_a_node;
    if (access(SAMPLES "binary_tree_32.goal", R_OK) != 0) {
        print_message("no samples in " SAMPLES "\n");
        skip();
    }
    options.nodes = 2;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        snprintf(command, sizeof command, "%s 2>/dev/null >%s", samples[i].command, path);
        assert_int_equal(system(command), 0);
        pto_recording_t trace = read_recording(path, &options);
        int64_t calls = 0;
        for (int k = 0; k < trace.count; k++)
            calls += trace.call[k].times;
        assert_int_equal(trace.format, samples[i].format);
        assert_int_equal(calls, samples[i].calls);
        assert_int_equal(trace.skipped.sizeless, samples[i].sizeless);
    }
}

int main(void) { return run_all_tests(make_folder, remove_folder); }
