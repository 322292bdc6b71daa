/* The applications' patterns of portolan-validate, on the host device: their kernels and their comparisons,
 * against a stencil over one field of all owners and a sum in one loop. Needs no mpirun. */
#include "../../validate/pattern.h"
#include "test.h"

static settings_t settings_of(pto_pattern_t pattern) {
    settings_t settings = {.op = PTO_OP_SUM};
    settings.options.pattern = (int)pattern;
    settings.options.local_bytes = 8 * 1000 + 7;
    assert_int_equal(pto_device_find("host", &settings.device, NULL), PTO_OK);
    return settings;
}

/* --- the stencil ---------------------------------------------------------------------------------------- */

/* 2 times 3 owners; the columns wrap. */
enum { OWNERS = 6, ROWS = 5, COLUMNS = 4, CELLS = (ROWS + 2) * (COLUMNS + 2), SEED = 11 };
enum { ALL_ROWS = 2 * ROWS, ALL_COLUMNS = 3 * COLUMNS };

static pto_request_t stencil_request(void) {
    return (pto_request_t){.layout = {1, OWNERS, 1, 1, OWNERS, false},
                           .collective = PTO_COLLECTIVE_HALO,
                           .bytes = sizeof(double),
                           .halo = {2, {2, 3}, {false, true}, {ROWS, COLUMNS}, 1, PTO_CORNERS_DIAGONAL}};
}

/* All cells, with the two rows beyond the edges, which stay as they are. */
typedef struct {
    double cell[ALL_ROWS + 2][ALL_COLUMNS];
} field_t;

/* The place in the field of a cell of an owner's part. */
static double *cell_of(field_t *field, int owner, int at) {
    int row = owner / 3 * ROWS + at / (COLUMNS + 2);
    int column = owner % 3 * COLUMNS + at % (COLUMNS + 2) - 1;
    return &field->cell[row][(column + ALL_COLUMNS) % ALL_COLUMNS];
}

static void step_field(field_t *field) {
    const double weight[3][3] = {{0.05, 0.15, 0.05}, {0.15, 0.25, 0.15}, {0.05, 0.15, 0.05}};
    field_t next = *field;
    for (int i = 1; i <= ALL_ROWS; i++)
        for (int j = 0; j < ALL_COLUMNS; j++) {
            next.cell[i][j] = 0;
            for (int di = -1; di <= 1; di++)
                for (int dj = -1; dj <= 1; dj++)
                    next.cell[i][j] +=
                        weight[di + 1][dj + 1] * field->cell[i + di][(j + dj + ALL_COLUMNS) % ALL_COLUMNS];
        }
    *field = next;
}

typedef struct {
    settings_t settings;
    pto_request_t request;
    work_t work[OWNERS];
    double out[OWNERS][CELLS];
    field_t field;
} parts_t;

/* Owners with fresh data, and the field that they are parts of. */
static void begin(parts_t *parts) {
    parts->settings = settings_of(PTO_PATTERN_STENCIL2D);
    parts->request = stencil_request();
    const pattern_t *pattern = pattern_of(&parts->settings);
    for (int owner = 0; owner < OWNERS; owner++) {
        work_t *work = &parts->work[owner];
        assert_int_equal(work_create(&parts->settings, &parts->request, owner, NULL, parts->out[owner],
                                     sizeof parts->out[owner], work, NULL),
                         PTO_OK);
        assert_int_equal(work->local_bytes, CELLS * sizeof(double));
        assert_int_equal(pattern->fill(work, SEED, NULL), PTO_OK);
        for (int at = 0; at < CELLS; at++)
            *cell_of(&parts->field, owner, at) = parts->out[owner][at];
    }
}

static void end(parts_t *parts) {
    for (int owner = 0; owner < OWNERS; owner++)
        work_free(&parts->work[owner]);
}

/* Every owner's part with its halo, out of the field. */
static void take_parts(parts_t *parts) {
    for (int owner = 0; owner < OWNERS; owner++)
        for (int at = 0; at < CELLS; at++)
            parts->out[owner][at] = *cell_of(&parts->field, owner, at);
}

static pto_status_t compare(parts_t *parts, int owner, pto_error_t *err) {
    return pattern_of(&parts->settings)->compare(&parts->work[owner], SEED, err);
}

TEST(owners_begin_with_parts_of_one_field) {
    static parts_t parts;
    begin(&parts);
    for (int owner = 0; owner < OWNERS; owner++)
        for (int at = 0; at < CELLS; at++) {
            double value = parts.out[owner][at];
            assert_true(value == *cell_of(&parts.field, owner, at)); /* also in others' halos */
            assert_true(value >= 0 && value < 1);
            assert_true(at == 0 || value != parts.out[owner][at - 1]);
        }
    double before = parts.out[0][0];
    assert_int_equal(pattern_of(&parts.settings)->fill(&parts.work[0], SEED + 1, NULL), PTO_OK);
    assert_true(parts.out[0][0] != before);
    end(&parts);
}

