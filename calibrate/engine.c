/* The measuring loop. Processes that take no part in a case sleep, to keep the cores free. The lead of a case
 * decides when a point is settled and sends its samples to rank 0, which writes them.
 *
 * A time budget is shared out as the job goes: each case gets an equal share of the time left, and so does
 * each point of a case. Time that cheap points don't use goes to the expensive ones. */
#include "engine.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fatal.h"
#include "guard.h"
#include "progress.h"
#include "statistics.h"

enum { TAG_POINT = 1, SERIES_COUNT = 1 + CASE_PART_MAX, ITERATIONS_MAX = 1000, REPEATS_WORTH_HAVING = 3 };

/* A repetition lasts at least this long, so that the clock's own cost and resolution don't show. */
static const double repetition_s = 200e-6;
static const double settled_fraction = 0.02;
static const double nap_s = 300e-6;

/* What a lead tells rank 0 after each point. */
typedef struct {
    int64_t bytes;
    int count; /* samples that follow; 0: the case is over */
} report_t;

typedef struct {
    const pto_calibrate_options_t *options;
    const benchmark_t *benchmark;
    samples_t *samples; /* rank 0's */
    work_t work;        /* .what is the current case, even on processes that take no part in it */
    void *state;
    bool shows; /* the progress bar; rank 0's */
    int point_count;
    int points_done;
    double end_s;
    double case_end_s;
    double last_trial_s; /* of one iteration of the previous size; 0: none yet */
    double last_wait_s;  /* how long the previous repetition was under way, with its meetings */
    double *seconds;     /* of the case and of its parts: options->repeats each */
    double *sorted;
} run_t;

/* --- how long a wait may be ----------------------------------------------------------------------------- */

/* Other processes measure at the same time, at most for the rest of the budget. */
static double others_limit_s(const run_t *run) {
    double left_s = run->end_s - now_s();
    return guard_timeout_s() + (left_s > 0.0 ? left_s : 0.0);
}

/* Gigabytes may be allocated and touched, communicators of NCCL's made. */
static double set_up_limit_s(void) { return 3.0 * guard_timeout_s(); }

/* FACTOR times the bytes may take as much more time, and more iterations than before may be in one
 * repetition. */
static double repetition_limit_s(const run_t *run) {
    return guard_timeout_s() + 2.0 * (double)run->options->factor * run->last_wait_s;
}

/* --- waiting without a core ----------------------------------------------------------------------------- */

static void nap_until_done(MPI_Request request) {
    const struct timespec nap = {0, (long)(nap_s * 1e9)};
    int done = 0;
    MPI_DO(MPI_Request_get_status(request, &done, MPI_STATUS_IGNORE));
    while (!done) {
        nanosleep(&nap, NULL);
        MPI_DO(MPI_Request_get_status(request, &done, MPI_STATUS_IGNORE));
    }
}

