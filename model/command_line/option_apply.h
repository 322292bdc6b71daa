/* Words and functions of the rows of option_table.c. */
#ifndef PTO_OPTION_APPLY_H
#define PTO_OPTION_APPLY_H

#include "portolan/scenario.h"

/* Numbers of nodes, as --nodes takes them. Errors: PTO_ERR_TYPE, _RANGE, _MEMORY. */
pto_status_t pto_nodes_parse(const char *text, pto_series_t *nodes, pto_error_t *err);

/* Returns the words that an option knows; NULL behind the last one. */
const char *pto_option_by_at(int i);
const char *pto_option_format_at(int i);
const char *pto_option_plan_format_at(int i);
const char *pto_option_library_at(int i);
const char *pto_option_mapper_at(int i);
const char *pto_option_metric_at(int i);
const char *pto_option_server_at(int i);
const char *pto_option_model_at(int i);
const char *pto_option_phase_at(int i);
const char *pto_option_spaces_at(int i);
const char *pto_option_strategy_at(int i);

/* Apply an option's text to a pto_options_t. */
pto_status_t pto_option_apply_bytes(void *target, const char *text, pto_error_t *err);
pto_status_t pto_option_apply_collective(void *target, const char *text, pto_error_t *err);
pto_status_t pto_option_apply_counts(void *target, const char *text, pto_error_t *err);
pto_status_t pto_option_apply_dims(void *target, const char *text, pto_error_t *err);
pto_status_t pto_option_apply_energy(void *target, const char *text, pto_error_t *err);
pto_status_t pto_option_apply_extent(void *target, const char *text, pto_error_t *err);
pto_status_t pto_option_apply_library(void *target, const char *text, pto_error_t *err);
pto_status_t pto_option_apply_machine(void *target, const char *text, pto_error_t *err);
pto_status_t pto_option_apply_messages(void *target, const char *text, pto_error_t *err);
pto_status_t pto_option_apply_nodes(void *target, const char *text, pto_error_t *err);
pto_status_t pto_option_apply_placement(void *target, const char *text, pto_error_t *err);
pto_status_t pto_option_apply_rank(void *target, const char *text, pto_error_t *err);
pto_status_t pto_option_apply_refine(void *target, const char *text, pto_error_t *err);
pto_status_t pto_option_apply_seed(void *target, const char *text, pto_error_t *err);
pto_status_t pto_option_apply_spaces(void *target, const char *text, pto_error_t *err);
pto_status_t pto_option_apply_split(void *target, const char *text, pto_error_t *err);
pto_status_t pto_option_apply_staged(void *target, const char *text, pto_error_t *err);
pto_status_t pto_option_apply_strategy(void *target, const char *text, pto_error_t *err);
pto_status_t pto_option_apply_progress(void *target, const char *text, pto_error_t *err);
pto_status_t pto_option_apply_what_if(void *target, const char *text, pto_error_t *err);
pto_status_t pto_option_apply_wrap(void *target, const char *text, pto_error_t *err);

#endif
