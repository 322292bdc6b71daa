/* The measuring loop. Each case is measured by its members; other processes sleep, to keep the cores free.
 * The first member, the lead, chooses the next size (sizes.h), measures it with the others in a visit, and
 * sends the samples to rank 0, which writes them. A visit is several repetitions of one size, and a
 * repetition is a number of iterations of the benchmark's operation. The mean time of an iteration, in the
 * slowest member, is a sample.
 *
 * The time budget is divided as the job goes: each case gets an equal share of the time left, and so does
 * each point of a case. Time that cheap points don't use goes to the expensive ones. */
#include "engine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "estimate.h"
#include "fatal.h"
#include "guard.h"
#include "progress.h"
#include "sizes.h"
#include "statistics.h"

/* A visit that has used up its time is not ended with fewer samples than REPEATS_WORTH_HAVING. */
enum { TAG_POINT = 1, SERIES_COUNT = 1 + CASE_PART_MAX, REPEATS_WORTH_HAVING = 3 };

static const double nap_s = 300e-6; /* between two tests of a request */

/* The first wait after a slow warm-up: longer than the time slice of processes that share a core. */
static const double first_rest_s = 0.01;

/* The lead's message to rank 0 after each visit of a size. */
typedef struct {
    int64_t bytes;
    int earlier_samples; /* of earlier visits */
    int count;           /* samples that follow; 0: the case is over */
    int left_out;        /* sizes without time, if the case is over */
} report_t;

/* The state of a benchmark's run. */
typedef struct {
    const pto_calibrate_options_t *options;
    const benchmark_t *benchmark;
    samples_t *samples; /* at rank 0 */
    work_t work;        /* its bench_case is also set on processes that take no part in the case */
    sizes_t *sizes;     /* of the current case, at its lead */
    visit_t visit;
    bool estimates;         /* estimate times instead of measuring */
    double case_estimate_s; /* of the current case, less the time spent on probes; at rank 0 and its lead */
    bool shows_progress;    /* at rank 0 */
    int point_count;        /* of all cases */
    int points_done;
    double end_s;       /* when the budget is used up, by now_s */
    double case_end_s;  /* the same for the current case */
    double bound_s;     /* upper bound of an iteration of the current size, about; 0: unknown */
    double last_wait_s; /* how long the previous repetition took, with its barriers */
    double *seconds;    /* samples of each series (below) of a point: options->repeats each */
    double *sorted;     /* room for a copy of a series */
} run_t;

/* --- time limits for the guard -------------------------------------------------------------------------- */

/* Other processes measure at the same time, at most for the rest of the budget. */
static double others_limit_s(const run_t *run) { return guard_timeout_s() + fmax(run->end_s - now_s(), 0.0); }

/* Set-up may allocate and touch gigabytes, and create communicators of NCCL. */
static double set_up_limit_s(void) { return 3.0 * guard_timeout_s(); }

/* A repetition may have more iterations than the one before. */
static double repetition_limit_s(const run_t *run) {
    return guard_timeout_s() + 4.0 * fmax(run->bound_s, run->last_wait_s);
}

/* --- waiting that leaves the core to others ------------------------------------------------------------- */

static void nap_until_done(MPI_Request request) {
    const struct timespec nap = {0, (long)(nap_s * 1e9)};
    int done = 0;
    MPI_DO(MPI_Request_get_status(request, &done, MPI_STATUS_IGNORE));
    while (!done) {
        nanosleep(&nap, NULL);
        MPI_DO(MPI_Request_get_status(request, &done, MPI_STATUS_IGNORE));
    }
}

