/* CPU time and memory of whole commands whose work grows fast: predictions of a million GPUs, of tables of
 * byte counts and of many GPUs in a node, proofs, simulations, mappings, a trace and logs of 100 MB, and a
 * fit to collectives (its samples are in ../shared, or in the folder PORTOLAN_SHARED). Each is beside its
 * aim, which not all of them reach. Exits 1 if a command fails. */
#define _DEFAULT_SOURCE /* wait4 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

enum { WORDS_MAX = 24 };

typedef struct {
    const char *what;
    double aim_s;
    const char
        *words; /* %s: the folder of the samples; TRACE, LOG, PREFIXED: an input that is written first */
    const char *short_form; /* nodes, instead of those after --nodes; "": it has none */
} command_t;

#define SUMMIT "--machine summit-spectrum --bytes "
#define GPUS_576 "--machine tests/fixtures/gpus-576.yaml --bytes 1MiB "
#define STENCIL                                                                                              \
    "alltoallv --implementation isend_irecv --strategy three_step --counts {\"pattern\":stencil,\"dims\":"
#define ONE_A_NODE "--gpus-per-node 1 --procs-per-gpu 1 --strategy cuda_aware --library "
#define CUDA_AWARE_STENCIL                                                                                   \
    "64KiB --gpus-per-node 4 --collective alltoallv --implementation isend_irecv --strategy cuda_aware "     \
    "--counts {\"pattern\":stencil,\"dims\":"
#define SAMPLES "%s/data/summit-spectrum/"
#define TRACE "TRACE"
#define LOG "LOG"
#define PREFIXED "PREFIXED"
#define OF_LOG " --machine h200-x2 --collective allreduce --nodes 1 --gpus-per-node 2"

