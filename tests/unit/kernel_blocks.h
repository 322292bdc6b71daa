/* Kernels of a plan, run by thread blocks that keep to nothing but their flags, or lines: every part of every
 * GPU's kernel goes on at its own pace, drawn at random, for several runs. It knows what plan.h and kernel.h
 * say of kernels, and nothing of check. Include random_plans.h first. */
#ifndef PTO_TEST_KERNEL_BLOCKS_H
#define PTO_TEST_KERNEL_BLOCKS_H

#include "plan/plan_internal.h"
#include "portolan/lines.h"
#include "portolan/rows.h"
#include "test.h"

enum { GPUS_MAX = 8, PARTS = 3, KERNEL_BUFFERS_MAX = 8, FLAGS_MAX = 40, DEEDS_MAX = 4000 };

/* A byte, as a number that tells what it is; and the run in which it was written as a line. */
typedef struct {
    uint64_t value;
    uint64_t line_of;
} cell_t;

/* What a part of a step does: a copied or combined byte, a flag to raise or to wait for, or the end of a
 * kernel. */
typedef enum { DEED_MOVE, DEED_SIGNAL, DEED_WAIT, DEED_KERNEL } deed_kind_t;

typedef struct {
    deed_kind_t kind;
    int part;   /* moves only; the others are of all parts */
    int buffer; /* of the target */
    int64_t holder, at;
    int source_buffer, source_count;
    int64_t source_holder, source_at[GPUS_MAX];
    bool adds; /* to what the target has */
    int64_t peer;
    int flag;
} gpu_deed_t;

typedef struct {
    gpu_deed_t *deed;
    int count;
    int next[PARTS];
    uint64_t run;
} gpu_t;

typedef struct {
    const pto_plan_t *plan;
    int64_t gpus;
    int lines;            /* the buffer in line format, or PTO_LINES_NONE */
    int as_out[GPUS_MAX]; /* the user's output, which is the input, too; -1: they are two buffers */
    gpu_t gpu[GPUS_MAX];
    cell_t *cell[GPUS_MAX][KERNEL_BUFFERS_MAX][2];
    uint64_t flag[GPUS_MAX][GPUS_MAX][FLAGS_MAX][PARTS]; /* by receiver and sender */
    uint64_t runs;
    bool wrong;
    bool unfit; /* more than there is room for */
} machine_t;

/* --- from steps to deeds -------------------------------------------------------------------------------- */

typedef struct {
    int64_t *at;
    int64_t count;
    int64_t capacity;
} bytes_t;

static bool add_bytes(void *context, int64_t offset_bytes, int64_t bytes) {
    bytes_t *list = context;
    if (list->count + bytes > list->capacity) {
        list->capacity = 2 * (list->count + bytes);
        list->at = realloc(list->at, (size_t)list->capacity * sizeof *list->at);
        assert_non_null(list->at);
    }
    for (int64_t i = 0; i < bytes; i++)
        list->at[list->count++] = offset_bytes + i;
    return true;
}

static void add_deed(machine_t *machine, gpu_t *gpu, gpu_deed_t deed) {
    if (gpu->count == DEEDS_MAX)
        machine->unfit = true;
    else
        gpu->deed[gpu->count++] = deed;
}

/* Bytes that follow each other in all lists from `first` on. */
static int64_t adjacent(const bytes_t *list, int64_t first, int64_t until) {
    int64_t i = first + 1;
    while (i < until && list->at[i] == list->at[i - 1] + 1)
        i++;
    return i - first;
}

static int64_t smaller(int64_t one, int64_t other) { return one < other ? one : other; }

/* The bytes of a step's piece that begins at `first` of the target: what is adjacent on both sides, for a
 * copy as many rows of it as are equally far apart. */
static int64_t piece_bytes(const bytes_t *source, const bytes_t *target, int64_t first, bool copies) {
    int64_t all = target->count, operands = source->count / all, row = adjacent(target, first, all);
    for (int64_t i = 0; i < operands; i++)
        row = smaller(row, adjacent(source, i * all + first, (i + 1) * all));
    pto_rows_t from = pto_rows_of(row), to = from;
    int64_t bytes = row;
    while (copies && first + bytes < all) {
        int64_t next = first + bytes,
                more = smaller(adjacent(source, next, all), adjacent(target, next, all));
        int64_t from_pitch = pto_rows_next(&from, source->at[next] - source->at[first], more);
        int64_t to_pitch = pto_rows_next(&to, target->at[next] - target->at[first], more);
        if (from_pitch <= 0 || to_pitch <= 0)
            break;
        pto_rows_add(&from, from_pitch);
        pto_rows_add(&to, to_pitch);
        bytes += more;
    }
    return bytes;
}

