/* portolan-validate's own options. */
#include "validate_options.h"

static const char usage[] =
    "usage: mpirun ... portolan-validate [SCENARIO.yaml] [OPTIONS]\n"
    "\n"
    "Runs every strategy of a scenario at every point: first its results are compared with a reference, "
    "then\n"
    "it is timed and set beside its prediction. The job must have the layout's number of processes.\n"
    "\n"
    "  mpirun -n 8 portolan-validate scenarios/problems/alltoall-summit.yaml --nodes 1 --gpus-per-node 2 \\\n"
    "      --procs-per-gpu 4 --bytes 4:64KiB --out collectives.csv\n";

/* --- the words that options know: NULL behind the last one ---------------------------------------------- */

static const char *device_at(int i) {
    static const char *const names[] = {"host", "cuda", NULL};
    return names[i];
}

static const char *op_at(int i) {
    static const char *const names[] = {"sum", "prod", "min", "max", NULL};
    return names[i];
}

static const char *wait_at(int i) {
    static const char *const names[] = {"yield", "spin", "sleep", NULL};
    return names[i];
}

static const char *placement_at(int i) {
    static const char *const names[] = {"nodes", "identity", NULL};
    return names[i];
}

/* --- what they do --------------------------------------------------------------------------------------- */

PTO_APPLY_FLAG(apply_force, pto_validate_options_t, force)
PTO_APPLY_FLAG(apply_check_only, pto_validate_options_t, check_only)
PTO_APPLY_FLAG(apply_own_algorithms, pto_validate_options_t, own_algorithms)
PTO_APPLY_FLAG(apply_energy, pto_validate_options_t, energy)
PTO_APPLY_FLAG(apply_powers, pto_validate_options_t, powers)
PTO_APPLY_TEXT(apply_out, pto_validate_options_t, out_path)
PTO_APPLY_TEXT(apply_powercap, pto_validate_options_t, powercap)

static pto_status_t apply_device(void *target, const char *text, pto_error_t *err) {
    pto_validate_options_t *options = target;
    int found = 0;
    pto_status_t status = pto_word_parse(text, "device", device_at, &found, err);
    options->device = device_at(found);
    return status;
}

static pto_status_t apply_op(void *target, const char *text, pto_error_t *err) {
    pto_validate_options_t *options = target;
    return pto_word_parse(text, "operation", op_at, &options->op, err);
}

static pto_status_t apply_placement(void *target, const char *text, pto_error_t *err) {
    pto_validate_options_t *options = target;
    int found = 0;
    pto_status_t status = pto_word_parse(text, "placement", placement_at, &found, err);
    options->identity_places = found == 1;
    return status;
}

static pto_status_t apply_wait(void *target, const char *text, pto_error_t *err) {
    pto_validate_options_t *options = target;
    return pto_word_parse(text, "way to wait", wait_at, &options->wait, err);
}

static pto_status_t apply_repeats(void *target, const char *text, pto_error_t *err) {
    pto_validate_options_t *options = target;
    return pto_count_parse(text, 1000000, &options->repeats, err);
}

static pto_status_t apply_queued(void *target, const char *text, pto_error_t *err) {
    pto_validate_options_t *options = target;
    return pto_count_parse(text, 100000, &options->queued, err);
}

static pto_status_t apply_energy_seconds(void *target, const char *text, pto_error_t *err) {
    pto_validate_options_t *options = target;
    return pto_number_parse(text, 0.001, 600, &options->energy_window_s, err);
}

static pto_status_t apply_timeout(void *target, const char *text, pto_error_t *err) {
    pto_validate_options_t *options = target;
    return pto_timeout_parse(text, &options->timeout_s, err);
}

/* --- the table ------------------------------------------------------------------------------------------ */

static const pto_option_t own_options[] = {
    {"device", "host|cuda", "where `gpu` buffers lie; host checks results, its times are not a GPU's",
     .apply = apply_device, .standard = "host", .word_at = device_at},
    {"out", "FILE.csv", "write every time measured, for `portolan score`", .apply = apply_out},
    {"force", NULL, "replace that file where it exists, when all is measured", .apply = apply_force},
    {"repeats", "N", "timed runs of each plan", .apply = apply_repeats, .standard = "30"},
    {"queued", "N",
     "time N runs queued one behind another and one wait, over N; for plans that are one kernel or one call "
     "of NCCL, others are left out",
     .apply = apply_queued},
    {"check-only", NULL, "compare results, time nothing", .apply = apply_check_only},
    {"op", "sum|prod|min|max", "the operation of allreduce and reduce", .apply = apply_op, .standard = "sum",
     .word_at = op_at},
    {"own-algorithms", NULL, "run portolan's algorithms in place of the MPI library's collectives",
     .apply = apply_own_algorithms},
    {"placement", "nodes|identity", "logical ranks by the nodes that processes run on, or by MPI rank",
     .apply = apply_placement, .standard = "nodes", .word_at = placement_at},
    {"wait", "yield|spin|sleep", "what processes do while they wait: sleep saves cores and takes longer",
     .apply = apply_wait, .standard = "yield", .word_at = wait_at},
    {"energy", NULL, "joules of a run beside its time: NVML's and RAPL's counters", .apply = apply_energy},
    {"powers", NULL, "measure the powers for a machine file's `energy`, run no plan", .apply = apply_powers},
    {"energy-seconds", "S", "measure energy at least so long, and for 20 steps of the counters",
     .apply = apply_energy_seconds, .standard = "1"},
    {"powercap", "FOLDER", "where the kernel shows RAPL", .apply = apply_powercap,
     .standard = "/sys/class/powercap"},
    {"timeout", "SECONDS", "end the job where a run takes longer, or a process makes no progress for so long",
     .apply = apply_timeout, .standard = "20"},
    {.name = NULL}};

static const pto_option_set_t sets[] = {{"its own options", own_options}, PTO_SCENARIO_SETS};

const pto_syntax_t pto_validate_syntax = {
    .program = "portolan-validate", .usage = usage, .set = sets, .operand = "*.yaml"};
