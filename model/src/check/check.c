/* Proves a plan by one method (pto_check_by_method, called by proof.c). Each owner's input is a symbol. The
 * plan's stages are executed on symbols (walked), and the outputs are compared with what the collective
 * defines. The method says which ranks are walked: all, or those of node 0 if all nodes do the same. In a
 * proof by node 0, a plan of a vector is replaced by its unit plan (pto_checker_t.unit_plan). */
#include "portolan/check.h"

#include <stdlib.h>

#include "base/checked.h"
#include "check/check_internal.h"

/* --- expected outputs ----------------------------------------------------------------------------------- */

/* One pattern: the user's input and output, and the bytes between owners. There are two if the request has a
 * second pattern, in host memory, at the same time. */
typedef struct {
    pto_role_t in;
    pto_role_t out;
    int64_t (*bytes)(const pto_request_t *request, int64_t source, int64_t destination);
} pattern_t;

static const pattern_t patterns[] = {{PTO_ROLE_IN, PTO_ROLE_OUT, pto_request_bytes},
                                     {PTO_ROLE_HOST_IN, PTO_ROLE_HOST_OUT, pto_request_host_bytes}};

/* Applies a check to the patterns of the request, until one fails. */
static bool for_each_pattern(pto_checker_t *checker,
                             bool (*apply)(pto_checker_t *checker, const pattern_t *pattern)) {
    return apply(checker, &patterns[0]) &&
           (!pto_request_host_counts(checker->request) || apply(checker, &patterns[1]));
}

static int64_t owner_rank(const pto_request_t *request, int64_t owner) {
    const pto_layout_t *layout = &request->layout;
    return owner / layout->owners_per_gpu * layout->procs_per_gpu + owner % layout->owners_per_gpu;
}

/* Returns the number of owners among the ranks that are walked (pto_checker_t). */
static int64_t walked_owners(const pto_checker_t *checker) {
    const pto_layout_t *layout = &checker->request->layout;
    return checker->walked / layout->procs_per_gpu * layout->owners_per_gpu;
}

/* Returns the number of messages with distinct data; additional messages repeat them in turn. */
static int64_t distinct_messages(const pto_request_t *request) {
    if (request->unique_bytes <= 0 || request->bytes == 0)
        return request->messages;
    int64_t distinct = request->unique_bytes / request->bytes + (request->unique_bytes % request->bytes > 0);
    return distinct < request->messages ? distinct : request->messages;
}

/* Checks the next `bytes` of buffer `out`, from `*offset` on: they must combine the inputs of the owners in
 * `set`, from offset `origin` on. Advances `*offset`. */
static bool expect(pto_checker_t *checker, int64_t rank, int out, int64_t *offset, int64_t bytes, int32_t set,
                   int64_t origin) {
    pto_content_t wanted = {.begin = *offset, .end = *offset + bytes, .delta = origin - *offset, .set = set};
    *offset = wanted.end;
    return pto_check_expect(checker, checker->contents, rank, out, wanted);
}

/* Checks that the rank holds the buffer, with the bytes of the user's. */
static bool check_size(pto_checker_t *checker, int64_t rank, int buffer, int64_t bytes) {
    int64_t held = checker->bytes[rank * checker->buffers + buffer];
    if (held == bytes)
        return true;
    const char *name = pto_check_buffer_name(checker, buffer);
    if (held < 0)
        return pto_check_fail(checker, rank, "an owner has no buffer '%s'", name);
    return pto_check_fail(checker, rank, "buffer '%s' has %lld bytes, the user's has %lld", name,
                          (long long)held, (long long)bytes);
}

/* Checks that each receiver has the reduction of all owners' vectors (in a broadcast: the root's vector),
 * with the same bits everywhere; in a reduce_scatter, that owner i has block i of it. */
