/* What is inferred of an MPI library from the times of its collectives, where the truth is known: times are
 * prices of shipped machines under a made-up library, with noise. */
#include "machine/library.h"
#include "machine/machine_internal.h"
#include "made_samples.h"
#include "must.h"
#include "portolan/score.h"
#include "test.h"

enum { REPEATS = 15 };

static const int64_t sizes[] = {256, 16384, 1048576};

/* Who takes part. */
typedef struct {
    int32_t nodes;
    int32_t procs;
} members_t;

/* What the made-up library does with a collective: one algorithm below a size of the samples, and another
 * from there on. */
typedef struct {
    pto_collective_t collective;
    pto_benchmark_t rows;
    const char *small;
    const char *large;
    int64_t large_from;
    bool staged;
} habit_t;

/* Of a machine without library tables. */
static pto_fit_t *open_fit(const char *name) {
    pto_fit_t *fit = keep_new(sizeof *fit, end_fit);
    char path[128];
    pto_error_t err = {0};
    snprintf(path, sizeof path, "scenarios/machines/%s.yaml", name);
    assert_ok(pto_machine_open(path, &fit->machine, &err), &err);
    pto_library_tables_free(fit->machine->library, fit->machine->library_count);
    fit->machine->library = NULL;
    fit->machine->library_count = 0;
    return fit;
}

/* 0: it has no price. */
static double time_of(const pto_machine_t *machine, pto_collective_t collective, pto_space_t space,
                      members_t members, int64_t bytes, const char *algorithm, bool staged) {
    char name[64];
    snprintf(name, sizeof name, "%s", algorithm ? algorithm : "");
    pto_library_rule_t rule = {.below_bytes = INT64_MAX, .algorithm = name, .staged = staged};
    pto_score_candidate_t candidate = {.measured_s = 1,
                                       .staged_members = {PTO_STAGED_TUNED, PTO_STAGED_TUNED}};
    pto_score_cell_t cell = {.collective = collective,
                             .datatype = PTO_DATATYPE_FLOAT,
                             .nodes = members.nodes,
                             .in_host = space == PTO_SPACE_CPU,
                             .gpus_per_node = members.procs / members.nodes,
                             .owners_per_gpu = 1,
                             .procs_per_gpu = 1,
                             .bytes = bytes,
                             .candidate_count = 1,
                             .candidate = &candidate};
    double seconds = 0;
    pto_strategy_find(space == PTO_SPACE_CPU ? "mpi" : "cuda_aware", &candidate.strategy, NULL);
    assert_int_equal(pto_score_price(&cell, 0, machine, algorithm ? &rule : NULL, NULL, &seconds, NULL),
                     PTO_OK);
    return seconds;
}

static const char *algorithm_at(const habit_t *habit, int64_t bytes) {
    return bytes < habit->large_from ? habit->small : habit->large;
}

/* Times of one size, `factor` as long as the price, and up to `noise` more or less. */
static void add_times_of(const pto_machine_t *machine, const habit_t *habit, pto_space_t space,
                         members_t members, int64_t bytes, double factor, double noise, uint64_t *state,
                         pto_samples_t *samples) {
    for (int i = 0; i < REPEATS; i++)
        add(samples, (pto_sample_t){.benchmark = (uint8_t)habit->rows,
                                    .where = space == PTO_SPACE_CPU ? PTO_IN_CPU : PTO_IN_GPU,
                                    .procs = members.procs,
                                    .messages = members.nodes,
                                    .bytes = bytes,
                                    .seconds = factor * (1 + noise * shake(state)) *
                                               time_of(machine, habit->collective, space, members, bytes,
                                                       algorithm_at(habit, bytes),
                                                       habit->staged && space == PTO_SPACE_GPU)});
}

/* Times of all sizes. */
static void add_times(const pto_machine_t *machine, const habit_t *habit, pto_space_t space,
                      members_t members, double factor, double noise, pto_samples_t *samples) {
    uint64_t state = 7 + (uint64_t)habit->rows;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        add_times_of(machine, habit, space, members, sizes[s], factor, noise, &state, samples);
}

static void infer(const pto_samples_t *samples, pto_fit_t *fit) {
    static const pto_fit_options_t options = {0};
    pto_error_t err = {0};
    assert_ok(pto_fit_library(samples, &options, fit, &err), &err);
}

/* Of the times of one habit in host memory. */
static pto_fit_t *infer_habit(const habit_t *habit, members_t members, double factor, double noise) {
    pto_fit_t *fit = open_fit("summit-spectrum-refit");
    pto_samples_t *samples = no_samples();
    add_times(fit->machine, habit, PTO_SPACE_CPU, members, factor, noise, samples);
    infer(samples, fit);
    return fit;
}

