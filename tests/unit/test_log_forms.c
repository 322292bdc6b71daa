/* Outputs of benchmarks in the forms of many launchers, releases and options, each with the calls that it
 * holds. */
#include "prefixed.h"
#include "recorded_text.h"
#include "test.h"

enum { ROWS_MAX = 3 };

typedef struct {
    pto_collective_t collective;
    int64_t bytes;
    double us; /* 0: no more rows */
} row_t;

typedef struct {
    const char *name, *text;
    row_t row[ROWS_MAX];
} form_t;

/* A file that does not name its collective is asked for that of its first row. */
static pto_status_t parse(const form_t *form, pto_recording_t *trace, pto_error_t *err) {
    pto_recording_options_t options = {
        .rank = -1, .nodes = 1, .gpus_per_node = 2, .as_gpu = true, .collective = PTO_COLLECTIVE_COUNT};
    pto_status_t status = read_recorded_text(form->text, strlen(form->text), &options, trace, err);
    options.collective = form->row[0].collective;
    return status == PTO_ERR_KEY ? read_recorded_text(form->text, strlen(form->text), &options, trace, err)
                                 : status;
}

static bool is_row(const pto_recording_call_t *call, const row_t *row) {
    return call->collective == row->collective && call->bytes == row->bytes && call->times == 1 &&
           fabs(call->measured_s - 1e-6 * row->us) < 1e-12;
}

/* Whether its calls are those of the rows; prints what differs. */
static bool is_read(const form_t *form) {
    pto_recording_t trace;
    pto_error_t err = {0};
    int rows = 0;
    if (parse(form, &trace, &err) != PTO_OK) {
        print_error("%s: %d: %s\n", form->name, err.line, err.message);
        return false;
    }
    while (rows < ROWS_MAX && form->row[rows].us > 0)
        rows++;
    bool same = trace.count == rows;
    for (int i = 0; i < trace.count && same; i++)
        same = is_row(&trace.call[i], &form->row[i]);
    for (int i = 0; i < trace.count && !same; i++)
        print_error("%s: %s of %lld bytes in %g us\n", form->name,
                    pto_collective_name(trace.call[i].collective), (long long)trace.call[i].bytes,
                    1e6 * trace.call[i].measured_s);
    if (!same)
        print_error("%s: %d kinds of calls, not these %d\n", form->name, trace.count, rows);
    pto_recording_fini(&trace);
    return same;
}

static void assert_all_read(const form_t *form, size_t count) {
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++)
        wrong += !is_read(&form[i]);
    assert_int_equal(wrong, 0);
}

#define ASSERT_FORMS(forms) assert_all_read(forms, sizeof(forms) / sizeof *(forms))

#define ALLREDUCE(bytes, us)                                                                                 \
    { PTO_COLLECTIVE_ALLREDUCE, bytes, us }
#define PAIR(bytes, us)                                                                                      \
    { PTO_COLLECTIVE_PAIR, bytes, us }

/* --- OSU ------------------------------------------------------------------------------------------------ */