static bool expect_vector(pto_checker_t *checker, int out, int64_t owners) {
    pto_collective_t collective = checker->request->collective;
    int64_t sources = pto_collective_is_from_root(collective) ? 1 : owners;
    int64_t receivers = pto_collective_is_to_root(collective) ? 1 : walked_owners(checker);
    int32_t all = pto_sets_run(&checker->sets, 0, (int32_t)sources);
    for (int64_t owner = 0; owner < receivers; owner++) {
        int64_t rank = owner_rank(checker->request, owner), offset = 0;
        int64_t origin = pto_collective_is_vector(collective) ? 0 : owner * checker->request->bytes;
        pto_touch_t vector = {.holder = rank, .buffer = out, .end = checker->request->bytes}, first = vector;
        first.holder = owner_rank(checker->request, 0);
        if (!check_size(checker, rank, out, checker->request->bytes) ||
            !expect(checker, rank, out, &offset, checker->request->bytes, all, origin))
            return false;
        if (pto_collective_is_vector(collective) &&
            !pto_check_same_order(checker, checker->contents, &first, &vector))
            return false;
    }
    return !checker->unit_plan || pto_check_next_node_order(checker, owner_rank(checker->request, 0), out);
}

/* Checks owner j's output. Block i of it is block j of owner i's input, or its only block. It begins at
 * origin[i] of that input, which advances to the next block. */
static bool expect_column(pto_checker_t *checker, const pattern_t *pattern, int64_t owners, int64_t j,
                          int64_t *origin) {
    int out = pto_check_role(checker->plan, pattern->out);
    int64_t rank = owner_rank(checker->request, j), offset = 0, total = 0;
    for (int64_t i = 0; i < owners; i++)
        total += pattern->bytes(checker->request, i, j);
    if (!check_size(checker, rank, out, total))
        return false;
    for (int64_t i = 0; i < owners; i++) {
        int64_t bytes = pattern->bytes(checker->request, i, j);
        int32_t set = pto_sets_run(&checker->sets, (int32_t)i, (int32_t)i + 1);
        if (!expect(checker, rank, out, &offset, bytes, set, origin[i]))
            return false;
        if (pto_collective_is_addressed(checker->request->collective))
            origin[i] += bytes;
    }
    return true;
}

/* Returns the bytes of an owner's whole input of a pattern. */
static int64_t input_bytes(const pto_request_t *request, const pattern_t *pattern, int64_t owner,
                           int64_t owners) {
    if (request->collective == PTO_COLLECTIVE_HALO)
        return pto_halo_cells(&request->halo) * request->bytes;
    if (pto_collective_data(request->collective) == PTO_DATA_MESSAGES)
        return distinct_messages(request) * request->bytes;
    if (pto_collective_is_by_owner(request->collective))
        return pattern->bytes(request, owner, owner);
    if (pto_collective_data(request->collective) != PTO_DATA_BLOCKS)
        return pto_collective_blocks_in(request->collective, owners) * request->bytes;
    int64_t total = 0;
    for (int64_t destination = 0; destination < owners; destination++)
        total += pattern->bytes(request, owner, destination);
    return total;
}

/* Returns the offset of a pattern's input among an owner's inputs: the second one follows the first. */
static int64_t input_offset(const pto_request_t *request, const pattern_t *pattern, int64_t owner,
                            int64_t owners) {
    return pattern == patterns ? 0 : input_bytes(request, patterns, owner, owners);
}

static bool expect_blocks(pto_checker_t *checker, const pattern_t *pattern) {
    int64_t owners = pto_layout_owner_count(&checker->request->layout);
    int64_t *origin = calloc((size_t)owners, sizeof *origin);
    if (!origin)
        return pto_check_out_of_memory(checker);
    bool ok = true;
    for (int64_t i = 0; i < owners; i++)
        origin[i] = input_offset(checker->request, pattern, i, owners);
    int64_t receivers = pto_collective_is_to_root(checker->request->collective) ? 1 : walked_owners(checker);
    for (int64_t j = 0; j < receivers && ok; j++)
        ok = expect_column(checker, pattern, owners, j, origin);
    free(origin);
    return ok;
}

/* Message m goes from a GPU to the one whose index is m higher (cyclically), on the next node. Messages
 * beyond the distinct ones repeat these in turn. */
