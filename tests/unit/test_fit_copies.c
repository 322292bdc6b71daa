/* Fits of copies: those of processes that share a GPU, and those queued in one stream. */
#include "machine/machine_internal.h"
#include "made_samples.h"
#include "test.h"

static const double noise = 0.05;

/* A file of three processes that copy from one GPU. */
static void parse_shared(const char *provenance, const char *benchmark, pto_samples_t *samples) {
    char columns[64];
    snprintf(columns, sizeof columns, "%s,-,on_socket,-,3,1", benchmark);
    parse_rows("a file", provenance, columns, samples);
}

TEST(mps_is_that_of_the_files_in_which_processes_share_a_gpu) {
    static const struct {
        const char *first, *second;
        pto_mps_t mps;
    } cases[] = {
        {"# mps=yes\n", "# mps=yes\n", PTO_MPS_YES},    {"# mps=no\n", "# mps=no\n", PTO_MPS_NO},
        {"# mps=no\n", "# mps=yes\n", PTO_MPS_UNKNOWN}, {"", "# mps=yes\n", PTO_MPS_UNKNOWN},
        {"# mps=unknown\n", "", PTO_MPS_UNKNOWN},
    };
    static const char *const benchmarks[] = {"memcpy_shared_d2h", "memcpy_shared_h2d", "memcpy_shared_d2d",
                                             "memcpy_shared_strided_h2d", "memcpy_shared_strided_d2h"};
    for (size_t k = 0; k < 5 * sizeof cases / sizeof *cases; k++) {
        pto_samples_t *samples = new_samples();
        size_t i = k / 5;
        parse_shared(cases[i].first, benchmarks[k % 5], samples);
        parse_shared(cases[i].second, benchmarks[(k + 1) % 5], samples);
        pto_fit_t fit = must_fit(samples, &any_node);
        assert_int_equal(pto_machine_mps(fit.machine), cases[i].mps);
    }
}

/* One row of sharing alone, the first of all, in a file that says something else. */
TEST(mps_is_that_of_the_first_row_too) {
    static const char first[] = "# mps=no\nbenchmark,space,level,pair,procs,messages,bytes,run,seconds\n"
                                "memcpy_shared_d2h,-,on_socket,-,3,1,8,1,3e-5\n";
    pto_samples_t *samples = no_samples();
    assert_int_equal(pto_samples_parse(first, strlen(first), "first", samples, NULL), PTO_OK);
    parse_shared("# mps=yes\n", "memcpy_shared_d2h", samples);
    add_few_messages(samples);
    pto_fit_t fit = must_fit(samples, &any_node);
    assert_int_equal(pto_machine_mps(fit.machine), PTO_MPS_UNKNOWN);
}

/* A file of messages that says nothing of MPS does not matter for the copies of another file. */
TEST(mps_is_not_that_of_files_of_other_samples) {
    pto_samples_t *samples = no_samples();
    parse_rows("messages", "# mps=no\n", "ping_pong,cpu,off_node,0-1,1,1", samples);
    parse_shared("# mps=yes\n", "memcpy_shared_d2h", samples);
    pto_fit_t fit = must_fit(samples, &any_node);
    assert_int_equal(pto_machine_mps(fit.machine), PTO_MPS_YES);
}

/* 8 us and 2 us for each copy more, and 20 ps a byte. */
TEST(additional_copies_of_a_stream_are_fitted) {
    uint64_t state = 21;
    pto_samples_t *samples = new_samples();
    pto_sample_t sample = {
        .benchmark = PTO_BENCHMARK_MEMCPY_QUEUED_D2H, .place = PTO_AT_ON_SOCKET, .procs = 1};
    for (sample.messages = 1; sample.messages <= 64; sample.messages *= 2)
        for (sample.bytes = 1; sample.bytes <= 1 << 20; sample.bytes *= 4)
            add_noisy(samples, sample,
                      8e-6 + 2e-6 * (sample.messages - 1) + 2e-11 * (double)(sample.messages * sample.bytes),
                      noise, 10, &state);
    pto_fit_t fit = must_fit(samples, &any_node);
    assert_near(fit.machine->queued_copy_s[PTO_COPY_D2H].value, 2e-6, 0.02);
    assert_false(pto_param_known(&fit.machine->queued_copy_s[PTO_COPY_H2D]));
}