TEST(osu_is_read_with_any_options) {
    static const form_t forms[] = {
        {"7.4, full statistics",
         "# OSU MPI-CUDA Allreduce Latency Test v7.4\n# Datatype: MPI_CHAR.\n"
         "# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations\n"
         "1024                   11.00             10.50             11.60        1000\n",
         {ALLREDUCE(1024, 11)}},
        {"7.4, percentiles",
         "# OSU MPI-CUDA Allreduce Latency Test v7.4\n# Datatype: MPI_INT.\n"
         "# Size       Avg Latency(us)   P50 Tail Lat(us)  P90 Tail Lat(us)  P99 Tail Lat(us)\n"
         "1024                   11.00             10.90             11.60             14.00\n",
         {ALLREDUCE(1024, 11)}},
        {"7.4, full statistics, percentiles and validation",
         "# OSU MPI-CUDA Allreduce Latency Test v7.4\n# Datatype: MPI_FLOAT.\n"
         "# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations   P50 Tail Lat(us)  "
         "P90 Tail Lat(us)  P99 Tail Lat(us)        Validation\n"
         "1024  11.00  10.50  11.60  1000  10.90  11.60  14.00  Pass\n",
         {ALLREDUCE(1024, 11)}},
        {"5.9, full statistics",
         "\n# OSU MPI-CUDA Allreduce Latency Test v5.9\n"
         "# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations\n"
         "1024                   11.00             10.50             11.60        1000\n",
         {ALLREDUCE(1024, 11)}},
        {"3.8, latency in another case",
         "# OSU MPI-CUDA Latency Test v5.6.2\n# Send Buffer on DEVICE (D) and Receive Buffer on DEVICE (D)\n"
         "# Size          Latency (us)\n8                       2.50\n",
         {PAIR(8, 2.5)}},
        {"pt2pt, validation",
         "# OSU MPI-CUDA Latency Test v7.4\n# Datatype: MPI_CHAR.\n# Size       Avg Latency(us)        "
         "Validation\n8                       2.50              Pass\n",
         {PAIR(8, 2.5)}},
        {"pt2pt, persistent, ROCm",
         "# OSU MPI-ROCM Latency Persistent Test v7.4\n# Datatype: MPI_CHAR.\n# Size       Avg Latency(us)\n"
         "8                       2.50\n",
         {PAIR(8, 2.5)}},
        {"non-blocking, full statistics",
         "# OSU MPI-CUDA Non-blocking Allreduce Latency Test v7.4\n# Datatype: MPI_INT.\n"
         "# Overall = Coll. Init + Compute + MPI_Test + MPI_Wait\n\n"
         "# Size           Overall(us)       Compute(us)    Coll. Init(us)      MPI_Test(us)      "
         "MPI_Wait(us)    Pure Comm.(us)   Min Comm.(us)   Max Comm.(us)        Overlap(%)\n"
         "1024  42.00  20.00  1.00  0.00  20.00  21.00  20.50  21.60  4.76\n",
         {ALLREDUCE(1024, 21)}},
        {"non-blocking, validation",
         "# OSU MPI-CUDA Non-blocking Allreduce Latency Test v7.4\n"
         "# Size           Overall(us)       Compute(us)    Pure Comm.(us)        Overlap(%)        "
         "Validation\n"
         "1024                   42.00             20.00             21.00              4.76             "
         "Pass\n",
         {ALLREDUCE(1024, 21)}},
        {"persistent",
         "# OSU MPI-CUDA Allreduce Persistent Latency Test v7.4\n# Datatype: MPI_INT.\n"
         "# Size       Avg Latency(us)\n1024                   11.00\n",
         {ALLREDUCE(1024, 11)}},
        {"to-all, of a block",
         "# OSU MPI-CUDA All-to-All Personalized Exchange Latency Test v7.4\n# Datatype: MPI_CHAR.\n"
         "# Size       Avg Latency(us)\n1024                   11.00\n",
         {{PTO_COLLECTIVE_ALLTOALL, 1024, 11}}},
        {"Windows line ends, a table of Markdown",
         "# OSU MPI-CUDA Allreduce Latency Test v7.4\r\n| # Size | Avg Latency(us) |\r\n"
         "| --- | --- |\r\n| 1024 | 11.00 |\r\n",
         {ALLREDUCE(1024, 11)}},
        {"semicolons",
         "# OSU MPI-CUDA Allreduce Latency Test v7.4\n# Size;Avg Latency(us)\n1024;11.00\n",
         {ALLREDUCE(1024, 11)}},
        {"sizes in KiB and MiB, of units that are clear",
         "# OSU MPI-CUDA Allreduce Latency Test v7.4\n# Size       Avg Latency(us)\n"
         "512   10.00\n1K   11.00\n2MB   17.00\n4M   18.00\n",
         {ALLREDUCE(512, 10), ALLREDUCE(1024, 11), ALLREDUCE(4194304, 18)}},
        {"OSU's NCCL benchmarks",
         "# OSU NCCL-CUDA Allreduce Latency Test v7.4\n# Size       Avg Latency(us)\n1024   11.00\n",
         {ALLREDUCE(1024, 11)}},
        {"XCCL",
         "# OSU XCCL Allreduce Latency Test v7.4\n# Size       Avg Latency(us)\n1024   11.00\n",
         {ALLREDUCE(1024, 11)}},
        {"a broken row of a job that was cancelled",
         "# OSU MPI-CUDA Allreduce Latency Test v7.4\n# Size       Avg Latency(us)\n1024   11.00\n2048  "
         "slurmstepd: "
         "error: *** STEP 1.0 ON n1 CANCELLED AT 2026-11-28T10:00:00 DUE TO TIME LIMIT ***\n",
         {ALLREDUCE(1024, 11)}},
    };
    ASSERT_FORMS(forms);
}

/* --- nccl-tests and rccl-tests -------------------------------------------------------------------------- */