static bool expect_messages(pto_checker_t *checker, int out, int64_t owners) {
    const pto_request_t *request = checker->request;
    int64_t per_node = owners / request->layout.nodes;
    int64_t distinct = distinct_messages(request);
    for (int64_t owner = 0; owner < owners; owner++) {
        int64_t node = (owner / per_node + request->layout.nodes - 1) % request->layout.nodes;
        int64_t rank = owner_rank(request, owner), offset = 0;
        if (!check_size(checker, rank, out, request->messages * request->bytes))
            return false;
        for (int64_t m = 0; m < request->messages; m++) {
            int64_t sender = node * per_node + (owner % per_node + per_node - m % per_node) % per_node;
            int32_t set = pto_sets_run(&checker->sets, (int32_t)sender, (int32_t)sender + 1);
            if (!expect(checker, rank, out, &offset, request->bytes, set, m % distinct * request->bytes))
                return false;
        }
    }
    return true;
}

/* Each receiving owner has the input of the other one. */
static bool expect_pair(pto_checker_t *checker, int out) {
    bool ok = true;
    for (int64_t owner = checker->request->ends.both_ways ? 0 : 1; owner < 2 && ok; owner++) {
        int64_t rank = owner_rank(checker->request, owner), bytes = checker->request->bytes, offset = 0;
        int32_t set = pto_sets_run(&checker->sets, (int32_t)(1 - owner), (int32_t)(2 - owner));
        ok = check_size(checker, rank, out, bytes) && expect(checker, rank, out, &offset, bytes, set, 0);
    }
    return ok;
}

/* The origin of values along one dimension. [0]: of the halo before the owner's cells, [1]: of these cells,
 * [2]: of the halo behind them. */
typedef struct {
    int shift[3];     /* to the neighbor that owns the values; 0: they are the owner's own */
    int64_t delta[3]; /* in cells: their index in that neighbor's array minus their index here */
} sides_t;

static sides_t sides_of(const pto_halo_t *grid, int d, int64_t owner) {
    sides_t sides = {{0}, {0}};
    for (int side = -1; side <= 1; side += 2) {
        int shift[PTO_DIMS_MAX] = {0};
        shift[d] = side;
        if (pto_halo_peer(grid, owner, shift) < 0)
            continue; /* a halo beyond the edge of the grid keeps its values */
        sides.shift[1 + side] = side;
        sides.delta[1 + side] = -side * grid->extent[d];
    }
    return sides;
}

/* Returns whether the collective defines the values of a region. `halo_dims`: dimensions along which it is in
 * the halo; `shifted_dims`: those of them with a neighbor. Only some kinds of exchange define corners. */
static bool is_defined(pto_corners_t corners, int halo_dims, int shifted_dims) {
    return halo_dims <= 1 || corners == PTO_CORNERS_TWO_PHASE ||
           (corners == PTO_CORNERS_DIAGONAL && shifted_dims == halo_dims);
}

/* Checks one region of an owner's array. Along each dimension, `region` is 0 for the owner's own cells, and
 * -1 or 1 for the halo before or behind them. */
static bool expect_region(pto_checker_t *checker, int out, int64_t owner, const int *region) {
    const pto_halo_t *grid = &checker->request->halo;
    int64_t first[PTO_DIMS_MAX] = {0, 0, 0}, count[PTO_DIMS_MAX] = {1, 1, 1};
    int64_t pitch[PTO_DIMS_MAX] = {0, 0, 0}, delta = 0, cells = 1;
    int shift[PTO_DIMS_MAX] = {0}, halo_dims = 0, shifted_dims = 0;
    for (int d = grid->dim_count - 1; d >= 0; d--) {
        sides_t sides = sides_of(grid, d, owner);
        pitch[d] = cells;
        if (region[d] >= 0)
            first[d] = grid->width + (region[d] > 0 ? grid->extent[d] : 0);
        count[d] = region[d] == 0 ? grid->extent[d] : grid->width;
        shift[d] = sides.shift[1 + region[d]];
        delta += sides.delta[1 + region[d]] * pitch[d];
        halo_dims += region[d] != 0;
        shifted_dims += shift[d] != 0;
        cells *= grid->extent[d] + 2 * grid->width;
    }
    int64_t from = pto_halo_peer(grid, owner, shift), rank = owner_rank(checker->request, owner);
    int64_t bytes = checker->request->bytes, row = count[grid->dim_count - 1] * bytes;
    int32_t set = pto_sets_run(&checker->sets, (int32_t)from, (int32_t)from + 1);
    bool ok = true;
    if (!is_defined(grid->corners, halo_dims, shifted_dims))
        return true;
    if (grid->dim_count == 2)
        count[1] = 1; /* the last dimension is the row */
    for (int64_t i = 0; i < count[0]; i++)
        for (int64_t j = 0; j < count[1] && ok; j++) {
            int64_t cell = (first[0] + i) * pitch[0] + (first[1] + j) * pitch[1] + first[2] * pitch[2];
            int64_t offset = cell * bytes;
            ok = expect(checker, rank, out, &offset, row, set, (cell + delta) * bytes);
        }
    return ok;
}

