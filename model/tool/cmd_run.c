/* portolan run: starts an MPI or NCCL program with portolan's drop-in library preloaded, which runs the
 * cheapest routes (docs/acting.md). With --calibrate and no machine file yet, it runs the program without the
 * library, then measures the machine with the same launcher. */
#define _XOPEN_SOURCE 700 /* realpath, sigaction, strdup */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "command.h"
#include "command_line/find_machine.h"
#include "command_line/machine_folders.h"
#include "portolan/printable.h"
#include "portolan/strategy.h"
#include "portolan/units.h"

static const char usage[] =
    "usage: portolan run --machine FILE|NAME [OPTIONS] -- LAUNCHER ... PROGRAM ...\n\n"
    "Runs a command with the library libportolan-mpi.so under its MPI program: each collective on GPU\n"
    "buffers, and with PORTOLAN_HOST=1 on host buffers, takes the route that is predicted to be the\n"
    "cheapest on the machine, or stays with MPI. With a machine file of runs that are enqueued or captured\n"
    "in graphs, it is libportolan-nccl.so that does so for NCCL's collectives, as of PyTorch. The program\n"
    "is unchanged. The exit code is that of the command.\n\n"
    "  portolan run --machine h200-x2 --summary -- mpirun -n 2 --map-by ppr:2:socket --bind-to core "
    "./program\n"
    "  portolan run --machine mine.yaml --calibrate 10 -- mpirun -n 8 --map-by ppr:4:socket --bind-to core "
    "-- ./program\n"
    "  portolan run --machine h200-x2-graph -- torchrun --nproc-per-node 2 train.py\n\n"
    "The second line measures the machine if mine.yaml does not exist; it needs another -- between launcher\n"
    "and program. Environment variables set the rest (`man libportolan-mpi`). docs/acting.md says which\n"
    "calls are taken.\n";

typedef struct {
    const char *machine;
    const char *library;
    const char *strategy;
    const char *report;
    const char *calibrate;
    bool summary;
} run_t;

#define STORE(form, member) PTO_STORE(form, run_t, member)

/* Checked here, and passed to portolan-calibrate as text. */
static pto_status_t apply_calibrate(void *target, const char *text, pto_error_t *err) {
    double seconds;
    ((run_t *)target)->calibrate = text;
    pto_status_t status = pto_double_parse(text, &seconds, err);
    return status == PTO_OK && !(seconds > 0)
               ? pto_error_set(err, PTO_ERR_RANGE, "'%s' is not a positive number of seconds", text)
               : status;
}

static const pto_option_t options[] = {
    {"machine", "FILE|NAME",
     "the machine file, or the name of one that `portolan list` shows (default: PORTOLAN_MACHINE)",
     STORE(TEXT, machine)},
    {"strategy", "NAME", "use this strategy alone, wherever it applies", STORE(TEXT, strategy),
     .word_at = pto_option_strategy_at},
    {"summary", NULL, "at the end, print each kind of call with its route, time and predicted times",
     STORE(FLAG, summary)},
    {"report", "FILE", "write a line for each call of process 0; of every process if FILE contains %r",
     STORE(TEXT, report)},
    {"calibrate", "SECONDS",
     "if the machine file does not exist, run the program without the library, then portolan-calibrate by "
     "the same launcher, with at most SECONDS for each of its benchmarks, and write the file for the next "
     "runs",
     .apply = apply_calibrate},
    {"library", "FILE",
     "a libportolan-mpi.so built for another MPI library, or a libportolan-nccl.so (default: the installed "
     "one that the machine file is for)",
     STORE(TEXT, library)},
    {.name = NULL}};

static const pto_syntax_t syntax = {.program = "portolan run",
                                    .usage = usage,
                                    .set = PTO_SETS({"options", options}),
                                    .operand = "*",
                                    .runs_command = true};