static const command_t commands[] = {
    {"predict alltoall, 32 nodes", 5e-3, "predict " SUMMIT "1:4096 --collective alltoall --nodes 32", "4"},
    {"predict alltoall, 174763 nodes", 5e-3, "predict " SUMMIT "1:4096 --collective alltoall --nodes 174763",
     "64"},
    {"predict allreduce, 32 nodes", 5e-3, "predict " SUMMIT "4:131072 --collective allreduce --nodes 32",
     "4"},
    {"predict allreduce, 174763 nodes", 5e-3,
     "predict " SUMMIT "4:131072 --collective allreduce --nodes 174763", "64"},
    {"predict alltoallv, random, 768 GPUs", 0.05,
     "predict " SUMMIT "1KiB --collective alltoallv --counts skew:0.5:1 --nodes 128", "4"},
    {"predict allreduce, gas_split, 576 GPUs", 0.02,
     "predict " GPUS_576 "--collective allreduce --strategy gas_split --nodes 1", "1"},
    {"predict alltoall, node_aware, 576 GPUs", 0.02,
     "predict " GPUS_576 "--collective alltoall --strategy node_aware --nodes 1", "1"},
    {"predict alltoallv, random, 576 GPUs of a node", 0.2,
     "predict " GPUS_576 "--collective alltoallv --counts skew:0.5:1 --nodes 1", "1"},
    {"predict alltoallv, stencil, 1024 GPUs", 0.1,
     "predict " SUMMIT "64KiB --gpus-per-node 4 --collective " STENCIL "[16,8,8]} --nodes 256", "256"},
    {"predict alltoallv, stencil, 4096 GPUs", 0.6,
     "predict " SUMMIT "64KiB --gpus-per-node 4 --collective " STENCIL "[16,16,16]} --nodes 1024", "1024"},
    {"predict alltoallv, random, 65532 GPUs", 60,
     "predict " SUMMIT "1KiB --collective alltoallv --counts skew:0.5:1 --procs-per-gpu 1 --limit 1000000000 "
     "--nodes 10922",
     "4"},
    {"predict allgather, mix, 576 GPUs", 2,
     "predict " GPUS_576 "--collective allgather --strategy mix --nodes 1", "1"},
    {"check alltoall of all plans, 64 nodes", 5, "check " SUMMIT "1KiB --collective alltoall --nodes 64",
     "2"},
    {"check alltoall of all plans, 256 nodes", 60, "check " SUMMIT "1KiB --collective alltoall --nodes 256",
     "3"},
    {"check allreduce of all plans, 16 nodes", 0.3, "check " SUMMIT "1MiB --collective allreduce --nodes 16",
     "2"},
    {"check allreduce of all plans, 32 nodes", 0.6, "check " SUMMIT "1MiB --collective allreduce --nodes 32",
     "2"},
    {"check allreduce of all plans, 64 nodes", 2, "check " SUMMIT "1MiB --collective allreduce --nodes 64",
     "2"},
    {"check allreduce, 6 a GPU, 64 nodes", 2,
     "check " SUMMIT "1MiB --collective allreduce --procs-per-gpu 6 --nodes 64", "2"},
    {"check allreduce, 144 GPUs in a node", 0.3,
     "check " GPUS_576 "--collective allreduce --gpus-per-node 144 --nodes 1", ""},
    {"simulate allreduce by all plans, 64 nodes", 0.5,
     "simulate " SUMMIT "1MiB --collective allreduce --nodes 64", "2"},
    {"simulate allreduce by all plans, 128 nodes", 1,
     "simulate " SUMMIT "1MiB --collective allreduce --nodes 128", "2"},
    {"simulate allreduce by all plans, 256 nodes", 3,
     "simulate " SUMMIT "1MiB --collective allreduce --nodes 256", "2"},
    {"simulate allreduce, 6 a GPU, 64 nodes", 0.5,
     "simulate " SUMMIT "1MiB --collective allreduce --procs-per-gpu 6 --nodes 64", "2"},
    {"simulate alltoall by all plans, 64 nodes", 0.1,
     "simulate " SUMMIT "1KiB --collective alltoall --procs-per-gpu 6 --nodes 64", "2"},
    {"simulate alltoall by all plans, 128 nodes", 0.3,
     "simulate " SUMMIT "1KiB --collective alltoall --procs-per-gpu 6 --nodes 128", "2"},
    {"simulate alltoall by all plans, 256 nodes", 1,
     "simulate " SUMMIT "1KiB --collective alltoall --procs-per-gpu 6 --nodes 256", "2"},
    {"simulate pairwise alltoall, 1024 ranks", 0.105, /* 10 million messages a second */
     "simulate " SUMMIT "1KiB --collective alltoall " ONE_A_NODE "pairwise --nodes 1024", "4"},
    {"simulate rabenseifner, 16384 ranks", 0.06, /* 8 million messages a second, as in the next two */
     "simulate " SUMMIT "1MiB --collective allreduce " ONE_A_NODE "rabenseifner --nodes 16384", "4"},
    {"simulate a ring allreduce, 1024 ranks", 0.26,
     "simulate " SUMMIT "1MiB --collective allreduce " ONE_A_NODE "ring --nodes 1024", "4"},
    {"simulate where injection binds, 1024 ranks", 0.13,
     "simulate " SUMMIT
     "1MiB --collective alltoall --gpus-per-node 4 --strategy cuda_aware --library pairwise --nodes 256",
     "2"},
    {"simulate unequal counts, 1024 ranks", 0.26, /* 4 million */
     "simulate " SUMMIT "1KiB --collective alltoallv --counts skew:0.5:1 " ONE_A_NODE "pairwise --nodes 1024",
     "4"},
    {"simulate recursive doubling, 1 M ranks", 7, /* 3 million; 256 bytes a rank */
     "simulate " SUMMIT "1KiB --collective allreduce " ONE_A_NODE "recursive_doubling --nodes 1048576", "4"},
    {"step llm-training, simulated", 3, "step llm-training --simulate", ""},
    {"step llm-training, 6 processes, simulated", 3, "step llm-training --procs-per-gpu 6 --simulate", ""},
    {"map a stencil of 64, three_step", 0.05,
     "map " SUMMIT "64KiB --gpus-per-node 4 --collective " STENCIL "[4,4,4]} --nodes 16", "16"},
    {"map a stencil of 512, three_step", 0.3,
     "map " SUMMIT "64KiB --gpus-per-node 4 --collective " STENCIL "[8,8,8]} --nodes 128", "128"},
    {"map a stencil of 512, cuda_aware", 0.3, "map " SUMMIT CUDA_AWARE_STENCIL "[8,8,8]} --nodes 128", "128"},
    {"map a stencil of 4096, cuda_aware", 2, "map " SUMMIT CUDA_AWARE_STENCIL "[16,16,16]} --nodes 1024",
     "1024"},
    {"sensitivity of a skewed alltoallv, 48 GPUs", 0.5, "sensitivity alltoallv-skewed-summit", ""},
    {"sensitivity of an allreduce, 16 sizes", 0.2, "sensitivity allreduce-summit", ""},
    {"report of a workload", 0.6, "report llm-training --out /dev/null --force", ""},
    {"replay a Kineto trace of 100 MB", 0.5, "replay " TRACE " --machine h200-x4", ""},
    {"replay a log of 100 MB", 1, "replay " LOG OF_LOG, ""},
    {"the same with mpirun's tags and times", 1.2, "replay " PREFIXED OF_LOG, ""},
    {"fit to Summit's collectives", 1,
     "fit " SAMPLES "samples.csv --node cores=40 --name s --out /dev/null --force --collectives " SAMPLES
     "collectives.csv",
     ""},
};