static bool expect_grid(pto_checker_t *checker, int out, int64_t owners) {
    const pto_halo_t *grid = &checker->request->halo;
    bool ok = true;
    for (int64_t owner = 0; owner < owners && ok; owner++) {
        ok = check_size(checker, owner_rank(checker->request, owner), out,
                        pto_halo_cells(grid) * checker->request->bytes);
        for (int number = 0; number < PTO_SHIFTS_MAX && ok; number++) {
            int region[PTO_DIMS_MAX] = {number / 9 - 1, number / 3 % 3 - 1, number % 3 - 1};
            if (grid->dim_count == PTO_DIMS_MAX || region[PTO_DIMS_MAX - 1] == 0)
                ok = expect_region(checker, out, owner, region);
        }
    }
    return ok;
}

static bool expect_outputs(pto_checker_t *checker) {
    int64_t owners = pto_layout_owner_count(&checker->request->layout);
    int out = pto_check_role(checker->plan, PTO_ROLE_OUT);
    switch (pto_collective_data(checker->request->collective)) {
    case PTO_DATA_VECTOR:
    case PTO_DATA_SCATTERED:
        return expect_vector(checker, out, owners);
    case PTO_DATA_MESSAGES:
        return expect_messages(checker, out, owners);
    case PTO_DATA_PAIR:
        return expect_pair(checker, out);
    case PTO_DATA_GRID:
        return expect_grid(checker, out, owners);
    case PTO_DATA_BLOCKS:
    case PTO_DATA_GATHERED:
    case PTO_DATA_COUNT:
        break;
    }
    return for_each_pattern(checker, expect_blocks);
}

/* --- inputs, and the user's accesses -------------------------------------------------------------------- */

/* An access by the user to a whole buffer. */
static bool user_access(pto_checker_t *checker, int64_t rank, int buffer, bool write) {
    pto_touch_t touch = {.holder = rank,
                         .buffer = buffer,
                         .end = checker->bytes[rank * checker->buffers + buffer],
                         .write = write};
    return pto_check_access(checker, rank, &touch);
}

/* Returns whether the plan is a pair in which owner 0 only sends and owner 1 only receives. */
static bool is_one_way(const pto_checker_t *checker) {
    return checker->request->collective == PTO_COLLECTIVE_PAIR && !checker->request->ends.both_ways;
}

/* Only owner 0 has a vector to broadcast, and only owner 0 receives a reduced one. */
static bool has_input(const pto_checker_t *checker, int64_t owner) {
    return owner == 0 || !(is_one_way(checker) || pto_collective_is_from_root(checker->request->collective));
}

static bool has_output(const pto_checker_t *checker, int64_t owner) {
    return is_one_way(checker) ? owner == 1
                               : owner == 0 || !pto_collective_is_to_root(checker->request->collective);
}

/* A halo exchange is in place: its output is its input. */
static int input_of(const pto_checker_t *checker, const pattern_t *pattern) {
    bool in_place = checker->request->collective == PTO_COLLECTIVE_HALO;
    return pto_check_role(checker->plan, in_place ? PTO_ROLE_OUT : pattern->in);
}

/* Returns the output of a broadcast; -1: not a broadcast. Before the run, it has data of the receiver, which
 * the plan may copy but must overwrite. */
static int preset_output(const pto_checker_t *checker, const pattern_t *pattern) {
    const bool is_preset = checker->request->collective == PTO_COLLECTIVE_BROADCAST;
    return is_preset ? pto_check_role(checker->plan, pattern->out) : -1;
}