/* --calibrate writes a machine file for the next runs (docs/decisions/0052). The program runs first, as
 * without this command, so that a failing measurement cannot harm it. Then portolan-calibrate runs under the
 * same launcher, on the same CPUs and GPUs, and portolan fit writes the machine file as a whole or not at
 * all, and never over an existing one. */
typedef struct {
    const run_t *run;
    char *const *command; /* LAUNCHER ... PROGRAM ...; ends with NULL */
    int launcher_words;
} calibration_t;

static const char ending[] = ".yaml";
enum { SIGNALED = 128, NOT_STARTED = 127 };

/* --- calibration: running a command --------------------------------------------------------------------- */

static volatile sig_atomic_t child, received;

/* The terminal sends SIGINT and SIGQUIT to the child itself. SIGUSR1 and SIGUSR2 do not end the run: they
 * have a meaning for the child, such as to write a checkpoint. */
static void forward(int number) {
    if (number != SIGUSR1 && number != SIGUSR2)
        received = number;
    if (child > 0 && number != SIGINT && number != SIGQUIT)
        kill((pid_t)child, number);
}

static const int forwarded[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
enum { FORWARDED = sizeof forwarded / sizeof *forwarded };

/* The signals' actions and mask before, which the child gets. */
typedef struct {
    struct sigaction forwarded[FORWARDED];
    struct sigaction child; /* of SIGCHLD: if it were ignored, waitpid would find no exit code */
    sigset_t mask;
} signals_t;

static void catch_signals(signals_t *before) {
    struct sigaction action;
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before->mask); /* until the child's id is known */
    memset(&action, 0, sizeof action);
    action.sa_handler = SIG_DFL;
    sigaction(SIGCHLD, &action, &before->child);
    action.sa_handler = forward;
    for (int i = 0; i < FORWARDED; i++) {
        sigaction(forwarded[i], NULL, &before->forwarded[i]);
        if (before->forwarded[i].sa_handler != SIG_IGN)
            sigaction(forwarded[i], &action, NULL);
    }
}

static void restore_signals(const signals_t *before) {
    for (int i = 0; i < FORWARDED; i++)
        sigaction(forwarded[i], &before->forwarded[i], NULL);
    sigaction(SIGCHLD, &before->child, NULL);
    sigprocmask(SIG_SETMASK, &before->mask, NULL);
}

/* Run a command and wait for its end. `*code`: its exit code, as in a shell. Errors: it cannot be forked. */
static pto_status_t run_one(char *const *command, int *code, pto_error_t *err) {
    signals_t before;
    int wait_status = 0;
    catch_signals(&before);
    pid_t started = fork();
    if (started == 0) {
        restore_signals(&before);
        execvp(command[0], command);
        char escaped[PTO_ERROR_FILE_MAX];
        int cause = errno;
        fprintf(stderr, "portolan: %s: %s\n", pto_escape_text(command[0], escaped, sizeof escaped),
                strerror(cause));
        _exit(NOT_STARTED);
    }
    int cause = errno;
    child = (sig_atomic_t)started;
    sigprocmask(SIG_SETMASK, &before.mask, NULL);
    while (started > 0 && waitpid(started, &wait_status, 0) < 0 && errno == EINTR)
        continue;
    child = 0;
    restore_signals(&before);
    *code = WIFSIGNALED(wait_status) ? SIGNALED + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
    return started > 0 ? PTO_OK : pto_error_set(err, PTO_ERR_IO, "fork: %s", strerror(cause));
}

/* --- calibration: names --------------------------------------------------------------------------------- */

/* The index of the "--" between launcher and program; -1 if there is none, or no launcher or no program. */
static int find_separator(char *const *command) {
    int word = 0;
    while (command[word] && strcmp(command[word], "--") != 0)
        word++;
    return word > 0 && command[word] && command[word + 1] ? word : -1;
}

/* Remove the word with this index, such as the "--", which the launcher must not see. */
static void remove_word(char **command, int word) {
    for (; command[word]; word++)
        command[word] = command[word + 1];
}

