/* Which processes, nodes and links make others wait, in jobs that were made with one bad part, or none. */
#include "made_traces.h"
#include "recorded.h"
#include "sample.h"
#include "test.h"

static pto_delays_t find_delays(const char *text, int node_procs) {
    const pto_recording_options_t options = with_timeline(node_procs);
    pto_recording_t trace = must_record(text, &options);
    return must_find_delays(&options, &trace);
}

/* The lines after the first, the last one first; frees the text. */
static char *reverse_rows(char *text) {
    const size_t size = strlen(text), head = strcspn(text, "\n") + 1;
    char *reversed = calloc(1, size + 1), *to = reversed + head;
    memcpy(reversed, text, head);
    for (const char *end = text + size, *at; end > text + head; end = at) {
        for (at = end - 1; at > text + head && at[-1] != '\n';)
            at--;
        memcpy(to, at, (size_t)(end - at));
        to += end - at;
    }
    free(text);
    return reversed;
}

/* From the files of all processes, the first of which is read last. Process `late` began to record `first`
 * calls later than the others. */
static pto_delays_t find_in_files(const made_job_t *job, made_format_t format, bool has_numbers, int late,
                                  int first) {
    pto_recording_options_t options = with_timeline(job->node_procs);
    pto_recording_t trace = {.count = 0};
    for (int r = job->procs - 1; r >= 0; r--) {
        char *text = made_trace(job, format, r, r == late ? first : 0, has_numbers);
        if (format == MADE_CALLS && !has_numbers) /* a file need not be in the order of time */
            text = reverse_rows(text);
        options.times_only = r > 0;
        trace = must_record(text, &options);
        free(text);
    }
    return must_find_delays(&options, &trace);
}

static const char *const fault_name[] = {"healthy", "late process", "late node", "slow node", "slow link"};

/* What is said of a job is its fault, and nothing else. */
static bool is_right(const made_job_t *job, const pto_delays_t *delays) {
    const pto_delay_t *delay = delays->delay;
    if (job->fault == MADE_HEALTHY)
        return delays->count == 0;
    if (delays->count != 1)
        return false;
    const bool is_late = delay->cause == PTO_DELAY_LATE, is_bad = delay->place[0] == job->bad;
    switch (job->fault) {
    case MADE_LATE_PROCESS:
        return is_late && !delay->is_node && is_bad;
    case MADE_LATE_NODE:
        return is_late && is_bad && (delay->is_node || job->node_procs == 1) && delay->last <= delay->calls &&
               delay->calls <= delays->calls;
    case MADE_SLOW_NODE:
        return delay->cause == PTO_DELAY_SLOW && delay->is_node && is_bad;
    default:
        return delay->cause == PTO_DELAY_SLOW_LINK && delay->is_node &&
               delay->place[0] + delay->place[1] == job->bad + job->other &&
               (is_bad || delay->place[0] == job->other);
    }
}

static bool is_possible(const made_job_t *job) {
    const int nodes = job->procs / job->node_procs;
    if (job->fault == MADE_SLOW_LINK)
        return nodes > 2 && job->bad != job->other;
    return job->fault == MADE_LATE_NODE || job->fault == MADE_SLOW_NODE ? nodes > 2 : true;
}

static void print_wrong(const made_job_t *job, uint64_t seed, const pto_delays_t *delays) {
    print_message("seed %llu: %dx%d, %d a node, %s %d %d x%.2f, compute %g, noise %.3f\n",
                  (unsigned long long)seed, job->rows, job->columns, job->node_procs, fault_name[job->fault],
                  job->bad, job->other, job->factor, job->compute_s, job->noise);
    for (int i = 0; i < delays->count; i++) {
        const pto_delay_t *delay = &delays->delay[i];
        print_message("   %s %s %lld %lld (%d) late %g noise %g ratio %g\n",
                      pto_delay_cause_name(delay->cause), delay->is_node ? "node" : "process",
                      (long long)delay->place[0], (long long)delay->place[1], delay->place_count,
                      delay->late_s, delay->noise_s, delay->ratio);
    }
}