static bool write_input(pto_checker_t *checker, const pattern_t *pattern) {
    int64_t owners = pto_layout_owner_count(&checker->request->layout);
    int in = input_of(checker, pattern);
    if (in < 0)
        return pto_check_fail(checker, 0, "the plan has no input");
    for (int64_t owner = 0; owner < walked_owners(checker); owner++) {
        int64_t rank = owner_rank(checker->request, owner);
        int64_t bytes = input_bytes(checker->request, pattern, owner, owners);
        int buffer = has_input(checker, owner) ? in : preset_output(checker, pattern);
        if (buffer < 0)
            continue;
        if (!check_size(checker, rank, buffer, bytes) || !user_access(checker, rank, buffer, true))
            return false;
        pto_content_t span = {.end = bytes,
                              .delta = input_offset(checker->request, pattern, owner, owners),
                              .set = pto_sets_run(&checker->sets, (int32_t)owner, (int32_t)owner + 1),
                              .base = (int32_t)owner};
        pto_contents_write(pto_check_contents(checker, rank, buffer), span, &checker->sets);
    }
    return true;
}

/* The user reads the output after the run, and may write both buffers then, for the next run. */
static bool use_output(pto_checker_t *checker, const pattern_t *pattern) {
    int in = input_of(checker, pattern), out = pto_check_role(checker->plan, pattern->out);
    if (out < 0)
        return pto_check_fail(checker, 0, "the plan has no output%s",
                              pattern == patterns ? "" : " in host memory");
    for (int64_t owner = 0; owner < walked_owners(checker); owner++) {
        int64_t rank = owner_rank(checker->request, owner);
        if (has_output(checker, owner) &&
            (!user_access(checker, rank, out, false) || !user_access(checker, rank, out, true)))
            return false;
        if (has_input(checker, owner) && !user_access(checker, rank, in, true))
            return false;
    }
    return true;
}

static bool no_signals_left(pto_checker_t *checker) {
    for (int64_t rank = 0; rank < checker->walked; rank++)
        if (checker->signal[rank].first)
            return pto_check_fail(checker, rank, "never waits for '%s' that rank %lld signals",
                                  pto_plan_flag_name(checker->plan, checker->signal[rank].first->flag),
                                  (long long)checker->signal[rank].first->from);
    return true;
}

/* --- the walk ------------------------------------------------------------------------------------------- */

static bool allocate(pto_checker_t *checker) {
    size_t places = (size_t)checker->walked * (size_t)checker->buffers;
    checker->contents = calloc(places, sizeof *checker->contents);
    /* The second half is of the other copies of double-buffered temporaries. */
    checker->trace = calloc(2 * places, sizeof *checker->trace);
    checker->piece = calloc(places, sizeof *checker->piece);
    checker->bytes = calloc(places, sizeof *checker->bytes);
    checker->signal = calloc((size_t)checker->walked, sizeof *checker->signal);
    checker->progress = calloc((size_t)checker->walked, sizeof *checker->progress);
    checker->tally = calloc((size_t)checker->ranks + 1, sizeof *checker->tally);
    return checker->contents && checker->trace && checker->piece && checker->bytes && checker->signal &&
           checker->progress && checker->tally;
}

/* The ranks that a clock knows. */
static int64_t ranks_per_clock(const pto_checker_t *checker) {
    return checker->proof == PTO_PROOF_IN_FULL ? checker->walked : pto_check_sharing_ranks(checker->plan);
}

static bool prepare_buffers(pto_checker_t *checker) {
    bool any_shared = false;
    pto_check_find_aliases(checker);
    for (int buffer = 0; buffer < checker->buffers; buffer++) {
        checker->shared[buffer] = checker->shared[buffer] || checker->lanes > 1;
        any_shared = any_shared || checker->shared[buffer];
    }
    if (!allocate(checker))
        return pto_check_out_of_memory(checker);
    pto_clocks_init(&checker->clocks, checker->walked, checker->lanes, ranks_per_clock(checker), any_shared);
    for (int64_t rank = 0; rank < checker->walked; rank++)
        for (int buffer = 0; buffer < checker->buffers; buffer++) {
            int64_t place = rank * checker->buffers + buffer;
            checker->bytes[place] = pto_buffer_holds(checker->plan, buffer, rank)
                                        ? pto_buffer_bytes(checker->plan, buffer, rank)
                                        : -1;
            pto_contents_init(&checker->contents[place], checker->bytes[place], &checker->sets);
            if (!checker->shared[buffer])
                continue;
            pto_trace_init(&checker->trace[place], checker->bytes[place], &checker->clocks);
            if (pto_plan_buffer(checker->plan, buffer)->double_buffered)
                pto_trace_init(&checker->trace[checker->walked * checker->buffers + place],
                               checker->bytes[place], &checker->clocks);
        }
    return true;
}

