/* What a fit reports of a parameter: why to doubt it, why it is absent; which jobs count; and its options. */
#include "machine/machine_internal.h"
#include "made_samples.h"
#include "test.h"

static const pto_sample_t copy_row = {
    .benchmark = PTO_BENCHMARK_MEMCPY_H2D, .place = PTO_AT_ON_SOCKET, .procs = 1, .messages = 1};

/* --- slow jobs ------------------------------------------------------------------------------------------ */

/* Three jobs of `sizes` sizes; the last takes `slower` times as long for `slow_sizes` of them. */
static bool is_left_out(int sizes, int slow_sizes, double slower) {
    pto_samples_t *samples = no_samples();
    pto_sample_t sample = message_row;
    for (sample.run = 1; sample.run <= 3; sample.run++)
        for (int i = 0; i < sizes; i++) {
            sample.bytes = 64 << i;
            double factor = sample.run == 3 && i < slow_sizes ? slower : 1;
            add_equal(samples, sample, factor * (1e-6 + 1e-10 * (double)sample.bytes), 3);
        }
    pto_fit_t fit = must_fit(samples, &any_node);
    const pto_fit_entry_t *entry = find_entry(&fit, "job ping_pong.cpu.3");
    bool left_out = entry != NULL;
    if (left_out) {
        char note[PTO_FIT_NOTE_MAX];
        snprintf(note, sizeof note, "left out: a slow job, %.2f times the middle one of its cells", slower);
        assert_string_equal(entry->note, note);
    }
    assert_null(find_entry(&fit, "job ping_pong.cpu.1"));
    assert_null(find_entry(&fit, "job ping_pong.cpu.2"));
    /* Two jobs or three. */
    const pto_cost_table_t *cost = &fit.machine->messages[PTO_SPACE_CPU][PTO_LEVEL_OFF_NODE];
    int64_t count = 0;
    for (int k = 0; k < cost->count; k++)
        count += cost->row[k].postal.sample_count;
    assert_int_equal(count, sizes * (left_out ? 6 : 9));
    return left_out;
}

TEST(a_job_is_slow_by_15_percent_in_three_quarters_of_its_cells) {
    assert_true(is_left_out(12, 12, 1.2));
    assert_false(is_left_out(12, 12, 1.14));
    assert_true(is_left_out(12, 10, 1.5));
    assert_false(is_left_out(12, 8, 1.5));
}

TEST(eight_cells_tell_about_a_job_and_seven_do_not) {
    assert_true(is_left_out(8, 8, 1.5));
    assert_false(is_left_out(7, 7, 1.5));
}

/* Jobs of different benchmarks, spaces and files share no cell, so nothing is known about either. */
TEST(jobs_are_compared_with_those_of_their_kind_alone) {
    pto_samples_t *samples = no_samples();
    pto_sample_t sample = message_row;
    for (int i = 0; i < 10; i++) {
        sample = message_row;
        sample.bytes = 64 << i;
        add_equal(samples, sample, 1e-6 + 1e-10 * (double)sample.bytes, 3);
        sample.where = PTO_IN_GPU;
        add_equal(samples, sample, 9e-6 + 9e-10 * (double)sample.bytes, 3);
        sample.where = PTO_IN_CPU;
        sample.place = PTO_AT_ON_NODE;
        sample.run = 2;
        add_equal(samples, sample, 5e-6 + 9e-10 * (double)sample.bytes, 3);
    }
    pto_fit_t fit = must_fit(samples, &any_node);
    for (int i = 0; i < fit.entry_count; i++)
        assert_null(strstr(fit.entry[i].name, "job "));
    assert_near(fit.machine->messages[PTO_SPACE_GPU][PTO_LEVEL_OFF_NODE].row[0].postal.alpha_s.value, 9e-6,
                1e-3);
}