/* Runs a sample of `count` made jobs with consecutive seeds, of `procs` processes (0: of any number), whose
 * steps are those of `like`. Returns how many were judged wrongly. */
static int run_steps_in(made_format_t format, made_fault_t fault, uint64_t seed, int count, int procs,
                        made_job_t like) {
    int wrong = 0;
    for (int done = 0; done < count; seed++) {
        made_job_t job;
        made_job_init(&job, seed, fault);
        if (!is_possible(&job) || (procs > 0 && job.procs != procs))
            continue;
        job.buckets = like.buckets;
        job.is_chain = like.is_chain;
        made_job_run(&job, 40);
        pto_delays_t delays = find_in_files(&job, format, seed % 2 == 0, -1, 0);
        if (!is_right(&job, &delays)) {
            print_wrong(&job, seed, &delays);
            wrong++;
        }
        made_job_free(&job);
        done += test_sample();
    }
    return wrong;
}

static int run_jobs_in(made_format_t format, made_fault_t fault, uint64_t seed, int count, int procs) {
    return run_steps_in(format, fault, seed, count, procs, (made_job_t){.buckets = 0});
}

TEST(faults_of_four_processes_are_named_and_nothing_else) {
    for (int fault = MADE_HEALTHY; fault <= MADE_SLOW_LINK; fault++)
        assert_int_equal(run_jobs_in(MADE_CALLS, (made_fault_t)fault, 6000, 6, 4), 0);
}

/* Of sixty jobs in each format, of which twenty are healthy. */
TEST(faults_are_named_and_nothing_else) {
    static const char *const name[] = {"calls.csv", "PyTorch's traces", "dumps of NCCL's inspector",
                                       "verbose dumps of NCCL's inspector"};
    for (made_format_t format = MADE_CALLS; format <= MADE_INSPECTOR_VERBOSE; format++) {
        const int wrong = run_jobs_in(format, MADE_HEALTHY, 1000, 20, 0) +
                          run_jobs_in(format, MADE_LATE_PROCESS, 2000, 14, 0) +
                          run_jobs_in(format, MADE_LATE_NODE, 3000, 6, 0) +
                          run_jobs_in(format, MADE_SLOW_NODE, 4000, 10, 0) +
                          run_jobs_in(format, MADE_SLOW_LINK, 5000, 10, 0);
        if (wrong > 0)
            fail_msg("%d wrong in %s", wrong, name[format]);
    }
}

/* Each once named a healthy process, or other links or nodes. */
TEST(chance_names_no_healthy_process_node_or_link) {
    static const struct {
        made_format_t format;
        made_fault_t fault;
        uint64_t seed;
    } job[] = {
        {MADE_CALLS, MADE_SLOW_NODE, 3600113},     /* messages that seem to be behind others */
        {MADE_CALLS, MADE_SLOW_NODE, 8000578},     /* */
        {MADE_CALLS, MADE_SLOW_NODE, 1223061},     /* clocks further apart than calls last */
        {MADE_CALLS, MADE_SLOW_NODE, 8000547},     /* little noise, for most calls show none early or late */
        {MADE_CALLS, MADE_SLOW_LINK, 8100804},     /* */
        {MADE_INSPECTOR, MADE_SLOW_NODE, 3600054}, /* messages that the file does not show */
        {MADE_INSPECTOR, MADE_SLOW_NODE, 3600186},
        {MADE_CALLS, MADE_HEALTHY, 9000382}, /* some nodes' calls that were often disturbed */
    };
    int wrong = 0;
    for (size_t i = 0; i < sizeof job / sizeof *job; i++)
        wrong += run_jobs_in(job[i].format, job[i].fault, job[i].seed, 1, 0);
    assert_int_equal(wrong, 0);
}

