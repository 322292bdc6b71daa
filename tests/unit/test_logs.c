/* The outputs of benchmarks as people keep them: with a launcher's prefix, in part, torn by other output,
 * several programs in one log. */
#include "portolan/recording.h"
#include "prefixed.h"
#include "recorded.h"
#include "test.h"

#define HEAD "# nThread 1 nGpus 1 minBytes 1024 maxBytes 4096 step: 2(factor)\n# Using devices\n"
#define RANK(rank, host)                                                                                     \
    "#  Rank  " rank " Group  0 Pid     7" rank " on    " host " device  0 [0x0a] NVIDIA H200\n"
#define COLUMNS                                                                                              \
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   "       \
    "algbw   busbw #wrong\n#        (B)    (elements)                               (us)  (GB/s)\n"
#define ROW_1                                                                                                \
    "        1024           256     float     sum      -1    11.00    0.09    0.09      0    10.90    0.09 " \
    "   0.09      0\n"
#define ROW_2                                                                                                \
    "        2048           512     float     sum      -1    12.00    0.17    0.17      0    11.90    0.17 " \
    "   0.17      0\n"
#define NCCL HEAD RANK("0", "node-a") RANK("1", "node-a") "#\n" COLUMNS ROW_1 ROW_2
#define OSU "# OSU MPI-CUDA Allreduce Latency Test v7.4\n# Size       Avg Latency(us)\n"
#define OSU_ROWS "1024                   11.00\n2048                   12.00\n"

static const pto_recording_options_t two_gpus = {
    .rank = -1, .nodes = 1, .gpus_per_node = 2, .collective = PTO_COLLECTIVE_COUNT};
static const pto_recording_options_t allreduces = {
    .rank = -1, .nodes = 1, .gpus_per_node = 2, .collective = PTO_COLLECTIVE_ALLREDUCE};

static void assert_row(const pto_recording_t *trace, int i, pto_collective_t collective, int64_t bytes,
                       double us) {
    assert_in_range(i, 0, trace->count - 1);
    assert_int_equal(trace->call[i].collective, collective);
    assert_int_equal(trace->call[i].bytes, bytes);
    if (!(fabs(trace->call[i].measured_s - 1e-6 * us) < 1e-12))
        fail_msg("%g us instead of %g", 1e6 * trace->call[i].measured_s, us);
}

/* Two allreduces, of 1 and 2 KiB. */
static void assert_two_by(const char *text, const pto_recording_options_t *options) {
    pto_recording_t trace = must_record(text, options);
    assert_int_equal(trace.count, 2);
    assert_row(&trace, 0, PTO_COLLECTIVE_ALLREDUCE, 1024, 11);
    assert_row(&trace, 1, PTO_COLLECTIVE_ALLREDUCE, 2048, 12);
}

static void assert_two(const char *text) { assert_two_by(text, &allreduces); }

/* Where the log names the collective. */
static void assert_named(const char *text) { assert_two_by(text, &two_gpus); }

TEST(marks_within_a_row_are_taken_out) {
    assert_named("[0] " OSU "[0] 10[0] 24   11.00\n[0]   [0] 2048 [0] 12.[0] 00\n");
    assert_named("[1,0]<stdout>:" OSU "[1,0]<stdout>:1024   1[1,0]<stdout>:1.00\n[1,0]<stdout>:2048 12.00\n");
    char *log = prefixed("[0] ", HEAD RANK("0", "node-a") RANK("1", "node-a") COLUMNS);
    char text[8192];
    snprintf(
        text, sizeof text, "%s%s", log,
        "[0]   1024   256     float     sum      -1node-a:71:80 [0] NCCL INFO Connected all rings\n"
        "[0]     11.00    0.[0] 09    0.09      0    10.90    0.09    0.09      0\n"
        "[0]   2048   512   fl[0] oat     sum      -1    12.00    0.17    0.17      0    11.90    0.17    "
        "0.17      0\n");
    assert_two(text);
    free(log);
    /* a mark that could be part of a row stays: the row is not one of three columns */
    pto_recording_t trace = must_record("0: " OSU "0: 1024 11.00\n0: 2048 0: 12.00\n", &two_gpus);
    assert_int_equal(trace.count, 1);
}

/* What follows a torn row's first half keeps its blanks. */
TEST(lines_are_indented_as_a_whole) {
    char *log = prefixed("    ", HEAD RANK("0", "node-a") RANK("1", "node-a") COLUMNS);
    char text[8192];
    snprintf(text, sizeof text, "%s%s", log,
             "      1024   256     float     sum      -1node-a:71:80 [0] NCCL INFO Connected all rings\n"
             "        11.00    0.09    0.09      0    10.90    0.09    0.09      0\n"
             "      2048   512   float     sum      -1    12.00    0.17    0.17      0    11.90    0.17    "
             "0.17      0\n");
    assert_two(text);
    free(log);
    assert_two(
        "       size         count      type   redop    root     time   algbw   busbw #wrong     time   "
        "algbw   busbw #wrong\n  1024   256     float     sum      -1node-a:71:80 [0] NCCL INFO x\n"
        "    11.00    0.09    0.09      0    10.90    0.09    0.09      0\n" ROW_2);
}