static void gather_quietly(const job_t *job) {
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

/* The name of the rows of a case, or of a part of it; "": there are none. */
static const char *series_name(const case_t *what, int series) {
    return series == 0 ? what->benchmark : what->part[series - 1];
}

static double *series_seconds(const run_t *run, int series) {
    return run->seconds + (size_t)series * (size_t)run->options->repeats;
}

/* One repetition: the seconds of one iteration, of the slowest member, told to the lead; 0 to the others. The
 * lead keeps those of the parts as their `index`-th samples. */
static double repeat(run_t *run, int64_t bytes, int iterations, int index) {
    double began_s = now_s();
    guard_tick(repetition_limit_s(run));
    MPI_DO(MPI_Barrier(run->work.comm));
    together_wait(run->work.together);
    double own[SERIES_COUNT] = {run->benchmark->trial(run->state, bytes, iterations)};
    if (run->benchmark->parts != NULL)
        run->benchmark->parts(run->state, own + 1);
    double slowest[SERIES_COUNT] = {0.0};
    MPI_DO(MPI_Reduce(own, slowest, SERIES_COUNT, MPI_DOUBLE, MPI_MAX, 0, run->work.comm));
    for (int series = 1; series < SERIES_COUNT; series++)
        series_seconds(run, series)[index] = slowest[series] / iterations;
    run->last_wait_s = now_s() - began_s;
    return slowest[0] / iterations;
}

static int agree_on(run_t *run, int value) {
    guard_tick(0);
    MPI_DO(MPI_Bcast(&value, 1, MPI_INT, 0, run->work.comm));
    return value;
}

/* Warm up, and find how many iterations make a repetition long enough. The first, in which code is loaded and
 * memory touched, tells nothing of the others. */
static int warm_up(run_t *run, int64_t bytes) {
    int iterations = 1;
    (void)repeat(run, bytes, iterations, 0);
    for (;;) {
        double once = repeat(run, bytes, iterations, 0);
        int wanted = iterations;
        if (leads(run)) {
            run->last_trial_s = once;
            double needed = once > 0.0 ? repetition_s / once : ITERATIONS_MAX;
            wanted = needed >= ITERATIONS_MAX ? ITERATIONS_MAX : needed > 1.0 ? (int)needed + 1 : 1;
        }
        wanted = agree_on(run, wanted);
        /* The first iterations are slow: repeat until the estimate is stable, at most tenfold at a time. */
        if (wanted <= 2 * iterations)
            return wanted;
        iterations = wanted < 10 * iterations ? wanted : 10 * iterations;
    }
}

static bool more_needed(run_t *run, int count, double point_end_s) {
    if (count >= run->options->repeats)
        return false;
    double now = now_s();
    if (now >= run->case_end_s || (now >= point_end_s && count >= REPEATS_WORTH_HAVING))
        return false;
    memcpy(run->sorted, run->seconds, (size_t)count * sizeof *run->sorted);
    return !median_is_settled(run->sorted, count, settled_fraction);
}

/* Fills run->seconds of the lead; returns how many samples there are. */
static int measure_point(run_t *run, int64_t bytes, int points_left) {
    double now = now_s();
    double point_end_s = now + (run->case_end_s - now) / points_left;
    int iterations = warm_up(run, bytes);
    int count = 0;
    int more = 1;
    while (more) {
        double seconds = repeat(run, bytes, iterations, count);
        if (leads(run)) {
            run->seconds[count] = seconds;
            run->last_trial_s = seconds;
            more = more_needed(run, count + 1, point_end_s);
        }
        count++;
        more = agree_on(run, more);
    }
    return count;
}

/* --- one case ------------------------------------------------------------------------------------------- */

static int64_t first_size(const pto_calibrate_options_t *options, const case_t *what) {
    if (!what->sized)
        return 0;
    int64_t bytes = 1;
    while (bytes < options->from_bytes || bytes < what->least_bytes)
        bytes *= 2;
    return bytes;
}

static int64_t last_size(const pto_calibrate_options_t *options, const case_t *what) {
    return what->most_bytes < options->to_bytes ? what->most_bytes : options->to_bytes;
}

static int points_of(const pto_calibrate_options_t *options, const case_t *what) {
    if (!what->sized)
        return 1;
    int count = 0;
    for (int64_t bytes = first_size(options, what); bytes <= last_size(options, what);
         bytes *= options->factor)
        count++;
    return count;
}

/* FACTOR times the bytes may take as much more time, once to warm up and once to measure: is there room? */
static bool room_for_point(const run_t *run) {
    return now_s() + 2.0 * (double)run->options->factor * run->last_trial_s < run->case_end_s;
}

static void member_point(run_t *run, int64_t bytes, int points_left, report_t *report) {
    report->bytes = bytes;
    report->count = 0;
    guard_step(0, "measuring %lld bytes", (long long)bytes);
    if (agree_on(run, leads(run) && room_for_point(run)))
        report->count = measure_point(run, bytes, points_left);
}

/* From the lead to rank 0, if they are two. */
static void pass_on(const run_t *run, void *data, size_t size) {
    const job_t *job = run->work.job;
    int lead = run->work.what->member[0];
    if (lead != 0 && job->rank == lead)
        MPI_DO(MPI_Send(data, (int)size, MPI_BYTE, 0, TAG_POINT, job->world));
    else if (lead != 0 && job->rank == 0)
        receive_quietly(job, data, (int)size, lead);
}

/* The lead's samples reach rank 0, which writes them. */
static void hand_over(run_t *run, report_t *report) {
    const case_t *what = run->work.what;
    bool writes = run->work.job->rank == 0;
    if (writes && what->member[0] != 0) {
        guard_step(others_limit_s(run), "waiting for rank %d to measure %lld bytes", what->member[0],
                   (long long)report->bytes);
    }
    pass_on(run, report, sizeof *report);
    for (int series = 0; series < SERIES_COUNT && report->count > 0; series++) {
        const char *name = series_name(what, series);
        double *seconds = series_seconds(run, series);
        if (name[0] == '\0')
            continue;
        pass_on(run, seconds, (size_t)report->count * sizeof *seconds);
        if (writes) {
            guard_step(0, "writing samples");
            samples_point(run->samples, what, name, report->bytes, seconds, report->count);
        }
    }
}

static void show(const run_t *run) {
    if (run->shows)
        progress_show(run->benchmark->name, run->points_done, run->point_count, run->end_s - now_s());
}

/* Returns how many points were measured. */
static int run_points(run_t *run, int point_count) {
    bool takes_part = run->work.comm != MPI_COMM_NULL;
    if (!takes_part && run->work.job->rank != 0)
        return 0;
    int64_t bytes = first_size(run->options, run->work.what);
    for (int done = 0; done < point_count; done++, bytes *= run->options->factor) {
        report_t report = {bytes, 0};
        if (takes_part)
            member_point(run, bytes, point_count - done, &report);
        hand_over(run, &report);
        if (report.count == 0)
            return done;
        run->points_done++;
        show(run);
    }
    return point_count;
}

static int place_among_members(const case_t *what, int rank) {
    for (int i = 0; i < what->member_count; i++)
        if (what->member[i] == rank)
            return i;
    return -1;
}

static int run_case(run_t *run, int point_count) {
    work_t *work = &run->work;
    const job_t *job = work->job;
    guard_about("%s", run->benchmark->name);
    guard_step(set_up_limit_s(), "setting up a case");
    int place = place_among_members(work->what, job->rank);
    MPI_DO(MPI_Comm_split(job->world, place >= 0 ? 0 : MPI_UNDEFINED, place, &work->comm));
    work->me = place;
    work->most_bytes = work->what->sized ? last_size(run->options, work->what) : 0;
    run->last_trial_s = 0.0;
    run->last_wait_s = 0.0;
    if (place >= 0) {
        MPI_DO(MPI_Comm_set_errhandler(work->comm, MPI_ERRORS_RETURN));
        work->together = together_create(work->comm);
        run->state = run->benchmark->open != NULL ? run->benchmark->open(work) : work;
    }
    int measured = run_points(run, point_count);
    if (place >= 0) {
        guard_step(set_up_limit_s(), "closing a case");
        if (run->benchmark->close != NULL)
            run->benchmark->close(run->state);
        together_destroy(work->together);
        MPI_DO(MPI_Comm_free(&work->comm));
    }
    guard_step(others_limit_s(run), "waiting for all processes to end the case");
    gather_quietly(job);
    return measured;
}

/* Returns how many points had no room. */
static int run_cases(run_t *run, const case_list_t *list) {
    int left_out = 0;
    for (int i = 0; i < list->case_count; i++) {
        run->work.what = &list->cases[i];
        run->work.comm = MPI_COMM_NULL;
        double now = now_s();
        run->case_end_s = now + (run->end_s - now) / (list->case_count - i);
        int points = points_of(run->options, run->work.what);
        int missed = points - run_case(run, points);
        run->points_done += missed;
        left_out += missed;
    }
    return left_out;
}

int engine_run(const job_t *job, const pto_calibrate_options_t *options, const benchmark_t *benchmark,
               const case_list_t *list, samples_t *samples) {
    run_t run = {.options = options, .benchmark = benchmark, .samples = samples, .work = {.job = job}};
    run.seconds = must_allocate((size_t)options->repeats * SERIES_COUNT, sizeof *run.seconds);
    run.sorted = must_allocate((size_t)options->repeats, sizeof *run.sorted);
    run.shows = job->rank == 0 && list->case_count > 0 && (options->progress || progress_wanted());
    run.end_s = now_s() + options->budget_s;
    for (int i = 0; i < list->case_count; i++)
        run.point_count += points_of(options, &list->cases[i]);
    show(&run);
    int left_out = run_cases(&run, list);
    if (run.shows)
        progress_clear();
    free(run.seconds);
    free(run.sorted);
    return job->rank == 0 ? left_out : 0;
}