/* Only the first call of a step finds a process late. */
TEST(who_is_late_to_the_first_of_several_calls_is_named) {
    for (made_format_t format = MADE_CALLS; format <= MADE_KINETO; format++)
        for (int buckets = 2; buckets <= 4; buckets++) {
            const made_job_t like = {.buckets = buckets};
            assert_int_equal(run_steps_in(format, MADE_HEALTHY, 7000, 6, 0, like) +
                                 run_steps_in(format, MADE_LATE_PROCESS, 7100, 6, 0, like) +
                                 run_steps_in(format, MADE_LATE_NODE, 7200, 3, 0, like),
                             0);
        }
}

/* It waits least in large sums. In the last of these jobs, a few delays in its computation add up to what a
 * late process shows. */
TEST(the_end_of_a_chain_is_not_late) {
    const made_job_t like = {.is_chain = true};
    for (made_format_t format = MADE_CALLS; format <= MADE_INSPECTOR_VERBOSE; format++)
        assert_int_equal(run_steps_in(format, MADE_HEALTHY, 7388, 4, 0, like) +
                             run_steps_in(format, MADE_LATE_PROCESS, 7304, 4, 0, like),
                         0);
}

/* Calls of three processes, with sums at process 0 and back. Either all links are alike, and process 2 sends
 * through process 1; or each sends to process 0, and the link of process 2 takes twice as long. */
static char *sums_in(bool is_chain) {
    const double tick_s = 1.0 / (1 << 20), link_s = 200 * tick_s;
    made_job_t job = {.state = 1};
    made_text_t text = {.used = 0};
    double now_s[3] = {0};
    made_print(&text, "rank,begin_s,end_s,routine,communicator,procs,peer,tag,bytes,space\n");
    for (int call = 0; call < 60; call++) {
        double begin_s[3], sum_s = 0;
        for (int r = 0; r < 3; r++)
            begin_s[r] = now_s[r] + tick_s * (1000 + made_below(&job, 100));
        if (call % 2 == 1) {
            for (int r = 0; r < 3; r++)
                sum_s = fmax(sum_s, begin_s[r] + 2 * tick_s);
            for (int r = 0; r < 3; r++)
                now_s[r] = sum_s;
        } else if (is_chain) {
            sum_s = fmax(begin_s[0], fmax(begin_s[1], begin_s[2] + link_s) + link_s);
            now_s[0] = sum_s;
            now_s[1] = now_s[0] + link_s;
            now_s[2] = now_s[1] + link_s;
        } else {
            sum_s = fmax(begin_s[0], fmax(begin_s[1] + link_s, begin_s[2] + 2 * link_s));
            now_s[0] = sum_s;
            now_s[1] = sum_s + link_s;
            now_s[2] = sum_s + 2 * link_s;
        }
        for (int r = 0; r < 3; r++)
            made_print(&text, "%d,%.9f,%.9f,%s,a,3,,,%d,gpu\n", r, begin_s[r], now_s[r],
                       call % 2 ? "MPI_Barrier" : "MPI_Allreduce", call % 2 ? 0 : 1048576);
    }
    return text.text;
}

/* So a slow node cannot be told from a distant one where all calls are of all processes. */
TEST(a_slow_node_has_the_times_of_a_healthy_one_behind_another) {
    char *slow = sums_in(false), *healthy = sums_in(true);
    assert_string_equal(slow, healthy);
    pto_delays_t delays = find_delays(slow, 1);
    assert_int_equal(delays.count, 0);
    assert_true(delays.late_told);
    assert_false(delays.slow_told);
    free(slow);
    free(healthy);
}

/* By the numbers of calls, the same is found as in whole traces. Without them, groups of calls are left out
 * in which a process has fewer. */
TEST(traces_that_begin_at_different_calls_match_by_number) {
    made_job_t job;
    made_job_init(&job, 2000, MADE_LATE_PROCESS);
    made_job_run(&job, 40);
    int64_t compared = 0;
    for (int numbered = 1; numbered >= 0; numbered--) {
        pto_delays_t delays = find_in_files(&job, MADE_KINETO, numbered, job.bad, 13);
        if (numbered)
            assert_true(is_right(&job, &delays));
        else
            assert_int_equal(delays.count, 0);
        assert_true(numbered || delays.calls < compared);
        compared = delays.calls;
    }
    made_job_free(&job);
}

