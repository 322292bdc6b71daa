/* What simulating costs: a pairwise and a linear alltoall of 1 KiB among 4,096 ranks (16.8 million messages),
 * with one and with four ranks a node, and the pairwise one of 512 ranks beside SimGrid's SMPI where that is
 * installed. Each runs in a process of its own, for its peak memory; the times depend on the machine that ran
 * them, ratios within one run count. */
#define _DEFAULT_SOURCE /* wait4 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "machine/machine_internal.h"
#include "portolan/simulate.h"
#include "portolan/strategy.h"

enum { BYTES = 1024 };

/* What one process took, and the time that it predicted. */
typedef struct {
    double wall_s;
    double peak_mib;
    double predicted_s;
    long long messages;
} run_t;

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void fail(const char *what) {
    fprintf(stderr, "bench_simulate: %s\n", what);
    exit(1);
}

/* Run `body` in a process whose standard output is read: predicted seconds, then perhaps the messages. */
static run_t run_process(void (*body)(const void *), const void *context) {
    int channel[2];
    run_t run = {0};
    fflush(stdout);
    if (pipe(channel) != 0)
        fail("no pipe");
    double start_s = now_s();
    pid_t child = fork();
    if (child == 0) {
        dup2(channel[1], STDOUT_FILENO);
        close(channel[0]);
        body(context);
        fflush(stdout);
        _exit(0);
    }
    close(channel[1]);
    FILE *stream = fdopen(channel[0], "r");
    int status;
    struct rusage usage;
    if (child < 0 || !stream || fscanf(stream, "%lf %lld", &run.predicted_s, &run.messages) < 1)
        fail("a process said nothing");
    fclose(stream);
    if (wait4(child, &status, 0, &usage) < 0 || status != 0)
        fail("a process failed");
    run.wall_s = now_s() - start_s;
    run.peak_mib = (double)usage.ru_maxrss / 1024;
    return run;
}

/* --- ours ---------------------------------------------------------------------------------------------- */

typedef struct {
    const pto_machine_t *machine;
    const char *algorithm;
    int64_t nodes;
    int64_t gpus;
} ask_t;

static void simulate(const void *context) {
    const ask_t *ask = context;
    pto_request_t request = {.layout = {ask->nodes, ask->gpus, 1, 1, 3},
                             .collective = PTO_COLLECTIVE_ALLTOALL,
                             .datatype = PTO_DATATYPE_FLOAT,
                             .bytes = BYTES,
                             .by_library = true};
    pto_plan_t *plan;
    pto_simulation_t simulation;
    pto_error_t err;
    if (pto_strategy_find("cuda_aware", &request.strategy, &err) != PTO_OK ||
        pto_algorithm_find(ask->algorithm, request.collective, &request.algorithm, &err) != PTO_OK ||
        pto_plan_create(&request, &plan, &err) != PTO_OK ||
        pto_simulate(plan, ask->machine, NULL, &simulation, &err) != PTO_OK)
        fail(err.message);
    printf("%.17g %lld\n", simulation.seconds, (long long)simulation.messages);
    pto_plan_destroy(plan);
}

static run_t bench_ours(const pto_machine_t *machine, const char *algorithm, int64_t nodes, int64_t gpus) {
    ask_t ask = {machine, algorithm, nodes, gpus};
    run_t run = run_process(simulate, &ask);
    long long ranks = (long long)(nodes * gpus);
    if (run.messages != ranks * (ranks - 1) || !(run.predicted_s > 0))
        fail("an alltoall did not send a message from each rank to each other");
    printf("%-9s %5lld x %lld ranks  %6.2f s  %6.1f MiB  %9lld messages, %4.0f ns each; predicts %.1f us\n",
           algorithm, (long long)nodes, (long long)gpus, run.wall_s, run.peak_mib, run.messages,
           1e9 * run.wall_s / (double)run.messages, 1e6 * run.predicted_s);
    return run;
}

/* --- SMPI ---------------------------------------------------------------------------------------------- */

typedef struct {
    const char *program;
    int64_t ranks;
    char platform[64];
    char hosts[64];
} smpi_t;