/* Lines of other programs have no prefix, or that of another process. */
TEST(a_prefix_is_taken_off_where_it_stands) {
    assert_named("srun: job 7 started\n0: " OSU
                 "1: a warning\n0: 1024 11.00\nslurmstepd: hello\n0: 2048 12.00\n");
}

TEST(json_is_not_taken_for_a_tag) {
    pto_recording_t trace;
    pto_error_t err = {0};
    static const char text[] = "[1,0]<stdout>: hello\n";
    assert_int_equal(read_recorded_text(text, strlen(text), &two_gpus, &trace, &err), PTO_ERR_SYNTAX);
    assert_non_null(strstr(err.message, "neither"));
    assert_null(strstr(err.message, "Kineto"));
    assert_int_equal(must_record(" [ {\"ph\": 1} ]", &two_gpus).format, PTO_RECORDING_KINETO);
}

#define INFO "node-a:71:80 [0] NCCL INFO Connected all rings\n"

TEST(torn_rows_are_put_together) {
    static const char *const logs[] = {
        INFO ROW_1 INFO ROW_2,
        /* between columns, within a number, at the end, and twice */
        "  1024   256     float     sum      -1" INFO
        "    11.00    0.09    0.09      0    10.90    0.09    0.09      0\n" ROW_2,
        "  1024   256     float     sum      -1    11" INFO
        ".00    0.09    0.09      0    10.90    0.09    0.09      0\n" ROW_2,
        "  1024   256     float     sum      -1    11.00    0.09    0.09      0    10.90    0.09    0.09     "
        " 0" INFO ROW_2,
        "  1024   256     float" INFO "     sum      -1    11.00" INFO INFO
        "    0.09    0.09      0    10.90    0.09    0.09      0\n" ROW_2,
        "  1024   256     float     sum      -1[2026-07-09 10:00:00] " INFO
        "    11.00    0.09    0.09      0    10.90    0.09    0.09      0\n" ROW_2,
        /* within the first number, by a host that an earlier line named, and rows behind other output */
        "  10" INFO
        "24   256     float     sum      -1    11.00    0.09    0.09      0    10.90    0.09    0.09 "
        "    0\n" ROW_2,
        "ip-10-0-0-5:71:80 [0] NCCL INFO Connected\n  1024   256     floatip-10-0-0-5:71:80 [0] NCCL INFO x\n"
        "     sum      -1    11.00    0.09    0.09      0    10.90    0.09    0.09      0\n" ROW_2,
        "node-a:71:80 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P" ROW_1 ROW_2,
    };
    for (size_t i = 0; i < sizeof logs / sizeof *logs; i++) {
        char text[4096];
        snprintf(text, sizeof text, "%s%s", HEAD RANK("0", "node-a") RANK("1", "node-a") COLUMNS, logs[i]);
        assert_two(text);
    }
}

TEST(a_row_whose_rest_is_lost_is_left_out) {
    pto_recording_t trace =
        must_record(COLUMNS "  1024   256     float     sum      -1" INFO ROW_2, &allreduces);
    assert_int_equal(trace.count, 1);
    assert_row(&trace, 0, PTO_COLLECTIVE_ALLREDUCE, 2048, 12);
    assert_int_equal(trace.skipped.torn, 1);
    /* by output that looks like none of NCCL's, and at the end of the file */
    trace = must_record(
        COLUMNS "  1024   256   float   sum    -1[17.123] [node-a:71:0] a b c d e UCX INFO ep_cfg[2]\n"
                "    11.00    0.09    0.09      0    10.90    0.09    0.09      0\n" ROW_2
                "  4096  1024   float   sum    -1   13.00\n",
        &allreduces);
    assert_int_equal(trace.count, 1);
    assert_row(&trace, 0, PTO_COLLECTIVE_ALLREDUCE, 2048, 12);
    assert_int_equal(trace.skipped.torn, 2);
}

TEST(rows_of_osu_are_put_together) {
    assert_named(OSU "1024    node-a:71:80 [0] NCCL INFO Connected\n      11.00\n2048   12.00" INFO);
    assert_named(OSU INFO "1024   11.00\n" INFO "node-a:71:80 [0] NCCL INFO Connected   2048   12.00\n");
    /* columns without a time: those of before hold */
    assert_named(OSU "# Size NCCL  x MB/s\n" OSU_ROWS);
    /* a number alone is no row's beginning */
    assert_named(OSU "1024   11.00\n4711\n  0.5\n2048   12.00\n");
    assert_two("node-a:71:80 [0] NCCL INFO a\nnode-b:72:81 [1] NCCL INFO b\n" OSU
               "1024                   11.00\nnode-b:72:81 [1] NCCL INFO c\n2node-a:71:80 [0] NCCL INFO d\n"
               "048                   12.00\n");
}

/* Three rows, of which other output interrupts the second or first: each call is read as it was, or it is
 * left out and counted once. */
