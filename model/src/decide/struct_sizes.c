/* Sizes of structs, which programs in other languages compare with their own declarations: all that the
 * Python module declares (python/portolan/_declarations.py). */
#include <stddef.h>

#include "portolan/api.h"
#include "portolan/fit.h"
#include "portolan/pick.h"
#include "portolan/workload.h"

#define STRUCT_TABLE(X)                                                                                      \
    X(pto_error_t)                                                                                           \
    X(pto_struct_size_t)                                                                                     \
    X(pto_param_t)                                                                                           \
    X(pto_machine_param_t)                                                                                   \
    X(pto_library_rule_t)                                                                                    \
    X(pto_layout_t)                                                                                          \
    X(pto_rank_t)                                                                                            \
    X(pto_place_t)                                                                                           \
    X(pto_series_t)                                                                                          \
    X(pto_grid_t)                                                                                            \
    X(pto_counts_t)                                                                                          \
    X(pto_placed_t)                                                                                          \
    X(pto_mapping_t)                                                                                         \
    X(pto_pair_ends_t)                                                                                       \
    X(pto_halo_t)                                                                                            \
    X(pto_staged_t)                                                                                          \
    X(pto_library_choice_t)                                                                                  \
    X(pto_scenario_t)                                                                                        \
    X(pto_dimension_t)                                                                                       \
    X(pto_communicators_t)                                                                                   \
    X(pto_workload_call_t)                                                                                   \
    X(pto_workload_t)                                                                                        \
    X(pto_strategy_t)                                                                                        \
    X(pto_algorithm_t)                                                                                       \
    X(pto_extrapolation_t)                                                                                   \
    X(pto_price_t)                                                                                           \
    X(pto_term_t)                                                                                            \
    X(pto_explanation_t)                                                                                     \
    X(pto_energy_part_t)                                                                                     \
    X(pto_energy_t)                                                                                          \
    X(pto_setup_t)                                                                                           \
    X(pto_prediction_t)                                                                                      \
    X(pto_more_procs_t)                                                                                      \
    X(pto_predictions_t)                                                                                     \
    X(pto_settle_t)                                                                                          \
    X(pto_range_t)                                                                                           \
    X(pto_ask_t)                                                                                             \
    X(pto_step_call_t)                                                                                       \
    X(pto_step_end_t)                                                                                        \
    X(pto_step_route_t)                                                                                      \
    X(pto_step_prediction_t)                                                                                 \
    X(pto_provenance_t)                                                                                      \
    X(pto_sample_t)                                                                                          \
    X(pto_samples_t)                                                                                         \
    X(pto_collective_row_t)                                                                                  \
    X(pto_collectives_t)                                                                                     \
    X(pto_node_counts_t)                                                                                     \
    X(pto_fit_breaks_t)                                                                                      \
    X(pto_fit_options_t)                                                                                     \
    X(pto_fit_entry_t)                                                                                       \
    X(pto_fit_t)                                                                                             \
    X(pto_fit_collective_t)                                                                                  \
    X(pto_fit_collectives_t)

const pto_struct_size_t *pto_struct_sizes(void) {
    static const pto_struct_size_t sizes[] = {
#define STRUCT_SIZE(type) {#type, sizeof(type)},
        STRUCT_TABLE(STRUCT_SIZE)
#undef STRUCT_SIZE
            {NULL, 0}};
    return sizes;
}