/* A cluster whose two links a path add up to our alpha and run at our 1/beta. */
static void write_platform(const smpi_t *smpi, const pto_postal_t *postal) {
    FILE *platform = fopen(smpi->platform, "w");
    FILE *hosts = fopen(smpi->hosts, "w");
    if (!platform || !hosts)
        fail("cannot write SMPI's platform");
    fprintf(platform,
            "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
            "<platform version=\"4.1\">\n  <cluster id=\"c\" prefix=\"n\" suffix=\"\" radical=\"0-%lld\" "
            "speed=\"1Gf\" bw=\"%.9gBps\" lat=\"%.9gs\"/>\n</platform>\n",
            (long long)smpi->ranks - 1, 1 / postal->beta_s_per_byte.value, postal->alpha_s.value / 2);
    for (int64_t rank = 0; rank < smpi->ranks; rank++)
        fprintf(hosts, "n%lld\n", (long long)rank);
    if (fclose(platform) != 0 || fclose(hosts) != 0)
        fail("cannot write SMPI's platform");
}

/* SMPI's own factors on latency and bandwidth are set to 1: only the engines are to be compared. */
static void run_smpi(const void *context) {
    const smpi_t *smpi = context;
    char ranks[32], bytes[32];
    snprintf(ranks, sizeof ranks, "%lld", (long long)smpi->ranks);
    snprintf(bytes, sizeof bytes, "%d", BYTES);
    execlp("smpirun", "smpirun", "-np", ranks, "-platform", smpi->platform, "-hostfile", smpi->hosts,
           "--cfg=smpi/simulate-computation:no", "--cfg=smpi/lat-factor:0:1", "--cfg=smpi/bw-factor:0:1",
           "--log=root.thresh:error", smpi->program, bytes, (char *)NULL);
    _exit(127);
}

static void bench_smpi(const pto_machine_t *machine, const char *program) {
    smpi_t smpi = {.program = program, .ranks = 512};
    run_t ours = bench_ours(machine, "pairwise", smpi.ranks, 1);
    if (!program || !*program) {
        printf("SMPI      not installed (Debian's libsimgrid-dev), so not compared\n");
        return;
    }
    snprintf(smpi.platform, sizeof smpi.platform, "/tmp/portolan-smpi-%ld.xml", (long)getpid());
    snprintf(smpi.hosts, sizeof smpi.hosts, "/tmp/portolan-smpi-%ld.hosts", (long)getpid());
    write_platform(&smpi, &pto_machine_message(machine, PTO_SPACE_GPU, PTO_LEVEL_OFF_NODE, BYTES)->postal);
    run_t theirs = run_process(run_smpi, &smpi);
    remove(smpi.platform);
    remove(smpi.hosts);
    printf("SMPI      %5lld x 1 ranks  %6.2f s  %6.1f MiB  predicts %.1f us\n", (long long)smpi.ranks,
           theirs.wall_s, theirs.peak_mib, 1e6 * theirs.predicted_s);
    printf(
        "SMPI / ours: %.1f times the time, %.1f times the memory; the predictions differ by %.1f percent\n",
        theirs.wall_s / ours.wall_s, theirs.peak_mib / ours.peak_mib,
        100 * (theirs.predicted_s / ours.predicted_s - 1));
}

int main(void) {
    pto_machine_t machine;
    pto_error_t err;
    if (pto_machine_read("scenarios/machines/summit-spectrum.yaml", &machine, &err) != PTO_OK)
        fail(err.message);
    printf("# simulating an alltoall of %d bytes, one core\n", BYTES);
    int64_t ranks = bench_is_short() ? 64 : 4096;
    const char *const algorithm[] = {"pairwise", "linear"};
    for (size_t i = 0; i < sizeof algorithm / sizeof *algorithm; i++) {
        bench_ours(&machine, algorithm[i], ranks, 1);
        bench_ours(&machine, algorithm[i], ranks / 4, 4);
    }
    if (!bench_is_short())
        bench_smpi(&machine, getenv("SMPI_ALLTOALL"));
    pto_machine_fini(&machine);
    return 0;
}