/* Each part has as many bytes of each piece. */
static int part_of(int64_t byte, int64_t bytes) {
    int64_t each = bytes / PARTS, more = bytes % PARTS, larger = more * (each + 1);
    return (int)(byte < larger ? byte / (each + 1) : more + (byte - larger) / (each > 0 ? each : 1));
}

static void add_moves(machine_t *machine, gpu_t *gpu, const pto_action_t *action) {
    static bytes_t source, target;
    const pto_step_t *step = action->step;
    bool copies = step->kind == PTO_STEP_COPY;
    source.count = target.count = 0;
    pto_slice_visit(machine->plan, &step->source, action, add_bytes, &source);
    pto_slice_visit(machine->plan, &step->target, action, add_bytes, &target);
    for (int64_t first = 0, bytes = 0; first < target.count; first += bytes) {
        bytes = piece_bytes(&source, &target, first, copies);
        for (int64_t i = first; i < first + bytes; i++) {
            gpu_deed_t deed = {.kind = DEED_MOVE, .part = part_of(i - first, bytes), .at = target.at[i]};
            deed.buffer = step->target.buffer;
            deed.holder = pto_slice_holder(machine->plan, &step->target, action);
            deed.source_buffer = step->source.buffer;
            deed.source_holder = pto_slice_holder(machine->plan, &step->source, action);
            deed.adds = !copies && !step->fresh;
            for (int64_t j = i; j < source.count && deed.source_count < GPUS_MAX; j += target.count)
                deed.source_at[deed.source_count++] = source.at[j];
            add_deed(machine, gpu, deed);
        }
    }
}

static void add_step(machine_t *machine, gpu_t *gpu, const pto_step_t *step, int64_t rank, int64_t k) {
    pto_action_t action;
    if (!pto_step_acts(machine->plan, step, rank, k, &action))
        return;
    for (int64_t next = 0; pto_step_next(machine->plan, &next, &action);) {
        if (pto_step_is_local(step))
            add_moves(machine, gpu, &action);
        else if (pto_step_is_signal(step) && machine->lines == PTO_LINES_NONE)
            add_deed(machine, gpu,
                     (gpu_deed_t){.kind = step->kind == PTO_STEP_SIGNAL ? DEED_SIGNAL : DEED_WAIT,
                                  .peer = action.peer_rank,
                                  .flag = step->flag});
        else if (step->kind == PTO_STEP_LAUNCH)
            add_deed(machine, gpu, (gpu_deed_t){.kind = DEED_KERNEL});
    }
}

static void build_gpus(machine_t *machine) {
    pto_walk_t walk;
    pto_walk_begin(&walk, machine->plan);
    while (pto_walk_next(&walk))
        for (int i = 0; i < walk.stage->step_count; i++)
            for (int64_t rank = 0; rank < machine->gpus; rank++)
                add_step(machine, &machine->gpu[rank],
                         pto_plan_step(machine->plan, walk.stage->step_first + i), rank, walk.k);
}

/* --- the user ------------------------------------------------------------------------------------------- */

static uint64_t input_at(uint64_t run, int64_t owner, int64_t byte) {
    return (run * 1000003 + (uint64_t)owner * 10007 + (uint64_t)byte + 1) * 0x9e3779b97f4a7c15u;
}

static int64_t user_bytes(const machine_t *machine, int buffer, int64_t rank) {
    return pto_buffer_is_users(machine->plan, buffer, rank) && pto_buffer_holds(machine->plan, buffer, rank)
               ? pto_buffer_bytes(machine->plan, buffer, rank)
               : 0;
}