/* Lines of calls.csv, of all processes in the order of their ranks, by when they began. */
static int compare_begins(const void *left, const void *right) {
    const made_call_t *a = left, *b = right;
    return (a->begin_s > b->begin_s) - (a->begin_s < b->begin_s);
}

TEST(lines_of_different_processes_may_alternate) {
    made_job_t job;
    made_job_init(&job, 2000, MADE_LATE_PROCESS);
    made_job_run(&job, 40);
    qsort(job.call, (size_t)job.count, sizeof *job.call, compare_begins);
    made_text_t text = {.used = 0};
    made_print(&text, "rank,begin_s,end_s,routine,communicator,procs,peer,tag,bytes,space\n");
    for (int i = 0; i < job.count; i++)
        made_calls_row(&job, &job.call[i], &text);
    pto_delays_t delays = find_delays(text.text, job.node_procs);
    assert_true(is_right(&job, &delays));
    assert_true(delays.late_told && delays.slow_told);
    free(text.text);
    made_job_free(&job);
}

/* What is found in a healthy job of `steps` steps; asserts that nothing is named. */
static pto_delays_t find_in_healthy(int steps) {
    made_job_t job;
    made_job_init(&job, 1000, MADE_HEALTHY);
    made_job_run(&job, steps);
    pto_delays_t delays = find_in_files(&job, MADE_CALLS, false, -1, 0);
    made_job_free(&job);
    assert_int_equal(delays.count, 0);
    return delays;
}

TEST(few_calls_tell_nothing) {
    pto_delays_t few = find_in_healthy(1), many = find_in_healthy(30);
    assert_true(few.calls > 0);
    assert_false(few.late_told);
    assert_false(few.slow_told);
    assert_true(many.late_told);
    assert_true(many.slow_told);
}

/* What is found in 20 calls of four processes, of which process `late` comes 300 us after the others. */
static pto_delays_t find_in_rooted(const char *routine, bool from_root, const char *root, int late) {
    made_text_t text = {.used = 0};
    made_print(&text, "rank,begin_s,end_s,routine,communicator,procs,peer,tag,bytes,space\n");
    for (int rank = 0; rank < 4; rank++)
        for (int i = 0; i < 20; i++) {
            const double first = 1e-3 * (i + 1) + 1e-7 * ((7 * rank + 5 * i) % 11), late_s = 3e-4;
            const double begin_s = first + (rank == late ? late_s : 0);
            const bool waits = from_root ? rank != 0 && late == 0 : rank == 0 && late != 0;
            made_print(&text, "%d,%.7f,%.7f,%s,w,4,%s,,4096,gpu\n", rank, begin_s,
                       begin_s + 2e-5 + (waits ? late_s : 0), routine, root);
        }
    pto_delays_t delays = find_delays(text.text, 4);
    free(text.text);
    return delays;
}

/* A broadcast's processes leave together, whoever came late; those that send to a root do not. */
TEST(calls_with_a_root_are_compared_if_it_and_the_clocks_are_known) {
    pto_delays_t late = find_in_rooted("MPI_Bcast", true, "0", 0);
    assert_int_equal(late.count, 1);
    assert_int_equal(late.delay[0].cause, PTO_DELAY_LATE);
    assert_int_equal(late.delay[0].place[0], 0);
    static const struct {
        const char *routine, *root;
        bool from_root;
        int late;
        int64_t rootless, clockless;
    } untold[] = {{"MPI_Bcast", "", true, 0, 20, 0},
                  {"MPI_Reduce", "", false, 2, 20, 0},
                  {"MPI_Reduce", "0", false, 2, 0, 20},
                  {"MPI_Gather", "0", false, 2, 0, 20}};
    for (size_t i = 0; i < sizeof untold / sizeof *untold; i++) {
        pto_delays_t delays =
            find_in_rooted(untold[i].routine, untold[i].from_root, untold[i].root, untold[i].late);
        assert_int_equal(delays.calls, 20);
        assert_int_equal(delays.rootless, untold[i].rootless);
        assert_int_equal(delays.clockless, untold[i].clockless);
        assert_false(delays.late_told);
        assert_int_equal(delays.count, 0);
    }
}