/* 6 us and 15 us for each row more, and 3 ps a byte, for GPU memory alone. */
TEST(rows_of_messages_are_fitted) {
    uint64_t state = 23;
    pto_samples_t *samples = new_samples();
    pto_sample_t sample = {.benchmark = PTO_BENCHMARK_PING_PONG_STRIDED,
                           .where = PTO_IN_GPU,
                           .place = PTO_AT_ON_SOCKET,
                           .procs = 1};
    for (int64_t rows = 1; rows <= 1024; rows *= 4)
        for (sample.messages = 4; sample.messages <= 64; sample.messages *= 16) { /* bytes of a row */
            sample.bytes = rows * sample.messages;
            add_noisy(samples, sample, 6e-6 + 15e-6 * (double)(rows - 1) + 3e-12 * (double)sample.bytes,
                      noise, 10, &state);
        }
    pto_fit_t fit = must_fit(samples, &any_node);
    assert_near(fit.machine->message_row_s[PTO_SPACE_GPU].value, 15e-6, 0.02);
    assert_false(pto_param_known(&fit.machine->message_row_s[PTO_SPACE_CPU]));
}

/* Copies that take turns up to 16 KiB, and none from 32 KiB on: the limit is between the two. */
TEST(the_limit_of_small_shared_copies_is_between_two_sizes) {
    uint64_t state = 22;
    pto_samples_t *samples = new_samples();
    pto_sample_t sample = {
        .benchmark = PTO_BENCHMARK_MEMCPY_SHARED_H2D, .place = PTO_AT_ON_SOCKET, .procs = 10, .messages = 1};
    for (sample.bytes = 4; sample.bytes <= 1 << 20; sample.bytes *= 2)
        add_noisy(samples, sample, sample.bytes <= 16384 ? 8e-4 : 4e-5 + 1e-10 * (double)sample.bytes, noise,
                  5, &state);
    pto_fit_t fit = must_fit(samples, &any_node);
    const pto_cost_table_t *shared = &fit.machine->shared_copies[PTO_COPY_H2D];
    assert_int_equal(shared->count, 2);
    assert_int_equal(shared->row[0].below_bytes, 23171); /* 16384 times the root of 2, rounded up */
    assert_int_equal(shared->row[1].from_bytes, 23171);
}

/* --- which parameter a benchmark sets ------------------------------------------------------------------- */

/* What its samples are like: a line over bytes; one time; a line for each of two sizes of a row or a message;
 * or rows for a number of processes or GPUs. */
typedef enum { LINE, TIME, QUEUED, STRIDED, TABLE, STRIDED_TABLE } shape_t;

#define MEMBER(name) offsetof(pto_machine_t, name)