/* The portolan-calibrate of `library`'s or this program's build: in the same folder, or in ../bin. */
static bool find_calibrate(const char *library, char path[2 * PTO_FOLDER_MAX]) {
    static const char *const places[] = {"/portolan-calibrate", "/../bin/portolan-calibrate"};
    char folder[PTO_FOLDER_MAX];
    if (!pto_program_folder(folder))
        return false;
    const char *slash = library ? strrchr(library, '/') : NULL;
    if (library)
        snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - library) : 1, slash ? library : ".");
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(path, 2 * PTO_FOLDER_MAX, "%s%s", folder, places[i]);
        if (access(path, X_OK) == 0)
            return true;
    }
    return false;
}

/* The programs and files of a calibration that writes, for example, the machine file runs/mine.yaml. */
typedef struct {
    char calibrate[2 * PTO_FOLDER_MAX]; /* path of portolan-calibrate */
    char tool[PTO_FOLDER_MAX];          /* path of portolan */
    char *samples;                      /* runs/mine-samples.csv */
    char *name;                         /* mine */
} names_t;

static void free_names(names_t *names) {
    free(names->samples);
    free(names->name);
}

static pto_status_t make_names(const run_t *run, names_t *names, pto_error_t *err) {
    static const char of_samples[] = "-samples.csv";
    const size_t stem = strlen(run->machine) - strlen(ending); /* bytes */
    const char *slash = strrchr(run->machine, '/');
    ssize_t length = readlink("/proc/self/exe", names->tool, sizeof names->tool - 1);
    if (length <= 0 || !find_calibrate(run->library, names->calibrate))
        return pto_error_set(err, PTO_ERR_NOT_FOUND,
                             "portolan-calibrate is not beside %s, nor in a folder bin beside its own",
                             run->library ? run->library : "this program");
    names->samples = malloc(stem + sizeof of_samples);
    names->name = strdup(slash ? slash + 1 : run->machine);
    if (!names->samples || !names->name)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
    memcpy(names->samples, run->machine, stem);
    memcpy(names->samples + stem, of_samples, sizeof of_samples);
    names->name[strlen(names->name) - strlen(ending)] = '\0';
    return PTO_OK;
}

/* --- calibration: the steps ----------------------------------------------------------------------------- */

static pto_status_t run_step(char *const *command, const char *what, pto_error_t *err) {
    int code = 0;
    pto_status_t status = run_one(command, &code, err);
    if (status == PTO_OK && (code != 0 || received))
        status = pto_error_set(err, PTO_ERR_IO, "%s %s", what, received ? "was interrupted" : "failed");
    return status;
}

/* Run portolan-calibrate by the program's launcher. */
static pto_status_t measure(const calibration_t *calibration, names_t *names, pto_error_t *err) {
    char *own[] = {names->calibrate, "--force",   "--out",
                   names->samples,   "--budget",  (char *)calibration->run->calibrate,
                   "--machine",      names->name, NULL};
    const size_t launcher = (size_t)calibration->launcher_words;
    char **command = calloc(launcher + sizeof own / sizeof *own, sizeof *command);
    if (!command)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
    memcpy(command, calibration->command, launcher * sizeof *command);
    memcpy(command + launcher, own, sizeof own);
    pto_status_t status = run_step(command, "portolan-calibrate", err);
    free(command);
    return status;
}

static pto_status_t fit(const char *machine, names_t *names, pto_error_t *err) {
    char *command[] = {names->tool, "fit",   names->samples,  "--name",
                       names->name, "--out", (char *)machine, NULL};
    pto_status_t status = run_step(command, "portolan fit", err);
    if (status != PTO_OK && !received && access(machine, F_OK) != 0)
        return pto_error_set(err, status, "portolan fit failed; a larger --calibrate takes more samples");
    return status;
}