static const pto_library_rule_t *rule_at(const pto_fit_t *fit, const habit_t *habit, pto_space_t space,
                                         int32_t procs, int64_t bytes) {
    return pto_machine_library(fit->machine, pto_collective_name(habit->collective), space, procs, bytes);
}

static void assert_certain(const pto_fit_t *fit, const habit_t *habit, pto_space_t space, int32_t procs,
                           int64_t bytes) {
    const pto_library_rule_t *rule = rule_at(fit, habit, space, procs, bytes);
    assert_non_null(rule);
    if (rule->flagged)
        fail_msg("%s of %lld bytes: %s", pto_collective_name(habit->collective), (long long)bytes,
                 rule->flagged);
    assert_string_equal(rule->algorithm, algorithm_at(habit, bytes));
    assert_int_equal(rule->staged, habit->staged && space == PTO_SPACE_GPU);
}

static const members_t six_gpus_of_two = {.nodes = 2, .procs = 12}, forty_of_two = {.nodes = 2, .procs = 80},
                       two_of_one = {.nodes = 1, .procs = 2};

#define HABIT(NAME, small, large, from, staged)                                                              \
    { PTO_COLLECTIVE_##NAME, PTO_BENCHMARK_MPI_##NAME, small, large, from, staged }

static const habit_t reductions = HABIT(ALLREDUCE, "recursive_doubling", "rabenseifner", 1048576, true),
                     exchange = HABIT(ALLTOALL, "bruck", "linear", 16384, false),
                     from_root = HABIT(BROADCAST, "linear", "linear", 0, false),
                     pieces = HABIT(REDUCE_SCATTER, "recursive_halving", "linear", 16384, true);

static bool flags(const pto_library_rule_t *rule, const char *text) {
    return rule && rule->flagged && strstr(rule->flagged, text);
}

TEST(algorithms_and_staging_are_found) {
    pto_fit_t *fit = open_fit("summit-spectrum-refit");
    pto_samples_t *samples = no_samples();
    add_times(fit->machine, &reductions, PTO_SPACE_CPU, forty_of_two, 1, 0.03, samples);
    add_times(fit->machine, &reductions, PTO_SPACE_CPU, six_gpus_of_two, 1, 0.03, samples);
    add_times(fit->machine, &reductions, PTO_SPACE_GPU, six_gpus_of_two, 1, 0.03, samples);
    add_times(fit->machine, &exchange, PTO_SPACE_CPU, six_gpus_of_two, 1, 0.03, samples);
    add_times(fit->machine, &exchange, PTO_SPACE_GPU, six_gpus_of_two, 1, 0.03, samples);
    add_times(fit->machine, &from_root, PTO_SPACE_CPU, forty_of_two, 1, 0.03, samples);
    infer(samples, fit);
    assert_certain(fit, &reductions, PTO_SPACE_CPU, 80, 256);
    assert_certain(fit, &reductions, PTO_SPACE_GPU, 12, 256);
    assert_true(rule_at(fit, &reductions, PTO_SPACE_GPU, 12, 1048576)->staged);
    assert_certain(fit, &exchange, PTO_SPACE_CPU, 12, 16384);
    assert_false(rule_at(fit, &exchange, PTO_SPACE_GPU, 12, 16384)->staged);
    assert_certain(fit, &from_root, PTO_SPACE_CPU, 80, 256);
    assert_certain(fit, &from_root, PTO_SPACE_CPU, 80, 1048576);
    const pto_fit_entry_t *entry = entry_named(fit, "library.broadcast.cpu");
    assert_string_equal(entry->note, "inferred from 45 times of the library's own call among up to 80 "
                                     "processes; certain for 2 of 3 sizes");
}

TEST(what_cannot_be_told_apart_is_flagged) {
    pto_fit_t *fit = infer_habit(&exchange, two_of_one, 1, 0.03);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        const pto_library_rule_t *rule = rule_at(fit, &exchange, PTO_SPACE_CPU, 2, sizes[s]);
        assert_true(flags(rule, "do not tell which"));
        assert_true(flags(rule, algorithm_at(&exchange, sizes[s])));
    }
}

TEST(times_of_no_algorithm_are_flagged) {
    pto_fit_t *fit = infer_habit(&from_root, forty_of_two, 5, 0.03);
    assert_true(
        flags(rule_at(fit, &from_root, PTO_SPACE_CPU, 80, 1048576), "a factor of 5 from the nearest"));
}