static const struct {
    pto_benchmark_t benchmark;
    pto_sample_space_t where;
    pto_sample_level_t place;
    shape_t shape;
    size_t member;
} parameters[] = {
    {PTO_BENCHMARK_MEMCPY_H2D, PTO_IN_COUNT, PTO_AT_ON_SOCKET, LINE, MEMBER(copies[PTO_COPY_H2D][0])},
    {PTO_BENCHMARK_MEMCPY_D2H, PTO_IN_COUNT, PTO_AT_ON_SOCKET, LINE, MEMBER(copies[PTO_COPY_D2H][0])},
    {PTO_BENCHMARK_MEMCPY_D2D, PTO_IN_COUNT, PTO_AT_ON_SOCKET, LINE, MEMBER(copies[PTO_COPY_D2D][0])},
    {PTO_BENCHMARK_MEMCPY_H2H, PTO_IN_COUNT, PTO_AT_ON_SOCKET, LINE, MEMBER(copies[PTO_COPY_H2H][0])},
    {PTO_BENCHMARK_MEMCPY_PEER, PTO_IN_COUNT, PTO_AT_ON_SOCKET, LINE, MEMBER(peer[0])},
    {PTO_BENCHMARK_MEMCPY_H2D, PTO_IN_COUNT, PTO_AT_OFF_SOCKET, LINE, MEMBER(copies[PTO_COPY_H2D][1])},
    {PTO_BENCHMARK_MEMCPY_D2H, PTO_IN_COUNT, PTO_AT_OFF_SOCKET, LINE, MEMBER(copies[PTO_COPY_D2H][1])},
    {PTO_BENCHMARK_MEMCPY_D2D, PTO_IN_COUNT, PTO_AT_OFF_SOCKET, LINE, MEMBER(copies[PTO_COPY_D2D][1])},
    {PTO_BENCHMARK_MEMCPY_H2H, PTO_IN_COUNT, PTO_AT_OFF_SOCKET, LINE, MEMBER(copies[PTO_COPY_H2H][1])},
    {PTO_BENCHMARK_MEMCPY_PEER, PTO_IN_COUNT, PTO_AT_OFF_SOCKET, LINE, MEMBER(peer[1])},
    {PTO_BENCHMARK_MEMCPY_PAGEABLE_H2D, PTO_IN_COUNT, PTO_AT_ON_SOCKET, LINE, MEMBER(pageable[PTO_COPY_H2D])},
    {PTO_BENCHMARK_MEMCPY_PAGEABLE_D2H, PTO_IN_COUNT, PTO_AT_ON_SOCKET, LINE, MEMBER(pageable[PTO_COPY_D2H])},
    {PTO_BENCHMARK_SIGNAL_FLAG, PTO_IN_GPU, PTO_AT_COUNT, TIME, MEMBER(signal_s)},
    {PTO_BENCHMARK_SIGNAL_EVENT, PTO_IN_GPU, PTO_AT_COUNT, TIME, MEMBER(event_s)},
    {PTO_BENCHMARK_SIGNAL_DEVICE, PTO_IN_GPU, PTO_AT_COUNT, TIME, MEMBER(device_signal_s)},
    {PTO_BENCHMARK_KERNEL_LAUNCH, PTO_IN_GPU, PTO_AT_COUNT, TIME, MEMBER(kernel_launch_s)},
    {PTO_BENCHMARK_GRAPH_LAUNCH, PTO_IN_GPU, PTO_AT_COUNT, TIME, MEMBER(graph_launch_s)},
    {PTO_BENCHMARK_KERNEL_QUEUED, PTO_IN_GPU, PTO_AT_COUNT, TIME, MEMBER(queued_launch_s)},
    {PTO_BENCHMARK_SETUP_SEGMENT, PTO_IN_GPU, PTO_AT_COUNT, TIME, MEMBER(setup_segment_s)},
    {PTO_BENCHMARK_MEMCPY_QUEUED_H2D, PTO_IN_COUNT, PTO_AT_ON_SOCKET, QUEUED,
     MEMBER(queued_copy_s[PTO_COPY_H2D])},
    {PTO_BENCHMARK_MEMCPY_QUEUED_D2H, PTO_IN_COUNT, PTO_AT_ON_SOCKET, QUEUED,
     MEMBER(queued_copy_s[PTO_COPY_D2H])},
    {PTO_BENCHMARK_MEMCPY_QUEUED_D2D, PTO_IN_COUNT, PTO_AT_ON_SOCKET, QUEUED,
     MEMBER(queued_copy_s[PTO_COPY_D2D])},
    {PTO_BENCHMARK_MEMCPY_STRIDED_H2D, PTO_IN_COUNT, PTO_AT_ON_SOCKET, STRIDED,
     MEMBER(strided_row_s[PTO_COPY_H2D])},
    {PTO_BENCHMARK_MEMCPY_STRIDED_D2H, PTO_IN_COUNT, PTO_AT_ON_SOCKET, STRIDED,
     MEMBER(strided_row_s[PTO_COPY_D2H])},
    {PTO_BENCHMARK_MEMCPY_STRIDED_D2D, PTO_IN_COUNT, PTO_AT_ON_SOCKET, STRIDED,
     MEMBER(strided_row_s[PTO_COPY_D2D])},
    {PTO_BENCHMARK_PING_PONG_STRIDED, PTO_IN_CPU, PTO_AT_ON_NODE, STRIDED,
     MEMBER(message_row_s[PTO_SPACE_CPU])},
    {PTO_BENCHMARK_PING_PONG_STRIDED, PTO_IN_GPU, PTO_AT_ON_NODE, STRIDED,
     MEMBER(message_row_s[PTO_SPACE_GPU])},
    {PTO_BENCHMARK_MEMCPY_SHARED_H2D, PTO_IN_COUNT, PTO_AT_ON_SOCKET, TABLE,
     MEMBER(shared_copies[PTO_COPY_H2D])},
    {PTO_BENCHMARK_MEMCPY_SHARED_D2H, PTO_IN_COUNT, PTO_AT_ON_SOCKET, TABLE,
     MEMBER(shared_copies[PTO_COPY_D2H])},
    {PTO_BENCHMARK_MEMCPY_SHARED_D2D, PTO_IN_COUNT, PTO_AT_ON_SOCKET, TABLE,
     MEMBER(shared_copies[PTO_COPY_D2D])},
    {PTO_BENCHMARK_MEMCPY_SHARED_STRIDED_H2D, PTO_IN_COUNT, PTO_AT_ON_SOCKET, STRIDED_TABLE,
     MEMBER(shared_copies[PTO_COPY_H2D])},
    {PTO_BENCHMARK_MEMCPY_SHARED_STRIDED_D2H, PTO_IN_COUNT, PTO_AT_ON_SOCKET, STRIDED_TABLE,
     MEMBER(shared_copies[PTO_COPY_D2H])},
    {PTO_BENCHMARK_REDUCE, PTO_IN_CPU, PTO_AT_COUNT, TABLE, MEMBER(reduce[PTO_SPACE_CPU])},
    {PTO_BENCHMARK_REDUCE, PTO_IN_GPU, PTO_AT_COUNT, TABLE, MEMBER(reduce[PTO_SPACE_GPU])},
    {PTO_BENCHMARK_SETUP_OPEN, PTO_IN_GPU, PTO_AT_COUNT, TABLE, MEMBER(setup_open)},
    {PTO_BENCHMARK_SETUP_ALLOCATE, PTO_IN_CPU, PTO_AT_COUNT, TABLE, MEMBER(setup_allocate[PTO_SPACE_CPU])},
    {PTO_BENCHMARK_SETUP_ALLOCATE, PTO_IN_GPU, PTO_AT_COUNT, TABLE, MEMBER(setup_allocate[PTO_SPACE_GPU])},
    {PTO_BENCHMARK_RUN_LINES, PTO_IN_GPU, PTO_AT_COUNT, TABLE, MEMBER(remote_lines)},
};
enum { PARAMETER_COUNT = sizeof parameters / sizeof *parameters };

