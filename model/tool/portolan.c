/* main() of portolan: runs the subcommand of its first argument, prints the help, and handles Ctrl-C. */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "command.h"
#include "command_line/options.h"
#include "command_line/progress.h"
#include "command_line/terminal.h"
#include "portolan/api.h"
#include "portolan/output.h"
#include "portolan/progress.h"

/* What `portolan help TOPIC` prints. */
static const struct {
    const char *name;
    const char *summary;
    const char *text;
} topics[] = {
    {"words", "the words that outputs use",
     "strategy      the route of the data: cuda_aware passes GPU buffers to MPI,\n"
     "              three_step copies to the host, communicates and copies back\n"
     "              (`portolan help strategies`)\n"
     "algorithm     the pattern of messages inside a collective: ring, bruck, ...\n"
     "plan          what every process does, step by step: to price, simulate or run\n"
     "machine file  the measured costs of one machine (`portolan help machines`)\n"
     "scenario      a question: collective, nodes, processes, sizes\n"
     "near-tie      two prices too close for the model to tell apart\n"
     "unsure        a pick that rests on a cost that is not known, or not well enough\n"
     "regret        how much longer the pick takes than the best\n"},
    {"strategies", "their names, spelled out",
     "cuda_aware               CUDA-aware MPI: the library gets GPU buffers\n"
     "three_step               copy to the host, communicate, copy back\n"
     "extra_message            the same; messages share it out over a GPU's processes\n"
     "dup_devptr               the same; each process copies its share from the GPU\n"
     "staged_ring, split_ring  a ring through the host in chunks, by one process\n"
     "                         of a GPU, or by all\n"
     "gsb, btb                 inside a node: one GPU-shared buffer, or a binomial\n"
     "                         tree of buffers\n"
     "gsb_gsb to btb_btb       one of them inside each GPU, one between the GPUs\n"
     "gas_read, gas_split, ... one kernel per GPU, in a global address space\n"
     "mix, mix_gsb             gsb, with some members staged through the host\n"
     "node_leaders, node_aware blocks for another node are combined, and sent by one\n"
     "                         process, or by all\n"
     "staged_leaders, _aware   the same from host memory\n"
     "ipc_copy, shm_ring       one message in a node: by CUDA IPC, or shared memory\n"
     "nccl                     NVIDIA's own library\n"
     "mpi, own_algorithm       host memory: the MPI library's collective, or the\n"
     "                         cheapest algorithm that portolan runs itself\n\n"
     "`portolan list strategies` says which collectives each serves.\n"},
    {"gpu-aware", "GPU buffers to MPI, or through the host?",
     "  portolan pick --machine NAME --collective allreduce --nodes 8 \\\n"
     "      --bytes 1KiB:64MiB --strategy cuda_aware,three_step\n\n"
     "docs/how-to/gpu-aware-or-staged.md reads the answer line by line.\n"},
    {"nic", "which NIC, or a second one?",
     "  portolan upgrade WORKLOAD.yaml\n"
     "  portolan predict SCENARIO.yaml --what-if 'injection.*=/2'\n\n"
     "docs/how-to/which-nic.md has an example with costs.\n"},
    {"open-mpi", "what do I put into Open MPI?",
     "  portolan export --for openmpi-4.1 --machine NAME --nodes 2:64 --out rules.conf\n\n"
     "docs/how-to/open-mpi.md says how Open MPI reads the file, and how to check one.\n"},
    {"machines", "a machine file of my own",
     "measured         mpirun -n 80 --map-by ppr:40:node --bind-to core \\\n"
     "                     portolan-calibrate --out samples.csv\n"
     "                 portolan fit samples.csv --name mine --out mine.yaml\n"
     "from datasheets  portolan machine new --name mine --gpus 8 ...\n"
     "                 (`portolan help machine`)\n"
     "made of others   inherits: NAME, or node: NAME and network: NAME\n"
     "                 (docs/formats.md)\n"
     "changed          --what-if PARAMETER=VALUE; `portolan list parameters` shows all\n"},
    {"units", "how numbers may be written",
     "sizes   4096, 4KiB, 64MiB; ranges 64:64KiB (by factors of 2), 64:64KiB:4\n"
     "times   5 us, 2 ms; in machine files without a unit: seconds\n"
     "rates   50 GB/s, 400 Gbit/s, 20 ps/B; without a unit: seconds per byte\n"},
    {"exit-codes", "what scripts can rely on",
     "0  done\n"
     "1  failed: a file is missing, unreadable or wrong (file:line:column: message),\n"
     "   no strategy can be priced, a plan is wrong, or the output cannot be written\n"
     "2  wrong usage: an option is unknown, lacks its value, or has one that is\n"
     "   wrong or does not go with the others\n"
     "3  export: the file is complete and has no rule; its comments say why\n\n"
     "Errors go to standard error. Only a 0 or a 3 means that standard output is\n"
     "complete.\n"
     "Ctrl-C ends a command by the signal. `portolan run` ends as its program does.\n"},
};
enum { TOPIC_COUNT = sizeof topics / sizeof *topics };

