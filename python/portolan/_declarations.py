"""Written by tools/python_declarations.py from the public headers."""

from ctypes import *

VERSION = "0.1.0"
PTO_ERR_IO = -2
PTO_OP_AVG = 4
PTO_OP_MAX = 3
PTO_OP_MIN = 2
PTO_OP_PROD = 1
PTO_OP_SUM = 0
PTO_ROLE_IN = 0
PTO_ROLE_OUT = 1


class pto_ask_t(Structure):
    _fields_ = [("collective", c_char_p), ("strategy", c_char_p), ("datatype", c_char_p), ("bytes", c_int64),
                ("nodes", c_int64), ("gpus_per_node", c_int64), ("procs_per_gpu", c_int64), ("procs_per_node", c_int64)]


class pto_pair_ends_t(Structure):
    _fields_ = [("from_host", c_bool), ("to_host", c_bool), ("both_ways", c_bool)]


class pto_halo_t(Structure):
    _fields_ = [("dim_count", c_int), ("dims", (c_int64 * 3)), ("wrap", (c_bool * 3)), ("extent", (c_int64 * 3)),
                ("width", c_int64), ("corners", c_int)]


class pto_collective_row_t(Structure):
    _fields_ = [("seconds", c_double), ("joules", c_double), ("bytes", c_int64), ("collective", c_int),
                ("implementation", c_int), ("datatype", c_int), ("nodes", c_int32), ("gpus_per_node", c_int32),
                ("procs_per_gpu", c_int32), ("owners_per_gpu", c_int32), ("run", c_int32), ("file", c_int32),
                ("chunks", c_int32), ("staged_in", c_int32), ("staged_out", c_int32), ("distance", c_int),
                ("ends", pto_pair_ends_t), ("halo", pto_halo_t), ("strategy", c_int16), ("algorithm", c_int16)]


class pto_provenance_t(Structure):
    _fields_ = [("key", c_char_p), ("value", c_char_p), ("file", c_int), ("line", c_int)]


class pto_collectives_t(Structure):
    _fields_ = [("count", c_size_t), ("capacity", c_size_t), ("row", POINTER(pto_collective_row_t)),
                ("name_count", c_int), ("name", POINTER(c_void_p)), ("provenance_count", c_int),
                ("provenance", POINTER(pto_provenance_t)), ("file_count", c_int), ("path", POINTER(c_void_p))]


class pto_error_t(Structure):
    _fields_ = [("status", c_int), ("line", c_int), ("column", c_int), ("file", (c_char * 256)),
                ("message", (c_char * 512))]


class pto_fit_collective_t(Structure):
    _fields_ = [("name", (c_char * 64)), ("value", c_double), ("gain", c_double)]


class pto_fit_collectives_t(Structure):
    _fields_ = [("machine", c_void_p), ("parameter_count", c_int), ("parameter", (pto_fit_collective_t * 12)),
                ("badness", c_double), ("interrupted", c_bool)]


class pto_fit_breaks_t(Structure):
    _fields_ = [("given", c_bool), ("count", c_int), ("below_bytes", (c_int64 * 2))]


class pto_fit_options_t_node(Structure):
    _fields_ = [("sockets", c_int64), ("gpus", c_int64), ("cores", c_int64), ("no_gpus", c_bool)]


class pto_fit_options_t(Structure):
    _fields_ = [("breaks", ((pto_fit_breaks_t * 4) * 2)), ("minima", c_bool), ("inherits", c_char_p),
                ("node", pto_fit_options_t_node)]


class pto_param_t(Structure):
    _fields_ = [("value", c_double), ("low", c_double), ("high", c_double), ("has_interval", c_bool), ("file", c_uint8),
                ("line", c_int)]


class pto_fit_entry_t(Structure):
    _fields_ = [("name", (c_char * 64)), ("kind", c_int), ("alpha_s", pto_param_t), ("beta_s_per_byte", pto_param_t),
                ("from_bytes", c_int64), ("below_bytes", c_int64), ("sample_count", c_int64), ("residual", c_double),
                ("left_out", c_bool), ("note", (c_char * 160))]