#define HEAD                                                                                                 \
    "# nThread 1 nGpus 2 minBytes 1024 maxBytes 1024 step: 2(factor) warmup iters: 5 iters: 20 agg iters: "  \
    "1 validation: 1 graph: 0\n#\n# Using devices\n"                                                         \
    "#  Rank  0 Group  0 Pid     71 on    node-a device  0 [0x0a] NVIDIA H200\n"                             \
    "#  Rank  1 Group  0 Pid     71 on    node-a device  1 [0x0b] NVIDIA H200\n#\n"
#define COLUMNS                                                                                              \
    "#                                                              out-of-place                       "     \
    "in-place\n"                                                                                             \
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   "       \
    "algbw   busbw #wrong\n"                                                                                 \
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  "        \
    "(GB/s)  (GB/s)       \n"
#define ROW(size, count, type, op, us)                                                                       \
    "        " size "           " count "     " type "     " op "      -1    " us                            \
    "    0.09    0.09      0    10.90    0.09    0.09      0\n"
#define TAIL "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 0.09\n#\n"

TEST(nccl_tests_are_read_with_any_options) {
    static const form_t forms[] = {
        {"-o all: a row of each operation",
         HEAD COLUMNS ROW("1024", "256", "float", "sum", "11.00") ROW("2048", "512", "float", "prod", "12.00")
             TAIL,
         {ALLREDUCE(1024, 11), ALLREDUCE(2048, 12)}},
        {"sizes in KiB",
         HEAD COLUMNS ROW("1K", "256", "float", "sum", "11.00") ROW("2KiB", "512", "float", "sum", "12.00")
             TAIL,
         {ALLREDUCE(1024, 11), ALLREDUCE(2048, 12)}},
        {"-d all: of each type",
         HEAD COLUMNS ROW("1024", "1024", "int8", "sum", "11.00") ROW(
             "2048", "512", "bfloat16", "sum", "12.00") ROW("4096", "512", "fp8_e4m3", "sum", "13.00") TAIL,
         {ALLREDUCE(1024, 11), ALLREDUCE(2048, 12), ALLREDUCE(4096, 13)}},
        {"2.13 and later, with the name of the test",
         "# nccl-tests version 2.13.10 nccl-headers=22203 nccl-library=22203\n# Collective test starting: "
         "all_reduce_perf\n" HEAD COLUMNS ROW("1024", "256", "float", "sum", "11.00") TAIL
         "# Collective test concluded: all_reduce_perf\n",
         {ALLREDUCE(1024, 11)}},
        {"-c 0: N/A for the number of errors",
         HEAD COLUMNS
         "        1024           256     float     sum      -1    11.00    0.09    0.09    N/A    "
         "10.90    0.09    0.09    N/A\n" TAIL,
         {ALLREDUCE(1024, 11)}},
        {"before 2.8: error in its own form",
         "# nThread 1 nGpus 2 minBytes 1024 maxBytes 1024 step: 2(factor) warmup iters: 5 iters: 20 "
         "validation: 1 \n#\n# Using devices\n"
         "#   Rank  0 Pid     71 on     node-a device  0 [0x0a] Tesla V100\n"
         "#   Rank  1 Pid     71 on     node-a device  1 [0x0b] Tesla V100\n#\n"
         "#                                                     out-of-place                       in-place\n"
         "#       size         count    type   redop     time   algbw   busbw  error     time   algbw   "
         "busbw "
         " error\n"
         "#        (B)    (elements)                     (us)  (GB/s)  (GB/s)            (us)  (GB/s)  "
         "(GB/s)\n"
         "        1024           256   float     sum    11.00    0.09    0.09  2e-07    10.90    0.09    "
         "0.09  "
         "2e-07\n",
         {ALLREDUCE(1024, 11)}},
        {"rccl-tests",
         "# Collective test starting: all_reduce_perf\n# nThread 1 nGpus 2 minBytes 1024 maxBytes 1024 step: "
         "2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0\n#\n"
         "rccl-tests: Version develop:1a2b3c4\n# Using devices\n"
         "#   Rank  0 Pid  71 on node-a device  0 [0000:0c:00.0] AMD Instinct MI300X\n"
         "#   Rank  1 Pid  71 on node-a device  1 [0000:22:00.0] AMD Instinct MI300X\n#\n" COLUMNS
         "        1024           256     float     sum      -1    11.00    0.09    0.09      0    10.90    "
         "0.09 "
         "   0.09      0\n# Errors with asterisks indicate errors that have exceeded the maximum threshold.\n"
         "# Out of bounds values : 0 OK\n",
         {ALLREDUCE(1024, 11)}},
        {"large times in short form",
         HEAD COLUMNS "  8589934592    2147483648     float     sum      -1    34871  246.34  246.34      0  "
                      "  34861  246.41  "
                      "246.41      0\n",
         {ALLREDUCE(8589934592, 34871)}},
        {"errors that were found",
         HEAD COLUMNS
         "        1024           256     float     sum      -1    11.00    0.09    0.09      5    "
         "10.90    0.09    0.09     *5\n# Out of bounds values : 10 FAILED\n",
         {ALLREDUCE(1024, 11)}},
        {"the time stamps of each row",
         HEAD
         "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   "
         "algbw   busbw #wrong              timestamp\n"
         "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  "
         "(GB/s)  (GB/s)         YYYY-MM-DD hh:mm:ss\n"
         "        1024           256     float     sum      -1    11.00    0.09    0.09      0    10.90    "
         "0.09    0.09      0  2026-11-28 10:00:00\n",
         {ALLREDUCE(1024, 11)}},
        {"a warning behind the heading, and a heading behind a debug line",
         HEAD "node-a:71:80 [1] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/IPC" COLUMNS ROW(
             "1024", "256", "float", "sum",
             "11.00") "node-a:71:80 [0] NCCL INFO comm 0x1 destroyed" COLUMNS ROW("2048", "512", "float",
                                                                                  "sum", "12.00"),
         {ALLREDUCE(1024, 11), ALLREDUCE(2048, 12)}},
        {"the first line behind a debug line, with a label",
         "0: node-a:71:80 [1] NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>#       size         count      "
         "type   "
         "redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
         "0: " ROW("1024", "256", "float", "sum", "11.00") "0: " ROW("2048", "512", "float", "sum", "12.00"),
         {ALLREDUCE(1024, 11), ALLREDUCE(2048, 12)}},
        {"JSON, of several runs in an array",
         "[\n  "
         "{\"version\":3,\"config\":{\"devices\":[{\"rank\":0,\"hostname\":\"a\"},{\"rank\":1,\"hostname\":"
         "\"a\"}]},\"results\":[{\"size\":1024,\"out_of_place\":{\"time\":11.0},\"experiment_name\":"
         "\"AllReduce\"}]},\n  "
         "{\"version\":3,\"config\":{\"devices\":[{\"rank\":0,\"hostname\":\"a\"},{\"rank\":1,"
         "\"hostname\":\"a\"}]},\"results\":[{\"size\":2048,\"out_of_place\":{\"time\":12.0},"
         "\"experiment_name\":\"AllReduce\"}]}\n]\n",
         {ALLREDUCE(1024, 11), ALLREDUCE(2048, 12)}},
        {"JSON, of calls in place alone",
         "{\"config\":{\"devices\":[{\"rank\":0,\"hostname\":\"a\"},{\"rank\":1,\"hostname\":\"a\"}]},"
         "\"results\":"
         "[{\"size\":1024,\"out_of_place\":null,\"in_place\":{\"time\":11.0},\"experiment_name\":"
         "\"AllReduce\"}]}",
         {ALLREDUCE(1024, 11)}},
    };
    ASSERT_FORMS(forms);
}