/* A process's calls of two kinds in turn, the larger one first, which takes ten times as long. */
static char *alternating_calls(int rank, int calls) {
    made_text_t text = {.used = 0};
    made_print(&text, "rank,begin_s,end_s,routine,communicator,procs,peer,tag,bytes,space\n");
    for (int i = 0; i < calls; i++)
        made_print(&text, "%d,%.6f,%.6f,MPI_Allreduce,a,2,,,%d,gpu\n", rank, 1e-3 * i,
                   1e-3 * i + (i % 2 ? 1e-5 : 1e-4), i % 2 ? 8 : 1024);
    return text.text;
}

/* A timeline that is full keeps the first calls of each process: each with its kind, also of earlier files.
 */
TEST(calls_that_are_kept_keep_their_kinds) {
    enum { FEW = 1000, MANY = 270000 };
    for (int calls = FEW; calls <= MANY; calls += MANY - FEW) {
        pto_recording_options_t options = with_timeline(2);
        pto_recording_t trace = {.count = 0};
        for (int rank = 1; rank >= 0; rank--) {
            char *text = alternating_calls(rank, calls);
            options.times_only = rank > 0;
            trace = must_record(text, &options);
            free(text);
        }
        must_find_delays(&options, &trace);
        assert_int_equal(trace.count, 2);
        for (int i = 0; i < 2; i++) {
            const pto_recording_call_t *call = &trace.call[i];
            assert_int_equal(call->bytes, i ? 1024 : 8);
            assert_int_equal(call->times, calls / 2);
            assert_in_range(call->compared, FEW / 2 - 10, calls == FEW ? FEW / 2 : MANY / 4);
            const double each_s = call->transfer_s / (double)call->compared;
            if (!(fabs(each_s - (i ? 1e-4 : 1e-5)) < 1e-7))
                fail_msg("%d calls: %g s, not %g", calls, each_s, i ? 1e-4 : 1e-5);
        }
    }
}

/* --- sends that return before their messages have left -------------------------------------------------- */

enum { PROCS = 4, STEPS = 20 };

/* tests/mpi/test_steps.c on nodes of one process each, by the clock of all: what a node sends leaves one
 * message after another. */
typedef struct {
    int late, slow; /* a process and a node, or -1 */
    double now_s[PROCS], sent_s[PROCS];
    size_t used[PROCS];
    char text[PROCS][1 << 15];
} steps_t;

static void add_row(steps_t *job, int rank, double begin_s, const char *routine, int peer, int bytes) {
    char peer_text[12] = "";
    if (peer >= 0)
        snprintf(peer_text, sizeof peer_text, "%d", peer);
    job->used[rank] +=
        (size_t)snprintf(job->text[rank] + job->used[rank], sizeof job->text[rank] - job->used[rank],
                         "%d,%.6f,%.6f,%s,a0,%d,%s,%s,%d,gpu\n", rank, begin_s, job->now_s[rank], routine,
                         PROCS, peer_text, peer >= 0 ? "0" : "", bytes);
}

static void send_early(steps_t *job, int from, int to) {
    const double begin_s = job->now_s[from], posted_s = job->now_s[to];
    job->sent_s[from] = fmax(job->sent_s[from], fmax(begin_s, posted_s)) + (from == job->slow ? 0.03 : 0.01);
    job->now_s[to] = job->sent_s[from];
    job->now_s[from] = fmax(begin_s, posted_s) + 0.001;
    add_row(job, from, begin_s, "MPI_Send", to, 131072);
    add_row(job, to, posted_s, "MPI_Recv", from, 131072);
}