/* 0.5 us and 10 ps a byte; of several copies or rows, 2 us for each one more. */
static void add_samples_of(int which, pto_samples_t *samples) {
    const shape_t shape = parameters[which].shape;
    pto_sample_t sample = {.benchmark = (uint8_t)parameters[which].benchmark,
                           .where = (uint8_t)parameters[which].where,
                           .place = (uint8_t)parameters[which].place,
                           .procs = shape >= TABLE ? 2 : 1};
    for (int64_t bytes = 1024; bytes <= 65536; bytes *= 2)
        for (sample.messages = 1; sample.messages <= 512; sample.messages *= 8) {
            int64_t rows = bytes / sample.messages;
            double more = shape == QUEUED ? sample.messages - 1 : shape == STRIDED ? (double)(rows - 1) : 0;
            double moved = shape == TIME ? 0 : (double)bytes * (shape == QUEUED ? sample.messages : 1);
            sample.bytes = shape == TIME ? 0 : bytes;
            if (sample.messages == 1 || shape == QUEUED || shape == STRIDED)
                add_equal(samples, sample, 5e-7 + 2e-6 * more + 1e-11 * moved, 5);
        }
}

static const void *member_of(const pto_machine_t *machine, int which) {
    return (const char *)machine + parameters[which].member;
}

/* Of a line, or of the table's last row of the kind that is meant; NULL: it is unknown. */
static const pto_postal_t *postal_of(const pto_machine_t *machine, int which) {
    const shape_t shape = parameters[which].shape;
    const pto_postal_t *postal = NULL;
    if (shape == LINE) {
        postal = member_of(machine, which);
        return pto_postal_known(postal) ? postal : NULL;
    }
    const pto_cost_table_t *table = member_of(machine, which);
    for (int i = 0; i < table->count; i++)
        if (table->row[i].strided == (shape == STRIDED_TABLE))
            postal = &table->row[i].postal;
    return postal;
}

static bool has_postal(int which) {
    return parameters[which].shape == LINE || parameters[which].shape >= TABLE;
}

static bool is_known(const pto_machine_t *machine, int which) {
    return has_postal(which) ? postal_of(machine, which) != NULL : pto_param_known(member_of(machine, which));
}

static void assert_fitted(const pto_machine_t *machine, int which) {
    assert_true(is_known(machine, which));
    if (has_postal(which)) {
        assert_near(postal_of(machine, which)->alpha_s.value, 5e-7, 1e-3);
        assert_near(postal_of(machine, which)->beta_s_per_byte.value, 1e-11, 1e-3);
    } else {
        const pto_param_t *param = member_of(machine, which);
        assert_near(param->value, parameters[which].shape == TIME ? 5e-7 : 2e-6, 1e-3);
        assert_true(param->has_interval);
    }
}

