/* The program first, as if this command were not there, so that nothing that goes wrong in a measurement can
 * harm it. Then portolan-calibrate with the same launcher, on the processors and GPUs that the program had,
 * and portolan fit, which writes the machine file as a whole or not at all, and never over another one. */
#define _XOPEN_SOURCE 700 /* sigaction, strdup */
#include "run_calibrate.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command_line/machine_folders.h"
#include "portolan/printable.h"

static const char ending[] = ".yaml";
enum { SIGNALED = 128, NOT_STARTED = 127 };

/* --- one process after the other ------------------------------------------------------------------------ */

static volatile sig_atomic_t child, received;

/* The terminal sends its signals to the child as well. What SIGUSR1 and SIGUSR2 mean is known to the child
 * alone, such as to write a checkpoint: neither ends it. */
static void pass_on(int number) {
    if (number != SIGUSR1 && number != SIGUSR2)
        received = number;
    if (child > 0 && number != SIGINT && number != SIGQUIT)
        kill((pid_t)child, number);
}

static const int passed[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
enum { PASSED = sizeof passed / sizeof *passed };

/* The effect of signals, for the child. */
typedef struct {
    struct sigaction passed[PASSED];
    struct sigaction child; /* where it is ignored, waitpid finds no exit code */
    sigset_t mask;
} signals_t;

static void catch_signals(signals_t *before) {
    struct sigaction action;
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before->mask); /* none is lost before the child is known */
    memset(&action, 0, sizeof action);
    action.sa_handler = SIG_DFL;
    sigaction(SIGCHLD, &action, &before->child);
    action.sa_handler = pass_on;
    for (int i = 0; i < PASSED; i++) {
        sigaction(passed[i], NULL, &before->passed[i]);
        if (before->passed[i].sa_handler != SIG_IGN)
            sigaction(passed[i], &action, NULL);
    }
}

static void restore_signals(const signals_t *before) {
    for (int i = 0; i < PASSED; i++)
        sigaction(passed[i], &before->passed[i], NULL);
    sigaction(SIGCHLD, &before->child, NULL);
    sigprocmask(SIG_SETMASK, &before->mask, NULL);
}

/* Run a command to its end. `*code`: its exit code, as a shell has it. */
static pto_status_t run_one(char *const *command, int *code, pto_error_t *err) {
    signals_t before;
    int state = 0;
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
    while (started > 0 && waitpid(started, &state, 0) < 0 && errno == EINTR)
        continue;
    child = 0;
    restore_signals(&before);
    *code = WIFSIGNALED(state) ? SIGNALED + WTERMSIG(state) : WEXITSTATUS(state);
    return started > 0 ? PTO_OK : pto_error_set(err, PTO_ERR_IO, "fork: %s", strerror(cause));
}

/* --- names ---------------------------------------------------------------------------------------------- */

int pto_run_separator(char *const *command) {
    int at = 0;
    while (command[at] && strcmp(command[at], "--") != 0)
        at++;
    return at > 0 && command[at] && command[at + 1] ? at : -1;
}

/* Of `library`'s build, or of this one: beside it in a build folder, in bin beside lib where it is installed.
 */
static bool find_calibrate(const char *library, char path[PTO_FOLDER_MAX]) {
    static const char *const places[] = {"/portolan-calibrate", "/../bin/portolan-calibrate"};
    char folder[PTO_FOLDER_MAX];
    if (!pto_program_folder(folder))
        return false;
    const char *slash = library ? strrchr(library, '/') : NULL;
    if (library)
        snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - library) : 1, slash ? library : ".");
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (strlen(folder) + strlen(places[i]) < PTO_FOLDER_MAX) {
            snprintf(path, PTO_FOLDER_MAX, "%.900s%s", folder, places[i]);
            if (access(path, X_OK) == 0)
                return true;
        }
    return false;
}

typedef struct {
    char calibrate[PTO_FOLDER_MAX];
    char tool[PTO_FOLDER_MAX];
    char *samples; /* mine-samples.csv beside mine.yaml */
    char *name;    /* mine */
} names_t;

static void free_names(names_t *names) {
    free(names->samples);
    free(names->name);
}

