/* Declarations shared by portolan-validate's files: its options, one cell of its table, and how these are
 * shown. */
#ifndef PTO_VALIDATE_H
#define PTO_VALIDATE_H

#include <stdio.h>

#include "command_line/validate_options.h"
#include "energy.h"
#include "portolan/exec_mpi.h"
#include "row_file.h"

typedef struct {
    pto_validate_options_t options;
    int world_rank;
    const pto_device_t *device; /* this and what follows: what the options name */
    pto_op_t op;
    pto_exec_options_t exec;
    bool chunked;     /* whether any of the strategies sends in chunks */
    energy_job_t job; /* where energy or powers are measured: what can be read */
} settings_t;

/* Either nodes: of a gather and of a broadcast. */
enum { CHOSEN_MAX = 2 };

/* One strategy at one point. The samples are rank 0's. */
typedef struct {
    const pto_strategy_t *strategy;
    const pto_algorithm_t *algorithm;
    int64_t chunks;                        /* of a chunked strategy; else 0 */
    pto_staged_t staged_members;           /* of a strategy that stages; else 0 */
    pto_exec_choices_t chosen[CHOSEN_MAX]; /* of a plan with either nodes, in the timed runs */
    int chosen_count;
    bool by_library;
    bool windows; /* NCCL's buffers are its symmetric windows, which no machine file prices */
    char reason[PTO_ERROR_MESSAGE_MAX]; /* why it does not apply; empty: it does */
    double predicted_s;
    double setup_s; /* making the executor, once: the slowest process */
    bool has_predicted_setup;
    double predicted_setup_s;
    double kernel_s;  /* of a pattern: the kernel alone, with a wait; the samples are what the rest adds */
    double enqueue_s; /* of a call of pto_exec_enqueue, median of the repeats; 0: not measured */
    double *sample_s; /* one a repeat, the slowest process's, of one run, in the order measured */
    int sample_count;
    double least_s;
    double median_s;
    double low_s; /* 95 percent interval of the median */
    double high_s;
    int energy_runs;             /* 0: the energy was not measured */
    double joules[ENERGY_COUNT]; /* of one run, of the sources that can be read */
    double energy_run_s;         /* how long each of these runs took, with its barrier */
    bool has_predicted_joules;
    double predicted_joules; /* of the same sources */
} cell_t;

/* agree.c: whether all processes have the same settings, points and number of strategies. Collective, as is
 * its error, PTO_ERR_RANGE with the first that differs. */
pto_status_t compare_settings(const settings_t *settings, const pto_options_t *options, int strategies,
                              pto_error_t *err);

/* measure.c: how long a process may be about its own work, making plans or comparing results. */
double local_limit_s(void);
/* Run the cell's plan, correctness first. Collective. `point` seeds the inputs. */
pto_status_t measure_cell(const settings_t *settings, const pto_plan_t *plan, int64_t point, cell_t *cell,
                          pto_error_t *err);

/* energy_report.c: whether the settings ask for counters, open them and say what can be read. Collective.
 * False where they are asked for and nothing can be read, which rank 0 has said. */
bool energy_begin(settings_t *settings, const pto_options_t *options);
/* A comment line for each source, and the columns' names and values in the table. */
void report_sources(FILE *file, const settings_t *settings);
void report_energy_heading(FILE *file, const settings_t *settings);
void report_energy(FILE *file, const settings_t *settings, const cell_t *cell);
/* `# key=value` lines. */
void csv_energy_header(FILE *file, const settings_t *settings);
/* Returns the joules of one run, summed over all that can be read. */
double energy_total(const settings_t *settings, const cell_t *cell);

/* powers.c: measure the powers that machine files hold, and print them as such a file has them. Collective.
 */
pto_status_t measure_powers(const settings_t *settings, const pto_options_t *options, FILE *file,
                            pto_error_t *err);

/* Returns the name of the cell's strategy in tables and files. */
const char *cell_name(const cell_t *cell);

/* report.c, on rank 0. */
/* Warns if processes share GPUs in another way than when the machine's costs were measured. */
void warn_of_mps(const pto_options_t *options, const settings_t *settings);
/* Warns if runs begin and end in another way than then. */
void warn_of_runs(const pto_options_t *options, const settings_t *settings);
void report_header(FILE *file, const pto_options_t *options, const settings_t *settings);
void report_point(FILE *file, const settings_t *settings, const pto_request_t *request, const cell_t *cells,
                  int count);
/* The last line, without which a table was cut off: a launcher may lose output without an error. */
void report_end(FILE *file, int64_t points);
/* `# key=value` lines and the columns' names, then one row a sample. */
void csv_header(FILE *file, const pto_options_t *options, const settings_t *settings, int argc, char **argv);
void csv_cell(FILE *file, const pto_options_t *options, const settings_t *settings,
              const pto_request_t *request, const cell_t *cell);

#endif