/* Of one size and habit on one or two nodes, where calls last `later_s` longer than their price. */
static const pto_library_rule_t *rule_of_late_calls(const habit_t *habit, members_t members, double later_s) {
    pto_fit_t *fit = open_fit("summit-spectrum-refit");
    pto_samples_t *samples = no_samples();
    uint64_t state = 1;
    double price_s = time_of(fit->machine, habit->collective, PTO_SPACE_CPU, members, sizes[0], habit->small,
                             habit->staged);
    add_times_of(fit->machine, habit, PTO_SPACE_CPU, members, sizes[0], 1 + later_s / price_s, 0.001, &state,
                 samples);
    infer(samples, fit);
    return rule_at(fit, habit, PTO_SPACE_CPU, members.procs, sizes[0]);
}

/* A microsecond of each call is its overhead, which no price contains. */
TEST(calls_a_little_longer_than_their_price_are_explained) {
    static const members_t eight_of_one = {.nodes = 1, .procs = 8}, two_of_two = {.nodes = 2, .procs = 2};
    static const habit_t halving = HABIT(REDUCE_SCATTER, "recursive_halving", "", INT64_MAX, false),
                         ring = HABIT(ALLREDUCE, "ring", "", INT64_MAX, false);
    const pto_library_rule_t *late = rule_of_late_calls(&halving, eight_of_one, 1.4e-6);
    assert_non_null(late);
    assert_null(late->flagged);
    assert_string_equal(late->algorithm, "recursive_halving");
    /* With its overhead, recursive doubling would take as long as a ring. */
    const pto_library_rule_t *exact = rule_of_late_calls(&ring, two_of_two, 0);
    assert_true(flags(exact, "do not tell which"));
    assert_true(flags(exact, "recursive_doubling"));
    assert_true(flags(exact, "ring"));
}

/* Beside the machines whose library it names. */
static pto_machine_t *read_again(const pto_fit_t *fit) {
    const char *text = must_format(fit->machine);
    pto_machine_t *read = NULL;
    pto_error_t err = {0};
    assert_ok(pto_machine_create(text, strlen(text), "scenarios/machines/a.yaml", &read, &err), &err);
    return keep(read, end_opened);
}

TEST(flagged_rows_are_written_and_read) {
    pto_fit_t *fit = infer_habit(&exchange, two_of_one, 1, 0.03);
    const pto_fit_t again = {.machine = read_again(fit)};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        assert_string_equal(rule_at(&again, &exchange, PTO_SPACE_CPU, 2, sizes[s])->flagged,
                            rule_at(fit, &exchange, PTO_SPACE_CPU, 2, sizes[s])->flagged);
}

/* Where one algorithm ends and another begins is not measured. */
TEST(a_limit_between_two_sizes_is_flagged) {
    pto_fit_t *fit = infer_habit(&pieces, forty_of_two, 1, 0.01);
    assert_certain(fit, &pieces, PTO_SPACE_CPU, 80, 256);
    assert_certain(fit, &pieces, PTO_SPACE_CPU, 80, 16384);
    const pto_library_rule_t *low = rule_at(fit, &pieces, PTO_SPACE_CPU, 80, 257),
                             *high = rule_at(fit, &pieces, PTO_SPACE_CPU, 80, 16383);
    const char *limit = "recursive_halving up to a size from 256 to 16384 bytes, then linear";
    assert_true(flags(low, limit));
    assert_true(flags(high, limit));
    assert_string_equal(low->algorithm, "recursive_halving");
    assert_string_equal(high->algorithm, "linear");
}

/* A switch between sizes that are an element apart: the machine file can be read. */
TEST(a_limit_between_neighboring_sizes_leaves_no_row_empty) {
    enum { BELOW = 256, FROM = 260 };
    pto_fit_t *fit = open_fit("summit-spectrum-refit");
    pto_samples_t *samples = no_samples();
    uint64_t state = 1;
    habit_t close = pieces;
    close.large_from = FROM;
    add_times_of(fit->machine, &close, PTO_SPACE_CPU, forty_of_two, BELOW, 1, 0.01, &state, samples);
    add_times_of(fit->machine, &close, PTO_SPACE_CPU, forty_of_two, FROM, 1, 0.01, &state, samples);
    infer(samples, fit);
    assert_certain(fit, &close, PTO_SPACE_CPU, 80, BELOW);
    assert_certain(fit, &close, PTO_SPACE_CPU, 80, FROM);
    read_again(fit);
}

/* A library that stages GPU buffers only from a size on may keep its algorithm. */
TEST(a_limit_of_staging_is_named) {
    pto_fit_t *fit = open_fit("summit-spectrum-refit");
    pto_samples_t *samples = no_samples();
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        habit_t habit = {PTO_COLLECTIVE_ALLREDUCE, PTO_BENCHMARK_MPI_ALLREDUCE, "ring", "ring", 0,
                         sizes[s] >= 16384};
        uint64_t state = 1;
        add_times_of(fit->machine, &habit, PTO_SPACE_GPU, six_gpus_of_two, sizes[s], 1, 0.01, &state,
                     samples);
    }
    infer(samples, fit);
    assert_true(flags(rule_at(fit, &reductions, PTO_SPACE_GPU, 12, 257),
                      "ring up to a size from 256 to 16384 bytes, then ring staged"));
}