static void assert_read_or_counted(const char *heading, const char *const rows[3], int which, size_t cut,
                                   const char *other) {
    pto_recording_options_t options = two_gpus;
    options.as_gpu = true;
    char text[2048] = "";
    size_t length = (size_t)snprintf(text, sizeof text, "%s", heading);
    for (int i = 0; i < 3; i++)
        length += (size_t)(i == which ? snprintf(text + length, sizeof text - length, "%.*s%s%s", (int)cut,
                                                 rows[i], other, rows[i] + cut)
                                      : snprintf(text + length, sizeof text - length, "%s", rows[i]));
    pto_recording_t trace = must_record(text, &options);
    const bool is_lost = trace.count == 2;
    if (trace.count + trace.skipped.torn != 3 || trace.count < 2 || trace.skipped.timeless != 0 ||
        trace.skipped.sizeless != 0)
        fail_msg("%d calls, %d torn rows, %d without times\n%s", trace.count, (int)trace.skipped.torn,
                 (int)trace.skipped.timeless, text);
    for (int i = 0, at = 0; i < 3; i++) {
        if (is_lost && i == which)
            continue;
        if (trace.call[at].bytes != 1024 << i || !(fabs(trace.call[at].measured_s - 1e-6 * (11 + i)) < 1e-12))
            fail_msg("%lld bytes, %g us\n%s", (long long)trace.call[at].bytes,
                     1e6 * trace.call[at].measured_s, text);
        at++;
    }
}

TEST(no_row_that_other_output_interrupts_is_misread) {
    static const struct {
        const char *heading, *rows[3];
    } tables[] = {{OSU,
                   {"1024                   11.00\n", "2048                   12.00\n",
                    "4096                   13.00\n"}},
                  {"# OSU MPI-CUDA Allreduce Latency Test v7.4\n"
                   "# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations\n",
                   {"1024                   11.00             10.50             14.60        1000\n",
                    "2048                   12.00             10.50             14.60        1000\n",
                    "4096                   13.00             10.50             14.60        1000\n"}},
                  {"# Benchmarking Allreduce \n# #processes = 2 \n"
                   "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n",
                   {"         1024         1000        10.50        14.60        11.00\n",
                    "         2048         1000        10.50        14.60        12.00\n",
                    "         4096         1000        10.50        14.60        13.00\n"}},
                  {"Collective:             Allreduce\nMemory type:            cuda\n"
                   "       Count        Size                Time, us\n                                 avg   "
                   "      min         max\n",
                   {"         256        1024       11.00       10.50       14.60\n",
                    "         512        2048       12.00       10.50       14.60\n",
                    "        1024        4096       13.00       10.50       14.60\n"}}};
    static const char *const others[] = {
        "gx17:71:80 [0] NCCL INFO Connected all rings\n",
        "10-0-0-5:71:80 [0] NCCL INFO Connected\n",
        "[2026-07-09 10:00:00] gx17.cluster:71:80 [0] NCCL INFO x\n",
        "[gx17:71234] mca_base_component_repository_open: unable to open\n",
        "[1719000000.123456] [gx17:71   :0]  parser.c:2036 UCX  WARN  unused\n",
        "slurmstepd: error: cgroup\n",
        "2026-11-29 10:00:00 WARNING a\n",
        "I1128 10:00:00.123456 71 init.cc:12] hello 5\n"};
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (size_t o = 0; o < sizeof others / sizeof *others; o++)
            for (int which = 0; which < 2; which++)
                for (size_t cut = 0; cut < strlen(tables[t].rows[which]); cut++)
                    assert_read_or_counted(tables[t].heading, tables[t].rows, which, cut, others[o]);
}

/* Debug lines within the list of processes. A host's name that they tear is not guessed if their own host is
 * not known. */
TEST(lists_of_processes_are_put_together) {
    static const char before[] = "node-a:71:71 [0] NCCL INFO a\nnode-b:72:72 [0] NCCL INFO b\n";
    static const char torn[] = RANK("1", "node-a");
    static const char *const others[] = {"node-b:72:72 [0] NCCL INFO Bootstrap\n",
                                         "gx17:71:80 [0] NCCL INFO Connected\n",
                                         "node-a:71:71 [0] NCCL INFO a\nnode-b:72:72 [0] NCCL INFO b\n"};
    pto_recording_options_t options = two_gpus;
    options.nodes = 0;
    options.places_assumed = true;
    options.collective = PTO_COLLECTIVE_ALLREDUCE;
    int refused = 0;
    for (size_t known = 0; known < 2; known++)
        for (size_t o = 0; o < sizeof others / sizeof *others; o++)
            for (size_t cut = 0; cut < strlen(torn); cut++) {
                char text[4096];
                pto_recording_t trace;
                pto_error_t err = {0};
                snprintf(text, sizeof text, "%s%s%s%s%.*s%s%s%s%s", known ? before : "",
                         known ? others[o] : "", HEAD, RANK("0", "node-a"), (int)cut, torn, others[o],
                         torn + cut, RANK("2", "node-b") RANK("3", "node-b"), COLUMNS ROW_1);
                if (read_recorded_text(text, strlen(text), &options, &trace, &err) == PTO_ERR_KEY && !known &&
                    strstr(err.message, "other output is in the name of a host")) {
                    refused++;
                    continue;
                }
                if (err.status != PTO_OK)
                    fail_msg("%d: %s\n%s", err.line, err.message, text);
                if (trace.count != 1 || trace.call[0].nodes != 2 || trace.call[0].gpus_per_node != 2)
                    fail_msg("%d calls, %d nodes\n%s", trace.count,
                             trace.count ? (int)trace.call[0].nodes : 0, text);
                pto_recording_fini(&trace);
            }
    assert_in_range(refused, 3, 3 * 16);
}

