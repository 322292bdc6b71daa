/* What simulating costs, beside its aims: collectives of 1 KiB among 1,024 ranks, and alltoalls among 4,096
 * (16.8 million messages), with one and with four ranks a node, all of which are simulated; one node that
 * stands for 20 million; the pairwise alltoall of 512 ranks beside SimGrid's SMPI; it, Bruck's and Bruck's
 * allgather beside LogGOPSim, where these are installed. Each runs in a process of its own, for its peak
 * memory, which includes what the benchmark had before; the times depend on the machine that ran them, ratios
 * within one run count. */
#define _DEFAULT_SOURCE /* wait4 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "machine/machine_internal.h"
#include "portolan/check.h"
#include "portolan/simulate.h"
#include "portolan/strategy.h"
#include "simulate/ranks.h"

enum { BYTES = 1024 };

/* A million messages a second by one core, all ranks simulated; bytes of a message in flight; times as fast
 * as LogGOPSim. */
enum { AIM_MILLIONS_PER_S = 10, AIM_MESSAGE_BYTES = 40, AIM_LOGGOPSIM = 10 };

/* What one process took, and the time that it predicted. */
typedef struct {
    double cpu_s;
    double peak_mib;
    double predicted_s;
    long long messages;
} run_t;

static double seconds_of(struct timeval time) { return (double)time.tv_sec + 1e-6 * (double)time.tv_usec; }

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
    run.cpu_s = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
    run.peak_mib = (double)usage.ru_maxrss / 1024;
    return run;
}

/* --- ours ---------------------------------------------------------------------------------------------- */

typedef struct {
    const pto_machine_t *machine;
    const char *algorithm;
    int64_t nodes;
    int64_t gpus;
    pto_collective_t collective;
    int repeats; /* one after another, of which the mean time counts */
} ask_t;

static pto_plan_t *plan_of(const ask_t *ask) {
    pto_request_t request = {.layout = {ask->nodes, ask->gpus, 1, 1, 3, false},
                             .collective = ask->collective,
                             .datatype = PTO_DATATYPE_FLOAT,
                             .bytes = BYTES,
                             .by_library = true};
    pto_plan_t *plan = NULL;
    pto_error_t err;
    if (pto_strategy_find("cuda_aware", &request.strategy, &err) != PTO_OK ||
        pto_algorithm_find(ask->algorithm, request.collective, &request.algorithm, &err) != PTO_OK ||
        pto_plan_create(&request, &plan, &err) != PTO_OK)
        fail(err.message);
    return plan;
}

static void simulate(const void *context) {
    const ask_t *ask = context;
    pto_plan_t *plan = plan_of(ask);
    pto_simulation_t simulation = {0};
    pto_error_t err;
    for (int i = 0; i < ask->repeats; i++)
        if (pto_simulate(plan, ask->machine, NULL, &simulation, &err) != PTO_OK)
            fail(err.message);
    printf("%.17g %lld\n", simulation.seconds, (long long)simulation.messages);
    pto_plan_destroy(plan);
}

/* How many messages a process sends. */
static long long rounds_of(const char *algorithm, long long ranks) {
    bool halves = strcmp(algorithm, "bruck") == 0 || strcmp(algorithm, "recursive_doubling") == 0;
    long long rounds = 0;
    while ((ranks - 1) >> rounds > 0)
        rounds++;
    return halves ? rounds : ranks - 1;
}

/* The fastest of several runs. */
static run_t bench_ask(const ask_t *ask, int times) {
    long long ranks = (long long)(ask->nodes * ask->gpus);
    run_t best = {0};
    for (int i = 0; i < times; i++) {
        run_t run = run_process(simulate, ask);
        if (run.messages != ranks * rounds_of(ask->algorithm, ranks) || !(run.predicted_s > 0))
            fail("a collective did not send all its messages");
        run.cpu_s /= ask->repeats;
        if (i == 0 || run.cpu_s < best.cpu_s)
            best = run;
    }
    printf("%-18s %-14s %5lld x %lld ranks  %6.2f s  %6.1f MiB  %9lld messages, %4.0f ns each; predicts %.1f "
           "us\n",
           ask->algorithm, pto_collective_name(ask->collective), (long long)ask->nodes, (long long)ask->gpus,
           best.cpu_s, best.peak_mib, best.messages, 1e9 * best.cpu_s / (double)best.messages,
           1e6 * best.predicted_s);
    return best;
}