/* Of two jobs the faster is the reference; the slow one may be in another file. */
TEST(of_two_jobs_the_slower_is_left_out) {
    pto_samples_t *samples = no_samples();
    pto_sample_t sample = message_row;
    for (int file = 0; file < 2; file++)
        for (int i = 0; i < 10; i++) {
            sample.file = file;
            sample.run = 1;
            sample.bytes = 64 << i;
            add_equal(samples, sample, (file == 0 ? 1.4 : 1) * (1e-6 + 1e-10 * (double)sample.bytes), 3);
        }
    pto_fit_t fit = must_fit(samples, &any_node);
    assert_string_equal(entry_named(&fit, "job ping_pong.cpu.1")->note,
                        "left out: a slow job, 1.40 times the middle one of its cells");
    assert_int_equal(fit.machine->messages[PTO_SPACE_CPU][PTO_LEVEL_OFF_NODE].row[0].postal.sample_count, 30);
    assert_near(fit.machine->messages[PTO_SPACE_CPU][PTO_LEVEL_OFF_NODE].row[0].postal.alpha_s.value, 1e-6,
                1e-3);
}

/* Cells that differ in one column each, with times of their own: the second job takes 1.4 times as long in
 * all of them, and the third a little longer than the first, in whatever order the samples come. */
TEST(jobs_are_compared_cell_by_cell_in_any_order) {
    enum { CELLS = 48, JOBS = 3, EACH = 3, COUNT = CELLS * JOBS * EACH };
    static const double factor[JOBS] = {1, 1.4, 1.05};
    static pto_sample_t row[COUNT];
    uint64_t random = 9;
    for (int cell = 0; cell < CELLS; cell++) {
        const double seconds = 1e-5 * exp(2 * shake(&random));
        for (int i = 0; i < JOBS * EACH; i++)
            row[cell * JOBS * EACH + i] = (pto_sample_t){.benchmark = PTO_BENCHMARK_OTHER,
                                                         .where = PTO_IN_CPU,
                                                         .place = cell % 2 ? PTO_AT_ON_NODE : PTO_AT_OFF_NODE,
                                                         .pair_hash = (uint64_t)(cell / 2 % 3),
                                                         .procs = 1 + cell / 6 % 2,
                                                         .messages = 1 + cell / 12 % 2,
                                                         .bytes = 64 << cell / 24,
                                                         .run = 1 + i % JOBS,
                                                         .seconds = seconds * factor[i % JOBS]};
    }
    for (int order = 0; order < 10; order++) {
        pto_samples_t *samples = no_samples();
        for (int i = COUNT - 1; i > 0; i--) { /* Fisher and Yates */
            int with = (int)((shake(&random) + 1) / 2 * (i + 1));
            pto_sample_t kept = row[i];
            row[i] = row[with];
            row[with] = kept;
        }
        for (int i = 0; i < COUNT; i++)
            add(samples, row[i]);
        add_few_messages(samples);
        pto_fit_t fit = must_fit(samples, &any_node);
        int left_out = 0;
        for (int i = 0; i < fit.entry_count; i++)
            left_out += strncmp(fit.entry[i].name, "job ", 4) == 0;
        assert_int_equal(left_out, 1);
        assert_string_equal(entry_named(&fit, "job other.cpu.2")->note, /* 1.4 / 1.05 */
                            "left out: a slow job, 1.33 times the middle one of its cells");
        assert_int_equal(entry_named(&fit, "other benchmarks")->sample_count, COUNT);
    }
}

/* --- lines that are doubtful ---------------------------------------------------------------------------- */

static pto_fit_t fit_copies_of(int sizes, int samples_each, int odd_size, double odd) {
    pto_sample_t sample = copy_row;
    pto_samples_t *samples = new_samples();
    sample.bytes = 256;
    for (int i = 0; i < sizes; i++, sample.bytes *= 2)
        add_equal(samples, sample, (i == odd_size ? odd : 1) * (1e-5 + 1e-10 * (double)sample.bytes),
                  samples_each);
    return must_fit(samples, &any_node);
}

static const char *note_of_copies(int sizes, int samples_each, int odd_size, double odd) {
    static char note[PTO_FIT_NOTE_MAX];
    pto_fit_t fit = fit_copies_of(sizes, samples_each, odd_size, odd);
    const pto_postal_t *postal = &fit.machine->copies[PTO_COPY_H2D][PTO_REACH_ON_SOCKET];
    snprintf(note, sizeof note, "%s", entry_named(&fit, "copies.h2d.on_socket")->note);
    if (note[0] != '\0')
        assert_string_equal(postal->flagged, note);
    else
        assert_null(postal->flagged);
    assert_int_equal(postal->sample_count, sizes * samples_each);
    return note;
}