#define START(program) "# Collective test starting: " program "\n"

TEST(unknown_programs_of_a_log_are_counted) {
    pto_recording_t trace = must_record(START("all_reduce_perf") NCCL START("sendrecv_perf")
                                            NCCL START("/opt/tests/build/alltoall_perf") NCCL,
                                        &two_gpus);
    assert_int_equal(trace.count, 4);
    assert_row(&trace, 0, PTO_COLLECTIVE_ALLREDUCE, 1024, 11);
    assert_row(&trace, 2, PTO_COLLECTIVE_ALLTOALL, 512, 11);
    assert_int_equal(trace.skipped.others, 2);
    trace = must_record(OSU OSU_ROWS START("all_reduce_perf") NCCL OSU OSU_ROWS, &two_gpus);
    assert_int_equal(trace.format, PTO_RECORDING_OSU);
    assert_int_equal(trace.count, 2);
    assert_int_equal(trace.call[0].times, 2);
    assert_int_equal(trace.skipped.foreign, 2);
    pto_recording_options_t options = two_gpus;
    options.format = PTO_RECORDING_NCCL_TESTS;
    trace = must_record(OSU OSU_ROWS START("all_gather_perf") NCCL OSU OSU_ROWS, &options);
    assert_int_equal(trace.count, 2);
    assert_row(&trace, 0, PTO_COLLECTIVE_ALLGATHER, 512, 11);
    assert_int_equal(trace.skipped.foreign, 2);
}

TEST(other_units_are_refused) {
    static const bad_input_t bad[] = {
        BAD("# OSU MPI-CUDA Allreduce Latency Test v7.4\n# Size       Avg Latency(ms)\n1024   11.00\n",
            PTO_ERR_SYNTAX, 2, 1, "times are read in (us)"),
        BAD("# OSU MPI-CUDA Bandwidth Test v7.4\n| Size | Bandwidth (GB/s) |\n| 1024 | 11.00 |\n",
            PTO_ERR_SYNTAX, 2, 1, "rates in MB/s alone"),
    };
    ASSERT_RECORDINGS_REFUSED(bad, &two_gpus);
}

/* MPI_Reduce_local sends nothing; OpenSHMEM and UPC are other libraries. */
TEST(benchmarks_with_the_names_of_collectives_are_none) {
    static const char *const titles[] = {"# OSU MPI-CUDA Reduce_local Latency Test v7.4",
                                         "# OSU OpenSHMEM Reduce Latency Test v7.4",
                                         "# OSU UPC Broadcast Latency Test v5.9"};
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++) {
        char text[1024];
        snprintf(text, sizeof text, OSU OSU_ROWS "%s\n# Size  Avg Latency(us)\n1024  3.00\n", titles[i]);
        pto_recording_t trace = must_record(text, &two_gpus);
        assert_int_equal(trace.count, 2);
        assert_int_equal(trace.skipped.others, 1);
    }
}

TEST(a_barrier_is_counted) {
    pto_recording_t trace = must_record(
        OSU OSU_ROWS "# OSU MPI Barrier Latency Test v7.4\n# Avg Latency(us)\n             5.10\n",
        &two_gpus);
    assert_int_equal(trace.count, 2);
    assert_int_equal(trace.skipped.others, 1);
}

TEST(runs_of_single_processes_are_no_job) {
    static const bad_input_t bad[] = {
        BAD(HEAD HEAD RANK("0", "a") RANK("0", "b") COLUMNS ROW_1, PTO_ERR_RANGE, 6, 1, "MPI=1"),
        BAD(HEAD RANK("0", "a") RANK("2", "a") COLUMNS ROW_1, PTO_ERR_RANGE, 7, 1, "not process 1"),
    };
    ASSERT_RECORDINGS_REFUSED(bad, &allreduces);
    pto_recording_options_t options = two_gpus;
    options.nodes = 0;
    options.collective = PTO_COLLECTIVE_ALLREDUCE;
    pto_recording_t trace =
        must_record(HEAD RANK("0", "a") COLUMNS ROW_1 HEAD RANK("0", "b") COLUMNS ROW_1, &options);
    assert_int_equal(trace.count, 0);
    assert_int_equal(trace.skipped.sizeless, 2);
}

TEST(rates_that_no_link_has_are_refused) {
#define BIG(us)                                                                                              \
    "    67108864      16777216     float     sum      -1    " us                                            \
    "  1118.48    0.00      0     4.00  16777.2    0.00      0\n"
    static const bad_input_t bad[] = {
        BAD(HEAD RANK("0", "a") RANK("1", "a") COLUMNS BIG("149.0"), PTO_ERR_RANGE, 7, 1, "450 GB/s"),
        BAD(OSU "67108864 33\n", PTO_ERR_RANGE, 3, 1, "2000 GB/s"),
    };
    ASSERT_RECORDINGS_REFUSED(bad, &allreduces);
    pto_recording_t trace = must_record(HEAD RANK("0", "a") RANK("1", "a") COLUMNS BIG("150.0"), &allreduces);
    assert_int_equal(trace.count, 1);
}