static run_t bench_ours(const pto_machine_t *machine, const char *algorithm, int64_t nodes, int64_t gpus) {
    ask_t ask = {machine, algorithm, nodes, gpus, PTO_COLLECTIVE_ALLTOALL, 1};
    return bench_ask(&ask, 1);
}

/* How many copies and reductions the first process makes. */
static long long local_steps_of(const ask_t *ask) {
    pto_plan_t *plan = plan_of(ask);
    pto_walk_t walk;
    long long count = 0;
    for (pto_walk_begin(&walk, plan); pto_walk_next(&walk);)
        for (int i = 0; i < walk.stage->step_count; i++) {
            const pto_step_t *step = pto_plan_step(plan, walk.stage->step_first + i);
            pto_action_t action;
            bool counts = step->kind == PTO_STEP_COPY || step->kind == PTO_STEP_REDUCE;
            count += counts && pto_step_acts(plan, step, 0, walk.k, &action);
        }
    pto_plan_destroy(plan);
    return count;
}

static void bench_rates(const pto_machine_t *machine) {
    const ask_t asks[] = {{machine, "pairwise", 1024, 1, PTO_COLLECTIVE_ALLTOALL, 1},
                          {machine, "linear", 1024, 1, PTO_COLLECTIVE_ALLTOALL, 1},
                          {machine, "ring", 1024, 1, PTO_COLLECTIVE_ALLGATHER, 1},
                          {machine, "bruck", 1024, 1, PTO_COLLECTIVE_ALLTOALL, 50},
                          {machine, "bruck", 1024, 1, PTO_COLLECTIVE_ALLGATHER, 50},
                          {machine, "recursive_doubling", 1024, 1, PTO_COLLECTIVE_ALLREDUCE, 50}};
    for (size_t i = 0; i < sizeof asks / sizeof *asks; i++) {
        ask_t ask = asks[i];
        ask.nodes = bench_is_short() ? 64 : ask.nodes;
        run_t run = bench_ask(&ask, bench_is_short() ? 1 : 5);
        double operations = (double)(run.messages + ask.nodes * local_steps_of(&ask));
        printf(
            "%-18s %6.1f million messages a second by one core; the aim is %d. With copies and reductions, "
            "%.1f million operations\n",
            "", 1e-6 * (double)run.messages / run.cpu_s, AIM_MILLIONS_PER_S, 1e-6 * operations / run.cpu_s);
    }
    printf("a message in flight takes %zu bytes; the aim is %d. A rank takes %zu, and %zu for copies\n",
           sizeof(pto_message_t), AIM_MESSAGE_BYTES, sizeof(pto_proc_t), sizeof(pto_local_t));
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
           theirs.cpu_s, theirs.peak_mib, 1e6 * theirs.predicted_s);
    printf(
        "SMPI / ours: %.1f times the time, %.1f times the memory; the predictions differ by %.1f percent\n",
        theirs.cpu_s / ours.cpu_s, theirs.peak_mib / ours.peak_mib,
        100 * (theirs.predicted_s / ours.predicted_s - 1));
}

/* --- LogGOPSim ----------------------------------------------------------------------------------------- */

enum { L_NS = 2500, G_NS = 1 };

typedef struct {
    char folder[4000]; /* of its programs, with a slash at the end; empty: on the path */
    char goal[64];
    char binary[64];
} loggopsim_t;

/* Without overheads and gaps a message takes L + (s - 1) G there, and alpha + s beta here. */
static pto_machine_t same_machine(const pto_machine_t *machine, pto_cost_row_t *row) {
    pto_machine_t same = *machine;
    *row = machine->messages[PTO_SPACE_GPU][PTO_LEVEL_OFF_NODE].row[0];
    row->protocol = PTO_PROTOCOL_EAGER;
    row->postal.alpha_s.value = 1e-9 * (L_NS - G_NS);
    row->postal.beta_s_per_byte.value = 1e-9 * G_NS;
    same.messages[PTO_SPACE_GPU][PTO_LEVEL_OFF_NODE] = (pto_cost_table_t){.count = 1, .row = row};
    memset(same.injection_s_per_byte, 0, sizeof same.injection_s_per_byte);
    memset(same.injection_s_per_message, 0, sizeof same.injection_s_per_message);
    memset(same.gap, 0, sizeof same.gap);
    same.contention = (pto_param_t){0};
    return same;
}

