/* Declarations shared by portolan-validate's files: its settings, cells and the functions of each file. A
 * cell is one strategy at one point (such as a size) of the scenario: a row of the printed table. */
#ifndef PTO_VALIDATE_H
#define PTO_VALIDATE_H

#include <stdio.h>

#include "command_line/validate_options.h"
#include "energy.h"
#include "portolan/exec_mpi.h"
#include "row_file.h"

typedef struct {
    pto_validate_options_t options;
    int world_rank; /* in MPI_COMM_WORLD */
    /* Derived from the options: */
    const pto_device_t *device;
    pto_op_t op;
    pto_exec_options_t exec;
    bool chunked;     /* some strategy sends in chunks */
    energy_job_t job; /* the energy counters, if energy or powers are measured */
} settings_t;

/* Maximum number of nodes of a plan at which a policy chooses at run time: one of a gather, one of a
 * broadcast. */
enum { CHOSEN_MAX = 2 };

/* What is run, and its result. A repeat is what is timed as one: one run, or several in a row; its time is
 * divided by their number. */
typedef struct {
    const pto_strategy_t *strategy;
    const pto_algorithm_t *algorithm;
    int64_t chunks;                        /* of a chunked strategy; otherwise 0 */
    pto_staged_t staged_members;           /* of a strategy that stages; otherwise 0 */
    pto_exec_choices_t chosen[CHOSEN_MAX]; /* how many members the policy staged in the timed runs */
    int chosen_count;
    bool by_library; /* the MPI library's own collective does it */
    bool windows;    /* the buffers are NCCL's symmetric windows, which no machine file prices */
    char reason[PTO_ERROR_MESSAGE_MAX]; /* why the strategy does not apply; empty: it does */
    double predicted_s;
    double setup_s; /* time to create the executor, of the slowest process */
    bool has_predicted_setup;
    double predicted_setup_s;
    double kernel_s;  /* of a pattern: median time of the kernel alone, which the samples do not include */
    double enqueue_s; /* median time of a call of pto_exec_enqueue or of a graph launch; 0: not measured */
    double *sample_s; /* on rank 0, by repeat: the time of a run, of the slowest process */
    int sample_count;
    double least_s, median_s;    /* of the samples */
    double low_s, high_s;        /* 95 percent interval of the median */
    int energy_runs;             /* runs during which energy was measured; 0: none */
    double joules[ENERGY_COUNT]; /* of one run, by source */
    double energy_run_s;         /* time of each of these runs, with its barrier */
    bool has_predicted_joules;
    double predicted_joules; /* of one run, all sources that are read */
} cell_t;

/* agree.c. Collective. Errors, on all processes: PTO_ERR_RANGE with the first setting, number of points or
 * number of strategies that differs. */
pto_status_t compare_settings(const settings_t *settings, const pto_options_t *options, int strategies,
                              pto_error_t *err);

/* measure.c. Time limit of a process's local work, such as creating plans or comparing results. */
double local_limit_s(void);
/* Collective. Check the results of the cell's plan, then measure it. `point` seeds the inputs. */
pto_status_t measure_cell(const settings_t *settings, const pto_plan_t *plan, int64_t point, cell_t *cell,
                          pto_error_t *err);

/* energy_report.c. Collective. Opens the energy counters if the settings need them. False: none can be read,
 * and rank 0 has printed the reason. */
bool energy_begin(settings_t *settings, const pto_options_t *options);
/* Print a comment line for each source; the columns' names; their values. */
void report_sources(FILE *file, const settings_t *settings);
void report_energy_heading(FILE *file, const settings_t *settings);
void report_energy(FILE *file, const settings_t *settings, const cell_t *cell);
/* Print `# key=value` lines. */
void csv_energy_header(FILE *file, const settings_t *settings);
/* Returns the joules of one run, summed over all that can be read. */
double energy_total(const settings_t *settings, const cell_t *cell);

/* powers.c. Collective. Measure the powers of a machine file, and print them in its format. */
pto_status_t measure_powers(const settings_t *settings, const pto_options_t *options, FILE *file,
                            pto_error_t *err);

/* Returns the name of the cell's strategy in tables and files. */
const char *cell_name(const cell_t *cell);

/* report.c, on rank 0. */
/* Warn if MPS is used and was not when the machine's costs were measured, or vice versa. */
void warn_of_mps(const pto_options_t *options, const settings_t *settings);
/* Warn if runs are waited for, enqueued or in graphs, and were not when the costs were measured. */
void warn_of_runs(const pto_options_t *options, const settings_t *settings);
void report_header(FILE *file, const pto_options_t *options, const settings_t *settings);
void report_point(FILE *file, const settings_t *settings, const pto_request_t *request, const cell_t *cells,
                  int count);
/* Prints the last line. Without it a reader knows that a launcher has cut the output off. */
void report_end(FILE *file, int64_t points);
/* Write `# key=value` lines and the columns' names; write a row for each sample. */
void csv_header(FILE *file, const pto_options_t *options, const settings_t *settings, int argc, char **argv);
void csv_cell(FILE *file, const pto_options_t *options, const settings_t *settings,
              const pto_request_t *request, const cell_t *cell);

#endif