TEST(each_benchmark_sets_its_own_parameter) {
    for (int which = 0; which < PARAMETER_COUNT; which++) {
        pto_samples_t *samples = new_samples();
        add_samples_of(which, samples);
        pto_fit_t fit = must_fit(samples, &any_node);
        assert_null(find_entry(&fit, "memory.host_s_per_byte")); /* of one process */
        for (int other = 0; other < PARAMETER_COUNT; other++)
            if (other != which && is_known(fit.machine, other))
                fail_msg("parameter %d is set by the samples of %d", other, which);
        assert_fitted(fit.machine, which);
    }
}

/* Two, four and eight processes, each with a cost per byte of its own. */
TEST(each_number_of_sharing_processes_has_its_row) {
    pto_samples_t *samples = new_samples();
    pto_sample_t sample = {
        .benchmark = PTO_BENCHMARK_MEMCPY_SHARED_D2H, .place = PTO_AT_ON_SOCKET, .messages = 1};
    for (sample.procs = 2; sample.procs <= 8; sample.procs *= 2)
        for (sample.bytes = 64; sample.bytes <= 65536; sample.bytes *= 4)
            add_equal(samples, sample, 1e-5 + sample.procs * 1e-10 * (double)sample.bytes, 2);
    pto_fit_t fit = must_fit(samples, &any_node);
    const pto_cost_table_t *shared = &fit.machine->shared_copies[PTO_COPY_D2H];
    assert_int_equal(shared->count, 3);
    for (int row = 0; row < 3; row++) {
        assert_int_equal(shared->row[row].procs, 2 << row);
        assert_near(shared->row[row].postal.beta_s_per_byte.value, (2 << row) * 1e-10, 1e-3);
    }
}

/* Messages of one space at one level, alone or several in flight, which GPU memory has at all levels and host
 * memory between nodes. */
TEST(each_space_and_level_has_messages_of_its_own) {
    static const pto_sample_level_t places[] = {PTO_AT_ON_GPU, PTO_AT_ON_SOCKET, PTO_AT_ON_NODE,
                                                PTO_AT_OFF_NODE};
    for (int i = 0; i < PTO_SPACE_COUNT * PTO_LEVEL_COUNT; i++) {
        int space = i / PTO_LEVEL_COUNT, level = i % PTO_LEVEL_COUNT;
        pto_samples_t *samples = no_samples();
        pto_sample_t sample = {.benchmark = PTO_BENCHMARK_PING_PONG,
                               .where = space == PTO_SPACE_CPU ? PTO_IN_CPU : PTO_IN_GPU,
                               .place = (uint8_t)places[level],
                               .procs = 1,
                               .messages = 1};
        for (sample.bytes = 64; sample.bytes <= 65536; sample.bytes *= 4)
            add_equal(samples, sample, 4e-6 + 1e-10 * (double)sample.bytes, 2);
        sample.benchmark =
            level == PTO_LEVEL_OFF_NODE ? PTO_BENCHMARK_MULTI_MESSAGE : PTO_BENCHMARK_MULTI_MESSAGE_ONE;
        for (sample.messages = 1; sample.messages <= 4; sample.messages *= 2)
            for (sample.bytes = 64; sample.bytes <= 65536; sample.bytes *= 4)
                add_equal(samples, sample,
                          4e-6 + (sample.messages - 1) * (1e-6 + 2e-11 * (double)sample.bytes), 2);
        bool has_gap = space == PTO_SPACE_GPU || level == PTO_LEVEL_OFF_NODE;
        pto_fit_t fit = must_fit(samples, &any_node);
        for (int other = 0; other < PTO_SPACE_COUNT * PTO_LEVEL_COUNT; other++) {
            const pto_cost_table_t *messages =
                &fit.machine->messages[other / PTO_LEVEL_COUNT][other % PTO_LEVEL_COUNT];
            const pto_cost_table_t *gap = &fit.machine->gap[other / PTO_LEVEL_COUNT][other % PTO_LEVEL_COUNT];
            assert_int_equal(messages->count, other == i);
            assert_int_equal(gap->count, other == i && has_gap);
            if (messages->count > 0)
                assert_near(messages->row[0].postal.alpha_s.value, 4e-6, 1e-3);
            if (gap->count > 0)
                assert_near(gap->row[0].postal.alpha_s.value, 1e-6, 1e-3);
        }
    }
}