#define DEVICE(rank, host) "{\"rank\":" rank ",\"hostname\":\"" host "\",\"device_info\":\"NVIDIA H200\"}"
#define RESULT(bytes, us, name)                                                                              \
    "{\"size\":" bytes ",\"out_of_place\":{\"time\":" us "},\"experiment_name\":\"" name "\"}"

TEST(nccl_tests_write_json) {
    pto_recording_options_t options = two_gpus;
    options.nodes = 0;
    options.places_assumed = true;
    pto_recording_t trace = must_record(
        "{\"args\":[\"./build/all_reduce_perf\",\"-b\",\"1K\"],\"config\":{\"devices\":[" DEVICE(
            "0", "a") "," DEVICE("1",
                                 "b") "]},\"results\":[" RESULT("1024", "11.0",
                                                                "AllReduce") "," RESULT("2048", "12",
                                                                                        "AllReduce") "]}",
        &options);
    assert_int_equal(trace.format, PTO_RECORDING_NCCL_TESTS);
    assert_int_equal(trace.count, 2);
    assert_row(&trace, 0, PTO_COLLECTIVE_ALLREDUCE, 1024, 11);
    assert_row(&trace, 1, PTO_COLLECTIVE_ALLREDUCE, 2048, 12);
    assert_int_equal(trace.call[0].nodes, 2);
    assert_string_equal(trace.gpu, "NVIDIA H200");
    trace =
        must_record("{\"results\":[" RESULT("4096", "9", "AllGather") "],\"config\":{\"devices\":[" DEVICE(
                        "0", "a") "," DEVICE("1", "a") "]}}",
                    &two_gpus);
    assert_row(&trace, 0, PTO_COLLECTIVE_ALLGATHER, 2048, 9);
    trace = must_record(
        "{\"args\":[\"./all_reduce_perf\"],\"config\":{\"devices\":[" DEVICE("0", "a") "," DEVICE(
            "1", "a") "]},\"results\":[" RESULT("1024", "11", "AllReduce") "," RESULT("4096", "9",
                                                                                      "SendRecv") "]}",
        &two_gpus);
    assert_int_equal(trace.count, 1);
    assert_int_equal(trace.skipped.others, 1);
    static const bad_input_t bad[] = {
        BAD("{\"config\":{\"devices\":[" DEVICE("0", "a") "," DEVICE("0", "b") "]},\"results\":[]}",
            PTO_ERR_RANGE, 1, 1, "listed twice"),
        BAD("{\"config\":{},\"results\":[{\"size\":8}]}", PTO_ERR_SYNTAX, 1, 1, "its size and a time"),
    };
    ASSERT_RECORDINGS_REFUSED(bad, &allreduces);
}

/* The other columns of a non-blocking call contain the computation that overlaps with it. */
TEST(non_blocking_calls_take_what_communication_alone_takes) {
    pto_recording_t trace = must_record(
        "# OSU MPI-CUDA Non-blocking Allreduce Latency Test v7.4\n"
        "# Overall = Coll. Init + Compute + MPI_Test + MPI_Wait\n\n"
        "# Size           Overall(us)       Compute(us)    Pure Comm.(us)        Overlap(%)\n"
        "1024                   42.00             20.00             21.00              4.76\n"
        "# Size    Overall(us)  Compute(us)  Coll. Init(us)  MPI_Test(us)  MPI_Wait(us)  Pure Comm.(us)\n"
        "2048  1 2 3 4 5 22.0 7\n",
        &two_gpus);
    assert_int_equal(trace.count, 2);
    assert_row(&trace, 0, PTO_COLLECTIVE_ALLREDUCE, 1024, 21);
    assert_row(&trace, 1, PTO_COLLECTIVE_ALLREDUCE, 2048, 22);
    assert_true(trace.non_blocking);
    trace = must_record("# OSU MPI-CUDA Non-blocking Neighborhood Allgather Latency Test v7.4\n"
                        "# Size  Overall(us)  Compute(us)  Pure Comm.(us)  Overlap(%)\n"
                        "1024  42.00  20.00  21.00  4.76\n"
                        "# OSU MPI-CUDA Allreduce Latency Test v7.4\n"
                        "# Size  Avg Latency(us)\n"
                        "1024  20.00\n",
                        &two_gpus);
    assert_int_equal(trace.count, 1);
    assert_false(trace.non_blocking); /* the rows of non-blocking calls are left out */
}