static pto_status_t make_names(const pto_calibration_t *calibration, names_t *names, pto_error_t *err) {
    static const char of_samples[] = "-samples.csv";
    size_t stem = strlen(calibration->machine) - strlen(ending);
    const char *slash = strrchr(calibration->machine, '/');
    ssize_t length = readlink("/proc/self/exe", names->tool, sizeof names->tool - 1);
    if (length <= 0 || !find_calibrate(calibration->library, names->calibrate))
        return pto_error_set(err, PTO_ERR_NOT_FOUND,
                             "portolan-calibrate is not beside %s, nor in a folder bin beside its own",
                             calibration->library ? calibration->library : "this program");
    names->samples = malloc(stem + sizeof of_samples);
    names->name = strdup(slash ? slash + 1 : calibration->machine);
    if (!names->samples || !names->name)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
    memcpy(names->samples, calibration->machine, stem);
    memcpy(names->samples + stem, of_samples, sizeof of_samples);
    names->name[strlen(names->name) - strlen(ending)] = '\0';
    return PTO_OK;
}

/* --- all of it ------------------------------------------------------------------------------------------ */

static pto_status_t run_step(char *const *command, const char *what, pto_error_t *err) {
    int code = 0;
    pto_status_t status = run_one(command, &code, err);
    if (status == PTO_OK && (code != 0 || received))
        status = pto_error_set(err, PTO_ERR_IO, "%s %s", what, received ? "was interrupted" : "failed");
    return status;
}

/* The launcher's words, and behind them portolan-calibrate's. */
static pto_status_t measure(const pto_calibration_t *calibration, names_t *names, pto_error_t *err) {
    char *own[] = {names->calibrate, "--force",   "--out",
                   names->samples,   "--budget",  (char *)calibration->budget,
                   "--machine",      names->name, NULL};
    int launcher = calibration->separator;
    char **command = calloc((size_t)launcher + sizeof own / sizeof *own, sizeof *command);
    if (!command)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
    memcpy(command, calibration->command, (size_t)launcher * sizeof *command);
    memcpy(command + launcher, own, sizeof own);
    pto_status_t status = run_step(command, "portolan-calibrate", err);
    free(command);
    return status;
}

static pto_status_t fit(const pto_calibration_t *calibration, names_t *names, pto_error_t *err) {
    char *command[] = {
        names->tool, "fit", names->samples, "--name", names->name, "--out", (char *)calibration->machine,
        NULL};
    pto_status_t status = run_step(command, "portolan fit", err);
    if (status != PTO_OK && !received && access(calibration->machine, F_OK) != 0)
        return pto_error_set(err, status, "portolan fit failed; a larger --calibrate takes more samples");
    return status;
}

static pto_status_t calibrate(const pto_calibration_t *calibration, pto_error_t *err) {
    names_t names = {.samples = NULL};
    char name[PTO_ERROR_FILE_MAX];
    fprintf(stderr, "portolan: calibrating for %s, with at most %s s for each benchmark\n",
            pto_escape_text(calibration->machine, name, sizeof name), calibration->budget);
    pto_status_t status = make_names(calibration, &names, err);
    if (status == PTO_OK)
        status = measure(calibration, &names, err);
    if (status == PTO_OK)
        status = fit(calibration, &names, err);
    free_names(&names);
    return status;
}

static pto_status_t run_program(const pto_calibration_t *calibration, int *code, pto_error_t *err) {
    int separator = calibration->separator, count = separator;
    while (calibration->command[count])
        count++;
    char **command = calloc((size_t)count + 1, sizeof *command);
    if (!command)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
    memcpy(command, calibration->command, (size_t)separator * sizeof *command);
    memcpy(command + separator, calibration->command + separator + 1,
           (size_t)(count - separator - 1) * sizeof *command);
    pto_status_t status = run_one(command, code, err);
    free(command);
    return status;
}

pto_status_t pto_run_and_calibrate(const pto_calibration_t *calibration, int *exit_code, pto_error_t *err) {
    pto_error_t cause = {0};
    char name[PTO_ERROR_FILE_MAX];
    pto_escape_text(calibration->machine, name, sizeof name);
    fprintf(stderr, "portolan: there is no %s yet: all collectives of this run are left to MPI\n", name);
    pto_status_t status = run_program(calibration, exit_code, err);
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