/* The size of 16 KiB takes longer or shorter than its line; with four samples each, that may be an outlier.
 */
TEST(a_size_that_its_line_misses_is_told) {
    assert_non_null(
        strstr(note_of_copies(16, 5, 6, 1.5), "misses its samples of 16384 bytes, which took 1.5"));
    assert_non_null(
        strstr(note_of_copies(16, 5, 6, 0.6), "misses its samples of 16384 bytes, which took 0.6"));
    assert_string_equal(note_of_copies(16, 5, 6, 1.2), "");
    assert_string_equal(note_of_copies(16, 5, 6, 0.85), "");
    assert_string_equal(note_of_copies(16, 4, 6, 1.5), "");
    assert_string_equal(note_of_copies(16, 5, -1, 1), "");
}

/* The smallest of 16 sizes, whose line is below the grain, takes `odd` times as long as its line. */
static bool is_told_below_the_grain(double odd) {
    pto_samples_t *samples = new_samples();
    pto_sample_t sample = copy_row;
    for (int i = 0; i < 16; i++) {
        sample.bytes = 256 << i;
        add_equal(samples, sample, (i == 0 ? odd : 1) * (1e-8 + 1e-11 * (double)sample.bytes), 5);
    }
    pto_fit_t fit = must_fit(samples, &any_node);
    bool is_told = strstr(entry_named(&fit, "copies.h2d.on_socket")->note, "of 256 bytes") != NULL;
    return is_told;
}

/* A clock may show 20 ns instead of 13, but not 65. */
TEST(times_below_the_grain_are_not_missed) {
    assert_false(is_told_below_the_grain(1.6));
    assert_false(is_told_below_the_grain(3.5));
    assert_true(is_told_below_the_grain(5));
}

TEST(a_line_of_two_sizes_is_doubtful_and_of_three_is_not) {
    assert_string_equal(note_of_copies(2, 5, -1, 1), "rests on 2 sizes");
    assert_string_equal(note_of_copies(3, 5, -1, 1), "");
}

/* Every second sample of a size takes 1.6 times as long: no line is within 15 percent of most. */
TEST(a_line_far_from_its_samples_tells_how_far) {
    pto_samples_t *samples = new_samples();
    pto_sample_t sample = copy_row;
    for (int i = 0; i < 12; i++)
        for (int k = 0; k < 10; k++) {
            sample.bytes = 256 << i;
            add_equal(samples, sample, (k % 2 ? 1.6 : 1) * (1e-5 + 1e-10 * (double)sample.bytes), 1);
        }
    pto_fit_t fit = must_fit(samples, &any_node);
    const pto_fit_entry_t *entry = entry_named(&fit, "copies.h2d.on_socket");
    char note[PTO_FIT_NOTE_MAX];
    snprintf(note, sizeof note, "half of the samples lie more than %.0f percent off the line",
             100 * entry->residual);
    assert_string_equal(entry->note, note);
    assert_true(entry->residual > 0.15 && entry->residual < 0.35);
}

/* Cost nothing by the byte, or take no time to start. */
TEST(what_is_held_at_zero_is_named) {
    pto_samples_t *samples = new_samples();
    pto_sample_t sample = copy_row;
    for (int i = 0; i < 8; i++) {
        sample.bytes = 1000 * (1 + i);
        sample.benchmark = PTO_BENCHMARK_MEMCPY_H2D;
        add_equal(samples, sample, 1e-5 * (1 - 0.01 * i), 1);
        sample.benchmark = PTO_BENCHMARK_MEMCPY_D2H;
        add_equal(samples, sample, 1e-9 * (double)sample.bytes - 3e-7, 1);
    }
    pto_fit_t fit = must_fit(samples, &any_node);
    assert_string_equal(entry_named(&fit, "copies.h2d.on_socket")->note,
                        "beta_s_per_byte held at 0: the samples would have it negative");
    assert_string_equal(entry_named(&fit, "copies.d2h.on_socket")->note,
                        "alpha_s held at 0: the samples would have it negative");
}