/* The parts as they are when all steps are done. */
static void begin_done(parts_t *parts) {
    begin(parts);
    for (int step = 0; step < pattern_of(&parts->settings)->steps; step++)
        step_field(&parts->field);
    take_parts(parts);
}

TEST(a_stencil_over_the_whole_field_is_right) {
    static parts_t parts;
    begin_done(&parts);
    for (int owner = 0; owner < OWNERS; owner++) {
        pto_error_t err = {.message = ""};
        if (compare(&parts, owner, &err) != PTO_OK)
            fail_msg("owner %d: %s", owner, err.message);
    }
    end(&parts);
}

/* One owner whose field wraps in both dimensions: no cell stays as it is, so the comparison computes all that
 * its neighbors let it, and sanitizers see if it reads any more. */
TEST(a_stencil_that_wraps_in_both_dimensions_is_right) {
    settings_t settings = settings_of(PTO_PATTERN_STENCIL2D);
    pto_request_t request = stencil_request();
    request.layout = (pto_layout_t){1, 1, 1, 1, 1, false};
    request.halo = (pto_halo_t){2, {1, 1}, {true, true}, {ROWS, COLUMNS}, 1, PTO_CORNERS_DIAGONAL};
    const double weight[3] = {0.15, 0.25, 0.15}, corner[3] = {0.05, 0.15, 0.05};
    const pattern_t *pattern = pattern_of(&settings);
    double out[ROWS + 2][COLUMNS + 2], next[ROWS + 2][COLUMNS + 2];
    work_t work;
    assert_int_equal(work_create(&settings, &request, 0, NULL, out, sizeof out, &work, NULL), PTO_OK);
    assert_int_equal(pattern->fill(&work, SEED, NULL), PTO_OK);
    for (int step = 0; step < pattern->steps; step++) {
        for (int i = 0; i < ROWS + 2; i++)
            for (int j = 0; j < COLUMNS + 2; j++) {
                int row = (i + ROWS - 1) % ROWS + 1, column = (j + COLUMNS - 1) % COLUMNS + 1;
                next[i][j] = 0;
                for (int k = 0; k < 3; k++)
                    next[i][j] += corner[k] * (out[row - 1][column + k - 1] + out[row + 1][column + k - 1]) +
                                  weight[k] * out[row][column + k - 1];
            }
        memcpy(out, next, sizeof out);
    }
    assert_int_equal(pattern->compare(&work, SEED, NULL), PTO_OK);
    out[ROWS + 1][COLUMNS + 1] += 1e-11;
    assert_int_equal(pattern->compare(&work, SEED, NULL), PTO_ERR_RANGE);
    work_free(&work);
}

/* A difference that rounding does not explain is an error, in every cell and halo; NaN is one. */
TEST(a_wrong_cell_is_named) {
    static parts_t parts;
    begin_done(&parts);
    for (int at = 0; at < CELLS; at++) {
        double *cell = &parts.out[4][at], right = *cell;
        char place[40];
        pto_error_t err;
        for (int sign = -1; sign <= 1; sign += 2) {
            *cell = right + sign * 1e-14;
            assert_int_equal(compare(&parts, 4, NULL), PTO_OK);
            *cell = right + sign * 1e-11;
            assert_int_equal(compare(&parts, 4, &err), PTO_ERR_RANGE);
            snprintf(place, sizeof place, "row %d, column %d is", at / (COLUMNS + 2), at % (COLUMNS + 2));
            assert_non_null(strstr(err.message, place));
        }
        *cell = NAN;
        assert_int_equal(compare(&parts, 4, NULL), PTO_ERR_RANGE);
        *cell = right;
    }
    end(&parts);
}

/* The device's kernel leaves the halo to the exchange. */
TEST(the_kernel_makes_the_steps_of_the_field) {
    static parts_t parts;
    begin(&parts);
    for (int step = 0; step < 3; step++) {
        for (int owner = 0; owner < OWNERS; owner++) {
            const work_t *work = &parts.work[owner];
            assert_int_equal(pattern_of(&parts.settings)->kernel(work, NULL), PTO_OK);
            assert_int_equal(work->device->finish(work->stream, NULL), PTO_OK);
        }
        step_field(&parts.field);
        for (int owner = 0; owner < OWNERS; owner++)
            for (int at = 0; at < CELLS; at++) {
                int row = at / (COLUMNS + 2), column = at % (COLUMNS + 2);
                bool inside = row > 0 && row <= ROWS && column > 0 && column <= COLUMNS;
                double wanted = *cell_of(&parts.field, owner, at);
                assert_true(!inside || fabs(parts.out[owner][at] - wanted) < 1e-14);
                parts.out[owner][at] = wanted;
            }
    }
    end(&parts);
}