static pto_status_t calibrate(const calibration_t *calibration, pto_error_t *err) {
    const run_t *run = calibration->run;
    names_t names = {.samples = NULL};
    char name[PTO_ERROR_FILE_MAX];
    fprintf(stderr, "portolan: calibrating for %s, with at most %s s for each benchmark\n",
            pto_escape_text(run->machine, name, sizeof name), run->calibrate);
    pto_status_t status = make_names(run, &names, err);
    if (status == PTO_OK)
        status = measure(calibration, &names, err);
    if (status == PTO_OK)
        status = fit(run->machine, &names, err);
    free_names(&names);
    return status;
}

/* Run the program without the library. If it succeeds, measure with its launcher, and fit. `*exit_code` is
 * that of the program, or 128 plus the signal that this command received. Errors after the program are only
 * printed. Errors: the program cannot be started. */
static pto_status_t run_and_calibrate(const calibration_t *calibration, int *exit_code, pto_error_t *err) {
    pto_error_t cause = {0};
    char name[PTO_ERROR_FILE_MAX];
    pto_escape_text(calibration->run->machine, name, sizeof name);
    fprintf(stderr, "portolan: there is no %s yet: all collectives of this run are left to MPI\n", name);
    pto_status_t status = run_one(calibration->command, exit_code, err);
    if (status != PTO_OK)
        return status;
    if (received || *exit_code != 0)
        fputs("portolan: nothing is calibrated, as the program failed or was interrupted\n", stderr);
    else if (calibrate(calibration, &cause) == PTO_OK)
        fprintf(stderr, "portolan: %s is written; the next runs use it\n", name);
    else
        fprintf(stderr, "portolan: %s is not written: %s\n", name, cause.message);
    if (received)
        *exit_code = SIGNALED + received;
    return PTO_OK;
}

/* --- the library under the program ---------------------------------------------------------------------- */

/* The absolute path of a library, because the processes may have other working folders. A missing one is an
 * error here; the loader would only warn, and run the program without it. */
static pto_status_t resolve_library(const char *name, char **path, pto_error_t *err) {
    *path = realpath(name, NULL);
    if (*path && access(*path, R_OK) == 0)
        return PTO_OK;
    pto_error_set(err, PTO_ERR_IO, "--library %s: %s", name, strerror(errno));
    free(*path);
    *path = NULL;
    return PTO_ERR_IO;
}

/* A library of this program's build: in the same folder in a build, in ../lib if installed. */
static pto_status_t find_library(const char *name, char **path, pto_error_t *err) {
    static const char *const places[] = {"", "/../lib"};
    char folder[PTO_FOLDER_MAX], place[2 * PTO_FOLDER_MAX];
    for (size_t i = 0; i < sizeof places / sizeof *places && pto_program_folder(folder); i++) {
        snprintf(place, sizeof place, "%s%s/%s", folder, places[i], name);
        if (resolve_library(place, path, NULL) == PTO_OK)
            return PTO_OK;
    }
    return pto_error_set(err, PTO_ERR_NOT_FOUND,
                         "%s is neither beside this program nor in ../lib; --library names it", name);
}

/* Choose the drop-in library by the kind of runs that the machine file has costs of: MPI's collectives are
 * waited for, NCCL's are enqueued. */
static pto_status_t choose_library(pto_runs_t runs, const char *launcher, char **path, pto_error_t *err) {
    static const char *const of_nccl[] = {"torchrun", "accelerate", "deepspeed"};
    const char *slash = strrchr(launcher, '/');
    bool needs_nccl = false;
    for (size_t i = 0; i < sizeof of_nccl / sizeof *of_nccl; i++)
        needs_nccl = needs_nccl || strcmp(slash ? slash + 1 : launcher, of_nccl[i]) == 0;
    if (runs == PTO_RUNS_WAITED && needs_nccl)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                             "%s starts programs of NCCL, whose calls are enqueued, and the machine file has "
                             "the costs of runs that are waited for: one with `runs: graph` or `runs: "
                             "enqueued` is needed, such as h200-x2-graph",
                             launcher);
    pto_status_t status =
        find_library(runs == PTO_RUNS_WAITED ? "libportolan-mpi.so" : "libportolan-nccl.so", path, err);
    if (status == PTO_OK && runs != PTO_RUNS_WAITED)
        fprintf(stderr,
                "portolan: libportolan-nccl.so is in front of NCCL, as the machine file has the costs of "
                "runs that are %s\n",
                pto_runs_text(runs));
    return status;
}