/* Three sizes of one process, of which a plot of two has room for two. */
TEST(medians_for_a_plot_are_by_size) {
    pto_samples_t *samples = new_samples();
    pto_sample_t sample = copy_row;
    int64_t bytes[3] = {-1, -1, -1};
    double seconds[3] = {-1, -1, -1};
    for (int i = 2; i >= 0; i--)
        for (int k = 0; k < 3; k++) {
            sample.bytes = 64 << i;
            sample.procs = 1;
            add_equal(samples, sample, (i + 1) * (k == 2 ? 9e-6 : 1e-6 + 1e-7 * k), 1);
            sample.procs = 2;
            add_equal(samples, sample, 5e-5, 1);
        }
    assert_int_equal(pto_fit_medians(samples, PTO_BENCHMARK_MEMCPY_H2D, PTO_IN_COUNT, PTO_AT_ON_SOCKET, 1, 2,
                                     bytes, seconds),
                     3);
    assert_true(bytes[2] == -1 && seconds[2] == -1);
    assert_int_equal(pto_fit_medians(samples, PTO_BENCHMARK_MEMCPY_H2D, PTO_IN_COUNT, PTO_AT_ON_SOCKET, 1, 3,
                                     bytes, seconds),
                     3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(bytes[i], 64 << i);
        assert_near(seconds[i], (i + 1) * 1.1e-6, 1e-9);
    }
    assert_int_equal(pto_fit_medians(samples, PTO_BENCHMARK_MEMCPY_H2D, PTO_IN_COUNT, PTO_AT_OFF_SOCKET, 1, 3,
                                     bytes, seconds),
                     0);
}

/* --- what is useless ------------------------------------------------------------------------------------ */

