/* Functions that the files of this folder share: reports of errors, byte counts, layouts and grids. */
#ifndef PTO_SCENARIO_CHECK_H
#define PTO_SCENARIO_CHECK_H

#include "portolan/workload.h"

/* Sets `err` to a fault of a field, with its place in the file if it has one. Returns `status`. */
pto_status_t pto_scenario_refuse(const pto_scenario_t *scenario, pto_scenario_field_t field,
                                 pto_status_t status, pto_error_t *err, const char *format, ...)
    PTO_PRINTF_LIKE(5, 6);

/* Reports an error at a field of `scenario` in `err`, both of the caller. Returns the status. */
#define PTO_REFUSE_FIELD(field, status, ...)                                                                 \
    pto_scenario_refuse(scenario, PTO_FIELD_##field, PTO_ERR_##status, err, __VA_ARGS__)

/* Reports the error of a call at its place in the workload's file, if it has none yet. Returns its status. */
pto_status_t pto_workload_call_error(const pto_workload_t *workload, const pto_workload_call_t *call,
                                     const pto_error_t *fault, pto_error_t *err);

/* Checks that at most one of bytes, nodes and messages has several values. Errors: PTO_ERR_RANGE. */
pto_status_t pto_scenario_check_one_sweep(const pto_scenario_t *scenario, pto_error_t *err);

/* Lists in `peer` the owners to which `source` may send bytes, itself included, each once. `count`: the
 * number of all owners. Returns the number of those listed. */
int64_t pto_counts_peers(const pto_counts_t *counts, int64_t count, int64_t source, int64_t *peer);

/* Returns the maximum number of owners that pto_counts_peers lists. */
int64_t pto_counts_partners(const pto_counts_t *counts, int64_t count);

/* Like pto_counts_read_matrix, but of a traffic file only the rows whose bytes are sent from this memory
 * space; -1: all rows. */
pto_status_t pto_counts_read_space(const char *path, int space, pto_counts_t *counts, pto_error_t *err);

/* Returns whether the first line that is not a comment begins with the column `source`. */
bool pto_pair_rows_begin(const char *text, size_t text_size);

/* Like pto_counts_parse_matrix, for a file of rows. Only rows whose `source_space` is `space` count; -1: all.
 * Sets no path in `counts`. */
pto_status_t pto_pair_rows_parse(const char *text, size_t text_size, const char *path, int space,
                                 pto_counts_t *counts, pto_error_t *err);

/* pto_counts_bytes for stencils and groups. */
int64_t pto_pattern_bytes(const pto_counts_t *counts, int64_t bytes, int64_t source, int64_t destination);

/* Completes what a layout leaves open, and sets gpus_per_socket. `procs_per_node` 0: not given. Errors:
 * PTO_ERR_RANGE if the layout names GPUs and the data are in host memory, or the reverse. */
pto_status_t pto_layout_complete(pto_layout_t *layout, pto_data_memory_t memory, int64_t procs_per_node,
                                 const pto_machine_t *machine, pto_error_t *err);

/* Checks a complete layout: its numbers are consistent, the bytes on it can be counted, and a matrix or a
 * grid has as many processes as there are owners. */
pto_status_t pto_scenario_check_layout(const pto_scenario_t *scenario, const pto_layout_t *layout,
                                       pto_error_t *err);

/* Sets the number of a grid's dimensions, from one of the keys dims, wrap and extent. Errors: PTO_ERR_RANGE
 * if another key has given a different number, or if it is not 2 or 3. */
pto_status_t pto_scenario_set_dimensions(pto_halo_t *grid, int count, pto_error_t *err);

/* Parses one number for each dimension of a grid, as in 4x4 or 1,0. Errors: those of
 * pto_scenario_set_dimensions, and PTO_ERR_TYPE. */
pto_status_t pto_scenario_parse_dimensions(const char *text, char separator, pto_halo_t *grid,
                                           int64_t *number, pto_error_t *err);

#endif