/* The kernels of a repeat, without an exchange, are its steps. */
TEST(the_steps_of_a_repeat_can_be_run_alone) {
    static parts_t parts, one_by_one;
    begin(&parts);
    begin(&one_by_one);
    assert_int_equal(work_steps(&parts.settings, &parts.work[2], NULL, NULL), PTO_OK);
    for (int step = 0; step < pattern_of(&parts.settings)->steps; step++)
        assert_int_equal(pattern_of(&parts.settings)->kernel(&one_by_one.work[2], NULL), PTO_OK);
    assert_int_equal(parts.work[2].device->finish(one_by_one.work[2].stream, NULL), PTO_OK);
    assert_memory_equal(parts.out[2], one_by_one.out[2], sizeof parts.out[2]);
    end(&parts);
    end(&one_by_one);
}

/* --- the global sum ------------------------------------------------------------------------------------- */

static pto_request_t sum_request(void) {
    return (pto_request_t){.layout = {1, OWNERS, 1, 1, OWNERS, false},
                           .collective = PTO_COLLECTIVE_ALLREDUCE,
                           .datatype = PTO_DATATYPE_DOUBLE,
                           .bytes = sizeof(double)};
}

TEST(a_global_sum_is_that_of_all_owners_numbers) {
    settings_t settings = settings_of(PTO_PATTERN_GLOBAL_SUM);
    pto_request_t request = sum_request();
    const pattern_t *pattern = pattern_of(&settings);
    double in = 0, out = 0, sum = 0;
    work_t work;
    for (int owner = 0; owner < OWNERS; owner++) {
        double own = 0;
        assert_int_equal(work_create(&settings, &request, owner, &in, &out, 8, &work, NULL), PTO_OK);
        assert_int_equal(work.local_bytes, 8000); /* whole numbers of 8 bytes */
        assert_int_equal(pattern->fill(&work, SEED, NULL), PTO_OK);
        const double *number = work.local;
        for (int i = 0; i < 1000; i++) {
            assert_true(number[i] == floor(number[i]) && fabs(number[i]) <= 262144);
            assert_true(i == 0 || number[i] != number[i - 1]);
            own += number[i];
        }
        assert_int_equal(work_steps(&settings, &work, NULL, NULL), PTO_OK);
        assert_true(in == own);
        sum += own;
        if (owner < OWNERS - 1)
            work_free(&work);
    }
    out = sum;
    assert_int_equal(pattern->compare(&work, SEED, NULL), PTO_OK);
    assert_int_equal(pattern->compare(&work, SEED + 1, NULL), PTO_ERR_RANGE);
    out = sum + 1;
    assert_int_equal(pattern->compare(&work, SEED, NULL), PTO_ERR_RANGE);
    work_free(&work);
}

/* --- what a pattern goes with --------------------------------------------------------------------------- */

static pto_status_t allowed(const settings_t *settings, const pto_request_t *request) {
    return pattern_allowed(settings, request, NULL);
}

TEST(a_stencil_exchanges_halos_of_doubles) {
    settings_t settings = settings_of(PTO_PATTERN_STENCIL2D);
    pto_request_t right = stencil_request(), request = right;
    assert_int_equal(allowed(&settings, &request), PTO_OK);
    request.halo.corners = PTO_CORNERS_TWO_PHASE;
    assert_int_equal(allowed(&settings, &request), PTO_OK);
    request.halo.corners = PTO_CORNERS_NONE;
    assert_int_equal(allowed(&settings, &request), PTO_ERR_RANGE);
    request = right;
    request.halo.dim_count = 3;
    assert_int_equal(allowed(&settings, &request), PTO_ERR_RANGE);
    request = right;
    request.halo.width = 2;
    assert_int_equal(allowed(&settings, &request), PTO_ERR_RANGE);
    request = right;
    request.bytes = 4;
    assert_int_equal(allowed(&settings, &request), PTO_ERR_RANGE);
    request = right;
    request.collective = PTO_COLLECTIVE_ALLTOALL;
    assert_int_equal(allowed(&settings, &request), PTO_ERR_RANGE);
}

TEST(a_global_sum_is_an_allreduce_of_one_double) {
    settings_t settings = settings_of(PTO_PATTERN_GLOBAL_SUM);
    pto_request_t right = sum_request(), request = right;
    assert_int_equal(allowed(&settings, &request), PTO_OK);
    request.bytes = 16;
    assert_int_equal(allowed(&settings, &request), PTO_ERR_RANGE);
    request = right;
    request.datatype = PTO_DATATYPE_INT64;
    assert_int_equal(allowed(&settings, &request), PTO_ERR_RANGE);
    request = right;
    request.collective = PTO_COLLECTIVE_REDUCE;
    assert_int_equal(allowed(&settings, &request), PTO_ERR_RANGE);
    settings.op = PTO_OP_MAX;
    assert_int_equal(allowed(&settings, &right), PTO_ERR_RANGE);
}