static char input_path[] = "/tmp/portolan-bench-XXXXXX";

/* As a profiler's, where one event in 100 is a collective. */
static void write_trace(FILE *file) {
    enum { EVENTS = 500000 };
    fputs("{\"distributedInfo\": {\"rank\": 0, \"world_size\": 4}, \"traceEvents\": [\n", file);
    for (int i = 0; i < EVENTS; i++) {
        const char *what = i % 100 ? "\"External id\": 7, \"Input Dims\": [[4096, 4096], [4096, 1]]"
                                   : "\"Collective name\": \"allreduce\", \"In msg nelems\": 4096";
        fprintf(file,
                "  {\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"void f<4>(int)\", \"pid\": 0,\n"
                "    \"ts\": %d, \"dur\": 12,\n    \"args\": {\n      %s, \"dtype\": \"Float\",\n"
                "      \"Group size\": 4\n    }\n  },\n",
                i, what);
    }
    fputs("  {}]}\n", file);
}

/* What nccl-tests print, with another time stamp before each line. */
static void write_log(FILE *file, bool is_prefixed) {
    enum { ROWS = 850000 };
    for (int i = 0; i < ROWS; i++) {
        if (is_prefixed)
            fprintf(file, "Sat Nov 28 %02d:%02d:%02d 2026[1,0]<stdout>:", i / 3600 % 24, i / 60 % 60, i % 60);
        if (i == 0)
            fputs("#  size  count  type  redop  root  time  algbw  busbw #wrong  time  algbw  busbw #wrong\n",
                  file);
        else
            fprintf(
                file,
                "%12d %13d     float     sum      -1 %8.2f    0.09    0.09      0 %8.2f    0.09    0.09      "
                "0\n",
                1024 << i % 8, 256 << i % 8, 11 + i % 90 * 0.01, 10.9);
    }
}

/* NULL: the command reads none. */
static const char *input_of(const command_t *command) {
    static const char *const inputs[] = {TRACE, LOG, PREFIXED};
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
        if (strstr(command->words, inputs[i]))
            return inputs[i];
    return NULL;
}

static void write_input(const char *input) {
    static int descriptor = -1;
    if (descriptor < 0)
        descriptor = mkstemp(input_path);
    FILE *file = fopen(input_path, "w");
    if (!file)
        return; /* measure fails */
    if (strcmp(input, TRACE) == 0)
        write_trace(file);
    else
        write_log(file, strcmp(input, PREFIXED) == 0);
    fclose(file);
}

static void run_child(const char *program, const command_t *command, const char *folder) {
    char text[4096], *argument[WORDS_MAX + 1] = {NULL}, *rest = text;
    char name[] = "portolan";
    const char *input = input_of(command);
    int count = 0;
    snprintf(text, sizeof text, command->words, folder, folder);
    argument[count++] = name;
    for (char *word; count < WORDS_MAX && (word = strtok_r(rest, " ", &rest)) != NULL;) {
        bool nodes = strcmp(argument[count - 1], "--nodes") == 0 && bench_is_short();
        argument[count++] = nodes                               ? strdup(command->short_form)
                            : input && strcmp(word, input) == 0 ? input_path
                                                                : word;
    }
    if (!freopen("/dev/null", "w", stdout))
        _exit(127);
    execv(program, argument);
    _exit(127);
}

static bool measure(const char *program, const command_t *command, const char *folder) {
    int status;
    struct rusage usage;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        run_child(program, command, folder);
    if (child < 0 || wait4(child, &status, 0, &usage) < 0 || status != 0) {
        fprintf(stderr, "bench_commands: %s failed\n", command->what);
        return false;
    }
    double seconds = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                     1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    printf("%-42s %8.3f s (aim %5.3f), %4.0f MiB\n", command->what, seconds, command->aim_s,
           (double)usage.ru_maxrss / 1024);
    return true;
}

int main(void) {
    const char *program = getenv("PORTOLAN"), *shared = getenv("PORTOLAN_SHARED");
    const char *folder = shared ? shared : "../shared";
    bool right = true;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        char path[4096];
        bool no_short_form = bench_is_short() && commands[i].short_form[0] == 0;
        bool reads_samples = strchr(commands[i].words, '%') != NULL;
        snprintf(path, sizeof path, SAMPLES "samples.csv", folder);
        if (no_short_form || (reads_samples && access(path, R_OK) != 0)) {
            printf("%-42s left out: no %s\n", commands[i].what, no_short_form ? "short form" : path);
            continue;
        }
        if (input_of(&commands[i]))
            write_input(input_of(&commands[i]));
        right = measure(program ? program : "build/portolan", &commands[i], folder) && right;
    }
    unlink(input_path);
    return right ? 0 : 1;
}