/* --- launchers ------------------------------------------------------------------------------------------ */

TEST(prefixes_of_launchers_are_taken_off) {
    static const char *const prefixes[] = {
        "0: ",                                   /* srun --label, jsrun */
        " 0: ",                                  /* of 10 and more processes */
        "[1,0]<stdout>:",                        /* mpirun --tag-output of Open MPI 4 */
        "[1,0]<stdout>: ",                       /* 5 */
        "[prterun-node1-4711@1,0]<stdout>: ",    /* PRRTE */
        "Sat Nov 28 05:05:% 2026<stdout>:",      /* --timestamp-output */
        "Sat Nov 28 05:05:% 2026[1,0]<stdout>:", /* both */
        "[0] ",                                  /* Hydra */
        "[rank0]: ",                             /* torchrun */
        "2026-11-28T05:05:%.123456Z ",           /* kubectl logs --timestamps */
        "2026-11-28 05:05:% ",                   /* ts */
        "[2026-11-28 05:05:%] ",                 /* the same in brackets */
        "05:05:%.001 ",                          /* */
        "[pod/nccl-worker-0/main] ",             /* kubectl logs --prefix */
        "nccl-worker-0 main ",                   /* stern */
        "worker-1  | ",                          /* docker compose */
        "[pod/nccl-worker-0/main] 2026-11-28T05:05:%Z 0: ",
        "[1,mpirank:0,algo-1]<stdout>:",         /* SageMaker */
        "(RayTrainWorker pid=47, ip=10.0.0.5) ", /* Ray */
        "\x1b[36mworker-1  |\x1b[0m ",           /* docker compose in color */
        "log.txt:%:",                            /* grep -n */
        "    ",                                  /* a block of Markdown */
        "\t",
        "> ",                                                   /* a quotation */
        "node1: ",                                              /* pdsh, clush */
        "node-b12.cluster.local: ",                             /* */
        "node1-0: ",                                            /* */
        "0:0: ",                                                /* srun of a heterogeneous job */
        "[node1:0] ",                                           /* mpiexec of LSF */
        "node1 0: ",                                            /* PALS */
        "[1,0]<stdout>node1: ",                                 /* */
        "[default0]:",                                          /* torchrun --tee */
        "[default0]: ",                                         /* */
        "Nov 28 10:00:% node1 all_reduce_perf[4711]: ",         /* journald */
        "2026-11-28T10:00:%+01:00 node1 mpirun[4711]: ",        /* rsyslog */
        "2026-11-28T10:00:%.1234567Z ",                         /* GitHub Actions */
        "[2026-11-28T10:00:%.123Z] ",                           /* Jenkins */
        "[2026-11-28, 10:00:% UTC] {subprocess.py:93} INFO - ", /* Airflow */
        "2026-11-28 10:00:%,123 - INFO - ",                     /* Python's logging */
        "INFO:root:",                                           /* */
        "I1128 10:00:%.123456 4711 bench.cc:93] ",              /* glog */
        "[1732788000.%] ",                                      /* dmesg, ts %.s */
        "[   12.%] ",                                           /* */
        "nccl-worker-0 | ",                                     /* docker compose of version 1 */
        "nccl-launcher-xk2v9 nccl-test ",                       /* stern --template */
        "stdout F ",                                            /* CRI, its time cut off */
        "2026-11-28T10:00:%.123456789Z stdout F ",              /* CRI */
        "[0]<stdout>: ",                                        /* horovodrun */
        "[1,0]<stdout>:2026-11-28 10:00:% ",                    /* */
        "job.4711.out:% ",                                      /* grep -n, cut */
        "# 0: ",                                                /* */
        "  | ",                                                 /* */
        "\xe2\x94\x82 ",                                        /* a box */
    };
    static const char *const texts[] = {
        HEAD COLUMNS ROW("1024", "256", "float", "sum", "11.00") ROW("2048", "512", "float", "sum", "12.00"),
        "# OSU MPI-CUDA Allreduce Latency Test v7.4\n# Size       Avg Latency(us)\n"
        "1024                   11.00\n2048                   12.00\n"};
    int wrong = 0;
    for (size_t i = 0; i < 2 * sizeof prefixes / sizeof *prefixes; i++) {
        char *text = prefixed(prefixes[i / 2], texts[i % 2]);
        wrong += !is_read(&(form_t){prefixes[i / 2], text, {ALLREDUCE(1024, 11), ALLREDUCE(2048, 12)}});
        free(text);
    }
    assert_int_equal(wrong, 0);
}