class pto_fit_t(Structure):
    _fields_ = [("machine", c_void_p), ("entry_count", c_int), ("entry", POINTER(pto_fit_entry_t))]


class pto_machine_param_t(Structure):
    _fields_ = [("key", (c_char * 80)), ("group", (c_char * 80)), ("param", POINTER(pto_param_t)),
                ("partner", POINTER(pto_param_t)), ("unit", c_int), ("number", POINTER(c_int64)), ("flagged", c_char_p),
                ("measured_only", c_bool)]


class pto_place_t(Structure):
    _fields_ = [("line", c_int), ("column", c_int)]


class pto_layout_t(Structure):
    _fields_ = [("nodes", c_int64), ("gpus_per_node", c_int64), ("owners_per_gpu", c_int64), ("procs_per_gpu", c_int64),
                ("gpus_per_socket", c_int64), ("in_host", c_bool)]


class pto_series_t(Structure):
    _fields_ = [("value", POINTER(c_int64)), ("count", c_int64)]


class pto_grid_t(Structure):
    _fields_ = [("dim_count", c_int), ("dim", (c_int64 * 4)), ("weight", (c_int64 * 4)), ("wrap", (c_bool * 4)),
                ("along", c_int)]


class pto_counts_t(Structure):
    _fields_ = [("kind", c_int), ("skew", c_double), ("seed", c_uint64), ("order", c_int64),
                ("matrix", POINTER(c_int64)), ("matrix_path", c_char_p), ("grid", pto_grid_t), ("host", c_void_p)]


class pto_rank_t(Structure):
    _fields_ = [("node", c_int64), ("gpu", c_int64), ("core", c_int64)]


class pto_placed_t(Structure):
    _fields_ = [("place", pto_rank_t), ("line", c_int)]


class pto_mapping_t(Structure):
    _fields_ = [("count", c_int64), ("at", POINTER(pto_placed_t)), ("process", POINTER(c_int64)), ("path", c_char_p)]


class pto_staged_t(Structure):
    _fields_ = [("in", c_int64), ("out", c_int64)]


class pto_library_rule_t(Structure):
    _fields_ = [("below_bytes", c_int64), ("procs", c_int64), ("algorithm", c_char_p), ("staged", c_bool),
                ("segment_bytes", c_int64), ("flagged", c_char_p), ("staged_members", pto_staged_t), ("line", c_int)]


class pto_library_choice_t(Structure):
    _fields_ = [("name", c_char_p), ("best", c_bool), ("rule_count", c_int), ("rule", POINTER(pto_library_rule_t)),
                ("own", c_char_p)]


class pto_scenario_t(Structure):
    _fields_ = [("name", c_char_p), ("path", c_char_p), ("machine_path", c_char_p), ("place", (pto_place_t * 22)),
                ("collective", c_int), ("implementation", c_int), ("has_split", c_bool), ("split", c_int),
                ("datatype", c_int), ("layout", pto_layout_t), ("memory", c_int), ("procs_open", c_bool),
                ("procs_per_node", c_int64), ("bytes", pto_series_t), ("nodes", pto_series_t),
                ("messages", pto_series_t), ("unique_bytes", c_int64), ("counts", pto_counts_t),
                ("mapping", pto_mapping_t), ("distance", c_int), ("ends", pto_pair_ends_t), ("halo", pto_halo_t),
                ("in_place", c_bool), ("chunks", c_int64), ("staged_members", pto_staged_t), ("strategy_count", c_int),
                ("strategy", POINTER(c_void_p)), ("library", pto_library_choice_t), ("work_limit", c_int64)]


class pto_strategy_t(Structure):
    pass