/* Times between 1 us and 1 ms, at random: nothing of this kind is fitted, and the parameter is named. */
TEST(samples_far_from_any_line_are_left_out) {
    static const struct {
        const char *name;
        uint8_t benchmark, space;
        int32_t procs, messages;
        const char *note;
    } cases[] = {
        {"copies.h2d.on_socket", PTO_BENCHMARK_MEMCPY_H2D, PTO_IN_CPU, 1, 1,
         "useless samples: half of them lie more"},
        {"peer.on_socket", PTO_BENCHMARK_MEMCPY_PEER, PTO_IN_GPU, 1, 1,
         "useless samples: half of them lie more"},
        {"messages.both_ways.cpu", PTO_BENCHMARK_EXCHANGE, PTO_IN_CPU, 1, 1, "no regression"},
        {"messages.staged", PTO_BENCHMARK_STAGED, PTO_IN_CPU, 1, 1, "no regression"},
        {"memory.host_s_per_byte", PTO_BENCHMARK_MEMCPY_H2H, PTO_IN_CPU, 8, 1, "no regression"},
        {"remote.store.on_socket", PTO_BENCHMARK_REMOTE_STORE_16, PTO_IN_GPU, 8, 1, "useless samples: half"},
        {"remote.load.on_socket", PTO_BENCHMARK_REMOTE_LOAD_16, PTO_IN_GPU, 8, 1, "useless samples: half"},
        {"remote.all_s_per_byte", PTO_BENCHMARK_REMOTE_STORE_ALL, PTO_IN_GPU, 4, 1, "no line shows"},
        {"reduce.cpu.extra_input_s_per_byte", PTO_BENCHMARK_REDUCE_MANY, PTO_IN_CPU, 1, 4,
         "useless samples: half"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t random = 3;
        pto_samples_t *samples = new_samples();
        pto_sample_t sample = {.place = PTO_AT_ON_SOCKET, .where = PTO_IN_CPU, .procs = 1, .messages = 1};
        for (sample.bytes = 64; sample.bytes <= 1 << 20; sample.bytes *= 4) {
            static const uint8_t good[] = {PTO_BENCHMARK_PING_PONG, PTO_BENCHMARK_REDUCE,
                                           PTO_BENCHMARK_MEMCPY_H2H};
            for (size_t g = 0; g < sizeof good; g++) {
                sample.benchmark = good[g];
                add_equal(samples, sample, 1e-6 + 1e-10 * (double)sample.bytes, 5);
            }
        }
        sample = (pto_sample_t){.benchmark = cases[i].benchmark,
                                .where = cases[i].space,
                                .place = PTO_AT_ON_SOCKET,
                                .procs = cases[i].procs,
                                .messages = cases[i].messages};
        for (int k = 0; k < 200; k++) {
            sample.bytes =
                k < 20 && cases[i].benchmark >= PTO_BENCHMARK_REMOTE_LOAD_4 ? 0 : 1 << (4 + k / 20);
            sample.seconds = 3e-5 * exp(3.5 * shake(&random));
            add(samples, sample);
        }
        pto_fit_t fit = must_fit(samples, &any_node);
        const pto_fit_entry_t *entry = entry_named(&fit, cases[i].name);
        if (!entry->left_out || !strstr(entry->note, cases[i].note))
            fail_msg("%s: %s", entry->name, entry->note);
    }
}

/* --- what is absent ------------------------------------------------------------------------------------- */

TEST(reductions_of_one_size_are_left_out_or_an_error) {
    pto_samples_t *samples = new_samples();
    pto_sample_t sample = {.benchmark = PTO_BENCHMARK_REDUCE, .where = PTO_IN_CPU, .procs = 1, .messages = 1};
    static const char *const pairs[] = {"sum-float", "max-int64"};
    for (int i = 0; i < 2; i++) {
        sample.pair_hash = pto_sample_pair_hash(pairs[i]);
        sample.bytes = 4096;
        add_equal(samples, sample, 1e-6, 5);
    }
    pto_fit_t fit = must_fit(samples, &any_node);
    assert_string_equal(entry_named(&fit, "reduce.cpu")->note,
                        "samples of 1 sizes are too little for alpha_s and beta_s_per_byte");
    assert_int_equal(fit.machine->reduce[PTO_SPACE_CPU].count, 0);
    assert_null(find_entry(&fit, "reduce.cpu by operation"));
}

/* --- options -------------------------------------------------------------------------------------------- */

TEST(the_smallest_limit_is_one_byte) {
    pto_fit_options_t options = {0};
    assert_int_equal(pto_fit_breaks_parse("1", &options, NULL), PTO_OK);
    for (int space = 0; space < PTO_SPACE_COUNT; space++)
        for (int level = 0; level < PTO_LEVEL_COUNT; level++) {
            assert_int_equal(options.breaks[space][level].count, 1);
            assert_int_equal(options.breaks[space][level].below_bytes[0], 1);
        }
    assert_int_equal(pto_fit_breaks_parse("0", &options, NULL), PTO_ERR_SYNTAX);
    assert_int_equal(pto_fit_breaks_parse("4,4", &options, NULL), PTO_ERR_RANGE);
    assert_int_equal(pto_fit_breaks_parse("4,5,6", &options, NULL), PTO_ERR_RANGE);
    static const char *const bad[] = {"tpu=4",
                                      "cpu.far=4",
                                      "cpu=",
                                      "cpu=4,",
                                      "cpu=-4",
                                      "cpu=8,4",
                                      "cpu=4k",
                                      "cpu=4,8,16",
                                      "cpu.off_node",
                                      "",
                                      "cpu.................16..............32..............48...........=4"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_not_equal(pto_fit_breaks_parse(bad[i], &options, NULL), PTO_OK);
}

TEST(a_scope_is_a_space_or_one_of_its_levels) {
    pto_fit_options_t options = {0};
    assert_int_equal(pto_fit_breaks_parse("gpu.on_node=7", &options, NULL), PTO_OK);
    for (int space = 0; space < PTO_SPACE_COUNT; space++)
        for (int level = 0; level < PTO_LEVEL_COUNT; level++)
            assert_int_equal(options.breaks[space][level].given,
                             space == PTO_SPACE_GPU && level == PTO_LEVEL_ON_NODE);
    options = (pto_fit_options_t){0};
    assert_int_equal(pto_fit_breaks_parse("cpu=7,16384", &options, NULL), PTO_OK);
    for (int level = 0; level < PTO_LEVEL_COUNT; level++) {
        assert_int_equal(options.breaks[PTO_SPACE_CPU][level].count, 2);
        assert_int_equal(options.breaks[PTO_SPACE_CPU][level].below_bytes[1], 16384);
        assert_false(options.breaks[PTO_SPACE_GPU][level].given);
    }
    assert_int_equal(pto_fit_breaks_parse("gpu=none", &options, NULL), PTO_OK);
    for (int level = 0; level < PTO_LEVEL_COUNT; level++)
        assert_true(options.breaks[PTO_SPACE_GPU][level].given);
}

TEST(a_nodes_shape_is_read_whole_or_not_at_all) {
    pto_fit_options_t options = {0};
    pto_error_t err = {0};
    assert_int_equal(pto_fit_node_parse("gpus=6,sockets=2,cores=44", &options, NULL), PTO_OK);
    assert_int_equal(options.node.sockets, 2);
    assert_int_equal(options.node.gpus, 6);
    assert_int_equal(options.node.cores, 44);
    assert_int_equal(pto_fit_node_parse("sockets=1,cores=0", &options, &err), PTO_ERR_RANGE);
    assert_non_null(strstr(err.message, "cores must be a whole number of 1 or more"));
    assert_int_equal(options.node.sockets, 2);
    assert_int_equal(pto_fit_node_parse("cores,gpus=1", &options, &err), PTO_ERR_NOT_FOUND);
    assert_int_equal(pto_fit_node_parse("gpus=00", &options, &err), PTO_ERR_RANGE);
    assert_int_equal(pto_fit_node_parse("gpus=0,cores=8", &options, NULL), PTO_OK);
    assert_true(options.node.no_gpus);
    assert_int_equal(options.node.gpus, 0);
    assert_int_equal(options.node.cores, 8);
    assert_int_equal(pto_fit_node_parse("gpus=4", &options, NULL), PTO_OK);
    assert_false(options.node.no_gpus);
    static const char *const bad[] = {"", "sockets", "sockets=0", "gpus=x", "disks=2", "gpus=1,", "gpus=-1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_not_equal(pto_fit_node_parse(bad[i], &options, NULL), PTO_OK);
}

/* In the words of provenance, in any order; what is given goes before it. */
TEST(a_nodes_shape_is_that_of_the_samples_unless_given) {
    static const char text[] = "# node=96 cores, 2 sockets, 8 GPUs of 80 GB\n"
                               "benchmark,space,level,pair,procs,messages,bytes,run,seconds\n"
                               "ping_pong,cpu,off_node,0-1,1,1,8,1,1e-6\n"
                               "ping_pong,cpu,off_node,0-1,1,1,64,1,2e-6\n";
    pto_samples_t *samples = no_samples();
    assert_int_equal(pto_samples_parse(text, sizeof text - 1, "a file", samples, NULL), PTO_OK);
    pto_fit_t fit = must_fit(samples, &(pto_fit_options_t){0});
    assert_int_equal(fit.machine->node.sockets, 2);
    assert_int_equal(fit.machine->node.gpus, 8);
    assert_int_equal(fit.machine->node.cores, 96);
    fit = must_fit(samples, &(pto_fit_options_t){.node = {.sockets = 1, .cores = 64, .no_gpus = true}});
    assert_int_equal(fit.machine->node.sockets, 1);
    assert_int_equal(fit.machine->node.gpus, 0);
    assert_int_equal(fit.machine->node.cores, 64);
}

/* Eight digits are a number of cores, nine are something else. */
TEST(a_nodes_shape_has_up_to_eight_digits) {
    static const char *const cores[] = {"90123456", "901234567"};
    for (int i = 0; i < 2; i++) {
        char text[256];
        int length = snprintf(text, sizeof text,
                              "# node=GPU node, 2 Sockets, 10GPUs, %s  cores\n"
                              "benchmark,space,level,pair,procs,messages,bytes,run,seconds\n"
                              "ping_pong,cpu,off_node,0-1,1,1,8,1,1e-6\n"
                              "ping_pong,cpu,off_node,0-1,1,1,64,1,2e-6\n",
                              cores[i]);
        pto_samples_t *samples = no_samples();
        const pto_fit_options_t nothing = {0};
        assert_int_equal(pto_samples_parse(text, (size_t)length, "a file", samples, NULL), PTO_OK);
        if (i == 1) {
            assert_no_fit(samples, &nothing, PTO_ERR_NOT_FOUND, "how many cores a node has");
            continue;
        }
        pto_fit_t fit = must_fit(samples, &nothing);
        assert_int_equal(fit.machine->node.sockets, 2);
        assert_int_equal(fit.machine->node.gpus, 10);
        assert_int_equal(fit.machine->node.cores, 90123456);
    }
}