/* Set an environment variable; `value` NULL: leave it as it is. */
static pto_status_t set(const char *name, const char *value, pto_error_t *err) {
    if (value && setenv(name, value, 1) != 0)
        return pto_error_set(err, PTO_ERR_MEMORY, "setenv: %s", strerror(errno));
    return PTO_OK;
}

/* Preload the library before those that the user preloads. */
static pto_status_t set_preload(const char *library, pto_error_t *err) {
    const char *others = getenv("LD_PRELOAD");
    size_t size = strlen(library) + (others ? strlen(others) : 0) + 2;
    char *both = malloc(size);
    if (!both)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
    snprintf(both, size, "%s%s%s", library, others && *others ? ":" : "", others ? others : "");
    pto_status_t status = set("LD_PRELOAD", both, err);
    free(both);
    return status;
}

/* List the variables for Open MPI's mpirun to pass on, unless the user did. MPICH's passes all of them. */
static pto_status_t export_environment(pto_error_t *err) {
    static const char *const names[] = {
        "LD_PRELOAD",        "PORTOLAN_NCCL_MACHINE", "PORTOLAN_TAKE",    "PORTOLAN_MACHINE",
        "PORTOLAN_STRATEGY", "PORTOLAN_REPORT",       "PORTOLAN_EXPLAIN", "PORTOLAN_DEVICE",
        "PORTOLAN_ASSUME",   "PORTOLAN_THREADS",      "PORTOLAN_HOST",    "PORTOLAN_PLANS",
        "PORTOLAN_MEMORY",   "PORTOLAN_DROPIN",       "PORTOLAN_REPEATS", "PORTOLAN_TRIALS"};
    static const char listing[] = "OMPI_MCA_mca_base_env_list";
    char list[512] = "";
    pto_line_t line = {.text = list, .size = sizeof list};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (getenv(names[i]))
            pto_line_add(&line, "%s%s", *list ? ";" : "", names[i]);
    return getenv(listing) ? PTO_OK : set(listing, list, err);
}

static pto_status_t set_environment(const run_t *run, const char *library, const char *machine,
                                    pto_error_t *err) {
    const char *const variable[][2] = {{"PORTOLAN_MACHINE", machine},
                                       {"PORTOLAN_STRATEGY", run->strategy},
                                       {"PORTOLAN_REPORT", run->report},
                                       {"PORTOLAN_EXPLAIN", run->summary ? "1" : NULL}};
    pto_status_t status = set_preload(library, err);
    for (int i = 0; i < 4 && status == PTO_OK; i++)
        status = set(variable[i][0], variable[i][1], err);
    return status == PTO_OK ? export_environment(err) : status;
}

/* The absolute path of the machine file, because the processes may have other working folders, and its kind
 * of runs. A wrong file is an error here; the processes would leave all calls to MPI. */
static pto_status_t find_machine(const char *name, char **path, pto_runs_t *runs, pto_error_t *err) {
    char *found = NULL;
    pto_machine_t *machine = NULL;
    pto_find_by_name();
    pto_status_t status = pto_find_machine(name, NULL, &found, err);
    if (status == PTO_OK)
        status = pto_machine_open(found, &machine, err);
    *runs = status == PTO_OK ? pto_machine_runs(machine) : PTO_RUNS_WAITED;
    *path = status == PTO_OK ? realpath(found, NULL) : NULL;
    if (status == PTO_OK && !*path)
        status = pto_error_set(err, PTO_ERR_IO, "%s: %s", name, strerror(errno));
    pto_machine_destroy(machine);
    free(found);
    return status;
}