pto_strategy_t._fields_ = [("name", c_char_p), ("summary", c_char_p), ("collectives", c_uint), ("collective_space", c_int),
            ("splits", c_bool), ("direct", c_bool), ("nccl", c_bool), ("in_host", c_bool), ("by_hand", c_bool),
            ("chunked", c_bool), ("joins", c_bool), ("stages", c_void_p), ("fixed", POINTER(pto_strategy_t)),
            ("granularity_bytes", c_int64), ("applicable", c_void_p), ("build", c_void_p)]


class pto_algorithm_t(Structure):
    _fields_ = [("name", c_char_p), ("summary", c_char_p), ("collectives", c_uint), ("relays", c_bool),
                ("segmented", c_bool), ("cuts", c_bool), ("shares_host", c_bool), ("chunked", c_bool),
                ("only_named", c_bool), ("joins", c_bool), ("direct", c_bool), ("nccl", c_bool), ("build", c_void_p)]


class pto_extrapolation_t(Structure):
    _fields_ = [("gpus", c_int64), ("nodes", c_int64), ("bytes", c_int64), ("doublings", c_double)]


class pto_price_t(Structure):
    _fields_ = [("seconds", c_double), ("has_interval", c_bool), ("low_s", c_double), ("high_s", c_double),
                ("tie_log_sd", c_double), ("extrapolated", pto_extrapolation_t)]


class pto_term_t(Structure):
    _fields_ = [("stage", c_char_p), ("power", c_int), ("param", POINTER(pto_param_t)), ("key", (c_char * 80)),
                ("count", c_double), ("seconds", c_double), ("file", c_char_p)]


class pto_explanation_t(Structure):
    _fields_ = [("count", c_int), ("capacity", c_int), ("term", POINTER(pto_term_t)), ("occupied_s", (c_double * 8))]


class pto_energy_part_t(Structure):
    _fields_ = [("key", (c_char * 80)), ("param", POINTER(pto_param_t)), ("device_s", c_double), ("joules", c_double)]


class pto_energy_t(Structure):
    _fields_ = [("joules", c_double), ("has_interval", c_bool), ("low_joules", c_double), ("high_joules", c_double),
                ("part", (pto_energy_part_t * 5))]


class pto_setup_t(Structure):
    _fields_ = [("known", c_bool), ("seconds", c_double), ("term_count", c_int), ("term", (pto_term_t * 13))]


class pto_prediction_t(Structure):
    _fields_ = [("applicable", c_bool), ("algorithm", POINTER(pto_algorithm_t)), ("chunks", c_int64),
                ("staged_members", pto_staged_t), ("library_unknown", c_bool), ("price", pto_price_t),
                ("explanation", pto_explanation_t), ("has_energy", c_bool), ("energy", pto_energy_t),
                ("setup", POINTER(pto_setup_t)), ("reason", (c_char * 512))]


class pto_more_procs_t(Structure):
    _fields_ = [("procs_per_gpu", c_int64), ("point", c_int64), ("strategy", POINTER(pto_strategy_t)),
                ("seconds", c_double), ("pick_s", c_double), ("unpriced", (c_char * 80))]


class pto_predictions_t(Structure):
    _fields_ = [("scenario", POINTER(pto_scenario_t)), ("machine", c_void_p), ("sweep", c_int), ("by", c_int),
                ("point_count", c_int64), ("point", POINTER(c_int64)), ("strategy_count", c_int),
                ("strategy", POINTER(POINTER(pto_strategy_t))), ("prediction", POINTER(pto_prediction_t)),
                ("work", c_int64), ("more_procs", pto_more_procs_t)]


class pto_settle_t(Structure):
    _fields_ = [("key", (c_char * 80)), ("benchmark", (c_char * 48)), ("bytes", c_int64)]


class pto_range_t(Structure):
    _fields_ = [("from", c_int64), ("below", c_int64), ("point_first", c_int64), ("point_count", c_int64),
                ("winner", c_int), ("tied", c_int), ("runner_up", c_int), ("margin_low", c_double),
                ("margin_high", c_double), ("near_tie", c_bool), ("overlap", c_bool), ("regret", c_double),
                ("settle_point", c_int64), ("settle_other", c_int), ("settle", pto_settle_t), ("unpriced", c_char_p)]


