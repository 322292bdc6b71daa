/* The values of the options that commands on scenarios share: the scenario, what overrides it, and the
 * output. A command with more options has a struct of its own, which begins with this one. The functions read
 * the scenario and the machine, apply the options, and bind the scenario to the machine. */
#ifndef PTO_OPTIONS_H
#define PTO_OPTIONS_H

#include "arguments.h"
#include "bandwidth.h"
#include "portolan/pick.h"

typedef enum { PTO_FORMAT_TABLE, PTO_FORMAT_CSV, PTO_FORMAT_JSON, PTO_FORMAT_COUNT } pto_format_t;

typedef struct pto_options pto_options_t;

/* How a run differs from the command line, for commands that predict several times with changes: two sweeps
 * (show/sweeps.h) and upgrades. Either function may be NULL. */
typedef struct {
    /* Called after the arguments are applied, to change sweeps and what-ifs. */
    pto_status_t (*ask)(void *context, pto_options_t *options, pto_error_t *err);
    /* Called after the machine is read and the what-ifs are applied, to change the machine. */
    pto_status_t (*change)(void *context, pto_options_t *options, pto_error_t *err);
    void *context;
} pto_variant_t;

struct pto_options {
    pto_variant_t variant;   /* set before the arguments are applied */
    pto_scenario_t scenario; /* checked, and bound to the machine */
    pto_machine_t *machine;  /* as read, then changed by `model` and `what_if` */
    const char *mpi;         /* --mpi, borrowed from argv; NULL: the machine file's */
    const char *model;       /* --model, borrowed from argv; NULL: full */
    const char **what_if;    /* --what-if, each borrowed from argv */
    int what_if_count;
    const char *out; /* NULL, "-": standard output, or no file; borrowed from argv */
    bool force;
    bool by_option;      /* an option is to blame for the error: see pto_options_fail */
    bool has_strategies; /* --strategy has replaced the scenario's */
    bool bytes_given;    /* --bytes */
    bool compare;        /* the machine before and after --what-if */
    bool two_sweeps;     /* two quantities are swept (show/sweeps.h) */
    /* tables */
    bool ci, all;
    pto_format_t format;
    pto_by_t by;
    pto_bandwidth_t bandwidth;
    /* workloads */
    pto_texts_t grid;     /* --grid: sizes of dimensions; the others are the workload's */
    double compute_scale; /* of the workload's computation; 0: not given */
};

/* Apply `arguments` to `options`, which must be zeroed, then read and bind the scenario and the machine.
 * Returns -1 on success; otherwise the exit code, after printing the error. */
int pto_options_finish(const pto_arguments_t *arguments, pto_options_t *options);

/* The same, but errors are returned instead of printed, and the caller always calls pto_options_fini. */
pto_status_t pto_options_open(const pto_arguments_t *arguments, pto_options_t *options, pto_error_t *err);
void pto_options_fini(pto_options_t *options);

/* Apply `arguments` of a command on a machine and measured collectives to a struct that begins with
 * `options`, which must be zeroed, and read and change the machine. Returns -1, or the exit code after
 * printing the error; the caller calls pto_options_fini in both cases. */
int pto_options_machine(const pto_arguments_t *given, pto_options_t *options);

/* Read the machine, change it by `model` and `what_if`, and bind the scenario to it. Returns -1, or the exit
 * code after printing the error. */
int pto_options_bind(pto_options_t *options);

/* Replace scenario->machine_path, as the file at `path` names it, by the path of the machine file, which is
 * looked up beside that file first, then as for --machine. */
pto_status_t pto_options_find_machine(pto_scenario_t *scenario, const char *path, pto_error_t *err);

/* Whether a what-if names several values: PARAMETER=A,B or PARAMETER=FROM:TO. */
bool pto_what_if_is_range(const char *what_if);

/* Apply `model` and `what_if`, once the machine has been read. */
pto_status_t pto_options_change(pto_options_t *options, pto_error_t *err);

/* Apply `arguments` to a command's own struct. Returns -1, or the exit code after printing the error. */
int pto_options_apply(const pto_arguments_t *arguments, void *target);

/* For a command whose output, called `what` in the error, is about one strategy. Returns -1, or the exit code
 * after printing the error if the scenario has several. */
int pto_options_one_strategy(const pto_options_t *options, const pto_syntax_t *syntax, const char *what);

/* Whether --out names a file: without it, and with -, the output goes to standard output. */
bool pto_options_name_file(const pto_options_t *options);

/* For a command that prints a table and writes the file of this option: `path` must not be -, which is
 * standard output. Returns -1, or the exit code after printing the error. */
int pto_refuse_standard_output(const pto_syntax_t *syntax, const char *option, const char *path);

/* Writes something to a stream. */
typedef pto_status_t pto_write_t(void *context, FILE *stream, pto_error_t *err);

/* Call `write` with the stream of a new file, replacing an existing one if `force`. A failure leaves no new
 * file. */
pto_status_t pto_write_file(const char *path, bool force, pto_write_t *write, void *context,
                            pto_error_t *err);

/* The same for --out, or with standard output. */
pto_status_t pto_options_write(const pto_options_t *options, pto_write_t *write, void *context,
                               pto_error_t *err);

/* Flush standard output. Returns the exit code; prints an error if not everything could be written. */
int pto_flush_output(void);

/* Print an error of a command that has these options. Returns PTO_EXIT_USAGE if an option is to blame
 * (`by_option`), else PTO_EXIT_ERROR. A file that an option names may be unreadable or wrong, which is not
 * wrong usage. */
int pto_options_fail(const pto_options_t *options, const pto_error_t *err);

/* Print "file:line:column: message" (or "portolan: message") to standard error; returns PTO_EXIT_ERROR. */
int pto_report_error(const pto_error_t *err);

#endif