/* What the collective puts into a byte of a rank's output; blocks are equal. */
static uint64_t output_at(const machine_t *machine, uint64_t run, int64_t rank, int64_t byte) {
    const pto_request_t *request = &machine->plan->request;
    int64_t block = byte / request->bytes, in_block = byte % request->bytes;
    uint64_t sum = 0;
    switch (request->collective) {
    case PTO_COLLECTIVE_SCATTER:
        return input_at(run, 0, rank * request->bytes + in_block);
    case PTO_COLLECTIVE_BROADCAST:
        return input_at(run, 0, byte);
    case PTO_COLLECTIVE_GATHER:
    case PTO_COLLECTIVE_ALLGATHER:
    case PTO_COLLECTIVE_ALLGATHERV:
        return input_at(run, block, in_block);
    case PTO_COLLECTIVE_ALLTOALL:
    case PTO_COLLECTIVE_ALLTOALLV:
        return input_at(run, block, rank * request->bytes + in_block);
    default:
        break;
    }
    bool scatters = request->collective == PTO_COLLECTIVE_REDUCE_SCATTER;
    for (int64_t i = 0; i < machine->gpus; i++)
        sum += input_at(run, i, byte + (scatters ? rank * request->bytes : 0));
    return sum;
}

/* Buffers numbered as the plan's; -1 if it has none of this role on the rank. */
static int user_buffer(const machine_t *machine, pto_role_t role, int64_t rank) {
    int found = -1;
    for (int b = 0; b < pto_plan_buffer_count(machine->plan); b++)
        if (pto_plan_buffer(machine->plan, b)->role == role && user_bytes(machine, b, rank) > 0)
            found = b;
    return found;
}

static cell_t *cell_of(machine_t *machine, uint64_t run, int64_t holder, int buffer, int64_t at) {
    const pto_buffer_t *named = pto_plan_buffer(machine->plan, buffer);
    bool is_both = named->role == PTO_ROLE_IN && machine->as_out[holder] >= 0;
    return &machine->cell[holder][is_both ? machine->as_out[holder] : buffer]
                         [named->double_buffered ? run % 2 : 0][at];
}

/* Between two runs, the user reads the output, spoils it and writes another input. */
static void take_results(machine_t *machine, int64_t rank) {
    gpu_t *gpu = &machine->gpu[rank];
    int in = user_buffer(machine, PTO_ROLE_IN, rank), out = user_buffer(machine, PTO_ROLE_OUT, rank);
    for (int64_t i = 0; out >= 0 && i < user_bytes(machine, out, rank); i++) {
        cell_t *cell = cell_of(machine, gpu->run, rank, out, i);
        if (gpu->run > 0)
            machine->wrong |= cell->value != output_at(machine, gpu->run, rank, i);
        cell->value = 0;
    }
    for (int64_t i = 0; in >= 0 && i < user_bytes(machine, in, rank); i++)
        cell_of(machine, gpu->run, rank, in, i)->value = input_at(gpu->run + 1, rank, i);
    gpu->run++;
    memset(gpu->next, 0, sizeof gpu->next);
}

/* --- running -------------------------------------------------------------------------------------------- */

/* False if a source is in lines that have not arrived. */
static bool move(machine_t *machine, uint64_t run, const gpu_deed_t *deed) {
    cell_t *target = cell_of(machine, run, deed->holder, deed->buffer, deed->at);
    uint64_t value = deed->adds ? target->value : 0;
    for (int i = 0; i < deed->source_count; i++) {
        const cell_t *source =
            cell_of(machine, run, deed->source_holder, deed->source_buffer, deed->source_at[i]);
        if (deed->source_buffer == machine->lines && source->line_of != run)
            return false;
        value += source->value;
    }
    *target = (cell_t){value, run};
    return true;
}

/* A kernel begins when all parts of the one before have ended. */
static bool others_are_here(const gpu_t *gpu, int part) {
    bool here = true;
    for (int p = 0; p < PARTS; p++)
        here = here && gpu->next[p] >= gpu->next[part];
    return here;
}

/* The next deed of a part; false if it has to wait, or has ended. */
static bool go_on(machine_t *machine, int64_t rank, int part) {
    gpu_t *gpu = &machine->gpu[rank];
    if (gpu->next[part] == gpu->count)
        return false;
    const gpu_deed_t *deed = &gpu->deed[gpu->next[part]];
    bool done = true;
    if (deed->kind == DEED_MOVE)
        done = deed->part != part || move(machine, gpu->run, deed);
    else if (deed->kind == DEED_SIGNAL)
        machine->flag[deed->peer][rank][deed->flag][part] = gpu->run;
    else if (deed->kind == DEED_WAIT)
        done = machine->flag[rank][deed->peer][deed->flag][part] >= gpu->run;
    else
        done = others_are_here(gpu, part);
    gpu->next[part] += done;
    return done;
}