/* --- IMB and what prints its tables --------------------------------------------------------------------- */

#define IMB(name)                                                                                            \
    "#----------------------------------------------------------------\n# Benchmarking " name                \
    " \n# #processes = 2 \n#----------------------------------------------------------------\n"

TEST(imb_is_read_with_any_options) {
    static const form_t forms[] = {
        {"IMB-MPI1",
         "#----------------------------------------------------------------\n#    Intel(R) MPI Benchmarks "
         "2021.7, "
         "MPI-1 part\n" IMB(
             "Allreduce") "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n"
                          "            0         1000         0.03         0.04         0.03\n"
                          "         1024         1000        10.50        11.60        11.00\n",
         {ALLREDUCE(1024, 11)}},
        {"idle processes, and defects counted by -data_check",
         "# Benchmarking Allreduce \n# #processes = 2 \n# ( 2 additional processes waiting in MPI_Barrier)\n"
         "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]      defects\n"
         "         1024         1000        10.50        11.60        11.00         0.00\n",
         {ALLREDUCE(1024, 11)}},
        {"sizes in KiB",
         "# Benchmarking Allreduce \n# #processes = 2 \n"
         "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n"
         "           1K         1000        10.50        11.60        11.00\n",
         {ALLREDUCE(1024, 11)}},
        {"IMB-NBC",
         "#    Intel(R) MPI Benchmarks 2021.7, MPI-NBC part\n" IMB(
             "Iallreduce") "       #bytes #repetitions t_ovrl[usec] t_pure[usec]  t_CPU[usec]   overlap[%]\n"
                           "         1024         1000        42.00        21.00        20.00         4.76\n",
         {ALLREDUCE(1024, 21)}},
        {"IMB-NBC, pure",
         "#    Intel(R) MPI Benchmarks 2021.7, MPI-NBC part\n" IMB(
             "Iallreduce_pure") "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n"
                                "         1024         1000        10.50        11.60        11.00\n",
         {ALLREDUCE(1024, 11)}},
        {"IMB-RMA besides IMB-MPI1",
         IMB("Unidir_put") "       #bytes #repetitions      t[usec]   Mbytes/sec\n"
                           "         1024         1000         5.00       200.00\n" IMB(
                               "PingPong") "       #bytes #repetitions      t[usec]   Mbytes/sec\n"
                                           "         1024         1000         2.50       400.00\n",
         {PAIR(1024, 2.5)}},
        {"oneCCL's benchmark",
         "options:\n  processes:      2\n  backend:        host\n\n"
         "#------------------------------------------------------------\n# Benchmarking: allreduce \n"
         "# #processes: 2\n#------------------------------------------------------------\n\n"
         "        #bytes  #repetitions   t_min[usec]   t_max[usec]   t_avg[usec]  stddev[%]\n"
         "          1024            16         10.50         11.60         11.00       0.59\n\n"
         "# All done\n",
         {ALLREDUCE(1024, 11)}},
        {"oneCCL's benchmark with counts of elements",
         "# Benchmarking: allreduce \n# #processes: 2\n\n"
         "        #bytes  #elem_count  #repetitions   t_min[usec]   t_max[usec]   t_avg[usec]  stddev[%]\n"
         "          1024          256            16         10.50         11.60         11.00       0.59\n",
         {ALLREDUCE(1024, 11)}},
    };
    ASSERT_FORMS(forms);
}

