/* portolan: what moving bytes costs on a GPU cluster, and by which route it is cheapest. */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "command_line/options.h"
#include "command_line/progress.h"
#include "command_line/terminal.h"
#include "portolan/api.h"
#include "portolan/output.h"
#include "portolan/progress.h"
#include "topics.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

/* A name and what it is for. */
static void print_line(FILE *stream, const char *name, const char *summary) {
    enum { SUMMARY_COLUMN = 14 };
    fprintf(stream, "  %-*s", SUMMARY_COLUMN - 2, name);
    pto_print_wrapped(stream, summary, SUMMARY_COLUMN, pto_terminal_width(stream));
}

static void print_usage(FILE *stream) {
    fputs("usage: portolan COMMAND [SCENARIO.yaml] [OPTIONS]\n"
          "\n"
          "Predicts what an MPI collective on GPU data costs along every route the data\n"
          "could take, from a machine's measured parameters.\n"
          "\n"
          "commands:\n",
          stream);
    for (int i = 0; pto_command_at(i); i++)
        print_line(stream, pto_command_at(i)->name, pto_command_at(i)->summary);
    fputs("\n"
          "`portolan COMMAND --help` or `portolan help COMMAND` explains each. `portolan\n"
          "help TOPIC` answers:\n",
          stream);
    for (int i = 0; pto_topic_at(i); i++)
        print_line(stream, pto_topic_at(i)->name, pto_topic_at(i)->summary);
    fputs(""
          "\n"
          "example:\n"
          "  portolan predict alltoall-summit\n"
          "\n"
          "exit codes: 0 done, 1 failed (file:line:column: message), 2 wrong usage.\n",
          stream);
}

/* Runs a command by name; an unknown name is wrong usage. */
static int run_command(const char *name, int argc, char **argv) {
    const pto_command_t *command;
    pto_error_t err = {0};
    if (pto_command_find(name, &command, &err) == PTO_OK)
        return pto_command_run(command, argc, argv);
    fprintf(stderr, "portolan: %s\n", err.message);
    return PTO_EXIT_USAGE;
}

/* `portolan help COMMAND` means `portolan COMMAND --help`; topics are no commands. */
static int help_on(char *name) {
    static char help[] = "--help";
    const pto_topic_t *topic = pto_topic_find(name);
    if (topic) {
        fputs(topic->text, stdout);
        return pto_flush_output();
    }
    char *argv[] = {name, help, NULL};
    return run_command(name, 2, argv);
}

/* The first Ctrl-C ends what takes long, and the command prints what is done. */
static bool stop_softly(int number) {
    static const char note[] = "\nportolan: interrupted; what is done follows (Ctrl-C again ends at once)\n";
    static struct timespec first;
    struct timespec now;
    pto_progress_t progress;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (number != SIGINT || (!pto_is_stopped() && !pto_progress_read(&progress)))
        return false;
    if (pto_is_stopped()) /* timeout(1) sends two signals at once */
        return now.tv_sec - first.tv_sec < 1;
    first = now;
    pto_stop();
    return write(STDERR_FILENO, note, sizeof note - 1) >= 0;
}

/* No half-written file is left; then the signal ends the program as if there were no handler. */
static void end_by_signal(int number) {
    if (stop_softly(number)) /* NOLINT(bugprone-signal-handler): reads atomic counters and the clock */
        return;
    pto_output_unlink_unfinished(); /* NOLINT(bugprone-signal-handler): calls unlink alone */
    signal(number, SIG_DFL);
    raise(number); /* delivered once this returns */
}

/* timeout(1) sends two signals at once. The second one waits for the handler, which must stay installed until
 * then: with SA_RESETHAND, or signal() as C11 has it, the second one could end the program before the
 * handler's first instruction. A signal that is ignored stays so, as under nohup. */
static void catch_signals(void) {
    static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = end_by_signal}, before;
    sigfillset(&action.sa_mask);
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++)
        if (sigaction(ending[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(ending[i], &action, NULL);
}

/* Runs a command. One that was interrupted ends by the signal, once it has printed what it did. */
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

/* Plans are made and freed one after another. By default, glibc gives the memory of each back to the system,
 * and then asks for it page by page for the next one. These are the limits that it sets itself once a program
 * has freed an array as large as the smaller one. */
static void keep_freed_memory(void) {
#ifdef __GLIBC__
    enum { ARRAY_BYTES = 8 << 20, FREED_BYTES = 2 * ARRAY_BYTES };
    mallopt(M_MMAP_THRESHOLD, ARRAY_BYTES);
    mallopt(M_TRIM_THRESHOLD, FREED_BYTES);
#endif
}

int main(int argc, char **argv) {
    keep_freed_memory();
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