TEST(a_known_table_stays_and_what_contradicts_it_is_told) {
    pto_fit_t *fit = open_fit("summit-spectrum-refit");
    pto_samples_t *samples = no_samples();
    add_times(fit->machine, &from_root, PTO_SPACE_CPU, forty_of_two, 1, 0.03, samples);
    assert_int_equal(pto_machine_use_library(fit->machine, "mpich-4", NULL), PTO_OK);
    infer(samples, fit);
    const pto_library_rule_t *rule = rule_at(fit, &from_root, PTO_SPACE_CPU, 80, 1048576);
    assert_string_equal(rule->algorithm, "scatter_allgather");
    assert_null(rule->flagged);
    assert_non_null(strstr(entry_named(fit, "library.broadcast.cpu")->note, "linear would take that long"));
}

TEST(more_processes_than_cores_tell_nothing) {
    pto_fit_t *fit = open_fit("summit-spectrum-refit");
    pto_samples_t *samples = no_samples();
    add_times(fit->machine, &from_root, PTO_SPACE_CPU, forty_of_two, 1, 0.03, samples);
    fit->machine->node.cores = 20;
    infer(samples, fit);
    assert_int_equal(fit->machine->library_count, 0);
    assert_non_null(strstr(entry_named(fit, "library.broadcast.cpu")->note, "nothing is inferred"));
}

/* Mean |ln(predicted / true)| at sizes that were not measured. */
static double miss_between(const pto_fit_t *fit, const habit_t *habit, members_t members) {
    enum { SIZES = 4 };
    static const int64_t between[SIZES] = {1024, 4096, 65536, 262144};
    double sum = 0;
    for (int s = 0; s < SIZES; s++)
        sum += fabs(
            log(time_of(fit->machine, habit->collective, PTO_SPACE_CPU, members, between[s], NULL, false) /
                time_of(fit->machine, habit->collective, PTO_SPACE_CPU, members, between[s], habit->small,
                        false)));
    return sum / SIZES;
}

/* A made-up library in each of the shipped machines: what is certain is always true, and other
 * sizes are predicted better than by the cheapest algorithm. */
TEST(what_is_certain_is_true) {
    static const char *const machines[] = {"summit-spectrum-refit", "h200-x4", "cpu-2x64-200g",
                                           "lassen-spectrum-refit"};
    double inferred = 0, cheapest = 0;
    int certain = 0, habits = 0;
    for (size_t m = 0; m < sizeof machines / sizeof *machines; m++)
        for (int c = 0; c < pto_algorithm_count() * 4; c++) {
            static const habit_t kinds[] = {HABIT(ALLREDUCE, 0, 0, 0, false),
                                            HABIT(BROADCAST, 0, 0, 0, false), HABIT(ALLTOALL, 0, 0, 0, false),
                                            HABIT(REDUCE_SCATTER, 0, 0, 0, false)};
            const pto_algorithm_t *algorithm = pto_algorithm_at(c / 4);
            habit_t habit = kinds[c % 4];
            const members_t members = {.nodes = 1, .procs = 8};
            pto_fit_t *fit = open_fit(machines[m]);
            habit.small = habit.large = algorithm->name;
            if (!(algorithm->collectives & 1u << habit.collective) || algorithm->direct || algorithm->nccl ||
                algorithm->only_named ||
                time_of(fit->machine, habit.collective, PTO_SPACE_CPU, members, 256, algorithm->name,
                        false) <= 0) {
                continue;
            }
            pto_samples_t *samples = no_samples();
            add_times(fit->machine, &habit, PTO_SPACE_CPU, members, 1, 0.1, samples);
            cheapest += miss_between(fit, &habit, members);
            infer(samples, fit);
            inferred += miss_between(fit, &habit, members);
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
                const pto_library_rule_t *rule = rule_at(fit, &habit, PTO_SPACE_CPU, 8, sizes[s]);
                if (!rule->flagged)
                    assert_string_equal(rule->algorithm, algorithm->name);
                certain += rule->flagged == NULL;
            }
            habits++;
        }
    print_message("%d libraries, %d of %d sizes certain; between them %.0f %% off, as the cheapest %.0f %%\n",
                  habits, certain, 3 * habits, 100 * inferred / habits, 100 * cheapest / habits);
    assert_true(3 * certain > habits);
    assert_true(inferred < 0.25 * cheapest);
}