static void barrier_quietly(const job_t *job) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_DO(MPI_Ibarrier(job->world, &request));
    nap_until_done(request);
    /* clang's checker knows no MPI_Ibarrier. NOLINTNEXTLINE(clang-analyzer-optin.mpi.MPI-Checker) */
    MPI_DO(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void receive_quietly(const job_t *job, void *buffer, int bytes, int from) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_DO(MPI_Irecv(buffer, bytes, MPI_BYTE, from, TAG_POINT, job->world, &request));
    nap_until_done(request);
    MPI_DO(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

/* --- one point ------------------------------------------------------------------------------------------ */

static bool leads(const run_t *run) { return run->work.me == 0; }

/* A series is the samples of the case (0) or of one of its parts. Returns the name of its rows; "": none. */
static const char *series_name(const case_t *bench_case, int series) {
    return series == 0 ? bench_case->benchmark : bench_case->part[series - 1];
}

static double *series_seconds(const run_t *run, int series) {
    return run->seconds + (size_t)series * (size_t)run->options->repeats;
}

/* Makes one repetition. Returns, at the lead, the seconds of one iteration in the slowest member; 0
 * elsewhere. Stores, at the lead, the seconds of each part as its sample number `index`. */
static double repeat(run_t *run, int64_t bytes, int iterations, int index) {
    double began_s = now_s();
    guard_tick(repetition_limit_s(run));
    MPI_DO(MPI_Barrier(run->work.comm));
    together_wait(run->work.together);
    double own[SERIES_COUNT] = {work_trial(&run->work, run->benchmark, bytes, iterations)};
    if (run->benchmark->parts != NULL)
        run->benchmark->parts(&run->work, own + 1);
    double slowest[SERIES_COUNT] = {0.0};
    MPI_DO(MPI_Reduce(own, slowest, SERIES_COUNT, MPI_DOUBLE, MPI_MAX, 0, run->work.comm));
    for (int series = 1; series < SERIES_COUNT; series++)
        series_seconds(run, series)[index] = slowest[series] / iterations;
    run->last_wait_s = now_s() - began_s;
    return slowest[0] / iterations;
}

/* Returns the lead's value, on all members. */
static int agree_on(run_t *run, int value) {
    guard_tick(0);
    MPI_DO(MPI_Bcast(&value, 1, MPI_INT, 0, run->work.comm));
    return value;
}

/* Warms up, and returns how many iterations make a repetition long enough. The first iteration, which loads
 * code and touches memory, is ignored. Sets `*once` to the seconds of an iteration in the last repetition. If
 * that was long enough, `*sample` is the same and counts as the visit's first sample; else it is negative. */
static int find_iterations(run_t *run, const visit_t *visit, int iterations, double *once, double *sample) {
    (void)repeat(run, visit->bytes, 1, visit->earlier_samples);
    for (;;) {
        *once = repeat(run, visit->bytes, iterations, visit->earlier_samples);
        int wanted = agree_on(run, leads(run) ? sizes_iterations(*once) : 0);
        *sample = wanted <= iterations + iterations / 4 ? *once : -1.0;
        /* The first iterations are slow: repeat until the estimate is stable, at most tenfold at a time. */
        if (wanted <= 2 * iterations)
            return wanted;
        iterations = wanted < 10 * iterations ? wanted : 10 * iterations;
    }
}

/* Warms up. While iterations are slow (see visit_t), tries again: first at once, as it may have been an
 * outlier, then up to max_rests times after a wait, each twice as long as the one before. */
static int warm_up(run_t *run, const visit_t *visit, double *sample) {
    double rest_s = 0.0, once;
    int iterations = find_iterations(run, visit, visit->iterations, &once, sample);
    int max_retries = visit->max_rests > 0 ? 1 + visit->max_rests : 0;
    for (int i = 0; i < max_retries; i++) {
        bool retries = leads(run) && once > visit->slow_s && now_s() + rest_s < run->case_end_s;
        if (!agree_on(run, retries))
            break;
        if (leads(run))
            rest(rest_s);
        rest_s = i > 0 ? 2.0 * rest_s : first_rest_s;
        iterations = find_iterations(run, visit, visit->iterations, &once, sample);
    }
    return iterations;
}

/* Returns whether a visit with `count` samples needs another one, and has time for it. At the lead. */
static bool more_needed(run_t *run, const visit_t *visit, int count, double visit_end_s) {
    if (count >= visit->max_samples)
        return false;
    double now = now_s();
    if (now + run->last_wait_s >= run->case_end_s || (now >= visit_end_s && count >= REPEATS_WORTH_HAVING))
        return false;
    memcpy(run->sorted, run->seconds, (size_t)count * sizeof *run->sorted);
    return !sizes_enough(run->sizes, visit, run->sorted, count);
}

/* Measures a size. At the lead, run->seconds has the samples. Returns their number, with earlier ones. */
static int measure_visit(run_t *run, visit_t *visit) {
    double visit_end_s = 0.0, sample; /* negative: not measured yet */
    if (leads(run)) {
        sizes_recall(run->sizes, visit, run->seconds);
        visit_end_s = now_s() + (run->case_end_s - now_s()) / sizes_left(run->sizes);
    }
    visit->iterations = warm_up(run, visit, &sample);
    int count = visit->earlier_samples;
    int more = 1;
    while (more) {
        if (sample < 0.0)
            sample = repeat(run, visit->bytes, visit->iterations, count);
        if (leads(run)) {
            run->seconds[count] = sample;
            more = more_needed(run, visit, count + 1, visit_end_s);
        }
        sample = -1.0;
        count++;
        more = agree_on(run, more);
    }
    return count;
}

/* --- one case ------------------------------------------------------------------------------------------- */

/* Returns the smallest power of two that is at least the first size of --bytes and the case's minimum. */
static int64_t first_size(const pto_calibrate_options_t *options, const case_t *bench_case) {
    if (!bench_case->sized)
        return 0;
    int64_t bytes = 1;
    while (bytes < options->from_bytes || bytes < bench_case->min_bytes)
        bytes *= 2;
    return bytes;
}

static int64_t last_size(const pto_calibrate_options_t *options, const case_t *bench_case) {
    return bench_case->max_bytes < options->to_bytes ? bench_case->max_bytes : options->to_bytes;
}

/* Returns the options of the case's plan of sizes (sizes.h). */
static sizes_options_t ladder_of(const pto_calibrate_options_t *options, const case_t *bench_case) {
    return (sizes_options_t){.from_bytes = first_size(options, bench_case),
                             .to_bytes = bench_case->sized ? last_size(options, bench_case) : 0,
                             .factor = bench_case->factor > 0 ? bench_case->factor : options->factor,
                             .unit_bytes = bench_case->min_bytes,
                             .repeats = options->repeats,
                             .every_size = bench_case->every_size,
                             .exhaustive = options->exhaustive || bench_case->factor > 0};
}

static int points_of(const pto_calibrate_options_t *options, const case_t *bench_case) {
    sizes_options_t ladder = ladder_of(options, bench_case);
    return sizes_ladder_count(&ladder);
}

/* Finds the next visit that there is time for: one iteration to warm up and one to measure. */
static bool choose_visit(run_t *run, visit_t *visit) {
    while (sizes_next(run->sizes, visit)) {
        if (now_s() + 2.0 * visit->bound_s + visit->reserve_s < run->case_end_s)
            return true;
        sizes_refuse(run->sizes, visit);
    }
    return false;
}

/* Chooses a size and measures it, with all members, and fills in the lead's report. */
static void member_visit(run_t *run, report_t *report) {
    visit_t visit = {0};
    *report = (report_t){0};
    guard_step(0, "choosing a size");
    bool wanted = leads(run) && choose_visit(run, &visit);
    if (!agree_on(run, wanted)) {
        report->left_out = leads(run) ? sizes_left_out(run->sizes) : 0;
        return;
    }
    MPI_DO(MPI_Bcast(&visit, sizeof visit, MPI_BYTE, 0, run->work.comm));
    run->bound_s = visit.bound_s;
    guard_step(repetition_limit_s(run), "measuring %lld bytes", (long long)visit.bytes);
    int count = measure_visit(run, &visit);
    *report = (report_t){visit.bytes, visit.earlier_samples, count - visit.earlier_samples, 0};
    run->visit = visit;
}

/* Sends data from the lead to rank 0, if that is another process. */
static void send_to_writer(const run_t *run, void *data, size_t size) {
    const job_t *job = run->work.job;
    int lead = run->work.bench_case->member[0];
    if (lead != 0 && job->rank == lead)
        MPI_DO(MPI_Send(data, (int)size, MPI_BYTE, 0, TAG_POINT, job->world));
    else if (lead != 0 && job->rank == 0)
        receive_quietly(job, data, (int)size, lead);
}

/* The lead sends the samples of a visit to rank 0, which writes them. */
static void write_visit(run_t *run, report_t *report) {
    const case_t *bench_case = run->work.bench_case;
    bool writes = run->work.job->rank == 0;
    if (writes && bench_case->member[0] != 0)
        guard_step(others_limit_s(run), "waiting for rank %d to measure", bench_case->member[0]);
    send_to_writer(run, report, sizeof *report);
    for (int series = 0; series < SERIES_COUNT && report->count > 0; series++) {
        const char *name = series_name(bench_case, series);
        double *seconds = series_seconds(run, series) + report->earlier_samples;
        if (name[0] == '\0')
            continue;
        send_to_writer(run, seconds, (size_t)report->count * sizeof *seconds);
        if (writes) {
            guard_step(0, "writing samples");
            samples_point(run->samples, bench_case, name, report->bytes, report->earlier_samples, seconds,
                          report->count);
        }
    }
}

static void show(const run_t *run) {
    if (run->shows_progress)
        progress_show(run->benchmark->name, run->points_done, run->point_count, run->end_s - now_s());
}

/* Measures a case. Returns, at rank 0 and the lead, how many sizes there was no time for. */
static int run_points(run_t *run, int point_count) {
    bool takes_part = run->work.comm != MPI_COMM_NULL;
    report_t report = {.count = 1};
    int before = run->points_done;
    if (!takes_part && run->work.job->rank != 0)
        return 0;
    while (report.count > 0) {
        if (takes_part)
            member_visit(run, &report);
        write_visit(run, &report);
        if (takes_part && leads(run) && report.count > 0)
            sizes_record(run->sizes, &run->visit, run->seconds, report.earlier_samples + report.count);
        run->points_done += report.earlier_samples == 0 && run->points_done < before + point_count;
        show(run);
    }
    run->points_done = before + point_count;
    return report.left_out;
}

/* Times one size by a few repetitions. `meeting_s`: what a repetition takes besides its iterations. */
static probe_t time_size(run_t *run, int64_t bytes, double *meeting_s) {
    guard_step(repetition_limit_s(run), "timing %lld bytes", (long long)bytes);
    (void)repeat(run, bytes, 1, 0);
    int iterations = agree_on(run, sizes_iterations(repeat(run, bytes, 1, 0)));
    double seconds[PROBE_SAMPLES];
    for (int i = 0; i < PROBE_SAMPLES; i++)
        seconds[i] = repeat(run, bytes, iterations, 0);
    *meeting_s = fmax(run->last_wait_s - iterations * seconds[PROBE_SAMPLES - 1], 0.0);
    return probe_of(bytes, seconds);
}

/* Estimates how long a case takes from probes, which are the times of a few sizes. Each size is STEP times
 * the one before, until the next would take more than 1 / SHARE of the budget. Only the lead keeps the
 * probes. The time that they took is subtracted, since engine_estimate adds the time of this call. */
static double member_estimate_s(run_t *run) {
    enum { STEP = 256, SHARE = 40 };
    sizes_options_t ladder = ladder_of(run->options, run->work.bench_case);
    probe_t probe[PROBE_MAX];
    int count = 0, more = sizes_ladder_count(&ladder) > 0;
    int64_t bytes = ladder.from_bytes, last = ladder.to_bytes - ladder.to_bytes % ladder.unit_bytes;
    double began_s = now_s(), meeting_s = 0.0;
    while (more) {
        int64_t next = bytes < last / STEP ? bytes * STEP : last;
        probe[count] = time_size(run, bytes, &meeting_s);
        if (leads(run)) {
            run->bound_s = probe[count++].seconds * (double)next / fmax((double)bytes, 1.0);
            more = next > bytes && count < PROBE_MAX && SHARE * run->bound_s < run->options->budget_s;
        }
        more = agree_on(run, more);
        MPI_DO(MPI_Bcast(&run->bound_s, 1, MPI_DOUBLE, 0, run->work.comm)); /* limits the others' waits */
        bytes = next;
    }
    return leads(run) ? estimate_s(&ladder, probe, count, meeting_s) - (now_s() - began_s) : 0.0;
}

static void estimate_points(run_t *run) {
    bool takes_part = run->work.comm != MPI_COMM_NULL;
    double seconds = takes_part ? member_estimate_s(run) : 0.0;
    if (!takes_part && run->work.job->rank != 0)
        return;
    if (run->work.job->rank == 0 && run->work.bench_case->member[0] != 0)
        guard_step(others_limit_s(run), "waiting for rank %d to time a case",
                   run->work.bench_case->member[0]);
    send_to_writer(run, &seconds, sizeof seconds);
    run->case_estimate_s = seconds;
}

/* Returns a rank's index among the members; -1: it is no member. */
static int place_among_members(const case_t *bench_case, int rank) {
    for (int i = 0; i < bench_case->member_count; i++)
        if (bench_case->member[i] == rank)
            return i;
    return -1;
}

/* Collective over the job: measures or estimates the case run->work.bench_case. Returns as run_points. */
static int run_case(run_t *run, int point_count) {
    work_t *work = &run->work;
    const job_t *job = work->job;
    guard_about("%s", run->benchmark->name);
    guard_step(set_up_limit_s(), "setting up a case");
    int place = place_among_members(work->bench_case, job->rank);
    MPI_DO(MPI_Comm_split(job->world, place >= 0 ? 0 : MPI_UNDEFINED, place, &work->comm));
    work->me = place;
    work->max_bytes = work->bench_case->sized ? last_size(run->options, work->bench_case) : 0;
    run->last_wait_s = 0.0;
    if (place == 0) {
        sizes_options_t ladder = ladder_of(run->options, work->bench_case);
        run->sizes = sizes_create(&ladder);
    }
    if (place >= 0) {
        MPI_DO(MPI_Comm_set_errhandler(work->comm, MPI_ERRORS_RETURN));
        work->together = together_create(work->comm);
        work_open(work, run->benchmark);
    }
    int left_out = 0;
    if (run->estimates)
        estimate_points(run);
    else
        left_out = run_points(run, point_count);
    if (place == 0)
        sizes_destroy(run->sizes);
    if (place >= 0) {
        guard_step(set_up_limit_s(), "closing a case");
        work_close(work, run->benchmark);
        together_destroy(work->together);
        MPI_DO(MPI_Comm_free(&work->comm));
    }
    guard_step(others_limit_s(run), "waiting for all processes to end the case");
    barrier_quietly(job);
    return left_out;
}

static int run_cases(run_t *run, const case_list_t *list) {
    int left_out = 0;
    for (int i = 0; i < list->case_count; i++) {
        run->work.bench_case = &list->cases[i];
        run->work.comm = MPI_COMM_NULL;
        double now = now_s();
        run->case_end_s = now + (run->end_s - now) / (list->case_count - i);
        left_out += run_case(run, points_of(run->options, run->work.bench_case));
    }
    return left_out;
}

static double budget_s(const pto_calibrate_options_t *options, const benchmark_t *benchmark) {
    return options->budget_s * (benchmark->share > 0.0 ? benchmark->share : 1.0);
}

int engine_size_count(const pto_calibrate_options_t *options, const case_list_t *list) {
    int count = 0;
    for (int i = 0; i < list->case_count; i++)
        count += points_of(options, &list->cases[i]);
    return count;
}

int engine_run(const job_t *job, const pto_calibrate_options_t *options, const benchmark_t *benchmark,
               const case_list_t *list, samples_t *samples) {
    run_t run = {.options = options, .benchmark = benchmark, .samples = samples, .work = {.job = job}};
    run.seconds = must_allocate((size_t)options->repeats * SERIES_COUNT, sizeof *run.seconds);
    run.sorted = must_allocate((size_t)options->repeats, sizeof *run.sorted);
    run.shows_progress = job->rank == 0 && list->case_count > 0 && (options->progress || progress_wanted());
    run.end_s = now_s() + budget_s(options, benchmark);
    run.point_count = engine_size_count(options, list);
    show(&run);
    int left_out = run_cases(&run, list);
    if (run.shows_progress)
        progress_clear();
    free(run.seconds);
    free(run.sorted);
    return job->rank == 0 ? left_out : 0;
}

/* Times at most TIMED_MAX cases. Each also counts for its neighbors in the list, which are like it. */
double engine_estimate(const job_t *job, const pto_calibrate_options_t *options, const benchmark_t *benchmark,
                       const case_list_t *list) {
    enum { TIMED_MAX = 6 };
    run_t run = {.options = options, .benchmark = benchmark, .work = {.job = job}, .estimates = true};
    run.seconds = must_allocate((size_t)options->repeats * SERIES_COUNT, sizeof *run.seconds);
    run.end_s = now_s() + budget_s(options, benchmark);
    double sum_s = 0.0;
    int stride = (list->case_count + TIMED_MAX - 1) / TIMED_MAX;
    for (int first = 0; first < list->case_count; first += stride) {
        int past = first + stride < list->case_count ? first + stride : list->case_count;
        double began_s = now_s();
        run.work.bench_case = &list->cases[first + (past - first) / 2];
        run.work.comm = MPI_COMM_NULL;
        run_case(&run, 0);
        sum_s += (past - first) * (now_s() - began_s + run.case_estimate_s);
    }
    free(run.seconds);
    return fmin(sum_s, budget_s(options, benchmark));
}