TEST(messages_of_osu_are_pairs_and_windows) {
    pto_recording_options_t options = two_gpus;
    options.nodes = 2;
    options.gpus_per_node = 1;
    pto_recording_t trace = must_record(
        "# OSU MPI-CUDA Latency Test v7.4\n# Size          Latency (us)\n8 3.5\n"
        "# OSU MPI-CUDA Bandwidth Test v7.4\n# Size      Bandwidth (MB/s)\n1000000   10000.0\n"
        "# OSU MPI-CUDA Bi-Directional Bandwidth Test v7.4\n# Size      Bandwidth (MB/s)\n8   1.0\n"
        "# OSU MPI_Put-CUDA Latency Test v7.4\n# Size          Latency (us)\n8 3.5\n"
        "# OSU MPI-CUDA Multi-threaded Latency Test v7.4\n# Size          Latency (us)\n8 3.5\n",
        &options);
    assert_int_equal(trace.count, 2);
    assert_row(&trace, 0, PTO_COLLECTIVE_MESSAGES, 1000000, 6400);
    assert_int_equal(trace.call[0].messages, 64);
    assert_int_equal(trace.call[0].nodes, 2);
    assert_row(&trace, 1, PTO_COLLECTIVE_PAIR, 8, 3.5);
    assert_int_equal(trace.call[1].distance, PTO_LEVEL_OFF_NODE);
    assert_int_equal(trace.skipped.others, 3);
    options.gpus_per_node = 4;
    trace = must_record(
        "# OSU MPI-CUDA Multiple Bandwidth / Message Rate Test v7.4\n# [ pairs: 4 ] [ window size: 32 ]\n"
        "# Size                  MB/s        Messages/s\n1000000   40000.0  1\n",
        &options);
    assert_int_equal(trace.count, 1);
    assert_row(&trace, 0, PTO_COLLECTIVE_MESSAGES, 1000000, 3200);
    assert_int_equal(trace.call[0].messages, 32);
    assert_int_equal(trace.call[0].gpus_per_node, 4);
    /* numbers that no job has are not read */
    options.gpus_per_node = 1;
    trace = must_record("# OSU MPI-CUDA Bandwidth Test v7.4\n# [ pairs: 9223372036854775807 ] [ window size: "
                        "9223372036854775807 ]\n"
                        "# Size      Bandwidth (MB/s)\n1000000   10000.0\n",
                        &options);
    assert_int_equal(trace.count, 1);
    assert_row(&trace, 0, PTO_COLLECTIVE_MESSAGES, 1000000, 6400);
}

/* The column of the time is that of the first heading, which later rows may lack. */
TEST(a_second_heading_leaves_no_column_beyond_its_rows) {
    pto_recording_options_t options = allreduces;
    options.as_gpu = true;
    pto_recording_t trace =
        must_record("size  count type redop root time\nsize countypetime\n4 3\n", &options);
    assert_int_equal(trace.count, 0);
    assert_int_equal(trace.skipped.torn, 1);
}

/* A row of 4,096 bytes on 4 processes: OSU reduces a vector of 4,096, IMB one of 16,384, UCC's prints the
 * vector. */
TEST(bytes_of_a_reduce_scatter_are_what_its_benchmark_means) {
    static const struct {
        const char *text;
        int64_t block;
    } logs[] = {
        {"# OSU MPI-CUDA Reduce_scatter Latency Test v7.4\n# Size       Avg Latency(us)\n4096 9.0\n", 1024},
        {"# Benchmarking Reduce_scatter \n# #processes = 4 \n"
         "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n  4096  1000  8.0  10.0  9.0\n",
         4096},
        {"Collective:             Reduce_scatter\nMemory type:            Cuda\n\n"
         "       Count        Size                Time, us\n                             avg    min    max\n"
         "        1024        4096        9.00        8.0       10.0\n",
         1024},
        {"# nThread 1\n" COLUMNS START(
             "reduce_scatter_perf") "  4096  256  float  sum  -1  9.00 1 1 0 1 1 1 0\n",
         1024},
    };
    pto_recording_options_t options = two_gpus;
    options.gpus_per_node = 4;
    options.as_gpu = true;
    for (size_t i = 0; i < sizeof logs / sizeof *logs; i++) {
        pto_recording_t trace = must_record(logs[i].text, &options);
        assert_int_equal(trace.count, 1);
        assert_row(&trace, 0, PTO_COLLECTIVE_REDUCE_SCATTER, logs[i].block, 9);
    }
}

TEST(imb_says_how_many_processes_there_were) {
    static const char text[] =
        "#    Intel(R) MPI Benchmarks 2021.3, MPI-1 part\n"
        "# Benchmarking Allreduce \n# #processes = 2 \n"
        "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n"
        "            0         1000         0.05         0.06         0.05\n"
        "         1024         1000        10.00        12.00        11.00\n"
        "# Benchmarking Exchange\n# #processes = 2 \n"
        "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec\n"
        "         1024         1000        10.00        12.00        11.00   1\n"
        "# Benchmarking PingPong\n# #processes = 2 \n"
        "       #bytes #repetitions      t[usec]   Mbytes/sec\n"
        "         2048         1000         1.50       100.0\n"
        "# Benchmarking Barrier\n# #processes = 2 \n"
        " #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n"
        "         1000         1.50         1.60         1.55\n"
        "# Benchmarking Bcast\n# #processes = 2 \n"
        "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n"
        "         1024         1000        10.00\n";
    pto_recording_options_t options = two_gpus;
    options.nodes = 0;
    options.gpus_per_node = 4;
    options.places_assumed = true;
    pto_recording_t trace = must_record(text, &options);
    assert_int_equal(trace.count, 0);
    assert_int_equal(trace.skipped.on_host, 4);
    options.as_gpu = true;
    trace = must_record(text, &options);
    assert_int_equal(trace.format, PTO_RECORDING_IMB);
    assert_int_equal(trace.count, 2);
    assert_row(&trace, 0, PTO_COLLECTIVE_ALLREDUCE, 1024, 11);
    assert_int_equal(trace.call[0].gpus_per_node, 2);
    assert_row(&trace, 1, PTO_COLLECTIVE_PAIR, 2048, 1.5);
    assert_int_equal(trace.call[1].distance, PTO_LEVEL_ON_SOCKET);
    assert_int_equal(trace.skipped.others, 2);
    assert_int_equal(trace.skipped.torn, 1);
    assert_int_equal(trace.skipped.sizeless, 1);
}