static void print_line(FILE *stream, const char *name, const char *summary) {
    enum { SUMMARY_COLUMN = 14 };
    fprintf(stream, "  %-*s", SUMMARY_COLUMN - 2, name);
    pto_print_wrapped(stream, summary, SUMMARY_COLUMN, pto_terminal_width(stream));
}

static void print_usage(FILE *stream) {
    fputs("usage: portolan COMMAND [SCENARIO.yaml] [OPTIONS]\n\n"
          "Predicts what an MPI collective on GPU data costs along every route the data\n"
          "could take, from a machine's measured parameters.\n\n"
          "commands:\n",
          stream);
    for (int i = 0; pto_command_at(i); i++)
        print_line(stream, pto_command_at(i)->name, pto_command_at(i)->summary);
    fputs("\n"
          "`portolan COMMAND --help` or `portolan help COMMAND` explains each. `portolan\n"
          "help TOPIC` answers:\n",
          stream);
    for (int i = 0; i < TOPIC_COUNT; i++)
        print_line(stream, topics[i].name, topics[i].summary);
    fputs(""
          "\n"
          "example:\n"
          "  portolan predict alltoall-summit\n\n"
          "exit codes: 0 done, 1 failed (file:line:column: message), 2 wrong usage,\n"
          "3 export: no rule.\n",
          stream);
}

static int run_command(const char *name, int argc, char **argv) {
    const pto_command_t *command;
    pto_error_t err = {0};
    if (pto_command_find(name, &command, &err) == PTO_OK)
        return pto_command_run(command, argc, argv);
    fprintf(stderr, "portolan: %s\n", err.message);
    return PTO_EXIT_USAGE;
}

/* `portolan help COMMAND` is `portolan COMMAND --help`. */
static int help_on(char *name) {
    static char help[] = "--help";
    for (int i = 0; i < TOPIC_COUNT; i++)
        if (strcmp(topics[i].name, name) == 0) {
            fputs(topics[i].text, stdout);
            return pto_flush_output();
        }
    char *argv[] = {name, help, NULL};
    return run_command(name, 2, argv);
}

/* The first Ctrl-C stops a long computation, and the command prints what is complete. A second one within a
 * second is ignored: timeout(1) sends two signals at once. Returns false if the signal must end the program.
 */
static bool stop_softly(int number) {
    static const char note[] = "\nportolan: interrupted; what is done follows (Ctrl-C again ends at once)\n";
    static int64_t first_ns;
    const int64_t now_ns = pto_now_ns(), second_ns = 1000000000;
    pto_progress_t progress;
    if (number != SIGINT || (!pto_is_stopped() && !pto_progress_read(&progress)))
        return false;
    if (pto_is_stopped())
        return now_ns - first_ns < second_ns;
    first_ns = now_ns;
    pto_stop();
    (void)!write(STDERR_FILENO, note, sizeof note - 1); /* without the note, it stops as well */
    return true;
}

/* Delete the unfinished output file; then the signal ends the program as if there were no handler. */
static void end_by_signal(int number) {
    if (stop_softly(number)) /* NOLINT(bugprone-signal-handler): reads atomic counters and the clock */
        return;
    pto_output_unlink_unfinished(); /* NOLINT(bugprone-signal-handler): calls unlink alone */
    signal(number, SIG_DFL);
    raise(number); /* delivered once this returns */
}

/* timeout(1) sends two signals at once. The handler must stay installed while the second one is blocked: with
 * SA_RESETHAND or C11's signal(), the second one could end the program before the handler's first
 * instruction. A signal that is ignored, as under nohup, stays ignored. */
static void catch_signals(void) {
    static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = end_by_signal}, before;
    sigfillset(&action.sa_mask);
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++)
        if (sigaction(ending[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(ending[i], &action, NULL);
}

/* Runs a command. If it was interrupted, the program ends by SIGINT after the command's output. */
static int run(const char *name, int argc, char **argv) {
    pto_progress_watch_terminal();
    int code = run_command(name, argc, argv);
    if (!pto_is_stopped())
        return code;
    fflush(stdout);
    signal(SIGINT, SIG_DFL);
    raise(SIGINT);
    return code;
}

int main(int argc, char **argv) {
    catch_signals();
    if (argc < 2) {
        print_usage(stderr);
        return PTO_EXIT_USAGE;
    }
    bool help = strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0;
    if (help && argc > 3) {
        fprintf(stderr, "portolan help: '%s' is one word too many\n", argv[3]);
        return PTO_EXIT_USAGE;
    }
    if (help && argc > 2)
        return help_on(argv[2]);
    if (help) {
        print_usage(stdout);
        return pto_flush_output();
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("portolan %s\n", pto_version());
        return pto_flush_output();
    }
    return run(argv[1], argc - 1, argv + 1);
}
