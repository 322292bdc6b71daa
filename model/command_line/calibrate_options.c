/* The options of portolan-calibrate. */
#include "calibrate_options.h"

#include <string.h>

#include "base/names.h"
#include "portolan/units.h"

static const char usage[] =
    "usage: mpirun ... portolan-calibrate [OPTIONS]\n\n"
    "Measures what moving bytes costs on this machine; `portolan fit` makes a machine file of the "
    "samples.\n\n"
    "  mpirun -n 8 --map-by ppr:2:socket --bind-to core portolan-calibrate --out samples.csv\n"
    "  portolan-calibrate --topology --out node.yaml\n";

static const int64_t most_bytes = INT64_C(1) << 30;

#define STORE(form, member) PTO_STORE(form, pto_calibrate_options_t, member)

/* FROM:TO or FROM:TO:FACTOR. */
static pto_status_t apply_bytes(void *target, const char *text, pto_error_t *err) {
    pto_calibrate_options_t *options = target;
    char part[3][PTO_RANGE_PART_MAX];
    int64_t number[3] = {0, 0, 2};
    int count = pto_range_split(text, part);
    if (count < 2)
        return pto_error_set(err, PTO_ERR_TYPE, "'%s' is not FROM:TO or FROM:TO:FACTOR, such as 1:64MiB",
                             text);
    pto_status_t status = PTO_OK;
    for (int i = 0; i < count && status == PTO_OK; i++)
        status = pto_bytes_parse(part[i], &number[i], err);
    if (status != PTO_OK)
        return status;
    if (number[0] < 1 || number[1] < number[0] || number[1] > most_bytes)
        return pto_error_set(err, PTO_ERR_RANGE, "'%s' is not 1 byte to 1 GiB, the smaller size first", text);
    if (number[2] < 2 || (number[2] & (number[2] - 1)) != 0)
        return pto_error_set(err, PTO_ERR_RANGE, "the factor of '%s' is not a power of two", text);
    options->from_bytes = number[0];
    options->to_bytes = number[1];
    options->factor = number[2];
    return PTO_OK;
}

static pto_status_t apply_budget(void *target, const char *text, pto_error_t *err) {
    pto_calibrate_options_t *options = target;
    pto_status_t status = pto_double_parse(text, &options->budget_s, err);
    if (status == PTO_OK && !(options->budget_s > 0))
        status = pto_error_set(err, PTO_ERR_RANGE, "'%s' is not a positive number of seconds", text);
    return status;
}

static const char *runs_at(int i) { return i < PTO_RUNS_COUNT ? pto_runs_name((pto_runs_t)i) : NULL; }

static pto_status_t apply_machine(void *target, const char *text, pto_error_t *err) {
    ((pto_calibrate_options_t *)target)->machine = text;
    return pto_name_check(text, PTO_NAME_BYTES_MAX, err);
}

static const pto_option_t options[] = {
    {"out", "FILE", "write the samples there; - is standard output", STORE(TEXT, out), .standard = "-"},
    {"force", NULL, "replace the file if it exists, after everything is measured", STORE(FLAG, force)},
    {"only", "NAME[,NAME]", "run these benchmarks, or all of these groups, only (--list shows them)",
     STORE(TEXT, only)},
    {"bytes", "FROM:TO", "sizes, by powers of two, of at most 1GiB (FROM:TO:FACTOR for fewer)",
     .apply = apply_bytes, .standard = "1:64MiB"},
    {"budget", "SECONDS", "time for each benchmark; points that have no room in it are left out",
     .apply = apply_budget, .standard = "60"},
    {"repeats", "N", "at most so many samples of each point; fewer where the median is known well enough",
     STORE(INT, repeats), .most = 1000000, .standard = "50"},
    {"estimate", NULL, "print how long each benchmark will take instead, after a few seconds of timing",
     STORE(FLAG, estimate)},
    {"exhaustive", NULL,
     "measure all sizes, each until its own median is settled; otherwise every second power of two, and more "
     "at limits and bends",
     STORE(FLAG, exhaustive)},
    {"timeout", "SECONDS", "end the job where a process makes no progress for so long",
     STORE(NUMBER, timeout_s), .least = PTO_TIMEOUT_LEAST_S, .most = PTO_TIMEOUT_MOST_S, .standard = "20"},
    {"runs", "HOW",
     "waited, enqueued or graph: wait for each kernel launch and call of NCCL, enqueue them one after "
     "another, or capture up to 100 in a graph; the latter two leave out what the host has to wait for",
     STORE(WORD, runs), .what = "kind of runs", .standard = "waited", .word_at = runs_at},
    {"machine", "NAME", "what to call the machine in the file (default: its CPU and GPU)",
     .apply = apply_machine},
    {"progress", NULL, "draw the progress bar even if standard error is not a terminal",
     STORE(FLAG, progress)},
    {"topology", NULL,
     "write the topology of this node instead, by hwloc and NVML; needs no mpirun (docs/formats.md)",
     STORE(FLAG, topology)},
    {"from", "FILE.xml", "with --topology: of the node that hwloc recorded in this file", STORE(TEXT, from)},
    {"list", NULL, "list the benchmarks, their groups and the rows they write", STORE(FLAG, list)},
    {"version", NULL, "print the version, and whether it was built with CUDA", STORE(FLAG, version)},
    {.name = NULL}};

const pto_syntax_t pto_calibrate_syntax = {
    .program = "portolan-calibrate", .usage = usage, .set = PTO_SETS({"options", options})};