class pto_sample_t(Structure):
    _fields_ = [("seconds", c_double), ("bytes", c_int64), ("pair_hash", c_uint64), ("procs", c_int32),
                ("messages", c_int32), ("run", c_int32), ("file", c_int32), ("benchmark", c_uint8), ("where", c_uint8),
                ("place", c_uint8)]


class pto_samples_t(Structure):
    _fields_ = [("count", c_size_t), ("capacity", c_size_t), ("sample", POINTER(pto_sample_t)),
                ("provenance_count", c_int), ("provenance", POINTER(pto_provenance_t)), ("file_count", c_int),
                ("path", POINTER(c_void_p))]


class pto_dimension_t(Structure):
    _fields_ = [("name", c_char_p), ("size", c_int64)]


class pto_communicators_t(Structure):
    _fields_ = [("count", c_int64), ("per_node", c_int64), ("per_socket", c_int64), ("has_gaps", c_bool)]


class pto_workload_call_t(Structure):
    _fields_ = [("scenario", pto_scenario_t), ("name", c_char_p), ("along", c_uint), ("times", c_int64),
                ("compute_s", c_double), ("entry", c_int), ("place", pto_place_t),
                ("communicators", pto_communicators_t)]


class pto_workload_t(Structure):
    _fields_ = [("name", c_char_p), ("path", c_char_p), ("machine_path", c_char_p), ("machine_place", pto_place_t),
                ("layout_place", pto_place_t), ("grid_place", pto_place_t), ("layout", pto_layout_t), ("memory", c_int),
                ("procs_per_node", c_int64), ("dim_count", c_int), ("dim", (pto_dimension_t * 8)),
                ("entry_count", c_int), ("call_count", c_int), ("call", POINTER(pto_workload_call_t))]


class pto_step_call_t(Structure):
    _fields_ = [("machine", c_void_p), ("predictions", pto_predictions_t), ("best", c_int), ("left_out", c_bool)]


class pto_step_end_t(Structure):
    _fields_ = [("communication_s", c_double), ("exposed_s", c_double), ("step_s", c_double)]


class pto_step_route_t(Structure):
    _fields_ = [("strategy", POINTER(pto_strategy_t)), ("applicable", c_bool), ("seconds", c_double),
                ("communication_s", c_double), ("exposed_s", c_double), ("has_interval", c_bool),
                ("low", pto_step_end_t), ("high", pto_step_end_t)]


class pto_step_prediction_t(Structure):
    _fields_ = [("workload", POINTER(pto_workload_t)), ("call", POINTER(pto_step_call_t)), ("compute_s", c_double),
                ("mix", pto_step_route_t), ("route_count", c_int), ("route", POINTER(pto_step_route_t))]


class pto_node_counts_t(Structure):
    _fields_ = [("count", c_int), ("value", (c_int64 * 16)), ("except", c_bool)]


class pto_struct_size_t(Structure):
    _fields_ = [("name", c_char_p), ("bytes", c_size_t)]


pto_machine_find_t = CFUNCTYPE(c_int, c_char_p, c_char_p, POINTER(c_void_p), POINTER(pto_error_t))
STRUCTS = [pto_ask_t, pto_pair_ends_t, pto_halo_t, pto_collective_row_t, pto_provenance_t, pto_collectives_t,
           pto_error_t, pto_fit_collective_t, pto_fit_collectives_t, pto_fit_breaks_t, pto_fit_options_t,
           pto_param_t, pto_fit_entry_t, pto_fit_t, pto_machine_param_t, pto_place_t, pto_layout_t, pto_series_t,
           pto_grid_t, pto_counts_t, pto_rank_t, pto_placed_t, pto_mapping_t, pto_staged_t, pto_library_rule_t,
           pto_library_choice_t, pto_scenario_t, pto_strategy_t, pto_algorithm_t, pto_extrapolation_t, pto_price_t,
           pto_term_t, pto_explanation_t, pto_energy_part_t, pto_energy_t, pto_setup_t, pto_prediction_t,
           pto_more_procs_t, pto_predictions_t, pto_settle_t, pto_range_t, pto_sample_t, pto_samples_t,
           pto_dimension_t, pto_communicators_t, pto_workload_call_t, pto_workload_t, pto_step_call_t,
           pto_step_end_t, pto_step_route_t, pto_step_prediction_t, pto_node_counts_t, pto_struct_size_t]