/* Returns whether the current stage is the last of its collective. */
static bool ends_collective(const pto_checker_t *checker) {
    pto_walk_t ahead = checker->walk;
    return checker->collective >= 0 && !(pto_walk_next(&ahead) && ahead.collective == checker->collective);
}

static bool walk_stages(pto_checker_t *checker) {
    while (pto_walk_next(&checker->walk)) {
        if (!pto_check_executes_stage(checker))
            continue;
        int collective = checker->walk.collective;
        if (collective >= 0 && pto_plan_node(checker->plan, collective)->collective == PTO_COLLECTIVE_HALO)
            collective = -1; /* its stage is checked as any other */
        checker->report.stages++;
        if (collective >= 0 && checker->collective < 0 && !pto_check_enter_collective(checker, collective))
            return false;
        /* The stages of a library's collective were proved in the first run; in others it is one step. */
        bool is_skipped = checker->repeats && checker->collective >= 0;
        if (!is_skipped && (!pto_check_begin_lanes(checker) || !pto_check_stage(checker)))
            return false;
        if (!is_skipped)
            pto_check_end_lanes(checker);
        if (ends_collective(checker) && !pto_check_leave_collective(checker))
            return false;
        if (checker->sets.out_of_memory || checker->clocks.out_of_memory)
            return false;
    }
    pto_check_leave_lanes(checker);
    checker->walk.stage = NULL;
    return true;
}

static bool run(pto_checker_t *checker) {
    return for_each_pattern(checker, write_input) && walk_stages(checker) && no_signals_left(checker) &&
           for_each_pattern(checker, use_output) && (checker->repeats || expect_outputs(checker));
}

/* If processes use each other's memory, one of them may be a run ahead. So the plan is walked again, with the
 * traces of the runs before. All runs are the same, so an order between two consecutive runs holds between
 * any two. They also move the same data, so only the order of accesses is proved (`repeats`), and the
 * contents of buffers stay. The choices of either nodes may differ between runs: such a plan begins again
 * with empty buffers. */
static bool run_again(pto_checker_t *checker) {
    pto_check_report_t report = checker->report;
    checker->repeats = pto_check_assignments(checker->plan) == 1;
    for (int64_t place = 0; place < checker->walked * checker->buffers && !checker->repeats; place++) {
        pto_contents_fini(&checker->contents[place]);
        pto_contents_init(&checker->contents[place], checker->bytes[place], &checker->sets);
    }
    checker->run++;
    pto_walk_begin(&checker->walk, checker->plan);
    bool ok = run(checker);
    checker->report = report;
    return ok;
}

/* A double-buffered temporary is used again two runs later. */
int pto_check_runs(const pto_plan_t *plan, const bool *shared) {
    int runs = 1;
    for (int buffer = 0; buffer < pto_plan_buffer_count(plan); buffer++)
        if (shared[buffer] && runs < 3)
            runs = pto_plan_buffer(plan, buffer)->double_buffered ? 3 : 2;
    return runs;
}

static bool runnable(pto_checker_t *checker) {
    checker->status = pto_plan_runnable(checker->plan, checker->err);
    return checker->status == PTO_OK;
}

/* Sets the ranks to walk; false if the plan cannot be proved by node 0. */
static bool choose_ranks(pto_checker_t *checker) {
    checker->walked = checker->ranks;
    if (checker->proof != PTO_PROOF_OF_ONE_NODE)
        return true;
    checker->rotation = calloc((size_t)checker->buffers + 1, sizeof *checker->rotation);
    if (!checker->rotation)
        return pto_check_out_of_memory(checker);
    checker->walked = checker->ranks / checker->request->layout.nodes;
    if (!pto_check_nodes_alike(checker->plan, checker->rotation))
        checker->status = PTO_ERR_NOT_APPLICABLE;
    return checker->status == PTO_OK && pto_check_make_unit_plan(checker);
}