TEST(patterns_are_timed_without_other_ways_to_run) {
    pto_request_t request = stencil_request();
    for (int way = 0; way < 5; way++) {
        settings_t settings = settings_of(PTO_PATTERN_STENCIL2D);
        settings.options.queued = way == 0;
        settings.options.enqueue = way == 1;
        settings.options.graph = way == 2;
        settings.options.energy = way == 3;
        assert_int_equal(allowed(&settings, &request), way == 4 ? PTO_OK : PTO_ERR_RANGE);
        settings.options.pattern = PTO_PATTERN_COLLECTIVE;
        assert_null(pattern_of(&settings));
        assert_int_equal(allowed(&settings, &request), PTO_OK);
    }
    settings_t settings = settings_of(PTO_PATTERN_STENCIL2D);
    pto_device_t without = *settings.device;
    without.bench = NULL;
    settings.device = &without;
    assert_int_equal(allowed(&settings, &request), PTO_ERR_NOT_APPLICABLE);
}

TEST(helpers_have_no_work) {
    settings_t settings = settings_of(PTO_PATTERN_STENCIL2D);
    pto_request_t request = stencil_request();
    work_t work;
    assert_int_equal(work_create(&settings, &request, -1, NULL, NULL, 0, &work, NULL), PTO_OK);
    assert_null(work.pattern);
    assert_null(work.host);
    assert_int_equal(work_steps(&settings, &work, NULL, NULL), PTO_OK);
    work_free(&work);
    settings.options.pattern = PTO_PATTERN_COLLECTIVE;
    assert_int_equal(work_create(&settings, &request, 0, NULL, NULL, 0, &work, NULL), PTO_OK);
    assert_null(work.pattern);
    work_free(&work);
}

/* --- the order of a step's calls ------------------------------------------------------------------------ */

static char calls[64];
static int call_count, failing_call; /* the latter: from 0 on; -1: none */
static const void *own_stream;

static pto_status_t call(char which) {
    assert_true(call_count < (int)sizeof calls - 1);
    calls[call_count++] = which;
    calls[call_count] = '\0';
    return call_count - 1 == failing_call ? PTO_ERR_IO : PTO_OK;
}

/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): names of the linker's --wrap */
pto_status_t __wrap_pto_exec_follow(pto_exec_t *exec, void *stream, pto_error_t *err) {
    assert_ptr_equal(stream, own_stream);
    return call('f');
}

pto_status_t __wrap_pto_exec_run(pto_exec_t *exec, pto_error_t *err) { return call('r'); }
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

static pto_status_t noted_kernel(const work_t *work, pto_error_t *err) { return call('k'); }

static pto_status_t noted_finish(void *stream, pto_error_t *err) {
    assert_ptr_equal(stream, own_stream);
    return call('w');
}

/* Each run follows its step's kernel, and the last one is waited for. What fails is the last call. Without an
 * executor there are kernels alone; a helper has runs alone, and nothing to wait for. */
TEST(a_step_is_a_kernel_and_a_run_that_follows_it) {
    static int stream, exec;
    settings_t settings = settings_of(PTO_PATTERN_STENCIL2D);
    pattern_t pattern = *pattern_of(&settings);
    pto_device_t device = *settings.device;
    pattern.kernel = noted_kernel;
    device.finish = noted_finish;
    own_stream = &stream;
    for (int with = 1; with < 4; with++) {
        bool is_owner = (with & 1) != 0, runs = (with & 2) != 0;
        const char *step = is_owner && runs ? "kfr" : is_owner ? "k" : "r";
        char all[64];
        int length = 0;
        for (int i = 0; i < pattern.steps; i++)
            length += snprintf(all + length, sizeof all - (size_t)length, "%s", step);
        length += snprintf(all + length, sizeof all - (size_t)length, "%s", is_owner ? "w" : "");
        assert_true(length < (int)sizeof all);
        work_t work = {.pattern = is_owner ? &pattern : NULL, .device = &device, .stream = &stream};
        for (failing_call = -1; failing_call < length; failing_call++) {
            call_count = 0;
            pto_status_t status =
                work_steps(&settings, &work, runs ? (pto_exec_t *)(void *)&exec : NULL, NULL);
            assert_int_equal(status, failing_call < 0 ? PTO_OK : PTO_ERR_IO);
            assert_int_equal(call_count, failing_call < 0 ? length : failing_call + 1);
            assert_memory_equal(calls, all, (size_t)call_count);
        }
    }
}
