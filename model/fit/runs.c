/* Records how the sampled runs were started (waited for, enqueued or in a graph: --runs of
 * portolan-calibrate), and fits the cost of whole runs in line format (portolan/lines.h). */
#include <string.h>

#include "parts.h"
#include "select.h"

static bool depends_on_runs(const pto_sample_t *sample) {
    return sample->benchmark == PTO_BENCHMARK_RUN_LAUNCH || sample->benchmark == PTO_BENCHMARK_RUN_LINES ||
           (sample->benchmark >= PTO_BENCHMARK_NCCL_ALLREDUCE && sample->benchmark < PTO_BENCHMARK_OTHER);
}

/* Returns how a file's runs were started. Runs of files without a `runs` line were waited for. */
static pto_runs_t runs_of_file(fit_work_t *work, int file) {
    const char *said = fit_provenance(work->samples, file, "runs");
    for (pto_runs_t runs = PTO_RUNS_WAITED; runs < PTO_RUNS_COUNT; runs++)
        if (!said || strcmp(said, pto_runs_name(runs)) == 0)
            return runs;
    fit_fail(work, pto_error_set_at(work->err, PTO_ERR_TYPE, work->samples->path[file], 0, 0,
                                    "runs=%s is none of waited, enqueued and graph", said));
    return PTO_RUNS_WAITED;
}

void fit_runs(fit_work_t *work) {
    const pto_samples_t *samples = work->samples;
    pto_runs_t *runs = &work->fit->machine->runs;
    int first = -1, file = -1;
    for (size_t i = 0; i < samples->count && work->status == PTO_OK; i++) {
        if (!depends_on_runs(&samples->sample[i]) || samples->sample[i].file == file)
            continue;
        file = samples->sample[i].file;
        pto_runs_t own = runs_of_file(work, file);
        if (work->status == PTO_OK && first >= 0 && own != *runs)
            fit_fail(work, pto_error_set(
                               work->err, PTO_ERR_NOT_APPLICABLE,
                               "the runs of %s are %s, those of %s %s: each kind needs a machine file of its "
                               "own (--inherits)",
                               samples->path[first], pto_runs_name(*runs), samples->path[file],
                               pto_runs_name(own)));
        *runs = own;
        first = file;
    }
    fit_by_gpus(work, PTO_BENCHMARK_RUN_LINES, &work->fit->machine->remote_lines);
}