static pto_delays_t find_in_steps(int late, int slow) {
    steps_t *job = calloc(1, sizeof *job);
    assert_non_null(job);
    job->late = late;
    job->slow = slow;
    for (int step = 0; step < STEPS; step++) {
        double begin_s[PROCS], last_s = 0;
        for (int r = 0; r < PROCS; r++) {
            begin_s[r] = job->now_s[r] += (r == late ? 0.06 : 0.02) + 1e-5 * ((7 * r + 3 * step) % 5);
            last_s = fmax(last_s, begin_s[r]);
        }
        for (int r = 0; r < PROCS; r++) {
            job->now_s[r] = last_s + 2e-4;
            add_row(job, r, begin_s[r], "MPI_Allreduce", -1, 32);
        }
        for (int round = 1; round < PROCS; round++)
            for (int turn = 0; turn < 2; turn++)
                for (int r = 0; r < PROCS; r++)
                    if ((turn == 0) == (r < (r ^ round)))
                        send_early(job, r, r ^ round);
    }
    static char all[sizeof job->text + 128];
    size_t used =
        (size_t)sprintf(all, "rank,begin_s,end_s,routine,communicator,procs,peer,tag,bytes,space\n");
    for (int r = 0; r < PROCS; r++)
        used += (size_t)sprintf(all + used, "%s", job->text[r]);
    free(job);
    return find_delays(all, 1);
}

/* What is found in the report of the drop-in, which has no messages, or in one that has them. */
static pto_delays_t find_in_report(const made_job_t *job, bool has_messages) {
    made_text_t text = {.used = 0};
    made_print(&text, "rank,begin_s,end_s,routine,communicator,procs,peer,tag,bytes,space,route\n");
    for (int i = 0; i < job->count; i++) {
        if (job->call[i].peer >= 0 && !has_messages)
            continue;
        made_calls_row(job, &job->call[i], &text);
        text.used--;
        made_print(&text, ",mpi\n");
    }
    pto_delays_t delays = find_delays(text.text, job->node_procs);
    free(text.text);
    return delays;
}

/* Who waits for its messages comes late to collectives. */
TEST(a_report_without_messages_names_no_late_process_beside_a_slow_node) {
    made_job_t job;
    made_job_init(&job, 9315, MADE_SLOW_NODE);
    made_job_run(&job, 40);
    for (int has_messages = 0; has_messages <= 1; has_messages++) {
        pto_delays_t delays = find_in_report(&job, has_messages);
        assert_true(is_right(&job, &delays));
        assert_int_equal(delays.hides_messages, !has_messages);
        assert_int_equal(delays.late_told, has_messages);
    }
    made_job_free(&job);
}

TEST(messages_behind_others_of_their_sender_are_no_slow_link) {
    pto_delays_t delays = find_in_steps(-1, -1);
    assert_int_equal(delays.count, 0);
}

TEST(a_late_process_is_named_besides_a_slow_node) {
    pto_delays_t delays = find_in_steps(1, 2);
    assert_int_equal(delays.count, 2);
    assert_int_equal(delays.delay[0].cause, PTO_DELAY_LATE);
    assert_int_equal(delays.delay[0].place[0], 1);
    assert_int_equal(delays.delay[1].cause, PTO_DELAY_SLOW);
    assert_int_equal(delays.delay[1].place[0], 2);
}

TEST(a_process_without_a_file_is_named) {
    const pto_recording_options_t options = with_timeline(4);
    for (int i = 0; i < 3; i++) {
        char text[160];
        snprintf(text, sizeof text,
                 "rank,begin_s,end_s,routine,communicator,procs,peer,tag,bytes,space\n"
                 "%d,0.1,0.2,MPI_Allreduce,world,4,,,1024,gpu\n",
                 i == 2 ? 3 : i);
        must_record(text, &options);
    }
    pto_recording_t none = {.count = 0};
    const pto_delays_t delays = must_find_delays(&options, &none);
    assert_int_equal(delays.calls, 0);
    assert_int_equal(delays.procs, 4);
    assert_int_equal(delays.missing, 2);
}