/* Replace this process by the command, with the library preloaded. Returns only on failure. */
static pto_status_t start(const run_t *run, char **command, pto_error_t *err) {
    char *library = NULL, *machine = NULL;
    pto_runs_t runs = PTO_RUNS_WAITED;
    pto_status_t status = find_machine(run->machine, &machine, &runs, err);
    if (status == PTO_OK)
        status = run->library ? resolve_library(run->library, &library, err)
                              : choose_library(runs, command[0], &library, err);
    if (status == PTO_OK && library)
        status = set_environment(run, library, machine, err);
    free(library);
    free(machine);
    if (status != PTO_OK)
        return status;
    execvp(command[0], command);
    return pto_error_set(err, PTO_ERR_IO, "%s: %s", command[0], strerror(errno));
}

/* Check the strategy here, because every process of the program would report the error. */
static pto_status_t check_strategy(const char *name, pto_error_t *err) {
    const pto_strategy_t *found;
    pto_error_t cause = {0};
    if (!name || pto_strategy_find(name, &found, &cause) == PTO_OK)
        return PTO_OK;
    return pto_error_set(err, cause.status, "--strategy: %s", cause.message);
}

/* Whether there is no machine file yet, which --calibrate then writes. */
static bool lacks_machine(const char *name) {
    char *path = NULL;
    bool found = pto_find_machine(name, NULL, &path, NULL) == PTO_OK;
    free(path);
    return !found && access(name, F_OK) != 0;
}

/* Returns -1, or the exit code after printing the error. */
static int check_calibration(const run_t *run, int separator) {
    if (!run->calibrate)
        return -1;
    if (separator < 0)
        return pto_usage_error(
            &syntax, "--calibrate needs a -- between launcher and program: -- mpirun ... -- PROGRAM ...");
    if (lacks_machine(run->machine) && !pto_text_ends(run->machine, ".yaml"))
        return pto_usage_error(
            &syntax,
            "--calibrate writes the machine file, whose name must end with .yaml (--machine %s.yaml)",
            run->machine);
    return -1;
}

/* `command` ends with NULL. */
static int run_command(const run_t *run, char **command) {
    const int separator = find_separator(command);
    const calibration_t calibration = {run, command, separator};
    pto_error_t err = {0};
    int code = check_calibration(run, separator);
    if (code >= 0)
        return code;
    if (run->calibrate)
        remove_word(command, separator);
    pto_status_t status = run->calibrate && lacks_machine(run->machine)
                              ? run_and_calibrate(&calibration, &code, &err)
                              : start(run, command, &err);
    return status == PTO_OK ? code : pto_report_error(&err);
}

static int run_program(const pto_arguments_t *arguments) {
    run_t run = {.machine = getenv("PORTOLAN_MACHINE")};
    pto_error_t err = {0};
    if (pto_arguments_apply(arguments, &run, &err) != PTO_OK || check_strategy(run.strategy, &err) != PTO_OK)
        return pto_usage_error(&syntax, "%s", err.message);
    if (!run.machine)
        return pto_usage_error(&syntax,
                               "--machine is missing; `portolan list machines` shows those that are known");
    if (arguments->operand_count == 0)
        return pto_usage_error(&syntax, "no command: portolan run --machine NAME -- mpirun ... PROGRAM");
    char **command = calloc((size_t)arguments->operand_count + 1, sizeof *command);
    if (!command)
        return pto_report_error(&(pto_error_t){.status = PTO_ERR_MEMORY, .message = "out of memory"});
    memcpy(command, arguments->operand, (size_t)arguments->operand_count * sizeof *command);
    int code = run_command(&run, command);
    free(command);
    return code;
}

const pto_command_t pto_command_start = {
    .name = "run",
    .summary = "start a program of MPI or NCCL with the cheapest routes under it",
    .syntax = &syntax,
    .run = run_program,
};
