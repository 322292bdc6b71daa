/* The functions that fit the parts of a machine, called by fit.c in order, and those that they share. */
#ifndef PTO_FIT_PARTS_H
#define PTO_FIT_PARTS_H

#include "entries.h"
#include "segments.h"

/* Each fits one part and adds its entries, absent ones if there are too few samples. Errors: work->status. */
void fit_messages(fit_work_t *work, pto_space_t space, pto_level_t level);
void fit_mixed_messages(fit_work_t *work, pto_space_t to, pto_level_t level);
void fit_injection(fit_work_t *work, pto_space_t space);
void fit_message_rate(fit_work_t *work, pto_space_t space);
void fit_copies(fit_work_t *work);
void fit_shared_copies(fit_work_t *work);
void fit_gaps(fit_work_t *work, pto_space_t space);
void fit_latency(fit_work_t *work, pto_space_t space); /* after the gaps */
void fit_reduce(fit_work_t *work, pto_space_t space);
void fit_extra_input(fit_work_t *work, pto_space_t space);
void fit_remote(fit_work_t *work);
void fit_times(fit_work_t *work);
void fit_host_memory(fit_work_t *work);
void fit_both_ways(fit_work_t *work, pto_space_t space);
void fit_staged_messages(fit_work_t *work);
void fit_setup(fit_work_t *work);
void fit_runs(fit_work_t *work);
void fit_nccl(fit_work_t *work);
void fit_nccl_structure(fit_work_t *work);

/* Fit a table by numbers of GPUs and nodes, each in pieces by size. */
void fit_by_gpus(fit_work_t *work, pto_benchmark_t benchmark, pto_cost_table_t *cost);

/* Append a row like `like`, fitted to the points in its range. False: they allow none; there is no row. */
bool fit_cost_row(fit_work_t *work, const char *name, const fit_points_t *points, const pto_cost_row_t *like,
                  pto_cost_table_t *cost);

/* Completes the k-th of a table's rows, and names it in the report by the table's key. */
typedef void (*fit_row_name_t)(const char *key, int k, pto_cost_row_t *row, char name[PTO_FIT_NAME_MAX]);

/* Names by the row's range of bytes, or by all that distinguishes it from the table's other rows. */
void fit_name_range(const char *key, int k, pto_cost_row_t *row, char name[PTO_FIT_NAME_MAX]);
void fit_name_row(const char *key, int k, pto_cost_row_t *row, char name[PTO_FIT_NAME_MAX]);

/* Append a row like `like` to `cost` for each piece between the breaks; none if one cannot be fitted. */
void fit_rows(fit_work_t *work, const fit_points_t *points, const fit_breaks_t *breaks,
              const pto_cost_row_t *like, fit_row_name_t name, pto_cost_table_t *cost);

/* fit_find_breaks; none after an error. */
fit_breaks_t fit_breaks_of(fit_work_t *work, const fit_points_t *points, int max_pieces);

/* Fit a cost by size in up to FIT_PIECE_MAX rows, from points sorted by bytes. */
void fit_cost(fit_work_t *work, const fit_points_t *points, pto_cost_table_t *cost);

/* Fit the robust centre of times that do not depend on size. No entry if there are no samples. */
void fit_time(fit_work_t *work, pto_benchmark_t benchmark, pto_param_t *param);

#endif