#define IMB_RUN(procs, us)                                                                                   \
    "# Benchmarking Allreduce \n# #processes = " procs " \n"                                                 \
    "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n"                                    \
    "         1024         1000         5.00        12.00       " us "\n"

TEST(runs_of_other_numbers_of_processes_are_left_out) {
    pto_recording_options_t options = two_gpus;
    options.gpus_per_node = 4;
    options.as_gpu = true;
    pto_recording_t trace = must_record(IMB_RUN("2", "6.00") IMB_RUN("4", "11.00"), &options);
    assert_int_equal(trace.count, 1);
    assert_row(&trace, 0, PTO_COLLECTIVE_ALLREDUCE, 1024, 11);
    assert_int_equal(trace.skipped.other_procs, 1);
    static const char none[] = IMB_RUN("2", "6.00") IMB_RUN("3", "11.00");
    pto_error_t err = {0};
    assert_int_equal(read_recorded_text(none, strlen(none), &options, &trace, &err), PTO_ERR_NOT_APPLICABLE);
    assert_non_null(strstr(err.message, "lists 2 processes, and 1 node of 4 has 4"));
    assert_int_equal(err.line, 4);
}

TEST(rows_behind_a_progress_bar_are_read) {
    assert_two(HEAD RANK("0", "node-a") RANK("1", "node-a") "#\n" COLUMNS ROW_1 "\rprogress 50%\r" ROW_2);
    assert_two(OSU "1024 11.00\rprogress 50%\r2048 12.00\r\n");
}

TEST(rows_without_a_time_are_counted) {
    static const struct {
        const char *text;
        int64_t timeless;
    } logs[] = {
        {OSU OSU_ROWS "4096                   nan\n8192                   -1.00\n", 2},
        {OSU OSU_ROWS "12 nodes are up\n4096 iterations\n2026-11-29 01:51:02 up\n", 0},
        {OSU OSU_ROWS "1 2 3\n", 0},
        {OSU OSU_ROWS "4096  N/A\n8192  -\n16384  14.00us\n", 3},
        {OSU OSU_ROWS "4096.5  14.00\n0x2000  15.00\n8 KB  15.00\n", 3},
        {OSU OSU_ROWS "4KB                    14.00\n", 1},
        {HEAD RANK("0", "a") RANK("1", "a") "#\n" COLUMNS ROW_1
             ROW_2 "        4096          1024     float     sum      -1      nan    0.09    0.09      0    "
                                            "10.90    0.09    0.09      0\n",
         1},
        {IMB_RUN("2", "11.00") "       4096.5         1000         5.00        12.00     11.00\n"
                               "         2026-11-29 01:51:02 12 nodes are up\n",
         1},
        {IMB_RUN("2", "11.00") "         2048         1000         5.00        12.00       nan\n", 1}};
    pto_recording_options_t options = two_gpus;
    options.as_gpu = true;
    for (size_t i = 0; i < sizeof logs / sizeof *logs; i++) {
        options.collective = i == 6 ? PTO_COLLECTIVE_ALLREDUCE : PTO_COLLECTIVE_COUNT;
        pto_recording_t trace = must_record(logs[i].text, &options);
        assert_row(&trace, 0, PTO_COLLECTIVE_ALLREDUCE, 1024, 11);
        assert_int_equal(trace.skipped.timeless, logs[i].timeless);
        assert_int_equal(trace.skipped.torn, 0);
    }
}

TEST(sizes_are_read_in_any_clear_form) {
    static const char *const sizes[] = {"1 KiB", "1 K", "1.024e3", "1.0 KiB", "1024 B", "1024bytes", "1024"};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char text[1024];
        snprintf(text, sizeof text, OSU "%s   11.00\n2048   12.00\n", sizes[i]);
        assert_named(text);
        snprintf(text, sizeof text,
                 COLUMNS "  %s  256  float  sum  -1  11.00  0.09  0.09  0  10.90  0.09  0.09  0\n" ROW_2,
                 sizes[i]);
        assert_two(text);
    }
}

TEST(the_last_row_of_a_program_that_was_stopped_is_left_out) {
    static const struct {
        const char *row;
        int64_t torn;
    } ends[] = {{"4096                   1", 1},
                {"4096                   13.0", 1},
                {"409", 1},
                {"4096                   13.0\n", 0},
                {"4096                   13.00", 0}};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char text[1024];
        snprintf(text, sizeof text, OSU OSU_ROWS "%s", ends[i].row);
        pto_recording_t trace = must_record(text, &two_gpus);
        assert_int_equal(trace.skipped.torn, ends[i].torn);
        assert_int_equal(trace.count, 3 - ends[i].torn);
    }
}