/* --- ucc_perftest and ucx_perftest ---------------------------------------------------------------------- */

TEST(ucc_and_ucx_are_read_with_any_options) {
    static const form_t forms[] = {
        {"ucc_perftest -F: full statistics",
         "Collective:             Allreduce\nMemory type:            cuda\nDatatype:               float32\n"
         "Reduction:              sum\nInplace:                0\nWarmup:\n  small                   100\n"
         "Iterations:\n  small                   1000\n\n"
         "       Count        Size                Time, us                           Bandwidth, GB/s\n"
         "                                 avg         min         max         avg         max         min\n"
         "         256        1024       11.00       10.50       11.60        0.09        0.10        0.09\n",
         {ALLREDUCE(1024, 11)}},
        {"sizes in KiB",
         "Collective:             Allreduce\nMemory type:            cuda\n"
         "       Count        Size                Time, us\n"
         "                                 avg         min         max\n"
         "         256          1K       11.00       10.50       11.60\n",
         {ALLREDUCE(1024, 11)}},
        {"without bandwidth",
         "Collective:             Allreduce\nMemory type:            cuda\n"
         "       Count        Size                Time, us\n"
         "                                 avg         min         max\n"
         "         256        1024       11.00       10.50       11.60\n",
         {ALLREDUCE(1024, 11)}},
        {"ucx_perftest",
         "+------------------------------------------------------------------------------------------+\n"
         "| API:          protocol layer                                                             |\n"
         "| Test:         tag match latency                                                          |\n"
         "| Data layout:  (automatic)                                                                |\n"
         "| Send memory:  cuda                                                                       |\n"
         "| Recv memory:  cuda                                                                       |\n"
         "| Message size: 1024                                                                       |\n"
         "| Window size:  32                                                                         |\n"
         "+--------------+--------------+------------------------------+---------------------+------+\n"
         "[thread 0]             90000      5.000     5.500     5.500      177.5     177.5   180000  180000\n"
         "Final:                100000      2.400     2.500     2.500      390.60     390.60    400000     "
         "400000\n",
         {PAIR(1024, 2.5)}},
    };
    ASSERT_FORMS(forms);
}
