/* portolan-calibrate's options. */
#include "calibrate_options.h"

#include <string.h>

#include "portolan/units.h"

static const char usage[] =
    "usage: mpirun ... portolan-calibrate [OPTIONS]\n"
    "\n"
    "Measures what moving bytes costs on this machine; `portolan fit` makes a machine file of the samples.\n"
    "\n"
    "  mpirun -n 8 --map-by ppr:4:node portolan-calibrate --out samples.csv\n";

static const int64_t most_bytes = INT64_C(1) << 30;

#define STORE(form, member) PTO_STORE(form, pto_calibrate_options_t, member)

static pto_status_t apply_bytes(void *target, const char *text, pto_error_t *err) {
    pto_calibrate_options_t *options = target;
    char from[PTO_BYTES_TEXT_MAX];
    const char *colon = strchr(text, ':');
    if (!colon || (size_t)(colon - text) >= sizeof from)
        return pto_error_set(err, PTO_ERR_TYPE, "'%s' is not FROM:TO, such as 1:64MiB", text);
    memcpy(from, text, (size_t)(colon - text));
    from[colon - text] = '\0';
    pto_status_t status = pto_bytes_parse(from, &options->from_bytes, err);
    if (status == PTO_OK)
        status = pto_bytes_parse(colon + 1, &options->to_bytes, err);
    if (status == PTO_OK && (options->from_bytes < 1 || options->to_bytes < options->from_bytes ||
                             options->to_bytes > most_bytes))
        status =
            pto_error_set(err, PTO_ERR_RANGE, "'%s' is not 1 byte to 1 GiB, the smaller size first", text);
    return status;
}

static pto_status_t apply_budget(void *target, const char *text, pto_error_t *err) {
    pto_calibrate_options_t *options = target;
    pto_status_t status = pto_double_parse(text, &options->budget_s, err);
    if (status == PTO_OK && !(options->budget_s > 0))
        status = pto_error_set(err, PTO_ERR_RANGE, "'%s' is not a positive number of seconds", text);
    return status;
}

static const pto_option_t options[] = {
    {"out", "FILE", "write the samples there; - is standard output", STORE(TEXT, out), .standard = "-"},
    {"force", NULL, "replace that file where it exists, when all is measured", STORE(FLAG, force)},
    {"only", "NAME[,NAME]", "run these benchmarks, or all of these groups, only (--list shows them)",
     STORE(TEXT, only)},
    {"bytes", "FROM:TO", "sizes, by powers of two, of at most 1GiB", .apply = apply_bytes,
     .standard = "1:64MiB"},
    {"budget", "SECONDS", "time for each benchmark; points that have no room in it are left out",
     .apply = apply_budget, .standard = "60"},
    {"repeats", "N",
     "at most so many samples of each point; fewer where the 95 percent interval of the median lies within 2 "
     "percent of it",
     STORE(INT, repeats), .most = 1000000, .standard = "50"},
    {"timeout", "SECONDS", "end the job where a process makes no progress for so long",
     STORE(NUMBER, timeout_s), .least = PTO_TIMEOUT_LEAST_S, .most = PTO_TIMEOUT_MOST_S, .standard = "20"},
    {"machine", "NAME", "what to call the machine in the file (default: its processor and GPU)",
     STORE(TEXT, machine)},
    {"progress", NULL, "draw the progress bar even where standard error is no terminal",
     STORE(FLAG, progress)},
    {"list", NULL, "list the benchmarks, their groups and the rows they write", STORE(FLAG, list)},
    {"version", NULL, "print the version, and whether it was built with CUDA", STORE(FLAG, version)},
    {.name = NULL}};

static const pto_option_set_t sets[] = {{"options", options}, {NULL, NULL}};

const pto_syntax_t pto_calibrate_syntax = {.program = "portolan-calibrate", .usage = usage, .set = sets};