static bool has_ended(const gpu_t *gpu) {
    bool ended = true;
    for (int part = 0; part < PARTS; part++)
        ended = ended && gpu->next[part] == gpu->count;
    return ended;
}

/* Let a part go on for a while; whether anything happened. */
static bool let_go_on(machine_t *machine, int64_t rank, int part, int64_t deeds) {
    gpu_t *gpu = &machine->gpu[rank];
    bool moved = false;
    for (; deeds > 0 && go_on(machine, rank, part); deeds--)
        moved = true;
    if (gpu->run <= machine->runs && has_ended(gpu)) {
        take_results(machine, rank);
        moved = true;
    }
    if (gpu->run > machine->runs)
        gpu->next[0] = gpu->next[1] = gpu->next[2] = gpu->count;
    return moved;
}

static bool all_ended(const machine_t *machine) {
    bool ended = true;
    for (int64_t rank = 0; rank < machine->gpus; rank++)
        ended = ended && machine->gpu[rank].run > machine->runs;
    return ended;
}

/* Until all have ended or nobody can go on, which is wrong. */
static void run_machine(machine_t *machine) {
    for (int64_t rank = 0; rank < machine->gpus; rank++)
        take_results(machine, rank);
    for (int stuck = 0; !all_ended(machine) && !machine->wrong;) {
        int64_t rank = below(machine->gpus), burst = one_in(3) ? 1 + below(8) : 10000;
        int part = (int)below(PARTS);
        stuck = let_go_on(machine, rank, part, burst) ? 0 : stuck + 1;
        machine->wrong |= stuck > 1000;
    }
}

static void free_machine(machine_t *machine) {
    for (int64_t rank = 0; rank < machine->gpus; rank++) {
        free(machine->gpu[rank].deed);
        for (int b = 0; b < KERNEL_BUFFERS_MAX; b++)
            for (int copy = 0; copy < 2; copy++)
                free(machine->cell[rank][b][copy]);
    }
}

/* How a plan is run. */
typedef struct {
    bool by_lines; /* if the plan can have them */
    bool in_place; /* with one buffer for the user's input and output */
    uint64_t runs;
} how_t;

/* Whether all results of several runs are right. A plan that is too large is not run, and sets `*unfit`. */
static bool blocks_do_it(const pto_plan_t *plan, how_t how, bool *unfit) {
    static machine_t machine;
    machine = (machine_t){.plan = plan, .runs = how.runs, .lines = PTO_LINES_NONE};
    machine.gpus = pto_layout_rank_count(&plan->request.layout);
    assert_true(machine.gpus <= GPUS_MAX && pto_plan_buffer_count(plan) <= KERNEL_BUFFERS_MAX &&
                pto_plan_flag_count(plan) <= FLAGS_MAX);
    if (how.by_lines)
        machine.lines = pto_plan_lines(plan, INT64_MAX);
    for (int64_t rank = 0; rank < machine.gpus; rank++) {
        bool both = how.in_place && user_buffer(&machine, PTO_ROLE_IN, rank) >= 0;
        machine.as_out[rank] = both ? user_buffer(&machine, PTO_ROLE_OUT, rank) : -1;
        machine.gpu[rank].deed = calloc(DEEDS_MAX, sizeof *machine.gpu[rank].deed);
        assert_non_null(machine.gpu[rank].deed);
        for (int b = 0; b < pto_plan_buffer_count(plan); b++)
            for (int copy = 0; copy < 2; copy++) {
                size_t bytes = (size_t)pto_buffer_bytes(plan, b, rank) + 1;
                machine.cell[rank][b][copy] = calloc(bytes, sizeof(cell_t));
                assert_non_null(machine.cell[rank][b][copy]);
            }
    }
    build_gpus(&machine);
    *unfit = machine.unfit;
    if (!machine.unfit)
        run_machine(&machine);
    free_machine(&machine);
    return !machine.wrong;
}

#endif