FUNCTIONS = {
    "pto_collectives_fini": (None, [POINTER(pto_collectives_t)]),
    "pto_collectives_read": (c_int, [c_char_p, POINTER(pto_collectives_t), POINTER(pto_error_t)]),
    "pto_device_find": (c_int, [c_char_p, POINTER(c_void_p), POINTER(pto_error_t)]),
    "pto_estimate": (c_double, [c_void_p, c_int64, POINTER(POINTER(pto_strategy_t))]),
    "pto_estimates_create": (c_int, [c_void_p, POINTER(pto_ask_t), POINTER(c_void_p), POINTER(pto_error_t)]),
    "pto_estimates_destroy": (None, [c_void_p]),
    "pto_exec_create_in": (c_int, [c_void_p, c_void_p, c_void_p, c_void_p, c_void_p, c_int, c_void_p, POINTER(c_void_p), POINTER(pto_error_t)]),
    "pto_exec_destroy": (None, [c_void_p]),
    "pto_exec_enqueue_on": (c_int, [c_void_p, c_void_p, c_void_p, c_void_p, POINTER(pto_error_t)]),
    "pto_exec_is_stream_ordered": (c_bool, [c_void_p]),
    "pto_exec_rebind_private": (c_int, [c_void_p, c_void_p, c_void_p, POINTER(pto_error_t)]),
    "pto_exec_run": (c_int, [c_void_p, POINTER(pto_error_t)]),
    "pto_exec_user_is_private": (c_bool, [c_void_p, c_int]),
    "pto_fit_breaks_parse": (c_int, [c_char_p, POINTER(pto_fit_options_t), POINTER(pto_error_t)]),
    "pto_fit_collectives": (c_int, [c_void_p, POINTER(pto_collectives_t), POINTER(pto_node_counts_t), c_void_p, POINTER(pto_fit_collectives_t), POINTER(pto_error_t)]),
    "pto_fit_fini": (None, [POINTER(pto_fit_t)]),
    "pto_fit_model_error": (c_int, [c_void_p, POINTER(pto_collectives_t), POINTER(pto_node_counts_t), c_bool, c_void_p, POINTER(pto_error_t)]),
    "pto_fit_node_parse": (c_int, [c_char_p, POINTER(pto_fit_options_t), POINTER(pto_error_t)]),
    "pto_fit_prices_create": (c_void_p, []),
    "pto_fit_prices_destroy": (None, [c_void_p]),
    "pto_fit_samples": (c_int, [POINTER(pto_samples_t), c_char_p, c_char_p, POINTER(pto_fit_options_t), POINTER(pto_fit_t), POINTER(pto_error_t)]),
    "pto_library_find_by": (None, [c_void_p]),
    "pto_machine_create": (c_int, [c_char_p, c_size_t, c_char_p, POINTER(c_void_p), POINTER(pto_error_t)]),
    "pto_machine_destroy": (None, [c_void_p]),
    "pto_machine_duplicate": (c_int, [c_void_p, POINTER(c_void_p), POINTER(pto_error_t)]),
    "pto_machine_find_by": (None, [c_void_p]),
    "pto_machine_format": (c_int, [c_void_p, c_char_p, POINTER(c_void_p), POINTER(pto_error_t)]),
    "pto_machine_get": (c_int, [c_void_p, c_char_p, POINTER(c_double), POINTER(pto_error_t)]),
    "pto_machine_name": (c_char_p, [c_void_p]),
    "pto_machine_open": (c_int, [c_char_p, POINTER(c_void_p), POINTER(pto_error_t)]),
    "pto_machine_params": (c_int, [c_void_p, POINTER(POINTER(pto_machine_param_t)), POINTER(c_int), POINTER(pto_error_t)]),
    "pto_machine_source": (c_char_p, [c_void_p]),
    "pto_pick": (c_int, [POINTER(pto_predictions_t), POINTER(POINTER(pto_range_t)), POINTER(c_int64), POINTER(pto_error_t)]),
    "pto_plan_destroy": (None, [c_void_p]),
    "pto_predict": (c_int, [POINTER(pto_scenario_t), c_void_p, c_bool, POINTER(pto_predictions_t), POINTER(pto_error_t)]),
    "pto_predict_one": (c_int, [c_void_p, POINTER(pto_ask_t), POINTER(c_void_p), POINTER(pto_price_t), POINTER(pto_error_t)]),
    "pto_predictions_fini": (None, [POINTER(pto_predictions_t)]),
    "pto_range_is_tied": (c_bool, [POINTER(pto_predictions_t), POINTER(pto_range_t), c_int]),
    "pto_samples_fini": (None, [POINTER(pto_samples_t)]),
    "pto_samples_provenance": (c_char_p, [POINTER(pto_samples_t), c_char_p]),
    "pto_samples_read": (c_int, [c_char_p, POINTER(pto_samples_t), POINTER(pto_error_t)]),
    "pto_scenario_bind": (c_int, [POINTER(pto_scenario_t), c_void_p, POINTER(pto_error_t)]),
    "pto_scenario_fini": (None, [POINTER(pto_scenario_t)]),
    "pto_scenario_init": (None, [POINTER(pto_scenario_t)]),
    "pto_scenario_parse": (c_int, [c_char_p, c_size_t, c_char_p, POINTER(pto_scenario_t), POINTER(pto_error_t)]),
    "pto_status_text": (c_char_p, [c_int]),
    "pto_step_call_prediction": (POINTER(pto_prediction_t), [POINTER(pto_step_prediction_t), c_int, POINTER(pto_strategy_t)]),
    "pto_step_fini": (None, [POINTER(pto_step_prediction_t)]),
    "pto_step_predict": (c_int, [POINTER(pto_workload_t), c_void_p, POINTER(pto_step_prediction_t), POINTER(pto_error_t)]),
    "pto_struct_sizes": (POINTER(pto_struct_size_t), []),
    "pto_team_shared_bytes": (c_size_t, [c_int]),
    "pto_team_shared_create": (c_int, [c_void_p, c_int, c_int, c_double, POINTER(c_void_p), POINTER(pto_error_t)]),
    "pto_team_shared_destroy": (None, [c_void_p]),
    "pto_topology_find_by": (None, [c_void_p]),
    "pto_version": (c_char_p, []),
    "pto_what_if": (c_int, [c_char_p, POINTER(pto_scenario_t), c_void_p, POINTER(pto_error_t)]),
    "pto_workload_bind": (c_int, [POINTER(pto_workload_t), c_void_p, POINTER(pto_error_t)]),
    "pto_workload_call_name": (c_char_p, [POINTER(pto_workload_call_t)]),
    "pto_workload_fini": (None, [POINTER(pto_workload_t)]),
    "pto_workload_is_call": (c_bool, [POINTER(pto_workload_call_t)]),
    "pto_workload_parse": (c_int, [c_char_p, c_size_t, c_char_p, POINTER(pto_workload_t), POINTER(pto_error_t)]),
    "pto_workload_read": (c_int, [c_char_p, POINTER(pto_workload_t), POINTER(pto_error_t)]),
}