TEST(decimal_commas_are_refused) {
    static const bad_input_t bad[] = {
        BAD(OSU "1024                   20,75\n", PTO_ERR_SYNTAX, 3, 1, "a comma within a number"),
        BAD(OSU "1024 | 1.021,25 |\n", PTO_ERR_SYNTAX, 3, 1, "a comma within a number"),
        BAD(OSU "1,024                   20.75\n", PTO_ERR_SYNTAX, 3, 1, "a comma within a number"),
    };
    ASSERT_RECORDINGS_REFUSED(bad, &two_gpus);
    assert_named(OSU "1024,11.00\n2048, 12.00\n");
}

TEST(wrong_results_are_noted) {
    static const char head[] = HEAD RANK("0", "a") RANK("1", "a") "#\n" COLUMNS ROW_1;
    static const struct {
        const char *more;
        bool is_wrong;
    } ends[] = {
        {"# Out of bounds values : 0 OK\n", false},
        {"# Out of bounds values : 1 FAILED\n", true},
        {"        2048           512     float     sum      -1    12.00    0.17    0.17      7    11.90    "
         "0.17    0.17      0\n",
         true}};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char text[2048];
        snprintf(text, sizeof text, "%s%s", head, ends[i].more);
        pto_recording_t trace = must_record(text, &allreduces);
        assert_int_equal(trace.has_wrong, ends[i].is_wrong);
    }
    pto_recording_t trace = must_record(OSU "1024 11.00 Fail\n", &two_gpus);
    assert_true(trace.has_wrong);
}

TEST(osu_benchmarks_of_nccl_take_its_route) {
    pto_recording_t trace = must_record(
        "# OSU NCCL-CUDA Allreduce Latency Test v7.5\n# Size       Avg Latency(us)\n" OSU_ROWS, &two_gpus);
    assert_string_equal(trace.call[0].route, "nccl");
    assert_int_equal(trace.on_gpu, 2);
    trace = must_record(OSU OSU_ROWS, &two_gpus);
    assert_string_equal(trace.call[0].route, "mpi");
    assert_int_equal(trace.on_gpu, 2);
}

TEST(units_are_no_columns) {
    assert_two(
        "| size (B) | count | type | redop | root | time (us) | algbw (GB/s) | busbw (GB/s) | #wrong |\n"
        "|---|---|---|---|---|---|---|---|---|\n"
        "| 1024 | 256 | float | sum | -1 | 11.00 | 0.09 | 0.09 | 0 |\n"
        "| 2048 | 512 | float | sum | -1 | 12.00 | 0.17 | 0.17 | 0 |\n");
}

TEST(colors_are_no_part_of_a_name) {
    pto_recording_t trace = must_record(
        "\033[32m# Using devices\033[0m\n"
        "\033[32m#  Rank  0 Group  0 Pid 1 on a device  0 [0x1b] NVIDIA H200\033[0m\n"
        "\033[32m#  Rank  1 Group  0 Pid 2 on a device  1 [0x1b] NVIDIA H200\033[0m\n" COLUMNS ROW_1,
        &allreduces);
    assert_string_equal(trace.gpu, "NVIDIA H200");
}

/* Of one test of a recent UCX. */
#define UCX(test, memory)                                                                                    \
    "+-----------------------------------+\n"                                                                \
    "| API:          protocol layer      |\n"                                                                \
    "| Test:         " test "    |\n"                                                                        \
    "| Data layout:  (automatic)         |\n"                                                                \
    "| Send memory:  " memory "          |\n"                                                                \
    "| Recv memory:  " memory "          |\n"                                                                \
    "| Message size: 1048576             |\n"                                                                \
    "| Window size:  32                  |\n"                                                                \
    "+--------------+--------------+-----+\n"                                                                \
    "|    Stage     | # iterations | 50.0%ile | average | overall |  average |  overall |  average  |  "     \
    "overall  |\n"                                                                                           \
    "[thread 0]    800   1.000  9.000  9.000   9.00   9.00   9   9\n"                                        \
    "Final:       1000   1.000  2.000 50.000  10.00 20000.00   9   9\n"

TEST(ucx_perftest_prints_mebibytes) {
    const pto_recording_options_t options = {
        .rank = -1, .gpus_per_node = 2, .collective = PTO_COLLECTIVE_COUNT};
    pto_recording_t trace =
        must_record(UCX("tag match latency", "cuda") UCX("tag match bandwidth", "cuda"), &options);
    assert_int_equal(trace.format, PTO_RECORDING_UCX_PERFTEST);
    assert_int_equal(trace.count, 2);
    assert_int_equal(trace.skipped.on_host, 0);
    const int pair = trace.call[0].collective == PTO_COLLECTIVE_PAIR ? 0 : 1;
    assert_row(&trace, pair, PTO_COLLECTIVE_PAIR, 1048576, 50);
    assert_row(&trace, 1 - pair, PTO_COLLECTIVE_MESSAGES, 1048576, 1600); /* 32 MiB at 20,000 MiB/s */
    assert_int_equal(trace.call[1 - pair].messages, 32);
    trace = must_record("0: " UCX("tag match latency", "host"), &options);
    assert_int_equal(trace.count, 0);
    assert_int_equal(trace.skipped.on_host, 1);
    trace = must_record(UCX("put latency", "cuda") UCX("tag match latency", "cuda"), &options);
    assert_int_equal(trace.count, 1);
    assert_int_equal(trace.skipped.others, 1);
}