static void run_loggopsim(const void *context) {
    const loggopsim_t *theirs = context;
    char command[5000];
    snprintf(
        command, sizeof command,
        "%sLogGOPSim -f %s -L %d -o 0 -g 0 -G %d -O 0 -S 1000000000 -b | "
        "sed -n 's/.*finishing time[^:]*: *\\([0-9]*\\).*/\\1e-9/p; s/^Host 0: *\\([0-9]*\\).*/\\1e-9/p'",
        theirs->folder, theirs->binary, L_NS, G_NS);
    execlp("sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
}

/* A schedule has the messages of a plan, but not its copies. */
static void bench_loggopsim(const pto_machine_t *machine, const loggopsim_t *theirs, const char *algorithm,
                            pto_collective_t collective, int64_t ranks) {
    pto_cost_row_t row;
    pto_machine_t same = same_machine(machine, &row);
    ask_t ask = {&same, algorithm, ranks, 1, collective, 1};
    pto_plan_t *plan = plan_of(&ask);
    FILE *goal = fopen(theirs->goal, "w");
    char command[5000];
    if (!goal)
        fail("cannot write a GOAL schedule");
    if (pto_print_goal(plan, goal, NULL) != PTO_OK)
        fail("a plan without a GOAL schedule");
    pto_plan_destroy(plan);
    snprintf(command, sizeof command, "%stxt2bin -i %s -o %s >/dev/null", theirs->folder, theirs->goal,
             theirs->binary);
    if (fclose(goal) != 0 || system(command) != 0)
        fail("LogGOPSim's txt2bin failed");
    run_t ours = bench_ask(&ask, bench_is_short() ? 1 : 3), other = run_process(run_loggopsim, theirs);
    remove(theirs->goal);
    remove(theirs->binary);
    double apart_ns = 1e9 * (other.predicted_s - ours.predicted_s);
    printf("%-33s %5lld x 1 ranks  %6.2f s: %.1f times the time, the aim is %d; the predictions "
           "differ by %.3f ns\n",
           "LogGOPSim", (long long)ranks, other.cpu_s, other.cpu_s / ours.cpu_s, AIM_LOGGOPSIM, apart_ns);
    if (apart_ns > 1 || apart_ns < -1)
        fail("LogGOPSim predicts another time");
}

static void bench_all_loggopsim(const pto_machine_t *machine) {
    loggopsim_t theirs = {.folder = ""};
    const char *folder = getenv("LOGGOPSIM");
    if (folder && *folder)
        snprintf(theirs.folder, sizeof theirs.folder, "%s/", folder);
    else if (system("command -v LogGOPSim >/dev/null && command -v txt2bin >/dev/null") != 0) {
        printf("LogGOPSim neither in the folder LOGGOPSIM nor on the path, so not compared\n");
        return;
    }
    snprintf(theirs.goal, sizeof theirs.goal, "/tmp/portolan-goal-%ld.txt", (long)getpid());
    snprintf(theirs.binary, sizeof theirs.binary, "/tmp/portolan-goal-%ld.bin", (long)getpid());
    const pto_collective_t collectives[] = {PTO_COLLECTIVE_ALLGATHER, PTO_COLLECTIVE_ALLTOALL};
    bench_loggopsim(machine, &theirs, "pairwise", PTO_COLLECTIVE_ALLTOALL, bench_is_short() ? 64 : 1024);
    for (int i = 0; i < 2; i++) {
        bench_loggopsim(machine, &theirs, "bruck", collectives[i], bench_is_short() ? 32 : 1024);
        bench_loggopsim(machine, &theirs, "bruck", collectives[i], bench_is_short() ? 64 : 16384);
    }
}

int main(void) {
    pto_machine_t machine;
    pto_error_t err;
    if (pto_machine_read("scenarios/machines/summit-spectrum.yaml", &machine, &err) != PTO_OK)
        fail(err.message);
    printf("# simulating collectives of %d bytes, one core\n", BYTES);
    int64_t ranks = bench_is_short() ? 64 : 4096;
    const char *const algorithm[] = {"pairwise", "linear"};
    bench_rates(&machine);
    bench_ours(&machine, "bruck", 20000000, 1); /* one node stands for all */
    for (size_t i = 0; i < sizeof algorithm / sizeof *algorithm; i++) {
        bench_ours(&machine, algorithm[i], ranks, 1);
        bench_ours(&machine, algorithm[i], ranks / 4, 4);
    }
    bench_all_loggopsim(&machine);
    if (!bench_is_short())
        bench_smpi(&machine, getenv("SMPI_ALLTOALL"));
    pto_machine_fini(&machine);
    return 0;
}