static void check(pto_checker_t *checker) {
    bool ok = pto_check_parts(checker) && pto_check_kernels(checker) && runnable(checker) &&
              pto_check_lanes(checker) && pto_check_eithers(checker) && pto_check_collectives(checker) &&
              choose_ranks(checker) && prepare_buffers(checker) && run(checker);
    for (int runs = pto_check_runs(checker->plan, checker->shared); ok && checker->run + 1 < runs;)
        ok = run_again(checker);
    if (checker->sets.out_of_memory || checker->clocks.out_of_memory || (!ok && checker->status == PTO_OK))
        pto_check_out_of_memory(checker);
}

static void free_signals(pto_signal_t *signal) {
    while (signal) {
        pto_signal_t *next = signal->next;
        free(signal->clock);
        free(signal);
        signal = next;
    }
}

static void checker_fini(pto_checker_t *checker) {
    pto_check_end_order(checker);
    int64_t places = checker->walked * checker->buffers;
    for (int64_t place = 0; place < places && checker->contents; place++)
        pto_contents_fini(&checker->contents[place]);
    for (int64_t place = 0; place < places && checker->inside; place++)
        pto_contents_fini(&checker->inside[place]);
    for (int64_t place = 0; place < 2 * places && checker->trace; place++)
        pto_trace_fini(&checker->trace[place]);
    for (int64_t rank = 0; rank < checker->walked && checker->signal; rank++)
        free_signals(checker->signal[rank].first);
    pto_check_forget_pieces(checker);
    pto_check_leave_lanes(checker);
    void *const owned[] = {checker->contents,      checker->inside,       checker->trace,
                           checker->bytes,         checker->signal,       checker->progress,
                           checker->tally,         checker->shared,       checker->piece,
                           checker->source.item,   checker->target.item,  checker->touched.item,
                           checker->moved.span,    checker->present.span, checker->sends.item,
                           checker->receives.item, checker->rotation,     checker->unit_plan};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        free(owned[i]);
    pto_sets_fini(&checker->sets);
    pto_clocks_fini(&checker->clocks);
}

/* Multiplies the counts of node 0 by the number of nodes; scales the bytes of the unit plan to the plan's. */
static void count_all_nodes(pto_checker_t *checker, int64_t vector_bytes) {
    int64_t nodes = checker->ranks / checker->walked;
    int64_t *const counts[] = {&checker->report.messages, &checker->report.moved_bytes,
                               &checker->report.accesses};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        *counts[i] = pto_saturating_product(*counts[i], nodes);
    if (checker->unit_plan)
        checker->report.moved_bytes =
            pto_saturating_product(checker->report.moved_bytes / checker->request->bytes, vector_bytes);
}

pto_status_t pto_check_by_method(const pto_plan_t *plan, pto_proof_t proof, const pto_choices_t *choices,
                                 pto_check_report_t *report, bool *unordered, pto_error_t *err) {
    const pto_request_t *request = pto_plan_request(plan);
    pto_checker_t checker = {.plan = plan,
                             .request = request,
                             .proof = proof,
                             .choices = choices,
                             .ranks = pto_layout_rank_count(&request->layout),
                             .lanes = pto_plan_lane_count(plan),
                             .lanes_node = -1,
                             .buffers = pto_plan_buffer_count(plan),
                             .kernel = -1,
                             .collective = -1,
                             .err = err};
    pto_sets_init(&checker.sets);
    checker.shared = calloc((size_t)checker.buffers + 1, sizeof *checker.shared);
    pto_walk_begin(&checker.walk, plan);
    checker.report.ranks = checker.ranks;
    if (checker.shared && !checker.sets.out_of_memory)
        check(&checker);
    else
        pto_check_out_of_memory(&checker);
    if (checker.status == PTO_OK) {
        count_all_nodes(&checker, request->bytes);
        *report = checker.report;
    }
    *unordered = checker.unordered && checker.clocks.group_ranks < checker.ranks;
    checker_fini(&checker);
    return checker.status;
}
